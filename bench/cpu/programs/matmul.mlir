// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// c = a * b, tiles of 16 x 16 in workgroup memory, two barriers a tile. The
// sizes are multiples of 16.

func.func @matmul(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %m = memref.dim %c, %c0 : memref<?x?xf32>
  %n = memref.dim %c, %c1 : memref<?x?xf32>
  %k = memref.dim %a, %c1 : memref<?x?xf32>
  %bxs = arith.divui %n, %c16 : index
  %bys = arith.divui %m, %c16 : index
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %bxs, %nby = %bys, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c16, %nty = %c16, %ntz = %c1)
             workgroup(%as : memref<16x16xf32, #gpu.address_space<workgroup>>,
                       %bs : memref<16x16xf32, #gpu.address_space<workgroup>>) {
    %zero = arith.constant 0.0 : f32
    %ybase = arith.muli %by, %c16 : index
    %y = arith.addi %ybase, %ty : index
    %xbase = arith.muli %bx, %c16 : index
    %x = arith.addi %xbase, %tx : index
    %sum = scf.for %tile = %c0 to %k step %c16 iter_args(%before = %zero) -> (f32) {
      %ax = arith.addi %tile, %tx : index
      %byy = arith.addi %tile, %ty : index
      %av = memref.load %a[%y, %ax] : memref<?x?xf32>
      memref.store %av, %as[%ty, %tx] : memref<16x16xf32, #gpu.address_space<workgroup>>
      %bv = memref.load %b[%byy, %x] : memref<?x?xf32>
      memref.store %bv, %bs[%ty, %tx] : memref<16x16xf32, #gpu.address_space<workgroup>>
      gpu.barrier
      %part = scf.for %i = %c0 to %c16 step %c1 iter_args(%so = %before) -> (f32) {
        %u = memref.load %as[%ty, %i] : memref<16x16xf32, #gpu.address_space<workgroup>>
        %v = memref.load %bs[%i, %tx] : memref<16x16xf32, #gpu.address_space<workgroup>>
        %p = arith.mulf %u, %v : f32
        %s = arith.addf %so, %p : f32
        scf.yield %s : f32
      }
      gpu.barrier
      scf.yield %part : f32
    }
    memref.store %sum, %c[%y, %x] : memref<?x?xf32>
    gpu.terminator
  }
  return
}
