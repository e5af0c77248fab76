//===- StreamAssignment.h - which stream work runs on -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Assigns the work of a function in linear form to streams. A plain value; the
// pass gpu-async-assign-streams applies it.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_ANALYSIS_STREAMASSIGNMENT_H
#define GPUASYNC_ANALYSIS_STREAMASSIGNMENT_H

#include "GPUAsync/Analysis/StreamClocks.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::gpuasync {

/// Which work stands for what comes before it, besides forks and joins.
enum class Through {
  Nothing,
  /// What no one waits for: frees, and host-shared allocations, which are there
  /// once they have been enqueued.
  Unwaited,
  /// All allocations and frees: what takes device time remains.
  Floating,
};

/// The tokens of work ops and the token block arguments that `tokens` stand
/// for. Ready tokens stand for nothing.
llvm::SetVector<Value> getTokenSources(ValueRange tokens,
                                       Through through = Through::Nothing);

/// Which stream each work op of a function runs on. Allocations and frees
/// float: they go where they add no order between ops that the program leaves
/// unordered.
///
/// The assignment goes through the ops in program order. An op takes the stream
/// of a predecessor that is the last there, else a stream all of whose work is
/// known to be before it, else a new one while `maxStreams` (0: no limit)
/// allows, else the one that was used longest ago, which adds order. Blocks are
/// walked after those that lead to them.
class StreamAssignment {
public:
  struct Stream {
    /// A caller's stream: the pointer that names it, or the token argument
    /// that is a point on one. Null: a stream of ours.
    Value external;
  };

  StreamAssignment(FunctionOpInterface function, unsigned maxStreams);

  unsigned getStream(Operation *work) const { return streamOf.lookup(work); }
  ArrayRef<Stream> getStreams() const { return streams; }

  /// Every work op has a stream, those of a caller's stream keep theirs.
  LogicalResult verify() const;
  void print(raw_ostream &os) const;
  LLVM_DUMP_METHOD void dump() const;

private:
  struct Item {
    unsigned order;    ///< number of the op in program order
    unsigned position; ///< on its stream
    StreamClock clock;
  };

  FunctionOpInterface function;
  unsigned maxStreams;
  SmallVector<Stream> streams;
  llvm::MapVector<Operation *, unsigned> streamOf;
  /// What takes device time on each stream, in program order.
  std::vector<std::vector<Item>> items;

  /// What an allocation or free makes its stream wait for.
  struct Float {
    unsigned order;
    StreamClock clock;
  };
  std::vector<std::vector<Float>> floats;

  unsigned addStream(Value external);
  bool mayAddStream() const;
  unsigned getExternalStream(Value stream);
  unsigned pick(ValueRange sources, const StreamClock &required,
                const llvm::DenseMap<Value, StreamPoint> &points,
                const StreamClocks &clocks);
  void assignWork();
  void assignFloating();

  // Filled by assignWork for assignFloating.
  llvm::DenseMap<Operation *, unsigned> orderOf;
  llvm::DenseMap<Operation *, StreamClock> requiredOf;
};

} // namespace mlir::gpuasync

#endif // GPUASYNC_ANALYSIS_STREAMASSIGNMENT_H
