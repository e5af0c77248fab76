// Functions of a program may be called as those of the C library that its code
// calls: each call gets the one that is meant.
// RUN: gpu-runner %s -e memcpy --device=cpu -O0 --input=0.5 | FileCheck %s
// RUN: gpu-runner %s -e expf --device=cpu -O0 --input=0.5 --input=1 | FileCheck %s --check-prefix=EXPF
// CHECK: result[0]: f32=2.718
// EXPF: result[0]: f32=6.849
func.func @memcpy(%x: f32) -> f32 {
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %m = memref.alloc() : memref<1000xf32>
  %n = memref.alloc() : memref<1000xf32>
  memref.store %one, %m[%c0] : memref<1000xf32>
  memref.copy %m, %n : memref<1000xf32> to memref<1000xf32>
  %y = memref.load %n[%c0] : memref<1000xf32>
  %e = math.exp %y : f32
  memref.dealloc %m : memref<1000xf32>
  memref.dealloc %n : memref<1000xf32>
  return %e : f32
}
func.func @expf(%x: f32, %n: i32) -> f32 {
  %zero = arith.constant 0 : i32
  %last = arith.cmpi eq, %n, %zero : i32
  %r = scf.if %last -> f32 {
    %e = math.exp %x : f32
    scf.yield %e : f32
  } else {
    %p = func.call @expf(%x, %zero) : (f32, i32) -> f32
    %q = func.call @expf(%p, %zero) : (f32, i32) -> f32
    %s = arith.addf %p, %q : f32
    scf.yield %s : f32
  }
  return %r : f32
}
