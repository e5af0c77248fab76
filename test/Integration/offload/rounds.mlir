// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the iterations of parallel loops allocate in a loop, which hands it to later
// rounds, is memory of the round's own for as long as it is held. Each round adds
// its neighbour two rounds ago to each element of the round before.
// RUN: gpu-opt %s --gpu-async-offload="device=gpu offload=error" -o %t.gpu.mlir
// RUN: gpu-runner --device=cpu --offload=error --check -e stack %s --input=3x4xi32=1 --output=- | FileCheck %s
// RUN: gpu-runner --device=cpu --check -e stack %t.gpu.mlir --input=3x4xi32=1 --output=- | FileCheck %s
// RUN: gpu-runner --device=cpu --offload=error --check -e freed %s --input=3x4xi32=1 --output=- | FileCheck %s
// RUN: gpu-runner --device=cpu --check -e freed %t.gpu.mlir --input=3x4xi32=1 --output=- | FileCheck %s
// RUN: gpu-runner --device=cpu --offload=error --check -e owned %s --input=3x4xi32=1 --output=- | FileCheck %s
// RUN: gpu-runner --device=cpu --check -e owned %t.gpu.mlir --input=3x4xi32=1 --output=- | FileCheck %s
// RUN: gpu-runner --device=cpu --offload=error --check -e sized %s --input=3x4xi32=1 --output=- | FileCheck %s
// RUN: gpu-runner --device=cpu --check -e sized %t.gpu.mlir --input=3x4xi32=1 --output=- | FileCheck %s
// RUN: gpu-runner --device=cpu --offload=error --check -e tiles %s --input=3x4xi32=1 --output=- | FileCheck %s
// RUN: gpu-runner --device=cpu --check -e tiles %t.gpu.mlir --input=3x4xi32=1 --output=- | FileCheck %s
// RUN: gpu-runner --device=cpu --offload=error --check -e inner %s --input=3x4xi32=1 --output=- | FileCheck %s
// RUN: gpu-runner --device=cpu --check -e inner %t.gpu.mlir --input=3x4xi32=1 --output=- | FileCheck %s
// RUN: gpu-runner --device=cpu --offload=error --check -e element %s --input=3x4xi32=1 --output=- | FileCheck %s
// RUN: gpu-runner --device=cpu --check -e element %t.gpu.mlir --input=3x4xi32=1 --output=- | FileCheck %s
// RUN: gpu-runner --device=cpu --offload=error -O2 -e stack %s --input=3x4xi32=1 --output=- | FileCheck %s
// RUN: gpu-runner --device=cpu --offload=error -O2 -e tiles %s --input=3x4xi32=1 --output=- | FileCheck %s

// CHECK: 3x4xi32=[5 5 5 5][5 5 5 5][5 5 5 5]

#id = affine_map<(d0) -> (d0)>

// On the stack.
func.func @stack(%a: memref<3x4xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  scf.parallel (%i) = (%c0) to (%c3) step (%c1) {
    %first = memref.alloca() : memref<4xi32>
    %second = memref.alloca() : memref<4xi32>
    scf.for %d = %c0 to %c4 step %c1 {
      %v = memref.load %a[%i, %d] : memref<3x4xi32>
      memref.store %v, %first[%d] : memref<4xi32>
      memref.store %v, %second[%d] : memref<4xi32>
    }
    %x:2 = scf.for %round = %c0 to %c3 step %c1 iter_args(%p = %first, %q = %second) -> (memref<4xi32>, memref<4xi32>) {
      %n = memref.alloca() : memref<4xi32>
      scf.for %d = %c0 to %c4 step %c1 {
        %e = arith.addi %d, %c1 : index
        %m = arith.remui %e, %c4 : index
        %v = memref.load %p[%m] : memref<4xi32>
        %w = memref.load %q[%d] : memref<4xi32>
        %s = arith.addi %v, %w : i32
        memref.store %s, %n[%d] : memref<4xi32>
      }
      scf.yield %q, %n : memref<4xi32>, memref<4xi32>
    }
    scf.for %d = %c0 to %c4 step %c1 {
      %v = memref.load %x#1[%d] : memref<4xi32>
      memref.store %v, %a[%i, %d] : memref<3x4xi32>
    }
  }
  return
}

