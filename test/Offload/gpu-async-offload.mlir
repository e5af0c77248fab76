// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The passes of the pipeline in order, those inside of gpu-async-for-offloaded before
// it, and upstream's inside of ours.
// DEFINE: %{list} = --mlir-print-ir-after-all --mlir-disable-threading -o %t.mlir 2>&1 | grep "IR Dump After" | sed -e "s/.*(//" -e "s/[) ].*//"
// RUN: gpu-opt %s --gpu-async-offload="device=cpu donate blas=auto" %{list} > %t.passes
// RUN: FileCheck %s --input-file=%t.passes
// RUN: gpu-opt %s --gpu-async-offload="device=gpu" %{list} | FileCheck %s --check-prefix=GPU --implicit-check-not=call-products --implicit-check-not=launch-loops --implicit-check-not=take-donated
// GPU: gpu-async-launch-tiles
// GPU-NEXT: gpu-async-place-memory

// With offload=off there is one pass.
// RUN: gpu-opt %s --gpu-async-offload=offload=off %{list} | FileCheck %s --check-prefix=OFF
// OFF: {{^}}gpu-async-refuse-constant-writes{{$}}
// OFF-NOT: {{.}}

// Passes on functions run on functions with work for kernels only.
// RUN: echo "func.func @f() { return }" | gpu-opt --gpu-async-offload %{list} | FileCheck %s --check-prefix=NONE --implicit-check-not=canonicalize
// NONE: gpu-async-mark-offloaded

// CHECK: {{^}}gpu-async-refuse-constant-writes{{$}}
// CHECK-NEXT: {{^}}gpu-async-mark-offloaded{{$}}
// CHECK-NEXT: {{^}}gpu-async-check-tensors{{$}}
// CHECK-NEXT: {{^}}gpu-async-structure-offloaded{{$}}
// CHECK-NEXT: {{^}}gpu-async-inline-calls{{$}}
// CHECK-NEXT: {{^}}symbol-dce{{$}}
// CHECK-NEXT: {{^}}gpu-async-for-offloaded{{$}}
// CHECK-NEXT: {{^}}gpu-async-mark-offloaded{{$}}
// CHECK-NEXT: {{^}}gpu-async-check-signatures{{$}}
// CHECK-NEXT: {{^}}gpu-async-avoid-faults{{$}}
// CHECK-NEXT: {{^}}gpu-async-for-offloaded{{$}}
// CHECK-NEXT: {{^}}gpu-async-mark-own-memory{{$}}
// CHECK-NEXT: {{^}}gpu-async-lower-tensor-ops{{$}}
// CHECK-NEXT: {{^}}lower-affine{{$}}
// CHECK-NEXT: {{^}}gpu-async-canonicalize{{$}}
// CHECK-NEXT: {{^}}cse{{$}}
// CHECK-NEXT: {{^}}gpu-async-reduce-parallel-loops{{$}}
// CHECK-NEXT: {{^}}gpu-async-host-scalars{{$}}
// CHECK-NEXT: {{^}}gpu-async-canonicalize{{$}}
// CHECK-NEXT: {{^}}gpu-async-device-indices{{$}}
// CHECK-NEXT: {{^}}gpu-async-hoist-invariants{{$}}
// CHECK-NEXT: {{^}}gpu-async-fuse-elementwise{{$}}
// CHECK-NEXT: {{^}}gpu-async-canonicalize{{$}}
// CHECK-NEXT: {{^}}gpu-async-split-reductions{{$}}
// CHECK-NEXT: {{^}}gpu-async-form-groups{{$}}
// CHECK-NEXT: {{^}}gpu-async-canonicalize{{$}}
// CHECK-NEXT: {{^}}cse{{$}}
// CHECK-NEXT: {{^}}gpu-async-return-by-destination{{$}}
// CHECK-NEXT: {{^}}empty-tensor-to-alloc-tensor{{$}}
// CHECK-NEXT: {{^}}gpu-async-for-offloaded{{$}}
// CHECK-NEXT: {{^}}one-shot-bufferize{{$}}
// CHECK-NEXT: {{^}}gpu-async-bufferize{{$}}
// CHECK-NEXT: {{^}}gpu-async-canonicalize{{$}}
// CHECK-NEXT: {{^}}gpu-async-compute-in-results{{$}}
// CHECK-NEXT: {{^}}gpu-async-for-offloaded{{$}}
// CHECK-NEXT: {{^}}ownership-based-buffer-deallocation{{$}}
// CHECK-NEXT: {{^}}gpu-async-deallocate{{$}}
// CHECK-NEXT: {{^}}gpu-async-canonicalize{{$}}
// CHECK-NEXT: {{^}}buffer-deallocation-simplification{{$}}
// CHECK-NEXT: {{^}}gpu-async-for-offloaded{{$}}
// CHECK-NEXT: {{^}}bufferization-lower-deallocations{{$}}
// CHECK-NEXT: {{^}}convert-bufferization-to-memref{{$}}
// CHECK-NEXT: {{^}}gpu-async-for-offloaded{{$}}
// CHECK-NEXT: {{^}}gpu-async-canonicalize{{$}}
// CHECK-NEXT: {{^}}cse{{$}}
// CHECK-NEXT: {{^}}gpu-async-canonicalize{{$}}
// CHECK-NEXT: {{^}}gpu-async-take-donated{{$}}
// CHECK-NEXT: {{^}}gpu-async-for-offloaded{{$}}
// CHECK-NEXT: {{^}}gpu-async-call-products{{$}}
// CHECK-NEXT: {{^}}gpu-async-find-accesses-by-address{{$}}
// CHECK-NEXT: {{^}}gpu-async-launch-tiles{{$}}
// CHECK-NEXT: {{^}}gpu-async-canonicalize{{$}}
// CHECK-NEXT: {{^}}gpu-async-launch-loops{{$}}
// CHECK-NEXT: {{^}}gpu-async-place-memory{{$}}
// CHECK-NEXT: {{^}}lower-affine{{$}}
// CHECK-NEXT: {{^}}gpu-async-canonicalize{{$}}
// CHECK-NEXT: {{^}}cse{{$}}
// CHECK-NEXT: {{^}}loop-invariant-code-motion{{$}}
// CHECK-NEXT: {{^}}gpu-async-hoist-library-queries{{$}}
// CHECK-NEXT: {{^}}gpu-async-for-offloaded{{$}}
// CHECK-NEXT: {{^}}gpu-async-report-host-work{{$}}
// CHECK-NOT: {{.}}

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = math.exp %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
