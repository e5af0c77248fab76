#map = affine_map<(d0, d1, d2, d3) -> ()>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d1, d2, d3, d0)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d0)>
#map4 = affine_map<(d0) -> ()>
#map5 = affine_map<(d0) -> (d0)>
#map6 = affine_map<(d0, d1, d2, d3) -> (d3)>
#map7 = affine_map<(d0, d1, d2, d3) -> (0, 0, 0, d3)>
#map8 = affine_map<() -> ()>
module @jit_batch_norm_training {
  func.func public @main(%arg0: tensor<8x24x24x16xf32>, %arg1: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
    %cst = arith.constant 1.35633682E-5 : f32
    %cst_0 = arith.constant 0.000000e+00 : f32
    %cst_1 = arith.constant dense<2.000000e+00> : tensor<f32>
    %cst_2 = arith.constant dense<4.608000e+03> : tensor<f32>
    %cst_3 = arith.constant dense<1.000000e+00> : tensor<f32>
    %0 = tensor.empty() : tensor<8x24x24x16xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_3 : tensor<f32>) outs(%0 : tensor<8x24x24x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<8x24x24x16xf32>
    %2 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0, %1 : tensor<8x24x24x16xf32>, tensor<8x24x24x16xf32>) outs(%0 : tensor<8x24x24x16xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %33 = arith.addf %in, %in_4 : f32
      linalg.yield %33 : f32
    } -> tensor<8x24x24x16xf32>
    %3 = tensor.empty() : tensor<16xf32>
    %4 = linalg.fill ins(%cst_0 : f32) outs(%3 : tensor<16xf32>) -> tensor<16xf32>
    %5 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel", "reduction", "reduction", "reduction"]} ins(%2 : tensor<8x24x24x16xf32>) outs(%4 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %33 = arith.addf %out, %in : f32
      linalg.yield %33 : f32
    } -> tensor<16xf32>
    %6 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["parallel"]} ins(%cst_2 : tensor<f32>) outs(%3 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16xf32>
    %7 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel"]} ins(%5, %6 : tensor<16xf32>, tensor<16xf32>) outs(%3 : tensor<16xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %33 = arith.divf %in, %in_4 : f32
      linalg.yield %33 : f32
    } -> tensor<16xf32>
    %8 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2, %2 : tensor<8x24x24x16xf32>, tensor<8x24x24x16xf32>) outs(%0 : tensor<8x24x24x16xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %33 = arith.mulf %in, %in_4 : f32
      linalg.yield %33 : f32
    } -> tensor<8x24x24x16xf32>
    %9 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel", "reduction", "reduction", "reduction"]} ins(%8 : tensor<8x24x24x16xf32>) outs(%4 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %33 = arith.addf %out, %in : f32
      linalg.yield %33 : f32
    } -> tensor<16xf32>
    %10 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel"]} ins(%9, %6 : tensor<16xf32>, tensor<16xf32>) outs(%3 : tensor<16xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %33 = arith.divf %in, %in_4 : f32
      linalg.yield %33 : f32
    } -> tensor<16xf32>
    %11 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel"]} ins(%7, %7 : tensor<16xf32>, tensor<16xf32>) outs(%3 : tensor<16xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %33 = arith.mulf %in, %in_4 : f32
      linalg.yield %33 : f32
    } -> tensor<16xf32>
    %12 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel"]} ins(%10, %11 : tensor<16xf32>, tensor<16xf32>) outs(%3 : tensor<16xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %33 = arith.subf %in, %in_4 : f32
      linalg.yield %33 : f32
    } -> tensor<16xf32>
    %13 = tensor.empty() : tensor<1x1x1x16xf32>
    %14 = linalg.generic {indexing_maps = [#map6, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%7 : tensor<16xf32>) outs(%13 : tensor<1x1x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x1x16xf32>
    %15 = linalg.generic {indexing_maps = [#map7, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14 : tensor<1x1x1x16xf32>) outs(%0 : tensor<8x24x24x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<8x24x24x16xf32>
    %16 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2, %15 : tensor<8x24x24x16xf32>, tensor<8x24x24x16xf32>) outs(%0 : tensor<8x24x24x16xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %33 = arith.subf %in, %in_4 : f32
      linalg.yield %33 : f32
    } -> tensor<8x24x24x16xf32>
    %17 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = ["parallel"]} ins(%12 : tensor<16xf32>) outs(%3 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %33 = math.rsqrt %in : f32
      linalg.yield %33 : f32
    } -> tensor<16xf32>
    %18 = linalg.generic {indexing_maps = [#map6, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17 : tensor<16xf32>) outs(%13 : tensor<1x1x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x1x16xf32>
    %19 = linalg.generic {indexing_maps = [#map7, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18 : tensor<1x1x1x16xf32>) outs(%0 : tensor<8x24x24x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<8x24x24x16xf32>
    %20 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16, %19 : tensor<8x24x24x16xf32>, tensor<8x24x24x16xf32>) outs(%0 : tensor<8x24x24x16xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %33 = arith.mulf %in, %in_4 : f32
      linalg.yield %33 : f32
    } -> tensor<8x24x24x16xf32>
    %21 = linalg.generic {indexing_maps = [#map6, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<16xf32>) outs(%13 : tensor<1x1x1x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x1x16xf32>
    %22 = linalg.generic {indexing_maps = [#map7, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%21 : tensor<1x1x1x16xf32>) outs(%0 : tensor<8x24x24x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<8x24x24x16xf32>
    %23 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%20, %22 : tensor<8x24x24x16xf32>, tensor<8x24x24x16xf32>) outs(%0 : tensor<8x24x24x16xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %33 = arith.mulf %in, %in_4 : f32
      linalg.yield %33 : f32
    } -> tensor<8x24x24x16xf32>
    %24 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_1 : tensor<f32>) outs(%0 : tensor<8x24x24x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<8x24x24x16xf32>
    %25 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%24, %23 : tensor<8x24x24x16xf32>, tensor<8x24x24x16xf32>) outs(%0 : tensor<8x24x24x16xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %33 = arith.mulf %in, %in_4 : f32
      linalg.yield %33 : f32
    } -> tensor<8x24x24x16xf32>
    %26 = tensor.empty() : tensor<f32>
    %27 = linalg.generic {indexing_maps = [#map8], iterator_types = []} outs(%26 : tensor<f32>) {
    ^bb0(%out: f32):
      linalg.yield %cst : f32
    } -> tensor<f32>
    %28 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%27 : tensor<f32>) outs(%0 : tensor<8x24x24x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<8x24x24x16xf32>
    %29 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%28, %25 : tensor<8x24x24x16xf32>, tensor<8x24x24x16xf32>) outs(%0 : tensor<8x24x24x16xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %33 = arith.mulf %in, %in_4 : f32
      linalg.yield %33 : f32
    } -> tensor<8x24x24x16xf32>
    %30 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%20, %29 : tensor<8x24x24x16xf32>, tensor<8x24x24x16xf32>) outs(%0 : tensor<8x24x24x16xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %33 = arith.mulf %in, %in_4 : f32
      linalg.yield %33 : f32
    } -> tensor<8x24x24x16xf32>
    %31 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel", "reduction", "reduction", "reduction"]} ins(%30 : tensor<8x24x24x16xf32>) outs(%4 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %33 = arith.addf %out, %in : f32
      linalg.yield %33 : f32
    } -> tensor<16xf32>
    %expanded = tensor.expand_shape %31 [[0, 1, 2, 3]] output_shape [1, 1, 1, 16] : tensor<16xf32> into tensor<1x1x1x16xf32>
    %32 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel", "reduction", "reduction", "reduction"]} ins(%expanded : tensor<1x1x1x16xf32>) outs(%4 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %33 = arith.addf %out, %in : f32
      linalg.yield %33 : f32
    } -> tensor<16xf32>
    return %7, %12, %32 : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
  }
}