// Freed by other names.
func.func @freed(%a: memref<3x4xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  scf.parallel (%i) = (%c0) to (%c3) step (%c1) {
    %first = memref.alloc() : memref<4xi32>
    %second = memref.alloc() : memref<4xi32>
    scf.for %d = %c0 to %c4 step %c1 {
      %v = memref.load %a[%i, %d] : memref<3x4xi32>
      memref.store %v, %first[%d] : memref<4xi32>
      memref.store %v, %second[%d] : memref<4xi32>
    }
    %x:2 = scf.for %round = %c0 to %c3 step %c1 iter_args(%p = %first, %q = %second) -> (memref<4xi32>, memref<4xi32>) {
      %n = memref.alloc() : memref<4xi32>
      scf.for %d = %c0 to %c4 step %c1 {
        %e = arith.addi %d, %c1 : index
        %m = arith.remui %e, %c4 : index
        %v = memref.load %p[%m] : memref<4xi32>
        %w = memref.load %q[%d] : memref<4xi32>
        %s = arith.addi %v, %w : i32
        memref.store %s, %n[%d] : memref<4xi32>
      }
      memref.dealloc %p : memref<4xi32>
      scf.yield %q, %n : memref<4xi32>, memref<4xi32>
    }
    scf.for %d = %c0 to %c4 step %c1 {
      %v = memref.load %x#1[%d] : memref<4xi32>
      memref.store %v, %a[%i, %d] : memref<3x4xi32>
    }
    memref.dealloc %x#0 : memref<4xi32>
    memref.dealloc %x#1 : memref<4xi32>
  }
  return
}

// Freed by no one, of one of two branches, and carried by an scf.while.
func.func @owned(%a: memref<3x4xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  scf.parallel (%i) = (%c0) to (%c3) step (%c1) {
    %first = memref.alloc() : memref<4xi32>
    %second = memref.alloc() : memref<4xi32>
    scf.for %d = %c0 to %c4 step %c1 {
      %v = memref.load %a[%i, %d] : memref<3x4xi32>
      memref.store %v, %first[%d] : memref<4xi32>
      memref.store %v, %second[%d] : memref<4xi32>
    }
    %x:3 = scf.while (%round = %c0, %p = %first, %q = %second) : (index, memref<4xi32>, memref<4xi32>) -> (index, memref<4xi32>, memref<4xi32>) {
      %more = arith.cmpi ult, %round, %c3 : index
      scf.condition(%more) %round, %p, %q : index, memref<4xi32>, memref<4xi32>
    } do {
    ^bb0(%round: index, %p: memref<4xi32>, %q: memref<4xi32>):
      %next = arith.addi %round, %c1 : index
      %isFirst = arith.cmpi eq, %round, %c0 : index
      %n = scf.if %isFirst -> memref<4xi32> {
        %one = memref.alloc() : memref<4xi32>
        scf.yield %one : memref<4xi32>
      } else {
        %other = memref.alloc() : memref<4xi32>
        scf.yield %other : memref<4xi32>
      }
      scf.for %d = %c0 to %c4 step %c1 {
        %e = arith.addi %d, %c1 : index
        %m = arith.remui %e, %c4 : index
        %v = memref.load %p[%m] : memref<4xi32>
        %w = memref.load %q[%d] : memref<4xi32>
        %s = arith.addi %v, %w : i32
        memref.store %s, %n[%d] : memref<4xi32>
      }
      scf.yield %next, %q, %n : index, memref<4xi32>, memref<4xi32>
    }
    scf.for %d = %c0 to %c4 step %c1 {
      %v = memref.load %x#2[%d] : memref<4xi32>
      memref.store %v, %a[%i, %d] : memref<3x4xi32>
    }
  }
  return
}

// Of sizes that are not known, but for their bound: 3 elements, then 4.
func.func @sized(%a: memref<3x4xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %one = arith.constant 1 : i32
  scf.parallel (%i) = (%c0) to (%c3) step (%c1) {
    scf.for %size = %c3 to %c5 step %c1 {
      %first = memref.alloc(%size) : memref<?xi32>
      %second = memref.alloc(%size) : memref<?xi32>
      scf.for %d = %c0 to %size step %c1 {
        memref.store %one, %first[%d] : memref<?xi32>
        memref.store %one, %second[%d] : memref<?xi32>
      }
      %x:2 = scf.for %round = %c0 to %c3 step %c1 iter_args(%p = %first, %q = %second) -> (memref<?xi32>, memref<?xi32>) {
        %n = memref.alloc(%size) : memref<?xi32>
        scf.for %d = %c0 to %size step %c1 {
          %e = arith.addi %d, %c1 : index
          %m = arith.remui %e, %size : index
          %v = memref.load %p[%m] : memref<?xi32>
          %w = memref.load %q[%d] : memref<?xi32>
          %s = arith.addi %v, %w : i32
          memref.store %s, %n[%d] : memref<?xi32>
        }
        scf.yield %q, %n : memref<?xi32>, memref<?xi32>
      }
      scf.for %d = %c0 to %size step %c1 {
        %v = memref.load %x#1[%d] : memref<?xi32>
        memref.store %v, %a[%i, %d] : memref<3x4xi32>
      }
    }
  }
  return
}

