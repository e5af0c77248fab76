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
