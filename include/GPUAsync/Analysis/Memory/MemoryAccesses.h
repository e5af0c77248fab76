//===- MemoryAccesses.h - what memory ops touch -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the accesses of device work and of host code go, and which of them may
// meet. Import, dependency inference and hazards rest on it.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_ANALYSIS_MEMORY_MEMORYACCESSES_H
#define GPUASYNC_ANALYSIS_MEMORY_MEMORYACCESSES_H

#include "GPUAsync/Analysis/Memory/KernelEffects.h"
#include "GPUAsync/Analysis/Memory/MemoryIdentity.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace mlir::gpuasync {

/// Where an access goes: to an allocation of this function, a global, what a
/// function argument points to, a kernel module's own globals, what kernels
/// print, what work with a serial name shares, or anywhere.
struct Base {
  enum Kind {
    Allocation,
    Global,
    Argument,
    NoAliasArgument,
    Module,
    Output,
    Serial,
    Unknown
  };
  Kind kind = Unknown;
  /// Of an allocation, a window of one, or an argument.
  MemoryIdentity identity;
  /// The name of a global or kernel module; a serial name.
  Attribute symbol;

  bool operator==(const Base &other) const {
    return kind == other.kind && identity == other.identity &&
           symbol == other.symbol;
  }
};

/// A part of a base, as far as constants tell: two windows of one base are
/// disjoint if either of the two descriptions says so.
struct Window {
  /// `count` times `stride` bytes; a count of -1 is not known.
  struct Dim {
    int64_t stride;
    int64_t count;
    bool operator==(const Dim &other) const {
      return stride == other.stride && count == other.count;
    }
  };
  /// Indices start, start + step, ...; a count of -1 is not known.
  struct Range {
    int64_t start = 0;
    int64_t step = 1;
    int64_t count = -1;
    bool operator==(const Range &other) const {
      return start == other.start && step == other.step && count == other.count;
    }
  };

  /// In bytes from the base's aligned pointer. The last dimension is the bytes
  /// of an element. Absent: not known.
  std::optional<int64_t> offset;
  SmallVector<Dim, 4> dims;
  /// Indices into the view `root`, whose elements are distinct; null: not
  /// known.
  MemoryIdentity root;
  SmallVector<Range, 4> ranges;

  /// Nothing is known: any part of the base.
  bool isAny() const { return !offset && !root; }
  bool operator==(const Window &other) const {
    return offset == other.offset && dims == other.dims && root == other.root &&
           ranges == other.ranges;
  }
  /// The bytes between the first and behind the last; nothing if not known.
  std::optional<std::pair<int64_t, int64_t>> getHull() const;
};

/// Whether no element is in both, of one base and seen in one iteration.
bool areDisjoint(const Window &a, const Window &b);

/// What an op does to memory, as it is in the iteration that the op runs in.
struct Access {
  Base base;
  bool writes = false;
  Window window;
  /// Results of memref.distinct_objects that the access comes through.
  SmallVector<MemoryIdentity, 1> distinct;

  /// Makes it one as seen from outside of `op`, or from another iteration: it
  /// is told apart from others by nothing that is made in `op` any more. The
  /// base stays what it is.
  void leave(Operation *op);

  bool isSameButForWriting(const Access &other) const {
    return base == other.base && window == other.window &&
           distinct == other.distinct;
  }
};
using Accesses = SmallVector<Access, 4>;

/// Whether the two may be the same memory. A base that is made in a loop may be
/// what it was in an earlier iteration, as far as this tells.
bool mayAlias(const Base &a, const Base &b);

/// Whether an element may be in both, whatever is done with it. The two are
/// seen in one iteration of all loops: those of an earlier one, or from within
/// an op that is behind us, have left that (Access::leave).
bool mayOverlap(const Access &a, const Access &b);

/// Whether an access of one may meet an access of the other, one of them
/// writing; in one iteration, too.
bool mayConflict(ArrayRef<Access> first, ArrayRef<Access> second);

/// The memory that `value` may point into, through views, casts and
/// descriptors.
void findBases(Value value, SmallVectorImpl<Base> &bases);

/// Adds what is touched through `memory`: its window, or with `anyPart` any
/// part of what it is a view of.
void addAccess(Value memory, bool writes, Accesses &accesses,
               bool anyPart = false);

/// What the device work of `op`, of either dialect, touches.
Accesses deviceAccesses(Operation *op, KernelTable &kernels);

/// What host code of `op` touches, as seen from outside of it. Nothing if that
/// is not known: then it may be anything, device work included.
std::optional<Accesses> hostAccesses(Operation *op);

/// Facts of a module that take more than an op to find: which arguments of
/// private functions are distinct at all calls, and what functions do that run
/// on the host only. Computed once; the functions must not change meanwhile.
class MemoryFacts {
public:
  explicit MemoryFacts(Operation *module);

  /// Like the function of that name, with what callers say.
  bool mayAlias(const Base &a, const Base &b) const;
  bool mayOverlap(const Access &a, const Access &b) const;

  /// Like the function of that name, and sees through calls of functions of the
  /// module that do no device work.
  std::optional<Accesses> hostAccesses(Operation *op);

  /// Whether calls of the function may do device work, or anything.
  bool isOpaque(Operation *function);

private:
  struct Summary {
    bool isOpaque = true;
    /// In terms of the function's own arguments.
    Accesses accesses;
  };
  const Summary &summarize(Operation *function);
  bool addHostAccesses(Operation *op, Accesses &accesses);
  void findDistinctArguments(Operation *module);

  SymbolTableCollection symbols;
  llvm::DenseMap<Operation *, Summary> summaries;
  /// Arguments that are not distinct at some call, by their function.
  struct Arguments {
    llvm::DenseSet<std::pair<unsigned, unsigned>> mayAlias;
    llvm::DenseSet<unsigned> mayBeGlobal;
  };
  llvm::DenseMap<Operation *, Arguments> arguments;
};

} // namespace mlir::gpuasync

#endif // GPUASYNC_ANALYSIS_MEMORY_MEMORYACCESSES_H
