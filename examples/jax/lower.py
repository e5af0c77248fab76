#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowers a function that JAX traces to linalg on tensors.

    pip install jax jaxlib            # 0.10.2 is what it was tried with
    python3 lower.py FILE.py FUNCTION 4x8xf32 8x16xf32 ... > program.mlir

FUNCTION is one of FILE.py's functions of arrays; the shapes are its arguments'.
JAX writes StableHLO; jaxlib's own passes make linalg of it. Control flow, which
those leave, becomes scf here. An operation that neither knows is an error that
names it.
"""

import argparse
import importlib.util
import re
import sys

import jax
import jaxlib.mlir._mlir_libs._stablehlo as stablehlo_library
from jaxlib.mlir import ir, passmanager
from jaxlib.mlir.dialects import arith, scf


def read_shape(text):
    """"4x8xf32" as what jax.jit(...).lower takes."""
    match = re.fullmatch(r"((?:\d+x)*)([a-z]+\d+|i1)", text)
    names = {"i1": "bool", "bf16": "bfloat16"}
    if not match:
        raise SystemExit("lower.py: %r is no shape; write for example 4x8xf32" % text)
    sizes, element = match.groups()
    name = names.get(element) or re.sub(r"^(ui|i|f)(?=\d)", lambda m: {"ui": "uint", "i": "int", "f": "float"}[m[1]],
                                        element)
    return jax.ShapeDtypeStruct(tuple(int(size) for size in sizes.split("x")[:-1]), name)


def operations(block_owner):
    """All operations below, the innermost first."""
    for region in block_owner.regions:
        for block in region.blocks:
            for op in list(block.operations):
                yield from operations(op.operation)
                yield op.operation


def replace_terminator(block, make):
    """Puts what `make` creates from the operands in place of stablehlo.return."""
    last = list(block.operations)[-1].operation
    with ir.InsertionPoint(last):
        make(list(last.operands))
    last.erase()


def number_in(value):
    """The number in a tensor without dimensions."""
    return ir.Operation.create("tensor.extract", results=[ir.RankedTensorType(value.type).element_type],
                               operands=[value]).result


def lower_while(op):
    with op.location, ir.InsertionPoint(op):
        types = [result.type for result in op.results]
        loop = ir.Operation.create("scf.while", results=types, operands=list(op.operands), regions=2)
    condition, body = op.regions[0].blocks[0], op.regions[1].blocks[0]
    condition.append_to(loop.regions[0])
    body.append_to(loop.regions[1])
    with op.location:
        replace_terminator(condition, lambda values: scf.condition(number_in(values[0]),
                                                                   list(condition.arguments)))
        replace_terminator(body, scf.yield_)
    return loop


def lower_case(op):
    """A stablehlo.case of an index, or of a boolean (stablehlo.if)."""
    types = [result.type for result in op.results]
    branches = list(op.regions)
    with op.location, ir.InsertionPoint(op):
        number = number_in(op.operands[0])
        if op.name == "stablehlo.if":
            made = ir.Operation.create("scf.if", results=types, operands=[number], regions=2)
            order = branches
        else:
            # An index outside of the range takes the last branch.
            number = arith.index_cast(ir.IndexType.get(), number)
            cases = ir.DenseI64ArrayAttr.get(list(range(len(branches) - 1)))
            made = ir.Operation.create("scf.index_switch", results=types, operands=[number],
                                       attributes={"cases": cases}, regions=len(branches))
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
    if isinstance(value.owner, ir.Block) or value.owner.name != "stablehlo.constant" or not isinstance(element, (ir.IntegerType, ir.FloatType)):
        return False
    isInteger = isinstance(element, ir.IntegerType)
    number = (ir.DenseIntElementsAttr if isInteger else ir.DenseFPElementsAttr)(value.owner.attributes["value"])[0]
    least, most = float("-inf"), float("inf")
    if isInteger:
        least = 0 if element.is_unsigned else -(1 << element.width - 1)
        most = least + (1 << element.width) - 1
    return number == {"stablehlo.add": 0, "stablehlo.multiply": 1, "stablehlo.maximum": least, "stablehlo.minimum": most}[op]


def match_scan(op):
    """The dimension, operation and direction of a window over all that is before (cumsum and its like), which takes
    time as the square of its length; else None."""
    if op.name != "stablehlo.reduce_window" or len(op.results) != 1:
        return None
    body = list(op.regions[0].blocks[0].operations)
    arguments = list(op.regions[0].blocks[0].arguments)
    combiner = body[0].operation
    shape, element = ir.RankedTensorType(op.operands[0].type).shape, ir.RankedTensorType(op.operands[0].type).element_type
    window = list(op.attributes["window_dimensions"])
    padding = list(ir.DenseIntElementsAttr(op.attributes["padding"])) if "padding" in op.attributes else []
    pairs = list(zip(padding[::2], padding[1::2])) or [(0, 0)] * len(window)
    plain = all(name not in op.attributes or set(op.attributes[name]) == {1}
                for name in ("window_strides", "window_dilations", "base_dilations"))
    long = [dim for dim, size in enumerate(window) if size != 1]
    if (len(body) != 2 or list(combiner.operands) != arguments or not plain or len(long) != 1 or
            any(size < 0 for size in shape) or ir.RankedTensorType(op.results[0].type).shape != shape or
            combiner.name not in ("stablehlo.add", "stablehlo.multiply", "stablehlo.maximum", "stablehlo.minimum") or
            window[long[0]] != shape[long[0]] or shape[long[0]] < SHORT_SCAN or
            not is_neutral(op.operands[1], combiner.name, element)):
        return None
    size = shape[long[0]]
    if tuple(pairs[long[0]]) not in ((size - 1, 0), (0, size - 1)) or any(
            tuple(pair) != (0, 0) for dim, pair in enumerate(pairs) if dim != long[0]):
        return None
    return long[0], combiner.name, pairs[long[0]][0] == 0


def lower_scan(module, op, dim, combiner, backward, number):
    """In blocks of about the square root of the length: each by itself, what comes before each, and both together."""
    type = ir.RankedTensorType(op.operands[0].type)
    shape, element, rank = list(type.shape), str(type.element_type), len(type.shape)
    block = int(shape[dim] ** 0.5)
    count = -(-shape[dim] // block)
    before, behind = shape[:dim], shape[dim + 1:]
    text = lambda sizes: "".join("%dx" % size for size in sizes)
    numbers = lambda values: ", ".join(map(str, values))
    at = lambda place, value, other, length: numbers(value if each == place else other for each in range(length))
    blocks, single = before + [count, block] + behind, before + [count, 1] + behind
    sums = before + [count - 1, 1] + behind

    def window(value, place, size, over):
        padding = [[size - 1, 0] if each == place else [0, 0] for each in range(rank + 1)]
        return WINDOW.format(value=value, window=at(place, size, 1, rank + 1), padding=padding, rank=rank + 1,
                             op=combiner, element=element, shape=text(over))

    name = "scan_%d" % number
    source = SCAN.format(
        name=name, shape=text(shape), element=element, op=combiner, zeros=at(dim, 0, 0, rank), zeros1=at(dim, 0, 0, rank + 1),
        more=at(dim, count * block - shape[dim], 0, rank), padded=text(before + [count * block] + behind),
        blocks=text(blocks), inner=window("%blocks", dim + 1, block, blocks), outer=window("%shifted", dim, count, single),
        last=at(dim + 1, block - 1, 0, rank + 1), lastLimit=numbers(before + [count - 1, block] + behind),
        ones=at(0, 1, 1, rank + 1), ones0=at(0, 1, 1, rank), sums=text(sums), shift=at(dim, 1, 0, rank + 1),
        before=text(single), flat=text(before + [count] + behind),
        kept=numbers(list(range(dim + 1)) + list(range(dim + 2, rank + 1))), limit=numbers(shape))
    parsed = ir.Module.parse(source)
    list(parsed.body.operations)[0].operation.clone(ir.InsertionPoint(module.body))
    with op.location, ir.InsertionPoint(op):
        turn = lambda value: ir.Operation.create(
            "stablehlo.reverse", results=[type], operands=[value],
            attributes={"dimensions": ir.DenseI64ArrayAttr.get([dim])}).result if backward else value
        call = ir.Operation.create("func.call", results=[type], operands=[turn(op.operands[0]), op.operands[1]],
                                   attributes={"callee": ir.FlatSymbolRefAttr.get(name)})
        return turn(call.result)


def lower_scans(module):
    for number, op in enumerate([op for op in list(operations(module.operation)) if op.name == "stablehlo.reduce_window"]):
        if scan := match_scan(op):
            op.results[0].replace_all_uses_with(lower_scan(module, op, *scan, number))
            op.erase()


def lower_control_flow(module):
    # A barrier to JAX's own optimiser only.
    lowerings = {"stablehlo.while": lower_while, "stablehlo.if": lower_case, "stablehlo.case": lower_case,
                 "stablehlo.optimization_barrier": None}
    for op in list(operations(module.operation)):
        if op.name not in lowerings:
            continue
        lowering = lowerings[op.name]
        values = lowering(op).results if lowering else op.operands
        for old, new in zip(op.results, list(values)):
            old.replace_all_uses_with(new)
        op.erase()


def run(module, *passes):
    manager = passmanager.PassManager.parse("builtin.module(%s)" % ",".join(passes))
    manager.run(module.operation)


def trace(function, shapes):
    """What jax.jit(...).lower gives, with all arguments, those that are not used too."""
    return jax.jit(function, keep_unused=True).lower(*shapes)


def lower(traced):
    """The text of the program; its function is @main. A ValueError of what has no lowering."""
    stablehlo_library.register_stablehlo_passes()
    module = traced.compiler_ir("stablehlo")
    with module.context:
        run(module, "func.func(chlo-legalize-to-stablehlo)", "symbol-dce", "canonicalize", "cse")
        lower_scans(module)
        lower_control_flow(module)
        run(module, "stablehlo-convert-to-signless", "stablehlo-legalize-to-linalg", "canonicalize", "cse")
        left = sorted({op.name for op in operations(module.operation)
                       if op.name.startswith(("stablehlo.", "chlo.", "mhlo.", "sdy."))})
        if left:
            raise ValueError("jaxlib makes no linalg of " + ", ".join(left))
        for op in operations(module.operation):
            strip_attributes(op)
        strip_attributes(module.operation)
        return str(module)


def strip_attributes(op):
    """Takes away the attributes of dialects that only JAX knows."""
    foreign = ("jax.", "mhlo.", "sdy.", "tf.")
    for name in list(op.attributes):
        if name.startswith(foreign):
            del op.attributes[name]
    for name in ("arg_attrs", "res_attrs"):
        if name not in op.attributes:
            continue
        kept = [{item.name: item.attr for item in each if not item.name.startswith(foreign)}
                for each in map(ir.DictAttr, op.attributes[name])]
        del op.attributes[name]
        if any(kept):
            op.attributes[name] = ir.ArrayAttr.get([ir.DictAttr.get(each) for each in kept])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("function")
    parser.add_argument("shape", nargs="*", type=read_shape)
    arguments = parser.parse_args()
    spec = importlib.util.spec_from_file_location("program", arguments.file)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    try:
        sys.stdout.write(lower(trace(getattr(program, arguments.function), arguments.shape)))
    except ValueError as error:
        raise SystemExit("lower.py: %s" % error)


if __name__ == "__main__":
    main()
