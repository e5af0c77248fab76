// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stack slots of loops are in the entry block, as many as rounds can use at once. What they
// hold then is in test/Integration/cpu/carried-allocas.mlir.
// RUN: gpu-opt %s --gpu-async-lower-kernels=targets=cpu | FileCheck %s
// RUN: gpu-opt %s --gpu-async-lower-kernels="targets=nvptx:sm_90 ptxas=none" | FileCheck %s --check-prefix=PTX

// No slot is made at run time.
// PTX: gpu_async.binary @k
// PTX-NOT: alloca
gpu.module @k {
  // One that only this round knows, through an inner loop and a function.
  // CHECK-LABEL: llvm.func internal @k_own_thread
  // CHECK: llvm.alloca %{{.*}} x f32
  // CHECK-NOT: llvm.alloca
  // CHECK: llvm.br
  // CHECK-NOT: llvm.alloca
  // CHECK: llvm.return
  func.func private @first(%m: memref<4xf32>) -> f32 {
    %c0 = arith.constant 0 : index
    %v = memref.load %m[%c0] : memref<4xf32>
    return %v : f32
  }
  gpu.func @own(%x: memref<?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %a = memref.alloca() : memref<4xf32>
      %v = memref.load %x[%i] : memref<?xf32>
      %same = scf.for %j = %c0 to %n step %c1 iter_args(%b = %a) -> (memref<4xf32>) {
        %at = arith.remui %j, %c1 : index
        memref.store %v, %b[%at] : memref<4xf32>
        scf.yield %b : memref<4xf32>
      }
      %w = func.call @first(%same) : (memref<4xf32>) -> f32
      memref.store %w, %x[%i] : memref<?xf32>
    }
    gpu.return
  }

  // One that the next round may know: two, of which each round takes the other one.
  // CHECK-LABEL: llvm.func internal @k_carried_thread
  // CHECK: %[[SLOT:.*]] = llvm.alloca
  // CHECK-COUNT-2: llvm.alloca
  // CHECK-NOT: llvm.alloca
  // CHECK: llvm.br ^[[HEAD:bb[0-9]+]](
  // CHECK: ^[[HEAD]](%{{.*}}: i64, %[[OLD:.*]]: !llvm.struct
  // CHECK: %[[ADDRESS:.*]] = llvm.extractvalue %[[OLD]][1]
  // CHECK: %[[NUMBER:.*]] = llvm.ptrtoint %[[ADDRESS]]
  // CHECK: %[[BEGIN:.*]] = llvm.ptrtoint %[[SLOT]]
  // CHECK: %[[PLACE:.*]] = llvm.sub %[[NUMBER]], %[[BEGIN]]
  // CHECK: %[[HELD:.*]] = llvm.icmp "ult" %[[PLACE]], %{{.*}}
  // CHECK: llvm.select %[[HELD]], %{{.*}}, %{{.*}}
  // CHECK-NOT: llvm.alloca
  // CHECK: llvm.return
  gpu.func @carried(%x: memref<?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %first = memref.alloca() : memref<4xf32>
    memref.store %zero, %first[%c0] : memref<4xf32>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%old = %first) -> (memref<4xf32>) {
      %a = memref.alloca() : memref<4xf32>
      %v = memref.load %old[%c0] : memref<4xf32>
      memref.store %v, %x[%i] : memref<?xf32>
      %w = memref.load %x[%i] : memref<?xf32>
      memref.store %w, %a[%c0] : memref<4xf32>
      scf.yield %a : memref<4xf32>
    }
    gpu.return
  }

  // A loop of affine that hands on what it is given.
  // CHECK-LABEL: llvm.func internal @k_through_thread
  // CHECK-COUNT-3: llvm.alloca
  // CHECK-NOT: llvm.alloca
  // CHECK: llvm.ptrtoint
  // CHECK-NOT: llvm.alloca
  // CHECK: llvm.return
  gpu.func @through(%x: memref<?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %first = memref.alloca() : memref<4xf32>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%old = %first) -> (memref<4xf32>) {
      %a = memref.alloca() : memref<4xf32>
      %w = memref.load %x[%i] : memref<?xf32>
      memref.store %w, %a[%c0] : memref<4xf32>
      %v = memref.load %old[%c0] : memref<4xf32>
      memref.store %v, %x[%i] : memref<?xf32>
      %same:2 = affine.for %j = 0 to 2 iter_args(%p = %a, %q = %old) -> (memref<4xf32>, memref<4xf32>) {
        affine.yield %q, %p : memref<4xf32>, memref<4xf32>
      }
      scf.yield %same#0 : memref<4xf32>
    }
    gpu.return
  }
}
