//===- GPULowering.h - lowering of kernels for GPUs -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the lowerings for NVIDIA's and AMD's devices share: their steps, in
// order, and code generation by LLVM.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_KERNELS_GPU_GPULOWERING_H
#define GPUASYNC_LIB_KERNELS_GPU_GPULOWERING_H

#include "GPUAsync/KernelMemory.h"
#include "GPUAsync/Kernels/Common/DataLayout.h"
#include "Kernels/Common/KernelLowering.h"
#include "LLVMThread.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Target/TargetMachine.h"
#include <functional>

namespace mlir::gpuasync {

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Upstream makes dynamic shared memory an empty variable of the module's own,
/// which lies anywhere among the static ones and is aligned to nothing; as an
/// external one it begins after them, at a multiple of `alignment` bytes.
void declareDynamicMemory(gpu::GPUModuleOp module, int64_t alignment);

/// Rewrites global ids, reductions of blocks, and what upstream's lowering
/// leaves out of the subgroup ops, for subgroups of `size` threads; refuses
/// what cannot be rewritten. Reductions of blocks become branches, so
/// structured control flow must be gone. `target` is for errors; `hasRedux`
/// says that reductions of 32 bits are instructions, nvvm.redux.sync.
LogicalResult expandSubgroupOps(gpu::GPUModuleOp module, int64_t size,
                                StringRef target, bool hasRedux);

//===----------------------------------------------------------------------===//
// Chips
//===----------------------------------------------------------------------===//

/// Checks a chip and features ("+a,-b") against LLVM's tables for `triple`,
/// whose code generator has been initialised. LLVM itself only warns.
LogicalResult checkChip(StringRef chip, StringRef features,
                        const DeviceKind &kind, StringRef triple,
                        EmitErrorFn emitError);

//===----------------------------------------------------------------------===//
// Vendors
//===----------------------------------------------------------------------===//

/// What a vendor's devices have.
struct GPUVendor {
  StringLiteral devices; ///< what they are called in errors
  StringLiteral dialect; ///< whose ops LLVM translates for them
  /// What a function of the math library begins with, and what it is, for
  /// errors.
  ArrayRef<StringLiteral> libraryPrefixes;
  StringLiteral library;
  /// The functions that the driver defines for loaded code.
  ArrayRef<StringLiteral> driverFunctions;
  /// Address spaces that pointers may point to, and that hold variables.
  ArrayRef<unsigned> pointerSpaces, variableSpaces;
  /// Scopes of atomics and fences besides "", the whole system.
  ArrayRef<StringLiteral> syncScopes;
  /// Whether there are fences for a thread alone.
  bool hasThreadFences;
  /// What the names of their intrinsics begin with.
  StringLiteral intrinsics;
  /// The most memory of its own that a kernel may have; with AMD's, whose chips
  /// differ, what LLVM counts up to before it compares with the chip's.
  KernelMemory memory;

  bool isInLibrary(StringRef function) const;
  bool isInDriver(StringRef function) const;
};

/// Refuses what LLVM has no code for, at its op: types, address spaces, scopes,
/// intrinsics and values of variables. After the lowering to the LLVM dialect.
LogicalResult checkLegal(gpu::GPUModuleOp module, const GPUVendor &vendor);

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

/// The address space of workgroup memory, of both vendors.
constexpr unsigned workgroupSpace = 3;

/// Has LLVM make code of a module, and collects what it has to say.
class CodeGenerator {
public:
  CodeGenerator(gpu::GPUModuleOp module, const GPUVendor &vendor,
                llvm::CodeGenFileType fileType)
      : module(module), vendor(vendor), fileType(fileType) {}

  /// Runs `serialize`, a Serializer. Reports LLVM's errors, fatal ones too, and
  /// functions that are used and that nothing defines, each at its function as
  /// far as that is known.
  FailureOr<std::string>
  run(function_ref<std::optional<SmallVector<char, 0>>()> serialize,
      function_ref<InFlightDiagnostic(Location)> emitError);

  /// Has LLVM's errors about a module collected.
  void watch(llvm::Module &llvmModule);
  /// Gives each variable the alignment that LLVM's optimisations take it to
  /// have: some code generators print a smaller one where none is said.
  static void alignVariables(llvm::Module &llvmModule);
  /// What the pass manager makes of an optimised module.
  FailureOr<SmallVector<char, 0>> emit(llvm::Module &llvmModule,
                                       llvm::TargetMachine &machine);

private:
  gpu::GPUModuleOp module;
  const GPUVendor &vendor;
  llvm::CodeGenFileType fileType;
  SmallVector<FatalError> problems;
};

/// Upstream's translation, libraries and optimisation for a target, `Base`,
/// with the code that a CodeGenerator makes.
template <typename Base>
class Serializer : public Base {
public:
  template <typename Target>
  Serializer(CodeGenerator &generator, gpu::GPUModuleOp module, Target target,
             StringRef toolkit)
      : Base(*module, target, gpu::TargetOptions(toolkit)),
        generator(generator),
        watch([&](llvm::Module &module) { generator.watch(module); }) {
    this->initialLlvmIRCallback = watch;
    this->linkedLlvmIRCallback = CodeGenerator::alignVariables;
    // Without a toolkit upstream looks for one itself.
    if (toolkit.empty())
      this->librariesToLink.assign(
          target.getLink() ? llvm::to_vector(target.getLink().getValue())
                           : SmallVector<Attribute>());
  }

