# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operations of JAX that coverage.py goes through: CASES is a list of Case."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

FLOATS = ("f32", "f16", "bf16")
INTEGERS = ("i8", "i32", "ui8", "ui32")
DTYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "ui8": np.uint8,
    "ui32": np.uint32,
    "i1": np.bool_,
    "c64": np.complex64,
}


@dataclasses.dataclass
class Case:
    name: str
    function: object
    inputs: list
    exact: bool = False  # compared with JAX in the same types: what it computes depends on them
    special: bool = False  # small numbers have to be right, too
    tolerance: float = 1.0  # times that of the result's type
    group: str = ""
    dynamic: str = ""  # for jax.export.symbolic_shape: sizes that are left open, argument by argument


CASES = []
UNIT = "unit"  # between -1 and 1


def array(shape, dtype="f32", of="normal", seed=[0]):
    """Numbers of a kind: "normal", "unit", "positive", "special" ones, or integers below a number."""
    seed[0] += 1
    random = np.random.RandomState(seed[0])
    kind = DTYPES[dtype]
    if dtype == "i1":
        return random.rand(*shape) < 0.5
    if isinstance(of, int):
        return random.randint(0, of, shape).astype(kind)
    if dtype == "c64":
        return (random.randn(*shape) + 1j * random.randn(*shape)).astype(kind)
    if np.dtype(kind).kind in "iu":
        limits = np.iinfo(kind)
        # What is unsigned uses its uppermost bit.
        values = (
            random.randint(-9, 10, shape) if limits.min else random.randint(0, int(limits.max) + 1, shape, np.int64)
        )
        if of == "special":
            values = np.resize([limits.min, limits.max, 0, 1, limits.max - 1, limits.min + 1, 2, 7], shape)
        return values.astype(kind)
    if of == "special":
        finfo = ml_dtypes.finfo(kind)
        return np.resize(
            [
                0.0,
                -0.0,
                np.inf,
                -np.inf,
                np.nan,
                1,
                -1,
                0.5,
                -0.5,
                1.5,
                2.5,
                -2.5,
                float(finfo.max),
                -float(finfo.max),
                float(finfo.smallest_normal),
                3e-3,
                -3e-3,
                20.0,
                -20.0,
                90,
                -90,
                1e4,
                7.75,
            ],
            shape,
        ).astype(kind)
    values = {
        "normal": lambda: random.randn(*shape),
        "unit": lambda: random.uniform(-0.95, 0.95, shape),
        "positive": lambda: random.uniform(0.1, 4, shape),
        "above one": lambda: random.uniform(1.05, 5, shape),
    }[of]()
    return values.astype(kind)


def case(name, function, *inputs, **options):
    CASES.append(Case(name, function, list(inputs), **options))


def elementwise():
    unary = {
        "abs": lax.abs,
        "acos": lax.acos,
        "acosh": lax.acosh,
        "asin": lax.asin,
        "asinh": lax.asinh,
        "atan": lax.atan,
        "atanh": lax.atanh,
        "bessel_i0e": lax.bessel_i0e,
        "bessel_i1e": lax.bessel_i1e,
        "cbrt": lax.cbrt,
        "ceil": lax.ceil,
        "cos": lax.cos,
        "cosh": lax.cosh,
        "digamma": lax.digamma,
        "erf": lax.erf,
        "erf_inv": lax.erf_inv,
        "erfc": lax.erfc,
        "exp": lax.exp,
        "exp2": lax.exp2,
        "expm1": lax.expm1,
        "floor": lax.floor,
        "is_finite": lax.is_finite,
        "lgamma": lax.lgamma,
        "log": lax.log,
        "log1p": lax.log1p,
        "logistic": lax.logistic,
        "neg": lax.neg,
        "reciprocal": lax.reciprocal,
        "round away": functools.partial(lax.round, rounding_method=lax.RoundingMethod.AWAY_FROM_ZERO),
        "round even": functools.partial(lax.round, rounding_method=lax.RoundingMethod.TO_NEAREST_EVEN),
        "rsqrt": lax.rsqrt,
        "sign": lax.sign,
        "sin": lax.sin,
        "sinh": lax.sinh,
        "sqrt": lax.sqrt,
        "square": lax.square,
        "tan": lax.tan,
        "tanh": lax.tanh,
    }
    kinds = {
        "acosh": "above one",
        "lgamma": "positive",
        "digamma": "positive",
        "log": "positive",
        "rsqrt": "positive",
        "sqrt": "positive",
        "log1p": "positive",
    }
    for name, function in unary.items():
        for dtype in FLOATS + ("f64",):
            of = kinds.get(name, UNIT if name in ("acos", "asin", "atanh", "erf_inv") else "normal")
            case("%s %s" % (name, dtype), function, array((3, 17), dtype, of), tolerance=8 if dtype == "f64" else 1)
            if dtype == "f64":
                continue
            case(
                "%s %s, special numbers" % (name, dtype),
                function,
                array((23,), dtype, "special"),
                special=name != "lgamma",
                tolerance=16 if name == "exp2" else 8,
            )
    for name in ("abs", "neg", "sign", "square"):
        for dtype in INTEGERS[:2] + ("i64",) + INTEGERS[2:]:
            if name != "abs" or not dtype.startswith("u"):
                case("%s %s" % (name, dtype), unary[name], array((8,), dtype, "special"), exact=True)
    for name in ("population_count", "clz", "bitwise_not"):
        for dtype in INTEGERS[:2] + ("i64",) + INTEGERS[2:] + (("i1",) if name == "bitwise_not" else ()):
            case("%s %s" % (name, dtype), getattr(lax, name), array((8,), dtype, "special"), exact=True)
    for name in (
        "abs",
        "neg",
        "sign",
        "exp",
        "log",
        "log1p",
        "expm1",
        "sqrt",
        "rsqrt",
        "cbrt",
        "sin",
        "cos",
        "tan",
        "tanh",
        "logistic",
        "real",
        "imag",
        "conj",
        "square",
        "acos",
        "asin",
        "atan",
        "acosh",
        "asinh",
        "atanh",
        "sinh",
        "cosh",
        "is_finite",
    ):
        if name in ("cbrt", "is_finite"):
            continue  # JAX has these of real numbers only
        case("%s c64" % name, getattr(lax, name), array((3, 5), "c64"), tolerance=4)

    binary = {
        "add": lax.add,
        "sub": lax.sub,
        "mul": lax.mul,
        "div": lax.div,
        "rem": lax.rem,
        "max": lax.max,
        "min": lax.min,
    }
    for name, function in binary.items():
        for dtype in FLOATS + INTEGERS + ("f64", "i64", "i16"):
            x, y = array((3, 17), dtype), array((3, 17), dtype)
            if name in ("div", "rem") and not dtype.startswith(("f", "b")):
                y = np.where(y == 0, 1, y).astype(y.dtype)
            case("%s %s" % (name, dtype), function, x, y)
        for dtype in FLOATS:
            x = array((23,), dtype, "special")
            case(
                "%s %s, special numbers" % (name, dtype),
                lambda x, f=function: f(x[:, None], x[None, :]),
                x,
                special=True,
            )
    for name in ("div", "rem"):
        for dtype in INTEGERS:
            x = array((8,), dtype, "special")
            case(
                "%s %s by zero and of the least" % (name, dtype),
                lambda x, f=binary[name]: f(x[:, None] + 0 * x[None, :], x[None, :] + 0 * x[:, None]),
                x,
                exact=True,
            )
    for name in ("add", "sub", "mul", "div", "pow"):
        case("%s c64" % name, getattr(lax, name), array((3, 5), "c64"), array((3, 5), "c64"), tolerance=8)
    case("complex", lax.complex, array((3, 5)), array((3, 5)))
    for dtype in FLOATS:
        case("pow %s" % dtype, lax.pow, array((3, 17), dtype, "positive"), array((3, 17), dtype))
        case("atan2 %s" % dtype, lax.atan2, array((3, 17), dtype), array((3, 17), dtype))
        case("integer_pow %s" % dtype, lambda x: (x**3, x**-2), array((3, 17), dtype, "positive"))
        case("nextafter %s" % dtype, lax.nextafter, array((23,), dtype, "special"), array((23,), dtype), exact=True)
        case("reduce_precision %s" % dtype, lambda x: lax.reduce_precision(x, 5, 3), array((3, 17), dtype), exact=True)
    case(
        "reduce_precision, special numbers",
        lambda x: lax.reduce_precision(x, 5, 3),
        array((23,), "f32", "special"),
        exact=True,
    )
    case(
        "pow f32, special numbers",
        lambda x: lax.pow(x[:, None], x[None, :]),
        array((23,), "f32", "special"),
        special=True,
        tolerance=8,
    )
    case(
        "atan2 f32, special numbers",
        lambda x: lax.atan2(x[:, None], x[None, :]),
        array((23,), "f32", "special"),
        special=True,
        tolerance=8,
    )
    case("integer pow i32", lambda x: x**3, array((9,), "i32"))
    case("igamma", lax.igamma, array((9,), "f32", "positive"), array((9,), "f32", "positive"), tolerance=8)
    case("igammac", lax.igammac, array((9,), "f32", "positive"), array((9,), "f32", "positive"), tolerance=8)
    case(
        "betainc",
        lax.betainc,
        array((9,), "f32", "positive"),
        array((9,), "f32", "positive"),
        np.linspace(0.1, 0.9, 9, dtype="f"),
        tolerance=16,
    )
    case("polygamma", lax.polygamma, np.full(9, 2, "f"), array((9,), "f32", "positive"), tolerance=8)
    case("zeta", lax.zeta, array((9,), "f32", "above one"), array((9,), "f32", "positive"), tolerance=8)
    for name in ("and", "or", "xor"):
        for dtype in INTEGERS + ("i1",):
            case(
                "%s %s" % (name, dtype),
                getattr(lax, "bitwise_" + name),
                array((9,), dtype),
                array((9,), dtype),
                exact=True,
            )
    for name in ("shift_left", "shift_right_arithmetic", "shift_right_logical"):
        for dtype in INTEGERS:
            width = np.dtype(DTYPES[dtype]).itemsize * 8
            case(
                "%s %s" % (name, dtype),
                getattr(lax, name),
                array((9,), dtype),
                np.array([0, 1, 2, 7, width - 1, width, 3, 4, 5], DTYPES[dtype]),
                exact=True,
            )


