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

    def __call__(self, *args):
        leaves, tree = jax.tree_util.tree_flatten(args)
        leaves = [_array(leaf) for leaf in leaves]
        key = tree, tuple((leaf.shape, leaf.dtype) for leaf in leaves)
        compiled = self._compiled.get(key)
        if compiled is None:
            with self._lock:
                compiled = self._compiled.get(key)
                if compiled is None:
                    compiled = self._compiled[key] = self._compile(tree, leaves)
        main, results, types = compiled
        made = main(*leaves)
        made = made if isinstance(made, tuple) else (made,) if types else ()
        return jax.tree_util.tree_unflatten(
            results, [array if array.dtype == dtype else array.view(dtype) for array, dtype in zip(made, types)])

    def _compile(self, tree, leaves):
        shapes = [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves]
        traced = lower_jax.trace(self._function, jax.tree_util.tree_unflatten(tree, shapes))
        name = getattr(self._function, "__name__", "function")
        exe = gpu_async.compile(lower_jax.lower(traced), self._device, name=name, **self._options)
        results, tree = jax.tree_util.tree_flatten(traced.out_info)
        # Signs of integers are JAX's: a program has none.
        return exe["main"], tree, [_element_type(result.dtype) for result in results]


def _array(leaf):
    """An array of a type that JAX has here: with jax_enable_x64 off it has no f64."""
    dtype = jax.dtypes.canonicalize_dtype(getattr(leaf, "dtype", None) or jax.dtypes.result_type(leaf))
    if getattr(leaf, "dtype", None) == dtype:
        return leaf
    return numpy.asarray(leaf, dtype)


def _element_type(dtype):
    """What Array.dtype says of a NumPy type."""
    dtype = numpy.dtype(dtype)
    if dtype.name == "bfloat16":
        return "bf16"
    if dtype.kind == "c":
        return "complex<f%d>" % (dtype.itemsize * 4)
    return "i1" if dtype.kind == "b" else {"i": "i", "u": "ui", "f": "f"}[dtype.kind] + str(dtype.itemsize * 8)
