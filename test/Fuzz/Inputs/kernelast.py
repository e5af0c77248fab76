# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Random kernels as trees of statements, which print themselves as MLIR and as Python:
# the body of a kernel is a generator there, of which each thread of a block has one
# and which yields where the threads meet (kerneloracle.py). See docs/reference/Testing.md.

import itertools

ZERO = {"i1": "false", "f32": "0.0 : f32", "vector<4xi32>": "dense<0> : vector<4xi32>"}
PYZERO = {"f32": "0.0", "vector<4xi32>": "(0, 0, 0, 0)"}


class Value:
    """A value of SSA form. `uniform`: the threads of a block agree about it. A value
    whose statement was dropped is `gone`: a zero stands for it."""

    numbers = itertools.count()

    def __init__(self, type, uniform=False):
        self.type, self.uniform, self.gone = type, uniform, False
        self.name = "v%d" % next(Value.numbers)

    def mlir(self):
        return "%zero_" + self.type.translate({ord(c): "_" for c in "<>"}) if self.gone else "%" + self.name

    def py(self):
        return PYZERO.get(self.type, "0") if self.gone else self.name


def zeros(types):
    """The constants that stand for values that are gone."""
    lines = []
    for type in types:
        value = Value(type)
        value.gone = True
        lines.append("%s = arith.constant %s" % (value.mlir(), ZERO.get(type, "0 : " + type)))
    return lines


def typed(values):
    """Names and types as the branches of cf take them; nothing for none."""
    if not values:
        return ""
    return "(%s : %s)" % (", ".join(v.mlir() for v in values), ", ".join(v.type for v in values))


def declared(values):
    return "(%s)" % ", ".join("%s: %s" % (v.mlir(), v.type) for v in values) if values else ""


def names(values):
    return ", ".join(v.mlir() for v in values)


def types(values):
    return ", ".join(v.type for v in values)


def assigned(targets, sources):
    """A Python statement."""
    if not targets:
        return "pass"
    return "%s = %s" % ("".join(v.name + ", " for v in targets), "".join(v.py() + ", " for v in sources))


class Body:
    """Statements and the values that they end with. In a loop of branches `again` is
    where the next round begins."""

    def __init__(self, arguments=()):
        self.arguments, self.statements, self.yields = list(arguments), [], []

    def python(self, out, path):
        for i, statement in enumerate(self.statements):
            statement.python(out, path + ("%d" % i,))

    def mlir(self, out):
        for statement in self.statements:
            statement.mlir(out)


class Statement:
    results = operands = bodies = ()

    def keeps(self):
        """Whether something hangs on it that no zero can stand for."""
        return any("memref" in v.type or "ptr" in v.type for v in self.results)


class Text:
    """Lines of MLIR, with labels of their own."""

    def __init__(self):
        self.lines, self.labels = [], itertools.count()

    def add(self, line):
        self.lines.append("      " + line)

    def label(self):
        return "^b%d" % next(self.labels)

    def start(self, label, arguments=()):
        self.lines.append("    %s%s:" % (label, declared(arguments)))


class Python:
    """Lines of Python."""

    def __init__(self):
        self.lines, self.depth, self.counters = [], 1, itertools.count()

    def add(self, line):
        self.lines.append("  " * self.depth + line)


def pathText(path):
    """What orders the places where threads meet: as the program runs through them."""
    return "path + (%s,)" % ", ".join(path)


class Op(Statement):
    """One op. In `text` and `python` {0}, {1} stand for operands, {r}, {s} for
    results, {path} for the place; an empty `python` does nothing."""

    def __init__(self, results, operands, text, python):
        self.results, self.operands, self.text, self.code = results, operands, text, python

    def mlir(self, out):
        named = dict(zip("rs", (v.mlir() for v in self.results)))
        for line in self.text.format(*(v.mlir() for v in self.operands), **named).split("\n"):
            out.add(line)

    def python(self, out, path):
        if self.code:
            named = dict(zip("rs", (v.name for v in self.results)), path=pathText(path))
            for line in self.code.format(*(v.py() for v in self.operands), **named).split("\n"):
                out.add(line)


