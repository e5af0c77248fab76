# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# In a child of fork everything refuses, and nothing waits for threads that are the parent's.
# The arrays are NumPy's.
# REQUIRES: numpy
# RUN: %python %s
import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import traceback
import unittest

import gpu_async as ga
import numpy as np

TEXT = """
func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = arith.addf %x, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}
func.func @view(%x: memref<4xf32>) -> memref<4xf32> { return %x : memref<4xf32> }
"""
exe = ga.compile(TEXT, device="cpu")
x = np.ones(4, "f")


def in_child(body):
    """Runs it in a forked child; the exit code, or minus the signal."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)  # a hang ends it
        code = 1
        try:
            body()
            code = 3
        except BaseException:
            traceback.print_exc()
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class Fork(unittest.TestCase):
    def refuses(self, call):
        with self.assertRaisesRegex(ga.Error, "forked") as caught:
            call()
        self.assertEqual(caught.exception.code, 9)
        self.assertIn('start the worker by spawn (multiprocessing.get_context("spawn"))', str(caught.exception))

    def expect(self, body):
        self.assertEqual(in_child(body), 3)

    def test_everything_refuses(self):
        exe.twice.start(x).wait()  # so that there is a thread

        def body():
            self.refuses(lambda: exe.twice(x))
            self.refuses(lambda: exe.twice.start(x).wait())
            self.refuses(lambda: exe.twice.start(x).wait(5))
            self.assertRaisesRegex(ga.Error, "forked", ga.compile, TEXT, device="cpu")
            self.refuses(lambda: ga.wait_abandoned(1))

            async def awaits():
                await exe.twice.start(x)

            self.refuses(lambda: asyncio.run(awaits()))
            token = exe.twice.start(x)
            while not token.done():
                pass
            self.refuses(token.wait)

        self.expect(body)
        self.assertEqual(exe.twice(x).shape, (4,))

    def test_tokens_of_the_parent(self):
        began, end = threading.Event(), threading.Event()

        from gpu_async import tokens

        class Held:
            @staticmethod
            def run():
                began.set()
                end.wait()
                return exe.twice(x)

        running = tokens.start(Held)
        began.wait()
        ended = exe.twice.start(x)
        ended.wait()

        def body():
            for token in running, ended:
                self.assertTrue(token.done())
                self.refuses(token.wait)
                self.refuses(lambda: token.wait(1))

                async def awaits():
                    await token

                self.refuses(lambda: asyncio.run(awaits()))

        self.expect(body)
        end.set()
        self.assertEqual(running.wait().shape, (4,))

    def test_forked_by_another_thread(self):
        # Threads are in start() all the time, so that one has its lock now and then.
        stop = threading.Event()

        def work():
            while not stop.is_set():
                exe.twice.start(x).wait()

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(20):
                self.expect(lambda: self.refuses(lambda: exe.twice.start(x).wait()))
        finally:
            stop.set()
            for thread in threads:
                thread.join()

    def test_what_there_was_goes(self):
        y = exe.view(x)

        def body():
            global exe
            self.assertEqual(y.numpy().tolist(), [1] * 4)
            exe.release()
            exe = None
            gc.collect()

        self.expect(body)

    def test_the_child_ends_as_others(self):
        program = """
import os, sys
import gpu_async as ga, numpy as np
exe = ga.compile("func.func @view(%x: memref<4xf32>) -> memref<4xf32> { return %x : memref<4xf32> }", device="cpu")
x = np.ones(4, "f")
y = exe.view.start(x).wait()
pid = os.fork()
if not pid:
    try:
        exe.view.start(x).wait()
    except ga.Error as error:
        sys.exit(5 if "forked" in str(error) else 6)
    sys.exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
        done = subprocess.run([sys.executable, "-W", "ignore::DeprecationWarning", "-c", program], capture_output=True, text=True, timeout=100)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "5\n", ""))


unittest.main()
