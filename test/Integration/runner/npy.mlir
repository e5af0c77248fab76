// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NumPy files in and out, and those that are refused.
// RUN: %python %S/Inputs/make_npy.py %t
// DEFINE: %{run} = gpu-runner --device=cpu %s

// RUN: %{run} -e floats --input=@%t/v1.npy --output=- | FileCheck %s
// RUN: %{run} -e floats --input=@%t/v2.npy --output=- | FileCheck %s
// CHECK: arg[0]: 4xf32=1 2 3.5 -4
// RUN: %{run} -e bytes --input=@%t/bytes.npy --output=- | FileCheck %s --check-prefix=BYTES
// BYTES: arg[0]: 3xui8=1 128 255
// RUN: %{run} -e number --input=@%t/scalar.npy | FileCheck %s --check-prefix=NUMBER
// NUMBER: result[0]: i32=7

// What is written is read back, byte for byte.
// RUN: %{run} -e floats --input=@%t/v1.npy --output=@%t/out.npy
// RUN: cmp %t/v1.npy %t/out.npy
// RUN: %{run} -e matrix --input=@%t/matrix.npy --output=@%t/out.npy
// RUN: cmp %t/matrix.npy %t/out.npy
// RUN: %{run} -e bytes --input=@%t/bytes.npy --output=@%t/out.npy
// RUN: cmp %t/bytes.npy %t/out.npy
// RUN: %{run} -e number --input=@%t/scalar.npy --output=result0=@%t/out.npy
// RUN: cmp %t/scalar.npy %t/out.npy
// RUN: %{run} -e brain --input=3xbf16=1,2,3 --output=@%t/brain.npy
// RUN: %{run} -e brain --input=@%t/brain.npy --output=- | FileCheck %s --check-prefix=BRAIN
// BRAIN: arg[0]: 3xbf16=1 2 3

// RUN: not %{run} -e floats --input=@%t/matrix.npy 2>&1 | FileCheck %s --check-prefix=SHAPE
// SHAPE: error: --input 0 of 1: '@{{.*}}matrix.npy' has the shape 2x2xf32, but the argument is a memref<?xf32>
// RUN: not %{run} -e floats --input=@%t/bytes.npy 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: error: --input 0 of 1: '@{{.*}}bytes.npy' has elements of type ui8, but the argument is a memref<?xf32>
// RUN: not %{run} -e floats --input=@%t/nothere.npy 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: error: --input 0 of 1: '{{.*}}nothere.npy' cannot be read: No such file or directory
// RUN: not %{run} -e matrix --input=@%t/fortran.npy 2>&1 | FileCheck %s --check-prefix=FORTRAN
// FORTRAN: error: {{.*}}fortran.npy' is stored in Fortran order
// RUN: not %{run} -e floats --input=@%t/big_endian.npy 2>&1 | FileCheck %s --check-prefix=ENDIAN
// ENDIAN: error: {{.*}}big_endian.npy' is big endian
// RUN: not %{run} -e floats --input=@%t/cut_off.npy 2>&1 | FileCheck %s --check-prefix=CUT
// CUT: error: {{.*}}cut_off.npy' is cut off: 20 bytes of elements expected, 16 found
// RUN: not %{run} -e floats --input=@%t/complex.npy 2>&1 | FileCheck %s --check-prefix=COMPLEX
// COMPLEX: error: {{.*}}complex.npy' has elements of type '<c8'
// RUN: not %{run} -e floats --input=@%t/records.npy 2>&1 | FileCheck %s --check-prefix=RECORDS
// RECORDS: error: {{.*}}records.npy' holds records
// RUN: not %{run} -e floats --input=@%t/no_header.npy 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not %{run} -e floats --input=@%t/other.npy 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: error: {{.*}}.npy' is not a .npy file


// No more is read than there are elements, so a pipe will do, and what never
// ends.
// RUN: %python %S/Inputs/endless.py %t/v1.npy %{run} -e floats --input=@{} --output=- | FileCheck %s
// RUN: not %python %S/Inputs/endless.py %t/matrix.npy %{run} -e floats --input=@{} 2>&1 | FileCheck %s --check-prefix=PIPE
// PIPE: error: --input 0 of 1: '@/dev/fd/{{[0-9]+}}' has the shape 2x2xf32, but the argument is a memref<?xf32>
// RUN: not %{run} -e floats --input=@/dev/zero 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO: error: --input 0 of 1: '/dev/zero' is not a .npy file
// RUN: not %{run} -e floats --input=@/dev/null 2>&1 | FileCheck %s --check-prefix=NULL
// NULL: error: --input 0 of 1: '/dev/null' is not a .npy file
// RUN: not %{run} -e floats --input=@%t 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: error: --input 0 of 1: '{{.*}}' cannot be read: Is a directory
// RUN: not %{run} -e floats --input=@%t/long_header.npy 2>&1 | FileCheck %s --check-prefix=LONG
// LONG: error: {{.*}}long_header.npy' has a header of 4294967295 bytes, more than 1048576
// RUN: not %{run} -e matrix --input=@%t/huge.npy 2>&1 | FileCheck %s --check-prefix=HUGE
// HUGE: error: --input 0 of 1: '@{{.*}}huge.npy' does not fit in memory
// RUN: not gpu-runner --device=cpu /dev/zero 2>&1 | FileCheck %s --check-prefix=PROGRAM
// PROGRAM: error: '/dev/zero' is a device, not a program

func.func @floats(%x: memref<?xf32>) {
  return
}
func.func @matrix(%x: memref<2x?xf32>) {
  return
}
func.func @bytes(%x: memref<?xi8>) {
  return
}
func.func @brain(%x: memref<?xbf16>) {
  return
}
func.func @number(%x: i32) -> i32 {
  return %x : i32
}
