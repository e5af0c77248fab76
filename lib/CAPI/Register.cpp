//===- Register.cpp - dialect and passes in MLIR's C API ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// InitAll.h for callers in C.
//===----------------------------------------------------------------------===//

#include "GPUAsync/CAPI/Register.h"
#include "GPUAsync/IR/GPUAsyncDialect.h"
#include "GPUAsync/InitAll.h"
#include "mlir/CAPI/Registration.h"

using namespace mlir;

MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(GPUAsync, gpu_async,
                                      gpuasync::GPUAsyncDialect)

void mlirRegisterAllGPUAsyncDialects(MlirDialectRegistry registry) {
  gpuasync::registerAllGPUAsyncDialects(*unwrap(registry));
}

void mlirRegisterAllGPUAsyncPasses(void) {
  gpuasync::registerAllGPUAsyncPasses();
}
