# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Special values for linalgprograms.py: infinities, NaN, signed zeros, subnormals, the
# largest numbers and the least integers. Only ops whose results IEEE 754 defines bit
# for bit are taken, so that results are compared without a bound: each element is the
# same number with the same sign, or both are NaN.

import math

import numpy as np

UNARY = ["arith.negf", "math.absf", "math.floor", "math.ceil", "math.round", "math.roundeven", "math.trunc", "math.sqrt"]
BINARY = ["arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.remf", "arith.maximumf", "arith.minimumf", "math.copysign"]
PREDICATES = ["oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno"]
# What reductions are drawn over: sums of these do not depend on the order.
SUMMANDS = [0.0, -0.0, -0.0, 1.0, -1.0, 2.0, -3.0, np.inf, -np.inf, np.nan]


def draw(generator, t, shape):
    """An array of special values among some common ones."""
    if t.kind == "i":
        least = -(1 << (t.bits - 1)) if t.bits > 1 else 0
        most = (1 << (t.bits - 1)) - 1 if t.bits > 1 else 1
        values = np.array([least, most, 0, 1, least + (t.bits > 1), most - (t.bits > 1)] + [-1] * (t.bits > 1), dtype=np.int64)
        return values[generator.integers(0, len(values), shape)]
    if generator.random() < 0.3:  # nothing but zeros, or a few others
        values = [[-0.0], [-0.0, 0.0], [-0.0, -0.0, -0.0, np.nan], [np.inf, -0.0, 1.0]][generator.integers(0, 4)]
    elif generator.random() < 0.5:
        values = SUMMANDS
    else:
        values = SUMMANDS + [largest(t), -largest(t), smallest(t), -smallest(t), t.least, -t.least, 0.1, 1.5]
    values = np.array(values)
    return t.round(values[generator.integers(0, len(values), shape)])


def largest(t):
    return {"f16": 65504.0, "bf16": float.fromhex("0x1.fep127"), "f32": float.fromhex("0x1.fffffep127"), "f64": float.fromhex("0x1.fffffffffffffp1023")}[t.text]


def smallest(t):
    """The least subnormal number."""
    return {"f16": 2.0 ** -24, "bf16": 2.0 ** -133, "f32": 2.0 ** -149, "f64": 2.0 ** -1074}[t.text]


def unary(name, v):
    return {"arith.negf": np.negative, "math.absf": np.abs, "math.floor": np.floor, "math.ceil": np.ceil, "math.roundeven": np.rint, "math.round": roundAway,
            "math.trunc": np.trunc, "math.sqrt": np.sqrt}[name](v)


def roundAway(v):
    """Halves go away from 0. Numbers that are not finite stay, and so do those from 2 ** 52 on, which are whole."""
    whole = np.trunc(v)
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(v - whole) >= 0.5, whole + np.copysign(1.0, v), whole)


def most(x, y):
    """maximumf: NaN if one is, and 0 is more than -0."""
    zero = (x == 0) & (y == 0)
    return np.where(zero, np.where(np.signbit(x), y, x), np.maximum(x, y))


def least(x, y):
    return -most(-x, -y)


def binary(op, x, y):
    """None: what comes of it is not defined."""
    if op == "copysign":
        return None if np.any(np.isnan(y)) else np.copysign(x, y)
    return {"addf": np.add, "subf": np.subtract, "mulf": np.multiply, "divf": np.divide, "remf": np.fmod, "maximumf": most, "minimumf": least}[op](x, y)


def compare(predicate, x, y):
    unordered = np.isnan(x) | np.isnan(y)
    if predicate in ("ord", "uno"):
        return unordered if predicate == "uno" else ~unordered
    found = {"eq": x == y, "ne": (x != y) & ~unordered, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}[predicate[1:]]
    return found | unordered if predicate[0] == "u" else found & ~unordered


def total(v, axes, start):
    """The sum, if it is the same in any order; else None."""
    finite = v[np.isfinite(v)]
    if np.any(finite != np.rint(finite)) or (finite.size and np.max(np.abs(finite)) > 64) or v.size > 1 << 15:
        return None
    begin = start[np.isfinite(start)]
    if np.any(begin != np.rint(begin)) or (begin.size and np.max(np.abs(begin)) > 64):
        return None
    count = math.prod([v.shape[a] for a in axes])
    if count * 64 > 1 << 10 and np.any(finite != 0):
        return None  # f16 and bf16 hold sums of so many
    r = np.sum(v, axis=axes) + start
    # -0 only where all are.
    negative = np.all((v == 0) & np.signbit(v), axis=axes) & (start == 0) & np.signbit(start)
    return np.where(r == 0, np.where(negative, -0.0, 0.0), r)


def extreme(kind, v, axes, start):
    """maximumf or minimumf of all."""
    f = most if kind == "maximumf" else least
    r = np.asarray(v, dtype=np.float64)
    for axis in sorted(axes, reverse=True):
        parts = [np.take(r, i, axis) for i in range(r.shape[axis])]
        r = np.full(r.shape[:axis] + r.shape[axis + 1:], -np.inf if kind == "maximumf" else np.inf)
        for part in parts:
            r = f(r, part)
    return f(r, start)


def differs(got, want):
    """Where the numbers, or their signs, are not the same."""
    return ~(((got == want) & (np.signbit(got) == np.signbit(want))) | (np.isnan(got) & np.isnan(want)))
