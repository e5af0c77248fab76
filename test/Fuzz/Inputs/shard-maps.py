#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random functions with jax.shard_map: gpu_async.jit(f, mesh=mesh) against JAX on 4 fake devices of the CPU.

    shard-maps.py BUILD/bin/gpu-runner --programs=200 --seed=1

A function has arguments of several types and a body of elementwise operations, products, loops, branches and
collectives over all axes of the mesh. Some have several shard_maps, and operations around them. Some meshes have axes of
the type Explicit, and some shard_maps take a part of the axes and have another one inside. Branches and loops depend on
data that the ranks have in common, on elements of constants, and on the rank's place along axes that the collectives in
them leave out. A few functions have a branch that differs between ranks that meet: gpu_async refuses these, and JAX does
not run them. It needs jax and numpy, and the package in BUILD/python. A failure prints the seed, which draws the same
function again, and the text of the function goes to the folder --keep.
"""

import argparse
import os
import random
import subprocess
import sys
import time

RANKS = 4
MESHES = [(("x", 4),), (("x", 2), ("y", 2)), (("x", 4), ("y", 1)), (("a", 1), ("b", 2), ("c", 2))]
TYPES = ["float32"] * 6 + ["int32"] * 2 + ["bfloat16", "float16", "uint8", "uint32", "int8", "bool", "complex64"]


class Value:
    """A local array in the body: its name, sizes and type."""

    def __init__(self, name, shape, dtype):
        self.name, self.shape, self.dtype = name, tuple(shape), dtype

    @property
    def is_float(self):
        return "float" in self.dtype


class Function:
    """Draws a function, as the text of a Python function `f` over `mesh`."""

    def __init__(self, seed, size):
        self.random, self.count = random.Random(seed), 0
        self.axes = dict(self.random.choice(MESHES))
        self.used, self.lines, self.arguments = set(), [], []
        # Axes that collectives may take, and that the shard_map takes.
        self.allowed = self.manual = list(self.axes)
        self.types = "Auto"
        if len(self.axes) > 1 and self.chance(4):
            self.manual = self.allowed = self.random.sample(list(self.axes), self.random.randint(1, len(self.axes) - 1))
            self.used.add("partial")
        elif self.chance(4):
            self.types = "Explicit"
            self.used.add("explicit")
        self.differs = False
        self.statements = self.random.randint(2, size)
        self.draw()

    def choice(self, values):
        return self.random.choice(list(values))

    def chance(self, of=2):
        return self.random.randrange(of) == 0

    def name(self):
        self.count += 1
        return "v%d" % self.count

    def some_axes(self):
        names = list(self.allowed)
        self.random.shuffle(names)
        return tuple(names[: self.random.randint(1, len(names))])

    def size_of(self, axes):
        count = 1
        for name in axes:
            count *= self.axes[name]
        return count

    def spec(self, rank):
        """How an array is divided: the axes of each dimension. Each axis is there at most once."""
        dims, left = [()] * rank, list(self.manual)
        self.random.shuffle(left)
        while left and rank and not self.chance(3):
            dim = self.random.randrange(rank)
            dims[dim] += (left.pop(),)
        return dims

    @staticmethod
    def text_of(dims):
        return "P(%s)" % "".join("%s, " % (repr(axes[0]) if len(axes) == 1 else repr(axes) if axes else "None") for axes in dims)

    def draw(self):
        parameters = []
        for number in range(self.random.randint(1, 3)):
            rank = self.choice([0, 1, 1, 2, 2, 2, 3])
            dims = self.spec(rank)
            local = [self.choice([1, 2, 2, 3, 4]) for _ in range(rank)]
            shape = [size * self.size_of(axes) for size, axes in zip(local, dims)]
            # XLA's CPU backend crashes at small types in all_reduce of a part of the axes (jaxlib 0.11.2).
            dtype = self.choice([each for each in TYPES if len(self.manual) == len(self.axes) or "8" not in each and "16" not in each])
            self.arguments.append((shape, dtype))
            parameters.append((Value("p%d" % number, local, dtype), dims))
        first, results = self.body(parameters)
        arguments = ["a%d" % number for number in range(len(self.arguments))]
        self.lines = ["def f(%s):" % ", ".join(arguments)]
        if self.chance(4):  # an operation around it
            for number, (shape, dtype) in enumerate(self.arguments):
                if "float" in dtype:
                    self.lines.append("    a%d = jnp.sin(a%d)" % (number, number))
        self.lines += first
        self.map("r", parameters, results, arguments)
        out = ["r%d" % number for number in range(len(results))]
        if self.chance(3):  # another shard_map, of results of the first one
            again = []
            for number, (value, dims) in enumerate(results):
                shape = [size * self.size_of(axes) for size, axes in zip(value.shape, dims)]
                other = dims
                if self.chance():
                    other = [axes if size % self.size_of(axes) == 0 else () for size, axes in zip(shape, self.spec(len(shape)))]
                again.append((Value("q%d" % number, [size // self.size_of(axes) for size, axes in zip(shape, other)], value.dtype), other))
            second, more = self.body(again)
            if self.chance(3) and results[0][0].is_float:
                self.lines.append("    r0 = r0 * 0.5")
            self.lines += second
            self.map("s", again, more, out)
            out = out[: self.random.randint(0, 1)] + ["s%d" % number for number in range(len(more))]
        self.lines.append("    return %s," % ", ".join(out))
        self.text = "\n".join(self.lines) + "\n"

    def map(self, prefix, parameters, results, arguments):
        if self.types == "Explicit":
            arguments = ["jax.reshard(%s, jax.sharding.NamedSharding(mesh, %s))" % (name, self.text_of(dims))
                         for name, (_, dims) in zip(arguments, parameters)]
        self.lines.append(
            "    %s, = jax.shard_map(body_%s, mesh=mesh, in_specs=(%s,), out_specs=(%s,), %scheck_vma=False)(%s)"
            % (
                ", ".join("%s%d" % (prefix, number) for number in range(len(results))),
                parameters[0][0].name[0],
                ", ".join(self.text_of(dims) for _, dims in parameters),
                ", ".join(self.text_of(dims) for _, dims in results),
                "axis_names={%s}, " % ", ".join(map(repr, self.manual)) if len(self.manual) < len(self.axes) else "",
                ", ".join(arguments),
            )
        )

    def body(self, parameters):
        """The lines of a body, and its results: values, and how they are divided."""
        self.pool = [value for value, _ in parameters]
        self.out, self.indent = [], "        "
        for _ in range(self.statements):
            self.statement()
        if self.chance(12):
            self.differ()
        results = []
        for value in self.random.sample(self.pool, min(len(self.pool), self.random.randint(1, 3))):
            dims = self.spec(len(value.shape))
            left = tuple(axis for axis in self.manual if not any(axis in axes for axes in dims))
            if left:  # equal on all ranks that have the same part
                value = self.reduce(value, left)
            results.append((value, dims))
        lines = ["    def body_%s(%s):" % (parameters[0][0].name[0], ", ".join(value.name for value, _ in parameters))]
        lines += self.out
        lines.append("        return %s," % ", ".join(value.name for value, _ in results))
        return lines, results

    def add(self, shape, dtype, text, *values):
        value = Value(self.name(), shape, dtype)
        self.out.append("%s%s = %s" % (self.indent, value.name, text.format(*(each.name for each in values), d="jnp." + dtype)))
        self.pool.append(value)
        return value

    def reduce(self, value, axes):
        kind = self.choice(["psum", "pmax", "pmin"])
        if value.dtype == "complex64":
            kind = "psum"
        if value.dtype == "bool":  # JAX makes numbers of booleans
            return self.add(value.shape, "bool", "lax.%s({0}.astype(jnp.int32), %r) > 0" % (kind, axes), value)
        self.used.add(kind)
        scale = " * {d}(0.5)" if value.is_float and kind == "psum" else ""
        return self.add(value.shape, value.dtype, "lax.%s({0}, %r)%s" % (kind, axes, scale), value)

    def statement(self):
        kinds = [self.elementwise] * 3 + [self.collective] * 5 + [self.shape_change, self.index, self.product] + [self.loop] * 2
        if len(self.manual) < len(self.axes):
            kinds.append(self.nested)
        self.choice(kinds)()

    def differ(self):
        """A branch that ranks part at which meet in it."""
        values = [each for each in self.pool if each.dtype == "float32"]
        axes = [axis for axis in self.allowed if self.axes[axis] > 1]
        if values and axes:
            axis = self.choice(axes)
            value = self.choice(values)
            condition = self.choice(["lax.axis_index(%r) == 0" % axis, "jnp.arange(%d)[lax.axis_index(%r)] > 0" % (self.axes[axis], axis)])
            self.add(value.shape, value.dtype, "lax.cond(%s, lambda c: lax.psum(c, %r), jnp.cos, {0})" % (condition, axis), value)
            self.differs = True

    def nested(self):
        """A shard_map inside, along an axis that the one around it leaves."""
        axis = self.choice([each for each in self.axes if each not in self.manual])
        found = [(value, dim) for value in self.pool for dim, size in enumerate(value.shape)
                 if value.dtype == "float32" and size % self.axes[axis] == 0]
        if not found or self.indent != "        ":
            return
        value, dim = self.choice(found)
        spec = self.text_of([(axis,) if each == dim else () for each in range(len(value.shape))])
        out, text = spec, "jnp.sin(b) + lax.axis_index(%r).astype(b.dtype)" % axis
        shape = list(value.shape)
        if self.chance():
            out, text = self.text_of([()] * len(shape)), "lax.psum(b, %r) * 0.5" % axis
            shape[dim] //= self.axes[axis]
        self.used.add("nested")
        self.add(shape, "float32", "jax.shard_map(lambda b: %s, in_specs=%s, out_specs=%s, axis_names={{%r}}, check_vma=False)({0})"
                 % (text, spec, out, axis), value)

    def elementwise(self):
        value = self.choice(self.pool)
        other = self.choice([each for each in self.pool if each.shape == value.shape and each.dtype == value.dtype])
        if value.dtype == "bool":
            text = self.choice(["{0} & {1}", "{0} | ~{1}", "{0} ^ {1}"])
        elif value.is_float:
            text = self.choice(["jnp.sin({0})", "{0} * {d}(0.5) + {1}", "jnp.maximum({0}, {1})", "jnp.where({0} > {1}, {0}, {1} * {d}(0.25))"])
        elif value.dtype == "complex64":
            text = self.choice(["{0} * {d}(0.5) + {1}", "{0} - {1}", "jnp.conj({0})"])
        else:
            text = self.choice(["{0} + {1}", "{0} * {1}", "jnp.minimum({0}, {1})", "{0} ^ {1}", "{0} - {d}(3)"])
        self.add(value.shape, value.dtype, text, value, other)

    def product(self):
        pairs = [(a, b) for a in self.pool for b in self.pool
                 if a.dtype == b.dtype == "float32" and len(a.shape) == len(b.shape) == 2 and a.shape[1] == b.shape[0]]
        if pairs:
            a, b = self.choice(pairs)
            self.add((a.shape[0], b.shape[1]), "float32", "jnp.tanh({0} @ {1})", a, b)

    def shape_change(self):
        value = self.choice(self.pool)
        if not value.shape:
            return
        dim = self.random.randrange(len(value.shape))
        kind = self.choice(["transpose", "slice", "reshape", "sum"])
        if kind == "transpose":
            order = list(range(len(value.shape)))
            self.random.shuffle(order)
            self.add([value.shape[each] for each in order], value.dtype, "jnp.transpose({0}, %r)" % (tuple(order),), value)
        elif kind == "slice" and value.shape[dim] > 1:
            shape = list(value.shape)
            shape[dim] -= 1
            self.add(shape, value.dtype, "lax.slice_in_dim({0}, 1, None, axis=%d)" % dim, value)
        elif kind == "reshape":
            count = 1
            for size in value.shape:
                count *= size
            self.add([count], value.dtype, "{0}.reshape(-1)", value)
        elif kind == "sum" and value.dtype in ("float32", "int32"):
            self.add(value.shape[:dim] + value.shape[dim + 1 :], value.dtype, "jnp.max({0}, axis=%d)" % dim, value)

    def index(self):
        axes = self.some_axes()
        if self.chance():
            self.add((), "int32", "lax.axis_index(%r)" % (axes if len(axes) > 1 else axes[0],))
            return
        value = self.choice(self.pool)
        if value.dtype not in ("bool", "complex64"):
            self.add(value.shape, value.dtype, "{0} + lax.axis_index(%r).astype({d})" % (axes,), value)

    def collective(self, only_same=False):
        value, axes = self.choice(self.pool), self.some_axes()
        count, rank = self.size_of(axes), len(value.shape)
        # A permute is one of all ranks.
        kinds = ["reduce", "pmean"] + (["permute"] if len(self.allowed) == len(self.manual) == len(self.axes) else []) + ([] if only_same else ["gather", "scatter", "all_to_all"])
        kind = self.choice(kinds)
        if kind == "reduce":
            self.reduce(value, axes)
        elif kind == "pmean" and value.dtype == "float32":
            self.used.add(kind)
            self.add(value.shape, value.dtype, "lax.pmean({0}, %r)" % (axes,), value)
        elif kind == "permute":
            axes = tuple(each for each in self.axes if each in axes)  # JAX asks for the order of the mesh
            ranks = list(range(count))
            pairs = list(zip(ranks, self.random.sample(ranks, count)))
            pairs = self.random.sample(pairs, self.random.randint(1, count))
            self.used.add(kind)
            self.add(value.shape, value.dtype, "lax.ppermute({0}, %r, %r)" % (axes, pairs), value)
        elif kind == "gather":
            self.used.add(kind)
            if rank and self.chance():
                dim = self.random.randrange(rank)
                shape = list(value.shape)
                shape[dim] *= count
                if shape[dim] <= 32:
                    self.add(shape, value.dtype, "lax.all_gather({0}, %r, axis=%d, tiled=True)" % (axes, dim), value)
            elif rank < 3:
                dim = self.random.randint(0, rank)
                shape = list(value.shape)
                shape.insert(dim, count)
                self.add(shape, value.dtype, "lax.all_gather({0}, %r, axis=%d)" % (axes, dim), value)
        elif kind == "scatter" and rank and value.dtype != "bool":
            dim = self.random.randrange(rank)
            shape = list(value.shape)
            is_tiled = self.chance()
            if shape[dim] % count if is_tiled else shape[dim] != count:
                return
            self.used.add(kind)
            if is_tiled:
                shape[dim] //= count
            else:
                del shape[dim]
            scale = " * {d}(0.5)" if value.is_float else ""
            self.add(shape, value.dtype, "lax.psum_scatter({0}, %r, scatter_dimension=%d, tiled=%s)%s" % (axes, dim, is_tiled, scale), value)
        elif kind == "all_to_all" and rank:
            split, concat = self.random.randrange(rank), self.random.randrange(rank)
            shape = list(value.shape)
            if shape[split] % count:
                return
            self.used.add(kind)
            shape[split] //= count
            shape[concat] *= count
            self.add(shape, value.dtype, "lax.all_to_all({0}, %r, %d, %d, tiled=True)" % (axes, split, concat), value)

    def loop(self):
        """A loop or a branch with a collective in it, whose condition is the same on all ranks."""
        value = self.choice(self.pool)
        if value.dtype != "float32" or self.indent != "        ":
            return
        all, before = tuple(self.manual), self.allowed
        kinds = ["fori", "while", "cond", "scan", "constants"] + (["place"] * 2 if len(self.manual) > 1 else [])
        name, kind = self.name(), self.choice(kinds)
        if kind == "scan" and not value.shape:
            return
        if kind == "place":  # of ranks along axes that collectives in it leave out
            self.allowed = self.random.sample(before, self.random.randint(1, len(before) - 1))
        saved, axes = self.pool, self.some_axes()
        self.used.add(kind)
        carried = Value("c", value.shape[1:] if kind == "scan" else value.shape, "float32")
        heads = {"fori": "i, c", "while": "c", "cond": "c", "scan": "c, _", "constants": "c", "place": "c"}
        self.out.append("%sdef g%s(%s):" % (self.indent, name, heads[kind]))
        self.indent, self.pool = self.indent + "    ", [carried]
        for _ in range(self.random.randint(1, 2)):
            if self.chance():
                self.collective(only_same=True)
            else:
                self.elementwise()
        self.reduce(self.choice(self.pool), axes)
        last = self.pool[-1].name
        if kind == "scan":
            self.out.append("%sreturn jnp.tanh(%s), %s" % (self.indent, last, last))
        elif kind == "while":
            self.out.append("%sreturn jnp.tanh(%s) * 0.5" % (self.indent, last))
        else:
            self.out.append("%sreturn jnp.tanh(%s)" % (self.indent, last))
        self.indent, self.pool = self.indent[:-4], saved
        if kind == "place":
            other = self.choice([each for each in before if each not in self.allowed])
            self.allowed = before
            number = "lax.axis_index(%r)" % other
            text = self.choice(["lax.cond(%s == 0, g%s, jnp.cos, {0})", "lax.switch(%s, [jnp.sin, g%s, jnp.cos], {0})",
                                "lax.fori_loop(0, %s + 1, lambda i, c: g%s(c), {0})",
                                "lax.fori_loop(0, 3, lambda i, c: lax.cond(%s * 2 >= i, g%s, jnp.cos, c), {0})"])
            self.add(value.shape, "float32", text % (number, name), value)
            return
        if kind == "constants":
            table = [self.random.randint(-2, 3) for _ in range(self.random.randint(1, 4))]
            text = self.choice(["lax.scan(lambda c, k: (lax.cond(k %% 2 == 0, g%s, jnp.cos, c), None), {0}, jnp.array(%r))[0]",
                                "lax.fori_loop(0, 2, lambda i, c: lax.cond(jnp.array(%r)[i] > 0, g%s, jnp.cos, c), {0})"])
            self.add(value.shape, "float32", text % ((name, table) if "scan" in text else (table, name)), value)
            return
        limit = "lax.pmax(jnp.abs({0}).max(), %r) < 0.6" % (all,)
        if kind == "fori":
            self.add(value.shape, "float32", "lax.fori_loop(0, %d, g%s, {0})" % (self.random.randint(0, 3), name), value)
        elif kind == "scan":
            self.add(value.shape, "float32", "lax.scan(g%s, jnp.zeros_like({0}[0]), {0})[1]" % name, value)
        elif kind == "cond":
            self.add(value.shape, "float32", "lax.cond(%s, g%s, jnp.cos, {0})" % (limit, name), value)
        else:
            self.add(value.shape, "float32",
                     "lax.while_loop(lambda c: (c[1] < 6) & (lax.pmax(jnp.abs(c[0]).max(), %r) > 0.3), lambda c: (g%s(c[0]), c[1] + 1), "
                     "({0}, 0))[0]" % (all, name), value)


def arrays_of(function, numpy, jax):
    generator = numpy.random.default_rng(function.random.randrange(1 << 30))
    made = []
    for shape, dtype in function.arguments:
        if dtype == "bool":
            array = generator.random(shape) > 0.5
        elif dtype == "complex64":
            array = (generator.standard_normal(shape) + 1j * generator.standard_normal(shape)).astype(dtype)
        elif "float" in dtype:
            array = generator.uniform(-1, 1, shape).astype(jax.numpy.dtype(dtype))
        else:
            info = numpy.iinfo(dtype)
            array = generator.integers(max(info.min, -1000), min(info.max, 1000), shape, endpoint=True).astype(dtype)
        made.append(numpy.asarray(array))
    return made


def compare(numpy, got, wanted):
    """Says how a result is wrong, or nothing."""
    wanted = numpy.asarray(wanted)
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return "%s of %s, expected %s of %s" % (got.shape, got.dtype, wanted.shape, wanted.dtype)
    if wanted.dtype.kind in "biu":
        return "" if numpy.array_equal(got, wanted) else "numbers differ"
    wide = numpy.complex128 if wanted.dtype.kind == "c" else numpy.float64
    one, other = got.astype(wide), wanted.astype(wide)
    most = {"float32": 2e-4, "complex64": 2e-4, "float16": 2e-2, "bfloat16": 1e-1}[wanted.dtype.name]
    off = numpy.abs(one - other)
    return "" if (off <= most * (1 + numpy.abs(other))).all() else "off by %g" % off.max()


def run(options, seeds):
    """Compares the functions of some seeds, in this process. Prints a line for each."""
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=%d" % RANKS
    os.environ["JAX_PLATFORMS"] = "cpu"
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(options.gpu_runner)), "..", "python"))
    import jax
    import numpy

    import gpu_async

    for seed in seeds:
        function = Function(seed, options.size)
        sizes, names = tuple(function.axes.values()), tuple(function.axes)
        mesh = jax.make_mesh(sizes, names, axis_types=(getattr(jax.sharding.AxisType, function.types),) * len(names))
        file = os.path.join(options.keep, "shard-map-%d.py" % seed)
        with open(file, "w") as out:
            out.write(function.text)
        space = {"jax": jax, "jnp": jax.numpy, "lax": jax.lax, "P": jax.sharding.PartitionSpec, "mesh": mesh}
        exec(compile(function.text, file, "exec"), space)
        arrays = arrays_of(function, numpy, jax)
        if function.differs:
            try:
                gpu_async.jit(space["f"], mesh=mesh, device=options.device)(*arrays)
                said = "failed ranks may part, and it is not refused"
            except gpu_async.CompileError as error:
                isRight = "may differ between ranks" in str(error) or "may part at it" in str(error)
                said = "equal refused" if isRight else "failed %s" % str(error)[:600]
            except Exception as error:  # pylint: disable=broad-except
                said = "%s %s: %s" % ("invalid:" if "shard_map" in str(error) else "failed", type(error).__name__, str(error)[:600])
            print(seed, said.replace("\n", " "), flush=True)
            if said.startswith("equal"):
                os.remove(file)
            continue
        print("%d jax" % seed, flush=True)
        try:
            wanted = jax.jit(space["f"])(*arrays)
        except Exception as error:  # pylint: disable=broad-except
            print("%d invalid: %s" % (seed, str(error).splitlines()[0][:200]), flush=True)
            os.remove(file)
            continue
        print("%d gpu_async" % seed, flush=True)
        try:
            got = gpu_async.jit(space["f"], mesh=mesh, device=options.device)(*arrays)
            said = [text for one, other in zip(got, wanted) if (text := compare(numpy, one, other))]
        except Exception as error:  # pylint: disable=broad-except
            said = ["%s: %s" % (type(error).__name__, str(error)[:600])]
        print("%d %s %s" % (seed, "failed" if said else "equal", "; ".join(said) or " ".join(sorted(function.used))), flush=True)
        if not said:
            os.remove(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gpu_runner", help="beside it is ../python/gpu_async")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--size", type=int, default=12, help="most statements of each body")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=10, help="functions in a process")
    parser.add_argument("--timeout", type=int, default=300, help="seconds for a process")
    parser.add_argument("--keep", default="fuzz-failures", help="folder of what failed")
    parser.add_argument("--print", action="store_true", help="print the functions and end")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.programs)
    if options.print:
        for seed in seeds:
            print("# %d: %s\n%s" % (seed, Function(seed, options.size).axes, Function(seed, options.size).text))
        return
    os.makedirs(options.keep, exist_ok=True)
    if options.worker:
        return run(options, seeds)
    started, pending, running = time.time(), list(seeds), []
    equal = failed = invalid = 0
    used = {}
    while pending or running:
        while pending and len(running) < options.jobs:
            batch, pending = pending[: options.batch], pending[options.batch :]
            words = [sys.executable, __file__, options.gpu_runner, "--worker", "--seed=%d" % batch[0], "--programs=%d" % len(batch),
                     "--size=%d" % options.size, "--keep=" + options.keep, "--device=" + options.device]
            running.append((batch, subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)))
        batch, process = running.pop(0)
        try:
            text, errors = process.communicate(timeout=options.timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            text, errors = process.communicate()
            errors += "\nno end after %d s" % options.timeout
        done, running_jax = 0, False
        for line in text.splitlines():
            seed, outcome, *rest = line.split(" ", 2)
            if not seed.isdigit():
                continue
            running_jax = outcome == "jax"
            if outcome in ("jax", "gpu_async"):
                continue
            done += 1
            equal += outcome == "equal"
            invalid += outcome == "invalid:"
            failed += outcome == "failed"
            if outcome == "equal":
                for kind in rest[0].split() if rest else ():
                    used[kind] = used.get(kind, 0) + 1
            else:
                print(line, flush=True)
        if done < len(batch) and running_jax and process.returncode < 0:
            invalid += 1
            print("%d invalid: XLA ends the process" % batch[done], flush=True)
            pending = batch[done + 1 :] + pending
        elif done < len(batch):
            failed += 1
            print("--seed=%d crashed: exit code %s\n%s" % (batch[done], process.returncode, errors[-2000:]), flush=True)
            pending = batch[done + 1 :] + pending
    print("shard-maps: --seed=%d --programs=%d: %d functions equal, %d failed, %d that JAX refuses, %.0f s; %s"
          % (options.seed, options.programs, equal, failed, invalid, time.time() - started,
             ", ".join("%s in %d" % each for each in sorted(used.items()))))
    sys.exit(1 if failed or not equal else 0)


main()
