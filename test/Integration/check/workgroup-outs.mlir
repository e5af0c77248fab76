// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an op overwrites it does not read: linalg ops whose bodies leave their
// outputs alone, copies, and exchanges whose result nobody needs, all on fresh
// workgroup memory. An op that adds to its output does read it.
// RUN: gpu-runner --device=cpu --check %s -e overwrites --input=8x8xf32=1 --output=- | FileCheck %s
// RUN: not gpu-runner --device=cpu --check %s -e adds --input=8xf32=1 --output= 2>&1 | FileCheck %s --check-prefix=ADDS

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>
#each = affine_map<(i) -> (i)>
!space = memref<8x8xf32, #gpu.address_space<workgroup>>
!row = memref<8xf32, #gpu.address_space<workgroup>>

// CHECK: arg[0]: 8x8xf32=[7 7 7 7 7 7 7 7]{{(\[7 7 7 7 7 7 7 7\]){7}$}}
func.func @overwrites(%h: memref<8x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %x = gpu.alloc () : memref<8x8xf32>
  gpu.memcpy %x, %h : memref<8x8xf32>, memref<8x8xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1)
             workgroup(%a : !space, %b : !space, %c : !space, %d : !space, %e : !row, %f : !space, %g : memref<1xi32, #gpu.address_space<workgroup>>) {
    %k = arith.constant 3.0 : f32
    linalg.fill ins(%k : f32) outs(%a : !space)
    linalg.transpose ins(%a : !space) outs(%b : !space) permutation = [1, 0]
    linalg.map { arith.addf } ins(%a, %b : !space, !space) outs(%c : !space)
    memref.copy %c, %d : !space to !space
    linalg.generic {indexing_maps = [#each], iterator_types = ["parallel"]} outs(%e : !row) {
    ^bb0(%o: f32):
      %i = linalg.index 0 : index
      %z = arith.subi %i, %i : index
      %n = arith.index_cast %z : index to i32
      %v = arith.sitofp %n : i32 to f32
      linalg.yield %v : f32
    }
    linalg.broadcast ins(%e : !row) outs(%f : !space) dimensions = [0]
    linalg.add ins(%d, %f : !space, !space) outs(%b : !space)
    linalg.add ins(%b, %x : !space, memref<8x8xf32>) outs(%x : memref<8x8xf32>)
    %ignored = memref.atomic_rmw assign %one, %g[%c0] : (i32, memref<1xi32, #gpu.address_space<workgroup>>) -> i32
    gpu.terminator
  }
  gpu.memcpy %h, %x : memref<8x8xf32>, memref<8x8xf32>
  gpu.dealloc %x : memref<8x8xf32>
  return
}

func.func @adds(%h: memref<8xf32>) {
  %c1 = arith.constant 1 : index
  %x = gpu.alloc () : memref<8xf32>
  gpu.memcpy %x, %h : memref<8xf32>, memref<8xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1)
             workgroup(%a : !row) {
    // ADDS: workgroup-outs.mlir:[[@LINE+1]]:5: error: read of uninitialised workgroup memory
    linalg.generic {indexing_maps = [#each, #each], iterator_types = ["parallel"]} ins(%x : memref<8xf32>) outs(%a : !row) {
    ^bb0(%i: f32, %o: f32):
      %s = arith.addf %i, %o : f32
      linalg.yield %s : f32
    }
    memref.copy %a, %x : !row to memref<8xf32>
    gpu.terminator
  }
  gpu.memcpy %h, %x : memref<8xf32>, memref<8xf32>
  gpu.dealloc %x : memref<8xf32>
  return
}
// ADDS: found 1 bug
