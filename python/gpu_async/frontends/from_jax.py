# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gpu_async.jit: functions of JAX arrays."""

import dataclasses
import functools
import numbers
import re
import threading
from types import MethodType

import jax
import numpy

import gpu_async

from .. import _binding
from . import host_calls, kept, lower_jax, nesting, static, timings


# How an argument is passed: an array, or a number by value. JAX lets other operands decide about the type of a weak one,
# as one of Python's numbers is. Of an array it is JAX's `weak_type`.
ARRAY, WEAK_ARRAY, NUMBER, WEAK = False, True, 2, 3


class Jit:
    """A function that is compiled once for each shape of its arguments, and each value of its static ones."""

    def __init__(self, function, device, options, static_argnums=None, static_argnames=None, donate_argnums=None,
                 donate_argnames=None, ffi=False):
        functools.update_wrapper(self, function)
        if options.get("stream", "none") != "none":
            raise ValueError("stream=%r: a call of a function of gpu_async.jit takes no stream; lower the function by "
                             "gpu_async.frontends.lower_jax, and compile the text by gpu_async.compile" % (options["stream"],))
        self._function, self._device, self._options = function, device, options
        self._static = None
        if static_argnums is not None or static_argnames is not None:
            self._static = static.Static(function, static_argnums, static_argnames)
        # For a caller that JAX traces.
        self._traced = jax.jit(function, static_argnums=static_argnums, static_argnames=static_argnames)
        self._donated = None
        if donate_argnums is not None or donate_argnames is not None:
            self._donated = static.Chosen(function, donate_argnums, donate_argnames, "donate")
            both = self._donated.meets(self._static) if self._static else None
            if both is not None:
                raise ValueError("argument %r of %s is static and donated: a static one is a value of the program's and has no "
                                 "memory; leave it out of one of the two" % (both, static.name_of(function)))
        self._compiled = {}
        self._locks = {}
        self._timings = {}  # by what is compiled, if timing was asked for
        self._calls = None
        if ffi:
            from . import jax_calls  # it uses more of JAX than all else

            self._calls = jax_calls.Calls(self)

    def __call__(self, *args, **named):
        try:
            found = self._find(args, named)
        except (_Traced, lower_jax.Captured):
            found = None
        if found is None:
            return self._call_in_jax(args, named)
        (main, results, finish, order), leaves = found
        try:
            made = main(*leaves) if order is None else main(*[leaves[place] for place in order])
        except gpu_async.ArgumentError as error:
            if getattr(error, "_is_of_callback", False):
                raise
            raise self._name_leaf(error, args, named, order) from None
        if finish is None:
            return jax.tree_util.tree_unflatten(results, made if isinstance(made, tuple) else (made,))
        return jax.tree_util.tree_unflatten(results, finish(made))

    def _call_in_jax(self, args, named):
        """Makes the call part of a caller that JAX traces."""
        if self._calls is not None:
            try:
                return self._calls(args, named)
            except nesting.Unfit as error:
                if not nesting.is_inlined():
                    raise gpu_async.ArgumentError(str(error)) from None
        return self._traced(*args, **named)

    def __get__(self, instance, owner=None):
        return self if instance is None else Method(self, instance)

    def __repr__(self):
        return "<gpu_async.jit of %s%s, device=%r, %d compiled>" % (
            static.name_of(self._function), static.signature_of(self._function) or "", self._device, len(self._compiled))

    def __getattr__(self, name):
        raise AttributeError("a function of gpu_async.jit has no attribute %r%s" % (name, _ADVICE.get(name, "")))

    def schedule(self, *args, **named):
        """What a call with such arguments does on which stream: a Schedule. Compiles as the call would."""
        try:
            (main, *_), _ = self._find(args, named)
        except (_Traced, lower_jax.Captured):
            raise gpu_async.ArgumentError(
                "schedule: JAX traces the caller (jax.jit, grad, vmap), where a function of gpu_async.jit is part of the "
                "caller; ask for the schedule of the whole, as gpu_async.jit(jax.grad(f)).schedule(x)") from None
        return main.schedule()

    def timing(self, *args, **named):
        """What the stages of compiling for such arguments took, from JAX's tracing to linking: a table, if the function
        was made with timing="stages" or timing="passes"; else an ArgumentError. Compiles as the call would."""
        try:
            (main, *_), _ = self._find(args, named)
        except (_Traced, lower_jax.Captured):
            raise gpu_async.ArgumentError(
                "timing: JAX traces the caller (jax.jit, grad, vmap), where a function of gpu_async.jit is part of the "
                "caller; ask for the timing of the whole, as gpu_async.jit(jax.grad(f), timing=\"stages\").timing(x)") from None
        return timings.find(self._timings, main, self._function)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        raise TypeError("a function of gpu_async.jit cannot be pickled: it has compiled code; pickle the function that it was "
                        "made of, and call gpu_async.jit in the other process, which has the disk cache")

    def _find(self, args, named):
        """Returns what is compiled for arguments, and their leaves as it takes them. Raises _Traced or Captured where
        JAX traces the caller."""
        values = ()
        if self._static:
            args, named, values = self._static.split(args, named)
        leaves, tree = jax.tree_util.tree_flatten((args, named))
        types, take, always = [], _TAKE.get, _ALWAYS
        for number, leaf in enumerate(leaves):
            kind = type(leaf)
            if kind is _JaxArray:
                aval = leaf.aval
                dtype = aval.dtype
                if dtype in always:
                    types.append((aval.shape, dtype, aval.weak_type))
                    continue
            try:
                leaves[number], made = take(kind, _take)(leaf)
            except _Refused as refused:
                raise gpu_async.ArgumentError(
                    self._describe((args, named), values, number, ", is " + refused.args[0])) from None
            types.append(made)
        key = tree, tuple(types), values, kept.settings()
        compiled = self._compiled.get(key)
        if compiled is None:
            # One lock for each program: what its function calls while it is traced may be this function again.
            with self._locks.setdefault(key, threading.RLock()):
                compiled = self._compiled.get(key)
                try:
                    if compiled is None:
                        compiled = self._compiled[key] = self._compile(tree, types, values)
                finally:
                    self._locks.pop(key, None)
        return compiled, leaves

    def _compile(self, tree, types, values):
        shapes = [jax.ShapeDtypeStruct(shape, dtype, weak_type=how in (WEAK_ARRAY, WEAK)) for shape, dtype, how in types]
        shapes = jax.tree_util.tree_unflatten(tree, shapes)
        by_value = [place for place, (_, _, how) in enumerate(types) if how in (NUMBER, WEAK)]
        for number, (_, dtype, _) in enumerate(types):
            if not _is_supported(dtype):
                raise gpu_async.ArgumentError(self._describe(shapes, values, number, ", is " + _unsupported(dtype)))
        stages = timings.Stages()
        traced = self._trace(shapes, values)
        stages.end("tracing by JAX")
        results, tree = jax.tree_util.tree_flatten(traced.out_info)
        for number, result in enumerate(results):
            if not _is_supported(result.dtype):
                raise gpu_async.ArgumentError("result %d of %s, a function of gpu_async.jit, is %s" % (
                    number, static.name_of(self._function), _unsupported(result.dtype)))
        calls = host_calls.HostCalls()
        arrays = [place for place, (_, _, how) in enumerate(types) if how in (ARRAY, WEAK_ARRAY)]
        donated = self._find_donated(shapes, values, arrays)
        options = {"place": "device", "donate": donated or None, **self._options}
        exe, _ = self._make(traced, by_value, calls, options, self._device, stages)
        main = exe[static.symbol_of(self._function)]
        main._name_donation("%s, a function of gpu_async.jit" % static.name_of(self._function))
        if calls.lapack and static.is_gpu(exe.device):
            gpu_async._warn_caller(["%s runs on the host: by LAPACK, with copies from and to the device" % each
                                    for each in calls.lapack])
        if calls.callbacks:
            main = _Calling(main, calls.callbacks)
        if exe.timing:
            self._timings[main] = stages.before(exe.timing)
        return main, tree, _finish(results, main.results), arrays + by_value if by_value else None

    def _trace(self, shapes, values):
        """What JAX traces for arguments of such shapes. Raises Captured."""
        args, named = static.merge(*shapes, values)
        self._check(args, named)
        places = [place for place, *_ in values]
        with nesting.inlined():
            return lower_jax.trace_only(
                _anew(self._function), args, named, static_argnums=tuple(place for place in places if isinstance(place, int)),
                static_argnames=tuple(place for place in places if isinstance(place, str)))

    def _make(self, traced, by_value, calls, options, device, stages):
        """The executable of a trace, from the disk cache or compiled, and the trace's StableHLO. `calls` gets what it
        calls on the host, `stages` what the lowering takes."""
        name = static.name_of(self._function)
        try:
            with nesting.inlined():
                lowered, text = lower_jax.choose_lowering_and_text(traced)
            line = lower_jax.places.line_of(self._function) or (name, 1, 1)
            symbol = static.symbol_of(self._function)
            source = kept.source_of(lowered, text, by_value, line, symbol)
            exe = gpu_async._load(source, device, name, options) if source else None
            if exe is not None:
                return exe, text
            program = lower_jax.lower(lowered, by_value, calls, static.is_gpu(device), line, symbol)
            if calls.lapack:
                _provide_lapack()
        except ValueError as error:  # of what has no lowering
            raise gpu_async.CompileError(str(error)) from None
        stages.end("lowering to linalg")
        if calls.callbacks:
            options = {**options, "functions": ["%s:%#x" % (each.symbol, each.address) for each in calls.callbacks]}
        return gpu_async._compile(program.encode(), device, name, options, source), text

    @staticmethod
    def _takes_in_jax(dtype):
        """Whether calls from programs of JAX's pass arrays of the type."""
        return _is_supported(dtype) and not _is_key(dtype)

    @staticmethod
    def _why_no_argument(leaf):
        """See _no_argument."""
        return _no_argument(leaf)

    @staticmethod
    def _why_no_numbers(dtype):
        """See _no_numbers."""
        return _no_numbers(dtype)

    def _find_donated(self, shapes, values, order):
        """The numbers of the program's arguments that are donated. Numbers passed by value have no memory."""
        if self._donated is None:
            return []
        count = len(shapes[0]) + sum(isinstance(place, int) for place, *_ in values)
        paths = [path for path, _ in jax.tree_util.tree_flatten_with_path(shapes)[0]]
        donated = []
        for number, leaf in enumerate(order):
            kind, argument, *_ = paths[leaf]
            place = static.place_of(argument.idx, values) if kind.idx == 0 else argument.key
            if self._donated.has(place, count):
                donated.append(number)
        return donated

    def _check(self, args, named):
        """Refuses arguments that the function does not take."""
        signature = static.signature_of(self._function)
        if signature is None:
            return
        try:
            signature.bind(*args, **named)
        except TypeError as error:
            raise gpu_async.ArgumentError("%s%s of gpu_async.jit is given %d arguments by position and %s by name: %s" % (
                static.name_of(self._function), signature, len(args), ", ".join(named) or "none", error)) from None

    def _describe(self, traced, values, number, text, type=""):
        """A message about a leaf of the traced arguments. It names the leaf as the function does, x['w'], and has the
        number that static_argnums takes for the parameter: none of one that is given by name only."""
        path, _ = jax.tree_util.tree_flatten_with_path(traced)[0][number]
        if path[0].idx == 0:
            place = static.place_of(path[1].idx, values)
            name = static.parameter_at(self._function, place)
        else:
            name = path[1].key
            place = static.place_by_name(self._function, name)
        leaf = name + jax.tree_util.keystr(path[2:])
        return "argument %s%s, of %s, a function of gpu_async.jit%s" % (
            leaf if place is None else "%d, %s" % (place, leaf), type, static.name_of(self._function), text)

    def _name_leaf(self, error, args, named, order):
        """An error of the program's about an argument as one that names the leaf."""
        found = re.match(r"@[^:]*: argument (\d+) of (.*?): (?=\S)", str(error))
        if not found:
            return error
        number, values = int(found[1]), ()
        if self._static:
            args, named, values = self._static.split(args, named)
        number = number if order is None else order[number]
        why = str(error)[found.end():]
        leaf = jax.tree_util.tree_leaves((args, named))[number]
        if isinstance(leaf, jax.Array) and leaf.is_deleted():
            why = "the array of JAX's has been deleted, or donated to another function; give the result of that function"
        return gpu_async.ArgumentError(
            self._describe((args, named), values, number, ": " + why, " (%s)" % found[2]), error.code)


