# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What crosses the border to a program, drawn at random with a fixed seed: bytes of
# booleans, arrays that are too short, sizes that differ. Repeat one: borders.py SEED.
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

    def test_copies_are_between_equal_sizes(self):
        exe = compile("""
            func.func @main(%to: memref<?xi32>, %from: memref<?xi32>) {
              %c0 = arith.constant 0 : index
              %n = memref.dim %from, %c0 : memref<?xi32>
              %d = gpu.alloc (%n) : memref<?xi32>
              gpu.memcpy %d, %from : memref<?xi32>, memref<?xi32>
              gpu.memcpy %to, %d : memref<?xi32>, memref<?xi32>
              gpu.dealloc %d : memref<?xi32>
              return
            }""")
        to = np.zeros(4, "i4")
        for size in (3, 5):
            with self.assertRaisesRegex(ga.Error, "gpu.memcpy"):
                exe.main(to, np.ones(size, "i4"))
            self.assertEqual(to.tolist(), [0] * 4)
        exe.main(to, np.ones(4, "i4"))
        self.assertEqual(to.tolist(), [1] * 4)

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
          %r = memref.reinterpret_cast %to to offset: [0], sizes: [%n], strides: [{2}] : memref<?xi32{1}> to memref<?xi32, strided<[{2}]>>
          gpu.memcpy %r, %d : memref<?xi32, strided<[{2}]>>, memref<?xi32>
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


