// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A host wait on an early token returns although a later kernel spins until the
// host acts: the wait covers the past of its token and nothing else.
// RUN: gpu-runner --device=cpu --timeout=60 %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda --timeout=60 %s | FileCheck %s %}

// CHECK: [7, 1]
// CHECK: [7, 9]
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %seven = arith.constant 7 : i32
  %nine = arith.constant 9 : i32
  %flag = gpu.alloc host_shared () : memref<1xi32>
  %data = gpu.alloc host_shared () : memref<2xi32>
  memref.store %zero, %flag[%c0] : memref<1xi32>
  memref.store %one, %data[%c1] : memref<2xi32>

  %start = gpu.wait async
  %early = gpu.launch async [%start]
      blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
      threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    memref.store %seven, %data[%c0] : memref<2xi32>
    gpu.terminator
  }
  %late = gpu.launch async [%early]
      blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
      threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    %address = memref.extract_aligned_pointer_as_index %flag : memref<1xi32> -> index
    %address64 = arith.index_cast %address : index to i64
    %pointer = llvm.inttoptr %address64 : i64 to !llvm.ptr
    scf.while : () -> () {
      %seen = llvm.load volatile %pointer : !llvm.ptr -> i32
      %wait = arith.cmpi eq, %seen, %zero : i32
      scf.condition(%wait)
    } do {
      scf.yield
    }
    memref.store %nine, %data[%c1] : memref<2xi32>
    gpu.terminator
  }
  gpu.wait [%early]
  %copy = memref.alloc() : memref<2xi32>
  %d0 = memref.load %data[%c0] : memref<2xi32>
  %d1 = memref.load %data[%c1] : memref<2xi32>
  memref.store %d0, %copy[%c0] : memref<2xi32>
  memref.store %d1, %copy[%c1] : memref<2xi32>

  memref.store %one, %flag[%c0] : memref<1xi32>
  gpu.wait [%late]
  %u0 = memref.cast %copy : memref<2xi32> to memref<*xi32>
  call @printMemrefI32(%u0) : (memref<*xi32>) -> ()
  %u1 = memref.cast %data : memref<2xi32> to memref<*xi32>
  call @printMemrefI32(%u1) : (memref<*xi32>) -> ()
  memref.dealloc %copy : memref<2xi32>
  gpu.dealloc %data : memref<2xi32>
  gpu.dealloc %flag : memref<1xi32>
  return
}

func.func private @printMemrefI32(memref<*xi32>)
