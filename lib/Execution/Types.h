//===- Types.h - Numbers and arrays that programs take ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which types of MLIR a caller can pass, and how they lie in memory.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_EXECUTION_TYPES_H
#define GPUASYNC_LIB_EXECUTION_TYPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <string>

namespace gpuexec {

/// A number's type as inputs name it and results print it: "i8" (signless,
/// printed signed), "u8", "f32", "bf16". `index` is i64.
struct ElementType {
  enum Kind { Int, UInt, Float, BFloat, Complex, Pointer };
  Kind kind = Int;
  unsigned bits = 0;

  unsigned bytes() const { return bits < 8 ? 1 : bits / 8; }
  bool isFloat() const { return kind == Float || kind == BFloat; }
  /// A complex number's two parts.
  ElementType part() const { return {Float, bits / 2}; }
  std::string name() const;
  /// NumPy's type name of the elements when written.
  std::string descr() const;

  /// i1, i8, ..., index, f16, bf16, f32, f64, complex of f32 and f64,
  /// !llvm.ptr; nothing else.
  static std::optional<ElementType> get(mlir::Type type);
  static std::optional<ElementType> parse(llvm::StringRef name);
  static std::optional<ElementType> fromDescr(llvm::StringRef descr);
  /// Whether values of this type may be passed as `other`: integers of one
  /// width are, whatever their sign.
  bool fits(const ElementType &other) const;
};

/// What the runner passes as an argument or result of a type.
struct ValueType {
  ElementType element;
  /// Of an array's elements, with the dimensions of vector elements at the end;
  /// as in the type, so dynamic ones too.
  llvm::SmallVector<int64_t> shape;
  bool isArray = false; ///< a memref or a tensor, else a number
  unsigned rank = 0;    ///< without the dimensions of vectors
  /// Bytes of an element, be it a vector.
  unsigned elementBytes() const;
  bool isStatic() const {
    return !llvm::is_contained(shape, mlir::ShapedType::kDynamic);
  }

  /// Of a type that `unsupported` has nothing against.
  static ValueType get(mlir::Type type);
};

/// The type as a user writes it: "memref<?x3xi8>".
std::string typeText(mlir::Type type);

/// "2x3xi8".
std::string shapeText(llvm::ArrayRef<int64_t> shape,
                      const ElementType &element);

/// What is wrong with a type as argument or result, "" if nothing.
std::string unsupported(mlir::Type type);

/// Bytes of an element that is a vector of that shape, a number if it is empty.
unsigned bytesOf(const ElementType &element,
                 llvm::ArrayRef<int64_t> vectorShape);
/// The strides of an array without gaps.
llvm::SmallVector<int64_t> rowMajorStrides(llvm::ArrayRef<int64_t> shape);

/// Where the packed list of a call has what (docs/reference/ABI.md).
struct CallLayout {
  /// For each argument of the source its place in the list; the memory of a
  /// result lies at the place that its destination says.
  llvm::SmallVector<unsigned> arguments;
  /// For each result that is returned its byte in the storage of the results.
  llvm::SmallVector<size_t> resultOffsets;
  size_t resultBytes = 0;
  /// Where the storage of results is in the list; the status is next.
  unsigned storage = 0;

  static CallLayout get(size_t argumentCount, llvm::ArrayRef<ValueType> results,
                        llvm::ArrayRef<int64_t> destinations);
};

} // namespace gpuexec

#endif // GPUASYNC_LIB_EXECUTION_TYPES_H
