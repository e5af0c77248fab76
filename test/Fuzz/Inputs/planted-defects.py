# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Plants one defect in a random correct kernel or program and runs it with gpu-runner
# --check, which must name it: the right kind of bug, at the lines that are to blame.
# Which those are the oracle of kernels says (kerneloracle.py, with memory that keeps
# books), and for programs the order that their tokens make. See docs/reference/Testing.md.
#
#   planted-defects.py GPU_RUNNER --seed=7 --defects=100

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(here, "..", "..", "Inputs")]
import kernelast as A
import kerneldraw as D
import kerneloracle as O

# Races of threads are not looked for after an all_reduce that is not uniform (docs/reference/Check.md).
FEATURES = set(D.FEATURES) - {"stray", "reduce", "call"}
MESSAGES = {
    "threads": "data race between threads of a block", "blocks": "data race between blocks",
    "bounds": "out of bounds", "uninitialised": "read of uninitialised workgroup memory",
    "barrier": "barrier that not all threads of the block come to", "order": "race between device ops|not ordered before the free",
    # No schedule orders what comes after a free.
    "freed": "use of freed device memory|not ordered before the free|race between device ops", "host": "host code touches device memory",
    "kernel": "kernel touches host memory", "hostbounds": r"out of bounds: (read|write) .* in @main",
    "copybounds": r"out of bounds: gpu(_async)?\.memcpy writes 64 bytes",
    "stridebounds": r"out of bounds: gpu(_async)?\.mem(cpy|set) (reads|writes) \d+ bytes at byte -?\d+ of \d+ bytes of (device|host) memory",
}


class NoDefect(Exception):
    """What was drawn has no place for it, or it does no harm there."""


#-- Kernels -------------------------------------------------------------------

found = set()  # of the kernel that runs: kind and the marks of its places
races = []  # of its threads: memory, index, block, marks


class Books(O.Memory):
    """Goes on after a bug. Of each cell it knows all accesses."""

    bytes = 4

    def touch(self, thread, index, how):
        where, block = thread.where, thread.block
        if not 0 <= index < (self.size if self.size is not None else 1 << 20):
            found.add(("bounds", frozenset([where])))
            return False
        mine = (block.number, block.epoch, thread.number, how, where)
        accesses = self.seen.setdefault(index, set())
        for number, epoch, other, otherHow, otherWhere in accesses:
            if how == otherHow and how != "write":
                continue
            if number != block.number:
                found.add(("blocks", frozenset([where, otherWhere])))
            elif other != thread.number and epoch == block.epoch:
                races.append((self, index, block, frozenset([where, otherWhere])))
        accesses.add(mine)
        return True

    def crowded(self, index, block):
        """Whether elements are so narrow that more threads touched 8 bytes between two
        barriers than the record of these has room for (docs/reference/Check.md)."""
        each = 8 // self.bytes
        touched = [a for i in range(index - each + 1, index + each) for a in self.seen.get(i, ()) if a[0] == block.number]
        return each > 2 and any(len({a[2] for a in touched if a[1] == epoch}) > 4 for epoch in {a[1] for a in touched})

    def get(self, thread, index):
        if index not in self.values:
            found.add(("uninitialised", frozenset([thread.where])))
        return self.values.get(index, 0)

    def load(self, thread, index):
        return self.get(thread, index) if self.touch(thread, index, "read") else 0

    def store(self, thread, index, value):
        if self.touch(thread, index, "write"):
            self.values[index] = value

    def atomic(self, thread, index, update):
        if self.touch(thread, index, "atomic"):
            self.values[index] = update(self.get(thread, index))


class Window(O.View):
    def at(self, index):
        if not 0 <= index < self.size:
            return -1
        return self.offset + index


class Block(O.Block):
    bytes = {}  # of an element of workgroup memory, by name

    def array(self, name):
        array = super().array(name)
        array.bytes = Block.bytes.get(name, 4)  # which makeKernel does not need
        return array


O.Memory, O.View, O.Block, O.Thread.where = Books, Window, Block, None


