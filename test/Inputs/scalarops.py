# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The ops of arith, math and index on scalars: what each makes of special values, bit for bit
# where the language says it, else within a number of units in the last place. Values are
# codes (bits as unsigned integers) of types called as in MLIR.

import math
import random
import re
from fractions import Fraction

import formats
import reference
from formats import FORMATS

NAN = "NaN"       # any of them
ANY = "anything"  # poison, or what the language leaves open


def width(type):
    return FORMATS[type].width if type in FORMATS else 64 if type == "index" else int(type[1:])


def mask(type):
    return (1 << width(type)) - 1


def signed(code, type):
    bits = width(type)
    return code - (1 << bits) if code >> (bits - 1) else code


def isNan(type, code):
    return type in FORMATS and FORMATS[type].isNan(code)


def encode(type, value):
    code = FORMATS[type].encode(value)
    return NAN if code is None else code


class Op:
    """`text` is MLIR with {a}, {b}, {c} for the operands, {r} for the result and {TYPE} for types, several
    lines if need be, in which names begin with {r}_. `evaluate` maps codes to a code, NAN, ANY, or a pair of
    a number and the most units in the last place that the result may be off. `needs` are features of a
    target: "math" (functions that no processor has), "f64math" (those in double precision)."""

    def __init__(self, name, operands, result, text, evaluate, needs=()):
        self.name, self.operands, self.result, self.needs = name, tuple(operands), result, frozenset(needs)
        self.text, self.evaluate = text, evaluate

    def problem(self, codes, got):
        """What is wrong with the result, or None."""
        wanted = self.evaluate(*codes)
        if wanted == ANY:
            return None
        if isinstance(wanted, tuple):
            value, most = wanted
            off = reference.distance(FORMATS[self.result], got, value)
            return None if off <= most else "%s, %s units off, where %s are allowed" % (describe(self.result, value), round(off, 2), most)
        if wanted == got or wanted == NAN and isNan(self.result, got):
            return None
        return NAN if wanted == NAN else "%#x (%s)" % (wanted, describe(self.result, wanted))


    def distance(self, codes, got):
        """How many units in the last place the result is off, 0 where it has to be exact."""
        wanted = self.evaluate(*codes)
        return reference.distance(FORMATS[self.result], got, wanted[0]) if isinstance(wanted, tuple) else 0.0


def describe(type, value):
    if isinstance(value, int) and type in FORMATS:
        return repr(FORMATS[type].decode(value))
    return str(signed(value, type)) if isinstance(value, int) else "%.20g" % value


# ---- Values that ops are tried with ----------------------------------------------------------


def floatCodes(name):
    """Special ones: zeros, the least, the largest, ties, whole numbers at the ends of integer types."""
    format = FORMATS[name]
    one = 1 << format.mantissa
    codes = {0, 1, 2, one - 1, one, one + 1, format.largest - 1, format.largest, format.largest + 1, format.largest + 2,
             format.sign - 1}
    numbers = [0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 3.5, 4.5, 5, 7, 10, 100, 6.5, 1e-3, 0.1, 1 / 3, math.pi, math.pi / 2, math.e,
               math.log(2), 20.25, 88.5, 1e4, 1e5, 123456.75, 1e10, 2.0 ** 22 + 0.5, 1e22, 1e-20]
    for bits in (7, 8, 15, 16, 31, 32, 63, 64, format.mantissa - 1, format.mantissa, format.mantissa + 1):
        numbers += [Fraction(2) ** bits, Fraction(2) ** bits - 1, Fraction(2) ** bits - Fraction(1, 2)]
    for number in numbers:
        code = format.encode(number)
        codes |= {code} if code <= format.largest else set()
    for number in (0.5, 1, 2.0 ** (format.mantissa - 1)):
        code = format.encode(number)
        codes |= {code - 1, code + 1}
    draw = random.Random(name)
    codes |= {draw.randrange(format.largest) for _ in range(6)} | {draw.randrange(one) for _ in range(2)}
    return sorted(codes) + sorted(code | format.sign for code in codes)


