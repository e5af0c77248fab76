#map = affine_map<(d0, d1, d2, d3) -> (d2)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d3)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d2, 0)>
module {
  func.func @main(%arg0: tensor<2x3x5x7xf32>) -> (tensor<2x3x8x11xf32>, tensor<2x3x8x11xf32>, tensor<2x3x8x11xf32>) {
    %cst = arith.constant dense<[0.000000e+00, 0.454545438, 0.0909090042, 0.727272749, 0.363636255, 0.000000e+00, 0.636363506, 2.727270e-01, 0.909090995, 0.545454502, 0.181818008]> : tensor<11xf32>
    %cst_0 = arith.constant dense<[1.000000e+00, 0.545454562, 0.909090995, 0.272727251, 0.636363745, 1.000000e+00, 0.363636494, 7.272730e-01, 0.0909090042, 0.454545498, 8.181820e-01]> : tensor<11xf32>
    %cst_1 = arith.constant dense<[[0.000000e+00], [4.375000e-01], [6.250000e-02], [6.875000e-01], [3.125000e-01], [9.375000e-01], [5.625000e-01], [1.875000e-01]]> : tensor<8x1xf32>
    %cst_2 = arith.constant dense<[[1.000000e+00], [5.625000e-01], [9.375000e-01], [3.125000e-01], [6.875000e-01], [6.250000e-02], [4.375000e-01], [8.125000e-01]]> : tensor<8x1xf32>
    %cst_3 = arith.constant dense<[1, 1, 2, 2, 3, 4, 4, 5, 5, 6, 6]> : tensor<11xi64>
    %cst_4 = arith.constant dense<[0, 0, 1, 1, 2, 3, 3, 4, 4, 5, 6]> : tensor<11xi64>
    %cst_5 = arith.constant dense<[1, 1, 2, 2, 3, 3, 4, 4]> : tensor<8xi64>
    %cst_6 = arith.constant dense<[0, 0, 1, 1, 2, 2, 3, 4]> : tensor<8xi64>
    %cst_7 = arith.constant dense<[0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 6]> : tensor<11xi64>
    %cst_8 = arith.constant dense<[0, 0, 1, 2, 2, 3, 4, 4]> : tensor<8xi64>
    %cst_9 = arith.constant dense<[0, 0, 1, 1, 2, 3, 3, 4, 5, 5, 6]> : tensor<11xi64>
    %cst_10 = arith.constant dense<[0, 0, 1, 1, 2, 3, 3, 4]> : tensor<8xi64>
    %0 = tensor.empty() : tensor<2x3x8x7xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_10 : tensor<8xi64>) outs(%0 : tensor<2x3x8x7xf32>) {
    ^bb0(%in: i64, %out: f32):
      %16 = arith.index_cast %in : i64 to index
      %17 = linalg.index 0 : index
      %18 = linalg.index 1 : index
      %19 = linalg.index 3 : index
      %extracted = tensor.extract %arg0[%17, %18, %16, %19] : tensor<2x3x5x7xf32>
      linalg.yield %extracted : f32
    } -> tensor<2x3x8x7xf32>
    %2 = tensor.empty() : tensor<2x3x8x11xf32>
    %3 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_9 : tensor<11xi64>) outs(%2 : tensor<2x3x8x11xf32>) {
    ^bb0(%in: i64, %out: f32):
      %16 = arith.index_cast %in : i64 to index
      %17 = linalg.index 0 : index
      %18 = linalg.index 1 : index
      %19 = linalg.index 2 : index
      %extracted = tensor.extract %1[%17, %18, %19, %16] : tensor<2x3x8x7xf32>
      linalg.yield %extracted : f32
    } -> tensor<2x3x8x11xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_8 : tensor<8xi64>) outs(%0 : tensor<2x3x8x7xf32>) {
    ^bb0(%in: i64, %out: f32):
      %16 = arith.index_cast %in : i64 to index
      %17 = linalg.index 0 : index
      %18 = linalg.index 1 : index
      %19 = linalg.index 3 : index
      %extracted = tensor.extract %arg0[%17, %18, %16, %19] : tensor<2x3x5x7xf32>
      linalg.yield %extracted : f32
    } -> tensor<2x3x8x7xf32>
    %5 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_7 : tensor<11xi64>) outs(%2 : tensor<2x3x8x11xf32>) {
    ^bb0(%in: i64, %out: f32):
      %16 = arith.index_cast %in : i64 to index
      %17 = linalg.index 0 : index
      %18 = linalg.index 1 : index
      %19 = linalg.index 2 : index
      %extracted = tensor.extract %4[%17, %18, %19, %16] : tensor<2x3x8x7xf32>
      linalg.yield %extracted : f32
    } -> tensor<2x3x8x11xf32>
    %6 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_6 : tensor<8xi64>) outs(%0 : tensor<2x3x8x7xf32>) {
    ^bb0(%in: i64, %out: f32):
      %16 = arith.index_cast %in : i64 to index
      %17 = linalg.index 0 : index
      %18 = linalg.index 1 : index
      %19 = linalg.index 3 : index
      %extracted = tensor.extract %arg0[%17, %18, %16, %19] : tensor<2x3x5x7xf32>
      linalg.yield %extracted : f32
    } -> tensor<2x3x8x7xf32>
    %7 = linalg.generic {indexing_maps = [#map1, #map3, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6, %cst_2 : tensor<2x3x8x7xf32>, tensor<8x1xf32>) outs(%0 : tensor<2x3x8x7xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %16 = arith.mulf %in, %in_11 : f32
      linalg.yield %16 : f32
    } -> tensor<2x3x8x7xf32>
    %8 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_5 : tensor<8xi64>) outs(%0 : tensor<2x3x8x7xf32>) {
    ^bb0(%in: i64, %out: f32):
      %16 = arith.index_cast %in : i64 to index
      %17 = linalg.index 0 : index
      %18 = linalg.index 1 : index
      %19 = linalg.index 3 : index
      %extracted = tensor.extract %arg0[%17, %18, %16, %19] : tensor<2x3x5x7xf32>
      linalg.yield %extracted : f32
    } -> tensor<2x3x8x7xf32>
    %9 = linalg.generic {indexing_maps = [#map1, #map3, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%8, %cst_1 : tensor<2x3x8x7xf32>, tensor<8x1xf32>) outs(%0 : tensor<2x3x8x7xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %16 = arith.mulf %in, %in_11 : f32
      linalg.yield %16 : f32
    } -> tensor<2x3x8x7xf32>
    %10 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%7, %9 : tensor<2x3x8x7xf32>, tensor<2x3x8x7xf32>) outs(%0 : tensor<2x3x8x7xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %16 = arith.addf %in, %in_11 : f32
      linalg.yield %16 : f32
    } -> tensor<2x3x8x7xf32>
    %11 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_4 : tensor<11xi64>) outs(%2 : tensor<2x3x8x11xf32>) {
    ^bb0(%in: i64, %out: f32):
      %16 = arith.index_cast %in : i64 to index
      %17 = linalg.index 0 : index
      %18 = linalg.index 1 : index
      %19 = linalg.index 2 : index
      %extracted = tensor.extract %10[%17, %18, %19, %16] : tensor<2x3x8x7xf32>
      linalg.yield %extracted : f32
    } -> tensor<2x3x8x11xf32>
    %12 = linalg.generic {indexing_maps = [#map1, #map2, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%11, %cst_0 : tensor<2x3x8x11xf32>, tensor<11xf32>) outs(%2 : tensor<2x3x8x11xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %16 = arith.mulf %in, %in_11 : f32
      linalg.yield %16 : f32
    } -> tensor<2x3x8x11xf32>
    %13 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_3 : tensor<11xi64>) outs(%2 : tensor<2x3x8x11xf32>) {
    ^bb0(%in: i64, %out: f32):
      %16 = arith.index_cast %in : i64 to index
      %17 = linalg.index 0 : index
      %18 = linalg.index 1 : index
      %19 = linalg.index 2 : index
      %extracted = tensor.extract %10[%17, %18, %19, %16] : tensor<2x3x8x7xf32>
      linalg.yield %extracted : f32
    } -> tensor<2x3x8x11xf32>
    %14 = linalg.generic {indexing_maps = [#map1, #map2, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%13, %cst : tensor<2x3x8x11xf32>, tensor<11xf32>) outs(%2 : tensor<2x3x8x11xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %16 = arith.mulf %in, %in_11 : f32
      linalg.yield %16 : f32
    } -> tensor<2x3x8x11xf32>
    %15 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%12, %14 : tensor<2x3x8x11xf32>, tensor<2x3x8x11xf32>) outs(%2 : tensor<2x3x8x11xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %16 = arith.addf %in, %in_11 : f32
      linalg.yield %16 : f32
    } -> tensor<2x3x8x11xf32>
    return %3, %5, %15 : tensor<2x3x8x11xf32>, tensor<2x3x8x11xf32>, tensor<2x3x8x11xf32>
  }
}
