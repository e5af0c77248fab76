//===- KernelEffects.h - what kernels do to memory --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Read off their bodies, before they are lowered: which arguments are read,
// written, or turned into pointers, and what launches meet in besides.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_ANALYSIS_MEMORY_KERNELEFFECTS_H
#define GPUASYNC_ANALYSIS_MEMORY_KERNELEFFECTS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::gpuasync {

inline bool isMemory(Type type) { return isa<BaseMemRefType>(type); }

/// Whether who has a value of the type can get at memory by it: a memref, or
/// nvgpu's descriptor of a tensor.
bool leadsToMemory(Type type);

/// Whether `value` is a view that shows no more than its source, of the same
/// buffer.
bool staysInView(Value value);

/// Whether the memory is of a block or thread, out of reach for all others.
bool isOfBlock(Type type);

/// Whether it is a function of the vendors' math libraries, which touch no
/// memory by numbers.
bool isMath(CallOpInterface call);

/// What a kernel, or a library's function, does with the memory that its
/// arguments lead to.
struct KernelEffects {
  struct Argument {
    bool reads = true;
    bool writes = true;
    /// Whether the kernel may leave the view that it is given.
    bool anyPart = true;
  };
  /// Empty if the kernel's body is not known.
  SmallVector<Argument> arguments;
  /// Which parameters, if they are numbers, the kernel may turn into pointers.
  /// Empty if that is not known.
  llvm::BitVector addresses;
  /// Whether it makes pointers of numbers that it finds in memory, or loads
  /// pointers: then it may touch anything.
  bool followsPointersInMemory = false;
  /// Whether its module has globals, through which launches may meet.
  bool hasGlobals = false;
  /// Whether it prints or asserts: launches that do keep their order.
  bool hasOutput = false;
  /// Whether the body has been seen, or the declaration of a library's function
  /// says what it touches.
  bool isKnown = false;
  /// Whether memrefs are the scalars of their descriptors by now.
  bool isLowered = false;

  /// Of a library's function: what it shares with others that is no memory.
  StringAttr serial;

  /// How many parameters an operand of the type is to the kernel.
  unsigned countParameters(Type type) const;
};

/// Effects of kernels, found once for each.
class KernelTable {
public:
  const KernelEffects &lookup(Operation *launch, SymbolRefAttr kernel);
  /// The same of the function that a gpu_async.call names.
  const KernelEffects &lookupLibrary(Operation *call, SymbolRefAttr callee);

private:
  SymbolTableCollection symbols;
  llvm::DenseMap<Operation *, KernelEffects> effects;
};

} // namespace mlir::gpuasync

#endif // GPUASYNC_ANALYSIS_MEMORY_KERNELEFFECTS_H
