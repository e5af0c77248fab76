//===- Opt.cpp - gpu-opt as a function ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Opt.h.
//===----------------------------------------------------------------------===//

#include "Opt.h"

// MlirOptMain.h needs Builders.h before it.
#include "mlir/IR/Builders.h"

#include "GPUAsync/IR/Nesting.h"
#include "GPUAsync/InitAll.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

int gpuopt::runMain(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllGPUToLLVMIRTranslations(registry);
  mlir::gpuasync::registerAllGPUAsyncDialects(registry);
  mlir::gpuasync::registerAllGPUAsyncPasses();

  llvm::InitLLVM init(argc, argv);
  auto [inputName, outputName] = mlir::registerAndParseCLIOptions(
      argc, argv, "gpu-async modular optimizer driver\n", registry);
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return mlir::asMainReturnCode(
        mlir::MlirOptMain(argc, argv, inputName, outputName, registry));
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> input =
      mlir::openInputFile(inputName, &error);
  if (!input) {
    llvm::errs() << error << "\n";
    return EXIT_FAILURE;
  }
  if (std::optional<mlir::gpuasync::DeepNesting> deep =
          mlir::gpuasync::findDeepNesting(input->getBuffer())) {
    llvm::errs() << inputName << ":" << deep->line << ":" << deep->column
                 << ": error: " << deep->message << "\n";
    return EXIT_FAILURE;
  }
  std::unique_ptr<llvm::ToolOutputFile> output =
      mlir::openOutputFile(outputName, &error);
  if (!output) {
    llvm::errs() << error << "\n";
    return EXIT_FAILURE;
  }
  if (failed(
          mlir::MlirOptMain(output->os(), std::move(input), registry, config)))
    return EXIT_FAILURE;
  output->keep();
  return EXIT_SUCCESS;
}