// Of a block.
func.func @tiles(%a: memref<3x4xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  scf.forall (%i) in (3) {
    %row = memref.subview %a[%i, 0] [1, 4] [1, 1] : memref<3x4xi32> to memref<4xi32, strided<[1], offset: ?>>
    %first = memref.alloc() : memref<4xi32>
    %second = memref.alloc() : memref<4xi32>
    memref.copy %row, %first : memref<4xi32, strided<[1], offset: ?>> to memref<4xi32>
    memref.copy %row, %second : memref<4xi32, strided<[1], offset: ?>> to memref<4xi32>
    %x:2 = scf.for %round = %c0 to %c3 step %c1 iter_args(%p = %first, %q = %second) -> (memref<4xi32>, memref<4xi32>) {
      %n = memref.alloc() : memref<4xi32>
      linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%q : memref<4xi32>) outs(%n : memref<4xi32>) {
      ^bb0(%w: i32, %unused: i32):
        %d = linalg.index 0 : index
        %e = arith.addi %d, %c1 : index
        %m = arith.remui %e, %c4 : index
        %v = memref.load %p[%m] : memref<4xi32>
        %s = arith.addi %v, %w : i32
        linalg.yield %s : i32
      }
      scf.yield %q, %n : memref<4xi32>, memref<4xi32>
    }
    memref.copy %x#1, %row : memref<4xi32> to memref<4xi32, strided<[1], offset: ?>>
  }
  return
}

// Of a thread of a block.
func.func @inner(%a: memref<3x4xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  scf.forall (%i) in (3) {
    %row = memref.subview %a[%i, 0] [1, 4] [1, 1] : memref<3x4xi32> to memref<4xi32, strided<[1], offset: ?>>
    %all = memref.alloc() : memref<4xi32>
    memref.copy %row, %all : memref<4xi32, strided<[1], offset: ?>> to memref<4xi32>
    scf.parallel (%d) = (%c0) to (%c4) step (%c1) {
      %v = memref.load %all[%d] : memref<4xi32>
      %first = memref.alloc() : memref<4xi32>
      %second = memref.alloc() : memref<4xi32>
      linalg.fill ins(%v : i32) outs(%first : memref<4xi32>)
      linalg.fill ins(%v : i32) outs(%second : memref<4xi32>)
      %x:2 = scf.for %round = %c0 to %c3 step %c1 iter_args(%p = %first, %q = %second) -> (memref<4xi32>, memref<4xi32>) {
        %n = memref.alloc() : memref<4xi32>
        scf.for %at = %c0 to %c4 step %c1 {
          %e = arith.addi %at, %c1 : index
          %m = arith.remui %e, %c4 : index
          %one = memref.load %p[%m] : memref<4xi32>
          %other = memref.load %q[%at] : memref<4xi32>
          %s = arith.addi %one, %other : i32
          memref.store %s, %n[%at] : memref<4xi32>
        }
        scf.yield %q, %n : memref<4xi32>, memref<4xi32>
      }
      %r = memref.load %x#1[%c3] : memref<4xi32>
      memref.store %r, %row[%d] : memref<4xi32, strided<[1], offset: ?>>
    }
  }
  return
}

// Of an element of a linalg op.
func.func @element(%a: memref<3x4xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  scf.forall (%i) in (3) {
    %row = memref.subview %a[%i, 0] [1, 4] [1, 1] : memref<3x4xi32> to memref<4xi32, strided<[1], offset: ?>>
    %all = memref.alloc() : memref<4xi32>
    memref.copy %row, %all : memref<4xi32, strided<[1], offset: ?>> to memref<4xi32>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%all : memref<4xi32>) outs(%row : memref<4xi32, strided<[1], offset: ?>>) {
    ^bb0(%v: i32, %unused: i32):
      %first = memref.alloca() : memref<2xi32>
      %second = memref.alloca() : memref<2xi32>
      scf.for %at = %c0 to %c3 step %c3 {
        memref.store %v, %first[%c0] : memref<2xi32>
        memref.store %v, %first[%c1] : memref<2xi32>
        memref.store %v, %second[%c0] : memref<2xi32>
        memref.store %v, %second[%c1] : memref<2xi32>
      }
      %x:2 = scf.for %round = %c0 to %c3 step %c1 iter_args(%p = %first, %q = %second) -> (memref<2xi32>, memref<2xi32>) {
        %n = memref.alloca() : memref<2xi32>
        %p0 = memref.load %p[%c0] : memref<2xi32>
        %q1 = memref.load %q[%c1] : memref<2xi32>
        %s = arith.addi %p0, %q1 : i32
        memref.store %s, %n[%c0] : memref<2xi32>
        %p1 = memref.load %p[%c1] : memref<2xi32>
        %q0 = memref.load %q[%c0] : memref<2xi32>
        %t = arith.addi %p1, %q0 : i32
        memref.store %t, %n[%c1] : memref<2xi32>
        scf.yield %q, %n : memref<2xi32>, memref<2xi32>
      }
      %r = memref.load %x#1[%c1] : memref<2xi32>
      linalg.yield %r : i32
    }
  }
  return
}
