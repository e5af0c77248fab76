//===- Offload.cpp - from tensors and parallel loops to kernels -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps in order, on the functions that need them.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Offload/Offload.h"
#include "ByAddress.h"
#include "ConstantWrites.h"
#include "Destinations.h"
#include "GPUAsync/DeviceKinds.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/IR/OpKinds.h"
#include "GPUAsync/Transforms/StructureControlFlow.h"
#include "GPUAsync/Upstream/Faults.h"
#include "GPUAsync/Upstream/Passes.h"
#include "InlineCalls.h"
#include "Ownership.h"
#include "Product.h"
#include "ResultMemory.h"
#include "RoundMemory.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/BufferizationToMemRef/BufferizationToMemRef.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferUtils.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Threading.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCOFFLOAD
#include "GPUAsync/Offload/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

namespace {
struct Offload : public gpuasync::impl::GPUAsyncOffloadBase<Offload> {
  using Base::Base;
  void getDependentDialects(DialectRegistry &registry) const override {
    // Those of the steps, which are pipelines of their own.
    registry.insert<bufferization::BufferizationDialect, gpu::GPUDialect>();
    OpPassManager steps(func::FuncOp::getOperationName());
    steps.addPass(createGPUAsyncLowerTensorOps());
    steps.addPass(createLowerAffinePass());
    steps.addPass(createGPUAsyncReduceParallelLoops());
    steps.addPass(createGPUAsyncHostScalars());
    steps.addPass(createGPUAsyncDeviceIndices());
    steps.addPass(createGPUAsyncHoistInvariants());
    steps.addPass(createGPUAsyncFuseElementwise());
    steps.addPass(createGPUAsyncSplitReductions());
    steps.addPass(createGPUAsyncFormGroups());
    steps.addPass(createGPUAsyncReturnByDestination());
    steps.addPass(bufferization::createOwnershipBasedBufferDeallocationPass());
    steps.addPass(createGPUAsyncLaunchTiles());
    steps.addPass(createGPUAsyncLaunchLoops());
    OpPassManager products(ModuleOp::getOperationName());
    products.addPass(createGPUAsyncCallProducts());
    products.getDependentDialects(registry);
    steps.addPass(createGPUAsyncPlaceMemory());
    steps.getDependentDialects(registry);
  }
  void runOnOperation() override;

private:
  LogicalResult run(ArrayRef<func::FuncOp> functions);
  LogicalResult bufferize(ArrayRef<func::FuncOp> functions);
  LogicalResult makeKernels();
  LogicalResult reportLeft();

  /// Functions that kernels are made of.
  llvm::DenseSet<Operation *> isWanted;
};
} // namespace

static bool isParallelWork(Operation *op) {
  return isa<linalg::LinalgOp, linalg::SoftmaxOp, scf::ForallOp,
             scf::ParallelOp, affine::AffineParallelOp>(op);
}

