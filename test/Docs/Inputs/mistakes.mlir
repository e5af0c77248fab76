// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The wrong functions of docs/how-to/Mistakes.md.
module attributes {gpu.container_module} {
gpu.module @k {
  gpu.func @add(%x: memref<?xf32>, %v: f32) kernel {
    %i = gpu.thread_id x
    %o = memref.load %x[%i] : memref<?xf32>
    %n = arith.addf %o, %v : f32
    memref.store %n, %x[%i] : memref<?xf32>
    gpu.return
  }
}
func.func @big(%x: memref<?xf32>, %v: f32) {
  %c1 = arith.constant 1 : index
  %n = arith.constant 2048 : index
  gpu.launch_func @k::@add blocks in (%c1, %c1, %c1) threads in (%n, %c1, %c1) args(%x : memref<?xf32>, %v : f32)
  return
}
func.func @host(%x: memref<?xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  gpu.launch_func @k::@add blocks in (%c1, %c1, %c1) threads in (%n, %c1, %c1) args(%x : memref<?xf32>, %v : f32)
  return
}
func.func @outside(%h: memref<?xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %h, %c0 : memref<?xf32>
  %m = arith.addi %n, %c1 : index
  %x = gpu.alloc (%n) : memref<?xf32>
  gpu.memcpy %x, %h : memref<?xf32>, memref<?xf32>
  gpu.launch_func @k::@add blocks in (%c1, %c1, %c1) threads in (%m, %c1, %c1) args(%x : memref<?xf32>, %v : f32)
  gpu.memcpy %h, %x : memref<?xf32>, memref<?xf32>
  gpu.dealloc %x : memref<?xf32>
  return
}
func.func @kept(%h: memref<?xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %h, %c0 : memref<?xf32>
  %x = gpu.alloc (%n) : memref<?xf32>
  gpu.memcpy %x, %h : memref<?xf32>, memref<?xf32>
  return
}
func.func @freed(%h: memref<?xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %h, %c0 : memref<?xf32>
  %x = gpu.alloc (%n) : memref<?xf32>
  gpu.dealloc %x : memref<?xf32>
  gpu.memcpy %x, %h : memref<?xf32>, memref<?xf32>
  return
}
func.func @race(%h: memref<?xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %h, %c0 : memref<?xf32>
  %r = gpu.wait async
  %x, %t = gpu.alloc async [%r] (%n) : memref<?xf32>
  %u = gpu.memcpy async [%t] %x, %h : memref<?xf32>, memref<?xf32>
  %a = gpu.launch_func async [%u] @k::@add blocks in (%c1, %c1, %c1) threads in (%n, %c1, %c1) args(%x : memref<?xf32>, %v : f32)
  %b = gpu.launch_func async [%u] @k::@add blocks in (%c1, %c1, %c1) threads in (%n, %c1, %c1) args(%x : memref<?xf32>, %v : f32)
  %d = gpu.memcpy async [%a, %b] %h, %x : memref<?xf32>, memref<?xf32>
  %f = gpu.dealloc async [%d] %x : memref<?xf32>
  gpu.wait [%f]
  return
}
func.func @huge() {
  %n = arith.constant -3 : index
  %x = gpu.alloc (%n) : memref<?xf32>
  gpu.dealloc %x : memref<?xf32>
  return
}
func.func @divergent(%x: memref<64xi32>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %d = gpu.alloc () : memref<64xi32>
  gpu.launch blocks(%a, %b, %c) in (%ga = %c1, %gb = %c1, %gc = %c1) threads(%i, %j, %k) in (%ta = %c64, %tb = %c1, %tc = %c1) {
    %low = arith.cmpi ult, %i, %c32 : index
    scf.if %low {
      gpu.barrier
    }
    %v = arith.index_cast %i : index to i32
    memref.store %v, %d[%i] : memref<64xi32>
    gpu.terminator
  }
  gpu.memcpy %x, %d : memref<64xi32>, memref<64xi32>
  gpu.dealloc %d : memref<64xi32>
  return
}
func.func @asserts(%x: memref<64xi32>) {
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %d = gpu.alloc () : memref<64xi32>
  gpu.memcpy %d, %x : memref<64xi32>, memref<64xi32>
  gpu.launch blocks(%a, %b, %c) in (%ga = %c1, %gb = %c1, %gc = %c1) threads(%i, %j, %k) in (%ta = %c64, %tb = %c1, %tc = %c1) {
    %v = memref.load %d[%i] : memref<64xi32>
    %good = arith.cmpi sgt, %v, %zero : i32
    cf.assert %good, "an element is not positive"
    gpu.terminator
  }
  gpu.dealloc %d : memref<64xi32>
  return
}
func.func @forever(%x: memref<64xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %d = gpu.alloc () : memref<64xi32>
  gpu.memcpy %d, %x : memref<64xi32>, memref<64xi32>
  gpu.launch blocks(%a, %b, %c) in (%ga = %c1, %gb = %c1, %gc = %c1) threads(%i, %j, %k) in (%ta = %c1, %tb = %c1, %tc = %c1) {
    scf.while : () -> () {
      %v = memref.atomic_rmw addi %zero, %d[%c0] : (i32, memref<64xi32>) -> i32
      %again = arith.cmpi eq, %v, %zero : i32
      scf.condition(%again)
    } do {
      scf.yield
    }
    gpu.terminator
  }
  gpu.dealloc %d : memref<64xi32>
  return
}
func.func @product(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>, %c: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(%c : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
func.func private @log_it(f32)
func.func @logs(%a: f32) {
  call @log_it(%a) : (f32) -> ()
  return
}
}
