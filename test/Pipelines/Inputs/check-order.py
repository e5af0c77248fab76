# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Random token programs, and a check of the stream form that gpu-opt makes of
# them, with and without gpu-async-reduce-dependencies. The check shares no code
# with the compiler: it knows the program from the generator and executes the
# printed streams and events as sets of past work.
#
#   check-order.py GPU_OPT [--seed=N] [--functions=N] [--max-streams=N]...
#
# Tokens go through scf.if, index_switch, for, while and execute_region, are
# captured by them, selected, passed to functions and returned. What branches and
# loops do comes from tables, one entry for each place, so that the program and
# its form do the same. Checked on each path tried, for every op: what its tokens
# stand for is in its past (lost order); for --max-streams=0 nothing else is
# (added order), but for what an earlier iteration of a loop around it did, since
# streams are used again there. A host wait covers exactly its tokens' past.
# Streams and events are destroyed once and not used after; `idle` holds. When a
# function returns all its work is done, but for what results cover.

import argparse
import itertools
import random
import re
import subprocess
import sys

(LAUNCH, ALLOC, SHARED, DEALLOC, WAIT, JOIN, SELECT, CALL,
 IF, SWITCH, FOR, WHILE, REGION) = range(13)
TOKEN = "!gpu_async.token"
CONDITIONS, COUNTS = 64, 32  # entries of a function's tables


# ----------------------------------------------------------------------------
# Programs
# ----------------------------------------------------------------------------


class Stmt:
    """One op. `names`: the tokens that it makes. `bodies`: its regions, each of
    block arguments, statements, and the tokens handed on at its end."""

    def __init__(self, kind, deps=(), names=(), **other):
        self.kind, self.deps, self.names = kind, list(deps), list(names)
        self.pointer = self.place = self.memory = self.callee = None
        self.bodies = []
        self.__dict__.update(other)

    def uses(self):
        """All tokens that the op and its regions take."""
        yield from self.deps
        for body in self.bodies:
            yield from body.handed
            for stmt in body.stmts:
                yield from stmt.uses()


class Body:
    def __init__(self, arguments, stmts, handed):
        self.arguments, self.stmts, self.handed = arguments, stmts, handed


