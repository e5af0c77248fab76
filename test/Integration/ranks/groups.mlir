// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Groups by a grid and by lists: who meets whom, in which order, and the number and the size of
// each. Ranks of 6 in a grid of two rows.
// RUN: gpu-runner %s --ranks=6 --device=cpu --leak-check=error | FileCheck %s
// The row and the column, gathered; the list of the rank; [numbers in rows, columns, lists; sizes].
// CHECK:      rank 0:
// CHECK-NEXT: result[0]: 3xi32=0 1 2
// CHECK-NEXT: result[1]: 2xi32=0 3
// CHECK-NEXT: result[2]: 3xi32=5 0 1
// CHECK-NEXT: result[3]: 8xi32=0 0 1 0 3 2 3 6
// CHECK-NEXT: rank 1:
// CHECK-NEXT: result[0]: 3xi32=0 1 2
// CHECK-NEXT: result[1]: 2xi32=1 4
// CHECK-NEXT: result[2]: 3xi32=5 0 1
// CHECK-NEXT: result[3]: 8xi32=1 0 2 1 3 2 3 6
// CHECK-NEXT: rank 2:
// CHECK-NEXT: result[0]: 3xi32=0 1 2
// CHECK-NEXT: result[1]: 2xi32=2 5
// CHECK-NEXT: result[2]: 3xi32=4 2 3
// CHECK-NEXT: result[3]: 8xi32=2 0 1 2 3 2 3 6
// CHECK-NEXT: rank 3:
// CHECK-NEXT: result[0]: 3xi32=3 4 5
// CHECK-NEXT: result[1]: 2xi32=0 3
// CHECK-NEXT: result[2]: 3xi32=4 2 3
// CHECK-NEXT: result[3]: 8xi32=0 1 2 3 3 2 3 6
// CHECK-NEXT: rank 4:
// CHECK-NEXT: result[0]: 3xi32=3 4 5
// CHECK-NEXT: result[1]: 2xi32=1 4
// CHECK-NEXT: result[2]: 3xi32=4 2 3
// CHECK-NEXT: result[3]: 8xi32=1 1 0 4 3 2 3 6
// CHECK-NEXT: rank 5:
// CHECK-NEXT: result[0]: 3xi32=3 4 5
// CHECK-NEXT: result[1]: 2xi32=2 5
// CHECK-NEXT: result[2]: 3xi32=5 0 1
// CHECK-NEXT: result[3]: 8xi32=2 1 0 5 3 2 3 6
gpu_async.group @rows grid [2, 3] axes [1]
gpu_async.group @columns grid [2, 3] axes [0]
gpu_async.group @lists ranks [[4, 2, 3], [5, 0, 1]]

func.func private @put(%to: memref<8xi32>, %at: index, %value: index) {
  %v = arith.index_cast %value : index to i32
  memref.store %v, %to[%at] : memref<8xi32>
  return
}

func.func @main() -> (memref<3xi32>, memref<2xi32>, memref<3xi32>, memref<8xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %c7 = arith.constant 7 : index
  %row = gpu_async.rank @rows
  %column = gpu_async.rank @columns
  %list = gpu_async.rank @lists
  %rank = gpu_async.rank
  %rows = gpu_async.size @rows
  %columns = gpu_async.size @columns
  %lists = gpu_async.size @lists
  %size = gpu_async.size
  %h = memref.alloc() : memref<8xi32>
  call @put(%h, %c0, %row) : (memref<8xi32>, index, index) -> ()
  call @put(%h, %c1, %column) : (memref<8xi32>, index, index) -> ()
  call @put(%h, %c2, %list) : (memref<8xi32>, index, index) -> ()
  call @put(%h, %c3, %rank) : (memref<8xi32>, index, index) -> ()
  call @put(%h, %c4, %rows) : (memref<8xi32>, index, index) -> ()
  call @put(%h, %c5, %columns) : (memref<8xi32>, index, index) -> ()
  call @put(%h, %c6, %lists) : (memref<8xi32>, index, index) -> ()
  call @put(%h, %c7, %size) : (memref<8xi32>, index, index) -> ()

  %v = arith.index_cast %rank : index to i32
  %x = gpu.alloc () : memref<1xi32>
  gpu.memset %x, %v : memref<1xi32>, i32
  %r = gpu.alloc () : memref<3xi32>
  %c = gpu.alloc () : memref<2xi32>
  %l = gpu.alloc () : memref<3xi32>
  gpu_async.collective all_gather group(@rows) %r, %x : memref<3xi32>, memref<1xi32>
  gpu_async.collective all_gather group(@columns) %c, %x : memref<2xi32>, memref<1xi32>
  gpu_async.collective all_gather group(@lists) %l, %x : memref<3xi32>, memref<1xi32>
  %hr = memref.alloc() : memref<3xi32>
  %hc = memref.alloc() : memref<2xi32>
  %hl = memref.alloc() : memref<3xi32>
  gpu.memcpy %hr, %r : memref<3xi32>, memref<3xi32>
  gpu.memcpy %hc, %c : memref<2xi32>, memref<2xi32>
  gpu.memcpy %hl, %l : memref<3xi32>, memref<3xi32>
  gpu.dealloc %x : memref<1xi32>
  gpu.dealloc %r : memref<3xi32>
  gpu.dealloc %c : memref<2xi32>
  gpu.dealloc %l : memref<3xi32>
  return %hr, %hc, %hl, %h : memref<3xi32>, memref<2xi32>, memref<3xi32>, memref<8xi32>
}
