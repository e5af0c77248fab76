//===- KernelsNVPTX.cpp - kernels for NVIDIA devices ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowers a copy of a gpu.module to NVVM, has it serialised to PTX by its target
// attribute, and runs ptxas on that when there is one.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Conversion/Passes.h"
#include "KernelLowering.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Target/LLVM/NVVM/Target.h"
#include "mlir/Target/LLVM/NVVM/Utils.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/TargetParser/Triple.h"
#include <mutex>

using namespace mlir;
using namespace mlir::gpuasync;

static constexpr StringLiteral nvptxTriple = "nvptx64-nvidia-cuda";

//===----------------------------------------------------------------------===//
// Chips
//===----------------------------------------------------------------------===//

LogicalResult
gpuasync::checkNVPTXChip(StringRef chip,
                         function_ref<InFlightDiagnostic()> emitError) {
  NVVM::SerializeGPUModuleBase::init();
  llvm::Triple triple(nvptxTriple);
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return emitError() << "this LLVM cannot generate PTX: " << error;
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      target->createMCSubtargetInfo(triple, "", ""));
  SmallVector<StringRef> known;
  for (const llvm::SubtargetSubTypeKV &entry :
       info->getAllProcessorDescriptions())
    known.push_back(entry.Key);
  if (llvm::is_contained(known, chip))
    return success();

  llvm::sort(known, [&](StringRef a, StringRef b) {
    return std::pair(chip.edit_distance(a), a) <
           std::pair(chip.edit_distance(b), b);
  });
  InFlightDiagnostic diagnostic = emitError();
  diagnostic << "unknown chip '" << chip << "' for target nvptx; LLVM "
             << LLVM_VERSION_STRING << " knows " << known.size()
             << ", the nearest are ";
  llvm::interleaveComma(ArrayRef(known).take_front(4), diagnostic);
  return diagnostic;
}

//===----------------------------------------------------------------------===//
// The CUDA toolkit, if there is one
//===----------------------------------------------------------------------===//

/// Folders that may hold a CUDA toolkit, the most explicit one first.
static SmallVector<std::string> getToolkitFolders() {
  SmallVector<std::string> folders;
  for (const char *name : {"CUDA_ROOT", "CUDA_HOME", "CUDA_PATH"})
    if (std::optional<std::string> value = llvm::sys::Process::GetEnv(name))
      if (!value->empty())
        folders.push_back(*value);
  folders.push_back("/usr/local/cuda");
  return folders;
}

/// Returns the path of ptxas, "" if there is none.
static std::string searchPtxas() {
  if (llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName("ptxas"))
    return *found;
  for (const std::string &folder : getToolkitFolders()) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, "bin", "ptxas");
    if (llvm::sys::fs::can_execute(path))
      return path.str().str();
  }
  return std::string();
}

static FailureOr<std::string> findPtxas(StringRef option, Location loc) {
  if (option == "none")
    return std::string();
  if (option == "auto")
    return searchPtxas();
  if (!llvm::sys::fs::can_execute(option))
    return emitError(loc) << "ptxas=" << option << " cannot be executed";
  return option.str();
}

/// The bitcode in a toolkit folder, "" if it has none.
static std::string libdeviceIn(StringRef folder) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, "nvvm", "libdevice", "libdevice.10.bc");
  return llvm::sys::fs::exists(path) ? path.str().str() : std::string();
}

/// Returns the toolkit folder that holds libdevice, "" if there is none.
static std::string searchLibdevice(StringRef ptxas) {
  SmallVector<std::string> folders = getToolkitFolders();
  if (!ptxas.empty())
    folders.push_back(
        llvm::sys::path::parent_path(llvm::sys::path::parent_path(ptxas))
            .str());
  for (const std::string &folder : folders)
    if (!libdeviceIn(folder).empty())
      return folder;
  return std::string();
}

static FailureOr<std::string> findLibdevice(StringRef option, StringRef ptxas,
                                            Location loc) {
  if (option == "none")
    return std::string();
  if (option == "auto")
    return searchLibdevice(ptxas);
  if (libdeviceIn(option).empty())
    return emitError(loc) << "libdevice=" << option
                          << " has no nvvm/libdevice/libdevice.10.bc";
  return option.str();
}

SmallVector<std::string> gpuasync::findNVPTXToolchain() {
  std::string ptxas = searchPtxas(), toolkit = searchLibdevice(ptxas);
  SmallVector<std::string> files;
  if (!ptxas.empty())
    files.push_back(ptxas);
  if (!toolkit.empty())
    files.push_back(libdeviceIn(toolkit));
  return files;
}

