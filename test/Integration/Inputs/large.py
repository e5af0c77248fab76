# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Writes programs that are large or deep: large.py KIND NUMBER

import sys

LAUNCH = ("  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)"
          " threads(%tx, %ty, %tz) in (%sx = %c4, %sy = %c1, %sz = %c1) {\n")


def twice(number, kind, last):
    """Functions of which each calls the next one twice."""
    text = ""
    for i in range(number - 1):
        text += (f"func.func private @f{i}(%x: {kind}) -> {kind} {{\n  %a = func.call @f{i + 1}(%x) : ({kind}) -> {kind}\n"
                 f"  %b = func.call @f{i + 1}(%a) : ({kind}) -> {kind}\n  return %b : {kind}\n}}\n")
    return text + f"func.func private @f{number - 1}(%x: {kind}) -> {kind} {{\n{last}  return %r : {kind}\n}}\n"


def tensorCalls(number):
    return twice(number, "tensor<4xi32>", "  %r = arith.addi %x, %x : tensor<4xi32>\n") + (
        "func.func @main(%x: tensor<4xi32>) -> tensor<4xi32> {\n"
        "  %r = call @f0(%x) : (tensor<4xi32>) -> tensor<4xi32>\n  return %r : tensor<4xi32>\n}\n")


ADD = "  %one = arith.constant 1 : i32\n  %r = arith.addi %x, %one : i32\n"


def scalarCalls(number):
    return twice(number, "i32", ADD) + (
        "func.func @main(%m: memref<4xi32>) {\n"
        "  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = [\"parallel\"]} outs(%m : memref<4xi32>) {\n"
        "  ^bb0(%o: i32):\n    %r = func.call @f0(%o) : (i32) -> i32\n    linalg.yield %r : i32\n  }\n  return\n}\n")


def barrierCalls(number):
    return "module attributes {gpu.container_module} {\ngpu.module @k {\n" + twice(number, "i32", "  gpu.barrier\n" + ADD) + (
        "gpu.func @kernel(%m: memref<4xi32>) kernel {\n  %t = gpu.thread_id x\n  %v = memref.load %m[%t] : memref<4xi32>\n"
        "  %r = func.call @f0(%v) : (i32) -> i32\n  memref.store %r, %m[%t] : memref<4xi32>\n  gpu.return\n}\n}\n"
        "func.func @main(%m: memref<4xi32>) {\n  %c1 = arith.constant 1 : index\n  %c4 = arith.constant 4 : index\n"
        "  gpu.launch_func @k::@kernel blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1) args(%m : memref<4xi32>)\n  return\n}\n}\n")


def chain(number, before, name):
    """Each of these ops uses the one before and an element."""
    text = before
    value = name
    for i in range(number):
        text += "  %%a%d = arith.%s %s, %s : i32\n" % (i, ("muli", "addi", "xori")[i % 3], value, name)
        value = "%%a%d" % i
    return text, value


def hostOps(number):
    text, value = chain(number, "func.func @main(%x: i32) -> i32 {\n", "%x")
    return text + "  return %s : i32\n}\n" % value


def kernelOps(number):
    text, value = chain(number, "func.func @main(%m: memref<4xi32>) {\n  %c1 = arith.constant 1 : index\n  %c4 = arith.constant 4 : index\n" +
                        LAUNCH + "  %x = memref.load %m[%tx] : memref<4xi32>\n", "%x")
    return text + "  memref.store %s, %%m[%%tx] : memref<4xi32>\n  gpu.terminator\n  }\n  return\n}\n" % value


def elementwiseOps(number):
    return hostOps(number).replace("i32", "tensor<4xi32>")


def nestedRegions(number):
    return ("func.func @main(%c: i1) {\n" + "scf.if %c {\n" * number + "}\n" * number + "return\n}\n")


def nestedTypes(number):
    return "func.func private @f(" + "tuple<" * number + "i1" + ">" * number + ")\nfunc.func @main() {\n  return\n}\n"


if __name__ == "__main__":
    sys.stdout.write(globals()[sys.argv[1]](int(sys.argv[2])))
