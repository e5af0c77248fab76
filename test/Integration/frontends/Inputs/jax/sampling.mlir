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
    %2:2 = call @sort.0(%arg0, %1) : (tensor<3x37xf32>, tensor<3x37xi32>) -> (tensor<3x37xf32>, tensor<3x37xi32>)
    %extracted_slice = tensor.extract_slice %2#0[0, 0] [3, 5] [1, 1] : tensor<3x37xf32> to tensor<3x5xf32>
    %extracted_slice_2 = tensor.extract_slice %2#1[0, 0] [3, 5] [1, 1] : tensor<3x37xi32> to tensor<3x5xi32>
    %3 = tensor.empty() : tensor<3xf32>
    %4 = linalg.fill ins(%cst_0 : f32) outs(%3 : tensor<3xf32>) -> tensor<3xf32>
    %5 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "reduction"]} ins(%extracted_slice : tensor<3x5xf32>) outs(%4 : tensor<3xf32>) {
    ^bb0(%in: f32, %out: f32):
      %19 = arith.maximumf %out, %in : f32
      linalg.yield %19 : f32
    } -> tensor<3xf32>
    %6 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel"]} ins(%cst_1 : tensor<f32>) outs(%3 : tensor<3xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<3xf32>
    %7 = linalg.generic {indexing_maps = [#map3, #map3, #map3], iterator_types = ["parallel"]} ins(%6, %5 : tensor<3xf32>, tensor<3xf32>) outs(%3 : tensor<3xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %19 = arith.maximumf %in, %in_3 : f32
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
    %12 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%extracted_slice, %11 : tensor<3x5xf32>, tensor<3x5xf32>) outs(%10 : tensor<3x5xf32>) {
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %19 = arith.subf %in, %in_3 : f32
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
    ^bb0(%in: f32, %in_3: f32, %out: f32):
      %19 = arith.divf %in, %in_3 : f32
      linalg.yield %19 : f32
    } -> tensor<3x5xf32>
    return %18, %extracted_slice_2 : tensor<3x5xf32>, tensor<3x5xi32>
  }
  func.func private @sort.0(%arg0: tensor<3x37xf32>, %arg1: tensor<3x37xi32>) -> (tensor<3x37xf32>, tensor<3x37xi32>) {
    %c37_i32 = arith.constant 37 : i32
    %c2147483647_i32 = arith.constant 2147483647 : i32
    %c0_i32 = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c7 = arith.constant 7 : index
    %c36 = arith.constant 36 : index
    %0 = tensor.empty() : tensor<3x64xf32>
    %1 = tensor.empty() : tensor<3x64xi32>
    %2:3 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} outs(%0, %1, %1 : tensor<3x64xf32>, tensor<3x64xi32>, tensor<3x64xi32>) {
    ^bb0(%out: f32, %out_1: i32, %out_2: i32):
      %4 = linalg.index 0 : index
      %5 = linalg.index 1 : index
      %6 = arith.minsi %5, %c36 : index
      %extracted = tensor.extract %arg0[%4, %6] : tensor<3x37xf32>
      %extracted_3 = tensor.extract %arg1[%4, %6] : tensor<3x37xi32>
      %7 = arith.index_cast %5 : index to i32
      linalg.yield %extracted, %extracted_3, %7 : f32, i32, i32
    } -> (tensor<3x64xf32>, tensor<3x64xi32>, tensor<3x64xi32>)
    %3:3 = scf.for %arg2 = %c1 to %c7 step %c1 iter_args(%arg3 = %2#0, %arg4 = %2#1, %arg5 = %2#2) -> (tensor<3x64xf32>, tensor<3x64xi32>, tensor<3x64xi32>) {
      %4:3 = scf.for %arg6 = %c0 to %arg2 step %c1 iter_args(%arg7 = %arg3, %arg8 = %arg4, %arg9 = %arg5) -> (tensor<3x64xf32>, tensor<3x64xi32>, tensor<3x64xi32>) {
        %5 = arith.subi %arg2, %c1 : index
        %6 = arith.subi %5, %arg6 : index
        %7 = arith.shli %c1, %6 : index
        %8 = arith.shli %c1, %arg2 : index
        %9 = arith.index_cast %7 : index to i32
        %10 = arith.index_cast %8 : index to i32
        %11:3 = linalg.generic {indexing_maps = [#map, #map, #map, #map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg7, %arg8, %arg9 : tensor<3x64xf32>, tensor<3x64xi32>, tensor<3x64xi32>) outs(%0, %1, %1 : tensor<3x64xf32>, tensor<3x64xi32>, tensor<3x64xi32>) {
        ^bb0(%in: f32, %in_1: i32, %in_2: i32, %out: f32, %out_3: i32, %out_4: i32):
          %12 = linalg.index 0 : index
          %13 = linalg.index 1 : index
          %14 = arith.index_cast %13 : index to i32
          %15 = arith.xori %14, %9 : i32
          %16 = arith.index_cast %15 : i32 to index
          %extracted = tensor.extract %arg7[%12, %16] : tensor<3x64xf32>
          %extracted_5 = tensor.extract %arg8[%12, %16] : tensor<3x64xi32>
          %extracted_6 = tensor.extract %arg9[%12, %16] : tensor<3x64xi32>
          %17 = arith.bitcast %in : f32 to i32
          %18 = arith.cmpi slt, %17, %c0_i32 : i32
          %19 = arith.subi %c2147483647_i32, %17 : i32
          %20 = arith.select %18, %19, %17 : i32
          %21 = arith.bitcast %extracted : f32 to i32
          %22 = arith.cmpi slt, %21, %c0_i32 : i32
          %23 = arith.subi %c2147483647_i32, %21 : i32
          %24 = arith.select %22, %23, %21 : i32
          %25 = arith.cmpi sgt, %20, %24 : i32
          %26 = arith.cmpi sgt, %24, %20 : i32
          %27 = arith.cmpi slt, %in_2, %extracted_6 : i32
          %28 = arith.maxsi %in_2, %extracted_6 : i32
          %29 = arith.cmpi sge, %28, %c37_i32 : i32
          %30 = arith.cmpi eq, %25, %26 : i1
          %31 = arith.ori %30, %29 : i1
          %32 = arith.select %31, %27, %25 : i1
          %33 = arith.andi %14, %9 : i32
          %34 = arith.cmpi eq, %33, %c0_i32 : i32
          %35 = arith.andi %14, %10 : i32
          %36 = arith.cmpi eq, %35, %c0_i32 : i32
          %37 = arith.cmpi eq, %34, %36 : i1
          %38 = arith.cmpi eq, %32, %37 : i1
          %39 = arith.select %38, %in, %extracted : f32
          %40 = arith.select %38, %in_1, %extracted_5 : i32
          %41 = arith.select %38, %in_2, %extracted_6 : i32
          linalg.yield %39, %40, %41 : f32, i32, i32
        } -> (tensor<3x64xf32>, tensor<3x64xi32>, tensor<3x64xi32>)
        scf.yield %11#0, %11#1, %11#2 : tensor<3x64xf32>, tensor<3x64xi32>, tensor<3x64xi32>
      }
      scf.yield %4#0, %4#1, %4#2 : tensor<3x64xf32>, tensor<3x64xi32>, tensor<3x64xi32>
    }
    %extracted_slice = tensor.extract_slice %3#0[0, 0] [3, 37] [1, 1] : tensor<3x64xf32> to tensor<3x37xf32>
    %extracted_slice_0 = tensor.extract_slice %3#1[0, 0] [3, 37] [1, 1] : tensor<3x64xi32> to tensor<3x37xi32>
    return %extracted_slice, %extracted_slice_0 : tensor<3x37xf32>, tensor<3x37xi32>
  }
}