class _Calling:
    """A program that calls functions of Python's, which it keeps. What they raise is raised by the call."""

    def __init__(self, main, callbacks):
        self._main, self._callbacks = main, callbacks
        self.results, self.schedule = main.results, main.schedule

    def __call__(self, *leaves):
        host_calls.Callback.take_exception()
        try:
            return self._main(*leaves)
        except gpu_async.ArgumentError:
            raise
        except gpu_async.Error as error:
            raised = host_calls.Callback.take_exception()
            if raised is None:
                raise
            try:
                if isinstance(raised, gpu_async.ArgumentError):
                    raised._is_of_callback = True  # its arguments are another call's
                raise raised from error
            finally:
                del raised  # whose traceback has this frame


@functools.lru_cache
def _provide_lapack():
    """Gives programs the LAPACK that SciPy has, as JAX has it of it. A ValueError if there is none."""
    capsules = {}
    try:
        from scipy.linalg import cython_lapack
        capsules = {name: capsule for name, capsule in cython_lapack.__pyx_capi__.items()
                    if name[1:] in _OF_LAPACK and name[0] in "sdcz"}
    except ImportError:
        pass
    why = _binding.provide_lapack(capsules)
    if why:
        raise ValueError("the function calls LAPACK, of which there is none here: %s; install SciPy" % why)


