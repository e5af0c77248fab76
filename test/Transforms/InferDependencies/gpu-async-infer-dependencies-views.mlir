// RUN: gpu-opt %s -split-input-file -gpu-async-infer-dependencies | FileCheck %s

// Left and right halves of a matrix interleave in memory and are disjoint; the
// whole overlaps both.
// CHECK-LABEL: func.func @columns
func.func @columns(%v: f32) {
  // CHECK: %{{.*}}, %[[T:.*]] = gpu_async.alloc
  // CHECK: %[[A:.*]] = gpu_async.memset async [%[[T]]]
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memset async [%[[T]]]
  // CHECK-NEXT: gpu_async.memset async [%[[T]], %[[A]], %[[B]]]
  %x = gpu_async.alloc () : memref<16x16xf32>
  %a = memref.subview %x[0, 0][16, 8][1, 1] : memref<16x16xf32> to memref<16x8xf32, strided<[16, 1]>>
  %b = memref.subview %x[0, 8][16, 8][1, 1] : memref<16x16xf32> to memref<16x8xf32, strided<[16, 1], offset: 8>>
  gpu_async.memset %a, %v : memref<16x8xf32, strided<[16, 1]>>, f32
  gpu_async.memset %b, %v : memref<16x8xf32, strided<[16, 1], offset: 8>>, f32
  gpu_async.memset %x, %v : memref<16x16xf32>, f32
  return
}

// -----

// Even and odd elements; the same by reinterpret_cast.
// CHECK-LABEL: func.func @strided
func.func @strided(%v: f32) {
  // CHECK: %{{.*}}, %[[T:.*]] = gpu_async.alloc
  // CHECK: %[[A:.*]] = gpu_async.memset async [%[[T]]]
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memset async [%[[T]]]
  // CHECK-NEXT: gpu_async.memset async [%[[T]], %[[B]]]
  %x = gpu_async.alloc () : memref<16xf32>
  %a = memref.subview %x[0][8][2] : memref<16xf32> to memref<8xf32, strided<[2]>>
  %b = memref.subview %x[1][8][2] : memref<16xf32> to memref<8xf32, strided<[2], offset: 1>>
  %c = memref.reinterpret_cast %x to offset: [1], sizes: [8], strides: [2] : memref<16xf32> to memref<8xf32, strided<[2], offset: 1>>
  gpu_async.memset %a, %v : memref<8xf32, strided<[2]>>, f32
  gpu_async.memset %b, %v : memref<8xf32, strided<[2], offset: 1>>, f32
  gpu_async.memset %c, %v : memref<8xf32, strided<[2], offset: 1>>, f32
  return
}

// -----

// Rows of a matrix of unknown width: told apart by index. Chains of subviews add
// up; a dynamic offset overlaps what it may reach.
// CHECK-LABEL: func.func @rows
func.func @rows(%n: index, %i: index, %v: f32) {
  // CHECK: %{{.*}}, %[[T:.*]] = gpu_async.alloc
  // CHECK: %[[A:.*]] = gpu_async.memset async [%[[T]]]
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memset async [%[[T]]]
  // CHECK-NEXT: %[[C:.*]] = gpu_async.memset async [%[[T]], %[[B]]]
  // CHECK-NEXT: gpu_async.memset async [%[[T]], %[[A]], %[[C]]]
  %x = gpu_async.alloc (%n, %n) : memref<?x?xf32>
  %a = memref.subview %x[0, 0][4, %n][1, 1] : memref<?x?xf32> to memref<4x?xf32, strided<[?, 1]>>
  %b = memref.subview %x[4, 0][4, %n][1, 1] : memref<?x?xf32> to memref<4x?xf32, strided<[?, 1], offset: ?>>
  %c = memref.subview %b[1, 0][2, %n][1, 1] : memref<4x?xf32, strided<[?, 1], offset: ?>> to memref<2x?xf32, strided<[?, 1], offset: ?>>
  %d = memref.subview %x[%i, 0][4, %n][1, 1] : memref<?x?xf32> to memref<4x?xf32, strided<[?, 1], offset: ?>>
  gpu_async.memset %a, %v : memref<4x?xf32, strided<[?, 1]>>, f32
  gpu_async.memset %b, %v : memref<4x?xf32, strided<[?, 1], offset: ?>>, f32
  gpu_async.memset %c, %v : memref<2x?xf32, strided<[?, 1], offset: ?>>, f32
  gpu_async.memset %d, %v : memref<4x?xf32, strided<[?, 1], offset: ?>>, f32
  return
}

// -----

