//===- PlaceMemory.cpp - memory that the device reaches -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values that may be views of one piece of memory are placed together, whatever
// control flow they went through.
//===----------------------------------------------------------------------===//

#include "Apart.h"
#include "ByAddress.h"
#include "GPUAsync/Analysis/Memory/KernelEffects.h"
#include "GPUAsync/Decision.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/Offload/Passes.h"
#include "SameMemory.h"
#include "Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCPLACEMEMORY
#include "GPUAsync/Offload/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
/// Values that may be views of one piece of memory, and who touches it.
struct Piece {
  SmallVector<Value> values;
  /// Where it comes from: arguments, allocations, constants, calls.
  SmallVector<Value> origins;
  bool isInKernels = false, isWritten = false, isTouched = false;
  /// Single elements that the host reads or writes.
  SmallVector<Operation *> elements;
  SmallVector<memref::DeallocOp> frees;
  /// Operands of the function's returns.
  SmallVector<OpOperand *> returns;
  /// What takes the memory elsewhere.
  Operation *escape = nullptr;
  /// Memory of the stack with other names outside of the block that makes it.
  memref::AllocaOp leaving;
};

struct PlaceMemory
    : public gpuasync::impl::GPUAsyncPlaceMemoryBase<PlaceMemory> {
  using Base::Base;
  void runOnOperation() override;

private:
  bool isArgument(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == &getOperation().front();
  }
  void hoistGlobals();
  void findPieces();
  void addUse(Piece &piece, OpOperand &use, KernelTable &kernels);
  LogicalResult placePiece(Piece &piece);
  bool isCallers(Value origin);
  bool mayCallsKnowMemory();
  bool isReachedElsewhere(Value origin);
  void addSharedResidents(SmallVectorImpl<std::pair<Value, Value>> &shared);
  SmallVector<std::pair<Value, Value>> findSharedCopies();
  void putConstantsIntoKernels();
  /// Whether it is an argument that the caller has put on the device.
  bool isOnDevice(Value origin) {
    return place == PlaceMode::Off && isa<BlockArgument>(origin) &&
           origin.getParentRegion() == &getOperation().getFunctionBody();
  }
  bool isKept(Value origin);
  LogicalResult keep(Piece &piece, Value origin);
  void registerPiece(Piece &piece);
  void shadow(Piece &piece, Value origin);
  void copyElement(Operation *op);

  void findAccesses();

  using Ops = SmallVector<Operation *>;
  std::vector<Piece> pieces;
  /// The host calls functions here.
  Ops calls;
  /// The host reads or writes here what may be an argument or a global: in
  /// functions that it calls, and by addresses.
  Ops accesses;
  /// Host code of the program may read or write by addresses.
  bool mayUseAddresses;
};
} // namespace

/// On a function: it reads and writes no memory. MLIR's lowering of functions
/// has no constant of it.
static constexpr StringLiteral kReadNoneName = "llvm.readnone";

/// Whether the op may write the memory behind the value.
static bool mayWrite(Operation *op, Value value) {
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  if (!effects)
    return true;
  SmallVector<MemoryEffects::EffectInstance> found;
  effects.getEffects(found);
  return llvm::any_of(found, [&](const MemoryEffects::EffectInstance &effect) {
    return isa<MemoryEffects::Write>(effect.getEffect()) &&
           (!effect.getValue() || effect.getValue() == value);
  });
}

/// Whether the host may read or write by an address. Bufferization compares
/// addresses, and keeps them in memory, to find out what to free.
static bool isFollowed(Value address) {
  return llvm::any_of(address.getUsers(), [](Operation *user) {
    return !isa<arith::CmpIOp, memref::StoreOp>(user);
  });
}

