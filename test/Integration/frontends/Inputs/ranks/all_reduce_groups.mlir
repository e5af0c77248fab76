module @all_reduce_groups {
  func.func @main(%arg0: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
    %0 = call @gpu_async.collective.0(%arg0) : (tensor<2xf32>) -> tensor<2xf32>
    %1 = call @gpu_async.collective.1(%arg0) : (tensor<2xf32>) -> tensor<2xf32>
    %2 = call @gpu_async.collective.2(%arg0) : (tensor<2xf32>) -> tensor<2xf32>
    return %0, %1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  }
  gpu_async.group @gpu_async.group.0 ranks [[0, 1, 2, 3]]
  gpu_async.group @gpu_async.group.1 ranks [[0, 1], [2, 3]]
  gpu_async.group @gpu_async.group.2 ranks [[3, 0], [1, 2]]
  func.func private @gpu_async.collective.0(%x: tensor<2xf32>) -> tensor<2xf32> {
    %e = tensor.empty() : tensor<2xf32>
    %r = gpu_async.tensor_collective all_reduce<sum> group(@gpu_async.group.0) ins(%x : tensor<2xf32>) outs(%e : tensor<2xf32>)
    return %r : tensor<2xf32>
  }
  func.func private @gpu_async.collective.1(%x: tensor<2xf32>) -> tensor<2xf32> {
    %e = tensor.empty() : tensor<2xf32>
    %r = gpu_async.tensor_collective all_reduce<sum> group(@gpu_async.group.1) ins(%x : tensor<2xf32>) outs(%e : tensor<2xf32>)
    return %r : tensor<2xf32>
  }
  func.func private @gpu_async.collective.2(%x: tensor<2xf32>) -> tensor<2xf32> {
    %e = tensor.empty() : tensor<2xf32>
    %r = gpu_async.tensor_collective all_reduce<max> group(@gpu_async.group.2) ins(%x : tensor<2xf32>) outs(%e : tensor<2xf32>)
    return %r : tensor<2xf32>
  }
}
