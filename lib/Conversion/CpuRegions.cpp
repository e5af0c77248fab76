//===- CpuRegions.cpp - kernels between their barriers ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cuts a kernel at its barriers. What the threads agree about, control flow
// around barriers above all, is run by the block; the pieces between become
// functions that loops over the threads call. Values that a thread needs in
// several pieces lie in ThreadMemory or are computed again.
//===----------------------------------------------------------------------===//

#include "CpuInterchange.h"
#include "CpuPlaces.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::cpu;

namespace {
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
  bool isByBlock(Operation *op);
  /// An array for values of `type`, and the value that stands for a thread's
  /// own element of it.
  Value createSlot(Location loc, Type type, Value &array);
  SmallVector<Value> createSlots(ValueRange values);
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
} // namespace

//===----------------------------------------------------------------------===//
// What is run by the block
//===----------------------------------------------------------------------===//

/// Whether `op` may trap, so that what stands before it may not come after.
/// MLIR calls some divisions pure.
static bool mayTrap(Operation *op) {
  if (!isa<arith::RemUIOp, arith::RemSIOp, index::DivUOp, index::DivSOp,
           index::CeilDivUOp, index::CeilDivSOp, index::FloorDivSOp,
           index::RemUOp, index::RemSOp, LLVM::UDivOp, LLVM::SDivOp,
           LLVM::URemOp, LLVM::SRemOp>(op))
    return !isSpeculatable(op);
  APInt divisor;
  return !matchPattern(op->getOperand(1), m_ConstantInt(&divisor)) ||
         divisor.isZero() || divisor.isAllOnes();
}

/// Whether all that the threads do is guarded by their place.
bool Cutter::isWorthGuarding() {
  if (mayFail(kernel))
    return false;
  variance = std::make_unique<ThreadVariance>(
      kernel, [](Operation *) { return false; });
  SmallVector<Operation *> piece;
  for (Operation &op : kernel.getBody().front().without_terminator())
    if (!isByBlock(&op) && !isRecomputed(&op))
      piece.push_back(&op);
  bool isGuarded = findGuard(kernel, *variance, piece).has_value();
  variance = nullptr;
  return isGuarded;
}

