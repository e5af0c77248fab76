// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranks that are processes, started by a launcher of MPI. Its order of lines is not ours.
// REQUIRES: openmpi, mpich
// UNSUPPORTED: sanitizer
// DEFINE: %{run} = gpu-runner %s --device=cpu

// RUN: %openmpi 4 %{run} --input=4xf32=1,2,3,%r --output=- >%t.out && FileCheck %s --input-file=%t.out --check-prefix=RESULTS && FileCheck %s --input-file=%t.out --check-prefix=SUM
// RUN: %mpich 4 %{run} --input=4xf32=1,2,3,%r --output=- >%t.out && FileCheck %s --input-file=%t.out --check-prefix=RESULTS && FileCheck %s --input-file=%t.out --check-prefix=SUM
// SUM-DAG: rank 0:
// SUM-DAG: rank 1:
// SUM-DAG: rank 2:
// SUM-DAG: rank 3:
// RESULTS-COUNT-4: arg{{.}}0]: 4xf32=4 8 12 6

// One process is one rank, and says so. With --ranks=1 each process is alone.
// RUN: %openmpi 1 %{run} --input=4xf32=1,2,3,7 --output=- >%t.out && FileCheck %s --input-file=%t.out --check-prefix=ALONE
// ALONE: rank 0:
// ALONE-NEXT: arg{{.}}0]: 4xf32=1 2 3 7
// RUN: %mpich 3 %{run} --ranks=1 --input=4xf32=1,2,3,%r --output=- >%t.out && FileCheck %s --input-file=%t.out --check-prefix=EACH
// EACH-COUNT-3: arg{{.}}0]: 4xf32=1 2 3 0

// Slurm's tasks without an interface of MPI, and with that of another library.
// RUN: not env SLURM_STEP_NUM_TASKS=3 %{run} --input=4xf32=1 2>&1 | FileCheck %s --check-prefix=TASKS
// RUN: env SLURM_STEP_NUM_TASKS=3 %{run} --input=4xf32=1 --ranks=1
// RUN: echo "func.func @main() { return }" | env SLURM_STEP_NUM_TASKS=3 gpu-runner - --device=cpu
// RUN: env SLURM_STEP_NUM_TASKS=1 %{run} --input=4xf32=1
// RUN: not env SLURM_STEP_NUM_TASKS=3 PMIX_RANK=0 GPU_ASYNC_MPI_LIBRARY=libmpich.so.12 %{run} --input=4xf32=1 2>&1 | FileCheck %s --check-prefix=SINGLE
// RUN: env SLURM_STEP_NUM_TASKS=3 GPU_ASYNC_RANKS=1 %{run} --input=4xf32=1
// RUN: not env GPU_ASYNC_RANKS=2 %{run} --input=4xf32=1 2>&1 | FileCheck %s --check-prefix=VALUE
// TASKS: processes.mlir:[[#]]:3: error: gpu_async.collective: {{.*}}all_reduce<sum> of 4 f32 at {{.*}}: srun started 3 processes without an interface of MPI, so they do not meet; write srun --mpi=pmi2
// VALUE: error: GPU_ASYNC_RANKS: '2' is not 1
// SINGLE: gpu-runner: error: the launcher started 3 processes, and libmpich.so.12 finds one

// Files of each rank, and several calls.
// RUN: %openmpi 2 %{run} --repeat=3 --input=4xf32=1,1,1,%r --output=@%t.%%r.npy
// RUN: %python -c "import numpy; a, b = (numpy.load('%t.%d.npy' % r) for r in (0, 1)); assert (a == b).all() and a.tolist() == [2, 2, 2, 1], (a, b)"

// What differs, and who fails, ends or does not fit: as on threads.
// RUN: not %openmpi 3 gpu-runner %S/errors.mlir --device=cpu -e differ --input=1 >%t.out 2>&1
// RUN: FileCheck %S/errors.mlir --input-file=%t.out --check-prefix=DIFFER
// RUN: not %mpich 3 gpu-runner %S/errors.mlir --device=cpu -e host --input=1 >%t.out 2>&1
// RUN: FileCheck %S/errors.mlir --input-file=%t.out --check-prefix=HOST
// RUN: not %mpich 3 gpu-runner %S/errors.mlir --device=cpu -e kernel --input=1 >%t.out 2>&1
// RUN: FileCheck %S/errors.mlir --input-file=%t.out --check-prefix=KERNEL
// RUN: not %openmpi 3 gpu-runner %S/errors.mlir --device=cpu -e skips --input=1 >%t.out 2>&1
// RUN: FileCheck %S/errors.mlir --input-file=%t.out --check-prefix=SKIPS --implicit-check-not='on rank 1'
// RUN: not %mpich 3 gpu-runner %S/errors.mlir --device=cpu -e swapped --input=2 >%t.out 2>&1
// RUN: FileCheck %S/errors.mlir --input-file=%t.out --check-prefix=SWAPPED
// RUN: not %openmpi 2 gpu-runner %S/errors.mlir --device=cpu -e trio >%t.out 2>&1
// RUN: FileCheck %S/errors.mlir --input-file=%t.out --check-prefix=TWO-MPI
// RUN: %mpich 3 gpu-runner %S/errors.mlir --device=cpu -e trio

