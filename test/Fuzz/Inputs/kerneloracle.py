# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs kernels in Python: a generator for each thread, which yields where threads meet.
# Of the threads that wait, those at the first place of the program go on together;
# at a barrier all threads of the block that have not ended must be. Races between
# threads, reads of what nobody wrote and accesses out of bounds raise Invalid.

import functools
import struct

import formats
from formats import FORMATS

M32, M64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF


class Invalid(Exception):
    """The kernel's fault, not the compiler's."""


class TooLong(Exception):
    pass


def signed(value, width):
    return value - (1 << width) if value >> (width - 1) else value


def f32(value):
    """As a number of single precision; no kernel leaves its range."""
    return struct.unpack("f", struct.pack("f", value))[0]


def bits(value):
    return struct.unpack("I", struct.pack("f", value))[0]


def divide(a, b):
    """Signed integers, towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def clamp(value):
    return min(max(value, -1e9), 1e9)


def smallFloat(name, compute, kind, *numbers):
    """Bits of f32 rounded to a smaller format, computed with there: what kind of number
    comes of it, or its bits, 0 for a NaN."""
    format = FORMATS[name]
    codes = [format.encode(FORMATS["f32"].decode(number)) for number in numbers]
    nan = format.sign if format.kind == "fnuz" else format.sign - 1
    values = [format.decode(nan if code is None else code) for code in codes]
    code = codes[0]
    if compute == "subf":
        code = format.encode(formats.add(values[0], -values[1]))
    elif compute != "same":
        code = format.encode({"addf": formats.add, "mulf": formats.multiply, "fma": formats.fma}[compute](*values))
    code = nan if code is None else code
    isNan, isInf = format.isNan(code), format.isInf(code)
    if kind:
        return int({"isnan": isNan, "isinf": isInf, "isnormal": format.isNormal(code), "isfinite": not isNan and not isInf}[kind])
    return 0 if isNan else code


class Private(dict):
    """A thread's own memory."""

    def load(self, thread, index):
        if index not in self:
            raise Invalid("reads private memory that nothing wrote")
        return self[index]

    def store(self, thread, index, value):
        self[index] = value


class Memory:
    """What threads share: of a cell its value, the last time it was touched and how."""

    def __init__(self, size=None, values=None):
        self.size, self.values, self.seen = size, values if values is not None else {}, {}

    def check(self, thread, index, how):
        if not 0 <= index < (self.size if self.size is not None else 1 << 20):
            raise Invalid("index %d is out of bounds" % index)
        block = thread.block
        now = (block.number, block.epoch)
        when, writers, readers = self.seen.get(index, (None, (), ()))
        if when != now:
            if when and when[0] != block.number and (writers or how != "read"):
                if not (how == "atomic" and writers == "atomic"):
                    raise Invalid("blocks race for cell %d" % index)
            writers, readers = "atomic" if writers == "atomic" and how == "atomic" else (), ()
        me = (thread.number,)
        if how == "read":
            if writers and writers != me:
                raise Invalid("a read races with a write of cell %d" % index)
            readers = me if not readers or readers == me else "many"
        elif how == "write":
            if (writers and writers != me) or (readers and readers != me):
                raise Invalid("a write races for cell %d" % index)
            writers = me
        else:
            if (writers and writers != "atomic") or readers:
                raise Invalid("an atomic races with a plain access of cell %d" % index)
            writers = "atomic"
        self.seen[index] = (now, writers, readers)

    def load(self, thread, index):
        self.check(thread, index, "read")
        if index not in self.values:
            raise Invalid("reads memory that nothing wrote")
        return self.values[index]

    def store(self, thread, index, value):
        self.check(thread, index, "write")
        self.values[index] = value

    def atomic(self, thread, index, update):
        self.check(thread, index, "atomic")
        if index not in self.values:
            raise Invalid("an atomic reads memory that nothing wrote")
        self.values[index] = update(self.values[index])


class View:
    """Cells of memory from `offset` on."""

    def __init__(self, memory, offset, size):
        self.memory, self.offset, self.size = memory, offset, size

    def at(self, index):
        if not 0 <= index < self.size:
            raise Invalid("index %d is outside of the view" % index)
        return self.offset + index

    def load(self, thread, index):
        return self.memory.load(thread, self.at(index))

    def store(self, thread, index, value):
        self.memory.store(thread, self.at(index), value)

    def atomic(self, thread, index, update):
        self.memory.atomic(thread, self.at(index), update)


class Input:
    """What kernels read only."""

    def __init__(self, values):
        self.values = values

    def load(self, thread, index):
        if not 0 <= index < len(self.values):
            raise Invalid("reads outside of the input")
        return self.values[index]


class Block:
    def __init__(self, number, place, dims, grid, subgroup):
        self.number, self.place, self.dims, self.grid, self.subgroup = number, place, dims, grid, subgroup
        self.size, self.epoch, self.arrays = dims[0] * dims[1] * dims[2], 0, {}

    def array(self, name):
        return self.arrays.setdefault(name, Memory())


