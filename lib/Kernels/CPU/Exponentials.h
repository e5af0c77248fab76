//===- Exponentials.h - exponentials as arithmetic --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// glibc's vectors of exponentials leave arguments below -87 or above 88 to a
// call for each of them, which takes ten times as long. A mask of attention
// makes half of all arguments so.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_KERNELS_CPU_EXPONENTIALS_H
#define GPUASYNC_LIB_KERNELS_CPU_EXPONENTIALS_H

#include "llvm/IR/Function.h"
#include "llvm/Target/TargetMachine.h"

namespace mlir::gpuasync::cpu {

/// Puts arithmetic in place of the function's calls of exp and exp2 on f32 or
/// vectors of it, where the machine has fma. At most 1.1 units in the last
/// place off. Infinities and NaN are as in C's Annex F, and numbers below the
/// smallest normal one as good as others.
void expandExponentials(llvm::Function &function,
                        const llvm::TargetMachine &machine);

} // namespace mlir::gpuasync::cpu

#endif // GPUASYNC_LIB_KERNELS_CPU_EXPONENTIALS_H
