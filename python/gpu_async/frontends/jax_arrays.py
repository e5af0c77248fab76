# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes JAX's functions and transformations take a gpu_async.Array as they take NumPy's arrays.

JAX asks `__jax_array__` in jax.numpy only; jax.jit, jax.grad, jax.lax and jax.device_put look the type up in
registries. One of the two that are needed has no public name.
"""

import sys

import jax
import numpy

from .. import _binding

_registered = False


def register():
    """Registers the type. Where a version of JAX has other registries, its own error says how to convert an array."""
    global _registered
    if _registered:
        return
    try:
        import jax.interpreters.xla
        from jax._src.core import pytype_aval_mappings

        handlers = jax.interpreters.xla.canonicalize_dtype_handlers
        canonicalize = handlers[numpy.ndarray]
        ShapedArray = jax.core.ShapedArray
        handlers[_binding.Array] = lambda array: canonicalize(array.numpy())
        pytype_aval_mappings[_binding.Array] = lambda array: ShapedArray(
            array.shape, jax.dtypes.canonicalize_dtype(array.dtype), weak_type=array.weak_type)
    except (ImportError, AttributeError, KeyError, TypeError):
        return
    _registered = True


def register_for_flax():
    """Makes flax.serialization save an Array as an array of NumPy's, and restore one in its place."""
    serialization = sys.modules["flax.serialization"]
    try:
        serialization.register_serialization_state(
            _binding.Array, lambda array: array.numpy(), lambda array, state: state, override=True)
    except (AttributeError, TypeError):  # of another version
        pass
