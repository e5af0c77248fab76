//===- Atomics.cpp - atomics of kernels -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Atomics of memref that LLVM has no instruction for become loops around one
// that it has: compare and exchange, of an integer that is as wide in memory.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Memory/TypeLayout.h"
#include "GPUAsync/Kernels/Common/IntegersInMemory.h"
#include "KernelLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::gpuasync;

/// Whether LLVM's atomicrmw does `op`, but for the type of float.
static bool isInstruction(memref::AtomicRMWOp op) {
  if (llvm::is_contained(
          {arith::AtomicRMWKind::mulf, arith::AtomicRMWKind::muli},
          op.getKind()))
    return false;
  auto integer = dyn_cast<IntegerType>(op.getType());
  return !integer ||
         llvm::is_contained({8u, 16u, 32u, 64u}, integer.getWidth());
}

memref::GenericAtomicRMWOp gpuasync::makeGenericAtomic(memref::AtomicRMWOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto generic = memref::GenericAtomicRMWOp::create(
      builder, loc, op.getMemref(), op.getIndices());
  OpBuilder body = OpBuilder::atBlockEnd(generic.getBody());
  Value next = op.getValue();
  if (op.getKind() != arith::AtomicRMWKind::assign)
    next = arith::getReductionOp(op.getKind(), body, loc,
                                 generic.getCurrentValue(), next);
  memref::AtomicYieldOp::create(body, loc, next);
  op.replaceAllUsesWith(generic.getResult());
  op.erase();
  return generic;
}

namespace {
/// An element of a memref as an integer that LLVM can compare and exchange.
class Element {
public:
  Element(OpBuilder &builder, memref::GenericAtomicRMWOp op)
      : builder(builder), loc(op.getLoc()), type(op.getType()),
        bytes(getElementBytes(type)),
        integer(builder.getIntegerType(8 * bytes)) {
    auto metadata =
        memref::ExtractStridedMetadataOp::create(builder, loc, op.getMemref());
    Value place = metadata.getOffset();
    for (auto [index, stride] :
         llvm::zip_equal(op.getIndices(), metadata.getStrides()))
      place = arith::AddIOp::create(
          builder, loc, place,
          arith::MulIOp::create(builder, loc, index, stride));
    auto toI64 = [&](Value value) -> Value {
      return arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                        value);
    };
    auto pointer =
        LLVM::LLVMPointerType::get(op.getContext(), getSpace(op.getMemref()));
    Value base = LLVM::IntToPtrOp::create(
        builder, loc, pointer,
        toI64(memref::ExtractAlignedPointerAsIndexOp::create(
            builder, loc, metadata.getBaseBuffer())));
    address = LLVM::GEPOp::create(builder, loc, pointer, integer, base,
                                  ArrayRef<Value>{toI64(place)});
  }

  Type getInteger() const { return integer; }
  Value load() {
    return LLVM::LoadOp::create(
        builder, loc, integer, address, /*alignment=*/bytes,
        /*isVolatile=*/false, /*isNonTemporal=*/false, /*isInvariant=*/false,
        /*isInvariantGroup=*/false, LLVM::AtomicOrdering::monotonic);
  }
  /// The old value, and whether it was `expected`, so that it is `wanted` now.
  std::pair<Value, Value> compareAndExchange(OpBuilder &builder, Value expected,
                                             Value wanted) {
    auto exchange = LLVM::AtomicCmpXchgOp::create(
        builder, loc, address, expected, wanted, LLVM::AtomicOrdering::acq_rel,
        LLVM::AtomicOrdering::monotonic);
    return {LLVM::ExtractValueOp::create(builder, loc, exchange, 0),
            LLVM::ExtractValueOp::create(builder, loc, exchange, 1)};
  }
  Value decode(OpBuilder &builder, Value bits) {
    if (type.isIndex())
      return arith::IndexCastOp::create(builder, loc, type, bits);
    if (isa<FloatType>(type))
      return arith::BitcastOp::create(builder, loc, type, bits);
    if (type.isInteger(1))
      return buildBoolOfByte(builder, loc, bits);
    return type == integer
               ? bits
               : Value(arith::TruncIOp::create(builder, loc, type, bits));
  }
  Value encode(OpBuilder &builder, Value value) {
    if (type.isIndex())
      return arith::IndexCastOp::create(builder, loc, integer, value);
    if (isa<FloatType>(type))
      return arith::BitcastOp::create(builder, loc, integer, value);
    return type == integer
               ? value
               : Value(arith::ExtUIOp::create(builder, loc, integer, value));
  }

private:
  static unsigned getSpace(Value memref) {
    Attribute space = cast<MemRefType>(memref.getType()).getMemorySpace();
    if (auto number = dyn_cast_or_null<IntegerAttr>(space))
      return number.getInt();
    auto gpuSpace = dyn_cast_or_null<gpu::AddressSpaceAttr>(space);
    if (!gpuSpace)
      return 0;
    return gpuSpace.getValue() == gpu::AddressSpace::Workgroup ? 3
           : gpuSpace.getValue() == gpu::AddressSpace::Private ? 5
                                                               : 1;
  }

  OpBuilder &builder;
  Location loc;
  Type type;
  int64_t bytes;
  IntegerType integer;
  Value address;
};
} // namespace

static void makeLoop(memref::GenericAtomicRMWOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Element element(builder, op);
  auto loop = scf::WhileOp::create(
      builder, loc, TypeRange{element.getInteger()}, ValueRange{element.load()},
      [&](OpBuilder &nested, Location, ValueRange current) {
        IRMapping mapping;
        mapping.map(op.getCurrentValue(), element.decode(nested, current[0]));
        Block *body = op.getBody();
        for (Operation &inner : body->without_terminator())
          nested.clone(inner, mapping);
        Value next =
            mapping.lookupOrDefault(body->getTerminator()->getOperand(0));
        auto [seen, done] = element.compareAndExchange(
            nested, current[0], element.encode(nested, next));
        Value yes = arith::ConstantIntOp::create(nested, loc, 1, 1);
        Value again = arith::XOrIOp::create(nested, loc, done, yes);
        scf::ConditionOp::create(nested, loc, again, seen);
      },
      [&](OpBuilder &nested, Location, ValueRange seen) {
        scf::YieldOp::create(nested, loc, seen);
      });
  op.replaceAllUsesWith(element.decode(builder, loop.getResult(0)));
  op.erase();
}

LogicalResult
gpuasync::expandAtomics(Operation *root,
                        function_ref<bool(Type)> isWithoutInstructions) {
  SmallVector<memref::AtomicRMWOp> simple;
  WalkResult walked = root->walk([&](Operation *op) -> WalkResult {
    if (!isa<memref::AtomicRMWOp, memref::GenericAtomicRMWOp>(op))
      return WalkResult::advance();
    Type type = op->getResult(0).getType();
    if (getElementBytes(type) > 8)
      return op->emitOpError("on ") << type << " is not supported: atomics "
                                    << "have at most 64 bits";
    auto atomic = dyn_cast<memref::AtomicRMWOp>(op);
    if (atomic && (!isInstruction(atomic) || isWithoutInstructions(type)))
      simple.push_back(atomic);
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return failure();
  for (memref::AtomicRMWOp op : simple)
    makeGenericAtomic(op);
  root->walk([](memref::GenericAtomicRMWOp op) { makeLoop(op); });
  return success();
}