void PlaceMemory::addUse(Piece &piece, OpOperand &use, KernelTable &kernels) {
  Value value = use.get();
  Operation *user = use.getOwner();
  if (user->getParentOfType<gpu::LaunchOp>()) {
    piece.isInKernels = piece.isTouched = true;
    piece.isWritten |= mayWrite(user, value);
    return;
  }
  if (isa<func::ReturnOp>(user)) {
    // An argument is returned as the caller's memory that it is.
    if (!isArgument(value)) {
      piece.isTouched = true;
      piece.returns.push_back(&use);
    }
    return;
  }
  piece.isTouched |= !isa<memref::DimOp, ViewLikeOpInterface>(user);
  if (auto launch = dyn_cast<gpu::LaunchFuncOp>(user)) {
    piece.isInKernels = piece.isWritten = true;
  } else if (auto call = dyn_cast<CallOp>(user)) {
    const KernelEffects &effects =
        kernels.lookupLibrary(call, call.getCalleeAttr());
    piece.isInKernels = true;
    for (auto [number, operand] : llvm::enumerate(call.getArguments()))
      piece.isWritten |= operand == value &&
                         (!effects.isKnown || effects.arguments[number].writes);
  } else if (auto collective = dyn_cast<CollectiveOp>(user)) {
    piece.isInKernels = true;
    piece.isWritten |= collective.getDestination() == value;
  } else if (auto copy = dyn_cast<gpu::MemcpyOp>(user)) {
    piece.isWritten |= copy.getDst() == value;
  } else if (auto copy = dyn_cast<memref::CopyOp>(user)) {
    piece.isWritten |= copy.getTarget() == value;
  } else if (auto free = dyn_cast<memref::DeallocOp>(user)) {
    piece.frees.push_back(free);
  } else if (isa<memref::LoadOp>(user)) {
    piece.elements.push_back(user);
  } else if (auto store = dyn_cast<memref::StoreOp>(user);
             store && store.getValue() != value) {
    piece.elements.push_back(user);
    piece.isWritten = true;
  } else if (auto get =
                 dyn_cast<memref::ExtractAlignedPointerAsIndexOp>(user)) {
    if (isFollowed(get))
      piece.escape = user;
  } else if (!isa<memref::DimOp, ViewLikeOpInterface, arith::SelectOp,
                  RegionBranchOpInterface, RegionBranchTerminatorOpInterface>(
                 user) ||
             user->hasTrait<OpTrait::ReturnLike>()) {
    bool isYield = isa<RegionBranchTerminatorOpInterface>(user) &&
                   user->getParentOp() != getOperation();
    if (!isYield) {
      piece.escape = user;
      piece.isWritten |= mayWrite(user, value);
    }
  }
}

/// A global that may change is one memory for the host and all kernels, so the
/// function gets it once, where it begins.
void PlaceMemory::hoistGlobals() {
  llvm::MapVector<StringAttr, SmallVector<memref::GetGlobalOp>> found;
  getOperation()->walk([&](memref::GetGlobalOp get) {
    auto global = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
        get, get.getNameAttr());
    if (!global || !global.getConstant())
      found[get.getNameAttr().getAttr()].push_back(get);
  });
  Block &entry = getOperation().front();
  for (auto &[name, gets] : found) {
    memref::GetGlobalOp first = gets.front();
    first->moveBefore(&entry, entry.begin());
    for (memref::GetGlobalOp other : ArrayRef(gets).drop_front()) {
      other.replaceAllUsesWith(first.getResult());
      other.erase();
    }
  }
}

/// Where the block of what is `origin` is left for good; none if that is not
/// known.
static SmallVector<Operation *> findEnds(Value origin) {
  Block *block = origin.getParentBlock();
  Region *region = block->getParent();
  if (region->hasOneBlock())
    return {block->getTerminator()};
  SmallVector<Operation *> ends;
  if (isa<func::FuncOp>(region->getParentOp()) && block->isEntryBlock())
    for (Block &each : *region)
      if (!each.getNumSuccessors())
        ends.push_back(each.getTerminator());
  return ends;
}

