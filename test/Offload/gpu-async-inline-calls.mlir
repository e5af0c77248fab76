// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s --gpu-async-inline-calls | FileCheck %s
// RUN: gpu-opt %s --gpu-async-inline-calls --remarks-filter=gpu-async-inline-calls --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// REMARK: remark: [Passed] InlinedCalls | Category:gpu-async-inline-calls | Function=twice | calls=2
// REMARK: remark: [Passed] InlinedCalls | Category:gpu-async-inline-calls | Function=main | calls=1
// REMARK: remark: [Passed] InlinedCalls | Category:gpu-async-inline-calls | Function=ranks | calls=1
// REMARK-NOT: remark

// What is called comes along, with what it calls.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: math.exp
// CHECK-NEXT: math.exp
// CHECK-NEXT: call @branches
// CHECK-NEXT: call @device_work
// CHECK-NEXT: call @declared
// CHECK-NEXT: return
func.func @main(%x: tensor<8xf32>, %c: i1) -> tensor<8xf32> {
  %y = call @twice(%x) : (tensor<8xf32>) -> tensor<8xf32>
  call @branches(%c) : (i1) -> ()
  call @device_work() : () -> ()
  call @declared() : () -> ()
  return %y : tensor<8xf32>
}
func.func private @twice(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = call @exponential(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %z = call @exponential(%y) : (tensor<8xf32>) -> tensor<8xf32>
  return %z : tensor<8xf32>
}
func.func private @exponential(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = math.exp %x : tensor<8xf32>
  return %y : tensor<8xf32>
}
func.func private @branches(%c: i1) {
  cf.cond_br %c, ^end, ^other
^other:
  cf.br ^end
^end:
  return
}
func.func private @device_work() {
  %m = gpu.alloc () : memref<4xf32>
  gpu.dealloc %m : memref<4xf32>
  return
}
func.func private @declared()

// A function that calls itself stays a call. So does a call where there is no
// work for kernels.
// CHECK-LABEL: func.func @again
// CHECK: call @again
func.func @again(%x: tensor<?xf32>) -> tensor<?xf32> {
  %r = call @again(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
// CHECK-LABEL: func.func @numbers
// CHECK: call @one
func.func @numbers() -> i32 {
  %r = call @one() : () -> i32
  return %r : i32
}
func.func private @one() -> i32 {
  %r = arith.constant 1 : i32
  return %r : i32
}

// Collectives of tensors and numbers of ranks come along.
// CHECK-LABEL: func.func @ranks
// CHECK-NEXT: tensor.empty
// CHECK-NEXT: gpu_async.tensor_collective
// CHECK-NEXT: gpu_async.rank
// CHECK-NEXT: gpu_async.size
// CHECK-NEXT: gpu_async.uniform
// CHECK-NEXT: tensor.from_elements
// CHECK-NEXT: return
func.func @ranks(%x: tensor<2xindex>) -> (tensor<2xindex>, tensor<2xindex>) {
  %y, %z = call @exchange(%x) : (tensor<2xindex>) -> (tensor<2xindex>, tensor<2xindex>)
  return %y, %z : tensor<2xindex>, tensor<2xindex>
}
func.func private @exchange(%x: tensor<2xindex>) -> (tensor<2xindex>, tensor<2xindex>) {
  %e = tensor.empty() : tensor<2xindex>
  %y = gpu_async.tensor_collective all_reduce<sum> ins(%x : tensor<2xindex>) outs(%e : tensor<2xindex>)
  %r = gpu_async.rank
  %n = gpu_async.size
  %u = gpu_async.uniform %r : index
  %z = tensor.from_elements %u, %n : tensor<2xindex>
  return %y, %z : tensor<2xindex>, tensor<2xindex>
}
