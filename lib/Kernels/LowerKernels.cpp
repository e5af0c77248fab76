//===- LowerKernels.cpp - gpu-async-lower-kernels ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles each gpu.module for each target and collects the images, with the
// table of kernels, in one gpu_async.binary.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Decision.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/IR/VerifyProgram.h"
#include "GPUAsync/Kernels/CPU/Object.h"
#include "GPUAsync/Kernels/Common/KernelABI.h"
#include "GPUAsync/Kernels/Passes.h"
#include "Kernels/Common/KernelLowering.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCLOWERKERNELS
#include "GPUAsync/Kernels/Passes.h.inc"
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
    for (const KernelTarget *kind : getKernelTargets())
      kind->registerDialects(registry);
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

/// "a, b and c": something about each kind of target.
static std::string
listTargets(function_ref<std::string(const KernelTarget &)> describe) {
  std::string text;
  ArrayRef<const KernelTarget *> kinds = getKernelTargets();
  for (auto [i, kind] : llvm::enumerate(kinds))
    text += (i == 0                  ? ""
             : i + 1 == kinds.size() ? " and "
                                     : ", ") +
            describe(*kind);
  return text;
}

/// As targets= has it.
static std::string getUsage(const KernelTarget &kind) {
  return (Twine(kind.names.target) + (kind.names.hasChips() ? ":<chip>" : ""))
      .str();
}

/// The attribute of what targets= has.
static FailureOr<Attribute> parseTarget(StringRef text,
                                        const KernelLoweringOptions &options,
                                        MLIRContext *context,
                                        EmitErrorFn emitError) {
  StringRef name, chip;
  std::tie(name, chip) = text.trim().split(':');
  const auto *found =
      llvm::find_if(getKernelTargets(), [&](const KernelTarget *kind) {
        return kind->names.target == name;
      });
  if (found == getKernelTargets().end())
    return emitError() << "unknown target '" << name << "'; there are "
                       << listTargets(getUsage);
  const DeviceKind &kind = (*found)->names;
  if (!kind.hasChips() && text.contains(':'))
    return emitError() << name
                       << " takes no chip here; a processor is named by a "
                          "target of the gpu.module, "
                       << kind.attribute << "<chip = \"" << chip << "\">";
  if (kind.hasChips() && chip.empty())
    return emitError() << "a chip is missing, as in " << name << ":"
                       << kind.exampleChip;
  return (*found)->parse(chip, options, context, emitError);
}

std::string gpuasync::describeWrongTarget(StringRef text) {
  DialectRegistry registry;
  registry.insert<GPUAsyncDialect, NVVM::NVVMDialect, ROCDL::ROCDLDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  std::string said;
  ScopedDiagnosticHandler handler(
      &context, [&](Diagnostic &diagnostic) { said = diagnostic.str(); });
  (void)parseTarget(text, KernelLoweringOptions(), &context,
                    [&] { return emitError(UnknownLoc::get(&context)); });
  return said;
}

/// The targets of the option. Errors have no place: no line is at fault.
LogicalResult LowerKernelsPass::parseTargets() {
  optionTargets.clear();
  for (StringRef text : targets) {
    FailureOr<Attribute> target =
        parseTarget(text, options, &getContext(), [&] {
          return emitError(UnknownLoc::get(&getContext()))
                 << "targets=" << text << ": ";
        });
    if (failed(target))
      return failure();
    optionTargets.push_back(*target);
  }
  return success();
}

/// A module's own targets, then those of the option, each once.
FailureOr<SmallVector<Attribute>>
LowerKernelsPass::getTargets(gpu::GPUModuleOp kernels) {
  SmallVector<Attribute> result;
  if (ArrayAttr own = kernels.getTargetsAttr())
    for (Attribute target : own) {
      if (!findKernelTarget(target))
        return emitError(kernels.getLoc())
               << "target " << target << " is not supported: there are "
               << listTargets([](const KernelTarget &kind) {
                    return std::string(kind.names.attribute);
                  });
      if (!llvm::is_contained(result, target))
        result.push_back(target);
    }
  for (Attribute target : optionTargets) {
    const KernelTarget *kind = findKernelTarget(target);
    if (llvm::none_of(result, [&](Attribute other) {
          return kind->has(other) &&
                 kind->getArch(other) == kind->getArch(target);
        }))
      result.push_back(target);
  }
  if (result.empty())
    return emitError(kernels.getLoc())
           << "gpu.module @" << kernels.getName()
           << " has no target: give targets= (" << listTargets(getUsage)
           << ") or a target attribute";
  return result;
}

LogicalResult LowerKernelsPass::lowerModule(gpu::GPUModuleOp kernels) {
  MLIRContext *context = &getContext();
  FailureOr<SmallVector<Attribute>> moduleTargets = getTargets(kernels);
  if (failed(moduleTargets))
    return failure();

  // Names are the same in all images.
  if (llvm::any_of(*moduleTargets,
                   [](Attribute target) {
                     return !findKernelTarget(target)->takesAnyName();
                   }) &&
      failed(makeNamesPortable(kernels)))
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
    FailureOr<SmallVector<ImageAttr>> made =
        findKernelTarget(target)->lower(kernels, target, options, runNested);
    if (failed(made))
      return failure();
    images.append(made->begin(), made->end());
  }

  uint64_t bytes = 0;
  for (auto image : llvm::map_range(images, llvm::CastTo<ImageAttr>))
    bytes += image.getData() ? image.getData().size() : 0;
  Decision(*this, kernels, "Kernels")
      .count(numModules, "modules")
      .count(numImages, "images", images.size())
      .count(numImageBytes, "image-bytes", bytes);
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
  binary->getParentOp()->walk([&](WorkOpInterface work) {
    if (runsKernel(work) &&
        work.getCode().getRootReference() == binary.getSymNameAttr())
      names.insert(work.getCode().getLeafReference());
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
    // This pipeline has the kernels of the cpu device in the program.
    if (object.getProperties() &&
        object.getProperties().contains(cpuObjectProperty))
      continue;
    const KernelTarget *kind = findKernelTarget(object.getTarget());
    std::optional<ImageFormat> format =
        kind ? kind->getFormat(object) : std::nullopt;
    StringRef data = object.getObject().getValue();
    // Text that upstream wrote ends with a NUL of its own.
    if (object.getFormat() == gpu::CompilationTarget::Assembly)
      data = data.rtrim('\0');
    if (!format || data.empty())
      continue;
    images.push_back(
        ImageAttr::get(context, *format, kind->getArch(object.getTarget()),
                       StringAttr::get(context, data), ArrayAttr()));
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
      for (auto [i, type] : llvm::enumerate(types)) {
        SmallVector<Type> parts = *getKernelParamTypes(
            type, context, [&] { return emitError(binary.getLoc()); });
        if (!llvm::all_of(parts, isCommonKernelParam))
          return emitError(binary.getLoc())
                 << "kernel @" << kernel.getName().getValue()
                 << " of a ready-made binary takes argument " << i
                 << " of type " << type
                 << ", which compilers lay out in different ways: it would "
                    "need the gpu.module";
      }
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
  options.toolTimeout = toolTimeout;
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
  if (toolTimeout < 0) {
    emitError(getOperation().getLoc())
        << "tool-timeout=" << options.toolTimeout << " is negative";
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
