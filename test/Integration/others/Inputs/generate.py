# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Makes the kernels that upstream's passes make of a file:
#
#   generate.py MLIR_OPT FOLDER
#
# FOLDER gets NAME.mlir for each. What MLIR 22.1.8 makes is kept in passes/, for
# machines without mlir-opt.

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# The first two steps of the RUN lines of those tests; what follows there is lowering.
DISTRIBUTE = [["-test-vector-warp-distribute=hoist-uniform distribute-transfer-write propagate-distribution", "-canonicalize"],
              ["-test-vector-warp-distribute=rewrite-warp-ops-to-scf-if"]]
TRANSFORM = [["--transform-interpreter", "--test-transform-dialect-erase-schedule", "--canonicalize", "--cse"]]
LOOPS = [["--pass-pipeline=builtin.module(transform-interpreter,test-transform-dialect-erase-schedule,canonicalize,cse,"
          "one-shot-bufferize{bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map},"
          "canonicalize,cse,func.func(promote-buffers-to-stack,convert-linalg-to-loops,scf-forall-to-parallel,"
          "gpu-map-parallel-loops),convert-parallel-loops-to-gpu,lower-affine,canonicalize,cse)"]]
# name: the file that it is made of, and the options of each call of mlir-opt.
KERNELS = {
    "test-reduction-distribute": ("llvm/test-reduction-distribute.mlir", DISTRIBUTE),
    "test-warp-distribute": ("llvm/test-warp-distribute.mlir", DISTRIBUTE),
    "softmax": ("linalg/softmax.mlir", LOOPS),
    "transpose": ("linalg/transpose.mlir", TRANSFORM),
    "matmul": ("linalg/matmul.mlir", TRANSFORM),
}


def main():
    mlir_opt, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    for name, (source, steps) in KERNELS.items():
        with open(os.path.join(HERE, source), "rb") as file:
            text = file.read()
        for options in steps:
            text = subprocess.run([mlir_opt] + options, input=text, stdout=subprocess.PIPE, check=True).stdout
        with open(os.path.join(folder, name + ".mlir"), "wb") as file:
            file.write(text)


if __name__ == "__main__":
    main()
