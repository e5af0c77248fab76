// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -gpu-async-offload="device=gpu place=off donate" 2>%t.err | sed 's/  */ /g' | FileCheck %s
// RUN: grep -v "^func.func\|see current\|^  \|^}\|\^" %t.err | FileCheck %s --check-prefix=WARNS
// RUN: gpu-opt %s -gpu-async-offload="device=gpu place=off" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: gpu-opt %s -gpu-async-offload="device=gpu place=copy donate" 2>&1 | FileCheck %s --check-prefix=NONE

// NONE-NOT: takes
// NONE-NOT: warning

// The row is written into the cache: nothing else is copied.
// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[R:arg3]]: memref<4x8xf32> {gpu_async.result = 0 : i64, gpu_async.takes = 0 : i64, llvm.noalias}
// CHECK-NOT: memcpy
// CHECK: %[[V:.*]] = memref.subview %[[R]]
// CHECK: gpu.memcpy %[[V]], %arg1
// CHECK-NOT: {{memcpy|%arg0}}
// CHECK: return
func.func @step(%k: tensor<4x8xf32> {gpu_async.donated}, %row: tensor<1x8xf32>, %n: index) -> tensor<4x8xf32> {
  %k2 = tensor.insert_slice %row into %k[%n, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
  return %k2 : tensor<4x8xf32>
}

// The old row goes to another result before it is overwritten.
// CHECK-LABEL: func.func @old
// CHECK-SAME: gpu_async.result = 1 : i64, gpu_async.takes = 0
// CHECK: %[[OLD:.*]] = memref.subview %[[R:arg4]]
// CHECK: gpu.memcpy %arg3, %[[OLD]]
// CHECK: gpu.memcpy %{{.*}}, %arg1
// CHECK-NOT: memcpy
// CHECK: return
func.func @old(%k: tensor<4x8xf32> {gpu_async.donated}, %row: tensor<1x8xf32>, %n: index) -> (tensor<1x8xf32>, tensor<4x8xf32>) {
  %o = tensor.extract_slice %k[%n, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<1x8xf32>
  %k2 = tensor.insert_slice %row into %k[%n, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
  return %o, %k2 : tensor<1x8xf32>, tensor<4x8xf32>
}

// Element by element, in the place of what it is computed of.
// CHECK-LABEL: func.func @elements
// CHECK-SAME: gpu_async.takes = 0
// CHECK-NOT: %arg0
// CHECK: gpu.launch
// CHECK-NOT: %arg0
// CHECK: return
func.func @elements(%w: tensor<64x8xf32> {gpu_async.donated}, %g: tensor<64x8xf32>) -> tensor<64x8xf32> {
  %u = arith.subf %w, %g : tensor<64x8xf32>
  return %u : tensor<64x8xf32>
}

// The result that is a changed copy is preferred, though another comes first.
// CHECK-LABEL: func.func @prefers
// CHECK-SAME: gpu_async.result = 0 : i64, llvm.noalias}
// CHECK-SAME: gpu_async.result = 1 : i64, gpu_async.takes = 0
func.func @prefers(%k: tensor<4x8xf32> {gpu_async.donated}, %l: tensor<4x8xf32>, %row: tensor<1x8xf32>, %n: index)
    -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %e = math.exp %l : tensor<4x8xf32>
  %k2 = tensor.insert_slice %row into %k[%n, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
  return %e, %k2 : tensor<4x8xf32>, tensor<4x8xf32>
}

// Any result of the type, if it is written behind all reads of the argument.
// CHECK-LABEL: func.func @behind
// CHECK-SAME: gpu_async.result = 0 : i64, llvm.noalias}
// CHECK-SAME: gpu_async.result = 1 : i64, gpu_async.takes = 0
func.func @behind(%k: tensor<4x8xf32> {gpu_async.donated}) -> (tensor<8xf32>, tensor<4x8xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %s = linalg.reduce ins(%k : tensor<4x8xf32>) outs(%f : tensor<8xf32>) dimensions = [0] (%a: f32, %b: f32) {
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  }
  %t = tensor.empty() : tensor<4x8xf32>
  %r = linalg.broadcast ins(%s : tensor<8xf32>) outs(%t : tensor<4x8xf32>) dimensions = [0]
  return %s, %r : tensor<8xf32>, tensor<4x8xf32>
}

// Other elements than those that are written are read: the memory is not taken.
// CHECK-LABEL: func.func @reversed
// CHECK-NOT: takes
// CHECK: gpu.launch
// WARNS: warning: some donated arguments are not usable, and no result takes their memory: argument 0 of tensor<64x64xf32>: results of its type have other memory, or are written before it is read for the last time
func.func @reversed(%w: tensor<64x64xf32> {gpu_async.donated}) -> tensor<64x64xf32> {
  %e = tensor.empty() : tensor<64x64xf32>
  %r = linalg.transpose ins(%w : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) permutation = [1, 0]
  return %r : tensor<64x64xf32>
}

// A kernel reads the old cache behind the write.
// CHECK-LABEL: func.func @read_behind
// CHECK-NOT: takes
// CHECK: gpu.memcpy %arg3, %arg0
// WARNS: warning: {{.*}}argument 0 of tensor<4x8xf32>
func.func @read_behind(%k: tensor<4x8xf32> {gpu_async.donated}, %row: tensor<1x8xf32>, %n: index) -> (tensor<4x8xf32>, tensor<4x8xf64>) {
  %k2 = tensor.insert_slice %row into %k[%n, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
  %s = arith.addf %k, %k2 : tensor<4x8xf32>
  %r = arith.extf %s : tensor<4x8xf32> to tensor<4x8xf64>
  return %k2, %r : tensor<4x8xf32>, tensor<4x8xf64>
}

// Rows move up within the cache: a copy from the same memory would overlap itself.
// CHECK-LABEL: func.func @within
// CHECK-NOT: takes
// WARNS: warning: {{.*}}argument 0 of tensor<4x8xf32>
func.func @within(%k: tensor<4x8xf32> {gpu_async.donated}) -> tensor<4x8xf32> {
  %rows = tensor.extract_slice %k[1, 0] [3, 8] [1, 1] : tensor<4x8xf32> to tensor<3x8xf32>
  %k2 = tensor.insert_slice %rows into %k[0, 0] [3, 8] [1, 1] : tensor<3x8xf32> into tensor<4x8xf32>
  return %k2 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @other_type
// CHECK-NOT: takes
// WARNS: warning: {{.*}}argument 1 of tensor<8x4xf32>: no result has its type and sizes
func.func @other_type(%n: index, %k: tensor<8x4xf32> {gpu_async.donated}) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %r = linalg.transpose ins(%k : tensor<8x4xf32>) outs(%e : tensor<4x8xf32>) permutation = [1, 0]
  return %r : tensor<4x8xf32>
}
