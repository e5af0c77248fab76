# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of gpu_async.jit(ffi=True) in programs of JAX's: custom calls, by XLA's foreign function interface.

A call is one primitive of JAX's. On the CPU it is lowered to a custom call, whose attribute names the compiled program by a
hash. Where JAX differentiates or batches the caller, and within another function of gpu_async.jit, it is the function itself.
"""

import hashlib
import threading
import uuid

import jax
import jax.extend.core
import numpy
from jax.interpreters import ad, batching, mlir

import gpu_async

from .. import _binding
from . import host_calls, kept, lower_jax, nesting, static, timings

_TARGET = "gpu_async.call"
_registering = threading.Lock()
_registered = False


class Calls:
    """The calls of one function of gpu_async.jit."""

    def __init__(self, jit):
        self._jit, self._known, self._lock = jit, {}, threading.RLock()

    def __call__(self, args, named):
        values = ()
        if self._jit._static:
            args, named, values = self._jit._static.split(args, named)
        leaves, tree = jax.tree_util.tree_flatten((args, named))
        for number, leaf in enumerate(leaves):
            try:
                leaves[number] = leaf if isinstance(leaf, jax.core.Tracer) else jax.numpy.asarray(leaf)
            except TypeError:
                why = self._why_no_argument(leaf)
                raise gpu_async.ArgumentError(self._jit._describe((args, named), values, number, ", is " + why)) from None
        types = tuple((leaf.shape, leaf.dtype, leaf.weak_type) for leaf in map(jax.typeof, leaves))
        key = tree, types, values, kept.settings()
        with self._lock:
            call = self._known.get(key)
            if call is None:
                call = self._known[key] = _Call(self._jit, tree, types, values)
        return jax.tree_util.tree_unflatten(call.tree, _call_p.bind(*leaves, call=call))


    def _why_no_argument(self, leaf):
        """What to say of a leaf that JAX makes no array of."""
        if not isinstance(leaf, (numpy.ndarray, numpy.generic)):
            return self._jit._why_no_argument(leaf)
        return self._jit._why_no_numbers(leaf.dtype) or "of " + _UNSUPPORTED % leaf.dtype


class _Call:
    """A function for arguments of one set of types. Its leaves are arguments and results of the primitive."""

    def __init__(self, jit, tree, types, values):
        self._jit, self._arguments, self._values = jit, tree, values
        shapes = [jax.ShapeDtypeStruct(shape, dtype, weak_type=weak) for shape, dtype, weak in types]
        shapes = jax.tree_util.tree_unflatten(tree, shapes)
        for number, (_, dtype, _) in enumerate(types):
            if not jit._takes_in_jax(dtype):
                raise nesting.Unfit(jit._describe(shapes, values, number, ", is " + (jit._why_no_numbers(dtype) or "of " + _UNSUPPORTED % dtype)))
        try:
            self._trace = jit._trace(shapes, values)
        except lower_jax.Captured:
            raise nesting.Unfit(
                "%s, a function of gpu_async.jit(ffi=True), takes an array from the function around it, which JAX is tracing; "
                "pass the array as an argument, or leave out ffi=True" % static.name_of(jit._function)) from None
        results, self.tree = jax.tree_util.tree_flatten(self._trace.out_info)
        for number, result in enumerate(results):
            if not jit._takes_in_jax(result.dtype):
                raise nesting.Unfit("result %d of %s is of " % (number, static.name_of(jit._function))
                                              + _UNSUPPORTED % result.dtype)
        self.results = [jax.core.ShapedArray(each.shape, each.dtype, weak_type=each.weak_type) for each in results]
        self._program, self._lock = None, threading.Lock()
        self.alone = jax.jit(lambda *leaves: _call_p.bind(*leaves, call=self))

    def __repr__(self):
        return static.name_of(self._jit._function)

    def inline(self, *leaves):
        """What the function makes of leaves, by JAX."""
        args, named = static.merge(*jax.tree_util.tree_unflatten(self._arguments, leaves), self._values)
        return jax.tree_util.tree_leaves(self._jit._traced(*args, **named))

    def program(self):
        """Compiles the function, and returns the name that custom calls know it by."""
        with self._lock:
            if self._program is None:
                device = self._jit._device
                if device not in ("auto", "cpu"):
                    raise gpu_async.ArgumentError(
                        "%s, a function of gpu_async.jit(device=%r, ffi=True), is called in a program of JAX's for the CPU; give "
                        "device=\"cpu\" or \"auto\"" % (static.name_of(self._jit._function), device))
                _register()
                options = {"place": "device", **self._jit._options}
                calls = host_calls.HostCalls()
                exe, text = self._jit._make(self._trace, [], calls, options, "cpu", timings.Stages())
                if calls.callbacks:
                    raise gpu_async.CompileError(
                        "%s calls Python while it runs (jax.pure_callback, jax.debug.print), which a call from a program of "
                        "JAX's cannot: leave out ffi=True" % static.name_of(self._jit._function))
                # JAX may keep its program on disk. In another process this name is that of an equal program, or of none.
                digest = kept.digest_of(text, [])
                name = hashlib.sha256(repr((digest, static.name_of(self._jit._function), sorted(options.items()))).encode()
                                      ).hexdigest() if digest else uuid.uuid4().hex
                exe._keep_for_xla(static.symbol_of(self._jit._function), name)
                self._program, self._trace = name, None
        return self._program


_UNSUPPORTED = ("%s, which a call from a program of JAX's (ffi=True) cannot pass; keys go as jax.random.key_data(key), other types "
                "as integers of their bits (jax.lax.bitcast_convert_type)")


def _register():
    """Tells XLA of the handler, once."""
    global _registered
    with _registering:
        if not _registered:
            jax.ffi.register_ffi_target(_TARGET, _binding.xla_handler(), platform="cpu")
            _registered = True


_call_p = jax.extend.core.Primitive("gpu_async_call")
_call_p.multiple_results = True


@_call_p.def_impl
def _run(*leaves, call):
    return call.alone(*leaves)


@_call_p.def_abstract_eval
def _shapes(*leaves, call):
    return call.results


def _lower(context, *leaves, call):
    if nesting.is_inlined():
        return mlir.lower_fun(call.inline, multiple_results=True)(context, *leaves)
    platforms = tuple(context.module_context.platforms)
    if platforms != ("cpu",):
        raise NotImplementedError(
            "%r, a function of gpu_async.jit(ffi=True), is called in a program of JAX's for %s, which such calls are not there "
            "for, but for the CPU alone; leave out ffi=True, or call the function outside of jax.jit"
            % (call, " and ".join(platforms)))
    target = jax.ffi.ffi_call(_TARGET, [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in call.results])
    program = call.program()
    return mlir.lower_fun(lambda *leaves: target(*leaves, program=program), multiple_results=True)(context, *leaves)


def _batch(leaves, places, *, call):
    results = jax.vmap(call.inline, in_axes=tuple(places))(*leaves)
    return results, [0] * len(results)


def _differentiate(leaves, tangents, *, call):
    chosen = [number for number, each in enumerate(tangents) if type(each) is not ad.Zero]

    def function(*some):
        given = list(leaves)
        for number, leaf in zip(chosen, some):
            given[number] = leaf
        return call.inline(*given)

    results, made = jax.jvp(function, [leaves[number] for number in chosen], [tangents[number] for number in chosen])
    return results, [ad.Zero(jax.typeof(result).to_tangent_aval()) if each.dtype == jax.dtypes.float0 else each
                     for result, each in zip(results, made)]


mlir.register_lowering(_call_p, _lower)
batching.primitive_batchers[_call_p] = _batch
ad.primitive_jvps[_call_p] = _differentiate
