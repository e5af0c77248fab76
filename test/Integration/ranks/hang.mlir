// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A rank that hangs, while the others wait for its collective: a time limit ends the program.
// DEFINE: %{run} = gpu-runner %s --device=cpu --ranks=2 -O0
// RUN: not env GPU_ASYNC_TIMEOUT=0.5 %{run} -e kernel --input=1 2>&1 | FileCheck %s --check-prefix=KERNEL
// RUN: not %{run} -e kernel --input=1 --timeout=0.5 2>&1 | FileCheck %s --check-prefix=KERNEL
// RUN: not %{run} -e host --input=1 --timeout=0.5 2>&1 | FileCheck %s --check-prefix=HOST
// RUN: not env GPU_ASYNC_TIMEOUT=0.5 %{run} -e host --input=1 2>&1 | FileCheck %s --check-prefix=HOST
// RUN: not env GPU_ASYNC_TIMEOUT=3 %{run} -e later --input=1 2>&1 | FileCheck %s --check-prefix=LATER
// What the others say is not lost, whether they fail or succeed, and without a limit neither.
// RUN: not %{run} -e others --input=1 --input=1 --timeout=0.5 2>&1 | FileCheck %s --check-prefix=OTHERS
// RUN: not %{run} -e others --input=1 --input=0 --timeout=0.5 2>&1 | FileCheck %s --check-prefix=HANGS --implicit-check-not='on rank 0'
// RUN: not timeout 5 %{run} -e others --input=1 --input=1 2>&1 | FileCheck %s --check-prefix=SAYS
// No rank has this number.
// RUN: env GPU_ASYNC_TIMEOUT=60 %{run} -e kernel --input=7
// RUN: %{run} -e host --input=7 --timeout=60

// The message names the rank that did not come, or has failed just before.
// KERNEL-DAG: {{it waits at all_reduce<sum> of 1 i32 at .*hang.mlir:[0-9]+ for rank 1, which has|it last came to all_reduce|rank 1 failed: .*timed out after 0.5 s}}{{.*}}(on rank 0)
// KERNEL-DAG: timed out after 0.5 s; unfinished: {{.*}}hang.mlir:[[#@LINE+7]]:3: gpu_async.launch @kernel_kernel::@kernel_kernel{{.*}}(on rank 1)
func.func @kernel(%bad: i32) {
  %c1 = arith.constant 1 : index
  %rank = gpu_async.rank
  %r32 = arith.index_cast %rank : index to i32
  %x = gpu.alloc () : memref<1xi32>
  gpu.memset %x, %r32 : memref<1xi32>, i32
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%nx = %c1, %ny = %c1, %nz = %c1) {
    %zero = arith.constant 0 : i32
    scf.while : () -> () {
      %v = memref.atomic_rmw addi %zero, %x[%tx] : (i32, memref<1xi32>) -> i32
      %more = arith.cmpi eq, %v, %bad : i32
      scf.condition(%more)
    } do {
      scf.yield
    }
    gpu.terminator
  }
  gpu_async.collective all_reduce<sum> %x, %x : memref<1xi32>, memref<1xi32>
  gpu.dealloc %x : memref<1xi32>
  return
}

// HOST: timed out after 0.5 s{{.*}}it waits at barrier at {{.*}}hang.mlir:{{[0-9]+}} for rank 1, which has come to no collective (on rank 0)
// HOST: gpu-runner: error: the rank is still in the program, on the host, and has come to no collective (on rank 1)
func.func @host(%bad: i32) {
  %c0 = arith.constant 0 : index
  %rank = gpu_async.rank
  %r32 = arith.index_cast %rank : index to i32
  %h = memref.alloc() : memref<1xi32>
  memref.store %r32, %h[%c0] : memref<1xi32>
  scf.while : () -> () {
    %v = memref.load %h[%c0] : memref<1xi32>
    %more = arith.cmpi eq, %v, %bad : i32
    scf.condition(%more)
  } do {
    scf.yield
  }
  memref.dealloc %h : memref<1xi32>
  gpu_async.collective barrier
  return
}

// LATER: timed out after 3 s{{.*}}it waits at all_reduce<sum> of 1 i32 at {{.*}}hang.mlir:{{[0-9]+}} for rank 1, which last came to broadcast<0> of 1 i32 at {{.*}}hang.mlir:{{[0-9]+}} (on rank 0)
// The same of processes.
// PROCESSES: timed out after 5 s{{.*}}it waits at all_reduce<sum> of 1 i32 at {{.*}}hang.mlir:{{[0-9]+}} for rank 1{{, which| and 1 more; rank 1}} last began #1 broadcast<0> of 1 i32 at {{.*}}hang.mlir:{{[0-9]+}} (on rank 0)
// NEVER: timed out after 5 s{{.*}}it waits at barrier at {{.*}}hang.mlir:{{[0-9]+}} for rank 1, which has begun no collective (on rank 0)
func.func @later(%bad: i32) {
  %c0 = arith.constant 0 : index
  %rank = gpu_async.rank
  %r32 = arith.index_cast %rank : index to i32
  %x = gpu.alloc () : memref<1xi32>
  gpu.memset %x, %bad : memref<1xi32>, i32
  gpu_async.collective broadcast<0> %x, %x : memref<1xi32>, memref<1xi32>
  %h = memref.alloc() : memref<1xi32>
  gpu.memcpy %h, %x : memref<1xi32>, memref<1xi32>
  scf.while : () -> () {
    %v = memref.load %h[%c0] : memref<1xi32>
    %more = arith.cmpi eq, %v, %r32 : i32
    scf.condition(%more)
  } do {
    scf.yield
  }
  gpu_async.collective all_reduce<sum> %x, %x : memref<1xi32>, memref<1xi32>
  gpu.memcpy %h, %x : memref<1xi32>, memref<1xi32>
  memref.dealloc %h : memref<1xi32>
  gpu.dealloc %x : memref<1xi32>
  return
}

// OTHERS: assertion failed: the real reason (on rank 0)
// OTHERS: gpu-runner: error: the rank is still in the program, on the host, and has come to no collective (on rank 1)
// HANGS: gpu-runner: error: the rank is still in the program, on the host, and has come to no collective (on rank 1)
// SAYS: assertion failed: the real reason (on rank 0)
func.func @others(%bad: i32, %fails: i32) {
  %c0 = arith.constant 0 : index
  %rank = gpu_async.rank
  %r32 = arith.index_cast %rank : index to i32
  %zero = arith.constant 0 : i32
  %h = memref.alloc() : memref<1xi32>
  memref.store %r32, %h[%c0] : memref<1xi32>
  scf.while : () -> () {
    %v = memref.load %h[%c0] : memref<1xi32>
    %more = arith.cmpi eq, %v, %bad : i32
    scf.condition(%more)
  } do {
    scf.yield
  }
  memref.dealloc %h : memref<1xi32>
  %ok = arith.cmpi eq, %fails, %zero : i32
  cf.assert %ok, "the real reason"
  return
}
