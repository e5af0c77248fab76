/*===- Register.h - dialect and passes in MLIR's C API ------------*- C -*-===*\
|*                                                                            *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|* For compilers that use MLIR through mlir-c: what InitAll.h is in C++. Link *|
|* GPUAsync::CAPI. MLIR's registries are not locked: no two threads at a time *|
|* may call these, nor use the same registry or context meanwhile.            *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef GPUASYNC_CAPI_REGISTER_H
#define GPUASYNC_CAPI_REGISTER_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/** `mlirGetDialectHandle__gpu_async__()`: the dialect alone, enough to read,
 *  verify and print IR of it. */
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(GPUAsync, gpu_async);

/** Adds to `registry` the dialect and all else that the passes need in a
 *  context: InitAll.h lists it. Adding twice does no harm. */
MLIR_CAPI_EXPORTED void
mlirRegisterAllGPUAsyncDialects(MlirDialectRegistry registry);

/** Registers this project's passes and `gpu-async-pipeline` under their names,
 *  for mlirParsePassPipeline and mlirOpPassManagerAddPipeline. Calling it
 *  twice does no harm. */
MLIR_CAPI_EXPORTED void mlirRegisterAllGPUAsyncPasses(void);

#ifdef __cplusplus
}
#endif

#endif /* GPUASYNC_CAPI_REGISTER_H */