class Function:
    """A function without tokens in its signature has callees; one with is such
    a callee, too."""

    def __init__(self, rng, number, callees, without, chains):
        self.rng, self.number, self.without, self.chains = rng, number, without, chains
        self.flow = flow = "flow" not in without
        self.names = self.conditions = self.counts = 0
        self.name = "f%d" % number
        self.isCallee = rng.random() < 0.25 if flow else False
        self.callees = [] if "calls" in without or self.isCallee and rng.random() < 0.7 else callees[-3:]
        self.pointers = 0 if self.isCallee else rng.choice([0] * 7 + [1, 1, 2])
        self.arguments = ["%%t%d" % i for i in range(rng.choice([1, 2] if self.isCallee else [0, 0, 1, 2]))]
        tokens, length = list(self.arguments), rng.randint(0, 10 if self.isCallee else 24)
        stmts = self.make_block(tokens, length, 0)
        made = tokens[:]
        results = []
        if made and rng.random() < (0.8 if self.isCallee else 0.3):
            results = [rng.choice(made) for _ in range(rng.randint(1, 3))]
        self.body = Body(self.arguments, stmts, results)
        self.results = results

    def fresh(self, prefix="%v"):
        self.names += 1
        return "%s%d" % (prefix, self.names)

    def condition(self):
        self.conditions += 1
        return ("c", (self.conditions - 1) % CONDITIONS, self.fresh("%b"))

    def count(self):
        self.counts += 1
        return ("n", (self.counts - 1) % COUNTS, self.fresh("%n"))

    def make_body(self, arguments, tokens, depth, handed):
        """A region that sees `tokens`; `handed`: how many it hands on."""
        inside = tokens + arguments
        stmts = self.make_block(inside, self.rng.randint(2 if self.chains else 0, 5), depth + 1)
        recent = inside[-6:]
        if handed and not recent:
            name = self.fresh()
            stmts.append(Stmt(JOIN, [], [name]))
            recent = [name]
        if self.chains and arguments and self.rng.random() < 0.4:
            recent = arguments  # in another order, some twice
        return Body(arguments, stmts, [self.rng.choice(recent) for _ in range(handed)])

    def make_regions(self, kind, tokens, depth):
        rng = self.rng
        few = self.chains and rng.random() < 0.5  # some tokens of a loop begin as the same one
        taken = lambda n: [rng.choice(tokens[-2 if few else -8:]) for _ in range(n)] if tokens else []
        flow = self.flow and tokens
        visible = tokens if self.flow else []
        handed = rng.choice([2, 3, 4, 5] if self.chains else [0, 0, 1, 1, 2]) if flow else 0
        results = [self.fresh() for _ in range(handed)]
        if kind == FOR:
            inits = taken(handed)
            body = self.make_body([self.fresh() for _ in inits], visible, depth, handed)
            return Stmt(FOR, inits, results, place=self.count(), bodies=[body])
        if kind == WHILE:
            inits = taken(rng.choice([2, 3, 4] if self.chains else [0, 1, 1, 2]) if flow else 0)
            before = self.make_body([self.fresh() for _ in inits], visible, depth, handed)
            after = self.make_body([self.fresh() for _ in results], visible, depth, len(inits))
            return Stmt(WHILE, inits, results, place=self.condition(), bodies=[before, after])
        regions = {IF: 2 if handed else rng.choice([1, 2]), SWITCH: 3, REGION: 1}[kind]
        place = {IF: self.condition, SWITCH: self.count, REGION: lambda: None}[kind]()
        bodies = [self.make_body([], visible, depth, handed) for _ in range(regions)]
        return Stmt(kind, [], results, place=place, bodies=bodies)

    def make_block(self, tokens, length, depth):
        """Adds the tokens that it makes to `tokens`."""
        rng, stmts, memory = self.rng, [], []
        outer = len(tokens) if depth and "outer" in self.without else 0
        spread = rng.choice([1, 3, 100])  # how far back tokens are taken from
        nested = 0.5 if depth < 2 else 0
        flow = nested if self.flow else 0
        weights = [10, 3, 1, 3, 1.5, 2, 0.4 if self.flow else 0, 0.6 if self.callees else 0,
                   nested, flow / 3, nested, flow / 2, flow / 4]
        for _ in range(length):
            kind = rng.choices(range(13), weights)[0]
            recent = tokens[-8 * spread:] if spread < 100 else tokens
            some = rng.sample(recent, min(len(recent), rng.choice([0, 1, 1, 1, 2, 2, 3, 5])))
            if self.chains and tokens and tokens[-1] not in some and rng.random() < 0.8:
                some.append(tokens[-1])
            if kind >= IF:
                stmt = self.make_regions(kind, tokens, depth)
                stmts.append(stmt)
                tokens += stmt.names
                continue
            if kind == DEALLOC and not memory:
                kind = LAUNCH
            if kind == WAIT and not some:
                continue
            if kind == SELECT:
                if not recent:
                    continue
                some = [rng.choice(recent), rng.choice(recent)]
            if kind == CALL:
                callee = rng.choice(self.callees)
                recent = tokens[outer:]
                if not recent and callee.arguments:
                    continue
                some = [rng.choice(recent) for _ in callee.arguments]
                stmt = Stmt(CALL, some, [self.fresh() for _ in callee.results], callee=callee)
                stmts.append(stmt)
                tokens += stmt.names
                continue
            stmt = Stmt(kind, some, [] if kind == WAIT else [self.fresh()])
            if kind == LAUNCH and self.pointers and rng.random() < 0.3:
                stmt.pointer = rng.randrange(self.pointers)
            if kind == SELECT:
                stmt.place = self.condition()
            if kind == DEALLOC:
                stmt.memory = memory.pop(rng.randrange(len(memory)))
            if kind in (ALLOC, SHARED):
                stmt.memory = self.fresh("%m")
                memory.append(stmt.memory)
            stmts.append(stmt)
            tokens += stmt.names
        return stmts

    def emit_block(self, stmts, out, pad):
        sizes = "blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<4xi32>)"
        types = lambda tokens: ", ".join([TOKEN] * len(tokens))
        for stmt in stmts:
            kind, deps = stmt.kind, ", ".join(stmt.deps)
            taken = " [%s]" % deps if deps else ""
            made = ", ".join(stmt.names) + " = " if stmt.names else ""
            place = stmt.place and stmt.place[2]
            if place and kind != WHILE:
                self.emit_place(stmt.place, out, pad)
            if kind == LAUNCH:
                on = " on %%s%d" % stmt.pointer if stmt.pointer is not None else ""
                out.append("%s%sgpu_async.launch async%s%s @k::@f %s" % (pad, made, taken, on, sizes))
            elif kind in (ALLOC, SHARED):
                out.append("%s%s, %sgpu_async.alloc async%s%s () : memref<4xi32>" % (
                    pad, stmt.memory, made, taken, " host_shared" if kind == SHARED else ""))
            elif kind == DEALLOC:
                out.append("%s%sgpu_async.dealloc async%s %s : memref<4xi32>" % (pad, made, taken, stmt.memory))
            elif kind == WAIT:
                out.append("%sgpu_async.wait%s" % (pad, taken))
            elif kind == JOIN:
                out.append("%s%sgpu_async.wait async%s" % (pad, made, taken))
            elif kind == SELECT:
                out.append("%s%sarith.select %s, %s : %s" % (pad, made, place, deps, TOKEN))
            elif kind == CALL:
                callee = stmt.callee
                out.append("%s%sfunc.call @%s(%s) : (%s) -> (%s)" % (
                    pad, made, callee.name, ", ".join(stmt.deps + ["%x", "%d", "%e"]),
                    ", ".join([TOKEN] * len(stmt.deps) + ["memref<4xi32>", self.tables()]), types(stmt.names)))
            else:
                self.emit_regions(stmt, out, pad, made, place, types)

    def emit_regions(self, stmt, out, pad, made, place, types):
        kind, bodies, handed = stmt.kind, stmt.bodies, len(stmt.names)
        arrow = " -> (%s)" % types(stmt.names) if handed else ""

        def region(body, end="scf.yield"):
            self.emit_block(body.stmts, out, pad + "  ")
            out.append("%s  %s%s" % (pad, end, " %s : %s" % (", ".join(body.handed), types(body.handed))
                                     if body.handed else ""))

        bound = ", ".join("%s = %s" % pair for pair in zip(bodies[0].arguments, stmt.deps))
        if kind == FOR:
            out.append("%s%sscf.for %s = %%c0 to %s step %%c1%s%s {" % (
                pad, made, self.fresh("%i"), place, " iter_args(%s)" % bound if bound else "", arrow))
            region(bodies[0])
        elif kind == WHILE:
            out.append("%s%sscf.while%s : (%s) -> (%s) {" % (
                pad, made, " (%s)" % bound if bound else "", types(stmt.deps), types(stmt.names)))
            self.emit_block(bodies[0].stmts, out, pad + "  ")
            self.emit_place(stmt.place, out, pad + "  ")
            out.append("%s  scf.condition(%s)%s" % (pad, place, " %s : %s" % (
                ", ".join(bodies[0].handed), types(bodies[0].handed)) if handed else ""))
            out.append("%s} do {" % pad)
            arguments = ", ".join("%s: %s" % (a, TOKEN) for a in bodies[1].arguments)
            if arguments:
                out.append("%s^bb0(%s):" % (pad, arguments))
            region(bodies[1])
        elif kind == IF:
            out.append("%s%sscf.if %s%s {" % (pad, made, place, arrow))
            region(bodies[0])
            if len(bodies) > 1:
                out.append(pad + "} else {")
                region(bodies[1])
        elif kind == SWITCH:
            out.append("%s%sscf.index_switch %s%s" % (pad, made, place, " -> " + types(stmt.names) if handed else ""))
            for label, body in zip(["case 0", "case 1", "default"], bodies):
                out.append("%s%s {" % (pad, label))
                region(body)
                out.append(pad + "}")
            return
        else:
            out.append("%s%sscf.execute_region%s {" % (pad, made, arrow))
            region(bodies[0])
        out.append(pad + "}")

    @staticmethod
    def tables():
        return "memref<%dxi1>, memref<%dxindex>" % (CONDITIONS, COUNTS)

    @staticmethod
    def emit_place(place, out, pad):
        table, index, name = place
        out.append("%s%s = memref.load %s[%%k%d] : memref<%s>" % (
            pad, name, "%d" if table == "c" else "%e", index,
            "%dxi1" % CONDITIONS if table == "c" else "%dxindex" % COUNTS))

    def emit(self):
        arguments = ["%s: %s" % (a, TOKEN) for a in self.arguments]
        arguments += ["%%p%d: !llvm.ptr" % i for i in range(self.pointers)]
        arguments += ["%x: memref<4xi32>"]
        arguments += ["%%%s: %s" % pair for pair in zip("de", self.tables().split(", "))]
        types = ", ".join([TOKEN] * len(self.results))
        out = ["func.func %s@%s(%s)%s {" % ("private " if self.isCallee else "", self.name, ", ".join(arguments),
                                            " -> (%s)" % types if types else "")]
        out += ["  %c0 = arith.constant 0 : index", "  %c1 = arith.constant 1 : index"]
        for index in range(min(max(self.conditions, self.counts), max(CONDITIONS, COUNTS))):
            out.append("  %%k%d = arith.constant %d : index" % (index, index))
        out += ["  %%s%d = gpu_async.stream.external %%p%d : !llvm.ptr" % (i, i) for i in range(self.pointers)]
        self.emit_block(self.body.stmts, out, "  ")
        out.append("  return" + (" %s : %s" % (", ".join(self.results), types) if types else ""))
        return out + ["}"]


