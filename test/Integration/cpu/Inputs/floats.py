# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Floats in kernels, bit for bit against exact numbers (formats.py):
#
#   floats.py GPU_RUNNER [-O0]
#
# Conversions between all formats and to and from integers, what kind of number each is, and
# arithmetic of those that are computed with in wider ones; numbers below the smallest normal
# one, in the middle of two and out of range above all. Scalars, which loops make vectors of,
# and vectors. Of a NaN only that it is one is compared.

import os
import random
import struct
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "Inputs"))
import formats
import threadplace
from formats import FORMATS

BLOCKS = [(35, 1, 1), (256, 1, 1), (1, 1, 1), (31, 1, 1), (7, 5, 3), (3, 1, 1), (33, 1, 1)]
ARITHMETIC = [f for f in FORMATS if f not in ("f64", "f32")]
INTEGERS = (8, 16, 32, 64)
OPERATIONS = {
    "arith.addf {a}, {b}": lambda a, b, c: formats.add(a, b),
    "arith.subf {a}, {b}": lambda a, b, c: formats.add(a, -b),
    "arith.mulf {a}, {b}": lambda a, b, c: formats.multiply(a, b),
    "arith.divf {a}, {b}": lambda a, b, c: formats.divide(a, b),
    "math.fma {a}, {b}, {c}": formats.fma,
    "math.sqrt {a}": lambda a, b, c: formats.sqrt(a),
    "arith.negf {a}": lambda a, b, c: -a,
    "math.absf {a}": lambda a, b, c: abs(a),
    "arith.minimumf {a}, {b}": lambda a, b, c: formats.least(a, b),
    "arith.maximumf {a}, {b}": lambda a, b, c: formats.greatest(a, b),
}


class Kernel:
    """Code that makes several numbers of one, of 64 bits each; `expected` is a list of
    codes and formats (None for an integer) of those bits."""

    def __init__(self, name, lanes):
        self.name, self.lanes, self.lines, self.outputs, self.count = name + "_%d" % lanes, lanes, [], [], 0

    def type(self, element):
        return element if self.lanes == 1 else "vector<%dx%s>" % (self.lanes, element)

    def op(self, text, *types):
        """A value of the op; {0}, {1} stand for types."""
        value = "%%v%d" % self.count
        self.count += 1
        self.lines.append("%s = %s" % (value, text.format(*(self.type(t) for t in types))))
        return value

    def decode(self, name, bits="%bits", shift=0):
        """A float of the lowest bits."""
        if shift:
            by = self.op("arith.constant " + ("%d : i64" % shift if self.lanes == 1 else "dense<%d> : {0}" % shift), "i64")
            bits = self.op("arith.shrui %s, %s : {0}" % (bits, by), "i64")
        width = "i%d" % FORMATS[name].width
        if width != "i64":
            bits = self.op("arith.trunci %s : {0} to {1}" % bits, "i64", width)
        return self.op("arith.bitcast %s : {0} to {1}" % bits, width, name)

    def encode(self, value, name, expected):
        width = "i%d" % FORMATS[name].width
        self.output(self.op("arith.bitcast %s : {0} to {1}" % value, name, width), width, FORMATS[name], expected)

    def output(self, value, type, format, expected):
        if type != "i64":
            value = self.op("arith.extui %s : {0} to {1}" % value, type, "i64")
        self.outputs.append((value, format, expected))

    def mlir(self):
        text = ["    gpu.func @%s(%%in: memref<?xi64>, %%out: memref<?xi64>, %%from: index, %%to: index, %%count: index) kernel {" % self.name,
                threadplace.PLACE, """      %g = gpu.block_id x
      %first = arith.muli %g, %n : index
      %i = arith.addi %first, %lin : index
      %inside = arith.cmpi ult, %i, %count : index
      scf.if %inside {"""]
        text.append("      %%lanes = arith.constant %d : index\n      %%all = arith.muli %%count, %%lanes : index" % self.lanes)
        text.append("      %place = arith.muli %i, %lanes : index\n      %at = arith.addi %from, %place : index")
        access = "memref.%s" if self.lanes == 1 else "vector.%s"
        types = "memref<?xi64>" + (", " + self.type("i64") if self.lanes > 1 else "")
        text.append("      %%bits = %s %%in[%%at] : %s" % (access % "load", types))
        text += ["      " + line for line in self.lines]
        text.append("      %to0 = arith.addi %to, %place : index")
        for i, (value, _, _) in enumerate(self.outputs):
            text.append("      %s %s, %%out[%%to%d] : %s" % (access % "store", value, i, types))
            text.append("      %%to%d = arith.addi %%to%d, %%all : index" % (i + 1, i))
        return text + ["      }", "      gpu.return", "    }"]


