# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Results that stay on a GPU (place="device"): uploads, downloads, order, lifetime.
# The driver is a fake one, which runs no kernels, so the programs copy.
# REQUIRES: numpy, mock-cuda
# RUN: env GPU_ASYNC_CUDA_LIBRARY=%mock_cuda GPUASYNC_MOCK_EMPTY_KERNELS=1 %python %s
import copy
import gc
import os
import pickle
import threading
import unittest
import weakref

import gpu_async as ga
import numpy as np

from Inputs.producer import Producer

PROGRAM = """
func.func @same(%x: tensor<2x3xf32>) -> tensor<2x3xf32> { return %x : tensor<2x3xf32> }
func.func @both(%x: tensor<2x3xf32>, %n: tensor<i32>) -> (tensor<i32>, tensor<2x3xf32>) {
  return %n, %x : tensor<i32>, tensor<2x3xf32>
}
func.func @half(%x: tensor<4xbf16>) -> tensor<4xbf16> { return %x : tensor<4xbf16> }
func.func @none(%x: tensor<0xf32>) -> tensor<0xf32> { return %x : tensor<0xf32> }
func.func @at(%x: tensor<8xf32>, %i: tensor<i32>) -> f32 {
  %n = tensor.extract %i[] : tensor<i32>
  %m = arith.index_cast %n : i32 to index
  %r = tensor.extract %x[%m] : tensor<8xf32>
  return %r : f32
}
func.func @memory(%x: memref<2x3xf32>) { return }
"""
exe = ga.compile(PROGRAM, device="cuda", place="device")
x = np.arange(6, dtype="float32").reshape(2, 3)


class Device(Producer):
    def __init__(self, **options):
        options.setdefault("device", (2, 0))
        super().__init__(**options)


