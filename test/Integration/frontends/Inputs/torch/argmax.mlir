#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d0)>
#map2 = affine_map<(d0) -> (d0)>
#map3 = affine_map<(d0, d1) -> (d1)>
module {
  func.func @main(%arg0: tensor<9x100xf32>) -> (tensor<9xi32>, tensor<100xf32>) {
    %c0_i64 = arith.constant 0 : i64
    %cst = arith.constant 0xFF800000 : f32
    %0 = tensor.empty() : tensor<9xi64>
    %1 = linalg.fill ins(%c0_i64 : i64) outs(%0 : tensor<9xi64>) -> tensor<9xi64>
    %2 = tensor.empty() : tensor<9xf32>
    %3 = linalg.fill ins(%cst : f32) outs(%2 : tensor<9xf32>) -> tensor<9xf32>
    %4:2 = linalg.generic {indexing_maps = [#map, #map1, #map1], iterator_types = ["parallel", "reduction"]} ins(%arg0 : tensor<9x100xf32>) outs(%3, %1 : tensor<9xf32>, tensor<9xi64>) {
    ^bb0(%in: f32, %out: f32, %out_0: i64):
      %12 = linalg.index 1 : index
      %13 = arith.index_cast %12 : index to i64
      %14 = arith.maximumf %in, %out : f32
      %15 = arith.cmpf ogt, %in, %out : f32
      %16 = arith.cmpf uno, %in, %in : f32
      %17 = arith.cmpf ord, %out, %out : f32
      %18 = arith.andi %16, %17 : i1
      %19 = arith.ori %15, %18 : i1
      %20 = arith.select %19, %13, %out_0 : i64
      linalg.yield %14, %20 : f32, i64
    } -> (tensor<9xf32>, tensor<9xi64>)
    %5 = tensor.empty() : tensor<9xi32>
    %6 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%4#1 : tensor<9xi64>) outs(%5 : tensor<9xi32>) {
    ^bb0(%in: i64, %out: i32):
      %12 = arith.trunci %in : i64 to i32
      linalg.yield %12 : i32
    } -> tensor<9xi32>
    %7 = tensor.empty() : tensor<100xi64>
    %8 = linalg.fill ins(%c0_i64 : i64) outs(%7 : tensor<100xi64>) -> tensor<100xi64>
    %9 = tensor.empty() : tensor<100xf32>
    %10 = linalg.fill ins(%cst : f32) outs(%9 : tensor<100xf32>) -> tensor<100xf32>
    %11:2 = linalg.generic {indexing_maps = [#map, #map3, #map3], iterator_types = ["reduction", "parallel"]} ins(%arg0 : tensor<9x100xf32>) outs(%10, %8 : tensor<100xf32>, tensor<100xi64>) {
    ^bb0(%in: f32, %out: f32, %out_0: i64):
      %12 = linalg.index 0 : index
      %13 = arith.index_cast %12 : index to i64
      %14 = arith.maximumf %in, %out : f32
      %15 = arith.cmpf ogt, %in, %out : f32
      %16 = arith.cmpf uno, %in, %in : f32
      %17 = arith.cmpf ord, %out, %out : f32
      %18 = arith.andi %16, %17 : i1
      %19 = arith.ori %15, %18 : i1
      %20 = arith.select %19, %13, %out_0 : i64
      linalg.yield %14, %20 : f32, i64
    } -> (tensor<100xf32>, tensor<100xi64>)
    return %6, %11#0 : tensor<9xi32>, tensor<100xf32>
  }
}
