# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Floats of 8 bits in kernels, bit for bit against a table of each format's numbers:
#
#   small_floats.py GPU_RUNNER [-O0]
#
# All 256 numbers of a format to wider ones; wider ones near, between and far from them
# back; arithmetic. Of a NaN only that it is one is compared.

import math
import os
import random
import struct
import subprocess
import sys
import tempfile
from bisect import bisect_left

import threadplace

# Bits of the exponent and of the mantissa, bias, what the largest codes mean.
FORMATS = {
    "f8E5M2": (5, 2, 15, "ieee"), "f8E4M3": (4, 3, 7, "ieee"), "f8E3M4": (3, 4, 3, "ieee"),
    "f8E4M3FN": (4, 3, 7, "fn"), "f8E5M2FNUZ": (5, 2, 16, "fnuz"), "f8E4M3FNUZ": (4, 3, 8, "fnuz"),
    "f8E4M3B11FNUZ": (4, 3, 11, "fnuz"),
}
BLOCKS = [(35, 1, 1), (256, 1, 1), (1, 1, 1), (31, 1, 1), (7, 5, 3), (3, 1, 1), (33, 1, 1)]


class Format:
    def __init__(self, exponent, mantissa, bias, kind):
        self.kind = kind
        self.numbers = []  # without sign, by code
        for code in range(128):
            e, m = code >> mantissa, code & ((1 << mantissa) - 1)
            if kind == "ieee" and e == (1 << exponent) - 1:
                break
            if kind == "fn" and code == 127:
                break
            self.numbers.append(math.ldexp((m + (1 << mantissa)) if e else m, max(e, 1) - bias - mantissa))
        # From beyond the last one numbers are too large: as if one more followed.
        last = self.numbers[-1] - self.numbers[-2]
        self.between = [(a + b) / 2 for a, b in zip(self.numbers, self.numbers[1:] + [self.numbers[-1] + last])]

    def decode(self, code):
        if self.kind == "fnuz" and code == 128:
            return math.nan
        index = code & 127
        if index >= len(self.numbers):
            value = math.inf if self.kind == "ieee" and index == len(self.numbers) else math.nan
        else:
            value = self.numbers[index]
        return -value if code & 128 else value

    def encode(self, value):
        """The code, or None for a NaN."""
        if math.isnan(value):
            return None
        size = abs(value)
        index = bisect_left(self.between, size)
        if index < len(self.between) and self.between[index] == size and index % 2:
            index += 1
        if index >= len(self.numbers):
            if self.kind != "ieee":
                return None
            index = len(self.numbers)
        negative = math.copysign(1, value) < 0 and not (self.kind == "fnuz" and index == 0)
        return index | 128 * negative

    def isNan(self, code):
        return math.isnan(self.decode(code))


def toBits(kind, value):
    return struct.unpack({"f": "<I", "d": "<Q", "e": "<H"}[kind], struct.pack("<" + kind, value))[0]


def fromBits(kind, bits):
    return struct.unpack("<" + kind, struct.pack({"f": "<I", "d": "<Q", "e": "<H"}[kind], bits))[0]


def fromBf16(bits):
    return fromBits("f", bits << 16)


def divide(a, b):
    if math.isnan(a) or math.isnan(b) or (a == 0 and b == 0) or (math.isinf(a) and math.isinf(b)):
        return math.nan
    sign = math.copysign(1, a) * math.copysign(1, b)
    return sign * math.inf if b == 0 else a / b