class If(Statement):
    """scf.if or branches; without results the second body may be missing."""

    def __init__(self, condition, results, bodies, cf):
        self.operands, self.results, self.bodies, self.cf = [condition], results, bodies, cf

    def mlir(self, out):
        condition = self.operands[0].mlir()
        if self.cf:
            then, other, after = out.label(), out.label(), out.label()
            out.add("cf.cond_br %s, %s, %s" % (condition, then, other if len(self.bodies) > 1 else after))
            for label, body in zip((then, other), self.bodies):
                out.start(label)
                body.mlir(out)
                out.add("cf.br %s%s" % (after, typed(body.yields)))
            out.start(after, self.results)
            return
        if self.results:
            out.add("%s = scf.if %s -> (%s) {" % (names(self.results), condition, types(self.results)))
        else:
            out.add("scf.if %s {" % condition)
        for i, body in enumerate(self.bodies):
            if i:
                out.add("} else {")
            body.mlir(out)
            if body.yields:
                out.add("scf.yield %s : %s" % (names(body.yields), types(body.yields)))
        out.add("}")

    def python(self, out, path):
        for i, body in enumerate(self.bodies):
            out.add("if %s:" % self.operands[0].py() if not i else "else:")
            out.depth += 1
            body.python(out, path + ("%d" % i,))
            out.add(assigned(self.results, body.yields))
            out.depth -= 1


class Switch(Statement):
    """scf.index_switch or cf.switch; the last body is the default."""

    def __init__(self, index, cases, results, bodies, cf):
        self.operands, self.cases, self.results, self.bodies, self.cf = [index], cases, results, bodies, cf

    def mlir(self, out):
        index = self.operands[0].mlir()
        if self.cf:
            labels, after, flag = [out.label() for _ in self.bodies], out.label(), "%%f%s" % out.label()[1:]
            out.add("%s = arith.index_cast %s : index to i32" % (flag, index))
            out.add("cf.switch %s : i32, [default: %s%s]" % (flag, labels[-1], "".join(
                ", %d: %s" % pair for pair in zip(self.cases, labels))))
            for label, body in zip(labels, self.bodies):
                out.start(label)
                body.mlir(out)
                out.add("cf.br %s%s" % (after, typed(body.yields)))
            out.start(after, self.results)
            return
        head = "%s = " % names(self.results) if self.results else ""
        out.add("%sscf.index_switch %s%s" % (head, index, " -> " + types(self.results) if self.results else ""))
        for case, body in zip(self.cases + [None], self.bodies):
            out.add("default {" if case is None else "case %d {" % case)
            body.mlir(out)
            out.add("scf.yield %s : %s" % (names(body.yields), types(body.yields)) if body.yields else "scf.yield")
            out.add("}")

    def python(self, out, path):
        for i, body in enumerate(self.bodies):
            word = "if" if not i else "elif"
            test = "%s %s == %d:" % (word, self.operands[0].py(), self.cases[i]) if i < len(self.cases) else "else:"
            out.add(test)
            out.depth += 1
            body.python(out, path + ("%d" % i,))
            out.add(assigned(self.results, body.yields))
            out.depth -= 1


