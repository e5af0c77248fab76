# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations that torch-mlir knows and does not lower, or not as exactly as PyTorch, by others that it lowers."""

import math
import re
import struct

from torch_mlir import ir


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
        if isinstance(value, float):
            return self.make("constant.float", [], "!torch.float", value=ir.FloatAttr.get_f64(value))
        return self.make("prim.ListConstruct", [self.constant(each) for each in value], "!torch.list<int>")

    def __call__(self, name, shape, element, *operands):
        """An operation on arrays and constants whose result has this shape and type."""
        values = [each if isinstance(each, ir.Value) else self.constant(each) for each in operands]
        return self.make("aten." + name, values, vtensor(shape, element))

    def literal(self, rows):
        """A matrix of f32."""
        data = "".join(struct.pack("<f", each).hex() for row in rows for each in row)
        text = 'dense<"0x%s"> : tensor<%dx%dxf32>' % (data.upper(), len(rows), len(rows[0]))
        return self.make(
            "vtensor.literal", [], vtensor([len(rows), len(rows[0])], "f32"), value=ir.Attribute.parse(text)
        )


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
    kinds = {"f32": 6, "f16": 5, "bf16": 15, "f64": 7}
    zeros = make("zeros", [count, width], element, [count, width], kinds[element], None, None, False)
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


def interpolation(size, wanted, isAligned):
    """The matrix that makes `wanted` numbers of `size`, each of its two neighbours."""
    rows = []
    for place in range(wanted):
        if isAligned:
            source = place * (size - 1) / max(wanted - 1, 1)
        else:
            source = max((place + 0.5) * size / wanted - 0.5, 0.0)
        below = min(int(source), size - 1)
        row = [0.0] * size
        row[below] += 1 - (source - below)
        row[min(below + 1, size - 1)] += source - below
        rows.append(row)
    return rows


def upsample_bilinear2d(op, make):
    """Two products."""
    x = op.operands[0]
    shape, element = array(x)
    sizes, isAligned = known(op.operands[1]), known(op.operands[2])
    # Other factors than the sizes' are further arguments.
    if (
        element != "f32"
        or sizes is None
        or None in sizes
        or isAligned is None
        or any(str(each.type) != "!torch.none" for each in list(op.operands)[3:])
    ):
        return None
    height, width = sizes
    tall = make(
        "matmul", shape[:2] + [height, shape[3]], element, make.literal(interpolation(shape[2], height, isAligned)), x
    )
    across = list(map(list, zip(*interpolation(shape[3], width, isAligned))))
    return [make("matmul", shape[:2] + [height, width], element, tall, make.literal(across))]


DECOMPOSITIONS = {
    "torch.aten." + function.__name__: function
    for function in (
        embedding_dense_backward,
        gelu,
        isfinite,
        logsumexp,
        native_layer_norm_backward,
        prelu,
        upsample_bilinear2d,
    )
}


def decompose(operations):
    for op in operations:
        function = DECOMPOSITIONS.get(op.name)
        # Of arrays whose sizes are known.
        if not function or array(op.operands[0]) is None or array(op.results[0]) is None:
            continue
        results = function(op, Builder(op))
        if results is None:
            continue
        for old, new in zip(op.results, results):
            old.replace_all_uses_with(new)
        op.erase()
