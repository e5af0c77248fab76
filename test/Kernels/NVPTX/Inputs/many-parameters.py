# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kernel with COUNT parameters of 8 bytes: many-parameters.py COUNT"""
import sys

parameters = ", ".join("%%x%d: i64" % i for i in range(int(sys.argv[1])))
print("gpu.module @k {\n  gpu.func @f(%s) kernel {\n    gpu.return\n  }\n}" % parameters)
