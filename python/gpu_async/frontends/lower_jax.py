# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowers a function that JAX traces to linalg on tensors.

    pip install jax jaxlib            # 0.10.2 is what it was tried with
    python3 -m gpu_async.frontends.lower_jax FILE.py FUNCTION 4x8xf32 8x16xf32 ... > program.mlir
    python3 -m gpu_async.frontends.lower_jax FILE.mlir > program.mlir

FUNCTION is one of FILE.py's functions of arrays; the shapes are its arguments'. FILE.mlir is StableHLO.
JAX writes StableHLO; jaxlib's own passes make linalg of it. Control flow, which
those leave, becomes scf here. An operation that neither knows is an error that
names it.
"""

import argparse
import functools
import importlib.util
import inspect
import itertools
import os
import re
import sys
import types

import jax
import jaxlib.mlir._mlir_libs._stablehlo as stablehlo_library
from jaxlib.mlir import ir, passmanager
from jaxlib.mlir.dialects import arith, scf

from . import collectives, constants, fourier, host_calls, loops, numerics, overlap, places, shards, uniform

# jaxlib looks for the Python module of a dialect at each operation of it, and has none for these.
for dialect in ("bufferization", "complex", "index", "linalg", "shape", "tensor"):
    if importlib.util.find_spec("jaxlib.mlir.dialects." + dialect) is None:
        sys.modules["jaxlib.mlir.dialects." + dialect] = types.ModuleType(dialect)


def read_shape(text):
    """ "4x8xf32" as what jax.jit(...).lower takes."""
    match = re.fullmatch(r"((?:\d+x)*)([a-z]+\d+|i1)", text)
    names = {"i1": "bool", "bf16": "bfloat16"}
    if not match:
        raise SystemExit("lower_jax: %r is no shape; write for example 4x8xf32" % text)
    sizes, element = match.groups()
    name = names.get(element) or re.sub(
        r"^(ui|i|f)(?=\d)", lambda m: {"ui": "uint", "i": "int", "f": "float"}[m[1]], element
    )
    return jax.ShapeDtypeStruct(tuple(int(size) for size in sizes.split("x")[:-1]), name)


def replace_terminator(block, make):
    """Puts what `make` creates from the operands in place of stablehlo.return."""
    last = list(block.operations)[-1].operation
    with ir.InsertionPoint(last):
        make(list(last.operands))
    last.erase()


def number_in(value):
    """The number in a tensor without dimensions."""
    return ir.Operation.create(
        "tensor.extract", results=[ir.RankedTensorType(value.type).element_type], operands=[value]
    ).result


def condition_of(op, value, exchanged):
    """The number that a loop or branch depends on, of a tensor."""
    number = number_in(value)
    if uniform.MARK not in op.attributes:
        return number
    groups = ir.ArrayAttr(op.attributes[uniform.MARK])
    return exchanged.promise(op, number, [ir.StringAttr(each).value for each in groups])


def lower_while(op, exchanged):
    with op.location, ir.InsertionPoint(op):
        types = [result.type for result in op.results]
        loop = ir.Operation.create("scf.while", results=types, operands=list(op.operands), regions=2)
    condition, body = op.regions[0].blocks[0], op.regions[1].blocks[0]
    condition.append_to(loop.regions[0])
    body.append_to(loop.regions[1])
    with op.location:
        replace_terminator(condition, lambda values: scf.condition(condition_of(op, values[0], exchanged), list(condition.arguments)))
        replace_terminator(body, scf.yield_)
    return loop


def lower_case(op, exchanged):
    """A stablehlo.case of an index, or of a boolean (stablehlo.if)."""
    types = [result.type for result in op.results]
    branches = list(op.regions)
    with op.location, ir.InsertionPoint(op):
        number = condition_of(op, op.operands[0], exchanged)
        if op.name == "stablehlo.if":
            made = ir.Operation.create("scf.if", results=types, operands=[number], regions=2)
            order = branches
        else:
            # An index outside of the range takes the last branch.
            number = arith.index_cast(ir.IndexType.get(), number)
            cases = ir.DenseI64ArrayAttr.get(list(range(len(branches) - 1)))
            made = ir.Operation.create(
                "scf.index_switch", results=types, operands=[number], attributes={"cases": cases}, regions=len(branches)
            )
            order = branches[-1:] + branches[:-1]
    for source, target in zip(order, made.regions):
        block = source.blocks[0]
        block.append_to(target)
        with op.location:
            replace_terminator(block, scf.yield_)
    return made


# A window over all that is before, of fewer elements than this, stays one.
SHORT_SCAN = 128
SCAN = """
func.func private @{name}(%x: tensor<{shape}{element}>, %init: tensor<{element}>) -> tensor<{shape}{element}> {{
  %padded = "stablehlo.pad"(%x, %init) <{{edge_padding_low = array<i64: {zeros}>, edge_padding_high = array<i64: {more}>,
      interior_padding = array<i64: {zeros}>}}> : (tensor<{shape}{element}>, tensor<{element}>) -> tensor<{padded}{element}>
  %blocks = "stablehlo.reshape"(%padded) : (tensor<{padded}{element}>) -> tensor<{blocks}{element}>
  %inner = {inner}
  %sums = "stablehlo.slice"(%inner) <{{start_indices = array<i64: {last}>, limit_indices = array<i64: {lastLimit}>,
      strides = array<i64: {ones}>}}> : (tensor<{blocks}{element}>) -> tensor<{sums}{element}>
  %shifted = "stablehlo.pad"(%sums, %init) <{{edge_padding_low = array<i64: {shift}>, edge_padding_high = array<i64: {zeros1}>,
      interior_padding = array<i64: {zeros1}>}}> : (tensor<{sums}{element}>, tensor<{element}>) -> tensor<{before}{element}>
  %scanned = {outer}
  %one = "stablehlo.reshape"(%scanned) : (tensor<{before}{element}>) -> tensor<{flat}{element}>
  %all = "stablehlo.broadcast_in_dim"(%one) <{{broadcast_dimensions = array<i64: {kept}>}}>
      : (tensor<{flat}{element}>) -> tensor<{blocks}{element}>
  %both = "{op}"(%all, %inner) : (tensor<{blocks}{element}>, tensor<{blocks}{element}>) -> tensor<{blocks}{element}>
  %joined = "stablehlo.reshape"(%both) : (tensor<{blocks}{element}>) -> tensor<{padded}{element}>
  %r = "stablehlo.slice"(%joined) <{{start_indices = array<i64: {zeros}>, limit_indices = array<i64: {limit}>,
      strides = array<i64: {ones0}>}}> : (tensor<{padded}{element}>) -> tensor<{shape}{element}>
  func.return %r : tensor<{shape}{element}>
}}"""
WINDOW = """"stablehlo.reduce_window"({value}, %init) <{{window_dimensions = array<i64: {window}>,
      padding = dense<{padding}> : tensor<{rank}x2xi64>}}> ({{
  ^bb0(%a: tensor<{element}>, %b: tensor<{element}>):
    %c = "{op}"(%a, %b) : (tensor<{element}>, tensor<{element}>) -> tensor<{element}>
    "stablehlo.return"(%c) : (tensor<{element}>) -> ()
  }}) : (tensor<{shape}{element}>, tensor<{element}>) -> tensor<{shape}{element}>"""


def is_neutral(value, op, element):
    """Whether the value, a constant, changes nothing."""
    while not isinstance(value.owner, ir.Block) and value.owner.name == "stablehlo.broadcast_in_dim":
        value = value.owner.operands[0]
    if (
        isinstance(value.owner, ir.Block)
        or value.owner.name != "stablehlo.constant"
        or not isinstance(element, (ir.IntegerType, ir.FloatType))
    ):
        return False
    isInteger = isinstance(element, ir.IntegerType)
    # A list of numbers of f16 or bf16 Python does not read.
    given = ir.DenseElementsAttr(value.owner.attributes["value"])
    number = ir.DenseIntElementsAttr(given)[0] if isInteger else ir.FloatAttr(given.get_splat_value()).value
    least, most = float("-inf"), float("inf")
    if isInteger:
        least = 0 if element.is_unsigned else -(1 << element.width - 1)
        most = least + (1 << element.width) - 1
    return (
        number
        == {"stablehlo.add": 0, "stablehlo.multiply": 1, "stablehlo.maximum": least, "stablehlo.minimum": most}[op]
    )


def is_of_scan(op):
    """Whether `lower_scan` has written it, which is given a neutral element."""
    return op.parent.name == "func.func" and ir.StringAttr(op.parent.attributes["sym_name"]).value.startswith("scan.")


def match_scan(op):
    """The dimension, operation and direction of a window over all that is before (cumsum and its like), which takes
    time as the square of its length; else None."""
    if op.name != "stablehlo.reduce_window" or len(op.results) != 1:
        return None
    body = list(op.regions[0].blocks[0].operations)
    arguments = list(op.regions[0].blocks[0].arguments)
    combiner = body[0].operation
    shape, element = (
        ir.RankedTensorType(op.operands[0].type).shape,
        ir.RankedTensorType(op.operands[0].type).element_type,
    )
    window = list(op.attributes["window_dimensions"])
    padding = list(ir.DenseIntElementsAttr(op.attributes["padding"])) if "padding" in op.attributes else []
    pairs = list(zip(padding[::2], padding[1::2])) or [(0, 0)] * len(window)
    plain = all(
        name not in op.attributes or set(op.attributes[name]) == {1}
        for name in ("window_strides", "window_dilations", "base_dilations")
    )
    long = [dim for dim, size in enumerate(window) if size != 1]
    if (
        len(body) != 2
        or list(combiner.operands) != arguments
        or not plain
        or len(long) != 1
        or any(size < 0 for size in shape)
        or ir.RankedTensorType(op.results[0].type).shape != shape
        or combiner.name not in ("stablehlo.add", "stablehlo.multiply", "stablehlo.maximum", "stablehlo.minimum")
        or window[long[0]] != shape[long[0]]
        or shape[long[0]] < SHORT_SCAN
        or not (is_of_scan(op) or is_neutral(op.operands[1], combiner.name, element))
    ):
        return None
    size = shape[long[0]]
    if tuple(pairs[long[0]]) not in ((size - 1, 0), (0, size - 1)) or any(
        tuple(pair) != (0, 0) for dim, pair in enumerate(pairs) if dim != long[0]
    ):
        return None
    return long[0], combiner.name, pairs[long[0]][0] == 0


def lower_scan(module, op, dim, combiner, backward, number):
    """In blocks of about the square root of the length: each by itself, what comes before each, and both together."""
    type = ir.RankedTensorType(op.operands[0].type)
    shape, element, rank = list(type.shape), str(type.element_type), len(type.shape)
    block = int(shape[dim] ** 0.5)
    count = -(-shape[dim] // block)
    before, behind = shape[:dim], shape[dim + 1 :]
    text = lambda sizes: "".join("%dx" % size for size in sizes)
    numbers = lambda values: ", ".join(map(str, values))
    at = lambda place, value, other, length: numbers(value if each == place else other for each in range(length))
    blocks, single = before + [count, block] + behind, before + [count, 1] + behind
    sums = before + [count - 1, 1] + behind

    def window(value, place, size, over):
        padding = [[size - 1, 0] if each == place else [0, 0] for each in range(rank + 1)]
        return WINDOW.format(
            value=value,
            window=at(place, size, 1, rank + 1),
            padding=padding,
            rank=rank + 1,
            op=combiner,
            element=element,
            shape=text(over),
        )

    name = "scan.%d" % number  # JAX's own functions have no dot in their names
    source = SCAN.format(
        name=name,
        shape=text(shape),
        element=element,
        op=combiner,
        zeros=at(dim, 0, 0, rank),
        zeros1=at(dim, 0, 0, rank + 1),
        more=at(dim, count * block - shape[dim], 0, rank),
        padded=text(before + [count * block] + behind),
        blocks=text(blocks),
        inner=window("%blocks", dim + 1, block, blocks),
        outer=window("%shifted", dim, count, single),
        last=at(dim + 1, block - 1, 0, rank + 1),
        lastLimit=numbers(before + [count - 1, block] + behind),
        ones=at(0, 1, 1, rank + 1),
        ones0=at(0, 1, 1, rank),
        sums=text(sums),
        shift=at(dim, 1, 0, rank + 1),
        before=text(single),
        flat=text(before + [count] + behind),
        kept=numbers(list(range(dim + 1)) + list(range(dim + 2, rank + 1))),
        limit=numbers(shape),
    )
    parsed = ir.Module.parse(source)
    places.give(op.location, list(parsed.body.operations)[0].operation.clone(ir.InsertionPoint(module.body)))
    with op.location, ir.InsertionPoint(op):
        turn = lambda value: (
            ir.Operation.create(
                "stablehlo.reverse",
                results=[type],
                operands=[value],
                attributes={"dimensions": ir.DenseI64ArrayAttr.get([dim])},
            ).result
            if backward
            else value
        )
        call = ir.Operation.create(
            "func.call",
            results=[type],
            operands=[turn(op.operands[0]), op.operands[1]],
            attributes={"callee": ir.FlatSymbolRefAttr.get(name)},
        )
        return turn(call.result)


def lower_scans(module):
    number = 0
    # Blocks that are long, too, are in blocks themselves.
    while found := [
        (op, scan)
        for op in list(loops.operations(module.operation))
        if op.name == "stablehlo.reduce_window" and (scan := match_scan(op))
    ]:
        for op, scan in found:
            op.results[0].replace_all_uses_with(lower_scan(module, op, *scan, number))
            op.erase()
            number += 1


def lower_control_flow(module, exchanged):
    """`exchanged` are the module's Collectives."""
    # A barrier to JAX's own optimiser only.
    lowerings = {
        "stablehlo.while": lower_while,
        "stablehlo.if": lower_case,
        "stablehlo.case": lower_case,
        "stablehlo.optimization_barrier": None,
    }
    for op in list(loops.operations(module.operation)):
        if op.name not in lowerings:
            continue
        lowering = lowerings[op.name]
        values = lowering(op, exchanged).results if lowering else op.operands
        for old, new in zip(op.results, list(values)):
            old.replace_all_uses_with(new)
        op.erase()


