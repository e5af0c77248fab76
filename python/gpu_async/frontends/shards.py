# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bodies of JAX's shard_map: a program for several ranks becomes the program of one.

JAX lowers a shard_map to an sdy.manual_computation, whose region computes with the parts that one rank has. Here the
region takes its place. An argument of the program that only such regions take arrives in parts, and a result that a
region returns leaves in parts: `Parts` says how, for whoever calls the program. All other values outside of regions are
whole arrays, which each rank computes for itself. A rank takes its part of one by a slice, and makes one of parts by
all_gather.
"""

from jaxlib.mlir import ir

from . import loops
from .collectives import groups_attribute, lists_along, make, position_of, tensor, type_of

MANUAL = "sdy.manual_computation"
# On a manual computation: its number. Operations of the bindings are no keys, since their hash is of what they hold.
NUMBER = "gpu_async.number"


class Parts:
    """How arguments and results of a program are divided among the ranks. `arguments` and `results` have, for each
    value, the axes of the mesh that divide each dimension, outermost first. No axes: each rank has all of it."""

    def __init__(self):
        self.axes = {}  # of the mesh: the size of each, in order
        self.arguments, self.results = [], []

    def keep_whole(self, axes, arguments, results):
        """Divides nothing. `arguments` and `results` are numbers of dimensions."""
        self.axes = dict(axes)
        self.arguments, self.results = ([((),) * each for each in all] for all in (arguments, results))

    @property
    def ranks(self):
        count = 1
        for size in self.axes.values():
            count *= size
        return count

    def position(self, rank, axes):
        """The number of a rank's part along a dimension that these axes divide."""
        return position_of(rank, self.axes, axes)

    def count(self, axes):
        """The number of parts along a dimension that these axes divide."""
        count = 1
        for name in axes:
            count *= self.axes[name]
        return count

    def keys(self):
        """For each argument, what tells the parts of the ranks apart."""
        return [[tuple(self.position(rank, axes) for axes in dims) for rank in range(self.ranks)] for dims in self.arguments]

    def cut(self, array, dims, rank):
        """A rank's part of an array of NumPy's."""
        where = []
        for size, axes in zip(array.shape, dims):
            part = size // self.count(axes)
            begin = part * self.position(rank, axes)
            where.append(slice(begin, begin + part))
        return array[tuple(where)]

    def join(self, parts, dims, empty):
        """The array that the ranks have parts of. `empty` makes an array of a shape. Of equal parts it takes the first
        rank's."""
        if not any(dims):
            return parts[0]
        whole = empty(tuple(size * self.count(axes) for size, axes in zip(parts[0].shape, dims)))
        seen = set()
        for rank, part in enumerate(parts):
            place = tuple(self.position(rank, axes) for axes in dims)
            if place not in seen:
                seen.add(place)
                whole[tuple(slice(at * size, (at + 1) * size) for at, size in zip(place, part.shape))] = part
        return whole

    def describe_all(self):
        """Comments of a program that say which part a rank has; nothing of a program of one rank."""
        if self.ranks == 1:
            return ""
        lines = ["of %d ranks, a mesh of %s" % (self.ranks, " x ".join("%s=%d" % each for each in self.axes.items()))]
        for what, all in (("argument", self.arguments), ("result", self.results)):
            lines += ["%s %d: %s" % (what, number, self.describe(dims)) for number, dims in enumerate(all)]
        return "".join("// %s\n" % each for each in lines)

    def describe(self, dims):
        """How an array is divided, as JAX writes it: P('x', None)."""
        names = ["None" if not axes else repr(axes[0]) if len(axes) == 1 else repr(tuple(axes)) for axes in dims]
        while names and names[-1] == "None":
            names.pop()
        return "P(%s)" % ", ".join(names)


def manual_around(op):
    """The manual computation that an operation is in, or None."""
    op = op.parent
    while op is not None and op.name not in (MANUAL, "builtin.module"):
        op = op.parent
    return op if op is not None and op.name == MANUAL else None


