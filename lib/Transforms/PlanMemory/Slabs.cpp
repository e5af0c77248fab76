//===- Slabs.cpp - allocations become windows of one ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes that are known at run time are added up in the program, and cannot
// wrap.
//===----------------------------------------------------------------------===//

#include "Slabs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::plan;

/// A token for all of them.
static Value joinTokens(OpBuilder &builder, Location loc, ValueRange tokens) {
  llvm::SetVector<Value> unique(tokens.begin(), tokens.end());
  if (unique.size() == 1)
    return unique.front();
  return WaitOp::create(builder, loc, builder.getType<TokenType>(),
                        unique.getArrayRef())
      .getAsyncToken();
}

namespace {
/// Computes bytes that are known at run time only: none is negative, and all
/// that are more than `limit` are `limit`, which no device has.
class Bytes {
public:
  Bytes(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value add(Value a, Value b) {
    return bound(arith::AddIOp::create(builder, loc, a, b));
  }
  Value multiply(Value a, int64_t count) {
    if (count == 1)
      return a;
    auto product =
        arith::MulUIExtendedOp::create(builder, loc, a, constant(count));
    return arith::SelectOp::create(builder, loc, isZero(product.getHigh()),
                                   bound(product.getLow()), constant(limit));
  }
  /// What an allocation needs. One that is an error by itself, negative or of
  /// 2^63 bytes and more, counts as empty: its window reports it.
  Value ofAllocation(int64_t scale, ValueRange sizes) {
    Value bytes = constant(scale), zero = constant(0);
    for (Value size : sizes) {
      Value natural = arith::MaxSIOp::create(builder, loc, size, zero);
      auto product =
          arith::MulUIExtendedOp::create(builder, loc, bytes, natural);
      Value isSmall = arith::AndIOp::create(
          builder, loc, isZero(product.getHigh()),
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge,
                                product.getLow(), zero));
      bytes = arith::SelectOp::create(builder, loc, isSmall, product.getLow(),
                                      zero);
    }
    constexpr int64_t alignment = WindowOp::alignment;
    bytes = arith::MaxSIOp::create(builder, loc, bound(bytes), constant(1));
    bytes = arith::AddIOp::create(builder, loc, bytes, constant(alignment - 1));
    return arith::AndIOp::create(builder, loc, bytes, constant(-alignment));
  }

private:
  static constexpr int64_t limit = int64_t(1) << 61;

  Value bound(Value bytes) {
    return arith::MinUIOp::create(builder, loc, bytes, constant(limit));
  }
  Value isZero(Value value) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, value,
                                 constant(0));
  }

  OpBuilder &builder;
  Location loc;
};
} // namespace

/// Computes how many bytes a unit of each part takes, where it begins, and last
/// where all end.
static SmallVector<Value> placeParts(const Slab &slab, ArrayRef<Allocation> all,
                                     OpBuilder &builder, Location loc,
                                     SmallVectorImpl<Value> &units) {
  Bytes bytes(builder, loc);
  SmallVector<Value> begins{bytes.constant(0)};
  Value end = bytes.constant(slab.getBytes());
  units.push_back(Value());
  for (const Slab::Part &part : llvm::drop_begin(slab.parts)) {
    const Allocation &one = all[part.members.front()];
    AllocOp alloc = one.alloc;
    begins.push_back(end);
    units.push_back(bytes.ofAllocation(one.scale, alloc.getDynamicSizes()));
    end = bytes.add(end, bytes.multiply(units.back(), part.packing.bytes));
  }
  begins.push_back(end);
  return begins;
}

void plan::replaceMemory(AllocOp old, Value slab, Value offset) {
  OpBuilder builder(old);
  for (Operation *user : llvm::make_early_inc_range(old.getMemref().getUsers()))
    if (auto window = dyn_cast<WindowOp>(user)) {
      builder.setInsertionPoint(window);
      window.getOffsetMutable().assign(builder.createOrFold<arith::AddIOp>(
          window.getLoc(), offset, window.getOffset()));
      window.getSlabMutable().assign(slab);
    }
  if (llvm::all_of(old.getMemref().getUsers(), llvm::IsaPred<DeallocOp>))
    return;
  builder.setInsertionPoint(old);
  auto window =
      WindowOp::create(builder, old.getLoc(), old.getMemref().getType(), slab,
                       offset, old.getDynamicSizes());
  old.getMemref().replaceAllUsesWith(window.getMemref());
}

