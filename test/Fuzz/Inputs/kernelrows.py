# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Rows of a few elements, one for each thread, which it stores and loads by several
# names: arguments and views of one memory, with strides of all kinds, at places that
# are constants, that all threads compute or each for itself. See docs/reference/Testing.md.

from kernelast import Op, Value

# What an element keeps of a number of 32 bits: floats keep what all of them can hold.
ELEMENTS = {"i8": 0xFF, "i16": 0xFFFF, "i32": 0xFFFFFFFF, "i64": 0xFFFFFFFF, "index": 0xFFFFFFFF, "f16": 127, "bf16": 127,
            "f32": 127, "f64": 127, "complex<f32>": 127, "complex<f64>": 127}
HUGE = [1 << 62, (1 << 62) + 1, -(1 << 62), (1 << 63) - 1, 1 << 61, 3 << 60]


def pack(element, number, result):
    """Lines that make an element of the i32 `number`; {n} is a name of their own."""
    if element == "i32":
        return [], number
    if element in ("i8", "i16"):
        return ["%s = arith.trunci %s : i32 to %s" % (result, number, element)], result
    if element == "i64":
        return ["%s = arith.extui %s : i32 to i64" % (result, number)], result
    if element == "index":
        return ["%s = arith.index_castui %s : i32 to index" % (result, number)], result
    float = element[8:-1] if element.startswith("complex") else element
    lines = ["%%m{n} = arith.constant 127 : i32", "%%r{n} = arith.andi %s, %%m{n} : i32" % number,
             "%%f{n} = arith.sitofp %%r{n} : i32 to %s" % float]
    if float == element:
        return [line.replace("%%", "%") for line in lines], "%f{n}"
    lines += ["%%s{n} = arith.xori %%r{n}, %%m{n} : i32", "%%g{n} = arith.sitofp %%s{n} : i32 to %s" % float,
              "%s = complex.create %%f{n}, %%g{n} : %s" % (result, element)]
    return [line.replace("%%", "%") for line in lines], result


def unpack(element, value, result):
    """Lines that make the i32 `result` of an element."""
    if element in ("i8", "i16"):
        return ["%s = arith.extui %s : %s to i32" % (result, value, element)]
    if element == "i64":
        return ["%s = arith.trunci %s : i64 to i32" % (result, value)]
    if element == "index":
        return ["%s = arith.index_castui %s : index to i32" % (result, value)]
    if not element.startswith("complex"):
        return ["%s = arith.fptosi %s : %s to i32" % (result, value, element)]
    float = element[8:-1]
    return ["%%f{n} = complex.re %s : %s" % (value, element), "%%g{n} = complex.im %s : %s" % (value, element),
            "%%r{n} = arith.fptosi %%f{n} : %s to i32" % float, "%%s{n} = arith.fptosi %%g{n} : %s to i32" % float,
            "%k{n} = arith.constant 7 : i32", "%t{n} = arith.shli %s{n}, %k{n} : i32",
            "%s = arith.ori %%r{n}, %%t{n} : i32" % result]


def unpacked(element, cell):
    """What comes of a cell, in Python."""
    return "%s | (%s ^ 127) << 7" % (cell, cell) if element.startswith("complex") else cell


class View:
    """One way to see the rows: offset, sizes and strides of a view of the buffer, and how
    many indices come before the thread's and its element's."""

    def __init__(self, kind, offset, sizes, strides):
        self.kind, self.offset, self.sizes, self.strides = kind, offset, sizes, strides
        self.isOdd = kind not in ("flat", "rows")


class RowArray:
    def __init__(self, number, element, length, total):
        self.number, self.element, self.length, self.total = number, element, length, total
        self.cells = length * total
        self.type = "memref<%dx%s>" % (self.cells, element)
        self.names = []  # pairs of a value and its View

    def views(self, random, odd):
        n, all = self.length, self.total
        views = [View("flat", 0, [n * all], [1]), View("flat", 0, [n * all], [1]), View("rows", 0, [all, n], [n, 1])]
        if odd:
            huge = random.choice(HUGE)
            views += [View("last", n * all - 1, [n * all], [-1]), View("upwards", (all - 1) * n, [all, n], [-n, 1]),
                      View("mirrored", n - 1, [all, n], [n, -1]), View("turned", n * all - 1, [all, n], [-n, -1]),
                      View("overlapping", 0, [n * (all - 1) + 1, n], [1, 1]), View("planes", 0, [3, all, n], [0, n, 1]),
                      View("planes", 0, [1, all, n], [huge, n, 1])]
        return views


def memrefType(view, element, known):
    """`known`: which of offset, sizes and strides the type says."""
    def text(numbers, first):
        return [str(v) if known[first + i] else "?" for i, v in enumerate(numbers)]

    rank = len(view.sizes)
    offset, sizes, strides = text([view.offset], 0)[0], text(view.sizes, 1), text(view.strides, 1 + rank)
    end = ", offset: %s" % offset if offset != "0" else ""
    return "memref<%sx%s, strided<[%s]%s>>" % ("x".join(sizes), element, ", ".join(strides), end)


