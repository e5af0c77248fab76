//===- NVPTX.cpp - kernels for NVIDIA devices -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowers a copy of a gpu.module to NVVM, has PTX made of it, and runs ptxas on
// that when there is one.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Kernels/Common/KernelABI.h"
#include "GPUAsync/Upstream/Passes.h"
#include "Kernels/Common/Environment.h"
#include "Kernels/Common/GPUTargets.h"
#include "Kernels/Common/Tools.h"
#include "NVPTXLowering.h"
#include "gpuasync/RuntimeABI.h"
#include "mlir/Conversion/ComplexToLLVM/ComplexToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/NVGPUToNVVM/NVGPUToNVVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Target/LLVM/NVVM/Target.h"
#include "mlir/Target/LLVM/NVVM/Utils.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace mlir::gpuasync;
using NVVM::NVVMTargetAttr;

static constexpr StringLiteral nvptxTriple = "nvptx64-nvidia-cuda";
static constexpr StringLiteral libraryPrefixes[] = {"__nv_"};
static constexpr StringLiteral driverFunctions[] = {"vprintf", "malloc", "free",
                                                    "__assertfail"};
// Generic, global, shared, constant, local, shared of a cluster, parameters;
// and tensor memory.
static constexpr unsigned pointerSpaces[] = {0, 1, 3, 4, 5, 6, 7, 101};
static constexpr unsigned variableSpaces[] = {0, 1, 3, 4};
static constexpr StringLiteral syncScopes[] = {"singlethread", "block",
                                               "cluster", "device"};
static constexpr GPUVendor nvidia = {
    "NVIDIA devices",
    "nvvm",
    libraryPrefixes,
    "CUDA's libdevice, which was not found (set CUDA_HOME, or libdevice= of "
    "gpu-async-lower-kernels)",
    driverFunctions,
    pointerSpaces,
    variableSpaces,
    syncScopes,
    /*hasThreadFences=*/false,
    "llvm.nvvm.",
    /*memory=*/nvptxKernelMemory};

static LogicalResult checkNVPTXChip(StringRef chip, StringRef features,
                                    EmitErrorFn emitError) {
  NVVM::SerializeGPUModuleBase::init();
  return checkChip(chip, features, cudaDevice, nvptxTriple, emitError);
}

//===----------------------------------------------------------------------===//
// The CUDA toolkit, if there is one
//===----------------------------------------------------------------------===//

/// Folders that may hold a CUDA toolkit, the most explicit one first.
static SmallVector<std::string> getToolkitFolders() {
  SmallVector<std::string> folders;
  for (const char *name : {"CUDA_ROOT", "CUDA_HOME", "CUDA_PATH"})
    if (std::optional<std::string> value = getVariable(name))
      folders.push_back(*value);
  folders.push_back("/usr/local/cuda");
  return folders;
}

/// Returns the path of ptxas, "" if there is none.
static std::string searchPtxas() {
  if (llvm::ErrorOr<std::string> found = findProgram("ptxas"))
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
  std::string folder = option == "auto" ? searchLibdevice(ptxas) : option.str();
  if (folder.empty())
    return folder;
  std::string file = libdeviceIn(folder);
  if (file.empty())
    return emitError(loc) << "libdevice=" << option
                          << " has no nvvm/libdevice/libdevice.10.bc";
  if (!isBitcode(file))
    return emitError(loc) << file << " is no bitcode";
  return folder;
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

static void addNVVMPasses(OpPassManager &pm, bool hasRedux) {
  pm.addPass(createConvertComplexToLLVMPass());
  pm.addPass(createConvertIndexToLLVMPass());
  ConvertGpuOpsToNVVMOpsOptions options;
  options.indexBitwidth = 64;
  options.hasRedux = hasRedux;
  pm.addPass(createConvertGpuOpsToNVVMOps(options));
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createConvertNVVMToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createGPUAsyncCanonicalize());
  pm.addPass(createCSEPass());
}