bool Cutter::mayFail(Operation *root) {
  return root
      ->walk([&](Operation *op) {
        auto call = dyn_cast<func::CallOp>(op);
        return isa<cf::AssertOp>(op) || (call && mayFailCall(call))
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

void Cutter::findBlockLevel() {
  BlockLevel found = cpu::findBlockLevel(kernel, sizeX, mayFail(kernel));
  blockLevel = std::move(found.ops);
  meeting = std::move(found.meeting);
}

static bool isPlainValue(Type type) {
  return isa<IntegerType, IndexType, FloatType, VectorType>(type);
}

/// Whether others than users of `pointer` and of what is made from it may know
/// the address.
static bool escapes(Value pointer, llvm::DenseSet<Value> &seen) {
  if (!seen.insert(pointer).second)
    return false;
  auto follow = [&](Value value) { return escapes(value, seen); };
  return llvm::any_of(pointer.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (auto store = dyn_cast<LLVM::StoreOp>(user))
      return store.getValue() == pointer;
    if (auto exchange = dyn_cast<LLVM::AtomicRMWOp>(user))
      return exchange.getVal() == pointer;
    if (isa<LLVM::PtrToIntOp, memref::ExtractAlignedPointerAsIndexOp,
            LLVM::AtomicCmpXchgOp>(user))
      return true;
    if (auto call = dyn_cast<CallOpInterface>(user)) {
      auto callee =
          dyn_cast_or_null<FunctionOpInterface>(call.resolveCallable());
      if (!callee || callee.isExternal())
        return !callee || !callee.getName().starts_with("gpuasync_check_");
      return follow(callee.getArgument(use.getOperandNumber()));
    }
    return llvm::any_of(user->getResults(), [&](Value value) {
      return !isPlainValue(value.getType()) && follow(value);
    });
  });
}

/// Whether everything that reaches the memory lies in one piece.
bool Cutter::staysInPiece(Operation *alloca) {
  llvm::DenseSet<Value> seen;
  if (escapes(alloca->getResult(0), seen))
    return false;
  SmallVector<Value> pointers{alloca->getResult(0)};
  while (!pointers.empty()) {
    Value pointer = pointers.pop_back_val();
    for (Operation *user : pointer.getUsers()) {
      Operation *inBlock = alloca->getBlock()->findAncestorOpInBlock(*user);
      for (Operation *op = alloca; op != inBlock; op = op->getNextNode())
        if (blockLevel.contains(op))
          return false;
      if (blockLevel.contains(inBlock) ||
          user->hasTrait<OpTrait::IsTerminator>())
        return false;
      for (Value value : user->getResults())
        if (!isPlainValue(value.getType()))
          pointers.push_back(value);
    }
  }
  return true;
}

/// Private memory that is used in several pieces is part of the thread's
/// memory.
LogicalResult Cutter::placeAllocas() {
  SmallVector<Operation *> allocas;
  kernel.walk([&](Operation *op) {
    if (isa<memref::AllocaOp, LLVM::AllocaOp>(op) &&
        (op->getParentOp() == kernel ||
         blockLevel.contains(op->getParentOp())) &&
        !staysInPiece(op))
      allocas.push_back(op);
  });
  for (Operation *op : allocas) {
    Location loc = op->getLoc();
    builder.setInsertionPoint(op);
    int64_t bytes = -1, alignment = 1;
    if (auto alloca = dyn_cast<memref::AllocaOp>(op)) {
      MemRefType type = alloca.getType();
      alignment =
          std::max<int64_t>(alloca.getAlignment().value_or(1),
                            getAlignmentInMemory(type.getElementType()));
      bytes = getBytesInMemory(type).value_or(-1);
    } else if (auto alloca = dyn_cast<LLVM::AllocaOp>(op)) {
      alignment = std::max<int64_t>(alloca.getAlignment().value_or(1),
                                    getAlignmentInMemory(alloca.getElemType()));
      APInt count;
      if (matchPattern(alloca.getArraySize(), m_ConstantInt(&count)))
        bytes = count.getSExtValue() * getBytesInMemory(alloca.getElemType());
    }
    if (bytes < 0)
      return op->emitOpError("of dynamic size or layout is used across a "
                             "barrier, which is not supported by the cpu "
                             "device: give it a static one");
    if (alignment > ThreadMemory::maxAlignment)
      return op->emitOpError("is used across a barrier and wants an alignment "
                             "of ")
             << alignment << " bytes, where the cpu device has "
             << ThreadMemory::maxAlignment;
    Value array = memory->createArray(bytes, alignment);
    Value self =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                   buildLinearThreadId(builder, loc, kernel));
    int64_t step = ThreadMemory::getElementBytes(bytes, alignment);
    Value address = LLVM::GEPOp::create(
        builder, loc, array.getType(),
        LLVM::LLVMArrayType::get(builder.getI8Type(), step), array,
        ArrayRef<Value>{self}, LLVM::GEPNoWrapFlags::inbounds);
    if (auto alloca = dyn_cast<memref::AllocaOp>(op))
      address = buildMemRef(builder, loc, address, alloca.getType(), Value());
    op->getResult(0).replaceAllUsesWith(address);
    op->erase();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static bool isThreadId(func::FuncOp kernel, Value value) {
  return llvm::any_of(llvm::seq(3), [&](int dim) {
    return value == getEnv(kernel, ThreadId + dim);
  });
}

/// Whether LLVM may make one op of this one and another, with another result.
static bool isContracted(Operation *op) {
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, LLVM::FAddOp,
             LLVM::FSubOp, LLVM::FMulOp, vector::ContractionOp,
             vector::OuterProductOp, vector::ReductionOp,
             vector::MultiDimReductionOp>(op);
}

/// Whether a region rather computes a value again than reads it from memory.
bool Cutter::isRecomputed(Value value, unsigned &cost) {
  // What a descriptor takes is mostly optimised away.
  constexpr unsigned limit = 12;
  if (slots.contains(value))
    return false;
  if (!variance->varies(value) || isThreadId(kernel, value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumRegions() || !isPure(op) || mayTrap(op) ||
      isCollective(op) || isContracted(op) ||
      op->getDialect()->getNamespace() == "math")
    return false;
  if (!isa<MemRefType, LLVM::LLVMStructType, LLVM::LLVMPointerType>(
          value.getType()) &&
      ++cost > limit)
    return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return isRecomputed(operand, cost);
  });
}

/// Whether the block computes what `op` yields.
bool Cutter::isByBlock(Operation *op) {
  return dependsOnOperandsOnly(op) &&
         llvm::none_of(op->getResults(),
                       [&](Value value) { return variance->varies(value); });
}

bool Cutter::isRecomputed(Operation *op) {
  return op->getNumResults() && llvm::all_of(op->getResults(), [&](Value v) {
           unsigned cost = 0;
           return isRecomputed(v, cost);
         });
}

Value Cutter::createSlot(Location loc, Type type, Value &array) {
  if (isa<UnrankedMemRefType>(type)) {
    emitError(loc) << "an unranked memref is used across a barrier, which is "
                      "not supported by the cpu device: cast it to a ranked "
                      "one before";
    isRefused = true;
  }
  array = memory->createArray(getBytesInMemory(type));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&kernel.getBody().front());
  auto placeholder = UnrealizedConversionCastOp::create(
      builder, kernel.getLoc(), type, ValueRange());
  placeholders.push_back(placeholder);
  variance->add(placeholder.getResult(0));
  slots[placeholder.getResult(0)] = array;
  return placeholder.getResult(0);
}

//===----------------------------------------------------------------------===//
// Parallel regions
//===----------------------------------------------------------------------===//

/// Loops over the threads in `box`, x innermost, around what `body` builds.
static void buildThreadLoops(OpBuilder &builder, Location loc,
                             const ThreadBox &box, LLVM::AccessGroupAttr group,
                             int64_t threads,
                             function_ref<void(ArrayRef<Value>)> body) {
  OpBuilder::InsertionGuard guard(builder);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  SmallVector<Value> ids(3);
  for (int dim : {2, 1, 0}) {
    auto loop =
        scf::ForOp::create(builder, loc, box.lower[dim], box.upper[dim], one);
    ids[dim] = loop.getInductionVar();
    builder.setInsertionPointToStart(loop.getBody());
    if (dim == 0)
      loop->setAttr(annotationName, buildParallelAnnotation(group, threads));
  }
  body(ids);
}

/// Makes a function of `piece`, which the `active` threads run before `user`
/// goes on, and which ends with `assignments`.
void Cutter::buildRegion(SmallVector<Operation *> &piece,
                         ArrayRef<Assignment> assignments, const Active &active,
                         Operation *user) {
  if (piece.empty() && assignments.empty())
    return;
  Location loc = piece.empty() ? user->getLoc() : piece.front()->getLoc();
  llvm::SmallPtrSet<Operation *, 16> inside(piece.begin(), piece.end());
  auto isInside = [&](Operation *op) {
    for (; op && op != kernel; op = op->getParentOp())
      if (inside.contains(op))
        return true;
    return false;
  };
  auto isValueInside = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return isInside(op ? op : value.getParentBlock()->getParentOp());
  };

  // What comes from outside, and what of it the block computes.
  llvm::SetVector<Value> captured, uniform;
  for (Operation *op : piece)
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!isValueInside(operand))
          captured.insert(operand);
    });
  for (const Assignment &assignment : assignments) {
    uniform.insert(assignment.array);
    if (!isValueInside(assignment.value))
      captured.insert(assignment.value);
  }
  if (active.mask)
    uniform.insert(active.mask);
  for (const Active::Limit &limit : active.limits) {
    uniform.insert(limit.most);
    captured.insert(limit.place);
  }
  auto isEnv = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == &kernel.getBody().front() &&
           argument.getArgNumber() >= kernel.getNumArguments() - EnvSize;
  };
  auto collect = [&](auto &self, Value value) -> void {
    if (auto slot = slots.find(value); slot != slots.end())
      uniform.insert(slot->second);
    else if (isEnv(value))
      return;
    else if (!variance->varies(value))
      uniform.insert(value);
    else
      for (Value operand : value.getDefiningOp()->getOperands())
        self(self, operand);
  };
  for (Value value : captured)
    collect(collect, value);

  // Values that later pieces need get a place.
  SmallVector<Assignment> stores;
  for (Operation *op : piece)
    for (Value value : op->getResults()) {
      auto isLater = [&](OpOperand &use) {
        return use.getOwner() != user && !isInside(use.getOwner());
      };
      if (llvm::none_of(value.getUses(), isLater))
        continue;
      Value array,
          placeholder = createSlot(value.getLoc(), value.getType(), array);
      value.replaceUsesWithIf(placeholder, isLater);
      stores.push_back({array, value});
      uniform.insert(array);
    }

  // The bounds of the loops over the threads.
  builder.setInsertionPoint(user);
  Active taking = active;
  ThreadBox box =
      active.box ? *active.box : buildWholeBox(builder, loc, kernel);
  std::optional<Guard> guard;
  if (!active.mask && assignments.empty() && stores.empty())
    guard = findGuard(kernel, *variance, piece);
  if (guard) {
    box = buildBox(builder, loc, kernel, *variance, *guard, box);
    taking.addGuard(*guard, kernel);
  }

  // The function, and its calls.
  SmallVector<Type> types;
  for (Value value : uniform)
    types.push_back(value.getType());
  ValueRange env = kernel.getArguments().take_back(EnvSize);
  llvm::append_range(types, env.getTypes());
  StringRef stem = kernel.getName();
  stem.consume_back("_thread");
  auto function = func::FuncOp::create(
      loc, (stem + "_region_" + Twine(result.regions.size())).str(),
      builder.getFunctionType(types, {}));
  function.setPrivate();
  SymbolTable(kernel->getParentOp()).insert(function, Block::iterator(kernel));
  auto group = LLVM::AccessGroupAttr::get(builder.getContext());
  auto buildLoops = [&](const ThreadBox &threads, int64_t numX,
                        const IRMapping &replaced) {
    buildThreadLoops(builder, loc, threads, group, numX,
                     [&](ArrayRef<Value> ids) {
                       SmallVector<Value> operands;
                       for (Value value : uniform)
                         operands.push_back(replaced.lookupOrDefault(value));
                       llvm::append_range(operands, ids);
                       llvm::append_range(operands, env.drop_front(3));
                       func::CallOp::create(builder, loc, function, operands);
                     });
  };
  bool hasWholeRows = taking.isLimitedInX && sizeX && taking.isMostlyWhole;
  if (!hasWholeRows && taking.limits.empty()) {
    buildLoops(box, taking.isLimitedInX ? 0 : sizeX, IRMapping());
  } else {
    // Whole rows of threads are better run as loops of known length, and
    // without a test of each thread's place.
    Value isWhole;
    auto require = [&](arith::CmpIPredicate predicate, Value a, Value b) {
      Value holds = arith::CmpIOp::create(builder, loc, predicate, a, b);
      isWhole = isWhole
                    ? Value(arith::AndIOp::create(builder, loc, isWhole, holds))
                    : holds;
    };
    ThreadBox whole = box;
    if (hasWholeRows) {
      ThreadBox block = buildWholeBox(builder, loc, kernel);
      whole.lower[0] = block.lower[0];
      whole.upper[0] = block.upper[0];
      require(arith::CmpIPredicate::eq, box.lower[0], whole.lower[0]);
      require(arith::CmpIPredicate::eq, box.upper[0], whole.upper[0]);
    }
    IRMapping unlimited;
    for (const Active::Limit &limit : taking.limits) {
      require(arith::CmpIPredicate::ule, limit.greatest, limit.most);
      unlimited.map(
          limit.most,
          arith::ConstantOp::create(
              builder, loc, builder.getIntegerAttr(limit.most.getType(), -1)));
    }
    bool isCounted = hasWholeRows || !taking.isLimitedInX;
    auto branch = scf::IfOp::create(builder, loc, isWhole,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard insertion(builder);
    builder.setInsertionPoint(branch.elseBlock()->getTerminator());
    buildLoops(box, taking.isLimitedInX ? 0 : sizeX, IRMapping());
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
    buildLoops(whole, isCounted ? sizeX : 0, unlimited);
  }

  // Its body: what it needs, the piece, what it leaves.
  Block *entry = function.addEntryBlock();
  IRMapping mapping;
  mapping.map(uniform.getArrayRef(), entry->getArguments().drop_back(EnvSize));
  mapping.map(env, entry->getArguments().take_back(EnvSize));
  builder.setInsertionPointToStart(entry);
  Value self =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                 buildLinearThreadId(builder, loc, function));
  auto ret = func::ReturnOp::create(builder, loc);
  builder.setInsertionPoint(ret);
  auto element = [&](Value array, Type type) {
    return buildElementAddress(builder, loc, mapping.lookup(array), self, type);
  };
  bool makesMasks = llvm::any_of(assignments, [](const Assignment &a) {
    return a.kind != Assignment::Plain;
  });
  SmallVector<Type> maskTypes;
  for (const Assignment &assignment : assignments)
    if (assignment.kind != Assignment::Plain)
      maskTypes.push_back(i1);
  auto materialize = [&](auto &self, Value value) -> Value {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    if (auto slot = slots.find(value); slot != slots.end()) {
      Type type = value.getType();
      Value read = loadValue(builder, loc, element(slot->second, type), type);
      mapping.map(value, read);
      return read;
    }
    Operation *op = value.getDefiningOp();
    for (Value operand : op->getOperands())
      self(self, operand);
    builder.clone(*op, mapping);
    return mapping.lookup(value);
  };
  Value takesPart;
  if (active.mask)
    takesPart = loadValue(builder, loc, element(active.mask, i1), i1);
  for (const Active::Limit &limit : active.limits) {
    Value within = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ule,
        materialize(materialize, limit.place), mapping.lookup(limit.most));
    takesPart =
        takesPart
            ? Value(arith::AndIOp::create(builder, loc, takesPart, within))
            : within;
  }
  scf::IfOp ifActive;
  if (takesPart) {
    ifActive = scf::IfOp::create(builder, loc, maskTypes, takesPart,
                                 /*withElseRegion=*/makesMasks);
    if (makesMasks) {
      builder.setInsertionPointToStart(ifActive.elseBlock());
      Value no = arith::ConstantIntOp::create(builder, loc, 0, 1);
      scf::YieldOp::create(builder, loc,
                           SmallVector<Value>(maskTypes.size(), no));
      builder.setInsertionPointToStart(ifActive.thenBlock());
    } else {
      builder.setInsertionPoint(ifActive.thenBlock()->getTerminator());
    }
  }

  for (Value value : captured)
    materialize(materialize, value);

  Block *body = builder.getInsertionBlock();
  Block::iterator end = builder.getInsertionPoint();
  auto take = [&](Operation *op) {
    op->moveBefore(body, end);
    op->walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        if (Value known = mapping.lookupOrNull(operand.get()))
          operand.set(known);
    });
  };
  for (Operation *op : piece) {
    if (!guard || op != guard->branch) {
      take(op);
      continue;
    }
    for (Operation &inner : llvm::make_early_inc_range(
             guard->branch.thenBlock()->without_terminator()))
      take(&inner);
    erase(op);
  }
  auto finalValue = [&](Value value) { return mapping.lookupOrDefault(value); };
  for (const Assignment &assignment : stores)
    storeValue(builder, loc,
               element(assignment.array, assignment.value.getType()),
               finalValue(assignment.value));
  for (const Assignment &assignment : assignments)
    if (assignment.kind == Assignment::Plain)
      storeValue(builder, loc,
                 element(assignment.array, assignment.value.getType()),
                 finalValue(assignment.value));
  SmallVector<Value> masks;
  for (const Assignment &assignment : assignments) {
    if (assignment.kind == Assignment::Plain)
      continue;
    Value value = finalValue(assignment.value);
    if (assignment.kind == Assignment::NotMask) {
      Value yes = arith::ConstantIntOp::create(builder, loc, 1, 1);
      value = arith::XOrIOp::create(builder, loc, value, yes);
    }
    masks.push_back(value);
  }
  if (ifActive && makesMasks) {
    scf::YieldOp::create(builder, loc, masks);
    masks.assign(ifActive.result_begin(), ifActive.result_end());
  }
  builder.setInsertionPoint(ret);
  unsigned next = 0;
  for (const Assignment &assignment : assignments)
    if (assignment.kind != Assignment::Plain)
      storeValue(builder, loc, element(assignment.array, i1), masks[next++]);

  bool mayFail = this->mayFail(function);
  result.regions.push_back({function, group, mayFail});
  if (mayFail) {
    // The threads that are left run to the barrier; then the block ends.
    if (!failedFlag)
      failedFlag = memory->createShared(1, failedOffset);
    builder.setInsertionPoint(user);
    Type i8 = builder.getI8Type();
    Value flag = LLVM::LoadOp::create(builder, loc, i8, failedFlag);
    Value zero = arith::ConstantIntOp::create(builder, loc, i8, 0);
    Value fine = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       flag, zero);
    cf::AssertOp::create(builder, loc, fine, "")
        ->setAttr(silentName, builder.getUnitAttr());
  }
  piece.clear();
}

