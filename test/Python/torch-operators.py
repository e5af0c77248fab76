# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Operators of the arrays that calls return beside tensors of PyTorch give tensors.
# PyTorch is not among Debian's packages: pip install torch.
# REQUIRES: torch
# RUN: %python %s
import operator
import unittest

import gpu_async as ga
import torch

TYPES = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16, "f16": torch.float16, "i32": torch.int32, "i64": torch.int64}
exe = ga.compile("\n".join("func.func @%s(%%x: tensor<2x2x%s>) -> tensor<2x2x%s> { return %%x : tensor<2x2x%s> }" % ((name,) * 4)
                           for name in TYPES), device="cpu")


class TorchOperators(unittest.TestCase):
    def test_operators(self):
        for name, dtype in TYPES.items():
            x = torch.tensor([[1, 2], [3, 4]], dtype=dtype)
            r = exe[name](x)
            names = "add sub mul truediv floordiv mod pow matmul eq ne lt le gt ge".split()
            for each in names + ["and_", "or_", "xor"] * (name[0] == "i"):
                f = getattr(operator, each)
                for a, b in (r, x), (x, r):
                    got = f(a, b)
                    self.assertIsInstance(got, torch.Tensor, each)
                    self.assertEqual(got.dtype, f(x, x).dtype)
                    self.assertTrue(torch.equal(got, f(x, x)), (name, each))
            self.assertTrue(torch.equal(r * torch.tensor(2, dtype=dtype), x * 2))
        with self.assertRaises(RuntimeError):
            r + torch.ones(3)

    def test_without_a_copy(self):
        r = exe.f32(torch.ones(2, 2))
        y = torch.from_dlpack(r)
        y[0, 0] = 5
        self.assertEqual((r[0, 0], (r + torch.zeros(2, 2))[0, 0].item()), (5, 5))
        for copied in r.copy(), torch.from_dlpack(r).clone():
            self.assertTrue(torch.equal(torch.from_dlpack(copied) if isinstance(copied, ga.Array) else copied, y))

    def test_gradients_go_through_the_tensor(self):
        x = torch.full((2, 2), 3.0, requires_grad=True)
        r = exe.f32(torch.full((2, 2), 2.0))
        (r * x).sum().backward()
        self.assertEqual(x.grad.tolist(), [[2, 2], [2, 2]])


unittest.main()