def types():
    """Comparisons, choices and conversions."""
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        for dtype in FLOATS + INTEGERS + ("i1",):
            case(
                "%s %s" % (name, dtype),
                lambda x, y, f=getattr(lax, name): f(
                    x[:, None] | (y[None] & False) if x.dtype == bool else x[:, None], y[None]
                ),
                array((23,), dtype, "special"),
                array((23,), dtype, "special"),
                exact=True,
            )
        if name in ("eq", "ne"):
            case("%s c64" % name, getattr(lax, name), array((3, 5), "c64"), array((3, 5), "c64"))
    for dtype in FLOATS + INTEGERS:
        case("clamp %s" % dtype, lax.clamp, DTYPES[dtype](1), array((17,), dtype), DTYPES[dtype](4))
        case(
            "select %s" % dtype,
            lambda p, x, y: jnp.where(p, x, y),
            array((17,), "i1"),
            array((17,), dtype),
            array((17,), dtype),
        )
        case(
            "select_n of four %s" % dtype,
            lambda p, *x: lax.select_n(p, *x),
            array((17,), "i32", 4),
            *[array((17,), dtype) for _ in range(4)]
        )
        case("constant %s" % dtype, lambda x: x + np.arange(17).astype(x.dtype) + 3, array((17,), dtype))
    for source in FLOATS + INTEGERS + ("i64", "i1", "c64"):
        for target in FLOATS + INTEGERS + ("i64", "i1", "c64"):
            if source != target and not (source == "c64" and target != "c64"):
                x = array((17,), source)
                if target.startswith("u"):
                    x = np.abs(x).astype(x.dtype)
                case(
                    "convert %s to %s" % (source, target),
                    lambda x, t=DTYPES[target]: lax.convert_element_type(x, t),
                    x,
                    exact=True,
                )
    case(
        "convert f32 to i32, special numbers",
        lambda x: lax.convert_element_type(x, np.int32),
        array((23,), "f32", "special"),
        exact=True,
    )
    case(
        "convert f32 to i8, special numbers",
        lambda x: lax.convert_element_type(x, np.int8),
        array((23,), "f32", "special"),
        exact=True,
    )
    case(
        "convert f32 to ui8, special numbers",
        lambda x: lax.convert_element_type(x, np.uint8),
        array((23,), "f32", "special"),
        exact=True,
    )
    for source, target in (
        ("f32", "i32"),
        ("i32", "f32"),
        ("f32", "ui32"),
        ("bf16", "i16"),
        ("f16", "i16"),
        ("i32", "i8"),
        ("f32", "i8"),
    ):
        case(
            "bitcast_convert %s to %s" % (source, target),
            lambda x, t=DTYPES[target]: lax.bitcast_convert_type(x, t),
            array((17,), source),
            exact=True,
        )
    case("bitcast_convert i8 to i32", lambda x: lax.bitcast_convert_type(x, np.int32), array((5, 4), "i8"), exact=True)


def arranged():
    """Elementwise work and sums of arrays that are read in another order."""
    x, y = array((8, 6)), array((6, 8))
    square = array((8, 8))
    orders = {
        "backwards": lambda x: x[::-1],
        "backwards in a row": lambda x: x[:, ::-1],
        "backwards in both": lambda x: x[::-1, ::-1],
        "transposed": lambda x: x.T,
        "rolled": lambda x: jnp.roll(x, 3, 0),
        "with a step": lambda x: x[::2],
        "repeated": lambda x: jnp.repeat(x, 2, 0),
    }
    for name, order in orders.items():
        case("sum of an array %s" % name, lambda x, f=order: (f(x).sum(0), f(x).sum(1), f(x).sum()), x, tolerance=4)
        case("argmax of an array %s" % name, lambda x, f=order: (f(x).argmax(0), f(x).argmax(1)), x)
        case("softmax of an array %s" % name, lambda x, f=order: jax.nn.softmax(f(x), 1), x, tolerance=4)
        case("product of an array %s" % name, lambda x, f=order: (f(x) @ f(x).T, f(x).T @ f(x)), x, tolerance=8)
        if name not in ("with a step", "repeated"):
            case("array and array %s" % name, lambda x, f=order: (lambda y: y + f(y))(jnp.exp(x)), square, tolerance=4)
            case(
                "array, of itself and it %s" % name,
                lambda x, f=order: (lambda y: (y * f(y), y))(jnp.tanh(x) / 2),
                square,
                tolerance=4,
            )

    def spread(x, dim):
        return jnp.broadcast_to(x.mean(dim, keepdims=True), x.shape)

    case("product of arrays repeated", lambda x: spread(x, 1) @ spread(x, 0), square, tolerance=8)
    case("product of arrays repeated, backwards", lambda x: spread(x, 1)[::-1] @ spread(x, 0), square, tolerance=8)
    case("product of arrays backwards", lambda x, y: x[::-1] @ y[:, ::-1], x, y, tolerance=8)