//===----------------------------------------------------------------------===//
// The cut
//===----------------------------------------------------------------------===//

/// Whether any thread of the block is active, by the block.
Value Cutter::buildAnyActive(Value mask, Location loc) {
  Type i8 = builder.getI8Type();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value none = arith::ConstantIntOp::create(builder, loc, i8, 0);
  auto loop = scf::ForOp::create(builder, loc, zero, memory->getNumThreads(),
                                 one, ValueRange{none});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value index = arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                           loop.getInductionVar());
  Value active = LLVM::LoadOp::create(
      builder, loc, i8, buildElementAddress(builder, loc, mask, index, i1));
  Value any =
      arith::OrIOp::create(builder, loc, loop.getRegionIterArg(0), active);
  scf::YieldOp::create(builder, loc, any);
  builder.setInsertionPointAfter(loop);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                               loop.getResult(0), none);
}

/// Cuts what `block` holds. What follows the last cut is left in `piece`.
void Cutter::cut(Block &block, const Active &active,
                 SmallVector<Operation *> &piece) {
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    if (op.hasAttr(onceName)) {
      buildRegion(piece, {}, active, &op);
    } else if (!blockLevel.contains(&op)) {
      if (isByBlock(&op)) {
        // An assert before it may be what keeps it from trapping.
        if (mayTrap(&op) && llvm::any_of(piece, [&](Operation *before) {
              return mayFail(before);
            }))
          buildRegion(piece, {}, active, &op);
        continue;
      }
      if (templates.contains(&op))
        continue;
      if (op.getNumResults() && isRecomputed(&op))
        templates.insert(&op);
      else
        piece.push_back(&op);
    } else if (isa<gpu::BarrierOp>(op)) {
      buildRegion(piece, {}, active, &op);
      erase(&op);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      cutIf(branch, active, piece);
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      cutFor(loop, active, piece);
    } else {
      cutWhile(cast<scf::WhileOp>(op), active, piece);
    }
  }
}