void PlaceMemory::findPieces() {
  BufferViewFlowAnalysis flow(getOperation());
  llvm::EquivalenceClasses<void *> same;
  llvm::MapVector<Value, bool> all;
  auto add = [&](Value value) {
    if (isa<BaseMemRefType>(value.getType()))
      all[value] = true;
  };
  for (Value argument : getOperation().getArguments())
    add(argument);
  getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
    // Views that kernels make, or choose, belong to what they are of.
    llvm::for_each(op->getResults(), add);
    if (isa<gpu::LaunchOp>(op))
      return WalkResult::advance();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), add);
    return WalkResult::advance();
  });
  for (auto &[value, unused] : all) {
    same.insert(value.getAsOpaquePointer());
    for (Value view : flow.resolve(value))
      if (all.contains(view))
        same.unionSets(value.getAsOpaquePointer(), view.getAsOpaquePointer());
  }
  llvm::MapVector<void *, Piece> found;
  KernelTable kernels;
  for (auto &[value, unused] : all) {
    Piece &piece = found[same.getLeaderValue(value.getAsOpaquePointer())];
    piece.values.push_back(value);
    Operation *maker = value.getDefiningOp();
    // What a kernel allocates is its own.
    if (isArgument(value) ||
        (maker && !maker->getParentOfType<gpu::LaunchOp>() &&
         !isa<ViewLikeOpInterface, arith::SelectOp, RegionBranchOpInterface>(
             maker)))
      piece.origins.push_back(value);
    for (OpOperand &use : value.getUses())
      addUse(piece, use, kernels);
    if (auto made = dyn_cast_or_null<memref::AllocaOp>(maker))
      for (Value view : flow.resolve(value))
        if (!made->getParentRegion()->isAncestor(view.getParentRegion()))
          piece.leaving = made;
  }
  for (auto &[leader, piece] : found)
    pieces.push_back(std::move(piece));
}

/// Registers memory with the device, or ends that. No bytes cannot be
/// registered; with `evenIfEmpty` the first element's are in place of them.
static void setRegistered(OpBuilder &builder, Value origin, bool isRegistered,
                          bool evenIfEmpty) {
  Location loc = origin.getLoc();
  auto memRef = cast<BaseMemRefType>(origin.getType());
  auto type =
      UnrankedMemRefType::get(memRef.getElementType(), memRef.getMemorySpace());
  auto set = [&](Value part) {
    Value memory = part.getType() == type
                       ? part
                       : memref::CastOp::create(builder, loc, type, part);
    if (isRegistered)
      gpu::HostRegisterOp::create(builder, loc, memory);
    else
      gpu::HostUnregisterOp::create(builder, loc, memory);
  };
  auto setFirst = [&] {
    if (evenIfEmpty)
      set(memref::ExtractStridedMetadataOp::create(builder, loc, origin)
              .getBaseBuffer());
  };
  auto ranked = dyn_cast<MemRefType>(memRef);
  if (!ranked)
    return set(origin);
  if (llvm::is_contained(ranked.getShape(), 0))
    return setFirst();
  Value elements;
  for (int64_t dim = 0; dim < ranked.getRank(); ++dim)
    if (ranked.isDynamicDim(dim)) {
      Value index = arith::ConstantIndexOp::create(builder, loc, dim);
      Value size = memref::DimOp::create(builder, loc, origin, index);
      elements =
          elements ? arith::MulIOp::create(builder, loc, elements, size) : size;
    }
  OpBuilder::InsertionGuard guard(builder);
  if (elements) {
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value isThere = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ne, elements, zero);
    auto branch = scf::IfOp::create(builder, loc, isThere, evenIfEmpty);
    if (evenIfEmpty) {
      builder.setInsertionPointToStart(branch.elseBlock());
      setFirst();
    }
    builder.setInsertionPointToStart(branch.thenBlock());
  }
  set(origin);
}

/// Registers all of it as long as it is there. What is allocated may be freed
/// by another name, in another block.
void PlaceMemory::registerPiece(Piece &piece) {
  OpBuilder builder(&getContext());
  // Whether one is freed that has several names.
  const bool isFreedByOther =
      llvm::any_of(piece.frees, [](memref::DeallocOp free) {
        return !free.getMemref().getDefiningOp<memref::AllocOp>();
      });
  for (Value origin : piece.origins) {
    if (isOnDevice(origin) || origin.getDefiningOp<gpu::AllocOp>())
      continue;
    builder.setInsertionPointAfterValue(origin);
    // Who frees it by another name does not see whether it has elements.
    bool isAllocated = origin.getDefiningOp<memref::AllocOp>() != nullptr;
    setRegistered(builder, origin, true, isAllocated && isFreedByOther);
    if (isAllocated) {
      bool isFreed =
          llvm::any_of(origin.getUsers(), llvm::IsaPred<memref::DeallocOp>);
      if (isFreed || isFreedByOther)
        continue;
    }
    for (Operation *end : findEnds(origin)) {
      builder.setInsertionPoint(end);
      setRegistered(builder, origin, false, /*evenIfEmpty=*/false);
    }
  }
  for (memref::DeallocOp free : piece.frees) {
    builder.setInsertionPoint(free);
    setRegistered(builder, free.getMemref(), false, isFreedByOther);
  }
}

