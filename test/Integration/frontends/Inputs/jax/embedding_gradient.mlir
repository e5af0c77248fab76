#map = affine_map<(d0) -> ()>
#map1 = affine_map<(d0) -> (d0)>
#map2 = affine_map<(d0, d1) -> (d0)>
#map3 = affine_map<(d0, d1) -> (d0, d1)>
#map4 = affine_map<(d0, d1) -> ()>
module @jit_embedding_gradient {
  func.func public @main(%arg0: tensor<50x16xf32>, %arg1: tensor<13xi32>, %arg2: tensor<13x16xf32>) -> tensor<50x16xf32> {
    %cst = arith.constant dense<1.000000e+00> : tensor<f32>
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<f32>
    %cst_1 = arith.constant dense<50> : tensor<i32>
    %cst_2 = arith.constant dense<0> : tensor<i32>
    %0 = tensor.empty() : tensor<13xi32>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel"]} ins(%cst_2 : tensor<i32>) outs(%0 : tensor<13xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<13xi32>
    %2 = tensor.empty() : tensor<13xi1>
    %3 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel"]} ins(%arg1, %1 : tensor<13xi32>, tensor<13xi32>) outs(%2 : tensor<13xi1>) {
    ^bb0(%in: i32, %in_3: i32, %out: i1):
      %15 = arith.cmpi slt, %in, %in_3 : i32
      linalg.yield %15 : i1
    } -> tensor<13xi1>
    %4 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel"]} ins(%cst_1 : tensor<i32>) outs(%0 : tensor<13xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<13xi32>
    %5 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel"]} ins(%arg1, %4 : tensor<13xi32>, tensor<13xi32>) outs(%0 : tensor<13xi32>) {
    ^bb0(%in: i32, %in_3: i32, %out: i32):
      %15 = arith.addi %in, %in_3 : i32
      linalg.yield %15 : i32
    } -> tensor<13xi32>
    %6 = linalg.generic {indexing_maps = [#map1, #map1, #map1, #map1], iterator_types = ["parallel"]} ins(%3, %5, %arg1 : tensor<13xi1>, tensor<13xi32>, tensor<13xi32>) outs(%0 : tensor<13xi32>) {
    ^bb0(%in: i1, %in_3: i32, %in_4: i32, %out: i32):
      %15 = arith.select %in, %in_3, %in_4 : i32
      linalg.yield %15 : i32
    } -> tensor<13xi32>
    %7 = tensor.empty() : tensor<13x1xi32>
    %8 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel", "parallel"]} ins(%6 : tensor<13xi32>) outs(%7 : tensor<13x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<13x1xi32>
    %9 = tensor.empty() : tensor<13x16xf32>
    %10 = linalg.generic {indexing_maps = [#map4, #map3], iterator_types = ["parallel", "parallel"]} ins(%cst : tensor<f32>) outs(%9 : tensor<13x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<13x16xf32>
    %11 = linalg.generic {indexing_maps = [#map3, #map3, #map3], iterator_types = ["parallel", "parallel"]} ins(%10, %arg2 : tensor<13x16xf32>, tensor<13x16xf32>) outs(%9 : tensor<13x16xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %15 = arith.mulf %in, %in_3 : f32
      linalg.yield %15 : f32
    } -> tensor<13x16xf32>
    %12 = tensor.empty() : tensor<50x16xf32>
    %13 = linalg.generic {indexing_maps = [#map4, #map3], iterator_types = ["parallel", "parallel"]} ins(%cst_0 : tensor<f32>) outs(%12 : tensor<50x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<50x16xf32>
    %14 = call @scatter.0(%13, %8, %11) : (tensor<50x16xf32>, tensor<13x1xi32>, tensor<13x16xf32>) -> tensor<50x16xf32>
    return %14 : tensor<50x16xf32>
  }
  func.func private @scatter.0(%arg0: tensor<50x16xf32>, %arg1: tensor<13x1xi32>, %arg2: tensor<13x16xf32>) -> tensor<50x16xf32> {
    %c49 = arith.constant 49 : index
    %c13 = arith.constant 13 : index
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %0 = scf.forall (%arg3) in (16) shared_outs(%arg4 = %arg0) -> (tensor<50x16xf32>) {
      %extracted_slice = tensor.extract_slice %arg4[0, %arg3] [50, 1] [1, 1] : tensor<50x16xf32> to tensor<50x1xf32>
      %1 = scf.for %arg5 = %c0 to %c13 step %c1 iter_args(%arg6 = %extracted_slice) -> (tensor<50x1xf32>) {
        %extracted = tensor.extract %arg1[%arg5, %c0] : tensor<13x1xi32>
        %2 = arith.index_cast %extracted : i32 to index
        %3 = arith.cmpi ule, %2, %c49 : index
        %4 = arith.select %3, %2, %c0 : index
        %extracted_0 = tensor.extract %arg6[%4, %c0] : tensor<50x1xf32>
        %extracted_1 = tensor.extract %arg2[%arg5, %arg3] : tensor<13x16xf32>
        %5 = arith.addf %extracted_0, %extracted_1 : f32
        %6 = arith.select %3, %5, %extracted_0 : f32
        %inserted = tensor.insert %6 into %arg6[%4, %c0] : tensor<50x1xf32>
        scf.yield %inserted : tensor<50x1xf32>
      }
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %1 into %arg4[0, %arg3] [50, 1] [1, 1] : tensor<50x1xf32> into tensor<50x16xf32>
      }
    }
    return %0 : tensor<50x16xf32>
  }
}
