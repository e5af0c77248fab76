// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products that stand alone are calls of a library in one branch and their tiles
// in the other. Which of them runs the function asks first.
// RUN: gpu-opt %s -split-input-file --verify-diagnostics -gpu-async-offload="device=gpu place=off blas=auto" | FileCheck %s --implicit-check-not="@gpuasync_blas_matmul_f16("
// RUN: gpu-opt %s -split-input-file -gpu-async-offload="device=gpu place=off" | FileCheck %s --check-prefix=OFF
// RUN: gpu-opt %s -split-input-file -gpu-async-offload="device=cpu blas=auto" 2>/dev/null | FileCheck %s --check-prefix=CPU
// OFF-NOT: gpuasync_blas_has

// CHECK: func.func private @gpuasync_blas_matmul_f32(memref<?x?xf32, strided<[?, ?], offset: ?>> {llvm.readonly}, memref<?x?xf32, strided<[?, ?], offset: ?>> {llvm.readonly}, memref<?x?xf32, strided<[?, ?], offset: ?>>, memref<?xi8>, i32) attributes {gpu_async.nonblocking, gpu_async.replayable}
// CHECK: func.func private @gpuasync_blas_has_f32() -> i32 attributes {llvm.readnone}
// CHECK-LABEL: func.func @product(
// CHECK-SAME: %[[A:.*]]: memref<128x96xf32>, %[[B:.*]]: memref<96x80xf32>, %[[C:.*]]: memref<128x80xf32>
// CHECK-NEXT: %[[HAS:.*]] = call @gpuasync_blas_has_f32() : () -> i32
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK-DAG: %[[BYTES:.*]] = arith.constant 655360 : index
// CHECK: %[[IS:.*]] = arith.cmpi ne, %[[HAS]], %[[ZERO]] : i32
// CHECK: %[[W:.*]] = gpu.alloc (%[[BYTES]]) : memref<?xi8>
// CHECK: scf.if %[[IS]] {
// CHECK-DAG: %[[AA:.*]] = memref.cast %[[A]]
// CHECK-DAG: %[[BB:.*]] = memref.cast %[[B]]
// CHECK-DAG: %[[CC:.*]] = memref.cast %[[C]]
// CHECK: gpu_async.call @gpuasync_blas_matmul_f32(%[[AA]] : {{.*}}, %[[BB]] : {{.*}}, %[[CC]] : {{.*}}, %[[W]] : memref<?xi8>, %[[ZERO]] : i32)
// CHECK-NEXT: } else {
// CHECK: gpu.launch
// CHECK: gpu.terminator
// CHECK: gpu.dealloc %[[W]]
// CPU-LABEL: func.func @product(
// CPU: gpu.alloc () : memref<0xi8>
func.func @product(%a: tensor<128x96xf32>, %b: tensor<96x80xf32>) -> tensor<128x80xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x80xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x80xf32>) -> tensor<128x80xf32>
  %p = linalg.matmul ins(%a, %b : tensor<128x96xf32>, tensor<96x80xf32>) outs(%f : tensor<128x80xf32>) -> tensor<128x80xf32>
  return %p : tensor<128x80xf32>
}

// -----

// Memrefs: the product is added to what is there. Of sizes that are known when
// the program runs, 0 and more than 32 bits are the tiles'.
// CHECK-LABEL: func.func @added(
// CHECK: %[[HAS:.*]] = call @gpuasync_blas_has_f64()
// CHECK: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK-COUNT-6: arith.cmpi ult, %{{.*}}, %c2147483647 : index
// CHECK: gpu.alloc (%c33554432) : memref<?xi8>
// CHECK: gpu_async.call @gpuasync_blas_matmul_f64({{.*}}, %[[ONE]] : i32)
// CHECK: } else {
func.func @added(%a: memref<?x?xf64>, %b: memref<?x?xf64>, %c: memref<?x?xf64>) {
  linalg.matmul ins(%a, %b : memref<?x?xf64>, memref<?x?xf64>) outs(%c : memref<?x?xf64>)
  return
}

// -----

// Transposed operands, and batches that are not the outermost dimension.
// CHECK-LABEL: func.func @transposed(
// CHECK-SAME: %[[A:.*]]: memref<96x3x128xbf16>, %[[B:.*]]: memref<3x80x96xbf16>, %[[C:.*]]: memref<128x3x80xbf16>
// CHECK: call @gpuasync_blas_has_bf16()
// CHECK-DAG: memref.reinterpret_cast %[[A]] to offset: [0], sizes: [3, 128, 96], strides: [128, 1, 384]
// CHECK-DAG: memref.reinterpret_cast %[[B]] to offset: [0], sizes: [3, 96, 80], strides: [7680, 1, 96]
// CHECK-DAG: memref.reinterpret_cast %[[C]] to offset: [0], sizes: [3, 128, 80], strides: [80, 240, 1]
// CHECK: gpu_async.call @gpuasync_blas_batch_matmul_bf16(
func.func @transposed(%a: memref<96x3x128xbf16>, %b: memref<3x80x96xbf16>, %c: memref<128x3x80xbf16>) {
  linalg.generic {indexing_maps = [affine_map<(b, m, n, k) -> (k, b, m)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (m, b, n)>],
                  iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<96x3x128xbf16>, memref<3x80x96xbf16>) outs(%c : memref<128x3x80xbf16>) {
  ^bb0(%x: bf16, %y: bf16, %z: bf16):
    %m = arith.mulf %x, %y : bf16
    %s = arith.addf %z, %m : bf16
    linalg.yield %s : bf16
  }
  return
}

