# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Compilations that take long: what they say, and how they are interrupted.
# RUN: %python %s
import io
import os
import re
import signal
import subprocess
import sys
import threading
import time
import unittest
from unittest import mock

import gpu_async as ga
from gpu_async import _binding

SMALL = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n %r = arith.addf %x, %x : tensor<4xf32>\n return %r : tensor<4xf32>\n}"


def slow(count):
    """A program of so many kernels that differ in their sizes."""
    sizes = [(i % 50 + 3, i + 5) for i in range(count)]
    arguments = ", ".join("%%x%d: tensor<%dx%dxf32>, %%y%d: tensor<%dx%dxf32>" % (i, a, b, i, b, a)
                          for i, (a, b) in enumerate(sizes))
    body = "".join("""
  %%e%d = tensor.empty() : tensor<%dx%dxf32>
  %%f%d = linalg.fill ins(%%zero : f32) outs(%%e%d : tensor<%dx%dxf32>) -> tensor<%dx%dxf32>
  %%p%d = linalg.matmul ins(%%x%d, %%y%d : tensor<%dx%dxf32>, tensor<%dx%dxf32>) outs(%%f%d : tensor<%dx%dxf32>) -> tensor<%dx%dxf32>
""" % (i, a, a, i, i, a, a, a, a, i, i, i, a, b, b, a, i, a, a, a, a) for i, (a, b) in enumerate(sizes))
    types = ", ".join("tensor<%dx%dxf32>" % (a, a) for a, _ in sizes)
    return "func.func @main(%s) -> (%s) {\n  %%zero = arith.constant 0.0 : f32\n%s  return %s : %s\n}" % (
        arguments, types, body, ", ".join("%%p%d" % i for i in range(count)), types)


class Interrupts(unittest.TestCase):
    def setUp(self):
        # A job in the background is started with the signal ignored.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)

    def test_interrupt(self):
        program = slow(200)
        sent = []

        def interrupt():
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(0.5, interrupt)
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            ga.compile(program, device="cpu")
        self.assertLess(time.monotonic() - sent[0], 1)
        # Others are compiled meanwhile.
        self.assertEqual(ga.compile(SMALL, device="cpu").functions, ("main",))
        _binding.wait_compilations()

    def test_handler_that_returns(self):
        heard = []
        before = signal.signal(signal.SIGALRM, lambda *_: heard.append(1))
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            exe = ga.compile(slow(20), device="cpu")
        finally:
            signal.signal(signal.SIGALRM, before)
        self.assertEqual((heard, exe.functions), ([1], ("main",)))

    def test_exit_after_interrupt(self):
        child = subprocess.Popen([sys.executable, "-c", "import gpu_async as ga, signal, sys\n"
                                  "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
                                  "print('begun', flush=True)\nga.compile(sys.stdin.read(), device='cpu')"],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        child.stdin.write(slow(200))
        self.assertEqual(child.stdout.readline(), "begun\n")
        child.stdin.close()
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        said = child.stderr.read()
        self.assertEqual(child.wait(), -signal.SIGINT, said)
        self.assertRegex(said, r"KeyboardInterrupt\n\Z")
        child.stdout.close()
        child.stderr.close()


class Progress(unittest.TestCase):
    def lines(self, program, wanted, terminal=False):
        stream = io.StringIO()
        stream.isatty = lambda: terminal
        with mock.patch.dict(os.environ, {"GPU_ASYNC_PROGRESS": wanted}), mock.patch.object(sys, "stderr", stream):
            ga.compile(program, device="cpu", name="net.mlir")
        return stream.getvalue()

    def test_lines(self):
        begin = time.monotonic()
        said = self.lines(slow(200), "1")
        if time.monotonic() - begin < 3:
            self.skipTest("this machine compiles it in less than three seconds")
        for line in said.splitlines():
            self.assertRegex(line, r"\Agpu_async: compiling net.mlir: [A-Za-z', ]+, \d+ s\Z")
        self.assertRegex(said, r"(?s)\A[^\n]*, 2 s\n.*: done, \d+ s\n\Z")
        self.assertIn("machine code", said)
        self.assertEqual(re.sub(r"\r\x1b\[K(gpu_async: compiling net.mlir: [A-Za-z', ]+, \d+ s)?", "",
                                self.lines(slow(200), "", terminal=True)), "")

    def test_nothing(self):
        self.assertEqual(self.lines(SMALL, "1"), "")
        self.assertEqual(self.lines(SMALL, "", terminal=True), "")


if __name__ == "__main__":
    unittest.main()
