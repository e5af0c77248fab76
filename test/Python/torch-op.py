# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Operators of PyTorch's that gpu_async.torch_op makes: PyTorch's own checks of them, and torch.compile without a graph break.
# PyTorch is not among Debian's packages: pip install torch.
# REQUIRES: torch
# RUN: %python %s
import importlib.util
import threading
import unittest
import warnings

import gpu_async as ga
import torch

ADD = """
func.func @main(%x: tensor<?x3xf32>, %a: f32, %y: tensor<2x3xf32>, %n: i32) -> (tensor<2x3xf32>, tensor<2x3xi1>) {
  %e = tensor.empty() : tensor<2x3xf32>
  %b = tensor.empty() : tensor<2x3xi1>
  %z = tensor.cast %x : tensor<?x3xf32> to tensor<2x3xf32>
  %f = arith.sitofp %n : i32 to f32
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%z, %y : tensor<2x3xf32>, tensor<2x3xf32>) outs(%e, %b : tensor<2x3xf32>, tensor<2x3xi1>) {
  ^bb0(%p: f32, %q: f32, %c: f32, %d: i1):
    %s = arith.mulf %a, %p : f32
    %t = arith.addf %s, %q : f32
    %u = arith.addf %t, %f : f32
    %v = arith.cmpf olt, %p, %q : f32
    linalg.yield %u, %v : f32, i1
  } -> (tensor<2x3xf32>, tensor<2x3xi1>)
  return %r#0, %r#1 : tensor<2x3xf32>, tensor<2x3xi1>
}"""


def unary(type, result=None):
    return ga.compile("func.func @main(%%x: %s) -> %s { return %%x : %s }" % (type, type, type), device="cpu").main


