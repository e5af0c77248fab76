// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --output: arguments first, then results; by order or by name.
// DEFINE: %{run} = gpu-runner --device=cpu %s -e twice --input=3xi32=1,2,3 --input=i32=5

// RUN: %{run} | FileCheck %s --check-prefix=DEFAULT
// DEFAULT-NOT: arg
// DEFAULT: result[0]: i32=10
// DEFAULT-NEXT: result[1]: 3xi32=2 4 6
// RUN: %{run} --output=- | FileCheck %s --check-prefix=FIRST
// FIRST: arg[0]: 3xi32=2 4 6
// FIRST-NOT: result
// RUN: %{run} --output= --output= --output=- | FileCheck %s --check-prefix=THIRD
// THIRD-NOT: arg
// THIRD: result[0]: i32=10
// THIRD-NOT: result
// RUN: %{run} --output=result1=- --output=arg0=- | FileCheck %s --check-prefix=NAMED
// NAMED: result[1]: 3xi32=2 4 6
// NAMED-NEXT: arg[0]: 3xi32=2 4 6

// A call starts from the inputs as given, however often it is repeated.
// RUN: %{run} --output=- --repeat=3 | FileCheck %s --check-prefix=FIRST

// RUN: not %{run} --output= --output= --output= --output= --output=- 2>&1 | FileCheck %s --check-prefix=MANY
// MANY: error: --output=-: the function has 2 arguments (arg0 to arg1) and 2 results (result0 to result1)
// RUN: not %{run} --output=arg2=- 2>&1 | FileCheck %s --check-prefix=INDEX
// INDEX: error: --output=arg2=-: the function has 2 arguments
// RUN: not %{run} --output=file.npy 2>&1 | FileCheck %s --check-prefix=WHERE
// WHERE: error: --output=file.npy: expected -, @file.npy or nothing
// RUN: not %{run} --output=@%t.nofolder/file.npy 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: error: '{{.*}}nofolder/file.npy' cannot be written

// A standard output that takes nothing.
// RUN: not %{run} --output=- 2>&1 >/dev/full | FileCheck %s --check-prefix=FULL
// RUN: not %{run} --benchmark --output= 2>&1 >/dev/full | FileCheck %s --check-prefix=FULL
// RUN: not gpu-runner --device=cpu %s --emit=mlir 2>&1 >/dev/full | FileCheck %s --check-prefix=FULL
// RUN: not gpu-runner --help 2>&1 >/dev/full | FileCheck %s --check-prefix=FULL
// RUN: not gpu-runner --version 2>&1 >/dev/full | FileCheck %s --check-prefix=FULL
// RUN: not gpu-runner --list-devices 2>&1 >/dev/full | FileCheck %s --check-prefix=FULL
// RUN: not gpu-runner --device=cpu %s -e print 2>&1 >/dev/full | FileCheck %s --check-prefix=FULL
// FULL-NOT: LLVM
// FULL: gpu-runner: error: the standard output cannot be written: {{No space left on device|Input/output error}}
// FULL-NOT: error

// RUN: gpu-runner --device=cpu %s -e many | FileCheck %s --check-prefix=CUT
// CUT: result[0]: 2000xi8=0 0 {{[0 ]*}}...{{$}}

// A result that is not where memory is.
// RUN: not gpu-runner --device=cpu %s -e reshape --input=4xi32 --input=-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: error: result 0 is -1xi32, which does not fit in memory
// RUN: not gpu-runner --device=cpu %s -e reshape --input=4xi32 --input=4611686018427387904 2>&1 | FileCheck %s --check-prefix=NOMEMORY
// NOMEMORY: error: result 0 is 4611686018427387904xi32, which does not fit in memory
// RUN: not gpu-runner --device=cpu %s -e reshape --input=4xi32 --input=5 2>&1 | FileCheck %s --check-prefix=BEHIND
// BEHIND: error: result 0, 5xi32, is 20 bytes at byte 0 of the 16 bytes of --input 0 of 2 (4xi32)
// RUN: gpu-runner --device=cpu %s -e reshape --input=4xi32=7 --input=3 | FileCheck %s --check-prefix=WITHIN
// WITHIN: result[0]: 3xi32=7 7 7

func.func @reshape(%x: memref<?xi32>, %n: index) -> memref<?xi32> {
  %y = memref.reinterpret_cast %x to offset: [0], sizes: [%n], strides: [1] : memref<?xi32> to memref<?xi32>
  return %y : memref<?xi32>
}

func.func @twice(%x: memref<?xi32>, %n: i32) -> (i32, memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %size = memref.dim %x, %c0 : memref<?xi32>
  scf.for %i = %c0 to %size step %c1 {
    %v = memref.load %x[%i] : memref<?xi32>
    %w = arith.addi %v, %v : i32
    memref.store %w, %x[%i] : memref<?xi32>
  }
  %m = arith.addi %n, %n : i32
  return %m, %x : i32, memref<?xi32>
}

func.func @print() {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    gpu.printf "from the program\n"
    gpu.terminator
  }
  return
}

memref.global "private" @zeros : memref<2000xi8> = dense<0>
func.func @many() -> memref<2000xi8> {
  %x = memref.get_global @zeros : memref<2000xi8>
  return %x : memref<2000xi8>
}
