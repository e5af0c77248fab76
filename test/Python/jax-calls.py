# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A function of gpu_async.jit(ffi=True) in programs of JAX's: XLA calls the compiled program, and computes what JAX does.
# REQUIRES: jax
# RUN: %python %s
import functools
import gc
import os
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest

import gpu_async as ga
import jax
import jax.numpy as jnp
import numpy as np

TARGET = "gpu_async.call"


def count_calls(function, *arguments, **named):
    return jax.jit(function).lower(*arguments, **named).as_text().count("@" + TARGET + "(")


class JaxCalls(unittest.TestCase):
    def check(self, f, *arguments, calls=1, outer=lambda y: y, **named):
        """Compares a program of JAX's that calls f by ffi with one that does not."""
        g = ga.jit(f, ffi=True)
        ours = lambda *a, **n: outer(g(*a, **n))
        self.assertEqual(count_calls(ours, *arguments, **named), calls)
        got, wanted = jax.jit(ours)(*arguments, **named), jax.jit(lambda *a, **n: outer(f(*a, **n)))(*arguments, **named)
        self.assertEqual(jax.tree.structure(got), jax.tree.structure(wanted))
        for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(wanted)):
            self.assertIsInstance(a, jax.Array)
            self.assertEqual((a.shape, a.dtype, a.weak_type), (b.shape, b.dtype, b.weak_type))
            np.testing.assert_allclose(np.asarray(a, "complex128"), np.asarray(b, "complex128"), rtol=2e-2 if a.dtype.itemsize == 2 else 1e-5)
        return got

    def test_types(self):
        for name in ("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "bfloat16", "float32", "complex64"):
            x = jnp.arange(12).reshape(3, 4).astype(name)
            self.check(lambda x: (x.T, x[::-1] == x, x.astype("float32") if name != "complex64" else x.real), x)
        with jax.enable_x64(True):
            for name in "int64", "uint64", "float64", "complex128":
                x = jnp.arange(12).reshape(3, 4).astype(name) + (1 << 40)
                self.check(lambda x: (x * 2, x[0], x.sum()), x)

    def test_shapes(self):
        self.check(lambda x: x + 1, jnp.float32(2))
        self.check(lambda x: x.sum(), jnp.ones((2,) * 8))
        self.check(lambda x: (x, x.sum(0), x.T, jnp.concatenate([x, x])), jnp.zeros((0, 3)))
        self.check(lambda x, y: (y, x), jnp.zeros((0, 3)), jnp.ones(2))
        self.check(lambda: jnp.arange(5.0), calls=0)  # computed while JAX traces, as without ffi
        self.check(lambda x: (), jnp.ones(3), calls=0)  # nobody needs it
        self.check(lambda x: x, jnp.arange(6.0).reshape(2, 3))
        self.check(lambda x: (x, x), jnp.arange(6.0).reshape(2, 3))
        big = jnp.ones((1,) * 9)
        with self.assertRaisesRegex(ga.Error, "more than 8 dimensions"):
            jax.jit(ga.jit(lambda x: x + 1, ffi=True))(big)

    def test_small_numbers_stay(self):
        # XLA's threads take them for 0 in what XLA compiles, before the call and behind it.
        f = lambda x: x * 2
        x = np.full(4000, 1e-40, "f")
        got = jax.jit(ga.jit(f, ffi=True))(x)
        np.testing.assert_array_equal(got, ga.jit(f, device="cpu")(x))
        self.assertGreater(float(np.asarray(got)[0]), 0)
        g = ga.jit(f, ffi=True)
        for _ in range(3):
            around = [np.asarray(each) for each in jax.jit(lambda x: (x * 3, g(x), x * 5))(x)]
            np.testing.assert_array_equal(around[0], np.asarray(jax.jit(lambda x: x * 3)(x)))
            np.testing.assert_array_equal(around[1], got)
            np.testing.assert_array_equal(around[2], np.asarray(jax.jit(lambda x: x * 5)(x)))

    def test_layouts_are_row_major(self):
        x = jnp.arange(24.0).reshape(2, 3, 4)
        f = lambda x: x.reshape(-1)[::2].reshape(3, -1) * 2
        self.check(f, x)
        for order in (2, 0, 1), (1, 2, 0), (2, 1, 0):
            self.check(lambda x: f(x), jnp.transpose(x, order))
            g = ga.jit(f, ffi=True)
            got = jax.jit(lambda x: jnp.swapaxes(g(jnp.transpose(x * 2, order)), 0, 1).sum(0))(x)
            np.testing.assert_allclose(got, f(jnp.transpose(x * 2, order)).T.sum(0))

    def test_trees_numbers_names_and_static_arguments(self):
        def f(tree, n=2, *, scale=1.0):
            return {"sum": tree["a"] * scale + tree["b"][0], "n": n * 2, "both": (tree["a"] / n, scale)}

        tree = {"a": jnp.arange(4.0), "b": [np.ones(4, "f"), 3]}
        for arguments, named in (((tree,), {}), ((tree, 3), {}), ((tree,), {"scale": 2.0, "n": 5}), ((tree, np.float32(3)), {})):
            self.check(f, *arguments, **named)
        g = ga.jit(lambda x, n, how: x * n if how == "times" else x + n, static_argnames=("n", "how"), ffi=True)
        self.assertEqual(count_calls(lambda x: g(x, 3, how="times") + g(x, n=3, how="plus"), jnp.ones(3)), 2)
        np.testing.assert_array_equal(jax.jit(lambda x: g(x, 3, how="times") + g(x, n=3, how="plus"))(jnp.ones(3)), [7, 7, 7])

        class Model:
            @functools.partial(ga.jit, static_argnums=0, ffi=True)
            def half(self, x):
                return x / 2

        np.testing.assert_array_equal(jax.jit(Model().half)(jnp.ones(2)), [0.5, 0.5])
        # With concrete arguments the call is that of gpu_async.jit; a result goes into programs of JAX's.
        y = ga.jit(f, device="cpu", ffi=True)(tree)
        self.assertIsInstance(y["sum"], ga.Array)
        self.check(lambda x: x + 1, y["sum"])
        with self.assertRaisesRegex(ga.ArgumentError, "argument 1, y.* is of the type str, neither"):
            jax.jit(lambda x: ga.jit(lambda x, y: x, ffi=True)(x, "a"))(jnp.ones(2))

    def test_control_flow(self):
        f = ga.jit(lambda x, w: jnp.tanh(x @ w), ffi=True)
        w, x = jnp.eye(3) * 0.9 + 0.05, jnp.arange(3.0)
        wanted = x
        for _ in range(5):
            wanted = jnp.tanh(wanted @ w)
        scan = lambda x: jax.lax.scan(lambda x, _: (f(x, w), x.sum()), x, None, length=5)
        self.assertEqual(count_calls(scan, x), 1)
        got, sums = jax.jit(scan)(x)
        np.testing.assert_allclose(got, wanted, rtol=1e-5)
        self.assertEqual(sums.shape, (5,))
        loop = lambda x, n: jax.lax.fori_loop(0, n, lambda i, x: f(x, w), x)
        np.testing.assert_allclose(jax.jit(loop)(x, 5), wanted, rtol=1e-5)
        branch = lambda p, x: jax.lax.cond(p, lambda x: f(x, w), lambda x: f(f(x, w), w), x)
        np.testing.assert_allclose(jax.jit(branch)(True, x), jnp.tanh(x @ w), rtol=1e-5)
        np.testing.assert_allclose(jax.jit(branch)(False, x), jnp.tanh(jnp.tanh(x @ w) @ w), rtol=1e-5)
        np.testing.assert_allclose(jax.lax.map(lambda x: f(x, w), jnp.stack([x, x + 1]))[1], jnp.tanh((x + 1) @ w), rtol=1e-5)
        # Outside of jax.jit: JAX traces the body alone.
        np.testing.assert_allclose(scan(x)[0], wanted, rtol=1e-5)

    def test_transformations_are_of_the_function(self):
        plain = lambda x, w, n: (jnp.tanh(x @ w) * n, n + 1)
        f = ga.jit(plain, ffi=True)
        x, w, n = jnp.arange(6.0).reshape(2, 3) / 10, jnp.ones((3, 3)) / 3, jnp.int32(2)
        loss = lambda g: lambda x, w: g(x, w, n)[0].sum()
        for transform in (jax.grad, functools.partial(jax.grad, argnums=1), functools.partial(jax.value_and_grad, argnums=(0, 1)),
                          jax.hessian, lambda g: jax.grad(jax.checkpoint(g)), jax.jacfwd):
            for wrap in (lambda g: g), jax.jit:
                for a, b in zip(jax.tree.leaves(wrap(transform(loss(f)))(x, w)), jax.tree.leaves(transform(loss(plain))(x, w)), strict=True):
                    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
        got, tangent = jax.jvp(lambda x: f(x, w, n), (x,), (x,))
        wanted, other = jax.jvp(lambda x: plain(x, w, n), (x,), (x,))
        np.testing.assert_allclose(got[0], wanted[0], rtol=1e-5)
        np.testing.assert_allclose(tangent[0], other[0], rtol=1e-5)
        self.assertEqual(tangent[1].dtype, other[1].dtype)
        xs = jnp.stack([x, x + 1, x - 1])
        for axes in (0, None, None), (0, None, 0):
            each = jnp.arange(3) if axes[2] == 0 else n
            for wrap in (lambda g: g), jax.jit:
                for a, b in zip(wrap(jax.vmap(f, axes))(xs, w, each), jax.vmap(plain, axes)(xs, w, each)):
                    np.testing.assert_allclose(a, b, rtol=1e-5)
        np.testing.assert_allclose(jax.jit(jax.vmap(jax.grad(loss(f)), (0, None)))(xs, w),
                                   jax.vmap(jax.grad(loss(plain)), (0, None))(xs, w), rtol=1e-5)
        self.assertEqual(count_calls(jax.grad(loss(f)), x, w), 0)
        self.assertEqual(jax.eval_shape(f, x, w, n)[0].shape, (2, 3))
        # Around a transformed function it is a call.
        g = ga.jit(jax.grad(loss(plain)), ffi=True)
        self.assertEqual(count_calls(g, x, w), 1)
        np.testing.assert_allclose(jax.jit(g)(x, w), jax.grad(loss(plain))(x, w), rtol=1e-5)

    def test_within_gpu_async_jit_it_is_the_function(self):
        f = ga.jit(lambda x: jnp.sin(x) * 2, ffi=True)
        x = jnp.arange(4.0)
        inner = jax.jit(lambda x: f(x) + 1)
        user = lambda x: inner(x) - 3
        for _ in range(2):
            for outer in (lambda x: f(x) + 1), inner, user:
                np.testing.assert_allclose(ga.jit(outer, device="cpu")(x), outer(x), rtol=1e-6)
                np.testing.assert_allclose(jax.jit(outer)(x), outer(x), rtol=1e-6)
        self.assertEqual(count_calls(user, x), 1)
        # The other order, and the same function for both.
        h = ga.jit(lambda x: jnp.cos(x), ffi=True)
        both = lambda x: h(x) * x
        np.testing.assert_allclose(jax.jit(both)(x), jnp.cos(x) * x, rtol=1e-5)
        np.testing.assert_allclose(ga.jit(both, device="cpu")(x), jnp.cos(x) * x, rtol=1e-5)
        np.testing.assert_allclose(ga.jit(both, device="cpu", ffi=True)(x), jnp.cos(x) * x, rtol=1e-5)
        self.assertEqual(count_calls(ga.jit(both, ffi=True), x), 1)
        # A function that no call can be made of stays as it is, as without ffi.
        y = 2.0 * x
        np.testing.assert_allclose(ga.jit(lambda x: ga.jit(lambda: f(x) + x, ffi=True)(), device="cpu")(x), f(x) + x, rtol=1e-6)
        narrow = ga.jit(lambda x: x.astype("float32") + 1, ffi=True)
        np.testing.assert_allclose(ga.jit(lambda x: narrow(x.astype("float8_e4m3fn")), device="cpu")(x), x + 1)
        np.testing.assert_allclose(ga.jit(lambda x: ga.jit(lambda: f(x) + y, ffi=True)(), device="cpu")(x), f(x) + y, rtol=1e-6)

    def test_refused(self):
        x = jnp.ones(3)
        with self.assertRaisesRegex(ga.ArgumentError, "takes an array from the function around it"):
            jax.jit(lambda x: ga.jit(lambda: x + 1, ffi=True)())(x)
        with self.assertRaisesRegex(ga.ArgumentError, r"argument 0, key, .* is of key<fry>.*key_data"):
            jax.jit(ga.jit(lambda key: jax.random.normal(key), ffi=True))(jax.random.key(0))
        with self.assertRaisesRegex(ga.ArgumentError, "result 0 .* is of key<fry>"):
            jax.jit(ga.jit(lambda data: jax.random.wrap_key_data(data), ffi=True))(jnp.zeros(2, "uint32"))
        with self.assertRaisesRegex(ga.ArgumentError, "is of float8_e4m3fn"):
            jax.jit(ga.jit(lambda x: x, ffi=True))(jnp.ones(2, "float8_e4m3fn"))
        with self.assertRaisesRegex(ga.ArgumentError, r"device='cuda', ffi=True.*for the CPU"):
            jax.jit(ga.jit(lambda x: x, "cuda", ffi=True))(x)
        with self.assertRaisesRegex(NotImplementedError, "for cuda, which such calls are not there"):
            jax.jit(ga.jit(lambda x: x, ffi=True)).trace(x).lower(lowering_platforms=("cuda",))
        with self.assertRaisesRegex(NotImplementedError, "for cpu and cuda"):
            jax.jit(ga.jit(lambda x: x, ffi=True)).trace(x).lower(lowering_platforms=("cpu", "cuda"))
        with self.assertRaisesRegex(ga.CompileError, r"gehrd.* at jax-calls.py:\d+ has no lowering"):
            jax.jit(lambda x: ga.jit(lambda x: jax.lax.linalg.hessenberg(x), ffi=True)(x))(jnp.ones((3, 3)))
        with self.assertRaisesRegex(ga.CompileError, "calls Python while it runs.*leave out ffi=True"):
            jax.jit(lambda x: ga.jit(lambda x: jax.debug.print("{}", x) or x, ffi=True)(x))(x)
        with self.assertRaisesRegex(ga.ArgumentError, "is given 2 arguments"):
            jax.jit(lambda x: ga.jit(lambda x: x, ffi=True)(x, x))(x)
        with self.assertRaisesRegex(ValueError, "from the function"):
            def f(x):
                raise ValueError("from the function")

            jax.jit(ga.jit(f, ffi=True))(x)
        with self.assertRaisesRegex(ga.CompileError, "option blas=nope: expected one of"):
            jax.jit(ga.jit(lambda x: x, ffi=True, blas="nope"))(x)

    def test_wrong_calls_of_the_target(self):
        x = jnp.ones(3)
        program = {}

        def note(x):
            text = jax.jit(ga.jit(lambda x: x + 1, ffi=True)).lower(x).as_text()
            program["name"] = text.split('program = "')[1].split('"')[0]

        note(x)
        shape = jax.ShapeDtypeStruct((3,), "float32")
        call = lambda *a, results=(shape,), **n: jax.jit(lambda *a: jax.ffi.ffi_call(TARGET, list(results))(*a, **n))(*a)
        np.testing.assert_array_equal(call(x, program=program["name"])[0], x + 1)
        for wrong, text in (
                (dict(program="none"), "was not compiled in this process"), ({}, "was not compiled in this process"),
                (dict(program=3), "was not compiled in this process")):
            with self.assertRaisesRegex(Exception, text):
                jax.block_until_ready(call(x, **wrong))
        for arguments, results, text in (
                ((x.astype("int32"),), (shape,), "argument 0 of tensor<3xf32>: given i32"),
                ((x, x), (shape,), "@<lambda> has 1 arguments and 1 results, given 2 and 1"), ((jnp.ones(4),), (shape,), "argument 0"),
                ((x,), (shape, shape), "given 1 and 2"), ((x,), (jax.ShapeDtypeStruct((4,), "float32"),), "result 0"),
                ((x,), (jax.ShapeDtypeStruct((3,), "float8_e4m3fn"),), "element type that programs have not")):
            with self.assertRaisesRegex(Exception, text):
                jax.block_until_ready(call(*arguments, results=results, program=program["name"]))
        np.testing.assert_array_equal(call(x, program=program["name"])[0], x + 1)

    def test_programs_outlive_their_functions(self):
        def make(n):
            f = ga.jit(lambda x: x * n, ffi=True)
            return jax.jit(lambda x: f(x) + 1).lower(jnp.ones(4)).compile()

        made = [make(n) for n in range(5)]
        gc.collect()
        jax.clear_caches()
        gc.collect()
        for n, each in enumerate(made):
            np.testing.assert_array_equal(each(jnp.ones(4)), np.full(4, n + 1))

    def test_threads(self):
        f = ga.jit(lambda x, n: (x @ x + n).sum(0), ffi=True)
        g = jax.jit(lambda x, n: f(x, n) * 2)
        x, failures = jnp.ones((20, 20)), []

        def run(n):
            try:
                for i in range(30):
                    # Some of these are compiled here, by several threads at once.
                    size = 20 + i % 3
                    y = g(jnp.ones((size, size)), jnp.float32(n))
                    np.testing.assert_array_equal(y, np.full(size, 2 * size * (size + n), "f"))
            except BaseException as error:  # pylint: disable=broad-except
                failures.append(error)

        threads = [threading.Thread(target=run, args=(n,)) for n in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual(failures, [])
        del x

    def in_process(self, code, **environment):
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True,
                              env={**os.environ, "JAX_PLATFORMS": "cpu", **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_errors_of_the_program_are_raised(self):
        out = self.in_process("""
            import time
            import gpu_async as ga, jax, jax.numpy as jnp
            f = ga.jit(lambda x: jax.lax.fori_loop(0, 40, lambda i, x: jnp.tanh(x @ x), x), ffi=True)
            x = jnp.ones((1024, 1024)) / 1024
            g = jax.jit(lambda x: f(x) + 1)
            for _ in range(2):
                try:
                    print(jax.block_until_ready(g(x)).shape)
                except jax.errors.JaxRuntimeError as error:
                    print("raised", error)
            ga.wait_abandoned(0)  # nothing goes on with XLA's arrays
            """, GPU_ASYNC_TIMEOUT="0.02")
        self.assertEqual(out.count("raised"), 2, out)
        self.assertIn("DEADLINE_EXCEEDED", out)
        self.assertIn("timed out after 0.02 s", out)

    def test_jaxs_cache_of_programs(self):
        code = """
            import gpu_async as ga, jax, jax.numpy as jnp, sys
            jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
            jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
            for n in %s:
                f = ga.jit(lambda x: x * n, ffi=True)
                print(jax.jit(lambda x: f(x) + 1)(jnp.ones(2)).tolist())
            """
        with tempfile.TemporaryDirectory() as folder:
            for numbers in "2, 3", "3, 2", "2, 3, 4", "4, 5":
                out = self.in_process(code % ("(%s)" % numbers), JAX_COMPILATION_CACHE_DIR=folder)
                self.assertEqual(out.split("\n")[:-1], ["[%d.0, %d.0]" % (int(n) + 1, int(n) + 1) for n in numbers.split(",")])

    def test_several_devices(self):
        out = self.in_process("""
            import gpu_async as ga, jax, jax.numpy as jnp, numpy as np
            from jax.sharding import Mesh, PartitionSpec as P
            f = ga.jit(lambda x: jnp.cumsum(x * 2, -1), ffi=True)
            x = jnp.arange(32.0).reshape(4, 8)
            mesh = Mesh(np.array(jax.devices()), ("i",))
            g = jax.jit(jax.shard_map(lambda x: f(x), mesh=mesh, in_specs=P("i"), out_specs=P("i")))
            for _ in range(20):
                np.testing.assert_allclose(g(x), np.cumsum(x * 2, -1))
            print(len(jax.devices()))
            """, XLA_FLAGS="--xla_force_host_platform_device_count=4")
        self.assertEqual(out, "4\n")


if __name__ == "__main__":
    unittest.main()
