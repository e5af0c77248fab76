//===- InstrumentAccesses.cpp - gpu-async-instrument-accesses ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts a call of the checker before each access to memory, for gpu-runner
// --check. Done on the stream form, where threads are still gpu.thread_id, so
// that the lowering of kernels knows nothing of it.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Memory/TypeLayout.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/Kernels/Passes.h"
#include "Kernels/Common/KernelLowering.h"
#include "gpuasync/Check.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCINSTRUMENTACCESSES
#include "GPUAsync/Kernels/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
/// An access through a memref: `lanes` elements from `indices` on, along the
/// last dimension.
struct MemRefAccess {
  Value memref;
  SmallVector<Value> indices;
  int64_t lanes = 1;
  /// Only the lanes that lie in the memref are accessed.
  bool clipped = false;
  unsigned flags = 0;
};

/// Instruments the functions of one symbol table.
class Instrumenter {
public:
  explicit Instrumenter(Operation *table)
      : table(table), context(table->getContext()), builder(context),
        pointer(LLVM::LLVMPointerType::get(context)), i32(builder.getI32Type()),
        i64(builder.getI64Type()) {}

  void instrumentKernelCode(FunctionOpInterface function);
  void instrumentHostCode(FunctionOpInterface function);

private:
  /// Begins with a function of the host or of kernels.
  void enter(FunctionOpInterface code, bool isOfHost) {
    function = code;
    isHost = isOfHost;
    thread = Value();
  }
  Value constant(Type type, int64_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(type, value));
  }
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value toI64(Value value) {
    return value.getType().isIndex()
               ? Value(arith::IndexCastOp::create(builder, loc, i64, value))
               : value;
  }
  LLVM::CallOp call(StringRef name, Type result, ValueRange operands);
  Value getSite(Operation *op, StringRef function);
  Value getThread();
  Value toGeneric(Value address);
  /// The memref's own address, whatever its offset and rank.
  Value getBase(Value memref);
  /// The address of the first element, and the memref's own.
  std::pair<Value, Value> getAddress(const MemRefAccess &access);
  Value getSize(Value memref, int64_t dim);
  /// Calls the checker's function `kind` ("access", "pointer"), or that for
  /// host code, for `bytes << 8 | flags`.
  Value callChecker(StringRef kind, Value address, Value base, Value access,
                    Operation *op);
  Value isAllowed(Value address, Value base, Value access, Operation *op);
  /// `bytes << 8 | flags`, of an i64.
  Value pack(Value bytes, unsigned flags);
  /// Does `op` only if `allowed`; else its results are zeros.
  void guard(Operation *op, Value allowed);

  void instrumentMemRef(Operation *op, const MemRefAccess &access);
  void instrumentLLVM(Operation *op);
  void instrumentPointer(Operation *op, OpOperand &address, Type type,
                         unsigned flags);
  void instrumentTransfer(Operation *op, ArrayRef<OpOperand *> pointers,
                          ArrayRef<unsigned> flags, OpOperand &length);
  void instrumentGlobal(Operation *op);
  void instrumentAlloc(memref::AllocOp op);
  Value getBytes(Value memref);
  Value isRangeAllowed(Operation *op, Value memref, Value shape,
                       unsigned flags);
  void instrumentHostCopy(memref::CopyOp op);
  void instrumentHostAlloc(Value memref);
  void instrumentHostFree(Operation *op, Value address);
  void instrumentStart(Operation *op, Value memref);

  Operation *table;
  MLIRContext *context;
  OpBuilder builder;
  Type pointer, i32, i64;
  Location loc = builder.getUnknownLoc();
  FunctionOpInterface function;
  bool isHost = false;
  Value thread;
  llvm::StringMap<std::string> sites; ///< text -> symbol
  unsigned symbols = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// What accesses memory
//===----------------------------------------------------------------------===//

