# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Random programs on several ranks, run by gpu-runner --ranks and compared with what NumPy
# computes. All values are whole numbers that every element type has, so
# results are equal to the bit. A program that fails is made as small as it gets and kept.
# See docs/reference/Testing.md.
#
#   ranks.py GPU_RUNNER --seed=7 --programs=100
#   ranks.py GPU_RUNNER --seed=7 --programs=100 --launcher="mpiexec.hydra -n"
#   ranks.py GPU_RUNNER --seed=7 --programs=100 --launcher=torchrun
#   ranks.py GPU_RUNNER --seed=7 --programs=100 --device=cuda --most-ranks=4
#
# The programs have the seeds 7, 8, ...; --programs=1 runs one of them again.

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fuzzrun
from fuzzrun import Failure

INTEGERS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
FLOATS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
ELEMENTS = list(INTEGERS) + list(FLOATS)
KINDS = ["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "permute", "barrier"]
TOKEN_FORM = ["-gpu-async-structure-control-flow", "-gpu-kernel-outlining", "-convert-gpu-to-gpu-async",
              "-gpu-async-infer-dependencies"]
# Words of the input of each rank.
GIVEN = 16
# Kernels leave numbers from -6 to 6, reductions of floats take numbers from -2 to 2, so that
# products over 6 ranks are exact in every type.
MODULUS, SMALL = 7, 3
MOST_ROUNDS = 3


def wrap(values, element):
    """Whole numbers in int64, as an element of this type has them."""
    if element in FLOATS or element == "i64":
        return values
    if element == "i1":
        return values & 1
    bits = 64 - INTEGERS[element]
    return (values << bits) >> bits


#===-- Programs -----------------------------------------------------------------===#

class Group:
    """Lists of ranks. `name` None: all ranks."""

    def __init__(self, name, lists, text):
        self.name, self.lists, self.text = name, lists, text
        self.size = len(lists[0])

    def listOf(self, rank):
        return next(each for each in self.lists if rank in each)


class Buffer:
    def __init__(self, number, element, rows, width, dynamic):
        self.number, self.element, self.rows, self.width, self.dynamic = number, element, rows, width, dynamic

    @property
    def name(self):
        return "%%b%d" % self.number

    @property
    def size(self):
        return self.rows * (self.width or 1)

    @property
    def type(self):
        rows = "?" if self.dynamic else self.rows
        return "memref<%s%sx%s>" % (rows, "x%d" % self.width if self.width else "", self.element)

    @property
    def key(self):
        return self.element, self.rows, self.width, self.dynamic


class Ref:
    """Rows of a buffer."""

    def __init__(self, buffer, first, rows):
        self.buffer, self.first, self.rows = buffer, first, rows


class Statement:
    def __init__(self, op, **values):
        self.op, self.bodies = op, []
        self.__dict__.update(values)


class Program:
    def __init__(self, seed, options):
        self.seed, self.random = seed, random.Random(seed)
        r = self.random
        self.onGPU = options.device != "cpu"
        self.ranks = r.choice([n for n in [1, 2, 2, 3, 4, 4, 5, 6] if n <= options.most_ranks])
        self.groups = [Group(None, [list(range(self.ranks))], "")]
        for number in range(r.randint(0, 3)):
            self.groups.append(self.drawGroup("g%d" % number))
        # NCCL reduces no i16.
        elements = [e for e in ELEMENTS if not (self.onGPU and e == "i16")]
        self.elements = r.sample(elements, r.choice([1, 1, 2, 3]))
        self.base, self.width = r.choice([1, 2, 3, 5]), r.choice([0, 0, 1, 4, 7])
        self.buffers, self.functions = [], []
        for element in self.elements:
            for _ in range(r.randint(1, 2)):
                self.makeBuffer(element, self.base * r.choice([1, 1, self.ranks]))
        self.mostStatements = options.size
        self.left = r.randint(3, options.size)
        for number in range(r.randint(0, 2)):
            body = self.drawBody(r.randint(1, 3), depth=1, inFunction=True)
            self.functions.append((number, body))
        self.body = self.drawBody(self.left, depth=0, inFunction=False)
        # How it runs.
        self.schedule = options.schedule or r.choice(["fair"] + ["adversarial:%d" % r.randrange(1 << 20)] * 3)
        self.arguments = ["--max-streams=%d" % r.choice([1, 2, 4, 32]), "--memory=" + r.choice(["plan", "plan", "space", "keep"]),
                          "--play=" + r.choice(["graph", "streams", "stream", "auto"]), r.choice(["-O0", "-O0", "-O0", "-O2"])]
        # One program in six has its order proved by gpu-opt, and of another one the token form runs.
        self.before = r.choice(["", "", "", "", "verify", "tokens"])
        self.streams = r.choice([1, 2, 4, 32])
        # In one program in eight, a rank fails on the host or in a kernel.
        self.failing = r.randrange(self.ranks) if r.random() < 0.125 else None
        if self.failing is not None:
            body = r.choice(list(statementsOf(self)))
            body.insert(r.randint(0, len(body)), Statement("fail", inKernel=r.random() < 0.5))
        # One rank may also run without the option, which %r in names of files needs.
        self.isAlone = self.ranks == 1 and r.random() < 0.3

    def drawGroup(self, name):
        r, n = self.random, self.ranks
        grids = [[n]] + [[a, n // a] for a in range(1, n + 1) if n % a == 0]
        if n == 4:
            grids.append([2, 1, 2])
        if r.random() < 0.6:
            grid = r.choice(grids)
            axes = sorted(r.sample(range(len(grid)), r.randint(1, len(grid))))
            lists = {}
            for rank in range(n):
                rest, at = rank, []
                for size in reversed(grid):
                    at.insert(0, rest % size)
                    rest //= size
                lists.setdefault(tuple(at[i] for i in range(len(grid)) if i not in axes), []).append(rank)
            return Group(name, list(lists.values()), "gpu_async.group @%s grid %s axes %s" % (name, grid, axes))
        size = r.choice([a for a in range(1, n + 1) if n % a == 0])
        order = r.sample(range(n), n)
        lists = [order[i:i + size] for i in range(0, n, size)]
        return Group(name, lists, "gpu_async.group @%s ranks %s" % (name, lists))

    def makeBuffer(self, element, rows):
        buffer = Buffer(len(self.buffers), element, rows, self.width, self.random.random() < 0.3)
        self.buffers.append(buffer)
        return buffer

    def pick(self, element=None):
        return self.random.choice([b for b in self.buffers if not element or b.element == element])

    def refOf(self, buffer, rows):
        r = self.random
        return Ref(buffer, r.randint(0, buffer.rows - rows), rows)

    def findRef(self, element, rows, without):
        """Rows of another buffer, a new one if there is none."""
        found = [b for b in self.buffers if b.element == element and b.rows >= rows and b is not without]
        if not found or (len(self.buffers) < 10 and self.random.random() < 0.15):
            return Ref(self.makeBuffer(element, rows), 0, rows)
        return self.refOf(self.random.choice(found), rows)

    def drawBody(self, count, depth, inFunction, kernelsOnly=False):
        body = []
        for _ in range(count):
            body.extend(self.drawStatement(depth, inFunction, kernelsOnly))
        return body

    def drawStatement(self, depth, inFunction, kernelsOnly):
        r = self.random
        op = r.choice(["kernel"] * 5 + ["host"] + ([] if kernelsOnly else ["collective"] * 8 +
                      (["for", "while", "if"] if depth < 2 else []) + (["call"] * 2 if self.functions and not inFunction else [])))
        if op == "kernel":
            return [self.drawKernel()]
        if op == "host":
            buffer = self.pick()
            return [Statement("host", buffer=buffer, at=r.randrange(buffer.size), new=r.randint(-3, 3), perRank=r.randint(0, 1),
                              kernel=self.drawKernel(), writes=r.random() < 0.6)]
        if op == "collective":
            return self.drawCollective()
        if op == "call":
            number, body = r.choice(self.functions)
            return [Statement("call", function=number, body=body, swaps=r.random())]
        made = Statement(op, number=r.randrange(1 << 30))
        if op == "for":
            made.rounds = r.randint(0, MOST_ROUNDS)
        elif op == "while":
            buffer = self.pick()
            made.ref, made.group = Ref(buffer, 0, buffer.rows), self.groups[0]
            made.reduction = self.drawReduction(buffer.element)
            made.first = self.drawKernel(buffer, SMALL)
        else:
            made.modulus, made.equals = r.randint(1, 3), r.randint(0, 1)
        made.bodies.append(self.drawBody(r.randint(1, 3), depth + 1, inFunction, kernelsOnly=op == "if"))
        return [made]

    def drawKernel(self, to=None, modulus=MODULUS):
        r = self.random
        to = to or self.pick()
        source = self.pick()
        group = r.choice(self.groups)
        return Statement("kernel", to=to, source=source, shift=0 if source is to else r.randrange(source.size), modulus=modulus,
                         a=r.randint(-2, 3), b=r.randint(-2, 3), c=r.randint(-3, 3), perRank=r.randint(-2, 2),
                         group=group, perRound=r.randint(0, 1), threads=r.choice([1, 4, 32]))

    def drawReduction(self, element):
        if element == "i1":
            return self.random.choice(["and", "or"])
        return self.random.choice(["sum", "sum", "prod", "min", "max"] + (["and", "or"] if element in INTEGERS and not self.onGPU else []))

    def drawCollective(self):
        r = self.random
        kind, group = r.choice(KINDS), r.choice(self.groups)
        if kind == "barrier":
            return [Statement("collective", kind=kind, group=group, overlapped=r.random() < 0.3)]
        source, n = self.pick(), group.size
        element, made = source.element, Statement("collective", kind=kind, group=group, overlapped=r.random() < 0.3)
        most = source.rows
        if kind in ("reduce_scatter", "all_to_all"):
            if most < n:
                source = self.findRef(element, n * self.base, None).buffer
                most = source.rows
            rows = n * r.randint(1, most // n)
        else:
            rows = most if r.random() < 0.7 else r.randint(1, most)
        if kind == "all_gather":
            rows = min(rows, max(1, 30 // n))
        made.source = self.refOf(source, rows)
        made.inPlace = kind in ("all_reduce", "broadcast") and r.random() < 0.5
        other = rows * n if kind == "all_gather" else rows // n if kind == "reduce_scatter" else rows
        made.to = made.source if made.inPlace else self.findRef(element, other, source)
        if kind == "broadcast":
            made.root = r.randrange(n)
        if kind == "permute":
            count = r.randint(0, n)
            made.pairs = [list(pair) for pair in zip(r.sample(range(n), count), r.sample(range(n), count))]
        before = []
        if kind in ("all_reduce", "reduce_scatter"):
            made.reduction = self.drawReduction(element)
            if element in FLOATS or r.random() < 0.3:
                before = [self.drawKernel(source, SMALL)]
        return before + [made]


def statementsOf(program):
    def of(body):
        yield body
        for s in body:
            for each in s.bodies:
                yield from of(each)

    yield from of(program.body)
    for _, body in program.functions:
        yield from of(body)


def mappingOf(program, call):
    """What a call gives for each buffer: buffers of one type may change places."""
    mapping = {}
    if call.swaps < 0.5:
        alike = {}
        for buffer in program.buffers:
            alike.setdefault(buffer.key, []).append(buffer)
        for each in alike.values():
            mapping.update(zip(each, each[1:] + each[:1]))
    return mapping


#===-- What NumPy computes ------------------------------------------------------===#

class Reference:
    def __init__(self, program, given):
        self.program, self.n = program, program.ranks
        self.state = [[np.zeros(b.size, np.int64) for b in program.buffers] for _ in range(self.n)]
        for rank in range(self.n):
            for b in program.buffers:
                index = np.arange(b.size)
                values = np.fmod(given[rank][(index + b.number) % GIVEN] + index, MODULUS)
                self.state[rank][b.number] = wrap(values, b.element)
        self.collectives, self.fails = 0, False
        self.run(program.body, {}, 0)

    def memory(self, rank, buffer, mapping):
        return self.state[rank][mapping.get(buffer, buffer).number]

    def part(self, rank, ref, mapping):
        width = ref.buffer.width or 1
        return self.memory(rank, ref.buffer, mapping)[ref.first * width:(ref.first + ref.rows) * width]

    def kernel(self, s, rank, mapping, round, extra=0):
        to, source = self.memory(rank, s.to, mapping), self.memory(rank, s.source, mapping)
        index = np.arange(len(to))
        position = s.group.listOf(rank).index(rank)
        values = to * s.a + source[(index + s.shift) % len(source)] * s.b
        values = values + (s.c + s.perRank * position + s.group.size + s.perRound * round + extra)
        to[:] = wrap(np.fmod(values, s.modulus), s.to.element)

    def run(self, body, mapping, round):
        for s in body:
            if s.op == "kernel":
                for rank in range(self.n):
                    self.kernel(s, rank, mapping, round)
            elif s.op == "host":
                for rank in range(self.n):
                    self.host(s, rank, mapping, round)
            elif s.op == "collective":
                self.collective(s, mapping)
            elif s.op == "for":
                for i in range(s.rounds):
                    self.run(s.bodies[0], mapping, i)
            elif s.op == "while":
                i = 0
                while True:
                    for rank in range(self.n):
                        self.kernel(s.first, rank, mapping, i)
                    s.kind, s.source, s.to = "all_reduce", s.ref, s.ref
                    self.collective(s, mapping)
                    if i >= np.fmod(self.part(0, s.ref, mapping)[0], MOST_ROUNDS + 1):
                        break
                    self.run(s.bodies[0], mapping, i)
                    i += 1
            elif s.op == "if":
                for rank in range(self.n):
                    if rank % s.modulus == s.equals:
                        n, self.n = self.n, None
                        for each in s.bodies[0]:
                            if each.op == "fail":
                                self.fails |= rank == self.program.failing
                                continue
                            (self.kernel if each.op == "kernel" else self.host)(each, rank, mapping, round)
                        self.n = n
            elif s.op == "fail":
                self.fails = True
            elif s.op == "call":
                self.run(s.body, mappingOf(self.program, s), 0)

    def host(self, s, rank, mapping, round):
        memory = self.memory(rank, s.buffer, mapping)
        old = memory[s.at]
        if s.writes:
            memory[s.at] = wrap(np.array([s.new + s.perRank * rank]), s.buffer.element)[0]
        self.kernel(s.kernel, rank, mapping, round, extra=old)

    def collective(self, s, mapping):
        self.collectives += 1
        if s.kind == "barrier":
            return
        element = s.source.buffer.element
        for members in s.group.lists:
            n = len(members)
            sources = [self.part(rank, s.source, mapping).copy() for rank in members]
            for position, rank in enumerate(members):
                if s.kind in ("all_reduce", "reduce_scatter"):
                    reduce = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum,
                              "and": np.bitwise_and, "or": np.bitwise_or}[s.reduction].reduce
                    result = wrap(reduce(np.stack(sources), axis=0), element)
                    if s.kind == "reduce_scatter":
                        result = np.split(result, n)[position]
                elif s.kind == "all_gather":
                    result = np.concatenate(sources)
                elif s.kind == "all_to_all":
                    result = np.concatenate([np.split(each, n)[position] for each in sources])
                elif s.kind == "broadcast":
                    result = sources[s.root]
                else:
                    result = np.zeros_like(sources[0])
                    for giver, taker in s.pairs:
                        if taker == position:
                            result = sources[giver]
                self.part(rank, s.to, mapping)[:] = result

    def results(self, rank):
        return np.concatenate(self.state[rank])


#===-- Their text ---------------------------------------------------------------===#

class Text:
    def __init__(self, program):
        self.program, self.lines, self.depth, self.count = program, [], 1, 0

    def line(self, text):
        self.lines.append("  " * self.depth + text)

    def new(self):
        self.count += 1
        return "%%v%d" % self.count

    def value(self, text):
        name = self.new()
        self.line("%s = %s" % (name, text))
        return name

    def constant(self, number, type="index"):
        return self.value("arith.constant %d : %s" % (number, type))

    def toWide(self, value, element):
        """An i64 of an element."""
        if element == "i64":
            return value
        if element in INTEGERS:
            return self.value("arith.%s %s : %s to i64" % ("extui" if element == "i1" else "extsi", value, element))
        if FLOATS[element] < 32:
            value = self.value("arith.extf %s : %s to f32" % (value, element))
        return self.value("arith.fptosi %s : %s to i64" % (value, "f64" if element == "f64" else "f32"))

    def fromWide(self, value, element):
        if element == "i64":
            return value
        if element in INTEGERS:
            return self.value("arith.trunci %s : i64 to %s" % (value, element))
        value = self.value("arith.sitofp %s : i64 to %s" % (value, "f64" if element == "f64" else "f32"))
        return self.value("arith.truncf %s : f32 to %s" % (value, element)) if FLOATS[element] < 32 else value

    def indices(self, buffer, at):
        if not buffer.width:
            return at
        width = self.constant(buffer.width)
        return "%s, %s" % (self.value("arith.divui %s, %s : index" % (at, width)), self.value("arith.remui %s, %s : index" % (at, width)))

    def launch(self, size, threads, body):
        one, blocks, block = self.constant(1), self.constant(-(-size // threads)), self.constant(threads)
        self.count += 1
        k = self.count
        self.line("gpu.launch blocks(%%bx%d, %%by%d, %%bz%d) in (%%gx%d = %s, %%gy%d = %s, %%gz%d = %s)" % (k, k, k, k, blocks, k, one, k, one))
        self.line("    threads(%%tx%d, %%ty%d, %%tz%d) in (%%nx%d = %s, %%ny%d = %s, %%nz%d = %s) {" % (k, k, k, k, block, k, one, k, one))
        self.depth += 1
        at = self.value("arith.muli %%bx%d, %s : index" % (k, block))
        at = self.value("arith.addi %s, %%tx%d : index" % (at, k))
        inside = self.value("arith.cmpi ult, %s, %s : index" % (at, self.constant(size)))
        self.line("scf.if %s {" % inside)
        self.depth += 1
        body(at)
        self.depth -= 1
        self.line("}")
        self.line("gpu.terminator")
        self.depth -= 1
        self.line("}")

    def kernel(self, s, round, extra=None):
        position = self.value("arith.index_cast %s : index to i64" % self.rank(s.group))
        size = self.value("arith.index_cast %s : index to i64" % self.value("gpu_async.size%s" % (" @" + s.group.name if s.group.name else "")))
        rounds = self.value("arith.index_cast %s : index to i64" % round) if round else None
        def times(value, number):
            return self.value("arith.muli %s, %s : i64" % (value, self.constant(number, "i64")))
        def plus(a, b):
            return self.value("arith.addi %s, %s : i64" % (a, b))

        def body(at):
            to = self.indices(s.to, at)
            source = self.value("arith.addi %s, %s : index" % (at, self.constant(s.shift)))
            source = self.indices(s.source, self.value("arith.remui %s, %s : index" % (source, self.constant(s.source.size))))
            a = self.toWide(self.value("memref.load %s[%s] : %s" % (s.to.name, to, s.to.type)), s.to.element)
            b = self.toWide(self.value("memref.load %s[%s] : %s" % (s.source.name, source, s.source.type)), s.source.element)
            sum = plus(times(a, s.a), times(b, s.b))
            sum = plus(plus(sum, self.constant(s.c, "i64")), plus(times(position, s.perRank), size))
            if rounds and s.perRound:
                sum = plus(sum, rounds)
            if extra:
                sum = plus(sum, extra)
            sum = self.value("arith.remsi %s, %s : i64" % (sum, self.constant(s.modulus, "i64")))
            self.line("memref.store %s, %s[%s] : %s" % (self.fromWide(sum, s.to.element), s.to.name, to, s.to.type))

        self.launch(s.to.size, s.threads, body)

    def rank(self, group):
        return self.value("gpu_async.rank%s" % (" @" + group.name if group.name else ""))

    def view(self, ref):
        """The name and the type of these rows."""
        b = ref.buffer
        if ref.rows == b.rows:
            return b.name, b.type
        width = b.width or 1
        result = "memref<%d%sx%s, strided<[%s1], offset: %d>>" % (ref.rows, "x%d" % b.width if b.width else "", b.element,
                                                               "%d, " % b.width if b.width else "", ref.first * width)
        rest = [", 0", ", %d" % width, ", 1"] if b.width else [""] * 3
        return self.value("memref.subview %s[%d%s] [%d%s] [1%s] : %s to %s" % (b.name, ref.first, rest[0], ref.rows, rest[1], rest[2], b.type, result)), result

    def hint(self, s):
        return " {overlapped}" if getattr(s, "overlapped", False) else ""

    def collective(self, s, kind=None):
        kind = kind or s.kind
        what = kind + ("<%s>" % s.reduction if kind in ("all_reduce", "reduce_scatter") else "<%d>" % s.root if kind == "broadcast"
                       else "<%s>" % s.pairs if kind == "permute" else "")
        group = " group(@%s)" % s.group.name if s.group.name else ""
        if kind == "barrier":
            self.line("gpu_async.collective %s%s%s" % (what, group, self.hint(s)))
            return
        source, sourceType = self.view(s.source)
        to, toType = (source, sourceType) if s.to is s.source else self.view(s.to)
        self.line("gpu_async.collective %s%s %s, %s%s : %s, %s"
                  % (what, group, to, source, self.hint(s), toType, sourceType))

    def copyBack(self, buffer):
        """The name and the type of a copy in host memory."""
        type = "memref<%d%sx%s>" % (buffer.rows, "x%d" % buffer.width if buffer.width else "", buffer.element)
        memory = self.value("memref.alloc() : %s" % type)
        self.line("gpu.memcpy %s, %s : %s, %s" % (memory, buffer.name, type, buffer.type))
        return memory, type

    def host(self, s, round):
        memory, type = self.copyBack(s.buffer)
        at = self.indices(s.buffer, self.constant(s.at))
        old = self.toWide(self.value("memref.load %s[%s] : %s" % (memory, at, type)), s.buffer.element)
        if s.writes:
            new = self.constant(s.new, "i64")
            if s.perRank:
                rank = self.value("arith.index_cast %s : index to i64" % self.rank(self.program.groups[0]))
                new = self.value("arith.addi %s, %s : i64" % (new, rank))
            self.line("memref.store %s, %s[%s] : %s" % (self.fromWide(new, s.buffer.element), memory, at, type))
            self.line("gpu.memcpy %s, %s : %s, %s" % (s.buffer.name, memory, s.buffer.type, type))
        self.line("memref.dealloc %s : %s" % (memory, type))
        self.kernel(s.kernel, round, extra=old)

    def body(self, body, round):
        for s in body:
            if s.op == "kernel":
                self.kernel(s, round)
            elif s.op == "host":
                self.host(s, round)
            elif s.op == "collective":
                self.collective(s)
            elif s.op == "fail":
                self.fail(s)
            elif s.op == "call":
                mapping = mappingOf(self.program, s)
                given = ", ".join(mapping.get(b, b).name for b in self.program.buffers)
                self.line("func.call @f%d(%s) : (%s) -> ()" % (s.function, given, ", ".join(b.type for b in self.program.buffers)))
            elif s.op == "if":
                left = self.value("arith.remui %s, %s : index" % (self.rank(self.program.groups[0]), self.constant(s.modulus)))
                self.line("scf.if %s {" % self.value("arith.cmpi eq, %s, %s : index" % (left, self.constant(s.equals))))
                self.nested(s.bodies[0], round)
                self.line("}")
            elif s.op == "for":
                zero, one, rounds = self.constant(0), self.constant(1), self.constant(s.rounds)
                i = self.new()
                self.line("scf.for %s = %s to %s step %s {" % (i, zero, rounds, one))
                self.nested(s.bodies[0], i)
                self.line("}")
            elif s.op == "while":
                self.whileLoop(s)

    def fail(self, s):
        rank, bad = self.rank(self.program.groups[0]), self.constant(self.program.failing)
        test = lambda: self.line('cf.assert %s, "planted"' % self.value("arith.cmpi ne, %s, %s : index" % (rank, bad)))
        if s.inKernel:
            self.launch(1, 1, lambda at: test())
        else:
            test()

    def whileLoop(self, s):
        zero, one = self.constant(0), self.constant(1)
        result, i, j = self.new(), self.new(), self.new()
        self.line("%s = scf.while (%s = %s) : (index) -> index {" % (result, i, zero))
        self.depth += 1
        self.kernel(s.first, i)
        s.source = s.to = s.ref
        self.collective(s, "all_reduce")
        memory, type = self.copyBack(s.ref.buffer)
        value = self.value("memref.load %s[%s] : %s" % (memory, self.indices(s.ref.buffer, self.constant(0)), type))
        value = self.toWide(value, s.ref.buffer.element)
        self.line("memref.dealloc %s : %s" % (memory, type))
        most = self.value("arith.remsi %s, %s : i64" % (value, self.constant(MOST_ROUNDS + 1, "i64")))
        round = self.value("arith.index_cast %s : index to i64" % i)
        self.line("scf.condition(%s) %s : index" % (self.value("arith.cmpi slt, %s, %s : i64" % (round, most)), i))
        self.depth -= 1
        self.line("} do {")
        self.line("^bb0(%s: index):" % j)
        self.depth += 1
        self.body(s.bodies[0], j)
        self.line("scf.yield %s : index" % self.value("arith.addi %s, %s : index" % (j, one)))
        self.depth -= 1
        self.line("}")

    def nested(self, body, round):
        self.depth += 1
        self.body(body, round)
        self.depth -= 1

    def text(self):
        program = self.program
        head = [group.text for group in program.groups if group.text]
        for number, body in program.functions:
            self.lines.append("func.func private @f%d(%s) {" % (number, ", ".join("%s: %s" % (b.name, b.type) for b in program.buffers)))
            self.body(body, None)
            self.line("return")
            self.lines.append("}")
        size = sum(b.size for b in program.buffers)
        self.lines.append("func.func @main(%%given: memref<%dxi64>, %%one: index, %%out: memref<%dxi64>) {" % (GIVEN, size))
        self.line("%%g = gpu.alloc () : memref<%dxi64>" % GIVEN)
        self.line("gpu.memcpy %%g, %%given : memref<%dxi64>, memref<%dxi64>" % (GIVEN, GIVEN))
        for b in program.buffers:
            rows = self.value("arith.muli %%one, %s : index" % self.constant(b.rows)) if b.dynamic else ""
            self.line("%s = gpu.alloc (%s) : %s" % (b.name, rows, b.type))
            self.launch(b.size, 8, lambda at: self.fill(b, at))
        self.body(program.body, None)
        self.line("%%r = gpu.alloc () : memref<%dxi64>" % size)
        base = 0
        for b in program.buffers:
            self.launch(b.size, 8, lambda at: self.give(b, at, base, size))
            base += b.size
        self.line("gpu.memcpy %%out, %%r : memref<%dxi64>, memref<%dxi64>" % (size, size))
        for name, type in [("%g", "memref<%dxi64>" % GIVEN), ("%r", "memref<%dxi64>" % size)] + [(b.name, b.type) for b in program.buffers]:
            self.line("gpu.dealloc %s : %s" % (name, type))
        self.line("return")
        self.lines.append("}")
        return "\n".join(head + self.lines) + "\n"

    def fill(self, b, at):
        source = self.value("arith.addi %s, %s : index" % (at, self.constant(b.number)))
        source = self.value("arith.remui %s, %s : index" % (source, self.constant(GIVEN)))
        value = self.value("memref.load %%g[%s] : memref<%dxi64>" % (source, GIVEN))
        value = self.value("arith.addi %s, %s : i64" % (value, self.value("arith.index_cast %s : index to i64" % at)))
        value = self.value("arith.remsi %s, %s : i64" % (value, self.constant(MODULUS, "i64")))
        self.line("memref.store %s, %s[%s] : %s" % (self.fromWide(value, b.element), b.name, self.indices(b, at), b.type))

    def give(self, b, at, base, size):
        value = self.toWide(self.value("memref.load %s[%s] : %s" % (b.name, self.indices(b, at), b.type)), b.element)
        to = self.value("arith.addi %s, %s : index" % (at, self.constant(base)))
        self.line("memref.store %s, %%r[%s] : memref<%dxi64>" % (value, to, size))


#===-- Running them -------------------------------------------------------------===#

class Runner:
    def __init__(self, options):
        self.options = options
        self.failures, self.compared, self.collectives = 0, 0, 0

    def command(self, program):
        command = [self.options.gpu_runner, "--device=" + self.options.device, "--leak-check=error", "--timeout=%d" % self.options.timeout]
        if self.options.check:  # it plays on streams only
            command += ["--check"] + [word for word in program.arguments if not word.startswith("--play")]
        else:
            command += program.arguments
        if self.options.launcher and not program.isAlone:
            command = self.options.launcher.split() + ["%d" % program.ranks] + command
        elif not program.isAlone:
            command.append("--ranks=%d" % program.ranks)
        number = "0" if program.isAlone else "%r"
        size = sum(b.size for b in program.buffers)
        return command + ["f.mlir", "--input=@in.%s.npy" % number, "--input=1", "--input=%dxi64=0" % size, "--output=", "--output=",
                          "--output=@out.%s.npy" % number]

    def optimise(self, program, folder):
        """Raises a Failure if gpu-opt cannot prove that streams and regions keep the order of the tokens. Or
        replaces the program by its token form."""
        if not program.before or not self.options.gpu_opt:
            return
        streams = ["-gpu-async-plan-memory", "-gpu-async-reduce-dependencies", "-gpu-async-make-forks-explicit",
                   "-gpu-async-assign-streams=max-streams=%d" % program.streams, "-gpu-async-verify-form=form=stream",
                   "-gpu-async-verify-schedule", "-gpu-async-form-regions", "-gpu-async-verify-form=form=stream", "-gpu-async-verify-schedule"]
        passes = TOKEN_FORM + (streams if program.before == "verify" else ["-gpu-async-verify-form=form=token"])
        done = subprocess.run([self.options.gpu_opt, "f.mlir", "-o", "after.mlir"] + passes, cwd=folder, capture_output=True, text=True,
                              errors="replace", timeout=2 * self.options.timeout + 30)
        if done.returncode:
            raise Failure("refused" if done.returncode > 0 else "crashed",
                          "gpu-opt %s: exit code %d\n%s" % (" ".join(passes), done.returncode, fuzzrun.errors(done.stderr)))
        if program.before == "tokens":
            os.replace(os.path.join(folder, "after.mlir"), os.path.join(folder, "f.mlir"))

    def run(self, program, folder):
        """Raises a Failure. Leaves the files in the folder."""
        given = np.random.default_rng(program.seed).integers(-6, 7, (program.ranks, GIVEN))
        with open(os.path.join(folder, "f.mlir"), "w") as file:
            file.write(Text(program).text())
        for rank in range(program.ranks):
            np.save(os.path.join(folder, "in.%d.npy" % rank), given[rank])
        reference = Reference(program, given)
        try:
            self.optimise(program, folder)
            done = subprocess.run(self.command(program), cwd=folder, env=dict(os.environ, GPU_ASYNC_CPU_SCHEDULE=program.schedule,
                                                                          GPU_ASYNC_CACHE="off"),
                                  timeout=2 * self.options.timeout + 30, capture_output=True, text=True, errors="replace")
        except subprocess.TimeoutExpired:
            raise Failure("hung", "no end after %d s" % (2 * self.options.timeout + 30))
        if reference.fails:
            self.checkFailure(program, done)
            return reference.collectives
        if done.returncode:
            kind = "crashed" if done.returncode < 0 or re.search("crash|fault at|Stack dump", done.stderr) else \
                "hung" if "timed out" in done.stderr else "refused"
            raise Failure(kind, "exit code %d\n%s" % (done.returncode, fuzzrun.errors(done.stderr)))
        for rank in range(program.ranks):
            got, expected = np.load(os.path.join(folder, "out.%d.npy" % rank)), reference.results(rank)
            if not np.array_equal(got, expected):
                raise Failure("wrong", self.difference(program, rank, got, expected))
        return reference.collectives

    def checkFailure(self, program, done):
        """Raises a Failure if the ranks do not say that one of them failed, or something else."""
        lines = [line for line in done.stderr.splitlines() if "error: " in line]
        # On a GPU the driver says what failed, with threads for each GPU of the process.
        said = "planted|device-side assert" if program.onGPU else "planted"
        wrong = [line for line in lines if not re.search(said, line)]
        where = "" if program.isAlone else "(on rank %d)" % program.failing
        if (done.returncode > 0 if self.options.launcher else done.returncode == 1) and not wrong and any(line.endswith(where) for line in lines):
            return
        raise Failure("crashed" if done.returncode < 0 else "hung" if "timed out" in done.stderr else "wrong",
                      "rank %d fails, but exit code %d\n%s" % (program.failing, done.returncode, done.stderr[-2000:]))

    def difference(self, program, rank, got, expected):
        base, said = 0, []
        for b in program.buffers:
            mine, wanted = got[base:base + b.size], expected[base:base + b.size]
            if not np.array_equal(mine, wanted):
                said.append("rank %d: %s is\n  %s, expected\n  %s" % (rank, b.name, mine.tolist(), wanted.tolist()))
            base += b.size
        return "\n".join(said[:2])

    def fails(self, program):
        """The Failure of a program, or None."""
        with tempfile.TemporaryDirectory() as folder:
            try:
                count = self.run(program, folder)
                self.collectives += count
            except Failure as failure:
                return failure
        return None

    def one(self, seed):
        if self.failures >= self.options.max_failures:
            return
        program = Program(seed, self.options)
        failure = self.fails(program)
        if not failure:
            self.compared += 1
            return
        self.failures += 1
        print("FAILED (%s): --seed=%d --programs=1, %d ranks\n%s" % (failure.kind, seed, program.ranks, failure.text), flush=True)
        self.minimise(program, failure)
        folder = os.path.join(self.options.keep, "ranks-%d" % seed)
        os.makedirs(folder, exist_ok=True)
        try:
            self.run(program, folder)
            said = "// It did not fail again.\n"
        except Failure as again:
            said = "".join("// %s\n" % line for line in again.text.splitlines())
        path = os.path.join(folder, "f.mlir")
        with open(path) as file:
            text = file.read()
        with open(path, "w") as file:
            file.write("// GPU_ASYNC_CPU_SCHEDULE=%s %s\n%s%s" % (program.schedule, " ".join(self.command(program)), said, text))
        print("smallest program that fails: %s" % path, flush=True)

    def minimise(self, program, failure):
        """Drops statements while the program fails in the same way."""
        limit, changed = time.time() + self.options.minimise, True
        while changed and time.time() < limit:
            changed = False
            for body in list(statementsOf(program)):
                for i in reversed(range(len(body))):
                    if time.time() > limit:
                        return
                    kept = body.pop(i)
                    again = self.fails(program)
                    if again and again.kind == failure.kind:
                        changed = True
                    else:
                        body.insert(i, kept)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gpu_runner")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--size", type=int, default=20, help="most statements of each")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--most-ranks", type=int, default=6)
    parser.add_argument("--launcher", help="ranks are processes: words before their number, such as 'mpirun.openmpi --oversubscribe -n'; "
                        "torchrun: a script that starts them as it does")
    parser.add_argument("--check", action="store_true", help="with --check, which must find nothing")
    parser.add_argument("--schedule", help="GPU_ASYNC_CPU_SCHEDULE, instead of one that follows from the seed")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--timeout", type=int, default=60)
    parser.add_argument("--minimise", type=int, default=60, help="seconds for making a failure smaller")
    parser.add_argument("--max-failures", type=int, default=3)
    parser.add_argument("--keep", default="fuzz-failures", help="folder of what failed")
    parser.add_argument("--gpu-opt", default="beside gpu-runner", help="what proves the order of some programs; empty: nothing does")
    parser.add_argument("--print", action="store_true", help="print the programs and end")
    options = parser.parse_args()
    options.gpu_runner = os.path.abspath(options.gpu_runner) if os.path.exists(options.gpu_runner) else options.gpu_runner
    if options.gpu_opt == "beside gpu-runner":
        options.gpu_opt = os.path.join(os.path.dirname(shutil.which(options.gpu_runner) or options.gpu_runner), "gpu-opt")
    if options.launcher == "torchrun":
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../Integration/ranks/Inputs/launch.py")
        options.launcher = "%s %s -n" % (sys.executable, script)
    seeds = range(options.seed, options.seed + options.programs)
    if options.print:
        for seed in seeds:
            print(Text(Program(seed, options)).text())
        return
    runner, started = Runner(options), time.time()
    with ThreadPoolExecutor(options.jobs) as pool:
        for _ in pool.map(runner.one, seeds):
            pass
    print("ranks: --seed=%d --programs=%d: %d programs equal, with %d collectives, %d failed, %.0f s"
          % (options.seed, options.programs, runner.compared, runner.collectives, runner.failures, time.time() - started))
    sys.exit(1 if runner.failures else 0)


main()
