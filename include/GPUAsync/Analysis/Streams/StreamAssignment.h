//===- StreamAssignment.h - which stream work runs on -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Assigns the work of a function in linear form to streams. A plain value; the
// pass gpu-async-assign-streams applies it.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_ANALYSIS_STREAMS_STREAMASSIGNMENT_H
#define GPUASYNC_ANALYSIS_STREAMS_STREAMASSIGNMENT_H

#include "GPUAsync/Analysis/Streams/PathCover.h"
#include "GPUAsync/Analysis/Streams/TokenSources.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

#include <memory>

namespace mlir::gpuasync {

/// Streams for what takes device time: waits between streams are the fewest,
/// then streams (D11).
///
/// Each block is a DAG of its own, covered by paths (PathCover.h). A region op
/// is a bundle of *strands* in its parent's DAG, one for each stream that its
/// regions use: the regions are covered first, and each of their paths is
/// (alternatives: one over the other) a strand. A token that control flow
/// carries is bound to a strand: in a loop's body it is the first on a path and
/// its update the last on the same path, in a branch the last. A strand comes
/// after what it needs from outside before its first op, so that the parent can
/// put it behind that on one stream.
///
/// Beyond `maxStreams` order has to be added. Then the paths of the function's
/// body are dealt out again in program order: behind the predecessor on the
/// path if that is still the last on its stream, else where no order is added,
/// else where work can start first, the longest way to the end deciding ties.
class StreamAssignment {
public:
  struct Stream {
    /// A caller's stream: the pointer that names it. Null: a stream of ours.
    Value external;
  };
  /// A wait that a loop's stream makes once, before the loop.
  struct EntryWait {
    unsigned stream;
    Value point;
  };

  /// `maxStreams` 0: no limit.
  StreamAssignment(FunctionOpInterface function, const TokenSources &sources,
                   unsigned maxStreams);
  ~StreamAssignment();

  ArrayRef<Stream> getStreams() const { return streams; }
  /// The stream of a point: the token of work that takes device time, of a join
  /// that is kept, or a carried token's.
  unsigned getStream(Value point) const { return streamOf.lookup(point); }
  bool hasStream(Value point) const { return streamOf.contains(point); }
  /// What streams of the loop wait for before it, besides what tokens that it
  /// carries are at first.
  ArrayRef<EntryWait> getEntryWaits(Operation *loop) const;

  /// Every op that takes device time has a stream, those on a caller's stream
  /// keep theirs.
  LogicalResult verify() const;
  void print(raw_ostream &os) const;
  LLVM_DUMP_METHOD void dump() const;

private:
  struct BlockPlan;
  struct RegionPlan;

  FunctionOpInterface function;
  const TokenSources &sources;
  SmallVector<Stream> streams;
  llvm::MapVector<Value, unsigned> streamOf;
  llvm::DenseMap<Operation *, SmallVector<EntryWait>> entryWaits;

  struct Binding;
  std::unique_ptr<BlockPlan> plan(Block &block, ArrayRef<Binding> bindings);
  void planRegionOp(Operation *op, BlockPlan &parent);
  void place(const BlockPlan &plan, ArrayRef<unsigned> streamOfNode);
  unsigned getExternalStream(Value stream);
};

} // namespace mlir::gpuasync

#endif // GPUASYNC_ANALYSIS_STREAMS_STREAMASSIGNMENT_H
