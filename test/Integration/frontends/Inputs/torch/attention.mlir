#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
module {
  func.func @main(%arg0: tensor<24x32xf32>, %arg1: tensor<32x32xf32>, %arg2: tensor<32x32xf32>, %arg3: tensor<32x32xf32>, %arg4: tensor<32x32xf32>) -> tensor<24x32xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %c0_i64 = arith.constant 0 : i64
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant 0.35355339059327373 : f64
    %cst_2 = arith.constant 0.17677669529663687 : f64
    %0 = tensor.empty() : tensor<24x32xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<24x32xf32>) -> tensor<24x32xf32>
    %2 = linalg.matmul ins(%arg0, %arg1 : tensor<24x32xf32>, tensor<32x32xf32>) outs(%1 : tensor<24x32xf32>) -> tensor<24x32xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<24x32xf32>) outs(%0 : tensor<24x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %32 = arith.truncf %cst_2 : f64 to f32
      %33 = arith.mulf %in, %32 : f32
      linalg.yield %33 : f32
    } -> tensor<24x32xf32>
    %expanded = tensor.expand_shape %3 [[0, 1], [2, 3]] output_shape [1, 24, 4, 8] : tensor<24x32xf32> into tensor<1x24x4x8xf32>
    %4 = tensor.empty() : tensor<1x4x24x8xf32>
    %transposed = linalg.transpose ins(%expanded : tensor<1x24x4x8xf32>) outs(%4 : tensor<1x4x24x8xf32>) permutation = [0, 2, 1, 3] 
    %5 = linalg.matmul ins(%arg0, %arg2 : tensor<24x32xf32>, tensor<32x32xf32>) outs(%1 : tensor<24x32xf32>) -> tensor<24x32xf32>
    %6 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%5 : tensor<24x32xf32>) outs(%0 : tensor<24x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %32 = arith.truncf %cst_2 : f64 to f32
      %33 = arith.mulf %in, %32 : f32
      linalg.yield %33 : f32
    } -> tensor<24x32xf32>
    %expanded_3 = tensor.expand_shape %6 [[0, 1], [2, 3]] output_shape [1, 24, 4, 8] : tensor<24x32xf32> into tensor<1x24x4x8xf32>
    %7 = linalg.matmul ins(%arg0, %arg3 : tensor<24x32xf32>, tensor<32x32xf32>) outs(%1 : tensor<24x32xf32>) -> tensor<24x32xf32>
    %8 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%7 : tensor<24x32xf32>) outs(%0 : tensor<24x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %32 = arith.truncf %cst_2 : f64 to f32
      %33 = arith.mulf %in, %32 : f32
      linalg.yield %33 : f32
    } -> tensor<24x32xf32>
    %expanded_4 = tensor.expand_shape %8 [[0, 1], [2, 3]] output_shape [1, 24, 4, 8] : tensor<24x32xf32> into tensor<1x24x4x8xf32>
    %transposed_5 = linalg.transpose ins(%expanded_4 : tensor<1x24x4x8xf32>) outs(%4 : tensor<1x4x24x8xf32>) permutation = [0, 2, 1, 3] 
    %9 = tensor.empty() : tensor<1x4x8x24xf32>
    %transposed_6 = linalg.transpose ins(%expanded_3 : tensor<1x24x4x8xf32>) outs(%9 : tensor<1x4x8x24xf32>) permutation = [0, 2, 3, 1] 
    %collapsed = tensor.collapse_shape %transposed [[0, 1], [2], [3]] : tensor<1x4x24x8xf32> into tensor<4x24x8xf32>
    %collapsed_7 = tensor.collapse_shape %transposed_6 [[0, 1], [2], [3]] : tensor<1x4x8x24xf32> into tensor<4x8x24xf32>
    %10 = tensor.empty() : tensor<4x24x24xf32>
    %11 = linalg.fill ins(%cst : f32) outs(%10 : tensor<4x24x24xf32>) -> tensor<4x24x24xf32>
    %12 = linalg.batch_matmul ins(%collapsed, %collapsed_7 : tensor<4x24x8xf32>, tensor<4x8x24xf32>) outs(%11 : tensor<4x24x24xf32>) -> tensor<4x24x24xf32>
    %expanded_8 = tensor.expand_shape %12 [[0, 1], [2], [3]] output_shape [1, 4, 24, 24] : tensor<4x24x24xf32> into tensor<1x4x24x24xf32>
    %13 = tensor.empty() : tensor<1x4x24x24xf32>
    %14 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_8 : tensor<1x4x24x24xf32>) outs(%13 : tensor<1x4x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %32 = arith.truncf %cst_1 : f64 to f32
      %33 = arith.mulf %in, %32 : f32
      linalg.yield %33 : f32
    } -> tensor<1x4x24x24xf32>
    %15 = tensor.empty() : tensor<1x4x24xi64>
    %16 = linalg.fill ins(%c0_i64 : i64) outs(%15 : tensor<1x4x24xi64>) -> tensor<1x4x24xi64>
    %17 = tensor.empty() : tensor<1x4x24xf32>
    %18 = linalg.fill ins(%cst_0 : f32) outs(%17 : tensor<1x4x24xf32>) -> tensor<1x4x24xf32>
    %19:2 = linalg.generic {indexing_maps = [#map1, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%14 : tensor<1x4x24x24xf32>) outs(%18, %16 : tensor<1x4x24xf32>, tensor<1x4x24xi64>) {
    ^bb0(%in: f32, %out: f32, %out_15: i64):
      %32 = linalg.index 3 : index
      %33 = arith.index_cast %32 : index to i64
      %34 = arith.maximumf %in, %out : f32
      %35 = arith.cmpf ogt, %in, %out : f32
      %36 = arith.cmpf uno, %in, %in : f32
      %37 = arith.cmpf ord, %out, %out : f32
      %38 = arith.andi %36, %37 : i1
      %39 = arith.ori %35, %38 : i1
      %40 = arith.select %39, %33, %out_15 : i64
      linalg.yield %34, %40 : f32, i64
    } -> (tensor<1x4x24xf32>, tensor<1x4x24xi64>)
    %expanded_9 = tensor.expand_shape %19#0 [[0], [1], [2, 3]] output_shape [1, 4, 24, 1] : tensor<1x4x24xf32> into tensor<1x4x24x1xf32>
    %20 = linalg.generic {indexing_maps = [#map1, #map3, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14, %expanded_9 : tensor<1x4x24x24xf32>, tensor<1x4x24x1xf32>) outs(%13 : tensor<1x4x24x24xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %32 = arith.subf %in, %in_15 : f32
      linalg.yield %32 : f32
    } -> tensor<1x4x24x24xf32>
    %21 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%20 : tensor<1x4x24x24xf32>) outs(%13 : tensor<1x4x24x24xf32>) {
    ^bb0(%in: f32, %out: f32):
      %32 = math.exp %in : f32
      linalg.yield %32 : f32
    } -> tensor<1x4x24x24xf32>
    %22 = tensor.empty() : tensor<1x4x24x1xf32>
    %23 = linalg.fill ins(%cst : f32) outs(%22 : tensor<1x4x24x1xf32>) -> tensor<1x4x24x1xf32>
    %24 = linalg.generic {indexing_maps = [#map1, #map3], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%21 : tensor<1x4x24x24xf32>) outs(%23 : tensor<1x4x24x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %32 = arith.addf %in, %out : f32
      linalg.yield %32 : f32
    } -> tensor<1x4x24x1xf32>
    %25 = linalg.generic {indexing_maps = [#map1, #map3, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%21, %24 : tensor<1x4x24x24xf32>, tensor<1x4x24x1xf32>) outs(%13 : tensor<1x4x24x24xf32>) {
    ^bb0(%in: f32, %in_15: f32, %out: f32):
      %32 = arith.divf %in, %in_15 : f32
      linalg.yield %32 : f32
    } -> tensor<1x4x24x24xf32>
    %collapsed_10 = tensor.collapse_shape %25 [[0, 1], [2], [3]] : tensor<1x4x24x24xf32> into tensor<4x24x24xf32>
    %collapsed_11 = tensor.collapse_shape %transposed_5 [[0, 1], [2], [3]] : tensor<1x4x24x8xf32> into tensor<4x24x8xf32>
    %26 = tensor.empty() : tensor<4x24x8xf32>
    %27 = linalg.fill ins(%cst : f32) outs(%26 : tensor<4x24x8xf32>) -> tensor<4x24x8xf32>
    %28 = linalg.batch_matmul ins(%collapsed_10, %collapsed_11 : tensor<4x24x24xf32>, tensor<4x24x8xf32>) outs(%27 : tensor<4x24x8xf32>) -> tensor<4x24x8xf32>
    %expanded_12 = tensor.expand_shape %28 [[0, 1], [2], [3]] output_shape [1, 4, 24, 8] : tensor<4x24x8xf32> into tensor<1x4x24x8xf32>
    %29 = tensor.empty() : tensor<1x24x4x8xf32>
    %transposed_13 = linalg.transpose ins(%expanded_12 : tensor<1x4x24x8xf32>) outs(%29 : tensor<1x24x4x8xf32>) permutation = [0, 2, 1, 3] 
    %collapsed_14 = tensor.collapse_shape %transposed_13 [[0, 1], [2, 3]] : tensor<1x24x4x8xf32> into tensor<24x32xf32>
    %30 = linalg.matmul ins(%collapsed_14, %arg4 : tensor<24x32xf32>, tensor<32x32xf32>) outs(%1 : tensor<24x32xf32>) -> tensor<24x32xf32>
    %31 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%30 : tensor<24x32xf32>) outs(%0 : tensor<24x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %32 = arith.truncf %cst_2 : f64 to f32
      %33 = arith.mulf %in, %32 : f32
      linalg.yield %33 : f32
    } -> tensor<24x32xf32>
    return %31 : tensor<24x32xf32>
  }
}
