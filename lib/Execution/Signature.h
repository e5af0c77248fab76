//===- Signature.h - What the entry point takes and returns -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entry point as its user sees it, and how the compiled function differs.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_EXECUTION_SIGNATURE_H
#define GPUASYNC_LIB_EXECUTION_SIGNATURE_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/SmallVector.h"

#include <string>
#include <vector>

namespace gpuexec {

/// What an op of the function wants of a dynamic size of an argument.
struct SizeRule {
  int64_t argument, dimension;
  /// Another argument, whose dimension `size` is as large; or -1: it is `size`.
  int64_t other, size;
  std::string op; ///< "linalg.matmul at f.mlir:3:8"
};

/// A public function of a program. What the compiled function takes is the
/// arguments in their order, memrefs for tensors, with the memory of some
/// results between them; the other results it returns in their order.
struct Signature {
  std::string name;
  llvm::SmallVector<mlir::Type> arguments; ///< without the results' memory
  llvm::SmallVector<mlir::Type> results;
  /// For each result the number of the compiled function's argument that is its
  /// memory (`gpu_async.result`), or -1: it is returned. The caller makes and
  /// frees that memory; of tensors that are returned it frees the memory too.
  llvm::SmallVector<int64_t> destinations;
  /// For each result the number of the donated argument whose memory it takes
  /// (`gpu_async.takes`), or -1. The caller passes one memory for both.
  llvm::SmallVector<int64_t> takes;
  /// Numbers of the arguments with `gpu_async.donated`.
  llvm::SmallVector<unsigned> donated;
  std::vector<SizeRule> sizeRules;
  /// Of the compiled function's last argument, the caller's stream; null: it
  /// takes none.
  mlir::Type stream;
};

} // namespace gpuexec

#endif // GPUASYNC_LIB_EXECUTION_SIGNATURE_H