def parsed(attribute, what):
    """The numbers of a list in an attribute that has no accessors here."""
    match = re.search(r"\b%s = (\[[^]]*\]|\d+)" % what, str(attribute))
    if not match:
        return []
    return [int(each) for each in re.findall(r"-?\d+", match[1])]


def numbers(op, name, otherwise):
    return list(op.attributes[name]) if name in op.attributes else otherwise


def array_type(value):
    """The sizes and the element type of a tensor."""
    type = ir.RankedTensorType(value.type)
    return list(type.shape), str(type.element_type)


def sort_of(name, op):
    types = [array_type(each) for each in op.operands]
    shape, elements = types[0][0], [element for _, element in types]
    dim = ir.IntegerAttr(op.attributes["dimension"]).value
    taken = loops.take_first(ir, op, dim)
    return loops.first(name, shape, elements, dim, taken[0]) if taken else loops.sort(name, shape, elements, dim)


def scatter_of(name, op, threads):
    count = len(op.results)
    types = [array_type(each) for each in op.operands]
    dims = op.attributes["scatter_dimension_numbers"]
    of = lambda what: parsed(dims, what)
    return loops.scatter(
        name,
        types[0][0],
        [element for _, element in types[:count]],
        *types[count],
        types[-1][0],
        of("update_window_dims"),
        of("inserted_window_dims"),
        of("input_batching_dims"),
        of("scatter_indices_batching_dims"),
        of("scatter_dims_to_operand_dims"),
        (of("index_vector_dim") or [0])[0],
        threads=threads,
        adds=loops.is_addition(op.regions[0]),
    )


