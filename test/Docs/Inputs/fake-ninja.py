#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ninja -t targets all of a build folder that suites.test made up."""
for name in ("runtime-unit-tests", "runtime-new-tests"):
    print("test/bin/%s: CXX_EXECUTABLE_LINKER__%s_" % (name, name))
print("bin/gpu-runner: CXX_EXECUTABLE_LINKER__gpu-runner_")
