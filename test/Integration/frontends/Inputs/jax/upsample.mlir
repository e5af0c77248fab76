#map = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map2 = affine_map<(d0, d1, d2, d3) -> (0, 0, d2, 0)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d3)>
#map4 = affine_map<(d0, d1, d2, d3) -> (0, 0, 0, d3)>
#map5 = affine_map<(d0) -> ()>
#map6 = affine_map<(d0) -> (d0)>
#map7 = affine_map<(d0, d1) -> (d0)>
#map8 = affine_map<(d0, d1) -> (d0, d1)>
#map9 = affine_map<(d0, d1) -> ()>
#map10 = affine_map<(d0, d1) -> (d1)>
#map11 = affine_map<(d0, d1) -> (0, d1)>
#map12 = affine_map<(d0, d1, d2, d3) -> (d2)>
#map13 = affine_map<(d0, d1, d2, d3) -> ()>
module @jit_upsample {
  func.func public @main(%arg0: tensor<2x3x5x7xf32>) -> (tensor<2x3x8x11xf32>, tensor<2x3x8x11xf32>, tensor<2x3x8x11xf32>) {
    %cst = arith.constant dense<[0, 0, 1, 1, 2, 3, 3, 4]> : tensor<8xi32>
    %cst_0 = arith.constant dense<[0, 0, 1, 2, 2, 3, 4, 4]> : tensor<8xi32>
    %cst_1 = arith.constant dense<[0, 0, 1, 1, 2, 2, 3, 4]> : tensor<8xi32>
    %cst_2 = arith.constant dense<[[1.000000e+00], [5.625000e-01], [9.375000e-01], [3.125000e-01], [6.875000e-01], [6.250000e-02], [4.375000e-01], [8.125000e-01]]> : tensor<8x1xf32>
    %cst_3 = arith.constant dense<[1, 1, 2, 2, 3, 3, 4, 4]> : tensor<8xi32>
    %cst_4 = arith.constant dense<[[0.000000e+00], [4.375000e-01], [6.250000e-02], [6.875000e-01], [3.125000e-01], [9.375000e-01], [5.625000e-01], [1.875000e-01]]> : tensor<8x1xf32>
    %cst_5 = arith.constant dense<[0, 0, 1, 1, 2, 3, 3, 4, 5, 5, 6]> : tensor<11xi32>
    %cst_6 = arith.constant dense<[0, 0, 1, 2, 2, 3, 4, 4, 5, 6, 6]> : tensor<11xi32>
    %cst_7 = arith.constant dense<[0, 0, 1, 1, 2, 3, 3, 4, 4, 5, 6]> : tensor<11xi32>
    %cst_8 = arith.constant dense<[1.000000e+00, 0.545454502, 0.909090876, 0.272727251, 0.636363626, 1.000000e+00, 0.363636374, 0.727272749, 0.0909090638, 0.454545438, 0.818181812]> : tensor<11xf32>
    %cst_9 = arith.constant dense<[1, 1, 2, 2, 3, 4, 4, 5, 5, 6, 6]> : tensor<11xi32>
    %cst_10 = arith.constant dense<[0.000000e+00, 0.454545468, 0.0909090936, 0.727272749, 0.363636374, 0.000000e+00, 0.636363626, 0.272727281, 0.909090936, 0.545454562, 0.181818187]> : tensor<11xf32>
    %0 = call @_take(%arg0, %cst) : (tensor<2x3x5x7xf32>, tensor<8xi32>) -> tensor<2x3x8x7xf32>
    %1 = call @_take(%arg0, %cst_0) : (tensor<2x3x5x7xf32>, tensor<8xi32>) -> tensor<2x3x8x7xf32>
    %2 = call @_take(%arg0, %cst_1) : (tensor<2x3x5x7xf32>, tensor<8xi32>) -> tensor<2x3x8x7xf32>
    %3 = tensor.empty() : tensor<1x1x8x1xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_2 : tensor<8x1xf32>) outs(%3 : tensor<1x1x8x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x8x1xf32>
    %5 = tensor.empty() : tensor<2x3x8x7xf32>
    %6 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%4 : tensor<1x1x8x1xf32>) outs(%5 : tensor<2x3x8x7xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x3x8x7xf32>
    %7 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2, %6 : tensor<2x3x8x7xf32>, tensor<2x3x8x7xf32>) outs(%5 : tensor<2x3x8x7xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %26 = arith.mulf %in, %in_11 : f32
      linalg.yield %26 : f32
    } -> tensor<2x3x8x7xf32>
    %8 = call @_take(%arg0, %cst_3) : (tensor<2x3x5x7xf32>, tensor<8xi32>) -> tensor<2x3x8x7xf32>
    %9 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_4 : tensor<8x1xf32>) outs(%3 : tensor<1x1x8x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x8x1xf32>
    %10 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9 : tensor<1x1x8x1xf32>) outs(%5 : tensor<2x3x8x7xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x3x8x7xf32>
    %11 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%8, %10 : tensor<2x3x8x7xf32>, tensor<2x3x8x7xf32>) outs(%5 : tensor<2x3x8x7xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %26 = arith.mulf %in, %in_11 : f32
      linalg.yield %26 : f32
    } -> tensor<2x3x8x7xf32>
    %12 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%7, %11 : tensor<2x3x8x7xf32>, tensor<2x3x8x7xf32>) outs(%5 : tensor<2x3x8x7xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %26 = arith.addf %in, %in_11 : f32
      linalg.yield %26 : f32
    } -> tensor<2x3x8x7xf32>
    %13 = call @_take_0(%0, %cst_5) : (tensor<2x3x8x7xf32>, tensor<11xi32>) -> tensor<2x3x8x11xf32>
    %14 = call @_take_0(%1, %cst_6) : (tensor<2x3x8x7xf32>, tensor<11xi32>) -> tensor<2x3x8x11xf32>
    %15 = call @_take_0(%12, %cst_7) : (tensor<2x3x8x7xf32>, tensor<11xi32>) -> tensor<2x3x8x11xf32>
    %16 = tensor.empty() : tensor<1x1x1x11xf32>
    %17 = linalg.generic {indexing_maps = [#map3, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_8 : tensor<11xf32>) outs(%16 : tensor<1x1x1x11xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x1x11xf32>
    %18 = tensor.empty() : tensor<2x3x8x11xf32>
    %19 = linalg.generic {indexing_maps = [#map4, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17 : tensor<1x1x1x11xf32>) outs(%18 : tensor<2x3x8x11xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x3x8x11xf32>
    %20 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%15, %19 : tensor<2x3x8x11xf32>, tensor<2x3x8x11xf32>) outs(%18 : tensor<2x3x8x11xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %26 = arith.mulf %in, %in_11 : f32
      linalg.yield %26 : f32
    } -> tensor<2x3x8x11xf32>
    %21 = call @_take_0(%12, %cst_9) : (tensor<2x3x8x7xf32>, tensor<11xi32>) -> tensor<2x3x8x11xf32>
    %22 = linalg.generic {indexing_maps = [#map3, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_10 : tensor<11xf32>) outs(%16 : tensor<1x1x1x11xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x1x1x11xf32>
    %23 = linalg.generic {indexing_maps = [#map4, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%22 : tensor<1x1x1x11xf32>) outs(%18 : tensor<2x3x8x11xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x3x8x11xf32>
    %24 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%21, %23 : tensor<2x3x8x11xf32>, tensor<2x3x8x11xf32>) outs(%18 : tensor<2x3x8x11xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %26 = arith.mulf %in, %in_11 : f32
      linalg.yield %26 : f32
    } -> tensor<2x3x8x11xf32>
    %25 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%20, %24 : tensor<2x3x8x11xf32>, tensor<2x3x8x11xf32>) outs(%18 : tensor<2x3x8x11xf32>) {
    ^bb0(%in: f32, %in_11: f32, %out: f32):
      %26 = arith.addf %in, %in_11 : f32
      linalg.yield %26 : f32
    } -> tensor<2x3x8x11xf32>
    return %13, %14, %25 : tensor<2x3x8x11xf32>, tensor<2x3x8x11xf32>, tensor<2x3x8x11xf32>
  }
  func.func private @_take(%arg0: tensor<2x3x5x7xf32>, %arg1: tensor<8xi32>) -> tensor<2x3x8x7xf32> {
    %c4 = arith.constant 4 : index
    %c0 = arith.constant 0 : index
    %true = arith.constant true
    %cst = arith.constant dense<0x7FC00000> : tensor<f32>
    %cst_0 = arith.constant dense<4> : tensor<1xi32>
    %cst_1 = arith.constant dense<5> : tensor<i32>
    %cst_2 = arith.constant dense<0> : tensor<i32>
    %0 = tensor.empty() : tensor<8xi32>
    %1 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel"]} ins(%cst_2 : tensor<i32>) outs(%0 : tensor<8xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<8xi32>
    %2 = tensor.empty() : tensor<8xi1>
    %3 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel"]} ins(%arg1, %1 : tensor<8xi32>, tensor<8xi32>) outs(%2 : tensor<8xi1>) {
    ^bb0(%in: i32, %in_3: i32, %out: i1):
      %25 = arith.cmpi slt, %in, %in_3 : i32
      linalg.yield %25 : i1
    } -> tensor<8xi1>
    %4 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel"]} ins(%cst_1 : tensor<i32>) outs(%0 : tensor<8xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<8xi32>
    %5 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel"]} ins(%arg1, %4 : tensor<8xi32>, tensor<8xi32>) outs(%0 : tensor<8xi32>) {
    ^bb0(%in: i32, %in_3: i32, %out: i32):
      %25 = arith.addi %in, %in_3 : i32
      linalg.yield %25 : i32
    } -> tensor<8xi32>
    %6 = call @_where(%3, %5, %arg1) : (tensor<8xi1>, tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
    %7 = tensor.empty() : tensor<8x1xi32>
    %8 = linalg.generic {indexing_maps = [#map7, #map8], iterator_types = ["parallel", "parallel"]} ins(%6 : tensor<8xi32>) outs(%7 : tensor<8x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<8x1xi32>
    %9 = linalg.generic {indexing_maps = [#map9, #map8], iterator_types = ["parallel", "parallel"]} ins(%cst_2 : tensor<i32>) outs(%7 : tensor<8x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<8x1xi32>
    %10 = tensor.empty() : tensor<8x1xi1>
    %11 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%8, %9 : tensor<8x1xi32>, tensor<8x1xi32>) outs(%10 : tensor<8x1xi1>) {
    ^bb0(%in: i32, %in_3: i32, %out: i1):
      %25 = arith.cmpi sge, %in, %in_3 : i32
      linalg.yield %25 : i1
    } -> tensor<8x1xi1>
    %12 = tensor.empty() : tensor<1x1xi32>
    %13 = linalg.generic {indexing_maps = [#map10, #map8], iterator_types = ["parallel", "parallel"]} ins(%cst_0 : tensor<1xi32>) outs(%12 : tensor<1x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<1x1xi32>
    %14 = linalg.generic {indexing_maps = [#map11, #map8], iterator_types = ["parallel", "parallel"]} ins(%13 : tensor<1x1xi32>) outs(%7 : tensor<8x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<8x1xi32>
    %15 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%8, %14 : tensor<8x1xi32>, tensor<8x1xi32>) outs(%10 : tensor<8x1xi1>) {
    ^bb0(%in: i32, %in_3: i32, %out: i1):
      %25 = arith.cmpi sle, %in, %in_3 : i32
      linalg.yield %25 : i1
    } -> tensor<8x1xi1>
    %16 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%11, %15 : tensor<8x1xi1>, tensor<8x1xi1>) outs(%10 : tensor<8x1xi1>) {
    ^bb0(%in: i1, %in_3: i1, %out: i1):
      %25 = arith.andi %in, %in_3 : i1
      linalg.yield %25 : i1
    } -> tensor<8x1xi1>
    %17 = linalg.fill ins(%true : i1) outs(%2 : tensor<8xi1>) -> tensor<8xi1>
    %18 = linalg.generic {indexing_maps = [#map8, #map7], iterator_types = ["parallel", "reduction"]} ins(%16 : tensor<8x1xi1>) outs(%17 : tensor<8xi1>) {
    ^bb0(%in: i1, %out: i1):
      %25 = arith.andi %out, %in : i1
      linalg.yield %25 : i1
    } -> tensor<8xi1>
    %19 = tensor.empty() : tensor<2x3x8x7xf32>
    %20 = linalg.generic {indexing_maps = [#map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%19 : tensor<2x3x8x7xf32>) {
    ^bb0(%out: f32):
      %25 = linalg.index 0 : index
      %26 = linalg.index 1 : index
      %27 = linalg.index 2 : index
      %28 = linalg.index 3 : index
      %extracted = tensor.extract %8[%27, %c0] : tensor<8x1xi32>
      %29 = arith.index_cast %extracted : i32 to index
      %30 = arith.maxsi %29, %c0 : index
      %31 = arith.minsi %30, %c4 : index
      %extracted_3 = tensor.extract %arg0[%25, %26, %31, %28] : tensor<2x3x5x7xf32>
      linalg.yield %extracted_3 : f32
    } -> tensor<2x3x8x7xf32>
    %21 = tensor.empty() : tensor<2x3x8x7xi1>
    %22 = linalg.generic {indexing_maps = [#map12, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18 : tensor<8xi1>) outs(%21 : tensor<2x3x8x7xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x3x8x7xi1>
    %23 = linalg.generic {indexing_maps = [#map13, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst : tensor<f32>) outs(%19 : tensor<2x3x8x7xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x3x8x7xf32>
    %24 = linalg.generic {indexing_maps = [#map1, #map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%22, %20, %23 : tensor<2x3x8x7xi1>, tensor<2x3x8x7xf32>, tensor<2x3x8x7xf32>) outs(%19 : tensor<2x3x8x7xf32>) {
    ^bb0(%in: i1, %in_3: f32, %in_4: f32, %out: f32):
      %25 = arith.select %in, %in_3, %in_4 : f32
      linalg.yield %25 : f32
    } -> tensor<2x3x8x7xf32>
    return %24 : tensor<2x3x8x7xf32>
  }
  func.func private @_where(%arg0: tensor<8xi1>, %arg1: tensor<8xi32>, %arg2: tensor<8xi32>) -> tensor<8xi32> {
    %0 = tensor.empty() : tensor<8xi32>
    %1 = linalg.generic {indexing_maps = [#map6, #map6, #map6, #map6], iterator_types = ["parallel"]} ins(%arg0, %arg1, %arg2 : tensor<8xi1>, tensor<8xi32>, tensor<8xi32>) outs(%0 : tensor<8xi32>) {
    ^bb0(%in: i1, %in_0: i32, %in_1: i32, %out: i32):
      %2 = arith.select %in, %in_0, %in_1 : i32
      linalg.yield %2 : i32
    } -> tensor<8xi32>
    return %1 : tensor<8xi32>
  }
  func.func private @_take_0(%arg0: tensor<2x3x8x7xf32>, %arg1: tensor<11xi32>) -> tensor<2x3x8x11xf32> {
    %c6 = arith.constant 6 : index
    %c0 = arith.constant 0 : index
    %true = arith.constant true
    %cst = arith.constant dense<0x7FC00000> : tensor<f32>
    %cst_0 = arith.constant dense<6> : tensor<1xi32>
    %cst_1 = arith.constant dense<7> : tensor<i32>
    %cst_2 = arith.constant dense<0> : tensor<i32>
    %0 = tensor.empty() : tensor<11xi32>
    %1 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel"]} ins(%cst_2 : tensor<i32>) outs(%0 : tensor<11xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<11xi32>
    %2 = tensor.empty() : tensor<11xi1>
    %3 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel"]} ins(%arg1, %1 : tensor<11xi32>, tensor<11xi32>) outs(%2 : tensor<11xi1>) {
    ^bb0(%in: i32, %in_3: i32, %out: i1):
      %25 = arith.cmpi slt, %in, %in_3 : i32
      linalg.yield %25 : i1
    } -> tensor<11xi1>
    %4 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["parallel"]} ins(%cst_1 : tensor<i32>) outs(%0 : tensor<11xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<11xi32>
    %5 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel"]} ins(%arg1, %4 : tensor<11xi32>, tensor<11xi32>) outs(%0 : tensor<11xi32>) {
    ^bb0(%in: i32, %in_3: i32, %out: i32):
      %25 = arith.addi %in, %in_3 : i32
      linalg.yield %25 : i32
    } -> tensor<11xi32>
    %6 = call @_where_1(%3, %5, %arg1) : (tensor<11xi1>, tensor<11xi32>, tensor<11xi32>) -> tensor<11xi32>
    %7 = tensor.empty() : tensor<11x1xi32>
    %8 = linalg.generic {indexing_maps = [#map7, #map8], iterator_types = ["parallel", "parallel"]} ins(%6 : tensor<11xi32>) outs(%7 : tensor<11x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<11x1xi32>
    %9 = linalg.generic {indexing_maps = [#map9, #map8], iterator_types = ["parallel", "parallel"]} ins(%cst_2 : tensor<i32>) outs(%7 : tensor<11x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<11x1xi32>
    %10 = tensor.empty() : tensor<11x1xi1>
    %11 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%8, %9 : tensor<11x1xi32>, tensor<11x1xi32>) outs(%10 : tensor<11x1xi1>) {
    ^bb0(%in: i32, %in_3: i32, %out: i1):
      %25 = arith.cmpi sge, %in, %in_3 : i32
      linalg.yield %25 : i1
    } -> tensor<11x1xi1>
    %12 = tensor.empty() : tensor<1x1xi32>
    %13 = linalg.generic {indexing_maps = [#map10, #map8], iterator_types = ["parallel", "parallel"]} ins(%cst_0 : tensor<1xi32>) outs(%12 : tensor<1x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<1x1xi32>
    %14 = linalg.generic {indexing_maps = [#map11, #map8], iterator_types = ["parallel", "parallel"]} ins(%13 : tensor<1x1xi32>) outs(%7 : tensor<11x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      linalg.yield %in : i32
    } -> tensor<11x1xi32>
    %15 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%8, %14 : tensor<11x1xi32>, tensor<11x1xi32>) outs(%10 : tensor<11x1xi1>) {
    ^bb0(%in: i32, %in_3: i32, %out: i1):
      %25 = arith.cmpi sle, %in, %in_3 : i32
      linalg.yield %25 : i1
    } -> tensor<11x1xi1>
    %16 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel"]} ins(%11, %15 : tensor<11x1xi1>, tensor<11x1xi1>) outs(%10 : tensor<11x1xi1>) {
    ^bb0(%in: i1, %in_3: i1, %out: i1):
      %25 = arith.andi %in, %in_3 : i1
      linalg.yield %25 : i1
    } -> tensor<11x1xi1>
    %17 = linalg.fill ins(%true : i1) outs(%2 : tensor<11xi1>) -> tensor<11xi1>
    %18 = linalg.generic {indexing_maps = [#map8, #map7], iterator_types = ["parallel", "reduction"]} ins(%16 : tensor<11x1xi1>) outs(%17 : tensor<11xi1>) {
    ^bb0(%in: i1, %out: i1):
      %25 = arith.andi %out, %in : i1
      linalg.yield %25 : i1
    } -> tensor<11xi1>
    %19 = tensor.empty() : tensor<2x3x8x11xf32>
    %20 = linalg.generic {indexing_maps = [#map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%19 : tensor<2x3x8x11xf32>) {
    ^bb0(%out: f32):
      %25 = linalg.index 0 : index
      %26 = linalg.index 1 : index
      %27 = linalg.index 2 : index
      %28 = linalg.index 3 : index
      %extracted = tensor.extract %8[%28, %c0] : tensor<11x1xi32>
      %29 = arith.index_cast %extracted : i32 to index
      %30 = arith.maxsi %29, %c0 : index
      %31 = arith.minsi %30, %c6 : index
      %extracted_3 = tensor.extract %arg0[%25, %26, %27, %31] : tensor<2x3x8x7xf32>
      linalg.yield %extracted_3 : f32
    } -> tensor<2x3x8x11xf32>
    %21 = tensor.empty() : tensor<2x3x8x11xi1>
    %22 = linalg.generic {indexing_maps = [#map3, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18 : tensor<11xi1>) outs(%21 : tensor<2x3x8x11xi1>) {
    ^bb0(%in: i1, %out: i1):
      linalg.yield %in : i1
    } -> tensor<2x3x8x11xi1>
    %23 = linalg.generic {indexing_maps = [#map13, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst : tensor<f32>) outs(%19 : tensor<2x3x8x11xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x3x8x11xf32>
    %24 = linalg.generic {indexing_maps = [#map1, #map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%22, %20, %23 : tensor<2x3x8x11xi1>, tensor<2x3x8x11xf32>, tensor<2x3x8x11xf32>) outs(%19 : tensor<2x3x8x11xf32>) {
    ^bb0(%in: i1, %in_3: f32, %in_4: f32, %out: f32):
      %25 = arith.select %in, %in_3, %in_4 : f32
      linalg.yield %25 : f32
    } -> tensor<2x3x8x11xf32>
    return %24 : tensor<2x3x8x11xf32>
  }
  func.func private @_where_1(%arg0: tensor<11xi1>, %arg1: tensor<11xi32>, %arg2: tensor<11xi32>) -> tensor<11xi32> {
    %0 = tensor.empty() : tensor<11xi32>
    %1 = linalg.generic {indexing_maps = [#map6, #map6, #map6, #map6], iterator_types = ["parallel"]} ins(%arg0, %arg1, %arg2 : tensor<11xi1>, tensor<11xi32>, tensor<11xi32>) outs(%0 : tensor<11xi32>) {
    ^bb0(%in: i1, %in_0: i32, %in_1: i32, %out: i32):
      %2 = arith.select %in, %in_0, %in_1 : i32
      linalg.yield %2 : i32
    } -> tensor<11xi32>
    return %1 : tensor<11xi32>
  }
}
