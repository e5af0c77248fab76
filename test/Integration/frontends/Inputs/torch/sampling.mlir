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
    %2:2 = call @sort.0(%arg0, %1) : (tensor<3x37xf32>, tensor<3x37xi64>) -> (tensor<3x37xf32>, tensor<3x37xi64>)
    %extracted_slice = tensor.extract_slice %2#0[0, 0] [3, 5] [1, 1] : tensor<3x37xf32> to tensor<3x5xf32>
    %extracted_slice_1 = tensor.extract_slice %2#1[0, 0] [3, 5] [1, 1] : tensor<3x37xi64> to tensor<3x5xi64>
    %3 = tensor.empty() : tensor<3xi64>
    %4 = linalg.fill ins(%c0_i64 : i64) outs(%3 : tensor<3xi64>) -> tensor<3xi64>
    %5 = tensor.empty() : tensor<3xf32>
    %6 = linalg.fill ins(%cst_0 : f32) outs(%5 : tensor<3xf32>) -> tensor<3xf32>
    %7:2 = linalg.generic {indexing_maps = [#map, #map1, #map1], iterator_types = ["parallel", "reduction"]} ins(%extracted_slice : tensor<3x5xf32>) outs(%6, %4 : tensor<3xf32>, tensor<3xi64>) {
    ^bb0(%in: f32, %out: f32, %out_2: i64):
      %17 = linalg.index 1 : index
      %18 = arith.index_cast %17 : index to i64
      %19 = arith.maximumf %in, %out : f32
      %20 = arith.cmpf ogt, %in, %out : f32
      %21 = arith.select %20, %18, %out_2 : i64
      linalg.yield %19, %21 : f32, i64
    } -> (tensor<3xf32>, tensor<3xi64>)
    %expanded = tensor.expand_shape %7#0 [[0, 1]] output_shape [3, 1] : tensor<3xf32> into tensor<3x1xf32>
    %8 = tensor.empty() : tensor<3x5xf32>
    %9 = linalg.generic {indexing_maps = [#map, #map2, #map], iterator_types = ["parallel", "parallel"]} ins(%extracted_slice, %expanded : tensor<3x5xf32>, tensor<3x1xf32>) outs(%8 : tensor<3x5xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %17 = arith.subf %in, %in_2 : f32
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
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %17 = arith.divf %in, %in_2 : f32
      linalg.yield %17 : f32
    } -> tensor<3x5xf32>
    %15 = tensor.empty() : tensor<3x5xi32>
    %16 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%extracted_slice_1 : tensor<3x5xi64>) outs(%15 : tensor<3x5xi32>) {
    ^bb0(%in: i64, %out: i32):
      %17 = arith.trunci %in : i64 to i32
      linalg.yield %17 : i32
    } -> tensor<3x5xi32>
    return %14, %16 : tensor<3x5xf32>, tensor<3x5xi32>
  }
  func.func private @sort.0(%arg0: tensor<3x37xf32>, %arg1: tensor<3x37xi64>) -> (tensor<3x37xf32>, tensor<3x37xi64>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c7 = arith.constant 7 : index
    %c37 = arith.constant 37 : index
    %c36 = arith.constant 36 : index
    %0 = tensor.empty() : tensor<3x64xf32>
    %1 = tensor.empty() : tensor<3x64xi64>
    %2 = tensor.empty() : tensor<3x64xi32>
    %3:3 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} outs(%0, %1, %2 : tensor<3x64xf32>, tensor<3x64xi64>, tensor<3x64xi32>) {
    ^bb0(%out: f32, %out_1: i64, %out_2: i32):
      %5 = linalg.index 0 : index
      %6 = linalg.index 1 : index
      %7 = arith.minsi %6, %c36 : index
      %extracted = tensor.extract %arg0[%5, %7] : tensor<3x37xf32>
      %extracted_3 = tensor.extract %arg1[%5, %7] : tensor<3x37xi64>
      %8 = arith.index_cast %6 : index to i32
      linalg.yield %extracted, %extracted_3, %8 : f32, i64, i32
    } -> (tensor<3x64xf32>, tensor<3x64xi64>, tensor<3x64xi32>)
    %4:3 = scf.for %arg2 = %c1 to %c7 step %c1 iter_args(%arg3 = %3#0, %arg4 = %3#1, %arg5 = %3#2) -> (tensor<3x64xf32>, tensor<3x64xi64>, tensor<3x64xi32>) {
      %5:3 = scf.for %arg6 = %c0 to %arg2 step %c1 iter_args(%arg7 = %arg3, %arg8 = %arg4, %arg9 = %arg5) -> (tensor<3x64xf32>, tensor<3x64xi64>, tensor<3x64xi32>) {
        %6 = arith.subi %arg2, %c1 : index
        %7 = arith.subi %6, %arg6 : index
        %8 = arith.shli %c1, %7 : index
        %9 = arith.shli %c1, %arg2 : index
        %10 = arith.index_cast %8 : index to i32
        %11 = arith.index_cast %9 : index to i32
        %12:3 = linalg.generic {indexing_maps = [#map, #map, #map, #map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg7, %arg8, %arg9 : tensor<3x64xf32>, tensor<3x64xi64>, tensor<3x64xi32>) outs(%0, %1, %2 : tensor<3x64xf32>, tensor<3x64xi64>, tensor<3x64xi32>) {
        ^bb0(%in: f32, %in_1: i64, %in_2: i32, %out: f32, %out_3: i64, %out_4: i32):
          %13 = linalg.index 0 : index
          %14 = linalg.index 1 : index
          %15 = arith.index_cast %14 : index to i32
          %16 = arith.xori %15, %10 : i32
          %17 = arith.index_cast %16 : i32 to index
          %extracted = tensor.extract %arg7[%13, %17] : tensor<3x64xf32>
          %extracted_5 = tensor.extract %arg8[%13, %17] : tensor<3x64xi64>
          %extracted_6 = tensor.extract %arg9[%13, %17] : tensor<3x64xi32>
          %18 = arith.cmpf oge, %in, %extracted : f32
          %19 = arith.cmpf oge, %extracted, %in : f32
          %20 = arith.index_cast %c37 : index to i32
          %21 = arith.cmpi slt, %in_2, %extracted_6 : i32
          %22 = arith.maxsi %in_2, %extracted_6 : i32
          %23 = arith.cmpi sge, %22, %20 : i32
          %24 = arith.cmpi eq, %18, %19 : i1
          %25 = arith.ori %24, %23 : i1
          %26 = arith.select %25, %21, %18 : i1
          %c0_i32 = arith.constant 0 : i32
          %27 = arith.andi %15, %10 : i32
          %28 = arith.cmpi eq, %27, %c0_i32 : i32
          %29 = arith.andi %15, %11 : i32
          %30 = arith.cmpi eq, %29, %c0_i32 : i32
          %31 = arith.cmpi eq, %28, %30 : i1
          %32 = arith.cmpi eq, %26, %31 : i1
          %33 = arith.select %32, %in, %extracted : f32
          %34 = arith.select %32, %in_1, %extracted_5 : i64
          %35 = arith.select %32, %in_2, %extracted_6 : i32
          linalg.yield %33, %34, %35 : f32, i64, i32
        } -> (tensor<3x64xf32>, tensor<3x64xi64>, tensor<3x64xi32>)
        scf.yield %12#0, %12#1, %12#2 : tensor<3x64xf32>, tensor<3x64xi64>, tensor<3x64xi32>
      }
      scf.yield %5#0, %5#1, %5#2 : tensor<3x64xf32>, tensor<3x64xi64>, tensor<3x64xi32>
    }
    %extracted_slice = tensor.extract_slice %4#0[0, 0] [3, 37] [1, 1] : tensor<3x64xf32> to tensor<3x37xf32>
    %extracted_slice_0 = tensor.extract_slice %4#1[0, 0] [3, 37] [1, 1] : tensor<3x64xi64> to tensor<3x37xi64>
    return %extracted_slice, %extracted_slice_0 : tensor<3x37xf32>, tensor<3x37xi64>
  }
}