def select_and_scatter_of(name, op):
    (shape, element), (source, _) = map(array_type, op.operands[:2])
    ones = [1] * len(shape)
    padding = (
        list(ir.DenseIntElementsAttr(op.attributes["padding"])) if "padding" in op.attributes else [0] * 2 * len(shape)
    )
    return loops.select_and_scatter(
        name,
        shape,
        element,
        source,
        numbers(op, "window_dimensions", ones),
        numbers(op, "window_strides", ones),
        padding[::2],
    )


def is_true(op, name):
    return name in op.attributes and ir.BoolAttr(op.attributes[name]).value


def cholesky_of(name, op):
    return numerics.cholesky(name, *array_type(op.operands[0]), is_true(op, "lower"))


def triangular_solve_of(name, op):
    (shape, element), (right, _) = map(array_type, op.operands)
    transposed = re.search(r"(NO_TRANSPOSE|TRANSPOSE|ADJOINT)", str(op.attributes["transpose_a"]))[1]
    return numerics.triangular_solve(
        name,
        shape,
        right,
        element,
        is_true(op, "left_side"),
        is_true(op, "lower"),
        is_true(op, "unit_diagonal"),
        {"NO_TRANSPOSE": "N", "TRANSPOSE": "T", "ADJOINT": "C"}[transposed],
    )


