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

// -----

// Kernels that others call, too, or themselves: what a launch passes counts besides.
module attributes {gpu.container_module} {
gpu.module @k {
  llvm.func @again(%a: i64, %c: i1) attributes {gpu.kernel} {
    %z = llvm.mlir.constant(0 : i64) : i64
    llvm.cond_br %c, ^again, ^end
  ^again:
    llvm.call @again(%z, %c) : (i64, i1) -> ()
    llvm.return
  ^end:
    %p = llvm.inttoptr %a : i64 to !llvm.ptr
    llvm.return
  }
  // Only the kernel around it calls it back.
  llvm.func @round(%a: i64, %c: i1) attributes {gpu.kernel} {
    %z = llvm.mlir.constant(0 : i64) : i64
    llvm.cond_br %c, ^back, ^end
  ^back:
    llvm.call @calls(%z, %c) : (i64, i1) -> ()
    llvm.return
  ^end:
    %p = llvm.inttoptr %a : i64 to !llvm.ptr
    llvm.return
  }
  llvm.func @calls(%a: i64, %c: i1) attributes {gpu.kernel} {
    llvm.call @round(%a, %c) : (i64, i1) -> ()
    llvm.return
  }
  // A function that is no kernel has the arguments of its calls only.
  func.func private @countdown(%a: i64, %n: i32) {
    %c0 = arith.constant 0 : i32
    %more = arith.cmpi ne, %n, %c0 : i32
    scf.if %more {
      func.call @countdown(%a, %c0) : (i64, i32) -> ()
    }
    %p = llvm.inttoptr %a : i64 to !llvm.ptr
    return
  }
  gpu.func @known(%a: i64, %n: i32) kernel {
    %c64 = arith.constant 64 : i64
    func.call @countdown(%c64, %n) : (i64, i32) -> ()
    gpu.return
  }
  gpu.func @passed(%a: i64, %n: i32) kernel {
    func.call @countdown(%a, %n) : (i64, i32) -> ()
    gpu.return
  }
  // By its address: the function looks for addresses in what it is given.
  func.func private @looks(%x: memref<4xi64>) {
    %c0 = arith.constant 0 : index
    %a = memref.load %x[%c0] : memref<4xi64>
    %p = llvm.inttoptr %a : i64 to !llvm.ptr
    return
  }
  gpu.func @indirect(%x: memref<4xi64>) kernel {
    %f = func.constant @looks : (memref<4xi64>) -> ()
    func.call_indirect %f(%x) : (memref<4xi64>) -> ()
    gpu.return
  }
  llvm.func @derefer(%a: i64) {
    %p = llvm.inttoptr %a : i64 to !llvm.ptr
    llvm.return
  }
  llvm.mlir.global internal constant @handlers() : !llvm.ptr {
    %f = llvm.mlir.addressof @derefer : !llvm.ptr
    llvm.return %f : !llvm.ptr
  }
  // Called with a constant here, by its address with anything.
  llvm.func @both(%b: i64) attributes {gpu.kernel} {
    %z = llvm.mlir.constant(0 : i64) : i64
    llvm.call @derefer(%z) : (i64) -> ()
    %h = llvm.mlir.addressof @handlers : !llvm.ptr
    llvm.return
  }
}

// CHECK-LABEL: func.func @recursive
func.func @recursive(%x: memref<16xf32> {llvm.noalias}, %t: memref<4xi64> {llvm.noalias}, %a: i64, %i: i32, %c: i1,
                     %v: f32) {
  %c1 = arith.constant 1 : index
  // CHECK: %[[F:.*]] = gpu_async.memset async %
  gpu_async.memset %x, %v : memref<16xf32>, f32
  // CHECK: gpu_async.launch async @k::@known
  gpu_async.launch @k::@known blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64, %i : i32)
  // CHECK: %[[AGAIN:.*]] = gpu_async.launch async [{{.*}}%[[F]]{{.*}}] @k::@again
  gpu_async.launch @k::@again blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64, %c : i1)
  // CHECK: %[[ROUND:.*]] = gpu_async.launch async [%[[AGAIN]]] @k::@round
  gpu_async.launch @k::@round blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64, %c : i1)
  // CHECK: %[[CALLS:.*]] = gpu_async.launch async [%[[ROUND]]] @k::@calls
  gpu_async.launch @k::@calls blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64, %c : i1)
  // CHECK: %[[PASSED:.*]] = gpu_async.launch async [%[[CALLS]]] @k::@passed
  gpu_async.launch @k::@passed blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64, %i : i32)
  // CHECK: %[[INDIRECT:.*]] = gpu_async.launch async [%[[PASSED]]] @k::@indirect
  gpu_async.launch @k::@indirect blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%t : memref<4xi64>)
  // CHECK: %[[BOTH:.*]] = gpu_async.launch async [%[[INDIRECT]]] @k::@both
  gpu_async.launch @k::@both blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64)
  // CHECK: gpu_async.memset async [%[[BOTH]]]
  gpu_async.memset %x, %v : memref<16xf32>, f32
  return
}
}

