//===- Functions.cpp - functions with a place in the grid -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies the functions of a gpu.module into a module of their own, with their
// place in the grid as arguments, and gives workgroup memory its place.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Memory/TypeLayout.h"
#include "GPUAsync/KernelMemory.h"
#include "GPUAsync/Kernels/Common/KernelABI.h"
#include "Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::cpu;

/// Finds the block sizes that all launches of a kernel agree about.
void CPULowering::findBlockSizes() {
  source->getParentOp()->walk([&](WorkOpInterface work) {
    if (!runsKernel(work) ||
        work.getCode().getRootReference() != source.getNameAttr())
      return;
    auto [known, isFirst] =
        blockSizes.try_emplace(work.getCode().getLeafReference());
    auto launch = dyn_cast<LaunchOp>(*work);
    if (!launch) {
      // Another dialect's op has block sizes of its own.
      known->second = {};
      return;
    }
    Value sizes[] = {launch.getBlockSizeX(), launch.getBlockSizeY(),
                     launch.getBlockSizeZ()};
    for (auto [size, value] : llvm::zip_equal(known->second, sizes)) {
      APInt constant;
      int64_t here = matchPattern(value, m_ConstantInt(&constant))
                         ? constant.getSExtValue()
                         : 0;
      size = isFirst || size == here ? here : 0;
    }
  });
}

/// What the runtime aligns the memory of a block to.
constexpr int64_t maxWorkgroupAlignment = 256;
constexpr StringRef alignmentName = "llvm.align";

/// Takes `bytes` of static workgroup memory, of which `used` are taken already,
/// and returns where they begin. Blocks have far less than the limit here,
/// which keeps sums exact: the runtime knows how much.
static FailureOr<int64_t> reserve(Location loc, int64_t &used, int64_t bytes,
                                  int64_t alignment) {
  constexpr int64_t limit = cpuKernelMemory.workgroupBytes;
  int64_t place = llvm::alignTo(used, alignment);
  if (place > limit || bytes > limit - place)
    return emitError(loc)
           << "static workgroup memory adds up to more than " << limit
           << " bytes, which no block of the cpu device has: let kernels use "
              "memory that they are given";
  used = place + bytes;
  return place;
}

/// Makes the attributions of `function`, which follow its arguments in its copy
/// too, memory of the block and stack slots of the thread.
LogicalResult CPULowering::placeAttributions(gpu::GPUFuncOp function,
                                             Function &info) {
  Location loc = function.getLoc();
  Block &entry = info.op.getFunctionBody().front();
  unsigned arguments = function.getFunctionType().getNumInputs();
  unsigned workgroup = function.getNumWorkgroupAttributions();
  SmallVector<BlockArgument> attributions(
      entry.getArguments().drop_front(arguments).drop_back(EnvSize));
  builder.setInsertionPointToStart(&entry);
  for (auto [i, attribution] : llvm::enumerate(attributions)) {
    auto type = cast<MemRefType>(attribution.getType());
    std::optional<int64_t> bytes = getBytesInMemory(type);
    if (!bytes)
      return emitError(loc)
             << "attribution of type " << type << " has no static size";
    type = MemRefType::get(type.getShape(), type.getElementType(),
                           type.getLayout());
    Value memref;
    int64_t alignment = getAlignment(type);
    if (i < workgroup)
      alignment = std::max(alignment, getWorkgroupAlignment(*bytes));
    auto wanted = dyn_cast_or_null<IntegerAttr>(
        i < workgroup
            ? function.getWorkgroupAttributionAttr(i, alignmentName)
            : function.getPrivateAttributionAttr(i - workgroup, alignmentName));
    if (wanted)
      alignment = std::max<int64_t>(alignment, wanted.getInt());
    if (alignment > maxWorkgroupAlignment)
      return emitError(loc)
             << "attribution of type " << type << " wants an alignment of "
             << alignment << " bytes, where the cpu device has "
             << maxWorkgroupAlignment;
    if (i < workgroup) {
      FailureOr<int64_t> place =
          reserve(loc, info.workgroupBytes, *bytes, alignment);
      if (failed(place))
        return failure();
      Value base = LLVM::GEPOp::create(
          builder, loc, pointer, builder.getI8Type(), getEnv(info, Workgroup),
          ArrayRef<LLVM::GEPArg>{int32_t(*place)});
      memref = buildMemRef(builder, loc, base, type, Value());
    } else {
      memref = memref::AllocaOp::create(builder, loc, type,
                                        builder.getI64IntegerAttr(alignment));
    }
    attribution.replaceAllUsesWith(memref);
  }
  entry.eraseArguments(arguments, attributions.size());
  return success();
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
    info.mayBlock = cpu::mayBlock(function);
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

  FunctionOpInterface copy;
  auto gpuFunction = dyn_cast<gpu::GPUFuncOp>(function.getOperation());
  if (gpuFunction) {
    auto made = func::FuncOp::create(builder, loc, gpuFunction.getName(),
                                     gpuFunction.getFunctionType());
    IRMapping mapping;
    gpuFunction.getBody().cloneInto(&made.getBody(), mapping);
    made.walk([&](gpu::ReturnOp op) {
      builder.setInsertionPoint(op);
      func::ReturnOp::create(builder, op.getLoc(), op.getOperands());
      op.erase();
    });
    copy = made;
  } else if (cutLlvmFunctions.contains(function)) {
    FailureOr<func::FuncOp> made =
        copyAsFunc(builder, cast<LLVM::LLVMFuncOp>(function.getOperation()));
    if (failed(made))
      return failure();
    copy = *made;
  } else {
    copy = cast<FunctionOpInterface>(builder.clone(*function));
  }
  if (copy.isExternal())
    return success();
  makeWorkgroupAtomicsPlain(copy);
  for (StringRef name :
       {"gpu.kernel", "nvvm.kernel", "rocdl.kernel", "nvvm.maxntid",
        "nvvm.reqntid", "nvvm.minctasm", "nvvm.maxnreg", "nvvm.cluster_dim"})
    copy->removeAttr(name);
  copy.removeArgAttrsAttr();

  // By hand: FunctionOpInterface cannot add arguments to a void llvm.func.
  auto llvmCopy = dyn_cast<LLVM::LLVMFuncOp>(copy.getOperation());
  SmallVector<Type> types(copy.getArgumentTypes());
  for (unsigned i = 0; i < EnvSize; ++i) {
    types.push_back(i >= Context ? pointer
                    : llvmCopy   ? i64
                                 : Type(builder.getIndexType()));
    copy.getFunctionBody().front().addArgument(types.back(), loc);
  }
  if (llvmCopy) {
    llvmCopy.setFunctionType(LLVM::LLVMFunctionType::get(
        llvmCopy.getFunctionType().getReturnType(), types));
    llvmCopy.setCConv(LLVM::CConv::C);
    llvmCopy.setLinkage(LLVM::Linkage::Internal);
  } else {
    copy.setType(builder.getFunctionType(types, copy.getResultTypes()));
  }
  info.op = copy;
  info.workgroupBytes = workgroupGlobalBytes;
  if (gpuFunction && failed(placeAttributions(gpuFunction, info)))
    return failure();
  functions[cast<SymbolOpInterface>(copy.getOperation()).getNameAttr()] = info;
  return success();
}