def shapes():
    for dtype in ("f32", "bf16", "i32", "i1", "c64", "ui8"):
        x = array((4, 6, 5), dtype)
        case("broadcast_in_dim %s" % dtype, lambda x: lax.broadcast_in_dim(x, (2, 4, 6, 5), (1, 2, 3)), x, exact=True)
        case("reshape %s" % dtype, lambda x: x.reshape(3, 8, 5), x, exact=True)
        case("transpose %s" % dtype, lambda x: x.transpose(2, 0, 1), x, exact=True)
        case(
            "concatenate %s" % dtype, lambda x, y: lax.concatenate([x, y, x], 1), x, array((4, 2, 5), dtype), exact=True
        )
        case("slice strided %s" % dtype, lambda x: x[1:4:2, ::3, 1:], x, exact=True)
        case("reverse %s" % dtype, lambda x: lax.rev(x, (0, 2)), x, exact=True)
        zero = DTYPES[dtype](1)
        case("pad %s" % dtype, lambda x, z=zero: lax.pad(x, z, ((1, 2, 0), (0, 0, 0), (3, 0, 0))), x, exact=True)
        case(
            "pad interior %s" % dtype, lambda x, z=zero: lax.pad(x, z, ((1, 2, 1), (0, 0, 2), (3, 0, 0))), x, exact=True
        )
        case(
            "pad negative %s" % dtype,
            lambda x, z=zero: lax.pad(x, z, ((-1, 2, 0), (-2, -1, 0), (3, 0, 0))),
            x,
            exact=True,
        )
        case(
            "pad negative interior %s" % dtype,
            lambda x, z=zero: lax.pad(x, z, ((-1, 2, 2), (-2, -1, 1), (3, -1, 0))),
            x,
            exact=True,
        )
        case(
            "dynamic_slice %s" % dtype,
            lambda x, i: lax.dynamic_slice(x, (i, 3, i), (2, 3, 2)),
            x,
            np.int32(2),
            exact=True,
        )
        case(
            "dynamic_update_slice %s" % dtype,
            lambda x, y, i: lax.dynamic_update_slice(x, y, (i, i, 1)),
            x,
            array((2, 3, 2), dtype),
            np.int32(9),
            exact=True,
        )
        case("expand_dims, squeeze %s" % dtype, lambda x: jnp.squeeze(jnp.expand_dims(x, 1), 1), x, exact=True)
    for dtype in ("f32", "bf16", "f16", "i32", "i8", "ui8", "ui32", "c64"):
        case("iota %s" % dtype, lambda t=DTYPES[dtype]: lax.broadcasted_iota(t, (3, 7), 1), exact=True)
    case(
        "dynamic_slice, negative and beyond",
        lambda x, i: (lax.dynamic_slice(x, (i,), (3,)), lax.dynamic_slice(x, (-i,), (3,))),
        array((9,)),
        np.int32(100),
    )
    case("concatenate without elements", lambda x: jnp.concatenate([x[:0], x, x[4:4]]), array((9,)))
    case("slice without elements", lambda x: x[4:4], array((9,)))
    case("reduction of no elements", lambda x: x[:, :0].sum(1), array((3, 4)))
    case("product over no elements", lambda x, y: x[:, :0] @ y[:0], array((3, 4)), array((4, 5)))
    case("pad of no elements", lambda x, v: lax.pad(x[:0], v, [(5, 0, 2)]), array((9,)), np.float32(7))
    case("no complex numbers", lambda x: (x + 1, x.sum(1), jnp.fft.fft(x.T)), array((3, 0), "c64"))
    case("roll", lambda x: jnp.roll(x, 3, 1), array((4, 9)))
    case("tile", lambda x: jnp.tile(x, (2, 3)), array((4, 9)))
    case("repeat", lambda x: jnp.repeat(x, 3, 1), array((4, 9)))
    case("stack, split", lambda x, y: jnp.split(jnp.stack([x, y], 1), 3, 2), array((4, 9)), array((4, 9)))
    case(
        "tril, triu, eye, diag",
        lambda x: (jnp.tril(x), jnp.triu(x, 1), x * jnp.eye(5), jnp.diag(x), jnp.trace(x)),
        array((5, 5)),
    )
    case("meshgrid, linspace", lambda x: jnp.meshgrid(x, jnp.linspace(0, 1, 4)), array((5,)))
    case("rank 0", lambda x, y: jnp.sin(x) * y, np.float32(2), np.float32(3))


def least(dtype):
    return np.asarray(-np.inf if jnp.issubdtype(dtype, jnp.floating) else jnp.iinfo(dtype).min, dtype)[()]


def reductions():
    for dtype in FLOATS + INTEGERS + ("f64", "i64"):
        x = array((5, 7, 9), dtype)
        small = array((3, 5), dtype) if not dtype.startswith(("f", "b")) else array((3, 5), dtype, "positive")
        for name, function in (("sum", jnp.sum), ("max", jnp.max), ("min", jnp.min)):
            case("reduce %s %s" % (name, dtype), lambda x, f=function: (f(x, 1), f(x, (0, 2)), f(x)), x, tolerance=4)
        case("reduce prod %s" % dtype, lambda x: jnp.prod(x, 1), small, tolerance=4)
        case("argmax %s" % dtype, lambda x: (jnp.argmax(x, 1), jnp.argmax(x)), x, exact=True)
        case("argmin %s" % dtype, lambda x: (jnp.argmin(x, 1), jnp.argmin(x)), x, exact=True)
        case("cumsum %s" % dtype, lambda x: (jnp.cumsum(x, 1), lax.cumsum(x, 2, reverse=True)), x, tolerance=8)
        case("cumprod %s" % dtype, lambda x: jnp.cumprod(x, 1), small, tolerance=4)
        case("cummax, cummin %s" % dtype, lambda x: (lax.cummax(x, 1), lax.cummin(x, 0, reverse=True)), x)
        case(
            "reduce_window max %s" % dtype,
            lambda x: lax.reduce_window(x, least(x.dtype), lax.max, (1, 3, 2), (1, 2, 2), "SAME"),
            x,
        )
        case(
            "reduce_window sum %s" % dtype,
            lambda x: lax.reduce_window(x, np.zeros((), x.dtype)[()], lax.add, (1, 3, 2), (1, 2, 2), "VALID"),
            x,
        )
    case(
        "max and argmax of NaN",
        lambda x: (x.max(), jnp.argmax(x), x.min(), jnp.argmin(x), lax.cummax(x)),
        array((23,), "f32", "special"),
        exact=True,
    )
    case(
        "reduce_window with dilations",
        lambda x: lax.reduce_window(
            x, 0.0, lax.add, (3, 2), (2, 1), ((1, 1), (0, 1)), base_dilation=(2, 1), window_dilation=(1, 2)
        ),
        array((9, 8)),
    )
    case(
        "reduce_window of two arrays",
        lambda x, y: lax.reduce_window(
            (x, y), (x.dtype.type(0), x.dtype.type(0)), lambda a, b: (a[0] + b[0], a[1] + b[1] * 2), (2,), (1,), "VALID"
        ),
        array((9,)),
        array((9,)),
    )
    for dtype in ("i1",):
        case("any, all", lambda x: (jnp.any(x, 1), jnp.all(x, 0), jnp.any(x)), array((5, 7), dtype), exact=True)
    case("reduce_xor", lambda x: lax.reduce_xor(x, (0,)), array((5, 7), "i32"), exact=True)
    case(
        "reduce and, or", lambda x: (lax.reduce_and(x, (0,)), lax.reduce_or(x, (1,))), array((5, 7), "i32"), exact=True
    )
    case(
        "reduce of two arrays",
        lambda x, y: lax.reduce(
            (x, y), (x.dtype.type(0), x.dtype.type(1)), lambda a, b: (a[0] + b[0], a[1] * b[1]), (1,)
        ),
        array((5, 4)),
        array((5, 4)),
    )
    case("sum c64", lambda x: (x.sum(1), x.mean(), x.prod(0)), array((5, 4), "c64"), tolerance=4)
    case("cumsum c64", lambda x: jnp.cumsum(x, 1), array((5, 4), "c64"), tolerance=4)
    case("mean, var, std", lambda x: (x.mean(1), x.var(0), x.std()), array((5, 40)), tolerance=4)
    case(
        "logsumexp, softmax, log_softmax",
        lambda x: (jax.nn.logsumexp(x, 1), jax.nn.softmax(x), jax.nn.log_softmax(x, 0)),
        array((5, 40)),
        tolerance=4,
    )
    case("logcumsumexp", lambda x: lax.cumlogsumexp(x, 1), array((5, 40)), tolerance=4)
    case("cumsum of 1000", lambda x: (jnp.cumsum(x, 1), jnp.cumsum(x[:, ::-1], 0)), array((5, 1000)), tolerance=16)
    case(
        "cumsum, cummin of 20011",
        lambda x: (jnp.cumsum(x, 1), lax.cummin(x, 1, reverse=True)),
        array((2, 20011)),
        tolerance=16,
    )
    for dtype in "f16", "bf16":
        case("cummax of 300 %s" % dtype, lambda x: lax.cummax(x, 1), array((5, 300), dtype), exact=True)
    case(
        "cumprod, cummax of 300",
        lambda x: (jnp.cumprod(x, 1), lax.cummax(x, 1, reverse=True)),
        array((3, 300)),
        tolerance=16,
    )
    case("associative_scan of 9", lambda x: lax.associative_scan(jnp.add, x), array((9,)))
    case("associative_scan of 2 complex numbers", lambda x: lax.associative_scan(jnp.multiply, x), array((2,), "c64"))
    case(
        "associative_scan of 37, pairs",
        lambda x, y: lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (x, y)),
        array((37, 3), "f32", UNIT),
        array((37, 3)),
        tolerance=4,
    )
    case(
        "reduce_window by a function with a call",
        lambda x: lax.reduce_window(x, -9.0, lambda a, b: jnp.where(a > b, a, b), (1, 3), (1, 2), "SAME"),
        array((4, 9)),
        exact=True,
    )
    # Numbers of one sign, and the squares of a batch norm: each is off by less than a few roundings.
    for shape in (4608, 16), (20000, 300), (9, 25, 23, 5):
        case(
            "sums of %s rows" % " x ".join(map(str, shape[:-1])),
            lambda x: (x.sum(range(x.ndim - 1)), (x * x).sum(range(x.ndim - 1))),
            array(shape, "f32", "positive"),
        )
    case("sums of rows of 20000", lambda x: (x.sum(1), jnp.exp(-x).sum(1)), array((3, 20000), "f32", "positive"))
    case("norm, dot over all", lambda x: (jnp.linalg.norm(x), jnp.vdot(x, x)), array((300, 300)), tolerance=8)
    case("bincount, histogram", lambda x: jnp.bincount(x, length=9), array((40,), "i32", 9), exact=True)
    case("median, quantile", lambda x: (jnp.median(x, 1), jnp.quantile(x, 0.3)), array((5, 9)))