/// Arrays for those of `values` that vary, null for the others; `values` are
/// replaced by the elements of the arrays.
SmallVector<Value> Cutter::createSlots(ValueRange values) {
  SmallVector<Value> arrays;
  for (Value value : values) {
    Value array;
    if (variance->varies(value))
      value.replaceAllUsesWith(
          createSlot(value.getLoc(), value.getType(), array));
    arrays.push_back(array);
  }
  return arrays;
}

static SmallVector<Assignment> assign(ValueRange values,
                                      ArrayRef<Value> arrays) {
  SmallVector<Assignment> assignments;
  for (auto [value, array] : llvm::zip_equal(values, arrays))
    if (array)
      assignments.push_back({array, value});
  return assignments;
}

/// The values that have no array.
static SmallVector<Value> getRest(ValueRange values, ArrayRef<Value> arrays) {
  SmallVector<Value> rest;
  for (auto [value, array] : llvm::zip_equal(values, arrays))
    if (!array)
      rest.push_back(value);
  return rest;
}

/// Erases the arguments from `first` on that have an array.
void Cutter::eraseArguments(Block &block, unsigned first,
                            ArrayRef<Value> arrays) {
  for (unsigned i = arrays.size(); i-- > 0;)
    if (arrays[i]) {
      variance->forget(block.getArgument(first + i));
      block.eraseArgument(first + i);
    }
}

