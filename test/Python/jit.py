# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# gpu_async.jit computes what JAX does.
# JAX is not among Debian's packages: pip install jax.
# REQUIRES: jax
# RUN: %python %s
import contextlib
import copy
import dataclasses
import decimal
import fractions
import functools
import importlib.util
import inspect
import io
import json
import operator
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock

import gpu_async as ga
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from gpu_async.frontends import from_jax


class Jit(unittest.TestCase):
    def test_arguments_that_overlap(self):
        f = ga.jit(lambda a, b: (a.sum() + 2 * b, a[::-1] + 1), device="cpu")
        v = np.arange(10, dtype="float32")
        for a, b in ((v, v), (v, v[:3]), (v[:3], v), (v, v[2:5]), (v[:6], v[4:]), (v[:5], v[5:])):
            got = f(a, b)
            np.testing.assert_array_equal(got[0], a.sum() + 2 * b)
            np.testing.assert_array_equal(got[1], a[::-1] + 1)

        # Arrays of NumPy's stay as they are, so a donated one may overlap others.
        g = ga.jit(lambda a, b: a + b.sum(), device="cpu", donate_argnums=0)
        np.testing.assert_array_equal(g(v, v[:3]), np.arange(10) + 3)
        np.testing.assert_array_equal(v, np.arange(10))
        a = g(v, v[:3])
        with self.assertRaisesRegex(ga.ArgumentError, "it is donated, but argument 1 is the same array; pass a copy of one of them"):
            g(a, a)

    def test_trees_and_types(self):
        def f(weights, x, unused):
            h = jnp.tanh(x @ weights["w"] + weights["b"])
            return {"h": h, "sum": h.sum(), "bits": (x > 0.5).astype(jnp.uint8), "half": (h.astype(jnp.bfloat16), x > 0.5)}

        g = ga.jit(f, device="cpu")
        weights = {"w": np.random.rand(4, 3).astype("f"), "b": jnp.ones(3)}
        for rows in (8, 5, 8):
            x = jnp.asarray(np.random.rand(rows, 4), jnp.float32)
            got, wanted = g(weights, x, 3), f(weights, x, 3)
            self.assertEqual(jax.tree_util.tree_structure(got), jax.tree_util.tree_structure(wanted))
            np.testing.assert_allclose(got["h"], wanted["h"], rtol=1e-5)
            np.testing.assert_allclose(float(got["sum"]), wanted["sum"], rtol=1e-5)
            np.testing.assert_array_equal(got["bits"], wanted["bits"])
            self.assertEqual(got["half"][0].numpy().dtype, jnp.bfloat16)
            np.testing.assert_allclose(got["half"][0].numpy().astype("f"), wanted["half"][0].astype("f"), rtol=2e-2)
            np.testing.assert_array_equal(got["half"][1], wanted["half"][1])
        self.assertEqual(len(g._compiled), 2)
        self.assertRegex(str(g.schedule(weights, x, 3)), "^@f: [0-9]+ ops on ")
        self.assertEqual(len(g._compiled), 2)

    def test_numbers_and_arrays_in_turn(self):
        # JAX lowers each of these from one module, which stays as it is.
        def f(a, b):
            return a - b

        g = ga.jit(f, device="cpu")
        two, five = np.float32(2), jnp.float32(5)
        for _ in range(2):
            for a, b in (two, five), (five, two), (five, five), (two, two):
                self.assertEqual(float(g(a, b)), a - b)
                self.assertEqual(float(ga.jit(f, device="cpu")(a, b)), a - b)
                self.assertEqual(float(jax.jit(f, keep_unused=True)(a, b)), a - b)
        self.assertNotIn("arith.", jax.jit(f, keep_unused=True).lower(two, five).as_text())

    def test_arguments_by_name(self):
        def f(x, *rest, scale, shift=1.0, **more):
            return x * scale + shift + sum(rest) + more.get("tree", {"a": 0})["a"]

        g = ga.jit(f, device="cpu")
        x = np.arange(4, dtype="f")
        for args, named in (((x,), {"scale": 2.0}), ((x,), {"shift": x, "scale": 3.0}), ((x, x, 2.0), {"scale": 1.0}),
                            ((x,), {"tree": {"a": x}, "scale": x}), ((x,), {"scale": 5.0})):
            np.testing.assert_allclose(g(*args, **named), f(*args, **named))
        self.assertEqual(len(g._compiled), 4)  # the last is as the first
        self.assertRegex(str(g.schedule(x, scale=2.0)), "^@f: ")
        h = ga.jit(lambda x, y: x - 2 * y, device="cpu")
        self.assertEqual([h(5.0, 1.0).item(), h(y=1.0, x=5.0).item(), h(5.0, y=1.0).item()], [3, 3, 3])

    def test_arguments_that_a_function_does_not_take(self):
        def f(x, y, *, z=1):
            return x + y + z

        g = ga.jit(f, device="cpu")
        for call in g, g.schedule:
            with self.assertRaisesRegex(ga.ArgumentError, r"^f\(x, y, \*, z=1\) of gpu_async.jit is given 1 arguments by position and "
                                        "none by name: missing a required argument: 'y'"):
                call(1.0)
            with self.assertRaisesRegex(ga.ArgumentError, "3 arguments by position and none by name: too many positional arguments"):
                call(1.0, 2.0, 3.0)
            with self.assertRaisesRegex(ga.ArgumentError, "1 arguments by position and w, y by name: .*unexpected keyword argument 'w'"):
                call(1.0, w=2.0, y=1.0)
            with self.assertRaisesRegex(ga.ArgumentError, "multiple values for argument 'x'"):
                call(1.0, 2.0, x=1.0)
        with self.assertRaisesRegex(ga.ArgumentError, r"^argument 1, y\['b'\]\[0\], of f, a function of gpu_async.jit, is of the type str"):
            g(1.0, y={"b": ["text"], "a": 1.0})
        with self.assertRaisesRegex(ga.ArgumentError, r"^argument 2, rest\[1\], .* is of the type str"):
            ga.jit(lambda x, *rest: x, device="cpu", static_argnums=1)(1.0, 2, "text")

    def test_the_number_of_an_argument_is_that_of_static_argnums(self):
        x = np.ones(3, "f")

        def f(p, x, *rest, scale=1):
            return p["a"]

        g = ga.jit(f, device="cpu")
        tree = {"a": x, "b": x, "c": x}
        for args, named, name in (((tree, "text"), {}, "argument 1, x"), (({"a": [x, "text"]}, x), {}, r"argument 0, p\['a'\]\[1\]"),
                                  ((), {"p": tree, "x": "text"}, "argument 1, x"), ((tree, x, x, [x, "text"]), {}, r"argument 3, rest\[1\]\[1\]"),
                                  ((tree, x), {"scale": [x, "text"]}, r"argument scale\[1\]")):
            with self.assertRaisesRegex(ga.ArgumentError, "^%s, of f, a function of gpu_async.jit, is of the type str" % name):
                g(*args, **named)
        self.assertIs(type(ga.jit(f, device="cpu", static_argnums=1)(tree, "text")), ga.Array)
        with self.assertRaisesRegex(ga.ArgumentError, "^argument 2, y, of <lambda>, .* is of the type str"):
            ga.jit(lambda n, p, y: p, device="cpu", static_argnums=0)(2, [x, x], "text")

    def test_arrays_without_numbers(self):
        x = np.ones(3, "f")
        g = ga.jit(lambda p, x: x, device="cpu")
        for array, text in ((np.array(["ab", "c"]), r"strings \(<U2\), which cannot be passed; pass a number for each string, or a tuple "
                             "as an argument of static_argnums or static_argnames$"),
                            (np.array([b"ab"]), "strings"), (np.zeros(2, [("a", "f4"), ("b", "i4")]), "records .* pass an array for each field"),
                            (np.zeros(2, "V4"), "records"), (np.array([None, 1], object), "objects .* an array of numbers"),
                            (np.array(["2026-01-01"], "M8[D]"), r"dates .* their integers, x.view\(\"int64\"\)"),
                            (np.array([1], "m8[s]"), "durations")):
            with self.assertRaisesRegex(ga.ArgumentError, "^argument 0, p, of <lambda>, a function of gpu_async.jit, is an array of " + text):
                g(array, x)
            if array.dtype.kind != "V":
                with self.assertRaisesRegex(ga.ArgumentError, "^argument 0, p, of <lambda>, .*, is an array of " + text):
                    jax.jit(lambda x: ga.jit(lambda p, x: x, device="cpu", ffi=True)(array, x))(x)
        with self.assertRaisesRegex(ga.ArgumentError, "^argument 0, p, .*, is of (float128|longdouble), which"):
            g(np.zeros(2, np.longdouble), x)

    def test_static_arguments(self):
        def power(x, n, reverse=False):
            for _ in range(n):  # needs its value
                x = x * 2
            return x[::-1] if reverse else x

        x = np.arange(3, dtype="f")
        for static in ({"static_argnums": (1, 2)}, {"static_argnums": [-1, -2]}, {"static_argnames": ("n", "reverse")},
                       {"static_argnums": 1, "static_argnames": ["n", "reverse"]}):
            g = ga.jit(power, device="cpu", **static)
            for _ in range(2):
                self.assertEqual(g(x, 3).numpy().tolist(), [0, 8, 16])
                self.assertEqual(g(x, n=3).numpy().tolist(), [0, 8, 16])
                self.assertEqual(g(x, reverse=True, n=0).numpy().tolist(), [2, 1, 0])
                self.assertEqual(g(n=2, x=x).numpy().tolist(), [0, 4, 8])
            self.assertEqual(len(g._compiled), 4)
            self.assertRegex(str(g.schedule(x, n=3)), "^@power: ")
            self.assertEqual(len(g._compiled), 4)
        # Equal values of different types are different arguments.
        g = ga.jit(lambda x, n: x * n, device="cpu", static_argnums=1)
        self.assertEqual([g(np.int32(3), n).dtype for n in (2, 2.0, 2)], ["int32", "float32", "int32"])
        # The order of the traced arguments stays.
        g = ga.jit(lambda a, f, b, name, c: {"+": a - b, "*": a * b}[name] - f(c), device="cpu", static_argnums=(3, 1))
        self.assertEqual([g(7.0, abs, 2.0, name, -1.0).item() for name in "+*"], [4, 13])
        self.assertEqual(ga.jit(lambda *args: sum(args[1:]) * args[0], device="cpu", static_argnums=(0, 9))(2, 3.0, 4.0).item(), 14)
        self.assertEqual(ga.jit(lambda **named: named["x"] * named["n"], device="cpu", static_argnames="n")(n=2, x=3.0).item(), 6)
        self.assertEqual(ga.jit(lambda: jnp.ones(2), device="cpu", static_argnums=()) ().numpy().tolist(), [1, 1])

    def test_static_arguments_that_are_none(self):
        g = ga.jit(lambda x, n: x, device="cpu", static_argnums=1)
        for call in g, g.schedule:
            for wrong, name in ([1], "list"), ({}, "dict"), (np.ones(2), "ndarray"), (jnp.ones(2), "ArrayImpl"):
                with self.assertRaisesRegex(ga.ArgumentError, "static argument 1 of <lambda> is of the type %s, which has no hash: .*"
                                            "give a tuple for a list, or trace an array" % name):
                    call(1.0, wrong)
            with self.assertRaisesRegex(ga.ArgumentError, "static argument n of <lambda> is of the type set"):
                call(1.0, n=set())

        def f(x, /, y, *, z):
            return x

        for error, options, message in (
                (ValueError, {"static_argnums": 2}, r"static_argnums=\(2,\): f\(x, /, y, \*, z\) has 2 arguments .* from -2 to 1$"),
                (ValueError, {"static_argnums": (0, -3)}, "from -2 to 1$"),
                (ValueError, {"static_argnames": "w"}, r"static_argnames=\('w',\): .* no argument that is given by the name 'w'"),
                (ValueError, {"static_argnames": ("y", "x")}, "by the name 'x'"),
                (TypeError, {"static_argnums": "y"}, "static_argnums is an integer or a tuple of integers, given 'y'"),
                (TypeError, {"static_argnums": 1.5}, "given 1.5"),
                (TypeError, {"static_argnames": 1}, "static_argnames is a name or a tuple of names, given 1"),
                (TypeError, {"keep_unused": True}, "does not take keep_unused, an option of jax.jit; leave it out")):
            with self.assertRaisesRegex(error, message):
                ga.jit(f, device="cpu", **options)
        with self.assertRaisesRegex(ValueError, "has no arguments by position; give static_argnames"):
            ga.jit(lambda: 0, static_argnums=0)

    def test_methods(self):
        class Model:
            def __init__(self, scale):
                self.scale = scale

            @functools.partial(ga.jit, device="cpu", static_argnums=0)
            def scaled(self, x, shift=0.0):
                """Scales."""
                return x * self.scale + shift

            @ga.jit(device="cpu")
            def traced(self, x):
                return x

            @staticmethod
            @ga.jit(device="cpu")
            def double(x):
                return x + x

        a, b = Model(2), Model(3)
        x = np.ones(2, "f")
        for _ in range(2):
            self.assertEqual([m.scaled(x).numpy().tolist() for m in (a, b)], [[2, 2], [3, 3]])
            self.assertEqual(a.scaled(x, shift=1.0).numpy().tolist(), [3, 3])
        self.assertEqual(len(Model.scaled._compiled), 3)
        self.assertEqual(Model.scaled(b, x).numpy().tolist(), [3, 3])
        self.assertRegex(str(a.scaled.schedule(x)), "^@scaled: ")
        self.assertEqual((a.scaled.__name__, a.scaled.__doc__, a.scaled.__self__), ("scaled", "Scales.", a))
        self.assertEqual((a.scaled == a.scaled, a.scaled == b.scaled, len({a.scaled, a.scaled})), (True, False, 1))
        self.assertEqual(str(inspect.signature(a.scaled)), "(x, shift=0.0)")
        self.assertEqual(copy.copy(a.scaled)(x).numpy().tolist(), [2, 2])
        self.assertEqual(a.double(x).numpy().tolist(), [2, 2])
        with self.assertRaisesRegex(ga.ArgumentError, "argument 0, self, .* is of the type Model, .* static_argnums"):
            a.traced(x)

        @jax.tree_util.register_pytree_node_class
        class Tree:
            def __init__(self, w):
                self.w = w

            def tree_flatten(self):
                return (self.w,), None

            @classmethod
            def tree_unflatten(cls, _, leaves):
                return cls(*leaves)

            @ga.jit(device="cpu")
            def apply(self, x):
                return self.w @ x

        self.assertEqual(Tree(np.ones((2, 2), "f")).apply(x).numpy().tolist(), [2, 2])
        self.assertEqual(len(Tree.apply._compiled), 1)
        Tree(np.ones((2, 2), "f")).apply(x)
        self.assertEqual(len(Tree.apply._compiled), 1)

    def test_partial_functions(self):
        def f(x, n, scale):
            return sum([x * scale] * n)

        g = ga.jit(functools.partial(f, n=3), device="cpu")
        self.assertEqual(g(2.0, scale=4.0).item(), 24)
        g = ga.jit(functools.partial(f, 2.0), device="cpu", static_argnums=0)
        self.assertEqual(g(3, 4.0).item(), 24)
        with self.assertRaisesRegex(ga.ArgumentError, r"^f\(n, scale\) of .* missing a required argument: 'scale'"):
            g(3)

    def test_arrays_go_to_and_fro(self):
        g = ga.jit(lambda x: x * 2, device="cpu")
        for dtype in (jnp.float32, jnp.bfloat16, jnp.int8, jnp.complex64, jnp.float16):
            x = jnp.arange(64).astype(dtype)
            back = jax.dlpack.from_dlpack(g(x))
            self.assertEqual(back.dtype, x.dtype)
            np.testing.assert_array_equal(np.asarray(back), np.asarray(x * 2))
        exe = ga.compile("func.func @f(%x: memref<64xf32>) { return }", device="cpu")
        with self.assertRaisesRegex(ga.ArgumentError, "read-only"):  # JAX's arrays do not change
            exe.f(jnp.arange(64.0))

    def test_results_are_arguments(self):
        g = ga.jit(lambda x: x + x, device="cpu")
        for dtype in (jnp.float32, jnp.bfloat16, jnp.int8, jnp.uint8, jnp.uint32, jnp.complex64, jnp.float16, bool):
            x = jnp.arange(6).astype(dtype).reshape(2, 3)
            np.testing.assert_array_equal(g(g(x)).numpy(), np.asarray((x + x) + (x + x)))
        self.assertEqual(len(g._compiled), 8)  # an Array is of the type that it was made of
        self.assertEqual(g(g(jnp.float32(3))).item(), 12)
        h = ga.jit(lambda tree: tree["a"] @ tree["b"].T, device="cpu")
        x = g(np.ones((2, 3), "f"))
        self.assertEqual(h({"a": x, "b": np.ones((2, 3), "f")}).numpy().tolist(), [[6, 6], [6, 6]])
        exe = ga.compile("""
            func.func @f(%x: memref<4xf64>) -> memref<4xf64> { return %x : memref<4xf64> }
            func.func @g(%x: memref<4xf32>) -> memref<4xf32> { return %x : memref<4xf32> }""", device="cpu")
        self.assertEqual(g(exe.f(np.ones(4))).dtype, "float32")  # as of NumPy's f64
        array = exe.g(np.ones(4, "f"))
        self.assertIs(from_jax._take_array(array)[0], array)  # no copy

    def test_numbers_of_python(self):
        g = ga.jit(lambda x, n: (x + n, n), device="cpu")
        y, n = g(np.arange(4.0), 2)  # f64 is f32 in JAX here
        self.assertEqual((y.dtype, np.asarray(y).tolist(), n.dtype, n.item()), ("float32", [2, 3, 4, 5], "int32", 2))
        self.assertEqual(ga.jit(lambda: ())(), ())

    def test_options_before_the_function(self):
        @ga.jit(device="cpu", opt_level=1)
        def double(x):
            return x + x

        self.assertEqual((double.__name__, double(np.ones(2, "f")).numpy().tolist()), ("double", [2, 2]))
        with self.assertRaisesRegex(TypeError, "takes a function, given 3"):
            ga.jit(3)

    def test_results_for_jax(self):
        same = ga.jit(lambda x: x, device="cpu")
        for name in ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "float16", "bfloat16", "float32", "complex64"):
            x = jnp.arange(4).astype(name)
            for y in jnp.asarray(same(x)), jnp.array(same(x)):
                self.assertEqual(y.dtype, x.dtype)
                np.testing.assert_array_equal(y, x)

    def test_functions_of_jax_take_results(self):
        same = ga.jit(lambda x: x, device="cpu")
        for name in ("int8", "uint8", "int32", "uint32", "float16", "bfloat16", "float32", "complex64", "bool"):
            x = jnp.asarray(np.arange(1, 5).reshape(2, 2)).astype(name)
            y = same(x)
            both = jax.jit(lambda a, b: {"sum": jnp.sum(a["x"]), "at": a["x"][0], "b": b})
            for f in (jnp.sum, jax.device_put, jax.jit(lambda a: a * a), lambda a: both({"x": a}, a), jax.vmap(lambda a: a[0]),
                      lambda a: jnp.where(a > 1, a, a), lambda a: jnp.concatenate([a, x]), lambda a: jnp.dot(a, a),
                      jax.block_until_ready, lambda a: jax.tree.map(lambda each: each[0], {"a": a}),
                      lambda a: jax.lax.scan(lambda c, each: (c, each[0]), a, a), jax.device_get):
                got, wanted = f(y), f(x)
                jax.tree.map(np.testing.assert_array_equal, got, wanted)
                for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(wanted)):
                    self.assertEqual(np.asarray(a).dtype, np.asarray(b).dtype)
            self.assertEqual(jax.eval_shape(lambda a: a, y), jax.ShapeDtypeStruct(x.shape, x.dtype))
        y = same(np.arange(4, dtype="f"))
        self.assertIs(jax.block_until_ready({"a": y})["a"], y)
        np.testing.assert_array_equal(jax.grad(lambda a: jnp.sum(a * a))(y), [0, 2, 4, 6])
        value, slopes = jax.value_and_grad(lambda p, x: jnp.sum(p["w"] * x))({"w": y}, y)
        np.testing.assert_array_equal(slopes["w"], [0, 1, 2, 3])
        np.testing.assert_array_equal(jax.lax.add(y, y), [0, 2, 4, 6])
        # f64 is f32 in JAX here.
        f64 = ga.compile("func.func @f(%x: tensor<2xf64>) -> tensor<2xf64> { return %x : tensor<2xf64> }", device="cpu").f(np.ones(2))
        self.assertEqual((f64.dtype, jax.jit(lambda a: a + 1)(f64).dtype, jnp.sum(f64).dtype), ("float64", "float32", "float32"))

    def test_operators_with_arrays_of_jax(self):
        x = jnp.asarray([1.0, 2.0, 3.0])
        for dtype in jnp.float32, jnp.bfloat16, jnp.float16, jnp.int32:
            x = jnp.asarray([1, 2, 3], dtype)
            r = ga.jit(lambda x: x, device="cpu")(x)
            for name in ("add sub mul truediv floordiv mod pow matmul eq ne lt le gt ge".split()
                         + ["and_", "or_", "xor", "lshift", "rshift"] * (dtype == jnp.int32)):
                f = getattr(operator, name)
                for a, b in (r, x), (x, r):
                    got = f(a, b)
                    self.assertIsInstance(got, jax.Array, name)
                    self.assertEqual(got.dtype, f(x, x).dtype)
                    np.testing.assert_array_equal(got, f(x, x))
        np.testing.assert_array_equal(jax.jit(lambda t: (r + t) * r)(x), (x + x) * x)
        np.testing.assert_array_equal(jax.jit(lambda t: r < t)(x), [False] * 3)
        self.assertEqual(r[jnp.asarray([2, 0])].tolist(), [3, 1])
        self.assertEqual(x[ga.jit(lambda: jnp.int32(1), device="cpu")().item()], 2)

    def test_jax_that_is_imported_first_or_last(self):
        for program in ("import gpu_async as ga, jax, jax.numpy as jnp", "import jax, jax.numpy as jnp; import gpu_async as ga"):
            program += """
import numpy as np
f = ga.compile("func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }", device="cpu").f
assert jnp.sum(f(np.ones(2, "f"))) == 2
"""
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_jax_with_other_registries(self):
        program = """
import sys, unittest.mock, jax.numpy as jnp, jax._src.core, numpy as np
with unittest.mock.patch.dict(sys.modules, {"jax.interpreters.xla": None}):
    import gpu_async as ga
    r = ga.jit(lambda x: x, device="cpu")(np.ones(2, "f"))
try:
    jnp.sum(r)
except ValueError as error:
    assert "jax.numpy.array" in str(error)
assert jnp.sum(jnp.array(r)) == 2 and ga.Array not in jax._src.core.pytype_aval_mappings
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_no_arrays(self):
        for thing in "float32", float, object():
            with self.assertRaisesRegex(ga.ArgumentError, "argument 1, y, .* is of the type %s, neither an array nor a number; arguments are "
                                        "arrays .*partial"
                                        % type(thing).__name__):
                ga.jit(lambda x, y: x, device="cpu")(1.0, thing)
        for thing in decimal.Decimal("1.5"), fractions.Fraction(1, 2):
            with self.assertRaisesRegex(ga.ArgumentError, r"^argument 1, y\['b'\], of <lambda>, a function of gpu_async.jit, is of the type "
                                        r"%s, a number that arrays do not hold; arguments are arrays \(of JAX, .*; give float\(x\); "
                                        % type(thing).__name__):
                ga.jit(lambda x, y: x, device="cpu")(1.0, {"b": thing})

    def test_numbers_that_no_type_holds(self):
        with self.assertRaisesRegex(ga.ArgumentError, r"argument 0, x, .* is the number 1099511627776, which int32 does not hold"):
            ga.jit(lambda x: x + 1, device="cpu")(2**40)

    def test_no_stream_of_the_callers(self):
        with self.assertRaisesRegex(ValueError, "stream='caller': a call of a function of gpu_async.jit takes no stream"):
            ga.jit(lambda x: x, device="cpu", stream="caller")

    def test_masked_arrays(self):
        masked = np.ma.array([1.0, 2.0], mask=[0, 1], dtype="f4")
        with self.assertRaisesRegex(ga.ArgumentError, "argument 0, x, .* is a masked array, whose mask would be lost; give x.filled"):
            ga.jit(lambda x: x.sum(), device="cpu")(masked)
        program = ga.jit(lambda x: x.sum(), device="cpu")
        self.assertEqual(float(program(masked.filled(0))), 1)

    def test_arrays_of_other_libraries(self):
        class Tensor:
            dtype, shape = "torch.float32", (3,)

        with self.assertRaisesRegex(ga.ArgumentError, r"^argument 1, p\['x'\], .* is of the type Tensor with elements of torch.float32, "
                                    r"which JAX does not know; give numpy.asarray\(x\)"):
            ga.jit(lambda n, p: p["x"], device="cpu")(1, {"x": Tensor()})

    def test_keys(self):
        def f(key, scale):
            key, here = jax.random.split(key)
            return key, jax.random.normal(here, (5,)) * scale

        g = ga.jit(f, device="cpu")
        for key in jax.random.key(3), jax.random.PRNGKey(3), jax.random.key(3, impl="rbg"):
            for _ in range(2):  # the key that comes out goes in
                (got, numbers), (wanted, values) = g(key, 2), f(key, 2)
                np.testing.assert_allclose(numbers, values, rtol=1e-5, atol=1e-6)
                if jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
                    self.assertEqual(got.dtype, wanted.dtype)
                    np.testing.assert_array_equal(jax.random.key_data(got), jax.random.key_data(wanted))
                else:
                    np.testing.assert_array_equal(got, wanted)
                key = jnp.asarray(got)
        self.assertEqual(len(g._compiled), 3)
        keys = jax.random.split(jax.random.key(1), 6).reshape(2, 3)
        draw = jax.vmap(jax.vmap(jax.random.uniform))
        np.testing.assert_array_equal(ga.jit(draw, device="cpu")(keys), draw(keys))
        back = ga.jit(lambda keys: keys.T, device="cpu")(keys)
        np.testing.assert_array_equal(jax.random.key_data(back), jax.random.key_data(keys.T))

    def test_where_arrays_are_to_be(self):
        mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
        sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("i"))
        g = ga.jit(lambda x: jax.lax.with_sharding_constraint(x, sharding) + 1, device="cpu")
        self.assertEqual(g(np.ones(2, "f")).numpy().tolist(), [2, 2])

    def test_types_that_arrays_do_not_have(self):
        x = jnp.ones(4).astype(jnp.float8_e4m3fn)
        with self.assertRaisesRegex(ga.ArgumentError, "argument 1, x, of <lambda>, a function of gpu_async.jit, is of float8_e4m3fn, which .* float64"):
            ga.jit(lambda y, x: x.astype("f"), device="cpu")(1, x)
        with self.assertRaisesRegex(ga.ArgumentError, "result 1 of <lambda>, a function of gpu_async.jit, is of int4, which .* convert in the function"):
            ga.jit(lambda x: (x, x.astype(jnp.int4)), device="cpu")(np.ones(4, "f"))
        bits = jax.lax.bitcast_convert_type(x, jnp.uint8)
        f = ga.jit(lambda bits: jax.lax.bitcast_convert_type(bits, jnp.float8_e4m3fn).astype("f"), device="cpu")
        self.assertEqual(f(bits).numpy().tolist(), [1, 1, 1, 1])

    def test_settings_of_jax_are_part_of_the_program(self):
        f = lambda seed: jax.random.uniform(jax.random.key(seed), (3,))
        g = ga.jit(f, device="cpu")
        for is_partitionable in (True, False, True):
            with jax.threefry_partitionable(is_partitionable):
                np.testing.assert_array_equal(g(7), jax.jit(f)(7))
        g = ga.jit(lambda x, y: x + y, device="cpu")
        numbers = np.ones(2, "i4"), np.ones(2, "f4")
        self.assertEqual(g(*numbers).numpy().tolist(), [2, 2])
        with jax.numpy_dtype_promotion("strict"):
            with self.assertRaises(Exception):
                g(*numbers)
        self.assertEqual(g(*numbers).numpy().tolist(), [2, 2])

    def test_unsigned_starts_of_scatters(self):
        for dtype, size, starts in ("u1", 300, [[10], [200]]), ("u2", 70000, [[3], [40000]]):
            f = lambda i: jax.lax.scatter_add(jnp.zeros(size), i, jnp.ones(2), jax.lax.ScatterDimensionNumbers((), (0,), (0,)))
            np.testing.assert_array_equal(ga.jit(f, device="cpu")(np.array(starts, dtype)), f(np.array(starts, dtype)))

    def test_warnings_are_of_the_callers_line(self):
        compile = ga._binding.compile

        class Warned:
            diagnostics = "f:1:1: warning: slow\n"
            timing = ""

            def __init__(self, *arguments):
                self.executable = compile(*arguments)

            def __getitem__(self, name):
                return self.executable[name]

        g = ga.jit(lambda x: x + x, device="cpu")
        with unittest.mock.patch.multiple(ga._binding, compile=Warned, load=lambda *arguments: None):
            with self.assertWarnsRegex(ga.CompileWarning, "^f:1:1: warning: slow$") as caught:
                g(np.ones(4, "f"))
        self.assertEqual(caught.filename, __file__)

    def test_inside_of_traced_functions(self):
        g = ga.jit(lambda x, y=1.0: (x * x + y).sum(), device="cpu")
        x = jnp.arange(4.0)
        self.assertEqual(jax.jit(g)(x), 18)
        np.testing.assert_array_equal(jax.jit(lambda x: x + g(x, y=2.0))(x), x + 22)
        np.testing.assert_array_equal(jax.grad(g)(x), 2 * x)
        np.testing.assert_array_equal(jax.vmap(g)(x), x * x + 1)
        np.testing.assert_array_equal(jax.lax.map(lambda each: g(each), x), x * x + 1)
        self.assertEqual(jax.eval_shape(g, x), jax.ShapeDtypeStruct((), "float32", weak_type=False))
        for outer in ga.jit(lambda x: x * g(x), device="cpu"), ga.jit(lambda x: x * ga.jit(lambda: g(x), device="cpu")(), device="cpu"):
            np.testing.assert_array_equal(outer(x), x * 18)
        np.testing.assert_array_equal(ga.jit(jax.grad(g), device="cpu")(x), 2 * x)
        np.testing.assert_array_equal(ga.jit(g, device="cpu")(x), 18)
        self.assertEqual(len(g._compiled), 0)
        wrong = ga.jit(lambda x: 1 / 0, device="cpu")
        with self.assertRaises(ZeroDivisionError) as caught:
            jax.jit(lambda x: wrong(x))(x)
        self.assertIsNone(caught.exception.__context__)
        with self.assertRaisesRegex(ga.ArgumentError, "schedule: JAX traces the caller"):
            jax.jit(lambda x: (g.schedule(x), x)[1])(x)

    def test_static_arguments_inside_of_traced_functions(self):
        class Model:
            @ga.jit(device="cpu", static_argnums=0, static_argnames="n")
            def power(self, x, n=1):
                return x**n if n else x

        x, model = jnp.arange(3.0), Model()
        for transform in jax.jit, lambda f: ga.jit(f, device="cpu"):
            np.testing.assert_array_equal(transform(lambda x: model.power(x, n=3) + model.power(x, n=0))(x), x**3 + x)

    def test_arrays_inside_of_traced_functions(self):
        table = jnp.arange(3.0)
        f = ga.jit(lambda x: x + table, device="cpu")
        made = f(np.ones(3, "f"))
        # An argument with elements is computed with, and the result is a constant.
        g = ga.jit(lambda x: x * ga.jit(lambda y: y + 1, device="cpu")(np.ones(3, "f")).numpy() + made, device="cpu")
        self.assertEqual(g(np.ones(3, "f")).tolist(), [3, 4, 5])
        # Not so if it takes arrays from around it, which JAX traces then.
        def outer(x):
            h = ga.jit(lambda y: y + x, device="cpu")
            return h(2.0) + f(np.ones(3, "f"))

        for transform in jax.jit, lambda f: ga.jit(f, device="cpu"):
            np.testing.assert_array_equal(transform(outer)(table), [3, 5, 7])
        np.testing.assert_array_equal(jax.vmap(outer)(table), [[3, 4, 5], [4, 5, 6], [5, 6, 7]])

    def test_a_function_that_calls_itself(self):
        @ga.jit(device="cpu", static_argnums=0)
        def factorial(n, x):
            return x if n <= 1 else jnp.asarray(factorial(n - 1, x if n % 2 else np.ones(2, "f"))) * n

        done = []
        thread = threading.Thread(target=lambda: done.append(factorial(4, np.ones(2, "f")).tolist()), daemon=True)
        thread.start()
        thread.join(120)
        self.assertEqual(done, [[24, 24]])

        @ga.jit(device="cpu")
        def endless(x):
            return endless(x)

        with self.assertRaises(RecursionError):
            endless(1.0)

    def test_a_program_is_compiled_by_one_thread(self):
        traced = []

        @ga.jit(device="cpu")
        def f(x):
            traced.append(x.shape)
            return x + 1

        threads = [threading.Thread(target=lambda size=size: f(np.ones(size, "f"))) for size in (1, 2, 3) * 3]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((sorted(traced), len(f._locks)), ([(1,), (2,), (3,)], 0))

    def test_types_of_results(self):
        same = ga.jit(lambda x: x, device="cpu")
        for name in ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "float16", "bfloat16", "float32", "complex64"):
            x = jnp.ones((2, 3), name)
            r = same(x)
            self.assertEqual((r.dtype, r.dtype == getattr(jnp, name.replace("bool", "bool_"))), (x.dtype, True))
            for f in (jnp.zeros_like, lambda a: jnp.full((2,), 1, a.dtype), lambda a: jnp.ones(3, a.dtype), jnp.full_like,
                      lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype), lambda a: np.zeros(a.shape, a.dtype),
                      lambda a: jax.flatten_util.ravel_pytree({"a": a, "b": [a]})[0], lambda a: jnp.result_type(a, a)):
                got, wanted = (f(r), f(x)) if f is not jnp.full_like else (f(r, 1), f(x, 1))
                self.assertEqual((type(got), getattr(got, "dtype", got)), (type(wanted), getattr(wanted, "dtype", wanted)))
        y = same(jnp.arange(3.0))
        value, slope = jax.jvp(lambda a: a * a, (y,), (y,))
        self.assertEqual((value.tolist(), slope.tolist()), ([0, 1, 4], [0, 2, 8]))
        self.assertEqual(jnp.arange(same(jnp.int32(3)).item(), dtype=y.dtype).tolist(), [0, 1, 2])

    def test_raw_keys(self):
        keys = ga.jit(jax.random.split, device="cpu")(jax.random.PRNGKey(3))
        wanted = jax.random.split(jax.random.PRNGKey(3))
        self.assertEqual(keys.dtype, "uint32")
        one = ga.jit(lambda keys: keys[0], device="cpu")(keys)
        for key in keys[0], one:
            np.testing.assert_array_equal(jax.random.normal(key, (4,)), jax.random.normal(wanted[0], (4,)))
            np.testing.assert_array_equal(jax.random.split(key), jax.random.split(wanted[0]))
            np.testing.assert_array_equal(jax.random.fold_in(key, 3), jax.random.fold_in(wanted[0], 3))
            np.testing.assert_array_equal(jax.random.key_data(jax.random.wrap_key_data(key)), wanted[0])

    @unittest.skipIf(importlib.util.find_spec("optax") is None, "needs optax")
    def test_optimizers_outside_of_functions(self):
        import optax

        def loss(p, x):
            return ((jnp.tanh(x @ p["w"]) + p["b"]) ** 2).sum()

        x = np.random.default_rng(0).normal(size=(5, 4)).astype("f")
        make = lambda: {"w": jnp.ones((4, 3)) / 3, "b": jnp.zeros(3)}
        for name in "sgd", "adam", "adamw", "rmsprop", "lion", "lamb", "adagrad", "adafactor":
            optimizer, end = getattr(optax, name)(0.01), []
            for jit in jax.jit, functools.partial(ga.jit, device="cpu"):
                params = jit(make)()
                state, slope = optimizer.init(params), jit(jax.grad(loss))
                for _ in range(2):
                    slopes = slope(params, x)
                    if name in ("adagrad", "adafactor"):  # optax asks for arrays of JAX's there
                        slopes, params = jax.tree.map(jnp.asarray, (slopes, params))
                    updates, state = optimizer.update(slopes, state, params)
                    params = optax.apply_updates(params, updates)
                end.append(params)
            jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-3, atol=1e-5), *end)

    @unittest.skipIf(importlib.util.find_spec("flax") is None or importlib.util.find_spec("optax") is None, "needs flax and optax")
    def test_flax(self):
        import flax.serialization
        import flax.training.train_state
        import optax

        params = ga.jit(lambda: {"w": jnp.arange(6.0).reshape(2, 3), "b": [jnp.ones(3, jnp.bfloat16)]}, device="cpu")()
        state = flax.training.train_state.TrainState.create(apply_fn=None, params=params, tx=optax.adam(0.1))
        state = state.apply_gradients(grads=params)
        self.assertEqual(state.params["w"].shape, (2, 3))
        data = flax.serialization.to_bytes(params)
        self.assertEqual(data, flax.serialization.to_bytes(jax.device_get(params)))
        for target in params, jax.device_get(params):
            jax.tree.map(np.testing.assert_array_equal, flax.serialization.from_bytes(target, data), jax.device_get(params))
        self.assertEqual(flax.serialization.msgpack_restore(data)["w"].tolist(), params["w"].tolist())

    def test_arrays_that_are_not_row_major(self):
        g = ga.jit(lambda p: p["x"] * 2, device="cpu")
        x = np.arange(12, dtype="f").reshape(3, 4)
        made = ga.jit(lambda x: x, device="cpu")(x)
        odd = np.frombuffer(b"\0" + x.tobytes(), "u1")[1:].view("f")
        self.assertFalse(odd.flags.aligned)
        for each in (x.T, x[:, ::2], x[::-1], np.asfortranarray(x), np.broadcast_to(np.float32(3), (2, 3)), odd, made.T, made[:, 0], x[1:1],
                     x.astype(">f4"), x.astype("d").T, x.astype("i8")[:, 1], x[:, 1:2].T):
            np.testing.assert_array_equal(g({"x": each}), np.asarray(each) * 2)
        half = jnp.arange(6).astype(jnp.bfloat16).reshape(2, 3)
        self.assertEqual(g({"x": np.asarray(half).T}).tolist(), (half.T * 2).tolist())
        # An Array of a program of memrefs may have any strides.
        exe = ga.compile("func.func @f(%x: memref<?x?xf32, strided<[?, ?], offset: ?>>) -> memref<?x?xf32, strided<[?, ?], offset: ?>> {\n"
                         "return %x : memref<?x?xf32, strided<[?, ?], offset: ?>> }", device="cpu")
        view = exe.f(x.T)
        self.assertEqual((view.strides, view.is_contiguous, exe.f(x).is_contiguous), ((1, 4), False, True))
        np.testing.assert_array_equal(g({"x": view}), x.T * 2)
        # The caller's array is read where that serves.
        read = x.copy()
        read.flags.writeable = False
        for each in x, read:
            self.assertIs(from_jax._take_numpy(each)[0], each)

    def test_an_error_of_the_program_names_the_leaf(self):
        deleted = jnp.ones(3)
        deleted.delete()
        g = ga.jit(lambda n, p, *, k: p["x"] * n + k["y"][0], device="cpu")
        for args, k, name in (((2, {"x": deleted}), {"y": [1.0]}, r"argument 1, p\['x'\]"),
                              ((2, {"x": jnp.ones(3)}), {"y": [deleted]}, r"argument k\['y'\]\[0\]")):
            with self.assertRaisesRegex(ga.ArgumentError, "^%s \\(tensor<3xf32>\\), of <lambda>, a function of gpu_async.jit: the array of JAX's has been deleted, or donated" % name):
                g(*args, k=k)
        h = ga.jit(lambda n, p: p["x"] * n, device="cpu", static_argnums=0)
        with self.assertRaisesRegex(ga.ArgumentError, r"^argument 1, p\['x'\] \(tensor<3xf32>\), of <lambda>, a function"):
            h(2, {"x": deleted})

    def test_weak_types(self):
        for f, arguments in (
                (lambda v, x: x * v, (jnp.asarray(3), np.arange(4, dtype="i1"))), (lambda v, x: x * v, (3, np.arange(4, dtype="i1"))),
                (lambda v, x: x * v, (jnp.int32(3), np.arange(4, dtype="i1"))), (lambda v: v, (2.0,)), (lambda v: v, (jnp.asarray(2.0),)),
                (lambda v: (v, v + jnp.float32(1)), (2.0,)), (lambda v: v * 2, (jnp.full(3, 2),)), (lambda v: (v, ~v), (True,)), (lambda v, x: v * x, (True, np.int8(3))), (lambda v, x: v * x, (1 + 2j, np.ones(2, "f4"))), (lambda v: v + 1, (2j,))):
            got, wanted = ga.jit(f, device="cpu")(*arguments), jax.jit(f)(*arguments)
            for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(wanted)):
                self.assertEqual((a.dtype, a.weak_type, a.tolist()), (b.dtype, b.weak_type, b.tolist()))
        weak = ga.jit(lambda v: v, device="cpu")(3)
        self.assertTrue(weak.weak_type)
        x = jnp.arange(4, dtype="int8")
        self.assertEqual(ga.jit(lambda v, x: x * v, device="cpu")(weak, x).dtype, "int8")
        self.assertEqual(jax.jit(lambda v, x: x * v)(weak, x).dtype, "int8")
        for f in jax.device_put, lambda a: a.__jax_array__(), jax.jit(lambda v: v):
            self.assertEqual((f(weak).dtype, f(weak).weak_type), ("int32", True))
        for f in jnp.multiply, operator.mul, operator.add, operator.sub:
            for a, b, wanted in (x, weak, f(x, jnp.asarray(3))), (weak, x, f(jnp.asarray(3), x)):
                self.assertEqual((type(f(a, b)), f(a, b).dtype, f(a, b).tolist()), (type(x), "int8", wanted.tolist()))
        self.assertEqual(jnp.multiply(x, ga.jit(lambda v: v, device="cpu")(jnp.int32(3))).dtype, "int32")

    def test_types_with_x64_and_without(self):
        f = ga.jit(lambda x: x + jnp.arange(3.0).sum(), device="cpu")
        for x in (1.0, 2, np.float64(1), np.ones(2), np.arange(3), jnp.float32(1), np.int64(2), True):
            for wide in False, True, False:
                with jax.enable_x64(wide):
                    self.assertEqual(f(x).dtype, jax.jit(lambda x: x + jnp.arange(3.0).sum())(x).dtype)
        with self.assertRaisesRegex(ga.ArgumentError, "which int32 does not hold"):
            f(2**31)

    def test_texts_of_functions(self):
        @ga.jit(device="cpu")
        def layer(w, x=1.0):
            return w * x

        layer(1.0)
        self.assertEqual(repr(layer), "<gpu_async.jit of layer(w, x=1.0), device='cpu', 1 compiled>")

        class Model:
            apply = ga.jit(lambda self: 1, static_argnums=0, device="cpu")

            def __repr__(self):
                return "Model()"

        self.assertEqual(repr(Model().apply), "<method of Model(), <gpu_async.jit of <lambda>(self), device='cpu', 0 compiled>>")
        for owner in layer, Model().apply:
            for name, advice in (("lower", r"jax.jit\(f.__wrapped__\).lower\(...\) has StableHLO; f.schedule"), ("trace", "of jax.jit's"),
                                 ("eval_shape", "of jax.jit's"), ("clear_cache", r"gpu_async.jit\(f.__wrapped__\) makes a function"),
                                 ("start", "of an Executable"), ("signature", "of an Executable"), ("nothing", "has no attribute 'nothing'$")):
                with self.assertRaisesRegex(AttributeError, advice):
                    getattr(owner, name)
        for option in "out", "stream":
            with self.assertRaisesRegex(ga.ArgumentError, "got an unexpected keyword argument '%s'" % option):
                layer(1.0, **{option: None})
        ones = ga.jit(lambda: {"w": jnp.ones(2), "n": jnp.int32(3)}, device="cpu")()
        self.assertEqual(repr(ones), "{'n': gpu_async.Array(3, dtype=int32), 'w': gpu_async.Array([1., 1.], dtype=float32)}")

    def test_dataclasses_that_jax_does_not_know(self):
        @dataclasses.dataclass
        class Params:
            w: object

        with self.assertRaisesRegex(ga.ArgumentError, r"is of the type Params, neither an array nor a number; .*; if its fields are arrays, "
                                    r"register the class, jax.tree_util.register_dataclass\(Params\); or name it in static_argnums"):
            ga.jit(lambda p: p.w, device="cpu")(Params(jnp.ones(2)))
        with self.assertRaisesRegex(ga.ArgumentError, r"of the type Params, which has no hash: .*; make it @dataclass\(frozen=True\), or \(eq=False\) "):
            ga.jit(lambda p: 1, device="cpu", static_argnums=0)(Params(2))
        frozen = dataclasses.make_dataclass("Frozen", ["n"], frozen=True)
        self.assertEqual(ga.jit(lambda p, x: p.n * x, device="cpu", static_argnums=0)(frozen(2), 3.0).item(), 6)

    def test_names(self):
        """Schedules and traces show the name of the function."""
        def compute(x):
            return jnp.exp(x) * jax.nn.relu(jnp.sin(x)) + jnp.where(x > 0.5, x, 0)

        x = np.linspace(0, 1, 8, dtype="f")
        wanted = compute(x)
        # Names that programs have themselves do not collide with the function's: those of C, of JAX, prefixes.
        for name, shown in (("step", "step"), ("main", "main"), ("<lambda>", "<lambda>"), ("été", "été"), ("a b:", "a_b_"),
                            ("relu", "relu"), ("_where", "_where"), ("exp", "python.exp"), ("free", "python.free"),
                            ("rsqrt", "python.rsqrt"), ("gpuasync_x", "python.gpuasync_x"), ("", "function")):
            def named(x):
                return compute(x)

            named.__name__ = name
            g = ga.jit(named, device="cpu")
            self.assertEqual(g.schedule(x).name, shown)
            np.testing.assert_allclose(g(x), wanted, rtol=1e-5)
            h = ga.jit(named, device="cpu", ffi=True)
            np.testing.assert_allclose(jax.jit(lambda x: h(x) + 1)(x), wanted + 1, rtol=1e-5)
        self.assertEqual(ga.jit(functools.partial(compute), device="cpu").schedule(x).name, "compute")
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "trace.json")
            f, g = ga.jit(compute, device="cpu"), ga.jit(lambda x: x + 1, device="cpu")
            with ga.trace(file):
                f(x), g(x)
            with open(file) as text:
                names = {event.get("name") for event in json.load(text)["traceEvents"]}
        self.assertTrue({"compute", "<lambda>"} <= names and "main" not in names, names)
        with self.assertRaisesRegex(ga.ArgumentError, "^argument 0, x .*, of <lambda>, a function of gpu_async.jit: "):
            donating = ga.jit(lambda x: x + 1, device="cpu", donate_argnums=0)
            y = donating(x)
            donating(y), donating(y)

    def test_the_page(self):
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs/how-to/UseWithJax.md").read_text()
        code, more, results, noise = re.findall(r"test/Python/jit.py runs it -->\n```python\n(.*?)```", page, re.S)
        names = {}
        exec(code, names)
        np.testing.assert_allclose(names["z"], np.full((8, 3), 5.0))
        np.testing.assert_allclose(names["g"], jax.grad(names["loss"])(names["w"], names["x"]), rtol=1e-5)
        self.assertEqual(names["picture"].name, "layer")
        before, out = names["w"], io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(more, names)
        self.assertRegex(out.getvalue(), r"^8\.0 \[0\.33333[0-9]* ")
        slope = jax.grad(names["loss"])
        wanted = before - 0.1 * slope(before, names["x"])
        np.testing.assert_allclose(names["w"], wanted - 0.1 * slope(wanted, names["x"]), rtol=1e-5)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(results, names)
        self.assertEqual(out.getvalue(), "numpy\n12.0 [0. 0. 4. 6.] [1. 3. 5. 7.]\n")
        self.assertEqual((type(names["b"]), names["b"].tolist()), (ga.Array, [0, 4, 8, 12]))
        with contextlib.redirect_stdout(io.StringIO()):
            exec(noise, names)
        np.testing.assert_allclose(names["noise"], jax.random.normal(names["key"], (2,)), rtol=1e-6)

    def test_the_first_page(self):
        page = (pathlib.Path(__file__).resolve().parents[2] / "README.md").read_text()
        (code,), out = re.findall(r"test/Python/jit.py runs it -->\n```python\n(.*?)```", page, re.S), io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(code, {})
        self.assertEqual(out.getvalue().strip(), code.rpartition("# ")[2].strip())

    def test_indices(self):
        # As the page says of them.
        x, one = jnp.arange(12.0), ga.jit(lambda: jnp.int32(3), device="cpu")()
        mask = ga.jit(lambda x: x > 8, device="cpu")(x)
        self.assertEqual(([0, 1, 2, 5][one], np.arange(12)[one], list(range(one)), x[int(one)]), (5, 3, [0, 1, 2], 3))
        self.assertEqual((x.at[int(one)].set(0)[3], jnp.take(x, one), jax.jit(lambda x, a: x[a])(x, one)), (0, 3, 3))
        self.assertEqual((x[jnp.asarray(mask)].tolist(), np.asarray(x)[mask].tolist()), ([9, 10, 11], [9, 10, 11]))
        self.assertEqual(ga.jit(lambda x, a: x.at[a].set(0), device="cpu")(x, one).tolist(), [*range(3), 0, *range(4, 12)])

    def test_kernels_are_named_after_what_they_compute_and_where(self):
        def layer(x, w):
            return jnp.tanh(x @ w)

        def f(x, w):
            y = layer(x, w)
            y = layer(y, w)
            return jax.nn.softmax(y @ w)

        first = inspect.getsourcelines(layer)[1]
        g = ga.jit(f, device="cpu")
        x, w = np.ones((64, 96), "f"), np.ones((96, 96), "f")
        g(x, w)
        with ga.profile() as profile:
            g(x, w)
        rows = {row.name: row for row in profile.rows if row.kind == "kernel"}
        self.assertEqual(set(rows), {"matmul_tanh_64x96x96", "matmul_64x96x96", "max_exp_sum_64x96"})
        self.assertEqual(rows["matmul_tanh_64x96x96"].launches, 2)
        self.assertRegex(rows["matmul_tanh_64x96x96"].place, r"/jit\.py:%d:\d+$" % (first + 1))
        self.assertRegex(rows["max_exp_sum_64x96"].place, r"/jit\.py:%d:\d+$" % (first + 6))
        self.assertRegex(str(profile), r"matmul_tanh_64x96x96 at (\w+/)*jit\.py:%d:" % (first + 1))

    def test_matrices_without_a_cholesky_factor(self):
        good = np.array([[4, 2], [2, 3]], "f")
        stack = np.stack([good, np.diag([4, -1]).astype("f"), np.ones((2, 2), "f"), np.zeros((2, 2), "f")])
        for upper in (False, True):
            for made in (stack, stack.astype("complex64")):
                f = functools.partial(jnp.linalg.cholesky, upper=upper)
                got, wanted = np.asarray(ga.jit(f, device="cpu")(made)), np.asarray(f(made))
                self.assertEqual(np.isnan(wanted).sum(), 9)
                np.testing.assert_allclose(got.real, wanted.real, rtol=1e-6)

    def test_names_that_no_option_has(self):
        for wanted, make in (
                (r"no option 'optlevel'; did you mean opt_level\?", lambda: ga.jit(abs, optlevel=2)),
                (r"no option 'static_argnum'; did you mean static_argnums\?", lambda: ga.jit(static_argnum=0)(abs)),
                (r"a device is a text .* not None", lambda: ga.jit(abs, device=None)),
                (r"a device is a text .* not of the type \w+", lambda: ga.jit(abs, device=jax.devices()[0])),
                (r"no option 'o'; the options are", lambda: ga.compile("func.func @f() { return }", device="cpu", o=1))):
            with self.assertRaisesRegex(TypeError, wanted):
                make()
        # The list is the library's.
        with self.assertRaisesRegex(ga.CompileError, "is none of") as caught:
            ga._compile(b"func.func @f() { return }", "cpu", "f", {"nothing": 1})
        self.assertEqual(set(re.findall(r"[\w-]+", str(caught.exception).partition("is none of ")[2])),
                         {each.replace("_", "-") for each in ga._OPTIONS})

    def test_copies_are_the_function(self):
        f = ga.jit(lambda x: x + 1, device="cpu")
        self.assertIs(copy.copy(f), f)
        self.assertIs(copy.deepcopy([f])[0], f)
        with self.assertRaisesRegex(TypeError, "cannot be pickled"):
            pickle.dumps(f)

    def test_attributes_of_jaxs_arrays(self):
        r = ga.jit(lambda x: x + 1, device="cpu")(np.ones(3, "f"))
        for name in "at", "device", "sharding":
            self.assertFalse(hasattr(r, name))
            with self.assertRaisesRegex(AttributeError, r"jax\.numpy\.asarray\(a\)\.%s" % name):
                getattr(r, name)
        with self.assertRaisesRegex(AttributeError, "no attribute 'nothing'"):
            r.nothing

    def test_unused_donations_are_named(self):
        def f(p, x):
            return p["a"]["w"].sum() + x

        with self.assertWarnsRegex(ga.CompileWarning, r"jit\.py:%d:.*argument 0, p\['a'\]\['w'\], of tensor<7xf32>: no result"
                                   % f.__code__.co_firstlineno):
            ga.jit(f, device="cpu", donate_argnums=0)({"a": {"w": np.ones(7, "f")}}, np.ones(3, "f"))

    def test_lines_are_the_users(self):
        # Not those of libraries: of Flax's layers, of JAX's functions, of the loops that sort.
        def f(x):
            x = jnp.sort(jax.scipy.special.logsumexp(x, axis=1))
            return jnp.linalg.norm(x)

        g = ga.jit(f, device="cpu")
        x = np.random.rand(64, 32).astype("f")
        np.testing.assert_allclose(float(g(x)), f(x), rtol=1e-5)
        with ga.profile() as profile:
            g(x)
        places = {row.place.rpartition("/")[2].partition(":")[0] for row in profile.rows if row.place}
        self.assertEqual(places, {"jit.py"})

    def test_logarithms_of_complex_numbers_near_0_and_1(self):
        # The terms of log |z| cancel there, or squares of the parts leave the type's range.
        angles = np.exp(1j * np.linspace(-3.1, 3.1, 101))
        sizes = 10.0 ** np.linspace(-12, 0, 37)[:, None]
        near = np.concatenate([(angles * (1 + sizes)).ravel(), (angles * (1 - sizes)).ravel(), (angles * sizes).ravel()])
        for f, shift in (jnp.log, 0), (jnp.log1p, -1):
            z = np.concatenate([near, near + shift, [3e38 + 3e38j, -1 + 1e-10j, 1 - 1.4876e-4j]]).astype("c8")
            # The parts of c8 are exact in c16, and so are their squares.
            x, y = z.real.astype("f8") - shift, z.imag.astype("f8")
            below = z.real.astype("f8") - (1 + shift)  # x - 1 without rounding
            excess = below * (below + 2) + y * y
            with np.errstate(all="ignore"):
                expected = np.where(np.abs(excess) < 0.5, np.log1p(excess) / 2, np.log(np.hypot(x, y)))
            result = np.asarray(ga.jit(f, device="cpu")(z))
            np.testing.assert_allclose(result.real, expected, rtol=1e-6, err_msg=f.__name__)

    def test_roots_of_complex_numbers(self):
        z = np.array([-4, complex(-4, -0.0), 0, 3e38 + 3e38j, -3e38 - 1e-10j, 1e-40 + 1e-40j, -1 + 1e-20j, 1j, complex(np.inf, 2), 2 - np.inf * 1j],
                     "c8")
        result, expected = np.asarray(ga.jit(jnp.sqrt, device="cpu")(z)), np.sqrt(z.astype("c16"))
        np.testing.assert_allclose(result.real, expected.real, rtol=3e-7)
        np.testing.assert_allclose(result.imag, expected.imag, rtol=3e-7)
        np.testing.assert_array_equal(np.signbit(result.imag), np.signbit(expected.imag))

    def test_logarithms_of_special_complex_numbers(self):
        parts = np.array([0, -0.0, -1, 1, 2, -2, 1e-30, 1e30, np.inf, -np.inf, np.nan], "f")
        z = (parts[:, None] + np.zeros(len(parts), "f")).astype("c8")
        z.imag = parts[None]
        for f in (jnp.log, jnp.log1p):
            result, expected = np.asarray(ga.jit(f, device="cpu")(z)), np.array(jax.jit(f)(z))
            if f is jnp.log1p:  # JAX's is -infinity there
                expected[z == np.complex64(-1 + 1e-30j)] = np.log(1e-30) + 0.5j * np.pi
            # JAX and C differ in which parts of a result are NaN.
            sure = ~np.isnan(expected)
            np.testing.assert_allclose(result[sure], expected[sure], rtol=2e-6, err_msg=f.__name__)

    def test_functions_that_jax_makes_have_the_line_of_the_call(self):
        # JAX writes relu as a function without lines. Two calls with one type share it.
        def f(x, w, v):
            x = jax.nn.relu(x @ w)
            x = jax.nn.relu(x @ v)
            return x

        x, w, v = (np.random.rand(*shape).astype("f") for shape in ((64, 32), (32, 64), (64, 64)))
        g = ga.jit(f, device="cpu")
        g(x, w, v)
        with ga.profile() as profile:
            g(x, w, v)
        first = f.__code__.co_firstlineno
        lines = sorted(int(row.place.rsplit(":")[-2]) for row in profile.rows if row.place)
        self.assertEqual(lines, [first + 1, first + 2])

    def test_what_has_no_lowering(self):
        for function in jax.lax.approx_max_k, jax.lax.approx_min_k:
            with self.assertRaisesRegex(ga.CompileError, r"@ApproxTopK at jit.py:[0-9]+ has no lowering: .*; take jax.lax.top_k"):
                ga.jit(lambda x: function(x, 2), device="cpu")(np.ones(8, "f"))
        with self.assertRaisesRegex(ga.CompileError, r"lapack_sgehrd_ffi at jit.py:[0-9]+ has no lowering: .* compute it outside of the function") as caught:
            ga.jit(jax.scipy.linalg.hessenberg, device="cpu")(np.ones((4, 4), "f"))
        self.assertEqual((caught.exception.code, caught.exception.diagnostics), (1, (str(caught.exception),)))
        with self.assertRaisesRegex(ga.CompileError, r"debug_callback at jit.py:[0-9]+ has no lowering: it has an array of key"):
            ga.jit(lambda k: (jax.debug.callback(print, k), jax.random.key_data(k))[1], device="cpu")(jax.random.key(0))
        self.assertTrue(issubclass(ga.CompileError, ValueError))
        # Exceptions of the function itself stay as they are.
        with self.assertRaises(TypeError):
            ga.jit(lambda x: x + jnp.ones(3), device="cpu")(np.ones(4, "f"))
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            ga.jit(lambda x: x / 0 if isinstance(x, int) else 1 / 0, device="cpu")(1)

    def test_sizes_that_jax_asks_for(self):
        # JAX 0.11 does so in top_k.
        from jax._src.lib.mlir import ir

        class Traced:
            def compiler_ir(self, dialect):
                return module

        with jax.jit(lambda x: x).lower(np.ones(1, "f")).compiler_ir("stablehlo").context:
            module = ir.Module.parse("""func.func public @main(%a: tensor<3x4xf32>) -> tensor<i32> {
                %0 = stablehlo.get_dimension_size %a, dim = 1 : (tensor<3x4xf32>) -> tensor<i32>
                return %0 : tensor<i32>
            }""")
        exe = ga.compile(from_jax.lower_jax.lower(Traced()), device="cpu")
        self.assertEqual(int(exe.main(np.zeros((3, 4), "f"))), 4)

    def test_what_loops_compute(self):
        x = np.asarray([3, 1, 2, 1], "f")
        np.testing.assert_array_equal(ga.jit(jnp.argsort, device="cpu")(x), [1, 3, 2, 0])
        np.testing.assert_allclose(ga.jit(jnp.fft.fft, device="cpu")(x), np.fft.fft(x), atol=1e-5)


unittest.main()
