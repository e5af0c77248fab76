# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Formats of floats, as exact numbers: codes to numbers and numbers to the nearest code, of
# two to the one whose last bit is 0.

import math
import struct
from fractions import Fraction


class Format:
    """`kind`: ieee has infinities, fn only NaNs, fnuz one NaN where -0 would be."""

    def __init__(self, name, exponent, mantissa, bias, kind="ieee"):
        self.name, self.mantissa, self.bias, self.kind = name, mantissa, bias, kind
        self.width = 1 + exponent + mantissa
        self.sign = 1 << (self.width - 1)
        top = ((1 << exponent) - 1) << mantissa
        self.largest = top - 1 if kind == "ieee" else top + (1 << mantissa) - (2 if kind == "fn" else 1)

    def isNan(self, code):
        if self.kind == "fnuz":
            return code == self.sign
        return code & (self.sign - 1) > self.largest + (self.kind == "ieee")

    def isInf(self, code):
        return self.kind == "ieee" and code & (self.sign - 1) == self.largest + 1

    def isNormal(self, code):
        return 1 << self.mantissa <= code & (self.sign - 1) <= self.largest

    def decode(self, code):
        """The number as a float of Python, which all are."""
        if self.isNan(code):
            return math.nan
        size = code & (self.sign - 1)
        exponent, mantissa = size >> self.mantissa, size & ((1 << self.mantissa) - 1)
        if self.isInf(code):
            value = math.inf
        else:
            value = math.ldexp(mantissa | (exponent > 0) << self.mantissa, max(exponent, 1) - self.bias - self.mantissa)
        return -value if code & self.sign else value

    def encode(self, value, negative=None):
        """The code, or None for a NaN. A Fraction that is 0 has no sign of its own."""
        if isinstance(value, float) and math.isnan(value):
            return None
        if negative is None:
            negative = math.copysign(1, value) < 0 if isinstance(value, float) else value < 0
        if isinstance(value, float) and math.isinf(value):
            size = self.largest + 1
        else:
            size = self.round(abs(Fraction(value)))
        if size > self.largest:
            if self.kind != "ieee":
                return None
            size = self.largest + 1
        if size == 0 and self.kind == "fnuz":
            negative = False
        return size | self.sign * negative

    def round(self, value):
        if not value:
            return 0
        # 2 ** exponent <= value < 2 ** (exponent + 1)
        exponent = value.numerator.bit_length() - value.denominator.bit_length()
        exponent -= value < Fraction(2) ** exponent
        exponent = max(exponent, 1 - self.bias)
        return round(value / Fraction(2) ** (exponent - self.mantissa)) + ((exponent - 1 + self.bias) << self.mantissa)


FORMATS = {f.name: f for f in (
    Format("f64", 11, 52, 1023), Format("f32", 8, 23, 127), Format("f16", 5, 10, 15), Format("bf16", 8, 7, 127),
    Format("f8E5M2", 5, 2, 15), Format("f8E4M3", 4, 3, 7), Format("f8E3M4", 3, 4, 3), Format("f8E4M3FN", 4, 3, 7, "fn"),
    Format("f8E5M2FNUZ", 5, 2, 16, "fnuz"), Format("f8E4M3FNUZ", 4, 3, 8, "fnuz"), Format("f8E4M3B11FNUZ", 4, 3, 11, "fnuz"))}


def isFinite(*values):
    return all(math.isfinite(v) for v in values)


def add(a, b):
    if not isFinite(a, b) or (a == 0 and b == 0):
        return a + b
    return Fraction(a) + Fraction(b) or 0.0


def multiply(a, b):
    if not isFinite(a, b) or a == 0 or b == 0:
        return a * b
    return Fraction(a) * Fraction(b)


def divide(a, b):
    if math.isnan(a) or math.isnan(b) or (a == 0 and b == 0) or (math.isinf(a) and math.isinf(b)):
        return math.nan
    sign = math.copysign(1, a) * math.copysign(1, b)
    if b == 0 or math.isinf(a):
        return sign * math.inf
    return sign * 0.0 if a == 0 or math.isinf(b) else Fraction(a) / Fraction(b)


def fma(a, b, c):
    product = multiply(a, b)
    if isinstance(product, float):
        return add(product, c) if product == 0 or not math.isfinite(product) or math.isnan(c) else product + c
    if not isFinite(c):
        return c
    return product + Fraction(c) or 0.0


def sqrt(a):
    if math.isnan(a) or a < 0:
        return math.nan
    if a == 0 or math.isinf(a):
        return a
    # Enough digits, and the last one says whether there are more.
    scaled = Fraction(a) * 4 ** 600
    root = math.isqrt(scaled.numerator // scaled.denominator)
    return Fraction(2 * root + (root * root != scaled), 2 ** 601)


def least(a, b):
    return math.nan if math.isnan(a) or math.isnan(b) else min(a, b, key=lambda v: (v, math.copysign(1, v)))


def greatest(a, b):
    return math.nan if math.isnan(a) or math.isnan(b) else max(a, b, key=lambda v: (v, math.copysign(1, v)))


def leastNumber(a, b):
    """minnum: a NaN gives way to a number."""
    return b if math.isnan(a) else a if math.isnan(b) else least(a, b)


def greatestNumber(a, b):
    """maxnum: a NaN gives way to a number."""
    return b if math.isnan(a) else a if math.isnan(b) else greatest(a, b)


def remainder(a, b):
    """What is left of `a` after a whole number of `b`, with the sign of `a`, as C's fmod. Exact."""
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or b == 0:
        return math.nan
    return a if math.isinf(b) or a == 0 else math.fmod(a, b)


def toInteger(a, how):
    """The integer that `how` rounds to, which keeps the sign also where it is 0."""
    if not isFinite(a):
        return a
    size, floor = abs(Fraction(a)), math.floor(a)
    nearest = math.floor(size + Fraction(1, 2))
    result = {"floor": floor, "ceil": -math.floor(-a), "trunc": math.trunc(a), "round": nearest if a > 0 else -nearest,
              "roundeven": round(Fraction(a))}[how]
    return math.copysign(float(abs(result)), a)


def npy(values):
    """Bytes of an array of i64."""
    head = "{'descr': '<i8', 'fortran_order': False, 'shape': (%d,), }" % len(values)
    head = head.ljust((len(head) + 11 + 63) // 64 * 64 - 11) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%dQ" % len(values), *values)
