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
// RUN: %{run} -e complex --input=@%t/complex.npy --output=@%t/out.npy
// RUN: cmp %t/complex.npy %t/out.npy
// RUN: not %{run} -e floats --input=@%t/complex.npy 2>&1 | FileCheck %s --check-prefix=COMPLEX
// COMPLEX: error: {{.*}}complex.npy' has elements of type complex<f32>, but the argument is a memref<?xf32>
// RUN: not %{run} -e floats --input=@%t/long_double.npy 2>&1 | FileCheck %s --check-prefix=DOUBLE
// DOUBLE: error: {{.*}}long_double.npy' has elements of type '<f16'; bool, integers, f16, bf16, f32, f64 and complex of these two are read
// RUN: not %{run} -e truth --input=@%t/bools.npy 2>&1 | FileCheck %s --check-prefix=BOOLS
// BOOLS: error: {{.*}}bools.npy' has a bool that is neither 0 nor 1: element 2 is 2; save a.view('u1') != 0
// A file that is mapped is looked through as well.
// RUN: not %{run} -e truth --input=@%t/large_bools.npy 2>&1 | FileCheck %s --check-prefix=MAPPED
// MAPPED: error: {{.*}}large_bools.npy' has a bool that is neither 0 nor 1: element 2097149 is 255
// RUN: %{run} -e truth --input=@%t/large_good_bools.npy --output=
// RUN: not %{run} -e truth --input=2xi1 --expect=arg0=@%t/bools.npy 2>&1 | FileCheck %s --check-prefix=BOOLS
// RUN: not %{run} -e floats --input=@%t/negative.npy 2>&1 | FileCheck %s --check-prefix=SIZES
// RUN: not %{run} -e floats --input=@%t/sizes.npy 2>&1 | FileCheck %s --check-prefix=SIZES
// SIZES: error: {{.*}}.npy' has a malformed shape
// RUN: not %{run} -e floats --input=@%t/records.npy 2>&1 | FileCheck %s --check-prefix=RECORDS
// RECORDS: error: {{.*}}records.npy' holds records
// RUN: not %{run} -e floats --input=@%t/no_header.npy 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not %{run} -e floats --input=@%t/other.npy 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: error: {{.*}}.npy' is not a .npy file

