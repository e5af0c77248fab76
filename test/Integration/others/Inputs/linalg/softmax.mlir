// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// linalg.softmax: upstream's passes make a kernel of it, one row for each block,
// whose maximum and sum are in memory of the thread.
func.func @run(%in: memref<19x35xf32>, %out: memref<19x35xf32>) {
  %from = gpu.alloc () : memref<19x35xf32>
  %to = gpu.alloc () : memref<19x35xf32>
  gpu.memcpy %from, %in : memref<19x35xf32>, memref<19x35xf32>
  %x = bufferization.to_tensor %from restrict : memref<19x35xf32> to tensor<19x35xf32>
  %y = bufferization.to_tensor %to restrict writable : memref<19x35xf32> to tensor<19x35xf32>
  %z = func.call @softmax(%x, %y) : (tensor<19x35xf32>, tensor<19x35xf32>) -> tensor<19x35xf32>
  %result = bufferization.to_buffer %z : tensor<19x35xf32> to memref<19x35xf32>
  gpu.memcpy %out, %result : memref<19x35xf32>, memref<19x35xf32>
  gpu.dealloc %from : memref<19x35xf32>
  gpu.dealloc %to : memref<19x35xf32>
  return
}
func.func @softmax(%in: tensor<19x35xf32>, %out: tensor<19x35xf32>) -> tensor<19x35xf32> {
  %r = linalg.softmax dimension(1) ins(%in : tensor<19x35xf32>) outs(%out : tensor<19x35xf32>) -> tensor<19x35xf32>
  return %r : tensor<19x35xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %softmax = transform.structured.match ops{["linalg.softmax"]} in %root : (!transform.any_op) -> !transform.any_op
    %tile, %forall = transform.structured.tile_using_forall %softmax tile_sizes [1] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %parts = transform.structured.decompose_interface %tile : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
