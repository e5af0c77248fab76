// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every op in its custom and generic form (D16).
//
// RUN: gpu-opt %s --verify-roundtrip | FileCheck %s
// RUN: gpu-opt %s -mlir-print-op-generic | gpu-opt --verify-roundtrip | FileCheck %s

gpu.module @k {
  gpu.func @f(%x: memref<?xf32>) kernel { gpu.return }
}

// CHECK-LABEL: func.func @tokens
// CHECK-SAME: %[[X:.*]]: memref<?xf32>, %[[H:.*]]: memref<?xf32>
func.func @tokens(%x: memref<?xf32>, %h: memref<?xf32>) {
  // CHECK: %[[READY:.*]] = gpu_async.wait async
  %ready = gpu_async.wait async
  // CHECK: %[[UP:.*]] = gpu_async.memcpy async [%[[READY]]] %[[X]], %[[H]] : memref<?xf32>, memref<?xf32>
  %up = gpu_async.memcpy async [%ready] %x, %h : memref<?xf32>, memref<?xf32>
  // CHECK: %[[FORK:.*]]:3 = gpu_async.fork %[[UP]] : 3
  %u1, %u2, %u3 = gpu_async.fork %up : 3
  // CHECK: gpu_async.release %[[FORK]]#2
  gpu_async.release %u3
  // CHECK: %[[JOIN:.*]] = gpu_async.wait async [%[[FORK]]#0, %[[FORK]]#1]
  %join = gpu_async.wait async [%u1, %u2]
  // CHECK: gpu_async.wait [%[[JOIN]]]
  gpu_async.wait [%join]
  return
}

// CHECK: func.func private @axpy(memref<?xf32> {llvm.readonly}, memref<?xf32>, f32) attributes {gpu_async.nonblocking, gpu_async.replayable, gpu_async.serial = "generator"}
func.func private @axpy(memref<?xf32> {llvm.readonly}, memref<?xf32>, f32) attributes {gpu_async.nonblocking, gpu_async.replayable, gpu_async.serial = "generator"}
func.func private @nothing()

// CHECK-LABEL: func.func @calls
func.func @calls(%x: memref<?xf32>, %v: f32) {
  // CHECK: %[[T0:.*]] = gpu_async.call async @nothing()
  %t0 = gpu_async.call async @nothing()
  // CHECK: %[[T1:.*]] = gpu_async.call async [%[[T0]]] @axpy(%[[X:.*]] : memref<?xf32>, %[[X]] : memref<?xf32>, %{{.*}} : f32)
  %t1 = gpu_async.call async [%t0] @axpy(%x : memref<?xf32>, %x : memref<?xf32>, %v : f32)
  // CHECK: gpu_async.call @axpy(%[[X]] : memref<?xf32>, %[[X]] : memref<?xf32>, %{{.*}} : f32)
  gpu_async.call @axpy(%x : memref<?xf32>, %x : memref<?xf32>, %v : f32)
  %s = gpu_async.stream.create
  // CHECK: gpu_async.call on %{{.*}} id(1 after [0]) @nothing()
  gpu_async.call on %s id(1 after [0]) @nothing()
  return
}

// CHECK-LABEL: func.func @windows
func.func @windows(%n: index) {
  // CHECK: %[[C256:.*]] = arith.constant 256
  %c256 = arith.constant 256 : index
  // CHECK: %[[S:.*]], %{{.*}} = gpu_async.alloc async(%{{.*}}) : memref<?xi8, 1>
  %s, %t = gpu_async.alloc async (%n) : memref<?xi8, 1>
  // CHECK: gpu_async.window %[[S]][%[[C256]]] () : memref<?xi8, 1> to memref<4x4xf32, 1>
  %x = gpu_async.window %s[%c256] () : memref<?xi8, 1> to memref<4x4xf32, 1>
  // CHECK: gpu_async.window %[[S]][%{{.*}}] (%{{.*}}) : memref<?xi8, 1> to memref<?x4xcomplex<f32>, 1>
  %y = gpu_async.window %s[%n] (%n) : memref<?xi8, 1> to memref<?x4xcomplex<f32>, 1>
  return
}

// CHECK: memref.global "private" constant @w
memref.global "private" constant @w : memref<4xf32> = dense<1.0>

