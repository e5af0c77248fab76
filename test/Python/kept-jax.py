# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A function of gpu_async.jit comes from the disk cache in a later process without being lowered, and only if it is the same
# function: other constants, types, options, places of numbers and versions of the lowering make another one.
# REQUIRES: jax
# RUN: %python %s
import glob
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

PROGRAM = """
import functools, os, sys, warnings
import gpu_async as ga, jax, jax.numpy as jnp, numpy as np
from gpu_async.frontends import from_jax, kept, lower_jax
lowered = []
lower = lower_jax.lower
def counted(*arguments, **options):
    lowered.append(arguments)
    return lower(*arguments, **options)
lower_jax.lower = counted
jit = functools.partial(ga.jit, device="cpu")
def check(function, *arguments, **how):
    got, wanted = ga.jit(function, device="cpu", **how)(*arguments), function(*arguments)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        a = np.asarray(a)
        assert a.dtype == b.dtype and a.shape == b.shape, (a.dtype, b.dtype)
        np.testing.assert_allclose(np.asarray(a, "complex128"), np.asarray(b, "complex128"), rtol=1e-4)
"""


def run(code, folder, **environment):
    """Returns what the program prints, and how many functions it has lowered."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + textwrap.dedent(code) + "\nprint(len(lowered))"], capture_output=True, text=True,
        env={**{key: value for key, value in os.environ.items() if key != "GPU_ASYNC_CACHE"}, "GPU_ASYNC_CACHE_DIR": folder,
             "JAX_PLATFORMS": "cpu", **environment})
    if done.returncode:
        raise AssertionError(done.stderr)
    *lines, count = done.stdout.splitlines()
    return lines, int(count)


def entries(folder):
    return [each for each in glob.glob(os.path.join(folder, "*")) if len(os.path.basename(each)) == 64]


class Kept(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        os.chmod(self.folder, 0o700)

    def twice(self, code, lowered, **environment):
        first, count = run(code, self.folder, **environment)
        self.assertEqual(count, lowered)
        second, count = run(code, self.folder, **environment)
        self.assertEqual(count, 0)
        self.assertEqual(first, second)
        return first

    def test_functions_of_all_kinds(self):
        code = """
        x = np.random.default_rng(0).random((6, 5), dtype="f")
        def layer(weights, x):
            h = jnp.tanh(x @ weights["w"] + weights["b"])
            return {"h": h, "sum": h.sum(), "bits": (x > 0.5).astype(jnp.uint8), "half": (h.astype(jnp.bfloat16), x > 0.5)}
        weights = {"w": x.T.copy(), "b": jnp.ones(6)}
        check(layer, weights, x)
        check(jax.grad(lambda w, x: layer(w, x)["sum"]), weights, x)
        check(lambda x: jnp.sort(x, 0), x)
        check(lambda x, n: x * n, x, 3)                     # a number, by value
        check(lambda x, n: jax.lax.fori_loop(0, 3, lambda i, x: x * n, x), x, 2.0)
        check(lambda key: jax.random.normal(jax.random.wrap_key_data(key), (4,)), np.array([1, 2], "uint32"))
        check(lambda x: jnp.fft.fft(x), x)
        check(lambda x: jnp.zeros((0, 3)) + x[:0, :3], x)
        f = jit(layer)
        print(f.schedule(weights, x))
        print(f(weights, x)["h"].numpy().tolist())
        """
        self.twice(code, 8)
        self.assertEqual(len(entries(self.folder)), 8)

    def test_names_are_of_the_program(self):
        code = """
        def two(x):
            return x * 2
        two.__code__ = two.__code__.replace(co_firstlineno=1)
        for name in "one", "other":
            two.__name__ = name
            print(jit(two).schedule(np.ones(3, "f")).name)
        """
        self.assertEqual(self.twice(code, 2), ["one", "other"])

    def test_constants_are_of_the_function(self):
        code = """
        size = 5000  # JAX prints few of such numbers for readers
        for seed in (%s):
            for dtype in "float32", "int32", "bool", "complex64", "bfloat16":
                many = np.random.default_rng(seed).integers(0, 100, size) %% 7
                if dtype == "bool":
                    many = many > 3
                many = jnp.asarray(many).astype(dtype)
                check(lambda x: jnp.where(x > 0, many, many[::-1]), np.arange(size, dtype="f") - 7)
        """
        self.assertEqual(run(code % "0, 1", self.folder)[1], 10)
        # Those of 0 and 1 are there, that of 2 is not.
        self.assertEqual(run(code % "0, 1, 2", self.folder)[1], 5)
        # One element of many.
        code = """
        many = np.zeros(100000, "f")
        many[%d] = 1
        many = jnp.asarray(many)
        assert int(jit(lambda x: jnp.argmax(many + x))(np.float32(0))) == %d
        """
        for place in 50000, 50001, 3:
            self.assertEqual(run(code % (place, place), self.folder)[1], 1)
            self.assertEqual(run(code % (place, place), self.folder)[1], 0)

    def test_types_shapes_and_numbers(self):
        code = """
        f = lambda a, b: (a - b) * 2
        two, five = np.float32(2), jnp.float32(5)
        for a, b in (two, five), (five, two), (five, five), (two, two), (2.0, five), (five, 2), (np.ones(3, "f"), 2):
            check(f, a, b)
        """
        self.twice(code, 7)

    def test_x64_is_another_program(self):
        code = "check(lambda x: x * 2 + jnp.arange(3), np.arange(3.0))"
        self.twice(code, 1)
        self.twice(code, 1, JAX_ENABLE_X64="1")
        self.assertEqual(len(entries(self.folder)), 2)

    def test_static_arguments_and_partial(self):
        code = """
        power = lambda x, n: x ** n
        x = np.arange(1, 5, dtype="f")
        for n in 2, 3:
            assert jit(power, static_argnums=1)(x, n)[1] == 2 ** n
            assert jit(functools.partial(lambda n, x: x + n, n))(x)[1] == 2 + n
        """
        self.twice(code, 4)

    def test_donation_is_of_the_program(self):
        code = """
        def step(cache, row):
            return jax.lax.dynamic_update_slice(cache, row, (1, 0))
        make = jit(lambda: jnp.zeros((3, 4)))
        for how in {}, {"donate_argnums": 0}:
            cache = make()
            place = np.asarray(cache).__array_interface__["data"][0]
            made = jit(step, **how)(cache, np.ones((1, 4), "f"))
            print(np.asarray(made).sum(), np.asarray(made).__array_interface__["data"][0] == place)
            try:
                print(np.asarray(cache).sum())
            except ga.Error as error:
                print(error)
        """
        lines = self.twice(code, 3)
        self.assertEqual(lines[:3], ["4.0 False", "0.0", "4.0 True"])
        self.assertIn("step, a function of gpu_async.jit", lines[3])

    def test_places_are_of_the_function(self):
        # Equal but for their places: errors of the lowering name each its own, in each process.
        code = """
        def one(x):
            return jax.lax.linalg.hessenberg(x)

        one.__name__ = "f"
        def two(x):
            return jax.lax.linalg.hessenberg(x)

        two.__name__ = "f"
        for f in one, two:
            try:
                jit(f)(np.ones((3, 3), "f"))
            except ga.CompileError as error:
                print(error)
        """
        path = os.path.join(tempfile.mkdtemp(), "places.py")
        with open(path, "w") as file:
            file.write(textwrap.dedent(code))
        said = [run("exec(compile(open(%r).read(), %r, 'exec'))" % (path, path), self.folder)[0] for _ in range(2)]
        self.assertEqual(said[0], said[1])
        self.assertIn("places.py:3 ", said[0][0])
        self.assertIn("places.py:7 ", said[0][1])
        self.assertEqual(entries(self.folder), [])

    def test_a_function_that_has_moved_has_its_own_lines(self):
        code = """
        def f(x):
            return jnp.tanh(x @ x)

        with ga.profile() as profile:
            jit(f)(np.ones((8, 8), "f"))
        print([row.place.rpartition("/")[2].split(":")[:2] for row in profile.rows if row.kind == "kernel"], len(lowered))
        """
        path = os.path.join(tempfile.mkdtemp(), "moved.py")
        for count, line in (1, 3), (0, 3), (1, 4):
            with open(path, "w") as file:
                file.write("#\n" * (line - 3) + textwrap.dedent(code))
            said = run("exec(compile(open(%r).read(), %r, 'exec'))" % (path, path), self.folder)
            self.assertEqual(said, (["[['moved.py', '%d']] %d" % (line, count)], count))

    def test_other_versions_make_another_program(self):
        code = """
        %s
        check(lambda x: x + 1, np.ones(3, "f"))
        """
        self.assertEqual(run(code % "", self.folder)[1], 1)
        self.assertEqual(run(code % "", self.folder)[1], 0)
        for change in ("import hashlib; kept._lowering = hashlib.sha256(b'others')",
                       "jax.__version__ = '0.0'; kept._lowering = kept._hash_of_lowering()",
                       "kept._FILES = kept._FILES[1:]; kept._lowering = kept._hash_of_lowering()"):
            self.assertEqual(run(code % change, self.folder)[1], 1)
        # If the files cannot be read, the program is known by what they make.
        for _ in range(2):
            self.assertEqual(run(code % "kept._FILES = ('none',); kept._lowering = kept._hash_of_lowering()", self.folder)[1], 1)
            self.assertEqual(len(entries(self.folder)), 5)

    def test_options_and_names(self):
        code = """
        def f(x):
            return x @ x
        x = np.eye(4, dtype="f")
        for how in {}, {"opt_level": 1}, {"place": "copy"}, {"max_streams": 1}, {"place": "off"}:
            check(f, x, **how)
        g = lambda x: x @ x
        check(g, x)
        """
        # On the CPU device place="copy" is place="device", the default.
        self.twice(code, 5)

    def test_warnings_are_there_again(self):
        code = """
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            jit(lambda x, y: y.sum(), donate_argnums=0)(np.ones(3, "f"), np.ones(4, "f"))
        print([str(each.message) for each in caught], [os.path.basename(each.filename) for each in caught])
        """
        (line,) = self.twice(code, 1)
        self.assertIn("donated", line)

    def test_damage_and_no_cache(self):
        code = "check(lambda x: x * 3, np.ones(3, 'f'))"
        self.assertEqual(run(code, self.folder)[1], 1)
        (kept,) = entries(self.folder)
        with open(kept, "r+b") as file:
            file.seek(-50, 2)
            file.write(b"\xff" * 50)
        self.assertEqual(run(code, self.folder)[1], 1)
        self.assertEqual(run(code, self.folder)[1], 0)
        self.assertEqual(run(code, self.folder, GPU_ASYNC_CACHE="off")[1], 1)


if __name__ == "__main__":
    unittest.main()