/// Cuts a block whose terminator passes `arrays.size()` values on.
void Cutter::cutBody(Block &block, ArrayRef<Value> arrays,
                     const Active &active) {
  SmallVector<Operation *> piece;
  cut(block, active, piece);
  Operation *yield = block.getTerminator();
  buildRegion(piece, assign(yield->getOperands(), arrays), active, yield);
  yield->setOperands(getRest(yield->getOperands(), arrays));
}

void Cutter::cutIf(scf::IfOp op, const Active &active,
                   SmallVector<Operation *> &piece) {
  Location loc = op.getLoc();
  Value condition = op.getCondition();
  bool hasElse = op.elseBlock();
  if (!variance->varies(condition)) {
    buildRegion(piece, {}, active, op);
    SmallVector<Value> arrays = createSlots(op.getResults());
    SmallVector<Value> results = getRest(op.getResults(), arrays);
    builder.setInsertionPoint(op);
    auto byBlock = scf::IfOp::create(
        builder, loc, ValueRange(results).getTypes(), condition,
        /*addThenBlock=*/false, /*addElseBlock=*/false);
    byBlock.getThenRegion().takeBody(op.getThenRegion());
    byBlock.getElseRegion().takeBody(op.getElseRegion());
    for (auto [old, value] : llvm::zip_equal(results, byBlock.getResults()))
      old.replaceAllUsesWith(value);
    erase(op);
    cutBody(*byBlock.thenBlock(), arrays, active);
    if (hasElse)
      cutBody(*byBlock.elseBlock(), arrays, active);
    return;
  }

  if (!meeting.contains(op)) {
    cutGuard(op, active, piece);
    return;
  }

  // Each side for the threads that take it, if there are any.
  assert(!active.box && active.limits.empty() &&
         "threads do not meet where only a box of them is");
  SmallVector<Assignment> masks{
      {memory->createArray(1), condition, Assignment::Mask}};
  if (hasElse)
    masks.push_back({memory->createArray(1), condition, Assignment::NotMask});
  buildRegion(piece, masks, active, op);
  SmallVector<Value> arrays = createSlots(op.getResults());
  for (auto [side, taken] : llvm::enumerate(masks)) {
    Active taking;
    taking.mask = taken.array;
    builder.setInsertionPoint(op);
    Value any = buildAnyActive(taken.array, loc);
    auto byBlock =
        scf::IfOp::create(builder, loc, TypeRange(), any,
                          /*addThenBlock=*/false, /*addElseBlock=*/false);
    byBlock.getThenRegion().takeBody(op->getRegion(side));
    cutBody(*byBlock.thenBlock(), arrays, taking);
  }
  erase(op);
}