namespace {
class NVPTXLowering : public GPULowering {
public:
  NVPTXLowering(gpu::GPUModuleOp source, NVVMTargetAttr target,
                const KernelLoweringOptions &options, RunPipelineFn runPipeline)
      : GPULowering(source, nvidia, options, runPipeline), target(target) {}

private:
  std::string getTargetName() const override {
    return (Twine(cudaDevice.target) + ":" + target.getChip()).str();
  }
  Attribute getTarget() const override { return target; }
  int64_t getSubgroupSize() const override { return 32; }
  bool linksFiles() const override { return bool(target.getLink()); }
  bool hasRedux() const override { return getChipNumber() >= 80; }
  bool hasFma(Type type) const override {
    return getChipNumber() >= (type.isF16() ? 53 : 80);
  }
  LogicalResult setUp() override;
  LogicalResult prepare() override;
  void addStructurePasses(OpPassManager &pm) override {
    if (hasNvgpuOps(module))
      pm.addPass(createConvertNVGPUToNVVMPass());
  }
  void addLowering(OpPassManager &pm) override {
    addNVVMPasses(pm, hasRedux());
  }
  StringRef getMathName(LLVM::CallOp call) override;
  void finish() override;
  FailureOr<SmallVector<ImageAttr>> makeImages() override;

  unsigned getChipNumber() const {
    return getNvidiaChipNumber(target.getChip());
  }
  void refineChip();
  bool takesSignals();
  void hoistPrintfBuffers();
  FailureOr<std::string> assemble(StringRef ptx);

  NVVMTargetAttr target;
  TensorMapParams tensorMaps;
  bool signals = false; ///< GPUASYNC_KERNELS_SIGNAL_SYMBOL
  std::string ptxas;
};
} // namespace

