# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Arguments whose memory results take: which memory, when arrays are deleted, and what others have of it.
# The fake driver runs no kernels, so the programs copy; on the CPU device they are real.
# REQUIRES: numpy, mock-cuda
# RUN: env GPU_ASYNC_CUDA_LIBRARY=%mock_cuda GPUASYNC_MOCK_EMPTY_KERNELS=1 %python %s
import copy
import ctypes
import gc
import pickle
import random
import threading
import unittest
import warnings

import gpu_async as ga
import numpy as np

PROGRAM = """
func.func @step(%k: tensor<8x4xf32> {gpu_async.donated}, %row: tensor<1x4xf32>, %n: index) -> tensor<8x4xf32> {
  %r = tensor.insert_slice %row into %k[%n, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}
func.func @old(%k: tensor<8x4xf32> {gpu_async.donated}, %row: tensor<1x4xf32>, %n: index) -> (tensor<1x4xf32>, tensor<8x4xf32>) {
  %o = tensor.extract_slice %k[%n, 0] [1, 4] [1, 1] : tensor<8x4xf32> to tensor<1x4xf32>
  %r = tensor.insert_slice %row into %k[%n, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<8x4xf32>
  return %o, %r : tensor<1x4xf32>, tensor<8x4xf32>
}
func.func @pair(%k: tensor<8x4xf32> {gpu_async.donated}, %l: tensor<8x4xf32> {gpu_async.donated}, %row: tensor<1x4xf32>, %n: index)
    -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %c0 = arith.constant 0 : index
  %part = tensor.extract_slice %k[%c0, 0] [1, 4] [1, 1] : tensor<8x4xf32> to tensor<1x4xf32>
  %s = tensor.insert_slice %part into %l[%n, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<8x4xf32>
  %r = tensor.insert_slice %row into %k[%n, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<8x4xf32>
  return %s, %r : tensor<8x4xf32>, tensor<8x4xf32>
}
func.func @beside(%k: tensor<8x4xf32> {gpu_async.donated}, %l: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %c0 = arith.constant 0 : index
  %part = tensor.extract_slice %l[%c0, 0] [1, 4] [1, 1] : tensor<8x4xf32> to tensor<1x4xf32>
  %r = tensor.insert_slice %part into %k[%c0, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<8x4xf32>
  return %r, %l : tensor<8x4xf32>, tensor<8x4xf32>
}
func.func @same(%k: tensor<8x4xf32> {gpu_async.donated}) -> tensor<8x4xf32> { return %k : tensor<8x4xf32> }
func.func @make(%k: tensor<8x4xf32>) -> tensor<8x4xf32> { return %k : tensor<8x4xf32> }
func.func @none(%k: tensor<0x4xf32> {gpu_async.donated}) -> tensor<0x4xf32> { return %k : tensor<0x4xf32> }
"""
UNUSABLE = """
func.func @main(%x: tensor<3xf32> {gpu_async.donated}, %y: tensor<4xf32> {gpu_async.donated}, %z: tensor<4xf32>, %n: index)
    -> tensor<4xf32> {
  %o = tensor.extract_slice %y[%n] [1] [1] : tensor<4xf32> to tensor<1xf32>
  %r = tensor.insert_slice %o into %z[%n] [1] [1] : tensor<1xf32> into tensor<4xf32>
  return %r : tensor<4xf32>
}
"""
x = np.arange(32, dtype="float32").reshape(8, 4)
row = np.array([[-1, -2, -3, -4]], "float32")


def written(k, n, what=row):
    k = k.copy()
    k[n] = what
    return k


def address(array):
    """The elements' address, by DLPack, which is let go of at once."""
    capsule = array.__dlpack__()
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.c_void_p.from_address(get(capsule, b"dltensor")).value


