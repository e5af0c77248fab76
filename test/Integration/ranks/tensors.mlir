// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Collectives of tensors, with kernels of linalg around them.
// DEFINE: %{run} = gpu-runner %s --ranks=4 --device=cpu --leak-check=error --offload=error
// RUN: %{run} -e between --input=2xf32=1,%r | FileCheck %s --check-prefix=BETWEEN
// RUN: %{run} -e between --input=2xf32=1,%r --play=graph --repeat=3 | FileCheck %s --check-prefix=BETWEEN
// RUN: %{run} -e between --input=2xf32=1,%r --play=streams -O0 | FileCheck %s --check-prefix=BETWEEN
// RUN: gpu-opt %s --gpu-async-offload=device=gpu | gpu-runner - --ranks=4 --device=cpu --leak-check=error -e between --input=2xf32=1,%r | FileCheck %s --check-prefix=BETWEEN
// RUN: %{run} -e kinds --input=4xi32=1,%r,5,-1 | FileCheck %s --check-prefix=KINDS
// RUN: %{run} -e rounds --input=3 --input=2xf32=1,%r | FileCheck %s --check-prefix=ROUNDS
// RUN: %{run} -e rounds --input=0 --input=2xf32=1,%r | FileCheck %s --check-prefix=NOROUNDS
// RUN: %{run} -e part --input=2x3xi32=1,2,3,%r,5,6 | FileCheck %s --check-prefix=PART
// RUN: %{run} -e open --input=2xf32=1,%r | FileCheck %s --check-prefix=OPEN
// With one rank the source is the destination.
// RUN: gpu-runner %s --device=cpu -e rounds --input=3 --input=2xf32=1,5 | FileCheck %s --check-prefix=ONE
// RUN: not gpu-runner %s --device=cpu -e between --input=2xf32=1,5 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: not gpu-runner %s --device=cpu -e between --input=2xf32=1,5 --offload=off 2>&1 | FileCheck %s --check-prefix=OFF
// WRONG: tensors.mlir:{{.*}}: error: gpu_async.collective: {{.*}}: group @rows is of 4 ranks, and the program runs on 1
// OFF: tensors.mlir:{{.*}}: error: 'func.func' op works on tensors; the pipeline takes programs on memrefs

gpu_async.group @rows grid [2, 2] axes [1]
gpu_async.group @columns grid [2, 2] axes [0]

// Squares are added up along a row. Then each rank adds its own numbers.
// BETWEEN:      rank 0:
// BETWEEN-NEXT: result{{.}}0{{.}}: 2x2xf32=[-3 -1][-3 -15]
// BETWEEN-NEXT: rank 1:
// BETWEEN-NEXT: result{{.}}0{{.}}: 2x2xf32=[-3 -2][-3 -16]
// BETWEEN-NEXT: rank 2:
// BETWEEN-NEXT: result{{.}}0{{.}}: 2x2xf32=[-3 -1][-3 -15]
// BETWEEN-NEXT: rank 3:
// BETWEEN-NEXT: result{{.}}0{{.}}: 2x2xf32=[-3 -2][-3 -16]
func.func @between(%x: tensor<2xf32>) -> tensor<2x2xf32> {
  %square = arith.mulf %x, %x : tensor<2xf32>
  %e = tensor.empty() : tensor<2xf32>
  %sum = gpu_async.tensor_collective all_reduce<sum> group(@rows) ins(%square : tensor<2xf32>) outs(%e : tensor<2xf32>)
  %y = arith.addf %sum, %x : tensor<2xf32>
  %row = tensor.expand_shape %y [[0, 1]] output_shape [1, 2] : tensor<2xf32> into tensor<1x2xf32>
  %f = tensor.empty() : tensor<2x2xf32>
  %all = gpu_async.tensor_collective all_gather group(@columns) ins(%row : tensor<1x2xf32>) outs(%f : tensor<2x2xf32>)
  %r = arith.negf %all : tensor<2x2xf32>
  return %r : tensor<2x2xf32>
}

