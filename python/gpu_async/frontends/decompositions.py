# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations that torch-mlir knows and does not lower, or not as exactly as PyTorch, by others that it lowers."""

import math
import re
import struct

from torch_mlir import ir

from . import places


class Builder:
    """Makes operations of the torch dialect in front of one."""

    def __init__(self, op):
        self.op = op

    def make(self, name, operands, type, **attributes):
        with self.op.location, ir.InsertionPoint(self.op):
            return ir.Operation.create(
                "torch." + name, results=[ir.Type.parse(type)], operands=operands, attributes=attributes
            ).result

    def constant(self, value):
        if value is None:
            return self.make("constant.none", [], "!torch.none")
        if isinstance(value, bool):
            return self.make("constant.bool", [], "!torch.bool", value=ir.BoolAttr.get(value))
        if isinstance(value, int):
            return self.make(
                "constant.int", [], "!torch.int", value=ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
            )
        if isinstance(value, str):
            return self.make("constant.str", [], "!torch.str", value=ir.StringAttr.get(value))
        if isinstance(value, float):
            return self.make("constant.float", [], "!torch.float", value=ir.FloatAttr.get_f64(value))
        return self.make("prim.ListConstruct", [self.constant(each) for each in value], "!torch.list<int>")

    def __call__(self, name, shape, element, *operands):
        """An operation on arrays and constants whose result has this shape and type."""
        values = [each if isinstance(each, ir.Value) else self.constant(each) for each in operands]
        return self.make("aten." + name, values, vtensor(shape, element))

    def literal(self, values, shape, element):
        """An array of f32 or si64."""
        data = struct.pack("<%d%s" % (len(values), {"f32": "f", "si64": "q"}[element]), *values).hex()
        text = 'dense<"0x%s"> : tensor<%sx%s>' % (data.upper(), "x".join(map(str, shape)), element)
        return self.make("vtensor.literal", [], vtensor(shape, element), value=ir.Attribute.parse(text))


def vtensor(shape, element):
    return "!torch.vtensor<[%s],%s>" % (",".join(map(str, shape)), element)


def array(value):
    """The sizes and element type of an array, where the program says all of them; else nothing."""
    match = re.fullmatch(r"!torch.vtensor<\[([\d,]*)\],(.*)>", str(value.type))
    return match and ([int(each) for each in match[1].split(",") if each], match[2])


