# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Arrays of NumPy and PyTorch on a GPU: where they are, and in which order.
# PyTorch is not among Debian's packages: pip install torch. The device is a GPU.
# REQUIRES: cuda, torch
# RUN: %python %s
import concurrent.futures
import unittest

import gpu_async as ga
import numpy as np
import torch

TENSORS = """
func.func @twice(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %r = arith.addf %x, %x : tensor<256x256xf32>
  return %r : tensor<256x256xf32>
}
"""
MEMREFS = """
func.func @twice(%x: memref<256x256xf32>) {
  linalg.add ins(%x, %x : memref<256x256xf32>, memref<256x256xf32>) outs(%x : memref<256x256xf32>)
  return
}
"""
host = ga.compile(TENSORS, device="cuda")
device = ga.compile(TENSORS, device="cuda", place="off")
same = ga.compile("func.func @same(%x: memref<256x256xf32>) -> memref<256x256xf32> { return %x : memref<256x256xf32> }",
                  device="cuda", place="off")
inPlace = ga.compile(MEMREFS, device="cuda", place="off")


def late(value):
    """A tensor that has its value after much work on the current stream."""
    one, x = torch.eye(4096, device="cuda"), torch.full((4096, 4096), float(value), device="cuda")
    for _ in range(20):
        x = x @ one
    return x[:256, :256].contiguous()


class Cuda(unittest.TestCase):
    def test_host_arrays(self):
        x = np.random.rand(256, 256).astype("f")
        np.testing.assert_array_equal(host.twice(x), x + x)
        self.assertTrue(host.device.startswith("cuda"))

    def test_tensors_on_their_stream(self):
        for _ in range(5):
            with torch.cuda.stream(torch.cuda.Stream()):
                x = late(3)
                y = torch.empty_like(x)
                pointer = y.data_ptr()
                self.assertIs(device.twice(x, out=y), y)
                self.assertEqual(y.data_ptr(), pointer)
                total = y.sum()  # at once, on PyTorch's stream
            self.assertEqual(total.item(), 6 * 65536)

    def test_memory_that_waits_for_its_last_use(self):
        with torch.cuda.stream(torch.cuda.Stream()):
            x = torch.full((256, 256), 2.0, device="cuda")
            y = late(7)  # PyTorch still writes what the call is to write
            device.twice(x, out=y)
        self.assertEqual(y.unique().tolist(), [4])

    def test_memrefs_in_place(self):
        with torch.cuda.stream(torch.cuda.Stream()):
            x = late(5)
            inPlace.twice(x)
            view = same.same(x)
            self.assertEqual(view.__dlpack_device__(), (2, x.device.index))
            back = torch.from_dlpack(view)
            self.assertEqual(back.data_ptr(), x.data_ptr())
            del x, view
            self.assertEqual(back.unique().tolist(), [10])
        view = same.same(back)
        inPlace.twice(back)
        inPlace.twice(view)
        self.assertEqual(back.unique().tolist(), [40])
        with self.assertRaisesRegex(BufferError, "on the device; take it by DLPack"):
            memoryview(view)
        with self.assertRaises(ValueError):
            view.item()

    def test_threads(self):
        def work(seed):
            with torch.cuda.stream(torch.cuda.Stream()):
                for i in range(50):
                    x = torch.full((256, 256), float(seed * 100 + i), device="cuda")
                    y = torch.empty_like(x)
                    device.twice(x, out=y)
                    if not bool((y == 2 * (seed * 100 + i)).all()):
                        return False
            return True

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.assertTrue(all(pool.map(work, range(8))))

    def test_tokens(self):
        x, y = torch.ones(256, 256, device="cuda"), torch.empty(256, 256, device="cuda")
        self.assertIs(device.twice.start(x, out=y).wait(), y)
        self.assertEqual(y.unique().tolist(), [2])

    def test_wrong_places(self):
        x, y = torch.ones(256, 256, device="cuda"), torch.empty(256, 256, device="cuda")
        cpu = ga.compile(TENSORS, device="cpu")
        for use, message in (
                (lambda: cpu.twice(x), "does not run on, which is cpu; move it"),
                (lambda: host.twice(x), "compile with place=off"),
                (lambda: device.twice(np.ones((256, 256), "f"), out=y), "given in host memory"),
                (lambda: device.twice(x), "place=off writes to memory of the device"),
                (lambda: device.twice(x, out=np.ones((256, 256), "f")), "given in host memory"),
                (lambda: device.twice(x, out=x), "its memory overlaps that of argument 0"),
                (lambda: device.twice(x.t(), out=y), None),
                (lambda: device.twice(x[:, ::2], out=y), "given the size 128")):
            if message is None:
                x = torch.rand(256, 256, device="cuda")
                message = "given the stride"
            with self.assertRaisesRegex(ga.ArgumentError, message):
                use()


unittest.main()
