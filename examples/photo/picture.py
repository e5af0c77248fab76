#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads and writes 8-bit pictures as .npy and .png, with the standard library alone.

    python3 picture.py in.npy out.png     turns an array into a picture
"""

import ast
import struct
import sys
import zlib


def read_npy(path):
    """Returns (shape, bytes) of a C-ordered array of bytes."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:6] != b"\x93NUMPY":
        raise ValueError("%s is not a .npy file" % path)
    size_bytes = 2 if data[6] == 1 else 4
    start = 8 + size_bytes
    end = start + int.from_bytes(data[8:start], "little")
    header = ast.literal_eval(data[start:end].decode("latin1"))
    if header["descr"] not in ("|u1", "|i1") or header["fortran_order"]:
        raise ValueError("%s: expected C-ordered bytes, got %s" % (path, header))
    shape, count = header["shape"], 1
    for extent in shape:
        count *= extent
    if len(data) - end != count:
        raise ValueError("%s: %d bytes do not fill %s" % (path, len(data) - end, shape))
    return shape, data[end:]


def write_npy(path, shape, data):
    header = str({"descr": "|u1", "fortran_order": False, "shape": tuple(shape)})
    # The data starts at a multiple of 64 bytes, as numpy.save does it.
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode("latin1") + bytes(data))


def read_png(path):
    """Returns ((height, width, 3), bytes) of an 8-bit RGB picture."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        raise ValueError("%s is not a PNG file" % path)
    position, packed = 8, b""
    while position < len(data):
        (length,) = struct.unpack(">I", data[position : position + 4])
        kind = data[position + 4 : position + 8]
        body = data[position + 8 : position + 8 + length]
        position += 12 + length
        if kind == b"IHDR":
            width, height, depth, color, _, _, interlace = struct.unpack(">IIBBBBB", body)
            if (depth, color, interlace) != (8, 2, 0):
                raise ValueError("%s: only plain 8-bit RGB is read here" % path)
        elif kind == b"IDAT":
            packed += body
    raw, stride, pixels = zlib.decompress(packed), 3 * width, bytearray()
    above = bytearray(stride)
    for y in range(height):
        start = y * (stride + 1)
        method, row = raw[start], bytearray(raw[start + 1 : start + 1 + stride])
        for x in range(stride):
            left = row[x - 3] if x >= 3 else 0
            corner = above[x - 3] if x >= 3 else 0
            if method == 1:
                row[x] = (row[x] + left) & 255
            elif method == 2:
                row[x] = (row[x] + above[x]) & 255
            elif method == 3:
                row[x] = (row[x] + (left + above[x]) // 2) & 255
            elif method == 4:
                guess = left + above[x] - corner
                near = min((left, above[x], corner), key=lambda v: abs(guess - v))
                row[x] = (row[x] + near) & 255
        pixels += row
        above = row
    return (height, width, 3), bytes(pixels)


def write_png(path, shape, data):
    """Writes (height, width) or (height, width, 3) bytes as a picture."""
    height, width = shape[:2]
    channels = shape[2] if len(shape) == 3 else 1
    color = {1: 0, 3: 2}[channels]
    stride = width * channels
    raw = b"".join(
        b"\x00" + bytes(data[y * stride : (y + 1) * stride]) for y in range(height)
    )

    def chunk(kind, body):
        checksum = zlib.crc32(kind + body)
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", checksum)

    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        file.write(chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, color, 0, 0, 0)))
        file.write(chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b""))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write_png(sys.argv[2], *read_npy(sys.argv[1]))
