//===- BufferizeCollectives.cpp - memory for collectives of tensors -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How gpu_async.tensor_collective becomes gpu_async.collective.
//===----------------------------------------------------------------------===//

#include "BufferizeCollectives.h"

#include "GPUAsync/IR/GPUAsyncOps.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
/// Memory without gaps in place of `memory`.
FailureOr<Value> makeWithoutGaps(OpBuilder &builder, Location loc, Value memory,
                                 const bufferization::BufferizationOptions &o) {
  auto type = cast<MemRefType>(memory.getType());
  SmallVector<Value> sizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim))
      sizes.push_back(memref::DimOp::create(builder, loc, memory, dim));
  return o.createAlloc(builder, loc,
                       MemRefType::get(type.getShape(), type.getElementType(),
                                       AffineMap(), type.getMemorySpace()),
                       sizes);
}

struct BufferizeCollective
    : public bufferization::DstBufferizableOpInterfaceExternalModel<
          BufferizeCollective, TensorCollectiveOp> {
  /// A collective never reads what its destination held before.
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const bufferization::AnalysisState &) const {
    return &operand == &cast<TensorCollectiveOp>(op).getSourceMutable();
  }

  /// Some collectives may have one memory for both operands.
  bool bufferizesToElementwiseAccess(Operation *op,
                                     const bufferization::AnalysisState &,
                                     ArrayRef<OpOperand *>) const {
    return mayBeInPlace(cast<TensorCollectiveOp>(op).getWhat().getKind());
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const bufferization::BufferizationOptions &options,
                          bufferization::BufferizationState &state) const {
    auto collective = cast<TensorCollectiveOp>(op);
    Location loc = op->getLoc();
    FailureOr<Value> source = bufferization::getBuffer(
        rewriter, collective.getSource(), options, state);
    FailureOr<Value> destination = bufferization::getBuffer(
        rewriter, collective.getDestination(), options, state);
    if (failed(source) || failed(destination))
      return failure();
    Value from = *source, to = *destination;
    if (!hasNoGaps(cast<MemRefType>(from.getType()))) {
      FailureOr<Value> copy = makeWithoutGaps(rewriter, loc, from, options);
      if (failed(copy) ||
          failed(options.createMemCpy(rewriter, loc, from, *copy)))
        return failure();
      from = *copy;
    }
    if (!hasNoGaps(cast<MemRefType>(to.getType()))) {
      FailureOr<Value> other = makeWithoutGaps(rewriter, loc, to, options);
      if (failed(other))
        return failure();
      to = *other;
    }
    CollectiveOp::create(rewriter, loc, /*asyncToken=*/Type(),
                         /*asyncDependencies=*/ValueRange(),
                         /*stream=*/Value(), /*id=*/IntegerAttr(),
                         /*after=*/DenseI64ArrayAttr(), collective.getWhat(),
                         collective.getGroupAttr(), to, from,
                         collective.getOverlapped());
    if (to != *destination &&
        failed(options.createMemCpy(rewriter, loc, to, *destination)))
      return failure();
    bufferization::replaceOpWithBufferizedValues(rewriter, op, *destination);
    return success();
  }
};
} // namespace

void offload::registerCollectiveBufferization(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, GPUAsyncDialect *) {
    TensorCollectiveOp::attachInterface<BufferizeCollective>(*context);
    context->loadDialect<memref::MemRefDialect>();
  });
}
