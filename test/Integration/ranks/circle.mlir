// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranks that come to equal collectives of two groups in different orders, since their callers gave
// them different arguments: each would wait for the next one. They all fail, and so soon.
// DEFINE: %{run} = gpu-runner %s --device=cpu --input=1xi32=%r
// RUN: not timeout 60 %{run} --ranks=4 -e circle 2>&1 | FileCheck %s --check-prefix=CIRCLE
// RUN: not timeout 60 %torchrun 4 %{run} -e circle >%t.out 2>&1
// RUN: FileCheck %s --input-file=%t.out --check-prefix=CIRCLE
// RUN: %if mpich && !sanitizer %{ not timeout 60 %mpich 4 %{run} -e circle >%t.out 2>&1 %}
// RUN: %if mpich && !sanitizer %{ FileCheck %s --input-file=%t.out --check-prefix=CIRCLE %}
// CIRCLE: circle.mlir:{{.*}}: error: gpu_async.collective: {{.*}}the ranks wait for each other: rank {{.}} at {{(all_reduce<sum> of 1 i32 at .*circle.mlir:[0-9]+(, rank [0-3] at )?)+}}; they come to collectives of several groups in different orders (on rank {{.}})

// The same with a wait of the host between the two, so nobody knows of the second one.
// RUN: not timeout 60 %{run} --ranks=4 -e waits 2>&1 | FileCheck %s --check-prefix=CIRCLE
// RUN: not timeout 60 %torchrun 4 %{run} -e waits >%t.out 2>&1
// RUN: FileCheck %s --input-file=%t.out --check-prefix=CIRCLE

// A late rank makes no circle, nor do rows that are not at the same column.
// RUN: %{run} --ranks=4 -e late
// RUN: %torchrun 4 %{run} -e late

gpu_async.group @row grid [2, 2] axes [1]
gpu_async.group @column grid [2, 2] axes [0]

// Ranks 0 and 3 begin with their row, and 1 and 2 with their column.
func.func private @begins_with_row(%x: memref<1xi32>) -> i1 {
  %c0 = arith.constant 0 : index
  %rank = memref.load %x[%c0] : memref<1xi32>
  %three = arith.constant 3 : i32
  %zero = arith.constant 0 : i32
  %rest = arith.remui %rank, %three : i32
  %first = arith.cmpi eq, %rest, %zero : i32
  %same = gpu_async.uniform %first : i1
  return %same : i1
}

func.func @circle(%x: memref<1xi32>) {
  %row = func.call @begins_with_row(%x) : (memref<1xi32>) -> i1
  %zero = arith.constant 0 : i32
  %d = gpu.alloc () : memref<1xi32>
  %e = gpu.alloc () : memref<1xi32>
  gpu.memset %d, %zero : memref<1xi32>, i32
  gpu.memset %e, %zero : memref<1xi32>, i32
  scf.if %row {
    gpu_async.collective all_reduce<sum> group(@row) %d, %d : memref<1xi32>, memref<1xi32>
    gpu_async.collective all_reduce<sum> group(@column) %e, %e : memref<1xi32>, memref<1xi32>
  } else {
    gpu_async.collective all_reduce<sum> group(@column) %e, %e : memref<1xi32>, memref<1xi32>
    gpu_async.collective all_reduce<sum> group(@row) %d, %d : memref<1xi32>, memref<1xi32>
  }
  gpu.dealloc %d : memref<1xi32>
  gpu.dealloc %e : memref<1xi32>
  return
}

func.func @waits(%x: memref<1xi32>) {
  %row = func.call @begins_with_row(%x) : (memref<1xi32>) -> i1
  %zero = arith.constant 0 : i32
  %d = gpu.alloc () : memref<1xi32>
  %h = memref.alloc() : memref<1xi32>
  gpu.memset %d, %zero : memref<1xi32>, i32
  scf.if %row {
    gpu_async.collective all_reduce<sum> group(@row) %d, %d : memref<1xi32>, memref<1xi32>
    gpu.memcpy %h, %d : memref<1xi32>, memref<1xi32>
    gpu_async.collective all_reduce<sum> group(@column) %d, %d : memref<1xi32>, memref<1xi32>
  } else {
    gpu_async.collective all_reduce<sum> group(@column) %d, %d : memref<1xi32>, memref<1xi32>
    gpu.memcpy %h, %d : memref<1xi32>, memref<1xi32>
    gpu_async.collective all_reduce<sum> group(@row) %d, %d : memref<1xi32>, memref<1xi32>
  }
  gpu.dealloc %d : memref<1xi32>
  memref.dealloc %h : memref<1xi32>
  return
}

// Rank 0 counts to many on the host before its row. The others wait longer than it takes processes
// to ask each other.
func.func @late(%x: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %many = arith.constant 1000000000 : index
  %zero = arith.constant 0 : i32
  %rank = memref.load %x[%c0] : memref<1xi32>
  %late = arith.cmpi eq, %rank, %zero : i32
  %h = memref.alloc() : memref<1xi32>
  memref.store %rank, %h[%c0] : memref<1xi32>
  scf.if %late {
    scf.for %i = %c0 to %many step %c1 {
      %v = memref.load %h[%c0] : memref<1xi32>
      %n = arith.muli %v, %rank : i32
      memref.store %n, %h[%c0] : memref<1xi32>
    }
  }
  %d = gpu.alloc () : memref<1xi32>
  gpu.memset %d, %zero : memref<1xi32>, i32
  gpu_async.collective all_reduce<sum> group(@row) %d, %d : memref<1xi32>, memref<1xi32>
  gpu_async.collective all_reduce<sum> group(@column) %d, %d : memref<1xi32>, memref<1xi32>
  gpu_async.collective all_reduce<sum> group(@row) %d, %d : memref<1xi32>, memref<1xi32>
  gpu.memcpy %h, %d : memref<1xi32>, memref<1xi32>
  gpu.dealloc %d : memref<1xi32>
  memref.dealloc %h : memref<1xi32>
  return
}
