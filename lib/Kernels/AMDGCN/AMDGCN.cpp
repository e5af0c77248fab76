//===- AMDGCN.cpp - kernels for AMD devices ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowers a copy of a gpu.module to ROCDL, has an object file made of it, and
// links that to a code object with ld.lld.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Upstream/Passes.h"
#include "Kernels/Common/Environment.h"
#include "Kernels/Common/GPUTargets.h"
#include "Kernels/Common/Tools.h"
#include "Kernels/GPU/GPULowering.h"
#include "mlir/Conversion/ComplexToLLVM/ComplexToLLVM.h"
#include "mlir/Conversion/GPUToROCDL/GPUToROCDLPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToROCDL/MathToROCDL.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Target/LLVM/ROCDL/Target.h"
#include "mlir/Target/LLVM/ROCDL/Utils.h"
#include "mlir/Target/LLVMIR/Dialect/ROCDL/ROCDLToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace mlir::gpuasync;
using ROCDL::ROCDLTargetAttr;

static constexpr StringLiteral amdgcnTriple = "amdgcn-amd-amdhsa";
static constexpr StringLiteral libraryPrefixes[] = {"__ocml_", "__ockl_"};
// Flat, global, region, local, constant, private, 32-bit constant, and the
// three kinds of buffers.
static constexpr unsigned pointerSpaces[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
static constexpr unsigned variableSpaces[] = {0, 1, 3, 4};
static constexpr StringLiteral syncScopes[] = {"singlethread",
                                               "wavefront",
                                               "workgroup",
                                               "cluster",
                                               "agent",
                                               "one-as",
                                               "singlethread-one-as",
                                               "wavefront-one-as",
                                               "workgroup-one-as",
                                               "cluster-one-as",
                                               "agent-one-as"};
static constexpr GPUVendor amd = {
    "AMD devices",
    "rocdl",
    libraryPrefixes,
    "ROCm's device libraries for this chip, which were not found (set "
    "ROCM_PATH, or rocm= of gpu-async-lower-kernels)",
    /*driverFunctions=*/{},
    pointerSpaces,
    variableSpaces,
    syncScopes,
    /*hasThreadFences=*/true,
    "llvm.amdgcn.",
    /*memory=*/{INT64_MAX, INT32_MAX}};

//===----------------------------------------------------------------------===//
// Target ids
//===----------------------------------------------------------------------===//

/// LLVM's table also has processors for code that many chips run, in a version
/// of the code objects that is newer than ROCm 6.0 loads.
static LogicalResult checkAMDGCNChip(StringRef chip, StringRef features,
                                     EmitErrorFn emitError) {
  ROCDL::SerializeGPUModuleBase::init();
  if (chip.contains("generic"))
    return emitError() << "'" << chip
                       << "' is no chip: code is made for a certain one";
  return checkChip(chip, features, hipDevice, amdgcnTriple, emitError);
}

static FailureOr<Attribute> parseTargetId(StringRef targetId, int optLevel,
                                          MLIRContext *context,
                                          EmitErrorFn emitError) {
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
  if (failed(checkAMDGCNChip(parts[0], "", emitError)))
    return failure();
  // Version 5 of the code objects is what ROCm 6.0 and later load.
  return Attribute(ROCDLTargetAttr::get(context, optLevel, amdgcnTriple,
                                        parts[0], features,
                                        /*abiVersion=*/"500"));
}

/// The threads of a subgroup: what the features say, else 32 from gfx10 on.
static int64_t getWaveSize(ROCDLTargetAttr target) {
  for (auto [name, size] :
       {std::pair<StringRef, int64_t>("wavefrontsize32", 32),
        {"wavefrontsize64", 64}})
    if (AMDGCNTargetKind::getFeature(target, name) == '+')
      return size;
  StringRef chip = target.getChip();
  unsigned major = 0;
  if (!chip.consume_front(hipDevice.chipPrefix()) || chip.size() < 3 ||
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
    if (std::optional<std::string> value = getVariable(name))
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
  std::string forChip = ("oclc_isa_version_" +
                         chip.drop_front(hipDevice.chipPrefix().size()) + ".bc")
                            .str();
  const StringRef files[] = {"ocml.bc", "ockl.bc", forChip};
  auto getPath = [](StringRef folder, StringRef file) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, "amdgcn", "bitcode", file);
    return path;
  };
  auto lacks = [&](StringRef folder) -> StringRef {
    for (StringRef file : files)
      if (!llvm::sys::fs::exists(getPath(folder, file)))
        return file;
    return "";
  };
  std::string folder;
  if (option == "auto") {
    for (const std::string &one : getRocmFolders())
      if (folder.empty() && lacks(one).empty())
        folder = one;
    if (folder.empty())
      return folder;
  } else {
    folder = option.str();
    if (StringRef file = lacks(folder); !file.empty())
      return emitError(loc)
             << "rocm=" << option << " has no amdgcn/bitcode/" << file;
  }
  for (StringRef file : files)
    if (auto path = getPath(folder, file); !isBitcode(path))
      return emitError(loc) << path << " is no bitcode";
  return folder;
}

