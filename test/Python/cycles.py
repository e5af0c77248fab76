# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Python's collector finds cycles through arrays, calls, tokens and executables.
# The arrays are NumPy's.
# REQUIRES: numpy
# RUN: %python %s
import gc
import random
import unittest
import weakref

import gpu_async as ga
import numpy as np

exe = ga.compile("""
func.func @view(%x: memref<?xf32>) -> memref<?xf32> { return %x : memref<?xf32> }
func.func @both(%x: memref<?xf32>, %y: memref<?xf32>) -> (memref<?xf32>, memref<?xf32>) {
  return %x, %y : memref<?xf32>, memref<?xf32>
}
func.func @twice(%x: tensor<?xf32>) -> tensor<?xf32> {
  %r = arith.addf %x, %x : tensor<?xf32>
  return %r : tensor<?xf32>
}
""", device="cpu")


class Owner(np.ndarray):
    """An array with attributes."""


def owner(size=4):
    return np.ones(size, "f").view(Owner)


class Cycles(unittest.TestCase):
    def setUp(self):
        gc.collect()
        gc.disable()

    tearDown = staticmethod(gc.enable)

    def expect_collected(self, *objects):
        """They are alive, and only the collector finds that nobody needs them."""
        references = [weakref.ref(each) for each in objects]
        del objects
        yield
        self.assertTrue(all(each() is not None for each in references))
        gc.collect()
        self.assertEqual([each() for each in references], [None] * len(references))

    def test_a_view_of_its_owner(self):
        a = owner()
        a.v = exe.view(a)
        check = self.expect_collected(a)
        next(check)
        del a
        next(check, None)

    def test_several_views(self):
        a, b = owner(), owner()
        a.v, b.v = exe.both(a, b)
        a.w = a.v.view("i32")
        check = self.expect_collected(a, b)
        next(check)
        del a, b
        next(check, None)

    def test_a_token(self):
        a = owner()
        a.t = exe.view.start(a)
        a.t.wait()
        check = self.expect_collected(a)
        next(check)
        del a
        next(check, None)

    def test_a_call_that_never_runs(self):
        from unittest import mock
        a = owner()
        with mock.patch("gpu_async.tokens.start", lambda call: call):
            a.call = exe.both.start(a, np.ones(4, "f"))
            a.other = exe.twice.start(a)
        check = self.expect_collected(a)
        next(check)
        del a
        next(check, None)

    def test_an_executable(self):
        class Name(str):
            pass

        mine = ga.compile("func.func @f() { return }", device="cpu")
        name = Name("f")
        name.executable = mine
        mine[name]
        check = self.expect_collected(name)
        next(check)
        del mine, name
        next(check, None)

    def test_what_is_used_stays(self):
        a = owner()
        a.v = exe.view(a)
        alive = weakref.ref(a)
        taken = np.from_dlpack(a.v)  # a consumer of DLPack's
        buffer = memoryview(a.v)
        other = a.v.view("i32")
        del a
        for _ in range(3):
            gc.collect()
            self.assertIsNotNone(alive())
            self.assertEqual(taken.tolist(), [1] * 4)
            self.assertEqual(other.numpy().view("f").tolist(), [1] * 4)
        del taken
        gc.collect()
        self.assertEqual(buffer.tolist(), [1] * 4)
        del buffer
        gc.collect()
        self.assertIsNotNone(alive())
        del other
        gc.collect()
        self.assertIsNone(alive())

    def test_results_of_the_library_need_no_collector(self):
        y = exe.twice(np.ones(4, "f"))
        self.assertFalse(gc.is_tracked(y))

    def test_random_ones(self):
        rng = random.Random(7)
        gc.enable()
        before = gc.get_threshold()
        gc.set_threshold(1 + rng.randrange(50), 2, 2)
        try:
            alive, references = [], []
            each = other = None
            for _ in range(3000):
                a, b = owner(rng.randrange(8)), owner(rng.randrange(8))
                a.v, b.v = exe.both(a, b)
                for each in rng.choices((a, b), k=rng.randrange(4)):
                    other = rng.choice((a, b))
                    setattr(each, rng.choice("pqr"), rng.choice((other, other.v, other.v.view("i32"))))
                if rng.random() < 0.3:
                    alive.append(rng.choice((a.v, b.v, a, np.asarray(b.v))))
                references += [weakref.ref(a), weakref.ref(b)]
                a = b = each = other = None
                if len(alive) > 20:
                    alive.pop(rng.randrange(20))
                for each in alive:
                    self.assertTrue((np.asarray(each) == 1).all())
                each = None
            alive.clear()
            gc.collect()
            self.assertFalse([each for each in references if each() is not None])
        finally:
            gc.set_threshold(*before)


unittest.main()
