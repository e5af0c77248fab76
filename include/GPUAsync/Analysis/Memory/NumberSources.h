//===- NumberSources.h - what a number is computed from ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows numbers back through arithmetic, structs, vectors, control flow and
// calls, to find out whether their bits may be an address.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_ANALYSIS_MEMORY_NUMBERSOURCES_H
#define GPUASYNC_ANALYSIS_MEMORY_NUMBERSOURCES_H

#include "mlir/IR/Value.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::gpuasync {

/// Whether who has a value of the type has a pointer: a memref, a pointer, a
/// vector of pointers, or nvgpu's descriptor of a tensor.
bool isPointer(Type type);

/// Whether a value of the type has room for an address in numbers: integers
/// from 64 bits on, `index`, and what may hold these.
bool mayHoldAddress(Type type);

/// What numbers may be computed from, besides constants and sizes.
struct NumberSources {
  /// Of functions not all of whose calls are known.
  llvm::SetVector<BlockArgument> arguments;
  /// A pointer that the function has, turned into a number.
  bool isFromPointer = false;
  /// Memory, code that is not known, or too many things to follow.
  bool isFromAnywhere = false;

  bool isFromAnything() const {
    return isFromPointer || isFromAnywhere || !arguments.empty();
  }
};

/// The calls that are known of functions.
struct KnownCalls {
  llvm::DenseMap<Operation *, SmallVector<CallOpInterface>> callsOf;
  llvm::DenseMap<Operation *, FunctionOpInterface> calleeOf;
  /// Functions that are called otherwise, too: a kernel is launched, whether it
  /// calls itself or not, and who has a function's address may call it.
  llvm::DenseSet<Operation *> withOtherCalls;

  void add(CallOpInterface call, FunctionOpInterface callee) {
    callsOf[callee].push_back(call);
    calleeOf[call] = callee;
  }
};

/// What any of `numbers` is computed from. Calls, and arguments of functions,
/// are followed as far as `calls` has them. Looks at no more than `maxValues`.
NumberSources findSources(ValueRange numbers, const KnownCalls &calls,
                          unsigned maxValues = ~0u);

/// Those of `pointers`, and of what they are computed from, that may have been
/// made of numbers: null, undefined, or an address in numbers. What is added to
/// these may be an address as well.
llvm::DenseSet<Value> findMadeOfNumbers(ValueRange pointers,
                                        const KnownCalls &calls);

/// Whether a value of host code may be an address in numbers, as far as the
/// function that it is in tells.
bool mayBeAddress(Value value);

} // namespace mlir::gpuasync

#endif // GPUASYNC_ANALYSIS_MEMORY_NUMBERSOURCES_H