/// What an op does through a memref, if anything.
static std::optional<MemRefAccess> getMemRefAccess(Operation *op) {
  constexpr unsigned read = GPUASYNC_CHECK_READ, write = GPUASYNC_CHECK_WRITE;
  constexpr unsigned atomic = read | write | GPUASYNC_CHECK_ATOMIC;
  auto observed = [&] {
    return op->use_empty() ? atomic : atomic | GPUASYNC_CHECK_OBSERVED;
  };
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return MemRefAccess{load.getMemRef(), load.getIndices(), 1, false, read};
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return MemRefAccess{store.getMemRef(), store.getIndices(), 1, false, write};
  if (auto rmw = dyn_cast<memref::AtomicRMWOp>(op))
    return MemRefAccess{rmw.getMemref(), rmw.getIndices(), 1, false,
                        observed()};
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
    do
      name = "_gpuasync_check_site_" + std::to_string(symbols++);
    while (SymbolTable::lookupSymbolIn(table, name));
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

/// The place of the thread in its block, as gpuasync/Check.h packs it.
Value Instrumenter::getThread() {
  if (isHost)
    return constant(i32, 0);
  if (thread)
    return thread;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&function.getFunctionBody().front());
  Value packed;
  for (unsigned i = 0; i < 3; ++i) {
    Value id =
        gpu::ThreadIdOp::create(builder, loc, static_cast<gpu::Dimension>(i));
    Value part = arith::IndexCastOp::create(builder, loc, i32, id);
    if (i)
      part = arith::ShLIOp::create(builder, loc, part, constant(i32, 10 * i));
    packed =
        packed ? Value(arith::OrIOp::create(builder, loc, packed, part)) : part;
  }
  return thread = packed;
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

Value Instrumenter::callChecker(StringRef kind, Value address, Value base,
                                Value access, Operation *op) {
  SmallVector<Value> operands = {address, base, access,
                                 getSite(op, op->getName().getStringRef())};
  if (!isHost)
    operands.push_back(getThread());
  StringRef ofHost =
      kind == "access" ? "gpuasync_check_host" : "gpuasync_check_host_pointer";
  return call(isHost ? ofHost.str() : ("gpuasync_check_" + kind).str(), pointer,
              operands)
      .getResult();
}

Value Instrumenter::isAllowed(Value address, Value base, Value access,
                              Operation *op) {
  return LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne,
                              callChecker("access", address, base, access, op),
                              LLVM::ZeroOp::create(builder, loc, pointer));
}

