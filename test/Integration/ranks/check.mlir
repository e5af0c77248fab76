// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --check with several ranks: values that are not uniform, and wrong uses of memory around
// collectives. Each bug is counted once, whatever ranks have it.
// DEFINE: %{e} =
// DEFINE: %{inputs} =
// DEFINE: %{check} = env GPU_ASYNC_CPU_SCHEDULE=fair gpu-runner %s --device=cpu --check -e %{e} %{inputs}
// REDEFINE: %{e} = uniform
// REDEFINE: %{inputs} = --input=1xi32=%r --input=1.5 --input=2 --repeat=3
// RUN: not %{check} --ranks=4 2>&1 | FileCheck %s --check-prefix=INTEGER --implicit-check-not=error:
// INTEGER: check.mlir:[[#U:]]:8: error: gpu_async.uniform is not the same on all ranks: it is {{.}} on rank [[#A:]], and {{.}} on rank {{.}}, in @uniform
// INTEGER: %u = gpu_async.uniform %v : i32
// INTEGER: gpu-runner: error: --check found 1 bug
// REDEFINE: %{inputs} = --input=1xi32=3 --input=0.%r --input=2
// RUN: not %{check} --ranks=2 2>&1 | FileCheck %s --check-prefix=FLOAT --implicit-check-not=error:
// FLOAT: check.mlir:[[#U:]]:8: error: gpu_async.uniform is not the same on all ranks: it is {{0.100000001 on rank 1, and 0 on rank 0|0 on rank 0, and 0.100000001 on rank 1}}, in @uniform
// FLOAT: gpu-runner: error: --check found 1 bug
// REDEFINE: %{inputs} = --input=1xi32=3 --input=0.5 --input=%r
// RUN: not %{check} --ranks=2 2>&1 | FileCheck %s --check-prefix=WIDTHS --implicit-check-not=error:
// All promises hold.
// WIDTHS-DAG: error: {{.*}} it is {{1 on rank 1, and 0 on rank 0|0 on rank 0, and 1 on rank 1}}, in @uniform
// WIDTHS-DAG: error: {{.*}} it is {{0x3c00 on rank 1, and 0x0 on rank 0|0x0 on rank 0, and 0x3c00 on rank 1}}, in @uniform
// WIDTHS: gpu-runner: error: --check found 2 bugs
// REDEFINE: %{inputs} = --input=1xi32=3 --input=0.5 --input=1 --repeat=3
// RUN: %{check} --ranks=4
// RUN: %{check} --ranks=1
// RUN: %{check}
// RUN: %if mpich && !sanitizer %{ mpiexec.hydra -n 2 %{check} %}

// A promise about the lists of a group. Rows may come more or less often.
// REDEFINE: %{e} = rows
// REDEFINE: %{inputs} = --input=@%t.row.%r.npy --repeat=2
// RUN: %python -c "import numpy as np; [np.save('%t.row.%%d.npy' %% r, np.array([r // 2 + 1], 'i4')) for r in range(4)]"
// RUN: %{check} --ranks=4
// REDEFINE: %{inputs} = --input=1xi32=%r
// RUN: not %{check} --ranks=4 2>&1 | FileCheck %s --check-prefix=ROWS
// ROWS: check.mlir:[[#]]:8: error: gpu_async.uniform is not the same on all ranks of a list: it is {{1 on rank 1, and 0 on rank 0|0 on rank 0, and 1 on rank 1|2 on rank 2, and 3 on rank 3|3 on rank 3, and 2 on rank 2}}, in @rows
// RUN: not %{check} --ranks=2 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: is of 4 ranks, and the program runs on 2

// REDEFINE: %{e} = race
// REDEFINE: %{inputs} =
// RUN: not %{check} --ranks=2 2>&1 | FileCheck %s --check-prefix=RACE --implicit-check-not=error:
// RACE: check.mlir:[[#]]:9: error: race between device ops that nothing orders: gpu_async.memset
// RACE: note: the other: gpu_async.collective
// RACE: gpu-runner: error: --check found 1 bug
// REDEFINE: %{e} = freed
// RUN: not %{check} --ranks=2 2>&1 | FileCheck %s --check-prefix=FREED --implicit-check-not=error:
// FREED: error: use of freed device memory: gpu_async.collective reads 16 bytes
// FREED: note: freed here
// FREED: gpu-runner: error: --check found 1 bug

