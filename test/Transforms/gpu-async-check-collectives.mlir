// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives that all ranks of their group reach. The pass changes nothing.
// RUN: gpu-opt %s --gpu-async-structure-control-flow --gpu-async-check-collectives | FileCheck %s

gpu_async.group @rows grid [2, 2] axes [1]
memref.global "private" constant @table : memref<2xi32> = dense<[1, 2]>
gpu.module @k {
  gpu.func @add(%x: memref<1xi32>, %y: memref<1xi32>) kernel {
    %c0 = arith.constant 0 : index
    %a = memref.load %x[%c0] : memref<1xi32>
    memref.store %a, %y[%c0] : memref<1xi32>
    gpu.return
  }
}

// CHECK-LABEL: func.func @numbers
func.func @numbers(%n: index, %b: i1, %x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %size = gpu_async.size
  %d = memref.dim %x, %c0 : memref<?xf32>
  %sum = arith.addi %size, %d : index
  %last = scf.for %i = %c0 to %sum step %c1 iter_args(%s = %c0) -> index {
    %even = arith.remui %i, %n : index
    scf.index_switch %even
    case 0 {
      // CHECK: gpu_async.collective barrier
      gpu_async.collective barrier
      scf.yield
    }
    default {
    }
    %t = scf.if %b -> index {
      scf.yield %s : index
    } else {
      scf.yield %i : index
    }
    scf.yield %t : index
  }
  scf.for %i = %c0 to %last step %c1 {
    gpu_async.collective barrier
  }
  return
}

// Ranks part before and after it.
// CHECK-LABEL: func.func @beside
func.func @beside(%b: i1) {
  %c0 = arith.constant 0 : index
  %rank = gpu_async.rank
  %first = arith.cmpi eq, %rank, %c0 : index
  %h = memref.alloc() : memref<1xindex>
  scf.if %first {
    memref.store %rank, %h[%c0] : memref<1xindex>
  }
  scf.if %b {
    gpu_async.collective barrier
  }
  cf.assert %first, "may end a rank"
  gpu_async.collective barrier
  return
}

// The program's word.
// CHECK-LABEL: func.func @uniform
func.func @uniform(%x: memref<1xi1>) {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<1xi1>
  // CHECK: gpu_async.uniform
  %same = gpu_async.uniform %v : i1
  scf.if %same {
    gpu_async.collective barrier
  }
  return
}

// Its word about rows.
// CHECK-LABEL: func.func @uniform_in_rows
func.func @uniform_in_rows(%x: memref<1xi1>, %b: i1) {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<1xi1>
  %same = gpu_async.uniform %v group(@rows) : i1
  %both = arith.andi %same, %b : i1
  scf.if %both {
    // CHECK: gpu_async.collective barrier group(@rows)
    gpu_async.collective barrier group(@rows)
  }
  // Rows have in common, too, what all have.
  %all = gpu_async.uniform %v : i1
  %row = gpu_async.uniform %all group(@rows) : i1
  scf.if %row {
    gpu_async.collective barrier
    gpu_async.collective barrier group(@rows)
  }
  return
}

// Until the largest is large enough; the memory gets something else afterwards.
// CHECK-LABEL: func.func @until
func.func @until() -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ten = arith.constant 10 : i32
  %rank = gpu_async.rank
  %r = arith.index_cast %rank : index to i32
  %x = gpu_async.alloc () : memref<1xi32>
  %largest = gpu_async.alloc () : memref<1xi32>
  %h = memref.alloc() : memref<1xi32>
  gpu_async.memset %x, %r : memref<1xi32>, i32
  scf.while : () -> () {
    gpu_async.collective all_reduce<max> %largest, %x : memref<1xi32>, memref<1xi32>
    // A kernel may read it.
    gpu_async.launch @k::@add blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%largest : memref<1xi32>, %x : memref<1xi32>)
    gpu_async.memcpy %h, %largest : memref<1xi32>, memref<1xi32>
    %v = memref.load %h[%c0] : memref<1xi32>
    %more = arith.cmpi slt, %v, %ten : i32
    scf.condition(%more)
  } do {
    scf.yield
  }
  gpu_async.memcpy %h, %x : memref<1xi32>, memref<1xi32>
  %v = memref.load %h[%c0] : memref<1xi32>
  return %v : i32
}

