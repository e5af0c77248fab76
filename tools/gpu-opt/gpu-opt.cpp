//===- gpu-opt.cpp - run passes on MLIR files -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mlir-opt with the dialect and passes of this project: all upstream dialects,
// extensions, translations and passes, plus ours.
//===----------------------------------------------------------------------===//

// MlirOptMain.h needs Builders.h before it.
#include "mlir/IR/Builders.h"

#if __has_include("GPUAsync/InitAll.h")
#include "GPUAsync/InitAll.h"
#define GPUASYNC_HAVE_INIT_ALL 1
#else
#include "GPUAsync/IR/GPUAsyncDialect.h"
#endif

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
#ifdef GPUASYNC_HAVE_INIT_ALL
  mlir::gpuasync::registerAllGPUAsyncDialects(registry);
  mlir::gpuasync::registerAllGPUAsyncPasses();
#else
  registry.insert<mlir::gpuasync::GPUAsyncDialect>();
#endif

  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "gpu-async modular optimizer driver\n", registry));
}
