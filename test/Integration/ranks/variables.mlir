// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Variables of kernels: threads would share them, so several ranks are refused.
// DEFINE: %{run} = gpu-runner %s --device=cpu --input=1xi32=7 --output=-
// RUN: rm -rf %t
// RUN: %{run} --cache=%t | FileCheck %s
// RUN: not %{run} --cache=%t --ranks=2 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: %{run} --cache=%t --ranks=1 | FileCheck %s
// CHECK: arg{{.}}0]: 1xi32=1
// REFUSED: variables.mlir:[[#@LINE+7]]:3: error: 'memref.global' op is a variable of kernels, which all ranks of this process would share: keep its value in memory that the program allocates, or start ranks as processes (mpirun)
// Each process has its own. MPI leaks memory, which sanitizers would say.
// RUN: %if mpich && !sanitizer %{ mpiexec.hydra -n 2 %{run} >%t.out && FileCheck %s --input-file=%t.out --check-prefix=EACH %}
// EACH-COUNT-2: 1xi32=1
module attributes {gpu.container_module} {
gpu.module @k {
  memref.global constant @fine : memref<1xi32> = dense<[1]>
  memref.global @g : memref<1xi32> = dense<[0]>
  gpu.func @count(%out: memref<1xi32>) kernel {
    %c0 = arith.constant 0 : index
    %f = memref.get_global @fine : memref<1xi32>
    %m = memref.get_global @g : memref<1xi32>
    %one = memref.load %f[%c0] : memref<1xi32>
    %v = memref.load %m[%c0] : memref<1xi32>
    %w = arith.addi %v, %one : i32
    memref.store %w, %m[%c0] : memref<1xi32>
    memref.store %w, %out[%c0] : memref<1xi32>
    gpu.return
  }
}
func.func @main(%x: memref<1xi32>) {
  %c1 = arith.constant 1 : index
  %d = gpu.alloc () : memref<1xi32>
  gpu.launch_func @k::@count blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%d : memref<1xi32>)
  gpu.memcpy %x, %d : memref<1xi32>, memref<1xi32>
  gpu.dealloc %d : memref<1xi32>
  return
}
}
