// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What LLVM's code generators for GPUs have no code for, where they would end the
// process, or write what no assembler takes, or something else than was asked for.
// REQUIRES: lld
// RUN: gpu-opt %s -split-input-file -verify-diagnostics -gpu-async-lower-kernels="ptxas=none libdevice=none rocm=none"

gpu.module @k [#nvvm.target<chip = "sm_90">] {
  gpu.func @f(%x: memref<?xf128>) kernel {
    %c0 = arith.constant 0 : index
    // expected-error @+1 {{'llvm.load' with values of type 'f128', which NVIDIA devices do not have}}
    %v = memref.load %x[%c0] : memref<?xf128>
    %w = arith.addf %v, %v : f128
    memref.store %w, %x[%c0] : memref<?xf128>
    gpu.return
  }
}

// -----

gpu.module @k [#rocdl.target<chip = "gfx90a", abi = "500">] {
  gpu.func @f(%x: memref<?xf80>) kernel {
    %c0 = arith.constant 0 : index
    // expected-error @+1 {{'llvm.load' with values of type 'f80', which AMD devices do not have}}
    %v = memref.load %x[%c0] : memref<?xf80>
    memref.store %v, %x[%c0] : memref<?xf80>
    gpu.return
  }
}

// -----

gpu.module @k [#nvvm.target<chip = "sm_90">] {
  gpu.func @f(%x: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    // expected-error @+1 {{with values of type 'vector<[4]xf32>', which NVIDIA devices do not have}}
    %v = vector.load %x[%c0] : memref<?xf32>, vector<[4]xf32>
    vector.store %v, %x[%c0] : memref<?xf32>, vector<[4]xf32>
    gpu.return
  }
}

// -----

gpu.module @k [#nvvm.target<chip = "sm_90">] {
  // expected-error @+1 {{'llvm.mlir.global' with values of type '!llvm.ppc_fp128', which NVIDIA devices do not have}}
  llvm.mlir.global internal @g() {addr_space = 1 : i32} : !llvm.ppc_fp128
  gpu.func @f() kernel { gpu.return }
}

// -----

gpu.module @k [#nvvm.target<chip = "sm_90">] {
  // expected-error @+1 {{'llvm.func' with values of type 'f128', which NVIDIA devices do not have}}
  llvm.func @g(%x: !llvm.struct<(i32, f128)>) { llvm.return }
  gpu.func @f() kernel { gpu.return }
}

// -----

gpu.module @k [#nvvm.target<chip = "sm_90">] {
  gpu.func @f(%x: !llvm.ptr) kernel {
    // expected-error @+1 {{'llvm.addrspacecast' with a pointer to address space 42, which NVIDIA devices do not have}}
    %p = llvm.addrspacecast %x : !llvm.ptr to !llvm.ptr<42>
    %v = llvm.load %p : !llvm.ptr<42> -> i32
    llvm.store %v, %x : i32, !llvm.ptr
    gpu.return
  }
}

// -----

gpu.module @k [#rocdl.target<chip = "gfx90a", abi = "500">] {
  gpu.func @f(%x: !llvm.ptr) kernel {
    // expected-error @+1 {{'llvm.addrspacecast' with a pointer to address space 101, which AMD devices do not have}}
    %p = llvm.addrspacecast %x : !llvm.ptr to !llvm.ptr<101>
    %v = llvm.load %p : !llvm.ptr<101> -> i32
    llvm.store %v, %x : i32, !llvm.ptr
    gpu.return
  }
}

// -----

gpu.module @k [#nvvm.target<chip = "sm_90">] {
  // expected-error @+1 {{variable @g is in address space 5, where NVIDIA devices have no variables}}
  llvm.mlir.global internal @g() {addr_space = 5 : i32} : i32
  gpu.func @f() kernel { gpu.return }
}

// -----

// AMD's linker would leave it undefined, LLVM's code for NVIDIA ignore it.
gpu.module @k [#nvvm.target<chip = "sm_90">] {
  // expected-error @+1 {{variable @g is thread-local, which NVIDIA devices do not have}}
  llvm.mlir.global internal thread_local @g(7 : i32) {addr_space = 1 : i32} : i32
  gpu.func @f() kernel { gpu.return }
}

// -----

gpu.module @k [#nvvm.target<chip = "sm_90">] {
  // expected-error @+1 {{workgroup variable @g has a value to begin with, which workgroup memory has not}}
  memref.global "private" @g : memref<4xf32, 3> = dense<1.0>
  gpu.func @f() kernel { gpu.return }
}

// -----

