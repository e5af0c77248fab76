//===- HostCode.cpp - calls of the checker in host code -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Host code is checked where it meets memory that may be the device's, and
// tells of its own.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Memory/KernelEffects.h"
#include "GPUAsync/Analysis/Memory/TypeLayout.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "Instrumenter.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::check;

namespace {
class HostInstrumenter : public Instrumenter {
public:
  using Instrumenter::Instrumenter;

private:
  bool instrumentOther(Operation *op) override;
  Value getThread() override { return constant(i32, 0); }
  Value askChecker(Through how, SmallVector<Value> &operands) override {
    return call(how == Through::MemRef ? "gpuasync_check_host"
                                       : "gpuasync_check_host_pointer",
                pointer, operands)
        .getResult();
  }
  /// The bytes from the lowest element to the highest one, or none.
  struct Range {
    Value address, base, bytes;
  };
  Range getRange(Value memref, Value shape);
  Value multiply(Value a, Value b);
  Value isRangeAllowed(Operation *op, Value memref, Value shape,
                       unsigned flags);
  void instrumentCopy(memref::CopyOp op);
  void instrumentAlloc(Value memref);
  void instrumentFree(Operation *op, Value address);
  void instrumentStart(Operation *op, const WorkAccess &access);
  void instrumentCall(func::CallOp op);
  void instrumentWork(WorkOpInterface op);
  Value getList(GroupOp group, Value rank);
  void instrumentUniform(UniformOp op);
  void tell(WorkOpInterface op, Value operand, bool reads, bool writes);

  KernelTable effects;
  unsigned uniforms = 0;
  llvm::DenseMap<Operation *, std::string> lists; ///< tables of groups
};
} // namespace

/// The product of two unsigned numbers, but at most `mostBytes`, so that sums
/// of a few do not wrap.
Value HostInstrumenter::multiply(Value a, Value b) {
  auto product = arith::MulUIExtendedOp::create(builder, loc, a, b);
  Value fits = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                     product.getHigh(), index(0));
  return arith::SelectOp::create(
      builder, loc, fits,
      arith::MinUIOp::create(builder, loc, product.getLow(), index(mostBytes)),
      index(mostBytes));
}

/// Of as many elements of a memref as `shape` has.
HostInstrumenter::Range HostInstrumenter::getRange(Value memref, Value shape) {
  auto type = cast<MemRefType>(memref.getType());
  int64_t element = getElementBytes(type.getElementType());
  auto metadata =
      memref::ExtractStridedMetadataOp::create(builder, loc, memref);
  SmallVector<Value> lowest;
  Value zero = index(0), span = zero,
        isEmpty = constant(builder.getI1Type(), 0);
  for (auto [i, stride] : llvm::enumerate(metadata.getStrides())) {
    Value size = getSize(shape, i);
    Value last = arith::SubIOp::create(builder, loc, size, index(1));
    Value down = arith::SubIOp::create(builder, loc, zero, stride);
    Value isDown = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt, stride, zero);
    lowest.push_back(arith::SelectOp::create(builder, loc, isDown, last, zero));
    Value apart = arith::SelectOp::create(builder, loc, isDown, down, stride);
    span = arith::AddIOp::create(builder, loc, span, multiply(last, apart));
    Value none = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle,
                                       size, zero);
    isEmpty = arith::OrIOp::create(builder, loc, isEmpty, none);
  }
  Value bytes = multiply(arith::AddIOp::create(builder, loc, span, index(1)),
                         index(element));
  bytes = arith::SelectOp::create(builder, loc, isEmpty, zero, bytes);
  auto [address, base] = getAddress({memref, lowest});
  return {address, base, toI64(bytes)};
}