class RowDrawer:
    """What Drawer knows of rows."""

    def drawRows(self):
        kernel = self.kernel
        kernel.rowArrays, self.rowWays = [], []
        for number in range(self.random.choice([1, 1, 2])):
            array = RowArray(number, self.random.choice(sorted(ELEMENTS)), self.random.randrange(2, 6), kernel.total)
            kernel.rowArrays.append(array)
            for _ in range(self.random.randrange(2, 5)):
                view = self.random.choice(array.views(self.random, self.has("views")))
                known = [self.chance(0.5)] * 8 if self.chance(0.5) else [self.chance(0.5) for _ in range(8)]
                array.names.append((self.name(array, view, known), view))
            # Each element is written before anything reads it.
            for k in range(array.length):
                self.rowPut(array, self.constant("index", k), self.value("i32"))

    def argument(self, value, what):
        """One more of the kernel; `what` is a number, or an array with lines of the host."""
        self.kernel.body.arguments.append(value)
        self.kernel.extras.append((value, what))
        return value

    def name(self, array, view, known):
        """A view of the array: as an argument, or made of one in the kernel."""
        numbers = [view.offset] + view.sizes + view.strides
        type = memrefType(view, array.element, known)
        rank, name = len(view.sizes), Value("").name

        def text(sourceType, operands):
            # Numbers that are not known come from outside.
            shown = [str(v) if known[i] else operands[i] for i, v in enumerate(numbers)]
            return "memref.reinterpret_cast {0} to offset: [%s], sizes: [%s], strides: [%s] : %s to %s" % (
                shown[0], ", ".join(shown[1:1 + rank]), ", ".join(shown[1 + rank:]), sourceType, type)

        mayBeArgument = not array.names or self.has("aliases") or not self.isParallel
        # Functions of the host take no arguments that lie before their address.
        if self.chance(0.5) and mayBeArgument and not (self.isParallel and view.isOdd):
            lines = ["%%n%s_%d = arith.constant %d : index" % (name, i, v) for i, v in enumerate(numbers) if not known[i]]
            lines.append("{r} = " + text(array.type, ["%%n%s_%d" % (name, i) for i in range(len(numbers))]))
            return self.argument(Value(type, True), (array, "\n".join(lines)))
        if not array.names or (mayBeArgument and self.chance(0.5)):
            source = self.argument(Value(array.type, True), (array, None))
        else:
            source = self.random.choice([v for v, _ in array.names])
        operands = [self.argument(Value("index", True), v) for i, v in enumerate(numbers) if not known[i]]
        places = iter("{%d}" % (1 + i) for i in range(len(operands)))
        shown = [None if known[i] else next(places) for i in range(len(numbers))]
        return self.op(type, [source] + operands, text(source.type, shown), "{0}", uniform=True)

    def indices(self, view, k, array):
        """Of element `k`, an index, of the thread's row; and its place in the buffer."""
        index = lambda number: self.constant("index", number)
        n, all, t = array.length, array.total, self.number
        first = self.binary("muli", t, index(n))
        place = self.binary("addi", first, k)
        back = lambda value, last: self.binary("subi", index(last), value)
        if view.kind == "flat":
            return [place], place
        if view.kind == "last":
            return [back(place, n * all - 1)], place
        if view.kind == "overlapping":
            return [first, k], place
        if view.kind == "planes":
            return [self.below(view.sizes[0], uniform=self.chance(0.5)), t, k], place
        return [back(t, all - 1) if view.kind in ("upwards", "turned") else t,
                back(k, n - 1) if view.kind in ("mirrored", "turned") else k], place

    def rowPut(self, array, k, value):
        memory, view = self.random.choice(array.names)
        indices, place = self.indices(view, k, array)
        name, last = Value("").name, 1 + len(indices)
        lines, packed = pack(array.element, "{%d}" % (last + 1), "%%e%s" % name)
        shown = ", ".join("{%d}" % (1 + i) for i in range(len(indices)))
        lines = [line.replace("{n}", name) for line in lines]
        lines.append("memref.store %s, {0}[%s] : %s" % (packed.replace("{n}", name), shown, memory.type))
        self.do([memory] + indices + [place, value], "\n".join(lines),
                "{0}.store(thread, {%d}, {%d} & %d)" % (last, last + 1, ELEMENTS[array.element]))

    def rowGet(self, array, k):
        memory, view = self.random.choice(array.names)
        indices, place = self.indices(view, k, array)
        name, last = Value("").name, 1 + len(indices)
        shown = ", ".join("{%d}" % (1 + i) for i in range(len(indices)))
        loaded = "{r}" if array.element == "i32" else "%%e%s" % name
        lines = ["%s = memref.load {0}[%s] : %s" % (loaded, shown, memory.type)]
        if array.element != "i32":
            lines += [line.replace("{n}", name) for line in unpack(array.element, loaded, "{r}")]
        python = "{r} = {0}.load(thread, {%d})" % last
        if array.element.startswith("complex"):
            python += "\n{r} = " + unpacked(array.element, "{r}")
        return self.add(Op([Value("i32")], [memory] + indices + [place], "\n".join(lines), python)).results[0]

    def rows(self):
        """Some accesses to the thread's rows."""
        if not self.function.isKernel or not self.kernel.rowArrays:
            return
        for _ in range(self.random.randrange(1, 6)):
            array = self.random.choice(self.kernel.rowArrays)
            kind = self.random.random()
            k = self.constant("index", self.random.randrange(array.length))
            if kind > 0.5:
                k = self.below(array.length, uniform=kind < 0.8)
            if self.chance(0.5):
                self.rowPut(array, k, self.value("i32"))
            else:
                loaded = self.rowGet(array, k)
                if self.chance(0.5):
                    self.binary(self.random.choice(["addi", "xori", "muli"]), loaded, self.value("i32"))

    def leaveRows(self):
        """What the rows are at the end."""
        kernel = self.kernel
        for array in kernel.rowArrays:
            start, kernel.cells = kernel.cells, kernel.cells + array.cells
            for k in range(array.length):
                first = self.binary("muli", self.number, self.constant("index", array.length))
                place = self.binary("addi", self.binary("addi", first, self.base), self.constant("index", start + k))
                self.do([kernel.output, place, self.rowGet(array, self.constant("index", k))],
                        "memref.store {2}, {0}[{1}] : memref<?xi32>", "{0}.store(thread, {1}, {2})")
