//===- Callable.cpp - Functions as calls see them -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Callable.h.
//===----------------------------------------------------------------------===//

#include "Library/Callable.h"

using namespace llvm;
using namespace gpuexec;

static uint32_t typeCode(const ElementType &element) {
  switch (element.kind) {
  case ElementType::Int:
    return element.bits == 1    ? GPUASYNC_TYPE_I1
           : element.bits == 8  ? GPUASYNC_TYPE_I8
           : element.bits == 16 ? GPUASYNC_TYPE_I16
           : element.bits == 32 ? GPUASYNC_TYPE_I32
                                : GPUASYNC_TYPE_I64;
  case ElementType::UInt:
    return element.bits == 8    ? GPUASYNC_TYPE_UI8
           : element.bits == 16 ? GPUASYNC_TYPE_UI16
           : element.bits == 32 ? GPUASYNC_TYPE_UI32
                                : GPUASYNC_TYPE_UI64;
  case ElementType::BFloat:
    return GPUASYNC_TYPE_BF16;
  case ElementType::Float:
    return element.bits == 16   ? GPUASYNC_TYPE_F16
           : element.bits == 32 ? GPUASYNC_TYPE_F32
                                : GPUASYNC_TYPE_F64;
  case ElementType::Complex:
    return element.bits == 64 ? GPUASYNC_TYPE_C64 : GPUASYNC_TYPE_C128;
  case ElementType::Pointer:
    return 0;
  }
  return 0;
}

static const char *const typeNames[] = {
    "nothing", "i1",   "i8",           "i16",         "i32", "i64",
    "ui8",     "ui16", "ui32",         "ui64",        "f16", "bf16",
    "f32",     "f64",  "complex<f32>", "complex<f64>"};

std::string gpuexec::typeName(uint32_t type) {
  return type < std::size(typeNames) ? typeNames[type]
                                     : "type " + std::to_string(type);
}

unsigned gpuexec::bytesOf(uint32_t type) {
  static constexpr uint8_t bytes[] = {0, 1, 1, 2, 4, 8, 1, 2,
                                      4, 8, 2, 2, 4, 8, 8, 16};
  static_assert(std::size(bytes) == std::size(typeNames));
  return type < std::size(bytes) ? bytes[type] : 0;
}

uint32_t gpuexec::withoutSign(uint32_t type) {
  return type >= GPUASYNC_TYPE_UI8 && type <= GPUASYNC_TYPE_UI64
             ? type - GPUASYNC_TYPE_UI8 + GPUASYNC_TYPE_I8
             : type;
}

static Parameter describeParameter(mlir::Type type) {
  Parameter parameter;
  parameter.text = typeText(type);
  parameter.kind = isa<mlir::TensorType>(type)       ? GPUASYNC_KIND_TENSOR
                   : isa<mlir::BaseMemRefType>(type) ? GPUASYNC_KIND_MEMREF
                                                     : GPUASYNC_KIND_NUMBER;
  parameter.unsupported = unsupported(type);
  if (!parameter.unsupported.empty())
    return parameter;
  ValueType value = ValueType::get(type);
  parameter.type = typeCode(value.element);
  parameter.rank = value.rank;
  parameter.bytes = value.elementBytes();
  parameter.shape.assign(value.shape.begin(), value.shape.end());
  if (!parameter.type)
    parameter.unsupported =
        "is a pointer, which gpuasync_value has no type for";
  else if (value.rank != value.shape.size())
    parameter.unsupported =
        "has vectors as elements, which gpuasync_value has no type for";
  else if (value.rank > GPUASYNC_MAX_RANK)
    parameter.unsupported =
        "has more than " + std::to_string(GPUASYNC_MAX_RANK) + " dimensions";
  if (auto memref = dyn_cast<mlir::MemRefType>(type)) {
    SmallVector<int64_t> strides;
    if (failed(memref.getStridesAndOffset(strides, parameter.offset))) {
      parameter.unsupported = "has a layout that is not strided";
      return parameter;
    }
    if (mlir::ShapedType::isDynamic(parameter.offset))
      parameter.offset = 0;
    // Those of an identity follow from the sizes.
    if (!memref.getLayout().isIdentity())
      parameter.strides.assign(strides.begin(), strides.end());
  }
  return parameter;
}

Callable gpuexec::describe(const Signature &signature, bool hostOnly) {
  Callable callable;
  callable.name = signature.name;
  auto check = [&](const Parameter &parameter, const Twine &what) {
    if (!parameter.unsupported.empty() && callable.unsupported.empty())
      callable.unsupported =
          (what + ", " + parameter.text + ", " + parameter.unsupported).str();
  };
  for (auto [i, type] : enumerate(signature.arguments)) {
    callable.arguments.push_back(describeParameter(type));
    callable.arguments.back().what =
        "argument " + std::to_string(i) + " of @" + signature.name;
    check(callable.arguments.back(), "argument " + Twine(i));
  }
  SmallVector<ValueType> types;
  for (auto [i, type] : enumerate(signature.results)) {
    callable.results.push_back(describeParameter(type));
    callable.results.back().what =
        "result " + std::to_string(i) + " of @" + signature.name;
    check(callable.results.back(), "result " + Twine(i));
    if (callable.unsupported.empty())
      types.push_back(ValueType::get(type));
  }
  callable.destinations = signature.destinations;
  callable.takes = signature.takes;
  for (unsigned number : signature.donated)
    callable.arguments[number].donated = true;
  for (auto [i, argument] : enumerate(callable.takes))
    if (argument >= 0) {
      callable.arguments[argument].takenBy = int64_t(i);
      callable.takesAny = true;
    }
  callable.sizeRules = signature.sizeRules;
  for (auto [i, parameter, destination] :
       enumerate(callable.results, callable.destinations))
    if (!hostOnly && callable.unsupported.empty() && destination < 0 &&
        parameter.kind == GPUASYNC_KIND_TENSOR)
      callable.unsupported =
          "result " + std::to_string(i) + ", " + parameter.text +
          ", has sizes that are known at run time only, which place=off has no "
          "memory for; compile it with place=copy";
  if (!callable.unsupported.empty())
    return callable;
  callable.layout =
      CallLayout::get(callable.arguments.size(), types, callable.destinations);
  for (const Parameter &parameter : callable.arguments)
    callable.words += 3 + 2 * parameter.rank;
  for (const Parameter &parameter : callable.results)
    callable.words += 3 + 2 * parameter.rank;
  return callable;
}

uint64_t gpuexec::countBytes(const Parameter &parameter) {
  uint64_t bytes = parameter.bytes;
  for (int64_t size : parameter.shape)
    bytes *= uint64_t(size);
  return bytes;
}
