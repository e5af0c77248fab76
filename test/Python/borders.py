# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What crosses the border to a program, drawn at random with a fixed seed: bytes of
# booleans, arrays that are too short. Repeat one: borders.py SEED.
# The arrays are NumPy's.
# REQUIRES: numpy
# RUN: %python %s 1
import ctypes
import random
import sys
import threading
import unittest

import gpu_async as ga
import numpy as np

from Inputs.producer import Producer

seed = int(sys.argv.pop(1)) if len(sys.argv) > 1 else 1


def compile(text):
    return ga.compile(text, device="cpu", name="test.mlir", opt_level=0)


class Case(unittest.TestCase):
    def setUp(self):
        self.rng = random.Random(seed)

    def same(self, given, wanted):
        np.testing.assert_array_equal(given, wanted)


def by_dlpack(array):
    """The array, of booleans, as an object that has DLPack only, as PyTorch's."""
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    strides = (ctypes.c_int64 * array.ndim)(*array.strides)
    made = Producer(data=array.ctypes.data, rank=array.ndim, shape=shape, strides=strides, code=6, bits=8)
    made.kept = array, shape, strides
    return made


class Booleans(Case):
    """A byte other than 0 is true, wherever a program gets it from."""

    exe = compile("""
        func.func @widen(%x: tensor<?xi1>) -> tensor<?xi32> {
          %r = arith.extui %x : tensor<?xi1> to tensor<?xi32>
          return %r : tensor<?xi32>
        }
        func.func @not(%x: tensor<?xi1>) -> tensor<?xi1> {
          %c0 = arith.constant 0 : index
          %n = tensor.dim %x, %c0 : tensor<?xi1>
          %true = arith.constant true
          %t = tensor.splat %true[%n] : tensor<?xi1>
          %r = arith.xori %x, %t : tensor<?xi1>
          return %r : tensor<?xi1>
        }
        func.func @choose(%m: tensor<5xi1>, %a: tensor<5xi8>, %b: tensor<5xi8>) -> tensor<5xi8> {
          %r = arith.select %m, %a, %b : tensor<5xi1>, tensor<5xi8>
          return %r : tensor<5xi8>
        }
        func.func @and(%a: tensor<5xi1>, %b: tensor<5xi1>) -> tensor<5xi1> {
          %r = arith.andi %a, %b : tensor<5xi1>
          return %r : tensor<5xi1>
        }
        func.func @count(%x: memref<?xi1, strided<[?], offset: ?>>) -> i32 {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %z = arith.constant 0 : i32
          %n = memref.dim %x, %c0 : memref<?xi1, strided<[?], offset: ?>>
          %s = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %z) -> i32 {
            %v = memref.load %x[%i] : memref<?xi1, strided<[?], offset: ?>>
            %e = arith.extui %v : i1 to i32
            %t = arith.addi %sum, %e : i32
            scf.yield %t : i32
          }
          return %s : i32
        }
        func.func @invert(%x: memref<?xi1>) {
          %true = arith.constant true
          linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%x : memref<?xi1>) {
          ^bb0(%a: i1):
            %n = arith.xori %a, %true : i1
            linalg.yield %n : i1
          }
          return
        }
        func.func @scalar(%x: tensor<i1>) -> i32 {
          %v = tensor.extract %x[] : tensor<i1>
          %e = arith.extui %v : i1 to i32
          return %e : i32
        }
        func.func @number(%x: i1) -> (i1, i32, f32) {
          %e = arith.extui %x : i1 to i32
          %f = arith.uitofp %x : i1 to f32
          return %x, %e, %f : i1, i32, f32
        }
        func.func @view(%x: memref<?xi1>) -> memref<?xi1> { return %x : memref<?xi1> }
        func.func @same(%x: tensor<?xi1>) -> tensor<?xi1> { return %x : tensor<?xi1> }
        func.func @bytes(%x: memref<?xi8>) -> memref<?xi8> { return %x : memref<?xi8> }""")

    def draw(self, count):
        """Bytes, of which many are neither 0 nor 1, as booleans."""
        return np.array([self.rng.choice([0, 0, 1, 2, 128, 254, 255, self.rng.randrange(256)]) for _ in range(count)],
                        "u1").view("?")

    def test_arrays(self):
        exe = self.exe
        for _ in range(150):
            x = self.draw(self.rng.choice([0, 1, 3, 8, 31, 64, 1000]))
            truth = x.view("u1") != 0
            for given in (x, by_dlpack(x)):
                self.same(np.asarray(exe.widen(given)), truth.astype("i4"))
                self.same(np.asarray(exe["not"](given)).view("u1"), (~truth).astype("u1"))
                self.assertEqual(exe.count(given), truth.sum())
            self.assertEqual(exe.count(x[::-2]), truth[::-2].sum())
            # A copy is one of the bytes, and as true.
            self.same(np.asarray(exe.same(x)).view("u1") != 0, truth)
            self.assertEqual([bool(each) for each in exe.view(x).numpy()], truth.tolist())
            # So are the bytes of another array that is seen as booleans.
            self.same(np.asarray(exe.widen(exe.bytes(x.view("i1")).view("bool"))), truth.astype("i4"))
            exe.invert(x)
            self.same(x.view("u1"), (~truth).astype("u1"))

    def test_results_in_given_memory(self):
        for _ in range(50):
            a, b, out = self.draw(5), self.draw(5), self.draw(5)
            self.exe["and"](a, b, out=out)
            self.same(out.view("u1"), ((a.view("u1") != 0) & (b.view("u1") != 0)).astype("u1"))
            left, right = np.arange(5, dtype="i1"), -np.arange(5, dtype="i1")
            self.same(np.asarray(self.exe.choose(a, left, right)), np.where(a.view("u1") != 0, left, right))

    def test_numbers(self):
        exe = self.exe
        for byte in range(256):
            x = np.array([byte], "u1").view("?")
            truth = bool(byte)
            self.assertEqual(exe.scalar(x.reshape(())), truth)
            self.assertEqual(exe.scalar(by_dlpack(x.reshape(()))), truth)
            self.assertEqual(exe.number(x.reshape(())), (truth, int(truth), float(truth)))
            self.assertEqual(exe.view(x).view("bool").numpy().tolist(), [truth])
        for good in (True, False, 0, 1, np.bool_(True)):
            self.assertEqual(exe.number(good), (bool(good), int(good), float(good)))
        for bad in (2, -1, 255, 1 << 70):
            with self.assertRaisesRegex(ga.ArgumentError, "out of the range of i1"):
                exe.number(bad)