/// Whether all of these elements may be read or written, as an i1.
Value HostInstrumenter::isRangeAllowed(Operation *op, Value memref, Value shape,
                                       unsigned flags) {
  Range range = getRange(memref, shape);
  return isAllowed(range.address, range.base, pack(range.bytes, flags), op);
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
void HostInstrumenter::instrumentAlloc(Value memref) {
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
void HostInstrumenter::instrumentCopy(memref::CopyOp op) {
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
void HostInstrumenter::instrumentStart(Operation *op,
                                       const WorkAccess &access) {
  Value memref = access.operand->get();
  auto type = dyn_cast<MemRefType>(memref.getType());
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (!type || failed(type.getStridesAndOffset(strides, offset)) ||
      (!offset && access.offsets.empty()) || !hasAddresses(memref))
    return;
  loc = op->getLoc();
  builder.setInsertionPoint(op);
  SmallVector<Value> first(type.getRank(), index(0));
  if (!access.offsets.empty())
    first = getValueOrCreateConstantIndexOp(builder, loc, access.offsets);
  auto [address, base] = getAddress({memref, first});
  call("gpuasync_check_start_of", Type(),
       {address, base, getSite(op, op->getName().getStringRef())});
}

void HostInstrumenter::instrumentFree(Operation *op, Value address) {
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

void HostInstrumenter::instrumentCall(func::CallOp op) {
  if (!readsItsArguments(op.getCallee()))
    return;
  for (Value operand : op.getOperands()) {
    while (auto cast = operand.getDefiningOp<memref::CastOp>())
      operand = cast.getSource();
    if (!hasAddresses(operand))
      continue;
    loc = op->getLoc();
    builder.setInsertionPoint(op);
    (void)isRangeAllowed(op, operand, operand, GPUASYNC_CHECK_READ);
  }
}

/// Tells the checker what the next call of a library touches.
void HostInstrumenter::tell(WorkOpInterface op, Value operand, bool reads,
                            bool writes) {
  if (!hasAddresses(operand))
    return;
  loc = op->getLoc();
  builder.setInsertionPoint(op);
  unsigned flags =
      (reads ? GPUASYNC_CHECK_READ : 0) | (writes ? GPUASYNC_CHECK_WRITE : 0);
  Range range = getRange(operand, operand);
  Value hasNoGaps = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::eq, range.bytes, getBytes(operand));
  call("gpuasync_check_operand", Type(),
       {range.address, range.base, pack(range.bytes, flags),
        arith::ExtUIOp::create(builder, loc, i32, hasNoGaps)});
}

/// The runtime tells the checker of its own copies and fills. Of a library's
/// function the op or the declaration says what it touches.
void HostInstrumenter::instrumentWork(WorkOpInterface op) {
  if (!op.takesDeviceTime() || runsKernel(op))
    return;
  if (op.getCode()) {
    const KernelEffects &known = effects.lookupLibrary(op, op.getCode());
    if (known.isKnown)
      for (auto [operand, argument] :
           llvm::zip_equal(op.getCodeArguments(), known.arguments))
        tell(op, operand, argument.reads, argument.writes);
    return;
  }
  SmallVector<WorkAccess> accesses;
  op.getWorkAccesses(accesses);
  for (const WorkAccess &access : accesses)
    if (op.callsLibrary())
      tell(op, access.operand->get(), access.reads, access.writes);
    else
      instrumentStart(op, access);
}

/// The number of the rank's list, of a table by rank.
Value HostInstrumenter::getList(GroupOp group, Value rank) {
  std::string &name = lists[group];
  SmallVector<int64_t> members = group.getMembers();
  auto type =
      LLVM::LLVMArrayType::get(builder.getI32Type(), unsigned(members.size()));
  if (name.empty()) {
    SmallVector<int32_t> listOf(members.size());
    for (auto [place, member] : llvm::enumerate(members))
      listOf[size_t(member)] = int32_t(int64_t(place) / group.getListSize());
    name = takeName("_gpuasync_check_lists_");
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&table->getRegion(0).front());
    LLVM::GlobalOp::create(builder, group.getLoc(), type, /*isConstant=*/true,
                           LLVM::Linkage::Internal, name,
                           builder.getI32TensorAttr(listOf));
  }
  Value start = LLVM::AddressOfOp::create(builder, loc, pointer, name);
  Value place = LLVM::GEPOp::create(builder, loc, pointer, i32, start,
                                    ArrayRef<LLVM::GEPArg>{rank});
  Value list = LLVM::LoadOp::create(builder, loc, i32, place);
  return arith::ExtSIOp::create(builder, loc, i64, list);
}

/// Tells the checker what this rank has where all are to have the same.
void HostInstrumenter::instrumentUniform(UniformOp op) {
  Type type = op.getType();
  const bool isFloat = isa<FloatType>(type);
  unsigned bits = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  if (bits > 64)
    return;
  loc = op.getLoc();
  builder.setInsertionPointAfter(op);
  Value value = op.getResult();
  if (isFloat)
    value = arith::BitcastOp::create(builder, loc, builder.getIntegerType(bits),
                                     value);
  value = toI64(value);
  if (bits < 64)
    value = isFloat || bits == 1
                ? Value(arith::ExtUIOp::create(builder, loc, i64, value))
                : Value(arith::ExtSIOp::create(builder, loc, i64, value));
  unsigned kind = !isFloat       ? GPUASYNC_CHECK_INTEGER
                  : type.isF32() ? GPUASYNC_CHECK_F32
                  : type.isF64() ? GPUASYNC_CHECK_F64
                                 : GPUASYNC_CHECK_BITS;
  FlatSymbolRefAttr name = op.getGroupAttr();
  // First: it fails if the group is of another number of ranks.
  Value position = RankOp::create(builder, loc, name);
  Value rank = RankOp::create(builder, loc, FlatSymbolRefAttr());
  Value size = SizeOp::create(builder, loc, name);
  Value list = constant(i64, -1);
  if (name)
    list = getList(SymbolTable::lookupNearestSymbolFrom<GroupOp>(op, name),
                   toI64(rank));
  call("gpuasync_check_uniform", Type(),
       {toI64(rank), list, toI64(position), toI64(size), value,
        constant(i32, kind),
        // Two of them may be at one place of the source.
        getSite(
            op,
            (op->getName().getStringRef() + " " + Twine(uniforms++)).str())});
}

bool HostInstrumenter::instrumentOther(Operation *op) {
  if (auto copy = dyn_cast<memref::CopyOp>(op)) {
    instrumentCopy(copy);
  } else if (isa<memref::AllocOp, memref::GetGlobalOp>(op)) {
    instrumentAlloc(op->getResult(0));
  } else if (auto dealloc = dyn_cast<memref::DeallocOp>(op)) {
    loc = op->getLoc();
    builder.setInsertionPoint(op);
    instrumentFree(op, getBase(dealloc.getMemref()));
  } else if (auto work = dyn_cast<WorkOpInterface>(op)) {
    instrumentWork(work);
  } else if (auto call = dyn_cast<func::CallOp>(op)) {
    instrumentCall(call);
  } else if (auto uniform = dyn_cast<UniformOp>(op)) {
    instrumentUniform(uniform);
  } else {
    return false;
  }
  return true;
}

std::unique_ptr<Instrumenter> check::makeHostInstrumenter(Operation *table) {
  return std::make_unique<HostInstrumenter>(table);
}
