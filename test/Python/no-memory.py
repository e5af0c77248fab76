# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Where C++ or Python has no memory for something small, MemoryError is raised.
# RUN: env LD_PRELOAD=%test_no_memory %python %s
import array
import ctypes
import itertools
import unittest

import gpu_async as ga

try:
    import _testcapi
except ImportError:
    _testcapi = None

TEXT = """
func.func @a_name_that_is_too_long_for_a_short_string(%x: tensor<?xf32>) -> tensor<?xf32> {
  %r = arith.addf %x, %x : tensor<?xf32>
  return %r : tensor<?xf32>
}
func.func @into(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %r = arith.addf %x, %x : tensor<4xf32>
  %s = arith.mulf %x, %x : tensor<4xf32>
  return %r, %s : tensor<4xf32>, tensor<4xf32>
}
func.func @view(%x: memref<?xf32>) -> memref<?xf32> { return %x : memref<?xf32> }
func.func @many(%x: tensor<4xf32>) -> (f32, f32, f32, f32, f32, tensor<4xf32>) {
  %0 = arith.constant 0.0 : f32
  %r = arith.addf %x, %x : tensor<4xf32>
  return %0, %0, %0, %0, %0, %r : f32, f32, f32, f32, f32, tensor<4xf32>
}
"""
LONG = "a_name_that_is_too_long_for_a_short_string"
fail_new = ctypes.PyDLL(None).fail_new
fail_new.argtypes = ctypes.c_long, ctypes.c_bool
fail_new.restype = ctypes.c_bool


class ByDLPack:
    """An array without the buffer protocol."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class NoMemory(unittest.TestCase):
    def setUp(self):
        self.exe = ga.compile(TEXT, device="cpu")
        self.x, self.out = array.array("f", [1, 2, 3, 4]), array.array("f", bytes(16))

    def refuse(self, call):
        """An error that has no memory for its message."""
        try:
            call()
        except ga.Error:
            pass

    def calls(self):
        exe, x, out = self.exe, self.x, self.out
        yield "call", lambda: exe.view(x)
        yield "out", lambda: exe.into(x, out=(out, None))
        yield "many results", lambda: exe.many(x)
        yield "wrong type", lambda: self.refuse(lambda: exe[LONG](array.array("d", [1])))
        yield "wrong format", lambda: self.refuse(lambda: exe.into(array.array("u", "abcd")))
        yield "wrong size", lambda: self.refuse(lambda: exe.into(array.array("f", [1])))
        yield "wrong out", lambda: self.refuse(lambda: exe[LONG](x, out=out))
        yield "wrong object", lambda: self.refuse(lambda: exe.view(self))
        yield "wrong number", lambda: self.refuse(lambda: exe.view(x, x))
        yield "start", lambda: exe.into.start(x, out=(out, None)).wait()
        yield "texts", lambda: (exe.functions, repr(exe), repr(exe[LONG]), dir(exe), exe.diagnostics, exe.device, exe.into.arguments)
        yield "no such function", lambda: (hasattr(exe, LONG + "_too"), self.refuse(lambda: exe[LONG + "_too"]))
        yield "devices", ga.devices
        yield "memory_changed", lambda: self.refuse(lambda: ga.memory_changed(self))
        yield "profile", self.profiled
        yield "wait_abandoned", ga.wait_abandoned

    def profiled(self):
        with ga.profile() as profile:
            self.exe.into(self.x)
        return profile

    def fails(self, count, forever, call):
        """Whether an allocation of C++ failed in the call."""
        fail_new(count, forever)
        try:
            call()
        except (MemoryError, ga.Error):
            pass
        finally:
            failed = fail_new(-1, False)
        return failed

    def test_of_c(self):
        seen = set()
        for name, call in self.calls():
            for forever in False, True:
                for count in itertools.count():
                    with self.subTest(name, count=count, forever=forever):
                        call()
                        if not self.fails(count, forever, call):
                            break
                        seen.add(name)
            # No buffer is left that nobody releases.
            for each in self.x, self.out:
                each.append(0)
                each.pop()
        self.assertEqual({name for name, _ in self.calls()} - seen, {"call", "wait_abandoned"})  # need none

    def test_of_c_in_compile_and_lookup(self):
        for count in itertools.count():
            exes = []
            failed = self.fails(count, False, lambda: exes.append(ga.compile(TEXT, device="cpu")))
            exe = exes[0] if exes else ga.compile(TEXT, device="cpu")
            failed |= self.fails(count, False, lambda: exe[LONG])
            self.assertEqual(exe[LONG].__name__, LONG)
            exe.release()
            if not failed:
                break
        self.assertGreater(count, 1)

    @unittest.skipUnless(_testcapi, "Python has no _testcapi")
    def test_of_python(self):
        x = ByDLPack(self.exe.into(self.x)[0])
        for call in (lambda: self.exe.into(x), lambda: self.exe.into(self.x, out=None), lambda: ga.memory_changed(x), lambda: self.exe.view,
                     lambda: getattr(self.exe, "into")):
            call()
            for count in range(1, 100):
                # Where CPython 3.11 has no frame for a call it has no exception either.
                try:
                    _testcapi.set_nomemory(count, count + 1)
                    call()
                except (MemoryError, SystemError):
                    pass
                finally:
                    _testcapi.remove_mem_hooks()


unittest.main()
