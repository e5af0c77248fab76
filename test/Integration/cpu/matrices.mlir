// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrices that a subgroup holds: several subgroups, sums that a loop carries,
// elementwise ops, transposed loads and stores, integers, a product in place
// and one that only one subgroup takes, each beside loops on the host. All
// numbers are small integers, so the sums are exact.
//
// RUN: gpu-runner --device=cpu -O0 %s | FileCheck %s
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: gpu-runner --device=cpu --check %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

!left = !gpu.mma_matrix<16x16xf16, "AOp">
!right = !gpu.mma_matrix<16x16xf16, "BOp">
!sum = !gpu.mma_matrix<16x16xf32, "COp">
!half = !gpu.mma_matrix<16x16xf16, "COp">
!signedLeft = !gpu.mma_matrix<16x16xsi8, "AOp">
!signedRight = !gpu.mma_matrix<16x16xsi8, "BOp">
!unsignedLeft = !gpu.mma_matrix<16x16xui8, "AOp">
!unsignedRight = !gpu.mma_matrix<16x16xui8, "BOp">
!ints = !gpu.mma_matrix<16x16xi32, "COp">

module attributes {gpu.container_module} {
  gpu.module @kernels {
    // Each subgroup makes 16 columns of max(a * b, 0) - 3, and stores them transposed.
    gpu.func @product(%a: memref<16x48xf16>, %b: memref<48x64xf16>, %c: memref<64x16xf32>) kernel {
      %c0 = arith.constant 0 : index
      %c16 = arith.constant 16 : index
      %c48 = arith.constant 48 : index
      %zero = arith.constant 0.0 : f32
      %three = arith.constant -3.0 : f32
      %warp = gpu.subgroup_id : index
      %column = arith.muli %warp, %c16 : index
      %none = gpu.subgroup_mma_constant_matrix %zero : !sum
      %threes = gpu.subgroup_mma_constant_matrix %three : !sum
      %all = scf.for %k = %c0 to %c48 step %c16 iter_args(%so = %none) -> (!sum) {
        %x = gpu.subgroup_mma_load_matrix %a[%c0, %k] {leadDimension = 48 : index} : memref<16x48xf16> -> !left
        %y = gpu.subgroup_mma_load_matrix %b[%k, %column] {leadDimension = 64 : index} : memref<48x64xf16> -> !right
        %next = gpu.subgroup_mma_compute %x, %y, %so : !left, !right -> !sum
        scf.yield %next : !sum
      }
      %positive = gpu.subgroup_mma_elementwise maxf %all, %none : (!sum, !sum) -> !sum
      %less = gpu.subgroup_mma_elementwise addf %positive, %threes : (!sum, !sum) -> !sum
      gpu.subgroup_mma_store_matrix %less, %c[%column, %c0] {leadDimension = 16 : index, transpose} : !sum, memref<64x16xf32>
      gpu.return
    }

    // The second subgroup alone: the product of signed and that of unsigned numbers, on
    // top of what is there.
    gpu.func @integers(%a: memref<16x16xi8>, %b: memref<16x16xi8>, %c: memref<16x16xi32>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %warp = gpu.subgroup_id : index
      %second = arith.cmpi eq, %warp, %c1 : index
      scf.if %second {
        %so = gpu.subgroup_mma_load_matrix %c[%c0, %c0] {leadDimension = 16 : index} : memref<16x16xi32> -> !ints
        %x = gpu.subgroup_mma_load_matrix %a[%c0, %c0] {leadDimension = 16 : index} : memref<16x16xi8> -> !signedLeft
        %y = gpu.subgroup_mma_load_matrix %b[%c0, %c0] {leadDimension = 16 : index} : memref<16x16xi8> -> !signedRight
        %xy = gpu.subgroup_mma_compute %x, %y, %so : !signedLeft, !signedRight -> !ints
        %u = gpu.subgroup_mma_load_matrix %a[%c0, %c0] {leadDimension = 16 : index} : memref<16x16xi8> -> !unsignedLeft
        %v = gpu.subgroup_mma_load_matrix %b[%c0, %c0] {leadDimension = 16 : index} : memref<16x16xi8> -> !unsignedRight
        %next = gpu.subgroup_mma_compute %u, %v, %xy : !unsignedLeft, !unsignedRight -> !ints
        gpu.subgroup_mma_store_matrix %next, %c[%c0, %c0] {leadDimension = 16 : index} : !ints, memref<16x16xi32>
      }
      gpu.return
    }

    // m becomes m * transpose(m), in place in workgroup memory: no barrier is between
    // load and store, since a subgroup is one.
    gpu.func @square(%m: memref<16x16xf16>) workgroup(%tile: memref<16x16xf16, #gpu.address_space<workgroup>> {llvm.align = 32 : i64}) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c16 = arith.constant 16 : index
      %thread = gpu.thread_id x
      %c8 = arith.constant 8 : index
      %row = arith.remui %thread, %c16 : index
      %upper = arith.divui %thread, %c16 : index
      %first = arith.muli %upper, %c8 : index
      %last = arith.addi %first, %c8 : index
      scf.for %i = %first to %last step %c1 {
        %value = memref.load %m[%row, %i] : memref<16x16xf16>
        memref.store %value, %tile[%row, %i] : memref<16x16xf16, #gpu.address_space<workgroup>>
      }
      gpu.barrier
      %zero = arith.constant 0.0 : f16
      %none = gpu.subgroup_mma_constant_matrix %zero : !half
      %x = gpu.subgroup_mma_load_matrix %tile[%c0, %c0] {leadDimension = 16 : index} : memref<16x16xf16, #gpu.address_space<workgroup>> -> !left
      %y = gpu.subgroup_mma_load_matrix %tile[%c0, %c0] {leadDimension = 16 : index, transpose} : memref<16x16xf16, #gpu.address_space<workgroup>> -> !right
      %s = gpu.subgroup_mma_compute %x, %y, %none {b_transpose} : !left, !right -> !half
      gpu.subgroup_mma_store_matrix %s, %tile[%c0, %c0] {leadDimension = 16 : index} : !half, memref<16x16xf16, #gpu.address_space<workgroup>>
      gpu.barrier
      scf.for %i = %first to %last step %c1 {
        %value = memref.load %tile[%row, %i] : memref<16x16xf16, #gpu.address_space<workgroup>>
        memref.store %value, %m[%row, %i] : memref<16x16xf16>
      }
      gpu.return
    }
  }

