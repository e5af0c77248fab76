// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arguments that stay on the device between calls, by the attribute or by
// --resident, and a constant of the program that the host reads, too.
// DEFINE: %{run} = gpu-runner --cache=off --repeat=3 --input=4xf32=1,2,3,4 --input=4xf32=10 --stats
// RUN: %{run} %s --device=cpu 2>&1 | FileCheck %s
// RUN: %{run} %s --device=cpu --resident=1 2>&1 | FileCheck %s
// RUN: gpu-runner --check %s --input=4xf32=1,2,3,4 --input=4xf32=10 --resident=0,1 | FileCheck %s --check-prefix=CHECKED
// Cut for a GPU, on the cpu device.
// RUN: gpu-opt --gpu-async-offload=device=gpu %s | %{run} - --device=cpu 2>&1 | FileCheck %s
// RUN: gpu-opt --gpu-async-offload=device=gpu %s | gpu-runner --check - --input=4xf32=1,2,3,4 --input=4xf32=10 | FileCheck %s --check-prefix=CHECKED
// CHECK: result[0]: 4xf32=18 37 56 75
// CHECK: result[1]: f32=8
// CHECK: "uploads": {"constants": 0, "residents": 0, "bytes": 0}
// CHECKED: result[0]: 4xf32=18 37 56 75

// An argument that no kernel of ours reads stays where it is.
// RUN: gpu-runner %s -e own --resident=0 --input=4xf32=5 2>&1 | FileCheck %s --check-prefix=OWN
// OWN: warning: argument 0 is to stay on the device (gpu_async.resident), but no kernel that is made of linalg ops, tensors or parallel loops reads it
// OWN: result[0]: f32=5

// RUN: not gpu-runner %s --resident=2 --input=4xf32 --input=4xf32 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: error: --resident=2: @main has 2 arguments, counted from 0
// RUN: not gpu-runner %s -e number --resident=0 --input=1 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: error: --resident=0: @number has 1 arguments, and this one is no array
// With --emit, too, they are those of one function.
// RUN: gpu-runner %s -e main --resident=1 --emit=mlir --targets=nvptx:sm_90 | FileCheck %s --check-prefix=TWO
// TWO-COUNT-2: llvm.call @gpuasync_resident
// RUN: not gpu-runner %s --resident=1 --emit=mlir 2>&1 | FileCheck %s --check-prefix=NAMES
// RUN: not gpu-runner %s --resident=1 -e own,main --emit=shared -o %t.so 2>&1 | FileCheck %s --check-prefix=NAMES
// RUN: not gpu-runner %s --resident=2 -e main --emit=object -o %t.o 2>&1 | FileCheck %s --check-prefix=RANGE
// NAMES: error: --resident: counts the arguments of one function: name it with -e
// RUN: not gpu-runner %s --resident=1-0 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not gpu-runner %s --resident=all 2>&1 | FileCheck %s --check-prefix=WORD
// WORD: error: --resident={{.*}}: expected numbers and ranges, as 0,3-5

func.func @main(%w: tensor<4xf32> {gpu_async.resident}, %x: tensor<4xf32>) -> (tensor<4xf32>, f32) {
  %b = arith.constant dense<[8.0, 17.0, 26.0, 35.0]> : tensor<4xf32>
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %p = arith.mulf %w, %x : tensor<4xf32>
  %r = arith.addf %p, %b : tensor<4xf32>
  %n = tensor.extract %b[%c0] : tensor<4xf32>
  return %r, %n : tensor<4xf32>, f32
}

func.func @own(%x: memref<4xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %y = gpu.alloc host_shared () : memref<4xf32>
  gpu.memcpy %y, %x : memref<4xf32>, memref<4xf32>
  %v = memref.load %y[%c0] : memref<4xf32>
  gpu.dealloc %y : memref<4xf32>
  return %v : f32
}

func.func @number(%x: f32) -> f32 {
  return %x : f32
}
