# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Pictures of what functions do, as notebooks show them.
# RUN: %python %s
import os
import pathlib
import pickle
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

import gpu_async as ga

FUNCTION = """
func.func @%s(%%x: tensor<4xf32>) -> tensor<4xf32> {
  %%r = arith.addf %%x, %%x : tensor<4xf32>
  return %%r : tensor<4xf32>
}
"""
PHOTO = pathlib.Path(__file__).resolve().parents[2] / "examples/photo/photo.mlir"
one = ga.compile(FUNCTION % "main", device="cpu")


class Schedules(unittest.TestCase):
    def test_formats(self):
        schedule = one.schedule()
        self.assertIsInstance(schedule, ga.Schedule)
        self.assertEqual(schedule.name, "main")
        self.assertRegex(schedule.text, r"\A@main: \d+ ops? on 1 stream, .*\nid +s0\n")
        self.assertEqual(str(schedule) + "\n", schedule.text)
        self.assertRegex(repr(schedule), r"\A<gpu_async.Schedule of @main: \d+ ops? on 1 stream, .* host wait>\Z")
        self.assertTrue(schedule.dot.startswith('digraph "main" {'))
        # What Jupyter asks for.
        root = ElementTree.fromstring(schedule._repr_svg_())
        self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
        self.assertEqual(root.get("viewBox"), "0 0 %s %s" % (root.get("width"), root.get("height")))
        self.assertEqual(pickle.loads(pickle.dumps(schedule)).svg, schedule.svg)

    def test_of_functions(self):
        two = ga.compile(FUNCTION % "a" + FUNCTION % "schedule", device="cpu")
        self.assertEqual(two.schedule("a").text, two.a.schedule().text)
        self.assertEqual(two.schedule(function="schedule").name, "schedule")
        self.assertEqual(two["schedule"].schedule().name, "schedule")
        with self.assertRaisesRegex(ga.Error, "several functions; say of which: @a, @schedule"):
            two.schedule()
        with self.assertRaisesRegex(ga.Error, "no function @b; there are @a, @schedule"):
            two.schedule("b")
        with self.assertRaises(TypeError):
            two.schedule(2)

    def test_is_of_what_was_compiled(self):
        def photo(**options):
            return str(ga.compile(PHOTO, device="cpu", **options).schedule("photo"))

        self.assertIn(" on 3 streams, ", photo())
        self.assertIn(" on 1 stream, ", photo(max_streams=1))
        self.assertRegex(photo(stream="caller"), r"\nid +caller0 ")

    def test_outlives_the_program(self):
        exe = ga.compile(FUNCTION % "main", device="cpu")
        main, schedule = exe.main, exe.schedule()
        exe.release()
        self.assertEqual(main.schedule().text, schedule.text)
        with self.assertRaisesRegex(ga.Error, "released"):
            exe.schedule()

    def test_files(self):
        schedule = one.schedule()
        with tempfile.TemporaryDirectory() as folder:
            for name, text in ("s.svg", schedule.svg), ("s.dot", schedule.dot), ("s.txt", schedule.text), ("s", schedule.text), ("t.SVG", schedule.svg), (b"s\xff.svg", schedule.svg):
                file = os.path.join(os.fsencode(folder), os.fsencode(name))
                schedule.save(file)
                with open(file, encoding="utf-8") as written:
                    self.assertEqual(written.read(), text)
            for name in "s.png", "s.PDF":
                file = os.path.join(folder, name)
                with self.assertRaisesRegex(ValueError, "is saved as .svg, as .dot, or else as text; graphviz"):
                    schedule.save(file)
                self.assertFalse(os.path.exists(file))
            with self.assertRaises(FileNotFoundError):
                schedule.save(os.path.join(folder, "none", "s.svg"))

    def test_names_that_are_no_text(self):
        exe = ga.compile('func.func @"f\\FF"(%x: tensor<4xf32>) -> tensor<4xf32> {\n'
                         "%r = arith.addf %x, %x : tensor<4xf32>\nreturn %r : tensor<4xf32> }", device="cpu")
        schedule = exe.schedule()
        self.assertEqual(schedule.name, "f\udcff")
        self.assertTrue(schedule.text.startswith("@f?: "))
        ElementTree.fromstring(schedule.svg)

    def test_lowered_programs_have_none(self):
        exe = ga.compile("llvm.func @main() { llvm.return }", device="cpu")
        with self.assertRaisesRegex(ga.Error, "@main has no schedule: the program was lowered already"):
            exe.schedule()


unittest.main()
