# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# gpu_async.jit with donated arguments computes what JAX computes of arguments that nobody gives up.
# Random functions, and those that are known to be difficult; results are the next call's arguments.
# REQUIRES: jax
# RUN: %python %s
import functools
import random
import unittest
import warnings

import gpu_async as ga
import jax
import jax.numpy as jnp
import numpy as np

S = (6, 4)


def address(array):
    return np.asarray(array).__array_interface__["data"][0]


def numpy_of(tree):
    return jax.tree_util.tree_map(lambda a: np.array(a), tree)


def run(test, f, args, donated, steps=4, feed=None, **options):
    """Calls f again and again with donated arguments that are Arrays. `feed` gives the next call's donated arguments of
    a result. Returns the addresses of the donated arguments and of the results, by step."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ga.CompileWarning)
        ours, theirs = ga.jit(f, device="cpu", donate_argnums=donated, **options), jax.jit(f)
        made = ga.jit(lambda *a: a, device="cpu")
        args, places = list(args), []
        mine = list(args)
        for step in range(steps):
            for place, fresh in zip(donated, made(*[mine[place] for place in donated])):
                mine[place] = fresh
            before = [address(mine[place]) for place in donated]
            got, wanted = ours(*mine), theirs(*args)
            for a, b in zip(jax.tree_util.tree_leaves(got), jax.tree_util.tree_leaves(wanted), strict=True):
                np.testing.assert_allclose(np.array(a), np.asarray(b), rtol=2e-5, atol=1e-5)
            for place in donated:
                with test.assertRaisesRegex(ga.Error, "has been deleted"):
                    np.asarray(mine[place])
            places.append((before, [address(a) for a in jax.tree_util.tree_leaves(got)]))
            for place, a, b in zip(donated, *((feed or (lambda r: r))(tree) for tree in (got, wanted))):
                mine[place], args[place] = a, np.array(b)
    return places


class Random:
    """A function of two caches, a row and a position: updates of parts, elementwise ones, reads before and behind."""

    def __init__(self, seed):
        self.seed = seed

    def __call__(self, k, l, row, n):
        choose = random.Random(self.seed)
        tensors, rows = [k, l], [row]
        for i in range(choose.randrange(2, 8)):
            at = choose.randrange(len(tensors)) if choose.random() < 0.4 else len(tensors) - 1 - choose.randrange(2)
            t, r = tensors[at], choose.choice(rows)
            p = choose.choice([n, (n + 1) % 6, 0, 5])
            kind = choose.randrange(14)
            if kind < 4:
                tensors.append(jax.lax.dynamic_update_slice(t, r, (p, 0)))
            elif kind == 4:
                tensors.append(t - 0.5 * choose.choice(tensors))
            elif kind == 5:
                tensors.append(jnp.tanh(t) + r)
            elif kind == 6:
                rows.append(jax.lax.dynamic_slice(t, (p, 0), (1, 4)))
            elif kind == 7:
                rows.append(t.sum(0, keepdims=True) / 6)
            elif kind == 8:
                tensors.append(t.at[::2].add(r))
            elif kind == 9:
                def body(c, i):
                    return jax.lax.dynamic_update_slice(c, c[i][None] * 0.5 + r, (5 - i, 0)), c[i].sum()
                c, s = jax.lax.scan(body, t, jnp.arange(4))
                tensors.append(c)
                rows.append(s[None])
            elif kind == 10:
                tensors.append(jax.lax.fori_loop(0, n % 3, lambda i, c: c.at[i].set(c[i + 1] - r[0]), t))
            elif kind == 11:  # rows, or columns, go to another place of the same array
                tensors.append(jax.lax.dynamic_update_slice(t, *choose.choice(
                    [(t[1:], (0, 0)), (t[:-1], (p, 0)), (t[:, 1:], (0, 0)), (t[:-1, :-1], (1, 1)), (t[2:4], (n, 0))])))
            elif kind == 12:
                tensors.append(jnp.roll(t, choose.choice([1, -1]), choose.randrange(2)))
            else:
                tensors.append(t[::-1] * 0.5)
        results = [choose.choice(tensors[-4:]) for _ in range(2)]
        if choose.random() < 0.5:
            results.append(choose.choice(rows))
        if choose.random() < 0.2:
            results.append(choose.choice(tensors))
        return tuple(results)


def arguments():
    choose = np.random.default_rng(5)
    return [choose.random(S, "float32") for _ in range(2)] + [choose.random((1, 4), "float32"), np.int32(2)]


class Values(unittest.TestCase):
    def test_random_functions(self):
        taken = 0
        for seed in range(60):
            for donated in ((0,), (0, 1)) if seed % 3 else ((1,),):
                with self.subTest(seed=seed, donated=donated):
                    chosen = Random(seed)

                    def f(k, l, row, n):
                        return chosen(k, l, row, n)

                    feed = lambda r: r[:2] if donated != (1,) else r[1:2]  # noqa: E731
                    for before, after in run(self, f, arguments(), donated, steps=3, feed=feed):
                        taken += len({*before} & {*after})
        # Else the test would be of copies alone.
        self.assertGreater(taken, 100)

    def check_taken(self, f, args, donated, count, **options):
        for before, after in run(self, f, args, donated, **options):
            self.assertEqual(len({*before} & {*after}), count)

    def test_elements_in_place(self):
        big = np.random.default_rng(1).random((300, 70), "float32")
        for shape in ((300, 70), (129,), (7, 13), (33, 17), (1, 5), (1000,), (3, 5, 66), ()):
            w = np.random.default_rng(2).random(shape, "float32")
            self.check_taken(lambda w, g: w - 0.1 * jnp.tanh(g), (w, w), (0,), 1, feed=lambda r: (r,))
        self.check_taken(lambda w, m, g: (w - 0.1 * (0.9 * m + g), 0.9 * m + g), (big, big * 2, big), (0, 1), 2)

    def test_elements_from_elsewhere(self):
        big = np.random.default_rng(1).random((64, 64), "float32")
        for f in (lambda w: w.T * 2, lambda w: w[::-1] + 1, lambda w: w - w.mean(0), lambda w: w @ w * 0.01,
                  lambda w: w + jnp.roll(w, 1, 0), lambda w: jax.nn.softmax(w, 1), lambda w: w + w[3],
                  lambda w: jnp.sort(w, 0), lambda w: jnp.cumsum(w, 0) * 0.01, lambda w: w[jnp.arange(63, -1, -1)]):
            run(self, f, (big,), (0,), feed=lambda r: (r,))

    def test_a_cache_in_a_loop(self):
        def f(k, n):
            def body(state):
                i, c = state
                return i + 1, jax.lax.dynamic_update_slice(c, c[:1] + i, (i, 0))
            return jax.lax.while_loop(lambda s: s[0] < n, body, (jnp.int32(0), k))[1]
        self.check_taken(f, (np.ones(S, "float32"), np.int32(5)), (0,), 1, feed=lambda r: (r,))

    def test_a_hundred_steps_of_a_cache(self):
        @functools.partial(ga.jit, device="cpu", donate_argnames=("cache",))
        def step(row, n, cache):
            old = jax.lax.dynamic_slice(cache[0], (n, 0), (1, 4))
            k = jax.lax.dynamic_update_slice(cache[0], row, (n, 0))
            v = jax.lax.dynamic_update_slice(cache[1], old, (n, 0))
            return (k, v), (k * v).sum(1)
        k, v, wanted = np.ones(S, "float32"), np.zeros(S, "float32"), None
        cache, places = (k.copy(), v.copy()), set()
        for i in range(100):
            row = np.full((1, 4), i, "float32")
            cache, total = step(row, np.int32(i % 6), cache=cache)
            v[i % 6], k[i % 6] = k[i % 6].copy(), i
            np.testing.assert_array_equal(np.array(cache[0]), k)
            np.testing.assert_array_equal(np.array(cache[1]), v)
            np.testing.assert_allclose(np.array(total), (k * v).sum(1))
            places.add(tuple(map(address, cache)))
        self.assertEqual(len(places), 1)

    def test_which_arguments(self):
        def f(a, b, *, c):
            return a + b, b * c
        x = np.ones(3, "float32")
        make = ga.jit(lambda x: x * 1.0, device="cpu")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ga.CompileWarning)
            for options, gone in (({"donate_argnums": 0}, "a"), ({"donate_argnames": "b"}, "b"), ({"donate_argnums": -1}, "b"),
                                  ({"donate_argnames": ["a", "c"]}, "ac"), ({"donate_argnums": (0, 1)}, "ab"),
                                  ({"donate_argnums": 1, "static_argnums": 0}, "b")):
                g = ga.jit(f, device="cpu", **options)
                given = {each: make(x) for each in "abc"}
                if "static_argnums" in options:
                    given["a"] = 2.0
                g(given["a"], given["b"], c=given["c"])
                for each in "abc":
                    if each in gone:
                        with self.assertRaisesRegex(ga.Error, "donated to f, a function of gpu_async.jit"):
                            np.asarray(given[each])
                    else:
                        np.asarray(given[each])
        for options, error, text in (({"donate_argnums": 5}, ValueError, "donate_argnums=.*2 arguments by position"),
                                     ({"donate_argnames": "d"}, ValueError, "donate_argnames=.*no argument"),
                                     ({"donate_argnums": "a"}, TypeError, "donate_argnums is an integer"),
                                     ({"donate_argnums": 0, "static_argnums": 0}, ValueError, "static and donated")):
            with self.assertRaisesRegex(error, text):
                ga.jit(f, device="cpu", **options)


if __name__ == "__main__":
    unittest.main()