def fourier_of(name, op):
    shape, element = array_type(op.operands[0])
    kind = re.search(r"(I?R?FFT)", str(op.attributes["fft_type"]))[1]
    return fourier.fourier(
        name, shape, re.sub(r"complex<(.*)>", r"\1", element), kind, list(op.attributes["fft_length"])
    )


# Operations whose regions compute with numbers.
OF_NUMBERS = tuple(
    "stablehlo." + name for name in ("map", "reduce", "reduce_window", "scatter", "select_and_scatter", "sort")
)


def inline_calls(module):
    """Calls in regions that compute with numbers, as of jnp.where: no lowering of such an operation takes a call."""
    while calls := [
        op
        for op in loops.operations(module.operation)
        if op.name == "func.call" and op.parent.name in OF_NUMBERS
    ]:
        for call in calls:
            callee = ir.FlatSymbolRefAttr(call.attributes["callee"]).value
            (function,) = [
                each.operation
                for each in module.body.operations
                if ir.StringAttr(each.attributes["sym_name"]).value == callee
            ]
            block = function.regions[0].blocks[0]
            values = dict(zip(block.arguments, call.operands))
            *body, end = [each.operation for each in block.operations]
            for op in body:
                made = op.clone(ir.InsertionPoint(call))
                loops.substitute(made, values)
                values.update(zip(op.results, made.results))
            for old, new in zip(call.results, end.operands):
                old.replace_all_uses_with(values.get(new, new))
            call.erase()


def lower_loops(module, threads):
    """What jaxlib's pass leaves, with the regions that it has lowered."""
    made = {
        "stablehlo.sort": sort_of,
        "stablehlo.scatter": functools.partial(scatter_of, threads=threads),
        "stablehlo.select_and_scatter": select_and_scatter_of,
        "stablehlo.cholesky": cholesky_of,
        "stablehlo.triangular_solve": triangular_solve_of,
        "stablehlo.fft": fourier_of,
    }
    for number, op in enumerate([op for op in list(loops.operations(module.operation)) if op.name in made]):
        if any(size < 0 for value in op.operands for size in array_type(value)[0]):
            raise ValueError("%s of sizes that are left open has no lowering: give the sizes" % op.name)
        # JAX's own functions have no dot in their names.
        name = "%s.%d" % (op.name.replace("stablehlo.", ""), number)
        try:
            loops.define(ir, module, made[op.name](name, op), op, list(op.operands))
        except ValueError as error:
            raise ValueError(
                "%s%s has no lowering: its region is more than arithmetic of numbers: %s; compute that with the whole "
                "array, outside of the operation" % (op.name, place_of(op), error)
            ) from None


def convert(value, element):
    """The numbers of a tensor in another type."""
    type = ir.RankedTensorType.get(ir.RankedTensorType(value.type).shape, element)
    return ir.Operation.create("stablehlo.convert", results=[type], operands=[value]).result


