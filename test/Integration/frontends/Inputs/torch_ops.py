# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operations of the torch dialect that coverage.py goes through: CASES is a list of Case."""

import dataclasses
import math

import ml_dtypes
import numpy as np

TYPES = {
    "float32": "f32",
    "float64": "f64",
    "float16": "f16",
    "bfloat16": "bf16",
    "int64": "si64",
    "int32": "si32",
    "int8": "si8",
    "uint8": "ui8",
    "bool": "i1",
    "complex64": "complex<f32>",
}
# What torch calls the types in arguments.
NUMBERS = {
    "uint8": 0,
    "int8": 1,
    "int32": 3,
    "int64": 4,
    "float16": 5,
    "float32": 6,
    "float64": 7,
    "bool": 11,
    "bfloat16": 15,
}


@dataclasses.dataclass
class Case:
    name: str
    text: str
    inputs: list
    reference: object
    exact: bool = False
    special: bool = False
    tolerance: float = 1.0
    group: str = ""


@dataclasses.dataclass
class Literal:
    """An array of booleans that is a constant of the program."""

    value: object


CASES = []
erf = np.vectorize(math.erf, otypes=[float])
lgamma = np.vectorize(math.lgamma, otypes=[float])


def array(shape, dtype="float32", of="normal", seed=[0]):
    seed[0] += 1
    random = np.random.RandomState(seed[0])
    kind = np.dtype(getattr(ml_dtypes, dtype) if dtype == "bfloat16" else dtype)
    if dtype == "bool":
        return random.rand(*shape) < 0.5
    if isinstance(of, int):
        return random.randint(0, of, shape).astype(kind)
    if kind.kind in "iu":
        return random.randint(0 if kind.kind == "u" else -9, 10, shape).astype(kind)
    return {
        "normal": lambda: random.randn(*shape),
        "unit": lambda: random.uniform(-0.95, 0.95, shape),
        "positive": lambda: random.uniform(0.1, 4, shape),
        "above one": lambda: random.uniform(1.05, 5, shape),
    }[of]().astype(kind)


def tensor(value):
    return "!torch.vtensor<[%s],%s>" % (",".join(map(str, value.shape)), TYPES[value.dtype.name])


class Program:
    def __init__(self):
        self.lines, self.count, self.inputs = [], 0, []

    def value(self, given):
        """The name and type of an argument."""
        self.count += 1
        name = "%%c%d" % self.count
        if isinstance(given, np.ndarray):
            self.inputs.append(given)
            return "%%a%d" % (len(self.inputs) - 1), tensor(given)
        if isinstance(given, Literal):
            shape = "x".join(map(str, given.value.shape))
            self.lines.append(
                "%s = torch.vtensor.literal(dense<%s> : tensor<%sxi1>) : %s"
                % (name, str(given.value.tolist()).lower(), shape, tensor(given.value))
            )
            return name, tensor(given.value)
        if given is None:
            self.lines.append(name + " = torch.constant.none")
            return name, "!torch.none"
        if isinstance(given, bool):
            self.lines.append("%s = torch.constant.bool %s" % (name, str(given).lower()))
            return name, "!torch.bool"
        if isinstance(given, int):
            self.lines.append("%s = torch.constant.int %d" % (name, given))
            return name, "!torch.int"
        if isinstance(given, float):
            self.lines.append("%s = torch.constant.float %.17e" % (name, given))
            return name, "!torch.float"
        if isinstance(given, str):
            self.lines.append('%s = torch.constant.str "%s"' % (name, given))
            return name, "!torch.str"
        items = [self.value(each) for each in given]
        kinds = {kind for _, kind in items} or {"!torch.int"}
        if any("vtensor" in kind for kind in kinds) and len(kinds) > 1:
            kind = "optional<vtensor>" if "!torch.none" in kinds else "vtensor"
        else:
            kind = kinds.pop().replace("!torch.", "")
        self.lines.append(
            "%s = torch.prim.ListConstruct %s : (%s) -> !torch.list<%s>"
            % (name, ", ".join(each for each, _ in items), ", ".join(each for _, each in items), kind)
        )
        return name, "!torch.list<%s>" % kind

    def text(self, op, given, results, isList):
        values = [self.value(each) for each in given]
        kinds = [each if isinstance(each, str) else tensor(each) for each in results]
        head = ", ".join("%%a%d: %s" % (place, tensor(each)) for place, each in enumerate(self.inputs))
        names = ", ".join("%%r#%d" % each for each in range(len(kinds)))
        if isList:  # of a length that the op does not say
            return (
                'func.func @main(%s) -> (%s) {\n%s\n  %%l = "torch.%s"(%s) : (%s) -> !torch.list<vtensor>\n  %%r:%d = torch.prim.ListUnpack %%l : !torch.list<vtensor> -> %s\n  return %s : %s\n}\n'
                % (
                    head,
                    ", ".join(kinds),
                    "\n".join("  " + line for line in self.lines),
                    op,
                    ", ".join(each for each, _ in values),
                    ", ".join(each for _, each in values),
                    len(kinds),
                    ", ".join(kinds),
                    names,
                    ", ".join(kinds),
                )
            )
        return 'func.func @main(%s) -> (%s) {\n%s\n  %%r:%d = "torch.%s"(%s) : (%s) -> (%s)\n  return %s : %s\n}\n' % (
            head,
            ", ".join(kinds),
            "\n".join("  " + line for line in self.lines),
            len(kinds),
            op,
            ", ".join(each for each, _ in values),
            ", ".join(each for _, each in values),
            ", ".join(kinds),
            names,
            ", ".join(kinds),
        )


def case(op, given, reference, name="", isList=False, **options):
    """`given` are arrays and constants; `reference` computes of wide arrays what the op does. Its results' types are
    those of the first array, but for what is not float."""
    program = Program()
    arrays = []

    def collect(each):
        if isinstance(each, np.ndarray):
            arrays.append(each)
        elif isinstance(each, (list, tuple)):
            for one in each:
                collect(one)

    collect(given)

    def compute(*inputs):
        wide = iter(
            [
                each.astype(np.float64) if each.dtype.name in ("float32", "float16", "bfloat16") else each
                for each in inputs
            ]
        )

        def widen(each):
            if isinstance(each, np.ndarray):
                return next(wide)
            return [widen(one) for one in each] if isinstance(each, (list, tuple)) else each

        with np.errstate(all="ignore"):
            results = reference(*map(widen, given))
        results = results if isinstance(results, tuple) else (results,)
        floats = [each.dtype for each in arrays if each.dtype.name in ("float32", "float16", "bfloat16")]
        # What a reference gives in f64 is of the arguments' type.
        return [
            np.asarray(
                each,
                (
                    floats[0]
                    if floats and np.asarray(each).dtype == np.float64
                    else np.float32 if np.asarray(each).dtype == np.float64 else None
                ),
            )
            for each in results
        ]

    text = program.text(op, given, compute(*arrays), isList)
    label = name or "%s %s" % (op.replace("aten.", ""), TYPES[arrays[0].dtype.name] if arrays else "")
    CASES.append(Case(label, text, arrays, compute, **options))


def windows(x, sizes, strides, dilations):
    """Windows of the last dimensions, as the last dimensions of the result."""
    spans = [d * (k - 1) + 1 for k, d in zip(sizes, dilations)]
    rank = len(sizes)
    view = np.lib.stride_tricks.sliding_window_view(x, spans, tuple(range(-rank, 0)))
    cut = (
        [slice(None)] * (x.ndim - rank)
        + [slice(None, None, s) for s in strides]
        + [slice(None, None, d) for d in dilations]
    )
    return view[tuple(cut)]


def padded(x, padding, value):
    return np.pad(x, [(0, 0)] * (x.ndim - len(padding)) + [(p, p) for p in padding], constant_values=value)


