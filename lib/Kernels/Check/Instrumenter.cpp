//===- Instrumenter.cpp - calls of the checker ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Instrumenter.h.
//===----------------------------------------------------------------------===//

#include "Instrumenter.h"
#include "GPUAsync/Analysis/Memory/TypeLayout.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::check;

//===----------------------------------------------------------------------===//
// What accesses memory
//===----------------------------------------------------------------------===//

std::optional<MemRefAccess> check::getMemRefAccess(Operation *op) {
  constexpr unsigned read = GPUASYNC_CHECK_READ, write = GPUASYNC_CHECK_WRITE;
  constexpr unsigned atomic = read | write | GPUASYNC_CHECK_ATOMIC;
  auto observed = [&] {
    return op->use_empty() ? atomic : atomic | GPUASYNC_CHECK_OBSERVED;
  };
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return MemRefAccess{load.getMemRef(), load.getIndices(), 1, false, read};
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return MemRefAccess{store.getMemRef(), store.getIndices(), 1, false, write};
  if (auto rmw = dyn_cast<memref::AtomicRMWOp>(op)) {
    // An exchange whose result nobody needs is a write.
    bool writesOnly =
        rmw.getKind() == arith::AtomicRMWKind::assign && op->use_empty();
    return MemRefAccess{rmw.getMemref(), rmw.getIndices(), 1, false,
                        writesOnly ? write | GPUASYNC_CHECK_ATOMIC
                                   : observed()};
  }
  if (auto rmw = dyn_cast<memref::GenericAtomicRMWOp>(op))
    return MemRefAccess{rmw.getMemref(), rmw.getIndices(), 1, false,
                        observed()};
  // Of a vector with several dimensions the rows after the first are left out.
  auto lanes = [](MemRefType memref, VectorType vector) -> int64_t {
    if (vector.isScalable() || memref.getElementType() == Type(vector))
      return 1;
    return vector.getRank() ? vector.getShape().back() : 1;
  };
  if (auto load = dyn_cast<vector::LoadOp>(op))
    return MemRefAccess{load.getBase(), load.getIndices(),
                        lanes(load.getMemRefType(), load.getVectorType()),
                        false, read};
  if (auto store = dyn_cast<vector::StoreOp>(op))
    return MemRefAccess{store.getBase(), store.getIndices(),
                        lanes(store.getMemRefType(), store.getVectorType()),
                        false, write};
  auto transfer = dyn_cast<VectorTransferOpInterface>(op);
  if (transfer && isa<MemRefType>(transfer.getShapedType()) &&
      !transfer.getMask() && transfer.getVectorType().getRank() == 1 &&
      transfer.getPermutationMap().isMinorIdentity())
    return MemRefAccess{transfer.getBase(),
                        SmallVector<Value>(transfer.getIndices()),
                        lanes(cast<MemRefType>(transfer.getShapedType()),
                              transfer.getVectorType()),
                        !transfer.isDimInBounds(0),
                        isa<vector::TransferReadOp>(op) ? read : write};
  return std::nullopt;
}

/// Where a memref or pointer comes from within its function.
static Value getRoot(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto view = dyn_cast<ViewLikeOpInterface>(op))
      value = view.getViewSource();
    else if (isa<LLVM::GEPOp, LLVM::BitcastOp, LLVM::AddrSpaceCastOp,
                 memref::ExtractStridedMetadataOp>(op))
      value = op->getOperand(0);
    else
      break;
  }
  return value;
}

/// Whether only the thread itself knows the memory.
static bool isPrivate(Value root) {
  if (Operation *op = root.getDefiningOp())
    return isa<memref::AllocaOp, LLVM::AllocaOp>(op);
  auto argument = cast<BlockArgument>(root);
  auto function = dyn_cast<gpu::GPUFuncOp>(argument.getOwner()->getParentOp());
  return function &&
         llvm::is_contained(function.getPrivateAttributions(), argument);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

LLVM::CallOp Instrumenter::call(StringRef name, Type result,
                                ValueRange operands) {
  auto type = LLVM::LLVMFunctionType::get(
      result ? result : LLVM::LLVMVoidType::get(context),
      SmallVector<Type>(operands.getTypes()));
  auto callee = dyn_cast_or_null<LLVM::LLVMFuncOp>(
      SymbolTable::lookupSymbolIn(table, name));
  if (!callee) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&table->getRegion(0).front());
    callee = LLVM::LLVMFuncOp::create(builder, table->getLoc(), name, type);
    callee.setVisibility(SymbolTable::Visibility::Private);
  }
  return LLVM::CallOp::create(builder, loc, callee, operands);
}

