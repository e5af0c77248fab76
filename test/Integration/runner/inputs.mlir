// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// All ways to write an --input, and what is printed of it.
// DEFINE: %{run} = gpu-runner --device=cpu %s

// RUN: %{run} -e floats --input=4xf32=1,2.5,-3e2,inf --output=- | FileCheck %s --check-prefix=LIST
// LIST: arg[0]: 4xf32=1 2.5 -300 inf
// RUN: not %{run} -e floats --input='2x2xf32=[1 2][3 4]' --output=- 2>&1 | FileCheck %s --check-prefix=RANK
// RANK: error: --input 0 of 1: '2x2xf32=[1 2][3 4]' has the shape 2x2xf32, but the argument is a memref<?xf32>
// RUN: %{run} -e matrix --input='2x2xf32=[1 2][3 4]' --output=- | FileCheck %s --check-prefix=MATRIX
// MATRIX: arg[0]: 2x2xf32=[1 2][3 4]
// RUN: %{run} -e floats --input=3xf32=0.1 --output=- | FileCheck %s --check-prefix=SPLAT
// SPLAT: arg[0]: 3xf32=0.1 0.1 0.1
// RUN: %{run} -e floats --input=3xf32 --output=- | FileCheck %s --check-prefix=ZERO
// ZERO: arg[0]: 3xf32=0 0 0
// RUN: %{run} -e floats --input=0xf32 --output=- | FileCheck %s --check-prefix=EMPTY
// EMPTY: arg[0]: 0xf32={{$}}
// RUN: %{run} -e point --input=f32=2.5 --output=- | FileCheck %s --check-prefix=POINT
// POINT: arg[0]: f32=2.5

// Integers take the bits of either sign.
// RUN: %{run} -e bytes --input=4xi8=-128,127,255,0x10 --output=- | FileCheck %s --check-prefix=SIGNED
// SIGNED: arg[0]: 4xi8=-128 127 -1 16
// RUN: %{run} -e bytes --input=3xu8=-128,127,255 --output=- | FileCheck %s --check-prefix=UNSIGNED
// UNSIGNED: arg[0]: 3xui8=128 127 255
// RUN: not %{run} -e bytes --input=4xi8=256 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: error: --input 0 of 1: '256' does not fit in i8
// RUN: not %{run} -e bytes --input=4xi8=1.5 2>&1 | FileCheck %s --check-prefix=FRACTION
// FRACTION: error: --input 0 of 1: '1.5' is not a whole number

// RUN: %{run} -e scalars --input=1 --input=-2 --input=i64=3 --input=index=4 --input=f16=0.5 --input=bf16=1.5 --input=2.5 --input=f64=0.1 | FileCheck %s --check-prefix=SCALARS
// SCALARS: result[0]: i1=1
// SCALARS-NEXT: result[1]: i32=-2
// SCALARS-NEXT: result[2]: i64=3
// SCALARS-NEXT: result[3]: i64=4
// SCALARS-NEXT: result[4]: f16=0.5
// SCALARS-NEXT: result[5]: bf16=1.5
// SCALARS-NEXT: result[6]: f32=2.5
// SCALARS-NEXT: result[7]: f64=0.1

// RUN: not %{run} -e floats --input=3 2>&1 | FileCheck %s --check-prefix=NOSHAPE
// NOSHAPE: error: --input 0 of 1: '3' has no shape, but the argument is a memref<?xf32>; write for example 4xf32 (zeros) or @file.npy
// RUN: not %{run} -e floats --input=4xq32=3 2>&1 | FileCheck %s --check-prefix=NOTYPE
// RUN: not %{run} -e floats --input= 2>&1 | FileCheck %s --check-prefix=NOVALUE
// NOTYPE: error: --input 0 of 1: '4xq32' is not a type
// NOVALUE: error: --input 0 of 1 is empty; expected something like 3
// RUN: not %{run} -e floats --input=4xf32=1,x,3,4 2>&1 | FileCheck %s --check-prefix=NONUMBER
// NONUMBER: error: --input 0 of 1: 'x' is not a number
// RUN: not %{run} -e floats --input=2xf32=1,1e39 2>&1 | FileCheck %s --check-prefix=LARGE
// LARGE: error: --input 0 of 1: '1e39' does not fit in f32
// RUN: not %{run} -e floats --input=4xf32=1,2 2>&1 | FileCheck %s --check-prefix=VALUES
// VALUES: error: --input 0 of 1: 2 values for 4xf32, which has 4
// RUN: not %{run} -e floats --input=9999999999x9999999999xf32 2>&1 | FileCheck %s --check-prefix=RANK2
// RANK2: error: --input 0 of 1: {{.*}} has the shape
// RUN: not %{run} -e matrix --input=9999999999x9999999999xf32 2>&1 | FileCheck %s --check-prefix=HUGE
// RUN: not %{run} -e matrix --input=0x4611686018427387904xf32 2>&1 | FileCheck %s --check-prefix=HUGE
// HUGE: error: --input 0 of 1: {{.*}} does not fit in memory
// RUN: not %{run} -e floats 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: error: @floats(memref<?xf32>) takes 1 argument, but 0 --input were given
// RUN: not %{run} -e columns --input=2x2xf32 2>&1 | FileCheck %s --check-prefix=LAYOUT
// LAYOUT: error: --input 0 of 1: memref<{{.*}}> has a layout with gaps
// RUN: not %{run} -e vector 2>&1 | FileCheck %s --check-prefix=VECTOR
// VECTOR: error: argument 0 of @vector(vector<4xf32>) is not a number or a ranked memref of numbers

func.func @floats(%x: memref<?xf32>) {
  return
}
func.func @matrix(%x: memref<?x?xf32>) {
  return
}
func.func @columns(%x: memref<2x2xf32, strided<[1, 2]>>) {
  return
}
func.func @vector(%x: vector<4xf32>) {
  return
}
func.func @point(%x: memref<f32>) {
  return
}
func.func @bytes(%x: memref<?xi8>) {
  return
}
func.func @scalars(%a: i1, %b: i32, %c: i64, %d: index, %e: f16, %f: bf16, %g: f32, %h: f64)
    -> (i1, i32, i64, index, f16, bf16, f32, f64) {
  return %a, %b, %c, %d, %e, %f, %g, %h : i1, i32, i64, index, f16, bf16, f32, f64
}