/// Whether it is an array of which the runtime keeps a copy on the device.
bool PlaceMemory::isKept(Value origin) {
  if (auto get = origin.getDefiningOp<memref::GetGlobalOp>()) {
    auto global = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
        get, get.getNameAttr());
    return global && global.getConstant() && !global.isExternal() &&
           !global.isUninitialized() &&
           global.getType().getLayout().isIdentity();
  }
  auto argument = dyn_cast<BlockArgument>(origin);
  return argument && place == PlaceMode::Copy &&
         argument.getOwner() == &getOperation().front() &&
         getOperation().getArgAttr(argument.getArgNumber(),
                                   GPUAsyncDialect::getResidentName());
}

/// Has the device read that copy, which is found before all work. The host goes
/// on reading its own elements.
LogicalResult PlaceMemory::keep(Piece &piece, Value origin) {
  auto builder = OpBuilder::atBlockBegin(&getOperation().front());
  Location loc = origin.getLoc();
  auto type = dyn_cast<MemRefType>(origin.getType());
  Value memory;
  if (auto get = origin.getDefiningOp<memref::GetGlobalOp>()) {
    memory = ConstantOp::create(builder, loc, type, get.getName());
  } else {
    if (piece.isWritten || !type ||
        !(type.getLayout().isIdentity() ||
          type.areTrailingDimsContiguous(type.getRank()))) {
      auto argument = cast<BlockArgument>(origin);
      return getOperation().emitError()
             << "argument " << argument.getArgNumber() << " of type "
             << origin.getType()
             << " is to stay on the device (gpu_async.resident), but "
             << (piece.isWritten ? "a kernel may write it"
                                 : "its elements may have gaps between them")
             << ": pass it without the attribute";
    }
    auto contiguous = MemRefType::get(type.getShape(), type.getElementType());
    memory = ResidentOp::create(builder, loc, contiguous, origin);
    if (contiguous != type)
      memory = memref::CastOp::create(builder, loc, type, memory);
  }
  llvm::erase_if(piece.elements, [&](Operation *op) {
    auto load = dyn_cast<memref::LoadOp>(op);
    return load && load.getMemref() == origin;
  });
  origin.replaceUsesWithIf(memory, [](OpOperand &use) {
    Operation *user = use.getOwner();
    bool isOfHost =
        isa<memref::LoadOp>(user) && !user->getParentOfType<gpu::LaunchOp>();
    return !isOfHost &&
           !isa<memref::DimOp, memref::DeallocOp, ResidentOp, func::ReturnOp>(
               user);
  });
  if (Operation *get = origin.getDefiningOp(); get && get->use_empty())
    get->erase();
  return success();
}

/// Whether functions that are called from here may know memory that is not
/// passed to them: as a global, or by an address that they have kept.
bool PlaceMemory::mayCallsKnowMemory() {
  if (mayUseAddresses || !llvm::all_of(calls, llvm::IsaPred<func::CallOp>))
    return true;
  return llvm::any_of(*getOperation()->getBlock(), [](Operation &op) {
    if (auto global = dyn_cast<memref::GlobalOp>(op))
      return !global.getConstant();
    if (auto global = dyn_cast<LLVM::GlobalOp>(op))
      return !global.getConstant();
    auto function = dyn_cast<FunctionOpInterface>(op);
    return function && function.isExternal() && !op.hasAttr(kReadNoneName);
  });
}

/// Finds where the host may touch memory by a name that this function does not
/// know.
void PlaceMemory::findAccesses() {
  llvm::SmallSetVector<Operation *, 8> found;
  if (mayCallsKnowMemory())
    found.insert_range(calls);
  getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<gpu::LaunchOp>(op))
      return WalkResult::skip();
    if (offload::accessesByAddress(op))
      found.insert(op);
    return WalkResult::advance();
  });
  auto isElsewhere = [&](Value origin) {
    Operation *maker = origin.getDefiningOp();
    return maker &&
           (isa<CallOpInterface>(maker) ? found.contains(maker)
                                        : offload::makesMemRefOfAddress(maker));
  };
  for (Piece &piece : pieces)
    if (!piece.isInKernels && llvm::any_of(piece.origins, isElsewhere))
      for (Value value : piece.values)
        for (Operation *user : value.getUsers())
          if (!isMemoryEffectFree(user) &&
              !isa<memref::DeallocOp, RegionBranchOpInterface>(user))
            found.insert(user);
  accesses = found.takeVector();
}