/// Gives module-level workgroup variables their place in every block's memory.
LogicalResult CPULowering::placeWorkgroupGlobals() {
  auto place = [&](Operation *global, StringRef name, int64_t bytes,
                   int64_t alignment) -> LogicalResult {
    FailureOr<int64_t> found =
        reserve(global->getLoc(), workgroupGlobalBytes, bytes, alignment);
    if (failed(found))
      return failure();
    workgroupGlobals[name] = *found;
    return success();
  };
  for (Operation &op : *source.getBody()) {
    if (auto global = dyn_cast<memref::GlobalOp>(op)) {
      MemRefType type = global.getType();
      if (!nvgpu::NVGPUDialect::isSharedMemoryAddressSpace(
              type.getMemorySpace()))
        continue;
      std::optional<int64_t> bytes = getBytesInMemory(type);
      if (!bytes)
        return global.emitOpError("of type ") << type << " has no static size";
      if (failed(place(global, global.getSymName(), *bytes,
                       std::max<int64_t>(global.getAlignment().value_or(1),
                                         getAlignment(type)))))
        return failure();
    } else if (auto global = dyn_cast<LLVM::GlobalOp>(op)) {
      if (global.getAddrSpace() == 3 &&
          failed(place(global, global.getSymName(),
                       getElementBytes(global.getGlobalType()),
                       std::max<int64_t>(
                           {16, int64_t(global.getAlignment().value_or(1)),
                            getElementAlignment(global.getGlobalType())}))))
        return failure();
    }
  }
  return success();
}

LogicalResult CPULowering::copyFunctions() {
  if (failed(placeWorkgroupGlobals()))
    return failure();
  cutLlvmFunctions = findCutLlvmFunctions(source);
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
  return callAsFuncs(work);
}

/// Gives the functions names of their own at once: math ops will look for
/// functions like @exp, which may be the name of a kernel.
LogicalResult CPULowering::renameFunctions() {
  SymbolTable table(work);
  // A renaming that looks for uses walks all functions: once for each kernel,
  // of which nobody here knows the name, that took a quarter of this lowering.
  llvm::DenseSet<StringAttr> used;
  std::optional<SymbolTable::UseRange> uses =
      SymbolTable::getSymbolUses(&work->getRegion(0));
  if (uses)
    for (const SymbolTable::SymbolUse &use : *uses)
      used.insert(use.getSymbolRef().getRootReference());
  llvm::MapVector<StringAttr, Function> renamed;
  for (auto &[name, function] : functions) {
    std::string base = prefix + name.getValue().str();
    if (function.isKernel)
      base += "_thread";
    std::string unique = base;
    for (unsigned i = 0; table.lookup(unique); ++i)
      unique = base + "_" + std::to_string(i);
    if (uses && !used.contains(name)) {
      table.remove(function.op);
      function.op.setName(unique);
      table.insert(function.op);
    } else if (failed(table.rename(function.op, unique))) {
      return failure();
    }
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
