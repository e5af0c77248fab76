//===- Object.cpp - kernels for the cpu device as a shared object ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What gpu-module-to-binary makes of #gpu_async.cpu: the block functions of
// CPU.cpp in an ELF file that exports _gpuasync_object
// (gpuasync_cpu_object of RuntimeABI.h), for mgpuModuleLoad.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Kernels/CPU/Object.h"
#include "BFloats.h"
#include "GPUAsync/Kernels/CPU/Code.h"
#include "GPUAsync/Kernels/Common/DataLayout.h"
#include "GPUAsync/Kernels/Common/KernelABI.h"
#include "Kernels/Common/Environment.h"
#include "Kernels/Common/KernelLowering.h"
#include "Kernels/Common/Tools.h"
#include "gpuasync/RuntimeABI.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

#include <dlfcn.h>

using namespace mlir;
using namespace mlir::gpuasync;

namespace {

class CpuObject {
public:
  CpuObject(gpu::GPUModuleOp kernels, CpuTargetAttr target,
            const gpu::TargetOptions &options)
      : source(kernels), target(target), options(options) {}
  std::optional<SmallVector<char, 0>> run();

private:
  InFlightDiagnostic error() {
    return emitError(source.getLoc()) << "gpu.module @" << source.getName()
                                      << " as #gpu_async.cpu object: ";
  }
  LogicalResult lower(ModuleOp holder);
  FailureOr<std::unique_ptr<llvm::TargetMachine>> makeMachine();
  void buildTables(llvm::Module &module, ImageAttr image);
  FailureOr<std::string> findLinker();
  static std::string findVectorMath();
  FailureOr<SmallVector<char, 0>> link(StringRef object);

  gpu::GPUModuleOp source;
  CpuTargetAttr target;
  const gpu::TargetOptions &options;
  ImageAttr image;
};

} // namespace

//===----------------------------------------------------------------------===//
// To LLVM IR
//===----------------------------------------------------------------------===//

/// Leaves block functions in LLVM dialect in `holder`.
LogicalResult CpuObject::lower(ModuleOp holder) {
  gpu::GPUModuleOp kernels = source.clone();
  holder.push_back(kernels);
  auto runPipeline = [](OpPassManager &pipeline, Operation *op) {
    PassManager manager(op->getContext(), op->getName().getStringRef());
    static_cast<OpPassManager &>(manager) = pipeline;
    return manager.run(op);
  };
  int64_t subgroupSize = target.getSubgroupSize()
                             ? target.getSubgroupSize()
                             : CpuTargetAttr::defaultSubgroupSize;
  FailureOr<ImageAttr> lowered =
      lowerKernelsForCPU(kernels, subgroupSize, runPipeline);
  if (failed(lowered))
    return failure();
  image = *lowered;
  kernels.erase();
  // What kernels call of the C library was left to the host's lowering.
  OpPassManager rest(ModuleOp::getOperationName());
  rest.addPass(createConvertFuncToLLVMPass());
  rest.addPass(createReconcileUnrealizedCastsPass());
  if (failed(runPipeline(rest, holder)) ||
      failed(checkAllLowered(holder, LLVM::LLVMDialect::getDialectNamespace(),
                             "the cpu device")))
    return failure();
  cpu::carryBFloatsAsIntegers(holder);
  return success();
}

