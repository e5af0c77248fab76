# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The GIL is free while a program compiles and runs; tokens; eight threads at once.
# Gates that another thread opens say so: with the GIL held nobody could.
# The arrays are NumPy's.
# REQUIRES: numpy
# RUN: %python %s
import asyncio
import concurrent.futures
import os
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest

import gpu_async as ga
import numpy as np

# @wait returns once x[0] is not 0, and adds 1 to x[1] when it begins.
exe = ga.compile("""
func.func @wait(%x: memref<2xi32>) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %old = memref.atomic_rmw addi %one, %x[%c1] : (i32, memref<2xi32>) -> i32
  %r = scf.while : () -> i32 {
    %v = memref.atomic_rmw addi %zero, %x[%c0] : (i32, memref<2xi32>) -> i32
    %again = arith.cmpi eq, %v, %zero : i32
    scf.condition(%again) %v : i32
  } do {
  ^bb0(%v: i32):
    scf.yield
  }
  return %r : i32
}
func.func @sum(%x: tensor<64xf32>, %y: tensor<64xf32>) -> tensor<64xf32> {
  %r = arith.addf %x, %y : tensor<64xf32>
  return %r : tensor<64xf32>
}
""", device="cpu")


class Gil(unittest.TestCase):
    def test_free_while_a_call_runs(self):
        x = np.zeros(2, "i")
        results = []
        thread = threading.Thread(target=lambda: results.append(exe.wait(x)))
        thread.start()
        while not x[1]:
            pass
        x[0] = 7
        thread.join()
        self.assertEqual(results, [7])

    def test_free_while_a_program_compiles(self):
        # The compiler opens the library, which waits until someone writes to it.
        with tempfile.TemporaryDirectory() as folder:
            gate = os.path.join(folder, "gate.so")
            os.mkfifo(gate)

            def compile():
                with self.assertRaisesRegex(ga.CompileError, "gate.so"):
                    ga.compile("func.func @f() { return }", device="cpu", shared_libs=[gate])
                return True

            with concurrent.futures.ThreadPoolExecutor() as pool:
                compiled = pool.submit(compile)
                open(gate, "w").close()
                self.assertTrue(compiled.result())


class Tokens(unittest.TestCase):
    def test_done_after_the_call(self):
        x = np.zeros(2, "i")
        token = exe.wait.start(x)
        while not x[1]:
            pass
        self.assertFalse(token.done())
        with self.assertRaises(TimeoutError):
            token.wait(0)
        x[0] = 3
        self.assertEqual(token.wait(), 3)
        self.assertTrue(token.done())
        self.assertEqual(token.wait(), 3)  # again

    def test_awaited_together(self):
        gates = [np.zeros(2, "i") for _ in range(5)]

        async def main():
            tokens = [exe.wait.start(gate) for gate in gates]
            while not all(gate[1] for gate in gates):
                await asyncio.sleep(0)
            given_up = asyncio.ensure_future(asyncio.wait_for(tokens[0], 0))
            with self.assertRaises((asyncio.TimeoutError, TimeoutError)):
                await given_up
            for i, gate in reversed(list(enumerate(gates))):
                gate[0] = i + 1
            return await asyncio.gather(*tokens)

        self.assertEqual(asyncio.run(main()), [1, 2, 3, 4, 5])

    def test_wrong_arguments_at_once(self):
        with self.assertRaises(ga.ArgumentError):
            exe.wait.start([0])
        token = exe.sum.start(np.zeros(63, "f"), np.zeros(64, "f"))
        with self.assertRaisesRegex(ga.ArgumentError, "given the size 63"):
            token.wait()

    def test_what_no_thread_is_made_for_does_not_run(self):
        # In a process of its own, which has no thread of the package yet.
        program = textwrap.dedent("""
            import threading
            import gpu_async as ga, numpy as np
            exe = ga.compile('func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {'
                             '%r = arith.addf %x, %x : tensor<4xf32> return %r : tensor<4xf32> }', device="cpu")
            out, start = np.zeros(4, "f"), threading.Thread.start

            def refuse(thread):
                raise RuntimeError("can't start new thread")

            threading.Thread.start = refuse
            try:
                exe.twice.start(np.ones(4, "f"), out=out)
            except ga.Error as error:
                assert error.code == 3 and "no thread" in str(error), error
            else:
                raise SystemExit("it was started")
            threading.Thread.start = start
            # On the same thread, behind what is left of the first.
            assert exe.twice.start(np.full(4, 3, "f")).wait().numpy()[0] == 6
            assert not out.any(), out
            """)
        subprocess.run([sys.executable, "-c", program], check=True)

    def test_arguments_stay_while_it_runs(self):
        data = bytearray(8)
        token = exe.wait.start(memoryview(data).cast("i"))
        with self.assertRaises(BufferError):
            data.append(1)
        data[0] = 1
        self.assertEqual(token.wait(), 1)
        data.append(1)