_OF_LAPACK = frozenset(("geqrf", "geqp3", "orgqr", "ungqr", "syevd", "heevd", "gesdd", "gesvd", "geev", "gees"))


class Method:
    """A method that gpu_async.jit has made, of one object."""

    __func__ = __self__ = None  # of one that copy.copy has begun to make

    def __init__(self, function, instance):
        self.__func__, self.__self__, self.__doc__ = function, instance, function.__doc__

    @property
    def __wrapped__(self):
        """For inspect.signature: a method has no self there."""
        return MethodType(self.__func__.__wrapped__, self.__self__)

    def __call__(self, *args, **named):
        return self.__func__(self.__self__, *args, **named)

    def __repr__(self):
        return "<method of %r, %r>" % (self.__self__, self.__func__)

    def timing(self, *args, **named):
        """See Jit.timing."""
        return self.__func__.timing(self.__self__, *args, **named)

    def schedule(self, *args, **named):
        """See Jit.schedule."""
        return self.__func__.schedule(self.__self__, *args, **named)

    def __getattr__(self, name):
        return getattr(self.__func__, name)

    def __eq__(self, other):
        return isinstance(other, Method) and self.__func__ is other.__func__ and self.__self__ is other.__self__

    def __hash__(self):
        return hash((id(self.__func__), id(self.__self__)))


