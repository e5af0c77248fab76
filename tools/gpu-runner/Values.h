//===- Values.h - Numbers and arrays of them --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a program is given and returns, and how it is written: 3, i32=3,
// 4xf32=1,2,3,4, 2x3xi8, @file.npy, as for iree-run-module, and random:7.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TOOLS_GPURUNNER_VALUES_H
#define GPUASYNC_TOOLS_GPURUNNER_VALUES_H

#include "Memory.h"

#include "Execution/Types.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <string>
#include <vector>

namespace gpurunner {
using namespace gpuexec;

/// A number or an array with everything that describes it.
struct Value {
  mlir::Type type;
  ElementType element; ///< signs are as the input states them
  bool isArray = false;
  unsigned rank = 0; ///< without the dimensions of vectors
  llvm::SmallVector<int64_t> shape;
  /// The contents of an argument, and of a result for which the caller has the
  /// memory. Those of other results are a copy.
  AlignedBytes data;
  /// What `data` is before each call, if a call may write it.
  AlignedBytes initial;
  /// The memref's descriptor: two pointers, offset, sizes, strides.
  llvm::SmallVector<int64_t> descriptor;
  std::string name; ///< in errors of the runtime

  /// What the packed argument list points to.
  void *storage() {
    return isArray ? static_cast<void *>(descriptor.data()) : data.data();
  }
  uint64_t elements() const;
  unsigned elementBytes() const;
  /// Makes the descriptor of `data`, which is without gaps.
  void describe();
  /// Bytes of all elements; nothing if no memory can hold them, or a size is
  /// negative.
  std::optional<uint64_t> bytes() const;
};

/// The argument of a supported `type` that an --input value stands for; `name`
/// is for errors.
llvm::Expected<Value> makeArgument(mlir::Type type, llvm::StringRef text,
                                   llvm::StringRef name);
/// What a result of a supported `type` is compared with: numbers of the same
/// kind, of any width. It has no descriptor.
llvm::Expected<Value> makeReference(mlir::Type type, llvm::StringRef text,
                                    llvm::StringRef name);
/// The numbers of random:SEED; docs/reference/gpu-runner.md defines them.
void fillRandom(Value &value, uint64_t seed);

/// A number of the value's element type, its real or imaginary part.
long double numberAt(const ElementType &element, const char *data,
                     bool imaginary);
/// Prints the element at `data`.
void printScalar(llvm::raw_ostream &os, const ElementType &element,
                 const char *data);
/// Prints the value with its type; of a large one the beginning.
void printValue(llvm::raw_ostream &os, const Value &value);
/// Prints a number as mlir-runner does.
void printPlain(llvm::raw_ostream &os, const Value &value);

} // namespace gpurunner

#endif // GPUASYNC_TOOLS_GPURUNNER_VALUES_H