def products():
    for dtype in FLOATS + ("f64", "i8", "i32", "ui8", "c64"):
        many = 4 if dtype in ("f16", "bf16", "c64") else 2
        preferred = {"i8": np.int32, "ui8": np.int32}.get(dtype)
        dot = functools.partial(lax.dot_general, preferred_element_type=preferred)
        case(
            "dot_general %s" % dtype,
            lambda x, y, dot=dot: dot(x, y, (((1,), (0,)), ((), ()))),
            array((13, 30), dtype),
            array((30, 17), dtype),
            tolerance=many,
        )
        case(
            "dot_general %s, batches" % dtype,
            lambda x, y, dot=dot: dot(x, y, (((3, 1), (1, 3)), ((0,), (2,)))),
            array((3, 4, 5, 6), dtype),
            array((7, 6, 3, 4), dtype),
            tolerance=many,
        )
    case(
        "dot_general f32, matrix by vector, outer",
        lambda x, y: (x @ y, jnp.outer(y, y), y @ y),
        array((13, 30)),
        array((30,)),
        tolerance=2,
    )
    case(
        "dot_general bf16 in f32",
        lambda x, y: lax.dot(x, y, preferred_element_type=jnp.float32),
        array((13, 30), "bf16"),
        array((30, 17), "bf16"),
        tolerance=2,
    )
    case(
        "dot_general f32 by bf16",
        lambda x, y: lax.dot_general(x, y, (((1,), (0,)), ((), ())), preferred_element_type=jnp.float32),
        array((13, 30)),
        array((30, 17), "bf16"),
        tolerance=2,
    )
    case(
        "ragged_dot",
        lambda x, y, n: lax.ragged_dot(x, y, n),
        array((10, 6)),
        array((3, 6, 5)),
        np.array([3, 5, 2], np.int32),
        tolerance=2,
    )
    case("einsum", lambda x, y: jnp.einsum("bij,kjb->ki", x, y), array((3, 4, 5)), array((6, 5, 3)), tolerance=2)
    for dtype in FLOATS + ("i8", "c64"):
        preferred = {"i8": np.int32}.get(dtype)
        many = 4 if dtype in ("f16", "bf16", "c64") else 2

        def convolution(
            name,
            x,
            w,
            *arguments,
            many=many,
            dtype=dtype,
            preferred=preferred,
            numbers=("NCHW", "OIHW", "NCHW"),
            **options
        ):
            case(
                "convolution %s %s" % (dtype, name),
                lambda x, w: lax.conv_general_dilated(
                    x, w, *arguments, dimension_numbers=numbers, preferred_element_type=preferred, **options
                ),
                array(x, dtype),
                array(w, dtype),
                tolerance=many,
            )

        convolution("plain", (2, 4, 9, 9), (6, 4, 3, 3), (1, 1), "SAME")
        convolution("strided", (2, 4, 9, 9), (6, 4, 3, 3), (2, 3), "VALID")
        convolution("window dilated", (2, 4, 9, 9), (6, 4, 3, 3), (1, 1), "SAME", rhs_dilation=(2, 1))
        convolution("transposed", (2, 4, 9, 9), (6, 4, 3, 3), (1, 1), [(1, 2), (2, 1)], lhs_dilation=(2, 2))
        convolution("grouped", (2, 4, 9, 9), (6, 2, 3, 3), (1, 1), "SAME", feature_group_count=2)
        convolution("depthwise", (2, 4, 9, 9), (4, 1, 3, 3), (2, 2), "SAME", feature_group_count=4)
        convolution("depthwise, two of each", (2, 4, 9, 9), (8, 1, 3, 3), (1, 1), "SAME", feature_group_count=4)
        if dtype == "f32":
            convolution("batch grouped", (4, 3, 9, 9), (6, 3, 3, 3), (1, 1), "SAME", batch_group_count=2)
            convolution("1-D", (2, 4, 9), (6, 4, 3), (2,), "SAME", numbers=("NCH", "OIH", "NCH"))
            convolution("3-D", (2, 4, 5, 6, 7), (6, 4, 3, 2, 3), (1, 2, 1), "SAME", numbers=("NCDHW", "OIDHW", "NCDHW"))
            convolution("NHWC", (2, 9, 9, 4), (3, 3, 4, 6), (1, 1), "SAME", numbers=("NHWC", "HWIO", "NHWC"))
            convolution("negative padding", (2, 4, 9, 9), (6, 4, 3, 3), (1, 1), [(-1, 2), (0, -2)])
            convolution(
                "all at once",
                (2, 4, 9, 9),
                (6, 2, 3, 3),
                (2, 1),
                [(2, 1), (3, 3)],
                lhs_dilation=(2, 3),
                rhs_dilation=(2, 1),
                feature_group_count=2,
            )
            convolution("no spatial dimensions", (2, 4), (6, 4), (), "VALID", numbers=("NC", "OI", "NC"))
    case(
        "convolution kernel reversed (conv_transpose)",
        lambda x, w: lax.conv_transpose(
            x, w, (2, 2), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"), transpose_kernel=True
        ),
        array((2, 4, 9, 9)),
        array((4, 6, 3, 3)),
        tolerance=2,
    )
    case(
        "conv_general_dilated_patches",
        lambda x: lax.conv_general_dilated_patches(x, (3, 3), (2, 2), "SAME"),
        array((2, 4, 9, 9)),
    )
    case("jnp.convolve", lambda x, y: jnp.convolve(x, y), array((30,)), array((5,)))


