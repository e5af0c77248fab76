//===- Plugin.cpp - gpu-async for upstream's mlir-opt ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries that MLIR's plugin loaders look for: --load-dialect-plugin and
// --load-pass-plugin of any mlir-opt that links the shared libMLIR 22.1.
//===----------------------------------------------------------------------===//

#include "GPUAsync/InitAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

using namespace mlir;

/// The passes come with the dialect, so that one option is enough. A program
/// that has them already, like gpu-opt, keeps its own.
extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT ::mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "GPUAsync", GPUASYNC_VERSION,
          [](DialectRegistry *registry) {
            if (!registry->getDialectAllocator("gpu_async"))
              gpuasync::registerAllGPUAsyncDialects(*registry);
            gpuasync::registerAllGPUAsyncPasses();
          }};
}

/// Without the dialect: programs in upstream's gpu dialect need no more.
extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT ::mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "GPUAsync", GPUASYNC_VERSION,
          gpuasync::registerAllGPUAsyncPasses};
}
