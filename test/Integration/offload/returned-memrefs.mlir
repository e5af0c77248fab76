// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memrefs that functions return between functions with kernels are the program's: what
// it frees is freed once, and an argument or a global that comes back is not freed.
// DEFINE: %{run} = gpu-runner --device=cpu --leak-check=error
// DEFINE: %{gpu} = gpu-opt %t/both.mlir --gpu-async-offload=device=gpu
// RUN: split-file %s %t
// RUN: %{run} %t/both.mlir -e freed | FileCheck %s --check-prefix=FREED
// RUN: %{gpu} | %{run} - -e freed | FileCheck %s --check-prefix=FREED
// FREED: result[0]: f32=9
// RUN: %{run} %t/both.mlir -e argument --input=4xf32=1 --output=- --output=- | FileCheck %s --check-prefix=ARGUMENT
// RUN: %{gpu} | %{run} - -e argument --input=4xf32=1 --output=- --output=- | FileCheck %s --check-prefix=ARGUMENT
// ARGUMENT: arg[0]: 4xf32=3 1 1 1
// ARGUMENT: result[0]: f32=7
// RUN: %{run} %t/both.mlir -e global | FileCheck %s --check-prefix=GLOBAL
// RUN: %{gpu} | %{run} - -e global | FileCheck %s --check-prefix=GLOBAL
// GLOBAL: result[0]: f32=4
// GLOBAL: result[1]: f32=14
// RUN: %{run} %t/both.mlir -e pointer | FileCheck %s --check-prefix=POINTER
// RUN: %{gpu} | %{run} - -e pointer | FileCheck %s --check-prefix=POINTER
// POINTER: result[0]: f32=4
// RUN: %{run} %t/both.mlir -e stored | FileCheck %s --check-prefix=STORED
// RUN: %{gpu} | %{run} - -e stored | FileCheck %s --check-prefix=STORED
// STORED: result[0]: f32=5
// RUN: %{run} %t/both.mlir -e allocated --input=4xf32=1,2,3,4 | FileCheck %s --check-prefix=ALLOCATED
// RUN: %{gpu} | %{run} - -e allocated --input=4xf32=1,2,3,4 | FileCheck %s --check-prefix=ALLOCATED
// ALLOCATED: result[0]: 4xf32=2 4 6 8
// RUN: %{run} %t/both.mlir -e open_size | FileCheck %s --check-prefix=OPEN
// RUN: %{gpu} | %{run} - -e open_size | FileCheck %s --check-prefix=OPEN
// OPEN: result[0]: f32=6
// RUN: %{run} %t/both.mlir -e kept --input=4xf32=5 | FileCheck %s --check-prefix=KEPT
// RUN: %{gpu} | %{run} - -e kept --input=4xf32=5 | FileCheck %s --check-prefix=KEPT
// KEPT: result[0]: f32=10
// Nobody frees the memory of a tensor that may be returned in place of an argument.
// RUN: env ASAN_OPTIONS=detect_leaks=0 %{run} %t/cpu.mlir -e picked --input=4xf32=1 --input=true | FileCheck %s --check-prefix=PICKED
// RUN: env ASAN_OPTIONS=detect_leaks=0 %{run} %t/cpu.mlir -e picked --input=4xf32=1 --input=false | FileCheck %s --check-prefix=OTHER
// PICKED: result[0]: f32=9
// OTHER: result[0]: f32=3
// RUN: %{run} %t/cpu.mlir -e both --input=4xf32=1 | FileCheck %s --check-prefix=BOTH
// BOTH: result[0]: f32=4
// RUN: %{run} %t/cpu.mlir -e through --input=4xf32=1 --output=- --output=- | FileCheck %s --check-prefix=THROUGH
// THROUGH: arg[0]: 4xf32=16 16 16 16
// THROUGH: result[0]: f32=16