def indexed():
    for dtype in ("f32", "bf16", "i32", "i1", "c64", "ui8"):
        x = array((9, 5), dtype)
        i = array((7,), "i32", 9)
        case("gather rows %s" % dtype, lambda x, i: x[i], x, i, exact=True)
        case("gather elements %s" % dtype, lambda x, i: x[i, i % 5], x, i, exact=True)
        case(
            "take_along_axis %s" % dtype,
            lambda x, i: jnp.take_along_axis(x, i, 1),
            x,
            array((9, 3), "i32", 5),
            exact=True,
        )
        for mode in ("clip", "fill"):
            if mode == "clip" or dtype != "i1":
                case(
                    "take %s %s, indices outside" % (mode, dtype),
                    lambda x, i, m=mode: jnp.take(x, i, 0, mode=m),
                    x,
                    np.array([0, 8, 9, -1, 100, -100], np.int32),
                    exact=True,
                )
        v = array((7, 5), dtype)
        case(
            "scatter set %s" % dtype,
            lambda x, i, v: x.at[i].set(v),
            x,
            np.array([3, 1, 8, 0, 100, -20, 5], np.int32),
            v,
            exact=True,
        )
        case("scatter set, one index %s" % dtype, lambda x, i, v: x.at[i].set(v), x, np.int32(3), v[0], exact=True)
        if dtype != "i1":
            case("scatter add %s" % dtype, lambda x, i, v: x.at[i].add(v), x, i, v)
            case("scatter add of elements %s" % dtype, lambda x, i, v: x.at[i, i % 5].add(v), x, i, v[:, 0])
        if dtype not in ("i1", "c64"):
            case("scatter multiply %s" % dtype, lambda x, i, v: x.at[i].multiply(v), x, i, v)
            case("scatter max, min %s" % dtype, lambda x, i, v: (x.at[i].max(v), x.at[i].min(v)), x, i, v)
    case("gather, dims in the middle", lambda x, i: x[:, i, :, i], array((3, 9, 4, 9)), array((7,), "i32", 9))
    case(
        "gather with batches (vmap)",
        lambda x, i: jax.vmap(lambda a, b: a[b])(x, i),
        array((3, 9, 4)),
        array((3, 7), "i32", 9),
    )
    case(
        "gather by dynamic slices (vmap)",
        lambda x, i: jax.vmap(lambda a, b: lax.dynamic_slice(a, (b, np.int32(1)), (2, 3)))(x, i),
        array((3, 9, 4)),
        array((3,), "i32", 9),
    )
    case("gather i64 indices", lambda x, i: x[i], array((9, 5)), array((7,), "i64", 9))
    case("gather, scatter, ui8 indices", lambda x, i: (x[i], x.at[i].add(1)), array((250, 5)), array((70,), "ui8", 250))
    case(
        "scatter with batches (vmap)",
        lambda x, i, v: jax.vmap(lambda a, b, c: a.at[b].add(c))(x, i, v),
        array((3, 9, 4)),
        array((3, 7), "i32", 9),
        array((3, 7, 4)),
    )
    case(
        "scatter with batches, dynamic_update_slice (vmap)",
        lambda x, i, v: jax.vmap(lambda a, b, c: lax.dynamic_update_slice(a, c, (b, np.int32(1))))(x, i, v),
        array((3, 9, 4)),
        array((3,), "i32", 9),
        array((3, 2, 3)),
    )
    case(
        "scatter of windows that overlap",
        lambda x, i, v: lax.scatter_add(x, i, v, lax.ScatterDimensionNumbers((1,), (), (0,))),
        array((12,)),
        np.array([[3], [4], [10], [-1], [9]], np.int32),
        array((5, 3)),
    )
    case(
        "scatter set, slices",
        lambda x, v: (x.at[2:7:2].set(v), x.at[:, 1].set(0), x.at[::-1].add(1)),
        array((9, 5)),
        array((3, 5)),
    )
    case(
        "scatter set, mask",
        lambda x: x.at[jnp.array([1, 3])].set(0).at[jnp.where(x > 1, size=3, fill_value=100)[0]].set(1),
        array((9,)),
    )
    case(
        "scatter unique",
        lambda x, i, v: x.at[i].set(v, unique_indices=True, indices_are_sorted=True),
        array((9, 5)),
        np.array([1, 4, 8], np.int32),
        array((3, 5)),
    )
    # Functions that JAX computes by one operation, and those that are calls of its own.
    for name, function in {
        "sin": jnp.sin,
        "where": lambda v: jnp.where(v > 0, v, -2 * v),
        "relu": jax.nn.relu,
        "clip": lambda v: jnp.clip(v, -0.5, 0.5),
        "softplus": jax.nn.softplus,
        "remainder": lambda v: v % 0.3,
        "sinc": jnp.sinc,
        "gelu": jax.nn.gelu,
        "gammainc": lambda v: jax.scipy.special.gammainc(2.0, jnp.abs(v)),
    }.items():
        case(
            "scatter apply, %s" % name,
            lambda x, i, function=function: x.at[i].apply(function),
            array((9, 5)),
            np.array([1, 4, -1, 100], np.int32),
            tolerance=4,
        )
    case("scatter without indices", lambda x, v: x.at[jnp.zeros((0,), int)].add(v), array((9, 5)), array((0, 5)))
    case(
        "segment_sum, segment_max",
        lambda x, i: (jax.ops.segment_sum(x, i, 4), jax.ops.segment_max(x, i, 4)),
        array((9, 5)),
        array((9,), "i32", 4),
    )
    case("one_hot", lambda i: jax.nn.one_hot(i, 9), array((7,), "i32", 9))
    # Masks that are constants: a few numbers, which the program lists, and more.
    for shape in (9, 5), (16, 8), (33, 13), (64, 64):
        mask = np.tril(np.ones(shape, bool))
        case(
            "where, a mask of %d x %d" % shape,
            lambda x, mask=mask: (jnp.where(mask, x, -1), x[:, None] * jnp.asarray(mask)),
            array(shape),
            exact=True,
        )
    for dtype in ("f32", "bf16", "f16", "i32", "ui8", "i1"):
        case(
            "sort %s" % dtype,
            lambda x: (jnp.sort(x, 0), jnp.sort(x, 1, descending=True)),
            array((4, 33), dtype),
            exact=True,
        )
        case("argsort %s" % dtype, lambda x: jnp.argsort(x, 1), array((4, 33), dtype), exact=True)
        if dtype != "i1":
            case("top_k %s" % dtype, lambda x: lax.top_k(x, 5), array((4, 33), dtype), exact=True)
    case(
        "sort of NaN and zeros",
        lambda x: (jnp.sort(x), jnp.argsort(x), lax.top_k(x, 6)),
        array((23,), "f32", "special"),
        exact=True,
    )
    case("top_k of 1 and of all", lambda x: (lax.top_k(x, 1), lax.top_k(x, 33)), array((4, 33)), exact=True)
    case("top_k of few different", lambda x: lax.top_k(x, 9), array((3, 200), "i32", 4), exact=True)
    case("top_k of 4000", lambda x: lax.top_k(x, 32), array((2, 4000)), exact=True)
    case(
        "sort by two keys, the first",
        lambda x, y: [each[:4] for each in lax.sort((x, y, y + 1), num_keys=2)],
        array((90,), "i32", 4),
        array((90,)),
    )
    case("sort, the first rows", lambda x: (jnp.sort(x, 0)[:3], jnp.argsort(x, 0)[:3]), array((50, 4)), exact=True)
    case("sort, the first and all", lambda x: (jnp.sort(x)[:3], jnp.sort(x)), array((50,)), exact=True)
    case(
        "sort by two keys",
        lambda x, y, z: lax.sort((x, y, z), num_keys=2),
        array((33,), "i32", 4),
        array((33,)),
        array((33,)),
    )
    case(
        "sort of 1, 2 and no elements",
        lambda x: (jnp.sort(x[:, :1]), jnp.sort(x[:, :2]), jnp.sort(x[:, :0])),
        array((4, 5)),
    )
    case("sort of 1000", lambda x: (jnp.sort(x), jnp.argsort(x)), array((1000,)), exact=True)
    case(
        "searchsorted",
        lambda x, y: (jnp.searchsorted(jnp.sort(x), y), jnp.digitize(y, jnp.sort(x))),
        array((33,)),
        array((9,)),
        exact=True,
    )
    case("approx_max_k", lambda x: lax.approx_max_k(x, 5), array((4, 33)), exact=True)
    case("unique with a size", lambda x: jnp.unique(x, size=6, fill_value=0), array((20,), "i32", 5), exact=True)
    case("nonzero with a size", lambda x: jnp.nonzero(x > 0, size=12, fill_value=-1), array((20,)), exact=True)
    case(
        "clip, where, piecewise",
        lambda x: (jnp.clip(x, -1, 1), jnp.piecewise(x, [x < 0, x > 1], [0.0, lambda a: a * 2, 7.0])),
        array((20,)),
    )
    case(
        "interp",
        lambda x: jnp.interp(x, jnp.linspace(-1, 1, 9), jnp.linspace(-1, 1, 9) ** 2),
        array((20,)),
        tolerance=4,
    )


