# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The handler of XLA's custom calls, given frames by hand: right ones, and those of another layout or version, which are
# refused with an error of XLA's and touch no memory. It needs no JAX.
# RUN: %python %s
import ctypes
import unittest

import gpu_async as ga

SIZE, POINTER, INT, LONG = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int, ctypes.c_int64


def struct(name, *fields):
    """A struct that begins with its size and a list of extensions."""
    return type(name, (ctypes.Structure,), {"_fields_": [("size", SIZE), ("extensions", POINTER), *fields]})


Version = struct("Version", ("major", INT), ("minor", INT))
Buffer = struct("Buffer", ("type", INT), ("data", POINTER), ("rank", LONG), ("sizes", ctypes.POINTER(LONG)))
Values = struct("Values", ("count", LONG), ("kinds", ctypes.POINTER(INT)), ("values", ctypes.POINTER(POINTER)))
MakeError = struct("MakeError", ("message", ctypes.c_char_p), ("code", INT))
MAKE = ctypes.CFUNCTYPE(POINTER, ctypes.POINTER(MakeError))
Api = struct("Api", ("version", Version), ("internal", POINTER), ("make_error", MAKE))


class Bytes(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("size", SIZE)]


Attributes = struct("Attributes", ("count", LONG), ("kinds", ctypes.POINTER(INT)),
                    ("names", ctypes.POINTER(ctypes.POINTER(Bytes))), ("values", ctypes.POINTER(POINTER)))
Frame = struct("Frame", ("api", ctypes.POINTER(Api)), ("context", POINTER), ("stage", INT), ("arguments", Values),
               ("results", Values), ("attributes", Attributes), ("future", POINTER))


class Extension(ctypes.Structure):
    _fields_ = [("size", SIZE), ("type", INT), ("next", POINTER)]


class Metadata(ctypes.Structure):
    _fields_ = [("size", SIZE), ("version", Version), ("traits", ctypes.c_uint32), ("state", LONG)]


class Described(ctypes.Structure):
    _fields_ = [("base", Extension), ("metadata", ctypes.POINTER(Metadata))]


F32, S32, U8, PRED, BF16, F8 = 11, 4, 6, 1, 16, 19
EXECUTE = 3


def handler():
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = POINTER, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.CFUNCTYPE(POINTER, ctypes.POINTER(Frame))(get(ga._binding.xla_handler(), None))


