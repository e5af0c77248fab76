//===- jit.cpp - A lowered program in MLIR's execution engine ---*- C++ -*-===//
//
// Part of gpu-async, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: embed-jit saxpy.mlir
// Lowers the file for the cpu device and runs its @saxpy by
// mlir::ExecutionEngine. Nothing in this file calls the runtime: the engine has
// to find it in the process, because the program links GPUAsync::Runtime.
//===----------------------------------------------------------------------===//

#include "GPUAsync/InitAll.h"
#include "GPUAsync/Kernels/Common/DataLayout.h"
#include "GPUAsync/Pipelines/Pipelines.h"

#include "mlir/ExecutionEngine/CRunnerUtils.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/TargetSelect.h"

#include <cstdio>
#include <cstdlib>

using namespace mlir;

template <typename T>
static T orDie(llvm::Expected<T> value) {
  if (!value) {
    llvm::errs() << llvm::toString(value.takeError()) << "\n";
    std::exit(1);
  }
  return std::move(*value);
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 1;
  DialectRegistry registry;
  mlir::gpuasync::registerAllGPUAsyncDialects(registry);
  MLIRContext context(registry);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(argv[1], &context);
  if (!module)
    return 1;

  PassManager passes(&context);
  mlir::gpuasync::GPUAsyncPipelineOptions options;
  options.targets.push_back("cpu");
  mlir::gpuasync::buildGPUAsyncPipeline(passes, options);
  if (failed(passes.run(*module)))
    return 1;

  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto host = orDie(llvm::orc::JITTargetMachineBuilder::detectHost());
  mlir::gpuasync::setDataLayout(*module,
                                orDie(host.getDefaultDataLayoutForTarget()));
  std::unique_ptr<ExecutionEngine> engine =
      orDie(ExecutionEngine::create(*module));

  float a = 2, x[] = {1, 2, 3}, y[] = {10, 20, 30};
  StridedMemRefType<float, 1> xs = {x, x, 0, {3}, {1}},
                              ys = {y, y, 0, {3}, {1}};
  void *arguments[] = {&a,         &xs.basePtr, &xs.data,    &xs.offset,
                       xs.sizes,   xs.strides,  &ys.basePtr, &ys.data,
                       &ys.offset, ys.sizes,    ys.strides};
  if (llvm::Error error = engine->invokePacked("saxpy", arguments)) {
    llvm::errs() << llvm::toString(std::move(error)) << "\n";
    return 1;
  }
  std::printf("%g %g %g\n", y[0], y[1], y[2]);

  // The kernels are the engine's code: the runtime ends before the engine does.
  auto shutdown =
      reinterpret_cast<void *(*)()>(orDie(engine->lookup("gpuasync_shutdown")));
  return shutdown() != nullptr;
}
