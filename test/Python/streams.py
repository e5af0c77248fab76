# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What is given as a stream and is none.
# The driver is a fake one, which runs no kernels.
# REQUIRES: mock-cuda
# RUN: env GPU_ASYNC_CUDA_LIBRARY=%mock_cuda %python %s
import unittest

import gpu_async as ga

PROGRAM = "func.func @main(%x: i32) -> i32 { return %x : i32 }"
main = ga.compile(PROGRAM, device="cuda", place="off", stream="caller").main


class Raises:
    @property
    def cuda_stream(self):
        raise KeyboardInterrupt("in the stream")


class Has:
    def __init__(self, cuda_stream):
        self.cuda_stream = cuda_stream


class Protocol:
    def __init__(self, *pair):
        self.pair = pair

    def __cuda_stream__(self):
        return self.pair


class Streams(unittest.TestCase):
    def test_version(self):
        for version in (1, -1, 1 << 70, None, "0"):
            with self.subTest(repr(version)), self.assertRaisesRegex(
                    ga.ArgumentError, "__cuda_stream__ gives version %r of its protocol, and known here is version 0; give" % (version,)):
                main(3, stream=Protocol(version, 0))
        with self.assertRaises(IndexError):
            main(3, stream=Protocol())
        self.assertEqual(main(3, stream=Protocol(0, 0)), 3)

    def test_none(self):
        for wrong in (-1, 1 << 64, True, 1.5, "1", object(), Has(None), Has(-7), Has(False)):
            with self.subTest(repr(wrong)), self.assertRaisesRegex(ga.ArgumentError, "stream is a stream of PyTorch's"):
                main(3, stream=wrong)

    def test_error_of_the_stream(self):
        with self.assertRaisesRegex(KeyboardInterrupt, "in the stream"):
            main(3, stream=Raises())

    def test_of_the_source(self):
        with self.assertRaisesRegex(ga.CompileError, "@f takes the caller's stream .* already; compile the file from before"):
            ga.compile("func.func @f(%x: memref<4xf32>, %s: !llvm.ptr {gpu_async.stream}) { return }", device="cpu")


if __name__ == "__main__":
    unittest.main()
