#map = affine_map<()[s0] -> (s0 * 16)>
module {
  func.func @run(%arg0: memref<48x32xf32>, %arg1: memref<32x80xf32>, %arg2: memref<48x80xf32>) {
    %memref = gpu.alloc  () : memref<48x32xf32>
    %memref_0 = gpu.alloc  () : memref<32x80xf32>
    %memref_1 = gpu.alloc  () : memref<48x80xf32>
    gpu.memcpy  %memref, %arg0 : memref<48x32xf32>, memref<48x32xf32>
    gpu.memcpy  %memref_0, %arg1 : memref<32x80xf32>, memref<32x80xf32>
    gpu.memcpy  %memref_1, %arg2 : memref<48x80xf32>, memref<48x80xf32>
    call @matmul(%memref, %memref_0, %memref_1) : (memref<48x32xf32>, memref<32x80xf32>, memref<48x80xf32>) -> ()
    gpu.memcpy  %arg2, %memref_1 : memref<48x80xf32>, memref<48x80xf32>
    gpu.dealloc  %memref : memref<48x32xf32>
    gpu.dealloc  %memref_0 : memref<32x80xf32>
    gpu.dealloc  %memref_1 : memref<48x80xf32>
    return
  }
  func.func @matmul(%arg0: memref<48x32xf32>, %arg1: memref<32x80xf32>, %arg2: memref<48x80xf32>) {
    %c32 = arith.constant 32 : index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c5 = arith.constant 5 : index
    %c3 = arith.constant 3 : index
    gpu.launch blocks(%arg3, %arg4, %arg5) in (%arg9 = %c5, %arg10 = %c3, %arg11 = %c1) threads(%arg6, %arg7, %arg8) in (%arg12 = %c16, %arg13 = %c16, %arg14 = %c1) {
      %block_id_x = gpu.block_id  x
      %block_id_y = gpu.block_id  y
      %0 = affine.apply #map()[%block_id_y]
      %1 = affine.apply #map()[%block_id_x]
      %subview = memref.subview %arg0[%0, 0] [16, 32] [1, 1] : memref<48x32xf32> to memref<16x32xf32, strided<[32, 1], offset: ?>>
      %subview_0 = memref.subview %arg1[0, %1] [32, 16] [1, 1] : memref<32x80xf32> to memref<32x16xf32, strided<[80, 1], offset: ?>>
      %subview_1 = memref.subview %arg2[%0, %1] [16, 16] [1, 1] : memref<48x80xf32> to memref<16x16xf32, strided<[80, 1], offset: ?>>
      scf.for %arg15 = %c0 to %c32 step %c16 {
        %subview_2 = memref.subview %subview[0, %arg15] [16, 16] [1, 1] : memref<16x32xf32, strided<[32, 1], offset: ?>> to memref<16x16xf32, strided<[32, 1], offset: ?>>
        %subview_3 = memref.subview %subview_0[%arg15, 0] [16, 16] [1, 1] : memref<32x16xf32, strided<[80, 1], offset: ?>> to memref<16x16xf32, strided<[80, 1], offset: ?>>
        %2 = memref.get_global @alloca : memref<1024xi8, #gpu.address_space<workgroup>>
        %view = memref.view %2[%c0][] : memref<1024xi8, #gpu.address_space<workgroup>> to memref<16x16xf32, #gpu.address_space<workgroup>>
        %3 = memref.get_global @alloca_0 : memref<1024xi8, #gpu.address_space<workgroup>>
        %view_4 = memref.view %3[%c0][] : memref<1024xi8, #gpu.address_space<workgroup>> to memref<16x16xf32, #gpu.address_space<workgroup>>
        %thread_id_x = gpu.thread_id  x
        %thread_id_y = gpu.thread_id  y
        %subview_5 = memref.subview %subview_2[%thread_id_y, %thread_id_x] [1, 1] [1, 1] : memref<16x16xf32, strided<[32, 1], offset: ?>> to memref<1x1xf32, strided<[32, 1], offset: ?>>
        %subview_6 = memref.subview %view[%thread_id_y, %thread_id_x] [1, 1] [1, 1] : memref<16x16xf32, #gpu.address_space<workgroup>> to memref<1x1xf32, strided<[16, 1], offset: ?>, #gpu.address_space<workgroup>>
        linalg.copy ins(%subview_5 : memref<1x1xf32, strided<[32, 1], offset: ?>>) outs(%subview_6 : memref<1x1xf32, strided<[16, 1], offset: ?>, #gpu.address_space<workgroup>>)
        gpu.barrier
        %subview_7 = memref.subview %subview_3[%thread_id_y, %thread_id_x] [1, 1] [1, 1] : memref<16x16xf32, strided<[80, 1], offset: ?>> to memref<1x1xf32, strided<[80, 1], offset: ?>>
        %subview_8 = memref.subview %view_4[%thread_id_y, %thread_id_x] [1, 1] [1, 1] : memref<16x16xf32, #gpu.address_space<workgroup>> to memref<1x1xf32, strided<[16, 1], offset: ?>, #gpu.address_space<workgroup>>
        linalg.copy ins(%subview_7 : memref<1x1xf32, strided<[80, 1], offset: ?>>) outs(%subview_8 : memref<1x1xf32, strided<[16, 1], offset: ?>, #gpu.address_space<workgroup>>)
        gpu.barrier
        %subview_9 = memref.subview %view[%thread_id_y, 0] [1, 16] [1, 1] : memref<16x16xf32, #gpu.address_space<workgroup>> to memref<1x16xf32, strided<[16, 1], offset: ?>, #gpu.address_space<workgroup>>
        %subview_10 = memref.subview %view_4[0, %thread_id_x] [16, 1] [1, 1] : memref<16x16xf32, #gpu.address_space<workgroup>> to memref<16x1xf32, strided<[16, 1], offset: ?>, #gpu.address_space<workgroup>>
        %subview_11 = memref.subview %subview_1[%thread_id_y, %thread_id_x] [1, 1] [1, 1] : memref<16x16xf32, strided<[80, 1], offset: ?>> to memref<1x1xf32, strided<[80, 1], offset: ?>>
        linalg.matmul ins(%subview_9, %subview_10 : memref<1x16xf32, strided<[16, 1], offset: ?>, #gpu.address_space<workgroup>>, memref<16x1xf32, strided<[16, 1], offset: ?>, #gpu.address_space<workgroup>>) outs(%subview_11 : memref<1x1xf32, strided<[80, 1], offset: ?>>)
        gpu.barrier
      }
      gpu.terminator
    }
    return
  }
  module attributes {transform.with_named_sequence} {
  }
  memref.global "private" @alloca : memref<1024xi8, #gpu.address_space<workgroup>>
  memref.global "private" @alloca_0 : memref<1024xi8, #gpu.address_space<workgroup>>
}

