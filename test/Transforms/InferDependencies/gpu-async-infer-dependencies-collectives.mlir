// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives of all groups keep their order, whatever memory they have. Other
// work is ordered with them by memory only.
// RUN: gpu-opt %s --gpu-async-infer-dependencies --canonicalize | FileCheck %s
// RUN: gpu-opt %s --gpu-async-infer-dependencies --gpu-async-print-hazards -o /dev/null 2>&1 | count 0
// RUN: gpu-opt %s --gpu-async-infer-dependencies --gpu-async-make-forks-explicit --gpu-async-assign-streams --gpu-async-verify-form=form=stream --gpu-async-verify-schedule -o /dev/null

gpu_async.group @rows grid [2, 2] axes [1]
gpu_async.group @columns grid [2, 2] axes [0]

// CHECK-LABEL: func.func @serial
func.func @serial(%v: f32) {
  // CHECK: %[[X:.*]], %[[TX:.*]] = gpu_async.alloc
  // CHECK: %[[Y:.*]], %[[TY:.*]] = gpu_async.alloc
  // CHECK: %[[Z:.*]], %[[TZ:.*]] = gpu_async.alloc
  %x = gpu_async.alloc () : memref<8xf32>
  %y = gpu_async.alloc () : memref<8xf32>
  %z = gpu_async.alloc () : memref<8xf32>
  // CHECK: %[[A:.*]] = gpu_async.collective async [%[[TX]]] all_reduce<sum> group(@rows) %[[X]], %[[X]]
  gpu_async.collective all_reduce<sum> group(@rows) %x, %x : memref<8xf32>, memref<8xf32>
  // CHECK: %[[B:.*]] = gpu_async.collective async [%[[A]], %[[TY]]] all_reduce<sum> group(@columns) %[[Y]], %[[Y]]
  gpu_async.collective all_reduce<sum> group(@columns) %y, %y : memref<8xf32>, memref<8xf32>
  // CHECK: %[[C:.*]] = gpu_async.memset async [%[[TZ]]] %[[Z]]
  gpu_async.memset %z, %v : memref<8xf32>, f32
  // CHECK: %[[D:.*]] = gpu_async.memset async [%[[A]]] %[[X]]
  gpu_async.memset %x, %v : memref<8xf32>, f32
  // CHECK: %[[E:.*]] = gpu_async.collective async [%[[B]]] barrier
  gpu_async.collective barrier
  // CHECK: gpu_async.collective async [%[[E]], %[[D]], %[[B]]] permute<{{\[}}[0, 1]]> %[[X]], %[[Y]]
  gpu_async.collective permute<[[0, 1]]> %x, %y : memref<8xf32>, memref<8xf32>
  gpu_async.dealloc %x : memref<8xf32>
  gpu_async.dealloc %y : memref<8xf32>
  gpu_async.dealloc %z : memref<8xf32>
  return
}

// The source is read only: what reads it, too, runs beside the collective.
// CHECK-LABEL: func.func @reads
func.func @reads(%x: memref<8xf32> {llvm.noalias}, %y: memref<8xf32> {llvm.noalias}, %z: memref<8xf32> {llvm.noalias}) {
  // CHECK: %[[A:.*]] = gpu_async.collective async all_reduce<sum> %{{.*}}, %{{.*}} :
  gpu_async.collective all_reduce<sum> %y, %x : memref<8xf32>, memref<8xf32>
  // CHECK: %[[B:.*]] = gpu_async.memcpy async %{{.*}}, %{{.*}} :
  gpu_async.memcpy %z, %x : memref<8xf32>, memref<8xf32>
  // CHECK: gpu_async.memcpy async [%[[A]], %[[B]]]
  gpu_async.memcpy %x, %y : memref<8xf32>, memref<8xf32>
  return
}

// Rounds of a loop, and branches.
// CHECK-LABEL: func.func @rounds
func.func @rounds(%n: index, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %[[LOOP:.*]] = scf.for {{.*}} iter_args(%[[BEFORE:.*]] = %{{.*}}) -> (!gpu_async.token)
  scf.for %i = %c0 to %n step %c1 {
    // CHECK: %[[A:.*]] = gpu_async.collective async [%[[BEFORE]]] barrier group(@rows)
    gpu_async.collective barrier group(@rows)
    // CHECK: scf.yield %[[A]]
  }
  // CHECK: %[[IF:.*]] = scf.if
  scf.if %c {
    // CHECK: gpu_async.collective async [%[[LOOP]]] barrier
    gpu_async.collective barrier
  }
  // CHECK: gpu_async.collective async [%[[IF]]] barrier group(@columns)
  gpu_async.collective barrier group(@columns)
  return
}

// Between work with tokens of its own and work without.
// CHECK-LABEL: func.func @mixed
func.func @mixed() {
  // CHECK: %[[A:.*]] = gpu_async.collective async barrier
  gpu_async.collective barrier
  // CHECK: %[[B:.*]] = gpu_async.collective async [%[[A]]] barrier group(@rows)
  %b = gpu_async.collective async barrier group(@rows)
  // CHECK: gpu_async.collective async [%[[A]], %[[B]]] barrier
  gpu_async.collective barrier
  return
}

// Numbers of ranks order nothing.
// CHECK-LABEL: func.func @numbers
func.func @numbers(%x: memref<8xindex>) {
  // CHECK: %[[A:.*]] = gpu_async.collective async all_reduce<sum>
  gpu_async.collective all_reduce<sum> %x, %x : memref<8xindex>, memref<8xindex>
  // CHECK-NOT: gpu_async.wait
  // CHECK: gpu_async.rank
  %r = gpu_async.rank
  // CHECK: call @compute
  %s = func.call @compute(%r) : (index) -> index
  // CHECK: gpu_async.memset async [%[[A]]]
  gpu_async.memset %x, %s : memref<8xindex>, index
  return
}
func.func private @compute(%r: index) -> index {
  %n = gpu_async.size
  %s = arith.addi %r, %n : index
  return %s : index
}