class Threads(unittest.TestCase):
    def test_eight_on_one_executable(self):
        inside = threading.Barrier(8)

        def work(seed):
            x = np.random.default_rng(seed).random(64, "f")
            y = np.zeros(64, "f")
            inside.wait()
            for i in range(2000):
                y[:] = i
                if i % 2:
                    np.testing.assert_array_equal(exe.sum(x, y), x + y)
                else:
                    exe["sum"](x, y, out=(z := np.empty(64, "f")))
                    np.testing.assert_array_equal(z, x + y)
            return 2000

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertEqual(sum(pool.map(work, range(8))), 16000)

    def test_inside_at_once(self):
        gates = [np.zeros(2, "i") for _ in range(8)]
        threads = [threading.Thread(target=exe.wait, args=(gate,)) for gate in gates]
        for thread in threads:
            thread.start()
        while not all(gate[1] for gate in gates):  # all are in the function
            pass
        for gate in gates:
            gate[0] = 1
        for thread in threads:
            thread.join()

    def test_released_under_a_call(self):
        x = np.zeros(2, "i")
        mine = ga.compile("""
            func.func @wait(%x: memref<2xi32>) -> i32 {
              %c0 = arith.constant 0 : index
              %c1 = arith.constant 1 : index
              %zero = arith.constant 0 : i32
              %one = arith.constant 1 : i32
              %old = memref.atomic_rmw addi %one, %x[%c1] : (i32, memref<2xi32>) -> i32
              %r = scf.while : () -> i32 {
                %v = memref.atomic_rmw addi %zero, %x[%c0] : (i32, memref<2xi32>) -> i32
                %again = arith.cmpi eq, %v, %zero : i32
                scf.condition(%again) %v : i32
              } do {
              ^bb0(%v: i32):
                scf.yield
              }
              return %r : i32
            }""", device="cpu")
        token = mine.wait.start(x)
        while not x[1]:
            pass
        mine.release()
        del mine
        x[0] = 9
        self.assertEqual(token.wait(), 9)

    def test_daemons_at_exit(self):
        program = """
import threading, time
import gpu_async as ga, numpy as np
exe = ga.compile("func.func @view(%x: memref<4xf32>) -> memref<4xf32> { return %x : memref<4xf32> }", device="cpu")
def work():
    while True:
        exe.view(np.ones(4, "f"))
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
"""
        for _ in range(5):
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    @unittest.skipIf(sys.version_info >= (3, 12), "Python refuses such modules itself")
    def test_second_interpreter(self):
        program = """
import gpu_async, _xxsubinterpreters
try:
    _xxsubinterpreters.run_string(_xxsubinterpreters.create(), "import gpu_async")
except _xxsubinterpreters.RunFailedError as error:
    print(error)
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)
        self.assertIn("another interpreter of this process uses gpu_async", done.stdout)


unittest.main()
