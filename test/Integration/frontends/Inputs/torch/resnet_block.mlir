#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map1 = affine_map<(d0) -> (d0)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, 0, 0)>
module {
  func.func @main(%arg0: tensor<1x8x9x9xf32>, %arg1: tensor<8x8x3x3xf32>, %arg2: tensor<8xf32>, %arg3: tensor<8xf32>, %arg4: tensor<8xf32>, %arg5: tensor<8xf32>, %arg6: tensor<8x8x3x3xf32>, %arg7: tensor<8xf32>, %arg8: tensor<8xf32>, %arg9: tensor<8xf32>, %arg10: tensor<8xf32>) -> tensor<1x8x9x9xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 1.000000e-05 : f64
    %cst_1 = arith.constant 0.11785113019775793 : f64
    %padded = tensor.pad %arg0 low[0, 0, 1, 1] high[0, 0, 1, 1] {
    ^bb0(%arg11: index, %arg12: index, %arg13: index, %arg14: index):
      tensor.yield %cst : f32
    } : tensor<1x8x9x9xf32> to tensor<1x8x11x11xf32>
    %0 = tensor.empty() : tensor<1x8x9x9xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<1x8x9x9xf32>) -> tensor<1x8x9x9xf32>
    %2 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%padded, %arg1 : tensor<1x8x11x11xf32>, tensor<8x8x3x3xf32>) outs(%1 : tensor<1x8x9x9xf32>) -> tensor<1x8x9x9xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2 : tensor<1x8x9x9xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %out: f32):
      %25 = arith.truncf %cst_1 : f64 to f32
      %26 = arith.mulf %in, %25 : f32
      linalg.yield %26 : f32
    } -> tensor<1x8x9x9xf32>
    %4 = tensor.empty() : tensor<8xf32>
    %5 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel"]} ins(%arg5, %arg5 : tensor<8xf32>, tensor<8xf32>) outs(%4 : tensor<8xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %25 = arith.mulf %in, %in_10 : f32
      linalg.yield %25 : f32
    } -> tensor<8xf32>
    %expanded = tensor.expand_shape %arg4 [[0, 1, 2, 3]] output_shape [1, 8, 1, 1] : tensor<8xf32> into tensor<1x8x1x1xf32>
    %expanded_2 = tensor.expand_shape %5 [[0, 1, 2, 3]] output_shape [1, 8, 1, 1] : tensor<8xf32> into tensor<1x8x1x1xf32>
    %6 = tensor.empty() : tensor<1x8x1x1xf32>
    %7 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_2 : tensor<1x8x1x1xf32>) outs(%6 : tensor<1x8x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %25 = arith.truncf %cst_0 : f64 to f32
      %26 = arith.addf %in, %25 : f32
      linalg.yield %26 : f32
    } -> tensor<1x8x1x1xf32>
    %8 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%7 : tensor<1x8x1x1xf32>) outs(%6 : tensor<1x8x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %25 = math.rsqrt %in : f32
      linalg.yield %25 : f32
    } -> tensor<1x8x1x1xf32>
    %9 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%3, %expanded : tensor<1x8x9x9xf32>, tensor<1x8x1x1xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %25 = arith.subf %in, %in_10 : f32
      linalg.yield %25 : f32
    } -> tensor<1x8x9x9xf32>
    %10 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9, %8 : tensor<1x8x9x9xf32>, tensor<1x8x1x1xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %25 = arith.mulf %in, %in_10 : f32
      linalg.yield %25 : f32
    } -> tensor<1x8x9x9xf32>
    %expanded_3 = tensor.expand_shape %arg2 [[0, 1, 2, 3]] output_shape [1, 8, 1, 1] : tensor<8xf32> into tensor<1x8x1x1xf32>
    %11 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%10, %expanded_3 : tensor<1x8x9x9xf32>, tensor<1x8x1x1xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %25 = arith.mulf %in, %in_10 : f32
      linalg.yield %25 : f32
    } -> tensor<1x8x9x9xf32>
    %expanded_4 = tensor.expand_shape %arg3 [[0, 1, 2, 3]] output_shape [1, 8, 1, 1] : tensor<8xf32> into tensor<1x8x1x1xf32>
    %12 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%11, %expanded_4 : tensor<1x8x9x9xf32>, tensor<1x8x1x1xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %25 = arith.addf %in, %in_10 : f32
      linalg.yield %25 : f32
    } -> tensor<1x8x9x9xf32>
    %13 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%12 : tensor<1x8x9x9xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %out: f32):
      %25 = arith.cmpf ugt, %in, %cst : f32
      %26 = arith.select %25, %in, %cst : f32
      linalg.yield %26 : f32
    } -> tensor<1x8x9x9xf32>
    %padded_5 = tensor.pad %13 low[0, 0, 1, 1] high[0, 0, 1, 1] {
    ^bb0(%arg11: index, %arg12: index, %arg13: index, %arg14: index):
      tensor.yield %cst : f32
    } : tensor<1x8x9x9xf32> to tensor<1x8x11x11xf32>
    %14 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%padded_5, %arg6 : tensor<1x8x11x11xf32>, tensor<8x8x3x3xf32>) outs(%1 : tensor<1x8x9x9xf32>) -> tensor<1x8x9x9xf32>
    %15 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14 : tensor<1x8x9x9xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %out: f32):
      %25 = arith.truncf %cst_1 : f64 to f32
      %26 = arith.mulf %in, %25 : f32
      linalg.yield %26 : f32
    } -> tensor<1x8x9x9xf32>
    %16 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel"]} ins(%arg10, %arg10 : tensor<8xf32>, tensor<8xf32>) outs(%4 : tensor<8xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %25 = arith.mulf %in, %in_10 : f32
      linalg.yield %25 : f32
    } -> tensor<8xf32>
    %expanded_6 = tensor.expand_shape %arg9 [[0, 1, 2, 3]] output_shape [1, 8, 1, 1] : tensor<8xf32> into tensor<1x8x1x1xf32>
    %expanded_7 = tensor.expand_shape %16 [[0, 1, 2, 3]] output_shape [1, 8, 1, 1] : tensor<8xf32> into tensor<1x8x1x1xf32>
    %17 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_7 : tensor<1x8x1x1xf32>) outs(%6 : tensor<1x8x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %25 = arith.truncf %cst_0 : f64 to f32
      %26 = arith.addf %in, %25 : f32
      linalg.yield %26 : f32
    } -> tensor<1x8x1x1xf32>
    %18 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17 : tensor<1x8x1x1xf32>) outs(%6 : tensor<1x8x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %25 = math.rsqrt %in : f32
      linalg.yield %25 : f32
    } -> tensor<1x8x1x1xf32>
    %19 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%15, %expanded_6 : tensor<1x8x9x9xf32>, tensor<1x8x1x1xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %25 = arith.subf %in, %in_10 : f32
      linalg.yield %25 : f32
    } -> tensor<1x8x9x9xf32>
    %20 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%19, %18 : tensor<1x8x9x9xf32>, tensor<1x8x1x1xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %25 = arith.mulf %in, %in_10 : f32
      linalg.yield %25 : f32
    } -> tensor<1x8x9x9xf32>
    %expanded_8 = tensor.expand_shape %arg7 [[0, 1, 2, 3]] output_shape [1, 8, 1, 1] : tensor<8xf32> into tensor<1x8x1x1xf32>
    %21 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%20, %expanded_8 : tensor<1x8x9x9xf32>, tensor<1x8x1x1xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %25 = arith.mulf %in, %in_10 : f32
      linalg.yield %25 : f32
    } -> tensor<1x8x9x9xf32>
    %expanded_9 = tensor.expand_shape %arg8 [[0, 1, 2, 3]] output_shape [1, 8, 1, 1] : tensor<8xf32> into tensor<1x8x1x1xf32>
    %22 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%21, %expanded_9 : tensor<1x8x9x9xf32>, tensor<1x8x1x1xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %25 = arith.addf %in, %in_10 : f32
      linalg.yield %25 : f32
    } -> tensor<1x8x9x9xf32>
    %23 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%22, %arg0 : tensor<1x8x9x9xf32>, tensor<1x8x9x9xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %in_10: f32, %out: f32):
      %25 = arith.addf %in, %in_10 : f32
      linalg.yield %25 : f32
    } -> tensor<1x8x9x9xf32>
    %24 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%23 : tensor<1x8x9x9xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %out: f32):
      %25 = arith.cmpf ugt, %in, %cst : f32
      %26 = arith.select %25, %in, %cst : f32
      linalg.yield %26 : f32
    } -> tensor<1x8x9x9xf32>
    return %24 : tensor<1x8x9x9xf32>
  }
}