  // (31 i + 7 j) mod 11 - 5
  func.func @number(%i: index, %j: index) -> i32 {
    %c5 = arith.constant 5 : index
    %c7 = arith.constant 7 : index
    %c11 = arith.constant 11 : index
    %c31 = arith.constant 31 : index
    %x = arith.muli %i, %c31 : index
    %y = arith.muli %j, %c7 : index
    %sum = arith.addi %x, %y : index
    %rest = arith.remui %sum, %c11 : index
    %number = arith.subi %rest, %c5 : index
    %result = arith.index_cast %number : index to i32
    return %result : i32
  }
  func.func @half(%i: index, %j: index) -> f16 {
    %number = call @number(%i, %j) : (index, index) -> i32
    %result = arith.sitofp %number : i32 to f16
    return %result : f16
  }

  func.func @testProduct() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c48 = arith.constant 48 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %a = gpu.alloc host_shared () : memref<16x48xf16>
    %b = gpu.alloc host_shared () : memref<48x64xf16>
    %c = gpu.alloc host_shared () : memref<64x16xf32>
    scf.for %k = %c0 to %c48 step %c1 {
      scf.for %i = %c0 to %c16 step %c1 {
        %x = func.call @half(%i, %k) : (index, index) -> f16
        memref.store %x, %a[%i, %k] : memref<16x48xf16>
      }
      scf.for %j = %c0 to %c64 step %c1 {
        %y = func.call @half(%j, %k) : (index, index) -> f16
        memref.store %y, %b[%k, %j] : memref<48x64xf16>
      }
    }
    gpu.launch_func @kernels::@product blocks in (%c1, %c1, %c1) threads in (%c128, %c1, %c1)
      args(%a : memref<16x48xf16>, %b : memref<48x64xf16>, %c : memref<64x16xf32>)
    %zero = arith.constant 0 : i32
    %three = arith.constant 3 : i32
    %wrong = scf.for %i = %c0 to %c16 step %c1 iter_args(%before = %zero) -> (i32) {
      %row = scf.for %j = %c0 to %c64 step %c1 iter_args(%count = %before) -> (i32) {
        %sum = scf.for %k = %c0 to %c48 step %c1 iter_args(%so = %zero) -> (i32) {
          %x = func.call @number(%i, %k) : (index, index) -> i32
          %y = func.call @number(%j, %k) : (index, index) -> i32
          %xy = arith.muli %x, %y : i32
          %next = arith.addi %so, %xy : i32
          scf.yield %next : i32
        }
        %positive = arith.maxsi %sum, %zero : i32
        %less = arith.subi %positive, %three : i32
        %wanted = arith.sitofp %less : i32 to f32
        %found = memref.load %c[%j, %i] : memref<64x16xf32>
        %differs = arith.cmpf une, %found, %wanted : f32
        %one = arith.extui %differs : i1 to i32
        %more = arith.addi %count, %one : i32
        scf.yield %more : i32
      }
      scf.yield %row : i32
    }
    // CHECK: 0
    vector.print %wrong : i32
    gpu.dealloc %a : memref<16x48xf16>
    gpu.dealloc %b : memref<48x64xf16>
    gpu.dealloc %c : memref<64x16xf32>
    return
  }

  func.func @testIntegers() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %a = gpu.alloc host_shared () : memref<16x16xi8>
    %b = gpu.alloc host_shared () : memref<16x16xi8>
    %c = gpu.alloc host_shared () : memref<16x16xi32>
    scf.for %i = %c0 to %c16 step %c1 {
      scf.for %j = %c0 to %c16 step %c1 {
        // As an unsigned number, half of them are above 250.
        %number = func.call @number(%i, %j) : (index, index) -> i32
        %byte = arith.trunci %number : i32 to i8
        memref.store %byte, %a[%i, %j] : memref<16x16xi8>
        memref.store %byte, %b[%i, %j] : memref<16x16xi8>
        memref.store %number, %c[%i, %j] : memref<16x16xi32>
      }
    }
    gpu.launch_func @kernels::@integers blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1)
      args(%a : memref<16x16xi8>, %b : memref<16x16xi8>, %c : memref<16x16xi32>)
    %zero = arith.constant 0 : i32
    %mask = arith.constant 255 : i32
    %wrong = scf.for %i = %c0 to %c16 step %c1 iter_args(%before = %zero) -> (i32) {
      %row = scf.for %j = %c0 to %c16 step %c1 iter_args(%count = %before) -> (i32) {
        %first = func.call @number(%i, %j) : (index, index) -> i32
        %sum = scf.for %k = %c0 to %c16 step %c1 iter_args(%so = %first) -> (i32) {
          %x = func.call @number(%i, %k) : (index, index) -> i32
          %y = func.call @number(%k, %j) : (index, index) -> i32
          %xy = arith.muli %x, %y : i32
          %u = arith.andi %x, %mask : i32
          %v = arith.andi %y, %mask : i32
          %uv = arith.muli %u, %v : i32
          %both = arith.addi %xy, %uv : i32
          %next = arith.addi %so, %both : i32
          scf.yield %next : i32
        }
        %found = memref.load %c[%i, %j] : memref<16x16xi32>
        %differs = arith.cmpi ne, %found, %sum : i32
        %one = arith.extui %differs : i1 to i32
        %more = arith.addi %count, %one : i32
        scf.yield %more : i32
      }
      scf.yield %row : i32
    }
    // CHECK-NEXT: 0
    vector.print %wrong : i32
    gpu.dealloc %a : memref<16x16xi8>
    gpu.dealloc %b : memref<16x16xi8>
    gpu.dealloc %c : memref<16x16xi32>
    return
  }

  func.func @testSquare() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %m = gpu.alloc host_shared () : memref<16x16xf16>
    scf.for %i = %c0 to %c16 step %c1 {
      scf.for %j = %c0 to %c16 step %c1 {
        %x = func.call @half(%i, %j) : (index, index) -> f16
        memref.store %x, %m[%i, %j] : memref<16x16xf16>
      }
    }
    gpu.launch_func @kernels::@square blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1) args(%m : memref<16x16xf16>)
    %zero = arith.constant 0 : i32
    %wrong = scf.for %i = %c0 to %c16 step %c1 iter_args(%before = %zero) -> (i32) {
      %row = scf.for %j = %c0 to %c16 step %c1 iter_args(%count = %before) -> (i32) {
        %sum = scf.for %k = %c0 to %c16 step %c1 iter_args(%so = %zero) -> (i32) {
          %x = func.call @number(%i, %k) : (index, index) -> i32
          %y = func.call @number(%j, %k) : (index, index) -> i32
          %xy = arith.muli %x, %y : i32
          %next = arith.addi %so, %xy : i32
          scf.yield %next : i32
        }
        %wanted = arith.sitofp %sum : i32 to f16
        %found = memref.load %m[%i, %j] : memref<16x16xf16>
        %differs = arith.cmpf une, %found, %wanted : f16
        %one = arith.extui %differs : i1 to i32
        %more = arith.addi %count, %one : i32
        scf.yield %more : i32
      }
      scf.yield %row : i32
    }
    // CHECK-NEXT: 0
    vector.print %wrong : i32
    gpu.dealloc %m : memref<16x16xf16>
    return
  }

  func.func @main() {
    call @testProduct() : () -> ()
    call @testIntegers() : () -> ()
    call @testSquare() : () -> ()
    return
  }
}
