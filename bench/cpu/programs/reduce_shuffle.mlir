// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One sum for each block of 256 values: shuffles inside subgroups of 32, then
// one of the first subgroup over the sums of all. Values beyond the end are 0.

func.func @reduce_shuffle(%x: memref<?xf32>, %sums: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %c256 = arith.constant 256 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %blocks = arith.ceildivui %n, %c256 : index
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %blocks, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c256, %nty = %c1, %ntz = %c1)
             workgroup(%s : memref<8xf32, #gpu.address_space<workgroup>>) {
    %zero = arith.constant 0.0 : f32
    %w = arith.constant 32 : i32
    %d16 = arith.constant 16 : i32
    %d8 = arith.constant 8 : i32
    %d4 = arith.constant 4 : i32
    %d2 = arith.constant 2 : i32
    %d1 = arith.constant 1 : i32
    %base = arith.muli %bx, %c256 : index
    %i = arith.addi %base, %tx : index
    %inside = arith.cmpi ult, %i, %n : index
    %v0 = scf.if %inside -> (f32) {
      %loaded = memref.load %x[%i] : memref<?xf32>
      scf.yield %loaded : f32
    } else {
      scf.yield %zero : f32
    }
    %s0, %p0 = gpu.shuffle xor %v0, %d16, %w : f32
    %v1 = arith.addf %v0, %s0 : f32
    %s1, %p1 = gpu.shuffle xor %v1, %d8, %w : f32
    %v2 = arith.addf %v1, %s1 : f32
    %s2, %p2 = gpu.shuffle xor %v2, %d4, %w : f32
    %v3 = arith.addf %v2, %s2 : f32
    %s3, %p3 = gpu.shuffle xor %v3, %d2, %w : f32
    %v4 = arith.addf %v3, %s3 : f32
    %s4, %p4 = gpu.shuffle xor %v4, %d1, %w : f32
    %v5 = arith.addf %v4, %s4 : f32
    %lane = arith.remui %tx, %c32 : index
    %subgroup = arith.divui %tx, %c32 : index
    %first = arith.cmpi eq, %lane, %c0 : index
    scf.if %first {
      memref.store %v5, %s[%subgroup] : memref<8xf32, #gpu.address_space<workgroup>>
    }
    gpu.barrier
    %has = arith.cmpi ult, %tx, %c8 : index
    %w0 = scf.if %has -> (f32) {
      %one = memref.load %s[%tx] : memref<8xf32, #gpu.address_space<workgroup>>
      scf.yield %one : f32
    } else {
      scf.yield %zero : f32
    }
    %t0, %q0 = gpu.shuffle xor %w0, %d4, %w : f32
    %w1 = arith.addf %w0, %t0 : f32
    %t1, %q1 = gpu.shuffle xor %w1, %d2, %w : f32
    %w2 = arith.addf %w1, %t1 : f32
    %t2, %q2 = gpu.shuffle xor %w2, %d1, %w : f32
    %w3 = arith.addf %w2, %t2 : f32
    %writes = arith.cmpi eq, %tx, %c0 : index
    scf.if %writes {
      memref.store %w3, %sums[%bx] : memref<?xf32>
    }
    gpu.terminator
  }
  return
}
