#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the forward pass of a transformer as a sequential gpu program without
a token: kernels that read and write buffers of the sizes that the real ones
have, each result in a buffer of its own, freed behind its last use.

    layer:  x -> norm -> q, k, v -> scores -> softmax -> context -> project -> + x
              -> norm -> up -> gelu -> down -> + -> the next one's x

The kernels stand for the real ones: they touch the same buffers, not with the
same arithmetic. The default is that of GPT-2 medium (24 layers of 1024 columns,
16 heads) on 1024 tokens in half precision.

    transformer.py [--layers=24] [--tokens=1024] [--hidden=1024] [--heads=16]
                   [--inner=4096] > transformer.mlir
"""

import argparse

ANY = "memref<?xf16, 1>"


def kernel(inputs):
    """Reads `inputs` buffers and writes one."""
    names = ["%%x%d" % i for i in range(inputs)]
    lines = ["  gpu.func @from%d(%s, %%y: %s) kernel {" % (inputs, ", ".join("%s: %s" % (n, ANY) for n in names), ANY),
             "    %i = gpu.global_id x",
             "    %s0 = arith.constant 0.0 : f16"]
    for i, name in enumerate(names):
        lines += ["    %%v%d = memref.load %s[%%i] : %s" % (i, name, ANY),
                  "    %%s%d = arith.addf %%s%d, %%v%d : f16" % (i + 1, i, i)]
    return lines + ["    memref.store %%s%d, %%y[%%i] : %s" % (inputs, ANY), "    gpu.return", "  }"]


class Writer:
    def __init__(self):
        self.ops, self.sizes = [], {}

    def run(self, size, *inputs):
        """A kernel that makes `size` elements of the inputs."""
        name = "%%b%d" % len(self.ops)
        self.sizes[name] = size
        self.ops.append((name, inputs))
        return name

    def text(self, last):
        """Buffers are freed behind the last kernel that names them."""
        lastUse = {}
        for number, (_, inputs) in enumerate(self.ops):
            for name in inputs:
                lastUse[name] = number
        lines = []
        for number, (name, inputs) in enumerate(self.ops):
            type = "memref<%dxf16, 1>" % self.sizes[name]
            if name != last:
                lines += ["  %s = gpu.alloc () : %s" % (name, type), "  %sv = memref.cast %s : %s to %s" % (name, name, type, ANY)]
            target = "%out" if name == last else name + "v"
            values = [n if n not in self.sizes else n + "v" for n in inputs] + [target]
            lines.append("  gpu.launch_func @k::@from%d blocks in (%%c1, %%c1, %%c1) threads in (%%c1, %%c1, %%c1) args(%s)"
                         % (len(inputs), ", ".join("%s : %s" % (value, ANY) for value in values)))
            for used in dict.fromkeys(inputs):
                if lastUse[used] == number and used in self.sizes:
                    lines.append("  gpu.dealloc %s : memref<%dxf16, 1>" % (used, self.sizes[used]))
        return lines


def emit(layers, tokens, hidden, heads, inner):
    state, scores = tokens * hidden, heads * tokens * tokens
    writer = Writer()
    x = "%in"
    for _ in range(layers):
        normed = writer.run(state, x, "%weights")
        q, k, v = (writer.run(state, normed, "%weights") for _ in range(3))
        raw = writer.run(scores, q, k)
        soft = writer.run(scores, raw)
        context = writer.run(state, soft, v)
        projected = writer.run(state, context, "%weights")
        attended = writer.run(state, x, projected)
        normed = writer.run(state, attended, "%weights")
        up = writer.run(tokens * inner, normed, "%weights")
        active = writer.run(tokens * inner, up)
        down = writer.run(state, active, "%weights")
        x = writer.run(state, attended, down)
    lines = ["// Made by bench/memory/transformer.py", "module attributes {gpu.container_module} {", "gpu.module @k {"]
    for inputs in (1, 2):
        lines += kernel(inputs)
    lines += ["}", "func.func @transformer(%%in: %s, %%weights: %s, %%out: %s) {" % (ANY, ANY, ANY),
              "  %c1 = arith.constant 1 : index"]
    return "\n".join(lines + writer.text(x) + ["  return", "}", "}"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--layers", type=int, default=24)
    parser.add_argument("--tokens", type=int, default=1024)
    parser.add_argument("--hidden", type=int, default=1024)
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--inner", type=int, default=4096)
    print(emit(**vars(parser.parse_args())), end="")


if __name__ == "__main__":
    main()
