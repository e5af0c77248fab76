# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What is wrong is an exception that says what to do.
# The arrays are NumPy's.
# REQUIRES: numpy
# RUN: %python %s
import copy
import os
import pathlib
import pickle
import tempfile
import unittest
import unittest.mock
import warnings

import gpu_async as ga
import numpy as np

PROGRAM = """
func.func @main(%x: tensor<8x4xf32>, %n: i32) -> tensor<8x4xf32> {
  %r = arith.addf %x, %x : tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}
func.func @fill(%x: memref<8xf32>) { return }
func.func @release() -> i32 {
  %r = arith.constant 5 : i32
  return %r : i32
}
func.func @tokens(%t: !gpu.async.token) { return }
"""


class Errors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.exe = ga.compile(PROGRAM, device="cpu", name="test.mlir")
        cls.x = np.zeros((8, 4), "f")

    def refused(self, message, *arguments, function="main", error=ga.ArgumentError):
        with self.assertRaisesRegex(error, message):
            self.exe[function](*arguments)

    def test_arguments(self):
        x = self.x
        self.refused("@main takes 2 arguments, given 1", x)
        with self.assertRaisesRegex(ga.ArgumentError, "@main takes arguments by position, and the keywords out and stream"):
            self.exe.main(x, n=1)
        self.refused(r'argument 0 of tensor<8x4xf32>: given f64, expected f32; convert .*astype\("float32"\)', x.astype("d"), 1)
        self.refused("given 1 dimensions, expected 2; reshape", x.ravel(), 1)
        self.refused("given the size 9 in dimension 0, expected 8$", np.zeros((9, 4), "f"), 1)
        self.refused("given the size 2 in dimension 1, expected 4$", x[:, ::2], 1)
        self.refused("given the size 2 in dimension 1, expected 4$", np.zeros((8, 2), "f", order="F"), 1)
        self.refused("given the size 7 in dimension 0, expected 8$", np.zeros((7, 8), "f")[:, ::2], 1)
        with self.assertRaisesRegex(ga.ArgumentError, "result 0 .*: given the size 7 in dimension 0, expected 8$"):
            self.exe.main(x, 1, out=np.zeros((7, 4), "f"))
        self.refused("given the stride 8 in dimension 1, expected 1; .*ascontiguousarray", np.asfortranarray(x), 1)
        self.refused(r'given a list, expected an array; numpy.asarray\(x, "float32"\)', [1, 2], 1)
        self.refused("given a NoneType, expected an array", None, 1)
        self.refused("elements of the format '>f'", x.astype(">f4"), 1)
        self.refused("elements of the format", np.zeros((8, 4), "U3"), 1)
        self.refused("no multiple of the element's size", np.zeros((8, 4), "f4,i1")["f0"], 1)
        self.refused("argument 1 of i32: 'float' object cannot be", x, 1.5)
        self.refused("argument 1 of i32: 4294967296 is out of the range of i32", x, 2**32)
        self.refused("read-only; pass a copy", np.frombuffer(bytes(32), "f"), function="fill")
        with self.assertRaisesRegex(ga.ArgumentError, "the keywords out and stream"):
            self.exe.main(x, 1, to=x)

    def test_calls_that_cannot_begin(self):
        x = self.x
        for call in (lambda: self.exe.main(x), lambda: self.exe.main.start(x), lambda: self.exe.main(x, 1, n=1),
                     lambda: self.exe.main(x, 1, out=(x, x)), lambda: self.exe["release"](out=x), lambda: self.exe.main(x, 1, stream=0),
                     lambda: self.exe.main.start(x, 1, stream=0)):
            with self.assertRaises(ga.ArgumentError) as caught:
                call()
            self.assertEqual(caught.exception.code, 1)
            self.assertIsInstance(caught.exception, ValueError)
            self.assertIsInstance(caught.exception, TypeError)
            again = pickle.loads(pickle.dumps(caught.exception))
            self.assertEqual((type(again), str(again), again.code), (ga.ArgumentError, str(caught.exception), 1))

    def test_what_goes_wrong_later_is_no_argument(self):
        exe = ga.compile("""
            func.func @f(%x: memref<8xf32>, %n: index) {
              %c1 = arith.constant 1 : index
              gpu.launch blocks(%a, %b, %c) in (%d = %c1, %e = %c1, %f = %c1) threads(%g, %h, %i) in (%j = %n, %k = %c1, %l = %c1) {
                %v = memref.load %x[%g] : memref<8xf32>
                %t = arith.cmpf olt, %v, %v : f32
                cf.assert %t, "never"
                gpu.terminator
              }
              return
            }""", device="cpu", name="test.mlir")
        for size, message, code in ((5000, "block of 5000 .* exceeds the limit of 1024$", 1), (8, "assertion failed .*never", 10)):
            for call in (exe.f, lambda *arguments: exe.f.start(*arguments).wait()):
                with self.assertRaisesRegex(ga.Error, "^test.mlir:.*" + message) as caught:
                    call(np.zeros(8, "f"), size)
                self.assertIs(type(caught.exception), ga.Error)
                self.assertEqual(caught.exception.code, code)

    def test_nothing_is_held_after_an_error(self):
        data = bytearray(128)
        with self.assertRaises(ga.ArgumentError):
            self.exe.main(np.frombuffer(data, "f").reshape(8, 4), "no number")
        with self.assertRaises(ga.ArgumentError):
            self.exe.fill(memoryview(data).cast("i"))
        data.append(1)  # a BufferError while anyone has the buffer

    def test_names(self):
        with self.assertRaisesRegex(AttributeError, "no function @nothing; there are @main"):
            self.exe.nothing
        self.assertFalse(hasattr(self.exe, "nothing"))
        self.assertIn("main", dir(self.exe))
        self.assertEqual(self.exe["release"](), 5)  # a method of that name is in the way
        with self.assertRaisesRegex(ga.Error, "@tokens: .*token"):
            self.exe.tokens
        with self.assertRaises(TypeError):
            self.exe[3]
        self.assertIs(self.exe.main, self.exe["main"])
        self.assertEqual(self.exe.main.arguments, ("tensor<8x4xf32>", "i32"))
        self.assertEqual(self.exe.main.results, ("tensor<8x4xf32>",))
        self.assertEqual(self.exe.main.__name__, "main")

    def test_released(self):
        exe = ga.compile(PROGRAM, device="cpu")
        main = exe.main
        with exe:
            pass
        exe.release()
        for use in (lambda: exe.main, lambda: exe["main"], lambda: exe.device, lambda: exe.functions):
            with self.assertRaisesRegex(ga.Error, "was released; compile the program again"):
                use()
        self.assertIn("released", repr(exe))
        self.assertEqual(main(self.x, 1).shape, (8, 4))  # what is in use goes on

    def test_devices(self):
        """A driver that is not there is explained by what Python has, not by a tool."""
        missing = [each.device for each in ga.devices() if each.why]
        with self.assertRaises(ga.CompileError) as caught:
            ga.compile(PROGRAM, device="gpu")
        text = str(caught.exception)
        self.assertIn("device gpu: 'gpu' is no device", text)
        self.assertEqual(text.count("unavailable (why: gpuasync_device_list; in Python ga.devices())"), len(missing))
        self.assertNotIn("gpu-runner", text)

    def test_threads_that_cannot_be_made(self):
        class Refusing:
            def submit(self, *arguments):
                raise RuntimeError("can't start new thread")

        with unittest.mock.patch.object(ga.tokens, "_threads", Refusing()):
            with self.assertRaisesRegex(ga.Error, r"no thread could be made for the call \(can't start new thread\)") as caught:
                self.exe.main.start(self.x, 1)
        # Its own text says the reason, which a traceback would show again.
        self.assertEqual((caught.exception.__cause__, caught.exception.__suppress_context__), (None, True))

    def test_programs(self):
        with self.assertRaises(ga.CompileError) as caught:
            ga.compile("func.func @f() {\n  retrun\n}", device="cpu", name="f.mlir")
        self.assertEqual(len(caught.exception.diagnostics), 1)
        self.assertRegex(caught.exception.diagnostics[0], "^f.mlir:2:3: error: custom op 'retrun'")
        self.assertEqual(caught.exception.code, 1)
        with self.assertRaises(ga.CompileError) as several:
            ga.compile("func.func @f() { return }\nfunc.func @f() { return }", device="cpu", name="g.mlir")
        self.assertEqual([text.split(": ")[:2] for text in several.exception.diagnostics],
                         [["g.mlir:2:1", "error"], ["g.mlir:1:1", "note"]])
        self.assertEqual(pickle.loads(pickle.dumps(caught.exception)).args, caught.exception.args)
        for program, message in (("", "no public function"), (b"\0\1\2", "<program>"), (b"ML\xefR\1", "<program>")):
            with self.assertRaisesRegex(ga.CompileError, message):
                ga.compile(program, device="cpu")
        # MLIR would name the file <unknown>:0.
        with self.assertRaisesRegex(ga.CompileError, "^error: the name of a public function has a null byte"):
            ga.compile('func.func @"a\\00b"() { return } loc(unknown)', device="cpu")
        with self.assertRaises(TypeError):
            ga.compile(3)
        with self.assertRaisesRegex(ga.CompileError, "option opt-level=7: expected 0, 1, 2 or 3"):
            ga.compile(PROGRAM, device="cpu", opt_level=7)
        with self.assertRaisesRegex(TypeError, "no option 'speed'; the options are .*opt_level"):
            ga.compile(PROGRAM, device="cpu", speed=1)
        with self.assertRaisesRegex(ValueError, "has a space"):
            ga.compile(PROGRAM, device="cpu", shared_libs=["a b.so"])
        with self.assertRaisesRegex(ga.CompileError, "^shared_libs=/gone.so: "):
            ga.compile(PROGRAM, device="cpu", shared_libs=["/gone.so"])
        with self.assertRaisesRegex(ga.CompileError, "@gone is used but defined nowhere; .* with shared_libs= "):
            ga.compile("func.func private @gone()\nfunc.func @f() {\n  call @gone() : () -> ()\n  return\n}", device="cpu")
        with self.assertRaisesRegex(ga.CompileError, "device tpu"):
            ga.compile(PROGRAM, device="tpu")
        with self.assertRaises(ValueError):
            ga.compile(PROGRAM, device="c\0pu")

    def test_warnings(self):
        loop = """func.func @f(%%x: memref<8xf32>) {
  %%c0 = arith.constant 0 : index
  %%c1 = arith.constant 1 : index
  %%c8 = arith.constant 8 : index
  scf.parallel (%%i) = (%%c0) to (%%c8) step (%%c1) {
    %%v = memref.load %%x[%%i] : memref<8xf32>
    memref.store %%v, %%x[%%i] : memref<8xf32>
  }
%s  return
}"""
        launch = """  gpu.launch blocks(%a, %b, %c) in (%d = %c1, %e = %c1, %f = %c1) threads(%g, %h, %j) in (%k = %c8, %l = %c1, %m = %c1) {
    %v = memref.load %x[%g] : memref<8xf32>
    memref.store %v, %x[%g] : memref<8xf32>
    gpu.terminator
  }
"""
        for text, options, message in (
                (loop % "", {"offload": "off"}, "test.mlir:5:3: warning: runs on the host, as all .*\n.*: note: offload=auto"),
                (loop % launch, {}, "test.mlir:5:3: remark: runs on the host: no kernel .*\n.*: note: the function gives")):
            with self.assertWarnsRegex(ga.CompileWarning, "^" + message) as caught:
                exe = ga.compile(text, device="cpu", name="test.mlir", **options)
            self.assertEqual(caught.filename, __file__)
            self.assertEqual(len(caught.warnings), 1)
            self.assertIn(str(caught.warning).splitlines()[0], exe.diagnostics)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", ga.CompileWarning)
                ga.compile(text, device="cpu", name="test.mlir", **options)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ga.compile(loop % "", device="cpu")

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "p.mlir")
            with self.assertRaises(FileNotFoundError):
                ga.compile(path)
            with open(path, "w") as file:
                file.write("func.func @f() { return }")
            self.assertEqual(ga.compile(path, device="cpu").functions, ("f",))
            other = path + ".txt"
            for wrong in (other, "saxpy.mlr", "no/such/saxpy"):
                with self.assertRaisesRegex(FileNotFoundError, "No such file") as caught:
                    ga.compile(wrong, device="cpu")
                self.assertEqual(caught.exception.filename, wrong)
            os.rename(path, other)
            with self.assertRaisesRegex(ValueError, "the name of a file, not a program"):
                ga.compile(other, device="cpu")
            self.assertEqual(ga.compile(pathlib.Path(other), device="cpu").functions, ("f",))
            for text in ("func.func @f() { return } // a/b.c", "// a/b.c", "nothing", '"a.b"() : () -> ()'):
                try:
                    ga.compile(text, device="cpu")
                except ga.CompileError:
                    pass

    def test_names_that_are_no_text(self):
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(os.fsencode(folder), b"\xff.mlir")
            with open(name, "w") as file:
                file.write("func.func @f() { retrun }")
            path = os.fsdecode(name)

            class Path:
                def __fspath__(self):
                    return name

            for given in (path, pathlib.Path(path), Path()):
                with self.assertRaisesRegex(ga.CompileError, "\ufffd.mlir:1:18: error"):
                    ga.compile(given, device="cpu")
            with self.assertRaisesRegex(ga.CompileError, "\ufffd.mlir"):  # no library, but found
                ga.compile("func.func @f() { return }", device="cpu", shared_libs=[path])

    def test_functions_whose_names_are_no_text(self):
        exe = ga.compile('func.func @"f\\FF"() { return }', device="cpu")
        name, = exe.functions
        self.assertEqual(os.fsencode(name), b"f\xff")
        self.assertEqual((exe[name].__name__, exe[name].signature), (name, name + "()"))
        self.assertIn("udcff", repr(exe) + repr(exe[name]).encode("ascii", "backslashreplace").decode())
        self.assertIn(name, dir(exe))
        self.assertFalse(hasattr(exe, "g"))
        self.assertFalse(hasattr(self.exe, "main\0"))
        with self.assertRaisesRegex(ValueError, "null byte"):
            self.exe["main\0"]

    def test_objects_are_made_by_the_package_only(self):
        for make in (ga.Executable, ga.Function, ga.Array, lambda: copy.copy(self.exe), lambda: pickle.dumps(self.exe.main)):
            self.assertRaises(TypeError, make)


unittest.main()
