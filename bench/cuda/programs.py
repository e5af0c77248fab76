#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes programs of small kernels for the benchmarks of this folder.

    programs.py steps [--count=10] [--io]   kernels on 1024 f32, each on what the
                                            one before made, into a buffer of its own
    programs.py fork [--io]                 one, four branches of two on what it
                                            made, and the sum of theirs
    programs.py chain [--count=10]          launches that count 32 i32 up
    programs.py loop                        iterations of two kernels on 32 i32,
                                            as many as an argument says
    programs.py sizes                       a fork of two whose sizes are arguments

Nothing says that branches are independent. The arguments are in device memory; with
--io they are in host memory, and are uploaded and downloaded. GraphPrograms.cpp and HandWritten.cpp have the same by hand.
"""

import argparse

FACTORS = ["0.5", "0.25", "0.75"]
WHERE = "blocks in (%grid, %c1, %c1) threads in (%size, %c1, %c1)"


def kernel(name, parameters, n, body, block=256):
    """`body` for each element %i of %n."""
    return [
        f"  gpu.func @{name}({parameters}) kernel {{",
        "    %b = gpu.block_id x",
        "    %t = gpu.thread_id x",
        f"    %size = arith.constant {block} : index",
        *([f"    %n = arith.constant {n} : index"] if n else []),
        "    %first = arith.muli %b, %size : index",
        "    %i = arith.addi %first, %t : index",
        "    %inside = arith.cmpi ult, %i, %n : index",
        "    scf.if %inside {",
        *["      " + line for line in body],
        "    }",
        "    gpu.return",
        "  }",
    ]


FLOATS = "memref<1024xf32>"
STEP = kernel("step", f"%x: {FLOATS}, %y: {FLOATS}, %factor: f32, %term: f32", 1024, [
    f"%v = memref.load %x[%i] : {FLOATS}",
    "%m = arith.mulf %v, %factor : f32",
    "%s = arith.addf %m, %term : f32",
    f"memref.store %s, %y[%i] : {FLOATS}",
])
SUM = kernel("sum4", ", ".join(f"%p{i}: {FLOATS}" for i in range(4)) + f", %y: {FLOATS}", 1024, [
    *[f"%v{i} = memref.load %p{i}[%i] : {FLOATS}" for i in range(4)],
    "%s1 = arith.addf %v0, %v1 : f32",
    "%s2 = arith.addf %s1, %v2 : f32",
    "%s3 = arith.addf %s2, %v3 : f32",
    f"memref.store %s3, %y[%i] : {FLOATS}",
])


def module(kernels, function):
    return "\n".join(["module attributes {gpu.container_module} {", "gpu.module @kernels {", *kernels, "}", *function, "}", ""])


def alloc(name, shape=FLOATS):
    return f"  {name} = gpu.alloc () : {shape}"


def dealloc(name, shape=FLOATS):
    return f"  gpu.dealloc {name} : {shape}"


def step(k, source, target):
    return [
        f"  %factor{k} = arith.constant {FACTORS[k % 3]} : f32",
        f"  %term{k} = arith.constant {1 + k % 5}.0 : f32",
        f"  gpu.launch_func @kernels::@step {WHERE} args({source} : {FLOATS}, {target} : {FLOATS}, %factor{k} : f32, %term{k} : f32)",
    ]


def floats(name, io, kernels, body):
    """A function of %in and %out; `body` gets what to read and to write."""
    lines = [
        f"func.func @{name}(%in: {FLOATS}, %out: {FLOATS}) {{",
        "  %c1 = arith.constant 1 : index",
        "  %grid = arith.constant 4 : index",
        "  %size = arith.constant 256 : index",
    ]
    if not io:
        return module(kernels, [*lines, *body("%in", "%out"), "  return", "}"])
    return module(kernels, [
        *lines,
        alloc("%x"),
        f"  gpu.memcpy %x, %in : {FLOATS}, {FLOATS}",
        alloc("%all"),
        *body("%x", "%all"),
        dealloc("%x"),
        f"  gpu.memcpy %out, %all : {FLOATS}, {FLOATS}",
        dealloc("%all"),
        "  return",
        "}",
    ])


def steps(options):
    def body(source, target):
        lines = []
        for k in range(options.count):
            last = k == options.count - 1
            to = target if last else f"%r{k}"
            lines += [] if last else [alloc(to)]
            lines += step(k, source, to)
            lines += [dealloc(source)] if k else []
            source = to
        return lines

    return floats("steps", options.io, STEP, body)


def fork(options):
    def body(source, target):
        lines = [alloc("%root"), *step(0, source, "%root")]
        for b in range(4):
            lines += [alloc(f"%a{b}"), *step(1 + 2 * b, "%root", f"%a{b}")]
            lines += [alloc(f"%b{b}"), *step(2 + 2 * b, f"%a{b}", f"%b{b}"), dealloc(f"%a{b}")]
        lines += [dealloc("%root")]
        parts = ", ".join(f"%b{b} : {FLOATS}" for b in range(4))
        lines += [f"  gpu.launch_func @kernels::@sum4 {WHERE} args({parts}, {target} : {FLOATS})"]
        return lines + [dealloc(f"%b{b}") for b in range(4)]

    return floats("fork", options.io, STEP + SUM, body)


ROW = "memref<32xi32>"


def in_place(name, value):
    return [
        f"  gpu.func @{name}(%x: {ROW}) kernel {{",
        "    %i = gpu.thread_id x",
        f"    %v = memref.load %x[%i] : {ROW}",
        *["    " + line for line in value],
        f"    memref.store %w, %x[%i] : {ROW}",
        "    gpu.return",
        "  }",
    ]


INCREMENT = in_place("increment", ["%one = arith.constant 1 : i32", "%w = arith.addi %v, %one : i32"])
TRIPLE = in_place("triple", ["%three = arith.constant 3 : i32", "%w = arith.muli %v, %three : i32"])
ONE_BLOCK = ["  %c1 = arith.constant 1 : index", "  %c32 = arith.constant 32 : index"]
ON_ROW = f"blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1) args(%x : {ROW})"


def chain(options):
    lines = [f"func.func @chain(%x: {ROW}) {{", *ONE_BLOCK, "  %t0 = gpu.wait async"]
    for k in range(options.count):
        lines += [f"  %t{k + 1} = gpu.launch_func async [%t{k}] @kernels::@increment {ON_ROW}"]
    return module(INCREMENT, lines + [f"  gpu.wait [%t{options.count}]", "  return", "}"])


def loop(_):
    return module(INCREMENT + TRIPLE, [
        f"func.func @loop(%x: {ROW}, %trips: index) {{",
        "  %c0 = arith.constant 0 : index",
        *ONE_BLOCK,
        "  scf.for %k = %c0 to %trips step %c1 {",
        f"    gpu.launch_func @kernels::@increment {ON_ROW}",
        f"    gpu.launch_func @kernels::@triple {ON_ROW}",
        "  }",
        "  return",
        "}",
    ])


def sizes(_):
    shape = "memref<?xi32>"
    add = kernel("add", f"%x: {shape}, %y: {shape}, %n: index, %term: i32", 0, [
        f"%v = memref.load %x[%i] : {shape}",
        "%s = arith.addi %v, %term : i32",
        f"memref.store %s, %y[%i] : {shape}",
    ])
    both = kernel("both", f"%p: {shape}, %q: {shape}, %y: {shape}, %n: index", 0, [
        f"%v = memref.load %p[%i] : {shape}",
        f"%w = memref.load %q[%i] : {shape}",
        "%s = arith.addi %v, %w : i32",
        f"memref.store %s, %y[%i] : {shape}",
    ])
    launch = "  gpu.launch_func @kernels::@"
    return module(add + both, [
        f"func.func @sizes(%in: {shape}, %out: {shape}, %n: index, %term: i32) {{",
        "  %c1 = arith.constant 1 : index",
        "  %size = arith.constant 256 : index",
        "  %grid = arith.ceildivui %n, %size : index",
        "  %seven = arith.constant 7 : i32",
        "  %other = arith.addi %term, %seven : i32",
        f"  %p = gpu.alloc (%n) : {shape}",
        f"  %q = gpu.alloc (%n) : {shape}",
        f"{launch}add {WHERE} args(%in : {shape}, %p : {shape}, %n : index, %term : i32)",
        f"{launch}add {WHERE} args(%in : {shape}, %q : {shape}, %n : index, %other : i32)",
        f"{launch}both {WHERE} args(%p : {shape}, %q : {shape}, %out : {shape}, %n : index)",
        dealloc("%p", shape),
        dealloc("%q", shape),
        "  return",
        "}",
    ])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    programs = {"steps": steps, "fork": fork, "chain": chain, "loop": loop, "sizes": sizes}
    parser.add_argument("program", choices=programs)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--io", action="store_true")
    options = parser.parse_args()
    print(programs[options.program](options), end="")


if __name__ == "__main__":
    main()