class TorchOp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.main = ga.compile(ADD, device="cpu").main
        cls.op = ga.torch_op(cls.main, "gpu_async_test::add")

    def arguments(self):
        return torch.randn(2, 3), 2.0, torch.randn(2, 3), 3

    def test_pytorchs_checks(self):
        for x, a, y, n in (self.arguments(), (torch.randn(3, 2).T, -1.5, torch.randn(2, 6)[:, ::2], 0)):
            torch.library.opcheck(self.op, (x, a, y, n))
            r, b = self.op(x, a, y, n)
            torch.testing.assert_close(r, a * x + y + n)
            self.assertTrue(torch.equal(b, x < y))
            self.assertIs(torch.ops.gpu_async_test.add.default, self.op._opoverload)

    def test_compiled_without_a_break(self):
        op = self.op

        def model(x, y):
            h = torch.relu(x) + 1
            r, b = op(h, 2.0, y, 3)
            return torch.where(b, r, -r).sum(0)

        x, _, y, _ = self.arguments()
        h = torch.relu(x) + 1
        wanted = torch.where(h < y, 2 * h + y + 3, -(2 * h + y + 3)).sum(0)
        for backend in "eager", "aot_eager", "inductor":
            with self.subTest(backend), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                torch._dynamo.reset()
                compiled = torch.compile(model, fullgraph=True, backend=backend)
                try:
                    got = compiled(x, y)
                except Exception as error:  # pylint: disable=broad-except
                    if backend == "inductor" and ("compiler" in str(error).lower() or "g++" in str(error)):
                        continue  # there is none
                    raise
                torch.testing.assert_close(got, wanted)
                torch.testing.assert_close(compiled(x, y), wanted)
        self.assertEqual(torch._dynamo.explain(model)(x, y).graph_break_count, 0)

    def test_export_and_meta(self):
        class Model(torch.nn.Module):
            def forward(self, x, y):
                return ops(x * 2, 1.0, y, 0)[0]

        ops, (x, _, y, _) = self.op, self.arguments()
        program = torch.export.export(Model(), (x, y))
        self.assertIn("gpu_async_test.add", str(program.graph))
        torch.testing.assert_close(program.module()(x, y), 2 * x + y)
        made = self.op(torch.empty(2, 3, device="meta"), 1.0, torch.empty(2, 3, device="meta"), 1)
        self.assertEqual([each.dtype for each in made], [torch.float32, torch.bool])

    def test_types(self):
        for element, dtype in (("i1", torch.bool), ("i8", torch.int8), ("i16", torch.int16), ("i32", torch.int32), ("i64", torch.int64),
                               ("f16", torch.float16), ("bf16", torch.bfloat16), ("f64", torch.float64),
                               ("complex<f32>", torch.complex64), ("complex<f64>", torch.complex128)):
            op = ga.torch_op(unary("tensor<4x%s>" % element))
            x = torch.arange(-2, 2).to(dtype)
            y = op(x)
            self.assertEqual(y.dtype, dtype)
            self.assertTrue(torch.equal(y, x))
            self.assertNotEqual(y.data_ptr(), x.data_ptr())
        self.assertTrue(torch.equal(ga.torch_op(unary("tensor<4xi8>"))(torch.tensor([1, 2, 3, 250], dtype=torch.uint8)),
                                    torch.tensor([1, 2, 3, -6], dtype=torch.int8)))
        z = torch.tensor([1 + 2j, 3, 4j, 5], dtype=torch.complex64)
        op = ga.torch_op(unary("tensor<4xcomplex<f32>>"))
        self.assertTrue(torch.equal(op(z.conj()), z.conj()))
        op = ga.torch_op(unary("tensor<4xf32>"))
        self.assertTrue(torch.equal(op(z.conj().imag), -z.imag))
        for sizes in (), (0, 3), (1,) * 8:
            x = torch.ones(sizes)
            self.assertTrue(torch.equal(ga.torch_op(unary("tensor<%sf32>" % "".join("%dx" % size for size in sizes)))(x), x))

    def test_wrong_arguments(self):
        x, a, y, n = self.arguments()
        for wrong in ((x[:, :2], a, y, n), (x, a, y[:1], n), (x.double(), a, y, n), (x[0], a, y, n), (x, a, y.bool(), n)):
            with self.assertRaisesRegex(ga.ArgumentError, "gpu_async_test::add: argument [02] of tensor<"):
                self.op(*wrong)
            with self.assertRaisesRegex(Exception, "argument [02] of tensor<"):
                torch._dynamo.reset()
                torch.compile(lambda *arguments: self.op(*arguments), fullgraph=True, backend="eager")(*wrong)
        for wrong in (x, a, y), (x, a, y, n, n), (x, "a", y, n), (1.0, a, y, n):
            with self.assertRaises((RuntimeError, TypeError)):
                self.op(*wrong)
        # Only the elements' call can tell: a size that the program casts.
        with self.assertRaisesRegex(ga.Error, "argument 0"):
            self.op(torch.ones(5, 3), a, y, n)

    def test_gradients_are_an_error(self):
        x, a, y, n = self.arguments()
        x.requires_grad_()
        r, _ = self.op(x, a, y, n)
        with self.assertRaisesRegex(RuntimeError, "autograd"):
            r.sum().backward()

    def test_what_is_no_operator(self):
        def main(text):
            return ga.compile(text, device="cpu").main

        for function, text in (
                (main("func.func @main(%x: memref<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> { return %y : tensor<4xf32> }"),
                 "argument 0 of memref<4xf32> may be written"),
                (main("func.func @main(%x: tensor<4xf32>) { return }"), "has no results"),
                (main("func.func @main(%x: f32) -> f32 { return %x : f32 }"), "result 0 of f32 is no tensor"),
                (main("func.func @main(%x: complex<f32>, %y: tensor<4xf32>) -> tensor<4xf32> { return %y : tensor<4xf32> }"),
                 "take no complex"),
                (unary("tensor<?xf32>"), "sizes that only the call knows")):
            with self.assertRaisesRegex(ga.ArgumentError, text):
                ga.torch_op(function)
        for wrong in (lambda x: x), ga.compile("func.func @main() { return }", device="cpu"), None:
            with self.assertRaisesRegex(TypeError, "takes a function of an Executable"):
                ga.torch_op(wrong)
        for name in "add", "a::b::c", "a::", "a b::c", "":
            with self.assertRaisesRegex(ValueError, "no name of an operator"):
                ga.torch_op(self.main, name)

    def test_threads(self):
        failures = []

        def run(seed):
            try:
                generator = torch.Generator().manual_seed(seed)
                for _ in range(50):
                    x, y = torch.randn(2, 3, generator=generator), torch.randn(2, 3, generator=generator)
                    torch.testing.assert_close(self.op(x, 2.0, y, seed)[0], 2 * x + y + seed)
            except BaseException as error:  # pylint: disable=broad-except
                failures.append(error)

        threads = [threading.Thread(target=run, args=(seed,)) for seed in range(6)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual(failures, [])

    @unittest.skipUnless(importlib.util.find_spec("torch_mlir"), "torch-mlir is not there")
    def test_of_a_module(self):
        module = torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.GELU()).eval()
        x = torch.randn(5, 16)
        op = ga.torch_op(ga.from_torch(module, (x,), device="cpu"))
        with torch.no_grad():
            torch.testing.assert_close(op(x), module(x), rtol=1e-4, atol=1e-5)
            torch.library.opcheck(op, (x,))
            model = torch.compile(lambda x: op(x + 1) * 2, fullgraph=True, backend="aot_eager")
            torch.testing.assert_close(model(x), module(x + 1) * 2, rtol=1e-4, atol=1e-5)

        class Unsigned(torch.nn.Module):
            def forward(self, x):
                return x + x

        x = torch.tensor([1, 2, 120], dtype=torch.uint8)
        self.assertTrue(torch.equal(ga.torch_op(ga.from_torch(Unsigned(), (x,), device="cpu"))(x), x + x))


if __name__ == "__main__":
    unittest.main()
