# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# All atomics of memref, of all types, on global and on workgroup memory:
#
#   atomics.py GPU_RUNNER [-O0]
#
# Whatever the order: each old value but the first was somebody's new one, and the last new
# one is what memory holds in the end.

import collections
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "Inputs"))
import formats
from formats import FORMATS

THREADS, BLOCKS = 35, 3
INTEGERS = (1, 4, 7, 8, 16, 24, 32, 33, 64)
FLOATS = ("f16", "bf16", "f32", "f64", "f8E5M2", "f8E4M3FN", "f8E4M3FNUZ")
WORKGROUP = "#gpu.address_space<workgroup>"
VIEW = "memref<?xi64, strided<[1], offset: ?>>"
INTEGER_KINDS = {
    "addi": lambda a, b: a + b, "muli": lambda a, b: a * b, "andi": lambda a, b: a & b, "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b, "maxu": max, "minu": min, "maxs": None, "mins": None, "assign": lambda a, b: b,
}
FLOAT_KINDS = {
    "addf": formats.add, "mulf": formats.multiply, "maximumf": formats.greatest, "minimumf": formats.least,
    "maxnumf": lambda a, b: b if math.isnan(a) else a if math.isnan(b) else max(a, b),
    "minnumf": lambda a, b: b if math.isnan(a) else a if math.isnan(b) else min(a, b), "assign": lambda a, b: b,
}


class Type:
    """Of memory, with what can be done to it: names, MLIR, and the code of the new value
    from those of the old value and the operand."""

    def __init__(self, name):
        self.name, self.format = name, FORMATS.get(name)
        self.width = self.format.width if self.format else int(name[1:])

    def signed(self, code):
        return code - (1 << self.width) if code >> (self.width - 1) else code

    def operations(self):
        for kind in FLOAT_KINDS if self.format else INTEGER_KINDS:
            yield kind, "memref.atomic_rmw %s {v}, {m} : (%s, {t}) -> %s" % (kind, self.name, self.name), self.compute(kind)
        head = "memref.generic_atomic_rmw {m} : {t} {{\n^bb0(%%old: %s):\n" % self.name
        yield "known", head + "memref.atomic_yield {v} : %s\n}}" % self.name, lambda old, operand: operand
        square, change = ("mulf", "maximumf") if self.format else ("muli", "addi")
        region = "%%p = arith.%s %%old, %%old : %s\n%%q = arith.%s %%p, {v} : %s\n" % (square, self.name, change, self.name)
        yield "region", head + region + "memref.atomic_yield %%q : %s\n}}" % self.name, self.square

    def compute(self, kind):
        if self.format:
            return lambda a, b: self.format.encode(FLOAT_KINDS[kind](self.format.decode(a), self.format.decode(b)))
        if kind in ("maxs", "mins"):
            return lambda a, b: {"maxs": max, "mins": min}[kind](a, b, key=self.signed)
        return lambda a, b: INTEGER_KINDS[kind](a, b) & ((1 << self.width) - 1)

    def square(self, old, operand):
        if not self.format:
            return (old * old + operand) & ((1 << self.width) - 1)
        product = self.format.encode(formats.multiply(*[self.format.decode(old)] * 2))
        return None if product is None else self.format.encode(formats.greatest(self.format.decode(product), self.format.decode(operand)))

    def operand(self, kind, draw):
        if not self.format:
            return draw.getrandbits(self.width) | (kind == "muli")
        if kind in ("mulf", "region"):
            return self.format.encode(draw.choice([0.5, -0.5, 1.0, -1.0] + [2.0] * (kind == "mulf")))
        number = draw.choice([1.0, 2.0, -3.0, 0.5, -0.25, 6.0, 1.0 + 2.0 ** -self.format.mantissa])
        if kind not in ("addf", "assign", "known") and draw.random() < 0.1:
            number = math.nan
        if math.isnan(number):
            return self.format.sign if self.format.kind == "fnuz" else self.format.sign - 1
        return self.format.encode(number)

    def same(self, code):
        """The code, or what stands for all NaNs."""
        return "NaN" if code is None or self.format and self.format.isNan(code) else code

    def decode(self, to, bits, index):
        """Lines that make a value of this type."""
        width, name = "i%d" % self.width, "%d%s" % (index, to)
        lines = ["%%i%s = arith.trunci %s : i64 to %s" % (name, bits, width)] if self.width < 64 else []
        bits = "%%i%s" % name if lines else bits
        if self.format:
            return lines + ["%%%s%d = arith.bitcast %s : %s to %s" % (to, index, bits, width, self.name)], "%%%s%d" % (to, index)
        return lines, bits

    def encode(self, value, tag):
        width, lines = "i%d" % self.width, []
        if self.format:
            lines.append("%%b%s = arith.bitcast %s : %s to %s" % (tag, value, self.name, width))
            value = "%%b%s" % tag
        if self.width < 64:
            lines.append("%%e%s = arith.extui %s : %s to i64" % (tag, value, width))
            value = "%%e%s" % tag
        return lines, value


