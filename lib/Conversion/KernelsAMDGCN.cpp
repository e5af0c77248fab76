//===- KernelsAMDGCN.cpp - kernels for AMD devices --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowers a copy of a gpu.module to ROCDL, has it serialised to assembly by its
// target attribute, assembles that and links it to a code object with ld.lld.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Conversion/Passes.h"
#include "KernelLowering.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ComplexToLLVM/ComplexToLLVM.h"
#include "mlir/Conversion/ComplexToStandard/ComplexToStandard.h"
#include "mlir/Conversion/GPUToROCDL/GPUToROCDLPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToROCDL/MathToROCDL.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Target/LLVM/ROCDL/Target.h"
#include "mlir/Target/LLVM/ROCDL/Utils.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/ROCDL/ROCDLToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace mlir::gpuasync;
using ROCDL::ROCDLTargetAttr;

static constexpr StringLiteral amdgcnTriple = "amdgcn-amd-amdhsa";
static constexpr StringLiteral noDeviceLibs =
    "ROCm's device libraries for this chip, which were not found (set "
    "ROCM_PATH, or rocm= of gpu-async-lower-kernels)";

//===----------------------------------------------------------------------===//
// Target ids
//===----------------------------------------------------------------------===//

FailureOr<ROCDLTargetAttr>
gpuasync::parseAMDGCNTarget(StringRef targetId, int optLevel,
                            MLIRContext *context,
                            function_ref<InFlightDiagnostic()> emitError) {
  SmallVector<StringRef> parts;
  targetId.split(parts, ':');
  std::string features;
  for (StringRef part : ArrayRef(parts).drop_front()) {
    StringRef name = part.drop_back();
    if (!(name == "xnack" || name == "sramecc") ||
        !(part.ends_with("+") || part.ends_with("-")))
      return emitError() << "unknown feature '" << part
                         << "'; there are xnack and sramecc, with + or -";
    features +=
        (features.empty() ? "" : ",") + part.take_back().str() + name.str();
  }
  ROCDL::SerializeGPUModuleBase::init();
  if (failed(checkChip(parts[0], "amdgcn", amdgcnTriple, emitError)))
    return failure();
  // Version 5 of the code objects is what ROCm 6.0 and later load.
  return ROCDLTargetAttr::get(context, optLevel, amdgcnTriple, parts[0],
                              features, /*abiVersion=*/"500");
}

/// The setting of a feature: '+', '-', or 0 if it is not named.
static char getFeature(ROCDLTargetAttr target, StringRef name) {
  SmallVector<StringRef> features;
  target.getFeatures().split(features, ',', -1, /*KeepEmpty=*/false);
  char setting = 0;
  for (StringRef feature : features)
    if (feature.drop_front() == name)
      setting = feature.front();
  return setting;
}

std::string gpuasync::getAMDGCNTargetId(ROCDLTargetAttr target) {
  std::string id = target.getChip().str();
  for (StringRef name : {"sramecc", "xnack"})
    if (char setting = getFeature(target, name))
      id += ":" + name.str() + setting;
  return id;
}

/// The threads of a subgroup: what the features say, else 32 from gfx10 on.
static int64_t getWaveSize(ROCDLTargetAttr target) {
  for (auto [name, size] :
       {std::pair<StringRef, int64_t>("wavefrontsize32", 32),
        {"wavefrontsize64", 64}})
    if (getFeature(target, name) == '+')
      return size;
  StringRef chip = target.getChip();
  unsigned major = 0;
  if (!chip.consume_front("gfx") || chip.size() < 3 ||
      chip.drop_back(2).getAsInteger(10, major))
    return 64;
  return major >= 10 ? 32 : 64;
}

//===----------------------------------------------------------------------===//
// ROCm, if there is any
//===----------------------------------------------------------------------===//

