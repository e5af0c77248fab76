// RUN: gpu-opt %s -gpu-async-print-hazards -o /dev/null 2>&1 | FileCheck %s
// RUN: gpu-opt %s -gpu-async-print-hazards -o /dev/null 2>&1 | count 14

// Ordered by a token, by the host, or not at all.
func.func @line(%x: memref<8xf32>, %y: memref<8xf32> {llvm.noalias}, %v: f32) {
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  // CHECK: hazard in @line: write-after-write of argument 0: gpu_async.memset at loc("{{.*}}":[[@LINE+1]]:8) is not ordered after gpu_async.memset at loc("{{.*}}":[[@LINE-1]]:8)
  %b = gpu_async.memset async %x, %v : memref<8xf32>, f32
  // CHECK-NEXT: hazard in @line: read-after-write of argument 0: gpu_async.memcpy at {{.*}} is not ordered after gpu_async.memset at loc("{{.*}}":[[@LINE-1]]:8)
  %c = gpu_async.memcpy async [%a] %y, %x : memref<8xf32>, memref<8xf32>
  gpu_async.wait [%a, %b]
  // CHECK-NEXT: hazard in @line: write-after-read of argument 0: gpu_async.memset at {{.*}} is not ordered after gpu_async.memcpy
  %d = gpu_async.memset async %x, %v : memref<8xf32>, f32
  gpu_async.wait [%c, %d]
  %e = gpu_async.memset async %x, %v : memref<8xf32>, f32
  gpu_async.wait [%e]
  return
}

// Windows that constants tell apart, sequential ops and ordered branches are fine.
func.func @fine(%c: i1, %v: f32) {
  %x, %t = gpu_async.alloc async () : memref<8xf32>
  %l = memref.subview %x[0][4][1] : memref<8xf32> to memref<4xf32, strided<[1]>>
  %h = memref.subview %x[4][4][1] : memref<8xf32> to memref<4xf32, strided<[1], offset: 4>>
  %a = gpu_async.memset async [%t] %l, %v : memref<4xf32, strided<[1]>>, f32
  %b = gpu_async.memset async [%t] %h, %v : memref<4xf32, strided<[1], offset: 4>>, f32
  %j = gpu_async.wait async [%a, %b]
  %r = scf.if %c -> !gpu_async.token {
    %d = gpu_async.memset async [%j] %x, %v : memref<8xf32>, f32
    scf.yield %d : !gpu_async.token
  } else {
    scf.yield %j : !gpu_async.token
  }
  %e = gpu_async.memset async [%r] %x, %v : memref<8xf32>, f32
  gpu_async.memset %x, %v : memref<8xf32>, f32
  return
}

// One branch forgets its work.
func.func @branch(%c: i1, %x: memref<8xf32>, %v: f32) {
  %t = gpu_async.wait async
  %r = scf.if %c -> !gpu_async.token {
    %d = gpu_async.memset async %x, %v : memref<8xf32>, f32
    scf.yield %t : !gpu_async.token
  } else {
    %f = gpu_async.memset async %x, %v : memref<8xf32>, f32
    scf.yield %f : !gpu_async.token
  }
  // CHECK-NEXT: hazard in @branch: write-after-write of argument 1: gpu_async.memset at loc("{{.*}}":[[@LINE+1]]:8) is not ordered after gpu_async.memset at loc("{{.*}}":[[@LINE-6]]:10)
  %e = gpu_async.memset async [%r] %x, %v : memref<8xf32>, f32
  return
}

// An iteration that does not follow the last one, and the host reading early; a
// loop that carries its token is fine.
func.func @loop(%n: index, %x: memref<8xf32> {llvm.noalias}, %y: memref<8xf32> {llvm.noalias}, %v: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = gpu_async.wait async
  // CHECK-NEXT: hazard in @loop: write-after-write of argument 1: gpu_async.memset at loc("{{.*}}":[[@LINE+8]]:8)
  // CHECK-NEXT: hazard in @loop: read-after-write of argument 1: memref.load at
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%u = %t) -> !gpu_async.token {
    %a = gpu_async.memset async [%u] %y, %v : memref<8xf32>, f32
    // CHECK-NEXT: hazard in @loop: write-after-write of argument 1: gpu_async.memset at loc("{{.*}}":[[@LINE+1]]:10) is not ordered after gpu_async.memset at loc("{{.*}}":[[@LINE+1]]:10) of an earlier iteration
    %b = gpu_async.memset async %x, %v : memref<8xf32>, f32
    scf.yield %a : !gpu_async.token
  }
  %c = gpu_async.memset async [%last] %x, %v : memref<8xf32>, f32
  %d = gpu_async.memset async [%last] %y, %v : memref<8xf32>, f32
  gpu_async.wait [%c, %d]
  %r = memref.load %x[%c0] : memref<8xf32>
  return %r : f32
}

