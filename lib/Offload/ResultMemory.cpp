//===- ResultMemory.cpp - results computed where they are wanted ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After bufferization, on memrefs. A chain of writes to parts of an argument
// begins with a copy of the argument, and its end is copied to the result.
// The copy stays if an op or a name of the memory is not understood.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Decision.h"
#include "GPUAsync/Offload/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCCOMPUTEINRESULTS
#define GEN_PASS_DEF_GPUASYNCTAKEDONATED
#include "GPUAsync/Offload/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
/// A piece of memory, by all its names.
class Memory {
public:
  Memory(BufferViewFlowAnalysis &flow, Value origin)
      : names(flow.resolve(origin)) {
    names.insert(origin);
  }
  bool has(Value value) const { return names.contains(value); }
  bool overlaps(const Memory &other) const {
    return llvm::any_of(names, [&](Value name) { return other.has(name); });
  }
  /// Calls `visit` with each use that may read or write it. False if a name
  /// goes where it is not followed: to a call, into memory, to who frees it.
  bool forEachAccess(llvm::function_ref<void(OpOperand &)> visit) const;

private:
  SmallPtrSet<Value, 16> names;
};
} // namespace

/// Whether the op only gives the memory another name, or asks for its sizes.
static bool isName(Operation *op) {
  return isa<memref::DimOp, memref::SubViewOp, memref::CastOp,
             memref::CollapseShapeOp, memref::ExpandShapeOp,
             memref::ReinterpretCastOp, arith::SelectOp, scf::ForOp, scf::IfOp,
             scf::IndexSwitchOp, scf::WhileOp, scf::YieldOp, scf::ConditionOp>(
      op);
}

bool Memory::forEachAccess(llvm::function_ref<void(OpOperand &)> visit) const {
  for (Value name : names)
    for (OpOperand &use : name.getUses()) {
      Operation *user = use.getOwner();
      if (isName(user))
        continue;
      auto store = dyn_cast<memref::StoreOp>(user);
      if (!isa<memref::CopyOp, memref::LoadOp, memref::AtomicRMWOp,
               memref::GenericAtomicRMWOp, linalg::LinalgOp>(user) &&
          !(store && store.getValue() != name))
        return false;
      visit(use);
    }
  return true;
}

/// Returns the allocation, or argument of the function, that a value is all of.
/// Null: it may be several, or a part.
static Value findOrigin(BufferViewFlowAnalysis &flow, Value value) {
  auto isOrigin = [](Value each) {
    auto argument = dyn_cast<BlockArgument>(each);
    return argument ? isa<func::FuncOp>(argument.getOwner()->getParentOp())
                    : !isName(each.getDefiningOp());
  };
  SmallPtrSet<Value, 16> names = flow.resolveReverse(value);
  names.insert(value);
  Value origin;
  for (Value each : names) {
    if (!isOrigin(each))
      continue;
    if (origin)
      return Value();
    origin = each;
  }
  // As many elements in the same order are all of them.
  return origin && origin.getType() == value.getType() ? origin : Value();
}

static bool isWhole(MemRefType type) {
  return type.hasStaticShape() && type.getLayout().isIdentity() &&
         !type.getMemorySpace();
}

/// The memory of the results, in their order.
static SmallVector<BlockArgument> findResults(func::FuncOp function) {
  SmallVector<BlockArgument> results;
  for (BlockArgument argument : function.getArguments())
    if (auto type = dyn_cast<MemRefType>(argument.getType());
        type && isWhole(type) &&
        function.getArgAttr(argument.getArgNumber(), kResultAttrName))
      results.push_back(argument);
  return results;
}

/// Whether the memory that `copy` reads in the end is written no more behind
/// it, and handed to nobody.
static bool isFinal(memref::CopyOp copy, const Memory &memory) {
  Block *block = copy->getBlock();
  bool isFinal = true;
  bool isKnown = memory.forEachAccess([&](OpOperand &use) {
    Operation *op = block->findAncestorOpInBlock(*use.getOwner());
    if (op == copy || (op && op->isBeforeInBlock(copy)))
      return;
    auto other = dyn_cast_or_null<memref::CopyOp>(op);
    isFinal &= other && memory.has(other.getSource()) &&
               !memory.has(other.getTarget());
  });
  return isKnown && isFinal;
}