std::string Instrumenter::takeName(StringRef prefix) {
  std::string name;
  do
    name = prefix.str() + std::to_string(symbols++);
  while (SymbolTable::lookupSymbolIn(table, name));
  return name;
}

/// "file:line:column", what the op is, and the function, as one text.
Value Instrumenter::getSite(Operation *op, StringRef what) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto place = op->getLoc()->findInstanceOf<FileLineColLoc>())
    os << place.getFilename().getValue() << ":" << place.getLine() << ":"
       << place.getColumn();
  os << "\n" << what << "\n@" << function.getName() << '\0';
  std::string &name = sites[text];
  if (name.empty()) {
    name = takeName("_gpuasync_check_site_");
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&table->getRegion(0).front());
    LLVM::GlobalOp::create(
        builder, op->getLoc(),
        LLVM::LLVMArrayType::get(builder.getI8Type(), text.size()),
        /*isConstant=*/true, LLVM::Linkage::Internal, name,
        builder.getStringAttr(text));
  }
  return LLVM::AddressOfOp::create(builder, loc, pointer, name);
}

Value Instrumenter::toGeneric(Value address) {
  if (cast<LLVM::LLVMPointerType>(address.getType()).getAddressSpace())
    return LLVM::AddrSpaceCastOp::create(builder, loc, pointer, address);
  return address;
}

Value Instrumenter::getSize(Value memref, int64_t dim) {
  auto type = cast<MemRefType>(memref.getType());
  if (!type.isDynamicDim(dim))
    return index(type.getDimSize(dim));
  return memref::DimOp::create(builder, loc, memref, dim);
}

Value Instrumenter::getBase(Value memref) {
  Value base =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, memref);
  return LLVM::IntToPtrOp::create(builder, loc, pointer, toI64(base));
}

std::pair<Value, Value> Instrumenter::getAddress(const MemRefAccess &access) {
  auto type = cast<MemRefType>(access.memref.getType());
  auto metadata =
      memref::ExtractStridedMetadataOp::create(builder, loc, access.memref);
  Value base = getBase(access.memref);
  Value place = metadata.getOffset();
  for (auto [i, stride] : llvm::zip(access.indices, metadata.getStrides()))
    place = arith::AddIOp::create(
        builder, loc, place, arith::MulIOp::create(builder, loc, i, stride));
  place = arith::MulIOp::create(builder, loc, place,
                                index(getElementBytes(type.getElementType())));
  Value address =
      LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), base,
                          ArrayRef<LLVM::GEPArg>(toI64(place)));
  return {address, base};
}

Value Instrumenter::getBytes(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  Value bytes = index(getElementBytes(type.getElementType()));
  for (int64_t i = 0; i < type.getRank(); ++i)
    bytes = arith::MulIOp::create(builder, loc, bytes, getSize(memref, i));
  return toI64(bytes);
}

Value Instrumenter::callChecker(Through how, Value address, Value base,
                                Value access, Operation *op) {
  SmallVector<Value> operands = {address, base, access,
                                 getSite(op, op->getName().getStringRef())};
  return askChecker(how, operands);
}

Value Instrumenter::isAllowed(Value address, Value base, Value access,
                              Operation *op) {
  return LLVM::ICmpOp::create(
      builder, loc, LLVM::ICmpPredicate::ne,
      callChecker(Through::MemRef, address, base, access, op),
      LLVM::ZeroOp::create(builder, loc, pointer));
}

Value Instrumenter::pack(Value bytes, unsigned flags) {
  bytes = arith::MinUIOp::create(builder, loc, bytes, constant(i64, mostBytes));
  bytes = arith::ShLIOp::create(builder, loc, bytes, constant(i64, 8));
  return arith::OrIOp::create(builder, loc, bytes, constant(i64, flags));
}