/// Whether one of `accesses` may be to this memory.
bool PlaceMemory::isReachedElsewhere(Value origin) {
  if (!isCallers(origin))
    return false;
  auto argument = dyn_cast<BlockArgument>(origin);
  if (!argument)
    return true;
  auto isSet = [&](StringRef name) {
    return getOperation().getArgAttr(argument.getArgNumber(), name) != nullptr;
  };
  return !isSet(LLVM::LLVMDialect::getNoAliasAttrName()) &&
         !isSet(kResultAttrName);
}

/// Gives it memory on the device.
void PlaceMemory::shadow(Piece &piece, Value origin) {
  OpBuilder builder(&getContext());
  builder.setInsertionPointAfterValue(origin);
  Location loc = origin.getLoc();
  auto type = cast<MemRefType>(origin.getType());
  auto argument = dyn_cast<BlockArgument>(origin);
  bool isResult = argument && getOperation().getArgAttr(argument.getArgNumber(),
                                                        kResultAttrName);
  SmallVector<Value> sizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.isDynamicDim(dim)) {
      Value index = arith::ConstantIndexOp::create(builder, loc, dim);
      sizes.push_back(memref::DimOp::create(builder, loc, origin, index));
    }
  auto contiguous = MemRefType::get(type.getShape(), type.getElementType());
  auto alloc =
      gpu::AllocOp::create(builder, loc, contiguous, Type(), ValueRange(),
                           sizes, ValueRange(), /*hostShared=*/false);
  Value memory = alloc.getMemref();
  llvm::SmallPtrSet<Operation *, 8> own{alloc};
  // Nothing is in it yet.
  if (!isResult && !origin.getDefiningOp<memref::AllocOp>())
    own.insert(gpu::MemcpyOp::create(builder, loc, Type(), ValueRange(), memory,
                                     origin));
  if (contiguous != type)
    memory = memref::CastOp::create(builder, loc, type, memory);
  const bool isConstant =
      origin.getDefiningOp<memref::GetGlobalOp>() && !isCallers(origin);
  auto copy = [&](Value target, Value source) {
    own.insert(gpu::MemcpyOp::create(builder, loc, Type(), ValueRange(), target,
                                     source));
  };
  for (OpOperand *end : piece.returns)
    if (auto cast = end->get().getDefiningOp<memref::CastOp>()) {
      builder.setInsertionPoint(end->getOwner());
      auto back = memref::CastOp::create(builder, loc, cast.getType(), origin);
      own.insert(back);
      end->set(back);
    }
  const bool isCopiedBack = !isConstant && (isResult || piece.isWritten);
  for (Operation *end : findEnds(origin)) {
    builder.setInsertionPoint(end);
    if (isCopiedBack)
      copy(origin, alloc.getMemref());
    gpu::DeallocOp::create(builder, loc, Type(), ValueRange(),
                           alloc.getMemref());
  }
  Block *block = origin.getParentBlock();
  for (Operation *access : isReachedElsewhere(origin) ? accesses : Ops()) {
    Operation *here = block->findAncestorOpInBlock(*access);
    // Other blocks of the function come behind its first one.
    if (here ? here->isBeforeInBlock(alloc) : block != &getOperation().front())
      continue;
    builder.setInsertionPoint(access);
    if (isCopiedBack)
      copy(origin, alloc.getMemref());
    builder.setInsertionPointAfter(access);
    copy(alloc.getMemref(), origin);
  }
  origin.replaceUsesWithIf(memory, [&](OpOperand &use) {
    return !own.contains(use.getOwner()) &&
           !isa<memref::DimOp, memref::DeallocOp, func::ReturnOp>(
               use.getOwner());
  });
}

