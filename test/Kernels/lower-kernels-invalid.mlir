// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is refused, each with its place and reason.
// RUN: gpu-opt %s -split-input-file -verify-diagnostics -gpu-async-lower-kernels="ptxas=none libdevice=none"

// expected-error @+1 {{gpu.module @k has no target: give targets= (cpu, nvptx:<chip> and amdgcn:<chip>) or a target attribute}}
gpu.module @k {
  gpu.func @f() kernel { gpu.return }
}

// -----

gpu.module @k [#gpu_async.cpu] {
  func.func @down(%n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %more = arith.cmpi ne, %n, %c0 : index
    scf.if %more {
      gpu.barrier
      %m = arith.subi %n, %c1 : index
      // expected-error @+1 {{is recursive and its callee holds a barrier or a subgroup op}}
      func.call @down(%m) : (index) -> ()
    }
    return
  }
  gpu.func @f(%n: index) kernel {
    func.call @down(%n) : (index) -> ()
    gpu.return
  }
}

// -----

gpu.module @k [#gpu_async.cpu] {
  gpu.func @f(%x: memref<?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    // expected-error @+1 {{of dynamic size or layout is used across a barrier}}
    %a = memref.alloca(%n) : memref<?xf32>
    %v = memref.load %x[%c0] : memref<?xf32>
    memref.store %v, %a[%c0] : memref<?xf32>
    gpu.barrier
    %w = memref.load %a[%c0] : memref<?xf32>
    memref.store %w, %x[%c0] : memref<?xf32>
    gpu.return
  }
}

// -----

// Memory of a round that later rounds may find in other memory.
gpu.module @k [#gpu_async.cpu] {
  gpu.func @f(%x: memref<?xf32>, %n: index, %p: !llvm.ptr) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %four = arith.constant 4 : i64
    %table = memref.alloca() : memref<2xmemref<4xf32>>
    // expected-note @+1 {{the loop}}
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%old = %c0) -> (index) {
      gpu.barrier
      // expected-error @+1 {{makes memory in each round of a loop with a barrier, and later rounds may know its address}}
      %a = memref.alloca() : memref<4xf32>
      memref.store %a, %table[%i] : memref<2xmemref<4xf32>>
      gpu.barrier
      %b = memref.load %table[%c0] : memref<2xmemref<4xf32>>
      %v = memref.load %b[%c0] : memref<4xf32>
      memref.store %v, %x[%i] : memref<?xf32>
      gpu.barrier
      scf.yield %i : index
    }
    gpu.return
  }
}

// -----

// That may be made of a number again.
gpu.module @k [#gpu_async.cpu] {
  gpu.func @f(%x: memref<?xf32>, %n: index, %p: !llvm.ptr) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %four = arith.constant 4 : i64
    // expected-note @+1 {{the loop}}
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%old = %c0) -> (index) {
      gpu.barrier
      // expected-error @+1 {{makes memory in each round of a loop with a barrier, and later rounds may know its address}}
      %a = memref.alloca() : memref<4xf32>
      %number = memref.extract_aligned_pointer_as_index %a : memref<4xf32> -> index
      gpu.barrier
      %v = memref.load %a[%c0] : memref<4xf32>
      memref.store %v, %x[%old] : memref<?xf32>
      gpu.barrier
      scf.yield %number : index
    }
    gpu.return
  }
}

// -----

// That a function may keep.
gpu.module @k [#gpu_async.cpu] {
  llvm.func @keep(!llvm.ptr)
  gpu.func @f(%x: memref<?xf32>, %n: index, %p: !llvm.ptr) kernel {
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %four = arith.constant 4 : i64
    // expected-note @+1 {{the loop}}
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%old = %c0) -> (index) {
      gpu.barrier
      // expected-error @+1 {{makes memory in each round of a loop with a barrier, and later rounds may know its address}}
      %a = llvm.alloca %four x f32 : (i64) -> !llvm.ptr
      llvm.store %zero, %a : f32, !llvm.ptr
      gpu.barrier
      llvm.call @keep(%a) : (!llvm.ptr) -> ()
      %v = llvm.load %a : !llvm.ptr -> f32
      memref.store %v, %x[%i] : memref<?xf32>
      gpu.barrier
      scf.yield %i : index
    }
    gpu.return
  }
}

// -----