// Behind an scf.while, work of its second region may still run.
func.func @behindWhile(%c: i1, %x: memref<8xf32>, %v: f32) {
  scf.while : () -> () {
    scf.condition(%c)
  } do {
    %w = gpu_async.memset async %x, %v : memref<8xf32>, f32
    scf.yield
  }
  // CHECK-NEXT: hazard in @behindWhile: write-after-write of argument 1: gpu_async.memset at loc("{{.*}}":[[@LINE+1]]:8) is not ordered after gpu_async.memset at loc("{{.*}}":[[@LINE-3]]:10)
  %e = gpu_async.memset async %x, %v : memref<8xf32>, f32
  // CHECK-NEXT: hazard in @behindWhile: {{.*}} of an earlier iteration
  return
}

// Halves of a window that moves: each is unordered with the other one of an earlier
// iteration, and with nothing of its own.
func.func @moves(%x: memref<64xf32> {llvm.noalias}, %n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = gpu_async.wait async
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%ta = %t, %tb = %t) -> (!gpu_async.token, !gpu_async.token) {
    %w = memref.reinterpret_cast %x to offset: [%i], sizes: [8], strides: [1] : memref<64xf32> to memref<8xf32, strided<[1], offset: ?>>
    %a = memref.subview %w[0][4][1] : memref<8xf32, strided<[1], offset: ?>> to memref<4xf32, strided<[1], offset: ?>>
    %b = memref.subview %w[4][4][1] : memref<8xf32, strided<[1], offset: ?>> to memref<4xf32, strided<[1], offset: ?>>
    // CHECK-NEXT: hazard in @moves: write-after-write of argument 0: gpu_async.memset at loc("{{.*}}":[[@LINE+1]]:10) is not ordered after gpu_async.memset at loc("{{.*}}":[[@LINE+3]]:10) of an earlier iteration
    %u = gpu_async.memset async [%ta] %a, %v : memref<4xf32, strided<[1], offset: ?>>, f32
    // CHECK-NEXT: hazard in @moves: write-after-write of argument 0: gpu_async.memset at loc("{{.*}}":[[@LINE+1]]:10) is not ordered after gpu_async.memset at loc("{{.*}}":[[@LINE-1]]:10) of an earlier iteration
    %z = gpu_async.memset async [%tb] %b, %v : memref<4xf32, strided<[1], offset: ?>>, f32
    scf.yield %u, %z : !gpu_async.token, !gpu_async.token
  }
  gpu_async.wait [%r#0, %r#1]
  return
}

// Memory of an iteration's own that the next one gets hold of.
func.func @handedOn(%n: index, %x: memref<8xf32> {llvm.noalias}, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = gpu_async.wait async
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%last = %x, %tb = %t) -> (memref<8xf32>, !gpu_async.token) {
    // CHECK-NEXT: hazard in @handedOn: write-after-write of memory that may be anywhere: gpu_async.memset at loc("{{.*}}":[[@LINE+2]]:10) is not ordered after gpu_async.alloc at loc("{{.*}}":[[@LINE+4]]:14) of an earlier iteration
    // CHECK-NEXT: hazard in @handedOn: write-after-write of memory that may be anywhere: gpu_async.memset at loc("{{.*}}":[[@LINE+1]]:10) is not ordered after gpu_async.memset at loc("{{.*}}":[[@LINE+4]]:10) of an earlier iteration
    %b = gpu_async.memset async [%tb] %last, %v : memref<8xf32>, f32
    gpu_async.wait [%b]
    %m, %u = gpu_async.alloc async () : memref<8xf32>
    %a = gpu_async.memset async [%u] %m, %v : memref<8xf32>, f32
    scf.yield %m, %b : memref<8xf32>, !gpu_async.token
  }
  gpu_async.wait [%r#1]
  return
}

// What the host has waited for in a branch is before what follows the branch.
func.func @waitedInBranch(%c: i1, %x: memref<8xf32>, %v: f32) {
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  %r = scf.if %c -> !gpu_async.token {
    gpu_async.wait [%a]
    %t = gpu_async.wait async
    scf.yield %t : !gpu_async.token
  } else {
    scf.yield %a : !gpu_async.token
  }
  %b = gpu_async.memset async [%r] %x, %v : memref<8xf32>, f32
  gpu_async.wait [%b]
  return
}

// Of two arguments it is not known.
func.func @arguments(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32> {llvm.noalias}, %v: f32) {
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  // CHECK: hazard in @arguments: write-after-write of argument 1 (argument 1 may be argument 0; if it never is, give one of the two the attribute llvm.noalias): gpu_async.memset at loc("{{.*}}":[[@LINE+1]]:8) is not ordered after gpu_async.memset at loc("{{.*}}":[[@LINE-1]]:8)
  %b = gpu_async.memset async %y, %v : memref<8xf32>, f32
  %c = gpu_async.memset async %z, %v : memref<8xf32>, f32
  gpu_async.wait [%a, %b, %c]
  return
}