def control():
    case(
        "cond",
        lambda p, x: lax.cond(p, lambda x: jnp.sin(x), lambda x: x @ x, x),
        np.bool_(True),
        array((5, 5)),
        tolerance=2,
    )
    case("switch", lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.tanh], x), np.int32(7), array((5, 5)))
    case(
        "while",
        lambda x: lax.while_loop(lambda s: jnp.sum(s[0]) < 100, lambda s: (s[0] * 2, s[1] + 1), (jnp.abs(x), 0)),
        array((5,)),
    )
    case(
        "fori",
        lambda x, n: lax.fori_loop(0, n, lambda i, a: a + jnp.sin(a) * i, x),
        array((5,)),
        np.int32(6),
        tolerance=4,
    )
    case(
        "scan",
        lambda x, y: lax.scan(lambda c, v: (c * 0.5 + v, c.sum()), x, y),
        array((5,)),
        array((8, 5)),
        tolerance=4,
    )
    case(
        "scan in reverse, unrolled",
        lambda x, y: lax.scan(lambda c, v: (c * 0.5 + v, c.sum()), x, y, reverse=True, unroll=3),
        array((5,)),
        array((8, 5)),
        tolerance=4,
    )
    case(
        "scan in a scan",
        lambda x, y: lax.scan(lambda c, v: lax.scan(lambda d, w: (d + w, d), c, v), x, y),
        np.float32(2),
        array((4, 5)),
        tolerance=4,
    )
    case(
        "while of vmap",
        lambda x: jax.vmap(lambda a: lax.while_loop(lambda s: s < 10, lambda s: s * 2 + 1, a))(x),
        array((5,), "f32", "positive"),
    )
    case(
        "cond of vmap",
        lambda p, x: jax.vmap(lambda p, x: lax.cond(p, jnp.sin, jnp.cos, x))(p, x),
        array((5,), "i1"),
        array((5, 3)),
    )
    case(
        "cond without arguments, in a loop",
        lambda x: lax.fori_loop(0, 5, lambda i, a: lax.cond(i % 2 == 0, lambda: a + 1, lambda: a * 2), x),
        array((5,)),
    )
    case("map", lambda x: lax.map(jnp.linalg.norm, x), array((5, 7)), tolerance=2)
    case(
        "checkpoint (remat), its gradient",
        jax.grad(lambda x: jax.checkpoint(lambda a: jnp.sin(jnp.sin(a)))(x).sum()),
        array((5, 7)),
    )
    case("custom_jvp, its gradient", jax.grad(lambda x: jax.nn.relu6(x).sum()), array((5, 7)))
    case("closed_call, named_call", lambda x: jax.named_call(jnp.sin, name="f")(x), array((5, 7)))
    case("optimization_barrier", lambda x: lax.optimization_barrier(x + 1), array((5, 7)))
    case("stop_gradient", lambda x: lax.stop_gradient(x + 1), array((5, 7)))
    case("no argument is used", lambda x, y: y, array((5, 7)), array((3,)))
    case("one argument twice as result", lambda x: (x, x, x + 1), array((5, 7)))


def randoms():
    key = np.array([17, 42], np.uint32)
    wrap = lambda f, impl="threefry2x32": lambda k: f(jax.random.wrap_key_data(k, impl=impl))
    for name, function in {
        "bits": lambda k: jax.random.bits(k, (3, 5)),
        "bits of 8": lambda k: jax.random.bits(k, (7,), np.uint8),
        "uniform": lambda k: jax.random.uniform(k, (3, 5)),
        "uniform bf16": lambda k: jax.random.uniform(k, (3, 5), jnp.bfloat16),
        "normal": lambda k: jax.random.normal(k, (3, 5)),
        "normal bf16": lambda k: jax.random.normal(k, (3, 5), jnp.bfloat16),
        "truncated_normal": lambda k: jax.random.truncated_normal(k, -2.0, 2.0, (3, 5)),
        "randint": lambda k: jax.random.randint(k, (3, 5), -3, 9),
        "bernoulli": lambda k: jax.random.bernoulli(k, 0.3, (30,)),
        "categorical": lambda k: jax.random.categorical(k, jnp.arange(5.0) / 3, shape=(7,)),
        "permutation": lambda k: jax.random.permutation(k, 20),
        "choice": lambda k: jax.random.choice(k, 20, (5,), replace=False),
        "exponential": lambda k: jax.random.exponential(k, (5,)),
        "gumbel": lambda k: jax.random.gumbel(k, (5,)),
        "laplace": lambda k: jax.random.laplace(k, (5,)),
        "gamma": lambda k: jax.random.gamma(k, 2.5, (5,)),
        "poisson": lambda k: jax.random.poisson(k, 3.5, (5,)),
        "split, fold_in": lambda k: jax.random.key_data(jax.random.fold_in(jax.random.split(k)[1], 7)),
        "orthogonal": lambda k: jax.random.orthogonal(k, 4),
    }.items():
        case("random.%s" % name, wrap(function), key, exact=True, tolerance=16)
    case(
        "random.normal, rbg",
        wrap(lambda k: jax.random.normal(k, (3, 5)), "rbg"),
        np.array([17, 42, 3, 4], np.uint32),
        exact=True,
        tolerance=16,
    )
    case(
        "rng_bit_generator, three_fry",
        lambda k: lax.rng_bit_generator(k, (3, 5), algorithm=lax.RandomAlgorithm.RNG_THREE_FRY),
        np.array([17, 42, 3, 4], np.uint32),
        exact=True,
    )
    case(
        "rng_bit_generator, philox",
        lambda k: lax.rng_bit_generator(k, (3, 5), algorithm=lax.RandomAlgorithm.RNG_PHILOX),
        np.array([17, 42, 3, 4], np.uint32),
        exact=True,
    )
    case("rng_uniform", lambda a, b: lax.rng_uniform(a, b, (3,)) * 0, np.float32(0), np.float32(1))
    case(
        "dropout",
        wrap(lambda k: jnp.where(jax.random.bernoulli(k, 0.8, (4, 9)), jnp.arange(9.0) / 0.8, 0)),
        key,
        exact=True,
    )


