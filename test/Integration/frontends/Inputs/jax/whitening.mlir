#map = affine_map<(d0, d1) -> (d1, d0)>
#map1 = affine_map<(d0, d1) -> (d0, d1)>
#map2 = affine_map<(d0, d1) -> ()>
module @jit_whitening {
  func.func public @main(%arg0: tensor<40x12xf32>, %arg1: tensor<12x5xf32>) -> tensor<12x5xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant dense<0> : tensor<i32>
    %cst_1 = arith.constant dense<4.000000e+01> : tensor<f32>
    %0 = tensor.empty() : tensor<12x40xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<40x12xf32>) outs(%0 : tensor<12x40xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<12x40xf32>
    %2 = tensor.empty() : tensor<12x12xf32>
    %3 = linalg.fill ins(%cst : f32) outs(%2 : tensor<12x12xf32>) -> tensor<12x12xf32>
    %4 = linalg.matmul ins(%1, %arg0 : tensor<12x40xf32>, tensor<40x12xf32>) outs(%3 : tensor<12x12xf32>) -> tensor<12x12xf32>
    %5 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_1 : tensor<f32>) outs(%2 : tensor<12x12xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<12x12xf32>
    %6 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%4, %5 : tensor<12x12xf32>, tensor<12x12xf32>) outs(%2 : tensor<12x12xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %18 = arith.divf %in, %in_2 : f32
      linalg.yield %18 : f32
    } -> tensor<12x12xf32>
    %7 = tensor.empty() : tensor<12x12xi32>
    %8 = linalg.generic {indexing_maps = [#map1], iterator_types = ["parallel", "parallel"]} outs(%7 : tensor<12x12xi32>) {
    ^bb0(%out: i32):
      %18 = linalg.index 0 : index
      %19 = arith.index_cast %18 : index to i32
      linalg.yield %19 : i32
    } -> tensor<12x12xi32>
    %9 = linalg.generic {indexing_maps = [#map1], iterator_types = ["parallel", "parallel"]} outs(%7 : tensor<12x12xi32>) {
    ^bb0(%out: i32):
      %18 = linalg.index 1 : index
      %19 = arith.index_cast %18 : index to i32
      linalg.yield %19 : i32
    } -> tensor<12x12xi32>
    %10 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_0 : tensor<i32>) outs(%7 : tensor<12x12xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<12x12xi32>
    %11 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%8, %10 : tensor<12x12xi32>, tensor<12x12xi32>) outs(%7 : tensor<12x12xi32>) {
    ^bb0(%in: i32, %in_2: i32, %out: i32):
      %18 = arith.addi %in, %in_2 : i32
      linalg.yield %18 : i32
    } -> tensor<12x12xi32>
    %12 = tensor.empty() : tensor<12x12xi1>
    %13 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%11, %9 : tensor<12x12xi32>, tensor<12x12xi32>) outs(%12 : tensor<12x12xi1>) {
    ^bb0(%in: i32, %in_2: i32, %out: i1):
      %18 = arith.cmpi eq, %in, %in_2 : i32
      linalg.yield %18 : i1
    } -> tensor<12x12xi1>
    %14 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%13 : tensor<12x12xi1>) outs(%2 : tensor<12x12xf32>) {
    ^bb0(%in: i1, %out: f32):
      %18 = arith.uitofp %in : i1 to f32
      linalg.yield %18 : f32
    } -> tensor<12x12xf32>
    %15 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%6, %14 : tensor<12x12xf32>, tensor<12x12xf32>) outs(%2 : tensor<12x12xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %18 = arith.addf %in, %in_2 : f32
      linalg.yield %18 : f32
    } -> tensor<12x12xf32>
    %16 = call @cholesky(%15) : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %17 = call @triangular_solve.0(%16, %arg1) : (tensor<12x12xf32>, tensor<12x5xf32>) -> tensor<12x5xf32>
    return %17 : tensor<12x5xf32>
  }
  func.func private @cholesky(%arg0: tensor<12x12xf32>) -> tensor<12x12xf32> {
    %cst = arith.constant dense<0.000000e+00> : tensor<f32>
    %cst_0 = arith.constant dense<0> : tensor<i32>
    %cst_1 = arith.constant dense<2.000000e+00> : tensor<f32>
    %0 = tensor.empty() : tensor<12x12xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<12x12xf32>) outs(%0 : tensor<12x12xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<12x12xf32>
    %2 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg0, %1 : tensor<12x12xf32>, tensor<12x12xf32>) outs(%0 : tensor<12x12xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %15 = arith.addf %in, %in_2 : f32
      linalg.yield %15 : f32
    } -> tensor<12x12xf32>
    %3 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_1 : tensor<f32>) outs(%0 : tensor<12x12xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<12x12xf32>
    %4 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%2, %3 : tensor<12x12xf32>, tensor<12x12xf32>) outs(%0 : tensor<12x12xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %15 = arith.divf %in, %in_2 : f32
      linalg.yield %15 : f32
    } -> tensor<12x12xf32>
    %5 = call @cholesky.1(%4) : (tensor<12x12xf32>) -> tensor<12x12xf32>
    %6 = tensor.empty() : tensor<12x12xi32>
    %7 = linalg.generic {indexing_maps = [#map1], iterator_types = ["parallel", "parallel"]} outs(%6 : tensor<12x12xi32>) {
    ^bb0(%out: i32):
      %15 = linalg.index 0 : index
      %16 = arith.index_cast %15 : index to i32
      linalg.yield %16 : i32
    } -> tensor<12x12xi32>
    %8 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_0 : tensor<i32>) outs(%6 : tensor<12x12xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<12x12xi32>
    %9 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%7, %8 : tensor<12x12xi32>, tensor<12x12xi32>) outs(%6 : tensor<12x12xi32>) {
    ^bb0(%in: i32, %in_2: i32, %out: i32):
      %15 = arith.addi %in, %in_2 : i32
      linalg.yield %15 : i32
    } -> tensor<12x12xi32>
    %10 = linalg.generic {indexing_maps = [#map1], iterator_types = ["parallel", "parallel"]} outs(%6 : tensor<12x12xi32>) {
    ^bb0(%out: i32):
      %15 = linalg.index 1 : index
      %16 = arith.index_cast %15 : index to i32
      linalg.yield %16 : i32
    } -> tensor<12x12xi32>
    %11 = tensor.empty() : tensor<12x12xi1>
    %12 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%9, %10 : tensor<12x12xi32>, tensor<12x12xi32>) outs(%11 : tensor<12x12xi1>) {
    ^bb0(%in: i32, %in_2: i32, %out: i1):
      %15 = arith.cmpi sge, %in, %in_2 : i32
      linalg.yield %15 : i1
    } -> tensor<12x12xi1>
    %13 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst : tensor<f32>) outs(%0 : tensor<12x12xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<12x12xf32>
    %14 = linalg.generic {indexing_maps = [#map1, #map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%12, %5, %13 : tensor<12x12xi1>, tensor<12x12xf32>, tensor<12x12xf32>) outs(%0 : tensor<12x12xf32>) {
    ^bb0(%in: i1, %in_2: f32, %in_3: f32, %out: f32):
      %15 = arith.select %in, %in_2, %in_3 : f32
      linalg.yield %15 : f32
    } -> tensor<12x12xf32>
    return %14 : tensor<12x12xf32>
  }
  func.func private @triangular_solve.0(%arg0: tensor<12x12xf32>, %arg1: tensor<12x5xf32>) -> tensor<12x5xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c12 = arith.constant 12 : index
    %0 = tensor.empty() : tensor<12x5xf32>
    %1 = scf.forall (%arg2) in (5) shared_outs(%arg3 = %0) -> (tensor<12x5xf32>) {
      %extracted_slice = tensor.extract_slice %arg3[0, %arg2] [12, 1] [1, 1] : tensor<12x5xf32> to tensor<12x1xf32>
      %2 = scf.for %arg4 = %c0 to %c12 step %c1 iter_args(%arg5 = %extracted_slice) -> (tensor<12x1xf32>) {
        %extracted = tensor.extract %arg1[%arg4, %arg2] : tensor<12x5xf32>
        %3 = scf.for %arg6 = %c0 to %arg4 step %c1 iter_args(%arg7 = %extracted) -> (f32) {
          %extracted_1 = tensor.extract %arg5[%arg6, %c0] : tensor<12x1xf32>
          %extracted_2 = tensor.extract %arg0[%arg4, %arg6] : tensor<12x12xf32>
          %5 = arith.mulf %extracted_2, %extracted_1 : f32
          %6 = arith.subf %arg7, %5 : f32
          scf.yield %6 : f32
        }
        %extracted_0 = tensor.extract %arg0[%arg4, %arg4] : tensor<12x12xf32>
        %4 = arith.divf %3, %extracted_0 : f32
        %inserted = tensor.insert %4 into %arg5[%arg4, %c0] : tensor<12x1xf32>
        scf.yield %inserted : tensor<12x1xf32>
      }
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %2 into %arg3[0, %arg2] [12, 1] [1, 1] : tensor<12x1xf32> into tensor<12x5xf32>
      }
    }
    return %1 : tensor<12x5xf32>
  }
  func.func private @cholesky.1(%arg0: tensor<12x12xf32>) -> tensor<12x12xf32> {
    %c12 = arith.constant 12 : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<12x12xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<12x12xf32>) -> tensor<12x12xf32>
    %2 = scf.for %arg1 = %c0 to %c12 step %c1 iter_args(%arg2 = %1) -> (tensor<12x12xf32>) {
      %3 = scf.forall (%arg3) in (12) shared_outs(%arg4 = %arg2) -> (tensor<12x12xf32>) {
        %4:2 = scf.for %arg5 = %c0 to %arg1 step %c1 iter_args(%arg6 = %cst, %arg7 = %cst) -> (f32, f32) {
          %extracted_1 = tensor.extract %arg4[%arg3, %arg5] : tensor<12x12xf32>
          %extracted_2 = tensor.extract %arg4[%arg1, %arg5] : tensor<12x12xf32>
          %13 = arith.mulf %extracted_1, %extracted_2 : f32
          %14 = arith.addf %arg6, %13 fastmath<reassoc> : f32
          %15 = arith.mulf %extracted_2, %extracted_2 : f32
          %16 = arith.addf %arg7, %15 fastmath<reassoc> : f32
          scf.yield %14, %16 : f32, f32
        }
        %extracted = tensor.extract %arg0[%arg1, %arg1] : tensor<12x12xf32>
        %5 = arith.subf %extracted, %4#1 : f32
        %6 = math.sqrt %5 : f32
        %extracted_0 = tensor.extract %arg0[%arg3, %arg1] : tensor<12x12xf32>
        %7 = arith.subf %extracted_0, %4#0 : f32
        %8 = arith.divf %7, %6 : f32
        %9 = arith.cmpi ult, %arg3, %arg1 : index
        %10 = arith.cmpi eq, %arg3, %arg1 : index
        %11 = arith.select %10, %6, %8 : f32
        %12 = arith.select %9, %cst, %11 : f32
        %from_elements = tensor.from_elements %12 : tensor<1x1xf32>
        scf.forall.in_parallel {
          tensor.parallel_insert_slice %from_elements into %arg4[%arg3, %arg1] [1, 1] [1, 1] : tensor<1x1xf32> into tensor<12x12xf32>
        }
      }
      scf.yield %3 : tensor<12x12xf32>
    }
    return %2 : tensor<12x12xf32>
  }
}
