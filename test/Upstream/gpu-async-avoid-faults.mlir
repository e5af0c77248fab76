// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -gpu-async-avoid-faults | FileCheck %s

// Nothing of the index dialect is left, in kernels either.
// CHECK-LABEL: func.func @index
// CHECK-NOT: index.
// CHECK: arith.constant 3 : index
// CHECK: arith.constant true
// CHECK: arith.constant 64 : index
// CHECK: arith.index_cast %{{.*}} : i32 to index
// CHECK: arith.index_castui %{{.*}} : index to i8
// CHECK: arith.subi
// CHECK: arith.cmpi ule
// CHECK: arith.ceildivsi
// CHECK: arith.floordivsi
// CHECK: arith.shrui
func.func @index(%a: index, %b: index, %c: i32) -> (index, i1, index, index, i8, i1, index, index, index) {
  %0 = index.constant 3
  %1 = index.bool.constant true
  %2 = index.sizeof
  %3 = index.casts %c : i32 to index
  %4 = index.castu %a : index to i8
  %5 = index.sub %a, %b
  %6 = index.cmp ule(%5, %0)
  %7 = index.ceildivs %a, %b
  %8 = index.floordivs %a, %b
  %9 = index.shru %a, %b
  return %0, %1, %2, %3, %4, %6, %7, %8, %9 : index, i1, index, index, i8, i1, index, index, index
}

// The bounds are as the op says them, flags stay.
// CHECK-LABEL: func.func @clamp
// CHECK-SAME: (%[[X:.*]]: f32, %[[LOW:.*]]: f32, %[[HIGH:.*]]: f32)
// CHECK: %[[M:.*]] = arith.minimumf %[[X]], %[[HIGH]] fastmath<nnan> : f32
// CHECK: arith.maximumf %[[M]], %[[LOW]] fastmath<nnan> : f32
func.func @clamp(%x: f32, %low: f32, %high: f32) -> f32 {
  %0 = math.clampf %x to [%low, %high] fastmath<nnan> : f32
  return %0 : f32
}

// The logarithm of 0 is -infinity, also as log(1 + z).
// CHECK-LABEL: func.func @log1p
// CHECK: %[[MOST:.*]] = arith.maximumf
// CHECK: %[[ZERO:.*]] = arith.cmpf oeq, %[[MOST]], %{{.*}} : f64
// CHECK: %[[WIDE:.*]] = arith.select %[[ZERO]], %{{.*}}, %{{.*}} : f64
// CHECK: math.atan2
// CHECK: %[[LENGTH:.*]] = arith.truncf %[[WIDE]]
// CHECK: %[[ANGLE:.*]] = arith.truncf
// CHECK: complex.create %[[LENGTH]], %[[ANGLE]] : complex<f32>
func.func @log1p(%z: complex<f32>) -> complex<f32> {
  %0 = complex.log1p %z : complex<f32>
  return %0 : complex<f32>
}

// All 64 bits are compared.
// CHECK-LABEL: func.func @switch
// CHECK-SAME: (%[[X:.*]]: index)
// CHECK-NOT: scf.index_switch
// CHECK: arith.cmpi eq, %[[X]], %{{.*}} : index
// CHECK: scf.if
func.func @switch(%x: index) -> i32 {
  %r = scf.index_switch %x -> i32
  case 0 {
    %a = arith.constant 1 : i32
    scf.yield %a : i32
  }
  default {
    %b = arith.constant 2 : i32
    scf.yield %b : i32
  }
  return %r : i32
}

// Masks of transfers of whole tensors; the others stay.
// CHECK-LABEL: func.func @transfers
// CHECK-SAME: (%[[T:.*]]: tensor<4xf32>, %[[M:.*]]: vector<4xi1>, %[[P:.*]]: f32)
// CHECK: %[[PADDING:.*]] = vector.broadcast %[[P]] : f32 to vector<4xf32>
// CHECK: %[[ALL:.*]] = vector.transfer_read %[[T]][%{{.*}}], %[[P]] : tensor<4xf32>
// CHECK: %[[READ:.*]] = arith.select %[[M]], %[[ALL]], %[[PADDING]]
// CHECK: %[[OLD:.*]] = vector.transfer_read %[[T]]
// CHECK: %[[NEW:.*]] = arith.select %[[M]], %[[READ]], %[[OLD]]
// CHECK: vector.transfer_write %[[NEW]], %[[T]][%{{.*}}] {in_bounds = [true]} : vector<4xf32>
// CHECK-LABEL: func.func @part
// CHECK: vector.transfer_read %{{.*}}[%{{.*}}], %{{.*}}, %{{.*}} : tensor<8xf32>
func.func @transfers(%t: tensor<4xf32>, %m: vector<4xi1>, %p: f32) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %r = vector.transfer_read %t[%c0], %p, %m {in_bounds = [true]} : tensor<4xf32>, vector<4xf32>
  %w = vector.transfer_write %r, %t[%c0], %m {in_bounds = [true]} : vector<4xf32>, tensor<4xf32>
  return %w : tensor<4xf32>
}
func.func @part(%t: tensor<8xf32>, %m: vector<4xi1>, %p: f32) -> vector<4xf32> {
  %c0 = arith.constant 0 : index
  %r = vector.transfer_read %t[%c0], %p, %m : tensor<8xf32>, vector<4xf32>
  return %r : vector<4xf32>
}

// CHECK-LABEL: func.func @truncate
// CHECK: arith.trunci %{{.*}} : i8 to i1
func.func @truncate(%x: i64) -> i1 {
  %a = arith.trunci %x : i64 to i8
  %b = arith.trunci %a overflow<nsw> : i8 to i1
  return %b : i1
}

// A view with steps, and one that drops a dimension.
// CHECK-LABEL: func.func @drop
// CHECK: %[[V:.*]] = memref.subview %{{.*}}[0, 0] [1, 1] [3, 2] : memref<8x8xf32> to memref<1x1xf32, strided<[24, 2]>>
// CHECK: memref.subview %[[V]][0, 0] [1, 1] [1, 1] : {{.*}} to memref<1xf32, strided<[24]>>
func.func @drop(%m: memref<8x8xf32>) -> memref<1xf32, strided<[24]>> {
  %v = memref.subview %m[0, 0] [1, 1] [3, 2] : memref<8x8xf32> to memref<1xf32, strided<[24]>>
  return %v : memref<1xf32, strided<[24]>>
}

// CHECK-LABEL: gpu.func @kernel
// CHECK: arith.ceildivsi
gpu.module @k {
  gpu.func @kernel(%m: memref<?xindex>) kernel {
    %t = gpu.thread_id x
    %c7 = index.constant 7
    %0 = memref.load %m[%t] : memref<?xindex>
    %1 = index.ceildivs %0, %c7
    memref.store %1, %m[%t] : memref<?xindex>
    gpu.return
  }
}

// RUN: gpu-opt %s -gpu-async-avoid-faults --remarks-filter=gpu-async-avoid-faults --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] ReplacedOp | Category:gpu-async-avoid-faults | Function=index | replaced-ops=1{{$}}
