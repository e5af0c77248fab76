// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RUN: gpu-opt %s -split-input-file -gpu-async-split-reductions=device=sm_80 | FileCheck %s --check-prefix=WORDS
// RUN: gpu-opt %s -split-input-file -gpu-async-split-reductions=device=gpu | FileCheck %s --check-prefix=WHOLE
// WHOLE-NOT: tensor.expand_shape

// Products of f32 of few tiles, where copies go on behind the threads' back.
// WORDS-LABEL: func.func @words
// WORDS: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<128x16x192xf32>, tensor<16x192x768xf32>) outs(%{{.*}} : tensor<16x128x768xf32>)
// WORDS: linalg.generic {{.*}} outs(%{{.*}} : tensor<128x768xf32>)
func.func @words(%x: tensor<128x3072xf32>, %w: tensor<3072x768xf32>, %c: tensor<128x768xf32>) -> tensor<128x768xf32> {
  %p = linalg.matmul ins(%x, %w : tensor<128x3072xf32>, tensor<3072x768xf32>) outs(%c : tensor<128x768xf32>) -> tensor<128x768xf32>
  return %p : tensor<128x768xf32>
}

// -----

// No number of parts divides the steps: those that are left over are one more product, which
// the parts are added to.
// WORDS-LABEL: func.func @uneven
// WORDS-SAME: (%[[X:.*]]: tensor<128x50257xf32>, %[[W:.*]]: tensor<50257x768xf32>, %[[C:.*]]: tensor<128x768xf32>)
// WORDS-DAG: %[[RESTX:.*]] = tensor.extract_slice %[[X]][0, 50248] [128, 9]
// WORDS-DAG: %[[RESTW:.*]] = tensor.extract_slice %[[W]][50248, 0] [9, 768]
// WORDS-DAG: tensor.extract_slice %[[X]][0, 0] [128, 50248]
// WORDS: %[[REST:.*]] = linalg.{{.*}} ins(%[[RESTX]], %[[RESTW]] : {{.*}} outs(%[[C]]
// WORDS: linalg.generic {{.*}} outs(%{{.*}} : tensor<11x128x768xf32>)
// WORDS: linalg.generic {{.*}}%[[REST]] : {{.*}} outs(%{{.*}} : tensor<128x768xf32>)
func.func @uneven(%x: tensor<128x50257xf32>, %w: tensor<50257x768xf32>, %c: tensor<128x768xf32>) -> tensor<128x768xf32> {
  %p = linalg.matmul ins(%x, %w : tensor<128x50257xf32>, tensor<50257x768xf32>) outs(%c : tensor<128x768xf32>) -> tensor<128x768xf32>
  return %p : tensor<128x768xf32>
}
