# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs PTX, one thread after the other: what kernels on scalars and vectors are made of, as the
# PTX ISA says it, floats in exact arithmetic. For threads that do not meet. An
# instruction that is not known here is an error.

import functools
import math
import re

import formats
from formats import FORMATS

FLOATS = {"f16", "bf16", "f32", "f64"}
INPUTS, OUTPUTS, LOCAL = 1 << 32, 1 << 33, 1 << 34


def imageOf(text):
    """The PTX in what gpu-opt prints."""
    data = re.search(r'#gpu_async\.image<PTX, "[^"]*" data = "((?:[^"\\]|\\.)*)"', text, re.I)[1]
    return re.sub(r'\\([0-9A-F]{2}|["\\])', lambda m: chr(int(m[1], 16)) if len(m[1]) == 2 else m[1], data)


class Memory:
    """An array that kernels read and one that they write, of 64 bits an element."""

    def __init__(self, inputs, outputs):
        self.bytes, self.results, self.local = b"".join(v.to_bytes(8, "little") for v in inputs), bytearray(8 * outputs), bytearray()
        self.counts = len(inputs), outputs

    def arguments(self):
        """Both memrefs, as kernels take them."""
        result = []
        for base, count in zip((INPUTS, OUTPUTS), self.counts):
            result += [base, base, 0, count, 1]
        return result

    def outputs(self):
        return [int.from_bytes(self.results[8 * i:8 * i + 8], "little") for i in range(self.counts[1])]

    def place(self, address, size):
        data, start = ((self.local, LOCAL) if address >= LOCAL else (self.results, OUTPUTS) if address >= OUTPUTS
                       else (self.bytes, INPUTS))
        offset = address - start
        if not 0 <= offset <= len(data) - size:
            raise IndexError("an access out of bounds, at %#x" % address)
        return data, offset

    def load(self, address, size):
        data, offset = self.place(address, size)
        return int.from_bytes(data[offset:offset + size], "little")

    def store(self, address, size, value):
        data, offset = self.place(address, size)
        data[offset:offset + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")


def bitsOf(type):
    """Of one number, or of two where the type ends in x2."""
    return int(re.search(r"\d+", type)[0]) * (2 if type.endswith("x2") else 1)


def sign(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def nan(type):
    return FORMATS[type].sign - 1


def pack(type, value):
    code = FORMATS[type].encode(value)
    return nan(type) if code is None else code


@functools.lru_cache(maxsize=1 << 18)
def compute(name, type, *codes):
    """Floats, rounded to the nearest."""
    format = FORMATS[type]
    a, *rest = (format.decode(code) for code in codes)
    value = {"add": lambda: formats.add(a, rest[0]), "sub": lambda: formats.add(a, -rest[0]), "mul": lambda: formats.multiply(a, rest[0]),
             "div": lambda: formats.divide(a, rest[0]), "rcp": lambda: formats.divide(1.0, a), "fma": lambda: formats.fma(a, *rest),
             "sqrt": lambda: formats.sqrt(a), "min": lambda: formats.leastNumber(a, rest[0]), "max": lambda: formats.greatestNumber(a, rest[0]),
             "minNaN": lambda: formats.least(a, rest[0]), "maxNaN": lambda: formats.greatest(a, rest[0])}[name]()
    return pack(type, value)


ROUNDINGS = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}


@functools.lru_cache(maxsize=1 << 18)
def convert(to, source, rounding, code):
    if source in FLOATS:
        value = FORMATS[source].decode(code)
        if to in FLOATS:
            return pack(to, formats.toInteger(value, ROUNDINGS[rounding]) if rounding in ROUNDINGS else value)
        if math.isnan(value):
            return 0
        bits = bitsOf(to)
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if to[0] == "s" else (0, (1 << bits) - 1)
        if math.isinf(value):
            return low if value < 0 else high
        return min(max(int(formats.toInteger(value, ROUNDINGS[rounding])), low), high)
    value = sign(code, bitsOf(source)) if source[0] == "s" else code & (1 << bitsOf(source)) - 1
    if to in FLOATS:
        return pack(to, formats.Fraction(value))
    bits = bitsOf(to)
    return sign(value, bits) if to[0] == "s" else value & (1 << bits) - 1


def holds(how, type, a, b):
    if type in FLOATS:
        x, y = FORMATS[type].decode(a), FORMATS[type].decode(b)
        unordered = math.isnan(x) or math.isnan(y)
        if how in ("num", "nan"):
            return unordered == (how == "nan")
        if unordered:
            return how.endswith("u") and how not in ("equ",) or how == "equ"
        how = how[:-1] if len(how) == 3 else how
    else:
        bits = bitsOf(type)
        x, y = (sign(a, bits), sign(b, bits)) if type[0] == "s" else (a & (1 << bits) - 1, b & (1 << bits) - 1)
        how = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}.get(how, how)
    return {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}[how]