def near(format, code):
    """Numbers of double precision at, and between, this one and the next, and beside those."""
    number = lambda code: formats.Fraction(format.decode(code))
    last = code == format.largest
    return [number(code), number(code) + (number(code + (not last)) - number(code - last)) / 2]


def codes(source, draw, targets):
    """Bits of `source`: of all kinds, and such as targets round."""
    if source.width == 8:
        return list(range(256))
    values = [draw.getrandbits(source.width) for _ in range(200)]
    values += [0, source.largest, source.largest + 1, source.largest + 2, source.sign - 1, 1, 2, 1 << source.mantissa, (1 << source.mantissa) - 1]
    for target in targets:
        chosen = list(range(4)) + [1 << target.mantissa, (1 << target.mantissa) - 1, target.largest, target.largest - 1]
        chosen += [draw.randrange(target.largest + 1) for _ in range(20)] + [draw.randrange(2 << target.mantissa) for _ in range(12)]
        for number in chosen:
            for value in near(target, number):
                size = source.round(value)
                values += [c for c in (size - 1, size, size + 1) if 0 <= c < source.sign]
    return values + [v | source.sign for v in values if v < source.sign]


def truncations(name, lanes, draw):
    source = FORMATS[name]
    targets = [f for f in FORMATS.values() if f.width < source.width]
    kernel = Kernel("truncate_" + name, lanes)
    value = kernel.decode(name)
    for target in targets:
        result = kernel.op("arith.truncf %s : {0} to {1}" % value, name, target.name)
        kernel.encode(result, target.name, lambda bits, target=target: target.encode(source.decode(bits)))
    return kernel, codes(source, draw, targets)


def extensions(name, lanes, draw):
    source = FORMATS[name]
    kernel = Kernel("extend_" + name, lanes)
    value = kernel.decode(name)
    for target in FORMATS.values():
        if target.width > source.width:
            result = kernel.op("arith.extf %s : {0} to {1}" % value, name, target.name)
            kernel.encode(result, target.name, lambda bits, target=target: target.encode(source.decode(bits)))
    for kind, holds in (("isinf", source.isInf), ("isnan", source.isNan), ("isnormal", source.isNormal),
                        ("isfinite", lambda c: not source.isInf(c) and not source.isNan(c))):
        kernel.output(kernel.op("math.%s %s : {0}" % (kind, value), name), "i1", None, lambda bits, holds=holds: int(holds(bits)))
    return kernel, codes(source, draw, [])


def integers(width, lanes, draw):
    kernel, type = Kernel("integer_%d" % width, lanes), "i%d" % width
    value = "%bits" if width == 64 else kernel.op("arith.trunci %bits : {0} to {1}", "i64", type)
    for target in FORMATS.values():
        for sign in "su":
            result = kernel.op("arith.%sitofp %s : {0} to {1}" % (sign, value), type, target.name)
            kernel.encode(result, target.name, lambda bits, target=target, sign=sign: target.encode(
                formats.Fraction(bits - (1 << width) if sign == "s" and bits >> (width - 1) else bits)))
    values = [draw.getrandbits(width) >> draw.randrange(width) for _ in range(500)] + [0, 1, (1 << width) - 1, 1 << (width - 1)]
    for bits in (8, 11, 24):
        # Halfway between two numbers of so many bits, and beside that.
        for _ in range(100 * (width > bits)):
            shift = draw.randrange(width - bits)
            middle = (draw.getrandbits(bits) | 1 << (bits - 1)) * 2 + 1 << shift
            values += [(sign * (middle + draw.choice([-1, 0, 1]))) % (1 << width) for sign in (1, -1)]
    return kernel, values


