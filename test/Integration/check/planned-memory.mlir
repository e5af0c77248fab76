// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --check --memory=plan looks at windows as they lie: users of two that share
// bytes and that nothing orders are a race, as they were for two buffers in one
// place; where an order is there, nothing is said. What is used behind the free
// of what it is a window of is found.
// RUN: not gpu-runner --device=cpu --check --memory=plan -e unordered %s 2>&1 | FileCheck %s --check-prefix=RACE
// RUN: gpu-runner --device=cpu --check --memory=plan -e ordered %s
// RUN: not gpu-runner --device=cpu --check --memory=plan -e freed %s 2>&1 | FileCheck %s --check-prefix=FREED

!m = memref<4xi32>
!slab = memref<512xi8>

// The first 16 bytes of %y are the last of the 272 that %x has.
func.func @unordered() {
  %v = arith.constant 1 : i32
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %s, %t = gpu_async.alloc async () : !slab
  %x = gpu_async.window %s[%c0] () : !slab to memref<68xi32>
  %y = gpu_async.window %s[%c256] () : !slab to !m
  // RACE-DAG: planned-memory.mlir:[[#@LINE+1]]:8: {{error: race between device ops that nothing orders|note: the other}}
  %a = gpu_async.memset async [%t] %x, %v : memref<68xi32>, i32
  // RACE-DAG: planned-memory.mlir:[[#@LINE+1]]:8: {{error: race between device ops that nothing orders|note: the other}}
  %b = gpu_async.memset async [%t] %y, %v : !m, i32
  gpu_async.wait [%a, %b]
  %f = gpu_async.dealloc async %s : !slab
  return
}

func.func @ordered() {
  %v = arith.constant 1 : i32
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %s, %t = gpu_async.alloc async () : !slab
  %x = gpu_async.window %s[%c0] () : !slab to memref<68xi32>
  %y = gpu_async.window %s[%c256] () : !slab to !m
  %z = gpu_async.window %s[%c0] () : !slab to !m
  %a = gpu_async.memset async [%t] %x, %v : memref<68xi32>, i32
  %b = gpu_async.memset async [%a] %y, %v : !m, i32
  %c = gpu_async.memset async [%a] %z, %v : !m, i32
  gpu_async.wait [%b, %c]
  %f = gpu_async.dealloc async %s : !slab
  return
}

func.func @freed() {
  %v = arith.constant 1 : i32
  %c0 = arith.constant 0 : index
  %s, %t = gpu_async.alloc async () : !slab
  %x = gpu_async.window %s[%c0] () : !slab to !m
  %f = gpu_async.dealloc async [%t] %s : !slab
  // FREED: planned-memory.mlir:[[#@LINE+1]]:8: error: use of freed device memory
  %a = gpu_async.memset async [%f] %x, %v : !m, i32
  gpu_async.wait [%a]
  return
}
