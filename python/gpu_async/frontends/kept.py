# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What functions of gpu_async.jit are known by, in the process and in the disk cache."""

import glob
import hashlib
import os

import jax
import jaxlib

from .. import _binding
from . import places

try:  # what jax.jit knows its programs by; no module of JAX's offers it
    from jax._src.config import trace_context as _trace_context
except ImportError:  # of another version
    def _trace_context():
        return jax.config.jax_enable_x64, jax.config.jax_numpy_dtype_promotion, jax.config.jax_threefry_partitionable

# The files of the front ends, as they are when they are imported.
_HERE = os.path.dirname(__file__)
_FILES = sorted(glob.glob("*.py", root_dir=_HERE))


def _hash_of_lowering():
    """A hash of what makes a program of StableHLO, or None if it cannot be told: these files, and jaxlib's passes."""
    digest = hashlib.sha256()
    libraries = os.path.dirname(jaxlib.__file__)
    try:
        for name in _FILES:
            with open(os.path.join(_HERE, name), "rb") as file:
                _add(digest, file.read())
        found = sorted(glob.glob(os.path.join(libraries, "*.so*"))) + sorted(
            glob.glob(os.path.join(libraries, "mlir", "_mlir_libs", "*.so*")))
        for path in found:
            status = os.stat(path)
            _add(digest, repr((os.path.relpath(path, libraries), status.st_size, status.st_mtime_ns)).encode())
    except OSError:
        return None
    if not found or not _FILES:
        return None
    _add(digest, repr((jax.__version__, jaxlib.__version__)).encode())
    return digest


def settings():
    """JAX's settings that a function is traced by (jax_enable_x64, the generator of random numbers, promotions, ..), as a
    key."""
    return _trace_context()


def _add(digest, part):
    digest.update(b"%d " % len(part))
    digest.update(part)


_lowering = _hash_of_lowering()


def source_of(lowered, text, by_value, line, symbol):
    """Returns the bytes that the disk cache knows a program by, or None if it is not to be kept.

    `text` is the StableHLO of what JAX has lowered, without places, `line` that of the function, and `symbol` its name in
    the program. What is compiled has the lines and the name of the user's program, for profiles and errors.
    """
    digest = digest_of(text, by_value) if _binding.cache_folder() else None
    if digest is None:
        return None
    lines = symbol, line, places.read_lines(lowered.as_text(debug_info=True))
    return hashlib.sha256(digest + repr(lines).encode("utf-8", "surrogateescape")).digest()


def digest_of(text, by_value):
    """Returns a hash of a program and of what lowers it, or None if the text is not all of the program."""
    # The elements of these are not in the text, and what is called on the host the lowering finds out.
    if _lowering is None or any(each in text for each in ("dense_resource<", "__elided__", "@gpu_async.")):
        return None
    digest = _lowering.copy()
    _add(digest, repr(list(by_value)).encode())
    _add(digest, text.encode())
    return digest.digest()