// In other blocks and functions, all writes to the memory count.
// CHECK-LABEL: func.func private @gather
func.func private @gather(%x: memref<1xi32>, %all: memref<4xi32>, %h: memref<4xi32>) {
  gpu_async.collective all_gather %all, %x : memref<4xi32>, memref<1xi32>
  gpu_async.memcpy %h, %all : memref<4xi32>, memref<4xi32>
  return
}
// CHECK-LABEL: func.func @elsewhere
func.func @elsewhere(%x: memref<1xi32>, %i: index) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %all = gpu_async.alloc () : memref<4xi32>
  %h = memref.alloc() : memref<4xi32>
  gpu_async.memset %all, %zero : memref<4xi32>, i32
  memref.store %zero, %h[%i] : memref<4xi32>
  call @gather(%x, %all, %h) : (memref<1xi32>, memref<4xi32>, memref<4xi32>) -> ()
  %view = memref.subview %h[2] [1] [1] : memref<4xi32> to memref<1xi32, strided<[1], offset: 2>>
  %v = memref.load %view[%c0] : memref<1xi32, strided<[1], offset: 2>>
  %t = memref.get_global @table : memref<2xi32>
  %w = memref.load %t[%c0] : memref<2xi32>
  %is = arith.cmpi eq, %v, %w : i32
  scf.if %is {
    gpu_async.collective barrier
  }
  return
}

// Arrays of the caller, after a collective. A kernel writes its own memory.
// CHECK-LABEL: func.func @arrays
func.func @arrays(%x: memref<1xi32>, %h: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %y = gpu_async.alloc () : memref<1xi32>
  gpu_async.collective broadcast<0> %x, %x : memref<1xi32>, memref<1xi32>
  gpu_async.launch @k::@add blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<1xi32>, %y : memref<1xi32>)
  gpu_async.memcpy %h, %x : memref<1xi32>, memref<1xi32>
  %v = memref.load %h[%c0] : memref<1xi32>
  %is = arith.cmpi eq, %v, %zero : i32
  scf.if %is {
    gpu_async.collective barrier
  }
  return
}

// In the group of the sum.
// CHECK-LABEL: func.func @group
func.func @group(%x: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %h = memref.alloc() : memref<1xi32>
  gpu_async.collective all_reduce<sum> group(@rows) %x, %x : memref<1xi32>, memref<1xi32>
  gpu_async.memcpy %h, %x : memref<1xi32>, memref<1xi32>
  %v = memref.load %h[%c0] : memref<1xi32>
  %is = arith.cmpi eq, %v, %zero : i32
  scf.if %is {
    gpu_async.collective barrier group(@rows)
  }
  return
}

// Blocks: an early end, and a loop with two exits.
// CHECK-LABEL: func.func @blocks
func.func @blocks(%b: i1, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  cf.cond_br %b, ^end(%c0 : index), ^loop(%c0 : index)
^loop(%i: index):
  gpu_async.collective barrier
  %more = arith.cmpi ult, %i, %n : index
  cf.cond_br %more, ^next, ^end(%i : index)
^next:
  %j = arith.addi %i, %c1 : index
  %odd = arith.remui %j, %n : index
  %is = arith.cmpi eq, %odd, %c1 : index
  cf.cond_br %is, ^loop(%j : index), ^end(%j : index)
^end(%r: index):
  scf.for %k = %c0 to %r step %c1 {
    gpu_async.collective barrier
  }
  return %r : index
}