/// Cuts the inside of `op`, for the threads of a box.
void Cutter::cutGuard(scf::IfOp op, const Active &active,
                      SmallVector<Operation *> &piece) {
  Location loc = op.getLoc();
  std::optional<Guard> guard = findGuard(kernel, *variance, op);
  assert(guard && "what no threads meet in is run for a box of them");
  builder.setInsertionPoint(op);
  ThreadBox box =
      active.box ? *active.box : buildWholeBox(builder, loc, kernel);
  box = buildBox(builder, loc, kernel, *variance, *guard, box);
  Active inside = active;
  inside.box = box;
  inside.addGuard(*guard, kernel);
  // What the block computes inside might trap where no thread is.
  Value any;
  for (unsigned dim : {0, 1, 2}) {
    Value some = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                       box.lower[dim], box.upper[dim]);
    any = any ? Value(arith::AndIOp::create(builder, loc, any, some)) : some;
  }
  buildRegion(piece, {}, active, op);
  builder.setInsertionPoint(op);
  auto byBlock = scf::IfOp::create(builder, loc, TypeRange(), any,
                                   /*addThenBlock=*/false,
                                   /*addElseBlock=*/false);
  byBlock.getThenRegion().takeBody(op.getThenRegion());
  erase(op);
  cutBody(*byBlock.thenBlock(), {}, inside);
}

