#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
module {
  func.func @main(%arg0: tensor<1x12x14x14xf32>, %arg1: tensor<12x1x3x3xf32>) -> tensor<1x12x7x7xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0.33333333333333331 : f64
    %padded = tensor.pad %arg0 low[0, 0, 0, 0] high[0, 0, 1, 1] {
    ^bb0(%arg2: index, %arg3: index, %arg4: index, %arg5: index):
      tensor.yield %cst : f32
    } : tensor<1x12x14x14xf32> to tensor<1x12x15x15xf32>
    %0 = tensor.empty() : tensor<1x12x7x7xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<1x12x7x7xf32>) -> tensor<1x12x7x7xf32>
    %collapsed = tensor.collapse_shape %arg1 [[0, 1], [2], [3]] : tensor<12x1x3x3xf32> into tensor<12x3x3xf32>
    %2 = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%padded, %collapsed : tensor<1x12x15x15xf32>, tensor<12x3x3xf32>) outs(%1 : tensor<1x12x7x7xf32>) -> tensor<1x12x7x7xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<1x12x7x7xf32>) outs(%0 : tensor<1x12x7x7xf32>) {
    ^bb0(%in: f32, %out: f32):
      %4 = arith.truncf %cst_0 : f64 to f32
      %5 = arith.mulf %in, %4 : f32
      linalg.yield %5 : f32
    } -> tensor<1x12x7x7xf32>
    return %3 : tensor<1x12x7x7xf32>
  }
}
