// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gpu.memset with patterns of one, two, four and eight bytes, whole numbers and
// floats, on static and dynamic shapes.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

// The kernel adds up one element of each buffer, the last one.
// CHECK: [-7, -300, 70000, 5000000000, 3, 5]
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %n = arith.constant 37 : index
  %last = arith.constant 36 : index
  %v8 = arith.constant -7 : i8
  %v16 = arith.constant -300 : i16
  %v32 = arith.constant 70000 : i32
  %v64 = arith.constant 5000000000 : i64
  %vf = arith.constant 1.5 : f32
  %vd = arith.constant 2.5 : f64
  %h = memref.alloc() : memref<6xi64>

  %start = gpu.wait async
  %b8, %a0 = gpu.alloc async [%start] (%n) : memref<?xi8>
  %b16, %a1 = gpu.alloc async [%start] (%n) : memref<?xi16>
  %b32, %a2 = gpu.alloc async [%start] () : memref<37xi32>
  %b64, %a3 = gpu.alloc async [%start] (%n) : memref<?xi64>
  %bf, %a4 = gpu.alloc async [%start] (%n) : memref<?xf32>
  %bd, %a5 = gpu.alloc async [%start] () : memref<37xf64>
  %sum, %a6 = gpu.alloc async [%start] () : memref<6xi64>
  %m0 = gpu.memset async [%a0] %b8, %v8 : memref<?xi8>, i8
  %m1 = gpu.memset async [%a1] %b16, %v16 : memref<?xi16>, i16
  %m2 = gpu.memset async [%a2] %b32, %v32 : memref<37xi32>, i32
  %m3 = gpu.memset async [%a3] %b64, %v64 : memref<?xi64>, i64
  %m4 = gpu.memset async [%a4] %bf, %vf : memref<?xf32>, f32
  %m5 = gpu.memset async [%a5] %bd, %vd : memref<37xf64>, f64
  %ready = gpu.wait async [%m0, %m1, %m2, %m3, %m4, %m5, %a6]
  %k = gpu.launch async [%ready]
      blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
      threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    %e8 = memref.load %b8[%last] : memref<?xi8>
    %e16 = memref.load %b16[%last] : memref<?xi16>
    %e32 = memref.load %b32[%last] : memref<37xi32>
    %e64 = memref.load %b64[%last] : memref<?xi64>
    %ef = memref.load %bf[%last] : memref<?xf32>
    %ed = memref.load %bd[%last] : memref<37xf64>
    %w8 = arith.extsi %e8 : i8 to i64
    %w16 = arith.extsi %e16 : i16 to i64
    %w32 = arith.extsi %e32 : i32 to i64
    %ff = arith.addf %ef, %ef : f32
    %dd = arith.addf %ed, %ed : f64
    %wf = arith.fptosi %ff : f32 to i64
    %wd = arith.fptosi %dd : f64 to i64
    memref.store %w8, %sum[%c0] : memref<6xi64>
    memref.store %w16, %sum[%c1] : memref<6xi64>
    memref.store %w32, %sum[%c2] : memref<6xi64>
    memref.store %e64, %sum[%c3] : memref<6xi64>
    memref.store %wf, %sum[%c4] : memref<6xi64>
    memref.store %wd, %sum[%c5] : memref<6xi64>
    gpu.terminator
  }
  %down = gpu.memcpy async [%k] %h, %sum : memref<6xi64>, memref<6xi64>
  %f0 = gpu.dealloc async [%down] %b8 : memref<?xi8>
  %f1 = gpu.dealloc async [%f0] %b16 : memref<?xi16>
  %f2 = gpu.dealloc async [%f1] %b32 : memref<37xi32>
  %f3 = gpu.dealloc async [%f2] %b64 : memref<?xi64>
  %f4 = gpu.dealloc async [%f3] %bf : memref<?xf32>
  %f5 = gpu.dealloc async [%f4] %bd : memref<37xf64>
  %f6 = gpu.dealloc async [%f5] %sum : memref<6xi64>
  gpu.wait [%f6]
  %u = memref.cast %h : memref<6xi64> to memref<*xi64>
  call @printMemrefI64(%u) : (memref<*xi64>) -> ()
  memref.dealloc %h : memref<6xi64>
  return
}

func.func private @printMemrefI64(memref<*xi64>)
