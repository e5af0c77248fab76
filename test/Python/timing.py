# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The times of the stages of a compilation.
# RUN: %python %s
import importlib.util
import re
import unittest

import gpu_async as ga

PROGRAM = """
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %r = math.exp %x : tensor<64xf32>
  return %r : tensor<64xf32>
}
"""
ROW = re.compile(r"(  )?(\S.*?) +(\d+\.\d{3}) +(\d+\.\d{3}) +(\d+\.\d) %")


def read(table):
    """The stages of a table, each with its passes: names and CPU seconds."""
    heading, *lines = table.splitlines()
    assert re.fullmatch(r"stage +CPU s +wall s +share", heading), heading
    stages = {}
    for line in lines:
        indent, name, cpu, _, _ = ROW.fullmatch(line).groups()
        if indent:
            list(stages.values())[-1][1][name] = float(cpu)
        else:
            stages[name] = float(cpu), {}
    return stages


class Timing(unittest.TestCase):
    def check(self, stages):
        total, _ = stages.pop("total")
        self.assertAlmostEqual(total, sum(cpu for cpu, _ in stages.values()), delta=0.001 * len(stages))
        for stage in "parsing", "MLIR, to the runtime form", "LLVM's passes", "machine code", "linking":
            self.assertIn(stage, stages)
        return stages

    def test_stages(self):
        stages = self.check(read(ga.compile(PROGRAM, device="cpu", timing="stages").timing))
        self.assertFalse(any(passes for _, passes in stages.values()))

    def test_passes(self):
        stages = self.check(read(ga.compile(PROGRAM, device="cpu", timing="passes").timing))
        for cpu, passes in stages.values():
            self.assertLessEqual(sum(passes.values()), cpu + 0.001 * len(passes) + 0.01)
        self.assertTrue(stages["MLIR, to the runtime form"][1])
        self.assertIn("InstCombinePass", stages["LLVM's passes"][1])

    def test_off(self):
        self.assertEqual(ga.compile(PROGRAM, device="cpu").timing, "")
        self.assertEqual(ga.compile(PROGRAM, device="cpu", timing="off").timing, "")

    def test_refused(self):
        with self.assertRaisesRegex(ga.Error, "option timing=all: expected one of off, stages, passes"):
            ga.compile(PROGRAM, device="cpu", timing="all")

    def test_released(self):
        exe = ga.compile(PROGRAM, device="cpu", timing="stages")
        exe.release()
        with self.assertRaises(ga.Error):
            exe.timing

    @unittest.skipUnless(importlib.util.find_spec("jax"), "it needs jax")
    def test_jit(self):
        import numpy

        @ga.jit(device="cpu", timing="stages")
        def double(x):
            return x + x

        x = numpy.ones(4, "float32")
        stages = self.check(read(double.timing(x)))
        self.assertEqual(list(stages)[:3], ["tracing by JAX", "lowering to linalg", "parsing"])
        with self.assertRaisesRegex(ga.ArgumentError, "was not timed; make it with .*timing=\"stages\""):
            ga.jit(lambda x: x + x, device="cpu").timing(x)


if __name__ == "__main__":
    unittest.main()
