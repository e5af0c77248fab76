# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The examples of docstrings and of docs/reference/Python.md say what happens.
# The examples use NumPy.
# REQUIRES: numpy
# RUN: %python %s %S/../../docs/reference/Python.md | FileCheck %s
# CHECK: gpu_async: {{[1-9][0-9]*}} examples, 0 failed
# CHECK: Python.md: {{[1-9][0-9]*}} examples, 0 failed
import doctest
import os
import sys
import tempfile

import gpu_async

page = os.path.abspath(sys.argv[1])
os.chdir(tempfile.mkdtemp())
options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
modules = doctest.testmod(gpu_async, optionflags=options)
print("gpu_async: %d examples, %d failed" % (modules.attempted, modules.failed))
docs = doctest.testfile(page, module_relative=False, optionflags=options)
print("Python.md: %d examples, %d failed" % (docs.attempted, docs.failed))