def widen_unsigned(module):
    """Products of unsigned numbers with sums of a wider type, whose operands jaxlib's pass takes for signed ones, and
    starts of scatters, whose signs are gone when they become loops."""
    for op in list(loops.operations(module.operation)):
        if op.name == "stablehlo.scatter":
            place = (len(op.operands) - 1) // 2
            given = ir.RankedTensorType(op.operands[place].type).element_type
            if loops.is_of(ir.IntegerType, given) and ir.IntegerType(given).is_unsigned:
                with op.location, ir.InsertionPoint(op):
                    op.operands[place] = convert(op.operands[place], ir.IntegerType.get_signless(64))
        if op.name not in ("stablehlo.dot_general", "stablehlo.dot", "stablehlo.convolution"):
            continue
        element = ir.RankedTensorType(op.results[0].type).element_type
        for place, operand in enumerate(op.operands):
            given = ir.RankedTensorType(operand.type).element_type
            if loops.is_of(ir.IntegerType, given) and ir.IntegerType(given).is_unsigned and given != element:
                with op.location, ir.InsertionPoint(op):
                    op.operands[place] = convert(operand, element)


def saturate(module):
    """What a float is as an integer that cannot hold it: the nearest one, and 0 for what is no number, as XLA has it.
    In arith it is undefined."""
    for op in [each for each in loops.operations(module.operation) if each.name in ("arith.fptosi", "arith.fptoui")]:
        value, kind, result = op.operands[0], op.operands[0].type, op.results[0].type
        width, isSigned = ir.IntegerType(result).width, op.name == "arith.fptosi"
        least = -(1 << width - 1) if isSigned else 0
        most = least + (1 << width) - 1
        with op.location, ir.InsertionPoint(op):
            number = lambda each: arith.constant(kind, ir.FloatAttr.get(kind, float(each)))
            # As a number with a sign, which attributes want.
            integer = lambda each: arith.constant(
                result, ir.IntegerAttr.get(result, each - (1 << width) if each >> width - 1 > 0 else each)
            )
            compare = lambda predicate, other: arith.cmpf(predicate, value, other)
            isLow, isHigh = compare(arith.CmpFPredicate.OLE, number(least)), compare(
                arith.CmpFPredicate.OGE, number(most + 1)
            )
            isIn = arith.andi(
                arith.cmpf(arith.CmpFPredicate.OGT, value, number(least)),
                arith.cmpf(arith.CmpFPredicate.OLT, value, number(most + 1)),
            )
            safe = arith.select(isIn, value, number(0))
            made = ir.Operation.create(op.name, results=[result], operands=[safe]).result
            made = arith.select(isHigh, integer(most), arith.select(isLow, integer(least), made))
        op.results[0].replace_all_uses_with(made)
        op.erase()


def erase_casts(module):
    """The casts between types that differed by their signs."""
    for op in list(loops.operations(module.operation)):
        if op.name == "builtin.unrealized_conversion_cast" and op.results[0].type == op.operands[0].type:
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()


def run(module, *passes):
    manager = passmanager.PassManager.parse("builtin.module(%s)" % ",".join(passes))
    try:
        manager.run(module.operation)
    except ir.MLIRError as error:
        lines = [each.strip() for each in str(error).splitlines() if each.strip()]
        message = next((each for each in lines if each.startswith("error: ")), lines[-1])
        at = places.describe(message)
        message = constants.shorten(re.sub(r"^error: (unknown: |.*\): )?", "", message))
        # Not from the error, which quotes operations with all of their constants.
        raise ValueError(
            "jaxlib's passes fail%s: %s; compute it in another way, or outside of the function" % (at, message)
        ) from None


class Captured(Exception):
    """A function takes arrays from a function around it, which JAX is tracing: it has them as more arguments."""


def trace(function, shapes, named={}, **static):
    """Returns what jax.jit(...).lower gives, with all arguments, those that are not used too. `static` are jax.jit's
    options of arguments that are values. Raises Captured."""
    return choose_lowering(trace_only(function, shapes, named, **static))


def trace_only(function, shapes, named={}, **static):
    """Returns what jax.jit(...).trace gives. See trace."""
    for shape in jax.tree.leaves((shapes, named)):
        if isinstance(shape, jax.ShapeDtypeStruct) and not all(isinstance(size, int) for size in shape.shape):
            raise ValueError(
                "an argument of the sizes (%s) has no lowering: a program is for one size of each array; give numbers, and compile "
                "one for each" % ", ".join(map(str, shape.shape))
            )
    traced = jax.jit(function, keep_unused=True, **static).trace(*shapes, **named)
    if len(traced.jaxpr.in_avals) != len(jax.tree.leaves(traced.in_avals)):
        raise Captured
    return traced


def choose_lowering(traced, platforms=None):
    return choose_lowering_and_text(traced, platforms)[0]


def choose_lowering_and_text(traced, platforms=None):
    """Returns what jax.jit(...).lower gives, and its StableHLO without places. `platforms` are for arrays of a mesh that
    has no devices."""
    lowered = traced.lower(lowering_platforms=platforms)
    text = lowered.as_text()
    calls = host_calls.count_foreign(text)
    # A loop of few rounds on a CPU, to be compiled sooner; else one expression, which becomes one kernel.
    # Newer versions of JAX make a scan of a running sum for what they know, and a window for other devices.
    isRunning = "reduce_window" not in text and re.search(r"@cum(sum|prod|max|min|logsumexp)\b", text)
    if calls or "@threefry2x32" in text or isRunning:
        # For a device that it does not know JAX calls a library only for what nothing else does, by our rules.
        try:
            other = traced.lower(lowering_platforms=(host_calls.PLATFORM,))
            other_text = other.as_text()
            if host_calls.count_foreign(other_text) < max(calls, 1):
                return other, other_text
        except host_calls.Refused:
            raise
        except (NotImplementedError, ValueError):
            pass
    return lowered, text


