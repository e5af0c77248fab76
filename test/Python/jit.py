# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# gpu_async.jit computes what JAX does.
# JAX is not among Debian's packages: pip install jax.
# REQUIRES: jax
# RUN: %python %s
import pathlib
import re
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

    def test_arguments_by_name_are_refused(self):
        g = ga.jit(lambda x, y: x + y, device="cpu")
        for call in g, g.schedule:
            with self.assertRaisesRegex(ga.ArgumentError, "takes its arguments by position, given by name: y"):
                call(1.0, y=2.0)

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

    def test_no_arrays(self):
        for thing in "float32", float, object():
            with self.assertRaisesRegex(ga.ArgumentError, "argument 1 .* is of the type %s, neither an array nor a number; .*partial"
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
        with self.assertRaisesRegex(ga.ArgumentError, "argument 1 of a function of gpu_async.jit is of float8_e4m3fn, which .* float64"):
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
        (code,) = re.findall(r"test/Python/jit.py runs it -->\n```python\n(.*?)```", page, re.S)
        names = {}
        exec(code, names)
        np.testing.assert_allclose(names["z"], np.full((8, 3), 5.0))
        np.testing.assert_allclose(names["g"], jax.grad(names["loss"])(names["w"], names["x"]), rtol=1e-5)
        self.assertEqual(names["picture"].name, "main")

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
