# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gpu_async.jit: functions of JAX arrays. lower_jax.py is examples/jax/lower.py."""

import functools
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
        return jax.tree_util.tree_unflatten(
            results, [array if array.dtype == dtype else array.view(dtype) for array, dtype in zip(made, types)])

    def schedule(self, *args, **named):
        """What a call with such arguments does on which stream: a Schedule. Compiles as the call would."""
        self._refuse(named)
        (main, _, _), _ = self._find(args)
        return main.schedule()

    def _refuse(self, named):
        if named:
            raise TypeError("a function of gpu_async.jit takes its arguments by position, given by name: %s"
                            % ", ".join(named))

    def _find(self, args):
        """What is compiled for arguments, and their leaves."""
        leaves, tree = jax.tree_util.tree_flatten(args)
        leaves, dtypes = zip(*map(_array, leaves)) if leaves else ((), ())
        key = tree, tuple((leaf.shape, dtype) for leaf, dtype in zip(leaves, dtypes))
        compiled = self._compiled.get(key)
        if compiled is None:
            with self._lock:
                compiled = self._compiled.get(key)
                if compiled is None:
                    compiled = self._compiled[key] = self._compile(*key)
        return compiled, leaves

    def _compile(self, tree, types):
        shapes = [jax.ShapeDtypeStruct(*each) for each in types]
        traced = lower_jax.trace(self._function, jax.tree_util.tree_unflatten(tree, shapes))
        name = getattr(self._function, "__name__", "function")
        exe = gpu_async.compile(lower_jax.lower(traced), self._device, name=name, **self._options)
        results, tree = jax.tree_util.tree_flatten(traced.out_info)
        # Signs of integers are JAX's: a program has none.
        return exe["main"], tree, [_element_type(result.dtype) for result in results]


def _array(leaf):
    """An array and its type, one that JAX has here: with jax_enable_x64 off it has no f64."""
    if isinstance(leaf, jax.core.Tracer):
        raise TypeError("a function of gpu_async.jit is called while JAX traces its caller (jax.jit, grad, vmap), which "
                        "has no arrays for it; make it of the whole, as gpu_async.jit(jax.grad(f))")
    given = getattr(leaf, "dtype", None)
    if isinstance(leaf, gpu_async.Array):
        given = _numpy_type(given)
    dtype = jax.dtypes.canonicalize_dtype(jax.dtypes.result_type(leaf) if given is None else given)
    return leaf if given == dtype else numpy.asarray(leaf, dtype), dtype


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
