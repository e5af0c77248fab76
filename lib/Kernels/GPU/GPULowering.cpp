//===- GPULowering.cpp - lowering of kernels for GPUs -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps in order, and those that are about the LLVM dialect.
//===----------------------------------------------------------------------===//

#include "GPULowering.h"
#include "GPUAsync/Kernels/Common/IntegersInMemory.h"
#include "GPUAsync/Kernels/Common/KernelABI.h"
#include "GPUAsync/Upstream/Faults.h"
#include "GPUAsync/Upstream/Passes.h"
#include "Kernels/Common/Addresses.h"
#include "Kernels/Common/Allocas.h"
#include "Kernels/Common/Math.h"
#include "Kernels/Common/Scalars.h"
#include "Kernels/Common/StackUse.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ComplexToStandard/ComplexToStandard.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::gpuasync;

//===----------------------------------------------------------------------===//
// In the LLVM dialect
//===----------------------------------------------------------------------===//

void gpuasync::declareDynamicMemory(gpu::GPUModuleOp module,
                                    int64_t alignment) {
  for (auto global : module.getOps<LLVM::GlobalOp>()) {
    auto array = dyn_cast<LLVM::LLVMArrayType>(global.getGlobalType());
    if (global.getAddrSpace() != workgroupSpace || !array ||
        array.getNumElements() != 0)
      continue;
    global.setLinkage(LLVM::Linkage::External);
    global.setAlignment(
        std::max<uint64_t>(global.getAlignment().value_or(0), alignment));
  }
}

/// Kernels get what a launch packs.
void GPULowering::unpackParams() {
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    if (function.isExternal() || !isKernel(function))
      continue;
    Block &entry = function.getBody().front();
    OpBuilder builder = OpBuilder::atBlockBegin(&entry);
    for (BlockArgument argument : entry.getArguments()) {
      Type type = argument.getType(), carrier = getKernelParamCarrier(type);
      if (carrier == type)
        continue;
      auto users = llvm::to_vector(argument.getUsers());
      argument.setType(carrier);
      Value value =
          unpackKernelParam(builder, argument.getLoc(), argument, type);
      argument.replaceUsesWithIf(value, [&](OpOperand &use) {
        return llvm::is_contained(users, use.getOwner());
      });
    }
    function.setFunctionType(
        LLVM::LLVMFunctionType::get(function.getFunctionType().getReturnType(),
                                    llvm::to_vector(entry.getArgumentTypes())));
  }
}

/// Upstream's conversions ask for C interface functions. Nothing calls those of
/// our functions, and a declared function becomes one that calls its interface
/// function: it is made a declaration again.
void GPULowering::dropInterfaceFunctions() {
  for (auto interface :
       llvm::make_early_inc_range(module.getOps<LLVM::LLVMFuncOp>())) {
    StringRef name = interface.getName();
    if (!name.consume_front("_mlir_ciface_"))
      continue;
    auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (!function)
      continue;
    if (interface.isExternal()) {
      function.getBody().dropAllReferences();
      function.getBody().getBlocks().clear();
      function.setLinkage(LLVM::Linkage::External);
    }
    interface.erase();
  }
}

/// Replaces a call of a math library's function, which C calls `name`, by what
/// LLVM has for it, if it has.
static void callIntrinsic(LLVM::CallOp call, StringRef name) {
  Type type = call.getResult().getType();
  OpBuilder builder(call);
  Location loc = call.getLoc();
  OperandRange args = call.getArgOperands();
  Value result;
  if (name == "rsqrt") {
    Value one = LLVM::ConstantOp::create(builder, loc, type,
                                         builder.getFloatAttr(type, 1.0));
    Value root = LLVM::SqrtOp::create(builder, loc, type, args[0]);
    result = LLVM::FDivOp::create(builder, loc, one, root);
  } else if (name == "fmod") {
    result = LLVM::FRemOp::create(builder, loc, args[0], args[1]);
  } else {
    StringRef intrinsic =
        llvm::StringSwitch<StringRef>(name)
            .Case("fabs", LLVM::FAbsOp::getOperationName())
            .Case("ceil", LLVM::FCeilOp::getOperationName())
            .Case("floor", LLVM::FFloorOp::getOperationName())
            .Case("trunc", LLVM::FTruncOp::getOperationName())
            .Case("sqrt", LLVM::SqrtOp::getOperationName())
            .Case("round", LLVM::RoundOp::getOperationName())
            .Case("rint", LLVM::RoundEvenOp::getOperationName())
            .Case("fma", LLVM::FMAOp::getOperationName())
            .Case("copysign", LLVM::CopySignOp::getOperationName())
            .Case("fmin", LLVM::MinNumOp::getOperationName())
            .Case("fmax", LLVM::MaxNumOp::getOperationName())
            .Default("");
    if (intrinsic.empty())
      return;
    OperationState state(loc, intrinsic, args, type);
    result = builder.create(state)->getResult(0);
  }
  call.getResult().replaceAllUsesWith(result);
  call.erase();
}

