# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Operators and methods of the arrays that calls return: NumPy computes them.
# The arrays are NumPy's.
# REQUIRES: numpy
# RUN: %python %s
import copy
import gc
import operator
import pickle
import subprocess
import sys
import unittest
import unittest.mock
import warnings

import gpu_async as ga
import numpy as np

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

TYPES = {"i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "ui8": "uint8", "ui16": "uint16",
         "ui32": "uint32", "ui64": "uint64", "f16": "float16", "f32": "float32", "f64": "float64", "complex<f32>": "complex64",
         "complex<f64>": "complex128"}
ORDERS = ["lt", "le", "gt", "ge"]
BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor", "lshift", "rshift", "eq", "ne"] + ORDERS
SCALARS = ["bf16", "i1", "i32", "ui64", "f16", "f32", "f64", "complex<f32>"]
ANY = "memref<?x?x%s, strided<[?, ?], offset: ?>>"
exe = ga.compile("\n".join(
    ["func.func @any%d(%%x: %s) -> %s { return %%x : %s }" % (i, *[ANY % name] * 3) for i, name in enumerate([*TYPES, "bf16"])]
    + ["func.func @one%d(%%x: tensor<%s>) -> tensor<%s> { return %%x : tensor<%s> }" % (i, *[name] * 3)
       for i, name in enumerate(SCALARS)]
    + ["memref.global constant @table : memref<3xf32> = dense<[1.0, 2.0, 3.0]>",
       "func.func @constant() -> memref<3xf32> { %r = memref.get_global @table : memref<3xf32> return %r : memref<3xf32> }",
       "func.func @flat(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }"]), device="cpu")


def array(x, name="f32"):
    """An Array of the elements of a matrix of NumPy's, with its strides."""
    return exe["any%d" % [*TYPES, "bf16"].index(name)](x)


def one(number, name="f32"):
    """An Array without dimensions."""
    return exe["one%d" % SCALARS.index(name)](number)


