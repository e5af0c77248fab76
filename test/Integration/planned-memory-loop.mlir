// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What each round of a loop allocates is allocated once for all rounds.
// RUN: gpu-runner --device=cpu --stats --leak-check=error %s --input=64xf32=2 --input=0 --output=- --output= 2>%t.0 | FileCheck --check-prefix=ZERO %s
// RUN: FileCheck --check-prefix=ONCE --input-file=%t.0 %s
// RUN: gpu-runner --device=cpu --stats --leak-check=error --play=graph %s --input=64xf32=2 --input=2 --output=- --output= 2>%t.2 | FileCheck --check-prefix=TWO %s
// RUN: FileCheck --check-prefix=ONCE --input-file=%t.2 %s
// RUN: gpu-runner --device=cpu --stats --leak-check=error --memory=keep %s --input=64xf32=2 --input=2 --output=- --output= 2>%t.keep | FileCheck --check-prefix=TWO %s
// RUN: FileCheck --check-prefix=KEEP --input-file=%t.keep %s
// RUN: gpu-runner --device=cpu --check --memory=plan %s --input=64xf32=2 --input=2 --output=- --output= | FileCheck --check-prefix=TWO %s

// ZERO: arg{{.}}0{{.}}: 64xf32=2 2
// TWO: arg{{.}}0{{.}}: 64xf32=26 26
// ONCE: "buffers": {"created": 2, "destroyed": 2, "live": 0,
// KEEP: "buffers": {"created": 3, "destroyed": 3, "live": 0,
module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @gates(%h: memref<64xf32>, %t: memref<64xf32>) kernel {
      %i = gpu.thread_id x
      %v = memref.load %h[%i] : memref<64xf32>
      %w = arith.mulf %v, %v : f32
      memref.store %w, %t[%i] : memref<64xf32>
      gpu.return
    }
    gpu.func @cell(%t: memref<64xf32>, %h: memref<64xf32>) kernel {
      %i = gpu.thread_id x
      %v = memref.load %t[%i] : memref<64xf32>
      %c = arith.constant 1.0 : f32
      %w = arith.addf %v, %c : f32
      memref.store %w, %h[%i] : memref<64xf32>
      gpu.return
    }
  }
  func.func @main(%x: memref<64xf32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %h = gpu.alloc () : memref<64xf32>
    gpu.memcpy %h, %x : memref<64xf32>, memref<64xf32>
    scf.for %i = %c0 to %n step %c1 {
      %t = gpu.alloc () : memref<64xf32>
      gpu.launch_func @k::@gates blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1) args(%h : memref<64xf32>, %t : memref<64xf32>)
      gpu.launch_func @k::@cell blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1) args(%t : memref<64xf32>, %h : memref<64xf32>)
      gpu.dealloc %t : memref<64xf32>
    }
    gpu.memcpy %x, %h : memref<64xf32>, memref<64xf32>
    gpu.dealloc %h : memref<64xf32>
    return
  }
}