//--- both.mlir
module attributes {gpu.container_module} {
memref.global "private" @g : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>

// A function that calls itself stays a call.
func.func private @sevens(%n: index) -> memref<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %seven = arith.constant 7.0 : f32
  %isEnd = arith.cmpi eq, %n, %c0 : index
  %r = scf.if %isEnd -> memref<4xf32> {
    %m = memref.alloc() : memref<4xf32>
    memref.store %seven, %m[%c0] : memref<4xf32>
    scf.yield %m : memref<4xf32>
  } else {
    %less = arith.subi %n, %c1 : index
    %below = func.call @sevens(%less) : (index) -> memref<4xf32>
    scf.yield %below : memref<4xf32>
  }
  return %r : memref<4xf32>
}
func.func @freed() -> f32 {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %two = arith.constant 2.0 : f32
  %m = call @sevens(%c2) : (index) -> memref<4xf32>
  %k = memref.alloc() : memref<4xf32>
  linalg.fill ins(%two : f32) outs(%k : memref<4xf32>)
  %a = memref.load %m[%c0] : memref<4xf32>
  %b = memref.load %k[%c0] : memref<4xf32>
  %r = arith.addf %a, %b : f32
  memref.dealloc %m : memref<4xf32>
  memref.dealloc %k : memref<4xf32>
  return %r : f32
}

func.func private @same(%m: memref<4xf32>, %n: index) -> memref<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %isEnd = arith.cmpi eq, %n, %c0 : index
  %r = scf.if %isEnd -> memref<4xf32> {
    scf.yield %m : memref<4xf32>
  } else {
    %less = arith.subi %n, %c1 : index
    %below = func.call @same(%m, %less) : (memref<4xf32>, index) -> memref<4xf32>
    scf.yield %below : memref<4xf32>
  }
  return %r : memref<4xf32>
}
func.func @argument(%m: memref<4xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %two = arith.constant 2.0 : f32
  %four = arith.constant 4.0 : f32
  %same = call @same(%m, %c2) : (memref<4xf32>, index) -> memref<4xf32>
  %k = tensor.empty(%c2) : tensor<?xf32>
  %twos = linalg.fill ins(%two : f32) outs(%k : tensor<?xf32>) -> tensor<?xf32>
  %b = tensor.extract %twos[%c0] : tensor<?xf32>
  %a = memref.load %same[%c0] : memref<4xf32>
  %sum = arith.addf %a, %b : f32
  memref.store %sum, %same[%c0] : memref<4xf32>
  %c = memref.load %m[%c0] : memref<4xf32>
  %r = arith.addf %c, %four : f32
  return %r : f32
}

func.func private @global_below(%n: index) -> memref<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %isEnd = arith.cmpi eq, %n, %c0 : index
  %r = scf.if %isEnd -> memref<4xf32> {
    %g = memref.get_global @g : memref<4xf32>
    scf.yield %g : memref<4xf32>
  } else {
    %less = arith.subi %n, %c1 : index
    %below = func.call @global_below(%less) : (index) -> memref<4xf32>
    scf.yield %below : memref<4xf32>
  }
  return %r : memref<4xf32>
}
// The kernel's work is seen by the other name, and the host's by the kernel.
func.func @global() -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %ten = arith.constant 10.0 : f32
  %g = memref.get_global @g : memref<4xf32>
  %same = call @global_below(%c2) : (index) -> memref<4xf32>
  linalg.add ins(%g, %g : memref<4xf32>, memref<4xf32>) outs(%g : memref<4xf32>)
  %a = memref.load %same[%c1] : memref<4xf32>
  memref.store %ten, %same[%c0] : memref<4xf32>
  linalg.add ins(%g, %g : memref<4xf32>, memref<4xf32>) outs(%g : memref<4xf32>)
  %b0 = memref.load %g[%c0] : memref<4xf32>
  %six = arith.constant 6.0 : f32
  %b = arith.subf %b0, %six : f32
  return %a, %b : f32, f32
}

func.func private @get() -> memref<4xf32> {
  %g = memref.get_global @g : memref<4xf32>
  return %g : memref<4xf32>
}
func.func @pointer() -> f32 {
  %c1 = arith.constant 1 : index
  %two = arith.constant 2.0 : f32
  %get = func.constant @get : () -> memref<4xf32>
  %m = func.call_indirect %get() : () -> memref<4xf32>
  %k = memref.alloc() : memref<4xf32>
  linalg.fill ins(%two : f32) outs(%k : memref<4xf32>)
  %a = memref.load %m[%c1] : memref<4xf32>
  %b = memref.load %k[%c1] : memref<4xf32>
  %r = arith.addf %a, %b : f32
  return %r : f32
}

