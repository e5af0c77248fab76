# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes JAX's functions and transformations take a gpu_async.Array as they take NumPy's arrays.

JAX asks `__jax_array__` in jax.numpy only; jax.jit, jax.grad, jax.lax and jax.device_put look the type up in
registries. One of the two that are needed has no public name.
"""

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
            array.shape, jax.dtypes.canonicalize_dtype(numpy_type(array.dtype)))
    except (ImportError, AttributeError, KeyError, TypeError):
        return
    _registered = True


def numpy_type(name):
    """Returns the NumPy type of an Array.dtype."""
    if name == "bf16":
        return numpy.dtype(jax.dtypes.bfloat16)
    if name.startswith("complex"):
        return numpy.dtype({"complex<f32>": "complex64", "complex<f64>": "complex128"}[name])
    if name == "i1":
        return numpy.dtype("bool")
    kind = name.rstrip("0123456789")
    return numpy.dtype({"i": "int", "ui": "uint", "f": "float"}[kind] + name[len(kind):])



