// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The instructions for bf16 of AVX512-BF16, AVX-NE-CONVERT and AVX10.2 take and make 0 for
// numbers below the smallest normal one. Kernels have none of them, and call nothing instead.
// REQUIRES: linker
// RUN: gpu-opt %s --gpu-module-to-binary=format=bin -o %t.mlir
// RUN: %python %S/../Inputs/images.py %t.mlir %t
// RUN: llvm-objdump -d %t-sapphire.elf | FileCheck %s "--implicit-check-not={{v[a-z0-9]+bf16}}"
// RUN: llvm-objdump -d %t-sierra.elf | FileCheck %s "--implicit-check-not={{v[a-z0-9]+bf16}}"
// RUN: llvm-objdump -d %t-diamond.elf | FileCheck %s "--implicit-check-not={{v[a-z0-9]+bf16}}"
// RUN: llvm-objdump -d %t-any.elf | FileCheck %s "--implicit-check-not={{v[a-z0-9]+bf16}}"
// RUN: llvm-readelf --dyn-symbols %t-any.elf | FileCheck %s --check-prefix=SYMBOLS --implicit-check-not=bf2

// CHECK: Disassembly of section .text
// CHECK: ret
// SYMBOLS: _gpuasync_object
module attributes {gpu.container_module} {
  gpu.module @sapphire [#gpu_async.cpu<chip = "sapphirerapids">] {
    gpu.func @convert(%s: memref<?xf32>, %d: memref<?xf64>, %n: memref<?xi32>, %b: memref<?xbf16>) kernel {
      %i = gpu.global_id x
      %sv = memref.load %s[%i] : memref<?xf32>
      %sb = arith.truncf %sv : f32 to bf16
      memref.store %sb, %b[%i] : memref<?xbf16>
      %dv = memref.load %d[%i] : memref<?xf64>
      %db = arith.truncf %dv : f64 to bf16
      %nv = memref.load %n[%i] : memref<?xi32>
      %nb = arith.sitofp %nv : i32 to bf16
      %sum = arith.addf %db, %nb : bf16
      %product = arith.mulf %sum, %sb : bf16
      %all = math.fma %product, %sum, %sb : bf16
      %root = math.sqrt %all : bf16
      %most = arith.maximumf %root, %sb : bf16
      memref.store %most, %b[%i] : memref<?xbf16>
      gpu.return
    }
    gpu.func @vectors(%s: memref<?xf32>, %b: memref<?xbf16>) kernel {
      %i = gpu.global_id x
      %sv = vector.load %s[%i] : memref<?xf32>, vector<16xf32>
      %sb = arith.truncf %sv : vector<16xf32> to vector<16xbf16>
      %old = vector.load %b[%i] : memref<?xbf16>, vector<16xbf16>
      %sum = arith.addf %sb, %old : vector<16xbf16>
      %less = arith.cmpf olt, %sum, %sb : vector<16xbf16>
      %which = arith.select %less, %sum, %sb : vector<16xi1>, vector<16xbf16>
      %total = vector.reduction <add>, %which : vector<16xbf16> into bf16
      vector.store %which, %b[%i] : memref<?xbf16>, vector<16xbf16>
      memref.store %total, %b[%i] : memref<?xbf16>
      %zero = arith.constant 0 : index
      %ignored = memref.atomic_rmw addf %total, %b[%zero] : (bf16, memref<?xbf16>) -> bf16
      gpu.return
    }
    llvm.func @dialect(%s: !llvm.ptr, %b: !llvm.ptr) attributes {gpu.kernel} {
      %v = llvm.load %s : !llvm.ptr -> f32
      %w = llvm.fptrunc %v : f32 to bf16
      %x = llvm.load %b : !llvm.ptr -> bf16
      %y = llvm.fadd %w, %x : bf16
      %z = llvm.intr.fma(%y, %w, %x) : (bf16, bf16, bf16) -> bf16
      llvm.store %z, %b : bf16, !llvm.ptr
      llvm.return
    }
  }
  gpu.module @sierra [#gpu_async.cpu<chip = "sierraforest">] {
    gpu.func @convert(%s: memref<?xf32>, %d: memref<?xf64>, %n: memref<?xi32>, %b: memref<?xbf16>) kernel {
      %i = gpu.global_id x
      %sv = memref.load %s[%i] : memref<?xf32>
      %sb = arith.truncf %sv : f32 to bf16
      memref.store %sb, %b[%i] : memref<?xbf16>
      %dv = memref.load %d[%i] : memref<?xf64>
      %db = arith.truncf %dv : f64 to bf16
      %nv = memref.load %n[%i] : memref<?xi32>
      %nb = arith.sitofp %nv : i32 to bf16
      %sum = arith.addf %db, %nb : bf16
      %product = arith.mulf %sum, %sb : bf16
      %all = math.fma %product, %sum, %sb : bf16
      %root = math.sqrt %all : bf16
      %most = arith.maximumf %root, %sb : bf16
      memref.store %most, %b[%i] : memref<?xbf16>
      gpu.return
    }
    gpu.func @vectors(%s: memref<?xf32>, %b: memref<?xbf16>) kernel {
      %i = gpu.global_id x
      %sv = vector.load %s[%i] : memref<?xf32>, vector<16xf32>
      %sb = arith.truncf %sv : vector<16xf32> to vector<16xbf16>
      %old = vector.load %b[%i] : memref<?xbf16>, vector<16xbf16>
      %sum = arith.addf %sb, %old : vector<16xbf16>
      %less = arith.cmpf olt, %sum, %sb : vector<16xbf16>
      %which = arith.select %less, %sum, %sb : vector<16xi1>, vector<16xbf16>
      %total = vector.reduction <add>, %which : vector<16xbf16> into bf16
      vector.store %which, %b[%i] : memref<?xbf16>, vector<16xbf16>
      memref.store %total, %b[%i] : memref<?xbf16>
      %zero = arith.constant 0 : index
      %ignored = memref.atomic_rmw addf %total, %b[%zero] : (bf16, memref<?xbf16>) -> bf16
      gpu.return
    }
    llvm.func @dialect(%s: !llvm.ptr, %b: !llvm.ptr) attributes {gpu.kernel} {
      %v = llvm.load %s : !llvm.ptr -> f32
      %w = llvm.fptrunc %v : f32 to bf16
      %x = llvm.load %b : !llvm.ptr -> bf16
      %y = llvm.fadd %w, %x : bf16
      %z = llvm.intr.fma(%y, %w, %x) : (bf16, bf16, bf16) -> bf16
      llvm.store %z, %b : bf16, !llvm.ptr
      llvm.return
    }
  }
  gpu.module @diamond [#gpu_async.cpu<chip = "diamondrapids">] {
    gpu.func @convert(%s: memref<?xf32>, %d: memref<?xf64>, %n: memref<?xi32>, %b: memref<?xbf16>) kernel {
      %i = gpu.global_id x
      %sv = memref.load %s[%i] : memref<?xf32>
      %sb = arith.truncf %sv : f32 to bf16
      memref.store %sb, %b[%i] : memref<?xbf16>
      %dv = memref.load %d[%i] : memref<?xf64>
      %db = arith.truncf %dv : f64 to bf16
      %nv = memref.load %n[%i] : memref<?xi32>
      %nb = arith.sitofp %nv : i32 to bf16
      %sum = arith.addf %db, %nb : bf16
      %product = arith.mulf %sum, %sb : bf16
      %all = math.fma %product, %sum, %sb : bf16
      %root = math.sqrt %all : bf16
      %most = arith.maximumf %root, %sb : bf16
      memref.store %most, %b[%i] : memref<?xbf16>
      gpu.return
    }
    gpu.func @vectors(%s: memref<?xf32>, %b: memref<?xbf16>) kernel {
      %i = gpu.global_id x
      %sv = vector.load %s[%i] : memref<?xf32>, vector<16xf32>
      %sb = arith.truncf %sv : vector<16xf32> to vector<16xbf16>
      %old = vector.load %b[%i] : memref<?xbf16>, vector<16xbf16>
      %sum = arith.addf %sb, %old : vector<16xbf16>
      %less = arith.cmpf olt, %sum, %sb : vector<16xbf16>
      %which = arith.select %less, %sum, %sb : vector<16xi1>, vector<16xbf16>
      %total = vector.reduction <add>, %which : vector<16xbf16> into bf16
      vector.store %which, %b[%i] : memref<?xbf16>, vector<16xbf16>
      memref.store %total, %b[%i] : memref<?xbf16>
      %zero = arith.constant 0 : index
      %ignored = memref.atomic_rmw addf %total, %b[%zero] : (bf16, memref<?xbf16>) -> bf16
      gpu.return
    }
    llvm.func @dialect(%s: !llvm.ptr, %b: !llvm.ptr) attributes {gpu.kernel} {
      %v = llvm.load %s : !llvm.ptr -> f32
      %w = llvm.fptrunc %v : f32 to bf16
      %x = llvm.load %b : !llvm.ptr -> bf16
      %y = llvm.fadd %w, %x : bf16
      %z = llvm.intr.fma(%y, %w, %x) : (bf16, bf16, bf16) -> bf16
      llvm.store %z, %b : bf16, !llvm.ptr
      llvm.return
    }
  }
  gpu.module @any [#gpu_async.cpu<chip = "x86-64">] {
    gpu.func @convert(%s: memref<?xf32>, %d: memref<?xf64>, %n: memref<?xi32>, %b: memref<?xbf16>) kernel {
      %i = gpu.global_id x
      %sv = memref.load %s[%i] : memref<?xf32>
      %sb = arith.truncf %sv : f32 to bf16
      memref.store %sb, %b[%i] : memref<?xbf16>
      %dv = memref.load %d[%i] : memref<?xf64>
      %db = arith.truncf %dv : f64 to bf16
      %nv = memref.load %n[%i] : memref<?xi32>
      %nb = arith.sitofp %nv : i32 to bf16
      %sum = arith.addf %db, %nb : bf16
      %product = arith.mulf %sum, %sb : bf16
      %all = math.fma %product, %sum, %sb : bf16
      %root = math.sqrt %all : bf16
      %most = arith.maximumf %root, %sb : bf16
      memref.store %most, %b[%i] : memref<?xbf16>
      gpu.return
    }
    gpu.func @vectors(%s: memref<?xf32>, %b: memref<?xbf16>) kernel {
      %i = gpu.global_id x
      %sv = vector.load %s[%i] : memref<?xf32>, vector<16xf32>
      %sb = arith.truncf %sv : vector<16xf32> to vector<16xbf16>
      %old = vector.load %b[%i] : memref<?xbf16>, vector<16xbf16>
      %sum = arith.addf %sb, %old : vector<16xbf16>
      %less = arith.cmpf olt, %sum, %sb : vector<16xbf16>
      %which = arith.select %less, %sum, %sb : vector<16xi1>, vector<16xbf16>
      %total = vector.reduction <add>, %which : vector<16xbf16> into bf16
      vector.store %which, %b[%i] : memref<?xbf16>, vector<16xbf16>
      memref.store %total, %b[%i] : memref<?xbf16>
      %zero = arith.constant 0 : index
      %ignored = memref.atomic_rmw addf %total, %b[%zero] : (bf16, memref<?xbf16>) -> bf16
      gpu.return
    }
    llvm.func @dialect(%s: !llvm.ptr, %b: !llvm.ptr) attributes {gpu.kernel} {
      %v = llvm.load %s : !llvm.ptr -> f32
      %w = llvm.fptrunc %v : f32 to bf16
      %x = llvm.load %b : !llvm.ptr -> bf16
      %y = llvm.fadd %w, %x : bf16
      %z = llvm.intr.fma(%y, %w, %x) : (bf16, bf16, bf16) -> bf16
      llvm.store %z, %b : bf16, !llvm.ptr
      llvm.return
    }
  }
}
