// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The number of the rank and of the ranks in arithmetic of the host: each rank adds up its own
// rows of x. A program of any number of ranks also runs as one.
// DEFINE: %{run} = gpu-runner %s --device=cpu --leak-check=error --input=6xi32=1,2,3,4,5,6
// RUN: %{run} --ranks=3 | FileCheck %s --check-prefix=THREE
// RUN: %{run} --ranks=2 | FileCheck %s --check-prefix=TWO
// RUN: %{run} --ranks=1 | FileCheck %s --check-prefix=RANK
// RUN: %{run} | FileCheck %s --check-prefix=ALONE --implicit-check-not=rank
// RUN: %{run} --ranks=5 | FileCheck %s --check-prefix=FIVE
// Ranks share the CPU device also where it has several numbers.
// RUN: env GPU_ASYNC_CPU_DEVICES=2 gpu-runner %s --device=cpu:1 --input=6xi32=1,2,3,4,5,6 --ranks=3 | FileCheck %s --check-prefix=THREE

// %r is the number of the rank in names of files, in numbers and in what is expected; without
// --ranks it is nothing special.
// RUN: rm -rf %t && mkdir %t
// RUN: %{run} --ranks=3 --output= --output=@%t/mine.%r.npy --output=@%t/all-%r-%r.npy
// RUN: ls %t | FileCheck %s --check-prefix=FILES --implicit-check-not=3
// FILES:      all-0-0.npy
// FILES-NEXT: all-1-1.npy
// FILES-NEXT: all-2-2.npy
// FILES-NEXT: mine.0.npy
// FILES-NEXT: mine.1.npy
// FILES-NEXT: mine.2.npy
// RUN: %{run} --ranks=3 --expect=result0=@%t/mine.%r.npy --expect=result1=@%t/all-%r-%r.npy
// RUN: gpu-runner %s --device=cpu -e same --ranks=3 --input=3xi32=%r,1,%r --expect=arg0=3xi32=%r,1,%r
// RUN: not gpu-runner %s --device=cpu -e same --ranks=3 --input=3xi32=1 --expect=arg0=3xi32=1,1,%r > %t/out 2>&1
// RUN: FileCheck %s --input-file=%t/out --check-prefix=UNEXPECTED
// UNEXPECTED-NOT: on rank 1
// UNEXPECTED-DAG: (on rank 0)
// UNEXPECTED-DAG: (on rank 2)
// UNEXPECTED-NOT: on rank 1
// RUN: not gpu-runner %s --device=cpu -e same --input=3xi32=%r 2>&1 | FileCheck %s --check-prefix=WITHOUT
// WITHOUT: error: {{.*}}%r

// THREE:      rank 0:
// THREE-NEXT: result{{.}}0{{.}}: i32=3
// THREE-NEXT: result{{.}}1{{.}}: i32=21
// THREE-NEXT: rank 1:
// THREE-NEXT: result{{.}}0{{.}}: i32=7
// THREE-NEXT: result{{.}}1{{.}}: i32=21
// THREE-NEXT: rank 2:
// THREE-NEXT: result{{.}}0{{.}}: i32=11
// THREE-NEXT: result{{.}}1{{.}}: i32=21
// TWO:      rank 0:
// TWO-NEXT: result{{.}}0{{.}}: i32=6
// TWO-NEXT: result{{.}}1{{.}}: i32=21
// TWO-NEXT: rank 1:
// TWO-NEXT: result{{.}}0{{.}}: i32=15
// TWO-NEXT: result{{.}}1{{.}}: i32=21
// RANK:      rank 0:
// RANK-NEXT: result{{.}}0{{.}}: i32=21
// RANK-NEXT: result{{.}}1{{.}}: i32=21
// ALONE:      result{{.}}0{{.}}: i32=21
// ALONE-NEXT: result{{.}}1{{.}}: i32=21
// Ranks that have no rows of their own give 0.
// FIVE:      rank 0:
// FIVE-NEXT: result{{.}}0{{.}}: i32=3
// FIVE:      rank 2:
// FIVE-NEXT: result{{.}}0{{.}}: i32=11
// FIVE-NEXT: result{{.}}1{{.}}: i32=21
// FIVE-NEXT: rank 3:
// FIVE-NEXT: result{{.}}0{{.}}: i32=0
// FIVE-NEXT: result{{.}}1{{.}}: i32=21
func.func @main(%x: memref<6xi32>) -> (i32, i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %rank = gpu_async.rank
  %size = gpu_async.size
  %rows = arith.ceildivui %c6, %size : index
  %first = arith.muli %rank, %rows : index
  %after = arith.addi %first, %rows : index
  %from = arith.minui %first, %c6 : index
  %to = arith.minui %after, %c6 : index
  %zero = arith.constant 0 : i32
  %mine = scf.for %i = %from to %to step %c1 iter_args(%sum = %zero) -> i32 {
    %v = memref.load %x[%i] : memref<6xi32>
    %s = arith.addi %sum, %v : i32
    scf.yield %s : i32
  }
  %d = gpu.alloc () : memref<1xi32>
  gpu.memset %d, %mine : memref<1xi32>, i32
  gpu_async.collective all_reduce<sum> %d, %d : memref<1xi32>, memref<1xi32>
  %h = memref.alloc() : memref<1xi32>
  gpu.memcpy %h, %d : memref<1xi32>, memref<1xi32>
  gpu.dealloc %d : memref<1xi32>
  %all = memref.load %h[%c0] : memref<1xi32>
  memref.dealloc %h : memref<1xi32>
  return %mine, %all : i32, i32
}

func.func @same(%x: memref<3xi32>) {
  gpu_async.collective barrier
  return
}
