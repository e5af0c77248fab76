// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --expect compares by norms, and has an exit code of its own.
// DEFINE: %{run} = gpu-runner --device=cpu %s
// DEFINE: %{code} = %python %S/Inputs/exit_code.py

// RUN: %{code} 0 %{run} --input=2x2xf32=3,0,0,4 --expect=2x2xf64=3,0,0,4 | FileCheck %s --check-prefix=EQUAL
// EQUAL: result[0]: error 0{{$}}
// RUN: %{code} 2 %{run} --input=2x2xf32=3,0,0,4 --expect=2x2xf64=3,0,0.5,4 --tolerance=0.01 2>&1 | FileCheck %s --check-prefix=FAR
// FAR: result[0]: error 0.0995
// FAR: gpu-runner: error: not as --expect says, with --tolerance=0.01:
// FAR-NEXT: result[0]: error 0.0995, the worst element [1][0] is 0, expected 0.5; 1 of 4 differs
// RUN: %{code} 0 %{run} --input=2x2xf32=3,0,0,4 --expect=2x2xf64=3,0,0.5,4 --tolerance=0.1 | FileCheck %s --check-prefix=NEAR
// NEAR: result[0]: error 0.0995

// Large and small numbers have squares that no f64 holds.
// RUN: %{code} 0 %{run} -e doubles --input=2xf64=3e300,4.1e300 --expect=2xf64=3e300,4e300 --tolerance=0.021 | FileCheck %s --check-prefix=SCALE
// RUN: %{code} 0 %{run} -e doubles --input=2xf64=3e-300,4.1e-300 --expect=2xf64=3e-300,4e-300 --tolerance=0.021 | FileCheck %s --check-prefix=SCALE
// SCALE: result[0]: error 0.02{{$}}

// NaN is NaN and infinite is infinite; else nothing excuses them.
// RUN: %{code} 0 %{run} -e doubles --input=3xf64=nan,inf,-inf --expect=3xf64=-nan,inf,-inf | FileCheck %s --check-prefix=EQUAL
// RUN: %{code} 2 %{run} -e doubles --input=3xf64=1,nan,inf --expect=3xf64=1,2,inf --tolerance=1e9 2>&1 | FileCheck %s --check-prefix=NAN
// NAN: result[0]: error inf, the worst element [1] is nan, expected 2; 1 of 3 differs
// RUN: %{code} 2 %{run} -e doubles --input=3xf64=1,2,inf --expect=3xf64=1,2,-inf --tolerance=1e9 2>&1 | FileCheck %s --check-prefix=INFINITE
// INFINITE: the worst element [2] is inf, expected -inf
// RUN: %{code} 2 %{run} -e doubles --input=2xf64=0,1e-30 --expect=2xf64=0 --tolerance=1 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO: result[0]: error inf, the worst element [1] is 1e-30, expected 0; 1 of 2 differs

// Of all kinds, and arguments by name.
// RUN: %{code} 0 %{run} -e whole --input=9223372036854775807 --input='2xcomplex<f32>=1+2j' --expect=9223372036854775807 --expect='arg1=2xcomplex<f64>=1+2j'
// RUN: %{code} 2 %{run} -e whole --input=9223372036854775807 --input='2xcomplex<f32>=1+2j' --expect=9223372036854775806 2>&1 | FileCheck %s --check-prefix=WHOLE
// WHOLE: the worst element is 9223372036854775807, expected 9223372036854775806; 1 of 1 differs
// RUN: %{code} 2 %{run} -e whole --input=1 --input='2xcomplex<f32>=3,3+4j' --expect=arg1='2xcomplex<f32>=3,3-4j' 2>&1 | FileCheck %s --check-prefix=COMPLEX
// COMPLEX: arg[1]: error 1.37, the worst element [1] is 3+4j, expected 3-4j; 1 of 2 differs

