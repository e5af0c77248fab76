# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# DLPack in both directions: who owns what, when deleters run, and wrong capsules.
# The arrays are NumPy's, the wrong ones of ctypes'.
# REQUIRES: numpy
# RUN: %python %s
import ctypes
import os
import subprocess
import sys
import threading
import unittest
from unittest import mock

import gpu_async as ga
import numpy as np

from Inputs.producer import P, OldProducer, Producer, Versioned, consume, exchanging, new_capsule, pointer_of

exe = ga.compile("""
func.func @view(%x: memref<?x?xf32>) -> memref<?x?xf32> { return %x : memref<?x?xf32> }
func.func @twice(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %r = arith.addf %x, %x : tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
func.func @half(%x: memref<?xbf16>) -> memref<?xbf16> { return %x : memref<?xbf16> }
memref.global constant @table : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>
func.func @sink(%x: memref<?xf32>) { return }
func.func @constant() -> memref<4xf32> {
  %r = memref.get_global @table : memref<4xf32>
  return %r : memref<4xf32>
}
""", device="cpu")


class Into(unittest.TestCase):
    def test_constants_are_read_only(self):
        constant = exe.constant()
        for array, flags in (constant, 1), (constant.view("i32"), 1), (exe.twice(np.ones((2, 3), "f")), 0):
            capsule = array.__dlpack__(max_version=(1, 0))
            given = ctypes.cast(pointer_of(capsule, b"dltensor_versioned"), P(Versioned)).contents
            self.assertEqual(given.flags, flags)
        for options in {}, {"max_version": None}, {"max_version": (0, 8)}:  # has no such flag
            with self.assertRaisesRegex(BufferError, "constant of the program, which is read-only; .* copies it"):
                constant.__dlpack__(**options)
        with self.assertRaisesRegex(ga.ArgumentError, "read-only"):
            exe.sink(constant)

    def test_without_a_copy(self):
        for producer in (Producer(), Producer(versioned=False), OldProducer(versioned=False)):
            y = exe.view(producer)
            self.assertEqual(y.numpy().ctypes.data, producer.array.ctypes.data)
            self.assertEqual(y.shape, (2, 3))
        self.assertEqual(Producer().asked, [])
        producer = Producer()
        exe.twice(producer)
        self.assertEqual(producer.asked, [("none given", (1, 1))])  # host memory has no streams

    def test_strides_and_offset(self):
        strides = (ctypes.c_int64 * 2)(3, 1)
        y = exe.twice(Producer(strides=strides, offset=4, data=np.arange(7, dtype="f").ctypes.data))
        self.assertEqual(y.shape, (2, 3))

    def test_strides_of_one_element_do_not_matter(self):
        for stride in 5, -5, 0, 1 << 62, -(1 << 63):
            shape, strides = (ctypes.c_int64 * 2)(2, 1), (ctypes.c_int64 * 2)(1, stride)
            producer = Producer(shape=shape, strides=strides, data=np.arange(2, dtype="f").ctypes.data)
            with self.subTest(stride=stride):
                self.assertEqual(exe.twice(producer).numpy().tolist(), [[0], [2]])
                y = exe.view(producer)
                self.assertEqual(y.numpy().tolist(), [[0], [1]])
                self.assertEqual(np.from_dlpack(y).tolist(), [[0], [1]])

    def test_read_only(self):
        self.assertEqual(exe.twice(Producer(flags=1)).shape, (2, 3))
        with self.assertRaisesRegex(ga.ArgumentError, "read-only"):
            exe.view(Producer(flags=1))

    def test_wrong_ones(self):
        for producer, message in (
                (Producer(device=(2, 0)), "on a device that the program does not run on, which is cpu"),
                (Producer(given=(2, 0)), r"gives memory of DLPack's device \(2, 0\), but its __dlpack_device__ says \(1, 0\)"),
                (Producer(given=(2, 0), versioned=False), r"device \(2, 0\), but"), (Producer(given=(99, 3)), r"device \(99, 3\), but"),
                (Producer(device=None), "gives no tuple"), (Producer(device=(1,)), "gives no tuple"),
                (Producer(device=("a", 0)), "tensor<.*argument 0|int"),
                (Producer(major=2), "version 2 of DLPack"), (Producer(name=b"used_dltensor"), "no capsule"),
                (Producer(name=b"other"), "no capsule"), (Producer(rank=-1), "no shape"),
                (Producer(shape=None), "no shape"), (Producer(lanes=4), "4 lanes"), (Producer(bits=4), "4 bits"),
                (Producer(code=99), "type code 99"), (Producer(code=0), "given i32, expected f32"),
                (Producer(rank=1), "given 1 dimensions"), (Producer(rank=1000), "given 1000 dimensions"),
                (Producer(data=None), "null"), (Producer(data=None, offset=64), "null"), (Producer(offset=1), "multiple of the element's size")):
            with self.assertRaisesRegex(ga.ArgumentError, message):
                exe.twice(producer)

        with self.assertRaisesRegex(ga.ArgumentError, "result 0 of .*: its data is null"):
            ga.compile("""
                func.func @twice(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
                  %r = arith.addf %x, %x : tensor<2x3xf32>
                  return %r : tensor<2x3xf32>
                }""", device="cpu").twice(Producer(), out=Producer(data=None))
        with self.assertRaisesRegex(ga.ArgumentError, "returns its own"):
            exe.twice(Producer(), out=Producer(data=None, shape=(ctypes.c_int64 * 2)(0, 3)))

        class Raises(Producer):
            def __dlpack__(self, **options):
                raise BufferError("not today")

        with self.assertRaisesRegex(ga.ArgumentError, "argument 0 of tensor<.*: not today"):
            exe.twice(Raises())
        for error in KeyboardInterrupt, MemoryError:  # are not about the array
            Raises.__dlpack__ = mock.Mock(side_effect=error)
            with self.assertRaises(error):
                exe.twice(Raises())
        # It makes calls itself, of which the last one is refused: each is made once.
        asked = []

        def call_again(self, **options):
            asked.append(options)
            return exe.twice(self if len(asked) < 8 else 0)

        Raises.__dlpack__ = call_again
        with self.assertRaises(ga.ArgumentError):
            exe.twice(Raises())
        self.assertEqual(len(asked), 8)
        Raises.__dlpack__ = lambda self, **options: 3
        with self.assertRaisesRegex(ga.ArgumentError, "no capsule"):
            exe.twice(Raises())


    def test_by_calls_of_c(self):
        made = exchanging()
        array = made()
        y = exe.view(array)
        self.assertEqual(y.numpy().ctypes.data, array.array.ctypes.data)
        self.assertEqual((array.asked, made.log), ([], ["made"]))  # held by what views it
        del y
        self.assertEqual(made.log, ["made", "given back"])
        del made.log[:]
        exe.twice(array)
        with self.assertRaisesRegex(ga.ArgumentError, "given 1 dimensions"):
            exe.twice(made(rank=1))
        with self.assertRaisesRegex(ga.ArgumentError, "read-only"):
            exe.view(made(flags=1))
        self.assertEqual(made.log, ["made", "given back"] * 3)

    def test_not_by_calls_of_c(self):
        made = exchanging()
        gradient, complexes, failing = made(), made(code=5, bits=64), made()
        gradient.requires_grad, failing.fails = True, True
        for array, log in ((gradient, []), (complexes, ["made", "given back"]), (failing, ["made"])):
            del made.log[:]
            try:
                exe.twice(array)
            except ga.ArgumentError:
                self.assertIs(array, complexes)
            self.assertEqual((len(array.asked), made.log), (1, log))
        newer = exchanging(major=2)()
        exe.twice(newer)
        self.assertEqual((len(newer.asked), type(newer).log), (1, []))
        both = exchanging(major=2, older=made.table)()
        both.__class__.made = made  # what the table belongs to
        del made.log[:]
        exe.twice(both)
        self.assertEqual((both.asked, made.log), ([], ["made", "given back"]))
        for _ in range(8):  # more types than are remembered
            array = exchanging()()
            exe.twice(array)
            self.assertEqual((array.asked, type(array).log), ([], ["made", "given back"]))

    def test_destructors_in_python(self):
        # One that runs while an exception is raised neither sees nor takes it.
        seen = []

        class Own(Producer):
            def __dlpack__(self, **options):
                self.destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(lambda capsule: seen.append(sys.exc_info()[0]))
                return new_capsule(ctypes.addressof(self.managed), self.name, ctypes.cast(self.destructor, ctypes.c_void_p))

        for wrong in (Own(rank=1), Own(rank=-1), Own(bits=4)):
            with self.assertRaises(ga.ArgumentError):
                exe.twice(wrong)
        exe.twice(Own())
        self.assertEqual(seen, [None] * 4)


