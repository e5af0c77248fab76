// RUN: gpu-opt %s -split-input-file -gpu-async-infer-dependencies -canonicalize | FileCheck %s
// RUN: gpu-opt %s -split-input-file -gpu-async-infer-dependencies -gpu-async-make-forks-explicit -gpu-async-verify-form=form=linear -o /dev/null

module attributes {gpu.container_module} {
gpu.module @k {
  // Reads its first, writes its second argument.
  gpu.func @copy(%x: memref<16xf32>, %y: memref<16xf32>) kernel {
    %c0 = arith.constant 0 : index
    %v = memref.load %x[%c0] : memref<16xf32>
    memref.store %v, %y[%c0] : memref<16xf32>
    gpu.return
  }
}

// Two launches read what one copy wrote: a fork. The host may change the source
// of the copy at once, and waits only for the copy that it reads from (D08).
// CHECK-LABEL: func.func @fork
func.func @fork(%i: index, %v: f32) -> f32 {
  // CHECK: %[[H:.*]] = memref.alloc()
  // CHECK: %[[G:.*]] = memref.alloc()
  // CHECK: %[[X:.*]], %[[TX:.*]] = gpu_async.alloc async
  // CHECK: %[[Y:.*]], %[[TY:.*]] = gpu_async.alloc async
  // CHECK: %[[Z:.*]], %[[TZ:.*]] = gpu_async.alloc async
  // CHECK: %[[UP:.*]] = gpu_async.memcpy async [%[[TX]]] %[[X]], %[[H]]
  // CHECK-NEXT: memref.store
  // CHECK-NEXT: %[[A:.*]] = gpu_async.launch async [%[[UP]], %[[TY]]]
  // CHECK-NEXT: %[[B:.*]] = gpu_async.launch async [%[[UP]], %[[TZ]]]
  // CHECK-NEXT: %[[DOWN:.*]] = gpu_async.memcpy async [%[[B]]] %[[G]], %[[Z]]
  // CHECK-NEXT: gpu_async.wait [%[[DOWN]]]
  // CHECK-NEXT: memref.load
  // Freed after its readers without a host wait. The second one is done: the
  // host has waited for what comes after it.
  // CHECK-NEXT: gpu_async.dealloc async [%[[A]]] %[[X]]
  // CHECK-NEXT: return
  %c1 = arith.constant 1 : index
  %h = memref.alloc() : memref<16xf32>
  %g = memref.alloc() : memref<16xf32>
  %x = gpu_async.alloc () : memref<16xf32>
  %y = gpu_async.alloc () : memref<16xf32>
  %z = gpu_async.alloc () : memref<16xf32>
  gpu_async.memcpy %x, %h : memref<16xf32>, memref<16xf32>
  memref.store %v, %h[%i] : memref<16xf32>
  gpu_async.launch @k::@copy blocks in (%c1,%c1,%c1) threads in (%c1,%c1,%c1) args(%x : memref<16xf32>, %y : memref<16xf32>)
  gpu_async.launch @k::@copy blocks in (%c1,%c1,%c1) threads in (%c1,%c1,%c1) args(%x : memref<16xf32>, %z : memref<16xf32>)
  gpu_async.memcpy %g, %z : memref<16xf32>, memref<16xf32>
  %r = memref.load %g[%i] : memref<16xf32>
  gpu_async.dealloc %x : memref<16xf32>
  return %r : f32
}
}

// -----

// A copy of what a download may still be writing reads later: the host waits.
// CHECK-LABEL: func.func @down_and_up
func.func @down_and_up(%x: memref<16xf32> {llvm.noalias}, %y: memref<16xf32> {llvm.noalias}, %i: index, %v: f32) {
  // CHECK: %[[A:.*]] = gpu_async.memcpy async %
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memcpy async [%[[A]]]
  // CHECK-NEXT: gpu_async.wait [%[[A]], %[[B]]]
  // CHECK-NEXT: memref.store
  %h = memref.alloc() : memref<16xf32>
  gpu_async.memcpy %h, %x : memref<16xf32>, memref<16xf32>
  gpu_async.memcpy %y, %h : memref<16xf32>, memref<16xf32>
  memref.store %v, %h[%i] : memref<16xf32>
  return
}

