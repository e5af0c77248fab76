//===- Offload.cpp - from tensors and parallel loops to kernels -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes in order. Those on functions run on the functions that need them.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Offload/Offload.h"
#include "GPUAsync/DeviceKinds.h"
#include "GPUAsync/Upstream/Passes.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/BufferizationToMemRef/BufferizationToMemRef.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::gpuasync;

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

/// Adds passes that run where functions are offloaded: on each of them, or on
/// the module.
template <typename Root>
static void addFor(OpPassManager &pm, function_ref<void(OpPassManager &)> add) {
  GPUAsyncForOffloadedOptions offloaded;
  add(offloaded.pipelines.emplace_back(Root::getOperationName()));
  pm.addPass(createGPUAsyncForOffloaded(offloaded));
}

/// One function each, which has all the work and structured control flow only.
static void addPreparation(OpPassManager &pm) {
  pm.addPass(createGPUAsyncMarkOffloaded());
  pm.addPass(createGPUAsyncCheckTensors());
  pm.addPass(createGPUAsyncStructureOffloaded());
  pm.addPass(createGPUAsyncInlineCalls());
  addFor<ModuleOp>(
      pm, [](OpPassManager &pm) { pm.addPass(createSymbolDCEPass()); });
  // Some functions were inlined and are gone.
  pm.addPass(createGPUAsyncMarkOffloaded());
  pm.addPass(createGPUAsyncCheckSignatures());
  addFor<func::FuncOp>(
      pm, [](OpPassManager &pm) { pm.addPass(createGPUAsyncAvoidFaults()); });
  pm.addPass(createGPUAsyncMarkOwnMemory());
}

/// On tensors: an scf.forall for each kernel.
static void addGrouping(OpPassManager &pm, const OffloadOptions &options) {
  pm.addPass(createGPUAsyncLowerTensorOps());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createGPUAsyncCanonicalize());
  pm.addPass(createCSEPass());
  pm.addPass(createGPUAsyncReduceParallelLoops());
  pm.addPass(createGPUAsyncHostScalars());
  pm.addPass(createGPUAsyncCanonicalize());
  pm.addPass(createGPUAsyncDeviceIndices({options.device, options.place}));
  pm.addPass(createGPUAsyncHoistInvariants());
  pm.addPass(createGPUAsyncFuseElementwise({options.device}));
  pm.addPass(createGPUAsyncCanonicalize());
  if (options.device != OffloadDevice::CPU)
    pm.addPass(createGPUAsyncMarkOverlaps());
  pm.addPass(createGPUAsyncSplitReductions({options.device, options.blas}));
  pm.addPass(createGPUAsyncFormGroups({options.device, options.blas}));
  pm.addPass(createGPUAsyncCanonicalize());
  pm.addPass(createCSEPass());
  pm.addPass(createGPUAsyncReturnByDestination());
  pm.addPass(bufferization::createEmptyTensorToAllocTensorPass());
}

/// From tensors to memrefs, and their frees.
static void addBufferization(OpPassManager &pm, const OffloadOptions &options) {
  pm.addPass(createGPUAsyncBufferize());
  addFor<func::FuncOp>(pm, [](OpPassManager &pm) {
    pm.addPass(createGPUAsyncCanonicalize());
    pm.addPass(createGPUAsyncComputeInResults());
  });
  pm.addPass(createGPUAsyncDeallocate());
  addFor<func::FuncOp>(pm, [](OpPassManager &pm) {
    pm.addPass(createGPUAsyncCanonicalize());
    pm.addPass(bufferization::createBufferDeallocationSimplificationPass());
  });
  addFor<ModuleOp>(pm, [](OpPassManager &pm) {
    pm.addPass(bufferization::createLowerDeallocationsPass());
    // A function returns a copy of a global, which its caller frees.
    pm.addPass(createConvertBufferizationToMemRefPass());
  });
  addFor<func::FuncOp>(pm, [&](OpPassManager &pm) {
    pm.addPass(createGPUAsyncCanonicalize());
    pm.addPass(createCSEPass());
    // Copies of what is found to be the same go away.
    pm.addPass(createGPUAsyncCanonicalize());
    if (options.donate && (options.device == OffloadDevice::CPU ||
                           options.place == PlaceMode::Off))
      pm.addPass(createGPUAsyncTakeDonated());
  });
}

/// On memrefs: a gpu.launch for each kernel, and memory of the device.
static void addLaunches(OpPassManager &pm, const OffloadOptions &options) {
  pm.addPass(createGPUAsyncLaunchTiles(
      {options.device, options.vectorRegisters, options.vectorBits}));
  // One thread has no races that the threads of before had.
  if (options.device == OffloadDevice::CPU && !options.check) {
    pm.addPass(createGPUAsyncCanonicalize());
    pm.addPass(createGPUAsyncLaunchLoops());
  }
  pm.addPass(createGPUAsyncPlaceMemory({options.device, options.place}));
  pm.addPass(createLowerAffinePass());
  pm.addPass(createGPUAsyncCanonicalize());
  pm.addPass(createCSEPass());
  pm.addPass(createLoopInvariantCodeMotionPass());
  pm.addPass(createGPUAsyncHoistLibraryQueries());
}

void gpuasync::buildGPUAsyncOffloadPipeline(OpPassManager &pm,
                                            const OffloadOptions &options) {
  pm.addPass(createGPUAsyncRefuseConstantWrites());
  if (options.offload == OffloadMode::Off)
    return;
  addPreparation(pm);
  addFor<func::FuncOp>(pm,
                       [&](OpPassManager &pm) { addGrouping(pm, options); });
  addBufferization(pm, options);
  if (options.blas == BlasMode::Auto)
    pm.addPass(createGPUAsyncCallProducts({options.device}));
  pm.addPass(createGPUAsyncFindAccessesByAddress());
  addFor<func::FuncOp>(pm,
                       [&](OpPassManager &pm) { addLaunches(pm, options); });
  pm.addPass(createGPUAsyncReportHostWork({options.offload, options.place}));
}

void gpuasync::registerGPUAsyncOffloadPipeline() {
  PassPipelineRegistration<OffloadOptions>(
      "gpu-async-offload",
      "From linalg ops, tensors and parallel loops to kernels",
      buildGPUAsyncOffloadPipeline);
}