class Decisions:
    """What the tables hold: a new value each time that a place is read."""

    def __init__(self, seed):
        self.seed, self.visits = seed, {}

    def read(self, table, index):
        visit = self.visits[table, index] = self.visits.get((table, index), 0) + 1
        rng = random.Random("%d/%s/%d/%d" % (self.seed, table, index, visit))
        if table == "c":
            return rng.random() < 0.55 and visit < 8
        return rng.choice([0, 1, 1, 2, 3]) if visit < 8 else 0


# ----------------------------------------------------------------------------
# What a program means
# ----------------------------------------------------------------------------


class Token:
    """Sets of work, as bits: what the token stands for directly, all that must
    be before it is reached, and all that may be."""

    def __init__(self, direct=0, must=0, may=0):
        self.direct, self.must, self.may = direct, must, may


def join(tokens):
    result = Token()
    for token in tokens:
        result.direct |= token.direct
        result.must |= token.must
        result.may |= token.may
    return result


class Shown:
    """An op as it is enqueued: what it needs, what it may come after, and what
    the host must and may have waited for."""

    def __init__(self, kind, needs, may, hostMust, hostMay):
        self.kind, self.needs, self.may, self.hostMust, self.hostMay = kind, needs, may, hostMust, hostMay


class Model:
    """Executes a program. Work is numbered as it is enqueued; arguments are the
    first numbers."""

    def __init__(self, function, decisions):
        self.decisions = decisions
        self.time, self.shown, self.count = 0, [], 0
        self.hostMust = self.hostMay = 0
        self.lastOn, self.earlier, self.carried = {}, 0, False
        self.hoisted = self.nested = 0
        arguments = []
        for _ in function.arguments:
            bit = 1 << self.count
            arguments.append(Token(bit, bit, bit))
            self.time |= bit
            self.count += 1
        self.results = self.call(function, arguments, isEntry=True)

    def call(self, function, arguments, isEntry=False):
        env, first = {}, self.count
        hoisted, self.hoisted = self.hoisted, 0
        results = self.run(function.body, arguments, env)
        if not isEntry:
            # A function that returns has completed what its results leave
            # (Machine.leave sees to it). A loop's streams wait before the loop
            # for what it may need.
            # What a result covers on some ways only may be waited for on all.
            isStraight = all(stmt.kind < SELECT for stmt in function.body.stmts)
            covered = join(results).must if isStraight else 0
            self.hostMay |= self.hoisted
            for shown in self.shown:
                bit = 1 << shown.number
                if shown.number >= first and not bit & covered:
                    self.hostMay |= bit | shown.may
        self.hoisted = hoisted
        return results

    def run(self, body, arguments, env):
        env.update(zip(body.arguments, arguments))
        for stmt in body.stmts:
            self.step(stmt, env)
        return [env[name] for name in body.handed]

    def step(self, stmt, env):
        kind = stmt.kind
        deps = [env[name] for name in stmt.deps]
        decide = lambda: self.decisions.read(*stmt.place[:2])
        if kind == IF:
            taken = 0 if decide() else 1
            handed = self.run(stmt.bodies[taken], [], env) if taken < len(stmt.bodies) else []
        elif kind == SWITCH:
            handed = self.run(stmt.bodies[min(decide(), 2)], [], env)
        elif kind == REGION:
            handed = self.run(stmt.bodies[0], [], env)
        elif kind in (FOR, WHILE):
            handed = self.run_loop(stmt, deps, env)
        elif kind == CALL:
            handed = self.call(stmt.callee, deps)
        elif kind == SELECT:
            handed = [deps[0 if decide() else 1]]
        elif kind == JOIN:
            handed = [join(deps)]
        elif kind == WAIT:
            token = join(deps)
            self.hostMust |= token.must
            self.hostMay |= token.may | self.earlier
            return
        else:
            handed = [self.enqueue(stmt, join(deps))]
        env.update(zip(stmt.names, handed))

    def run_loop(self, stmt, tokens, env):
        """Iterations from the second on may come after the earlier ones. The
        stream of a carried token has all that the token was before; what sets
        the token comes after what is on that stream."""
        outer, carries = self.earlier, self.carried
        self.carried = carries or bool(stmt.deps or stmt.names)
        position = len(self.shown)
        enter, leave = {}, {}
        # Streams wait before the loop for what it may need, run or not.
        hoisted = join(env[name] for name in stmt.uses() if name in env).may
        self.hoisted |= hoisted
        self.nested |= hoisted
        outerNested, self.nested = self.nested, 0

        def carry(slots, tokens):
            for number, token in enumerate(tokens):
                slots[number] = slots.get(number, 0) | token.may
                if self.carried:
                    self.earlier |= token.may
            return [Token(t.direct, t.must, t.may | slots[n]) for n, t in enumerate(tokens)]

        tokens = out = carry(enter, tokens)
        trips = self.decisions.read(*stmt.place[:2]) if stmt.kind == FOR else None
        while trips != 0:
            for shown in self.shown[position:]:
                self.earlier |= shown.may | 1 << shown.number
            self.earlier |= self.nested
            position = len(self.shown)
            if stmt.kind == FOR:
                tokens = out = carry(enter, self.run(stmt.bodies[0], tokens, env))
                trips -= 1
                continue
            out = carry(leave, self.run(stmt.bodies[0], tokens, env))
            if not self.decisions.read(*stmt.place[:2]):
                break
            tokens = carry(enter, self.run(stmt.bodies[1], out, env))
        shared, self.carried = self.earlier & ~outer, carries
        self.nested |= outerNested
        if not carries:
            self.earlier = outer
        return [Token(t.direct, t.must, t.may | shared) for t in out]

    def enqueue(self, stmt, token):
        must, may = token.must, token.may | self.earlier
        if stmt.pointer is not None:
            before = self.lastOn.get(stmt.pointer, Token())
            must, may = must | before.must, may | before.may
        number = self.count
        bit = 1 << number
        self.count += 1
        shown = Shown(stmt.kind, token.direct, may | self.hostMay, self.hostMust, self.hostMay)
        shown.number = number
        self.shown.append(shown)
        if self.carried:
            self.earlier |= shown.may | bit
        if stmt.kind == LAUNCH:
            self.time |= bit
        # Nobody waits for a free or a host-shared allocation.
        stands = bit if stmt.kind in (LAUNCH, ALLOC) else 0
        if stmt.pointer is not None:
            self.lastOn[stmt.pointer] = Token(bit, must | bit, may | bit)
        return Token(stands or token.direct, must | stands, may | stands)