EXTEND = """%byte = arith.trunci %bits : i64 to i8
      %a = arith.bitcast %byte : i8 to F
"""
CASES = {
    # Four results: the number in single, half and brain precision.
    "extend": EXTEND + """      %s = arith.extf %a : F to f32
      %h = arith.extf %a : F to f16
      %b = arith.extf %a : F to bf16
      %si = arith.bitcast %s : f32 to i32
      %hi = arith.bitcast %h : f16 to i16
      %bi = arith.bitcast %b : bf16 to i16
      %s64 = arith.extui %si : i32 to i64
      %h64 = arith.extui %hi : i16 to i64
      %b64 = arith.extui %bi : i16 to i64
      %c32 = arith.constant 32 : i64
      %c48 = arith.constant 48 : i64
      %hs = arith.shli %h64, %c32 : i64
      %bs = arith.shli %b64, %c48 : i64
      %sh = arith.ori %s64, %hs : i64
      %r = arith.ori %sh, %bs : i64""",
    "extend64": EXTEND + """      %d = arith.extf %a : F to f64
      %r = arith.bitcast %d : f64 to i64""",
    "round64": """%d = arith.bitcast %bits : i64 to f64
      %a = arith.truncf %d : f64 to F
      %byte = arith.bitcast %a : F to i8
      %r = arith.extui %byte : i8 to i64""",
    "round32": """%low = arith.trunci %bits : i64 to i32
      %s = arith.bitcast %low : i32 to f32
      %a = arith.truncf %s : f32 to F
      %byte = arith.bitcast %a : F to i8
      %r = arith.extui %byte : i8 to i64""",
    "round16": """%low = arith.trunci %bits : i64 to i16
      %h = arith.bitcast %low : i16 to f16
      %b = arith.bitcast %low : i16 to bf16
      %ha = arith.truncf %h : f16 to F
      %ba = arith.truncf %b : bf16 to F
      %whole = arith.sitofp %low : i16 to F
      PACK(%ha, %ba, %whole)""",
    "arithmetic": """%c8 = arith.constant 8 : i64
      %bits2 = arith.shrui %bits, %c8 : i64
      %bits3 = arith.shrui %bits2, %c8 : i64
      %byte1 = arith.trunci %bits : i64 to i8
      %byte2 = arith.trunci %bits2 : i64 to i8
      %byte3 = arith.trunci %bits3 : i64 to i8
      %a = arith.bitcast %byte1 : i8 to F
      %b = arith.bitcast %byte2 : i8 to F
      %c = arith.bitcast %byte3 : i8 to F
      %add = arith.addf %a, %b : F
      %sub = arith.subf %a, %b : F
      %mul = arith.mulf %a, %b : F
      %div = arith.divf %a, %b : F
      %fma = math.fma %a, %b, %c : F
      %neg = arith.negf %a : F
      %four = vector.from_elements %a, %b, %c, %a : vector<4xF>
      %squares = arith.mulf %four, %four : vector<4xF>
      %square = vector.extract %squares[2] : F from vector<4xF>
      %half = arith.constant 0.5 : F
      %one = arith.constant 1.0 : F
      %less = arith.cmpf olt, %a, %b : F
      %which = arith.select %less, %half, %one : F
      PACK(%add, %sub, %mul, %div, %fma, %neg, %square, %which)""",
}


def pack(names):
    """Codes of 8 bits as one number, the first lowest."""
    lines, total = [], None
    for i, name in enumerate(names):
        lines.append("%%p%d = arith.bitcast %s : F to i8" % (i, name))
        lines.append("%%q%d = arith.extui %%p%d : i8 to i64" % (i, i))
        lines.append("%%k%d = arith.constant %d : i64" % (i, 8 * i))
        lines.append("%%s%d = arith.shli %%q%d, %%k%d : i64" % (i, i, i))
        sum = "%r" if i + 1 == len(names) else "%%t%d" % i
        lines.append("%s = arith.ori %%s%d, %s : i64" % (sum, i, total or "%s0"))
        total = sum
    return "\n      ".join(lines)


def inputs(case, format, draw):
    if case.startswith("extend"):
        return list(range(256))
    if case == "arithmetic":
        return [draw.getrandbits(24) for _ in range(1500)]
    if case == "round16":
        return [draw.getrandbits(16) for _ in range(1500)] + [0, 0x8000, 0x7c00, 0x7f80, 0x7fff]
    kind, width = ("f", 32) if case == "round32" else ("d", 64)
    values = []
    for number in format.numbers + format.between:
        bits = toBits(kind, number)
        values += [bits, bits + 1, max(bits - 1, 0)]
    values += [draw.getrandbits(width) & ~(1 << (width - 1)) for _ in range(300)]
    values += [toBits(kind, v) for v in (math.inf, math.nan, 1e30, 1e-30)] + [1, 2]
    return values + [v | 1 << (width - 1) for v in values]


def expected(case, format, bits):
    """Codes, None for a NaN; for `extend` numbers."""
    if case == "extend":
        return [format.decode(bits)] * 3
    if case == "extend64":
        return [format.decode(bits)]
    if case == "round64":
        return [format.encode(fromBits("d", bits))]
    if case == "round32":
        return [format.encode(fromBits("f", bits))]
    if case == "round16":
        integer = float(bits - (1 << 16) if bits >> 15 else bits)
        return [format.encode(fromBits("e", bits)), format.encode(fromBf16(bits)), format.encode(integer)]
    a, b, c = (format.decode(bits >> i & 255) for i in (0, 8, 16))
    # All but the quotient are exact in double precision, and that is near enough.
    fma = math.nan if (math.isinf(a) and b == 0) or (math.isinf(b) and a == 0) else a * b + c
    results = [a + b, a - b, a * b, divide(a, b), fma, -a, c * c, 0.5 if a < b else 1.0]
    return [format.encode(v) for v in results]


def results(case, bits):
    if case == "extend":
        return [fromBits("f", bits & 0xFFFFFFFF), fromBits("e", bits >> 32 & 0xFFFF), fromBf16(bits >> 48)]
    if case == "extend64":
        return [fromBits("d", bits)]
    return [bits >> i & 255 for i in range(0, {"round16": 24, "arithmetic": 64}.get(case, 8), 8)]


