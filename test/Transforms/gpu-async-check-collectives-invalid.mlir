// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives that some ranks of their group may not reach. Each error names the branch and the
// op that its condition comes from.
// RUN: gpu-opt %s --split-input-file --verify-diagnostics --gpu-async-structure-control-flow --gpu-async-check-collectives

func.func @branch() {
  %c0 = arith.constant 0 : index
  // expected-note @+1 {{since the value comes from 'gpu_async.rank' here}}
  %rank = gpu_async.rank
  %first = arith.cmpi eq, %rank, %c0 : index
  // expected-note @+1 {{ranks may part at this 'scf.if'}}
  scf.if %first {
    // expected-error @+1 {{'gpu_async.collective' op is under control flow that may differ between ranks; move it out, or use gpu_async.uniform to say that the value is the same on all ranks}}
    gpu_async.collective barrier
  } else {
    // One error is enough for a branch.
    gpu_async.collective barrier
  }
  return
}

// -----

func.func @nested(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-note @+1 {{since the value comes from 'gpu_async.rank' here}}
  %rank = gpu_async.rank
  %first = arith.cmpi eq, %rank, %c0 : index
  // expected-note @+1 {{ranks may part at this 'scf.if'}}
  scf.if %first {
    scf.for %i = %c0 to %n step %c1 {
      // expected-error @+1 {{may differ between ranks}}
      gpu_async.collective barrier
    }
  }
  return
}

// -----

func.func @bounds() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-note @+1 {{since the value comes from 'gpu_async.rank' here}}
  %rank = gpu_async.rank
  // expected-note @+1 {{ranks may part at this 'scf.for'}}
  scf.for %i = %c0 to %rank step %c1 {
    // expected-error @+1 {{may differ between ranks}}
    gpu_async.collective barrier
  }
  return
}

// -----

func.func @switch() {
  // expected-note @+1 {{since the value comes from 'gpu_async.rank' here}}
  %rank = gpu_async.rank
  // expected-note @+1 {{ranks may part at this 'scf.index_switch'}}
  scf.index_switch %rank
  case 1 {
    // expected-error @+1 {{may differ between ranks}}
    gpu_async.collective barrier
    scf.yield
  }
  default {
  }
  return
}

// -----

// The number of rounds comes out of a branch, by a value that a loop carries.
func.func @carried(%n: index, %b: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-note @+1 {{since the value comes from 'gpu_async.rank' here}}
  %rank = gpu_async.rank
  %first = arith.cmpi eq, %rank, %c0 : index
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0) -> index {
    %step = scf.if %first -> index {
      scf.yield %c0 : index
    } else {
      scf.yield %c1 : index
    }
    %t = arith.addi %s, %step : index
    scf.yield %t : index
  }
  // expected-note @+1 {{ranks may part at this 'scf.while'}}
  %r = scf.while (%i = %c0) : (index) -> index {
    %more = arith.cmpi ult, %i, %sum : index
    scf.condition(%more) %i : index
  } do {
  ^bb0(%i: index):
    // expected-error @+1 {{may differ between ranks}}
    gpu_async.collective barrier
    %next = arith.addi %i, %c1 : index
    scf.yield %next : index
  }
  return
}

// -----

// Memory of the caller differs, also if the caller is unknown.
func.func @argument(%x: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  // expected-note @+1 {{since the value comes from 'memref.load' here}}
  %v = memref.load %x[%c0] : memref<1xi32>
  %is = arith.cmpi eq, %v, %zero : i32
  // expected-note @+1 {{ranks may part at this 'scf.if'}}
  scf.if %is {
    // expected-error @+1 {{may differ between ranks}}
    gpu_async.collective barrier
  }
  return
}

// -----

