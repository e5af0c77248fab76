#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d1)>
module {
  func.func @main(%arg0: tensor<32x48xf32>, %arg1: tensor<48x64xf32>, %arg2: tensor<64xf32>, %arg3: tensor<64x64xf32>, %arg4: tensor<64xf32>, %arg5: tensor<64x10xf32>, %arg6: tensor<10xf32>) -> tensor<32x10xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0.79788456080286541 : f64
    %cst_1 = arith.constant 4.471500e-02 : f64
    %cst_2 = arith.constant 0.14433756729740643 : f64
    %cst_3 = arith.constant 1.000000e+00 : f32
    %cst_4 = arith.constant 5.000000e-01 : f32
    %cst_5 = arith.constant 1.250000e-01 : f32
    %0 = tensor.empty() : tensor<32x64xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<32x64xf32>) -> tensor<32x64xf32>
    %2 = linalg.matmul ins(%arg0, %arg1 : tensor<32x48xf32>, tensor<48x64xf32>) outs(%1 : tensor<32x64xf32>) -> tensor<32x64xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<32x64xf32>) outs(%0 : tensor<32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %23 = arith.truncf %cst_2 : f64 to f32
      %24 = arith.mulf %in, %23 : f32
      linalg.yield %24 : f32
    } -> tensor<32x64xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%3, %arg2 : tensor<32x64xf32>, tensor<64xf32>) outs(%0 : tensor<32x64xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %23 = arith.addf %in, %in_6 : f32
      linalg.yield %23 : f32
    } -> tensor<32x64xf32>
    %5 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%4, %4 : tensor<32x64xf32>, tensor<32x64xf32>) outs(%0 : tensor<32x64xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %23 = arith.mulf %in, %in_6 : f32
      linalg.yield %23 : f32
    } -> tensor<32x64xf32>
    %6 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%5 : tensor<32x64xf32>) outs(%0 : tensor<32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %23 = arith.truncf %cst_1 : f64 to f32
      %24 = arith.mulf %in, %23 : f32
      linalg.yield %24 : f32
    } -> tensor<32x64xf32>
    %7 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%6 : tensor<32x64xf32>) outs(%0 : tensor<32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %23 = arith.addf %in, %cst_3 : f32
      linalg.yield %23 : f32
    } -> tensor<32x64xf32>
    %8 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%4, %7 : tensor<32x64xf32>, tensor<32x64xf32>) outs(%0 : tensor<32x64xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %23 = arith.mulf %in, %in_6 : f32
      linalg.yield %23 : f32
    } -> tensor<32x64xf32>
    %9 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%8 : tensor<32x64xf32>) outs(%0 : tensor<32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %23 = arith.truncf %cst_0 : f64 to f32
      %24 = arith.mulf %in, %23 : f32
      linalg.yield %24 : f32
    } -> tensor<32x64xf32>
    %10 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%9 : tensor<32x64xf32>) outs(%0 : tensor<32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %23 = math.tanh %in : f32
      linalg.yield %23 : f32
    } -> tensor<32x64xf32>
    %11 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%10 : tensor<32x64xf32>) outs(%0 : tensor<32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %23 = arith.addf %in, %cst_3 : f32
      linalg.yield %23 : f32
    } -> tensor<32x64xf32>
    %12 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%4 : tensor<32x64xf32>) outs(%0 : tensor<32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %23 = arith.mulf %in, %cst_4 : f32
      linalg.yield %23 : f32
    } -> tensor<32x64xf32>
    %13 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%12, %11 : tensor<32x64xf32>, tensor<32x64xf32>) outs(%0 : tensor<32x64xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %23 = arith.mulf %in, %in_6 : f32
      linalg.yield %23 : f32
    } -> tensor<32x64xf32>
    %14 = linalg.matmul ins(%13, %arg3 : tensor<32x64xf32>, tensor<64x64xf32>) outs(%1 : tensor<32x64xf32>) -> tensor<32x64xf32>
    %15 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%14 : tensor<32x64xf32>) outs(%0 : tensor<32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %23 = arith.mulf %in, %cst_5 : f32
      linalg.yield %23 : f32
    } -> tensor<32x64xf32>
    %16 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%15, %arg4 : tensor<32x64xf32>, tensor<64xf32>) outs(%0 : tensor<32x64xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %23 = arith.addf %in, %in_6 : f32
      linalg.yield %23 : f32
    } -> tensor<32x64xf32>
    %17 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%16 : tensor<32x64xf32>) outs(%0 : tensor<32x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %23 = arith.cmpf ugt, %in, %cst : f32
      %24 = arith.select %23, %in, %cst : f32
      linalg.yield %24 : f32
    } -> tensor<32x64xf32>
    %18 = tensor.empty() : tensor<32x10xf32>
    %19 = linalg.fill ins(%cst : f32) outs(%18 : tensor<32x10xf32>) -> tensor<32x10xf32>
    %20 = linalg.matmul ins(%17, %arg5 : tensor<32x64xf32>, tensor<64x10xf32>) outs(%19 : tensor<32x10xf32>) -> tensor<32x10xf32>
    %21 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%20 : tensor<32x10xf32>) outs(%18 : tensor<32x10xf32>) {
    ^bb0(%in: f32, %out: f32):
      %23 = arith.mulf %in, %cst_5 : f32
      linalg.yield %23 : f32
    } -> tensor<32x10xf32>
    %22 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%21, %arg6 : tensor<32x10xf32>, tensor<10xf32>) outs(%18 : tensor<32x10xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %23 = arith.addf %in, %in_6 : f32
      linalg.yield %23 : f32
    } -> tensor<32x10xf32>
    return %22 : tensor<32x10xf32>
  }
}
