#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# images.py FILE.mlir PREFIX: writes the bytes of each image in the file to
# PREFIX-ARCH.FORMAT, and of each gpu.binary's ELF file to PREFIX-NAME.elf.

import re
import sys

text = open(sys.argv[1], encoding="latin-1").read()
images = [("elf",) + image for image in re.findall(r'gpu\.binary @(\w+) .*?"(\\7FELF(?:[^"\\]|\\.)*)"', text)]
images += re.findall(r'#gpu_async\.image<(\w+), "([^"]*)" data = "((?:[^"\\]|\\.)*)"', text)
for kind, arch, data in images:
    raw = re.sub(r'\\([0-9A-F]{2}|["\\])',
                 lambda m: chr(int(m[1], 16)) if len(m[1]) == 2 else m[1], data)
    with open("%s-%s.%s" % (sys.argv[2], arch, kind), "wb") as out:
        out.write(raw.encode("latin-1"))
