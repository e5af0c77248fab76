module {
  func.func @run(%arg0: memref<19x35xf32>, %arg1: memref<19x35xf32>) {
    %memref = gpu.alloc  () : memref<19x35xf32>
    %memref_0 = gpu.alloc  () : memref<19x35xf32>
    gpu.memcpy  %memref, %arg0 : memref<19x35xf32>, memref<19x35xf32>
    %0 = call @softmax(%memref, %memref_0) : (memref<19x35xf32>, memref<19x35xf32>) -> memref<19x35xf32>
    gpu.memcpy  %arg1, %0 : memref<19x35xf32>, memref<19x35xf32>
    gpu.dealloc  %memref : memref<19x35xf32>
    gpu.dealloc  %memref_0 : memref<19x35xf32>
    return
  }
  func.func @softmax(%arg0: memref<19x35xf32>, %arg1: memref<19x35xf32>) -> memref<19x35xf32> {
    %c35 = arith.constant 35 : index
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 0xFFC00000 : f32
    %c19 = arith.constant 19 : index
    gpu.launch blocks(%arg2, %arg3, %arg4) in (%arg8 = %c19, %arg9 = %c1, %arg10 = %c1) threads(%arg5, %arg6, %arg7) in (%arg11 = %c1, %arg12 = %c1, %arg13 = %c1) {
      %subview = memref.subview %arg0[%arg2, 0] [1, 35] [1, 1] : memref<19x35xf32> to memref<1x35xf32, strided<[35, 1], offset: ?>>
      %subview_1 = memref.subview %arg1[%arg2, 0] [1, 35] [1, 1] : memref<19x35xf32> to memref<1x35xf32, strided<[35, 1], offset: ?>>
      %alloca = memref.alloca() {alignment = 64 : i64} : memref<1xf32>
      memref.store %cst_0, %alloca[%c0] : memref<1xf32>
      scf.for %arg14 = %c0 to %c35 step %c1 {
        %0 = memref.load %subview[%c0, %arg14] : memref<1x35xf32, strided<[35, 1], offset: ?>>
        %1 = memref.load %alloca[%c0] : memref<1xf32>
        %2 = arith.maxnumf %0, %1 : f32
        memref.store %2, %alloca[%c0] : memref<1xf32>
      }
      scf.for %arg14 = %c0 to %c35 step %c1 {
        %0 = memref.load %subview[%c0, %arg14] : memref<1x35xf32, strided<[35, 1], offset: ?>>
        %1 = memref.load %alloca[%c0] : memref<1xf32>
        %2 = arith.subf %0, %1 : f32
        %3 = math.exp %2 : f32
        memref.store %3, %subview_1[%c0, %arg14] : memref<1x35xf32, strided<[35, 1], offset: ?>>
      }
      memref.store %cst, %alloca[%c0] : memref<1xf32>
      scf.for %arg14 = %c0 to %c35 step %c1 {
        %0 = memref.load %subview_1[%c0, %arg14] : memref<1x35xf32, strided<[35, 1], offset: ?>>
        %1 = memref.load %alloca[%c0] : memref<1xf32>
        %2 = arith.addf %0, %1 : f32
        memref.store %2, %alloca[%c0] : memref<1xf32>
      }
      scf.for %arg14 = %c0 to %c35 step %c1 {
        %0 = memref.load %subview_1[%c0, %arg14] : memref<1x35xf32, strided<[35, 1], offset: ?>>
        %1 = memref.load %alloca[%c0] : memref<1xf32>
        %2 = arith.divf %0, %1 : f32
        memref.store %2, %subview_1[%c0, %arg14] : memref<1x35xf32, strided<[35, 1], offset: ?>>
      }
      gpu.terminator
    } {SCFToGPU_visited}
    return %arg1 : memref<19x35xf32>
  }
  module attributes {transform.with_named_sequence} {
  }
}

