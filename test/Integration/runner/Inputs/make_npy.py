#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes small .npy files, good and bad ones, with the standard library alone.

    python3 make_npy.py FOLDER
"""

import os
import struct
import sys


def npy(descr, shape, data, version=1, fortran=False):
    header = "{'descr': %r, 'fortran_order': %r, 'shape': %r, }" % (descr, fortran, shape)
    size_bytes = 2 if version == 1 else 4
    header += " " * (-(8 + size_bytes + len(header) + 1) % 64) + "\n"
    size = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + size + header.encode("latin1") + data


floats = struct.pack("<4f", 1, 2, 3.5, -4)
files = {
    "v1": npy("<f4", (4,), floats),
    "v2": npy("<f4", (4,), floats, version=2),
    "matrix": npy("<f4", (2, 2), floats),
    "bytes": npy("|u1", (3,), b"\x01\x80\xff"),
    "scalar": npy("<i4", (), struct.pack("<i", 7)),
    "fortran": npy("<f4", (2, 2), floats, fortran=True),
    "big_endian": npy(">f4", (4,), struct.pack(">4f", 1, 2, 3, 4)),
    "cut_off": npy("<f4", (5,), floats),
    "complex": npy("<c8", (2,), floats),
    "records": npy([("a", "<f4")], (4,), floats),
    "no_header": b"\x93NUMPY\x01",
    "other": b"a text",
    "long_header": b"\x93NUMPY\x02\x00\xff\xff\xff\xff{'descr'",
    "huge": npy("<f4", (2, 1 << 62), floats),
}
os.makedirs(sys.argv[1], exist_ok=True)
for name, content in files.items():
    with open(os.path.join(sys.argv[1], name + ".npy"), "wb") as file:
        file.write(content)
