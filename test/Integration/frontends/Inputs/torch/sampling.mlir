#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d0)>
#map2 = affine_map<(d0, d1) -> (d0, 0)>
module {
  func.func @main(%arg0: tensor<3x37xf32>) -> (tensor<3x5xf32>, tensor<3x5xi32>) {
    %c0_i64 = arith.constant 0 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %0 = tensor.empty() : tensor<3x37xi64>
    %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel"]} outs(%0 : tensor<3x37xi64>) {
    ^bb0(%out: i64):
      %17 = linalg.index 1 : index
      %18 = arith.index_cast %17 : index to i64
      linalg.yield %18 : i64
    } -> tensor<3x37xi64>
    %2:2 = call @sort.0(%arg0, %1) : (tensor<3x37xf32>, tensor<3x37xi64>) -> (tensor<3x5xf32>, tensor<3x5xi64>)
    %3 = tensor.empty() : tensor<3xi64>
    %4 = linalg.fill ins(%c0_i64 : i64) outs(%3 : tensor<3xi64>) -> tensor<3xi64>
    %5 = tensor.empty() : tensor<3xf32>
    %6 = linalg.fill ins(%cst_0 : f32) outs(%5 : tensor<3xf32>) -> tensor<3xf32>
    %7:2 = linalg.generic {indexing_maps = [#map, #map1, #map1], iterator_types = ["parallel", "reduction"]} ins(%2#0 : tensor<3x5xf32>) outs(%6, %4 : tensor<3xf32>, tensor<3xi64>) {
    ^bb0(%in: f32, %out: f32, %out_1: i64):
      %17 = linalg.index 1 : index
      %18 = arith.index_cast %17 : index to i64
      %19 = arith.maximumf %in, %out : f32
      %20 = arith.cmpf ogt, %in, %out : f32
      %21 = arith.cmpf uno, %in, %in : f32
      %22 = arith.cmpf ord, %out, %out : f32
      %23 = arith.andi %21, %22 : i1
      %24 = arith.ori %20, %23 : i1
      %25 = arith.select %24, %18, %out_1 : i64
      linalg.yield %19, %25 : f32, i64
    } -> (tensor<3xf32>, tensor<3xi64>)
    %expanded = tensor.expand_shape %7#0 [[0, 1]] output_shape [3, 1] : tensor<3xf32> into tensor<3x1xf32>
    %8 = tensor.empty() : tensor<3x5xf32>
    %9 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel"]} ins(%2#0, %expanded : tensor<3x5xf32>, tensor<3x1xf32>) outs(%8 : tensor<3x5xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %17 = arith.subf %in, %in_1 : f32
      linalg.yield %17 : f32
    } -> tensor<3x5xf32>
    %10 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%9 : tensor<3x5xf32>) outs(%8 : tensor<3x5xf32>) {
    ^bb0(%in: f32, %out: f32):
      %17 = math.exp %in : f32
      linalg.yield %17 : f32
    } -> tensor<3x5xf32>
    %11 = tensor.empty() : tensor<3x1xf32>
    %12 = linalg.fill ins(%cst : f32) outs(%11 : tensor<3x1xf32>) -> tensor<3x1xf32>
    %13 = linalg.generic {indexing_maps = [#map, #map2], iterator_types = ["parallel", "reduction"]} ins(%10 : tensor<3x5xf32>) outs(%12 : tensor<3x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %17 = arith.addf %in, %out : f32
      linalg.yield %17 : f32
    } -> tensor<3x1xf32>
    %14 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel"]} ins(%10, %13 : tensor<3x5xf32>, tensor<3x1xf32>) outs(%8 : tensor<3x5xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %17 = arith.divf %in, %in_1 : f32
      linalg.yield %17 : f32
    } -> tensor<3x5xf32>
    %15 = tensor.empty() : tensor<3x5xi32>
    %16 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%2#1 : tensor<3x5xi64>) outs(%15 : tensor<3x5xi32>) {
    ^bb0(%in: i64, %out: i32):
      %17 = arith.trunci %in : i64 to i32
      linalg.yield %17 : i32
    } -> tensor<3x5xi32>
    return %14, %16 : tensor<3x5xf32>, tensor<3x5xi32>
  }
  func.func private @sort.0(%arg0: tensor<3x37xf32>, %arg1: tensor<3x37xi64>) -> (tensor<3x5xf32>, tensor<3x5xi64>) {
    %true = arith.constant true
    %0 = tensor.empty() : tensor<3x7xi32>
    %1 = scf.forall (%arg2, %arg3) in (3, 7) shared_outs(%arg4 = %0) -> (tensor<3x7xi32>) {
      %c6 = arith.constant 6 : index
      %7 = arith.muli %arg3, %c6 : index
      %c6_0 = arith.constant 6 : index
      %8 = arith.addi %7, %c6_0 : index
      %c37 = arith.constant 37 : index
      %9 = arith.minsi %8, %c37 : index
      %c-1_i32 = arith.constant -1 : i32
      %c1 = arith.constant 1 : index
      %10 = scf.for %arg5 = %7 to %9 step %c1 iter_args(%arg6 = %c-1_i32) -> (i32) {
        %11 = arith.index_cast %arg5 : index to i32
        %c0_i32 = arith.constant 0 : i32
        %12 = arith.cmpi slt, %arg6, %c0_i32 : i32
        %c0_i32_1 = arith.constant 0 : i32
        %13 = arith.maxsi %11, %c0_i32_1 : i32
        %14 = arith.index_cast %13 : i32 to index
        %extracted = tensor.extract %arg0[%arg2, %14] : tensor<3x37xf32>
        %extracted_2 = tensor.extract %arg1[%arg2, %14] : tensor<3x37xi64>
        %c0_i32_3 = arith.constant 0 : i32
        %15 = arith.maxsi %arg6, %c0_i32_3 : i32
        %16 = arith.index_cast %15 : i32 to index
        %extracted_4 = tensor.extract %arg0[%arg2, %16] : tensor<3x37xf32>
        %extracted_5 = tensor.extract %arg1[%arg2, %16] : tensor<3x37xi64>
        %17 = arith.cmpf oge, %extracted, %extracted_4 : f32
        %18 = arith.cmpf uno, %extracted, %extracted : f32
        %19 = arith.ori %17, %18 : i1
        %20 = arith.cmpf oge, %extracted_4, %extracted : f32
        %21 = arith.cmpf uno, %extracted_4, %extracted_4 : f32
        %22 = arith.ori %20, %21 : i1
        %23 = arith.cmpi eq, %19, %22 : i1
        %24 = arith.cmpi slt, %11, %arg6 : i32
        %25 = arith.select %23, %24, %19 : i1
        %26 = arith.ori %12, %25 : i1
        %27 = arith.andi %26, %true : i1
        %28 = arith.select %27, %11, %arg6 : i32
        scf.yield %28 : i32
      }
      %from_elements = tensor.from_elements %10 : tensor<1x1xi32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %from_elements into %arg4[%arg2, %arg3] [1, 1] [1, 1] : tensor<1x1xi32> into tensor<3x7xi32>
      }
    }
    %2 = tensor.empty() : tensor<3x5xi32>
    %3:2 = scf.forall (%arg2) in (3) shared_outs(%arg3 = %1, %arg4 = %2) -> (tensor<3x7xi32>, tensor<3x5xi32>) {
      %extracted_slice = tensor.extract_slice %arg3[%arg2, 0] [1, 7] [1, 1] : tensor<3x7xi32> to tensor<1x7xi32>
      %extracted_slice_0 = tensor.extract_slice %arg4[%arg2, 0] [1, 5] [1, 1] : tensor<3x5xi32> to tensor<1x5xi32>
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c5 = arith.constant 5 : index
      %7:2 = scf.for %arg5 = %c0 to %c5 step %c1 iter_args(%arg6 = %extracted_slice, %arg7 = %extracted_slice_0) -> (tensor<1x7xi32>, tensor<1x5xi32>) {
        %c0_1 = arith.constant 0 : index
        %c0_2 = arith.constant 0 : index
        %c7 = arith.constant 7 : index
        %c-1_i32 = arith.constant -1 : i32
        %c1_3 = arith.constant 1 : index
        %8 = scf.for %arg8 = %c0_2 to %c7 step %c1_3 iter_args(%arg9 = %c-1_i32) -> (i32) {
          %extracted = tensor.extract %arg6[%c0_1, %arg8] : tensor<1x7xi32>
          %c0_i32 = arith.constant 0 : i32
          %15 = arith.cmpi sge, %extracted, %c0_i32 : i32
          %c0_i32_9 = arith.constant 0 : i32
          %16 = arith.cmpi slt, %arg9, %c0_i32_9 : i32
          %c0_i32_10 = arith.constant 0 : i32
          %17 = arith.maxsi %extracted, %c0_i32_10 : i32
          %18 = arith.index_cast %17 : i32 to index
          %extracted_11 = tensor.extract %arg0[%arg2, %18] : tensor<3x37xf32>
          %extracted_12 = tensor.extract %arg1[%arg2, %18] : tensor<3x37xi64>
          %c0_i32_13 = arith.constant 0 : i32
          %19 = arith.maxsi %arg9, %c0_i32_13 : i32
          %20 = arith.index_cast %19 : i32 to index
          %extracted_14 = tensor.extract %arg0[%arg2, %20] : tensor<3x37xf32>
          %extracted_15 = tensor.extract %arg1[%arg2, %20] : tensor<3x37xi64>
          %21 = arith.cmpf oge, %extracted_11, %extracted_14 : f32
          %22 = arith.cmpf uno, %extracted_11, %extracted_11 : f32
          %23 = arith.ori %21, %22 : i1
          %24 = arith.cmpf oge, %extracted_14, %extracted_11 : f32
          %25 = arith.cmpf uno, %extracted_14, %extracted_14 : f32
          %26 = arith.ori %24, %25 : i1
          %27 = arith.cmpi eq, %23, %26 : i1
          %28 = arith.cmpi slt, %extracted, %arg9 : i32
          %29 = arith.select %27, %28, %23 : i1
          %30 = arith.ori %16, %29 : i1
          %31 = arith.andi %30, %15 : i1
          %32 = arith.select %31, %extracted, %arg9 : i32
          scf.yield %32 : i32
        }
        %inserted = tensor.insert %8 into %arg7[%c0_1, %arg5] : tensor<1x5xi32>
        %9 = arith.index_cast %8 : i32 to index
        %c6 = arith.constant 6 : index
        %10 = arith.divui %9, %c6 : index
        %c6_4 = arith.constant 6 : index
        %11 = arith.muli %10, %c6_4 : index
        %c6_5 = arith.constant 6 : index
        %12 = arith.addi %11, %c6_5 : index
        %c37 = arith.constant 37 : index
        %13 = arith.minsi %12, %c37 : index
        %c-1_i32_6 = arith.constant -1 : i32
        %c1_7 = arith.constant 1 : index
        %14 = scf.for %arg8 = %11 to %13 step %c1_7 iter_args(%arg9 = %c-1_i32_6) -> (i32) {
          %15 = arith.index_cast %arg8 : index to i32
          %c0_i32 = arith.constant 0 : i32
          %16 = arith.maxsi %8, %c0_i32 : i32
          %17 = arith.index_cast %16 : i32 to index
          %extracted = tensor.extract %arg0[%arg2, %17] : tensor<3x37xf32>
          %extracted_9 = tensor.extract %arg1[%arg2, %17] : tensor<3x37xi64>
          %c0_i32_10 = arith.constant 0 : i32
          %18 = arith.maxsi %15, %c0_i32_10 : i32
          %19 = arith.index_cast %18 : i32 to index
          %extracted_11 = tensor.extract %arg0[%arg2, %19] : tensor<3x37xf32>
          %extracted_12 = tensor.extract %arg1[%arg2, %19] : tensor<3x37xi64>
          %20 = arith.cmpf oge, %extracted, %extracted_11 : f32
          %21 = arith.cmpf uno, %extracted, %extracted : f32
          %22 = arith.ori %20, %21 : i1
          %23 = arith.cmpf oge, %extracted_11, %extracted : f32
          %24 = arith.cmpf uno, %extracted_11, %extracted_11 : f32
          %25 = arith.ori %23, %24 : i1
          %26 = arith.cmpi eq, %22, %25 : i1
          %27 = arith.cmpi slt, %8, %15 : i32
          %28 = arith.select %26, %27, %22 : i1
          %c0_i32_13 = arith.constant 0 : i32
          %29 = arith.cmpi slt, %arg9, %c0_i32_13 : i32
          %c0_i32_14 = arith.constant 0 : i32
          %30 = arith.maxsi %15, %c0_i32_14 : i32
          %31 = arith.index_cast %30 : i32 to index
          %extracted_15 = tensor.extract %arg0[%arg2, %31] : tensor<3x37xf32>
          %extracted_16 = tensor.extract %arg1[%arg2, %31] : tensor<3x37xi64>
          %c0_i32_17 = arith.constant 0 : i32
          %32 = arith.maxsi %arg9, %c0_i32_17 : i32
          %33 = arith.index_cast %32 : i32 to index
          %extracted_18 = tensor.extract %arg0[%arg2, %33] : tensor<3x37xf32>
          %extracted_19 = tensor.extract %arg1[%arg2, %33] : tensor<3x37xi64>
          %34 = arith.cmpf oge, %extracted_15, %extracted_18 : f32
          %35 = arith.cmpf uno, %extracted_15, %extracted_15 : f32
          %36 = arith.ori %34, %35 : i1
          %37 = arith.cmpf oge, %extracted_18, %extracted_15 : f32
          %38 = arith.cmpf uno, %extracted_18, %extracted_18 : f32
          %39 = arith.ori %37, %38 : i1
          %40 = arith.cmpi eq, %36, %39 : i1
          %41 = arith.cmpi slt, %15, %arg9 : i32
          %42 = arith.select %40, %41, %36 : i1
          %43 = arith.ori %29, %42 : i1
          %44 = arith.andi %43, %28 : i1
          %45 = arith.select %44, %15, %arg9 : i32
          scf.yield %45 : i32
        }
        %inserted_8 = tensor.insert %14 into %arg6[%c0_1, %10] : tensor<1x7xi32>
        scf.yield %inserted_8, %inserted : tensor<1x7xi32>, tensor<1x5xi32>
      }
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %7#0 into %arg3[%arg2, 0] [1, 7] [1, 1] : tensor<1x7xi32> into tensor<3x7xi32>
        tensor.parallel_insert_slice %7#1 into %arg4[%arg2, 0] [1, 5] [1, 1] : tensor<1x5xi32> into tensor<3x5xi32>
      }
    }
    %4 = tensor.empty() : tensor<3x5xf32>
    %5 = tensor.empty() : tensor<3x5xi64>
    %6:2 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} outs(%4, %5 : tensor<3x5xf32>, tensor<3x5xi64>) {
    ^bb0(%out: f32, %out_0: i64):
      %7 = linalg.index 0 : index
      %8 = linalg.index 1 : index
      %extracted = tensor.extract %3#1[%7, %8] : tensor<3x5xi32>
      %c0_i32 = arith.constant 0 : i32
      %9 = arith.maxsi %extracted, %c0_i32 : i32
      %10 = arith.index_cast %9 : i32 to index
      %extracted_1 = tensor.extract %arg0[%7, %10] : tensor<3x37xf32>
      %extracted_2 = tensor.extract %arg1[%7, %10] : tensor<3x37xi64>
      linalg.yield %extracted_1, %extracted_2 : f32, i64
    } -> (tensor<3x5xf32>, tensor<3x5xi64>)
    return %6#0, %6#1 : tensor<3x5xf32>, tensor<3x5xi64>
  }
}
