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

    def test_unsigned(self):
        class Image(torch.nn.Module):
            def forward(self, x):
                return (x * 255).to(torch.uint8), x + 1

        x = torch.tensor([0.0, 0.5, 1.0])
        f = ga.from_torch(Image(), (x,), device="cpu")
        for image, other in f(x), f.start(x).wait():
            self.assertEqual((image.element_type, torch.from_dlpack(image).tolist()), ("ui8", [0, 127, 255]))
            self.assertEqual(other.numpy().tolist(), [1, 1.5, 2])
        self.assertEqual(len(f.results), 2)
        with self.assertRaisesRegex(ga.ArgumentError, "takes 1 arguments"):
            f(x, x)

    def test_integers(self):
        """Those that f32 and f64 do not hold."""
        class Integers(torch.nn.Module):
            def forward(self, x, y):
                return -x, x // y, torch.div(x, 3, rounding_mode="floor"), torch.fmod(x, y), x % y

        x = torch.tensor([2**31 - 1, 2**53 + 1, -(2**62) - 3, 16777217, -7, 7])
        y = torch.tensor([3, 7, -5, 2, 2, -2])
        f = ga.from_torch(Integers(), (x, y), device="cpu")
        for one, other in zip(f(x, y), Integers()(x, y)):
            self.assertEqual(one.numpy().tolist(), other.tolist())

    def test_divisions(self):
        class Divisions(torch.nn.Module):
            def forward(self, x, y):
                return torch.fmod(x, y), x // y, x % y, x.reciprocal()

        x = torch.tensor([1.0, -1.0, 1e6, 7.5, -7.5, 0.0, float("inf"), 5.0])
        y = torch.tensor([0.1, 0.1, 0.3, -2.0, 2.0, 3.0, 2.0, float("inf")])
        f = ga.from_torch(Divisions(), (x, y), device="cpu")
        for one, other in zip(f(x, y), Divisions()(x, y)):
            np.testing.assert_array_equal(one, other.numpy())

    def test_stable(self):
        class Stable(torch.nn.Module):
            def forward(self, x):
                return torch.sort(x, dim=1, stable=True)

        x = torch.randint(0, 3, (4, 50))
        f = ga.from_torch(Stable(), (x,), device="cpu")
        for one, other in zip(f(x), Stable()(x)):
            self.assertEqual(one.numpy().tolist(), other.tolist())

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
