// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Host code that reaches an array by an address: as a number, as a pointer, as a memref
// that was kept in memory. It reads what kernels wrote and they what it writes. For a GPU,
// too, where each array has its copy.
// DEFINE: %{entry} = number
// DEFINE: %{run} = gpu-runner --device=cpu -e %{entry} --input=4xf32=1,2,3,4 --output=- --output=-
// DEFINE: %{gpu} = gpu-opt %s --gpu-async-offload=device=gpu
// RUN: %{run} %s | FileCheck %s
// RUN: %{gpu} | %{run} - | FileCheck %s
// REDEFINE: %{entry} = callee
// RUN: %{run} %s | FileCheck %s
// RUN: %{gpu} | %{run} - | FileCheck %s
// REDEFINE: %{entry} = pointer
// RUN: %{run} %s | FileCheck %s
// RUN: %{gpu} | %{run} - | FileCheck %s
// REDEFINE: %{entry} = stored
// RUN: %{run} %s | FileCheck %s
// RUN: %{gpu} | %{run} - | FileCheck %s
// REDEFINE: %{entry} = rounds
// RUN: %{run} %s | FileCheck %s --check-prefix=ROUNDS
// RUN: %{gpu} | %{run} - | FileCheck %s --check-prefix=ROUNDS
// REDEFINE: %{entry} = carried
// RUN: %{run} %s | FileCheck %s --check-prefix=CARRIED
// RUN: %{gpu} | %{run} - | FileCheck %s --check-prefix=CARRIED
// REDEFINE: %{entry} = until
// RUN: %{run} %s | FileCheck %s --check-prefix=CARRIED
// RUN: %{gpu} | %{run} - | FileCheck %s --check-prefix=CARRIED
// 1 becomes 2; 10 is added; 12 becomes 24.
// CHECK: arg[0]: 4xf32=24 8 12 16
// CHECK: result[0]: f32=2
// 1, 2 + 10, 24 + 10, 68
// ROUNDS: arg[0]: 4xf32=68 16 24 32
// ROUNDS: result[0]: f32=24
// 2 + 8 + 24
// CARRIED: arg[0]: 4xf32=16 32 48 64
// CARRIED: result[0]: f32=34

