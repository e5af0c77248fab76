#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs programs of ranks/, which lower_jax has made of examples/jax/shard_maps.py, and compares with NumPy.

    ranks.py WORD ... -- NAME ...

The words are what runs a program, such as gpu-runner --ranks=4. The first lines of a program say how its arguments
and results are divided. Each rank gets its parts, and the results are joined.
"""

import os
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))


def softmax_of_halves(x):
    while (x * x).sum() > 1:
        x = x * 0.5
    e = np.exp(x).reshape(-1)
    return e / e.sum()


REFERENCES = {
    **{name: np.matmul for name in ("matmul_basic", "matmul_allgather", "matmul_psumscatter", "matmul_ring")},
    "normalize": softmax_of_halves,
}
SIZES = {"normalize": [(4, 8)]}


def parts_of(mesh, shape, spec):
    """The slices of an array that each rank has. `spec` is what P(...) is called with."""
    sizes = dict(mesh)
    for rank in range(int(np.prod([size for _, size in mesh]))):
        numbers, rest = {}, rank
        for name, size in reversed(mesh):
            rest, numbers[name] = divmod(rest, size)
        where = []
        for dim, size in enumerate(shape):
            names = spec[dim] if dim < len(spec) else None
            place, count = 0, 1
            for name in (names,) if isinstance(names, str) else names or ():
                place, count = place * sizes[name] + numbers[name], count * sizes[name]
            where.append(slice(place * size // count, (place + 1) * size // count))
        yield tuple(where)


def run(words, name):
    path = os.path.join(HERE, "ranks", name + ".mlir")
    with open(path) as file:
        text = file.read()
    mesh = [(axis, int(size)) for axis, size in re.findall(r"(\w+)=(\d+)", re.search(r"a mesh of (.*)", text)[1])]
    specs = {what: [eval(spec, {"P": lambda *dims: dims}) for spec in re.findall(r"// %s \d+: (.*)" % what, text)]
             for what in ("argument", "result")}
    arguments = [np.random.default_rng(7 + number).uniform(-1, 1, shape).astype(np.float32)
                 for number, shape in enumerate(SIZES.get(name, [(8, 8), (8, 4)]))]
    wanted = REFERENCES[name](*[each.astype(np.float64) for each in arguments])
    with tempfile.TemporaryDirectory() as folder:
        command = [*words, path, "--output=result0=@%s/out.%%r.npy" % folder]
        for number, (array, spec) in enumerate(zip(arguments, specs["argument"])):
            for rank, where in enumerate(parts_of(mesh, array.shape, spec)):
                np.save("%s/in%d.%d.npy" % (folder, number, rank), np.ascontiguousarray(array[where]))
            command.append("--input=@%s/in%d.%%r.npy" % (folder, number))
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit("%s: exit code %d\n%s" % (name, done.returncode, done.stderr))
        got = np.full(wanted.shape, np.nan)
        for rank, where in enumerate(parts_of(mesh, wanted.shape, specs["result"][0])):
            got[where] = np.load("%s/out.%d.npy" % (folder, rank))
    off = np.abs(got - wanted).max()
    print("%s: %d ranks, %s" % (name, np.prod([size for _, size in mesh]), "equal" if off < 1e-5 else "off by %g" % off))


split = sys.argv.index("--")
for each in sys.argv[split + 1 :]:
    run(sys.argv[1:split], each)