// The last write is not the one of the collective.
func.func @overwritten() {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %rank = gpu_async.rank
  %r = arith.index_cast %rank : index to i32
  %x = gpu_async.alloc () : memref<1xi32>
  %h = memref.alloc() : memref<1xi32>
  gpu_async.collective all_reduce<sum> %x, %x : memref<1xi32>, memref<1xi32>
  gpu_async.memcpy %h, %x : memref<1xi32>, memref<1xi32>
  memref.store %r, %h[%c0] : memref<1xi32>
  // expected-note @+1 {{since the value comes from 'memref.load' here}}
  %v = memref.load %h[%c0] : memref<1xi32>
  %is = arith.cmpi eq, %v, %zero : i32
  // expected-note @+1 {{ranks may part at this 'scf.if'}}
  scf.if %is {
    // expected-error @+1 {{may differ between ranks}}
    gpu_async.collective barrier
  }
  return
}

// -----

// Uniform values, stored on some ranks only.
func.func @stored_under_branch() {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %rank = gpu_async.rank
  %first = arith.cmpi eq, %rank, %c0 : index
  %h = memref.alloc() : memref<1xi32>
  memref.store %one, %h[%c0] : memref<1xi32>
  scf.if %first {
    memref.store %zero, %h[%c0] : memref<1xi32>
  }
  // expected-note @+1 {{since the value comes from 'memref.load' here}}
  %v = memref.load %h[%c0] : memref<1xi32>
  %is = arith.cmpi eq, %v, %zero : i32
  // expected-note @+1 {{ranks may part at this 'scf.if'}}
  scf.if %is {
    // expected-error @+1 {{may differ between ranks}}
    gpu_async.collective barrier
  }
  return
}

// -----

// Uniform memory, at an index that differs.
func.func @index(%n: index) {
  %zero = arith.constant 0 : i32
  // expected-note @+1 {{since the value comes from 'gpu_async.rank' here}}
  %rank = gpu_async.rank
  %h = memref.alloc() : memref<4xi32>
  memref.store %zero, %h[%n] : memref<4xi32>
  %v = memref.load %h[%rank] : memref<4xi32>
  %is = arith.cmpi eq, %v, %zero : i32
  // expected-note @+1 {{ranks may part at this 'scf.if'}}
  scf.if %is {
    // expected-error @+1 {{may differ between ranks}}
    gpu_async.collective barrier
  }
  return
}

// -----

// A kernel writes after the collective.
module attributes {gpu.container_module} {
gpu.module @k {
  gpu.func @add(%x: memref<1xi32>, %v: i32) kernel {
    %c0 = arith.constant 0 : index
    %a = memref.load %x[%c0] : memref<1xi32>
    %s = arith.addi %a, %v : i32
    memref.store %s, %x[%c0] : memref<1xi32>
    gpu.return
  }
}
func.func @kernel(%v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = gpu_async.alloc () : memref<1xi32>
  %h = memref.alloc() : memref<1xi32>
  gpu_async.collective all_reduce<sum> %x, %x : memref<1xi32>, memref<1xi32>
  gpu_async.launch @k::@add blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<1xi32>, %v : i32)
  gpu_async.memcpy %h, %x : memref<1xi32>, memref<1xi32>
  // expected-note @+1 {{since the value comes from 'memref.load' here}}
  %w = memref.load %h[%c0] : memref<1xi32>
  %is = arith.cmpi eq, %w, %v : i32
  // expected-note @+1 {{ranks may part at this 'scf.if'}}
  scf.if %is {
    // expected-error @+1 {{may differ between ranks}}
    gpu_async.collective barrier
  }
  return
}
}

// -----

// Each rank gets a part of its own.
func.func @scattered() {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %x = gpu_async.alloc () : memref<4xi32>
  %y = gpu_async.alloc () : memref<4xi32>
  %h = memref.alloc() : memref<4xi32>
  gpu_async.collective all_to_all %y, %x : memref<4xi32>, memref<4xi32>
  gpu_async.memcpy %h, %y : memref<4xi32>, memref<4xi32>
  // expected-note @+1 {{since the value comes from 'memref.load' here}}
  %v = memref.load %h[%c0] : memref<4xi32>
  %is = arith.cmpi eq, %v, %zero : i32
  // expected-note @+1 {{ranks may part at this 'scf.if'}}
  scf.if %is {
    // expected-error @+1 {{may differ between ranks}}
    gpu_async.collective barrier
  }
  return
}

