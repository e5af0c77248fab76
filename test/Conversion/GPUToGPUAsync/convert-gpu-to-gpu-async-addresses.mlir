// RUN: gpu-opt %s -convert-gpu-to-gpu-async | FileCheck %s
//
// A kernel that makes a pointer of a number may touch anything: sync ops, allocations
// and calls are ordered by that as by a memref.

module attributes {gpu.container_module} {
gpu.module @k {
  gpu.func @at(%a: i64, %v: i32) kernel {
    %p = llvm.inttoptr %a : i64 to !llvm.ptr
    llvm.store %v, %p : i32, !llvm.ptr
    gpu.return
  }
  gpu.func @count(%a: i64) kernel {
    gpu.return
  }
}

// Where the program waits for work that may touch what is outstanding.
// CHECK-LABEL: func.func @sync
func.func @sync(%m: memref<8xi32> {llvm.noalias}, %a: i64, %v: i32) -> !gpu.async.token {
  %c1 = arith.constant 1 : index
  %s = gpu.wait async
  %t = gpu.memset async [%s] %m, %v : memref<8xi32>, i32
  // CHECK: %[[T:.*]] = gpu_async.memset async
  // CHECK-NEXT: gpu_async.launch async [%[[T]]] @k::@at
  // CHECK: gpu_async.launch async @k::@count
  gpu.launch_func @k::@at blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64, %v : i32)
  gpu.launch_func @k::@count blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64)
  return %t : !gpu.async.token
}

func.func private @byAddress(%a: i64, %v: i32, %t: !gpu.async.token) -> !gpu.async.token {
  %c1 = arith.constant 1 : index
  %u = gpu.launch_func async [%t] @k::@at blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64, %v : i32)
  return %u : !gpu.async.token
}
func.func private @counts(%a: i64, %t: !gpu.async.token) -> !gpu.async.token {
  %c1 = arith.constant 1 : index
  %u = gpu.launch_func async [%t] @k::@count blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64)
  return %u : !gpu.async.token
}

// The allocation is there before a call whose kernel may find it.
// CHECK-LABEL: func.func @call
func.func @call(%v: i32, %n: i64) {
  %m = gpu.alloc () : memref<8xi32>
  %p = memref.extract_aligned_pointer_as_index %m : memref<8xi32> -> index
  %a = arith.index_cast %p : index to i64
  %s = gpu.wait async
  // CHECK: %{{.*}}, %[[A:.*]] = gpu_async.alloc
  // CHECK: call @counts
  // CHECK-NEXT: gpu_async.wait [%[[A]]]
  // CHECK-NEXT: call @byAddress
  %t = call @counts(%n, %s) : (i64, !gpu.async.token) -> !gpu.async.token
  %u = call @byAddress(%a, %v, %t) : (i64, i32, !gpu.async.token) -> !gpu.async.token
  gpu.wait [%u]
  gpu.dealloc %m : memref<8xi32>
  return
}

// CHECK-LABEL: func.func @loop
func.func @loop(%v: i32, %n: index, %table: memref<?xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = gpu.alloc () : memref<8xi32>
  // CHECK: %{{.*}}, %[[A:.*]] = gpu_async.alloc
  // CHECK: gpu_async.launch async [%{{.*}}, %[[A]]] @k::@at
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %table[%i] : memref<?xi64>
    %s = gpu.wait async
    %u = gpu.launch_func async [%s] @k::@at blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64, %v : i32)
    gpu.wait [%u]
  }
  gpu.dealloc %m : memref<8xi32>
  return
}
}
