#map = affine_map<(d0)[s0] -> (d0 + s0)>
module {
  func.func @gpu_func(%arg0: memref<1024xf32>, %arg1: memref<1xf32>) {
    %c16_i32 = arith.constant 16 : i32
    %c8_i32 = arith.constant 8 : i32
    %c4_i32 = arith.constant 4 : i32
    %c2_i32 = arith.constant 2 : i32
    %c32_i32 = arith.constant 32 : i32
    %c1_i32 = arith.constant 1 : i32
    %c1 = arith.constant 1 : index
    %cst = arith.constant dense<1.000000e+02> : vector<1xf32>
    %cst_0 = arith.constant 0.000000e+00 : f32
    %c0 = arith.constant 0 : index
    %c1024 = arith.constant 1024 : index
    %c32 = arith.constant 32 : index
    gpu.launch blocks(%arg2, %arg3, %arg4) in (%arg8 = %c1, %arg9 = %c1, %arg10 = %c1) threads(%arg5, %arg6, %arg7) in (%arg11 = %c32, %arg12 = %c1, %arg13 = %c1) {
      %0 = vector.transfer_read %arg1[%c0], %cst_0 {in_bounds = [true]} : memref<1xf32>, vector<1xf32>
      %1 = scf.for %arg14 = %c0 to %c1024 step %c32 iter_args(%arg15 = %0) -> (vector<1xf32>) {
        %4 = affine.apply #map(%arg14)[%arg5]
        %5 = vector.transfer_read %arg0[%4], %cst_0 {in_bounds = [true]} : memref<1024xf32>, vector<1xf32>
        %6 = vector.extract %5[0] : f32 from vector<1xf32>
        %shuffleResult, %valid = gpu.shuffle  xor %6, %c1_i32, %c32_i32 : f32
        %7 = arith.addf %6, %shuffleResult : f32
        %shuffleResult_1, %valid_2 = gpu.shuffle  xor %7, %c2_i32, %c32_i32 : f32
        %8 = arith.addf %7, %shuffleResult_1 : f32
        %shuffleResult_3, %valid_4 = gpu.shuffle  xor %8, %c4_i32, %c32_i32 : f32
        %9 = arith.addf %8, %shuffleResult_3 : f32
        %shuffleResult_5, %valid_6 = gpu.shuffle  xor %9, %c8_i32, %c32_i32 : f32
        %10 = arith.addf %9, %shuffleResult_5 : f32
        %shuffleResult_7, %valid_8 = gpu.shuffle  xor %10, %c16_i32, %c32_i32 : f32
        %11 = arith.addf %10, %shuffleResult_7 : f32
        %12 = vector.broadcast %11 : f32 to vector<1xf32>
        %13 = arith.addf %12, %arg15 : vector<1xf32>
        scf.yield %13 : vector<1xf32>
      }
      %2 = arith.divf %1, %cst : vector<1xf32>
      %3 = arith.cmpi eq, %arg5, %c0 : index
      scf.if %3 {
        vector.transfer_write %2, %arg1[%c0] {in_bounds = [true]} : vector<1xf32>, memref<1xf32>
      }
      gpu.terminator
    }
    return
  }
  func.func @main() {
    %cst = arith.constant dense<2.000000e+00> : vector<1xf32>
    %cst_0 = arith.constant dense<[0.000000e+00, 1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 5.000000e+00, 6.000000e+00, 7.000000e+00, 8.000000e+00, 9.000000e+00, 1.000000e+01, 1.100000e+01, 1.200000e+01, 1.300000e+01, 1.400000e+01, 1.500000e+01, 1.600000e+01, 1.700000e+01, 1.800000e+01, 1.900000e+01, 2.000000e+01, 2.100000e+01, 2.200000e+01, 2.300000e+01, 2.400000e+01, 2.500000e+01, 2.600000e+01, 2.700000e+01, 2.800000e+01, 2.900000e+01, 3.000000e+01, 3.100000e+01]> : vector<32xf32>
    %cst_1 = arith.constant 0.000000e+00 : f32
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c1024 = arith.constant 1024 : index
    %alloc = memref.alloc() : memref<1024xf32>
    %alloc_2 = memref.alloc() : memref<1xf32>
    scf.for %arg0 = %c0 to %c1024 step %c32 {
      vector.transfer_write %cst_0, %alloc[%arg0] {in_bounds = [true]} : vector<32xf32>, memref<1024xf32>
    }
    vector.transfer_write %cst, %alloc_2[%c0] {in_bounds = [true]} : vector<1xf32>, memref<1xf32>
    %cast = memref.cast %alloc : memref<1024xf32> to memref<*xf32>
    gpu.host_register %cast : memref<*xf32>
    %cast_3 = memref.cast %alloc_2 : memref<1xf32> to memref<*xf32>
    gpu.host_register %cast_3 : memref<*xf32>
    call @gpu_func(%alloc, %alloc_2) : (memref<1024xf32>, memref<1xf32>) -> ()
    %0 = vector.transfer_read %alloc_2[%c0], %cst_1 {in_bounds = [true]} : memref<1xf32>, vector<1xf32>
    vector.print %0 : vector<1xf32>
    return
  }
}

