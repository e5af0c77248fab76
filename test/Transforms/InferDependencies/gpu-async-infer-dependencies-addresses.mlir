// RUN: gpu-opt %s -split-input-file -gpu-async-infer-dependencies | FileCheck %s
//
// Numbers that are addresses: a kernel that makes a pointer of one may touch anything.
// Whether it does its body says; if that is not known, the number.

module attributes {gpu.container_module} {
gpu.module @k {
  // Not a pointer: a number that is computed with, stored, and an index.
  gpu.func @counts(%x: memref<16xi64>, %n: i64, %i: index) kernel {
    %m = arith.muli %n, %n : i64
    memref.store %m, %x[%i] : memref<16xi64>
    gpu.return
  }
  gpu.func @direct(%a: i64) kernel {
    %p = llvm.inttoptr %a : i64 to !llvm.ptr
    gpu.return
  }
  gpu.func @computed(%a: index, %i: i32) kernel {
    %b = arith.index_cast %a : index to i64
    %j = arith.extui %i : i32 to i64
    %c = arith.addi %b, %j : i64
    %p = llvm.inttoptr %c : i64 to !llvm.ptr
    gpu.return
  }
  func.func private @helper(%a: i64) -> i32 {
    %p = llvm.inttoptr %a : i64 to !llvm.ptr
    %v = llvm.load %p : !llvm.ptr -> i32
    return %v : i32
  }
  func.func private @plus(%a: i64, %b: i64) -> i64 {
    %c = arith.addi %a, %b : i64
    return %c : i64
  }
  // The sum goes through a function, and to one.
  gpu.func @called(%a: i64, %n: i32) kernel {
    %one = arith.constant 1 : i64
    %b = func.call @plus(%a, %one) : (i64, i64) -> i64
    %v = func.call @helper(%b) : (i64) -> i32
    gpu.return
  }
  gpu.func @stored(%a: i64) kernel {
    %c0 = arith.constant 0 : index
    %m = memref.alloca() : memref<1xi64, #gpu.address_space<private>>
    memref.store %a, %m[%c0] : memref<1xi64, #gpu.address_space<private>>
    %b = memref.load %m[%c0] : memref<1xi64, #gpu.address_space<private>>
    %p = llvm.inttoptr %b : i64 to !llvm.ptr
    gpu.return
  }
  gpu.func @packed(%a: i64, %n: i64) kernel {
    %v = vector.from_elements %n, %a : vector<2xi64>
    %b = vector.extract %v[1] : i64 from vector<2xi64>
    %s0 = llvm.mlir.undef : !llvm.struct<(i64, i32)>
    %s1 = llvm.insertvalue %b, %s0[0] : !llvm.struct<(i64, i32)>
    %c = llvm.extractvalue %s1[0] : !llvm.struct<(i64, i32)>
    %p = llvm.inttoptr %c : i64 to !llvm.ptr
    gpu.return
  }
  gpu.func @carried(%a: i64, %n: index, %c: i1) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %four = arith.constant 4 : i64
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%b = %a) -> i64 {
      %d = arith.addi %b, %four : i64
      %e = scf.if %c -> i64 {
        scf.yield %d : i64
      } else {
        scf.yield %b : i64
      }
      scf.yield %e : i64
    }
    cf.cond_br %c, ^next(%r : i64), ^end
  ^next(%f: i64):
    %p = llvm.inttoptr %f : i64 to !llvm.ptr
    cf.br ^end
  ^end:
    gpu.return
  }
  gpu.func @fromNull(%a: i64) kernel {
    %z = llvm.mlir.zero : !llvm.ptr
    %p = llvm.getelementptr %z[%a] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    gpu.return
  }
  gpu.func @assembler(%a: i64) kernel {
    llvm.inline_asm has_side_effects "st.global.u32 [$0], 1;", "l" %a : (i64) -> ()
    gpu.return
  }
  gpu.func @counter(%a: index) kernel {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %e = arith.addi %a, %c4 : index
    scf.for %i = %a to %e step %c1 {
      %b = arith.index_cast %i : index to i64
      %p = llvm.inttoptr %b : i64 to !llvm.ptr
    }
    gpu.return
  }
  // A table of addresses, and one of pointers.
  gpu.func @table(%x: memref<4xi64>) kernel {
    %c0 = arith.constant 0 : index
    %a = memref.load %x[%c0] : memref<4xi64>
    %p = llvm.inttoptr %a : i64 to !llvm.ptr
    gpu.return
  }
  gpu.func @pointers(%x: memref<4xi64>) kernel {
    %a = memref.extract_aligned_pointer_as_index %x : memref<4xi64> -> index
    %b = arith.index_cast %a : index to i64
    %p = llvm.inttoptr %b : i64 to !llvm.ptr
    %q = llvm.load %p : !llvm.ptr -> !llvm.ptr
    gpu.return
  }
  // There and back: only what the memref is of.
  gpu.func @back(%x: memref<4xi64>, %i: index) kernel {
    %a = memref.extract_aligned_pointer_as_index %x : memref<4xi64> -> index
    %b = arith.index_cast %a : index to i64
    %p = llvm.inttoptr %b : i64 to !llvm.ptr
    gpu.return
  }
  // Pointers to memory that a block has for itself.
  gpu.func @shared(%a: i32) kernel {
    %p = llvm.inttoptr %a : i32 to !llvm.ptr<3>
    gpu.return
  }
  llvm.func @lowered(%x: !llvm.ptr, %y: !llvm.ptr, %o: i64, %s: i64, %t: i64, %n: i64, %a: i64) attributes {gpu.kernel} {
    %p = llvm.inttoptr %a : i64 to !llvm.ptr
    llvm.return
  }
}

