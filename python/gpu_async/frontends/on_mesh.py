# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gpu_async.jit(f, mesh=mesh): functions with jax.shard_map, on a rank for each device of the mesh.

Ranks are threads of this process. Each has its parts of the arguments, and computes its parts of the results.
"""

import contextlib
import functools
import json
import math
import os
import re
import threading

import jax
import numpy

import gpu_async

from . import from_jax, host_calls, kept, lower_jax, nesting, shards, static, timings


# What the compiler says of collectives that not all ranks may reach (lib/Transforms/CheckCollectives.cpp), and in terms of JAX.
WORDS = (("or use gpu_async.uniform to say that the value is the same on all ranks",
          "or make the value the same on these ranks, by jax.lax.pmax of it over the axes of the collective"),
         ("'gpu_async.collective' op is", "this collective is"),
         ("ranks may part at this 'scf.if'", "ranks may part at this branch"),
         ("ranks may part at this 'scf.index_switch'", "ranks may part at this branch"),
         ("ranks may part at this 'scf.while'", "ranks may part at this loop"),
         ("ranks may part at this 'scf.for'", "ranks may part at this loop"),
         ("since the value comes from 'memref.load' here", "since it depends on an element of an array of each rank"))
# As lib/Library/RankCalls.cpp has it.
MOST_RANKS = 1024


class OnMesh:
    """A function that is compiled once for each shape of its arguments."""

    def __init__(self, function, mesh, device, options):
        functools.update_wrapper(self, function)
        name = static.name_of(function)
        if device not in ("auto", "cpu", "cuda", "hip"):
            raise ValueError("gpu_async.jit(%s, mesh=...): device=%r; ranks have the cpu device, or with \"cuda\" or \"hip\" the "
                             "first GPUs, one each" % (name, device))
        if options.get("stream", "none") != "none":
            raise ValueError("gpu_async.jit(%s, mesh=...): a call on ranks takes no stream" % name)
        if not isinstance(mesh, (jax.sharding.Mesh, jax.sharding.AbstractMesh)):
            raise TypeError("gpu_async.jit(%s, mesh=...): a mesh is a jax.sharding.Mesh or AbstractMesh, given %r" % (name, mesh))
        self._function, self._mesh, self._options = function, mesh, options
        self._device = "cpu" if device == "auto" else device
        if self._device != "cpu":
            # NCCL reads them when it is first used: docs/reference/Ranks.md, "GPUs".
            os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
            os.environ.setdefault("NCCL_P2P_DIRECT_DISABLE", "1")
            if options.get("place", "copy") != "copy":
                raise ValueError("gpu_async.jit(%s, mesh=...): place=%r; ranks on GPUs take arrays of the host" % (name, options["place"]))
        self._axes = {axis: int(size) for axis, size in mesh.shape.items()}
        self._types = tuple(getattr(mesh, "axis_types", None) or ())
        self._is_explicit = any(each == jax.sharding.AxisType.Explicit for each in self._types)
        ranks = math.prod(self._axes.values())
        if ranks > MOST_RANKS:
            raise ValueError("gpu_async.jit(%s, mesh=...): the mesh %s has %d devices; there are at most %d ranks"
                             % (name, self._axes, ranks, MOST_RANKS))
        self._compiled, self._lock = {}, threading.RLock()
        self._timings = {}  # by what is compiled, if timing was asked for

    def __call__(self, *args, **named):
        leaves, (main, parts, results, dtypes) = self._find(args, named)
        arrays = []
        for array, dtype in leaves:
            if isinstance(array, jax.ShapeDtypeStruct):
                raise gpu_async.ArgumentError("%s, a function of gpu_async.jit(mesh=...), is given a ShapeDtypeStruct, expected an array"
                                              % static.name_of(self._function))
            arrays.append(numpy.asarray(array, dtype))
        given = tuple(
            tuple(numpy.ascontiguousarray(parts.cut(array, dims, rank)) if array.ndim else array
                  for array, dims in zip(arrays, parts.arguments))
            for rank in range(parts.ranks)
        )
        try:
            returned = main._call_on_ranks(given)
        except gpu_async.Error as error:
            # A status is one line. Here each rank has one.
            raise type(error)(re.sub(r"; (?=rank \d+: )", "\n", str(error)), error.code) from None
        made = [each if isinstance(each, tuple) else () if each is None else (each,) for each in returned]
        joined = [
            parts.join([_as_numpy(rank[number], dtype) for rank in made], dims,
                       functools.partial(numpy.empty, dtype=dtype))
            for number, (dims, dtype) in enumerate(zip(parts.results, dtypes))
        ]
        return jax.tree_util.tree_unflatten(results, joined)

    def schedule(self, *args, **named):
        """What each rank does on which stream in a call with such arguments: a Schedule. Compiles as the call would."""
        _, (main, *_) = self._find(args, named)
        return main.schedule()

    def timing(self, *args, **named):
        """See Jit.timing of from_jax."""
        _, (main, *_) = self._find(args, named)
        return timings.find(self._timings, main, self._function)

    def _find(self, args, named):
        """The arguments with their types for NumPy, and what is compiled for them."""
        leaves, tree = jax.tree_util.tree_flatten((args, named))
        arrays, types = [], []
        for number, leaf in enumerate(leaves):
            try:
                array, type = self._take(leaf)
            except from_jax._Refused as refused:
                path, _ = jax.tree_util.tree_flatten_with_path((args, named))[0][number]
                raise gpu_async.ArgumentError("argument %s of %s, a function of gpu_async.jit(mesh=...), is %s" % (
                    jax.tree_util.keystr(path[1:]), static.name_of(self._function),
                    refused.args[0].replace("name it in static_argnums or static_argnames, or take", "take"))) from None
            arrays.append(array)
            types.append(type)
        key = tree, tuple(types), kept.settings()
        compiled = self._compiled.get(key)
        if compiled is None:
            with self._lock:
                compiled = self._compiled.get(key) or self._compile(tree, types)
                self._compiled[key] = compiled
        return arrays, compiled

    def __get__(self, instance, owner=None):
        return self if instance is None else from_jax.Method(self, instance)

    def __repr__(self):
        return "<gpu_async.jit of %s%s, mesh=%r, %d compiled>" % (
            static.name_of(self._function), static.signature_of(self._function) or "", self._axes, len(self._compiled))

    def __getattr__(self, name):
        raise AttributeError("a function of gpu_async.jit(mesh=...) has no %s" % name)

    def __reduce__(self):
        raise TypeError("a function of gpu_async.jit cannot be pickled: it has compiled code")

    def _compile(self, tree, types):
        name = static.name_of(self._function)
        shapes = [jax.ShapeDtypeStruct(shape, dtype, weak_type=weak, sharding=spec and jax.sharding.NamedSharding(self._abstract(), spec))
                  for shape, dtype, weak, spec in types]
        args, named = jax.tree_util.tree_unflatten(tree, shapes)
        parts, calls, stages = shards.Parts(), host_calls.HostCalls(), timings.Stages()
        try:
            with nesting.inlined(), self._context():
                traced = self._trace(args, named)
        except lower_jax.Captured:
            raise gpu_async.ArgumentError("%s takes an array from a function around it, which JAX is tracing; pass the array as "
                                          "an argument, and call it outside of that function" % name) from None
        stages.end("tracing by JAX")
        try:
            with nesting.inlined(), self._context():
                # Without devices JAX asks for whom the program is.
                lowered = lower_jax.choose_lowering(traced, ("cpu",) if self._is_explicit else None)
            line = lower_jax.places.line_of(self._function) or (name, 1, 1)
            symbol = static.symbol_of(self._function)
            program = lower_jax.lower(lowered, (), calls, False, line, symbol, parts)
            if not parts.axes and re.search(r"\bshard_map\b", str(traced.jaxpr)):
                # JAX lowers no shard_map whose axes have one device.
                parts.keep_whole(self._axes, [each.ndim for each in shapes], [each.ndim for each in jax.tree.leaves(traced.out_info)])
            if not parts.axes:
                raise ValueError("%s has no jax.shard_map, so there is nothing to divide among ranks; leave mesh out" % name)
            if parts.axes != self._axes:
                raise ValueError("%s has a jax.shard_map over a mesh of %s, and gpu_async.jit is given one of %s; give the same"
                                 % (name, parts.axes, self._axes))
            if calls.callbacks:
                raise ValueError("%s calls Python while it runs (jax.pure_callback, jax.debug.print), which ranks cannot; take "
                                 "that out" % name)
            if calls.lapack:
                from_jax._provide_lapack()
        except ValueError as error:  # of what has no lowering
            raise gpu_async.CompileError(str(error)) from None
        stages.end("lowering to linalg")
        results, tree = jax.tree_util.tree_flatten(traced.out_info)
        for number, result in enumerate(results):
            if from_jax._is_key(result.dtype) or not from_jax._is_supported(result.dtype):
                raise gpu_async.ArgumentError("result %d of %s is of %s; %s" % (
                    number, name, result.dtype, "return jax.random.key_data of the key" if from_jax._is_key(result.dtype) else
                    "convert it, for example to float32 or int8"))
        try:
            exe = gpu_async._compile(program.encode(), self._device, name, self._options)
        except gpu_async.CompileError as error:
            said = _name_axes(str(error), program, self._axes)
            for of_ir, of_jax in WORDS:
                said = said.replace(of_ir, of_jax)
            if said == str(error):
                raise
            raise gpu_async.CompileError(said, error.code) from None
        main = exe[symbol]
        if exe.timing:
            self._timings[main] = stages.before(exe.timing)
        return main, parts, tree, [numpy.dtype(result.dtype) for result in results]

    def _trace(self, args, named):
        """Traces the function. A jax.shard_map that names no mesh gets this one."""
        trace = lambda: lower_jax.trace_only(from_jax._anew(self._function), args, named)
        try:
            return trace()
        except ValueError as error:
            if "specs of the input" in str(error) and self._is_explicit and hasattr(error, "add_note"):
                error.add_note(
                    "gpu_async.jit(mesh=...): axes of the mesh are of the type Explicit, so JAX asks for arguments that are "
                    "divided as in_specs say. Make the mesh with axis_types=(jax.sharding.AxisType.Auto,) * %d, or write "
                    "jax.reshard(x, spec) before the shard_map." % len(self._types))
            if "context mesh" not in str(error) or self._is_explicit:
                raise
        # JAX tells meshes of other kinds of devices apart.
        types = {"axis_types": self._types} if self._types else {}
        with jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh(tuple(self._axes.values()), tuple(self._axes), **types)):
            return trace()

    def _abstract(self):
        """The mesh without devices, for those that JAX compares with it."""
        return getattr(self._mesh, "abstract_mesh", self._mesh)

    def _context(self):
        """In it, specs of arrays are of this mesh: where its axes are Explicit, arrays carry them."""
        return jax.sharding.use_abstract_mesh(self._abstract()) if self._is_explicit else contextlib.nullcontext()

    def _take(self, leaf):
        """A leaf and its type for NumPy, and what the program knows of it: sizes, type, whether the type is weak, and how JAX
        has divided it along Explicit axes."""
        if isinstance(leaf, jax.core.Tracer):
            raise from_jax._Refused("traced by JAX; call the function outside of jax.jit, grad and vmap")
        array, (shape, dtype, how) = from_jax._take(leaf)
        if from_jax._is_key(dtype):
            raise from_jax._Refused("of %s; give jax.random.key_data of the key" % dtype)
        if not from_jax._is_supported(dtype):
            raise from_jax._Refused("of %s, which ranks do not take; convert it, for example to float32 or int8" % dtype)
        sharding = getattr(leaf, "sharding", None) if self._is_explicit else None
        if isinstance(sharding, jax.sharding.NamedSharding) and dict(sharding.mesh.shape) == self._axes:
            spec = sharding.spec
        else:
            spec = None
        return (array, dtype), (tuple(shape), dtype, how in (from_jax.WEAK_ARRAY, from_jax.WEAK), spec)


def _name_axes(text, program, axes):
    """A message with axes of the mesh in place of the program's groups of ranks."""
    names, sizes = tuple(axes), tuple(axes.values())
    for name, lists in re.findall(r"gpu_async\.group @(\S+) ranks (\[\[.*\]\])", program):
        lists = numpy.array(json.loads(lists))
        places = numpy.array(numpy.unravel_index(lists, sizes))  # along each axis, of each rank in each list
        differ = (places != places[:, :, :1]).any(axis=2)
        along = differ[:, 0]
        count = math.prod(size for size, differs in zip(sizes, along) if differs)
        if along.any() and lists.shape[1] == count and (differ == along[:, None]).all():
            words = "along " + " and ".join(repr(each) for each, differs in zip(names, along) if differs)
            text = re.sub(r"of the group @%s\b" % re.escape(name), lambda _: words, text)  # pylint: disable=cell-var-from-loop
    return text


def _as_numpy(array, dtype):
    """An Array as one of NumPy's: a program has no signs of integers, and NumPy no bfloat16."""
    return numpy.asarray(array.view("i16") if dtype.name == "bfloat16" else array).view(dtype)
