// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A function that is called between kernels uses their globals by name, so it reads what
// they wrote and they what it writes: one that calls itself, one with kernels, one with
// device work of its own, one behind a pointer. For a GPU, too, where each has its copy.
// DEFINE: %{run} = gpu-runner --device=cpu --check
// DEFINE: %{gpu} = gpu-opt %s --gpu-async-offload=device=gpu
// RUN: %{run} %s -e recursive --input=3 | FileCheck %s --check-prefix=RECURSIVE
// RUN: %{gpu} | %{run} - -e recursive --input=3 | FileCheck %s --check-prefix=RECURSIVE
// RECURSIVE: result[0]: f32=4
// RECURSIVE: result[1]: f32=28
// RUN: %{run} %s -e kernels --input=3 | FileCheck %s --check-prefix=KERNELS
// RUN: %{gpu} | %{run} - -e kernels --input=3 | FileCheck %s --check-prefix=KERNELS
// KERNELS: result[0]: f32=32
// KERNELS: result[1]: f32=64
// RUN: %{run} %s -e device_work | FileCheck %s --check-prefix=DEVICE-WORK
// RUN: %{gpu} | %{run} - -e device_work | FileCheck %s --check-prefix=DEVICE-WORK
// DEVICE-WORK: result[0]: f32=4
// RUN: %{run} %s -e pointer --input=true | FileCheck %s --check-prefix=POINTER
// RUN: %{gpu} | %{run} - -e pointer --input=true | FileCheck %s --check-prefix=POINTER
// POINTER: result[0]: f32=4
// POINTER: result[1]: f32=28
// RUN: %{run} %s -e as_argument | FileCheck %s --check-prefix=AS-ARGUMENT
// RUN: %{gpu} | %{run} - -e as_argument | FileCheck %s --check-prefix=AS-ARGUMENT
// AS-ARGUMENT: result[0]: f32=4
// AS-ARGUMENT: result[1]: f32=28
// RUN: %{run} %s -e rounds --input=3 | FileCheck %s --check-prefix=ROUNDS
// RUN: %{gpu} | %{run} - -e rounds --input=3 | FileCheck %s --check-prefix=ROUNDS
// ROUNDS: result[0]: f32=86

