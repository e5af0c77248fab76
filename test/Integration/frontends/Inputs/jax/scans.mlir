#map = affine_map<(d0, d1) -> (d0, -d1 + 300)>
#map1 = affine_map<(d0, d1) -> (d0, d1)>
#map2 = affine_map<(d0, d1, d2) -> ()>
#map3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2 + d3)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d3)>
#map6 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map7 = affine_map<(d0, d1, d2, d3) -> (d0, d1 + d3, d2)>
#map8 = affine_map<(d0, d1, d2) -> (d0, d1)>
module @jit_scans {
  func.func public @main(%arg0: tensor<3x301xf32>) -> (tensor<3x301xf32>, tensor<3x301xf32>) {
    %0 = call @cumsum(%arg0) : (tensor<3x301xf32>) -> tensor<3x301xf32>
    %1 = call @cummax(%arg0) : (tensor<3x301xf32>) -> tensor<3x301xf32>
    return %0, %1 : tensor<3x301xf32>, tensor<3x301xf32>
  }
  func.func private @cumsum(%arg0: tensor<3x301xf32>) -> tensor<3x301xf32> {
    %0 = call @cumsum_0(%arg0) : (tensor<3x301xf32>) -> tensor<3x301xf32>
    return %0 : tensor<3x301xf32>
  }
  func.func private @cumsum_0(%arg0: tensor<3x301xf32>) -> tensor<3x301xf32> {
    %cst = arith.constant dense<0.000000e+00> : tensor<f32>
    %0 = call @scan.0(%arg0, %cst) : (tensor<3x301xf32>, tensor<f32>) -> tensor<3x301xf32>
    return %0 : tensor<3x301xf32>
  }
  func.func private @cummax(%arg0: tensor<3x301xf32>) -> tensor<3x301xf32> {
    %cst = arith.constant dense<0xFF800000> : tensor<f32>
    %0 = tensor.empty() : tensor<3x301xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<3x301xf32>) outs(%0 : tensor<3x301xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<3x301xf32>
    %2 = call @scan.1(%1, %cst) : (tensor<3x301xf32>, tensor<f32>) -> tensor<3x301xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<3x301xf32>) outs(%0 : tensor<3x301xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<3x301xf32>
    return %3 : tensor<3x301xf32>
  }
  func.func private @scan.0(%arg0: tensor<3x301xf32>, %arg1: tensor<f32>) -> tensor<3x301xf32> {
    %extracted = tensor.extract %arg1[] : tensor<f32>
    %padded = tensor.pad %arg0 low[0, 0] high[0, 5] {
    ^bb0(%arg2: index, %arg3: index):
      tensor.yield %extracted : f32
    } : tensor<3x301xf32> to tensor<3x306xf32>
    %expanded = tensor.expand_shape %padded [[0], [1, 2]] output_shape [3, 18, 17] : tensor<3x306xf32> into tensor<3x18x17xf32>
    %0 = tensor.empty() : tensor<3x18x17xf32>
    %1 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg1 : tensor<f32>) outs(%0 : tensor<3x18x17xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<3x18x17xf32>
    %padded_0 = tensor.pad %expanded low[0, 0, 16] high[0, 0, 0] {
    ^bb0(%arg2: index, %arg3: index, %arg4: index):
      tensor.yield %extracted : f32
    } : tensor<3x18x17xf32> to tensor<3x18x33xf32>
    %2 = tensor.empty() : tensor<17xf32>
    %3 = linalg.generic {indexing_maps = [#map4, #map5, #map6], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%padded_0, %2 : tensor<3x18x33xf32>, tensor<17xf32>) outs(%1 : tensor<3x18x17xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %10 = arith.addf %out, %in : f32
      linalg.yield %10 : f32
    } -> tensor<3x18x17xf32>
    %extracted_slice = tensor.extract_slice %3[0, 0, 16] [3, 17, 1] [1, 1, 1] : tensor<3x18x17xf32> to tensor<3x17x1xf32>
    %padded_1 = tensor.pad %extracted_slice low[0, 1, 0] high[0, 0, 0] {
    ^bb0(%arg2: index, %arg3: index, %arg4: index):
      tensor.yield %extracted : f32
    } : tensor<3x17x1xf32> to tensor<3x18x1xf32>
    %4 = tensor.empty() : tensor<3x18x1xf32>
    %5 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg1 : tensor<f32>) outs(%4 : tensor<3x18x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<3x18x1xf32>
    %padded_2 = tensor.pad %padded_1 low[0, 17, 0] high[0, 0, 0] {
    ^bb0(%arg2: index, %arg3: index, %arg4: index):
      tensor.yield %extracted : f32
    } : tensor<3x18x1xf32> to tensor<3x35x1xf32>
    %6 = tensor.empty() : tensor<18xf32>
    %7 = linalg.generic {indexing_maps = [#map7, #map5, #map6], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%padded_2, %6 : tensor<3x35x1xf32>, tensor<18xf32>) outs(%5 : tensor<3x18x1xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %10 = arith.addf %out, %in : f32
      linalg.yield %10 : f32
    } -> tensor<3x18x1xf32>
    %collapsed = tensor.collapse_shape %7 [[0], [1, 2]] : tensor<3x18x1xf32> into tensor<3x18xf32>
    %8 = linalg.generic {indexing_maps = [#map8, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed : tensor<3x18xf32>) outs(%0 : tensor<3x18x17xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<3x18x17xf32>
    %9 = linalg.generic {indexing_maps = [#map3, #map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%8, %3 : tensor<3x18x17xf32>, tensor<3x18x17xf32>) outs(%0 : tensor<3x18x17xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %10 = arith.addf %in, %in_5 : f32
      linalg.yield %10 : f32
    } -> tensor<3x18x17xf32>
    %collapsed_3 = tensor.collapse_shape %9 [[0], [1, 2]] : tensor<3x18x17xf32> into tensor<3x306xf32>
    %extracted_slice_4 = tensor.extract_slice %collapsed_3[0, 0] [3, 301] [1, 1] : tensor<3x306xf32> to tensor<3x301xf32>
    return %extracted_slice_4 : tensor<3x301xf32>
  }
  func.func private @scan.1(%arg0: tensor<3x301xf32>, %arg1: tensor<f32>) -> tensor<3x301xf32> {
    %extracted = tensor.extract %arg1[] : tensor<f32>
    %padded = tensor.pad %arg0 low[0, 0] high[0, 5] {
    ^bb0(%arg2: index, %arg3: index):
      tensor.yield %extracted : f32
    } : tensor<3x301xf32> to tensor<3x306xf32>
    %expanded = tensor.expand_shape %padded [[0], [1, 2]] output_shape [3, 18, 17] : tensor<3x306xf32> into tensor<3x18x17xf32>
    %0 = tensor.empty() : tensor<3x18x17xf32>
    %1 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg1 : tensor<f32>) outs(%0 : tensor<3x18x17xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<3x18x17xf32>
    %padded_0 = tensor.pad %expanded low[0, 0, 16] high[0, 0, 0] {
    ^bb0(%arg2: index, %arg3: index, %arg4: index):
      tensor.yield %extracted : f32
    } : tensor<3x18x17xf32> to tensor<3x18x33xf32>
    %2 = tensor.empty() : tensor<17xf32>
    %3 = linalg.generic {indexing_maps = [#map4, #map5, #map6], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%padded_0, %2 : tensor<3x18x33xf32>, tensor<17xf32>) outs(%1 : tensor<3x18x17xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %10 = arith.maximumf %out, %in : f32
      linalg.yield %10 : f32
    } -> tensor<3x18x17xf32>
    %extracted_slice = tensor.extract_slice %3[0, 0, 16] [3, 17, 1] [1, 1, 1] : tensor<3x18x17xf32> to tensor<3x17x1xf32>
    %padded_1 = tensor.pad %extracted_slice low[0, 1, 0] high[0, 0, 0] {
    ^bb0(%arg2: index, %arg3: index, %arg4: index):
      tensor.yield %extracted : f32
    } : tensor<3x17x1xf32> to tensor<3x18x1xf32>
    %4 = tensor.empty() : tensor<3x18x1xf32>
    %5 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg1 : tensor<f32>) outs(%4 : tensor<3x18x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<3x18x1xf32>
    %padded_2 = tensor.pad %padded_1 low[0, 17, 0] high[0, 0, 0] {
    ^bb0(%arg2: index, %arg3: index, %arg4: index):
      tensor.yield %extracted : f32
    } : tensor<3x18x1xf32> to tensor<3x35x1xf32>
    %6 = tensor.empty() : tensor<18xf32>
    %7 = linalg.generic {indexing_maps = [#map7, #map5, #map6], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%padded_2, %6 : tensor<3x35x1xf32>, tensor<18xf32>) outs(%5 : tensor<3x18x1xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %10 = arith.maximumf %out, %in : f32
      linalg.yield %10 : f32
    } -> tensor<3x18x1xf32>
    %collapsed = tensor.collapse_shape %7 [[0], [1, 2]] : tensor<3x18x1xf32> into tensor<3x18xf32>
    %8 = linalg.generic {indexing_maps = [#map8, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed : tensor<3x18xf32>) outs(%0 : tensor<3x18x17xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<3x18x17xf32>
    %9 = linalg.generic {indexing_maps = [#map3, #map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%8, %3 : tensor<3x18x17xf32>, tensor<3x18x17xf32>) outs(%0 : tensor<3x18x17xf32>) {
    ^bb0(%in: f32, %in_5: f32, %out: f32):
      %10 = arith.maximumf %in, %in_5 : f32
      linalg.yield %10 : f32
    } -> tensor<3x18x17xf32>
    %collapsed_3 = tensor.collapse_shape %9 [[0], [1, 2]] : tensor<3x18x17xf32> into tensor<3x306xf32>
    %extracted_slice_4 = tensor.extract_slice %collapsed_3[0, 0] [3, 301] [1, 1] : tensor<3x306xf32> to tensor<3x301xf32>
    return %extracted_slice_4 : tensor<3x301xf32>
  }
}
