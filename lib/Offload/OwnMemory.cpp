//===- OwnMemory.cpp - what the blocks of a launch allocate ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See OwnMemory.h.
//===----------------------------------------------------------------------===//

#include "OwnMemory.h"

#include "RoundMemory.h"
#include "Schedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

/// What the memory's views have for a memory space is what it has. Loops and
/// branches, which may hand on other memory too, know it without a space.
static void setSpace(Value memory, Attribute space) {
  auto type = cast<MemRefType>(memory.getType());
  auto get = [&](Attribute of) {
    return MemRefType::get(type.getShape(), type.getElementType(),
                           type.getLayout(), of);
  };
  memory.setType(get(space));
  for (OpOperand &use : llvm::make_early_inc_range(memory.getUses())) {
    Operation *user = use.getOwner();
    if (isa<ViewLikeOpInterface>(user)) {
      for (Value view : user->getResults())
        if (isa<MemRefType>(view.getType()))
          setSpace(view, space);
    } else if (isMemoryEffectFree(user) ||
               !isa<MemoryEffectOpInterface>(user)) {
      if (isa<memref::DimOp>(user))
        continue;
      OpBuilder builder(user);
      use.set(memref::MemorySpaceCastOp::create(builder, user->getLoc(),
                                                get(Attribute()), memory));
    }
  }
}

/// Whether only the memory's size was of interest, as that of an operand that
/// says how often a loop goes; then it is gone.
static bool eraseIfUnused(memref::AllocOp alloc) {
  auto memory = cast<TypedValue<MemRefType>>(alloc.getResult());
  if (!llvm::all_of(memory.getUsers(), [](Operation *user) {
        auto dim = dyn_cast<memref::DimOp>(user);
        return isa<memref::DeallocOp>(user) || (dim && dim.getConstantIndex());
      }))
    return false;
  OpBuilder builder(alloc);
  SmallVector<OpFoldResult> sizes =
      memref::getMixedSizes(builder, alloc.getLoc(), memory);
  for (Operation *user : llvm::make_early_inc_range(memory.getUsers())) {
    if (auto dim = dyn_cast<memref::DimOp>(user))
      dim.replaceAllUsesWith(getValueOrCreateConstantIndexOp(
          builder, alloc.getLoc(), sizes[*dim.getConstantIndex()]));
    user->erase();
  }
  alloc->erase();
  return true;
}

SmallVector<Operation *> offload::findAllocations(gpu::LaunchOp launch) {
  SmallVector<Operation *> found, kept;
  launch.walk([&](Operation *op) {
    if (isa<memref::AllocOp, memref::AllocaOp>(op))
      found.push_back(op);
  });
  for (Operation *op : found) {
    auto alloc = dyn_cast<memref::AllocOp>(op);
    if (!alloc || !eraseIfUnused(alloc))
      kept.push_back(op);
  }
  return kept;
}

/// What memory takes beside others.
static int64_t align(int64_t bytes) {
  return llvm::SaturatingAdd<uint64_t>(bytes, 63) / 64 * 64;
}

static Attribute getWorkgroupSpace(MLIRContext *context) {
  return gpu::AddressSpaceAttr::get(context, gpu::AddressSpace::Workgroup);
}

static int64_t countWorkgroupBytes(gpu::LaunchOp launch) {
  uint64_t bytes = 0;
  for (BlockArgument memory : launch.getWorkgroupAttributions())
    bytes = llvm::SaturatingAdd<uint64_t>(
        bytes, findMostBytes(memory).value_or(INT64_MAX));
  return std::min<uint64_t>(bytes, INT64_MAX);
}

bool offload::hasWorkgroupMemory(gpu::LaunchOp launch, int64_t bytes) {
  const Schedule schedule = Schedule::get(OffloadDevice::GPU);
  // More than a tile may keep goes elsewhere.
  int64_t allocated = 0;
  launch.walk([&](Operation *op) {
    if (isa<memref::AllocOp, memref::AllocaOp>(op))
      allocated = std::min<uint64_t>(
          schedule.kept,
          llvm::SaturatingAdd<uint64_t>(
              allocated,
              align(findMostBytes(op->getResult(0)).value_or(schedule.kept))));
  });
  const int64_t left = schedule.memory.workgroupBytes - allocated;
  return bytes <= left && countWorkgroupBytes(launch) <= left - bytes;
}

namespace {
class OwnMemory {
public:
  OwnMemory(gpu::LaunchOp launch, Owner owner, Value owners)
      : launch(launch), owner(owner), owners(owners) {}

  /// Puts the allocation, of so many bytes at most, where it is the owner's.
  /// Returns what makes private memory, null for workgroup memory.
  Operation *keep(Operation *op, int64_t bytes);
  /// Puts it into memory that all blocks share.
  void spill(Operation *op, int64_t bytes);

private:
  /// What the op allocates, in memory that is bytes.
  static Value view(Operation *op, Value memory, Value shift);
  /// Replaces the op, and its frees.
  static void replace(Operation *op, Value memory);

