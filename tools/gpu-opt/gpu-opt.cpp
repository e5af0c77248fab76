//===- gpu-opt.cpp - run passes on MLIR files -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mlir-opt with the dialect and passes of this project: all upstream dialects,
// extensions, translations and passes, plus ours.
//===----------------------------------------------------------------------===//

// MlirOptMain.h needs Builders.h before it.
#include "mlir/IR/Builders.h"

#include "GPUAsync/InitAll.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::registerAllPasses();

  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllGPUToLLVMIRTranslations(registry);
  mlir::gpuasync::registerAllGPUAsyncDialects(registry);
  mlir::gpuasync::registerAllGPUAsyncPasses();

  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "gpu-async modular optimizer driver\n", registry));
}
