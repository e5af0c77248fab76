// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tokens that control flow carries: a loop of 1000 turns makes as many streams
// as its body is wide, two, and the host waits once, behind it (D05, D06, D07).
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// The adversarial device has a stream for each command of a region.
// RUN: env GPU_ASYNC_CPU_SCHEDULE=fair gpu-runner --device=cpu %s --stats=%t.json | FileCheck %s
// RUN: FileCheck %s --check-prefix=STATS < %t.json
// RUN: %if cuda %{ gpu-runner --device=cuda %s --stats=%t.json | FileCheck %s %}
// RUN: %if cuda %{ FileCheck %s --check-prefix=STATS < %t.json %}
// RUN: gpu-opt %s --gpu-async-pipeline=targets=cpu -mlir-print-ir-after=gpu-async-assign-streams -o /dev/null 2>&1 | FileCheck %s --check-prefix=LOOP

// LOOP-LABEL: func.func @main
// LOOP: scf.for
// LOOP-NOT: synchronize
// LOOP-NOT: stream.create
// LOOP: {{^    }$}}
// LOOP-COUNT-1: gpu_async.stream.synchronize

// STATS: "streams": {"created": 2, "destroyed": 2,
gpu.module @k {
  // y[i] = 3 y[i] + x[i] + 1
  gpu.func @update(%y: memref<4xi32>, %x: memref<4xi32>) kernel {
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
}

// In each turn %a and %b are updated from %c, side by side, then %c from both.
// In every third turn %c is left alone.
// CHECK: [-493949780, -493949780, -493949780, -493949780]
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c1000 = arith.constant 1000 : index
  %zero = arith.constant 0 : i32
  %h = memref.alloc() : memref<4xi32>
  %a, %t0 = gpu_async.alloc async () : memref<4xi32>
  %b, %t1 = gpu_async.alloc async () : memref<4xi32>
  %c, %t2 = gpu_async.alloc async () : memref<4xi32>
  %t3 = gpu_async.memset async [%t0] %a, %zero : memref<4xi32>, i32
  %t4 = gpu_async.memset async [%t1, %t3] %b, %zero : memref<4xi32>, i32
  %t5 = gpu_async.memset async [%t2, %t4] %c, %zero : memref<4xi32>, i32
  %end = scf.for %i = %c0 to %c1000 step %c1 iter_args(%t = %t5) -> !gpu_async.token {
    %ua = gpu_async.launch async [%t] @k::@update blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1) args(%a : memref<4xi32>, %c : memref<4xi32>)
    %ub = gpu_async.launch async [%t] @k::@update blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1) args(%b : memref<4xi32>, %c : memref<4xi32>)
    %rest = arith.remui %i, %c3 : index
    %isThird = arith.cmpi eq, %rest, %c0 : index
    %next = scf.if %isThird -> !gpu_async.token {
      %both = gpu_async.wait async [%ua, %ub]
      scf.yield %both : !gpu_async.token
    } else {
      %ca = gpu_async.launch async [%ua, %ub] @k::@update blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1) args(%c : memref<4xi32>, %a : memref<4xi32>)
      %cb = gpu_async.launch async [%ca] @k::@update blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1) args(%c : memref<4xi32>, %b : memref<4xi32>)
      scf.yield %cb : !gpu_async.token
    }
    scf.yield %next : !gpu_async.token
  }
  %down = gpu_async.memcpy async [%end] %h, %c : memref<4xi32>, memref<4xi32>
  %f0 = gpu_async.dealloc async [%down] %a : memref<4xi32>
  %f1 = gpu_async.dealloc async [%down] %b : memref<4xi32>
  %f2 = gpu_async.dealloc async [%down] %c : memref<4xi32>
  gpu_async.wait [%down]
  %u = memref.cast %h : memref<4xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  memref.dealloc %h : memref<4xi32>
  return
}
func.func private @printMemrefI32(memref<*xi32>)
