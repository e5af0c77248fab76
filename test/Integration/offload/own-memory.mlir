// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that the program allocates and frees itself, whose size turns out to be
// constant, and which is freed by another name.
// DEFINE: %{run} = gpu-runner --device=cpu --leak-check=error %s
// RUN: %{run} -e filled --expect=1.0
// RUN: %{run} -e computed --expect=1.0
// RUN: %{run} -e rounds --expect=0.0
// RUN: %{run} -e collapsed --expect=1.0
// RUN: %{run} --check -e reallocated --input=4xf32=1 --expect=3.0
// RUN: %{run} --check -e unranked --input=3xi32=1,2,3 --expect=arg0=3xi32=2,4,6

func.func @filled() -> f32 {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %m = memref.alloc(%c8) : memref<?xf32>
  %v = arith.constant 1.0 : f32
  linalg.fill ins(%v : f32) outs(%m : memref<?xf32>)
  %r = memref.load %m[%c0] : memref<?xf32>
  memref.dealloc %m : memref<?xf32>
  return %r : f32
}

func.func @computed() -> f32 {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %n = arith.muli %c2, %c2 : index
  %m = memref.alloc(%n) : memref<?xf32>
  %v = arith.constant 1.0 : f32
  linalg.fill ins(%v : f32) outs(%m : memref<?xf32>)
  %r = memref.load %m[%c0] : memref<?xf32>
  memref.dealloc %m : memref<?xf32>
  return %r : f32
}

func.func @rounds() -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %z = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %z) -> f32 {
    %m = memref.alloc(%c4) : memref<?xf32>
    linalg.fill ins(%a : f32) outs(%m : memref<?xf32>)
    %q = memref.load %m[%c0] : memref<?xf32>
    memref.dealloc %m : memref<?xf32>
    scf.yield %q : f32
  }
  return %r : f32
}

func.func @collapsed() -> f32 {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %m = memref.alloc(%c2) : memref<?x4xf32>
  %v = arith.constant 1.0 : f32
  linalg.fill ins(%v : f32) outs(%m : memref<?x4xf32>)
  %r = memref.load %m[%c0, %c0] : memref<?x4xf32>
  %all = memref.collapse_shape %m [[0, 1]] : memref<?x4xf32> into memref<?xf32>
  memref.dealloc %all : memref<?xf32>
  return %r : f32
}

// Memory without a rank is registered, too.
func.func private @without_rank(%m: memref<*xi32>) {
  %d = memref.cast %m : memref<*xi32> to memref<?xi32>
  linalg.add ins(%d, %d : memref<?xi32>, memref<?xi32>) outs(%d : memref<?xi32>)
  return
}
func.func @unranked(%m: memref<3xi32>) {
  %a = memref.cast %m : memref<3xi32> to memref<*xi32>
  call @without_rank(%a) : (memref<*xi32>) -> ()
  return
}

func.func @reallocated(%a: memref<4xf32>) -> f32 {
  %c1 = arith.constant 1 : index
  %t = memref.alloc() : memref<4xf32>
  linalg.add ins(%a, %a : memref<4xf32>, memref<4xf32>) outs(%t : memref<4xf32>)
  %r = memref.realloc %t : memref<4xf32> to memref<8xf32>
  %s = memref.subview %r[0] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1]>>
  linalg.add ins(%s, %a : memref<4xf32, strided<[1]>>, memref<4xf32>) outs(%s : memref<4xf32, strided<[1]>>)
  %x = memref.load %r[%c1] : memref<8xf32>
  memref.dealloc %r : memref<8xf32>
  return %x : f32
}
