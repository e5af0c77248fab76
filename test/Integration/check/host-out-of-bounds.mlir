// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --check names what host code reads and writes beyond a memref, by its sizes and
// by the memory that it lies in, and does not do it: each of these went unsaid.
// DEFINE: %{run} = gpu-runner --device=cpu --offload=off --check %s
// RUN: not %{run} -e index --input=10xi32 --input=10 2>&1 | FileCheck %s --check-prefix=INDEX
// RUN: %{run} -e index --input=10xi32 --input=9 2>&1 | FileCheck %s --check-prefix=INSIDE
// RUN: not %{run} -e allocated 2>&1 | FileCheck %s --check-prefix=ALLOCATED
// RUN: not %{run} -e input --input=10xi32 2>&1 | FileCheck %s --check-prefix=INPUT
// RUN: not %{run} -e rows 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: not %{run} -e atomics 2>&1 | FileCheck %s --check-prefix=ATOMICS
// RUN: not %{run} -e vectors --input=8 2>&1 | FileCheck %s --check-prefix=VECTORS
// RUN: %{run} -e vectors --input=2 2>&1 | FileCheck %s --check-prefix=VECTORS-INSIDE
// RUN: not %{run} -e copies 2>&1 | FileCheck %s --check-prefix=COPIES
// RUN: not %{run} -e linalgs --input=10xi32 --input=11xi32 2>&1 | FileCheck %s --check-prefix=LINALG
// RUN: not %{run} -e pointers 2>&1 | FileCheck %s --check-prefix=POINTERS
// RUN: not %{run} -e globals 2>&1 | FileCheck %s --check-prefix=GLOBALS
// RUN: not %{run} -e shared 2>&1 | FileCheck %s --check-prefix=SHARED
// RUN: not %{run} -e printed 2>&1 | FileCheck %s --check-prefix=PRINTED
// RUN: not %{run} -e frees --input=10xi32 2>&1 | FileCheck %s --check-prefix=FREES
// RUN: not %{run} -e starts --input=10xi32 --input=20 --input=1 2>&1 | FileCheck %s --check-prefix=STARTS
// RUN: %{run} -e starts --input=10xi32 --input=20 --input=0 2>&1 | count 0
// RUN: not %{run} -e huge 2>&1 | FileCheck %s --check-prefix=HUGE
// RUN: %{run} -e reused 2>&1 | FileCheck %s --check-prefix=REUSED

// A read beyond gives zeros, a write beyond is not made.
func.func @index(%x: memref<?xi32>, %i: index) -> i32 {
  %seven = arith.constant 7 : i32
  // INDEX-DAG: host-out-of-bounds.mlir:[[@LINE+1]]:3: error: out of bounds: write at index 10 of dimension 0, whose size is 10 in @index
  memref.store %seven, %x[%i] : memref<?xi32>
  // INDEX-DAG: host-out-of-bounds.mlir:[[@LINE+1]]:8: error: out of bounds: read at index 10 of dimension 0, whose size is 10 in @index
  %v = memref.load %x[%i] : memref<?xi32>
  // INDEX-DAG: result[0]: i32=0
  // INDEX-DAG: gpu-runner: error: --check found 2 bugs
  // INSIDE-NOT: error
  // INSIDE: result[0]: i32=7
  return %v : i32
}

// The type says more than there is.
func.func @allocated() -> i32 {
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %seven = arith.constant 7 : i32
  %x = memref.alloc() : memref<4xi32>
  %long = memref.reinterpret_cast %x to offset: [0], sizes: [100], strides: [1] : memref<4xi32> to memref<100xi32>
  memref.store %seven, %long[%c3] : memref<100xi32>
  // ALLOCATED: host-out-of-bounds.mlir:[[@LINE+2]]:3: error: out of bounds: write of 4 bytes at byte 16 of 16 bytes of host memory in @allocated
  // ALLOCATED: host-out-of-bounds.mlir:[[@LINE-4]]:8: note: allocated here
  memref.store %seven, %long[%c4] : memref<100xi32>
  // ALLOCATED: found 1 bug
  %v = memref.load %x[%c3] : memref<4xi32>
  memref.dealloc %x : memref<4xi32>
  return %v : i32
}