// Only rank 1 leaves its memory. It makes no collective then, and the other rank says so.
// REDEFINE: %{e} = bounds
// REDEFINE: %{inputs} = --input=3 --input=1xindex=%r
// RUN: not %{check} --ranks=2 2>&1 | FileCheck %s --check-prefix=BOUNDS
// BOUNDS: error: out of bounds: gpu_async.collective writes 12 bytes at byte 8 of 16 bytes of device memory
// BOUNDS: rank 1 has ended (on rank 0)
// BOUNDS: gpu-runner: error: --check found 1 bug

func.func @uniform(%x: memref<1xi32>, %f: f32, %n: i32) {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : i32
  %v = memref.load %x[%c0] : memref<1xi32>
  %u = gpu_async.uniform %v : i32
  %g = gpu_async.uniform %f : f32
  %bit = arith.trunci %n : i32 to i1
  %b = gpu_async.uniform %bit : i1
  %half = arith.sitofp %n : i32 to f16
  %h = gpu_async.uniform %half : f16
  %more = arith.cmpi slt, %u, %c5 : i32
  %zero = arith.constant 0.0 : f16
  %some = arith.cmpf ord, %h, %zero : f16
  %all = arith.andi %more, %some : i1
  %any = arith.ori %all, %b : i1
  scf.if %any {
    %d = gpu.alloc () : memref<4xf32>
    gpu.memset %d, %g : memref<4xf32>, f32
    gpu_async.collective all_reduce<sum> %d, %d : memref<4xf32>, memref<4xf32>
    gpu.dealloc %d : memref<4xf32>
  }
  return
}

gpu_async.group @row grid [2, 2] axes [1]
func.func @rows(%x: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = memref.load %x[%c0] : memref<1xi32>
  %u = gpu_async.uniform %v group(@row) : i32
  %n = arith.index_cast %u : i32 to index
  scf.for %i = %c0 to %n step %c1 {
    %one = gpu_async.uniform %u group(@row) : i32
    %d = gpu.alloc () : memref<4xi32>
    gpu.memset %d, %one : memref<4xi32>, i32
    gpu_async.collective all_reduce<sum> group(@row) %d, %d : memref<4xi32>, memref<4xi32>
    gpu.dealloc %d : memref<4xi32>
  }
  return
}

func.func @race() {
  %one = arith.constant 1.0 : f32
  %d, %t1 = gpu_async.alloc async () : memref<4xf32>
  %t2 = gpu_async.memset async [%t1] %d, %one : memref<4xf32>, f32
  %t3 = gpu_async.collective async [%t2] all_reduce<sum> %d, %d : memref<4xf32>, memref<4xf32>
  %t4 = gpu_async.memset async [%t2] %d, %one : memref<4xf32>, f32
  %t5 = gpu_async.dealloc async [%t3, %t4] %d : memref<4xf32>
  gpu_async.wait [%t5]
  return
}

func.func @freed() {
  %d = gpu.alloc () : memref<4xf32>
  %s = gpu.alloc () : memref<4xf32>
  gpu.dealloc %s : memref<4xf32>
  gpu_async.collective all_reduce<sum> %d, %s : memref<4xf32>, memref<4xf32>
  gpu.dealloc %d : memref<4xf32>
  return
}

func.func @bounds(%n: index, %at: memref<1xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rank = memref.load %at[%c0] : memref<1xindex>
  %first = arith.addi %rank, %c1 : index
  %d = gpu.alloc () : memref<4xf32>
  %s = gpu.alloc (%n) : memref<?xf32>
  %v = memref.subview %d[%first][%n][1] : memref<4xf32> to memref<?xf32, strided<[1], offset: ?>>
  gpu_async.collective all_reduce<sum> %v, %s : memref<?xf32, strided<[1], offset: ?>>, memref<?xf32>
  gpu.dealloc %d : memref<4xf32>
  gpu.dealloc %s : memref<?xf32>
  return
}