def attempt(function, *arguments):
    """The result, or the type of the exception."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*arguments)
    except Exception as error:
        return type(error)


class Operators(unittest.TestCase):
    def expect_same(self, got, wanted, message=None):
        if isinstance(wanted, tuple):
            self.assertEqual(len(got), len(wanted))
            for each in zip(got, wanted):
                self.expect_same(*each, message)
            return
        self.assertIs(type(got), type(wanted), message)
        if isinstance(wanted, (np.ndarray, np.generic)):
            self.assertEqual((got.dtype, got.shape), (wanted.dtype, wanted.shape), message)
            np.testing.assert_array_equal(got, wanted)
        else:
            self.assertEqual(got, wanted, message)

    def test_two_operands(self):
        computed = 0
        for name, dtype in TYPES.items():
            x = (np.arange(9) % 4 + 1).reshape(3, 3).astype(dtype)
            y = np.ascontiguousarray(x.T)
            r, s = array(x, name), array(y, name)
            for each in BINARY:
                f = getattr(operator, each)
                for got, wanted in (((r, s), (x, y)), ((r, y), (x, y)), ((x, s), (x, y)), ((r, 2), (x, 2)), ((2, r), (2, x)),
                                    ((r, [1, 2, 3]), (x, [1, 2, 3])), (([1, 2, 3], r), ([1, 2, 3], x)),
                                    ((r, np.float32(3)), (x, np.float32(3))), ((np.int8(3), r), (np.int8(3), x))):
                    result = attempt(f, *wanted)
                    self.expect_same(attempt(f, *got), result, (name, each))
                    computed += isinstance(result, np.ndarray)
        self.assertGreater(computed, 1500)

    def test_one_operand(self):
        for name, dtype in TYPES.items():
            x = np.arange(4).reshape(2, 2).astype(dtype)
            r = array(x, name)
            for f in (operator.neg, operator.pos, abs, operator.invert, lambda a: divmod(a, 2), lambda a: divmod(7, a),
                      lambda a: pow(a, 2), lambda a: pow(2, a)):
                self.expect_same(attempt(f, r), attempt(f, x), name)
        self.assertIs(attempt(pow, r, 2, 3), TypeError)

    def test_operators_do_not_change_their_operands(self):
        x = np.ones((2, 2), "f")
        r = array(x)
        before = r
        r += 1
        self.assertEqual((type(r), r.tolist()), (np.ndarray, [[2, 2], [2, 2]]))
        self.assertEqual((before.tolist(), x.tolist()), ([[1, 1], [1, 1]], [[1, 1], [1, 1]]))
        y = np.zeros((2, 2), "f")
        y += before
        self.assertEqual(y.tolist(), x.tolist())

    def test_what_other_objects_do(self):
        class Other:
            __array_priority__ = 100

            def __radd__(self, other):
                return "radd", type(other)

            def __eq__(self, other):
                return "eq", type(other)

            def __gt__(self, other):
                return "gt", type(other)

        class Hidden:
            __array_ufunc__ = None

            def __rmul__(self, other):
                return "rmul"

            def __ne__(self, other):
                return "ne"

        r = array(np.ones((2, 2), "f"))
        self.assertEqual((r + Other(), r == Other(), r < Other()), (("radd", np.ndarray), ("eq", np.ndarray), ("gt", np.ndarray)))
        self.assertEqual((r * Hidden(), r != Hidden()), ("rmul", "ne"))
        for f in (lambda: r + "text", lambda: "text" + r, lambda: r + None, lambda: r < "text", lambda: r == "text", lambda: r @ 2.5,
                  lambda: -array(np.ones((1, 1), "?"), "i1"), lambda: r | r):
            error = attempt(f)
            self.assertTrue(isinstance(error, type) and issubclass(error, (TypeError, ValueError)), error)
        for f in operator.add, operator.eq, operator.ne, operator.lt:
            with self.assertRaisesRegex(ValueError, "broadcast|mismatch"):
                f(r, array(np.ones((2, 3), "f")))

    def test_items(self):
        x = np.arange(24, dtype="f").reshape(4, 6)
        for r, x in (array(x), x), (array(x[::-1, ::2]), x[::-1, ::2]), (array(x.T), x.T):
            mask = x > 7
            for key in (0, -1, (1, 2), slice(1, None), (slice(1, None), slice(None, None, 2)), Ellipsis, None, (..., 0), mask, mask[0, 0],
                        [0, 2], ([0, 1], [1, 0]), np.array([1, 0]), np.int64(1)):
                self.expect_same(r[key], x[key], key)
            self.assertTrue(np.shares_memory(r[1:], x))  # a view
            self.expect_same(r[array(mask, "i1")], x[mask])
            self.expect_same(r[one(1, "i32")], x[1])
            self.expect_same(r[one(1, "i32"), 2], x[1, 2])
            self.expect_same(r[r > 7], x[mask])
            self.expect_same(list(map(list, r)), list(map(list, x)))
            self.expect_same(list(map(list, reversed(r))), list(map(list, reversed(x))))
            self.assertEqual((5.0 in r, 4.0 in r, 99 in r, len(r)), (5.0 in x, 4.0 in x, False, len(x)))
            for wrong in 99, (0, 0, 0), "name", 1.5, one(1.0):
                with self.assertRaises(IndexError):
                    r[wrong]
        first, *rest = exe.flat(np.arange(3, dtype="f"))
        self.assertEqual((first, rest), (0, [1, 2]))
        self.assertEqual([sum(exe.flat(np.arange(3, dtype="f"))), max(exe.flat(np.arange(3, dtype="f")))], [3, 2])
        for wrong in iter, reversed, list:
            with self.assertRaises(TypeError):
                wrong(one(1.0))

    def test_items_are_not_assigned_to(self):
        x = np.ones((2, 2), "f")
        r = array(x)
        for wrong in (lambda: operator.setitem(r, 0, 1), lambda: operator.setitem(r, (0, 0), 1), lambda: operator.delitem(r, 0)):
            with self.assertRaisesRegex(TypeError, r"Array is a value: .* write to numpy.asarray\(a\), .* or to a copy, numpy.array\(a\)"):
                wrong()
        np.asarray(r)[0] = 5
        self.assertEqual(r.tolist(), [[5, 5], [1, 1]])
        with self.assertRaises(AttributeError):
            r.T = x
        with self.assertRaisesRegex(TypeError, r"deleted; write to a copy, numpy.array\(a\); in a function of JAX's"):
            operator.setitem(exe.constant(), 0, 1)

    def test_methods(self):
        for name, dtype in TYPES.items():
            x = np.array([[3, 1, 2], [0, 5, 4]]).astype(dtype)
            r = array(x, name)
            for method in ("all any argmax argmin argsort conj conjugate cumprod cumsum diagonal flatten max mean min nonzero prod ravel "
                           "round squeeze std sum tobytes tolist trace transpose var").split():
                self.expect_same(attempt(getattr(r, method)), attempt(getattr(x, method)), (name, method))
            for f in (lambda a: a.sum(axis=0), lambda a: a.mean(1, keepdims=True), lambda a: a.reshape(3, -1), lambda a: a.reshape((6,)),
                      lambda a: a.astype("float64"), lambda a: a.astype(np.int32, copy=True), lambda a: a.max(axis=1), lambda a: a.T,
                      lambda a: a.transpose(1, 0), lambda a: a.swapaxes(0, 1), lambda a: a.take([0, 1], axis=1), lambda a: a.repeat(2, 0),
                      lambda a: a.clip(1, 2), lambda a: a.real, lambda a: a.imag, lambda a: a.dot(a.T), lambda a: a.size,
                      lambda a: a.itemsize, lambda a: a[0].searchsorted(2), lambda a: np.sum(a), lambda a: np.mean(a, axis=0),
                      lambda a: np.max(a), lambda a: np.argsort(a, axis=0), lambda a: np.reshape(a, (3, 2)), lambda a: np.transpose(a),
                      lambda a: np.clip(a, 1, 2), lambda a: np.where(a > 1, a, 0), lambda a: np.concatenate([a, a])):
                self.expect_same(attempt(f, r), attempt(f, x), name)
        self.assertIs(type(r.mT), np.ndarray)
        self.assertEqual(r.mT.tolist(), x.T.tolist())
        with self.assertRaisesRegex(ValueError, "mT: .* less than two dimensions"):
            exe.flat(np.ones(2, "f")).mT
        self.assertIs(r.block_until_ready(), r)
        for wrong in (lambda: r.sum(axis=5), lambda: r.reshape(7), lambda: r.sum(nonsense=1), lambda: r.astype("nonsense")):
            with self.assertRaises((TypeError, ValueError)):
                wrong()
        for there in "sum", "T", "size", "block_until_ready":
            self.assertIn(there, dir(r))

    def test_empty_arrays(self):
        x = np.ones((0, 3), "f")
        r = array(x)
        for f in (lambda a: a + 1, lambda a: a == a, lambda a: a[:, 0], list, lambda a: a.sum(), lambda a: a.sum(axis=0), lambda a: a.T,
                  lambda a: a.size, str, lambda a: 1 in a, lambda a: a.max(), lambda a: a[0], lambda a: a.tolist()):
            self.expect_same(attempt(f, r), attempt(f, x))
        for copied in copy.copy(r), copy.deepcopy(r), pickle.loads(pickle.dumps(r)):
            self.assertEqual((copied.shape, copied.dtype), ((0, 3), "float32"))
        with self.assertRaisesRegex(TypeError, r"format '.2f' is for an array of one element, given one of the shape \(0, 3\)"):
            format(r, ".2f")

    def test_texts(self):
        x = np.array([[1.5, 2], [3, 4]], "f")
        for r, x in (array(x), x), (array(x.T), x.T), (one(2.5), np.float32(2.5)), (exe.constant(), np.array([1, 2, 3], "f")):
            self.assertEqual((str(r), f"{r}", "%s" % (r,)), (str(x), str(x), str(x)))
        self.assertEqual(repr(array(x.reshape(1, 3))), "gpu_async.Array([[1., 2., 3.]], dtype=float32)")
        self.assertEqual(repr({"a": [one(2.5)]}), "{'a': [gpu_async.Array(2.5, dtype=float32)]}")
        self.assertEqual(repr(array(np.zeros((0, 3), "f"))), "gpu_async.Array([], shape=(0, 3), dtype=float32)")
        lines = repr(array(np.eye(2, dtype="f"))).split("\n")
        self.assertEqual(lines[1], "                 [0., 1.]], dtype=float32)")  # below the first row
        many = exe.flat(np.zeros(1001, "f"))
        self.assertEqual(repr(many), "<gpu_async.Array f32 (1001,)>")
        self.assertTrue(repr(exe.flat(np.zeros(1000, "f"))).startswith("gpu_async.Array([0., 0., 0., 0., 0., "))
        with unittest.mock.patch.dict(sys.modules, numpy=None):
            self.assertEqual(repr(one(2.5)), "<gpu_async.Array f32 ()>")
        for r in one(2.0), exe.flat(np.array([2], "f")), array(np.array([[2]], "f")):
            self.assertEqual((f"{r:.3f}", f"{r:8.1e}", f"{r:>6}"), ("2.000", " 2.0e+00", "   2.0"))
        self.assertEqual((f"{one(7, 'i32'):03d}", f"{one(2**63, 'ui64'):x}", f"{one(True, 'i1'):d}"), ("007", "8" + "0" * 15, "1"))
        self.assertEqual(f"{one(1 + 2j, 'complex<f32>'):.1f}", "1.0+2.0j")
        with self.assertRaisesRegex(TypeError, r"^the format '.3f' is for an array of one element, given one of the shape \(3,\); format its "
                                    "elements one by one, or use numpy.array2string"):
            f"{exe.constant():.3f}"
        with self.assertRaisesRegex(ValueError, "d"):
            f"{one(2.5):d}"
        with self.assertRaisesRegex(TypeError, "is a str"):
            one(2.5).__format__(3)

    def test_numbers(self):
        three, half = one(3, "i32"), one(2.5)
        self.assertEqual((list(range(three)), [5, 6, 7, 8][three], operator.index(one(2**64 - 1, "ui64")), hex(three)),
                         ([0, 1, 2], 8, 2**64 - 1, "0x3"))
        for r in half, one(True, "i1"), one(1j, "complex<f32>"), array(np.ones((1, 1), "i4"), "i32"):
            with self.assertRaisesRegex(TypeError, r"only an array of an integer type without dimensions is an index, given .* of the shape \("):
                operator.index(r)
        for r, wanted in (half, 2.5), (three, 3), (one(1 - 2j, "complex<f32>"), 1 - 2j), (array(np.full((1, 1), 2, "f")), 2):
            self.assertEqual((type(complex(r)), complex(r)), (complex, wanted))
        with self.assertRaisesRegex(ValueError, r"^item\(\) is for an array of one element, given one of the shape \(3,\); .*a.tolist"):
            complex(exe.constant())
        self.assertEqual((exe.constant().item(1), array(np.eye(2, dtype="f")).item(1, 1), three.item(())), (2, 1, 3))
        with self.assertRaisesRegex(IndexError, "out of bounds"):
            exe.constant().item(3)
        with self.assertRaisesRegex(ValueError, r"neither true nor false; use a.any\(\) or a.all\(\)"):
            bool(exe.constant())
        with self.assertRaisesRegex(ValueError, r"^float\(\) is for an array of one element"):
            float(exe.constant())
        with self.assertRaisesRegex(ValueError, r"^int\(\) is for an array of one element"):
            int(exe.constant())
        self.expect_same(round(array(np.array([[1.25, 2.75]], "f"))), np.array([[1, 3]], "f"))
        self.expect_same(round(array(np.array([[1.25, 2.75]], "f")), 1), np.array([[1.2, 2.8]], "f"))
        self.assertEqual((round(half), round(one(2.375), 2), round(three)), (2, np.float32(2.38), 3))
        for wrong in ("x",), (1, 2):
            with self.assertRaises(TypeError):
                half.__round__(*wrong)

    def test_copies(self):
        for name, dtype in TYPES.items():
            x = np.arange(6).reshape(2, 3).astype(dtype)
            for y in x, x.T, x[::-1, ::2]:
                r = array(y, name)
                for copied in (copy.copy(r), copy.deepcopy(r), copy.deepcopy({"a": [r]})["a"][0], r.copy(),
                               *(pickle.loads(pickle.dumps(r, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1))):
                    self.assertEqual((type(copied), copied.element_type, copied.shape), (ga.Array, r.element_type, y.shape))
                    np.testing.assert_array_equal(copied, y)
                    self.assertFalse(np.shares_memory(copied.numpy(), r.numpy()))
                    self.assertTrue(copied.numpy().flags.writeable)
                self.assertEqual(r.copy().strides, tuple(s // y.itemsize for s in y.copy().strides))
        r = array(x.view("uint16")[:, :3], "i16").view("ui16")  # signs are kept
        self.assertEqual((r.copy().element_type, pickle.loads(pickle.dumps(r)).dtype), ("ui16", "uint16"))
        for r in copy.copy(exe.constant()), pickle.loads(pickle.dumps(exe.constant())), copy.deepcopy(one(2.5)):
            r.numpy()[...] = 7  # a copy of a constant is not one
            self.assertEqual(exe.flat(r.numpy().reshape(-1)).numpy().tolist(), [7] * r.size)
        r = exe.flat(np.arange(5, dtype="f"))
        self.assertEqual(exe.flat(r.copy()).tolist(), [0, 1, 2, 3, 4])
        buffers = []
        data = pickle.dumps(r, 5, buffer_callback=buffers.append)
        taken = pickle.loads(data, buffers=buffers)
        self.assertTrue(np.shares_memory(taken.numpy(), r.numpy()))
        taken = pickle.loads(data, buffers=[bytes(buffers[0])])
        self.assertEqual((taken.tolist(), taken.numpy().flags.writeable), ([0, 1, 2, 3, 4], False))

    def test_copies_keep_their_memory(self):
        r = exe.flat(np.arange(1000, dtype="f")).copy()
        x = np.asarray(r)
        taken = np.from_dlpack(r)
        del r
        gc.collect()
        np.ones(1000, "f")
        self.assertEqual((x.sum(), taken.sum()), (499500, 499500))

    def test_types(self):
        for mlir, name in TYPES.items():
            r = ga._binding.restore_array(np.ones(3, name), mlir)
            self.assertIs(type(r.dtype), type(np.dtype(name)))
            self.assertEqual((r.dtype, r.element_type, np.zeros(2, r.dtype).dtype), (np.dtype(name), mlir, np.dtype(name)))
            self.assertEqual(np.zeros_like(r).dtype, name)
            self.assertFalse(r.weak_type)

    def test_types_that_numpy_has_not(self):
        r = one(2.5, "bf16") if ml_dtypes else ga._binding.restore_array(np.ones((), "uint16"), "bf16")
        program = """
