// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which functions have a frame, where it is checked, and wrappers for a runner.
// RUN: gpu-opt %s --convert-gpu-async-to-runtime="on-error=status packed-wrappers" | FileCheck %s
// RUN: gpu-opt %s --convert-gpu-async-to-runtime="packed-wrappers" | FileCheck %s --check-prefix=ABORT

gpu_async.binary @k kernels [#gpu_async.kernel<"f", params = [4]>] images [#gpu_async.image<ptx, "sm_90" data = "p">]
gpu_async.binary @l kernels [#gpu_async.kernel<"g">] images [#gpu_async.image<ptx, "sm_90" data = "q">]

func.func private @opaque()
func.func private @pure(f32) -> f32 attributes {llvm.readnone}

// A function without device work stays as it is, with a wrapper.
// CHECK-LABEL: llvm.func @plain(%{{.*}}: i32) -> i32 {
// CHECK-LABEL: llvm.func @_gpuasync_packed_plain(%{{.*}}: !llvm.ptr)
// CHECK:         %[[NULL:.+]] = llvm.mlir.zero
// CHECK:         llvm.store %[[NULL]],
func.func @plain(%a: i32) -> i32 {
  return %a : i32
}

func.func private @callsOpaque() {
  call @opaque() : () -> ()
  return
}

// A private function takes its caller's frame; its error exit returns nothing
// that is read.
// CHECK-LABEL: llvm.func internal @private(
// CHECK-SAME:    %[[FRAME:[a-z0-9]+]]: !llvm.ptr, %[[S:[a-z0-9]+]]: !llvm.ptr) -> i32
// CHECK-NOT:     frame_enter
// CHECK:         llvm.call @gpuasync_launch(%[[FRAME]], %[[S]],
// CHECK:         llvm.cond_br %{{.*}} weights([1, 2000]), ^[[ERROR:bb[0-9]+]],
// CHECK:       ^[[ERROR]]:
// CHECK-NEXT:    %[[POISON:.+]] = llvm.mlir.poison : i32
// CHECK-NEXT:    llvm.return %[[POISON]]
func.func private @private(%s: !gpu_async.stream) -> i32 {
  %i = arith.constant 7 : i32
  %c1 = arith.constant 1 : index
  gpu_async.launch on %s @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%i : i32)
  gpu_async.stream.synchronize %s
  return %i : i32
}

// A public function that is also called inside is split; several results go to
// a struct.
// CHECK-LABEL: llvm.func @shared(
// CHECK-SAME:    i32, %[[OUT:[a-z0-9]+]]: !llvm.ptr) -> !llvm.ptr
// CHECK:         %[[FRAME:.+]] = llvm.alloca {{.*}} !llvm.array<512 x i8>
// CHECK:         llvm.call @gpuasync_frame_enter(%[[FRAME]],
// CHECK:         llvm.call @_gpuasync_body_shared(%[[FRAME]],
// CHECK:         llvm.load %[[FRAME]] : !llvm.ptr -> i32
// CHECK:         llvm.cond_br %{{.*}} weights([1, 2000])
// CHECK:         llvm.call @gpuasync_frame_leave(%[[FRAME]])
// CHECK:         llvm.store %{{.*}}, %[[OUT]] : !llvm.struct<(i32, i32)>
// CHECK-LABEL: llvm.func @_gpuasync_packed_shared(
// CHECK-SAME:    %[[ARGS:.+]]: !llvm.ptr)
// CHECK:         %[[SLOT0:.+]] = llvm.load %[[ARGS]]
// CHECK:         %[[N:.+]] = llvm.load %[[SLOT0]] : !llvm.ptr -> i32
// CHECK:         %[[AT1:.+]] = llvm.getelementptr %[[ARGS]][1]
// CHECK:         %[[RESULTS:.+]] = llvm.load %[[AT1]]
// CHECK:         %[[STATUS:.+]] = llvm.call @shared(%[[N]], %[[RESULTS]])
// CHECK:         %[[AT2:.+]] = llvm.getelementptr %[[ARGS]][2]
// CHECK:         %[[SLOT2:.+]] = llvm.load %[[AT2]]
// CHECK:         llvm.store %[[STATUS]], %[[SLOT2]]
// CHECK-LABEL: llvm.func internal @_gpuasync_body_shared(
// CHECK-SAME:    %[[FRAME2:[a-z0-9]+]]: !llvm.ptr, %{{.*}}: i32)
// CHECK:         llvm.call @private(%[[FRAME2]],
// ABORT-LABEL: llvm.func @shared(
// ABORT-SAME:    i32) -> !llvm.struct<(i32, i32)>
// ABORT-LABEL: llvm.func @_gpuasync_packed_shared(
// ABORT:         %[[BOTH:.+]] = llvm.call @shared(
// ABORT:         llvm.store %{{.*}}, %{{.*}} : !llvm.struct<(i32, i32)>
// ABORT:         %[[NULL:.+]] = llvm.mlir.zero
// ABORT:         llvm.store %[[NULL]],
func.func @shared(%n: i32) -> (i32, i32) {
  %s = gpu_async.stream.create
  %r = call @private(%s) : (!gpu_async.stream) -> i32
  gpu_async.stream.destroy %s
  return %n, %r : i32, i32
}

// The back edge of a loop with device work is checked, that of another is not.
// Stack variables stay in the entry block. Only unknown code has a suspend before
// it and a resume behind it.
// CHECK-LABEL: llvm.func @loop(
// CHECK:         %[[FRAME:.+]] = llvm.alloca {{.*}} !llvm.array<512 x i8>
// CHECK:         llvm.call @gpuasync_frame_enter
// CHECK-NOT:     llvm.alloca
// CHECK:         llvm.call @gpuasync_launch(%[[FRAME]],
// CHECK:         llvm.call @_gpuasync_body_shared(%[[FRAME]],
// CHECK:         llvm.load %[[FRAME]] : !llvm.ptr -> i32
// CHECK:         llvm.call @gpuasync_frame_suspend(%[[FRAME]])
// CHECK-NEXT:    llvm.call @callsOpaque()
// CHECK-NEXT:    llvm.call @gpuasync_frame_resume(%[[FRAME]])
// CHECK-NOT:     suspend
// CHECK:         llvm.call @pure
// CHECK-NOT:     resume
// CHECK:         llvm.br ^[[GUARD:bb[0-9]+]](%{{.*}} : i64)
// CHECK:       ^[[GUARD]](%[[I:.+]]: i64):
// CHECK-NEXT:    llvm.load %[[FRAME]] : !llvm.ptr -> i32
// CHECK:         llvm.cond_br %{{.*}} weights([1, 2000]), ^{{.*}}, ^{{.*}}(%[[I]] : i64)
// CHECK:       ^[[LOOP:bb[0-9]+]](%{{.*}}: i64):  // 2 preds: ^{{.*}}, ^[[LOOP]]
// CHECK:         llvm.call @gpuasync_stream_synchronize
func.func @loop(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i32 = arith.constant 1 : i32
  %s = gpu_async.stream.create
  %a = memref.alloca() : memref<8xi32>
  cf.br ^header(%c0 : index)
^header(%i: index):
  %more = arith.cmpi slt, %i, %n : index
  cf.cond_br %more, ^body, ^exit
^body:
  gpu_async.launch on %s @l::@g blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%i32 : i32)
  %x:2 = call @shared(%i32) : (i32) -> (i32, i32)
  call @callsOpaque() : () -> ()
  %f = arith.constant 1.0 : f32
  %g = call @pure(%f) : (f32) -> f32
  %next = arith.addi %i, %c1 : index
  memref.store %x#0, %a[%c0] : memref<8xi32>
  cf.br ^header(%next : index)
^exit:
  cf.br ^other(%c0 : index)
^other(%j: index):
  %more2 = arith.cmpi slt, %j, %n : index
  %next2 = arith.addi %j, %c1 : index
  cf.cond_br %more2, ^other(%next2 : index), ^done
^done:
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// A token argument becomes the frame's, even if the frame cannot be entered; a
// token result leaves it. Unknown code gets and gives handles likewise.
// CHECK-LABEL: llvm.func @tokens(
// CHECK-SAME:    %[[BEFORE:[a-z0-9]+]]: !llvm.ptr, %[[OUT:[a-z0-9]+]]: !llvm.ptr) -> !llvm.ptr
// CHECK:         llvm.call @gpuasync_frame_enter(%[[FRAME:.+]], %
// CHECK:         %[[IMPORTED:.+]] = llvm.call @gpuasync_event_import(%[[FRAME]], %[[BEFORE]],
// CHECK:         llvm.cond_br %{{.*}} weights([1, 2000])
// CHECK:         %[[GIVEN:.+]] = llvm.call @gpuasync_event_export(%[[FRAME]], %[[IMPORTED]],
// CHECK-NEXT:    llvm.call @gpuasync_frame_suspend(%[[FRAME]])
// CHECK-NEXT:    %[[CALLED:.+]] = llvm.call @opaqueTokens(%[[GIVEN]])
// CHECK-NEXT:    llvm.call @gpuasync_frame_resume(%[[FRAME]])
// CHECK:         %[[TAKEN:.+]] = llvm.call @gpuasync_event_import(%[[FRAME]], %[[CALLED]],
// CHECK:         llvm.call @gpuasync_stream_wait(%[[FRAME]], %{{.*}}, %[[TAKEN]],
// CHECK:         %[[RECORDED:.+]] = llvm.call @gpuasync_event_record(
// CHECK:         %[[EXPORTED:.+]] = llvm.call @gpuasync_event_export(%[[FRAME]], %[[RECORDED]],
// CHECK:         llvm.call @gpuasync_frame_leave(%[[FRAME]])
// CHECK:         llvm.store %[[EXPORTED]], %[[OUT]]
func.func private @opaqueTokens(!gpu_async.event) -> !gpu_async.event
func.func @tokens(%before: !gpu_async.event) -> !gpu_async.event {
  %e = call @opaqueTokens(%before) : (!gpu_async.event) -> !gpu_async.event
  %s = gpu_async.stream.create
  gpu_async.stream.wait %s, %e
  gpu_async.event.destroy %e
  %r = gpu_async.event.record on %s
  gpu_async.stream.destroy %s
  return %r : !gpu_async.event
}

// What is in LLVM dialect already gets a wrapper too.
// CHECK-LABEL: llvm.func @lowered(
// CHECK-LABEL: llvm.func @_gpuasync_packed_lowered(
// CHECK:         llvm.call @lowered(%{{.*}}, %{{.*}}) : (i32, !llvm.ptr) -> i64
llvm.func @lowered(%a: i32, %b: !llvm.ptr) -> i64 {
  %c = llvm.mlir.constant(1 : i64) : i64
  llvm.return %c : i64
}

// An assert of host code leaves by the error exit, also without device work.
// CHECK-LABEL: llvm.func @asserts(
// CHECK-SAME:    %[[OK:[a-z0-9]+]]: i1
// CHECK:         llvm.call @gpuasync_frame_enter(
// CHECK:         %[[FAILS:.*]] = llvm.xor %[[OK]], %{{.*}} : i1
// CHECK:         llvm.cond_br %[[FAILS]] weights([1, 2000]), ^[[FAIL:bb[0-9]+]], ^{{bb[0-9]+}}
// CHECK:       ^[[FAIL]]:
// CHECK:         llvm.call @gpuasync_host_assert_fail(
// CHECK-NEXT:    llvm.br ^{{bb[0-9]+}}
func.func @asserts(%ok: i1) {
  cf.assert %ok, "it does not hold"
  return
}

// Each function reaches the modules that its callees launch from.
// CHECK-DAG: @_gpuasync_modules_of_shared(dense<0> : tensor<1xi32>)
// CHECK-DAG: @_gpuasync_modules_of_loop(dense<[1, 0]> : tensor<2xi32>)
