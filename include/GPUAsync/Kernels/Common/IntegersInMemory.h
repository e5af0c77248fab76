//===- IntegersInMemory.h - Booleans and odd integers in memory -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How integers lie in memory that do not fill their bytes. An i1 is a byte: 0
// is false, any other value is true, as in NumPy and C. Other widths are the
// low bits of the least number of bytes. LLVM promises nothing about a load
// where the bits above are set, and callers' arrays have such bytes.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_KERNELS_COMMON_INTEGERSINMEMORY_H
#define GPUASYNC_KERNELS_COMMON_INTEGERSINMEMORY_H

#include "mlir/IR/Builders.h"

namespace mlir::gpuasync {

/// Returns whether the integer or vector of integers `byte` differs from zero:
/// the boolean that it is in memory.
Value buildBoolOfByte(OpBuilder &builder, Location loc, Value byte);

/// Makes vector ops that read or write memrefs of i1 work on bytes. Upstream
/// lowers them to vectors of single bits. Before vectors become LLVM dialect.
void accessBoolVectorsAsBytes(Operation *root);

/// Makes the loads and stores of LLVM dialect below `root` that are of odd
/// integers loads and stores of whole bytes.
void accessIntegersAsBytes(Operation *root);

} // namespace mlir::gpuasync

#endif // GPUASYNC_KERNELS_COMMON_INTEGERSINMEMORY_H
