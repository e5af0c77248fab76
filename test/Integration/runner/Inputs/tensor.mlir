// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
func.func @tensor(%a: tensor<4xf32>) {
  return
}