class For(Statement):
    """scf.for or branches. The body's arguments are the counter and what is carried;
    operands: lower bound, upper bound, step, initial values."""

    def __init__(self, bounds, inits, results, body, cf):
        self.operands, self.results, self.bodies, self.cf = bounds + inits, results, [body], cf

    def mlir(self, out):
        lower, upper, step = (v.mlir() for v in self.operands[:3])
        inits, body = self.operands[3:], self.bodies[0]
        counter, carried = body.arguments[0], body.arguments[1:]
        if self.cf:
            head, inside, latch, after = (out.label() for _ in range(4))
            tag = head[2:]
            out.add("cf.br %s%s" % (head, typed(self.operands[:1] + inits)))
            out.start(head, body.arguments)
            out.add("%%more%s = arith.cmpi slt, %s, %s : index" % (tag, counter.mlir(), upper))
            out.add("cf.cond_br %%more%s, %s, %s%s" % (tag, inside, after, typed(carried)))
            out.start(inside)
            body.leave, body.again = after, latch
            body.mlir(out)
            out.add("cf.br %s%s" % (latch, typed(body.yields)))
            passed = [Value(v.type) for v in carried]
            out.start(latch, passed)
            next = Value("index")
            out.add("%s = arith.addi %s, %s : index" % (next.mlir(), counter.mlir(), step))
            out.add("cf.br %s%s" % (head, typed([next] + passed)))
            out.start(after, self.results)
            return
        head = "%s = " % names(self.results) if self.results else ""
        carries = ""
        if carried:
            carries = " iter_args(%s) -> (%s)" % (
                ", ".join("%s = %s" % (a.mlir(), i.mlir()) for a, i in zip(carried, inits)), types(carried))
        out.add("%sscf.for %s = %s to %s step %s%s {" % (head, counter.mlir(), lower, upper, step, carries))
        body.mlir(out)
        if carried:
            out.add("scf.yield %s : %s" % (names(body.yields), types(body.yields)))
        out.add("}")

    def python(self, out, path):
        body, round = self.bodies[0], "round%d" % next(out.counters)
        counter, carried = body.arguments[0], body.arguments[1:]
        out.add("%s = %s; %s = 0" % (counter.name, self.operands[0].py(), round))
        out.add(assigned(carried, self.operands[3:]))
        out.add("while signed(%s, 64) < signed(%s, 64):" % (counter.name, self.operands[1].py()))
        out.depth += 1
        out.add("thread.count()")
        body.step = "%s = (%s + %s) & M64; %s += 1" % (counter.name, counter.name, self.operands[2].py(), round)
        body.python(out, path + (round,))
        out.add(assigned(carried, body.yields))
        out.add(body.step)
        out.depth -= 1
        out.add(assigned(self.results, carried))


class While(Statement):
    """scf.while or branches: the first body yields the condition and what is passed on
    to the second one, which yields what the first one begins with."""

    def __init__(self, inits, results, bodies, cf):
        self.operands, self.results, self.bodies, self.cf = inits, results, bodies, cf

    def mlir(self, out):
        before, after = self.bodies
        condition, passed = before.yields[0], before.yields[1:]
        if self.cf:
            head, inside, leave = (out.label() for _ in range(3))
            out.add("cf.br %s%s" % (head, typed(self.operands)))
            out.start(head, before.arguments)
            before.mlir(out)
            out.add("cf.cond_br %s, %s%s, %s%s" % (condition.mlir(), inside, typed(passed), leave, typed(passed)))
            out.start(inside, after.arguments)
            after.leave, after.again = leave, head
            after.mlir(out)
            out.add("cf.br %s%s" % (head, typed(after.yields)))
            out.start(leave, self.results)
            return
        head = "%s = " % names(self.results) if self.results else ""
        out.add("%sscf.while (%s) : (%s) -> (%s) {" % (
            head, ", ".join("%s = %s" % (a.mlir(), i.mlir()) for a, i in zip(before.arguments, self.operands)),
            types(self.operands), types(passed)))
        before.mlir(out)
        out.add("scf.condition(%s) %s : %s" % (condition.mlir(), names(passed), types(passed)) if passed
                else "scf.condition(%s)" % condition.mlir())
        out.add("} do {")
        if after.arguments:
            out.lines.append("    ^bb0%s:" % declared(after.arguments))
        after.mlir(out)
        out.add("scf.yield %s : %s" % (names(after.yields), types(after.yields)) if after.yields else "scf.yield")
        out.add("}")

    def python(self, out, path):
        (before, after), round = self.bodies, "round%d" % next(out.counters)
        out.add("%s = 0" % round)
        out.add(assigned(before.arguments, self.operands))
        out.add("while True:")
        out.depth += 1
        out.add("thread.count()")
        before.python(out, path + (round, "0"))
        out.add(assigned(after.arguments, before.yields[1:]))
        out.add("if not %s:" % before.yields[0].py())
        out.depth += 1
        out.add(assigned(self.results, before.yields[1:]))
        out.add("break")
        out.depth -= 1
        after.step = "%s += 1" % round
        after.python(out, path + (round, "1"))
        out.add(assigned(before.arguments, after.yields))
        out.add(after.step)
        out.depth -= 1


class Region(Statement):
    """scf.execute_region, whose inside may have branches."""

    def __init__(self, results, body):
        self.results, self.bodies = results, [body]

    def mlir(self, out):
        head = "%s = " % names(self.results) if self.results else ""
        out.add("%sscf.execute_region%s {" % (head, " -> (%s)" % types(self.results) if self.results else ""))
        self.bodies[0].mlir(out)
        yields = self.bodies[0].yields
        out.add("scf.yield %s : %s" % (names(yields), types(yields)) if yields else "scf.yield")
        out.add("}")

    def python(self, out, path):
        self.bodies[0].python(out, path + ("0",))
        out.add(assigned(self.results, self.bodies[0].yields))


