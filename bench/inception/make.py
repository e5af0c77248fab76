#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes an inception-like block as a sequential gpu program without a token.

    upload -> { branch 0: kernel, kernel, ... } -> concat -> download
              { branch 1: ...                 }
              ...

Each branch works on buffers of its own and reads the same input. Nothing says
that branches are independent; gpu-async-infer-dependencies finds it. The
arithmetic is on whole numbers: every device and schedule gives the same bytes.

    make.py [--branches=12] [--kernels=3] [--elements=4096] [--block=128]
            [--work=64] [--resident] [--changing] > inception.mlir
    gpu-runner inception.mlir -e inception --input=4096xi32=1 --input=49152xi32 ...
    gpu-runner inception.mlir              # runs @main, which prints a few elements

`--work` is the length of each thread's chain of multiplications, so that a
kernel's time can be set without filling the device. With `--resident` the
arguments of @inception are device memory: nothing is uploaded or downloaded.
With `--changing` there is a third one, which is added to a parameter of each
kernel (and no @main).
"""

import argparse


def emit(branches, kernels, elements, block, work, resident=False, changing=False):
    total = branches * elements
    grid = -(-elements // block)
    parts = ", ".join(f"%p{b}: memref<{elements}xi32>" for b in range(branches))
    lines = [
        "// Made by bench/inception/make.py: "
        f"--branches={branches} --kernels={kernels} --elements={elements} --block={block} --work={work}"
        + (" --resident" if resident else "")
        + (" --changing" if changing else ""),
        "module attributes {gpu.container_module} {",
        "gpu.module @kernels {",
        f"  gpu.func @step(%x: memref<{elements}xi32>, %y: memref<{elements}xi32>, %salt: i32) kernel {{",
        "    %b = gpu.block_id x",
        "    %t = gpu.thread_id x",
        f"    %size = arith.constant {block} : index",
        f"    %n = arith.constant {elements} : index",
        "    %first = arith.muli %b, %size : index",
        "    %i = arith.addi %first, %t : index",
        "    %inside = arith.cmpi ult, %i, %n : index",
        "    scf.if %inside {",
        "      %c0 = arith.constant 0 : index",
        "      %c1 = arith.constant 1 : index",
        f"      %work = arith.constant {work} : index",
        "      %factor = arith.constant 1664525 : i32",
        f"      %v = memref.load %x[%i] : memref<{elements}xi32>",
        "      %r = scf.for %k = %c0 to %work step %c1 iter_args(%a = %v) -> (i32) {",
        "        %m = arith.muli %a, %factor : i32",
        "        %s = arith.addi %m, %salt : i32",
        "        scf.yield %s : i32",
        "      }",
        f"      memref.store %r, %y[%i] : memref<{elements}xi32>",
        "    }",
        "    gpu.return",
        "  }",
        f"  gpu.func @concat({parts}, %out: memref<{total}xi32>) kernel {{",
        "    %b = gpu.block_id x",
        "    %t = gpu.thread_id x",
        f"    %size = arith.constant {block} : index",
        f"    %n = arith.constant {elements} : index",
        "    %first = arith.muli %b, %size : index",
        "    %i = arith.addi %first, %t : index",
        "    %inside = arith.cmpi ult, %i, %n : index",
        "    scf.if %inside {",
    ]
    for b in range(branches):
        lines += [
            f"      %o{b} = arith.constant {b * elements} : index",
            f"      %i{b} = arith.addi %i, %o{b} : index",
            f"      %v{b} = memref.load %p{b}[%i] : memref<{elements}xi32>",
            f"      memref.store %v{b}, %out[%i{b}] : memref<{total}xi32>",
        ]
    lines += ["    }", "    gpu.return", "  }", "}", ""]

    shape = f"memref<{elements}xi32>"
    where = f"blocks in (%grid, %c1, %c1) threads in (%size, %c1, %c1)"
    lines += [
        f"func.func @inception(%in: {shape}, %out: memref<{total}xi32>{', %change: i32' if changing else ''}) {{",
        "  %c1 = arith.constant 1 : index",
        f"  %grid = arith.constant {grid} : index",
        f"  %size = arith.constant {block} : index",
    ]
    if not resident:
        lines += [
            f"  %x = gpu.alloc () : {shape}",
            f"  gpu.memcpy %x, %in : {shape}, {shape}",
        ]
    first, all = ("%in", "%out") if resident else ("%x", "%all")
    for b in range(branches):
        source = first
        for k in range(kernels):
            name = f"%b{b}_{k}"
            salt = f"%salt{b}_{k}"
            constant = salt + "_constant" if changing else salt
            lines += [
                f"  {constant} = arith.constant {1013904223 - 977 * (b * kernels + k)} : i32",
                *([f"  {salt} = arith.addi {constant}, %change : i32"] if changing else []),
                f"  {name} = gpu.alloc () : {shape}",
                f"  gpu.launch_func @kernels::@step {where} args({source} : {shape}, {name} : {shape}, {salt} : i32)",
            ]
            if k > 0:
                lines.append(f"  gpu.dealloc {source} : {shape}")
            source = name
    last = ", ".join(f"%b{b}_{kernels - 1} : {shape}" for b in range(branches))
    if not resident:
        lines.append(f"  %all = gpu.alloc () : memref<{total}xi32>")
    lines.append(f"  gpu.launch_func @kernels::@concat {where} args({last}, {all} : memref<{total}xi32>)")
    if not resident:
        lines += [
            f"  gpu.memcpy %out, %all : memref<{total}xi32>, memref<{total}xi32>",
            f"  gpu.dealloc %x : {shape}",
        ]
    lines += [f"  gpu.dealloc %b{b}_{kernels - 1} : {shape}" for b in range(branches)]
    if not resident:
        lines.append(f"  gpu.dealloc %all : memref<{total}xi32>")
    lines += ["  return", "}", ""]
    if resident or changing:
        return "\n".join(lines + ["}"]) + "\n"

    lines += [
        "// The first element of each branch for an input of all ones.",
        "func.func @main() {",
        "  %c0 = arith.constant 0 : index",
        "  %c1 = arith.constant 1 : index",
        f"  %n = arith.constant {elements} : index",
        f"  %branches = arith.constant {branches} : index",
        "  %one = arith.constant 1 : i32",
        f"  %in = memref.alloc() : {shape}",
        f"  %out = memref.alloc() : memref<{total}xi32>",
        f"  %firsts = memref.alloc() : memref<{branches}xi32>",
        "  scf.for %i = %c0 to %n step %c1 {",
        f"    memref.store %one, %in[%i] : {shape}",
        "  }",
        f"  call @inception(%in, %out) : ({shape}, memref<{total}xi32>) -> ()",
        "  scf.for %b = %c0 to %branches step %c1 {",
        "    %i = arith.muli %b, %n : index",
        f"    %v = memref.load %out[%i] : memref<{total}xi32>",
        f"    memref.store %v, %firsts[%b] : memref<{branches}xi32>",
        "  }",
        f"  %u = memref.cast %firsts : memref<{branches}xi32> to memref<*xi32>",
        "  call @printMemrefI32(%u) : (memref<*xi32>) -> ()",
        f"  memref.dealloc %in : {shape}",
        f"  memref.dealloc %out : memref<{total}xi32>",
        f"  memref.dealloc %firsts : memref<{branches}xi32>",
        "  return",
        "}",
        "func.func private @printMemrefI32(memref<*xi32>)",
        "}",
    ]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--branches", type=int, default=12)
    parser.add_argument("--kernels", type=int, default=3)
    parser.add_argument("--elements", type=int, default=4096)
    parser.add_argument("--block", type=int, default=128)
    parser.add_argument("--work", type=int, default=64)
    parser.add_argument("--resident", action="store_true")
    parser.add_argument("--changing", action="store_true")
    options = parser.parse_args()
    print(emit(**vars(options)), end="")


if __name__ == "__main__":
    main()