// Whose address may be beyond its end.
gpu.module @k [#gpu_async.cpu] {
  gpu.func @f(%x: memref<?xf32>, %n: index, %p: !llvm.ptr) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %four = arith.constant 4 : i64
    // expected-note @+1 {{the loop}}
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%old = %p) -> (!llvm.ptr) {
      gpu.barrier
      // expected-error @+1 {{makes memory in each round of a loop with a barrier, and later rounds may know its address}}
      %a = llvm.alloca %four x f32 : (i64) -> !llvm.ptr
      %v = llvm.load %old : !llvm.ptr -> f32
      memref.store %v, %x[%i] : memref<?xf32>
      llvm.store %v, %a : f32, !llvm.ptr
      %beyond = llvm.getelementptr %a[-16] : (!llvm.ptr) -> !llvm.ptr, f32
      gpu.barrier
      scf.yield %beyond : !llvm.ptr
    }
    gpu.return
  }
}

// -----

gpu.module @k [#gpu_async.cpu] {
  llvm.func @meet() {
    nvvm.barrier0
    llvm.return
  }
  llvm.func @f() attributes {gpu.kernel} {
    // expected-error @+1 {{takes the address of a function that holds a barrier, a subgroup op or an assert}}
    %meet = llvm.mlir.addressof @meet : !llvm.ptr
    llvm.call %meet() : !llvm.ptr, () -> ()
    llvm.return
  }
}

// -----

gpu.module @k [#gpu_async.cpu] {
  llvm.func @f() attributes {gpu.kernel} {
    nvvm.barrier0
    %target = llvm.blockaddress <function = @f, tag = <id = 1>> : !llvm.ptr
    // expected-error @+1 {{'llvm.indirectbr' op is not supported by the cpu device in an llvm.func that holds a barrier}}
    llvm.indirectbr %target : !llvm.ptr, [^next]
  ^next:
    llvm.blocktag <id = 1>
    llvm.return
  }
}

// -----

gpu.module @k [#gpu_async.cpu] {
  // expected-error @+1 {{'llvm.func' op takes an argument by value (llvm.byval), which is not supported by the cpu device in an llvm.func that holds a barrier}}
  llvm.func @meet(%x: !llvm.ptr {llvm.byval = !llvm.array<2 x i32>}) {
    nvvm.barrier0
    llvm.return
  }
  llvm.func @f(%x: !llvm.ptr) attributes {gpu.kernel} {
    llvm.call @meet(%x) : (!llvm.ptr) -> ()
    llvm.return
  }
}

// -----

gpu.module @k [#gpu_async.cpu] {
  gpu.func @f(%x: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %x, %c0 : memref<?xf32>
    // expected-error @+1 {{'scf.parallel' op is not supported by the cpu device around a barrier}}
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      gpu.barrier
    }
    gpu.return
  }
}

// -----

gpu.module @k [#gpu_async.cpu] {
  gpu.func @f(%x: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %v = memref.load %x[%c0] : memref<?xf32>
    // expected-error @+1 {{has clusters that are wider than a subgroup of 32 threads}}
    %w = gpu.subgroup_reduce add %v cluster(size = 64) : (f32) -> f32
    memref.store %w, %x[%c0] : memref<?xf32>
    gpu.return
  }
}

// -----

gpu.module @k [#gpu_async.cpu<subgroup_size = 16>] {
  gpu.func @f(%x: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1 : i32
    %width = arith.constant 32 : i32
    %v = memref.load %x[%c0] : memref<?xf32>
    // expected-error @+1 {{'gpu.shuffle' op has a width of 32 where subgroups have 16 threads}}
    %w, %valid = gpu.shuffle xor %v, %one, %width : f32
    memref.store %w, %x[%c0] : memref<?xf32>
    gpu.return
  }
}

// -----

gpu.module @k [#gpu_async.cpu<subgroup_size = 4>] {
  gpu.func @f(%x: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %v = memref.load %x[%c0] : memref<?xf32>
    // expected-error @+1 {{'gpu.rotate' op has a width of 8 where subgroups have 4 threads}}
    %w, %valid = gpu.rotate %v, 1, 8 : f32
    memref.store %w, %x[%c0] : memref<?xf32>
    gpu.return
  }
}

// -----

gpu.module @k [#gpu_async.cpu<subgroup_size = 64>] {
  gpu.func @f(%x: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    // expected-error @+1 {{'nvvm.read.ptx.sreg.laneid' op is about a warp of 32 threads, but the cpu device is to have subgroups of 64}}
    %lane = nvvm.read.ptx.sreg.laneid : i32
    memref.store %lane, %x[%c0] : memref<?xi32>
    gpu.return
  }
}

// -----

// expected-error @+1 {{subgroup_size = 12 is not a power of two from 1 to 64}}
gpu.module @k [#gpu_async.cpu<subgroup_size = 12>] {
}

