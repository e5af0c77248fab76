# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a call of gpu_async.jit costs beside one of jax.jit, in microseconds, and the ratio of the two.

The functions compute next to nothing, so that the time is that of the call. Both are measured in turn in one run: the
ratio is what to compare between machines.
"""

import importlib.util
import os
import time


def least(function, arguments, seconds=0.02):
    start = time.perf_counter()
    function(*arguments)
    calls = max(1, int(seconds / max(time.perf_counter() - start, 1e-6)))
    start = time.perf_counter()
    for _ in range(calls):
        function(*arguments)
    return (time.perf_counter() - start) / calls * 1e6


def measure(title, function, arguments, results):
    import gpu_async as ga
    import jax

    ours, theirs = ga.jit(function, device="cpu"), jax.jit(function)
    given = ga.jit(lambda *trees: trees, device="cpu")(*arguments) if results else arguments
    for _ in range(100):
        ours(*given), theirs(*arguments)
    mine, jaxs = map(min, zip(*((least(ours, given), least(theirs, arguments)) for _ in range(31))))
    print("%-40s gpu_async %8.2f us   JAX %8.2f us   ratio %5.2f" % (title, mine, jaxs, mine / jaxs))


def measure_call(title, function, arguments):
    """A program of JAX's that calls a function of gpu_async.jit(ffi=True), beside one that is JAX's alone."""
    import gpu_async as ga
    import jax

    called = ga.jit(function, device="cpu", ffi=True)
    ours, theirs = jax.jit(lambda *a: called(*a)), jax.jit(function)
    for _ in range(100):
        ours(*arguments).block_until_ready(), theirs(*arguments).block_until_ready()
    mine, jaxs = map(min, zip(*((least(lambda *a: ours(*a).block_until_ready(), arguments),
                                 least(lambda *a: theirs(*a).block_until_ready(), arguments)) for _ in range(31))))
    print("%-40s gpu_async %8.2f us   JAX %8.2f us   ratio %5.2f" % (title, mine, jaxs, mine / jaxs))


def main():
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax.numpy as jnp
    import numpy as np

    one, row = np.ones(8, "f"), jnp.ones(8)
    tree = {"layer%d" % i: {"w": jnp.ones((2, 2)), "b": jnp.ones(2)} for i in range(50)}

    def add(x):
        return x + x

    def scale(x, factor):
        return x * factor

    def total(tree):
        return sum(each["w"][0, 0] + each["b"][0] for each in tree.values())

    measure("an array of NumPy's", add, (one,), False)
    measure("an array of JAX's", add, (row,), False)
    measure("a result", add, (row,), True)
    measure("an array of JAX's and a number", scale, (row, 2.0), False)
    measure("a tree of 100 arrays of JAX's", total, (tree,), False)
    measure("a tree of 100 results", total, (tree,), True)
    measure_call("a call by ffi in a program of jax.jit", add, (row,))


if __name__ == "__main__":
    if importlib.util.find_spec("jax"):
        main()
    else:
        print("gpu_async.jit: not measured, Python has no jax")