/// Whether there is work for kernels to be made of.
static bool hasWork(func::FuncOp function) {
  if (llvm::any_of(function.getArgumentTypes(), llvm::IsaPred<TensorType>) ||
      llvm::any_of(function.getResultTypes(), llvm::IsaPred<TensorType>))
    return true;
  return function
      .walk([&](Operation *op) {
        return isParallelWork(op) || llvm::any_of(op->getResultTypes(),
                                                  llvm::IsaPred<TensorType>)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Functions that kernels call, directly or by others.
static llvm::StringSet<> findKernelCode(ModuleOp module) {
  llvm::StringSet<> found;
  SmallVector<Operation *> worklist;
  module.walk([&](gpu::LaunchOp launch) { worklist.push_back(launch); });
  while (!worklist.empty())
    worklist.pop_back_val()->walk([&](func::CallOp call) {
      if (found.insert(call.getCallee()).second)
        if (auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee()))
          worklist.push_back(callee);
    });
  return found;
}

static SmallVector<func::FuncOp> findWanted(ModuleOp module) {
  SmallVector<func::FuncOp> functions;
  llvm::StringSet<> inKernels = findKernelCode(module);
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && !inKernels.contains(function.getName()) &&
        hasWork(function) && !findDeviceWork(function))
      functions.push_back(function);
  return functions;
}

void gpuasync::buildGPUAsyncOffloadPipeline(OpPassManager &pm,
                                            const OffloadOptions &options) {
  GPUAsyncOffloadOptions pass;
  pass.mode = options.mode;
  pass.device = options.device;
  pass.place = options.place;
  pass.blas = options.blas;
  pass.donate = options.donate;
  pass.check = options.check;
  pass.vectorRegisters = options.registers.count;
  pass.vectorBits = options.registers.bits;
  pm.addPass(createGPUAsyncOffload(pass));
}

/// Bufferization takes no loops of branches, and does not see that one block
/// writes what another one has as an argument. So the functions of which
/// kernels are made get structured control flow first, and those that they
/// call and that may go in place of calls. Of these some have nothing for the
/// device: one that has to keep its branches stays a function of its own.
static LogicalResult structure(ModuleOp module) {
  SetVector<Operation *> reached;
  for (func::FuncOp function : findWanted(module))
    reached.insert(function);
  for (size_t i = 0; i < reached.size(); ++i)
    reached[i]->walk([&](func::CallOp call) {
      auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
      if (callee && !callee.isExternal() && !findDeviceWork(callee))
        reached.insert(callee);
    });
  return success(llvm::all_of(reached, [&](Operation *op) {
    auto function = cast<func::FuncOp>(op);
    if (hasWork(function))
      return succeeded(structureControlFlow(function));
    ScopedDiagnosticHandler quiet(
        module.getContext(), [thread = llvm::get_threadid()](Diagnostic &) {
          return success(thread == llvm::get_threadid());
        });
    (void)structureControlFlow(function);
    return true;
  }));
}

bool gpuasync::needsOffload(ModuleOp module) {
  return !findWanted(module).empty();
}

OffloadDevice gpuasync::getOffloadDevice(ArrayRef<std::string> targets) {
  // nvptx:sm_90a: 90.
  auto getChip = [](StringRef target) {
    auto [name, chip] = target.split(':');
    return name == cudaDevice.target ? getNvidiaChipNumber(chip) : 0;
  };
  auto areAll = [&](auto is) {
    return llvm::all_of(targets, [&](StringRef target) { return is(target); });
  };
  if (areAll([](StringRef target) { return target == cpuDevice.target; }))
    return OffloadDevice::CPU;
  if (areAll([&](StringRef target) { return getChip(target) == 90; }))
    return OffloadDevice::SM90;
  return areAll([&](StringRef target) { return getChip(target) >= 80; })
             ? OffloadDevice::SM80
             : OffloadDevice::GPU;
}

/// Calls by which the host asks for a library end a region of device work.
static void askFirst(func::FuncOp function) {
  SmallVector<func::CallOp> calls;
  function.walk([&](func::CallOp call) {
    if (isProductQuery(call))
      calls.push_back(call);
  });
  for (func::CallOp call : llvm::reverse(calls))
    call->moveBefore(&function.front(), function.front().begin());
}

/// A function that a kernel calls would see a global of the device's own.
static LogicalResult refuseGlobalsOfKernels(ModuleOp module) {
  for (const auto &name : findKernelCode(module)) {
    auto function = module.lookupSymbol<func::FuncOp>(name.getKey());
    if (!function)
      continue;
    WalkResult result =
        function.walk([&](memref::GetGlobalOp get) -> WalkResult {
          auto global = module.lookupSymbol<memref::GlobalOp>(get.getName());
          if (global && global.getConstant())
            return WalkResult::advance();
          return get.emitError()
                 << "uses @" << get.getName() << " in @" << function.getName()
                 << ", which a kernel calls: a kernel sees a global that may "
                    "change only as a memref that it is given, so pass it as "
                    "an argument";
        });
    if (result.wasInterrupted())
      return failure();
  }
  return success();
}

/// Makes the globals of constant tensors, in the order of the program.
/// Bufferization would make them in an order that depends on the addresses of
/// functions, and so name them differently in each run.
static LogicalResult makeGlobals(ModuleOp module, uint64_t alignment) {
  SymbolTableCollection symbols;
  for (auto function : module.getOps<func::FuncOp>()) {
    WalkResult result =
        function.walk([&](arith::ConstantOp constant) -> WalkResult {
          if (!isa<RankedTensorType>(constant.getType()))
            return WalkResult::advance();
          return success(succeeded(
              bufferization::getGlobalFor(constant, symbols, alignment)));
        });
    if (result.wasInterrupted())
      return failure();
  }
  return success();
}

LogicalResult Offload::bufferize(ArrayRef<func::FuncOp> functions) {
  bufferization::OneShotBufferizePassOptions options;
  options.bufferizeFunctionBoundaries = true;
  options.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  options.allowReturnAllocsFromLoops = true;
  if (failed(makeGlobals(getOperation(), options.bufferAlignment)))
    return failure();
  auto bufferizeAll = [&] {
    for (func::FuncOp function : functions)
      if (function->removeAttr(offload::kCopiesAttrName))
        options.noAnalysisFuncFilter.push_back(function.getName().str());
    OpPassManager whole(ModuleOp::getOperationName());
    whole.addPass(bufferization::createOneShotBufferizePass(options));
    return runPipeline(whole, getOperation());
  };
  std::vector<Diagnostic> said;
  {
    ScopedDiagnosticHandler keep(
        &getContext(), [&, thread = llvm::get_threadid()](Diagnostic &text) {
          if (thread != llvm::get_threadid())
            return failure();
          said.push_back(std::move(text));
          return success();
        });
    if (succeeded(bufferizeAll()))
      return success();
  }
  // Ops that now compute in their destinations may have taken the last order
  // away.
  bool isOther = false;
  for (func::FuncOp function : functions) {
    if (llvm::is_contained(options.noAnalysisFuncFilter,
                           function.getName().str()))
      continue;
    if (failed(offload::checkOrder(function)))
      return failure();
    isOther |= function->hasAttr(offload::kCopiesAttrName);
  }
  if (!isOther) {
    for (Diagnostic &text : said)
      getContext().getDiagEngine().emit(std::move(text));
    return failure();
  }
  return bufferizeAll();
}

/// A memref is the caller's before and after the call.
static LogicalResult refuseDonatedMemRefs(ArrayRef<func::FuncOp> functions) {
  for (func::FuncOp function : functions)
    for (BlockArgument argument : function.getArguments())
      if (function.getArgAttr(argument.getArgNumber(), kDonatedAttrName) &&
          !isa<TensorType>(argument.getType()))
        return function.emitError()
               << "argument " << argument.getArgNumber() << " of type "
               << argument.getType() << " cannot be donated ("
               << kDonatedAttrName
               << "): only a tensor's memory can be given up, so pass it as a "
                  "tensor or leave out the attribute";
  return success();
}

LogicalResult Offload::run(ArrayRef<func::FuncOp> functions) {
  if (failed(refuseDonatedMemRefs(functions)))
    return failure();
  auto runOnEach = [&](function_ref<void(OpPassManager &)> add) {
    OpPassManager each(func::FuncOp::getOperationName());
    add(each);
    return success(llvm::all_of(functions, [&](func::FuncOp function) {
      return succeeded(runPipeline(each, function));
    }));
  };
  for (func::FuncOp function : functions)
    if (failed(avoidFaults(function)))
      return failure();
  llvm::for_each(functions, markOwnMemory);
  LogicalResult before = runOnEach([&](OpPassManager &pm) {
    pm.addPass(createGPUAsyncLowerTensorOps());
    pm.addPass(createLowerAffinePass());
    pm.addPass(createGPUAsyncCanonicalize());
    pm.addPass(createCSEPass());
    pm.addPass(createGPUAsyncReduceParallelLoops());
    pm.addPass(createGPUAsyncHostScalars());
    pm.addPass(createGPUAsyncCanonicalize());
    GPUAsyncDeviceIndicesOptions indices;
    indices.device = device;
    indices.place = place;
    pm.addPass(createGPUAsyncDeviceIndices(indices));
    pm.addPass(createGPUAsyncHoistInvariants());
    GPUAsyncFuseElementwiseOptions fuse;
    fuse.device = device;
    pm.addPass(createGPUAsyncFuseElementwise(fuse));
    pm.addPass(createGPUAsyncCanonicalize());
    GPUAsyncSplitReductionsOptions split;
    split.device = device;
    split.blas = blas;
    pm.addPass(createGPUAsyncSplitReductions(split));
    GPUAsyncFormGroupsOptions group;
    group.device = device;
    group.blas = blas;
    pm.addPass(createGPUAsyncFormGroups(group));
    pm.addPass(createGPUAsyncCanonicalize());
    pm.addPass(createCSEPass());
    pm.addPass(createGPUAsyncReturnByDestination());
    pm.addPass(bufferization::createEmptyTensorToAllocTensorPass());
  });
  if (failed(before))
    return failure();

  Ownership ownership(getOperation(), functions);
  if (failed(bufferize(functions)))
    return failure();
  // What functions with device work of their own allocate is their business.
  LogicalResult frees = runOnEach(
      [&](OpPassManager &pm) { pm.addPass(createGPUAsyncCanonicalize()); });
  if (failed(frees))
    return failure();
  llvm::for_each(functions, computeInResults);
  ownership.hide();
  frees = runOnEach([&](OpPassManager &pm) {
    pm.addPass(bufferization::createOwnershipBasedBufferDeallocationPass());
  });
  ownership.show();
  if (failed(frees))
    return failure();
  llvm::for_each(functions, dropFreesOfLaunched);
  frees = runOnEach([&](OpPassManager &pm) {
    pm.addPass(createGPUAsyncCanonicalize());
    pm.addPass(bufferization::createBufferDeallocationSimplificationPass());
  });
  if (failed(frees))
    return failure();
  llvm::for_each(functions, unmarkOwnMemory);
  OpPassManager lower(ModuleOp::getOperationName());
  lower.addPass(bufferization::createLowerDeallocationsPass());
  // A function returns a copy of a global, which its caller frees.
  lower.addPass(createConvertBufferizationToMemRefPass());
  if (failed(runPipeline(lower, getOperation())))
    return failure();
  LogicalResult cleaned = runOnEach([&](OpPassManager &pm) {
    pm.addPass(createGPUAsyncCanonicalize());
    pm.addPass(createCSEPass());
    // Copies of what is found to be the same go away.
    pm.addPass(createGPUAsyncCanonicalize());
  });
  if (failed(cleaned))
    return failure();
  if (donate && (device == OffloadDevice::CPU || place == PlaceMode::Off))
    llvm::for_each(functions, takeDonated);
  if (blas == BlasMode::Auto) {
    OpPassManager products(ModuleOp::getOperationName());
    GPUAsyncCallProductsOptions call;
    call.device = device;
    products.addPass(createGPUAsyncCallProducts(call));
    if (failed(runPipeline(products, getOperation())))
      return failure();
  }
  const bool addresses = hasAccessesByAddress(getOperation());
  LogicalResult launched = runOnEach([&](OpPassManager &pm) {
    GPUAsyncLaunchTilesOptions launch;
    launch.device = device;
    launch.vectorRegisters = vectorRegisters;
    launch.vectorBits = vectorBits;
    pm.addPass(createGPUAsyncLaunchTiles(launch));
    // One thread has no races that the threads of before had.
    if (device == OffloadDevice::CPU && !check) {
      pm.addPass(createGPUAsyncCanonicalize());
      pm.addPass(createGPUAsyncLaunchLoops());
    }
    GPUAsyncPlaceMemoryOptions place;
    place.device = device;
    place.place = this->place;
    place.addresses = addresses;
    pm.addPass(createGPUAsyncPlaceMemory(place));
    pm.addPass(createLowerAffinePass());
    pm.addPass(createGPUAsyncCanonicalize());
    pm.addPass(createCSEPass());
    pm.addPass(createLoopInvariantCodeMotionPass());
  });
  for (func::FuncOp function : functions)
    askFirst(function);
  if (failed(launched))
    return failure();
  return refuseGlobalsOfKernels(getOperation());
}

/// Says what is still done on the host: all, or in functions that launch
/// kernels themselves.
LogicalResult Offload::reportLeft() {
  bool isError = false;
  llvm::StringSet<> inKernels = findKernelCode(getOperation());
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (inKernels.contains(function.getName()))
      continue;
    Operation *own =
        isWanted.contains(function) ? nullptr : findDeviceWork(function);
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<gpu::LaunchOp>(op))
        return WalkResult::skip();
      if (!isParallelWork(op))
        return WalkResult::advance();
      isError |= mode == OffloadMode::Error;
      InFlightDiagnostic text =
          mode == OffloadMode::Error ? op->emitError() : op->emitRemark();
      text << "runs on the host: no kernel can be made of it";
      if (own)
        text.attachNote(own->getLoc())
            << "the function gives the device work itself, so the rest of it "
               "is taken as it is: move what kernels are to be made of into a "
               "function of its own";
      return WalkResult::skip();
    });
  }
  return failure(isError);
}

