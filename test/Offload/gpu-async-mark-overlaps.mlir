// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A collective leaves the device to products that are behind it, need nothing of it, and last long enough.
// RUN: gpu-opt %s --gpu-async-mark-overlaps | FileCheck %s
// RUN: gpu-opt %s --gpu-async-offload=device=gpu | FileCheck %s --check-prefix=GPU
// RUN: gpu-opt %s --gpu-async-offload=device=cpu | FileCheck %s --check-prefix=CPU
// CPU-NOT: overlapped

gpu_async.group @four grid [4] axes [0]

// As in a backward pass: two products to a sum, behind the last sum none. Small sums between are none of a budget.
// CHECK-LABEL: func.func @backward(
// CHECK: tensor_collective all_reduce<sum> group(@four) {{.*}} {overlapped}
// CHECK: tensor_collective all_reduce<sum> group(@four) {{.*}} outs(%{{.*}} : tensor<1024xf32>){{$}}
// CHECK: linalg.matmul
// CHECK: linalg.matmul
// CHECK: tensor_collective all_reduce<sum> group(@four) {{.*}} {overlapped}
// CHECK: linalg.matmul
// CHECK: linalg.matmul
// CHECK: tensor_collective all_reduce<sum> group(@four) {{.*}} outs(%{{.*}} : tensor<1024x1024xf32>){{$}}
// GPU-LABEL: func.func @backward(
// GPU: gpu_async.collective all_reduce<sum> group(@four) {{.*}} {overlapped}
// GPU: gpu_async.collective all_reduce<sum> group(@four) {{.*}} {overlapped}
// GPU: gpu_async.collective all_reduce<sum> group(@four)
func.func @backward(%x: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>, %b: tensor<1024xf32>)
    -> (tensor<1024x1024xf32>, tensor<1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
  %e = tensor.empty() : tensor<1024x1024xf32>
  %f = tensor.empty() : tensor<1024xf32>
  %zero = arith.constant 0.0 : f32
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %s = gpu_async.tensor_collective all_reduce<sum> group(@four) ins(%x : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>)
  %t = gpu_async.tensor_collective all_reduce<sum> group(@four) ins(%b : tensor<1024xf32>) outs(%f : tensor<1024xf32>)
  %p = linalg.matmul ins(%x, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%z : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %q = linalg.matmul ins(%w, %p : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%z : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %u = gpu_async.tensor_collective all_reduce<sum> group(@four) ins(%q : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>)
  %p2 = linalg.matmul ins(%p, %w : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%z : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %q2 = linalg.matmul ins(%w, %p2 : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%z : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %v = gpu_async.tensor_collective all_reduce<sum> group(@four) ins(%q2 : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>)
  return %s, %t, %u, %v : tensor<1024x1024xf32>, tensor<1024xf32>, tensor<1024x1024xf32>, tensor<1024x1024xf32>
}

// The products come before it, or need it.
// CHECK-LABEL: func.func @nothing_beside(
// CHECK-NOT: overlapped
// CHECK: return
func.func @nothing_beside(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %e = tensor.empty() : tensor<1024x1024xf32>
  %zero = arith.constant 0.0 : f32
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %p = linalg.matmul ins(%x, %x : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%z : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %s = gpu_async.tensor_collective all_reduce<sum> group(@four) ins(%x : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>)
  %c = arith.addf %s, %p : tensor<1024x1024xf32>
  %q = linalg.matmul ins(%c, %x : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%z : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %q : tensor<1024x1024xf32>
}

// Collectives run one after the other: the product needs the second, so nothing is beside the first.
// CHECK-LABEL: func.func @gathers(
// CHECK-NOT: overlapped
// CHECK: return
func.func @gathers(%x: tensor<1024x1024xf32>, %y: tensor<1024x1024xf32>, %z: tensor<4096x1024xf32>)
    -> (tensor<4096x1024xf32>, tensor<4096x1024xf32>) {
  %e = tensor.empty() : tensor<4096x1024xf32>
  %s = gpu_async.tensor_collective all_gather group(@four) ins(%x : tensor<1024x1024xf32>) outs(%e : tensor<4096x1024xf32>)
  %t = gpu_async.tensor_collective all_gather group(@four) ins(%y : tensor<1024x1024xf32>) outs(%e : tensor<4096x1024xf32>)
  %p = linalg.matmul ins(%t, %x : tensor<4096x1024xf32>, tensor<1024x1024xf32>) outs(%z : tensor<4096x1024xf32>) -> tensor<4096x1024xf32>
  return %s, %p : tensor<4096x1024xf32>, tensor<4096x1024xf32>
}

// Tensor cores are too fast for it, and so are products of few rows.
// CHECK-LABEL: func.func @short(
// CHECK-NOT: overlapped
// CHECK: return
func.func @short(%x: tensor<1024x1024xf16>, %y: tensor<16x1024xf32>, %w: tensor<1024x1024xf32>)
    -> (tensor<1024x1024xf16>, tensor<1024x1024xf16>, tensor<1024x1024xf32>, tensor<16x1024xf32>) {
  %e = tensor.empty() : tensor<1024x1024xf16>
  %f = tensor.empty() : tensor<1024x1024xf32>
  %g = tensor.empty() : tensor<16x1024xf32>
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.0 : f16
  %z = linalg.fill ins(%half : f16) outs(%e : tensor<1024x1024xf16>) -> tensor<1024x1024xf16>
  %y0 = linalg.fill ins(%zero : f32) outs(%g : tensor<16x1024xf32>) -> tensor<16x1024xf32>
  %s = gpu_async.tensor_collective all_reduce<sum> group(@four) ins(%x : tensor<1024x1024xf16>) outs(%e : tensor<1024x1024xf16>)
  %p = linalg.matmul ins(%x, %x : tensor<1024x1024xf16>, tensor<1024x1024xf16>) outs(%z : tensor<1024x1024xf16>) -> tensor<1024x1024xf16>
  %t = gpu_async.tensor_collective all_reduce<sum> group(@four) ins(%w : tensor<1024x1024xf32>) outs(%f : tensor<1024x1024xf32>)
  %q = linalg.matmul ins(%y, %w : tensor<16x1024xf32>, tensor<1024x1024xf32>) outs(%y0 : tensor<16x1024xf32>) -> tensor<16x1024xf32>
  return %s, %p, %t, %q : tensor<1024x1024xf16>, tensor<1024x1024xf16>, tensor<1024x1024xf32>, tensor<16x1024xf32>
}

// Sizes are not known.
// CHECK-LABEL: func.func @unknown(
// CHECK-NOT: overlapped
// CHECK: return
func.func @unknown(%x: tensor<?x1024xf32>, %w: tensor<1024x1024xf32>, %e: tensor<?x1024xf32>)
    -> (tensor<?x1024xf32>, tensor<?x1024xf32>, tensor<1024x1024xf32>) {
  %f = tensor.empty() : tensor<1024x1024xf32>
  %s = gpu_async.tensor_collective all_reduce<sum> group(@four) ins(%x : tensor<?x1024xf32>) outs(%e : tensor<?x1024xf32>)
  %t = gpu_async.tensor_collective all_reduce<sum> group(@four) ins(%w : tensor<1024x1024xf32>) outs(%f : tensor<1024x1024xf32>)
  %p = linalg.matmul ins(%x, %w : tensor<?x1024xf32>, tensor<1024x1024xf32>) outs(%e : tensor<?x1024xf32>) -> tensor<?x1024xf32>
  return %s, %p, %t : tensor<?x1024xf32>, tensor<?x1024xf32>, tensor<1024x1024xf32>
}

// In a loop, too. Ops of regions inside count as the op that has them.
// CHECK-LABEL: func.func @loop(
// CHECK: scf.for
// CHECK: tensor_collective all_reduce<sum> {{.*}} {overlapped}
// CHECK: tensor_collective all_reduce<sum> {{.*}} outs(%{{.*}} : tensor<1024x1024xf32>){{$}}
func.func @loop(%x: tensor<1024x1024xf32>, %n: index) -> tensor<1024x1024xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> tensor<1024x1024xf32> {
    %e = tensor.empty() : tensor<1024x1024xf32>
    %zero = arith.constant 0.0 : f32
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %s = gpu_async.tensor_collective all_reduce<sum> ins(%a : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>)
    %p = linalg.matmul ins(%a, %x : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%z : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %q = linalg.matmul ins(%p, %x : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%z : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %t = gpu_async.tensor_collective all_reduce<sum> ins(%q : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>)
    %which = arith.cmpi eq, %i, %c0 : index
    %u = scf.if %which -> tensor<1024x1024xf32> {
      %v = arith.addf %t, %s : tensor<1024x1024xf32>
      scf.yield %v : tensor<1024x1024xf32>
    } else {
      scf.yield %s : tensor<1024x1024xf32>
    }
    %k = linalg.matmul ins(%u, %x : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%z : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    scf.yield %k : tensor<1024x1024xf32>
  }
  return %r : tensor<1024x1024xf32>
}

// Elements of other types.
// CHECK-LABEL: func.func @others(
// CHECK: tensor_collective broadcast<0> {{.*}}index{{.*}} {overlapped}
func.func @others(%x: tensor<512x512xindex>, %a: tensor<1024x1024xf32>, %c: tensor<4x4xcomplex<f32>>)
    -> (tensor<512x512xindex>, tensor<1024x1024xf32>, tensor<4x4xcomplex<f32>>) {
  %e = tensor.empty() : tensor<512x512xindex>
  %s = gpu_async.tensor_collective broadcast<0> ins(%x : tensor<512x512xindex>) outs(%e : tensor<512x512xindex>)
  %p = linalg.matmul ins(%a, %a : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%a : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %q = linalg.matmul ins(%c, %c : tensor<4x4xcomplex<f32>>, tensor<4x4xcomplex<f32>>) outs(%c : tensor<4x4xcomplex<f32>>) -> tensor<4x4xcomplex<f32>>
  return %s, %p, %q : tensor<512x512xindex>, tensor<1024x1024xf32>, tensor<4x4xcomplex<f32>>
}
