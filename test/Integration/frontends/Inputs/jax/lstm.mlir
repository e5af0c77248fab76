#map = affine_map<(d0, d1) -> ()>
#map1 = affine_map<(d0, d1) -> (d0, d1)>
#map2 = affine_map<(d0, d1, d2) -> ()>
#map3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map4 = affine_map<() -> ()>
#map5 = affine_map<(d0, d1) -> (d1)>
#map6 = affine_map<(d0, d1) -> (0, d1)>
#map7 = affine_map<(d0, d1, d2) -> (d1, d2)>
module @jit_lstm {
  func.func public @main(%arg0: tensor<10x3x8xf32>, %arg1: tensor<8x64xf32>, %arg2: tensor<16x64xf32>, %arg3: tensor<64xf32>) -> (tensor<10x3x16xf32>, tensor<3x16xf32>) {
    %c1_i32 = arith.constant 1 : i32
    %c10_i32 = arith.constant 10 : i32
    %cst = arith.constant dense<0> : tensor<i32>
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<f32>
    %0 = tensor.empty() : tensor<3x16xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_0 : tensor<f32>) outs(%0 : tensor<3x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<3x16xf32>
    %2 = tensor.empty() : tensor<10x3x16xf32>
    %3 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_0 : tensor<f32>) outs(%2 : tensor<10x3x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<10x3x16xf32>
    %4:4 = scf.while (%arg4 = %cst, %arg5 = %1, %arg6 = %1, %arg7 = %3) : (tensor<i32>, tensor<3x16xf32>, tensor<3x16xf32>, tensor<10x3x16xf32>) -> (tensor<i32>, tensor<3x16xf32>, tensor<3x16xf32>, tensor<10x3x16xf32>) {
      %5 = tensor.empty() : tensor<i1>
      %6 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = []} ins(%arg4 : tensor<i32>) outs(%5 : tensor<i1>) {
      ^bb0(%in: i32, %out: i1):
        %7 = arith.cmpi slt, %in, %c10_i32 : i32
        linalg.yield %7 : i1
      } -> tensor<i1>
      %extracted = tensor.extract %6[] : tensor<i1>
      scf.condition(%extracted) %arg4, %arg5, %arg6, %arg7 : tensor<i32>, tensor<3x16xf32>, tensor<3x16xf32>, tensor<10x3x16xf32>
    } do {
    ^bb0(%arg4: tensor<i32>, %arg5: tensor<3x16xf32>, %arg6: tensor<3x16xf32>, %arg7: tensor<10x3x16xf32>):
      %5 = func.call @dynamic_index_in_dim(%arg0, %arg4) : (tensor<10x3x8xf32>, tensor<i32>) -> tensor<3x8xf32>
      %6:3 = func.call @closed_call(%arg1, %arg3, %arg2, %arg5, %arg6, %5) : (tensor<8x64xf32>, tensor<64xf32>, tensor<16x64xf32>, tensor<3x16xf32>, tensor<3x16xf32>, tensor<3x8xf32>) -> (tensor<3x16xf32>, tensor<3x16xf32>, tensor<3x16xf32>)
      %7 = func.call @dynamic_update_index_in_dim(%arg7, %6#2, %arg4) : (tensor<10x3x16xf32>, tensor<3x16xf32>, tensor<i32>) -> tensor<10x3x16xf32>
      %8 = tensor.empty() : tensor<i32>
      %9 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = []} ins(%arg4 : tensor<i32>) outs(%8 : tensor<i32>) {
      ^bb0(%in: i32, %out: i32):
        %10 = arith.addi %in, %c1_i32 : i32
        linalg.yield %10 : i32
      } -> tensor<i32>
      scf.yield %9, %6#0, %6#1, %7 : tensor<i32>, tensor<3x16xf32>, tensor<3x16xf32>, tensor<10x3x16xf32>
    }
    return %4#3, %4#2 : tensor<10x3x16xf32>, tensor<3x16xf32>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<10x3x8xf32>, %arg1: tensor<i32>) -> tensor<3x8xf32> {
    %c9 = arith.constant 9 : index
    %c0 = arith.constant 0 : index
    %extracted = tensor.extract %arg1[] : tensor<i32>
    %0 = arith.index_cast %extracted : i32 to index
    %1 = arith.maxsi %0, %c0 : index
    %2 = arith.minsi %1, %c9 : index
    %extracted_slice = tensor.extract_slice %arg0[%2, 0, 0] [1, 3, 8] [1, 1, 1] : tensor<10x3x8xf32> to tensor<1x3x8xf32>
    %collapsed = tensor.collapse_shape %extracted_slice [[0, 1], [2]] : tensor<1x3x8xf32> into tensor<3x8xf32>
    return %collapsed : tensor<3x8xf32>
  }
  func.func private @closed_call(%arg0: tensor<8x64xf32>, %arg1: tensor<64xf32>, %arg2: tensor<16x64xf32>, %arg3: tensor<3x16xf32>, %arg4: tensor<3x16xf32>, %arg5: tensor<3x8xf32>) -> (tensor<3x16xf32>, tensor<3x16xf32>, tensor<3x16xf32>) {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant dense<1.000000e+00> : tensor<f32>
    %cst_1 = arith.constant dense<2.500000e-01> : tensor<f32>
    %cst_2 = arith.constant dense<0.353553385> : tensor<f32>
    %0 = tensor.empty() : tensor<3x64xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<3x64xf32>) -> tensor<3x64xf32>
    %2 = linalg.matmul ins(%arg5, %arg0 : tensor<3x8xf32>, tensor<8x64xf32>) outs(%1 : tensor<3x64xf32>) -> tensor<3x64xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_2 : tensor<f32>) outs(%0 : tensor<3x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<3x64xf32>
    %4 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%2, %3 : tensor<3x64xf32>, tensor<3x64xf32>) outs(%0 : tensor<3x64xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %33 = arith.mulf %in, %in_6 : f32
      linalg.yield %33 : f32
    } -> tensor<3x64xf32>
    %5 = tensor.empty() : tensor<1x64xf32>
    %6 = linalg.generic {indexing_maps = [#map5, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg1 : tensor<64xf32>) outs(%5 : tensor<1x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x64xf32>
    %7 = linalg.generic {indexing_maps = [#map6, #map1], iterator_types = ["parallel", "parallel"]} ins(%6 : tensor<1x64xf32>) outs(%0 : tensor<3x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<3x64xf32>
    %8 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%4, %7 : tensor<3x64xf32>, tensor<3x64xf32>) outs(%0 : tensor<3x64xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %33 = arith.addf %in, %in_6 : f32
      linalg.yield %33 : f32
    } -> tensor<3x64xf32>
    %9 = linalg.matmul ins(%arg3, %arg2 : tensor<3x16xf32>, tensor<16x64xf32>) outs(%1 : tensor<3x64xf32>) -> tensor<3x64xf32>
    %10 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_1 : tensor<f32>) outs(%0 : tensor<3x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<3x64xf32>
    %11 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%9, %10 : tensor<3x64xf32>, tensor<3x64xf32>) outs(%0 : tensor<3x64xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %33 = arith.mulf %in, %in_6 : f32
      linalg.yield %33 : f32
    } -> tensor<3x64xf32>
    %12 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%8, %11 : tensor<3x64xf32>, tensor<3x64xf32>) outs(%0 : tensor<3x64xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %33 = arith.addf %in, %in_6 : f32
      linalg.yield %33 : f32
    } -> tensor<3x64xf32>
    %extracted_slice = tensor.extract_slice %12[0, 0] [3, 16] [1, 1] : tensor<3x64xf32> to tensor<3x16xf32>
    %extracted_slice_3 = tensor.extract_slice %12[0, 16] [3, 16] [1, 1] : tensor<3x64xf32> to tensor<3x16xf32>
    %extracted_slice_4 = tensor.extract_slice %12[0, 32] [3, 16] [1, 1] : tensor<3x64xf32> to tensor<3x16xf32>
    %extracted_slice_5 = tensor.extract_slice %12[0, 48] [3, 16] [1, 1] : tensor<3x64xf32> to tensor<3x16xf32>
    %13 = tensor.empty() : tensor<3x16xf32>
    %14 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%extracted_slice_3 : tensor<3x16xf32>) outs(%13 : tensor<3x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %33 = arith.negf %in : f32
      linalg.yield %33 : f32
    } -> tensor<3x16xf32>
    %15 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%14 : tensor<3x16xf32>) outs(%13 : tensor<3x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %33 = math.exp %in : f32
      linalg.yield %33 : f32
    } -> tensor<3x16xf32>
    %16 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_0 : tensor<f32>) outs(%13 : tensor<3x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<3x16xf32>
    %17 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%16, %15 : tensor<3x16xf32>, tensor<3x16xf32>) outs(%13 : tensor<3x16xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %33 = arith.addf %in, %in_6 : f32
      linalg.yield %33 : f32
    } -> tensor<3x16xf32>
    %18 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%16, %17 : tensor<3x16xf32>, tensor<3x16xf32>) outs(%13 : tensor<3x16xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %33 = arith.divf %in, %in_6 : f32
      linalg.yield %33 : f32
    } -> tensor<3x16xf32>
    %19 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%18, %arg4 : tensor<3x16xf32>, tensor<3x16xf32>) outs(%13 : tensor<3x16xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %33 = arith.mulf %in, %in_6 : f32
      linalg.yield %33 : f32
    } -> tensor<3x16xf32>
    %20 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%extracted_slice : tensor<3x16xf32>) outs(%13 : tensor<3x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %33 = arith.negf %in : f32
      linalg.yield %33 : f32
    } -> tensor<3x16xf32>
    %21 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%20 : tensor<3x16xf32>) outs(%13 : tensor<3x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %33 = math.exp %in : f32
      linalg.yield %33 : f32
    } -> tensor<3x16xf32>
    %22 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%16, %21 : tensor<3x16xf32>, tensor<3x16xf32>) outs(%13 : tensor<3x16xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %33 = arith.addf %in, %in_6 : f32
      linalg.yield %33 : f32
    } -> tensor<3x16xf32>
    %23 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%16, %22 : tensor<3x16xf32>, tensor<3x16xf32>) outs(%13 : tensor<3x16xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %33 = arith.divf %in, %in_6 : f32
      linalg.yield %33 : f32
    } -> tensor<3x16xf32>
    %24 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%extracted_slice_4 : tensor<3x16xf32>) outs(%13 : tensor<3x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %33 = math.tanh %in : f32
      linalg.yield %33 : f32
    } -> tensor<3x16xf32>
    %25 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%23, %24 : tensor<3x16xf32>, tensor<3x16xf32>) outs(%13 : tensor<3x16xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %33 = arith.mulf %in, %in_6 : f32
      linalg.yield %33 : f32
    } -> tensor<3x16xf32>
    %26 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%19, %25 : tensor<3x16xf32>, tensor<3x16xf32>) outs(%13 : tensor<3x16xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %33 = arith.addf %in, %in_6 : f32
      linalg.yield %33 : f32
    } -> tensor<3x16xf32>
    %27 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%extracted_slice_5 : tensor<3x16xf32>) outs(%13 : tensor<3x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %33 = arith.negf %in : f32
      linalg.yield %33 : f32
    } -> tensor<3x16xf32>
    %28 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%27 : tensor<3x16xf32>) outs(%13 : tensor<3x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %33 = math.exp %in : f32
      linalg.yield %33 : f32
    } -> tensor<3x16xf32>
    %29 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%16, %28 : tensor<3x16xf32>, tensor<3x16xf32>) outs(%13 : tensor<3x16xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %33 = arith.addf %in, %in_6 : f32
      linalg.yield %33 : f32
    } -> tensor<3x16xf32>
    %30 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%16, %29 : tensor<3x16xf32>, tensor<3x16xf32>) outs(%13 : tensor<3x16xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %33 = arith.divf %in, %in_6 : f32
      linalg.yield %33 : f32
    } -> tensor<3x16xf32>
    %31 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%26 : tensor<3x16xf32>) outs(%13 : tensor<3x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %33 = math.tanh %in : f32
      linalg.yield %33 : f32
    } -> tensor<3x16xf32>
    %32 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%30, %31 : tensor<3x16xf32>, tensor<3x16xf32>) outs(%13 : tensor<3x16xf32>) {
    ^bb0(%in: f32, %in_6: f32, %out: f32):
      %33 = arith.mulf %in, %in_6 : f32
      linalg.yield %33 : f32
    } -> tensor<3x16xf32>
    return %32, %26, %32 : tensor<3x16xf32>, tensor<3x16xf32>, tensor<3x16xf32>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<10x3x16xf32>, %arg1: tensor<3x16xf32>, %arg2: tensor<i32>) -> tensor<10x3x16xf32> {
    %c9 = arith.constant 9 : index
    %c0 = arith.constant 0 : index
    %0 = tensor.empty() : tensor<1x3x16xf32>
    %1 = linalg.generic {indexing_maps = [#map7, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg1 : tensor<3x16xf32>) outs(%0 : tensor<1x3x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x3x16xf32>
    %extracted = tensor.extract %arg2[] : tensor<i32>
    %2 = arith.index_cast %extracted : i32 to index
    %3 = arith.maxsi %2, %c0 : index
    %4 = arith.minsi %3, %c9 : index
    %inserted_slice = tensor.insert_slice %1 into %arg0[%4, 0, 0] [1, 3, 16] [1, 1, 1] : tensor<1x3x16xf32> into tensor<10x3x16xf32>
    return %inserted_slice : tensor<10x3x16xf32>
  }
}
