// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Around the lookup of docs/how-to/EmbedTheRuntime.md: a JIT that has loaded a
// lowered program.
// @INCLUDES@

void findProgram(mlir::ExecutionEngine *engine) {
  // @BLOCK@
  (void)program;
}
