#map = affine_map<(d0) -> (d0)>
module {
  func.func @main(%arg0: tensor<50x16xf32>, %arg1: tensor<13xi32>, %arg2: tensor<13x16xf32>) -> tensor<50x16xf32> {
    %cst = arith.constant dense<0.000000e+00> : tensor<50x16xf32>
    %0 = tensor.empty() : tensor<13xi64>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%arg1 : tensor<13xi32>) outs(%0 : tensor<13xi64>) {
    ^bb0(%in: i32, %out: i64):
      %3 = arith.extsi %in : i32 to i64
      linalg.yield %3 : i64
    } -> tensor<13xi64>
    %expanded = tensor.expand_shape %1 [[0, 1]] output_shape [13, 1] : tensor<13xi64> into tensor<13x1xi64>
    %expanded_0 = tensor.expand_shape %arg2 [[0], [1, 2]] output_shape [13, 1, 16] : tensor<13x16xf32> into tensor<13x1x16xf32>
    %2 = call @scatter.0(%cst, %expanded, %expanded_0) : (tensor<50x16xf32>, tensor<13x1xi64>, tensor<13x1x16xf32>) -> tensor<50x16xf32>
    return %2 : tensor<50x16xf32>
  }
  func.func private @scatter.0(%arg0: tensor<50x16xf32>, %arg1: tensor<13x1xi64>, %arg2: tensor<13x1x16xf32>) -> tensor<50x16xf32> {
    %0 = scf.forall (%arg3) in (16) shared_outs(%arg4 = %arg0) -> (tensor<50x16xf32>) {
      %extracted_slice = tensor.extract_slice %arg4[0, %arg3] [50, 1] [1, 1] : tensor<50x16xf32> to tensor<50x1xf32>
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c13 = arith.constant 13 : index
      %1 = scf.for %arg5 = %c0 to %c13 step %c1 iter_args(%arg6 = %extracted_slice) -> (tensor<50x1xf32>) {
        %c1_0 = arith.constant 1 : index
        %2 = scf.for %arg7 = %c0 to %c1_0 step %c1 iter_args(%arg8 = %arg6) -> (tensor<50x1xf32>) {
          %c0_1 = arith.constant 0 : index
          %true = arith.constant true
          %c0_2 = arith.constant 0 : index
          %extracted = tensor.extract %arg1[%arg5, %c0_2] : tensor<13x1xi64>
          %3 = arith.index_cast %extracted : i64 to index
          %4 = arith.cmpi slt, %3, %c0_1 : index
          %c50 = arith.constant 50 : index
          %5 = arith.addi %3, %c50 : index
          %6 = arith.select %4, %5, %3 : index
          %c49 = arith.constant 49 : index
          %7 = arith.cmpi ule, %6, %c49 : index
          %8 = arith.andi %true, %7 : i1
          %9 = arith.addi %arg7, %6 : index
          %10 = arith.select %8, %9, %c0_1 : index
          %extracted_3 = tensor.extract %arg8[%10, %c0_1] : tensor<50x1xf32>
          %extracted_4 = tensor.extract %arg2[%arg5, %arg7, %arg3] : tensor<13x1x16xf32>
          %11 = arith.addf %extracted_3, %extracted_4 : f32
          %12 = arith.select %8, %11, %extracted_3 : f32
          %inserted = tensor.insert %12 into %arg8[%10, %c0_1] : tensor<50x1xf32>
          scf.yield %inserted : tensor<50x1xf32>
        }
        scf.yield %2 : tensor<50x1xf32>
      }
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %1 into %arg4[0, %arg3] [50, 1] [1, 1] : tensor<50x1xf32> into tensor<50x16xf32>
      }
    }
    return %0 : tensor<50x16xf32>
  }
}