LogicalResult NVPTXLowering::setUp() {
  if (failed(checkNVPTXChip(target.getChip(), target.getFeatures(),
                            [&] { return error(); })))
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
  return success();
}

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
    target = NVVMTargetAttr::get(context, target.getO(), target.getTriple(),
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

/// Libdevice's sqrt is moreover the approximate one unless it is told
/// otherwise.
StringRef NVPTXLowering::getMathName(LLVM::CallOp call) {
  StringRef name = call.getCallee().value_or("");
  if (!name.consume_front("__nv_") || call.getNumResults() != 1)
    return "";
  Type type = call.getResult().getType();
  if (type.isF32() ? !name.consume_back("f") : !type.isF64())
    return "";
  return name;
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

LogicalResult NVPTXLowering::prepare() {
  refineChip();
  if (failed(checkMatrixOps(module)))
    return failure();
  dynamicAlignment = alignWorkgroupMemory(module);
  tensorMaps = passTensorMapsByAddress(module);
  return success();
}

/// Whether each kernel has room for the parameters of a signal.
bool NVPTXLowering::takesSignals() {
  constexpr int64_t most = 4096; // of a kernel's parameters, on all chips
  return llvm::all_of(getKernels(source), [&](FunctionOpInterface kernel) {
    SmallVector<int64_t> sizes = *getKernelParamSizes(
        kernel.getArgumentTypes(), context, [&] { return kernel.emitError(); });
    sizes.append(signalParamCount, sizeof(uint64_t));
    return getKernelParamOffsets(sizes).back() + sizes.back() <= most;
  });
}

void NVPTXLowering::finish() {
  hoistPrintfBuffers();
  markTensorMapParams(module, tensorMaps);
  if ((signals = takesSignals() && allThreadsMeet(module)))
    addSignals(module);
}

//===----------------------------------------------------------------------===//
// To PTX and cubin
//===----------------------------------------------------------------------===//

/// Runs ptxas and returns the cubin.
FailureOr<std::string> NVPTXLowering::assemble(StringRef ptx) {
  std::string arch = ("-arch=" + target.getChip()).str();
  std::string level = "-O" + std::to_string(target.getO());
  return runTool({ptxas, "ptxas", "ptx", "cubin",
                  " (ptxas=none leaves PTX only)", options.toolTimeout,
                  llvm::ELF::EM_CUDA},
                 {arch, level}, ptx, [&] { return error(); });
}

/// PTX declares parameters in lines like these:
///   .param .u64 .ptr .align 1 f_param_0,
///   .param .align 16 .b8 f_param_1[16]
static ParamPlaces readParams(StringRef ptx, StringRef kernel) {
  std::string entry = (".entry " + kernel + "(").str();
  size_t at = ptx.find(entry);
  if (at == StringRef::npos)
    return std::nullopt;
  StringRef list = ptx.drop_front(at + entry.size());
  SmallVector<StringRef> lines;
  list.take_front(list.find(')')).trim().split(lines, ',', -1, false);
  SmallVector<ParamPlace> places;
  int64_t end = 0;
  for (StringRef line : lines) {
    line = line.trim();
    uint64_t align = 0, bits = 0, count = 1;
    if (!line.consume_front(".param .") ||
        (line.consume_front("align ") &&
         (line.consumeInteger(10, align) || !line.consume_front(" ."))) ||
        line.drop_front(1).consumeInteger(10, bits))
      return std::nullopt;
    line = line.drop_front(1).drop_while(llvm::isDigit);
    if (line.consume_back("]") &&
        line.rsplit('[').second.getAsInteger(10, count))
      return std::nullopt;
    int64_t size = bits / 8 * count;
    end = llvm::alignTo(end, align ? align : size);
    places.push_back({end, size});
    end += size;
  }
  return places;
}

/// Kernels wait for what they come after before they do anything, and the image
/// says so by a symbol: then a launch in a graph need not wait for the end of
/// the one before it to begin. Done in the text, since to LLVM the instruction
/// touches no memory, and what is loaded could be loaded before it.
static std::string waitFirst(StringRef ptx) {
  std::string result;
  result.reserve(ptx.size() + 256);
  while (true) {
    size_t at = ptx.find(".entry ");
    size_t body = at == StringRef::npos ? at : ptx.find('{', at);
    if (body == StringRef::npos)
      break;
    result += ptx.take_front(body + 1);
    result += "\n\tgriddepcontrol.wait;";
    ptx = ptx.drop_front(body + 1);
  }
  result += ptx;
  result += ".visible .global .u8 " GPUASYNC_KERNELS_WAIT_SYMBOL ";\n";
  return result;
}

FailureOr<SmallVector<ImageAttr>> NVPTXLowering::makeImages() {
  FailureOr<std::string> ptx = generate<NVVM::SerializeGPUModuleBase>(
      target, llvm::CodeGenFileType::AssemblyFile);
  if (succeeded(ptx) && getChipNumber() >= 90)
    ptx = waitFirst(*ptx);
  if (failed(ptx) || failed(checkParams([&](StringRef kernel) {
        ParamPlaces places = readParams(*ptx, kernel);
        if (places && signals)
          places->truncate(places->size() - signalParamCount);
        return places;
      })))
    return failure();
  SmallVector<ImageAttr> images{
      makeImage(ImageFormat::PTX, target.getChip(), *ptx)};
  if (ptxas.empty())
    return images;
  FailureOr<std::string> cubin = assemble(*ptx);
  if (failed(cubin))
    return failure();
  images.push_back(makeImage(ImageFormat::CUBIN, target.getChip(), *cubin));
  return images;
}

//===----------------------------------------------------------------------===//
// The target
//===----------------------------------------------------------------------===//

namespace {
class NVPTXTarget final : public NVPTXTargetKind {
public:
  FailureOr<Attribute> parse(StringRef chip,
                             const KernelLoweringOptions &options,
                             MLIRContext *context,
                             EmitErrorFn emitError) const override {
    if (failed(checkNVPTXChip(chip, "", emitError)))
      return failure();
    return Attribute(
        NVVMTargetAttr::get(context, options.optLevel, nvptxTriple, chip));
  }
  FailureOr<SmallVector<ImageAttr>>
  lower(gpu::GPUModuleOp kernels, Attribute target,
        const KernelLoweringOptions &options,
        RunPipelineFn runPipeline) const override {
    return NVPTXLowering(kernels, cast<NVVMTargetAttr>(target), options,
                         runPipeline)
        .run();
  }
  void registerDialects(DialectRegistry &registry) const override {
    OpPassManager pm(gpu::GPUModuleOp::getOperationName());
    addGPUStructurePasses(pm, [](OpPassManager &pm) {
      pm.addPass(createConvertNVGPUToNVVMPass());
    });
    addNVVMPasses(pm, /*hasRedux=*/true);
    pm.getDependentDialects(registry);
    registerGPULoweringDialects(registry);
    registerConvertNVVMToLLVMInterface(registry);
    registerNVVMDialectTranslation(registry);
    NVVM::registerNVVMTargetInterfaceExternalModels(registry);
  }
  SmallVector<std::string> findToolchain() const override {
    std::string ptxas = searchPtxas(), toolkit = searchLibdevice(ptxas);
    SmallVector<std::string> files;
    if (!ptxas.empty())
      files.push_back(ptxas);
    if (!toolkit.empty())
      files.push_back(libdeviceIn(toolkit));
    return files;
  }
};
} // namespace

const KernelTarget &gpuasync::getNVPTXKernelTarget() {
  static const NVPTXTarget target;
  return target;
}
