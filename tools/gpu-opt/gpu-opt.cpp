//===- gpu-opt.cpp - run passes on MLIR files -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mlir-opt with the dialect and passes of this project: all upstream dialects,
// extensions, translations and passes, plus ours.
//===----------------------------------------------------------------------===//

#include "Opt.h"

#include "mlir/InitAllPasses.h"

int main(int argc, char **argv) {
  mlir::registerAllPasses();
  return gpuopt::runMain(argc, argv);
}