// Archives: stored and deflated, with sizes of 32 and of 64 bits.
// RUN: %{run} -e floats --input=@%t/stored.npz:b --output=- | FileCheck %s
// RUN: %{run} -e floats --input=@%t/deflated.npz:b.npy --output=- | FileCheck %s
// RUN: %{run} -e floats --input=@%t/wide.npz:b --output=- | FileCheck %s
// RUN: %{run} -e floats --input=@%t/wide_deflated.npz:b --output=- | FileCheck %s
// RUN: %{run} -e floats --input=@%t/comment.npz:b --output=- | FileCheck %s
// RUN: not %{run} -e floats --input=@%t/stored.npz 2>&1 | FileCheck %s --check-prefix=NAMES
// NAMES: error: --input 0 of 1: '{{.*}}stored.npz' is an archive; name one of its arrays as {{.*}}stored.npz:NAME: a, b{{$}}
// RUN: not %{run} -e floats --input=@%t/stored.npz:c 2>&1 | FileCheck %s --check-prefix=NONAME
// NONAME: error: --input 0 of 1: '{{.*}}stored.npz' has no array 'c'; name one of its arrays as {{.*}}stored.npz:NAME: a, b{{$}}
// RUN: not %{run} -e floats --input=@%t/stored.npz:a 2>&1 | FileCheck %s --check-prefix=MEMBER
// MEMBER: error: --input 0 of 1: '@{{.*}}stored.npz:a' has the shape 2x2xf32, but the argument is a memref<?xf32>
// RUN: not %{run} -e floats --input=@%t/empty.npz:b 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: '{{.*}}empty.npz' has no array 'b'; it is empty
// RUN: not %{run} -e floats --input=@%t/checksum.npz:b 2>&1 | FileCheck %s --check-prefix=CHECKSUM
// CHECKSUM: '{{.*}}checksum.npz:b' is damaged: its checksum is wrong
// RUN: not %{run} -e floats --input=@%t/method.npz:b 2>&1 | FileCheck %s --check-prefix=METHOD
// METHOD: '{{.*}}method.npz:b' is compressed by method 12; what numpy.savez and savez_compressed write is read
// RUN: not %{run} -e floats --input=@%t/encrypted.npz:b 2>&1 | FileCheck %s --check-prefix=ENCRYPTED
// ENCRYPTED: '{{.*}}encrypted.npz:b' is encrypted
// RUN: not %{run} -e floats --input=@%t/longer.npz:b 2>&1 | FileCheck %s --check-prefix=LONGER
// LONGER: '{{.*}}longer.npz:b' is damaged: it cannot be inflated
// RUN: not %{run} -e floats --input=@%t/bomb.npz:b 2>&1 | FileCheck %s --check-prefix=BOMB
// BOMB: '{{.*}}bomb.npz:b' is damaged: {{[0-9]+}} bytes cannot be 1073741968
// RUN: not %{run} -e floats --input=@%t/outside.npz:b 2>&1 | FileCheck %s --check-prefix=OUTSIDE
// RUN: not %{run} -e floats --input=@%t/elsewhere.npz:b 2>&1 | FileCheck %s --check-prefix=OUTSIDE
// OUTSIDE: '{{.*}}.npz' is a damaged archive: 'b.npy' is not where the directory says
// RUN: not %{run} -e floats --input=@%t/count.npz:b 2>&1 | FileCheck %s --check-prefix=ENTRY
// ENTRY: '{{.*}}count.npz' is a damaged archive: entry 2 of its directory is cut off
// RUN: not %{run} -e floats --input=@%t/wide_cut.npz:b 2>&1 | FileCheck %s --check-prefix=WIDECUT
// WIDECUT: '{{.*}}wide_cut.npz' is a damaged archive: its directory is not where it says
// RUN: not %{run} -e floats --input=@%t/cut.npz:b 2>&1 | FileCheck %s --check-prefix=NOARCHIVE
// RUN: cp %t/v1.npy %t/other.npz
// RUN: not %{run} -e floats --input=@%t/other.npz:b 2>&1 | FileCheck %s --check-prefix=NOARCHIVE
// NOARCHIVE: '{{.*}}.npz' is not a .npz archive
// RUN: rm -rf %t/folder.npz && mkdir %t/folder.npz
// RUN: not %{run} -e floats --input=@%t/folder.npz:b 2>&1 | FileCheck %s --check-prefix=NPZFOLDER
// NPZFOLDER: '{{.*}}folder.npz' cannot be read: {{[Ii]}}s a directory

// A large file is mapped; each call begins with what it holds, and it keeps that.
// RUN: cp %t/large.npy %t/copy.npy
// RUN: %{run} -e add --input=@%t/copy.npy --repeat=3 --output=@%t/out.npy --expect=arg0=524288xf32=2
// RUN: not cmp %t/large.npy %t/out.npy
// RUN: cmp %t/large.npy %t/copy.npy
// RUN: not %{run} -e add --input=@%t/large_cut.npy 2>&1 | FileCheck %s --check-prefix=LARGECUT
// LARGECUT: error: --input 0 of 1: '{{.*}}large_cut.npy' is cut off: 2097152 bytes of elements expected, 2097148 found

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
func.func @complex(%x: memref<?xcomplex<f32>>) {
  return
}
func.func @truth(%x: memref<?xi1>) {
  return
}
func.func @add(%x: memref<524288xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %size = arith.constant 524288 : index
  %one = arith.constant 1.0 : f32
  scf.for %i = %c0 to %size step %c1 {
    %v = memref.load %x[%i] : memref<524288xf32>
    %w = arith.addf %v, %one : f32
    memref.store %w, %x[%i] : memref<524288xf32>
  }
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
