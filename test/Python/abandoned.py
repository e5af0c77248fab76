# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A call that gives up leaves its arrays to the device: they stay alive, later calls
# start behind that work, and there is a way to wait for it.
# The arrays are NumPy's.
# REQUIRES: numpy
# RUN: %python %s
import asyncio
import ctypes
import os
import unittest
import weakref

os.environ["GPU_ASYNC_TIMEOUT"] = "0.2"

import gpu_async as ga
import numpy as np

# @wait ends once x[0] is not 0, and then sets x[1] to 5; @next doubles x[1].
exe = ga.compile("""
func.func @wait(%x: memref<2xi32>) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    %five = arith.constant 5 : i32
    scf.while : () -> () {
      %v = memref.atomic_rmw addi %zero, %x[%c0] : (i32, memref<2xi32>) -> i32
      %again = arith.cmpi eq, %v, %zero : i32
      scf.condition(%again)
    } do {
      scf.yield
    }
    memref.store %five, %x[%one] : memref<2xi32>
    gpu.terminator
  }
  return
}
func.func @next(%x: memref<2xi32>) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %one = arith.constant 1 : index
    %v = memref.load %x[%one] : memref<2xi32>
    %w = arith.addi %v, %v : i32
    memref.store %w, %x[%one] : memref<2xi32>
    gpu.terminator
  }
  return
}
func.func @view(%x: memref<2xi32>) -> memref<2xi32> { return %x : memref<2xi32> }
func.func @out(%x: memref<2xi32>, %y: tensor<2xi32>) -> tensor<2xi32> { return %y : tensor<2xi32> }
""", device="cpu")
TIMEOUT = 8  # GPUASYNC_TIMEOUT


class Owner(np.ndarray):
    """An array that can be referred to weakly."""


def gated():
    return np.zeros(2, "i").view(Owner)


def open_gate(address):
    ctypes.c_int32.from_address(address).value = 1


class Abandoned(unittest.TestCase):
    def setUp(self):
        for _ in range(3):
            exe.next(np.zeros(2, "i"))  # what is loaded once is loaded

    def gives_up(self, call):
        with self.assertRaisesRegex(ga.Error, "timed out after 0.2 s; unfinished: .*uses the memory of the call") as caught:
            call()
        self.assertEqual(caught.exception.code, TIMEOUT)

    def expect_kept(self, call):
        """`call` gives up; the array it is called with stays alive until its work is done."""
        x = gated()
        alive, address = weakref.ref(x), x.ctypes.data
        self.gives_up(lambda: call(x))
        del x
        self.assertIsNotNone(alive())
        with self.assertRaisesRegex(TimeoutError, "unfinished: "):
            ga.wait_abandoned(0.01)
        self.assertIsNotNone(alive())
        open_gate(address)
        ga.wait_abandoned()
        self.assertIsNone(alive())

    def test_arrays_stay(self):
        self.expect_kept(exe.wait)

    def test_arrays_of_tokens_stay(self):
        self.expect_kept(lambda x: exe.wait.start(x).wait())

        async def awaits(x):
            await exe.wait.start(x)

        self.expect_kept(lambda x: asyncio.run(awaits(x)))

    def test_views_keep_their_owners(self):
        x = gated()
        alive, address = weakref.ref(x), x.ctypes.data
        y = exe.view(x)
        del x
        self.gives_up(lambda: exe.wait(y))
        del y
        self.assertIsNotNone(alive())
        open_gate(address)
        ga.wait_abandoned(60)
        self.assertIsNone(alive())

    def test_no_array_is_resized(self):
        data = bytearray(8)
        self.gives_up(lambda: exe.wait(memoryview(data).cast("i")))
        with self.assertRaises(BufferError):
            data.append(1)
        data[0] = 1
        ga.wait_abandoned()
        data.append(1)

    def test_later_calls_start_behind_it(self):
        x, y = gated(), np.array([0, 3], "i")
        self.gives_up(lambda: exe.wait(x))
        for call in lambda: exe.next(x), lambda: exe.next(y), lambda: exe.next.start(x).wait():
            with self.assertRaisesRegex(ga.Error, "an earlier call left behind") as caught:
                call()
            self.assertEqual(caught.exception.code, TIMEOUT)
        self.assertEqual((x[1], y[1]), (0, 3))
        x[0] = 1
        exe.next(x)
        self.assertEqual(x[1], 10)
        ga.wait_abandoned(0)

    def test_a_later_call_lets_go(self):
        x = gated()
        alive = weakref.ref(x)
        self.gives_up(lambda: exe.wait(x))
        x[0] = 1
        del x
        for _ in range(2):  # of what was done when it began
            exe.next(np.zeros(2, "i"))
        self.assertIsNone(alive())

    def test_after_the_release(self):
        mine = ga.compile("""
            func.func @wait(%x: memref<2xi32>) {
              %c1 = arith.constant 1 : index
              gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
                         threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
                %c0 = arith.constant 0 : index
                %zero = arith.constant 0 : i32
                scf.while : () -> () {
                  %v = memref.atomic_rmw addi %zero, %x[%c0] : (i32, memref<2xi32>) -> i32
                  %again = arith.cmpi eq, %v, %zero : i32
                  scf.condition(%again)
                } do {
                  scf.yield
                }
                gpu.terminator
              }
              return
            }""", device="cpu")
        x = gated()
        alive, address = weakref.ref(x), x.ctypes.data
        self.gives_up(lambda: mine.wait(x))
        del x
        mine.release()  # the function that is kept has the code
        del mine
        self.assertIsNotNone(alive())
        open_gate(address)
        ga.wait_abandoned()
        self.assertIsNone(alive())

    def test_wrong_times(self):
        with self.assertRaises(TypeError):
            ga.wait_abandoned("soon")
        ga.wait_abandoned(-1)


unittest.main()
