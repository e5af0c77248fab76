# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# NumPy's arrays in and out, of every type, without a copy.
# The arrays are NumPy's.
# REQUIRES: numpy
# RUN: %python %s
import ctypes
import gc
import unittest
import weakref

import gpu_async as ga
import numpy as np

# Of MLIR, and what NumPy may pass for it.
TYPES = {"i1": ["bool"], "i8": ["int8", "uint8"], "i16": ["int16", "uint16"], "i32": ["int32", "uint32"],
         "i64": ["int64", "uint64"], "ui8": ["uint8", "int8"], "ui64": ["uint64"], "index": ["int64"],
         "f16": ["float16"], "f32": ["float32"], "f64": ["float64"], "complex<f32>": ["complex64"],
         "complex<f64>": ["complex128"]}


def compile(text, **options):
    return ga.compile(text, device="cpu", name="test.mlir", **options)


def passing(kind):
    """Functions of one argument that return it, for each type."""
    return compile("\n".join(
        "func.func @f%d(%%x: %s) -> %s { return %%x : %s }" % (i, *[kind % name] * 3) for i, name in enumerate(TYPES)))


class Arrays(unittest.TestCase):
    def test_memref_is_the_argument_itself(self):
        exe = passing("memref<2x3x%s>")
        for i, names in enumerate(TYPES.values()):
            for name in names:
                x = np.arange(6).reshape(2, 3).astype(name)
                y = exe["f%d" % i](x)
                self.assertEqual(y.numpy().ctypes.data, x.ctypes.data)
                np.testing.assert_array_equal(y.numpy().view(name), x)

    def test_a_view_keeps_its_argument(self):
        view = passing("memref<?x%s>").f9  # f32
        class Owner(np.ndarray):
            pass

        x = np.arange(1000, dtype="f").view(Owner)
        alive = weakref.ref(x)
        y = view(x).numpy()
        del x
        gc.collect()
        self.assertIsNotNone(alive())
        self.assertEqual(y[999], 999)
        del y
        gc.collect()
        self.assertIsNone(alive())

    def test_a_chain_of_views_keeps_its_argument_only(self):
        same = passing("memref<?x%s>").f9  # f32
        class Owner(np.ndarray):
            pass

        x = np.arange(4, dtype="f").view(Owner)
        alive = weakref.ref(x)
        x = same(x)
        before = len(gc.get_objects())
        for _ in range(1000):
            x = same(x)
        self.assertLess(len(gc.get_objects()) - before, 100)
        self.assertIsNotNone(alive())
        self.assertEqual(x.numpy().tolist(), [0, 1, 2, 3])
        del x
        gc.collect()
        self.assertIsNone(alive())

    def test_constants_are_read_only(self):
        exe = compile("""
            memref.global constant @table : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>
            memref.global constant @zeros : memref<4xf32> = dense<0.0>
            memref.global "private" constant @half : memref<4xbf16> = dense<2.0>
            memref.global @variable : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>
            memref.global constant @in6addr_loopback : memref<16xui8>  // the C library's
            func.func @constant() -> (memref<4xf32>, memref<4xf32>, memref<4xbf16>, memref<16xui8>) {
              %a = memref.get_global @table : memref<4xf32>
              %b = memref.get_global @zeros : memref<4xf32>
              %c = memref.get_global @half : memref<4xbf16>
              %d = memref.get_global @in6addr_loopback : memref<16xui8>
              return %a, %b, %c, %d : memref<4xf32>, memref<4xf32>, memref<4xbf16>, memref<16xui8>
            }
            func.func @changes() -> memref<4xf32> {
              %r = memref.get_global @variable : memref<4xf32>
              return %r : memref<4xf32>
            }
            func.func @either(%first: i1, %x: memref<4xf32>) -> memref<2xf32, strided<[1], offset: 1>> {
              %c = memref.get_global @table : memref<4xf32>
              %s = arith.select %first, %c, %x : memref<4xf32>
              %r = memref.subview %s[1] [2] [1] : memref<4xf32> to memref<2xf32, strided<[1], offset: 1>>
              return %r : memref<2xf32, strided<[1], offset: 1>>
            }
            func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
              %r = arith.addf %x, %x : tensor<4xf32>
              return %r : tensor<4xf32>
            }""")
        x = np.zeros(4, "f")
        table, zeros, half, loopback = exe.constant()
        for array, elements in ((table, [1, 2, 3, 4]), (table.view("i32").view("f32"), [1, 2, 3, 4]), (zeros, [0] * 4),
                                (half.view("ui16"), [0x4000] * 4), (loopback, [0] * 15 + [1]), (exe.either(True, x), [2, 3])):
            self.assertEqual((memoryview(array).readonly, array.numpy().flags.writeable), (True, False))
            self.assertEqual(array.numpy().tolist(), elements)
            with self.assertRaisesRegex(ValueError, "read-only"):
                array.numpy()[0] = 9
            with self.assertRaisesRegex(BufferError, "constant of the program, which is read-only"):
                ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(array), ctypes.create_string_buffer(128), 1)  # PyBUF_WRITABLE
        for array in exe.changes(), exe.either(False, x), exe.twice(table):
            self.assertEqual((memoryview(array).readonly, array.numpy().flags.writeable), (False, True))
            array.numpy()[:] = 7
        self.assertEqual(exe.changes().numpy().tolist(), [7] * 4)
        self.assertEqual(x.tolist(), [0, 7, 7, 0])
        with self.assertRaisesRegex(ga.ArgumentError, "argument 1 of .*may write it, but the array is read-only; pass a copy"):
            exe.either(True, table)
        with self.assertRaisesRegex(ga.ArgumentError, "result 0 of .*may write it, but the array is read-only; pass a copy"):
            exe.twice(x, out=table)
        self.assertEqual(exe.twice(table).numpy().tolist(), [2, 4, 6, 8])

    def test_tensor_results_are_new(self):
        exe = compile("""
            func.func @twice(%x: tensor<?xf32>) -> tensor<?xf32> {
              %r = arith.addf %x, %x : tensor<?xf32>
              return %r : tensor<?xf32>
            }
            func.func @pair(%x: tensor<2xf32>, %y: tensor<3xi32>) -> (tensor<3xi32>, i64, tensor<2xf32>) {
              %a = arith.addf %x, %x : tensor<2xf32>
              %b = arith.addi %y, %y : tensor<3xi32>
              %n = arith.constant 7 : i64
              return %b, %n, %a : tensor<3xi32>, i64, tensor<2xf32>
            }""")
        for size in (0, 1, 70001):
            x = np.random.rand(size).astype("f")
            y = exe.twice(x)
            self.assertEqual((y.shape, y.strides, y.dtype, y.ndim, y.nbytes), ((size,), (1,), "float32", 1, 4 * size))
            del x
            np.asarray(y)[:] += 1  # it can be written
        x = np.array([1, 2], "f")
        a, n, b = exe.pair(x, np.array([1, 2, 3], "i"))
        self.assertEqual((np.asarray(a).tolist(), n, np.asarray(b).tolist()), ([2, 4, 6], 7, [2, 4]))
        x.flags.writeable = False  # tensors are only read
        self.assertEqual(np.asarray(exe.twice(x)).tolist(), [2, 4])

    def test_what_is_dropped_is_freed(self):
        exe = compile("""
            func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
              %r = arith.addf %x, %x : tensor<?xf32>
              return %r : tensor<?xf32>
            }""")
        import resource
        x = np.ones(1 << 18, "f")  # 1 MiB
        exe.f(x)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(300):
            np.from_dlpack(exe.f(x)).sum()
            memoryview(exe.f(x))
            with self.assertRaises(ga.ArgumentError):
                exe.f(x[::2])
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 100 << 10)  # KiB

    def test_results_in_given_memory(self):
        exe = compile("""
            func.func @f(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, i32) {
              %a = arith.addf %x, %x : tensor<4xf32>
              %b = arith.mulf %x, %a : tensor<4xf32>
              %n = arith.constant 3 : i32
              return %a, %b, %n : tensor<4xf32>, tensor<4xf32>, i32
            }
            func.func @g(%x: tensor<4xf32>) -> tensor<4xf32> {
              %a = arith.addf %x, %x : tensor<4xf32>
              return %a : tensor<4xf32>
            }
            func.func @open(%x: tensor<4xf32>) -> tensor<?xf32> {
              %a = tensor.cast %x : tensor<4xf32> to tensor<?xf32>
              return %a : tensor<?xf32>
            }""")
        x, y = np.arange(4, dtype="f"), np.zeros(4, "f")
        a, b, n = exe.f(x, out=(None, y, None))
        self.assertIs(b, y)
        self.assertEqual((np.asarray(a).tolist(), y.tolist(), n), ([0, 2, 4, 6], [0, 2, 8, 18], 3))
        self.assertIs(exe.g(x, out=y), y)
        self.assertEqual(y.tolist(), [0, 2, 4, 6])
        y.flags.writeable = False
        with self.assertRaisesRegex(ga.ArgumentError, "result 0 of tensor<4xf32>: .*read-only"):
            exe.g(x, out=y)
        with self.assertRaisesRegex(ga.ArgumentError, "its memory overlaps that of argument 0; pass other memory, or a copy"):
            exe.g(x, out=x)
        with self.assertRaisesRegex(ga.ArgumentError, "result 0 of tensor<[?]xf32>: given memory, .* its own; pass out=None$"):
            exe.open(x, out=x)
        with self.assertRaisesRegex(ga.ArgumentError, "its own; write None there$"):
            exe.open(x, out=(x,))
        with self.assertRaisesRegex(ga.ArgumentError, "result 2 is a number"):
            exe.f(x, out=(None, None, y))
        with self.assertRaisesRegex(ga.ArgumentError, "tuple of as many"):
            exe.f(x, out=(None, None))

    def test_strided_memrefs(self):
        exe = compile("""
            func.func @f(%x: memref<?x?xf32, strided<[?, ?], offset: ?>>) {
              %c0 = arith.constant 0 : index
              %c1 = arith.constant 1 : index
              %v = arith.constant 5.0 : f32
              memref.store %v, %x[%c0, %c1] : memref<?x?xf32, strided<[?, ?], offset: ?>>
              return
            }""")
        x = np.zeros((6, 8), "f")
        exe.f(x.T[2:, ::2])
        self.assertEqual(np.argwhere(x).tolist(), [[2, 2]])
        exe.f(x[::-1, ::-2])
        self.assertEqual(np.argwhere(x).tolist(), [[2, 2], [5, 5]])

    def test_strides_of_no_elements_do_not_matter(self):
        exe = compile("""
            func.func @f(%x: tensor<3x?xf32>) -> tensor<3x?xf32> {
              %r = arith.addf %x, %x : tensor<3x?xf32>
              return %r : tensor<3x?xf32>
            }
            func.func @g(%x: memref<?x?xf32>) -> memref<?x?xf32> {
              return %x : memref<?x?xf32>
            }
            func.func @h(%x: tensor<3x0xf32>) -> tensor<3x0xf32> {
              return %x : tensor<3x0xf32>
            }""")
        fields = np.zeros((3, 0), "f4,i1")["f0"]
        for x in (np.zeros((3, 0), "f"), np.ones((3, 4), "f")[:, 4:], np.zeros((0, 3), "f").T, fields):
            for function in (exe.f, exe.g, exe.h):
                self.assertEqual(function(x).shape, (3, 0))
            self.assertIs(exe.h(x, out=x), x)
        x = exe.g(np.zeros((0, 5), "f"))
        self.assertEqual((x.shape, x.strides), ((0, 5), (5, 1)))
        with self.assertRaisesRegex(ga.ArgumentError, "given f64, expected f32; convert argument 0"):
            exe.f(np.zeros((3, 0)))

    def test_strides_of_one_element_do_not_matter(self):
        exe = compile("""
            func.func @copy(%x: memref<?x?xf32, strided<[?, ?], offset: ?>>, %y: memref<?x?xf32, strided<[?, ?], offset: ?>>) {
              memref.copy %x, %y : memref<?x?xf32, strided<[?, ?], offset: ?>> to memref<?x?xf32, strided<[?, ?], offset: ?>>
              return
            }
            func.func @twice(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
              %r = arith.addf %x, %x : tensor<?x?xf32>
              return %r : tensor<?x?xf32>
            }
            func.func @view(%x: memref<?x?xf32>) -> memref<?x?xf32> { return %x : memref<?x?xf32> }""")
        column, wide = np.arange(4, dtype="f").reshape(4, 1), np.arange(8, dtype="f").reshape(4, 2)
        for stride in 3, -3, 0, 8, 1 << 40:
            with self.subTest(stride=stride):
                x = np.lib.stride_tricks.as_strided(column, strides=(4, stride))
                y = np.zeros((4, 2), "f")[:, ::2]
                exe.copy(x, y)
                self.assertEqual(y.ravel().tolist(), [0, 1, 2, 3])
                # NumPy puts the strides right of arrays whose elements follow each other.
                exe.copy(np.lib.stride_tricks.as_strided(wide, (4, 1), (8, stride)), y)
                self.assertEqual(y.ravel().tolist(), [0, 2, 4, 6])
                self.assertEqual(np.asarray(exe.twice(x)).ravel().tolist(), [0, 2, 4, 6])
                self.assertEqual(np.asarray(exe.view(x)).ravel().tolist(), [0, 1, 2, 3])
        with self.assertRaisesRegex(ga.ArgumentError, "the stride of 3 bytes is no multiple"):
            exe.copy(np.lib.stride_tricks.as_strided(wide, (2, 2), (8, 3)), wide[:2])

    def test_numbers(self):
        exe = passing("%s")
        for i, (name, value, wanted) in enumerate([
                ("i1", True, True), ("i8", -3, -3), ("i16", np.int16(9), 9), ("i32", 2**32 - 1, -1),
                ("i64", -2**63, -2**63), ("ui8", 200, 200), ("ui64", 2**64 - 1, 2**64 - 1), ("index", 5, 5),
                ("f16", 1 / 3, float(np.float16(1 / 3))), ("f32", np.float32(0.1), float(np.float32(0.1))), ("f64", 1, 1.0),
                ("complex<f32>", 1 + 2j, 1 + 2j), ("complex<f64>", 2.5, 2.5 + 0j)]):
            self.assertEqual(list(TYPES)[i], name)
            got = exe["f%d" % i](value)
            self.assertEqual((type(got), got), (type(wanted), wanted), name)

    def test_16_bit_floats_round_as_numpy_does(self):
        f = passing("%s").f8
        numbers = np.concatenate([np.ldexp(np.random.rand(2000) - 0.5, np.random.randint(-30, 20, 2000)),
                                  [0, -0.0, 65504, 65519.99, 65520, 1e9, 2**-24, 2**-25, 2**-25 * 1.001, 2**-14, np.inf, -np.inf]])
        with np.errstate(over="ignore"):
            wanted = numbers.astype("float16")
        np.testing.assert_array_equal([f(x) for x in numbers.tolist()], wanted.astype("d"))
        self.assertTrue(np.isnan(f(float("nan"))))

    def test_tensors_without_dimensions(self):
        exe = compile("""
            func.func @f(%x: tensor<f32>) -> tensor<f32> {
              %a = arith.addf %x, %x : tensor<f32>
              return %a : tensor<f32>
            }""")
        for x in (np.array(1.5, "f"), np.float32(1.5), 1.5):
            y = exe.f(x)
            self.assertEqual((y.shape, y.item(), float(y), int(y), bool(y)), ((), 3.0, 3.0, 3, True))
            self.assertEqual(np.asarray(y), 3)
        with self.assertRaises(TypeError):
            len(y)

    def test_comparisons_are_by_elements(self):
        exe = passing("tensor<?x%s>")
        for i, names in enumerate(TYPES.values()):
            x = np.arange(6).astype(names[0])
            a, b = exe["f%d" % i](x), exe["f%d" % i](x)
            x[3] = 9 if names[0] != "bool" else False
            c = exe["f%d" % i](x)
            wanted = [True, True, True, False, True, True]
            for equal in (a == b, a == a):
                self.assertEqual((equal.dtype, equal.tolist()), (np.dtype("?"), [True] * 6))
            for equal in (a == c, a == x, x == a, c == a):
                self.assertEqual(equal.tolist(), wanted)
            for unequal in (a != c, a != x, x != a):
                self.assertEqual(unequal.tolist(), [not each for each in wanted])
        self.assertEqual((a == 2).tolist(), [False, False, True, False, False, False])
        self.assertTrue(np.array_equal(a, b))
        with self.assertRaises(ValueError):  # of more than one element
            bool(a == b)
        with self.assertRaises(ValueError):
            bool(a)
        with self.assertRaisesRegex(ValueError, "broadcast"):
            a == exe["f%d" % i](x[:4])
        for wrong in (lambda: hash(a), lambda: {a: 1}, lambda: a < "text", lambda: a == "text"):
            with self.assertRaises(TypeError):
                wrong()
        nan = exe.f9(np.array([np.nan], "f"))
        self.assertEqual((nan == nan).tolist(), [False])
        one = compile("func.func @f(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }").f(2.0)
        self.assertTrue(one == 2)
        self.assertFalse(one != 2)

    def test_buffers_that_are_asked_for_in_parts(self):
        y = passing("memref<?x?x%s>").f9(np.arange(6, dtype="f").reshape(2, 3))
        view = memoryview(y)
        self.assertEqual((view.shape, view.strides, view.format, view.tolist()), ((2, 3), (12, 4), "f", [[0, 1, 2], [3, 4, 5]]))
        self.assertEqual(bytes(y), np.arange(6, dtype="f").tobytes())
        self.assertEqual(len(y), 2)
        self.assertEqual(np.asarray(y.view("i32")).dtype, "int32")
        with self.assertRaisesRegex(ValueError, "a type of 4 bytes"):
            y.view("f64")

    def test_copies_that_numpy_asks_for(self):
        y = passing("memref<?x%s>").f9(np.arange(3, dtype="f"))
        self.assertEqual(np.array(y, "d").tolist(), [0, 1, 2])
        self.assertEqual(y.__array__("int32").dtype, "int32")
        copied = y.__array__(copy=True)
        copied[:] = 9
        self.assertEqual(y.numpy().tolist(), [0, 1, 2])


unittest.main()
