// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A fork and join of four branches, lowered by upstream's gpu-to-llvm alone,
// which forgets the branches' streams, and run by upstream's mlir-runner on
// upstream's symbols: libgpuasync_mgpu.so in place of libmlir_cuda_runtime.so.
// Upstream's mlir-runner is not built with sanitizers, so it cannot load our library there.
// UNSUPPORTED: sanitizer
// The object for the cpu device is linked by a program of the system.
// REQUIRES: linker
// RUN: gpu-opt %s --gpu-module-to-binary=format=bin --gpu-to-llvm \
// RUN:   --convert-scf-to-cf --convert-vector-to-llvm --convert-to-llvm --reconcile-unrealized-casts -o %t.mlir
// RUN: FileCheck %s --check-prefix=LOWERED --input-file=%t.mlir
// RUN: env GPU_ASYNC_DEVICE=cpu mlir-runner %t.mlir --entry-point-result=void \
// RUN:   --shared-libs=%gpuasync_lib/libgpuasync_mgpu.so,%mlir_lib/libmlir_c_runner_utils.so | FileCheck %s
// The object chooses the device where nothing else does.
// RUN: mlir-runner %t.mlir --entry-point-result=void \
// RUN:   --shared-libs=%gpuasync_lib/libgpuasync_mgpu.so,%mlir_lib/libmlir_c_runner_utils.so | FileCheck %s

// Nothing but upstream's symbols, no attribute that upstream does not know.
// LOWERED-NOT: #gpu_async
// LOWERED: llvm.call @mgpuStreamCreate
// LOWERED: llvm.call @mgpuStreamWaitEvent

// CHECK: wrong: 0
module attributes {gpu.container_module} {
  gpu.module @kernels [#gpu_async.cpu] {
    gpu.func @first(%x: memref<5x32xi32>, %n: i32) kernel {
      %c0 = arith.constant 0 : index
      %i = gpu.thread_id x
      memref.store %n, %x[%c0, %i] : memref<5x32xi32>
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

  // x[0] = 8 n + 20, as n is stored, added to 1..4, doubled, and summed up.
  func.func @forkjoin(%x: memref<5x32xi32>, %n: i32) attributes {llvm.emit_c_interface} {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c32 = arith.constant 32 : index
    %start = gpu.wait async
    %first = gpu.launch_func async [%start] @kernels::@first blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<5x32xi32>, %n : i32)
    %a = gpu.wait async [%first]
    %b = gpu.wait async [%first]
    %c = gpu.wait async [%first]
    %d = gpu.wait async [%first]
    %a0 = gpu.launch_func async [%a] @kernels::@add blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<5x32xi32>, %c1 : index)
    %b0 = gpu.launch_func async [%b] @kernels::@add blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<5x32xi32>, %c2 : index)
    %c0 = gpu.launch_func async [%c] @kernels::@add blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<5x32xi32>, %c3 : index)
    %d0 = gpu.launch_func async [%d] @kernels::@add blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<5x32xi32>, %c4 : index)
    %a1 = gpu.launch_func async [%a0] @kernels::@double blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<5x32xi32>, %c1 : index)
    %b1 = gpu.launch_func async [%b0] @kernels::@double blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<5x32xi32>, %c2 : index)
    %e1 = gpu.launch_func async [%c0] @kernels::@double blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<5x32xi32>, %c3 : index)
    %d1 = gpu.launch_func async [%d0] @kernels::@double blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<5x32xi32>, %c4 : index)
    %join = gpu.wait async [%a1, %b1, %e1, %d1]
    %last = gpu.launch_func async [%join] @kernels::@last blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<5x32xi32>)
    gpu.wait [%last]
    return
  }

  // Runs it `rounds` times and returns how many results were wrong.
  func.func @run(%rounds: index) -> i64 attributes {llvm.emit_c_interface} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c31 = arith.constant 31 : index
    %eight = arith.constant 8 : i32
    %twenty = arith.constant 20 : i32
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %h = memref.alloc() : memref<5x32xi32>
    %t0 = gpu.wait async
    %x, %t1 = gpu.alloc async [%t0] () : memref<5x32xi32>
    gpu.wait [%t1]
    %wrong = scf.for %i = %c0 to %rounds step %c1 iter_args(%sum = %zero) -> (i64) {
      %n = arith.index_cast %i : index to i32
      func.call @forkjoin(%x, %n) : (memref<5x32xi32>, i32) -> ()
      %t2 = gpu.wait async
      %t3 = gpu.memcpy async [%t2] %h, %x : memref<5x32xi32>, memref<5x32xi32>
      gpu.wait [%t3]
      %v = memref.load %h[%c0, %c31] : memref<5x32xi32>
      %p = arith.muli %n, %eight : i32
      %q = arith.addi %p, %twenty : i32
      %bad = arith.cmpi ne, %v, %q : i32
      %more = arith.select %bad, %one, %zero : i64
      %next = arith.addi %sum, %more : i64
      scf.yield %next : i64
    }
    %t4 = gpu.wait async
    %t5 = gpu.dealloc async [%t4] %x : memref<5x32xi32>
    gpu.wait [%t5]
    memref.dealloc %h : memref<5x32xi32>
    return %wrong : i64
  }

  func.func @main() {
    %rounds = arith.constant 100 : index
    %wrong = call @run(%rounds) : (index) -> i64
    vector.print str "wrong: "
    vector.print %wrong : i64
    return
  }
}