func.func @input(%x: memref<?xi32>) {
  %c40 = arith.constant 40 : index
  %seven = arith.constant 7 : i32
  %long = memref.reinterpret_cast %x to offset: [0], sizes: [100], strides: [1] : memref<?xi32> to memref<100xi32>
  // INPUT: host-out-of-bounds.mlir:[[@LINE+1]]:3: error: out of bounds: write of 4 bytes at byte 160 of 40 bytes of --input 0 of 1 (10xi32) in @input
  memref.store %seven, %long[%c40] : memref<100xi32>
  // Before it, too.
  %n2 = arith.constant -2 : index
  %early = memref.reinterpret_cast %x to offset: [%n2], sizes: [4], strides: [1] : memref<?xi32> to memref<4xi32, strided<[1], offset: ?>>
  %c0 = arith.constant 0 : index
  // INPUT: host-out-of-bounds.mlir:[[@LINE+1]]:3: error: out of bounds: write of 4 bytes at byte -8 of 40 bytes of --input 0 of 1 (10xi32) in @input
  memref.store %seven, %early[%c0] : memref<4xi32, strided<[1], offset: ?>>
  return
}

// Each dimension is looked at, however loops are written.
func.func @rows() {
  %x = memref.alloc() : memref<4x8xi32>
  %seven = arith.constant 7 : i32
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 9 {
      // ROWS: host-out-of-bounds.mlir:[[@LINE+1]]:7: error: out of bounds: write at index 8 of dimension 1, whose size is 8 in @rows
      affine.store %seven, %x[%i, %j] : memref<4x8xi32>
    }
  }
  // ROWS: found 1 bug
  memref.dealloc %x : memref<4x8xi32>
  return
}

func.func @atomics() -> i32 {
  %c4 = arith.constant 4 : index
  %x = memref.alloc() : memref<4xi32>
  %one = arith.constant 1 : i32
  // ATOMICS: host-out-of-bounds.mlir:[[@LINE+1]]:8: error: out of bounds: write at index 4 of dimension 0, whose size is 4 in @atomics
  %v = memref.atomic_rmw addi %one, %x[%c4] : (i32, memref<4xi32>) -> i32
  // ATOMICS: host-out-of-bounds.mlir:[[@LINE+1]]:8: error: out of bounds: write at index 4 of dimension 0, whose size is 4 in @atomics
  %w = memref.generic_atomic_rmw %x[%c4] : memref<4xi32> {
  ^bb0(%old: i32):
    %new = arith.addi %old, %one : i32
    memref.atomic_yield %new : i32
  }
  memref.dealloc %x : memref<4xi32>
  %sum = arith.addi %v, %w : i32
  return %sum : i32
}

func.func @vectors(%i: index) -> i32 {
  %x = memref.alloc() : memref<10xi32>
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %zeros = arith.constant dense<0> : vector<4xi32>
  // Up to its end and no further: no bug.
  vector.transfer_write %zeros, %x[%i] : vector<4xi32>, memref<10xi32>
  %t = vector.transfer_read %x[%i], %zero : memref<10xi32>, vector<4xi32>
  // VECTORS-INSIDE-NOT: error
  // VECTORS: host-out-of-bounds.mlir:[[@LINE+1]]:3: error: out of bounds: write at index 8 to 11 of dimension 0, whose size is 10 in @vectors
  vector.store %t, %x[%i] : memref<10xi32>, vector<4xi32>
  // VECTORS: host-out-of-bounds.mlir:[[@LINE+1]]:8: error: out of bounds: read at index 8 to 11 of dimension 0
  %v = vector.load %x[%i] : memref<10xi32>, vector<4xi32>
  // VECTORS: host-out-of-bounds.mlir:[[@LINE+1]]:8: error: out of bounds: read at index 8 to 11 of dimension 0
  %w = vector.transfer_read %x[%i], %zero {in_bounds = [true]} : memref<10xi32>, vector<4xi32>
  // Of more dimensions.
  %m = memref.alloc() : memref<4x4xi32>
  // VECTORS: host-out-of-bounds.mlir:[[@LINE+1]]:8: error: out of bounds: read at index {{8|9}} of dimension 0, whose size is 4
  %n = vector.transfer_read %m[%i, %c0], %zero {in_bounds = [true, true]} : memref<4x4xi32>, vector<2x4xi32>
  %r = vector.extract %n[0] : vector<4xi32> from vector<2x4xi32>
  memref.dealloc %m : memref<4x4xi32>
  memref.dealloc %x : memref<10xi32>
  %s = arith.addi %v, %w : vector<4xi32>
  %u = arith.addi %s, %r : vector<4xi32>
  %sum = vector.reduction <add>, %u : vector<4xi32> into i32
  return %sum : i32
}