// -----

// Memory that the host shares with the device: reading waits for writers only,
// writing for readers too. The allocation itself needs no wait.
// CHECK-LABEL: func.func @shared
func.func @shared(%i: index, %v: f32) -> f32 {
  // CHECK: gpu_async.alloc
  // CHECK: gpu_async.alloc
  // CHECK-NEXT: memref.store
  // CHECK-NEXT: %[[UP:.*]] = gpu_async.memcpy
  // CHECK-NEXT: memref.load
  // CHECK-NEXT: gpu_async.wait [%[[UP]]]
  // CHECK-NEXT: memref.store
  // CHECK-NEXT: return
  %s = gpu_async.alloc host_shared () : memref<16xf32>
  %x = gpu_async.alloc () : memref<16xf32>
  memref.store %v, %s[%i] : memref<16xf32>
  gpu_async.memcpy %x, %s : memref<16xf32>, memref<16xf32>
  %r = memref.load %s[%i] : memref<16xf32>
  memref.store %v, %s[%i] : memref<16xf32>
  return %r : f32
}

// -----

// A function of the module that touches one memref only is not all memory; one
// that nobody knows is.
func.func private @sum(%x: memref<16xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %r = memref.load %x[%c0] : memref<16xf32>
  return %r : f32
}
func.func private @opaque()
// CHECK-LABEL: func.func @calls
func.func @calls(%x: memref<16xf32> {llvm.noalias}, %y: memref<16xf32> {llvm.noalias}, %v: f32) -> f32 {
  // CHECK: %[[A:.*]] = gpu_async.memset
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memset
  // CHECK-NEXT: gpu_async.wait [%[[A]]]
  // CHECK-NEXT: call @sum
  // CHECK-NEXT: gpu_async.wait [%[[B]]]
  // CHECK-NEXT: call @opaque
  // CHECK-NEXT: gpu_async.memset async %
  gpu_async.memset %x, %v : memref<16xf32>, f32
  gpu_async.memset %y, %v : memref<16xf32>, f32
  %r = call @sum(%x) : (memref<16xf32>) -> f32
  call @opaque() : () -> ()
  gpu_async.memset %x, %v : memref<16xf32>, f32
  return %r : f32
}

// -----

// The stack is not left before the device is done with it.
// CHECK-LABEL: func.func @stack
func.func @stack(%x: memref<16xf32>) {
  // CHECK: %[[A:.*]] = gpu_async.memcpy
  // CHECK-NEXT: gpu_async.wait [%[[A]]]
  // CHECK-NEXT: return
  %h = memref.alloca() : memref<16xf32>
  gpu_async.memcpy %h, %x : memref<16xf32>, memref<16xf32>
  return
}

// -----

// Registered memory goes out of reach after the work on it.
// CHECK-LABEL: func.func @registered
func.func @registered(%x: memref<16xf32>, %y : memref<16xf32> {llvm.noalias}, %v: f32) {
  // CHECK: gpu_async.host_register
  // CHECK-NEXT: %[[A:.*]] = gpu_async.memset
  // CHECK-NEXT: gpu_async.memset
  // CHECK-NEXT: gpu_async.wait [%[[A]]]
  // CHECK-NEXT: gpu_async.host_unregister
  // CHECK-NEXT: return
  %u = memref.cast %x : memref<16xf32> to memref<*xf32>
  gpu_async.host_register %u : memref<*xf32>
  gpu_async.memset %x, %v : memref<16xf32>, f32
  gpu_async.memset %y, %v : memref<16xf32>, f32
  gpu_async.host_unregister %u : memref<*xf32>
  return
}

// -----

