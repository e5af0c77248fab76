//===- Cutter.h - kernels as loops over threads -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cuts a kernel at its barriers. What the threads agree about, control flow
// around barriers above all, is run by the block; the pieces between become
// functions that loops over the threads call. Values that a thread needs in
// several pieces lie in ThreadMemory or are computed again.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_KERNELS_CPU_THREADS_CUTTER_H
#define GPUASYNC_LIB_KERNELS_CPU_THREADS_CUTTER_H

#include "Interchange.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::gpuasync::cpu {

/// A value that the threads leave in `array` at the end of a region.
struct Assignment {
  enum Kind {
    Plain,
    Mask,   ///< an i1: whether the thread is active and the value is true
    NotMask ///< an i1: whether the thread is active and the value is false
  };
  Value array, value;
  Kind kind = Plain;
};

/// The threads of the block that take part.
struct Active {
  /// Those whose place, a value of the thread, is at most `most`, as unsigned
  /// numbers. `greatest` is the greatest place that a thread of the block has.
  struct Limit {
    Value place, most, greatest;
  };
  /// Where there are places at which threads meet inside: a byte for each.
  Value mask;
  /// All of the block's if there is none.
  std::optional<ThreadBox> box;
  SmallVector<Limit> limits;
  bool isLimitedInX = false;
  /// Whether all threads in x take part in most blocks or rounds.
  bool isMostlyWhole = true;

  void addGuard(const Guard &guard, func::FuncOp kernel) {
    isLimitedInX |= guard.isLimitedIn(0);
    isMostlyWhole &= guard.isMostlyTrue(kernel);
  }
};

/// Whether `op` may trap, so that what stands before it may not come after.
/// MLIR calls some divisions pure.
bool mayTrap(Operation *op);

class Cutter {
public:
  Cutter(func::FuncOp kernel, int64_t workgroupBytes, int64_t sizeX,
         int64_t subgroupSize, function_ref<bool(func::CallOp)> mayFail)
      : kernel(kernel), workgroupBytes(workgroupBytes), sizeX(sizeX),
        subgroupSize(subgroupSize), mayFailCall(mayFail),
        builder(kernel.getContext()), i1(builder.getI1Type()) {}

  FailureOr<std::optional<CutKernel>> run();

private:
  // What is run by the block.
  void findBlockLevel();
  /// Whether threads may end in `root`.
  bool mayFail(Operation *root);
  bool isWorthGuarding();
  LogicalResult placeAllocas();
  bool staysInPiece(Operation *alloca);

  // The cut.
  void cut(Block &block, const Active &active, SmallVector<Operation *> &piece);
  void cutIf(scf::IfOp op, const Active &active,
             SmallVector<Operation *> &piece);
  void cutFor(scf::ForOp op, const Active &active,
              SmallVector<Operation *> &piece);
  void cutWhile(scf::WhileOp op, const Active &active,
                SmallVector<Operation *> &piece);
  void cutGuard(scf::IfOp op, const Active &active,
                SmallVector<Operation *> &piece);
  void cutBody(Block &block, ArrayRef<Value> arrays, const Active &active);
  struct Distance {
    std::optional<unsigned> dim; ///< whose id it is
    Value first;                 ///< where the first thread begins
    Value own, most;             ///< `most` if it is not an id
  };
  Distance buildDistance(scf::ForOp op);
  Active buildRound(scf::ForOp byBlock, const Distance &distance,
                    Active active);
  void buildRegion(SmallVector<Operation *> &piece,
                   ArrayRef<Assignment> assignments, const Active &active,
                   Operation *user);
  Value buildAnyActive(Value mask, Location loc);

  // Values.
  bool isRecomputed(Value value, unsigned &cost);
  bool isRecomputed(Operation *op);
  /// An array for values of `type`, and the value that stands for a thread's
  /// own element of it.
  Value createSlot(Location loc, Type type, Value &array);
  SmallVector<Value> createSlots(ValueRange values);
  void replaceBySlots(ValueRange results, ArrayRef<Value> arrays);
  void eraseArguments(Block &block, unsigned first, ArrayRef<Value> arrays);
  void erase(Operation *op) {
    // A new op may get its address.
    blockLevel.erase(op);
    meeting.erase(op);
    variance->forget(op);
    op->erase();
  }

  func::FuncOp kernel;
  int64_t workgroupBytes, sizeX, subgroupSize;
  function_ref<bool(func::CallOp)> mayFailCall;
  OpBuilder builder;
  Type i1;
  /// What the block runs, and what of it holds places where threads meet.
  llvm::DenseSet<Operation *> blockLevel, meeting;
  std::unique_ptr<ThreadVariance> variance;
  std::unique_ptr<ThreadMemory> memory;
  /// Values that stand for an element of an array.
  llvm::DenseMap<Value, Value> slots;
  SmallVector<Operation *> placeholders;
  /// Ops that each region repeats for itself.
  llvm::SetVector<Operation *> templates;
  /// Whether an error has been reported.
  bool isRefused = false;
  Value failedFlag;
  int64_t failedOffset = -1;
  CutKernel result;
};

} // namespace mlir::gpuasync::cpu

#endif // GPUASYNC_LIB_KERNELS_CPU_THREADS_CUTTER_H
