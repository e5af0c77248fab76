# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Draws random kernels. What is drawn is right by construction: barriers and shuffles
# where all threads that are left come, and memory that threads share is between two
# barriers either everyone's own cell, or read, or for atomics. See docs/reference/Testing.md.

import itertools
import random
from contextlib import contextmanager

from formats import FORMATS
from kernelast import *
from kerneloracle import Invalid, TooLong, f32, run
from kernelrows import RowDrawer

INPUT = 1024  # cells that kernels read
ROWS = 8      # cells of each thread
FEATURES = {
    "cf": "branches, early returns, break and continue",
    "barrier": "barriers and what threads exchange through memory",
    "shuffle": "shuffles, rotations, broadcasts",
    "absent": "shuffles in more lanes than the block's last subgroup has, on the cpu device only",
    "broadcast": "of a subgroup's thread or its first active one; on GPUs refused where not all surely come",
    "reduce": "reductions of blocks and subgroups",
    "subgroup": "subgroups of other sizes than 32, on the cpu device only",
    "stray": "reductions that only some threads reach, threads that leave before barriers",
    "call": "device functions",
    "switch": "scf.index_switch, cf.switch",
    "while": "loops of unknown length",
    "private": "memory of a thread",
    "memref": "memory chosen by select, if and loops",
    "carried": "memory that each round of a loop makes and later rounds use",
    "vector": "vectors",
    "float": "f32",
    "small": "floats of 16 bits, below the smallest normal number too; what kind of number a float is",
    "tiny": "floats of 8 bits among the small ones, on the cpu device only: GPUs refuse to round to them",
    "atomic": "atomics whose result nobody needs",
    "assert": "asserts that hold",
    "sweep": "loops whose accesses are contiguous along x",
    "stride": "loops that begin at the thread's own place",
    "dynamic": "dynamic shared memory, workgroup variables of the module",
    "rows": "rows of two to five elements of all types, by several names and computed indices",
    "views": "names of rows with negative, zero, overlapping and huge strides",
    "parallel": "kernels that are loops of scf.parallel",
    "aliases": "several arguments of one memory for such loops, on the cpu device only: GPUs have a copy of each",
}
# What only kernels of a grid have: threads that meet, or know of each other.
GRID = {"cf", "barrier", "shuffle", "absent", "broadcast", "reduce", "subgroup", "stray", "call", "dynamic"}
DIMS = [(1, 1, 1), (3, 1, 1), (31, 1, 1), (33, 1, 1), (35, 1, 1), (32, 1, 1), (64, 1, 1), (7, 5, 3), (3, 11, 1),
        (1, 1, 33), (33, 2, 1), (5, 1, 7), (40, 1, 1)]
GRIDS = [(1, 1, 1), (1, 1, 1), (2, 1, 1), (3, 1, 1), (2, 1, 2)]
WIDTH = {"i32": 32, "i64": 64, "index": 64, "i1": 1, "i8": 8, "i16": 16}
ATOMIC = {"addi": "addi", "muli": "muli", "andi": "andi", "ori": "ori", "xori": "xori", "minui": "minu", "maxui": "maxu",
          "minsi": "mins", "maxsi": "maxs"}
VECTOR = "vector<4xi32>"
POINTER = "!llvm.ptr"
WORKGROUP = "#gpu.address_space<workgroup>"
ELEMENTWISE = {
    "addi": "({0} + {1}) & {m}", "subi": "({0} - {1}) & {m}", "muli": "({0} * {1}) & {m}", "andi": "{0} & {1}",
    "ori": "{0} | {1}", "xori": "{0} ^ {1}", "minui": "min({0}, {1})", "maxui": "max({0}, {1})",
    "minsi": "min({0}, {1}, key=lambda v: signed(v, {w}))", "maxsi": "max({0}, {1}, key=lambda v: signed(v, {w}))",
}
FLOATS = {"addf": "f32({0} + {1})", "subf": "f32({0} - {1})", "mulf": "f32({0} * {1})",
          "minimumf": "min({0}, {1})", "maximumf": "max({0}, {1})"}
COMPARE = {"eq": "{0} == {1}", "ne": "{0} != {1}", "ult": "{0} < {1}", "uge": "{0} >= {1}",
           "slt": "signed({0}, {w}) < signed({1}, {w})", "sge": "signed({0}, {w}) >= signed({1}, {w})"}


class Array:
    """Memory that the threads of a block share, with a cell for each."""

    def __init__(self, value, element, canAtomic=True):
        self.value, self.element = value, element
        self.canAtomic = canAtomic and element != "f32"


class Kernel(Function):
    def __init__(self, number, dims, grid, subgroup):
        self.input, self.output, self.base = Value("memref<%dxi32>" % INPUT), Value("memref<?xi32>"), Value("index", True)
        self.arguments = [Value(t, True) for t in ("i32", "index", "i1", "i64", "f32")]
        super().__init__("kernel%d" % number, [self.input, self.output, self.base] + self.arguments)
        self.number, self.isKernel, self.dims, self.grid, self.subgroup = number, True, dims, grid, subgroup
        self.threads = dims[0] * dims[1] * dims[2]
        self.total = self.threads * grid[0] * grid[1] * grid[2]
        self.start = number % 5
        self.cells, self.functions, self.variables, self.dynamicBytes = ROWS * self.total, [], [], 0
        # Arguments after those: pairs of a value and what it is (RowDrawer.argument).
        self.extras, self.rowArrays = [], []


class ParallelKernel(Kernel):
    """One whose threads are the iterations of a parallel loop: a function of the host."""

    def __init__(self, number, total):
        super().__init__(number, (total, 1, 1), (1, 1, 1), 32)
        self.counter = Value("index")

    def mlir(self, zeroed):
        out = Text()
        for line in zeros(zeroed) + ["%%first%d = arith.constant 0 : index" % self.number, "%%step%d = arith.constant 1 : index" % self.number,
                                     "%%total%d = arith.constant %d : index" % (self.number, self.total)]:
            out.add(line)
        out.add("scf.parallel (%s) = (%%first%d) to (%%total%d) step (%%step%d) {" % ((self.counter.mlir(),) + (self.number,) * 3))
        self.body.mlir(out)
        out.add("}")
        return ["    func.func private @%s%s {" % (self.name, declared(self.body.arguments))] + out.lines + ["      return", "    }"]


class Context:
    """Where statements are drawn. `isUniform`: all threads that are left come here."""

    def __init__(self, body, parent=None, **changes):
        self.body, self.parent = body, parent
        self.pool = {t: list(v) for t, v in parent.pool.items()} if parent else {}
        for name in ("isUniform", "cf", "loop", "inUniformLoop", "canReturn", "canExit", "depth", "arrays"):
            setattr(self, name, changes[name] if name in changes else getattr(parent, name, None))
        self.entry = dict(parent.states) if parent else {}
        self.states = dict(self.entry)


