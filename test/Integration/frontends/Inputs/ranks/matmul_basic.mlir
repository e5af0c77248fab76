// of 4 ranks, a mesh of x=2 x y=2
// argument 0: P('x', 'y')
// argument 1: P('y')
// result 0: P('x')
module @jit_matmul_basic {
  func.func public @main(%arg0: tensor<4x4xf32>, %arg1: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<4x4xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = linalg.matmul ins(%arg0, %arg1 : tensor<4x4xf32>, tensor<4x4xf32>) outs(%1 : tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = call @gpu_async.collective.0(%2) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %3 : tensor<4x4xf32>
  }
  gpu_async.group @gpu_async.group.0 ranks [[0, 1], [2, 3]]
  func.func private @gpu_async.collective.0(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
    %e = tensor.empty() : tensor<4x4xf32>
    %r = gpu_async.tensor_collective all_reduce<sum> group(@gpu_async.group.0) ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>)
    return %r : tensor<4x4xf32>
  }
}
