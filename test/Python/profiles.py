# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Traces and profiles of calls.
# The arrays are NumPy's.
# REQUIRES: numpy
# RUN: %python %s
import json
import os
import resource
import sys
import tempfile
import threading
import unittest

import gpu_async as ga
import numpy as np

exe = ga.compile("""
func.func @products(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %p = linalg.matmul ins(%x, %x : tensor<64x64xf32>, tensor<64x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %p : tensor<64x64xf32>
}""", device="cpu")
x = np.ones((64, 64), "f")


class Profiles(unittest.TestCase):
    def test_rows(self):
        with ga.profile() as profile:
            for _ in range(3):
                exe.products(x)
            self.assertEqual(profile.rows, [])
        kernels = [row for row in profile.rows if row.kind == "kernel"]
        self.assertEqual(sum(row.launches for row in kernels) % 3, 0)
        self.assertTrue(kernels and all(row.calls >= 3 and row.least_ns <= row.most_ns <= row.total_ns for row in kernels))
        self.assertEqual({row.name for row in kernels}, {"matmul_64x64x64"})
        self.assertIn("matmul_64x64x64 at <program>:", str(profile))
        self.assertTrue(all(row.place.startswith("<program>:") and row.place in str(profile) for row in kernels))
        self.assertIn("share", str(profile))
        exe.products(x)  # nobody looks any more
        with ga.profile() as none:
            pass
        self.assertEqual(none.rows, [])
        str(none)

    def test_picture(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "t.svg")
            with ga.trace(file):
                exe.products(x)
            with open(file) as text:
                picture = text.read()
            self.assertTrue(picture.startswith("<svg ") and "@products on cpu" in picture and ">s0<" in picture)
            with self.assertRaisesRegex(ValueError, "no call of a function"):
                with ga.trace(file):
                    pass
            with self.assertRaisesRegex(ValueError, r"t\.png: a picture is \.svg"):
                with ga.trace(os.path.join(folder, "t.png")):
                    pass
        with self.assertRaises(FileNotFoundError):
            with ga.trace("/nowhere/at/all.svg"):
                self.fail()

    def test_trace(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "trace.json")
            with ga.trace(file):
                exe.products(x)
                with self.assertRaisesRegex(ga.Error, "trace"):  # one at a time
                    with ga.profile():
                        pass
            with open(file) as text:
                read = json.load(text)
        events = read["traceEvents"] if isinstance(read, dict) else read
        self.assertTrue(any("matmul_64x64x64" in str(event.get("name")) for event in events))
        with self.assertRaisesRegex(ga.Error, "nowhere"):
            with ga.trace("/nowhere/at/all.json"):
                pass

    def test_pipe(self):
        # Its reader needs the GIL: with the GIL held neither would go on.
        with tempfile.TemporaryDirectory() as folder:
            pipe = os.path.join(folder, "pipe")
            os.mkfifo(pipe)
            read, go = [], threading.Event()
            # A pipe that nobody reads is refused.
            end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            os.set_blocking(end, True)

            def reader():
                go.wait()
                with open(end) as text:
                    read.append(json.load(text))

            thread = threading.Thread(target=reader)
            interval = sys.getswitchinterval()
            thread.start()
            sys.setswitchinterval(100)  # the reader goes on when the GIL is given up
            try:
                with ga.trace(pipe):
                    go.set()
                    exe.products(x)
            finally:
                sys.setswitchinterval(interval)
            thread.join()
            self.assertTrue(read[0]["traceEvents"])

    def test_names(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(os.fsencode(folder), b"\xff.json")
            with ga.trace(file):
                pass
            self.assertTrue(os.path.exists(file))
            with self.assertRaisesRegex(ValueError, "null byte"):
                with ga.trace(os.path.join(folder, "half\0rest")):
                    pass
            self.assertEqual(os.listdir(os.fsencode(folder)), [b"\xff.json"])

    def test_rows_whose_names_are_no_text(self):
        # A loop of the program's own becomes a kernel that is named after the function.
        twice = ga.compile('func.func @"f\\FF"(%x: memref<4xf32>) {\n'
                           "%0 = arith.constant 0 : index\n%1 = arith.constant 1 : index\n%4 = arith.constant 4 : index\n"
                           "scf.parallel (%i) = (%0) to (%4) step (%1) {\n%v = memref.load %x[%i] : memref<4xf32>\n"
                           "%w = arith.addf %v, %v : f32\nmemref.store %w, %x[%i] : memref<4xf32>\n}\nreturn }",
                           device="cpu", name=b"\xff.mlir")
        with ga.profile() as profile:
            twice[twice.functions[0]](np.ones(4, "f"))
        self.assertTrue(any(row.name.startswith("f\udcff") for row in profile.rows))
        str(profile)

    def test_ends_after_an_exception(self):
        with self.assertRaises(KeyError):
            with ga.profile():
                raise KeyError
        with ga.profile():
            pass

    def test_one_at_a_time(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "t.json")
            for outer in (ga.profile, lambda: ga.trace(file)):
                for inner in (ga.profile, lambda: ga.trace(os.path.join(folder, "u.json"))):
                    with outer() as profile:
                        exe.products(x)
                        with self.assertRaisesRegex(ga.Error, "^a gpu_async.trace or gpu_async.profile is running already; there is one at a time: "
                                                    "leave its `with` first, or leave out GPU_ASYNC_TRACE$") as caught:
                            with inner():
                                self.fail("it began")
                        self.assertEqual(caught.exception.code, 1)
                    if profile:
                        self.assertTrue(profile.rows)  # the outer one goes on
            with ga.profile():
                pass

    def test_exception_and_a_file_that_is_not_written(self):
        def full():
            exe.products(x)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1, limits[1]))

        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "trace.json")
            try:
                with self.assertRaises(KeyError) as caught:
                    with ga.trace(file):
                        full()
                        raise KeyError
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)
                with self.assertRaisesRegex(ga.Error, "trace.json"):
                    with ga.trace(file):
                        full()
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        self.assertRegex(caught.exception.__notes__[0], "The end of the trace failed, too: .*trace.json")

    def test_forked_children_leave_it_to_the_parent(self):
        def in_child(body, make):
            """How a child that is forked in the body of a trace ends."""
            with make() as made:
                pid = os.fork()
                if pid:
                    exe.products(x)
                else:
                    body()
            if pid:
                return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), made
            os._exit(5 if made is None or made.rows == [] else 6)

        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "trace.json")
            for make in (lambda: ga.trace(file)), ga.profile:
                parent = os.getpid()
                for body, code in (lambda: None, 5), (lambda: sys.exit(0), 0), (lambda: sys.exit(7), 7):
                    with self.subTest(make=make, code=code):
                        try:
                            ended, made = in_child(body, make)
                        except BaseException as error:
                            if os.getpid() == parent:
                                raise
                            os._exit(error.code if isinstance(error, SystemExit) else 1)
                        self.assertEqual(ended, code)
                        self.assertTrue(made is None or made.rows)
            with open(file) as text:
                self.assertTrue(any("matmul_64x64x64" in str(event.get("name")) for event in json.load(text)["traceEvents"]))


unittest.main()
