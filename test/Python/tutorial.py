# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The programs of docs/tutorials/ModelToTimeline.md run, and print what the page shows.
# JAX is not among Debian's packages: pip install jax.
# REQUIRES: jax
# RUN: %python %s
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

page = (pathlib.Path(__file__).resolve().parents[2] / "docs/tutorials/ModelToTimeline.md").read_text()
# Each program, and what the page shows right after it.
programs = {name: (code, shown) for code, name, shown in re.findall(
    r"test/Python/tutorial.py runs it -->\n```python\n(# (\w+\.py)\n.*?)```\n(?:\n<!-- test: skip of the above -->\n```\n(.*?)```\n)?", page, re.S)}


def schedule(text):
    return re.search(r"^@\w+: .*?host waits for s0$", text, re.S | re.M)[0]


class Tutorial(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        for name, (code, _) in programs.items():
            (cls.folder / name).write_text(code)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def run_program(self, name):
        environment = dict(os.environ, GPU_ASYNC_DEVICE="cpu", GPU_ASYNC_CACHE_DIR=str(self.folder / "cache"))
        done = subprocess.run([sys.executable, name], cwd=self.folder, env=environment, text=True, capture_output=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def kernels(self, text):
        """Rows of a profile, without times; of rows with equal times the order is open."""
        return {re.search(r"%\s+(\d+) .*?(\w+) at (\S+)$", line).groups() for line in text.splitlines() if "%" in line}

    def test_calls(self):
        self.assertRegex(self.run_program("first.py"), r"^(\w+ call: \d+\.\d ms\n){3}$")

    def test_results(self):
        got, wanted = (re.sub(r"difference: .*|sums to .*", "", text) for text in (self.run_program("results.py"), programs["results.py"][1]))
        self.assertEqual(got, wanted)

    def test_profile(self):
        self.assertEqual(self.kernels(self.run_program("profiled.py")), self.kernels(programs["profiled.py"][1]))

    def test_picture(self):
        self.assertEqual(self.run_program("picture.py"), programs["picture.py"][1])
        self.assertIn("<svg", (self.folder / "match.svg").read_text())

    def test_trace(self):
        self.run_program("traced.py")
        events = json.loads((self.folder / "match.json").read_text())["traceEvents"]
        self.assertEqual(sum(event.get("cat") == "kernel" for event in events), 60)

    @unittest.skipUnless(importlib.util.find_spec("torch") and importlib.util.find_spec("torch_mlir"), "it needs torch and torch-mlir")
    def test_torch(self):
        got, shown = self.run_program("torch_model.py"), programs["torch_model.py"][1]
        self.assertEqual(schedule(got), schedule(shown))
        self.assertLessEqual(self.kernels(shown), self.kernels(got))


if __name__ == "__main__":
    unittest.main()