class OutOf(unittest.TestCase):
    def arrays(self):
        x = np.arange(6, dtype="f").reshape(2, 3)
        return x, [exe.twice(x), exe.view(x)]

    def test_numpy_takes_it(self):
        x, arrays = self.arrays()
        for y in arrays:
            z = np.from_dlpack(y)
            self.assertEqual(z.ctypes.data, y.numpy().ctypes.data)
            del y
        del arrays
        self.assertEqual(z.tolist(), x.tolist())

    def test_deleters_on_any_thread(self):
        for versioned in (False, True):
            x, arrays = self.arrays()
            start = sys.getrefcount(x)
            taken = [consume(y, versioned) for y in arrays]
            del arrays
            for tensor, _ in taken:
                self.assertEqual((tensor.device, tensor.rank, tensor.code, tensor.bits, tensor.shape[1], tensor.strides[0]),
                                 (1, 2, 2, 32, 3, 3))
            self.assertEqual(taken[1][0].data, x.ctypes.data)
            self.assertEqual(sys.getrefcount(x), start)  # the view's hold of x is still there
            threads = [threading.Thread(target=delete) for _, delete in taken]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(sys.getrefcount(x), start - 1)

    def test_capsules_that_nobody_takes(self):
        x, arrays = self.arrays()
        start = sys.getrefcount(x)
        for y in arrays:
            y.__dlpack__()
            y.__dlpack__(max_version=(1, 0))
        del y, arrays
        self.assertEqual(sys.getrefcount(x), start - 1)

    def test_what_cannot_be_had(self):
        y = exe.twice(np.zeros((2, 3), "f"))
        self.assertEqual(y.__dlpack_device__(), (1, 0))
        y.__dlpack__(stream=None, max_version=(1, 0), dl_device=(1, 0), copy=False)
        for error, options in ((ValueError, {"stream": 2}), (BufferError, {"copy": True}), (BufferError, {"dl_device": (2, 0)}),
                               (TypeError, {"dl_device": 3}), (TypeError, {"max_version": "1.0"}), (TypeError, {"other": 1})):
            with self.assertRaises(error):
                y.__dlpack__(**options)

    def test_bf16(self):
        data = np.arange(4, dtype="uint16")

        class Half(Producer):
            pass

        half = Half(code=4, bits=16, rank=1, data=data.ctypes.data)
        y = exe.half(half)
        self.assertEqual((y.element_type, y.shape), ("bf16", (2,)))
        self.assertEqual(np.asarray(y.view("ui16")).tolist(), [0, 1])
        with self.assertRaisesRegex(BufferError, "no format for bf16"):
            memoryview(y)
        tensor, delete = consume(y, True)
        self.assertEqual((tensor.code, tensor.bits), (4, 16))
        delete()


class Late(unittest.TestCase):
    def test_deleters_after_finalisation(self):
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs/late.py")
        for _ in range(3):
            done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120)
            self.assertEqual((done.returncode, done.stdout), (0, "left\n"), done.stderr)


unittest.main()
