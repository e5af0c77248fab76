// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names that assemblers do not take are changed, in the table too, and where they
// are used; the cpu device takes any.
// REQUIRES: lld
// RUN: gpu-opt %s -gpu-async-lower-kernels="targets=nvptx:sm_90,amdgcn:gfx90a ptxas=none libdevice=none rocm=none" -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: %python %S/Inputs/images.py %t.mlir %t
// RUN: FileCheck %s --check-prefix=PTX < %t-sm_90.ptx
// RUN: llvm-readelf --notes %t-gfx90a.hsaco | FileCheck %s --check-prefix=AMD
// RUN: %if ptxas %{ gpu-opt %s -gpu-async-lower-kernels="targets=nvptx:sm_90 libdevice=none" -o %t.cubin.mlir %}
// RUN: gpu-opt %s -gpu-async-lower-kernels=targets=cpu | FileCheck %s --check-prefix=CPU

// CHECK: gpu_async.binary @k kernels
// CHECK-SAME: #gpu_async.kernel<"a_b",
// CHECK-SAME: #gpu_async.kernel<"a_b_1",
// CHECK-SAME: #gpu_async.kernel<"a_b_0",
// CHECK-SAME: #gpu_async.kernel<"_1abc_",
// CHECK-SAME: #gpu_async.kernel<"___",
// CHECK-SAME: #gpu_async.kernel<"_WARP_SZ_",
// CHECK-SAME: #gpu_async.kernel<"_vprintf_",
// CHECK-SAME: #gpu_async.kernel<"llvm_x",
// CHECK-SAME: #gpu_async.kernel<"f$1",
// PTX-DAG: .visible .entry a_b(
// PTX-DAG: .visible .entry a_b_0(
// PTX-DAG: .visible .entry a_b_1(
// PTX-DAG: .visible .entry _1abc_(
// PTX-DAG: .visible .entry ___(
// PTX-DAG: .visible .entry _WARP_SZ_(
// PTX-DAG: .visible .entry _vprintf_(
// PTX-DAG: .visible .entry llvm_x(
// PTX-DAG: .visible .entry f$1(
// PTX-DAG: .global .align 4 .b8 _filename_[8]
// PTX-DAG: .global .align 4 .b8 g_g[8]
// AMD-DAG: .name: {{.*}}a_b{{$}}
// AMD-DAG: .name: {{.*}}a_b_0{{$}}
// AMD-DAG: .name: {{.*}}_1abc_{{$}}
// AMD-DAG: .name: {{.*}}___{{$}}
// CPU: gpu_async.binary @k kernels
// CPU-SAME: #gpu_async.kernel<"a.b",
// CPU-SAME: #gpu_async.kernel<"a-b",
// CPU-SAME: #gpu_async.kernel<"a_b_0",
// CPU-SAME: #gpu_async.kernel<"1abc",
module attributes {gpu.container_module} {
  gpu.module @k {
    memref.global "private" @filename : memref<2xf32, 1> = dense<[1.0, 2.0]>
    memref.global "private" @"g-g" : memref<2xf32, 1> = dense<[3.0, 4.0]>
    func.func private @"some.function"(%x: f32) -> f32 attributes {no_inline} {
      %y = arith.mulf %x, %x : f32
      return %y : f32
    }
    gpu.func @"a.b"(%x: memref<?xf32>, %i: index) kernel {
      %c0 = arith.constant 0 : index
      %a = memref.get_global @filename : memref<2xf32, 1>
      %b = memref.get_global @"g-g" : memref<2xf32, 1>
      %u = memref.load %a[%i] : memref<2xf32, 1>
      %v = memref.load %b[%i] : memref<2xf32, 1>
      %w = arith.addf %u, %v : f32
      %s = func.call @"some.function"(%w) : (f32) -> f32
      memref.store %s, %x[%c0] : memref<?xf32>
      gpu.return
    }
    gpu.func @"a-b"() kernel { gpu.return }
    gpu.func @a_b_0() kernel { gpu.return }
    gpu.func @"1abc"() kernel { gpu.return }
    gpu.func @"_"() kernel { gpu.return }
    gpu.func @WARP_SZ() kernel { gpu.return }
    gpu.func @vprintf() kernel { gpu.return }
    gpu.func @"llvm.x"() kernel { gpu.return }
    gpu.func @"f$1"() kernel { gpu.return }
  }
  // CHECK: gpu_async.launch on %{{.*}} @k::@a_b blocks
  // CHECK: gpu_async.launch on %{{.*}} @k::@a_b_1 blocks
  // CHECK: gpu_async.launch on %{{.*}} @k::@___ blocks
  // CPU: gpu_async.launch on %{{.*}} @k::@a.b blocks
  func.func @main(%x: memref<?xf32>) {
    %c1 = arith.constant 1 : index
    %s = gpu_async.stream.create
    gpu_async.launch on %s id(0) @k::@"a.b" blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>, %c1 : index)
    gpu_async.launch on %s id(1) @k::@"a-b" blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    gpu_async.launch on %s id(2) @k::@"_" blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    gpu_async.stream.synchronize %s
    gpu_async.stream.destroy %s idle
    return
  }
}
