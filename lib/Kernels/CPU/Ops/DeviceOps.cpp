//===- DeviceOps.cpp - ids, memory and printf on the cpu device *- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rewrites what asks for the place in the grid, for workgroup memory or for
// output, and hands the place on to the functions that are called.
//===----------------------------------------------------------------------===//

#include "Kernels/CPU/Lowering.h"
#include "gpuasync/RuntimeABI.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cstddef>

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::cpu;

Value CPULowering::getEnv(Function &function, unsigned which) {
  Block &entry = function.op.getFunctionBody().front();
  Value value = entry.getArgument(entry.getNumArguments() - EnvSize + which);
  if (which < Context && value.getType() == i64)
    return arith::IndexCastOp::create(builder, value.getLoc(),
                                      builder.getIndexType(), value);
  return value;
}

Value CPULowering::makeString(Location loc, StringRef text) {
  std::string bytes = text.str();
  bytes.push_back('\0');
  auto name = builder.getStringAttr("string_" + std::to_string(strings++));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(work.getBody());
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes.size());
    LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/true,
                           LLVM::Linkage::Internal, name,
                           builder.getStringAttr(bytes));
  }
  return LLVM::AddressOfOp::create(builder, loc, pointer, name);
}

LLVM::LLVMFuncOp CPULowering::getRuntimeFunction(StringRef name,
                                                 LLVM::LLVMFunctionType type) {
  if (auto function = work.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return function;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(work.getBody());
  return LLVM::LLVMFuncOp::create(builder, source.getLoc(), name, type);
}

/// The number of a thread in its block, x fastest.
Value CPULowering::getLinearThreadId(Function &function) {
  return buildLinearThreadId(
      builder, function.op.getLoc(),
      [&](unsigned which) { return getEnv(function, which); });
}

/// The arguments have been promoted as C's variadic calls want them.
LogicalResult CPULowering::rewritePrintf(gpu::PrintfOp op, Function &function) {
  StringRef format = op.getFormat();
  for (size_t i = format.find('%'); i < format.size();) {
    size_t end = format.find_first_not_of("0123456789.-+ #hlLjztq", i + 1);
    if (end < format.size() && format[end] == '*')
      return op.emitOpError("with '*' in its format is not supported by the "
                            "cpu device yet");
    i = format.find('%', end == StringRef::npos ? end : end + 1);
  }
  Location loc = op.getLoc();
  SmallVector<Value> operands{getEnv(function, Context),
                              makeString(loc, format)};
  for (Value value : op.getArgs())
    operands.push_back(
        value.getType().isIndex()
            ? Value(arith::IndexCastOp::create(builder, loc, i64, value))
            : value);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                          {pointer, pointer},
                                          /*isVarArg=*/true);
  LLVM::CallOp::create(
      builder, loc, getRuntimeFunction("gpuasync_cpu_printf", type), operands);
  op.erase();
  return success();
}

