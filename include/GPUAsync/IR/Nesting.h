//===- Nesting.h - how deep a program's text nests --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's parser, verifiers and passes call themselves for each level of nested
// regions and types, so that a few thousand levels exceed the stack.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_IR_NESTING_H
#define GPUASYNC_IR_NESTING_H

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace mlir::gpuasync {

/// A place in a text, both from 1 on.
struct DeepNesting {
  unsigned line, column;
  /// What is wrong and what to do.
  static const char *const message;
};

/// Where brackets of a program's text are nested deeper than it is parsed;
/// nothing if they are not, or if it is bytecode.
std::optional<DeepNesting> findDeepNesting(llvm::StringRef text);

} // namespace mlir::gpuasync

#endif // GPUASYNC_IR_NESTING_H
