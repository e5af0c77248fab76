//===- LowerKernels.cpp - gpu-async-lower-kernels ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles each gpu.module for each target and collects the images, with the
// table of kernels, in one gpu_async.binary.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Conversion/CpuObject.h"
#include "GPUAsync/Conversion/KernelABI.h"
#include "GPUAsync/Conversion/Passes.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/IR/VerifyProgram.h"
#include "KernelLowering.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCLOWERKERNELS
#include "GPUAsync/Conversion/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct LowerKernelsPass
    : gpuasync::impl::GPUAsyncLowerKernelsBase<LowerKernelsPass> {
  using GPUAsyncLowerKernelsBase::GPUAsyncLowerKernelsBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    GPUAsyncLowerKernelsBase::getDependentDialects(registry);
    registerCPULoweringDialects(registry);
    registerNVPTXLoweringDialects(registry);
    registerAMDGCNLoweringDialects(registry);
    registerCPUTargetInterface(registry);
  }

  void runOnOperation() override;

private:
  LogicalResult parseTargets();
  FailureOr<SmallVector<Attribute>> getTargets(gpu::GPUModuleOp kernels);
  LogicalResult lowerModule(gpu::GPUModuleOp kernels);
  LogicalResult lowerBinary(gpu::BinaryOp binary);
  SmallVector<Attribute> getUnknownKernels(gpu::BinaryOp binary);

  KernelLoweringOptions options;
  SmallVector<Attribute> optionTargets;
};
} // namespace

/// The targets of the option.
LogicalResult LowerKernelsPass::parseTargets() {
  MLIRContext *context = &getContext();
  optionTargets.clear();
  for (StringRef text : targets) {
    auto [kind, chip] = text.trim().split(':');
    if (kind == "cpu" && chip.empty()) {
      optionTargets.push_back(CpuTargetAttr::get(
          context, StringAttr(), StringAttr(), options.subgroupSize));
      continue;
    }
    auto reportError = [&] {
      return emitError(getOperation().getLoc()) << "targets=" << text << ": ";
    };
    if (kind != "nvptx" && kind != "amdgcn")
      return reportError() << "unknown target '" << kind
                           << "'; there are cpu, nvptx:<chip> and "
                              "amdgcn:<chip>";
    if (chip.empty())
      return reportError() << "a chip is missing, as in nvptx:sm_90 and "
                              "amdgcn:gfx90a";
    if (kind == "amdgcn") {
      FailureOr<ROCDL::ROCDLTargetAttr> target =
          parseAMDGCNTarget(chip, options.optLevel, context, reportError);
      if (failed(target))
        return failure();
      optionTargets.push_back(*target);
      continue;
    }
    if (failed(checkNVPTXChip(chip, reportError)))
      return failure();
    optionTargets.push_back(NVVM::NVVMTargetAttr::get(
        context, options.optLevel, "nvptx64-nvidia-cuda", chip));
  }
  return success();
}

/// A module's own targets, then those of the option, each once.
FailureOr<SmallVector<Attribute>>
LowerKernelsPass::getTargets(gpu::GPUModuleOp kernels) {
  SmallVector<Attribute> result;
  if (ArrayAttr own = kernels.getTargetsAttr())
    for (Attribute target : own) {
      if (!isa<CpuTargetAttr, NVVM::NVVMTargetAttr, ROCDL::ROCDLTargetAttr>(
              target))
        return emitError(kernels.getLoc())
               << "target " << target
               << " is not supported: there are #gpu_async.cpu, #nvvm.target "
                  "and #rocdl.target";
      if (!llvm::is_contained(result, target))
        result.push_back(target);
    }
  for (Attribute target : optionTargets) {
    bool present = llvm::any_of(result, [&](Attribute other) {
      if (target.getTypeID() != other.getTypeID())
        return false;
      if (auto nvvm = dyn_cast<NVVM::NVVMTargetAttr>(target))
        return nvvm.getChip() == cast<NVVM::NVVMTargetAttr>(other).getChip();
      if (auto rocdl = dyn_cast<ROCDL::ROCDLTargetAttr>(target))
        return getAMDGCNTargetId(rocdl) ==
               getAMDGCNTargetId(cast<ROCDL::ROCDLTargetAttr>(other));
      return true; // both cpu
    });
    if (!present)
      result.push_back(target);
  }
  if (result.empty())
    return emitError(kernels.getLoc())
           << "gpu.module @" << kernels.getName()
           << " has no target: give targets= (cpu, nvptx:<chip>, "
              "amdgcn:<chip>) or a target attribute";
  return result;
}