func.func @copies() {
  %x = memref.alloc() : memref<4xi32>
  %y = memref.alloc() : memref<100xi32>
  %long = memref.reinterpret_cast %x to offset: [0], sizes: [100], strides: [1] : memref<4xi32> to memref<100xi32>
  // COPIES: host-out-of-bounds.mlir:[[@LINE+1]]:3: error: out of bounds: read of 400 bytes at byte 0 of 16 bytes of host memory in @copies
  memref.copy %long, %y : memref<100xi32> to memref<100xi32>
  // COPIES: host-out-of-bounds.mlir:[[@LINE+1]]:3: error: out of bounds: write of 400 bytes at byte 0 of 16 bytes
  memref.copy %y, %long : memref<100xi32> to memref<100xi32>
  // Of several dimensions with gaps: up to the last element.
  %rows = memref.reinterpret_cast %y to offset: [4], sizes: [4, 8], strides: [32, 1] : memref<100xi32> to memref<4x8xi32, strided<[32, 1], offset: 4>>
  %m = memref.alloc() : memref<4x8xi32>
  // COPIES: host-out-of-bounds.mlir:[[@LINE+1]]:3: error: out of bounds: read of 416 bytes at byte 16 of 400 bytes of host memory in @copies
  memref.copy %rows, %m : memref<4x8xi32, strided<[32, 1], offset: 4>> to memref<4x8xi32>
  // Backwards: from the lowest byte.
  %back = memref.reinterpret_cast %x to offset: [3], sizes: [4], strides: [-1] : memref<4xi32> to memref<4xi32, strided<[-1], offset: 3>>
  %s = memref.alloc() : memref<4xi32>
  memref.copy %back, %s : memref<4xi32, strided<[-1], offset: 3>> to memref<4xi32>
  %beyond = memref.reinterpret_cast %x to offset: [2], sizes: [4], strides: [-1] : memref<4xi32> to memref<4xi32, strided<[-1], offset: 2>>
  // COPIES: host-out-of-bounds.mlir:[[@LINE+1]]:3: error: out of bounds: read of 16 bytes at byte -4 of 16 bytes of host memory in @copies
  memref.copy %beyond, %s : memref<4xi32, strided<[-1], offset: 2>> to memref<4xi32>
  memref.dealloc %s : memref<4xi32>
  // COPIES: found 4 bugs
  memref.dealloc %m : memref<4x8xi32>
  memref.dealloc %x : memref<4xi32>
  memref.dealloc %y : memref<100xi32>
  return
}

func.func @linalgs(%x: memref<?xi32>, %w: memref<?xi32>) {
  // The sizes that linalg ops want are compared; these are right, but the memory ends before.
  %y = memref.reinterpret_cast %w to offset: [0], sizes: [11], strides: [1] : memref<?xi32> to memref<11xi32>
  %z = memref.reinterpret_cast %x to offset: [0], sizes: [11], strides: [1] : memref<?xi32> to memref<11xi32>
  // LINALG: host-out-of-bounds.mlir:[[@LINE+1]]:3: error: out of bounds: {{read|write}} of 4 bytes at byte 40 of 40 bytes of --input 0 of 2 (10xi32) in @linalgs
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%y : memref<11xi32>) outs(%z : memref<11xi32>) {
  ^bb0(%a: i32, %b: i32):
    %s = arith.addi %a, %b : i32
    linalg.yield %s : i32
  }
  return
}

