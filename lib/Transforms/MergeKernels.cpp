//===- MergeKernels.cpp - one kernel for several that are equal -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Equal layers of a network are equal kernels. They are merged as soon as they
// are kernels, so that all that follows sees each of them once.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Decision.h"
#include "GPUAsync/Transforms/Passes.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCMERGEKERNELS
#include "GPUAsync/Transforms/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
struct MergeKernels
    : public gpuasync::impl::GPUAsyncMergeKernelsBase<MergeKernels> {
  void runOnOperation() override;

private:
  void merge(ModuleOp program);
};

/// A kernel that was made of a gpu.launch, in a module of its own, and its one
/// launch.
struct Outlined {
  gpu::GPUModuleOp module;
  gpu::LaunchFuncOp launch;
  llvm::hash_code hash;
};
} // namespace

/// Whether outlining has made the module: it has one kernel, beside functions
/// that this calls, and its name is the kernel's, with a number behind where
/// that was taken.
static bool isOutlined(gpu::GPUModuleOp module) {
  auto kernels = llvm::make_filter_range(
      module.getOps<gpu::GPUFuncOp>(),
      [](gpu::GPUFuncOp function) { return function.isKernel(); });
  if (!llvm::hasSingleElement(kernels))
    return false;
  StringRef rest = module.getName();
  if (!rest.consume_front((*kernels.begin()).getName()))
    return false;
  return rest.empty() ||
         (rest.consume_front("_") && !rest.empty() &&
          llvm::all_of(rest, [](char c) { return llvm::isDigit(c); }));
}

/// Equal modules have equal hashes.
static llvm::hash_code hash(gpu::GPUModuleOp module) {
  llvm::hash_code result(0);
  module.getBodyRegion().walk([&](Operation *op) {
    result = llvm::hash_combine(result,
                                OperationEquivalence::computeHash(
                                    op, OperationEquivalence::ignoreHashValue,
                                    OperationEquivalence::ignoreHashValue,
                                    OperationEquivalence::IgnoreLocations));
  });
  return result;
}

/// The places that kernels name when they run.
static SmallVector<Location> findNamedPlaces(gpu::GPUModuleOp module) {
  SmallVector<Location> places;
  module.walk([&](cf::AssertOp op) { places.push_back(op.getLoc()); });
  return places;
}

/// Whether modules are the same but for their names.
static bool areEqual(gpu::GPUModuleOp one, gpu::GPUModuleOp other) {
  auto attributesOf = [](gpu::GPUModuleOp module) {
    NamedAttrList attributes(module->getAttrDictionary());
    attributes.erase(SymbolTable::getSymbolAttrName());
    return attributes.getDictionary(module.getContext());
  };
  if (attributesOf(one) != attributesOf(other) ||
      findNamedPlaces(one) != findNamedPlaces(other))
    return false;
  return OperationEquivalence::isRegionEquivalentTo(
      &one.getBodyRegion(), &other.getBodyRegion(),
      OperationEquivalence::IgnoreLocations);
}

void MergeKernels::merge(ModuleOp program) {
  llvm::MapVector<StringAttr, Outlined> kernels; // by the module's name
  for (auto module : program.getOps<gpu::GPUModuleOp>())
    if (isOutlined(module))
      kernels[module.getNameAttr()].module = module;
  if (kernels.size() < 2)
    return;
  // Only what its launch alone names. Others' launches, in gpu_async, name
  // kernels that the program has itself.
  std::optional<SymbolTable::UseRange> uses =
      SymbolTable::getSymbolUses(&program.getBodyRegion());
  if (!uses)
    return;
  llvm::DenseSet<StringAttr> shared;
  for (const SymbolTable::SymbolUse &use : *uses) {
    auto found = kernels.find(use.getSymbolRef().getRootReference());
    if (found == kernels.end())
      continue;
    auto launch = dyn_cast<gpu::LaunchFuncOp>(use.getUser());
    if (!launch || found->second.launch)
      shared.insert(found->first);
    found->second.launch = launch;
  }
  // A kernel is named after the function that launches it.
  llvm::MapVector<std::pair<Operation *, size_t>, SmallVector<Outlined *>>
      alike;
  for (auto &[name, kernel] : kernels) {
    if (!kernel.launch || shared.contains(name))
      continue;
    kernel.hash = hash(kernel.module);
    alike[{kernel.launch->getParentOfType<FunctionOpInterface>(),
           size_t(kernel.hash)}]
        .push_back(&kernel);
  }
  for (auto &[key, group] : alike)
    for (size_t first = 0; first < group.size(); ++first) {
      if (!group[first]->module)
        continue;
      for (Outlined *other : ArrayRef(group).drop_front(first + 1)) {
        if (!other->module || !areEqual(group[first]->module, other->module))
          continue;
        Decision(*this, other->launch, "Merged")
            .count(numMerged, "merged-kernels");
        other->launch.setKernelAttr(group[first]->launch.getKernelAttr());
        other->module.erase();
        other->module = gpu::GPUModuleOp();
      }
    }
}

void MergeKernels::runOnOperation() {
  SmallVector<ModuleOp> programs;
  getOperation()->walk([&](ModuleOp program) { programs.push_back(program); });
  llvm::for_each(programs, [&](ModuleOp program) { merge(program); });
}