LogicalResult LowerKernelsPass::lowerModule(gpu::GPUModuleOp kernels) {
  MLIRContext *context = &getContext();
  FailureOr<SmallVector<Attribute>> moduleTargets = getTargets(kernels);
  if (failed(moduleTargets))
    return failure();

  SmallVector<Attribute> table;
  for (FunctionOpInterface kernel : getKernels(kernels)) {
    for (unsigned i = 0; i < kernel.getNumArguments(); ++i)
      if (kernel.getArgAttr(i, LLVM::LLVMDialect::getByValAttrName()))
        return emitError(kernel.getLoc())
               << "kernel argument " << i
               << " is passed by value through a pointer (llvm.byval), which "
                  "is not supported";
    FailureOr<SmallVector<int64_t>> params =
        getKernelParamSizes(kernel.getArgumentTypes(), context,
                            [&] { return emitError(kernel.getLoc()); });
    if (failed(params))
      return failure();
    table.push_back(
        KernelAttr::get(context, SymbolTable::getSymbolName(kernel).getValue(),
                        DenseI64ArrayAttr::get(context, *params)));
  }

  auto runNested = [&](OpPassManager &pm, Operation *op) {
    return runPipeline(pm, op);
  };
  SmallVector<Attribute> images;
  for (Attribute target : *moduleTargets) {
    if (auto cpu = dyn_cast<CpuTargetAttr>(target)) {
      int64_t subgroupSize =
          cpu.getSubgroupSize() ? cpu.getSubgroupSize() : options.subgroupSize;
      FailureOr<ImageAttr> image =
          lowerKernelsForCPU(kernels, subgroupSize, runNested);
      if (failed(image))
        return failure();
      images.push_back(*image);
      continue;
    }
    if (auto rocdl = dyn_cast<ROCDL::ROCDLTargetAttr>(target)) {
      FailureOr<ImageAttr> image =
          lowerKernelsForAMDGCN(kernels, rocdl, options, runNested);
      if (failed(image))
        return failure();
      images.push_back(*image);
      continue;
    }
    FailureOr<SmallVector<ImageAttr>> made = lowerKernelsForNVPTX(
        kernels, cast<NVVM::NVVMTargetAttr>(target), options, runNested);
    if (failed(made))
      return failure();
    images.append(made->begin(), made->end());
  }

  OpBuilder builder(kernels);
  BinaryOp::create(builder, kernels.getLoc(), kernels.getNameAttr(),
                   builder.getArrayAttr(table), builder.getArrayAttr(images));
  kernels.erase();
  return success();
}

/// The kernels of `binary` that the program launches; nothing is known about
/// their parameters.
SmallVector<Attribute>
LowerKernelsPass::getUnknownKernels(gpu::BinaryOp binary) {
  llvm::SetVector<StringAttr> names;
  binary->getParentOp()->walk([&](LaunchOp launch) {
    if (launch.getKernelModuleName() == binary.getSymNameAttr())
      names.insert(launch.getKernelName());
  });
  SmallVector<Attribute> table;
  for (StringAttr name : names)
    table.push_back(
        KernelAttr::get(&getContext(), name.getValue(), DenseI64ArrayAttr()));
  return table;
}

