//===- LlvmFunctions.cpp - barriers in the LLVM dialect ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of the LLVM dialect in which threads meet or end become func.func
// with branches of cf, so that they are structured and cut like any other.
//===----------------------------------------------------------------------===//

#include "Kernels/CPU/Kernel.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::cpu;

llvm::DenseSet<Operation *> cpu::findCutLlvmFunctions(Operation *module) {
  llvm::SetVector<Operation *> affected;
  module->walk([&](FunctionOpInterface function) {
    function->walk([&](Operation *op) {
      if (makesThreadsMeet(op) || isMatrixOp(op) || isa<cf::AssertOp>(op))
        affected.insert(function);
    });
  });
  addCallers(module, affected);
  llvm::DenseSet<Operation *> result;
  for (Operation *function : affected)
    if (isa<LLVM::LLVMFuncOp>(function))
      result.insert(function);
  return result;
}

static LogicalResult refuse(Operation *op, StringRef what = "") {
  return op->emitOpError(what)
         << "is not supported by the cpu device in an llvm.func that holds a "
            "barrier, a subgroup op or an assert";
}

/// Replaces a terminator by one that is not of the LLVM dialect.
static LogicalResult replaceTerminator(Operation *op, func::FuncOp function) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  if (auto branch = dyn_cast<LLVM::BrOp>(op)) {
    cf::BranchOp::create(builder, loc, branch.getDest(),
                         branch.getDestOperands());
  } else if (auto branch = dyn_cast<LLVM::CondBrOp>(op)) {
    cf::CondBranchOp::create(builder, loc, branch.getCondition(),
                             branch.getTrueDest(), branch.getTrueDestOperands(),
                             branch.getFalseDest(),
                             branch.getFalseDestOperands());
  } else if (auto choice = dyn_cast<LLVM::SwitchOp>(op)) {
    SmallVector<ValueRange> operands;
    for (ValueRange values : choice.getCaseOperands())
      operands.push_back(values);
    cf::SwitchOp::create(
        builder, loc, choice.getValue(), choice.getDefaultDestination(),
        choice.getDefaultOperands(), choice.getCaseValuesAttr(),
        choice.getCaseDestinations(), operands);
  } else if (isa<LLVM::ReturnOp>(op)) {
    func::ReturnOp::create(builder, loc, op->getOperands());
  } else if (isa<LLVM::UnreachableOp>(op)) {
    SmallVector<Value> values;
    for (Type type : function.getResultTypes())
      values.push_back(ub::PoisonOp::create(builder, loc, type));
    func::ReturnOp::create(builder, loc, values);
  } else {
    return isa<cf::BranchOp, cf::CondBranchOp, cf::SwitchOp>(op) ? success()
                                                                 : refuse(op);
  }
  op->erase();
  return success();
}

/// Takes away what is said of one thread and not so of the pieces, which all
/// threads run one after the other: how long stack slots live, which accesses
/// of a call do not meet, where the stack ends.
static LogicalResult removeMarks(func::FuncOp function) {
  SmallVector<Operation *> marks, saves;
  function.walk([&](Operation *op) {
    if (isa<LLVM::LifetimeStartOp, LLVM::LifetimeEndOp, LLVM::StackRestoreOp,
            LLVM::NoAliasScopeDeclOp, LLVM::DbgDeclareOp, LLVM::DbgValueOp,
            LLVM::DbgLabelOp>(op))
      marks.push_back(op);
    if (isa<LLVM::StackSaveOp>(op))
      saves.push_back(op);
    if (auto access = dyn_cast<LLVM::AliasAnalysisOpInterface>(op)) {
      access.setAliasScopes(nullptr);
      access.setNoAliasScopes(nullptr);
    }
  });
  for (Operation *op : marks)
    op->erase();
  for (Operation *op : saves) {
    if (!op->use_empty())
      return refuse(op);
    op->erase();
  }
  return success();
}

FailureOr<func::FuncOp> cpu::copyAsFunc(OpBuilder &builder,
                                        LLVM::LLVMFuncOp function) {
  if (function.isVarArg())
    return refuse(function, "takes any number of arguments, which ");
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (function.getArgAttr(i, LLVM::LLVMDialect::getByValAttrName()))
      return refuse(function,
                    "takes an argument by value (llvm.byval), which ");
  SmallVector<Type> results;
  Type returned = function.getFunctionType().getReturnType();
  if (!isa<LLVM::LLVMVoidType>(returned))
    results.push_back(returned);
  auto copy = func::FuncOp::create(
      builder, function.getLoc(), function.getName(),
      builder.getFunctionType(function.getArgumentTypes(), results));
  IRMapping mapping;
  function.getBody().cloneInto(&copy.getBody(), mapping);
  if (failed(removeMarks(copy)))
    return failure();
  SmallVector<Operation *> terminators;
  for (Block &block : copy.getBody())
    terminators.push_back(block.getTerminator());
  for (Operation *op : terminators)
    if (failed(replaceTerminator(op, copy)))
      return failure();
  return copy;
}

LogicalResult cpu::callAsFuncs(Operation *module) {
  SmallVector<Operation *> users;
  module->walk([&](Operation *op) {
    if (isa<LLVM::CallOp, LLVM::AddressOfOp>(op))
      users.push_back(op);
  });
  SymbolTable symbols(module);
  for (Operation *op : users) {
    auto call = dyn_cast<LLVM::CallOp>(op);
    std::optional<StringRef> name =
        call ? call.getCallee() : cast<LLVM::AddressOfOp>(op).getGlobalName();
    auto callee = name ? symbols.lookup<func::FuncOp>(*name) : func::FuncOp();
    if (!callee)
      continue;
    if (!call)
      return op->emitOpError("takes the address of a function that holds a "
                             "barrier, a subgroup op or an assert, which is "
                             "not supported by the cpu device");
    OpBuilder builder(op);
    auto other = func::CallOp::create(builder, op->getLoc(), callee,
                                      call.getArgOperands());
    op->replaceAllUsesWith(other.getResults());
    op->erase();
  }
  return success();
}
