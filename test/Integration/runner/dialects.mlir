// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Of what a front end writes before its own passes the error says who makes
// linalg of it.
// RUN: split-file %s %t
// RUN: not gpu-runner %t/stablehlo.mlir --device=cpu 2>&1 | FileCheck %s --check-prefix=STABLEHLO
// RUN: not gpu-runner %t/torch.mlir --device=cpu 2>&1 | FileCheck %s --check-prefix=TORCH
// RUN: not gpu-runner %t/other.mlir --device=cpu 2>&1 | FileCheck %s --check-prefix=OTHER

// STABLEHLO: stablehlo.mlir:2:8: error: Dialect `stablehlo' not found
// STABLEHLO: stablehlo.mlir:1:1: error: the program is in StableHLO: python3 -m gpu_async.frontends.lower_jax, or from Python gpu_async.jit, make linalg of what JAX traces (docs/reference/FrontEnds.md)
//--- stablehlo.mlir
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// TORCH: torch.mlir:1:28: error: {{.*}}unregistered dialect
// TORCH: torch.mlir:1:1: error: the program is in the torch dialect: python3 -m gpu_async.frontends.lower_torch, or from Python gpu_async.from_torch, make linalg of it (docs/reference/FrontEnds.md)
//--- torch.mlir
func.func @main(%a: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  return %a : !torch.vtensor<[4],f32>
}

// OTHER: other.mlir:2:8: error: Dialect `torches' not found
// OTHER-NOT: the program is in
//--- other.mlir
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = torches.add %a, %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
