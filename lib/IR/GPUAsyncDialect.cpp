//===- GPUAsyncDialect.cpp - dialect, types and attributes ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers the dialect and implements its types and attributes.
//===----------------------------------------------------------------------===//

#include "GPUAsync/IR/GPUAsyncDialect.h"

#include "GPUAsync/DeviceKinds.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/CompilationInterfaces.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::gpuasync;

#include "GPUAsync/IR/GPUAsyncDialect.cpp.inc"
#include "GPUAsync/IR/GPUAsyncEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "GPUAsync/IR/GPUAsyncTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "GPUAsync/IR/GPUAsyncAttrs.cpp.inc"

namespace {
/// Lets numbers of ranks and collectives of tensors go in place of a call.
struct InlineOps : public DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *op, Region *, bool, IRMapping &) const final {
    return isa<RankOp, SizeOp, UniformOp, TensorCollectiveOp>(op);
  }
};
} // namespace

void GPUAsyncDialect::initialize() {
  addInterfaces<InlineOps>();
  addTypes<
#define GET_TYPEDEF_LIST
#include "GPUAsync/IR/GPUAsyncTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "GPUAsync/IR/GPUAsyncAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "GPUAsync/IR/GPUAsyncOps.cpp.inc"
      >();
  // A gpu.module may name the cpu device among its targets; the interface's
  // model comes with the kernel lowering.
  declarePromisedInterface<gpu::TargetAttrInterface, CpuTargetAttr>();
}

Operation *GPUAsyncDialect::materializeConstant(OpBuilder &builder,
                                                Attribute value, Type type,
                                                Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

LogicalResult
GPUAsyncDialect::verifyOperationAttribute(Operation *op,
                                          NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  bool isDeclared = function && function.isExternal();
  if (llvm::is_contained({"arith", "linalg", "math"},
                         op->getName().getDialectNamespace()) &&
      !llvm::is_contained({getTileName(), getProductName()},
                          attribute.getName().getValue()))
    return op->emitOpError() << "has '" << attribute.getName().getValue()
                             << "', which says nothing; linalg ops and "
                                "elementwise ops on tensors have '"
                             << getTileName() << "'";
  if (attribute.getName() == getSerialName()) {
    auto name = dyn_cast<StringAttr>(attribute.getValue());
    if (isDeclared && name && !name.empty())
      return success();
    return op->emitOpError()
           << "has '" << getSerialName()
           << "', which is a name on the declaration of a library's function";
  }
  if (attribute.getName() == getReplayableName()) {
    if (isDeclared && isa<UnitAttr>(attribute.getValue()))
      return success();
    return op->emitOpError()
           << "has '" << getReplayableName()
           << "', which is a unit attribute on the declaration of a library's "
              "function";
  }
  if (attribute.getName() != getNonblockingName()) {
    if (!isDeclared || op->getName().getDialectNamespace() != "func")
      return success();
    return op->emitOpError()
           << "has '" << attribute.getName().getValue()
           << "', which says nothing; declarations of a library's functions "
              "have '"
           << getNonblockingName() << "', '" << getReplayableName() << "' and '"
           << getSerialName() << "'";
  }
  if (!isa<UnitAttr>(attribute.getValue()))
    return op->emitOpError() << "has '" << getNonblockingName()
                             << "' with a value; it is a unit attribute";
  if (!isa<LaunchOp, gpu::LaunchFuncOp>(op) && !isDeclared &&
      !(function && isa_and_nonnull<gpu::GPUModuleOp>(op->getParentOp())))
    return op->emitOpError()
           << "has '" << getNonblockingName()
           << "', which only launches, functions of a gpu.module and "
              "declarations have";
  return success();
}

LogicalResult GPUAsyncDialect::verifyRegionArgAttribute(
    Operation *op, unsigned, unsigned number, NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  StringRef name = attribute.getName().getValue();
  if (!llvm::is_contained({getResidentName(), getDonatedName()}, name)) {
    if (op->getName().getDialectNamespace() != "func" ||
        llvm::is_contained({getResultName(), getTakesName(), getStreamName()},
                           name))
      return success();
    return op->emitOpError()
           << "has '" << name << "' on argument " << number
           << ", which says nothing; arguments have '" << getResidentName()
           << "' and '" << getDonatedName() << "'";
  }
  if (function && isa<UnitAttr>(attribute.getValue()) &&
      isa<ShapedType, LLVM::LLVMPointerType>(
          function.getArgumentTypes()[number]))
    return success();
  return op->emitOpError() << "has '" << name << "' on argument " << number
                           << "; it is a unit attribute of arguments that are "
                              "arrays";
}

//===----------------------------------------------------------------------===//
// KernelAttr
//===----------------------------------------------------------------------===//

static int64_t alignmentOfParam(int64_t size) {
  if (size <= 1)
    return 1;
  // A tensor map; see KernelABI.h.
  if (size == 128)
    return 64;
  return std::min<int64_t>(llvm::PowerOf2Ceil(size), 16);
}

LogicalResult KernelAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef name, DenseI64ArrayAttr params) {
  if (name.empty())
    return emitError() << "a kernel needs a name";
  if (!params)
    return success();
  int64_t end = 0;
  for (int64_t size : params.asArrayRef()) {
    if (size <= 0 || size > UINT32_MAX)
      return emitError() << "kernel '" << name << "' has a parameter of "
                         << size << " bytes";
    end = llvm::alignTo(end, alignmentOfParam(size)) + size;
    // Tables of the runtime hold 32 bits.
    if (end > UINT32_MAX)
      return emitError() << "kernel '" << name
                         << "' has more than 2^32 - 1 bytes of parameters";
  }
  return success();
}

