//===- RuntimeFrames.cpp - frames, calls and error exits ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the functions that need a frame, gives them one, and puts a branch to
// the error exit wherever host code can see an error.
//===----------------------------------------------------------------------===//

#include "RuntimeLowering.h"
#include "mlir/Analysis/CFGLoopInfo.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::runtime;

//===----------------------------------------------------------------------===//
// The call graph
//===----------------------------------------------------------------------===//

namespace {

/// What is known about one function with a body.
struct FunctionInfo {
  func::FuncOp func;
  /// Does device work or fails by an assert, itself or through a call of a
  /// known function.
  bool isDevice = false;
  /// Runs code that is not known, so that the context may change.
  bool callsUnknown = false;
  /// Called within the module.
  bool isCalled = false;
  /// Indices of the modules that it launches kernels of.
  llvm::SetVector<unsigned> modules;
  SmallVector<StringAttr> callees;
  /// The private function with the body, where this one is split.
  func::FuncOp body;
};

using FunctionMap = llvm::MapVector<StringAttr, FunctionInfo>;

class FrameLowering {
public:
  FrameLowering(ModuleOp module, Tables &tables, SymbolTable &symbols,
                const LLVMTypeConverter &converter, OnError onError)
      : module(module), tables(tables), symbols(symbols), converter(converter),
        onError(onError) {}

  LogicalResult analyze();
  LogicalResult checkAddresses();
  void split();
  LogicalResult lowerAll(llvm::DenseSet<StringAttr> &statusFunctions);

private:
  LogicalResult lowerFunction(func::FuncOp func, bool isPublic,
                              FunctionInfo &info);
  void enterFrame(FunctionState &state, FunctionInfo &info);
  void leaveFrame(FunctionState &state, func::ReturnOp ret);
  void fillErrorExit(FunctionState &state, bool isPublic);
  void lowerCall(Operation *call, FunctionState &state);
  void guardBackEdges(FunctionState &state,
                      ArrayRef<std::pair<Operation *, unsigned>> edges);
  /// The known function that `op` calls directly, or null.
  FunctionInfo *getCallee(Operation *op);

  ModuleOp module;
  Tables &tables;
  SymbolTable &symbols;
  const LLVMTypeConverter &converter;
  OnError onError;
  FunctionMap functions;
};

} // namespace

/// Whether `op` may run code that is not known.
static bool isCallLike(Operation *op) {
  return isa<CallOpInterface>(op) && !isDeviceOp(op) &&
         !isa<LLVM::CallIntrinsicOp>(op);
}

/// A library's function takes a first argument that gpu_async.call gives it.
static LogicalResult refuseLibrary(func::CallOp call, Operation *callee) {
  for (StringRef name : {GPUAsyncDialect::getReplayableName(),
                         GPUAsyncDialect::getNonblockingName(),
                         GPUAsyncDialect::getSerialName()})
    if (callee->hasAttr(name)) {
      InFlightDiagnostic diag =
          call.emitOpError("calls ")
          << call.getCalleeAttr() << ", which has '" << name
          << "' and so is a library's function: call it by gpu_async.call";
      diag.attachNote(callee->getLoc()) << "it is here";
      return diag;
    }
  return success();
}

FunctionInfo *FrameLowering::getCallee(Operation *op) {
  auto call = dyn_cast<func::CallOp>(op);
  if (!call)
    return nullptr;
  auto it = functions.find(call.getCalleeAttr().getAttr());
  return it == functions.end() ? nullptr : &it->second;
}

