# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GPU programs in MLIR, compiled and called from Python.

>>> import gpu_async as ga
>>> exe = ga.compile('''
... func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
...   %r = arith.addf %x, %x : tensor<4xf32>
...   return %r : tensor<4xf32>
... }''', device="cpu")
>>> exe.twice
<gpu_async.Function twice(tensor<4xf32>) -> tensor<4xf32>>
>>> import array
>>> y = exe.twice(array.array("f", [1, 2, 3, 4]))
>>> y
gpu_async.Array([2., 4., 6., 8.], dtype=float32)
>>> memoryview(y).tolist()
[2.0, 4.0, 6.0, 8.0]

docs/reference/Python.md is the guide.
"""

import atexit
import difflib
import errno
import importlib.util
import os
import re
import sys
import typing
import warnings

from ._binding import Array, Executable, Function, memory_changed
from . import _binding
from .errors import ArgumentError, CompileError, CompileWarning, Error
from .profiles import Profile, profile, trace
from .schedules import Schedule
from .tokens import Token
from ._version import __version__  # CMake writes it

_binding.check_interpreter()
# The compiler's globals go at the end of the process, and an interrupted compilation may still use them.
atexit.register(_binding.wait_compilations)

__all__ = ["Array", "ArgumentError", "CompileError", "CompileWarning", "Device", "Error", "Executable", "Function",
           "Profile", "Schedule", "Token", "compile", "devices", "from_torch", "jit", "memory_changed", "profile", "torch_op",
           "trace", "wait_abandoned"]


class Device(typing.NamedTuple):
    """A device, or a driver that has none: then `why` says what is missing."""

    device: str
    name: str
    arch: str
    memory_bytes: int
    why: typing.Optional[str]


def devices():
    """The devices that there are, and why a driver has none.

    >>> [each.why for each in devices() if each.device == "cpu"]
    [None]
    """
    return [Device(*each) for each in _binding.devices()]


def wait_abandoned(timeout=None):
    """Waits until no call that gave up uses its arrays any more.

    A call that gives up at the limit of GPU_ASYNC_TIMEOUT raises an Error, but its work on the device goes
    on to read and write the arrays that it was given. The package keeps these until that has ended; what is
    written to them before may be overwritten. Later calls start after that work. After `timeout` seconds a
    TimeoutError that lists what is unfinished.

    >>> wait_abandoned()
    """
    _binding.wait_abandoned(timeout)


def compile(program, device="auto", *, name=None, **options):
    """Compiles MLIR for one device, and returns an Executable.

    `program` is text, bytecode as bytes, or the path of a file: an os.PathLike,
    or a str of one line that ends in .mlir or .mlirbc (a FileNotFoundError if there
    is none). `name` is what messages
    call it. Options are those of gpuasync_compile (docs/reference/Library.md), with _ for -:

    >>> compile("func.func @f() { return }", device="cpu", opt_level=0).functions
    ('f',)
    >>> compile("func.func @f() { retrun }", device="cpu", name="f.mlir")
    Traceback (most recent call last):
        ...
    gpu_async.errors.CompileError: f.mlir:1:18: error: custom op 'retrun' is unknown ...
    """
    _check_options("gpu_async.compile", device, options)
    if isinstance(program, os.PathLike) or (
            isinstance(program, str) and "\n" not in program and program.endswith((".mlir", ".mlirbc"))):
        name = name or os.fspath(program)
        with open(program, "rb") as file:
            program = file.read()
    if isinstance(program, str):
        _refuse_path(program)
        program = program.encode()
    elif not isinstance(program, (bytes, bytearray, memoryview)):
        raise TypeError("a program is MLIR's text, its bytecode, or a path, not a %s" % type(program).__name__)
    return _compile(program, device, name, options)


def _compile(program, device, name, options, source=None):
    """compile() of bytes, which the disk cache knows by the bytes `source` if these are given."""
    # Names of files need not be UTF-8.
    return _made(_binding.compile(bytes(program), os.fsencode(name or "<program>"), device,
                                  os.fsencode(_words(options)), source, _progress(name)))


def _load(source, device, name, options):
    """What _compile() has put into the disk cache under `source`, or None."""
    executable = _binding.load(os.fsencode(name), device, os.fsencode(_words(options)), source)
    return _made(executable) if executable is not None else None


def _made(executable):
    _warn(executable.diagnostics)
    said = _binding.take_cache_warning()
    if said:
        warnings.warn(said, CompileWarning, stacklevel=_caller_level())
    _tell_jax()
    return executable


def _progress(name):
    """Takes the stage of a compilation that takes longer than two seconds, None at its end, and the seconds so far. Writes a
    line to a terminal, or lines if GPU_ASYNC_PROGRESS is 1. None if nobody wants to know."""
    wanted = os.environ.get("GPU_ASYNC_PROGRESS", "")
    stream = sys.stderr
    in_place = wanted != "1"
    try:
        if wanted == "0" or stream is None or (in_place and not stream.isatty()):
            return None
    except (AttributeError, ValueError):  # it is closed, or has no isatty
        return None

    def report(stage, seconds):
        text = "gpu_async: compiling %s: %s, %d s" % (name or "<program>", stage or "done", seconds)
        stream.write("\r\x1b[K" + (text if stage else "") if in_place else text + "\n")
        stream.flush()

    return report


def _tell_jax():
    """Makes JAX and flax take Arrays, if they are loaded. All arrays come from what is compiled."""
    if sys.modules.get("jax"):
        from .frontends import jax_arrays

        jax_arrays.register()
        if sys.modules.get("flax.serialization"):
            jax_arrays.register_for_flax()


def _warn(diagnostics):
    """Shows what makes a program slow or wrong; other remarks are for who asks for them."""
    messages = []  # each a list of lines: the message, and its notes
    for line in diagnostics.splitlines():
        said = re.search(r":\d+: (warning|remark|note): (.*)", line)
        if said and said[1] != "note":
            messages.append([])
            if said[1] == "warning" or said[2].startswith("runs on the host"):
                messages[-1].append(line)
        elif said and messages and messages[-1]:
            messages[-1].append(line)
    _warn_caller("\n".join(message) for message in filter(None, messages))


def _warn_caller(messages):
    """Shows warnings at the line of the caller of this package, not at one of a front end's here."""
    level = _caller_level()
    for message in messages:
        warnings.warn(message, CompileWarning, stacklevel=level)


