# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The functions of the math dialect that no format holds exactly: values to far more digits
# than a result has, and what C (Annex F) says of special arguments.

import decimal
import math
from decimal import Decimal
from fractions import Fraction

DIGITS = 90
HUGE = Decimal(10) ** 5000  # more than any format holds
# Threads that start later copy it.
decimal.DefaultContext.prec = DIGITS
decimal.DefaultContext.Emax, decimal.DefaultContext.Emin = decimal.MAX_EMAX, decimal.MIN_EMIN
decimal.setcontext(decimal.DefaultContext)


def atanSeries(x):
    """Of a small number."""
    term, total, square, n = x, x, -x * x, 1
    while term and abs(term) > abs(total) * Decimal(10) ** -DIGITS:
        term, n = term * square, n + 2
        total += term / n
    return total


def computePi(digits):
    """Machin's formula."""
    with decimal.localcontext() as context:
        context.prec = digits + 10
        def inverse(n):
            term, total, k = Decimal(1) / n, Decimal(1) / n, 1
            while abs(term) > Decimal(10) ** -(digits + 8):
                term, k = -term / (n * n), k + 2
                total += term / k
            return total
        return 4 * (4 * inverse(5) - inverse(239))


PI = computePi(450)


def sinCos(x):
    """Sine and cosine, for any size of x."""
    with decimal.localcontext() as context:
        context.prec = 450
        quarter = PI / 2
        count = int((x / quarter).to_integral_value())
        rest = x - count * quarter
    rest = +rest
    sine, term, n, square = rest, rest, 1, -rest * rest
    while term and abs(term) > abs(sine) * Decimal(10) ** -DIGITS:
        term, n = term * square / ((n + 1) * (n + 2)), n + 2
        sine += term
    cosine, term, n = Decimal(1), Decimal(1), 0
    while abs(term) > Decimal(10) ** -DIGITS:
        term, n = term * square / ((n + 1) * (n + 2)), n + 2
        cosine += term
    return [(sine, cosine), (cosine, -sine), (-sine, -cosine), (-cosine, sine)][count % 4]


def atan(x):
    halvings = 0
    while abs(x) > Decimal("0.01"):
        x, halvings = x / (1 + (1 + x * x).sqrt()), halvings + 1
    return atanSeries(x) * 2 ** halvings


def asin(x):
    if abs(x) == 1:
        return x * PI / 2
    return atan(x / ((1 - x) * (1 + x)).sqrt())


def exp(x):
    return HUGE if x > 3000 else 1 / HUGE if x < -3000 else x.exp()


def log(x):
    return x.ln()


def expm1(x):
    return exp(x) - 1


def erfSeries(x, digits):
    with decimal.localcontext() as context:
        context.prec = digits
        term, total, n, square = x, x, 0, -x * x
        while term and abs(term) > abs(total) * Decimal(10) ** -digits:
            n += 1
            term = term * square / n
            total += term / (2 * n + 1)
        return total * 2 / (PI if digits > 440 else +PI).sqrt()


def erf(x):
    return erfSeries(x, DIGITS + 40) if abs(x) < 7 else Decimal(1).copy_sign(x)


def erfc(x):
    if x < 7:
        return 1 - (erfSeries(x, DIGITS + 60) if x > -7 else Decimal(-1))
    # A continued fraction, from its end.
    rest = x
    for n in range(400, 0, -1):
        rest = x + Decimal(n) / 2 / rest
    return exp(-x * x) / (rest * PI.sqrt())


def tanh(x):
    return Decimal(1).copy_sign(x) if abs(x) > 200 else expm1(2 * x) / (exp(2 * x) + 1)


def power(x, y):
    """Of a positive x."""
    size = y * log(x)
    return exp(size)


def isOdd(y):
    return math.isfinite(y) and y % 2 == 1


INF, NAN = math.inf, math.nan


