#map = affine_map<(d0, d1, d2, d3) -> ()>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2 * 2 + d4, d3 * 2 + d5)>
#map3 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5)>
#map4 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>
module @jit_max_pool_gradient {
  func.func public @main(%arg0: tensor<2x3x9x9xf32>) -> tensor<2x3x9x9xf32> {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant dense<1.000000e+00> : tensor<f32>
    %cst_1 = arith.constant dense<0.000000e+00> : tensor<f32>
    %cst_2 = arith.constant dense<2.000000e+00> : tensor<f32>
    %cst_3 = arith.constant dense<0xFF800000> : tensor<f32>
    %0 = tensor.empty() : tensor<2x3x5x5xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_3 : tensor<f32>) outs(%0 : tensor<2x3x5x5xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x3x5x5xf32>
    %padded = tensor.pad %arg0 low[0, 0, 1, 1] high[0, 0, 1, 1] {
    ^bb0(%arg1: index, %arg2: index, %arg3: index, %arg4: index):
      tensor.yield %cst : f32
    } : tensor<2x3x9x9xf32> to tensor<2x3x11x11xf32>
    %2 = tensor.empty() : tensor<3x3xf32>
    %3 = linalg.generic {indexing_maps = [#map2, #map3, #map4], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%padded, %2 : tensor<2x3x11x11xf32>, tensor<3x3xf32>) outs(%1 : tensor<2x3x5x5xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %9 = arith.maximumf %out, %in : f32
      linalg.yield %9 : f32
    } -> tensor<2x3x5x5xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_2 : tensor<f32>) outs(%0 : tensor<2x3x5x5xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x3x5x5xf32>
    %5 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%4, %3 : tensor<2x3x5x5xf32>, tensor<2x3x5x5xf32>) outs(%0 : tensor<2x3x5x5xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %9 = arith.mulf %in, %in_4 : f32
      linalg.yield %9 : f32
    } -> tensor<2x3x5x5xf32>
    %6 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%cst_0 : tensor<f32>) outs(%0 : tensor<2x3x5x5xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<2x3x5x5xf32>
    %7 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%6, %5 : tensor<2x3x5x5xf32>, tensor<2x3x5x5xf32>) outs(%0 : tensor<2x3x5x5xf32>) {
    ^bb0(%in: f32, %in_4: f32, %out: f32):
      %9 = arith.mulf %in, %in_4 : f32
      linalg.yield %9 : f32
    } -> tensor<2x3x5x5xf32>
    %8 = call @select_and_scatter.0(%padded, %7, %cst_1) : (tensor<2x3x11x11xf32>, tensor<2x3x5x5xf32>, tensor<f32>) -> tensor<2x3x11x11xf32>
    %extracted_slice = tensor.extract_slice %8[0, 0, 1, 1] [2, 3, 9, 9] [1, 1, 1, 1] : tensor<2x3x11x11xf32> to tensor<2x3x9x9xf32>
    return %extracted_slice : tensor<2x3x9x9xf32>
  }
  func.func private @select_and_scatter.0(%arg0: tensor<2x3x11x11xf32>, %arg1: tensor<2x3x5x5xf32>, %arg2: tensor<f32>) -> tensor<2x3x11x11xf32> {
    %c5 = arith.constant 5 : index
    %true = arith.constant true
    %c11 = arith.constant 11 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %c-1_i32 = arith.constant -1 : i32
    %0 = tensor.empty() : tensor<2x3x5x5xi32>
    %1 = scf.forall (%arg3, %arg4, %arg5, %arg6) in (2, 3, 5, 5) shared_outs(%arg7 = %0) -> (tensor<2x3x5x5xi32>) {
      %extracted = tensor.extract %arg2[] : tensor<f32>
      %4:2 = scf.for %arg8 = %c0 to %c3 step %c1 iter_args(%arg9 = %c-1_i32, %arg10 = %extracted) -> (i32, f32) {
        %5:2 = scf.for %arg11 = %c0 to %c3 step %c1 iter_args(%arg12 = %arg9, %arg13 = %arg10) -> (i32, f32) {
          %6 = arith.muli %arg5, %c2 : index
          %7 = arith.addi %6, %arg8 : index
          %8 = arith.muli %arg6, %c2 : index
          %9 = arith.addi %8, %arg11 : index
          %10 = arith.cmpi ult, %arg3, %c2 : index
          %11 = arith.select %10, %arg3, %c0 : index
          %12 = arith.cmpi ult, %arg4, %c3 : index
          %13 = arith.andi %10, %12 : i1
          %14 = arith.select %12, %arg4, %c0 : index
          %15 = arith.cmpi ult, %7, %c11 : index
          %16 = arith.andi %13, %15 : i1
          %17 = arith.select %15, %7, %c0 : index
          %18 = arith.cmpi ult, %9, %c11 : index
          %19 = arith.andi %16, %18 : i1
          %20 = arith.select %18, %9, %c0 : index
          %extracted_0 = tensor.extract %arg0[%11, %14, %17, %20] : tensor<2x3x11x11xf32>
          %21 = arith.cmpf oge, %arg13, %extracted_0 : f32
          %22 = arith.cmpi eq, %arg12, %c-1_i32 : i32
          %23 = arith.xori %21, %true : i1
          %24 = arith.ori %22, %23 : i1
          %25 = arith.andi %24, %19 : i1
          %26 = arith.muli %arg8, %c3 : index
          %27 = arith.addi %26, %arg11 : index
          %28 = arith.index_cast %27 : index to i32
          %29 = arith.select %25, %28, %arg12 : i32
          %30 = arith.select %25, %extracted_0, %arg13 : f32
          scf.yield %29, %30 : i32, f32
        }
        scf.yield %5#0, %5#1 : i32, f32
      }
      %from_elements = tensor.from_elements %4#0 : tensor<1x1x1x1xi32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %from_elements into %arg7[%arg3, %arg4, %arg5, %arg6] [1, 1, 1, 1] [1, 1, 1, 1] : tensor<1x1x1x1xi32> into tensor<2x3x5x5xi32>
      }
    }
    %2 = tensor.empty() : tensor<2x3x11x11xf32>
    %3 = scf.forall (%arg3, %arg4, %arg5, %arg6) in (2, 3, 11, 11) shared_outs(%arg7 = %2) -> (tensor<2x3x11x11xf32>) {
      %extracted = tensor.extract %arg2[] : tensor<f32>
      %4 = scf.for %arg8 = %c0 to %c3 step %c1 iter_args(%arg9 = %extracted) -> (f32) {
        %5 = scf.for %arg10 = %c0 to %c3 step %c1 iter_args(%arg11 = %arg9) -> (f32) {
          %6 = arith.subi %arg5, %arg8 : index
          %7 = arith.remsi %6, %c2 : index
          %8 = arith.cmpi eq, %7, %c0 : index
          %9 = arith.floordivsi %6, %c2 : index
          %10 = arith.subi %arg6, %arg10 : index
          %11 = arith.remsi %10, %c2 : index
          %12 = arith.cmpi eq, %11, %c0 : index
          %13 = arith.andi %8, %12 : i1
          %14 = arith.floordivsi %10, %c2 : index
          %15 = arith.cmpi ult, %arg3, %c2 : index
          %16 = arith.select %15, %arg3, %c0 : index
          %17 = arith.cmpi ult, %arg4, %c3 : index
          %18 = arith.andi %15, %17 : i1
          %19 = arith.select %17, %arg4, %c0 : index
          %20 = arith.cmpi ult, %9, %c5 : index
          %21 = arith.andi %18, %20 : i1
          %22 = arith.select %20, %9, %c0 : index
          %23 = arith.cmpi ult, %14, %c5 : index
          %24 = arith.andi %21, %23 : i1
          %25 = arith.select %23, %14, %c0 : index
          %extracted_0 = tensor.extract %1[%16, %19, %22, %25] : tensor<2x3x5x5xi32>
          %26 = arith.muli %arg8, %c3 : index
          %27 = arith.addi %26, %arg10 : index
          %28 = arith.index_cast %27 : index to i32
          %29 = arith.cmpi eq, %extracted_0, %28 : i32
          %30 = arith.andi %13, %24 : i1
          %31 = arith.andi %29, %30 : i1
          %extracted_1 = tensor.extract %arg1[%16, %19, %22, %25] : tensor<2x3x5x5xf32>
          %32 = arith.addf %arg11, %extracted_1 : f32
          %33 = arith.select %31, %32, %arg11 : f32
          scf.yield %33 : f32
        }
        scf.yield %5 : f32
      }
      %from_elements = tensor.from_elements %4 : tensor<1x1x1x1xf32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %from_elements into %arg7[%arg3, %arg4, %arg5, %arg6] [1, 1, 1, 1] [1, 1, 1, 1] : tensor<1x1x1x1xf32> into tensor<2x3x11x11xf32>
      }
    }
    return %3 : tensor<2x3x11x11xf32>
  }
}
