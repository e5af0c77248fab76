// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Around the pipeline of docs/reference/Passes.md, which is compiled and not
// linked.
#include "mlir/IR/BuiltinOps.h"
// @INCLUDES@
llvm::LogicalResult lower(mlir::ModuleOp module) {
  // @BLOCK@
}