def same(case, format, mine, wanted):
    if case.startswith("extend"):
        if math.isnan(wanted):
            return math.isnan(mine)
        return mine == wanted and math.copysign(1, mine) == math.copysign(1, wanted)
    return format.isNan(mine) if wanted is None else mine == wanted


def npy(values):
    head = "{'descr': '<i8', 'fortran_order': False, 'shape': (%d,), }" % len(values)
    head = head.ljust((len(head) + 11 + 63) // 64 * 64 - 11) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%dQ" % len(values), *values)


def main():
    runner, options = sys.argv[1], sys.argv[2:]
    draw, values, places = random.Random(8), [], []
    text = ["module attributes {gpu.container_module} {", "  gpu.module @k {"]
    for name, parts in FORMATS.items():
        format = Format(*parts)
        for case, body in CASES.items():
            if "PACK(" in body:
                body, packed = body[:-1].split("PACK(")
                body += pack(packed.split(", "))
            mine = inputs(case, format, draw)
            places.append((name, format, case, len(values), len(mine)))
            values += mine
            text.append("    gpu.func @%s_%s(%%in: memref<?xi64>, %%out: memref<?xi64>, %%base: index, %%count: index) kernel {" % (case, name))
            text.append(threadplace.PLACE + """      %g = gpu.block_id x
      %first = arith.muli %g, %n : index
      %i = arith.addi %first, %lin : index
      %inside = arith.cmpi ult, %i, %count : index
      scf.if %inside {
      %at = arith.addi %base, %i : index
      %bits = memref.load %in[%at] : memref<?xi64>""")
            text.append("      " + body.replace(": F", ": " + name).replace("to F", "to " + name).replace("F from", name + " from")
                        .replace("xF>", "x%s>" % name))
            text.append("      memref.store %r, %out[%at] : memref<?xi64>\n      }\n      gpu.return\n    }")
    size = len(values)
    text.append("  }\n  func.func @main(%%hin: memref<%dxi64>, %%hout: memref<%dxi64>) {" % (size, size))
    text.append("""    %%din0 = gpu.alloc () : memref<%dxi64>
    gpu.memcpy %%din0, %%hin : memref<%dxi64>, memref<%dxi64>
    %%dout0 = gpu.alloc () : memref<%dxi64>
    %%din = memref.cast %%din0 : memref<%dxi64> to memref<?xi64>
    %%dout = memref.cast %%dout0 : memref<%dxi64> to memref<?xi64>
    %%c1 = arith.constant 1 : index""" % ((size,) * 6))
    for i, (name, format, case, base, count) in enumerate(places):
        block = BLOCKS[i % len(BLOCKS)]
        threads = block[0] * block[1] * block[2]
        numbers = {"b": base, "n": count, "g": -(-count // threads), "x": block[0], "y": block[1], "z": block[2]}
        for key, number in numbers.items():
            text.append("    %%%s%d = arith.constant %d : index" % (key, i, number))
        text.append("    gpu.launch_func @k::@%s_%s blocks in (%%g%d, %%c1, %%c1) threads in (%%x%d, %%y%d, %%z%d) args(%%din : memref<?xi64>, "
                    "%%dout : memref<?xi64>, %%b%d : index, %%n%d : index)" % (case, name, i, i, i, i, i, i))
    text.append("    gpu.memcpy %%hout, %%dout0 : memref<%dxi64>, memref<%dxi64>" % (size, size))
    text.append("    gpu.dealloc %%din0 : memref<%dxi64>\n    gpu.dealloc %%dout0 : memref<%dxi64>\n    return\n  }\n}" % (size, size))
    with tempfile.TemporaryDirectory() as folder:
        file, into, out = (os.path.join(folder, n) for n in ("f.mlir", "in.npy", "out.npy"))
        with open(file, "w") as f:
            f.write("\n".join(text) + "\n")
        if "--print" in options:
            print(open(file).read())
            return
        with open(into, "wb") as f:
            f.write(npy(values))
        done = subprocess.run([runner, "--device=cpu", *options, file, "--leak-check=error", "--input=@" + into,
                               "--input=%dxi64" % size, "--output=", "--output=@" + out])
        if done.returncode:
            sys.exit("gpu-runner failed")
        with open(out, "rb") as f:
            data = f.read()
        got = struct.unpack_from("<%dQ" % size, data, 10 + struct.unpack_from("<H", data, 8)[0])
    wrong = 0
    for name, format, case, base, count in places:
        bad = 0
        for i in range(base, base + count):
            wanted, mine = expected(case, format, values[i]), results(case, got[i])
            for which, (a, b) in enumerate(zip(mine, wanted)):
                if not same(case, format, a, b):
                    bad += 1
                    if bad <= 3:
                        print("%s %s of %#x, result %d: %s, expected %s" % (case, name, values[i], which, a, b))
        wrong += bad > 0
    print("%d numbers in %d kernels, %d kernels wrong" % (size, len(places), wrong))
    sys.exit(1 if wrong else 0)


main()
