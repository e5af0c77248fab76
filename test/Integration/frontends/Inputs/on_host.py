#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Takes a program of linalg on tensors to loops on memrefs, by upstream's passes.
Each result becomes an argument, its memory.

    python3 on_host.py MLIR_OPT FILE
"""

import itertools
import re
import subprocess
import sys

pipeline = """builtin.module(inline, symbol-dce, eliminate-empty-tensors,
  one-shot-bufferize{bufferize-function-boundaries allow-return-allocs-from-loops
                     function-boundary-type-conversion=identity-layout-map},
  buffer-results-to-out-params{add-result-attr=true hoist-static-allocs=true modify-public-functions=true},
  buffer-deallocation-pipeline, func.func(convert-linalg-to-loops))""".replace("\n", "")
text = subprocess.run([sys.argv[1], "--pass-pipeline=" + pipeline, sys.argv[2]], check=True, text=True,
                      stdout=subprocess.PIPE).stdout
numbers = {}


def number(match):
    """The attribute of the next result of the function."""
    if match[0] == "func.func":
        numbers["next"] = itertools.count()
        return match[0]
    return "gpu_async.result = %d : i64" % next(numbers["next"])


sys.stdout.write(re.sub(r"\bfunc\.func\b|\bbufferize\.result\b", number, text))