class Thread:
    def __init__(self, block, linear, steps):
        self.block, self.linear, self.steps = block, linear, steps
        self.number = block.number * block.size + linear
        x, y, _ = block.dims
        self.ids = (linear % x, linear // x % y, linear // (x * y))

    def count(self):
        self.steps[0] -= 1
        if self.steps[0] < 0:
            raise TooLong()


# What threads ask for where they meet: kind, then the arguments of a function below,
# which gets the threads that came with what they brought and gives each its answer.


def shuffle(threads, mode, width):
    answers, brought = {}, {thread.linear: value for thread, value, _ in threads}
    for thread, value, offset in threads:
        if not 1 <= width <= thread.block.subgroup:
            raise Invalid("a shuffle of no or too many lanes")
        lane = thread.linear % thread.block.subgroup
        offset = signed(offset, 32)
        source = {"xor": lane ^ offset, "up": lane - offset, "down": lane + offset, "idx": offset}[mode]
        valid = lane < width and 0 <= source < width
        other = thread.linear - lane + source
        if valid and other < thread.block.size:
            if other not in brought:
                raise Invalid("a shuffle reads from a thread that did not come")
            value = brought[other]
        # Nobody says what lanes beyond the width get.
        answers[thread] = (value if lane < width else None, int(valid))
    return answers


def rotate(threads, offset, width):
    answers, brought = {}, {thread.linear: value for thread, value in threads}
    for thread, value in threads:
        lane = thread.linear % thread.block.subgroup
        other = thread.linear - lane + (lane + offset) % width
        if lane < width and other not in brought:
            raise Invalid("a rotation reads from a thread that did not come")
        answers[thread] = (brought[other] if lane < width else None, int(lane < width))
    return answers


def broadcast(threads, lane):
    answers, brought = {}, {thread.linear: value for thread, value in threads}
    for thread, value in threads:
        first = thread.linear - thread.linear % thread.block.subgroup
        source = first + lane if lane is not None else min(t for t in brought if first <= t < first + thread.block.subgroup)
        if source not in brought:
            raise Invalid("a broadcast reads from a thread that did not come")
        answers[thread] = brought[source]
    return answers


def reduce(threads, combine, size, stride):
    groups = {}
    for thread, value in threads:
        lane = thread.linear % thread.block.subgroup
        key = 0 if size is None else (thread.linear // thread.block.subgroup, lane // (size * stride), lane % stride)
        groups.setdefault(key, []).append((thread, value))
    answers = {}
    for members in groups.values():
        result = functools.reduce(combine, (value for _, value in members))
        answers.update((thread, result) for thread, _ in members)
    return answers


MEETINGS = {"shuffle": shuffle, "rotate": rotate, "broadcast": broadcast, "reduce": reduce}


def runBlock(block, start, steps, order):
    threads = [Thread(block, i, steps) for i in range(block.size)]
    running = {thread: start(thread) for thread in threads}
    waiting, answers = {}, {}
    while True:
        for thread in order(list(running)):
            if thread in waiting:
                continue
            try:
                waiting[thread] = running[thread].send(answers.pop(thread, None))
            except StopIteration:
                del running[thread]
        if not waiting:
            return
        place = min(request[0] for request in waiting.values())
        here = [thread for thread, request in waiting.items() if request[0] == place]
        here.sort(key=lambda thread: thread.linear)
        kind, arguments = waiting[here[0]][1], waiting[here[0]][2]
        if kind == "barrier":
            if len(here) != len(waiting):
                raise Invalid("some threads do not come to a barrier")
            block.epoch += 1
        else:
            answers.update(MEETINGS[kind]([(t, *waiting[t][3:]) for t in here], *arguments))
        for thread in here:
            del waiting[thread]


def run(kernel, values, order=list, steps=400000):
    """Runs all blocks of a kernel, which reads `values`; gives the cells that it
    leaves."""
    scope = dict(globals())
    exec(compile("\n".join(line for f in kernel.functions + [kernel] for line in f.python()), kernel.name, "exec"), scope)
    output = Memory(kernel.start + kernel.cells, dict.fromkeys(range(kernel.start, kernel.start + kernel.cells), 0))
    input, counter = Input(values), [steps]
    rows = {array: Memory(array.cells) for array in kernel.rowArrays}
    extras = [rows[what[0]] if isinstance(what, tuple) else what & M64 for _, what in kernel.extras]
    gx, gy, gz = kernel.grid
    for number in range(gx * gy * gz):
        block = Block(number, (number % gx, number // gx % gy, number // (gx * gy)), kernel.dims, kernel.grid,
                      kernel.subgroup)
        runBlock(block, lambda thread: scope[kernel.name](thread, (), input, output, kernel.start, *kernel.scalars, *extras),
                 counter, order)
    return [output.values[i] for i in range(kernel.start, kernel.start + kernel.cells)]
