//===- Arguments.h - What a program is called with --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns --input into argument storage of the packed calling convention and
// results and written arguments into --output.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TOOLS_GPURUNNER_ARGUMENTS_H
#define GPUASYNC_TOOLS_GPURUNNER_ARGUMENTS_H

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
  std::vector<char> initial;
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

/// The arguments and results of one function.
class CallFrame {
public:
  /// Makes the arguments of types `arguments` from the --input values. All
  /// that is wrong with them is found here.
  static llvm::Expected<CallFrame> create(llvm::StringRef function,
                                          mlir::TypeRange arguments,
                                          mlir::TypeRange results,
                                          llvm::ArrayRef<std::string> inputs);

  /// Tells the runtime where the arrays end, until they are forgotten.
  llvm::Error announce();
  void forget();
  /// Puts the inputs in place and clears the results.
  void reset();
  /// The packed list: arguments, results, and `status`.
  void **pack(void **status);
  /// Reads the results after a call.
  llvm::Error readResults();
  /// Writes what the --output values ask for; without any, prints the results.
  llvm::Error writeOutputs(llvm::ArrayRef<std::string> outputs,
                           llvm::raw_ostream &os);
  /// Checks an --output list before anything runs.
  llvm::Error checkOutputs(llvm::ArrayRef<std::string> outputs) const;
  /// Prints the only result as mlir-runner does: just the value.
  void printPlainResult(llvm::raw_ostream &os);

private:
  struct Target {
    bool isResult;
    unsigned index;
    llvm::StringRef where;
  };
  llvm::Expected<std::vector<Target>>
  resolveOutputs(llvm::ArrayRef<std::string> outputs) const;

  std::vector<Value> arguments;
  std::vector<Value> results;
  AlignedBytes resultStorage;
  std::vector<size_t> resultOffsets;
  std::vector<void *> packed;
};

/// The type as a user writes it: "memref<?x3xi8>".
std::string typeText(mlir::Type type);

} // namespace gpurunner

#endif // GPUASYNC_TOOLS_GPURUNNER_ARGUMENTS_H