def convolve(x, w, b, stride, padding, dilation, transposed=False, output_padding=None, groups=1):
    rank = len(stride)
    if transposed:
        # As the gradient of a convolution: every element adds a kernel.
        sizes = [
            (n - 1) * s - 2 * p + d * (k - 1) + 1 + o
            for n, s, p, d, k, o in zip(x.shape[2:], stride, padding, dilation, w.shape[2:], output_padding)
        ]
        out = np.zeros((x.shape[0], w.shape[1] * groups) + tuple(n + 2 * p + 9 for n, p in zip(sizes, padding)))
        per = x.shape[1] // groups
        for g in range(groups):
            for at in np.ndindex(*x.shape[2:]):
                for k in np.ndindex(*w.shape[2:]):
                    place = tuple(i * s + j * d for i, s, j, d in zip(at, stride, k, dilation))
                    out[(slice(None), slice(g * w.shape[1], (g + 1) * w.shape[1])) + place] += (
                        x[(slice(None), slice(g * per, (g + 1) * per)) + at]
                        @ w[(slice(g * per, (g + 1) * per), slice(None)) + k]
                    )
        y = out[(slice(None), slice(None)) + tuple(slice(p, p + n) for p, n in zip(padding, sizes))]
    else:
        views = windows(padded(x, padding, 0), w.shape[2:], stride, dilation)
        per, outs = x.shape[1] // groups, w.shape[0] // groups
        letters = "xyz"[:rank], "uvw"[:rank]
        y = np.concatenate(
            [
                np.einsum(
                    "ni%s%s,oi%s->no%s" % (letters[0], letters[1], letters[1], letters[0]),
                    views[:, g * per : (g + 1) * per],
                    w[g * outs : (g + 1) * outs],
                )
                for g in range(groups)
            ],
            1,
        )
    return y if b is None else y + b.reshape((-1,) + (1,) * rank)


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def elementwise():
    sigmoid = lambda x: 1 / (1 + np.exp(-x))
    unary = {
        "abs": np.abs,
        "acos": np.arccos,
        "acosh": np.arccosh,
        "asin": np.arcsin,
        "asinh": np.arcsinh,
        "atan": np.arctan,
        "atanh": np.arctanh,
        "ceil": np.ceil,
        "cos": np.cos,
        "cosh": np.cosh,
        "erf": erf,
        "exp": np.exp,
        "exp2": np.exp2,
        "expm1": np.expm1,
        "floor": np.floor,
        "frac": lambda x: x - np.trunc(x),
        "isfinite": np.isfinite,
        "isinf": np.isinf,
        "isnan": np.isnan,
        "log": np.log,
        "log10": np.log10,
        "log1p": np.log1p,
        "log2": np.log2,
        "logical_not": np.logical_not,
        "log_sigmoid": lambda x: np.log(sigmoid(x)),
        "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
        "neg": np.negative,
        "reciprocal": np.reciprocal,
        "relu": lambda x: np.maximum(x, 0),
        "relu6": lambda x: np.clip(x, 0, 6),
        "round": np.round,
        "rsqrt": lambda x: 1 / np.sqrt(x),
        "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
        "sgn": np.sign,
        "sigmoid": sigmoid,
        "sign": np.sign,
        "silu": lambda x: x * sigmoid(x),
        "sin": np.sin,
        "sinh": np.sinh,
        "sqrt": np.sqrt,
        "square": np.square,
        "tan": np.tan,
        "tanh": np.tanh,
        "trunc": np.trunc,
        "hardsigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1),
        "hardswish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
        "special_expm1": np.expm1,
        "deg2rad": np.deg2rad,
        "lgamma": lgamma,
        "erfc": lambda x: 1 - erf(x),
        "erfinv": None,
        "signbit": np.signbit,
        "positive": np.positive,
    }
    kinds = {
        "acosh": "above one",
        "log": "positive",
        "log10": "positive",
        "log2": "positive",
        "log1p": "positive",
        "rsqrt": "positive",
        "sqrt": "positive",
        "acos": "unit",
        "asin": "unit",
        "atanh": "unit",
        "lgamma": "positive",
    }
    for name, function in unary.items():
        if function:
            for dtype in ("float32", "float16", "bfloat16"):
                case("aten." + name, [array((3, 17), dtype, kinds.get(name, "normal"))], function)
    for name in ("abs", "neg", "sign", "relu", "bitwise_not"):
        for dtype in ("int64", "int32"):
            case("aten." + name, [array((9,), dtype)], np.bitwise_not if name == "bitwise_not" else unary[name])
    case("aten.exp", [array((9,), "int64")], np.exp, name="exp of si64", tolerance=4)
    case("aten.gelu", [array((3, 17)), "none"], lambda x, _: x * 0.5 * (1 + erf(x / math.sqrt(2))), name="gelu")
    case(
        "aten.gelu",
        [array((3, 17)), "tanh"],
        lambda x, _: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
        name="gelu tanh",
        tolerance=2,
    )
    case("aten.elu", [array((3, 17)), 1.0, 1.0, 1.0], lambda x, *_: np.where(x > 0, x, np.expm1(x)))
    case("aten.celu", [array((3, 17)), 1.5], lambda x, a: np.where(x > 0, x, a * np.expm1(x / a)))
    case("aten.leaky_relu", [array((3, 17)), 0.1], lambda x, a: np.where(x > 0, x, a * x))
    case("aten.prelu", [array((3, 4, 5)), array((4,))], lambda x, a: np.where(x > 0, x, a[:, None] * x))
    case("aten.hardtanh", [array((3, 17)), -1, 1], lambda x, a, b: np.clip(x, a, b))
    case("aten.softplus", [array((3, 17)), 1, 20], lambda x, *_: np.log1p(np.exp(x)))
    case("aten.threshold", [array((3, 17)), 0.5, 7.0], lambda x, t, v: np.where(x > t, x, v))
    case("aten.glu", [array((3, 18)), 1], lambda x, _: x[:, :9] * sigmoid(x[:, 9:]))
    case("aten.clamp", [array((3, 17)), -0.5, 0.5], lambda x, a, b: np.clip(x, a, b))
    case("aten.clamp_min", [array((3, 17)), 0.25], np.maximum)
    case("aten.clamp.Tensor", [array((3, 17)), array((17,)), None], lambda x, a, _: np.maximum(x, a))
    case(
        "aten.nan_to_num",
        [np.array([1, np.nan, np.inf, -np.inf], "f"), 2.0, 3.0, 4.0],
        lambda x, *n: np.nan_to_num(x, False, *n),
    )
    for dtype in ("float32", "float16", "bfloat16", "int64", "int32"):
        x, y = array((3, 17), dtype), array((17,), dtype)
        case("aten.add.Tensor", [x, y, 2], lambda x, y, a: x + a * y)
        case("aten.sub.Tensor", [x, y, 2], lambda x, y, a: x - a * y)
        case("aten.rsub.Scalar", [x, 3, 2], lambda x, s, a: s - a * x)
        case("aten.mul.Tensor", [x, y], np.multiply)
        case("aten.add.Scalar", [x, 3, 1], lambda x, s, a: x + s)
        case("aten.mul.Scalar", [x, 3], np.multiply)
        case("aten.maximum", [x, y], np.maximum)
        case("aten.minimum", [x, y], np.minimum)
        for name, function in {
            "eq": np.equal,
            "ne": np.not_equal,
            "lt": np.less,
            "le": np.less_equal,
            "gt": np.greater,
            "ge": np.greater_equal,
        }.items():
            case("aten.%s.Tensor" % name, [x, y], function)
            case("aten.%s.Scalar" % name, [x, 1], function)
        case("aten.where.self", [array((3, 17), "bool"), x, y], np.where, name="where.self " + TYPES[dtype])
        case(
            "aten.masked_fill.Scalar",
            [x, array((3, 17), "bool"), 3],
            lambda x, m, v: np.where(m, np.asarray(v, x.dtype), x),
        )
        nonzero = np.where(y == 0, np.asarray(1, y.dtype), y)
        case("aten.remainder.Tensor", [x, nonzero], np.remainder)
        case("aten.fmod.Tensor", [x, nonzero], np.fmod)
        case("aten.floor_divide", [x, nonzero], lambda x, y: np.floor_divide(x, y))
    # Integers that f32 and f64 do not hold, and bytes above 127.
    large = {"int64": [2**53 + 1, -(2**62) - 3, -7, 7], "int32": [2**31 - 1, -(2**31) + 1, -7, 7], "int8": [127, -127, -7, 7]}
    for dtype, numbers in large.items():
        x, y = np.array(numbers, dtype), np.array([7, -5, 2, -2], dtype)
        label = " of large " + TYPES[dtype]
        case("aten.neg", [x], np.negative, name="neg" + label)
        case("aten.fmod.Tensor", [x, y], np.fmod, name="fmod" + label)
        case("aten.fmod.Scalar", [x, 5], lambda x, y: np.fmod(x, x.dtype.type(y)), name="fmod.Scalar" + label)
        case("aten.floor_divide", [x, y], np.floor_divide, name="floor_divide" + label)
        case("aten.div.Tensor_mode", [x, y, "floor"], lambda x, y, _: x // y, name="div floor" + label)
        case("aten.div.Scalar_mode", [x, 5, "floor"], lambda x, y, _: x // x.dtype.type(y), name="div.Scalar floor" + label)
    x, y = np.array([200, 255, 3, 128], "uint8"), np.array([100, 2, 7, 129], "uint8")
    for name, function in {
        "add.Tensor": lambda x, y, _: x + y,
        "sub.Tensor": lambda x, y, _: x - y,
        "mul.Tensor": np.multiply,
        "div.Tensor": lambda x, y: (x / y).astype("float32"),
        "floor_divide": np.floor_divide,
        "maximum": np.maximum,
        "lt.Tensor": np.less,
    }.items():
        case("aten." + name, [x, y] + [1] * (name in ("add.Tensor", "sub.Tensor")), function)
    case("aten.sum", [x, None], lambda x, _: x.sum(dtype="int64"))
    # Quotients that round to a whole number.
    x, y = np.array([1, -1, 1e6, 7.5, -7.5, 0], "f"), np.array([0.1, 0.1, 0.3, -2, 2, 3], "f")
    case("aten.fmod.Tensor", [x, y], np.fmod, name="fmod next to whole numbers")
    case("aten.floor_divide", [x, y], np.floor_divide, name="floor_divide next to whole numbers")
    case("aten.reciprocal", [np.array([0, -0.0, 2], "f")], np.reciprocal, name="reciprocal of zeros")
    case("aten.div.Tensor", [array((3, 17)), array((17,))], np.divide)
    case(
        "aten.div.Tensor",
        [array((9,), "int64"), array((9,), "int64", 5) + 1],
        lambda x, y: (x / y).astype(np.float32),
        name="div.Tensor of si64",
    )
    case("aten.div.Scalar", [array((3, 17)), 3.0], np.divide)
    case(
        "aten.div.Tensor_mode",
        [array((3, 17)), array((17,)), "floor"],
        lambda x, y, _: np.floor(x / y),
        name="div floor f32",
    )
    case(
        "aten.div.Tensor_mode",
        [array((9,), "int64"), array((9,), "int64", 5) + 1, "floor"],
        lambda x, y, _: x // y,
        name="div floor si64",
    )
    case(
        "aten.div.Tensor_mode",
        [array((9,), "int64"), array((9,), "int64", 5) + 1, "trunc"],
        lambda x, y, _: np.trunc(x / y).astype(np.int64),
        name="div trunc si64",
    )
    case("aten.pow.Tensor_Scalar", [array((3, 17)), 3], np.power)
    case("aten.pow.Tensor_Tensor", [array((3, 17), of="positive"), array((17,))], np.power, tolerance=4)
    case("aten.pow.Scalar", [2.0, array((17,))], np.power)
    case("aten.atan2", [array((3, 17)), array((17,))], np.arctan2)
    case("aten.lerp.Tensor", [array((3, 17)), array((3, 17)), array((17,))], lambda x, y, w: x + w * (y - x))
    case("aten.addcmul", [array((3, 17)), array((3, 17)), array((17,)), 2.0], lambda x, y, z, v: x + v * y * z)
    case(
        "aten.addcdiv",
        [array((3, 17)), array((3, 17)), array((17,), of="positive"), 2.0],
        lambda x, y, z, v: x + v * y / z,
    )
    for name, function in {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}.items():
        case("aten.bitwise_%s.Tensor" % name, [array((9,), "int64"), array((9,), "int64")], function)
        case("aten.logical_%s" % name, [array((9,), "bool"), array((9,), "bool")], getattr(np, "logical_" + name))
    case("aten.bitwise_left_shift.Tensor", [array((9,), "int64"), array((9,), "int64", 5)], np.left_shift)
    case("aten.bitwise_right_shift.Tensor", [array((9,), "int64"), array((9,), "int64", 5)], np.right_shift)
    for source in ("float32", "bfloat16", "float16", "int64", "int32", "bool", "uint8", "int8"):
        for target in ("float32", "bfloat16", "float16", "int64", "int32", "bool", "uint8"):
            if source != target:
                x = array((17,), source)
                x = np.abs(x).astype(x.dtype) if target == "uint8" else x
                case(
                    "aten.to.dtype",
                    [x, NUMBERS[target], False, False, None],
                    lambda x, *_, t=target: x.astype(getattr(ml_dtypes, t) if t == "bfloat16" else t),
                    name="to.dtype %s to %s" % (TYPES[source], TYPES[target]),
                    exact=True,
                )


def shapes():
    for dtype in ("float32", "bfloat16", "int64", "bool"):
        x = array((4, 6, 5), dtype)
        case("aten.view", [x, [3, 8, 5]], lambda x, s: x.reshape(s))
        case("aten.permute", [x, [2, 0, 1]], lambda x, d: x.transpose(d))
        case("aten.transpose.int", [x, 0, 2], lambda x, a, b: x.swapaxes(a, b))
        case(
            "aten.cat",
            [[x, x + x if dtype != "bool" else ~x], 1],
            lambda xs, d: np.concatenate(xs, d),
            name="cat " + TYPES[dtype],
        )
        case(
            "aten.stack",
            [[x, x + x if dtype != "bool" else ~x], 1],
            lambda xs, d: np.stack(xs, d),
            name="stack " + TYPES[dtype],
        )
        case("aten.slice.Tensor", [x, 1, 1, 6, 2], lambda x, d, a, b, s: x[:, a:b:s])
        case("aten.select.int", [x, 1, -2], lambda x, d, i: x[:, i])
        case("aten.flip", [x, [0, 2]], lambda x, d: np.flip(x, d))
        case("aten.roll", [x, [2], [1]], lambda x, s, d: np.roll(x, s[0], d[0]))
        case("aten.expand", [x[:, :1], [4, 6, 5], False], lambda x, s, _: np.broadcast_to(x, s))
        case("aten.repeat", [x, [2, 1, 3]], lambda x, r: np.tile(x, r))
        case(
            "aten.constant_pad_nd",
            [x, [1, 2, 0, 3], 1.0 if dtype in ("float32", "bfloat16") else 1],
            lambda x, p, v: np.pad(x, [(0, 0), (p[2], p[3]), (p[0], p[1])], constant_values=v),
        )
        case("aten.clone", [x, None], lambda x, _: x)
    x = array((4, 6, 5))
    case(
        "aten.constant_pad_nd",
        [x, [-1, 2, -2, 0], 0.0],
        lambda x, p, v: np.pad(x[:, 2:, 1:], [(0, 0), (0, 0), (0, 2)]),
        name="constant_pad_nd negative",
    )
    case(
        "aten.reflection_pad1d", [array((2, 3, 7)), [2, 3]], lambda x, p: np.pad(x, [(0, 0), (0, 0), (2, 3)], "reflect")
    )
    case(
        "aten.reflection_pad2d",
        [array((2, 3, 7, 6)), [2, 3, 1, 2]],
        lambda x, p: np.pad(x, [(0, 0), (0, 0), (1, 2), (2, 3)], "reflect"),
    )
    case(
        "aten.replication_pad2d",
        [array((2, 3, 7, 6)), [2, 3, 1, 2]],
        lambda x, p: np.pad(x, [(0, 0), (0, 0), (1, 2), (2, 3)], "edge"),
    )
    case("aten.squeeze.dim", [array((4, 1, 5)), 1], lambda x, d: x[:, 0])
    case("aten.unsqueeze", [x, 1], lambda x, d: x[:, None])
    case("aten.flatten.using_ints", [x, 1, 2], lambda x, a, b: x.reshape(4, 30))
    case("aten.unflatten.int", [x, 1, [2, 3]], lambda x, d, s: x.reshape(4, 2, 3, 5))
    case("aten.narrow", [x, 1, 2, 3], lambda x, d, a, n: x[:, 2:5])
    case("aten.broadcast_to", [array((1, 5)), [3, 5]], lambda x, s: np.broadcast_to(x, s))
    case("aten.tril", [array((5, 6)), 1], np.tril)
    case("aten.triu", [array((5, 6)), -1], np.triu)
    case(
        "aten.pixel_shuffle",
        [array((1, 8, 3, 3)), 2],
        lambda x, r: x.reshape(1, 2, 2, 2, 3, 3).transpose(0, 1, 4, 2, 5, 3).reshape(1, 2, 6, 6),
    )
    case("aten.diagonal", [array((5, 6)), 1, 0, 1], lambda x, o, a, b: np.diagonal(x, o))
    case(
        "aten.slice_scatter",
        [x, array((4, 2, 5)), 1, 1, 5, 2],
        lambda x, v, d, a, b, s: replaced(x, (slice(None), slice(a, b, s)), v),
    )
    case("aten.select_scatter", [x, array((4, 5)), 1, 2], lambda x, v, d, i: replaced(x, (slice(None), i), v))
    case(
        "aten.arange.start_step",
        [2, 20, 3, 4, None, None, False],
        lambda a, b, s, *_: np.arange(a, b, s),
        name="arange",
    )
    case("aten.full", [[3, 4], 2.5, 6, None, None, False], lambda s, v, *_: np.full(s, v), name="full")
    case("aten.zeros", [[3, 4], 6, None, None, False], lambda s, *_: np.zeros(s), name="zeros")
    case("aten.ones_like", [x, None, None, None, None, None], lambda x, *_: np.ones_like(x))
    case(
        "aten.linspace", [0.0, 1.0, 7, 6, None, None, False], lambda a, b, n, *_: np.linspace(a, b, n), name="linspace"
    )
    case("aten.eye", [4, 6, None, None, False], lambda n, *_: np.eye(n), name="eye")
    case(
        "aten.meshgrid",
        [[array((3,)), array((4,))]],
        lambda xs: tuple(np.meshgrid(*xs, indexing="ij")),
        name="meshgrid",
        isList=True,
    )
    case(
        "aten.split.Tensor",
        [x, 2, 1],
        lambda x, n, d: (x[:, :2], x[:, 2:4], x[:, 4:]),
        name="split.Tensor",
        isList=True,
    )
    case("aten.unbind.int", [array((3, 4)), 0], lambda x, d: tuple(x), name="unbind.int", isList=True)
    case("aten.chunk", [x, 2, 1], lambda x, n, d: (x[:, :3], x[:, 3:]), name="chunk", isList=True)


def replaced(x, at, v):
    x = x.copy()
    x[at] = v
    return x


def reductions():
    for dtype in ("float32", "float16", "bfloat16", "int64", "int32"):
        x = array((5, 7, 9), dtype)
        wide = (lambda r: r) if dtype.startswith(("f", "b")) else (lambda r: np.asarray(r, np.int64))
        case("aten.sum.dim_IntList", [x, [0, 2], False, None], lambda x, d, *_, w=wide: w(x.sum(tuple(d))), tolerance=4)
        case("aten.sum", [x, None], lambda x, _, w=wide: w(x.sum()), tolerance=4)
        case("aten.amax", [x, [1], True], lambda x, d, k: x.max(1, keepdims=True))
        case("aten.amin", [x, [1], False], lambda x, d, k: x.min(1))
        case("aten.max", [x], np.max)
        case("aten.min", [x], np.min)
        case("aten.max.dim", [x, 1, False], lambda x, d, _: (x.max(1), x.argmax(1)))
        case("aten.min.dim", [x, 1, True], lambda x, d, _: (x.min(1, keepdims=True), x.argmin(1)[:, None]))
        case("aten.argmax", [x, 1, False], lambda x, d, _: x.argmax(1))
        case("aten.argmin", [x, None, False], lambda x, d, _: x.argmin())
        case("aten.cumsum", [x, 1, None], lambda x, d, _, w=wide: w(x.cumsum(1)), tolerance=8)
        small = array((3, 5), dtype, "positive" if dtype.startswith(("f", "b")) else 4)
        case("aten.prod.dim_int", [small, 1, False, None], lambda x, d, *_, w=wide: w(x.prod(1)), tolerance=4)
        case("aten.cumprod", [small, 1, None], lambda x, d, _, w=wide: w(x.cumprod(1)), tolerance=4)
    case("aten.cumsum", [array((3, 1000)), 1, None], lambda x, d, _: x.cumsum(1), name="cumsum of 1000", tolerance=16)
    case(
        "aten.cumsum", [array((300, 4)), 0, None], lambda x, d, _: x.cumsum(0), name="cumsum of 300 rows", tolerance=16
    )
    case("aten.cumsum", [array((500,)), 0, None], lambda x, d, _: x.cumsum(0), name="cumsum of a vector", tolerance=16)
    case("aten.logcumsumexp", [array((3, 40)), 1], lambda x, d: np.log(np.exp(x).cumsum(1)), tolerance=8)
    x = array((5, 40))
    case("aten.mean", [x, None], lambda x, _: x.mean(), tolerance=4)
    case("aten.mean.dim", [x, [1], True, None], lambda x, *_: x.mean(1, keepdims=True), tolerance=4)
    case("aten.var.dim", [x, [1], True, False], lambda x, *_: x.var(1, ddof=1), tolerance=4)
    case("aten.var.correction", [x, [1], 0, False], lambda x, *_: x.var(1), tolerance=4)
    case("aten.std.dim", [x, [1], True, False], lambda x, *_: x.std(1, ddof=1), tolerance=4)
    case("aten.var_mean.correction", [x, [1], 1, False], lambda x, *_: (x.var(1, ddof=1), x.mean(1)), tolerance=4)
    case("aten.norm.ScalarOpt_dim", [x, 2, [1], False], lambda x, *_: np.sqrt((x * x).sum(1)), tolerance=4)
    case("aten.linalg_vector_norm", [x, 2.0, [1], False, None], lambda x, *_: np.sqrt((x * x).sum(1)), tolerance=4)
    case("aten.softmax.int", [x, 1, None], lambda x, d, _: softmax(x, 1), tolerance=4)
    case("aten.log_softmax.int", [x, 0, None], lambda x, d, _: np.log(softmax(x, 0)), tolerance=4)
    case("aten._softmax", [x, 1, False], lambda x, d, _: softmax(x, 1), tolerance=4)
    case("aten.logsumexp", [x, [1], False], lambda x, d, _: np.log(np.exp(x).sum(1)), tolerance=4)
    case("aten.any.dim", [array((5, 7), "bool"), 1, False], lambda x, *_: x.any(1))
    case("aten.all.dim", [array((5, 7), "bool"), 0, True], lambda x, *_: x.all(0, keepdims=True))
    case("aten.any", [array((5, 7), "bool")], np.any)
    case("aten.count_nonzero", [array((5, 7), "bool"), None], lambda x, _: np.int64(np.count_nonzero(x)))
    case("aten.bincount", [array((20,), "int64", 6), None, 6], lambda x, *_: np.bincount(x, minlength=6))
    case(
        "aten.logsumexp",
        [np.array([[-np.inf, -np.inf], [np.inf, 1], [np.nan, 1], [2, 3]], "f"), [-1], True],
        lambda x, *_: np.log(np.exp(x).sum(1, keepdims=True)),
        name="logsumexp of infinities",
    )
    case("aten.prelu", [array((3, 4)), array((1,))], lambda x, a: np.where(x > 0, x, a * x), name="prelu of one weight")
    case("aten.isfinite", [np.array([1, np.nan, np.inf, -np.inf], "f")], np.isfinite, name="isfinite of infinities")
    hole = np.array([[3, np.nan, 1], [np.inf, -np.inf, 2]], "f")
    for name in ("amax", "amin"):
        case(
            "aten." + name, [hole, [1], False], lambda x, *_, f=getattr(np, name[1:]): f(x, 1), name=name + " with NaN"
        )
    case("aten.max.dim", [hole, 1, False], lambda x, *_: (x.max(1), x.argmax(1)), name="max.dim with NaN")
    case("aten.min.dim", [hole, 1, False], lambda x, *_: (x.min(1), x.argmin(1)), name="min.dim with NaN")
    case("aten.argmax", [hole, 1, False], lambda x, *_: x.argmax(1), name="argmax with NaN")
    case("aten.relu", [hole], lambda x: np.maximum(x, 0), name="relu with NaN")
    case("aten.clamp", [hole, -1.0, 1.0], lambda x, a, b: np.clip(x, a, b), name="clamp with NaN")
    case("aten.maximum", [hole, np.ones((2, 3), "f")], np.maximum, name="maximum with NaN")
    case("aten.median", [array((9,))], np.median)
    case("aten.mse_loss", [x, array((5, 40)), 1], lambda x, y, _: ((x - y) ** 2).mean(), tolerance=4)
    case("aten.l1_loss", [x, array((5, 40)), 1], lambda x, y, _: np.abs(x - y).mean(), tolerance=4)
    case(
        "aten.nll_loss_forward",
        [array((6, 5)), array((6,), "int64", 5), None, 1, -100],
        lambda x, y, *_: (-x[np.arange(6), y].mean(), np.float64(6)),
        tolerance=4,
    )
    case(
        "aten.cross_entropy_loss",
        [array((6, 5)), array((6,), "int64", 5), None, 1, -100, 0.0],
        lambda x, y, *_: -np.log(softmax(x, 1))[np.arange(6), y].mean(),
        tolerance=4,
    )
    case(
        "aten.binary_cross_entropy_with_logits",
        [x, array((5, 40), of="positive"), None, None, 1],
        lambda x, y, *_: (np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0) - x * y).mean(),
        tolerance=4,
    )
    case(
        "aten.cosine_similarity",
        [x, array((5, 40)), 1, 1e-8],
        lambda x, y, *_: (x * y).sum(1) / np.sqrt((x * x).sum(1) * (y * y).sum(1)),
        tolerance=8,
    )


def products():
    for dtype in ("float32", "float16", "bfloat16", "int64"):
        many = 4 if dtype in ("float16", "bfloat16") else 2
        case("aten.mm", [array((13, 30), dtype), array((30, 17), dtype)], np.matmul, tolerance=many)
        case("aten.bmm", [array((3, 13, 30), dtype), array((3, 30, 17), dtype)], np.matmul, tolerance=many)
        case("aten.matmul", [array((2, 3, 13, 30), dtype), array((3, 30, 17), dtype)], np.matmul, tolerance=many)
        case(
            "aten.matmul",
            [array((13, 30), dtype), array((30,), dtype)],
            np.matmul,
            name="matmul by vector " + TYPES[dtype],
            tolerance=many,
        )
    case("aten.linear", [array((5, 30)), array((17, 30)), array((17,))], lambda x, w, b: x @ w.T + b, tolerance=2)
    case(
        "aten.addmm",
        [array((17,)), array((5, 30)), array((30, 17)), 1, 2],
        lambda c, x, y, b, a: c + a * (x @ y),
        tolerance=2,
    )
    case(
        "aten.baddbmm",
        [array((3, 5, 17)), array((3, 5, 30)), array((3, 30, 17)), 1, 1],
        lambda c, x, y, *_: c + x @ y,
        tolerance=2,
    )
    case("aten.dot", [array((30,)), array((30,))], np.dot, tolerance=2)
    case("aten.outer", [array((9,)), array((7,))], np.outer)
    case(
        "aten.einsum",
        ["bij,bjk->bik", [array((3, 4, 5)), array((3, 5, 6))], None],
        lambda e, xs, _: np.einsum(e, *xs),
        name="einsum",
        tolerance=2,
    )
    case("aten.linalg_cross", [array((5, 3)), array((5, 3)), 1], lambda x, y, _: np.cross(x, y))
    case(
        "aten.scaled_dot_product_attention",
        [array((2, 3, 6, 4)), array((2, 3, 6, 4)), array((2, 3, 6, 4)), None, 0.0, False, None, False],
        lambda q, k, v, *_: softmax(q @ k.swapaxes(2, 3) / 2, -1) @ v,
        tolerance=4,
    )
    case(
        "aten.scaled_dot_product_attention",
        [array((2, 3, 6, 4)), array((2, 3, 6, 4)), array((2, 3, 6, 4)), None, 0.0, True, None, False],
        lambda q, k, v, *_: softmax(np.where(np.tri(6, dtype=bool), q @ k.swapaxes(2, 3) / 2, -np.inf), -1) @ v,
        name="scaled_dot_product_attention causal",
        tolerance=4,
    )
    case(
        "aten.scaled_dot_product_attention",
        [array((2, 3, 6, 4)), array((2, 3, 6, 4)), array((2, 3, 6, 4)), array((6, 6)), 0.0, False, None, False],
        lambda q, k, v, m, *_: softmax(q @ k.swapaxes(2, 3) / 2 + m, -1) @ v,
        name="scaled_dot_product_attention with a mask",
        tolerance=4,
    )
    case(
        "aten.scaled_dot_product_attention",
        [
            array((2, 3, 6, 4)),
            array((2, 3, 5, 4)),
            array((2, 3, 5, 4)),
            np.tri(6, 5, dtype=bool),
            0.0,
            False,
            None,
            False,
        ],
        lambda q, k, v, m, *_: softmax(np.where(m, q @ k.swapaxes(2, 3) / 2, -np.inf), -1) @ v,
        name="scaled_dot_product_attention with a mask of bool",
        tolerance=4,
    )
    for dtype in ("float16", "bfloat16"):
        case(
            "aten.scaled_dot_product_attention",
            [
                array((2, 3, 6, 4), dtype),
                array((2, 3, 6, 4), dtype),
                array((2, 3, 6, 4), dtype),
                array((6, 6), dtype),
                0.0,
                False,
                None,
                False,
            ],
            lambda q, k, v, m, *_: softmax(q @ k.swapaxes(2, 3) / 2 + m, -1) @ v,
            name="scaled_dot_product_attention with a mask " + TYPES[dtype],
            tolerance=4,
        )
    for dtype in ("float32", "float16", "bfloat16"):
        many = 4 if dtype != "float32" else 2

        def convolution(label, x, w, bias, *given, many=many, dtype=dtype):
            arrays = [array(x, dtype), array(w, dtype), array((bias,), dtype) if bias else None]
            case(
                "aten.convolution",
                arrays + list(given),
                convolve,
                name="convolution %s %s" % (label, TYPES[dtype]),
                tolerance=many,
            )

        convolution("plain", (2, 4, 9, 9), (6, 4, 3, 3), 6, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
        convolution("strided", (2, 4, 9, 9), (6, 4, 3, 3), 0, [2, 3], [0, 1], [1, 1], False, [0, 0], 1)
        convolution("dilated", (2, 4, 9, 9), (6, 4, 3, 3), 6, [1, 1], [2, 1], [2, 1], False, [0, 0], 1)
        convolution("grouped", (2, 4, 9, 9), (6, 2, 3, 3), 6, [1, 1], [1, 1], [1, 1], False, [0, 0], 2)
        convolution("depthwise", (2, 4, 9, 9), (4, 1, 3, 3), 4, [2, 2], [1, 1], [1, 1], False, [0, 0], 4)
        convolution("transposed", (2, 4, 5, 5), (4, 6, 3, 3), 6, [2, 2], [1, 1], [1, 1], True, [1, 1], 1)
        convolution("transposed, grouped", (2, 4, 5, 5), (4, 3, 3, 3), 6, [2, 2], [1, 1], [1, 1], True, [0, 0], 2)
        convolution("1-D", (2, 4, 9), (6, 4, 3), 6, [2], [1], [1], False, [0], 1)
        convolution("1-D transposed", (2, 4, 9), (4, 6, 3), 6, [2], [1], [1], True, [0], 1)
        convolution("1-D grouped", (2, 4, 9), (6, 2, 3), 6, [2], [1], [1], False, [0], 2)
        convolution("3-D", (2, 4, 5, 6, 7), (6, 4, 3, 2, 3), 6, [1, 2, 1], [1, 0, 1], [1, 1, 1], False, [0, 0, 0], 1)
    x = array((2, 3, 9, 9))
    pool = lambda x, k, s, p, value: windows(padded(x, p, value), k, s, [1, 1])
    case(
        "aten.max_pool2d",
        [x, [3, 3], [2, 2], [1, 1], [1, 1], False],
        lambda x, k, s, p, *_: pool(x, k, s, p, -np.inf).max((-1, -2)),
    )
    case(
        "aten.max_pool2d",
        [x, [2, 2], [2, 2], [0, 0], [1, 1], True],
        lambda x, k, s, *_: windows(
            np.pad(x, [(0, 0), (0, 0), (0, 1), (0, 1)], constant_values=-np.inf), k, s, [1, 1]
        ).max((-1, -2)),
        name="max_pool2d ceil_mode",
    )
    case(
        "aten.max_pool2d",
        [x, [3, 3], [1, 1], [0, 0], [2, 2], False],
        lambda x, k, s, p, d, _: windows(x, k, s, d).max((-1, -2)),
        name="max_pool2d dilated",
    )
    case(
        "aten.max_pool1d",
        [array((2, 3, 9)), [3], [2], [1], [1], False],
        lambda x, k, s, p, *_: windows(padded(x, p, -np.inf), k, s, [1]).max(-1),
    )
    case("aten.max_pool2d_with_indices", [x, [2, 2], [2, 2], [0, 0], [1, 1], False], with_indices)
    case(
        "aten.avg_pool2d",
        [x, [3, 3], [2, 2], [1, 1], False, True, None],
        lambda x, k, s, p, *_: pool(x, k, s, p, 0).mean((-1, -2)),
        tolerance=2,
    )
    case(
        "aten.avg_pool2d",
        [x, [3, 3], [2, 2], [1, 1], False, False, None],
        lambda x, k, s, p, *_: pool(x, k, s, p, 0).sum((-1, -2)) / pool(np.ones_like(x), k, s, p, 0).sum((-1, -2)),
        name="avg_pool2d without padding",
        tolerance=2,
    )
    case(
        "aten.avg_pool1d",
        [array((2, 3, 9)), [3], [2], [0], False, True],
        lambda x, k, s, *_: windows(x, k, s, [1]).mean(-1),
        tolerance=2,
    )
    case("aten.adaptive_avg_pool2d", [x, [1, 1]], lambda x, _: x.mean((-1, -2), keepdims=True), tolerance=4)
    case(
        "aten.adaptive_avg_pool2d",
        [x, [3, 3]],
        lambda x, _: windows(x, (3, 3), (3, 3), (1, 1)).mean((-1, -2)),
        name="adaptive_avg_pool2d to 3 x 3",
        tolerance=2,
    )
    case("aten.adaptive_max_pool2d", [array((2, 3, 8, 8)), [4, 4]], lambda x, _: with_indices(x, [2, 2], [2, 2]))
    case(
        "aten.adaptive_max_pool2d",
        [array((2, 3, 8, 8)), [3, 4]],
        lambda x, _: (np.zeros((2, 3, 3, 4)), np.zeros((2, 3, 3, 4), "int64")),
        name="adaptive_max_pool2d, windows that differ",
    )
    images = {1: array((2, 3, 5)), 2: array((2, 3, 5, 7)), 3: array((1, 2, 3, 4, 5))}
    for factor in 2.0, 1.7, 0.6:
        for rank in 1, 2:
            x, scales = images[rank], [factor] * rank
            sizes = [int(size * factor) for size in x.shape[2:]]
            case(
                "aten.upsample_nearest%dd" % rank,
                [x, sizes] + [None] * rank,
                lambda x, sizes, *_: resized(x, sizes, None, "nearest"),
                name="upsample_nearest%dd to %s" % (rank, sizes),
                exact=True,
            )
            case(
                "aten.upsample_nearest%dd" % rank,
                [x, sizes] + scales,
                lambda x, sizes, *scales: resized(x, sizes, scales, "nearest"),
                name="upsample_nearest%dd by %s" % (rank, factor),
                exact=True,
            )
            case(
                "aten.upsample_nearest%dd.vec" % rank,
                [x, None, scales],
                lambda x, _, scales: resized(x, None, scales, "nearest"),
                name="upsample_nearest%dd.vec by %s" % (rank, factor),
                exact=True,
            )
        for isAligned in False, True:
            x = images[2]
            sizes = [int(size * factor) for size in x.shape[2:]]
            case(
                "aten.upsample_bilinear2d",
                [x, sizes, isAligned, None, None],
                lambda x, sizes, isAligned, *_: resized(x, sizes, None, "bilinear", isAligned),
                name="upsample_bilinear2d to %s, aligned: %s" % (sizes, isAligned),
                tolerance=4,
            )
            case(
                "aten.upsample_bilinear2d.vec",
                [x, None, isAligned, [factor, factor]],
                lambda x, _, isAligned, scales: resized(x, None, scales, "bilinear", isAligned),
                name="upsample_bilinear2d.vec by %s, aligned: %s" % (factor, isAligned),
                tolerance=4,
            )
        for rank, x in images.items():
            for mode in "nearest", "nearest-exact", ["linear", "bilinear", "trilinear"][rank - 1]:
                case(
                    "aten.__interpolate.size_list_scale_list",
                    [x, None, [factor] * rank, mode, None if "nearest" in mode else False, None, False],
                    lambda x, _, scales, mode, *__: resized(x, None, scales, mode),
                    name="interpolate %d-D by %s, %s" % (rank, factor, mode),
                    tolerance=4,
                )
    case(
        "aten.__interpolate.size_list_scale_list",
        [images[2], None, [1.7, 1.7], "nearest", None, True, False],
        lambda x, *_: resized(x, [8, 11], None, "nearest"),
        name="interpolate, the factor computed again",
        exact=True,
    )
    case(
        "aten.__interpolate.size_list_scale_list",
        [images[2], [8, 11], None, "bicubic", False, None, False],
        lambda x, *_: resized(x, [8, 11], None, "nearest"),
        name="interpolate, bicubic",
    )
    case(
        "aten.upsample_bilinear2d",
        [array((1, 2, 4, 5), "float16"), [7, 11], False, None, None],
        lambda x, sizes, *_: resized(x, sizes, None, "bilinear"),
        name="upsample_bilinear2d f16",
    )
    case(
        "aten.im2col",
        [array((2, 3, 6, 6)), [3, 3], [1, 1], [0, 0], [1, 1]],
        lambda x, k, *_: windows(x, k, [1, 1], [1, 1]).transpose(0, 1, 4, 5, 2, 3).reshape(2, 27, 16),
    )
    case(
        "aten.grid_sampler",
        [array((1, 2, 4, 4)), array((1, 3, 3, 2), of="unit"), 0, 0, True],
        grid_sample,
        tolerance=16,
    )


def with_indices(x, k, s, *_):
    n = x.shape[-1]
    places = windows(np.arange(x.shape[-2] * n).reshape(x.shape[-2:]), k, s, [1, 1])
    views = windows(x, k, s, [1, 1])
    flat = views.reshape(views.shape[:-2] + (-1,))
    best = flat.argmax(-1)
    places = np.broadcast_to(places.reshape(places.shape[:-2] + (-1,)), flat.shape)
    return flat.max(-1), np.take_along_axis(places, best[..., None], -1)[..., 0]


def sample(x, ys, xs):
    """Bilinear, at places in elements; 0 outside."""
    y0, x0 = np.floor(ys).astype(int), np.floor(xs).astype(int)
    total = 0
    for dy in (0, 1):
        for dx in (0, 1):
            y, xx = y0 + dy, x0 + dx
            weight = (1 - abs(ys - y)) * (1 - abs(xs - xx))
            inside = (y >= 0) & (y < x.shape[-2]) & (xx >= 0) & (xx < x.shape[-1])
            total = (
                total
                + np.where(inside, weight, 0) * x[..., np.clip(y, 0, x.shape[-2] - 1), np.clip(xx, 0, x.shape[-1] - 1)]
            )
    return total


def resized(x, sizes, scales, mode, isAligned=False):
    """Images in other sizes, by PyTorch's rules."""
    rank = x.ndim - 2
    for place in range(rank):
        axis, size = place + 2, x.shape[place + 2]
        wanted = sizes[place] if sizes else int(size * scales[place])
        ratio = 1 / scales[place] if scales else size / wanted
        at = np.arange(wanted)
        if "nearest" in mode:
            source = np.floor((at + (0.5 if mode == "nearest-exact" else 0)) * ratio)
            x = x.take(np.minimum(source, size - 1).astype(int), axis)
            continue
        source = at * (size - 1) / max(wanted - 1, 1) if isAligned else np.maximum((at + 0.5) * ratio - 0.5, 0)
        below = np.minimum(source.astype(int), size - 1)
        share = np.minimum(source - below, 1).reshape((-1,) + (1,) * (rank - place - 1))
        x = x.take(below, axis) * (1 - share) + x.take(np.minimum(below + 1, size - 1), axis) * share
    return x


def grid_sample(x, grid, *_):
    return sample(x[0], (grid[0, ..., 1] + 1) / 2 * (x.shape[-2] - 1), (grid[0, ..., 0] + 1) / 2 * (x.shape[-1] - 1))[
        None
    ]


def indexed():
    # Masks that are constants: a few numbers, which the program lists, and more.
    for shape in (9, 5), (16, 8), (33, 13):
        mask = Literal(np.tril(np.ones(shape, bool)))
        case(
            "aten.where.self",
            [mask, array(shape), array(shape)],
            lambda c, x, y: np.where(c.value, x, y),
            name="where, a mask of %d x %d" % shape,
            exact=True,
        )
    for dtype in ("float32", "bfloat16", "int64"):
        x = array((9, 5), dtype)
        i = array((7,), "int64", 9)
        case("aten.embedding", [x, i, -1, False, False], lambda x, i, *_: x[i])
        case("aten.index_select", [x, 0, i], lambda x, d, i: x[i])
        case("aten.gather", [x, 1, array((9, 3), "int64", 5), False], lambda x, d, i, _: np.take_along_axis(x, i, 1))
        case("aten.index.Tensor", [x, [i]], lambda x, i: x[i[0]])
        case(
            "aten.index.Tensor", [x, [i, i % 5]], lambda x, i: x[i[0], i[1]], name="index.Tensor twice " + TYPES[dtype]
        )
        case(
            "aten.index_put",
            [x, [i], array((7, 5), dtype), True],
            lambda x, i, v, _: added(x, i[0], v),
            name="index_put accumulating " + TYPES[dtype],
        )
        case(
            "aten.index_put",
            [x, [np.array([3, 1, 8])], array((3, 5), dtype), False],
            lambda x, i, v, _: replaced(x, i[0], v),
            name="index_put " + TYPES[dtype],
        )
        case(
            "aten.scatter.src",
            [x, 0, np.array([[3, 1, 8]] * 2), array((2, 3), dtype)],
            lambda x, d, i, v: scattered(x, i, v),
        )
        case(
            "aten.scatter_add",
            [x, 0, array((6, 5), "int64", 9), array((6, 5), dtype)],
            lambda x, d, i, v: scattered(x, i, v, np.add),
        )
        case(
            "aten.scatter.value",
            [x, 0, np.array([[3, 1, 8]]), 7],
            lambda x, d, i, v: scattered(x, i, np.full(i.shape, v)),
        )
        case("aten.sort", [x, 1, False], lambda x, d, _: (np.sort(x, 1), np.argsort(x, 1, kind="stable")))
        case(
            "aten.topk",
            [x, 3, 1, True, True],
            lambda x, k, *_: (-np.sort(-x, 1)[:, :3], np.argsort(-x, 1, kind="stable")[:, :3]),
        )
    x = array((9, 5))
    case(
        "aten.index.Tensor",
        [x, [None, array((7,), "int64", 5)]],
        lambda x, i: x[:, i[1]],
        name="index.Tensor of the second dimension",
    )
    case("aten.index.Tensor", [x, [np.array([-1, -9, 3])]], lambda x, i: x[i[0]], name="index.Tensor, negative")
    case(
        "aten.index_put",
        [x, [np.array([-1, -9, 3])], array((3, 5)), False],
        lambda x, i, v, _: replaced(x, i[0], v),
        name="index_put, negative",
    )
    case(
        "aten.index_put",
        [x, [array((6,), "int64", 9), array((6,), "int64", 5)], array((6,)), True],
        lambda x, i, v, _: added(x, (i[0], i[1]), v),
        name="index_put twice",
    )
    case(
        "aten.index_put",
        [x, [None, np.array([1, 3])], array((9, 2)), False],
        lambda x, i, v, _: replaced(x, (slice(None), i[1]), v),
        name="index_put of the second dimension",
    )
    case(
        "aten.topk",
        [array((2, 4000)), 20, 1, True, True],
        lambda x, k, *_: (-np.sort(-x, 1)[:, :20], np.argsort(-x, 1, kind="stable")[:, :20]),
        name="topk of 4000",
    )
    case(
        "aten.topk",
        [array((90, 3), "int64", 4), 5, 0, False, True],
        lambda x, k, *_: (np.sort(x, 0)[:5], np.argsort(x, 0, kind="stable")[:5]),
        name="topk of the least, with equal ones",
    )
    holes = np.array([3, 1, np.nan, -2, np.inf, 7, 0, -np.inf, 5, 4, 2], "f")
    case("aten.sort", [holes, 0, False], lambda x, *_: (np.sort(x), np.argsort(x)), name="sort with NaN")
    case(
        "aten.sort",
        [holes, 0, True],
        lambda x, *_: (np.sort(x)[::-1], np.argsort(x)[::-1]),
        name="sort descending with NaN",
    )
    case(
        "aten.topk",
        [holes, 3, 0, True, True],
        lambda x, *_: (np.sort(x)[::-1][:3], np.argsort(x)[::-1][:3]),
        name="topk with NaN",
    )
    case("aten.argsort", [array((33,)), 0, True], lambda x, *_: np.argsort(-x, kind="stable"))
    case(
        "aten.sort",
        [array((4, 100)), 1, True],
        lambda x, *_: (-np.sort(-x, 1), np.argsort(-x, 1, kind="stable")),
        name="sort descending",
    )
    case("aten.index_add", [x, 0, array((7,), "int64", 9), array((7, 5)), 2], lambda x, d, i, v, a: added(x, i, a * v))
    case(
        "aten.scatter_reduce.two",
        [x, 0, array((6, 5), "int64", 9), array((6, 5)), "amax", True],
        lambda x, d, i, v, *_: scattered(x, i, v, np.maximum),
    )
    case("aten.masked_scatter", [x, array((9, 5), "bool"), array((45,))], lambda x, m, v: masked(x, m, v))
    case("aten.one_hot", [array((7,), "int64", 9), 9], lambda i, n: np.eye(n, dtype=np.int64)[i])
    case(
        "aten.bucketize.Tensor",
        [array((9,)), np.sort(array((20,))), False, False],
        lambda x, b, *_: np.searchsorted(b, x),
    )
    case(
        "aten.embedding_bag.padding_idx",
        [array((9, 5)), array((7,), "int64", 9), np.array([0, 3]), False, 0, False, None, False, -1],
        lambda t, i, o, *_: (
            np.stack([t[i[:3]].sum(0), t[i[3:]].sum(0)]),
            np.zeros(0, np.int64),
            np.zeros(0, np.int64),
            np.zeros(0, np.int64),
        ),
    )


def added(x, i, v):
    x = x.copy()
    np.add.at(x, i, v)
    return x


def scattered(x, i, v, combine=None):
    x = x.copy()
    for at in np.ndindex(*i.shape):
        to = (i[at],) + at[1:]
        x[to] = combine(x[to], v[at]) if combine else v[at]
    return x


def masked(x, m, v):
    x = x.copy()
    x[m] = v[: m.sum()]
    return x


def networks():
    x = array((3, 4, 5, 5))
    channels = lambda v: v.reshape(1, -1, 1, 1)
    case(
        "aten.layer_norm",
        [array((6, 20)), [20], array((20,)), array((20,)), 1e-5, False],
        lambda x, s, w, b, e, _: (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + e) * w + b,
        tolerance=8,
    )
    case(
        "aten.native_layer_norm",
        [array((6, 20)), [20], array((20,)), array((20,)), 1e-5],
        lambda x, s, w, b, e: (
            (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + e) * w + b,
            x.mean(1, keepdims=True),
            1 / np.sqrt(x.var(1, keepdims=True) + e),
        ),
        tolerance=8,
    )
    case(
        "aten.batch_norm",
        [x, array((4,)), array((4,)), array((4,)), array((4,), of="positive"), False, 0.1, 1e-5, False],
        lambda x, w, b, m, v, t, _, e, c: (x - channels(m)) / np.sqrt(channels(v) + e) * channels(w) + channels(b),
        tolerance=8,
    )
    case(
        "aten.native_batch_norm",
        [x, array((4,)), array((4,)), array((4,)), array((4,), of="positive"), True, 0.1, 1e-5],
        lambda x, w, b, m, v, t, _, e: (
            (x - x.mean((0, 2, 3), keepdims=True)) / np.sqrt(x.var((0, 2, 3), keepdims=True) + e) * channels(w)
            + channels(b),
            x.mean((0, 2, 3)),
            1 / np.sqrt(x.var((0, 2, 3)) + e),
        ),
        name="native_batch_norm in training",
        tolerance=16,
    )
    grouped = lambda x, n: x.reshape(3, n, -1)
    case(
        "aten.group_norm",
        [x, 2, array((4,)), array((4,)), 1e-5, False],
        lambda x, n, w, b, e, _: (
            (grouped(x, n) - grouped(x, n).mean(-1, keepdims=True)) / np.sqrt(grouped(x, n).var(-1, keepdims=True) + e)
        ).reshape(x.shape)
        * channels(w)
        + channels(b),
        tolerance=8,
    )
    case(
        "aten.instance_norm",
        [x, array((4,)), array((4,)), None, None, True, 0.1, 1e-5, False],
        lambda x, w, b, *_: (x - x.mean((2, 3), keepdims=True))
        / np.sqrt(x.var((2, 3), keepdims=True) + 1e-5)
        * channels(w)
        + channels(b),
        tolerance=8,
    )
    case(
        "aten.rms_norm",
        [array((6, 20)), [20], array((20,)), 1e-5],
        lambda x, s, w, e: x / np.sqrt((x * x).mean(1, keepdims=True) + e) * w,
        tolerance=8,
    )
    case("aten.dropout", [x, 0.5, False], lambda x, *_: x, name="dropout in inference")
    case(
        "aten.native_dropout",
        [array((200, 200)), 0.0, True],
        lambda x, *_: (x, np.ones(x.shape, bool)),
        name="native_dropout of nothing",
    )
    case("aten.threshold_backward", [x, array(x.shape), 0], lambda g, x, t: np.where(x > t, g, 0))
    case(
        "aten.gelu_backward",
        [array((9,)), array((9,)), "none"],
        lambda g, x, _: g * (0.5 * (1 + erf(x / math.sqrt(2))) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)),
        tolerance=4,
    )
    case("aten.tanh_backward", [array((9,)), array((9,))], lambda g, y: g * (1 - y * y))
    case("aten.sigmoid_backward", [array((9,)), array((9,))], lambda g, y: g * y * (1 - y))
    case(
        "aten._softmax_backward_data",
        [array((3, 9)), softmax(array((3, 9)), 1), 1, 6],
        lambda g, y, *_: y * (g - (g * y).sum(1, keepdims=True)),
        tolerance=4,
    )
    case(
        "aten._log_softmax_backward_data",
        [array((3, 9)), np.log(softmax(array((3, 9)), 1)), 1, 6],
        lambda g, y, *_: g - np.exp(y) * g.sum(1, keepdims=True),
        tolerance=4,
    )
    case(
        "aten.nll_loss_backward",
        [
            np.float32(2)[None].reshape(()),
            array((6, 5)),
            array((6,), "int64", 5),
            None,
            1,
            -100,
            np.float32(6)[None].reshape(()),
        ],
        lambda g, x, y, *_: -g / 6 * np.eye(5)[y],
        tolerance=4,
    )
    case(
        "aten.embedding_dense_backward",
        [array((7, 4)), array((7,), "int64", 11), 11, -1, False],
        lambda g, i, n, *_: added(np.zeros((n, 4)), i, g),
        tolerance=4,
    )
    case(
        "aten.embedding_dense_backward",
        [array((2, 7, 4)), array((2, 7), "int64", 3), 11, 1, False],
        lambda g, i, n, *_: added(
            np.zeros((n, 4)), i.ravel(), np.where(i == 1, 0, 1).reshape(-1, 1) * g.reshape(-1, 4)
        ),
        name="embedding_dense_backward with padding",
        tolerance=4,
    )
    case(
        "aten.convolution_backward",
        [
            array((2, 6, 5, 5)),
            array((2, 4, 5, 5)),
            array((6, 4, 3, 3)),
            [6],
            [1, 1],
            [1, 1],
            [1, 1],
            False,
            [0, 0],
            1,
            [True, True, True],
        ],
        convolution_backward,
        tolerance=8,
    )
    case(
        "aten.max_pool2d_with_indices_backward",
        [
            array((2, 3, 4, 4)),
            array((2, 3, 8, 8)),
            [2, 2],
            [2, 2],
            [0, 0],
            [1, 1],
            False,
            with_indices(array((2, 3, 8, 8)), [2, 2], [2, 2])[1],
        ],
        pool_backward,
    )
    case(
        "aten.avg_pool2d_backward",
        [array((2, 3, 4, 4)), array((2, 3, 8, 8)), [2, 2], [2, 2], [0, 0], False, True, None],
        lambda g, x, *_: g.repeat(2, -1).repeat(2, -2) / 4,
    )
    case(
        "aten.native_layer_norm_backward",
        [
            array((6, 20)),
            array((6, 20)),
            [20],
            np.zeros((6, 1), "f"),
            np.ones((6, 1), "f"),
            array((20,)),
            array((20,)),
            [True, True, True],
        ],
        layer_norm_backward,
        tolerance=32,
    )
    for name, function in {
        "linalg_inv": np.linalg.inv,
        "linalg_det": np.linalg.det,
        "linalg_cholesky": None,
        "fft_fft": None,
    }.items():
        if name == "linalg_cholesky":
            case("aten.linalg_cholesky", [spd(), False], lambda x, _: np.linalg.cholesky(x), tolerance=16)
        elif name != "fft_fft":
            case("aten." + name, [spd()], function, tolerance=64)
    case(
        "aten.fft_rfft",
        [array((3, 12)), None, -1, None],
        lambda x, *_: np.fft.rfft(x).astype(np.complex64),
        tolerance=8,
    )
    case(
        "aten.view_as_real",
        [(array((3, 5)) + 1j * array((3, 5))).astype(np.complex64)],
        lambda x: np.stack([x.real, x.imag], -1).astype(np.float32),
    )
    case("aten.complex", [array((3, 5)), array((3, 5))], lambda x, y: (x + 1j * y).astype(np.complex64))
    case(
        "aten.quantize_per_tensor", [x, 0.1, 0, 12], lambda x, *_: np.clip(np.round(x / 0.1), -128, 127).astype(np.int8)
    )


def spd():
    x = array((5, 5))
    return (x @ x.T + 5 * np.eye(5)).astype("f")


def convolution_backward(g, x, w, *_):
    padded_x = padded(x, [1, 1], 0)
    dw = np.einsum("noxy,nixyuv->oiuv", g, np.lib.stride_tricks.sliding_window_view(padded_x, (3, 3), (2, 3)))
    dx = convolve(g, w, None, [1, 1], [1, 1], [1, 1], True, [0, 0], 1)
    return dx, dw, g.sum((0, 2, 3))


def pool_backward(g, x, k, s, p, d, c, indices):
    out = np.zeros(x.shape)
    for at in np.ndindex(*g.shape):
        out[at[:2]].reshape(-1)[indices[at]] += g[at]
    return out


def layer_norm_backward(g, x, s, mean, rstd, w, b, m):
    hat = (x - mean) * rstd
    gw = g * w
    return rstd * (gw - gw.mean(1, keepdims=True) - hat * (gw * hat).mean(1, keepdims=True)), (g * hat).sum(0), g.sum(0)


for group in (elementwise, shapes, reductions, products, indexed, networks):
    group()
    for each in CASES:
        each.group = each.group or group.__name__
