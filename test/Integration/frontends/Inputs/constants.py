# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Writes a program of tensors in which arguments of @main are constants: those
# that gpu-runner's --input=random:SEED makes (docs/reference/gpu-runner.md).
#   constants.py FILE FIRST: argument number i, from FIRST on, has the seed i + 1
import re
import struct
import sys

MASK = (1 << 64) - 1


def mix(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def dense(seed, shape):
    count = 1
    for size in shape:
        count *= size
    bits = (mix(seed + i * 0x9E3779B97F4A7C15 & MASK) >> 40 for i in range(1, count + 1))
    values = [k / 2.0**23 - 1 for k in bits]
    return '"0x' + struct.pack(f"<{count}f", *values).hex() + '"'


text = open(sys.argv[1]).read()
first = int(sys.argv[2])
head = re.search(r"func\.func (?:public )?@main\((.*?)\) ->.*\{\n", text)
arguments = [part.split(": ") for part in re.split(r", (?=%)", head[1])]
constants = "".join(
    f"    {name} = arith.constant dense<{dense(i + 1, [int(n) for n in kind[7:-5].split('x')])}> : {kind}\n"
    for i, (name, kind) in enumerate(arguments)
    if i >= first)
kept = ", ".join(f"{name}: {kind}" for name, kind in arguments[:first])
sys.stdout.write(text[:head.start(1)] + kept + text[head.end(1):head.end()] + constants + text[head.end():])