// Integers without a sign have the reference's, whatever its width.
// RUN: %{code} 0 %{run} -e bytes --input=3xi8=-56,100,2 --expect=3xui8=200,100,2 | FileCheck %s --check-prefix=EQUAL
// RUN: %{code} 0 %{run} -e bytes --input=3xi8=-56,100,2 --expect=3xui16=200,100,2 | FileCheck %s --check-prefix=EQUAL
// RUN: %{code} 0 %{run} -e bytes --input=3xi8=-56,100,2 --expect=3xi8=200,100,2 | FileCheck %s --check-prefix=EQUAL
// RUN: %{code} 0 %{run} -e bytes --input=3xi8=-56,100,2 --expect=3xi16=-56,100,2 | FileCheck %s --check-prefix=EQUAL
// RUN: %{code} 2 %{run} -e bytes --input=3xi8=-56,100,2 --expect=3xui8=201,100,2 2>&1 | FileCheck %s --check-prefix=BYTES
// BYTES: the worst element [0] is 200, expected 201; 1 of 3 differs
// RUN: %{code} 0 %{run} -e unsigned --input=2xui8=200,2 --expect=2xi16=200,2 | FileCheck %s --check-prefix=EQUAL
// RUN: %{code} 0 %{run} -e unsigned --input=2xui8=200,2 --expect=2xi8=-56,2 | FileCheck %s --check-prefix=EQUAL
// RUN: %{code} 0 %{run} -e whole --input=-1 --input='2xcomplex<f32>=1+2j' --expect=ui64=18446744073709551615

// RUN: %{code} 2 %{run} -e doubles --input=2xf64=1 --expect=3xf64=1 2>&1 | FileCheck %s --check-prefix=SHAPE
// SHAPE: result[0] is 2xf64, expected 3xf64
// RUN: %{code} 1 %{run} --input=2x2xf32 --expect=2x3xf32 2>&1 | FileCheck %s --check-prefix=STATIC
// STATIC: error: --expect of result[0]: '2x3xf32' has the shape 2x3xf32, but the result is a memref<2x2xf32>
// RUN: %{code} 1 %{run} --input=2x2xf32 --expect=2x2xi32 2>&1 | FileCheck %s --check-prefix=KIND
// KIND: error: --expect of result[0]: '2x2xi32' has elements of type i32, but the result is a memref<2x2xf32>
// RUN: %{code} 1 %{run} --input=2x2xf32 --expect=2x2xf32 --expect=1 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not gpu-runner --device=cpu %s -e two --input=2xf32=1,2 --expect=2xf32=1,2 2>&1 | FileCheck %s --check-prefix=FEW
// FEW: error: --expect: there is none for result1: give one for each result, or name those to compare (--expect=result0=...)
// RUN: gpu-runner --device=cpu %s -e two --input=2xf32=1,2 --expect=result0=2xf32=1,2
// MANY: error: --expect=1: the function has 1 argument (arg0) and 1 result (result0)
// RUN: %{code} 1 %{run} --input=2x2xf32 --expect=2x2xf32 --tolerance=-1 2>&1 | FileCheck %s --check-prefix=TOLERANCE
// RUN: %{code} 1 %{run} --input=2x2xf32 --expect=2x2xf32 --tolerance=nan 2>&1 | FileCheck %s --check-prefix=TOLERANCE
// TOLERANCE: error: --tolerance={{.*}}: expected a number, 0 or more
// RUN: %{code} 1 %{run} --input=2x2xf32 --tolerance=1 2>&1 | FileCheck %s --check-prefix=ALONE
// ALONE: error: --tolerance: only with --expect

func.func @main(%x: memref<2x2xf32>) -> memref<2x2xf32> {
  return %x : memref<2x2xf32>
}
func.func @doubles(%x: memref<?xf64>) -> memref<?xf64> {
  return %x : memref<?xf64>
}
func.func @whole(%n: i64, %x: memref<2xcomplex<f32>>) -> i64 {
  return %n : i64
}
func.func @bytes(%x: memref<3xi8>) -> memref<3xi8> { return %x : memref<3xi8> }
func.func @unsigned(%x: memref<2xui8>) -> memref<2xui8> { return %x : memref<2xui8> }
func.func @two(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %y = arith.negf %x : tensor<2xf32>
  return %x, %y : tensor<2xf32>, tensor<2xf32>
}