Value Instrumenter::pack(Value bytes, unsigned flags) {
  // So many are out of bounds everywhere.
  bytes = arith::MinUIOp::create(builder, loc, bytes,
                                 constant(i64, int64_t(1) << 55));
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
// Accesses of both
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
  Value result = callChecker("pointer", toGeneric(address), toGeneric(root),
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
    instrumentPointer(op, rmw.getPtrMutable(), rmw.getVal().getType(),
                      read | write | atomic |
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

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Kernels may use the variables of their module.
void Instrumenter::instrumentGlobal(Operation *op) {
  loc = op->getLoc();
  builder.setInsertionPointAfter(op);
  Value address;
  int64_t bytes = 0;
  if (auto get = dyn_cast<memref::GetGlobalOp>(op)) {
    auto type = cast<MemRefType>(get.getType());
    if (gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(type))
      return;
    if (auto space = dyn_cast_or_null<IntegerAttr>(type.getMemorySpace());
        space && space.getInt() == 3)
      return;
    bytes = type.getNumElements() * getElementBytes(type.getElementType());
    address = getBase(get.getResult());
  } else {
    auto addressOf = cast<LLVM::AddressOfOp>(op);
    auto global =
        dyn_cast_or_null<LLVM::GlobalOp>(SymbolTable::lookupNearestSymbolFrom(
            op, addressOf.getGlobalNameAttr()));
    if (!global || global.getAddrSpace() == 3)
      return;
    bytes = getElementBytes(global.getGlobalType());
    address = toGeneric(addressOf.getResult());
  }
  call("gpuasync_check_own", Type(),
       {address, constant(i64, bytes),
        getSite(op, op->getName().getStringRef()), constant(i32, 1)});
}

/// What a memref with the identity layout has allocated.
Value Instrumenter::getBytes(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  Value bytes = index(getElementBytes(type.getElementType()));
  for (int64_t i = 0; i < type.getRank(); ++i)
    bytes = arith::MulIOp::create(builder, loc, bytes, getSize(memref, i));
  return toI64(bytes);
}

void Instrumenter::instrumentAlloc(memref::AllocOp op) {
  loc = op.getLoc();
  builder.setInsertionPointAfter(op);
  call("gpuasync_check_own", Type(),
       {getBase(op.getResult()), getBytes(op.getResult()),
        getSite(op, "memref.alloc"), constant(i32, 0)});
}

void Instrumenter::instrumentKernelCode(FunctionOpInterface kernelCode) {
  enter(kernelCode, /*isOfHost=*/false);
  SmallVector<Operation *> ops;
  function->walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops) {
    StringRef name = op->getName().getStringRef();
    if (std::optional<MemRefAccess> access = getMemRefAccess(op)) {
      instrumentMemRef(op, *access);
    } else if (isa<memref::GetGlobalOp, LLVM::AddressOfOp>(op)) {
      instrumentGlobal(op);
    } else if (auto alloc = dyn_cast<memref::AllocOp>(op)) {
      instrumentAlloc(alloc);
    } else if (isa<gpu::BarrierOp, gpu::AllReduceOp, NVVM::Barrier0Op,
                   NVVM::BarrierOp, NVVM::SyncWarpOp>(op)) {
      loc = op->getLoc();
      builder.setInsertionPoint(op);
      // Threads may stay away from a reduction that is not marked uniform, and
      // from a barrier of warps.
      auto reduction = dyn_cast<gpu::AllReduceOp>(op);
      bool mayStayAway =
          (reduction && !reduction.getUniform()) || isa<NVVM::SyncWarpOp>(op);
      Value site = mayStayAway
                       ? Value(LLVM::ZeroOp::create(builder, loc, pointer))
                       : getSite(op, name);
      call("gpuasync_check_arrive", Type(), {site, getThread()});
    } else if (auto assertion = dyn_cast<cf::AssertOp>(op)) {
      loc = op->getLoc();
      builder.setInsertionPoint(op);
      call("gpuasync_check_assert", Type(),
           arith::ExtUIOp::create(builder, loc, i32, assertion.getArg())
               .getResult());
    } else {
      instrumentLLVM(op);
    }
  }
}

//===----------------------------------------------------------------------===//
// Host code
//===----------------------------------------------------------------------===//

/// Whether as many elements of a memref as `shape` has may be read or written,
/// all of them, as an i1.
Value Instrumenter::isRangeAllowed(Operation *op, Value memref, Value shape,
                                   unsigned flags) {
  auto type = cast<MemRefType>(memref.getType());
  int64_t element = getElementBytes(type.getElementType());
  auto metadata =
      memref::ExtractStridedMetadataOp::create(builder, loc, memref);
  // From the lowest element to the highest one, or none.
  SmallVector<Value> lowest;
  Value zero = index(0), span = zero,
        isEmpty = constant(builder.getI1Type(), 0);
  for (auto [i, stride] : llvm::enumerate(metadata.getStrides())) {
    Value size = getSize(shape, i);
    Value last = arith::SubIOp::create(builder, loc, size, index(1));
    Value up = arith::MulIOp::create(builder, loc, last, stride);
    Value down = arith::SubIOp::create(builder, loc, zero, up);
    Value isDown = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt, stride, zero);
    lowest.push_back(arith::SelectOp::create(builder, loc, isDown, last, zero));
    span = arith::AddIOp::create(
        builder, loc, span, arith::MaxSIOp::create(builder, loc, up, down));
    Value none = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle,
                                       size, zero);
    isEmpty = arith::OrIOp::create(builder, loc, isEmpty, none);
  }
  Value bytes = arith::MulIOp::create(
      builder, loc, arith::AddIOp::create(builder, loc, span, index(1)),
      index(element));
  bytes = arith::SelectOp::create(builder, loc, isEmpty, zero, bytes);
  auto [address, base] = getAddress({memref, lowest});
  return isAllowed(address, base, pack(toI64(bytes), flags), op);
}

/// Whether the checker can be told where the elements of a memref lie.
static bool hasAddresses(Value memref) {
  auto type = dyn_cast<MemRefType>(memref.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  return type && getElementBytes(type.getElementType()) &&
         succeeded(type.getStridesAndOffset(strides, offset));
}

/// Memory of the host's own, or a global variable.
void Instrumenter::instrumentHostAlloc(Value memref) {
  if (!hasAddresses(memref) ||
      !cast<MemRefType>(memref.getType()).getLayout().isIdentity())
    return;
  Operation *op = memref.getDefiningOp();
  loc = op->getLoc();
  builder.setInsertionPointAfter(op);
  call("gpuasync_check_host_alloc", Type(),
       {getBase(memref), getBytes(memref),
        getSite(op, op->getName().getStringRef())});
}

/// What is copied is as large as the source.
void Instrumenter::instrumentHostCopy(memref::CopyOp op) {
  Value source = op.getSource(), target = op.getTarget();
  if (!hasAddresses(source) || !hasAddresses(target))
    return;
  loc = op.getLoc();
  builder.setInsertionPoint(op);
  Value readable = isRangeAllowed(op, source, source, GPUASYNC_CHECK_READ);
  Value writable = isRangeAllowed(op, target, source, GPUASYNC_CHECK_WRITE);
  guard(op, arith::AndIOp::create(builder, loc, readable, writable));
}

/// The runtime is told where a copy begins, but not of what that is a part.
void Instrumenter::instrumentStart(Operation *op, Value memref) {
  auto type = dyn_cast<MemRefType>(memref.getType());
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (!type || failed(type.getStridesAndOffset(strides, offset)) || !offset ||
      !hasAddresses(memref))
    return;
  loc = op->getLoc();
  builder.setInsertionPoint(op);
  SmallVector<Value> zeros(type.getRank(), index(0));
  auto [address, base] = getAddress({memref, zeros});
  call("gpuasync_check_start_of", Type(),
       {address, base, getSite(op, op->getName().getStringRef())});
}

void Instrumenter::instrumentHostFree(Operation *op, Value address) {
  Value result = call("gpuasync_check_host_free", pointer,
                      {address, getSite(op, op->getName().getStringRef())})
                     .getResult();
  guard(op, LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne, result,
                                 LLVM::ZeroOp::create(builder, loc, pointer)));
}

