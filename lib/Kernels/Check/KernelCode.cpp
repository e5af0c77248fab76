//===- KernelCode.cpp - calls of the checker in kernels -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels have besides accesses: variables of their module, barriers that
// all threads must reach, asserts, and memory of their own.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Memory/TypeLayout.h"
#include "Instrumenter.h"
#include "Kernels/Common/KernelLowering.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::check;

namespace {
class KernelInstrumenter : public Instrumenter {
public:
  using Instrumenter::Instrumenter;

private:
  bool instrumentOther(Operation *op) override;
  Value getThread() override;
  Value askChecker(Through how, SmallVector<Value> &operands) override {
    operands.push_back(getThread());
    return call(how == Through::MemRef ? "gpuasync_check_access"
                                       : "gpuasync_check_pointer",
                pointer, operands)
        .getResult();
  }
  void instrumentGlobal(Operation *op);
  void instrumentAlloc(memref::AllocOp op);
  void instrumentArrival(Operation *op);

  /// The thread of `threadOf`, in its entry block.
  Value thread;
  FunctionOpInterface threadOf;
};
} // namespace

Value KernelInstrumenter::getThread() {
  if (threadOf == function)
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
  threadOf = function;
  return thread = packed;
}

/// Kernels may use the variables of their module.
void KernelInstrumenter::instrumentGlobal(Operation *op) {
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
    bytes = getBytesInMemory(type).value_or(0);
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

void KernelInstrumenter::instrumentAlloc(memref::AllocOp op) {
  loc = op.getLoc();
  builder.setInsertionPointAfter(op);
  call("gpuasync_check_own", Type(),
       {getBase(op.getResult()), getBytes(op.getResult()),
        getSite(op, "memref.alloc"), constant(i32, 0)});
}

/// A barrier, or what contains one.
void KernelInstrumenter::instrumentArrival(Operation *op) {
  loc = op->getLoc();
  builder.setInsertionPoint(op);
  // Threads may stay away from a reduction that is not marked uniform, and from
  // a barrier of warps.
  auto reduction = dyn_cast<gpu::AllReduceOp>(op);
  bool mayStayAway =
      (reduction && !reduction.getUniform()) || isa<NVVM::SyncWarpOp>(op);
  Value site = mayStayAway ? Value(LLVM::ZeroOp::create(builder, loc, pointer))
                           : getSite(op, op->getName().getStringRef());
  call("gpuasync_check_arrive", Type(), {site, getThread()});
}

bool KernelInstrumenter::instrumentOther(Operation *op) {
  if (isa<memref::GetGlobalOp, LLVM::AddressOfOp>(op)) {
    instrumentGlobal(op);
  } else if (auto alloc = dyn_cast<memref::AllocOp>(op)) {
    instrumentAlloc(alloc);
  } else if (isa<gpu::BarrierOp, gpu::AllReduceOp, NVVM::Barrier0Op,
                 NVVM::BarrierOp, NVVM::SyncWarpOp>(op)) {
    instrumentArrival(op);
  } else if (auto assertion = dyn_cast<cf::AssertOp>(op)) {
    loc = op->getLoc();
    builder.setInsertionPoint(op);
    call("gpuasync_check_assert", Type(),
         arith::ExtUIOp::create(builder, loc, i32, assertion.getArg())
             .getResult());
  } else {
    return false;
  }
  return true;
}

std::unique_ptr<Instrumenter> check::makeKernelInstrumenter(Operation *table) {
  return std::make_unique<KernelInstrumenter>(table);
}
