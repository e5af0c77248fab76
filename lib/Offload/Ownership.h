//===- Ownership.h - whose memory a program frees ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bufferization allocates memory for tensors, and deallocation frees it. What a
// program has as memrefs is its own business: who frees that, it says itself.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_OWNERSHIP_H
#define GPUASYNC_LIB_OFFLOAD_OWNERSHIP_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::gpuasync::offload {

/// Marks what deallocation is not to free: all that the function allocates, if
/// it frees memory itself; else what it returns or stores as a memref. To be
/// called before bufferization.
void markOwnMemory(func::FuncOp function);
void unmarkOwnMemory(func::FuncOp function);

/// Hides from upstream's deallocation the memrefs that the program passes
/// between functions, and atomics with a body, which it does not take.
class Ownership {
public:
  /// To be made before bufferization, which makes memrefs of all tensors.
  Ownership(ModuleOp module, ArrayRef<func::FuncOp> functions);

  /// To be called in front of deallocation, and behind it.
  void hide();
  void show();

private:
  /// By result of a function.
  using Results = llvm::BitVector;

  /// A call's result, and what is in place of it.
  struct Hidden {
    Value result;
    Operation *placeholder;
  };
  struct Function {
    func::FuncOp op;
    Results isMemRef; ///< in the program
    /// Bufferization may have allocated it: the caller owns it.
    Results isOwned;
    FunctionType type;
    /// By result, where it may come from.
    SmallVector<llvm::SmallSetVector<Value, 4>> origins;
    Results isHidden;
    /// With an op that holds what is hidden.
    SmallVector<std::pair<func::ReturnOp, UnrealizedConversionCastOp>> returns;
    bool frees = false;
  };

  bool isProgramMemRef(OpResult result);
  bool isOwned(Value value);
  void findOrigins();
  void leaveToProgram(Function &function, unsigned number);
  void findOwned();
  void hideReturns(Function &function);
  void hideCalls(Function &function);

  llvm::MapVector<StringAttr, Function> functions;
  /// Those without kernels, too.
  llvm::DenseMap<StringAttr, Results> memRefs;
  SmallVector<Hidden> hidden;
};

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_OWNERSHIP_H
