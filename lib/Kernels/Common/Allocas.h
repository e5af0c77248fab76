//===- Allocas.h - stack slots ----------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the address of a stack slot may go, and how long the slot is needed.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_KERNELS_COMMON_ALLOCAS_H
#define GPUASYNC_LIB_KERNELS_COMMON_ALLOCAS_H

#include "mlir/IR/Dominance.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::gpuasync {

/// Whether `op` makes a stack slot: a memref.alloca or an llvm.alloca.
bool isAlloca(Operation *op);

/// The values that may hold the address of a stack slot: views, what selects,
/// branches, loops and calls hand on, numbers made of it.
class AddressFlow {
public:
  explicit AddressFlow(Value slot);

  /// In the order in which they were found, the slot first. Those of called
  /// functions are among them.
  auto getHolders() const { return llvm::make_first_range(holders); }
  bool holds(Value value) const { return holders.contains(value); }
  /// Whether something else may know the address: it is stored, or handed to
  /// code that is not known.
  bool isLost() const { return lost; }
  /// Whether what `holder` holds lies in the slot or is its end.
  bool staysInSlot(Value holder) const { return holders.lookup(holder); }

private:
  void add(Value holder, bool inSlot);
  void follow(OpOperand &use, bool inSlot);
  void followCall(OpOperand &use, bool inSlot);

  llvm::MapVector<Value, bool> holders; ///< with staysInSlot
  SmallVector<Value> added;
  bool lost = false;
};

/// The bytes of a stack slot; nothing if they are not known before it is made.
std::optional<int64_t> getSlotBytes(Operation *alloca);
/// What the slot is aligned to at least.
int64_t getSlotAlignment(Operation *alloca);

/// Whether nothing holds the address of what an earlier run of `alloca` made
/// when it runs again, so that one slot is enough.
bool isFreeWhenRunAgain(Operation *alloca, DominanceInfo &dominance);

/// Gives an alloca of static size that may run again while its address is held
/// as many slots at the start of `entry` as can be held at once, and one more:
/// each run takes one that nothing holds. Fails if the address is lost, or is
/// carried where it cannot be compared.
LogicalResult boundCarriedAlloca(Operation *alloca, Block &entry,
                                 DominanceInfo &dominance);
/// So for the allocas below `root`, with slots in the entry block of their
/// function. Those for which it fails stay as they are.
void boundCarriedAllocas(Operation *root);
/// Besides, moves the other allocas of static size to the entry block of their
/// function, unless their address is lost.
void hoistAllocas(Operation *root);
/// Has loops of scf free at the end of a round what it allocated on the stack,
/// as their scope says: MLIR's lowerings keep it until the function returns.
/// Not where a round hands memory on to the next.
void freeAllocasOfRounds(Operation *root);

} // namespace mlir::gpuasync

#endif // GPUASYNC_LIB_KERNELS_COMMON_ALLOCAS_H