// -----

// The sum of a row is the same in the row only.
gpu_async.group @rows grid [2, 2] axes [1]
gpu_async.group @columns grid [2, 2] axes [0]
func.func @groups(%x: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %h = memref.alloc() : memref<1xi32>
  gpu_async.collective all_reduce<sum> group(@rows) %x, %x : memref<1xi32>, memref<1xi32>
  gpu_async.memcpy %h, %x : memref<1xi32>, memref<1xi32>
  // expected-note @+1 {{since the value comes from 'memref.load' here}}
  %v = memref.load %h[%c0] : memref<1xi32>
  %is = arith.cmpi eq, %v, %zero : i32
  // expected-note @+1 {{ranks may part at this 'scf.if'}}
  scf.if %is {
    gpu_async.collective barrier group(@rows)
    // expected-error @+1 {{may differ between ranks of the group @columns;}}
    gpu_async.collective barrier group(@columns)
  }
  return
}

// -----

// A call under a branch, and a branch in a called function.
func.func private @inner() {
  // expected-error @+1 {{may differ between ranks}}
  gpu_async.collective barrier
  return
}
func.func private @outer() {
  // expected-note @+1 {{it is called here}}
  call @inner() : () -> ()
  return
}
func.func @calls() {
  %c0 = arith.constant 0 : index
  // expected-note @+1 {{since the value comes from 'gpu_async.rank' here}}
  %rank = gpu_async.rank
  %first = arith.cmpi eq, %rank, %c0 : index
  // expected-note @+1 {{ranks may part at this 'scf.if'}}
  scf.if %first {
    // expected-note @+1 {{it is called here}}
    func.call @outer() : () -> ()
  }
  return
}

// -----

func.func private @maybe(%b: i1) {
  // expected-note @+1 {{ranks may part at this 'scf.if'}}
  scf.if %b {
    // expected-error @+1 {{may differ between ranks}}
    gpu_async.collective barrier
  }
  return
}
func.func private @is_first() -> i1 {
  %c0 = arith.constant 0 : index
  // expected-note @+1 {{since the value comes from 'gpu_async.rank' here}}
  %rank = gpu_async.rank
  %first = arith.cmpi eq, %rank, %c0 : index
  return %first : i1
}
func.func @arguments(%b: i1) {
  call @maybe(%b) : (i1) -> ()
  %first = call @is_first() : () -> i1
  call @maybe(%first) : (i1) -> ()
  return
}

// -----

func.func private @outside() -> i1
func.func @external() {
  // expected-note @+1 {{since the value comes from 'func.call' here}}
  %b = call @outside() : () -> i1
  // expected-note @+1 {{ranks may part at this 'scf.if'}}
  scf.if %b {
    // expected-error @+1 {{may differ between ranks}}
    gpu_async.collective barrier
  }
  return
}

// -----

// Blocks become structured control flow first.
func.func @blocks() {
  %c0 = arith.constant 0 : index
  // expected-note @+1 {{since the value comes from 'gpu_async.rank' here}}
  %rank = gpu_async.rank
  %first = arith.cmpi eq, %rank, %c0 : index
  // expected-note @+1 {{ranks may part at this 'scf.if'}}
  cf.cond_br %first, ^end, ^then
^then:
  // expected-error @+1 {{may differ between ranks}}
  gpu_async.collective barrier
  cf.br ^end
^end:
  return
}

// -----