/// Puts what is copied to a result in the end into the result's memory from the
/// beginning, where nothing tells the difference. Returns for how many results.
static unsigned computeInResults(func::FuncOp function) {
  if (function.isExternal() || !llvm::hasSingleElement(function.getBody()))
    return 0;
  SmallVector<BlockArgument> results = findResults(function);
  if (results.empty())
    return 0;
  Block *block = &function.front();
  // Replaced allocations are no other one's name. They stay for the analysis
  // until the end.
  BufferViewFlowAnalysis flow(function);
  llvm::SetVector<Operation *> replaced;
  for (BlockArgument result : results) {
    if (!result.hasOneUse())
      continue;
    auto copy = dyn_cast<memref::CopyOp>(*result.user_begin());
    if (!copy || copy.getTarget() != result || copy->getBlock() != block)
      continue;
    Value origin = findOrigin(flow, copy.getSource());
    auto alloc =
        origin ? origin.getDefiningOp<memref::AllocOp>() : memref::AllocOp();
    if (!alloc || alloc->getBlock() != block || replaced.contains(alloc) ||
        !isFinal(copy, Memory(flow, alloc)))
      continue;
    alloc.replaceAllUsesWith(Value(result));
    copy.erase();
    replaced.insert(alloc);
  }
  for (Operation *alloc : replaced)
    alloc->erase();
  return replaced.size();
}

//===----------------------------------------------------------------------===//
// Donated arguments
//===----------------------------------------------------------------------===//

namespace {
/// An argument or a result of the function, and who reads or writes it.
struct Array {
  BlockArgument value;
  Memory memory;
  /// All uses that may be an access. Unknown ones are not there.
  SmallVector<OpOperand *> accesses;
  bool isKnown;
  const Array *partner = nullptr; ///< which is the same memory

  Array(BufferViewFlowAnalysis &flow, BlockArgument value)
      : value(value), memory(flow, value) {
    isKnown = memory.forEachAccess(
        [this](OpOperand &use) { accesses.push_back(&use); });
  }
};

/// How well a result fits a donated argument; less is better.
enum class Fit {
  Copy,     ///< it begins as a copy of the argument
  Elements, ///< an op reads each element in the place of one that it writes
  Behind,   ///< its first write is behind the last read of the argument
  None
};

/// Copies of parts of an argument to other results, which come before `first`
/// writes to the argument's memory.
struct EarlyCopies {
  Operation *first = nullptr;
  SmallVector<memref::CopyOp> copies;
};
} // namespace

/// The copy of all of the argument that the result begins with, or null.
static memref::CopyOp findFirstCopy(const Array &argument,
                                    const Array &result) {
  for (Operation *user : result.value.getUsers())
    if (auto copy = dyn_cast<memref::CopyOp>(user);
        copy && copy.getTarget() == result.value &&
        copy.getSource() == argument.value &&
        copy->getBlock() == result.value.getOwner())
      return copy;
  return memref::CopyOp();
}

/// Whether two values are the same part of two pieces of memory.
static bool areSameParts(Value one, Value other) {
  auto ofOne = one.getDefiningOp<memref::SubViewOp>();
  auto ofOther = other.getDefiningOp<memref::SubViewOp>();
  if (!ofOne || !ofOther)
    return isa<BlockArgument>(one) && isa<BlockArgument>(other);
  return isa<BlockArgument>(ofOne.getSource()) &&
         isa<BlockArgument>(ofOther.getSource()) &&
         ofOne.getType() == ofOther.getType() &&
         ofOne.getMixedOffsets() == ofOther.getMixedOffsets() &&
         ofOne.getMixedSizes() == ofOther.getMixedSizes() &&
         ofOne.getMixedStrides() == ofOther.getMixedStrides();
}

/// Whether all that `op` does with the two is one elementwise op, which reads
/// the elements of the argument in the places of those that it writes.
static bool isElementwise(Operation *op, const Array &argument,
                          const Array &result) {
  linalg::GenericOp only;
  SmallVector<OpOperand *> reads, writes;
  for (auto [array, list] : {std::pair(&argument, &reads), {&result, &writes}})
    for (OpOperand *use : array->accesses) {
      if (!op->isAncestor(use->getOwner()))
        continue;
      auto generic = dyn_cast<linalg::GenericOp>(use->getOwner());
      if (!generic || (only && generic != only) ||
          generic.getNumReductionLoops() ||
          !generic.getMatchingIndexingMap(use).isIdentity() ||
          generic.isDpsInit(use) != (array == &result))
        return false;
      only = generic;
      list->push_back(use);
    }
  if (!only || writes.size() != 1 ||
      (only != op && (!isa<scf::ForallOp>(op) || only->getParentOp() != op)))
    return false;
  return llvm::all_of(reads, [&](OpOperand *read) {
    return areSameParts(read->get(), writes.front()->get());
  });
}

