# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Random programs of device and host work: made (Maker), computed in Python (run)
# and written as MLIR (Writer), with tokens or without. See docs/reference/Testing.md.
#
# A program is a tree of statements over buffers of 16 numbers, from which both its
# result and its text follow, so that any statement can be dropped. The Writer
# keeps, for each cell of each buffer, the tokens of what may still touch it; every
# op takes those that its data needs and some more. So programs with tokens are
# free of races by construction, and say no order that they do not need.

import random

CELLS = 16  # per buffer
WORD = 0xFFFFFFFF

# What a program may contain. `straight` is always there.
FEATURES = {
    "local": "control flow whose tokens stay inside",
    "capture-if": "tokens used in branches of scf.if, scf.index_switch, scf.execute_region",
    "yield-if": "tokens that those give",
    "capture-loop": "tokens used in loops that are made outside",
    "carry": "tokens carried by scf.for and scf.while",
    "select": "arith.select of tokens",
    "cf": "the same by cf.br, cf.cond_br, cf.switch",
    "call": "private functions, recursion too",
    "call-token": "private functions that take or give tokens",
    "alias": "the same buffer for two arguments (without tokens only)",
    "views": "views under names of their own, made in loops: casts, selected and swapped ones",
    "strides": "views with negative, zero and huge strides, of huge views and of overlapping rows",
    "address": "kernels that take addresses as integers",
    "sync": "synchronous ops among those with tokens (gpu dialect only)",
}


class Buffer:
    """kind: device, shared, host, alloca; of an argument: device. raw: of how many
    bytes the allocation is that it is a view of; 0: it is an allocation; isDynamic:
    the text need not know how many. isOwn: only
    views and device work get it, so that its memory can be planned."""

    size, isAddress, isOwn, isDynamic = CELLS, False, False, False

    def __init__(self, name, kind, raw=0):
        self.name, self.kind, self.raw = name, kind, raw

    def onHost(self):
        return self.kind in ("host", "alloca", "shared")

    def onDevice(self):
        return self.kind in ("device", "shared") and not self.isAddress

    def cells(self, i):
        """The cells that its i-th one may be."""
        return {(self, i)}


class Naming:
    """One or two names for views of 8 cells, made where a body begins, or for the
    addresses of such views. bases: (buffer, offset); of two, the first is the first
    name's wherever `bit` is 1. A view of one moves by 4 cells in every second
    iteration if `moves`."""

    def __init__(self, form, kind, names, bases, moves=False, bit=None, address=None):
        self.form, self.bases, self.moves, self.bit, self.address = form, bases, moves, bit, address
        self.aliases = [Alias(name, kind, self) for name in names]

    def bindings(self, iv):
        """(buffer, offset) of each name."""
        if len(self.bases) == 1:
            buffer, offset = self.bases[0]
            return [(buffer, offset + (4 * (iv % 2) if self.moves else 0))]
        bit = self.bit & 1 if self.bit is not None else 1 - iv % 2
        return (self.bases if bit else self.bases[::-1])[:len(self.aliases)]


class Alias(Buffer):
    """A name that a Naming makes."""

    size = 8

    def __init__(self, name, kind, naming):
        super().__init__(name, kind)
        self.naming, self.isAddress = naming, naming.address is not None

    def cells(self, i):
        number = self.naming.aliases.index(self)
        places = [self.naming.bindings(iv)[number] for iv in (0, 1)]
        return set().union(*[buffer.cells(offset + i) for buffer, offset in places])


class View:
    """size cells of a buffer; `form` says how the text gets at them. In a loop the
    view moves by 4 cells in every second iteration if `moves`. `isOdd`: made by
    reinterpret_cast, with any stride or of a view that is not what the buffer is."""

    isOdd = False

    def __init__(self, buffer, offset, size, stride, form, moves):
        self.buffer, self.offset, self.size, self.stride = buffer, offset, size, stride
        self.form, self.moves = form, moves

    def at(self, iv):
        start = self.offset + (4 * (iv % 2) if self.moves else 0)
        return [start + i * self.stride for i in range(self.size)]

    def cells(self):
        return set().union(*[self.buffer.cells(i) for iv in (0, 1) for i in self.at(iv)])

    def isWhole(self):
        return self.size == CELLS


class Scalar:
    """A number from 0 to 3: constant (known to the compiler or not), the innermost
    loop's counter, or a cell of host memory."""

    def __init__(self, kind, value=0, buffer=None):
        self.kind, self.value, self.buffer = kind, value, buffer


class Body:
    """locals: buffers that the body allocates and frees, with the value of all cells
    or the buffer that they are copied from. carried: a Naming whose two views the loop
    hands on, exchanged in each iteration."""

    def __init__(self, locals, statements, namings=(), carried=None):
        self.locals, self.statements = locals, statements
        self.namings, self.carried = list(namings), carried

    def allNamings(self):
        return self.namings + [self.carried] * bool(self.carried)


class Statement:
    """op: launch memset copy host wait | scratch if switch exec for while | call.
    scratch: a body without a region, so that buffers come and go in one block."""

    def __init__(self, op, seed, bodies=(), **fields):
        self.op, self.seed, self.bodies = op, seed, list(bodies)
        self.__dict__.update(fields)


class Function:
    def __init__(self, name, seed, formals):
        self.name, self.seed, self.formals, self.body = name, seed, formals, None
        self.recursive = self.takes = self.gives = False
        # Names for the formals' addresses, which are arguments, too.
        self.addresses = []


class Program:
    def __init__(self, number, seed):
        self.number, self.seed = number, seed
        self.functions, self.buffers, self.body = [], [], None


# -- making ---------------------------------------------------------------------

# name: (views that it reads, how the cells of the first one change)
KERNELS = {
    "update": 2,  # y[i] = 3 y[i] + 5 x[i] + c, `times` over
    "slow": 2,  # the same by a loop that is not known to end
    "wide": 2,  # the same, one thread per cell
    "move": 2,  # y[i] = x[i] + c
    "mix": 3,  # y[i] = x[i] - 7 z[i] + c
    # update, by addresses that are integers: turned into pointers at once, in a
    # function, out of memory, out of a vector, given as `index`.
    "at": 2,
    "at_call": 2,
    "at_memory": 2,
    "at_vector": 2,
    "at_index": 2,
}
BY_ADDRESS = [name for name in KERNELS if name.startswith("at")]


# Bytes of allocations of bytes.
RAW = [64, 256, 300, 1000]


