# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Decompositions in functions of gpu_async.jit: LAPACK computes them, as it does for JAX.
# REQUIRES: jax
# RUN: %python %s
# RUN: %if mock-cuda %{ env GPU_ASYNC_CUDA_LIBRARY=%mock_cuda GPUASYNC_MOCK_EMPTY_KERNELS=1 %python %s Device %}
import os
import sys
import unittest
import unittest.mock
import warnings

import gpu_async as ga
import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np

seed = int(os.environ.get("GPU_ASYNC_TEST_SEED") or np.random.SeedSequence().entropy % 2**32)
print("note: GPU_ASYNC_TEST_SEED=%d" % seed, file=sys.stderr)
linalg = jnp.linalg


class Lapack(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(seed)

    def matrix(self, *shape, dtype="float32"):
        made = self.random.standard_normal(shape)
        if np.dtype(dtype).kind == "c":
            made = made + 1j * self.random.standard_normal(shape)
        return made.astype(dtype)

    def symmetric(self, *batch, n, dtype="float32"):
        made = self.matrix(*batch, n, n, dtype=dtype)
        return made + made.conj().swapaxes(-1, -2)

    def compute(self, f, *arguments):
        """The results of f, which have the types and shapes that JAX's have."""
        made = ga.jit(f, device="cpu")(*arguments)
        wanted = jax.eval_shape(f, *arguments)
        for got, like in zip(jax.tree.leaves(made), jax.tree.leaves(wanted), strict=True):
            self.assertEqual((got.shape, got.dtype), (like.shape, like.dtype))
        return jax.tree.map(np.asarray, made)

    def close(self, got, wanted):
        """Whether results are those of NumPy, or of JAX."""
        wanted = np.asarray(wanted)
        if wanted.dtype.kind not in "fc":
            return np.testing.assert_array_equal(got, wanted)
        exact = np.finfo(np.asarray(got).dtype).eps
        finite = np.abs(wanted[np.isfinite(wanted)])
        scale = max(finite.max() if finite.size else 0, 1)
        np.testing.assert_allclose(got, wanted, rtol=200 * exact, atol=200 * exact * scale)

    def as_jax(self, f, *arguments):
        made, wanted = self.compute(f, *arguments), jax.jit(f)(*arguments)
        for got, other in zip(jax.tree.leaves(made), jax.tree.leaves(wanted), strict=True):
            self.close(got, other)

    def in_types(self):
        for dtype in ("float32", "float64", "complex64", "complex128"):
            with self.subTest(dtype=dtype), jax.enable_x64(dtype in ("float64", "complex128")):
                yield dtype

    SHAPES = (1, 1), (5, 5), (7, 3), (3, 7), (1, 6), (6, 1), (2, 3, 4), (3, 2, 5, 4), (130, 70)

    def test_qr(self):
        for dtype in self.in_types():
            for shape in self.SHAPES:
                a = self.matrix(*shape, dtype=dtype)
                for mode in ("reduced", "complete"):
                    q, r = self.compute(lambda a: linalg.qr(a, mode=mode), a)
                    self.close(q @ r, a)
                    self.close(q.conj().swapaxes(-1, -2) @ q, np.broadcast_to(np.eye(q.shape[-1]), (*shape[:-2], *[q.shape[-1]] * 2)))
                    np.testing.assert_array_equal(r, np.triu(r))
                self.close(np.abs(self.compute(lambda a: linalg.qr(a, mode="r"), a)), np.abs(np.linalg.qr(a, mode="r")))

    def test_pivoted_qr(self):
        for dtype in self.in_types():
            for shape in ((5, 5), (7, 3), (3, 7)):
                a = self.matrix(*shape, dtype=dtype)
                q, r, p = self.compute(lambda a: jsl.qr(a, pivoting=True), a)
                self.close(q @ r, a[:, p])
                self.assertTrue((np.diff(np.abs(np.diagonal(r))) <= 1e-5).all())

    def test_eigh(self):
        for dtype in self.in_types():
            for batch, n in (((), 1), ((), 6), ((3,), 4), ((2, 3), 5), ((), 90)):
                a = self.symmetric(*batch, n=n, dtype=dtype)
                w, v = self.compute(linalg.eigh, a)
                self.close(v * w[..., None, :] @ v.conj().swapaxes(-1, -2), a)
                self.close(w, np.linalg.eigvalsh(a))
                self.close(self.compute(linalg.eigvalsh, a), np.linalg.eigvalsh(a))

    def test_triangles_of_eigh(self):
        a = self.matrix(5, 5)
        for triangle in "LU":
            values = self.compute(lambda a: linalg.eigh(a, UPLO=triangle, symmetrize_input=False)[0], a)
            self.close(values, np.linalg.eigvalsh(a, UPLO=triangle))

    def test_svd(self):
        for dtype in self.in_types():
            for shape in self.SHAPES:
                a = self.matrix(*shape, dtype=dtype)
                wanted = np.linalg.svd(a, compute_uv=False)
                u, s, v = self.compute(lambda a: linalg.svd(a, full_matrices=False), a)
                self.close(u * s[..., None, :] @ v, a)
                self.close(s, wanted)
                u, s, v = self.compute(linalg.svd, a)
                k = s.shape[-1]
                self.close(u[..., :k] * s[..., None, :] @ v[..., :k, :], a)
                self.close(u.conj().swapaxes(-1, -2) @ u, np.broadcast_to(np.eye(u.shape[-1]), u.shape))
                self.close(self.compute(lambda a: linalg.svd(a, compute_uv=False), a), wanted)
        by_qr = lambda a: jax.lax.linalg.svd(a, algorithm=jax.lax.linalg.SvdAlgorithm.QR)
        self.as_jax(by_qr, self.matrix(4, 3))

    def test_eig(self):
        for dtype in self.in_types():
            for shape in ((1, 1), (6, 6), (3, 4, 4)):
                a = self.matrix(*shape, dtype=dtype)
                w, v = self.compute(linalg.eig, a)
                self.close(a @ v, v * w[..., None, :])
                self.close(np.sort_complex(self.compute(linalg.eigvals, a)), np.sort_complex(np.linalg.eigvals(a)))
                w, l = self.compute(lambda a: jax.lax.linalg.eig(a, compute_right_eigenvectors=False), a)
                self.close(l.conj().swapaxes(-1, -2) @ a, w[..., None] * l.conj().swapaxes(-1, -2))

    def test_schur(self):
        for dtype in self.in_types():
            a = self.matrix(5, 5, dtype=dtype)
            t, z = self.compute(jsl.schur, a)
            self.close(z @ t @ z.conj().T, a)

    def test_empty(self):
        for shape in ((0, 0), (0, 3), (3, 0), (0, 3, 2), (2, 0, 3)):
            a = np.zeros(shape, "f")
            self.as_jax(linalg.svd, a)
            self.as_jax(lambda a: linalg.svd(a, compute_uv=False), a)
            self.as_jax(linalg.qr, a)
            self.as_jax(lambda a: linalg.qr(a, mode="complete"), a)
            if shape[-1] == shape[-2]:
                self.as_jax(linalg.eigh, a)
                self.as_jax(linalg.eig, a)
        self.as_jax(linalg.eigh, np.zeros((0, 3, 3), "f"))
        self.as_jax(linalg.eig, np.zeros((0, 3, 3), "f"))

    def test_matrices_without_answer(self):
        nothing, singular = np.full((4, 4), np.nan, "f"), np.ones((4, 4), "f")
        both = np.stack([singular, nothing, self.symmetric(n=4)])
        for a in (nothing, singular, both, np.full((4, 4), np.inf, "f")):
            self.as_jax(linalg.eigvalsh, a)
            self.as_jax(lambda a: linalg.svd(a, compute_uv=False), a)
            self.as_jax(linalg.eigvals, a)
            self.as_jax(linalg.inv, a)
            self.as_jax(linalg.det, a)
        self.assertTrue(np.isnan(self.compute(linalg.eigh, both)[1][1]).all())
        self.assertFalse(np.isnan(self.compute(linalg.eigh, both)[1][2]).any())
        self.assertTrue(np.isnan(self.compute(linalg.cholesky, -np.eye(3, dtype="f"))).any())

    def test_what_builds_on_them(self):
        a, s, b = self.matrix(7, 4), self.matrix(4, 4), self.matrix(7)
        spd = s @ s.T + np.eye(4, dtype="f")
        for f, *arguments in (
            (lambda a, b: linalg.lstsq(a, b), a, b), (linalg.pinv, a), (linalg.matrix_rank, a), (linalg.cond, s),
            (linalg.matrix_rank, np.ones((4, 4), "f")), (lambda a: linalg.norm(a, ord=2), a), (lambda a: linalg.norm(a, ord="nuc"), a),
            (linalg.slogdet, s), (linalg.solve, s, b[:4].copy()), (linalg.inv, s), (linalg.det, s), (linalg.cholesky, spd),
            (jsl.polar, s), (jsl.expm, s / 4), (lambda a: linalg.matrix_power(a, -2), spd),
            (lambda: jax.random.orthogonal(jax.random.key(seed), 5),),
            (lambda a, s, b: (linalg.eigvalsh(a), linalg.cholesky(a), linalg.solve(s, b)), spd, s, b[:4].copy()),
        ):
            self.as_jax(f, *arguments)

    def test_transformed(self):
        a, spd = self.matrix(5, 3), np.diag(np.arange(1, 5)).astype("f") + self.symmetric(n=4) / 9
        self.as_jax(jax.grad(lambda a: linalg.eigvalsh(a)[-1]), spd)
        self.as_jax(jax.grad(lambda a: linalg.svd(a, compute_uv=False).sum()), a)
        self.as_jax(jax.grad(lambda a: jnp.abs(linalg.qr(a)[1]).sum()), a)
        self.as_jax(jax.vmap(linalg.eigvalsh), np.stack([spd, spd + 1]))
        step = lambda c, _: (c @ c / linalg.norm(c, ord=2), linalg.eigvalsh(c))
        self.as_jax(lambda a: jax.lax.scan(step, a, None, length=4), spd)
        self.as_jax(lambda a: jax.lax.while_loop(lambda a: linalg.norm(a, ord=2) > 0.1, lambda a: a / 2, a), spd)
        self.as_jax(lambda p, a: jax.lax.cond(p, linalg.eigvalsh, lambda a: a[0], a), np.array(True), spd)
        self.as_jax(lambda p, a: jax.lax.cond(p, linalg.eigvalsh, lambda a: a[0], a), np.array(False), spd)
        donated = ga.jit(lambda a: linalg.qr(a)[0], device="cpu", donate_argnums=0)
        given = ga.jit(lambda a: a + 0, device="cpu")(a)
        self.close(donated(given), jax.jit(lambda a: linalg.qr(a)[0])(a))

    def test_no_library(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # nothing is said on the cpu device
            self.compute(linalg.eigvalsh, self.symmetric(n=3))
        with unittest.mock.patch.dict(os.environ, GPU_ASYNC_LAPACK_LIBRARY="/not/there.so"):
            from gpu_async.frontends import from_jax

            from_jax._provide_lapack.cache_clear()
            with self.assertRaisesRegex(ga.CompileError, "calls LAPACK, of which there is none here: tried /not/there.so"):
                ga.jit(linalg.eigvalsh, device="cpu")(self.symmetric(n=3))
        from_jax._provide_lapack.cache_clear()
        self.compute(linalg.eigvalsh, self.symmetric(n=3))


class Device(unittest.TestCase):
    """On a fake driver, which runs no kernels: functions that only copy and call LAPACK."""

    def setUp(self):
        if "mock_cuda" not in os.environ.get("GPU_ASYNC_CUDA_LIBRARY", ""):
            self.skipTest("needs the fake driver")

    def test_by_way_of_the_host(self):
        random = np.random.default_rng(seed)
        a, s = random.standard_normal((2, 5, 3)).astype("f"), random.standard_normal((4, 4)).astype("f")
        for place in ("device", "copy"):
            with self.assertWarnsRegex(ga.CompileWarning, r"gesdd at lapack.py:[0-9]+ runs on the host: by LAPACK"):
                svd = ga.jit(lambda a: linalg.svd(a, full_matrices=False), device="cuda", place=place)
                u, values, v = map(np.asarray, svd(a))
            np.testing.assert_allclose(u * values[:, None, :] @ v, a, atol=1e-5)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ga.CompileWarning)
                eigh = ga.jit(lambda s: linalg.eigh(s, symmetrize_input=False), device="cuda", place=place)
                w, v = eigh(s)
                np.testing.assert_allclose(w, np.linalg.eigvalsh(s), atol=1e-5)
                # Results on the device are arguments, and the order is kept.
                for _ in range(3 if place == "device" else 0):
                    np.testing.assert_allclose(np.asarray(svd(ga.jit(lambda a: a, device="cuda")(a))[1]), values, atol=1e-5)
                self.assertEqual(w.__dlpack_device__()[0], 2 if place == "device" else 1)


if __name__ == "__main__":
    unittest.main()
