#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies a program and makes it look for LLVM in a folder that is not there.

    python3 move_llvm.py PROGRAM COPY FOLDER
"""

import os
import sys

program, copy, folder = sys.argv[1:]
with open(program, "rb") as file:
    content = file.read()
here = folder.encode()
assert here in content, "%s does not name %s" % (program, folder)
with open(copy, "wb") as file:
    file.write(content.replace(here, here[:-3] + b"gon"))
os.chmod(copy, 0o755)