def numbers(name, lanes, draw):
    """To integers, which have to hold them."""
    source = FORMATS[name]
    kernel = Kernel("number_" + name, lanes)
    value = kernel.decode(name)
    for sign in "su":
        result = kernel.op("arith.fpto%si %s : {0} to {1}" % (sign, value), name, "i32")
        kernel.output(result, "i32", None, lambda bits: int(source.decode(bits)) & 0xFFFFFFFF)
    values = [c for c in codes(source, draw, []) if formats.isFinite(source.decode(c)) and 0 <= source.decode(c) < 1 << 31]
    return kernel, values


def arithmetic(name, lanes, draw):
    format = FORMATS[name]
    kernel, width = Kernel("compute_" + name, lanes), format.width
    operands = {letter: kernel.decode(name, shift=i * width) for i, letter in enumerate("abc")}

    def parts(bits):
        return [format.decode(bits >> i * width & (2 * format.sign - 1)) for i in range(3)]

    for text, compute in OPERATIONS.items():
        result = kernel.op(text.format(**operands) + " : {0}", name)
        kernel.encode(result, name, lambda bits, compute=compute: format.encode(compute(*parts(bits))))
    for predicate, holds in (("olt", lambda a, b: a < b), ("oeq", lambda a, b: a == b), ("une", lambda a, b: not a == b)):
        result = kernel.op("arith.cmpf %s, %s, %s : {0}" % (predicate, operands["a"], operands["b"]), name)
        kernel.output(result, "i1", None, lambda bits, holds=holds: int(holds(*parts(bits)[:2])))
    low = (2 << format.mantissa) - 1
    values = [draw.getrandbits(3 * width) for _ in range(800)]
    values += [draw.randrange(low) | draw.randrange(low) << width | draw.randrange(low) << 2 * width for _ in range(200)]
    # Products in the middle of two numbers, and what decides where they go.
    one = (format.bias << format.mantissa)
    for _ in range(600):
        a, b = (one + draw.getrandbits(format.mantissa) for _ in range(2))
        c = draw.choice([1, draw.randrange(low), draw.randrange(one)]) | format.sign * draw.randrange(2)
        values.append(a | b << width | c << 2 * width)
    return kernel, values


