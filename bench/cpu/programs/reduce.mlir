// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One sum for each block of 256 values: a tree in workgroup memory, a barrier a
// level. Values beyond the end are 0.

func.func @reduce(%x: memref<?xf32>, %sums: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c256 = arith.constant 256 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %blocks = arith.ceildivui %n, %c256 : index
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %blocks, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c256, %nty = %c1, %ntz = %c1)
             workgroup(%s : memref<256xf32, #gpu.address_space<workgroup>>) {
    %zero = arith.constant 0.0 : f32
    %half = arith.constant 128 : index
    %base = arith.muli %bx, %c256 : index
    %i = arith.addi %base, %tx : index
    %inside = arith.cmpi ult, %i, %n : index
    %v = scf.if %inside -> (f32) {
      %loaded = memref.load %x[%i] : memref<?xf32>
      scf.yield %loaded : f32
    } else {
      scf.yield %zero : f32
    }
    memref.store %v, %s[%tx] : memref<256xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %last = scf.while (%width = %half) : (index) -> index {
      %more = arith.cmpi ne, %width, %c0 : index
      scf.condition(%more) %width : index
    } do {
    ^bb0(%width: index):
      %adds = arith.cmpi ult, %tx, %width : index
      scf.if %adds {
        %other = arith.addi %tx, %width : index
        %p = memref.load %s[%tx] : memref<256xf32, #gpu.address_space<workgroup>>
        %q = memref.load %s[%other] : memref<256xf32, #gpu.address_space<workgroup>>
        %r = arith.addf %p, %q : f32
        memref.store %r, %s[%tx] : memref<256xf32, #gpu.address_space<workgroup>>
      }
      gpu.barrier
      %next = arith.divui %width, %c2 : index
      scf.yield %next : index
    }
    %first = arith.cmpi eq, %tx, %c0 : index
    scf.if %first {
      %sum = memref.load %s[%c0] : memref<256xf32, #gpu.address_space<workgroup>>
      memref.store %sum, %sums[%bx] : memref<?xf32>
    }
    gpu.terminator
  }
  return
}
