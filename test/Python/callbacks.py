# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Functions of gpu_async.jit call Python: jax.pure_callback, jax.debug, io_callback, and packages that use them.
# REQUIRES: jax
# RUN: %python %s
# RUN: %if mock-cuda %{ env GPU_ASYNC_CUDA_LIBRARY=%mock_cuda GPUASYNC_MOCK_EMPTY_KERNELS=1 TEST_DEVICE=cuda %python %s Calls Errors %}
import concurrent.futures
import contextlib
import functools
import gc
import importlib.util
import io
import os
import threading
import unittest
import weakref

import gpu_async as ga
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback

# The fake driver of CUDA runs no kernels: what goes there only copies and calls.
DEVICE = os.environ.get("TEST_DEVICE", "cpu")
x = np.arange(6, dtype="float32").reshape(3, 2)


def jit(f, **options):
    return ga.jit(f, device=DEVICE, **options)


def like(*arrays):
    made = tuple(jax.ShapeDtypeStruct(each.shape, each.dtype) for each in arrays)
    return made if len(made) > 1 else made[0]


class Calls(unittest.TestCase):
    """Programs that only copy and call, which also run where there are no kernels."""

    def test_arguments_and_results(self):
        given = []

        def twice(a):
            given.append(a)
            return np.asarray(a) * 2

        f = jit(lambda a: jax.pure_callback(twice, like(a), a))
        for i in range(3):
            np.testing.assert_array_equal(f(x + i), (x + i) * 2)
        # They are the caller's, and stay as they are.
        self.assertIsInstance(given[0], jax.Array)
        for i in range(3):
            np.testing.assert_array_equal(given[i], x + i)

    def test_types(self):
        arrays = (np.array([True, False]), jnp.asarray([1, 2.5], jnp.bfloat16), np.float16([[3]]), np.array([1 + 2j], "complex64"),
                  np.zeros((2, 0), "f"), np.uint8(200).reshape(()), np.array([-1], "int16"), np.array([2**31], "uint32"))
        f = jit(lambda *given: jax.pure_callback(lambda *given: given, like(*given), *given))
        made = f(*arrays)
        for got, wanted in zip(made, arrays, strict=True):
            wanted = np.asarray(wanted)
            self.assertEqual((got.shape, got.dtype), (wanted.shape, wanted.dtype))
            np.testing.assert_array_equal(np.asarray(got).astype(complex), wanted.astype(complex))

    def test_order(self):
        for ordered in (True, False):
            log = []

            def f(a, b):
                for number, each in enumerate((a, b, a)):
                    jax.debug.callback(lambda v, number=number: log.append((number, float(v))), each, ordered=ordered)
                jax.debug.callback(lambda: log.append("end"), ordered=ordered)
                return b

            self.assertEqual(float(jit(f)(np.float32(1), np.float32(2))), 2)
            self.assertEqual(log, [(0, 1), (1, 2), (2, 1), "end"])

    def test_loops(self):
        log = []

        def add_one(c, i):
            log.append(int(i))
            return np.asarray(c) + 1

        def step(c, i):
            return io_callback(add_one, like(c), c, i, ordered=True), None

        f = jit(lambda a: jax.lax.scan(step, a, jnp.arange(5))[0])
        np.testing.assert_array_equal(f(x), x + 5)
        np.testing.assert_array_equal(f(x), x + 5)
        # Without kernels the index is 0.
        self.assertEqual(log, 2 * list(range(5)) if DEVICE == "cpu" else [0] * 10)

    def test_results_go_on(self):
        f = jit(lambda a: jax.pure_callback(lambda a: np.asarray(a) + 1, like(a), a))
        made = x
        for _ in range(4):
            made = f(made)
        np.testing.assert_array_equal(made, x + 4)

    def test_calls_of_calls(self):
        inner = jit(lambda a: jax.pure_callback(lambda a: np.asarray(a) * 3, like(a), a))
        outer = jit(lambda a: jax.pure_callback(lambda a: np.asarray(inner(np.asarray(a))) + 1, like(a), a))
        np.testing.assert_array_equal(outer(x), x * 3 + 1)
        depth = []

        def again(a):
            depth.append(1)
            return np.asarray(itself(np.asarray(a) + 1)) if len(depth) < 4 else np.asarray(a)

        itself = jit(lambda a: jax.pure_callback(again, like(a), a))
        np.testing.assert_array_equal(itself(x), x + 3)

    def test_threads(self):
        f = jit(lambda a: jax.pure_callback(lambda a: np.asarray(a) * 2, like(a), a))
        wrong = []

        def run(i):
            for j in range(20):
                if not np.array_equal(f(x + i * j), (x + i * j) * 2):
                    wrong.append((i, j))

        threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual(wrong, [])

    def test_other_threads(self):
        # While a call waits for Python, other threads call.
        inner = jit(lambda a: a)
        inner(x)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            other = lambda a: pool.submit(lambda: np.asarray(inner(np.asarray(a)))).result(60)
            np.testing.assert_array_equal(jit(lambda a: jax.pure_callback(other, like(a), a))(x), x)

    def test_wide_types(self):
        f = jit(lambda a: jax.pure_callback(lambda a: np.asarray(a) * 2, like(a), a))
        for dtype in ("float64", "int64", "complex128", "float32"):
            a = np.arange(3).astype(dtype)
            with jax.enable_x64(True):
                made = f(a)
            self.assertEqual(made.dtype, dtype)
            np.testing.assert_array_equal(made, a * 2)

    def test_lifetime(self):
        class Kept:
            pass

        kept = Kept()
        alive = weakref.ref(kept)
        add_one = lambda a, kept=kept: np.asarray(a) + 1
        del kept
        f = jit(functools.partial(lambda add_one, a: jax.pure_callback(add_one, like(a), a), add_one))
        del add_one
        f(x)
        gc.collect()
        self.assertIsNotNone(alive())
        np.testing.assert_array_equal(f(x), x + 1)
        np.testing.assert_array_equal(f(x[:2].copy()), x[:2] + 1)
        del f
        jax.clear_caches()
        gc.collect()
        self.assertIsNone(alive())

    def test_the_same_function_again(self):
        # JAX keeps the lowering of a function: each program finds its callbacks.
        function = lambda a: jax.pure_callback(lambda a: np.asarray(a) + 1, like(a), a)
        for _ in range(3):
            np.testing.assert_array_equal(jit(function)(x), x + 1)
            gc.collect()

    def test_print(self):
        def f(a):
            jax.debug.print("a = {a}, {b}", a=a[0], b="text", ordered=True)
            jax.debug.print("end", ordered=True)
            return a

        with contextlib.redirect_stdout(io.StringIO()) as out:
            jit(lambda a: jax.debug.print("a = {}", a))(np.float32(3))
        self.assertEqual(out.getvalue(), "a = 3.0\n")
        if DEVICE == "cpu":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                jit(f)(x)
            self.assertEqual(out.getvalue(), "a = [0. 1.], text\nend\n")