def permute(a, b, selection):
    """Bytes of two registers."""
    both, result = (b & 0xFFFFFFFF) << 32 | a & 0xFFFFFFFF, 0
    for i in range(4):
        which = selection >> 4 * i & 15
        byte = both >> 8 * (which & 7) & 255
        result |= (255 * (byte >> 7) if which & 8 else byte) << 8 * i
    return result


def divide(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


class Module:
    def __init__(self, text):
        self.text = text
        self.kernels = {}
        for match in re.finditer(r"\.entry (\w+)\(([^)]*)\)[^{]*\{(.*?)\n\}", text, re.S):
            self.kernels[match[1]] = Kernel(match[1], match[2].count(".param"), match[3])

    def run(self, name, arguments, threads, memory, block=64):
        kernel = self.kernels[name]
        # No signal.
        arguments = list(arguments) + [0] * (kernel.params - len(arguments))
        for thread in range(threads):
            kernel.run({"%tid.x": thread % block, "%ctaid.x": thread // block, "%ntid.x": block, "%nctaid.x": -(-threads // block),
                        **{"%" + where + axis: value for where, value in (("tid.", 0), ("ctaid.", 0), ("ntid.", 1), ("nctaid.", 1)) for axis in "yz"}},
                       arguments, memory)


class Kernel:
    def __init__(self, name, params, text):
        self.params, self.code, self.labels, self.widths = params, [], {}, {}
        self.name, self.depot, self.localBytes = name, None, 0
        for line in re.sub(r"//.*", "", text).split("\n"):
            line = line.strip()
            if line.endswith(":"):
                self.labels[line[:-1]] = len(self.code)
                continue
            # Several instructions may stand in braces of their own.
            line = line[1:].rstrip("} ") if line.startswith("{ ") else line
            for part in line.split(";"):
                part = part.strip()
                if part.startswith(".reg"):
                    kind, prefix = re.match(r"\.reg \.(\w+)\s+(%?[A-Za-z]+)", part).groups()
                    self.widths[prefix] = 1 if kind == "pred" else int(kind[1:])
                elif part.startswith(".local"):
                    size, self.depot = re.match(r"\.local .*\.b8\s+(\w+)\[(\d+)\]", part).groups()[::-1]
                    self.localBytes = int(size)
                elif part and part not in "{}" and not part.startswith((".loc", ".pragma", ".shared")):
                    self.code.append(self.parse(part))

    def parse(self, line):
        match = re.match(r"(?:@(!?)(%\w+)\s+)?([\w.]+)\s*(.*)", line)
        negated, guard, op, operands = match.groups()
        operands = [part.strip() for part in re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s][^,]*", operands)]
        run = self.instruction(op.split("."), operands)
        if guard:
            inner, wanted = run, 0 if negated else 1
            return lambda state: inner(state) if state.registers[guard] == wanted else None
        return run

    def value(self, text, type="b64"):
        """A function of the state that gives an operand's bits."""
        if text.startswith("{"):
            parts = [self.value(part.strip()) for part in text[1:-1].split(",")]
            width = bitsOf(type) // len(parts)
            return lambda state: sum((part(state) & (1 << width) - 1) << i * width for i, part in enumerate(parts))
        if text.startswith("%") or text in self.widths:
            return lambda state: state.registers[text]
        if text == self.depot:
            return lambda state: LOCAL
        if text.startswith("0f") or text.startswith("0d"):
            number = int(text[2:], 16)
        elif text.startswith("0x"):
            number = int(text.rstrip("U"), 16)
        elif re.fullmatch(r"-?\d+", text):
            number = int(text)
        elif text.startswith("$L") or text in ("true", "false"):
            number = int(text == "true")
        else:
            raise ValueError("operand %s of @%s" % (text, self.name))
        return lambda state: number

    def setter(self, text):
        """A function that puts bits into a register."""
        width = self.widths[re.match(r"%?[A-Za-z]+", text)[0]]

        def put(state, bits):
            state.registers[text] = bits & (1 << width) - 1
        return put

    def address(self, text):
        base, _, offset = text[1:-1].partition("+")
        get, offset = self.value(base), int(offset or 0)
        return lambda state: get(state) + offset

    def instruction(self, op, operands):
        name, type = op[0], op[-1]
        if name in ("griddepcontrol", "membar", "bar", "fence", "prefetch"):
            return lambda state: None
        if name == "ret" or name == "exit":
            return lambda state: -1
        if name == "bra":
            label = operands[0]
            return lambda state: self.labels[label]
        if name == "ld" and op[1] == "param":
            put, number, size = self.setter(operands[0]), int(re.search(r"_param_(\d+)", operands[1])[1]), bitsOf(type)
            return lambda state: put(state, state.arguments[number])
        if name in ("ld", "st"):
            where, what = (operands[1], operands[0]) if name == "ld" else operands
            address, size = self.address(where), bitsOf(type) // 8
            names = [part.strip() for part in what[1:-1].split(",")] if what.startswith("{") else [what]
            if name == "ld":
                puts = [self.setter(part) for part in names]

                def load(state):
                    for i, put in enumerate(puts):
                        bits = state.memory.load(address(state) + i * size, size)
                        put(state, sign(bits, 8 * size) if type[0] == "s" else bits)
                return load
            values = [self.value(part) for part in names]

            def store(state):
                for i, value in enumerate(values):
                    state.memory.store(address(state) + i * size, size, value(state))
            return store
        if name == "mov" and operands[0].startswith("{"):
            puts, get = [None if part.strip() == "_" else self.setter(part.strip()) for part in operands[0][1:-1].split(",")], self.value(operands[1])
            width = bitsOf(type) // len(puts)

            def split(state):
                bits = get(state)
                for i, put in enumerate(puts):
                    if put:
                        put(state, bits >> i * width)
            return split
        if name == "atom" or name == "red":
            return self.unknown(op)
        if "cc" in op or name in ("addc", "subc"):
            return self.carrying(op, operands)
        put, values = self.setter(operands[0].split("|")[0]), [self.value(text, type) for text in operands[1:]]
        function = self.operation(op, name, type)
        return lambda state: put(state, function(*[value(state) for value in values]))

    def carrying(self, op, operands):
        """Sums and differences of numbers in several registers: the carry, or what was borrowed, is a part of the state."""
        name, size = op[0], 1 << bitsOf(op[-1])
        if name not in ("add", "addc", "sub", "subc"):
            raise NotImplementedError(".".join(op))
        put, (a, b) = self.setter(operands[0]), [self.value(text, op[-1]) for text in operands[1:]]
        signOf, uses, sets = 1 if name.startswith("add") else -1, name.endswith("c"), "cc" in op

        def run(state):
            total = a(state) % size + signOf * (b(state) % size + (state.carry if uses else 0))
            put(state, total)
            if sets:
                state.carry = int(not 0 <= total < size)
        return run

    def unknown(self, op):
        def fail(*_):
            raise NotImplementedError(".".join(op))
        return fail

    def operation(self, op, name, type):
        if "ftz" in op or "approx" in op or "full" in op:
            raise NotImplementedError("%s: an instruction that is not exact" % ".".join(op))
        if type.endswith("x2") and name not in ("cvt", "mov"):
            # Two numbers in a register.
            one, bits = self.operation([part[:-2] if part == type else part for part in op], name, type[:-2]), bitsOf(type[:-2])
            half = lambda codes, shift: one(*[code >> shift & (1 << bits) - 1 for code in codes])
            return lambda *codes: half(codes, 0) & (1 << bits) - 1 | (half(codes, bits) & (1 << bits) - 1) << bits
        if name in ("mov", "cvta"):
            return lambda a: a
        if name == "selp":
            return lambda a, b, c: a if c else b
        if name == "setp":
            if len(op) > 3:
                combine = {"and": lambda a, c: a and c, "or": lambda a, c: a or c, "xor": lambda a, c: a != c}[op[2]]
                return lambda a, b, c: int(combine(holds(op[1], type, a, b), bool(c)))
            return lambda a, b: int(holds(op[1], type, a, b))
        if name == "testp":
            format = FORMATS[type]
            test = {"infinite": format.isInf, "notanumber": format.isNan, "finite": lambda a: not format.isInf(a) and not format.isNan(a),
                    "number": lambda a: not format.isNan(a), "normal": format.isNormal}[op[1]]
            return lambda a: int(test(a))
        if name == "cvt":
            to, source, rounding = op[-2], op[-1], op[1] if op[1][0] == "r" else None
            if to.endswith("x2"):
                # The first operand is the upper half.
                bits = bitsOf(to[:-2])
                return lambda a, b: convert(to[:-2], source, rounding, a) << bits | convert(to[:-2], source, rounding, b)
            if "sat" in op or "relu" in op:
                raise NotImplementedError(".".join(op))
            if to in FLOATS and (source not in FLOATS or bitsOf(to) < bitsOf(source)) and rounding not in ("rn",) + tuple(ROUNDINGS):
                raise NotImplementedError(".".join(op))
            return lambda a: convert(to, source, rounding, a & (1 << bitsOf(source)) - 1)
        if type in FLOATS and name in ("add", "sub", "mul", "div", "fma", "sqrt", "rcp"):
            if "rn" not in op:
                raise NotImplementedError(".".join(op))
            if op[-2] in FLOATS:
                # All operands but the last are of another type.
                return lambda *codes: compute(name, op[-2], *[convert(op[-2], type, None, code) for code in codes[:-1]], codes[-1])
            return lambda *codes: compute(name, type, *codes)
        if type in FLOATS and name in ("min", "max"):
            if op[1] not in ("NaN", type):
                raise NotImplementedError(".".join(op))
            full = name + ("NaN" if "NaN" in op else "")
            return lambda a, b: compute(full, type, a, b)
        if type in FLOATS and name in ("neg", "abs", "copysign"):
            top = FORMATS[type].sign
            return {"neg": lambda a: a ^ top, "abs": lambda a: a & (top - 1), "copysign": lambda a, b: b & (top - 1) | a & top}[name]
        if type == "pred":
            return {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b, "not": lambda a: 1 - a}[name]
        bits = bitsOf(type)
        all, s = (1 << bits) - 1, lambda a: sign(a, bits)
        isSigned = type[0] == "s"
        number = s if isSigned else lambda a: a & all
        clamped = lambda b: min(b & 0xFFFFFFFF, bits)
        table = {
            "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "and": lambda a, b: a & b, "or": lambda a, b: a | b,
            "xor": lambda a, b: a ^ b, "not": lambda a: ~a, "neg": lambda a: -a, "abs": lambda a: abs(s(a)), "min": lambda a, b: min(number(a), number(b)),
            "max": lambda a, b: max(number(a), number(b)), "shl": lambda a, b: a << clamped(b) & all, "shr": lambda a, b: number(a) >> clamped(b),
            "popc": lambda a: bin(a & all).count("1"), "clz": lambda a: bits - (a & all).bit_length(),
            "brev": lambda a: int(bin(a & all)[2:].zfill(bits)[::-1], 2),
            "div": lambda a, b: divide(number(a), number(b)) if isSigned else number(a) // number(b),
            "rem": lambda a, b: number(a) - number(b) * divide(number(a), number(b)) if isSigned else number(a) % number(b),
            "prmt": lambda a, b, c: permute(a, b, c),
        }
        if name == "mul" or name == "mad":
            part = op[1]
            def multiply(a, b, c=0):
                product = number(a) * number(b)
                return (product >> bits if part == "hi" else product) + c
            return multiply
        if name == "bfe":
            def extract(a, position, length):
                position, length = position & 255, length & 255
                field = number(a) >> position
                return sign(field, length) if isSigned else field & (1 << length) - 1
            return extract
        if name == "shf":
            left, wrap = op[1] == "l", op[2] == "wrap"
            def funnel(a, b, c):
                n = c & 31 if wrap else min(c, 32)
                both = (b & 0xFFFFFFFF) << 32 | a & 0xFFFFFFFF
                return both << n >> 32 if left else both >> n
            return funnel
        if not table.get(name):
            raise NotImplementedError(".".join(op))
        return table[name]

    def run(self, registers, arguments, memory):
        state = State(registers, arguments, memory)
        memory.local = bytearray(self.localBytes)
        at = 0
        while 0 <= at < len(self.code):
            jump = self.code[at](state)
            at = at + 1 if jump is None else len(self.code) if jump == -1 else jump


class State:
    def __init__(self, registers, arguments, memory):
        self.registers, self.arguments, self.memory, self.carry = registers, arguments, memory, 0