def has_no_elements(value):
    type = ir.RankedTensorType(value.type) if loops.is_of(ir.RankedTensorType, value.type) else None
    return type is not None and 0 in type.shape


def broadcast(value, type):
    """The number in a tensor without dimensions, everywhere in one of a type."""
    return ir.Operation.create(
        "stablehlo.broadcast_in_dim",
        results=[type],
        operands=[value],
        attributes={"broadcast_dimensions": ir.DenseI64ArrayAttr.get([])},
    ).result


def value_of_empty(op):
    """What an operation is whose result has no elements, or which is given an array that has none: None for others."""
    result = op.results[0]
    if has_no_elements(result):
        # As a text: an attribute of complex numbers is none of Python's.
        made = ir.Operation.parse("stablehlo.constant dense<> : %s" % result.type)
        ir.InsertionPoint(op).insert(made)
        return made.results[0]
    if op.name == "stablehlo.concatenate" and any(map(has_no_elements, op.operands)):
        return ir.Operation.create(
            op.name,
            results=[result.type],
            attributes={"dimension": op.attributes["dimension"]},
            operands=[each for each in op.operands if not has_no_elements(each)],
        ).result
    if op.name == "stablehlo.pad" and has_no_elements(op.operands[0]):
        return broadcast(op.operands[1], result.type)
    return None


def fold_sizes(module):
    """Sizes of arrays, which are constants of the types: JAX 0.11 asks for those of top_k."""
    for op in list(loops.operations(module.operation)):
        if op.name != "stablehlo.get_dimension_size":
            continue
        size = ir.RankedTensorType(op.operands[0].type).shape[ir.IntegerAttr(op.attributes["dimension"]).value]
        type = op.results[0].type
        with op.location, ir.InsertionPoint(op):
            number = ir.IntegerAttr.get(ir.RankedTensorType(type).element_type, size)
            made = ir.Operation.create(
                "stablehlo.constant", results=[type], attributes={"value": ir.DenseElementsAttr.get_splat(type, number)})
        op.results[0].replace_all_uses_with(made.result)
        op.erase()


def add_booleans(module):
    """The sum of two i1 is their logical or, and jaxlib's passes would add them modulo 2."""
    for op in list(loops.operations(module.operation)):
        if op.name != "stablehlo.add" or str(ir.RankedTensorType(op.results[0].type).element_type) != "i1":
            continue
        with op.location, ir.InsertionPoint(op):
            made = ir.Operation.create("stablehlo.or", results=[op.results[0].type], operands=list(op.operands))
        op.results[0].replace_all_uses_with(made.result)
        op.erase()


def lower_empty(module):
    """Arrays without elements, of which jaxlib's passes make invalid operations, and reductions of nothing."""
    for op in list(loops.operations(module.operation)):
        if not op.name.startswith("stablehlo.") or host_calls.is_host_call(op):
            continue
        if op.name == "stablehlo.reduce" and has_no_elements(op.operands[0]):
            inits = list(op.operands)[len(op.results) :]
            with op.location, ir.InsertionPoint(op):
                values = [broadcast(init, result.type) for result, init in zip(op.results, inits)]
        elif op.name == "stablehlo.reduce" and not list(op.attributes["dimensions"]):
            values = list(op.operands)[: len(op.results)]
        elif len(op.results) == 1 and op.name != "stablehlo.constant":
            with op.location, ir.InsertionPoint(op):
                values = [value_of_empty(op)]
        else:
            continue
        if all(value is not None for value in values):
            for old, new in zip(op.results, values):
                old.replace_all_uses_with(new)
            op.erase()


def place_of(op):
    """The line of the program that the operation is of, or of the call of the function of JAX's own that it is in."""
    while op is not None:
        place = places.describe(op.location)
        if place:
            return place
        while op.name != "func.func":
            op = op.parent
            if op is None:
                return ""
        op = op.operation
        name, module = ir.StringAttr(op.attributes["sym_name"]).value, op.parent
        op = next(
            (
                each
                for each in loops.operations(module)
                if each.name == "func.call" and ir.FlatSymbolRefAttr(each.attributes["callee"]).value == name
            ),
            None,
        )
    return ""


TRANSFERS = ("infeed", "outfeed", "send", "recv")


