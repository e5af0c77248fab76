// of 4 ranks, a mesh of x=2 x y=2
// argument 0: P('x', 'y')
// result 0: P(('x', 'y'))
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> ()>
#map2 = affine_map<() -> ()>
#map3 = affine_map<(d0, d1) -> (d1, d0)>
#map4 = affine_map<(d0) -> (d0)>
#map5 = affine_map<(d0) -> ()>
module @jit_normalize {
  func.func public @main(%arg0: tensor<2x4xf32>) -> tensor<8xf32> {
    %c24 = arith.constant 24 : index
    %c0 = arith.constant 0 : index
    %c8_i32 = arith.constant 8 : i32
    %c2_i32 = arith.constant 2 : i32
    %cst = arith.constant 1.000000e+00 : f32
    %cst_0 = arith.constant 0.000000e+00 : f32
    %cst_1 = arith.constant dense<5.000000e-01> : tensor<f32>
    %0 = scf.while (%arg1 = %arg0) : (tensor<2x4xf32>) -> tensor<2x4xf32> {
      %26 = tensor.empty() : tensor<2x4xf32>
      %27 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg1, %arg1 : tensor<2x4xf32>, tensor<2x4xf32>) outs(%26 : tensor<2x4xf32>) {
      ^bb0(%in: f32, %in_3: f32, %out: f32):
        %35 = arith.mulf %in, %in_3 : f32
        linalg.yield %35 : f32
      } -> tensor<2x4xf32>
      %28 = tensor.empty() : tensor<f32>
      %29 = linalg.fill ins(%cst_0 : f32) outs(%28 : tensor<f32>) -> tensor<f32>
      %30 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["reduction", "reduction"]} ins(%27 : tensor<2x4xf32>) outs(%29 : tensor<f32>) {
      ^bb0(%in: f32, %out: f32):
        %35 = arith.addf %out, %in : f32
        linalg.yield %35 : f32
      } -> tensor<f32>
      %31 = func.call @gpu_async.collective.0(%30) : (tensor<f32>) -> tensor<f32>
      %32 = tensor.empty() : tensor<i1>
      %33 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = []} ins(%31 : tensor<f32>) outs(%32 : tensor<i1>) {
      ^bb0(%in: f32, %out: i1):
        %35 = arith.cmpf ogt, %in, %cst : f32
        linalg.yield %35 : i1
      } -> tensor<i1>
      %extracted_2 = tensor.extract %33[] : tensor<i1>
      %34 = func.call @gpu_async.collective.5(%extracted_2) : (i1) -> i1
      scf.condition(%34) %arg1 : tensor<2x4xf32>
    } do {
    ^bb0(%arg1: tensor<2x4xf32>):
      %26 = tensor.empty() : tensor<2x4xf32>
      %27 = linalg.generic {indexing_maps = [#map1, #map], iterator_types = ["parallel", "parallel"]} ins(%cst_1 : tensor<f32>) outs(%26 : tensor<2x4xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<2x4xf32>
      %28 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg1, %27 : tensor<2x4xf32>, tensor<2x4xf32>) outs(%26 : tensor<2x4xf32>) {
      ^bb0(%in: f32, %in_2: f32, %out: f32):
        %29 = arith.mulf %in, %in_2 : f32
        linalg.yield %29 : f32
      } -> tensor<2x4xf32>
      scf.yield %28 : tensor<2x4xf32>
    }
    %1 = call @gpu_async.collective.1(%0) : (tensor<2x4xf32>) -> tensor<4x4xf32>
    %2 = tensor.empty() : tensor<4x4xf32>
    %3 = linalg.generic {indexing_maps = [#map3, #map], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<4x4xf32>) outs(%2 : tensor<4x4xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x4xf32>
    %4 = call @gpu_async.collective.2(%3) : (tensor<4x4xf32>) -> tensor<8x4xf32>
    %5 = tensor.empty() : tensor<4x8xf32>
    %6 = linalg.generic {indexing_maps = [#map3, #map], iterator_types = ["parallel", "parallel"]} ins(%4 : tensor<8x4xf32>) outs(%5 : tensor<4x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x8xf32>
    %7 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%6 : tensor<4x8xf32>) outs(%5 : tensor<4x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %26 = math.exp %in : f32
      linalg.yield %26 : f32
    } -> tensor<4x8xf32>
    %collapsed = tensor.collapse_shape %7 [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
    %8 = call @gpu_async.collective.3() : () -> tensor<i32>
    %9 = tensor.empty() : tensor<i32>
    %10 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = []} ins(%8 : tensor<i32>) outs(%9 : tensor<i32>) {
    ^bb0(%in: i32, %out: i32):
      %26 = arith.divsi %in, %c2_i32 : i32
      linalg.yield %26 : i32
    } -> tensor<i32>
    %11 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = []} ins(%10 : tensor<i32>) outs(%9 : tensor<i32>) {
    ^bb0(%in: i32, %out: i32):
      %26 = arith.remsi %in, %c2_i32 : i32
      linalg.yield %26 : i32
    } -> tensor<i32>
    %12 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = []} ins(%8 : tensor<i32>) outs(%9 : tensor<i32>) {
    ^bb0(%in: i32, %out: i32):
      %26 = arith.remsi %in, %c2_i32 : i32
      linalg.yield %26 : i32
    } -> tensor<i32>
    %13 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = []} ins(%11 : tensor<i32>) outs(%9 : tensor<i32>) {
    ^bb0(%in: i32, %out: i32):
      %26 = arith.muli %in, %c2_i32 : i32
      linalg.yield %26 : i32
    } -> tensor<i32>
    %14 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = []} ins(%13, %12 : tensor<i32>, tensor<i32>) outs(%9 : tensor<i32>) {
    ^bb0(%in: i32, %in_2: i32, %out: i32):
      %26 = arith.addi %in, %in_2 : i32
      linalg.yield %26 : i32
    } -> tensor<i32>
    %15 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = []} ins(%14 : tensor<i32>) outs(%9 : tensor<i32>) {
    ^bb0(%in: i32, %out: i32):
      %26 = arith.muli %in, %c8_i32 : i32
      linalg.yield %26 : i32
    } -> tensor<i32>
    %extracted = tensor.extract %15[] : tensor<i32>
    %16 = arith.index_cast %extracted : i32 to index
    %17 = arith.maxsi %16, %c0 : index
    %18 = arith.minsi %17, %c24 : index
    %extracted_slice = tensor.extract_slice %collapsed[%18] [8] [1] : tensor<32xf32> to tensor<8xf32>
    %19 = call @gpu_async.collective.4(%extracted_slice) : (tensor<8xf32>) -> tensor<8xf32>
    %20 = tensor.empty() : tensor<f32>
    %21 = linalg.fill ins(%cst_0 : f32) outs(%20 : tensor<f32>) -> tensor<f32>
    %22 = linalg.generic {indexing_maps = [#map4, #map5], iterator_types = ["reduction"]} ins(%19 : tensor<8xf32>) outs(%21 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %26 = arith.addf %out, %in : f32
      linalg.yield %26 : f32
    } -> tensor<f32>
    %23 = tensor.empty() : tensor<8xf32>
    %24 = linalg.generic {indexing_maps = [#map5, #map4], iterator_types = ["parallel"]} ins(%22 : tensor<f32>) outs(%23 : tensor<8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<8xf32>
    %25 = linalg.generic {indexing_maps = [#map4, #map4, #map4], iterator_types = ["parallel"]} ins(%extracted_slice, %24 : tensor<8xf32>, tensor<8xf32>) outs(%23 : tensor<8xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %26 = arith.divf %in, %in_2 : f32
      linalg.yield %26 : f32
    } -> tensor<8xf32>
    return %25 : tensor<8xf32>
  }
  gpu_async.group @gpu_async.group.0 ranks [[0, 1, 2, 3]]
  gpu_async.group @gpu_async.group.1 ranks [[0, 2], [1, 3]]
  gpu_async.group @gpu_async.group.2 ranks [[0, 1], [2, 3]]
  func.func private @gpu_async.collective.0(%x: tensor<f32>) -> tensor<f32> {
    %e = tensor.empty() : tensor<f32>
    %r = gpu_async.tensor_collective all_reduce<sum> group(@gpu_async.group.0) ins(%x : tensor<f32>) outs(%e : tensor<f32>)
    return %r : tensor<f32>
  }
  func.func private @gpu_async.collective.1(%x: tensor<2x4xf32>) -> tensor<4x4xf32> {
    %e = tensor.empty() : tensor<4x4xf32>
    %r = gpu_async.tensor_collective all_gather group(@gpu_async.group.1) ins(%x : tensor<2x4xf32>) outs(%e : tensor<4x4xf32>)
    return %r : tensor<4x4xf32>
  }
  func.func private @gpu_async.collective.2(%x: tensor<4x4xf32>) -> tensor<8x4xf32> {
    %e = tensor.empty() : tensor<8x4xf32>
    %r = gpu_async.tensor_collective all_gather group(@gpu_async.group.2) ins(%x : tensor<4x4xf32>) outs(%e : tensor<8x4xf32>)
    return %r : tensor<8x4xf32>
  }
  func.func private @gpu_async.collective.3() -> tensor<i32> {
    %n = gpu_async.rank @gpu_async.group.0
    %i = arith.index_cast %n : index to i32
    %r = tensor.from_elements %i : tensor<i32>
    return %r : tensor<i32>
  }
  func.func private @gpu_async.collective.4(%x: tensor<8xf32>) -> tensor<8xf32> {
    %e = tensor.empty() : tensor<8xf32>
    %r = gpu_async.tensor_collective all_reduce<sum> group(@gpu_async.group.0) ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>)
    return %r : tensor<8xf32>
  }
  func.func private @gpu_async.collective.5(%x: i1) -> i1 {
    %r = gpu_async.uniform %x : i1
    return %r : i1
  }
}
