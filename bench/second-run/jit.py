# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The first result of gpu_async.jit in a second process beside that in a first one, with the disk cache between them.

A GPT-2 of --layers layers with random weights, which are arguments: the forward pass of 128 tokens, a step of decoding, and a
step of training. A round runs two processes with one empty folder as their cache. Times are of tracing, lowering, compiling or
loading, and the call: with the imports of jax and gpu_async, and without; and without the second call's time, which is that of
the program alone. JAX's own time is of jax.jit in the first process, without a cache.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HEADS, WIDTH, WORDS = 12, 768, 50257


def model(case, layers):
    import jax
    import jax.numpy as jnp
    import numpy as np

    random = np.random.default_rng(3)

    def array(*shape):
        return (random.random(shape, dtype="f") - 0.5) / np.float32(np.sqrt(shape[0]))

    def layer():
        return {"qkv": array(WIDTH, 3 * WIDTH), "out": array(WIDTH, WIDTH), "up": array(WIDTH, 4 * WIDTH),
                "down": array(4 * WIDTH, WIDTH), "g1": np.ones(WIDTH, "f"), "b1": np.zeros(WIDTH, "f"),
                "g2": np.ones(WIDTH, "f"), "b2": np.zeros(WIDTH, "f")}

    weights = {"words": array(WORDS, WIDTH), "places": array(1024, WIDTH), "layers": [layer() for _ in range(layers)]}

    def norm(x, g, b):
        centred = x - x.mean(-1, keepdims=True)
        return centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * g + b

    def forward(weights, tokens):
        count = len(tokens)
        heads = lambda t: t.reshape(count, HEADS, -1).swapaxes(0, 1)
        mask = jnp.where(jnp.tri(count, dtype=bool), 0.0, -1e9)
        x = weights["words"][tokens] + weights["places"][:count]
        for w in weights["layers"]:
            q, k, v = map(heads, jnp.split(norm(x, w["g1"], w["b1"]) @ w["qkv"], 3, -1))
            a = jax.nn.softmax(q @ k.swapaxes(1, 2) / 8 + mask, -1) @ v
            x = x + a.swapaxes(0, 1).reshape(count, WIDTH) @ w["out"]
            x = x + jax.nn.gelu(norm(x, w["g2"], w["b2"]) @ w["up"]) @ w["down"]
        return x @ weights["words"].T

    def decode(weights, cache, token, place):
        x, made = weights["words"][token] + weights["places"][place], []
        for w, (k, v) in zip(weights["layers"], cache):
            q, a, b = (t.reshape(HEADS, 1, -1) for t in jnp.split(norm(x, w["g1"], w["b1"]) @ w["qkv"], 3, -1))
            k, v = (jax.lax.dynamic_update_slice(old, new, (0, place, 0)) for old, new in ((k, a), (v, b)))
            made.append((k, v))
            seen = jnp.where(jnp.arange(k.shape[1]) <= place, (q @ k.swapaxes(1, 2)) / 8, -1e9)
            x = x + (jax.nn.softmax(seen, -1) @ v).reshape(WIDTH) @ w["out"]
            x = x + jax.nn.gelu(norm(x, w["g2"], w["b2"]) @ w["up"]) @ w["down"]
        return (x @ weights["words"].T).argmax(), made

    def train(weights, tokens):
        def loss(weights):
            y = forward(weights, tokens[:-1])
            return (jax.nn.logsumexp(y, -1) - jnp.take_along_axis(y, tokens[1:, None], 1)[:, 0]).mean()

        value, gradient = jax.value_and_grad(loss)(weights)
        return value, jax.tree.map(lambda w, g: w - 1e-3 * g, weights, gradient)

    tokens = random.integers(0, WORDS, 129).astype("int32")
    if case == "decode":
        cache = [(array(HEADS, 256, 64), array(HEADS, 256, 64)) for _ in range(layers)]
        return decode, (weights, cache, np.int32(5), np.int32(100))
    return (forward, (weights, tokens[:128])) if case == "forward" else (train, (weights, tokens))


def child(case, layers, device, of_jax):
    start = time.perf_counter()
    import jax
    import numpy as np

    import gpu_async as ga

    ga.jit(lambda: 0)  # imports what the front end needs
    imports = time.perf_counter() - start
    function, arguments = model(case, layers)
    made = {"imports": imports}

    def call(jitted):
        begin = time.perf_counter()
        values = [np.asarray(leaf) for leaf in jax.tree.leaves(jitted(*arguments))]
        return time.perf_counter() - begin, float(sum(value.astype("f8").sum() for value in values))

    jitted = ga.jit(function, device=device)
    made["first"], made["sum"] = call(jitted)
    made["call"] = min(call(jitted)[0] for _ in range(2))
    if of_jax:
        made["jax"], _ = call(jax.jit(function))
    print(json.dumps(made))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.environ.get("BUILD", "build/release"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--cases", default="forward,decode,train")
    parser.add_argument("--check", type=float, help="fail if second / first is more, in a case")
    parser.add_argument("--child")
    options = parser.parse_args()
    if options.child:
        case, of_jax = options.child.split(",")
        return child(case, options.layers, options.device, of_jax == "jax")
    environment = {key: value for key, value in os.environ.items() if key != "GPU_ASYNC_CACHE"}
    environment.setdefault("JAX_PLATFORMS", "cpu")
    environment["PYTHONPATH"] = os.path.abspath(os.path.join(options.build, "python"))
    worst = 0.0
    print("%-8s %9s %9s %7s   %9s %9s %7s   %9s %9s %7s   %9s"
          % ("seconds", "first", "second", "ratio", "+imports", "second", "ratio", "-call", "second", "ratio", "jax.jit"))
    for case in options.cases.split(","):
        rows = []
        for _ in range(options.rounds):
            with tempfile.TemporaryDirectory() as folder:
                pair = []
                for kind in "jax", "none":
                    done = subprocess.run(
                        [sys.executable, os.path.abspath(__file__), "--child=%s,%s" % (case, kind), "--layers=%d" % options.layers,
                         "--device=" + options.device], stdout=subprocess.PIPE, text=True,
                        env={**environment, "GPU_ASYNC_CACHE_DIR": os.path.join(folder, "cache")}, check=True)
                    pair.append(json.loads(done.stdout))
            first, second = pair
            if first["sum"] != second["sum"]:
                sys.exit("%s: the second process computes %r, the first %r" % (case, second["sum"], first["sum"]))
            values = []
            for take in (lambda run: run["first"], lambda run: run["first"] + run["imports"],
                         lambda run: run["first"] - run["call"]):
                values += [take(first), take(second), take(second) / take(first)]
            rows.append(values + [first["jax"]])
        medians = [statistics.median(column) for column in zip(*rows)]
        worst = max(worst, medians[2])
        print("%-8s %9.3f %9.3f %7.3f   %9.3f %9.3f %7.3f   %9.3f %9.3f %7.3f   %9.3f" % (case, *medians))
    if options.check and worst > options.check:
        sys.exit("second / first is %.3f, more than %.3f" % (worst, options.check))


if __name__ == "__main__":
    main()
