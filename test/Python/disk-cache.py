# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Programs of gpu_async.compile come from the disk cache in later processes, and are what they were: results, checks of
# arguments, warnings, pictures, given-up memory. Damaged entries and folders that cannot be used change nothing.
# REQUIRES: numpy
# RUN: %python %s
import glob
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

import gpu_async as ga

PROGRAM = """
import gpu_async as ga, numpy as np, sys, warnings
from gpu_async import _binding

def count():
    import os
    return len([name for name in os.listdir(os.environ["GPU_ASYNC_CACHE_DIR"]) if len(name) == 64])
"""
ADD = """
text = '''
func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %r = linalg.add ins(%a, %b : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
func.func @twice(%x: memref<4xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<4xf32>
  %w = arith.addf %v, %v : f32
  memref.store %w, %x[%c0] : memref<4xf32>
  return %w : f32
}'''
exe = ga.compile(text, device="cpu", name="f.mlir")
x, m = np.arange(5, dtype="f"), np.ones(4, "f")
print(exe.functions, exe.main(x, x).numpy().tolist(), exe.twice(m), m.tolist(), exe.main.signature, exe.twice.signature)
print(exe.main.schedule(), exe.schedule("twice").svg, exe.schedule("main").dot, repr(exe.diagnostics))
for call in (lambda: exe.main(x, x[:3]), lambda: exe.main(x, 3), lambda: exe.twice(x), lambda: exe["nope"]):
    try:
        print(call())
    except ga.Error as error:
        print(type(error).__name__, error, error.code)
"""


def run(code, folder, **environment):
    done = subprocess.run([sys.executable, "-c", PROGRAM + textwrap.dedent(code)], capture_output=True, text=True, env={
        **{key: value for key, value in os.environ.items() if key != "GPU_ASYNC_CACHE"}, "GPU_ASYNC_CACHE_DIR": folder, **environment})
    if done.returncode:
        raise AssertionError(done.stderr)
    return done.stdout, done.stderr


def entries(folder):
    return sorted(each for each in glob.glob(os.path.join(folder, "*")) if len(os.path.basename(each)) == 64)


