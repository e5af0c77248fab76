//===- Asserts.cpp - failed asserts on the cpu device -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A failed assert ends its thread, out of all functions that it is in.
//===----------------------------------------------------------------------===//

#include "Kernels/CPU/Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::cpu;

LLVM::LLVMFuncOp CPULowering::getAssertFail() {
  Type i32 = builder.getI32Type();
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(context),
      {pointer, pointer, pointer, i32, i32, i64, i64, i64});
  return getRuntimeFunction("gpuasync_cpu_assert_fail", type);
}

bool CPULowering::mayFail(func::CallOp call) {
  auto callee = functions.find(call.getCalleeAttr().getAttr());
  return callee != functions.end() && callee->second.mayFail;
}

/// A failed assert ends its thread: the function returns at once, and one that
/// is not a kernel tells its caller so by an additional result.
LogicalResult CPULowering::rewriteAsserts() {
  Type i32 = builder.getI32Type(), i1 = builder.getI1Type();

  for (auto &[name, function] : functions) {
    if (!function.mayFail)
      continue;
    auto op = cast<func::FuncOp>(function.op.getOperation());
    SmallVector<Type> results(op.getFunctionType().getResults());
    SmallVector<Operation *> sites;
    WalkResult walked = op.walk([&](Operation *inner) -> WalkResult {
      bool isSite = isa<cf::AssertOp>(inner);
      // A region's failure is noted in the block's memory.
      if (auto call = dyn_cast<func::CallOp>(inner))
        isSite =
            mayFail(call) && !functions[call.getCalleeAttr().getAttr()].group;
      if (isSite && inner->getParentOp() != op)
        return inner->emitOpError("that may end its thread is not supported by "
                                  "the cpu device inside ")
               << inner->getParentOp()->getName();
      if (isSite)
        sites.push_back(inner);
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return failure();

    bool flagged = !function.isKernel && !function.group;
    if (flagged) {
      op.walk([&](func::ReturnOp ret) {
        builder.setInsertionPoint(ret);
        Value ended = arith::ConstantIntOp::create(builder, ret.getLoc(), 0, 1);
        ret.getOperandsMutable().append(ended);
      });
      SmallVector<Type> flaggedResults(results);
      flaggedResults.push_back(i1);
      op.setFunctionType(builder.getFunctionType(
          op.getFunctionType().getInputs(), flaggedResults));
    }

    // One block that all failures leave through.
    Block *leave = builder.createBlock(&op.getBody(), op.getBody().end());
    SmallVector<Value> values;
    for (Type type : results)
      values.push_back(ub::PoisonOp::create(builder, op.getLoc(), type));
    if (flagged)
      values.push_back(
          arith::ConstantIntOp::create(builder, op.getLoc(), 1, 1));
    if (function.group) {
      Value flag = LLVM::GEPOp::create(
          builder, op.getLoc(), pointer, builder.getI8Type(),
          getEnv(function, Workgroup),
          ArrayRef<LLVM::GEPArg>{int32_t(function.failedOffset)});
      Value one = arith::ConstantIntOp::create(builder, op.getLoc(),
                                               builder.getI8Type(), 1);
      LLVM::StoreOp::create(builder, op.getLoc(), one, flag);
    }
    func::ReturnOp::create(builder, op.getLoc(), values);

    for (Operation *site : sites) {
      Location loc = site->getLoc();
      Block *before = site->getBlock();
      if (auto call = dyn_cast<func::CallOp>(site)) {
        builder.setInsertionPoint(call);
        SmallVector<Type> types(call.getResultTypes());
        types.push_back(i1);
        auto flaggedCall = func::CallOp::create(builder, loc, call.getCallee(),
                                                types, call.getOperands());
        Block *after = before->splitBlock(call);
        call.replaceAllUsesWith(flaggedCall.getResults().drop_back());
        call.erase();
        builder.setInsertionPointToEnd(before);
        cf::CondBranchOp::create(builder, loc, flaggedCall.getResults().back(),
                                 leave, ValueRange(), after, ValueRange());
        continue;
      }
      auto check = cast<cf::AssertOp>(site);
      Block *after = before->splitBlock(check);
      if (check->hasAttr(silentName)) {
        builder.setInsertionPointToEnd(before);
        cf::CondBranchOp::create(builder, loc, check.getArg(), after,
                                 ValueRange(), leave, ValueRange());
        check.erase();
        continue;
      }
      Block *fail = builder.createBlock(leave);
      builder.setInsertionPointToEnd(before);
      cf::CondBranchOp::create(builder, loc, check.getArg(), after,
                               ValueRange(), fail, ValueRange());
      builder.setInsertionPointToStart(fail);
      auto place = loc->findInstanceOf<FileLineColLoc>();
      auto number = [&](unsigned value) -> Value {
        return LLVM::ConstantOp::create(builder, loc, i32,
                                        builder.getI32IntegerAttr(value));
      };
      SmallVector<Value> operands{
          getEnv(function, Context), makeString(loc, check.getMsg()),
          makeString(loc, place ? place.getFilename().getValue() : ""),
          number(place ? place.getLine() : 0),
          number(place ? place.getColumn() : 0)};
      for (int i = 0; i < 3; ++i)
        operands.push_back(arith::IndexCastOp::create(
            builder, loc, i64, getEnv(function, ThreadId + i)));
      LLVM::CallOp::create(builder, loc, getAssertFail(), operands);
      cf::BranchOp::create(builder, loc, leave);
      check.erase();
    }
  }
  return success();
}
