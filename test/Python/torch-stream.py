# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Calls on PyTorch's stream: nothing is copied and nobody waits. The stream is held
# by a gate, which only the thread that calls opens.
# PyTorch is not among Debian's packages: pip install torch. The device is a GPU.
# REQUIRES: cuda, torch
# RUN: %python %s
import ctypes
import unittest

import gpu_async as ga
import torch

PROGRAM = """
func.func @twice(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %r = arith.addf %x, %x : tensor<256x256xf32>
  return %r : tensor<256x256xf32>
}
func.func @products(%x: tensor<256x256xf32>, %w: tensor<256x256xf32>) -> (tensor<256x256xf32>, tensor<256x256xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256x256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<256x256xf32>) -> tensor<256x256xf32>
  %p = linalg.matmul ins(%x, %w : tensor<256x256xf32>, tensor<256x256xf32>) outs(%f : tensor<256x256xf32>) -> tensor<256x256xf32>
  %q = linalg.matmul ins(%p, %w : tensor<256x256xf32>, tensor<256x256xf32>) outs(%f : tensor<256x256xf32>) -> tensor<256x256xf32>
  %r = linalg.matmul ins(%w, %x : tensor<256x256xf32>, tensor<256x256xf32>) outs(%f : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %q, %r : tensor<256x256xf32>, tensor<256x256xf32>
}
func.func @inPlace(%x: memref<256x256xf32>) {
  linalg.add ins(%x, %x : memref<256x256xf32>, memref<256x256xf32>) outs(%x : memref<256x256xf32>)
  return
}
func.func @same(%x: memref<256x256xf32>) -> memref<256x256xf32> { return %x : memref<256x256xf32> }
"""
exe = ga.compile(PROGRAM, device="cuda", place="off", stream="caller")
driver = ctypes.CDLL("libcuda.so.1")


class Gate:
    """Holds PyTorch's current stream until it is opened."""

    def __init__(self, held):
        self.held = held
        if not held:
            return
        self.flag = torch.zeros(1, dtype=torch.int32).pin_memory()
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        atLeast = 0
        assert driver.cuStreamWaitValue32_v2(stream, ctypes.c_uint64(self.flag.data_ptr()), 1, atLeast) == 0

    def open(self):
        if self.held:
            ctypes.c_int32.from_address(self.flag.data_ptr()).value = 1


def filled(value):
    return torch.full((256, 256), float(value), device="cuda")


def free_and_held(test):
    """Runs a test several times before the stream is held: what is used first, by
    whomever, is loaded, which waits for the device."""

    def run(self):
        for held in [False] * 8 + [True]:
            test(self, held)
            torch.cuda.synchronize()

    return run


class Stream(unittest.TestCase):
    @free_and_held
    def test_nobody_waits(self, held):
        with torch.cuda.stream(torch.cuda.Stream()):
            stream = torch.cuda.current_stream()
            x, y = filled(0), filled(0)
            gate = Gate(held)
            x.fill_(3)
            for _ in range(5):
                self.assertIs(exe.twice(x, out=y, stream=stream), y)
                exe.inPlace(y, stream=stream.cuda_stream)
                x.copy_(y)
                x.mul_(0.25)
            total = y.sum()
            if held:
                self.assertFalse(stream.query())  # all of it is behind the gate
            gate.open()
            self.assertEqual(total.item(), 12 * 65536)

    @free_and_held
    def test_several_streams_inside(self, held):
        with torch.cuda.stream(torch.cuda.Stream()):
            x, w = torch.rand(256, 256, device="cuda"), torch.rand(256, 256, device="cuda")
            q, r = filled(0), filled(0)
            later = torch.rand(256, 256, device="cuda")
            gate = Gate(held)
            x.copy_(later)
            exe.products(x, w, out=(q, r), stream=torch.cuda.current_stream())
            x.zero_()  # after it was read
            gate.open()
            torch.testing.assert_close(q, later @ w @ w, rtol=2e-3, atol=1e-2)
            torch.testing.assert_close(r, w @ later, rtol=2e-3, atol=1e-2)

    @free_and_held
    def test_views(self, held):
        with torch.cuda.stream(torch.cuda.Stream()):
            x = filled(1)
            gate = Gate(held)
            exe.inPlace(x, stream=torch.cuda.current_stream())
            view = exe.same(x, stream=torch.cuda.current_stream())
            back = torch.from_dlpack(view)
            with torch.cuda.stream(torch.cuda.Stream()):
                with self.assertRaisesRegex(BufferError, "still being written"):
                    torch.from_dlpack(view)
            gate.open()
            self.assertEqual((back.data_ptr(), back.unique().tolist()), (x.data_ptr(), [2]))

    def test_in_a_graph(self):
        x, y = filled(1), filled(0)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            exe.twice(x, out=y, stream=torch.cuda.current_stream())
            y += 1
        for value in (5, 7):
            x.fill_(value)
            graph.replay()
            self.assertEqual(y.unique().tolist(), [2 * value + 1])


unittest.main()
