// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory without elements that comes out of a branch is registered by its place.
// RUN: gpu-runner --device=cpu --check %s --input=0xi32 --input=0 | FileCheck %s
// RUN: gpu-runner --device=cpu --check %s --input=0xi32 --input=1 | FileCheck %s
// RUN: gpu-runner --device=cpu --check %s --input=2xi32=1,2 --input=0 | FileCheck %s --check-prefix=TWO
// CHECK: 0xi32=
// TWO: 2xi32=2 4
func.func @main(%x: tensor<?xi32>, %b: i1) -> tensor<?xi32> {
  %r = scf.if %b -> tensor<?xi32> {
    scf.yield %x : tensor<?xi32>
  } else {
    %w = arith.addi %x, %x : tensor<?xi32>
    scf.yield %w : tensor<?xi32>
  }
  return %r : tensor<?xi32>
}
