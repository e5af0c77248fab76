# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Random calls with random objects: an exception of Python's or a result, never a
# crash. More: random-calls.py SEED COUNT.
# The arrays are NumPy's.
# REQUIRES: numpy
# RUN: %python %s 1 20000 | FileCheck %s
# CHECK: 20000 calls, {{[1-9][0-9]+}} of them right
import array
import random
import sys

import gpu_async as ga
import numpy as np

ELEMENTS = ["i1", "i8", "i16", "i32", "i64", "ui8", "ui32", "f16", "bf16", "f32", "f64", "complex<f32>", "complex<f64>", "index"]
DTYPES = ["?", "b", "B", "h", "H", "i", "I", "q", "Q", "e", "f", "d", "F", "D", ">f4", "U2", "O", "M8[s]", "f4,i4", "g"]
seed, count = int(sys.argv[1]), int(sys.argv[2])
rng = random.Random(seed)


def program():
    text, shapes = [], ["", "4x", "?x", "2x3x", "?x?x", "0x", "1x1x1x1x1x1x1x1x"]
    for i in range(120):
        types, kind = [], rng.choice(["tensor", "memref"])  # not both: such a memref is not returned
        for _ in range(rng.randint(0, 4)):
            element = rng.choice(ELEMENTS)
            types.append(rng.choice(["%s", kind + "<%s%%s>" % rng.choice(shapes)]) % element)
        arguments = ", ".join("%%a%d: %s" % each for each in enumerate(types))
        returned = rng.sample(range(len(types)), rng.randint(0, len(types)))
        text.append("func.func @f%d(%s) -> (%s) { return %s %s }" % (
            i, arguments, ", ".join(types[k] for k in returned), ", ".join("%%a%d" % k for k in returned),
            ": " + ", ".join(types[k] for k in returned) if returned else ""))
    return "\n".join(text)


class Odd:
    """Any protocol, wrongly."""

    def __init__(self):
        self.answers = [rng.choice([None, 3, "x", (1, 0), (1,), (2, 0), ("a", 1), b"", 1.5, object()]) for _ in range(3)]

    def __dlpack__(self, **options):
        if rng.random() < 0.3:
            raise rng.choice([ValueError, TypeError, BufferError, KeyError])("odd")
        return self.answers[0]

    def __dlpack_device__(self):
        return self.answers[1]

    def __index__(self):
        return self.answers[2]

    def __float__(self):
        return self.answers[2]

    __complex__ = __float__


def shaped(text):
    """An array that fits a type, more or less."""
    element = next((d for name, d in zip(ELEMENTS, ["?", "b", "h", "i", "q", "B", "I", "e", "H", "f", "d", "F", "D", "q"])
                    if text.rstrip(">").endswith(name) or name in text), "f")
    sizes = [rng.randint(0, 5) if size == "?" else int(size) for size in text.split("<")[1].split("x")[:-1] if size in "?0123456789"] \
        if "<" in text and not text.startswith("complex") else []
    return np.zeros(sizes, element)


def anything(text, made):
    kind = rng.randrange(20)
    if kind < 9:
        return shaped(text)
    if kind < 11:
        return rng.choice([0, 1, -1, 1.5, 2**31, 2**64, -2**70, True, 1j, float("nan"), np.int8(3), np.float32(2)])
    if kind == 11 and made:
        return rng.choice(made)
    if kind < 15:
        x = np.zeros([rng.randint(0, 4) for _ in range(rng.choice([0, 1, 2, 3, 8, 12]))], rng.choice(DTYPES))
        return rng.choice([x, x.T, x[..., ::-1] if x.ndim else x, x[::2] if x.ndim else x])
    if kind == 15:
        return Odd()
    return rng.choice([None, "text", b"bytes", bytearray(16), [1, 2], {}, object(), array.array("f", [1, 2, 3, 4]), memoryview(b"abcd"),
                       np, type, Ellipsis, np.float64(3), lambda: 0])


exe = ga.compile(program(), device="cpu", opt_level=0)
functions = [exe[name] for name in exe.functions]
made, right = [], 0
for _ in range(count):
    function = rng.choice(functions)
    arguments = [anything(text, made) for text in function.arguments]
    if rng.random() < 0.05:
        arguments += [1]
    options = {}
    if rng.random() < 0.1:
        options[rng.choice(["out", "out", "in"])] = rng.choice(
            [None, 3, (), tuple(anything(text, made) for text in function.results)])
    try:
        results = function(*arguments, **options) if rng.random() < 0.95 else function.start(*arguments, **options).wait()
    except (ga.Error, TypeError, ValueError, OverflowError, BufferError):
        continue
    right += 1
    results = results if isinstance(results, tuple) else (results,)
    made = (made + [each for each in results if isinstance(each, ga.Array)])[-20:]
    for each in results:
        if isinstance(each, ga.Array):
            repr(each), each.shape, each.nbytes
            try:
                np.asarray(each).sum()
                np.from_dlpack(each)
            except (TypeError, ValueError, BufferError, RuntimeError, ImportError):
                pass
print("%d calls, %d of them right" % (count, right))