// The two arguments may be one array.
func.func @alias(%x: memref<1xi32>, %y: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %rank = gpu_async.rank
  %r = arith.index_cast %rank : index to i32
  gpu_async.collective all_reduce<sum> %x, %x : memref<1xi32>, memref<1xi32>
  memref.store %r, %y[%c0] : memref<1xi32>
  // expected-note @+1 {{since the value comes from 'memref.load' here}}
  %v = memref.load %x[%c0] : memref<1xi32>
  %is = arith.cmpi eq, %v, %zero : i32
  // expected-note @+1 {{ranks may part at this 'scf.if'}}
  scf.if %is {
    // expected-error @+1 {{may differ between ranks}}
    gpu_async.collective barrier
  }
  return
}

// -----

// A pointer of it goes to unknown code.
func.func private @outside(index)
func.func @escapes() {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %h = memref.alloc() : memref<1xi32>
  memref.store %zero, %h[%c0] : memref<1xi32>
  %p = memref.extract_aligned_pointer_as_index %h : memref<1xi32> -> index
  call @outside(%p) : (index) -> ()
  // expected-note @+1 {{since the value comes from 'memref.load' here}}
  %v = memref.load %h[%c0] : memref<1xi32>
  %is = arith.cmpi eq, %v, %zero : i32
  // expected-note @+1 {{ranks may part at this 'scf.if'}}
  scf.if %is {
    // expected-error @+1 {{may differ between ranks}}
    gpu_async.collective barrier
  }
  return
}

// -----

// One of two memrefs, both uniform.
func.func @select() {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %g = memref.alloc() : memref<1xi32>
  %h = memref.alloc() : memref<1xi32>
  memref.store %zero, %g[%c0] : memref<1xi32>
  memref.store %one, %h[%c0] : memref<1xi32>
  // expected-note @+1 {{since the value comes from 'gpu_async.rank' here}}
  %rank = gpu_async.rank
  %first = arith.cmpi eq, %rank, %c0 : index
  %m = arith.select %first, %g, %h : memref<1xi32>
  %v = memref.load %m[%c0] : memref<1xi32>
  %is = arith.cmpi eq, %v, %zero : i32
  // expected-note @+1 {{ranks may part at this 'scf.if'}}
  scf.if %is {
    // expected-error @+1 {{may differ between ranks}}
    gpu_async.collective barrier
  }
  return
}

// -----

// A function without device work keeps its blocks: the returns differ.
func.func private @choose(%b: i1) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  cf.cond_br %b, ^one, ^two
^one:
  return %c0 : index
^two:
  return %c1 : index
}
func.func @returns() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-note @+1 {{since the value comes from 'gpu_async.rank' here}}
  %rank = gpu_async.rank
  %first = arith.cmpi eq, %rank, %c0 : index
  %n = call @choose(%first) : (i1) -> index
  // expected-note @+1 {{ranks may part at this 'scf.for'}}
  scf.for %i = %c0 to %n step %c1 {
    // expected-error @+1 {{may differ between ranks}}
    gpu_async.collective barrier
  }
  return
}

// -----

// A value is the same in each row, and not on all ranks, or in columns.
gpu_async.group @rows grid [2, 2] axes [1]
gpu_async.group @columns grid [2, 2] axes [0]
func.func @uniform_in_rows(%x: memref<1xi1>) {
  %c0 = arith.constant 0 : index
  // expected-note @+1 {{since the value comes from 'memref.load' here}}
  %v = memref.load %x[%c0] : memref<1xi1>
  %same = gpu_async.uniform %v group(@rows) : i1
  // expected-note @+1 {{ranks may part at this 'scf.if'}}
  scf.if %same {
    // expected-error @+1 {{may differ between ranks; move it out}}
    gpu_async.collective barrier
  }
  // expected-note @+1 {{ranks may part at this 'scf.if'}}
  scf.if %same {
    // expected-error @+1 {{may differ between ranks of the group @columns}}
    gpu_async.collective barrier group(@columns)
  }
  return
}