class Frames(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        exe = ga.compile("""
        func.func @main(%x: tensor<2x3xf32>, %n: tensor<f32>) -> (tensor<2x3xf32>, tensor<0xi8>) {
          %e = tensor.empty() : tensor<2x3xf32>
          %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>, affine_map<(i, j) -> (i, j)>],
              iterator_types = ["parallel", "parallel"]} ins(%x, %n : tensor<2x3xf32>, tensor<f32>) outs(%e : tensor<2x3xf32>) {
          ^bb0(%a: f32, %b: f32, %c: f32):
            %s = arith.addf %a, %b : f32
            linalg.yield %s : f32
          } -> tensor<2x3xf32>
          %empty = tensor.empty() : tensor<0xi8>
          return %r, %empty : tensor<2x3xf32>, tensor<0xi8>
        }""", device="cpu")
        for _ in range(2):
            exe._keep_for_xla("main", "one")
        with cls.assertRaises(cls(), ga.Error):
            exe._keep_for_xla("none", "two")
        exe.release()

    def setUp(self):
        self.errors, self.kept = [], []

        def make(error):
            self.errors.append((error[0].code, error[0].message.decode()))
            return 77

        self.x = (ctypes.c_float * 6)(*range(6))
        self.n, self.r = ctypes.c_float(10), (ctypes.c_float * 6)()
        self.api = Api(ctypes.sizeof(Api) + 64, None, Version(24, None, 0, 3), None, MAKE(make))
        self.buffers = [[self.buffer(F32, self.x, 2, 3), self.buffer(F32, self.n)], [self.buffer(F32, self.r, 2, 3), self.buffer(2, None, 0)]]

    def buffer(self, type, data, *sizes):
        self.kept.append(data)
        return Buffer(48, None, type, ctypes.cast(ctypes.byref(data), POINTER) if data is not None else None, len(sizes), (LONG * len(sizes))(*sizes))

    def values(self, buffers):
        pointers = (POINTER * len(buffers))(*(ctypes.cast(ctypes.pointer(each), POINTER) for each in buffers))
        self.kept.append((pointers, buffers))
        return Values(40, None, len(buffers), (INT * len(buffers))(*[1] * len(buffers)), pointers)

    def frame(self, program=b"one", name=b"program", kind=4):
        value, key = Bytes(program, len(program)), Bytes(name, len(name))
        self.kept += [value, key]
        attributes = Attributes(48, None, 1, (INT * 1)(kind), (ctypes.POINTER(Bytes) * 1)(ctypes.pointer(key)),
                                (POINTER * 1)(ctypes.cast(ctypes.pointer(value), POINTER)))
        return Frame(ctypes.sizeof(Frame), None, ctypes.pointer(self.api), None, EXECUTE, self.values(self.buffers[0]),
                     self.values(self.buffers[1]), attributes, None)

    def refused(self, frame, text, code=None):
        self.assertEqual(handler()(ctypes.byref(frame)), 77)
        ((got, message),) = self.errors
        self.errors.clear()
        self.assertRegex(message, text)
        if code:
            self.assertEqual(got, code)
        self.assertEqual(list(self.r), [0] * 6)

    def test_a_call(self):
        self.assertIsNone(handler()(ctypes.byref(self.frame())))
        self.assertEqual(list(self.r), [10, 11, 12, 13, 14, 15])
        # Later versions have more behind these structs.
        self.r[:] = [0] * 6
        frame = self.frame()
        frame.size += 40
        for buffer in sum(self.buffers, []):
            buffer.size += 8
        self.assertIsNone(handler()(ctypes.byref(frame)))
        self.assertEqual(self.r[5], 15)
        self.assertEqual(self.errors, [])

    def test_other_stages_do_nothing(self):
        for stage in 0, 1, 2, 4:
            frame = self.frame()
            frame.stage = stage
            self.assertIsNone(handler()(ctypes.byref(frame)))
        self.assertEqual(list(self.r), [0] * 6)

    def test_other_layouts_and_versions(self):
        for change in ("frame.size = 160", "frame.size = 0", "frame.arguments.size = 48", "frame.results.size = 32",
                       "frame.attributes.size = 40", "frame.api[0].version.major = 1"):
            frame = self.frame()
            exec(change)  # pylint: disable=exec-used
            self.refused(frame, "another version", 12)
            self.api.version.major = 0
        self.buffers[0][0].size = 40
        self.refused(self.frame(), "no array of the version", 3)

    def test_programs(self):
        for frame in (self.frame(b"two"), self.frame(b"on"), self.frame(b"one\0"), self.frame(name=b"programme"), self.frame(kind=3)):
            self.refused(frame, "was not compiled in this process", 5)
        frame = self.frame()
        frame.attributes.count = 0
        self.refused(frame, "was not compiled in this process", 5)

    def test_values(self):
        right = [list(each) for each in self.buffers]
        ints = (ctypes.c_int32 * 6)()
        for (side, place), buffer, text in (
                ((0, 0), self.buffer(S32, ints, 2, 3), "argument 0 of tensor<2x3xf32>: given i32"),
                ((0, 0), self.buffer(F32, self.x, 3, 2), "argument 0"), ((0, 0), self.buffer(F32, self.x, 6), "argument 0"),
                ((0, 1), self.buffer(F32, self.n, 1), "argument 1"), ((0, 0), self.buffer(F8, self.x, 2, 3), "element type"),
                ((0, 0), self.buffer(-5, self.x, 2, 3), "element type"), ((0, 0), self.buffer(1000, self.x, 2, 3), "element type"),
                ((0, 0), self.buffer(F32, None, 2, 3), "has no memory"), ((1, 0), self.buffer(F32, None, 2, 3), "has no memory"),
                ((1, 0), self.buffer(F32, self.r, 2, 2), "result 0"), ((1, 1), self.buffer(2, ints, 1), "result 1"),
                ((1, 0), self.buffer(F32, self.x, 2, 3), "memory overlaps that of argument 0")):
            self.buffers = [list(each) for each in right]
            self.buffers[side][place] = buffer
            self.refused(self.frame(), text)
        self.assertEqual(list(self.x), list(range(6)))
        self.buffers = [right[0][:1], right[1]]
        self.refused(self.frame(), "given 1 and 2")
        self.buffers = [right[0], right[1] + right[1]]
        self.refused(self.frame(), "given 2 and 4")

    def test_metadata(self):
        metadata = Metadata(ctypes.sizeof(Metadata), Version(), 5, 6)
        other = Extension(ctypes.sizeof(Extension), 9, None)
        extension = Described(Extension(32, 1, None), ctypes.pointer(metadata))
        other.next = ctypes.cast(ctypes.pointer(extension), POINTER)
        frame = Frame(ctypes.sizeof(Frame), ctypes.cast(ctypes.pointer(other), POINTER))  # no functions for errors
        self.assertIsNone(handler()(ctypes.byref(frame)))
        self.assertEqual((metadata.version.size, metadata.version.major, metadata.version.minor, metadata.traits, metadata.state),
                         (24, 0, 3, 0, 6))
        # A smaller one is not written.
        for metadata_size, size in (24, 32), (ctypes.sizeof(Metadata), 24), (0, 32):
            metadata.size, metadata.version.minor, metadata.traits, extension.base.size = metadata_size, 44, 55, size
            self.assertIsNone(handler()(ctypes.byref(frame)))
            self.assertEqual((metadata.version.minor, metadata.traits), (44, 55))


if __name__ == "__main__":
    unittest.main()