/// Says which arguments do not stay on the device though they are to.
static void warnOfResidents(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    for (BlockArgument argument : function.getArguments())
      if (function.getArgAttr(argument.getArgNumber(),
                              GPUAsyncDialect::getResidentName()) &&
          llvm::none_of(argument.getUsers(), llvm::IsaPred<ResidentOp>))
        function.emitWarning()
            << "argument " << argument.getArgNumber()
            << " is to stay on the device (gpu_async.resident), but no kernel "
               "that is made of linalg ops, tensors or parallel loops reads "
               "it: a function with device work of its own has the op "
               "gpu_async.resident for that";
}

/// Says where sums and their like begin with what tensor.empty gives, which is
/// anything.
static void warnOfEmpty(ModuleOp module) {
  module.walk([](linalg::LinalgOp op) {
    for (OpOperand &init : op.getDpsInitsMutable()) {
      auto empty = init.get().getDefiningOp<tensor::EmptyOp>();
      SmallVector<Operation *> combiners;
      // Front ends write ops that read an element and do not use it at first.
      if (!empty || !op.payloadUsesValueFromOperand(&init) ||
          !matchReduction(op.getRegionOutputArgs(),
                          init.getOperandNumber() - op.getNumDpsInputs(),
                          combiners))
        continue;
      op->emitWarning("computes with the elements of a tensor.empty, which may "
                      "be anything: fill it first (linalg.fill)")
              .attachNote(empty.getLoc())
          << "made here";
    }
  });
}

