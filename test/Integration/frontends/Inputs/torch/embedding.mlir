#map = affine_map<(d0, d1) -> (d0)>
#map1 = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @main(%arg0: tensor<50x16xf32>, %arg1: tensor<13xi32>) -> tensor<13x16xf32> {
    %c50 = arith.constant 50 : index
    %c0_i32 = arith.constant 0 : i32
    %0 = tensor.empty() : tensor<13x16xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg1 : tensor<13xi32>) outs(%0 : tensor<13x16xf32>) {
    ^bb0(%in: i32, %out: f32):
      %2 = arith.index_cast %in : i32 to index
      %3 = linalg.index 1 : index
      %4 = arith.cmpi slt, %2, %c50 : index
      cf.assert %4, "index must be smaller than dim size"
      %5 = arith.cmpi sge, %in, %c0_i32 : i32
      cf.assert %5, "index must be larger or equal to 0"
      %extracted = tensor.extract %arg0[%2, %3] : tensor<50x16xf32>
      linalg.yield %extracted : f32
    } -> tensor<13x16xf32>
    return %1 : tensor<13x16xf32>
  }
}
