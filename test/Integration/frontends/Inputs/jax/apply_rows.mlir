#map = affine_map<(d0) -> ()>
#map1 = affine_map<(d0) -> (d0)>
#map2 = affine_map<(d0, d1) -> (d0)>
#map3 = affine_map<(d0, d1) -> (d0, d1)>
#map4 = affine_map<(d0, d1) -> ()>
#map5 = affine_map<() -> ()>
module @jit_apply_rows {
  func.func public @main(%arg0: tensor<50x16xf32>, %arg1: tensor<13xi32>) -> tensor<50x16xf32> {
    %cst = arith.constant dense<0.000000e+00> : tensor<f32>
    %cst_0 = arith.constant dense<50> : tensor<i32>
    %cst_1 = arith.constant dense<0> : tensor<i32>
    %0 = tensor.empty() : tensor<13xi32>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel"]} ins(%cst_1 : tensor<i32>) outs(%0 : tensor<13xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<13xi32>
    %2 = tensor.empty() : tensor<13xi1>
    %3 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel"]} ins(%arg1, %1 : tensor<13xi32>, tensor<13xi32>) outs(%2 : tensor<13xi1>) {
    ^bb0(%in: i32, %in_2: i32, %out: i1):
      %12 = arith.cmpi slt, %in, %in_2 : i32
      linalg.yield %12 : i1
    } -> tensor<13xi1>
    %4 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel"]} ins(%cst_0 : tensor<i32>) outs(%0 : tensor<13xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<13xi32>
    %5 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel"]} ins(%arg1, %4 : tensor<13xi32>, tensor<13xi32>) outs(%0 : tensor<13xi32>) {
    ^bb0(%in: i32, %in_2: i32, %out: i32):
      %12 = arith.addi %in, %in_2 : i32
      linalg.yield %12 : i32
    } -> tensor<13xi32>
    %6 = linalg.generic {indexing_maps = [#map1, #map1, #map1, #map1], iterator_types = ["parallel"]} ins(%3, %5, %arg1 : tensor<13xi1>, tensor<13xi32>, tensor<13xi32>) outs(%0 : tensor<13xi32>) {
    ^bb0(%in: i1, %in_2: i32, %in_3: i32, %out: i32):
      %12 = arith.select %in, %in_2, %in_3 : i32
      linalg.yield %12 : i32
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
    %11 = call @scatter.0(%arg0, %8, %10) : (tensor<50x16xf32>, tensor<13x1xi32>, tensor<13x16xf32>) -> tensor<50x16xf32>
    return %11 : tensor<50x16xf32>
  }
  func.func private @softplus(%arg0: tensor<f32>) -> tensor<f32> {
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<f32>
    %1 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = []} ins(%arg0 : tensor<f32>) outs(%0 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %11 = arith.maximumf %in, %cst : f32
      linalg.yield %11 : f32
    } -> tensor<f32>
    %2 = tensor.empty() : tensor<i1>
    %3 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = []} ins(%arg0, %arg0 : tensor<f32>, tensor<f32>) outs(%2 : tensor<i1>) {
    ^bb0(%in: f32, %in_0: f32, %out: i1):
      %11 = arith.cmpf une, %in, %in_0 : f32
      linalg.yield %11 : i1
    } -> tensor<i1>
    %4 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = []} ins(%arg0 : tensor<f32>) outs(%0 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %11 = arith.addf %in, %cst : f32
      linalg.yield %11 : f32
    } -> tensor<f32>
    %5 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = []} ins(%arg0 : tensor<f32>) outs(%0 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %11 = math.absf %in : f32
      linalg.yield %11 : f32
    } -> tensor<f32>
    %6 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = []} ins(%5 : tensor<f32>) outs(%0 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %11 = arith.negf %in : f32
      linalg.yield %11 : f32
    } -> tensor<f32>
    %7 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = []} ins(%6 : tensor<f32>) outs(%0 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %11 = math.exp %in : f32
      linalg.yield %11 : f32
    } -> tensor<f32>
    %8 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = []} ins(%7 : tensor<f32>) outs(%0 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %11 = math.log1p %in : f32
      linalg.yield %11 : f32
    } -> tensor<f32>
    %9 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = []} ins(%1, %8 : tensor<f32>, tensor<f32>) outs(%0 : tensor<f32>) {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %11 = arith.addf %in, %in_0 : f32
      linalg.yield %11 : f32
    } -> tensor<f32>
    %10 = linalg.generic {indexing_maps = [#map5, #map5, #map5, #map5], iterator_types = []} ins(%3, %4, %9 : tensor<i1>, tensor<f32>, tensor<f32>) outs(%0 : tensor<f32>) {
    ^bb0(%in: i1, %in_0: f32, %in_1: f32, %out: f32):
      %11 = arith.select %in, %in_0, %in_1 : f32
      linalg.yield %11 : f32
    } -> tensor<f32>
    return %10 : tensor<f32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<f32> {
    %0 = tensor.empty() : tensor<f32>
    %1 = linalg.generic {indexing_maps = [#map5, #map5, #map5, #map5], iterator_types = []} ins(%arg0, %arg1, %arg2 : tensor<i1>, tensor<f32>, tensor<f32>) outs(%0 : tensor<f32>) {
    ^bb0(%in: i1, %in_0: f32, %in_1: f32, %out: f32):
      %2 = arith.select %in, %in_0, %in_1 : f32
      linalg.yield %2 : f32
    } -> tensor<f32>
    return %1 : tensor<f32>
  }
  func.func private @scatter.0(%arg0: tensor<50x16xf32>, %arg1: tensor<13x1xi32>, %arg2: tensor<13x16xf32>) -> tensor<50x16xf32> {
    %cst = arith.constant 5.000000e-01 : f32
    %cst_0 = arith.constant 0.000000e+00 : f32
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
        %extracted_1 = tensor.extract %arg6[%4, %c0] : tensor<50x1xf32>
        %5 = arith.cmpf ogt, %extracted_1, %cst_0 : f32
        %6 = arith.maximumf %extracted_1, %cst_0 : f32
        %7 = arith.cmpf une, %extracted_1, %extracted_1 : f32
        %8 = arith.addf %extracted_1, %cst_0 : f32
        %9 = math.absf %extracted_1 : f32
        %10 = arith.negf %9 : f32
        %11 = math.exp %10 : f32
        %12 = math.log1p %11 : f32
        %13 = arith.addf %6, %12 : f32
        %14 = arith.select %7, %8, %13 : f32
        %15 = arith.mulf %extracted_1, %cst : f32
        %16 = arith.select %5, %14, %15 : f32
        %17 = arith.select %3, %16, %extracted_1 : f32
        %inserted = tensor.insert %17 into %arg6[%4, %c0] : tensor<50x1xf32>
        scf.yield %inserted : tensor<50x1xf32>
      }
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %1 into %arg4[0, %arg3] [50, 1] [1, 1] : tensor<50x1xf32> into tensor<50x16xf32>
      }
    }
    return %0 : tensor<50x16xf32>
  }
}