def _anew(function):
    """The function as one that JAX has not traced yet: it keeps lowerings by what it has traced, and in these a call of
    jax_calls is another thing than here."""

    @functools.wraps(function)
    def call(*args, **named):
        return function(*args, **named)

    return call


class _Refused(Exception):
    """Why a leaf is no argument."""


class _Traced(Exception):
    """JAX traces the caller, and has no arrays for the call."""


_OF_JAX = "; it is of jax.jit's, whose program is another: jax.jit(f.__wrapped__).%s(...)"
_OF_FUNCTION = ("; it is of the functions of an Executable (gpu_async.compile). A function of gpu_async.jit has the call, and "
                "schedule(*arguments)")
# Attributes that those who come from jax.jit, or gpu_async.compile, look for.
_ADVICE = {
    **{name: _OF_JAX % name for name in ("eval_shape", "trace")},
    "lower": _OF_JAX % "lower" + " has StableHLO; f.schedule(*arguments) shows what is compiled here",
    "clear_cache": "; gpu_async.jit(f.__wrapped__) makes a function without compiled programs",
    **{name: _OF_FUNCTION for name in ("arguments", "results", "signature", "start", "diagnostics", "functions", "device", "release")}}

_UNSUPPORTED = ("%s, which its arguments and results cannot be: they are of bool, int8 to uint64, float16, bfloat16, float32, "
                "float64, complex64 and complex128; make it one of these, or an integer of its bits "
                "(jax.lax.bitcast_convert_type), and convert in the function")