/// A call by which a function calls itself, by others too; null: there is none.
static func::CallOp findRecursion(func::FuncOp function, ModuleOp module) {
  llvm::StringSet<> seen;
  SmallVector<std::pair<func::FuncOp, func::CallOp>> worklist{{function, {}}};
  while (!worklist.empty()) {
    auto [next, first] = worklist.pop_back_val();
    SmallVector<func::CallOp> calls;
    next.walk([&](func::CallOp call) { calls.push_back(call); });
    for (func::CallOp call : calls) {
      if (call.getCallee() == function.getName())
        return first ? first : call;
      auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
      if (callee && seen.insert(call.getCallee()).second)
        worklist.push_back({callee, first ? first : call});
    }
  }
  return {};
}

/// Whether a result would become an argument.
static bool returnsConstantSizes(func::FuncOp function) {
  return llvm::any_of(function.getResultTypes(), [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  });
}

/// A public function whose calls are still there would get another type.
static LogicalResult refuseCallsOf(ArrayRef<func::FuncOp> functions) {
  for (func::FuncOp function : functions) {
    if (!function.isPublic() || !returnsConstantSizes(function))
      continue;
    auto uses = SymbolTable::getSymbolUses(
        function, function->getParentOfType<ModuleOp>());
    if (uses && !uses->empty())
      return uses->begin()->getUser()->emitError()
             << "uses @" << function.getName()
             << ", a public function that returns a tensor of constant size: "
                "its callers give it an argument for that, so make it private";
  }
  return success();
}

