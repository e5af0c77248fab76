// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sizes that are known at run time only, no elements, two dimensions and rows of larger memory.
// What the types leave open is checked when the program runs.
// DEFINE: %{run} = gpu-runner %s --ranks=2 --device=cpu --leak-check=error
// RUN: %{run} -e gather --input=3x2xf32=%r --input=6x2xf32=9 --output= --output=- | FileCheck %s --check-prefix=GATHER
// RUN: %{run} -e gather --input=0x2xf32= --input=0x2xf32= --output= --output=- | FileCheck %s --check-prefix=NONE
// RUN: not %{run} -e gather --input=3x2xf32=%r --input=5x2xf32=9 2>&1 | FileCheck %s --check-prefix=LONG
// RUN: not %{run} -e gather --input=3x2xf32=%r --input=3x2xf32=9 2>&1 | FileCheck %s --check-prefix=SHORT
// RUN: %{run} -e exchange --input=8xf32=1,2,3,4,5,6,7,%r --output=- | FileCheck %s --check-prefix=EXCHANGE
// RUN: not %{run} -e exchange --input=3xf32=%r 2>&1 | FileCheck %s --check-prefix=ODD
// RUN: %{run} -e scatter --input=4x2xf32=1,2,3,4,5,6,7,%r --input=2x2xf32 --output= --output=- | FileCheck %s --check-prefix=SCATTER
// RUN: not %{run} -e scatter --input=4x2xf32=1 --input=4x2xf32 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: %{run} -e rows --input=5xi32=1,2,3,4,%r --output=- | FileCheck %s --check-prefix=ROWS
// Each rank has as many elements as its number tells: they differ.
// RUN: not %{run} -e own 2>&1 | FileCheck %s --check-prefix=OWN

// GATHER:      rank 0:
// GATHER-NEXT: arg{{.}}1{{.}}: 6x2xf32={{.}}0 0][0 0][0 0][1 1][1 1][1 1]
// GATHER-NEXT: rank 1:
// GATHER-NEXT: arg{{.}}1{{.}}: 6x2xf32={{.}}0 0][0 0][0 0][1 1][1 1][1 1]
// NONE:      rank 0:
// NONE-NEXT: arg{{.}}1{{.}}: 0x2xf32
// LONG-DAG:  sizes.mlir:[[#]]:3: error: gpu_async.collective: {{.*}}all_gather of 6 f32 at {{.*}}sizes.mlir:[[#]]: 10 elements of the destination and 6 of the source among 2 ranks: the destination has the source's elements times the ranks (on rank 0)
// LONG-DAG:  (on rank 1)
// SHORT: 6 elements of the destination and 6 of the source among 2 ranks
func.func @gather(%x: memref<?x2xf32>, %y: memref<?x2xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?x2xf32>
  %m = memref.dim %y, %c0 : memref<?x2xf32>
  %a = gpu.alloc (%n) : memref<?x2xf32>
  %b = gpu.alloc (%m) : memref<?x2xf32>
  gpu.memcpy %a, %x : memref<?x2xf32>, memref<?x2xf32>
  gpu_async.collective all_gather %b, %a : memref<?x2xf32>, memref<?x2xf32>
  gpu.memcpy %y, %b : memref<?x2xf32>, memref<?x2xf32>
  gpu.dealloc %a : memref<?x2xf32>
  gpu.dealloc %b : memref<?x2xf32>
  return
}

// EXCHANGE:      rank 0:
// EXCHANGE-NEXT: arg{{.}}0{{.}}: 8xf32=1 2 3 4 1 2 3 4
// EXCHANGE-NEXT: rank 1:
// EXCHANGE-NEXT: arg{{.}}0{{.}}: 8xf32=5 6 7 0 5 6 7 1
// ODD: all_to_all of 3 f32 at {{.*}}: 3 elements of the destination and 3 of the source among 2 ranks: both have as many elements, a multiple of the ranks
func.func @exchange(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %a = gpu.alloc (%n) : memref<?xf32>
  %b = gpu.alloc (%n) : memref<?xf32>
  gpu.memcpy %a, %x : memref<?xf32>, memref<?xf32>
  gpu_async.collective all_to_all %b, %a : memref<?xf32>, memref<?xf32>
  gpu.memcpy %x, %b : memref<?xf32>, memref<?xf32>
  gpu.dealloc %a : memref<?xf32>
  gpu.dealloc %b : memref<?xf32>
  return
}

// SCATTER:      rank 0:
// SCATTER-NEXT: arg{{.}}1{{.}}: 2x2xf32={{.}}2 4][6 8]
// SCATTER-NEXT: rank 1:
// SCATTER-NEXT: arg{{.}}1{{.}}: 2x2xf32={{.}}10 12][14 1]
// LARGE: 8 elements of the destination and 8 of the source among 2 ranks: the source has the destination's elements times the ranks
func.func @scatter(%x: memref<4x2xf32>, %y: memref<?x2xf32>) {
  %c0 = arith.constant 0 : index
  %m = memref.dim %y, %c0 : memref<?x2xf32>
  %a = gpu.alloc () : memref<4x2xf32>
  %b = gpu.alloc (%m) : memref<?x2xf32>
  gpu.memcpy %a, %x : memref<4x2xf32>, memref<4x2xf32>
  gpu_async.collective reduce_scatter<sum> %b, %a : memref<?x2xf32>, memref<4x2xf32>
  gpu.memcpy %y, %b : memref<?x2xf32>, memref<?x2xf32>
  gpu.dealloc %a : memref<4x2xf32>
  gpu.dealloc %b : memref<?x2xf32>
  return
}

// The last two numbers become the sum of the first two, and then of all ranks.
// ROWS:      rank 0:
// ROWS-NEXT: arg{{.}}0{{.}}: 5xi32=1 2 3 2 4
// ROWS-NEXT: rank 1:
// ROWS-NEXT: arg{{.}}0{{.}}: 5xi32=1 2 3 2 4
func.func @rows(%x: memref<5xi32>) {
  %a = gpu.alloc () : memref<5xi32>
  gpu.memcpy %a, %x : memref<5xi32>, memref<5xi32>
  %first = memref.subview %a[0] [2] [1] : memref<5xi32> to memref<2xi32, strided<[1]>>
  %last = memref.subview %a[3] [2] [1] : memref<5xi32> to memref<2xi32, strided<[1], offset: 3>>
  gpu_async.collective all_reduce<sum> %last, %first : memref<2xi32, strided<[1], offset: 3>>, memref<2xi32, strided<[1]>>
  gpu.memcpy %x, %a : memref<5xi32>, memref<5xi32>
  gpu.dealloc %a : memref<5xi32>
  return
}

// OWN-DAG: the ranks differ: all_reduce<sum> of [[#]] f32 at {{.*}}sizes.mlir:[[#]] on rank {{[01]}}, all_reduce<sum> of [[#]] f32 at {{.*}} on rank {{[01]}} (on rank 0)
// OWN-DAG: (on rank 1)
func.func @own() {
  %c1 = arith.constant 1 : index
  %rank = gpu_async.rank
  %n = arith.addi %rank, %c1 : index
  %a = gpu.alloc (%n) : memref<?xf32>
  %zero = arith.constant 0.0 : f32
  gpu.memset %a, %zero : memref<?xf32>, f32
  gpu_async.collective all_reduce<sum> %a, %a : memref<?xf32>, memref<?xf32>
  gpu.dealloc %a : memref<?xf32>
  return
}
