// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Around the pass between stages of docs/reference/Passes.md.
// @INCLUDES@

// @BLOCK@
