# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gpu_async.jit: functions of JAX arrays. lower_jax.py is examples/jax/lower.py."""

import functools
import itertools
import numbers
import threading

import jax
import numpy

import gpu_async

from . import lower_jax


class Jit:
    """A function that is compiled once for each shape of its arguments."""

    def __init__(self, function, device, options):
        functools.update_wrapper(self, function)
        self._function, self._device, self._options = function, device, options
        self._compiled = {}
        self._lock = threading.Lock()

    def __call__(self, *args, **named):
        self._refuse(named)
        (main, results, types), leaves = self._find(args)
        made = main(*leaves)
        made = made if isinstance(made, tuple) else (made,) if types else ()
        return jax.tree_util.tree_unflatten(results, [_typed(*each) for each in zip(made, types)])

    def schedule(self, *args, **named):
        """What a call with such arguments does on which stream: a Schedule. Compiles as the call would."""
        self._refuse(named)
        (main, _, _), _ = self._find(args)
        return main.schedule()

    def _refuse(self, named):
        if named:
            raise gpu_async.ArgumentError("a function of gpu_async.jit takes its arguments by position, given by name: %s"
                            % ", ".join(named))

    def _find(self, args):
        """What is compiled for arguments, and their leaves."""
        leaves, tree = jax.tree_util.tree_flatten(args)
        leaves, *key = zip(*map(_array, leaves, itertools.count())) if leaves else ((), (), ())
        key = tree, tuple(zip(*key))
        compiled = self._compiled.get(key)
        if compiled is None:
            with self._lock:
                compiled = self._compiled.get(key)
                if compiled is None:
                    compiled = self._compiled[key] = self._compile(*key)
        return compiled, leaves

    def _compile(self, tree, types):
        for number, (_, dtype) in enumerate(types):
            _refuse_type("argument", number, dtype)
        shapes = [jax.ShapeDtypeStruct(*each) for each in types]
        traced = lower_jax.trace(self._function, jax.tree_util.tree_unflatten(tree, shapes))
        results, tree = jax.tree_util.tree_flatten(traced.out_info)
        for number, result in enumerate(results):
            _refuse_type("result", number, result.dtype)
        name = getattr(self._function, "__name__", "function")
        exe = gpu_async.compile(lower_jax.lower(traced), self._device, name=name, **self._options)
        # Signs of integers are JAX's: a program has none.
        return exe["main"], tree, [
            result.dtype if _is_key(result.dtype) else _element_type(result.dtype) for result in results]


def _is_key(dtype):
    """Whether it is of jax.random.key."""
    return jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key)


def _refuse_type(what, number, dtype):
    """Types that JAX has and arrays of programs do not have."""
    if _is_key(dtype) or dtype.name == "bfloat16" or dtype.kind in "biufc":
        return
    raise gpu_async.ArgumentError("%s %d of a function of gpu_async.jit is of %s, which its arguments and results cannot be: they are "
                    "of bool, int8 to uint64, float16, bfloat16, float32, float64, complex64 and complex128; make it one of "
                    "these, or an integer of its bits (jax.lax.bitcast_convert_type), and convert in the function"
                    % (what, number, dtype.name))


def _typed(array, dtype):
    """A result of the type that JAX has for it. Keys are JAX's own."""
    if isinstance(dtype, str):
        return array if array.dtype == dtype else array.view(dtype)
    return jax.random.wrap_key_data(numpy.asarray(array.view("ui32")), impl=dtype._impl)


def _array(leaf, number):
    """An array, its shape and its type, one that JAX has here: with jax_enable_x64 off it has no f64."""
    if isinstance(leaf, jax.core.Tracer):
        raise gpu_async.ArgumentError("a function of gpu_async.jit is called while JAX traces its caller (jax.jit, grad, vmap), which "
                        "has no arrays for it; make it of the whole, as gpu_async.jit(jax.grad(f))")
    given = getattr(leaf, "dtype", None)
    # JAX takes the word or class float for a type.
    if given is None and not isinstance(leaf, numbers.Number):
        raise gpu_async.ArgumentError("argument %d of a function of gpu_async.jit is of the type %s, neither an array nor a number; what is no "
                        "array comes from around the function (functools.partial)" % (number, type(leaf).__name__))
    if given is not None and not isinstance(leaf, gpu_async.Array) and _is_key(given):
        return jax.random.key_data(leaf), leaf.shape, given
    if isinstance(leaf, gpu_async.Array):
        given = _numpy_type(given)
    dtype = jax.dtypes.canonicalize_dtype(jax.dtypes.result_type(leaf) if given is None else given)
    array = leaf if given == dtype else numpy.asarray(leaf, dtype)
    return array, array.shape, dtype


def _numpy_type(name):
    """The NumPy type of what Array.dtype says."""
    if name == "bf16":
        return numpy.dtype(jax.dtypes.bfloat16)
    if name.startswith("complex"):
        return numpy.dtype({"complex<f32>": "complex64", "complex<f64>": "complex128"}[name])
    if name == "i1":
        return numpy.dtype("bool")
    kind = name.rstrip("0123456789")
    return numpy.dtype({"i": "int", "ui": "uint", "f": "float"}[kind] + name[len(kind):])


def _element_type(dtype):
    """What Array.dtype says of a NumPy type."""
    dtype = numpy.dtype(dtype)
    if dtype.name == "bfloat16":
        return "bf16"
    if dtype.kind == "c":
        return "complex<f%d>" % (dtype.itemsize * 4)
    return "i1" if dtype.kind == "b" else {"i": "i", "u": "ui", "f": "f"}[dtype.kind] + str(dtype.itemsize * 8)