//===----------------------------------------------------------------------===//
// LLVM's fatal errors
//===----------------------------------------------------------------------===//

namespace {
/// Runs LLVM code whose fatal errors would end the process, and returns them as
/// text instead. What the code held when it failed is leaked. The handler is
/// the process's, so it is installed while any thread is in here; errors of
/// other threads go on as they would without us.
class FatalErrorScope {
public:
  FatalErrorScope() {
    std::lock_guard<std::mutex> lock(mutex);
    if (users++ == 0) {
      llvm::CrashRecoveryContext::Enable();
      llvm::install_fatal_error_handler(handle, nullptr);
    }
  }
  ~FatalErrorScope() {
    std::lock_guard<std::mutex> lock(mutex);
    if (--users == 0) {
      llvm::remove_fatal_error_handler();
      llvm::CrashRecoveryContext::Disable();
    }
  }
  /// Returns false if `work` did not end.
  bool run(function_ref<void()> work, std::string &message) {
    current = &message;
    llvm::CrashRecoveryContext recovery;
    bool ended = recovery.RunSafely(work);
    current = nullptr;
    if (!ended && message.empty())
      message = "LLVM's code generator crashed";
    return ended;
  }

private:
  static void handle(void *, const char *reason, bool) {
    auto *recovery = llvm::CrashRecoveryContext::GetCurrent();
    if (!current || !recovery) {
      llvm::errs() << "LLVM ERROR: " << reason << "\n";
      return;
    }
    *current = reason;
    recovery->HandleExit(1);
  }

  static std::mutex mutex;
  static unsigned users;
  static thread_local std::string *current;
};
std::mutex FatalErrorScope::mutex;
unsigned FatalErrorScope::users = 0;
thread_local std::string *FatalErrorScope::current = nullptr;
} // namespace

//===----------------------------------------------------------------------===//
// To NVVM
//===----------------------------------------------------------------------===//

static void buildStructurePipeline(OpPassManager &pm) {
  pm.addPass(createConvertLinalgToLoopsPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createConvertNVGPUToNVVMPass());
  pm.addPass(createConvertVectorToSCFPass());
  pm.addPass(createForallToForLoopPass());
  pm.addPass(createConvertComplexToStandardPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(arith::createArithExpandOpsPass());
}

static void buildNVVMPipeline(OpPassManager &pm) {
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createConvertComplexToLLVMPass());
  pm.addPass(createConvertIndexToLLVMPass());
  ConvertGpuOpsToNVVMOpsOptions options;
  options.indexBitwidth = 64;
  pm.addPass(createConvertGpuOpsToNVVMOps(options));
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createConvertNVVMToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void gpuasync::registerNVPTXLoweringDialects(DialectRegistry &registry) {
  OpPassManager pm(gpu::GPUModuleOp::getOperationName());
  buildStructurePipeline(pm);
  buildNVVMPipeline(pm);
  pm.getDependentDialects(registry);
  // convert-gpu-to-nvvm asks the dialects for their patterns.
  registerConvertToLLVMInterfaces(registry);
  // Serialisation.
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  NVVM::registerNVVMTargetInterfaceExternalModels(registry);
}

namespace {
class NVPTXLowering {
public:
  NVPTXLowering(gpu::GPUModuleOp source, NVVM::NVVMTargetAttr target,
                const KernelLoweringOptions &options, RunPipelineFn runPipeline)
      : source(source), target(target), options(options),
        runPipeline(runPipeline), context(source.getContext()) {}
  ~NVPTXLowering() {
    if (work)
      work->erase();
  }

  FailureOr<SmallVector<ImageAttr>> run();

private:
  InFlightDiagnostic error() {
    return emitError(source.getLoc())
           << "gpu.module @" << source.getName()
           << " for nvptx:" << target.getChip() << ": ";
  }
  LogicalResult lowerToNVVM();
  void dropInterfaceFunctions();
  void callIntrinsics();
  void hoistPrintfBuffers();
  void passStructsAsIntegers();
  LogicalResult checkDeclared();
  FailureOr<std::string> serialize();
  FailureOr<std::string> assemble(StringRef ptx);

  gpu::GPUModuleOp source;
  NVVM::NVVMTargetAttr target;
  const KernelLoweringOptions &options;
  RunPipelineFn runPipeline;
  MLIRContext *context;
  ModuleOp work;
  gpu::GPUModuleOp module;
  std::string ptxas, toolkit;
};
} // namespace

/// A parameter of struct type (a complex number) becomes an integer of its
/// size, so that its alignment in PTX is that of the kernel's table.
void NVPTXLowering::passStructsAsIntegers() {
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    if (function.isExternal() || !isKernel(function))
      continue;
    Block &entry = function.getBody().front();
    SmallVector<Type> types(function.getFunctionType().getParams());
    bool changed = false;
    for (auto [i, type] : llvm::enumerate(types)) {
      if (!isa<LLVM::LLVMStructType, LLVM::LLVMArrayType>(type))
        continue;
      int64_t bits = DataLayout().getTypeSizeInBits(type);
      auto integer = IntegerType::get(context, bits);
      BlockArgument argument = entry.getArgument(i);
      OpBuilder builder = OpBuilder::atBlockBegin(&entry);
      Location loc = argument.getLoc();
      Value one = LLVM::ConstantOp::create(builder, loc, builder.getI32Type(),
                                           builder.getI32IntegerAttr(1));
      Value slot = LLVM::AllocaOp::create(
          builder, loc, LLVM::LLVMPointerType::get(context), integer, one);
      auto store = LLVM::StoreOp::create(builder, loc, argument, slot);
      Value value = LLVM::LoadOp::create(builder, loc, type, slot);
      argument.replaceAllUsesExcept(value, store);
      argument.setType(integer);
      types[i] = integer;
      changed = true;
    }
    if (changed)
      function.setFunctionType(LLVM::LLVMFunctionType::get(
          function.getFunctionType().getReturnType(), types));
  }
}