/// The host's access to an element of device memory.
void PlaceMemory::copyElement(Operation *op) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  auto load = dyn_cast<memref::LoadOp>(op);
  auto store = dyn_cast<memref::StoreOp>(op);
  Value memory = load ? load.getMemref() : store.getMemref();
  ValueRange indices = load ? load.getIndices() : store.getIndices();
  auto type = cast<MemRefType>(memory.getType());
  SmallVector<OpFoldResult> offsets(indices.begin(), indices.end()),
      ones(type.getRank(), builder.getIndexAttr(1));
  auto viewType =
      cast<MemRefType>(memref::SubViewOp::inferRankReducedResultType(
          {}, type, offsets, ones, ones));
  Value view = memref::SubViewOp::create(builder, loc, viewType, memory,
                                         offsets, ones, ones);
  // In a loop it would be memory more for each round.
  auto atEntry = OpBuilder::atBlockBegin(&getOperation().front());
  Value element = memref::AllocaOp::create(
      atEntry, loc, MemRefType::get({}, type.getElementType()));
  if (store) {
    memref::StoreOp::create(builder, loc, store.getValue(), element);
    gpu::MemcpyOp::create(builder, loc, Type(), ValueRange(), view, element);
  } else {
    gpu::MemcpyOp::create(builder, loc, Type(), ValueRange(), element, view);
    load.replaceAllUsesWith(
        memref::LoadOp::create(builder, loc, element).getResult());
  }
  op->erase();
}

/// Constants that are not large and that only kernels read are loaded with
/// these. Had the host a use of one, too, CSE would take the host's for the
/// kernel's.
void PlaceMemory::putConstantsIntoKernels() {
  constexpr int64_t most = 64 << 10;
  llvm::MapVector<StringAttr, SmallVector<memref::GetGlobalOp>> found;
  llvm::DenseSet<StringAttr> ofHost;
  getOperation()->walk([&](memref::GetGlobalOp get) {
    StringAttr name = get.getNameAttr().getAttr();
    auto global = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
        get, get.getNameAttr());
    std::optional<int64_t> bytes = offload::getBytes(get.getType());
    bool isOfKernels = llvm::all_of(get->getUsers(), [](Operation *user) {
      return user->getParentOfType<gpu::LaunchOp>();
    });
    if (!isOfKernels || !global || !global.getConstant() ||
        global.isUninitialized() || !bytes || *bytes > most)
      ofHost.insert(name);
    found[name].push_back(get);
  });
  for (auto &[name, gets] : found) {
    if (ofHost.contains(name))
      continue;
    for (memref::GetGlobalOp get : gets) {
      if (get->getParentOfType<gpu::LaunchOp>())
        continue;
      llvm::SmallDenseMap<Operation *, Value> inKernels;
      for (OpOperand &use : llvm::make_early_inc_range(get->getUses())) {
        auto launch = use.getOwner()->getParentOfType<gpu::LaunchOp>();
        Value &own = inKernels[launch];
        if (!own)
          own = OpBuilder::atBlockBegin(&launch.getBody().front())
                    .clone(*get)
                    ->getResult(0);
        use.set(own);
      }
      get->erase();
    }
  }
}

/// Whether callers may know the memory by another name, too.
bool PlaceMemory::isCallers(Value origin) {
  if (!isa<MemRefType>(origin.getType()) || isOnDevice(origin))
    return false;
  if (auto get = origin.getDefiningOp<memref::GetGlobalOp>()) {
    auto global = SymbolTable::lookupNearestSymbolFrom<memref::GlobalOp>(
        get, get.getNameAttr());
    return !global || !global.getConstant();
  }
  return isArgument(origin);
}

/// Memory that may be the same, of which one is written, and one will be
/// copied to the device.
SmallVector<std::pair<Value, Value>> PlaceMemory::findSharedCopies() {
  SmallVector<std::pair<Value, Value>> found;
  auto add = [&](Value one, Value other) {
    auto get = one.getDefiningOp<memref::GetGlobalOp>();
    if (offload::mayBeSame(one, other) &&
        !(get && other.getDefiningOp<memref::GetGlobalOp>()))
      found.push_back({one, other});
  };
  for (auto [number, piece] : llvm::enumerate(pieces)) {
    SmallVector<Value> own = llvm::filter_to_vector(
        piece.origins, [&](Value origin) { return isCallers(origin); });
    for (auto [place, one] : llvm::enumerate(own)) {
      if (piece.isInKernels && piece.isWritten)
        for (Value other : ArrayRef(own).drop_front(place + 1))
          add(one, other);
      for (Piece &next : MutableArrayRef(pieces).drop_front(number + 1))
        if ((piece.isInKernels || next.isInKernels) &&
            (piece.isWritten || next.isWritten) && piece.isTouched &&
            next.isTouched)
          for (Value other : next.origins)
            if (isCallers(other))
              add(one, other);
    }
  }
  return found;
}

