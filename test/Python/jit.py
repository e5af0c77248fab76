# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# gpu_async.jit computes what JAX does.
# JAX is not among Debian's packages: pip install jax.
# REQUIRES: jax
# RUN: %python %s
import contextlib
import copy
import functools
import inspect
import io
import operator
import pathlib
import re
import subprocess
import sys
import unittest
import unittest.mock

import gpu_async as ga
import jax
import jax.numpy as jnp
import numpy as np
from gpu_async.frontends import from_jax


class Jit(unittest.TestCase):
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
        self.assertRegex(str(g.schedule(weights, x, 3)), "^@main: [0-9]+ ops on ")
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
        self.assertRegex(str(g.schedule(x, scale=2.0)), "^@main: ")
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
        with self.assertRaisesRegex(ga.ArgumentError, r"^argument 2, y\['b'\]\[0\], of a function of gpu_async.jit is of the type str"):
            g(1.0, y={"b": ["text"], "a": 1.0})
        with self.assertRaisesRegex(ga.ArgumentError, r"^argument 1, rest\[1\], .* is of the type str"):
            ga.jit(lambda x, *rest: x, device="cpu", static_argnums=1)(1.0, 2, "text")

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
            self.assertRegex(str(g.schedule(x, n=3)), "^@main: ")
            self.assertEqual(len(g._compiled), 4)
        # Equal values of different types are different arguments.
        g = ga.jit(lambda x, n: x * n, device="cpu", static_argnums=1)
        self.assertEqual([g(np.int32(3), n).dtype for n in (2, 2.0, 2)], ["i32", "f32", "i32"])
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
                (TypeError, {"donate_argnums": 0}, "does not take donate_argnums, an option of jax.jit; leave it out")):
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
        self.assertRegex(str(a.scaled.schedule(x)), "^@main: ")
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
        self.assertEqual(g(exe.f(np.ones(4))).dtype, "f32")  # as of NumPy's f64
        array = exe.g(np.ones(4, "f"))
        self.assertIs(from_jax._array(array, 0)[0], array)  # no copy

    def test_numbers_of_python(self):
        g = ga.jit(lambda x, n: (x + n, n), device="cpu")
        y, n = g(np.arange(4.0), 2)  # f64 is f32 in JAX here
        self.assertEqual((y.dtype, np.asarray(y).tolist(), n.dtype, n.item()), ("f32", [2, 3, 4, 5], "i32", 2))
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
        self.assertEqual((f64.dtype, jax.jit(lambda a: a + 1)(f64).dtype, jnp.sum(f64).dtype), ("f64", "float32", "float32"))

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
            with self.assertRaisesRegex(ga.ArgumentError, "argument 1, y, .* is of the type %s, neither an array nor a number; .*partial"
                                        % type(thing).__name__):
                ga.jit(lambda x, y: x, device="cpu")(1.0, thing)

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
        with self.assertRaisesRegex(ga.ArgumentError, "argument 1, x, of a function of gpu_async.jit is of float8_e4m3fn, which .* float64"):
            ga.jit(lambda y, x: x.astype("f"), device="cpu")(1, x)
        with self.assertRaisesRegex(ga.ArgumentError, "result 1 of a function of gpu_async.jit is of int4, which .* convert in the function"):
            ga.jit(lambda x: (x, x.astype(jnp.int4)), device="cpu")(np.ones(4, "f"))
        bits = jax.lax.bitcast_convert_type(x, jnp.uint8)
        f = ga.jit(lambda bits: jax.lax.bitcast_convert_type(bits, jnp.float8_e4m3fn).astype("f"), device="cpu")
        self.assertEqual(f(bits).numpy().tolist(), [1, 1, 1, 1])

    def test_warnings_are_of_the_callers_line(self):
        compile = ga._binding.compile

        class Warned:
            diagnostics = "f:1:1: warning: slow\n"

            def __init__(self, *arguments):
                self.executable = compile(*arguments)

            def __getitem__(self, name):
                return self.executable[name]

        g = ga.jit(lambda x: x + x, device="cpu")
        with unittest.mock.patch.object(ga._binding, "compile", Warned):
            with self.assertWarnsRegex(ga.CompileWarning, "^f:1:1: warning: slow$") as caught:
                g(np.ones(4, "f"))
        self.assertEqual(caught.filename, __file__)

    def test_inside_of_traced_functions(self):
        g = ga.jit(lambda x: x + x, device="cpu")
        for transform in jax.jit, jax.vmap, jax.grad:
            with self.assertRaisesRegex(ga.ArgumentError, "while JAX traces its caller"):
                transform(lambda x: g(x))(jnp.float32(1) if transform is jax.grad else jnp.ones(4))

    def test_the_page(self):
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs/Python.md").read_text()
        code, more = re.findall(r"test/Python/jit.py runs it -->\n```python\n(.*?)```", page, re.S)
        names = {}
        exec(code, names)
        np.testing.assert_allclose(names["z"], np.full((8, 3), 5.0))
        np.testing.assert_allclose(names["g"], jax.grad(names["loss"])(names["w"], names["x"]), rtol=1e-5)
        self.assertEqual(names["picture"].name, "main")
        before, out = names["w"], io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(more, names)
        self.assertRegex(out.getvalue(), r"^8\.0 \[0\.33333[0-9]* ")
        slope = jax.grad(names["loss"])
        wanted = before - 0.1 * slope(before, names["x"])
        np.testing.assert_allclose(names["w"], wanted - 0.1 * slope(wanted, names["x"]), rtol=1e-5)

    def test_what_has_no_lowering(self):
        with self.assertRaisesRegex(ValueError, r"lapack_ssyevd_ffi at jit.py:[0-9]+ has no lowering: .* compute it outside of the function"):
            ga.jit(jnp.linalg.eigvalsh, device="cpu")(np.ones((4, 4), "f"))
        with self.assertRaisesRegex(ValueError, r"callback at jit.py:[0-9]+ has no lowering: .*take jax.debug.print"):
            ga.jit(lambda x: (jax.debug.print("{}", x), x)[1], device="cpu")(np.ones(4, "f"))

    def test_what_loops_compute(self):
        x = np.asarray([3, 1, 2, 1], "f")
        np.testing.assert_array_equal(ga.jit(jnp.argsort, device="cpu")(x), [1, 3, 2, 0])
        np.testing.assert_allclose(ga.jit(jnp.fft.fft, device="cpu")(x), np.fft.fft(x), atol=1e-5)


unittest.main()
