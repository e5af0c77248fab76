# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Programs of linalgprograms.py with memory: memrefs beside the values, which bodies of
# ops load from, store to and count in, and which the host reads and writes in between.
# And ops whose outputs have elements that no iteration writes, or that several do: in
# NumPy these are taken one after the other, in the order of the loops.

import math

import numpy as np

import linalgprograms as L
from linalgprograms import D, F32, I1, I32, I64, INDEX, Body, Map, Op, Val, need, wrap

MOST = 3000  # iterations of an op that is taken here


class MemoryBody(Body):
    """Code that reads and writes memory. A memory is either read or written by an op, but for an element of the iteration's own."""

    def at(self, indices):
        return ", ".join(self.names[i] for i in indices)

    def touch(self, memory, isWritten):
        if isWritten and memory not in self.written:
            self.written.append(memory)
        if memory not in self.touched:
            self.touched.append(memory)

    def grid(self, loops, loop, block=None):
        """The index of a loop: by linalg.index, or the block argument `block`."""
        grid = np.arange(loops[loop]).reshape([loops[loop] if i == loop else 1 for i in range(len(loops))])
        if block:
            return self.input(block, INDEX, D(grid))
        return self.step("linalg.index %d : index" % loop, INDEX, lambda: D(grid), [])

    def index(self, value):
        return self.step("arith.constant %d : index" % value, INDEX, lambda: D(np.array(value)), [])

    def arithmetic(self, op, x, y):
        f = {"addi": np.add, "subi": np.subtract, "muli": np.multiply, "remui": np.remainder}[op]
        return self.step("arith.%s %s, %s : index" % (op, self.names[x], self.names[y]), INDEX, lambda a, b: D(f(a.v, b.v)), [x, y])

    def load(self, memory, indices, call=None):
        """`call`: a function that loads."""
        self.touch(memory, False)

        def run(*places):
            d = self.env[memory.name]
            at = tuple(p.v for p in places)
            return D(d.v[at], d.e[at] if np.ndim(d.e) else d.e)
        text = "memref.load %s[%s] : %s" % (memory.name, self.at(indices), memory.type)
        if call:
            text = "func.call @%s(%s) : (%s) -> %s" % (call, ", ".join([memory.name] + [self.names[i] for i in indices]),
                                                       ", ".join([memory.type] + ["index"] * len(indices)), memory.t.text)
        return self.step(text, memory.t, run, indices)

    def write(self, lines, memory, indices, value, mask, change):
        """`change(array, places, values)` is what it does, with places and values in the order of the iterations."""
        self.touch(memory, True)
        if mask is not None:
            lines = ["scf.if %s {" % self.names[mask]] + ["  " + l for l in lines] + ["}"]
        self.lines += lines

        def run(env, values, loops):
            d = env[memory.name]
            new, error = np.array(d.v), np.array(np.broadcast_to(d.e, d.v.shape), dtype=np.float64)
            taken = np.broadcast_to(values[mask].v, loops).astype(bool).ravel() if mask is not None else np.ones(math.prod(loops), dtype=bool)
            flat = lambda a: np.broadcast_to(a, loops).ravel()[taken]
            places = tuple(flat(values[i].v) for i in indices)
            change(new, places, flat(values[value].v))
            if np.any(error) or np.any(values[value].e):
                last(error, places, flat(values[value].e))
            env[memory.name] = D(new, error if np.any(error) else 0.0)
        self.effects.append(run)

    def store(self, memory, indices, value, mask=None, call=None):
        text = "memref.store %s, %s[%s] : %s" % (self.names[value], memory.name, self.at(indices), memory.type)
        if call:
            text = "func.call @%s(%s) : (%s) -> ()" % (call, ", ".join([memory.name] + [self.names[i] for i in indices] + [self.names[value]]),
                                                       ", ".join([memory.type] + ["index"] * len(indices) + [memory.t.text]))
        self.write([text], memory, indices, value, mask, last)

    def atomic(self, kind, memory, indices, value, mask=None):
        """An atomic, whose order does not matter."""
        text = "%s = memref.atomic_rmw %s %s, %s[%s] : (%s, %s) -> %s" % (
            self.gen.name("s"), kind, self.names[value], memory.name, self.at(indices), memory.t.text, memory.type, memory.t.text)
        f = {"addi": np.add, "maxs": np.maximum, "mins": np.minimum, "ori": np.bitwise_or, "andi": np.bitwise_and}[kind]

        def change(array, places, values):
            f.at(array.reshape(-1), np.ravel_multi_index(places, array.shape) if places else np.zeros(len(values), dtype=np.int64), values)
            array[...] = wrap(array, memory.t)
        self.write([text], memory, indices, value, mask, change)


