// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranks that are processes of torchrun, without MPI. The programs are those of processes.mlir,
// where the same is said of launchers of MPI. The launcher is Inputs/launch.py.
// UNSUPPORTED: sanitizer
// DEFINE: %{run} = gpu-runner %S/processes.mlir --device=cpu

// RUN: %torchrun 4 %{run} --input=4xf32=1,2,3,%r --output=- >%t.out && FileCheck %s --input-file=%t.out --check-prefix=RESULTS && FileCheck %s --input-file=%t.out --check-prefix=SUM
// SUM-DAG: rank 0:
// SUM-DAG: rank 1:
// SUM-DAG: rank 2:
// SUM-DAG: rank 3:
// RESULTS-COUNT-4: arg{{.}}0]: 4xf32=4 8 12 6

// One process is one rank, and says so. With --ranks=1 each process is alone.
// RUN: %torchrun 1 %{run} --input=4xf32=1,2,3,7 --output=- >%t.out && FileCheck %s --input-file=%t.out --check-prefix=ALONE
// ALONE: rank 0:
// ALONE-NEXT: arg{{.}}0]: 4xf32=1 2 3 7
// RUN: %torchrun 3 %{run} --ranks=1 --input=4xf32=1,2,3,%r --output=- >%t.out && FileCheck %s --input-file=%t.out --check-prefix=EACH
// EACH-COUNT-3: arg{{.}}0]: 4xf32=1 2 3 0

// Files of each rank, several calls, and one program after another in each process.
// RUN: %torchrun 2 %{run} --repeat=3 --input=4xf32=1,1,1,%r --output=@%t.%%r.npy
// RUN: %python -c "import numpy; a, b = (numpy.load('%t.%d.npy' % r) for r in (0, 1)); assert (a == b).all() and a.tolist() == [2, 2, 2, 1], (a, b)"
// RUN: %torchrun 3 sh -c "for i in 1 2 3 4 5; do %{run} --input=4xf32=1,2,3,%r --output=- || exit; done" >%t.out && FileCheck %s --input-file=%t.out --check-prefix=AGAIN
// AGAIN-COUNT-15: arg{{.}}0]: 4xf32=3 6 9 3

// The variables of launchers of MPI do not matter: they may have started torchrun.
// RUN: env OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 PMI_RANK=0 PMI_SIZE=1 %torchrun 2 %{run} --input=4xf32=1,2,3,%r --output=- >%t.out && FileCheck %s --input-file=%t.out --check-prefix=INNER
// INNER-COUNT-2: arg{{.}}0]: 4xf32=2 4 6 1

// RANK and WORLD_SIZE alone are no launcher.
// RUN: env RANK=1 WORLD_SIZE=2 %{run} --input=4xf32=1,2,3,7 --output=- | FileCheck %s --check-prefix=NONE
// NONE-NOT: rank
// NONE: arg{{.}}0]: 4xf32=1 2 3 7

// With the variable of torchrun they have to fit: a process alone would have other results.
// RUN: not env TORCHELASTIC_RESTART_COUNT=0 RANK=5 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 %{run} --input=4xf32 2>&1 | FileCheck %s --check-prefix=ODD
// ODD: gpu-runner: error: torchrun started this process (TORCHELASTIC_RESTART_COUNT is set), but RANK is '5', and WORLD_SIZE is '2'; for a program that runs alone, set GPU_ASYNC_RANKS=1
// RUN: not env TORCHELASTIC_RESTART_COUNT=0 RANK=0 %{run} --input=4xf32 2>&1 | FileCheck %s --check-prefix=UNSET
// UNSET: but RANK is '0', and WORLD_SIZE is not set; for
// RUN: not env TORCHELASTIC_RESTART_COUNT=0 RANK=0 WORLD_SIZE=100000 LOCAL_WORLD_SIZE=100000 %{run} --input=4xf32 2>&1 | FileCheck %s --check-prefix=MANY
// MANY: WORLD_SIZE: '100000' is not a number from 1 to 16384

// What differs, and who fails, ends or does not fit: as on threads.
// RUN: not %torchrun 3 gpu-runner %S/errors.mlir --device=cpu -e differ --input=1 >%t.out 2>&1
// RUN: FileCheck %S/errors.mlir --input-file=%t.out --check-prefix=DIFFER
// RUN: not %torchrun 3 gpu-runner %S/errors.mlir --device=cpu -e host --input=1 >%t.out 2>&1
// RUN: FileCheck %S/errors.mlir --input-file=%t.out --check-prefix=HOST
// RUN: not %torchrun 3 gpu-runner %S/errors.mlir --device=cpu -e kernel --input=1 >%t.out 2>&1
// RUN: FileCheck %S/errors.mlir --input-file=%t.out --check-prefix=KERNEL
// RUN: not %torchrun 3 gpu-runner %S/errors.mlir --device=cpu -e skips --input=1 >%t.out 2>&1
// RUN: FileCheck %S/errors.mlir --input-file=%t.out --check-prefix=SKIPS --implicit-check-not='on rank 1'
// RUN: not %torchrun 3 gpu-runner %S/errors.mlir --device=cpu -e swapped --input=2 >%t.out 2>&1
// RUN: FileCheck %S/errors.mlir --input-file=%t.out --check-prefix=SWAPPED
// RUN: not %torchrun 2 gpu-runner %S/errors.mlir --device=cpu -e trio >%t.out 2>&1
// RUN: FileCheck %S/errors.mlir --input-file=%t.out --check-prefix=TWO-TORCHRUN
// RUN: %torchrun 3 gpu-runner %S/errors.mlir --device=cpu -e trio