LogicalResult FrameLowering::analyze() {
  for (auto func : module.getOps<func::FuncOp>())
    if (!func.isExternal())
      functions[func.getSymNameAttr()].func = func;

  bool anyError = false;
  module.walk([&](Operation *op) {
    if (!isDeviceOp(op))
      return;
    auto func = op->getParentOfType<FunctionOpInterface>();
    if (func && isa<func::FuncOp>(func) && func->getParentOp() == module)
      return;
    op->emitOpError("is not in a func.func of this module: device work is "
                    "lowered nowhere else");
    anyError = true;
  });
  for (auto &[name, info] : functions) {
    info.func.walk([&, &info = info](Operation *op) {
      if (isa<cf::AssertOp>(op) && op->getParentOp() == info.func)
        info.isDevice = true;
      if (isDeviceOp(op)) {
        info.isDevice = true;
        Operation *parent = op->getParentOp();
        if (isa<RegionOp>(parent))
          parent = parent->getParentOp();
        if (parent != info.func) {
          InFlightDiagnostic diag = op->emitOpError(
              "is within a structured op: lower control flow to cf first");
          diag.attachNote(parent->getLoc()) << "the structured op";
          anyError = true;
        } else if (runsKernel(op)) {
          FailureOr<KernelRef> kernel =
              tables.lookupKernel(cast<WorkOpInterface>(op));
          if (failed(kernel))
            anyError = true;
          else
            info.modules.insert(kernel->module);
        } else if (auto constant = dyn_cast<ConstantOp>(op)) {
          info.modules.insert(tables.getConstant(constant));
        }
        return;
      }
      if (!isCallLike(op))
        return;
      if (FunctionInfo *callee = getCallee(op)) {
        callee->isCalled = true;
        info.callees.push_back(callee->func.getSymNameAttr());
        return;
      }
      // Functions that neither read nor write memory are no concern, such as
      // those of libm.
      if (auto call = dyn_cast<func::CallOp>(op))
        if (Operation *callee = symbols.lookup(call.getCallee())) {
          anyError |= failed(refuseLibrary(call, callee));
          if (callee->hasAttr("llvm.readnone"))
            return;
        }
      info.callsUnknown = true;
    });
  }
  if (anyError)
    return failure();

  // What a callee does its callers do.
  for (bool changed = true; changed;) {
    changed = false;
    for (auto &[name, info] : functions) {
      for (StringAttr calleeName : info.callees) {
        FunctionInfo &callee = functions[calleeName];
        changed |= callee.isDevice && !info.isDevice;
        info.isDevice |= callee.isDevice;
        changed |= callee.callsUnknown && !info.callsUnknown;
        info.callsUnknown |= callee.callsUnknown;
        for (unsigned index : callee.modules)
          changed |= info.modules.insert(index);
      }
    }
  }
  // A call of a device function only makes sense where a frame can be checked.
  for (auto &[name, info] : functions) {
    if (!info.isDevice)
      continue;
    info.func.walk([&, &info = info](func::CallOp call) {
      FunctionInfo *callee = getCallee(call);
      if (!callee || !callee->isDevice || call->getParentOp() == info.func)
        return;
      InFlightDiagnostic diag = call.emitOpError(
          "calls a function with device work within a structured op: lower "
          "control flow to cf first");
      diag.attachNote(call->getParentOp()->getLoc()) << "the structured op";
      anyError = true;
    });
  }
  return failure(anyError);
}

/// The signature of a function with device work may change, so nobody but a
/// call that changes with it may refer to it.
LogicalResult FrameLowering::checkAddresses() {
  std::optional<SymbolTable::UseRange> uses =
      SymbolTable::getSymbolUses(&module.getBodyRegion());
  if (!uses)
    return success();
  for (const SymbolTable::SymbolUse &use : *uses) {
    auto it = functions.find(use.getSymbolRef().getRootReference());
    if (it == functions.end() || !it->second.isDevice ||
        isa<func::CallOp>(use.getUser()))
      continue;
    func::FuncOp func = it->second.func;
    bool keepsType = func.isPublic() && onError == OnError::Abort;
    if (keepsType)
      continue;
    InFlightDiagnostic diag = use.getUser()->emitOpError();
    diag << "refers to @" << func.getSymName()
         << ", whose type changes because it does device work; "
         << (func.isPublic()
                 ? "with on-error=status such a function can only be called "
                   "directly"
                 : "a private function with device work can only be called "
                   "directly");
    diag.attachNote(func.getLoc()) << "the function";
    return diag;
  }
  return success();
}

void FrameLowering::split() {
  for (auto &[name, info] : functions) {
    func::FuncOp func = info.func;
    if (!info.isDevice || !info.isCalled || !func.isPublic())
      continue;
    OpBuilder builder(func->getContext());
    builder.setInsertionPointAfter(func);
    auto body = func::FuncOp::create(builder, func.getLoc(),
                                     (bodyPrefix + func.getSymName()).str(),
                                     func.getFunctionType());
    body.setPrivate();
    if (ArrayAttr attrs = func.getArgAttrsAttr())
      body.setArgAttrsAttr(attrs);
    if (ArrayAttr attrs = func.getResAttrsAttr())
      body.setResAttrsAttr(attrs);
    symbols.insert(body);
    body.getBody().takeBody(func.getBody());
    info.body = body;

    builder.setInsertionPointToStart(func.addEntryBlock());
    auto call =
        func::CallOp::create(builder, func.getLoc(), func, func.getArguments());
    func::ReturnOp::create(builder, func.getLoc(), call.getResults());
  }
}