/// Bufferization finds no memory for what such a call returns: a result of a
/// constant size becomes an argument.
static LogicalResult refuseRecursiveTensors(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!returnsConstantSizes(function))
      continue;
    if (func::CallOp call = findRecursion(function, module))
      return call.emitError()
             << "@" << function.getName()
             << " calls itself and returns a tensor of constant size, for "
                "which "
                "no memory is known: use a loop, or have it write to a memref";
  }
  return success();
}

LogicalResult Offload::makeKernels() {
  isWanted.clear();
  warnOfEmpty(getOperation());
  if (needsOffload(getOperation())) {
    if (failed(refuseRecursiveTensors(getOperation())))
      return failure();
    if (failed(structure(getOperation())) ||
        failed(inlineCalls(findWanted(getOperation()), hasWork)))
      return failure();
    OpPassManager clean(ModuleOp::getOperationName());
    clean.addPass(createSymbolDCEPass());
    if (failed(runPipeline(clean, getOperation())))
      return failure();
    SmallVector<func::FuncOp> functions = findWanted(getOperation());
    isWanted.insert_range(functions);
    if (failed(refuseCallsOf(functions)) || failed(run(functions)))
      return failure();
  }
  return reportLeft();
}

void Offload::runOnOperation() {
  if (failed(offload::refuseConstantWrites(getOperation())))
    return signalPassFailure();
  if (mode == OffloadMode::Off)
    return;
  if (failed(makeKernels()))
    return signalPassFailure();
  if (place == PlaceMode::Copy)
    warnOfResidents(getOperation());
}