def _is_key(dtype):
    """Whether it is of jax.random.key."""
    return jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key)


def _is_supported(dtype):
    """Whether arrays of programs have the type; JAX has others."""
    return _is_key(dtype) or dtype.name == "bfloat16" or dtype.kind in "biufc" and dtype.itemsize <= (16 if dtype.kind == "c" else 8)


def _unsupported(dtype):
    """What to say of an array whose type _is_supported is not."""
    return _no_numbers(dtype) or "of " + _UNSUPPORTED % dtype.name


def _no_numbers(dtype):
    """What to say of an array of NumPy's whose elements are no numbers; None of one of numbers."""
    if not isinstance(dtype, numpy.dtype) or dtype.kind not in "SUTOMmV" or dtype.kind == "V" and dtype.type is not numpy.void:
        return None  # JAX's small types are of the kind V, too
    elements, instead = {"V": ("records", "an array for each field"), "O": ("objects", "an array of numbers, x.astype(\"float32\") say"),
                         "M": ("dates", "their integers, x.view(\"int64\")"), "m": ("durations", "their integers, x.view(\"int64\")")
                         }.get(dtype.kind, ("strings", "a number for each string"))
    return ("an array of %s (%s), which cannot be passed; pass %s, or a tuple as an argument of static_argnums or static_argnames"
            % (elements, dtype, instead))


# The types that are the same with jax_enable_x64 and without.
_ALWAYS = frozenset(numpy.dtype(each) for each in (
    "bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", jax.dtypes.bfloat16, "float32", "complex64"))
_JaxArray = type(jax.numpy.zeros((), "int32"))


# Each of these takes a leaf, and returns it as the program takes it, with its shape, its type in JAX (with
# jax_enable_x64 off it has no f64), and how it is passed.

def _take_numpy(leaf):
    flags, dtype = leaf.flags, leaf.dtype
    if dtype in _ALWAYS and (flags.carray or (flags.c_contiguous and flags.aligned)):
        return leaf, (leaf.shape, dtype, ARRAY)
    return _take(leaf)


def _take_array(leaf):
    dtype = leaf.dtype
    if dtype in _ALWAYS and leaf.is_contiguous:
        return leaf, (leaf.shape, dtype, leaf.weak_type)
    return _take(leaf)


_FLOAT32, _INT32, _BOOL = map(numpy.dtype, ("float32", "int32", "bool"))


def _take_float(leaf):
    return (leaf, ((), _FLOAT32, WEAK)) if not jax.config.jax_enable_x64 else _take(leaf)


def _take_int(leaf):
    return (leaf, ((), _INT32, WEAK)) if -2**31 <= leaf < 2**31 and not jax.config.jax_enable_x64 else _take(leaf)


def _take_bool(leaf):
    return leaf, ((), _BOOL, NUMBER)  # a bool is of one type


def _take_scalar(leaf):
    dtype = leaf.dtype
    return (leaf.item(), ((), dtype, NUMBER)) if dtype in _ALWAYS else _take(leaf)


_TAKE = {_JaxArray: lambda leaf: _take(leaf), numpy.ndarray: _take_numpy, gpu_async.Array: _take_array, float: _take_float,
         int: _take_int, bool: _take_bool, **{numpy.dtype(each).type: _take_scalar for each in (
             "bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32")}}


