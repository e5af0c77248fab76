//===- TypeLayout.h - how values lie in memory ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place that knows how many bytes a value takes: for elements of
// memrefs, parameters of kernels, memory of threads and checks of accesses.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_ANALYSIS_MEMORY_TYPELAYOUT_H
#define GPUASYNC_ANALYSIS_MEMORY_TYPELAYOUT_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace mlir::gpuasync {

/// Of a value in memory, in bytes: how the host and all devices lay out what
/// the type becomes in LLVM. No module's data layout has a say.
struct TypeLayout {
  /// From one value to the next: a multiple of the alignment.
  int64_t size = 0;
  int64_t alignment = 1;

  /// Of numbers, pointers, complex numbers, vectors, descriptors of memrefs,
  /// and LLVM's arrays and structs. Nothing for other types, and for those of
  /// unknown size or 2^63 bytes and more.
  static std::optional<TypeLayout> get(Type type);
};

/// Bytes from one element of `type` in memory to the next; 0 if they are not
/// known.
int64_t getElementBytes(Type type);
/// What these elements are aligned to; 1 if it is not known.
int64_t getElementAlignment(Type type);

/// The bits of an integer, float or pointer, or of a vector of them, whose
/// elements are packed. 0 for other types.
int64_t getPackedBits(Type type);

/// Where values of these types begin in bytes, one after the other as in a
/// struct of C, or without gaps if `isPacked`; `whole` is the struct's layout.
/// Nothing if one of the types has no layout.
std::optional<SmallVector<int64_t>>
getOffsets(ArrayRef<Type> types, bool isPacked, TypeLayout &whole);

/// Strides and offset of a memref in elements, ShapedType::kDynamic where they
/// are no constants. Fails if the layout has no strides, and where a product of
/// sizes is 2^63 or more: upstream's function of this name lets that wrap.
LogicalResult getStridesAndOffset(MemRefType type,
                                  SmallVectorImpl<int64_t> &strides,
                                  int64_t &offset);

} // namespace mlir::gpuasync

#endif // GPUASYNC_ANALYSIS_MEMORY_TYPELAYOUT_H
