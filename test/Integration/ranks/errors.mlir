// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A rank that fails, ends early or comes to another collective: every rank ends, and says
// which rank it was and where.
// DEFINE: %{run} = gpu-runner %s --ranks=3 --device=cpu
// RUN: not %{run} -e host --input=1 2>%t.host | count 0
// RUN: FileCheck %s --input-file=%t.host --check-prefix=HOST
// RUN: not %{run} -e kernel --input=1 2>&1 | FileCheck %s --check-prefix=KERNEL
// RUN: not %{run} -e skips --input=1 2>%t.skips | count 0
// RUN: FileCheck %s --input-file=%t.skips --check-prefix=SKIPS --implicit-check-not='on rank 1'
// RUN: not %{run} -e differ --input=1 2>&1 | FileCheck %s --check-prefix=DIFFER
// RUN: not %{run} -e swapped --input=2 2>&1 | FileCheck %s --check-prefix=SWAPPED
// Nobody else fails, as the input says.
// RUN: %{run} -e host --input=3
// RUN: %{run} -e kernel --input=3
// RUN: %{run} -e skips --input=3
// RUN: %{run} -e differ --input=3
// RUN: %{run} -e swapped --input=3

// Not the ranks that the groups are of.
// RUN: not gpu-runner %s --device=cpu --ranks=2 -e trio 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: not gpu-runner %s --device=cpu -e trio 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: not gpu-runner %s --device=cpu --ranks=4 -e number 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: gpu-runner %s --device=cpu --ranks=3 -e trio
// RUN: gpu-runner %s --device=cpu --ranks=3 -e number

// An error concerns the groups of the rank only: ranks 2 and 3 do their work.
// RUN: not gpu-runner %s --device=cpu --ranks=4 -e elsewhere 2>&1 | FileCheck %s --check-prefix=ELSEWHERE --implicit-check-not='on rank 2' --implicit-check-not='on rank 3'

// HOST-DAG: {{^.*}}errors.mlir:[[#@LINE+8]]:3: error: assertion failed: this rank is bad (on rank 1)
// HOST-DAG: error: gpu_async.collective: {{.*}}barrier at {{.*}}errors.mlir:[[#@LINE+8]]: rank 1 failed: {{.*}}errors.mlir:[[#@LINE+7]]:3: assertion failed: this rank is bad (on rank 0)
// HOST-DAG: rank 1 failed: {{.*}}errors.mlir:[[#@LINE+6]]:3: assertion failed: this rank is bad (on rank 2)
func.func @host(%bad: i32) {
  %c1 = arith.constant 1 : index
  %rank = gpu_async.rank
  %r32 = arith.index_cast %rank : index to i32
  %ok = arith.cmpi ne, %r32, %bad : i32
  cf.assert %ok, "this rank is bad"
  gpu_async.collective barrier
  return
}

// What the kernel of a rank asserts, the others learn at the collective.
// KERNEL-DAG: error: assertion failed in kernel {{.*}}: bad in a kernel{{.*}}(on rank 1)
// KERNEL-DAG: rank 1 failed: {{.*}}(on rank 0)
// KERNEL-DAG: rank 1 failed: {{.*}}(on rank 2)
func.func @kernel(%bad: i32) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %rank = gpu_async.rank
  %r32 = arith.index_cast %rank : index to i32
  %x = gpu.alloc () : memref<1xi32>
  gpu.memset %x, %r32 : memref<1xi32>, i32
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%nx = %c1, %ny = %c1, %nz = %c1) {
    %v = memref.load %x[%tx] : memref<1xi32>
    %ok = arith.cmpi ne, %v, %bad : i32
    cf.assert %ok, "bad in a kernel"
    gpu.terminator
  }
  gpu_async.collective all_reduce<sum> %x, %x : memref<1xi32>, memref<1xi32>
  gpu.dealloc %x : memref<1xi32>
  return
}

// SKIPS-DAG: barrier at {{.*}}errors.mlir:[[#@LINE+9]]: rank 1 has ended (on rank 0)
// SKIPS-DAG: barrier at {{.*}}errors.mlir:[[#@LINE+8]]: rank 1 has ended (on rank 2)
// The program says falsely that the ranks go the same way, or nothing would run.
func.func @skips(%bad: i32) {
  %rank = gpu_async.rank
  %r32 = arith.index_cast %rank : index to i32
  %differs = arith.cmpi ne, %r32, %bad : i32
  %ok = gpu_async.uniform %differs : i1
  scf.if %ok {
    gpu_async.collective barrier
  }
  return
}

