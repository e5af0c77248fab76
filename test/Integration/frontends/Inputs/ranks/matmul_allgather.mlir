// of 4 ranks, a mesh of i=4
// argument 0: P('i')
// argument 1: P('i')
// result 0: P('i')
module @jit_matmul_allgather {
  func.func public @main(%arg0: tensor<2x8xf32>, %arg1: tensor<2x4xf32>) -> tensor<2x4xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %0 = call @gpu_async.collective.0(%arg1) : (tensor<2x4xf32>) -> tensor<8x4xf32>
    %1 = tensor.empty() : tensor<2x4xf32>
    %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<2x4xf32>) -> tensor<2x4xf32>
    %3 = linalg.matmul ins(%arg0, %0 : tensor<2x8xf32>, tensor<8x4xf32>) outs(%2 : tensor<2x4xf32>) -> tensor<2x4xf32>
    return %3 : tensor<2x4xf32>
  }
  gpu_async.group @gpu_async.group.0 ranks [[0, 1, 2, 3]]
  func.func private @gpu_async.collective.0(%x: tensor<2x4xf32>) -> tensor<8x4xf32> {
    %e = tensor.empty() : tensor<8x4xf32>
    %r = gpu_async.tensor_collective all_gather group(@gpu_async.group.0) ins(%x : tensor<2x4xf32>) outs(%e : tensor<8x4xf32>)
    return %r : tensor<8x4xf32>
  }
}
