// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a thread keeps while its kernel is cut: one value for each float, memory where and as large as its type says.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: gpu-runner --device=cpu -O0 %s | FileCheck %s

// CHECK: sizes = [32]
// CHECK-NEXT: [1,{{( +1,)+}} 1]
// CHECK: sizes = [35]
// CHECK-NEXT: [-28, -24, -20,{{.*}} 108]
// CHECK: sizes = [8]
// CHECK-NEXT: [0, 1, 2, 3, 4, 5, 6, 7]
// CHECK: sizes = [8]
// CHECK-NEXT: [0, 16, 32, 48, 64, 80, 96, 112]
// CHECK: sizes = [32]
// CHECK-NEXT: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,{{.*}} 23, 24, 25, 26, 27, 28, 29, 30, 31]
// CHECK: sizes = [8]
// CHECK-NEXT: [0, 1, 2, 3, 4, 5, 6, 7]
// CHECK: sizes = [35]
// CHECK-NEXT: [-7, -3, 1, 5,{{.*}} 129]
// CHECK: sizes = [8]
// CHECK-NEXT: [0, 1, 2, 3, 4, 5, 6, 7]
module attributes {gpu.container_module} {
  gpu.module @k {
    // A float that several pieces use has one value: no product is fused into a sum in one of them only.
    gpu.func @one_value(%out: memref<?xi32>) workgroup(%s : memref<64xf32, #gpu.address_space<workgroup>>, %s2 : memref<64xf32, #gpu.address_space<workgroup>>) kernel {
      %t = gpu.thread_id x
      %i = arith.index_cast %t : index to i32
      %fl = arith.sitofp %i : i32 to f32
      %k = arith.constant 0.1 : f32
      %c = arith.constant -0.3 : f32
      %m = arith.mulf %fl, %k : f32
      %x = arith.addf %m, %c : f32
      memref.store %m, %s[%t] : memref<64xf32, #gpu.address_space<workgroup>>
      memref.store %x, %s2[%t] : memref<64xf32, #gpu.address_space<workgroup>>
      gpu.barrier
      %y = memref.load %s2[%t] : memref<64xf32, #gpu.address_space<workgroup>>
      %eq = arith.cmpf oeq, %x, %y : f32
      %e = arith.extui %eq : i1 to i32
      memref.store %e, %out[%t] : memref<?xi32>
      gpu.return
    }

    // Private memory with an alignment of its own.
    gpu.func @aligned_private(%out: memref<?xi32>) kernel {
      %t = gpu.thread_id x
      %c0 = arith.constant 0 : index
      %a = memref.alloca() {alignment = 64 : i64} : memref<2xi32>
      %i = arith.index_cast %t : index to i32
      %c1 = arith.constant 1 : index
      %par = arith.andi %t, %c1 : index
      memref.store %i, %a[%par] : memref<2xi32>
      %ld = memref.load %out[%t] : memref<?xi32>
      %v = vector.broadcast %ld : i32 to vector<4xi32>
      gpu.barrier
      %b = memref.load %a[%par] : memref<2xi32>
      %w = vector.extract %v[2] : i32 from vector<4xi32>
      %m = memref.alloca() : memref<2xvector<4xi32>>
      memref.store %v, %m[%par] : memref<2xvector<4xi32>>
      gpu.barrier
      %vv = memref.load %m[%par] : memref<2xvector<4xi32>>
      %bc = vector.broadcast %b : i32 to vector<4xi32>
      %s = arith.addi %bc, %vv : vector<4xi32>
      %x = vector.reduction <add>, %s : vector<4xi32> into i32
      memref.store %x, %out[%t] : memref<?xi32>
      gpu.return
    }

    // Private memory whose address becomes a number outlives its piece.
    gpu.func @escaped_address(%out: memref<?xi32>) kernel {
      %t = gpu.thread_id x
      %c1i = arith.constant 1 : i32
      %c1 = arith.constant 1 : index
      %par = arith.andi %t, %c1 : index
      %i = arith.index_cast %t : index to i32
      %a = memref.alloca() : memref<2xi32>
      memref.store %i, %a[%par] : memref<2xi32>
      %p = memref.extract_aligned_pointer_as_index %a : memref<2xi32> -> index
      gpu.barrier
      %pi = arith.index_cast %p : index to i64
      %pp = llvm.inttoptr %pi : i64 to !llvm.ptr
      %pari = arith.index_cast %par : index to i64
      %q = llvm.getelementptr %pp[%pari] : (!llvm.ptr, i64) -> !llvm.ptr, i32
      %b = llvm.load %q : !llvm.ptr -> i32
      memref.store %b, %out[%t] : memref<?xi32>
      gpu.return
    }

    // llvm.align of an attribution.
    gpu.func @aligned_workgroup(%out: memref<?xi32>) workgroup(%a : memref<4xi32, #gpu.address_space<workgroup>>, %s : memref<64x16xi32, #gpu.address_space<workgroup>> {llvm.align = 64 : i64}) kernel {
      %t = gpu.thread_id x
      %c0 = arith.constant 0 : index
      %i = arith.index_cast %t : index to i32
      %v = vector.broadcast %i : i32 to vector<16xi32>
      memref.store %i, %a[%c0] : memref<4xi32, #gpu.address_space<workgroup>>
      vector.store %v, %s[%t, %c0] {alignment = 64} : memref<64x16xi32, #gpu.address_space<workgroup>>, vector<16xi32>
      gpu.barrier
      %w = vector.load %s[%t, %c0] {alignment = 64} : memref<64x16xi32, #gpu.address_space<workgroup>>, vector<16xi32>
      %x = vector.reduction <add>, %w : vector<16xi32> into i32
      memref.store %x, %out[%t] : memref<?xi32>
      gpu.return
    }

    // An attribution with a layout takes the room that it says.
    gpu.func @strided_workgroup(%out: memref<?xi32>) workgroup(%a : memref<2x4xi32, strided<[32, 1]>, #gpu.address_space<workgroup>>, %s : memref<64xi32, #gpu.address_space<workgroup>>) kernel {
      %t = gpu.thread_id x
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %i = arith.index_cast %t : index to i32
      %m = arith.constant -1 : i32
      memref.store %i, %s[%t] : memref<64xi32, #gpu.address_space<workgroup>>
      gpu.barrier
      %on = arith.cmpi ult, %t, %c4 : index
      scf.if %on {
      memref.store %m, %a[%c1, %t] : memref<2x4xi32, strided<[32, 1]>, #gpu.address_space<workgroup>>
      }
      gpu.barrier
      %x = memref.load %s[%t] : memref<64xi32, #gpu.address_space<workgroup>>
      memref.store %x, %out[%t] : memref<?xi32>
      gpu.return
    }

    // An i24 takes four bytes.
    gpu.func @odd_integers(%out: memref<?xi32>) workgroup(%a : memref<5xi24, #gpu.address_space<workgroup>>, %s : memref<64xi32, #gpu.address_space<workgroup>>) kernel {
      %t = gpu.thread_id x
      %c4 = arith.constant 4 : index
      %i = arith.index_cast %t : index to i32
      %m = arith.constant -1 : i24
      memref.store %i, %s[%t] : memref<64xi32, #gpu.address_space<workgroup>>
      gpu.barrier
      memref.store %m, %a[%c4] : memref<5xi24, #gpu.address_space<workgroup>>
      gpu.barrier
      %x = memref.load %s[%t] : memref<64xi32, #gpu.address_space<workgroup>>
      memref.store %x, %out[%t] : memref<?xi32>
      gpu.return
    }

    // A kernel without a barrier keeps its dynamic private memory, whatever loop could be moved.
    gpu.func @dynamic_private(%out: memref<?xi32>) kernel {
      %t = gpu.thread_id x
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %n = gpu.grid_dim x
      %a = memref.alloca(%n) : memref<?xi32>
      %i = arith.index_cast %t : index to i32
      memref.store %i, %a[%c0] : memref<?xi32>
      scf.for %k = %c0 to %c3 step %c1 {
        %v = memref.load %out[%t] : memref<?xi32>
        %w = arith.addi %v, %i : i32
        memref.store %w, %out[%t] : memref<?xi32>
      }
      %b = memref.load %a[%c0] : memref<?xi32>
      %v = memref.load %out[%t] : memref<?xi32>
      %w = arith.addi %v, %b : i32
      memref.store %w, %out[%t] : memref<?xi32>
      gpu.return
    }

    // Private memory with a layout, across a barrier.
    gpu.func @strided_private(%out: memref<?xi32>) kernel {
      %t = gpu.thread_id x
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %par = arith.andi %t, %c1 : index
      %i = arith.index_cast %t : index to i32
      %a = memref.alloca() : memref<2x4xi32, strided<[8, 1]>>
      memref.store %i, %a[%par, %c0] : memref<2x4xi32, strided<[8, 1]>>
      gpu.barrier
      %b = memref.load %a[%par, %c0] : memref<2x4xi32, strided<[8, 1]>>
      memref.store %b, %out[%t] : memref<?xi32>
      gpu.return
    }

  }
  func.func private @printMemrefI32(memref<*xi32>)
  func.func @main() {
    %c1 = arith.constant 1 : index
    %old = arith.constant -7 : i32
    %n_one_value = arith.constant 32 : index
    %h_one_value = memref.alloc() : memref<32xi32>
    %d_one_value = gpu.alloc (%n_one_value) : memref<?xi32>
    gpu.memset %d_one_value, %old : memref<?xi32>, i32
    // Blocks of two sizes: none is known when the kernel is compiled.
    gpu.launch_func @k::@one_value blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%d_one_value : memref<?xi32>)
    gpu.launch_func @k::@one_value blocks in (%c1, %c1, %c1) threads in (%n_one_value, %c1, %c1) args(%d_one_value : memref<?xi32>)
    %c_one_value = memref.cast %h_one_value : memref<32xi32> to memref<?xi32>
    gpu.memcpy %c_one_value, %d_one_value : memref<?xi32>, memref<?xi32>
    gpu.dealloc %d_one_value : memref<?xi32>
    %u_one_value = memref.cast %h_one_value : memref<32xi32> to memref<*xi32>
    call @printMemrefI32(%u_one_value) : (memref<*xi32>) -> ()
    memref.dealloc %h_one_value : memref<32xi32>
    %n_aligned_private = arith.constant 35 : index
    %h_aligned_private = memref.alloc() : memref<35xi32>
    %d_aligned_private = gpu.alloc (%n_aligned_private) : memref<?xi32>
    gpu.memset %d_aligned_private, %old : memref<?xi32>, i32
    gpu.launch_func @k::@aligned_private blocks in (%c1, %c1, %c1) threads in (%n_aligned_private, %c1, %c1) args(%d_aligned_private : memref<?xi32>)
    %c_aligned_private = memref.cast %h_aligned_private : memref<35xi32> to memref<?xi32>
    gpu.memcpy %c_aligned_private, %d_aligned_private : memref<?xi32>, memref<?xi32>
    gpu.dealloc %d_aligned_private : memref<?xi32>
    %u_aligned_private = memref.cast %h_aligned_private : memref<35xi32> to memref<*xi32>
    call @printMemrefI32(%u_aligned_private) : (memref<*xi32>) -> ()
    memref.dealloc %h_aligned_private : memref<35xi32>
    %n_escaped_address = arith.constant 8 : index
    %h_escaped_address = memref.alloc() : memref<8xi32>
    %d_escaped_address = gpu.alloc (%n_escaped_address) : memref<?xi32>
    gpu.memset %d_escaped_address, %old : memref<?xi32>, i32
    gpu.launch_func @k::@escaped_address blocks in (%c1, %c1, %c1) threads in (%n_escaped_address, %c1, %c1) args(%d_escaped_address : memref<?xi32>)
    %c_escaped_address = memref.cast %h_escaped_address : memref<8xi32> to memref<?xi32>
    gpu.memcpy %c_escaped_address, %d_escaped_address : memref<?xi32>, memref<?xi32>
    gpu.dealloc %d_escaped_address : memref<?xi32>
    %u_escaped_address = memref.cast %h_escaped_address : memref<8xi32> to memref<*xi32>
    call @printMemrefI32(%u_escaped_address) : (memref<*xi32>) -> ()
    memref.dealloc %h_escaped_address : memref<8xi32>
    %n_aligned_workgroup = arith.constant 8 : index
    %h_aligned_workgroup = memref.alloc() : memref<8xi32>
    %d_aligned_workgroup = gpu.alloc (%n_aligned_workgroup) : memref<?xi32>
    gpu.memset %d_aligned_workgroup, %old : memref<?xi32>, i32
    gpu.launch_func @k::@aligned_workgroup blocks in (%c1, %c1, %c1) threads in (%n_aligned_workgroup, %c1, %c1) args(%d_aligned_workgroup : memref<?xi32>)
    %c_aligned_workgroup = memref.cast %h_aligned_workgroup : memref<8xi32> to memref<?xi32>
    gpu.memcpy %c_aligned_workgroup, %d_aligned_workgroup : memref<?xi32>, memref<?xi32>
    gpu.dealloc %d_aligned_workgroup : memref<?xi32>
    %u_aligned_workgroup = memref.cast %h_aligned_workgroup : memref<8xi32> to memref<*xi32>
    call @printMemrefI32(%u_aligned_workgroup) : (memref<*xi32>) -> ()
    memref.dealloc %h_aligned_workgroup : memref<8xi32>
    %n_strided_workgroup = arith.constant 32 : index
    %h_strided_workgroup = memref.alloc() : memref<32xi32>
    %d_strided_workgroup = gpu.alloc (%n_strided_workgroup) : memref<?xi32>
    gpu.memset %d_strided_workgroup, %old : memref<?xi32>, i32
    gpu.launch_func @k::@strided_workgroup blocks in (%c1, %c1, %c1) threads in (%n_strided_workgroup, %c1, %c1) args(%d_strided_workgroup : memref<?xi32>)
    %c_strided_workgroup = memref.cast %h_strided_workgroup : memref<32xi32> to memref<?xi32>
    gpu.memcpy %c_strided_workgroup, %d_strided_workgroup : memref<?xi32>, memref<?xi32>
    gpu.dealloc %d_strided_workgroup : memref<?xi32>
    %u_strided_workgroup = memref.cast %h_strided_workgroup : memref<32xi32> to memref<*xi32>
    call @printMemrefI32(%u_strided_workgroup) : (memref<*xi32>) -> ()
    memref.dealloc %h_strided_workgroup : memref<32xi32>
    %n_odd_integers = arith.constant 8 : index
    %h_odd_integers = memref.alloc() : memref<8xi32>
    %d_odd_integers = gpu.alloc (%n_odd_integers) : memref<?xi32>
    gpu.memset %d_odd_integers, %old : memref<?xi32>, i32
    gpu.launch_func @k::@odd_integers blocks in (%c1, %c1, %c1) threads in (%n_odd_integers, %c1, %c1) args(%d_odd_integers : memref<?xi32>)
    %c_odd_integers = memref.cast %h_odd_integers : memref<8xi32> to memref<?xi32>
    gpu.memcpy %c_odd_integers, %d_odd_integers : memref<?xi32>, memref<?xi32>
    gpu.dealloc %d_odd_integers : memref<?xi32>
    %u_odd_integers = memref.cast %h_odd_integers : memref<8xi32> to memref<*xi32>
    call @printMemrefI32(%u_odd_integers) : (memref<*xi32>) -> ()
    memref.dealloc %h_odd_integers : memref<8xi32>
    %n_dynamic_private = arith.constant 35 : index
    %h_dynamic_private = memref.alloc() : memref<35xi32>
    %d_dynamic_private = gpu.alloc (%n_dynamic_private) : memref<?xi32>
    gpu.memset %d_dynamic_private, %old : memref<?xi32>, i32
    gpu.launch_func @k::@dynamic_private blocks in (%c1, %c1, %c1) threads in (%n_dynamic_private, %c1, %c1) args(%d_dynamic_private : memref<?xi32>)
    %c_dynamic_private = memref.cast %h_dynamic_private : memref<35xi32> to memref<?xi32>
    gpu.memcpy %c_dynamic_private, %d_dynamic_private : memref<?xi32>, memref<?xi32>
    gpu.dealloc %d_dynamic_private : memref<?xi32>
    %u_dynamic_private = memref.cast %h_dynamic_private : memref<35xi32> to memref<*xi32>
    call @printMemrefI32(%u_dynamic_private) : (memref<*xi32>) -> ()
    memref.dealloc %h_dynamic_private : memref<35xi32>
    %n_strided_private = arith.constant 8 : index
    %h_strided_private = memref.alloc() : memref<8xi32>
    %d_strided_private = gpu.alloc (%n_strided_private) : memref<?xi32>
    gpu.memset %d_strided_private, %old : memref<?xi32>, i32
    gpu.launch_func @k::@strided_private blocks in (%c1, %c1, %c1) threads in (%n_strided_private, %c1, %c1) args(%d_strided_private : memref<?xi32>)
    %c_strided_private = memref.cast %h_strided_private : memref<8xi32> to memref<?xi32>
    gpu.memcpy %c_strided_private, %d_strided_private : memref<?xi32>, memref<?xi32>
    gpu.dealloc %d_strided_private : memref<?xi32>
    %u_strided_private = memref.cast %h_strided_private : memref<8xi32> to memref<*xi32>
    call @printMemrefI32(%u_strided_private) : (memref<*xi32>) -> ()
    memref.dealloc %h_strided_private : memref<8xi32>
    return
  }
}