// -----

// What is added to a pointer that was made of a number may be the address.
module attributes {gpu.container_module} {
gpu.module @k {
  gpu.func @twice(%a: i64) kernel {
    %z = llvm.mlir.zero : !llvm.ptr
    %q = llvm.getelementptr %z[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %p = llvm.getelementptr %q[%a] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    gpu.return
  }
  gpu.func @cast(%a: i64) kernel {
    %z = llvm.mlir.zero : !llvm.ptr<1>
    %q = llvm.addrspacecast %z : !llvm.ptr<1> to !llvm.ptr
    %p = llvm.getelementptr %q[%a] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    gpu.return
  }
  gpu.func @constant(%a: i64) kernel {
    %four = llvm.mlir.constant(4 : i64) : i64
    %eight = llvm.add %four, %four : i64
    %q = llvm.inttoptr %eight : i64 to !llvm.ptr
    %p = llvm.getelementptr %q[%a] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    gpu.return
  }
  gpu.func @selected(%x: memref<4xi64>, %a: i64, %c: i1) kernel {
    %i = memref.extract_aligned_pointer_as_index %x : memref<4xi64> -> index
    %j = arith.index_cast %i : index to i64
    %y = llvm.inttoptr %j : i64 to !llvm.ptr
    %z = llvm.mlir.zero : !llvm.ptr
    %q = llvm.select %c, %z, %y : i1, !llvm.ptr
    %p = llvm.getelementptr %q[%a] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    gpu.return
  }
  gpu.func @carried(%n: index, %a: i64) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = llvm.mlir.zero : !llvm.ptr
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%q = %z) -> !llvm.ptr {
      %p = llvm.getelementptr %q[%a] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      scf.yield %p : !llvm.ptr
    }
    gpu.return
  }
  gpu.func @branch(%a: i64, %c: i1) kernel {
    %z = llvm.mlir.zero : !llvm.ptr
    cf.cond_br %c, ^next(%z : !llvm.ptr), ^end
  ^next(%q: !llvm.ptr):
    %p = llvm.getelementptr %q[%a] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    cf.br ^end
  ^end:
    gpu.return
  }
  func.func private @null() -> !llvm.ptr {
    %z = llvm.mlir.zero : !llvm.ptr
    return %z : !llvm.ptr
  }
  func.func private @at(%q: !llvm.ptr, %i: i64) {
    %p = llvm.getelementptr %q[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    return
  }
  gpu.func @called(%a: i64) kernel {
    %q = func.call @null() : () -> !llvm.ptr
    func.call @at(%q, %a) : (!llvm.ptr, i64) -> ()
    gpu.return
  }
  gpu.func @filled(%a: i64) kernel {
    %z = llvm.mlir.zero : !llvm.ptr
    %s = llvm.mlir.undef : !llvm.struct<(ptr, i64)>
    %t = llvm.insertvalue %z, %s[0] : !llvm.struct<(ptr, i64)>
    %q = llvm.extractvalue %t[0] : !llvm.struct<(ptr, i64)>
    %p = llvm.getelementptr %q[%a] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    gpu.return
  }
  // Offsets of what the kernel is given, though there is a null, too.
  llvm.mlir.global internal constant @table(dense<0> : tensor<4xi32>) : !llvm.array<4 x i32>
  gpu.func @offsets(%x: memref<4xi64>, %n: i64) kernel {
    %i = memref.extract_aligned_pointer_as_index %x : memref<4xi64> -> index
    %j = arith.index_cast %i : index to i64
    %z = llvm.mlir.zero : !llvm.ptr
    %one = llvm.getelementptr %z[1] : (!llvm.ptr) -> !llvm.ptr, i32
    %t = llvm.mlir.addressof @table : !llvm.ptr
    %p = llvm.getelementptr %t[%n] : (!llvm.ptr, i64) -> !llvm.ptr, i32
    %s = llvm.mlir.undef : !llvm.struct<(ptr, i64)>
    %f = llvm.insertvalue %p, %s[0] : !llvm.struct<(ptr, i64)>
    %g = llvm.extractvalue %f[0] : !llvm.struct<(ptr, i64)>
    %q = llvm.getelementptr %g[%n] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    gpu.return
  }
}

// CHECK-LABEL: func.func @fromNumbers
func.func @fromNumbers(%x: memref<16xf32> {llvm.noalias}, %y: memref<4xi64> {llvm.noalias}, %a: i64, %n: index, %c: i1,
                       %v: f32) {
  %c1 = arith.constant 1 : index
  // CHECK: %[[F:.*]] = gpu_async.memset async %
  gpu_async.memset %x, %v : memref<16xf32>, f32
  // CHECK: gpu_async.launch async @k::@offsets
  gpu_async.launch @k::@offsets blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%y : memref<4xi64>, %a : i64)
  // CHECK: %[[TWICE:.*]] = gpu_async.launch async [{{.*}}%[[F]]{{.*}}] @k::@twice
  gpu_async.launch @k::@twice blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64)
  // CHECK: %[[CAST:.*]] = gpu_async.launch async [%[[TWICE]]] @k::@cast
  gpu_async.launch @k::@cast blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64)
  // CHECK: %[[CONSTANT:.*]] = gpu_async.launch async [%[[CAST]]] @k::@constant
  gpu_async.launch @k::@constant blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64)
  // CHECK: %[[SELECTED:.*]] = gpu_async.launch async [%[[CONSTANT]]] @k::@selected
  gpu_async.launch @k::@selected blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%y : memref<4xi64>, %a : i64, %c : i1)
  // CHECK: %[[CARRIED:.*]] = gpu_async.launch async [%[[SELECTED]]] @k::@carried
  gpu_async.launch @k::@carried blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%n : index, %a : i64)
  // CHECK: %[[BRANCH:.*]] = gpu_async.launch async [%[[CARRIED]]] @k::@branch
  gpu_async.launch @k::@branch blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64, %c : i1)
  // CHECK: %[[CALLED:.*]] = gpu_async.launch async [%[[BRANCH]]] @k::@called
  gpu_async.launch @k::@called blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64)
  // CHECK: %[[FILLED:.*]] = gpu_async.launch async [%[[CALLED]]] @k::@filled
  gpu_async.launch @k::@filled blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64)
  // CHECK: gpu_async.memset async [%[[FILLED]]]
  gpu_async.memset %x, %v : memref<16xf32>, f32
  return
}
}

