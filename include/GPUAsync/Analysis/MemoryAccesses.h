//===- MemoryAccesses.h - what memory ops touch -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the accesses of device work and of host code go, and which of them may
// meet. Import, dependency inference and hazards rest on it.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_ANALYSIS_MEMORYACCESSES_H
#define GPUASYNC_ANALYSIS_MEMORYACCESSES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace mlir::gpuasync {

/// Where an access goes: to an allocation of this function, a global, what a
/// function argument points to, a kernel module's own globals, or anywhere.
struct Base {
  enum Kind { Allocation, Global, Argument, NoAliasArgument, Module, Unknown };
  Kind kind = Unknown;
  /// Identity of an allocation or argument.
  Value value;
  /// Identity of a global or kernel module.
  Attribute symbol;

  bool operator==(const Base &other) const {
    return kind == other.kind && value == other.value && symbol == other.symbol;
  }
};

struct Access {
  Base base;
  bool writes;
};
using Accesses = SmallVector<Access, 4>;

inline bool isMemory(Type type) { return isa<BaseMemRefType>(type); }

/// Whether the two may be the same memory.
bool mayAlias(const Base &a, const Base &b);

/// Whether an access of one may meet an access of the other, one of them
/// writing.
bool mayConflict(ArrayRef<Access> first, ArrayRef<Access> second);

/// The memory that `value` may point into, through views and casts.
void findBases(Value value, SmallVectorImpl<Base> &bases);

void addAccess(Value memory, bool writes, Accesses &accesses);

/// Whether the bits of a number may be an address: it comes from a pointer.
bool mayBeAddress(Value value);

/// What a kernel does with the memory that its arguments point to.
struct KernelEffects {
  struct Argument {
    bool reads = true;
    bool writes = true;
  };
  /// Empty if the kernel's body is not known.
  SmallVector<Argument> arguments;
  /// Whether its module has globals, through which launches may meet.
  bool hasGlobals = false;
};

/// Effects of kernels, found once for each.
class KernelTable {
public:
  const KernelEffects &lookup(Operation *launch, SymbolRefAttr kernel);

private:
  SymbolTableCollection symbols;
  llvm::DenseMap<Operation *, KernelEffects> effects;
};

/// What the device work of `op`, of either dialect, touches.
Accesses deviceAccesses(Operation *op, KernelTable &kernels);

/// What host code of `op` touches. Nothing if that is not known: then it may be
/// anything, device work included.
std::optional<Accesses> hostAccesses(Operation *op);

} // namespace mlir::gpuasync

#endif // GPUASYNC_ANALYSIS_MEMORYACCESSES_H