/// The copy of an argument that stays on the device does not change where a
/// function that is called from here writes the array by a global's name.
void PlaceMemory::addSharedResidents(
    SmallVectorImpl<std::pair<Value, Value>> &shared) {
  if (calls.empty())
    return;
  auto builder = OpBuilder::atBlockBegin(&getOperation().front());
  for (auto global : getOperation()->getBlock()->getOps<memref::GlobalOp>()) {
    if (global.getConstant())
      continue;
    Value named;
    for (Piece &piece : pieces)
      for (Value origin : piece.origins) {
        if (!piece.isInKernels || !isCallers(origin) || !isArgument(origin) ||
            !isKept(origin))
          continue;
        if (!named)
          named = memref::GetGlobalOp::create(builder, getOperation().getLoc(),
                                              global.getType(),
                                              global.getSymName());
        if (offload::mayBeSame(origin, named))
          shared.push_back({origin, named});
      }
  }
}

/// Whether it is memory that the function allocates, or a global, and returns
/// as a whole.
static bool isReturnedAsItIs(const Piece &piece) {
  if (piece.returns.empty() || piece.origins.size() != 1 ||
      !piece.frees.empty())
    return false;
  Value origin = piece.origins.front();
  return isa_and_nonnull<memref::AllocOp, memref::GetGlobalOp>(
             origin.getDefiningOp()) &&
         llvm::all_of(piece.returns, [&](OpOperand *end) {
           auto cast = end->get().getDefiningOp<memref::CastOp>();
           return (cast ? cast.getSource() : end->get()) == origin;
         });
}

LogicalResult PlaceMemory::placePiece(Piece &piece) {
  const bool isCallersOnDevice =
      device != OffloadDevice::CPU &&
      llvm::any_of(piece.origins, [&](Value v) { return isOnDevice(v); });
  if (!piece.isInKernels) {
    // The host does not reach it.
    if (isCallersOnDevice)
      for (Operation *op : piece.elements)
        copyElement(op);
    return success();
  }
  SmallVector<Value> kept;
  if (!piece.escape && piece.returns.empty())
    llvm::copy_if(piece.origins, std::back_inserter(kept), [&](Value origin) {
      // Of a constant that other memory is taken for, a kernel has its own.
      return isKept(origin) &&
             !(piece.isWritten && origin.getDefiningOp<memref::GetGlobalOp>());
    });
  for (Value origin : kept) {
    llvm::erase(piece.origins, origin);
    if (failed(keep(piece, origin)))
      return failure();
  }
  // The caller gets memory of the host, and the device a copy of it.
  const bool isReturned =
      device != OffloadDevice::CPU && isReturnedAsItIs(piece);
  SmallVector<Value> allocs, others;
  for (Value origin : piece.origins) {
    if (origin.getDefiningOp<gpu::AllocOp>() || isOnDevice(origin))
      continue;
    const bool isAlloc = origin.getDefiningOp<memref::AllocOp>() && !isReturned;
    if (!isAlloc && findEnds(origin).empty())
      return emitError(origin.getLoc())
             << "a kernel touches this memory, which is made in one of several "
                "blocks: make it in the first block of the function";
    (isAlloc ? allocs : others).push_back(origin);
  }
  if (allocs.empty() && others.empty()) {
    if (device != OffloadDevice::CPU && (!kept.empty() || isCallersOnDevice))
      for (Operation *op : piece.elements)
        copyElement(op);
    return success();
  }
  bool isPrivate = others.empty() && piece.elements.empty() &&
                   piece.returns.empty() && !piece.escape;
  const bool isRegistered = device == OffloadDevice::CPU && !isPrivate;
  for (Value origin : others) {
    Operation *maker = origin.getDefiningOp();
    // Registered memory that is freed by a name of which it is not known
    // whether it is the call's could not be taken back.
    if (isRegistered &&
        (piece.frees.empty() || !isa_and_nonnull<CallOpInterface>(maker)))
      continue;
    if (maker &&
        !isa<memref::GetGlobalOp, memref::AllocaOp, memref::AllocOp>(maker))
      return maker->emitError("a kernel touches this memory, and it is not "
                              "known where it is: copy it to memory that is "
                              "allocated here");
  }
  if (isRegistered) {
    registerPiece(piece);
    return success();
  }
  for (Value origin : piece.origins) {
    auto type = dyn_cast<MemRefType>(origin.getType());
    if (type &&
        (type.getLayout().isIdentity() ||
         memref::CastOp::areCastCompatible(
             MemRefType::get(type.getShape(), type.getElementType()), type)))
      continue;
    return emitError(origin.getLoc())
           << "a kernel touches memory of type " << origin.getType()
           << ", which cannot be copied to the device as a whole: pass "
           << (type ? "memory without a layout of constant strides"
                    : "it with its rank");
  }
  if (piece.leaving)
    return piece.leaving.emitError(
        "a kernel touches this memory, which branches or loops hand on behind "
        "the block where it is made: use memref.alloc, or make it in the first "
        "block of the function");
  if (!piece.returns.empty() && !isReturned && !piece.escape)
    piece.escape = piece.returns.front()->getOwner();
  if (piece.escape)
    return piece.escape->emitError(
        "takes memory that a kernel touches and that would be on the device: "
        "copy it to memory of its own first");
  for (Operation *op : piece.elements)
    copyElement(op);
  for (Value origin : others)
    shadow(piece, origin);
  for (Value origin : allocs) {
    auto alloc = origin.getDefiningOp<memref::AllocOp>();
    OpBuilder builder(alloc);
    auto onDevice = gpu::AllocOp::create(
        builder, alloc.getLoc(), alloc.getType(), Type(), ValueRange(),
        alloc.getDynamicSizes(), alloc.getSymbolOperands(),
        /*hostShared=*/false);
    alloc.replaceAllUsesWith(onDevice.getMemref());
    alloc.erase();
  }
  for (memref::DeallocOp free : piece.frees) {
    OpBuilder builder(free);
    gpu::DeallocOp::create(builder, free.getLoc(), Type(), ValueRange(),
                           free.getMemref());
    free.erase();
  }
  return success();
}