FailureOr<std::unique_ptr<llvm::TargetMachine>> CpuObject::makeMachine() {
  initializeNativeTarget();
  llvm::Triple triple(llvm::sys::getProcessTriple());
  std::string message;
  const llvm::Target *found =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!found)
    return error() << message;
  if (!triple.isOSBinFormatELF())
    return error() << triple.str() << " has no ELF files";
  // Without a chip for any processor of this kind, so that the object may go
  // to another machine.
  StringRef chip = target.getChip() ? target.getChip().getValue() : "";
  StringRef features =
      target.getFeatures() ? target.getFeatures().getValue() : "";
  // Asked first: a target machine would only complain, and go on without.
  std::unique_ptr<llvm::MCSubtargetInfo> known(
      found->createMCSubtargetInfo(triple, "", ""));
  if (!chip.empty() && !known->isCPUStringValid(chip))
    return error() << "LLVM knows no processor '" << chip << "' for "
                   << triple.str();
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(
      triple, chip, features, llvm::TargetOptions(), llvm::Reloc::PIC_,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

/// Adds the tables that RuntimeABI.h describes.
void CpuObject::buildTables(llvm::Module &module, ImageAttr image) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *pointer = llvm::PointerType::get(context, 0);
  llvm::Type *i32 = llvm::Type::getInt32Ty(context),
             *i64 = llvm::Type::getInt64Ty(context);
  auto constant = [&](llvm::Constant *value, const Twine &name) {
    auto *global = new llvm::GlobalVariable(
        module, value->getType(), /*isConstant=*/true,
        llvm::GlobalValue::PrivateLinkage, value, name);
    return global;
  };
  auto text = [&](StringRef value) {
    return constant(llvm::ConstantDataArray::getString(context, value), "name");
  };
  auto integers = [&](ArrayRef<int64_t> values) -> llvm::Constant * {
    SmallVector<uint32_t> narrow(values.begin(), values.end());
    return constant(llvm::ConstantDataArray::get(context, narrow), "layout");
  };
  auto number = [&](llvm::Type *type, uint64_t value) -> llvm::Constant * {
    return llvm::ConstantInt::get(type, value);
  };

  // gpuasync_kernel and gpuasync_cpu_kernel.
  auto *kernelType = llvm::StructType::get(pointer, pointer, pointer, i32, i32);
  auto *functionType = llvm::StructType::get(pointer, pointer, i64, i32, i32,
                                             i32, i32, i64, pointer);
  SmallVector<llvm::Constant *> kernels, functions;
  SmallVector<FunctionOpInterface> sources = getKernels(source);
  for (auto [kernel, attr] : llvm::zip_equal(sources, image.getFunctions())) {
    auto function = cast<CpuKernelAttr>(attr);
    // Both were computed before, without an error.
    SmallVector<int64_t> sizes =
        *getKernelParamSizes(kernel.getArgumentTypes(), source.getContext(),
                             [&] { return error(); });
    SmallVector<int64_t> offsets = getKernelParamOffsets(sizes);
    int64_t bytes = 0, align = 1;
    for (auto [size, offset] : llvm::zip_equal(sizes, offsets)) {
      bytes = offset + size;
      align = std::max(align, std::min<int64_t>(size, 16));
    }
    llvm::Constant *name = text(SymbolTable::getSymbolName(kernel).getValue());
    kernels.push_back(llvm::ConstantStruct::get(
        kernelType,
        {name, integers(offsets), integers(sizes), number(i32, sizes.size()),
         number(i32, llvm::alignTo(bytes, align))}));
    functions.push_back(llvm::ConstantStruct::get(
        functionType,
        {name, module.getFunction(function.getFunction().getValue()),
         number(i64, static_cast<uint64_t>(function.getWorkgroupBytes())),
         number(i32, getKernelFlags(function)),
         number(i32, function.getThreadBytes()),
         number(i32, uint32_t(function.getStackBytes())), number(i32, 0),
         number(i64, function.getKnownOperations()),
         function.getCounter() ? llvm::cast<llvm::Constant>(module.getFunction(
                                     function.getCounter().getValue()))
                               : llvm::ConstantPointerNull::get(
                                     llvm::cast<llvm::PointerType>(pointer))}));
  }
  auto array = [&](llvm::StructType *type, ArrayRef<llvm::Constant *> values) {
    return constant(llvm::ConstantArray::get(
                        llvm::ArrayType::get(type, values.size()), values),
                    "table");
  };
  auto *objectType = llvm::StructType::get(i32, i32, pointer, pointer, pointer);
  llvm::Constant *object = llvm::ConstantStruct::get(
      objectType, {number(i32, GPUASYNC_ABI_VERSION),
                   number(i32, kernels.size()), text(source.getName()),
                   array(kernelType, kernels), array(functionType, functions)});
  new llvm::GlobalVariable(module, objectType, /*isConstant=*/true,
                           llvm::GlobalValue::ExternalLinkage, object,
                           "_gpuasync_object");
}

//===----------------------------------------------------------------------===//
// To a shared object
//===----------------------------------------------------------------------===//

/// Any linker for ELF files will do.
FailureOr<std::string> CpuObject::findLinker() {
  SmallVector<StringRef> names{"ld.lld-22", "ld.lld", "ld"};
  StringRef toolkit = options.getToolkitPath();
  if (!toolkit.empty()) {
    llvm::SmallString<128> bin(toolkit);
    llvm::sys::path::append(bin, "bin");
    for (StringRef name : names)
      if (auto found = findProgram(name, {toolkit, bin}))
        return *found;
    return error() << "no linker in " << toolkit << " nor " << bin
                   << "; looked for ld.lld-22, ld.lld and ld";
  }
  for (StringRef name : names)
    if (auto found = findProgram(name))
      return *found;
  return error() << "no linker found; looked for ld.lld-22, ld.lld and ld in "
                    "PATH. Install lld or binutils, or name the folder that "
                    "has one with gpu-module-to-binary=toolkit=";
}

/// The path of glibc's vector math, which the object then asks for when it is
/// loaded; empty without glibc.
std::string CpuObject::findVectorMath() {
  std::string path;
  if (void *library = dlopen("libmvec.so.1", RTLD_NOW | RTLD_LOCAL)) {
    Dl_info info;
    if (void *function = dlsym(library, "_ZGVbN4v_expf");
        function && dladdr(function, &info))
      path = info.dli_fname;
    dlclose(library);
  }
  return path;
}

