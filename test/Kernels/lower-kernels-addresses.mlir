// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Upstream's lowering of accesses says that their indices are no negative
// numbers, and what it makes of views that their strides do not wrap. Neither is
// left for LLVM; what the program says itself is.
// RUN: gpu-opt %s -gpu-async-lower-kernels=targets=cpu | FileCheck %s
// RUN: gpu-opt %s -gpu-async-lower-kernels="targets=nvptx:sm_90 ptxas=none libdevice=none" --mlir-print-ir-after-all -o %t 2>&1 | FileCheck %s --check-prefixes=GPU,CHECK
// RUN: %if lld %{ gpu-opt %s -gpu-async-lower-kernels="targets=amdgcn:gfx90a rocm=none" --mlir-print-ir-after-all -o %t 2>&1 | FileCheck %s --check-prefixes=GPU,CHECK %}
// RUN: gpu-opt %s -gpu-async-pipeline=targets=cpu | FileCheck %s --check-prefix=HOST

// GPU: IR Dump After WeakenAddresses (gpu-async-weaken-addresses)
// CHECK: llvm.func{{.*}} @{{(k_)?}}f
// CHECK-NOT: overflow
// CHECK: llvm.mul {{.*}} overflow<nuw> : i64
// CHECK-NOT: overflow
// CHECK: llvm.getelementptr nusw %
// CHECK: llvm.load
// CHECK-NOT: overflow
// CHECK: llvm.getelementptr nusw %
// CHECK: llvm.store
// CHECK: llvm.return

// HOST-LABEL: llvm.func @g(
// HOST-NOT: overflow
// HOST: llvm.mul {{.*}} overflow<nuw> : i64
// HOST-NOT: overflow
// HOST: llvm.getelementptr nusw %
// HOST: llvm.load
// HOST-NOT: overflow
// HOST: llvm.getelementptr nusw %
// HOST: llvm.store
// HOST: llvm.return
!view = memref<?x?xf32, strided<[?, ?], offset: ?>>
module attributes {gpu.container_module} {
  func.func @g(%x: !view, %i: index, %j: index) {
    %k = arith.muli %i, %j overflow<nuw> : index
    %s = memref.subview %x[%i, %j] [%i, %j] [%j, %i] : !view to !view
    %v = memref.load %s[%k, %j] : !view
    memref.store %v, %s[%j, %i] : !view
    return
  }
  gpu.module @k {
    gpu.func @f(%x: !view, %i: index, %j: index) kernel {
      %k = arith.muli %i, %j overflow<nuw> : index
      %s = memref.subview %x[%i, %j] [%i, %j] [%j, %i] : !view to !view
      %v = memref.load %s[%k, %j] : !view
      memref.store %v, %s[%j, %i] : !view
      gpu.return
    }
  }
}