void plan::eraseFree(DeallocOp free) {
  if (!free.getAsyncToken().use_empty()) {
    OpBuilder builder(free);
    free.getAsyncToken().replaceAllUsesWith(
        joinTokens(builder, free.getLoc(), free.getAsyncDependencies()));
  }
  free.erase();
}

SmallVector<SlabOps> plan::makeWindows(const FunctionAllocations &order,
                                       BlockAllocations &block,
                                       ArrayRef<Slab> slabs) {
  std::vector<Allocation> &all = block.allocations;
  SmallVector<SlabOps> result;
  auto keep = [&](unsigned member) {
    Allocation &one = all[member];
    result.push_back({one.alloc, one.dealloc, one.bytes, {member}});
  };
  if (slabs.empty())
    for (unsigned member = 0; member < all.size(); ++member)
      keep(member);
  OpBuilder builder(all.front().alloc->getContext());
  auto tokenType = builder.getType<TokenType>();
  for (const Slab &slab : slabs) {
    if (slab.stays()) {
      keep(slab.members.front());
      continue;
    }
    // An error of the slab is one of its largest allocation, or of the first of
    // which that is not known.
    unsigned largest = slab.members.front();
    for (unsigned member : slab.members)
      if (!all[largest].scale &&
          (all[member].scale || all[member].bytes > all[largest].bytes))
        largest = member;
    bool isDynamic = slab.parts.size() > 1;
    AllocOp first = all[slab.members.front()].alloc;
    Location loc = all[largest].alloc.getLoc();
    SmallVector<Value> frees;
    for (unsigned free : all[slab.members.front()].freesBefore.set_bits())
      frees.push_back(cast<DeallocOp>(order.items[free]).getAsyncToken());
    builder.setInsertionPoint(first);
    SmallVector<Value> begins, units;
    if (isDynamic)
      begins = placeParts(slab, all, builder, loc, units);
    auto type =
        MemRefType::get(isDynamic ? ShapedType::kDynamic : slab.getBytes(),
                        builder.getI8Type(), MemRefLayoutAttrInterface(),
                        first.getMemref().getType().getMemorySpace());
    auto alloc =
        AllocOp::create(builder, loc, type, tokenType, frees, Value(),
                        IntegerAttr(), DenseI64ArrayAttr(),
                        isDynamic ? ValueRange(begins.back()) : ValueRange(),
                        ValueRange(), UnitAttr());
    llvm::SetVector<Value> ends;
    if (slab.end == Slab::LastUser)
      ends.insert(cast<WorkOpInterface>(slab.lastUser).getAsyncToken());
    else if (slab.end != Slab::HostWait)
      for (unsigned member : slab.members)
        for (Value token : all[member].dealloc.getAsyncDependencies())
          ends.insert(token);
    Location end = all[slab.members.back()].dealloc.getLoc();
    builder.setInsertionPoint(slab.freeBefore);
    if (slab.end == Slab::NewHostWait)
      WaitOp::create(builder, end, Type(), ends.takeVector());
    auto dealloc = DeallocOp::create(builder, end, tokenType,
                                     ends.getArrayRef(), Value(), IntegerAttr(),
                                     DenseI64ArrayAttr(), alloc.getMemref());
    result.push_back({alloc, dealloc, slab.getBytes(), slab.members});
    for (auto [part, members] : llvm::enumerate(slab.parts))
      for (auto [number, member] : llvm::enumerate(members.members)) {
        AllocOp old = all[member].alloc;
        Location at = old.getLoc();
        int64_t place = members.packing.offsets[number];
        builder.setInsertionPoint(old);
        Bytes bytes(builder, at);
        Value offset =
            part == 0 ? bytes.constant(place)
            : place == 0
                ? begins[part]
                : bytes.add(begins[part], bytes.multiply(units[part], place));
        if (!old.getAsyncToken().use_empty()) {
          SmallVector<Value> tokens(old.getAsyncDependencies());
          tokens.push_back(alloc.getAsyncToken());
          old.getAsyncToken().replaceAllUsesWith(
              joinTokens(builder, at, tokens));
        }
        replaceMemory(old, alloc.getMemref(), offset);
      }
  }
  // The frees are among what others come after.
  for (const Slab &slab : slabs) {
    if (slab.stays())
      continue;
    for (unsigned member : slab.members) {
      eraseFree(all[member].dealloc);
      all[member].alloc.erase();
    }
  }
  return result;
}