// Adds 10 to what lies there, and returns what lay there.
func.func private @add_ten(%address: index) -> f32 {
  %number = arith.index_cast %address : index to i64
  %p = llvm.inttoptr %number : i64 to !llvm.ptr
  %old = llvm.load %p : !llvm.ptr -> f32
  %ten = arith.constant 10.0 : f32
  %new = arith.addf %old, %ten : f32
  llvm.store %new, %p : f32, !llvm.ptr
  return %old : f32
}
func.func private @work(%m: memref<4xf32>, %address: index) -> f32 {
  linalg.add ins(%m, %m : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
  %old = call @add_ten(%address) : (index) -> f32
  linalg.add ins(%m, %m : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
  return %old : f32
}
func.func @number(%m: memref<4xf32>) -> f32 {
  %address = memref.extract_aligned_pointer_as_index %m : memref<4xf32> -> index
  %old = call @work(%m, %address) : (memref<4xf32>, index) -> f32
  return %old : f32
}

// Calls itself, so that it stays a call.
func.func private @add_ten_below(%address: index, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %isEnd = arith.cmpi eq, %n, %c0 : index
  %old = scf.if %isEnd -> f32 {
    %here = func.call @add_ten(%address) : (index) -> f32
    scf.yield %here : f32
  } else {
    %less = arith.subi %n, %c1 : index
    %below = func.call @add_ten_below(%address, %less) : (index, index) -> f32
    scf.yield %below : f32
  }
  return %old : f32
}
func.func private @work_around_call(%m: memref<4xf32>, %address: index) -> f32 {
  %c2 = arith.constant 2 : index
  linalg.add ins(%m, %m : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
  %old = call @add_ten_below(%address, %c2) : (index, index) -> f32
  linalg.add ins(%m, %m : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
  return %old : f32
}
func.func @callee(%m: memref<4xf32>) -> f32 {
  %address = memref.extract_aligned_pointer_as_index %m : memref<4xf32> -> index
  %old = call @work_around_call(%m, %address) : (memref<4xf32>, index) -> f32
  return %old : f32
}

// A place behind the address of the array's first element, and back.
func.func private @work_by_pointer(%m: memref<4xf32>, %p: !llvm.ptr) -> f32 {
  linalg.add ins(%m, %m : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
  %first = llvm.getelementptr %p[-2] : (!llvm.ptr) -> !llvm.ptr, f32
  %ten = arith.constant 10.0 : f32
  %old = llvm.load %first : !llvm.ptr -> f32
  %new = arith.addf %old, %ten : f32
  llvm.store %new, %first : f32, !llvm.ptr
  linalg.add ins(%m, %m : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
  return %old : f32
}
func.func @pointer(%m: memref<4xf32>) -> f32 {
  %address = memref.extract_aligned_pointer_as_index %m : memref<4xf32> -> index
  %number = arith.index_cast %address : index to i64
  %p = llvm.inttoptr %number : i64 to !llvm.ptr
  %third = llvm.getelementptr %p[2] : (!llvm.ptr) -> !llvm.ptr, f32
  %old = call @work_by_pointer(%m, %third) : (memref<4xf32>, !llvm.ptr) -> f32
  return %old : f32
}

func.func private @work_by_stored(%m: memref<4xf32>, %stored: memref<1xmemref<4xf32>>) -> f32 {
  %c0 = arith.constant 0 : index
  linalg.add ins(%m, %m : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
  %same = memref.load %stored[%c0] : memref<1xmemref<4xf32>>
  %old = memref.load %same[%c0] : memref<4xf32>
  %ten = arith.constant 10.0 : f32
  %new = arith.addf %old, %ten : f32
  memref.store %new, %same[%c0] : memref<4xf32>
  linalg.add ins(%m, %m : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
  return %old : f32
}
func.func @stored(%m: memref<4xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %stored = memref.alloc() : memref<1xmemref<4xf32>>
  memref.store %m, %stored[%c0] : memref<1xmemref<4xf32>>
  %old = call @work_by_stored(%m, %stored) : (memref<4xf32>, memref<1xmemref<4xf32>>) -> f32
  memref.dealloc %stored : memref<1xmemref<4xf32>>
  return %old : f32
}

func.func private @work_in_rounds(%m: memref<4xf32>, %address: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %none = arith.constant 0.0 : f32
  %last = scf.for %i = %c0 to %c2 step %c1 iter_args(%before = %none) -> f32 {
    linalg.add ins(%m, %m : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
    %old = func.call @add_ten(%address) : (index) -> f32
    scf.yield %old : f32
  }
  linalg.add ins(%m, %m : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
  return %last : f32
}
func.func @rounds(%m: memref<4xf32>) -> f32 {
  %address = memref.extract_aligned_pointer_as_index %m : memref<4xf32> -> index
  %old = call @work_in_rounds(%m, %address) : (memref<4xf32>, index) -> f32
  return %old : f32
}

// Loops that carry the address are no accesses themselves.
func.func private @work_carried(%m: memref<4xf32>, %address: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %none = arith.constant 0.0 : f32
  %number = arith.index_cast %address : index to i64
  %p = llvm.inttoptr %number : i64 to !llvm.ptr
  linalg.add ins(%m, %m : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
  %r:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%q = %p, %s = %none) -> (!llvm.ptr, f32) {
    %x = llvm.load %q : !llvm.ptr -> f32
    %y = arith.addf %x, %s : f32
    %next = llvm.getelementptr %q[1] : (!llvm.ptr) -> !llvm.ptr, f32
    linalg.add ins(%m, %m : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
    scf.yield %next, %y : !llvm.ptr, f32
  }
  return %r#1 : f32
}
func.func @carried(%m: memref<4xf32>) -> f32 {
  %address = memref.extract_aligned_pointer_as_index %m : memref<4xf32> -> index
  %sum = call @work_carried(%m, %address) : (memref<4xf32>, index) -> f32
  return %sum : f32
}
func.func private @work_until(%m: memref<4xf32>, %address: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %none = arith.constant 0.0 : f32
  %number = arith.index_cast %address : index to i64
  %p = llvm.inttoptr %number : i64 to !llvm.ptr
  linalg.add ins(%m, %m : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
  %r:3 = scf.while (%i = %c0, %q = %p, %s = %none) : (index, !llvm.ptr, f32) -> (index, !llvm.ptr, f32) {
    %go = arith.cmpi ult, %i, %c3 : index
    scf.condition(%go) %i, %q, %s : index, !llvm.ptr, f32
  } do {
  ^bb0(%i: index, %q: !llvm.ptr, %s: f32):
    %x = llvm.load %q : !llvm.ptr -> f32
    %y = arith.addf %x, %s : f32
    %next = llvm.getelementptr %q[1] : (!llvm.ptr) -> !llvm.ptr, f32
    linalg.add ins(%m, %m : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
    %more = arith.addi %i, %c1 : index
    scf.yield %more, %next, %y : index, !llvm.ptr, f32
  }
  return %r#2 : f32
}
func.func @until(%m: memref<4xf32>) -> f32 {
  %address = memref.extract_aligned_pointer_as_index %m : memref<4xf32> -> index
  %sum = call @work_until(%m, %address) : (memref<4xf32>, index) -> f32
  return %sum : f32
}
