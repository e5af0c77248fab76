//===- IntegersInMemory.cpp - Booleans and odd integers in memory ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See IntegersInMemory.h. LLVM vectorises loops over bytes better, too.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Kernels/Common/IntegersInMemory.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::gpuasync;

Value gpuasync::buildBoolOfByte(OpBuilder &builder, Location loc, Value byte) {
  Value zero = arith::ConstantOp::create(builder, loc, byte.getType(),
                                         builder.getZeroAttr(byte.getType()));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, byte,
                               zero);
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

/// `type`, an i1, or a vector or memref of them, with a byte for each.
static Type withBytes(Type type) {
  Type byte = IntegerType::get(type.getContext(), 8);
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped ? Type(shaped.cloneWith(std::nullopt, byte)) : byte;
}

namespace {
/// The operands of an op that reads or writes elements of a memref.
struct VectorAccess {
  OpOperand *base = nullptr;
  OpOperand *value = nullptr; ///< to store, or where nothing is read; or null
};
} // namespace

static VectorAccess getVectorAccess(Operation *op) {
  return TypeSwitch<Operation *, VectorAccess>(op)
      .Case([](vector::LoadOp load) {
        return VectorAccess{&load.getBaseMutable(), nullptr};
      })
      .Case([](vector::TransferReadOp read) {
        return VectorAccess{&read.getBaseMutable(), &read.getPaddingMutable()};
      })
      .Case<vector::MaskedLoadOp, vector::GatherOp, vector::ExpandLoadOp>(
          [](auto load) {
            return VectorAccess{&load.getBaseMutable(),
                                &load.getPassThruMutable()};
          })
      .Case<vector::StoreOp, vector::TransferWriteOp, vector::MaskedStoreOp,
            vector::ScatterOp, vector::CompressStoreOp>([](auto store) {
        return VectorAccess{&store.getBaseMutable(),
                            &store.getValueToStoreMutable()};
      })
      .Default([](Operation *) { return VectorAccess(); });
}

void gpuasync::accessBoolVectorsAsBytes(Operation *root) {
  root->walk([](Operation *op) {
    VectorAccess access = getVectorAccess(op);
    auto memref = access.base
                      ? dyn_cast<MemRefType>(access.base->get().getType())
                      : MemRefType();
    if (!memref || !memref.getElementType().isInteger(1))
      return;
    OpBuilder builder(op);
    Location loc = op->getLoc();
    // In LLVM dialect both are one descriptor.
    access.base->set(UnrealizedConversionCastOp::create(
                         builder, loc, withBytes(memref), access.base->get())
                         .getResult(0));
    if (access.value)
      access.value->set(arith::ExtUIOp::create(
          builder, loc, withBytes(access.value->get().getType()),
          access.value->get()));
    builder.setInsertionPointAfter(op);
    for (Value result : op->getResults()) {
      result.setType(withBytes(result.getType()));
      Value isTrue = buildBoolOfByte(builder, loc, result);
      result.replaceAllUsesExcept(isTrue, isTrue.getDefiningOp());
    }
  });
}

//===----------------------------------------------------------------------===//
// In the LLVM dialect
//===----------------------------------------------------------------------===//

/// The integer of whole bytes that an odd one is in memory; null for others.
static IntegerType getWholeBytes(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return integer && integer.getWidth() % 8
             ? IntegerType::get(type.getContext(),
                                llvm::alignTo(integer.getWidth(), 8))
             : IntegerType();
}

void gpuasync::accessIntegersAsBytes(Operation *root) {
  root->walk([](Operation *op) {
    OpBuilder builder(op);
    Location loc = op->getLoc();
    if (auto store = dyn_cast<LLVM::StoreOp>(op)) {
      if (IntegerType bytes = getWholeBytes(store.getValue().getType()))
        store.getValueMutable().assign(
            LLVM::ZExtOp::create(builder, loc, bytes, store.getValue()));
      return;
    }
    auto load = dyn_cast<LLVM::LoadOp>(op);
    Type type = load ? load.getType() : Type();
    IntegerType bytes = load ? getWholeBytes(type) : IntegerType();
    if (!bytes)
      return;
    builder.setInsertionPointAfter(load);
    Value read = load.getResult();
    read.setType(bytes);
    Operation *value;
    if (type.isInteger(1)) {
      Value zero = LLVM::ConstantOp::create(builder, loc, bytes, 0);
      value = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne, read,
                                   zero);
    } else {
      value = LLVM::TruncOp::create(builder, loc, type, read);
    }
    read.replaceAllUsesExcept(value->getResult(0), value);
  });
}
