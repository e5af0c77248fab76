# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The static and the donated arguments of gpu_async.jit, as jax.jit has them. Static ones are part of the program."""

import ctypes
import dataclasses
import functools
import inspect
import operator
import os
import re

import gpu_async

_BY_PLACE = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
_BY_NAME = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY


def signature_of(function):
    """Returns the signature, or None: some functions in C have none."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


class Chosen:
    """Some arguments of a function.

    `numbers` and `names` are jax.jit's static_argnums and static_argnames, or with `kind` "donate" those of donation: if
    only one of the two is given, the signature tells the other. A ValueError or TypeError if the function has no such
    arguments.
    """

    def __init__(self, function, numbers, names, kind="static"):
        self._of = name_of(function)
        given_numbers, given_names = numbers is not None, names is not None
        numbers, names = _numbers(numbers, kind), _names(names, kind)
        signature = signature_of(function)
        if signature is not None:
            parameters = signature.parameters.values()
            places = [each for each in parameters if each.kind in _BY_PLACE]
            has_more = any(each.kind == inspect.Parameter.VAR_POSITIONAL for each in parameters)
            for number in numbers:
                if not has_more and not -len(places) <= number < len(places):
                    raise ValueError("%s_argnums=%r: %s%s has %d arguments by position; give numbers from %d to %d"
                                     % (kind, numbers, self._of, signature, len(places), -len(places), len(places) - 1)
                                     if places else
                                     "%s_argnums=%r: %s%s has no arguments by position; give %s_argnames"
                                     % (kind, numbers, self._of, signature, kind))
            if not has_more:
                numbers = tuple(number % len(places) for number in numbers)
            has_any = any(each.kind == inspect.Parameter.VAR_KEYWORD for each in parameters)
            taken = {each.name for each in parameters if each.kind in _BY_NAME}
            for name in names:
                if name not in taken and (not has_any or name in signature.parameters):
                    raise ValueError("%s_argnames=%r: %s%s has no argument that is given by the name %r"
                                     % (kind, names, self._of, signature, name))
            if given_numbers and not given_names:
                names = tuple(places[number].name for number in numbers
                              if 0 <= number < len(places) and places[number].kind in _BY_NAME)
            if given_names and not given_numbers:
                numbers = tuple(number for number, each in enumerate(places) if each.name in names)
        self._numbers, self._names = numbers, names

    def has(self, place, count):
        """Whether the argument is one of them: by its name, or by its number among `count` by position."""
        if isinstance(place, str):
            return place in self._names
        return place in self._numbers or place - count in self._numbers

    def meets(self, other):
        """Returns an argument that is also one of the others, or None."""
        return next(iter({*self._numbers, *self._names} & {*other._numbers, *other._names}), None)


class Static(Chosen):
    """The static arguments of a function."""

    def split(self, args, named):
        """Returns the arguments that are traced, by position and by name, and those that are static: a tuple of
        (number or name, type, value), which has a hash. 1 and 1.0 are equal, but not the same argument."""
        static = []
        places = {number % len(args) for number in self._numbers if -len(args) <= number < len(args)}
        for place in sorted(places):
            static.append((place, type(args[place]), self._hashable(place, args[place])))
        for name in self._names:
            if name in named:
                static.append((name, type(named[name]), self._hashable(name, named[name])))
        return (tuple(each for place, each in enumerate(args) if place not in places),
                {name: each for name, each in named.items() if name not in self._names}, tuple(static))

    def _hashable(self, place, value):
        try:
            hash(value)
        except TypeError:
            raise gpu_async.ArgumentError(
                "static argument %s of %s is of the type %s, which has no hash: a program is compiled for each value, and "
                "found by it; %s, or trace an array (leave it out of static_argnums and static_argnames)"
                % (place, self._of, type(value).__name__, "make it @dataclass(frozen=True), or (eq=False) for one program an object" if dataclasses.is_dataclass(value)
                   else "give a tuple for a list")) from None
        return value


def merge(args, named, static):
    """Returns all arguments, by position and by name: what Static.split was given."""
    args, named = list(args), dict(named)
    for place, _, value in static:
        if isinstance(place, int):
            args.insert(place, value)
        else:
            named[place] = value
    return tuple(args), named


def place_of(number, static):
    """Returns the place by position of a traced argument: its number among all."""
    for place, *_ in static:  # in their order
        number += isinstance(place, int) and place <= number
    return number


def parameter_at(function, place):
    """Returns the name of a function's argument at a place."""
    signature = signature_of(function)
    for number, each in enumerate(signature.parameters.values() if signature else ()):
        if each.kind == inspect.Parameter.VAR_POSITIONAL:
            return "%s[%d]" % (each.name, place - number)
        if number == place and each.kind in _BY_PLACE:
            return each.name
    return "number %d" % place


def place_by_name(function, name):
    """Returns the place of a function's argument that is given by its name, or None if it has none."""
    signature = signature_of(function)
    for place, each in enumerate(signature.parameters.values() if signature else ()):
        if each.name == name and each.kind in _BY_PLACE:
            return place
    return None


def is_gpu(device):
    """Whether a program of `device` is for a GPU. An Error where there is no such device comes from who compiles it."""
    if device == "auto":
        device = os.environ.get("GPU_ASYNC_DEVICE") or "auto"
    if device == "auto":
        device = next((each.device for each in gpu_async.devices() if each.why is None), "cpu")
    return device.partition(":")[0] != "cpu"


def name_of(function):
    """Returns the name of a function, or that of the one which functools.partial was given."""
    while hasattr(function, "func") and not hasattr(function, "__name__"):
        function = function.func
    return str(getattr(function, "__name__", "function"))


def symbol_of(function):
    """Returns what a program calls a function, as schedules, traces and messages show it: its name. Names that programs use
    themselves (those of functions of C, exp say, which they call) come after a word that has a dot."""
    name = re.sub(r"[^\w<>]", "_", name_of(function)) or "function"
    if name.startswith(_OF_PROGRAMS) or (name != "main" and hasattr(_of_process(), name)):
        name = "python." + name
    return name


# The names of functions that programs have or call, or how they begin.
_OF_PROGRAMS = "gpuasync", "_gpuasync", "mgpu", "_mlir", "memrefCopy", "rsqrt"


@functools.cache
def _of_process():
    return ctypes.CDLL(None)


def _numbers(numbers, kind):
    try:
        return (operator.index(numbers),)
    except TypeError:
        pass
    try:
        return tuple(map(operator.index, () if numbers is None else numbers))
    except TypeError:
        raise TypeError("%s_argnums is an integer or a tuple of integers, given %r" % (kind, numbers)) from None


def _names(names, kind):
    given = () if names is None else names
    try:
        names = (given,) if isinstance(given, str) else tuple(given)
    except TypeError:
        names = None
    if names is None or not all(isinstance(name, str) for name in names):
        raise TypeError("%s_argnames is a name or a tuple of names, given %r" % (kind, given))
    return names
