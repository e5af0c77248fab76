//===- Code.h - LLVM's optimisations of cpu kernels -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What LLVM may do with kernels for the cpu device beyond what it does with
// host code, and the pipeline for both.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_KERNELS_CPU_CODE_H
#define GPUASYNC_KERNELS_CPU_CODE_H

#include "GPUAsync/VectorRegisters.h"

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace llvm {
class Module;
class PassInstrumentationCallbacks;
class TargetMachine;
} // namespace llvm

namespace mlir::gpuasync {

/// The LLVM function attribute of kernels for the cpu device and of what they
/// call.
constexpr llvm::StringLiteral cpuKernelAttribute = "gpuasync-kernel";

/// Whether glibc's library of vector math, libmvec, has this function where the
/// code will run.
using HasVectorFunction = llvm::function_ref<bool(StringRef)>;

/// The functions that libmvec has had since glibc 2.22, its first: sin, cos,
/// exp, log and pow.
bool isEarlyVectorFunction(StringRef name);

/// Runs LLVM's pipeline of that level (0 to 3; 0 does nothing) for the machine,
/// which is told to trap where the program cannot get to, and does not run into
/// the function that happens to lie behind.
/// In kernels a product and a sum become one fma, as they do on GPUs, and math
/// in vectorised loops is libmvec's, at most 4 units in the last place off: on
/// x86-64 and for the functions that `has` says are there. `callbacks`, if
/// there are any, hear of the passes.
void optimizeCpuCode(llvm::Module &module, llvm::TargetMachine &machine,
                     unsigned level, HasVectorFunction has,
                     llvm::PassInstrumentationCallbacks *callbacks = nullptr);

/// The widest that the machine has.
VectorRegisters getVectorRegisters(const llvm::TargetMachine &machine);

} // namespace mlir::gpuasync

#endif // GPUASYNC_KERNELS_CPU_CODE_H