// Each comes after the fill if it may touch it, and the second fill after it.
// CHECK-LABEL: func.func @bodies
func.func @bodies(%x: memref<16xf32> {llvm.noalias}, %y: memref<16xi64> {llvm.noalias}, %t: memref<4xi64> {llvm.noalias},
                  %a: i64, %n: index, %i: i32, %c: i1, %v: f32) {
  %c1 = arith.constant 1 : index
  // CHECK: %[[F:.*]] = gpu_async.memset async %
  gpu_async.memset %x, %v : memref<16xf32>, f32
  // CHECK: gpu_async.launch async @k::@counts
  gpu_async.launch @k::@counts blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%y : memref<16xi64>, %a : i64, %n : index)
  // CHECK: gpu_async.launch async @k::@shared
  gpu_async.launch @k::@shared blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%i : i32)
  // CHECK: %[[BACK:.*]] = gpu_async.launch async @k::@back
  gpu_async.launch @k::@back blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%t : memref<4xi64>, %n : index)
  // CHECK: %[[D:.*]] = gpu_async.launch async [{{.*}}%[[F]]{{.*}}] @k::@direct
  gpu_async.launch @k::@direct blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64)
  // CHECK: %[[COMPUTED:.*]] = gpu_async.launch async [%[[D]]] @k::@computed
  gpu_async.launch @k::@computed blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%n : index, %i : i32)
  // CHECK: %[[CALLED:.*]] = gpu_async.launch async [%[[COMPUTED]]] @k::@called
  gpu_async.launch @k::@called blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64, %i : i32)
  // CHECK: %[[STORED:.*]] = gpu_async.launch async [%[[CALLED]]] @k::@stored
  gpu_async.launch @k::@stored blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64)
  // CHECK: %[[PACKED:.*]] = gpu_async.launch async [%[[STORED]]] @k::@packed
  gpu_async.launch @k::@packed blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64, %a : i64)
  // CHECK: %[[CARRIED:.*]] = gpu_async.launch async [%[[PACKED]]] @k::@carried
  gpu_async.launch @k::@carried blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64, %n : index, %c : i1)
  // CHECK: %[[NULL:.*]] = gpu_async.launch async [%[[CARRIED]]] @k::@fromNull
  gpu_async.launch @k::@fromNull blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64)
  // CHECK: %[[ASM:.*]] = gpu_async.launch async [%[[NULL]]] @k::@assembler
  gpu_async.launch @k::@assembler blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64)
  // CHECK: %[[COUNTER:.*]] = gpu_async.launch async [%[[ASM]]] @k::@counter
  gpu_async.launch @k::@counter blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%n : index)
  // CHECK: %[[TABLE:.*]] = gpu_async.launch async [%[[COUNTER]]] @k::@table
  gpu_async.launch @k::@table blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%t : memref<4xi64>)
  // CHECK: %[[POINTERS:.*]] = gpu_async.launch async [%[[TABLE]]] @k::@pointers
  gpu_async.launch @k::@pointers blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%t : memref<4xi64>)
  // CHECK: gpu_async.memset async [%[[POINTERS]]]
  gpu_async.memset %x, %v : memref<16xf32>, f32
  return
}

// Of lowered kernels, too; `n` is a size, and the memref is five parameters.
// CHECK-LABEL: func.func @llvmKernel
func.func @llvmKernel(%x: memref<16xf32> {llvm.noalias}, %y: memref<?xi64> {llvm.noalias}, %n: i64, %a: i64, %v: f32) {
  %c1 = arith.constant 1 : index
  // CHECK: %[[F:.*]] = gpu_async.memset async %
  // CHECK: gpu_async.launch async [%[[F]]] @k::@lowered
  gpu_async.memset %x, %v : memref<16xf32>, f32
  gpu_async.launch @k::@lowered blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%y : memref<?xi64>, %n : i64, %a : i64)
  return
}
}

// -----

module attributes {gpu.container_module} {
gpu.module @k {
  llvm.func @counts(%x: !llvm.ptr, %y: !llvm.ptr, %o: i64, %s: i64, %t: i64, %n: i64) attributes {gpu.kernel} {
    llvm.return
  }
}
// CHECK-LABEL: func.func @llvmNumbers
func.func @llvmNumbers(%x: memref<16xf32> {llvm.noalias}, %y: memref<?xi64> {llvm.noalias}, %n: i64, %v: f32) {
  %c1 = arith.constant 1 : index
  // CHECK: gpu_async.memset async %
  // CHECK: gpu_async.launch async @k::@counts
  gpu_async.memset %x, %v : memref<16xf32>, f32
  gpu_async.launch @k::@counts blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%y : memref<?xi64>, %n : i64)
  return
}
}

