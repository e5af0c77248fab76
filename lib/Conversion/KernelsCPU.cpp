//===- KernelsCPU.cpp - kernels for the cpu device --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns each kernel into a block function (gpuasync_cpu_block_fn), which calls
// the kernel's body, with its place in the grid as arguments, for all threads
// of a block; a kernel with barriers is cut into pieces first (CpuRegions.cpp).
// LLVM inlines one into the other and vectorises the innermost loop.
//===----------------------------------------------------------------------===//

#include "CpuKernel.h"
#include "GPUAsync/Conversion/CpuCode.h"
#include "GPUAsync/Conversion/KernelABI.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "KernelLowering.h"
#include "gpuasync/RuntimeABI.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Passes.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Transforms/Passes.h"
#include <cstddef>

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::cpu;

//===----------------------------------------------------------------------===//
// What the cpu device supports
//===----------------------------------------------------------------------===//

static LogicalResult checkSupported(gpu::GPUModuleOp kernels) {
  if (failed(checkNoTensorMaps(kernels, "the cpu device")))
    return failure();
  WalkResult result = kernels->walk([](Operation *op) -> WalkResult {
    StringRef dialect = op->getName().getDialectNamespace();
    if (isa<gpu::GPUModuleOp, gpu::GPUFuncOp, gpu::ReturnOp, gpu::ThreadIdOp,
            gpu::BlockIdOp, gpu::BlockDimOp, gpu::GridDimOp, gpu::GlobalIdOp,
            gpu::LaneIdOp, gpu::SubgroupIdOp, gpu::NumSubgroupsOp,
            gpu::SubgroupSizeOp, gpu::ClusterIdOp, gpu::ClusterDimOp,
            gpu::ClusterDimBlocksOp, gpu::ClusterBlockIdOp, gpu::PrintfOp,
            gpu::DynamicSharedMemoryOp, gpu::YieldOp>(op) ||
        isCollective(op) || hasGpuOp(op))
      return WalkResult::advance();
    bool foreign = llvm::is_contained({"gpu", "nvvm", "nvgpu", "rocdl",
                                       "amdgpu", "xevm", "xegpu", "spirv"},
                                      dialect) ||
                   isa<LLVM::InlineAsmOp>(op);
    if (foreign || isa<func::CallIndirectOp>(op))
      return op->emitOpError("is not supported by the cpu device yet");
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// mayBlock
//===----------------------------------------------------------------------===//

namespace {
/// Whether a kernel may wait for other work. Only then does it need a thread of
/// its own; every other kernel provably ends.
class BlockingAnalysis {
public:
  bool mayBlock(FunctionOpInterface function) {
    return visit(function, /*inLoop=*/false);
  }

private:
  static bool isObservedAtomic(Operation *op) {
    // An atomic whose old value nobody looks at cannot be waited on.
    if (isa<memref::AtomicRMWOp, memref::GenericAtomicRMWOp, LLVM::AtomicRMWOp,
            LLVM::AtomicCmpXchgOp>(op))
      return !op->use_empty();
    if (auto load = dyn_cast<LLVM::LoadOp>(op))
      return load.getVolatile_() ||
             load.getOrdering() != LLVM::AtomicOrdering::not_atomic;
    return false;
  }

  /// Whether the blocks of a region can run again after themselves.
  static bool hasCycle(Region &region) {
    enum State { New, Open, Done };
    llvm::DenseMap<Block *, State> state;
    SmallVector<std::pair<Block *, unsigned>> stack;
    if (region.empty())
      return false;
    stack.push_back({&region.front(), 0});
    state[&region.front()] = Open;
    while (!stack.empty()) {
      auto &[block, next] = stack.back();
      if (next == block->getNumSuccessors()) {
        state[block] = Done;
        stack.pop_back();
        continue;
      }
      Block *successor = block->getSuccessor(next++);
      State &seen = state[successor];
      if (seen == Open)
        return true;
      if (seen == New) {
        seen = Open;
        stack.push_back({successor, 0});
      }
    }
    return false;
  }

  bool visit(FunctionOpInterface function, bool inLoop) {
    if (function.isExternal())
      return !function->hasAttr("llvm.readnone") &&
             !function.getName().starts_with("gpuasync_check_");
    if (active.contains(function))
      return true; // recursion
    active.insert(function);
    WalkResult result = function->walk([&](Operation *op) -> WalkResult {
      for (Region &region : op->getRegions())
        if (hasCycle(region))
          return WalkResult::interrupt();
      if (isa<scf::WhileOp>(op))
        return WalkResult::interrupt();
      bool repeated = inLoop;
      for (Operation *parent = op->getParentOp();
           !repeated && parent && parent != function;
           parent = parent->getParentOp())
        repeated = isa<LoopLikeOpInterface>(parent);
      if (repeated && isObservedAtomic(op))
        return WalkResult::interrupt();
      if (auto call = dyn_cast<CallOpInterface>(op)) {
        auto callee =
            dyn_cast_or_null<FunctionOpInterface>(call.resolveCallable());
        if (!callee || visit(callee, repeated))
          return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    active.erase(function);
    return result.wasInterrupted();
  }

  llvm::SmallPtrSet<Operation *, 8> active;
};
} // namespace

//===----------------------------------------------------------------------===//
// The lowering
//===----------------------------------------------------------------------===//

namespace {
class CPULowering {
public:
  CPULowering(gpu::GPUModuleOp kernels, RunPipelineFn runPipeline)
      : source(kernels), runPipeline(runPipeline),
        context(kernels.getContext()), builder(context),
        prefix(kernels.getName().str() + "_") {
    pointer = LLVM::LLVMPointerType::get(context);
    i64 = builder.getI64Type();
  }
  ~CPULowering() {
    if (work)
      work->erase();
  }

  FailureOr<ImageAttr> run();

private:
  /// A function of the kernel's module while it is being lowered.
  struct Function {
    FunctionOpInterface op;
    bool isKernel = false;
    bool mayBlock = false;
    bool mayFail = false;       ///< holds an assert or calls such a function
    int64_t workgroupBytes = 0; ///< static, with the module's globals
    int64_t threadBytes = 0;    ///< kept by a thread across barriers
    bool isCut = false;         ///< a kernel that calls its own regions
    /// Of a region: of its loops over the threads.
    LLVM::AccessGroupAttr group;
    /// Of a region: where in the static workgroup memory a failure is noted.
    int64_t failedOffset = -1;
    SmallVector<int64_t> params; ///< of a kernel
    /// Of a kernel: the sizes that every launch gives its blocks, 0 if unknown.
    std::array<int64_t, 3> blockSize = {0, 0, 0};
    /// The sizes are promised by an attribute; launches may break the promise.
    bool isPromised = false;
  };

  LogicalResult copyFunctions();
  LogicalResult renameFunctions();
  LogicalResult copyFunction(FunctionOpInterface function);
  void stripMemorySpaces();
  void placeWorkgroupGlobals();
  LogicalResult rewriteDeviceOps();
  LogicalResult rewriteOp(Operation *op, Function &function);
  LogicalResult rewritePrintf(gpu::PrintfOp op, Function &function);
  void rewriteCalls();
  LogicalResult cutKernels();
  bool mayFail(func::CallOp call);
  LogicalResult rewriteAsserts();
  LogicalResult lowerToLLVM();
  void markParallelAccesses(LLVM::LLVMFuncOp thread, Attribute group);
  LLVM::LLVMFuncOp buildBlockFunction(LLVM::LLVMFuncOp thread,
                                      const Function &kernel, Attribute group);
  LogicalResult splice();
  void findBlockSizes();
  Block *buildPromiseCheck(Block *entry, const Function &kernel,
                           ArrayRef<Value> given);

  Value getEnv(Function &function, unsigned which);
  Value getLinearThreadId(Function &function);
  Value makeString(Location loc, StringRef text);
  LLVM::LLVMFuncOp getAssertFail();
  LLVM::LLVMFuncOp getRuntimeFunction(StringRef name,
                                      LLVM::LLVMFunctionType type);
  static int64_t getBytes(MemRefType type) {
    return type.getNumElements() *
           DataLayout().getTypeSize(type.getElementType()).getFixedValue();
  }
  static int64_t getAlignment(MemRefType type) {
    return std::max<int64_t>(16, getAlignmentInMemory(type.getElementType()));
  }

  gpu::GPUModuleOp source;
  RunPipelineFn runPipeline;
  MLIRContext *context;
  OpBuilder builder;
  std::string prefix;
  Type pointer, i64;
  ModuleOp work;
  /// In the order of the module.
  llvm::MapVector<StringAttr, Function> functions;
  llvm::StringMap<int64_t> workgroupGlobals; ///< offsets
  /// What launches say, of each kernel.
  llvm::DenseMap<StringAttr, std::array<int64_t, 3>> blockSizes;
  int64_t workgroupGlobalBytes = 0;
  unsigned strings = 0;
};
} // namespace

Value CPULowering::getEnv(Function &function, unsigned which) {
  Block &entry = function.op.getFunctionBody().front();
  Value value = entry.getArgument(entry.getNumArguments() - EnvSize + which);
  if (which < Context && value.getType() == i64)
    return arith::IndexCastOp::create(builder, value.getLoc(),
                                      builder.getIndexType(), value);
  return value;
}

Value CPULowering::makeString(Location loc, StringRef text) {
  std::string bytes = text.str();
  bytes.push_back('\0');
  auto name = builder.getStringAttr("string_" + std::to_string(strings++));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(work.getBody());
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes.size());
    LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/true,
                           LLVM::Linkage::Internal, name,
                           builder.getStringAttr(bytes));
  }
  return LLVM::AddressOfOp::create(builder, loc, pointer, name);
}

LLVM::LLVMFuncOp CPULowering::getRuntimeFunction(StringRef name,
                                                 LLVM::LLVMFunctionType type) {
  if (auto function = work.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return function;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(work.getBody());
  return LLVM::LLVMFuncOp::create(builder, source.getLoc(), name, type);
}

LLVM::LLVMFuncOp CPULowering::getAssertFail() {
  Type i32 = builder.getI32Type();
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(context),
      {pointer, pointer, pointer, i32, i32, i64, i64, i64});
  return getRuntimeFunction("gpuasync_cpu_assert_fail", type);
}

//===----------------------------------------------------------------------===//
// From a gpu.module to functions with explicit places in the grid
//===----------------------------------------------------------------------===//

/// Finds the block sizes that all launches of a kernel agree about.
void CPULowering::findBlockSizes() {
  source->getParentOp()->walk([&](LaunchOp launch) {
    if (launch.getKernelModuleName() != source.getNameAttr())
      return;
    Value sizes[] = {launch.getBlockSizeX(), launch.getBlockSizeY(),
                     launch.getBlockSizeZ()};
    auto [known, isFirst] = blockSizes.try_emplace(launch.getKernelName());
    for (auto [size, value] : llvm::zip_equal(known->second, sizes)) {
      APInt constant;
      int64_t here = matchPattern(value, m_ConstantInt(&constant))
                         ? constant.getSExtValue()
                         : 0;
      size = isFirst || size == here ? here : 0;
    }
  });
}

LogicalResult CPULowering::copyFunction(FunctionOpInterface function) {
  Location loc = function.getLoc();
  builder.setInsertionPointToEnd(work.getBody());
  Function info;
  info.isKernel = isKernel(function);
  if (info.isKernel) {
    FailureOr<SmallVector<int64_t>> params = getKernelParamSizes(
        function.getArgumentTypes(), context, [&] { return emitError(loc); });
    if (failed(params))
      return failure();
    info.params = *params;
    info.mayBlock = BlockingAnalysis().mayBlock(function);
    // Loops over the threads are better where their number is known.
    auto known = dyn_cast<gpu::GPUFuncOp>(function.getOperation());
    auto promised = known ? known.getKnownBlockSize() : std::nullopt;
    if (promised) {
      llvm::copy(*promised, info.blockSize.begin());
      info.isPromised = true;
    } else {
      info.blockSize = blockSizes.lookup(SymbolTable::getSymbolName(function));
    }
  }

  if (auto gpuFunction = dyn_cast<gpu::GPUFuncOp>(function.getOperation())) {
    auto copy = func::FuncOp::create(builder, loc, gpuFunction.getName(),
                                     gpuFunction.getFunctionType());
    IRMapping mapping;
    gpuFunction.getBody().cloneInto(&copy.getBody(), mapping);
    Block &entry = copy.getBody().front();
    unsigned arguments = gpuFunction.getFunctionType().getNumInputs();
    // Attributions follow the arguments; they become memory of the block and
    // stack slots of the thread once the environment is there.
    SmallVector<BlockArgument> attributions(
        entry.getArguments().drop_front(arguments));
    unsigned workgroup = gpuFunction.getNumWorkgroupAttributions();
    SmallVector<Type> types(gpuFunction.getFunctionType().getInputs());
    for (unsigned i = 0; i < EnvSize; ++i) {
      Type type = i < Context ? Type(builder.getIndexType()) : pointer;
      entry.addArgument(type, loc);
      types.push_back(type);
    }
    copy.setFunctionType(
        builder.getFunctionType(types, copy.getFunctionType().getResults()));
    info.op = copy;
    builder.setInsertionPointToStart(&entry);
    info.workgroupBytes = workgroupGlobalBytes;
    for (auto [i, attribution] : llvm::enumerate(attributions)) {
      auto type = cast<MemRefType>(attribution.getType());
      if (!type.hasStaticShape())
        return emitError(loc)
               << "attribution of type " << type << " has no static size";
      type = MemRefType::get(type.getShape(), type.getElementType(),
                             type.getLayout());
      Value memref;
      if (i < workgroup) {
        info.workgroupBytes =
            llvm::alignTo(info.workgroupBytes, getAlignment(type));
        Value base = LLVM::GEPOp::create(
            builder, loc, pointer, builder.getI8Type(), getEnv(info, Workgroup),
            ArrayRef<LLVM::GEPArg>{int32_t(info.workgroupBytes)});
        memref = buildMemRef(builder, loc, base, type, Value());
        info.workgroupBytes += getBytes(type);
      } else {
        memref = memref::AllocaOp::create(
            builder, loc, type, builder.getI64IntegerAttr(getAlignment(type)));
      }
      attribution.replaceAllUsesWith(memref);
    }
    entry.eraseArguments(arguments, attributions.size());
    copy.walk([&](gpu::ReturnOp op) {
      builder.setInsertionPoint(op);
      func::ReturnOp::create(builder, op.getLoc(), op.getOperands());
      op.erase();
    });
    functions[builder.getStringAttr(gpuFunction.getName())] = info;
    return success();
  }

  auto copy = cast<FunctionOpInterface>(builder.clone(*function));
  if (copy.isExternal())
    return success();
  for (StringRef name :
       {"gpu.kernel", "nvvm.kernel", "rocdl.kernel", "nvvm.maxntid",
        "nvvm.reqntid", "nvvm.minctasm", "nvvm.maxnreg", "nvvm.cluster_dim"})
    copy->removeAttr(name);
  bool llvmFunction = isa<LLVM::LLVMFuncOp>(copy.getOperation());
  copy.removeArgAttrsAttr();
  // By hand: FunctionOpInterface cannot add arguments to a void llvm.func.
  SmallVector<Type> types(copy.getArgumentTypes());
  for (unsigned i = 0; i < EnvSize; ++i) {
    types.push_back(i >= Context   ? pointer
                    : llvmFunction ? i64
                                   : Type(builder.getIndexType()));
    copy.getFunctionBody().front().addArgument(types.back(), loc);
  }
  if (auto llvmCopy = dyn_cast<LLVM::LLVMFuncOp>(copy.getOperation()))
    llvmCopy.setFunctionType(LLVM::LLVMFunctionType::get(
        llvmCopy.getFunctionType().getReturnType(), types));
  else
    copy.setType(builder.getFunctionType(types, copy.getResultTypes()));
  if (auto llvmCopy = dyn_cast<LLVM::LLVMFuncOp>(copy.getOperation())) {
    llvmCopy.setCConv(LLVM::CConv::C);
    llvmCopy.setLinkage(LLVM::Linkage::Internal);
  }
  info.op = copy;
  info.workgroupBytes = workgroupGlobalBytes;
  functions[cast<SymbolOpInterface>(copy.getOperation()).getNameAttr()] = info;
  return success();
}

static bool isWorkgroupSpace(Attribute space) {
  if (auto gpuSpace = dyn_cast_or_null<gpu::AddressSpaceAttr>(space))
    return gpuSpace.getValue() == gpu::AddressSpace::Workgroup;
  if (auto number = dyn_cast_or_null<IntegerAttr>(space))
    return number.getInt() == 3;
  return false;
}

/// Gives module-level workgroup variables their place in every block's memory.
void CPULowering::placeWorkgroupGlobals() {
  auto place = [&](StringRef name, int64_t bytes, int64_t alignment) {
    workgroupGlobalBytes = llvm::alignTo(workgroupGlobalBytes, alignment);
    workgroupGlobals[name] = workgroupGlobalBytes;
    workgroupGlobalBytes += bytes;
  };
  for (Operation &op : *source.getBody()) {
    if (auto global = dyn_cast<memref::GlobalOp>(op)) {
      if (isWorkgroupSpace(global.getType().getMemorySpace()))
        place(global.getSymName(), getBytes(global.getType()),
              std::max<int64_t>(global.getAlignment().value_or(1),
                                getAlignment(global.getType())));
    } else if (auto global = dyn_cast<LLVM::GlobalOp>(op)) {
      if (global.getAddrSpace() == 3)
        place(
            global.getSymName(),
            DataLayout().getTypeSize(global.getGlobalType()).getFixedValue(),
            std::max<int64_t>({16, int64_t(global.getAlignment().value_or(1)),
                               getAlignmentInMemory(global.getGlobalType())}));
    }
  }
}

LogicalResult CPULowering::copyFunctions() {
  placeWorkgroupGlobals();
  for (Operation &op : *source.getBody()) {
    if (auto function = dyn_cast<FunctionOpInterface>(op)) {
      if (failed(copyFunction(function)))
        return failure();
      continue;
    }
    if (auto symbol = dyn_cast<SymbolOpInterface>(op))
      if (workgroupGlobals.contains(symbol.getName()))
        continue;
    builder.setInsertionPointToEnd(work.getBody());
    builder.clone(op);
  }
  return success();
}

/// Gives the functions names of their own at once: math ops will look for
/// functions like @exp, which may be the name of a kernel.
LogicalResult CPULowering::renameFunctions() {
  SymbolTable table(work);
  llvm::MapVector<StringAttr, Function> renamed;
  for (auto &[name, function] : functions) {
    std::string base = prefix + name.getValue().str();
    if (function.isKernel)
      base += "_thread";
    std::string unique = base;
    for (unsigned i = 0; table.lookup(unique); ++i)
      unique = base + "_" + std::to_string(i);
    if (failed(table.rename(function.op, unique)))
      return failure();
    renamed[builder.getStringAttr(unique)] = function;
  }
  functions = std::move(renamed);
  return success();
}

/// The host has one address space.
void CPULowering::stripMemorySpaces() {
  AttrTypeReplacer replacer;
  replacer.addReplacement([](MemRefType type) -> std::optional<Type> {
    if (!type.getMemorySpace())
      return std::nullopt;
    return MemRefType::get(type.getShape(), type.getElementType(),
                           type.getLayout());
  });
  replacer.addReplacement([](UnrankedMemRefType type) -> std::optional<Type> {
    if (!type.getMemorySpace())
      return std::nullopt;
    return UnrankedMemRefType::get(type.getElementType(), Attribute());
  });
  replacer.addReplacement(
      [](LLVM::LLVMPointerType type) -> std::optional<Type> {
        if (!type.getAddressSpace())
          return std::nullopt;
        return LLVM::LLVMPointerType::get(type.getContext());
      });
  replacer.recursivelyReplaceElementsIn(work, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  work.walk([](Operation *op) {
    if (auto global = dyn_cast<LLVM::GlobalOp>(op))
      global.setAddrSpace(0);
    if (isa<memref::MemorySpaceCastOp, LLVM::AddrSpaceCastOp>(op)) {
      op->getResult(0).replaceAllUsesWith(op->getOperand(0));
      op->erase();
    }
  });
}

//===----------------------------------------------------------------------===//
// Device ops
//===----------------------------------------------------------------------===//

/// The number of a thread in its block, x fastest.
Value CPULowering::getLinearThreadId(Function &function) {
  return buildLinearThreadId(
      builder, function.op.getLoc(),
      [&](unsigned which) { return getEnv(function, which); });
}

/// Passes the arguments as C's variadic calls do.
LogicalResult CPULowering::rewritePrintf(gpu::PrintfOp op, Function &function) {
  // The conversions of the format in their order, to know which small integers
  // are signed.
  StringRef format = op.getFormat();
  SmallVector<char> conversions;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%')
      continue;
    size_t end = format.find_first_not_of("0123456789.-+ #hlLjztq", i + 1);
    if (end == StringRef::npos)
      break;
    if (format[end] == '*')
      return op.emitOpError("with '*' in its format is not supported by the "
                            "cpu device yet");
    if (format[end] != '%')
      conversions.push_back(format[end]);
    i = end;
  }

  Location loc = op.getLoc();
  Type f64 = builder.getF64Type();
  SmallVector<Value> operands{getEnv(function, Context),
                              makeString(loc, format)};
  for (auto [i, value] : llvm::enumerate(op.getArgs())) {
    Type type = value.getType();
    if (type.isIndex()) {
      value = arith::IndexCastOp::create(builder, loc, i64, value);
    } else if (isa<FloatType>(type)) {
      if (type.getIntOrFloatBitWidth() > 64)
        return op.emitOpError("argument of type ")
               << type << " is not supported by the cpu device";
      if (type != f64)
        value = arith::ExtFOp::create(builder, loc, f64, value);
    } else {
      unsigned width = type.getIntOrFloatBitWidth();
      bool isSigned =
          width > 1 && (i >= conversions.size() || conversions[i] == 'd' ||
                        conversions[i] == 'i');
      Type wide = width <= 32 ? Type(builder.getI32Type()) : i64;
      if (width > 64)
        return op.emitOpError("argument of type ")
               << type << " is not supported by the cpu device";
      if (type != wide)
        value = isSigned
                    ? Value(arith::ExtSIOp::create(builder, loc, wide, value))
                    : Value(arith::ExtUIOp::create(builder, loc, wide, value));
    }
    operands.push_back(value);
  }
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                          {pointer, pointer},
                                          /*isVarArg=*/true);
  LLVM::CallOp::create(
      builder, loc, getRuntimeFunction("gpuasync_cpu_printf", type), operands);
  op.erase();
  return success();
}

LogicalResult CPULowering::rewriteOp(Operation *op, Function &function) {
  Location loc = op->getLoc();
  builder.setInsertionPoint(op);
  auto replace = [&](Value value) {
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
    return success();
  };
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  auto dim = [](auto op) { return static_cast<unsigned>(op.getDimension()); };
  if (auto id = dyn_cast<gpu::ThreadIdOp>(op))
    return replace(getEnv(function, ThreadId + dim(id)));
  if (auto id = dyn_cast<gpu::BlockIdOp>(op))
    return replace(getEnv(function, BlockId + dim(id)));
  if (auto id = dyn_cast<gpu::BlockDimOp>(op))
    return replace(getEnv(function, BlockDim + dim(id)));
  if (auto id = dyn_cast<gpu::GridDimOp>(op))
    return replace(getEnv(function, GridDim + dim(id)));
  // Every block is a cluster of its own.
  if (auto id = dyn_cast<gpu::ClusterIdOp>(op))
    return replace(getEnv(function, BlockId + dim(id)));
  if (auto id = dyn_cast<gpu::ClusterDimOp>(op))
    return replace(getEnv(function, GridDim + dim(id)));
  if (isa<gpu::ClusterDimBlocksOp>(op))
    return replace(constant(1));
  if (isa<gpu::ClusterBlockIdOp>(op))
    return replace(constant(0));
  if (auto id = dyn_cast<gpu::GlobalIdOp>(op)) {
    Value base =
        arith::MulIOp::create(builder, loc, getEnv(function, BlockId + dim(id)),
                              getEnv(function, BlockDim + dim(id)));
    return replace(arith::AddIOp::create(builder, loc, base,
                                         getEnv(function, ThreadId + dim(id))));
  }
  // Subgroups are 32 threads wide, as on CUDA devices.
  if (isa<gpu::SubgroupSizeOp>(op))
    return replace(constant(subgroupSize));
  if (isa<gpu::LaneIdOp>(op))
    return replace(arith::RemUIOp::create(
        builder, loc, getLinearThreadId(function), constant(subgroupSize)));
  if (isa<gpu::SubgroupIdOp>(op))
    return replace(arith::DivUIOp::create(
        builder, loc, getLinearThreadId(function), constant(subgroupSize)));
  if (isa<gpu::NumSubgroupsOp>(op)) {
    Value threads = getEnv(function, BlockDim);
    for (int i : {1, 2})
      threads = arith::MulIOp::create(builder, loc, threads,
                                      getEnv(function, BlockDim + i));
    threads = arith::AddIOp::create(builder, loc, threads,
                                    constant(subgroupSize - 1));
    return replace(
        arith::DivUIOp::create(builder, loc, threads, constant(subgroupSize)));
  }
  if (auto memory = dyn_cast<gpu::DynamicSharedMemoryOp>(op)) {
    Value address = LLVM::GEPOp::create(
        builder, loc, pointer, builder.getI8Type(), getEnv(function, Context),
        ArrayRef<LLVM::GEPArg>{
            int32_t(offsetof(gpuasync_cpu_block_ctx, dynamicSharedBytes))});
    Value size = LLVM::LoadOp::create(builder, loc, i64, address);
    return replace(buildMemRef(builder, loc, getEnv(function, Dynamic),
                               memory.getResultMemref().getType(), size));
  }
  if (auto get = dyn_cast<memref::GetGlobalOp>(op)) {
    auto place = workgroupGlobals.find(get.getName());
    if (place == workgroupGlobals.end())
      return success();
    Value base = LLVM::GEPOp::create(
        builder, loc, pointer, builder.getI8Type(), getEnv(function, Workgroup),
        ArrayRef<LLVM::GEPArg>{int32_t(place->second)});
    return replace(buildMemRef(builder, loc, base, get.getType(), Value()));
  }
  if (auto get = dyn_cast<LLVM::AddressOfOp>(op)) {
    auto place = workgroupGlobals.find(get.getGlobalName());
    if (place == workgroupGlobals.end())
      return success();
    return replace(LLVM::GEPOp::create(
        builder, loc, pointer, builder.getI8Type(), getEnv(function, Workgroup),
        ArrayRef<LLVM::GEPArg>{int32_t(place->second)}));
  }
  if (auto print = dyn_cast<gpu::PrintfOp>(op))
    return rewritePrintf(print, function);
  return success();
}

LogicalResult CPULowering::rewriteDeviceOps() {
  for (auto &[name, function] : functions) {
    SmallVector<Operation *> ops;
    function.op->walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops)
      if (failed(rewriteOp(op, function)))
        return failure();
  }
  return success();
}

/// Hands the environment on, and finds which functions can fail.
void CPULowering::rewriteCalls() {
  for (auto &entry : functions) {
    Function &function = entry.second;
    SmallVector<CallOpInterface> calls;
    function.op->walk([&](CallOpInterface op) { calls.push_back(op); });
    for (CallOpInterface call : calls) {
      auto symbol = dyn_cast<SymbolRefAttr>(call.getCallableForCallee());
      if (!symbol || !functions.contains(symbol.getRootReference()))
        continue;
      builder.setInsertionPoint(call);
      Block &body = function.op.getFunctionBody().front();
      SmallVector<Value> env(body.getArguments().take_back(EnvSize));
      bool toLLVM = isa<LLVM::CallOp>(call.getOperation());
      for (Value &value : env)
        if (isa<IndexType>(value.getType()) && toLLVM)
          value =
              arith::IndexCastOp::create(builder, call.getLoc(), i64, value);
        else if (value.getType() == i64 && !toLLVM)
          value = arith::IndexCastOp::create(builder, call.getLoc(),
                                             builder.getIndexType(), value);
      if (auto llvmCall = dyn_cast<LLVM::CallOp>(call.getOperation()))
        llvmCall.getCalleeOperandsMutable().append(env);
      else
        call.getArgOperandsMutable().append(env);
    }
    function.mayFail = false;
    function.op->walk([&](cf::AssertOp) { function.mayFail = true; });
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (auto &entry : functions) {
      Function &function = entry.second;
      if (function.mayFail)
        continue;
      function.op->walk([&](CallOpInterface call) {
        auto symbol = dyn_cast<SymbolRefAttr>(call.getCallableForCallee());
        auto callee = symbol ? functions.find(symbol.getRootReference())
                             : functions.end();
        if (callee != functions.end() && callee->second.mayFail)
          function.mayFail = changed = true;
      });
    }
  }
}

/// A failed assert ends its thread: the function returns at once, and one that
/// is not a kernel tells its caller so by an additional result.
LogicalResult CPULowering::rewriteAsserts() {
  Type i32 = builder.getI32Type(), i1 = builder.getI1Type();

  for (auto &[name, function] : functions) {
    if (!function.mayFail)
      continue;
    auto op = dyn_cast<func::FuncOp>(function.op.getOperation());
    if (!op)
      return emitError(
          function.op.getLoc(),
          "an assert in an llvm.func is not supported by the cpu device yet");
    SmallVector<Type> results(op.getFunctionType().getResults());
    SmallVector<Operation *> sites;
    WalkResult walked = op.walk([&](Operation *inner) -> WalkResult {
      bool isSite = isa<cf::AssertOp>(inner);
      // A region's failure is noted in the block's memory.
      if (auto call = dyn_cast<func::CallOp>(inner))
        isSite =
            mayFail(call) && !functions[call.getCalleeAttr().getAttr()].group;
      if (isSite && inner->getParentOp() != op)
        return inner->emitOpError("that may end its thread is not supported by "
                                  "the cpu device inside ")
               << inner->getParentOp()->getName();
      if (isSite)
        sites.push_back(inner);
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return failure();

    bool flagged = !function.isKernel && !function.group;
    if (flagged) {
      op.walk([&](func::ReturnOp ret) {
        builder.setInsertionPoint(ret);
        Value ended = arith::ConstantIntOp::create(builder, ret.getLoc(), 0, 1);
        ret.getOperandsMutable().append(ended);
      });
      SmallVector<Type> flaggedResults(results);
      flaggedResults.push_back(i1);
      op.setFunctionType(builder.getFunctionType(
          op.getFunctionType().getInputs(), flaggedResults));
    }

    // One block that all failures leave through.
    Block *leave = builder.createBlock(&op.getBody(), op.getBody().end());
    SmallVector<Value> values;
    for (Type type : results)
      values.push_back(ub::PoisonOp::create(builder, op.getLoc(), type));
    if (flagged)
      values.push_back(
          arith::ConstantIntOp::create(builder, op.getLoc(), 1, 1));
    if (function.group) {
      Value flag = LLVM::GEPOp::create(
          builder, op.getLoc(), pointer, builder.getI8Type(),
          getEnv(function, Workgroup),
          ArrayRef<LLVM::GEPArg>{int32_t(function.failedOffset)});
      Value one = arith::ConstantIntOp::create(builder, op.getLoc(),
                                               builder.getI8Type(), 1);
      LLVM::StoreOp::create(builder, op.getLoc(), one, flag);
    }
    func::ReturnOp::create(builder, op.getLoc(), values);

    for (Operation *site : sites) {
      Location loc = site->getLoc();
      Block *before = site->getBlock();
      if (auto call = dyn_cast<func::CallOp>(site)) {
        builder.setInsertionPoint(call);
        SmallVector<Type> types(call.getResultTypes());
        types.push_back(i1);
        auto flaggedCall = func::CallOp::create(builder, loc, call.getCallee(),
                                                types, call.getOperands());
        Block *after = before->splitBlock(call);
        call.replaceAllUsesWith(flaggedCall.getResults().drop_back());
        call.erase();
        builder.setInsertionPointToEnd(before);
        cf::CondBranchOp::create(builder, loc, flaggedCall.getResults().back(),
                                 leave, ValueRange(), after, ValueRange());
        continue;
      }
      auto check = cast<cf::AssertOp>(site);
      Block *after = before->splitBlock(check);
      if (check->hasAttr(silentName)) {
        builder.setInsertionPointToEnd(before);
        cf::CondBranchOp::create(builder, loc, check.getArg(), after,
                                 ValueRange(), leave, ValueRange());
        check.erase();
        continue;
      }
      Block *fail = builder.createBlock(leave);
      builder.setInsertionPointToEnd(before);
      cf::CondBranchOp::create(builder, loc, check.getArg(), after,
                               ValueRange(), fail, ValueRange());
      builder.setInsertionPointToStart(fail);
      auto place = loc->findInstanceOf<FileLineColLoc>();
      auto number = [&](unsigned value) -> Value {
        return LLVM::ConstantOp::create(builder, loc, i32,
                                        builder.getI32IntegerAttr(value));
      };
      SmallVector<Value> operands{
          getEnv(function, Context), makeString(loc, check.getMsg()),
          makeString(loc, place ? place.getFilename().getValue() : ""),
          number(place ? place.getLine() : 0),
          number(place ? place.getColumn() : 0)};
      for (int i = 0; i < 3; ++i)
        operands.push_back(arith::IndexCastOp::create(
            builder, loc, i64, getEnv(function, ThreadId + i)));
      LLVM::CallOp::create(builder, loc, getAssertFail(), operands);
      cf::BranchOp::create(builder, loc, leave);
      check.erase();
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

bool CPULowering::mayFail(func::CallOp call) {
  auto callee = functions.find(call.getCalleeAttr().getAttr());
  return callee != functions.end() && callee->second.mayFail;
}

/// What stands in registers need not be kept across barriers.
static void buildPromotionPipeline(OpPassManager &pm) {
  pm.addPass(createSROA());
  pm.addPass(createMem2Reg());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

/// Cuts the kernels that hold barriers, and those whose loops are better run
/// around the loops over the threads.
LogicalResult CPULowering::cutKernels() {
  auto holdsCollective = [](Operation *root) {
    return root
        ->walk([](Operation *op) {
          return isCollective(op) ? WalkResult::interrupt()
                                  : WalkResult::advance();
        })
        .wasInterrupted();
  };
  llvm::SetVector<Operation *> meeting;
  for (auto &[name, function] : functions)
    if (holdsCollective(function.op))
      meeting.insert(function.op);
  for (bool changed = !meeting.empty(); changed;) {
    changed = false;
    for (auto &entry : functions) {
      Operation *caller = entry.second.op;
      caller->walk([&](CallOpInterface call) {
        auto symbol = dyn_cast<SymbolRefAttr>(call.getCallableForCallee());
        auto callee = symbol ? functions.find(symbol.getRootReference())
                             : functions.end();
        if (callee != functions.end() && meeting.contains(callee->second.op))
          changed |= meeting.insert(caller);
      });
    }
  }
  for (Operation *op : meeting)
    if (isa<LLVM::LLVMFuncOp>(op))
      return op->emitOpError("holds a barrier or a subgroup op, which is not "
                             "supported in an llvm.func by the cpu device yet");

  SmallVector<std::pair<StringAttr, Function>> regions;
  for (auto &[name, function] : functions) {
    auto kernel = dyn_cast<func::FuncOp>(function.op.getOperation());
    if (!function.isKernel || !kernel)
      continue;
    if (meeting.contains(kernel)) {
      if (failed(structureAroundBarriers(kernel)))
        return failure();
      OpPassManager promotion(func::FuncOp::getOperationName());
      buildPromotionPipeline(promotion);
      if (failed(runPipeline(promotion, kernel)))
        return failure();
    }
    FailureOr<std::optional<CutKernel>> cut =
        cutAtBarriers(kernel, function.workgroupBytes, function.blockSize[0],
                      [&](func::CallOp call) { return mayFail(call); });
    if (failed(cut))
      return failure();
    if (!*cut)
      continue;
    function.isCut = true;
    function.mayFail = false;
    function.workgroupBytes = (*cut)->workgroupBytes;
    function.threadBytes = (*cut)->threadBytes;
    for (ParallelRegion &region : (*cut)->regions) {
      Function info;
      info.op = region.function;
      info.mayFail = region.mayFail;
      info.group = region.group;
      info.failedOffset = (*cut)->failedOffset;
      function.mayFail |= region.mayFail;
      regions.push_back({region.function.getSymNameAttr(), info});
    }
  }
  // Their callers hold copies of them.
  for (Operation *op : meeting) {
    auto function = cast<SymbolOpInterface>(op);
    if (functions[function.getNameAttr()].isKernel)
      continue;
    functions.erase(function.getNameAttr());
    op->erase();
  }
  for (auto &[name, region] : regions)
    functions[name] = region;
  hoistAllocas(work);
  return success();
}

//===----------------------------------------------------------------------===//
// To the LLVM dialect
//===----------------------------------------------------------------------===//

/// To loops, so that kernels can be cut at their barriers.
static void buildStructurePipeline(OpPassManager &pm) {
  pm.addPass(createConvertLinalgToLoopsPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createConvertVectorToSCFPass());
  pm.addPass(createForallToForLoopPass());
  pm.addPass(createConvertComplexToStandardPass());
  pm.addPass(createCanonicalizerPass());
}

static void buildLLVMPipeline(OpPassManager &pm) {
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(arith::createArithExpandOpsPass());
  pm.addPass(createConvertMathToFuncs());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createConvertToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void gpuasync::registerCPULoweringDialects(DialectRegistry &registry) {
  OpPassManager pm(ModuleOp::getOperationName());
  buildStructurePipeline(pm);
  buildPromotionPipeline(pm);
  pm.addPass(createSCFToControlFlowPass());
  buildLLVMPipeline(pm);
  pm.getDependentDialects(registry);
  registerConvertToLLVMInterfaces(registry);
}

/// Upstream's lowering wants an op inside that makes the new value; what
/// canonicalisation has found to be known is written without it.
static void lowerKnownAtomics(Operation *root) {
  root->walk([](memref::GenericAtomicRMWOp op) {
    Value value = op.getBody()->getTerminator()->getOperand(0);
    if (value.getParentRegion() == &op.getRegion())
      return;
    OpBuilder builder(op);
    op.replaceAllUsesWith(
        memref::AtomicRMWOp::create(builder, op.getLoc(), value.getType(),
                                    arith::AtomicRMWKind::assign, value,
                                    op.getMemref(), op.getIndices())
            .getResult());
    op.erase();
  });
}

LogicalResult CPULowering::lowerToLLVM() {
  hoistAllocas(work);
  expandCopies(work);
  expandFloatAtomics(work);
  OpPassManager structure(ModuleOp::getOperationName());
  buildStructurePipeline(structure);
  if (failed(runPipeline(structure, work)))
    return failure();
  lowerKnownAtomics(work);
  if (failed(cutKernels()))
    return failure();
  // Branches: asserts can then leave their function.
  OpPassManager branches(ModuleOp::getOperationName());
  branches.addPass(createSCFToControlFlowPass());
  if (failed(runPipeline(branches, work)) || failed(rewriteAsserts()) ||
      failed(lowerMathToLibm(work)))
    return failure();
  lowerVectors(work);
  OpPassManager lower(ModuleOp::getOperationName());
  buildLLVMPipeline(lower);
  if (failed(runPipeline(lower, work)))
    return failure();
  return checkAllLowered(work, LLVM::LLVMDialect::getDialectNamespace(),
                         "the cpu device");
}

//===----------------------------------------------------------------------===//
// Block functions
//===----------------------------------------------------------------------===//

/// Marks what a thread reads and writes through the function's arguments as
/// independent of the block's other threads. Without a barrier between them,
/// one thread may not rely on another's plain accesses: that is a data race.
/// Atomic and volatile accesses are left out, and so is the thread's own stack,
/// which all threads of the loop share once the thread function is inlined.
void CPULowering::markParallelAccesses(LLVM::LLVMFuncOp thread,
                                       Attribute group) {
  auto throughArgument = [&](Value address) {
    while (true) {
      if (auto gep = address.getDefiningOp<LLVM::GEPOp>())
        address = gep.getBase();
      else if (auto cast = address.getDefiningOp<LLVM::BitcastOp>())
        address = cast.getArg();
      else
        break;
    }
    auto argument = dyn_cast<BlockArgument>(address);
    return argument && argument.getOwner() == &thread.getBody().front();
  };
  ArrayAttr groups = builder.getArrayAttr(group);
  thread.walk([&](Operation *op) {
    if (auto load = dyn_cast<LLVM::LoadOp>(op)) {
      if (!load.getVolatile_() &&
          load.getOrdering() == LLVM::AtomicOrdering::not_atomic &&
          throughArgument(load.getAddr()))
        load.setAccessGroupsAttr(groups);
    } else if (auto store = dyn_cast<LLVM::StoreOp>(op)) {
      if (!store.getVolatile_() &&
          store.getOrdering() == LLVM::AtomicOrdering::not_atomic &&
          throughArgument(store.getAddr()))
        store.setAccessGroupsAttr(groups);
    }
  });
}

/// A launch with another block size than known_block_size fails. Returns the
/// block in which the kernel goes on.
Block *CPULowering::buildPromiseCheck(Block *entry, const Function &kernel,
                                      ArrayRef<Value> given) {
  Location loc = source.getLoc();
  Type i32 = builder.getI32Type();
  std::string message = "launched with another block size than its "
                        "known_block_size, ";
  Value differs;
  for (auto [i, size] : llvm::enumerate(kernel.blockSize)) {
    Value known = LLVM::ConstantOp::create(builder, loc, i64,
                                           builder.getI64IntegerAttr(size));
    Value differsHere = LLVM::ICmpOp::create(
        builder, loc, LLVM::ICmpPredicate::ne, given[i], known);
    differs =
        differs ? Value(LLVM::OrOp::create(builder, loc, differs, differsHere))
                : differsHere;
    message += (i ? " x " : "") + std::to_string(size);
  }
  Block *refuse =
      builder.createBlock(entry->getParent(), entry->getParent()->end());
  Block *rest =
      builder.createBlock(entry->getParent(), entry->getParent()->end());
  builder.setInsertionPointToEnd(entry);
  LLVM::CondBrOp::create(builder, loc, differs, refuse, rest);
  builder.setInsertionPointToStart(refuse);
  auto number = [&](Type type) -> Value {
    return LLVM::ConstantOp::create(builder, loc, type,
                                    builder.getIntegerAttr(type, 0));
  };
  LLVM::CallOp::create(builder, loc, getAssertFail(),
                       ValueRange{entry->getArgument(0),
                                  makeString(loc, message), makeString(loc, ""),
                                  number(i32), number(i32), number(i64),
                                  number(i64), number(i64)});
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  builder.setInsertionPointToEnd(rest);
  return rest;
}

/// Builds
///   void block(ctx, params, workgroup) {
///     load the parameters and the grid position;
///     for z, y, x: thread(parameters..., x, y, z, ...);
///   }
/// The body of a kernel that was cut has the loops inside and is called once.
LLVM::LLVMFuncOp CPULowering::buildBlockFunction(LLVM::LLVMFuncOp thread,
                                                 const Function &kernel,
                                                 Attribute group) {
  Location loc = thread.getLoc();
  builder.setInsertionPointAfter(thread);
  StringRef name = thread.getName();
  name.consume_back("_thread");
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                          {pointer, pointer, pointer});
  auto block = LLVM::LLVMFuncOp::create(builder, loc, (name + "_block").str(),
                                        type, LLVM::Linkage::Internal);
  block.setVisibility(SymbolTable::Visibility::Private);
  // The three buffers are the runtime's own; no argument of a kernel points
  // there.
  StringRef noAlias = LLVM::LLVMDialect::getNoAliasAttrName();
  StringRef readOnly = LLVM::LLVMDialect::getReadonlyAttrName();
  for (unsigned i = 0; i < 3; ++i) {
    block.setArgAttr(i, noAlias, builder.getUnitAttr());
    if (i < 2)
      block.setArgAttr(i, readOnly, builder.getUnitAttr());
  }
  Block *entry = block.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  Value ctx = entry->getArgument(0), params = entry->getArgument(1),
        workgroup = entry->getArgument(2);
  auto address = [&](Value base, int64_t offset) -> Value {
    if (!offset)
      return base;
    return LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(), base,
                               ArrayRef<LLVM::GEPArg>{int32_t(offset)},
                               LLVM::GEPNoWrapFlags::inbounds);
  };
  auto constant = [&](int64_t value) -> Value {
    return LLVM::ConstantOp::create(builder, loc, i64,
                                    builder.getI64IntegerAttr(value));
  };

  SmallVector<Value> arguments;
  SmallVector<int64_t> offsets = getKernelParamOffsets(kernel.params);
  for (auto [i, size, offset] : llvm::enumerate(kernel.params, offsets))
    arguments.push_back(
        LLVM::LoadOp::create(builder, loc, thread.getArgumentTypes()[i],
                             address(params, offset), /*alignment=*/size));
  unsigned env = arguments.size();
  arguments.resize(env + EnvSize);
  auto loadField = [&](unsigned which, size_t offset) {
    for (int i = 0; i < 3; ++i)
      arguments[env + which + i] =
          LLVM::LoadOp::create(builder, loc, i64, address(ctx, offset + 8 * i));
  };
  loadField(GridDim, offsetof(gpuasync_cpu_block_ctx, gridDim));
  loadField(BlockDim, offsetof(gpuasync_cpu_block_ctx, blockDim));
  SmallVector<Value> given(arguments.begin() + env + BlockDim,
                           arguments.begin() + env + BlockDim + 3);
  for (int i = 0; i < 3; ++i)
    if (kernel.blockSize[i] > 0)
      arguments[env + BlockDim + i] = constant(kernel.blockSize[i]);
  loadField(BlockId, offsetof(gpuasync_cpu_block_ctx, blockIdx));
  arguments[env + Context] = ctx;
  arguments[env + Workgroup] = workgroup;
  arguments[env + Dynamic] =
      address(workgroup, llvm::alignTo(kernel.workgroupBytes, 16));

  if (kernel.isPromised)
    entry = buildPromiseCheck(entry, kernel, given);
  Value zero = constant(0), one = constant(1);
  if (kernel.isCut) {
    for (int dim : {0, 1, 2})
      arguments[env + ThreadId + dim] = zero;
    LLVM::CallOp::create(builder, loc, thread, arguments);
    LLVM::ReturnOp::create(builder, loc, ValueRange());
    return block;
  }

  // The loops are built from the outside in: a header per dimension, which
  // either runs the next one or goes on with the one around it.
  Block *exit = builder.createBlock(&block.getBody(), block.getBody().end());
  builder.setInsertionPointToStart(exit);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  Block *outerLatch = exit, *from = entry;
  for (int dim : {2, 1, 0}) {
    Block *header = builder.createBlock(exit, {i64}, {loc});
    Block *body = builder.createBlock(exit);
    Block *latch = builder.createBlock(outerLatch);
    builder.setInsertionPointToEnd(from);
    LLVM::BrOp::create(builder, loc, zero, header);
    builder.setInsertionPointToEnd(header);
    Value id = header->getArgument(0);
    Value more = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::slt,
                                      id, arguments[env + BlockDim + dim]);
    LLVM::CondBrOp::create(builder, loc, more, body, outerLatch);
    builder.setInsertionPointToEnd(latch);
    Value next = LLVM::AddOp::create(builder, loc, id, one,
                                     LLVM::IntegerOverflowFlags::nsw |
                                         LLVM::IntegerOverflowFlags::nuw);
    auto back = LLVM::BrOp::create(builder, loc, next, header);
    if (dim == 0)
      back.setLoopAnnotationAttr(buildParallelAnnotation(
          cast<LLVM::AccessGroupAttr>(group), kernel.blockSize[0]));
    arguments[env + ThreadId + dim] = id;
    outerLatch = latch;
    from = body;
  }
  builder.setInsertionPointToEnd(from);
  LLVM::CallOp::create(builder, loc, thread, arguments);
  LLVM::BrOp::create(builder, loc, outerLatch);
  return block;
}

/// Moves everything into the program under names of its own.
LogicalResult CPULowering::splice() {
  Operation *host = source->getParentOp();
  SymbolTable hostTable(host);
  SymbolTable workTable(work);
  Block *hostBody = &host->getRegion(0).front();
  SmallVector<Operation *> ops;
  for (Operation &op : *work.getBody())
    ops.push_back(&op);
  llvm::StringMap<StringAttr> renamed;

  for (Operation *op : ops) {
    auto symbol = dyn_cast<SymbolOpInterface>(op);
    if (!symbol)
      continue;
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    if (function && function.isExternal()) {
      Operation *present = hostTable.lookup(symbol.getName());
      bool runtime =
          symbol.getName().starts_with("gpuasync_") || function.isVarArg() ||
          llvm::is_contained({"malloc", "free", "aligned_alloc", "memrefCopy"},
                             symbol.getName());
      if (!present && runtime)
        continue;
      if (auto same = dyn_cast_or_null<LLVM::LLVMFuncOp>(present)) {
        if (same.getFunctionType() != function.getFunctionType())
          return same.emitOpError("is declared with type ")
                 << same.getFunctionType() << " but kernels of @"
                 << source.getName() << " call it with "
                 << function.getFunctionType();
        op->erase();
        continue;
      }
      // The host's own lowering may still want this function as a func.func
      // (math to libm); it then also turns our calls into llvm.call.
      SmallVector<Type> results;
      if (!isa<LLVM::LLVMVoidType>(function.getFunctionType().getReturnType()))
        results.push_back(function.getFunctionType().getReturnType());
      auto type = builder.getFunctionType(function.getArgumentTypes(), results);
      auto declared = dyn_cast_or_null<func::FuncOp>(present);
      if (present && (!declared || declared.getFunctionType() != type))
        return present->emitOpError("is not the function of type ")
               << type << " that kernels of @" << source.getName() << " call";
      if (!declared) {
        builder.setInsertionPointToStart(hostBody);
        declared = func::FuncOp::create(builder, function.getLoc(),
                                        symbol.getName(), type);
        declared.setVisibility(SymbolTable::Visibility::Private);
        hostTable.insert(declared);
      }
      if (auto uses = SymbolTable::getSymbolUses(op, work))
        for (SymbolTable::SymbolUse use : llvm::make_early_inc_range(*uses)) {
          auto call = dyn_cast<LLVM::CallOp>(use.getUser());
          if (!call)
            return use.getUser()->emitOpError(
                       "takes the address of a function, which ")
                   << "is not supported by the cpu device";
          builder.setInsertionPoint(call);
          auto replacement = func::CallOp::create(
              builder, call.getLoc(), declared, call.getArgOperands());
          call.replaceAllUsesWith(replacement.getResults());
          call.erase();
        }
      op->erase();
      continue;
    }
    // Our own names begin with the gpu.module's.
    std::string base = symbol.getName().str();
    if (!StringRef(base).starts_with(prefix))
      base = prefix + base;
    std::string unique = base;
    for (unsigned i = 0;
         hostTable.lookup(unique) ||
         (workTable.lookup(unique) && workTable.lookup(unique) != op);
         ++i)
      unique = base + "_" + std::to_string(i);
    if (unique != symbol.getName() && failed(workTable.rename(op, unique)))
      return failure();
  }
  while (!work.getBody()->empty())
    work.getBody()->front().moveBefore(source);
  return success();
}

/// See CpuCode.h.
static void markAsKernelCode(LLVM::LLVMFuncOp function) {
  SmallVector<Attribute> attributes;
  if (ArrayAttr present = function.getPassthroughAttr())
    llvm::append_range(attributes, present);
  attributes.push_back(
      StringAttr::get(function.getContext(), cpuKernelAttribute));
  function.setPassthroughAttr(
      ArrayAttr::get(function.getContext(), attributes));
}

FailureOr<ImageAttr> CPULowering::run() {
  if (failed(checkSupported(source)) || failed(checkNoHostOps(source)))
    return failure();
  builder.setInsertionPointAfter(source);
  work = ModuleOp::create(builder, source.getLoc());
  findBlockSizes();
  if (failed(copyFunctions()) || failed(renameFunctions()))
    return failure();
  stripMemorySpaces();
  replaceByGpuOps(work);
  if (failed(rewriteDeviceOps()))
    return failure();
  rewriteCalls();
  if (failed(lowerToLLVM()))
    return failure();

  // Upstream hands attributes of loops on without making them known to LLVM.
  work.walk([](LLVM::BrOp branch) {
    if (Attribute annotation = branch->removeDiscardableAttr(annotationName))
      branch.setLoopAnnotationAttr(cast<LLVM::LoopAnnotationAttr>(annotation));
  });

  SmallVector<std::pair<LLVM::LLVMFuncOp, const Function *>> blocks;
  for (auto &[name, function] : functions) {
    auto lowered = work.lookupSymbol<LLVM::LLVMFuncOp>(name);
    lowered.setVisibility(SymbolTable::Visibility::Private);
    lowered.setLinkage(LLVM::Linkage::Internal);
    markAsKernelCode(lowered);
    if (!function.isKernel && !function.group)
      continue;
    lowered.setAlwaysInline(true);
    Attribute group = function.group;
    if (!group && !function.isCut)
      group = LLVM::AccessGroupAttr::get(context);
    if (group)
      markParallelAccesses(lowered, group);
    if (!function.isKernel)
      continue;
    blocks.push_back({buildBlockFunction(lowered, function, group), &function});
  }
  if (failed(splice()))
    return failure();
  SmallVector<Attribute> entries;
  for (auto [block, function] : blocks)
    entries.push_back(CpuKernelAttr::get(
        context, FlatSymbolRefAttr::get(block.getSymNameAttr()),
        function->workgroupBytes, function->threadBytes, function->mayBlock));
  return ImageAttr::get(context, ImageFormat::CPU, "", StringAttr(),
                        builder.getArrayAttr(entries));
}

FailureOr<ImageAttr> gpuasync::lowerKernelsForCPU(gpu::GPUModuleOp kernels,
                                                  RunPipelineFn runPipeline) {
  return CPULowering(kernels, runPipeline).run();
}
