# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives of StableHLO: what ranks exchange.

jaxlib knows no dialect of ours. So each collective becomes the call of a function that the module declares, with
transpositions around it where parts are not of the first dimension. The text of the program defines the function, by
gpu_async.tensor_collective. docs/reference/Ranks.md has these.
"""

import re

from jaxlib.mlir import ir

from . import loops, places

# Collectives by how they are lowered. The last two are numbers of a rank.
REDUCING = ("stablehlo.all_reduce", "stablehlo.reduce_scatter")
MOVING = ("stablehlo.all_gather", "stablehlo.all_to_all", "stablehlo.collective_broadcast", "stablehlo.collective_permute")
NUMBERS = ("stablehlo.partition_id", "stablehlo.replica_id")
COLLECTIVES = REDUCING + MOVING + NUMBERS

REDUCTIONS = {"add": "sum", "multiply": "prod", "minimum": "min", "maximum": "max", "and": "and", "or": "or"}
OF_BOOLEANS = {"sum": "or", "prod": "and", "min": "and", "max": "or"}
ELEMENTS = ("i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64")
# As the compiler has it: GroupOp::maxRanks.
MOST_RANKS = 1 << 20


class Refused(ValueError):
    """A collective that has no lowering."""


def position_of(device, axes, names):
    """The place of a device of a mesh along some axes, outermost first. `axes` has the size of each axis, in order."""
    numbers = {}
    for name, size in reversed(axes.items()):
        device, numbers[name] = divmod(device, size)
    place = 0
    for name in names:
        place = place * axes[name] + numbers[name]
    return place


def lists_along(axes, names):
    """Lists of the devices of a mesh that differ in these axes only, in the order of the axes."""
    lists, others = {}, [name for name in axes if name not in names]
    count = 1
    for size in axes.values():
        count *= size
    for device in range(count):
        lists.setdefault(position_of(device, axes, others), []).append((position_of(device, axes, names), device))
    return [[device for _, device in sorted(each)] for each in lists.values()]


def groups_attribute(lists):
    return ir.Attribute.parse("dense<%s> : tensor<%dx%dxi64>" % (lists, len(lists), len(lists[0])))


def write_groups(module, place_of):
    """Writes groups that name axes of a mesh, as JAX 0.11 has them, as lists of numbers."""
    found = [(op, text) for op in loops.operations(module) if op.name in REDUCING + MOVING and "replica_groups" in op.attributes
             and "replica_group_mesh_axes<" in (text := str(op.attributes["replica_groups"]))]
    if not found:
        return
    from jaxlib.mlir.dialects import sdy

    meshes = {}
    for op in module.regions[0].blocks[0].operations:
        if op.operation.name == "sdy.mesh":
            meshes[ir.StringAttr(op.operation.attributes["sym_name"]).value] = sdy.MeshAttr(op.operation.attributes["mesh"])
    for op, text in found:
        mesh = re.search(r'mesh = @(?:"([^"]+)"|([\w.$-]+))', text)
        mesh = meshes.get(mesh[1] or mesh[2]) if mesh else None
        names = re.findall(r'axis_ref<name = "([^"]*)"([^>]*)>', text)
        axes = {each.name: each.size for each in map(sdy.MeshAxisAttr, mesh.axes)} if mesh else {}
        ids = list(mesh.device_ids) if mesh else []
        if mesh is None or any(rest.strip() or name not in axes for name, rest in names):
            refuse(op, place_of(op), "its replica_groups %s are of no mesh, or of a part of an axis" % text)
        lists = lists_along(axes, [name for name, _ in names])
        op.attributes["replica_groups"] = groups_attribute([[ids[each] for each in one] for one in lists] if ids else lists)


def module_number(module, name):
    """The number in an attribute of the module, 1 if there is none."""
    attributes = module.attributes
    return ir.IntegerAttr(attributes[name]).value if name in attributes else 1


def make(name, types, operands, **attributes):
    return ir.Operation.create("stablehlo." + name, results=types, operands=operands, attributes=attributes).results[0]


def tensor(shape, element):
    return ir.RankedTensorType.get(list(shape), element)


def type_of(value):
    return ir.RankedTensorType(value.type)


def transpose(value, order):
    """The dimensions of a tensor in another order."""
    if list(order) == sorted(order):
        return value
    type = type_of(value)
    made = tensor([type.shape[each] for each in order], type.element_type)
    return make("transpose", [made], [value], permutation=ir.DenseI64ArrayAttr.get(list(order)))


def reshape(value, shape):
    type = type_of(value)
    return value if list(shape) == list(type.shape) else make("reshape", [tensor(shape, type.element_type)], [value])


def convert(value, element):
    type = type_of(value)
    return value if element == type.element_type else make("convert", [tensor(type.shape, element)], [value])


def to_front(dim, rank):
    """The order of dimensions with one in front, and what undoes it."""
    order = [dim] + [each for each in range(rank) if each != dim]
    return order, [order.index(each) for each in range(rank)]


def reduction_of(op, place):
    """The reduction that the region of a collective computes."""
    block = op.regions[0].blocks[0]
    body = [each.operation for each in block.operations]
    name = body[0].name.rpartition(".")[2]
    is_one = (
        len(body) == 2
        and len(block.arguments) == 2
        and name in REDUCTIONS
        and set(body[0].operands) == set(block.arguments)
        and list(body[1].operands) == list(body[0].results)
    )
    if not is_one:
        refuse(op, place, "its region is no single add, multiply, minimum, maximum, and, or of its two arguments; compute it "
               "by all_gather")
    reduction, element = REDUCTIONS[name], str(type_of(block.arguments[0]).element_type)
    return OF_BOOLEANS.get(reduction, reduction) if element == "i1" else reduction


def refuse(op, place, why):
    raise Refused("%s%s has no lowering: %s" % (op.name, place, why))


class Collectives:
    """The collectives of a module. `ranks` is the number of ranks, if it is known before; what the program calls
    partitions are the ranks then. With `lines`, each has its line of the Python program."""

    def __init__(self, module, place_of, ranks=None, lines=False):
        self.module, self.place_of, self.ranks, self.lines = module, place_of, ranks, lines
        self.kind = "partition" if ranks else None  # a rank's place in StableHLO's process grid
        self.definitions, self.groups = [], {}

    MEETING = REDUCING + MOVING

    def find(self):
        """The collectives, in order."""
        return [op for op in loops.operations(self.module) if op.name in COLLECTIVES]

    def refuse(self, op, why):
        refuse(op, self.place_of(op), why)

    def settle(self):
        """Finds out what a rank is, a replica or a partition, and how many there are."""
        if self.ranks:
            return
        replicas, partitions = (module_number(self.module, "mhlo.num_" + each) for each in ("replicas", "partitions"))
        found = self.find()
        if replicas > 1 and partitions > 1 and found:
            self.refuse(found[0], "the program is for %d replicas of %d partitions, and ranks are one of the two"
                        % (replicas, partitions))
        if max(replicas, partitions) > 1:
            self.ranks, self.kind = max(replicas, partitions), "replica" if replicas > 1 else "partition"
            return
        for op in found:
            kind = self.kind_of(op)
            if kind and self.kind and kind != self.kind:
                self.refuse(op, "it is of %ss, and another collective of %ss: ranks are one of the two" % (kind, self.kind))
            self.kind = kind or self.kind

    def channel(self, op):
        text = str(op.attributes["channel_handle"]) if "channel_handle" in op.attributes else ""
        return int((re.search(r"handle = (-?\d+)", text) or ["", "0"])[1])

    def kind_of(self, op):
        """Returns what ids of a collective number, replicas or partitions; None if they may be either."""
        if op.name in NUMBERS:
            return op.name.rpartition(".")[2].removesuffix("_id")
        if op.name in REDUCING + ("stablehlo.all_gather",):
            if "use_global_device_ids" in op.attributes:
                return None
            if self.channel(op) <= 0:
                return "replica"
            # Groups of replicas, each with all of its partitions.
            return "partition" if self.rows(op) == [[0]] else "replica"
        return "partition" if self.channel(op) > 0 else "replica"

    def rows(self, op, name="replica_groups"):
        """The numbers of an attribute, a list for each row."""
        try:
            attribute = ir.DenseIntElementsAttr(op.attributes[name])
            rows, size = ir.RankedTensorType(attribute.type).shape
            numbers = list(attribute)
        except (KeyError, ValueError):
            self.refuse(op, "its %s are no list of lists of numbers" % name)
        return [numbers[row * size : (row + 1) * size] for row in range(rows)]

    def lists_of(self, op):
        """The ranks that meet, as lists, or None if all do and their number is not known."""
        lists = self.rows(op)
        whole = [list(range(self.ranks))] if self.ranks else None
        kind = self.kind_of(op)
        if op.name in REDUCING + ("stablehlo.all_gather",) and "use_global_device_ids" not in op.attributes:
            # The groups are of replicas, and of partitions each with all partitions.
            if self.kind == "partition":
                if lists not in ([[0]], []):
                    self.refuse(op, "its groups are of replicas, of which there is one; write use_global_device_ids with "
                                "groups of ranks")
                if self.channel(op) > 0:
                    return whole
                self.refuse(op, "it is of replicas, of which there is one, and ranks are partitions; write "
                            "use_global_device_ids with groups of ranks")
        elif kind and self.kind and kind != self.kind:
            self.refuse(op, "it is of %ss, and ranks are %ss" % (kind, self.kind))
        lists = [each for each in lists if each]
        if not lists:
            return whole
        members = sorted(each for one in lists for each in one)
        if members[0] < 0 or len({len(each) for each in lists}) > 1:
            self.refuse(op, "its groups differ in size; groups have one size")
        count = self.ranks or len(members)
        if members != list(range(count)):
            self.refuse(op, "its groups have the ranks %s, but each of the ranks 0 to %d is in one group"
                        % (", ".join(map(str, members[:32])), max(count, members[-1] + 1) - 1))
        if len(members) > MOST_RANKS:
            self.refuse(op, "it is for more than %d ranks" % MOST_RANKS)
        return lists

    def group_of(self, lists):
        """The name of a group, as an attribute of an op: " group(@g)", or nothing for all ranks of any number."""
        if lists is None:
            return ""
        key = repr(lists)
        if key not in self.groups:
            self.groups[key] = "gpu_async.group.%d" % len(self.groups)
        return " group(@%s)" % self.groups[key]

    def call(self, op, operands, result, lines):
        """The call of a new function, which computes `result` of %x by `lines` as %r."""
        name = "gpu_async.collective.%d" % len(self.definitions)
        types = [each.type for each in operands]
        # Messages at run time name the line of the collective.
        line = places.find_line(op.location) if self.lines else None
        quoted = re.sub(r'(["\\])', r"\\\1", line[0]) if line else ""
        at = ' loc("%s":%d:%d)' % (quoted, *line[1:]) if line else ""
        text = ["func.func private @%s(%s) -> %s {" % (name, ", ".join("%%x: %s" % each for each in types), result)]
        text += ["  %s%s" % (each, at) for each in (*lines, "return %%r : %s" % result)]
        self.definitions.append("\n".join("  " + each for each in (*text, "}")))
        with ir.InsertionPoint(self.module.regions[0].blocks[0]):
            ir.Operation.create(
                "func.func",
                attributes={
                    "sym_name": ir.StringAttr.get(name),
                    "sym_visibility": ir.StringAttr.get("private"),
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [result])),
                },
                regions=1,
            )
        return ir.Operation.create(
            "func.call", results=[result], operands=operands, attributes={"callee": ir.FlatSymbolRefAttr.get(name)}
        ).results[0]

    def exchange(self, op, what, lists, value, result):
        """The collective of numbers that the compiler knows, on parts of the first dimension."""
        return self.call(op, [value], result, [
            "%%e = tensor.empty() : %s" % result,
            "%%r = gpu_async.tensor_collective %s%s ins(%%x : %s) outs(%%e : %s)"
            % (what, self.group_of(lists), value.type, result),
        ])

    def move(self, op, what, lists, value, shape, reduction=None):
        """Exchanges numbers of any type. Returns a tensor of a shape."""
        given = element = type_of(value).element_type
        if loops.is_of(ir.ComplexType, given):
            if reduction not in (None, "sum"):
                self.refuse(op, "the compiler has no %s of complex numbers among ranks" % reduction)
            part = ir.ComplexType(given).element_type
            parts = [
                self.move(op, what, lists, make(each, [tensor(type_of(value).shape, part)], [value]), shape)
                for each in ("real", "imag")
            ]
            return make("complex", [tensor(shape, given)], parts)
        if loops.is_of(ir.IntegerType, given) and not ir.IntegerType(given).is_signless:
            element = ir.IntegerType.get_signless(ir.IntegerType(given).width)
        if str(element) not in ELEMENTS:
            self.refuse(op, "ranks do not exchange %s; convert it to one of %s" % (given, ", ".join(ELEMENTS)))
        value = convert(value, element)
        # In the order of numbers with a sign, if the smallest one is 0.
        flips = element != given and reduction in ("min", "max")
        value = self.flip(value) if flips else value
        made = self.exchange(op, what, lists, value, tensor(shape, element))
        return convert(self.flip(made) if flips else made, given)

    def flip(self, value):
        """Integers with the highest bit flipped."""
        type = type_of(value)
        least = ir.IntegerAttr.get(type.element_type, -(1 << type.element_type.width - 1))
        mask = make("constant", [type], [], value=ir.DenseElementsAttr.get_splat(type, least))
        return make("xor", [type], [value, mask])

    def lower_number(self, op):
        kind = op.name.rpartition(".")[2].removesuffix("_id")
        if self.kind and kind != self.kind:
            zero = ir.IntegerAttr.get(type_of(op.results[0]).element_type, 0)
            return [make("constant", [op.results[0].type], [], value=ir.DenseElementsAttr.get_splat(op.results[0].type, zero))]
        result = tensor([], ir.IntegerType.get_signless(32))
        group = self.group_of([list(range(self.ranks))] if self.ranks else None)
        made = self.call(op, [], result, [
            "%%n = gpu_async.rank%s" % re.sub(r" group\((.*)\)", r" \1", group),
            "%i = arith.index_cast %n : index to i32",
            "%%r = tensor.from_elements %%i : %s" % result,
        ])
        return [convert(made, type_of(op.results[0]).element_type)]

    def lower_one(self, op, value, result):
        """One operand of a collective."""
        name, shape, rank = op.name, list(type_of(result).shape), len(type_of(value).shape)
        number = lambda attribute: ir.IntegerAttr(op.attributes[attribute]).value
        if name == "stablehlo.all_reduce":
            reduction = reduction_of(op, self.place_of(op))
            return self.move(op, "all_reduce<%s>" % reduction, self.lists_of(op), value, shape, reduction)
        if name == "stablehlo.collective_broadcast":
            return self.move(op, "broadcast<0>", self.lists_of(op), value, shape)
        if name == "stablehlo.collective_permute":
            if self.kind and self.kind_of(op) != self.kind:
                self.refuse(op, "it is of %ss, and ranks are %ss" % (self.kind_of(op), self.kind))
            pairs = self.rows(op, "source_target_pairs")
            if any(not 0 <= each < (self.ranks or MOST_RANKS) for pair in pairs for each in pair):
                self.refuse(op, "its pairs name ranks that there are not")
            lists = [list(range(self.ranks))] if self.ranks else None
            return self.move(op, "permute<%s>" % pairs, lists, value, shape)
        lists = self.lists_of(op)
        if name == "stablehlo.all_to_all":
            return self.lower_all_to_all(op, lists, value, shape, number("split_dimension"), number("concat_dimension"),
                                         number("split_count"))
        is_gather = name == "stablehlo.all_gather"
        dim = number("all_gather_dim" if is_gather else "scatter_dimension")
        order, back = to_front(dim, rank)
        if is_gather:
            what, reduction = "all_gather", None
        else:
            reduction = reduction_of(op, self.place_of(op))
            what = "reduce_scatter<%s>" % reduction
        many, few = (shape, type_of(value).shape) if is_gather else (type_of(value).shape, shape)
        if lists and many[dim] != few[dim] * len(lists[0]):
            self.refuse(op, "its sizes %d and %d in dimension %d do not fit groups of %d" % (many[dim], few[dim], dim, len(lists[0])))
        made = self.move(op, what, lists, transpose(value, order), [shape[each] for each in order], reduction)
        return transpose(made, back)

    def lower_all_to_all(self, op, lists, value, shape, split, concat, count):
        given = list(type_of(value).shape)
        if lists and count != len(lists[0]):
            self.refuse(op, "it splits into %d parts, and its groups have %d ranks" % (count, len(lists[0])))
        if count < 1 or given[split] % count:
            self.refuse(op, "%d parts do not divide the size %d of dimension %d" % (count, given[split], split))
        order, _ = to_front(split, len(given))
        front = transpose(value, order)
        made = self.move(op, "all_to_all", lists, front, [given[each] for each in order])
        # The number of the rank that a part is from, then the part.
        made = reshape(made, [count, given[split] // count] + [given[each] for each in order[1:]])
        place = lambda dim: 1 + order.index(dim)
        back = [each for dim in range(len(given)) for each in ((0, place(dim)) if dim == concat else (place(dim),))]
        return reshape(transpose(made, back), shape)

    def promise(self, op, value, groups):
        """The number that a marked loop or branch depends on, as one that is the same on the ranks of each list of groups."""
        for group in groups:
            value = self.call(op, [value], value.type, ["%%r = gpu_async.uniform %%x%s : %s" % (group, value.type)])
        return value

    def lower(self):
        for op in self.find():
            with op.location, ir.InsertionPoint(op):
                if op.name in NUMBERS:
                    values = self.lower_number(op)
                else:
                    values = [self.lower_one(op, *each) for each in zip(op.operands, op.results)]
            for old, new in zip(list(op.results), values):
                old.replace_all_uses_with(new)
            op.erase()

    def complete(self, text):
        """The text of the module with the definitions in it."""
        if not self.definitions:
            return text
        text = re.sub(r"^  func\.func private @gpu_async\.collective\.\d+\([^\n]*\n", "", text, flags=re.MULTILINE)
        groups = ["  gpu_async.group @%s ranks %s" % (name, lists) for lists, name in self.groups.items()]
        # Behind the module are the locations.
        end = text.rindex("\n}") + 1
        return text[:end] + "\n".join(groups + self.definitions) + "\n" + text[end:]
