# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gpu_async.jit: functions of JAX arrays. lower_jax.py is examples/jax/lower.py."""

import functools
import itertools
import numbers
import threading
from types import MethodType

import jax
import numpy

import gpu_async

from . import jax_arrays, lower_jax, static


# How an argument is passed: an array, or by value a number of NumPy's, or one of Python's, whose type JAX lets others
# decide about.
ARRAY, NUMBER, WEAK = range(3)


class Jit:
    """A function that is compiled once for each shape of its arguments, and each value of its static ones."""

    def __init__(self, function, device, options, static_argnums=None, static_argnames=None):
        functools.update_wrapper(self, function)
        self._function, self._device, self._options = function, device, options
        self._static = None
        if static_argnums is not None or static_argnames is not None:
            self._static = static.Static(function, static_argnums, static_argnames)
        self._compiled = {}
        self._lock = threading.Lock()

    def __call__(self, *args, **named):
        (main, results, types, order), leaves = self._find(args, named)
        made = main(*[leaves[place] for place in order])
        made = made if isinstance(made, tuple) else (made,) if types else ()
        return jax.tree_util.tree_unflatten(results, [_typed(*each) for each in zip(made, types)])

    def __get__(self, instance, owner=None):
        return self if instance is None else Method(self, instance)

    def schedule(self, *args, **named):
        """What a call with such arguments does on which stream: a Schedule. Compiles as the call would."""
        (main, *_), _ = self._find(args, named)
        return main.schedule()

    def _find(self, args, named):
        """What is compiled for arguments, and their leaves."""
        values = ()
        if self._static:
            args, named, values = self._static.split(args, named)
        leaves, tree = jax.tree_util.tree_flatten((args, named))
        try:
            leaves, *key = zip(*map(_array, leaves, itertools.count())) if leaves else ((), (), ())
        except _Refused as refused:
            raise gpu_async.ArgumentError(self._describe((args, named), values, *refused.args)) from None
        key = tree, tuple(zip(*key)), values
        compiled = self._compiled.get(key)
        if compiled is None:
            with self._lock:
                compiled = self._compiled.get(key)
                if compiled is None:
                    compiled = self._compiled[key] = self._compile(*key)
        return compiled, leaves

    def _compile(self, tree, types, values):
        shapes = [jax.ShapeDtypeStruct(shape, dtype, weak_type=how == WEAK) for shape, dtype, how in types]
        shapes = jax.tree_util.tree_unflatten(tree, shapes)
        by_value = [place for place, (_, _, how) in enumerate(types) if how != ARRAY]
        for number, (_, dtype, _) in enumerate(types):
            if not _is_supported(dtype):
                raise gpu_async.ArgumentError(self._describe(shapes, values, number, _UNSUPPORTED % dtype.name))
        args, named = static.merge(*shapes, values)
        self._check(args, named)
        places = [place for place, *_ in values]
        traced = lower_jax.trace(
            self._function, args, named, static_argnums=tuple(place for place in places if isinstance(place, int)),
            static_argnames=tuple(place for place in places if isinstance(place, str)))
        results, tree = jax.tree_util.tree_flatten(traced.out_info)
        for number, result in enumerate(results):
            if not _is_supported(result.dtype):
                raise gpu_async.ArgumentError("result %d of a function of gpu_async.jit is of %s"
                                              % (number, _UNSUPPORTED % result.dtype.name))
        exe = gpu_async.compile(lower_jax.lower(traced, by_value), self._device, name=static.name_of(self._function),
                                **{"place": "device", **self._options})
        # Signs of integers are JAX's: a program has none.
        order = [place for place, (_, _, how) in enumerate(types) if how == ARRAY] + by_value
        return exe["main"], tree, [
            result.dtype if _is_key(result.dtype) else _element_type(result.dtype) for result in results], order

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

    def _describe(self, traced, values, number, text):
        """A message about a leaf of the traced arguments. It names the leaf as the function does: x['w']."""
        path, _ = jax.tree_util.tree_flatten_with_path(traced)[0][number]
        if path[0].idx == 0:
            place = static.place_of(path[1].idx, values)
            name = static.parameter_at(self._function, place)
        else:
            name = path[1].key
        return "argument %d, %s%s, of a function of gpu_async.jit is of %s" % (
            number, name, jax.tree_util.keystr(path[2:]), text)


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

    def schedule(self, *args, **named):
        """See Jit.schedule."""
        return self.__func__.schedule(self.__self__, *args, **named)

    def __getattr__(self, name):
        return getattr(self.__func__, name)

    def __eq__(self, other):
        return isinstance(other, Method) and self.__func__ is other.__func__ and self.__self__ is other.__self__

    def __hash__(self):
        return hash((id(self.__func__), id(self.__self__)))


class _Refused(Exception):
    """The number of a leaf, and why it is no argument."""


def _is_key(dtype):
    """Whether it is of jax.random.key."""
    return jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key)


_UNSUPPORTED = ("%s, which its arguments and results cannot be: they are of bool, int8 to uint64, float16, bfloat16, float32, "
                "float64, complex64 and complex128; make it one of these, or an integer of its bits "
                "(jax.lax.bitcast_convert_type), and convert in the function")


def _is_supported(dtype):
    """Whether arrays of programs have the type; JAX has others."""
    return _is_key(dtype) or dtype.name == "bfloat16" or dtype.kind in "biufc"


def _typed(array, dtype):
    """A result of the type that JAX has for it. Keys are JAX's own."""
    if isinstance(dtype, str):
        return array if array.dtype == dtype else array.view(dtype)
    return jax.random.wrap_key_data(numpy.asarray(array.view("ui32")), impl=dtype._impl)


def _array(leaf, number):
    """An array, its shape, its type, one that JAX has here: with jax_enable_x64 off it has no f64; and how it
    is passed."""
    if isinstance(leaf, jax.core.Tracer):
        raise gpu_async.ArgumentError("a function of gpu_async.jit is called while JAX traces its caller (jax.jit, grad, vmap), which "
                        "has no arrays for it; make it of the whole, as gpu_async.jit(jax.grad(f))")
    given = getattr(leaf, "dtype", None)
    # JAX takes the word or class float for a type.
    if given is None and not isinstance(leaf, numbers.Number):
        raise _Refused(number, "the type %s, neither an array nor a number; name it in static_argnums or static_argnames, or take it "
                       "from around the function (functools.partial)" % type(leaf).__name__)
    if given is not None and not isinstance(leaf, gpu_async.Array) and _is_key(given):
        return jax.random.key_data(leaf), leaf.shape, given, ARRAY
    if isinstance(leaf, gpu_async.Array):
        given = jax_arrays.numpy_type(given)
    dtype = jax.dtypes.canonicalize_dtype(jax.dtypes.result_type(leaf) if given is None else given)
    # The host computes with numbers that it has, and waits for nothing.
    if isinstance(leaf, (numbers.Number, numpy.generic)) and dtype.kind in "biuf":
        return dtype.type(leaf).item(), (), dtype, WEAK if given is None else NUMBER
    array = leaf if given == dtype else numpy.asarray(leaf, dtype)
    return array, array.shape, dtype, ARRAY


def _element_type(dtype):
    """What Array.dtype says of a NumPy type."""
    dtype = numpy.dtype(dtype)
    if dtype.name == "bfloat16":
        return "bf16"
    if dtype.kind == "c":
        return "complex<f%d>" % (dtype.itemsize * 4)
    return "i1" if dtype.kind == "b" else {"i": "i", "u": "ui", "f": "f"}[dtype.kind] + str(dtype.itemsize * 8)
