//===- IndexSwitch.h - scf.index_switch as scf.if ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For what knows scf.if only.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_IR_INDEXSWITCH_H
#define GPUASYNC_IR_INDEXSWITCH_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::gpuasync {

/// Replaces the op by a chain of scf.if, one in the other's else.
void makeIfs(scf::IndexSwitchOp op);

} // namespace mlir::gpuasync

#endif // GPUASYNC_IR_INDEXSWITCH_H