# ----------------------------------------------------------------------------
# The stream form
# ----------------------------------------------------------------------------


class Region:
    """An op with regions, as printed: its first line, and lines and ops."""

    def __init__(self, head):
        self.head, self.bodies = head, []


class Form:
    """The printed stream form of one function."""

    def __init__(self, lines):
        self.arguments = re.findall(r"(%\w+): (!?[\w.<>]+)", lines[0])
        self.creates = sum("stream.create" in line for line in lines)
        self.lines = lines
        self.body = []
        self.places = {}  # of each id that is waited for: the region ops around it
        stack, ops = [self.body], []
        for number, line in enumerate(lines[1:-1], 1):
            text = line.split("//")[0].strip()
            if not text or text.startswith("^"):
                continue
            if text.startswith("} "):  # else, do
                stack.pop()
                ops[-1].bodies.append([])
                stack.append(ops[-1].bodies[-1])
            elif text == "}":
                stack.pop()
                if ops[-1].head.startswith("scf.index_switch") and ops[-1].labels[-1] != "default":
                    continue
                ops.pop()
            elif text.startswith(("case ", "default ")):
                ops[-1].labels.append(text[:-2])
                ops[-1].bodies.append([])
                stack.append(ops[-1].bodies[-1])
            elif text.startswith("scf.index_switch"):
                ops.append(Region(text))
                ops[-1].labels = []
                stack[-1].append(ops[-1])
            elif text.endswith("{"):
                ops.append(Region(text))
                ops[-1].bodies.append([])
                stack[-1].append(ops[-1])
                stack.append(ops[-1].bodies[0])
            else:
                stack[-1].append(text)
                number = re.search(r" id\((\d+)", text)
                if number:
                    isWaitedFor = ".dealloc " not in text and " host_shared" not in text
                    self.places[int(number[1])] = (list(ops), isWaitedFor)
        assert len(stack) == 1, lines