def reduction(name, lanes, draw):
    """Sums of the lanes of a vector, rounded at each step."""
    format = FORMATS[name]
    kernel, width = Kernel("reduce_" + name, 1), format.width
    parts = [kernel.decode(name, shift=i * width) for i in range(64 // width)]
    vector = kernel.op("vector.from_elements %s : vector<%dx%s>" % (", ".join(parts), len(parts), name))
    kernel.encode(kernel.op("vector.reduction <add>, %s : vector<%dx%s> into %s" % (vector, len(parts), name, name)), name,
                  lambda bits: total([bits >> i * width & (2 * format.sign - 1) for i in range(len(parts))]))

    def total(codes):
        sum = codes[0]
        for code in codes[1:]:
            sum = format.encode(formats.add(format.decode(sum), format.decode(code)))
            if sum is None:
                return None
        return sum

    one = format.bias << format.mantissa
    values = [draw.getrandbits(64) for _ in range(200)]
    values += [sum((one + draw.getrandbits(format.mantissa + 1) | format.sign * draw.randrange(2)) << i * width for i in range(len(parts)))
               for _ in range(400)]
    return kernel, values


def drawKernels():
    draw, kernels = random.Random(8), []
    for lanes in (1, 4):
        for name in ("f64", "f32", "f16", "bf16"):
            kernels.append(truncations(name, lanes, draw))
        for name in FORMATS:
            kernels.append(extensions(name, lanes, draw))
            if name in ARITHMETIC:
                kernels.append(arithmetic(name, lanes, draw))
            kernels.append(numbers(name, lanes, draw))
        for width in INTEGERS:
            kernels.append(integers(width, lanes, draw))
    for name in ARITHMETIC:
        kernels.append(reduction(name, 1, draw))
    return kernels


def moduleText(kernels, places, inputs, outputs):
    text = ["module attributes {gpu.container_module} {", "  gpu.module @k {"]
    for kernel, _ in kernels:
        text += kernel.mlir()
    text.append("  }\n  func.func @main(%%hin: memref<%dxi64>, %%hout: memref<%dxi64>) {" % (inputs, outputs))
    text.append("""    %%din0 = gpu.alloc () : memref<%dxi64>
    gpu.memcpy %%din0, %%hin : memref<%dxi64>, memref<%dxi64>
    %%dout0 = gpu.alloc () : memref<%dxi64>
    %%din = memref.cast %%din0 : memref<%dxi64> to memref<?xi64>
    %%dout = memref.cast %%dout0 : memref<%dxi64> to memref<?xi64>
    %%c1 = arith.constant 1 : index""" % ((inputs,) * 3 + (outputs, inputs, outputs)))
    for i, ((kernel, values), (first, to)) in enumerate(zip(kernels, places)):
        block, count = BLOCKS[i % len(BLOCKS)], len(values) // kernel.lanes
        threads = block[0] * block[1] * block[2]
        for key, number in {"f": first, "t": to, "n": count, "g": -(-count // threads), "x": block[0], "y": block[1], "z": block[2]}.items():
            text.append("    %%%s%d = arith.constant %d : index" % (key, i, number))
        text.append("    gpu.launch_func @k::@{0} blocks in (%g{1}, %c1, %c1) threads in (%x{1}, %y{1}, %z{1}) args(%din : memref<?xi64>, "
                    "%dout : memref<?xi64>, %f{1} : index, %t{1} : index, %n{1} : index)".format(kernel.name, i))
    text.append("    gpu.memcpy %%hout, %%dout0 : memref<%dxi64>, memref<%dxi64>" % (outputs, outputs))
    text.append("    gpu.dealloc %%din0 : memref<%dxi64>\n    gpu.dealloc %%dout0 : memref<%dxi64>\n    return\n  }\n}" % (inputs, outputs))
    return "\n".join(text) + "\n"


def main():
    runner, options = sys.argv[1], sys.argv[2:]
    kernels, places, values, outputs = drawKernels(), [], [], 0
    for kernel, mine in kernels:
        while len(mine) % kernel.lanes:
            mine.append(0)
        places.append((len(values), outputs))
        values += mine
        outputs += len(mine) * len(kernel.outputs)
    text = moduleText(kernels, places, len(values), outputs)
    if "--print" in options:
        print(text)
        return
    with tempfile.TemporaryDirectory() as folder:
        file, into, out = (os.path.join(folder, n) for n in ("f.mlir", "in.npy", "out.npy"))
        with open(file, "w") as f:
            f.write(text)
        with open(into, "wb") as f:
            f.write(formats.npy(values))
        done = subprocess.run([runner, "--device=cpu", *options, file, "--leak-check=error", "--input=@" + into,
                               "--input=%dxi64" % outputs, "--output=", "--output=@" + out])
        if done.returncode:
            sys.exit("gpu-runner failed")
        with open(out, "rb") as f:
            data = f.read()
        got = struct.unpack_from("<%dQ" % outputs, data, 10 + struct.unpack_from("<H", data, 8)[0])
    wrong = 0
    for (kernel, mine), (_, to) in zip(kernels, places):
        for which, (_, format, expected) in enumerate(kernel.outputs):
            bad = 0
            for i, bits in enumerate(mine):
                result, wanted = got[to + which * len(mine) + i], expected(bits)
                if result != wanted and not (wanted is None and format.isNan(result)):
                    bad += 1
                    if bad <= 3:
                        print("%s of %#x, result %d (%s): %#x, expected %s" % (
                            kernel.name, bits, which, format.name if format else "an integer", result, "NaN" if wanted is None else hex(wanted)))
            wrong += bad > 0
    print("%d numbers in %d kernels, %d results wrong" % (outputs, len(kernels), wrong))
    sys.exit(1 if wrong else 0)


main()
