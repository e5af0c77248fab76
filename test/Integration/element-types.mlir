// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels on 8-, 16- and 64-bit whole numbers, on i1, on f64 and on index.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

// Stored by one kernel, loaded by the next: i8 wraps from 127 to -128; i16 from 32767 to -32768; the rest does not.
// CHECK: [-128, -32768, 9000000000, 1, 2, 1000000]
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %million = arith.constant 999999 : index
  %i8 = arith.constant 127 : i8
  %i16 = arith.constant 32767 : i16
  %i64 = arith.constant 8999999999 : i64
  %i1 = arith.constant true
  %f64 = arith.constant 1.0000000001 : f64
  %h = memref.alloc() : memref<6xi64>
  %x = gpu.alloc () : memref<6xi64>
  %b8 = gpu.alloc () : memref<3xi8>
  %b16 = gpu.alloc () : memref<3xi16>
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c3, %nty = %c1, %ntz = %c1) {
    memref.store %i8, %b8[%tx] : memref<3xi8>
    memref.store %i16, %b16[%tx] : memref<3xi16>
    gpu.terminator
  }
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    %one8 = arith.constant 1 : i8
    %one16 = arith.constant 1 : i16
    %one64 = arith.constant 1 : i64
    %one = arith.constant 1.0 : f64
    %scale = arith.constant 2.0e10 : f64
    %threads = arith.index_castui %ntx : index to i64
    %q8 = memref.load %b8[%c2] : memref<3xi8>
    %q16 = memref.load %b16[%c2] : memref<3xi16>
    %s8 = arith.addi %q8, %one8 : i8
    %s16 = arith.addi %q16, %one16 : i16
    %s64 = arith.addi %i64, %threads : i64
    %difference = arith.subf %f64, %one : f64
    %sf = arith.mulf %difference, %scale : f64
    %half = arith.constant 0.5 : f64
    %sr = arith.addf %sf, %half : f64
    %sx = arith.addi %million, %c1 : index
    %w0 = arith.extsi %s8 : i8 to i64
    %w1 = arith.extsi %s16 : i16 to i64
    %w3 = arith.extui %i1 : i1 to i64
    %w4 = arith.fptosi %sr : f64 to i64
    %w5 = arith.index_cast %sx : index to i64
    memref.store %w0, %x[%c0] : memref<6xi64>
    memref.store %w1, %x[%c1] : memref<6xi64>
    memref.store %s64, %x[%c2] : memref<6xi64>
    memref.store %w3, %x[%c3] : memref<6xi64>
    memref.store %w4, %x[%c4] : memref<6xi64>
    memref.store %w5, %x[%c5] : memref<6xi64>
    gpu.terminator
  }
  gpu.memcpy %h, %x : memref<6xi64>, memref<6xi64>
  gpu.dealloc %x : memref<6xi64>
  gpu.dealloc %b8 : memref<3xi8>
  gpu.dealloc %b16 : memref<3xi16>
  %u = memref.cast %h : memref<6xi64> to memref<*xi64>
  call @printMemrefI64(%u) : (memref<*xi64>) -> ()
  memref.dealloc %h : memref<6xi64>
  return
}

func.func private @printMemrefI64(memref<*xi64>)