class Errors(unittest.TestCase):
    def test_exceptions(self):
        is_wrong = True

        def maybe(a):
            if is_wrong:
                raise KeyError("the callback's")
            return np.asarray(a)

        f = jit(lambda a: jax.pure_callback(maybe, like(a), a))
        for _ in range(3):
            with self.assertRaisesRegex(KeyError, "the callback's") as caught:
                f(x)
            self.assertRegex(str(caught.exception.__cause__), r"pure_callback at callbacks.py:[0-9]+: the function of Python's raised")
        is_wrong = False
        np.testing.assert_array_equal(f(x), x)

        def leave(a):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            jit(lambda a: jax.debug.callback(leave, a))(x)

    def test_later_calls_do_not_run(self):
        log = []

        def first(a):
            raise ValueError("first")

        def f(a):
            io_callback(first, None, a, ordered=True)
            io_callback(log.append, None, a, ordered=True)
            return a

        with self.assertRaisesRegex(ValueError, "first"):
            jit(f)(x)
        self.assertEqual(log, [])

    def test_the_end_of_a_loop(self):
        log = []

        def third(c):
            log.append(1)
            if len(log) == 3:
                raise IndexError("third")
            return np.asarray(c)

        with self.assertRaisesRegex(IndexError, "third"):
            jit(lambda a: jax.lax.fori_loop(0, 9, lambda i, c: io_callback(third, like(c), c, ordered=True), a))(x)
        self.assertEqual(len(log), 3)

    def test_errors_of_calls_in_calls(self):
        inner = ga.compile("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }", device="cpu")
        # It is not about an argument of the outer call.
        with self.assertRaisesRegex(ga.ArgumentError, "^@main: argument 0 of tensor<4xf32>: given 2 dimensions"):
            jit(lambda a: jax.pure_callback(lambda a: inner.main(np.asarray(a)), like(a), a))(x)

    def test_results_of_another_kind(self):
        for made, why in ((np.zeros((2, 2), "f"), r"result 0 of the function is float32 of \(2, 2\), expected float32 of \(3, 2\)"),
                          (np.zeros((3, 2), "i"), "int32 of .*, expected float32 of"),
                          ((x, x), "returned 2 arrays, expected 1"), (None, "returned 0 arrays, expected 1")):
            with self.assertRaisesRegex(ValueError, "^pure_callback: .*" + why):
                jit(lambda a, made=made: jax.pure_callback(lambda a: made, like(a), a))(x)
        # JAX has no f64 here.
        np.testing.assert_array_equal(jit(lambda a: jax.pure_callback(lambda a: x.astype("d"), like(a), a))(x), x)

    def test_other_errors_of_a_call(self):
        f = jit(lambda a: jax.pure_callback(lambda a: np.asarray(a), like(a), a))
        f(x)
        with self.assertRaises(ga.ArgumentError):
            f("text")

    def test_what_is_refused(self):
        with self.assertRaisesRegex(ga.CompileError, r"debug_callback at callbacks.py:[0-9]+ has no lowering: it has an array of key<fry>"):
            jit(lambda k: jax.debug.callback(print, k))(jax.random.key(0))
        with self.assertRaisesRegex(ga.CompileError, r"debug_callback at callbacks.py:[0-9]+ has no lowering: it has an array of int4"):
            jit(lambda a: jax.debug.callback(print, a.astype("int4")))(x)
        with self.assertRaisesRegex(ga.CompileError, "takes and returns more than 204 arrays"):
            jit(lambda a: jax.debug.callback(lambda *a: None, *[a] * 205))(x)


