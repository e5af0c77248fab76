//===- Deallocate.cpp - frees of what bufferization allocates -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream's deallocation, from which all that the program frees itself is
// hidden: see Ownership.h.
//===----------------------------------------------------------------------===//

#include "ByAddress.h"
#include "GPUAsync/Decision.h"
#include "GPUAsync/Offload/Passes.h"
#include "Offloaded.h"
#include "Ownership.h"
#include "RoundMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCDEALLOCATE
#include "GPUAsync/Offload/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
/// Hides from upstream's deallocation the memrefs that the program passes
/// between functions, and atomics with a body, which it does not take.
class Ownership {
public:
  explicit Ownership(ModuleOp module);

  /// To be called in front of deallocation, and behind it.
  void hide();
  void show();

private:
  /// By result of a function.
  using Results = llvm::BitVector;

  /// A call's result, and what is in place of it.
  struct Hidden {
    Value result;
    Operation *placeholder;
  };
  struct Function {
    func::FuncOp op;
    Results isMemRef; ///< in the program
    /// Bufferization may have allocated it: the caller owns it.
    Results isOwned;
    FunctionType type;
    /// By result, where it may come from.
    SmallVector<llvm::SmallSetVector<Value, 4>> origins;
    Results isHidden;
    /// With an op that holds what is hidden.
    SmallVector<std::pair<func::ReturnOp, UnrealizedConversionCastOp>> returns;
    bool frees = false;
  };

  bool isProgramMemRef(OpResult result);
  bool isOwned(Value value);
  void findOrigins();
  void leaveToProgram(Function &function, unsigned number);
  void findOwned();
  void hideReturns(Function &function);
  void hideCalls(Function &function);

  llvm::MapVector<StringAttr, Function> functions;
  /// Results of functions without kernels, too.
  llvm::DenseMap<StringAttr, Results> memRefs;
  SmallVector<Hidden> hidden;
};
} // namespace

/// Deallocation takes no op with results and a region of which it cannot tell
/// how often it runs: the body of an atomic is a region that runs once, around
/// an atomic without one.
static constexpr StringLiteral kAtomicAttrName = "gpu_async.atomic";

static void hideAtomics(func::FuncOp function) {
  SmallVector<memref::GenericAtomicRMWOp> atomics;
  function.walk([&](memref::GenericAtomicRMWOp op) { atomics.push_back(op); });
  for (memref::GenericAtomicRMWOp op : atomics) {
    OpBuilder builder(op);
    Location loc = op.getLoc();
    Type type = op.getResult().getType();
    auto once = scf::ExecuteRegionOp::create(builder, loc, type);
    once->setAttr(kAtomicAttrName, builder.getUnitAttr());
    builder.createBlock(&once.getRegion());
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    auto plain =
        memref::AtomicRMWOp::create(builder, loc, arith::AtomicRMWKind::assign,
                                    zero, op.getMemref(), op.getIndices());
    Block *body = &op.getRegion().front();
    body->getArgument(0).replaceAllUsesWith(plain);
    Operation *yield = body->getTerminator();
    scf::YieldOp::create(builder, loc, yield->getOperands());
    yield->erase();
    once.getRegion().front().getOperations().splice(
        std::next(plain->getIterator()), body->getOperations());
    op.replaceAllUsesWith(once.getResult(0));
    op.erase();
  }
}

static void showAtomics(func::FuncOp function) {
  SmallVector<scf::ExecuteRegionOp> hidden;
  function.walk([&](scf::ExecuteRegionOp op) {
    if (op->hasAttr(kAtomicAttrName))
      hidden.push_back(op);
  });
  for (scf::ExecuteRegionOp once : hidden) {
    Block &body = once.getRegion().front();
    auto plain = *body.getOps<memref::AtomicRMWOp>().begin();
    OpBuilder builder(once);
    auto op = memref::GenericAtomicRMWOp::create(
        builder, once.getLoc(), plain.getMemref(), plain.getIndices());
    Block *now = &op.getRegion().front();
    plain.replaceAllUsesWith(now->getArgument(0));
    Operation *zero = plain.getValue().getDefiningOp();
    plain.erase();
    zero->erase();
    Operation *yield = body.getTerminator();
    if (!now->empty())
      now->getTerminator()->erase();
    builder.setInsertionPointToEnd(now);
    memref::AtomicYieldOp::create(builder, once.getLoc(), yield->getOperand(0));
    yield->erase();
    now->getOperations().splice(now->begin(), body.getOperations());
    once.replaceAllUsesWith(op->getResults());
    once.erase();
  }
}