// -----

// What is fused with it, and what is too little, is no call.
// CHECK-LABEL: func.func @fused(
// CHECK-NOT: gpu_async.call
// CHECK: gpu.launch
// CHECK-NOT: gpu.launch
// CHECK: return
func.func @fused(%a: tensor<128x96xf32>, %b: tensor<96x80xf32>) -> tensor<128x80xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x80xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x80xf32>) -> tensor<128x80xf32>
  %p = linalg.matmul ins(%a, %b : tensor<128x96xf32>, tensor<96x80xf32>) outs(%f : tensor<128x80xf32>) -> tensor<128x80xf32>
  %t = math.tanh %p : tensor<128x80xf32>
  return %t : tensor<128x80xf32>
}

// CHECK-LABEL: func.func @small(
// CHECK-NOT: gpu_async.call
// CHECK: return
func.func @small(%a: memref<8x16xf32>, %b: memref<16x8xf32>, %c: memref<8x8xf32>) {
  linalg.matmul ins(%a, %b : memref<8x16xf32>, memref<16x8xf32>) outs(%c : memref<8x8xf32>)
  return
}

// -----

// Sums that begin with something else than 0 are tiles.
// CHECK-LABEL: func.func @ones(
// CHECK-NOT: gpu_async.call
// CHECK: return
func.func @ones(%a: tensor<128x96xf32>, %b: tensor<96x80xf32>) -> tensor<128x80xf32> {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<128x80xf32>
  %f = linalg.fill ins(%one : f32) outs(%e : tensor<128x80xf32>) -> tensor<128x80xf32>
  %p = linalg.matmul ins(%a, %b : tensor<128x96xf32>, tensor<96x80xf32>) outs(%f : tensor<128x80xf32>) -> tensor<128x80xf32>
  return %p : tensor<128x80xf32>
}

// -----

// CHECK-LABEL: func.func @mixed(
// CHECK-NOT: gpu_async.call
func.func @mixed(%a: memref<128x96xf16>, %b: memref<96x80xf16>, %c: memref<128x80xf32>) {
  // expected-remark @+1 {{is not for a library (blas=auto): it multiplies f16 by f16 and adds up in f32, and the library's functions take one of f16, bf16, f32 and f64}}
  linalg.matmul ins(%a, %b : memref<128x96xf16>, memref<96x80xf16>) outs(%c : memref<128x80xf32>)
  return
}

// -----

!strided = memref<?x?xf32, strided<[?, ?]>>
// CHECK-LABEL: func.func @strided(
// CHECK-NOT: gpu_async.call
// CHECK: gpu.launch
func.func @strided(%a: !strided, %b: memref<96x80xf32>, %c: memref<128x80xf32>) {
  // expected-remark @+1 {{is not for a library (blas=auto): its left matrix is of type memref<?x?xf32, strided<[?, ?]>>, of which it is not known that one of the matrix's strides is 1 and the other one as long as the matrix there}}
  linalg.matmul ins(%a, %b : !strided, memref<96x80xf32>) outs(%c : memref<128x80xf32>)
  return
}

// -----

// CHECK-LABEL: func.func @heads(
// CHECK-NOT: gpu_async.call
func.func @heads(%a: memref<2x4x64x32xf32>, %b: memref<2x4x32x64xf32>, %c: memref<2x4x64x64xf32>) {
  // expected-remark @+1 {{is not for a library (blas=auto): it has 2 dimensions of batches, and the library's functions have one}}
  linalg.generic {indexing_maps = [affine_map<(b, h, m, n, k) -> (b, h, m, k)>, affine_map<(b, h, m, n, k) -> (b, h, k, n)>, affine_map<(b, h, m, n, k) -> (b, h, m, n)>],
                  iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<2x4x64x32xf32>, memref<2x4x32x64xf32>) outs(%c : memref<2x4x64x64xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %m = arith.mulf %x, %y : f32
    %s = arith.addf %z, %m : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// A name that the program has for something else.
func.func @gpuasync_blas_matmul_f32(%x: f32) {
  return
}
// CHECK-LABEL: func.func @named(
// CHECK-NOT: gpu_async.call
func.func @named(%a: memref<128x96xf32>, %b: memref<96x80xf32>, %c: memref<128x80xf32>) {
  // expected-remark @+1 {{is not for a library (blas=auto): the program has an @gpuasync_blas_matmul_f32 of its own}}
  linalg.matmul ins(%a, %b : memref<128x96xf32>, memref<96x80xf32>) outs(%c : memref<128x80xf32>)
  return
}

// RUN: gpu-opt %s -split-input-file -gpu-async-offload="device=gpu place=off blas=auto" --remarks-filter=gpu-async-call-products --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] ProductByLibrary | Category:gpu-async-call-products | Function=product | library-calls=1{{$}}
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] ProductInTiles | Category:gpu-async-call-products | Function=strided | tiled-products=1{{$}}
