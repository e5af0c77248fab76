// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Work in regions, with loops and branches of the host inside, and a kernel
// that waits outside: the same numbers however it is played.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: gpu-runner --device=cpu --play=graph --repeat=4 %s | FileCheck %s
// RUN: gpu-runner --device=cpu --play=stream --repeat=4 %s | FileCheck %s
// RUN: gpu-runner --device=cpu --play=auto --repeat=4 %s | FileCheck %s
// RUN: env GPU_ASYNC_PLAY=graph gpu-runner --device=cpu --print-ir-after=stream %s 2>&1 | FileCheck %s --check-prefixes=IR,CHECK
// RUN: env GPU_ASYNC_PLAY=graph gpu-runner --device=cpu --play=streams --print-ir-after=stream %s 2>&1 | FileCheck %s --implicit-check-not=gpu_async.region
// RUN: gpu-runner --device=cpu --check %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}
// RUN: %if cuda %{ gpu-runner --device=cuda --play=graph --repeat=10 %s | FileCheck %s %}
// RUN: %if cuda %{ gpu-runner --device=cuda --play=auto --repeat=40 %s | FileCheck %s %}
// A program that comes with its regions is checked without them.
// RUN: env GPU_ASYNC_PLAY=graph gpu-runner --device=cpu --print-ir-after=stream %s 2>%t.mlir
// RUN: gpu-runner --device=cpu --check %t.mlir | FileCheck %s
// RUN: gpu-runner --device=cpu --play=streams %t.mlir | FileCheck %s

// IR: func.func @main
// IR: gpu_async.region
// IR: scf.for
// IR: scf.if
// IR: gpu_async.yield
// IR: gpu_async.launch {{.*}} @k::@await

module attributes {gpu.container_module} {
gpu.module @k {
  // y[i] = 3 y[i] + x[i] + 1
  gpu.func @update(%y: memref<4xi32>, %x: memref<4xi32>) kernel attributes {gpu_async.nonblocking} {
    %i = gpu.thread_id x
    %one = arith.constant 1 : i32
    %three = arith.constant 3 : i32
    %a = memref.load %y[%i] : memref<4xi32>
    %b = memref.load %x[%i] : memref<4xi32>
    %c = arith.muli %a, %three : i32
    %d = arith.addi %c, %b : i32
    %e = arith.addi %d, %one : i32
    memref.store %e, %y[%i] : memref<4xi32>
    gpu.return
  }
  // Ends at once here, which nobody can tell.
  gpu.func @await(%x: memref<4xi32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0 : i32
    scf.while : () -> () {
      %v = memref.load %x[%c0] : memref<4xi32>
      %again = arith.cmpi eq, %v, %zero : i32
      scf.condition(%again)
    } do {
      scf.yield
    }
    gpu.return
  }
}

// CHECK: [92,  92,  92,  92]
// CHECK: [3]
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0 : i32
  %h = memref.alloc() : memref<4xi32>
  %t = gpu.wait async
  %a, %t0 = gpu.alloc async [%t] () : memref<4xi32>
  %b, %t1 = gpu.alloc async [%t0] () : memref<4xi32>
  %t2 = gpu.memset async [%t1] %a, %zero : memref<4xi32>, i32
  %t3 = gpu.memset async [%t2] %b, %zero : memref<4xi32>, i32
  %turns, %t4 = scf.for %i = %c0 to %c3 step %c1 iter_args(%n = %c0, %s = %t3) -> (index, !gpu.async.token) {
    %u = gpu.launch_func async [%s] @k::@update blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1) args(%a : memref<4xi32>, %b : memref<4xi32>)
    %is = arith.cmpi ne, %i, %c1 : index
    %v = scf.if %is -> !gpu.async.token {
      %w = gpu.launch_func async [%u] @k::@update blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1) args(%b : memref<4xi32>, %a : memref<4xi32>)
      scf.yield %w : !gpu.async.token
    } else {
      scf.yield %u : !gpu.async.token
    }
    %next = arith.addi %n, %c1 : index
    scf.yield %next, %v : index, !gpu.async.token
  }
  %t5 = gpu.launch_func async [%t4] @k::@update blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1) args(%a : memref<4xi32>, %b : memref<4xi32>)
  %t6 = gpu.launch_func async [%t5] @k::@await blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<4xi32>)
  %t7 = gpu.memcpy async [%t6] %h, %a : memref<4xi32>, memref<4xi32>
  %t8 = gpu.dealloc async [%t7] %a : memref<4xi32>
  %t9 = gpu.dealloc async [%t8] %b : memref<4xi32>
  gpu.wait [%t9]
  %u = memref.cast %h : memref<4xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  %number = arith.index_cast %turns : index to i32
  %out = memref.alloc() : memref<1xi32>
  memref.store %number, %out[%c0] : memref<1xi32>
  %w = memref.cast %out : memref<1xi32> to memref<*xi32>
  call @printMemrefI32(%w) : (memref<*xi32>) -> ()
  memref.dealloc %out : memref<1xi32>
  memref.dealloc %h : memref<4xi32>
  return
}
func.func private @printMemrefI32(memref<*xi32>)
}