// Both places are named, whoever came first.
// DIFFER-DAG: the ranks differ: {{.*}}all_reduce<{{max|sum}}> of 1 i32 at {{.*}}errors.mlir:{{[0-9]+}} on rank {{[0-2]}}, all_reduce<{{max|sum}}> of 1 i32 at {{.*}}errors.mlir:{{[0-9]+}} on rank {{[0-2]}} (on rank 0)
// DIFFER-DAG: (on rank 1)
// DIFFER-DAG: (on rank 2)
func.func @differ(%bad: i32) {
  %rank = gpu_async.rank
  %r32 = arith.index_cast %rank : index to i32
  %differs = arith.cmpi ne, %r32, %bad : i32
  %ok = gpu_async.uniform %differs : i1
  %x = gpu.alloc () : memref<1xi32>
  gpu.memset %x, %r32 : memref<1xi32>, i32
  scf.if %ok {
    gpu_async.collective all_reduce<sum> %x, %x : memref<1xi32>, memref<1xi32>
  } else {
    gpu_async.collective all_reduce<max> %x, %x : memref<1xi32>, memref<1xi32>
  }
  gpu.dealloc %x : memref<1xi32>
  return
}

// Two collectives in another order on one rank.
// SWAPPED: the ranks differ: {{.*}}(on rank 0)
func.func @swapped(%bad: i32) {
  %rank = gpu_async.rank
  %r32 = arith.index_cast %rank : index to i32
  %differs = arith.cmpi ne, %r32, %bad : i32
  %ok = gpu_async.uniform %differs : i1
  %x = gpu.alloc () : memref<1xi32>
  gpu.memset %x, %r32 : memref<1xi32>, i32
  scf.if %ok {
    gpu_async.collective broadcast<0> %x, %x : memref<1xi32>, memref<1xi32>
    gpu_async.collective barrier
  } else {
    gpu_async.collective barrier
    gpu_async.collective broadcast<0> %x, %x : memref<1xi32>, memref<1xi32>
  }
  gpu.dealloc %x : memref<1xi32>
  return
}

gpu_async.group @three ranks [[0, 1, 2]]
// TWO-DAG: group @three is of 3 ranks, and the program runs on 2 (gpu-runner --ranks=3, or mpirun -n 3) (on rank 0)
// TWO-DAG: group @three is of 3 ranks, and the program runs on 2 (gpu-runner --ranks=3, or mpirun -n 3) (on rank 1)
// TWO-MPI-DAG: group @three is of 3 ranks, and the program runs on 2 (mpirun -n 3) (on rank 0)
// TWO-MPI-DAG: group @three is of 3 ranks, and the program runs on 2 (mpirun -n 3) (on rank 1)
// TWO-TORCHRUN-DAG: group @three is of 3 ranks, and the program runs on 2 (torchrun --nproc_per_node=3) (on rank 0)
// TWO-TORCHRUN-DAG: group @three is of 3 ranks, and the program runs on 2 (torchrun --nproc_per_node=3) (on rank 1)
// ONE: errors.mlir:[[#@LINE+2]]:3: error: gpu_async.collective: {{.*}}group @three is of 3 ranks, and the program runs on 1 (gpu-runner --ranks=3, or mpirun -n 3)
func.func @trio() {
  gpu_async.collective barrier group(@three)
  return
}
// NUMBER: errors.mlir:[[#@LINE+2]]:{{.*}}group @three is of 3 ranks, and the program runs on 4 (gpu-runner --ranks=3, or mpirun -n 3) (on rank 0)
func.func @number() -> index {
  %r = gpu_async.rank @three
  return %r : index
}

// ELSEWHERE-DAG: all_reduce<sum> of 1 i32 at {{.*}}errors.mlir:[[#@LINE+12]]: rank 1 failed: {{.*}}assertion failed: only this rank (on rank 0)
// ELSEWHERE-DAG: error: assertion failed: only this rank (on rank 1)
gpu_async.group @pairs ranks [[0, 1], [2, 3]]
func.func @elsewhere() {
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %rank = gpu_async.rank
  %x = gpu.alloc () : memref<1xi32>
  gpu.memset %x, %one : memref<1xi32>, i32
  gpu_async.collective all_reduce<sum> %x, %x : memref<1xi32>, memref<1xi32>
  %ok = arith.cmpi ne, %rank, %c1 : index
  cf.assert %ok, "only this rank"
  gpu_async.collective all_reduce<sum> group(@pairs) %x, %x : memref<1xi32>, memref<1xi32>
  gpu.dealloc %x : memref<1xi32>
  return
}
