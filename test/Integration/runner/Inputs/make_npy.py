#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes small .npy and .npz files, good and bad ones, with the standard library
alone.

    python3 make_npy.py FOLDER
"""

import os
import struct
import sys
import zlib


def npy(descr, shape, data, version=1, fortran=False):
    header = "{'descr': %r, 'fortran_order': %r, 'shape': %r, }" % (descr, fortran, shape)
    size_bytes = 2 if version == 1 else 4
    header += " " * (-(8 + size_bytes + len(header) + 1) % 64) + "\n"
    size = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + size + header.encode("latin1") + data


def npz(members, deflate=False, wide=False, method=None, flags=0, checksum=0, grow=0, at=0, count=0):
    """An archive of (name, bytes). `wide`: all sizes in 64 bits. The others lie."""
    out, directory = b"", b""
    for name, data in members:
        name = name.encode()
        stored = data
        if deflate:
            packer = zlib.compressobj(9, zlib.DEFLATED, -15)
            stored = packer.compress(data) + packer.flush()
        sizes = (zlib.crc32(data) ^ checksum, len(stored), len(data) + grow)
        kind = method if method is not None else 8 if deflate else 0
        where = len(out) + at
        out += b"PK\3\4" + struct.pack("<5H3L2H", 45, flags, kind, 0, 0, *sizes, len(name), 0) + name + stored
        extra = b""
        if wide:
            extra = struct.pack("<2H3Q", 1, 24, sizes[2], sizes[1], where)
            sizes, where = (sizes[0], 0xFFFFFFFF, 0xFFFFFFFF), 0xFFFFFFFF
        directory += b"PK\1\2" + struct.pack("<6H3L5H2L", 45, 45, flags, kind, 0, 0, *sizes, len(name), len(extra),
                                              0, 0, 0, 0, where) + name + extra
    begin, number = len(out), len(members) + count
    out += directory
    if wide:
        here = len(out)
        out += b"PK\6\6" + struct.pack("<Q2H2L4Q", 44, 45, 45, 0, 0, number, number, len(directory), begin)
        out += b"PK\6\7" + struct.pack("<LQL", 0, here, 1)
        return out + b"PK\5\6" + struct.pack("<4H2LH", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    return out + b"PK\5\6" + struct.pack("<4H2LH", 0, 0, number, number, len(directory), begin, 0)


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
    "long_double": npy("<f16", (1,), floats),
    "bools": npy("|b1", (3,), b"\x00\x01\x02"),
    "large_bools": npy("|b1", (1 << 21,), b"\x01" * ((1 << 21) - 3) + b"\xff\x01\x00"),
    "large_good_bools": npy("|b1", (1 << 21,), b"\x01\x00" * (1 << 20)),
    "negative": npy("<f4", (-4,), floats),
    "sizes": npy("<f4", (1 << 64,), floats),
    "large": npy("<f4", (1 << 19,), floats[:4] * (1 << 19)),
    "large_cut": npy("<f4", (1 << 19,), floats[:4] * ((1 << 19) - 1)),
    "records": npy([("a", "<f4")], (4,), floats),
    "no_header": b"\x93NUMPY\x01",
    "other": b"a text",
    "long_header": b"\x93NUMPY\x02\x00\xff\xff\xff\xff{'descr'",
    "huge": npy("<f4", (2, 1 << 62), floats),
}
pair = [("a.npy", files["matrix"]), ("b.npy", files["v1"])]
archives = {
    "stored": npz(pair),
    "deflated": npz(pair, deflate=True),
    "wide": npz(pair, wide=True),
    "wide_deflated": npz(pair, deflate=True, wide=True),
    "comment": npz(pair)[:-2] + struct.pack("<H", 4) + b"PK\5\6",
    "empty": npz([]),
    "checksum": npz(pair, checksum=1),
    "method": npz(pair, method=12),
    "encrypted": npz(pair, flags=1),
    "longer": npz(pair, deflate=True, grow=8),
    "bomb": npz(pair, deflate=True, grow=1 << 30),
    "outside": npz(pair, at=1 << 30),
    "elsewhere": npz(pair, at=1),
    "count": npz(pair, count=1),
    "wide_cut": npz(pair, wide=True)[30:],
    "cut": npz(pair)[:-30],
}
os.makedirs(sys.argv[1], exist_ok=True)
for name, content in files.items():
    with open(os.path.join(sys.argv[1], name + ".npy"), "wb") as file:
        file.write(content)
for name, content in archives.items():
    with open(os.path.join(sys.argv[1], name + ".npz"), "wb") as file:
        file.write(content)