/// What a thread's counter is beyond the first thread's in a loop that begins
/// at the thread's place, and what it is at most.
Cutter::Distance Cutter::buildDistance(scf::ForOp op) {
  Location loc = op.getLoc();
  Value start = op.getLowerBound();
  builder.setInsertionPoint(op);
  Distance result;
  result.dim = findThreadStart(kernel, *variance, op)->dim;
  result.first = buildLeastPlace(builder, kernel, *variance, start);
  auto subtract = [&](Value place) -> Value {
    return arith::SubIOp::create(builder, loc, place, result.first,
                                 arith::IntegerOverflowFlags::nsw);
  };
  if (!result.dim)
    result.most =
        subtract(buildGreatestPlace(builder, kernel, *variance, start));
  IRMapping ids;
  for (unsigned dim : {0, 1, 2}) {
    Value id = getEnv(kernel, ThreadId + dim);
    ids.map(id, id);
  }
  Operation *before = op->getPrevNode();
  result.own = subtract(buildPlace(builder, *variance, start, ids));
  // Each region computes it again.
  Block::iterator begin =
      before ? std::next(before->getIterator()) : op->getBlock()->begin();
  for (Operation &made : llvm::make_range(begin, op->getIterator())) {
    variance->add(made.getResult(0));
    templates.insert(&made);
  }
  return result;
}

/// Those of the `active` threads that run a round of `byBlock`, which counts
/// for the first thread. What used its counter uses the thread's own.
Active Cutter::buildRound(scf::ForOp byBlock, const Distance &distance,
                          Active active) {
  Location loc = byBlock.getLoc();
  Value counter = byBlock.getInductionVar();
  builder.setInsertionPointToStart(byBlock.getBody());
  // Active threads' counters are below the upper bound.
  auto own = arith::AddIOp::create(builder, loc, counter, distance.own,
                                   byBlock.getUnsignedCmp()
                                       ? arith::IntegerOverflowFlags::nuw
                                       : arith::IntegerOverflowFlags::nsw);
  variance->forget(counter);
  counter.replaceAllUsesExcept(own, own);
  variance->add(own);
  templates.insert(own);

  // More than 0, and exact as an unsigned number.
  Value left =
      arith::SubIOp::create(builder, loc, byBlock.getUpperBound(), counter);
  if (!distance.dim) {
    Value one = arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(left.getType(), 1));
    Value most = arith::SubIOp::create(builder, loc, left, one);
    active.limits.push_back({distance.own, most, distance.most});
    return active;
  }
  if (!left.getType().isIndex())
    left = arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(),
                                        left);
  if (!active.box)
    active.box = buildWholeBox(builder, loc, kernel);
  Value &upper = active.box->upper[*distance.dim];
  upper = arith::MinUIOp::create(builder, loc, upper, left);
  active.isLimitedInX |= *distance.dim == 0;
  return active;
}

void Cutter::cutFor(scf::ForOp op, const Active &active,
                    SmallVector<Operation *> &piece) {
  std::optional<Distance> distance;
  if (variance->hasVaryingControl(op))
    distance = buildDistance(op);
  SmallVector<Value> inits(op.getInitArgs());
  // The results are what the arguments are after the last round.
  SmallVector<Value> arrays = createSlots(op.getRegionIterArgs());
  for (auto [i, array] : llvm::enumerate(arrays))
    if (array)
      for (auto &[placeholder, known] : slots)
        if (known == array)
          op.getResult(i).replaceAllUsesWith(placeholder);
  buildRegion(piece, assign(inits, arrays), active, op);
  builder.setInsertionPoint(op);
  auto byBlock = scf::ForOp::create(
      builder, op.getLoc(), distance ? distance->first : op.getLowerBound(),
      op.getUpperBound(), op.getStep(), getRest(inits, arrays));
  byBlock.setUnsignedCmp(op.getUnsignedCmp());
  byBlock.getRegion().takeBody(op.getRegion());
  for (auto [old, value] :
       llvm::zip_equal(getRest(op.getResults(), arrays), byBlock.getResults()))
    old.replaceAllUsesWith(value);
  erase(op);
  eraseArguments(*byBlock.getBody(), 1, arrays);
  cutBody(*byBlock.getBody(), arrays,
          distance ? buildRound(byBlock, *distance, active) : active);
}