// A function may register the memory that it is given and returns, and one that
// finds it in other memory may, too: copies then read it when they run.
memref.global "private" @table : memref<memref<16xf32>>
func.func private @pin(%h: memref<16xf32>) -> memref<16xf32> {
  %u = memref.cast %h : memref<16xf32> to memref<*xf32>
  gpu_async.host_register %u : memref<*xf32>
  return %h : memref<16xf32>
}
func.func private @pin_table()
func.func private @view(%h: memref<16xf32>) -> memref<16xf32> {
  return %h : memref<16xf32>
}
// CHECK-LABEL: func.func @maybe_registered
func.func @maybe_registered(%x: memref<16xf32> {llvm.noalias}, %v: f32, %i: index) {
  %h = memref.alloc() : memref<16xf32>
  %p = call @pin(%h) : (memref<16xf32>) -> memref<16xf32>
  // CHECK: gpu_async.memcpy
  // CHECK-NEXT: gpu_async.wait
  // CHECK-NEXT: memref.store
  gpu_async.memcpy %x, %h : memref<16xf32>, memref<16xf32>
  memref.store %v, %h[%i] : memref<16xf32>

  %g = memref.alloc() : memref<16xf32>
  %t = memref.get_global @table : memref<memref<16xf32>>
  memref.store %g, %t[] : memref<memref<16xf32>>
  call @pin_table() : () -> ()
  // CHECK: gpu_async.memcpy
  // CHECK-NEXT: gpu_async.wait
  // CHECK-NEXT: memref.store
  gpu_async.memcpy %x, %g : memref<16xf32>, memref<16xf32>
  memref.store %v, %g[%i] : memref<16xf32>

  %l = memref.alloc() : memref<16xf32>
  %w = call @view(%l) : (memref<16xf32>) -> memref<16xf32>
  // CHECK: gpu_async.memcpy async %
  // CHECK-NEXT: memref.store
  gpu_async.memcpy %x, %l : memref<16xf32>, memref<16xf32>
  memref.store %v, %l[%i] : memref<16xf32>
  return
}

// -----

// A raw pointer may lead anywhere: before it come all, after it all.
module attributes {gpu.container_module} {
gpu.module @k {
  gpu.func @raw(%p: !llvm.ptr) kernel { gpu.return }
}
// CHECK-LABEL: func.func @raw_pointer
func.func @raw_pointer(%p: !llvm.ptr, %x: memref<16xf32> {llvm.noalias}, %y: memref<16xf32> {llvm.noalias}, %v: f32) {
  // CHECK: %[[A:.*]] = gpu_async.memset
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memset
  // CHECK-NEXT: %[[L:.*]] = gpu_async.launch async [%[[A]], %[[B]]]
  // CHECK-NEXT: gpu_async.memset async [%[[L]]] %
  %c1 = arith.constant 1 : index
  gpu_async.memset %x, %v : memref<16xf32>, f32
  gpu_async.memset %y, %v : memref<16xf32>, f32
  gpu_async.launch @k::@raw blocks in (%c1,%c1,%c1) threads in (%c1,%c1,%c1) args(%p : !llvm.ptr)
  gpu_async.memset %x, %v : memref<16xf32>, f32
  return
}
}

// -----

// Work with tokens and work without: order is added between the two kinds, not
// between two with tokens.
// CHECK-LABEL: func.func @mixed
func.func @mixed(%x: memref<16xf32>, %v: f32) {
  // CHECK: %[[A:.*]] = gpu_async.memset async %
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memset async %
  // CHECK-NEXT: %[[C:.*]] = gpu_async.memset async [%[[A]], %[[B]]]
  // CHECK-NEXT: %[[D:.*]] = gpu_async.memset async [%[[C]]]
  // CHECK-NEXT: %[[E:.*]] = gpu_async.memset async [%[[C]]]
  // CHECK-NEXT: gpu_async.wait [%[[D]], %[[E]]]
  %a = gpu_async.memset async %x, %v : memref<16xf32>, f32
  %b = gpu_async.memset async %x, %v : memref<16xf32>, f32
  gpu_async.memset %x, %v : memref<16xf32>, f32
  %d = gpu_async.memset async %x, %v : memref<16xf32>, f32
  %e = gpu_async.memset async %x, %v : memref<16xf32>, f32
  gpu_async.wait [%d, %e]
  return
}

// RUN: gpu-opt %s -split-input-file -gpu-async-infer-dependencies --remarks-filter=gpu-async-infer-dependencies --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] Dependencies | Category:gpu-async-infer-dependencies | Function=fork | dependencies=7, host-waits=1, ordered-ops=8{{$}}
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] Dependencies | Category:gpu-async-infer-dependencies | Function=calls | dependencies=0, host-waits=2, ordered-ops=3{{$}}
