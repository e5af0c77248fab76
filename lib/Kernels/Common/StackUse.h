//===- StackUse.h - what kernels keep on the stack --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread's private memory: the stack slots of a kernel and of what it calls.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_KERNELS_COMMON_STACKUSE_H
#define GPUASYNC_LIB_KERNELS_COMMON_STACKUSE_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::gpuasync {

struct StackUse {
  /// Of all slots whose sizes are known; at most INT64_MAX.
  int64_t bytes = 0;
  /// False: there may be more, since a size is not known, a slot is made in a
  /// loop or a function calls itself.
  bool isBounded = true;
  /// The largest slot of those that are known; null if there is none.
  Operation *largest = nullptr;
};

/// What functions of LLVM's dialect keep on the stack. Each call counts, as
/// though it were inlined.
class StackUses {
public:
  explicit StackUses(SymbolTable &symbols) : symbols(symbols) {}
  StackUse get(LLVM::LLVMFuncOp function);

private:
  SymbolTable &symbols;
  llvm::DenseMap<Operation *, StackUse> known;
};

/// An error at the largest slot of a kernel that has more private memory than
/// `most` bytes for each thread. `where`: "the cpu device".
LogicalResult checkPrivateMemory(LLVM::LLVMFuncOp kernel, StringRef name,
                                 const StackUse &use, int64_t most,
                                 StringRef where);

} // namespace mlir::gpuasync

#endif // GPUASYNC_LIB_KERNELS_COMMON_STACKUSE_H