def _caller_level():
    """The `stacklevel` of a warning that the calling function gives: it is about the line of the package's user."""
    level, frame, package = 1, sys._getframe(1), os.path.dirname(__file__) + os.sep
    while frame.f_back and frame.f_code.co_filename.startswith(package):
        level, frame = level + 1, frame.f_back
    return level


def _refuse_path(text):
    """A mistyped path would otherwise be an error of MLIR's grammar."""
    # No function can be written without these characters.
    if text.startswith("//") or not re.fullmatch(r"[^\n{}()@%\"#!=]*[./][^\n{}()@%\"#!=]*", text):
        return
    if os.path.exists(text):
        raise ValueError("%r is the name of a file, not a program; compile(pathlib.Path(%r)) compiles the file"
                         % (text, text))
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), text)


def _words(options):
    """The words of gpuasync_compile_options."""
    words = []
    for key, value in options.items():
        if value is None:
            continue
        if isinstance(value, (list, tuple)):
            value = ",".join(map(str, value))
        text = "%s=%s" % (key.replace("_", "-"), value)
        if any(c.isspace() for c in text):
            raise ValueError("option %s: its value %r has a space in it, which options cannot have" % (key, value))
        words.append(text)
    return " ".join(words)


_OPTIONS = tuple(name.replace("-", "_") for name in _binding.OPTIONS)


def _check_options(caller, device, options, own=()):
    """Refuses a device that is no text, and names that no option has."""
    if not isinstance(device, str):
        kinds = ", ".join('"%s"' % each for each in ("auto", *_binding.device_kinds))
        raise TypeError("%s: a device is a text (%s, or with a number, as in \"cuda:1\"), not %s"
                        % (caller, kinds, "None" if device is None else "of the type " + type(device).__name__))
    for name in options:
        if name in _OPTIONS:
            continue
        known = sorted((*_OPTIONS, *own))
        meant = difflib.get_close_matches(name, known, 1, cutoff=0.7)
        raise TypeError("%s has no option %r%s; the options are %s" % (
            caller, name, "; did you mean %s?" % meant[0] if meant else "", ", ".join(known)))