def refuse(op):
    """A ValueError of an operation that has no lowering."""
    name = op.name.rpartition(".")[2]
    why = "nothing here or in jaxlib lowers it; compute it outside of the function"
    called = ""
    if name in TRANSFERS:
        why = "it is a transfer to the host while the program runs; make the value an argument or a result of the function"
    elif name == "custom_call":
        target = ir.StringAttr(op.attributes["call_target_name"]).value
        called = " @" + target
        if "callback" in target:
            why = (
                "it calls Python, which a file cannot; take jax.debug.print and callbacks out of the function, or compile it "
                "by gpu_async.jit"
            )
        elif target.startswith("lapack") or target in ("Qr", "Eigh", "ProductOfElementaryHouseholderReflectors"):
            why = "it is none of the functions of LAPACK that programs call; compute it outside of the function"
        elif target in ("Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape"):
            why = (
                "it is a shard_map as JAX lowered it before Shardy; leave jax_use_shardy_partitioner at its default, True"
            )
        elif target == "ApproxTopK":
            why = (
                "it calls a library of XLA's, which programs do not; take jax.lax.top_k, which is exact (for "
                "jax.lax.approx_min_k, of the negated array)"
            )
        else:
            why = "it calls a library of XLA's, which programs do not; compute it outside of the function"
    raise ValueError("%s%s%s has no lowering: %s" % (op.name, called, place_of(op), why))


def erase_shardings(module):
    """Where an array is to be, as JAX says it of the keys of jax.random: on the one device."""
    for op in list(loops.operations(module.operation)):
        if op.name in ("sdy.sharding_constraint", "sdy.reshard"):
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()


def refuse_left(module):
    for op in loops.operations(module.operation):
        if op.name == "sdy.mesh":  # says only what devices there are
            op.erase()
        elif op.name.startswith(("stablehlo.", "chlo.", "mhlo.", "sdy.")) and op.name != "stablehlo.return":
            refuse(op)


def pass_by_value(module, numbers):
    """Makes these arguments of @main, tensors without dimensions, numbers: the last arguments, in this order."""
    main = next(each for each in module.body.operations if each.operation.name == "func.func" and each.name.value == "main")
    block = main.regions[0].blocks[0]
    with main.location, ir.InsertionPoint.at_block_begin(block):
        for number in numbers:
            tensor = block.arguments[number]
            value = block.add_argument(ir.RankedTensorType(tensor.type).element_type, tensor.location)
            made = ir.Operation.create("tensor.from_elements", results=[tensor.type], operands=[value])
            tensor.replace_all_uses_with(made.result)
    for number in sorted(numbers, reverse=True):
        block.erase_argument(number)
    with module.context:
        types = [argument.type for argument in block.arguments]
        main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, main.type.results))
        if "arg_attrs" in main.attributes:
            attributes = list(main.attributes["arg_attrs"])
            kept = [each for place, each in enumerate(attributes) if place not in numbers]
            main.attributes["arg_attrs"] = ir.ArrayAttr.get(kept + [attributes[number] for number in numbers])


def name_main(module, name):
    """Gives @main another name, which no other function keeps."""
    symbols = {ir.StringAttr(each.attributes["sym_name"]).value: each.operation for each in module.body.operations}
    if name in symbols and name != "main":
        # JAX names functions of its own so, relu say.
        number = next(number for number in itertools.count() if "%s.%d" % (name, number) not in symbols)
        other = "%s.%d" % (name, number)
        ir.SymbolTable.replace_all_symbol_uses(name, other, module.operation)
        symbols[name].attributes["sym_name"] = ir.StringAttr.get(other)
    symbols["main"].attributes["sym_name"] = ir.StringAttr.get(name)


def lower(traced, by_value=(), calls=None, gpu=False, lines=None, name="main", parts=None):
    """The text of the program; its function is `name`. A ValueError of what has no lowering.

    Arguments `by_value`, arrays without dimensions, are passed as numbers behind the others: the host has them.
    `calls`, a new HostCalls, gets what the program calls on the host. Without one, calls of Python's are refused. For
    a `gpu` scatters are shared among more threads. With `lines`, the line of the function, operations have the
    lines of the Python program for their locations. `parts`, a new Parts, gets how arrays are divided among ranks.
    Without one, a shard_map of several devices is refused.
    """
    # JAX keeps the module, and gives it to whoever lowers the function again.
    kept = traced.compiler_ir("stablehlo")
    with kept.context:
        return lower_module(kept.operation.clone(), by_value, calls, gpu, lines, name, parts)


def lower_text(text, gpu=False):
    """The text of a program that is given as StableHLO; its functions keep their names. A ValueError, see lower."""
    with jax.interpreters.mlir.make_ir_context():
        try:
            module = ir.Module.parse(text).operation.clone()
        except ir.MLIRError as error:
            raise ValueError("the program cannot be read as StableHLO: %s" % str(error).strip()) from None
        return lower_module(module, gpu=gpu, name=None)


