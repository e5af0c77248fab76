//===- gpu-async-lsp-server.cpp - MLIR files in editors -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mlir-lsp-server with the dialect of this project: diagnostics, definitions,
// uses and completion of .mlir files in editors that speak the Language Server
// Protocol.
//===----------------------------------------------------------------------===//

#include "GPUAsync/InitAll.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  // Operations of the transform dialect name passes, which must be known.
  mlir::registerAllPasses();
  mlir::gpuasync::registerAllGPUAsyncPasses();

  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllGPUToLLVMIRTranslations(registry);
  mlir::gpuasync::registerAllGPUAsyncDialects(registry);
  return failed(mlir::MlirLspServerMain(argc, argv, registry));
}