//===----------------------------------------------------------------------===//
// Enter and leave
//===----------------------------------------------------------------------===//

/// Moves constants and stack variables of fixed size to the start of the entry
/// block, which checks of the frame may split: elsewhere a stack variable would
/// grow the stack each time. Returns where the rest of the block begins.
static OpBuilder hoistStaticOps(func::FuncOp func) {
  mlir::Block *entry = &func.getBody().front();
  SmallVector<Operation *> hoisted;
  for (Operation &op : *entry) {
    bool isStatic = op.hasTrait<OpTrait::ConstantLike>() ||
                    (isa<memref::AllocaOp, LLVM::AllocaOp>(op) &&
                     llvm::all_of(op.getOperands(), [](Value operand) {
                       return matchPattern(operand, m_Constant());
                     }));
    if (isStatic)
      hoisted.push_back(&op);
  }
  Operation *end = nullptr;
  for (Operation *op : hoisted) {
    if (end)
      op->moveAfter(end);
    else
      op->moveBefore(entry, entry->begin());
    end = op;
  }
  OpBuilder builder(func.getContext());
  if (end)
    builder.setInsertionPointAfter(end);
  else
    builder.setInsertionPointToStart(entry);
  return builder;
}

/// Storage for `gpuasync_frame` and entering it, before all that the function
/// does.
void FrameLowering::enterFrame(FunctionState &state, FunctionInfo &info) {
  func::FuncOp func = state.func;
  Location loc = func.getLoc();
  OpBuilder builder = hoistStaticOps(func);
  Value one = tables.constant(builder, loc, tables.i64(), 1);
  Type storage =
      LLVM::LLVMArrayType::get(builder.getI8Type(), sizeof(gpuasync_frame));
  state.frame = LLVM::AllocaOp::create(builder, loc, tables.ptr(), storage, one,
                                       alignof(gpuasync_frame));
  FlatSymbolRefAttr table =
      tables.addFunction(func.getSymName(), loc, info.modules.getArrayRef());
  Value function = tables.addressOf(builder, loc, table);
  Value result = tables
                     .call(builder, loc, gpuasync_frame_enter_name,
                           tables.i32(), {state.frame, function})
                     .getResult();
  // The callee owns its tokens even if it cannot be entered: the import then
  // releases them.
  for (BlockArgument argument : func.getArguments()) {
    if (!isa<EventType>(argument.getType()))
      continue;
    std::string text =
        llvm::formatv("token argument {0} of @{1}", argument.getArgNumber(),
                      func.getSymName());
    state.importEvent(builder, func, text, argument);
  }
  Value zero = tables.constant(builder, loc, tables.i32(), 0);
  Value failed =
      LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::ne, result, zero);
  state.exitIf(builder, loc, failed);
}

/// Before the return of a public function. With statuses the results go to
/// storage of the caller, if there was no error.
void FrameLowering::leaveFrame(FunctionState &state, func::ReturnOp ret) {
  OpBuilder builder(ret);
  Location loc = ret.getLoc();
  for (OpOperand &operand : ret->getOpOperands()) {
    if (!isa<EventType>(operand.get().getType()))
      continue;
    std::string text =
        llvm::formatv("token result {0} of @{1}", operand.getOperandNumber(),
                      state.func.getSymName());
    operand.set(state.exportEvent(builder, ret, text, operand.get()));
  }
  if (onError == OnError::Abort) {
    tables.call(builder, loc, gpuasync_frame_leave_or_abort_name, {},
                state.frame);
    return;
  }
  Value status = tables
                     .call(builder, loc, gpuasync_frame_leave_name,
                           tables.ptr(), state.frame)
                     .getResult();
  SmallVector<Value> values(ret.getOperands());
  ret.getOperandsMutable().assign(status);
  if (values.empty())
    return;

  Value null = LLVM::ZeroOp::create(builder, loc, tables.ptr());
  Value isOk =
      LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq, status, null);
  mlir::Block *head = ret->getBlock();
  mlir::Block *rest = head->splitBlock(ret);
  mlir::Block *stores = builder.createBlock(rest);
  builder.setInsertionPointToEnd(head);
  auto branch = cf::CondBranchOp::create(builder, loc, isOk, stores,
                                         ValueRange(), rest, ValueRange());
  branch.setBranchWeights(ArrayRef<int32_t>{2000, 1});

  builder.setInsertionPointToEnd(stores);
  storeResults(builder, loc, converter, values,
               state.func.getArguments().back());
  cf::BranchOp::create(builder, loc, rest);
}

