# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Kernels whose loops begin at the thread's own place, in blocks of odd sizes:
#
#   thread_loops.py GPU_RUNNER [-O3] [--seed=N] [--kernels=N] [--print]
#
# The place is an id, a global id, the number of the thread in its block, or a multiple of
# one, in index, i64 or i32. Bounds lie around zero, the number of threads and the ends of
# the type. What loops carry is summed up in f32, where the order of additions shows.

import os
import random
import struct
import subprocess
import sys
import tempfile
import time

BLOCKS = [(1, 1, 1), (3, 1, 1), (31, 1, 1), (33, 1, 1), (35, 1, 1), (256, 1, 1), (16, 5, 1), (7, 5, 3), (4, 3, 2)]
GRID = 2
CELLS = 1 << 10  # of the input
BINS = 8
WS = "#gpu.address_space<workgroup>"


def f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def signed(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


class Loop:
    """for i = place + base to bound step (number of threads or a constant)"""

    def __init__(self, r, number, depth):
        self.number = number
        self.type = r.choice(["index", "index", "i64", "i32"])
        self.bits = 32 if self.type == "i32" else 64
        self.place = r.choice(["tx"] * 4 + ["lin"] * 3 + ["ty", "gx", "four", "late", "zero"])
        if self.bits == 32 and self.place == "gx":
            self.place = "tx"
        self.unsigned = r.random() < 0.3
        self.step = r.choice(["dx", "dx", "n", "n", 256, 7, 64]) if self.place != "zero" else r.choice([1, 3])
        # The ends of the type, from which few rounds keep the counter.
        half = 1 << (self.bits - 1)
        ends = [half - 70000] + ([half + 1000, 2 * half - 70000] if self.unsigned else [-half])
        near = [0, 0, 1, 5, 100] + ([] if self.unsigned else [-5])
        self.base = r.choice(ends if r.random() < 0.25 else near)
        lengths = [0, 1, 20, 30, 33, 50, 64, 100, 200, 300, 700] if depth == 0 and self.place != "zero" else [0, 1, 5, 9]
        if self.step == 7:
            lengths = [0, 20, 35, 50, 80]
        self.bound = self.base + r.choice(lengths)
        if not self.unsigned and self.base > -half and r.random() < 0.05:
            self.bound = self.base - 3
        self.isFar = r.random() < 0.2  # no neighbours: left to the threads
        self.kinds = ["sum"] + r.sample(["hash", "own", "bin", "count", "branch"], r.choice([0, 1, 2, 2]))
        self.inner = Loop(r, number + 1, depth + 1) if depth < 2 and r.random() < 0.3 else None

    def text(self, carried):
        """Ops that yield new values of (f32, i32) from those in `carried`."""
        n, lines = self.number, []
        add = lines.append
        t = self.type

        def as_type(value, name):
            if t == "index":
                return value
            add("%%%s%d = arith.index_cast %s : index to %s" % (name, n, value, t))
            return "%%%s%d" % (name, n)

        start = as_type({"zero": "%c0"}.get(self.place, "%" + self.place), "place")
        add("%%base%d = arith.constant %d : %s" % (n, signed(self.base, self.bits), t))
        add("%%start%d = arith.addi %%base%d, %s overflow<nsw> : %s" % (n, n, start, t))
        step = as_type("%" + self.step, "step") if isinstance(self.step, str) else "%%step%d" % n
        if not isinstance(self.step, str):
            add("%%step%d = arith.constant %d : %s" % (n, self.step, t))
        add("%%bound%d = arith.constant %d : %s" % (n, signed(self.bound, self.bits), t))
        f, i, inner = "%%f%d" % n, "%%i%d" % n, []
        name = "%%at%d" % n
        inner.append("%%d%d = arith.subi %s, %%base%d : %s" % (n, name, n, t))
        index = "%%d%d" % n
        if t != "index":
            inner.append("%%e%d = arith.index_cast %%d%d : %s to index" % (n, n, t))
            index = "%%e%d" % n
        inner += ["%%m%d = arith.remui %s, %%cells : index" % (n, index) if self.number % 2 else
                  "%%m%d = arith.addi %s, %%c0 : index" % (n, index),
                  "%%u%d = arith.minui %%m%d, %%last : index" % (n, n),
                  "%%s%d = arith.minui %s, %%last : index" % (n, index),
                  "%%v%d = memref.load %%in[%%s%d] : memref<CELLSxf32>" % (n, n),
                  "%%w%d = memref.load %%in[%%u%d] : memref<CELLSxf32>" % (n, n)]
        if not self.isFar:
            inner.append("%%x%d = memref.load %%in[%s] : memref<CELLSxf32>" % (n, index))
        nextF, nextI = f, i
        for kind in self.kinds:
            k = "%s%d" % (kind, n)
            if kind == "sum":
                inner.append("%%%s = arith.addf %s, %%%s%d : f32" % (k, nextF, "v" if self.isFar else "x", n))
                nextF = "%" + k
            elif kind == "hash":
                inner += ["%%p%s = arith.muli %s, %%prime : i32" % (k, nextI),
                          "%%q%s = arith.index_cast %s : index to i32" % (k, index),
                          "%%%s = arith.addi %%p%s, %%q%s : i32" % (k, k, k)]
                nextI = "%" + k
            elif kind == "own":
                inner += ["%%o%s = memref.load %%out[%%cell] : memref<?xi32>" % k,
                          "%%%s = arith.addi %%o%s, %%one : i32" % (k, k),
                          "memref.store %%%s, %%out[%%cell] : memref<?xi32>" % k]
            elif kind == "bin":
                inner += ["%%b%s = arith.remui %s, %%cbins : index" % (k, index),
                          "%%%s = memref.atomic_rmw addi %%one, %%bins[%%b%s] : (i32, memref<BINSxi32, WS>) -> i32" % (k, k)]
            elif kind == "count":
                inner.append("%%%s = memref.atomic_rmw addi %%one, %%out[%%counter] : (i32, memref<?xi32>) -> i32" % k)
            else:
                inner += ["%%z%s = arith.cmpf ogt, %%w%d, %%half : f32" % (k, n),
                          "%%%s = scf.if %%z%s -> i32 {" % (k, k), "  %%y%s = arith.addi %s, %%c77 : i32" % (k, nextI),
                          "  scf.yield %%y%s : i32" % k, "} else {", "  scf.yield %s : i32" % nextI, "}"]
                nextI = "%" + k
        if self.inner:
            more, nextF, nextI = self.inner.text((nextF, nextI))
            inner += more
        add("%%rf%d, %%ri%d = scf.for %s%s = %%start%d to %%bound%d step %s iter_args(%s = %s, %s = %s) -> (f32, i32)%s {" % (
            n, n, "unsigned " if self.unsigned else "", name, n, n, step, f, carried[0], i, carried[1],
            "" if t == "index" else " : " + t))
        lines += ["  " + line for line in inner] + ["  scf.yield %s, %s : f32, i32" % (nextF, nextI), "}"]
        results = "%%rf%d" % n, "%%ri%d" % n
        return lines, results[0], results[1]

    def run(self, thread, state):
        start = self.base + {"zero": 0}.get(self.place, thread.get(self.place))
        step = thread[self.step] if isinstance(self.step, str) else self.step
        for at in range(start, self.bound, step):
            index = at - self.base
            value = thread["in"][min(index, CELLS - 1)]
            other = thread["in"][min(index % CELLS if self.number % 2 else index, CELLS - 1)]
            for kind in self.kinds:
                if kind == "sum":
                    state[0] = f32(state[0] + value)
                elif kind == "hash":
                    state[1] = (state[1] * 31 + index) & 0xFFFFFFFF
                elif kind == "own":
                    thread["own"] += 1
                elif kind == "bin":
                    thread["bins"][index % BINS] += 1
                elif kind == "count":
                    thread["block"]["count"] += 1
                elif other > 0.5:
                    state[1] = (state[1] + 77) & 0xFFFFFFFF
            if self.inner:
                self.inner.run(thread, state)


class Kernel:
    def __init__(self, seed):
        r = random.Random(seed)
        self.loop = Loop(r, 0, 0)
        self.guard = r.choice([None] * 10 + [("slt", "tx"), ("slt", "tx"), ("ult", "lin"), ("sge", "tx"), ("eq", "ty")])
        self.limit = r.choice([1, 5, 20, 40])
        self.barrier = r.random() < 0.4 or any("bin" in l.kinds for l in self.loops())
        # Of some kernels all blocks have one size, which the compiler then knows.
        self.blocks = r.sample(BLOCKS, r.choice([1, 3, 3]))
        self.leaves = r.choice([None] * 10 + [2, 30])  # threads from there on end before

    def loops(self):
        loop = self.loop
        while loop:
            yield loop
            loop = loop.inner

    def text(self, name):
        lines = ["%c0 = arith.constant 0 : index", "%cbins = arith.constant BINS : index", "%cells = arith.constant CELLS : index",
                 "%last = arith.constant LAST : index", "%zero = arith.constant 0 : i32", "%one = arith.constant 1 : i32",
                 "%prime = arith.constant 31 : i32", "%c77 = arith.constant 77 : i32", "%half = arith.constant 0.5 : f32",
                 "%quarter = arith.constant 0.25 : f32", "%c4 = arith.constant 4 : index", "%c2 = arith.constant 2 : index"]
        for d in "xyz":
            lines += ["%%t%s = gpu.thread_id %s" % (d, d), "%%d%s = gpu.block_dim %s" % (d, d)]
        lines += ["%bx = gpu.block_id x", "%l0 = arith.muli %tz, %dy : index", "%l1 = arith.addi %l0, %ty : index",
                  "%l2 = arith.muli %l1, %dx : index", "%lin = arith.addi %l2, %tx : index",
                  "%n0 = arith.muli %dx, %dy : index", "%n = arith.muli %n0, %dz : index",
                  "%b0 = arith.muli %bx, %dx : index", "%gx = arith.addi %b0, %tx : index",
                  "%four = arith.muli %tx, %c4 : index", "%l8 = arith.addi %tx, %c2 : index",
                  "%late = arith.muli %l8, %c4 : index", "%c0b = arith.muli %bx, %n : index",
                  "%c1b = arith.addi %c0b, %lin : index", "%cell = arith.addi %c1b, %base : index",
                  "%counter = arith.addi %end, %bx : index"]
        tail = []
        if self.barrier:
            lines += ["scf.for %at = %lin to %cbins step %n {",
                      "  memref.store %zero, %bins[%at] : memref<BINSxi32, WS>", "}", "gpu.barrier"]
        if self.leaves is not None:
            lines += ["%%leave = arith.constant %d : index" % self.leaves, "%stays = arith.cmpi ult, %lin, %leave : index",
                      "scf.if %stays {"]
            tail = ["}"]
        loop, f, i = self.loop.text(("%quarter", "%zero"))
        if self.guard:
            lines += ["%%limit = arith.constant %d : index" % self.limit,
                      "%%in_guard = arith.cmpi %s, %%%s, %%limit : index" % self.guard, "scf.if %in_guard {"]
        store = ["%%fi = arith.bitcast %s : f32 to i32" % f, "%%xor = arith.xori %%fi, %s : i32" % i,
                 "%have = memref.load %out[%cell] : memref<?xi32>", "%all = arith.addi %have, %xor : i32"]
        if self.barrier and not self.guard:
            lines += loop + ["gpu.barrier", "%some = arith.remui %lin, %cbins : index",
                             "%bin = memref.load %bins[%some] : memref<BINSxi32, WS>"] + store
            lines += ["%sum = arith.addi %all, %bin : i32", "memref.store %sum, %out[%cell] : memref<?xi32>"]
        else:
            lines += loop + store + ["memref.store %all, %out[%cell] : memref<?xi32>"]
        lines += ["}"] * bool(self.guard) + tail
        head = "    gpu.func @%s(%%in: memref<CELLSxf32>, %%out: memref<?xi32>, %%base: index, %%end: index)" % name
        text = [head + " workgroup(%bins: memref<BINSxi32, WS>) kernel {"] + ["      " + l for l in lines]
        text += ["      gpu.return", "    }"]
        return "\n".join(text).replace("CELLS", str(CELLS)).replace("LAST", str(CELLS - 1)).replace(
            "BINS", str(BINS)).replace("WS", WS)

    def expected(self, block, data):
        """The cells of all threads, then the counters of the blocks."""
        dx, dy, dz = block
        n = dx * dy * dz
        cells, counters = [], []
        for bx in range(GRID):
            shared = {"count": 0}
            bins, threads = [0] * BINS, []
            for lin in range(n):
                tx, ty = lin % dx, lin // dx % dy
                thread = {"tx": tx, "ty": ty, "lin": lin, "gx": bx * dx + tx, "four": 4 * tx, "late": 4 * (tx + 2), "dx": dx,
                          "n": n, "own": 0, "bins": bins, "block": shared, "in": data}
                holds = True
                if self.guard:
                    a, b = thread[self.guard[1]], self.limit
                    holds = {"slt": a < b, "ult": a < b, "sge": a >= b, "eq": a == b}[self.guard[0]]
                stays = self.leaves is None or lin < self.leaves
                result = None
                if stays and holds:
                    state = [0.25, 0]
                    self.loop.run(thread, state)
                    bits = struct.unpack("<I", struct.pack("<f", state[0]))[0]
                    result = thread["own"] + (bits ^ state[1])
                threads.append(result)
            for lin, result in enumerate(threads):
                if result is not None and self.barrier and not self.guard:
                    result += bins[lin % BINS]
                cells.append((result or 0) & 0xFFFFFFFF)
            counters.append(shared["count"])
        return cells + counters


def main():
    options = dict(o[2:].split("=") for o in sys.argv[2:] if "=" in o)
    runner, level = sys.argv[1], [o for o in sys.argv[2:] if "=" not in o]
    seed, count = int(options.get("seed", time.time_ns() % 1000000)), int(options.get("kernels", 16))
    print("thread_loops: --seed=%d --kernels=%d" % (seed, count))
    data = [f32(v) for v in map(random.Random(1).uniform, [0] * CELLS, [1] * CELLS)]
    kernels = [Kernel(seed + i) for i in range(count)]
    places, size = [], 0
    for i, kernel in enumerate(kernels):
        for block in kernel.blocks:
            cells = GRID * block[0] * block[1] * block[2]
            places.append((i, block, size, kernel.expected(block, data)))
            size += cells + GRID
    text = ["module attributes {gpu.container_module} {", "  gpu.module @k {"]
    text += [kernel.text("k%d" % i) for i, kernel in enumerate(kernels)]
    text += ["  }", "  func.func @main(%%hin: memref<%dxf32>, %%hout: memref<%dxi32>) {" % (CELLS, size),
             "    %%din = gpu.alloc () : memref<%dxf32>" % CELLS, "    %%fout = gpu.alloc () : memref<%dxi32>" % size,
             "    %%dout = memref.cast %%fout : memref<%dxi32> to memref<?xi32>" % size,
             "    gpu.memcpy %%din, %%hin : memref<%dxf32>, memref<%dxf32>" % (CELLS, CELLS),
             "    gpu.memcpy %%fout, %%hout : memref<%dxi32>, memref<%dxi32>" % (size, size)]
    text += ["    %%c%d = arith.constant %d : index" % (i, i) for i in sorted({1, GRID}.union(*BLOCKS))]
    for j, (i, block, base, wanted) in enumerate(places):
        text.append("    %%base%d = arith.constant %d : index" % (j, base))
        text.append("    %%end%d = arith.constant %d : index" % (j, base + len(wanted) - GRID))
        text.append("    gpu.launch_func @k::@k%d blocks in (%%c%d, %%c1, %%c1) threads in (%%c%d, %%c%d, %%c%d) args("
                    "%%din : memref<%dxf32>, %%dout : memref<?xi32>, %%base%d : index, %%end%d : index)" % (
                        (i, GRID) + block + (CELLS, j, j)))
    text += ["    gpu.memcpy %%hout, %%fout : memref<%dxi32>, memref<%dxi32>" % (size, size),
             "    gpu.dealloc %%din : memref<%dxf32>" % CELLS, "    gpu.dealloc %%fout : memref<%dxi32>" % size,
             "    return", "  }", "}"]
    if "--print" in level:
        sys.exit("\n".join(text))
    with tempfile.TemporaryDirectory() as folder:
        file, out, given = (os.path.join(folder, name) for name in ("loops.mlir", "out.npy", "in.npy"))
        with open(file, "w") as f:
            f.write("\n".join(text) + "\n")
        header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % CELLS
        header += " " * (-(10 + len(header) + 1) % 64) + "\n"
        with open(given, "wb") as f:
            f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<%df" % CELLS, *data))
        if subprocess.run([runner, "--device=cpu", *level, file, "--leak-check=error", "--input=@" + given,
                           "--input=%dxi32=0" % size, "--output=", "--output=@" + out]).returncode:
            sys.exit("gpu-runner failed")
        with open(out, "rb") as f:
            result = f.read()
    got = struct.unpack_from("<%dI" % size, result, 10 + struct.unpack_from("<H", result, 8)[0])
    wrong = 0
    for i, block, base, wanted in places:
        for at, value in enumerate(wanted):
            if got[base + at] != value:
                wrong += 1
                print("--seed=%d --kernels=1, block %s, cell %d: %d, expected %d" % (seed + i, block, at, got[base + at], value))
                break
    print("%d launches, %d wrong" % (len(places), wrong))
    sys.exit(1 if wrong else 0)


main()
