// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels before and after collectives, in place, beside others: two collectives on unrelated
// memory, and a kernel that no collective needs. All execution modes, streams and memory plans.
// DEFINE: %{run} = gpu-runner %s --ranks=4 --device=cpu --leak-check=error --input=64xf32=%r --input=64xi32=1 --output= --output= --output=result0=- --output=result1=-
// RUN: %{run} | FileCheck %s
// RUN: %{run} --play=graph | FileCheck %s
// RUN: %{run} --play=graph --repeat=3 | FileCheck %s
// RUN: %{run} --play=streams | FileCheck %s
// RUN: %{run} --play=streams --max-streams=1 | FileCheck %s
// RUN: %{run} --play=stream --memory=space | FileCheck %s
// RUN: %{run} --memory=keep | FileCheck %s
// RUN: env GPU_ASYNC_CPU_SCHEDULE=fair %{run} | FileCheck %s
// RUN: env GPU_ASYNC_CPU_SCHEDULE=adversarial:3 %{run} -O0 | FileCheck %s

// A kernel runs beside the first collective, and the collectives share a stream.
// RUN: gpu-runner %s --ranks=4 --device=cpu --play=streams --print-schedule --input=64xf32 --input=64xi32 --output= --output= --output= --output= 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// SCHEDULE:      5  collective  {{ *}}│
// SCHEDULE-NEXT: 6  │           {{ *}}main_kernel_0
// SCHEDULE-NEXT: 7  collective ← 6

// x + 1 on each rank: 1 + 2 + 3 + 4; y + 2 is 3 on each: 12; and 1 + (2 * rank).
// CHECK:      rank 0:
// CHECK-NEXT: 64xf32=20 20{{( 20)*}}
// CHECK-NEXT: 64xi32=13 13{{( 13)*}}
// CHECK-NEXT: rank 1:
// CHECK-NEXT: 64xf32=20 20{{( 20)*}}
// CHECK-NEXT: 64xi32=15 15{{( 15)*}}
// CHECK-NEXT: rank 2:
// CHECK-NEXT: 64xf32=20 20{{( 20)*}}
// CHECK-NEXT: 64xi32=17 17{{( 17)*}}
// CHECK-NEXT: rank 3:
// CHECK-NEXT: 64xf32=20 20{{( 20)*}}
// CHECK-NEXT: 64xi32=19 19{{( 19)*}}
func.func @main(%x: memref<64xf32>, %y: memref<64xi32>) -> (memref<64xf32>, memref<64xi32>) {
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %index = gpu_async.rank
  %rank = arith.index_cast %index : index to i32
  %a = gpu.alloc () : memref<64xf32>
  %b = gpu.alloc () : memref<64xi32>
  %c = gpu.alloc () : memref<64xi32>
  gpu.memcpy %a, %x : memref<64xf32>, memref<64xf32>
  gpu.memcpy %b, %y : memref<64xi32>, memref<64xi32>
  gpu.memcpy %c, %y : memref<64xi32>, memref<64xi32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%nx = %c64, %ny = %c1, %nz = %c1) {
    %one = arith.constant 1.0 : f32
    %v = memref.load %a[%tx] : memref<64xf32>
    %w = arith.addf %v, %one : f32
    memref.store %w, %a[%tx] : memref<64xf32>
    gpu.terminator
  }
  gpu_async.collective all_reduce<sum> %a, %a : memref<64xf32>, memref<64xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%nx = %c64, %ny = %c1, %nz = %c1) {
    %two = arith.constant 2 : i32
    %v = memref.load %b[%tx] : memref<64xi32>
    %w = arith.addi %v, %two : i32
    memref.store %w, %b[%tx] : memref<64xi32>
    gpu.terminator
  }
  gpu_async.collective all_reduce<sum> %b, %b : memref<64xi32>, memref<64xi32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%nx = %c64, %ny = %c1, %nz = %c1) {
    %two = arith.constant 2 : i32
    %v = memref.load %c[%tx] : memref<64xi32>
    %s = arith.muli %two, %rank : i32
    %w = arith.addi %v, %s : i32
    memref.store %w, %c[%tx] : memref<64xi32>
    gpu.terminator
  }
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%nx = %c64, %ny = %c1, %nz = %c1) {
    %v = memref.load %a[%tx] : memref<64xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %a[%tx] : memref<64xf32>
    %m = memref.load %b[%tx] : memref<64xi32>
    %n = memref.load %c[%tx] : memref<64xi32>
    %o = arith.addi %m, %n : i32
    memref.store %o, %b[%tx] : memref<64xi32>
    gpu.terminator
  }
  %h = memref.alloc() : memref<64xf32>
  %i = memref.alloc() : memref<64xi32>
  gpu.memcpy %h, %a : memref<64xf32>, memref<64xf32>
  gpu.memcpy %i, %b : memref<64xi32>, memref<64xi32>
  gpu.dealloc %a : memref<64xf32>
  gpu.dealloc %b : memref<64xi32>
  gpu.dealloc %c : memref<64xi32>
  return %h, %i : memref<64xf32>, memref<64xi32>
}