def kernelText(type, memory, name):
    """Operand `k` of a thread is at k * threads; its old value goes there, what memory
    holds in the end after all of them."""
    operations = list(type.operations())
    total, count = THREADS * BLOCKS, len(operations)
    cells = "memref<%dx%s%s>" % (count, type.name, ", " + WORKGROUP if memory == "workgroup" else "")
    starts = ["%%s%d = arith.constant %d : index" % (k, k) for k in range(count)]

    def initial(k):
        lines = ["%%fi%d = arith.constant %d : index" % (k, total * count + k), "%%fb%d = memref.load %%in[%%fi%d] : memref<?xi64>" % (k, k)]
        more, value = type.decode("f", "%%fb%d" % k, k)
        return lines + more + ["memref.store %s, %%cells[%%s%d] : %s" % (value, k, cells)]

    def final(k):
        lines, value = type.encode("%%last%d" % k, "l%d" % k)
        place = ["%%lp%d = arith.constant %d : index" % (k, count * total + k * BLOCKS), "%%lq%d = arith.addi %%lp%d, %%g : index" % (k, k)]
        return ["%%last%d = memref.load %%cells[%%s%d] : %s" % (k, k, cells)] + lines + place + [
            "memref.store %s, %%out[%%lq%d] : memref<?xi64>" % (value, k)]

    def update(k):
        _, text, _ = operations[k]
        lines = ["%%o%d = arith.constant %d : index" % (k, k * total), "%%p%d = arith.addi %%o%d, %%t : index" % (k, k),
                 "%%vb%d = memref.load %%in[%%p%d] : memref<?xi64>" % (k, k)]
        more, value = type.decode("v", "%%vb%d" % k, k)
        lines += more + ("%%r%d = " % k + text.format(v=value, m="%%cells[%%s%d]" % k, t=cells)).split("\n")
        more, value = type.encode("%%r%d" % k, "r%d" % k)
        return lines + more + ["memref.store %s, %%out[%%p%d] : memref<?xi64>" % (value, k)]

    place = ["%x = gpu.thread_id x", "%g = gpu.block_id x", "%n = gpu.block_dim x", "%first = arith.muli %g, %n : index",
             "%t = arith.addi %first, %x : index", "%zero = arith.constant 0 : index"] + starts
    each = lambda part: [line for k in range(count) for line in part(k)]
    once = lambda lines: ["%is = arith.cmpi eq, %x, %zero : index", "scf.if %is {"] + lines + ["}"]
    arguments = "(%in: memref<?xi64>, %out: memref<?xi64>"
    if memory == "workgroup":
        body = place + once(each(initial)) + ["gpu.barrier"] + each(update) + ["gpu.barrier"] + once(each(final))
        body = [line.replace("%is", "%is2") if i > len(body) // 2 else line for i, line in enumerate(body)]
        return ["gpu.func @%s%s) workgroup(%%cells: %s) kernel {" % (name, arguments, cells)] + body + ["gpu.return", "}"]
    text = []
    for part, lines in (("begin", each(initial)), ("update", each(update)), ("end", each(final))):
        text += ["gpu.func @%s_%s%s, %%cells: %s) kernel {" % (name, part, arguments, cells)] + place + lines + ["gpu.return", "}"]
    return text


def main():
    runner, options = sys.argv[1], sys.argv[2:]
    draw, total = random.Random(5), THREADS * BLOCKS
    text, host, values, kernels = ["module attributes {gpu.container_module} {", "gpu.module @k {"], [], [], []
    most = max(len(list(Type("i8").operations())), len(list(Type("f32").operations())))
    length = most * (total + BLOCKS)
    for name in ["i%d" % w for w in INTEGERS] + list(FLOATS):
        for memory in ("global", "workgroup"):
            type = Type(name)
            operations, kernel, i = list(type.operations()), "%s_%s" % (name, memory), len(kernels)
            mine = [type.operand(kind, draw) for kind, _, _ in operations for _ in range(total)]
            mine += [type.operand("assign", draw) for _ in operations]
            kernels.append((type, memory, operations, kernel, len(values), mine))
            values += mine + [0] * (length - len(mine))
            text += kernelText(type, memory, kernel)
            host.append("%%f%d = arith.constant %d : index" % (i, i * length))
            for side in ("in", "out"):
                host.append("%{0}p{1} = memref.subview %d{0}[%f{1}] [%length] [1] : memref<?xi64> to {2}".format(side, i, VIEW))
    size = len(values)
    text = [line.replace("memref<?xi64>", VIEW) for line in text]
    text += ["}", "func.func @main(%%hin: memref<%dxi64>, %%hout: memref<%dxi64>) {" % (size, size)]
    for side in ("in", "out"):
        text += ["%%d%s0 = gpu.alloc () : memref<%dxi64>" % (side, size),
                 "gpu.memcpy %%d%s0, %%h%s : memref<%dxi64>, memref<%dxi64>" % (side, side, size, size),
                 "%%d%s = memref.cast %%d%s0 : memref<%dxi64> to memref<?xi64>" % (side, side, size)]
    text += ["%%length = arith.constant %d : index" % length, "%c1 = arith.constant 1 : index", "%%blocks = arith.constant %d : index" % BLOCKS,
             "%%threads = arith.constant %d : index" % THREADS] + host
    for i, (type, memory, operations, kernel, _, _) in enumerate(kernels):
        arguments = "%%inp%d : %s, %%outp%d : %s" % (i, VIEW, i, VIEW)
        if memory == "workgroup":
            text.append("gpu.launch_func @k::@%s blocks in (%%blocks, %%c1, %%c1) threads in (%%threads, %%c1, %%c1) args(%s)" % (kernel, arguments))
            continue
        cells = "memref<%dx%s>" % (len(operations), type.name)
        text.append("%%cells%d = gpu.alloc () : %s" % (i, cells))
        for part, sizes in (("begin", ("c1", "c1")), ("update", ("blocks", "threads")), ("end", ("c1", "c1"))):
            text.append("gpu.launch_func @k::@%s_%s blocks in (%%%s, %%c1, %%c1) threads in (%%%s, %%c1, %%c1) args(%s, %%cells%d : %s)"
                        % (kernel, part, sizes[0], sizes[1], arguments, i, cells))
        text.append("gpu.dealloc %%cells%d : %s" % (i, cells))
    text += ["gpu.memcpy %%hout, %%dout0 : memref<%dxi64>, memref<%dxi64>" % (size, size)]
    text += ["gpu.dealloc %%d%s0 : memref<%dxi64>" % (side, size) for side in ("in", "out")] + ["return", "}", "}"]
    if "--print" in options:
        print("\n".join(text))
        return
    with tempfile.TemporaryDirectory() as folder:
        file, into, out = (os.path.join(folder, n) for n in ("f.mlir", "in.npy", "out.npy"))
        with open(file, "w") as f:
            f.write("\n".join(text) + "\n")
        with open(into, "wb") as f:
            f.write(formats.npy(values))
        done = subprocess.run([runner, "--device=cpu", *options, file, "--leak-check=error", "--input=@" + into,
                               "--input=%dxi64=0" % size, "--output=", "--output=@" + out])
        if done.returncode:
            sys.exit("gpu-runner failed")
        with open(out, "rb") as f:
            data = f.read()
        got = struct.unpack_from("<%dQ" % size, data, 10 + struct.unpack_from("<H", data, 8)[0])
    wrong = 0
    for type, memory, operations, kernel, first, mine in kernels:
        for k, (kind, _, compute) in enumerate(operations):
            groups = [range(b * THREADS, (b + 1) * THREADS) for b in range(BLOCKS)] if memory == "workgroup" else [range(total)]
            for b, group in enumerate(groups):
                old = {t: got[first + k * total + t] for t in group}
                end = got[first + len(operations) * total + k * BLOCKS + b]
                left = collections.Counter(map(type.same, list(old.values()) + [end]))
                right = collections.Counter(type.same(compute(old[t], mine[k * total + t])) for t in group)
                right[type.same(mine[len(operations) * total + k])] += 1
                if left != right:
                    wrong += 1
                    print("%s %s: old values and the last one %s, new values and the first one %s" % (kernel, kind, left - right, right - left))
    print("%d kinds of atomics, %d wrong" % (sum(len(o) for _, _, o, _, _, _ in kernels), wrong))
    sys.exit(1 if wrong else 0)


main()