def known(value):
    """The number, or the numbers, of a constant; None if it is none."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return None
    name = owner.name
    if name == "torch.prim.ListConstruct":
        return [known(each) for each in owner.operands]
    if name in ("torch.constant.int", "torch.constant.bool"):
        attribute = owner.attributes["value"]
        return bool(ir.BoolAttr(attribute).value) if name.endswith("bool") else ir.IntegerAttr(attribute).value
    return None


def refused(op, why):
    """A ValueError that names the operation and its line."""
    return ValueError("%s%s has no lowering %s" % (op.name, places.describe(op.location), why))


class Unknown(Exception):
    """What the program does not say is needed."""


def constant(value):
    """What a constant is: a number, a text, None, or a list. Unknown if it is none."""
    owner = value.owner
    name = "" if isinstance(owner, ir.Block) else owner.name
    if name == "torch.constant.none":
        return None
    if name == "torch.prim.ListConstruct":
        return [constant(each) for each in owner.operands]
    if name == "torch.constant.float":
        return ir.FloatAttr(owner.attributes["value"]).value
    if name == "torch.constant.str":
        return ir.StringAttr(owner.attributes["value"]).value
    number = known(value)
    if number is None:
        raise Unknown
    return number


# What torch calls the types in arguments.
KINDS = {
    "ui8": 0, "si8": 1, "si16": 2, "si32": 3, "si64": 4, "f16": 5, "f32": 6, "f64": 7, "i1": 11, "bf16": 15
}  # fmt: skip


def is_float(element):
    return element in ("f16", "bf16", "f32", "f64")


class Arithmetic:
    """Operations on arrays and numbers, all of a shape and type."""

    def __init__(self, make, shape, element):
        self.make, self.shape, self.element = make, shape, element

    def __call__(self, name, *operands):
        return self.make(name, self.shape, self.element, *operands)

    def test(self, name, *operands):
        """An array of booleans."""
        return self.make(name, self.shape, "i1", *operands)

    def array(self, value):
        """An operand of the op in this shape and type: an array, or a number."""
        given = array(value)
        if given is None:
            number = constant(value)
            number = float(number) if is_float(self.element) else int(number)
            return self("full", self.shape, number, KINDS[self.element], None, None, False)
        shape, element = given
        if element != self.element:
            value = self.make("to.dtype", shape, self.element, value, KINDS[self.element], False, False, None)
        return value if shape == self.shape else self("broadcast_to", value, self.shape)


def by_arithmetic(function):
    """A decomposition by `function` of arithmetic and two operands, in the shape and type of the result. Integers of 8
    and 16 bits, whose divisions torch-mlir does not lower, are computed as such of 32."""

    def decomposition(op, make):
        shape, element = array(op.results[0])
        if element not in KINDS or element == "i1":
            return None
        compute = Arithmetic(make, shape, "si32" if element in ("si8", "si16") else element)
        made = function(compute, *map(compute.array, list(op.operands)[:2]))
        return [Arithmetic(make, shape, element).array(made)]

    return decomposition


def rest_of(compute, x, y):
    """What a division leaves, with the sign of x. torch-mlir computes that of floats of a rounded quotient."""
    if not is_float(compute.element):
        quotient = compute("div.Tensor_mode", x, y, "trunc")
        return compute("sub.Tensor", x, compute("mul.Tensor", quotient, y), 1)
    rest = compute("remainder.Tensor", compute("abs", x), compute("abs", y))
    return compute("where.self", compute.test("lt.Scalar", x, 0), compute("neg", rest), rest)


@by_arithmetic
def divide_down(compute, x, y):
    """A quotient rounded down: torch-mlir computes that of integers in f64, and that of floats rounded first."""
    isFloat = is_float(compute.element)
    rest = rest_of(compute, x, y)
    if isFloat:
        quotient = compute("div.Tensor", compute("sub.Tensor", x, rest, 1), y)
    else:
        quotient = compute("div.Tensor_mode", x, y, "trunc")
    isBelow = compute.test("ne.Tensor", compute.test("lt.Scalar", rest, 0), compute.test("lt.Scalar", y, 0))
    isBelow = compute.test("logical_and", compute.test("ne.Scalar", rest, 0), isBelow)
    quotient = compute("where.self", isBelow, compute("sub.Scalar", quotient, 1, 1), quotient)
    if not isFloat:
        return quotient
    # It is a whole number, but for its rounding.
    down = compute("floor", quotient)
    isUp = compute.test("gt.Scalar", compute("sub.Tensor", quotient, down, 1), 0.5)
    down = compute("where.self", isUp, compute("add.Scalar", down, 1, 1), down)
    return compute("where.self", compute.test("eq.Scalar", y, 0), compute("div.Tensor", x, y), down)


def divide_by_mode(op, make):
    return divide_down(op, make) if constant(op.operands[2]) == "floor" else None


def neg(op, make):
    """torch-mlir takes integers for f32 here."""
    shape, element = array(op.results[0])
    if is_float(element) or element not in KINDS:
        return None
    compute = Arithmetic(make, shape, "si64" if element == "si64" else "si32")
    return [Arithmetic(make, shape, element).array(compute("rsub.Scalar", compute.array(op.operands[0]), 0, 1))]


def reciprocal(op, make):
    """torch-mlir ends the program at a zero."""
    shape, element = array(op.results[0])
    if not is_float(element):
        return None
    compute = Arithmetic(make, shape, element)
    one = compute("full", shape, 1.0, KINDS[element], None, None, False)
    return [compute("div.Tensor", one, compute.array(op.operands[0]))]


def adaptive_max_pool(op, make):
    """torch-mlir ends the process where windows differ in size."""
    given, wanted = array(op.operands[0])[0], array(op.results[0])[0]
    if any(size and other % size for other, size in zip(given[::-1], wanted[::-1])):
        raise refused(op, "where windows differ in size; give sizes that divide the array's")
    return None


def sort_stable(op, make):
    """Each sort here is stable."""
    x, _, dim, isDescending = op.operands
    with op.location, ir.InsertionPoint(op):
        return ir.Operation.create(
            "torch.aten.sort", results=[each.type for each in op.results], operands=[x, dim, isDescending]
        ).results


def gelu(op, make):
    """By a tanh, where torch-mlir has 0.797724 for the square root of 2 / pi."""
    owner = op.operands[1].owner
    if (
        isinstance(owner, ir.Block)
        or owner.name != "torch.constant.str"
        or ir.StringAttr(owner.attributes["value"]).value != "tanh"
    ):
        return None
    x = op.operands[0]
    shape, element = array(x)
    square = make("mul.Tensor", shape, element, x, x)
    bent = make("add.Scalar", shape, element, make("mul.Scalar", shape, element, square, 0.044715), 1.0, 1)
    inner = make("mul.Scalar", shape, element, make("mul.Tensor", shape, element, x, bent), math.sqrt(2 / math.pi))
    chance = make("add.Scalar", shape, element, make("tanh", shape, element, inner), 1.0, 1)
    return [make("mul.Tensor", shape, element, make("mul.Scalar", shape, element, x, 0.5), chance)]


def isfinite(op, make):
    shape, element = array(op.operands[0])
    return [make("lt.Scalar", shape, "i1", make("abs", shape, element, op.operands[0]), math.inf)]


def prelu(op, make):
    x, weight = op.operands
    (shape, element), (count, _) = array(x), array(weight)
    if count != [1]:
        count = [1] + count + [1] * (len(shape) - 2)
        weight = make("view", count, element, weight, count)
    return [
        make(
            "where.self",
            shape,
            element,
            make("gt.Scalar", shape, "i1", x, 0),
            x,
            make("mul.Tensor", shape, element, weight, x),
        )
    ]


def logsumexp(op, make):
    x, dims = op.operands[:2]
    (shape, element), (result, _) = array(x), array(op.results[0])
    numbers = known(dims)
    if numbers is None or None in numbers:
        return None
    reduced = [1 if dim in [each % len(shape) for each in numbers] else size for dim, size in enumerate(shape)]
    most = make("amax", reduced, element, x, dims, True)
    # Where that is infinite it is the sum, too.
    most = make(
        "where.self",
        reduced,
        element,
        make("lt.Scalar", reduced, "i1", make("abs", reduced, element, most), math.inf),
        most,
        make(
            "mul.Scalar", reduced, element, make("zeros_like", reduced, element, most, None, None, None, None, None), 1
        ),
    )
    total = make(
        "sum.dim_IntList",
        reduced,
        element,
        make("exp", shape, element, make("sub.Tensor", shape, element, x, most, 1)),
        dims,
        True,
        None,
    )
    total = make("add.Tensor", reduced, element, make("log", reduced, element, total), most, 1)
    return [total if result == reduced else make("view", result, element, total, result)]


def embedding_dense_backward(op, make):
    gradient, indices = op.operands[:2]
    (shape, element), (places, index) = array(gradient), array(indices)
    count, padding, isScaled = map(known, list(op.operands)[2:5])
    if count is None or padding is None or isScaled is not False:
        return None
    width, rows = shape[-1], math.prod(places)
    flat, at = make("view", [rows, width], element, gradient, [rows, width]), make(
        "view", [rows], index, indices, [rows]
    )
    if padding >= 0:
        isKept = make("view", [rows, 1], "i1", make("ne.Scalar", [rows], "i1", at, padding), [rows, 1])
        flat = make(
            "where.self",
            [rows, width],
            element,
            isKept,
            flat,
            make("zeros_like", [rows, width], element, flat, None, None, None, None, None),
        )
    zeros = make("zeros", [count, width], element, [count, width], KINDS[element], None, None, False)
    list_of = make.make("prim.ListConstruct", [at], "!torch.list<vtensor>")
    return [make("index_put", [count, width], element, zeros, list_of, flat, True)]


def native_layer_norm_backward(op, make):
    gradient, x, dims, mean, deviation, weight = list(op.operands)[:6]
    shape, element = array(x)
    inner = known(dims)
    if inner is None or None in inner or array(weight) is None:
        return None
    first = len(shape) - len(inner)
    outer, rest = list(range(first)), list(range(first, len(shape)))
    reduced = shape[:first] + [1] * len(inner)
    on_all = lambda name, *values: make(name, shape, element, *values)
    normal = on_all("mul.Tensor", on_all("sub.Tensor", x, mean, 1), deviation)
    weighted = on_all("mul.Tensor", gradient, weight)
    average = lambda value: make("mean.dim", reduced, element, value, rest, True, None)
    change = on_all("sub.Tensor", weighted, average(weighted), 1)
    change = on_all(
        "sub.Tensor", change, on_all("mul.Tensor", normal, average(on_all("mul.Tensor", weighted, normal))), 1
    )
    total = lambda value: make("sum.dim_IntList", inner, element, value, outer, False, None)
    return [on_all("mul.Tensor", change, deviation), total(on_all("mul.Tensor", gradient, normal)), total(gradient)]


def to_f32(number):
    """The f32 next to it: PyTorch computes the places of elements in f32."""
    return struct.unpack("<f", struct.pack("<f", number))[0]


def take(make, x, dim, places):
    """Elements along a dimension."""
    shape, element = array(x)
    index = make.literal(places, [len(places)], "si64")
    return make("index_select", shape[:dim] + [len(places)] + shape[dim + 1 :], element, x, dim, index)


def take_nearest(make, x, dim, wanted, ratio, isExact):
    size = array(x)[0][dim]
    offset = 0.5 if isExact else 0.0
    return take(
        make, x, dim, [min(int(to_f32((place + offset) * to_f32(ratio))), size - 1) for place in range(wanted)]
    )


def take_between(make, x, dim, wanted, ratio, isAligned):
    """Of the two neighbours of each place, which are f32, what lies between."""
    size = array(x)[0][dim]
    if isAligned:
        ratio = (size - 1) / (wanted - 1) if wanted > 1 else 0.0
    ratio = to_f32(ratio)
    below, weights = [], []
    for place in range(wanted):
        source = to_f32(ratio * place) if isAligned else max(to_f32(to_f32(ratio * (place + 0.5)) - 0.5), 0.0)
        below.append(min(int(source), size - 1))
        weights.append(min(source - below[-1], 1.0))
    parts = []
    for places, share in (
        (below, [1 - each for each in weights]),
        ([min(each + 1, size - 1) for each in below], weights),
    ):
        taken = take(make, x, dim, places)
        shape = array(taken)[0]
        factors = make.literal(share, [wanted] + [1] * (len(shape) - dim - 1), "f32")
        parts.append(make("mul.Tensor", shape, "f32", taken, factors))
    return make("add.Tensor", shape, "f32", *parts, 1)


def resize(op, make, scales, mode, isAligned=False):
    """The array in the size of the result. `scales`: the factors, None where the sizes say them. None if it has no
    lowering."""
    x = op.operands[0]
    shape, element = array(x)
    result = array(op.results[0])[0]
    ways = {
        "nearest": (take_nearest, False),
        "nearest-exact": (take_nearest, True),
        "linear": (take_between, isAligned),
        "bilinear": (take_between, isAligned),
        "trilinear": (take_between, isAligned),
    }
    if mode not in ways or 0 in shape or 0 in result:
        return None
    way, option = ways[mode]
    if way is take_between:
        if not is_float(element) or element == "f64":
            return None
        x = Arithmetic(make, shape, "f32").array(x)
    for place, wanted in enumerate(result[2:]):
        scale = scales[place] if scales else None
        ratio = 1 / scale if scale else shape[place + 2] / wanted
        x = way(make, x, place + 2, wanted, ratio, option)
    return [Arithmetic(make, result, element).array(x)]


def upsample_nearest(op, make):
    """torch-mlir takes factors that are whole numbers for granted."""
    return resize(op, make, [constant(each) for each in list(op.operands)[2:]], "nearest")


def upsample_nearest_vec(op, make):
    return resize(op, make, constant(op.operands[2]), "nearest")


def upsample_bilinear2d(op, make):
    isAligned, *scales = [constant(each) for each in list(op.operands)[2:]]
    return resize(op, make, scales, "bilinear", isAligned)


def upsample_bilinear2d_vec(op, make):
    isAligned, scales = [constant(each) for each in list(op.operands)[2:]]
    return resize(op, make, scales, "bilinear", isAligned)


def interpolate(op, make):
    """torch-mlir takes "nearest-exact" for "nearest"."""
    scales, mode, isAligned, recomputes, antialias = [constant(each) for each in list(op.operands)[2:]]
    return None if antialias else resize(op, make, None if recomputes else scales, mode, isAligned)


DECOMPOSITIONS = {
    "torch.aten." + function.__name__: function
    for function in (
        embedding_dense_backward,
        gelu,
        isfinite,
        logsumexp,
        native_layer_norm_backward,
        neg,
        prelu,
        reciprocal,
        upsample_bilinear2d,
    )
}
DECOMPOSITIONS.update(
    {
        "torch.aten.adaptive_max_pool1d": adaptive_max_pool,
        "torch.aten.adaptive_max_pool2d": adaptive_max_pool,
        "torch.aten.adaptive_max_pool3d": adaptive_max_pool,
        "torch.aten.div.Scalar_mode": divide_by_mode,
        "torch.aten.div.Tensor_mode": divide_by_mode,
        "torch.aten.floor_divide": divide_down,
        "torch.aten.floor_divide.Scalar": divide_down,
        "torch.aten.fmod.Scalar": by_arithmetic(rest_of),
        "torch.aten.fmod.Tensor": by_arithmetic(rest_of),
        "torch.aten.sort.stable": sort_stable,
        "torch.aten.upsample_nearest1d": upsample_nearest,
        "torch.aten.upsample_nearest1d.vec": upsample_nearest_vec,
        "torch.aten.upsample_nearest2d": upsample_nearest,
        "torch.aten.upsample_nearest2d.vec": upsample_nearest_vec,
        "torch.aten.upsample_bilinear2d.vec": upsample_bilinear2d_vec,
        "torch.aten.__interpolate.size_list_scale_list": interpolate,
    }
)
# torch-mlir would compute something else.
MUST = ("torch.aten.upsample_nearest2d", "torch.aten.__interpolate.size_list_scale_list")


# What moves bytes, makes arrays or converts them, whatever their signs.
MOVES = re.compile(
    r"torch\.aten\.(_to_copy|alias|broadcast_to|cat|chunk|clone|contiguous|copy|detach|dim|embedding|\w+_like|expand|flatten"
    r"|flip|gather|index|index_select|item|narrow|new_\w+|numel|numpy_T|permute|repeat|reshape|roll|select|size|slice|split"
    r"|split_with_sizes|squeeze|stack|t|tile|to|transpose|type_as|unbind|unflatten|unsqueeze|view|where)(\.\w+)?"
)


def widen_bytes(operations):
    """Most operations of torch-mlir take unsigned bytes for signed ones: they are given integers of 32 bits."""
    for op in operations:
        isUnsigned = lambda value: (array(value) or (0, 0))[1] == "ui8"
        isComputed = op.name.startswith("torch.aten.") and not MOVES.fullmatch(op.name) and len(op.results)
        if not isComputed or not any(map(isUnsigned, op.operands)):
            continue
        make = Builder(op)
        wide = lambda value: Arithmetic(make, array(value)[0], "si32").array(value) if isUnsigned(value) else value
        with op.location, ir.InsertionPoint(op):
            made = ir.Operation.create(
                op.name,
                results=[ir.Type.parse(str(each.type).replace(",ui8>", ",si32>")) for each in op.results],
                operands=list(map(wide, op.operands)),
                attributes={name: op.attributes[name] for name in op.attributes},
            )
        for old, new in zip(op.results, made.results):
            narrow = Arithmetic(make, array(old)[0], "ui8").array(new) if isUnsigned(old) else new
            old.replace_all_uses_with(narrow)
        op.erase()


def name_of(op):
    """An operation's name, and of one that torch-mlir does not know, that which PyTorch has."""
    return ir.StringAttr(op.attributes["name"]).value if op.name == "torch.operator" else op.name


def decompose(operations):
    for op in operations:
        function = DECOMPOSITIONS.get(name_of(op))
        if not function:
            continue
        results = None
        # Of arrays whose sizes are known.
        if array(op.operands[0]) is not None and array(op.results[0]) is not None:
            try:
                results = function(op, Builder(op))
            except Unknown:
                pass
        if results is None:
            if name_of(op) in MUST:
                raise refused(
                    op,
                    "of this mode, or of sizes that are not constants; give sizes, and take one of nearest, "
                    "nearest-exact, linear, bilinear and trilinear, without antialias",
                )
            continue
        for old, new in zip(op.results, results):
            old.replace_all_uses_with(new)
        op.erase()