class Donation:
    def setUp(self):
        self.exe = ga.compile(PROGRAM, device=self.device, place="device")

    def check(self, array, wanted):
        np.testing.assert_array_equal(np.asarray(array), wanted)

    def check_deleted(self, array):
        for use in (np.asarray, lambda a: a.numpy(), lambda a: a + 1, lambda a: a.__dlpack__(), lambda a: a.view("i32"),
                    lambda a: a[0], lambda a: a.block_until_ready(), pickle.dumps, copy.copy, self.exe.make, self.exe.same):
            with self.assertRaisesRegex(ga.Error, r"f32 \(8, 4\) has been deleted: it was donated to @\w+.*a\.copy\(\)"):
                use(array)
        with self.assertRaisesRegex(BufferError, "has been deleted"):
            memoryview(array)
        self.assertEqual((array.shape, array.dtype, repr(array)), ((8, 4), "f4", "<gpu_async.Array f32 (8, 4), deleted>"))

    def test_a_hundred_steps_in_one_memory(self):
        a, wanted, places = self.exe.make(x), x, set()
        for i in range(100):
            a, wanted = self.exe.step(a, row * i, i % 8), written(wanted, i % 8, row * i)
            self.check(a, wanted)
            places.add(address(a))
        self.assertEqual(len(places), 1)

    def test_a_view_that_a_call_returned(self):
        same = ga.compile("func.func @main(%m: memref<8x4xf32>) -> memref<8x4xf32> { return %m : memref<8x4xf32> }",
                          device=self.device, place="device").main
        a = self.exe.make(x)
        v, before = same(a), address(a)
        r = self.exe.step(a, row, 3)
        self.check_deleted(a)
        self.check(r, written(x, 3))
        self.assertNotEqual(address(r), before)
        self.assertEqual(address(v), before)
        if self.device == "cpu":
            self.check(v, x)

    def test_an_argument_that_donates_another_one(self):
        a = self.exe.make(x)

        class Index:
            def __init__(inner):
                inner.result = None

            def __index__(inner):
                inner.result = self.exe.step(a, row, 1)
                return 3

        index = Index()
        with self.assertRaisesRegex(ga.Error, "has been deleted: it was donated"):
            self.exe.step(a, row, index)
        self.check(index.result, written(x, 1))
        self.check_deleted(a)

    def test_a_donated_array_is_deleted(self):
        a = self.exe.make(x)
        self.assertIs(a.is_deleted(), False)
        r = self.exe.step(a, row, 3)
        self.assertEqual((a.is_deleted(), r.is_deleted()), (True, False))
        self.check_deleted(a)
        self.check(r, written(x, 3))

    def test_it_is_read_before_it_is_written(self):
        a, wanted = self.exe.make(x), x
        for i in range(20):
            place = address(a)
            o, a = self.exe.old(a, row * i, i % 8)
            self.check(o, wanted[i % 8:i % 8 + 1])
            wanted = written(wanted, i % 8, row * i)
            self.check(a, wanted)
            self.assertEqual(address(a), place)

    def test_two_caches(self):
        k, l = self.exe.make(x), self.exe.make(-x)
        places = address(k), address(l)
        s, r = self.exe.pair(k, l, row, 5)
        self.check(s, written(-x, 5, x[0]))
        self.check(r, written(x, 5))
        self.assertEqual((address(r), address(s)), places)
        self.check_deleted(k)
        self.check_deleted(l)

    def test_unchanged_and_without_elements(self):
        a = self.exe.make(x)
        place = address(a)
        r = self.exe.same(a)
        self.check(r, x)
        self.assertEqual(address(r), place)
        e = self.exe.none(np.zeros((0, 4), "float32"))
        self.assertEqual(self.exe.none(e).numpy().shape, (0, 4))
        with self.assertRaisesRegex(ga.Error, "deleted"):
            e.numpy()

    def test_arrays_of_others_stay(self):
        given = x.copy()
        r = self.exe.step(given, row, 2)
        self.check(r, written(x, 2))
        np.testing.assert_array_equal(given, x)
        r, l = self.exe.beside(given, given)
        self.check(r, x)
        self.check(l, x)
        np.testing.assert_array_equal(given, x)
        s, r = self.exe.pair(given, given, row, 1)
        self.check(s, written(x, 1, x[0]))
        self.check(r, written(x, 1))

    def test_one_array_for_two_arguments(self):
        a = self.exe.make(x)
        with self.assertRaisesRegex(ga.ArgumentError, "argument 0 of .* donated, but argument 1 is the same array; pass a copy"):
            self.exe.pair(a, a, row, 1)
        with self.assertRaisesRegex(ga.ArgumentError, "argument 0 of .* donated, but argument 1 is the same array"):
            self.exe.beside(a, a)
        with self.assertRaisesRegex(ga.ArgumentError, "is the same array"):
            self.exe.beside(a.view("f32"), a)
        self.check(a, x)
        self.check(self.exe.step(a, row, 1), written(x, 1))

    def test_a_view_is_as_it_was(self):
        a = self.exe.make(x)
        v = a.view("i32")
        r = self.exe.step(a, row, 4)
        self.check_deleted(a)
        self.check(r, written(x, 4))
        self.check(v, x.view("int32"))
        # The last one of them gives the memory.
        self.assertNotEqual(address(r), address(v))

    def test_an_export_is_as_it_was(self):
        a = self.exe.make(x)
        capsule = a.__dlpack__()
        place = address(a)
        r = self.exe.step(a, row, 4)
        self.check(r, written(x, 4))
        self.assertNotEqual(address(r), place)
        del capsule
        place = address(r)
        r = self.exe.step(r, row, 5)
        self.assertEqual(address(r), place)

    def test_what_is_refused_leaves_arrays(self):
        a = self.exe.make(x)
        for wrong in ((a, row.astype("float64"), 1), (a, row[:, :2], 1), (a, row, "no"), (a, row)):
            with self.assertRaises(ga.Error):
                self.exe.step(*wrong)
            self.check(a, x)
        with self.assertRaises(ga.Error):
            self.exe.step(a, row, 1, out=np.zeros(3, "float32"))
        self.check(a, x)
        place = address(a)
        self.assertEqual(address(self.exe.step(a, row, 1)), place)

    def test_after_the_program_has_begun_they_are_gone(self):
        a = self.exe.make(x)
        with self.assertRaisesRegex(ga.Error, "outside|out-of-bounds|out of bounds|insert_slice"):
            self.exe.step(a, row, 8)
        self.check_deleted(a)
        self.check(self.exe.step(self.exe.make(x), row, 1), written(x, 1))

    def test_tokens(self):
        a = self.exe.make(x)
        token = self.exe.step.start(a, row, 1)
        self.check_deleted(a)
        self.check(token.wait(), written(x, 1))

    def test_threads_with_arrays_of_their_own(self):
        failed = []

        def loop(seed):
            choose = random.Random(seed)
            a, wanted = self.exe.make(x + seed), x + seed
            try:
                for i in range(100):
                    n = choose.randrange(8)
                    a, wanted = self.exe.step(a, row * i, n), written(wanted, n, row * i)
                    if not i % 10:
                        self.check(a, wanted)
                self.check(a, wanted)
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=loop, args=(seed,)) for seed in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual(failed, [])

    def test_threads_that_read_meanwhile(self):
        failed = []
        for i in range(60):
            a = self.exe.make(x + i)

            def read():
                for use in (np.array, self.exe.make):
                    try:
                        self.check(use(a), x + i)
                    except ga.Error as error:
                        if "deleted" not in str(error):
                            failed.append(error)
                    except AssertionError as error:
                        failed.append(error)

            threads = [threading.Thread(target=read) for _ in range(3)]
            for each in threads:
                each.start()
            r = self.exe.step(a, row, i % 8)
            for each in threads:
                each.join()
            self.check(r, written(x + i, i % 8))
        self.assertEqual(failed, [])

    def test_what_no_result_takes(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            main = ga.compile(UNUSABLE, device=self.device, place="device").main
        self.assertRegex(str(caught[0].message), "(?s)some donated arguments are not usable.*argument 0 of tensor<3xf32>: no result"
                         " has its type.*argument 1 of tensor<4xf32>: .*before it is read for the last time")
        y = self.exe_of(main)
        self.check(main(np.zeros(3, "float32"), y, np.zeros(4, "float32"), 2), [0, 0, 2, 0])
        with self.assertRaisesRegex(ga.Error, "deleted"):
            y.numpy()

    def exe_of(self, main):
        make = ga.compile("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }",
                          device=self.device, place="device").main
        return make(np.arange(4, dtype="float32"))

    def test_the_option(self):
        text = "func.func @f(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> { return %x : tensor<4xf32> }"
        f = ga.compile(text, device=self.device, place="device", donate=[0]).f
        a = self.exe_of(f)
        place = address(a)
        self.assertEqual(address(f(a, 1)), place)
        for donate, text_of in (([1], "no tensor"), ([2], "there are 2 arguments"), (["x"], "numbers of arguments")):
            with self.assertRaisesRegex(ga.CompileError, text_of):
                ga.compile(text, device=self.device, place="device", donate=donate)
        with self.assertRaisesRegex(ga.CompileError, "only public function"):
            ga.compile(PROGRAM, device=self.device, donate=[0])
        with self.assertRaisesRegex(ga.CompileError, "only a tensor's memory"):
            ga.compile("func.func @f(%x: memref<4xf32> {gpu_async.donated}, %y: tensor<4xf32>) { return }", device=self.device)


class OnTheDevice(Donation, unittest.TestCase):
    device = "cuda"

    def test_work_on_a_stream_of_the_callers_goes_on(self):
        other = ga.compile("func.func @f(%x: memref<8x4xf32>) { return }", device="cuda", place="off", stream="caller")
        a = self.exe.make(x)
        place = address(a)
        other.f(a, stream=0)
        r = self.exe.step(a, row, 4)
        self.check_deleted(a)
        self.check(r, written(x, 4))
        # Not before the caller lets go of it.
        more = [self.exe.make(x) for _ in range(5)]
        self.assertNotIn(place, map(address, [r, *more]))
        with self.assertRaisesRegex(ga.Error, "without a stream"):
            self.exe.step(r, row, 4, stream=0, out=self.exe.make(x))
        self.check(r, written(x, 4))

    def test_with_copies_arrays_are_only_deleted(self):
        exe = ga.compile(PROGRAM, device="cuda", place="copy")
        a = exe.make(x)
        self.check(exe.step(a, row, 1), written(x, 1))
        self.check_deleted(a)


class OnTheHost(Donation, unittest.TestCase):
    device = "cpu"

    def test_arrays_of_numpy_are_as_they_were(self):
        a = self.exe.make(x)
        mine = np.asarray(a)
        r = self.exe.step(a, row, 4)
        self.check_deleted(a)
        np.testing.assert_array_equal(mine, x)
        self.check(r, written(x, 4))
        del a
        gc.collect()
        np.testing.assert_array_equal(mine, x)

    def test_memory_for_the_result(self):
        a, out = self.exe.make(x), np.empty_like(x)
        self.assertIs(self.exe.step(a, row, 4, out=out), out)
        np.testing.assert_array_equal(out, written(x, 4))
        self.check_deleted(a)
        given = x.copy()
        with self.assertRaisesRegex(ga.ArgumentError, "result 0 .*: its memory overlaps that of argument 0"):
            self.exe.step(given, row, 4, out=given)
        np.testing.assert_array_equal(given, x)


if __name__ == "__main__":
    unittest.main()