// CHECK-LABEL: func.func @kept
// CHECK-SAME: %[[X:.*]]: memref<?x4xf32> {gpu_async.resident}, %[[Y:.*]]: memref<?xf32, strided<[1], offset: ?>>)
func.func @kept(%x: memref<?x4xf32> {gpu_async.resident}, %y: memref<?xf32, strided<[1], offset: ?>>) {
  // CHECK: gpu_async.constant @w : memref<4xf32>
  %w = gpu_async.constant @w : memref<4xf32>
  // CHECK: gpu_async.resident %[[X]] : memref<?x4xf32> to memref<?x4xf32>
  %c = gpu_async.resident %x : memref<?x4xf32> to memref<?x4xf32>
  // CHECK: gpu_async.resident %[[Y]] : memref<?xf32, strided<[1], offset: ?>> to memref<?xf32>
  %d = gpu_async.resident %y : memref<?xf32, strided<[1], offset: ?>> to memref<?xf32>
  return
}

// CHECK-LABEL: func.func @work
func.func @work(%x: memref<?xf32>, %n: index, %bytes: i32, %v: f32, %p: !llvm.ptr) {
  // CHECK: %[[M:.*]], %[[T0:.*]] = gpu_async.alloc async(%{{.*}}) : memref<?xf32>
  %m, %t0 = gpu_async.alloc async (%n) : memref<?xf32>
  // CHECK: gpu_async.alloc async [%[[T0]]] host_shared() : memref<4xi32>
  %s, %t1 = gpu_async.alloc async [%t0] host_shared () : memref<4xi32>
  // CHECK: %[[T2:.*]] = gpu_async.memset async [%{{.*}}] %[[M]], %{{.*}} : memref<?xf32>, f32
  %t2 = gpu_async.memset async [%t1] %m, %v : memref<?xf32>, f32
  // CHECK: %[[T3:.*]] = gpu_async.launch async [%[[T2]]] @k::@f blocks in(%{{.*}}, %{{.*}}, %{{.*}}) threads in(%{{.*}}, %{{.*}}, %{{.*}}) args(%[[M]] : memref<?xf32>)
  %t3 = gpu_async.launch async [%t2] @k::@f blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%m : memref<?xf32>)
  // CHECK: %[[EXTERNAL:.*]] = gpu_async.stream.external %{{.*}} : !llvm.ptr
  %e = gpu_async.stream.external %p : !llvm.ptr
  // CHECK: %[[T4:.*]] = gpu_async.launch async [%[[T3]]] on %[[EXTERNAL]] @k::@f
  // CHECK-SAME: clusters in(%{{.*}}, %{{.*}}, %{{.*}}) dynamic_shared_memory_size %{{.*}} cooperative args(
  %t4 = gpu_async.launch async [%t3] on %e @k::@f blocks in (%n, %n, %n) threads in (%n, %n, %n)
      clusters in (%n, %n, %n) dynamic_shared_memory_size %bytes cooperative args(%m : memref<?xf32>)
  // CHECK: gpu_async.dealloc async [%[[T4]]] %[[M]] : memref<?xf32>
  %t5 = gpu_async.dealloc async [%t4] %m : memref<?xf32>
  gpu_async.wait [%t5]
  // CHECK: gpu_async.host_register %{{.*}} : memref<?xf32>
  gpu_async.host_register %x : memref<?xf32>
  // CHECK: gpu_async.host_unregister %{{.*}} : memref<?xf32>
  gpu_async.host_unregister %x : memref<?xf32>
  return
}

// CHECK-LABEL: func.func @sequential
func.func @sequential(%x: memref<?xf32>, %h: memref<?xf32>, %v: f32) {
  // CHECK: gpu_async.memcpy %{{.*}}, %{{.*}} : memref<?xf32>, memref<?xf32>
  gpu_async.memcpy %x, %h : memref<?xf32>, memref<?xf32>
  // CHECK: gpu_async.memset %{{.*}}, %{{.*}} : memref<?xf32>, f32
  gpu_async.memset %x, %v : memref<?xf32>, f32
  // CHECK: %[[M:.*]] = gpu_async.alloc () : memref<4xf32>
  %m = gpu_async.alloc () : memref<4xf32>
  // CHECK: gpu_async.launch @k::@f blocks in
  %c1 = arith.constant 1 : index
  gpu_async.launch @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  // CHECK: gpu_async.dealloc %[[M]] : memref<4xf32>
  gpu_async.dealloc %m : memref<4xf32>
  return
}

