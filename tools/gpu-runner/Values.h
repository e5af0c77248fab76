//===- Values.h - Numbers and arrays of them --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a program is given and returns, and how it is written: 3, i32=3,
// 4xf32=1,2,3,4, 2x3xi8, @file.npy, as for iree-run-module.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TOOLS_GPURUNNER_VALUES_H
#define GPUASYNC_TOOLS_GPURUNNER_VALUES_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace gpurunner {

/// A number's type as inputs name it and results print it: "i8" (signless,
/// printed signed), "u8", "f32", "bf16". `index` is i64.
struct ElementType {
  enum Kind { Int, UInt, Float, BFloat, Pointer };
  Kind kind = Int;
  unsigned bits = 0;

  unsigned bytes() const { return bits < 8 ? 1 : bits / 8; }
  std::string name() const;
  /// NumPy's type name of the elements when written.
  std::string descr() const;

  /// i1, i8, ..., index, f16, bf16, f32, f64, !llvm.ptr; nothing else.
  static std::optional<ElementType> get(mlir::Type type);
  static std::optional<ElementType> parse(llvm::StringRef name);
  static std::optional<ElementType> fromDescr(llvm::StringRef descr);
  /// Whether values of this type may be passed as `other`: integers of one
  /// width are, whatever their sign.
  bool fits(const ElementType &other) const;
};

/// Heap memory at an address that is a multiple of 64.
class AlignedBytes {
public:
  AlignedBytes() = default;
  explicit AlignedBytes(size_t size);
  char *data() const { return memory.get(); }
  size_t size() const { return length; }
  explicit operator bool() const { return memory != nullptr; }

private:
  struct Free {
    void operator()(char *pointer) const { std::free(pointer); }
  };
  std::unique_ptr<char, Free> memory;
  size_t length = 0;
};

/// A scalar or a memref with everything that describes it.
struct Value {
  mlir::Type type;
  ElementType element;
  bool isMemRef = false;
  llvm::SmallVector<int64_t> shape;
  /// The contents of an argument. A result's are its own, wherever they lie.
  AlignedBytes data;
  /// What `data` is before each call.
  AlignedBytes initial;
  /// The memref's descriptor: two pointers, offset, sizes, strides.
  llvm::SmallVector<int64_t> descriptor;
  std::string name; ///< in errors of the runtime

  /// What the packed argument list points to.
  void *storage() {
    return isMemRef ? static_cast<void *>(descriptor.data()) : data.data();
  }
  uint64_t elements() const;
  /// Bytes of all elements; nothing if no memory can hold them, or a size is
  /// negative.
  std::optional<uint64_t> bytes() const;
};

/// The type as a user writes it: "memref<?x3xi8>".
std::string typeText(mlir::Type type);

/// "2x3xi8".
std::string shapeText(llvm::ArrayRef<int64_t> shape,
                      const ElementType &element);

/// What is wrong with a type as argument or result, "" if nothing.
std::string unsupported(mlir::Type type);

/// The argument of a supported `type` that an --input value stands for; `name`
/// is for errors.
llvm::Expected<Value> makeArgument(mlir::Type type, llvm::StringRef text,
                                   llvm::StringRef name);

/// Prints the value with its type; of a large one the beginning.
void printValue(llvm::raw_ostream &os, const Value &value);
/// Prints a number as mlir-runner does.
void printPlain(llvm::raw_ostream &os, const Value &value);

} // namespace gpurunner

#endif // GPUASYNC_TOOLS_GPURUNNER_VALUES_H
