// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A failed assert ends its thread, the others go on to their end, also where the kernel
// has a loop that would otherwise be run around the loops over the threads.
// RUN: not gpu-runner --device=cpu %s > %t 2>&1
// RUN: FileCheck %s < %t

// CHECK-DAG: thread 0 went on
// CHECK-DAG: thread 2 went on
// CHECK-DAG: assertion failed in kernel 'f', block (0, 0, 0), thread (1, 0, 0): thread one
// CHECK-NOT: thread 1 went on
module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @f(%in: memref<64x64xf32>, %out: memref<64xf32>, %n: index) kernel {
      %t = gpu.thread_id x
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %z = arith.constant 0.0 : f32
      %ok = arith.cmpi ne, %t, %c1 : index
      cf.assert %ok, "thread one"
      %s = scf.for %k = %c0 to %n step %c1 iter_args(%a = %z) -> f32 {
        %v = memref.load %in[%k, %t] : memref<64x64xf32>
        %b = arith.addf %a, %v : f32
        scf.yield %b : f32
      }
      memref.store %s, %out[%t] : memref<64xf32>
      gpu.printf "thread %d went on\n", %t : index
      gpu.return
    }
  }
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %c3 = arith.constant 3 : index
    %d = gpu.alloc () : memref<64x64xf32>
    %e = gpu.alloc () : memref<64xf32>
    %z = arith.constant 0.0 : f32
    gpu.memset %d, %z : memref<64x64xf32>, f32
    gpu.launch_func @k::@f blocks in (%c1,%c1,%c1) threads in (%c3,%c1,%c1) args(%d : memref<64x64xf32>, %e : memref<64xf32>, %c64: index)
    gpu.dealloc %d : memref<64x64xf32>
    gpu.dealloc %e : memref<64xf32>
    return
  }
}
