#map = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d7, d0, d1, d3 * 2 + d4, d5 * 2 + d6)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d2, d1, d4, d6)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d7, d0, d2, d3, d5)>
#map3 = affine_map<(d0, d1, d2, d3) -> ()>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
module @jit_depthwise {
  func.func public @main(%arg0: tensor<1x12x14x14xf32>, %arg1: tensor<12x1x3x3xf32>) -> tensor<1x12x7x7xf32> {
    %cst = arith.constant dense<0.333333343> : tensor<f32>
    %cst_0 = arith.constant 0.000000e+00 : f32
    %padded = tensor.pad %arg0 low[0, 0, 0, 0] high[0, 0, 1, 1] {
    ^bb0(%arg2: index, %arg3: index, %arg4: index, %arg5: index):
      tensor.yield %cst_0 : f32
    } : tensor<1x12x14x14xf32> to tensor<1x12x15x15xf32>
    %expanded = tensor.expand_shape %padded [[0], [1], [2, 3], [4]] output_shape [1, 12, 1, 15, 15] : tensor<1x12x15x15xf32> into tensor<1x12x1x15x15xf32>
    %expanded_1 = tensor.expand_shape %arg1 [[0], [1], [2, 3], [4]] output_shape [12, 1, 1, 3, 3] : tensor<12x1x3x3xf32> into tensor<12x1x1x3x3xf32>
    %0 = tensor.empty() : tensor<1x12x1x7x7xf32>
    %1 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<1x12x1x7x7xf32>) -> tensor<1x12x1x7x7xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "reduction", "parallel", "parallel", "reduction", "parallel", "reduction", "parallel"]} ins(%expanded, %expanded_1 : tensor<1x12x1x15x15xf32>, tensor<12x1x1x3x3xf32>) outs(%1 : tensor<1x12x1x7x7xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %6 = arith.mulf %in, %in_2 : f32
      %7 = arith.addf %out, %6 : f32
      linalg.yield %7 : f32
    } -> tensor<1x12x1x7x7xf32>
    %collapsed = tensor.collapse_shape %2 [[0], [1], [2, 3], [4]] : tensor<1x12x1x7x7xf32> into tensor<1x12x7x7xf32>
    %3 = tensor.empty() : tensor<1x12x7x7xf32>
    %4 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst : tensor<f32>) outs(%3 : tensor<1x12x7x7xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x12x7x7xf32>
    %5 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%collapsed, %4 : tensor<1x12x7x7xf32>, tensor<1x12x7x7xf32>) outs(%3 : tensor<1x12x7x7xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %6 = arith.mulf %in, %in_2 : f32
      linalg.yield %6 : f32
    } -> tensor<1x12x7x7xf32>
    return %5 : tensor<1x12x7x7xf32>
  }
}