Ownership::Ownership(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    Results &results = memRefs[function.getNameAttr()];
    results.resize(function.getNumResults());
    if (auto numbers = function->getAttrOfType<DenseI64ArrayAttr>(
            offload::kMemRefResultsAttrName))
      for (int64_t number : numbers.asArrayRef())
        if (uint64_t(number) < results.size())
          results.set(number);
  }
  for (func::FuncOp function : offload::getOffloaded(module)) {
    const Results &results = memRefs[function.getNameAttr()];
    Function &entry = functions[function.getNameAttr()];
    entry.op = function;
    entry.isMemRef = results;
    entry.isOwned.resize(results.size());
    entry.frees = function->hasAttr(offload::kFreesAttrName);
  }
}

/// Whether the program has the call's result as a memref.
bool Ownership::isProgramMemRef(OpResult result) {
  auto call = dyn_cast<func::CallOp>(result.getOwner());
  return !call ||
         memRefs[call.getCalleeAttr().getAttr()].test(result.getResultNumber());
}

/// Whether the caller of who returns it owns it: bufferization allocates it,
/// here or in a function that is called.
bool Ownership::isOwned(Value value) {
  Operation *maker = value.getDefiningOp();
  if (isa_and_nonnull<memref::AllocOp>(maker))
    return !maker->hasAttr(
        bufferization::BufferizationDialect::kManualDeallocation);
  if (!isa_and_nonnull<CallOpInterface>(maker))
    return isa_and_nonnull<bufferization::CloneOp>(maker);
  auto result = cast<OpResult>(value);
  if (!isProgramMemRef(result))
    return true;
  auto call = dyn_cast<func::CallOp>(maker);
  auto callee =
      call ? functions.find(call.getCalleeAttr().getAttr()) : functions.end();
  return callee != functions.end() &&
         callee->second.isOwned.test(result.getResultNumber());
}

/// Whether it is memory by itself, and no view of other memory.
static bool isOrigin(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getOwner()->isEntryBlock() &&
           isa<func::FuncOp>(argument.getOwner()->getParentOp());
  Operation *maker = value.getDefiningOp();
  return isa<memref::AllocOp, memref::GetGlobalOp, CallOpInterface>(maker) ||
         offload::makesMemRefOfAddress(maker);
}

/// Finds the origins of the memrefs that functions return.
void Ownership::findOrigins() {
  for (auto &entry : functions) {
    Function &function = entry.second;
    function.origins.resize(function.isMemRef.size());
    if (function.isMemRef.none())
      continue;
    BufferViewFlowAnalysis flow(function.op);
    function.op.walk([&](func::ReturnOp op) {
      for (unsigned number : function.isMemRef.set_bits()) {
        Value value = op.getOperand(number);
        auto add = [&](Value origin) {
          if (isOrigin(origin))
            function.origins[number].insert(origin);
        };
        add(value);
        llvm::for_each(flow.resolveReverse(value), add);
      }
    });
  }
}

/// Nobody frees it then but the program.
void Ownership::leaveToProgram(Function &function, unsigned number) {
  if (!function.isOwned.test(number))
    return;
  function.isOwned.reset(number);
  for (Value origin : function.origins[number]) {
    Operation *maker = origin.getDefiningOp();
    if (auto alloc = dyn_cast_or_null<memref::AllocOp>(maker))
      alloc->setAttr(bufferization::BufferizationDialect::kManualDeallocation,
                     UnitAttr::get(alloc.getContext()));
    else if (auto call = dyn_cast_or_null<func::CallOp>(maker))
      if (auto callee = functions.find(call.getCalleeAttr().getAttr());
          callee != functions.end())
        leaveToProgram(callee->second,
                       cast<OpResult>(origin).getResultNumber());
  }
}

/// A result that the program may know by another name is the program's: what
/// deallocation makes of it is a copy.
void Ownership::findOwned() {
  findOrigins();
  bool isChanged = true;
  while (std::exchange(isChanged, false))
    for (auto &[name, function] : functions)
      for (unsigned number : function.isMemRef.set_bits())
        if (!function.isOwned.test(number) &&
            llvm::any_of(function.origins[number],
                         [&](Value origin) { return isOwned(origin); })) {
          function.isOwned.set(number);
          isChanged = true;
        }
  isChanged = true;
  while (std::exchange(isChanged, false))
    for (auto &[name, function] : functions)
      for (unsigned number : function.isOwned.set_bits()) {
        auto &origins = function.origins[number];
        auto isOfTensor = [&](Value origin) {
          auto result = dyn_cast<OpResult>(origin);
          return result && isa<CallOpInterface>(result.getOwner()) &&
                 !isProgramMemRef(result);
        };
        if (llvm::all_of(origins,
                         [&](Value origin) { return isOwned(origin); }) ||
            llvm::any_of(origins, isOfTensor))
          continue;
        leaveToProgram(function, number);
        isChanged = true;
        break;
      }
}