func.func @pointers() -> i32 {
  %x = memref.alloc() : memref<4xi32>
  %address = memref.extract_aligned_pointer_as_index %x : memref<4xi32> -> index
  %number = arith.index_cast %address : index to i64
  %p = llvm.inttoptr %number : i64 to !llvm.ptr
  %seven = arith.constant 7 : i32
  %q = llvm.getelementptr %p[4] : (!llvm.ptr) -> !llvm.ptr, i32
  // POINTERS: host-out-of-bounds.mlir:[[@LINE+1]]:3: error: out of bounds: write of 4 bytes at byte 16 of 16 bytes of host memory in @pointers
  llvm.store %seven, %q : i32, !llvm.ptr
  // POINTERS: host-out-of-bounds.mlir:[[@LINE+1]]:8: error: out of bounds: read of 4 bytes at byte 16 of 16 bytes of host memory in @pointers
  %v = llvm.load %q : !llvm.ptr -> i32
  %bytes = arith.constant 20 : i64
  %zero = arith.constant 0 : i8
  // POINTERS: host-out-of-bounds.mlir:[[@LINE+1]]:3: error: out of bounds: write of 20 bytes at byte 0 of 16 bytes of host memory in @pointers
  "llvm.intr.memset"(%p, %zero, %bytes) <{isVolatile = false}> : (!llvm.ptr, i8, i64) -> ()
  // POINTERS: found 3 bugs
  memref.dealloc %x : memref<4xi32>
  return %v : i32
}

memref.global "private" @numbers : memref<4xi32> = dense<3>
func.func @globals() -> i32 {
  %c5 = arith.constant 5 : index
  %x = memref.get_global @numbers : memref<4xi32>
  %long = memref.reinterpret_cast %x to offset: [0], sizes: [8], strides: [1] : memref<4xi32> to memref<8xi32>
  // GLOBALS: host-out-of-bounds.mlir:[[@LINE+1]]:8: error: out of bounds: read of 4 bytes at byte 20 of 16 bytes of host memory in @globals
  %v = memref.load %long[%c5] : memref<8xi32>
  return %v : i32
}

// Memory that the device shares; and after it was freed.
func.func @shared() {
  %c4 = arith.constant 4 : index
  %c0 = arith.constant 0 : index
  %seven = arith.constant 7 : i32
  %x = gpu.alloc host_shared () : memref<4xi32>
  %long = memref.reinterpret_cast %x to offset: [0], sizes: [8], strides: [1] : memref<4xi32> to memref<8xi32>
  // SHARED: host-out-of-bounds.mlir:[[@LINE+2]]:3: error: out of bounds: write of 4 bytes at byte 16 of 16 bytes of host-shared memory in @shared
  // SHARED: host-out-of-bounds.mlir:[[@LINE-3]]:8: note: allocated here
  memref.store %seven, %long[%c4] : memref<8xi32>
  gpu.dealloc %x : memref<4xi32>
  // SHARED: host-out-of-bounds.mlir:[[@LINE+2]]:3: error: use of freed host-shared memory: write of 4 bytes in @shared
  // SHARED: host-out-of-bounds.mlir:[[@LINE-2]]:3: note: freed here
  memref.store %seven, %x[%c0] : memref<4xi32>
  return
}

func.func private @printMemrefI32(memref<*xi32>)
func.func @printed() {
  %x = memref.alloc() : memref<64xi32>
  %long = memref.reinterpret_cast %x to offset: [0], sizes: [65], strides: [1] : memref<64xi32> to memref<65xi32>
  %u = memref.cast %long : memref<65xi32> to memref<*xi32>
  // PRINTED: host-out-of-bounds.mlir:[[@LINE+1]]:3: error: out of bounds: read of 260 bytes at byte 0 of 256 bytes of host memory in @printed
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  memref.dealloc %x : memref<64xi32>
  return
}

// What is not the host's to free stays.
func.func @frees(%x: memref<?xi32>) {
  // FREES: host-out-of-bounds.mlir:[[@LINE+1]]:3: error: host code frees what it was given: --input 0 of 1 (10xi32) in @frees
  memref.dealloc %x : memref<?xi32>
  %u = memref.cast %x : memref<?xi32> to memref<*xi32>
  // FREES: host-out-of-bounds.mlir:[[@LINE+1]]:3: error: host code frees what it was given: --input 0 of 1 (10xi32) in @frees
  memref.dealloc %u : memref<*xi32>
  %d = gpu.alloc () : memref<4xi32>
  // FREES: host-out-of-bounds.mlir:[[@LINE+2]]:3: error: host code frees device memory as if it were its own in @frees
  // FREES: host-out-of-bounds.mlir:[[@LINE-2]]:8: note: allocated here
  memref.dealloc %d : memref<4xi32>
  gpu.dealloc %d : memref<4xi32>
  // FREES: found 3 bugs
  return
}