class Leave(Statement):
    """Where branches leave: kind `return` with the function's results, `break` with
    the results of `loop`, `continue` with what its next round begins with."""

    def __init__(self, kind, condition, values, loop, function):
        self.kind, self.operands, self.loop, self.function = kind, [condition] + values, loop, function

    def mlir(self, out):
        values, after = self.operands[1:], out.label()
        if self.kind == "return":
            target = self.function.leave
        else:
            body = self.loop.bodies[-1]
            target = body.leave if self.kind == "break" else body.again
        out.add("cf.cond_br %s, %s%s, %s" % (self.operands[0].mlir(), target, typed(values), after))
        out.start(after)

    def python(self, out, path):
        values = self.operands[1:]
        out.add("if %s:" % self.operands[0].py())
        out.depth += 1
        if self.kind == "return":
            out.add("return (%s)" % "".join(v.py() + ", " for v in values))
        elif self.kind == "break":
            if isinstance(self.loop, For):
                out.add(assigned(self.loop.bodies[0].arguments[1:], values))
            else:
                out.add(assigned(self.loop.results, values))
            out.add("break")
        else:
            arguments = self.loop.bodies[0].arguments
            out.add(assigned(arguments[1:] if isinstance(self.loop, For) else arguments, values))
            out.add(self.loop.bodies[-1].step)
            out.add("continue")
        out.depth -= 1


class Call(Statement):
    def __init__(self, function, results, operands):
        self.function, self.results, self.operands = function, results, operands

    def mlir(self, out):
        head = "%s = " % names(self.results) if self.results else ""
        out.add("%sfunc.call @%s(%s) : (%s) -> (%s)" % (head, self.function.name, names(self.operands),
                                                        types(self.operands), types(self.results)))

    def python(self, out, path):
        call = "yield from %s(thread, %s%s)" % (self.function.name, pathText(path),
                                                "".join(", " + v.py() for v in self.operands))
        out.add("%s = %s" % ("".join(v.name + ", " for v in self.results), call) if self.results else call)


class Function:
    """A func.func of the kernels' module, or a kernel with its launch: `memory` are
    its attributions as pairs of value and "workgroup" or "private"."""

    def __init__(self, name, arguments):
        self.name, self.body, self.memory, self.isKernel = name, Body(arguments), [], False
        self.leave = None

    def mlir(self, zeroed):
        out, results = Text(), self.body.yields
        self.leave = "^leave"
        for line in zeros(zeroed):
            out.add(line)
        self.body.mlir(out)
        if any(isinstance(s, Leave) and s.kind == "return" for s in walk(self.body)):
            values = [Value(v.type) for v in results]
            out.add("cf.br ^leave%s" % typed(results))
            out.start("^leave", values)
            results = values
        end = "gpu.return" if self.isKernel else "return"
        out.add("%s %s : %s" % (end, names(results), types(results)) if results else end)
        head = "func.func private @%s%s -> (%s)" % (self.name, declared(self.body.arguments) or "()", types(results))
        if self.isKernel:
            head = "gpu.func @%s%s" % (self.name, declared(self.body.arguments))
            for space in ("workgroup", "private"):
                if given := [v for v, s in self.memory if s == space]:
                    head += " %s%s" % (space, declared(given))
            head += " kernel"
        return ["    %s {" % head] + out.lines + ["    }"]

    def python(self):
        out = Python()
        for value, space in self.memory:
            if space == "workgroup":
                out.add("%s = thread.block.array(%r)" % (value.name, value.name))
            else:
                out.add("%s = Private()" % value.name)
        self.body.python(out, ())
        out.add("return (%s)" % "".join(v.py() + ", " for v in self.body.yields))
        out.add("yield")
        return ["def %s(thread, path%s):" % (self.name, "".join(", " + v.name for v in self.body.arguments))] + out.lines


def walk(body):
    for statement in body.statements:
        yield statement
        for inner in statement.bodies:
            yield from walk(inner)