void Instrumenter::guard(Operation *op, Value allowed) {
  SmallVector<std::function<Value()>> zeros;
  for (Type result : op->getResultTypes()) {
    if (auto zero = dyn_cast_or_null<TypedAttr>(builder.getZeroAttr(result)))
      zeros.push_back([this, zero]() -> Value {
        return arith::ConstantOp::create(builder, loc, zero);
      });
    else if (LLVM::isCompatibleType(result))
      zeros.push_back([this, result]() -> Value {
        return LLVM::ZeroOp::create(builder, loc, result);
      });
    else
      return; // told of, and then done
  }
  auto guarded = scf::IfOp::create(builder, loc, op->getResultTypes(), allowed,
                                   /*withElseRegion=*/!zeros.empty());
  op->replaceAllUsesWith(guarded.getResults());
  Block *then = guarded.thenBlock();
  if (zeros.empty()) {
    op->moveBefore(then->getTerminator());
    return;
  }
  op->moveBefore(then, then->end());
  builder.setInsertionPointToEnd(then);
  scf::YieldOp::create(builder, loc, op->getResults());
  builder.setInsertionPointToEnd(guarded.elseBlock());
  SmallVector<Value> values;
  for (auto &zero : zeros)
    values.push_back(zero());
  scf::YieldOp::create(builder, loc, values);
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// The access happens only if its indices are in their dimensions and the
/// checker allows it; else it reads zeros.
void Instrumenter::instrumentMemRef(Operation *op, const MemRefAccess &access) {
  auto type = cast<MemRefType>(access.memref.getType());
  loc = op->getLoc();
  builder.setInsertionPoint(op);
  unsigned rank = access.indices.size();
  bool write = access.flags & GPUASYNC_CHECK_WRITE;

  // The number of lanes and the first index that is wrong.
  Value lanes = index(access.lanes), inside, dimension, wrong, count, size;
  for (unsigned i = rank; i-- > 0;) {
    Value extent = getSize(access.memref, i), at = access.indices[i];
    if (access.clipped && i + 1 == rank) {
      Value left = arith::SubIOp::create(builder, loc, extent, at);
      left = arith::MaxSIOp::create(builder, loc, left, index(0));
      lanes = arith::MinSIOp::create(builder, loc, left, lanes);
      continue;
    }
    Value fits = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                       at, extent);
    if (i + 1 == rank && access.lanes > 1) {
      Value last =
          arith::AddIOp::create(builder, loc, at, index(access.lanes - 1));
      fits = arith::AndIOp::create(
          builder, loc, fits,
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, last,
                                extent));
    }
    if (!inside) {
      inside = fits;
      dimension = index(i), wrong = at, size = extent;
      count = index(i + 1 == rank ? access.lanes : 1);
      continue;
    }
    auto select = [&](Value then, Value otherwise) -> Value {
      return arith::SelectOp::create(builder, loc, fits, then, otherwise);
    };
    dimension = select(dimension, index(i));
    wrong = select(wrong, at);
    count = select(count, index(1));
    size = select(size, extent);
    inside = arith::AndIOp::create(builder, loc, inside, fits);
  }

  int64_t bytes = getElementBytes(type.getElementType());
  SmallVector<int64_t> strides;
  int64_t offset;
  bool addressed = bytes && !isPrivate(getRoot(access.memref)) &&
                   succeeded(type.getStridesAndOffset(strides, offset));
  StringRef what = op->getName().getStringRef();
  auto checkAddress = [&]() -> Value {
    if (!addressed)
      return constant(builder.getI1Type(), 1);
    auto [address, base] = getAddress(access);
    Value count = arith::MulIOp::create(builder, loc, lanes, index(bytes));
    return isAllowed(address, base, pack(toI64(count), access.flags), op);
  };
  Value allowed;
  if (!inside) {
    allowed = checkAddress();
  } else {
    auto check = scf::IfOp::create(builder, loc, builder.getI1Type(), inside,
                                   /*withElseRegion=*/true);
    builder.setInsertionPointToStart(check.thenBlock());
    scf::YieldOp::create(builder, loc, checkAddress());
    builder.setInsertionPointToStart(check.elseBlock());
    call("gpuasync_check_index", Type(),
         {getSite(op, what), getThread(), constant(i32, write),
          toI64(dimension), toI64(wrong), toI64(count), toI64(size)});
    scf::YieldOp::create(builder, loc, constant(builder.getI1Type(), 0));
    builder.setInsertionPointAfter(check);
    allowed = check.getResult(0);
  }

  guard(op, allowed);
}