// Memory that is stored as a memref outlives the function.
func.func private @store(%where: memref<1xmemref<4xf32>>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %isEnd = arith.cmpi eq, %n, %c0 : index
  scf.if %isEnd {
    %two = arith.constant 2.0 : f32
    %three = arith.constant 3.0 : f32
    %k = tensor.empty(%c1) : tensor<?xf32>
    %twos = linalg.fill ins(%two : f32) outs(%k : tensor<?xf32>) -> tensor<?xf32>
    %b = tensor.extract %twos[%c0] : tensor<?xf32>
    %sum = arith.addf %b, %three : f32
    %m = memref.alloc() : memref<4xf32>
    memref.store %sum, %m[%c0] : memref<4xf32>
    memref.store %m, %where[%c0] : memref<1xmemref<4xf32>>
  } else {
    %less = arith.subi %n, %c1 : index
    func.call @store(%where, %less) : (memref<1xmemref<4xf32>>, index) -> ()
  }
  return
}
func.func @stored() -> f32 {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %where = memref.alloc() : memref<1xmemref<4xf32>>
  call @store(%where, %c2) : (memref<1xmemref<4xf32>>, index) -> ()
  %m = memref.load %where[%c0] : memref<1xmemref<4xf32>>
  %r = memref.load %m[%c0] : memref<4xf32>
  memref.dealloc %m : memref<4xf32>
  memref.dealloc %where : memref<1xmemref<4xf32>>
  return %r : f32
}

// A function that is called may store the memory.
func.func private @keep(%m: memref<4xf32>, %where: memref<1xmemref<4xf32>>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %isEnd = arith.cmpi eq, %n, %c0 : index
  scf.if %isEnd {
    memref.store %m, %where[%c0] : memref<1xmemref<4xf32>>
  } else {
    %less = arith.subi %n, %c1 : index
    func.call @keep(%m, %where, %less) : (memref<4xf32>, memref<1xmemref<4xf32>>, index) -> ()
  }
  return
}
func.func private @double_and_keep(%where: memref<1xmemref<4xf32>>, %x: memref<4xf32>) attributes {no_inline} {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %a = memref.alloc() : memref<4xf32>
  linalg.add ins(%x, %x : memref<4xf32>, memref<4xf32>) outs(%x : memref<4xf32>)
  %q = memref.load %x[%c0] : memref<4xf32>
  memref.store %q, %a[%c0] : memref<4xf32>
  call @keep(%a, %where, %c2) : (memref<4xf32>, memref<1xmemref<4xf32>>, index) -> ()
  return
}
func.func @kept(%x: memref<4xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %where = memref.alloc() : memref<1xmemref<4xf32>>
  call @double_and_keep(%where, %x) : (memref<1xmemref<4xf32>>, memref<4xf32>) -> ()
  %b = memref.alloc() : memref<4xf32>
  %v = arith.constant 1.0 : f32
  memref.store %v, %b[%c0] : memref<4xf32>
  %m = memref.load %where[%c0] : memref<1xmemref<4xf32>>
  %r = memref.load %m[%c0] : memref<4xf32>
  memref.dealloc %m : memref<4xf32>
  memref.dealloc %b : memref<4xf32>
  memref.dealloc %where : memref<1xmemref<4xf32>>
  return %r : f32
}