def last(array, places, values):
    """Stores in order: of several at one place the last one stays."""
    if not places:
        if values.size:
            array[()] = values[-1]
        return
    flat = np.ravel_multi_index(places, array.shape) if values.size else np.zeros(0, dtype=np.int64)
    found, first = np.unique(flat[::-1], return_index=True)
    array.reshape(-1)[found] = values[::-1][first]


class Generator(L.Generator):
    def __init__(self, seed, features, size):
        self.hasMemory = None
        super().__init__(seed, features, size)

    def kinds(self):
        if self.hasMemory is None:
            self.hasMemory = "effect" in self.features and self.rng.random() < 0.4
        kinds = super().kinds()
        kinds["cover"] = 2 * ("cover" in self.features) * (self.family != "complex")
        kinds["unused"] = 3 * ("effect" in self.features) * (self.family != "complex")
        if self.hasMemory and self.family != "complex":
            kinds.update(effect=10, unused=5, hostWrite=5, hostRead=1.5, parallelStore=1.5)
            if self.form == "tensor":
                kinds.update(generateEffect=1.5, padEffect=0.7, fromMemory=1, toMemory=1)
        return kinds

    #-- Memory

    def memory(self, t, shape=None, accept=lambda m: True, fresh=0.3, distinct=False):
        """A memref of the program's arguments. `shape`: of a new one."""
        found = [m for m in self.memories if m.t is t and accept(m)]
        if found and self.rng.random() > fresh:
            return self.rng.choice(found)
        if shape is None:
            shape = [min(s, 33) or 1 for s in self.drawShape(self.rng.choice([0, 1, 1, 2, 3]))]
        need(math.prod(shape) <= 4 * MOST and t.kind != "c")
        m = Val(self.name("a"), t, shape, form="memref")
        m.isMemory, m.isTensor = True, False
        d = L.drawData(self.rng, t, m.shape)
        self.program.args.append((m, d))
        self.env[m.name] = d
        self.memories.append(m)
        return m

    def attempt(self, kind=None):
        count = len(self.memories)
        if super().attempt(kind):
            return True
        names = {v.name for v, _ in self.program.args}
        self.memories = [m for m in self.memories[:count] if m.name in names] + [m for m in self.memories[count:] if m.name in names]
        return False

    def function(self, memory, isLoad):
        """A function that loads or stores an element; some have branches, so that calls stay."""
        name = "%s_m%s" % (self.program.name, self.name("")[1:])
        indices = ["%%i%d" % i for i in range(len(memory.shape))]
        arguments = ["%%m: %s" % memory.type] + ["%s: index" % i for i in indices] + ([] if isLoad else ["%%v: %s" % memory.t.text])
        result = " -> %s" % memory.t.text if isLoad else ""
        lines = ["func.func private @%s(%s)%s {" % (name, ", ".join(arguments), result)]
        if self.rng.random() < 0.5:
            lines += ["  cf.br ^bb1", "^bb1:"]
        if isLoad:
            lines += ["  %%v = memref.load %%m[%s] : %s" % (", ".join(indices), memory.type), "  return %%v : %s" % memory.t.text]
        else:
            lines += ["  memref.store %%v, %%m[%s] : %s" % (", ".join(indices), memory.type), "  return"]
        self.program.functions.append("\n".join(lines + ["}"]) + "\n")
        return name

    def anyPlace(self, body, memory, loops, grids):
        """Indices of some element for each iteration."""
        rng, indices = self.rng, []
        for size in memory.shape:
            need(size)
            fitting = [l for l in range(len(loops)) if loops[l] <= size]
            if fitting and rng.random() < 0.6:
                l = rng.choice(fitting)
                i = grids[l]
                if loops[l] < size and rng.random() < 0.4:
                    i = body.arithmetic("addi", i, body.index(rng.randint(1, size - loops[l])))
                indices.append(i)
            elif loops and rng.random() < 0.6:
                i = body.arithmetic("muli", grids[rng.randrange(len(loops))], body.index(rng.randint(1, 5)))
                indices.append(body.arithmetic("remui", i, body.index(size)))
            else:
                indices.append(body.index(rng.randrange(size)))
        return indices

    def ownPlace(self, body, t, loops, parallel, grids):
        """A memory, and indices by which each iteration of the parallel loops has an element of its own."""
        rng = self.rng
        own = [l for l in parallel if loops[l] != 1]
        rng.shuffle(own)
        plain = self.memory(t, accept=lambda m: len(m.shape) == len(own) and all(loops[l] <= s for l, s in zip(own, m.shape)), shape=[0], fresh=0.4) if any(
            len(m.shape) == len(own) and m.t is t and all(loops[l] <= s for l, s in zip(own, m.shape)) for m in self.memories) else None
        if plain is not None and plain.size:
            return plain, [grids[l] for l in own]
        shape, indices = [], []
        for l in own:
            kind = rng.choice(["same", "same", "shifted", "strided", "backwards"])
            i = grids[l]
            extra = rng.randint(0, 2)
            if kind == "same":
                shape.append(loops[l] + extra)
            elif kind == "shifted":
                shape.append(loops[l] + extra + 1)
                i = body.arithmetic("addi", i, body.index(1))
            elif kind == "strided":
                shape.append(2 * loops[l] + extra)
                i = body.arithmetic("muli", i, body.index(2))
            else:
                shape.append(loops[l] + extra)
                i = body.arithmetic("subi", body.index(max(loops[l] - 1, 0)), i)
            indices.append(i)
        return self.memory(t, shape=[s or 1 for s in shape], fresh=1.0), indices

    def act(self, body, loops, parallel, grids):
        """What a body does besides computing."""
        for _ in range(self.rng.choice([1, 1, 2, 3])):
            try:
                self.actOnce(body, loops, parallel, grids)
            except L.Skip:
                pass
        need(body.touched)

    def actOnce(self, body, loops, parallel, grids):
        rng = self.rng
        busy = lambda m: m not in body.touched
        kind = rng.choice(["load", "load", "store", "store", "change", "count", "local", "assert"])
        mask = None
        if rng.random() < 0.2:
            places = [i for i, t in enumerate(body.types) if t is I1]
            mask = places[-1] if places else None
        call = rng.random() < 0.25
        if kind == "load":
            m = self.memory(rng.choice([t for t in self.types if t.kind != "c"]), accept=lambda m: m not in body.written and m.size)
            indices = self.anyPlace(body, m, loops, grids)
            x = body.load(m, indices, self.function(m, True) if call else None)
            if rng.random() < 0.7:
                self.mix(body, x)
        elif kind in ("store", "change"):
            value = body.pick(lambda t: t is not INDEX and t.kind != "c")
            t = body.types[value]
            m, indices = self.ownPlace(body, t, loops, parallel, grids)
            need(busy(m))
            # One that reads its own element first has one element alone.
            if kind == "change" and len(parallel) == len(loops) and t is not I1:
                x = body.load(m, indices)
                op = "arith.addf" if t.kind == "f" else "arith.addi"
                value = body.step("%s %s, %s : %s" % (op, body.names[x], body.names[value], t.text), t, L.binary(op, t), [x, value])
            body.store(m, indices, value, mask, self.function(m, False) if call and mask is None else None)
        elif kind == "count":
            found = [i for i, t in enumerate(body.types) if t in (I32, I64)]
            t = body.types[found[-1]] if found else I32
            m = self.memory(t, accept=lambda m: busy(m) and m.size)
            need(busy(m))
            value = found[-1] if found and rng.random() < 0.6 else body.constant(t, rng.choice([1, 2, 3]))
            body.atomic(rng.choice(["addi", "addi", "maxs", "mins", "ori", "andi"]), m, self.anyPlace(body, m, loops, grids), value, mask)
        elif kind == "local":
            x = body.pick(lambda t: t is not INDEX and t.kind != "c")
            own = self.throughOwn(body, x)
            if rng.random() < 0.7:
                self.mix(body, own)
        elif loops:
            self.check(body, loops, grids)

    def check(self, body, loops, grids):
        l = self.rng.randrange(len(loops))
        c = body.index(loops[l])
        ok = body.step("arith.cmpi ult, %s, %s : index" % (body.names[grids[l]], body.names[c]), I1, lambda a, b: D((a.v < b.v).astype(np.int64)), [grids[l], c])
        body.lines.append("cf.assert %s, \"an index is too large\"" % body.names[ok])

    def throughOwn(self, body, x):
        """Through memory of the iteration's own."""
        m, t = self.name("l"), body.types[x]
        body.lines += ["%s = memref.alloca() : memref<%s>" % (m, t.text), "memref.store %s, %s[] : memref<%s>" % (body.names[x], m, t.text)]
        return body.step("memref.load %s[] : memref<%s>" % (m, t.text), t, lambda a: a, [x])

    def mix(self, body, x):
        """Computes with the value, so that something depends on it."""
        t = body.types[x]
        others = [i for i, u in enumerate(body.types) if u is t and i != x]
        if not others or t.kind == "c":
            return
        op = "arith.addf" if t.kind == "f" else "arith.xori"
        y = self.rng.choice(others)
        try:
            body.step("%s %s, %s : %s" % (op, body.names[y], body.names[x], t.text), t, L.binary(op, t), [y, x])
        except L.Skip:
            pass

    def unused(self):
        """A generic without outputs, or one whose result nobody uses. Its effects and assertions are all that it is for."""
        self.effect(hasOutput=self.rng.random() < 0.5)
        op = self.blocks[-1][-1]
        op.stays = True
        results = [v for v in op.outs if not v.isMemory]
        self.hidden |= {v.name for v in results}
        self.scopes[-1] = [v for v in self.scopes[-1] if v not in results]

    def effect(self, hasOutput=None):
        """A generic whose body touches memory, elementwise or a reduction."""
        rng = self.rng
        isUnused = hasOutput is not None
        first = self.pick(lambda v: v.t.kind != "c")
        need(first)
        loops, order = self.loopsOver(first)
        n = len(loops)
        need(math.prod(loops) <= MOST)
        ins = [(first, Map.of(n, order))]
        if rng.random() < 0.4:
            ins.append(self.operandFor(loops))
        reduction = sorted(rng.sample(range(n), rng.randint(1, n))) if n and rng.random() < (0.7 if isUnused else 0.25) else []
        kept = [l for l in range(n) if l not in reduction]
        outs = []

        def makeBody(body, inputs):
            grids = [body.grid(loops, l) for l in range(n)]
            for _ in range(rng.choice([0, 1, 2])):
                try:
                    body.random()
                except L.Skip:
                    pass
            if not isUnused or (self.hasMemory and rng.random() < 0.4):
                self.act(body, loops, kept, grids)
            if isUnused and loops:
                self.check(body, loops, grids)
            if isUnused and not hasOutput:
                return []
            good = [i for i, t in enumerate(body.types) if t is not INDEX and t.kind != "c" and t is not I1]
            need(good)
            i = good[-1]
            t = body.types[i]
            kind = self.combiner(t)
            outs.append((t, Map.of(n, kept if reduction else range(n)), (kind, self.startOf(kind, t)) if reduction else None))
            return [i]
        self.generic(ins, loops, outs, makeBody, reduction=reduction, bodyClass=MemoryBody)

    def generateEffect(self):
        rng = self.rng
        t = rng.choice([t for t in self.types if t.kind != "c" and t is not I1] or [F32])
        shape = [min(s, 40) for s in self.drawShape(rng.choice([1, 2, 3]))]
        need(math.prod(shape) <= MOST)
        out, n = Val(self.name(), t, shape), len(shape)
        body = MemoryBody(self)
        names = [self.name("i") for _ in shape]
        grids = [body.grid(shape, l, names[l]) for l in range(n)]
        m = self.memory(t, accept=lambda m: m.size)
        body.load(m, self.anyPlace(body, m, shape, grids))
        self.act(body, shape, list(range(n)), grids)
        good = [i for i, u in enumerate(body.types) if u is t]
        place = good[-1]
        lines = ["%s = tensor.generate {" % out.name, "^bb0(%s):" % ", ".join("%s: index" % i for i in names)] + ["  " + l for l in body.lines] + [
            "  tensor.yield %s : %s" % (body.names[place], t.text), "} : %s" % out.type]
        inputs = body.values[:body.count]

        def run(env):
            values = body.replay(inputs, env)
            d = values[place]
            result = D(np.broadcast_to(d.v, shape).copy(), np.broadcast_to(d.e, shape).copy() if np.ndim(d.e) else d.e)
            for change in body.effects:
                change(env, values, tuple(shape))
            env[out.name] = result
        self.take(Op(lines, [out] + body.written, run, [m.name for m in body.touched + body.written]))

    def padEffect(self):
        """A pad whose region reads what is around from memory."""
        rng = self.rng
        a = self.pick(lambda v: len(v.shape) and v.t.kind != "c" and not any(v.dyn))
        need(a and a.size <= MOST)
        m = self.memory(a.t, accept=lambda m: m.size)
        low, high = ([rng.choice([0, 1, 2]) for _ in a.shape] for _ in range(2))
        shape = [l + s + h for l, s, h in zip(low, a.shape, high)]
        place = [rng.randrange(s) for s in m.shape]
        names = [self.name("c") for _ in place]
        x = self.name("s")
        lines = ["%s = arith.constant %d : index" % (n, p) for n, p in zip(names, place)]
        out = Val(self.name(), a.t, shape)
        lines += ["%s = tensor.pad %s low%s high%s {" % (out.name, a.name, low, high), "^bb0(%s):" % ", ".join("%s: index" % self.name("i") for _ in shape),
                  "  %s = memref.load %s[%s] : %s" % (x, m.name, ", ".join(names), m.type), "  tensor.yield %s : %s" % (x, a.t.text), "} : %s to %s" % (a.type, out.type)]

        def run(env):
            around, of = env[m.name], env[a.name]
            part = lambda d: d[tuple(place)] if np.ndim(d) else d
            v = np.full(shape, part(around.v), dtype=of.v.dtype)
            e = np.full(shape, part(around.e))
            index = tuple(slice(l, l + s) for l, s in zip(low, a.shape))
            v[index], e[index] = of.v, of.e
            env[out.name] = D(v, e if np.any(e) else 0.0)
        self.take(Op(lines, [out], run, [a.name, m.name]))

    def hostWrite(self):
        """Between the ops: a fill, a copy, one element, an op on memrefs."""
        rng = self.rng
        m = rng.choice(self.memories) if self.memories else self.memory(rng.choice([t for t in self.types if t.kind != "c"]))
        lines = []
        kind = rng.choice(["fill", "fill", "store", "copy", "change"])
        value = rng.choice([0.5, -1.0, 3.0]) if m.t.kind == "f" else rng.choice([0, 1]) if m.t is I1 else rng.choice([-1, 2, 5])
        array = np.array(value, dtype=np.float64 if m.t.kind == "f" else np.int64)
        if kind == "fill":
            c = self.constant(lines, m.t, value)
            lines.append("linalg.fill ins(%s : %s) outs(%s : %s)" % (c, m.t.text, m.name, m.type))
            run, uses = lambda env: env.__setitem__(m.name, D(np.full(m.shape, array))), []
        elif kind == "store":
            need(m.size)
            c = self.constant(lines, m.t, value)
            place = [rng.randrange(s) for s in m.shape]
            names = [self.name("c") for _ in place]
            lines += ["%s = arith.constant %d : index" % (n, p) for n, p in zip(names, place)]
            lines.append("memref.store %s, %s[%s] : %s" % (c, m.name, ", ".join(names), m.type))

            def run(env):
                d = env[m.name]
                v, e = np.array(d.v), np.array(np.broadcast_to(d.e, d.v.shape), dtype=np.float64)
                v[tuple(place)], e[tuple(place)] = array, 0.0
                env[m.name] = D(v, e)
            uses = []
        elif kind == "copy":
            others = [o for o in self.memories if o is not m and o.t is m.t and o.shape == m.shape]
            other = rng.choice(others) if others else self.memory(m.t, shape=m.shape, fresh=1.0)
            text = rng.choice(["memref.copy %s, %s : %s to %s", "linalg.copy ins({0} : {2}) outs({1} : {3})"])
            names = (other.name, m.name, other.type, m.type)
            lines.append(text % names if "%" in text else text.format(*names))
            run, uses = lambda env: env.__setitem__(m.name, env[other.name]), [other.name]
        else:
            need(m.t is not I1)
            op = "arith.addf" if m.t.kind == "f" else "arith.addi"
            x, y, n = self.name("s"), self.name("s"), len(m.shape)
            c = self.constant(lines, m.t, value)
            lines += ["linalg.generic {indexing_maps = [%s], iterator_types = [%s]} outs(%s : %s) {" % (Map.of(n, range(n)).text(), ", ".join(['"parallel"'] * n), m.name, m.type),
                      "^bb0(%s: %s):" % (x, m.t.text), "  %s = %s %s, %s : %s" % (y, op, x, c, m.t.text), "  linalg.yield %s : %s" % (y, m.t.text), "}"]
            f = L.binary(op, m.t)
            run, uses = lambda env: env.__setitem__(m.name, f(env[m.name], D(array))), []
        self.take(Op(lines, [m], run, uses + [m.name]))

    def hostRead(self):
        """An element that the host reads from memory, which ops use then."""
        found = [m for m in self.memories if m.size and m.t is not I1]
        need(found)
        m = self.rng.choice(found)
        place = [self.rng.randrange(s) for s in m.shape]
        names = [self.name("c") for _ in place]
        out = Val(self.name("h"), m.t, (), form="number")
        lines = ["%s = arith.constant %d : index" % (n, p) for n, p in zip(names, place)]
        lines.append("%s = memref.load %s[%s] : %s" % (out.name, m.name, ", ".join(names), m.type))

        def run(env):
            d = env[m.name]
            env[out.name] = D(np.array(d.v[tuple(place)]), np.array(d.e[tuple(place)]) if np.ndim(d.e) else d.e)
        self.take(Op(lines, [out], run, [m.name]))
        self.asTensor(out)

    def asTensor(self, number):
        """A tensor of one element, where the program has tensors."""
        if self.form != "tensor":
            return
        t = Val(self.name(), number.t, (1,))

        def run(env):
            d = env[number.name]
            env[t.name] = D(d.v.reshape(1), np.reshape(d.e, -1)[:1] if np.ndim(d.e) else d.e)
        self.take(Op(["%s = tensor.from_elements %s : %s" % (t.name, number.name, t.type)], [t], run, [number.name]))

    def parallelStore(self):
        """A parallel loop over memory."""
        rng = self.rng
        found = [m for m in self.memories if len(m.shape) and m.size and m.t is not I1]
        need(found)
        m = rng.choice(found)
        others = [o for o in self.memories if o is not m and o.t is m.t and o.shape == m.shape]
        other = rng.choice(others) if others else self.memory(m.t, shape=m.shape, fresh=1.0)
        n = len(m.shape)
        zero, one = self.name("c"), self.name("c")
        ends, indices = [self.name("c") for _ in range(n)], [self.name("i") for _ in range(n)]
        x, y, z = (self.name("s") for _ in range(3))
        op = "arith.subf" if m.t.kind == "f" else "arith.subi"
        lines = ["%s = arith.constant 0 : index" % zero, "%s = arith.constant 1 : index" % one] + ["%s = arith.constant %d : index" % (e, s) for e, s in zip(ends, m.shape)]
        body = ["  %s = memref.load %s[%s] : %s" % (x, m.name, ", ".join(indices), m.type), "  %s = memref.load %s[%s] : %s" % (y, other.name, ", ".join(indices), other.type),
                "  %s = %s %s, %s : %s" % (z, op, x, y, m.t.text), "  memref.store %s, %s[%s] : %s" % (z, m.name, ", ".join(indices), m.type)]
        # What is written the kernel may choose.
        isChosen = rng.random() < 0.3
        uses = [m.name, other.name]
        if isChosen:
            condition, p = self.argument(I1, number=rng.randrange(2)), self.name("p")
            uses.append(condition.name)
            body[-1] = "  memref.store %s, %s[%s] : %s" % (z, p, ", ".join(indices), m.type)
            body.insert(0, "  %s = arith.select %s, %s, %s : %s" % (p, condition.name, m.name, other.name, m.type))
        if rng.random() < 0.5:
            lines += ["scf.parallel (%s) = (%s) to (%s) step (%s) {" % (", ".join(indices), ", ".join([zero] * n), ", ".join(ends), ", ".join([one] * n))] + body + ["}"]
        else:
            lines += ["scf.forall (%s) in (%s) {" % (", ".join(indices), ", ".join(map(str, m.shape)))] + body + ["}"]
        f = L.binary(op, m.t)

        def run(env):
            to = m if not isChosen or env[condition.name].v else other
            env[to.name] = f(env[m.name], env[other.name])
        self.take(Op(lines, [m, other] if isChosen else [m], run, uses))

    def fromMemory(self):
        """Memory as a tensor, which is what the memory holds here, whatever is written later."""
        rng = self.rng
        found = [m for m in self.memories if not m.isTensor]
        if found and rng.random() < 0.7:
            m = rng.choice(found)
        else:
            m = self.memory(rng.choice([t for t in self.types if t.kind != "c"]), shape=[min(s, 40) for s in self.drawShape()], fresh=1.0)
        m.isTensor = True  # `restrict` says that there is no other tensor of it.
        out = Val(self.name(), m.t, m.shape)
        self.take(Op(["%s = bufferization.to_tensor %s restrict : %s to %s" % (out.name, m.name, m.type, out.type)], [out],
                     lambda env: env.__setitem__(out.name, env[m.name]), [m.name]))

    def toMemory(self):
        """A tensor is put into memory."""
        rng = self.rng
        found = [(v, m) for v in self.visible(lambda v: not any(v.dyn)) for m in self.memories if m.t is v.t and m.shape == v.shape]
        if found:
            v, m = rng.choice(found)
        else:
            v = self.pick(lambda v: not any(v.dyn) and v.t.kind != "c" and v.size <= 4 * MOST)
            need(v)
            m = self.memory(v.t, shape=v.shape, fresh=1.0)
        self.take(Op(["bufferization.materialize_in_destination %s in restrict writable %s : (%s, %s) -> ()" % (v.name, m.name, v.type, m.type)], [m],
                     lambda env: env.__setitem__(m.name, env[v.name]), [v.name, m.name]))

    #-- Outputs of which a part is written

    def outputMap(self, loops, kept, isOpen):
        """Results of a map: (factors by loop, constant), and the size of each dimension, at least. `isOpen`: no type says a loop's size."""
        rng, results, shape = self.rng, [], []
        kind = rng.choice(["diagonal", "row", "strided", "shifted", "backwards", "sum", "plain"])
        some = [l for l in kept if rng.random() < 0.9] or list(kept)
        rng.shuffle(some)
        for place, l in enumerate(some):
            here = kind if place == 0 or rng.random() < 0.3 else "plain"
            if not loops[l] and not isOpen[l] and here != "row":
                here = "plain"  # The verifier takes no other.
            one = (lambda factors, constant, size: (results.append((factors, constant)), shape.append(size)))
            if here == "diagonal":
                one({l: 1}, 0, loops[l])
                one({l: 1}, 0, loops[l])
            elif here == "row":
                k = rng.randint(0, 2)
                one({}, k, k + 1 + rng.randint(0, 2))
                one({l: 1}, 0, loops[l])
            elif here == "strided":
                c = rng.choice([2, 3])
                one({l: c}, 0, c * max(loops[l] - 1, 0) + 1 + rng.randint(0, 2))
            elif here == "shifted":
                k = rng.randint(1, 3)
                one({l: 1}, k, k + max(loops[l], 1) + rng.randint(0, 2))
            elif here == "backwards":
                one({l: -1}, max(loops[l] - 1, 0), max(loops[l], 1) + rng.randint(0, 2))
            elif here == "sum" and len(kept) > 1:
                other = rng.choice([k for k in kept if k != l])
                need(loops[other])
                c = rng.choice([1, 1, 2])
                one({l: 1, other: c}, 0, max(loops[l] - 1, 0) + c * max(loops[other] - 1, 0) + 1 + rng.randint(0, 1))
            else:
                one({l: 1}, 0, loops[l])
        return results, shape

    def cover(self):
        """Iterations that write a part of an output, some elements several times, or none at all."""
        rng = self.rng
        first = self.pick(lambda v: v.t.kind != "c")
        if rng.random() < 0.3:
            shape = [min(s, 12) for s in self.drawShape(rng.choice([1, 2, 3]))]
            if rng.random() < 0.6:
                shape[rng.randrange(len(shape))] = 0
            first = self.argument(rng.choice([t for t in self.types if t.kind != "c"]), shape)
        need(first)
        loops, order = self.loopsOver(first)
        n = len(loops)
        need(math.prod(loops) <= MOST)
        reduction = sorted(rng.sample(range(n), rng.randint(1, n))) if n and rng.random() < 0.4 else []
        # Some outputs have a place for each round of a reduction, too.
        kept = [l for l in range(n) if l not in reduction or rng.random() < 0.15]
        isOpen = [first.dyn[order.index(l)] for l in range(n)]
        results, shape = self.outputMap(loops, kept, isOpen)
        need(math.prod(shape) <= 4 * MOST and len(shape) <= 7)
        t = first.t
        start = self.of(t, shape, fresh=0.2) if rng.random() < 0.6 else None
        need(start is None or not start.layout)
        adds = rng.random() < 0.4 and t is not I1
        op = "arith.addf" if t.kind == "f" else "arith.addi"
        value = self.startOf("addf", t) if t.special else rng.choice([0.5, -2.0]) if t.kind == "f" else 1
        lines, uses = [], [first.name]
        if self.form == "memref":
            out = self.empty(lines, t, shape, [None] * len(shape))
            if start:
                lines.append("memref.copy %s, %s : %s to %s" % (start.name, out.name, start.type, out.type))
            else:
                out = self.fill(lines, out, value)
        else:
            out = start or self.fill(lines, self.empty(lines, t, shape, [None] * len(shape)), value)
        if start:
            uses.append(start.name)
        map = Map(n, results)
        x, o, r = (self.name("s") for _ in range(3))
        kinds = ", ".join('"reduction"' if l in reduction else '"parallel"' for l in range(n))
        body = ["^bb0(%s: %s, %s: %s):" % (x, t.text, o, t.text)]
        if adds:
            body.append("  %s = %s %s, %s : %s" % (r, op, o, x, t.text))
        body.append("  linalg.yield %s : %s" % (r if adds else x, t.text))
        attributes = "{indexing_maps = [%s, %s], iterator_types = [%s]}" % (Map.of(n, order).text(), map.text(), kinds)
        made = self.structured(lines, "linalg.generic", attributes, [(first.name, first.type)], [out], body)[0]
        made.isBuffer = self.form == "memref"
        f = L.binary(op, t)

        def run(env):
            d, before = Map.of(n, order).take(env[first.name], loops), env[start.name] if start else D(np.full(shape, value, dtype=np.float64 if t.kind == "f" else np.int64))
            v, e = np.array(before.v), np.array(np.broadcast_to(before.e, before.v.shape), dtype=np.float64)
            places = [np.broadcast_to(p, loops).ravel() for p in map.places(loops)]
            values, errors = np.broadcast_to(d.v, loops).ravel(), np.broadcast_to(d.e, loops).ravel()
            if adds:
                L.exactly(d, before)
                need(t.special or t.kind == "i" or (np.all(L.coarse(values)) and np.all(L.coarse(v)) and (not v.size or np.max(np.abs(v)) + np.sum(np.abs(values)) < 2.0 ** (t.digits - 13))))
                for i in range(len(values)):
                    at = tuple(int(p[i]) for p in places)
                    v[at] = f(D(v[at]), D(values[i])).v
            else:
                last(v, tuple(places), values)
                last(e, tuple(places), errors)
            env[made.name] = D(v, e if np.any(e) else 0.0)
        self.take(Op(lines, [made], run, uses))


def make(seed, features, size):
    return Generator(seed, features, size).program