class Programs(unittest.TestCase):
    """With kernels."""

    def test_between_kernels(self):
        def f(a):
            b = jnp.tanh(a) + 1
            c = jax.pure_callback(lambda b: np.asarray(b) * 2, like(b), b)
            return (c @ c.T).sum() + b.sum(), c

        for _ in range(5):
            got, wanted = jit(f)(x), jax.jit(f)(x)
            np.testing.assert_allclose(got[0], wanted[0], rtol=1e-6)
            np.testing.assert_allclose(got[1], wanted[1], rtol=1e-6)

    def test_while_and_cond(self):
        log = []

        def body(c):
            jax.debug.callback(lambda v: log.append(("body", float(v))), c, ordered=True)
            return jax.lax.cond(c > 1.5, lambda c: (io_callback(lambda v: log.append(("cond", float(v))), None, c, ordered=True), c + 2)[1], lambda c: c + 1, c)

        def test(c):
            jax.debug.callback(lambda v: log.append(("test", float(v))), c, ordered=False)
            return c < 3.5

        f = lambda c: jax.lax.while_loop(test, body, c)
        self.assertEqual(float(jit(f)(np.float32(0))), 4)
        self.assertEqual(log, [("test", 0), ("body", 0), ("test", 1), ("body", 1), ("test", 2), ("body", 2), ("cond", 2), ("test", 4)])

    def test_vmap(self):
        f = jax.vmap(lambda a: jax.pure_callback(lambda a: np.asarray(a) * 2, like(a), a, vmap_method="sequential") + 1)
        np.testing.assert_array_equal(jit(f)(x), x * 2 + 1)
        log = []
        jit(jax.vmap(lambda a: jax.debug.callback(lambda v: log.append(float(v)), a)))(np.arange(3.0))
        self.assertEqual(log, [0, 1, 2])

    def test_unused_and_equal(self):
        log = []

        def f(a):
            call = lambda: jax.pure_callback(lambda a: (log.append(1), np.asarray(a))[1], like(a), a)
            call()  # pure, and nobody reads it
            return call()

        np.testing.assert_array_equal(jit(f)(x), x)
        self.assertEqual(len(log), 1)

    def test_traced_by_jax(self):
        f = jit(lambda a: jax.pure_callback(lambda a: np.asarray(a) * 2, like(a), a))
        np.testing.assert_array_equal(jax.jit(lambda a: f(a) + 1)(x), x * 2 + 1)

    def test_donated(self):
        f = jit(lambda a: jax.pure_callback(lambda a: np.asarray(a) * 2, like(a), a) + a, donate_argnums=0)
        np.testing.assert_array_equal(f(jit(lambda a: a + 1)(x)), (x + 1) * 3)
        np.testing.assert_array_equal(f(x), x * 3)

    def test_with_lapack(self):
        def f(a):
            s = jnp.linalg.svd(a, compute_uv=False)
            jax.debug.callback(seen.append, s)
            return s * 2

        seen = []
        got = jit(f)(x)
        np.testing.assert_allclose(got, np.linalg.svd(x, compute_uv=False) * 2, rtol=1e-5)
        np.testing.assert_allclose(seen[0], np.asarray(got) / 2)

    @unittest.skipUnless(importlib.util.find_spec("diffrax"), "needs diffrax")
    def test_diffrax(self):
        import diffrax

        def solve(y, steps):
            term = diffrax.ODETerm(lambda t, y, arguments: -y)
            return diffrax.diffeqsolve(term, diffrax.Tsit5(), 0, 1, 0.1, y, max_steps=steps,
                                       stepsize_controller=diffrax.PIDController(rtol=1e-5, atol=1e-5)).ys

        y = np.array([1, 2, 3], "f")
        np.testing.assert_allclose(jit(lambda y: solve(y, 4096))(y), [y * np.exp(-1)], rtol=1e-4)
        with self.assertRaisesRegex(RuntimeError, "maximum number of solver steps"):
            jit(lambda y: solve(y, 2))(y)

    @unittest.skipUnless(importlib.util.find_spec("equinox"), "needs equinox")
    def test_equinox(self):
        import equinox

        f = jit(lambda a: equinox.error_if(a, a < 0, "is negative") + 1)
        self.assertEqual(float(f(np.float32(1))), 2)
        with self.assertRaisesRegex(RuntimeError, "is negative"):
            f(np.float32(-1))


if __name__ == "__main__":
    unittest.main()
