//===- KernelsNVPTX.cpp - kernels for NVIDIA devices ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowers a copy of a gpu.module to NVVM, has it serialised to PTX by its target
// attribute, and runs ptxas on that when there is one.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Conversion/Passes.h"
#include "KernelLowering.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ComplexToLLVM/ComplexToLLVM.h"
#include "mlir/Conversion/ComplexToStandard/ComplexToStandard.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/NVGPUToNVVM/NVGPUToNVVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Target/LLVM/NVVM/Target.h"
#include "mlir/Target/LLVM/NVVM/Utils.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace mlir::gpuasync;

static constexpr StringLiteral nvptxTriple = "nvptx64-nvidia-cuda";
static constexpr StringLiteral noLibdevice =
    "CUDA's libdevice, which was not found (set CUDA_HOME, or libdevice= of "
    "gpu-async-lower-kernels)";

//===----------------------------------------------------------------------===//
// Chips
//===----------------------------------------------------------------------===//

LogicalResult
gpuasync::checkNVPTXChip(StringRef chip,
                         function_ref<InFlightDiagnostic()> emitError) {
  NVVM::SerializeGPUModuleBase::init();
  return checkChip(chip, "nvptx", nvptxTriple, emitError);
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
// To NVVM
//===----------------------------------------------------------------------===//

/// The lowering of nvgpu refuses loops that carry types which it does not know,
/// such as matrices of gpu; so it only runs where there is something to lower.
static bool hasNvgpuOps(Operation *root) {
  return root
      ->walk([](Operation *op) {
        return op->getName().getDialectNamespace() == "nvgpu"
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

static void buildStructurePipeline(OpPassManager &pm, bool hasNvgpu) {
  pm.addPass(createConvertLinalgToLoopsPass());
  pm.addPass(createLowerAffinePass());
  if (hasNvgpu)
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

static void buildNVVMPipeline(OpPassManager &pm, bool hasRedux) {
  pm.addPass(createConvertComplexToLLVMPass());
  pm.addPass(createConvertIndexToLLVMPass());
  ConvertGpuOpsToNVVMOpsOptions options;
  options.indexBitwidth = 64;
  options.hasRedux = hasRedux;
  pm.addPass(createConvertGpuOpsToNVVMOps(options));
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createConvertNVVMToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void gpuasync::registerNVPTXLoweringDialects(DialectRegistry &registry) {
  OpPassManager pm(gpu::GPUModuleOp::getOperationName());
  buildStructurePipeline(pm, /*hasNvgpu=*/true);
  buildNVVMPipeline(pm, /*hasRedux=*/true);
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
  void refineChip();
  /// Whether the chip reduces 32 bits of a warp in an instruction.
  bool hasRedux() const {
    StringRef chip = target.getChip();
    unsigned number;
    return chip.consume_front("sm_") && !chip.consumeInteger(10, number) &&
           number >= 80;
  }
  LogicalResult lowerToNVVM();
  void callIntrinsics();
  void hoistPrintfBuffers();
  LogicalResult checkDeclared();
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

/// sm_90 is older than some of its instructions, and LLVM leaves out what its
/// lowest version of PTX lacks; all drivers that the runtime takes know this
/// one. Matrix multiplications of warpgroups are for this very chip.
void NVPTXLowering::refineChip() {
  if (target.getChip() != "sm_90" || !target.getFeatures().empty())
    return;
  bool needsVersion = false, needsChip = false;
  module.walk([&](Operation *op) {
    StringRef dialect = op->getName().getDialectNamespace();
    needsVersion |= dialect == "nvgpu" || dialect == "nvvm";
    needsChip |= isa<nvgpu::WarpgroupMmaOp, NVVM::WgmmaMmaAsyncOp>(op);
  });
  if (needsVersion)
    target =
        NVVM::NVVMTargetAttr::get(context, target.getO(), target.getTriple(),
                                  needsChip ? "sm_90a" : "sm_90", "+ptx80",
                                  target.getFlags(), target.getLink());
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
    callIntrinsic(call, name);
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
             << " needs " << noLibdevice;
    if (!math && !target.getLink())
      return emitError(call.getLoc())
             << "call of @" << *name << " for nvptx:" << target.getChip()
             << ": nothing defines this function";
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Upstream's lowering of other elementwise ops on matrices ends the process.
static LogicalResult checkMatrixOps(Operation *root) {
  using Kind = gpu::MMAElementwiseOp;
  WalkResult result =
      root->walk([](gpu::SubgroupMmaElementwiseOp op) -> WalkResult {
        if (llvm::is_contained(
                {Kind::ADDF, Kind::MULF, Kind::DIVF, Kind::MAXF, Kind::MINF},
                op.getOpType()))
          return WalkResult::advance();
        return op.emitOpError("with ")
               << gpu::stringifyMMAElementwiseOp(op.getOpType())
               << " is not supported for nvptx: MLIR has no lowering of it";
      });
  return failure(result.wasInterrupted());
}

LogicalResult NVPTXLowering::lowerToNVVM() {
  if (failed(checkNoHostOps(module)) || failed(checkMatrixOps(module)))
    return failure();
  int64_t dynamicAlignment = alignWorkgroupMemory(module);
  TensorMapParams tensorMaps = passTensorMapsByAddress(module);
  hoistAllocas(module);
  expandCopies(module);
  expandFloatAtomics(module);
  expandIntegerPowers(module, /*floatBase=*/toolkit.empty());
  OpPassManager structure(gpu::GPUModuleOp::getOperationName());
  buildStructurePipeline(structure, hasNvgpuOps(module));
  if (failed(runPipeline(structure, module)) ||
      failed(expandSubgroupOps(module, /*size=*/32,
                               ("nvptx:" + target.getChip()).str(),
                               hasRedux())) ||
      (toolkit.empty() && failed(expandMath(module, noLibdevice))) ||
      failed(lowerIntrinsicMath(module)))
    return failure();
  lowerVectors(module);
  OpPassManager lower(gpu::GPUModuleOp::getOperationName());
  buildNVVMPipeline(lower, hasRedux());
  if (failed(runPipeline(lower, module)) ||
      failed(checkAllLowered(module, NVVM::NVVMDialect::getDialectNamespace(),
                             ("nvptx:" + target.getChip()).str())))
    return failure();
  dropInterfaceFunctions(module);
  declareDynamicMemory(module, dynamicAlignment);
  callIntrinsics();
  hoistPrintfBuffers();
  passStructsAsIntegers(module);
  markTensorMapParams(module, tensorMaps);
  // Only kernels are seen from outside.
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (!function.isExternal() && !isKernel(function))
      function.setLinkage(LLVM::Linkage::Internal);
  return checkDeclared();
}

//===----------------------------------------------------------------------===//
// To PTX and cubin
//===----------------------------------------------------------------------===//

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
  refineChip();
  module.setTargetsAttr(builder.getArrayAttr(Attribute(target)));
  if (failed(lowerToNVVM()))
    return failure();
  // After optimisation libdevice's own questions about the target
  // (__nvvm_reflect) have been answered.
  auto serializer = cast<gpu::TargetAttrInterface>(Attribute(target));
  FailureOr<std::string> ptx = serializeToAssembly(
      context, toolkit, isDefinedByDriver,
      [&](const gpu::TargetOptions &targetOptions) {
        return serializer.serializeToObject(module, targetOptions);
      },
      [&] { return error(); });
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
