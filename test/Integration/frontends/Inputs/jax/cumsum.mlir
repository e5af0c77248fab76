#map = affine_map<(d0, d1) -> ()>
#map1 = affine_map<(d0, d1) -> (d0, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1 + d2)>
#map3 = affine_map<(d0, d1, d2) -> (d2)>
#map4 = affine_map<(d0, d1, d2) -> (d0, d1)>
module @jit_cumsum {
  func.func public @main(%arg0: tensor<7x50xf32>) -> tensor<7x50xf32> {
    %0 = call @cumsum(%arg0) : (tensor<7x50xf32>) -> tensor<7x50xf32>
    return %0 : tensor<7x50xf32>
  }
  func.func private @cumsum(%arg0: tensor<7x50xf32>) -> tensor<7x50xf32> {
    %0 = call @cumsum_0(%arg0) : (tensor<7x50xf32>) -> tensor<7x50xf32>
    return %0 : tensor<7x50xf32>
  }
  func.func private @cumsum_0(%arg0: tensor<7x50xf32>) -> tensor<7x50xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<f32>
    %0 = tensor.empty() : tensor<7x50xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_0 : tensor<f32>) outs(%0 : tensor<7x50xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<7x50xf32>
    %padded = tensor.pad %arg0 low[0, 49] high[0, 0] {
    ^bb0(%arg1: index, %arg2: index):
      tensor.yield %cst : f32
    } : tensor<7x50xf32> to tensor<7x99xf32>
    %2 = tensor.empty() : tensor<50xf32>
    %3 = linalg.generic {indexing_maps = [#map2, #map3, #map4], iterator_types = ["parallel", "parallel", "reduction"]} ins(%padded, %2 : tensor<7x99xf32>, tensor<50xf32>) outs(%1 : tensor<7x50xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %4 = arith.addf %out, %in : f32
      linalg.yield %4 : f32
    } -> tensor<7x50xf32>
    return %3 : tensor<7x50xf32>
  }
}