/// Folders that may hold ROCm, the most explicit one first. The last is where
/// Debian's rocm-device-libs are.
static SmallVector<std::string> getRocmFolders() {
  SmallVector<std::string> folders;
  for (const char *name : {"ROCM_PATH", "ROCM_ROOT", "ROCM_HOME"})
    if (std::optional<std::string> value = llvm::sys::Process::GetEnv(name))
      if (!value->empty())
        folders.push_back(*value);
  folders.push_back("/opt/rocm");
  folders.push_back("/usr/lib/x86_64-linux-gnu");
  return folders;
}

/// Returns the folder whose amdgcn/bitcode has the device libraries for `chip`,
/// "" if there is none.
static FailureOr<std::string> findDeviceLibs(StringRef option, StringRef chip,
                                             Location loc) {
  if (option == "none")
    return std::string();
  std::string forChip =
      ("oclc_isa_version_" + chip.drop_front(StringRef("gfx").size()) + ".bc")
          .str();
  auto lacks = [&](StringRef folder) -> StringRef {
    for (StringRef file : {"ocml.bc", "ockl.bc", forChip.c_str()}) {
      llvm::SmallString<128> path(folder);
      llvm::sys::path::append(path, "amdgcn", "bitcode", file);
      if (!llvm::sys::fs::exists(path))
        return file;
    }
    return "";
  };
  if (option != "auto") {
    if (StringRef file = lacks(option); !file.empty())
      return emitError(loc)
             << "rocm=" << option << " has no amdgcn/bitcode/" << file;
    return option.str();
  }
  for (const std::string &folder : getRocmFolders())
    if (lacks(folder).empty())
      return folder;
  return std::string();
}

/// Returns the path of ld.lld, "" if there is none: LLVM's own before ROCm's,
/// whose version is another one.
static std::string searchLinker(StringRef option) {
  std::string versioned = "ld.lld-" + std::to_string(LLVM_VERSION_MAJOR);
  std::string tools =
      "/usr/lib/llvm-" + std::to_string(LLVM_VERSION_MAJOR) + "/bin/ld.lld";
  for (StringRef name :
       {StringRef(versioned), StringRef(tools), StringRef("ld.lld")})
    if (llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName(name);
        found && llvm::sys::fs::can_execute(*found))
      return *found;
  SmallVector<std::string> folders = getRocmFolders();
  if (option != "auto" && option != "none")
    folders.insert(folders.begin(), option.str());
  for (const std::string &folder : folders) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, "llvm", "bin", "ld.lld");
    if (llvm::sys::fs::can_execute(path))
      return path.str().str();
  }
  return std::string();
}

static FailureOr<std::string> findLinker(StringRef option, Location loc) {
  std::string found = searchLinker(option);
  if (found.empty())
    return emitError(loc) << "code objects are linked by ld.lld, which was not "
                             "found: install LLVM's lld or set ROCM_PATH";
  return found;
}

SmallVector<std::string> gpuasync::findAMDGCNToolchain() {
  SmallVector<std::string> files;
  if (std::string linker = searchLinker("auto"); !linker.empty())
    files.push_back(linker);
  // Which folder is taken depends on the chip and on what the folder has.
  for (const std::string &folder : getRocmFolders()) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, "amdgcn", "bitcode");
    size_t first = files.size();
    std::error_code error;
    for (llvm::sys::fs::directory_iterator entry(path, error), end;
         !error && entry != end; entry.increment(error))
      if (StringRef(entry->path()).ends_with(".bc"))
        files.push_back(entry->path());
    std::sort(files.begin() + first, files.end());
  }
  return files;
}

//===----------------------------------------------------------------------===//
// To ROCDL
//===----------------------------------------------------------------------===//

