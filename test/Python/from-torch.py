# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# gpu_async.from_torch computes what PyTorch does; PyTorch's tensors in and out.
# Neither is among Debian's packages: pip install torch torch-mlir.
# REQUIRES: torch, torch_mlir
# RUN: %python %s
import unittest

import gpu_async as ga
import numpy as np
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last, self.drop = torch.nn.Linear(16, 300), torch.nn.Linear(300, 4), torch.nn.Dropout()

    def forward(self, x, scale):
        h = self.drop(torch.relu(self.first(x)))
        return self.last(h) * scale, h.sum(dim=1)


class Torch(unittest.TestCase):
    def test_module(self):
        net, examples = Net(), (torch.randn(5, 16), torch.randn(4))
        f = ga.from_torch(net, examples, device="cpu")
        got, wanted = f(*examples), net.eval()(*examples)
        for one, other in zip(got, wanted):
            np.testing.assert_allclose(one, other.detach().numpy(), rtol=1e-4, atol=1e-5)

    def test_tensors(self):
        exe = ga.compile("""
            func.func @twice(%x: tensor<?xf32>) -> tensor<?xf32> {
              %r = arith.addf %x, %x : tensor<?xf32>
              return %r : tensor<?xf32>
            }
            func.func @same(%x: memref<4xbf16>) -> memref<4xbf16> { return %x : memref<4xbf16> }""", device="cpu")
        self.assertEqual(torch.from_dlpack(exe.twice(torch.arange(4.0))).tolist(), [0, 2, 4, 6])
        x = torch.arange(4, dtype=torch.bfloat16)
        self.assertEqual(torch.from_dlpack(exe.same(x)).data_ptr(), x.data_ptr())
        with self.assertRaisesRegex(ga.ArgumentError, "requires? grad"):
            exe.twice(torch.ones(3, requires_grad=True))
        out = torch.empty(0)
        with self.assertRaisesRegex(ga.ArgumentError, "given memory, but the function returns its own"):
            exe.twice(torch.arange(4.0), out=out)


unittest.main()