SmallVector<int64_t> KernelAttr::getParamOffsets() const {
  SmallVector<int64_t> offsets;
  int64_t end = 0;
  for (int64_t size : getParams().asArrayRef()) {
    offsets.push_back(llvm::alignTo(end, alignmentOfParam(size)));
    end = offsets.back() + size;
  }
  return offsets;
}

int64_t KernelAttr::getParamBytes() const {
  if (getParams().empty())
    return 0;
  return getParamOffsets().back() + getParams().asArrayRef().back();
}

//===----------------------------------------------------------------------===//
// CpuKernelAttr, ImageAttr
//===----------------------------------------------------------------------===//

LogicalResult
CpuKernelAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      FlatSymbolRefAttr function, int64_t workgroupBytes,
                      uint32_t threadBytes, bool mayBlock, bool takesRuns,
                      int64_t stackBytes, Attribute operations) {
  if (workgroupBytes < 0)
    return emitError() << "block function " << function << " has "
                       << workgroupBytes << " bytes of workgroup memory";
  if (stackBytes < -1 || stackBytes >= UINT32_MAX)
    return emitError() << "block function " << function << " has " << stackBytes
                       << " bytes on the stack";
  auto number = dyn_cast_or_null<IntegerAttr>(operations);
  if (operations && !isa<FlatSymbolRefAttr>(operations) &&
      !(number && number.getType().isInteger(64) && number.getInt() > 0))
    return emitError() << "block function " << function << " has " << operations
                       << " operations, which are a number of 64 bits above "
                          "zero, or the symbol of a function";
  // What a thread keeps for the others is not there for another block.
  if (takesRuns && threadBytes)
    return emitError() << "block function " << function
                       << " runs several blocks in one call, so that its "
                          "threads keep nothing for those of their block";
  return success();
}

int64_t CpuKernelAttr::getKnownOperations() const {
  auto number = dyn_cast_or_null<IntegerAttr>(getOperations());
  return number ? number.getInt() : 0;
}

FlatSymbolRefAttr CpuKernelAttr::getCounter() const {
  return dyn_cast_or_null<FlatSymbolRefAttr>(getOperations());
}

static_assert(uint32_t(ImageFormat::CPU) == GPUASYNC_IMAGE_CPU &&
              uint32_t(ImageFormat::PTX) == GPUASYNC_IMAGE_PTX &&
              uint32_t(ImageFormat::CUBIN) == GPUASYNC_IMAGE_CUBIN &&
              uint32_t(ImageFormat::HSACO) == GPUASYNC_IMAGE_HSACO &&
              uint32_t(ImageFormat::FATBIN) == GPUASYNC_IMAGE_FATBIN &&
              getMaxEnumValForImageFormat() == GPUASYNC_IMAGE_FATBIN);

LogicalResult ImageAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                ImageFormat format, StringRef arch,
                                StringAttr data, ArrayAttr functions) {
  if (format == ImageFormat::CPU) {
    if (data || !functions)
      return emitError() << "a cpu image has 'functions' and no 'data'";
    if (!llvm::all_of(functions, llvm::IsaPred<CpuKernelAttr>))
      return emitError() << "'functions' must be #gpu_async.cpu_kernel "
                            "attributes, one for each kernel";
    return success();
  }
  if (!data || functions)
    return emitError() << "an image of format " << stringifyImageFormat(format)
                       << " has 'data' and no 'functions'";
  if (arch.empty())
    return emitError() << "an image of format " << stringifyImageFormat(format)
                       << " is for a chip, which it does not name";
  const DeviceKind *kind =
      findDeviceKindOfFormat(static_cast<uint32_t>(format));
  if (!arch.starts_with(kind->chipPrefix()))
    return emitError() << "an image of format " << stringifyImageFormat(format)
                       << " is for a chip such as " << kind->exampleChip
                       << ", not for '" << arch << "'";
  return success();
}

//===----------------------------------------------------------------------===//
// CpuTargetAttr
//===----------------------------------------------------------------------===//

LogicalResult
CpuTargetAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      StringAttr chip, StringAttr features,
                      int64_t subgroupSize) {
  if (subgroupSize && !isSubgroupSize(subgroupSize))
    return emitError() << "subgroup_size = " << subgroupSize
                       << " is not a power of two from 1 to 64";
  return success();
}
