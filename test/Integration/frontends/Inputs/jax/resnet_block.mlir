#map = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d6, d0, d2 + d3, d4 + d5)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d0, d3, d5)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d6, d1, d2, d4)>
#map3 = affine_map<(d0, d1, d2, d3) -> ()>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d0, d1, 0, 0)>
#map6 = affine_map<(d0) -> (d0)>
#map7 = affine_map<(d0) -> ()>
module @jit_resnet_block {
  func.func public @main(%arg0: tensor<1x8x9x9xf32>, %arg1: tensor<8x8x3x3xf32>, %arg2: tensor<8xf32>, %arg3: tensor<8xf32>, %arg4: tensor<8xf32>, %arg5: tensor<8xf32>, %arg6: tensor<8x8x3x3xf32>, %arg7: tensor<8xf32>, %arg8: tensor<8xf32>, %arg9: tensor<8xf32>, %arg10: tensor<8xf32>) -> tensor<1x8x9x9xf32> {
    %cst = arith.constant dense<9.99999974E-6> : tensor<f32>
    %cst_0 = arith.constant dense<0.117851131> : tensor<f32>
    %cst_1 = arith.constant 0.000000e+00 : f32
    %padded = tensor.pad %arg0 low[0, 0, 1, 1] high[0, 0, 1, 1] {
    ^bb0(%arg11: index, %arg12: index, %arg13: index, %arg14: index):
      tensor.yield %cst_1 : f32
    } : tensor<1x8x9x9xf32> to tensor<1x8x11x11xf32>
    %0 = tensor.empty() : tensor<1x8x9x9xf32>
    %1 = linalg.fill ins(%cst_1 : f32) outs(%0 : tensor<1x8x9x9xf32>) -> tensor<1x8x9x9xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["reduction", "parallel", "parallel", "reduction", "parallel", "reduction", "parallel"]} ins(%padded, %arg1 : tensor<1x8x11x11xf32>, tensor<8x8x3x3xf32>) outs(%1 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %32 = arith.mulf %in, %in_8 : f32
      %33 = arith.addf %out, %32 : f32
      linalg.yield %33 : f32
    } -> tensor<1x8x9x9xf32>
    %3 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_0 : tensor<f32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x8x9x9xf32>
    %4 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2, %3 : tensor<1x8x9x9xf32>, tensor<1x8x9x9xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %32 = arith.mulf %in, %in_8 : f32
      linalg.yield %32 : f32
    } -> tensor<1x8x9x9xf32>
    %expanded = tensor.expand_shape %arg4 [[0, 1, 2, 3]] output_shape [1, 8, 1, 1] : tensor<8xf32> into tensor<1x8x1x1xf32>
    %5 = linalg.generic {indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded : tensor<1x8x1x1xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x8x9x9xf32>
    %6 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%4, %5 : tensor<1x8x9x9xf32>, tensor<1x8x9x9xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %32 = arith.subf %in, %in_8 : f32
      linalg.yield %32 : f32
    } -> tensor<1x8x9x9xf32>
    %7 = tensor.empty() : tensor<8xf32>
    %8 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel"]} ins(%arg5, %arg5 : tensor<8xf32>, tensor<8xf32>) outs(%7 : tensor<8xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %32 = arith.mulf %in, %in_8 : f32
      linalg.yield %32 : f32
    } -> tensor<8xf32>
    %9 = linalg.generic {indexing_maps = [#map7, #map6], iterator_types = ["parallel"]} ins(%cst : tensor<f32>) outs(%7 : tensor<8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<8xf32>
    %10 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel"]} ins(%8, %9 : tensor<8xf32>, tensor<8xf32>) outs(%7 : tensor<8xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %32 = arith.addf %in, %in_8 : f32
      linalg.yield %32 : f32
    } -> tensor<8xf32>
    %11 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel"]} ins(%10 : tensor<8xf32>) outs(%7 : tensor<8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %32 = math.rsqrt %in : f32
      linalg.yield %32 : f32
    } -> tensor<8xf32>
    %12 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel"]} ins(%arg2, %11 : tensor<8xf32>, tensor<8xf32>) outs(%7 : tensor<8xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %32 = arith.mulf %in, %in_8 : f32
      linalg.yield %32 : f32
    } -> tensor<8xf32>
    %expanded_2 = tensor.expand_shape %12 [[0, 1, 2, 3]] output_shape [1, 8, 1, 1] : tensor<8xf32> into tensor<1x8x1x1xf32>
    %13 = linalg.generic {indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_2 : tensor<1x8x1x1xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x8x9x9xf32>
    %14 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6, %13 : tensor<1x8x9x9xf32>, tensor<1x8x9x9xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %32 = arith.mulf %in, %in_8 : f32
      linalg.yield %32 : f32
    } -> tensor<1x8x9x9xf32>
    %expanded_3 = tensor.expand_shape %arg3 [[0, 1, 2, 3]] output_shape [1, 8, 1, 1] : tensor<8xf32> into tensor<1x8x1x1xf32>
    %15 = linalg.generic {indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_3 : tensor<1x8x1x1xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x8x9x9xf32>
    %16 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14, %15 : tensor<1x8x9x9xf32>, tensor<1x8x9x9xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %32 = arith.addf %in, %in_8 : f32
      linalg.yield %32 : f32
    } -> tensor<1x8x9x9xf32>
    %17 = call @relu(%16) : (tensor<1x8x9x9xf32>) -> tensor<1x8x9x9xf32>
    %padded_4 = tensor.pad %17 low[0, 0, 1, 1] high[0, 0, 1, 1] {
    ^bb0(%arg11: index, %arg12: index, %arg13: index, %arg14: index):
      tensor.yield %cst_1 : f32
    } : tensor<1x8x9x9xf32> to tensor<1x8x11x11xf32>
    %18 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["reduction", "parallel", "parallel", "reduction", "parallel", "reduction", "parallel"]} ins(%padded_4, %arg6 : tensor<1x8x11x11xf32>, tensor<8x8x3x3xf32>) outs(%1 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %32 = arith.mulf %in, %in_8 : f32
      %33 = arith.addf %out, %32 : f32
      linalg.yield %33 : f32
    } -> tensor<1x8x9x9xf32>
    %19 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18, %3 : tensor<1x8x9x9xf32>, tensor<1x8x9x9xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %32 = arith.mulf %in, %in_8 : f32
      linalg.yield %32 : f32
    } -> tensor<1x8x9x9xf32>
    %expanded_5 = tensor.expand_shape %arg9 [[0, 1, 2, 3]] output_shape [1, 8, 1, 1] : tensor<8xf32> into tensor<1x8x1x1xf32>
    %20 = linalg.generic {indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_5 : tensor<1x8x1x1xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x8x9x9xf32>
    %21 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%19, %20 : tensor<1x8x9x9xf32>, tensor<1x8x9x9xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %32 = arith.subf %in, %in_8 : f32
      linalg.yield %32 : f32
    } -> tensor<1x8x9x9xf32>
    %22 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel"]} ins(%arg10, %arg10 : tensor<8xf32>, tensor<8xf32>) outs(%7 : tensor<8xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %32 = arith.mulf %in, %in_8 : f32
      linalg.yield %32 : f32
    } -> tensor<8xf32>
    %23 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel"]} ins(%22, %9 : tensor<8xf32>, tensor<8xf32>) outs(%7 : tensor<8xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %32 = arith.addf %in, %in_8 : f32
      linalg.yield %32 : f32
    } -> tensor<8xf32>
    %24 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel"]} ins(%23 : tensor<8xf32>) outs(%7 : tensor<8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %32 = math.rsqrt %in : f32
      linalg.yield %32 : f32
    } -> tensor<8xf32>
    %25 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel"]} ins(%arg7, %24 : tensor<8xf32>, tensor<8xf32>) outs(%7 : tensor<8xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %32 = arith.mulf %in, %in_8 : f32
      linalg.yield %32 : f32
    } -> tensor<8xf32>
    %expanded_6 = tensor.expand_shape %25 [[0, 1, 2, 3]] output_shape [1, 8, 1, 1] : tensor<8xf32> into tensor<1x8x1x1xf32>
    %26 = linalg.generic {indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_6 : tensor<1x8x1x1xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x8x9x9xf32>
    %27 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%21, %26 : tensor<1x8x9x9xf32>, tensor<1x8x9x9xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %32 = arith.mulf %in, %in_8 : f32
      linalg.yield %32 : f32
    } -> tensor<1x8x9x9xf32>
    %expanded_7 = tensor.expand_shape %arg8 [[0, 1, 2, 3]] output_shape [1, 8, 1, 1] : tensor<8xf32> into tensor<1x8x1x1xf32>
    %28 = linalg.generic {indexing_maps = [#map5, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_7 : tensor<1x8x1x1xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x8x9x9xf32>
    %29 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%27, %28 : tensor<1x8x9x9xf32>, tensor<1x8x9x9xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %32 = arith.addf %in, %in_8 : f32
      linalg.yield %32 : f32
    } -> tensor<1x8x9x9xf32>
    %30 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%29, %arg0 : tensor<1x8x9x9xf32>, tensor<1x8x9x9xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %in_8: f32, %out: f32):
      %32 = arith.addf %in, %in_8 : f32
      linalg.yield %32 : f32
    } -> tensor<1x8x9x9xf32>
    %31 = call @relu(%30) : (tensor<1x8x9x9xf32>) -> tensor<1x8x9x9xf32>
    return %31 : tensor<1x8x9x9xf32>
  }
  func.func private @relu(%arg0: tensor<1x8x9x9xf32>) -> tensor<1x8x9x9xf32> {
    %cst = arith.constant dense<0.000000e+00> : tensor<f32>
    %0 = tensor.empty() : tensor<1x8x9x9xf32>
    %1 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst : tensor<f32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x8x9x9xf32>
    %2 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0, %1 : tensor<1x8x9x9xf32>, tensor<1x8x9x9xf32>) outs(%0 : tensor<1x8x9x9xf32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %3 = arith.maximumf %in, %in_0 : f32
      linalg.yield %3 : f32
    } -> tensor<1x8x9x9xf32>
    return %2 : tensor<1x8x9x9xf32>
  }
}
