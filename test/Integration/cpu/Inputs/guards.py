# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Kernels whose threads do something if comparisons of their place with numbers hold:
#
#   guards.py GPU_RUNNER [-O3] [--seed=N] [--kernels=N]
#
# The places are ids or global ids, plus numbers; those and the bounds lie around 0, the
# block's size and the ends of the type. Each thread adds to its own cell, and to the
# block's count. Some kernels ask for nothing in x but the place in the grid, which also
# says what they add, so that one call runs several blocks.

import os
import random
import struct
import subprocess
import sys
import tempfile
import time

BLOCKS = [(1, 1, 1), (3, 1, 1), (33, 1, 1), (64, 1, 1), (16, 4, 1), (35, 2, 3)]
GRIDS = [(2, 2, 1), (11, 2, 1), (40, 1, 1)]
SIGNED = {"slt": lambda a, b: a < b, "sle": lambda a, b: a <= b, "sgt": lambda a, b: a > b, "sge": lambda a, b: a >= b,
          "eq": lambda a, b: a == b, "ne": lambda a, b: a != b}
UNSIGNED = {"ult": SIGNED["slt"], "ule": SIGNED["sle"], "ugt": SIGNED["sgt"], "uge": SIGNED["sge"]}
DIMS = "xyz"


def signed(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


class Condition:
    """One comparison: its ops, and what they compute."""

    def __init__(self, random, number):
        self.dim = random.randrange(3) if random.random() < 0.3 else 0
        self.place = random.choice(["t", "g", "g", "b"])
        self.type = random.choice(["index", "index", "i64", "i32"])
        self.bits = 32 if self.type == "i32" else 64
        ends = [0, 1, 2, 5, 16, 31, 33, 60, 70, -1, -2, -33]
        if random.random() < 0.2:
            ends = [(1 << (self.bits - 1)) - 1 - e for e in range(3)] + [-(1 << (self.bits - 1)) + e for e in range(3)]
        self.offset = random.choice([0, 0, 0, 1, -1, 7, random.choice(ends)])
        self.bound = random.choice(ends)
        self.predicate = random.choice(list(SIGNED) + 2 * list(UNSIGNED) + 2 * ["slt", "ult"])
        self.swapped = random.random() < 0.3
        self.number = number

    def text(self):
        n, lines = self.number, []
        value = "%%%s%s" % (self.place, DIMS[self.dim])
        if self.type != "index":
            lines.append("%%n%d = arith.index_cast %s : index to %s" % (n, value, self.type))
            value = "%%n%d" % n
        if self.offset:
            lines.append("%%k%d = arith.constant %d : %s" % (n, self.offset, self.type))
            lines.append("%%s%d = arith.addi %s, %%k%d : %s" % (n, value, n, self.type))
            value = "%%s%d" % n
        sides = (value, "%%bound%d" % n)
        lines.append("%%c%d = arith.cmpi %s, %s, %s : %s" % (
            (n, self.predicate) + (sides[::-1] if self.swapped else sides) + (self.type,)))
        return lines

    def holds(self, t, b, block):
        place = {"t": t, "b": b, "g": [b[i] * block[i] + t[i] for i in range(3)]}[self.place][self.dim]
        a, b = signed(place + self.offset, self.bits), self.bound
        if self.swapped:
            a, b = b, a
        if self.predicate in UNSIGNED:
            mask = (1 << self.bits) - 1
            return UNSIGNED[self.predicate](a & mask, b & mask)
        return SIGNED[self.predicate](a, b)


class Kernel:
    def __init__(self, seed):
        r = random.Random(seed)
        self.conditions = [Condition(r, i) for i in range(r.choice([1, 1, 2, 2, 3]))]
        self.counts = r.random() < 0.4
        self.barrier = self.counts or r.random() < 0.2
        self.byGrid = not self.barrier and r.random() < 0.7
        self.grid = r.choice(GRIDS) if self.byGrid else GRIDS[0]
        self.narrow, self.swapped = r.random() < 0.3, r.random() < 0.5
        for c in self.conditions:
            if self.byGrid and c.dim == 0:
                c.place = "g"

    def text(self, name, size):
        lines = ["    gpu.func @%s(%%out: memref<%dxi32>, %%base: index%s) workgroup(%%count: memref<2xi32, WS>) kernel {" % (
            name, size, "".join(", %%bound%d: %s" % (c.number, c.type) for c in self.conditions))]
        body = ["%zero = arith.constant 0 : index", "%i0 = arith.constant 0 : i32", "%i1 = arith.constant 1 : i32"]
        for d in DIMS:
            for value, op in (("t", "thread_id"), ("b", "block_id"), ("d", "block_dim"), ("e", "grid_dim")):
                body.append("%%%s%s = gpu.%s %s" % (value, d, op, d))
            type, values = "index", ["%" + v + d for v in "bdt"]
            if self.narrow:
                type = "i32"
                body += ["%%w%s = arith.index_cast %s : index to i32" % (v[1:], v) for v in values]
                values = ["%w" + v[1:] for v in values]
            b, extent, t = values
            body.append("%%o%s = arith.muli %s, %s : %s" % ((d,) + ((extent, b) if self.swapped else (b, extent)) + (type,)))
            terms = (t, "%o" + d) if self.swapped else ("%o" + d, t)
            body.append("%%%s%s = arith.addi %s, %s : %s" % (("n" if self.narrow else "g", d) + terms + (type,)))
            if self.narrow:
                body.append("%%g%s = arith.index_cast %%n%s : i32 to index" % (d, d))
        if self.byGrid:
            body += ["%mx = arith.muli %ex, %dx : index", "%my = arith.muli %ey, %dy : index",
                     "%l0 = arith.muli %gz, %my : index", "%l1 = arith.addi %l0, %gy : index",
                     "%l2 = arith.muli %l1, %mx : index", "%l7 = arith.addi %l2, %gx : index",
                     "%gx32 = arith.index_cast %gx : index to i32", "%add = arith.addi %gx32, %i1 : i32"]
        else:
            body += ["%l0 = arith.muli %by, %ex : index", "%l1 = arith.addi %l0, %bx : index",
                     "%l2 = arith.muli %l1, %dz : index", "%l3 = arith.addi %l2, %tz : index",
                     "%l4 = arith.muli %l3, %dy : index", "%l5 = arith.addi %l4, %ty : index",
                     "%l6 = arith.muli %l5, %dx : index", "%l7 = arith.addi %l6, %tx : index"]
        body.append("%at = arith.addi %base, %l7 : index")
        if self.barrier:
            body += ["memref.store %i0, %count[%zero] : memref<2xi32, WS>", "gpu.barrier"]
        for c in self.conditions:
            body += c.text()
        all = "%c0"
        for c in self.conditions[1:]:
            body.append("%%all%d = arith.andi %s, %%c%d : i1" % (c.number, all, c.number))
            all = "%%all%d" % c.number
        added = "%add" if self.byGrid else "%i1"
        own = ["%old = memref.load %out[%at] : memref<SIZExi32>", "%%new = arith.addi %%old, %s : i32" % added,
               "memref.store %new, %out[%at] : memref<SIZExi32>"]
        if self.counts:
            own.append("%before = memref.atomic_rmw addi %i1, %count[%zero] : (i32, memref<2xi32, WS>) -> i32")
        body += ["scf.if %s {" % all] + ["  " + line for line in own] + ["}"]
        if self.barrier:
            body.append("gpu.barrier")
        if self.counts:
            body += ["%n = memref.load %count[%zero] : memref<2xi32, WS>", "%thousand = arith.constant 1000 : i32",
                     "%many = arith.muli %n, %thousand : i32", "%mine = memref.load %out[%at] : memref<SIZExi32>",
                     "%sum = arith.addi %mine, %many : i32", "memref.store %sum, %out[%at] : memref<SIZExi32>"]
        lines += ["      " + line for line in body] + ["      gpu.return", "    }"]
        return "\n".join(lines).replace("SIZE", str(size)).replace("WS", "#gpu.address_space<workgroup>")

    def expected(self, block):
        if self.byGrid:
            sizes = [self.grid[i] * block[i] for i in range(3)]
            cells = []
            for gz in range(sizes[2]):
                for gy in range(sizes[1]):
                    for gx in range(sizes[0]):
                        places = [divmod(g, block[i]) for i, g in enumerate((gx, gy, gz))]
                        b, t = zip(*places)
                        cells.append((1 + gx) * all(c.holds(t, b, block) for c in self.conditions))
            return cells
        cells = []
        for by in range(self.grid[1]):
            for bx in range(self.grid[0]):
                own = [int(all(c.holds((x, y, z), (bx, by, 0), block) for c in self.conditions))
                       for z in range(block[2]) for y in range(block[1]) for x in range(block[0])]
                cells += [cell + (1000 * sum(own) if self.counts else 0) for cell in own]
        return cells


def main():
    options = dict(o[2:].split("=") for o in sys.argv[2:] if "=" in o)
    runner, level = sys.argv[1], [o for o in sys.argv[2:] if "=" not in o]
    seed, count = int(options.get("seed", time.time_ns() % 1000000)), int(options.get("kernels", 40))
    print("guards: --seed=%d --kernels=%d" % (seed, count))
    kernels = [Kernel(seed + i) for i in range(count)]
    places, size = [], 0
    for i, kernel in enumerate(kernels):
        # One size of block for some kernels: the compiler then knows it.
        for block in BLOCKS if i % 3 else [BLOCKS[i // 3 % len(BLOCKS)]]:
            places.append((i, block, size))
            size += block[0] * block[1] * block[2] * kernel.grid[0] * kernel.grid[1]
    text = ["module attributes {gpu.container_module} {", "  gpu.module @k {"]
    text += [kernel.text("k%d" % i, size) for i, kernel in enumerate(kernels)]
    text += ["  }", "  func.func @main(%%hout: memref<%dxi32>) {" % size, "    %%dout = gpu.alloc () : memref<%dxi32>" % size,
             "    gpu.memcpy %%dout, %%hout : memref<%dxi32>, memref<%dxi32>" % (size, size)]
    text += ["    %%c%d = arith.constant %d : index" % (i, i) for i in sorted(set().union(*BLOCKS, *GRIDS))]
    for j, (i, block, base) in enumerate(places):
        text.append("    %%base%d = arith.constant %d : index" % (j, base))
        arguments = "%%dout : memref<%dxi32>, %%base%d : index" % (size, j)
        for c in kernels[i].conditions:
            text.append("    %%bound%d_%d = arith.constant %d : %s" % (j, c.number, c.bound, c.type))
            arguments += ", %%bound%d_%d : %s" % (j, c.number, c.type)
        text.append("    gpu.launch_func @k::@k%d blocks in (%%c%d, %%c%d, %%c%d) threads in (%%c%d, %%c%d, %%c%d) args(%s)" % (
            (i,) + kernels[i].grid + block + (arguments,)))
    text += ["    gpu.memcpy %%hout, %%dout : memref<%dxi32>, memref<%dxi32>" % (size, size),
             "    gpu.dealloc %%dout : memref<%dxi32>" % size, "    return", "  }", "}"]
    with tempfile.TemporaryDirectory() as folder:
        file, out = os.path.join(folder, "guards.mlir"), os.path.join(folder, "out.npy")
        with open(file, "w") as f:
            f.write("\n".join(text) + "\n")
        if "--print" in level:
            sys.exit("\n".join(text))
        if subprocess.run([runner, "--device=cpu", *level, file, "--leak-check=error", "--input=%dxi32=0" % size,
                           "--output=@" + out]).returncode:
            sys.exit("gpu-runner failed")
        with open(out, "rb") as f:
            data = f.read()
    got = struct.unpack_from("<%di" % size, data, 10 + struct.unpack_from("<H", data, 8)[0])
    wrong = 0
    for i, block, base in places:
        for at, wanted in enumerate(kernels[i].expected(block)):
            if got[base + at] != wanted:
                wrong += 1
                print("--seed=%d, block %s, cell %d: %d, expected %d" % (seed + i, block, at, got[base + at], wanted))
                break
    print("%d launches, %d wrong" % (len(places), wrong))
    sys.exit(1 if wrong else 0)


main()