class Drawer(RowDrawer):
    def __init__(self, seed, number, features, size):
        self.random, self.features, self.size = random.Random(seed), features, size
        dims = self.random.choice(DIMS) if self.random.random() > 0.05 else (256, 1, 1)
        grid = self.random.choice(GRIDS) if dims[0] * dims[1] * dims[2] < 100 else self.random.choice(GRIDS[:3])
        subgroup = self.random.choice([32, 32, 1, 2, 4, 8, 16, 64]) if self.has("subgroup") else 32
        self.kernel = Kernel(number, dims, grid, subgroup)
        self.isParallel = self.has("parallel") and self.chance(0.15)
        if self.isParallel:
            self.features = self.features - GRID
            # One iteration is no loop but code of the host.
            self.kernel = ParallelKernel(number, self.random.choice([2, 7, 33, 64, 100, 256]))
        # Threads that do little else than use their rows, whose loop LLVM makes vectors of.
        self.isPlain = self.has("rows") and self.chance(0.5)
        self.kernel.scalars = (self.random.choice([0, 1, 5, 1000, 0xFFFFFFFF]), self.random.randrange(5),
                               self.random.randrange(2), self.random.getrandbits(64), float(self.random.randrange(-99, 99)))
        self.exited, self.left, self.functionNumbers = False, size, itertools.count()
        self.drawKernel()

    #-- Values ----------------------------------------------------------------

    def chance(self, probability):
        return self.random.random() < probability

    def has(self, *features):
        return all(f in self.features for f in features)

    def add(self, statement):
        self.context.body.statements.append(statement)
        for value in statement.results:
            self.offer(value)
        return statement

    def offer(self, value):
        self.context.pool.setdefault(value.type, []).append(value)

    def op(self, type, operands, text, python, uniform=None):
        """Adds an op with one result."""
        if uniform is None:
            uniform = all(v.uniform for v in operands)
        return self.add(Op([Value(type, uniform)], operands, "{r} = " + text, "{r} = " + python)).results[0]

    def do(self, operands, text, python):
        self.add(Op([], operands, text, python))

    def constant(self, type, number):
        if type == "i1":
            return self.op(type, [], "arith.constant %s" % ("true" if number else "false"), "%d" % number)
        if type == "f32":
            return self.op(type, [], "arith.constant %.1f : f32" % number, repr(float(number)))
        return self.op(type, [], "arith.constant %d : %s" % (number, type), "%d" % (number & ((1 << WIDTH[type]) - 1)))

    def binary(self, name, a, b):
        width = WIDTH.get(a.type)
        python = FLOATS[name] if a.type == "f32" else ELEMENTWISE[name].replace(
            "{m}", hex((1 << (width or 32)) - 1)).replace("{w}", str(width or 32))
        if a.type == VECTOR:
            python = "tuple(%s for a, b in zip({0}, {1}))" % python.replace("{0}", "a").replace("{1}", "b")
        elif a.type == "f32":
            python = "clamp(%s)" % python
            raw = self.op("f32", [a, b], "arith.%s {0}, {1} : f32" % name, python[6:-1])
            low, high = self.constant("f32", -1e9), self.constant("f32", 1e9)
            most = self.op("f32", [raw, high], "arith.minimumf {0}, {1} : f32", "min({0}, {1})")
            return self.op("f32", [most, low], "arith.maximumf {0}, {1} : f32", "max({0}, {1})")
        return self.op(a.type, [a, b], "arith.%s {0}, {1} : %s" % (name, a.type), python)

    def compare(self, predicate, a, b):
        return self.op("i1", [a, b], "arith.cmpi %s, {0}, {1} : %s" % (predicate, a.type),
                       "int(%s)" % COMPARE[predicate].replace("{w}", str(WIDTH[a.type])))

    def convert(self, value, type):
        """Between integers."""
        have, want = WIDTH[value.type], WIDTH[type]
        signed = self.chance(0.5) and have > 1
        if value.type == type:
            return value
        if "index" in (value.type, type):
            if have == 1:
                return self.convert(self.convert(value, "i64"), type)
            name = "index_cast" if signed else "index_castui"
        else:
            name = "trunci" if want < have else "extsi" if signed else "extui"
        python = "{0} & %s" % hex((1 << want) - 1)
        if want > have and signed:
            python = "signed({0}, %d) & %s" % (have, hex((1 << want) - 1))
        return self.op(type, [value], "arith.%s {0} : %s to %s" % (name, value.type, type), python)

    def value(self, type, uniform=False):
        """Some value that there is, or a new one."""
        have = [v for v in self.context.pool.get(type, ()) if v.uniform or not uniform]
        isView = type.startswith("memref") and type != "memref<4xi32>"  # which is of something, so none is made alone
        if have and (self.chance(0.85) or isView):
            return self.random.choice(have[-6:] if self.chance(0.5) else have)
        return self.fresh(type, uniform)

    def fresh(self, type, uniform=False):
        r = self.random
        if type == VECTOR:
            parts = [self.value("i32", uniform) for _ in range(4)]
            if self.chance(0.3):
                return self.op(type, parts[:1], "vector.broadcast {0} : i32 to " + type, "({0},) * 4")
            return self.op(type, parts, "vector.from_elements {0}, {1}, {2}, {3} : " + type, "({0}, {1}, {2}, {3})")
        if type == "f32":
            few = self.binary("andi", self.value("i32", uniform), self.constant("i32", 255))
            return self.op("f32", [few], "arith.sitofp {0} : i32 to f32", "float({0})")
        if type in ("memref<4xi32>", POINTER):
            return self.alloca(type=type)
        if self.chance(0.3):
            return self.constant(type, r.randrange(2) if type == "i1" else r.choice([0, 1, 2, 3, 7, 31, 32, -1, 100]))
        if type == "i1":
            kind = r.choice(["i32", "i64", "index"])
            return self.compare(r.choice(sorted(COMPARE)), self.value(kind, uniform), self.value(kind, uniform))
        if self.chance(0.4):
            return self.convert(self.value(r.choice([t for t in WIDTH if t != type]), uniform), type)
        if self.chance(0.4):
            return self.convert(self.loadInput(uniform), type)
        return self.binary(r.choice(sorted(ELEMENTWISE)), self.value(type, uniform), self.value(type, uniform))

    def small(self, value, limit):
        """An index below a power of two."""
        if value.type != "index":
            value = self.convert(value, "index")
        return self.binary("andi", value, self.constant("index", limit - 1))

    def below(self, limit, uniform=False):
        """An index below a number that is no power of two."""
        value, limit = self.value("index", uniform), self.constant("index", limit)
        return self.op("index", [value, limit], "arith.remui {0}, {1} : index", "{0} % {1}")

    def loadInput(self, uniform=False):
        index = self.small(self.value("index", uniform), INPUT)
        return self.op("i32", [self.kernel.input, index], "memref.load {0}[{1}] : %s" % self.kernel.input.type,
                       "{0}.load(thread, {1})", uniform=index.uniform)

    def arithmetic(self):
        r = self.random
        kinds = ["i32", "i32", "i64", "index", "i1"] + ["f32"] * self.has("float") + [VECTOR] * self.has("vector")
        type = r.choice(kinds)
        a, b = self.value(type), self.value(type)
        if self.chance(0.15):
            condition = self.value("i1")
            return self.op(type, [condition, a, b], "arith.select {0}, {1}, {2} : " + type, "{1} if {0} else {2}")
        if type == "f32":
            if self.chance(0.2):
                return self.op("i1", [a, b], "arith.cmpf olt, {0}, {1} : f32", "int({0} < {1})")
            if self.chance(0.2):
                return self.op("i32", [a], "arith.fptosi {0} : f32 to i32", "int({0}) & M32")
            return self.binary(r.choice(sorted(FLOATS)), a, b)
        if type == VECTOR:
            choice = r.randrange(4)
            if choice == 0:
                index = self.small(self.value("index"), 4)
                return self.op("i32", [a, index], "vector.extract {0}[{1}] : i32 from " + type, "{0}[{1}]")
            if choice == 1:
                place = r.randrange(4)
                return self.op(type, [a, self.value("i32")], "vector.insert {1}, {0} [%d] : i32 into %s" % (place, type),
                               "{0}[:%d] + ({1},) + {0}[%d:]" % (place, place + 1))
            if choice == 2:
                index = self.small(self.value("index"), INPUT // 4)
                four = self.binary("muli", index, self.constant("index", 4))
                return self.op(type, [self.kernel.input, four], "vector.load {0}[{1}] : %s, %s" % (self.kernel.input.type, type),
                               "tuple({0}.load(thread, {1} + i) for i in range(4))")
            return self.binary(r.choice(sorted(ELEMENTWISE)), a, b)
        if type == "i1":
            return self.binary(r.choice(["andi", "ori", "xori"]), a, b)
        width, mask = WIDTH[type], (1 << WIDTH[type]) - 1
        if self.chance(0.15):
            b = self.binary("andi", b, self.constant(type, width - 1))
            name, python = r.choice([("shli", "({0} << {1}) & %d" % mask), ("shrui", "{0} >> {1}"),
                                     ("shrsi", "(signed({0}, %d) >> {1}) & %d" % (width, mask))])
            return self.op(type, [a, b], "arith.%s {0}, {1} : %s" % (name, type), python)
        if self.chance(0.1):
            b = self.binary("ori", self.binary("andi", b, self.constant(type, 7)), self.constant(type, 1))
            name, python = r.choice([("divui", "{0} // {1}"), ("remui", "{0} % {1}"),
                                     ("divsi", "divide(signed({0}, %d), {1}) & %d" % (width, mask))])
            return self.op(type, [a, b], "arith.%s {0}, {1} : %s" % (name, type), python)
        if self.chance(0.2):
            return self.compare(r.choice(sorted(COMPARE)), a, b)
        return self.binary(r.choice(sorted(ELEMENTWISE)), a, b)

    def smallFloat(self):
        """What comes of numbers of f32 in a smaller format, many of them below its smallest normal one."""
        format = FORMATS[self.random.choice(["bf16", "bf16", "f16"] + ["f8E5M2", "f8E4M3FN", "f8E4M3FNUZ"] * self.has("tiny"))]
        compute = self.random.choice(["same", "addf", "subf", "mulf", "fma"])
        numbers = []
        for _ in range({"same": 1, "fma": 3}.get(compute, 2)):
            number = self.value("i32")
            if self.chance(0.6):
                number = self.binary("andi", number, self.constant("i32", 0x83FFFFFF - (1 << 32)))
                exponent = max(0, 127 - format.bias - self.random.randrange(format.mantissa + 1))
                number = self.binary("xori", number, self.constant("i32", exponent << 23))
            numbers.append(number)
        kind = self.random.choice(["", "", "isinf", "isnan", "isnormal", "isfinite"])
        name, bits = Value("").name, "i%d" % format.width
        lines = []
        for i in range(len(numbers)):
            lines += ["%%s%d{n} = arith.bitcast {{%d}} : i32 to f32" % (i, i), "%%a%d{n} = arith.truncf %%s%d{n} : f32 to {f}" % (i, i)]
        result = "%a0{n}"
        if compute == "fma":
            lines.append("%c{n} = math.fma %a0{n}, %a1{n}, %a2{n} : {f}")
        elif compute != "same":
            lines.append("%%c{n} = arith.%s %%a0{n}, %%a1{n} : {f}" % compute)
        if compute != "same":
            result = "%c{n}"
        if kind:
            lines.append("{{r}} = math.%s %s : {f}" % (kind, result))
        else:
            # Of a NaN nobody says which one it is.
            lines += ["%%n{n} = math.isnan %s : {f}" % result, "%%i{n} = arith.bitcast %s : {f} to {b}" % result,
                      "%z{n} = arith.constant 0 : {b}", "%k{n} = arith.select %n{n}, %z{n}, %i{n} : {b}", "{{r}} = arith.extui %k{n} : {b} to i32"]
        text = "\n".join(lines).format(n=name, f=format.name, b=bits)
        python = "smallFloat('%s', '%s', '%s', %s)" % (format.name, compute, kind, ", ".join("{%d}" % i for i in range(len(numbers))))
        result = Value("i1" if kind else "i32", all(v.uniform for v in numbers))
        return self.add(Op([result], numbers, text, "{r} = " + python)).results[0]

    #-- Memory ----------------------------------------------------------------

    def alloca(self, value=None, type="memref<4xi32>"):
        """Memory of the thread, as a memref or as a pointer."""
        if not value and type == POINTER:
            value = self.op(type, [self.constant("i64", 4)], "llvm.alloca {0} x i32 : (i64) -> !llvm.ptr", "Private()", uniform=False)
        elif not value:
            value = self.op(type, [], "memref.alloca() : " + type, "Private()", uniform=False)
        for i in range(4):
            self.put(value, self.constant("index", i), self.value("i32"))
        self.offer(value)
        return value

    @staticmethod
    def element():
        """The address of {0}[{1}], {0} a pointer: its name, and the lines that make it."""
        name = Value("").name
        return "%p" + name, ("%%i%s = arith.index_cast {1} : index to i64\n"
                             "%%p%s = llvm.getelementptr inbounds {0}[%%i%s] : (!llvm.ptr, i64) -> !llvm.ptr, i32\n" % (name, name, name))

    def put(self, memory, index, value):
        text = "memref.store {2}, {0}[{1}] : " + memory.type
        if memory.type == POINTER:
            place, lines = self.element()
            text = lines + "llvm.store {2}, %s : i32, !llvm.ptr" % place
        self.do([memory, index, value], text, "{0}.store(thread, {1}, {2})")

    def get(self, memory, index):
        lines, text = "", "memref.load {0}[{1}] : " + memory.type
        if memory.type == POINTER:
            place, lines = self.element()
            text = "llvm.load %s : !llvm.ptr -> i32" % place
        return self.add(Op([Value("i32")], [memory, index], lines + "{r} = " + text, "{r} = {0}.load(thread, {1})")).results[0]

    def private(self):
        kinds = [t for t in self.context.pool if t.startswith("memref<4xi32") and self.context.pool[t]]
        if not kinds or self.chance(0.15):
            return self.alloca()
        value = self.value(self.random.choice(kinds))
        if self.has("memref") and self.chance(0.2):
            condition, other = self.value("i1"), self.value(value.type)
            return self.op(value.type, [condition, value, other], "arith.select {0}, {1}, {2} : " + value.type,
                           "{1} if {0} else {2}", uniform=False)
        index = self.small(self.value("index"), 4)
        if self.chance(0.5):
            self.put(value, index, self.value("i32"))
            return None
        return self.get(value, index)

    def shared(self):
        """An access to shared memory that fits what threads do with it now."""
        if not self.context.arrays:
            return
        array = self.random.choice(self.context.arrays)
        state, value = self.context.states[array], array.value
        if state == "own":
            if self.chance(0.5):
                self.do([value, self.linear, self.value(array.element)], "memref.store {2}, {0}[{1}] : " + value.type,
                        "{0}.store(thread, {1}, {2})")
            else:
                self.op(array.element, [value, self.linear], "memref.load {0}[{1}] : " + value.type,
                        "{0}.load(thread, {1})", uniform=False)
        elif state == "read":
            index = self.below(self.kernel.threads, uniform=self.chance(0.3))
            self.op(array.element, [value, index], "memref.load {0}[{1}] : " + value.type, "{0}.load(thread, {1})",
                    uniform=index.uniform)
        else:
            self.atomic(value, array.element, self.below(self.kernel.threads), state)

    def atomic(self, memory, element, index, kind):
        operand, name = self.value(element), ATOMIC[kind]
        mask, width = hex((1 << WIDTH[element]) - 1), str(WIDTH[element])
        python = "{0}.atomic(thread, {1}, lambda old, new={2}: %s)" % ELEMENTWISE[kind].replace("{0}", "old").replace(
            "{1}", "new").replace("{m}", mask).replace("{w}", width)
        if self.chance(0.3):
            self.do([memory, index, operand], "%%u%s = memref.generic_atomic_rmw {0}[{1}] : %s {{\n^bb0(%%old: %s):\n"
                    "%%new = arith.%s %%old, {2} : %s\nmemref.atomic_yield %%new : %s\n}}"
                    % (Value("").name, memory.type, element, kind, element, element), python)
        else:
            self.do([memory, index, operand], "%%u%s = memref.atomic_rmw %s {2}, {0}[{1}] : (%s, %s) -> %s" % (
                Value("").name, name, element, memory.type, element), python)

    def counter(self):
        """Adds to what all blocks count in."""
        index = self.small(self.value("index"), 8)
        first = self.binary("addi", self.base, self.constant("index", self.kernel.counters))
        self.atomic(self.kernel.output, "i32", self.binary("addi", first, index), self.kernel.counterKind)

    def barrier(self):
        if not self.uniformNow():
            return
        self.do([], "gpu.barrier", "yield ({path}, 'barrier', ())")
        for array in self.context.arrays:
            states = ["own", "read"] + sorted(ATOMIC) * (array.canAtomic and self.has("atomic"))
            if self.chance(0.6):
                self.context.states[array] = self.random.choice(states[:2] if self.chance(0.7) else states)

    def restore(self):
        """Shared memory is used as it was when the body began."""
        if self.context.states != self.context.entry:
            self.do([], "gpu.barrier", "yield ({path}, 'barrier', ())")
            self.context.states = dict(self.context.entry)

    def store(self, row=None, value=None):
        """Leaves a value in the thread's own cells."""
        row = self.random.randrange(4) if row is None else row
        place = self.binary("addi", self.own, self.constant("index", row * self.kernel.total))
        self.do([self.kernel.output, place, self.toI32(value or self.value(self.someType()))],
                "memref.store {2}, {0}[{1}] : memref<?xi32>", "{0}.store(thread, {1}, {2})")

    def toI32(self, value):
        if value.type == "f32":
            sum = self.op("f32", [value, self.constant("f32", 0)], "arith.addf {0}, {1} : f32", "{0} + 0.0")
            return self.op("i32", [sum], "arith.bitcast {0} : f32 to i32", "bits({0})")
        if value.type == VECTOR:
            return self.op("i32", [value], "vector.reduction <add>, {0} : %s into i32" % VECTOR, "sum({0}) & M32")
        if WIDTH[value.type] == 64:
            wide = self.convert(value, "i64")
            high = self.op("i64", [wide, self.constant("i64", 32)], "arith.shrui {0}, {1} : i64", "{0} >> {1}")
            value = self.binary("xori", wide, high)
        return self.convert(value, "i32")

    #-- Meetings --------------------------------------------------------------

    def shuffle(self):
        r = self.random
        types = ["i32", "i64", "i1"] + ["f32"] * self.has("float") + [VECTOR] * self.has("vector")
        value = self.value(r.choice(types))
        everybody = self.uniformNow() and not self.exited
        kind = r.choice(["shuffle", "shuffle", "rotate"] + ["broadcast"] * self.has("broadcast")) if everybody else "first"
        result, valid = Value(value.type), Value("i1")
        all = self.kernel.subgroup
        last = (self.kernel.threads - 1) % all + 1
        if kind == "shuffle":
            mode = r.choice(["xor", "up", "down", "idx"])
            most = all if self.has("absent") else last
            width = r.choice([w for w in (1, 2, 4, 8, 16, 5, 27) if w <= most] + [most] * 3)
            offset = self.value("i32")
            if self.chance(0.8):
                offset = self.binary("andi", offset, self.constant("i32", all - 1))
            self.add(Op([result, valid], [value, offset, self.constant("i32", width)],
                        "{r}, {s} = gpu.shuffle %s {0}, {1}, {2} : %s" % (mode, value.type),
                        "{r}, {s} = yield ({path}, 'shuffle', (%r, {2}), {0}, {1})" % mode))
        elif kind == "rotate":
            width = r.choice([w for w in (1, 2, 4, 8, 16, 32, 64) if w <= all and (last % w == 0 or last > w)])
            offset = r.randrange(width)
            self.add(Op([result, valid], [value], "{r}, {s} = gpu.rotate {0}, %d, %d : %s" % (offset, width, value.type),
                        "{r}, {s} = yield ({path}, 'rotate', (%d, %d), {0})" % (offset, width)))
        elif kind == "broadcast" and self.chance(0.6):
            lane = r.randrange(last)
            return self.op(value.type, [value, self.constant("i32", lane)],
                           "gpu.subgroup_broadcast {0}, specific_lane {1} : " + value.type,
                           "yield ({path}, 'broadcast', (%d,), {0})" % lane, uniform=False)
        else:
            if not self.has("broadcast") or not everybody and not self.has("stray"):
                return None
            return self.op(value.type, [value], "gpu.subgroup_broadcast {0}, first_active_lane : " + value.type,
                           "yield ({path}, 'broadcast', (None,), {0})", uniform=False)
        # Beyond the width nobody says what the result is.
        lane = self.op("index", [], "gpu.lane_id", "thread.linear % thread.block.subgroup", uniform=False)
        inside = self.compare("ult", lane, self.constant("index", width))
        self.context.pool[value.type].remove(result)
        return self.op(value.type, [inside, result, value], "arith.select {0}, {1}, {2} : " + value.type,
                       "{1} if {0} else {2}", uniform=False)

    def reduce(self):
        r = self.random
        everybody = self.uniformNow()
        if (not everybody or self.exited) and not self.has("stray"):
            return None
        type = r.choice(["i32", "i32", "i64", "i1"] + ["f32"] * self.has("float"))
        whole = self.chance(0.5)
        if not whole and self.has("vector") and self.chance(0.2):
            type = VECTOR
        if type == "f32":
            few = self.binary("andi", self.value("i32"), self.constant("i32", 255))
            value = self.op("f32", [few], "arith.sitofp {0} : i32 to f32", "float({0})")
            name = r.choice(["add", "minnumf", "maxnumf", "minimumf", "maximumf"])
            python = {"add": "a + b"}.get(name, "%s(a, b)" % name[:3])
        else:
            value = self.value(type)
            name = r.choice(["and", "or", "xor"] if type == "i1" else ["add", "mul", "minui", "minsi", "maxui", "maxsi", "and", "or", "xor"])
            python = ELEMENTWISE[{"add": "addi", "mul": "muli", "and": "andi", "or": "ori", "xor": "xori"}.get(name, name)]
            width = WIDTH.get(type, 32)
            python = python.replace("{0}", "a").replace("{1}", "b").replace("{m}", hex((1 << width) - 1)).replace("{w}", str(width))
            if type == VECTOR:
                python = "tuple(%s for a, b in zip(a, b))" % python
        combine = "lambda a, b: " + python
        flag = " uniform" if everybody and not self.exited and self.chance(0.5) else ""
        if not whole:
            all, powers = self.kernel.subgroup, (1, 2, 4, 8, 16, 32, 64)
            size, stride, text = all, 1, ""
            if self.chance(0.5):
                size = r.choice([s for s in powers if s <= all])
                stride = r.choice([s for s in powers if s * size <= all])
                text = " cluster(size = %d%s)" % (size, ", stride = %d" % stride if stride > 1 or self.chance(0.5) else "")
            return self.op(type, [value], "gpu.subgroup_reduce %s {0}%s%s : (%s) -> %s" % (name, flag, text, type, type),
                           "yield ({path}, 'reduce', (%s, %d, %d), {0})" % (combine, size, stride), uniform=False)
        text = "%s {0}%s {{}}" % (name, flag)
        if type != "f32" and self.chance(0.3):
            op = {"add": "addi", "mul": "muli", "and": "andi", "or": "ori", "xor": "xori"}.get(name, name)
            text = ("{0}%s {{\n^bb0(%%a: %s, %%b: %s):\n%%c = arith.%s %%a, %%b : %s\ngpu.yield %%c : %s\n}}"
                    % (flag, type, type, op, type, type))
        return self.op(type, [value], "gpu.all_reduce %s : (%s) -> (%s)" % (text, type, type),
                       "yield ({path}, 'reduce', (%s, None, 1), {0})" % combine, uniform=everybody)

    #-- Control flow ----------------------------------------------------------

    def uniformNow(self):
        """Whether all threads that are left come here."""
        context = self.context
        return context.isUniform and not self.function.diverged and not (context.loop and context.loop.diverged)

    @contextmanager
    def inside(self, body, **changes):
        outer = self.context
        self.context = Context(body, outer, depth=outer.depth + 1, **changes)
        for argument in body.arguments:
            self.offer(argument)
        yield
        self.restore()
        self.context = outer

    def someType(self):
        return self.random.choice(["i32", "i32", "i64", "index", "i1"] + ["f32"] * self.has("float") + [VECTOR] * self.has("vector"))

    def carriedTypes(self, most=3):
        types = [self.someType() for _ in range(self.random.randrange(most + 1))]
        if self.has("memref", "private") and self.chance(0.25) and self.context.pool.get("memref<4xi32>"):
            types += ["memref<4xi32>"] * self.random.choice([1, 2])
        return types

    def branch(self):
        condition = self.value("i1", uniform=self.chance(0.5))
        cf = bool(self.context.cf and self.chance(0.6))
        types, bodies = self.carriedTypes(2), []
        uniform = self.uniformNow() and condition.uniform
        for _ in range(2 if types or self.chance(0.5) else 1):
            body = Body()
            bodies.append(body)
            with self.inside(body, isUniform=uniform, cf=cf, loop=self.context.loop if cf else None):
                self.statements(1 + self.random.randrange(4))
                body.yields = [self.value(t) for t in types]
        self.add(If(condition, self.joined(types, condition.uniform, bodies), bodies, cf))

    @staticmethod
    def joined(types, uniform, bodies):
        return [Value(t, uniform and all(b.yields[i].uniform for b in bodies)) for i, t in enumerate(types)]

    def switch(self):
        index = self.small(self.value("index", uniform=self.chance(0.5)), 4)
        cases = sorted(self.random.sample(range(4), self.random.randrange(1, 4)))
        cf, types, bodies = bool(self.context.cf and self.chance(0.5)), self.carriedTypes(2), []
        uniform = self.uniformNow() and index.uniform
        for _ in range(len(cases) + 1):
            body = Body()
            bodies.append(body)
            with self.inside(body, isUniform=uniform, cf=cf, loop=self.context.loop if cf else None):
                self.statements(1 + self.random.randrange(2))
                body.yields = [self.value(t) for t in types]
        self.add(Switch(index, cases, self.joined(types, index.uniform, bodies), bodies, cf))

    def region(self):
        types, body = self.carriedTypes(2), Body()
        with self.inside(body, cf=self.has("cf"), loop=None, canReturn=False, isUniform=self.uniformNow()):
            self.statements(2 + self.random.randrange(3))
            body.yields = [self.value(t) for t in types]
        self.add(Region(self.joined(types, True, [body]), body))

    def openLoop(self, loop, uniform, cf):
        """How the inside of a loop is drawn. Threads may leave the kernel in it if some
        had left before, or if everything in it reckons with that."""
        loop.diverged, loop.hasUniform = False, False
        canExit = self.context.canExit
        if canExit and not self.exited and cf and self.has("stray") and self.chance(0.3):
            self.exited = True
        return dict(isUniform=uniform, cf=cf, loop=loop if cf else None, canExit=canExit and (self.exited or not uniform),
                    inUniformLoop=self.context.inUniformLoop or uniform)

    def count(self, uniform):
        """How often a loop runs: known, or from memory, or what the threads say."""
        if self.chance(0.3):
            return self.constant("index", self.random.randrange(1, 4))
        if uniform:
            return self.small(self.loadInput(True) if self.chance(0.7) else self.value("index", True), 4)
        return self.small(self.value("index"), 4)

    def carried(self, types, uniform):
        inits = [self.value(t) for t in types]
        return inits, [Value(v.type, uniform and v.uniform and "memref" not in v.type and self.chance(0.5)) for v in inits]

    def forLoop(self):
        uniform = self.uniformNow() and self.chance(0.8)
        bounds = [self.constant("index", self.random.randrange(2)), self.count(uniform),
                  self.constant("index", self.random.choice([1, 1, 2]))]
        inits, arguments = self.carried(self.carriedTypes(), uniform)
        counter = Value("index", uniform)
        body = Body([counter] + arguments)
        results = [Value(v.type, v.uniform) for v in arguments]
        cf = bool(self.context.cf and self.chance(0.5))
        loop = For(bounds, inits, results, body, cf)
        # Swapped and repeated values are wanted.
        with self.inside(body, **self.openLoop(loop, uniform, cf)):
            loop.hasUniform = any(v.uniform for v in arguments)
            self.statements(1 + self.random.randrange(5))
            body.yields = [self.next(v, arguments) for v in arguments]
        self.add(loop)

    def next(self, argument, arguments):
        others = [v for v in arguments if v.type == argument.type and (v.uniform or not argument.uniform)]
        if self.chance(0.4):
            return self.random.choice(others)
        return self.value(argument.type, argument.uniform)

    def whileLoop(self):
        uniform = self.uniformNow() and self.chance(0.7)
        limit = self.count(uniform)
        inits, arguments = self.carried(self.carriedTypes(), uniform)
        counter = Value("index", uniform)
        before, after = Body([counter] + arguments), Body()
        cf = bool(self.context.cf and self.chance(0.5))
        loop = While([self.constant("index", 0)] + inits, [], [before, after], cf)
        how = self.openLoop(loop, uniform, cf)
        # Nobody leaves the loop from its first half.
        with self.inside(before, **dict(how, loop=None, canReturn=False)):
            if self.chance(0.5):
                self.statements(1 + self.random.randrange(2))
            condition = self.compare("slt", counter, limit)
            if self.chance(0.3):
                condition = self.binary("andi", condition, self.value("i1", uniform))
            passed = [self.next(v, arguments) for v in arguments if self.chance(0.8)]
            if self.chance(0.3):
                passed.append(self.value(self.someType()))
            before.yields = [condition, counter] + passed
        after.arguments = [Value(v.type, uniform and v.uniform) for v in before.yields[1:]]
        loop.results = [Value(v.type, v.uniform) for v in after.arguments]
        with self.inside(after, **how):
            loop.hasUniform = any(v.uniform for v in arguments + after.arguments)
            loop.counter = self.binary("addi", after.arguments[0], self.constant("index", 1))
            self.statements(1 + self.random.randrange(4))
            after.yields = [loop.counter] + [self.value(v.type, v.uniform) for v in arguments]
        self.add(loop)

    def carry(self):
        """A loop whose rounds make memory and use what earlier rounds made, however long ago."""
        uniform = self.uniformNow() and self.chance(0.8)
        limit = self.constant("index", self.random.randrange(2, 7)) if self.chance(0.7) else self.count(uniform)
        zero, one = self.constant("index", 0), self.constant("index", 1)
        types = [self.random.choice(["memref<4xi32>", "memref<4xi32>", POINTER]) for _ in range(self.random.randrange(1, 4))]
        inits = [self.value(t) for t in types] + [self.value("i32")]
        arguments, counter = [Value(v.type) for v in inits], Value("index", uniform)
        cf = bool(self.context.cf and self.chance(0.5))
        if not self.has("while") or self.chance(0.5):
            body = Body([counter] + arguments)
            loop = For([zero, limit, one], inits, [Value(v.type) for v in inits], body, cf)
            with self.inside(body, **self.openLoop(loop, uniform, cf)):
                body.yields = self.round(counter, arguments, [])
        else:
            before, after = Body([counter] + arguments), Body()
            loop = While([zero] + inits, [], [before, after], cf)
            how = self.openLoop(loop, uniform, cf)
            with self.inside(before, **dict(how, loop=None, canReturn=False)):
                made = [self.alloca(type=self.random.choice(types)) for _ in range(self.random.randrange(2))]
                before.yields = [self.compare("slt", counter, limit), counter] + arguments + made
            after.arguments = [Value(v.type, uniform and v.uniform) for v in before.yields[1:]]
            loop.results = [Value(v.type, v.uniform) for v in after.arguments]
            with self.inside(after, **how):
                loop.hasUniform = uniform
                loop.counter = self.binary("addi", after.arguments[0], one)
                end = 1 + len(arguments)
                after.yields = [loop.counter] + self.round(after.arguments[0], after.arguments[1:end], after.arguments[end:])
        self.add(loop)
        results = loop.results[len(loop.results) > len(inits):][:len(inits)]
        self.store(value=results[-1])
        self.store(value=self.get(self.random.choice(results[:-1]), self.small(self.value("index"), 4)))

    def round(self, counter, carried, made):
        """A round of such a loop: `carried` are memory and a sum, `made` is this round's. What the next one gets."""
        def make(type):
            # No two rounds write the same.
            value = self.alloca(type=type)
            mine = self.binary(self.random.choice(["addi", "xori"]), self.convert(counter, "i32"), self.random.choice([sum, self.value("i32")]))
            for i in self.random.sample(range(4), 3):
                self.put(value, self.constant("index", i), mine)
            return value

        def meet():
            if self.has("barrier") and self.uniformNow() and self.chance(0.8):
                self.barrier()

        def draw(type):
            return self.random.choice([v for v in made * 3 + memory if v.type == type])

        memory, sum = carried[:-1], carried[-1]
        types = [v.type for v in memory]
        meet()
        made = made + [make(self.random.choice(types)) for _ in range(self.random.randrange(1, 3))]
        if self.chance(0.3):
            type, condition, bodies = self.random.choice(types), self.value("i1", uniform=self.chance(0.5)), []
            for _ in range(2):
                body = Body()
                bodies.append(body)
                with self.inside(body, isUniform=self.uniformNow() and condition.uniform, cf=False, loop=None):
                    meet()
                    body.yields = [make(type) if self.chance(0.6) else draw(type)]
                    meet()
            made.append(self.add(If(condition, [Value(type)], bodies, False)).results[0])
        meet()
        self.statements(self.random.randrange(3))
        for one in memory:
            if self.chance(0.7):
                sum = self.binary(self.random.choice(["addi", "xori", "muli"]), sum, self.get(one, self.small(self.value("index"), 4)))
        if self.chance(0.3):
            self.put(self.random.choice(memory + made), self.small(self.value("index"), 4), self.value("i32"))
        meet()
        following = []
        for type in types:
            value = draw(type)
            if self.chance(0.3):
                value = self.op(type, [self.value("i1"), value, draw(type)], "arith.select {0}, {1}, {2} : " + type,
                                "{1} if {0} else {2}", uniform=False)
            following.append(value)
        return following + [sum]

    def leave(self):
        """break, continue or return, where branches may."""
        context, kinds = self.context, []
        if not context.cf:
            return
        if context.canReturn:
            kinds.append("return")
        if context.loop:
            kinds += ["break", "break", "continue", "continue"]
        if not kinds:
            return
        kind = self.random.choice(kinds)
        uniform = self.chance(0.5) or not self.has("stray")
        condition, values, loop = self.value("i1", uniform), [], context.loop
        # Barriers restore what was changed before; they must come in between.
        inner = context
        while inner.parent and (kind == "return" or inner.body is not loop.bodies[-1]):
            if inner.states != inner.entry and kind != "return":
                return
            inner = inner.parent
        if kind != "return" and inner.states != inner.entry:
            return
        if kind == "return" and self.function.isKernel:
            if not condition.uniform or not self.uniformNow():
                if not context.canExit or not self.has("stray"):
                    return
                self.exited = True
        elif kind == "return":
            # Who returns meets the others after the call.
            inner = context
            while inner:
                if inner.states != inner.entry:
                    return
                inner = inner.parent
            if not condition.uniform or not self.uniformNow():
                if context.inUniformLoop:
                    return
                self.function.diverged = True
            values = [self.value(t) for t in self.function.resultTypes]
        elif kind == "break":
            if not condition.uniform or not self.uniformNow():
                if context.inUniformLoop:
                    return
            targets = loop.results
            values = [self.value(v.type, v.uniform) for v in targets]
        else:
            if not condition.uniform or not self.uniformNow():
                if loop.hasUniform:
                    return
                loop.diverged = True
            if isinstance(loop, For):
                values = [self.value(v.type, v.uniform) for v in loop.bodies[0].arguments[1:]]
            else:
                values = [loop.counter] + [self.value(v.type, v.uniform) for v in loop.bodies[0].arguments[1:]]
        self.add(Leave(kind, condition, values, loop, self.function))

    def sweep(self):
        """A loop in which neighbours in x read and write neighbouring elements."""
        inits, arguments = self.carried(["i32"] + ["f32"] * (self.has("float") and self.chance(0.4)), False)
        counter = Value("index", self.uniformNow())
        body = Body([counter] + arguments)
        count = self.count(self.chance(0.9))
        loop = For([self.constant("index", 0), count, self.constant("index", 1)], inits,
                   [Value(v.type) for v in arguments], body, False)
        loop.diverged = loop.hasUniform = False
        with self.inside(body, isUniform=False, cf=False, loop=None, canExit=False):
            row = self.binary("muli", counter, self.constant("index", 64))
            read = self.op("i32", [self.kernel.input, self.binary("addi", row, self.ids[0])],
                           "memref.load {0}[{1}] : %s" % self.kernel.input.type, "{0}.load(thread, {1})")
            self.arithmetic()
            sum = self.binary(self.random.choice(["addi", "xori", "muli"]), arguments[0], read)
            if self.chance(0.4):
                with self.inBranch(self.value("i1", uniform=self.chance(0.5))):
                    self.rowStore(counter, sum)
            elif self.chance(0.5):
                self.rowStore(counter, sum)
            body.yields = [sum] + [self.value(v.type) for v in arguments[1:]]
        self.add(loop)

    def stride(self):
        """A loop from the thread's own place on, whose bound and step all threads share. Neighbours in x read and
        write neighbouring elements; inside, other such loops and what else a thread does."""
        start, past = self.random.choice([(self.ids[0], 40), (self.ids[0], 40), (self.linear, 256), (self.ids[1], 12)])
        if self.chance(0.3):
            first = self.small(self.value("index", True), 8)
            start, past = self.binary("addi", start, first), past + 8
        if self.chance(0.2):
            start, past = self.binary("muli", start, self.constant("index", 2)), 2 * past
        bound = self.constant("index", self.random.randrange(past + 1)) if self.chance(0.5) else self.small(
            self.value("index", True), 64)
        step = self.constant("index", self.random.choice([self.kernel.threads, max(self.kernel.dims[0], 8), 16]))
        inits, arguments = self.carried(["i32"] * (not self.chance(0.2)) + ["f32"] * (self.has("float") and self.chance(0.4)), False)
        body = Body([Value("index")] + arguments)
        loop = For([start, bound, step], inits, [Value(v.type) for v in arguments], body, False)
        loop.diverged = loop.hasUniform = False
        with self.inside(body, isUniform=False, cf=False, loop=None, canExit=False):
            read = self.op("i32", [self.kernel.input, self.small(body.arguments[0], INPUT) if self.chance(0.2) else body.arguments[0]],
                           "memref.load {0}[{1}] : %s" % self.kernel.input.type, "{0}.load(thread, {1})")
            if self.chance(0.4):
                with self.inBranch(self.value("i1", uniform=self.chance(0.5))):
                    self.store(self.random.randrange(4))
            if self.chance(0.3):
                self.statements(self.random.randrange(4))
            elif self.chance(0.3) and self.context.depth < 4:
                self.stride()
            else:
                self.arithmetic()
            self.store(self.random.randrange(4), read)
            body.yields = [self.binary(self.random.choice(["addi", "xori", "muli"]), v, read) if v.type == "i32" else
                           self.next(v, arguments) for v in arguments]
        self.add(loop)

    @contextmanager
    def inBranch(self, condition):
        body = Body()
        with self.inside(body):
            yield
        self.add(If(condition, [], [body], False))

    def rowStore(self, counter, value):
        row = self.binary("muli", counter, self.constant("index", self.kernel.total))
        place = self.binary("addi", self.own, self.constant("index", 4 * self.kernel.total))
        self.do([self.kernel.output, self.binary("addi", place, row), value],
                "memref.store {2}, {0}[{1}] : memref<?xi32>", "{0}.store(thread, {1}, {2})")

    def check(self):
        read = self.loadInput()
        limit = self.compare("ult", read, self.constant("i32", 1000))
        self.do([limit], 'cf.assert {0}, "holds"', 'assert {0}, "an assert fails"')

    def call(self):
        known = [f for f in self.kernel.functions if f.isDone and (self.uniformNow() or not f.needsAll)
                 and (not self.exited or not f.wantsEverybody)]
        if self.function.isKernel and len(self.kernel.functions) < 2 and (not known or self.chance(0.4)):
            known = [self.drawFunction()]
            if known[0].needsAll and not self.uniformNow() or known[0].wantsEverybody and self.exited:
                return
        if not known:
            return
        function, operands = self.random.choice(known), []
        if function.array:
            arrays = [a for a in self.context.arrays if a.value.type == function.array.value.type]
            if not arrays:
                return
            array = self.random.choice(arrays)
            if self.context.states[array] != "own":
                if not self.uniformNow():
                    return
                self.do([], "gpu.barrier", "yield ({path}, 'barrier', ())")
                self.context.states[array] = "own"
            operands.append(array.value)
        operands += [self.value(v.type) for v in function.body.arguments[3 + len(operands):]]
        operands = [self.kernel.input, self.kernel.output, self.base] + operands
        self.add(Call(function, [Value(t) for t in function.resultTypes], operands))

    #-- Statements ------------------------------------------------------------

    def statements(self, count):
        kinds = [(self.arithmetic, 6), (self.store, 2)]
        kinds += [(self.rows, 4)] * self.has("rows")
        if self.isPlain:
            kinds = [(self.arithmetic, 2), (self.store, 0.5), (self.rows, 6)] + [(self.branch, 0.5)] * (self.context.depth < 2)
            kinds += [(self.barrier, 0.7)] * (self.has("barrier") and self.uniformNow())
            return self.choose(kinds, count)
        kinds += [(self.private, 2)] * self.has("private") + [(self.smallFloat, 1)] * self.has("small")
        if self.has("barrier"):
            kinds += [(self.shared, 4)] + [(self.barrier, 3)] * self.uniformNow()
        kinds += [(self.shuffle, 2)] * self.has("shuffle") + [(self.reduce, 2)] * self.has("reduce")
        kinds += [(self.counter, 0.7)] * self.has("atomic") + [(self.check, 0.3)] * self.has("assert") + [(self.call, 1)] * self.has("call")
        kinds += [(self.leave, 4 if self.context.loop else 1.5)] * bool(self.has("cf") and self.context.cf)
        if self.context.depth < 4:
            kinds += [(self.branch, 2), (self.forLoop, 1.5)] + [(self.whileLoop, 1.5)] * self.has("while")
            kinds += [(self.switch, 0.7)] * self.has("switch") + [(self.region, 0.5)] + [(self.sweep, 0.7)] * self.has("sweep")
            kinds += [(self.stride, 1.5)] * self.has("stride") + [(self.carry, 1)] * self.has("carried", "private")
        self.choose(kinds, count)

    def choose(self, kinds, count):
        for _ in range(count):
            if self.left <= 0:
                return
            self.left -= 1
            kind = self.random.choices([k for k, _ in kinds], [w for _, w in kinds])[0]
            if kind == self.barrier and not self.uniformNow():
                continue
            kind()

    def place(self):
        """Where the thread is."""
        if self.isParallel:
            zero = self.constant("index", 0)
            self.add(Op([self.kernel.counter], [], "", "{r} = thread.linear"))
            self.linear = self.number = self.kernel.counter
            self.ids, self.block = [self.linear, zero, zero], zero
            self.own = self.binary("addi", self.base, self.linear)
            return
        for what, python in (("thread_id", "thread.ids[%d]"), ("block_id", "thread.block.place[%d]"),
                             ("block_dim", "thread.block.dims[%d]"), ("grid_dim", "thread.block.grid[%d]")):
            values = [self.op("index", [], "gpu.%s %s" % (what, "xyz"[i]), python % i, uniform=what != "thread_id")
                      for i in range(3)]
            if what == "thread_id":
                self.ids = values
            elif what == "block_id":
                blocks = values
            elif what == "block_dim":
                dims = values
            else:
                grid = values

        def linear(at, of):
            upper = self.binary("muli", self.binary("addi", self.binary("muli", at[2], of[1]), at[1]), of[0])
            return self.binary("addi", upper, at[0])

        self.linear = linear(self.ids, dims)
        self.block = linear(blocks, grid)
        first = self.binary("muli", self.block, self.constant("index", self.kernel.threads))
        self.number = self.binary("addi", first, self.linear)
        self.own = self.binary("addi", self.base, self.number)
        self.op("index", [], "gpu.lane_id", "thread.linear % thread.block.subgroup", uniform=False)
        self.op("index", [], "gpu.subgroup_id : index", "thread.linear // thread.block.subgroup", uniform=False)
        self.op("index", [], "gpu.num_subgroups : index", "-(-thread.block.size // thread.block.subgroup)", uniform=True)
        self.op("index", [], "gpu.subgroup_size : index", "thread.block.subgroup", uniform=True)
        self.op("index", [], "gpu.global_id x", "thread.block.place[0] * thread.block.dims[0] + thread.ids[0]", uniform=False)

    def drawFunction(self):
        """A function that threads call together or, if it holds no barrier, at any time."""
        saved = (self.context, self.function, self.linear, self.number, self.own, self.base, self.block, self.ids, self.exited)
        kernel, arguments = self.kernel, [Value("memref<%dxi32>" % INPUT), Value("memref<?xi32>"), Value("index", True)]
        needsAll = self.has("barrier") and self.chance(0.6)
        arrays = []
        if needsAll and self.context.arrays and self.chance(0.7):
            model = self.random.choice(self.context.arrays)
            arrays = [Array(Value(model.value.type), model.element, model.canAtomic)]
        arguments += [a.value for a in arrays]
        arguments += [Value(self.someType()) for _ in range(1 + self.random.randrange(2))]
        if self.has("memref", "private") and self.chance(0.3):
            arguments.append(Value("memref<4xi32>"))
            self.context.pool.get("memref<4xi32>") or self.alloca()
        function = Function("f%d_%d" % (kernel.number, next(self.functionNumbers)), arguments)
        function.needsAll, function.array, function.isDone = needsAll, arrays[0] if arrays else None, False
        # A function in which shuffles may be.
        function.wantsEverybody = needsAll and not self.exited
        function.diverged = False
        function.resultTypes = [self.someType() for _ in range(self.random.randrange(3))]
        kernel.functions.append(function)
        previous = kernel.input, kernel.output
        self.function = function
        kernel.input, kernel.output, self.base = arguments[:3]
        self.context = Context(function.body, isUniform=needsAll, cf=self.has("cf") and self.chance(0.6), loop=None,
                               inUniformLoop=False, canReturn=True, canExit=False, depth=2, arrays=arrays)
        self.context.states = {a: "own" for a in arrays}
        self.context.entry = dict(self.context.states)
        for argument in arguments[2:]:
            if argument not in [a.value for a in arrays]:
                self.offer(argument)
        self.place()
        self.statements(3 + self.random.randrange(5))
        self.restore()
        function.body.yields = [self.value(t) for t in function.resultTypes]
        kernel.input, kernel.output = previous
        self.context, self.function, self.linear, self.number, self.own, self.base, self.block, self.ids, self.exited = saved
        function.isDone = True
        return function

    def drawKernel(self):
        kernel = self.kernel
        self.function, self.base, kernel.diverged = kernel, kernel.base, False
        self.context = Context(kernel.body, isUniform=True, cf=self.has("cf") and self.chance(0.7), loop=None,
                               inUniformLoop=False, canReturn=True, canExit=True, depth=0, arrays=[])
        for argument in kernel.arguments:
            self.offer(argument)
        self.place()
        if self.has("barrier"):
            self.drawArrays()
        if self.has("rows") and (self.isPlain or self.chance(0.5)):
            self.drawRows()
        if self.has("private") and not self.isParallel and self.chance(0.4):
            value = Value("memref<4xi32, #gpu.address_space<private>>")
            kernel.memory.append((value, "private"))
            self.alloca(value)
        if self.has("atomic"):
            kernel.counters = kernel.cells
            kernel.cells += 8
            kernel.counterKind = self.random.choice(sorted(ATOMIC))
        self.statements(self.size)
        for row in range(4):
            self.store(row)
        self.leaveRows()

    def drawArrays(self):
        kernel, threads = self.kernel, self.kernel.threads
        for _ in range(self.random.randrange(1, 4)):
            element = self.random.choice(["i32", "i32", "i64"] + ["f32"] * self.has("float") + ["i8", "i16", "i1"] * self.has("atomic"))
            kind = self.random.choice(["attribution", "attribution", "global"] + ["dynamic", "variable"] * self.has("dynamic"))
            if kind == "attribution":
                value = Value("memref<%dx%s, %s>" % (threads + self.random.randrange(3), element, WORKGROUP))
                kernel.memory.append((value, "workgroup"))
            elif kind == "global":
                element = "i32"
                first = self.binary("muli", self.block, self.constant("index", threads))
                start = self.binary("addi", first, self.constant("index", kernel.cells))
                offset = self.binary("addi", kernel.base, start)
                value = self.op("memref<%dxi32, strided<[1], offset: ?>>" % threads, [kernel.output, offset],
                                "memref.subview {0}[{1}] [%d] [1] : memref<?xi32> to memref<%dxi32, strided<[1], offset: ?>>"
                                % (threads, threads), "View({0}, {1}, %d)" % threads)
                kernel.cells += kernel.total
            elif kind == "dynamic":
                value = Value("memref<?x%s, %s>" % (element, WORKGROUP), True)
                start, kernel.dynamicBytes = kernel.dynamicBytes, kernel.dynamicBytes + (threads * max(1, WIDTH.get(element, 32) // 8) + 7) // 8 * 8
                offset, size = self.constant("index", start), self.constant("index", threads)
                bytes = "memref<?xi8, %s>" % WORKGROUP
                self.add(Op([value], [offset, size], "%%d%s = gpu.dynamic_shared_memory : %s\n{r} = memref.view %%d%s[{0}][{1}] : %s to %s"
                            % (value.name, bytes, value.name, bytes, value.type), "{r} = thread.block.array('%s')" % value.name))
            else:
                type = "memref<%dx%s, %s>" % (threads, element, WORKGROUP)
                name = "variable_%s" % Value("").name
                kernel.variables.append("memref.global \"private\" @%s : %s" % (name, type))
                value = self.op(type, [], "memref.get_global @%s : %s" % (name, type), "thread.block.array('%s')" % name)
            array = Array(value, element)
            self.context.arrays.append(array)
            self.context.states[array] = self.context.entry[array] = "own"
            self.do([value, self.linear, self.value(element)], "memref.store {2}, {0}[{1}] : " + value.type,
                    "{0}.store(thread, {1}, {2})")


def inputValues():
    return [(i * 7919 + 13) * (i + 5) % 1000 for i in range(INPUT)]


def makeKernel(seed, number, features, size):
    """The kernel of a seed; what runs too long is drawn again."""
    while True:
        kernel = Drawer(seed, number, features, size).kernel
        kernel.seed = seed
        try:
            expected(kernel)
            return kernel
        except TooLong:
            seed += 1 << 32


def expected(kernel, order=list):
    return run(kernel, inputValues(), order)


def moduleText(kernels):
    """One module whose @main(out) runs all; where each one's results start."""
    bases, size, zeroed = [], 0, ["i32", "i64", "index", "i1", "f32", VECTOR]
    text = ["module attributes {gpu.container_module} {"]
    for kernel in kernels:
        bases.append(size)
        size += kernel.cells
    for subgroup in sorted({kernel.subgroup for kernel in kernels}):
        target = " [#gpu_async.cpu<subgroup_size = %d>]" % subgroup if subgroup != 32 else ""
        text.append("  gpu.module @k%d%s {" % (subgroup, target))
        for kernel in kernels:
            if kernel.subgroup != subgroup or isinstance(kernel, ParallelKernel):
                continue
            text += ["    " + line for line in kernel.variables]
            for function in kernel.functions + [kernel]:
                text += function.mlir(zeroed)
        text.append("  }")
    for kernel in kernels:
        if isinstance(kernel, ParallelKernel):
            text += kernel.mlir(zeroed)
    text += ["  func.func @main(%%out: memref<%dxi32>) {" % size]
    add = lambda line: text.append("    " + line)
    for line in ("%c0 = arith.constant 0 : index", "%c1 = arith.constant 1 : index",
                 "%%n = arith.constant %d : index" % INPUT, "%c5 = arith.constant 5 : index", "%c13 = arith.constant 13 : index",
                 "%c1000 = arith.constant 1000 : index", "%c7919 = arith.constant 7919 : index",
                 "%%in = memref.alloc() : memref<%dxi32>" % INPUT, "scf.for %i = %c0 to %n step %c1 {",
                 "  %a = arith.muli %i, %c7919 : index", "  %b = arith.addi %a, %c13 : index",
                 "  %c = arith.addi %i, %c5 : index", "  %d = arith.muli %b, %c : index",
                 "  %e = arith.remui %d, %c1000 : index", "  %f = arith.index_cast %e : index to i32",
                 "  memref.store %%f, %%in[%%i] : memref<%dxi32>" % INPUT, "}",
                 "%%din = gpu.alloc () : memref<%dxi32>" % INPUT, "%%o = memref.cast %%out : memref<%dxi32> to memref<?xi32>" % size,
                 "gpu.memcpy %%din, %%in : memref<%dxi32>, memref<%dxi32>" % (INPUT, INPUT)):
        add(line)
    for kernel, base in zip(kernels, bases):
        isParallel, name = isinstance(kernel, ParallelKernel), kernel.name
        alloc, copy, free = ("memref.alloc", "memref.copy", "memref.dealloc") if isParallel else ("gpu.alloc ", "gpu.memcpy", "gpu.dealloc")
        arguments = [("%in" if isParallel else "%din", "memref<%dxi32>" % INPUT), ("%" + kernel.name, "memref<?xi32>")]
        part = "memref<?xi32, strided<[1], offset: ?>>"

        def move(target, source, type=part):
            add("memref.copy %s, %s : %s to %s" % (source, target, type, type) if isParallel else
                "gpu.memcpy %s, %s : %s, %s" % (target, source, type, type))

        for line in ("%%%s_c = arith.constant %d : index" % (name, kernel.cells),
                     "%%%s_a = arith.constant %d : index" % (name, kernel.cells + kernel.start),
                     "%%%s_b = arith.constant %d : index" % (name, base), "%%%s_s = arith.constant %d : index" % (name, kernel.start),
                     "%%%s = %s(%%%s_a) : memref<?xi32>" % (name, alloc, name),
                     "%%%s_h = memref.subview %%o[%%%s_b] [%%%s_c] [1] : memref<?xi32> to %s" % (name, name, name, part),
                     "%%%s_p = memref.subview %%%s[%%%s_s] [%%%s_c] [1] : memref<?xi32> to %s" % (name, name, name, name, part)):
            add(line)
        move("%%%s_p" % name, "%%%s_h" % name)
        for array in kernel.rowArrays:
            add("%%%s_rows%d = %s() : %s" % (name, array.number, alloc, array.type))
        for i, (type, number) in enumerate([("index", kernel.start)] + [(v.type, s) for v, s in zip(kernel.arguments, kernel.scalars)]
                                           + [(v.type, what) for v, what in kernel.extras]):
            if isinstance(number, tuple):
                array, lines = number
                source = "%%%s_rows%d" % (name, array.number)
                shown = "%%%s_%d" % (name, i) if lines else source
                for line in (lines or "").replace("{0}", source).replace("{r}", shown).splitlines():
                    add(line)
                arguments.append((shown, type))
                continue
            if type == "i1":
                number = "true" if number else "false"
            elif type != "f32" and number >> (WIDTH[type] - 1) > 0:
                number -= 1 << WIDTH[type]
            add("%%%s_%d = arith.constant %s%s" % (name, i, number, "" if type == "i1" else " : " + type))
            arguments.append(("%%%s_%d" % (name, i), type))
        given = ", ".join("%s : %s" % a for a in arguments)
        if isParallel:
            add("call @%s(%s) : (%s) -> ()" % (name, ", ".join(a for a, _ in arguments), ", ".join(t for _, t in arguments)))
        else:
            for what, sizes in (("g", kernel.grid), ("t", kernel.dims)):
                for i, number in enumerate(sizes):
                    add("%%%s%s%d = arith.constant %d : index" % (name, what, i, number))
            shared = ""
            if kernel.dynamicBytes:
                add("%%%sd = arith.constant %d : i32" % (name, kernel.dynamicBytes))
                shared = " dynamic_shared_memory_size %%%sd" % name
            sizes = ["(%s)" % ", ".join("%%%s%s%d" % (name, what, i) for i in range(3)) for what in "gt"]
            add("gpu.launch_func @k%d::@%s blocks in %s threads in %s%s args(%s)" % (
                kernel.subgroup, name, sizes[0], sizes[1], shared, given))
        move("%%%s_h" % name, "%%%s_p" % name)
        for array in kernel.rowArrays:
            add("%s %%%s_rows%d : %s" % (free, name, array.number, array.type))
        add("%s %%%s : memref<?xi32>" % (free, name))
    for line in ("gpu.dealloc %%din : memref<%dxi32>" % INPUT, "memref.dealloc %%in : memref<%dxi32>" % INPUT, "return"):
        add(line)
    return "\n".join(text + ["  }", "}"]) + "\n", bases, size