def specialPow(x, y):
    if y == 0 or x == 1:
        return 1.0
    if math.isnan(x) or math.isnan(y):
        return NAN
    if x == 0:
        if y < 0:
            return math.copysign(INF, x) if isOdd(y) else INF
        return x if isOdd(y) else 0.0
    if x == -1 and math.isinf(y):
        return 1.0
    if math.isinf(y):
        return INF if (abs(x) > 1) == (y > 0) else 0.0
    if math.isinf(x):
        size = INF if y > 0 else 0.0
        return math.copysign(size, x) if isOdd(y) else size
    if x < 0 and y != math.floor(y):
        return NAN
    return None


def specialAtan2(y, x):
    if math.isnan(x) or math.isnan(y):
        return NAN
    if y == 0 and (x > 0 or math.copysign(1, x) > 0 and x == 0):
        return y
    return None


def computeAtan2(y, x):
    """Of what specialAtan2 leaves."""
    negative = math.copysign(1, y) < 0
    if y == 0:
        angle = PI
    elif math.isinf(y):
        angle = PI / 2 if not math.isinf(x) else PI / 4 if x > 0 else 3 * PI / 4
    elif math.isinf(x):
        if x > 0:
            return None
        angle = PI
    elif x == 0:
        angle = PI / 2
    else:
        a, b = abs(Decimal(y)), Decimal(x)
        angle = atan(a / b) if b > 0 else PI - atan(a / -b)
    return -angle if negative else +angle


def odd(compute):
    """f(x) = x + O(x ** 3)."""
    return lambda x: x if abs(x) < Decimal(10) ** -40 else compute(x)


def root3(x):
    return (abs(x) ** (Decimal(1) / 3)).copy_sign(x)


# Of each function of one argument what its value is at -inf, -0, 0, inf (None: computed), where it is
# not a number (a test of a finite argument), where it is infinite, and its value elsewhere.
FUNCTIONS = {
    "exp": ((0.0, 1.0, 1.0, INF), None, {}, exp),
    "exp2": ((0.0, 1.0, 1.0, INF), None, {}, lambda x: exp(x * Decimal(2).ln())),
    "expm1": ((-1.0, -0.0, 0.0, INF), None, {}, odd(expm1)),
    "log": ((NAN, -INF, -INF, INF), lambda x: x < 0, {}, log),
    "log2": ((NAN, -INF, -INF, INF), lambda x: x < 0, {}, lambda x: log(x) / Decimal(2).ln()),
    "log10": ((NAN, -INF, -INF, INF), lambda x: x < 0, {}, lambda x: x.log10()),
    "log1p": ((NAN, -0.0, 0.0, INF), lambda x: x < -1, {-1.0: -INF}, odd(lambda x: log(1 + x))),
    "sin": ((NAN, -0.0, 0.0, NAN), None, {}, odd(lambda x: sinCos(x)[0])),
    "cos": ((NAN, 1.0, 1.0, NAN), None, {}, lambda x: sinCos(x)[1]),
    "tan": ((NAN, -0.0, 0.0, NAN), None, {}, odd(lambda x: sinCos(x)[0] / sinCos(x)[1])),
    "asin": ((NAN, -0.0, 0.0, NAN), lambda x: abs(x) > 1, {}, odd(asin)),
    "acos": ((NAN, None, None, NAN), lambda x: abs(x) > 1, {1.0: 0.0}, lambda x: PI / 2 - asin(x) if x < 0.5 else 2 * asin(((1 - x) / 2).sqrt())),
    "atan": ((-1.5707963267948966, -0.0, 0.0, 1.5707963267948966), None, {}, odd(atan)),
    "sinh": ((-INF, -0.0, 0.0, INF), None, {}, odd(lambda x: (exp(x) - exp(-x)) / 2)),
    "cosh": ((INF, 1.0, 1.0, INF), None, {}, lambda x: (exp(x) + exp(-x)) / 2),
    "tanh": ((-1.0, -0.0, 0.0, 1.0), None, {}, odd(tanh)),
    "asinh": ((-INF, -0.0, 0.0, INF), None, {}, odd(lambda x: log(abs(x) + (x * x + 1).sqrt()).copy_sign(x))),
    "acosh": ((NAN, NAN, NAN, INF), lambda x: x < 1, {1.0: 0.0}, lambda x: log(x + ((x - 1) * (x + 1)).sqrt())),
    "atanh": ((NAN, -0.0, 0.0, NAN), lambda x: abs(x) > 1, {1.0: INF, -1.0: -INF}, odd(lambda x: (log(1 + x) - log(1 - x)) / 2)),
    "erf": ((-1.0, -0.0, 0.0, 1.0), None, {}, lambda x: x * 2 / PI.sqrt() if abs(x) < Decimal(10) ** -40 else erf(x)),
    "erfc": ((2.0, 1.0, 1.0, 0.0), None, {}, erfc),
    "cbrt": ((-INF, -0.0, 0.0, INF), None, {}, root3),
    "rsqrt": ((NAN, -INF, INF, 0.0), lambda x: x < 0, {}, lambda x: 1 / x.sqrt()),
}