def integerCodes(name):
    bits = width(name)
    codes = {0, 1, 2, 3, 5, 6, 7, 8, 10, 100, bits - 1, bits, bits + 1, 1 << (bits - 1), (1 << (bits - 1)) - 1, 1 << (bits // 2),
             (1 << bits) // 3, (1 << (bits - 1)) + 1, (1 << bits) // 7}
    codes |= {-code for code in codes}
    draw = random.Random(name)
    codes |= {draw.getrandbits(bits) >> draw.randrange(bits) for _ in range(6)}
    for format in ("f16", "bf16", "f32", "f64"):
        # Halfway between two numbers of the format, and beside that.
        tie = (1 << (FORMATS[format].mantissa + 1)) + 1 << max(0, bits - FORMATS[format].mantissa - 4)
        codes |= {tie - 1, tie, tie + 1, -tie, tie + 2}
    return sorted({code & ((1 << bits) - 1) for code in codes})


def codesOf(type):
    return floatCodes(type) if type in FORMATS else integerCodes(type)


def coreCodes(type):
    """Those of which all pairs are tried."""
    if type in FORMATS:
        format = FORMATS[type]
        codes = [0, 1, 1 << format.mantissa, format.encode(1.0), format.largest, format.largest + 1, format.largest + 2 + (1 << format.mantissa - 1)]
        return codes + [code | format.sign for code in codes]
    top = 1 << (width(type) - 1)
    return sorted({code & (2 * top - 1) for code in (0, 1, 2, 7, -1, -2, -7, top, top + 1, top - 1, top - 2)})


def products(columns):
    tuples = [()]
    for column in columns:
        tuples = [t + (code,) for t in tuples for code in column]
    return tuples


def arguments(types, most):
    """Tuples of codes: all, or `most` of them and those with each code in each place, and of few codes all."""
    columns = [codesOf(type) for type in types]
    if math.prod(len(column) for column in columns) <= most:
        return products(columns)
    draw = random.Random(",".join(types))
    tuples = {tuple(draw.choice(column) for column in columns) for _ in range(most)}
    for place, column in enumerate(columns):
        for code in column:
            tuples.add(tuple(code if i == place else draw.choice(other) for i, other in enumerate(columns)))
    if len(set(types)) == 1:
        tuples |= {(code,) * len(types) for code in columns[0]}
    core = [coreCodes(type) for type in types]
    # Of three operands, those that differ in a sign or are no numbers.
    return sorted(tuples | set(products(core if len(types) < 3 else [column[::3] for column in core])))


# ---- Floats ----------------------------------------------------------------------------------


def floatBinary(name, compute):
    format = FORMATS[name]
    return lambda a, b: encode(name, compute(format.decode(a), format.decode(b)))


PREDICATES = {"oeq": "{=}", "ogt": "{>}", "oge": "{>=}", "olt": "{<}", "ole": "{<=}", "one": "{<>}", "ord": "{<=>}",
              "ueq": "{=?}", "ugt": "{>?}", "uge": "{>=?}", "ult": "{<?}", "ule": "{<=?}", "une": "{<>?}", "uno": "{?}"}


def compare(predicate, a, b):
    relation = "?" if math.isnan(a) or math.isnan(b) else "<" if a < b else ">" if a > b else "="
    return int(relation in PREDICATES[predicate])


def isSignalling(type, code):
    """A NaN of which a number may come that a quiet one gives way to."""
    return isNan(type, code) and not code & 1 << (FORMATS[type].mantissa - 1)


def floatOps(name):
    """Of one format, all that is exact."""
    format = FORMATS[name]
    binary = {
        "arith.addf": formats.add, "arith.subf": lambda a, b: formats.add(a, -b), "arith.mulf": formats.multiply,
        "arith.divf": formats.divide, "arith.remf": formats.remainder, "arith.maximumf": formats.greatest,
        "arith.minimumf": formats.least,
    }
    ops = [Op(op.split(".")[1], [name] * 2, name, "{r} = %s {a}, {b} : {%s}" % (op, name), floatBinary(name, compute))
           for op, compute in binary.items()]
    ops.append(Op("copysign", [name] * 2, name, "{r} = math.copysign {a}, {b} : {%s}" % name,
                  lambda a, b: NAN if format.isNan(a) else a & (format.sign - 1) | b & format.sign))
    for op, compute in (("maxnumf", formats.greatestNumber), ("minnumf", formats.leastNumber)):
        def number(a, b, compute=compute):
            x, y = format.decode(a), format.decode(b)
            # Of two zeros either.
            return ANY if x == y == 0 or isSignalling(name, a) or isSignalling(name, b) else encode(name, compute(x, y))
        ops.append(Op(op, [name] * 2, name, "{r} = arith.%s {a}, {b} : {%s}" % (op, name), number))
    unary = {"arith.negf": lambda a: -a, "math.absf": abs, "math.sqrt": formats.sqrt}
    for how in ("floor", "ceil", "trunc", "round", "roundeven"):
        unary["math." + how] = lambda a, how=how: formats.toInteger(a, how)
    ops += [Op(op.split(".")[1], [name], name, "{r} = %s {a} : {%s}" % (op, name),
               lambda a, compute=compute: encode(name, compute(format.decode(a)))) for op, compute in unary.items()]
    for op, holds in (("isnan", format.isNan), ("isinf", format.isInf), ("isnormal", format.isNormal),
                      ("isfinite", lambda a: not format.isNan(a) and not format.isInf(a))):
        ops.append(Op(op, [name], "i1", "{r} = math.%s {a} : {%s}" % (op, name), lambda a, holds=holds: int(holds(a))))
    for predicate in PREDICATES:
        ops.append(Op("cmpf " + predicate, [name] * 2, "i1", "{r} = arith.cmpf %s, {a}, {b} : {%s}" % (predicate, name),
                      lambda a, b, predicate=predicate: compare(predicate, format.decode(a), format.decode(b))))
    ops.append(Op("fma", [name] * 3, name, "{r} = math.fma {a}, {b}, {c} : {%s}" % name,
                  lambda a, b, c: encode(name, formats.fma(*map(format.decode, (a, b, c))))))

    def clamp(a, low, high):
        values = [format.decode(code) for code in (a, low, high)]
        if any(map(math.isnan, values[1:])) or values[1] > values[2]:
            return ANY
        return encode(name, formats.least(formats.greatest(values[0], values[1]), values[2]))
    ops.append(Op("clampf", [name] * 3, name, "{r} = math.clampf {a} to [{b}, {c}] : {%s}" % name, clamp))
    ops.append(Op("select", [name] * 3, name, "{r}_c = arith.cmpf olt, {a}, {b} : {%s}\n{r} = arith.select {r}_c, {b}, {c} : {i1}, {%s}" % (name, name),
                  lambda a, b, c: (NAN if isNan(name, x) else x) if (x := b if format.decode(a) < format.decode(b) else c) is not None else 0))
    ops.append(Op("bitcast", [name], "i%d" % format.width, "{r} = arith.bitcast {a} : {%s} to {i%d}" % (name, format.width),
                  lambda a: ANY if format.isNan(a) else a))
    return ops


def floatCasts(name):
    """From a format to others and to integers, and back."""
    format, ops = FORMATS[name], []
    for other in ("f16", "bf16", "f32", "f64"):
        if width(other) > width(name):
            op = "extf"
        elif width(other) < width(name):
            op = "truncf"
        else:
            continue
        ops.append(Op("%s to %s" % (op, other), [name], other, "{r} = arith.%s {a} : {%s} to {%s}" % (op, name, other),
                      lambda a, other=other: encode(other, format.decode(a))))
    for type in ("i1", "i8", "i16", "i32", "i64"):
        for sign in "su":
            def toInt(a, type=type, sign=sign):
                value = format.decode(a)
                if not math.isfinite(value):
                    return ANY
                whole = math.trunc(value)
                low, high = (-(1 << (width(type) - 1)), 1 << (width(type) - 1)) if sign == "s" else (0, 1 << width(type))
                return whole & mask(type) if low <= whole < high else ANY
            ops.append(Op("fpto%si to %s" % (sign, type), [name], type, "{r} = arith.fpto%si {a} : {%s} to {%s}" % (sign, name, type), toInt))
    return ops


def fromInteger(type):
    ops = []
    for name in ("f16", "bf16", "f32", "f64"):
        for sign in "su":
            ops.append(Op("%sitofp to %s" % (sign, name), [type], name, "{r} = arith.%sitofp {a} : {%s} to {%s}" % (sign, type, name),
                          lambda a, name=name, sign=sign: encode(name, Fraction(signed(a, type) if sign == "s" else a))))
    return ops


# Most units in the last place that a function may be off, per target: libm's and libmvec's promise, and
# what docs/reference/Kernels.md states; those of 16 bits are rounded once more from single precision.
def transcendental(name, bounds):
    """Functions that are rounded somehow. `bounds` maps a name to the most units, or to a pair of these
    and the largest argument that they hold for."""
    format, ops = FORMATS[name], []
    needs = ["math"] + ["f64math"] * (name == "f64")

    def bound(op):
        entry = bounds.get(op, bounds["default"])
        most, limit = entry if isinstance(entry, tuple) else (entry, math.inf)
        return (most if format.width >= 32 else 1), limit

    def near(op, value, *args):
        most, limit = bound(op)
        if isinstance(value, float) and math.isnan(value):
            return NAN
        if isinstance(value, float) and (value == 0 or math.isinf(value)):
            return encode(name, value)
        if any(math.isfinite(x) and abs(x) > limit for x in args):
            return ANY
        return value, most

    for op in reference.FUNCTIONS:
        if op in bounds.get("skip", ()):
            continue
        def evaluate(a, op=op):
            x = format.decode(a)
            return near(op, reference.evaluate(op, x), x)
        ops.append(Op(op, [name], name, "{r} = math.%s {a} : {%s}" % (op, name), evaluate, needs if op != "rsqrt" else ()))
    for part, op in enumerate(("sin", "cos")):
        def evaluate(a, op=op):
            x = format.decode(a)
            return near(op, reference.evaluate(op, x), x)
        other = "{r}_o, {r}" if part else "{r}, {r}_o"
        ops.append(Op("sincos " + op, [name], name, other + " = math.sincos {a} : {%s}" % name, evaluate, needs))
    for op in ("powf", "atan2"):
        def evaluate(a, b, op=op):
            x, y = format.decode(a), format.decode(b)
            return ANY if isSignalling(name, a) or isSignalling(name, b) else near(op, reference.evaluate2(op, x, y), x, y)
        ops.append(Op(op, [name] * 2, name, "{r} = math.%s {a}, {b} : {%s}" % (op, name), evaluate, needs))
    return ops


def integerPower(name):
    """fpowi: by multiplications, each rounded, and one division where the exponent is negative."""
    format = FORMATS[name]
    largest, least = (Fraction(format.decode(code)) for code in (format.largest, 1 << format.mantissa))

    def evaluate(a, b):
        x, n = format.decode(a), signed(b, "i32")
        if abs(n) > 2 ** 20 and n not in (-2 ** 31, 2 ** 31 - 1):
            return ANY
        special = reference.specialPow(x, float(n))
        if special is not None:
            return encode(name, special)
        if abs(n) > 200:
            return ANY
        exact = Fraction(x) ** n
        # 1 / x ** -n, where that is out of range.
        if not least < abs(1 / exact) < largest or not least < abs(exact) < largest:
            return ANY
        return reference.Decimal(exact.numerator) / reference.Decimal(exact.denominator), 2 * abs(n) + 2
    return [Op("fpowi", [name, "i32"], name, "{r} = math.fpowi {a}, {b} : {%s}, {i32}" % name, evaluate)]


# ---- Integers --------------------------------------------------------------------------------


def divide(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def integerOps(type):
    bits, all = width(type), mask(type)
    sign = lambda code: signed(code, type)
    dialect = "arith"
    names = {
        "addi": lambda a, b: a + b, "subi": lambda a, b: a - b, "muli": lambda a, b: a * b, "andi": lambda a, b: a & b,
        "ori": lambda a, b: a | b, "xori": lambda a, b: a ^ b, "maxsi": lambda a, b: max(sign(a), sign(b)),
        "minsi": lambda a, b: min(sign(a), sign(b)), "maxui": max, "minui": min,
        "shli": lambda a, b: a << b if b < bits else ANY, "shrsi": lambda a, b: sign(a) >> b if b < bits else ANY,
        "shrui": lambda a, b: a >> b if b < bits else ANY,
    }
    index = {"addi": "add", "subi": "sub", "muli": "mul", "andi": "and", "ori": "or", "xori": "xor", "maxsi": "maxs", "minsi": "mins",
             "maxui": "maxu", "minui": "minu", "shli": "shl", "shrsi": "shrs", "shrui": "shru", "divsi": "divs", "remsi": "rems",
             "ceildivsi": "ceildivs", "floordivsi": "floordivs", "divui": "divu", "remui": "remu", "ceildivui": "ceildivu"}
    ops = []

    def add(name, text, evaluate, prelude=""):
        result = lambda *codes: value if (value := evaluate(*codes)) == ANY else value & all
        ops.append(Op(name, [type] * 2, type, prelude + "{r} = arith.%s : {%s}" % (text, type), result))
        if type == "index":
            ops.append(Op("index." + index[name], [type] * 2, type, prelude + "{r} = index.%s" % text.replace(name, index[name], 1), result, ["scalar"]))

    for name, compute in names.items():
        add(name, name + " {a}, {b}", compute)
    for flags in (["nsw"], ["nuw"], ["nsw", "nuw"]):
        def flagged(a, b, compute, flags=flags):
            if "nsw" in flags and signed(compute(a, b) & all, type) != compute(sign(a), sign(b)):
                return ANY
            return ANY if "nuw" in flags and not 0 <= compute(a, b) <= all else compute(a, b) & all
        for name in ("addi", "subi", "muli"):
            how = "%s overflow<%s>" % (name, ", ".join(flags))
            ops.append(Op(how, [type] * 2, type, "{r} = arith.%s {a}, {b} %s : {%s}" % (*how.split(" ", 1), type),
                          lambda a, b, flagged=flagged, compute=names[name]: flagged(a, b, compute)))
        how = "shli overflow<%s>" % ", ".join(flags)
        ops.append(Op(how, [type] * 2, type, "{r} = arith.%s {a}, {b} %s : {%s}" % (*how.split(" ", 1), type),
                      lambda a, b, flagged=flagged: flagged(a, 1 << b, lambda x, y: x * y) if b < bits - 1 else ANY))
    for name in ("shrsi", "shrui"):
        ops.append(Op(name + " exact", [type] * 2, type, "{r} = arith.%s {a}, {b} exact : {%s}" % (name, type),
                      lambda a, b, shift=names[name]: shift(a, b) & all if b < bits and a >> b << b == a else ANY))
    # Divisions by zero and of the least number by -1 end a program: then by 1.
    bias = "{r}_%s = arith.constant {dense %s %d}\n"
    unsignedGuard = (bias % ("z", type, 0) + bias % ("o", type, 1) + "{r}_e = arith.cmpi eq, {b}, {r}_z : {%s}\n" % type
                     + "{r}_d = arith.select {r}_e, {r}_o, {b} : {i1}, {%s}\n" % type)
    signedGuard = unsignedGuard + (bias % ("l", type, -(1 << (bits - 1))) + bias % ("m", type, -1)
                                   + "{r}_f = arith.cmpi eq, {a}, {r}_l : {%s}\n{r}_g = arith.cmpi eq, {r}_d, {r}_m : {%s}\n" % (type, type)
                                   + "{r}_h = arith.andi {r}_f, {r}_g : {i1}\n{r}_k = arith.select {r}_h, {r}_o, {r}_d : {i1}, {%s}\n" % type)
    unsignedDivision = {"divui": lambda a, b: a // b, "remui": lambda a, b: a % b, "ceildivui": lambda a, b: -(-a // b)}
    signedDivision = {"divsi": divide, "remsi": lambda a, b: a - b * divide(a, b), "floordivsi": lambda a, b: a // b,
                      "ceildivsi": lambda a, b: -(-a // b)}
    for name, compute in unsignedDivision.items():
        add(name, name + " {a}, {r}_d", lambda a, b, compute=compute: compute(a, b or 1), unsignedGuard)
    one = sign(1)
    for name, compute in signedDivision.items():
        def divideSigned(a, b, compute=compute):
            x, y = sign(a), sign(b or 1)
            return compute(x, one if x == -(1 << (bits - 1)) and y == -1 else y)
        if bits > 1:
            add(name, name + " {a}, {r}_k", divideSigned, signedGuard)
    for predicate, holds in {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "ult": lambda a, b: a < b, "ule": lambda a, b: a <= b,
                             "ugt": lambda a, b: a > b, "uge": lambda a, b: a >= b, "slt": lambda a, b: sign(a) < sign(b),
                             "sle": lambda a, b: sign(a) <= sign(b), "sgt": lambda a, b: sign(a) > sign(b),
                             "sge": lambda a, b: sign(a) >= sign(b)}.items():
        ops.append(Op("cmpi " + predicate, [type] * 2, "i1", "{r} = arith.cmpi %s, {a}, {b} : {%s}" % (predicate, type),
                      lambda a, b, holds=holds: int(holds(a, b))))
        if type == "index":
            ops.append(Op("index.cmp " + predicate, [type] * 2, "i1", "{r} = index.cmp %s({a}, {b})" % predicate,
                          lambda a, b, holds=holds: int(holds(a, b)), ["scalar"]))
    ops.append(Op("select", [type] * 2, type, "{r}_c = arith.cmpi slt, {a}, {b} : {%s}\n{r} = arith.select {r}_c, {b}, {a} : {i1}, {%s}" % (type, type),
                  lambda a, b: b if sign(a) < sign(b) else a))
    if type == "index":
        return ops
    for part, name in ((0, "low"), (1, "high")):
        names = "{r}, {r}_o" if part == 0 else "{r}_o, {r}"
        for how, product in (("s", lambda a, b: sign(a) * sign(b)), ("u", lambda a, b: a * b)):
            ops.append(Op("mul%si_extended %s" % (how, name), [type] * 2, type, names + " = arith.mul%si_extended {a}, {b} : {%s}" % (how, type),
                          lambda a, b, product=product, part=part: product(a, b) >> part * bits & all))
    ops.append(Op("addui_extended sum", [type] * 2, type, "{r}, {r}_o = arith.addui_extended {a}, {b} : {%s}, {i1}" % type, lambda a, b: a + b & all))
    ops.append(Op("addui_extended carry", [type] * 2, "i1", "{r}_o, {r} = arith.addui_extended {a}, {b} : {%s}, {i1}" % type, lambda a, b: a + b >> bits))
    unary = {"absi": lambda a: abs(sign(a)), "ctpop": lambda a: bin(a).count("1"), "ctlz": lambda a: bits - a.bit_length(),
             "cttz": lambda a: (a & -a).bit_length() - 1 if a else bits}
    for name, compute in unary.items():
        ops.append(Op(name, [type], type, "{r} = math.%s {a} : {%s}" % (name, type), lambda a, compute=compute: compute(a) & all))

    def power(a, b):
        base, exponent = sign(a), sign(b)
        if exponent >= 0:
            return pow(base, exponent, 1 << bits)
        # Of 0 it is no number.
        return ANY if base == 0 else base ** (exponent % 2) & all if abs(base) == 1 else 0
    ops.append(Op("ipowi", [type] * 2, type, "{r} = math.ipowi {a}, {b} : {%s}" % type, power))
    return ops


def integerCasts(type):
    ops = []
    for other in ("i1", "i7", "i8", "i16", "i32", "i33", "i64"):
        if width(other) < width(type):
            ops.append(Op("trunci to " + other, [type], other, "{r} = arith.trunci {a} : {%s} to {%s}" % (type, other), lambda a, other=other: a & mask(other)))
            for flags in ("nsw", "nuw"):
                def truncate(a, flags=flags, other=other):
                    value, small = (signed(a, type), signed(a & mask(other), other)) if flags == "nsw" else (a, a & mask(other))
                    return a & mask(other) if value == small else ANY
                ops.append(Op("trunci overflow<%s> to %s" % (flags, other), [type], other,
                              "{r} = arith.trunci {a} overflow<%s> : {%s} to {%s}" % (flags, type, other), truncate))
        elif width(other) > width(type):
            ops.append(Op("extui to " + other, [type], other, "{r} = arith.extui {a} : {%s} to {%s}" % (type, other), lambda a: a))
            ops.append(Op("extsi to " + other, [type], other, "{r} = arith.extsi {a} : {%s} to {%s}" % (type, other),
                          lambda a, other=other: signed(a, type) & mask(other)))
    for how in ("index_cast", "index_castui"):
        ops.append(Op(how, [type], "index", "{r} = arith.%s {a} : {%s} to {index}" % (how, type),
                      lambda a, how=how: a if how == "index_castui" else signed(a, type) & mask("index")))
    for name in ("f16", "bf16", "f32", "f64"):
        if width(name) == width(type):
            ops.append(Op("bitcast to " + name, [type], name, "{r} = arith.bitcast {a} : {%s} to {%s}" % (type, name),
                          lambda a, name=name: NAN if isNan(name, a) else a))
    return ops


def indexCasts():
    ops = []
    for other in ("i1", "i8", "i32", "i64"):
        for how in ("arith.index_cast", "arith.index_castui"):
            ops.append(Op("%s to %s" % (how, other), ["index"], other, "{r} = %s {a} : {index} to {%s}" % (how, other), lambda a, other=other: a & mask(other)))
        for how in ("index.casts", "index.castu"):
            ops.append(Op("%s to %s" % (how, other), ["index"], other, "{r} = %s {a} : index to {%s}" % (how, other), lambda a, other=other: a & mask(other), ["scalar"]))
    for divisor in (1, 2, 3, 7, 8, 1 << 40):
        for how, compute in (("floordiv", lambda a, d: a // d), ("ceildiv", lambda a, d: -(-a // d)), ("mod", lambda a, d: a % d)):
            ops.append(Op("affine %s %d" % (how, divisor), ["index"], "index", "{r} = affine.apply affine_map<(d0) -> (d0 %s %d)>({a})" % (how, divisor),
                          lambda a, compute=compute, divisor=divisor: compute(signed(a, "index"), divisor) & mask("index"), ["scalar"]))
    return ops


INTEGERS = ("i1", "i7", "i8", "i16", "i32", "i33", "i64")
FLOATS = ("f16", "bf16", "f32", "f64")


def opsOf(type, bounds):
    """All ops whose first operand is of this type."""
    if type in FORMATS:
        return floatOps(type) + floatCasts(type) + transcendental(type, bounds) + integerPower(type)
    return integerOps(type) + (indexCasts() if type == "index" else integerCasts(type) + fromInteger(type))


# ---- Chains ----------------------------------------------------------------------------------


def chainable(types):
    """The ops of types that have one result and say it to the bit, by the type of the first operand."""
    bounds = {"default": 0, "skip": tuple(reference.FUNCTIONS)}
    unfit = re.compile("powf|atan2|fpowi|clampf|sincos.*")
    return {type: [op for op in opsOf(type, bounds) if not unfit.fullmatch(op.name) and op.result in types and set(op.operands) <= set(types)]
            for type in types}


class Step:
    """An argument, a constant or the result of an op in a chain. `name` is the one in its text."""

    def __init__(self, type, name, op=None, operands=(), code=None):
        self.type, self.name, self.op, self.operands, self.code = type, name, op, operands, code


def mayContract(op, operands):
    """Compilers may round a product and a sum once."""
    rounded = ("mulf", "negf", "fma")
    return op.name in ("addf", "subf", "negf", "fma", "mulf") and any(
        step.op and step.op.name in (rounded if op.name != "mulf" else ("negf",)) for step in operands)


def mayBePoison(step):
    """By which no program may divide."""
    return step.op is not None and (re.search("overflow|exact|sh[lr]|fpto|ipowi", step.op.name) is not None
                                    or any(map(mayBePoison, step.operands)))


def drawChain(draw, name, ops):
    """An op that is several ops of `ops` (chainable), each on results of others and constants: what a compiler folds
    or rewrites."""
    types = sorted(ops)
    kinds = [draw.choice(types) for _ in range(2)]
    steps = [Step(draw.choice(kinds), "{%s}" % letter) for letter in "abc"]
    arguments, lines = tuple(step.type for step in steps), []
    count = len(steps) + draw.choice([2, 2, 3, 4, 6, 9])
    while len(steps) < count:
        this = "{r}_%d" % len(steps) if len(steps) < count - 1 else "{r}"
        op = draw.choice(ops[draw.choice([step.type for step in steps])])
        operands, prelude = [], []
        for type in op.operands:
            fitting = [step for step in steps if step.type == type]
            if not fitting or draw.random() < 0.3:
                code = draw.choice(coreCodes(type) if draw.random() < 0.6 else codesOf(type))
                value = "0x%0*X" % (width(type) // 4, code) if type in FORMATS else code if type == "i1" else signed(code, type)
                operands.append(Step(type, "{r}_c%d_%d" % (len(steps), len(prelude)), code=code))
                prelude.append("%s = arith.constant {dense %s %s}" % (operands[-1].name, type, value))
            else:
                operands.append(draw.choice(fitting[-4:] if draw.random() < 0.7 else fitting))
        if mayContract(op, operands) or re.search("div|rem", op.name) and any(map(mayBePoison, operands)):
            continue
        names = dict(zip("abc", (step.name for step in operands)), r=this)
        lines += prelude + [re.sub(r"\{([abcr])\}", lambda match: names[match[1]], op.text)]
        steps.append(Step(op.result, this, op, operands))

    def evaluate(*codes):
        values = dict(zip(steps, codes))
        for step in steps:
            if step.op is None:
                values[step] = NAN if isNan(step.type, values[step]) else values[step]
                continue
            inputs = [values[operand] if operand.code is None else operand.code for operand in step.operands]
            if ANY in inputs:
                values[step] = ANY
                continue
            inputs = [FORMATS[operand.type].largest + 2 + (1 << FORMATS[operand.type].mantissa - 1) if value == NAN else value
                      for value, operand in zip(inputs, step.operands)]
            result = step.op.evaluate(*inputs)
            # The bits of a NaN are anything.
            if result != NAN and step.op.name in ("copysign", "bitcast") and any(isNan(operand.type, value) for value, operand in zip(inputs, step.operands)):
                result = ANY
            values[step] = ANY if isinstance(result, tuple) else result
        return values[steps[-1]]

    return Op(name, arguments, steps[-1].type, "\n".join(lines), evaluate)