// The copy of an argument that stays on the device cannot follow.
// RUN: %{run} %s -e resident | FileCheck %s --check-prefix=RESIDENT
// RUN: %{gpu} | %{run} - -e apart | FileCheck %s --check-prefix=APART
// RUN: %{gpu} | not %{run} - -e resident 2>&1 | FileCheck %s --check-prefix=REFUSED
// RESIDENT: result[0]: f32=14
// APART: result[0]: f32=6
// REFUSED: error: assertion failed: argument 0 and @g of @sum overlap
module attributes {gpu.container_module} {
memref.global "private" @g : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>

// Reads g[1] and adds 10 to it, n calls deep.
func.func private @rec(%n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ten = arith.constant 10.0 : f32
  %g = memref.get_global @g : memref<4xf32>
  %isEnd = arith.cmpi eq, %n, %c0 : index
  %r = scf.if %isEnd -> f32 {
    %v = memref.load %g[%c1] : memref<4xf32>
    %w = arith.addf %v, %ten : f32
    memref.store %w, %g[%c1] : memref<4xf32>
    scf.yield %v : f32
  } else {
    %m = arith.subi %n, %c1 : index
    %q = func.call @rec(%m) : (index) -> f32
    scf.yield %q : f32
  }
  return %r : f32
}
func.func @recursive(%n: index) -> (f32, f32) {
  %c1 = arith.constant 1 : index
  %g = memref.get_global @g : memref<4xf32>
  linalg.add ins(%g, %g : memref<4xf32>, memref<4xf32>) outs(%g : memref<4xf32>)
  %before = call @rec(%n) : (index) -> f32
  linalg.add ins(%g, %g : memref<4xf32>, memref<4xf32>) outs(%g : memref<4xf32>)
  %after = memref.load %g[%c1] : memref<4xf32>
  return %before, %after : f32, f32
}

// Doubles g in each of n calls, then reads g[1].
func.func private @twice(%n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %g = memref.get_global @g : memref<4xf32>
  %isEnd = arith.cmpi eq, %n, %c0 : index
  %r = scf.if %isEnd -> f32 {
    %v = memref.load %g[%c1] : memref<4xf32>
    scf.yield %v : f32
  } else {
    linalg.add ins(%g, %g : memref<4xf32>, memref<4xf32>) outs(%g : memref<4xf32>)
    %m = arith.subi %n, %c1 : index
    %q = func.call @twice(%m) : (index) -> f32
    scf.yield %q : f32
  }
  return %r : f32
}
func.func @kernels(%n: index) -> (f32, f32) {
  %c1 = arith.constant 1 : index
  %g = memref.get_global @g : memref<4xf32>
  linalg.add ins(%g, %g : memref<4xf32>, memref<4xf32>) outs(%g : memref<4xf32>)
  %r = call @twice(%n) : (index) -> f32
  linalg.add ins(%g, %g : memref<4xf32>, memref<4xf32>) outs(%g : memref<4xf32>)
  %v = memref.load %g[%c1] : memref<4xf32>
  return %r, %v : f32, f32
}

func.func private @own() -> f32 {
  %c1 = arith.constant 1 : index
  %g = memref.get_global @g : memref<4xf32>
  %t = gpu.wait async
  %d, %t1 = gpu.alloc async [%t] () : memref<4xf32>
  %t2 = gpu.memcpy async [%t1] %d, %g : memref<4xf32>, memref<4xf32>
  %h = memref.alloc() : memref<4xf32>
  %t3 = gpu.memcpy async [%t2] %h, %d : memref<4xf32>, memref<4xf32>
  %t4 = gpu.dealloc async [%t3] %d : memref<4xf32>
  gpu.wait [%t4]
  %v = memref.load %h[%c1] : memref<4xf32>
  memref.dealloc %h : memref<4xf32>
  return %v : f32
}
func.func @device_work() -> f32 {
  %g = memref.get_global @g : memref<4xf32>
  linalg.add ins(%g, %g : memref<4xf32>, memref<4xf32>) outs(%g : memref<4xf32>)
  %r = call @own() : () -> f32
  return %r : f32
}

// Reads g[1] and adds 10 to it.
func.func private @bump() -> f32 {
  %c1 = arith.constant 1 : index
  %ten = arith.constant 10.0 : f32
  %g = memref.get_global @g : memref<4xf32>
  %v = memref.load %g[%c1] : memref<4xf32>
  %w = arith.addf %v, %ten : f32
  memref.store %w, %g[%c1] : memref<4xf32>
  return %v : f32
}
func.func private @one() -> f32 {
  %one = arith.constant 1.0 : f32
  return %one : f32
}
func.func @pointer(%isBump: i1) -> (f32, f32) {
  %c1 = arith.constant 1 : index
  %g = memref.get_global @g : memref<4xf32>
  linalg.add ins(%g, %g : memref<4xf32>, memref<4xf32>) outs(%g : memref<4xf32>)
  %p = func.constant @bump : () -> f32
  %q = func.constant @one : () -> f32
  %s = arith.select %isBump, %p, %q : () -> f32
  %before = func.call_indirect %s() : () -> f32
  linalg.add ins(%g, %g : memref<4xf32>, memref<4xf32>) outs(%g : memref<4xf32>)
  %after = memref.load %g[%c1] : memref<4xf32>
  return %before, %after : f32, f32
}

// A global that is an argument here. What a function calls itself with is other memory.
func.func private @double(%m: memref<4xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %isEnd = arith.cmpi eq, %n, %c0 : index
  %r = scf.if %isEnd -> f32 {
    scf.yield %zero : f32
  } else {
    linalg.add ins(%m, %m : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
    %p = func.constant @bump : () -> f32
    %q = func.constant @one : () -> f32
    %s = arith.select %isEnd, %q, %p : () -> f32
    %v = func.call_indirect %s() : () -> f32
    linalg.add ins(%m, %m : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
    %other = memref.alloc() : memref<4xf32>
    memref.store %zero, %other[%c0] : memref<4xf32>
    %less = arith.subi %n, %c1 : index
    %w = func.call @double(%other, %less) : (memref<4xf32>, index) -> f32
    memref.dealloc %other : memref<4xf32>
    %sum = arith.addf %v, %w : f32
    scf.yield %sum : f32
  }
  return %r : f32
}
func.func @as_argument() -> (f32, f32) {
  %c1 = arith.constant 1 : index
  %g = memref.get_global @g : memref<4xf32>
  %before = call @double(%g, %c1) : (memref<4xf32>, index) -> f32
  %after = memref.load %g[%c1] : memref<4xf32>
  return %before, %after : f32, f32
}

// 2, doubled and 10 more in each round.
func.func @rounds(%n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %g = memref.get_global @g : memref<4xf32>
  scf.for %i = %c0 to %n step %c1 {
    linalg.add ins(%g, %g : memref<4xf32>, memref<4xf32>) outs(%g : memref<4xf32>)
    %v = func.call @rec(%i) : (index) -> f32
  }
  %v = memref.load %g[%c1] : memref<4xf32>
  return %v : f32
}

// Adds the memory to the output, before and after what changes the global. Calls itself
// with other memory, so that it is not inlined.
func.func private @sum(%m: memref<4xf32> {gpu_async.resident}, %out: memref<4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %isEnd = arith.cmpi eq, %n, %c0 : index
  scf.if %isEnd {
  } else {
    linalg.add ins(%m, %out : memref<4xf32>, memref<4xf32>) outs(%out : memref<4xf32>)
    %p = func.constant @bump : () -> f32
    %q = func.constant @one : () -> f32
    %s = arith.select %isEnd, %q, %p : () -> f32
    %v = func.call_indirect %s() : () -> f32
    linalg.add ins(%m, %out : memref<4xf32>, memref<4xf32>) outs(%out : memref<4xf32>)
    %other = memref.alloc() : memref<4xf32>
    %another = memref.alloc() : memref<4xf32>
    %less = arith.subi %n, %c1 : index
    func.call @sum(%other, %another, %less) : (memref<4xf32>, memref<4xf32>, index) -> ()
    memref.dealloc %other : memref<4xf32>
    memref.dealloc %another : memref<4xf32>
  }
  return
}
func.func private @zeros() -> memref<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %m = memref.alloc() : memref<4xf32>
  scf.for %i = %c0 to %c4 step %c1 {
    memref.store %zero, %m[%i] : memref<4xf32>
  }
  return %m : memref<4xf32>
}
func.func @resident() -> f32 {
  %c1 = arith.constant 1 : index
  %g = memref.get_global @g : memref<4xf32>
  %out = call @zeros() : () -> memref<4xf32>
  call @sum(%g, %out, %c1) : (memref<4xf32>, memref<4xf32>, index) -> ()
  %r = memref.load %out[%c1] : memref<4xf32>
  memref.dealloc %out : memref<4xf32>
  return %r : f32
}
func.func @apart() -> f32 {
  %c1 = arith.constant 1 : index
  %three = arith.constant 3.0 : f32
  %m = call @zeros() : () -> memref<4xf32>
  %out = call @zeros() : () -> memref<4xf32>
  memref.store %three, %m[%c1] : memref<4xf32>
  call @sum(%m, %out, %c1) : (memref<4xf32>, memref<4xf32>, index) -> ()
  %r = memref.load %out[%c1] : memref<4xf32>
  memref.dealloc %m : memref<4xf32>
  memref.dealloc %out : memref<4xf32>
  return %r : f32
}
}
