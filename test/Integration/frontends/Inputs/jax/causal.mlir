#map = affine_map<(d0, d1) -> ()>
#map1 = affine_map<(d0, d1) -> (d0, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d1, d0, d2)>
#map3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
#map6 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map7 = affine_map<(d0, d1, d2) -> ()>
#map8 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map9 = affine_map<(d0, d1, d2) -> (d0, d1, 0)>
#map10 = affine_map<(d0, d1, d2) -> (d1, d2)>
module @jit_causal {
  func.func public @main(%arg0: tensor<16x32xf32>, %arg1: tensor<32x32xf32>, %arg2: tensor<32x32xf32>, %arg3: tensor<32x32xf32>, %arg4: tensor<32x32xf32>) -> tensor<16x32xf32> {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant 0.000000e+00 : f32
    %cst_1 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_2 = arith.constant dense<0.353553385> : tensor<f32>
    %cst_3 = arith.constant dense<0.176776692> : tensor<f32>
    %cst_4 = arith.constant dense<"0x0100030007000F001F003F007F00FF00FF01FF03FF07FF0FFF1FFF3FFF7FFFFF"> : tensor<16x16xi1>
    %0 = tensor.empty() : tensor<16x32xf32>
    %1 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<16x32xf32>) -> tensor<16x32xf32>
    %2 = linalg.matmul ins(%arg0, %arg1 : tensor<16x32xf32>, tensor<32x32xf32>) outs(%1 : tensor<16x32xf32>) -> tensor<16x32xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_3 : tensor<f32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x32xf32>
    %4 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%2, %3 : tensor<16x32xf32>, tensor<16x32xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %40 = arith.mulf %in, %in_7 : f32
      linalg.yield %40 : f32
    } -> tensor<16x32xf32>
    %expanded = tensor.expand_shape %4 [[0], [1, 2]] output_shape [16, 4, 8] : tensor<16x32xf32> into tensor<16x4x8xf32>
    %5 = tensor.empty() : tensor<4x16x8xf32>
    %6 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded : tensor<16x4x8xf32>) outs(%5 : tensor<4x16x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x16x8xf32>
    %7 = linalg.matmul ins(%arg0, %arg2 : tensor<16x32xf32>, tensor<32x32xf32>) outs(%1 : tensor<16x32xf32>) -> tensor<16x32xf32>
    %8 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%7, %3 : tensor<16x32xf32>, tensor<16x32xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %40 = arith.mulf %in, %in_7 : f32
      linalg.yield %40 : f32
    } -> tensor<16x32xf32>
    %expanded_5 = tensor.expand_shape %8 [[0], [1, 2]] output_shape [16, 4, 8] : tensor<16x32xf32> into tensor<16x4x8xf32>
    %9 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_5 : tensor<16x4x8xf32>) outs(%5 : tensor<4x16x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x16x8xf32>
    %10 = linalg.matmul ins(%arg0, %arg3 : tensor<16x32xf32>, tensor<32x32xf32>) outs(%1 : tensor<16x32xf32>) -> tensor<16x32xf32>
    %11 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%10, %3 : tensor<16x32xf32>, tensor<16x32xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %40 = arith.mulf %in, %in_7 : f32
      linalg.yield %40 : f32
    } -> tensor<16x32xf32>
    %expanded_6 = tensor.expand_shape %11 [[0], [1, 2]] output_shape [16, 4, 8] : tensor<16x32xf32> into tensor<16x4x8xf32>
    %12 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_6 : tensor<16x4x8xf32>) outs(%5 : tensor<4x16x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x16x8xf32>
    %13 = tensor.empty() : tensor<4x16x16xf32>
    %14 = linalg.fill ins(%cst_0 : f32) outs(%13 : tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
    %15 = linalg.generic {indexing_maps = [#map4, #map5, #map6], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%6, %9 : tensor<4x16x8xf32>, tensor<4x16x8xf32>) outs(%14 : tensor<4x16x16xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %40 = arith.mulf %in, %in_7 : f32
      %41 = arith.addf %out, %40 : f32
      linalg.yield %41 : f32
    } -> tensor<4x16x16xf32>
    %16 = linalg.generic {indexing_maps = [#map7, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_2 : tensor<f32>) outs(%13 : tensor<4x16x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x16x16xf32>
    %17 = linalg.generic {indexing_maps = [#map3, #map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%15, %16 : tensor<4x16x16xf32>, tensor<4x16x16xf32>) outs(%13 : tensor<4x16x16xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %40 = arith.mulf %in, %in_7 : f32
      linalg.yield %40 : f32
    } -> tensor<4x16x16xf32>
    %18 = call @_where(%cst_4, %17, %cst_1) : (tensor<16x16xi1>, tensor<4x16x16xf32>, tensor<f32>) -> tensor<4x16x16xf32>
    %19 = tensor.empty() : tensor<4x16xf32>
    %20 = linalg.fill ins(%cst : f32) outs(%19 : tensor<4x16xf32>) -> tensor<4x16xf32>
    %21 = linalg.generic {indexing_maps = [#map3, #map8], iterator_types = ["parallel", "parallel", "reduction"]} ins(%18 : tensor<4x16x16xf32>) outs(%20 : tensor<4x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = arith.maximumf %out, %in : f32
      linalg.yield %40 : f32
    } -> tensor<4x16xf32>
    %22 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_1 : tensor<f32>) outs(%19 : tensor<4x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x16xf32>
    %23 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%22, %21 : tensor<4x16xf32>, tensor<4x16xf32>) outs(%19 : tensor<4x16xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %40 = arith.maximumf %in, %in_7 : f32
      linalg.yield %40 : f32
    } -> tensor<4x16xf32>
    %24 = tensor.empty() : tensor<4x16x1xf32>
    %25 = linalg.generic {indexing_maps = [#map8, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%23 : tensor<4x16xf32>) outs(%24 : tensor<4x16x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x16x1xf32>
    %26 = linalg.generic {indexing_maps = [#map9, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%25 : tensor<4x16x1xf32>) outs(%13 : tensor<4x16x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x16x16xf32>
    %27 = linalg.generic {indexing_maps = [#map3, #map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%18, %26 : tensor<4x16x16xf32>, tensor<4x16x16xf32>) outs(%13 : tensor<4x16x16xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %40 = arith.subf %in, %in_7 : f32
      linalg.yield %40 : f32
    } -> tensor<4x16x16xf32>
    %28 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%27 : tensor<4x16x16xf32>) outs(%13 : tensor<4x16x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = math.exp %in : f32
      linalg.yield %40 : f32
    } -> tensor<4x16x16xf32>
    %29 = linalg.fill ins(%cst_0 : f32) outs(%19 : tensor<4x16xf32>) -> tensor<4x16xf32>
    %30 = linalg.generic {indexing_maps = [#map3, #map8], iterator_types = ["parallel", "parallel", "reduction"]} ins(%28 : tensor<4x16x16xf32>) outs(%29 : tensor<4x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %40 = arith.addf %out, %in : f32
      linalg.yield %40 : f32
    } -> tensor<4x16xf32>
    %31 = linalg.generic {indexing_maps = [#map8, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%30 : tensor<4x16xf32>) outs(%24 : tensor<4x16x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x16x1xf32>
    %32 = linalg.generic {indexing_maps = [#map9, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%31 : tensor<4x16x1xf32>) outs(%13 : tensor<4x16x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x16x16xf32>
    %33 = linalg.generic {indexing_maps = [#map3, #map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%28, %32 : tensor<4x16x16xf32>, tensor<4x16x16xf32>) outs(%13 : tensor<4x16x16xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %40 = arith.divf %in, %in_7 : f32
      linalg.yield %40 : f32
    } -> tensor<4x16x16xf32>
    %34 = linalg.fill ins(%cst_0 : f32) outs(%5 : tensor<4x16x8xf32>) -> tensor<4x16x8xf32>
    %35 = linalg.batch_matmul ins(%33, %12 : tensor<4x16x16xf32>, tensor<4x16x8xf32>) outs(%34 : tensor<4x16x8xf32>) -> tensor<4x16x8xf32>
    %36 = tensor.empty() : tensor<16x4x8xf32>
    %37 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%35 : tensor<4x16x8xf32>) outs(%36 : tensor<16x4x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x4x8xf32>
    %collapsed = tensor.collapse_shape %37 [[0], [1, 2]] : tensor<16x4x8xf32> into tensor<16x32xf32>
    %38 = linalg.matmul ins(%collapsed, %arg4 : tensor<16x32xf32>, tensor<32x32xf32>) outs(%1 : tensor<16x32xf32>) -> tensor<16x32xf32>
    %39 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%38, %3 : tensor<16x32xf32>, tensor<16x32xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %in_7: f32, %out: f32):
      %40 = arith.mulf %in, %in_7 : f32
      linalg.yield %40 : f32
    } -> tensor<16x32xf32>
    return %39 : tensor<16x32xf32>
  }
  func.func private @_where(%arg0: tensor<16x16xi1>, %arg1: tensor<4x16x16xf32>, %arg2: tensor<f32>) -> tensor<4x16x16xf32> {
    %0 = tensor.empty() : tensor<4x16x16xi1>
    %1 = linalg.generic {indexing_maps = [#map10, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0 : tensor<16x16xi1>) outs(%0 : tensor<4x16x16xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<4x16x16xi1>
    %2 = tensor.empty() : tensor<4x16x16xf32>
    %3 = linalg.generic {indexing_maps = [#map7, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg2 : tensor<f32>) outs(%2 : tensor<4x16x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x16x16xf32>
    %4 = linalg.generic {indexing_maps = [#map3, #map3, #map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1, %arg1, %3 : tensor<4x16x16xi1>, tensor<4x16x16xf32>, tensor<4x16x16xf32>) outs(%2 : tensor<4x16x16xf32>) {
    ^bb0(%in: i1, %in_0: f32, %in_1: f32, %out: f32):
      %5 = arith.select %in, %in_0, %in_1 : f32
      linalg.yield %5 : f32
    } -> tensor<4x16x16xf32>
    return %4 : tensor<4x16x16xf32>
  }
}
