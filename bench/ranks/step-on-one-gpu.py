# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training step of two ranks on one GPU: how long it takes beside the collectives of the other rank.

    step-on-one-gpu.py --make FOLDER       writes the programs; needs JAX and gpu_async
    step-on-one-gpu.py FOLDER GPU_RUNNER   runs them; needs a GPU, MPI, CUDA's MPS, and NCCL 2.30 or later in
                                           GPU_ASYNC_NCCL_LIBRARY (docs/reference/Testing.md, "Ranks on one GPU")

The step is that of training-step.py, in f32. Rank 0 trains; rank 1 only makes the same collectives. So the GPU does the work of
one rank, and has the NCCL kernels of two. Prints the time of a step without other ranks and with one, and the ratio: less than
on two GPUs, where a rank has the processors of its GPU for itself.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile

LAYERS, WIDTH, ROWS = 4, 2048, 1024
FEW, MANY = 5, 45  # steps of a call: what a call takes besides is in both
ROUNDS = 3

# All gradients but the last one are added up beside products.
PEER = """func.func @main() {
  %%c0 = arith.constant 0 : index
  %%c1 = arith.constant 1 : index
  %%steps = arith.constant %d : index
  %%zero = arith.constant 0.0 : f32
  %%d = gpu.alloc () : memref<%dx%dxf32>
  gpu.memset %%d, %%zero : memref<%dx%dxf32>, f32
  scf.for %%i = %%c0 to %%steps step %%c1 {
%s  }
  gpu.dealloc %%d : memref<%dx%dxf32>
  return
}
"""
SUM = "    gpu_async.collective all_reduce<sum> %%d, %%d%s : memref<%dx%dxf32>, memref<%dx%dxf32>\n"


def make(ranks, steps):
    import jax
    import jax.numpy as jnp
    from jax import lax
    from jax.sharding import AbstractMesh, AxisType
    from jax.sharding import PartitionSpec as P

    def loss(weights, x, y):
        for weight in weights[:-1]:
            x = jnp.maximum(x @ weight, 0)
        return jnp.sum((x @ weights[-1] - y) ** 2) / (ROWS * ranks)

    def step(_, state):
        weights, x, y = state
        return [weight - 5e-4 * gradient for weight, gradient in zip(weights, jax.grad(loss)(weights, x, y))], x, y

    def body(x, y, *weights):
        return tuple(lax.fori_loop(0, steps, step, (list(weights), x, y))[0])

    mesh = AbstractMesh((ranks,), ("data",), axis_types=(AxisType.Auto,))
    return jax.shard_map(body, mesh=mesh, in_specs=(P("data"),) * 2 + (P(),) * LAYERS, out_specs=P())


def alone_few(*arguments):
    return make(1, FEW)(*arguments)


def alone_many(*arguments):
    return make(1, MANY)(*arguments)


def beside_few(*arguments):
    return make(2, FEW)(*arguments)


def beside_many(*arguments):
    return make(2, MANY)(*arguments)


def write(folder):
    os.makedirs(folder, exist_ok=True)
    sizes = (WIDTH,) * 2
    for name, steps in ("few", FEW), ("many", MANY):
        for kind, ranks in ("alone", 1), ("beside", 2):
            types = ["%dx%dxf32" % (ROWS * ranks, WIDTH)] * 2 + ["%dx%dxf32" % sizes] * LAYERS
            with open(os.path.join(folder, "%s_%s.mlir" % (kind, name)), "w") as file:
                subprocess.run([sys.executable, "-m", "gpu_async.frontends.lower_jax", __file__, "%s_%s" % (kind, name), *types],
                               stdout=file, check=True)
        sums = "".join(SUM % ((" {overlapped}" if left else "",) + sizes * 2) for left in reversed(range(LAYERS)))
        with open(os.path.join(folder, "peer_%s.mlir" % name), "w") as file:
            file.write(PEER % ((steps,) + sizes * 2 + (sums,) + sizes))


def measure(folder, gpu_runner, kind, name, calls=6):
    """The least time of a call, in us."""
    arguments = ["%dx%dxf32=0.001" % (ROWS, WIDTH)] * 2 + ["%dx%dxf32=0.001" % (WIDTH, WIDTH)] * LAYERS
    command = [gpu_runner, os.path.join(folder, "%s_%s.mlir" % (kind, name)), "--device=cuda", "--blas=auto", "--timeout=60",
               "--benchmark=table", "--warmup=2", "--repeat=%d" % calls]
    command += ["--input=" + each for each in arguments] + ["--output="] * (len(arguments) + LAYERS)
    if kind == "beside":
        peer = [gpu_runner, os.path.join(folder, "peer_%s.mlir" % name), "--device=cuda", "--timeout=60", "--repeat=%d" % (calls + 2)]
        command = ["mpirun.openmpi" if shutil.which("mpirun.openmpi") else "mpirun", "--allow-run-as-root", "--oversubscribe",
                   "-n", "1", *command, ":", "-n", "1", *peer]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit("%s: exit code %d\n%s" % (" ".join(command), done.returncode, done.stderr[-2000:]))
    return float(done.stdout.split("max us")[1].split()[2])


def run(folder, gpu_runner):
    times = {"alone": [], "beside": []}
    for _ in range(ROUNDS):
        for kind, each in times.items():
            many, few = (measure(folder, gpu_runner, kind, name) for name in ("many", "few"))
            each.append((many - few) / (MANY - FEW))
    alone, beside = (statistics.median(each) for each in times.values())
    print("without other ranks: %.0f us a step" % alone)
    print("beside the collectives of a rank: %.0f us a step, %.2f of that" % (beside, alone / beside))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if sys.argv[1] == "--make":
        return write(sys.argv[2])
    with tempfile.TemporaryDirectory() as pipes:
        os.environ.update(CUDA_MPS_PIPE_DIRECTORY=pipes, CUDA_MPS_LOG_DIRECTORY=pipes)
        os.environ.update(NCCL_MULTI_RANK_GPU_ENABLE="1")
        subprocess.run(["nvidia-cuda-mps-control", "-d"], check=True)
        try:
            run(*sys.argv[1:])
        finally:
            subprocess.run(["nvidia-cuda-mps-control"], input="quit\n", text=True, check=False)


if __name__ == "__main__":
    main()
