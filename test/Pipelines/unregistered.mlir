// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops of dialects that nobody registered are an error at their place, in kernels and on
// the host.
// RUN: split-file %s %t
// RUN: not gpu-opt --allow-unregistered-dialect --gpu-async-pipeline=targets=cpu %t/kernel.mlir 2>&1 | FileCheck %t/kernel.mlir
// RUN: not gpu-opt --allow-unregistered-dialect --gpu-async-pipeline=targets=cpu %t/host.mlir 2>&1 | FileCheck %t/host.mlir
// RUN: not gpu-opt --allow-unregistered-dialect --gpu-async-pipeline=targets=cpu %t/tensors.mlir 2>&1 | FileCheck %t/tensors.mlir

//--- kernel.mlir
// CHECK: kernel.mlir:[[@LINE+6]]:12: error: 'test.foo' cannot be lowered for the cpu device
module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @f(%m: memref<4xf32>) kernel {
      %c0 = arith.constant 0 : index
      %a = memref.load %m[%c0] : memref<4xf32>
      %b = "test.foo"(%a) : (f32) -> f32
      memref.store %b, %m[%c0] : memref<4xf32>
      gpu.return
    }
  }
  func.func @main(%m: memref<4xf32>) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<4xf32>)
    return
  }
}

//--- host.mlir
// CHECK: host.mlir:[[@LINE+4]]:3: error:
func.func @main(%m: memref<4xf32>, %v: f32) {
  %x = gpu.alloc () : memref<4xf32>
  gpu.memset %x, %v : memref<4xf32>, f32
  "test.bar"(%m) : (memref<4xf32>) -> ()
  gpu.dealloc %x : memref<4xf32>
  return
}

//--- tensors.mlir
// CHECK: tensors.mlir:[[@LINE+3]]:8: error:
func.func @main(%t: tensor<4xf32>) -> tensor<4xf32> {
  %a = math.exp %t : tensor<4xf32>
  %b = "test.baz"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %c = arith.addf %b, %t : tensor<4xf32>
  return %c : tensor<4xf32>
}