/// The access goes where the checker says.
void Instrumenter::instrumentPointer(Operation *op, OpOperand &operand,
                                     Type type, unsigned flags) {
  Value address = operand.get(), root = getRoot(address);
  int64_t bytes = getElementBytes(type);
  if (isPrivate(root) || !bytes)
    return;
  loc = op->getLoc();
  builder.setInsertionPoint(op);
  if (!isa<LLVM::LLVMPointerType>(root.getType()))
    root = address;
  Value result =
      callChecker(Through::Pointer, toGeneric(address), toGeneric(root),
                  constant(i64, bytes << 8 | flags), op);
  if (address.getType() != pointer)
    result =
        LLVM::AddrSpaceCastOp::create(builder, loc, address.getType(), result);
  operand.set(result);
}

/// A copy or fill inside a kernel: of no bytes if the checker forbids it.
void Instrumenter::instrumentTransfer(Operation *op,
                                      ArrayRef<OpOperand *> pointers,
                                      ArrayRef<unsigned> flags,
                                      OpOperand &length) {
  loc = op->getLoc();
  builder.setInsertionPoint(op);
  Type lengthType = length.get().getType();
  Value bytes = length.get();
  if (lengthType != i64)
    bytes = arith::ExtUIOp::create(builder, loc, i64, bytes);
  for (auto [operand, flag] : llvm::zip(pointers, flags)) {
    Value root = getRoot(operand->get());
    if (isPrivate(root))
      continue;
    if (!isa<LLVM::LLVMPointerType>(root.getType()))
      root = operand->get();
    Value allowed = isAllowed(toGeneric(operand->get()), toGeneric(root),
                              pack(bytes, flag), op);
    length.set(arith::SelectOp::create(builder, loc, allowed, length.get(),
                                       constant(lengthType, 0)));
  }
}

/// Accesses through pointers; does nothing for other ops.
void Instrumenter::instrumentLLVM(Operation *op) {
  constexpr unsigned read = GPUASYNC_CHECK_READ, write = GPUASYNC_CHECK_WRITE;
  constexpr unsigned atomic = GPUASYNC_CHECK_ATOMIC;
  if (auto load = dyn_cast<LLVM::LoadOp>(op)) {
    bool special = load.getVolatile_() ||
                   load.getOrdering() != LLVM::AtomicOrdering::not_atomic;
    instrumentPointer(op, load.getAddrMutable(), load.getType(),
                      read | (special ? atomic | GPUASYNC_CHECK_OBSERVED : 0));
  } else if (auto store = dyn_cast<LLVM::StoreOp>(op)) {
    bool special = store.getVolatile_() ||
                   store.getOrdering() != LLVM::AtomicOrdering::not_atomic;
    instrumentPointer(op, store.getAddrMutable(), store.getValue().getType(),
                      write | (special ? atomic : 0));
  } else if (auto rmw = dyn_cast<LLVM::AtomicRMWOp>(op)) {
    bool writesOnly =
        rmw.getBinOp() == LLVM::AtomicBinOp::xchg && op->use_empty();
    instrumentPointer(op, rmw.getPtrMutable(), rmw.getVal().getType(),
                      (writesOnly ? 0 : read) | write | atomic |
                          (op->use_empty() ? 0 : GPUASYNC_CHECK_OBSERVED));
  } else if (auto swap = dyn_cast<LLVM::AtomicCmpXchgOp>(op)) {
    instrumentPointer(op, swap.getPtrMutable(), swap.getVal().getType(),
                      read | write | atomic | GPUASYNC_CHECK_OBSERVED);
  } else if (auto copy = dyn_cast<LLVM::MemcpyOp>(op)) {
    instrumentTransfer(op, {&copy.getDstMutable(), &copy.getSrcMutable()},
                       {write, read}, copy.getLenMutable());
  } else if (auto move = dyn_cast<LLVM::MemmoveOp>(op)) {
    instrumentTransfer(op, {&move.getDstMutable(), &move.getSrcMutable()},
                       {write, read}, move.getLenMutable());
  } else if (auto fill = dyn_cast<LLVM::MemsetOp>(op)) {
    instrumentTransfer(op, {&fill.getDstMutable()}, {write},
                       fill.getLenMutable());
  }
}

void Instrumenter::instrument(FunctionOpInterface code) {
  function = code;
  SmallVector<Operation *> ops;
  function->walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops) {
    if (std::optional<MemRefAccess> access = getMemRefAccess(op))
      instrumentMemRef(op, *access);
    else if (!instrumentOther(op))
      instrumentLLVM(op);
  }
}
