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
// VECTOR: error: argument 0 of @vector(vector<4xf32>) is not a number, or a ranked memref or tensor of numbers

// Complex numbers, and vectors as elements, which are dimensions of the input.
// RUN: %{run} -e complex --input='4xcomplex<f32>=1+2j,-1e-2-3j,2.5,-4j' --input=1e1-1j --output=- --output= --output=- | FileCheck %s --check-prefix=COMPLEX
// COMPLEX: arg[0]: 4xcomplex<f32>=1+2j -0.01-3j 2.5+0j 0-4j
// COMPLEX-NEXT: result[0]: complex<f64>=10-1j
// RUN: not %{run} -e complex --input='4xcomplex<f32>=1+2' --input=1 2>&1 | FileCheck %s --check-prefix=NOCOMPLEX
// NOCOMPLEX: error: --input 0 of 2: '1+2' is not a number
// RUN: not %{run} -e complex --input='4xf32=1' --input=1 2>&1 | FileCheck %s --check-prefix=REAL
// REAL: error: --input 0 of 2: '4xf32=1' has elements of type f32, but the argument is a memref<?xcomplex<f32>>
// RUN: %{run} -e vectors --input='2x4xf32=[1 2 3 4][5 6 7 8]' --output=- --output=- | FileCheck %s --check-prefix=VECTORS
// VECTORS: arg[0]: 2x4xf32=[1 2 3 4][5 6 7 8]
// VECTORS-NEXT: result[0]: 2x4xf32=[1 2 3 4][5 6 7 8]
// RUN: not %{run} -e vectors --input=2x2xf32 2>&1 | FileCheck %s --check-prefix=VECTORSIZE
// VECTORSIZE: error: --input 0 of 1: '2x2xf32' has the shape 2x2xf32, but the argument is a memref<?xvector<4xf32>>
// RUN: not %{run} -e gaps --input=2x3xf32 2>&1 | FileCheck %s --check-prefix=GAPS
// GAPS: error: argument 0 of @gaps(memref<?xvector<3xf32>>) has vectors with gaps between them in memory

// The numbers of random: are the same everywhere (docs/reference/gpu-runner.md).
// RUN: %{run} -e floats --input=random:1:5 --output=- | FileCheck %s --check-prefix=RANDOM
// RANDOM: arg[0]: 5xf32=0.13312304 0.49156344 0.9420054 -0.11128163 -0.1114707
// RUN: %{run} -e scalars --input=random:1 --input=random:1 --input=random:2 --input=random:3 --input=random:1 --input=random:1 --input=random:1 --input=random:1 | FileCheck %s --check-prefix=RANDOMS
// RANDOMS: result[0]: i1=1
// RANDOMS-NEXT: result[1]: i32=-111
// RANDOMS-NEXT: result[2]: i64=-105
// RANDOMS-NEXT: result[3]: i64=29
// RANDOMS-NEXT: result[4]: f16=0.132812
// RANDOMS-NEXT: result[5]: bf16=0.132812
// RANDOMS-NEXT: result[6]: f32=0.13312304
// RANDOMS-NEXT: result[7]: f64=0.13312304019927979
// RUN: %{run} -e complex --input=random:1:1 --input=random:1 --output=- | FileCheck %s --check-prefix=RANDOMPAIR
// RANDOMPAIR: arg[0]: 1xcomplex<f32>=0.13312304+0.49156344j
// RUN: not %{run} -e matrix --input=random:1 2>&1 | FileCheck %s --check-prefix=NOSIZES
// NOSIZES: error: --input 0 of 1: 'random:1' has no sizes, but the argument is a memref<?x?xf32>; write for example random:1:4x4
// RUN: not %{run} -e matrix --input=random:1:4x 2>&1 | FileCheck %s --check-prefix=BADSIZES
// RUN: not %{run} -e matrix --input=random:1:4x-1 2>&1 | FileCheck %s --check-prefix=BADSIZES
// BADSIZES: error: --input 0 of 1: 'random:1:4x{{.*}}' has sizes that are none; write for example random:7:4x8
// RUN: not %{run} -e floats --input=random:x 2>&1 | FileCheck %s --check-prefix=NOSEED
// NOSEED: error: --input 0 of 1: 'random:x' has no seed
// RUN: not %{run} -e floats --input=random:1:4x4 2>&1 | FileCheck %s --check-prefix=RANDOMRANK
// RANDOMRANK: error: --input 0 of 1: 'random:1:4x4' has the shape 4x4xf32, but the argument is a memref<?xf32>
// RUN: not %{run} -e floats --input=random:1:4611686018427387904 2>&1 | FileCheck %s --check-prefix=RANDOMHUGE
// RANDOMHUGE: error: --input 0 of 1: 'random:1:4611686018427387904' does not fit in memory

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
func.func @complex(%x: memref<?xcomplex<f32>>, %y: complex<f64>) -> complex<f64> {
  return %y : complex<f64>
}
func.func @vectors(%x: memref<?xvector<4xf32>>) -> memref<?xvector<4xf32>> {
  return %x : memref<?xvector<4xf32>>
}
func.func @gaps(%x: memref<?xvector<3xf32>>) {
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
