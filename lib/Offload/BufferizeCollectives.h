//===- BufferizeCollectives.h - memory of collectives -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface by which upstream's bufferization takes
// gpu_async.tensor_collective.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_BUFFERIZECOLLECTIVES_H
#define GPUASYNC_LIB_OFFLOAD_BUFFERIZECOLLECTIVES_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::gpuasync::offload {

/// Gives gpu_async.tensor_collective the interface, in contexts of `registry`.
void registerCollectiveBufferization(DialectRegistry &registry);

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_BUFFERIZECOLLECTIVES_H
