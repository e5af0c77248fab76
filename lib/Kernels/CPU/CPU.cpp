//===- CPU.cpp - kernels for the cpu device ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns each kernel into a block function (gpuasync_cpu_block_fn), which calls
// the kernel's body, with its place in the grid as arguments, for all threads
// of a block; a kernel with barriers is cut into pieces first (Regions.cpp).
// LLVM inlines one into the other and vectorises the innermost loop. The steps
// are in the files named Cpu*; this one runs them and holds the pipelines.
//===----------------------------------------------------------------------===//

#include "GPUAsync/KernelMemory.h"
#include "GPUAsync/Kernels/CPU/Code.h"
#include "GPUAsync/Kernels/CPU/Object.h"
#include "GPUAsync/Kernels/Common/IntegersInMemory.h"
#include "GPUAsync/Upstream/Faults.h"
#include "GPUAsync/Upstream/Passes.h"
#include "Kernels/CPU/Ops/SmallFloats.h"
#include "Kernels/Common/Addresses.h"
#include "Kernels/Common/Allocas.h"
#include "Kernels/Common/Math.h"
#include "Kernels/Common/Scalars.h"
#include "Kernels/Common/StackUse.h"
#include "Lowering.h"
#include "Operations.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ComplexToStandard/ComplexToStandard.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Conversion/MathToFuncs/MathToFuncs.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::cpu;

//===----------------------------------------------------------------------===//
// What the cpu device supports
//===----------------------------------------------------------------------===//

