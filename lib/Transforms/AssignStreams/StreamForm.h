//===- StreamForm.h - the rewrite of one function ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Internal to lib/Transforms: from the linear to the stream form, along a
// StreamAssignment.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_TRANSFORMS_ASSIGNSTREAMS_STREAMFORM_H
#define GPUASYNC_LIB_TRANSFORMS_ASSIGNSTREAMS_STREAMFORM_H

#include "GPUAsync/Analysis/Streams/PrecedingWork.h"
#include "GPUAsync/Analysis/Streams/StreamAssignment.h"
#include "GPUAsync/Analysis/Streams/StreamClocks.h"
#include "GPUAsync/Analysis/Streams/TokenSources.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::gpuasync {

/// Walks the function twice in program order. The first time only what takes
/// device time is there, to see between what allocations and frees can go; the
/// second time streams and events are made.
class StreamForm {
public:
  StreamForm(FunctionOpInterface function, TokenSources &sources,
             unsigned maxStreams);

  LogicalResult run();

private:
  /// A point with what is known to be before it, and where it is.
  struct Point {
    StreamPoint point;
    StreamClock clock;
    unsigned order = 0; ///< points that are made later have higher numbers
    /// Behind `op`, or at the start of `block`.
    Operation *op = nullptr;
    Block *block = nullptr;
    Value event; ///< made when the first one waits for it
  };
  /// Something on a stream, as allocations and frees see it.
  struct Item {
    unsigned order; ///< number of its op in program order
    unsigned position;
    StreamClock clock;
    Block *block;
  };

  FunctionOpInterface function;
  TokenSources &sources;
  StreamAssignment assignment;
  unsigned maxStreams;
  OpBuilder builder;
  /// Region ops with device work or tokens in them.
  llvm::DenseSet<Operation *> regionOps;
  PrecedingWork *preceding = nullptr;

  // The walk.
  bool isEmitting = false;
  StreamClocks clocks;
  llvm::MapVector<Value, Point> points;
  unsigned numPoints = 0, numStreams = 0, order = 0;
  Block *block = nullptr;       ///< that the walk is in
  SmallVector<unsigned> workOn; ///< last position that takes device time
  /// Last position that can keep a stream busy: device work, or what waits for
  /// another stream.
  SmallVector<unsigned> busyUpTo;
  SmallVector<unsigned> usedUpTo; ///< last position of an op
  llvm::DenseMap<Operation *, llvm::SetVector<unsigned>> usedIn;

  // Found by the first walk, for allocations and frees.
  std::vector<std::vector<Item>> items;
  llvm::DenseMap<Operation *, unsigned> orderOf;
  llvm::DenseMap<Operation *, StreamClock> requiredOf;
  SmallVector<WorkOpInterface> floating;
  llvm::DenseMap<Value, SmallVector<Operation *>> consumers;
  std::vector<StreamAssignment::Stream> streams;
  llvm::DenseMap<Operation *, unsigned> floatStreams;

  // Made by the second walk.
  SmallVector<Value> values; ///< by stream
  SmallVector<Value> events;
  llvm::SmallBitVector idleAtExit;

  void prepare();
  void findUses();
  void walk();
  void walkBlock(Block &block);
  void visit(Operation *op);
  void visitWork(WorkOpInterface work);
  void visitJoin(WaitOp join);
  void visitHostWait(WaitOp wait);
  void visitCall(Operation *call);
  void visitReturn(Operation *op);
  void visitLoop(Operation *op);
  void visitBranch(Operation *op);
  void update(ArrayRef<CarriedToken> carried, unsigned region,
              Operation *terminator);
  void setPoint(const CarriedToken &carried, Operation *behind, Block *startOf);

  StreamClock enqueue(unsigned stream, bool isBusy, bool isWork,
                      bool isUse = true);
  SmallVector<Point *> getPoints(const llvm::SetVector<Value> &tokens);
  bool wait(unsigned stream, const llvm::SetVector<Value> &tokens,
            Operation *before);
  void waitAlone(unsigned stream, ValueRange tokens, Operation *before);
  void addConsumer(Operation *op, ValueRange tokens,
                   bool isOrderedByHost = false);
  /// What the present walk waits for.
  Through getThrough() const {
    return isEmitting ? Through::Unwaited : Through::Floating;
  }
  Value getEvent(Point &point);
  Value recordAt(const Point &point);
  Value getStreamValue(unsigned stream);
  Value handOn(Value token, Operation *before);
  std::optional<unsigned> getExternalStream();

  void assignFloating();
  unsigned addStream();
  bool mayAddStream() const;

  void removeTokens();
  void destroyEvents();
  void destroyExternalStreams();
  void placeStreams();
};

} // namespace mlir::gpuasync

#endif // GPUASYNC_LIB_TRANSFORMS_ASSIGNSTREAMS_STREAMFORM_H
