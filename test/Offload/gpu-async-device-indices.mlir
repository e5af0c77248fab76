// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -gpu-async-device-indices=device=gpu | FileCheck %s --check-prefixes=CHECK,HOST
// RUN: gpu-opt %s -gpu-async-device-indices="device=gpu place=off" | FileCheck %s --check-prefixes=CHECK,DEVICE
// RUN: gpu-opt %s -gpu-async-device-indices | FileCheck %s --check-prefix=CPU
// RUN: gpu-opt %s -gpu-async-offload="device=gpu place=off offload=error" | FileCheck %s --check-prefix=KERNELS

// CPU-NOT: linalg.index
// CPU-NOT: scf.forall

#none = affine_map<() -> ()>

// The op of one element is an operand, so that fusion finds it.
// CHECK-LABEL: func.func @computed
// CHECK: %[[NEXT:.*]] = linalg.generic
// CHECK: linalg.generic {indexing_maps = [#{{.*}}, #{{.*}}], iterator_types = ["parallel"]} ins(%[[NEXT]] : tensor<i32>)
// CHECK-NEXT: ^bb0(%[[I:.*]]: i32, %{{.*}}: f32):
// CHECK-NEXT: %[[J:.*]] = linalg.index 0
// CHECK-NEXT: %[[AT:.*]] = arith.index_cast %[[I]] : i32 to index
// CHECK: %[[E:.*]] = tensor.extract %arg0[%[[AT]], %[[J]]] : tensor<6x5xf32>
// CHECK-NEXT: linalg.yield %[[E]]
// KERNELS-LABEL: func.func @computed
// KERNELS: gpu.launch
// KERNELS-NOT: {{memcpy|gpu.launch}}
// KERNELS: return
func.func @computed(%x: tensor<6x5xf32>, %i: tensor<i32>) -> tensor<5xf32> {
  %e = tensor.empty() : tensor<i32>
  %one = arith.constant 1 : i32
  %next = linalg.generic {indexing_maps = [#none, #none], iterator_types = []} ins(%i : tensor<i32>) outs(%e : tensor<i32>) {
  ^bb0(%a: i32, %o: i32):
    %sum = arith.addi %a, %one : i32
    linalg.yield %sum : i32
  } -> tensor<i32>
  %n = tensor.extract %next[] : tensor<i32>
  %at = arith.index_cast %n : i32 to index
  %s = tensor.extract_slice %x[%at, 0] [1, 5] [1, 1] : tensor<6x5xf32> to tensor<5xf32>
  return %s : tensor<5xf32>
}

// An array that is copied for a call is the host's, too.
// CHECK-LABEL: func.func @argument
// HOST: tensor.extract_slice %arg0
// HOST: tensor.insert_slice
// DEVICE: linalg.generic
// DEVICE: %[[W:.*]] = scf.forall (%[[A:.*]], %[[B:.*]]) in (2, 3) shared_outs(%[[O:.*]] = %arg0)
// DEVICE: %[[V:.*]] = tensor.extract %arg2[%[[A]], %[[B]]]
// DEVICE: %[[N:.*]] = tensor.extract %arg1[%c1
// DEVICE: %[[P:.*]] = arith.addi %{{.*}}, %[[A]]
// DEVICE: tensor.parallel_insert_slice %{{.*}} into %[[O]][%[[P]], %[[B]]] [1, 1] [1, 1]
// DEVICE: return %{{.*}}, %[[W]]
func.func @argument(%x: tensor<6x5xf32>, %i: tensor<2xi32>, %u: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<6x5xf32>) {
  %c1 = arith.constant 1 : index
  %n = tensor.extract %i[%c1] : tensor<2xi32>
  %at = arith.index_cast %n : i32 to index
  %s = tensor.extract_slice %x[%at, 1] [2, 3] [1, 1] : tensor<6x5xf32> to tensor<2x3xf32>
  %w = tensor.insert_slice %u into %x[%at, 0] [2, 3] [1, 1] : tensor<2x3xf32> into tensor<6x5xf32>
  return %s, %w : tensor<2x3xf32>, tensor<6x5xf32>
}

// A place that the host knows stays where it is; a size that the device knows is read.
// CHECK-LABEL: func.func @known
// CHECK: tensor.extract_slice %arg0[%arg1, 0] [2, 5] [1, 1]
// CHECK: tensor.extract_slice %arg0[0, 0] [%{{.*}}, 5] [1, 1]
// CHECK-NOT: linalg.index
// CHECK: return
func.func @known(%x: tensor<6x5xf32>, %at: index, %i: tensor<index>) -> (tensor<2x5xf32>, tensor<?x5xf32>) {
  %s = tensor.extract_slice %x[%at, 0] [2, 5] [1, 1] : tensor<6x5xf32> to tensor<2x5xf32>
  %n = tensor.extract %i[] : tensor<index>
  %t = tensor.extract_slice %x[0, 0] [%n, 5] [1, 1] : tensor<6x5xf32> to tensor<?x5xf32>
  return %s, %t : tensor<2x5xf32>, tensor<?x5xf32>
}

// RUN: gpu-opt %s -gpu-async-device-indices=device=gpu --remarks-filter=gpu-async-device-indices --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] SliceByDevice | Category:gpu-async-device-indices | Function=computed | slices=1{{$}}