FailureOr<SmallVector<char, 0>> CpuObject::link(StringRef object) {
  FailureOr<std::string> linker = findLinker();
  if (failed(linker))
    return failure();
  // The C library and the runtime are found when the object is loaded.
  std::string vectorMath = findVectorMath();
  SmallVector<StringRef> libraries;
  if (!vectorMath.empty())
    libraries = {"--as-needed", vectorMath};
  FailureOr<std::string> linked = runTool(
      {*linker, *linker, "o", "so"},
      {"-shared", "-Bsymbolic", "--gc-sections", "--strip-all", "-z", "now",
       "-z", "noexecstack"},
      object, [&] { return error(); }, libraries);
  if (failed(linked))
    return failure();
  return SmallVector<char, 0>(linked->begin(), linked->end());
}

std::optional<SmallVector<char, 0>> CpuObject::run() {
  if (options.getCompilationTarget() != gpu::CompilationTarget::Binary &&
      options.getCompilationTarget() != gpu::CompilationTarget::Fatbin) {
    error() << "there is format=bin and format=fatbin only";
    return std::nullopt;
  }
  FailureOr<std::unique_ptr<llvm::TargetMachine>> machine = makeMachine();
  if (failed(machine))
    return std::nullopt;
  OwningOpRef<ModuleOp> holder = ModuleOp::create(source.getLoc());
  if (failed(lower(*holder)))
    return std::nullopt;
  setDataLayout(*holder, (*machine)->createDataLayout());
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module =
      translateModuleToLLVMIR(*holder, context, source.getName());
  if (!module)
    return std::nullopt;
  module->setTargetTriple((*machine)->getTargetTriple());
  // Everything but the table is the object's own.
  for (llvm::Function &function : *module)
    if (!function.isDeclaration())
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
  for (llvm::GlobalVariable &global : module->globals())
    if (!global.isDeclaration() && !global.hasPrivateLinkage())
      global.setLinkage(llvm::GlobalValue::InternalLinkage);
  buildTables(*module, image);
  std::string vectorMath = findVectorMath();
  optimizeCpuCode(*module, **machine, 3, [&](StringRef name) {
    return !vectorMath.empty() && isEarlyVectorFunction(name);
  });

  SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr,
                                      llvm::CodeGenFileType::ObjectFile)) {
    error() << "this LLVM cannot write object files";
    return std::nullopt;
  }
  passes.run(*module);
  FailureOr<SmallVector<char, 0>> linked =
      link(StringRef(object.data(), object.size()));
  if (failed(linked))
    return std::nullopt;
  return std::move(*linked);
}

//===----------------------------------------------------------------------===//
// The cpu target attribute
//===----------------------------------------------------------------------===//

namespace {
/// #gpu_async.cpu as a target of a gpu.module. In this project's pipeline
/// kernels for the cpu device are functions of the program; for
/// gpu-module-to-binary there are objects.
struct CpuTargetModel
    : gpu::TargetAttrInterface::ExternalModel<CpuTargetModel, CpuTargetAttr> {
  std::optional<SmallVector<char, 0>>
  serializeToObject(Attribute target, Operation *module,
                    const gpu::TargetOptions &options) const {
    auto kernels = dyn_cast<gpu::GPUModuleOp>(module);
    if (!kernels) {
      emitError(module->getLoc(), "is not a gpu.module");
      return std::nullopt;
    }
    return CpuObject(kernels, cast<CpuTargetAttr>(target), options).run();
  }
  /// Upstream's tools, which translate and run what comes of this, cannot parse
  /// an attribute of ours, and look at the target only to choose an object. So
  /// one of theirs stands in, and the properties say what the object is.
  Attribute createObject(Attribute, Operation *module,
                         const SmallVector<char, 0> &object,
                         const gpu::TargetOptions &options) const {
    Builder builder(module->getContext());
    auto properties = builder.getDictionaryAttr(
        builder.getNamedAttr(cpuObjectProperty, builder.getStringAttr("cpu")));
    return gpu::ObjectAttr::get(
        module->getContext(), NVVM::NVVMTargetAttr::get(module->getContext()),
        options.getCompilationTarget(),
        builder.getStringAttr(StringRef(object.data(), object.size())),
        properties, /*kernels=*/nullptr);
  }
};
} // namespace

void gpuasync::initializeNativeTarget() {
  static const bool done = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
    return true;
  }();
  (void)done;
}

void gpuasync::registerCPUTargetInterface(DialectRegistry &registry) {
  registry.insert<func::FuncDialect, LLVM::LLVMDialect, NVVM::NVVMDialect>();
  registerCPULoweringDialects(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registry.addExtension(+[](MLIRContext *context, GPUAsyncDialect *) {
    // What lowering makes, and the stand-in. Passes may not load dialects.
    DialectRegistry needed;
    registerCPULoweringDialects(needed);
    needed.insert<func::FuncDialect, LLVM::LLVMDialect, NVVM::NVVMDialect>();
    for (StringRef name : needed.getDialectNames())
      context->getOrLoadDialect(name);
    CpuTargetAttr::attachInterface<CpuTargetModel>(*context);
  });
}
