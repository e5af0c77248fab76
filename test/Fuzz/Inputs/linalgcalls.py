# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Programs of linalgrounds.py with globals that kernels and called functions write, by name,
# by an address or as memory that a function returned. Some of these functions call
# themselves or are called through a pointer. With branches between tensors
# of different sizes, tensors that change places, sums beside an output with an element
# for each round, and control-flow graphs.

import numpy as np

import linalgprograms as L
import linalgrounds as R
from linalgprograms import D, I1, Map, Op, Val, literal, need


def rows(d, count):
    return D(d.v[:count], d.e[:count] if np.ndim(d.e) else d.e)


class Generator(R.Generator):
    def __init__(self, seed, features, size):
        self.globals = []
        super().__init__(seed, features, size)

    def kinds(self):
        kinds = super().kinds()
        if "rounds" in self.features and self.form == "tensor":
            kinds.update(chosen=1.2, swap=1.2, twice=1, beside=1, graph=1.2)
        if "global" in self.features and self.hasMemory and self.family != "complex":
            kinds.update(newGlobal=1.5 + 6 * (not self.globals), called=8 * (len(self.reached()) > 0))
        return kinds

    def attempt(self, kind=None):
        known = self.reached()
        done = super().attempt(kind)
        self.memories += [m for m in known if m not in self.memories]
        return done

    def reached(self):
        """Globals that ops here may use: not those of a function's caller."""
        return [m for m in self.globals if m in self.memories]

    def finish(self):
        """A global is copied to an argument in the end, which is compared."""
        super().finish()
        for m in self.globals:
            if m not in self.program.memory:
                continue
            out = Val(self.name("a"), m.t, m.shape, form="memref")
            out.isMemory = True
            self.program.args.append((out, D(np.zeros(m.shape, dtype=np.float64 if m.t.kind == "f" else np.int64))))
            self.program.ops.append(Op(["memref.copy %s, %s : %s to %s" % (m.name, out.name, m.type, out.type)], [out],
                                       lambda env, m=m, out=out: env.__setitem__(out.name, env[m.name]), [m.name, out.name]))
            self.program.memory[self.program.memory.index(m)] = out

    #-- Globals and functions

    def newGlobal(self):
        rng = self.rng
        need(self.blocks[-1] is self.program.ops)
        t = rng.choice([t for t in self.types if t.kind != "c"])
        shape = [min(s, 12) or 1 for s in self.drawShape(rng.choice([0, 1, 1, 2]))]
        need(t is not I1)
        values = np.array([rng.randrange(-3, 4) for _ in range(int(np.prod(shape)))]).reshape(shape) * (1.0 if t.kind == "f" else 1)
        m = Val(self.name("g"), t, shape, form="memref")
        m.isMemory, m.isTensor, m.symbol = True, False, "%s_g%d" % (self.program.name, self.number)
        text = lambda a: "[%s]" % ", ".join(map(text, a)) if np.ndim(a) else literal(a, t)
        self.program.functions.append("memref.global \"private\" @%s : %s = dense<%s>\n" % (m.symbol, m.type, text(values)))
        get = Op(["%s = memref.get_global @%s : %s" % (m.name, m.symbol, m.type)], [m], lambda env: env.__setitem__(m.name, D(values)), [])
        get.run(self.env)
        self.program.ops.insert(0, get)
        self.globals.append(m)
        self.memories.append(m)

    def getter(self, m):
        """A function that calls itself and returns the global's memory."""
        name = "%s_m%s" % (self.program.name, self.name("")[1:])
        self.program.functions.append("""func.func private @%s(%%n: index) -> %s {
  %%zero = arith.constant 0 : index
  %%isEnd = arith.cmpi eq, %%n, %%zero : index
  %%q = scf.if %%isEnd -> (%s) {
    %%g = memref.get_global @%s : %s
    scf.yield %%g : %s
  } else {
    %%one = arith.constant 1 : index
    %%m = arith.subi %%n, %%one : index
    %%s = func.call @%s(%%m) : (index) -> %s
    scf.yield %%s : %s
  }
  return %%q : %s
}
""" % (name, m.type, m.type, m.symbol, m.type, m.type, name, m.type, m.type, m.type))
        return name

    def action(self, m, mayBeKernel, isInlined):
        """Lines that change a global, and what that does. Its first element comes out as %r."""
        rng, lines = self.rng, ["%%g = memref.get_global @%s : %s" % (m.symbol, m.type)]
        zero = np.zeros(len(m.shape), dtype=np.int64)
        lines += ["%z = arith.constant 0 : index"]
        kind, first = rng.choice(["read", "store"] + ["add"] * mayBeKernel), rng.random() < 0.5
        # A function with kernels of its own takes no address, and no kernel memory that was returned.
        how = rng.choice(["name", "name", "returned"] + ["address"] * (not isInlined)) if kind != "add" else "name"
        at = "%%g[%s] : %s" % (", ".join(["%z"] * len(zero)), m.type)
        load, store = "%r = memref.load " + at, "memref.store %c, " + at
        if how == "returned":
            lines = ["%z = arith.constant 0 : index", "%%d = arith.constant %d : index" % rng.randrange(3),
                     "%%g = func.call @%s(%%d) : (index) -> %s" % (self.getter(m), m.type)]
        elif how == "address":
            lines += ["%i = memref.extract_aligned_pointer_as_index %g : " + m.type + " -> index", "%j = arith.index_cast %i : index to i64",
                      "%p = llvm.inttoptr %j : i64 to !llvm.ptr"]
            load, store = "%%r = llvm.load %%p : !llvm.ptr -> %s" % m.t.text, "llvm.store %%c, %%p : %s, !llvm.ptr" % m.t.text
        value = rng.choice([0.5, -1.0, 3.0]) if m.t.kind == "f" else rng.choice([-1, 2, 5])
        d = D(np.array(value, dtype=np.float64 if m.t.kind == "f" else np.int64))
        f = L.binary("arith.addf" if m.t.kind == "f" else "arith.addi", m.t)
        change = []
        if kind != "read":
            change.append("%%c = arith.constant %s : %s" % (literal(value, m.t), m.t.text))
        if kind == "store":
            change.append(store)
        elif kind == "add":
            n = len(m.shape)
            change += ["linalg.generic {indexing_maps = [%s], iterator_types = [%s]} outs(%%g : %s) {" % (Map.of(n, range(n)).text(), ", ".join(['"parallel"'] * n), m.type),
                       "^bb0(%%x: %s):" % m.t.text, "  %%y = arith.add%s %%x, %%c : %s" % ("f" if m.t.kind == "f" else "i", m.t.text), "  linalg.yield %%y : %s" % m.t.text, "}"]

        def run(before):
            if kind == "read":
                return before
            if kind == "add":
                return f(before, d)
            v, e = np.array(before.v), np.array(np.broadcast_to(before.e, before.v.shape), dtype=np.float64)
            v[tuple(zero)], e[tuple(zero)] = d.v, 0.0
            return D(v, e)
        return lines + ([load] + change if first else change + [load]), run, first

    def functionOf(self, m, isRecursive, mayBeKernel, isInlined):
        """A function that reads and changes a global; with isRecursive where its number is 0."""
        name = "%s_f%s" % (self.program.name, self.name("")[1:])
        # Functions with device work cannot be called through a pointer.
        lines, change, isReadFirst = self.action(m, mayBeKernel, isInlined)
        text = m.t.text
        if not isRecursive:
            body = ["func.func private @%s() -> %s {" % (name, text)] + ["  " + l for l in lines] + ["  return %%r : %s" % text, "}"]
        else:
            body = ["func.func private @%s(%%n: index) -> %s {" % (name, text), "  %zero = arith.constant 0 : index", "  %isEnd = arith.cmpi eq, %n, %zero : index",
                    "  %%q = scf.if %%isEnd -> (%s) {" % text] + ["    " + l for l in lines] + [
                    "    scf.yield %%r : %s" % text, "  } else {", "    %one = arith.constant 1 : index", "    %m = arith.subi %n, %one : index",
                    "    %%s = func.call @%s(%%m) : (index) -> %s" % (name, text), "    scf.yield %%s : %s" % text, "  }", "  return %%q : %s" % text, "}"]
        self.program.functions.append("\n".join(body) + "\n")
        return name, change, isReadFirst

    def called(self):
        """A call of a function that uses a global by its name, and what it read as a tensor."""
        rng = self.rng
        m = rng.choice(self.reached())
        out, lines, uses = Val(self.name("h"), m.t, (), form="number"), [], [m.name]
        kind = rng.choice(["recursive", "recursive", "plain", "pointer"])
        if kind == "pointer":
            (one, change, isFirst), (two, change2, isFirst2) = (self.functionOf(m, False, False, False) for _ in range(2))
            p, q, s = (self.name("p") for _ in range(3))
            condition = self.argument(I1, number=rng.randrange(2))
            uses.append(condition.name)
            type_ = "() -> %s" % m.t.text
            lines += ["%s = func.constant @%s : %s" % (p, one, type_), "%s = func.constant @%s : %s" % (q, two, type_),
                      "%s = arith.select %s, %s, %s : %s" % (s, condition.name, p, q, type_), "%s = func.call_indirect %s() : %s" % (out.name, s, type_)]
        else:
            one, change, isFirst = self.functionOf(m, kind == "recursive", True, kind == "plain")
            condition = None
            if kind == "recursive":
                n = self.argument(L.INDEX, number=rng.randrange(3))
                uses.append(n.name)
                lines.append("%s = func.call @%s(%s) : (index) -> %s" % (out.name, one, n.name, m.t.text))
            else:
                lines.append("%s = func.call @%s() : () -> %s" % (out.name, one, m.t.text))

        def run(env):
            isOne = condition is None or env[condition.name].v
            before = env[m.name]
            after = (change if isOne else change2)(before)
            read = before if (isFirst if isOne else isFirst2) else after
            env[m.name] = after
            at = (0,) * len(m.shape)
            env[out.name] = D(np.array(read.v[at]), np.array(read.e[at]) if np.ndim(read.e) else read.e)
        self.take(Op(lines, [out, m], run, uses))
        self.asTensor(out)

    #-- Tensors that branches and loops hand on

    def numbers(self, accept=lambda v: True):
        return self.manyRows(lambda v: v.t.kind != "c" and v.t is not I1 and accept(v))

    def doubled(self, t):
        """An op that adds a value to itself."""
        op = "arith.addf" if t.kind == "f" else "arith.addi"
        return op, L.binary(op, t)

    def chosen(self):
        """A branch gives one of several slices, each with a number of rows of its own."""
        rng, v = self.rng, self.numbers()
        # A slice may be of another tensor.
        sources = [v] + [self.of(v.t, v.shape) if rng.random() < 0.5 else v for _ in range(rng.choice([1, 1, 2]))]
        need(not any(any(s.dyn) or s.layout for s in sources))
        counts = [rng.randint(1, v.shape[0]) for _ in sources]
        isSwitch = len(sources) > 2 or rng.random() < 0.3
        which = rng.randrange(len(sources))
        select = self.argument(L.INDEX if isSwitch else I1, number=which)
        open_, lines, parts, uses = self.rowType(v, "?"), [], [], [s.name for s in sources] + [select.name]
        for source, count in zip(sources, counts):
            number = self.argument(L.INDEX, number=count)
            uses.append(number.name)
            part = self.name()
            parts.append(part)
            lines.append("%s = tensor.extract_slice %s%s : %s to %s" % (part, source.name, self.rowWindow(v, "0", number.name), v.type, open_))
        r, u = self.name(), self.name()
        if isSwitch:
            lines += ["%s = scf.index_switch %s -> %s" % (r, select.name, open_)]
            for i, part in enumerate(parts[:-1]):
                lines += ["case %d {" % i, "  scf.yield %s : %s" % (part, open_), "}"]
            lines += ["default {", "  scf.yield %s : %s" % (parts[-1], open_), "}"]
            chosen = which
        else:
            lines += ["%s = scf.if %s -> (%s) {" % (r, select.name, open_), "  scf.yield %s : %s" % (parts[0], open_), "} else {", "  scf.yield %s : %s" % (parts[1], open_), "}"]
            chosen = 0 if which else 1
        op, f = self.doubled(v.t)
        lines.append("%s = %s %s, %s : %s" % (u, op, r, r, open_))
        out = Val(self.name(), v.t, (counts[chosen],) + v.shape[1:])
        lines.append("%s = tensor.cast %s : %s to %s" % (out.name, u, open_, out.type))

        def run(env):
            d = rows(env[sources[chosen].name], counts[chosen])
            env[out.name] = f(d, d)
        self.take(Op(lines, [out], run, uses))

    def same(self, lines, slice_, row, t):
        """A copy of a slice by an op that may fold away."""
        out = self.name()
        kind = self.rng.choice(["none", "copy", "generic", "zero"])
        if kind == "none":
            return slice_
        if kind == "zero" and t.kind == "i":
            z = self.name("c")
            lines += ["%s = arith.constant dense<%s> : %s" % (z, literal(0, t), row), "%s = arith.addi %s, %s : %s" % (out, slice_, z, row)]
            return out
        e = self.name("e")
        lines.append("%s = tensor.empty() : %s" % (e, row))
        if kind == "copy":
            lines.append("%s = linalg.copy ins(%s : %s) outs(%s : %s) -> %s" % (out, slice_, row, e, row, row))
        else:
            n = row.count("x")
            map_ = Map.of(n, range(n)).text()
            x, o = self.name("s"), self.name("s")
            lines += ["%s = linalg.generic {indexing_maps = [%s, %s], iterator_types = [%s]} ins(%s : %s) outs(%s : %s) {" % (out, map_, map_, ", ".join(['"parallel"'] * n), slice_, row, e, row),
                      "^bb0(%s: %s, %s: %s):" % (x, t.text, o, t.text), "  linalg.yield %s : %s" % (x, t.text), "} -> %s" % row]
        return out

    def swap(self):
        """Iterations exchange the rows of two outputs."""
        v = self.manyRows(lambda v: v.t.kind != "c")
        w = self.of(v.t, v.shape)
        need(not any(w.dyn) and not w.layout and w is not v)
        n, rng = v.shape[0], self.rng
        outs, i, o, p = [Val(self.name(), v.t, v.shape) for _ in range(2)], self.name("i"), self.name("o"), self.name("o")
        row, whole = self.rowType(v, 1), v.type
        # An output may be a cast, whose type leaves the number of rows open.
        lines, start, types = [], v.name, {o: whole, p: whole}
        if not any(v.dyn) and not v.layout and rng.random() < 0.4:
            types[o], start = whole.replace("<%d" % n, "<?", 1), self.name()
            lines.append("%s = tensor.cast %s : %s to %s" % (start, v.name, whole, types[o]))
        body, slices = [], []
        for source in (o, p):
            slice_ = self.name()
            body.append("%s = tensor.extract_slice %s%s : %s to %s" % (slice_, source, self.rowWindow(v, i, "1"), types[source], row))
            slices.append(slice_)
        slices = [self.same(body, s, row, v.t) for s in slices]
        both = rng.random() < 0.7
        moves = [(slices[1], o), (slices[0], p)] if both else [(slices[1], o), (slices[1], p)]
        rng.shuffle(moves)  # the order of the inserts means nothing
        inserts = ["tensor.parallel_insert_slice %s into %s%s : %s into %s" % (s, to, self.rowWindow(v, i, "1"), row, types[to]) for s, to in moves]
        names = self.name()
        lines += ["%s:2 = scf.forall (%s) in (%d) shared_outs(%s = %s, %s = %s) -> (%s, %s) {" % (names, i, n, o, start, p, w.name, types[o], whole)]
        lines += ["  " + line for line in body] + ["  scf.forall.in_parallel {"] + ["    " + line for line in inserts] + ["  }", "}"]
        # Each has a name of its own for the ops behind.
        for k, out in enumerate(outs):
            lines.append("%s = tensor.cast %s#%d : %s to %s" % (out.name, names, k, types[(o, p)[k]], whole))

        def run(env):
            one, two = env[v.name], env[w.name]
            env[outs[0].name], env[outs[1].name] = two, one if both else two
        self.take(Op(lines, outs, run, [v.name, w.name]))

    def twice(self):
        """Rounds that hand a tensor on twice: as it was, and changed."""
        v = self.numbers(lambda v: not v.layout)
        w = self.of(v.t, v.shape)
        need(not any(w.dyn) and not w.layout)
        rounds, lines = self.rng.randrange(0, 4), []
        number = self.argument(L.INDEX, number=rounds)
        zero, one = (self.indexConstant(lines, k) for k in (0, 1))
        names, i, a, b, q = self.name(), self.name("i"), self.name("v"), self.name("v"), self.name("v")
        outs = [Val(self.name(), v.t, v.shape) for _ in range(2)]
        op, f = self.doubled(v.t)
        type_, begins = v.type, [v.name, w.name]
        if self.rng.random() < 0.5:  # of open size
            type_, begins = self.rowType(v, "?"), [self.name(), self.name()]
            lines += ["%s = tensor.cast %s : %s to %s" % (begin, x.name, v.type, type_) for begin, x in zip(begins, (v, w))]
        lines += ["%s:2 = scf.for %s = %s to %s step %s iter_args(%s = %s, %s = %s) -> (%s, %s) {" % (names, i, zero, number.name, one, a, begins[0], b, begins[1], type_, type_),
                  "  %s = %s %s, %s : %s" % (q, op, b, b, type_), "  scf.yield %s, %s : %s, %s" % (b, q, type_, type_), "}"]
        for k, out in enumerate(outs):
            lines.append("%s = tensor.cast %s#%d : %s to %s" % (out.name, names, k, type_, v.type))

        def run(env):
            x, y = env[v.name], env[w.name]
            for _ in range(rounds):
                x, y = y, f(y, y)
            env[outs[0].name], env[outs[1].name] = x, y
        self.take(Op(lines, outs, run, [v.name, w.name, number.name]))

    def graph(self):
        """Blocks that write an element of a tensor which others read, after a branch or in rounds."""
        v, rng = self.numbers(lambda v: not v.layout), self.rng
        isLoop = rng.random() < 0.5
        chosen = self.argument(L.INDEX if isLoop else I1, number=rng.randrange(3 if isLoop else 2))
        count = self.env[chosen.name].v
        value = rng.choice([0.5, -1.0, 3.0]) if v.t.kind == "f" else rng.choice([-1, 2, 5])
        lines, at = [], tuple(rng.randrange(s) for s in v.shape)
        place = ", ".join([self.indexConstant(lines, i) for i in at])
        c, k, q, r, i, j, t, more = (self.name("b") for _ in range(8))
        op, f = self.doubled(v.t)
        type_, begin = v.type, v.name
        if rng.random() < 0.5:  # of open size
            type_, begin = self.rowType(v, "?"), self.name()
            lines.append("%s = tensor.cast %s : %s to %s" % (begin, v.name, v.type, type_))
        lines.append("%s = arith.constant %s : %s" % (c, literal(value, v.t), v.t.text))
        insert = lambda into: ["  %s = tensor.insert %s into %s[%s] : %s" % (k, c, into, place, type_), "  %s = %s %s, %s : %s" % (q, op, k, begin, type_)]
        if isLoop:
            zero, one = (self.indexConstant(lines, number) for number in (0, 1))
            body = ["  cf.br ^head(%s, %s : index, %s)" % (zero, begin, type_), "^head(%s: index, %s: %s):" % (i, t, type_),
                    "  %s = arith.cmpi slt, %s, %s : index" % (more, i, chosen.name), "  cf.cond_br %s, ^body, ^end" % more, "^body:"] + insert(t) + [
                    "  %s = arith.addi %s, %s : index" % (j, i, one), "  cf.br ^head(%s, %s : index, %s)" % (j, q, type_), "^end:", "  scf.yield %s : %s" % (t, type_)]
        else:
            body = ["  cf.cond_br %s, ^one, ^other" % chosen.name, "^one:"] + insert(begin) + [
                    "  scf.yield %s : %s" % (q, type_), "^other:", "  scf.yield %s : %s" % (begin, type_)]
        lines += ["%s = scf.execute_region -> %s {" % (r, type_)] + body + ["}"]
        # The tensor is read behind, too.
        sum_, out = self.name(), Val(self.name(), v.t, v.shape)
        lines += ["%s = %s %s, %s : %s" % (sum_, op, r, begin, type_), "%s = tensor.cast %s : %s to %s" % (out.name, sum_, type_, v.type)]

        def run(env):
            x = d = env[v.name]
            for _ in range(int(count)):
                a, e = np.array(d.v), np.array(np.broadcast_to(d.e, d.v.shape), dtype=np.float64)
                a[at], e[at] = value, 0.0
                d = f(D(a, e), x)
            env[out.name] = f(d, x)
        self.take(Op(lines, [out], run, [v.name, chosen.name]))

    def beside(self):
        """Sums, and beside them an output with an element for each round."""
        rng = self.rng
        t = rng.choice([t for t in self.types if t.kind != "c" and t is not I1] or [None])
        need(t and not t.special)
        count, rest = rng.choice([3, 40, 65, 70, 129, 300]), [rng.choice([1, 2, 3, 5]) for _ in range(rng.choice([0, 1, 1, 2]))]
        shape = [count] + rest
        v = self.argument(t, shape, small=True)
        need(not any(v.dyn))
        values = self.env[v.name].v
        need(t.kind == "i" or (np.all(L.coarse(values)) and np.sum(np.abs(values)) < 2.0 ** (t.digits - 13)))
        n, lines = len(shape), []
        sums = self.fill(lines, self.empty(lines, t, rest, [None] * len(rest)), 0.0 if t.kind == "f" else 0)
        other = self.empty(lines, t, shape, [None] * n)
        all_, some = Map.of(n, range(n)).text(), Map.of(n, range(1, n)).text()
        kinds = ", ".join(['"reduction"'] + ['"parallel"'] * (n - 1))
        x, s, o, r, d = (self.name("s") for _ in range(5))
        op, f = self.doubled(t)
        body = ["^bb0(%s: %s, %s: %s, %s: %s):" % (x, t.text, s, t.text, o, t.text), "  %s = %s %s, %s : %s" % (r, op, s, x, t.text), "  %s = %s %s, %s : %s" % (d, op, x, x, t.text),
                "  linalg.yield %s, %s : %s, %s" % (r, d, t.text, t.text)]
        names = self.name()
        outs = [Val(self.name(), t, rest), Val(self.name(), t, shape)]
        lines += ["%s:2 = linalg.generic {indexing_maps = [%s, %s, %s], iterator_types = [%s]} ins(%s : %s) outs(%s, %s : %s, %s) {" % (
            names, all_, some, all_, kinds, v.name, v.type, sums.name, other.name, sums.type, other.type)] + body + ["} -> (%s, %s)" % (outs[0].type, outs[1].type)]
        for k, out in enumerate(outs):
            lines.append("%s = tensor.cast %s#%d : %s to %s" % (out.name, names, k, out.type, out.type))

        def run(env):
            x = env[v.name]
            total = np.sum(x.v, axis=0)
            env[outs[0].name] = D(L.wrap(total, t) if t.kind == "i" else total)
            env[outs[1].name] = f(x, x)
        self.take(Op(lines, outs, run, [v.name]))


def make(seed, features, size):
    return Generator(seed, features, size).program