/// What LLVM has instructions or expansions for itself needs no library. (The
/// conversions of upstream insist on making these calls.)
void GPULowering::callIntrinsics() {
  module.walk([&](LLVM::CallOp call) {
    if (StringRef name = getMathName(call); !name.empty())
      callIntrinsic(call, name);
  });
  // Upstream looks for a library when one of its functions is declared.
  for (auto function :
       llvm::make_early_inc_range(module.getOps<LLVM::LLVMFuncOp>()))
    if (function.isExternal() &&
        SymbolTable::symbolKnownUseEmpty(function, module))
      function.erase();
}

/// A function of the LLVM dialect may be a kernel by the attribute of gpu or of
/// another vendor, whose translation would then have its say about it.
void GPULowering::markKernels() {
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    if (isKernel(function))
      function->setAttr((vendor.dialect + ".kernel").str(),
                        UnitAttr::get(context));
    for (NamedAttribute attribute :
         llvm::to_vector(function->getDiscardableAttrs())) {
      StringRef dialect = attribute.getName().getValue().split('.').first;
      if ((dialect == NVVM::NVVMDialect::getDialectNamespace() ||
           dialect == ROCDL::ROCDLDialect::getDialectNamespace()) &&
          dialect != vendor.dialect)
        function->removeDiscardableAttr(attribute.getName());
    }
  }
}

/// Only kernels are seen from outside, and all of them are.
void GPULowering::hideFunctions() {
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (!function.isExternal())
      function.setLinkage(isKernel(function) ? LLVM::Linkage::External
                                             : LLVM::Linkage::Internal);
}

bool GPUVendor::isInLibrary(StringRef function) const {
  return llvm::any_of(libraryPrefixes, [&](StringRef prefix) {
    return function.starts_with(prefix);
  });
}

bool GPUVendor::isInDriver(StringRef function) const {
  return llvm::is_contained(driverFunctions, function) ||
         function.starts_with("llvm.");
}