/// Takes over the objects of a ready gpu.binary.
LogicalResult LowerKernelsPass::lowerBinary(gpu::BinaryOp binary) {
  MLIRContext *context = &getContext();
  SmallVector<Attribute> images, table;
  for (auto object : binary.getObjects().getAsRange<gpu::ObjectAttr>()) {
    std::optional<ImageFormat> format;
    std::string arch;
    // This pipeline has the kernels of the cpu device in the program.
    if (object.getProperties() &&
        object.getProperties().contains(cpuObjectProperty))
      continue;
    if (auto nvvm = dyn_cast<NVVM::NVVMTargetAttr>(object.getTarget())) {
      arch = nvvm.getChip().str();
      if (object.getFormat() == gpu::CompilationTarget::Assembly)
        format = ImageFormat::PTX;
      else if (object.getFormat() == gpu::CompilationTarget::Binary)
        format = ImageFormat::CUBIN;
      else if (object.getFormat() == gpu::CompilationTarget::Fatbin)
        format = ImageFormat::FATBIN;
    } else if (auto rocdl =
                   dyn_cast<ROCDL::ROCDLTargetAttr>(object.getTarget())) {
      arch = getAMDGCNTargetId(rocdl);
      // Fatbin is upstream's default and holds a code object here.
      if (object.getFormat() == gpu::CompilationTarget::Binary ||
          object.getFormat() == gpu::CompilationTarget::Fatbin)
        format = ImageFormat::HSACO;
    }
    StringRef data = object.getObject().getValue();
    // Text that upstream wrote ends with a NUL of its own.
    if (format == ImageFormat::PTX)
      data = data.rtrim('\0');
    if (!format || data.empty())
      continue;
    // Upstream calls it a fatbin also where the bytes are those of a cubin or
    // of PTX.
    if (format == ImageFormat::FATBIN && data.starts_with("\177ELF"))
      format = ImageFormat::CUBIN;
    images.push_back(ImageAttr::get(
        context, *format, arch, StringAttr::get(context, data), ArrayAttr()));
    gpu::KernelTableAttr kernels = object.getKernels();
    if (!kernels || !table.empty())
      continue;
    for (gpu::KernelMetadataAttr kernel : kernels) {
      SmallVector<Type> types;
      if (auto type = dyn_cast<FunctionType>(kernel.getFunctionType()))
        llvm::append_range(types, type.getInputs());
      else if (auto type =
                   dyn_cast<LLVM::LLVMFunctionType>(kernel.getFunctionType()))
        llvm::append_range(types, type.getParams());
      FailureOr<SmallVector<int64_t>> params = getKernelParamSizes(
          types, context, [&] { return emitError(binary.getLoc()); });
      if (failed(params))
        return failure();
      table.push_back(
          KernelAttr::get(context, kernel.getName().getValue(),
                          DenseI64ArrayAttr::get(context, *params)));
    }
  }
  if (images.empty())
    return emitError(binary.getLoc(),
                     "gpu.binary has no object that can be loaded: PTX "
                     "(assembly), a cubin (bin), a "
                     "fatbin or an AMD code object");
  if (table.empty())
    table = getUnknownKernels(binary);
  OpBuilder builder(binary);
  BinaryOp::create(builder, binary.getLoc(), binary.getSymNameAttr(),
                   builder.getArrayAttr(table), builder.getArrayAttr(images));
  binary.erase();
  return success();
}

void LowerKernelsPass::runOnOperation() {
  if (failed(verifyProgram(getOperation())))
    return signalPassFailure();
  options.optLevel = optLevel;
  options.subgroupSize = subgroupSize;
  options.ptxas = ptxas;
  options.libdevice = libdevice;
  options.rocm = rocm;
  if (optLevel < 0 || optLevel > 3) {
    emitError(getOperation().getLoc())
        << "opt-level=" << options.optLevel << " is not 0 to 3";
    return signalPassFailure();
  }
  if (!CpuTargetAttr::isSubgroupSize(subgroupSize)) {
    emitError(getOperation().getLoc())
        << "subgroup-size=" << options.subgroupSize
        << " is not a power of two from 1 to 64";
    return signalPassFailure();
  }
  if (failed(parseTargets()))
    return signalPassFailure();

  SmallVector<Operation *> modules;
  WalkResult walked = getOperation()->walk([&](Operation *op) -> WalkResult {
    // Upstream's launch insists on a gpu.module or gpu.binary.
    if (isa<gpu::LaunchFuncOp, gpu::LaunchOp>(op))
      return op->emitOpError("must be imported before kernels are lowered: run "
                             "gpu-kernel-outlining "
                             "and convert-gpu-to-gpu-async first");
    if (isa<gpu::GPUModuleOp, gpu::BinaryOp>(op)) {
      modules.push_back(op);
      return WalkResult::skip();
    }
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return signalPassFailure();
  for (Operation *op : modules) {
    auto kernels = dyn_cast<gpu::GPUModuleOp>(op);
    if (failed(kernels ? lowerModule(kernels)
                       : lowerBinary(cast<gpu::BinaryOp>(op))))
      return signalPassFailure();
  }
}
