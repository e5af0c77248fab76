# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds values of a StableHLO program that are the same on several ranks.

The compiler refuses a collective under control flow that may differ between the ranks that meet. Of arrays it knows
little, since kernels have written them. Here each value has a number for each rank: where two numbers are equal, so are
the values. A loop or branch whose condition is the same on all ranks that meet in it is marked, and `gpu_async.uniform`
says so to the compiler. What is not known to be the same stays unmarked, and is refused.
"""

from jaxlib.mlir import ir

from . import host_calls, loops

MARK = "gpu_async.uniform"
BRANCHES = ("stablehlo.while", "stablehlo.if", "stablehlo.case")


def numbered(keys):
    """Numbers in place of keys, equal ones for equal keys."""
    known = {}
    return tuple(known.setdefault(key, len(known)) for key in keys)


class Uniformity:
    """`exchanged` has the module's collectives, and `arguments` a key for each rank of each argument of @main; without
    them ranks have different arguments."""

    def __init__(self, exchanged, arguments):
        self.exchanged, self.ranks = exchanged, exchanged.ranks
        self.same, self.other = (0,) * self.ranks, tuple(range(self.ranks))
        # By value: a number for each rank, and whether it depends on anything but constants.
        self.known, self.changed = {}, False
        self.functions = {}
        for op in exchanged.module.regions[0].blocks[0].operations:
            if op.operation.name == "func.func":
                self.functions[ir.StringAttr(op.operation.attributes["sym_name"]).value] = op.operation
        for name, function in self.functions.items():
            is_private = "sym_visibility" in function.attributes and "private" in str(function.attributes["sym_visibility"])
            for number, argument in enumerate(function.regions[0].blocks[0].arguments):
                if name == "main" and arguments is not None:
                    self.meet(argument, (numbered(arguments[number]), True))
                elif not is_private:
                    self.meet(argument, (self.other, True))

    def of(self, value):
        return self.known.get(value, (self.same, False))

    def meet(self, value, *others):
        """Takes into account what the value is made of."""
        all = [self.of(value), *others]
        made = numbered(zip(*(each for each, _ in all))), any(depends for _, depends in all)
        if made != self.known.get(value):
            self.known[value], self.changed = made, True

    def mark(self):
        """Marks branches and loops."""
        found = [op for op in loops.operations(self.exchanged.module) if op.name in BRANCHES]
        needed = [(op, lists) for op in found if (lists := self.lists_in(op, set()))]
        if not needed:
            return
        self.changed = True
        while self.changed:
            self.changed = False
            for function in self.functions.values():
                self.visit_block(function.regions[0].blocks[0])
        for op, lists in needed:
            numbers, depends = self.of(self.condition(op))
            if depends and all(len({numbers[rank] for rank in each}) == 1 for each in lists):
                op.attributes[MARK] = ir.UnitAttr.get()

    def condition(self, op):
        return self.end(op.regions[0]).operands[0] if op.name == "stablehlo.while" else op.operands[0]

    @staticmethod
    def end(region):
        return list(region.blocks[0].operations)[-1].operation

    def lists_of(self, op):
        if op.name == "stablehlo.collective_permute":
            return [list(range(self.ranks))]
        return self.exchanged.lists_of(op)

    def lists_in(self, op, seen):
        """The ranks that meet in collectives under an operation."""
        found = []
        for inner in loops.operations(op):
            if inner.name in self.exchanged.MEETING:
                found += self.lists_of(inner)
            elif inner.name == "func.call":
                name = ir.FlatSymbolRefAttr(inner.attributes["callee"]).value
                if name in self.functions and name not in seen:
                    seen.add(name)
                    found += self.lists_in(self.functions[name], seen)
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
            for region in op.regions:
                for value, result in zip(self.end(region).operands, op.results):
                    self.meet(result, self.of(value), self.of(op.operands[0]))
        elif op.name in self.exchanged.MEETING:
            for value, result in zip(op.operands, op.results):
                self.meet(result, (self.exchange(op, self.of(value)[0]), True))
        elif op.name in ("stablehlo.partition_id", "stablehlo.replica_id", "stablehlo.rng") or (
            host_calls.target_of(op) == host_calls.CALLBACK
        ):
            for result in op.results:
                self.meet(result, (self.other, True))
        elif op.name != "stablehlo.constant":
            used = [self.of(value) for each in (op, *loops.operations(op)) for value in each.operands]
            for result in op.results:
                self.meet(result, *used)

    def visit_while(self, op):
        condition, body = op.regions[0].blocks[0], op.regions[1].blocks[0]
        decides = self.of(self.condition(op))
        for init, next, *values in zip(op.operands, self.end(op.regions[1]).operands, condition.arguments, body.arguments, op.results):
            # Ranks that do another number of rounds have other values.
            for value in values:
                self.meet(value, self.of(init), self.of(next), decides)

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
