//===- LoweredNames.h - names in lowered programs ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Symbols by which whoever runs a lowered program finds what is in it:
// docs/reference/ABI.md.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_CONVERSION_LOWEREDNAMES_H
#define GPUASYNC_CONVERSION_LOWEREDNAMES_H

#include "llvm/ADT/StringRef.h"

namespace mlir::gpuasync {

/// The program descriptor, a gpuasync_program.
inline constexpr llvm::StringLiteral programSymbol = "_gpuasync_program";
/// Before the name of a function: its wrapper with a runner's signature.
inline constexpr llvm::StringLiteral packedPrefix = "_gpuasync_packed_";

} // namespace mlir::gpuasync

#endif // GPUASYNC_CONVERSION_LOWEREDNAMES_H
