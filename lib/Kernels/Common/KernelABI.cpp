//===- KernelABI.cpp - how kernels are called ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See KernelABI.h.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Kernels/Common/KernelABI.h"
#include "GPUAsync/Analysis/Memory/TypeLayout.h"
#include "gpuasync/RuntimeABI.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::gpuasync;

static constexpr int64_t tensorMapBytes = 128;

LLVM::LLVMArrayType gpuasync::getTensorMapType(MLIRContext *context) {
  return LLVM::LLVMArrayType::get(IntegerType::get(context, 64),
                                  tensorMapBytes / 8);
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

/// The types of an array's or a struct's elements, none for other types.
static SmallVector<Type> getElementTypes(Type type) {
  if (auto array = dyn_cast<LLVM::LLVMArrayType>(type))
    return SmallVector<Type>(array.getNumElements(), array.getElementType());
  return llvm::to_vector(cast<LLVM::LLVMStructType>(type).getBody());
}

/// Where each of the elements begins, in bytes.
static SmallVector<int64_t> getElementOffsets(Type type,
                                              ArrayRef<Type> elements) {
  auto record = dyn_cast<LLVM::LLVMStructType>(type);
  TypeLayout whole;
  return *getOffsets(elements, record && record.isPacked(), whole);
}

/// Whether every compiler passes `type` at a multiple of its size, as it is.
static bool isPlain(Type type, int64_t size) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getRank() == 1 &&
           getPackedBits(vector.getElementType()) >= 8 &&
           isPlain(vector.getElementType(),
                   getElementBytes(vector.getElementType())) &&
           getPackedBits(vector) == 8 * size;
  if (isa<LLVM::LLVMPointerType>(type))
    return true;
  return isa<IntegerType, Float16Type, BFloat16Type, Float32Type, Float64Type>(
             type) &&
         size <= 8 && getPackedBits(type) == 8 * size;
}

/// The size of a parameter of LLVM type `type`, 0 if there is no such
/// parameter.
static int64_t getParamSize(Type type) {
  // Elements of no size could be many.
  if (auto array = dyn_cast<LLVM::LLVMArrayType>(type);
      array && array.getNumElements() > 16)
    return 0;
  int64_t size = getElementBytes(type);
  return size <= 16 && llvm::isPowerOf2_64(size) ? size : 0;
}

FailureOr<SmallVector<Type>>
gpuasync::getKernelParamTypes(TypeRange types, MLIRContext *context,
                              function_ref<InFlightDiagnostic()> emitError) {
  LowerToLLVMOptions options(context);
  options.overrideIndexBitwidth(64);
  LLVMTypeConverter converter(context, options);
  Type pointer = LLVM::LLVMPointerType::get(context);
  Type index = IntegerType::get(context, 64);

  SmallVector<Type> params;
  for (auto [i, type] : llvm::enumerate(types)) {
    if (auto memref = dyn_cast<MemRefType>(type)) {
      params.append(2, pointer);
      params.append(1 + 2 * memref.getRank(), index);
      continue;
    }
    if (isa<UnrankedMemRefType>(type)) {
      params.push_back(index);
      params.push_back(pointer);
      continue;
    }
    if (isa<nvgpu::TensorMapDescriptorType>(type)) {
      params.push_back(getTensorMapType(context));
      continue;
    }
    Type converted = isa<LLVM::LLVMPointerType>(type)
                         ? pointer
                         : converter.convertType(type);
    if (!converted || !getParamSize(converted)) {
      InFlightDiagnostic diag = emitError();
      diag << "kernel argument " << i << " of type " << type
           << " cannot be passed: ";
      if (converted && LLVM::isCompatibleType(converted))
        diag << "it takes " << getElementBytes(converted) << " bytes; ";
      return diag << "a parameter is an integer, float, pointer, vector, "
                     "complex number, struct or array of up to 16 elements "
                     "that takes 1, 2, 4, 8 or 16 bytes, a memref, or a tensor "
                     "map descriptor";
    }
    params.push_back(converted);
  }
  return params;
}

FailureOr<SmallVector<int64_t>>
gpuasync::getKernelParamSizes(TypeRange types, MLIRContext *context,
                              function_ref<InFlightDiagnostic()> emitError) {
  FailureOr<SmallVector<Type>> params =
      getKernelParamTypes(types, context, emitError);
  if (failed(params))
    return failure();
  // No other parameter is that large.
  return llvm::map_to_vector(*params, [&](Type type) {
    return type == getTensorMapType(context) ? tensorMapBytes
                                             : getParamSize(type);
  });
}

