# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives of StableHLO as early as their operands are there, so that other work runs beside them.

A program that adds up all gradients after its backward pass has its collectives at the end, where nothing is left to run
beside them. StableHLO gives collectives no order, and all ranks have this program, so they have the new order, too.

A collective moves only if that takes no more memory: if something as large as its result ends there, which nothing else
uses. Arguments of a block are there anyway, and a collective of these stays where it is.
"""

import re

from jaxlib.mlir import ir

from . import loops

# Not all_gather: whole arrays are to live as short as the program has them.
MOVED = tuple("stablehlo." + name for name in ("all_reduce", "reduce_scatter", "collective_broadcast", "collective_permute",
                                               "all_to_all"))
# Operations that move with them: work that is fused, or no work at all.
LIGHT = tuple("stablehlo." + name for name in (
    "abs", "add", "and", "broadcast_in_dim", "ceil", "clamp", "compare", "complex", "constant", "convert", "cosine", "divide",
    "exponential", "floor", "imag", "is_finite", "log", "logistic", "maximum", "minimum", "multiply", "negate", "not", "or",
    "power", "real", "reshape", "rsqrt", "select", "sign", "sine", "sqrt", "subtract", "tanh", "transpose", "xor"))


def count_bits(value):
    """0 if it is not known."""
    if not loops.is_of(ir.RankedTensorType, value.type):
        return 0
    type = ir.RankedTensorType(value.type)
    bits = {"complex<f32>": 64, "complex<f64>": 128}.get(str(type.element_type)) or int(re.sub(r"\D", "", str(type.element_type)) or 0)
    count = bits
    for size in type.shape:
        count *= size
    return count


def has_one_use(value):
    return len(list(value.uses)) == 1


def owner_of(value, numbers):
    """The operation of the block that makes the value, or None."""
    owner = None if isinstance(value.owner, ir.Block) else value.owner.operation
    return owner if owner in numbers else None


def find_constants(op, numbers):
    """The operation and what it is made of, if all of that are constants: else nothing."""
    if op.name == "stablehlo.constant":
        return [op]
    if op.name in ("stablehlo.broadcast_in_dim", "stablehlo.reshape", "stablehlo.convert"):
        made = owner_of(op.operands[0], numbers)
        found = find_constants(made, numbers) if made is not None else []
        return [op, *found] if found else []
    return []


class Chain:
    """A collective, and the light operations that only it needs: what moves as one. `numbers` has the operations of the block."""

    def __init__(self, collective, numbers):
        self.members, self.constants, self.before, given = [collective], [], [], []
        for member in self.members:
            for value in member.operands:
                owner = owner_of(value, numbers)
                if owner is None:
                    continue
                constants = find_constants(owner, numbers)
                if constants:
                    self.constants += constants
                elif owner.name in LIGHT and has_one_use(value):
                    self.members.append(owner)
                else:
                    self.before.append(owner)
                    given.append(value)
        # Memory that ends here, in place of which there will be the result.
        most = max((count_bits(value) for value in given if has_one_use(value)), default=0)
        self.is_movable = most >= sum(map(count_bits, collective.results)) > 0


def sort_block(block):
    operations = [each.operation for each in block.operations]
    collectives = [op for op in operations if op.name in MOVED]
    if not collectives:
        return
    numbers = {op: number for number, op in enumerate(operations)}
    places = list(range(len(operations)))  # each comes right behind the operation of this number
    for op in collectives:
        chain = Chain(op, numbers)
        if chain.is_movable:
            place = max(places[numbers[each]] for each in chain.before)
            for each in chain.members:
                places[numbers[each]] = place
            for each in chain.constants:
                places[numbers[each]] = -1
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