/// printf takes its arguments in a buffer; in a loop each run would grow the
/// stack.
void NVPTXLowering::hoistPrintfBuffers() {
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    if (function.isExternal())
      continue;
    Block &entry = function.getBody().front();
    SmallVector<LLVM::AllocaOp> buffers;
    function.walk([&](LLVM::AllocaOp op) {
      if (op->getBlock() == &entry ||
          !op.getArraySize().getDefiningOp<LLVM::ConstantOp>())
        return;
      bool printf = llvm::all_of(op->getUsers(), [&](Operation *user) {
        if (auto store = dyn_cast<LLVM::StoreOp>(user))
          return store.getAddr() == op.getRes();
        auto call = dyn_cast<LLVM::CallOp>(user);
        return isa<LLVM::GEPOp>(user) ||
               (call && call.getCallee() == StringRef("vprintf"));
      });
      if (printf)
        buffers.push_back(op);
    });
    for (LLVM::AllocaOp op : buffers) {
      Operation *size = op.getArraySize().getDefiningOp();
      op->moveBefore(&entry, entry.begin());
      OpBuilder builder(op);
      op.getArraySizeMutable().set(builder.clone(*size)->getResult(0));
    }
  }
}

/// convert-gpu-to-nvvm asks for C interface functions. Nothing calls those of
/// our functions, and a declared function becomes one that calls its interface
/// function: it is made a declaration again.
void NVPTXLowering::dropInterfaceFunctions() {
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

/// What LLVM has instructions or expansions for itself does not need libdevice,
/// whose sqrt is moreover the approximate one unless it is told otherwise. (The
/// conversion to NVVM insists on making these calls of libdevice.)
void NVPTXLowering::callIntrinsics() {
  module.walk([&](LLVM::CallOp call) {
    StringRef name = call.getCallee().value_or("");
    if (!name.consume_front("__nv_") || call.getNumResults() != 1)
      return;
    Type type = call.getResult().getType();
    if (type.isF32() ? !name.consume_back("f") : !type.isF64())
      return;
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
  });
}

/// What the CUDA driver itself defines for PTX.
static bool isDefinedByDriver(StringRef name) {
  return llvm::is_contained({"vprintf", "malloc", "free", "__assertfail"},
                            name) ||
         name.starts_with("llvm.");
}

/// Calls of functions that nothing will define, found while their ops are
/// known: upstream writes PTX that no driver can load.
LogicalResult NVPTXLowering::checkDeclared() {
  WalkResult result = module->walk([&](LLVM::CallOp call) -> WalkResult {
    std::optional<StringRef> name = call.getCallee();
    if (!name)
      return WalkResult::advance();
    auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(*name);
    if (!callee || !callee.isExternal() || isDefinedByDriver(*name))
      return WalkResult::advance();
    bool math = name->starts_with("__nv_");
    if (math && toolkit.empty())
      return emitError(call.getLoc())
             << "call of @" << *name << " for nvptx:" << target.getChip()
             << " needs CUDA's libdevice, which was not found (set CUDA_HOME, "
                "or libdevice= of gpu-async-lower-kernels)";
    if (!math && !target.getLink())
      return emitError(call.getLoc())
             << "call of @" << *name << " for nvptx:" << target.getChip()
             << ": nothing defines this function";
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Ops that upstream's lowering leaves out.
static void expandSubgroupOps(gpu::GPUModuleOp module) {
  module.walk([](Operation *op) {
    OpBuilder builder(op);
    Location loc = op->getLoc();
    if (!isa<gpu::SubgroupSizeOp, gpu::NumSubgroupsOp>(op))
      return;
    Value result = arith::ConstantIndexOp::create(builder, loc, 32);
    if (isa<gpu::NumSubgroupsOp>(op)) {
      Value threads;
      for (gpu::Dimension dim :
           {gpu::Dimension::x, gpu::Dimension::y, gpu::Dimension::z}) {
        Value size = gpu::BlockDimOp::create(builder, loc, dim);
        threads =
            threads ? Value(arith::MulIOp::create(builder, loc, threads, size))
                    : size;
      }
      result = arith::CeilDivUIOp::create(builder, loc, threads, result);
    }
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  });
}

LogicalResult NVPTXLowering::lowerToNVVM() {
  if (failed(checkNoHostOps(module)))
    return failure();
  hoistAllocas(module);
  expandCopies(module);
  expandFloatAtomics(module);
  expandIntegerPowers(module, /*floatBase=*/toolkit.empty());
  {
    RewritePatternSet patterns(context);
    populateGpuRewritePatterns(patterns);
    populateGpuSubgroupIdPatterns(patterns);
    if (failed(applyPatternsGreedily(module, std::move(patterns))))
      return failure();
  }
  expandSubgroupOps(module);
  OpPassManager structure(gpu::GPUModuleOp::getOperationName());
  buildStructurePipeline(structure);
  if (failed(runPipeline(structure, module)) ||
      (toolkit.empty() && failed(expandMath(module))) ||
      failed(lowerIntrinsicMath(module)))
    return failure();
  lowerVectors(module);
  OpPassManager lower(gpu::GPUModuleOp::getOperationName());
  buildNVVMPipeline(lower);
  if (failed(runPipeline(lower, module)) ||
      failed(checkAllLowered(module, ("nvptx:" + target.getChip()).str())))
    return failure();
  dropInterfaceFunctions();
  callIntrinsics();
  hoistPrintfBuffers();
  passStructsAsIntegers();
  // Only kernels are seen from outside.
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (!function.isExternal() && !isKernel(function))
      function.setLinkage(LLVM::Linkage::Internal);
  return checkDeclared();
}

//===----------------------------------------------------------------------===//
// To PTX and cubin
//===----------------------------------------------------------------------===//

FailureOr<std::string> NVPTXLowering::serialize() {
  auto serializer = dyn_cast<gpu::TargetAttrInterface>(Attribute(target));
  if (!serializer)
    return error() << "its target attribute cannot serialise";

  SmallVector<std::string> problems;
  struct Diagnostics : llvm::DiagnosticHandler {
    explicit Diagnostics(SmallVector<std::string> &problems)
        : problems(problems) {}
    bool handleDiagnostics(const llvm::DiagnosticInfo &info) override {
      if (info.getSeverity() != llvm::DS_Error)
        return true;
      std::string text;
      llvm::raw_string_ostream stream(text);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      info.print(printer);
      problems.push_back(text);
      return true;
    }
    SmallVector<std::string> &problems;
  };
  auto watch = [&](llvm::Module &llvmModule) {
    llvmModule.getContext().setDiagnosticHandler(
        std::make_unique<Diagnostics>(problems));
  };
  // After optimisation: libdevice's own questions about the target
  // (__nvvm_reflect) have been answered by then.
  auto checkDefined = [&](llvm::Module &llvmModule) {
    for (llvm::Function &function : llvmModule)
      if (function.isDeclaration() && !function.use_empty() &&
          !isDefinedByDriver(function.getName()))
        problems.push_back("nothing defines the function " +
                           function.getName().str());
  };
  gpu::TargetOptions targetOptions(
      toolkit, /*librariesToLink=*/{}, /*cmdOptions=*/"", /*elfSection=*/"",
      gpu::CompilationTarget::Assembly, /*getSymbolTableCallback=*/{}, watch,
      /*linkedLlvmIRCallback=*/{}, checkDefined);

  std::optional<SmallVector<char, 0>> object;
  std::string fatal;
  bool ended;
  SmallVector<std::string> reported;
  {
    // Upstream complains about a toolkit without libdevice even where none is
    // needed, so its errors count only if there is no result.
    ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
        reported.push_back(diagnostic.str());
      return success();
    });
    FatalErrorScope scope;
    ended = scope.run(
        [&] { object = serializer.serializeToObject(module, targetOptions); },
        fatal);
  }
  if (!ended)
    problems.push_back(fatal);
  else if (!object || object->empty())
    problems.append(reported);
  if (!ended || !problems.empty() || !object || object->empty()) {
    InFlightDiagnostic diagnostic = error();
    diagnostic << "LLVM cannot generate code: ";
    llvm::interleave(
        problems, [&](StringRef text) { diagnostic << text.trim(); },
        [&] { diagnostic << "; "; });
    return diagnostic;
  }
  StringRef text(object->data(), object->size());
  return text.rtrim('\0').str();
}

/// Runs ptxas and returns the cubin.
FailureOr<std::string> NVPTXLowering::assemble(StringRef ptx) {
  llvm::SmallString<128> input, output, log;
  int descriptor;
  if (llvm::sys::fs::createTemporaryFile("gpu-async", "ptx", descriptor,
                                         input) ||
      llvm::sys::fs::createTemporaryFile("gpu-async", "cubin", output) ||
      llvm::sys::fs::createTemporaryFile("gpu-async", "log", log))
    return error() << "cannot make temporary files for ptxas";
  llvm::FileRemover removeInput(input), removeOutput(output), removeLog(log);
  {
    llvm::raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
    stream << ptx;
    stream.close();
    if (stream.has_error()) {
      stream.clear_error();
      return error() << "cannot write " << input;
    }
  }
  std::string arch = ("-arch=" + target.getChip()).str();
  std::string level = "-O" + std::to_string(target.getO());
  SmallVector<StringRef> arguments{ptxas, arch, level, input, "-o", output};
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(log),
                                          StringRef(log)};
  std::string message;
  int code = llvm::sys::ExecuteAndWait(ptxas, arguments, std::nullopt,
                                       redirects, 0, 0, &message);
  auto read = [](StringRef path) {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    return buffer ? (*buffer)->getBuffer().str() : std::string();
  };
  if (code)
    return error() << ptxas
                   << " failed (ptxas=none leaves PTX only): " << message
                   << StringRef(read(log)).trim();
  std::string cubin = read(output);
  if (cubin.empty())
    return error() << ptxas << " wrote nothing";
  return cubin;
}

FailureOr<SmallVector<ImageAttr>> NVPTXLowering::run() {
  if (failed(checkNVPTXChip(target.getChip(),
                            [&] { return emitError(source.getLoc()); })))
    return failure();
  FailureOr<std::string> foundPtxas = findPtxas(options.ptxas, source.getLoc());
  if (failed(foundPtxas))
    return failure();
  ptxas = *foundPtxas;
  FailureOr<std::string> foundLibdevice =
      findLibdevice(options.libdevice, ptxas, source.getLoc());
  if (failed(foundLibdevice))
    return failure();
  toolkit = *foundLibdevice;

  OpBuilder builder(context);
  builder.setInsertionPointAfter(source);
  work = ModuleOp::create(builder, source.getLoc());
  module = source.clone();
  work.push_back(module);
  module.setTargetsAttr(builder.getArrayAttr(Attribute(target)));
  if (failed(lowerToNVVM()))
    return failure();
  FailureOr<std::string> ptx = serialize();
  if (failed(ptx))
    return failure();
  SmallVector<ImageAttr> images;
  images.push_back(ImageAttr::get(context, ImageFormat::PTX, target.getChip(),
                                  builder.getStringAttr(*ptx), ArrayAttr()));
  if (!ptxas.empty()) {
    FailureOr<std::string> cubin = assemble(*ptx);
    if (failed(cubin))
      return failure();
    images.push_back(
        ImageAttr::get(context, ImageFormat::CUBIN, target.getChip(),
                       builder.getStringAttr(*cubin), ArrayAttr()));
  }
  return images;
}

FailureOr<SmallVector<ImageAttr>> gpuasync::lowerKernelsForNVPTX(
    gpu::GPUModuleOp kernels, NVVM::NVVMTargetAttr target,
    const KernelLoweringOptions &options, RunPipelineFn runPipeline) {
  return NVPTXLowering(kernels, target, options, runPipeline).run();
}
