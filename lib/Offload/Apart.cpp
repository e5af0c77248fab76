//===- Apart.cpp - memory that is copied piece by piece -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Apart.h. The addresses between two elements count as the memref's own:
// columns of one matrix are not apart.
//===----------------------------------------------------------------------===//

#include "Apart.h"
#include "GPUAsync/Analysis/Memory/TypeLayout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
/// Addresses in bytes; `end` is behind the last one. Of no elements, both are
/// zero.
struct Addresses {
  Value first, end;
};

class AddressBuilder {
public:
  explicit AddressBuilder(func::FuncOp function)
      : builder(OpBuilder::atBlockBegin(&function.front())),
        loc(function.getLoc()) {}
  void assertApart(Value one, Value other);

private:
  Addresses get(Value memory);
  Addresses build(Value memory);
  Value index(int64_t number) {
    return arith::ConstantIndexOp::create(builder, loc, number);
  }
  template <typename Op>
  Value make(Value one, Value other) {
    return builder.createOrFold<Op>(loc, one, other);
  }
  Value compare(arith::CmpIPredicate predicate, Value one, Value other) {
    return builder.createOrFold<arith::CmpIOp>(loc, predicate, one, other);
  }

  OpBuilder builder;
  Location loc;
  llvm::DenseMap<Value, Addresses> known;
};
} // namespace

Addresses AddressBuilder::build(Value memory) {
  if (Operation *get = memory.getDefiningOp())
    memory = builder.clone(*get)->getResult(0);
  auto type = cast<MemRefType>(memory.getType());
  auto parts = memref::ExtractStridedMetadataOp::create(builder, loc, memory);
  Value pointer =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, memory);
  Value zero = index(0), one = index(1), isEmpty;
  Value lowest = parts.getOffset(), highest = lowest;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    Value size = type.isDynamicDim(dim) ? parts.getSizes()[dim]
                                        : index(type.getDimSize(dim));
    Value last = make<arith::MulIOp>(make<arith::SubIOp>(size, one),
                                     parts.getStrides()[dim]);
    lowest = make<arith::AddIOp>(lowest, make<arith::MinSIOp>(last, zero));
    highest = make<arith::AddIOp>(highest, make<arith::MaxSIOp>(last, zero));
    if (!type.isDynamicDim(dim))
      continue;
    Value isNone = compare(arith::CmpIPredicate::eq, size, zero);
    isEmpty = isEmpty ? make<arith::OrIOp>(isEmpty, isNone) : isNone;
  }
  Value bytes = index(getElementBytes(type.getElementType()));
  auto at = [&](Value element) -> Value {
    Value address =
        make<arith::AddIOp>(pointer, make<arith::MulIOp>(element, bytes));
    return isEmpty
               ? arith::SelectOp::create(builder, loc, isEmpty, zero, address)
                     .getResult()
               : address;
  };
  return {at(lowest), at(make<arith::AddIOp>(highest, one))};
}

Addresses AddressBuilder::get(Value memory) {
  auto [entry, isNew] = known.try_emplace(memory);
  if (!isNew)
    return entry->second;
  return known[memory] = build(memory);
}

static std::string getName(Value memory) {
  if (auto argument = dyn_cast<BlockArgument>(memory))
    return "argument " + std::to_string(argument.getArgNumber());
  return "@" + memory.getDefiningOp<memref::GetGlobalOp>().getName().str();
}

void AddressBuilder::assertApart(Value one, Value other) {
  for (Value each : {one, other})
    if (llvm::is_contained(cast<MemRefType>(each.getType()).getShape(), 0))
      return;
  Addresses of = get(one), with = get(other);
  Value isApart = make<arith::OrIOp>(
      compare(arith::CmpIPredicate::ule, of.end, with.first),
      compare(arith::CmpIPredicate::ule, with.end, of.first));
  std::string function =
      cast<func::FuncOp>(builder.getBlock()->getParentOp()).getName().str();
  cf::AssertOp::create(
      builder, loc, isApart,
      getName(one) + " and " + getName(other) + " of @" + function +
          " overlap, and one of them is written: the device has a copy of "
          "each, so pass memory that does not overlap");
}

void offload::assertApart(func::FuncOp function,
                          ArrayRef<std::pair<Value, Value>> pairs) {
  if (pairs.empty())
    return;
  AddressBuilder builder(function);
  for (auto [one, other] : pairs)
    builder.assertApart(one, other);
}