def decompositions():
    x = array((5, 5))
    spd = (x @ x.T + 5 * np.eye(5)).astype("f")
    case("fft", lambda x: jnp.fft.fft(x), array((3, 12), "c64"), tolerance=8)
    case("ifft", lambda x: jnp.fft.ifft(x), array((3, 7), "c64"), tolerance=8)
    case("rfft", lambda x: jnp.fft.rfft(x), array((3, 12)), tolerance=8)
    case("irfft", lambda x: jnp.fft.irfft(x), array((3, 7), "c64"), tolerance=8)
    case("fft2", lambda x: jnp.fft.fft2(x), array((3, 4, 6), "c64"), tolerance=8)
    case("cholesky", lambda x: jnp.linalg.cholesky(x), spd, tolerance=8)
    case("cholesky gradient", jax.grad(lambda x: jnp.log(jnp.diagonal(jnp.linalg.cholesky(x))).sum()), spd, tolerance=8)
    case(
        "triangular_solve",
        lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True),
        np.tril(spd),
        array((5, 3)),
        tolerance=8,
    )
    case(
        "triangular_solve, right, transposed, unit",
        lambda a, b: lax.linalg.triangular_solve(
            a, b, left_side=False, lower=False, transpose_a=True, unit_diagonal=True
        ),
        np.triu(spd) / 9,
        array((3, 5)),
        tolerance=8,
    )
    case(
        "triangular_solve, batches",
        lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True),
        np.stack([np.tril(spd)] * 2),
        array((2, 5, 3)),
        tolerance=8,
    )
    for name, function in {
        "inv": jnp.linalg.inv,
        "det": jnp.linalg.det,
        "slogdet": jnp.linalg.slogdet,
        "qr": lambda a: jnp.abs(jnp.linalg.qr(a)[1]),
        "eigh": lambda a: jnp.linalg.eigvalsh(a),
        "eigh, vectors": lambda a: jnp.abs(jnp.linalg.eigh(a)[1]),
        "svd": lambda a: jnp.linalg.svd(a, compute_uv=False),
        "svd, vectors": lambda a: (lambda u, s, v: (u * s) @ v)(*jnp.linalg.svd(a + jnp.triu(a))),
        "pinv": jnp.linalg.pinv,
        "matrix_rank": jnp.linalg.matrix_rank,
        "norm, ord=2": lambda a: jnp.linalg.norm(a, ord=2),
        "cond": jnp.linalg.cond,
        "eigh and cholesky": lambda a: jnp.linalg.cholesky(a) + jnp.linalg.eigvalsh(a),
        "grad of eigh": jax.grad(lambda a: jnp.linalg.eigvalsh(a)[-1]),
        "expm": lambda a: jax.scipy.linalg.expm(a / 9),
        "matrix_power": lambda a: jnp.linalg.matrix_power(a / 9, 3),
        "lu": lambda a: jax.scipy.linalg.lu(a)[1],
    }.items():
        case("linalg.%s" % name, function, spd, tolerance=32)
    case("linalg.qr of a batch", lambda a: jnp.abs(jnp.linalg.qr(a)[1]), array((2, 5, 3)), tolerance=32)
    case("linalg.qr of fewer rows", lambda a: jnp.abs(jnp.linalg.qr(a)[1]), array((3, 5)), tolerance=32)
    case("linalg.qr, complete", lambda a: jnp.abs(jnp.linalg.qr(a, mode="complete")[1]), array((5, 3)), tolerance=32)
    case("linalg.svd of a batch", lambda a: jnp.linalg.svd(a, compute_uv=False), array((2, 3, 5)), tolerance=32)
    case("linalg.solve", jnp.linalg.solve, spd, array((5,)), tolerance=32)
    case("linalg.lstsq", lambda a, b: jnp.linalg.lstsq(a, b)[0], spd, array((5,)), tolerance=32)
    case("linalg.eig", lambda a: jnp.abs(jnp.linalg.eigvals(a)).sum(), spd, tolerance=32)
    case("schur", lambda a: jnp.abs(jax.scipy.linalg.schur(a)[0]).sum(), spd, tolerance=32)
    case("hessenberg", jax.scipy.linalg.hessenberg, spd, tolerance=32)
    case(
        "custom_call of another library",
        lambda x: jax.ffi.ffi_call("unknown_target", jax.ShapeDtypeStruct((5,), np.float32))(x),
        array((5,)),
    )
    case(
        "pure_callback",
        lambda x: jax.pure_callback(lambda a: np.asarray(a) + 1, jax.ShapeDtypeStruct((5,), np.float32), x),
        array((5,)),
    )
    case("debug.print", lambda x: (jax.debug.print("{}", x), x + 1)[1], array((5,)))
    case(
        "psum of one device (shard_map)",
        lambda x: jax.shard_map(
            lambda a: lax.psum(a, "i"), mesh=jax.make_mesh((1,), ("i",)), out_specs=jax.P(), check_vma=False
        )(x),
        array((5,)),
    )
    for name, f in {
        "all_gather": lambda a: lax.all_gather(a, "i"),
        "all_to_all": lambda a: lax.all_to_all(a.reshape(1, 5), "i", 0, 0),
        "ppermute": lambda a: lax.ppermute(a, "i", [(0, 0)]),
        "psum_scatter": lambda a: lax.psum_scatter(a.reshape(1, 5), "i"),
        "axis_index": lambda a: a + lax.axis_index("i"),
    }.items():
        case(
            "%s of one device (shard_map)" % name,
            lambda x, f=f: jax.shard_map(f, mesh=jax.make_mesh((1,), ("i",)), out_specs=jax.P(), check_vma=False)(x),
            array((5,)),
        )