// memref.distinct_objects keeps arguments apart, and so do all calls of a private
// function; the arguments of a public one may be the same memory.
// CHECK-LABEL: func.func @distinct
func.func @distinct(%x: memref<16xf32>, %y: memref<16xf32>, %v: f32) {
  // CHECK: gpu_async.memset async %
  // CHECK-NEXT: gpu_async.memset async %
  %a, %b = memref.distinct_objects %x, %y : memref<16xf32>, memref<16xf32>
  gpu_async.memset %a, %v : memref<16xf32>, f32
  gpu_async.memset %b, %v : memref<16xf32>, f32
  return
}
// CHECK-LABEL: func.func @public
func.func @public(%x: memref<16xf32>, %y: memref<16xf32>, %v: f32) {
  // CHECK: %[[A:.*]] = gpu_async.memset async %
  // CHECK-NEXT: gpu_async.memset async [%[[A]]] %
  gpu_async.memset %x, %v : memref<16xf32>, f32
  gpu_async.memset %y, %v : memref<16xf32>, f32
  call @private(%x, %y, %v) : (memref<16xf32>, memref<16xf32>, f32) -> ()
  %z = memref.alloc() : memref<16xf32>
  call @other(%x, %z, %v) : (memref<16xf32>, memref<16xf32>, f32) -> ()
  return
}
// CHECK-LABEL: func.func private @private
func.func private @private(%x: memref<16xf32>, %y: memref<16xf32>, %v: f32) {
  // CHECK: %[[A:.*]] = gpu_async.memset async %
  // CHECK-NEXT: gpu_async.memset async [%[[A]]] %
  gpu_async.memset %x, %v : memref<16xf32>, f32
  gpu_async.memset %y, %v : memref<16xf32>, f32
  return
}
// CHECK-LABEL: func.func private @other
func.func private @other(%x: memref<16xf32>, %y: memref<16xf32>, %v: f32) {
  // CHECK: gpu_async.memset async %
  // CHECK-NEXT: gpu_async.memset async %
  gpu_async.memset %x, %v : memref<16xf32>, f32
  gpu_async.memset %y, %v : memref<16xf32>, f32
  return
}

// -----

module attributes {gpu.container_module} {
gpu.module @k {
  memref.global "private" @g : memref<4xf32>
  // Leaves the view that it is given.
  gpu.func @wide(%x: memref<8xf32, strided<[1], offset: ?>>, %v: f32) kernel {
    %c0 = arith.constant 0 : index
    %y = memref.reinterpret_cast %x to offset: [0], sizes: [16], strides: [1] : memref<8xf32, strided<[1], offset: ?>> to memref<16xf32>
    memref.store %v, %y[%c0] : memref<16xf32>
    gpu.return
  }
}
gpu.module @prints {
  func.func @helper(%x: memref<16xf32>) -> f32 {
    %c0 = arith.constant 0 : index
    %v = memref.load %x[%c0] : memref<16xf32>
    return %v : f32
  }
  // Only reads, in a function that it calls.
  gpu.func @reads(%x: memref<16xf32>) kernel {
    %v = func.call @helper(%x) : (memref<16xf32>) -> f32
    gpu.return
  }
  gpu.func @says(%n: i32) kernel {
    gpu.printf "%d\n", %n : i32
    gpu.return
  }
}
// CHECK-LABEL: func.func @kernels
func.func @kernels(%v: f32, %n: i32) {
  // CHECK: %{{.*}}, %[[T:.*]] = gpu_async.alloc
  // CHECK: %[[A:.*]] = gpu_async.memset async [%[[T]]]
  // CHECK-NEXT: %[[W:.*]] = gpu_async.launch async [%[[A]]] @k::@wide
  // CHECK-NEXT: %[[R:.*]] = gpu_async.launch async [%[[W]]] @prints::@reads
  // CHECK-NEXT: gpu_async.launch async [%[[W]]] @prints::@reads
  // CHECK-NEXT: %[[P:.*]] = gpu_async.launch async @prints::@says
  // CHECK-NEXT: gpu_async.launch async [%[[P]]] @prints::@says
  %c1 = arith.constant 1 : index
  %x = gpu_async.alloc () : memref<16xf32>
  %a = memref.subview %x[0][8][1] : memref<16xf32> to memref<8xf32, strided<[1]>>
  %b = memref.subview %x[8][8][1] : memref<16xf32> to memref<8xf32, strided<[1], offset: 8>>
  %c = memref.cast %b : memref<8xf32, strided<[1], offset: 8>> to memref<8xf32, strided<[1], offset: ?>>
  gpu_async.memset %a, %v : memref<8xf32, strided<[1]>>, f32
  gpu_async.launch @k::@wide blocks in (%c1,%c1,%c1) threads in (%c1,%c1,%c1) args(%c : memref<8xf32, strided<[1], offset: ?>>, %v : f32)
  gpu_async.launch @prints::@reads blocks in (%c1,%c1,%c1) threads in (%c1,%c1,%c1) args(%x : memref<16xf32>)
  gpu_async.launch @prints::@reads blocks in (%c1,%c1,%c1) threads in (%c1,%c1,%c1) args(%x : memref<16xf32>)
  gpu_async.launch @prints::@says blocks in (%c1,%c1,%c1) threads in (%c1,%c1,%c1) args(%n : i32)
  gpu_async.launch @prints::@says blocks in (%c1,%c1,%c1) threads in (%c1,%c1,%c1) args(%n : i32)
  return
}
}

// -----

// A global of the host is one buffer, whoever names it.
memref.global "private" @table : memref<16xf32> = dense<1.0>
// CHECK-LABEL: func.func @fromGlobal
func.func @fromGlobal(%x: memref<16xf32>, %y: memref<16xf32>) {
  // CHECK: %[[A:.*]] = gpu_async.memcpy async %
  // CHECK: gpu_async.memcpy async {{.*}}[%[[A]]
  %t = memref.get_global @table : memref<16xf32>
  %u = memref.get_global @table : memref<16xf32>
  gpu_async.memcpy %t, %x : memref<16xf32>, memref<16xf32>
  gpu_async.memcpy %y, %u : memref<16xf32>, memref<16xf32>
  return
}