/// Returns the path of ld.lld, "" if there is none: LLVM's own before ROCm's,
/// whose version is another one.
static std::string searchLinker(StringRef option) {
  std::string versioned = "ld.lld-" + std::to_string(LLVM_VERSION_MAJOR);
  std::string tools =
      "/usr/lib/llvm-" + std::to_string(LLVM_VERSION_MAJOR) + "/bin/ld.lld";
  for (StringRef name :
       {StringRef(versioned), StringRef(tools), StringRef("ld.lld")})
    if (llvm::ErrorOr<std::string> found = findProgram(name);
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

//===----------------------------------------------------------------------===//
// To ROCDL
//===----------------------------------------------------------------------===//

static void addROCDLPasses(OpPassManager &pm, StringRef chip) {
  pm.addPass(createConvertComplexToLLVMPass());
  pm.addPass(createConvertIndexToLLVMPass());
  ConvertGpuOpsToROCDLOpsOptions options;
  options.chipset = chip.str();
  options.indexBitwidth = 64;
  options.runtime = gpu::amd::Runtime::HIP;
  pm.addPass(createConvertGpuOpsToROCDLOps(options));
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createGPUAsyncCanonicalize());
  pm.addPass(createCSEPass());
}

namespace {
class AMDGCNLowering : public GPULowering {
public:
  AMDGCNLowering(gpu::GPUModuleOp source, ROCDLTargetAttr target,
                 const KernelLoweringOptions &options,
                 RunPipelineFn runPipeline)
      : GPULowering(source, amd, options, runPipeline), target(target) {}

private:
  std::string getTargetName() const override {
    return std::string(hipDevice.target) + ":" +
           getAMDGCNKernelTarget().getArch(target);
  }
  Attribute getTarget() const override { return target; }
  int64_t getSubgroupSize() const override { return getWaveSize(target); }
  bool linksFiles() const override { return bool(target.getLink()); }
  bool hasFma(Type type) const override { return type.isF16(); }
  LogicalResult setUp() override;
  LogicalResult prepare() override {
    return checkNoTensorMaps(module, "AMD's");
  }
  LogicalResult lowerEarly() override;
  void addLowering(OpPassManager &pm) override {
    addROCDLPasses(pm, target.getChip());
  }
  StringRef getMathName(LLVM::CallOp call) override;
  void finish() override;
  FailureOr<SmallVector<ImageAttr>> makeImages() override;

  LogicalResult checkTarget();
  void trapOnFailedAsserts();
  void readSizesFromArguments();
  void moveAllocasToPrivate();
  void prepareKernels();

  ROCDLTargetAttr target;
  std::string linker;
};
} // namespace

LogicalResult AMDGCNLowering::setUp() {
  if (failed(checkTarget()))
    return failure();
  FailureOr<std::string> foundLinker =
      findLinker(options.rocm, source.getLoc());
  FailureOr<std::string> foundLibs =
      findDeviceLibs(options.rocm, target.getChip(), source.getLoc());
  if (failed(foundLinker) || failed(foundLibs))
    return failure();
  linker = *foundLinker;
  toolkit = *foundLibs;
  return success();
}

/// Refuses what upstream would take and lower to something else. Upstream's
/// device libraries are told the wave size by a flag that defaults to 64
/// whatever the chip, so it is set to what the chip and its features say.
LogicalResult AMDGCNLowering::checkTarget() {
  if (failed(checkAMDGCNChip(target.getChip(), target.getFeatures(),
                             [&] { return error(); })))
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

/// Without a size known at compile time a block may have up to 1024 threads, as
/// on every other device; upstream's default is 256.
void AMDGCNLowering::prepareKernels() {
  StringAttr flatSize = StringAttr::get(
      context, ROCDL::ROCDLDialect::getFlatWorkGroupSizeAttrName());
  StringRef requiredSize = ROCDL::ROCDLDialect::getReqdWorkGroupSizeAttrName();
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    if (function.isExternal() || !isKernel(function))
      continue;
    if (!function->hasAttr(flatSize) && !function->hasAttr(requiredSize) &&
        !function->hasAttr("rocdl.max_flat_work_group_size"))
      function->setAttr(flatSize, StringAttr::get(context, "1,1024"));
  }
}

LogicalResult AMDGCNLowering::lowerEarly() {
  if (!toolkit.empty()) {
    // Before the conversion of everything else, which would make intrinsics of
    // some ops that LLVM has no code for.
    OpPassManager math(ModuleOp::getOperationName());
    math.addPass(createConvertMathToROCDL({target.getChip().str()}));
    if (failed(runPipeline(math, work)))
      return failure();
  }
  trapOnFailedAsserts();
  return success();
}

StringRef AMDGCNLowering::getMathName(LLVM::CallOp call) {
  StringRef name = call.getCallee().value_or("");
  if (call.getNumResults() == 1 && name.consume_front("__ocml_") &&
      (name.consume_back("_f16") || name.consume_back("_f32") ||
       name.consume_back("_f64")))
    return name;
  return "";
}

void AMDGCNLowering::finish() {
  readSizesFromArguments();
  moveAllocasToPrivate();
  prepareKernels();
}

//===----------------------------------------------------------------------===//
// To a code object
//===----------------------------------------------------------------------===//

namespace {
/// The notes of an object file that describe its kernels (AMDGPUUsage, "Code
/// Object V5 Metadata").
class Metadata {
public:
  explicit Metadata(StringRef object);
  ParamPlaces readParams(StringRef kernel);

private:
  /// An empty node if `map` has no `key`, or is no map.
  llvm::msgpack::DocNode find(llvm::msgpack::DocNode map, StringRef key) {
    if (!map.isMap())
      return document.getEmptyNode();
    auto found = map.getMap().find(key);
    return found == map.getMap().end() ? document.getEmptyNode()
                                       : found->second;
  }

  llvm::msgpack::Document document;
};
} // namespace

Metadata::Metadata(StringRef object) {
  auto read = [&]() -> llvm::Error {
    auto file = llvm::object::ELF64LEFile::create(object);
    if (!file)
      return file.takeError();
    auto sections = file->sections();
    if (!sections)
      return sections.takeError();
    llvm::Error error = llvm::Error::success();
    for (const auto &section : *sections)
      if (section.sh_type == llvm::ELF::SHT_NOTE)
        for (const auto &note : file->notes(section, error))
          if (note.getType() == llvm::ELF::NT_AMDGPU_METADATA)
            document.readFromBlob(note.getDescAsStringRef(section.sh_addralign),
                                  /*Multi=*/false);
    return error;
  };
  // Without a description every kernel's parameters are unknown.
  llvm::consumeError(read());
}

ParamPlaces Metadata::readParams(StringRef kernel) {
  llvm::msgpack::DocNode kernels = find(document.getRoot(), "amdhsa.kernels");
  if (!kernels.isArray())
    return std::nullopt;
  for (llvm::msgpack::DocNode entry : kernels.getArray()) {
    llvm::msgpack::DocNode name = find(entry, ".name");
    if (!name.isString() || name.getString() != kernel)
      continue;
    SmallVector<ParamPlace> places;
    llvm::msgpack::DocNode args = find(entry, ".args");
    if (args.isArray())
      for (llvm::msgpack::DocNode arg : args.getArray()) {
        llvm::msgpack::DocNode kind = find(arg, ".value_kind");
        llvm::msgpack::DocNode offset = find(arg, ".offset");
        llvm::msgpack::DocNode size = find(arg, ".size");
        // What the driver adds follows.
        if (kind.isString() && kind.getString().starts_with("hidden"))
          continue;
        if (offset.getKind() != llvm::msgpack::Type::UInt ||
            size.getKind() != llvm::msgpack::Type::UInt)
          return std::nullopt;
        places.push_back({static_cast<int64_t>(offset.getUInt()),
                          static_cast<int64_t>(size.getUInt())});
      }
    return places;
  }
  return std::nullopt;
}

FailureOr<SmallVector<ImageAttr>> AMDGCNLowering::makeImages() {
  FailureOr<std::string> object = generate<ROCDL::SerializeGPUModuleBase>(
      target, llvm::CodeGenFileType::ObjectFile);
  if (failed(object))
    return failure();
  Metadata metadata(*object);
  if (failed(checkParams(
          [&](StringRef kernel) { return metadata.readParams(kernel); })))
    return failure();
  // A shared object is what the driver loads.
  FailureOr<std::string> linked =
      runTool({linker, "ld.lld", "o", "hsaco", "", options.toolTimeout},
              {"-shared", "--no-undefined"}, *object, [&] { return error(); });
  if (failed(linked))
    return failure();
  return SmallVector<ImageAttr>{makeImage(
      ImageFormat::HSACO, getAMDGCNKernelTarget().getArch(target), *linked)};
}

//===----------------------------------------------------------------------===//
// The target
//===----------------------------------------------------------------------===//

namespace {
class AMDGCNTarget final : public AMDGCNTargetKind {
public:
  FailureOr<Attribute> parse(StringRef chip,
                             const KernelLoweringOptions &options,
                             MLIRContext *context,
                             EmitErrorFn emitError) const override {
    return parseTargetId(chip, options.optLevel, context, emitError);
  }
  FailureOr<SmallVector<ImageAttr>>
  lower(gpu::GPUModuleOp kernels, Attribute target,
        const KernelLoweringOptions &options,
        RunPipelineFn runPipeline) const override {
    return AMDGCNLowering(kernels, cast<ROCDLTargetAttr>(target), options,
                          runPipeline)
        .run();
  }
  void registerDialects(DialectRegistry &registry) const override {
    OpPassManager pm(gpu::GPUModuleOp::getOperationName());
    addGPUStructurePasses(pm, [](OpPassManager &) {});
    addROCDLPasses(pm, names.exampleChip);
    pm.getDependentDialects(registry);
    OpPassManager math(ModuleOp::getOperationName());
    math.addPass(createConvertMathToROCDL());
    math.getDependentDialects(registry);
    registerGPULoweringDialects(registry);
    registerROCDLDialectTranslation(registry);
    ROCDL::registerROCDLTargetInterfaceExternalModels(registry);
  }
  SmallVector<std::string> findToolchain() const override {
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
};
} // namespace

const KernelTarget &gpuasync::getAMDGCNKernelTarget() {
  static const AMDGCNTarget target;
  return target;
}
