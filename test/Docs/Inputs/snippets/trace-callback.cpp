// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Around the callback of docs/reference/Traces.md: a program that has one for a
// while.
// @INCLUDES@

static bool profiled() {
  // @BLOCK@
  return status.ok();
}

int main() { return &profiled == nullptr; }