// A GPU computes in a copy of what is returned.
func.func @allocated(%x: memref<4xf32>) -> memref<4xf32> {
  %m = memref.alloc() : memref<4xf32>
  linalg.add ins(%x, %x : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
  return %m : memref<4xf32>
}
func.func private @twos(%n: index, %k: index) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %isEnd = arith.cmpi eq, %k, %c0 : index
  %two = arith.constant 2.0 : f32
  %v = scf.if %isEnd -> f32 {
    scf.yield %two : f32
  } else {
    %less = arith.subi %k, %c1 : index
    %t = func.call @twos(%n, %less) : (index, index) -> tensor<?xf32>
    %y = tensor.extract %t[%c0] : tensor<?xf32>
    %z = arith.addf %y, %two : f32
    scf.yield %z : f32
  }
  %e = tensor.empty(%c3) : tensor<?xf32>
  %r = linalg.fill ins(%v : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
func.func @open_size() -> f32 {
  %c2 = arith.constant 2 : index
  %t = call @twos(%c2, %c2) : (index, index) -> tensor<?xf32>
  %v = tensor.extract %t[%c2] : tensor<?xf32>
  return %v : f32
}
}

//--- cpu.mlir
// A tensor and a memref: the first is freed for the program, the second is not.
func.func private @pair(%n: index, %m: memref<4xf32>) -> (tensor<?xf32>, memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %isEnd = arith.cmpi eq, %n, %c0 : index
  %same = scf.if %isEnd -> memref<4xf32> {
    scf.yield %m : memref<4xf32>
  } else {
    %less = arith.subi %n, %c1 : index
    %t, %below = func.call @pair(%less, %m) : (index, memref<4xf32>) -> (tensor<?xf32>, memref<4xf32>)
    %x = tensor.extract %t[%c0] : tensor<?xf32>
    memref.store %x, %below[%c0] : memref<4xf32>
    scf.yield %below : memref<4xf32>
  }
  %two = arith.constant 2.0 : f32
  %k = tensor.empty(%c1) : tensor<?xf32>
  %twos = linalg.fill ins(%two : f32) outs(%k : tensor<?xf32>) -> tensor<?xf32>
  return %twos, %same : tensor<?xf32>, memref<4xf32>
}
func.func @both(%m: memref<4xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %t, %same = call @pair(%c2, %m) : (index, memref<4xf32>) -> (tensor<?xf32>, memref<4xf32>)
  %a = tensor.extract %t[%c0] : tensor<?xf32>
  %b = memref.load %same[%c0] : memref<4xf32>
  %r = arith.addf %a, %b : f32
  return %r : f32
}

// A GPU's copies would go apart, so it is refused there.
func.func private @doubled(%m: memref<4xf32>, %n: index) -> memref<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  linalg.add ins(%m, %m : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
  %isEnd = arith.cmpi eq, %n, %c0 : index
  %r = scf.if %isEnd -> memref<4xf32> {
    scf.yield %m : memref<4xf32>
  } else {
    %less = arith.subi %n, %c1 : index
    %below = func.call @doubled(%m, %less) : (memref<4xf32>, index) -> memref<4xf32>
    linalg.add ins(%below, %below : memref<4xf32>, memref<4xf32>) outs(%below : memref<4xf32>)
    scf.yield %below : memref<4xf32>
  }
  return %r : memref<4xf32>
}
func.func @through(%m: memref<4xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %same = call @doubled(%m, %c1) : (memref<4xf32>, index) -> memref<4xf32>
  linalg.add ins(%m, %m : memref<4xf32>, memref<4xf32>) outs(%m : memref<4xf32>)
  %r = memref.load %same[%c0] : memref<4xf32>
  return %r : f32
}

// An argument or the memory of a tensor: no copy of the argument.
func.func private @pick(%m: memref<?xf32>, %c: i1, %n: index) -> memref<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %v = arith.constant 3.0 : f32
  %e = tensor.empty(%c4) : tensor<?xf32>
  %s = linalg.fill ins(%v : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %b = bufferization.to_buffer %s : tensor<?xf32> to memref<?xf32>
  %isEnd = arith.cmpi eq, %n, %c0 : index
  %r = scf.if %isEnd -> memref<?xf32> {
    %one = arith.select %c, %m, %b : memref<?xf32>
    scf.yield %one : memref<?xf32>
  } else {
    %less = arith.subi %n, %c1 : index
    %below = func.call @pick(%m, %c, %less) : (memref<?xf32>, i1, index) -> memref<?xf32>
    scf.yield %below : memref<?xf32>
  }
  return %r : memref<?xf32>
}
func.func @picked(%m: memref<?xf32>, %c: i1) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %nine = arith.constant 9.0 : f32
  %two = arith.constant 2.0 : f32
  %r = call @pick(%m, %c, %c1) : (memref<?xf32>, i1, index) -> memref<?xf32>
  memref.store %nine, %m[%c0] : memref<?xf32>
  %v = memref.load %r[%c0] : memref<?xf32>
  return %v : f32
}
