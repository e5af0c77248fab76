// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// With blas=auto large products of f32 and f64 for a GPU are fused with nothing, and a product writes its result as a
// transposition behind it has it.
// RUN: gpu-opt %s "-gpu-async-form-groups=device=gpu blas=auto" -split-input-file | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: gpu-opt %s "-gpu-async-form-groups=device=cpu blas=auto" -split-input-file | FileCheck %s --check-prefixes=CHECK,FUSED
// RUN: gpu-opt %s "-gpu-async-form-groups=device=gpu" -split-input-file | FileCheck %s --check-prefix=OFF
// OFF-NOT: gpu_async.product
#rows = affine_map<(d0, d1, d2) -> (d0, d2)>
#columns = affine_map<(d0, d1, d2) -> (d2, d1)>
#result = affine_map<(d0, d1, d2) -> (d0, d1)>
#same = affine_map<(d0, d1) -> (d0, d1)>

// CHECK-LABEL: func.func @activation(
// GPU: %[[P:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : {{.*}}) attrs = {{.*}}gpu_async.product = false
// GPU: scf.forall
// GPU: tensor.extract_slice %[[P]]
// FUSED-NOT: gpu_async.product
// FUSED: return
func.func @activation(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1024x1024xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %p = linalg.generic {indexing_maps = [#rows, #columns, #result], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%f : tensor<1024x1024xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %m = arith.mulf %x, %y : f32
    %n = arith.addf %s, %m : f32
    linalg.yield %n : f32
  } -> tensor<1024x1024xf32>
  %r = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) {
  ^bb0(%x: f32, %o: f32):
    %m = arith.maximumf %x, %zero : f32
    linalg.yield %m : f32
  } -> tensor<1024x1024xf32>
  return %r : tensor<1024x1024xf32>
}

// -----

// One more pass over the result would take longer: sums of few terms, a small product, elements that kernels are fast with.
#rows = affine_map<(d0, d1, d2) -> (d0, d2)>
#columns = affine_map<(d0, d1, d2) -> (d2, d1)>
#result = affine_map<(d0, d1, d2) -> (d0, d1)>
#same = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @few_terms(
// CHECK-NOT: gpu_async.product
// CHECK: return
func.func @few_terms(%a: tensor<4096x128xf32>, %b: tensor<128x4096xf32>) -> tensor<4096x4096xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4096x4096xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %p = linalg.generic {indexing_maps = [#rows, #columns, #result], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<4096x128xf32>, tensor<128x4096xf32>) outs(%f : tensor<4096x4096xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %m = arith.mulf %x, %y : f32
    %n = arith.addf %s, %m : f32
    linalg.yield %n : f32
  } -> tensor<4096x4096xf32>
  %r = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<4096x4096xf32>) outs(%e : tensor<4096x4096xf32>) {
  ^bb0(%x: f32, %o: f32):
    %m = arith.maximumf %x, %zero : f32
    linalg.yield %m : f32
  } -> tensor<4096x4096xf32>
  return %r : tensor<4096x4096xf32>
}
// CHECK-LABEL: func.func @half(
// CHECK-NOT: gpu_async.product
// CHECK: return
func.func @half(%a: tensor<1024x1024xf16>, %b: tensor<1024x1024xf16>) -> tensor<1024x1024xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<1024x1024xf16>
  %f = linalg.fill ins(%zero : f16) outs(%e : tensor<1024x1024xf16>) -> tensor<1024x1024xf16>
  %p = linalg.matmul ins(%a, %b : tensor<1024x1024xf16>, tensor<1024x1024xf16>) outs(%f : tensor<1024x1024xf16>) -> tensor<1024x1024xf16>
  %r = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<1024x1024xf16>) outs(%e : tensor<1024x1024xf16>) {
  ^bb0(%x: f16, %o: f16):
    %m = arith.maximumf %x, %zero : f16
    linalg.yield %m : f16
  } -> tensor<1024x1024xf16>
  return %r : tensor<1024x1024xf16>
}

// -----