// -----

// A ready binary: 64-bit integers and `index` may be addresses unless they come from
// constants and sizes.
module attributes {gpu.container_module} {
gpu.binary @k [#gpu.object<#nvvm.target, "">]

// CHECK-LABEL: func.func @sizes
func.func @sizes(%x: memref<16xf32> {llvm.noalias}, %y: memref<?x?xf32> {llvm.noalias}, %i: i32, %f: f64, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  // CHECK: %[[F:.*]] = gpu_async.memset async %
  gpu_async.memset %x, %v : memref<16xf32>, f32
  %d0 = memref.dim %y, %c0 : memref<?x?xf32>
  %d1 = memref.dim %y, %c1 : memref<?x?xf32>
  %all = arith.muli %d0, %d1 : index
  %n = arith.index_cast %all : index to i64
  // CHECK: %[[A:.*]] = gpu_async.launch async @k::@f
  gpu_async.launch @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%n : i64, %d0 : index, %c8 : index)
  // CHECK: scf.for
  // CHECK: gpu_async.launch async [%{{[a-z0-9]*}}] @k::@f
  scf.for %j = %c0 to %d0 step %c8 {
    gpu_async.launch @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%j : index)
  }
  // CHECK: gpu_async.launch async [%{{[a-z0-9]*}}] @k::@g
  gpu_async.launch @k::@g blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%i : i32, %f : f64)
  // CHECK: gpu_async.memset async [%[[F]]] %
  gpu_async.memset %x, %v : memref<16xf32>, f32
  return
}

// CHECK-LABEL: func.func @arguments
func.func @arguments(%x: memref<16xf32> {llvm.noalias}, %a: i64, %v: f32) {
  %c1 = arith.constant 1 : index
  // CHECK: %[[F:.*]] = gpu_async.memset async %
  // CHECK-NEXT: %[[L:.*]] = gpu_async.launch async [%[[F]]] @k::@f
  // CHECK-NEXT: gpu_async.memset async [%[[L]]] %
  gpu_async.memset %x, %v : memref<16xf32>, f32
  gpu_async.launch @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64)
  gpu_async.memset %x, %v : memref<16xf32>, f32
  return
}

// CHECK-LABEL: func.func @vectors
func.func @vectors(%x: memref<16xf32> {llvm.noalias}, %a: vector<2xi64>, %v: f32) {
  %c1 = arith.constant 1 : index
  // CHECK: %[[F:.*]] = gpu_async.memset async %
  // CHECK-NEXT: gpu_async.launch async [%[[F]]] @k::@f
  gpu_async.memset %x, %v : memref<16xf32>, f32
  gpu_async.launch @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : vector<2xi64>)
  return
}

// CHECK-LABEL: func.func @loaded
func.func @loaded(%x: memref<16xf32> {llvm.noalias}, %t: memref<4xindex> {llvm.noalias}, %v: f32) {
  %c1 = arith.constant 1 : index
  // CHECK: %[[F:.*]] = gpu_async.memset async %
  // CHECK: gpu_async.launch async [%[[F]]] @k::@f
  gpu_async.memset %x, %v : memref<16xf32>, f32
  %a = memref.load %t[%c1] : memref<4xindex>
  gpu_async.launch @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : index)
  return
}

func.func private @address() -> i64
// CHECK-LABEL: func.func @returned
func.func @returned(%x: memref<16xf32> {llvm.noalias}, %v: f32) {
  %c1 = arith.constant 1 : index
  %a = call @address() : () -> i64
  // CHECK: %[[F:.*]] = gpu_async.memset async %
  // CHECK: gpu_async.launch async [%[[F]]] @k::@f
  gpu_async.memset %x, %v : memref<16xf32>, f32
  gpu_async.launch @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64)
  return
}

// Carried by a loop and chosen by a branch: an address if any of them is.
// CHECK-LABEL: func.func @chosen
func.func @chosen(%x: memref<16xf32> {llvm.noalias}, %y: memref<16xf32> {llvm.noalias}, %n: index, %c: i1, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p = memref.extract_aligned_pointer_as_index %y : memref<16xf32> -> index
  // CHECK: %[[F:.*]] = gpu_async.memset async %
  gpu_async.memset %x, %v : memref<16xf32>, f32
  %s = scf.if %c -> index {
    scf.yield %c0 : index
  } else {
    scf.yield %p : index
  }
  // CHECK: %[[G:.*]] = gpu_async.launch async [%[[F]]] @k::@f
  gpu_async.launch @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%s : index)
  // CHECK: scf.for {{.*}} iter_args({{.*}}, %[[T:[a-z0-9]*]] = %[[G]])
  // CHECK: gpu_async.launch async [%[[T]]] @k::@f
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c0, %b = %p) -> (index, index) {
    gpu_async.launch @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : index)
    scf.yield %b, %a : index, index
  }
  return
}
}