  std::optional<SmallVector<char, 0>> run() override {
    FailureOr<llvm::TargetMachine *> machine = this->getOrCreateTargetMachine();
    if (failed(machine))
      return std::nullopt;
    setDataLayout(&this->getOperation(), (*machine)->createDataLayout());
    return Base::run();
  }

private:
  FailureOr<SmallVector<char, 0>>
  moduleToObject(llvm::Module &llvmModule) override {
    FailureOr<llvm::TargetMachine *> machine = this->getOrCreateTargetMachine();
    if (failed(machine))
      return failure();
    return generator.emit(llvmModule, **machine);
  }

  CodeGenerator &generator;
  std::function<void(llvm::Module &)> watch;
};

//===----------------------------------------------------------------------===//
// The steps in order
//===----------------------------------------------------------------------===//

/// Where a kernel's code looks for a parameter in the packed buffer, in bytes.
struct ParamPlace {
  int64_t offset, size;
  bool operator==(ParamPlace other) const {
    return offset == other.offset && size == other.size;
  }
};
/// nullopt: this is no description of a kernel's parameters.
using ParamPlaces = std::optional<SmallVector<ParamPlace>>;

/// Compiles a copy of a gpu.module for one target.
class GPULowering {
public:
  virtual ~GPULowering();
  FailureOr<SmallVector<ImageAttr>> run();

protected:
  GPULowering(gpu::GPUModuleOp source, const GPUVendor &vendor,
              const KernelLoweringOptions &options, RunPipelineFn runPipeline)
      : source(source), vendor(vendor), options(options),
        runPipeline(runPipeline), context(source.getContext()) {}

  /// The target, as it is written: "nvptx:sm_90".
  virtual std::string getTargetName() const = 0;
  virtual Attribute getTarget() const = 0;
  virtual int64_t getSubgroupSize() const = 0;
  /// Whether the target names files of functions.
  virtual bool linksFiles() const = 0;
  /// Whether a subgroup reduces 32 bits in an instruction.
  virtual bool hasRedux() const { return false; }
  /// Whether products and sums of `type`, f16 or bf16, are rounded once; LLVM
  /// computes others in single precision, and rounds the result.
  virtual bool hasFma(Type type) const = 0;

  /// Checks the target and finds the toolkit.
  virtual LogicalResult setUp() = 0;
  /// Checks and rewrites the copy, before anything is lowered.
  virtual LogicalResult prepare() = 0;
  /// Adds to the passes that lower structure, after loops over linalg.
  virtual void addStructurePasses(OpPassManager &pm) {}
  /// Lowers what would be lowered otherwise by the passes of addLowering().
  virtual LogicalResult lowerEarly() { return success(); }
  /// Adds the passes to the LLVM dialect and the vendor's own.
  virtual void addLowering(OpPassManager &pm) = 0;
  /// The C name of a math library's function on floats, "" if it is none.
  virtual StringRef getMathName(LLVM::CallOp call) = 0;
  /// Rewrites the module in the LLVM dialect.
  virtual void finish() = 0;
  /// Makes the images of `module`.
  virtual FailureOr<SmallVector<ImageAttr>> makeImages() = 0;

  InFlightDiagnostic error() { return error(source.getLoc()); }
  InFlightDiagnostic error(Location place) {
    return emitError(place) << "gpu.module @" << source.getName() << " for "
                            << getTargetName() << ": ";
  }
  /// Has LLVM's `Base` make the code of `module`.
  template <typename Base, typename Target>
  FailureOr<std::string> generate(Target target, llvm::CodeGenFileType type) {
    CodeGenerator generator(module, vendor, type);
    return generator.run(
        [&] {
          return Serializer<Base>(generator, module, target, toolkit).run();
        },
        [&](Location place) { return error(place); });
  }
  /// Refuses kernels whose code, as `read` finds there, takes its parameters
  /// from other places than launches put them to.
  LogicalResult checkParams(function_ref<ParamPlaces(StringRef kernel)> read);
  ImageAttr makeImage(ImageFormat format, StringRef arch, StringRef bytes);

  gpu::GPUModuleOp source;
  const GPUVendor &vendor;
  const KernelLoweringOptions &options;
  RunPipelineFn runPipeline;
  MLIRContext *context;
  ModuleOp work;           ///< holds `module` alone
  gpu::GPUModuleOp module; ///< the copy
  std::string toolkit;     ///< the folder of the math library, if there is one
  int64_t dynamicAlignment = 16;

private:
  LogicalResult lower();
  void callIntrinsics();
  void unpackParams();
  void dropInterfaceFunctions();
  void markKernels();
  void hideFunctions();
  LogicalResult checkDeclared();
  LogicalResult checkMemory();
};

/// For registering dialects: the passes to structure that all vendors share.
void addGPUStructurePasses(OpPassManager &pm,
                           function_ref<void(OpPassManager &)> addOwn);
void registerGPULoweringDialects(DialectRegistry &registry);

} // namespace mlir::gpuasync

#endif // GPUASYNC_LIB_KERNELS_GPU_GPULOWERING_H
