# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A data-parallel training step of a network of matrices in f32: on one GPU and on several, and by PyTorch.

Each rank has its rows of the batch. Gradients are added up over the ranks while the backward pass runs. Prints the time of a
step, and the ratio of the better step on one GPU to that on several. Fails if the weights differ from those of one GPU on the
whole batch.

    training-step.py [--ranks=2] [--device=cuda] [--layers=4] [--width=2048] [--rows=1024] [--blas=auto|off] [--order=...]

--order: where the program adds up gradients. `backward`: in the backward pass, as jax.grad does for weights that all ranks
have. `end`: all after the backward pass, by jax.lax.psum.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--ranks", type=int, default=2)
parser.add_argument("--device", default="cuda")
parser.add_argument("--layers", type=int, default=4)
parser.add_argument("--width", type=int, default=2048)
parser.add_argument("--rows", type=int, default=1024, help="of each rank")
parser.add_argument("--blas", default="auto")
parser.add_argument("--order", default="backward", choices=("backward", "end"))
parser.add_argument("--steps", type=int, default=40)
parser.add_argument("--rounds", type=int, default=7)
parser.add_argument("--trace", help="a file for the trace of one call on the ranks")
parser.add_argument("--torch", choices=("one", "ddp", "none"), help=argparse.SUPPRESS)
options = parser.parse_args()
RATE = 5e-4


def measure_torch():
    """A process for each GPU, by torch.distributed's launcher. Prints seconds."""
    import torch

    rank = int(os.environ.get("LOCAL_RANK", 0))
    torch.cuda.set_device(rank)
    layers = []
    for _ in range(options.layers - 1):
        layers += [torch.nn.Linear(options.width, options.width, bias=False), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(options.width, options.width, bias=False)).cuda()
    if options.torch == "ddp":
        torch.distributed.init_process_group("nccl")
        model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank], gradient_as_bucket_view=True)
    x, y = (torch.randn(options.rows, options.width, device="cuda") for _ in range(2))
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)

    def run(steps):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(steps):
            optimizer.zero_grad(set_to_none=True)
            (((model(x) - y) ** 2).sum() / options.rows).backward()
            optimizer.step()
        torch.cuda.synchronize()
        return time.perf_counter() - begin

    run(options.steps)
    # As measured below: what a call takes besides its steps is in both.
    each = [(run(options.steps + 5) - run(5)) / options.steps for _ in range(options.rounds)]
    if rank == 0:
        print(statistics.median(each))
    if options.torch == "ddp":
        torch.distributed.destroy_process_group()


def ask_torch(how):
    command = [sys.executable, __file__, *sys.argv[1:], "--torch=" + how]
    if how == "ddp":
        command[1:1] = ["-m", "torch.distributed.run", "--nproc_per_node=%d" % options.ranks]
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode:
        print("PyTorch (%s) failed: %s" % (how, made.stderr.strip().splitlines()[-1:]))
        return None
    return float(made.stdout.split()[-1])


class Step:
    """Training of `ranks` ranks, in calls of a few steps each."""

    def __init__(self, ranks, rows, calls, is_smooth=False):
        import gpu_async as ga
        import jax
        import jax.numpy as jnp
        from jax import lax
        from jax.sharding import AbstractMesh, AxisType
        from jax.sharding import PartitionSpec as P

        mesh = AbstractMesh((ranks,), ("data",), axis_types=(AxisType.Auto,))
        total = rows * ranks

        def loss(weights, x, y):
            for weight in weights[:-1]:
                x = jnp.tanh(x @ weight) if is_smooth else jnp.maximum(x @ weight, 0)
            return jnp.sum((x @ weights[-1] - y) ** 2) / total

        def step(weights, x, y):
            if options.order == "backward":
                gradients = jax.grad(loss)(weights, x, y)
            else:
                own = jax.tree.map(lambda weight: lax.pcast(weight, "data", to="varying"), weights)
                gradients = lax.psum(jax.grad(loss)(own, x, y), "data")
            return [weight - RATE * gradient for weight, gradient in zip(weights, gradients)]

        def steps(count):
            body = lambda weights, x, y: lax.fori_loop(0, count, lambda _, weights: step(weights, x, y), weights)
            shard = jax.shard_map(body, mesh=mesh, in_specs=(P(), P("data"), P("data")), out_specs=P())
            return ga.jit(shard, mesh=mesh, device=options.device, blas=options.blas)

        self.calls = {count: steps(count) for count in calls}

    def run(self, count, *arguments):
        begin = time.perf_counter()
        results = self.calls[count](*arguments)
        return time.perf_counter() - begin, results


def main():
    os.environ.setdefault("JAX_PLATFORMS", "cpu")  # gpu-async has the GPUs
    import numpy as np

    random = np.random.default_rng(1)
    shape = options.width, options.width
    weights = [random.standard_normal(shape, "f") * np.float32((2 / options.width) ** 0.5) for _ in range(options.layers)]
    x, y = (random.standard_normal((options.rows * options.ranks, options.width), "f") for _ in range(2))
    few, many = 5, 5 + options.steps
    # Rounding moves some sums across zero, where the gradient of the maximum jumps: not so with tanh.
    _, wanted = Step(1, options.rows * options.ranks, (few,), is_smooth=True).run(few, weights, x, y)
    _, got = Step(options.ranks, options.rows, (few,), is_smooth=True).run(few, weights, x, y)
    for number, (a, b, first) in enumerate(zip(got, wanted, weights)):
        error = float(np.linalg.norm(a - b) / np.linalg.norm(b - first))
        if not error < 1e-4:
            sys.exit("weight %d differs from that of one GPU, by %g of how far it has moved" % (number, error))
    print("weights of %d ranks after %d steps are those of one, up to %.1e of how far they have moved" % (options.ranks, few, error))

    one, several = Step(1, options.rows, (few, many)), Step(options.ranks, options.rows, (few, many))
    mine, alone = x[:options.rows], y[:options.rows]
    times = {"one": [], "several": []}
    for _ in range(options.rounds + 1):
        for name, each, data in (("one", one, (mine, alone)), ("several", several, (x, y))):
            times[name].append((each.run(many, weights, *data)[0] - each.run(few, weights, *data)[0]) / options.steps)
    ours, spread = (statistics.median(times[name][1:]) for name in ("one", "several"))
    print("gpu-async, 1 rank: %.0f us a step" % (1e6 * ours))
    print("gpu-async, %d ranks: %.0f us a step, %.2f of that" % (options.ranks, 1e6 * spread, ours / spread))
    if options.trace:
        import gpu_async as ga

        with ga.trace(options.trace):
            several.run(few, weights, x, y)
    best = ours
    if options.device == "cuda" and options.torch != "none":
        for how, text in (("one", "PyTorch, 1 GPU"), ("ddp", "PyTorch's DDP, %d GPUs" % options.ranks)):
            seconds = ask_torch(how)
            if seconds:
                print("%s: %.0f us a step" % (text, 1e6 * seconds))
                best = min(best, seconds) if how == "one" else best
    print("%d ranks at %.2f of the best step on one GPU" % (options.ranks, best / spread))


measure_torch() if options.torch in ("one", "ddp") else main()