// LLVM takes zeros for no value.
gpu.module @k [#rocdl.target<chip = "gfx90a", abi = "500">] {
  // expected-error @+1 {{workgroup variable @g has a value to begin with, which workgroup memory has not}}
  memref.global "private" @g : memref<4xf32, #gpu.address_space<workgroup>> = dense<0.0>
  gpu.func @f() kernel { gpu.return }
}

// -----

gpu.module @k [#nvvm.target<chip = "sm_90">] {
  gpu.func @f(%x: !llvm.ptr, %v: i32) kernel {
    // expected-error @+1 {{'llvm.atomicrmw' with scope "agent", which NVIDIA devices do not have; there are "", "singlethread", "block", "cluster", "device"}}
    %w = llvm.atomicrmw add %x, %v syncscope("agent") monotonic : !llvm.ptr, i32
    gpu.return
  }
}

// -----

gpu.module @k [#rocdl.target<chip = "gfx90a", abi = "500">] {
  gpu.func @f(%x: !llvm.ptr, %v: i32) kernel {
    // expected-error @+1 {{'llvm.atomicrmw' with scope "block", which AMD devices do not have; there are "", "singlethread", "wavefront"}}
    %w = llvm.atomicrmw add %x, %v syncscope("block") monotonic : !llvm.ptr, i32
    gpu.return
  }
}

// -----

gpu.module @k [#nvvm.target<chip = "sm_90">] {
  gpu.func @f() kernel {
    // expected-error @+1 {{'llvm.fence' with scope "singlethread", which NVIDIA devices do not have}}
    llvm.fence syncscope("singlethread") acq_rel
    gpu.return
  }
}

// -----

gpu.module @k [#nvvm.target<chip = "sm_90">] {
  gpu.func @f(%x: !llvm.ptr) kernel {
    %v = llvm.load %x : !llvm.ptr -> i32
    // expected-error @+1 {{'llvm.load' with scope "workgroup", which NVIDIA devices do not have}}
    %w = llvm.load %x atomic syncscope("workgroup") monotonic {alignment = 4 : i64} : !llvm.ptr -> i32
    llvm.store %w, %x : i32, !llvm.ptr
    gpu.return
  }
}

// -----

gpu.module @k [#nvvm.target<chip = "sm_90">] {
  gpu.func @f(%x: !llvm.ptr) kernel {
    // expected-error @+1 {{intrinsic llvm.amdgcn.workitem.id.x is not one of NVIDIA devices, which begin with llvm.nvvm.}}
    %v = llvm.call_intrinsic "llvm.amdgcn.workitem.id.x"() : () -> i32
    llvm.store %v, %x : i32, !llvm.ptr
    gpu.return
  }
}

// -----

gpu.module @k [#rocdl.target<chip = "gfx90a", abi = "500">] {
  gpu.func @f(%x: !llvm.ptr) kernel {
    // expected-error @+1 {{intrinsic llvm.x86.rdtsc is not one of AMD devices, which begin with llvm.amdgcn.}}
    %v = llvm.call_intrinsic "llvm.x86.rdtsc"() : () -> i64
    llvm.store %v, %x : i64, !llvm.ptr
    gpu.return
  }
}

// -----

gpu.module @k [#nvvm.target<chip = "sm_90">] {
  gpu.func @f(%x: !llvm.ptr) kernel {
    // expected-error @+1 {{LLVM knows no intrinsic llvm.nosuch.thing}}
    %v = llvm.call_intrinsic "llvm.nosuch.thing"() : () -> i32
    llvm.store %v, %x : i32, !llvm.ptr
    gpu.return
  }
}

// -----

gpu.module @k [#rocdl.target<chip = "gfx90a", abi = "500">] {
  // expected-error @+1 {{kernel returns a value of type 'i32': a kernel returns nothing}}
  llvm.func @f() -> i32 attributes {gpu.kernel} {
    %z = llvm.mlir.constant(0 : i32) : i32
    llvm.return %z : i32
  }
}

// -----

// One variable of 2^32 bytes and more, of which LLVM and ptxas take the rest.
gpu.module @k [#nvvm.target<chip = "sm_90">] {
  memref.global "private" @g : memref<1073741825xf32, 3>
  // expected-error @+1 {{gpu.module @k for nvptx:sm_90: kernel @f has 4294967300 bytes of static workgroup memory, where 49152 are allowed}}
  gpu.func @f(%i: index) kernel {
    %g = memref.get_global @g : memref<1073741825xf32, 3>
    %v = memref.load %g[%i] : memref<1073741825xf32, 3>
    memref.store %v, %g[%i] : memref<1073741825xf32, 3>
    gpu.return
  }
}

// -----