// -----

// An address of which only a remainder is used leads nowhere, and a copy to
// workgroup memory reads: such kernels run at the same time. The other one takes
// its address further.
module attributes {gpu.container_module} {
gpu.module @k {
  gpu.func @aligned(%x: memref<16xf32>) workgroup(%w: memref<4xf32, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %p = memref.extract_aligned_pointer_as_index %x : memref<16xf32> -> index
    %base, %offset, %size, %stride = memref.extract_strided_metadata %x : memref<16xf32> -> memref<f32>, index, index, index
    %r = arith.remui %p, %c16 : index
    %is = arith.cmpi eq, %r, %offset : index
    scf.if %is {
      nvgpu.device_async_copy %x[%c0], %w[%c0], 4 : memref<16xf32> to memref<4xf32, #gpu.address_space<workgroup>>
    }
    gpu.return
  }
  gpu.func @further(%x: memref<16xf32>) kernel {
    %c16 = arith.constant 16 : index
    %p = memref.extract_aligned_pointer_as_index %x : memref<16xf32> -> index
    %r = arith.remui %c16, %p : index
    gpu.return
  }
}
// CHECK-LABEL: func.func @alignment
func.func @alignment(%x: memref<16xf32>, %v: f32) {
  %c1 = arith.constant 1 : index
  // CHECK: %[[F:.*]] = gpu_async.memset async %
  gpu_async.memset %x, %v : memref<16xf32>, f32
  // CHECK: %[[A:.*]] = gpu_async.launch async [%[[F]]] @k::@aligned
  gpu_async.launch @k::@aligned blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<16xf32>)
  // CHECK: %[[B:.*]] = gpu_async.launch async [%[[F]]] @k::@aligned
  gpu_async.launch @k::@aligned blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<16xf32>)
  // CHECK: gpu_async.launch async [{{.*}}%[[A]], %[[B]]] @k::@further
  gpu_async.launch @k::@further blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<16xf32>)
  return
}
}