// CHECK-LABEL: func.func @streams
func.func @streams(%x: memref<?xf32>, %h: memref<?xf32>) {
  // CHECK: %[[S:.*]] = gpu_async.stream.create
  %s = gpu_async.stream.create
  // CHECK: gpu_async.memcpy on %[[S]] id(0) %{{.*}}, %{{.*}}
  gpu_async.memcpy on %s id(0) %x, %h : memref<?xf32>, memref<?xf32>
  // CHECK: gpu_async.memcpy on %[[S]] id(1 after [0]) %{{.*}}, %{{.*}}
  gpu_async.memcpy on %s id(1 after [0]) %x, %h : memref<?xf32>, memref<?xf32>
  // CHECK: %[[E:.*]] = gpu_async.event.record on %[[S]]
  %e = gpu_async.event.record on %s
  // CHECK: gpu_async.stream.wait %[[S]], %[[E]]
  gpu_async.stream.wait %s, %e
  // CHECK: gpu_async.event.synchronize %[[E]]
  gpu_async.event.synchronize %e
  // CHECK: gpu_async.event.destroy %[[E]]
  gpu_async.event.destroy %e
  // CHECK: %[[R:.*]] = gpu_async.event.ready
  %r = gpu_async.event.ready
  // CHECK: gpu_async.event.destroy %[[R]]
  gpu_async.event.destroy %r
  // CHECK: gpu_async.stream.synchronize %[[S]]
  gpu_async.stream.synchronize %s
  // CHECK: gpu_async.stream.destroy %[[S]] idle
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: gpu_async.binary @b kernels [#gpu_async.kernel<"f", params = [8, 4]>]
// CHECK-SAME: images [#gpu_async.image<ptx, "sm_90" data = "a">, #gpu_async.image<cpu, "" functions = [#gpu_async.cpu_kernel<@b_f_block workgroup = 4 may_block = true>]>]
llvm.func @b_f_block(!llvm.ptr, !llvm.ptr, !llvm.ptr)
gpu_async.binary @b kernels [#gpu_async.kernel<"f", params = [8, 4]>] images [
  #gpu_async.image<ptx, "sm_90" data = "a">,
  #gpu_async.image<cpu, "" functions = [#gpu_async.cpu_kernel<@b_f_block workgroup = 4 may_block = true>]>]

// CHECK: functions = [#gpu_async.cpu_kernel<@b_f_block stack = 256 operations = 42 : i64>, #gpu_async.cpu_kernel<@b_f_block stack = -1 operations = @b_f_count>]
llvm.func @b_f_count(!llvm.ptr, !llvm.ptr) -> f64
gpu_async.binary @counted kernels [#gpu_async.kernel<"f">, #gpu_async.kernel<"g">] images [
  #gpu_async.image<cpu, "" functions = [#gpu_async.cpu_kernel<@b_f_block stack = 256 operations = 42 : i64>, #gpu_async.cpu_kernel<@b_f_block stack = -1 operations = @b_f_count>]>]

// CHECK: gpu.module @z [#gpu_async.cpu]
gpu.module @z [#gpu_async.cpu] {}

// CHECK: gpu.module @zz [#gpu_async.cpu<subgroup_size = 16>]
gpu.module @zz [#gpu_async.cpu<subgroup_size = 16>] {}

// CHECK-LABEL: func.func @regions
func.func @regions(%x: memref<4xf32>, %n: index) -> index {
  %s = gpu_async.stream.create
  // CHECK: gpu_async.region {
  // CHECK-NEXT: gpu_async.memcpy
  // CHECK-NEXT: }
  gpu_async.region {
    gpu_async.memcpy on %s %x, %x : memref<4xf32>, memref<4xf32>
  }
  // CHECK: gpu_async.region {
  // CHECK-NEXT: } {note}
  gpu_async.region {
  } {note}
  // CHECK: %[[R:.*]] = gpu_async.region -> index {
  // CHECK-NEXT: gpu_async.yield %{{.*}} : index
  // CHECK-NEXT: }
  %r = gpu_async.region -> index {
    gpu_async.yield %n : index
  }
  // As it is once control flow has no structure.
  // CHECK: gpu_async.region {
  // CHECK-NEXT: cf.br ^bb1
  // CHECK-NEXT: ^bb1:
  // CHECK-NEXT: gpu_async.yield
  // CHECK-NEXT: }
  gpu_async.region {
    cf.br ^end
  ^end:
    gpu_async.yield
  }
  gpu_async.stream.destroy %s
  return %r : index
}

// CHECK: gpu.module @promises
gpu.module @promises {
  // CHECK: gpu.func @f() kernel attributes {gpu_async.nonblocking}
  gpu.func @f() kernel attributes {gpu_async.nonblocking} {
    gpu.return
  }
}

// CHECK: gpu_async.group @rows grid [2, 3] axes [1]
gpu_async.group @rows grid [2, 3] axes [1]
// CHECK: gpu_async.group @all grid [2, 3] axes [0, 1]
gpu_async.group @all grid [2, 3] axes [0, 1]
// CHECK: gpu_async.group @pairs ranks {{\[}}[0, 3], [1, 4], [2, 5]]
gpu_async.group @pairs ranks [[0, 3], [1, 4], [2, 5]]

// CHECK-LABEL: func.func @ranks
// CHECK-SAME: %[[X:.*]]: memref<4xf32>, %[[Y:.*]]: memref<12xf32>, %[[B:.*]]: memref<?x4xi1>, %[[O:.*]]: memref<?x4xi1, strided<[4, 1], offset: ?>>
func.func @ranks(%x: memref<4xf32>, %y: memref<12xf32>, %b: memref<?x4xi1>, %o: memref<?x4xi1, strided<[4, 1], offset: ?>>) -> (index, index, index, index) {
  // CHECK: gpu_async.rank
  %r = gpu_async.rank
  // CHECK: gpu_async.rank @rows
  %c = gpu_async.rank @rows
  // CHECK: gpu_async.size
  %n = gpu_async.size
  // CHECK: gpu_async.size @pairs
  %p = gpu_async.size @pairs
  // CHECK: gpu_async.uniform %{{.*}} : index
  %u = gpu_async.uniform %r : index
  // CHECK: gpu_async.uniform %{{.*}} group(@rows) : index
  %w = gpu_async.uniform %r group(@rows) : index
  // CHECK: gpu_async.uniform %{{.*}} {here} : f32
  %f = memref.load %x[%n] : memref<4xf32>
  %g = gpu_async.uniform %f {here} : f32
  // CHECK: %[[T0:.*]] = gpu_async.collective async all_reduce<sum> group(@rows) %[[X]], %[[X]] : memref<4xf32>, memref<4xf32>
  %t0 = gpu_async.collective async all_reduce<sum> group(@rows) %x, %x : memref<4xf32>, memref<4xf32>
  // CHECK: %[[T1:.*]] = gpu_async.collective async [%[[T0]]] all_gather group(@rows) %[[Y]], %[[X]] {overlapped} : memref<12xf32>, memref<4xf32>
  %t1 = gpu_async.collective async [%t0] all_gather group(@rows) %y, %x {overlapped} : memref<12xf32>, memref<4xf32>
  // CHECK: %[[T2:.*]] = gpu_async.collective async [%[[T1]]] reduce_scatter<max> group(@rows) %[[X]], %[[Y]] : memref<4xf32>, memref<12xf32>
  %t2 = gpu_async.collective async [%t1] reduce_scatter<max> group(@rows) %x, %y : memref<4xf32>, memref<12xf32>
  // CHECK: %[[T3:.*]] = gpu_async.collective async [%[[T2]]] all_to_all %[[B]], %[[O]] : memref<?x4xi1>, memref<?x4xi1, strided<[4, 1], offset: ?>>
  %t3 = gpu_async.collective async [%t2] all_to_all %b, %o : memref<?x4xi1>, memref<?x4xi1, strided<[4, 1], offset: ?>>
  // CHECK: %[[T4:.*]] = gpu_async.collective async [%[[T3]]] broadcast<2> group(@rows) %[[X]], %[[X]] : memref<4xf32>, memref<4xf32>
  %t4 = gpu_async.collective async [%t3] broadcast<2> group(@rows) %x, %x : memref<4xf32>, memref<4xf32>
  // CHECK: %[[T5:.*]] = gpu_async.collective async [%[[T4]]] permute<{{\[}}[0, 1], [1, 0]]> group(@pairs) %[[B]], %[[O]] : memref<?x4xi1>
  %t5 = gpu_async.collective async [%t4] permute<[[0, 1], [1, 0]]> group(@pairs) %b, %o : memref<?x4xi1>, memref<?x4xi1, strided<[4, 1], offset: ?>>
  // CHECK: %[[T6:.*]] = gpu_async.collective async [%[[T5]]] permute<[]> %[[B]], %[[O]] : memref<?x4xi1>
  %t6 = gpu_async.collective async [%t5] permute<[]> %b, %o : memref<?x4xi1>, memref<?x4xi1, strided<[4, 1], offset: ?>>
  // CHECK: %[[T7:.*]] = gpu_async.collective async [%[[T6]]] all_reduce<or> %[[B]], %[[B]] {here} : memref<?x4xi1>, memref<?x4xi1>
  %t7 = gpu_async.collective async [%t6] all_reduce<or> %b, %b {here} : memref<?x4xi1>, memref<?x4xi1>
  // CHECK: %{{.*}} = gpu_async.collective async [%[[T7]]] barrier group(@all)
  %t8 = gpu_async.collective async [%t7] barrier group(@all)
  // CHECK: gpu_async.collective barrier{{$}}
  gpu_async.collective barrier
  %s = gpu_async.stream.create
  // CHECK: gpu_async.collective on %{{.*}} id(1 after [0]) barrier
  gpu_async.collective on %s id(1 after [0]) barrier
  // CHECK: attribute = #gpu_async.collective<all_reduce<min>>
  gpu_async.wait [%t8] {attribute = #gpu_async.collective<all_reduce<min>>}
  return %r, %c, %n, %p : index, index, index, index
}

// CHECK-LABEL: func.func @tensors
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<12xf32>, %[[B:.*]]: tensor<?x4xi1>
func.func @tensors(%x: tensor<4xf32>, %y: tensor<12xf32>, %b: tensor<?x4xi1>) -> (tensor<4xf32>, tensor<12xf32>, tensor<?x4xi1>) {
  // CHECK: %[[R0:.*]] = gpu_async.tensor_collective all_reduce<sum> group(@rows) ins(%[[X]] : tensor<4xf32>) outs(%[[X]] : tensor<4xf32>)
  %r0 = gpu_async.tensor_collective all_reduce<sum> group(@rows) ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>)
  // CHECK: %[[R1:.*]] = gpu_async.tensor_collective all_gather group(@rows) ins(%[[R0]] : tensor<4xf32>) outs(%[[Y]] : tensor<12xf32>)
  %r1 = gpu_async.tensor_collective all_gather group(@rows) ins(%r0 : tensor<4xf32>) outs(%y : tensor<12xf32>)
  // CHECK: %[[R2:.*]] = gpu_async.tensor_collective reduce_scatter<max> group(@rows) ins(%[[R1]] : tensor<12xf32>) outs(%[[X]] : tensor<4xf32>)
  %r2 = gpu_async.tensor_collective reduce_scatter<max> group(@rows) ins(%r1 : tensor<12xf32>) outs(%x : tensor<4xf32>)
  // CHECK: %[[R3:.*]] = gpu_async.tensor_collective all_to_all ins(%[[B]] : tensor<?x4xi1>) outs(%[[B]] : tensor<?x4xi1>)
  %r3 = gpu_async.tensor_collective all_to_all ins(%b : tensor<?x4xi1>) outs(%b : tensor<?x4xi1>)
  // CHECK: %[[R4:.*]] = gpu_async.tensor_collective broadcast<2> group(@rows) ins(%[[R2]] : tensor<4xf32>) outs(%[[X]] : tensor<4xf32>) {here}
  %r4 = gpu_async.tensor_collective broadcast<2> group(@rows) ins(%r2 : tensor<4xf32>) outs(%x : tensor<4xf32>) {here}
  // CHECK: gpu_async.tensor_collective permute<{{\[}}[0, 1], [1, 0]]> group(@pairs) ins(%[[R3]] : tensor<?x4xi1>)
  %r5 = gpu_async.tensor_collective permute<[[0, 1], [1, 0]]> group(@pairs) ins(%r3 : tensor<?x4xi1>) outs(%b : tensor<?x4xi1>)
  return %r4, %r1, %r5 : tensor<4xf32>, tensor<12xf32>, tensor<?x4xi1>
}