void Cutter::cutWhile(scf::WhileOp op, const Active &active,
                      SmallVector<Operation *> &piece) {
  Location loc = op.getLoc();
  bool isMasked = variance->hasVaryingControl(op);
  Active inside = active;
  SmallVector<Value> inits(op.getInits());
  SmallVector<Value> before = createSlots(op.getBeforeArguments());
  // The results are what was passed on last.
  SmallVector<Value> after = createSlots(op.getAfterArguments());
  for (auto [i, array] : llvm::enumerate(after))
    if (array)
      for (auto &[placeholder, known] : slots)
        if (known == array)
          op.getResult(i).replaceAllUsesWith(placeholder);
  SmallVector<Assignment> start = assign(inits, before);
  if (isMasked) {
    // The threads that are still in the loop.
    builder.setInsertionPoint(op);
    Value yes = arith::ConstantIntOp::create(builder, loc, 1, 1);
    inside.mask = memory->createArray(1);
    start.push_back({inside.mask, yes, Assignment::Mask});
    buildRegion(piece, start, active, op);
  } else {
    buildRegion(piece, start, active, op);
  }

  builder.setInsertionPoint(op);
  SmallVector<Value> results = getRest(op.getResults(), after);
  auto byBlock = scf::WhileOp::create(
      builder, loc, ValueRange(results).getTypes(), getRest(inits, before));
  byBlock.getBefore().takeBody(op.getBefore());
  byBlock.getAfter().takeBody(op.getAfter());
  for (auto [old, value] : llvm::zip_equal(results, byBlock.getResults()))
    old.replaceAllUsesWith(value);
  erase(op);
  eraseArguments(*byBlock.getBeforeBody(), 0, before);
  eraseArguments(*byBlock.getAfterBody(), 0, after);

  SmallVector<Operation *> beforePiece;
  cut(*byBlock.getBeforeBody(), inside, beforePiece);
  scf::ConditionOp condition = byBlock.getConditionOp();
  SmallVector<Assignment> end = assign(condition.getArgs(), after);
  if (isMasked)
    end.push_back({inside.mask, condition.getCondition(), Assignment::Mask});
  buildRegion(beforePiece, end, inside, condition);
  SmallVector<Value> operands{condition.getCondition()};
  if (isMasked) {
    builder.setInsertionPoint(condition);
    operands[0] = buildAnyActive(inside.mask, loc);
  }
  llvm::append_range(operands, getRest(condition.getArgs(), after));
  condition->setOperands(operands);
  cutBody(*byBlock.getAfterBody(), before, inside);
}

FailureOr<std::optional<CutKernel>> Cutter::run() {
  if (!kernel.getBody().hasOneBlock())
    return std::optional<CutKernel>();
  findBlockLevel();
  if (blockLevel.empty() && !isWorthGuarding())
    return std::optional<CutKernel>();
  memory = std::make_unique<ThreadMemory>(kernel, workgroupBytes);
  if (failed(expandCollectives(kernel, *memory, sizeX, subgroupSize)))
    return failure();
  blockLevel.clear();
  findBlockLevel();
  if (failed(placeAllocas()))
    return failure();
  variance = std::make_unique<ThreadVariance>(
      kernel, [&](Operation *op) { return blockLevel.contains(op); });

  SmallVector<Operation *> piece;
  Block &entry = kernel.getBody().front();
  cut(entry, Active(), piece);
  buildRegion(piece, {}, Active(), entry.getTerminator());
  for (Operation *op : llvm::reverse(templates))
    op->erase();
  for (Operation *op : placeholders)
    op->erase();
  result.failedOffset = -1;
  if (failedFlag) {
    builder.setInsertionPointAfter(failedFlag.getDefiningOp());
    Value zero = arith::ConstantIntOp::create(builder, kernel.getLoc(),
                                              builder.getI8Type(), 0);
    LLVM::StoreOp::create(builder, kernel.getLoc(), zero, failedFlag);
    result.failedOffset = failedOffset;
  }
  if (isRefused)
    return failure();
  memory->finish();
  result.workgroupBytes = memory->getWorkgroupBytes();
  result.threadBytes = memory->getThreadBytes();
  return std::optional<CutKernel>(std::move(result));
}

FailureOr<std::optional<CutKernel>>
cpu::cutAtBarriers(func::FuncOp kernel, int64_t workgroupBytes, int64_t sizeX,
                   int64_t subgroupSize,
                   function_ref<bool(func::CallOp)> mayFail) {
  return Cutter(kernel, workgroupBytes, sizeX, subgroupSize, mayFail).run();
}
