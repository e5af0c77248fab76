# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A call that gives up leaves its arrays to the device: they stay alive, later calls
# start behind that work, and there is a way to wait for it.
# The arrays are NumPy's.
# REQUIRES: numpy
# RUN: %python %s
# RUN: env LD_PRELOAD=%test_no_memory %python %s NoMemory
import array
import asyncio
import ctypes
import os
import sys
import unittest
import weakref

os.environ["GPU_ASYNC_TIMEOUT"] = "0.2"

import gpu_async as ga
import numpy as np

# @wait ends once x[0] is not 0, and then sets x[1] to 5; @number reads %n then; @next
# doubles x[1].
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
func.func @number(%n: tensor<f64>, %x: memref<2xi32>) -> tensor<2xf64> {
  %e = tensor.empty() : tensor<2xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e : tensor<2xf64>) {
  ^bb0(%q: f64):
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0 : i32
    scf.while : () -> () {
      %v = memref.atomic_rmw addi %zero, %x[%c0] : (i32, memref<2xi32>) -> i32
      %again = arith.cmpi eq, %v, %zero : i32
      scf.condition(%again)
    } do {
      scf.yield
    }
    %v = tensor.extract %n[] : tensor<f64>
    linalg.yield %v : f64
  } -> tensor<2xf64>
  return %r : tensor<2xf64>
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

    def test_numbers_stay(self):
        def use_memory(depth=100):
            """Writes to the stack and the heap."""
            lists = [bytearray(b"\xff" * size) for size in range(8, 3000, 8)]
            return sorted(lists, key=len) if depth == 0 else use_memory(depth - 1)

        for call in exe.number, lambda *a, **options: exe.number.start(*a, **options).wait():
            for number in 3.5, 7, True:
                x, y = gated(), np.zeros(2)
                self.gives_up(lambda: call(number, x, out=y))
                use_memory()
                x[0] = 1
                ga.wait_abandoned()
                self.assertEqual(y.tolist(), [number] * 2)

    @unittest.skipIf(sys.version_info < (3, 12), "classes have __buffer__ from Python 3.12 on")
    def test_lent_buffers_stay(self):
        class Lender:
            def __init__(self):
                self.array, self.log = np.zeros(2, "i"), []

            def __buffer__(self, flags):
                self.log.append("lent")
                return memoryview(self.array)

            def __release_buffer__(self, view):
                self.log.append("given back")

        for call in exe.wait, lambda x: exe.wait.start(x).wait():
            x = Lender()
            self.gives_up(lambda: call(x))
            self.assertEqual(x.log, ["lent"])
            x.array[0] = 1
            ga.wait_abandoned()
            self.assertEqual(x.log, ["lent", "given back"])
        x = Lender()
        y = exe.view(x)
        self.assertEqual(x.log, ["lent"])
        del y
        self.assertEqual(x.log, ["lent", "given back"])

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
        with self.assertRaisesRegex(ValueError, "not a number"):
            ga.wait_abandoned(float("nan"))
        ga.wait_abandoned(-1)


@unittest.skipUnless(hasattr(ctypes.PyDLL(None), "fail_new"), "in a process of its own")
class NoMemory(unittest.TestCase):
    def test_to_remember_them(self):
        fail_new = ctypes.PyDLL(None).fail_new
        fail_new.argtypes, fail_new.restype = (ctypes.c_long, ctypes.c_bool), ctypes.c_bool
        wait = exe.wait
        ga.wait_abandoned()
        # The first item of the list, the message.
        for count, remembered in enumerate((False, True)):
            with self.subTest(count):
                x = array.array("i", [0, 0])
                fail_new(count, True)
                try:
                    with self.assertRaises(MemoryError):
                        wait(x)
                finally:
                    failed = fail_new(-1, False)
                self.assertTrue(failed)
                with self.assertRaises(BufferError):  # work goes on to use it
                    x.append(1)
                x[0] = 1
                ga.wait_abandoned()
                self.assertEqual(x.tolist(), [1, 5])
                if remembered:
                    x.append(1)


unittest.main()
