# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""DLPack by ctypes: producers of arrays that may be wrong, and what consumers do."""
import ctypes

import numpy as np

P = ctypes.POINTER
NAMES = {False: b"dltensor", True: b"dltensor_versioned"}
USED = {False: b"used_dltensor", True: b"used_dltensor_versioned"}  # a capsule's name stays the caller's
DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("id", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", P(ctypes.c_int64)), ("strides", P(ctypes.c_int64)), ("offset", ctypes.c_uint64)]


class Legacy(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]


class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", DELETER),
                ("flags", ctypes.c_uint64), ("tensor", Tensor)]


api = ctypes.pythonapi
new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(("PyCapsule_New", api))
pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", api))
rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", api))


class Producer:
    """An array of 2 x 3 that says of itself what it is told to; its capsule says `given` of the device."""

    def __init__(self, versioned=True, device=(1, 0), name=None, flags=0, major=1, given=None, **fields):
        self.array = np.arange(6, dtype="f").reshape(2, 3)
        self.shape = (ctypes.c_int64 * 2)(2, 3)
        self.device, self.versioned, self.asked = device, versioned, []
        self.name = name or NAMES[versioned]
        self.managed = (Versioned if versioned else Legacy)()
        t = self.managed.tensor
        t.data, t.rank, t.code, t.bits, t.lanes = self.array.ctypes.data, 2, 2, 32, 1
        given = given or device
        t.device, t.id = given if isinstance(given, tuple) and [*map(type, given)] == [int, int] else (1, 0)
        t.shape = ctypes.cast(self.shape, P(ctypes.c_int64))
        if versioned:
            self.managed.major, self.managed.flags = major, flags
        for field, value in fields.items():
            setattr(t, field, value)

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, stream="none given", max_version=None):
        self.asked.append((stream, max_version))
        return new_capsule(ctypes.addressof(self.managed), self.name, None)


class OldProducer(Producer):
    def __dlpack__(self, stream="none given"):
        return Producer.__dlpack__(self, stream)


class Exchange(ctypes.Structure):
    """What a type shows of DLPack 1.3's calls of C."""
    FROM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, P(ctypes.c_void_p))
    STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, P(ctypes.c_void_p))
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("older", ctypes.c_void_p), ("allocate", ctypes.c_void_p),
                ("fromObject", FROM), ("toObject", ctypes.c_void_p), ("borrow", ctypes.c_void_p), ("currentStream", STREAM)]


def exchanging(current=None, base=Producer, major=1, older=None):
    """A type of producers that shows them. Its `current` stream is an integer or None; `log` has what was called."""

    def from_object(array, out):
        made.log.append("made")
        if array.fails:
            return -1
        array.managed.deleter = array.given_back = DELETER(lambda address: made.log.append("given back"))
        array.managed.tensor.device, array.managed.tensor.id = array.device
        out[0] = ctypes.addressof(array.managed)
        return 0

    def current_stream(kind, number, out):
        made.log.append("asked")
        out[0] = made.current
        return 0

    class Exchanging(base):
        fails = False

    made = Exchanging
    made.current, made.log = current, []
    made.table = Exchange(major, 3, ctypes.addressof(older) if older else None, None, Exchange.FROM(from_object), None, None,
                          Exchange.STREAM(current_stream))
    made.__dlpack_c_exchange_api__ = new_capsule(ctypes.addressof(made.table), b"dlpack_exchange_api", None)
    return made


def consume(array, versioned):
    """What a consumer is left with: the deleter, on its own thread, without the GIL."""
    capsule = array.__dlpack__(max_version=(1, 0) if versioned else None)
    address = pointer_of(capsule, NAMES[versioned])
    rename(capsule, USED[versioned])
    managed = ctypes.cast(address, P(Versioned if versioned else Legacy)).contents
    return managed.tensor, lambda: managed.deleter(address)