def _take(leaf):
    """Takes a leaf of any type."""
    if isinstance(leaf, jax.core.Tracer):
        raise _Traced
    if isinstance(leaf, numpy.ma.MaskedArray):
        raise _Refused("a masked array, whose mask would be lost; give x.filled(value), or the mask as another argument")
    given = getattr(leaf, "dtype", None)
    # JAX takes the word or class float for a type.
    if given is None and not isinstance(leaf, numbers.Number):
        raise _Refused(_no_argument(leaf))
    try:
        if given is not None and not isinstance(leaf, gpu_async.Array) and _is_key(given):
            return jax.random.key_data(leaf), (leaf.shape, given, ARRAY)
        dtype = jax.dtypes.canonicalize_dtype(jax.dtypes.result_type(leaf) if given is None else given)
    except TypeError:
        if given is None:
            raise _Refused(_no_argument(leaf)) from None
        # The type belongs to another library.
        raise _Refused("of the type %s with elements of %s, which JAX does not know; give numpy.asarray(x) or "
                       "jax.dlpack.from_dlpack(x)" % (type(leaf).__name__, given)) from None
    if not dtype.isnative:
        dtype = dtype.newbyteorder("=")
    # The host computes with numbers that it has, and waits for nothing.
    if isinstance(leaf, (numbers.Number, numpy.generic)) and dtype.kind in "biuf":
        try:
            return dtype.type(leaf).item(), ((), dtype, WEAK if given is None else NUMBER)
        except OverflowError:
            raise _Refused("the number %s, which %s does not hold; give an array of a wider type (int64 needs "
                           "jax_enable_x64)" % (leaf, dtype)) from None
    array = leaf if given == dtype else numpy.asarray(leaf, dtype)
    # Programs take rows after each other, and elements where their type may be.
    if isinstance(array, numpy.ndarray) and not (array.flags.c_contiguous and array.flags.aligned):
        array = numpy.array(array, order="C")
    elif isinstance(array, gpu_async.Array) and not array.is_contiguous and array.__dlpack_device__()[0] == 1:
        array = array.copy()
    return array, (array.shape, dtype, WEAK_ARRAY if given is None or getattr(leaf, "weak_type", False) else ARRAY)


def _no_argument(leaf):
    """What to say of a leaf that JAX makes no array of."""
    name, what, advice = type(leaf).__name__, "neither an array nor a number", ""
    if isinstance(leaf, numbers.Number):
        what, advice = "a number that arrays do not hold", "; give float(x)"
    elif dataclasses.is_dataclass(leaf):
        advice = "; if its fields are arrays, register the class, jax.tree_util.register_dataclass(%s)" % name
    return ("of the type %s, %s; arguments are arrays (of JAX, NumPy, gpu_async), numbers (bool, int, float, complex, NumPy's) and "
            "trees of these%s; or name it in static_argnums or static_argnames, or take it from around the function "
            "(functools.partial)" % (name, what, advice))


def _finish(results, types):
    """Returns what makes the program's results those of JAX's types, or None if they are. Signs of integers are JAX's: a
    program has none. Keys are JAX's own."""
    steps = []
    for result, type in zip(results, types):
        if _is_key(result.dtype):
            steps.append(functools.partial(_key, result.dtype._impl))
            continue
        name = _element_type(result.dtype)
        is_typed = re.search(r"(?:x|<)%s>$" % re.escape(name), type) is not None
        if is_typed and not result.weak_type:
            steps.append(None)
        elif is_typed:
            steps.append(_binding.weaken)
        else:
            steps.append(functools.partial(_view, name, result.weak_type))
    if results and not any(steps):
        return None

    def finish(made):
        made = made if isinstance(made, tuple) else (made,) if steps else ()
        return [each if step is None else step(each) for each, step in zip(made, steps)]

    return finish


def _key(implementation, array):
    return jax.random.wrap_key_data(numpy.asarray(array.view("ui32")), impl=implementation)


def _view(name, is_weak, array):
    viewed = array.view(name)
    return _binding.weaken(viewed) if is_weak else viewed


def _element_type(dtype):
    """Returns the Array.element_type of a NumPy type."""
    dtype = numpy.dtype(dtype)
    if dtype.name == "bfloat16":
        return "bf16"
    if dtype.kind == "c":
        return "complex<f%d>" % (dtype.itemsize * 4)
    return "i1" if dtype.kind == "b" else {"i": "i", "u": "ui", "f": "f"}[dtype.kind] + str(dtype.itemsize * 8)
