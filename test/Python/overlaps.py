# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Arrays of one call that overlap in memory: arguments with each other, with what is donated, with `out`.
# The fake driver runs no kernels, so the programs that it runs copy; on the CPU device kernels are real.
# REQUIRES: numpy, mock-cuda
# RUN: env GPU_ASYNC_CUDA_LIBRARY=%mock_cuda GPUASYNC_MOCK_EMPTY_KERNELS=1 %python %s
import itertools
import threading
import unittest

import gpu_async as ga
import numpy as np

PLACES = ("off", "copy", "device")
COPIES = """
func.func @put(%a: tensor<8xf32>, %b: tensor<?xf32>) -> tensor<8xf32> {
  %c1 = arith.constant 1 : index
  %p = tensor.extract_slice %b[%c1] [1] [1] : tensor<?xf32> to tensor<1xf32>
  %r = tensor.insert_slice %p into %a[%c1] [1] [1] : tensor<1xf32> into tensor<8xf32>
  return %r : tensor<8xf32>
}
func.func @give(%a: tensor<8xf32> {gpu_async.donated}, %b: tensor<?xf32>) -> tensor<8xf32> {
  %c1 = arith.constant 1 : index
  %p = tensor.extract_slice %b[%c1] [1] [1] : tensor<?xf32> to tensor<1xf32>
  %r = tensor.insert_slice %p into %a[%c1] [1] [1] : tensor<1xf32> into tensor<8xf32>
  return %r : tensor<8xf32>
}
func.func @same(%a: tensor<8xf32>) -> tensor<8xf32> { return %a : tensor<8xf32> }
func.func @head(%a: memref<8xf32>) -> memref<3xf32, strided<[1]>> {
  %r = memref.subview %a[0] [3] [1] : memref<8xf32> to memref<3xf32, strided<[1]>>
  return %r : memref<3xf32, strided<[1]>>
}
func.func @tail(%a: memref<8xf32>) -> memref<5xf32, strided<[1], offset: 3>> {
  %r = memref.subview %a[3] [5] [1] : memref<8xf32> to memref<5xf32, strided<[1], offset: 3>>
  return %r : memref<5xf32, strided<[1], offset: 3>>
}
"""
KERNELS = """
func.func @both(%a: tensor<?xf32>, %b: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %s = arith.addf %a, %a : tensor<?xf32>
  %t = arith.mulf %b, %b : tensor<?xf32>
  return %s, %t : tensor<?xf32>, tensor<?xf32>
}
// All of %x is doubled. Then %from, a part of it, is copied to %to.
func.func @after(%x: memref<?xf32>, %inner: memref<?xf32>, %from: memref<?xf32>, %to: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %v = memref.load %x[%i] : memref<?xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %x[%i] : memref<?xf32>
  }
  %k = memref.dim %inner, %c0 : memref<?xf32>
  scf.parallel (%i) = (%c0) to (%k) step (%c1) {
    %v = memref.load %inner[%i] : memref<?xf32>
    %one = arith.constant 1.0 : f32
    %w = arith.addf %v, %one : f32
    memref.store %w, %inner[%i] : memref<?xf32>
  }
  memref.copy %from, %to : memref<?xf32> to memref<?xf32>
  return
}
"""
x = np.arange(100, 108, dtype="float32")
# Pairs of slices: the same, contained at the start, inside and at the end, partly, beside each other, without elements.
SLICES = [slice(0, 8), slice(0, 3), slice(2, 6), slice(3, 8), slice(0, 5), slice(4, 8), slice(5, 8), slice(2, 2)]
PAIRS = list(itertools.product(SLICES, SLICES))


def put(a, b):
    a = np.array(a)
    a[1] = np.asarray(b)[1]
    return a


