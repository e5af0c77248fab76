module @all_reduce {
  func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @gpu_async.collective.0(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  gpu_async.group @gpu_async.group.0 ranks [[0, 1]]
  func.func private @gpu_async.collective.0(%x: tensor<4xf32>) -> tensor<4xf32> {
    %e = tensor.empty() : tensor<4xf32>
    %r = gpu_async.tensor_collective all_reduce<sum> group(@gpu_async.group.0) ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>)
    return %r : tensor<4xf32>
  }
}