void FrameLowering::fillErrorExit(FunctionState &state, bool isPublic) {
  mlir::Block *exit = state.errorExit;
  if (!exit)
    return;
  Location loc = state.func.getLoc();
  OpBuilder builder = OpBuilder::atBlockEnd(exit);
  // Blocks that were split off later come before it.
  exit->moveBefore(&state.func.getBody(), state.func.getBody().end());
  if (isPublic && onError == OnError::Abort) {
    tables.call(builder, loc, gpuasync_frame_leave_or_abort_name, {},
                state.frame);
    LLVM::UnreachableOp::create(builder, loc);
    return;
  }
  SmallVector<Value> results;
  if (isPublic) {
    results.push_back(tables
                          .call(builder, loc, gpuasync_frame_leave_name,
                                tables.ptr(), state.frame)
                          .getResult());
  } else {
    // The caller branches to its own error exit and never reads these.
    for (Type type : state.func.getResultTypes())
      results.push_back(fromLLVM(
          builder, type,
          LLVM::PoisonOp::create(builder, loc, converter.convertType(type))));
  }
  func::ReturnOp::create(builder, loc, results);
}

//===----------------------------------------------------------------------===//
// Calls and loops
//===----------------------------------------------------------------------===//

void FrameLowering::lowerCall(Operation *op, FunctionState &state) {
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  FunctionInfo *callee = getCallee(op);
  if (callee && callee->isDevice) {
    auto call = cast<func::CallOp>(op);
    func::FuncOp target = callee->body ? callee->body : callee->func;
    SmallVector<Value> operands = {state.frame};
    operands.append(call.getOperands().begin(), call.getOperands().end());
    auto framed =
        func::CallOp::create(builder, op->getLoc(), target.getSymName(),
                             call.getResultTypes(), operands);
    framed->setDiscardableAttrs(call->getDiscardableAttrDictionary());
    op->replaceAllUsesWith(framed);
    op->erase();
    builder.setInsertionPointAfter(framed);
    state.exitIfFrameFailed(builder, framed.getLoc());
    return;
  }
  // The rest changes nothing in the frame, but perhaps the current context.
  bool isUnknown = !callee;
  if (auto call = dyn_cast<func::CallOp>(op); call && !callee)
    if (Operation *declaration = symbols.lookup(call.getCallee()))
      isUnknown = !declaration->hasAttr("llvm.readnone");
  // Tokens go to and come from it as handles that the frame does not hold.
  if (isUnknown) {
    OpBuilder before(op);
    for (OpOperand &operand : op->getOpOperands())
      if (isa<EventType>(operand.get().getType()))
        operand.set(state.exportEvent(before, op, "token argument of a call",
                                      operand.get()));
  }
  if (isUnknown || (callee && callee->callsUnknown)) {
    OpBuilder before(op);
    tables.call(before, op->getLoc(), gpuasync_frame_suspend_name, {},
                state.frame);
    tables.call(builder, op->getLoc(), gpuasync_frame_resume_name, {},
                state.frame);
  }
  if (!isUnknown)
    return;
  for (Value result : op->getResults())
    if (isa<EventType>(result.getType()))
      state.importEvent(builder, op, "token result of a call", result);
}

/// The back edges of the natural loops that hold device work: terminator and
/// index of the successor.
static SmallVector<std::pair<Operation *, unsigned>>
findBackEdges(Region &region, const llvm::SetVector<Operation *> &deviceOps) {
  SmallVector<std::pair<Operation *, unsigned>> edges;
  if (region.hasOneBlock())
    return edges;
  llvm::SmallPtrSet<mlir::Block *, 16> deviceBlocks;
  for (Operation *op : deviceOps)
    deviceBlocks.insert(op->getBlock());
  DominanceInfo dominance(region.getParentOp());
  CFGLoopInfo loops(dominance.getDomTree(&region));
  for (CFGLoop *loop : loops.getLoopsInPreorder()) {
    if (llvm::none_of(loop->getBlocks(), [&](mlir::Block *block) {
          return deviceBlocks.contains(block);
        }))
      continue;
    SmallVector<mlir::Block *> latches;
    loop->getLoopLatches(latches);
    for (mlir::Block *latch : latches)
      for (auto [i, successor] : llvm::enumerate(latch->getSuccessors()))
        if (successor == loop->getHeader())
          edges.emplace_back(latch->getTerminator(), i);
  }
  return edges;
}