  gpu::LaunchOp launch;
  const Owner owner;
  const Value owners;
};
} // namespace

Value OwnMemory::view(Operation *op, Value memory, Value shift) {
  OpBuilder builder(op);
  auto type = cast<MemRefType>(op->getResult(0).getType());
  return memref::ViewOp::create(
      builder, op->getLoc(),
      MemRefType::get(type.getShape(), type.getElementType(),
                      MemRefLayoutAttrInterface(),
                      cast<MemRefType>(memory.getType()).getMemorySpace()),
      memory, shift, op->getOperands());
}

void OwnMemory::replace(Operation *op, Value memory) {
  Value before = op->getResult(0);
  for (Operation *user : llvm::make_early_inc_range(before.getUsers()))
    if (isa<memref::DeallocOp>(user))
      user->erase();
  before.replaceAllUsesWith(memory);
  op->erase();
}

Operation *OwnMemory::keep(Operation *op, int64_t bytes) {
  auto type = cast<MemRefType>(op->getResult(0).getType());
  Location loc = op->getLoc();
  auto builder = OpBuilder::atBlockBegin(&launch.getBody().front());
  auto kept = type.hasStaticShape()
                  ? MemRefType::get(type.getShape(), type.getElementType())
                  : MemRefType::get(bytes, builder.getI8Type());
  Attribute space = getWorkgroupSpace(op->getContext());
  Value made;
  if (owner == Owner::Block)
    made = launch.addWorkgroupAttribution(
        MemRefType::get(kept.getShape(), kept.getElementType(),
                        MemRefLayoutAttrInterface(), space),
        loc);
  else
    made = memref::AllocaOp::create(builder, loc, kept,
                                    builder.getI64IntegerAttr(64));
  Value memory = made;
  if (!type.hasStaticShape()) {
    builder.setInsertionPoint(op);
    memory = view(op, made, arith::ConstantIndexOp::create(builder, loc, 0));
  }
  Operation *slot = made.getDefiningOp();
  replace(op, memory);
  if (owner == Owner::Block)
    setSpace(memory, space);
  return slot;
}

void OwnMemory::spill(Operation *op, int64_t bytes) {
  Location loc = op->getLoc();
  OpBuilder builder(launch);
  // At a multiple of what any access wants.
  bytes = llvm::alignTo(bytes, 256);
  // The runtime multiplies the sizes, and says where that is too much.
  auto all = memref::AllocOp::create(
      builder, loc,
      MemRefType::get({ShapedType::kDynamic, bytes}, builder.getI8Type()),
      ValueRange(owners));
  Value flat = memref::CollapseShapeOp::create(builder, loc, all,
                                               {ReassociationIndices{0, 1}});
  builder.setInsertionPointAfter(launch);
  memref::DeallocOp::create(builder, loc, all);
  builder.setInsertionPoint(op);
  Value number = launch.getBlockIds().x;
  if (owner == Owner::Thread)
    number = arith::AddIOp::create(
        builder, loc,
        arith::MulIOp::create(builder, loc, number, launch.getBlockSizeX()),
        launch.getThreadIds().x);
  Value shift = arith::MulIOp::create(
      builder, loc, number,
      arith::ConstantIndexOp::create(builder, loc, bytes));
  replace(op, view(op, flat, shift));
}

LogicalResult offload::keepOwn(gpu::LaunchOp launch,
                               ArrayRef<Operation *> allocs, Owner owner,
                               Value owners, const KernelMemory &bounds,
                               SmallVectorImpl<Operation *> &slots) {
  SmallVector<std::pair<int64_t, Operation *>> sizes;
  for (Operation *op : allocs) {
    std::optional<int64_t> bytes = findMostBytes(op->getResult(0));
    if (!bytes)
      return op->emitError("a kernel cannot allocate memory whose size has no "
                           "bound that is known before the program runs: "
                           "allocate it before the parallel loop");
    sizes.emplace_back(*bytes, op);
  }
  int64_t left = owner == Owner::Block
                     ? bounds.workgroupBytes - countWorkgroupBytes(launch)
                     : bounds.privateBytes;
  SmallVector<std::pair<int64_t, unsigned>> bySize;
  for (auto [number, size] : llvm::enumerate(sizes))
    bySize.emplace_back(align(size.first), number);
  llvm::sort(bySize);
  llvm::BitVector fits(sizes.size());
  for (auto [bytes, number] : bySize)
    if (bytes <= left) {
      left -= bytes;
      fits.set(number);
    }
  OwnMemory memory(launch, owner, owners);
  for (auto [number, size] : llvm::enumerate(sizes)) {
    auto [bytes, op] = size;
    if (!fits.test(number))
      memory.spill(op, bytes);
    else if (Operation *slot = memory.keep(op, bytes))
      slots.push_back(slot);
  }
  return success();
}
