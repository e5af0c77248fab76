#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d0)>
#map2 = affine_map<(d0) -> ()>
#map3 = affine_map<(d0) -> (d0)>
#map4 = affine_map<(d0, d1) -> (d0, 0)>
module @jit_sampling {
  func.func public @main(%arg0: tensor<3x37xf32>) -> (tensor<3x5xf32>, tensor<3x5xi32>) {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFF800000 : f32
    %cst_1 = arith.constant dense<0xFF800000> : tensor<f32>
    %0 = tensor.empty() : tensor<3x37xi32>
    %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel"]} outs(%0 : tensor<3x37xi32>) {
    ^bb0(%out: i32):
      %19 = linalg.index 1 : index
      %20 = arith.index_cast %19 : index to i32
      linalg.yield %20 : i32
    } -> tensor<3x37xi32>
    %2:2 = call @sort.0(%arg0, %1) : (tensor<3x37xf32>, tensor<3x37xi32>) -> (tensor<3x5xf32>, tensor<3x5xi32>)
    %3 = tensor.empty() : tensor<3xf32>
    %4 = linalg.fill ins(%cst_0 : f32) outs(%3 : tensor<3xf32>) -> tensor<3xf32>
    %5 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "reduction"]} ins(%2#0 : tensor<3x5xf32>) outs(%4 : tensor<3xf32>) {
    ^bb0(%in: f32, %out: f32):
      %19 = arith.maximumf %out, %in : f32
      linalg.yield %19 : f32
    } -> tensor<3xf32>
    %6 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel"]} ins(%cst_1 : tensor<f32>) outs(%3 : tensor<3xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<3xf32>
    %7 = linalg.generic {indexing_maps = [#map3, #map3, #map3], iterator_types = ["parallel"]} ins(%6, %5 : tensor<3xf32>, tensor<3xf32>) outs(%3 : tensor<3xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %19 = arith.maximumf %in, %in_2 : f32
      linalg.yield %19 : f32
    } -> tensor<3xf32>
    %8 = tensor.empty() : tensor<3x1xf32>
    %9 = linalg.generic {indexing_maps = [#map1, #map], iterator_types = ["parallel", "parallel"]} ins(%7 : tensor<3xf32>) outs(%8 : tensor<3x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<3x1xf32>
    %10 = tensor.empty() : tensor<3x5xf32>
    %11 = linalg.generic {indexing_maps = [#map4, #map], iterator_types = ["parallel", "parallel"]} ins(%9 : tensor<3x1xf32>) outs(%10 : tensor<3x5xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<3x5xf32>
    %12 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%2#0, %11 : tensor<3x5xf32>, tensor<3x5xf32>) outs(%10 : tensor<3x5xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %19 = arith.subf %in, %in_2 : f32
      linalg.yield %19 : f32
    } -> tensor<3x5xf32>
    %13 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%12 : tensor<3x5xf32>) outs(%10 : tensor<3x5xf32>) {
    ^bb0(%in: f32, %out: f32):
      %19 = math.exp %in : f32
      linalg.yield %19 : f32
    } -> tensor<3x5xf32>
    %14 = linalg.fill ins(%cst : f32) outs(%3 : tensor<3xf32>) -> tensor<3xf32>
    %15 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "reduction"]} ins(%13 : tensor<3x5xf32>) outs(%14 : tensor<3xf32>) {
    ^bb0(%in: f32, %out: f32):
      %19 = arith.addf %out, %in : f32
      linalg.yield %19 : f32
    } -> tensor<3xf32>
    %16 = linalg.generic {indexing_maps = [#map1, #map], iterator_types = ["parallel", "parallel"]} ins(%15 : tensor<3xf32>) outs(%8 : tensor<3x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<3x1xf32>
    %17 = linalg.generic {indexing_maps = [#map4, #map], iterator_types = ["parallel", "parallel"]} ins(%16 : tensor<3x1xf32>) outs(%10 : tensor<3x5xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<3x5xf32>
    %18 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%13, %17 : tensor<3x5xf32>, tensor<3x5xf32>) outs(%10 : tensor<3x5xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %19 = arith.divf %in, %in_2 : f32
      linalg.yield %19 : f32
    } -> tensor<3x5xf32>
    return %18, %2#1 : tensor<3x5xf32>, tensor<3x5xi32>
  }
  func.func private @sort.0(%arg0: tensor<3x37xf32>, %arg1: tensor<3x37xi32>) -> (tensor<3x5xf32>, tensor<3x5xi32>) {
    %c7 = arith.constant 7 : index
    %c5 = arith.constant 5 : index
    %c0 = arith.constant 0 : index
    %c2147483647_i32 = arith.constant 2147483647 : i32
    %c0_i32 = arith.constant 0 : i32
    %c1 = arith.constant 1 : index
    %c-1_i32 = arith.constant -1 : i32
    %c37 = arith.constant 37 : index
    %c6 = arith.constant 6 : index
    %0 = tensor.empty() : tensor<3x7xi32>
    %1 = scf.forall (%arg2, %arg3) in (3, 7) shared_outs(%arg4 = %0) -> (tensor<3x7xi32>) {
      %6 = arith.muli %arg3, %c6 : index
      %7 = arith.addi %6, %c6 : index
      %8 = arith.minsi %7, %c37 : index
      %9 = scf.for %arg5 = %6 to %8 step %c1 iter_args(%arg6 = %c-1_i32) -> (i32) {
        %10 = arith.index_cast %arg5 : index to i32
        %11 = arith.cmpi slt, %arg6, %c0_i32 : i32
        %12 = arith.maxsi %10, %c0_i32 : i32
        %13 = arith.index_cast %12 : i32 to index
        %extracted = tensor.extract %arg0[%arg2, %13] : tensor<3x37xf32>
        %14 = arith.maxsi %arg6, %c0_i32 : i32
        %15 = arith.index_cast %14 : i32 to index
        %extracted_0 = tensor.extract %arg0[%arg2, %15] : tensor<3x37xf32>
        %16 = arith.bitcast %extracted : f32 to i32
        %17 = arith.cmpi slt, %16, %c0_i32 : i32
        %18 = arith.subi %c2147483647_i32, %16 : i32
        %19 = arith.select %17, %18, %16 : i32
        %20 = arith.bitcast %extracted_0 : f32 to i32
        %21 = arith.cmpi slt, %20, %c0_i32 : i32
        %22 = arith.subi %c2147483647_i32, %20 : i32
        %23 = arith.select %21, %22, %20 : i32
        %24 = arith.cmpi sgt, %19, %23 : i32
        %25 = arith.cmpi sgt, %23, %19 : i32
        %26 = arith.cmpi eq, %24, %25 : i1
        %27 = arith.cmpi slt, %10, %arg6 : i32
        %28 = arith.select %26, %27, %24 : i1
        %29 = arith.ori %11, %28 : i1
        %30 = arith.select %29, %10, %arg6 : i32
        scf.yield %30 : i32
      }
      %from_elements = tensor.from_elements %9 : tensor<1x1xi32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %from_elements into %arg4[%arg2, %arg3] [1, 1] [1, 1] : tensor<1x1xi32> into tensor<3x7xi32>
      }
    }
    %2 = tensor.empty() : tensor<3x5xi32>
    %3 = scf.forall (%arg2) in (3) shared_outs(%arg3 = %2) -> (tensor<3x5xi32>) {
      %extracted_slice = tensor.extract_slice %1[%arg2, 0] [1, 7] [1, 1] : tensor<3x7xi32> to tensor<1x7xi32>
      %extracted_slice_0 = tensor.extract_slice %arg3[%arg2, 0] [1, 5] [1, 1] : tensor<3x5xi32> to tensor<1x5xi32>
      %6:2 = scf.for %arg4 = %c0 to %c5 step %c1 iter_args(%arg5 = %extracted_slice, %arg6 = %extracted_slice_0) -> (tensor<1x7xi32>, tensor<1x5xi32>) {
        %7 = scf.for %arg7 = %c0 to %c7 step %c1 iter_args(%arg8 = %c-1_i32) -> (i32) {
          %extracted = tensor.extract %arg5[%c0, %arg7] : tensor<1x7xi32>
          %14 = arith.cmpi sge, %extracted, %c0_i32 : i32
          %15 = arith.cmpi slt, %arg8, %c0_i32 : i32
          %16 = arith.maxsi %extracted, %c0_i32 : i32
          %17 = arith.index_cast %16 : i32 to index
          %extracted_2 = tensor.extract %arg0[%arg2, %17] : tensor<3x37xf32>
          %18 = arith.maxsi %arg8, %c0_i32 : i32
          %19 = arith.index_cast %18 : i32 to index
          %extracted_3 = tensor.extract %arg0[%arg2, %19] : tensor<3x37xf32>
          %20 = arith.bitcast %extracted_2 : f32 to i32
          %21 = arith.cmpi slt, %20, %c0_i32 : i32
          %22 = arith.subi %c2147483647_i32, %20 : i32
          %23 = arith.select %21, %22, %20 : i32
          %24 = arith.bitcast %extracted_3 : f32 to i32
          %25 = arith.cmpi slt, %24, %c0_i32 : i32
          %26 = arith.subi %c2147483647_i32, %24 : i32
          %27 = arith.select %25, %26, %24 : i32
          %28 = arith.cmpi sgt, %23, %27 : i32
          %29 = arith.cmpi sgt, %27, %23 : i32
          %30 = arith.cmpi eq, %28, %29 : i1
          %31 = arith.cmpi slt, %extracted, %arg8 : i32
          %32 = arith.select %30, %31, %28 : i1
          %33 = arith.ori %15, %32 : i1
          %34 = arith.andi %33, %14 : i1
          %35 = arith.select %34, %extracted, %arg8 : i32
          scf.yield %35 : i32
        }
        %inserted = tensor.insert %7 into %arg6[%c0, %arg4] : tensor<1x5xi32>
        %8 = arith.index_cast %7 : i32 to index
        %9 = arith.divui %8, %c6 : index
        %10 = arith.muli %9, %c6 : index
        %11 = arith.addi %10, %c6 : index
        %12 = arith.minsi %11, %c37 : index
        %13 = scf.for %arg7 = %10 to %12 step %c1 iter_args(%arg8 = %c-1_i32) -> (i32) {
          %14 = arith.index_cast %arg7 : index to i32
          %15 = arith.maxsi %7, %c0_i32 : i32
          %16 = arith.index_cast %15 : i32 to index
          %extracted = tensor.extract %arg0[%arg2, %16] : tensor<3x37xf32>
          %17 = arith.maxsi %14, %c0_i32 : i32
          %18 = arith.index_cast %17 : i32 to index
          %extracted_2 = tensor.extract %arg0[%arg2, %18] : tensor<3x37xf32>
          %19 = arith.bitcast %extracted : f32 to i32
          %20 = arith.cmpi slt, %19, %c0_i32 : i32
          %21 = arith.subi %c2147483647_i32, %19 : i32
          %22 = arith.select %20, %21, %19 : i32
          %23 = arith.bitcast %extracted_2 : f32 to i32
          %24 = arith.cmpi slt, %23, %c0_i32 : i32
          %25 = arith.subi %c2147483647_i32, %23 : i32
          %26 = arith.select %24, %25, %23 : i32
          %27 = arith.cmpi sgt, %22, %26 : i32
          %28 = arith.cmpi sgt, %26, %22 : i32
          %29 = arith.cmpi eq, %27, %28 : i1
          %30 = arith.cmpi slt, %7, %14 : i32
          %31 = arith.select %29, %30, %27 : i1
          %32 = arith.cmpi slt, %arg8, %c0_i32 : i32
          %33 = arith.maxsi %arg8, %c0_i32 : i32
          %34 = arith.index_cast %33 : i32 to index
          %extracted_3 = tensor.extract %arg0[%arg2, %34] : tensor<3x37xf32>
          %35 = arith.bitcast %extracted_3 : f32 to i32
          %36 = arith.cmpi slt, %35, %c0_i32 : i32
          %37 = arith.subi %c2147483647_i32, %35 : i32
          %38 = arith.select %36, %37, %35 : i32
          %39 = arith.cmpi sgt, %26, %38 : i32
          %40 = arith.cmpi sgt, %38, %26 : i32
          %41 = arith.cmpi eq, %39, %40 : i1
          %42 = arith.cmpi slt, %14, %arg8 : i32
          %43 = arith.select %41, %42, %39 : i1
          %44 = arith.ori %32, %43 : i1
          %45 = arith.andi %44, %31 : i1
          %46 = arith.select %45, %14, %arg8 : i32
          scf.yield %46 : i32
        }
        %inserted_1 = tensor.insert %13 into %arg5[%c0, %9] : tensor<1x7xi32>
        scf.yield %inserted_1, %inserted : tensor<1x7xi32>, tensor<1x5xi32>
      }
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %6#1 into %arg3[%arg2, 0] [1, 5] [1, 1] : tensor<1x5xi32> into tensor<3x5xi32>
      }
    }
    %4 = tensor.empty() : tensor<3x5xf32>
    %5:2 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} outs(%4, %2 : tensor<3x5xf32>, tensor<3x5xi32>) {
    ^bb0(%out: f32, %out_0: i32):
      %6 = linalg.index 0 : index
      %7 = linalg.index 1 : index
      %extracted = tensor.extract %3[%6, %7] : tensor<3x5xi32>
      %8 = arith.maxsi %extracted, %c0_i32 : i32
      %9 = arith.index_cast %8 : i32 to index
      %extracted_1 = tensor.extract %arg0[%6, %9] : tensor<3x37xf32>
      %extracted_2 = tensor.extract %arg1[%6, %9] : tensor<3x37xi32>
      linalg.yield %extracted_1, %extracted_2 : f32, i32
    } -> (tensor<3x5xf32>, tensor<3x5xi32>)
    return %5#0, %5#1 : tensor<3x5xf32>, tensor<3x5xi32>
  }
}