/// Calls of functions that nothing will define, found while their ops are
/// known: upstream writes code that no driver can load.
LogicalResult GPULowering::checkDeclared() {
  WalkResult result = module->walk([&](LLVM::CallOp call) -> WalkResult {
    std::optional<StringRef> name = call.getCallee();
    if (!name)
      return WalkResult::advance();
    auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(*name);
    if (!callee || !callee.isExternal() || vendor.isInDriver(*name))
      return WalkResult::advance();
    bool inLibrary = vendor.isInLibrary(*name);
    if (inLibrary && toolkit.empty())
      return emitError(call.getLoc())
             << "call of @" << *name << " for " << getTargetName() << " needs "
             << vendor.library;
    if (!inLibrary && !linksFiles())
      return emitError(call.getLoc())
             << "call of @" << *name << " for " << getTargetName()
             << ": nothing defines this function";
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// The bytes of a variable of LLVM type `type`, saturated.
static uint64_t getBytes(Type type, const DataLayout &layout) {
  auto array = dyn_cast<LLVM::LLVMArrayType>(type);
  if (!array)
    return layout.getTypeSize(type);
  return llvm::SaturatingMultiply<uint64_t>(
      array.getNumElements(), getBytes(array.getElementType(), layout));
}

/// What is reached from a kernel counts as its own. Sums are saturated: the
/// counts of LLVM and of assemblers wrap.
LogicalResult GPULowering::checkMemory() {
  SymbolTable symbols(module);
  StackUses stack(symbols);
  DataLayout layout(module);
  for (auto kernel : module.getOps<LLVM::LLVMFuncOp>()) {
    if (kernel.isExternal() || !isKernel(kernel))
      continue;
    llvm::SmallSetVector<Operation *, 8> reached;
    reached.insert(kernel);
    uint64_t bytes = 0;
    for (unsigned i = 0; i < reached.size(); ++i) {
      auto variable = dyn_cast<LLVM::GlobalOp>(reached[i]);
      if (variable && variable.getAddrSpace() == workgroupSpace) {
        const uint64_t own = getBytes(variable.getGlobalType(), layout);
        bytes = llvm::SaturatingAdd<uint64_t>(
            llvm::alignTo(std::min(bytes, UINT64_MAX - 16),
                          getWorkgroupAlignment(own)),
            own);
      }
      if (std::optional<SymbolTable::UseRange> uses =
              SymbolTable::getSymbolUses(reached[i]))
        for (SymbolTable::SymbolUse use : *uses)
          if (Operation *op =
                  symbols.lookup(use.getSymbolRef().getRootReference()))
            reached.insert(op);
    }
    if (bytes > uint64_t(vendor.memory.workgroupBytes))
      return error(kernel.getLoc())
             << "kernel @" << kernel.getName() << " has "
             << (bytes == UINT64_MAX ? "at least " : "") << bytes
             << " bytes of static workgroup memory, where "
             << vendor.memory.workgroupBytes << " are allowed; dynamic memory "
             << "is given by the launch";
    if (failed(checkPrivateMemory(kernel, kernel.getName(), stack.get(kernel),
                                  vendor.memory.privateBytes, vendor.devices)))
      return failure();
  }
  return success();
}

LogicalResult
GPULowering::checkParams(function_ref<ParamPlaces(StringRef kernel)> read) {
  for (FunctionOpInterface kernel : getKernels(source)) {
    // The pass has checked the types.
    SmallVector<int64_t> sizes = *getKernelParamSizes(
        kernel.getArgumentTypes(), context, [&] { return kernel.emitError(); });
    StringRef name = SymbolTable::getSymbolName(kernel);
    ParamPlaces places = read(name);
    if (!places || places->size() != sizes.size())
      return error(kernel.getLoc())
             << "the code of kernel @" << name << " has "
             << (places ? std::to_string(places->size()) : "an unknown number")
             << " of parameters, where " << sizes.size() << " are due";
    SmallVector<int64_t> offsets = getKernelParamOffsets(sizes);
    for (auto [i, place, offset, size] :
         llvm::enumerate(*places, offsets, sizes))
      if (!(place == ParamPlace{offset, size}))
        return error(kernel.getLoc())
               << "the code of kernel @" << name << " takes parameter " << i
               << " from the " << place.size << " bytes at " << place.offset
               << ", where it is the " << size << " bytes at " << offset;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The steps in order
//===----------------------------------------------------------------------===//

void gpuasync::addGPUStructurePasses(
    OpPassManager &pm, function_ref<void(OpPassManager &)> addOwn) {
  pm.addPass(createConvertLinalgToLoopsPass());
  pm.addPass(createLowerAffinePass());
  addOwn(pm);
  pm.addPass(createConvertVectorToSCFPass());
  pm.addPass(createForallToForLoopPass());
  pm.addPass(createConvertComplexToStandardPass());
  pm.addPass(createGPUAsyncCanonicalize());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createLowerViewsPass());
}

void gpuasync::registerGPULoweringDialects(DialectRegistry &registry) {
  registerConvertToLLVMInterfaces(registry);
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

GPULowering::~GPULowering() {
  if (work)
    work->erase();
}

LogicalResult GPULowering::lower() {
  if (failed(checkNoHostOps(module)) || failed(prepare()) ||
      failed(promotePrintfArguments(module, vendor.devices)))
    return failure();
  module.setTargetsAttr(ArrayAttr::get(context, getTarget()));
  bool hasLibrary = !toolkit.empty();
  if (failed(avoidFaults(module)))
    return failure();
  hoistAllocas(module);
  expandCopies(module);
  if (failed(expandAtomics(module)))
    return failure();
  expandIntegerPowers(module, /*floatBase=*/!hasLibrary);
  expandRemainders(module);
  OpPassManager structure(gpu::GPUModuleOp::getOperationName());
  addGPUStructurePasses(structure,
                        [&](OpPassManager &pm) { addStructurePasses(pm); });
  if (failed(runPipeline(structure, module)))
    return failure();
  expandDivisions(module);
  expandConversions(module);
  freezeConversions(module);
  expandCopySign(module);
  expandFma(module, [&](Type type) {
    return (type.isF16() || type.isBF16()) && !hasFma(type);
  });
  if (failed(expandSubgroupOps(module, getSubgroupSize(), getTargetName(),
                               hasRedux())) ||
      (!hasLibrary && failed(expandMath(module, vendor.library))) ||
      failed(lowerIntrinsicMath(module)) || failed(lowerEarly()))
    return failure();
  lowerVectors(module);
  accessBoolVectorsAsBytes(module);
  OpPassManager lowering(gpu::GPUModuleOp::getOperationName());
  addLowering(lowering);
  lowering.addPass(createWeakenAddressesPass());
  if (failed(runPipeline(lowering, module)) ||
      failed(checkAllLowered(module, vendor.dialect, getTargetName())))
    return failure();
  accessIntegersAsBytes(module);
  dropInterfaceFunctions();
  declareDynamicMemory(module, dynamicAlignment);
  callIntrinsics();
  unpackParams();
  finish();
  markKernels();
  hideFunctions();
  makeNullValid(module);
  return failure(failed(checkDeclared()) ||
                 failed(checkLegal(module, vendor)) || failed(checkMemory()));
}

FailureOr<SmallVector<ImageAttr>> GPULowering::run() {
  if (failed(setUp()))
    return failure();
  OpBuilder builder(context);
  builder.setInsertionPointAfter(source);
  work = ModuleOp::create(builder, source.getLoc());
  module = source.clone();
  work.push_back(module);
  if (failed(lower()))
    return failure();
  return makeImages();
}

ImageAttr GPULowering::makeImage(ImageFormat format, StringRef arch,
                                 StringRef bytes) {
  return ImageAttr::get(context, format, arch, StringAttr::get(context, bytes),
                        ArrayAttr());
}