// -----

gpu.module @k [#gpu_async.cpu] {
  gpu.func @f(%x: memref<?xf6E2M3FN>, %y: memref<?xf6E2M3FN>) kernel {
    %c0 = arith.constant 0 : index
    // expected-error @+1 {{'memref.load' op has numbers of type 'f6E2M3FN', which are not supported by the cpu device}}
    %v = memref.load %x[%c0] : memref<?xf6E2M3FN>
    memref.store %v, %y[%c0] : memref<?xf6E2M3FN>
    gpu.return
  }
}

// -----

gpu.module @k [#gpu_async.cpu] {
  gpu.func @f(%x: memref<?xf8E8M0FNU>, %y: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %v = memref.load %x[%c0] : memref<?xf8E8M0FNU>
    // expected-error @+1 {{'arith.extf' op on f8E8M0FNU is not supported by the cpu device}}
    %w = arith.extf %v : f8E8M0FNU to f32
    memref.store %w, %y[%c0] : memref<?xf32>
    gpu.return
  }
}

// -----

gpu.module @k [#gpu_async.cpu] {
  gpu.func @f(%x: memref<?xf128>, %y: memref<?xf8E5M2>) kernel {
    %c0 = arith.constant 0 : index
    %v = memref.load %x[%c0] : memref<?xf128>
    // expected-error @+1 {{'arith.truncf' op rounds a number of type 'f128' to one of type 'f8E5M2', which is not supported by the cpu device}}
    %w = arith.truncf %v : f128 to f8E5M2
    memref.store %w, %y[%c0] : memref<?xf8E5M2>
    gpu.return
  }
}

// -----

gpu.module @k [#gpu_async.cpu] {
  gpu.func @f(%x: memref<?xi32>, %mask: i32) kernel {
    %c0 = arith.constant 0 : index
    %yes = arith.constant true
    // expected-error @+1 {{'nvvm.vote.sync' op with a mask that is computed is not supported by the cpu device}}
    %bits = nvvm.vote.sync ballot %mask, %yes -> i32
    memref.store %bits, %x[%c0] : memref<?xi32>
    gpu.return
  }
}

// -----

gpu.module @k [#gpu_async.cpu] {
  gpu.func @f() kernel {
    // expected-error @+1 {{'nvvm.cluster.arrive' op is not supported by the cpu device yet}}
    nvvm.cluster.arrive
    gpu.return
  }
}

// -----

gpu.module @k [#gpu_async.cpu] {
  gpu.func @f(%x: f32) kernel {
    // expected-error @+1 {{'vector.print' op is not for kernels: use gpu.printf}}
    vector.print %x : f32
    gpu.return
  }
}

// -----

// expected-error @+1 {{unknown chip 'sm_99' for target nvptx; LLVM 22.1}}
gpu.module @k [#nvvm.target<chip = "sm_99">] {
  gpu.func @f() kernel { gpu.return }
}

// -----

// LLVM only warns.
// expected-error @+1 {{gpu.module @k for nvptx:sm_90: unknown feature 'ptx800' for target nvptx; LLVM 22.1}}
gpu.module @k [#nvvm.target<chip = "sm_90", features = "+ptx80,+ptx800">] {
  gpu.func @f() kernel { gpu.return }
}

// -----

// expected-error @+1 {{gpu.module @k for nvptx:sm_90: feature 'ptx80' has no + or -}}
gpu.module @k [#nvvm.target<chip = "sm_90", features = "ptx80">] {
  gpu.func @f() kernel { gpu.return }
}

// -----

// expected-error @+1 {{target #xevm.target is not supported: there are #gpu_async.cpu, #nvvm.target and #rocdl.target}}
gpu.module @k [#xevm.target] {
  gpu.func @f() kernel { gpu.return }
}

// -----

// Upstream writes PTX that no driver can load, and says nothing.
gpu.module @k [#nvvm.target<chip = "sm_90">] {
  gpu.func @f(%x: memref<f64>) kernel {
    %v = memref.load %x[] : memref<f64>
    // expected-error @+1 {{'math.sinh' op on 'f64' needs CUDA's libdevice, which was not found}}
    %e = math.sinh %v : f64
    memref.store %e, %x[] : memref<f64>
    gpu.return
  }
}

// -----

gpu.module @k [#nvvm.target<chip = "sm_90">] {
  func.func private @elsewhere(f32) -> f32
  gpu.func @f(%x: memref<f32>) kernel {
    %v = memref.load %x[] : memref<f32>
    // expected-error @+1 {{call of @elsewhere for nvptx:sm_90: nothing defines this function}}
    %e = func.call @elsewhere(%v) : (f32) -> f32
    memref.store %e, %x[] : memref<f32>
    gpu.return
  }
}