// More than 64 bits count.
gpu.module @k [#rocdl.target<chip = "gfx90a", abi = "500">] {
  // expected-error @+1 {{kernel @f has at least 18446744073709551615 bytes of static workgroup memory, where 2147483647 are allowed}}
  gpu.func @f(%i: index) workgroup(%g: memref<4611686018427387904xf64, #gpu.address_space<workgroup>>) kernel {
    %v = memref.load %g[%i] : memref<4611686018427387904xf64, #gpu.address_space<workgroup>>
    memref.store %v, %g[%i] : memref<4611686018427387904xf64, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

// Variables of functions that are called count; those of other kernels do not.
gpu.module @k [#nvvm.target<chip = "sm_90">] {
  memref.global "private" @g : memref<8192xf32, 3>
  memref.global "private" @h : memref<8192xf32, 3>
  func.func @use(%i: index) -> f32 attributes {no_inline} {
    %h = memref.get_global @h : memref<8192xf32, 3>
    %v = memref.load %h[%i] : memref<8192xf32, 3>
    return %v : f32
  }
  gpu.func @right(%i: index, %x: memref<?xf32>) kernel {
    %v = func.call @use(%i) : (index) -> f32
    memref.store %v, %x[%i] : memref<?xf32>
    gpu.return
  }
  // expected-error @+1 {{kernel @f has 65536 bytes of static workgroup memory, where 49152 are allowed; dynamic memory is given by the launch}}
  gpu.func @f(%i: index) kernel {
    %v = func.call @use(%i) : (index) -> f32
    %g = memref.get_global @g : memref<8192xf32, 3>
    memref.store %v, %g[%i] : memref<8192xf32, 3>
    gpu.return
  }
}

// -----

// What the chip has is known to LLVM.
gpu.module @k [#rocdl.target<chip = "gfx90a", abi = "500">] {
  // expected-error @+1 {{LLVM cannot generate code for @f: local memory (65540) exceeds limit (65536)}}
  gpu.func @f(%i: index, %j: index, %x: memref<?xf32>) workgroup(%g: memref<16385xf32, #gpu.address_space<workgroup>>) kernel {
    %u = memref.load %x[%i] : memref<?xf32>
    memref.store %u, %g[%i] : memref<16385xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %v = memref.load %g[%j] : memref<16385xf32, #gpu.address_space<workgroup>>
    memref.store %v, %x[%j] : memref<?xf32>
    gpu.return
  }
}

// -----

// A pointer to memory of the block has four bytes there, and means nothing to the host.
gpu.module @k [#rocdl.target<chip = "gfx90a", abi = "500">] {
  // expected-error @+1 {{gpu.module @k for amdgcn:gfx90a: the code of kernel @f takes parameter 1 from the 4 bytes at 8, where it is the 8 bytes at 8}}
  gpu.func @f(%x: !llvm.ptr, %p: !llvm.ptr<3>) kernel {
    %v = llvm.load %p : !llvm.ptr<3> -> i32
    llvm.store %v, %x : i32, !llvm.ptr
    gpu.return
  }
}

// -----

// The step from one to the next would be 24 bytes on the device, and 32 on the
// host that fills the memory.
gpu.module @k [#rocdl.target<chip = "gfx90a">] {
  gpu.func @f(%x: memref<8xi136>, %i: index) kernel {
    // expected-error @+1 {{'llvm.getelementptr' with elements of type 'i136', which AMD devices do not lay out as the host does: integers in memory have 128 bits at most}}
    %v = memref.load %x[%i] : memref<8xi136>
    memref.store %v, %x[%i] : memref<8xi136>
    gpu.return
  }
}

// -----

gpu.module @k [#nvvm.target<chip = "sm_90">] {
  llvm.func @f(%x: !llvm.ptr, %i: i64) attributes {gpu.kernel, nvvm.kernel} {
    // expected-error @+1 {{'llvm.getelementptr' with elements of type '!llvm.struct<(i32, array<2 x i264>)>', which NVIDIA devices do not lay out as the host does}}
    %p = llvm.getelementptr %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.struct<(i32, array<2 x i264>)>
    %zero = llvm.mlir.zero : i32
    llvm.store %zero, %p : i32, !llvm.ptr
    llvm.return
  }
}

// -----

// What is not in memory may be as wide as it likes.
gpu.module @k [#rocdl.target<chip = "gfx90a">, #nvvm.target<chip = "sm_90">] {
  gpu.func @f(%x: memref<8xi128>, %i: index) kernel {
    %v = memref.load %x[%i] : memref<8xi128>
    %c77 = arith.constant 77 : i256
    %w = arith.extui %v : i128 to i256
    %m = arith.muli %w, %c77 : i256
    %c9 = arith.constant 9 : i256
    %s = arith.shrui %m, %c9 : i256
    %t = arith.trunci %s : i256 to i128
    memref.store %t, %x[%i] : memref<8xi128>
    gpu.return
  }
}
