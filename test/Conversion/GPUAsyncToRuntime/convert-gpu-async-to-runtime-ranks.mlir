// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A collective is a call of a library with a constant table, the destination and
// the source, and their numbers of elements. Equal collectives have one table, as
// has each group. Numbers of ranks are calls, and an error of the frame shows
// behind them.
// RUN: gpu-opt %s --convert-gpu-async-to-runtime | FileCheck %s

gpu_async.group @rows grid [2, 3] axes [1]
gpu_async.group @columns grid [2, 3] axes [0]
gpu_async.group @cube grid [2, 2, 2] axes [2, 0]
gpu_async.group @pairs ranks [[5, 0], [1, 4], [3, 2]]
gpu_async.group @unused grid [6] axes [0]

// CHECK-LABEL: llvm.func @collectives(
// CHECK:         %[[S:.+]] = llvm.call @gpuasync_stream_create_urgent(%[[FRAME:[^,]+]],
// CHECK:         %[[TABLE:.+]] = llvm.mlir.addressof @[[$REDUCE:_gpuasync_collective(_[0-9]+)?]] :
// CHECK:         %[[BYTES:.+]] = llvm.call @gpuasync_extent(
// CHECK:         %[[COUNT:.+]] = llvm.lshr %[[BYTES]], %{{.+}} : i64
// CHECK:         %[[TO:.+]] = llvm.getelementptr %{{.+}}[%{{.+}}] : (!llvm.ptr, i64) -> !llvm.ptr, f16
// CHECK:         %[[COUNT2:.+]] = llvm.lshr %[[BYTES]], %{{.+}} : i64
// CHECK:         %[[FROM:.+]] = llvm.getelementptr %{{.+}}[%{{.+}}] : (!llvm.ptr, i64) -> !llvm.ptr, f16
// CHECK:         llvm.store %[[S]], %[[STREAMS:.+]] : !llvm.ptr, !llvm.ptr
// CHECK:         %[[CALL:.+]] = llvm.call @gpuasync_call_begin(%[[FRAME]], %[[STREAMS]], %{{.+}}, %[[SITE:.+]]) {gpu_async.after = array<i64: 3>, gpu_async.id = 4 : i64} : (!llvm.ptr, !llvm.ptr, i32, i32) -> !llvm.ptr
// CHECK:         llvm.cond_br %{{.+}}, ^[[DO:bb[0-9]+]], ^[[REST:bb[0-9]+]]
// CHECK:       ^[[DO]]:
// CHECK-NEXT:    %[[RESULT:.+]] = llvm.call @gpuasync_collective_enqueue(%[[CALL]], %[[TABLE]], %[[TO]], %[[COUNT]], %[[FROM]], %[[COUNT2]]) : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, !llvm.ptr, i64) -> i32
// CHECK-NEXT:    llvm.call @gpuasync_call_end(%[[FRAME]], %[[RESULT]], %[[SITE]])
// CHECK-NEXT:    llvm.br ^[[REST]]
// CHECK:         llvm.mlir.addressof @[[$REDUCE]] :
// CHECK:         llvm.call @gpuasync_collective_enqueue(
// CHECK:         llvm.mlir.addressof @[[$GATHER:_gpuasync_collective(_[0-9]+)?]] :
// CHECK:         %[[EIGHT:.+]] = llvm.mlir.constant(8 : i64)
// CHECK:         %[[FOUR:.+]] = llvm.mlir.constant(4 : i64)
// CHECK:         llvm.call @gpuasync_collective_enqueue(%{{.+}}, %{{.+}}, %{{.+}}, %[[EIGHT]], %{{.+}}, %[[FOUR]])
// CHECK:         llvm.mlir.addressof @[[$PERMUTE:_gpuasync_collective(_[0-9]+)?]] :
// CHECK:         llvm.mlir.addressof @[[$BROADCAST:_gpuasync_collective(_[0-9]+)?]] :
// CHECK:         llvm.mlir.addressof @[[$OVERLAPPED:_gpuasync_collective(_[0-9]+)?]] :
// CHECK:         %[[BARRIER:.+]] = llvm.mlir.addressof @[[$LAST:_gpuasync_collective(_[0-9]+)?]] :
// CHECK-NEXT:    %[[NULL:.+]] = llvm.mlir.zero : !llvm.ptr
// CHECK-NEXT:    %[[ZERO:.+]] = llvm.mlir.constant(0 : i64)
// CHECK-NEXT:    %[[NULL2:.+]] = llvm.mlir.zero : !llvm.ptr
// CHECK-NEXT:    %[[ZERO2:.+]] = llvm.mlir.constant(0 : i64)
// CHECK:         llvm.call @gpuasync_collective_enqueue(%{{.+}}, %[[BARRIER]], %[[NULL]], %[[ZERO]], %[[NULL2]], %[[ZERO2]])
func.func @collectives(%x: memref<?xf16, strided<[1], offset: ?>>, %y: memref<4xindex>, %z: memref<8xindex>, %w: memref<8xindex>) {
  %s = gpu_async.stream.create urgent
  gpu_async.collective on %s id(4 after [3]) all_reduce<sum> group(@rows) %x, %x : memref<?xf16, strided<[1], offset: ?>>, memref<?xf16, strided<[1], offset: ?>> loc("step.mlir":7:3)
  // The same line again, as when a loop is unrolled.
  gpu_async.collective on %s id(5 after [4]) all_reduce<sum> group(@rows) %x, %x : memref<?xf16, strided<[1], offset: ?>>, memref<?xf16, strided<[1], offset: ?>> loc("step.mlir":7:3)
  gpu_async.collective on %s all_gather group(@columns) %z, %y : memref<8xindex>, memref<4xindex> loc("step.mlir":8:3)
  gpu_async.collective on %s permute<[[0, 1], [1, 0]]> group(@pairs) %z, %w : memref<8xindex>, memref<8xindex> loc("step.mlir":9:3)
  gpu_async.collective on %s broadcast<2> group(@rows) %z, %z : memref<8xindex>, memref<8xindex> loc("step.mlir":10:3)
  gpu_async.collective on %s broadcast<2> group(@rows) %z, %z {overlapped} : memref<8xindex>, memref<8xindex> loc("step.mlir":10:3)
  gpu_async.collective on %s barrier loc("step.mlir":11:3)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// A function without device work of its own has a frame for them.
// CHECK-LABEL: llvm.func @numbers(
// CHECK:         llvm.call @gpuasync_frame_enter(%[[FRAME:[^,]+]],
// CHECK:         %[[ALL:.+]] = llvm.mlir.zero : !llvm.ptr
// CHECK:         %[[R:.+]] = llvm.call @gpuasync_group_rank(%[[FRAME]], %[[ALL]], %{{.+}}) : (!llvm.ptr, !llvm.ptr, i32) -> i64
// CHECK:         llvm.load %[[FRAME]] : !llvm.ptr -> i32
// CHECK:         llvm.cond_br %{{.+}} weights([1, 2000]), ^[[EXIT:bb[0-9]+]],
// CHECK:         %[[CUBE:.+]] = llvm.mlir.addressof @_gpuasync_group_cube
// CHECK:         %[[C:.+]] = llvm.call @gpuasync_group_rank(%[[FRAME]], %[[CUBE]],
// CHECK:         %[[N:.+]] = llvm.call @gpuasync_group_size(%[[FRAME]], %{{.+}}, %{{.+}}) : (!llvm.ptr, !llvm.ptr, i32) -> i64
// CHECK:         %[[ROWS:.+]] = llvm.mlir.addressof @_gpuasync_group_rows
// CHECK:         %[[M:.+]] = llvm.call @gpuasync_group_size(%[[FRAME]], %[[ROWS]],
// CHECK:         llvm.insertvalue %[[R]], %{{.+}}[0]
// CHECK:         llvm.insertvalue %[[C]], %{{.+}}[1]
// CHECK:         llvm.insertvalue %[[N]], %{{.+}}[2]
// CHECK:         llvm.insertvalue %[[M]], %{{.+}}[3]
func.func @numbers() -> (index, index, index, index) {
  %r = gpu_async.rank
  %c = gpu_async.rank @cube
  %n = gpu_async.size
  %m = gpu_async.size @rows
  return %r, %c, %n, %m : index, index, index, index
}

// A promise is its operand, and no work.
// CHECK-LABEL: llvm.func @promise(
// CHECK-SAME:    %[[X:.+]]: i64)
// CHECK-NEXT:    llvm.return %[[X]] : i64
func.func @promise(%x: index) -> index {
  %same = gpu_async.uniform %x : index
  return %same : index
}

// The tables hold what Ranks.h says: sizes, kinds, reductions and elements are
// its numbers.
// CHECK:       llvm.mlir.global internal constant @_gpuasync_members_rows(dense<[0, 1, 2, 3, 4, 5]>
// CHECK-LABEL: llvm.mlir.global internal constant @_gpuasync_group_rows()
// CHECK:         llvm.mlir.addressof @[[NAME:.+]] :
// CHECK:         llvm.mlir.constant(6 : i32)
// CHECK:         llvm.mlir.constant(3 : i32)
// CHECK:         llvm.mlir.addressof @_gpuasync_members_rows
// CHECK:       llvm.mlir.global internal constant @[[$REDUCE]]()
// CHECK:         llvm.mlir.constant(64 : i64)
// CHECK:         llvm.mlir.constant(1 : i32)
// CHECK:         llvm.mlir.constant(1 : i32)
// CHECK:         llvm.mlir.constant(6 : i32)
// CHECK:         llvm.mlir.constant(0 : i32)
// CHECK:         llvm.mlir.constant(0 : i32)
// CHECK:         llvm.mlir.constant(7 : i32)
// CHECK:         llvm.mlir.zero
// CHECK:         llvm.mlir.addressof @_gpuasync_group_rows
// CHECK:         llvm.mlir.addressof @[[FILE:.+]] :
// CHECK:         llvm.mlir.constant(0 : i32)
// CHECK-NEXT:    llvm.insertvalue {{.+}}[10]
// CHECK:       @_gpuasync_members_columns(dense<[0, 3, 1, 4, 2, 5]>
// CHECK:       @[[$GATHER]]()
// CHECK:         llvm.mlir.constant(2 : i32)
// CHECK:         llvm.mlir.constant(0 : i32)
// CHECK:         llvm.mlir.constant(5 : i32)
// CHECK:       @_gpuasync_pairs(dense<[0, 1, 1, 0]>
// CHECK:       @_gpuasync_members_pairs(dense<[5, 0, 1, 4, 3, 2]>
// CHECK:       @[[$PERMUTE]]()
// CHECK:         llvm.mlir.constant(2 : i32)
// CHECK:         llvm.mlir.constant(9 : i32)
// CHECK:         llvm.mlir.addressof @_gpuasync_pairs
// CHECK:         llvm.mlir.addressof @_gpuasync_group_pairs
// CHECK-NOT:   @_gpuasync_group_rows()
// CHECK:       @[[$BROADCAST]]()
// CHECK:         llvm.mlir.constant(5 : i32)
// CHECK:         llvm.mlir.constant(2 : i32)
// CHECK:       @[[$OVERLAPPED]]()
// CHECK:         llvm.mlir.constant(1 : i32)
// CHECK-NEXT:    llvm.insertvalue {{.+}}[10]
// CHECK:       @[[$LAST]]()
// CHECK:         llvm.mlir.constant(7 : i32)
// CHECK:       @_gpuasync_members_cube(dense<[0, 1, 4, 5, 2, 3, 6, 7]>
// CHECK-NOT:   @_gpuasync_group_unused
