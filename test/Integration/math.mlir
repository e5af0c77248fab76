// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Math functions in kernels, in single and double precision. Results are rounded
// to thousandths, so that devices with libraries of their own agree.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

// exp, log, sin, cos, sqrt, tanh, exp2, powf of 0.6, times 1000:
// CHECK: [1822, -511, 565, 825, 775, 537, 1516, 465]
// and floor, ceil, fma, abs, rsqrt, atan2, erf, and exp in double precision:
// CHECK: [0, 1000, 960, 600, 1291, 291, 604, 1822]
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %value = arith.constant 0.6 : f32
  %h = memref.alloc() : memref<16xf32>
  %out = memref.alloc() : memref<8xi32>
  %x = gpu.alloc () : memref<16xf32>
  gpu.memset %x, %value : memref<16xf32>, f32
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    %two = arith.constant 2.0 : f32
    %power = arith.constant 1.5 : f32
    %a = memref.load %x[%tx] : memref<16xf32>
    %e0 = math.exp %a : f32
    %e1 = math.log %a : f32
    %e2 = math.sin %a : f32
    %e3 = math.cos %a : f32
    %e4 = math.sqrt %a : f32
    %e5 = math.tanh %a : f32
    %e6 = math.exp2 %a : f32
    %e7 = math.powf %a, %power : f32
    memref.store %e0, %x[%c0] : memref<16xf32>
    memref.store %e1, %x[%c1] : memref<16xf32>
    memref.store %e2, %x[%c2] : memref<16xf32>
    memref.store %e3, %x[%c3] : memref<16xf32>
    memref.store %e4, %x[%c4] : memref<16xf32>
    memref.store %e5, %x[%c5] : memref<16xf32>
    memref.store %e6, %x[%c6] : memref<16xf32>
    memref.store %e7, %x[%c7] : memref<16xf32>
    %d0 = math.floor %a : f32
    %d1 = math.ceil %a : f32
    %d2 = math.fma %a, %a, %a : f32
    %negative = arith.negf %a : f32
    %d3 = math.absf %negative : f32
    %d4 = math.rsqrt %a : f32
    %d5 = math.atan2 %a, %two : f32
    %d6 = math.erf %a : f32
    %wide = arith.extf %a : f32 to f64
    %wide_exp = math.exp %wide : f64
    %d7 = arith.truncf %wide_exp : f64 to f32
    %i0 = arith.addi %c0, %c8 : index
    %i1 = arith.addi %c1, %c8 : index
    %i2 = arith.addi %c2, %c8 : index
    %i3 = arith.addi %c3, %c8 : index
    %i4 = arith.addi %c4, %c8 : index
    %i5 = arith.addi %c5, %c8 : index
    %i6 = arith.addi %c6, %c8 : index
    %i7 = arith.addi %c7, %c8 : index
    memref.store %d0, %x[%i0] : memref<16xf32>
    memref.store %d1, %x[%i1] : memref<16xf32>
    memref.store %d2, %x[%i2] : memref<16xf32>
    memref.store %d3, %x[%i3] : memref<16xf32>
    memref.store %d4, %x[%i4] : memref<16xf32>
    memref.store %d5, %x[%i5] : memref<16xf32>
    memref.store %d6, %x[%i6] : memref<16xf32>
    memref.store %d7, %x[%i7] : memref<16xf32>
    gpu.terminator
  }
  gpu.memcpy %h, %x : memref<16xf32>, memref<16xf32>
  gpu.dealloc %x : memref<16xf32>
  %u = memref.cast %out : memref<8xi32> to memref<*xi32>
  %thousand = arith.constant 1000.0 : f32
  %half = arith.constant 0.5 : f32
  scf.for %part = %c0 to %c2 step %c1 {
    %offset = arith.muli %part, %c8 : index
    scf.for %i = %c0 to %c8 step %c1 {
      %at = arith.addi %offset, %i : index
      %v = memref.load %h[%at] : memref<16xf32>
      %scaled = arith.mulf %v, %thousand : f32
      %below = arith.addf %scaled, %half : f32
      %rounded = math.floor %below : f32
      %whole = arith.fptosi %rounded : f32 to i32
      memref.store %whole, %out[%i] : memref<8xi32>
    }
    func.call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  }
  memref.dealloc %out : memref<8xi32>
  memref.dealloc %h : memref<16xf32>
  return
}

func.func private @printMemrefI32(memref<*xi32>)
