//===- VerifyProgram.h - what no program may contain ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What makes a module one program, in every form: no programs inside it, and
// no names that belong to the runtime or to the lowering.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_IR_VERIFYPROGRAM_H
#define GPUASYNC_IR_VERIFYPROGRAM_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::gpuasync {

/// Checks the symbols of `program`, nothing inside functions. Reports errors at
/// their places.
///
/// A module is one program, with its own kernels, tables and symbols. One
/// within it that has device work is refused: no pass would look into it.
///
/// Names that begin with "gpuasync_" are the runtime's: a program may declare
/// such functions, those that lowered code calls as llvm.func only. Names that
/// begin with "_gpuasync_" are those of a lowered program, in LLVM dialect.
LogicalResult verifyProgram(ModuleOp program);

} // namespace mlir::gpuasync

#endif // GPUASYNC_IR_VERIFYPROGRAM_H