class DiskCache(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        os.chmod(self.folder, 0o700)

    def test_all_of_a_program_is_kept(self):
        wanted, _ = run(ADD, self.folder, GPU_ASYNC_CACHE="off")
        self.assertEqual(entries(self.folder), [])
        self.assertIn("ArgumentError @main: argument 1", wanted)
        self.assertIn("linalg.add at f.mlir:6:8", wanted)
        first, _ = run(ADD, self.folder)
        kept = entries(self.folder)
        self.assertEqual(len(kept), 1)
        # The file gives the program, not a compilation of the text: with other bytes there is another result.
        times = [os.stat(each).st_ino for each in kept]
        second, _ = run(ADD, self.folder)
        self.assertEqual([os.stat(each).st_ino for each in entries(self.folder)], times)
        self.assertEqual(first, wanted)
        self.assertEqual(second, wanted)

    def test_damage_is_a_miss(self):
        wanted, _ = run(ADD, self.folder)
        (kept,) = entries(self.folder)
        with open(kept, "rb") as file:
            whole = file.read()
        for damaged in (b"", whole[:100], whole[:-1], whole[:-200] + bytes(200), whole + b"x",
                        whole[:len(whole) // 2] + bytes([whole[len(whole) // 2] ^ 1]) + whole[len(whole) // 2 + 1:]):
            with open(kept, "wb") as file:
                file.write(damaged)
            self.assertEqual(run(ADD, self.folder)[0], wanted)
            with open(kept, "rb") as file:
                self.assertEqual(file.read(), whole)

    def test_what_decides_is_in_the_key(self):
        code = """
        text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { %r = arith.addf %x, %x : tensor<4xf32> return %r : tensor<4xf32> }"
        other = text.replace("addf", "mulf")
        x = np.full(4, 3, "f")
        seen = set()
        def add(**how):
            program = how.pop("program", text)
            name = how.pop("name", None)
            got = ga.compile(program, device="cpu", name=name, **how).main(x)[0]
            assert got == (6 if "addf" in program else 9), got
            seen.add(count())
        add(), add(opt_level=0), add(opt_level=2), add(program=other), add(name="g.mlir"), add(donate=[0]), add(place="off")
        add(max_streams=1), add(memory="keep"), add(subgroup_size=4), add(offload="error"), add(program=text + "\\n"), add(stream="caller")
        # Each is new, and none is new the second time.
        assert seen == set(range(1, 14)), seen
        add(), add(opt_level=0), add(program=other), add(name="g.mlir"), add(donate=[0])
        assert count() == 13
        """
        run(code, self.folder)

    def test_donation(self):
        code = """
        text = "func.func @main(%x: tensor<4xf32> {gpu_async.donated}) -> tensor<4xf32> { %r = arith.addf %x, %x : tensor<4xf32> return %r : tensor<4xf32> }"
        x = ga.compile(text.replace(" {gpu_async.donated}", ""), device="cpu").main(np.ones(4, "f"))
        place = np.asarray(x).__array_interface__["data"][0]
        y = ga.compile(text, device="cpu").main(x)
        print(np.asarray(y).__array_interface__["data"][0] == place, y.numpy().tolist())
        try:
            np.asarray(x)
        except ga.Error as error:
            print(error)
        """
        first, second = (run(code, self.folder)[0] for _ in range(2))
        self.assertIn("True [4.0, 4.0, 4.0, 4.0]", first)
        self.assertIn("deleted", first)
        self.assertEqual(first, second)

    def test_libraries_that_are_not_there(self):
        code = """
        text = '''func.func private @cos(f64) -> f64
        func.func private @%s() attributes {llvm.emit_c_interface}
        func.func @main(%%x: f64) -> f64 { %%r = func.call @cos(%%x) : (f64) -> f64 return %%r : f64 }''' % "unused"
        print(ga.compile(text, device="cpu", shared_libs=sys.argv[1:] or None).main(0.0))
        try:
            print(ga.compile(text, device="cpu", shared_libs=["/nonexistent/lib.so"]).main(0.0))
        except ga.CompileError as error:
            print(error)
        """
        first, second = (run(code, self.folder)[0] for _ in range(2))
        self.assertIn("1.0\n", first)
        self.assertIn("/nonexistent/lib.so", first)
        self.assertEqual(first, second)

    def test_many_processes_at_once(self):
        wanted, _ = run(ADD, self.folder, GPU_ASYNC_CACHE="off")
        environment = {**{key: value for key, value in os.environ.items() if key != "GPU_ASYNC_CACHE"},
                       "GPU_ASYNC_CACHE_DIR": self.folder}
        processes = [subprocess.Popen([sys.executable, "-c", PROGRAM + ADD], stdout=subprocess.PIPE, text=True, env=environment)
                     for _ in range(6)]
        for process in processes:
            self.assertEqual(process.communicate()[0], wanted)
            self.assertEqual(process.returncode, 0)
        self.assertEqual(len(entries(self.folder)), 1)

    def test_a_folder_that_cannot_be_used_is_one_warning(self):
        wanted, _ = run(ADD, self.folder, GPU_ASYNC_CACHE="off")
        with tempfile.NamedTemporaryFile() as file:
            for folder in file.name, "/proc/nowhere":
                out, err = run(ADD + "\nga.compile(text, device='cpu')\n", folder)
                self.assertEqual(out, wanted)
                self.assertEqual(err.count("CompileWarning"), 1, err)
        os.chmod(self.folder, 0o777)  # others could put programs there
        out, err = run(ADD, self.folder)
        self.assertEqual(out, wanted)
        self.assertEqual(err.count("CompileWarning"), 1, err)
        self.assertEqual(entries(self.folder), [])

    def test_errors_are_not_kept(self):
        code = """
        for _ in range(2):
            try:
                ga.compile("func.func @f() { retrun }", device="cpu", name="f.mlir")
            except ga.CompileError as error:
                print(error)
        """
        first, second = (run(code, self.folder)[0] for _ in range(2))
        self.assertEqual(first.count("f.mlir:1:18"), 2)
        self.assertEqual(first, second)
        self.assertEqual(entries(self.folder), [])

    def test_warnings_are_kept(self):
        code = """
        text = '''func.func @main(%x: tensor<4xf32> {gpu_async.donated}) -> f32 { %c0 = arith.constant 0 : index
          %r = tensor.extract %x[%c0] : tensor<4xf32>
          return %r : f32 }'''
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ga.compile(text, device="cpu")
        print([str(each.message) for each in caught])
        """
        first, second = (run(code, self.folder)[0] for _ in range(2))
        self.assertIn("donated", first)
        self.assertEqual(first, second)
        self.assertEqual(len(entries(self.folder)), 1)

    def test_a_source_is_another_name_of_a_program(self):
        code = """
        text = "func.func @main(%x: f32) -> f32 { %r = arith.%s %x, %x : f32 return %r : f32 }"
        assert _binding.load(b"f", "cpu", b"", b"one") is None
        assert _binding.compile(text.replace("%s", "addf").encode(), b"f", "cpu", b"", b"one", None).main(3.0) == 6
        assert _binding.compile(text.replace("%s", "mulf").encode(), b"f", "cpu", b"", b"two", None).main(3.0) == 9
        for source, wanted in (b"one", 6), (b"two", 9):
            assert _binding.load(b"f", "cpu", b"", source).main(3.0) == wanted
        for name, options, source in (b"g", b"", b"one"), (b"f", b"opt-level=1", b"one"), (b"f", b"", b"on"), (b"f", b"", b""), (b"f", b"", b"one\\0"):
            assert _binding.load(name, "cpu", options, source) is None, (name, options, source)
        # A text is no source.
        ga.compile(text.replace("%s", "subf"), device="cpu", name="f")
        assert _binding.load(b"f", "cpu", b"", text.replace("%s", "subf").encode()) is None
        """
        run(code, self.folder)

    def test_without_a_cache_nothing_is_found(self):
        self.assertEqual(ga._binding.cache_folder(), "")  # of the tests
        self.assertIsNone(ga._binding.load(b"f", "cpu", b"", b"one"))


if __name__ == "__main__":
    unittest.main()