// A copy that begins somewhere else altogether.
func.func @starts(%h: memref<?xi32>, %at: index, %n: index) {
  %x = gpu.alloc () : memref<16xi32>
  %y = gpu.alloc () : memref<16xi32>
  %zero = arith.constant 0 : i32
  gpu.memset %x, %zero : memref<16xi32>, i32
  %device = memref.reinterpret_cast %x to offset: [%at], sizes: [%n], strides: [1] : memref<16xi32> to memref<?xi32, strided<[1], offset: ?>>
  %host = memref.reinterpret_cast %h to offset: [%at], sizes: [%n], strides: [1] : memref<?xi32> to memref<?xi32, strided<[1], offset: ?>>
  %inside = memref.reinterpret_cast %y to offset: [0], sizes: [%n], strides: [1] : memref<16xi32> to memref<?xi32>
  // STARTS: host-out-of-bounds.mlir:[[@LINE+1]]:3: error: out of bounds: gpu.memcpy begins at byte 80 of 40 bytes of --input 0 of 3 (10xi32) in @starts
  gpu.memcpy %inside, %host : memref<?xi32>, memref<?xi32, strided<[1], offset: ?>>
  // STARTS: host-out-of-bounds.mlir:[[@LINE+2]]:3: error: out of bounds: gpu.memcpy begins at byte 80 of 64 bytes of device memory in @starts
  // STARTS: host-out-of-bounds.mlir:[[@LINE-10]]:8: note: allocated here
  gpu.memcpy %device, %inside : memref<?xi32, strided<[1], offset: ?>>, memref<?xi32>
  // STARTS: host-out-of-bounds.mlir:[[@LINE+1]]:3: error: out of bounds: gpu.memset begins at byte 80 of 64 bytes of device memory in @starts
  gpu.memset %device, %zero : memref<?xi32, strided<[1], offset: ?>>, i32
  // STARTS: found 3 bugs
  gpu.dealloc %x : memref<16xi32>
  gpu.dealloc %y : memref<16xi32>
  return
}

// Addresses mean what lies there now.
func.func @reused() -> i32 {
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  %zero = arith.constant 0 : i32
  // REUSED-NOT: error
  // REUSED: result[0]: i32=4950
  %sum = scf.for %i = %c1 to %c100 step %c1 iter_args(%before = %zero) -> i32 {
    %x = memref.alloc(%i) : memref<?xi32>
    %number = arith.index_cast %i : index to i32
    %last = arith.subi %i, %c1 : index
    memref.store %number, %x[%last] : memref<?xi32>
    %v = memref.load %x[%last] : memref<?xi32>
    %after = arith.addi %before, %v : i32
    memref.dealloc %x : memref<?xi32>
    scf.yield %after : i32
  }
  return %sum : i32
}

// With a kernel the program is no host program by mistake.
func.func @kernel() {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    gpu.terminator
  }
  return
}

// The bytes that it spans do not fit into 64 bits: they are not four.
func.func @huge() {
  %x = memref.alloc() : memref<16xi32>
  %y = memref.alloc() : memref<2xi32>
  %v = memref.reinterpret_cast %x to offset: [0], sizes: [2], strides: [4611686018427387904] : memref<16xi32> to memref<2xi32, strided<[4611686018427387904]>>
  // HUGE: host-out-of-bounds.mlir:[[@LINE+2]]:3: error: out of bounds: read of {{.*}} bytes at byte 0 of 64 bytes of host memory in @huge
  // HUGE: host-out-of-bounds.mlir:[[@LINE-4]]:8: note: allocated here
  memref.copy %v, %y : memref<2xi32, strided<[4611686018427387904]>> to memref<2xi32>
  // HUGE: found 1 bug
  memref.dealloc %x : memref<16xi32>
  memref.dealloc %y : memref<2xi32>
  return
}