class OnTheCpu(unittest.TestCase):
    def test_arguments_of_kernels(self):
        for place in PLACES:
            both = ga.compile(KERNELS, device="cpu", place=place).both
            v = x.copy()
            for a, b in PAIRS:
                with self.subTest(place=place, a=a, b=b):
                    s, t = both(v[a], v[b])
                    np.testing.assert_array_equal(s, v[a] + v[a])
                    np.testing.assert_array_equal(t, v[b] * v[b])
            np.testing.assert_array_equal(v, x)

    def test_memory_around_a_smaller_argument_is_read_behind_kernels(self):
        for place, n in itertools.product(("copy", "device"), (64, 1 << 18)):
            after = ga.compile(KERNELS, device="cpu", place=place).after
            for inner, source in itertools.product((slice(0, 3), slice(8, 12), slice(8, 24)), (slice(0, n), slice(9, n), slice(16, 40))):
                with self.subTest(place=place, n=n, inner=inner, source=source):
                    v, wanted = np.ones(n, "f"), np.full(n, 2, "f")
                    wanted[inner] += 1
                    to = np.zeros(len(v[source]), "f")
                    after(v, v[inner], v[source], to)
                    np.testing.assert_array_equal(to, wanted[source])
                    np.testing.assert_array_equal(v, wanted)

    def test_calls_of_two_threads(self):
        both = ga.compile(KERNELS, device="cpu").both
        v, errors = x.copy(), []

        def call(part):
            try:
                for _ in range(300):
                    np.testing.assert_array_equal(both(v[part], v)[0], v[part] + v[part])
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=call, args=(part,)) for part in (slice(0, 3), slice(0, 5), slice(0, 8), slice(2, 6))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])


class Copies:
    def test_arguments(self):
        for place in self.places:
            exe = ga.compile(COPIES, device=self.device, place=place)
            for part in (slice(0, 8), slice(0, 3), slice(2, 6), slice(6, 8)):
                v = x.copy()
                np.testing.assert_array_equal(np.asarray(exe.put(v, v[part])), put(x, x[part]))
                # Arrays of NumPy's are copied where they are donated.
                np.testing.assert_array_equal(np.asarray(exe.give(v, v[part])), put(x, x[part]))
                np.testing.assert_array_equal(v, x)

    def test_donated_arrays(self):
        exe = ga.compile(COPIES, device=self.device, place="device")
        a = exe.same(x)
        with self.assertRaisesRegex(ga.ArgumentError, "argument 0 .*donated, but argument 1 is the same array; pass a copy of one"):
            exe.give(a, a)
        for view, wanted in ((exe.head, x[:3]), (exe.tail, x[3:])):
            a = exe.same(x)
            part = view(a)
            # Views have the memory too, so it is not taken.
            r = exe.give(a, part)
            np.testing.assert_array_equal(np.asarray(r), put(x, wanted))
            if self.device == "cpu":
                np.testing.assert_array_equal(np.asarray(part), wanted)

    def test_memory_for_the_result(self):
        for place in self.places:
            exe = ga.compile(COPIES, device=self.device, place=place)
            if self.device != "cpu" and place == "device":
                v = exe.same(x)
                for function in (exe.put, exe.give):
                    with self.assertRaisesRegex(ga.ArgumentError, "result 0 .* overlaps that of argument 0; pass other memory, or a copy"):
                        function(v, x, out=v)
                continue
            for function in (exe.put, exe.give):
                big = np.arange(200, 224, dtype="float32")
                before = big.copy()
                v, w = big[8:16], big[20:]
                for first, number in ((8, 0), (1, 0), (13, 0), (16, 1)):
                    with self.assertRaisesRegex(ga.ArgumentError, f"overlaps that of argument {number}; pass other memory, or a copy of the arg"):
                        function(v, w, out=big[first:first + 8])
                np.testing.assert_array_equal(big, before)
                # Memory that only lies beside it is other memory.
                function(v, w, out=big[:8])
                np.testing.assert_array_equal(big[:8], put(before[8:16], before[20:]))
                np.testing.assert_array_equal(big[8:], before[8:])


class CopiesOnTheCpu(Copies, unittest.TestCase):
    device, places = "cpu", PLACES


class CopiesOnCuda(Copies, unittest.TestCase):
    device, places = "cuda", ("copy", "device")

    def test_views_on_the_device(self):
        exe = ga.compile(COPIES, device="cuda", place="device")
        a = exe.same(x)
        for view, wanted in ((exe.head, x[:3]), (exe.tail, x[3:])):
            np.testing.assert_array_equal(np.asarray(exe.put(a, view(a))), put(x, wanted))
        np.testing.assert_array_equal(np.asarray(exe.put(a, a)), x)


if __name__ == "__main__":
    unittest.main()
