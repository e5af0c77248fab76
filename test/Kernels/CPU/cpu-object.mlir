// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gpu-module-to-binary with #gpu_async.cpu: what it makes, and what it refuses.
// The object is linked by a program of the system.
// REQUIRES: linker
// RUN: split-file %s %t
// RUN: gpu-opt %t/good.mlir --gpu-module-to-binary=format=bin | FileCheck %s
// RUN: gpu-opt %t/good.mlir --gpu-module-to-binary=format=fatbin | FileCheck %s
// Upstream's own tools read it.
// RUN: gpu-opt %t/good.mlir --gpu-module-to-binary=format=bin | mlir-opt | FileCheck %s
// RUN: gpu-opt %t/good.mlir --gpu-module-to-binary=format=bin -o %t/1
// RUN: gpu-opt %t/good.mlir --gpu-module-to-binary=format=bin -o %t/2
// RUN: cmp %t/1 %t/2
// RUN: gpu-opt %t/bad.mlir -split-input-file -verify-diagnostics --gpu-module-to-binary=format=bin
// RUN: not gpu-opt %t/good.mlir --gpu-module-to-binary=format=isa 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not gpu-opt %t/good.mlir "--gpu-module-to-binary=format=bin toolkit=%t/empty" 2>&1 | FileCheck %s --check-prefix=TOOLKIT
// RUN: env PATH=%t/empty not gpu-opt %t/good.mlir --gpu-module-to-binary=format=bin 2>&1 | FileCheck %s --check-prefix=LINKER
// This project's pipeline has no use for the object.
// RUN: gpu-opt %t/good.mlir --gpu-module-to-binary=format=bin -o %t/binary.mlir
// RUN: not gpu-opt %t/binary.mlir --gpu-async-lower-kernels=targets=cpu 2>&1 | FileCheck %s --check-prefix=BINARY

// CHECK: gpu.binary @k [#gpu.object<#nvvm.target, properties = {gpu_async.target = "cpu"}, {{(bin = )?}}"\7FELF
// FORMAT: good.mlir:2:3: error: gpu.module @k as #gpu_async.cpu object: there is format=bin and format=fatbin only
// TOOLKIT: good.mlir:2:3: error: gpu.module @k as #gpu_async.cpu object: no linker in {{.*}}empty
// LINKER: good.mlir:2:3: error: gpu.module @k as #gpu_async.cpu object: no linker found; looked for ld.lld-22, ld.lld and ld in PATH
// BINARY: error: gpu.binary has no object that can be loaded

//--- good.mlir
module attributes {gpu.container_module} {
  gpu.module @k [#gpu_async.cpu] {
    memref.global "private" constant @table : memref<2xf32> = dense<[1.0, 2.0]>
    gpu.func @f(%x: memref<?xf32>, %v: f16, %n: index) workgroup(%w: memref<8xf32, #gpu.address_space<workgroup>>) kernel {
      %c0 = arith.constant 0 : index
      %i = gpu.global_id x
      %t = memref.get_global @table : memref<2xf32>
      %a = memref.load %t[%c0] : memref<2xf32>
      %s = math.sin %a : f32
      memref.store %s, %w[%c0] : memref<8xf32, #gpu.address_space<workgroup>>
      %b = memref.load %w[%c0] : memref<8xf32, #gpu.address_space<workgroup>>
      memref.store %b, %x[%i] : memref<?xf32>
      gpu.printf "%f\n", %b : f32
      %ok = arith.cmpi slt, %i, %n : index
      cf.assert %ok, "in range"
      gpu.return
    }
  }
}

//--- bad.mlir
module attributes {gpu.container_module} {
  // expected-error@+1 {{An error happened while serializing the module}}
  gpu.module @k [#gpu_async.cpu] {
    gpu.func @f() kernel {
      // expected-error@+1 {{is not supported by the cpu device yet}}
      nvvm.cp.async.commit.group
      gpu.return
    }
  }
}

// -----

module attributes {gpu.container_module} {
  // expected-error@+2 {{gpu.module @k as #gpu_async.cpu object: LLVM knows no processor 'i8086'}}
  // expected-error@+1 {{An error happened while serializing the module}}
  gpu.module @k [#gpu_async.cpu<chip = "i8086">] {
    gpu.func @f() kernel {
      gpu.return
    }
  }
}