/// Puts the copies that results begin with in front of all, where they are in
/// nobody's way.
static void copyFirst(ArrayRef<Array> arguments, ArrayRef<Array> results) {
  for (const Array &result : results)
    for (const Array &argument : arguments) {
      memref::CopyOp copy = findFirstCopy(argument, result);
      if (copy && result.isKnown &&
          llvm::none_of(result.accesses, [&](OpOperand *use) {
            Operation *op =
                copy->getBlock()->findAncestorOpInBlock(*use->getOwner());
            return op->isBeforeInBlock(copy);
          }))
        copy->moveBefore(copy->getBlock(), copy->getBlock()->begin());
    }
}

/// Whether the value, or the view that it is, can be there before `op`.
static bool isThereBefore(Value value, Operation *op) {
  auto isBefore = [&](Value each) {
    Operation *maker = each.getDefiningOp();
    return !maker ||
           (maker->getBlock() == op->getBlock() && maker->isBeforeInBlock(op));
  };
  return isBefore(value) ||
         (value.getDefiningOp<memref::SubViewOp>() &&
          llvm::all_of(value.getDefiningOp()->getOperands(), isBefore));
}

/// Whether the memory is touched between the two, in `first` or in neither.
static bool isTouchedBetween(const Array &array, Operation *first,
                             Operation *op) {
  return llvm::any_of(array.accesses, [&](OpOperand *use) {
    Operation *other = op->getBlock()->findAncestorOpInBlock(*use->getOwner());
    return other != op && !other->isBeforeInBlock(first) &&
           other->isBeforeInBlock(op);
  });
}

/// Whether `op` copies a part of the argument to another result than `result`,
/// and may do so before `first`, which changes the argument. To `result` itself
/// it would copy onto what it reads.
static bool mayCopyBefore(Operation *op, Operation *first, const Array &result,
                          ArrayRef<Array> results) {
  auto copy = dyn_cast<memref::CopyOp>(op);
  if (!copy || !isThereBefore(copy.getSource(), first) ||
      !isThereBefore(copy.getTarget(), first))
    return false;
  return llvm::any_of(results, [&](const Array &other) {
    return &other != &result && other.memory.has(copy.getTarget()) &&
           other.isKnown && !isTouchedBetween(other, first, op) &&
           !(other.partner && isTouchedBetween(*other.partner, first, op));
  });
}

static void moveCopyBefore(memref::CopyOp copy, Operation *first) {
  for (Value value : {copy.getSource(), copy.getTarget()})
    if (Operation *view = value.getDefiningOp();
        view && first->isBeforeInBlock(view))
      view->moveBefore(first);
  copy->moveBefore(first);
}

/// Whether the result may be in the argument's memory, and how well it fits.
static Fit findFit(const Array &argument, const Array &result,
                   ArrayRef<Array> results, EarlyCopies &early) {
  if (!argument.isKnown || !result.isKnown ||
      argument.value.getType() != result.value.getType() ||
      argument.memory.overlaps(result.memory))
    return Fit::None;
  Block *block = result.value.getOwner();
  memref::CopyOp copy = findFirstCopy(argument, result);
  Operation *first = nullptr;
  for (OpOperand *use : result.accesses) {
    Operation *op = block->findAncestorOpInBlock(*use->getOwner());
    if (op != copy && (!first || op->isBeforeInBlock(first)))
      first = op;
  }
  if (copy ? first && first->isBeforeInBlock(copy) : !first)
    return Fit::None;
  Fit fit = copy ? Fit::Copy : Fit::Behind;
  for (OpOperand *use : argument.accesses) {
    Operation *op = block->findAncestorOpInBlock(*use->getOwner());
    if (op == copy || !first || op->isBeforeInBlock(first))
      continue;
    early.first = first;
    if (mayCopyBefore(op, first, result, results)) {
      if (!llvm::is_contained(early.copies, op))
        early.copies.push_back(cast<memref::CopyOp>(op));
      continue;
    }
    if (copy || op != first || !isElementwise(op, argument, result))
      return Fit::None;
    fit = Fit::Elements;
  }
  return fit;
}