SmallVector<int64_t> gpuasync::getKernelParamOffsets(ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> offsets;
  int64_t end = 0;
  for (int64_t size : sizes) {
    end = llvm::alignTo(end,
                        size == tensorMapBytes
                            ? tensorMapAlignment
                            : std::min<int64_t>(llvm::PowerOf2Ceil(size), 16));
    offsets.push_back(end);
    end += size;
  }
  return offsets;
}

uint32_t gpuasync::getKernelFlags(CpuKernelAttr function) {
  return (function.getMayBlock() ? GPUASYNC_KERNEL_MAY_BLOCK : 0) |
         (function.getTakesRuns() ? GPUASYNC_KERNEL_TAKES_RUNS : 0);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

namespace {
/// Takes values apart into integers and puts them together again: what is
/// between and behind their bits is zero, whoever made them.
class Packer {
public:
  Packer(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  Value pack(Value value, unsigned bits) {
    Type type = value.getType();
    if (unsigned own = getPackedBits(type)) {
      if (hasPointers(type))
        value = LLVM::PtrToIntOp::create(
            builder, loc, withElements(type, integer(64)), value);
      return resize(cast(value, integer(own)), bits);
    }
    SmallVector<Type> elements = getElementTypes(type);
    SmallVector<int64_t> offsets = getElementOffsets(type, elements);
    Value result = number(bits, 0);
    for (auto [i, offset] : llvm::enumerate(offsets)) {
      Value element = LLVM::ExtractValueOp::create(builder, loc, value, i);
      result = LLVM::OrOp::create(
          builder, loc, result,
          LLVM::ShlOp::create(builder, loc, pack(element, bits),
                              number(bits, 8 * offset)));
    }
    return result;
  }

  Value unpack(Value bits, Type type) {
    unsigned width = bits.getType().getIntOrFloatBitWidth();
    if (unsigned own = getPackedBits(type)) {
      Value value = resize(bits, own);
      if (!hasPointers(type))
        return cast(value, type);
      value = cast(value, withElements(type, integer(64)));
      return LLVM::IntToPtrOp::create(builder, loc, type, value);
    }
    SmallVector<Type> elements = getElementTypes(type);
    SmallVector<int64_t> offsets = getElementOffsets(type, elements);
    Value result = LLVM::PoisonOp::create(builder, loc, type);
    for (auto [i, offset] : llvm::enumerate(offsets)) {
      Value shifted =
          LLVM::LShrOp::create(builder, loc, bits, number(width, 8 * offset));
      result = LLVM::InsertValueOp::create(builder, loc, result,
                                           unpack(shifted, elements[i]), i);
    }
    return result;
  }

  Value cast(Value value, Type type) {
    return value.getType() == type
               ? value
               : LLVM::BitcastOp::create(builder, loc, type, value);
  }

private:
  IntegerType integer(unsigned bits) { return builder.getIntegerType(bits); }
  Value number(unsigned bits, int64_t value) {
    return LLVM::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(integer(bits), value));
  }
  static bool hasPointers(Type type) {
    return isa<LLVM::LLVMPointerType>(getElementTypeOrSelf(type));
  }
  static Type withElements(Type type, Type element) {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? VectorType::get(vector.getShape(), element) : element;
  }
  Value resize(Value value, unsigned bits) {
    unsigned own = value.getType().getIntOrFloatBitWidth();
    if (own < bits)
      return LLVM::ZExtOp::create(builder, loc, integer(bits), value);
    if (own > bits)
      return LLVM::TruncOp::create(builder, loc, integer(bits), value);
    return value;
  }

  OpBuilder &builder;
  Location loc;
};
} // namespace

Type gpuasync::getKernelParamCarrier(Type type) {
  int64_t size = getParamSize(type);
  if (!size || isPlain(type, size))
    return type;
  auto getInteger = [&](unsigned bits) {
    return IntegerType::get(type.getContext(), bits);
  };
  // Not every target aligns an i128 to its size.
  if (size == 16)
    return VectorType::get(4, getInteger(32));
  return getInteger(8 * size);
}

bool gpuasync::isCommonKernelParam(Type type) {
  return getKernelParamCarrier(type) == type ||
         (isa<IntegerType>(type) && getParamSize(type) <= 8);
}

Value gpuasync::packKernelParam(OpBuilder &builder, Location loc, Value value) {
  Type carrier = getKernelParamCarrier(value.getType());
  if (carrier == value.getType())
    return value;
  Packer packer(builder, loc);
  return packer.cast(packer.pack(value, 8 * getParamSize(value.getType())),
                     carrier);
}

Value gpuasync::unpackKernelParam(OpBuilder &builder, Location loc,
                                  Value carrier, Type type) {
  if (getKernelParamCarrier(type) == type)
    return carrier;
  Packer packer(builder, loc);
  Value bits =
      packer.cast(carrier, builder.getIntegerType(8 * getParamSize(type)));
  return packer.unpack(bits, type);
}
