# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Programs of linalgmemory.py with loops that hand tensors on in other ways: iterations
# of scf.forall that exchange slices, rounds of scf.for that change the size of what they
# carry, and reductions, of no elements too, whose body comes out as a constant.

import numpy as np

import linalgmemory as M
from linalgprograms import D, INDEX, Op, Val, literal, need


class Generator(M.Generator):
    def kinds(self):
        kinds = super().kinds()
        if "rounds" in self.features and self.form == "tensor":
            kinds.update(exchange=1.5, shrink=1.5, settled=1.5 * (self.family == "int"))
        return kinds

    def manyRows(self, accept=lambda v: True):
        """A tensor of constant sizes with two rows at least."""
        v = self.pick(lambda v: v.shape and v.shape[0] > 1 and v.size and not any(v.dyn) and accept(v))
        need(v)
        return v

    def rowType(self, v, rows):
        return "tensor<%s%s>" % ("".join("%sx" % s for s in [rows] + list(v.shape[1:])), v.t.text)

    def rowWindow(self, v, place, rows):
        """Offsets, sizes and strides of `rows` rows."""
        rest = v.shape[1:]
        list_ = lambda first, others: "[%s]" % ", ".join([first] + others)
        return list_(place, ["0"] * len(rest)) + " " + list_(rows, [str(s) for s in rest]) + " " + list_("1", ["1"] * len(rest))

    def indexConstant(self, lines, value):
        name = self.name("c")
        lines.append("%s = arith.constant %d : index" % (name, value))
        return name

    def exchange(self):
        """Each iteration puts another row in the place of its own, or two change places."""
        v = self.manyRows()
        n, pairs = v.shape[0], v.shape[0] % 2 == 0 and self.rng.random() < 0.5
        out, i, o, lines = Val(self.name(), v.t, v.shape), self.name("i"), self.name("o"), []
        one, j = self.name("c"), self.name("j")
        row = self.rowType(v, 1)
        body = ["%s = arith.constant %d : index" % (one, 1 if pairs else n - 1),
                "%s = arith.%s %s : index" % (j, "addi" if pairs else "subi", "%s, %s" % ((i, one) if pairs else (one, i)))]
        order = np.arange(n)
        order = order.reshape(-1, 2)[:, ::-1].ravel() if pairs else order[::-1]
        moves = [(j, i), (i, j)] if pairs else [(j, i)]
        inserts = []
        for source, to in moves:
            slice_ = self.name()
            body.append("%s = tensor.extract_slice %s%s : %s to %s" % (slice_, o, self.rowWindow(v, source, "1"), v.type, row))
            inserts.append("tensor.parallel_insert_slice %s into %s%s : %s into %s" % (slice_, o, self.rowWindow(v, to, "1"), row, v.type))
        lines.append("%s = scf.forall (%s) = (0) to (%d) step (%d) shared_outs(%s = %s) -> (%s) {" % (out.name, i, n, 1 + pairs, o, v.name, v.type))
        lines += ["  " + line for line in body] + ["  scf.forall.in_parallel {"] + ["    " + line for line in inserts] + ["  }", "}"]

        def run(env):
            d = env[v.name]
            env[out.name] = D(d.v[order], d.e[order] if np.ndim(d.e) else d.e)
        self.take(Op(lines, [out], run, [v.name]))

    def shrink(self):
        """Each round leaves the first row out."""
        v = self.manyRows()
        rounds = self.rng.randrange(1, min(v.shape[0], 4))
        out = Val(self.name(), v.t, (v.shape[0] - rounds,) + v.shape[1:])
        open_, lines = self.rowType(v, "?"), []
        zero, one, end = (self.indexConstant(lines, value) for value in (0, 1, rounds))
        begin, r, i, t, d, k, u = (self.name(prefix) for prefix in ("v", "v", "i", "v", "d", "d", "v"))
        lines += ["%s = tensor.cast %s : %s to %s" % (begin, v.name, v.type, open_),
                  "%s = scf.for %s = %s to %s step %s iter_args(%s = %s) -> (%s) {" % (r, i, zero, end, one, t, begin, open_),
                  "  %s = tensor.dim %s, %s : %s" % (d, t, zero, open_),
                  "  %s = arith.subi %s, %s : index" % (k, d, one),
                  "  %s = tensor.extract_slice %s%s : %s to %s" % (u, t, self.rowWindow(v, "1", k), open_, open_),
                  "  scf.yield %s : %s" % (u, open_), "}",
                  "%s = tensor.cast %s : %s to %s" % (out.name, r, open_, out.type)]

        def run(env):
            d = env[v.name]
            env[out.name] = D(d.v[rounds:], d.e[rounds:] if np.ndim(d.e) else d.e)
        self.take(Op(lines, [out], run, [v.name]))

    def settled(self):
        """A reduction along the rows, of which there may be none, to a number that folding finds."""
        v = self.pick(lambda v: v.shape and v.size and v.t.kind == "i" and not any(v.dyn))
        need(v)
        rows = self.rng.choice([0, 0, v.shape[0]])
        out, lines = Val(self.name(), v.t, v.shape[1:]), []
        start, fixed = self.rng.choice([(5, 0), (3, 0), (1, 0)]) if v.t.bits > 1 else (1, 0)
        count, part, empty, filled, first, zero = (self.name() for _ in range(6))
        open_ = self.rowType(v, "?")
        # Its number of rows comes out of memory, so that nothing folds it.
        number = self.argument(t=INDEX, number=rows)
        lines += ["%s = tensor.extract_slice %s%s : %s to %s" % (part, v.name, self.rowWindow(v, "0", number.name), v.type, open_),
                  "%s = arith.constant %s%s" % (first, literal(start, v.t), " : " + v.t.text if v.t.bits > 1 else ""),
                  "%s = tensor.empty() : %s" % (empty, out.type),
                  "%s = linalg.fill ins(%s : %s) outs(%s : %s) -> %s" % (filled, first, v.t.text, empty, out.type, out.type)]
        a, b, z, c = (self.name() for _ in range(4))
        lines += ["%s = linalg.reduce ins(%s : %s) outs(%s : %s) dimensions = [0]" % (out.name, part, open_, filled, out.type),
                  "  (%s: %s, %s: %s) {" % (a, v.t.text, b, v.t.text),
                  "    %s = arith.constant %s%s" % (z, literal(fixed, v.t), " : " + v.t.text if v.t.bits > 1 else ""),
                  "    %s = arith.%s %s, %s : %s" % (c, self.rng.choice(["muli", "andi", "minui"]), b, z, v.t.text),
                  "    linalg.yield %s : %s" % (c, v.t.text), "  }"]

        def run(env):
            env[out.name] = D(np.full(out.shape, fixed if rows else start, dtype=env[v.name].v.dtype))
        self.take(Op(lines, [out], run, [v.name, number.name]))


def make(seed, features, size):
    return Generator(seed, features, size).program