// KINDS:      rank 0:
// KINDS-NEXT: result{{.}}0{{.}}: 1xi32=4
// KINDS-NEXT: result{{.}}1{{.}}: 4xi32=1 1 1 1
// KINDS-NEXT: result{{.}}2{{.}}: 4xi32=1 2 5 -1
// KINDS-NEXT: result{{.}}3{{.}}: 4xi32=1 3 5 -1
// KINDS-NEXT: rank 1:
// KINDS-NEXT: result{{.}}0{{.}}: 1xi32=6
// KINDS-NEXT: result{{.}}1{{.}}: 4xi32=0 1 2 3
// KINDS-NEXT: result{{.}}2{{.}}: 4xi32=1 2 5 -1
// KINDS-NEXT: result{{.}}3{{.}}: 4xi32=1 0 5 -1
// KINDS-NEXT: rank 2:
// KINDS-NEXT: result{{.}}0{{.}}: 1xi32=20
// KINDS-NEXT: result{{.}}1{{.}}: 4xi32=5 5 5 5
// KINDS-NEXT: result{{.}}2{{.}}: 4xi32=1 2 5 -1
// KINDS-NEXT: result{{.}}3{{.}}: 4xi32=0 0 0 0
// KINDS-NEXT: rank 3:
// KINDS-NEXT: result{{.}}0{{.}}: 1xi32=-4
// KINDS-NEXT: result{{.}}1{{.}}: 4xi32=-1 -1 -1 -1
func.func @kinds(%x: tensor<4xi32>) -> (tensor<1xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) {
  %one = tensor.empty() : tensor<1xi32>
  %e = tensor.empty() : tensor<4xi32>
  %0 = gpu_async.tensor_collective reduce_scatter<sum> ins(%x : tensor<4xi32>) outs(%one : tensor<1xi32>)
  %1 = gpu_async.tensor_collective all_to_all ins(%x : tensor<4xi32>) outs(%e : tensor<4xi32>)
  %2 = gpu_async.tensor_collective broadcast<2> ins(%x : tensor<4xi32>) outs(%e : tensor<4xi32>)
  %3 = gpu_async.tensor_collective permute<[[0, 1], [3, 0]]> ins(%x : tensor<4xi32>) outs(%e : tensor<4xi32>)
  return %0, %1, %2, %3 : tensor<1xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
}

// Each round adds a quarter of the sum over all ranks, which doubles the sum.
// ROUNDS:      rank 0:
// ROUNDS-NEXT: result{{.}}0{{.}}: 2xf32=8 10.5
// ROUNDS-NEXT: rank 1:
// ROUNDS-NEXT: result{{.}}0{{.}}: 2xf32=8 11.5
// NOROUNDS:      rank 0:
// NOROUNDS-NEXT: result{{.}}0{{.}}: 2xf32=1 0
// ONE: result{{.}}0{{.}}: 2xf32=1.953125 9.765625
func.func @rounds(%n: index, %x: tensor<2xf32>) -> tensor<2xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %quarter = arith.constant dense<0.25> : tensor<2xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%v = %x) -> tensor<2xf32> {
    %s = gpu_async.tensor_collective all_reduce<sum> ins(%v : tensor<2xf32>) outs(%v : tensor<2xf32>)
    %q = arith.mulf %s, %quarter : tensor<2xf32>
    %t = arith.addf %v, %q : tensor<2xf32>
    scf.yield %t : tensor<2xf32>
  }
  return %r : tensor<2xf32>
}

// A part of a tensor as source, and another one as destination.
// PART:      rank 0:
// PART-NEXT: result{{.}}0{{.}}: 2x3xi32=[8 12 3][20 24 6]
// PART-NEXT: rank 1:
// PART-NEXT: result{{.}}0{{.}}: 2x3xi32=[8 12 3][20 24 6]
func.func @part(%x: tensor<2x3xi32>) -> tensor<2x3xi32> {
  %from = tensor.extract_slice %x[0, 1] [2, 2] [1, 1] : tensor<2x3xi32> to tensor<2x2xi32>
  %to = tensor.extract_slice %x[0, 0] [2, 2] [1, 1] : tensor<2x3xi32> to tensor<2x2xi32>
  %sum = gpu_async.tensor_collective all_reduce<sum> ins(%from : tensor<2x2xi32>) outs(%to : tensor<2x2xi32>)
  %r = tensor.insert_slice %sum into %x[0, 0] [2, 2] [1, 1] : tensor<2x2xi32> into tensor<2x3xi32>
  return %r : tensor<2x3xi32>
}

// Sizes that are known at run time only.
// OPEN:      rank 0:
// OPEN-NEXT: result{{.}}0{{.}}: 8xf32=-1 -0 -1 -1 -1 -2 -1 -3
func.func @open(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = gpu_async.size
  %size = tensor.dim %x, %c0 : tensor<?xf32>
  %all = arith.muli %n, %size : index
  %e = tensor.empty(%all) : tensor<?xf32>
  %g = gpu_async.tensor_collective all_gather ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>)
  %r = arith.negf %g : tensor<?xf32>
  return %r : tensor<?xf32>
}