void FrameLowering::guardBackEdges(
    FunctionState &state, ArrayRef<std::pair<Operation *, unsigned>> edges) {
  for (auto [terminator, index] : edges) {
    // A block of its own on the edge, with the header's arguments.
    mlir::Block *header = terminator->getSuccessor(index);
    OpBuilder builder(terminator->getContext());
    Location loc = terminator->getLoc();
    SmallVector<Location> locs(header->getNumArguments(), loc);
    mlir::Block *guard =
        builder.createBlock(header->getParent(),
                            std::next(Region::iterator(terminator->getBlock())),
                            header->getArgumentTypes(), locs);
    terminator->setSuccessor(guard, index);
    Value failed = state.loadFailed(builder, loc);
    auto branch =
        cf::CondBranchOp::create(builder, loc, failed, state.getErrorExit(),
                                 ValueRange(), header, guard->getArguments());
    branch.setBranchWeights(ArrayRef<int32_t>{1, 2000});
  }
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

LogicalResult FrameLowering::lowerFunction(func::FuncOp func, bool isPublic,
                                           FunctionInfo &info) {
  FunctionState state(func, tables, converter);
  if (failed(planFragments(state)))
    return failure();

  // Everything is found before blocks are split. A region becomes a part of
  // what is around it before the ops in it are lowered.
  llvm::SetVector<Operation *> work, calls;
  SmallVector<Operation *> lowered;
  SmallVector<func::ReturnOp> returns;
  func.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isDeviceOp(op)) {
      work.insert(op);
      lowered.push_back(op);
      return;
    }
    // An error exit can only be where the function's own blocks are.
    if (isa<memref::AllocOp, cf::AssertOp>(op) && op->getParentOp() == func)
      lowered.push_back(op);
    if (isCallLike(op)) {
      calls.insert(op);
      if (FunctionInfo *callee = getCallee(op); callee && callee->isDevice)
        work.insert(op);
    }
    if (auto ret = dyn_cast<func::ReturnOp>(op))
      returns.push_back(ret);
  });
  auto backEdges = findBackEdges(func.getBody(), work);
  // A region's blocks become the function's.
  func.walk([&](RegionOp region) {
    llvm::append_range(backEdges, findBackEdges(region.getBody(), work));
  });

  if (isPublic) {
    if (onError == OnError::Status) {
      SmallVector<Type> inputs(func.getArgumentTypes());
      if (func.getNumResults()) {
        if (!getResultsType(converter, func.getResultTypes()))
          return func.emitOpError("has a result type without a lowering");
        (void)func.insertArgument(func.getNumArguments(), tables.ptr(), {},
                                  func.getLoc());
        inputs.push_back(tables.ptr());
      }
      func.removeResAttrsAttr();
      func.setType(FunctionType::get(func.getContext(), inputs, tables.ptr()));
    }
    enterFrame(state, info);
  } else {
    (void)func.insertArgument(0, tables.ptr(), {}, func.getLoc());
    func->removeAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName());
    // Nobody outside the module can call it: no name that could clash.
    if (!func->hasAttr("llvm.linkage"))
      func->setAttr(
          "llvm.linkage",
          LLVM::LinkageAttr::get(func.getContext(), LLVM::Linkage::Internal));
    hoistStaticOps(func);
    state.frame = func.getArgument(0);
  }

  bool anyError = false;
  for (Operation *op : lowered)
    anyError |= failed(lowerOp(op, state));
  if (anyError)
    return failure();
  for (Operation *op : calls)
    lowerCall(op, state);
  guardBackEdges(state, backEdges);
  if (isPublic)
    for (func::ReturnOp ret : returns)
      leaveFrame(state, ret);
  fillErrorExit(state, isPublic);
  return success();
}

LogicalResult
FrameLowering::lowerAll(llvm::DenseSet<StringAttr> &statusFunctions) {
  for (auto &[name, info] : functions) {
    if (!info.isDevice)
      continue;
    bool isPublic = info.func.isPublic();
    if (isPublic && onError == OnError::Status)
      statusFunctions.insert(name);
    if (info.body && failed(lowerFunction(info.body, false, info)))
      return failure();
    if (failed(lowerFunction(info.func, isPublic, info)))
      return failure();
  }
  return success();
}

LogicalResult
runtime::lowerFunctions(ModuleOp module, Tables &tables, SymbolTable &symbols,
                        const LLVMTypeConverter &converter, OnError onError,
                        llvm::DenseSet<StringAttr> &statusFunctions) {
  FrameLowering lowering(module, tables, symbols, converter, onError);
  if (failed(lowering.analyze()) || failed(lowering.checkAddresses()))
    return failure();
  lowering.split();
  return lowering.lowerAll(statusFunctions);
}
