// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Softmax of each row: a block of 256 threads a row, its largest element and the
// sum of the exponentials by trees in workgroup memory.

func.func @softmax(%in: memref<?x?xf32>, %out: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c256 = arith.constant 256 : index
  %rows = memref.dim %in, %c0 : memref<?x?xf32>
  %columns = memref.dim %in, %c1 : memref<?x?xf32>
  gpu.launch blocks(%row, %by, %bz) in (%nbx = %rows, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c256, %nty = %c1, %ntz = %c1)
             workgroup(%s : memref<256xf32, #gpu.address_space<workgroup>>) {
    %half = arith.constant 128 : index
    %zero = arith.constant 0.0 : f32
    %least = arith.constant 0xFF800000 : f32
    %largest = scf.for %i = %tx to %columns step %c256 iter_args(%so = %least) -> (f32) {
      %v = memref.load %in[%row, %i] : memref<?x?xf32>
      %m = arith.maxnumf %so, %v : f32
      scf.yield %m : f32
    }
    memref.store %largest, %s[%tx] : memref<256xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %w0 = scf.while (%width = %half) : (index) -> index {
      %more = arith.cmpi ne, %width, %c0 : index
      scf.condition(%more) %width : index
    } do {
    ^bb0(%width: index):
      %adds = arith.cmpi ult, %tx, %width : index
      scf.if %adds {
        %other = arith.addi %tx, %width : index
        %p = memref.load %s[%tx] : memref<256xf32, #gpu.address_space<workgroup>>
        %q = memref.load %s[%other] : memref<256xf32, #gpu.address_space<workgroup>>
        %r = arith.maxnumf %p, %q : f32
        memref.store %r, %s[%tx] : memref<256xf32, #gpu.address_space<workgroup>>
      }
      gpu.barrier
      %next = arith.divui %width, %c2 : index
      scf.yield %next : index
    }
    %max = memref.load %s[%c0] : memref<256xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %part = scf.for %i = %tx to %columns step %c256 iter_args(%so = %zero) -> (f32) {
      %v = memref.load %in[%row, %i] : memref<?x?xf32>
      %d = arith.subf %v, %max : f32
      %e = math.exp %d : f32
      memref.store %e, %out[%row, %i] : memref<?x?xf32>
      %a = arith.addf %so, %e : f32
      scf.yield %a : f32
    }
    memref.store %part, %s[%tx] : memref<256xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %w1 = scf.while (%width = %half) : (index) -> index {
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
    %one = arith.constant 1.0 : f32
    %sum = memref.load %s[%c0] : memref<256xf32, #gpu.address_space<workgroup>>
    %scale = arith.divf %one, %sum : f32
    scf.for %i = %tx to %columns step %c256 {
      %e = memref.load %out[%row, %i] : memref<?x?xf32>
      %r = arith.mulf %e, %scale : f32
      memref.store %r, %out[%row, %i] : memref<?x?xf32>
    }
    gpu.terminator
  }
  return
}