def lower_module(module, by_value=(), calls=None, gpu=False, lines=None, name="main", parts=None):
    """See lower. Without a name, functions keep theirs. Changes the module."""
    hasPython = calls is not None
    calls = calls or host_calls.HostCalls()
    stablehlo_library.register_stablehlo_passes()
    erase_shardings(module)
    collectives.write_groups(module, place_of)
    found = inline_shards(module, parts)
    run(module, "func.func(chlo-legalize-to-stablehlo)", "symbol-dce", "canonicalize", "cse")
    for op in loops.operations(module):
        if op.name.rpartition(".")[2] in TRANSFERS:
            refuse(op)
        if not hasPython and host_calls.target_of(op) == host_calls.CALLBACK:
            refuse(op)
    host_calls.erase_tokens(module)
    inline_calls(module)
    fold_sizes(module)
    add_booleans(module)
    lower_empty(module)
    exchanged = collectives.Collectives(module, place_of, found.ranks if found else None, lines is not None)
    exchanged.settle()
    if exchanged.ranks:
        uniform.Uniformity(exchanged, found.keys() if found else None).mark()
    if exchanged.find():
        overlap.hoist(module)
    exchanged.lower()
    widen_unsigned(module)
    lower_scans(module)
    lower_control_flow(module, exchanged)
    # Signs last: what is compared, divided and converted depends on them.
    run(module, "stablehlo-legalize-to-linalg", "stablehlo-convert-to-signless")
    erase_casts(module)
    saturate(module)
    lower_loops(module, loops.GPU_THREADS if gpu else 1)
    calls.lower(module, place_of)
    if by_value:
        pass_by_value(module, by_value)
    run(module, "canonicalize", "cse")
    refuse_left(module)
    for op in loops.operations(module):
        strip_attributes(op)
    strip_attributes(module)
    if lines:
        # Functions that JAX makes of its own, such as relu, have no line: their operations get that of the call.
        for function in module.regions[0].blocks[0].operations:
            isMain = ir.StringAttr(function.attributes["sym_name"]).value == "main"
            places.keep_lines([*loops.operations(function.operation), function.operation], lines if isMain else None)
    if name:
        name_main(module, name)
    text = module.get_asm(enable_debug_info=lines is not None)
    return constants.pack_booleans(exchanged.complete(calls.complete(text)))


def inline_shards(module, parts):
    """Makes the program of one rank of that of all, and returns its Parts: None if it has no shard_map."""

    def refuse_shards(op, why):
        raise ValueError("shard_map%s has no lowering: %s" % (place_of(op), why))

    found = shards.Parts()
    if not shards.Shards(module, refuse_shards, found).lower():
        return None
    if parts is None and found.ranks > 1:
        raise ValueError(
            "shard_map has no lowering: the function is for a mesh of %d devices, and a program is one device's; give the "
            "mesh to gpu_async.jit(f, mesh=mesh)" % found.ranks
        )
    if parts is not None:
        parts.axes, parts.arguments, parts.results = found.axes, found.arguments, found.results
    return found


def strip_attributes(op):
    """Takes away the attributes of dialects that only JAX knows."""
    foreign = ("jax.", "mhlo.", "sdy.", "tf.")
    for name in list(op.attributes):
        if name.startswith(foreign):
            del op.attributes[name]
    for name in ("arg_attrs", "res_attrs"):
        if name not in op.attributes:
            continue
        kept = [
            {item.name: item.attr for item in each if not item.name.startswith(foreign)}
            for each in map(ir.DictAttr, op.attributes[name])
        ]
        del op.attributes[name]
        if any(kept):
            op.attributes[name] = ir.ArrayAttr.get([ir.DictAttr.get(each) for each in kept])


def write_text(arguments):
    """Writes the program of a file of StableHLO."""
    if arguments.function is not None:
        raise SystemExit("lower_jax: %s is a file of StableHLO, whose functions are all taken; give the file alone" % arguments.file)
    try:
        with open(arguments.file, "rb") as file:
            text = file.read()
        sys.stdout.write(lower_text(text, gpu=arguments.gpu))
    except OSError as error:
        raise SystemExit("lower_jax: %s" % error)
    except ValueError as error:
        raise SystemExit("lower_jax: %s: %s" % (arguments.file, error))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("function", nargs="?")
    parser.add_argument("shape", nargs="*", type=read_shape)
    parser.add_argument("--gpu", action="store_true", help="cut scatters for the many threads of a GPU")
    arguments = parser.parse_args()
    if arguments.file.endswith((".mlir", ".mlirbc")):
        return write_text(arguments)
    if arguments.function is None:
        parser.error("the following arguments are required: function")
    spec = importlib.util.spec_from_file_location("program", arguments.file)
    if not spec or not os.path.isfile(arguments.file):
        raise SystemExit("lower_jax: %s is no file of Python" % arguments.file)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    if not callable(getattr(program, arguments.function, None)):
        raise SystemExit("lower_jax: %s has no function %s" % (arguments.file, arguments.function))
    function = getattr(program, arguments.function)
    try:
        parameters = inspect.signature(function)
    except ValueError:  # of a function in C, say
        parameters = None
    if parameters:
        try:
            parameters.bind(*arguments.shape)
        except TypeError as error:
            raise SystemExit(
                "lower_jax: %s%s is given %d shape(s): %s; give one for each argument"
                % (arguments.function, parameters, len(arguments.shape), error)
            )
    try:
        parts = shards.Parts()
        text = lower(trace(function, arguments.shape), gpu=arguments.gpu, parts=parts)
    except ValueError as error:
        raise SystemExit("lower_jax: %s" % error)
    sys.stdout.write(parts.describe_all() + text)


if __name__ == "__main__":
    main()