static LogicalResult checkSupported(gpu::GPUModuleOp kernels,
                                    int64_t subgroupSize) {
  if (failed(checkNoTensorMaps(kernels, "the cpu device")))
    return failure();
  WalkResult result = kernels->walk([&](Operation *op) -> WalkResult {
    if (subgroupSize != warpSize && (isWarpOp(op) || isMatrixOp(op)))
      return op->emitOpError("is about a warp of ")
             << warpSize << " threads, but the cpu device is to have subgroups "
             << "of " << subgroupSize;
    if (failed(checkFloats(op)))
      return WalkResult::interrupt();
    StringRef dialect = op->getName().getDialectNamespace();
    if (isa<gpu::GPUModuleOp, gpu::GPUFuncOp, gpu::ReturnOp, gpu::ThreadIdOp,
            gpu::BlockIdOp, gpu::BlockDimOp, gpu::GridDimOp, gpu::GlobalIdOp,
            gpu::LaneIdOp, gpu::SubgroupIdOp, gpu::NumSubgroupsOp,
            gpu::SubgroupSizeOp, gpu::ClusterIdOp, gpu::ClusterDimOp,
            gpu::ClusterDimBlocksOp, gpu::ClusterBlockIdOp, gpu::PrintfOp,
            gpu::DynamicSharedMemoryOp, gpu::YieldOp>(op) ||
        isCollective(op) || hasGpuOp(op) || isMatrixOp(op))
      return WalkResult::advance();
    bool foreign = llvm::is_contained({"gpu", "nvvm", "nvgpu", "rocdl",
                                       "amdgpu", "xevm", "xegpu", "spirv"},
                                      dialect) ||
                   isa<LLVM::InlineAsmOp>(op);
    if (isWarpOp(op))
      return op->emitOpError("with a mask that is computed is not supported by "
                             "the cpu device");
    if (foreign || isa<func::CallIndirectOp>(op))
      return op->emitOpError("is not supported by the cpu device yet");
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

/// What stands in registers need not be kept across barriers.
static void buildPromotionPipeline(OpPassManager &pm) {
  pm.addPass(createSROA());
  pm.addPass(createMem2Reg());
  pm.addPass(createGPUAsyncCanonicalize());
  pm.addPass(createCSEPass());
}

/// Cuts the kernels that hold barriers, and those whose loops are better run
/// around the loops over the threads.
LogicalResult CPULowering::cutKernels() {
  llvm::SetVector<Operation *> meeting;
  for (auto &[name, function] : functions)
    if (holds(function.op, isCollective))
      meeting.insert(function.op);
  addCallers(work, meeting);
  SmallVector<std::pair<StringAttr, Function>> regions;
  for (auto &[name, function] : functions) {
    auto kernel = dyn_cast<func::FuncOp>(function.op.getOperation());
    if (!function.isKernel || !kernel)
      continue;
    if (meeting.contains(kernel) && failed(structureAroundBarriers(kernel)))
      return failure();
    boundCarriedAllocas(kernel);
    if (meeting.contains(kernel)) {
      OpPassManager promotion(func::FuncOp::getOperationName());
      buildPromotionPipeline(promotion);
      if (failed(runPipeline(promotion, kernel)))
        return failure();
    }
    function.takesRuns = !function.mayBlock && !meeting.contains(kernel) &&
                         canTakeRuns(kernel, function.blockSize[0]);
    if (function.takesRuns)
      kernel->setAttr(runsName, builder.getUnitAttr());
    FailureOr<std::optional<CutKernel>> cut = cutAtBarriers(
        kernel, function.workgroupBytes,
        function.takesRuns ? 0 : function.blockSize[0], subgroupSize,
        [&](func::CallOp call) { return mayFail(call); });
    kernel->removeAttr(runsName);
    if (failed(cut))
      return failure();
    if (!*cut)
      continue;
    function.isCut = true;
    function.mayFail = false;
    function.workgroupBytes = (*cut)->workgroupBytes;
    function.threadBytes = (*cut)->threadBytes;
    // Arrays have an element for each thread of one block.
    function.takesRuns &= !function.threadBytes;
    for (ParallelRegion &region : (*cut)->regions) {
      Function info;
      info.op = region.function;
      info.mayFail = region.mayFail;
      info.group = region.group;
      info.failedOffset = (*cut)->failedOffset;
      function.mayFail |= region.mayFail;
      regions.push_back({region.function.getSymNameAttr(), info});
    }
  }
  // Their callers hold copies of them.
  for (Operation *op : meeting) {
    auto function = cast<SymbolOpInterface>(op);
    if (functions[function.getNameAttr()].isKernel)
      continue;
    functions.erase(function.getNameAttr());
    op->erase();
  }
  for (auto &[name, region] : regions)
    functions[name] = region;
  hoistAllocas(work);
  freeAllocasOfRounds(work);
  return success();
}

/// Says of each kernel that ends how many operations its threads run.
LogicalResult CPULowering::countOperations() {
  // What is promised not to wait may still go on for long.
  bool isPromised = false;
  source->walk([&](FunctionOpInterface function) {
    isPromised |= function->hasAttr(GPUAsyncDialect::getNonblockingName());
  });
  SymbolTable table(work);
  for (auto &[name, function] : functions) {
    if (!function.isKernel || function.mayBlock)
      continue;
    StringRef base = name.getValue();
    base.consume_back("_thread");
    std::string unique = (base + "_operations").str();
    for (unsigned i = 0; table.lookup(unique); ++i)
      unique = (base + "_operations_" + Twine(i)).str();
    OperationCount count =
        cpu::countOperations(function.op, unique, !isPromised);
    function.operations = count.constant;
    if (count.function)
      function.counts = count.function.getSymNameAttr();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// To the LLVM dialect
//===----------------------------------------------------------------------===//

/// To loops, so that kernels can be cut at their barriers.
static void buildStructurePipeline(OpPassManager &pm) {
  pm.addPass(createConvertLinalgToLoopsPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createConvertVectorToSCFPass());
  pm.addPass(createForallToForLoopPass());
  pm.addPass(createConvertComplexToStandardPass());
  pm.addPass(createGPUAsyncCanonicalize());
}

static void buildLLVMPipeline(OpPassManager &pm) {
  pm.addPass(createLowerViewsPass());
  pm.addPass(createConvertMathToFuncs());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createConvertToLLVMPass());
  pm.addPass(createWeakenAddressesPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createGPUAsyncCanonicalize());
  pm.addPass(createCSEPass());
}

void gpuasync::registerCPULoweringDialects(DialectRegistry &registry) {
  OpPassManager pm(ModuleOp::getOperationName());
  buildStructurePipeline(pm);
  buildPromotionPipeline(pm);
  pm.addPass(createSCFToControlFlowPass());
  buildLLVMPipeline(pm);
  pm.getDependentDialects(registry);
  registerConvertToLLVMInterfaces(registry);
}

/// Moves everything into the program under names of its own.
LogicalResult CPULowering::splice() {
  Operation *host = source->getParentOp();
  SymbolTable hostTable(host);
  SymbolTable workTable(work);
  Block *hostBody = &host->getRegion(0).front();
  SmallVector<Operation *> ops;
  for (Operation &op : *work.getBody())
    ops.push_back(&op);
  llvm::StringMap<StringAttr> renamed;
  llvm::StringSet<> given;

  for (Operation *op : ops) {
    auto symbol = dyn_cast<SymbolOpInterface>(op);
    if (!symbol)
      continue;
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    if (function && function.isExternal()) {
      Operation *present = hostTable.lookup(symbol.getName());
      bool runtime =
          symbol.getName().starts_with("gpuasync_") || function.isVarArg() ||
          llvm::is_contained({"malloc", "free", "aligned_alloc", "memrefCopy"},
                             symbol.getName());
      if (!present && runtime)
        continue;
      if (auto same = dyn_cast_or_null<LLVM::LLVMFuncOp>(present)) {
        if (same.getFunctionType() != function.getFunctionType())
          return same.emitOpError("is declared with type ")
                 << same.getFunctionType() << " but kernels of @"
                 << source.getName() << " call it with "
                 << function.getFunctionType();
        op->erase();
        continue;
      }
      // The host's own lowering may still want this function as a func.func
      // (math to libm); it then also turns our calls into llvm.call.
      SmallVector<Type> results;
      if (!isa<LLVM::LLVMVoidType>(function.getFunctionType().getReturnType()))
        results.push_back(function.getFunctionType().getReturnType());
      auto type = builder.getFunctionType(function.getArgumentTypes(), results);
      auto declared = dyn_cast_or_null<func::FuncOp>(present);
      if (present && (!declared || declared.getFunctionType() != type))
        return present->emitOpError("is not the function of type ")
               << type << " that kernels of @" << source.getName() << " call";
      if (!declared) {
        builder.setInsertionPointToStart(hostBody);
        declared = func::FuncOp::create(builder, function.getLoc(),
                                        symbol.getName(), type);
        declared.setVisibility(SymbolTable::Visibility::Private);
        hostTable.insert(declared);
      }
      if (auto uses = SymbolTable::getSymbolUses(op, work))
        for (SymbolTable::SymbolUse use : llvm::make_early_inc_range(*uses)) {
          auto call = dyn_cast<LLVM::CallOp>(use.getUser());
          if (!call)
            return use.getUser()->emitOpError(
                       "takes the address of a function, which ")
                   << "is not supported by the cpu device";
          builder.setInsertionPoint(call);
          auto replacement = func::CallOp::create(
              builder, call.getLoc(), declared, call.getArgOperands());
          call.replaceAllUsesWith(replacement.getResults());
          call.erase();
        }
      op->erase();
      continue;
    }
    // Our own names begin with the gpu.module's.
    std::string base = symbol.getName().str();
    if (!StringRef(base).starts_with(prefix))
      base = prefix + base;
    std::string unique = base;
    auto isTaken = [&](StringRef name) {
      Operation *present = workTable.lookup(name);
      return hostTable.lookup(name) || given.contains(name) ||
             (present && present != op);
    };
    for (unsigned i = 0; isTaken(unique); ++i)
      unique = base + "_" + std::to_string(i);
    given.insert(unique);
    if (unique != symbol.getName())
      renamed[symbol.getName()] = builder.getStringAttr(unique);
  }
  // All at once: instrumented code has a symbol for each access.
  AttrTypeReplacer references;
  references.addReplacement([&](SymbolRefAttr reference) -> Attribute {
    auto found = renamed.find(reference.getRootReference().getValue());
    return found == renamed.end()
               ? reference
               : SymbolRefAttr::get(found->second,
                                    reference.getNestedReferences());
  });
  references.recursivelyReplaceElementsIn(work);
  for (Operation &op : *work.getBody())
    if (auto symbol = dyn_cast<SymbolOpInterface>(op))
      if (auto found = renamed.find(symbol.getName()); found != renamed.end())
        symbol.setName(found->second);
  while (!work.getBody()->empty())
    work.getBody()->front().moveBefore(source);
  return success();
}

/// See Code.h.
static void markAsKernelCode(LLVM::LLVMFuncOp function) {
  SmallVector<Attribute> attributes;
  if (ArrayAttr present = function.getPassthroughAttr())
    llvm::append_range(attributes, present);
  attributes.push_back(
      StringAttr::get(function.getContext(), cpuKernelAttribute));
  function.setPassthroughAttr(
      ArrayAttr::get(function.getContext(), attributes));
}

//===----------------------------------------------------------------------===//
// The pipeline
//===----------------------------------------------------------------------===//

namespace {
/// A step of the lowering. As a pass, so that MLIR's own options print what it
/// leaves and time it.
struct Step : PassWrapper<Step, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Step)

  Step(StringRef name, std::function<LogicalResult()> step)
      : name(name), step(std::move(step)) {}
  StringRef getArgument() const override { return name; }
  StringRef getName() const override { return name; }
  void runOnOperation() override {
    if (failed(step()))
      signalPassFailure();
  }

  StringRef name;
  std::function<LogicalResult()> step;
};
} // namespace

/// The functions of the gpu.module as the host's, with their place in the grid
/// as arguments.
LogicalResult CPULowering::importKernels() {
  findBlockSizes();
  if (failed(copyFunctions()) || failed(renameFunctions()) ||
      failed(avoidFaults(work)))
    return failure();
  stripMemorySpaces();
  replaceByGpuOps(work);
  boundDynamicAllocas(work);
  if (failed(promotePrintfArguments(work, "the cpu device")) ||
      failed(expandMatrices(work)) || failed(rewriteDeviceOps()))
    return failure();
  rewriteCalls();
  return success();
}

/// What loops say in place of ops that LLVM does not have.
LogicalResult CPULowering::expandMemoryOps() {
  hoistAllocas(work);
  expandCopies(work);
  expandFloatClassification(work);
  return expandAtomics(work, isSmallFloat);
}

LogicalResult CPULowering::expandArithmetic() {
  lowerVectors(work);
  accessBoolVectorsAsBytes(work);
  return expandSmallFloats(work);
}

LogicalResult CPULowering::expandCalls() {
  if (failed(rewriteAsserts()) || failed(lowerMathToLibm(work)))
    return failure();
  expandDivisions(work);
  freezeConversions(work);
  return success();
}

/// Makes the kernels known to LLVM as what they are, and the functions that the
/// runtime calls.
LogicalResult CPULowering::buildBlockFunctions() {
  if (failed(checkAllLowered(work, LLVM::LLVMDialect::getDialectNamespace(),
                             "the cpu device")))
    return failure();
  accessIntegersAsBytes(work);
  // Upstream hands attributes of loops on without making them known to LLVM.
  work.walk([](LLVM::BrOp branch) {
    if (Attribute annotation = branch->removeDiscardableAttr(annotationName))
      branch.setLoopAnnotationAttr(cast<LLVM::LoopAnnotationAttr>(annotation));
  });
  for (auto &[name, function] : functions) {
    auto lowered = work.lookupSymbol<LLVM::LLVMFuncOp>(name);
    lowered.setVisibility(SymbolTable::Visibility::Private);
    lowered.setLinkage(LLVM::Linkage::Internal);
    markAsKernelCode(lowered);
    if (!function.isKernel && !function.group)
      continue;
    lowered.setAlwaysInline(true);
    Attribute group = function.group;
    if (!group && !function.isCut)
      group = LLVM::AccessGroupAttr::get(context);
    if (group)
      markParallelAccesses(lowered, group);
    if (function.isKernel)
      function.block = buildBlockFunction(lowered, function, group);
    if (function.counts)
      function.counter = buildCounter(function);
  }
  makeNullValid(work);
  work.walk([](Operation *op) { op->removeDiscardableAttr(inOrderName); });
  return checkMemory();
}

/// Finds what kernels keep on the stack, and refuses those that have more
/// memory of their own than there is.
LogicalResult CPULowering::checkMemory() {
  SymbolTable symbols(work);
  StackUses stack(symbols);
  for (auto &[name, function] : functions) {
    if (!function.isKernel)
      continue;
    StringRef kernel = name.getValue();
    kernel.consume_front(prefix);
    kernel.consume_back("_thread");
    StackUse use = stack.get(function.block);
    if (failed(checkPrivateMemory(symbols.lookup<LLVM::LLVMFuncOp>(name),
                                  kernel, use, cpuKernelMemory.privateBytes,
                                  "the cpu device")))
      return failure();
    function.stackBytes = use.isBounded ? use.bytes : -1;
    if (function.workgroupBytes > cpuKernelMemory.workgroupBytes)
      return emitError(function.block.getLoc())
             << "kernel @" << kernel << " has " << function.workgroupBytes
             << " bytes of static workgroup memory, where "
             << cpuKernelMemory.workgroupBytes
             << " are allowed on the cpu device";
  }
  return success();
}

FailureOr<ImageAttr> CPULowering::run() {
  if (failed(checkSupported(source, subgroupSize)) ||
      failed(checkNoHostOps(source)))
    return failure();
  builder.setInsertionPointAfter(source);
  work = ModuleOp::create(builder, source.getLoc());

  OpPassManager pm(ModuleOp::getOperationName());
  auto addStep = [&](StringRef name, LogicalResult (CPULowering::*step)()) {
    pm.addPass(std::make_unique<Step>(name, [=] { return (this->*step)(); }));
  };
  addStep("gpu-async-cpu-import-kernels", &CPULowering::importKernels);
  addStep("gpu-async-cpu-expand-memory-ops", &CPULowering::expandMemoryOps);
  buildStructurePipeline(pm);
  addStep("gpu-async-cpu-count-operations", &CPULowering::countOperations);
  addStep("gpu-async-cpu-cut-at-barriers", &CPULowering::cutKernels);
  addStep("gpu-async-cpu-expand-arithmetic", &CPULowering::expandArithmetic);
  // Branches: asserts can then leave their function.
  pm.addPass(createSCFToControlFlowPass());
  addStep("gpu-async-cpu-expand-calls", &CPULowering::expandCalls);
  buildLLVMPipeline(pm);
  addStep("gpu-async-cpu-build-block-functions",
          &CPULowering::buildBlockFunctions);
  if (failed(runPipeline(pm, work)) || failed(splice()))
    return failure();

  SmallVector<Attribute> entries;
  for (auto &[name, function] : functions) {
    if (!function.isKernel)
      continue;
    Attribute operations;
    if (function.counter)
      operations = FlatSymbolRefAttr::get(function.counter.getSymNameAttr());
    else if (function.operations)
      operations =
          builder.getI64IntegerAttr(std::max<int64_t>(*function.operations, 1));
    entries.push_back(CpuKernelAttr::get(
        context, FlatSymbolRefAttr::get(function.block.getSymNameAttr()),
        function.workgroupBytes, function.threadBytes, function.mayBlock,
        function.takesRuns, function.stackBytes, operations));
  }
  return ImageAttr::get(context, ImageFormat::CPU, "", StringAttr(),
                        builder.getArrayAttr(entries));
}

FailureOr<ImageAttr> gpuasync::lowerKernelsForCPU(gpu::GPUModuleOp kernels,
                                                  int64_t subgroupSize,
                                                  RunPipelineFn runPipeline) {
  return CPULowering(kernels, subgroupSize, runPipeline).run();
}

//===----------------------------------------------------------------------===//
// The target
//===----------------------------------------------------------------------===//

namespace {
class CPUTarget : public KernelTarget {
public:
  CPUTarget() : KernelTarget(cpuDevice) {}
  bool takesAnyName() const override { return true; }
  bool has(Attribute target) const override {
    return isa<CpuTargetAttr>(target);
  }
  FailureOr<Attribute> parse(StringRef chip,
                             const KernelLoweringOptions &options,
                             MLIRContext *context,
                             EmitErrorFn emitError) const override {
    return Attribute(CpuTargetAttr::get(context, StringAttr(), StringAttr(),
                                        options.subgroupSize));
  }
  FailureOr<SmallVector<ImageAttr>>
  lower(gpu::GPUModuleOp kernels, Attribute target,
        const KernelLoweringOptions &options,
        RunPipelineFn runPipeline) const override {
    int64_t size = cast<CpuTargetAttr>(target).getSubgroupSize();
    FailureOr<ImageAttr> image = lowerKernelsForCPU(
        kernels, size ? size : options.subgroupSize, runPipeline);
    if (failed(image))
      return failure();
    return SmallVector<ImageAttr>{*image};
  }
  void registerDialects(DialectRegistry &registry) const override {
    registerCPULoweringDialects(registry);
    registerCPUTargetInterface(registry);
  }
};
} // namespace

const KernelTarget &gpuasync::getCPUKernelTarget() {
  static const CPUTarget target;
  return target;
}