/// MLIR's runner utilities read what they are given.
static bool readsItsArguments(StringRef name) {
  return name.starts_with("printMemref") || name.starts_with("print_memref") ||
         name.starts_with("verifyMemref") ||
         name.starts_with("_mlir_ciface_print") ||
         name.starts_with("_mlir_ciface_verify");
}

void Instrumenter::instrumentHostCode(FunctionOpInterface hostCode) {
  enter(hostCode, /*isOfHost=*/true);
  SmallVector<Operation *> ops;
  function->walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops) {
    if (std::optional<MemRefAccess> access = getMemRefAccess(op)) {
      instrumentMemRef(op, *access);
    } else if (auto copy = dyn_cast<memref::CopyOp>(op)) {
      instrumentHostCopy(copy);
    } else if (isa<memref::AllocOp, memref::GetGlobalOp>(op)) {
      instrumentHostAlloc(op->getResult(0));
    } else if (auto dealloc = dyn_cast<memref::DeallocOp>(op)) {
      loc = op->getLoc();
      builder.setInsertionPoint(op);
      instrumentHostFree(op, getBase(dealloc.getMemref()));
    } else if (isa<MemcpyOp, MemsetOp>(op)) {
      for (Value operand : op->getOperands())
        instrumentStart(op, operand);
    } else if (auto callOp = dyn_cast<func::CallOp>(op)) {
      if (!readsItsArguments(callOp.getCallee()))
        continue;
      for (Value operand : callOp.getOperands()) {
        while (auto cast = operand.getDefiningOp<memref::CastOp>())
          operand = cast.getSource();
        if (!hasAddresses(operand))
          continue;
        loc = op->getLoc();
        builder.setInsertionPoint(op);
        (void)isRangeAllowed(op, operand, operand, GPUASYNC_CHECK_READ);
      }
    } else {
      instrumentLLVM(op);
    }
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct InstrumentAccessesPass
    : gpuasync::impl::GPUAsyncInstrumentAccessesBase<InstrumentAccessesPass> {
  using GPUAsyncInstrumentAccessesBase::GPUAsyncInstrumentAccessesBase;

  void runOnOperation() override {
    auto getFunctions = [](Operation *table) {
      SmallVector<FunctionOpInterface> functions;
      for (Operation &op : table->getRegion(0).front())
        if (auto function = dyn_cast<FunctionOpInterface>(op);
            function && !function.isExternal())
          functions.push_back(function);
      return functions;
    };
    // Then all transfers have one dimension. The pass drops what has no use,
    // too, loads among it, so it is for those that need it.
    auto lowerTransfers = [&](Operation *op) -> LogicalResult {
      WalkResult any = op->walk([](VectorTransferOpInterface transfer) {
        return getMemRefAccess(transfer) ? WalkResult::advance()
                                         : WalkResult::interrupt();
      });
      if (!any.wasInterrupted())
        return success();
      OpPassManager pm(op->getName().getStringRef());
      pm.addPass(createConvertVectorToSCFPass());
      return runPipeline(pm, op);
    };
    Instrumenter host(getOperation());
    for (FunctionOpInterface function : getFunctions(getOperation())) {
      if (failed(lowerTransfers(function)))
        return signalPassFailure();
      host.instrumentHostCode(function);
    }
    SmallVector<gpu::GPUModuleOp> modules(
        getOperation().getOps<gpu::GPUModuleOp>());
    for (gpu::GPUModuleOp kernels : modules) {
      expandCopies(kernels);
      if (failed(lowerTransfers(kernels)))
        return signalPassFailure();
      Instrumenter device(kernels);
      for (FunctionOpInterface function : getFunctions(kernels))
        device.instrumentKernelCode(function);
    }
  }
};
} // namespace