def jit(function=None, device="auto", *, static_argnums=None, static_argnames=None, donate_argnums=None, donate_argnames=None,
        ffi=False, mesh=None, **options):
    """Compiles a function of JAX arrays at its first call with each shape.

    Without a function, as in `@jit(device="cpu")`, it is what takes one. A method becomes a method.
    `static_argnums` and `static_argnames` are those of jax.jit: arguments with a hash that are part of the program.
    `donate_argnums` and `donate_argnames` are those of jax.jit, too: results may take the memory of these arguments, which
    are deleted by the call where they are Arrays.
    `options` are those of compile. The result takes what the function takes, by position and by name, and Arrays;
    it returns what the function returns with Arrays in place of JAX's, and its `schedule(*args)`
    is the Schedule of such a call. Where JAX traces the caller, the function is part of the caller, as with jax.jit.
    With `ffi`, such a caller calls the compiled program, on the CPU.
    With `mesh`, a jax.sharding.Mesh or AbstractMesh, the function uses jax.shard_map over it, and runs on a rank for each
    device of the mesh: threads of this process, with the CPU device or with `device="cuda"` a GPU each. Arguments and results
    are whole arrays then, and results are NumPy's.
    Needs jax and jaxlib.
    """
    if function is None:
        return lambda function: jit(function, device, static_argnums=static_argnums, static_argnames=static_argnames,
                                    donate_argnums=donate_argnums, donate_argnames=donate_argnames, ffi=ffi, mesh=mesh,
                                    **options)
    if not callable(function):
        raise TypeError("gpu_async.jit takes a function, given %r" % (function,))
    for option in _OF_JAX.intersection(options):
        raise TypeError("gpu_async.jit does not take %s, an option of jax.jit; leave it out" % option)
    _check_options("gpu_async.jit", device, options, ("static_argnums", "static_argnames", "donate_argnums", "donate_argnames", "ffi", "mesh"))
    if mesh is not None:
        if ffi or any(each is not None for each in (static_argnums, static_argnames, donate_argnums, donate_argnames)):
            raise TypeError("gpu_async.jit(mesh=...) takes no static or donated arguments, and no ffi; give values of a function by "
                            "functools.partial")
        from .frontends import on_mesh

        return on_mesh.OnMesh(function, mesh, device, options)
    from .frontends import from_jax

    return from_jax.Jit(function, device, options, static_argnums, static_argnames, donate_argnums, donate_argnames, ffi)


# Options of jax.jit: a program is for one device.
_OF_JAX = frozenset(("abstracted_axes", "backend", "compiler_options", "in_shardings", "inline", "keep_unused",
                     "out_shardings"))


def from_torch(module, examples, device="auto", **options):
    """Compiles a torch.nn.Module for arguments as the tuple `examples` has them.

    `options` are those of compile. Returns the executable's Function. Needs torch
    and torch-mlir.
    """
    _check_options("gpu_async.from_torch", device, options)
    if not isinstance(examples, (tuple, list)):
        raise TypeError("gpu_async.from_torch: `examples` is a tuple of the arguments, not a %s; write (x,)"
                        % type(examples).__name__)
    _need_torch("from_torch", "torch", "torch_mlir")
    from .frontends import from_torch as frontend

    return frontend.compile(module, tuple(examples), device, options)


def _need_torch(caller, *modules):
    for name in modules:
        if importlib.util.find_spec(name) is None:
            raise ModuleNotFoundError("gpu_async.%s needs %s: pip install %s" % (
                caller, " and ".join(modules).replace("_", "-"), " ".join(modules).replace("_", "-")), name=name)


def torch_op(function, name=None):
    """Makes an operator of PyTorch's from a function, which torch.compile calls without a break of its graph.

    `function` is one of an Executable for the cpu device, or what from_torch returns. Its arguments are tensors and numbers,
    its results tensors of constant sizes. `name` is the operator's, as "mine::layer". Each name is for one operator, which
    stays until the process ends. Needs torch.
    """
    _need_torch("torch_op", "torch")
    from .frontends import torch_op as frontend

    return frontend.make(function, name)
