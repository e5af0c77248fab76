# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives of StableHLO as early as their operands are there, so that other work runs beside them.

A program that adds up all gradients after its backward pass has its collectives at the end, where nothing is left to run
beside them. StableHLO gives collectives no order, and all ranks have this program, so they have the new order, too.
"""

from jaxlib.mlir import ir

# The result takes no more memory than the operand, which ends there in turn. Not all_gather: whole arrays are to live as
# short as the program has them.
MOVED = tuple("stablehlo." + name for name in ("all_reduce", "reduce_scatter", "collective_broadcast", "collective_permute",
                                               "all_to_all"))
# What moves with them: work that is fused, or no work at all.
LIGHT = tuple("stablehlo." + name for name in (
    "abs", "add", "and", "broadcast_in_dim", "ceil", "clamp", "compare", "complex", "constant", "convert", "cosine", "divide",
    "exponential", "floor", "imag", "is_finite", "log", "logistic", "maximum", "minimum", "multiply", "negate", "not", "or",
    "power", "real", "reshape", "rsqrt", "select", "sign", "sine", "sqrt", "subtract", "tanh", "transpose", "xor"))


def sort_block(block):
    operations = [each.operation for each in block.operations]
    moved = [number for number, op in enumerate(operations) if op.name in MOVED]
    if not moved:
        return
    numbers = {op: number for number, op in enumerate(operations)}
    places = list(range(len(operations)))  # each comes right behind the operation of this number
    settled = set()

    def numbers_before(number):
        owners = [value.owner for value in operations[number].operands]
        return [numbers[each.operation] for each in owners if not isinstance(each, ir.Block) and each.operation in numbers]

    waiting = moved[::-1]
    while waiting:
        number = waiting[-1]
        before = numbers_before(number)
        first = [each for each in before if operations[each].name in LIGHT and each not in settled]
        if first and number not in settled:
            waiting += first
            continue
        waiting.pop()
        settled.add(number)
        places[number] = max((places[each] for each in before), default=-1)
    order = sorted(range(len(operations)), key=lambda number: (places[number], number))
    if order != sorted(order):
        for number in order[:-1]:
            operations[number].move_before(operations[-1])


def hoist(op):
    """Moves the collectives below an operation, each within its block."""
    for region in op.regions:
        for block in region.blocks:
            for inner in list(block.operations):
                hoist(inner.operation)
            sort_block(block)
