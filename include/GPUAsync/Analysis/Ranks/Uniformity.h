//===- Uniformity.h - values that all ranks have in common ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds values and branches that may differ between the ranks of a group.
// Everything starts out as uniform; differences spread from gpu_async.rank and
// from memory, until nothing changes.
//
// Uniform by convention: arguments that are no memory of functions with unknown
// callers, and sizes. Not uniform: memory of unknown origin, results of
// kernels, of libraries and of external functions. Memory is uniform if
// everything that is written to it is, or if the last write in the block of a
// load is one of the whole memref.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_ANALYSIS_RANKS_UNIFORMITY_H
#define GPUASYNC_ANALYSIS_RANKS_UNIFORMITY_H

#include "GPUAsync/Analysis/Memory/KernelEffects.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace mlir::gpuasync {

/// A reason why some ranks of a group may not come to an op.
struct Divergence {
  /// The calls that lead to the op's function, the innermost first.
  SmallVector<Operation *> calls;
  /// The op whose condition or bounds may differ between ranks.
  Operation *branch;
  /// The op that makes the difference, such as gpu_async.rank.
  Operation *source;
};

/// Differences between the ranks of one group in a program. The program must
/// not change while this exists.
class Uniformity {
public:
  /// `group` null: all ranks.
  Uniformity(Operation *program, FlatSymbolRefAttr group);

  /// Returns nothing if all ranks of the group come to `op` equally often.
  std::optional<Divergence> findDivergence(Operation *op) const;

private:
  /// Memory that an op reads.
  struct Read {
    Value memory;
    /// The op that wrote all of it last, null if unknown.
    Operation *writer = nullptr;
  };
  /// A host op, and how values go through it.
  struct Node {
    Operation *op;
    /// Values handed over by control flow and calls, and what they become.
    SmallVector<std::pair<Value, Value>, 2> handed;
    /// Values that decide where `branch` goes on.
    SmallVector<Value, 1> conditions;
    Operation *branch = nullptr;
    FunctionOpInterface callee;
    SmallVector<Read, 1> reads;
    SmallVector<Value, 1> writes;
    /// Whether it may write memory of unknown origin besides.
    bool mayWriteShared = false;
    /// Whether it overwrites all of `writes`, a single memref.
    bool isFullWrite = false;
    /// Whether results and written memory may differ even if operands do not.
    bool isOpaque = false;
    /// Whether results and written memory depend on operands.
    bool isComputation = false;
  };

  void collect(Operation *program);
  void addFunction(FunctionOpInterface function);
  void addHanded(Node &node, ValueRange from, ValueRange to);
  void addRegionBranch(Node &node, RegionBranchOpInterface branch);
  void addRegionEnd(Node &node, RegionBranchOpInterface branch);
  void addBlockBranch(Node &node, BranchOpInterface branch);
  void addCall(Node &node, CallOpInterface call);
  void addComputation(Node &node);
  bool addAccesses(Node &node);
  void addCode(Node &node);
  void findWriters();

  bool visit(const Node &node);
  bool compute(const Node &node);
  bool diverge(Operation *branch, Operation *source);
  bool mark(Value value, Operation *source);
  bool isUniformCollective(Operation *op) const;
  /// The op around `op`, in front of it or calling it whose ranks may part.
  Operation *findBranch(Operation *op) const;

  FlatSymbolRefAttr group;
  SymbolTableCollection symbols;
  KernelTable kernels;
  SmallVector<Node, 0> nodes;
  DenseMap<Operation *, unsigned> nodeOf;
  /// Functions with callers that are unknown.
  DenseSet<Operation *> openFunctions;
  DenseMap<Operation *, SmallVector<CallOpInterface>> callsOf;
  /// Memrefs that may be of one allocation are of one class.
  llvm::EquivalenceClasses<Value> classes;
  /// Leaders of classes that code outside of the program may write.
  DenseSet<Value> shared;

  /// Values that may differ, and the op that the difference comes from.
  DenseMap<Value, Operation *> values;
  /// Leaders of classes of memory that may differ.
  DenseSet<Value> contents;
  /// Ops that write memory that may differ.
  DenseSet<Operation *> written;
  /// Ops with regions, and terminators of blocks, at which ranks may part, and
  /// the op that the difference comes from.
  DenseMap<Operation *, Operation *> branches;
  /// Regions with several blocks, and the terminator at which ranks part.
  DenseMap<Region *, Operation *> graphs;
  /// Functions, and a call that not all ranks come to.
  DenseMap<Operation *, Operation *> calls;
};

} // namespace mlir::gpuasync

#endif // GPUASYNC_ANALYSIS_RANKS_UNIFORMITY_H