def evaluate(name, x):
    """A float where the value is exact or special, else a Decimal."""
    (minus, minusZero, zero, plus), isInvalid, infinite, compute = FUNCTIONS[name]
    if math.isnan(x):
        return NAN
    special = (minus if x < 0 else plus) if math.isinf(x) else None
    if x == 0:
        special = minusZero if math.copysign(1, x) < 0 else zero
    if special is not None:
        return special if special in (0.0, 1.0, -1.0, 2.0) or not math.isfinite(special) else PI.copy_sign(Decimal(special)) / 2
    if isInvalid and not math.isinf(x) and isInvalid(x):
        return NAN
    if x in infinite:
        return infinite[x]
    return compute(Decimal(x))


def evaluate2(name, x, y):
    """powf and atan2."""
    if name == "powf":
        special = specialPow(x, y)
        if special is not None:
            return special
        size = power(abs(Decimal(x)), Decimal(y))
        return -size if x < 0 and isOdd(y) else size
    special = specialAtan2(x, y)
    if special is not None:
        return special
    value = computeAtan2(x, y)
    return math.copysign(0.0, x) if value is None else value


def distance(format, code, value):
    """How far a number of `format` is from `value`, in units of the last place of what `value`
    rounds to. Infinite where one is infinite, not a number or of another sign, and the other is not."""
    got = format.decode(code)
    if isinstance(value, float):
        if math.isnan(value) or math.isnan(got):
            return 0.0 if math.isnan(value) and math.isnan(got) else INF
        if value == got:
            return 0.0 if math.copysign(1, value) == math.copysign(1, got) else INF
        if math.isinf(value):
            # Next to it is the largest number.
            return float(format.largest + 1 - (code & (format.sign - 1))) if (got > 0) == (value > 0) else INF
        value = Decimal(value)
    if math.isnan(got):
        return INF
    exact = Fraction(value)
    if got and (got < 0) != (exact < 0) or not got and (math.copysign(1, got) < 0) != (exact < 0):
        return INF
    largest = Fraction(format.decode(format.largest))
    least = Fraction(format.decode(1))
    unit = least
    size = min(abs(exact), largest)
    if size >= Fraction(format.decode(1 << format.mantissa)):
        exponent = size.numerator.bit_length() - size.denominator.bit_length()
        exponent -= size < Fraction(2) ** exponent
        unit = Fraction(2) ** (exponent - format.mantissa)
    if math.isinf(got):
        return float(max(0, (largest + unit - abs(exact)) / unit))
    if abs(exact) > largest + unit:
        exact = (largest + unit) * (1 if exact > 0 else -1)
    return float(abs(Fraction(got) - exact) / unit)
