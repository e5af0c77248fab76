#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the programs and references in this folder.

    python3 -m venv VENV && VENV/bin/pip install jax jaxlib torch-mlir
    VENV/bin/python generate.py

jax/NAME.mlir is what frontends/lower_jax.py makes of examples/jax/programs.py, and
torch/NAME.mlir what frontends/lower_torch.py makes of examples/torch/NAME.mlir;
both have the inputs and results of jax/NAME.N.npy: result N, computed by JAX on
the CPU in f64 from argument K = random:K+1 (docs/reference/gpu-runner.md), but TOKENS.
ranks/NAME.mlir is what lower_jax.py makes of examples/jax/shard_maps.py, and of the files of StableHLO beside it.
The two packages were 0.10.2 and 20261001.
"""

import os
import subprocess
import sys

import jax
import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
root = os.path.join(here, "..", "..", "..", "..")
examples, package = os.path.join(root, "examples"), os.path.join(root, "python", "gpu_async")
sys.path[:0] = os.path.join(examples, "jax"), package
import programs  # noqa: E402
import shard_maps  # noqa: E402
from frontends import lower_jax, shards  # noqa: E402

TOKENS = [3, 49, 0, 7, 7, 12, 31, 1, 48, 20, 5, 3, 9]


def random_array(seed, shape):
    """random:SEED of f32, by gpu-runner's definition."""
    count = int(np.prod(shape))
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return (z >> np.uint64(40)).astype(np.float64).reshape(shape) / 2**23 - 1


def main():
    for name, text in programs.SHAPES.items():
        shapes = [lower_jax.read_shape(each) for each in text.split()]
        function = getattr(programs, name)
        with open(os.path.join(here, "jax", name + ".mlir"), "w") as file:
            file.write(lower_jax.lower(lower_jax.trace(function, shapes)))
        inputs = [random_array(k + 1, shape.shape) if shape.dtype.kind == "f" else np.array(TOKENS, shape.dtype)
                  for k, shape in enumerate(shapes)]
        with jax.enable_x64(True):
            results = jax.tree.leaves(jax.jit(function)(*inputs))
        for n, result in enumerate(results):
            result = np.asarray(result)
            np.save(os.path.join(here, "jax", "%s.%d.npy" % (name, n)),
                    result.astype(np.int32) if result.dtype.kind == "i" else result.astype(np.float64))
    for name, text in shard_maps.SHAPES.items():
        parts = shards.Parts()
        traced = lower_jax.trace(getattr(shard_maps, name), [lower_jax.read_shape(each) for each in text.split()])
        text = lower_jax.lower(traced, parts=parts)
        with open(os.path.join(here, "ranks", name + ".mlir"), "w") as file:
            file.write(parts.describe_all() + text)
    for name in "all_reduce.mlir", "all_reduce_groups.mlir":
        with open(os.path.join(examples, "jax", name)) as file, open(os.path.join(here, "ranks", name), "w") as out:
            out.write(lower_jax.lower_text(file.read()))
    for program in sorted(os.listdir(os.path.join(examples, "torch"))):
        if program.endswith(".mlir"):
            with open(os.path.join(here, "torch", program), "w") as file:
                subprocess.run([sys.executable, "-m", "frontends.lower_torch", os.path.abspath(os.path.join(examples, "torch", program))],
                               cwd=package, stdout=file, check=True)


if __name__ == "__main__":
    main()
