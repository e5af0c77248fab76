# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds values of a StableHLO program that are the same on several ranks.

The compiler refuses a collective under control flow that may differ between the ranks that meet. Of arrays it knows
little, since kernels have written them. Here each value has a number for each rank: where two numbers are equal, so are
the values. Integers that are computed from constants and the rank's number are known themselves. A loop or branch whose
condition is the same on all ranks that meet in it is marked with their groups, and `gpu_async.uniform` says so to the
compiler. What is not known to be the same stays unmarked, and the compiler decides.
"""

from dataclasses import dataclass

from jaxlib.mlir import ir

from . import collectives, host_calls, loops

MARK = "gpu_async.uniform"
BRANCHES = ("stablehlo.while", "stablehlo.if", "stablehlo.case")


def numbered(keys):
    """Numbers in place of keys, equal ones for equal keys."""
    known = {}
    return tuple(known.setdefault(key, len(known)) for key in keys)


@dataclass(frozen=True)
class Known:
    """A value on the ranks."""

    numbers: tuple  # by rank: equal ones for equal values
    depends: bool  # on anything that the compiler does not know
    exact: tuple = None  # by rank: the integer that all elements are, if known

    @staticmethod
    def integers(exact, depends):
        return Known(numbered(exact), depends, tuple(exact))


class Uniformity:
    """`exchanged` has the module's collectives, and `arguments` a key for each rank of each argument of @main; without
    them ranks have different arguments."""

    def __init__(self, exchanged, arguments):
        self.exchanged, self.ranks = exchanged, exchanged.ranks
        self.same, self.other = (0,) * self.ranks, tuple(range(self.ranks))
        self.known, self.changed = {}, False  # by value; absent: no operation before it has been visited
        self.functions = {}
        for op in exchanged.module.regions[0].blocks[0].operations:
            if op.operation.name == "func.func":
                self.functions[ir.StringAttr(op.operation.attributes["sym_name"]).value] = op.operation
        for name, function in self.functions.items():
            is_private = "sym_visibility" in function.attributes and "private" in str(function.attributes["sym_visibility"])
            for number, argument in enumerate(function.regions[0].blocks[0].arguments):
                if name == "main" and arguments is not None:
                    self.meet(argument, Known(numbered(arguments[number]), True))
                elif not is_private:
                    self.meet(argument, Known(self.other, True))

    def of(self, value):
        return self.known.get(value)

    def meet(self, value, *others, decides=()):
        """Takes into account that the value is one of others. Which one depends on `decides`."""
        all = [each for each in (self.of(value), *others) if each]
        if not all:
            return
        first = all[0]
        if first.exact is not None and {each.exact for each in all} == {first.exact}:
            made = Known.integers(first.exact, any(each.depends for each in all))
        else:
            all += [each for each in decides if each]
            made = Known(numbered(zip(*(each.numbers for each in all))), any(each.depends for each in all))
        if made != self.known.get(value):
            self.known[value], self.changed = made, True

    def mark(self):
        """Marks branches and loops."""
        found = [op for op in loops.operations(self.exchanged.module) if op.name in BRANCHES]
        needed = [(op, groups) for op in found if (groups := self.groups_in(op, set()))]
        if not needed:
            return
        self.changed = True
        while self.changed:
            self.changed = False
            for function in self.functions.values():
                self.visit_block(function.regions[0].blocks[0])
        for op, groups in needed:
            known = self.of(self.condition(op))
            if not known or any(len({known.numbers[rank] for rank in each}) > 1 for lists in groups for each in lists):
                continue
            if known.depends or not self.is_counted(op):
                isOfAll = len(set(known.numbers)) == 1
                names = [""] if isOfAll else sorted({self.exchanged.group_of(lists) for lists in groups})
                op.attributes[MARK] = ir.ArrayAttr.get([ir.StringAttr.get(each) for each in names])

    def is_counted(self, op):
        """Whether the compiler knows the rounds of a loop without us: of one with a counter. A mark would hide that."""
        value = self.condition(op)
        made = value.owner if op.name == "stablehlo.while" and isinstance(value.owner, (ir.Operation, ir.OpView)) else None
        return made is not None and made.operation.name == "stablehlo.compare" and all(map(integer_type, made.operation.operands))

    def condition(self, op):
        return self.end(op.regions[0]).operands[0] if op.name == "stablehlo.while" else op.operands[0]

    @staticmethod
    def end(region):
        return list(region.blocks[0].operations)[-1].operation

    def lists_of(self, op):
        if op.name == "stablehlo.collective_permute":
            return [list(range(self.ranks))]
        return self.exchanged.lists_of(op)

    def groups_in(self, op, seen):
        """The ranks that meet in collectives under an operation: lists of each."""
        found = []
        for inner in loops.operations(op):
            if inner.name in self.exchanged.MEETING:
                found.append(self.lists_of(inner))
            elif inner.name == "func.call":
                name = ir.FlatSymbolRefAttr(inner.attributes["callee"]).value
                if name in self.functions and name not in seen:
                    seen.add(name)
                    found += self.groups_in(self.functions[name], seen)
        return found

    def visit_block(self, block):
        for op in block.operations:
            self.visit(op.operation)

    def visit(self, op):
        for region in op.regions:
            if op.name in BRANCHES:
                self.visit_block(region.blocks[0])
        if op.name == "func.call":
            callee = self.functions[ir.FlatSymbolRefAttr(op.attributes["callee"]).value]
            for value, argument in zip(op.operands, callee.regions[0].blocks[0].arguments):
                self.meet(argument, self.of(value))
            for value, result in zip(self.end(callee.regions[0]).operands, op.results):
                self.meet(result, self.of(value))
        elif op.name == "stablehlo.while":
            self.visit_while(op)
        elif op.name in BRANCHES:
            for number, result in enumerate(op.results):
                values = [self.of(self.end(region).operands[number]) for region in op.regions]
                self.meet(result, *values, decides=[self.of(op.operands[0])])
        elif op.name in self.exchanged.MEETING:
            for value, result in zip(op.operands, op.results):
                if self.of(value):
                    self.meet(result, Known(self.exchange(op, self.of(value).numbers), True))
        elif op.name in collectives.NUMBERS:
            isRank = self.exchanged.kind in (None, op.name.rpartition(".")[2].removesuffix("_id"))
            self.meet(op.results[0], Known.integers(self.other if isRank else self.same, True))
        elif op.name == "stablehlo.rng" or host_calls.target_of(op) == host_calls.CALLBACK:
            for result in op.results:
                self.meet(result, Known(self.other, True))
        else:
            self.visit_computation(op)

    def visit_computation(self, op):
        """An operation that computes the same from the same."""
        inside = {value for each in loops.operations(op) for block in blocks_of(each) for value in block.arguments}
        inside |= {value for each in loops.operations(op) for value in each.results}
        inside |= {value for block in blocks_of(op) for value in block.arguments}
        used = [self.of(value) for each in (op, *loops.operations(op)) for value in each.operands if value not in inside]
        if not all(used):
            return  # until they are visited
        exact = compute(op, used, self.ranks)
        # The compiler knows numbers, but no elements of arrays.
        depends = any(each.depends for each in used) or any(
            len(shape) > 0 and op.name in ("stablehlo.constant", "stablehlo.iota") for shape in map(shape_of, op.results)
        ) and exact is None
        if exact is not None:
            known = Known.integers(exact, depends)
        else:
            known = Known(numbered(zip(*(each.numbers for each in used))) if used else self.same, depends)
        for result in op.results:
            # An integer that is not known any more is computed of values that differ more than it did.
            self.meet(result, known)

    def visit_while(self, op):
        condition, body = op.regions[0].blocks[0], op.regions[1].blocks[0]
        decides = self.of(self.condition(op))
        for init, next, *values in zip(op.operands, self.end(op.regions[1]).operands, condition.arguments, body.arguments, op.results):
            # Ranks that do another number of rounds have other values.
            for value in values:
                self.meet(value, self.of(init), self.of(next), decides=[decides])

    def exchange(self, op, numbers):
        """Returns a number for what each rank gets from a collective."""
        if op.name == "stablehlo.collective_permute":
            source = {target: source for source, target in self.exchanged.rows(op, "source_target_pairs")}
            return numbered(numbers[source[rank]] if rank in source else None for rank in range(self.ranks))
        made = {}
        for members in self.exchanged.lists_of(op):
            for position, rank in enumerate(members):
                all = tuple(numbers[each] for each in members)
                if op.name == "stablehlo.collective_broadcast":
                    made[rank] = all[0]
                else:
                    is_whole = op.name in ("stablehlo.all_reduce", "stablehlo.all_gather")
                    made[rank] = all if is_whole else (all, position)
        return numbered(made[rank] for rank in range(self.ranks))


def blocks_of(op):
    return [block for region in op.regions for block in region.blocks]


def shape_of(value):
    return list(ir.RankedTensorType(value.type).shape) if loops.is_of(ir.RankedTensorType, value.type) else []


def integer_type(value):
    """The width and whether it has a sign, of a tensor of integers; None of others."""
    if not loops.is_of(ir.RankedTensorType, value.type):
        return None
    element = ir.RankedTensorType(value.type).element_type
    if not loops.is_of(ir.IntegerType, element):
        return None
    type = ir.IntegerType(element)
    return type.width, not type.is_unsigned and type.width > 1


def wrap(number, type):
    """An integer as one of a type."""
    width, isSigned = type
    number &= (1 << width) - 1
    return number - (1 << width) if isSigned and number >> width - 1 else number


def divide(a, b):
    """Rounds to zero. None: no number."""
    return None if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a, b):
    return None if b == 0 else a - b * divide(a, b)


COMPUTED = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": divide,
    "remainder": remainder,
    "minimum": min,
    "maximum": max,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "not": lambda a: ~a,
    "negate": lambda a: -a,
    "abs": abs,
    "sign": lambda a: (a > 0) - (a < 0),
    "select": lambda which, a, b: a if which else b,
    "clamp": lambda low, a, high: min(max(low, a), high),
    "convert": lambda a: a,
    "reshape": lambda a: a,
    "broadcast_in_dim": lambda a: a,
    "transpose": lambda a: a,
    "slice": lambda a: a,
}
COMPARED = {
    "EQ": lambda a, b: a == b,
    "NE": lambda a, b: a != b,
    "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b,
}


def compute(op, used, ranks):
    """The integer that an operation computes on each rank, the same for all elements; None if it is not known."""
    name = op.name.removeprefix("stablehlo.")
    type = integer_type(op.results[0]) if len(op.results) == 1 and not op.regions else None
    if type is None:
        return None
    if name == "constant":
        value = op.attributes["value"]
        if not loops.is_of(ir.DenseElementsAttr, value) or not ir.DenseElementsAttr(value).is_splat:
            return None
        splat = ir.DenseElementsAttr(value).get_splat_value()
        number = int(splat.value if hasattr(splat, "value") else ir.IntegerAttr(splat).value)
        return (wrap(number, type),) * ranks
    if name == "compare":
        direction = str(op.attributes["comparison_direction"]).split()[-1].rstrip(">")
        function = COMPARED.get(direction)
    else:
        function = COMPUTED.get(name)
    if function is None or any(each.exact is None for each in used) or any(integer_type(each) is None for each in op.operands):
        return None
    made = [function(*numbers) for numbers in zip(*(each.exact for each in used))]
    if name == "convert" and type[0] == 1:
        made = [each != 0 for each in made]
    return None if None in made else tuple(wrap(int(each), type) for each in made)