class ShortArrays(Case):
    """Copies and fills by a program end where the caller's array does."""

    exe = compile("\n".join("""
        func.func @download{0}(%to: memref<?xi32{1}>, %n: index) {{
          %d = gpu.alloc (%n) : memref<?xi32>
          %v = arith.constant 7 : i32
          gpu.memset %d, %v : memref<?xi32>, i32
          gpu.memcpy %to, %d : memref<?xi32{1}>, memref<?xi32>
          gpu.dealloc %d : memref<?xi32>
          return
        }}
        func.func @upload{0}(%from: memref<?xi32{1}>, %n: index, %other: memref<?xi32>) {{
          %d = gpu.alloc (%n) : memref<?xi32>
          %r = memref.reinterpret_cast %from to offset: [0], sizes: [%n], strides: [{2}] : memref<?xi32{1}> to memref<?xi32, strided<[{2}]>>
          gpu.memcpy %d, %r : memref<?xi32>, memref<?xi32, strided<[{2}]>>
          gpu.dealloc %d : memref<?xi32>
          return
        }}
        func.func @fill{0}(%to: memref<?xi32{1}>, %n: index) {{
          %v = arith.constant 7 : i32
          %r = memref.reinterpret_cast %to to offset: [0], sizes: [%n], strides: [{2}] : memref<?xi32{1}> to memref<?xi32, strided<[{2}]>>
          gpu.memset %r, %v : memref<?xi32, strided<[{2}]>>, i32
          return
        }}""".format(*each) for each in (("", "", 1), ("2", ", strided<[2]>", 2))))

    def test_copies_and_fills(self):
        for _ in range(400):
            base = np.zeros(64, "i4")
            step, begin, size = self.rng.choice([1, 2]), self.rng.randrange(16), self.rng.randrange(12)
            array = base[begin:begin + step * size:step]
            self.assertEqual(len(array), size)
            count = max(1, size + self.rng.choice([-2, -1, 0, 0, 1, 2, 9]))
            what = self.rng.choice(["download", "upload", "fill"])
            if what == "download" and step == 2:
                count = size  # one with strides is of the array's own size
            function = self.exe[what + ("2" if step == 2 else "")]
            arguments = [array, count] + ([base] if what == "upload" and self.rng.random() < 0.5 else [])
            if what == "upload" and len(arguments) == 2:
                arguments.append(np.zeros(1, "i4"))
            # Another argument that holds all of it is as good.
            fits = count <= size or (len(arguments) == 3 and arguments[2] is base)
            before = base.copy()
            if fits:
                function(*arguments)
                if what != "upload":
                    before[begin:begin + step * count:step] = 7
            else:
                with self.assertRaisesRegex(ga.Error, "test.mlir:.*exceeds argument 0 of @" + function.__name__):
                    function(*arguments)
            self.same(base, before)

    def test_results_in_given_memory(self):
        exe = compile("""
            func.func @main(%x: tensor<3xi32>) -> tensor<3xi32> {
              %r = arith.addi %x, %x : tensor<3xi32>
              return %r : tensor<3xi32>
            }""")
        base = np.arange(20, dtype="i4")
        exe.main(base[:3], out=base[10:13])
        self.assertEqual(base[8:15].tolist(), [8, 9, 0, 2, 4, 13, 14])
        for size in (2, 4):
            with self.assertRaisesRegex(ga.ArgumentError, "given the size %d" % size):
                exe.main(base[:3], out=base[10:10 + size])

    def test_threads_with_overlapping_arrays(self):
        base = np.zeros(64, "i4")
        wrong = []

        def call(begin, size):
            for _ in range(200):
                try:
                    self.exe.fill(base[begin:begin + size], size)
                except ga.Error as error:
                    wrong.append(error)

        threads = [threading.Thread(target=call, args=each) for each in ((0, 64), (8, 16), (16, 4), (12, 40))]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual(wrong, [])


unittest.main()