class Shards:
    """Takes manual computations out of a module."""

    def __init__(self, module, refuse, parts):
        # sdy is not in every version of jaxlib.
        from jaxlib.mlir.dialects import sdy

        self.sdy, self.module, self.refuse, self.parts = sdy, module, refuse, parts
        self.meshes = {}
        self.ins, self.outs = [], []  # by number of a manual computation: how its values are divided
        self.local = {}  # by result of a manual computation: its part, and how it is divided
        self.main = None

    def read_meshes(self):
        for op in self.module.regions[0].blocks[0].operations:
            op = op.operation
            if op.name == "sdy.mesh":
                self.meshes[ir.StringAttr(op.attributes["sym_name"]).value] = op
            elif op.name == "func.func" and ir.StringAttr(op.attributes["sym_name"]).value == "main":
                self.main = op

    def use_mesh(self, op, name):
        """Takes the axes of a mesh for those of the program."""
        mesh = self.sdy.MeshAttr(self.meshes[name].attributes["mesh"])
        axes = {each.name: each.size for each in map(self.sdy.MeshAxisAttr, mesh.axes)}
        ids = list(mesh.device_ids)
        if ids and ids != list(range(len(ids))):
            self.refuse(op, "its mesh has the devices %s; ranks are in order: make the mesh by jax.make_mesh, or "
                        "jax.sharding.AbstractMesh" % ids)
        if self.parts.axes and self.parts.axes != axes:
            self.refuse(op, "its mesh %s is another one than %s; all of a function are of one mesh" % (axes, self.parts.axes))
        self.parts.axes = axes

    def shardings_of(self, op, name, manual):
        """How values are divided, of which an attribute of a manual computation tells."""
        found = []
        for each in self.sdy.TensorShardingPerValueAttr(op.attributes[name]).shardings:
            sharding = self.sdy.TensorShardingAttr(each)
            mesh = str(sharding.mesh_or_ref)
            if not mesh.startswith("@"):
                self.refuse(op, "its mesh has no name")
            self.use_mesh(op, mesh[1:].strip('"'))
            if list(sharding.unreduced_axes):
                self.refuse(op, "it has unreduced values; reduce them by jax.lax.psum")
            dims = []
            for dimension in map(self.sdy.DimensionShardingAttr, sharding.dimension_shardings):
                axes = []
                for axis in map(self.sdy.AxisRefAttr, dimension.axes):
                    if axis.sub_axis_info is not None or axis.name not in manual:
                        self.refuse(op, "the axis %s divides an array, and is no axis of the shard_map" % axis.name)
                    axes.append(axis.name)
                dims.append(tuple(axes))
            found.append(tuple(dims))
        return found

    def check_type(self, op, whole, part, dims):
        sizes = [size * self.parts.count(axes) for size, axes in zip(type_of(part).shape, dims)]
        if list(type_of(whole).shape) != sizes:
            self.refuse(op, "%s divides no array of %s into %s" % (self.parts.describe(dims), whole.type, part.type))

    def coordinate(self, axes):
        """The number of a rank's part, as i32."""
        i32 = tensor([], ir.IntegerType.get_signless(32))
        number = lambda value: make("constant", [i32], [], value=ir.DenseElementsAttr.get_splat(
            i32, ir.IntegerAttr.get(i32.element_type, value)))
        id = make("partition_id", [tensor([], ir.IntegerType.get_unsigned(32))], [])
        id = make("convert", [i32], [id])
        place, strides, stride = None, {}, 1
        for name, size in reversed(self.parts.axes.items()):
            strides[name], stride = stride, stride * size
        for name in axes:
            one = make("divide", [i32], [id, number(strides[name])])
            one = make("remainder", [i32], [one, number(self.parts.axes[name])])
            place = one if place is None else make(
                "add", [i32], [make("multiply", [i32], [place, number(self.parts.axes[name])]), one])
        return place, number

    def take_part(self, whole, dims, type):
        """A rank's part of a whole array."""
        if not any(dims):
            return whole
        sizes, starts = list(ir.RankedTensorType(type).shape), []
        for size, axes in zip(sizes, dims):
            place, number = self.coordinate(axes)
            i32 = number(0).type
            starts.append(make("multiply", [i32], [place, number(size)]) if axes else number(0))
        return make("dynamic_slice", [type], [whole, *starts], slice_sizes=ir.DenseI64ArrayAttr.get(sizes))

    def make_whole(self, part, dims):
        """The whole array on each rank."""
        for dim, axes in enumerate(dims):
            if not axes:
                continue
            type = type_of(part)
            shape = list(type.shape)
            shape[dim] *= self.parts.count(axes)
            part = ir.Operation.create(
                "stablehlo.all_gather",
                results=[tensor(shape, type.element_type)],
                operands=[part],
                attributes={
                    "all_gather_dim": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), dim),
                    "replica_groups": groups_attribute(lists_along(self.parts.axes, axes)),
                    "channel_handle": ir.Attribute.parse("#stablehlo.channel_handle<handle = 1, type = 1>"),
                    "use_global_device_ids": ir.UnitAttr.get(),
                },
            ).result
        return part

    def taken_by(self, use):
        """How a manual computation that has this use divides the value; None of other uses."""
        op = use.owner.operation
        if op.name != MANUAL or manual_around(op):
            return None
        return self.ins[self.number_of(op)][use.operand_number]

    def lower_one(self, op, ins, outs):
        block = op.regions[0].blocks[0]
        with op.location, ir.InsertionPoint(op):
            values = {}
            for operand, argument, dims in zip(op.operands, block.arguments, ins):
                known = self.local.get(operand)
                if known and known[1] == dims:
                    values[argument] = known[0]
                else:
                    self.check_type(op, operand, argument, dims)
                    values[argument] = self.take_part(operand, dims, argument.type)
            *body, end = [each.operation for each in block.operations]
            for inner in body:
                made = inner.clone(ir.InsertionPoint(op)).operation
                loops.substitute(made, values)
                values.update(zip(inner.results, made.results))
            for result, value, dims in zip(op.results, end.operands, outs):
                part = values.get(value, value)
                self.check_type(op, result, part, dims)
                self.local[result] = part, dims
                self.hand_on(result, part, dims)

    def hand_on(self, result, part, dims):
        """Makes the whole array for uses that need it. Others take the part, in `lower_one` and `finish`."""
        wanted = [
            (use.owner.operation, use.operand_number)
            for use in result.uses
            if not (use.owner.operation.name == "func.return" and use.owner.operation.parent == self.main)
            and self.taken_by(use) != dims
        ]
        if wanted:
            whole = self.make_whole(part, dims)
            for owner, number in wanted:
                owner.operands[number] = whole

    def lower(self):
        """Returns whether the module has manual computations."""
        self.read_meshes()
        manual = [op for op in loops.operations(self.module) if op.name == MANUAL]
        if not manual:
            return False
        if self.main is None:
            self.refuse(manual[0], "the program has no function @main")
        for number, op in enumerate(manual):
            names = list(self.sdy.ManualAxesAttr(op.attributes["manual_axes"]))
            self.ins.append(self.shardings_of(op, "in_shardings", names))
            self.outs.append(self.shardings_of(op, "out_shardings", names))
            op.attributes[NUMBER] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64, op.context), number)
        # Within another one, arrays are whole along its axes: JAX makes such regions for lax.axis_index, too.
        outer = [op for op in manual if not manual_around(op)]
        for op in outer:
            self.lower_nested(op)
        self.lower_outer(outer)
        return True

    def lower_nested(self, op):
        """Takes the manual computations in one out of it."""
        inside = [each for each in loops.operations(op) if each.name == MANUAL and manual_around(each) == op]
        for each in inside:
            self.lower_nested(each)
            number = self.number_of(each)
            self.lower_one(each, self.ins[number], self.outs[number])
        for each in reversed(inside):
            each.erase()

    @staticmethod
    def number_of(op):
        return ir.IntegerAttr(op.attributes[NUMBER]).value

    def lower_outer(self, manual):
        block = self.main.regions[0].blocks[0]
        for argument in block.arguments:
            ways = {self.taken_by(use) for use in argument.uses}
            dims = ways.pop() if len(ways) == 1 else None
            self.parts.arguments.append(dims or ((),) * len(type_of(argument).shape))
            if not dims:
                continue
            use = next(iter(argument.uses))
            inner = use.owner.operation.regions[0].blocks[0].arguments[use.operand_number]
            self.check_type(use.owner.operation, argument, inner, dims)
            argument.set_type(inner.type)
            self.local[argument] = argument, dims
        for op in manual:
            number = self.number_of(op)
            self.lower_one(op, self.ins[number], self.outs[number])
        self.finish(block, manual)

    def finish(self, block, manual):
        """Results of @main that are parts, and its type."""
        end = list(block.operations)[-1].operation
        for number, value in enumerate(list(end.operands)):
            part, dims = self.local.get(value, (value, None))
            if not dims:
                dims = ((),) * len(type_of(value).shape)
            end.operands[number] = part
            self.parts.results.append(dims)
        # Later ones still take results of earlier ones, whose parts they have.
        for op in reversed(manual):
            op.erase()
        types = [[each.type for each in values] for values in (block.arguments, end.operands)]
        self.main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(*types))