// One that fails before it has begun: the others do not wait for it, and write nothing.
// RUN: rm -rf %t.d && mkdir %t.d
// RUN: not %torchrun 1 %{run} --input=4xf32=0 --output=@%t.d/x.%%r.npy : -n 2 %{run} --input=@%t.d/nowhere.npy >%t.out 2>&1
// RUN: FileCheck %s --input-file=%t.out --check-prefix=BEFORE
// RUN: not %torchrun 1 %{run} --input=4xf32=0 --output=@%t.d/x.%%r.npy : -n 1 %{run} --no-such-option >%t.out 2>&1
// RUN: FileCheck %s --input-file=%t.out --check-prefix=OPTION
// RUN: not ls %t.d/x.0.npy
// BEFORE-DAG: nowhere.npy{{.*}} cannot be read{{.*}}(on rank 1)
// BEFORE-DAG: nowhere.npy{{.*}} cannot be read{{.*}}(on rank 2)
// BEFORE-DAG: rank {{[12]}} failed: {{.*}}cannot be read{{.*}}(on rank 0)
// OPTION-DAG: no-such-option{{.*}}(on rank 1)
// OPTION-DAG: rank 1 failed: {{.*}}no-such-option{{.*}}(on rank 0)

// A rank that ends well prints and writes nothing, if another one fails.
// RUN: not %torchrun 1 %{run} -e nothing --input=4xf32=1 --output=@%t.d/y.%%r.npy : -n 1 gpu-runner %S/errors.mlir --device=cpu -e host --input=1 >%t.out 2>&1
// RUN: FileCheck %s --input-file=%t.out --check-prefix=WELL
// RUN: not ls %t.d/y.0.npy
// WELL-DAG: gpu-runner: error: no results: rank 1 failed: {{.*}}(on rank 0)

// One that never comes, with and without a time limit; and one that is late.
// RUN: env GPU_ASYNC_TIMEOUT=0.5 not %torchrun 1 %{run} --input=4xf32=0 : -n 1 true 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not %torchrun 1 %{run} --input=4xf32=0 --timeout=0.5 : -n 1 true 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: gpu-runner: error: ranks without MPI: timed out after 0.5 s; rank 1 has not come
// RUN: not %torchrun 1 %{run} --input=4xf32=0 : -n 1 false
// RUN: %torchrun 2 %{run} --input=4xf32=1,2,3,%r --output=- : -n 1 sh -c "sleep 1; exec %{run} --input=4xf32=1,2,3,%r --output=-" >%t.out && FileCheck %s --input-file=%t.out --check-prefix=LATE
// LATE-COUNT-3: arg{{.}}0]: 4xf32=3 6 9 3

// One that hangs on the host: who waits for it names it.
// RUN: env GPU_ASYNC_TIMEOUT=5 not %torchrun 2 gpu-runner %S/hang.mlir --device=cpu -O0 -e host --input=1 2>&1 | FileCheck %S/hang.mlir --check-prefix=NEVER
// RUN: env GPU_ASYNC_TIMEOUT=5 not %torchrun 3 gpu-runner %S/hang.mlir --device=cpu -O0 -e later --input=1 2>&1 | FileCheck %S/hang.mlir --check-prefix=PROCESSES

// Two for one place, and several hosts.
// RUN: not %torchrun 2 env RANK=0 %{run} --input=4xf32=0 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: gpu-runner: error: ranks without MPI: another process is rank 0 of this job; for programs that do not meet, give gpu-runner the option --ranks=1
// RUN: not %python %S/Inputs/launch.py --hosts=2 -n 2 %{run} --input=4xf32=0 2>&1 | FileCheck %s --check-prefix=HOSTS
// HOSTS: gpu-runner: error: torchrun started 4 processes, and 2 of them on this host: ranks of several hosts need MPI; start them with mpirun

// RUN: not %torchrun 2 %{run} --ranks=2 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: gpu-runner: error: --ranks=2: a launcher started this process, which is one rank; leave the option out, or write --ranks=1 for programs that do not meet
