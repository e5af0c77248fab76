#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d1)>
module {
  func.func @main(%arg0: tensor<10x3x8xf32>, %arg1: tensor<8x64xf32>, %arg2: tensor<16x64xf32>, %arg3: tensor<64xf32>) -> (tensor<10x3x16xf32>, tensor<3x16xf32>) {
    %cst = arith.constant dense<0.000000e+00> : tensor<3x16xf32>
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<10x3x16xf32>
    %c10_i64 = arith.constant 10 : i64
    %cst_1 = arith.constant 0.000000e+00 : f32
    %cst_2 = arith.constant 1.000000e+00 : f32
    %cst_3 = arith.constant 0.35355339059327379 : f64
    %cst_4 = arith.constant 2.500000e-01 : f32
    %c0_i64 = arith.constant 0 : i64
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c10 = arith.constant 10 : index
    %0:3 = scf.for %arg4 = %c0 to %c10 step %c1 iter_args(%arg5 = %cst, %arg6 = %cst, %arg7 = %cst_0) -> (tensor<3x16xf32>, tensor<3x16xf32>, tensor<10x3x16xf32>) {
      %1 = arith.index_cast %arg4 : index to i64
      %2 = arith.cmpi slt, %1, %c0_i64 : i64
      %3 = arith.extui %2 : i1 to i64
      %4 = arith.muli %3, %c10_i64 : i64
      %5 = arith.addi %1, %4 : i64
      %6 = arith.addi %5, %c10_i64 : i64
      %7 = arith.cmpi sge, %5, %c0_i64 : i64
      %8 = arith.select %7, %5, %6 : i64
      %9 = arith.maxsi %8, %c0_i64 : i64
      %10 = arith.minsi %9, %c10_i64 : i64
      %11 = arith.index_cast %10 : i64 to index
      %extracted_slice = tensor.extract_slice %arg0[%11, 0, 0] [1, 3, 8] [1, 1, 1] : tensor<10x3x8xf32> to tensor<1x3x8xf32>
      %collapsed = tensor.collapse_shape %extracted_slice [[0, 1], [2]] : tensor<1x3x8xf32> into tensor<3x8xf32>
      %12 = tensor.empty() : tensor<3x64xf32>
      %13 = linalg.fill ins(%cst_1 : f32) outs(%12 : tensor<3x64xf32>) -> tensor<3x64xf32>
      %14 = linalg.matmul ins(%collapsed, %arg1 : tensor<3x8xf32>, tensor<8x64xf32>) outs(%13 : tensor<3x64xf32>) -> tensor<3x64xf32>
      %15 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%14 : tensor<3x64xf32>) outs(%12 : tensor<3x64xf32>) {
      ^bb0(%in: f32, %out: f32):
        %36 = arith.truncf %cst_3 : f64 to f32
        %37 = arith.mulf %in, %36 : f32
        linalg.yield %37 : f32
      } -> tensor<3x64xf32>
      %16 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%15, %arg3 : tensor<3x64xf32>, tensor<64xf32>) outs(%12 : tensor<3x64xf32>) {
      ^bb0(%in: f32, %in_9: f32, %out: f32):
        %36 = arith.addf %in, %in_9 : f32
        linalg.yield %36 : f32
      } -> tensor<3x64xf32>
      %17 = linalg.matmul ins(%arg5, %arg2 : tensor<3x16xf32>, tensor<16x64xf32>) outs(%13 : tensor<3x64xf32>) -> tensor<3x64xf32>
      %18 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%17 : tensor<3x64xf32>) outs(%12 : tensor<3x64xf32>) {
      ^bb0(%in: f32, %out: f32):
        %36 = arith.mulf %in, %cst_4 : f32
        linalg.yield %36 : f32
      } -> tensor<3x64xf32>
      %19 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%16, %18 : tensor<3x64xf32>, tensor<3x64xf32>) outs(%12 : tensor<3x64xf32>) {
      ^bb0(%in: f32, %in_9: f32, %out: f32):
        %36 = arith.addf %in, %in_9 : f32
        linalg.yield %36 : f32
      } -> tensor<3x64xf32>
      %extracted_slice_5 = tensor.extract_slice %19[0, 0] [3, 16] [1, 1] : tensor<3x64xf32> to tensor<3x16xf32>
      %extracted_slice_6 = tensor.extract_slice %19[0, 16] [3, 16] [1, 1] : tensor<3x64xf32> to tensor<3x16xf32>
      %extracted_slice_7 = tensor.extract_slice %19[0, 32] [3, 16] [1, 1] : tensor<3x64xf32> to tensor<3x16xf32>
      %extracted_slice_8 = tensor.extract_slice %19[0, 48] [3, 16] [1, 1] : tensor<3x64xf32> to tensor<3x16xf32>
      %20 = tensor.empty() : tensor<3x16xf32>
      %21 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%extracted_slice_5 : tensor<3x16xf32>) outs(%20 : tensor<3x16xf32>) {
      ^bb0(%in: f32, %out: f32):
        %36 = arith.negf %in : f32
        %37 = math.exp %36 : f32
        %38 = arith.addf %37, %cst_2 : f32
        %39 = arith.divf %cst_2, %38 : f32
        linalg.yield %39 : f32
      } -> tensor<3x16xf32>
      %22 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%extracted_slice_6 : tensor<3x16xf32>) outs(%20 : tensor<3x16xf32>) {
      ^bb0(%in: f32, %out: f32):
        %36 = arith.negf %in : f32
        %37 = math.exp %36 : f32
        %38 = arith.addf %37, %cst_2 : f32
        %39 = arith.divf %cst_2, %38 : f32
        linalg.yield %39 : f32
      } -> tensor<3x16xf32>
      %23 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%extracted_slice_7 : tensor<3x16xf32>) outs(%20 : tensor<3x16xf32>) {
      ^bb0(%in: f32, %out: f32):
        %36 = math.tanh %in : f32
        linalg.yield %36 : f32
      } -> tensor<3x16xf32>
      %24 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%extracted_slice_8 : tensor<3x16xf32>) outs(%20 : tensor<3x16xf32>) {
      ^bb0(%in: f32, %out: f32):
        %36 = arith.negf %in : f32
        %37 = math.exp %36 : f32
        %38 = arith.addf %37, %cst_2 : f32
        %39 = arith.divf %cst_2, %38 : f32
        linalg.yield %39 : f32
      } -> tensor<3x16xf32>
      %25 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%22, %arg6 : tensor<3x16xf32>, tensor<3x16xf32>) outs(%20 : tensor<3x16xf32>) {
      ^bb0(%in: f32, %in_9: f32, %out: f32):
        %36 = arith.mulf %in, %in_9 : f32
        linalg.yield %36 : f32
      } -> tensor<3x16xf32>
      %26 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%21, %23 : tensor<3x16xf32>, tensor<3x16xf32>) outs(%20 : tensor<3x16xf32>) {
      ^bb0(%in: f32, %in_9: f32, %out: f32):
        %36 = arith.mulf %in, %in_9 : f32
        linalg.yield %36 : f32
      } -> tensor<3x16xf32>
      %27 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%25, %26 : tensor<3x16xf32>, tensor<3x16xf32>) outs(%20 : tensor<3x16xf32>) {
      ^bb0(%in: f32, %in_9: f32, %out: f32):
        %36 = arith.addf %in, %in_9 : f32
        linalg.yield %36 : f32
      } -> tensor<3x16xf32>
      %28 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%27 : tensor<3x16xf32>) outs(%20 : tensor<3x16xf32>) {
      ^bb0(%in: f32, %out: f32):
        %36 = math.tanh %in : f32
        linalg.yield %36 : f32
      } -> tensor<3x16xf32>
      %29 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%24, %28 : tensor<3x16xf32>, tensor<3x16xf32>) outs(%20 : tensor<3x16xf32>) {
      ^bb0(%in: f32, %in_9: f32, %out: f32):
        %36 = arith.mulf %in, %in_9 : f32
        linalg.yield %36 : f32
      } -> tensor<3x16xf32>
      %expanded = tensor.expand_shape %29 [[0, 1], [2]] output_shape [1, 3, 16] : tensor<3x16xf32> into tensor<1x3x16xf32>
      %30 = arith.addi %1, %c10_i64 : i64
      %31 = arith.cmpi sge, %1, %c0_i64 : i64
      %32 = arith.select %31, %1, %30 : i64
      %33 = arith.maxsi %32, %c0_i64 : i64
      %34 = arith.minsi %33, %c10_i64 : i64
      %35 = arith.index_cast %34 : i64 to index
      %inserted_slice = tensor.insert_slice %expanded into %arg7[%35, 0, 0] [1, 3, 16] [1, 1, 1] : tensor<1x3x16xf32> into tensor<10x3x16xf32>
      scf.yield %29, %27, %inserted_slice : tensor<3x16xf32>, tensor<3x16xf32>, tensor<10x3x16xf32>
    }
    return %0#2, %0#1 : tensor<10x3x16xf32>, tensor<3x16xf32>
  }
}
