//===- BFloats.h - bf16 as an integer ---------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How host code and cpu kernels hold numbers of bf16.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_KERNELS_CPU_BFLOATS_H
#define GPUASYNC_LIB_KERNELS_CPU_BFLOATS_H

#include "mlir/IR/Operation.h"

namespace mlir::gpuasync::cpu {

/// Holds bf16 in functions of the LLVM dialect as i16: values, arguments and
/// results of functions that only calls of `root` use. LLVM's code generator
/// for x86 takes a bf16 from block to block as a number of single precision,
/// and comes back by an instruction that makes 0 of what is below the smallest
/// normal number. A function that others call keeps its type, and calls one
/// that has its body.
void carryBFloatsAsIntegers(Operation *root);

} // namespace mlir::gpuasync::cpu

#endif // GPUASYNC_LIB_KERNELS_CPU_BFLOATS_H