class Maker:
    def __init__(self, seed, number, features, size):
        self.rng, self.features, self.names = random.Random(seed), features, 0
        self.program = Program(number, seed)
        self.left = self.rng.randint(size // 3, size)
        self.make()

    def seed(self):
        return self.rng.randrange(1 << 30)

    def buffer(self, kind):
        self.names += 1
        raw = self.rng.choice(RAW) * ("views" in self.features and kind != "alloca" and self.rng.random() < 0.3)
        buffer = Buffer("%%b%d" % self.names, kind, raw)
        buffer.isDynamic = raw > 0 and self.rng.random() < 0.5
        return buffer

    def formal(self):
        self.names += 1
        return Buffer("%%b%d" % self.names, "device")

    def namings(self, buffers, loop):
        """Names for a body's begin."""
        result = []
        while self.rng.random() < (0.45 if loop else 0.15) and len(result) < 3:
            known = buffers + [a for n in result for a in n.aliases]
            naming = self.naming(known, loop, ["reinterpret", "reinterpret", "metadata", "expand", "view", "subview",
                                               "select", "select", "branch", "distinct", "distinct"])
            result += [naming] * bool(naming)
        return result

    def carried(self, buffers):
        return self.naming(buffers, True, ["carried"]) if self.rng.random() < 0.3 else None

    def naming(self, buffers, loop, forms):
        rng, address = self.rng, None
        if "address" in self.features and (rng.random() < 0.4 or "views" not in self.features):
            address = rng.choice(["direct", "loaded", "called"])
        elif "views" not in self.features:
            return None
        known = [b for b in buffers if b.onDevice() and not (b.isOwn and (address or forms == ["carried"]))]
        if not address and rng.random() < 0.25:
            known = [b for b in buffers if b.onHost() and not b.isAddress]
        form = rng.choice(forms)
        roots = [b for b in known if b.size == CELLS]
        known = roots if form in ("reinterpret", "expand", "subview", "distinct") else known
        known = [b for b in roots if b.raw] if form == "view" else known
        known = [b for b in known if not b.isOwn] if form == "branch" else known
        if not known:
            return None
        first, second = rng.choice(known), rng.choice(known)
        names = 2 if form in ("distinct", "carried") else 1
        bases, moves, bit = [(first, rng.choice([0, 4, 8]) if first.size == CELLS else 0)], False, None
        if form in ("select", "branch", "distinct", "carried"):
            bases.append((second, rng.choice([0, 4, 8]) if second.size == CELLS else 0))
            if form == "distinct" and (first is second or self.current):
                bases = [(first, 0), (first, 8)]
            # In a loop mostly by its counter.
            if form != "carried" and (not loop or rng.random() < 0.2):
                bit = rng.randrange(4)
        elif first.size == CELLS:
            moves = loop and bases[0][1] < 8 and rng.random() < 0.8
        kind = "device" if all(b.kind == "device" for b, _ in bases) else "shared"
        if not all(b.onDevice() for b, _ in bases):
            if not all(b.onHost() for b, _ in bases):
                return None
            kind = "host"
        elif kind == "shared" and not all(b.onHost() for b, _ in bases):
            kind = "device"
        self.names += names
        return Naming(form, kind, ["%%n%d" % (self.names - i) for i in range(names)], bases, moves, bit, address)

    def make(self):
        rng, program = self.rng, self.program
        program.buffers = [self.buffer(rng.choice(["device"] * 6 + ["shared"])) for _ in range(rng.randint(1, 5))]
        program.buffers += [self.buffer(rng.choice(["host"] * 3 + ["alloca"])) for _ in range(rng.randint(1, 3))]
        if "call" in self.features:
            for _ in range(rng.choice([0, 1, 1, 2])):
                self.function()
        namings = self.namings(program.buffers, False)
        inside = program.buffers + [a for n in namings for a in n.aliases]
        program.body = Body([(b, rng.randrange(1000)) for b in program.buffers],
                            self.statements(inside, 0, False, self.left), namings)

    def function(self):
        rng, program = self.rng, self.program
        function = Function("f%d_%d" % (program.number, len(program.functions)), self.seed(),
                            [self.formal() for _ in range(rng.randint(1, 3))])
        if "address" in self.features and rng.random() < 0.5:
            for i, formal in enumerate(function.formals):
                naming = Naming("argument", "device", ["%%a%d" % i], [(formal, 0)], address="argument")
                naming.aliases[0].size = CELLS
                function.addresses += naming.aliases
        function.recursive = rng.random() < 0.3
        if "call-token" in self.features:
            function.takes, function.gives = rng.choice([(False, False), (True, True), (True, True), (True, False), (False, True)])
        self.current = function
        statements = self.statements(function.formals + function.addresses, 1, False, rng.randint(1, 6))
        if function.recursive:
            statements.insert(rng.randint(0, len(statements)),
                              Statement("recurse", self.seed(), function=function))
        self.current = None
        function.body = Body(self.locals(0.2), statements)
        program.functions.append(function)

    current = None

    def locals(self, chance, device=()):
        if self.rng.random() > chance:
            return []
        sources = [b for b in device if b.size == CELLS]
        return [(self.buffer("device"), self.rng.choice(sources) if sources and self.rng.random() < 0.7 else self.rng.randrange(1000))
                for _ in range(self.rng.randint(1, 2))]

    def statements(self, buffers, depth, loop, count):
        result = []
        while count > 0:
            count -= 1
            statement = self.statement(buffers, depth, loop, count)
            if statement:
                result.append(statement)
                count -= 2 * len(statement.bodies)
        return result

    def pick(self, buffers):
        """Names are there to be used."""
        aliases = [b for b in buffers if isinstance(b, Alias)]
        return self.rng.choice(aliases if aliases and self.rng.random() < 0.5 else buffers)

    def oddView(self, buffer, loop, mayRepeat):
        """`mayRepeat`: the view may be one cell four times."""
        rng = self.rng
        form = rng.choice(["reversed", "reversed", "huge", "plane", "rows"] + ["repeated"] * mayRepeat)
        stride = {"reversed": -rng.choice([1, 2, 3]), "repeated": 0, "rows": 1}.get(form, rng.choice([1, 2, 3]))
        moves = loop and rng.random() < 0.3
        least, most = max(0, -3 * stride), CELLS - 1 - max(0, 3 * stride) - 4 * moves
        if least > most:
            moves, most = False, CELLS - 1 - max(0, 3 * stride)
        view = View(buffer, rng.randint(least, most), 4, stride, form, moves)
        view.isOdd = True
        return view

    def view(self, buffers, loop, whole=0.1, byAddress=False, mayRepeat=False):
        rng = self.rng
        buffer = self.pick(buffers)
        if "strides" in self.features and not byAddress and whole < 1 and type(buffer) is Buffer and rng.random() < 0.25:
            return self.oddView(buffer, loop, mayRepeat)
        if rng.random() < whole and buffer.size == CELLS:
            return View(buffer, 0, CELLS, 1, "static", False)
        form = rng.choice(["static", "static", "dynamic", "nested"])
        moves = loop and rng.random() < 0.2
        small = buffer.size < CELLS
        stride = 1 if byAddress else rng.choice([1, 1, 1, 2] + [3] * (not small))
        moves &= not small or stride == 1
        limit = buffer.size - 3 * stride - (5 if moves else 1)
        offset = rng.choice([0, 4] if small else [0, 4, 8, 12, rng.randrange(CELLS)])
        return View(buffer, min(offset, limit), 4, stride, form, moves)

    def scalar(self, buffers, loop):
        rng = self.rng
        host = [b for b in buffers if b.onHost() and b.size == CELLS]
        kind = rng.choice(["known", "opaque", "opaque"] + ["iv"] * loop + ["data"] * bool(host))
        return Scalar(kind, rng.randrange(CELLS) if kind == "data" else rng.randrange(4), rng.choice(host) if host else None)

    def statement(self, buffers, depth, loop, count):
        rng, what = self.rng, self.rng.random()
        device = [b for b in buffers if b.onDevice()]
        host = [b for b in buffers if b.onHost() and not b.isAddress]
        scratch = depth < 3 and count > 1 and "local" in self.features and rng.random() < 0.2
        if scratch:
            what = 1
        if what < 0.55:
            kernel = rng.choice(["update"] * 3 + ["slow"] * 2 + ["wide", "move", "move", "mix"])
            if "address" in self.features and rng.random() < 0.25:
                kernel = rng.choice(BY_ADDRESS)
            reachable = device
            if kernel in BY_ADDRESS:
                reachable = [b for b in device if not b.isOwn] + [b for b in buffers if b.isAddress]
                if not reachable:
                    return None
            views = [self.view(reachable, loop, 0, kernel in BY_ADDRESS, mayRepeat=i > 0 or kernel != "wide")
                     for i in range(KERNELS[kernel])]
            if kernel == "wide":
                # Its threads run in any order: the same cells or none in common. Two
                # arguments of a function may be one buffer.
                if rng.random() < 0.3 or self.current:
                    views[1] = views[0]
                elif views[0].cells() & views[1].cells():
                    return None
            return Statement("launch", self.seed(), kernel=kernel, views=views, c=rng.randint(-100, 100),
                             times=rng.choice([1, 1, 2, 50, 20000 if depth == 0 else 500]))
        if what < 0.62:
            return Statement("memset", self.seed(), view=self.view(device, loop, mayRepeat=True), value=rng.randint(-9, 99))
        if what < 0.74:
            whole = 1 if rng.random() < 0.3 else 0
            known = [b for b in buffers if not b.isAddress and (not whole or b.size == CELLS)]
            y, x = self.view(known, loop, whole), self.view(known, loop, whole, mayRepeat=True)
            if not (y.buffer.onDevice() or x.buffer.onDevice()):
                return None
            to, source = [{b for b, _ in v.cells()} for v in (y, x)]
            formals = set(self.current.formals) if self.current else set()
            if to & source or to & formals and source & formals:
                return None # the same one, maybe
            return Statement("copy", self.seed(), y=y, x=x)
        if what < 0.79:
            if not host:
                return None
            y, x = self.pick(host), self.pick(host)
            return Statement("host", self.seed(), y=(y, rng.randrange(y.size)), x=(x, rng.randrange(x.size)),
                             c=rng.randint(-100, 100))
        if what < 0.82:
            return Statement("wait", self.seed())
        if what < 0.88 and self.program.functions:
            function = rng.choice(self.program.functions)
            device = [b for b in device if b.size == CELLS and not b.isOwn]
            if not device:
                return None
            if "alias" in self.features and rng.random() < 0.4:
                actuals = [rng.choice(device) for _ in function.formals]
            elif len(device) >= len(function.formals):
                actuals = rng.sample(device, len(function.formals))
            else:
                return None
            return Statement("call", self.seed(), function=function, actuals=actuals, depth=rng.randint(0, 3))
        if depth >= 3 or count < 2 or "local" not in self.features:
            return None
        op = "scratch" if scratch else rng.choice(["if", "if", "for", "for", "while", "switch", "exec"])
        number = {"if": 2, "switch": rng.randint(2, 4), "while": 2}.get(op, 1)
        bodies = []
        for i in range(number):
            inLoop = loop or op in ("for", "while")
            local = self.locals(0.25 if op != "scratch" else 1, device)
            for buffer, _ in local:
                buffer.isOwn = op == "scratch" and rng.random() < 0.8
            carried = self.carried(buffers) if op in ("for", "while") and i == number - 1 else None
            inside = buffers + [b for b, _ in local] + (carried.aliases if carried else [])
            namings = self.namings(inside, inLoop)
            inside = inside + [a for n in namings for a in n.aliases]
            length = rng.choice([0, 1, 1, 2, 4]) if number > 1 else rng.choice([1, 2, 4, 6])
            bodies.append(Body(local, self.statements(inside, depth + 1, inLoop, length), namings, carried))
        return Statement(op, self.seed(), bodies, scalar=self.scalar(buffers, loop))


# -- the oracle -----------------------------------------------------------------


class TooLong(Exception):
    pass


class Cells:
    """Some cells of a buffer."""

    def __init__(self, memory, offset):
        self.memory, self.offset = memory, offset

    def __getitem__(self, i):
        return self.memory[self.offset + i]

    def __setitem__(self, i, value):
        self.memory[self.offset + i] = value


def run(program, limit=4000):
    """What the program's buffers hold at its end. Knows nothing of tokens."""
    memory, budget = {}, [limit]

    def scalar(s, iv):
        if s.kind == "data":
            return memory[s.buffer][s.value] & 3
        return iv & 3 if s.kind == "iv" else s.value

    def body(b, iv, function, depth):
        for buffer, value in b.locals:
            memory[buffer] = [memory[value][i] if isinstance(value, Buffer) else value for i in range(CELLS)]
        for naming in [b.carried] * bool(b.carried) + b.namings:
            for alias, (buffer, offset) in zip(naming.aliases, naming.bindings(iv)):
                memory[alias] = Cells(memory[buffer], offset)
        for s in b.statements:
            one(s, iv, function, depth)

    def one(s, iv, function, depth):
        budget[0] -= 1
        if budget[0] < 0:
            raise TooLong
        if s.op == "launch":
            y, *others = [(memory[v.buffer], v.at(iv)) for v in s.views]
            power = pow(3, s.times, 1 << 33)
            before = [[m[c] for c in at] for m, at in others]
            for i in range(4):
                x = [m[at[i]] for m, at in others] if s.kernel != "wide" else [values[i] for values in before]
                if s.kernel == "move":
                    v = x[0] + s.c
                elif s.kernel == "mix":
                    v = x[0] - 7 * x[1] + s.c
                else:
                    v = power * y[0][y[1][i]] + (power - 1) // 2 * (5 * x[0] + s.c)
                y[0][y[1][i]] = v & WORD
        elif s.op == "memset":
            for c in s.view.at(iv):
                memory[s.view.buffer][c] = s.value & WORD
        elif s.op == "copy":
            for to, source in zip(s.y.at(iv), s.x.at(iv)):
                memory[s.y.buffer][to] = memory[s.x.buffer][source]
        elif s.op == "host":
            memory[s.y[0]][s.y[1]] = (memory[s.x[0]][s.x[1]] * 3 + s.c) & WORD
        elif s.op == "if":
            body(s.bodies[0 if scalar(s.scalar, iv) & 1 else 1], iv, function, depth)
        elif s.op == "switch":
            body(s.bodies[min(scalar(s.scalar, iv), len(s.bodies) - 1)], iv, function, depth)
        elif s.op in ("exec", "scratch"):
            body(s.bodies[0], iv, function, depth)
        elif s.op == "for":
            for i in range(scalar(s.scalar, iv)):
                body(s.bodies[0], i, function, depth)
        elif s.op == "while":
            trips = scalar(s.scalar, iv)
            for i in range(trips + 1):
                body(s.bodies[0], i, function, depth)
                if i < trips:
                    body(s.bodies[1], i, function, depth)
        elif s.op == "call":
            call(s.function, [memory[a] for a in s.actuals], s.depth)
        elif s.op == "recurse" and depth > 0:
            call(function, [memory[f] for f in function.formals], depth - 1)

    def call(function, actuals, depth):
        kept = dict(memory)
        memory.update(zip(function.formals, actuals))
        memory.update(zip(function.addresses, actuals))
        body(function.body, 0, function, depth)
        memory.clear()
        memory.update(kept)

    body(program.body, 0, None, 0)
    return [memory[b] for b in program.buffers]


# -- what statements touch ------------------------------------------------------


def touched(statements, seen=()):
    """(read, written) cells, over all paths; of calls: whole buffers."""
    reads, writes = {}, {}

    def visit(s):
        if s.op == "launch":
            take(writes, s.views[0].cells())
            for v in s.views[(1 if s.kernel in ("move", "mix") else 0):]:
                take(reads, v.cells())
        elif s.op == "memset":
            take(writes, s.view.cells())
        elif s.op == "copy":
            take(writes, s.y.cells())
            take(reads, s.x.cells())
        elif s.op == "host":
            take(writes, s.y[0].cells(s.y[1]))
            take(reads, s.x[0].cells(s.x[1]))
        elif s.op == "call":
            for b in s.actuals:
                take(writes, [(b, i) for i in range(CELLS)])
        elif s.op == "recurse":
            for b in s.function.formals:
                take(writes, [(b, i) for i in range(CELLS)])
        if "scalar" in s.__dict__ and s.scalar.kind == "data":
            take(reads, [(s.scalar.buffer, s.scalar.value)])
        for b in s.bodies:
            for _, value in b.locals:
                if isinstance(value, Buffer):
                    take(reads, [(value, i) for i in range(CELLS)])
            for t in b.statements:
                visit(t)

    def take(into, cells):
        into.update(dict.fromkeys(sorted(cells, key=lambda c: (c[0].name, c[1]))))

    for s in statements:
        visit(s)
    return list(reads), list(writes)


# -- writing --------------------------------------------------------------------


class State:
    """Per cell the tokens of its last writes, of the reads since, and of uploads
    since, which have read host memory when they return."""

    def __init__(self, other=None):
        self.writes = dict(other.writes) if other else {}
        self.reads = dict(other.reads) if other else {}
        self.uploads = dict(other.uploads) if other else {}
        # Cells whose writes may be newer than the reads that are kept.
        self.mixed = set(other.mixed) if other else set()
        self.inScope = list(other.inScope) if other else []

    def maps(self):
        return (self.writes, self.reads, self.uploads)

    def all(self, cells):
        return unique(t for c in cells for m in self.maps() for t in m.get(c, ()))

    def set(self, cells, tokens):
        for c in cells:
            self.writes[c], self.reads[c], self.uploads[c] = tuple(tokens), (), ()
            self.mixed.discard(c)

    def addWrite(self, cells, token):
        """A write that may or may not have been, besides those before."""
        for c in cells:
            self.writes[c] = self.writes.get(c, ()) + (token,)
            self.mixed.add(c)

    def drop(self, tokens):
        gone = set(tokens)
        for m in self.maps():
            for c, held in m.items():
                if gone & set(held):
                    m[c] = tuple(t for t in held if t not in gone)


def unique(items):
    return list(dict.fromkeys(items))


VIEW = "memref<4xi32, strided<[?], offset: ?>>"
WHOLE = "memref<16xi32>"
NAMED = "memref<8xi32, strided<[1], offset: ?>>"
BYTES = "memref<%sxi8>"


class Writer:
    """mode: tokens (gpu_async with tokens), gpu (upstream's dialect with tokens),
    sequential (upstream's dialect without any token), sequential-async (the same in
    gpu_async)."""

    def __init__(self, program, mode, features):
        self.program, self.features = program, features
        self.tokens = mode in ("tokens", "gpu")
        self.upstream = mode in ("gpu", "sequential")
        self.dialect = "gpu" if self.upstream else "gpu_async"
        self.tokenType = "!gpu.async.token" if self.upstream else "!gpu_async.token"
        self.out = []

    # Text.

    def fresh(self):
        self.names += 1
        return "%%v%d" % self.names

    def add(self, line):
        self.lines.append("  " * self.indent + line)

    def label(self):
        self.labels += 1
        return "^l%d" % self.labels

    def define(self, text):
        name = self.fresh()
        self.add("%s = %s" % (name, text))
        return name

    def constant(self, value, type="index"):
        return self.define("arith.constant %d : %s" % (value, type))

    # Functions.

    def write(self, base):
        """The functions of the program; @pN writes its buffers to %out from base."""
        for function in self.program.functions:
            self.function(function)
        program = self.program
        self.begin(program.seed)
        self.add("func.func @p%d(%%cfg: memref<8xi32>, %%out: memref<?xi32>) {" % program.number)
        self.prologue()
        self.locals(program.body)
        self.namings(program.body)
        self.statements(program.body.statements)
        copies = []
        for i, buffer in enumerate(program.buffers):
            target = buffer.name
            if buffer.kind == "device":
                target = "%%r%d" % i
                self.add("%s = memref.alloc() : %s" % (target, WHOLE))
                view = View(buffer, 0, CELLS, 1, "static", False)
                token = self.work("memcpy", "%s, %s : %s, %s" % (target, buffer.name, WHOLE, WHOLE), view.cells(), (), sync=0)
                copies += [token] if token else []
            else:
                self.touchHost([(buffer, c) for c in range(CELLS)], ())
            copies.append((target, i))
        self.hostWait([c for c in copies if isinstance(c, str)])
        for target, i in [c for c in copies if not isinstance(c, str)]:
            self.add("call @emit(%s, %%out, %s) : (%s, memref<?xi32>, index) -> ()"
                     % (target, self.constant(base + i * CELLS), WHOLE))
            if target.startswith("%r"):
                self.add("memref.dealloc %s : %s" % (target, WHOLE))
        self.frees(program.body)
        self.add("return")
        self.indent -= 1
        self.add("}")
        self.out += self.lines
        return self.out

    def begin(self, seed):
        self.lines, self.indent, self.names, self.labels = [], 0, 0, 0
        self.rng = random.Random(seed)
        self.state, self.iv, self.inRegion, self.depthValue = State(), None, False, None
        self.carried, self.rename = set(), {}

    def prologue(self):
        self.indent += 1
        self.add("%c1 = arith.constant 1 : index")
        self.add("%c0 = arith.constant 0 : index")
        self.add("%c4 = arith.constant 4 : index")
        if "address" in self.features:
            self.add("%slot = memref.alloca() : memref<1xi64>")
        for i in range(4):
            at = self.constant(i)
            self.add("%%o%d = memref.load %%cfg[%s] : memref<8xi32>" % (i, at))
        self.add("%zero = arith.index_cast %o0 : i32 to index")
        for bytes in RAW:
            self.add("%%size%d = arith.addi %%zero, %s : index" % (bytes, self.constant(bytes)))

    def function(self, function):
        self.begin(function.seed)
        self.current = function
        takes, gives = function.takes and self.tokens, function.gives and self.tokens
        arguments = ["%cfg: memref<8xi32>", "%depth: index"] + ["%s: %s" % (f.name, WHOLE) for f in function.formals]
        arguments += ["%s: i64" % a.name for a in function.addresses]
        if takes:
            arguments += ["%%t%d: %s" % (i, self.tokenType) for i in range(len(function.formals))]
        results = " -> (%s)" % ", ".join([self.tokenType] * len(function.formals)) if gives else ""
        self.add("func.func private @%s(%s)%s {" % (function.name, ", ".join(arguments), results))
        self.prologue()
        self.depthValue = "%depth"
        cells = [[(f, i) for i in range(CELLS)] for f in function.formals]
        if takes:
            for i, c in enumerate(cells):
                self.state.set(c, ["%%t%d" % i])
        self.locals(function.body)
        self.statements(function.body.statements)
        self.frees(function.body)
        if gives:
            given = [self.single(self.state.all(c)) for c in cells]
            self.add("return %s : %s" % (", ".join(given), ", ".join([self.tokenType] * len(given))))
        else:
            if self.tokens:
                self.hostWait([t for t in self.state.all([c for list in cells for c in list]) if not t.startswith("%t")])
            self.add("return")
        self.indent -= 1
        self.add("}")
        self.out += self.lines
        self.current = None

    current = None

    # Tokens.

    def single(self, tokens):
        """One token for several; a ready one for none."""
        tokens = unique(tokens)
        if len(tokens) == 1 and self.rng.random() < 0.8:
            return tokens[0]
        list = " [%s]" % ", ".join(tokens) if tokens else ""
        return self.define("%s.wait async%s" % (self.dialect, list))

    def take(self, needed):
        """The dependency list of an op that needs these tokens."""
        rng, tokens = self.rng, unique(needed)
        scope = self.state.inScope
        if scope and rng.random() < 0.15:
            tokens.append(rng.choice(scope[-12:]))
        if tokens and "select" in self.features and rng.random() < 0.1:
            at = rng.randrange(len(tokens))
            other = rng.choice(scope) if scope else tokens[at]
            value = rng.randrange(4)
            bit = self.define("arith.trunci %%o%d : i32 to i1" % value)
            pair = (tokens[at], other) if value & 1 else (other, tokens[at])
            tokens[at] = self.define("arith.select %s, %s, %s : %s" % (bit, *pair, self.tokenType))
        if len(tokens) > 1 and rng.random() < 0.3:
            tokens = [self.define("%s.wait async [%s]" % (self.dialect, ", ".join(tokens)))]
        return " [%s]" % ", ".join(unique(tokens)) if tokens else ""

    def needs(self, reads, writes):
        state, tokens = self.state, []
        shortcut = self.rng.random() < 0.5
        for c in writes:
            readers = state.reads.get(c, ())
            tokens += readers + state.uploads.get(c, ())
            # Readers came after the write.
            if not (readers and shortcut and c not in state.mixed):
                tokens += state.writes.get(c, ())
        for c in reads:
            tokens += state.writes.get(c, ())
        return sorted(set(tokens), key=lambda t: (len(t), t))

    def hostWait(self, tokens):
        tokens = unique(tokens)
        if tokens:
            self.add("%s.wait [%s]" % (self.dialect, ", ".join(tokens)))

    def touchHost(self, reads, writes):
        """Before the host reads or writes: wait for what may still touch it."""
        if not self.tokens:
            return
        state = self.state
        tokens = [t for c in reads for t in state.writes.get(c, ())]
        tokens += [t for c in writes for t in state.writes.get(c, ()) + state.reads.get(c, ())]
        self.hostWait(tokens)
        if self.rng.random() < 0.7:
            state.drop(tokens)

    def work(self, op, rest, reads, writes, sync=0.1, upload=False, results=()):
        """One device op; its token, or None."""
        names = list(results)
        if not self.tokens or (self.upstream and "sync" in self.features and self.rng.random() < sync):
            # A sync op does not wait for what a loop or a branch carried and nobody takes.
            if self.tokens:
                held = [t for m in self.state.maps() for c in (*reads, *writes) for t in m.get(c, ())]
                self.hostWait([t for t in held if t in self.carried])
            self.add("%s%s.%s %s" % (", ".join(names) + " = " if names else "", self.dialect, op, rest))
            if self.tokens:
                for c in writes:
                    self.state.set([c], ())
                for c in reads:
                    self.state.writes[c] = ()
            return None
        dependencies = self.take(self.needs(reads, writes))
        token = self.fresh()
        self.add("%s = %s.%s async%s %s" % (", ".join(names + [token]), self.dialect, op, dependencies, rest))
        state = self.state
        for c in reads:
            into = state.uploads if upload else state.reads
            into[c] = into.get(c, ()) + (token,)
        state.set(writes, (token,))
        state.inScope.append(token)
        return token

    # Statements.

    def allocation(self, buffer):
        """(name, type) of what was allocated for it."""
        return (buffer.name + "raw", BYTES % ("?" if buffer.isDynamic else buffer.raw)) if buffer.raw else (buffer.name, WHOLE)

    def locals(self, body):
        for buffer, value in body.locals:
            cells = [(buffer, i) for i in range(CELLS)]
            name, type = self.allocation(buffer)
            sizes = ""
            if buffer.isDynamic:
                sizes = self.sizeOf(buffer.raw)
            if buffer.kind in ("host", "alloca"):
                self.add("%s = memref.%s(%s) : %s" % (name, "alloc" if buffer.kind == "host" else "alloca", sizes, type))
                if buffer.raw:
                    self.add("%s = memref.view %s[%%c0][] : %s to %s" % (buffer.name, name, type, WHOLE))
                self.add("func.call @fill(%s, %s) : (%s, i32) -> ()" % (buffer.name, self.constant(value, "i32"), WHOLE))
                continue
            shared = "host_shared " if buffer.kind == "shared" else ""
            self.work("alloc", "%s(%s) : %s" % (shared, sizes, type), (), cells, sync=0.3, results=[name])
            if buffer.raw:
                self.add("%s = memref.view %s[%%c0][] : %s to %s" % (buffer.name, name, type, WHOLE))
            if isinstance(value, Buffer):
                self.work("memcpy", "%s, %s : %s, %s" % (buffer.name, value.name, WHOLE, WHOLE), [(value, i) for i in range(CELLS)], cells)
            else:
                self.work("memset", "%s, %s : %s, i32" % (buffer.name, self.constant(value, "i32"), WHOLE), (), cells)

    def sizeOf(self, bytes):
        """Computed where the function begins, so that it may be known before the memory is allocated, or here."""
        known = "%%size%d" % bytes
        return known if self.rng.random() < 0.7 else self.start(bytes, False)

    def frees(self, body):
        for buffer, _ in body.locals:
            cells = [(buffer, i) for i in range(CELLS)]
            if buffer.kind == "host":
                self.touchHost((), cells)
                self.add("memref.dealloc %s : %s" % self.allocation(buffer))
            elif buffer.kind != "alloca":
                self.work("dealloc", "%s : %s" % self.allocation(buffer), (), cells)
                self.state.set(cells, ())

    def statements(self, statements):
        for s in statements:
            rng, self.rng = self.rng, random.Random(s.seed)
            getattr(self, "write_" + s.op)(s)
            self.rng = rng

    # Names.

    def namings(self, body):
        for naming in body.namings:
            values = self.named(naming)
            for alias, value in zip(naming.aliases, values):
                if naming.address:
                    value = self.address(value, NAMED, "0", naming.address)
                self.rename[alias] = value

    def nameOf(self, buffer):
        return self.rename.get(buffer, buffer.name)

    def typeOf(self, buffer):
        return WHOLE if buffer.size == CELLS else NAMED

    def window(self, buffer, offset):
        """The 8 cells from an offset on that the text need not know."""
        if buffer.size < CELLS:
            return self.nameOf(buffer)
        type = "memref<8xi32, strided<[1], offset: %s>>" % offset
        name = self.define("memref.subview %s[%s] [8] [1] : %s to %s" % (self.nameOf(buffer), offset, WHOLE, type))
        return self.define("memref.cast %s : %s to %s" % (name, type, NAMED))

    def start(self, offset, moves, unit=1):
        """As an index, in multiples of `unit` cells."""
        if not moves:
            zero = self.define("arith.index_cast %o0 : i32 to index")
            return self.define("arith.addi %s, %s : index" % (zero, self.constant(offset // unit)))
        odd = self.define("arith.remui %s, %s : index" % (self.iv, self.constant(2)))
        far = self.define("arith.muli %s, %s : index" % (odd, self.constant(4 // unit)))
        return self.define("arith.addi %s, %s : index" % (far, self.constant(offset // unit)))

    def named(self, naming):
        """The views that a naming makes, of type NAMED."""
        form = naming.form
        if len(naming.bases) > 1:
            first, second = [self.window(*base) for base in naming.bases]
            if naming.bit is not None or self.iv is None:
                bit = self.define("arith.trunci %%o%d : i32 to i1" % (naming.bit if naming.bit is not None else 1))
            else:
                odd = self.define("arith.remui %s, %s : index" % (self.iv, self.constant(2)))
                bit = self.define("arith.cmpi eq, %s, %%c0 : index" % odd)
            pairs = [(first, second), (second, first)][:len(naming.aliases)]
            if form == "branch":
                name = self.define("scf.if %s -> (%s) {" % (bit, NAMED))
                self.add("  scf.yield %s : %s" % (first, NAMED))
                self.add("} else {")
                self.add("  scf.yield %s : %s" % (second, NAMED))
                self.add("}")
                return [name]
            values = [self.define("arith.select %s, %s, %s : %s" % (bit, *pair, NAMED)) for pair in pairs]
            if form == "distinct":
                name = self.define("memref.distinct_objects %s, %s : %s, %s" % (*values, NAMED, NAMED))
                self.lines[-1] = self.lines[-1].replace(name + " =", name + ":2 =")
                values = [name + "#0", name + "#1"]
            return values
        (buffer, offset), = naming.bases
        name, type = self.nameOf(buffer), self.typeOf(buffer)
        if form == "expand":
            row = self.start(offset, naming.moves, 4)
            matrix = self.define("memref.expand_shape %s [[0, 1]] output_shape [4, 4] : %s into memref<4x4xi32>" % (name, WHOLE))
            rows = "memref<2x4xi32, strided<[4, 1], offset: ?>>"
            two = self.define("memref.subview %s[%s, 0] [2, 4] [1, 1] : memref<4x4xi32> to %s" % (matrix, row, rows))
            return [self.define("memref.collapse_shape %s [[0, 1]] : %s into %s" % (two, rows, NAMED))]
        start = self.start(offset, naming.moves)
        if form == "subview":
            return [self.define("memref.subview %s[%s] [8] [1] : %s to %s" % (name, start, WHOLE, NAMED))]
        if form == "view":
            bytes = self.define("arith.muli %s, %%c4 : index" % start)
            name, type = self.allocation(buffer)
            name = self.define("memref.view %s[%s][] : %s to memref<8xi32>" % (name, bytes, type))
            return [self.define("memref.cast %s : memref<8xi32> to %s" % (name, NAMED))]
        if form == "metadata":
            whole = self.define("memref.extract_strided_metadata %s : %s -> memref<i32>, index, index, index" % (name, type))
            self.lines[-1] = self.lines[-1].replace(whole + " =", whole + ":4 =")
            name, type = whole + "#0", "memref<i32>"
            start = self.define("arith.addi %s, %s : index" % (start, whole + "#1"))
        return [self.define("memref.reinterpret_cast %s to offset: [%s], sizes: [8], strides: [1] : %s to %s"
                            % (name, start, type, NAMED))]

    def address(self, name, type, offset, form="direct"):
        """An i64: where cell `offset` (an index or a number) of the memref is."""
        pointer = self.define("memref.extract_aligned_pointer_as_index %s : %s -> index" % (name, type))
        whole = self.define("memref.extract_strided_metadata %s : %s -> memref<i32>, index, index, index" % (name, type))
        self.lines[-1] = self.lines[-1].replace(whole + " =", whole + ":4 =")
        if offset.isdigit():
            offset = self.constant(int(offset))
        cells = self.define("arith.addi %s, %s : index" % (whole + "#1", offset))
        bytes = self.define("arith.muli %s, %%c4 : index" % cells)
        address = self.define("arith.addi %s, %s : index" % (pointer, bytes))
        address = self.define("arith.index_cast %s : index to i64" % address)
        if form == "loaded":
            self.add("memref.store %s, %%slot[%%c0] : memref<1xi64>" % address)
            address = self.define("memref.load %slot[%c0] : memref<1xi64>")
        if form == "called":
            address = self.define("func.call @same(%s) : (i64) -> i64" % address)
        return address

    def handed(self, body):
        """What a loop hands on besides tokens: (names, types, initial values)."""
        if not body.carried:
            return [], [], []
        values = [self.window(*base) for base in body.carried.bases]
        type = NAMED
        if body.carried.address:
            values, type = [self.address(v, NAMED, "0", body.carried.address) for v in values], "i64"
        names = self.names_(2)
        self.rename.update(zip(body.carried.aliases, names))
        return names, [type] * 2, values

    def oddView(self, view, dynamic):
        name, stride = view.buffer.name, view.stride

        def cast(sizes, strides, offset="0"):
            shown = [str(s) if not str(s).startswith("%") else "?" for s in strides]
            end = "" if offset == "0" else ", offset: %s" % ("?" if offset.startswith("%") else offset)
            type = "memref<%sxi32, strided<[%s]%s>>" % ("x".join(map(str, sizes)), ", ".join(shown), end)
            return self.define("memref.reinterpret_cast %s to offset: [%s], sizes: [%s], strides: [%s] : %s to %s" % (
                name, offset, ", ".join(map(str, sizes)), ", ".join(map(str, strides)), WHOLE, type)), type

        where = str(view.offset)
        if view.moves and self.iv is not None or self.rng.random() < 0.5:
            where = self.start(view.offset, view.moves and self.iv is not None)
        result = "memref<4xi32, strided<[%d], offset: ?>>" % stride
        if view.form in ("reversed", "repeated"):
            if self.rng.random() < 0.3:
                zero = self.define("arith.index_cast %o0 : i32 to index")
                stride = self.define("arith.addi %s, %s : index" % (zero, self.constant(stride)))
            source, result = cast([4], [stride], where)
        else:
            end = where if not where.startswith("%") else "?"
            result = "memref<4xi32, strided<[%d]%s>>" % (stride, ", offset: %s" % end if end != "0" else "")
            if view.form == "huge":
                source, type = cast([self.rng.choice([1 << 62, 1 << 61, (1 << 63) - 1])], [1])
                text = "[%s] [4] [%d]" % (where, stride)
            elif view.form == "plane":
                source, type = cast([2, CELLS], [self.rng.choice([1 << 62, -(1 << 62), 1 << 61]), 1])
                text = "[0, %s] [1, 4] [1, %d]" % (where, stride)
            else:
                source, type = cast([CELLS - 3, 4], [1, 1])
                text = "[%s, 0] [1, 4] [1, 1]" % where
            source = self.define("memref.subview %s%s : %s to %s" % (source, text, type, result))
        if dynamic:
            return self.define("memref.cast %s : %s to %s" % (source, result, VIEW)), VIEW
        return source, result

    def view(self, view, dynamic=False):
        """(value, type) of a view; dynamic: of the type that kernels take."""
        if view.isWhole():
            return view.buffer.name, WHOLE
        if view.isOdd:
            return self.oddView(view, dynamic)
        source, type, stride = self.nameOf(view.buffer), self.typeOf(view.buffer), view.stride
        offset, inner = view.offset, 0
        if view.form == "nested" and not view.moves:
            inner = min(offset, 3)
            offset -= inner
        where, known = str(offset), True
        if view.moves:
            odd = self.define("arith.remui %s, %s : index" % (self.iv, self.constant(2)))
            far = self.define("arith.muli %s, %%c4 : index" % odd)
            where, known = self.define("arith.addi %s, %s : index" % (far, self.constant(offset))), False
        elif view.form == "dynamic":
            zero = self.define("arith.index_cast %o0 : i32 to index")
            where, known = self.define("arith.addi %s, %s : index" % (zero, self.constant(offset))), False

        def layout(size, stride, offset):
            return "memref<%dxi32, strided<[%d], offset: %s>>" % (size, stride, offset)

        if inner:
            size = 3 * stride + 1 + inner
            outer = layout(size, 1, where if view.buffer.size == CELLS else "?")
            source = self.define("memref.subview %s[%s] [%d] [1] : %s to %s" % (source, where, size, type, outer))
            type, total, where = outer, offset + inner, str(inner)
        else:
            total = where if known else "?"
        total = total if view.buffer.size == CELLS else "?"
        name = self.define("memref.subview %s[%s] [4] [%d] : %s to %s"
                           % (source, where, stride, type, layout(4, stride, total)))
        type = layout(4, stride, total)
        if dynamic:
            name, type = self.define("memref.cast %s : %s to %s" % (name, type, VIEW)), VIEW
        return name, type

    def viewAddress(self, view):
        offset = self.start(view.offset, view.moves and self.iv is not None)
        if not view.buffer.isAddress:
            return self.address(self.nameOf(view.buffer), self.typeOf(view.buffer), offset)
        bytes = self.define("arith.muli %s, %%c4 : index" % offset)
        return self.define("arith.addi %s, %s : i64" % (
            self.nameOf(view.buffer), self.define("arith.index_cast %s : index to i64" % bytes)))

    def write_launch(self, s):
        if s.kernel in BY_ADDRESS:
            views = [(self.viewAddress(v), "i64") for v in s.views]
            if s.kernel == "at_index":
                views = [(self.define("arith.index_cast %s : i64 to index" % v), "index") for v, _ in views]
        else:
            views = [self.view(v, dynamic=True) for v in s.views]
        numbers = [self.constant(s.c, "i32"), self.constant(s.times, "i32")]
        arguments = ["%s : %s" % v for v in views] + ["%s : i32" % n for n in numbers]
        reads = set().union(*[v.cells() for v in s.views[(1 if s.kernel in ("move", "mix") else 0):]])
        writes = s.views[0].cells()
        self.work("launch_func" if self.upstream else "launch",
                  "@k::@%s blocks in (%%c1, %%c1, %%c1) threads in (%s, %%c1, %%c1) args(%s)"
                  % (s.kernel, "%c4" if s.kernel == "wide" else "%c1", ", ".join(arguments)),
                  self.ordered(reads - writes), self.ordered(writes))

    def ordered(self, cells):
        return sorted(cells, key=lambda c: (c[0].name, c[1]))

    def write_memset(self, s):
        name, type = self.view(s.view)
        self.work("memset", "%s, %s : %s, i32" % (name, self.constant(s.value, "i32"), type), (), self.ordered(s.view.cells()))

    def write_copy(self, s):
        (y, yType), (x, xType) = self.view(s.y), self.view(s.x)
        # Host memory is read when the op returns, so that the host may change it, or,
        # what a download has yet to write, once that is done.
        upload = s.x.buffer.kind in ("host", "alloca") and self.rng.random() < 0.5
        self.work("memcpy", "%s, %s : %s, %s" % (y, x, yType, xType),
                  self.ordered(s.x.cells()), self.ordered(s.y.cells()), upload=upload)

    def write_host(self, s):
        self.touchHost(self.ordered(s.x[0].cells(s.x[1])), self.ordered(s.y[0].cells(s.y[1])))
        read = self.define("memref.load %s[%s] : %s" % (self.nameOf(s.x[0]), self.constant(s.x[1]), self.typeOf(s.x[0])))
        times = self.define("arith.muli %s, %s : i32" % (read, self.constant(3, "i32")))
        value = self.define("arith.addi %s, %s : i32" % (times, self.constant(s.c, "i32")))
        self.add("memref.store %s, %s[%s] : %s" % (value, self.nameOf(s.y[0]), self.constant(s.y[1]), self.typeOf(s.y[0])))

    def write_wait(self, s):
        scope = self.state.inScope
        if self.tokens and scope:
            tokens = self.rng.sample(scope, min(len(scope), self.rng.randint(1, 3)))
            self.hostWait(tokens)
            self.state.drop(tokens)

    def scalar(self, s):
        """An i32 from 0 to 3."""
        if s.kind == "known" or (s.kind == "iv" and self.iv is None):
            return self.constant(s.value, "i32")
        if s.kind == "opaque":
            return "%%o%d" % s.value
        if s.kind == "iv":
            value = self.define("arith.index_cast %s : index to i32" % self.iv)
        else:
            self.touchHost([(s.buffer, s.value)], ())
            value = self.define("memref.load %s[%s] : %s" % (s.buffer.name, self.constant(s.value), WHOLE))
        return self.define("arith.andi %s, %s : i32" % (value, self.constant(3, "i32")))

    # Control flow. A plan says which tokens go in and out, as lists of groups of
    # cells; branches and loops in scf and in cf differ in their text only.

    def plan(self, s, loop):
        """(how, groups of cells). how: sequential, local, wait, give, new."""
        rng = self.rng
        reads, writes = touched([s])
        # A scalar that is read from memory was waited for already.
        if not self.tokens:
            return "sequential", []
        ways = ["local"]
        if ("capture-loop" if loop else "capture-if") in self.features:
            ways += ["wait"] * 2
        if ("carry" if loop else "yield-if") in self.features:
            ways += ["give"] * 4
            if "wait" in ways:
                ways += ["new"] * 2
        how = rng.choice(ways)
        if how == "local":
            needed = self.needs(reads, writes)
            self.hostWait(needed)
            self.state.drop(needed)
            self.state.set(writes, ())
            for c in reads:
                self.state.writes[c] = ()
        outer = {c[0] for c in reads + writes} - {b for body in self.allBodies(s) for b, _ in body.locals}
        buffers = sorted(outer, key=lambda b: (len(b.name), b.name))
        if how in ("local", "wait"):
            return how, [[(b, i) for b in buffers for i in range(CELLS)]]
        groups = [[] for _ in range(rng.randint(1, min(3, max(1, len(buffers)))))]
        for b in buffers:
            rng.choice(groups).extend((b, i) for i in range(CELLS))
        return how, [g for g in groups if g]

    def allBodies(self, s):
        for b in s.bodies:
            yield b
            for t in b.statements:
                yield from self.allBodies(t)

    def sub(self, body, state, scf, loop=None):
        """Writes a body; its state at the end."""
        kept = self.state, self.iv, self.inRegion
        self.state, self.inRegion = State(state), self.inRegion or scf
        if ("capture-loop" if loop else "capture-if") not in self.features:
            self.state.inScope = []
        if loop:
            self.iv = loop
        self.indent += scf
        self.locals(body)
        self.namings(body)
        self.statements(body.statements)
        self.frees(body)
        self.indent -= scf
        result = self.state
        self.state, self.iv, self.inRegion = kept
        return result

    def write_scratch(self, s):
        body = s.bodies[0]
        self.locals(body)
        self.namings(body)
        self.statements(body.statements)
        self.frees(body)

    def finish(self, how, groups, end, outer, scf):
        """At a body's end: the tokens that it gives, one for each group."""
        before = set(t for m in outer.maps() for held in m.values() for t in held)
        state, self.state = self.state, end
        self.indent += scf
        given = []
        if how in ("local", "wait"):
            self.hostWait([t for t in end.all([c for g in groups for c in g]) if t not in before])
        elif how in ("give", "new"):
            for g in groups:
                tokens = end.all(g)
                given.append(self.single(t for t in tokens if how == "give" or t not in before))
        self.indent -= scf
        self.state = state
        return given

    def after(self, how, groups, outer, results):
        """The state behind a region op that gave these tokens."""
        self.state = outer
        for g, token in zip(groups, results):
            if how == "give":
                outer.set(g, [token])
            else:
                outer.addWrite(g, token)
            outer.inScope.append(token)
            self.carried.add(token)

    def useCf(self):
        return "cf" in self.features and not self.inRegion and self.rng.random() < 0.6

    def names_(self, count):
        return [self.fresh() for _ in range(count)]

    def typed(self, names):
        return ", ".join("%s: %s" % (n, self.tokenType) for n in names)

    def types(self, count):
        return ", ".join([self.tokenType] * count)

    def operands(self, names, type=None):
        """An optional list of block operands."""
        if not names:
            return ""
        return "(%s : %s)" % (", ".join(names), ", ".join(type or [self.tokenType] * len(names)))

    def write_if(self, s):
        cf = s.op != "exec" and self.useCf()
        # The scalar first: it may wait.
        value = self.scalar(s.scalar) if s.op != "exec" else None
        how, groups = self.plan(s, False)
        outer = self.state
        count = len(groups) if how in ("give", "new") else 0
        results = self.names_(count)
        if cf:
            labels, join = [self.label() for _ in s.bodies], self.label()
            if s.op == "if":
                bit = self.define("arith.trunci %s : i32 to i1" % value)
                self.add("cf.cond_br %s, %s, %s" % (bit, *labels))
            else:
                cases = ["default: " + labels[-1]] + ["%d: %s" % (i, l) for i, l in enumerate(labels[:-1])]
                self.add("cf.switch %s : i32, [ %s ]" % (value, ", ".join(cases)))
            for label, body in zip(labels, s.bodies):
                self.add("%s:" % label)
                end = self.sub(body, outer, False)
                given = self.finish(how, groups, end, outer, False)
                self.add("cf.br %s%s" % (join, self.operands(given)))
            self.add("%s%s:" % (join, "(%s)" % self.typed(results) if results else ""))
        else:
            made = ", ".join(results) + " = " if results else ""
            arrow = " -> (%s)" % self.types(count) if results else ""
            if s.op == "if":
                bit = self.define("arith.trunci %s : i32 to i1" % value)
                opens = ["%sscf.if %s%s {" % (made, bit, arrow), "} else {"]
            elif s.op == "switch":
                index = self.define("arith.index_cast %s : i32 to index" % value)
                opens = ["case %d {" % i for i in range(len(s.bodies) - 1)] + ["default {"]
                self.add("%sscf.index_switch %s%s" % (made, index, arrow.replace("(", "").replace(")", "")))
            else:
                opens = ["%sscf.execute_region%s {" % (made, arrow)]
            for i, (open, body) in enumerate(zip(opens, s.bodies)):
                if s.op == "switch" and i:
                    self.add("}")
                self.add(open)
                end = self.sub(body, outer, True)
                given = self.finish(how, groups, end, outer, True)
                self.indent += 1
                self.add("scf.yield %s : %s" % (", ".join(given), self.types(count)) if given else "scf.yield")
                self.indent -= 1
            self.add("}")
        self.after(how, groups, outer, results)

    write_switch = write_exec = write_if

    def enter(self, how, groups, outer, arguments):
        """The state at the start of a loop's body with these token arguments."""
        state = State(outer)
        for g, token in zip(groups, arguments):
            if how == "give":
                state.set(g, [token])
            else:
                state.addWrite(g, token)
            state.inScope.append(token)
            self.carried.add(token)
        return state

    def initial(self, how, groups):
        if how == "give":
            return [self.single(self.state.all(g)) for g in groups]
        return [self.single(()) for g in groups] if how == "new" else []

    def write_for(self, s):
        cf = self.useCf()
        value = self.scalar(s.scalar)
        bound = self.define("arith.index_cast %s : i32 to index" % value)
        how, groups = self.plan(s, True)
        outer, initial = self.state, self.initial(how, groups)
        count = len(initial)
        if cf:
            self.cfLoop(bound, how, groups, outer, initial, None, s.bodies[0])
            return
        results, arguments, iv = self.names_(count), self.names_(count), self.fresh()
        names, types, values = self.handed(s.bodies[0])
        made = results + self.names_(len(names))
        types = [self.tokenType] * count + types
        carried = ""
        if made:
            pairs = zip(arguments + names, initial + values)
            carried = " iter_args(%s) -> (%s)" % (", ".join("%s = %s" % p for p in pairs), ", ".join(types))
        self.add("%sscf.for %s = %%c0 to %s step %%c1%s {" % (", ".join(made) + " = " if made else "", iv, bound, carried))
        start = self.enter(how, groups, outer, arguments)
        end = self.sub(s.bodies[0], start, True, iv)
        given = self.finish(how, groups, end, outer, True) + names[::-1]
        self.indent += 1
        self.add("scf.yield %s : %s" % (", ".join(given), ", ".join(types)) if made else "scf.yield")
        self.indent -= 1
        self.add("}")
        self.after(how, groups, outer, results)

    def write_while(self, s):
        cf = self.useCf()
        value = self.scalar(s.scalar)
        bound = self.define("arith.index_cast %s : i32 to index" % value)
        how, groups = self.plan(s, True)
        outer, initial = self.state, self.initial(how, groups)
        count = len(initial)
        if cf:
            self.cfLoop(bound, how, groups, outer, initial, s.bodies[0], s.bodies[1])
            return
        last, results = self.fresh(), self.names_(count)
        i, before = self.fresh(), self.names_(count)
        names, handedTypes, values = self.handed(s.bodies[1])
        passed, ends = self.names_(len(names)), self.names_(len(names))
        types = ", ".join(["index"] + [self.tokenType] * count + handedTypes)
        inits = ", ".join("%s = %s" % p for p in zip([i] + before + passed, ["%c0"] + initial + values))
        self.add("%s = scf.while (%s) : (%s) -> (%s) {" % (", ".join([last] + results + ends), inits, types, types))
        end = self.sub(s.bodies[0], self.enter(how, groups, outer, before), True, i)
        given = self.finish(how, groups, end, outer, True)
        self.indent += 1
        goes = self.define("arith.cmpi ult, %s, %s : index" % (i, bound))
        self.add("scf.condition(%s) %s : %s" % (goes, ", ".join([i] + given + passed), types))
        self.indent -= 1
        j, arguments = self.fresh(), self.names_(count)
        self.add("} do {")
        self.add("^bb0(%s):" % ", ".join(["%s: index" % j] + ["%s: %s" % (a, self.tokenType) for a in arguments] +
                                         ["%s: %s" % p for p in zip(names, handedTypes)]))
        end = self.sub(s.bodies[1], self.enter(how, groups, outer, arguments), True, j)
        given = self.finish(how, groups, end, outer, True)
        self.indent += 1
        after = self.define("arith.addi %s, %%c1 : index" % j)
        self.add("scf.yield %s : %s" % (", ".join([after] + given + names[::-1]), types))
        self.indent -= 1
        self.add("}")
        self.after(how, groups, outer, results)

    def cfLoop(self, bound, how, groups, outer, initial, first, second):
        """header: first; if (i < bound) { second; ++i; back }"""
        header, body, exit = self.label(), self.label(), self.label()
        names, handedTypes, values = self.handed(second)
        types = ["index"] + [self.tokenType] * len(initial) + handedTypes
        i, arguments = self.fresh(), self.names_(len(initial))
        self.add("cf.br %s%s" % (header, self.operands(["%c0"] + initial + values, types)))
        self.add("%s(%s):" % (header, ", ".join("%s: %s" % p for p in zip([i] + arguments + names, types))))
        state = self.enter(how, groups, outer, arguments)
        inside = arguments
        if first:
            end = self.sub(first, state, False, i)
            inside = self.finish(how, groups, end, outer, False)
            state = self.enter(how, groups, outer, inside)
        goes = self.define("arith.cmpi ult, %s, %s : index" % (i, bound))
        # The tokens of the header go out by dominance, or as arguments.
        results = inside
        if inside and self.rng.random() < 0.5:
            results = self.names_(len(inside))
            self.add("cf.cond_br %s, %s, %s%s" % (goes, body, exit, self.operands(inside)))
        else:
            self.add("cf.cond_br %s, %s, %s" % (goes, body, exit))
        self.add("%s:" % body)
        end = self.sub(second, state, False, i)
        given = self.finish(how, groups, end, outer, False)
        after = self.define("arith.addi %s, %%c1 : index" % i)
        self.add("cf.br %s%s" % (header, self.operands([after] + given + names[::-1], types)))
        self.add("%s%s:" % (exit, "(%s)" % self.typed(results) if results is not inside else ""))
        self.after(how, groups, outer, results)

    # Calls.

    def call(self, function, actuals, depth):
        takes, gives = function.takes and self.tokens, function.gives and self.tokens
        cells = [[(a, i) for i in range(CELLS)] for a in actuals]
        everything = [c for list in cells for c in list]
        operands = ["%cfg", depth] + [a.name for a in actuals]
        types = ["memref<8xi32>", "index"] + [WHOLE] * len(actuals)
        if function.addresses:
            operands += [self.address(a.name, WHOLE, "0") for a in actuals]
            types += ["i64"] * len(actuals)
        if takes:
            operands += [self.single(self.state.all(c)) for c in cells]
            types += [self.tokenType] * len(actuals)
        elif self.tokens:
            needed = self.state.all(everything)
            self.hostWait(needed)
            self.state.drop(needed)
        results = self.names_(len(actuals)) if gives else []
        self.add("%sfunc.call @%s(%s) : (%s) -> (%s)"
                 % (", ".join(results) + " = " if results else "", function.name, ", ".join(operands),
                    ", ".join(types), self.types(len(results))))
        for c, token in zip(cells, results):
            self.state.set(c, [token])
            self.state.inScope.append(token)

    def write_call(self, s):
        self.call(s.function, s.actuals, self.constant(s.depth))

    def write_recurse(self, s):
        self.add("// recursion")
        formals = s.function.formals
        goes = self.define("arith.cmpi ne, %depth, %c0 : index")
        less = self.define("arith.subi %depth, %c1 : index")
        count = len(formals) if s.function.gives and self.tokens else 0
        outer = self.state
        cells = [[(a, i) for i in range(CELLS)] for a in formals]
        inFlight = self.tokens and not s.function.takes
        if inFlight:
            needed = outer.all([c for list in cells for c in list])
            self.hostWait(needed)
            outer.drop(needed)
        # Without results the tokens that go into the branch hold behind it too.
        results = self.names_(count)
        arrow = " -> (%s)" % self.types(count) if count else ""
        self.add("%sscf.if %s%s {" % (", ".join(results) + " = " if count else "", goes, arrow))
        self.indent += 1
        self.state = State(outer)
        self.call(s.function, formals, less)
        if count:
            self.add("scf.yield %s : %s" % (", ".join(self.single(self.state.all(c)) for c in cells), self.types(count)))
            self.indent -= 1
            self.add("} else {")
            self.indent += 1
            self.state = State(outer)
            self.add("scf.yield %s : %s" % (", ".join(self.single(outer.all(c)) for c in cells), self.types(count)))
        self.indent -= 1
        self.add("}")
        self.state = outer
        for c, token in zip(cells, results):
            outer.set(c, [token])


def kernels(features):
    args = "%%y: %s, %%x: %s" % (VIEW, VIEW)
    head = """    %%i0 = arith.constant 0 : index
    %%i1 = arith.constant 1 : index
    %%i4 = arith.constant 4 : index
    %%zero = arith.constant 0 : i32
    %%one = arith.constant 1 : i32
    %%three = arith.constant 3 : i32
    %%five = arith.constant 5 : i32
    %%seven = arith.constant 7 : i32
"""
    head = head.replace("%%", "%")
    load = "      %{0} = memref.load %{1}[%i] : " + VIEW + "\n"
    start = (load.format("v0", "y") + load.format("xv", "x") +
             "      %x5 = arith.muli %xv, %five : i32\n      %more = arith.addi %x5, %c : i32\n")
    counted = """      %last = scf.for %k = %zero to %times step %one iter_args(%v = %v0) -> i32 : i32 {
        %p = arith.muli %v, %three : i32
        %w = arith.addi %p, %more : i32
        scf.yield %w : i32
      }
"""
    unknown = """      %n, %last = scf.while (%left = %times, %v = %v0) : (i32, i32) -> (i32, i32) {
        %goes = arith.cmpi ne, %left, %zero : i32
        scf.condition(%goes) %left, %v : i32, i32
      } do {
      ^bb0(%left: i32, %v: i32):
        %p = arith.muli %v, %three : i32
        %w = arith.addi %p, %more : i32
        %less = arith.subi %left, %one : i32
        scf.yield %less, %w : i32, i32
      }
"""
    store = "      memref.store %last, %y[%i] : " + VIEW + "\n"
    move = load.format("xv", "x") + "      %last = arith.addi %xv, %c : i32\n"
    mix = (load.format("xv", "x") + load.format("zv", "z") + "      %z7 = arith.muli %zv, %seven : i32\n"
           "      %d = arith.subi %xv, %z7 : i32\n      %last = arith.addi %d, %c : i32\n")

    # By addresses.
    pointer = "      %{0} = llvm.getelementptr %{1}[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i32\n"
    read = "      %{0} = llvm.load %{1} : !llvm.ptr -> i32\n"
    element = "      %at = arith.index_cast %i : index to i64\n"
    update = "      %x5 = arith.muli %xv, %five : i32\n      %more = arith.addi %x5, %c : i32\n" + counted
    byPointer = (element + pointer.format("yp", "yq") + pointer.format("xp", "xq") + read.format("v0", "yp") +
                 read.format("xv", "xp") + update + "      llvm.store %last, %yp : i32, !llvm.ptr\n")
    byCall = (element + "      %v0 = func.call @read_at(%y, %at) : (i64, i64) -> i32\n"
              "      %xv = func.call @read_at(%x, %at) : (i64, i64) -> i32\n" + update +
              "      func.call @write_at(%y, %at, %last) : (i64, i64, i32) -> ()\n")
    toPointers = "    %yq = llvm.inttoptr {0} : i64 to !llvm.ptr\n    %xq = llvm.inttoptr {1} : i64 to !llvm.ptr\n"
    slots = "memref<2xi64, #gpu.address_space<private>>"

    def kernelAt(name, setup, body=byPointer, type="i64"):
        return ("  gpu.func @%s(%%y: %s, %%x: %s, %%c: i32, %%times: i32) kernel {\n%s%s    scf.for %%i = %%i0 to %%i4 step %%i1 {\n%s    }\n"
                "    gpu.return\n  }\n" % (name, type, type, head, setup, body))

    byAddress = """  func.func private @read_at(%a: i64, %at: i64) -> i32 {
    %p = llvm.inttoptr %a : i64 to !llvm.ptr
    %q = llvm.getelementptr %p[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i32
    %v = llvm.load %q : !llvm.ptr -> i32
    return %v : i32
  }
  func.func private @write_at(%a: i64, %at: i64, %v: i32) {
    %p = llvm.inttoptr %a : i64 to !llvm.ptr
    %q = llvm.getelementptr %p[%at] : (!llvm.ptr, i64) -> !llvm.ptr, i32
    llvm.store %v, %q : i32, !llvm.ptr
    return
  }
"""
    byAddress += kernelAt("at", toPointers.format("%y", "%x")) + kernelAt("at_call", "", byCall)
    byAddress += kernelAt("at_memory", "    %m = memref.alloca() : SLOTS\n    memref.store %y, %m[%i0] : SLOTS\n"
                          "    memref.store %x, %m[%i1] : SLOTS\n    %ym = memref.load %m[%i0] : SLOTS\n"
                          "    %xm = memref.load %m[%i1] : SLOTS\n".replace("SLOTS", slots) + toPointers.format("%ym", "%xm"))
    byAddress += kernelAt("at_vector", "    %both = vector.from_elements %y, %x : vector<2xi64>\n"
                          "    %ye = vector.extract %both[0] : i64 from vector<2xi64>\n"
                          "    %xe = vector.extract %both[1] : i64 from vector<2xi64>\n" + toPointers.format("%ye", "%xe"))
    byAddress += kernelAt("at_index", "    %yi = arith.index_cast %y : index to i64\n    %xi = arith.index_cast %x : index to i64\n" +
                          toPointers.format("%yi", "%xi"), type="index")

    def kernel(name, body, more="", wide=False):
        inside = head + ("    %i = gpu.thread_id x\n" + body + store if wide else
                         "    scf.for %i = %i0 to %i4 step %i1 {\n" + body + store + "    }\n")
        return "  gpu.func @%s(%s%s, %%c: i32, %%times: i32) kernel {\n%s    gpu.return\n  }\n" % (name, args, more, inside)

    return ("gpu.module @k {\n" + kernel("update", start + counted) + kernel("slow", start + unknown) +
            kernel("wide", start + counted, wide=True) + kernel("move", move) +
            kernel("mix", mix, ", %%z: %s" % VIEW) + (byAddress if "address" in features else "") + "}\n")


HOST = """func.func private @fill(%m: memref<16xi32>, %v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    memref.store %v, %m[%i] : memref<16xi32>
  }
  return
}
func.func private @same(%a: i64) -> i64 {
  return %a : i64
}
func.func private @emit(%m: memref<16xi32>, %out: memref<?xi32>, %base: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    %v = memref.load %m[%i] : memref<16xi32>
    %at = arith.addi %base, %i : index
    memref.store %v, %out[%at] : memref<?xi32>
  }
  return
}
"""


def moduleText(programs, mode, features):
    """One module; @main(cfg, out) runs all, and where each one's results start."""
    text, bases, size = ["module attributes {gpu.container_module} {", kernels(features), HOST], [], 0
    for program in programs:
        bases.append(size)
        text += Writer(program, mode, features).write(size)
        size += CELLS * len(program.buffers)
    text.append("func.func @main(%%cfg: memref<8xi32>, %%out: memref<%dxi32>) {" % size)
    text.append("  %%o = memref.cast %%out : memref<%dxi32> to memref<?xi32>" % size)
    for program in programs:
        text.append("  call @p%d(%%cfg, %%o) : (memref<8xi32>, memref<?xi32>) -> ()" % program.number)
    text += ["  return", "}", "}"]
    return "\n".join(text) + "\n", bases, size


def makeProgram(seed, number, features, size):
    """The program of a seed; too long ones are made again, from seeds that follow."""
    while True:
        program = Maker(seed, number, features, size).program
        try:
            run(program)
            return program
        except TooLong:
            seed += 1 << 32