class Frame:
    """One run of a function: the past of its streams and events by name."""

    def __init__(self, form):
        self.form = form
        self.past, self.events, self.gone = {}, {}, set()
        self.pointers, self.values = {}, {}
        self.clock, self.entered, self.latest = 0, {}, {}  # for `after`


class Machine:
    """Executes the stream form."""

    def __init__(self, forms, function, model, decisions, exact):
        self.forms, self.model, self.decisions, self.exact = forms, model, decisions, exact
        self.errors, self.kinds, self.redundant = [], set(), 0
        self.host, self.count, self.index = 0, 0, 0
        self.frame = None
        form = forms[function.name]
        self.externals = {name: 0 for name, type in form.arguments if type == "!llvm.ptr"}
        events = []
        for _ in function.arguments:
            events.append(1 << self.count)
            self.count += 1
        self.argumentCount = self.count
        results = self.call(form, events, None)
        if self.index != len(model.shown):
            self.error("less work than in the program")
        for event, token in zip(results, model.results):
            if token.must & ~(event | self.host):
                self.lose("result", "a result lacks %s" % bits(token.must & ~event))
            if exact and event & model.time & ~(token.may | self.host):
                self.error("a result has %s" % bits(event & model.time & ~token.may))

    def error(self, text):
        self.errors.append(text)

    def lose(self, kind, text):
        self.kinds.add(kind)
        self.error(text)

    def call(self, form, events, arguments):
        caller, self.frame = self.frame, Frame(form)
        frame, first = self.frame, self.count
        given = iter(events)
        for name, type in form.arguments:
            if type == "!gpu_async.event":
                frame.events[name] = next(given)
            elif type.endswith("xi1>"):
                frame.values[name] = "c"
            elif type.endswith("xindex>"):
                frame.values[name] = "n"
        self.run(form.body[:-1])
        results = self.leave(form.body[-1], first)
        self.frame = caller
        return results

    def stream(self, name):
        frame = self.frame
        if name in frame.gone or name not in frame.past:
            self.error("use of %s, which is gone or was never made" % name)
        key = frame.pointers.get(name)
        return self.externals[key] if key else frame.past.get(name, 0)

    def setStream(self, name, value):
        key = self.frame.pointers.get(name)
        if key:
            self.externals[key] = value
        else:
            self.frame.past[name] = value

    def event(self, name):
        if name not in self.frame.events:
            self.error("use of %s, which is gone or was never made" % name)
        return self.frame.events.get(name, 0)

    def setEvent(self, name, value):
        if name in self.frame.events:
            self.error("%s is recorded again while alive" % name)
        self.frame.events[name] = value

    def run(self, lines):
        """Returns the value of the condition that ends them, if one does."""
        values = self.frame.values
        for line in lines:
            if not isinstance(line, Region):
                if line.startswith("scf.condition"):
                    return values[re.search(r"%\w+", line)[0]]
                self.step(line)
                continue
            names = re.findall(r"%\w+", line.head)
            self.frame.clock += 1
            self.frame.entered[line] = self.frame.clock
            if line.head.startswith("scf.for"):
                for _ in range(values[names[2]]):
                    self.run(line.bodies[0])
            elif line.head.startswith("scf.while"):
                while self.run(line.bodies[0]):
                    self.run(line.bodies[1])
            elif line.head.startswith("scf.if"):
                taken = 0 if values[names[0]] else 1
                if taken < len(line.bodies):
                    self.run(line.bodies[taken])
            elif line.head.startswith("scf.index_switch"):
                label = "case %d" % values[names[0]]
                self.run(line.bodies[line.labels.index(label if label in line.labels else "default")])
            elif line.head.startswith("scf.execute_region"):
                self.run(line.bodies[0])
            else:
                raise ValueError(line.head)
        return None

    def step(self, line):
        names = re.findall(r"%[\w#]+", line)
        frame = self.frame
        if " = arith.constant " in line:
            frame.values[names[0]] = int(re.search(r"constant (-?\d+)", line)[1]) if "index" in line else None
        elif " = memref.load " in line:
            frame.values[names[0]] = self.decisions.read(frame.values[names[1]], frame.values[names[2]])
        elif "stream.create" in line or "stream.external" in line:
            if names[0] in frame.past and names[0] not in frame.gone:
                self.error("%s is made again while alive" % names[0])
            frame.gone.discard(names[0])
            frame.past[names[0]] = 0
            if "external" in line:
                frame.pointers[names[0]] = names[1]
        elif "stream.destroy" in line:
            past = self.stream(names[0])
            if " idle" in line and past & ~self.host:
                self.lose("idle", "%s is not idle: %s" % (names[0], bits(past & ~self.host)))
            frame.gone.add(names[0])
        elif "stream.wait" in line:
            past, event = self.stream(names[0]), self.event(names[1])
            if not event & ~(past | self.host):
                self.redundant += 1
            self.setStream(names[0], past | event)
        elif "stream.synchronize" in line:
            for name in names:
                if name in frame.pointers:
                    self.error("waits for a caller's stream")
                self.host |= self.stream(name)
        elif "event.record" in line:
            self.setEvent(names[0], self.stream(names[1]) | self.host)
        elif "event.ready" in line:
            self.setEvent(names[0], 0)
        elif "event.destroy" in line:
            self.event(names[0])
            frame.events.pop(names[0], None)
        elif "event.synchronize" in line:
            for name in names:
                self.host |= self.event(name)
        elif " id(" in line:
            self.enqueue(line)
        elif "call @" in line:
            self.step_call(line)
        elif not line.startswith("scf.yield"):
            raise ValueError(line)

    def step_call(self, line):
        callee = self.forms[re.search(r"@(\w+)", line)[1]]
        passed = re.findall(r"%[\w#]+", line[line.index("@"):])
        events = []
        for name, (_, type) in zip(passed, callee.arguments):
            if type == "!gpu_async.event":
                events.append(self.event(name))
                self.frame.events.pop(name, None)
        results = self.call(callee, events, passed)
        made = re.match(r"(%\w+)(:\d+)? = ", line)
        for number, event in enumerate(results):
            self.setEvent(made[1] + ("#%d" % number if made[2] else ""), event)

    def enqueue(self, line):
        stream = re.search(r" on (%\w+) id\(", line)[1]
        start = self.stream(stream) | self.host
        number = self.count
        self.count += 1
        self.checkAfter(line, start, number)
        if self.index >= len(self.model.shown):
            return self.error("more work than in the program")
        shown = self.model.shown[self.index]
        self.index += 1
        self.setStream(stream, start | 1 << number)
        if number != shown.number:
            return self.error("op %d of the program is enqueued as %d" % (shown.number, number))
        if shown.needs & ~start:
            self.lose("order", "lost order: %d after %s: %s" % (number, bits(shown.needs & ~start), line))
        added = start & self.model.time & ~shown.may
        if self.exact and shown.kind == LAUNCH and added:
            self.error("added order: %d after %s: %s" % (number, bits(added), line))
        self.checkHost(shown, number)

    def checkAfter(self, line, start, number):
        """What `after` says: if u has run since the last entry of the outermost
        region op that holds it but not v, its latest run is before v."""
        frame = self.frame
        match = re.search(r" id\((\d+)(?: after \[([\d, ]*)\])?\)", line)
        around = frame.form.places[int(match[1])][0]
        for after in map(int, re.findall(r"\d+", match[2] or "")):
            place, isWaitedFor = frame.form.places[after]
            if after not in frame.latest or not isWaitedFor:
                continue
            time, bit = frame.latest[after]
            outermost = next((op for op in place if op not in around), None)
            if time > frame.entered.get(outermost, -1) and bit & ~start:
                self.lose("after", "%d is not after the latest op %d: %s" % (number, after, line))
        frame.clock += 1
        frame.latest[int(match[1])] = (frame.clock, 1 << number)

    def checkHost(self, shown, number):
        time = self.model.time
        if shown.hostMust & ~self.host & time:
            self.lose("host", "the host does not wait for %s before %d" % (bits(shown.hostMust & ~self.host & time), number))
        if self.exact and self.host & ~shown.hostMay & time:
            self.error("the host waits for %s too much before %d" % (bits(self.host & ~shown.hostMay & time), number))

    def leave(self, line, first):
        frame = self.frame
        own = self.model.time & ~((1 << first) - 1) & ((1 << self.count) - 1)
        done, results = self.host, []
        for name in re.findall(r"%[\w#]+", line):
            results.append(self.event(name))
            frame.events.pop(name, None)
            done |= results[-1]
        for past in self.externals.values():
            done |= past
        if own & ~done:
            self.lose("open", "left open at return: %s" % bits(own & ~done))
        alive = [n for n in frame.past if n not in frame.gone] + list(frame.events)
        if alive:
            self.error("leaked: %s" % alive)
        return results


