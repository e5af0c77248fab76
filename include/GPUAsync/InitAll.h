//===- InitAll.h - registration of everything -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a client calls before it makes a context: dialects, and passes if it
// names passes in text.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_INITALL_H
#define GPUASYNC_INITALL_H

namespace mlir {
class DialectRegistry;
}

namespace mlir::gpuasync {

/// Adds to `registry`, and is all that a client of buildGPUAsyncPipeline needs:
///  - the gpu_async dialect;
///  - the upstream dialects that the pipeline takes or makes: affine, arith,
///    async, bufferization, cf, complex, dlti, func, gpu, index, linalg, llvm,
///    math, memref, nvgpu, nvvm, scf, tensor, ub and vector;
///  - how they convert to LLVM (ConvertToLLVMPatternInterface), and the inliner
///    interfaces of func and llvm;
///  - how ops of these dialects are tiled, bufferized and freed;
///  - how kernels become code: the nvvm target attribute's serialisation;
///  - how the result becomes LLVM IR: the translations of builtin, gpu, llvm
///    and nvvm.
/// A client's own dialects take part in the lowering to LLVM if they implement
/// ConvertToLLVMPatternInterface. Adding twice does no harm.
void registerAllGPUAsyncDialects(DialectRegistry &registry);

/// Registers this project's passes and `gpu-async-pipeline` under their names.
/// Not needed to build the pipeline in C++. Does nothing where they are
/// registered; MLIR's registry of passes is not locked.
void registerAllGPUAsyncPasses();

} // namespace mlir::gpuasync

#endif // GPUASYNC_INITALL_H
