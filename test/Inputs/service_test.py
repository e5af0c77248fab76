# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The test format of lit.cfg.py: tests are unsupported whose services the runtime lacks."""

import re

import lit.formats
import lit.Test

# A runtime without services (GPUASYNC_RUNTIME_SERVICES=none) lacks these: each is a feature `service-NAME`. A test needs
# those whose pattern its text matches. The disk cache is found by any runtime; its service keeps machine code of PTX,
# which no test here looks at.
SERVICES = {
    "graphs": r'"graphs"|--play=graph .*--stats',
    "stats": r"--stats|stats_(json|read)|Inputs/cache\.py",
    "traces": r"--trace|--profile|GPU_ASYNC_(TRACE|RANGES)",
    "sessions": r"libgpuasync_mgpu",
    "mirrors": r'"residents"',
    "modulepolicy": r"GPU_ASYNC_MODULE_|modules_(limit|hook|insert)",
}


class ServiceTest(lit.formats.ShTest):
    def execute(self, test, litConfig):
        with open(test.getSourcePath(), errors="replace") as file:
            text = file.read()
        for name, pattern in SERVICES.items():
            if "service-" + name not in test.config.available_features and re.search(pattern, text):
                return lit.Test.Result(lit.Test.UNSUPPORTED, "needs service-" + name)
        return super().execute(test, litConfig)
