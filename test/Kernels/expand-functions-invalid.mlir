// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -gpu-async-expand-functions -verify-diagnostics
func.func @open(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @below {{'math.exp' op on 'tensor<?xf32>' needs constants of an open size, which are none}}
  %y = math.exp %x : tensor<?xf32>
  return %y : tensor<?xf32>
}
