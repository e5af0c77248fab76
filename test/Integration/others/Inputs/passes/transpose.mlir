#map = affine_map<()[s0] -> (s0 * 16)>
module {
  func.func @run(%arg0: memref<48x80xi32>, %arg1: memref<80x48xi32>) {
    %memref = gpu.alloc  () : memref<48x80xi32>
    %memref_0 = gpu.alloc  () : memref<80x48xi32>
    gpu.memcpy  %memref, %arg0 : memref<48x80xi32>, memref<48x80xi32>
    call @transpose(%memref, %memref_0) : (memref<48x80xi32>, memref<80x48xi32>) -> ()
    gpu.memcpy  %arg1, %memref_0 : memref<80x48xi32>, memref<80x48xi32>
    gpu.dealloc  %memref : memref<48x80xi32>
    gpu.dealloc  %memref_0 : memref<80x48xi32>
    return
  }
  func.func @transpose(%arg0: memref<48x80xi32>, %arg1: memref<80x48xi32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c3 = arith.constant 3 : index
    %c5 = arith.constant 5 : index
    gpu.launch blocks(%arg2, %arg3, %arg4) in (%arg8 = %c3, %arg9 = %c5, %arg10 = %c1) threads(%arg5, %arg6, %arg7) in (%arg11 = %c16, %arg12 = %c16, %arg13 = %c1) {
      %block_id_x = gpu.block_id  x
      %block_id_y = gpu.block_id  y
      %0 = affine.apply #map()[%block_id_y]
      %1 = affine.apply #map()[%block_id_x]
      %subview = memref.subview %arg0[%1, %0] [16, 16] [1, 1] : memref<48x80xi32> to memref<16x16xi32, strided<[80, 1], offset: ?>>
      %subview_0 = memref.subview %arg1[%0, %1] [16, 16] [1, 1] : memref<80x48xi32> to memref<16x16xi32, strided<[48, 1], offset: ?>>
      %2 = memref.get_global @alloca : memref<1024xi8, #gpu.address_space<workgroup>>
      %view = memref.view %2[%c0][] : memref<1024xi8, #gpu.address_space<workgroup>> to memref<16x16xi32, #gpu.address_space<workgroup>>
      %thread_id_x = gpu.thread_id  x
      %thread_id_y = gpu.thread_id  y
      %subview_1 = memref.subview %subview[%thread_id_y, %thread_id_x] [1, 1] [1, 1] : memref<16x16xi32, strided<[80, 1], offset: ?>> to memref<1x1xi32, strided<[80, 1], offset: ?>>
      %subview_2 = memref.subview %view[%thread_id_y, %thread_id_x] [1, 1] [1, 1] : memref<16x16xi32, #gpu.address_space<workgroup>> to memref<1x1xi32, strided<[16, 1], offset: ?>, #gpu.address_space<workgroup>>
      linalg.copy ins(%subview_1 : memref<1x1xi32, strided<[80, 1], offset: ?>>) outs(%subview_2 : memref<1x1xi32, strided<[16, 1], offset: ?>, #gpu.address_space<workgroup>>)
      gpu.barrier
      %subview_3 = memref.subview %view[%thread_id_x, %thread_id_y] [1, 1] [1, 1] : memref<16x16xi32, #gpu.address_space<workgroup>> to memref<1x1xi32, strided<[16, 1], offset: ?>, #gpu.address_space<workgroup>>
      %cast = memref.cast %subview_3 : memref<1x1xi32, strided<[16, 1], offset: ?>, #gpu.address_space<workgroup>> to memref<1x1xi32, strided<[?, 1], offset: ?>, #gpu.address_space<workgroup>>
      %subview_4 = memref.subview %subview_0[%thread_id_y, %thread_id_x] [1, 1] [1, 1] : memref<16x16xi32, strided<[48, 1], offset: ?>> to memref<1x1xi32, strided<[48, 1], offset: ?>>
      linalg.transpose ins(%cast : memref<1x1xi32, strided<[?, 1], offset: ?>, #gpu.address_space<workgroup>>) outs(%subview_4 : memref<1x1xi32, strided<[48, 1], offset: ?>>) permutation = [1, 0] 
      gpu.barrier
      gpu.terminator
    }
    return
  }
  module attributes {transform.with_named_sequence} {
  }
  memref.global "private" @alloca : memref<1024xi8, #gpu.address_space<workgroup>>
}

