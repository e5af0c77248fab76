// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Of calls of libraries those are in regions that are replayable and wait for
// nothing. What is on a stream behind one that may wait is in none. Their order
// is proved and drawn like that of other work.
// RUN: gpu-opt %s --gpu-async-form-regions=remarks --gpu-async-verify-form=form=stream --gpu-async-verify-schedule 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --input-file=%t.remarks --check-prefix=REMARK
// RUN: gpu-opt %s --gpu-async-print-schedule=function=between -o /dev/null 2>&1 | FileCheck %s --check-prefix=PICTURE

gpu.module @k {
  gpu.func @f() kernel {
    gpu.return
  }
}
func.func private @plain(memref<16xf32> {llvm.writeonly}) attributes {gpu_async.nonblocking}
func.func private @waits(memref<16xf32> {llvm.writeonly})
func.func private @replayed(memref<16xf32> {llvm.writeonly}) attributes {gpu_async.nonblocking, gpu_async.replayable}
func.func private @replayed_waits(memref<16xf32> {llvm.writeonly}) attributes {gpu_async.replayable}

// CHECK-LABEL: func @between
// CHECK: gpu_async.region {
// CHECK-NEXT: launch {{.*}} id(0)
// CHECK-NEXT: launch {{.*}} id(1 after [0])
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.call on %{{.*}} id(2 after [1]) @plain
// CHECK-NEXT: gpu_async.region {
// CHECK-NEXT: launch {{.*}} id(3 after [2])
// CHECK-NEXT: launch {{.*}} id(4 after [3])
// CHECK-NEXT: }
// REMARK: gpu-async-form-regions-libraries.mlir:[[@LINE+11]]:3: remark: a region of 2 ops of device work
// REMARK: gpu-async-form-regions-libraries.mlir:[[@LINE+12]]:3: note: it ends here: it calls a library's function that is not said to be replayable
// PICTURE: @between: 5 ops on 1 stream
// PICTURE-NEXT: id  s0
// PICTURE-NEXT:  0  f
// PICTURE-NEXT:  1  f
// PICTURE-NEXT:  2  plain
// PICTURE-NEXT:  3  f
func.func @between(%x: memref<16xf32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s id(0) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s id(1 after [0]) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.call on %s id(2 after [1]) @plain(%x : memref<16xf32>)
  gpu_async.launch on %s id(3 after [2]) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s id(4 after [3]) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK-LABEL: func @behind
// CHECK-NOT: gpu_async.region
// CHECK: return
func.func @behind(%x: memref<16xf32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.call on %s id(0) @waits(%x : memref<16xf32>)
  gpu_async.launch on %s id(1 after [0]) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s id(2 after [1]) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK-LABEL: func @within
// CHECK: gpu_async.region {
// CHECK-NEXT: launch {{.*}} id(0)
// CHECK-NEXT: gpu_async.call on %{{.*}} id(1 after [0]) @replayed
// CHECK-NEXT: launch {{.*}} id(2 after [1])
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.stream.synchronize
func.func @within(%x: memref<16xf32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s id(0) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.call on %s id(1 after [0]) @replayed(%x : memref<16xf32>)
  gpu_async.launch on %s id(2 after [1]) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK-LABEL: func @may_wait
// CHECK: gpu_async.region {
// CHECK-NEXT: launch {{.*}} id(0)
// CHECK-NEXT: launch {{.*}} id(1 after [0])
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.call on %{{.*}} id(2 after [1]) @replayed_waits
// CHECK-NEXT: launch {{.*}} id(3 after [2])
// REMARK: note: it ends here: the library's function may wait for other work
func.func @may_wait(%x: memref<16xf32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s id(0) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s id(1 after [0]) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.call on %s id(2 after [1]) @replayed_waits(%x : memref<16xf32>)
  gpu_async.launch on %s id(3 after [2]) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// A collective is in no region, and nothing goes across it. Work after it on its
// stream may be in one.
// CHECK-LABEL: func @collectives
// CHECK: gpu_async.rank
// CHECK: gpu_async.region {
// CHECK-NEXT: launch {{.*}} id(0)
// CHECK-NEXT: launch {{.*}} id(1 after [0])
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.collective on %{{.*}} id(2 after [1]) barrier
// CHECK-NEXT: gpu_async.collective on %{{.*}} id(3 after [2]) all_reduce<sum>
// CHECK-NEXT: gpu_async.size
// CHECK-NEXT: gpu_async.region {
// CHECK-NEXT: launch {{.*}} id(4 after [3])
// CHECK-NEXT: launch {{.*}} id(5 after [4])
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.stream.synchronize
// REMARK: note: it ends here: it cannot be recorded
func.func @collectives(%x: memref<16xf32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s id(0) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  %r = gpu_async.rank
  gpu_async.launch on %s id(1 after [0]) @k::@f blocks in (%r, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.collective on %s id(2 after [1]) barrier
  gpu_async.collective on %s id(3 after [2]) all_reduce<sum> %x, %x : memref<16xf32>, memref<16xf32>
  gpu_async.launch on %s id(4 after [3]) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  %n = gpu_async.size
  gpu_async.launch on %s id(5 after [4]) @k::@f blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}
