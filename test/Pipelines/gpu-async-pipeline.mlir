// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The host program is lowered completely, whatever dialects it uses, and the
// result goes through the pipeline again.
// RUN: gpu-opt %s --gpu-async-pipeline="targets=cpu on-error=status packed-wrappers" -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=POISON < %t.mlir
// RUN: gpu-opt %t.mlir --gpu-async-pipeline="targets=cpu on-error=status packed-wrappers" | FileCheck %s

// CHECK-NOT: {{^ *(%.* = )?(func|arith|affine|linalg|vector|math|complex|index|ub|memref|scf|cf|gpu|gpu_async)\.}}
module {
  // CHECK-LABEL: llvm.func @main(
  // CHECK:         llvm.call @gpuasync_region_{{run|add}}(
  // CHECK-LABEL: llvm.func @_gpuasync_packed_main(
  func.func @main(%m: memref<?x4xf32>, %z: complex<f32>, %i: index, %f: f32) -> f32 {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%m : memref<?x4xf32>)
    affine.for %k = 0 to 4 {
      affine.store %f, %m[%i, %k] : memref<?x4xf32>
    }
    %v = vector.transfer_read %m[%i, %i], %zero : memref<?x4xf32>, vector<4xf32>
    %sum = vector.reduction <add>, %v : vector<4xf32> into f32
    %erf = math.erf %sum : f32
    %exp = math.exp %erf : f32
    %i32 = arith.constant 3 : i32
    %power = math.ipowi %i32, %i32 : i32
    %p = arith.sitofp %power : i32 to f32
    %y = complex.exp %z : complex<f32>
    %re = complex.re %y : complex<f32>
    %two = index.constant 2
    %j = index.mul %i, %two
    %poison = ub.poison : f32
    %view = memref.subview %m[%i, 0] [1, 4] [1, 1] : memref<?x4xf32> to memref<1x4xf32, strided<[4, 1], offset: ?>>
    scf.parallel (%a) = (%i) to (%j) step (%c1) {
      memref.store %re, %view[%a, %a] : memref<1x4xf32, strided<[4, 1], offset: ?>>
    }
    %x = gpu.alloc (%i) : memref<?x4xf32>
    gpu.memcpy %x, %m : memref<?x4xf32>, memref<?x4xf32>
    gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
               threads(%tx, %ty, %tz) in (%ntx = %c4, %nty = %c1, %ntz = %c1) {
      memref.store %f, %x[%bx, %tx] : memref<?x4xf32>
      gpu.terminator
    }
    gpu.memcpy %m, %x : memref<?x4xf32>, memref<?x4xf32>
    gpu.dealloc %x : memref<?x4xf32>
    %r0 = arith.addf %exp, %p : f32
    %r1 = arith.addf %r0, %re : f32
    return %r1 : f32
  }

  // What is undefined on a path after control flow has been lifted reaches LLVM.
  // CHECK-LABEL: llvm.func @undefined(
  // CHECK: llvm.return
  // POISON-LABEL: llvm.func @undefined(
  // POISON: llvm.mlir.constant
  // POISON: llvm.mlir.poison : i64
  // POISON-NEXT: llvm.mlir.poison : f32
  // POISON-NEXT: llvm.mlir.poison : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
  func.func @undefined(%x: memref<?xf32>, %v: f32, %n: index, %c: i1, %d: i1) -> index {
    gpu.memset %x, %v : memref<?xf32>, f32
    cf.cond_br %c, ^fill(%x, %v, %n : memref<?xf32>, f32, index), ^check
  ^fill(%m: memref<?xf32>, %w: f32, %k: index):
    gpu.memset %m, %w : memref<?xf32>, f32
    %i = arith.addi %k, %k : index
    cf.cond_br %c, ^check, ^exit(%i : index)
  ^check:
    cf.cond_br %d, ^fill(%x, %v, %n : memref<?xf32>, f32, index), ^exit(%n : index)
  ^exit(%r: index):
    return %r : index
  }

  // Memory spaces are one on the host, whoever lowers the access.
  // CHECK-LABEL: llvm.func @spaces(
  // CHECK-SAME:    %{{[a-z0-9]+}}: !llvm.ptr, %{{[a-z0-9]+}}: !llvm.ptr, %
  func.func @spaces(%m: memref<?x4xf32, 1>, %i: index) -> (vector<4xf32>, memref<?x4xf32, #gpu.address_space<global>>) {
    %zero = arith.constant 0.0 : f32
    %v = vector.transfer_read %m[%i, %i], %zero : memref<?x4xf32, 1>, vector<4xf32>
    %plain = memref.memory_space_cast %m : memref<?x4xf32, 1> to memref<?x4xf32>
    %global = memref.memory_space_cast %plain : memref<?x4xf32> to memref<?x4xf32, #gpu.address_space<global>>
    return %v, %global : vector<4xf32>, memref<?x4xf32, #gpu.address_space<global>>
  }
}
// CHECK: llvm.func @_gpuasync_packed_spaces(
// CHECK: @_gpuasync_program
