// of 4 ranks, a mesh of i=4
// argument 0: P(None, 'i')
// argument 1: P('i')
// result 0: P('i')
#map = affine_map<() -> ()>
#map1 = affine_map<(d0, d1) -> (d0, d1)>
module @jit_matmul_ring {
  func.func public @main(%arg0: tensor<8x2xf32>, %arg1: tensor<2x4xf32>) -> tensor<2x4xf32> {
    %c3_i32 = arith.constant 3 : i32
    %cst = arith.constant 0.000000e+00 : f32
    %c6 = arith.constant 6 : index
    %c0 = arith.constant 0 : index
    %c8_i32 = arith.constant 8 : i32
    %c2_i32 = arith.constant 2 : i32
    %c4_i32 = arith.constant 4 : i32
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %cst_0 = arith.constant dense<4> : tensor<i32>
    %cst_1 = arith.constant dense<1> : tensor<i32>
    %cst_2 = arith.constant dense<0> : tensor<i32>
    %0 = call @gpu_async.collective.0() : () -> tensor<i32>
    %1 = tensor.empty() : tensor<i32>
    %2 = linalg.generic {indexing_maps = [#map, #map], iterator_types = []} ins(%0 : tensor<i32>) outs(%1 : tensor<i32>) {
    ^bb0(%in: i32, %out: i32):
      %17 = arith.remui %in, %c4_i32 : i32
      linalg.yield %17 : i32
    } -> tensor<i32>
    %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = []} ins(%2 : tensor<i32>) outs(%1 : tensor<i32>) {
    ^bb0(%in: i32, %out: i32):
      %17 = arith.subi %in, %c1_i32 : i32
      linalg.yield %17 : i32
    } -> tensor<i32>
    %4 = call @remainder(%3, %cst_0) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = []} ins(%4 : tensor<i32>) outs(%1 : tensor<i32>) {
    ^bb0(%in: i32, %out: i32):
      %17 = arith.muli %in, %c2_i32 : i32
      linalg.yield %17 : i32
    } -> tensor<i32>
    %6 = tensor.empty() : tensor<i1>
    %7 = linalg.generic {indexing_maps = [#map, #map], iterator_types = []} ins(%5 : tensor<i32>) outs(%6 : tensor<i1>) {
    ^bb0(%in: i32, %out: i1):
      %17 = arith.cmpi slt, %in, %c0_i32 : i32
      linalg.yield %17 : i1
    } -> tensor<i1>
    %8 = linalg.generic {indexing_maps = [#map, #map], iterator_types = []} ins(%5 : tensor<i32>) outs(%1 : tensor<i32>) {
    ^bb0(%in: i32, %out: i32):
      %17 = arith.addi %in, %c8_i32 : i32
      linalg.yield %17 : i32
    } -> tensor<i32>
    %9 = linalg.generic {indexing_maps = [#map, #map, #map, #map], iterator_types = []} ins(%7, %8, %5 : tensor<i1>, tensor<i32>, tensor<i32>) outs(%1 : tensor<i32>) {
    ^bb0(%in: i1, %in_3: i32, %in_4: i32, %out: i32):
      %17 = arith.select %in, %in_3, %in_4 : i32
      linalg.yield %17 : i32
    } -> tensor<i32>
    %extracted = tensor.extract %9[] : tensor<i32>
    %10 = arith.index_cast %extracted : i32 to index
    %11 = arith.maxsi %10, %c0 : index
    %12 = arith.minsi %11, %c6 : index
    %extracted_slice = tensor.extract_slice %arg0[%12, 0] [2, 2] [1, 1] : tensor<8x2xf32> to tensor<2x2xf32>
    %13 = tensor.empty() : tensor<2x4xf32>
    %14 = linalg.fill ins(%cst : f32) outs(%13 : tensor<2x4xf32>) -> tensor<2x4xf32>
    %15 = linalg.matmul ins(%extracted_slice, %arg1 : tensor<2x2xf32>, tensor<2x4xf32>) outs(%14 : tensor<2x4xf32>) -> tensor<2x4xf32>
    %16:3 = scf.while (%arg2 = %cst_2, %arg3 = %cst_1, %arg4 = %15) : (tensor<i32>, tensor<i32>, tensor<2x4xf32>) -> (tensor<i32>, tensor<i32>, tensor<2x4xf32>) {
      %17 = linalg.generic {indexing_maps = [#map, #map], iterator_types = []} ins(%arg2 : tensor<i32>) outs(%6 : tensor<i1>) {
      ^bb0(%in: i32, %out: i1):
        %18 = arith.cmpi slt, %in, %c3_i32 : i32
        linalg.yield %18 : i1
      } -> tensor<i1>
      %extracted_3 = tensor.extract %17[] : tensor<i1>
      scf.condition(%extracted_3) %arg2, %arg3, %arg4 : tensor<i32>, tensor<i32>, tensor<2x4xf32>
    } do {
    ^bb0(%arg2: tensor<i32>, %arg3: tensor<i32>, %arg4: tensor<2x4xf32>):
      %17:2 = func.call @closed_call(%2, %arg0, %arg1, %arg3, %arg4) : (tensor<i32>, tensor<8x2xf32>, tensor<2x4xf32>, tensor<i32>, tensor<2x4xf32>) -> (tensor<i32>, tensor<2x4xf32>)
      %18 = linalg.generic {indexing_maps = [#map, #map], iterator_types = []} ins(%arg2 : tensor<i32>) outs(%1 : tensor<i32>) {
      ^bb0(%in: i32, %out: i32):
        %19 = arith.addi %in, %c1_i32 : i32
        linalg.yield %19 : i32
      } -> tensor<i32>
      scf.yield %18, %17#0, %17#1 : tensor<i32>, tensor<i32>, tensor<2x4xf32>
    }
    return %16#2 : tensor<2x4xf32>
  }
  func.func private @remainder(%arg0: tensor<i32>, %arg1: tensor<i32>) -> tensor<i32> {
    %c-1_i32 = arith.constant -1 : i32
    %c-2147483648_i32 = arith.constant -2147483648 : i32
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst = arith.constant dense<1> : tensor<i32>
    %0 = tensor.empty() : tensor<i1>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = []} ins(%arg1 : tensor<i32>) outs(%0 : tensor<i1>) {
    ^bb0(%in: i32, %out: i1):
      %12 = arith.cmpi eq, %in, %c0_i32 : i32
      linalg.yield %12 : i1
    } -> tensor<i1>
    %2 = call @_where(%1, %cst, %arg1) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %3 = tensor.empty() : tensor<i32>
    %4 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = []} ins(%arg0, %2 : tensor<i32>, tensor<i32>) outs(%3 : tensor<i32>) {
    ^bb0(%in: i32, %in_0: i32, %out: i32):
      %12 = arith.cmpi eq, %in_0, %c0_i32 : i32
      %13 = arith.cmpi eq, %in, %c-2147483648_i32 : i32
      %14 = arith.cmpi eq, %in_0, %c-1_i32 : i32
      %15 = arith.andi %13, %14 : i1
      %16 = arith.ori %12, %15 : i1
      %17 = arith.select %16, %c1_i32, %in_0 : i32
      %18 = arith.remsi %in, %17 : i32
      %19 = arith.select %15, %c0_i32, %18 : i32
      %20 = arith.select %12, %in, %19 : i32
      linalg.yield %20 : i32
    } -> tensor<i32>
    %5 = linalg.generic {indexing_maps = [#map, #map], iterator_types = []} ins(%4 : tensor<i32>) outs(%0 : tensor<i1>) {
    ^bb0(%in: i32, %out: i1):
      %12 = arith.cmpi ne, %in, %c0_i32 : i32
      linalg.yield %12 : i1
    } -> tensor<i1>
    %6 = linalg.generic {indexing_maps = [#map, #map], iterator_types = []} ins(%4 : tensor<i32>) outs(%0 : tensor<i1>) {
    ^bb0(%in: i32, %out: i1):
      %12 = arith.cmpi slt, %in, %c0_i32 : i32
      linalg.yield %12 : i1
    } -> tensor<i1>
    %7 = linalg.generic {indexing_maps = [#map, #map], iterator_types = []} ins(%2 : tensor<i32>) outs(%0 : tensor<i1>) {
    ^bb0(%in: i32, %out: i1):
      %12 = arith.cmpi slt, %in, %c0_i32 : i32
      linalg.yield %12 : i1
    } -> tensor<i1>
    %8 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = []} ins(%6, %7 : tensor<i1>, tensor<i1>) outs(%0 : tensor<i1>) {
    ^bb0(%in: i1, %in_0: i1, %out: i1):
      %12 = arith.cmpi ne, %in, %in_0 : i1
      linalg.yield %12 : i1
    } -> tensor<i1>
    %9 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = []} ins(%8, %5 : tensor<i1>, tensor<i1>) outs(%0 : tensor<i1>) {
    ^bb0(%in: i1, %in_0: i1, %out: i1):
      %12 = arith.andi %in, %in_0 : i1
      linalg.yield %12 : i1
    } -> tensor<i1>
    %10 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = []} ins(%4, %2 : tensor<i32>, tensor<i32>) outs(%3 : tensor<i32>) {
    ^bb0(%in: i32, %in_0: i32, %out: i32):
      %12 = arith.addi %in, %in_0 : i32
      linalg.yield %12 : i32
    } -> tensor<i32>
    %11 = linalg.generic {indexing_maps = [#map, #map, #map, #map], iterator_types = []} ins(%9, %10, %4 : tensor<i1>, tensor<i32>, tensor<i32>) outs(%3 : tensor<i32>) {
    ^bb0(%in: i1, %in_0: i32, %in_1: i32, %out: i32):
      %12 = arith.select %in, %in_0, %in_1 : i32
      linalg.yield %12 : i32
    } -> tensor<i32>
    return %11 : tensor<i32>
  }
  func.func private @_where(%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<i32> {
    %0 = tensor.empty() : tensor<i32>
    %1 = linalg.generic {indexing_maps = [#map, #map, #map, #map], iterator_types = []} ins(%arg0, %arg1, %arg2 : tensor<i1>, tensor<i32>, tensor<i32>) outs(%0 : tensor<i32>) {
    ^bb0(%in: i1, %in_0: i32, %in_1: i32, %out: i32):
      %2 = arith.select %in, %in_0, %in_1 : i32
      linalg.yield %2 : i32
    } -> tensor<i32>
    return %1 : tensor<i32>
  }
  func.func private @closed_call(%arg0: tensor<i32>, %arg1: tensor<8x2xf32>, %arg2: tensor<2x4xf32>, %arg3: tensor<i32>, %arg4: tensor<2x4xf32>) -> (tensor<i32>, tensor<2x4xf32>) {
    %cst = arith.constant 0.000000e+00 : f32
    %c6 = arith.constant 6 : index
    %c0 = arith.constant 0 : index
    %c8_i32 = arith.constant 8 : i32
    %c0_i32 = arith.constant 0 : i32
    %c2_i32 = arith.constant 2 : i32
    %c1_i32 = arith.constant 1 : i32
    %cst_0 = arith.constant dense<4> : tensor<i32>
    %0 = tensor.empty() : tensor<i32>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = []} ins(%arg3 : tensor<i32>) outs(%0 : tensor<i32>) {
    ^bb0(%in: i32, %out: i32):
      %18 = arith.addi %in, %c1_i32 : i32
      linalg.yield %18 : i32
    } -> tensor<i32>
    %2 = call @gpu_async.collective.1(%arg4) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = []} ins(%arg0, %arg3 : tensor<i32>, tensor<i32>) outs(%0 : tensor<i32>) {
    ^bb0(%in: i32, %in_1: i32, %out: i32):
      %18 = arith.subi %in, %in_1 : i32
      linalg.yield %18 : i32
    } -> tensor<i32>
    %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = []} ins(%3 : tensor<i32>) outs(%0 : tensor<i32>) {
    ^bb0(%in: i32, %out: i32):
      %18 = arith.subi %in, %c1_i32 : i32
      linalg.yield %18 : i32
    } -> tensor<i32>
    %5 = call @remainder(%4, %cst_0) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %6 = linalg.generic {indexing_maps = [#map, #map], iterator_types = []} ins(%5 : tensor<i32>) outs(%0 : tensor<i32>) {
    ^bb0(%in: i32, %out: i32):
      %18 = arith.muli %in, %c2_i32 : i32
      linalg.yield %18 : i32
    } -> tensor<i32>
    %7 = tensor.empty() : tensor<i1>
    %8 = linalg.generic {indexing_maps = [#map, #map], iterator_types = []} ins(%6 : tensor<i32>) outs(%7 : tensor<i1>) {
    ^bb0(%in: i32, %out: i1):
      %18 = arith.cmpi slt, %in, %c0_i32 : i32
      linalg.yield %18 : i1
    } -> tensor<i1>
    %9 = linalg.generic {indexing_maps = [#map, #map], iterator_types = []} ins(%6 : tensor<i32>) outs(%0 : tensor<i32>) {
    ^bb0(%in: i32, %out: i32):
      %18 = arith.addi %in, %c8_i32 : i32
      linalg.yield %18 : i32
    } -> tensor<i32>
    %10 = linalg.generic {indexing_maps = [#map, #map, #map, #map], iterator_types = []} ins(%8, %9, %6 : tensor<i1>, tensor<i32>, tensor<i32>) outs(%0 : tensor<i32>) {
    ^bb0(%in: i1, %in_1: i32, %in_2: i32, %out: i32):
      %18 = arith.select %in, %in_1, %in_2 : i32
      linalg.yield %18 : i32
    } -> tensor<i32>
    %extracted = tensor.extract %10[] : tensor<i32>
    %11 = arith.index_cast %extracted : i32 to index
    %12 = arith.maxsi %11, %c0 : index
    %13 = arith.minsi %12, %c6 : index
    %extracted_slice = tensor.extract_slice %arg1[%13, 0] [2, 2] [1, 1] : tensor<8x2xf32> to tensor<2x2xf32>
    %14 = tensor.empty() : tensor<2x4xf32>
    %15 = linalg.fill ins(%cst : f32) outs(%14 : tensor<2x4xf32>) -> tensor<2x4xf32>
    %16 = linalg.matmul ins(%extracted_slice, %arg2 : tensor<2x2xf32>, tensor<2x4xf32>) outs(%15 : tensor<2x4xf32>) -> tensor<2x4xf32>
    %17 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%2, %16 : tensor<2x4xf32>, tensor<2x4xf32>) outs(%14 : tensor<2x4xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %18 = arith.addf %in, %in_1 : f32
      linalg.yield %18 : f32
    } -> tensor<2x4xf32>
    return %1, %17 : tensor<i32>, tensor<2x4xf32>
  }
  gpu_async.group @gpu_async.group.0 ranks [[0, 1, 2, 3]]
  func.func private @gpu_async.collective.0() -> tensor<i32> {
    %n = gpu_async.rank @gpu_async.group.0
    %i = arith.index_cast %n : index to i32
    %r = tensor.from_elements %i : tensor<i32>
    return %r : tensor<i32>
  }
  func.func private @gpu_async.collective.1(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
    %e = tensor.empty() : tensor<2x4xf32>
    %r = gpu_async.tensor_collective permute<[[0, 1], [1, 2], [2, 3], [3, 0]]> group(@gpu_async.group.0) ins(%x : tensor<2x4xf32>) outs(%e : tensor<2x4xf32>)
    return %r : tensor<2x4xf32>
  }
}