def bits(mask):
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


# ----------------------------------------------------------------------------
# Running the compiler
# ----------------------------------------------------------------------------

HEAD = "gpu.module @k { gpu.func @f(%x: memref<4xi32>) kernel { gpu.return } }"


def make_functions(seed, count, without=(), chains=False):
    rng = random.Random(seed)
    functions = []
    for number in range(count):
        functions.append(Function(rng, number, [f for f in functions if f.isCallee], without, chains))
    return functions


def assign(gpu_opt, functions, limit, reduce, verify=True):
    """The stream forms by function name, or what gpu-opt says."""
    text = [HEAD]
    for function in functions:
        text += function.emit()
    result = subprocess.run(
        [gpu_opt, "-", "-gpu-async-verify-form=form=token"] + ["-gpu-async-reduce-dependencies"] * reduce +
        ["-gpu-async-make-forks-explicit", "-gpu-async-verify-form=form=linear", "-gpu-async-assign-streams=max-streams=%d" % limit,
         "-gpu-async-verify-form=form=stream"] + ["-gpu-async-verify-schedule"] * verify,
        input="\n".join(text), capture_output=True, text=True)
    if result.returncode:
        return None, "gpu-opt --max-streams=%d: exit code %d\n%s" % (limit, result.returncode, result.stderr[:4000])
    forms, current = {}, None
    for line in result.stdout.splitlines():
        start = re.match(r"  func.func (?:private )?@(f\d+)\(", line)
        if start:
            current = forms.setdefault(start[1], [])
        if current is not None:
            current.append(line)
        if line == "  }":
            current = None
    return {name: Form(lines) for name, lines in forms.items()}, None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gpu_opt")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--functions", type=int, default=300)
    parser.add_argument("--paths", type=int, default=4)
    parser.add_argument("--max-streams", type=int, action="append")
    parser.add_argument("--without", action="append", default=[], choices=["flow", "calls", "outer"],
                        help="tokens stay in their block, there are no calls, or calls in regions take no token "
                             "of outside")
    parser.add_argument("--chains", action="store_true",
                        help="most work follows the work before it, and loops carry several tokens, as inferred ones do")
    parser.add_argument("--no-verify-schedule", action="store_true", help="find all by executing alone")
    parser.add_argument("--only", type=int, help="this function and what it calls alone")
    parser.add_argument("--show", type=int, help="print this function before and after")
    parser.add_argument("--redundant", action="store_true", help="name the functions with waits that others imply")
    options = parser.parse_args()
    print("check-order: --seed=%d --functions=%d" % (options.seed, options.functions))
    functions = make_functions(options.seed, options.functions, options.without, options.chains)
    if options.only is not None:
        functions = [f for f in functions if f.isCallee and f.number < options.only or f.number == options.only]
    failures = 0
    for limit, reduce in itertools.product(options.max_streams or [0, 1, 2, 8], [False, True]):
        forms, error = assign(options.gpu_opt, functions, limit, reduce, not options.no_verify_schedule)
        if error:
            sys.exit(error)
        redundant = ops = 0
        for function in functions:
            form = forms[function.name]
            errors = []
            if limit and not function.results and form.creates > limit:
                errors.append("%d streams" % form.creates)
            for path in range(options.paths):
                seed = function.number * 1000 + path
                model = Model(function, Decisions(seed))
                machine = Machine(forms, function, model, Decisions(seed), limit == 0)
                errors += machine.errors
                redundant += machine.redundant
                if options.redundant and machine.redundant:
                    print("@%s: %s" % (function.name, machine.redundant))
                ops += len(model.shown)
            if errors:
                failures += 1
                print("--max-streams=%d%s @%s: %s" % (limit, ", reduced" * reduce, function.name, errors[:3]))
            if options.show == function.number:
                print("\n".join(function.emit()))
                print("\n".join(form.lines))
        print("max-streams=%d%s: %d ops enqueued, %d waits that an earlier one implies"
              % (limit, ", reduced" * reduce, ops, redundant))
    if failures:
        sys.exit("%d functions failed" % failures)


if __name__ == "__main__":
    main()