class Arrays(unittest.TestCase):
    def test_a_result_is_on_the_device(self):
        r = exe.same(x)
        self.assertEqual(r.__dlpack_device__(), (2, 0))
        self.assertEqual((r.shape, r.dtype), ((2, 3), "float32"))
        np.testing.assert_array_equal(r.numpy(), x)
        self.assertFalse(np.asarray(r).flags.writeable)
        with self.assertRaisesRegex(BufferError, "on the device"):
            memoryview(r)

    def test_a_host_array_is_read_by_the_call(self):
        given = x.copy()
        r = exe.same(given)
        given[:] = -1
        np.testing.assert_array_equal(r.numpy(), x)

    def test_results_are_arguments(self):
        r = x
        for _ in range(50):
            r = exe.same(r)
        np.testing.assert_array_equal(r.numpy(), x)

    def test_a_dropped_result_is_nobody_elses_too_soon(self):
        kept = [exe.same(x + i) for i in range(100)]
        del kept[::2]
        more = [exe.same(-x) for _ in range(50)]
        for i, r in enumerate(kept):
            np.testing.assert_array_equal(r.numpy(), x + 2 * i + 1)
        for r in more:
            np.testing.assert_array_equal(r.numpy(), -x)

    def test_numbers(self):
        n, r = exe.both(x, 7)
        self.assertEqual((n.item(), int(n), float(n), bool(n)), (7, 7, 7.0, True))
        with self.assertRaisesRegex(ValueError, "one element"):
            r.item()
        self.assertEqual(r.item(1, 2), x[1, 2])

    def test_an_index_on_the_device(self):
        n, _ = exe.both(x, 5)
        self.assertEqual(exe.at(np.arange(8, dtype="float32"), n), 5)
        self.assertEqual(exe.at(np.arange(8, dtype="float32"), 3), 3)
        n, _ = exe.both(x, 8)
        with self.assertRaisesRegex(ga.Error, "reads outside"):
            exe.at(np.arange(8, dtype="float32"), n)

    def test_other_types(self):
        try:
            import ml_dtypes
        except ImportError:
            ml_dtypes = None
        given = np.array([0x3F80, 0x4000, 0xC000, 0], "uint16")
        if ml_dtypes:
            np.testing.assert_array_equal(exe.half(given.view(ml_dtypes.bfloat16)).numpy(), [1, 2, -2, 0])
        self.assertEqual(exe.none(np.zeros(0, "float32")).numpy().shape, (0,))

    def test_operators_and_copies(self):
        r = exe.same(x)
        np.testing.assert_array_equal(r + 1, x + 1)
        np.testing.assert_array_equal(r[1], x[1])
        self.assertTrue((r == exe.same(x)).all())
        self.assertIs(r.block_until_ready(), r)
        for each in (copy.copy(r), copy.deepcopy(r), pickle.loads(pickle.dumps(r))):
            np.testing.assert_array_equal(np.asarray(each), x)
        np.testing.assert_array_equal(r.view("i32").numpy(), x.view("int32"))

    def test_texts(self):
        r = exe.same(x)
        self.assertEqual(repr(r), "gpu_async.Array([[0., 1., 2.],\n                 [3., 4., 5.]], dtype=float32)")
        self.assertEqual(str(r), str(x))
        with self.assertRaisesRegex(TypeError, r"deleted; write to a copy, numpy.array\(a\); in a function"):
            r[0] = 1

    def test_dlpack(self):
        r = exe.same(x)
        capsule = r.__dlpack__(stream=1)
        del r
        gc.collect()
        self.assertIn("dltensor", repr(capsule))
        del capsule

    def test_arrays_of_others(self):
        given = Device()
        exe.same(given)
        (stream, *_), = given.asked
        self.assertIsInstance(stream, int)
        self.assertNotIn(stream, (0, 1, 2, -1))
        kept = weakref.ref(given)
        del given
        gc.collect()
        self.assertIsNone(kept())

    def test_refusals(self):
        with self.assertRaisesRegex(ga.ArgumentError, "place=device"):
            exe.memory(x.copy())
        with self.assertRaisesRegex(ga.ArgumentError, "host memory"):
            exe.same(x, out=np.zeros_like(x))
        with self.assertRaisesRegex(ga.ArgumentError, "given f64"):
            exe.same(x.astype("float64"))
        with self.assertRaisesRegex(ga.CompileError, "place=nowhere: expected one of .*device"):
            ga.compile(PROGRAM, device="cpu", place="nowhere")
        cpu = ga.compile("func.func @same(%x: tensor<2x3xf32>) -> tensor<2x3xf32> { return %x : tensor<2x3xf32> }", device="cpu")
        with self.assertRaisesRegex(ga.ArgumentError, "argument 0 of tensor<2x3xf32>: the array is on another device, cuda:0, than the "
                                    r"program, which runs on cpu; pass numpy.asarray\(a\)"):
            cpu.same(exe.same(x))
        np.testing.assert_array_equal(exe.same(cpu.same(x)).numpy(), x)  # the other way it is uploaded

    def test_on_the_cpu_device_nothing_changes(self):
        cpu = ga.compile(PROGRAM, device="cpu", place="device")
        r = cpu.same(x)
        self.assertEqual(r.__dlpack_device__(), (1, 0))
        np.testing.assert_array_equal(np.asarray(r), x)
        cpu.memory(x.copy())

    def test_threads(self):
        failed = []

        def work(seed):
            rng = np.random.default_rng(seed)
            for _ in range(40):
                given = rng.random((2, 3), "float32")
                r, old = exe.same(given), exe.same(-given)
                for _ in range(int(rng.integers(5))):
                    r, old = exe.same(r), r
                if not (r.numpy() == given).all():
                    failed.append(seed)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])

    def test_a_forked_child(self):
        r = exe.same(x)
        child = os.fork()
        if not child:
            try:
                r.numpy()
            except ga.Error:
                del r
                os._exit(0)
            os._exit(1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        np.testing.assert_array_equal(r.numpy(), x)

    def test_a_large_argument(self):
        large = ga.compile("func.func @same(%x: tensor<5000000xf32>) -> tensor<5000000xf32> {\n"
                           "  return %x : tensor<5000000xf32>\n}", device="cuda", place="device")
        given = np.arange(5000000, dtype="float32")
        r = large.same(given)
        given[:] = 0
        np.testing.assert_array_equal(r.numpy(), np.arange(5000000, dtype="float32"))

    def test_start(self):
        np.testing.assert_array_equal(exe.same.start(x).wait().numpy(), x)

    def test_a_released_executable(self):
        other = ga.compile(PROGRAM, device="cuda", place="device")
        r = other.same(x)
        other.release()
        del other
        gc.collect()
        np.testing.assert_array_equal(r.numpy(), x)


if __name__ == "__main__":
    unittest.main()
