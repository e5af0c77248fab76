#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
module @jit_spectrum {
  func.func public @main(%arg0: tensor<3x20xf32>) -> tensor<3x11xf32> {
    %0 = call @fft(%arg0) : (tensor<3x20xf32>) -> tensor<3x11xcomplex<f32>>
    %1 = tensor.empty() : tensor<3x11xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<3x11xcomplex<f32>>) outs(%1 : tensor<3x11xf32>) {
    ^bb0(%in: complex<f32>, %out: f32):
      %3 = complex.abs %in : complex<f32>
      linalg.yield %3 : f32
    } -> tensor<3x11xf32>
    return %2 : tensor<3x11xf32>
  }
  func.func private @fft(%arg0: tensor<3x20xf32>) -> tensor<3x11xcomplex<f32>> {
    %0 = call @fft.0(%arg0) : (tensor<3x20xf32>) -> tensor<3x11xcomplex<f32>>
    return %0 : tensor<3x11xcomplex<f32>>
  }
  func.func private @fft.0(%arg0: tensor<3x20xf32>) -> tensor<3x11xcomplex<f32>> {
    %c20 = arith.constant 20 : index
    %cst = arith.constant dense<[1.000000e+00, 0.95105654, 8.090170e-01, 0.587785244, 3.090170e-01, 0.000000e+00, -3.090170e-01, -0.587785244, -8.090170e-01, -0.95105654, -1.000000e+00, -0.95105654, -8.090170e-01, -0.587785244, -3.090170e-01, 0.000000e+00, 3.090170e-01, 0.587785244, 8.090170e-01, 0.95105654]> : tensor<20xf32>
    %cst_0 = arith.constant dense<[0.000000e+00, 3.090170e-01, 0.587785244, 8.090170e-01, 0.95105654, 1.000000e+00, 0.95105654, 8.090170e-01, 0.587785244, 3.090170e-01, 0.000000e+00, -3.090170e-01, -0.587785244, -8.090170e-01, -0.95105654, -1.000000e+00, -0.95105654, -8.090170e-01, -0.587785244, -3.090170e-01]> : tensor<20xf32>
    %cst_1 = complex.constant [0.000000e+00 : f32, 0.000000e+00 : f32] : complex<f32>
    %0 = tensor.empty() : tensor<3x11xcomplex<f32>>
    %1 = linalg.fill ins(%cst_1 : complex<f32>) outs(%0 : tensor<3x11xcomplex<f32>>) -> tensor<3x11xcomplex<f32>>
    %2 = linalg.generic {indexing_maps = [#map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0 : tensor<3x20xf32>) outs(%1 : tensor<3x11xcomplex<f32>>) {
    ^bb0(%in: f32, %out: complex<f32>):
      %3 = linalg.index 1 : index
      %4 = linalg.index 2 : index
      %5 = arith.muli %3, %4 : index
      %6 = arith.remui %5, %c20 : index
      %extracted = tensor.extract %cst[%6] : tensor<20xf32>
      %extracted_2 = tensor.extract %cst_0[%6] : tensor<20xf32>
      %7 = arith.negf %extracted_2 : f32
      %8 = arith.mulf %in, %extracted : f32
      %9 = arith.mulf %in, %7 : f32
      %10 = complex.create %8, %9 : complex<f32>
      %11 = complex.add %out, %10 : complex<f32>
      linalg.yield %11 : complex<f32>
    } -> tensor<3x11xcomplex<f32>>
    return %2 : tensor<3x11xcomplex<f32>>
  }
}
