#map = affine_map<(d0, d1) -> (d0, d1)>
module @jit_ranking {
  func.func public @main(%arg0: tensor<3x37xf32>) -> (tensor<3x37xf32>, tensor<3x37xi32>) {
    %0 = call @sort(%arg0) : (tensor<3x37xf32>) -> tensor<3x37xf32>
    %1 = call @argsort(%arg0) : (tensor<3x37xf32>) -> tensor<3x37xi32>
    return %0, %1 : tensor<3x37xf32>, tensor<3x37xi32>
  }
  func.func private @sort(%arg0: tensor<3x37xf32>) -> tensor<3x37xf32> {
    %0 = call @sort.0(%arg0) : (tensor<3x37xf32>) -> tensor<3x37xf32>
    return %0 : tensor<3x37xf32>
  }
  func.func private @argsort(%arg0: tensor<3x37xf32>) -> tensor<3x37xi32> {
    %0 = tensor.empty() : tensor<3x37xi32>
    %1 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel"]} outs(%0 : tensor<3x37xi32>) {
    ^bb0(%out: i32):
      %3 = linalg.index 0 : index
      %4 = arith.index_cast %3 : index to i32
      linalg.yield %4 : i32
    } -> tensor<3x37xi32>
    %2:2 = call @sort.1(%arg0, %1) : (tensor<3x37xf32>, tensor<3x37xi32>) -> (tensor<3x37xf32>, tensor<3x37xi32>)
    return %2#1 : tensor<3x37xi32>
  }
  func.func private @sort.0(%arg0: tensor<3x37xf32>) -> tensor<3x37xf32> {
    %c37_i32 = arith.constant 37 : i32
    %c2147483647_i32 = arith.constant 2147483647 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst = arith.constant 0x7FC00000 : f32
    %cst_0 = arith.constant 0.000000e+00 : f32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c7 = arith.constant 7 : index
    %c36 = arith.constant 36 : index
    %0 = tensor.empty() : tensor<3x64xf32>
    %1 = tensor.empty() : tensor<3x64xi32>
    %2:2 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} outs(%0, %1 : tensor<3x64xf32>, tensor<3x64xi32>) {
    ^bb0(%out: f32, %out_1: i32):
      %4 = linalg.index 0 : index
      %5 = linalg.index 1 : index
      %6 = arith.minsi %5, %c36 : index
      %extracted = tensor.extract %arg0[%4, %6] : tensor<3x37xf32>
      %7 = arith.index_cast %5 : index to i32
      linalg.yield %extracted, %7 : f32, i32
    } -> (tensor<3x64xf32>, tensor<3x64xi32>)
    %3:2 = scf.for %arg1 = %c1 to %c7 step %c1 iter_args(%arg2 = %2#0, %arg3 = %2#1) -> (tensor<3x64xf32>, tensor<3x64xi32>) {
      %4:2 = scf.for %arg4 = %c0 to %arg1 step %c1 iter_args(%arg5 = %arg2, %arg6 = %arg3) -> (tensor<3x64xf32>, tensor<3x64xi32>) {
        %5 = arith.subi %arg1, %c1 : index
        %6 = arith.subi %5, %arg4 : index
        %7 = arith.shli %c1, %6 : index
        %8 = arith.shli %c1, %arg1 : index
        %9 = arith.index_cast %7 : index to i32
        %10 = arith.index_cast %8 : index to i32
        %11:2 = linalg.generic {indexing_maps = [#map, #map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg5, %arg6 : tensor<3x64xf32>, tensor<3x64xi32>) outs(%0, %1 : tensor<3x64xf32>, tensor<3x64xi32>) {
        ^bb0(%in: f32, %in_1: i32, %out: f32, %out_2: i32):
          %12 = linalg.index 0 : index
          %13 = linalg.index 1 : index
          %14 = arith.index_cast %13 : index to i32
          %15 = arith.xori %14, %9 : i32
          %16 = arith.index_cast %15 : i32 to index
          %extracted = tensor.extract %arg5[%12, %16] : tensor<3x64xf32>
          %extracted_3 = tensor.extract %arg6[%12, %16] : tensor<3x64xi32>
          %17 = arith.cmpf oeq, %in, %cst_0 : f32
          %18 = arith.select %17, %cst_0, %in : f32
          %19 = arith.cmpf une, %in, %in : f32
          %20 = arith.select %19, %cst, %18 : f32
          %21 = arith.cmpf oeq, %extracted, %cst_0 : f32
          %22 = arith.select %21, %cst_0, %extracted : f32
          %23 = arith.cmpf une, %extracted, %extracted : f32
          %24 = arith.select %23, %cst, %22 : f32
          %25 = arith.bitcast %20 : f32 to i32
          %26 = arith.cmpi slt, %25, %c0_i32 : i32
          %27 = arith.subi %c2147483647_i32, %25 : i32
          %28 = arith.select %26, %27, %25 : i32
          %29 = arith.bitcast %24 : f32 to i32
          %30 = arith.cmpi slt, %29, %c0_i32 : i32
          %31 = arith.subi %c2147483647_i32, %29 : i32
          %32 = arith.select %30, %31, %29 : i32
          %33 = arith.cmpi slt, %28, %32 : i32
          %34 = arith.cmpi slt, %32, %28 : i32
          %35 = arith.cmpi slt, %in_1, %extracted_3 : i32
          %36 = arith.maxsi %in_1, %extracted_3 : i32
          %37 = arith.cmpi sge, %36, %c37_i32 : i32
          %38 = arith.cmpi eq, %33, %34 : i1
          %39 = arith.ori %38, %37 : i1
          %40 = arith.select %39, %35, %33 : i1
          %41 = arith.andi %14, %9 : i32
          %42 = arith.cmpi eq, %41, %c0_i32 : i32
          %43 = arith.andi %14, %10 : i32
          %44 = arith.cmpi eq, %43, %c0_i32 : i32
          %45 = arith.cmpi eq, %42, %44 : i1
          %46 = arith.cmpi eq, %40, %45 : i1
          %47 = arith.select %46, %in, %extracted : f32
          %48 = arith.select %46, %in_1, %extracted_3 : i32
          linalg.yield %47, %48 : f32, i32
        } -> (tensor<3x64xf32>, tensor<3x64xi32>)
        scf.yield %11#0, %11#1 : tensor<3x64xf32>, tensor<3x64xi32>
      }
      scf.yield %4#0, %4#1 : tensor<3x64xf32>, tensor<3x64xi32>
    }
    %extracted_slice = tensor.extract_slice %3#0[0, 0] [3, 37] [1, 1] : tensor<3x64xf32> to tensor<3x37xf32>
    return %extracted_slice : tensor<3x37xf32>
  }
  func.func private @sort.1(%arg0: tensor<3x37xf32>, %arg1: tensor<3x37xi32>) -> (tensor<3x37xf32>, tensor<3x37xi32>) {
    %c3_i32 = arith.constant 3 : i32
    %c2147483647_i32 = arith.constant 2147483647 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst = arith.constant 0x7FC00000 : f32
    %cst_0 = arith.constant 0.000000e+00 : f32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c2 = arith.constant 2 : index
    %0 = tensor.empty() : tensor<4x37xf32>
    %1 = tensor.empty() : tensor<4x37xi32>
    %2:3 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} outs(%0, %1, %1 : tensor<4x37xf32>, tensor<4x37xi32>, tensor<4x37xi32>) {
    ^bb0(%out: f32, %out_2: i32, %out_3: i32):
      %4 = linalg.index 0 : index
      %5 = linalg.index 1 : index
      %6 = arith.minsi %4, %c2 : index
      %extracted = tensor.extract %arg0[%6, %5] : tensor<3x37xf32>
      %extracted_4 = tensor.extract %arg1[%6, %5] : tensor<3x37xi32>
      %7 = arith.index_cast %4 : index to i32
      linalg.yield %extracted, %extracted_4, %7 : f32, i32, i32
    } -> (tensor<4x37xf32>, tensor<4x37xi32>, tensor<4x37xi32>)
    %3:3 = scf.for %arg2 = %c1 to %c3 step %c1 iter_args(%arg3 = %2#0, %arg4 = %2#1, %arg5 = %2#2) -> (tensor<4x37xf32>, tensor<4x37xi32>, tensor<4x37xi32>) {
      %4:3 = scf.for %arg6 = %c0 to %arg2 step %c1 iter_args(%arg7 = %arg3, %arg8 = %arg4, %arg9 = %arg5) -> (tensor<4x37xf32>, tensor<4x37xi32>, tensor<4x37xi32>) {
        %5 = arith.subi %arg2, %c1 : index
        %6 = arith.subi %5, %arg6 : index
        %7 = arith.shli %c1, %6 : index
        %8 = arith.shli %c1, %arg2 : index
        %9 = arith.index_cast %7 : index to i32
        %10 = arith.index_cast %8 : index to i32
        %11:3 = linalg.generic {indexing_maps = [#map, #map, #map, #map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg7, %arg8, %arg9 : tensor<4x37xf32>, tensor<4x37xi32>, tensor<4x37xi32>) outs(%0, %1, %1 : tensor<4x37xf32>, tensor<4x37xi32>, tensor<4x37xi32>) {
        ^bb0(%in: f32, %in_2: i32, %in_3: i32, %out: f32, %out_4: i32, %out_5: i32):
          %12 = linalg.index 0 : index
          %13 = linalg.index 1 : index
          %14 = arith.index_cast %12 : index to i32
          %15 = arith.xori %14, %9 : i32
          %16 = arith.index_cast %15 : i32 to index
          %extracted = tensor.extract %arg7[%16, %13] : tensor<4x37xf32>
          %extracted_6 = tensor.extract %arg8[%16, %13] : tensor<4x37xi32>
          %extracted_7 = tensor.extract %arg9[%16, %13] : tensor<4x37xi32>
          %17 = arith.cmpf oeq, %in, %cst_0 : f32
          %18 = arith.select %17, %cst_0, %in : f32
          %19 = arith.cmpf une, %in, %in : f32
          %20 = arith.select %19, %cst, %18 : f32
          %21 = arith.cmpf oeq, %extracted, %cst_0 : f32
          %22 = arith.select %21, %cst_0, %extracted : f32
          %23 = arith.cmpf une, %extracted, %extracted : f32
          %24 = arith.select %23, %cst, %22 : f32
          %25 = arith.bitcast %20 : f32 to i32
          %26 = arith.cmpi slt, %25, %c0_i32 : i32
          %27 = arith.subi %c2147483647_i32, %25 : i32
          %28 = arith.select %26, %27, %25 : i32
          %29 = arith.bitcast %24 : f32 to i32
          %30 = arith.cmpi slt, %29, %c0_i32 : i32
          %31 = arith.subi %c2147483647_i32, %29 : i32
          %32 = arith.select %30, %31, %29 : i32
          %33 = arith.cmpi slt, %28, %32 : i32
          %34 = arith.cmpi slt, %32, %28 : i32
          %35 = arith.cmpi slt, %in_3, %extracted_7 : i32
          %36 = arith.maxsi %in_3, %extracted_7 : i32
          %37 = arith.cmpi sge, %36, %c3_i32 : i32
          %38 = arith.cmpi eq, %33, %34 : i1
          %39 = arith.ori %38, %37 : i1
          %40 = arith.select %39, %35, %33 : i1
          %41 = arith.andi %14, %9 : i32
          %42 = arith.cmpi eq, %41, %c0_i32 : i32
          %43 = arith.andi %14, %10 : i32
          %44 = arith.cmpi eq, %43, %c0_i32 : i32
          %45 = arith.cmpi eq, %42, %44 : i1
          %46 = arith.cmpi eq, %40, %45 : i1
          %47 = arith.select %46, %in, %extracted : f32
          %48 = arith.select %46, %in_2, %extracted_6 : i32
          %49 = arith.select %46, %in_3, %extracted_7 : i32
          linalg.yield %47, %48, %49 : f32, i32, i32
        } -> (tensor<4x37xf32>, tensor<4x37xi32>, tensor<4x37xi32>)
        scf.yield %11#0, %11#1, %11#2 : tensor<4x37xf32>, tensor<4x37xi32>, tensor<4x37xi32>
      }
      scf.yield %4#0, %4#1, %4#2 : tensor<4x37xf32>, tensor<4x37xi32>, tensor<4x37xi32>
    }
    %extracted_slice = tensor.extract_slice %3#0[0, 0] [3, 37] [1, 1] : tensor<4x37xf32> to tensor<3x37xf32>
    %extracted_slice_1 = tensor.extract_slice %3#1[0, 0] [3, 37] [1, 1] : tensor<4x37xi32> to tensor<3x37xi32>
    return %extracted_slice, %extracted_slice_1 : tensor<3x37xf32>, tensor<3x37xi32>
  }
}
