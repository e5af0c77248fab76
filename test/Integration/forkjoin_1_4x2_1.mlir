// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fork/join that the benchmarks time: one tiny kernel, four branches of two,
// one kernel after the join. @forkjoin works on device memory of the caller;
// bench/cuda has the same by hand. Called 2000 times, it leaves nothing behind.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// The adversarial device has a stream for each command of a region.
// RUN: env GPU_ASYNC_CPU_SCHEDULE=fair gpu-runner --device=cpu -e allocate_and_run --repeat=2000 --leak-check=error --stats %s 2>&1 | FileCheck %s --check-prefix=STATS
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}
// RUN: %if cuda %{ gpu-runner --device=cuda -e allocate_and_run --repeat=2000 --leak-check=error --stats %s 2>&1 | FileCheck %s --check-prefix=STATS %}

// STATS-DAG: "streams":{{ *}}{{[{]}}"created":{{ *}}[[STREAMS:[0-9]+]],{{ *}}"destroyed":{{ *}}[[STREAMS]],{{ *}}"live":{{ *}}0,{{ *}}"peak":{{ *}}{{[1-4]}},
// STATS-DAG: "events":{{ *}}{{[{]}}"created":{{ *}}[[EVENTS:[0-9]+]],{{ *}}"destroyed":{{ *}}[[EVENTS]],{{ *}}"live":{{ *}}0
// STATS-DAG: "buffers":{{ *}}{{[{]}}"created":{{ *}}2000,{{ *}}"destroyed":{{ *}}2000,{{ *}}"live":{{ *}}0
// STATS-DAG: "launches":{{ *}}20000
module attributes {gpu.container_module} {
  gpu.module @kernels {
    // Row 0 is the trunk's, rows 1 to 4 are the branches'.
    gpu.func @first(%x: memref<5x32xi32>) kernel {
      %c0 = arith.constant 0 : index
      %one = arith.constant 1 : i32
      %i = gpu.thread_id x
      memref.store %one, %x[%c0, %i] : memref<5x32xi32>
      gpu.return
    }
    gpu.func @add(%x: memref<5x32xi32>, %row: index) kernel {
      %c0 = arith.constant 0 : index
      %i = gpu.thread_id x
      %v = memref.load %x[%c0, %i] : memref<5x32xi32>
      %r = arith.index_cast %row : index to i32
      %w = arith.addi %v, %r : i32
      memref.store %w, %x[%row, %i] : memref<5x32xi32>
      gpu.return
    }
    gpu.func @double(%x: memref<5x32xi32>, %row: index) kernel {
      %i = gpu.thread_id x
      %v = memref.load %x[%row, %i] : memref<5x32xi32>
      %w = arith.addi %v, %v : i32
      memref.store %w, %x[%row, %i] : memref<5x32xi32>
      gpu.return
    }
    gpu.func @last(%x: memref<5x32xi32>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      %i = gpu.thread_id x
      %a = memref.load %x[%c1, %i] : memref<5x32xi32>
      %b = memref.load %x[%c2, %i] : memref<5x32xi32>
      %c = memref.load %x[%c3, %i] : memref<5x32xi32>
      %d = memref.load %x[%c4, %i] : memref<5x32xi32>
      %ab = arith.addi %a, %b : i32
      %cd = arith.addi %c, %d : i32
      %v = arith.addi %ab, %cd : i32
      memref.store %v, %x[%c0, %i] : memref<5x32xi32>
      gpu.return
    }
  }

  func.func @forkjoin(%x: memref<5x32xi32>) {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c32 = arith.constant 32 : index
    %start = gpu.wait async
    %first = gpu.launch_func async [%start] @kernels::@first blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<5x32xi32>)
    %a0 = gpu.launch_func async [%first] @kernels::@add blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<5x32xi32>, %c1 : index)
    %b0 = gpu.launch_func async [%first] @kernels::@add blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<5x32xi32>, %c2 : index)
    %c0 = gpu.launch_func async [%first] @kernels::@add blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<5x32xi32>, %c3 : index)
    %d0 = gpu.launch_func async [%first] @kernels::@add blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<5x32xi32>, %c4 : index)
    %a1 = gpu.launch_func async [%a0] @kernels::@double blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<5x32xi32>, %c1 : index)
    %b1 = gpu.launch_func async [%b0] @kernels::@double blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<5x32xi32>, %c2 : index)
    %e1 = gpu.launch_func async [%c0] @kernels::@double blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<5x32xi32>, %c3 : index)
    %d1 = gpu.launch_func async [%d0] @kernels::@double blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<5x32xi32>, %c4 : index)
    %joined = gpu.wait async [%a1, %b1, %e1, %d1]
    %last = gpu.launch_func async [%joined] @kernels::@last blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<5x32xi32>)
    gpu.wait [%last]
    return
  }

  func.func @allocate_and_run() {
    %x = gpu.alloc () : memref<5x32xi32>
    call @forkjoin(%x) : (memref<5x32xi32>) -> ()
    gpu.dealloc %x : memref<5x32xi32>
    return
  }

  // 2 * ((1 + 1) + (1 + 2) + (1 + 3) + (1 + 4)), then the branches' rows:
  // CHECK: [28, 28, 28, 28,
  // CHECK-NEXT: [4, 4, 4, 4,
  // CHECK-NEXT: [6, 6, 6, 6,
  // CHECK-NEXT: [8, 8, 8, 8,
  // CHECK-NEXT: [10, 10, 10, 10,
  func.func @main() {
    %h = memref.alloc() : memref<5x32xi32>
    %x = gpu.alloc () : memref<5x32xi32>
    call @forkjoin(%x) : (memref<5x32xi32>) -> ()
    gpu.memcpy %h, %x : memref<5x32xi32>, memref<5x32xi32>
    gpu.dealloc %x : memref<5x32xi32>
    %u = memref.cast %h : memref<5x32xi32> to memref<*xi32>
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    memref.dealloc %h : memref<5x32xi32>
    return
  }

  func.func private @printMemrefI32(memref<*xi32>)
}