static void buildStructurePipeline(OpPassManager &pm) {
  pm.addPass(createConvertLinalgToLoopsPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createConvertVectorToSCFPass());
  pm.addPass(createForallToForLoopPass());
  pm.addPass(createConvertComplexToStandardPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(arith::createArithExpandOpsPass());
}

static void buildROCDLPipeline(OpPassManager &pm, StringRef chip) {
  pm.addPass(createConvertComplexToLLVMPass());
  pm.addPass(createConvertIndexToLLVMPass());
  ConvertGpuOpsToROCDLOpsOptions options;
  options.chipset = chip.str();
  options.indexBitwidth = 64;
  options.runtime = gpu::amd::Runtime::HIP;
  pm.addPass(createConvertGpuOpsToROCDLOps(options));
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void gpuasync::registerAMDGCNLoweringDialects(DialectRegistry &registry) {
  OpPassManager pm(gpu::GPUModuleOp::getOperationName());
  buildStructurePipeline(pm);
  buildROCDLPipeline(pm, "gfx90a");
  pm.getDependentDialects(registry);
  OpPassManager math(ModuleOp::getOperationName());
  math.addPass(createConvertMathToROCDL());
  math.getDependentDialects(registry);
  registerConvertToLLVMInterfaces(registry);
  // Serialisation.
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerROCDLDialectTranslation(registry);
  ROCDL::registerROCDLTargetInterfaceExternalModels(registry);
}

namespace {
class AMDGCNLowering {
public:
  AMDGCNLowering(gpu::GPUModuleOp source, ROCDLTargetAttr target,
                 const KernelLoweringOptions &options,
                 RunPipelineFn runPipeline)
      : source(source), target(target), options(options),
        runPipeline(runPipeline), context(source.getContext()) {}
  ~AMDGCNLowering() {
    if (work)
      work->erase();
  }

  FailureOr<ImageAttr> run();

private:
  std::string name() const { return "amdgcn:" + getAMDGCNTargetId(target); }
  InFlightDiagnostic error() {
    return emitError(source.getLoc())
           << "gpu.module @" << source.getName() << " for " << name() << ": ";
  }
  LogicalResult checkTarget();
  LogicalResult lowerToROCDL();
  void trapOnFailedAsserts();
  void callIntrinsics();
  void readSizesFromArguments();
  void moveAllocasToPrivate();
  void prepareFunctions();
  LogicalResult checkDeclared();
  FailureOr<std::string> link(ArrayRef<char> object);

  gpu::GPUModuleOp source;
  ROCDLTargetAttr target;
  const KernelLoweringOptions &options;
  RunPipelineFn runPipeline;
  MLIRContext *context;
  ModuleOp work;
  gpu::GPUModuleOp module;
  std::string linker, deviceLibs;
};
} // namespace

/// Refuses what upstream would take and lower to something else. Upstream's
/// device libraries are told the wave size by a flag that defaults to 64
/// whatever the chip, so it is set to what the chip and its features say.
LogicalResult AMDGCNLowering::checkTarget() {
  ROCDL::SerializeGPUModuleBase::init();
  if (failed(checkChip(target.getChip(), "amdgcn", amdgcnTriple,
                       [&] { return emitError(source.getLoc()); })))
    return failure();
  if (target.getTriple() != amdgcnTriple)
    return error() << "triple '" << target.getTriple()
                   << "' is not supported: there is " << amdgcnTriple;
  if (target.getAbi() != "500" && target.getAbi() != "600")
    return error() << "abi '" << target.getAbi()
                   << "' is not supported: there are 500 and 600";
  NamedAttrList flags;
  if (DictionaryAttr given = target.getFlags())
    flags.append(given.getValue());
  flags.erase("wave64");
  flags.erase("no_wave64");
  if (getWaveSize(target) == 32)
    flags.append("no_wave64", UnitAttr::get(context));
  target = ROCDLTargetAttr::get(
      context, target.getO(), target.getTriple(), target.getChip(),
      target.getFeatures(), target.getAbi(),
      flags.empty() ? DictionaryAttr() : flags.getDictionary(context),
      target.getLink());
  return success();
}

/// A failed cf.assert ends the kernel by a trap; upstream would call the host's
/// abort.
void AMDGCNLowering::trapOnFailedAsserts() {
  SmallVector<cf::AssertOp> asserts;
  module.walk([&](cf::AssertOp op) { asserts.push_back(op); });
  for (cf::AssertOp op : asserts) {
    Location loc = op.getLoc();
    Block *before = op->getBlock();
    Block *after = before->splitBlock(op->getNextNode());
    Block *failed = new Block;
    before->getParent()->push_back(failed);
    OpBuilder builder(op);
    cf::CondBranchOp::create(builder, loc, op.getArg(), after, failed);
    op.erase();
    builder.setInsertionPointToEnd(failed);
    LLVM::Trap::create(builder, loc);
    LLVM::UnreachableOp::create(builder, loc);
  }
}

/// What the chip has instructions or LLVM expansions for does not need ocml.
void AMDGCNLowering::callIntrinsics() {
  module.walk([&](LLVM::CallOp call) {
    StringRef name = call.getCallee().value_or("");
    if (call.getNumResults() == 1 && name.consume_front("__ocml_") &&
        (name.consume_back("_f16") || name.consume_back("_f32") ||
         name.consume_back("_f64")))
      callIntrinsic(call, name);
  });
  // Upstream looks for the library when one of its functions is declared.
  for (auto function :
       llvm::make_early_inc_range(module.getOps<LLVM::LLVMFuncOp>()))
    if (function.isExternal() &&
        SymbolTable::symbolKnownUseEmpty(function, module))
      function.erase();
}

/// Upstream asks a device library for the sizes of grid and block. They are in
/// the arguments that the driver adds behind a kernel's own (AMDGPUUsage, "Code
/// Object V5 Metadata").
void AMDGCNLowering::readSizesFromArguments() {
  auto constant = LLVM::LLVMPointerType::get(context, 4);
  module.walk([&](Operation *op) {
    struct Size {
      int32_t offset, bits;
    };
    std::optional<Size> size =
        TypeSwitch<Operation *, std::optional<Size>>(op)
            .Case([](ROCDL::GridDimXOp) { return Size{0, 32}; })
            .Case([](ROCDL::GridDimYOp) { return Size{4, 32}; })
            .Case([](ROCDL::GridDimZOp) { return Size{8, 32}; })
            .Case([](ROCDL::BlockDimXOp) { return Size{12, 16}; })
            .Case([](ROCDL::BlockDimYOp) { return Size{14, 16}; })
            .Case([](ROCDL::BlockDimZOp) { return Size{16, 16}; })
            .Default([](Operation *) { return std::nullopt; });
    if (!size)
      return;
    OpBuilder builder(op);
    Location loc = op->getLoc();
    Value arguments =
        LLVM::CallIntrinsicOp::create(
            builder, loc, constant,
            builder.getStringAttr("llvm.amdgcn.implicitarg.ptr"), ValueRange())
            .getResult(0);
    Value address = LLVM::GEPOp::create(
        builder, loc, constant, builder.getI8Type(), arguments,
        ArrayRef<LLVM::GEPArg>{size->offset}, LLVM::GEPNoWrapFlags::inbounds);
    Value value = LLVM::LoadOp::create(
        builder, loc, builder.getIntegerType(size->bits), address,
        /*alignment=*/size->bits / 8, /*isVolatile=*/false,
        /*isNonTemporal=*/false, /*isInvariant=*/true);
    if (size->bits < 32)
      value = LLVM::ZExtOp::create(builder, loc, builder.getI32Type(), value);
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  });
}

/// The stack is address space 5; what points to it elsewhere keeps a generic
/// pointer.
void AMDGCNLowering::moveAllocasToPrivate() {
  auto stack = LLVM::LLVMPointerType::get(context, 5);
  SmallVector<LLVM::AllocaOp> allocas;
  module.walk([&](LLVM::AllocaOp op) {
    if (op.getRes().getType() != stack)
      allocas.push_back(op);
  });
  for (LLVM::AllocaOp op : allocas) {
    OpBuilder builder(op);
    Value slot = LLVM::AllocaOp::create(
        builder, op.getLoc(), stack, op.getElemType(), op.getArraySize(),
        static_cast<unsigned>(op.getAlignment().value_or(0)));
    Value generic = LLVM::AddrSpaceCastOp::create(builder, op.getLoc(),
                                                  op.getRes().getType(), slot);
    op.getRes().replaceAllUsesWith(generic);
    op.erase();
  }
}

/// Only kernels are seen from outside. Without a size known at compile time a
/// block may have up to 1024 threads, as on every other device; upstream's
/// default is 256.
void AMDGCNLowering::prepareFunctions() {
  StringAttr flatSize = StringAttr::get(
      context, ROCDL::ROCDLDialect::getFlatWorkGroupSizeAttrName());
  StringRef requiredSize = ROCDL::ROCDLDialect::getReqdWorkGroupSizeAttrName();
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    if (function.isExternal())
      continue;
    if (!isKernel(function)) {
      function.setLinkage(LLVM::Linkage::Internal);
      continue;
    }
    function->setAttr(ROCDL::ROCDLDialect::getKernelFuncAttrName(),
                      UnitAttr::get(context));
    if (!function->hasAttr(flatSize) && !function->hasAttr(requiredSize) &&
        !function->hasAttr("rocdl.max_flat_work_group_size"))
      function->setAttr(flatSize, StringAttr::get(context, "1,1024"));
  }
}

/// Nothing but LLVM's intrinsics: the driver links nothing.
static bool isDefinedByDriver(StringRef name) {
  return name.starts_with("llvm.");
}

/// Calls of functions that nothing will define, found while their ops are
/// known: upstream writes a code object that no driver can load.
LogicalResult AMDGCNLowering::checkDeclared() {
  WalkResult result = module->walk([&](LLVM::CallOp call) -> WalkResult {
    std::optional<StringRef> callee = call.getCallee();
    if (!callee)
      return WalkResult::advance();
    auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(*callee);
    if (!function || !function.isExternal() || isDefinedByDriver(*callee))
      return WalkResult::advance();
    bool library =
        callee->starts_with("__ocml_") || callee->starts_with("__ockl_");
    if (library && deviceLibs.empty())
      return emitError(call.getLoc()) << "call of @" << *callee << " for "
                                      << name() << " needs " << noDeviceLibs;
    if (!library && !target.getLink())
      return emitError(call.getLoc())
             << "call of @" << *callee << " for " << name()
             << ": nothing defines this function";
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult AMDGCNLowering::lowerToROCDL() {
  if (failed(checkNoTensorMaps(module, "AMD's")) ||
      failed(checkNoHostOps(module)))
    return failure();
  bool expand = deviceLibs.empty();
  hoistAllocas(module);
  expandCopies(module);
  expandFloatAtomics(module);
  expandIntegerPowers(module, /*floatBase=*/expand);
  OpPassManager structure(gpu::GPUModuleOp::getOperationName());
  buildStructurePipeline(structure);
  if (failed(runPipeline(structure, module)) ||
      failed(expandSubgroupOps(module, getWaveSize(target), name(),
                               /*hasRedux=*/false)) ||
      (expand && failed(expandMath(module, noDeviceLibs))) ||
      failed(lowerIntrinsicMath(module)))
    return failure();
  if (!expand) {
    // Before the conversion of everything else, which would make intrinsics of
    // some ops that LLVM has no code for.
    OpPassManager math(ModuleOp::getOperationName());
    math.addPass(createConvertMathToROCDL({target.getChip().str()}));
    if (failed(runPipeline(math, work)))
      return failure();
  }
  trapOnFailedAsserts();
  lowerVectors(module);
  OpPassManager lower(gpu::GPUModuleOp::getOperationName());
  buildROCDLPipeline(lower, target.getChip());
  if (failed(runPipeline(lower, module)) ||
      failed(checkAllLowered(module, ROCDL::ROCDLDialect::getDialectNamespace(),
                             name())))
    return failure();
  dropInterfaceFunctions(module);
  declareDynamicMemory(module);
  callIntrinsics();
  readSizesFromArguments();
  passStructsAsIntegers(module);
  moveAllocasToPrivate();
  prepareFunctions();
  return checkDeclared();
}

//===----------------------------------------------------------------------===//
// To a code object
//===----------------------------------------------------------------------===//

namespace {
/// Upstream's serializer of #rocdl.target, which forgets the callbacks.
class Serializer : public ROCDL::SerializeGPUModuleBase {
public:
  Serializer(Operation &module, ROCDLTargetAttr target,
             const gpu::TargetOptions &targetOptions)
      : SerializeGPUModuleBase(module, target, targetOptions),
        targetOptions(targetOptions) {
    initialLlvmIRCallback = targetOptions.getInitialLlvmIRCallback();
    optimizedLlvmIRCallback = targetOptions.getOptimizedLlvmIRCallback();
  }

private:
  FailureOr<SmallVector<char, 0>>
  moduleToObject(llvm::Module &llvmModule) override {
    return moduleToObjectImpl(targetOptions, llvmModule);
  }

  const gpu::TargetOptions &targetOptions;
};
} // namespace

/// Links one object file to a shared one, which is what the driver loads.
FailureOr<std::string> AMDGCNLowering::link(ArrayRef<char> object) {
  llvm::SmallString<128> input, output, log;
  int descriptor;
  if (llvm::sys::fs::createTemporaryFile("gpu-async", "o", descriptor, input) ||
      llvm::sys::fs::createTemporaryFile("gpu-async", "hsaco", output) ||
      llvm::sys::fs::createTemporaryFile("gpu-async", "log", log))
    return error() << "cannot make temporary files for ld.lld";
  llvm::FileRemover removeInput(input), removeOutput(output), removeLog(log);
  {
    llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
    stream << StringRef(object.data(), object.size());
    stream.close();
    if (stream.has_error()) {
      stream.clear_error();
      return error() << "cannot write " << input;
    }
  }
  // Not by its path: lld takes its flavour from that name.
  SmallVector<StringRef> arguments{"ld.lld", "-shared", "--no-undefined",
                                   input,    "-o",      output};
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(log),
                                          StringRef(log)};
  std::string message;
  int code = llvm::sys::ExecuteAndWait(linker, arguments, std::nullopt,
                                       redirects, 0, 0, &message);
  auto read = [](StringRef path) {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    return buffer ? (*buffer)->getBuffer().str() : std::string();
  };
  if (code)
    return error() << linker << " failed: " << message
                   << StringRef(read(log)).trim();
  std::string result = read(output);
  if (result.empty())
    return error() << linker << " wrote nothing";
  return result;
}

FailureOr<ImageAttr> AMDGCNLowering::run() {
  if (failed(checkTarget()))
    return failure();
  FailureOr<std::string> foundLinker =
      findLinker(options.rocm, source.getLoc());
  FailureOr<std::string> foundLibs =
      findDeviceLibs(options.rocm, target.getChip(), source.getLoc());
  if (failed(foundLinker) || failed(foundLibs))
    return failure();
  linker = *foundLinker;
  deviceLibs = *foundLibs;

  OpBuilder builder(context);
  builder.setInsertionPointAfter(source);
  work = ModuleOp::create(builder, source.getLoc());
  module = source.clone();
  work.push_back(module);
  module.setTargetsAttr(builder.getArrayAttr(Attribute(target)));
  if (failed(lowerToROCDL()))
    return failure();
  FailureOr<std::string> assembly = serializeToAssembly(
      context, deviceLibs, isDefinedByDriver,
      [&](const gpu::TargetOptions &targetOptions) {
        return Serializer(*module, target, targetOptions).run();
      },
      [&] { return error(); });
  if (failed(assembly))
    return failure();
  FailureOr<SmallVector<char, 0>> object =
      ROCDL::assembleIsa(*assembly, target.getTriple(), target.getChip(),
                         target.getFeatures(), [&] { return error(); });
  if (failed(object))
    return failure();
  FailureOr<std::string> linked = link(*object);
  if (failed(linked))
    return failure();
  return ImageAttr::get(context, ImageFormat::HSACO, getAMDGCNTargetId(target),
                        builder.getStringAttr(*linked), ArrayAttr());
}

FailureOr<ImageAttr> gpuasync::lowerKernelsForAMDGCN(
    gpu::GPUModuleOp kernels, ROCDLTargetAttr target,
    const KernelLoweringOptions &options, RunPipelineFn runPipeline) {
  return AMDGCNLowering(kernels, target, options, runPipeline).run();
}