// -----

gpu.module @k [#gpu_async.cpu] {
  // expected-error @+1 {{kernel argument 0 of type 'vector<8xf32>' cannot be passed: it takes 32 bytes; a parameter is an integer, float, pointer, vector, complex number, struct or array of up to 16 elements that takes 1, 2, 4, 8 or 16 bytes}}
  gpu.func @f(%x: vector<8xf32>) kernel { gpu.return }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @k [#gpu_async.cpu] {
    gpu.func @f() kernel { gpu.return }
  }
  func.func @main() {
    %c1 = arith.constant 1 : index
    // expected-error @+1 {{must be imported before kernels are lowered}}
    gpu.launch_func @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    return
  }
}

// -----

// expected-error @+1 {{gpu.binary has no object that can be loaded}}
gpu.binary @b [#gpu.object<#nvvm.target<chip = "sm_80">, offload = "bitcode">]

// -----

// Upstream's lowering would end the process.
gpu.module @k [#nvvm.target<chip = "sm_90">] {
  gpu.func @f(%m: memref<16x16xf32>) kernel {
    %c0 = arith.constant 0 : index
    %x = gpu.subgroup_mma_load_matrix %m[%c0, %c0] {leadDimension = 16 : index} : memref<16x16xf32> -> !gpu.mma_matrix<16x16xf32, "COp">
    // expected-error @+1 {{with subf is not supported for nvptx: MLIR has no lowering of it}}
    %y = gpu.subgroup_mma_elementwise subf %x, %x : (!gpu.mma_matrix<16x16xf32, "COp">, !gpu.mma_matrix<16x16xf32, "COp">) -> !gpu.mma_matrix<16x16xf32, "COp">
    gpu.subgroup_mma_store_matrix %y, %m[%c0, %c0] {leadDimension = 16 : index} : !gpu.mma_matrix<16x16xf32, "COp">, memref<16x16xf32>
    gpu.return
  }
}

// -----

gpu.module @k [#gpu_async.cpu] {
  gpu.func @f(%m: memref<8x6xf32>) kernel {
    %c0 = arith.constant 0 : index
    // expected-error @+1 {{is not supported by the cpu device for '!gpu.mma_matrix<8x6xf32, "COp">': its elements are no multiple of 32}}
    %x = gpu.subgroup_mma_load_matrix %m[%c0, %c0] {leadDimension = 6 : index} : memref<8x6xf32> -> !gpu.mma_matrix<8x6xf32, "COp">
    gpu.subgroup_mma_store_matrix %x, %m[%c0, %c0] {leadDimension = 6 : index} : !gpu.mma_matrix<8x6xf32, "COp">, memref<8x6xf32>
    gpu.return
  }
}

// -----

gpu.module @k [#gpu_async.cpu] {
  gpu.func @f(%m: memref<16x2xvector<8xf16>>) kernel {
    %c0 = arith.constant 0 : index
    // expected-error @+1 {{is not supported by the cpu device for 'memref<16x2xvector<8xf16>>': its elements are vectors}}
    %x = gpu.subgroup_mma_load_matrix %m[%c0, %c0] {leadDimension = 16 : index} : memref<16x2xvector<8xf16>> -> !gpu.mma_matrix<16x16xf16, "COp">
    gpu.return
  }
}

// -----

gpu.module @k [#gpu_async.cpu] {
  gpu.func @f(%m: memref<16x16xf32>) kernel {
    %c0 = arith.constant 0 : index
    %x = gpu.subgroup_mma_load_matrix %m[%c0, %c0] {leadDimension = 16 : index} : memref<16x16xf32> -> !gpu.mma_matrix<16x16xf32, "COp">
    // expected-error @+1 {{is not supported by the cpu device}}
    %y = gpu.subgroup_mma_extract_thread_local %x[%c0] : !gpu.mma_matrix<16x16xf32, "COp"> -> f32
    memref.store %y, %m[%c0, %c0] : memref<16x16xf32>
    gpu.return
  }
}

// -----

// expected-error @+1 {{kernel @f of a ready-made binary takes argument 1 of type '!llvm.struct<(f32, f32)>', which compilers lay out in different ways: it would need the gpu.module}}
gpu.binary @b [#gpu.object<#nvvm.target<chip = "sm_80">, kernels = #gpu.kernel_table<[#gpu.kernel_metadata<"f", !llvm.func<void (i32, struct<(f32, f32)>)>>]>, assembly = "text">]
