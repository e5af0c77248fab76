# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# gpu_async.jit(f, mesh=mesh) computes what JAX does on four fake devices of the CPU.
# JAX is not among Debian's packages: pip install jax.
# REQUIRES: jax
# RUN: %python %s
import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
import unittest

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import gpu_async as ga
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AbstractMesh, AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

mesh = jax.make_mesh((2, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
a = np.random.default_rng(1).standard_normal((8, 8)).astype("f")
b = np.random.default_rng(2).standard_normal((8, 4)).astype("f")


def shard(body, ins, outs, **options):
    return jax.shard_map(body, mesh=mesh, in_specs=ins, out_specs=outs, check_vma=False, **options)


class OnMesh(unittest.TestCase):
    def check(self, f, *args, tolerance=1e-5):
        wanted, got = jax.jit(f)(*args), ga.jit(f, mesh=mesh)(*args)
        self.assertEqual(jax.tree.structure(got), jax.tree.structure(wanted))
        for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(wanted)):
            other = np.asarray(other)
            self.assertIsInstance(one, np.ndarray)
            self.assertEqual((one.shape, one.dtype), (other.shape, other.dtype))
            if one.dtype.kind in "biu":
                np.testing.assert_array_equal(one, other)
            else:
                wide = np.complex128 if one.dtype.kind == "c" else np.float64
                np.testing.assert_allclose(one.astype(wide), other.astype(wide), rtol=tolerance, atol=tolerance)

    def test_collectives(self):
        def body(a, b):
            return (
                lax.psum(a @ b, "y") + lax.axis_index("x"),
                lax.pmean(a, ("x", "y")),
                lax.pmax(a, "x"),
                lax.all_gather(a, "y", axis=1, tiled=True),
                lax.all_gather(a, "y"),
                lax.psum_scatter(a, ("x", "y"), scatter_dimension=0, tiled=True),
                lax.ppermute(a, "x", [(0, 1)]),
                lax.all_to_all(a, "x", 0, 1, tiled=True),
                lax.pmin(b, "x"),
            )

        self.check(
            shard(body, (P("x", "y"), P("y")),
                  (P("x"), P(), P(None, "y"), P("x"), P(None, "x", "y"), P(("x", "y")), P("x", "y"), P("x", "y"), P("y"))), a, b)

    def test_specs(self):
        for ins, outs in ((P(), P()), (P("x"), P("x")), (P(None, "x"), P("x")), (P(("x", "y")), P(None, ("x", "y"))),
                          (P(("y", "x"), None), P(("x", "y"))), (P("y", "x"), P("x", "y"))):
            with self.subTest(ins=ins, outs=outs):
                axes = tuple(axis for axis in ("x", "y") if axis not in str(outs))
                self.check(shard(lambda a: lax.psum(a * 2, axes) if axes else a * 2, ins, outs), a)

    def test_types(self):
        both = lambda body: shard(body, P("x"), P())
        for dtype in "int8", "uint8", "int32", "uint32":
            numbers = (a * 100).astype("int32").astype(dtype)
            self.check(both(lambda a: (lax.psum(a, ("x", "y")), lax.pmax(a, ("x", "y")), lax.pmin(a, ("x", "y")))), numbers)
        self.check(shard(lambda a: lax.all_gather(a, "x", tiled=True), P("x"), P()), a > 0)
        self.check(both(lambda a: lax.psum(a, "x")), a + 1j * a)
        self.check(both(lambda a: lax.psum(a, "x")), a.astype(jnp.bfloat16), tolerance=2e-2)
        self.check(shard(lambda a, s: a * s, (P("x"), P()), P("x")), a, 3.0)
        self.check(shard(lambda a: lax.psum(a, "x"), P("x"), P()), np.zeros((4, 0), "f"))

    def test_trees_and_names(self):
        f = shard(lambda d: {"sum": lax.psum(d["a"], "x"), "b": d["b"]}, ({"a": P("x"), "b": P(None, "y")},),
                  {"sum": P(), "b": P(None, "y")})
        self.check(f, {"a": a, "b": b})
        named = lambda a, *, scale: shard(lambda a, s: a * s, (P("x"), P()), P("x"))(a, scale)
        np.testing.assert_allclose(ga.jit(named, mesh=mesh)(a, scale=np.float32(2)), a * 2)

    def test_control_flow(self):
        self.check(shard(lambda x: lax.fori_loop(0, 3, lambda i, v: v + lax.psum(v, "x") * 0.1, x), P("x"), P("x")), a)
        self.check(shard(lambda x: lax.while_loop(lambda v: lax.psum((v * v).sum(), ("x", "y")) > 1, lambda v: v * lax.pmean(
            jnp.float32(0.7), "x"), x), P("x", "y"), P("x", "y")), a)
        self.check(shard(lambda x, s: lax.cond(s[0] > 0, lambda v: lax.psum(v, "x"), lambda v: lax.pmax(v, "x"), x),
                         (P("x"), P()), P()), a, np.float32([1, 2]))
        # Ranks that differ in y only may part where those meet that differ in x.
        self.check(shard(lambda x, s: lax.cond(s[0] > 0, lambda v: lax.psum(v, "x"), lambda v: v, x),
                         (P("x", "y"), P("y")), P("x", "y")), a, np.int32([1, 0]))

    def test_several_and_operations_around(self):
        double = shard(lambda x: x * 2, P("x", "y"), P("x", "y"))
        total = shard(lambda x: lax.psum(x, "x"), P("x"), P())
        self.check(lambda a: total(double(jnp.sin(a))), a)
        self.check(lambda a: (double(double(a)), a.sum(), a), a)
        self.check(lambda a: lax.fori_loop(0, 3, lambda i, v: double(v) * 0.5 + 1, a), a)
        self.check(lambda a: jax.jit(total)(a) + 1, a)
        self.check(jax.grad(lambda a: shard(lambda x: lax.psum(jnp.sin(x).sum(), ("x", "y")), P("x", "y"), P())(a)), a)

    def test_the_mesh(self):
        abstract = AbstractMesh((2, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
        body = lambda a: lax.psum(a, "x")
        wanted = a[:4] + a[4:]
        f = jax.shard_map(body, mesh=abstract, in_specs=P("x"), out_specs=P())
        np.testing.assert_allclose(ga.jit(f, mesh=abstract)(a), wanted, rtol=1e-6)
        # A shard_map without a mesh has that of gpu_async.jit.
        f = jax.shard_map(body, in_specs=P("x"), out_specs=P())
        np.testing.assert_allclose(ga.jit(f, mesh=abstract)(a), wanted, rtol=1e-6)
        np.testing.assert_allclose(ga.jit(f, mesh=mesh)(a), wanted, rtol=1e-6)
        one = AbstractMesh((1,), ("x",), axis_types=(AxisType.Auto,))
        f = jax.shard_map(lambda a: lax.psum(a, "x") + lax.axis_index("x"), mesh=one, in_specs=P("x"), out_specs=P(), check_vma=False)
        np.testing.assert_array_equal(ga.jit(f, mesh=one)(a), a)
        # An axis that it does not name divides nothing.
        f = jax.shard_map(body, mesh=mesh, in_specs=P("x"), out_specs=P(), axis_names={"x"})
        self.check(f, a)
        # JAX makes nothing of a shard_map along axes of one device.
        flat = jax.make_mesh((4, 1), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
        f = jax.shard_map(lambda a: lax.psum(a, "y"), mesh=flat, in_specs=P("y"), out_specs=P(), axis_names={"y"}, check_vma=False)
        np.testing.assert_array_equal(ga.jit(f, mesh=flat)(a), a)

    def test_axes_of_the_type_explicit(self):
        types = (AxisType.Explicit,) * 2
        body, wanted = lambda a: lax.psum(a, "y"), a[:, :4] + a[:, 4:]
        for each in jax.make_mesh((2, 2), ("x", "y"), axis_types=types), AbstractMesh((2, 2), ("x", "y"), axis_types=types):
            spec = NamedSharding(each, P("x", "y"))
            f = jax.shard_map(body, mesh=each, in_specs=P("x", "y"), out_specs=P("x"))
            around = lambda a: jnp.sin(f(jax.reshard(a, spec))) * 2
            np.testing.assert_allclose(ga.jit(around, mesh=each)(a), np.sin(wanted) * 2, rtol=1e-4, atol=1e-5)
            # The mesh of gpu_async.jit is that of specs, too.
            unnamed = lambda a: jax.shard_map(body, in_specs=P("x", "y"), out_specs=P("x"))(jax.reshard(a, P("x", "y")))
            np.testing.assert_allclose(ga.jit(unnamed, mesh=each)(a), wanted, rtol=1e-6)
            if isinstance(each, AbstractMesh):
                with self.assertRaisesRegex(ValueError, "does not match the specs of the input") as caught:
                    ga.jit(f, mesh=each)(a)
                self.assertIn("Make the mesh with axis_types=(jax.sharding.AxisType.Auto,) * 2", "".join(caught.exception.__notes__))
            else:
                np.testing.assert_allclose(ga.jit(f, mesh=each)(jax.device_put(a, spec)), wanted, rtol=1e-6)

    def test_a_part_of_the_axes(self):
        def part(body, ins, outs, axes, **options):
            return jax.shard_map(body, in_specs=ins, out_specs=outs, axis_names=axes, check_vma=False, **options)

        for f in (
            part(lambda a: lax.axis_index("x") + a, P("x"), P("x"), {"x"}, mesh=mesh),
            part(lambda a: lax.psum(part(lambda a: lax.psum(a, "y") * 2, P("y"), P(), {"y"})(a), "x"), P("x"), P(), {"x"}, mesh=mesh),
            part(lambda a: part(lambda b: b + lax.axis_index("y"), P(None, "y"), P(None, "y"), {"y"})(part(
                jnp.sin, P("y"), P("y"), {"y"})(a) * 2), P("x"), P("x"), {"x"}, mesh=mesh),
            part(lambda a: lax.fori_loop(0, 3, lambda i, v: part(
                lambda b: b * lax.psum(b, "y")[0, 0] * 0.1, P("y"), P("y"), {"y"})(v), a), P("x"), P("x"), {"x"}, mesh=mesh),
        ):
            self.check(f, a)

    def test_of_a_result_that_differs_rank_0_counts(self):
        f = shard(lambda a: a + lax.axis_index("x"), P("x"), P())
        np.testing.assert_array_equal(ga.jit(f, mesh=mesh)(a), a[:4])

    def test_a_method(self):
        class Layer:
            scale = 3

            def run(self, a):
                return shard(lambda a: lax.psum(a * self.scale, "x"), P("x"), P())(a)

        np.testing.assert_allclose(ga.jit(Layer().run, mesh=mesh)(a), 3 * (a[:4] + a[4:]), rtol=1e-5)

    def test_it_compiles_once(self):
        f = ga.jit(shard(lambda a: a * 2, P("x"), P("x")), mesh=mesh)
        for _ in range(3):
            f(a)
        self.assertIn("1 compiled", repr(f))
        f(b)
        self.assertIn("2 compiled", repr(f))

    def refuse(self, error, text, f, *args, **options):
        with self.assertRaisesRegex(error, text):
            ga.jit(f, **{"mesh": mesh, **options})(*args)

    def test_the_page_on_training(self):
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs/how-to/TrainOnSeveralRanks.md").read_text()
        first, second, third, fourth = re.findall(r"test/Python/on-mesh.py runs it -->\n```python\n(.*?)```", page, re.S)
        names, out = {}, io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(first, names)
        self.assertEqual(out.getvalue().strip(), first.rpartition("# ")[2].strip())
        exec(second, names)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(third, names)
        shown = re.search(r"python\n%s```\n\n<!--[^\n]*\n```\n(.*?)```" % re.escape(third), page, re.S)[1]
        self.assertIn(shown, re.sub(r" +$", "", out.getvalue(), flags=re.M))
        # A collective for the loss and for each weight, without a psum in the text.
        self.assertEqual(out.getvalue().count("collective"), 4)
        self.assertNotIn("psum(", first)
        exec(fourth, names)
        data = [names[each] for each in ("weights", "x", "y")]
        wanted, _ = names["on_ranks"](names["step"], 4)(*data)
        f = names["on_ranks"](names["accumulated"], 4)
        for one, other in zip(f(*data), wanted):
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)
        self.assertEqual(f.schedule(*data).text.count("collective"), 3)

    def test_schedule(self):
        f = ga.jit(shard(lambda a: lax.psum(a * 2, "x") + 1, P("x"), P()), mesh=mesh)
        schedule = f.schedule(a)
        self.assertRegex(schedule.text, r"mul_\S+(?s:.*)collective(?s:.*)add_")
        self.assertEqual(schedule.text, f.schedule(a).text)
        self.assertIn("1 compiled", repr(f))
        f(a)
        self.assertIn("1 compiled", repr(f))

    def test_errors_have_a_line_for_each_rank(self):
        code = """
import gpu_async as ga, jax, jax.numpy as jnp, numpy as np
from jax import lax
from jax.sharding import AbstractMesh, AxisType, PartitionSpec as P
mesh = AbstractMesh((3,), ("x",), axis_types=(AxisType.Auto,))
def hang(x):  # rank 1 for ever
    end = jnp.where(lax.axis_index("x") == 1, jnp.inf, 3.0)
    count = lax.while_loop(lambda c: c < end, lambda c: c + (c < 5), lax.pcast(jnp.float32(0), "x", to="varying"))
    return lax.psum(count + x[0], "x")
try:
    ga.jit(jax.shard_map(hang, mesh=mesh, in_specs=P("x"), out_specs=P()), mesh=mesh)(np.ones(3, "f"))
except ga.Error as error:
    print(error, flush=True)
    import os
    os._exit(0)  # the rank stays on the host
"""
        done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "GPU_ASYNC_TIMEOUT": "2"}, capture_output=True, text=True)
        lines = done.stdout.strip().splitlines()
        self.assertEqual([line.split(":")[0] for line in lines], ["rank 0", "rank 1", "rank 2"], done)
        self.assertIn("still in the program", lines[1])

    def test_schedule_of_a_method(self):
        @jax.tree_util.register_pytree_node_class
        class Layer:
            def __init__(self, k):
                self.k = k

            def tree_flatten(self):
                return (self.k,), None

            @classmethod
            def tree_unflatten(cls, _, children):
                return cls(*children)

            def scale(self, a, b=None):
                return shard(lambda a, k: a * k if b is None else a + k, (P("x"), P()), P("x"))(a, self.k)

            on_ranks = ga.jit(scale, mesh=mesh)

        layer = Layer(np.float32(3))
        np.testing.assert_allclose(layer.on_ranks(a), 3 * a)
        self.assertEqual(layer.on_ranks.schedule(a).text, Layer.on_ranks.schedule(layer, a).text)
        np.testing.assert_allclose(layer.on_ranks(a, a), a + 3, rtol=1e-5)
        self.assertNotEqual(layer.on_ranks.schedule(a, a).text, layer.on_ranks.schedule(a).text)
        shape = jax.ShapeDtypeStruct(a.shape, a.dtype)
        self.assertEqual(layer.on_ranks.schedule(shape).text, layer.on_ranks.schedule(a).text)
        self.refuse(ga.ArgumentError, "given a ShapeDtypeStruct, expected an array", shard(lambda a: a, P("x"), P("x")), shape)

    def test_timing(self):
        total = shard(lambda a: lax.psum(a, "x"), P("x"), P())
        stages = ga.jit(total, mesh=mesh, timing="stages").timing(a).splitlines()
        for number, stage in (1, "tracing by JAX"), (2, "lowering to linalg"), (3, "parsing"), (-1, "total"):
            self.assertTrue(stages[number].startswith(stage), stages)
        with self.assertRaisesRegex(ga.ArgumentError, "was not timed; make it with gpu_async.jit"):
            ga.jit(total, mesh=mesh).timing(a)

    def test_names_of_axes(self):
        def of(names, along, **options):
            sizes = (2,) * (len(names) - 1) + (1,)
            other = AbstractMesh(sizes, names, axis_types=(AxisType.Auto,) * len(names))
            body = lambda a: lax.cond(a.sum() > 0, lambda a: lax.psum(a, along, **options), lambda a: a * 2, a)
            f = jax.shard_map(body, mesh=other, in_specs=P(names), out_specs=P(names), check_vma=False)
            with self.assertRaises(ga.CompileError) as caught:
                ga.jit(f, mesh=other)(a)
            return re.search(r"may differ between ranks (.*);", str(caught.exception))[1]

        self.assertEqual(of(("x", "y", "z"), "y"), "along 'y'")
        self.assertEqual(of(("x", "y", "z"), ("y", "x")), "along 'x' and 'y'")
        self.assertEqual(of(("\u200b", "y", "z"), "\u200b"), "along '\\u200b'")

    def test_refused(self):
        total = shard(lambda a: lax.psum(a, "x"), P("x"), P())
        self.refuse(ga.CompileError, "has no jax.shard_map, so there is nothing to divide", lambda a: a * 2, a)
        other = AbstractMesh((4,), ("x",), axis_types=(AxisType.Auto,))
        self.refuse(ga.CompileError, "a jax.shard_map over a mesh of {'x': 4}, and gpu_async.jit is given one of {'x': 2, 'y': 2}",
                    jax.shard_map(lambda a: lax.psum(a, "x"), mesh=other, in_specs=P("x"), out_specs=P()), a)
        self.refuse(ValueError, "has 1025 devices; there are at most 1024 ranks", total, mesh=AbstractMesh((1025,), ("x",)))
        self.refuse(ga.ArgumentError, "of float8_e4m3fn, which ranks do not take; convert it", total, a.astype(jnp.float8_e4m3fn))
        self.refuse(ga.ArgumentError, "result 0 of .* is of float8_e4m3fn; convert it", shard(
            lambda a: a.astype(jnp.float8_e4m3fn), P("x"), P("x")), a)
        self.refuse(ga.ArgumentError, r"and trees of these; or take it from around the function", total, a, "relu")
        with self.assertRaisesRegex(AttributeError, r"a function of gpu_async.jit\(mesh=...\) has no trace"):
            ga.jit(total, mesh=mesh).trace
        self.refuse(TypeError, "a mesh is a jax.sharding.Mesh or AbstractMesh, given 4", total, a, mesh=4)
        self.refuse(ValueError, "device='cuda:1'; ranks have the cpu device, or", total, a, device="cuda:1")
        self.refuse(ValueError, "place='device'; ranks on GPUs take arrays of the host", total, a, device="cuda", place="device")
        self.refuse(TypeError, "no static or donated arguments", total, a, donate_argnums=0)
        with self.assertRaisesRegex(ga.ArgumentError, "traced by JAX; call the function outside of jax.jit"):
            jax.jit(ga.jit(total, mesh=mesh))(a)
        self.refuse(ValueError, "evenly divisible|not divisible|divide", total, np.zeros((3, 2), "f"))
        self.refuse(ga.ArgumentError, r"argument \[0\] of .*, is of key", total, jax.random.key(0))
        self.refuse(ga.CompileError, "calls Python while it runs", shard(
            lambda a: jax.pure_callback(lambda x: x, jax.ShapeDtypeStruct(a.shape, a.dtype), a), P("x"), P("x")), a)

    def test_refused_without_a_mesh(self):
        f = shard(lambda a: a * 2, P("x"), P("x"))
        with self.assertRaisesRegex(ga.CompileError, r"for a mesh of 4 devices, .* give the mesh to gpu_async.jit\(f, mesh=mesh\)"):
            ga.jit(f, device="cpu")(a)

    def test_conditions_that_ranks_have_in_common(self):
        total = lambda v: lax.psum(v, "x") * 0.5
        x, y = lambda: lax.axis_index("x"), lambda: lax.axis_index("y")
        table = np.array([3, 2, 5, 4], "i4")
        for body in (
            # Elements of constants.
            lambda v: lax.scan(lambda v, k: (lax.cond(k % 2 == 0, total, jnp.sin, v), None), v, table)[0],
            lambda v: lax.cond(jnp.array([1.0, -1.0, 2.0])[lax.fori_loop(0, 2, lambda i, n: n + 1, 0)] > 0, total, jnp.sin, v),
            lambda v: lax.cond(jnp.arange(5)[3] * 2 == 6, total, jnp.sin, v),
            lambda v: lax.while_loop(lambda c: c[1] > 0.1, lambda c: (total(c[0]), c[1] * 0.5), (v, jnp.float32(1)))[0],
            # The place of a rank among those that do not meet.
            lambda v: lax.cond(y() == 0, total, jnp.sin, v),
            lambda v: lax.fori_loop(0, 1 + y(), lambda i, v: total(v), v),
            lambda v: lax.switch(y(), [lambda v: lax.pmax(v, "x"), total], v),
            lambda v: lax.fori_loop(0, 3, lambda i, v: lax.cond(y() == i % 2, total, jnp.sin, v), v),
            lambda v: lax.cond((y() + 1) * (x() - x() + 2) > 3, total, jnp.sin, v),
        ):
            self.check(shard(body, P("x", "y"), P("x", "y")), a)

    def test_refused_control_flow(self):
        total = lambda v: lax.psum(v, "x")
        x, y = lambda: lax.axis_index("x"), lambda: lax.axis_index("y")

        def later(v):
            # The branch that ran says where the rank is.
            v, which = lax.cond(y() == 0, lambda v: (total(v), 1), lambda v: (v, 0), v)
            return lax.cond(which == 1, lambda v: lax.psum(v, "y"), lambda v: v, v)

        def rounds(v):
            n, v = lax.while_loop(lambda c: c[0] < y(), lambda c: (c[0] + 1, total(c[1])), (0, v))
            return lax.cond(n == 1, lambda v: lax.psum(v, "y"), lambda v: v, v)

        def counted(v):
            n = lax.fori_loop(0, 3, lambda i, n: lax.cond(v[0, 0] > 0, lambda n: n + 1, lambda n: n, n), 0)
            return lax.cond(n > 1, total, lambda v: v, v)

        for body in (
            lambda v: lax.cond(x() == 0, total, lambda v: v, v),
            lambda v: lax.cond(x() + y() == 1, total, lambda v: v, v),
            lambda v: lax.cond(jnp.array([1, 0])[x()] == 1, total, lambda v: v, v),
            lambda v: lax.cond(v[0, 0] > 0, total, lambda v: v, v),
            lambda v: lax.while_loop(lambda v: v.sum() > 1, lambda v: v * lax.pmean(jnp.float32(0.7), "x"), v),
            counted,
            later,
            rounds,
        ):
            self.refuse(ga.CompileError, "on-mesh.py:.*: this collective is under control flow that may differ between ranks along '[xy]'.*"
                        "by jax.lax.pmax of it over(?s:.*)ranks may part at this (branch|loop)", shard(body, P("x", "y"), P("x", "y")), a)


if __name__ == "__main__":
    unittest.main()
