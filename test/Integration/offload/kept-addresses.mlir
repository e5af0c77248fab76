// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A function that is called between kernels may know their memory though nobody passes it:
// by an address that was kept. For a GPU, too, where each has its copy.
// DEFINE: %{run} = gpu-runner --device=cpu
// DEFINE: %{gpu} = gpu-opt %s --gpu-async-offload=device=gpu
// RUN: %{run} %s -e kept --input=true | FileCheck %s --check-prefix=KEPT
// RUN: %{gpu} | %{run} - -e kept --input=true | FileCheck %s --check-prefix=KEPT
// RUN: %{gpu} | %{run} - -e kept --input=false | FileCheck %s --check-prefix=OTHER
// KEPT: result[0]: f32=24
// OTHER: result[0]: f32=4

// A direct call, of a function that the program only declares.
// RUN: %cc -shared -fPIC -o %t.so %S/Inputs/kept-addresses.c
// RUN: %{run} --shared-libs=%t.so %s -e external | FileCheck %s --check-prefix=KEPT
// RUN: %{gpu} | %{run} --shared-libs=%t.so - -e external | FileCheck %s --check-prefix=KEPT

// The external function is compiled here.
// REQUIRES: cc

module attributes {gpu.container_module} {
llvm.mlir.global internal @where() : !llvm.ptr {
  %null = llvm.mlir.zero : !llvm.ptr
  llvm.return %null : !llvm.ptr
}
func.func private @keep(%m: memref<4xf32>) {
  %index = memref.extract_aligned_pointer_as_index %m : memref<4xf32> -> index
  %number = arith.index_cast %index : index to i64
  %address = llvm.inttoptr %number : i64 to !llvm.ptr
  %where = llvm.mlir.addressof @where : !llvm.ptr
  llvm.store %address, %where : !llvm.ptr, !llvm.ptr
  return
}
func.func private @addTen() {
  %where = llvm.mlir.addressof @where : !llvm.ptr
  %address = llvm.load %where : !llvm.ptr -> !llvm.ptr
  %value = llvm.load %address : !llvm.ptr -> f32
  %ten = arith.constant 10.0 : f32
  %sum = arith.addf %value, %ten : f32
  llvm.store %sum, %address : f32, !llvm.ptr
  return
}
func.func private @nothing() {
  return
}

// Doubles the memory, calls what may add 10 to its first element, and doubles it. Calls
// itself with other memory, so that it is not inlined.
func.func private @kernels(%m: memref<4xf32>, %isAdded: i1, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %isEnd = arith.cmpi eq, %n, %c0 : index
  scf.if %isEnd {
  } else {
    linalg.add ins(%m, %m : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
    %add = func.constant @addTen : () -> ()
    %none = func.constant @nothing : () -> ()
    %called = arith.select %isAdded, %add, %none : () -> ()
    func.call_indirect %called() : () -> ()
    linalg.add ins(%m, %m : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
    %other = memref.alloc() : memref<4xf32>
    %less = arith.subi %n, %c1 : index
    func.call @kernels(%other, %isAdded, %less) : (memref<4xf32>, i1, index) -> ()
    memref.dealloc %other : memref<4xf32>
  }
  return
}
func.func private @ones() -> memref<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1.0 : f32
  %m = memref.alloc() : memref<4xf32>
  scf.for %i = %c0 to %c4 step %c1 {
    memref.store %one, %m[%i] : memref<4xf32>
  }
  return %m : memref<4xf32>
}
func.func @kept(%isAdded: i1) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = call @ones() : () -> memref<4xf32>
  call @keep(%m) : (memref<4xf32>) -> ()
  call @kernels(%m, %isAdded, %c1) : (memref<4xf32>, i1, index) -> ()
  %r = memref.load %m[%c0] : memref<4xf32>
  memref.dealloc %m : memref<4xf32>
  return %r : f32
}

func.func private @keep_outside(memref<4xf32>)
func.func private @add_ten_outside()
func.func private @around(%m: memref<4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %isEnd = arith.cmpi eq, %n, %c0 : index
  scf.if %isEnd {
  } else {
    linalg.add ins(%m, %m : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
    func.call @add_ten_outside() : () -> ()
    linalg.add ins(%m, %m : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
    %other = memref.alloc() : memref<4xf32>
    %less = arith.subi %n, %c1 : index
    func.call @around(%other, %less) : (memref<4xf32>, index) -> ()
    memref.dealloc %other : memref<4xf32>
  }
  return
}
func.func @external() -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = call @ones() : () -> memref<4xf32>
  call @keep_outside(%m) : (memref<4xf32>) -> ()
  call @around(%m, %c1) : (memref<4xf32>, index) -> ()
  %r = memref.load %m[%c0] : memref<4xf32>
  memref.dealloc %m : memref<4xf32>
  return %r : f32
}
}