class Lengths(Case):
    """Random programs of open sizes: arguments of any lengths give what NumPy does, or an error."""

    BINARY = {"arith.addf": np.add, "arith.mulf": np.multiply, "arith.maximumf": np.maximum, "linalg.sub": np.subtract}
    ARGUMENTS = 3

    def draw(self, name):
        """A function of tensors of one rank and a number, and what it computes, which raises
        ValueError where sizes do not fit."""
        rng, rank = self.rng, self.rng.choice([1, 1, 2])
        dims = "?x" * rank
        lines, steps = [], []
        values = ["%%a%d" % i for i in range(self.ARGUMENTS)]
        lines.append("%c0 = arith.constant 0 : index")
        lines.append("%%w = tensor.dim %%a0, %%c%d : tensor<%sf32>" % (rank - 1 and 1, dims) if rank > 1 else "%w = arith.constant 1 : index")
        for i in range(rng.randrange(1, 6)):
            kind, result = rng.choice(["binary"] * 4 + ["select", "slice", "matmul" if rank == 2 else "cast", "branch"]), "%%v%d" % i
            a, b, c = (rng.randrange(len(values)) for _ in range(3))
            x, y, z, t = values[a], values[b], values[c], "tensor<%sf32>" % dims
            if kind == "binary":
                op = rng.choice(list(self.BINARY))
                if op.startswith("linalg"):
                    lines.append("%s = %s ins(%s, %s : %s, %s) outs(%s : %s) -> %s" % (result, op, x, y, t, t, x, t, t))
                else:
                    lines.append("%s = %s %s, %s : %s" % (result, op, x, y, t))
                steps.append(lambda v, a=a, b=b, f=self.BINARY[op]: f(*self.alike(v[a], v[b])))
            elif kind == "select":
                lines.append("%%m%d = arith.cmpf olt, %s, %s : %s" % (i, x, y, t))
                lines.append("%s = arith.select %%m%d, %s, %s : tensor<%si1>, %s" % (result, i, z, x, dims, t))
                steps.append(lambda v, a=a, b=b, c=c: np.where(v[a] < v[b], v[c], v[a]) if self.alike(v[a], v[b], v[c]) else None)
            elif kind == "slice":
                more = ("", "") if rank == 1 else (", 0", ", %%w%d" % i)
                if rank == 2:
                    lines.append("%%w%d = tensor.dim %s, %%c1 : %s" % (i, x, t))
                lines.append("%s = tensor.extract_slice %s[0%s] [%%n%s] [1%s] : %s to %s" % (
                    result, x, more[0], more[1], ", 1" if rank == 2 else "", t, t))
                steps.append(lambda v, a=a: self.front(v[a], v["n"]))
            elif kind == "matmul":
                lines.append("%%f%d = linalg.fill ins(%%zero : f32) outs(%s : %s) -> %s" % (i, z, t, t))
                lines.append("%s = linalg.matmul ins(%s, %s : %s, %s) outs(%%f%d : %s) -> %s" % (result, x, y, t, t, i, t, t))
                steps.append(lambda v, a=a, b=b, c=c: self.product(v[a], v[b], v[c]))
            elif kind == "cast":
                lines.append("%%s%d = tensor.cast %s : %s to tensor<4xf32>" % (i, x, t))
                lines.append("%s = tensor.cast %%s%d : tensor<4xf32> to %s" % (result, i, t))
                steps.append(lambda v, a=a: self.alike(v[a], np.zeros(4, "f"))[0])
            else:
                lines.append("%s = scf.if %%yes -> %s {" % (result, t))
                lines.append("%%t%d = arith.addf %s, %s : %s" % (i, x, y, t))
                lines.append("scf.yield %%t%d : %s" % (i, t))
                lines.append("} else {\nscf.yield %s : %s\n}" % (z, t))
                steps.append(lambda v, a=a, b=b, c=c: np.add(*self.alike(v[a], v[b])) if v["n"] > 3 else v[c])
            values.append(result)
        head = ["%zero = arith.constant 0.0 : f32", "%c1 = arith.constant 1 : index", "%c3 = arith.constant 3 : index",
                "%yes = arith.cmpi sgt, %n, %c3 : index"]
        text = "func.func @%s(%s, %%n: index) -> tensor<%sf32> {\n%s\nreturn %s : tensor<%sf32>\n}" % (
            name, ", ".join("%%a%d: tensor<%sf32>" % (i, dims) for i in range(self.ARGUMENTS)), dims, "\n".join(head + lines),
            values[-1], dims)

        def compute(*arguments):
            v = dict(enumerate(arguments[:-1]), n=arguments[-1])
            for step in steps:
                v[len(v) - 1] = step(v)
            return v[len(v) - 2]

        return text, compute, rank

    @staticmethod
    def alike(*arrays):
        if any(each.shape != arrays[0].shape for each in arrays):
            raise ValueError("sizes differ")
        return arrays

    @staticmethod
    def front(array, count):
        if not 0 <= count <= len(array) or not array.size and count > len(array):
            raise ValueError("no such slice")
        return array[:count]

    @staticmethod
    def product(a, b, out):
        if a.shape[1] != b.shape[0] or out.shape != (a.shape[0], b.shape[1]):
            raise ValueError("sizes differ")
        return a @ b

    def test_programs(self):
        drawn = [self.draw("f%d" % i) for i in range(60)]
        exe = compile("\n".join(text for text, _, _ in drawn))
        right = wrong = 0
        for i, (text, compute, rank) in enumerate(drawn):
            for _ in range(30):
                # Mostly one length.
                sizes = [self.rng.choice([4, 4, 4, 4, 4, 0, 1, 3, 5, 7]) for _ in range(rank)]
                arrays = [np.array(np.random.RandomState(self.rng.randrange(1 << 30)).randint(
                    -9, 9, [self.rng.choice([size] * 12 + [size + 1, 0, 2]) for size in sizes]), "f") for _ in range(self.ARGUMENTS)]
                n = self.rng.choice([0, 1, 3, 4, 4, 4, 4, 5, -1, sizes[0]])
                try:
                    wanted = compute(*arrays, n)
                except ValueError:
                    wrong += 1
                    with self.assertRaises(ga.Error, msg="%s\nof %s and %d" % (text, [each.shape for each in arrays], n)):
                        exe["f%d" % i](*arrays, n)
                    continue
                right += 1
                self.same(np.asarray(exe["f%d" % i](*arrays, n)), wanted)
        self.assertGreater(min(right, wrong), 300)


unittest.main()