/// The number of an argument of those that are no results.
static int64_t getSourceNumber(func::FuncOp function, BlockArgument argument) {
  int64_t number = 0;
  for (unsigned i = 0; i < argument.getArgNumber(); ++i)
    number += !function.getArgAttr(i, kResultAttrName);
  return number;
}

/// Says which arguments are given up for nothing.
static void warnOfUnused(func::FuncOp function, ArrayRef<Array> arguments,
                         ArrayRef<Array> results) {
  std::string text;
  for (const Array &argument : arguments) {
    auto type = cast<MemRefType>(argument.value.getType());
    // Nothing has no memory.
    if (argument.partner || llvm::is_contained(type.getShape(), 0))
      continue;
    bool hasType = llvm::any_of(results, [&](const Array &result) {
      return result.value.getType() == type;
    });
    llvm::raw_string_ostream os(text);
    os << (text.empty() ? "" : "; ") << "argument "
       << getSourceNumber(function, argument.value);
    // Front ends know it by a name: x['w'].
    if (auto name = dyn_cast<NameLoc>(argument.value.getLoc()))
      os << ", " << name.getName().getValue() << ",";
    os << " of "
       << RankedTensorType::get(type.getShape(), type.getElementType())
       << (hasType ? ": results of its type have other memory, or are written "
                     "before it is read for the last time"
                   : ": no result has its type and sizes");
  }
  if (!text.empty())
    function.emitWarning()
        << "some donated arguments are not usable, and no result takes their "
           "memory: "
        << text;
}

/// Computes results in the memory of donated arguments, each in one of its type
/// that nothing reads any more, and says so on the result (`gpu_async.takes`).
/// Prefers the argument that a result is a changed copy of. Warns of donated
/// arguments that no result takes. Returns how many are taken.
static unsigned takeDonated(func::FuncOp function) {
  if (function.isExternal() || !function.isPublic() ||
      !llvm::hasSingleElement(function.getBody()))
    return 0;
  BufferViewFlowAnalysis flow(function);
  std::vector<Array> arguments, results;
  for (BlockArgument argument : function.getArguments())
    if (isa<MemRefType>(argument.getType()) &&
        function.getArgAttr(argument.getArgNumber(), kDonatedAttrName))
      arguments.emplace_back(flow, argument);
  if (arguments.empty())
    return 0;
  for (BlockArgument result : findResults(function))
    results.emplace_back(flow, result);
  copyFirst(arguments, results);
  // A choice changes nothing for later ones but the order of copies, which each
  // choice finds as it is.
  SmallVector<std::pair<Array *, Array *>> pairs;
  for (Fit wanted : {Fit::Copy, Fit::Elements, Fit::Behind})
    for (Array &result : results)
      for (Array &argument : arguments) {
        auto type = cast<MemRefType>(argument.value.getType());
        EarlyCopies early;
        if (argument.partner || result.partner || !isWhole(type) ||
            !type.getNumElements() ||
            findFit(argument, result, results, early) != wanted)
          continue;
        argument.partner = &result;
        result.partner = &argument;
        pairs.push_back({&argument, &result});
        for (memref::CopyOp copy : early.copies)
          moveCopyBefore(copy, early.first);
      }
  Builder builder(function.getContext());
  for (auto [argument, result] : pairs) {
    memref::CopyOp copy = findFirstCopy(*argument, *result);
    argument->value.replaceAllUsesWith(result->value);
    if (copy)
      copy.erase();
    function.setArgAttr(
        result->value.getArgNumber(), kTakesAttrName,
        builder.getI64IntegerAttr(getSourceNumber(function, argument->value)));
  }
  warnOfUnused(function, arguments, results);
  return pairs.size();
}

namespace {
struct ComputeInResults
    : public gpuasync::impl::GPUAsyncComputeInResultsBase<ComputeInResults> {
  void runOnOperation() override {
    if (unsigned number = computeInResults(getOperation()))
      Decision(*this, getOperation(), "ComputedInResults")
          .count(numResults, "results", number);
  }
};

struct TakeDonated
    : public gpuasync::impl::GPUAsyncTakeDonatedBase<TakeDonated> {
  void runOnOperation() override {
    if (unsigned number = takeDonated(getOperation()))
      Decision(*this, getOperation(), "TakenArguments")
          .count(numTaken, "taken-arguments", number);
  }
};
} // namespace