import gpu_async as ga, sys
f = ga.compile("func.func @f(%x: tensor<TYPE>) -> tensor<TYPE> { return %x : tensor<TYPE> }", device="cpu").f
r = f(1.0)
sys.modules["numpy"] = sys.modules["ml_dtypes"] = None
try:
    r.dtype
except AttributeError as error:
    print(error)
print(hasattr(r, "dtype"), r.element_type, repr(r))
"""
        for type, package in ("f32", "numpy"), ("bf16", "ml_dtypes"):
            text = program.replace("TYPE", type)
            if package == "ml_dtypes":
                text = text.replace('sys.modules["numpy"] = ', "import numpy; ")
            done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
            self.assertEqual((done.stdout, done.stderr), (
                "dtype is a type of NumPy's, which for %s needs the package %s; element_type is the name of the type in MLIR\n"
                "False %s <gpu_async.Array %s ()>\n" % (type, package, type, type), ""))
        self.assertEqual(r.element_type, "bf16")

    def test_views_of_other_types(self):
        r = array(np.array([[1, -2]], "f"))
        for dtype in "i32", "int32", np.int32, np.dtype("int32"):
            self.assertEqual(r.view(dtype).dtype, "int32")
            self.assertEqual(r.view(dtype).tolist(), [[0x3F800000, -0x40000000]])
        for dtype in np.float64, np.dtype(">i4"), "i33", np.dtype("f4,f4"):
            with self.assertRaisesRegex(ValueError, "expected a type of 4 bytes, as f32 is, or its name, given"):
                r.view(dtype)
        with self.assertRaises(TypeError):
            r.view(object())

    def test_restore_array_refuses(self):
        restore = ga._binding.restore_array
        x = np.ones((2, 2), "f")
        for error, message, *wrong in (
                (ValueError, "no array of at most 8 dimensions with the bytes of i32", x, "i32"),
                (ValueError, "with the bytes of f64", x, "f64"), (ValueError, "with the bytes of bf16", x, "bf16"),
                (ValueError, "with the bytes of f32", np.ones([1] * 9, "f"), "f32"),
                (ValueError, "with the bytes of f32", np.ones(2, ">f4"), "f32"),
                (ValueError, "with the bytes of f32", np.zeros(2, "f4,i1")["f0"], "f32"),
                (ValueError, "elements of the type f33", x, "f33"), (TypeError, "", [1.0], "f32"), (TypeError, "", x), (TypeError, "", x, 1)):
            with self.assertRaisesRegex(error, message):
                restore(*wrong)
        self.assertEqual(restore(x, "f32").shape, (2, 2))

    @unittest.skipIf(ml_dtypes is None, "needs ml_dtypes")
    def test_bf16(self):
        x = np.array([[1.5, -2], [3, 0.25]], ml_dtypes.bfloat16)
        r = array(x, "bf16")
        for f in (lambda a: a + 1, lambda a: 1 + a, lambda a: a * a, lambda a: a @ a, lambda a: -a, abs, lambda a: a < 1, lambda a: a == x,
                  lambda a: a[0, 1], lambda a: a[a > 1], lambda a: a.T, lambda a: a.sum(), lambda a: a.max(axis=0),
                  lambda a: a.astype("f"), str, list, lambda a: 3 in a, lambda a: a.round(), lambda a: np.float32(2) * a):
            got, wanted = f(r), f(x)
            self.assertIs(type(got), type(wanted))
            self.assertEqual(np.asarray(got).dtype, np.asarray(wanted).dtype)
            np.testing.assert_array_equal(got, wanted)
        for copied in copy.copy(r), copy.deepcopy(r), pickle.loads(pickle.dumps(r)):
            self.assertEqual((copied.dtype, copied.numpy().dtype, copied.numpy().tolist()), (x.dtype, x.dtype, x.tolist()))
            self.assertFalse(np.shares_memory(copied.numpy(), r.numpy()))
        half = one(2.5, "bf16")
        self.assertEqual((f"{half:.2f}", str(half), complex(half)), ("2.50", "2.5", 2.5))

    def test_nothing_leaks(self):
        x = np.arange(4, dtype="f").reshape(2, 2)
        r, s, three, numbers = array(x), array(x), one(3, "i32"), exe.flat(np.arange(4, dtype="f"))

        def use():
            for f in (operator.add, operator.matmul, operator.eq, operator.lt, divmod, pow):
                f(r, s), attempt(f, r, 2), attempt(f, 2.0, r)
                attempt(f, r, "text"), attempt(f, r, numbers[:3])
            for f in (operator.neg, abs, str, round, list, reversed, iter, copy.copy, copy.deepcopy, format, repr,
                      lambda a: pickle.loads(pickle.dumps(a)), lambda a: f"{a:.3f}", lambda a: a[0], lambda a: a[a > 1], lambda a: a[three],
                      lambda a: a[9], lambda a: operator.setitem(a, 0, 1), lambda a: a.T, lambda a: a.mT, lambda a: a.real, lambda a: a.size,
                      lambda a: a.sum(axis=0), lambda a: a.sum(axis=9), lambda a: a.sum(no=1), lambda a: 2 in a, lambda a: a.block_until_ready(),
                      lambda a: a.reshape(4), lambda a: a.__reduce__(), operator.index, complex, lambda a: pow(a, 1, 2),
                      lambda a: ga._binding.restore_array(a.numpy(), "i64"), lambda a: ga._binding.restore_array(a, "f32")):
                attempt(f, r)
            range(three), complex(three), f"{three:d}", [1, 2, 3, 4][three], numbers.nonzero(), numbers.searchsorted(2)

        objects = [r, s, three, numbers, x, 2, "f32", ga.Array, np, ga._binding.restore_array, memoryview, complex, reversed]
        rounds = 600
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(rounds // 2):  # until NumPy's caches are full
                use()
            gc.collect()
            # Less than one thing for each round. Caches of Python's may fill in one of several tries.
            for _ in range(3):
                counts, blocks = [sys.getrefcount(each) for each in objects], sys.getallocatedblocks()
                for _ in range(rounds):
                    use()
                gc.collect()
                more = sys.getallocatedblocks() - blocks
                if more < rounds // 2:
                    break
        self.assertLess(more, rounds // 2)
        for count, each in zip(counts, objects):
            self.assertLess(abs(sys.getrefcount(each) - count), rounds // 2, each)

    def test_cycles_through_copies_are_found(self):
        import weakref

        class Owner(np.ndarray):
            pass

        x = np.ones(3, "f").view(Owner)
        x.array = ga._binding.restore_array(x, "f32")
        alive = weakref.ref(x)
        del x
        gc.collect()
        self.assertIsNone(alive())


unittest.main()