// One that fails before it has begun: the others do not wait for it, and write nothing.
// RUN: rm -rf %t.d && mkdir %t.d
// RUN: not %mpich 1 %{run} --input=4xf32=0 --output=@%t.d/x.%%r.npy : -n 2 %{run} --input=@%t.d/nowhere.npy >%t.out 2>&1
// RUN: FileCheck %s --input-file=%t.out --check-prefix=BEFORE
// RUN: not %mpich 1 %{run} --input=4xf32=0 --output=@%t.d/x.%%r.npy : -n 1 %{run} --no-such-option >%t.out 2>&1
// RUN: FileCheck %s --input-file=%t.out --check-prefix=OPTION
// RUN: not ls %t.d/x.0.npy
// BEFORE-DAG: nowhere.npy{{.*}} cannot be read{{.*}}(on rank 1)
// BEFORE-DAG: nowhere.npy{{.*}} cannot be read{{.*}}(on rank 2)
// BEFORE-DAG: rank {{[12]}} failed: {{.*}}cannot be read{{.*}}(on rank 0)
// OPTION-DAG: no-such-option{{.*}}(on rank 1)
// OPTION-DAG: rank 1 failed: {{.*}}no-such-option{{.*}}(on rank 0)

// A rank that ends well prints and writes nothing, if another one fails.
// RUN: not %openmpi 1 %{run} -e nothing --input=4xf32=1 --output=@%t.d/y.%%r.npy : -n 1 gpu-runner %S/errors.mlir --device=cpu -e host --input=1 >%t.out 2>&1
// RUN: FileCheck %s --input-file=%t.out --check-prefix=WELL
// RUN: not ls %t.d/y.0.npy
// WELL-DAG: gpu-runner: error: no results: rank 1 failed: {{.*}}(on rank 0)

// Files of one name.
// RUN: not %mpich 2 %{run} --input=4xf32=0 --trace=%t.d/t.json 2>&1 | FileCheck %s --check-prefix=TRACE
// TRACE: gpu-runner: error: --trace={{.*}}t.json: all processes write the same file; %p in its name is the number of the process (on rank {{[01]}})
// RUN: %mpich 2 %{run} --input=4xf32=0 --output=- --trace=%t.d/t.%%p.json --profile=%t.d/p.%%p.txt --stats=%t.d/s.%%p.json
// RUN: ls %t.d | count 6
// RUN: cat %t.d/s.*.json | FileCheck %s --check-prefix=STATS
// STATS-DAG: {"rank": 0, "device": "cpu"{{.*}}, "times_ms"
// STATS-DAG: {"rank": 1, "device": "cpu"{{.*}}, "times_ms"

// Another program on one rank.
// RUN: not %mpich 1 %{run} --input=4xf32=1,2,3,%r : -n 1 %{run} -e gathers --input=4xf32=1,2,3,%r >%t.out 2>&1
// RUN: FileCheck %s --input-file=%t.out --check-prefix=OTHER
// OTHER-DAG: the ranks differ: all_gather of 4 f32 at {{.*}}:[[#@LINE+23]] on rank 1, all_reduce<sum> of 4 f32 at {{.*}}:[[#@LINE+13]] on rank 0 (on rank 0)
// OTHER-DAG: the ranks differ: all_reduce<sum> of 4 f32 at {{.*}}:[[#@LINE+12]] on rank 0, all_gather of 4 f32 at {{.*}}:[[#@LINE+22]] on rank 1 (on rank 1)

// RUN: not %mpich 2 %{run} --ranks=2 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: gpu-runner: error: --ranks=2: a launcher started this process, which is one rank; leave the option out, or write --ranks=1 for programs that do not meet
// RUN: env GPU_ASYNC_MPI_LIBRARY=nowhere.so not %mpich 2 %{run} --input=4xf32=0 2>&1 | FileCheck %s --check-prefix=NOWHERE
// NOWHERE: gpu-runner: error: no MPI library; tried nowhere.so ({{.*}}). Set GPU_ASYNC_MPI_LIBRARY to the one of the launcher
// RUN: env GPU_ASYNC_MPI_LIBRARY=libmpich.so.12 not %openmpi 2 %{run} --input=4xf32=0 2>&1 | FileCheck %s --check-prefix=LIBRARY
// LIBRARY: gpu-runner: error: the launcher started 2 processes, and libmpich.so.12 finds one: it is another MPI's. Set GPU_ASYNC_MPI_LIBRARY to the launcher's{{$}}

func.func @main(%x: memref<4xf32>) {
  %d = gpu.alloc () : memref<4xf32>
  gpu.memcpy %d, %x : memref<4xf32>, memref<4xf32>
  gpu_async.collective all_reduce<sum> %d, %d : memref<4xf32>, memref<4xf32>
  gpu.memcpy %x, %d : memref<4xf32>, memref<4xf32>
  gpu.dealloc %d : memref<4xf32>
  return
}

func.func @gathers(%x: memref<4xf32>) {
  %d = gpu.alloc () : memref<4xf32>
  %e = gpu.alloc () : memref<8xf32>
  gpu.memcpy %d, %x : memref<4xf32>, memref<4xf32>
  gpu_async.collective all_gather %e, %d : memref<8xf32>, memref<4xf32>
  gpu.dealloc %d : memref<4xf32>
  gpu.dealloc %e : memref<8xf32>
  return
}

func.func @nothing(%x: memref<4xf32>) {
  return
}
