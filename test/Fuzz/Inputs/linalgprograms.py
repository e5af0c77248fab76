# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Random programs of linalg, tensor and scf ops, and what they compute, by NumPy in
# f64. Each number has a bound of its error beside it: what rounding to the element
# type can make of it, as far as it went through the program. What is exact has the
# bound 0. An op whose result nobody could compare (overflow, a comparison of numbers
# that may be equal, a bound as large as the numbers) is not taken. See docs/reference/Testing.md.

import math
import random

import numpy as np

import linalgspecial

FEATURES = ("float", "half", "int", "complex", "generic", "named", "reduce", "argmax", "contract", "conv", "pool", "slice", "pad", "pack", "reshape",
            "gather", "softmax", "generate", "loop", "branch", "call", "constant", "dynamic", "empty", "long", "wide", "outer", "memref", "host", "special", "ranks",
            "cover", "effect", "rounds", "global")


class Skip(Exception):
    """The op that was drawn is no good here."""


def need(condition):
    if not condition:
        raise Skip


#-- Numbers ---------------------------------------------------------------------


class Type:
    """An element type. `digits`: of the mantissa, the hidden one too. Numbers of a special one may be any, and are exact."""

    def __init__(self, text, kind, bits, digits=0, most=0.0, least=0.0, special=False):
        self.text, self.kind, self.bits, self.digits, self.most, self.least, self.special = text, kind, bits, digits, most, least, special
        self.unit = 2.0 ** -digits
        self.bytes = max(bits // 8, 1) * (2 if kind == "c" else 1)

    def round(self, v):
        return roundTo(v, self)


F16, BF16 = Type("f16", "f", 16, 11, 65504.0, 2.0 ** -24), Type("bf16", "f", 16, 8, 3e38, 2.0 ** -126)
F32, F64 = Type("f32", "f", 32, 24, 3e38, 2.0 ** -126), Type("f64", "f", 64, 53, 1e300, 2.0 ** -1022)
I1, I8, I16, I32, I64 = (Type("i%d" % bits, "i", bits) for bits in (1, 8, 16, 32, 64))
INDEX = Type("index", "i", 64)
C32, C64 = Type("complex<f32>", "c", 32, 24, 1e18), Type("complex<f64>", "c", 64, 53, 1e100)
FLOATS, INTS = [F32, F32, F32, F64, F16, BF16], [I1, I8, I16, I32, I32, I64]
PART = {C32: F32, C64: F64}
SPECIAL = [Type(t.text, t.kind, t.bits, t.digits, t.most, t.least, special=True) for t in (F16, BF16, F32, F64)]


class D:
    """An array and the bound of its error; the latter is a number where it is one for all."""

    def __init__(self, v, e=0.0):
        self.v, self.e = v, e


def wrap(v, t):
    if t.bits == 1:
        return v & 1
    if t.bits == 64:
        return v
    half = 1 << (t.bits - 1)
    return ((v + half) & (2 * half - 1)) - half


def unsigned(v, t):
    """As Python's ints, where 64 bits do not do."""
    return v & ((1 << t.bits) - 1) if t.bits < 64 else v.astype(np.uint64)


def roundTo(v, t):
    if t.text in ("f64", "complex<f64>"):
        return v
    if t is C32:
        return v.astype(np.complex64).astype(np.complex128)
    if t.text == "f32":
        return v.astype(np.float32).astype(np.float64)
    if t.text == "f16":
        return v.astype(np.float16).astype(np.float64)
    bits = np.ascontiguousarray(v, dtype=np.float32).view(np.uint32).astype(np.uint64)
    bits = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000
    rounded = bits.astype(np.uint32).view(np.float32).astype(np.float64).reshape(np.shape(v))
    return np.where(np.isnan(v), np.nan, rounded)


def coarse(v):
    """Multiples of 2^-12 below 2^38: sums and products of these are exact in f64."""
    scaled = v * 4096.0
    return (np.abs(v) < 2.0 ** 38) & (scaled == np.rint(scaled))


def rounded(t, v, e, units=1.0):
    """The result of an op in `t` that is right up to so many units. Raises Skip if it is not a useful one."""
    v = np.asarray(v)
    if t.special:
        r = roundTo(v, t)
        return D(r)
    need(np.all(np.isfinite(v)) and (not v.size or np.max(np.abs(v)) < t.most))
    r = roundTo(v, t)
    if t.kind == "c":
        exact = coarse(v.real) & coarse(v.imag) & (r == v)
    else:
        exact = coarse(v) & (r == v)
    if units > 1:
        exact = False
    return useful(D(r, e + np.where(exact, 0.0, 2 * units * t.unit * np.abs(v) + t.least)))


def useful(d):
    """A bound as large as the numbers compares nothing."""
    size = np.sum(np.abs(d.v) ** 2) if np.size(d.v) else 0.0
    error = np.sum((d.e + np.zeros(np.shape(d.v))) ** 2)
    need(np.isfinite(error) and (error == 0 or error <= 0.01 * size))
    return d


def exactly(*ds):
    for d in ds:
        need(not np.any(d.e))


def apart(a, b):
    """a and b compare as the device's do."""
    need(np.all((np.abs(a.v - b.v) > a.e + b.e) | ((a.e + b.e) == 0)))


def drawData(rng, t, shape, small=False, distinct=False):
    """Numbers that are drawn in one go, from the seed."""
    g = np.random.Generator(np.random.PCG64(rng.getrandbits(60)))
    count = math.prod(shape)
    if t.special or (t.kind == "i" and not small and not distinct and rng.random() < 0.15):
        need(not distinct)
        return D(linalgspecial.draw(g, t, shape))
    if t.kind == "i":
        if t.bits == 1:
            return D(g.integers(0, 2, shape))
        if distinct:
            need(t.bits > 16)
            return D(g.permutation(count).reshape(shape) - count // 2)
        least, most = (0, 5) if small else rng.choice([(-4, 5), (-100, 101), (-100, 101), (-(1 << (min(t.bits, 63) - 1)), 1 << (min(t.bits, 63) - 1))])
        return D(g.integers(least, most, shape, dtype=np.int64))
    if t.kind == "c":
        part = PART[t]
        if rng.random() < 0.7:
            return D(g.integers(-6, 7, shape) * 0.5 + 1j * g.integers(-6, 7, shape) * 0.5)
        return D(roundTo(g.uniform(-2, 2, shape) + 1j * g.uniform(-2, 2, shape), t))
    if distinct:
        need(count < 1 << min(t.digits, 30))
        return D((g.permutation(count).reshape(shape) - count // 2) * (1.0 if count < 2 else 0.25 if t.digits > 20 else 1.0))
    if rng.random() < 0.6:
        return D(g.integers(-8, 9, shape) * rng.choice([0.25, 0.5, 1.0]))
    return D(roundTo(g.uniform(-2, 2, shape), t))


#-- Scalar ops -------------------------------------------------------------------
# Each: (function of D and types -> D, the op's text). `t` is the operands' type.


def unaryFloat(name, t):
    def run(a):
        v, e = a.v, a.e
        if t.special:
            return rounded(t, linalgspecial.unary(name, v), 0.0)
        size = np.abs(v)
        if name == "arith.negf":
            return D(-v, e)
        if name == "math.absf":
            return D(size, e)
        if name == "math.exp":
            need(not v.size or np.max(v) < 8)
            return rounded(t, np.exp(v), np.exp(v + e) * e, 4)
        if name == "math.tanh":
            return rounded(t, np.tanh(v), e, 8)
        if name == "math.erf":
            return rounded(t, ERF(v), 1.2 * e, 8)
        if name in ("math.sin", "math.cos"):
            need(not v.size or np.max(size) < 100)
            return rounded(t, (np.sin if name == "math.sin" else np.cos)(v), e + 8 * t.unit)
        if name == "math.atan":
            return rounded(t, np.arctan(v), e, 8)
        if name in ("math.floor", "math.ceil", "math.roundeven", "math.trunc", "math.round"):
            f = {"floor": np.floor, "ceil": np.ceil, "roundeven": np.rint, "trunc": np.trunc,
                 "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x)}[name[5:]]
            need(np.all((f(v - e) == f(v)) & (f(v + e) == f(v))))
            return rounded(t, f(v), 0.0)
        need(not v.size or np.min(v - e) > 0.01)
        if name == "math.sqrt":
            return rounded(t, np.sqrt(v), e / np.sqrt(v - e), 2)
        if name == "math.rsqrt":
            return rounded(t, 1 / np.sqrt(v), e / (v - e) ** 1.5, 4)
        if name in ("math.log", "math.log2", "math.log10", "math.log1p"):
            f = {"log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p}[name[5:]]
            return rounded(t, f(v), 1.5 * e / (v - e) + 4 * t.unit, 4)
        raise AssertionError(name)
    return run


def ERF(v):
    return np.array([math.erf(x) for x in np.ravel(v)]).reshape(np.shape(v))


UNARY_FLOAT = ["arith.negf", "math.absf", "math.exp", "math.tanh", "math.erf", "math.sin", "math.cos", "math.floor", "math.ceil", "math.roundeven",
               "math.trunc", "math.round", "math.sqrt", "math.rsqrt", "math.log", "math.log2", "math.log1p", "math.atan"]
BINARY_FLOAT = ["arith.addf", "arith.subf", "arith.mulf", "arith.addf", "arith.mulf", "arith.divf", "arith.maximumf", "arith.minimumf",
                "arith.maxnumf", "arith.minnumf", "math.copysign", "math.powf"]
BINARY_INT = ["arith.addi", "arith.subi", "arith.muli", "arith.andi", "arith.ori", "arith.xori", "arith.maxsi", "arith.minsi", "arith.maxui",
              "arith.minui", "arith.divsi", "arith.remsi", "arith.divui", "arith.shli", "arith.shrsi", "arith.shrui", "arith.floordivsi",
              "arith.ceildivsi", "arith.remui"]


def binary(name, t):
    op = name.split(".")[1]

    def run(a, b):
        with np.errstate(all="ignore"):
            return compute(a, b)

    def compute(a, b):
        x, y = a.v, b.v
        if t.kind == "i":
            if op[-2:] == "ui" or op == "shrui":
                if op in ("divui", "remui"):
                    need(np.all(y != 0))
                ux, uy = unsigned(x, t), unsigned(y, t)
                if op == "shrui":
                    need(np.all((y >= 0) & (y < t.bits)))
                r = {"maxui": np.maximum, "minui": np.minimum, "divui": np.floor_divide, "remui": np.remainder, "shrui": np.right_shift}[op](ux, uy)
                return D(wrap(r.astype(np.int64), t))
            if op in ("divsi", "remsi", "floordivsi", "ceildivsi"):
                need(np.all(y != 0) and not np.any((y == -1) & (x == -(1 << (t.bits - 1)))) and t.bits > 1)
                need(not x.size or np.max(np.abs(x.astype(np.float64))) < 2.0 ** 62)
                q = np.floor_divide(x, y)
                truncated = q + ((q * y != x) & ((x < 0) != (y < 0)))
                return D({"divsi": truncated, "remsi": x - truncated * y, "floordivsi": q, "ceildivsi": -np.floor_divide(-x, y)}[op])
            if op in ("shli", "shrsi"):
                need(np.all((y >= 0) & (y < t.bits)) and t.bits > 1)
                return D(wrap((np.left_shift if op == "shli" else np.right_shift)(x, y), t))
            if op in ("maxsi", "minsi"):
                need(t.bits > 1)
            f = {"addi": np.add, "subi": np.subtract, "muli": np.multiply, "andi": np.bitwise_and, "ori": np.bitwise_or,
                 "xori": np.bitwise_xor, "maxsi": np.maximum, "minsi": np.minimum}[op]
            return D(wrap(f(x, y), t))
        if t.special:
            r = linalgspecial.binary(op, x, y)
            need(r is not None)
            return rounded(t, r, 0.0)
        if op in ("addf", "add"):
            return rounded(t, x + y, a.e + b.e)
        if op in ("subf", "sub"):
            return rounded(t, x - y, a.e + b.e)
        if op in ("mulf", "mul"):
            return rounded(t, x * y, np.abs(x) * b.e + np.abs(y) * a.e + a.e * b.e, 4 if t.kind == "c" else 1)
        if op in ("divf", "div"):
            least = np.abs(y) - b.e
            need(not y.size or np.min(least) > 0.05)
            return rounded(t, x / y, (a.e + np.abs(x / y) * b.e) / least, 16 if t.kind == "c" else 2)
        if op in ("maximumf", "maxnumf"):
            return D(np.maximum(x, y), np.maximum(a.e, b.e))
        if op in ("minimumf", "minnumf"):
            return D(np.minimum(x, y), np.maximum(a.e, b.e))
        if op == "copysign":
            need(np.all(np.abs(y) > b.e))
            return D(np.copysign(x, y), a.e)
        if op == "powf":
            need(not x.size or (np.min(x - a.e) > 0.05 and np.max(x) < 50 and np.max(np.abs(y)) < 5))
            r = x ** y
            return rounded(t, r, 2 * r * (np.abs(y) * a.e / (x - a.e) + np.abs(np.log(x)) * b.e), 32)
        raise AssertionError(name)
    return run


PREDICATES_FLOAT = {"oeq": np.equal, "one": np.not_equal, "olt": np.less, "ole": np.less_equal, "ogt": np.greater, "oge": np.greater_equal,
                    "ult": np.less, "ueq": np.equal}
PREDICATES_INT = {"eq": np.equal, "ne": np.not_equal, "slt": np.less, "sle": np.less_equal, "sgt": np.greater, "sge": np.greater_equal,
                  "ult": None, "uge": None}


def compare(predicate, t):
    def run(a, b):
        if t.special:
            return D(linalgspecial.compare(predicate, a.v, b.v).astype(np.int64))
        if t.kind == "f":
            apart(a, b)
            return D(PREDICATES_FLOAT[predicate](a.v, b.v).astype(np.int64))
        if predicate in ("ult", "uge"):
            x, y = unsigned(a.v, t), unsigned(b.v, t)
            return D((x < y if predicate == "ult" else x >= y).astype(np.int64))
        x, y = (a.v, b.v) if t.bits > 1 else (-a.v, -b.v)
        return D(PREDICATES_INT[predicate](x, y).astype(np.int64))
    return run


def select(c, a, b):
    shape = np.broadcast_shapes(np.shape(c.v), np.shape(a.v), np.shape(b.v))
    return D(np.where(c.v, a.v, b.v), np.where(c.v, a.e, b.e) if np.any(a.e) or np.any(b.e) else 0.0)


def casts(rng, source):
    """(op, its result's type, function) of casts from a type."""
    out = []
    if source.special:
        for t in SPECIAL:
            if t.bits != source.bits:
                out.append(("arith.extf" if t.bits > source.bits else "arith.truncf", t, lambda a, t=t: rounded(t, a.v, 0.0)))
        return out
    if source.kind == "f":
        for t in (F16, BF16, F32, F64):
            if t.bits > source.bits:
                out.append(("arith.extf", t, lambda a: D(a.v, a.e)))
            if t.bits < source.bits:
                out.append(("arith.truncf", t, lambda a, t=t: rounded(t, a.v, a.e)))
        for t in (I8, I32, I64):
            def toInt(a, t=t, least=0):
                need(not a.v.size or (np.max(np.abs(a.v)) < 2.0 ** min(t.bits - 1, 31) - 1 and np.min(a.v) >= least))
                need(np.all((np.trunc(a.v - a.e) == np.trunc(a.v)) & (np.trunc(a.v + a.e) == np.trunc(a.v))))
                return D(np.trunc(a.v).astype(np.int64))
            out.append(("arith.fptosi", t, toInt))
            out.append(("arith.fptoui", t, lambda a, f=toInt: f(a, least=0.0) if np.all(a.v >= 0) else need(False)))
        return out
    if source.kind == "i":
        for t in (I1, I8, I16, I32, I64):
            if t.bits > source.bits:
                out.append(("arith.extsi", t, lambda a: D(-a.v if source.bits == 1 else a.v)))
                out.append(("arith.extui", t, lambda a: D(wrap(unsigned(a.v, source).astype(np.int64), I64))))
            if t.bits < source.bits:
                out.append(("arith.trunci", t, lambda a, t=t: D(wrap(a.v, t))))
        for t in FLOATS:
            out.append(("arith.sitofp", t, lambda a, t=t: rounded(t, (-a.v if source.bits == 1 else a.v).astype(np.float64), 0.0)))
            out.append(("arith.uitofp", t, lambda a, t=t: rounded(t, unsigned(a.v, source).astype(np.float64), 0.0)))
    return out


def literal(v, t):
    """A constant's text."""
    if t.special and not np.isfinite(v):
        bits = {"f16": (0x7c00, 0x7e00, 16), "bf16": (0x7f80, 0x7fc0, 16), "f32": (0x7f800000, 0x7fc00000, 32),
                "f64": (0x7ff0000000000000, 0x7ff8000000000000, 64)}[t.text]
        return "0x%0*X" % (bits[2] // 4, bits[1] if np.isnan(v) else bits[0] | (1 << (bits[2] - 1) if v < 0 else 0))
    if t.kind == "f":
        return "%.10e" % v
    if t.kind == "c":
        return "[%.10e, %.10e]" % (v.real, v.imag)
    if t.bits == 1:
        return "true" if v else "false"
    return "%d" % v


class Body:
    """Straight code of scalars: text, and the same on whole arrays."""

    def __init__(self, gen):
        self.gen, self.rng = gen, gen.rng
        self.lines, self.steps, self.count, self.captured = [], [], 0, []
        self.values, self.types, self.names = [], [], []
        self.env = gen.env  # What memory holds where the body runs.
        self.effects, self.touched, self.written = [], [], []  # Of memory: see linalgmemory.py.

    def input(self, name, t, d):
        self.values.append(d)
        self.types.append(t)
        self.names.append(name)
        self.count += 1
        return len(self.values) - 1

    def capture(self, v):
        """A number of the function, in front of all steps."""
        assert not self.steps
        self.captured.append(v)
        return self.input(v.name, v.t, self.gen.env[v.name])

    def step(self, text, t, function, operands):
        """Takes the op if its values are good ones."""
        d = function(*[self.values[i] for i in operands])
        name = self.gen.name("s")
        self.lines.append("%s = %s" % (name, text))
        self.steps.append((function, operands))
        self.values.append(d)
        self.types.append(t)
        self.names.append(name)
        return len(self.values) - 1

    def constant(self, t, v=None):
        rng = self.rng
        if v is None:
            v = rng.choice([0.5, 2.0, -1.0, 3.0, 0.25, 1.0]) if t.kind != "i" else rng.choice([1, 2, 3, 5, 7] + [-1, -2] * (t.bits > 1)) & (1 if t.bits == 1 else -1)
        array = np.array(v, dtype={"f": np.float64, "i": np.int64, "c": np.complex128}[t.kind])
        if t.kind == "c":
            return self.step("complex.constant [%.4e : %s, 0.5 : %s] : %s" % (v, PART[t].text, PART[t].text, t.text), t, lambda: D(array + 0.5j), [])
        text = "arith.constant %s" % literal(v, t) + (" : " + t.text if t.bits > 1 else "")
        return self.step(text, t, lambda: D(array), [])

    def replay(self, inputs, env):
        """The values of all steps, for other inputs. What is written to memory is not there yet."""
        values, self.env = list(inputs), env
        for function, operands in self.steps:
            values.append(function(*[values[i] for i in operands]))
        return values

    def pick(self, accept):
        """A value of a kind, the latest more often."""
        places = [i for i, t in enumerate(self.types) if accept(t)]
        need(places)
        return places[-1] if self.rng.random() < 0.5 else self.rng.choice(places)

    def random(self):
        """One random op. Raises Skip."""
        rng = self.rng
        a = self.pick(lambda t: True)
        t, x = self.types[a], self.names[a]
        kind = rng.choice(["unary", "binary", "binary", "binary", "compare", "select", "cast"])
        if kind == "cast" or t is INDEX:
            if t is INDEX:
                to = rng.choice([I32, I64])
                return self.step("arith.index_cast %s : index to %s" % (x, to.text), to, lambda a: D(a.v), [a])
            if t.kind == "c":
                part, which = PART[t], rng.choice(["re", "im", "abs"])
                if which == "abs":
                    return self.step("complex.abs %s : %s" % (x, t.text), part, lambda a: rounded(part, np.abs(a.v), a.e, 4), [a])
                return self.step("complex.%s %s : %s" % (which, x, t.text), part, lambda a: D(a.v.real if which == "re" else a.v.imag, a.e), [a])
            op, to, function = rng.choice(casts(rng, t))
            need(self.gen.allows(to))
            return self.step("%s %s : %s to %s" % (op, x, t.text, to.text), to, function, [a])
        if kind == "unary":
            if t.kind == "f":
                op = rng.choice(linalgspecial.UNARY if t.special else UNARY_FLOAT)
                return self.step("%s %s : %s" % (op, x, t.text), t, unaryFloat(op, t), [a])
            if t.kind == "c":
                return self.step("complex.neg %s : %s" % (x, t.text), t, lambda a: D(-a.v, a.e), [a])
            need(t.bits > 1)
            op = rng.choice(["math.absi", "math.ctpop"])
            def ctpop(a):
                bits = unsigned(a.v, t).astype(np.uint64)
                return D(sum(((bits >> np.uint64(i)) & np.uint64(1)).astype(np.int64) for i in range(t.bits)))
            return self.step("%s %s : %s" % (op, x, t.text), t, ctpop if op == "math.ctpop" else (lambda a: D(wrap(np.abs(a.v), t))), [a])
        b = self.pick(lambda u: u is t) if rng.random() < 0.75 else self.constant(t)
        y = self.names[b]
        if kind == "binary":
            if t.kind == "c":
                op = rng.choice(["add", "sub", "mul", "div"])
                return self.step("complex.%s %s, %s : %s" % (op, x, y, t.text), t, binary("complex." + op, t), [a, b])
            op = rng.choice(linalgspecial.BINARY if t.special else BINARY_FLOAT if t.kind == "f" else BINARY_INT)
            if "sh" in op:
                b = self.constant(t, rng.randrange(t.bits))
                y = self.names[b]
            if op == "math.powf":
                b = self.constant(t, rng.choice([2.0, 3.0, 0.5, -1.0, 1.5]))
                y = self.names[b]
            return self.step("%s %s, %s : %s" % (op, x, y, t.text), t, binary(op, t), [a, b])
        if kind == "compare":
            need(t.kind != "c")
            p = rng.choice(linalgspecial.PREDICATES if t.special else sorted(PREDICATES_FLOAT if t.kind == "f" else PREDICATES_INT))
            return self.step("arith.cmp%s %s, %s, %s : %s" % (t.kind, p, x, y, t.text), I1, compare(p, t), [a, b])
        c = self.pick(lambda u: u is I1)
        return self.step("arith.select %s, %s, %s : %s" % (self.names[c], x, y, t.text), t, select, [c, a, b])


#-- Values and ops ---------------------------------------------------------------


class Val:
    """A tensor, memref or number. `shape`: sizes as they are; `dyn`: those that the type leaves open."""

    def __init__(self, name, t, shape, dyn=None, form="tensor", layout=""):
        self.name, self.t, self.shape, self.form, self.layout = name, t, tuple(int(s) for s in shape), form, layout
        self.dyn = tuple(dyn) if dyn else (False,) * len(self.shape)
        self.isBuffer = False  # Memory that this program made, all of it, and no view is of it.
        self.isMemory = False  # A memref beside the program's values, which ops write in place.

    @property
    def size(self):
        return math.prod(self.shape)

    @property
    def type(self):
        if self.form == "number":
            return self.t.text
        dims = "".join("?x" if d else "%dx" % s for s, d in zip(self.shape, self.dyn))
        return "%s<%s%s%s>" % (self.form, dims, self.t.text, self.layout)


class Op:
    """Code of the program. `run(env)` computes it, `env` has a D for each name. One that stays matters though no result needs it."""

    def __init__(self, lines, outs, run, uses, inner=()):
        self.lines, self.outs, self.run, self.uses, self.inner, self.stays = lines, outs, run, set(uses), inner, False

    def text(self, indent):
        return "".join("%s%s\n" % (indent, line) for line in self.lines)


SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 31, 33, 40, 64, 65, 70, 100, 129, 200, 300]
LARGEST, SPACE = 30000, 300000
# Lengths of an outer product's one side: whole columns fit into no block's memory.
OUTER, OUTER_SPACE = [33000, 70001, 70001, 250007, 3000017, 3000017], 9100000


def letters(loops):
    return ", ".join("d%d" % i for i in range(loops))


class Map:
    """An operand's place: of each dimension (number of each loop, constant)."""

    def __init__(self, loops, results):
        self.loops, self.results = loops, results

    @staticmethod
    def of(loops, places):
        """A projected permutation; None: the constant 0."""
        return Map(loops, [({p: 1}, 0) if p is not None else ({}, 0) for p in places])

    def text(self):
        def one(result):
            parts = ["d%d" % p if c == 1 else "d%d * %d" % (p, c) for p, c in sorted(result[0].items())]
            if result[1] or not parts:
                parts.append("%d" % result[1])
            return " + ".join(parts)
        return "affine_map<(%s) -> (%s)>" % (letters(self.loops), ", ".join(map(one, self.results)))

    def places(self, space):
        """Of each dimension, the index at each place of the space (which may stay broadcast)."""
        found = []
        for places, constant in self.results:
            at = np.array(constant)
            for p, c in places.items():
                at = at + c * np.arange(space[p]).reshape([-1 if i == p else 1 for i in range(self.loops)])
            found.append(np.broadcast_to(at, np.broadcast_shapes(at.shape, (1,) * self.loops)))
        return found

    def gather(self, array, space):
        """The operand's element at each place of the space (which may stay broadcast)."""
        if not isinstance(array, np.ndarray) or not array.shape:
            return np.asarray(array)
        return array[tuple(self.places(space))]

    def take(self, d, space):
        return D(self.gather(d.v, space), self.gather(d.e, space) if np.ndim(d.e) else d.e)


def reduceBy(kind, t, d, axes, start):
    """Combines along axes with what was there. `start` has the shape that is left."""
    v, e = d.v, np.broadcast_to(d.e, d.v.shape)
    if t.special:
        r = linalgspecial.total(v, axes, start.v) if kind == "addf" else linalgspecial.extreme(kind, v, axes, start.v)
        need(r is not None)
        return rounded(t, r, 0.0)
    if kind in ("maximumf", "maxsi"):
        return D(np.maximum(np.max(v, axis=axes, initial=-1e308 if t.kind == "f" else -2 ** 63), start.v),
                 np.maximum(np.max(e, axis=axes, initial=0.0), start.e))
    if kind in ("minimumf", "minsi"):
        return D(np.minimum(np.min(v, axis=axes, initial=1e308 if t.kind == "f" else 2 ** 63 - 1), start.v),
                 np.maximum(np.max(e, axis=axes, initial=0.0), start.e))
    if t.kind == "i":
        f = {"addi": np.add, "muli": np.multiply, "andi": np.bitwise_and, "ori": np.bitwise_or, "xori": np.bitwise_xor}[kind]
        r = v.astype(np.int64)
        for axis in sorted(axes, reverse=True):
            r = wrap(f.reduce(r, axis=axis), t) if r.shape[axis] else np.full(r.shape[:axis] + r.shape[axis + 1:], -1 if kind == "andi" else int(kind == "muli"))
        return D(wrap(f(r, start.v), t))
    total = np.sum(v, axis=axes) + start.v
    sizes = np.sum(np.abs(v), axis=axes) + np.abs(start.v)
    count = 1 + math.prod([v.shape[a] for a in axes])
    parts = (v.real, v.imag) if t.kind == "c" else (v,)
    # Sums of multiples of 2^-12 that fit into the mantissa have no error, whatever the order.
    exact = all(np.all(coarse(p)) for p in parts) and np.all(coarse(np.abs(start.v)))
    if exact:
        grid = 1.0
        while any(np.any(p / grid != np.rint(p / grid)) for p in parts + ((start.v.real, start.v.imag) if t.kind == "c" else (start.v,))):
            grid /= 2
        exact = sizes / grid < 2.0 ** t.digits
    need(not total.size or np.max(sizes) < t.most)
    error = np.sum(e, axis=axes) + start.e + np.where(exact, 0.0, (count + 1) * t.unit * sizes)
    return useful(D(roundTo(total, t), error))


class Program:
    def __init__(self, seed, form):
        self.seed, self.form = seed, form
        self.args, self.ops, self.results = [], [], []
        self.memory = []  # Arguments whose elements are compared in the end.
        self.name = "p%d" % seed
        self.functions = []

    def clone(self):
        copy = Program(self.seed, self.form)
        copy.args, copy.ops, copy.results, copy.functions = list(self.args), list(self.ops), list(self.results), list(self.functions)
        copy.memory = list(self.memory)
        return copy

    def run(self):
        """What the results are, and then the memory."""
        env = {v.name: d for v, d in self.args}
        for op in self.ops:
            op.run(env)
        return [env[v.name] for v in self.results + self.memory]

    def text(self, name=None, private=False):
        outs = []
        if self.form == "memref":
            outs = [Val("%%out%d" % i, v.t, v.shape, form="memref") for i, v in enumerate(self.results)]
        arguments = ", ".join("%s: %s" % (v.name, v.type) for v in [a for a, _ in self.args] + outs)
        results = "" if self.form == "memref" else " -> (%s)" % ", ".join(v.type for v in self.results)
        text = "func.func %s@%s(%s)%s {\n" % ("private " if private else "", name or self.name, arguments, results)
        text += "".join(op.text("  ") for op in self.ops)
        for v, out in zip(self.results, outs):
            text += "  memref.copy %s, %s : %s to %s\n" % (v.name, out.name, v.type, out.type)
        if self.form == "memref":
            made = [v for op in self.ops for v in op.outs if v.isBuffer and v.name not in {a.name for a, _ in self.args}]
            text += "".join("  memref.dealloc %s : %s\n" % (v.name, v.type) for v in {v.name: v for v in made}.values())
            text += "  return\n}\n"
        elif not self.results:
            text += "  return\n}\n"
        else:
            text += "  return %s : %s\n}\n" % (", ".join(v.name for v in self.results), ", ".join(v.type for v in self.results))
        return text + "".join(self.functions)


class Generator:
    def __init__(self, seed, features, size):
        self.rng = rng = random.Random(seed * 7919 + 13)
        self.features, self.number, self.memories = features, 0, []
        form = "memref" if "memref" in features and rng.random() < 0.2 else "tensor"
        self.program = Program(seed, form)
        self.hidden, self.sums = set(), []  # of outer()
        # Drawn by itself: the other programs stay the same.
        isOuter = "outer" in features and random.Random(seed).random() < 0.04
        if isOuter:
            form = self.program.form = "tensor"
        self.form = form
        self.dynamic = "dynamic" in features and form == "tensor" and rng.random() < 0.4
        pool = [s for s in SIZES if s <= rng.choice([9, 40, 70, 300])]
        self.sizes = [rng.choice(pool) for _ in range(3)] + [rng.choice([1, 2, 3, 4])]
        self.largest, self.space = LARGEST, SPACE
        if "long" in features and rng.random() < 0.06:  # reductions are taken in parts
            self.sizes = [rng.choice([1, 2, 3, 5]) for _ in range(3)] + [rng.choice([33000, 70001, 140000])]
            self.largest = SPACE
        elif "wide" in features and rng.random() < 0.1:  # threads have several elements each
            self.sizes = [rng.choice(some) for some in ([257, 514, 1100, 2048], [1, 3, 8, 40, 65], [33, 64, 520, 1024], [1, 2, 3])]
            self.largest = SPACE
        elif "empty" in features and rng.random() < 0.06:
            self.sizes[rng.randrange(4)] = 0
        families = [f for f in ("float", "float", "float", "int", "complex") if f in features] or ["float"]
        self.family = rng.choice(families)
        # Few types in a program, so that ops find operands.
        if self.family == "float":
            self.types = rng.sample([F32, F64, F16, BF16], rng.choice([1, 1, 2])) + [rng.choice(INTS)] * (rng.random() < 0.4 and "int" in features)
            if rng.random() < 0.5 and F32 not in self.types:
                self.types[0] = F32
        elif self.family == "int":
            self.types = rng.sample([I1, I8, I16, I32, I64], 2)
        else:
            self.types = [rng.choice([C32, C64])]
            self.types.append(PART[self.types[0]])
        self.special = "special" in features and self.family == "float" and rng.random() < 0.3
        if self.special:
            self.types = rng.sample(SPECIAL, rng.choice([1, 1, 2])) + [rng.choice(INTS)] * (rng.random() < 0.4 and "int" in features)
        # Products of enough halves are for tensor cores, where a GPU has them.
        self.half = "half" in features and self.family == "float" and not self.special and rng.random() < 0.15
        if self.half:
            self.types = [rng.choice([F16, BF16]), F32]
            self.sizes = [rng.choice([s for s in SIZES if 8 <= s <= 129]) for _ in range(4)]
        self.env, self.scopes, self.blocks = {}, [[]], [self.program.ops]
        self.depth = 0
        for _ in range(rng.choice([1, 2, 2, 3])):
            self.argument()
        if isOuter and self.family != "complex":
            size = 3
            for _ in range(4):
                if self.attempt("outer"):
                    break
        wanted, tries = rng.randint(2, size), 0
        while len(self.program.ops) < wanted and tries < 20 * wanted:
            tries += 1
            self.attempt()
        self.finish()

    def allows(self, t):
        family = {"f": "float", "i": "int", "c": "complex"}[t.kind]
        return family in self.features or t is I1

    def name(self, prefix="v"):
        self.number += 1
        return "%%%s%d" % (prefix, self.number)

    #-- Arguments and the choice of values

    def argument(self, t=None, shape=None, distinct=False, small=False, number=None):
        """A new argument: a tensor, or the number that is given."""
        rng = self.rng
        t = t or rng.choice(self.types)
        if number is not None:
            v = Val(self.name("a"), t, (), form="number")
            d = D(np.array(number))
        else:
            if shape is None:
                shape = self.drawShape()
            v = Val(self.name("a"), t, shape, [self.dynamic and rng.random() < 0.4 for _ in shape], form=self.form)
            d = drawData(rng, t, v.shape, small, distinct)
        self.program.args.append((v, d))
        self.env[v.name] = d
        self.scopes[0].append(v)
        return v

    def before(self, saved):
        """The environment as it was, with the arguments that came since."""
        return dict({v.name: d for v, d in self.program.args}, **saved)

    def drawShape(self, rank=None):
        rng = self.rng
        if rank is None:
            rank = rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4] + [5, 6, 7] * ("ranks" in self.features and rng.random() < 0.4))
        shape = [rng.choice(self.sizes) for _ in range(rank)]
        while math.prod(shape) > self.largest:
            shape[shape.index(max(shape))] = rng.choice([1, 2, 3, 5])
        return shape

    def visible(self, accept=lambda v: True, numbers=False):
        return [v for scope in self.scopes for v in scope if (v.form == "number") == numbers and accept(v)]

    def pick(self, accept=lambda v: True, fresh=0.1):
        """A tensor; None if there is none."""
        found = self.visible(accept)
        if not found:
            return None
        return self.rng.choice(found[-3:]) if self.rng.random() < 0.6 else self.rng.choice(found)

    def of(self, t, shape, fresh=0.3, **how):
        """A value of that type and shape, a new argument if there is none."""
        found = self.visible(lambda v: v.t is t and v.shape == tuple(shape))
        if found and self.rng.random() > fresh and not how:
            return self.rng.choice(found)
        need(math.prod(shape) <= 2 * self.largest)
        return self.argument(t, shape, **how)

    #-- Emission

    def take(self, op):
        """Computes the op and makes it part of the program."""
        op.run(self.env)
        self.blocks[-1].append(op)
        self.scopes[-1].extend(v for v in op.outs if v not in self.scopes[-1] and not v.isMemory)

    def dim(self, lines, v, place):
        c, d = self.name("c"), self.name("n")
        lines.append("%s = arith.constant %d : index" % (c, place))
        lines.append("%s = %s.dim %s, %s : %s" % (d, v.form, v.name, c, v.type))
        return d

    def empty(self, lines, t, shape, sizes):
        """Memory of a shape; `sizes`: where one is open, its name."""
        v = Val(self.name("e" if self.form == "tensor" else "m"), t, shape, [s is not None for s in sizes], form=self.form)
        what = "tensor.empty" if self.form == "tensor" else "memref.alloc"
        lines.append("%s = %s(%s) : %s" % (v.name, what, ", ".join(s for s in sizes if s), v.type))
        return v

    def constant(self, lines, t, v):
        name = self.name("c")
        if t.kind == "c":
            lines.append("%s = complex.constant [%.4e : %s, %.4e : %s] : %s" % (name, v.real, PART[t].text, v.imag, PART[t].text, t.text))
        else:
            lines.append("%s = arith.constant %s" % (name, literal(v, t)) + (" : " + t.text if t.bits > 1 else ""))
        return name

    def fill(self, lines, out, v):
        c = self.constant(lines, out.t, v)
        return self.structured(lines, "linalg.fill", "", [(c, out.t.text)], [out], [])[0]

    def structured(self, lines, head, attributes, ins, outs, body, arrow=True, plain=False):
        """Writes a linalg op; returns its results (memrefs: what it wrote)."""
        inputs = " ins(%s : %s)" % (", ".join(n for n, _ in ins), ", ".join(t for _, t in ins)) if ins else ""
        outputs = " outs(%s : %s)" % (", ".join(o.name for o in outs), ", ".join(o.type for o in outs)) if outs else ""
        text = "%s%s%s%s%s" % (head, " " + attributes if attributes and not plain else "", inputs, outputs, " " + attributes if plain else "")
        if body:
            text += " {"
        if self.form == "memref" or not outs:
            lines.append(text)
            lines.extend(body)
            if body:
                lines.append("}")
            return outs
        results = [Val(self.name(), o.t, o.shape, o.dyn) for o in outs]
        # These have the types of what they write.
        arrow = "" if head.startswith(("linalg.map", "linalg.transpose", "linalg.broadcast")) else " -> " + (results[0].type if len(results) == 1 else "(%s)" % ", ".join(r.type for r in results))
        named = ", ".join(r.name for r in results) + " = "
        if body:
            lines.append(named + text)
            lines.extend(body)
            lines.append("}" + arrow)
        else:
            lines.append(named + text + arrow)
        return results

    def generic(self, ins, loops, outs, makeBody, reduction=(), head=None, attributes="", plain=False, region=None, bodyClass=Body):
        """A linalg op over `loops` (their sizes). ins: (Val, Map). outs: (t, Map, how) with how None (written), or
        (kind, start): combined. makeBody(body, inputs) returns what goes to each output. `head`: a named op's, else generic.
        An output's memory: start is a number, or a Val that is added to."""
        need(math.prod(loops) <= self.space)
        n = len(loops)
        lines, body = [], bodyClass(self)
        loops = tuple(int(l) for l in loops)
        blockArguments, inputs = [], []
        for v, map in ins:
            name = self.name("b")
            blockArguments.append("%s: %s" % (name, v.t.text))
            inputs.append(body.input(name, v.t, map.take(self.env[v.name], loops)))
        yielded = makeBody(body, inputs)
        # Sizes of the loops that no type says.
        sizes = [None] * n
        known = [False] * n
        for v, map in ins:
            for place, (parts, constant) in enumerate(map.results):
                if len(parts) == 1 and constant == 0 and list(parts.values()) == [1]:
                    loop = next(iter(parts))
                    if not v.dyn[place]:
                        known[loop] = True
                    elif sizes[loop] is None:
                        sizes[loop] = (v, place)
        destinations, final, outNames, combined = [], [], [], []
        uses = [v.name for v, _ in ins] + [v.name for v in body.captured]
        for (t, map, how), place in zip(outs, yielded):
            dims, shape = [], []
            for parts, constant in map.results:
                loop = next(iter(parts)) if parts else None
                shape.append(loops[loop] if parts else 1)
                open = loop is not None and sizes[loop] and not (known[loop] and self.rng.random() < 0.7)
                dims.append(self.dim(lines, *sizes[loop]) if open else None)
            start = how[1] if how else None
            if isinstance(start, Val):
                need(start.shape == tuple(shape) and start.t is t)
                if self.form == "memref":
                    out = self.empty(lines, t, shape, [None] * len(shape))
                    lines.append("memref.copy %s, %s : %s to %s" % (start.name, out.name, start.type, out.type))
                else:
                    out = start
                uses.append(start.name)
            elif how and how[0] is Val:
                out = how[1]
            else:
                out = self.empty(lines, t, shape, dims)
                if how:
                    out = self.fill(lines, out, start)
            destinations.append(out)
        text = []
        names = []
        for (t, map, how), place in zip(outs, yielded):
            name = self.name("o")
            blockArguments.append("%s: %s" % (name, t.text))
            if how:
                final = self.name("r")
                operation = ("arith." if t.kind != "c" else "complex.") + (how[0] if t.kind != "c" else "add")
                pair = (name, body.names[place]) if self.rng.random() < 0.5 else (body.names[place], name)
                text.append("%s = %s %s, %s : %s" % (final, operation, *pair, t.text))
                names.append(final)
            else:
                names.append(body.names[place])
        if head is None:
            maps = ", ".join(m.text() for m in [m for _, m in ins] + [m for _, m, _ in outs])
            kinds = ", ".join('"reduction"' if i in reduction else '"parallel"' for i in range(n))
            head = "linalg.generic"
            attributes = "{indexing_maps = [%s], iterator_types = [%s]}" % (maps, kinds)
            region = ["^bb0(%s):" % ", ".join(blockArguments)] + ["  " + l for l in body.lines + text]
            region.append("  linalg.yield %s : %s" % (", ".join(names), ", ".join(t.text for t, _, _ in outs)) if outs else "  linalg.yield")
        elif region is not None:  # linalg.map, linalg.reduce
            region = region(blockArguments, body.lines + text, names)
        results = self.structured(lines, head, attributes, [(v.name, v.type) for v, _ in ins], destinations, region or [], plain=plain)
        parallel = [i for i in range(n) if i not in reduction]

        def run(env):
            values = body.replay([map.take(env[v.name], loops) for v, map in ins] + [env[v.name] for v in body.captured], env)
            computed = {}
            for (t, map, how), place, result in zip(outs, yielded, results):
                d = values[place]
                v = np.broadcast_to(d.v, loops)
                e = np.broadcast_to(d.e, loops) if np.ndim(d.e) else d.e
                order = [next(iter(parts)) if parts else None for parts, _ in map.results]
                axes = tuple(i for i in range(n) if i not in order)

                def place_(array):
                    left = [i for i in range(n) if i in order]
                    array = np.transpose(array, [left.index(i) for i in order if i is not None])
                    return array.reshape(result.shape)
                if how:
                    start = env[how[1].name] if isinstance(how[1], Val) else D(np.full(result.shape, how[1], dtype=v.dtype), 0.0)
                    back = np.argsort([i for i in order if i is not None])
                    squeezed = lambda a: np.transpose(np.reshape(a, [loops[i] for i in order if i is not None]), back) if np.ndim(a) or True else a
                    r = reduceBy(how[0], t, D(v, e), axes, D(squeezed(start.v), squeezed(np.broadcast_to(start.e, start.v.shape))))
                    computed[result.name] = D(place_(np.asarray(r.v)), place_(np.broadcast_to(r.e, np.shape(r.v))))
                else:
                    computed[result.name] = D(place_(v).copy(), place_(e).copy() if np.ndim(e) else e)
            for effect in body.effects:
                effect(env, values, loops)
            env.update(computed)
        for result in results:
            result.isBuffer = self.form == "memref"
        self.take(Op(lines, results + body.written, run, uses + [m.name for m in body.touched + body.written]))
        return results

    #-- Kinds of ops

    def kinds(self):
        """How often which kind of op is drawn."""
        kinds = {"elementwise": 6, "onTensors": 3 * ("generic" in self.features), "named": 3 * ("named" in self.features),
                 "reduce": 4 * ("reduce" in self.features), "argmax": ("argmax" in self.features), "contract": (12 if self.half else 3) * ("contract" in self.features),
                 "conv": 1.5 * ("conv" in self.features), "pool": ("pool" in self.features), "slice": 2 * ("slice" in self.features),
                 "insert": 2 * ("slice" in self.features), "pad": 1.5 * ("pad" in self.features), "concat": ("slice" in self.features), "pack": ("pack" in self.features),
                 "reshape": 2 * ("reshape" in self.features), "gather": 1.5 * ("gather" in self.features), "softmax": ("softmax" in self.features) * (not self.special),
                 "layers": 0.4 * ("softmax" in self.features) * (not self.special),
                 "generate": ("generate" in self.features), "loop": 2 * ("loop" in self.features) * (self.depth < 2),
                 "branch": 1.5 * ("branch" in self.features) * (self.depth < 2), "constants": ("constant" in self.features),
                 "host": 0.7 * ("host" in self.features), "call": ("call" in self.features) * (self.depth < 1), "cast": 0.7 * self.dynamic}
        if self.form == "memref":
            kinds = {k: w for k, w in kinds.items() if k in ("elementwise", "named", "reduce", "argmax", "contract", "conv", "pool", "slice", "reshape", "loop", "gather")}
            kinds["inPlace"] = 3
        return kinds

    def attempt(self, kind=None):
        kinds = self.kinds()
        kind = kind or self.rng.choices(list(kinds), list(kinds.values()))[0]
        number, arguments, visible = self.number, len(self.program.args), [list(s) for s in self.scopes]
        try:
            with np.errstate(all="ignore"):
                getattr(self, kind)()
        except Skip:
            # What it drew is not there.
            for v, _ in self.program.args[arguments:]:
                del self.env[v.name]
            del self.program.args[arguments:]
            self.scopes[:] = visible
            return False
        return True

    def loopsOver(self, value):
        """The sizes of loops over the value's dimensions, and the loop that each dimension has."""
        order = list(range(len(value.shape)))
        if self.rng.random() < 0.3:
            self.rng.shuffle(order)
        loops = [0] * len(order)
        for place, loop in enumerate(order):
            loops[loop] = value.shape[place]
        return loops, order

    def elementwise(self):
        rng = self.rng
        first = self.pick()
        need(first)
        loops, order = self.loopsOver(first)
        rank = len(loops)
        ins = [(first, Map.of(rank, order))]
        # One more loop: what is there is broadcast.
        if rng.random() < 0.15 and rank < 4 and math.prod(loops) < 5000:
            loops.append(rng.choice(self.sizes))
            rank += 1
            ins = [(first, Map.of(rank, order))]
            place = rng.choice([v for v in [self.of(rng.choice(self.types), [loops[-1]])]])
            ins.append((place, Map.of(rank, [rank - 1])))
        for _ in range(rng.choice([0, 1, 1, 2])):
            ins.append(self.operandFor(loops))
        need(math.prod(loops) <= 2 * self.largest)

        outs, count = [], rng.choice([1, 1, 1, 2])

        def makeBody(body, inputs):
            if rng.random() < 0.15:
                v = rng.choice(self.visible(lambda v: v.t is not INDEX and v.t is not I1, numbers=True) or [self.scalar()])
                body.capture(v)
            if rng.random() < 0.2 and rank:
                loop = rng.randrange(rank)
                shape = [1] * rank
                shape[loop] = loops[loop]
                grid = np.arange(loops[loop]).reshape(shape)
                body.step("linalg.index %d : index" % loop, INDEX, lambda: D(grid), [])
            steps = rng.randint(1, 5)
            for _ in range(steps * 4):
                if len(body.steps) >= steps:
                    break
                try:
                    body.random()
                except Skip:
                    pass
            good = [i for i, t in enumerate(body.types) if t is not INDEX and i >= body.count]
            need(good)
            chosen = [good[-1]] + [rng.choice(good) for _ in range(count - 1)]
            for i in chosen:
                places = list(range(rank))
                if rng.random() < 0.2:
                    rng.shuffle(places)
                outs.append((body.types[i], Map.of(rank, places), None))
            return chosen
        self.generic(ins, loops, outs, makeBody)

    def scalar(self):
        """A number that the host has."""
        t = self.rng.choice([t for t in self.types if t.kind != "c" and t is not I1] or [F32])
        v = self.argument(t, number=self.rng.choice([0.5, 2.0, -1.5]) if t.kind == "f" else self.rng.choice([-3, 2, 7]))
        return v

    def operandFor(self, loops):
        """A value that fits some of the loops, with its map."""
        rng, n = self.rng, len(loops)
        def places(shape):
            left, found = list(range(n)), []
            rng.shuffle(left)
            for s in shape:
                match = [l for l in left if loops[l] == s]
                if not match:
                    if s == 1:
                        found.append(None)
                        continue
                    return None
                found.append(match[0])
                left.remove(match[0])
            return found
        fitting = [(v, p) for v in self.visible(lambda v: len(v.shape) <= n) for p in [places(v.shape)] if p is not None]
        if fitting and rng.random() < 0.7:
            v, p = rng.choice(fitting)
        else:
            p = sorted(rng.sample(range(n), rng.randint(0, n)))
            v = self.argument(rng.choice(self.types), [loops[l] for l in p])
        return v, Map.of(n, p)

    @staticmethod
    def unaryOps(t):
        return linalgspecial.UNARY if t.special else UNARY_FLOAT

    def onTensors(self):
        """arith and math ops on whole tensors."""
        rng = self.rng
        a = self.pick(lambda v: not any(v.dyn) and v.t is not I1)
        need(a and a.t.kind != "c")
        lines, out = [], None
        if a.t.kind == "f" and rng.random() < 0.5:
            op = rng.choice(self.unaryOps(a.t))
            function, names = unaryFloat(op, a.t), [a]
            t = a.t
        elif rng.random() < 0.3:
            op, t, function = rng.choice(casts(rng, a.t))
            need(self.allows(t))
            out = Val(self.name(), t, a.shape, a.dyn)
            self.take(Op(["%s = %s %s : %s to %s" % (out.name, op, a.name, a.type, out.type)], [out],
                         lambda env: env.__setitem__(out.name, function(env[a.name])), [a.name]))
            return
        else:
            b = self.pick(lambda v: v.t is a.t and v.shape == a.shape and v.dyn == a.dyn)
            op = rng.choice(linalgspecial.BINARY if a.t.special else BINARY_FLOAT if a.t.kind == "f" else BINARY_INT)
            function, names, t = binary(op, a.t), [a, b], a.t
        out = Val(self.name(), t, a.shape, a.dyn)
        self.take(Op(["%s = %s %s : %s" % (out.name, op, ", ".join(v.name for v in names), a.type)], [out],
                     lambda env: env.__setitem__(out.name, function(*[env[v.name] for v in names])), [v.name for v in names]))

    def named(self):
        rng = self.rng
        a = self.pick()
        need(a)
        n = len(a.shape)
        same = Map.of(n, range(n))
        kind = rng.choice(["binary", "unary", "transpose", "broadcast", "copy", "map"])
        if kind == "binary":
            need(a.t.kind == "f" or (a.t.kind == "i" and a.t.bits > 1))
            b = self.of(a.t, a.shape)
            name = rng.choice(["add", "sub", "mul", "max", "min", "div"])
            op = {"f": {"max": "maximumf", "min": "minimumf"}, "i": {"max": "maxsi", "min": "minsi", "div": "divsi"}}[a.t.kind].get(name, name + a.t.kind)
            def makeBody(body, inputs):
                return [body.step("", a.t, binary("arith." + op, a.t), inputs)]
            return self.generic([(a, same), (b, same)], a.shape, [(a.t, same, None)], makeBody, head="linalg." + name)
        if kind == "unary":
            need(a.t.kind == "f")
            name = rng.choice(["abs", "ceil", "floor", "negf", "sqrt", "square", "reciprocal"] +
                              ["exp", "log", "tanh", "rsqrt", "round", "erf"] * (not a.t.special))
            def makeBody(body, inputs):
                if name == "square":
                    return [body.step("", a.t, binary("arith.mulf", a.t), inputs * 2)]
                if name == "reciprocal":
                    f = binary("arith.divf", a.t)
                    return [body.step("", a.t, lambda a: f(D(np.array(1.0)), a), inputs)]
                op = {"abs": "math.absf", "negf": "arith.negf"}.get(name, "math." + name)
                return [body.step("", a.t, unaryFloat(op, a.t), inputs)]
            return self.generic([(a, same)], a.shape, [(a.t, same, None)], makeBody, head="linalg." + name)
        if kind == "transpose":
            need(n)  # Upstream's verifier crashes without dimensions.
            order = list(range(n))
            rng.shuffle(order)
            # Dimension i of the result is dimension order[i] of the operand.
            return self.generic([(a, Map.of(n, [order.index(i) for i in range(n)]))], [a.shape[p] for p in order], [(a.t, same, None)],
                                lambda body, inputs: inputs, head="linalg.transpose", attributes="permutation = [%s]" % ", ".join(map(str, order)), plain=True)
        if kind == "broadcast":
            need(n < 4)
            at = rng.randint(0, n)
            loops = list(a.shape)
            loops.insert(at, rng.choice(self.sizes))
            need(math.prod(loops) <= self.largest)
            places = [i for i in range(n + 1) if i != at]
            return self.generic([(a, Map.of(n + 1, places))], loops, [(a.t, Map.of(n + 1, range(n + 1)), None)],
                                lambda body, inputs: inputs, head="linalg.broadcast", attributes="dimensions = [%d]" % at, plain=True)
        if kind == "copy":
            return self.generic([(a, same)], a.shape, [(a.t, same, None)], lambda body, inputs: inputs, head="linalg.copy")
        need(a.t.kind == "f")
        op = rng.choice(self.unaryOps(a.t))
        def makeBody(body, inputs):
            return [body.step("%s %s : %s" % (op, body.names[inputs[0]], a.t.text), a.t, unaryFloat(op, a.t), inputs)]
        def region(arguments, code, names):
            text[0] = "{\n"
            return None
        text = [""]
        # linalg.map's short form.
        self.shortMap = True
        return self.generic([(a, same)], a.shape, [(a.t, same, None)], makeBody, head="linalg.map { %s }" % op)

    def startOf(self, kind, t):
        if t.special:
            return self.rng.choice([0.0, -0.0, -0.0, 1.0, np.inf, -np.inf, np.nan])
        if kind in ("maximumf", "minimumf"):
            return self.rng.choice([-50.0, 0.0, 50.0])
        if kind in ("maxsi", "minsi"):
            return self.rng.choice([-3, 0, 3])
        if kind in ("andi",):
            return -1 if t.bits > 1 else 1
        if kind == "muli":
            return 1
        if t.kind == "c":
            return complex(self.rng.choice([0.0, 0.0, 1.0]), 0.0)
        return self.rng.choice([0.0, 0.0, 0.0, 1.0]) if t.kind == "f" else 0

    def combiner(self, t):
        if t.kind == "f":
            return self.rng.choice(["addf", "addf", "maximumf", "minimumf"])
        if t.kind == "c":
            return "add"
        return self.rng.choice(["addi", "addi", "muli", "andi", "ori", "xori"] + ["maxsi", "minsi"] * (t.bits > 1))

    def reduce(self):
        rng = self.rng
        a = self.pick(lambda v: len(v.shape))
        need(a)
        loops, order = self.loopsOver(a)
        n = len(loops)
        reduction = sorted(rng.sample(range(n), rng.randint(1, n)))
        ins = [(a, Map.of(n, order))]
        if rng.random() < 0.3:
            ins.append(self.operandFor(loops))
        kept = [i for i in range(n) if i not in reduction]
        count = rng.choice([1, 1, 1, 2])
        outs = []
        steps = rng.choice([0, 0, 1, 2])
        # The types follow from the body, which is drawn first.
        def makeBody(body, inputs):
            for _ in range(steps):
                try:
                    body.random()
                except Skip:
                    pass
            good = [i for i, t in enumerate(body.types) if t is not INDEX]
            chosen = [rng.choice(good[-2:]) for _ in range(count)]
            for i in chosen:
                t = body.types[i]
                kind = self.combiner(t)
                places = list(kept)
                if rng.random() < 0.2:
                    rng.shuffle(places)
                start = self.startOf(kind, t)
                shape = tuple(loops[p] for p in places)
                found = self.visible(lambda v: v.t is t and v.shape == shape and not any(v.dyn))
                if found and rng.random() < 0.2:
                    start = rng.choice(found)
                outs.append((t, Map.of(n, places), (kind, start)))
            return chosen
        self.generic(ins, loops, outs, makeBody, reduction=reduction)

    def outer(self):
        """A matrix that is computed of two vectors, and sums of its rows or columns or its product with a vector: long ones."""
        rng = self.rng
        t = rng.choice([t for t in self.types if t is not I1] or [F32])
        long = rng.choice(OUTER)
        loops = [long, rng.choice([s for s in (1, 2, 3, 3, 70, 130, 130) if s * long <= OUTER_SPACE])]
        rng.shuffle(loops)
        self.space = OUTER_SPACE
        try:
            x, y = self.argument(t, [loops[0]]), self.argument(t, [loops[1]])
            combine = rng.choice(["mul", "mul", "add", "sub"]) + t.kind
            of = []

            def compute(body, inputs):
                f = binary("arith." + combine, t)
                product = body.step("arith.%s %s, %s : %s" % (combine, body.names[inputs[0]], body.names[inputs[1]], t.text), t, f, inputs)
                for _ in range(rng.choice([0, 1, 2])):
                    try:
                        body.random()
                    except Skip:
                        pass
                good = [i for i, u in enumerate(body.types) if i >= product and u is not INDEX and u is not I1]
                u = body.types[good[-1]]
                start = (self.combiner(u), None) if rng.random() < 0.6 else None
                of.append((u, Map.of(2, [0, 1]), start and (start[0], self.startOf(start[0], u))))
                return [good[-1]]
            matrix = self.generic([(x, Map.of(2, [0])), (y, Map.of(2, [1]))], loops, of, compute)[0]
            self.scopes[-1].remove(matrix)  # Other ops on it would take long.
            self.hidden.add(matrix.name)
            for _ in range(rng.choice([1, 1, 2])):
                try:
                    self.sumOuter(matrix, loops)
                except Skip:
                    pass  # The matrix is there already.
        finally:
            self.space = SPACE

    def sumOuter(self, matrix, loops):
        """Sums of the matrix's rows or columns, or its product with a vector."""
        rng = self.rng
        axis = rng.randrange(2)
        kept = Map.of(2, [1 - axis])
        if rng.random() < 0.5:
            kind = self.combiner(matrix.t)
            out = (matrix.t, kept, (kind, self.startOf(kind, matrix.t)))
            self.sums += self.generic([(matrix, Map.of(2, [0, 1]))], loops, [out], lambda body, inputs: inputs, reduction=[axis])
            return
        vector = self.argument(matrix.t, [loops[axis]])

        def multiply(body, inputs):
            name = "mul" + matrix.t.kind
            names = [body.names[i] for i in inputs]
            return [body.step("arith.%s %s, %s : %s" % (name, *names, matrix.t.text), matrix.t, binary("arith." + name, matrix.t), inputs)]
        ins = [(matrix, Map.of(2, [0, 1])), (vector, Map.of(2, [axis]))]
        head = "linalg." + ("matvec" if axis else "vecmat") if rng.random() < 0.5 else None
        self.sums += self.generic(ins if axis or not head else ins[::-1], loops, [(matrix.t, kept, ("add" + matrix.t.kind, 0))], multiply, reduction=[axis], head=head)

    def argmax(self):
        rng = self.rng
        a = self.pick(lambda v: len(v.shape) and v.t in (F32, F64, F16, I32, I8, BF16) and not np.any(self.env[v.name].e))
        need(a)
        n = len(a.shape)
        axis = rng.randrange(n)
        most = rng.random() < 0.6
        it = rng.choice([I32, I64])
        lines = []
        shape = [s for i, s in enumerate(a.shape) if i != axis]
        sizes = [self.dim(lines, a, i) if a.dyn[i] else None for i in range(n) if i != axis]
        least = (-1e4 if a.t.kind == "f" else -128) * (1 if most else -1) - (0 if most or a.t.kind == "f" else 1)
        values, places = self.empty(lines, a.t, shape, sizes), self.empty(lines, it, shape, sizes)
        values, places = self.fill(lines, values, least), self.fill(lines, places, 0)
        x, y, v, p, i, k, c, w, q = (self.name("s") for _ in range(9))
        kept = Map.of(n, [d for d in range(n) if d != axis]).text()
        kinds = ", ".join('"reduction"' if d == axis else '"parallel"' for d in range(n))
        attributes = "{indexing_maps = [%s, %s, %s], iterator_types = [%s]}" % (Map.of(n, range(n)).text(), kept, kept, kinds)
        predicate = ("ogt" if most else "olt") if a.t.kind == "f" else ("sgt" if most else "slt")
        body = ["^bb0(%s: %s, %s: %s, %s: %s):" % (x, a.t.text, v, a.t.text, p, it.text),
                "  %s = linalg.index %d : index" % (i, axis), "  %s = arith.index_cast %s : index to %s" % (k, i, it.text)]
        compare = lambda result, predicate, one, other, t: "  %s = arith.cmp%s %s, %s, %s : %s" % (result, t.kind, predicate, one, other, t.text)
        if rng.random() < 0.5:
            body += [compare(c, predicate, x, v, a.t),
                     "  %s = arith.select %s, %s, %s : %s" % (w, c, x, v, a.t.text), "  %s = arith.select %s, %s, %s : %s" % (q, c, k, p, it.text)]
        else:  # As JAX has it: of equal ones the first, and what is no number stays. Parts of it may be taken by threads.
            keeps, unordered, stays, equal, before, both, first = (self.name("s") for _ in range(7))
            body += [compare(keeps, predicate, v, x, a.t)]
            if a.t.kind == "f":
                body += [compare(unordered, "une", v, v, a.t), "  %s = arith.ori %s, %s : i1" % (stays, keeps, unordered)]
            else:
                stays = keeps
            body += [compare(equal, "oeq" if a.t.kind == "f" else "eq", v, x, a.t), compare(before, "slt", p, k, it),
                     "  %s = arith.andi %s, %s : i1" % (both, equal, before), "  %s = arith.ori %s, %s : i1" % (first, stays, both),
                     "  %s = arith.select %s, %s, %s : %s" % (w, stays, v, x, a.t.text), "  %s = arith.select %s, %s, %s : %s" % (q, first, p, k, it.text)]
        body += ["  linalg.yield %s, %s : %s, %s" % (w, q, a.t.text, it.text)]
        results = self.structured(lines, "linalg.generic", attributes, [(a.name, a.type)], [values, places], body)

        def run(env):
            d = env[a.name]
            exactly(d)
            if not d.v.shape[axis]:
                env[results[0].name] = D(np.full(results[0].shape, least, dtype=d.v.dtype))
                env[results[1].name] = D(np.zeros(results[1].shape, dtype=np.int64))
                return
            need(not d.v.size or np.max(np.abs(d.v)) < (1e4 if a.t.kind == "f" else 127))
            env[results[0].name] = D((np.max if most else np.min)(d.v, axis=axis))
            env[results[1].name] = D((np.argmax if most else np.argmin)(d.v, axis=axis).astype(np.int64))
        for r in results:
            r.isBuffer = self.form == "memref"
        self.take(Op(lines, results, run, [a.name]))

    def contract(self):
        """matmul and its like, and products in generics."""
        rng = self.rng
        t = self.types[0] if self.half else rng.choice([t for t in self.types if t is not I1] or [F32])
        wide = t
        kind = rng.choice(["matmul", "matmul", "batch_matmul", "matvec", "vecmat", "dot", "batch_matvec", "generic", "generic", "transposed"])
        dims = [rng.choice(self.sizes) for _ in range(4)]
        b, i, j, k = dims
        start = self.pick(lambda v: v.t is t and len(v.shape) == 2)
        if start and rng.random() < 0.7:
            i, k = start.shape
        while i * j * k * (b if "batch" in kind else 1) > SPACE:
            i, j, k, b = [max(x // 2, 1) for x in (i, j, k, b)]
        mixed = kind == "generic" and rng.random() < 0.4
        if mixed:
            wide = {F16: F32, BF16: F32, F32: F64, I8: I32, I16: I32, I32: I64}.get(t, t)
            need(self.allows(wide))
        forms = {"matmul": ([0, 2], [2, 1], [0, 1], (i, j, k)), "transposed": ([0, 2], [1, 2], [0, 1], (i, j, k)),
                 "batch_matmul": ([0, 1, 3], [0, 3, 2], [0, 1, 2], (b, i, j, k)), "matvec": ([0, 1], [1], [0], (i, k)),
                 "vecmat": ([1], [1, 0], [0], (j, k)), "dot": ([0], [0], [], (k,)), "batch_matvec": ([0, 1, 2], [0, 2], [0, 1], (b, i, k))}
        if kind == "generic":
            left, right, out, loops = rng.choice(list(forms.values()))
            order = list(range(len(loops)))
            rng.shuffle(order)
            left, right, out = ([order[p] for p in m] for m in (left, right, out))
            loops = [loops[order.index(p)] for p in range(len(loops))]
            if rng.random() < 0.3:
                rng.shuffle(left)
        else:
            left, right, out, loops = forms[kind]
        n = len(loops)
        x, y = self.of(t, [loops[p] for p in left]), self.of(t, [loops[p] for p in right])
        init = 0 if t.kind == "i" else complex(0) if t.kind == "c" else self.startOf("addf", t) if t.special else 0.0
        found = self.visible(lambda v: v.t is wide and v.shape == tuple(loops[p] for p in out) and not any(v.dyn))
        if found and rng.random() < 0.3:
            init = rng.choice(found)
        combine = {"f": "addf", "i": "addi", "c": "add"}[t.kind]
        product = {"f": "arith.mulf", "i": "arith.muli", "c": "complex.mul"}[t.kind]

        def makeBody(body, inputs):
            operands = list(inputs)
            if wide is not t:
                cast = "arith.extf" if t.kind == "f" else "arith.extsi"
                operands = [body.step("%s %s : %s to %s" % (cast, body.names[i], t.text, wide.text), wide, lambda a: D(a.v, a.e), [i]) for i in operands]
            f = binary(product, wide)
            return [body.step("%s %s, %s : %s" % (product, body.names[operands[0]], body.names[operands[1]], wide.text), wide, f, operands)]
        reduction = [l for l in range(n) if l not in out]
        head = None if kind in ("generic", "transposed") else "linalg." + kind
        self.generic([(x, Map.of(n, left)), (y, Map.of(n, right))], loops, [(wide, Map.of(n, out), (combine, init))], makeBody, reduction=reduction, head=head)

    def conv(self):
        rng = self.rng
        t = rng.choice([t for t in self.types if t.kind != "c" and t is not I1] or [F32])
        n, h, w, c, f = rng.choice([1, 2, 3]), rng.randint(1, 12), rng.randint(1, 12), rng.choice([1, 2, 3, 4, 8]), rng.choice([1, 2, 5, 8])
        kh, kw, s, d = rng.randint(1, 3), rng.randint(1, 3), rng.choice([1, 1, 2, 3]), rng.choice([1, 1, 2])
        H, W = (h - 1) * s + (kh - 1) * d + 1 + rng.randrange(s), (w - 1) * s + (kw - 1) * d + 1 + rng.randrange(s)
        kind = rng.choice(["conv_2d_nhwc_hwcf", "conv_2d_nchw_fchw", "depthwise_conv_2d_nhwc_hwc", "conv_1d_nwc_wcf", "conv_2d"])
        y = lambda h, k: ({h: s, k: d} if True else None, 0)
        p = lambda l: ({l: 1}, 0)
        attributes = "{dilations = dense<%d> : tensor<2xi64>, strides = dense<%d> : tensor<2xi64>}" % (d, s)
        if kind == "conv_2d_nhwc_hwcf":
            loops, image, kernel, out, red = (n, h, w, f, kh, kw, c), [p(0), y(1, 4), y(2, 5), p(6)], [4, 5, 6, 3], [0, 1, 2, 3], (4, 5, 6)
            shape = (n, H, W, c)
        elif kind == "conv_2d_nchw_fchw":
            loops, image, kernel, out, red = (n, f, h, w, c, kh, kw), [p(0), p(4), y(2, 5), y(3, 6)], [1, 4, 5, 6], [0, 1, 2, 3], (4, 5, 6)
            shape = (n, c, H, W)
        elif kind == "depthwise_conv_2d_nhwc_hwc":
            loops, image, kernel, out, red = (n, h, w, c, kh, kw), [p(0), y(1, 4), y(2, 5), p(3)], [4, 5, 3], [0, 1, 2, 3], (4, 5)
            shape = (n, H, W, c)
        elif kind == "conv_1d_nwc_wcf":
            loops, image, kernel, out, red = (n, w, f, kw, c), [p(0), y(1, 3), p(4)], [3, 4, 2], [0, 1, 2], (3, 4)
            shape = (n, W, c)
            attributes = attributes.replace("2xi64", "1xi64")
        else:
            H, W = h + kh - 1, w + kw - 1
            loops, image, kernel, out, red = (h, w, kh, kw), [({0: 1, 2: 1}, 0), ({1: 1, 3: 1}, 0)], [2, 3], [0, 1], (2, 3)
            shape, attributes = (H, W), ""
        x, k = self.of(t, shape), self.of(t, [loops[l] for l in kernel])
        need(not any(x.dyn) and not any(k.dyn))
        size = len(loops)
        combine, product = {"f": ("addf", "arith.mulf"), "i": ("addi", "arith.muli")}[t.kind]
        makeBody = lambda body, inputs: [body.step("%s %s, %s : %s" % (product, body.names[inputs[0]], body.names[inputs[1]], t.text), t, binary(product, t), inputs)]
        head = "linalg." + kind if rng.random() < 0.7 else None
        self.generic([(x, Map(size, image)), (k, Map.of(size, kernel))], loops, [(t, Map.of(size, out), (combine, 0.0 if t.kind == "f" else 0))],
                     makeBody, reduction=red, head=head, attributes=attributes if head else "")

    def pool(self):
        rng = self.rng
        t = rng.choice([t for t in self.types if t.kind != "c" and t is not I1] or [F32])
        n, h, w, c = rng.choice([1, 2]), rng.randint(1, 12), rng.randint(1, 12), rng.choice([1, 3, 8])
        kh, kw, s, d = rng.randint(1, 3), rng.randint(1, 3), rng.choice([1, 2, 3]), rng.choice([1, 1, 2])
        H, W = (h - 1) * s + (kh - 1) * d + 1, (w - 1) * s + (kw - 1) * d + 1
        kind = rng.choice(["sum", "max", "min"])
        x = self.of(t, (n, H, W, c))
        window = self.argument(t, (kh, kw))
        need(not any(x.dyn) and not any(window.dyn))
        combine = {"sum": "add" + t.kind, "max": "maximumf" if t.kind == "f" else "maxsi", "min": "minimumf" if t.kind == "f" else "minsi"}[kind]
        start = self.startOf(combine, t)
        self.generic([(x, Map(6, [({0: 1}, 0), ({1: s, 4: d}, 0), ({2: s, 5: d}, 0), ({3: 1}, 0)])), (window, Map.of(6, [4, 5]))], (n, h, w, c, kh, kw),
                     [(t, Map.of(6, range(4)), (combine, start))], lambda body, inputs: inputs[:1], reduction=(4, 5), head="linalg.pooling_nhwc_" + kind,
                     attributes="{dilations = dense<%d> : tensor<2xi64>, strides = dense<%d> : tensor<2xi64>}" % (d, s))

    #-- Ops of tensors

    def simple(self, make, ins, t, shape, dyn, compute, lines=None):
        """An op of one result. make(name, type) is its text, compute(arrays) the result, of errors too."""
        out = Val(self.name(), t, shape, dyn, form=self.form)
        need(out.size <= 2 * self.largest)
        lines = (lines or []) + ["%s = %s" % (out.name, make(out))]

        def run(env):
            ds = [env[v.name] for v in ins]
            errors = [np.broadcast_to(d.e, d.v.shape) for d in ds]
            e = compute(errors, True) if any(np.any(e) for e in errors) else 0.0
            env[out.name] = D(np.array(compute([d.v for d in ds], False)).reshape(out.shape), np.array(e).reshape(out.shape) if np.ndim(e) or out.size == 1 and np.any(e) else e)
        self.take(Op(lines, [out], run, [v.name for v in ins]))
        return out

    def window(self, shape):
        rng, offsets, sizes, strides = self.rng, [], [], []
        for s in shape:
            if rng.random() < 0.35 or s == 0:
                offsets.append(0), sizes.append(s), strides.append(1)
                continue
            step = rng.choice([1, 1, 1, 2, 3])
            offset = rng.randrange(s) if rng.random() < 0.7 else 0
            size = rng.randint(1, (s - offset - 1) // step + 1)
            if rng.random() < 0.04 and "empty" in self.features:
                size = 0
            offsets.append(offset), sizes.append(size), strides.append(step)
        return offsets, sizes, strides

    def slice(self):
        rng = self.rng
        a = self.pick(lambda v: len(v.shape) and v.size and not v.layout)
        need(a)
        offsets, sizes, strides = self.window(a.shape)
        index = tuple(slice(o, o + (n - 1) * s + 1 if n else o, s) for o, n, s in zip(offsets, sizes, strides))
        if self.form == "memref":
            need(not any(a.dyn) and a.size)
            own = [math.prod(a.shape[i + 1:]) for i in range(len(a.shape))]
            # Upstream's SubViewOp::getDroppedDims dereferences nothing where steps are not 1.
            kept = [i for i, n in enumerate(sizes) if not (n == 1 and set(strides) == {1} and rng.random() < 0.4)]
            layout = ", strided<[%s], offset: %d>" % (", ".join("%d" % (own[i] * strides[i]) for i in kept), sum(o * w for o, w in zip(offsets, own)))
            out = Val(self.name(), a.t, [sizes[i] for i in kept], form="memref", layout=layout)
            a.isBuffer, wasBuffer = a.isBuffer, a.isBuffer
            a.hasView = True
            text = "%s = memref.subview %s%s %s %s : %s to %s" % (out.name, a.name, offsets, sizes, strides, a.type, out.type)
            def run(env):
                d = env[a.name]
                env[out.name] = D(d.v[index].reshape(out.shape).copy(), d.e[index].reshape(out.shape).copy() if np.ndim(d.e) else d.e)
            self.take(Op([text], [out], run, [a.name]))
            return
        # Offsets that the host computes of arguments.
        lines, words, uses = [], [], []
        for o in offsets:
            if o and rng.random() < 0.3:
                number = self.number_(o)
                words.append(number.name)
                uses.append(number)
            else:
                words.append(str(o))
        dyn, sizeWords = [], []
        for n in sizes:
            if self.dynamic and rng.random() < 0.4:
                number = self.number_(n)
                sizeWords.append(number.name)
                uses.append(number)
                dyn.append(True)
            else:
                sizeWords.append(str(n))
                dyn.append(False)
        kept = [i for i, n in enumerate(sizes) if not (n == 1 and not dyn[i] and rng.random() < 0.4)]
        self.simple(lambda out: "tensor.extract_slice %s[%s] [%s] %s : %s to %s" % (a.name, ", ".join(words), ", ".join(sizeWords), strides, a.type, out.type),
                    [a] + [], a.t, [sizes[i] for i in kept], [dyn[i] for i in kept], lambda arrays, _: arrays[0][index])
        self.blocks[-1][-1].uses |= {v.name for v in uses}

    def number_(self, value):
        """An index of the host, an argument."""
        if self.rng.random() < 0.25:  # Of constants, which canonicalization finds out.
            x, y, out = self.name("c"), self.name("c"), Val(self.name("n"), INDEX, (), form="number")
            part = self.rng.randint(0, 3)
            self.take(Op(["%s = arith.constant %d : index" % (x, value - part), "%s = arith.constant %d : index" % (y, part),
                          "%s = arith.addi %s, %s : index" % (out.name, x, y)], [out], lambda env: env.__setitem__(out.name, D(np.array(value))), []))
            return out
        if self.rng.random() < 0.2:  # An element of what a kernel computes.
            v, e, n, k, j, s, at, x, out = [self.name("d") for _ in range(8)] + [Val(self.name("n"), INDEX, (), form="number")]
            place = self.rng.randint(0, 2)
            self.take(Op(["%s = tensor.empty() : tensor<3xi64>" % e, "%s = arith.constant %d : i64" % (n, value - place),
                          "%s = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = [\"parallel\"]} outs(%s : tensor<3xi64>) {" % (v, e),
                          "^bb0(%unused: i64):", "  %s = linalg.index 0 : index" % k, "  %s = arith.index_cast %s : index to i64" % (j, k),
                          "  %s = arith.addi %s, %s : i64" % (s, n, j), "  linalg.yield %s : i64" % s, "} -> tensor<3xi64>",
                          "%s = arith.constant %d : index" % (at, place), "%s = tensor.extract %s[%s] : tensor<3xi64>" % (x, v, at),
                          "%s = arith.index_cast %s : i64 to index" % (out.name, x)], [out], lambda env: env.__setitem__(out.name, D(np.array(value))), []))
            return out
        found = [v for v in self.visible(numbers=True) if v.t is INDEX and int(self.env[v.name].v) == value and v in [a for a, _ in self.program.args]]
        if found:
            return found[0]
        return self.argument(INDEX, number=value)

    def insert(self):
        rng = self.rng
        a = self.pick(lambda v: len(v.shape) and v.size)
        need(a)
        offsets, sizes, strides = self.window(a.shape)
        found = self.visible(lambda v: v.t is a.t and v is not a and len(v.shape) == len(a.shape) and all(s <= n for s, n in zip(v.shape, a.shape)) and not any(v.dyn))
        kept = list(range(len(sizes)))
        if found and rng.random() < 0.6:
            b = rng.choice(found)
            sizes, strides = list(b.shape), [1] * len(b.shape)
            offsets = [rng.randint(0, n - s) if s else 0 for n, s in zip(a.shape, sizes)]
        else:
            kept = [i for i in kept if not (sizes[i] == 1 and rng.random() < 0.4)]
            b = self.of(a.t, [sizes[i] for i in kept])
            need(not any(b.dyn))
        index = tuple(slice(o, o + (n - 1) * s + 1 if n else o, s) for o, n, s in zip(offsets, sizes, strides))
        def compute(arrays, isError):
            r = arrays[1].copy()
            r[index] = arrays[0].reshape(sizes)
            return r
        numbers = []
        def word(value, chance):
            if rng.random() >= chance:
                return str(value)
            numbers.append(self.number_(value))
            return numbers[-1].name
        offsetWords, sizeWords, source, lines = [word(o, 0.2) for o in offsets], list(map(str, sizes)), b, []
        if rng.random() < 0.2 and kept:  # Sizes that the type does not say.
            for i in kept:
                sizeWords[i] = word(sizes[i], 0.5)
            source = Val(self.name(), b.t, b.shape, [sizeWords[i][0] == "%" for i in kept])
            lines.append("%s = tensor.cast %s : %s to %s" % (source.name, b.name, b.type, source.type))
        self.simple(lambda out: "tensor.insert_slice %s into %s[%s] [%s] %s : %s into %s" % (
            source.name, a.name, ", ".join(offsetWords), ", ".join(sizeWords), strides, source.type, out.type), [b, a], a.t, a.shape, a.dyn, compute, lines)
        self.blocks[-1][-1].uses |= {v.name for v in numbers}

    def pad(self):
        """Amounts below 0 take elements away; some are numbers of the host's."""
        rng = self.rng
        a = self.pick(lambda v: len(v.shape))
        need(a)
        amounts = [0, 0, 1, 2, 5] + [-1, -2, -5] * (rng.random() < 0.4)
        low, high = ([rng.choice(amounts) for _ in a.shape] for _ in range(2))
        shape = [l + s + h for l, s, h in zip(low, a.shape, high)]
        need(min(shape) >= 0)
        lines, numbers = [], []
        value = 0.5 if a.t.kind == "f" else 1 if a.t.kind == "i" else 1.0 + 0j
        c = self.constant(lines, a.t, value)
        # Place i has element i - low, if there is one.
        def compute(arrays, isError):
            r = np.full(shape, 0.0 if isError else value, dtype=arrays[0].dtype)
            into = tuple(slice(max(l, 0), max(min(l + s, n), 0)) for l, s, n in zip(low, a.shape, shape))
            of = tuple(slice(max(-l, 0), max(min(s, n - l), 0)) for l, s, n in zip(low, a.shape, shape))
            if all(x.stop > x.start for x in into + of):
                r[into] = arrays[0][of]
            return r
        words, dyn = [[], []], list(a.dyn)
        chance = rng.choice([0.0, 0.0, 0.4])
        for side, those in enumerate((low, high)):
            for dim, n in enumerate(those):
                isOpen = rng.random() < chance
                if isOpen:
                    numbers.append(self.number_(n))
                words[side].append(numbers[-1].name if isOpen else str(n))
                dyn[dim] = dyn[dim] or isOpen
        arguments = ", ".join("%s: index" % self.name("i") for _ in a.shape)
        self.simple(lambda out: "tensor.pad %s low[%s] high[%s] {\n  ^bb0(%s):\n    tensor.yield %s : %s\n  } : %s to %s" % (
            a.name, ", ".join(words[0]), ", ".join(words[1]), arguments, c, a.t.text, a.type, out.type), [a], a.t, shape, dyn, compute, lines)
        self.blocks[-1][-1].uses |= {v.name for v in numbers}

    def pack(self):
        """Some dimensions into tiles, and maybe out of them, and a part of that."""
        rng = self.rng
        a = self.pick(lambda v: 1 <= len(v.shape) <= 4 and v.size and not any(v.dyn) and v.t.kind != "c")
        need(a)
        n = len(a.shape)
        inner = rng.sample(range(n), rng.randint(1, min(n, 2)))
        tiles = {d: rng.choice([1, 2, 4, 8]) for d in inner}
        outer = [-(-s // tiles.get(d, 1)) for d, s in enumerate(a.shape)]
        order = list(range(n))
        if rng.random() < 0.5:
            rng.shuffle(order)
        lines = []
        c = self.constant(lines, a.t, 1.0 if a.t.kind == "f" else 1)
        shape = [outer[o] for o in order] + [tiles[d] for d in inner]
        e = self.empty(lines, a.t, shape, [None] * len(shape))
        how = "outer_dims_perm = %s inner_dims_pos = %s inner_tiles = %s" % (order, inner, [tiles[d] for d in inner])
        # Each dimension as its tiles and what is in one.
        apart = [k for d in range(n) for k in (outer[d], tiles.get(d, 1))]
        moved = [2 * o for o in order] + [2 * d + 1 for d in inner]
        whole = [o * tiles.get(d, 1) for d, o in enumerate(outer)]
        def compute(arrays, isError):
            r = np.full(whole, 0 if isError else 1, dtype=arrays[0].dtype)
            r[tuple(slice(s) for s in a.shape)] = arrays[0]
            r = r.reshape(apart).transpose(moved + [2 * d + 1 for d in range(n) if d not in tiles])
            return r.reshape(shape)
        out = self.simple(lambda out: "linalg.pack %s padding_value(%s : %s) %s into %s : %s -> %s" % (a.name, c, a.t.text, how, e.name, a.type, out.type),
                          [a], a.t, shape, None, compute, lines)
        if rng.random() < 0.5:
            lines = []
            e2 = self.empty(lines, a.t, a.shape, [None] * n)
            def uncompute(arrays, isError):
                missing = [2 * d + 1 for d in range(n) if d not in tiles]
                r = arrays[0].reshape(shape + [1] * len(missing)).transpose(np.argsort(moved + missing)).reshape(whole)
                return r[tuple(slice(s) for s in a.shape)]
            back = self.simple(lambda o: "linalg.unpack %s %s into %s : %s -> %s" % (out.name, how, e2.name, out.type, o.type), [out], a.t, a.shape, None, uncompute, lines)
            if rng.random() < 0.5:
                part = [rng.randint(1, s) for s in a.shape]
                index = tuple(slice(s) for s in part)
                self.simple(lambda o: "tensor.extract_slice %s%s %s %s : %s to %s" % (back.name, [0] * n, part, [1] * n, back.type, o.type), [back], a.t, part, None,
                            lambda arrays, _: arrays[0][index])

    def concat(self):
        rng = self.rng
        a = self.pick(lambda v: len(v.shape))
        need(a)
        axis = rng.randrange(len(a.shape))
        other = list(a.shape)
        other[axis] = rng.choice(self.sizes)
        b = self.of(a.t, other)
        shape, dyn = list(a.shape), list(a.dyn)
        shape[axis] += b.shape[axis]
        dyn = [x and y for x, y in zip(a.dyn, b.dyn)]
        dyn[axis] = a.dyn[axis] or b.dyn[axis]
        self.simple(lambda out: "tensor.concat dim(%d) %s, %s : (%s, %s) -> %s" % (axis, a.name, b.name, a.type, b.type, out.type), [a, b], a.t, shape, dyn,
                    lambda arrays, _: np.concatenate(arrays, axis))

    def reshape(self):
        rng = self.rng
        a = self.pick(lambda v: len(v.shape) and not any(v.dyn) and not v.layout)
        need(a)
        dialect = "tensor" if self.form == "tensor" else "memref"
        if self.form == "memref":
            a.hasView = True
        if len(a.shape) > 1 and rng.random() < 0.6:
            groups, place = [], 0
            while place < len(a.shape):
                count = rng.randint(1, len(a.shape) - place)
                groups.append(list(range(place, place + count)))
                place += count
            shape = [math.prod([a.shape[i] for i in g]) for g in groups]
            return self.simple(lambda out: "%s.collapse_shape %s %s : %s into %s" % (dialect, a.name, groups, a.type, out.type), [a], a.t, shape, None,
                               lambda arrays, _: arrays[0].reshape(shape))
        groups, shape = [], []
        for s in a.shape:
            divisors = [d for d in range(1, s + 1) if s % d == 0] or [1]
            parts = [s] if rng.random() < 0.4 or not s or len(shape) > 4 else [s // d for d in [rng.choice(divisors)]] + [0]
            if len(parts) == 2:
                parts[1] = s // parts[0]
            groups.append(list(range(len(shape), len(shape) + len(parts))))
            shape += parts
        self.simple(lambda out: "%s.expand_shape %s %s output_shape %s : %s into %s" % (dialect, a.name, groups, shape, a.type, out.type), [a], a.t, shape, None,
                    lambda arrays, _: arrays[0].reshape(shape))

    def cast(self):
        """A type that knows less."""
        a = self.pick(lambda v: len(v.shape))
        need(a)
        dyn = [d or self.rng.random() < 0.5 for d in a.dyn]
        self.simple(lambda out: "tensor.cast %s : %s to %s" % (a.name, a.type, out.type), [a], a.t, a.shape, dyn, lambda arrays, _: arrays[0])

    def gather(self):
        """Rows by numbers that are data."""
        rng = self.rng
        table = self.pick(lambda v: len(v.shape) and v.size)
        need(table)
        need(table.shape[0])
        shape = self.drawShape(rng.choice([1, 2]))
        it = rng.choice([I32, I64])
        n, rows = len(shape), len(table.shape) - 1
        loops = list(shape) + list(table.shape[1:])
        need(math.prod(loops) <= self.largest)
        isOp = self.form == "tensor" and not any(table.dyn) and rng.random() < 0.4
        v = Val(self.name("a"), it, shape + [1] * isOp, form=self.form)
        d = D(drawData(rng, I32, v.shape, small=True).v % table.shape[0] if rng.random() < 0.3 else
              np.random.Generator(np.random.PCG64(rng.getrandbits(60))).integers(0, table.shape[0], v.shape))
        self.program.args.append((v, d))
        self.env[v.name] = d
        if isOp:
            return self.simple(lambda out: "tensor.gather %s[%s] gather_dims([0]) : (%s, %s) -> %s" % (table.name, v.name, table.type, v.type, out.type),
                               [table, v], table.t, loops, None, lambda arrays, isError: arrays[0][self.env[v.name].v[..., 0]])
        dynSizes = {i: (table, i - n + 1) for i in range(n, len(loops)) if table.dyn[i - n + 1]}
        lines = []
        sizes = [self.dim(lines, *dynSizes[i]) if i in dynSizes else None for i in range(len(loops))]
        out = self.empty(lines, table.t, loops, sizes)
        k = len(loops)
        x, o, c, e = (self.name("s") for _ in range(4))
        names = [self.name("i") for _ in range(rows)]
        body = ["^bb0(%s: %s, %s: %s):" % (x, it.text, o, table.t.text), "  %s = arith.index_cast %s : %s to index" % (c, x, it.text)]
        body += ["  %s = linalg.index %d : index" % (name, n + i) for i, name in enumerate(names)]
        body += ["  %s = %s %s[%s] : %s" % (e, "tensor.extract" if self.form == "tensor" else "memref.load", table.name, ", ".join([c] + names), table.type),
                 "  linalg.yield %s : %s" % (e, table.t.text)]
        attributes = "{indexing_maps = [%s, %s], iterator_types = [%s]}" % (Map.of(k, range(n)).text(), Map.of(k, range(k)).text(), ", ".join(['"parallel"'] * k))
        results = self.structured(lines, "linalg.generic", attributes, [(v.name, v.type)], [out], body)
        def run(env):
            t = env[table.name]
            env[results[0].name] = D(t.v[env[v.name].v], t.e[env[v.name].v] if np.ndim(t.e) else t.e)
        results[0].isBuffer = self.form == "memref"
        self.take(Op(lines, results, run, [table.name, v.name]))

    def softmax(self):
        a = self.pick(lambda v: len(v.shape) and v.t.kind == "f" and v.size)
        need(a)
        axis = self.rng.randrange(len(a.shape))
        lines = []
        sizes = [self.dim(lines, a, i) if d else None for i, d in enumerate(a.dyn)]
        out = self.empty(lines, a.t, a.shape, sizes)
        results = self.structured(lines, "linalg.softmax", "dimension(%d)" % axis, [(a.name, a.type)], [out], [])
        def run(env):
            d = env[a.name]
            shifted = d.v - np.max(d.v, axis=axis, keepdims=True)
            x = np.exp(shifted)
            s = np.sum(x, axis=axis, keepdims=True)
            e = 4 * np.broadcast_to(np.max(np.broadcast_to(d.e, d.v.shape), axis=axis, keepdims=True), d.v.shape)
            need(not np.any(e > 0.2))
            env[results[0].name] = rounded(a.t, x / s, x / s * (e + (np.abs(shifted) + d.v.shape[axis] + 8) * 2 * a.t.unit), 8)
        self.take(Op(lines, results, run, [a.name]))

    def layers(self):
        """A chain of layers, each of which uses the one before it directly and by a reduction of it."""
        a = self.pick(lambda v: v.form == "tensor" and len(v.shape) and v.size and not any(v.dyn) and v.t.kind in "fi" and v.t is not I1)
        need(a)
        isFloat, axis, lines, last = a.t.kind == "f", self.rng.randrange(len(a.shape)), [], a.name
        few = "tensor<%s%s>" % ("".join("%dx" % s for i, s in enumerate(a.shape) if i != axis), a.t.text)
        zero, start, rows, all_ = (self.name() for _ in range(4))
        lines += ["%s = arith.constant %s : %s" % (zero, "0.0" if isFloat else "0", a.t.text), "%s = tensor.empty() : %s" % (rows, few),
                  "%s = linalg.fill ins(%s : %s) outs(%s : %s) -> %s" % (start, zero, a.t.text, rows, few, few), "%s = tensor.empty() : %s" % (all_, a.type)]
        count = self.rng.choice([2, 3, 5, 8, 13, 21])
        for _ in range(count):
            x, y, m, most, spread, inner, next_ = (self.name() for _ in range(7))
            lines += ["%s = linalg.reduce ins(%s : %s) outs(%s : %s) dimensions = [%d] (%s: %s, %s: %s) {" % (most, last, a.type, start, few, axis, x, a.t.text, y, a.t.text),
                      "  %s = arith.%s %s, %s : %s" % (m, "maximumf" if isFloat else "maxsi", x, y, a.t.text), "  linalg.yield %s : %s" % (m, a.t.text), "}",
                      "%s = linalg.broadcast ins(%s : %s) outs(%s : %s) dimensions = [%d]" % (spread, most, few, all_, a.type, axis)]
            if isFloat:
                lines += ["%s = arith.negf %s : %s" % (inner, last, a.type), "%s = arith.maximumf %s, %s : %s" % (next_, inner, spread, a.type)]
            else:
                lines += ["%s = arith.subi %s, %s : %s" % (next_, last, spread, a.type)]
            last = next_
        result = Val(last, a.t, a.shape)

        def run(env):
            v, e = env[a.name].v, np.broadcast_to(env[a.name].e, env[a.name].v.shape)
            for _ in range(count):
                most, error = np.maximum(np.max(v, axis=axis, keepdims=True), 0), np.max(e, axis=axis, keepdims=True)
                v, e = (np.maximum(-v, most), np.maximum(e, error)) if isFloat else (wrap(v - most, a.t), e)
            env[result.name] = D(v, e)
        self.take(Op(lines, [result], run, [a.name]))

    def generate(self):
        rng = self.rng
        t = rng.choice([t for t in self.types if t.kind != "c" and t is not I1] or [F32])
        shape = self.drawShape(rng.choice([1, 2, 3]))
        dyn = [self.dynamic and rng.random() < 0.4 for _ in shape]
        numbers = [self.number_(s) for s, d in zip(shape, dyn) if d]
        out = Val(self.name(), t, shape, dyn)
        indices = [self.name("i") for _ in shape]
        loop = rng.randrange(len(shape))
        k, f, c, m = (self.name("s") for _ in range(4))
        body = ["  %s = arith.index_cast %s : index to i32" % (k, indices[loop])]
        grid = np.arange(shape[loop]).reshape([-1 if i == loop else 1 for i in range(len(shape))])
        if t.kind == "f":
            body.append("  %s = arith.sitofp %s : i32 to %s" % (f, k, t.text))
        elif t.bits == 32:
            f = k
        else:
            body.append("  %s = arith.%s %s : i32 to %s" % (f, "extsi" if t.bits > 32 else "trunci", k, t.text))
        fromTable = self.visible(lambda v: v.t is t and v.shape == tuple(shape))
        if fromTable and rng.random() < 0.5:
            table = rng.choice(fromTable)
            body.append("  %s = tensor.extract %s[%s] : %s" % (c, table.name, ", ".join(indices), table.type))
        else:
            table = None
            body.append("  %s = arith.constant %s : %s" % (c, literal(3, t), t.text))
        body.append("  %s = arith.add%s %s, %s : %s" % (m, t.kind, f, c, t.text))
        lines = ["%s = tensor.generate %s {" % (out.name, ", ".join(v.name for v in numbers)), "^bb0(%s):" % ", ".join("%s: index" % i for i in indices)] + body + [
            "  tensor.yield %s : %s" % (m, t.text), "} : %s" % out.type]
        def run(env):
            base = rounded(t, grid.astype(np.float64), 0.0) if t.kind == "f" else D(wrap(grid, t))
            d = binary("arith.add" + t.kind, t)(base, env[table.name] if table else D(np.array(3.0 if t.kind == "f" else 3)))
            env[out.name] = D(np.broadcast_to(d.v, shape).copy(), np.broadcast_to(d.e, shape).copy())
        self.take(Op(lines, [out], run, [v.name for v in numbers] + ([table.name] if table else [])))

    def constants(self):
        rng = self.rng
        t = rng.choice([t for t in self.types if t.kind != "c"] or [F32])
        shape = self.drawShape(rng.choice([0, 1, 2]))
        need(math.prod(shape) <= 400)
        d = drawData(rng, t, tuple(shape))
        if rng.random() < 0.4 or not d.v.size:
            d = D(np.broadcast_to(d.v.ravel()[:1].sum(), shape).astype(d.v.dtype))
        def nested(a):
            if not a.ndim and t.special and not np.isfinite(a):
                return literal(a, t)
            return "[%s]" % ", ".join(nested(x) for x in a) if a.ndim else ("%.17g" % a if "." in "%.17g" % a or "e" in "%.17g" % a else "%.17g.0" % a) if t.kind == "f" else literal(a, t)
        same = d.v.size and np.all(d.v == d.v.ravel()[0]) and not np.any(np.signbit(d.v) != np.signbit(d.v.ravel()[0]))
        out = Val(self.name(), t, shape)
        text = nested(d.v.ravel()[0]) if same else nested(d.v) if d.v.size else ""
        self.take(Op(["%s = arith.constant dense<%s> : %s" % (out.name, text, out.type)], [out], lambda env: env.__setitem__(out.name, d), []))

    def host(self):
        """An element that the host reads, which ops use then."""
        a = self.pick(lambda v: v.size and v.t.kind != "c")
        need(a)
        place = [self.rng.randrange(s) for s in a.shape]
        lines, names = [], []
        for p in place:
            names.append(self.name("c"))
            lines.append("%s = arith.constant %d : index" % (names[-1], p))
        out = Val(self.name("h"), a.t, (), form="number")
        lines.append("%s = tensor.extract %s[%s] : %s" % (out.name, a.name, ", ".join(names), a.type))
        def run(env):
            d = env[a.name]
            env[out.name] = D(np.array(d.v[tuple(place)]), np.array(d.e[tuple(place)]) if np.ndim(d.e) else d.e)
        self.take(Op(lines, [out], run, [a.name]))
        # Made a tensor again, so that something depends on it.
        t = Val(self.name(), a.t, (1,))
        self.take(Op(["%s = tensor.from_elements %s : %s" % (t.name, out.name, t.type)], [t],
                     lambda env: env.__setitem__(t.name, D(env[out.name].v.reshape(1), np.reshape(env[out.name].e, -1)[:1] if np.ndim(env[out.name].e) else env[out.name].e)), [out.name]))

    #-- Memrefs

    def inPlace(self):
        """An op that writes what it reads, or a part of a buffer."""
        rng = self.rng
        a = self.pick(lambda v: v.isBuffer and not getattr(v, "hasView", False) and v.t.kind != "c")
        need(a)
        n = len(a.shape)
        b, map = self.operandFor(a.shape)
        need(b.t is a.t and b is not a)
        op = "arith." + ("addf" if a.t.kind == "f" else "xori" if a.t.bits == 1 else "addi")
        f = binary(op, a.t)
        same = Map.of(n, range(n))
        target, index, lines = a, None, []
        if rng.random() < 0.5 and n and a.size:
            offsets, sizes, strides = self.window(a.shape)
            need(0 not in sizes)
            own = [math.prod(a.shape[i + 1:]) for i in range(n)]
            layout = ", strided<[%s], offset: %d>" % (", ".join("%d" % (o * s) for o, s in zip(own, strides)), sum(o * w for o, w in zip(offsets, own)))
            target = Val(self.name(), a.t, sizes, form="memref", layout=layout)
            lines.append("%s = memref.subview %s%s %s %s : %s to %s" % (target.name, a.name, offsets, sizes, strides, a.type, target.type))
            index = tuple(slice(o, o + (k - 1) * s + 1, s) for o, k, s in zip(offsets, sizes, strides))
            b = self.of(a.t, sizes)
            need(b is not a)
            map = same
        x, y, z = (self.name("s") for _ in range(3))
        attributes = "{indexing_maps = [%s, %s], iterator_types = [%s]}" % (map.text(), same.text(), ", ".join(['"parallel"'] * n))
        body = ["^bb0(%s: %s, %s: %s):" % (x, b.t.text, y, a.t.text), "  %s = %s %s, %s : %s" % (z, op, x, y, a.t.text), "  linalg.yield %s : %s" % (z, a.t.text)]
        self.structured(lines, "linalg.generic", attributes, [(b.name, b.type)], [target], body)
        def run(env):
            d = env[a.name]
            v, e = d.v.copy(), np.array(np.broadcast_to(d.e, d.v.shape))
            part = D(v[index], e[index]) if index is not None else D(v, e)
            r = f(map.take(env[b.name], part.v.shape), part)
            if index is not None:
                v[index], e[index] = r.v, r.e
            else:
                v, e = np.array(np.broadcast_to(r.v, v.shape)), np.array(np.broadcast_to(r.e, v.shape))
            env[a.name] = D(v, e)
        op = Op(lines, [a], run, [a.name, b.name])
        self.take(op)

    #-- Control flow

    def inner(self, arguments, count):
        """Ops in a block of their own. Returns them and the values that they made."""
        self.blocks.append([])
        self.scopes.append(list(arguments))
        self.depth += 1
        try:
            for _ in range(6 * count):
                if len(self.blocks[-1]) >= count:
                    break
                self.attempt()
            return self.blocks[-1], self.scopes[-1][len(arguments):]
        finally:
            self.depth -= 1
            self.blocks.pop()
            self.scopes.pop()

    def loop(self):
        rng = self.rng
        trips = rng.choice([0, 1, 2, 2, 3, 4])
        saved = dict(self.env)
        carried = []
        if self.form == "tensor":
            for _ in range(rng.choice([1, 1, 2, 3])):
                v = self.pick(lambda v: not any(v.dyn))
                if carried and rng.random() < 0.6:  # Of one shape, so that they can change places.
                    v = self.of(carried[0].t, carried[0].shape)
                    need(not any(v.dyn))
                need(v)
                carried.append(v)
        arguments = [Val(self.name("l"), v.t, v.shape, v.dyn) for v in carried]
        for a, v in zip(arguments, carried):
            self.env[a.name] = self.env[v.name]
        induction = Val(self.name("i"), INDEX, (), form="number")
        self.env[induction.name] = D(np.array(0))
        before = len(self.program.args)
        try:
            ops, made = self.inner(arguments, rng.randint(1, 3))
            need(ops)
            yields = []
            for i, v in enumerate(carried):
                found = [m for m in made if m.form == "tensor" and m.t is v.t and m.shape == v.shape and m.dyn == v.dyn]
                found += [a for a in arguments if a.t is v.t and a.shape == v.shape]
                yields.append(rng.choice(found) if rng.random() < 0.5 else found[0])
            need(self.form == "memref" or any(y not in arguments for y in yields))
        finally:
            # What the body computed is not there outside.
            self.env = self.before(saved)
        lo, hi, step = self.name("c"), None, self.name("c")
        lines = ["%s = arith.constant 0 : index" % lo, "%s = arith.constant 1 : index" % step]
        uses = {v.name for v in carried}
        if rng.random() < 0.5:
            number = self.number_(trips)
            hi = number.name
            uses.add(hi)
        else:
            hi = self.name("c")
            lines.append("%s = arith.constant %d : index" % (hi, trips))
        results = [Val(self.name(), v.t, v.shape, v.dyn) for v in carried]
        types = ", ".join(v.type for v in carried)
        # A loop that ends where a number of the host's says so is none that counts.
        flag = self.argument(I1, number=1) if carried and rng.random() < 0.3 else None
        if flag:
            uses.add(flag.name)
            count, less, more, next_, last = (self.name("k") for _ in range(5))
            befores = [self.name("w") for _ in carried]
            lines.append("%s, %s = scf.while (%s, %s = %s) : (%s, index) -> (%s, index) {" % (
                ", ".join(r.name for r in results), last, ", ".join("%s = %s" % (b, v.name) for b, v in zip(befores, carried)), count, lo, types, types))
            lines += ["  %s = arith.cmpi slt, %s, %s : index" % (less, count, hi), "  %s = arith.andi %s, %s : i1" % (more, less, flag.name),
                      "  scf.condition(%s) %s, %s : %s, index" % (more, ", ".join(befores), count, types), "} do {",
                      "^bb0(%s, %s: index):" % (", ".join("%s: %s" % (a.name, a.type) for a in arguments), induction.name)]
        else:
            head = "scf.for %s = %s to %s step %s" % (induction.name, lo, hi, step)
            if carried:
                head = "%s = %s iter_args(%s) -> (%s)" % (", ".join(r.name for r in results), head, ", ".join("%s = %s" % (a.name, v.name) for a, v in zip(arguments, carried)), types)
            lines.append(head + " {")
        buffers = {v.name: v for op in ops for v in op.outs if v.isBuffer and any("%s = memref.alloc" % v.name in l for o in ops for l in o.lines)}
        for op in ops:
            lines += ["  " + l for l in op.lines]
        for v in buffers.values():
            lines.append("  memref.dealloc %s : %s" % (v.name, v.type))
        if flag:
            lines += ["  %s = arith.addi %s, %s : index" % (next_, induction.name, step),
                      "  scf.yield %s, %s : %s, index" % (", ".join(y.name for y in yields), next_, types)]
        elif carried:
            lines.append("  scf.yield %s : %s" % (", ".join(y.name for y in yields), ", ".join(y.type for y in yields)))
        lines.append("}")
        for op in ops:
            uses |= op.uses
        written = {v.name: v for op in ops for v in op.outs if v.name in saved or v.isMemory}

        def run(env):
            local = dict(env)
            for a, v in zip(arguments, carried):
                local[a.name] = local[v.name]
            for trip in range(trips if not flag or env[flag.name].v else 0):
                local[induction.name] = D(np.array(trip))
                for op in ops:
                    op.run(local)
                for a, d in zip(arguments, [local[y.name] for y in yields]):
                    local[a.name] = d
            for r, a in zip(results, arguments):
                env[r.name] = local[a.name]
            for name in written:
                env[name] = local[name]
        self.take(Op(lines, results + list(written.values()), run, uses - {a.name for a in arguments} - {v.name for op in ops for v in op.outs if v.name not in written}, ops))

    def branch(self):
        rng = self.rng
        taken = rng.random() < 0.5
        saved = dict(self.env)
        sides = []
        try:
            for _ in range(2):
                ops, made = self.inner([], rng.randint(1, 2))
                sides.append((ops, [m for m in made if m.form == "tensor" and not any(m.dyn)]))
                self.env = self.before(saved)
            need(sides[0][1])
            first = sides[0][1][-1]
            same = lambda v: v.t is first.t and v.shape == first.shape and v.dyn == first.dyn
            other = [m for m in sides[1][1] if same(m)] or self.visible(same)
            if not other:
                other = [self.argument(first.t, first.shape)]
                need(same(other[0]))
        finally:
            self.env = self.before(saved)
        condition = self.argument(I1, number=int(taken))
        yields = [first, rng.choice(other)]
        if rng.random() < 0.5:
            sides.reverse(), yields.reverse()
        out = Val(self.name(), first.t, first.shape, first.dyn)
        lines = ["%s = scf.if %s -> (%s) {" % (out.name, condition.name, out.type)]
        uses = {condition.name}
        for i in range(2):
            for op in sides[i][0]:
                lines += ["  " + l for l in op.lines]
                uses |= op.uses
            lines += ["  scf.yield %s : %s" % (yields[i].name, yields[i].type), "} else {" if i == 0 else "}"]
            uses.add(yields[i].name)
        uses -= {v.name for ops, _ in sides for op in ops for v in op.outs}
        written = {v.name: v for ops, _ in sides for op in ops for v in op.outs if v.isMemory}
        def run(env):
            for i in range(2):  # Both, since a reduced program may have another condition.
                local = dict(env)
                for op in sides[i][0]:
                    op.run(local)
                if i == (0 if env[condition.name].v else 1):
                    taken, result = local, local[yields[i].name]
            env[out.name] = result
            for name in written:
                env[name] = taken[name]
        self.take(Op(lines, [out] + list(written.values()), run, uses | set(written)))

    def call(self):
        """Ops in a function of their own."""
        rng = self.rng
        a = self.pick(lambda v: not any(v.dyn))
        need(a)
        saved, before = dict(self.env), len(self.program.args)
        argument = Val(self.name("l"), a.t, a.shape, a.dyn)
        scopes, self.scopes = self.scopes, [[]]
        memories, self.memories = self.memories, []  # A function reaches none but its arguments.
        self.env[argument.name] = self.env[a.name]
        try:
            self.scopes = [[argument]]
            ops, made = self.inner([], rng.randint(1, 3))
            made = [m for m in made if m.form == "tensor"]
            # What it needs besides are arguments of the program: passed, too.
            passed = [v for v, _ in self.program.args[before:]]
        finally:
            self.scopes, self.memories = scopes, memories
            self.env = self.before(saved)
        need(made)
        scopes[0].extend(v for v in passed if not v.isMemory)
        self.memories += [v for v in passed if v.isMemory]
        written = {v.name: v for op in ops for v in op.outs if v.isMemory}
        outs = made[-2:] if rng.random() < 0.3 else made[-1:]
        name = "%s_%s" % (self.program.name, argument.name[1:])
        text = "func.func private @%s(%s) -> (%s) {\n" % (name, ", ".join("%s: %s" % (v.name, v.type) for v in [argument] + passed), ", ".join(o.type for o in outs))
        text += "".join(op.text("  ") for op in ops) + "  return %s : %s\n}\n" % (", ".join(o.name for o in outs), ", ".join(o.type for o in outs))
        results = [Val(self.name(), o.t, o.shape, o.dyn) for o in outs]
        line = "%s = call @%s(%s) : (%s) -> (%s)" % (", ".join(r.name for r in results), name, ", ".join(v.name for v in [a] + passed),
                                                   ", ".join(v.type for v in [a] + passed), ", ".join(r.type for r in results))
        def run(env):
            local = {v.name: env[v.name] for v in passed}
            local[argument.name] = env[a.name]
            for op in ops:
                op.run(local)
            for r, o in zip(results, outs):
                env[r.name] = local[o.name]
            for name in written:
                env[name] = local[name]
        self.take(Op([line], results + list(written.values()), run, [v.name for v in [a] + passed]))
        self.program.functions.append(text)

    def finish(self):
        """Chooses the results."""
        rng, program = self.rng, self.program
        made = [v for op in program.ops for v in op.outs if v.form != "number" and not v.isMemory]
        made = list({v.name: v for v in made if v.name not in self.hidden}.values())
        arguments = [v for v, _ in program.args if v.form == "tensor"]
        program.memory = list({v.name: v for op in program.ops for v in op.outs if v.isMemory}.values())
        if program.form == "memref":
            made = [v for v in made if not any(v.dyn)]
            program.results = list({v.name: v for v in made[-1:] + [rng.choice(made) for _ in range(rng.choice([0, 1]))]}.values()) if made else []
        elif made:
            program.results = [made[-1]] + [rng.choice(made) for _ in range(rng.choice([0, 0, 1, 1, 2]))]
            if rng.random() < 0.1:
                program.results.append(program.results[0])
            if rng.random() < 0.1 and arguments:
                program.results.append(rng.choice(arguments))
            program.results += self.sums
            rng.shuffle(program.results)
        # Arguments that nothing uses are left out.
        used = {u for op in program.ops for u in op.uses} | {v.name for v in program.results}
        text = "".join(op.text("") for op in program.ops) + "".join(program.functions)
        program.args = [(v, d) for v, d in program.args if v.name in used or v.name + "," in text or v.name + " " in text or v.name + ")" in text]