LogicalResult CPULowering::rewriteOp(Operation *op, Function &function) {
  Location loc = op->getLoc();
  builder.setInsertionPoint(op);
  auto replace = [&](Value value) {
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
    return success();
  };
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  auto dim = [](auto op) { return static_cast<unsigned>(op.getDimension()); };
  if (auto id = dyn_cast<gpu::ThreadIdOp>(op))
    return replace(getEnv(function, ThreadId + dim(id)));
  if (auto id = dyn_cast<gpu::BlockIdOp>(op))
    return replace(getEnv(function, BlockId + dim(id)));
  if (auto id = dyn_cast<gpu::BlockDimOp>(op))
    return replace(getEnv(function, BlockDim + dim(id)));
  if (auto id = dyn_cast<gpu::GridDimOp>(op))
    return replace(getEnv(function, GridDim + dim(id)));
  // Every block is a cluster of its own.
  if (auto id = dyn_cast<gpu::ClusterIdOp>(op))
    return replace(getEnv(function, BlockId + dim(id)));
  if (auto id = dyn_cast<gpu::ClusterDimOp>(op))
    return replace(getEnv(function, GridDim + dim(id)));
  if (isa<gpu::ClusterDimBlocksOp>(op))
    return replace(constant(1));
  if (isa<gpu::ClusterBlockIdOp>(op))
    return replace(constant(0));
  if (auto id = dyn_cast<gpu::GlobalIdOp>(op)) {
    Value base =
        arith::MulIOp::create(builder, loc, getEnv(function, BlockId + dim(id)),
                              getEnv(function, BlockDim + dim(id)));
    return replace(arith::AddIOp::create(builder, loc, base,
                                         getEnv(function, ThreadId + dim(id))));
  }
  if (isa<gpu::SubgroupSizeOp>(op))
    return replace(constant(subgroupSize));
  if (isa<gpu::LaneIdOp>(op))
    return replace(arith::RemUIOp::create(
        builder, loc, getLinearThreadId(function), constant(subgroupSize)));
  if (isa<gpu::SubgroupIdOp>(op))
    return replace(arith::DivUIOp::create(
        builder, loc, getLinearThreadId(function), constant(subgroupSize)));
  if (isa<gpu::NumSubgroupsOp>(op)) {
    Value threads = getEnv(function, BlockDim);
    for (int i : {1, 2})
      threads = arith::MulIOp::create(builder, loc, threads,
                                      getEnv(function, BlockDim + i));
    threads = arith::AddIOp::create(builder, loc, threads,
                                    constant(subgroupSize - 1));
    return replace(
        arith::DivUIOp::create(builder, loc, threads, constant(subgroupSize)));
  }
  if (auto memory = dyn_cast<gpu::DynamicSharedMemoryOp>(op)) {
    Value address = LLVM::GEPOp::create(
        builder, loc, pointer, builder.getI8Type(), getEnv(function, Context),
        ArrayRef<LLVM::GEPArg>{
            int32_t(offsetof(gpuasync_cpu_block_ctx, dynamicSharedBytes))});
    Value size = LLVM::LoadOp::create(builder, loc, i64, address);
    return replace(buildMemRef(builder, loc, getEnv(function, Dynamic),
                               memory.getResultMemref().getType(), size));
  }
  if (auto get = dyn_cast<memref::GetGlobalOp>(op)) {
    auto place = workgroupGlobals.find(get.getName());
    if (place == workgroupGlobals.end())
      return success();
    Value base = LLVM::GEPOp::create(
        builder, loc, pointer, builder.getI8Type(), getEnv(function, Workgroup),
        ArrayRef<LLVM::GEPArg>{int32_t(place->second)});
    return replace(buildMemRef(builder, loc, base, get.getType(), Value()));
  }
  if (auto get = dyn_cast<LLVM::AddressOfOp>(op)) {
    auto place = workgroupGlobals.find(get.getGlobalName());
    if (place == workgroupGlobals.end())
      return success();
    return replace(LLVM::GEPOp::create(
        builder, loc, pointer, builder.getI8Type(), getEnv(function, Workgroup),
        ArrayRef<LLVM::GEPArg>{int32_t(place->second)}));
  }
  if (auto print = dyn_cast<gpu::PrintfOp>(op))
    return rewritePrintf(print, function);
  return success();
}

LogicalResult CPULowering::rewriteDeviceOps() {
  for (auto &[name, function] : functions) {
    SmallVector<Operation *> ops;
    function.op->walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops)
      if (failed(rewriteOp(op, function)))
        return failure();
  }
  return success();
}

/// Hands the environment on, and finds which functions can fail.
void CPULowering::rewriteCalls() {
  llvm::SetVector<Operation *> failing;
  for (auto &entry : functions) {
    Function &function = entry.second;
    SmallVector<CallOpInterface> calls;
    function.op->walk([&](CallOpInterface op) { calls.push_back(op); });
    for (CallOpInterface call : calls) {
      auto symbol = dyn_cast<SymbolRefAttr>(call.getCallableForCallee());
      if (!symbol || !functions.contains(symbol.getRootReference()))
        continue;
      builder.setInsertionPoint(call);
      Block &body = function.op.getFunctionBody().front();
      SmallVector<Value> env(body.getArguments().take_back(EnvSize));
      bool toLLVM = isa<LLVM::CallOp>(call.getOperation());
      for (Value &value : env)
        if (isa<IndexType>(value.getType()) && toLLVM)
          value =
              arith::IndexCastOp::create(builder, call.getLoc(), i64, value);
        else if (value.getType() == i64 && !toLLVM)
          value = arith::IndexCastOp::create(builder, call.getLoc(),
                                             builder.getIndexType(), value);
      if (auto llvmCall = dyn_cast<LLVM::CallOp>(call.getOperation()))
        llvmCall.getCalleeOperandsMutable().append(env);
      else
        call.getArgOperandsMutable().append(env);
    }
    if (holds(function.op, llvm::IsaPred<cf::AssertOp>))
      failing.insert(function.op);
  }
  addCallers(work, failing);
  for (auto &[name, function] : functions)
    function.mayFail = failing.contains(function.op);
}