void PlaceMemory::runOnOperation() {
  if (getOperation().isExternal())
    return;
  mayUseAddresses =
      !getOperation()->removeAttr(offload::kNoAccessesByAddressAttrName);
  SmallVector<memref::CopyOp> copies;
  bool hasKernels = false;
  calls.clear();
  getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<gpu::LaunchOp, gpu::LaunchFuncOp, CallOp, CollectiveOp>(op)) {
      hasKernels = true;
      return WalkResult::skip();
    }
    if (isa<CallOpInterface>(op))
      calls.push_back(op);
    if (auto copy = dyn_cast<memref::CopyOp>(op))
      copies.push_back(copy);
    return WalkResult::advance();
  });
  // Without kernels, too, the host does not reach what a caller has put on the
  // device.
  const bool isOnHost = place != PlaceMode::Off || device == OffloadDevice::CPU;
  if (!hasKernels && isOnHost)
    return;
  pieces.clear();
  for (memref::CopyOp copy : copies) {
    OpBuilder builder(copy);
    gpu::MemcpyOp::create(builder, copy.getLoc(), Type(), ValueRange(),
                          copy.getTarget(), copy.getSource());
    copy.erase();
  }
  hoistGlobals();
  if (device != OffloadDevice::CPU)
    putConstantsIntoKernels();
  findPieces();
  findAccesses();
  SmallVector<std::pair<Value, Value>> shared;
  if (device != OffloadDevice::CPU) {
    shared = findSharedCopies();
    addSharedResidents(shared);
  }
  // The host waits for what was written; the end of other memory's
  // registration, behind that, then waits for nothing more.
  for (bool isWritten : {true, false})
    for (Piece &piece : pieces)
      if (piece.isWritten == isWritten && failed(placePiece(piece)))
        return signalPassFailure();
  offload::assertApart(getOperation(), shared);
  Decision(*this, getOperation(), "Placed")
      .count(numAllocations, "device-buffers",
             countOps<gpu::AllocOp>(getOperation()))
      .count(numCopies, "copies", countOps<gpu::MemcpyOp>(getOperation()))
      .count(numRegistered, "registered",
             countOps<gpu::HostRegisterOp>(getOperation()));
}
