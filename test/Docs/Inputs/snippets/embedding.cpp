// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Around the embedding of docs/how-to/EmbedTheRuntime.md: a lowered program
// and its function.
// @INCLUDES@
#include <stdio.h>

[[maybe_unused]] static gpuasync_status *lowered_function(int, float) {
  return nullptr;
}

template <typename... Args>
static int embed(const gpuasync_program &program, Args... args) {
  // @BLOCK@
  return 0;
}

int main() { return &embed<int, float> == nullptr; }