/// Deallocation would return copies of what the function does not own.
void Ownership::hideReturns(Function &function) {
  func::FuncOp op = function.op;
  function.type = op.getFunctionType();
  function.isHidden = function.isMemRef;
  function.isHidden.reset(function.isOwned);
  if (function.isHidden.none())
    return;
  op.walk([&](func::ReturnOp end) {
    SmallVector<Value> values;
    for (unsigned number : function.isHidden.set_bits())
      values.push_back(end.getOperand(number));
    OpBuilder builder(end);
    function.returns.emplace_back(
        end, UnrealizedConversionCastOp::create(
                 builder, end.getLoc(), builder.getIndexType(), values));
  });
  for (auto &[end, values] : function.returns)
    end->eraseOperands(function.isHidden);
  op.setType(function.type.getWithoutArgsAndResults(
      llvm::BitVector(function.type.getNumInputs()), function.isHidden));
}

/// Deallocation frees what calls return.
void Ownership::hideCalls(Function &function) {
  SmallVector<OpResult> results;
  function.op.walk([&](CallOpInterface call) {
    for (OpResult result : call->getResults())
      if (isa<BaseMemRefType>(result.getType()) && isProgramMemRef(result) &&
          (function.frees || !isOwned(result)))
        results.push_back(result);
  });
  for (OpResult result : results) {
    OpBuilder builder(result.getContext());
    builder.setInsertionPointAfter(result.getOwner());
    auto placeholder = UnrealizedConversionCastOp::create(
        builder, result.getLoc(), result.getType(), ValueRange());
    result.replaceAllUsesWith(placeholder.getResult(0));
    hidden.push_back({result, placeholder});
  }
}

void Ownership::hide() {
  findOwned();
  for (auto &[name, function] : functions) {
    hideCalls(function);
    hideReturns(function);
    hideAtomics(function.op);
  }
}

/// Takes memory out of what is freed.
static void dropFrees(Value memory) {
  for (Operation *user : llvm::to_vector(memory.getUsers())) {
    auto free = dyn_cast<bufferization::DeallocOp>(user);
    if (!free)
      continue;
    for (unsigned i = free.getMemrefs().size(); i-- > 0;)
      if (free.getMemrefs()[i] == memory) {
        free.getMemrefsMutable().erase(i);
        free.getConditionsMutable().erase(i);
      }
  }
}

void Ownership::show() {
  for (auto &[name, function] : functions) {
    showAtomics(function.op);
    for (auto &[end, values] : function.returns) {
      for (auto [number, value] :
           llvm::zip(function.isHidden.set_bits(), values.getInputs()))
        end->insertOperands(number, value);
      values.erase();
    }
    function.op.setType(function.type);
  }
  for (auto &[result, placeholder] : hidden) {
    for (Operation *user : llvm::to_vector(result.getUsers())) {
      auto base = dyn_cast<memref::ExtractStridedMetadataOp>(user);
      dropFrees(base ? base.getBaseBuffer() : result);
    }
    placeholder->getResult(0).replaceAllUsesWith(result);
    placeholder->erase();
  }
}

static void unmarkOwnMemory(func::FuncOp function) {
  function.walk([](Operation *op) {
    op->removeAttr(bufferization::BufferizationDialect::kManualDeallocation);
  });
}

namespace {
struct Deallocate : public gpuasync::impl::GPUAsyncDeallocateBase<Deallocate> {
  void getDependentDialects(DialectRegistry &registry) const override {
    Base::getDependentDialects(registry);
    bufferization::createOwnershipBasedBufferDeallocationPass()
        ->getDependentDialects(registry);
  }
  void runOnOperation() override;
};
} // namespace

void Deallocate::runOnOperation() {
  SmallVector<func::FuncOp> functions = offload::getOffloaded(getOperation());
  if (functions.empty())
    return markAllAnalysesPreserved();
  Ownership ownership(getOperation());
  ownership.hide();
  OpPassManager frees(func::FuncOp::getOperationName());
  frees.addPass(bufferization::createOwnershipBasedBufferDeallocationPass());
  const bool hasFreed = llvm::all_of(functions, [&](func::FuncOp function) {
    return succeeded(runPipeline(frees, function));
  });
  ownership.show();
  if (!hasFreed)
    return signalPassFailure();
  for (func::FuncOp function : functions) {
    offload::dropFreesOfLaunched(function);
    unmarkOwnMemory(function);
  }
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    function->removeAttr(offload::kMemRefResultsAttrName);
    function->removeAttr(offload::kFreesAttrName);
  }
}
