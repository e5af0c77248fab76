// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each run of an alloca makes memory of its own: what a loop carries from an earlier round is
// not what this round writes. With barriers in the loop, and without.
// RUN: gpu-runner --device=cpu -O0 %s | FileCheck %s
// RUN: gpu-runner --device=cpu -O3 %s | FileCheck %s
// RUN: gpu-runner --device=cpu --check %s | FileCheck %s

// From the round before.
// CHECK: [130, 134, 138, {{.*}} 266]
// From two rounds before.
// CHECK: [310, 314, 318, {{.*}} 446]
// From a round that a condition chose, however long ago.
// CHECK: [180, 186, 192, {{.*}} 384]
// From an inner loop of the round before.
// CHECK: [3066, 3078, 3090, {{.*}} 3474]
// Branches, the LLVM dialect.
// CHECK: [130, 134, 138, {{.*}} 266]
// CHECK: [130, 134, 138, {{.*}} 266]
// Views, and results of branches in which the memory was made.
// CHECK: [130, 134, 138, {{.*}} 266]
// In a function that is copied to its call, twice.
// CHECK: [260, 268, 276, {{.*}} 532]
// Without barriers: through an inner loop.
// CHECK: [130, 134, 138, {{.*}} 266]
// A million rounds on one stack.
// CHECK: [1000001, 1000002, 1000003, {{.*}} 1000035]
module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @one_round(%out: memref<?xi32>) kernel {
      %t = gpu.thread_id x
      %ti = arith.index_cast %t : index to i32
      %c0 = arith.constant 0 : index
      %i0 = arith.constant 0 : i32
      %i1 = arith.constant 1 : i32
      %i4 = arith.constant 4 : i32
      %i10 = arith.constant 10 : i32
      %i100 = arith.constant 100 : i32
      %first = memref.alloca() : memref<4xi32>
      %x = arith.addi %ti, %i100 : i32
      memref.store %x, %first[%c0] : memref<4xi32>
      %r:3 = scf.while (%i = %i0, %p = %first, %sum = %i0) : (i32, memref<4xi32>, i32) -> (i32, memref<4xi32>, i32) {
        %more = arith.cmpi slt, %i, %i4 : i32
        scf.condition(%more) %i, %p, %sum : i32, memref<4xi32>, i32
      } do {
      ^bb0(%i: i32, %p: memref<4xi32>, %sum: i32):
        gpu.barrier
        %new = memref.alloca() : memref<4xi32>
        %tens = arith.muli %i, %i10 : i32
        %y = arith.addi %tens, %ti : i32
        memref.store %y, %new[%c0] : memref<4xi32>
        gpu.barrier
        %old = memref.load %p[%c0] : memref<4xi32>
        %s = arith.addi %sum, %old : i32
        %n = arith.addi %i, %i1 : i32
        scf.yield %n, %new, %s : i32, memref<4xi32>, i32
      }
      memref.store %r#2, %out[%t] : memref<?xi32>
      gpu.return
    }

    gpu.func @two_rounds(%out: memref<?xi32>) kernel {
      %t = gpu.thread_id x
      %ti = arith.index_cast %t : index to i32
      %c0 = arith.constant 0 : index
      %i0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %i10 = arith.constant 10 : i32
      %i100 = arith.constant 100 : i32
      %i200 = arith.constant 200 : i32
      %first = memref.alloca() : memref<4xi32>
      %x = arith.addi %ti, %i100 : i32
      memref.store %x, %first[%c0] : memref<4xi32>
      %second = memref.alloca() : memref<4xi32>
      %z = arith.addi %ti, %i200 : i32
      memref.store %z, %second[%c0] : memref<4xi32>
      %r:3 = scf.for %i = %c0 to %c4 step %c1 iter_args(%p = %second, %q = %first, %sum = %i0) -> (memref<4xi32>, memref<4xi32>, i32) {
        gpu.barrier
        %new = memref.alloca() : memref<4xi32>
        %ii = arith.index_cast %i : index to i32
        %tens = arith.muli %ii, %i10 : i32
        %y = arith.addi %tens, %ti : i32
        memref.store %y, %new[%c0] : memref<4xi32>
        gpu.barrier
        %old = memref.load %q[%c0] : memref<4xi32>
        %s = arith.addi %sum, %old : i32
        scf.yield %new, %p, %s : memref<4xi32>, memref<4xi32>, i32
      }
      memref.store %r#2, %out[%t] : memref<?xi32>
      gpu.return
    }

    gpu.func @chosen(%out: memref<?xi32>) kernel {
      %t = gpu.thread_id x
      %ti = arith.index_cast %t : index to i32
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c6 = arith.constant 6 : index
      %i0 = arith.constant 0 : i32
      %i1 = arith.constant 1 : i32
      %i10 = arith.constant 10 : i32
      %i100 = arith.constant 100 : i32
      %first = memref.alloca() : memref<4xi32>
      %x = arith.addi %ti, %i100 : i32
      memref.store %x, %first[%c0] : memref<4xi32>
      %r:2 = scf.for %i = %c0 to %c6 step %c1 iter_args(%p = %first, %sum = %i0) -> (memref<4xi32>, i32) {
        gpu.barrier
        %new = memref.alloca() : memref<4xi32>
        %ii = arith.index_cast %i : index to i32
        %tens = arith.muli %ii, %i10 : i32
        %y = arith.addi %tens, %ti : i32
        memref.store %y, %new[%c0] : memref<4xi32>
        gpu.barrier
        %old = memref.load %p[%c0] : memref<4xi32>
        %s = arith.addi %sum, %old : i32
        %bit = arith.andi %ii, %i1 : i32
        %even = arith.cmpi eq, %bit, %i0 : i32
        %next = arith.select %even, %new, %p : memref<4xi32>
        scf.yield %next, %s : memref<4xi32>, i32
      }
      memref.store %r#1, %out[%t] : memref<?xi32>
      gpu.return
    }

    gpu.func @nested(%out: memref<?xi32>) kernel {
      %t = gpu.thread_id x
      %ti = arith.index_cast %t : index to i32
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %i0 = arith.constant 0 : i32
      %i10 = arith.constant 10 : i32
      %i1000 = arith.constant 1000 : i32
      %first = memref.alloca() : memref<4xi32>
      %x = arith.addi %ti, %i1000 : i32
      memref.store %x, %first[%c0] : memref<4xi32>
      %r:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%o = %first, %sum = %i0) -> (memref<4xi32>, i32) {
        %ii = arith.index_cast %i : index to i32
        %q:2 = scf.for %j = %c0 to %c2 step %c1 iter_args(%p = %o, %acc = %sum) -> (memref<4xi32>, i32) {
          gpu.barrier
          %new = memref.alloca() : memref<4xi32>
          %ji = arith.index_cast %j : index to i32
          %tens = arith.muli %ii, %i10 : i32
          %y = arith.addi %tens, %ti : i32
          %z = arith.addi %y, %ji : i32
          memref.store %z, %new[%c0] : memref<4xi32>
          gpu.barrier
          %old = memref.load %p[%c0] : memref<4xi32>
          %older = memref.load %o[%c0] : memref<4xi32>
          %s = arith.addi %acc, %old : i32
          %s2 = arith.addi %s, %older : i32
          scf.yield %new, %s2 : memref<4xi32>, i32
        }
        scf.yield %q#0, %q#1 : memref<4xi32>, i32
      }
      memref.store %r#1, %out[%t] : memref<?xi32>
      gpu.return
    }

    gpu.func @branches(%out: memref<?xi32>) kernel {
      %t = gpu.thread_id x
      %ti = arith.index_cast %t : index to i32
      %c0 = arith.constant 0 : index
      %i0 = arith.constant 0 : i32
      %i1 = arith.constant 1 : i32
      %i4 = arith.constant 4 : i32
      %i10 = arith.constant 10 : i32
      %i100 = arith.constant 100 : i32
      %first = memref.alloca() : memref<4xi32>
      %x = arith.addi %ti, %i100 : i32
      memref.store %x, %first[%c0] : memref<4xi32>
      cf.br ^head(%i0, %first, %i0 : i32, memref<4xi32>, i32)
    ^head(%i: i32, %p: memref<4xi32>, %sum: i32):
      %more = arith.cmpi slt, %i, %i4 : i32
      cf.cond_br %more, ^body, ^leave
    ^body:
      gpu.barrier
      %new = memref.alloca() : memref<4xi32>
      %tens = arith.muli %i, %i10 : i32
      %y = arith.addi %tens, %ti : i32
      memref.store %y, %new[%c0] : memref<4xi32>
      gpu.barrier
      %old = memref.load %p[%c0] : memref<4xi32>
      %s = arith.addi %sum, %old : i32
      %n = arith.addi %i, %i1 : i32
      cf.br ^head(%n, %new, %s : i32, memref<4xi32>, i32)
    ^leave:
      memref.store %sum, %out[%t] : memref<?xi32>
      gpu.return
    }

    llvm.func @llvm(%out: !llvm.ptr) attributes {gpu.kernel} {
      %ti = nvvm.read.ptx.sreg.tid.x : i32
      %i0 = llvm.mlir.constant(0 : i32) : i32
      %i1 = llvm.mlir.constant(1 : i32) : i32
      %i4 = llvm.mlir.constant(4 : i32) : i32
      %i10 = llvm.mlir.constant(10 : i32) : i32
      %i100 = llvm.mlir.constant(100 : i32) : i32
      %first = llvm.alloca %i4 x i32 : (i32) -> !llvm.ptr
      // One past the end, as loops over an array keep it.
      %past = llvm.getelementptr inbounds %first[4] : (!llvm.ptr) -> !llvm.ptr, i32
      %x = llvm.add %ti, %i100 : i32
      llvm.store %x, %first : i32, !llvm.ptr
      llvm.br ^head(%i0, %past, %i0 : i32, !llvm.ptr, i32)
    ^head(%i: i32, %p: !llvm.ptr, %sum: i32):
      %more = llvm.icmp "slt" %i, %i4 : i32
      llvm.cond_br %more, ^body, ^leave
    ^body:
      nvvm.barrier0
      %new = llvm.alloca %i4 x i32 : (i32) -> !llvm.ptr
      llvm.intr.lifetime.start %new : !llvm.ptr
      %tens = llvm.mul %i, %i10 : i32
      %y = llvm.add %tens, %ti : i32
      llvm.store %y, %new : i32, !llvm.ptr
      nvvm.barrier0
      %begin = llvm.getelementptr inbounds %p[-4] : (!llvm.ptr) -> !llvm.ptr, i32
      %old = llvm.load %begin : !llvm.ptr -> i32
      %s = llvm.add %sum, %old : i32
      %n = llvm.add %i, %i1 : i32
      %end = llvm.getelementptr inbounds %new[4] : (!llvm.ptr) -> !llvm.ptr, i32
      llvm.br ^head(%n, %end, %s : i32, !llvm.ptr, i32)
    ^leave:
      %o = llvm.getelementptr %out[%ti] : (!llvm.ptr, i32) -> !llvm.ptr, i32
      llvm.store %sum, %o : i32, !llvm.ptr
      llvm.return
    }

    gpu.func @views(%out: memref<?xi32>) kernel {
      %t = gpu.thread_id x
      %ti = arith.index_cast %t : index to i32
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      %i0 = arith.constant 0 : i32
      %i10 = arith.constant 10 : i32
      %i100 = arith.constant 100 : i32
      %first = memref.alloca() : memref<2xi32>
      %x = arith.addi %ti, %i100 : i32
      memref.store %x, %first[%c0] : memref<2xi32>
      %firstview = memref.cast %first : memref<2xi32> to memref<2xi32, strided<[1], offset: ?>>
      %r:2 = scf.for %i = %c0 to %c4 step %c1 iter_args(%p = %firstview, %sum = %i0) -> (memref<2xi32, strided<[1], offset: ?>>, i32) {
        %ii = arith.index_cast %i : index to i32
        %tens = arith.muli %ii, %i10 : i32
        %y = arith.addi %tens, %ti : i32
        gpu.barrier
        %late = arith.cmpi uge, %i, %c2 : index
        %new = scf.if %late -> (memref<2xi32, strided<[1], offset: ?>>) {
          %bytes = memref.alloca() {alignment = 16} : memref<24xi8>
          %at = arith.constant 8 : index
          %four = memref.view %bytes[%at][] : memref<24xi8> to memref<4xi32>
          %two = memref.subview %four[2] [2] [1] : memref<4xi32> to memref<2xi32, strided<[1], offset: 2>>
          %any = memref.cast %two : memref<2xi32, strided<[1], offset: 2>> to memref<2xi32, strided<[1], offset: ?>>
          memref.store %y, %any[%c0] : memref<2xi32, strided<[1], offset: ?>>
          gpu.barrier
          scf.yield %any : memref<2xi32, strided<[1], offset: ?>>
        } else {
          %many = memref.alloca() : memref<2x2xi32>
          %two = memref.reinterpret_cast %many to offset: [1], sizes: [2], strides: [1] : memref<2x2xi32> to memref<2xi32, strided<[1], offset: 1>>
          %any = memref.cast %two : memref<2xi32, strided<[1], offset: 1>> to memref<2xi32, strided<[1], offset: ?>>
          memref.store %y, %any[%c0] : memref<2xi32, strided<[1], offset: ?>>
          scf.yield %any : memref<2xi32, strided<[1], offset: ?>>
        }
        gpu.barrier
        %old = memref.load %p[%c0] : memref<2xi32, strided<[1], offset: ?>>
        %s = arith.addi %sum, %old : i32
        scf.yield %new, %s : memref<2xi32, strided<[1], offset: ?>>, i32
      }
      memref.store %r#1, %out[%t] : memref<?xi32>
      gpu.return
    }

    func.func private @loop(%ti: i32, %first: memref<4xi32>) -> i32 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %i0 = arith.constant 0 : i32
      %i10 = arith.constant 10 : i32
      %r:2 = scf.for %i = %c0 to %c4 step %c1 iter_args(%p = %first, %sum = %i0) -> (memref<4xi32>, i32) {
        %ii = arith.index_cast %i : index to i32
        %tens = arith.muli %ii, %i10 : i32
        %y = arith.addi %tens, %ti : i32
        gpu.barrier
        %new = memref.alloca() : memref<4xi32>
        func.call @put(%new, %y) : (memref<4xi32>, i32) -> ()
        gpu.barrier
        %old = memref.load %p[%c0] : memref<4xi32>
        %s = arith.addi %sum, %old : i32
        scf.yield %new, %s : memref<4xi32>, i32
      }
      return %r#1 : i32
    }
    func.func private @put(%m: memref<4xi32>, %y: i32) {
      %c0 = arith.constant 0 : index
      memref.store %y, %m[%c0] : memref<4xi32>
      return
    }
    gpu.func @functions(%out: memref<?xi32>) kernel {
      %t = gpu.thread_id x
      %ti = arith.index_cast %t : index to i32
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %i0 = arith.constant 0 : i32
      %i100 = arith.constant 100 : i32
      %x = arith.addi %ti, %i100 : i32
      %r = scf.for %i = %c0 to %c2 step %c1 iter_args(%sum = %i0) -> (i32) {
        %first = memref.alloca() : memref<4xi32>
        memref.store %x, %first[%c0] : memref<4xi32>
        %s = func.call @loop(%ti, %first) : (i32, memref<4xi32>) -> i32
        %n = arith.addi %sum, %s : i32
        scf.yield %n : i32
      }
      memref.store %r, %out[%t] : memref<?xi32>
      gpu.return
    }

    gpu.func @without_barrier(%out: memref<?xi32>) kernel {
      %t = gpu.thread_id x
      %ti = arith.index_cast %t : index to i32
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %i0 = arith.constant 0 : i32
      %i10 = arith.constant 10 : i32
      %i100 = arith.constant 100 : i32
      %first = memref.alloca() : memref<4xi32>
      %x = arith.addi %ti, %i100 : i32
      memref.store %x, %first[%c0] : memref<4xi32>
      %n = memref.dim %out, %c0 : memref<?xi32>
      %r:2 = scf.for %i = %c0 to %c4 step %c1 iter_args(%p = %first, %sum = %i0) -> (memref<4xi32>, i32) {
        %ii = arith.index_cast %i : index to i32
        %tens = arith.muli %ii, %i10 : i32
        %y = arith.addi %tens, %ti : i32
        %new = memref.alloca() : memref<4xi32>
        memref.store %y, %new[%c0] : memref<4xi32>
        %old = memref.load %p[%c0] : memref<4xi32>
        %s = arith.addi %sum, %old : i32
        %same:2 = affine.for %j = 0 to 2 iter_args(%q = %new, %w = %p) -> (memref<4xi32>, memref<4xi32>) {
          affine.yield %w, %q : memref<4xi32>, memref<4xi32>
        }
        scf.yield %same#0, %s : memref<4xi32>, i32
      }
      memref.store %r#1, %out[%t] : memref<?xi32>
      gpu.return
    }

    gpu.func @many_rounds(%out: memref<?xi32>) kernel {
      %t = gpu.thread_id x
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %many = arith.constant 1000000 : index
      %i1 = arith.constant 1 : i32
      %first = memref.alloca() : memref<16xi32>
      %ti = arith.index_cast %t : index to i32
      memref.store %ti, %first[%c0] : memref<16xi32>
      %last = scf.for %i = %c0 to %many step %c1 iter_args(%p = %first) -> (memref<16xi32>) {
        %new = memref.alloca() : memref<16xi32>
        %old = memref.load %p[%c0] : memref<16xi32>
        %y = arith.addi %old, %i1 : i32
        memref.store %y, %new[%c0] : memref<16xi32>
        scf.yield %new : memref<16xi32>
      }
      %z = memref.load %last[%c0] : memref<16xi32>
      %w = arith.addi %z, %i1 : i32
      memref.store %w, %out[%t] : memref<?xi32>
      gpu.return
    }
  }

  func.func @main() {
    %c1 = arith.constant 1 : index
    %c35 = arith.constant 35 : index
    %d = gpu.alloc (%c35) : memref<?xi32>
    %i = memref.extract_aligned_pointer_as_index %d : memref<?xi32> -> index
    %j = arith.index_cast %i : index to i64
    %p = llvm.inttoptr %j : i64 to !llvm.ptr
    gpu.launch_func @k::@one_round blocks in (%c1, %c1, %c1) threads in (%c35, %c1, %c1) args(%d : memref<?xi32>)
    call @show(%d) : (memref<?xi32>) -> ()
    gpu.launch_func @k::@two_rounds blocks in (%c1, %c1, %c1) threads in (%c35, %c1, %c1) args(%d : memref<?xi32>)
    call @show(%d) : (memref<?xi32>) -> ()
    gpu.launch_func @k::@chosen blocks in (%c1, %c1, %c1) threads in (%c35, %c1, %c1) args(%d : memref<?xi32>)
    call @show(%d) : (memref<?xi32>) -> ()
    gpu.launch_func @k::@nested blocks in (%c1, %c1, %c1) threads in (%c35, %c1, %c1) args(%d : memref<?xi32>)
    call @show(%d) : (memref<?xi32>) -> ()
    gpu.launch_func @k::@branches blocks in (%c1, %c1, %c1) threads in (%c35, %c1, %c1) args(%d : memref<?xi32>)
    call @show(%d) : (memref<?xi32>) -> ()
    gpu.launch_func @k::@llvm blocks in (%c1, %c1, %c1) threads in (%c35, %c1, %c1) args(%p : !llvm.ptr)
    call @show(%d) : (memref<?xi32>) -> ()
    gpu.launch_func @k::@views blocks in (%c1, %c1, %c1) threads in (%c35, %c1, %c1) args(%d : memref<?xi32>)
    call @show(%d) : (memref<?xi32>) -> ()
    gpu.launch_func @k::@functions blocks in (%c1, %c1, %c1) threads in (%c35, %c1, %c1) args(%d : memref<?xi32>)
    call @show(%d) : (memref<?xi32>) -> ()
    gpu.launch_func @k::@without_barrier blocks in (%c1, %c1, %c1) threads in (%c35, %c1, %c1) args(%d : memref<?xi32>)
    call @show(%d) : (memref<?xi32>) -> ()
    gpu.launch_func @k::@many_rounds blocks in (%c1, %c1, %c1) threads in (%c35, %c1, %c1) args(%d : memref<?xi32>)
    call @show(%d) : (memref<?xi32>) -> ()
    gpu.dealloc %d : memref<?xi32>
    return
  }

  func.func private @show(%d: memref<?xi32>) {
    %o = memref.alloc() : memref<35xi32>
    %v = memref.cast %d : memref<?xi32> to memref<35xi32>
    gpu.memcpy %o, %v : memref<35xi32>, memref<35xi32>
    %u = memref.cast %o : memref<35xi32> to memref<*xi32>
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    memref.dealloc %o : memref<35xi32>
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