def networks():
    case(
        "max pool, its gradient (select_and_scatter)",
        jax.grad(lambda x: (lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID") ** 2).sum()),
        array((2, 3, 8, 8)),
    )
    case(
        "max pool with overlaps, its gradient",
        jax.grad(lambda x: (lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2), "SAME") ** 2).sum()),
        array((2, 3, 9, 9)),
    )
    case(
        "average pool and its gradient",
        jax.value_and_grad(
            lambda x: (lax.reduce_window(x, 0.0, lax.add, (1, 1, 3, 3), (1, 1, 2, 2), "SAME") ** 2).sum()
        ),
        array((2, 3, 9, 9)),
        tolerance=4,
    )
    case(
        "mean squares of a layer, its gradient",
        jax.grad(lambda w, x: jnp.mean(jnp.tanh(x @ w) ** 2), argnums=(0, 1)),
        array((8, 5)),
        array((6, 8)),
        tolerance=4,
    )
    case(
        "cross entropy of a classifier, its gradient",
        jax.value_and_grad(
            lambda w, x, y: -jnp.take_along_axis(jax.nn.log_softmax(jax.nn.relu(x @ w)), y[:, None], 1).mean()
        ),
        array((8, 5)),
        array((6, 8)),
        array((6,), "i32", 5),
        tolerance=4,
    )
    case("embedding, its gradient", jax.grad(lambda t, i: (t[i] ** 2).sum()), array((11, 4)), array((7,), "i32", 11))
    case(
        "convolution, its gradient",
        jax.grad(lambda w, x: (lax.conv(x, w, (2, 2), "SAME") ** 2).sum(), argnums=(0, 1)),
        array((6, 4, 3, 3)),
        array((2, 4, 9, 9)),
        tolerance=8,
    )
    case(
        "grouped convolution, its gradient",
        jax.grad(
            lambda w, x: (lax.conv_general_dilated(x, w, (2, 2), "SAME", feature_group_count=2) ** 2).sum(),
            argnums=(0, 1),
        ),
        array((6, 2, 3, 3)),
        array((2, 4, 9, 9)),
        tolerance=8,
    )
    case(
        "depthwise convolution, its gradient",
        jax.grad(
            lambda w, x: (lax.conv_general_dilated(x, w, (1, 1), "SAME", feature_group_count=4) ** 2).sum(),
            argnums=(0, 1),
        ),
        array((4, 1, 3, 3)),
        array((2, 4, 9, 9)),
        tolerance=8,
    )

    def normalize(x, s, b):
        return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * s + b

    case(
        "layer norm, its gradient",
        jax.grad(lambda x, s, b: (normalize(x, s, b) ** 3).sum(), argnums=(0, 1, 2)),
        array((6, 20)),
        array((20,)),
        array((20,)),
        tolerance=32,
    )
    case(
        "batch norm in training, its gradient",
        jax.grad(
            lambda x, s: (
                ((x - x.mean((0, 2, 3), keepdims=True)) * lax.rsqrt(x.var((0, 2, 3), keepdims=True) + 1e-5) * s) ** 3
            ).sum(),
            argnums=(0, 1),
        ),
        array((3, 4, 5, 5)),
        array((1, 4, 1, 1)),
        tolerance=32,
    )
    case(
        "batch norm of 4608 rows, its gradient",
        lambda x, s: (
            lambda norm: (norm(x), jax.grad(lambda x: (norm(x) ** 3 * s).sum())(x))
        )(lambda x: (x - x.mean((0, 1, 2))) * lax.rsqrt((x * x).mean((0, 1, 2)) - x.mean((0, 1, 2)) ** 2)),
        array((8, 24, 24, 16), "f32", "positive"),
        array((16,)),
        tolerance=4,
    )
    case(
        "attention and its gradient",
        jax.value_and_grad(lambda q, k, v: (jax.nn.softmax(q @ k.T) @ v).sum(), argnums=(0, 1, 2)),
        array((6, 4)),
        array((6, 4)),
        array((6, 4)),
        tolerance=8,
    )
    case(
        "dot_product_attention, causal",
        lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True),
        array((2, 6, 3, 4)),
        array((2, 6, 3, 4)),
        array((2, 6, 3, 4)),
        tolerance=4,
    )
    case(
        "LSTM over time, its gradient",
        jax.grad(
            lambda w, xs: (lax.scan(lambda c, x: (jnp.tanh(c @ w + x), None), jnp.zeros((2, 4)), xs)[0] ** 2).sum()
        ),
        array((4, 4)),
        array((6, 2, 4)),
        tolerance=8,
    )
    case(
        "Adam's step",
        lambda w, g, m, v: (lambda m, v: (w - 1e-3 * m / (jnp.sqrt(v) + 1e-8), m, v))(
            0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        ),
        *[array((8, 5)) for _ in range(3)],
        array((8, 5), "f32", "positive"),
        tolerance=4
    )
    case(
        "activations",
        lambda x: [
            f(x)
            for f in (
                jax.nn.relu,
                jax.nn.gelu,
                jax.nn.silu,
                jax.nn.elu,
                jax.nn.selu,
                jax.nn.softplus,
                jax.nn.leaky_relu,
                jax.nn.hard_swish,
                jax.nn.mish,
                jax.nn.glu,
                jax.nn.celu,
                jax.nn.soft_sign,
            )
        ],
        array((6, 8)),
        tolerance=4,
    )
    case(
        "activations, their gradients",
        jax.grad(
            lambda x: sum(
                f(x).sum() for f in (jax.nn.relu, jax.nn.gelu, jax.nn.silu, jax.nn.elu, jax.nn.softplus, jax.nn.mish)
            )
        ),
        array((6, 8)),
        tolerance=8,
    )
    case("hessian", jax.hessian(lambda x: jnp.sum(jnp.sin(x) * x[::-1])), array((5,)), tolerance=4)
    case(
        "jacfwd, jacrev", lambda x: (jax.jacfwd(jnp.cumsum)(x), jax.jacrev(lambda a: a**2)(x)), array((5,)), tolerance=4
    )
    case(
        "vmap of a product",
        lambda x, y: jax.vmap(jax.vmap(jnp.dot, (None, 1)), (0, None))(x, y),
        array((5, 4)),
        array((4, 6)),
        tolerance=2,
    )
    case(
        "rotary positions",
        lambda x: jnp.concatenate(
            [
                x[..., :4] * jnp.cos(jnp.arange(6.0)[:, None]) - x[..., 4:] * jnp.sin(jnp.arange(6.0)[:, None]),
                x[..., 4:] * jnp.cos(jnp.arange(6.0)[:, None]) + x[..., :4] * jnp.sin(jnp.arange(6.0)[:, None]),
            ],
            -1,
        ),
        array((6, 8)),
        tolerance=4,
    )
    case(
        "key and value cache",
        lambda cache, new, at: (lambda c: jax.nn.softmax(jnp.where(jnp.arange(16) <= at, c @ new[0], -jnp.inf)))(
            lax.dynamic_update_slice(cache, new, (at, np.int32(0)))
        ),
        array((16, 4)),
        array((1, 4)),
        np.int32(5),
        tolerance=8,
    )
    case(
        "sampling: top_k and softmax",
        lambda x: (lambda v, i: (jax.nn.softmax(v), i))(*lax.top_k(x, 5)),
        array((3, 50)),
        tolerance=4,
    )
    case(
        "image.resize",
        lambda x: (jax.image.resize(x, (2, 6, 10, 3), "bilinear"), jax.image.resize(x, (2, 10, 10, 3), "nearest")),
        array((2, 5, 5, 3)),
        tolerance=8,
    )
    case(
        "scaled int8 product",
        lambda x, w, s: lax.dot(x, w, preferred_element_type=jnp.int32).astype(jnp.float32) * s,
        array((6, 8), "i8"),
        array((8, 5), "i8"),
        array((5,)),
    )
    case("f8 conversion", lambda x: x.astype(jnp.float8_e4m3fn).astype(jnp.float32), array((9,)), exact=True)
    case("int4 conversion", lambda x: x.astype(jnp.int4).astype(jnp.float32), array((9,)), exact=True)
    case("sizes left open: elementwise", lambda x: jnp.sin(x) * 2, array((5, 4)), dynamic="n, 4")
    case("sizes left open: product", lambda x, w: x @ w, array((5, 4)), array((4, 3)), dynamic="n, 4;4, 3", tolerance=2)
    case("sizes left open: softmax", lambda x: jax.nn.softmax(x), array((5, 4)), dynamic="n, m", tolerance=4)
    case(
        "sizes left open: concatenate, reshape",
        lambda x: jnp.concatenate([x, x]).reshape(-1),
        array((5, 4)),
        dynamic="n, 4",
    )


for group in (
    elementwise,
    types,
    arranged,
    shapes,
    reductions,
    products,
    indexed,
    control,
    randoms,
    decompositions,
    networks,
):
    group()
    for each in CASES:
        each.group = each.group or group.__name__