// CHECK: #[[$OTHER:.*]] = affine_map<(d0, d1, d2) -> (d1, d0)>
#rows = affine_map<(d0, d1, d2) -> (d0, d2)>
#columns = affine_map<(d0, d1, d2) -> (d2, d1)>
#result = affine_map<(d0, d1, d2) -> (d0, d1)>
#same = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-LABEL: func.func @transposed(
// CHECK-NOT: scf.forall
// CHECK: %[[P:.*]] = linalg.generic {indexing_maps = [#{{.*}}, #{{.*}}, #[[$OTHER]]], {{.*}} ins(%arg0, %arg1 : {{.*}}) outs(%{{.*}} : tensor<80x128xf32>) attrs = {{.*}}gpu_async.product = false
// CHECK: return %[[P]]
func.func @transposed(%a: tensor<128x96xf32>, %b: tensor<96x80xf32>) -> tensor<80x128xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x80xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x80xf32>) -> tensor<128x80xf32>
  %p = linalg.generic {indexing_maps = [#rows, #columns, #result], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<128x96xf32>, tensor<96x80xf32>) outs(%f : tensor<128x80xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %m = arith.mulf %x, %y : f32
    %n = arith.addf %s, %m : f32
    linalg.yield %n : f32
  } -> tensor<128x80xf32>
  %t = tensor.empty() : tensor<80x128xf32>
  %r = linalg.generic {indexing_maps = [#turned, #same], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<128x80xf32>) outs(%t : tensor<80x128xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  } -> tensor<80x128xf32>
  return %r : tensor<80x128xf32>
}

// Who uses the product as it is has it so.
// CHECK-LABEL: func.func @both(
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<128x80xf32>) attrs = {{.*}}gpu_async.product = false
// CHECK: scf.forall
func.func @both(%a: tensor<128x96xf32>, %b: tensor<96x80xf32>) -> (tensor<128x80xf32>, tensor<80x128xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x80xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x80xf32>) -> tensor<128x80xf32>
  %p = linalg.generic {indexing_maps = [#rows, #columns, #result], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<128x96xf32>, tensor<96x80xf32>) outs(%f : tensor<128x80xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %m = arith.mulf %x, %y : f32
    %n = arith.addf %s, %m : f32
    linalg.yield %n : f32
  } -> tensor<128x80xf32>
  %t = tensor.empty() : tensor<80x128xf32>
  %r = linalg.generic {indexing_maps = [#turned, #same], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<128x80xf32>) outs(%t : tensor<80x128xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  } -> tensor<80x128xf32>
  return %p, %r : tensor<128x80xf32>, tensor<80x128xf32>
}

// A body that does more stays, and so do sizes of tiles that are given.
// CHECK-LABEL: func.func @checked(
// CHECK: cf.assert
func.func @checked(%a: tensor<128x96xf32>, %b: tensor<96x80xf32>) -> tensor<80x128xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x80xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x80xf32>) -> tensor<128x80xf32>
  %p = linalg.generic {indexing_maps = [#rows, #columns, #result], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<128x96xf32>, tensor<96x80xf32>) outs(%f : tensor<128x80xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %m = arith.mulf %x, %y : f32
    %n = arith.addf %s, %m : f32
    linalg.yield %n : f32
  } -> tensor<128x80xf32>
  %t = tensor.empty() : tensor<80x128xf32>
  %r = linalg.generic {indexing_maps = [#turned, #same], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<128x80xf32>) outs(%t : tensor<80x128xf32>) {
  ^bb0(%x: f32, %o: f32):
    %ok = arith.cmpf olt, %x, %zero : f32
    cf.assert %ok, "not negative"
    linalg.yield %x : f32
  } -> tensor<80x128xf32>
  return %r : tensor<80x128xf32>
}
// CHECK-LABEL: func.func @given_tile(
// CHECK: scf.forall {{.*}} step (8, 8)
func.func @given_tile(%a: tensor<128x96xf32>, %b: tensor<96x80xf32>) -> tensor<80x128xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x80xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x80xf32>) -> tensor<128x80xf32>
  %p = linalg.generic {indexing_maps = [#rows, #columns, #result], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<128x96xf32>, tensor<96x80xf32>) outs(%f : tensor<128x80xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %m = arith.mulf %x, %y : f32
    %n = arith.addf %s, %m : f32
    linalg.yield %n : f32
  } -> tensor<128x80xf32>
  %t = tensor.empty() : tensor<80x128xf32>
  %r = linalg.generic {indexing_maps = [#turned, #same], iterator_types = ["parallel", "parallel"]}
      ins(%p : tensor<128x80xf32>) outs(%t : tensor<80x128xf32>) attrs = {gpu_async.tile = array<i64: 8, 8>} {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  } -> tensor<80x128xf32>
  return %r : tensor<80x128xf32>
}