def elementBytes(kernel):
    """Of workgroup memory, by the names that the oracle has for it."""
    types = {value.name: value.type for value, space in kernel.memory if space == "workgroup"}
    for function in kernel.functions + [kernel]:
        for statement in A.walk(function.body):
            if isinstance(statement, A.Op) and (name := re.search(r"thread\.block\.array\('(\w+)'\)", statement.code)):
                types[name[1]] = statement.results[0].type
    bits = {name: int(re.search(r"[if](\d+)[,>]", type)[1]) for name, type in types.items()}
    return {name: (n + 7) // 8 for name, n in bits.items()}


def marked(kernel):
    """Gives each access and barrier a mark, in both texts. Returns statements by mark."""
    marks = {}
    for function in kernel.functions + [kernel]:
        for statement in A.walk(function.body):
            if isinstance(statement, A.Op) and re.search(r"thread, |'barrier'", statement.code):
                marks[len(marks)] = statement
                mark, lines = len(marks) - 1, statement.text.split("\n")
                lines[0] += " // #%d" % mark
                # Reads that nobody needs are not made.
                if lines[0].startswith("{r} = memref.load"):
                    type, own = statement.results[0].type, "%%own%d" % mark
                    lines += [own + "c = arith.constant 1 : i64",
                              own + " = llvm.alloca %sc x %s : (i64) -> !llvm.ptr" % (own, type),
                              "llvm.store volatile {r}, %s : %s, !llvm.ptr" % (own, type)]
                statement.text = "\n".join(lines)
                statement.code = "thread.where = %d\n%s" % (mark, statement.code)
    return marks


def bugs(kernel):
    """What the kernel does wrong, whichever thread goes first."""
    found.clear()
    races.clear()
    Block.bytes = elementBytes(kernel)
    for order in (list, lambda threads: threads[::-1]):
        try:
            O.run(kernel, D.inputValues(), order)
        except O.Invalid as why:
            if "barrier" not in str(why):
                raise NoDefect()
            found.add(("barrier", frozenset()))
        except (O.TooLong, ArithmeticError, AssertionError):
            raise NoDefect()
    return found | {("threads", places) for memory, index, block, places in races if not memory.crowded(index, block)}


def bodyOf(kernel, statement):
    bodies = [kernel.body]
    while bodies:
        body = bodies.pop()
        if statement in body.statements:
            return body
        for inner in body.statements:
            bodies += inner.bodies
    raise NoDefect()


def dropBarrier(kernel, r):
    barriers = [s for s in A.walk(kernel.body) if isinstance(s, A.Op) and s.text == "gpu.barrier"]
    if not barriers:
        raise NoDefect()
    barrier = r.choice(barriers)
    bodyOf(kernel, barrier).statements.remove(barrier)
    return {"threads"}


def indexBeyond(kernel, r):
    accesses = [s for s in A.walk(kernel.body) if isinstance(s, A.Op) and len(s.operands) > 1
                and re.search(r"(memref.load|memref.store \{2\},|rmw \w+ \{2\},) \{0\}\[\{1\}\]", s.text)
                and s.operands[0] is not kernel.input and not s.operands[0].type.startswith("memref<4xi32")]
    if not accesses:
        raise NoDefect()
    access, index = r.choice(accesses), A.Value("index")
    beyond = r.choice([100000, (1 << 64) - 1])
    body = bodyOf(kernel, access)
    body.statements.insert(body.statements.index(access), A.Op(
        [index], [], "{r} = arith.constant %d : index" % (beyond if beyond == 100000 else -1), "{r} = %d" % beyond))
    access.operands = [access.operands[0], index] + access.operands[2:]
    return {"bounds"}


def forgetWrite(kernel, r):
    """The first write of workgroup memory."""
    shared = {v for v, s in kernel.memory if s == "workgroup"}
    writes = [s for s in kernel.body.statements if isinstance(s, A.Op) and "memref.store" in s.text
              and (s.operands[0] in shared or "#gpu.address_space<workgroup>" in s.operands[0].type)]
    if not writes:
        raise NoDefect()
    kernel.body.statements.remove(r.choice(writes))
    return {"uninitialised"}


def divergentBarrier(kernel, r):
    """A barrier for some of the threads, where all come."""
    if kernel.threads == 1:
        raise NoDefect()
    x, limit, few = A.Value("index"), A.Value("index"), A.Value("i1")
    size = max(range(3), key=lambda i: kernel.dims[i])
    bound = r.randrange(1, kernel.dims[size])
    barrier = A.Op([], [], "gpu.barrier", "yield ({path}, 'barrier', ())")
    inside = A.Body()
    inside.statements.append(barrier)
    first = next(i for i, s in enumerate(kernel.body.statements) if not isinstance(s, A.Op) or "gpu." not in s.text)
    kernel.body.statements[first:first] = [
        A.Op([x], [], "{r} = gpu.thread_id %s" % "xyz"[size], "{r} = thread.ids[%d]" % size),
        A.Op([limit], [], "{r} = arith.constant %d : index" % bound, "{r} = %d" % bound),
        A.Op([few], [x, limit], "{r} = arith.cmpi ult, {0}, {1} : index", "{r} = int({0} < {1})"),
        A.If(few, [], [inside], False)]
    return {"barrier"}


def kernelDefect(plant, seed):
    """The module's text, and the bugs as pairs of a kind and a set of lines."""
    r = random.Random(seed)
    features = FEATURES - ({"cf"} if plant in (divergentBarrier, dropBarrier) else set())
    while True:
        kernel = D.makeKernel(r.randrange(1 << 30), 0, features, 16)
        try:
            kinds = plant(kernel, r)
            marks = marked(kernel)
            wrong = {bug for bug in bugs(kernel) if bug[0] in kinds}
            if wrong:
                break
        except NoDefect:
            pass
    text, _, size = D.moduleText([kernel])
    lines = {}
    for number, line in enumerate(text.split("\n"), 1):
        if mark := re.search(r"// #(\d+)$", line):
            lines[int(mark[1])] = number
    assert len(lines) == len(marks)
    return text, {(kind, frozenset(lines[m] for m in places)) for kind, places in wrong}, ["--input=%dxi32=0" % size]


#-- Programs ------------------------------------------------------------------

class Op:
    """What comes before it (numbers of ops), and what it touches: buffer, whether it
    writes, line of the text within the op."""

    def __init__(self, kind, touches, text):
        self.kind, self.touches, self.text, self.after = kind, touches, text, set()


def strided(name, of, size, offset, sizes, strides):
    """A view of `size` numbers that the compiler knows nothing of, in five lines, and its type."""
    type = "memref<%sxi32, strided<[%s], offset: ?>>" % ("x".join("?" * len(sizes)), ", ".join("?" * len(sizes)))
    parts = [("o", [offset]), ("d", sizes), ("s", strides)]
    lines = ["%s%s%d = arith.constant %d : index" % (name, part, i, value) for part, values in parts for i, value in enumerate(values)]
    names = {part: ", ".join("%s%s%d" % (name, part, i) for i in range(len(values))) for part, values in parts}
    lines.append("%s = memref.reinterpret_cast %s to offset: [%s], sizes: [%s], strides: [%s] : memref<%dxi32> to %s" % (
        name, of, names["o"], names["d"], names["s"], size, type))
    return lines, type


# All of 16 numbers, the first one first or last: offset, sizes, strides.
WHOLE = [(15, [16], [-1]), (12, [4, 4], [-4, 1]), (3, [4, 4], [4, -1]), (0, [4, 4], [1, 4]), (15, [2, 8], [-8, -1])]


class Program:
    """Kernels, copies and fills on buffers of 16 numbers, ordered by tokens where they
    must be, with a wait of the host now and then."""

    BUFFERS = 4

    def __init__(self, r):
        self.r, self.ops = r, []
        for i in range(self.BUFFERS):
            self.add(Op("alloc", [(i, True, 0)], ["%%b%d, {t} = gpu.alloc async {after} () : memref<16xi32>" % i]))
        for _ in range(r.randrange(6, 16)):
            self.draw()
        for i in range(self.BUFFERS):
            self.add(Op("free", [(i, True, 0)], ["{t} = gpu.dealloc async {after} %%b%d : memref<16xi32>" % i]))

    def draw(self):
        r = self.r
        a, b = r.sample(range(self.BUFFERS), 2)
        kind = r.choice(["kernel", "kernel", "kernel", "copy", "fill", "strided", "download", "wait"])
        if kind == "kernel":
            self.add(Op(kind, [(a, False, 2), (b, True, 3)], [
                "{t} = gpu.launch async {after} blocks(%{n}bx, %{n}by, %{n}bz) in (%{n}gx = %c1, %{n}gy = %c1, %{n}gz = %c1)",
                "    threads(%{n}x, %{n}y, %{n}z) in (%{n}sx = %c16, %{n}sy = %c1, %{n}sz = %c1) {{",
                "  %%{n}v = memref.load %%b%d[%%{n}x] : memref<16xi32>" % a,
                "  memref.store %%{n}v, %%b%d[%%{n}x] : memref<16xi32>" % b, "  gpu.terminator", "}}"]))
        elif kind == "copy":
            self.add(Op(kind, [(a, False, 0), (b, True, 0)], [
                "{t} = gpu.memcpy async {after} %%b%d, %%b%d : memref<16xi32>, memref<16xi32>" % (b, a)]))
        elif kind == "fill":
            self.add(Op(kind, [(a, True, 0)], ["{t} = gpu.memset async {after} %%b%d, %%one : memref<16xi32>, i32" % a]))
        elif kind == "strided":
            # In another order, within the buffers.
            view = r.choice(WHOLE)
            to, type = strided("%{n}w", "%%b%d" % b, 16, *view)
            touches, text = [(b, True, 0)], "gpu.memset async {after} %%{n}w, %%one : %s, i32" % type
            if r.random() < 0.5:
                copied, fromType = strided("%{n}v", "%%b%d" % a, 16, *r.choice([w for w in WHOLE if w[1] == view[1]]))
                touches.append((a, False, 0))
                to, text = to + copied, "gpu.memcpy async {after} %%{n}w, %%{n}v : %s, %s" % (type, fromType)
            self.add(Op(kind, [(buffer, writes, len(to)) for buffer, writes, _ in touches], to + ["{t} = " + text]))
        elif kind == "download":
            # Of a host buffer that nothing else touches.
            self.add(Op(kind, [(a, False, 0)], ["%{n}h = memref.alloc() : memref<16xi32>",
                                                "{t} = gpu.memcpy async {after} %%{n}h, %%b%d : memref<16xi32>, memref<16xi32>" % a]))
            self.ops[-1].touches = [(a, False, 1)]
        else:
            # For one op, and with it what comes before.
            wait = Op(kind, [], ["gpu.wait {after}"])
            wait.after = {r.randrange(len(self.ops))}
            while self.ops[min(wait.after)].kind == "wait":
                wait.after = {r.randrange(len(self.ops))}
            self.ops.append(wait)

    def add(self, op):
        """After what it must follow."""
        for buffer, writes, _ in op.touches:
            for number in reversed(range(len(self.ops))):
                other = self.ops[number]
                theirs = [w for b, w, _ in other.touches if b == buffer]
                if theirs and (writes or any(theirs)):
                    op.after.add(number)
                if any(theirs):
                    break
        self.ops.append(op)

    def before(self):
        """For each op all that end before it."""
        result, host = [], set()
        for op in self.ops:
            mine = set(host)
            for number in op.after:
                mine |= {number} | result[number]
            if op.kind == "wait":
                host |= mine
            result.append(mine)
        return result

    def races(self):
        """Pairs of (number, line within the op)."""
        before, pairs = self.before(), set()
        for i, op in enumerate(self.ops):
            for j in range(i):
                other = self.ops[j]
                if j in before[i] or other.kind == "alloc":
                    continue
                for buffer, writes, line in op.touches:
                    for otherBuffer, otherWrites, otherLine in other.touches:
                        if buffer == otherBuffer and (writes or otherWrites):
                            pairs.add(((i, line), (j, otherLine)))
        return pairs

    def text(self):
        """The module, and where each op's first line is."""
        lines = ["func.func @main() {", "  %c0 = arith.constant 0 : index", "  %c1 = arith.constant 1 : index",
                 "  %c16 = arith.constant 16 : index", "  %one = arith.constant 1 : i32", "  %start = gpu.wait async"]
        starts, tokens = [], []
        for number, op in enumerate(self.ops):
            starts.append(len(lines) + 1)
            token = "%%t%d" % number
            after = ["%%t%d" % n for n in sorted(op.after)] or ["%start"]
            for line in op.text:
                lines.append("  " + line.format(t=token, n="n%d" % number, after="[%s]" % ", ".join(after)))
            if "{t}" in " ".join(op.text):
                tokens.append(token)
        lines += ["  gpu.wait [%s]" % ", ".join(tokens), "  return", "}"]
        return "\n".join(lines) + "\n", starts


def dropToken(program, r):
    """Two device ops on the same buffer lose their order."""
    for _ in range(50):
        i = r.randrange(len(program.ops))
        op = program.ops[i]
        # Where a free goes is the schedule's choice, also behind what it need not follow.
        if op.kind in ("alloc", "free", "wait") or not op.after:
            continue
        dropped = r.choice(sorted(op.after))
        op.after.discard(dropped)
        # It still comes after the allocations, or there is nothing to race for.
        op.after |= {n for n in program.before()[dropped] if program.ops[n].kind == "alloc"}
        if program.races():
            return {("order", frozenset(pair)) for pair in program.races()}
        op.after.add(dropped)
    raise NoDefect()


def useFreed(program, r):
    """A buffer is freed before its last use."""
    buffer = r.randrange(Program.BUFFERS)
    users = [i for i, op in enumerate(program.ops) if op.kind not in ("alloc", "free") and any(t[0] == buffer for t in op.touches)]
    if not users:
        raise NoDefect()
    i = users[-1]
    free = next(op for op in program.ops if op.kind == "free" and op.touches[0][0] == buffer)
    program.ops.remove(free)
    free.after = set(users[:-1]) | {buffer}
    # The free comes just before its last user, which waits for it.
    for op in program.ops:
        op.after = {n + (n >= i) for n in op.after}
    program.ops.insert(i, free)
    program.ops[i + 1].after.add(i)
    lines = {line for b, _, line in program.ops[i + 1].touches if b == buffer}
    return {("freed", frozenset([(i + 1, line)])) for line in lines}


def hostTouches(program, r):
    """Host code reads or writes device memory, after everything was waited for."""
    buffer, at = r.randrange(Program.BUFFERS), r.randrange(Program.BUFFERS, len(program.ops) - Program.BUFFERS + 1)
    load = r.random() < 0.5
    text = "%%{n}v = memref.load %%b%d[%%c0]" if load else "memref.store %%one, %%b%d[%%c0]"
    host = Op("wait", [], ["gpu.wait {after}", text % buffer + " : memref<16xi32>"])
    host.after = {n for n in range(at) if program.ops[n].kind != "wait"}
    for op in program.ops:
        op.after = {n + (n >= at) for n in op.after}
    program.ops.insert(at, host)
    return {("host", frozenset([(at, 1)]))}


def unregistered(program, r):
    """A kernel writes or reads memory that the host allocated."""
    kernels = [i for i, op in enumerate(program.ops) if op.kind == "kernel"]
    if not kernels:
        raise NoDefect()
    i = r.choice(kernels)
    op, which = program.ops[i], r.randrange(2)
    op.text = ["%{n}o = memref.alloc() : memref<16xi32>"] + op.text
    line = 3 + which
    op.text[line] = re.sub(r"%b\d+\[", "%{n}o[", op.text[line])
    return {("kernel", frozenset([(i, line)]))}


def hostBeyond(program, r):
    """Host code leaves a memref of its own: by an index, by a view that says too much,
    by several elements at once."""
    at, size = r.randrange(Program.BUFFERS, len(program.ops) + 1), r.randrange(1, 16)
    index, load = r.randrange(size, 16), r.random() < 0.5
    text = ["%%{n}m = memref.alloc() : memref<%dxi32>" % size, "%%{n}i = arith.constant %d : index" % index]
    name, type = "%{n}m", "memref<%dxi32>" % size
    if r.random() < 0.5:
        text.append("%%{n}w = memref.reinterpret_cast %%{n}m to offset: [0], sizes: [32], strides: [1] : %s to memref<32xi32>" % type)
        name, type = "%{n}w", "memref<32xi32>"
    how = r.choice(["one", "vector", "copy", "pointer"])
    if how == "one":
        text.append("%%{n}v = memref.load %s[%%{n}i] : %s" % (name, type) if load else "memref.store %%one, %s[%%{n}i] : %s" % (name, type))
    elif how == "vector":
        text += ["%{n}z = arith.constant dense<0> : vector<4xi32>", "vector.store %%{n}z, %s[%%{n}i] : %s, vector<4xi32>" % (name, type)]
    elif how == "copy":
        text += ["%{n}o = memref.alloc() : memref<16xi32>",
                 "%%{n}l = memref.reinterpret_cast %%{n}m to offset: [0], sizes: [16], strides: [1] : memref<%dxi32> to memref<16xi32>" % size,
                 "memref.copy %s, %s : memref<16xi32> to memref<16xi32>" % (("%{n}l", "%{n}o") if load else ("%{n}o", "%{n}l"))]
    else:
        text += ["%%{n}a = memref.extract_aligned_pointer_as_index %s : %s -> index" % (name, type), "%{n}n = arith.index_cast %{n}a : index to i64",
                 "%{n}p = llvm.inttoptr %{n}n : i64 to !llvm.ptr", "%%{n}q = llvm.getelementptr %%{n}p[%d] : (!llvm.ptr) -> !llvm.ptr, i32" % index,
                 "llvm.store %one, %{n}q : i32, !llvm.ptr"]
    op = Op("host", [], text)
    for other in program.ops:
        other.after = {n + (n >= at) for n in other.after}
    program.ops.insert(at, op)
    return {("hostbounds", frozenset([(at, len(text) - 1)]))}


def shortBuffer(program, r):
    """A download goes to less host memory than it needs."""
    downloads = [i for i, op in enumerate(program.ops) if op.kind == "download"]
    if not downloads:
        raise NoDefect()
    i = r.choice(downloads)
    op = program.ops[i]
    size = r.randrange(16)
    op.text = ["%%{n}s = memref.alloc() : memref<%dxi32>" % size,
               "%%{n}h = memref.reinterpret_cast %%{n}s to offset: [0], sizes: [16], strides: [1] : memref<%dxi32> to memref<16xi32>" % size,
               op.text[1]]
    return {("copybounds", frozenset([(i, 2)]))}


def strideBeyond(program, r):
    """A copy or fill begins in its memory, on the device or the host's own, and leaves it
    by a stride, up or down."""
    at, buffer = r.randrange(Program.BUFFERS, len(program.ops) - Program.BUFFERS + 1), r.randrange(Program.BUFFERS)
    onHost, rank = r.random() < 0.3, r.randrange(1, 4)
    while True:
        sizes = [r.randrange(1, 5) for _ in range(rank)]
        strides = [r.choice([-1, 1]) * r.choice([r.randrange(1, 20), r.randrange(64, 400)]) for _ in range(rank)]
        offset = r.randrange(16)
        ends = [(n - 1) * s for n, s in zip(sizes, strides)]
        if offset + sum(min(e, 0) for e in ends) < 0 or offset + sum(max(e, 0) for e in ends) > 15:
            break
    memory = "%{n}m" if onHost else "%%b%d" % buffer
    text = ["%{n}m = memref.alloc() : memref<16xi32>"] if onHost else []
    lines, type = strided("%{n}w", memory, 16, offset, sizes, strides)
    text += lines
    how = r.choice(["from", "to"] if onHost else ["fill", "from", "to"])
    if how == "fill":
        text.append("{t} = gpu.memset async {after} %%{n}w, %%one : %s, i32" % type)
    else:
        own = "memref<%sxi32>" % "x".join(map(str, sizes))
        name = "%{n}y"
        if onHost:
            # The other side is memory of the device's.
            name = "%%b%d" % buffer
            dense = [1] * rank
            for i in range(rank - 1, 0, -1):
                dense[i - 1] = dense[i] * sizes[i]
            if dense[0] * sizes[0] > 16:
                raise NoDefect()
            lines, own = strided("%{n}y", name, 16, 0, sizes, dense)
            name, text = "%{n}y", text + lines
        else:
            text.append("%%{n}y = memref.alloc() : %s" % own)
        pair = ("%{n}w", name, type, own) if how == "to" else (name, "%{n}w", own, type)
        text.append("{t} = gpu.memcpy async {after} %s, %s : %s, %s" % pair)
    op = Op("strided", [], text)
    op.after = {n for n in range(at) if program.ops[n].kind != "wait"}
    for other in program.ops:
        other.after = {n + (n >= at) for n in other.after}
    program.ops.insert(at, op)
    return {("stridebounds", frozenset([(at, len(text) - 1)]))}


def programDefect(plant, seed):
    r = random.Random(seed)
    while True:
        program = Program(r)
        assert not program.races()
        try:
            wrong = plant(program, r)
            break
        except NoDefect:
            pass
    text, starts = program.text()
    return text, {(kind, frozenset(starts[n] + line for n, line in places)) for kind, places in wrong}, []


#-- Running -------------------------------------------------------------------

DEFECTS = {
    "barrier-dropped": (kernelDefect, dropBarrier), "index-beyond": (kernelDefect, indexBeyond),
    "write-forgotten": (kernelDefect, forgetWrite), "barrier-divergent": (kernelDefect, divergentBarrier),
    "token-dropped": (programDefect, dropToken), "use-after-free": (programDefect, useFreed),
    "host-touches-device": (programDefect, hostTouches), "kernel-touches-host": (programDefect, unregistered),
    "host-beyond": (programDefect, hostBeyond), "buffer-short": (programDefect, shortBuffer),
    "stride-beyond": (programDefect, strideBeyond),
}


def reports(text):
    """Of each report its message, the line of the error and those of the notes."""
    result = []
    for line in text.split("\n"):
        if match := re.match(r"\S*?(\w+\.mlir):(\d+):\d+: (error|note): (.*)", line):
            if match[3] == "error":
                result.append((match[4], int(match[2]), []))
            elif result:
                result[-1][2].append(int(match[2]))
    return result


def matches(report, bug):
    message, line, notes = report
    kind, lines = bug
    if not re.search(MESSAGES[kind], message):
        return False
    # Of a barrier the oracle does not say which.
    return not lines or line in lines and (len(lines) == 1 or lines <= {line} | set(notes))


def draw(name, seed):
    make, plant = DEFECTS[name]
    return (name, seed) + make(plant, seed)


def tryOne(options, name, seed, text, wrong, arguments):
    """A text that says what went wrong, or None."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "defect.mlir")
        with open(file, "w") as f:
            f.write(text)
        # The bug must be named in whatever order the operations run.
        for schedule in options.schedule or ["adversarial:%d" % (seed + i) for i in range(options.schedules)]:
            done = subprocess.run([options.gpu_runner, "--device=cpu", "--check", "--cache=off", "--timeout=100",
                                   random.Random(seed).choice(["-O0", "-O2"]), file] + arguments + ["--output="] * bool(arguments),
                                  env=dict(os.environ, GPU_ASYNC_CPU_SCHEDULE=schedule), capture_output=True, text=True, errors="replace")
            seen = reports(done.stderr)
            last = done.stderr.strip().split("\n")[-1]
            if not (done.returncode == 1 and "--check found" in last and any(matches(report, bug) for report in seen for bug in wrong)):
                break
        else:
            return None
    os.makedirs(options.keep, exist_ok=True)
    path = os.path.join(options.keep, "%s-%d.mlir" % (name, seed))
    with open(path, "w") as f:
        f.write(text)
    return "MISSED: --seed=%d --defects=1 --kind=%s --schedule=%s: %s\nexpected one of %s\nexit code %d\n%s" % (
        seed, name, schedule, path, sorted((kind, sorted(lines)) for kind, lines in wrong)[:8], done.returncode, done.stderr[-1500:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gpu_runner")
    parser.add_argument("--seed", type=int, default=1, help="of the first defect")
    parser.add_argument("--schedule", action="append", help="value of GPU_ASYNC_CPU_SCHEDULE; else some that follow from the seed")
    parser.add_argument("--schedules", type=int, default=3, help="how many of these each defect runs under")
    parser.add_argument("--defects", type=int, default=80)
    parser.add_argument("--kind", action="append", choices=sorted(DEFECTS))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", default="fuzz-failures", help="folder of what was missed")
    options = parser.parse_args()
    kinds, started = options.kind or list(DEFECTS), time.time()
    work = [(kinds[i % len(kinds)], options.seed + i) for i in range(options.defects)]
    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda drawn: tryOne(options, *drawn), [draw(*one) for one in work]))
    for text in results:
        if text:
            print(text)
    for kind in kinds:
        mine = [text is None for (name, _), text in zip(work, results) if name == kind]
        print("%-20s %4d of %4d reported" % (kind, sum(mine), len(mine)))
    missed = sum(text is not None for text in results)
    print("planted-defects: --seed=%d --defects=%d: %d missed, %.0f s" % (options.seed, options.defects, missed, time.time() - started))
    sys.exit(1 if missed else 0)


main()
