// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// linalg.transpose: upstream's transform ops make a kernel of it that goes through
// tiles of 16 x 16 in workgroup memory.
func.func @run(%in: memref<48x80xi32>, %out: memref<80x48xi32>) {
  %from = gpu.alloc () : memref<48x80xi32>
  %to = gpu.alloc () : memref<80x48xi32>
  gpu.memcpy %from, %in : memref<48x80xi32>, memref<48x80xi32>
  func.call @transpose(%from, %to) : (memref<48x80xi32>, memref<80x48xi32>) -> ()
  gpu.memcpy %out, %to : memref<80x48xi32>, memref<80x48xi32>
  gpu.dealloc %from : memref<48x80xi32>
  gpu.dealloc %to : memref<80x48xi32>
  return
}
func.func @transpose(%in: memref<48x80xi32>, %out: memref<80x48xi32>) {
  linalg.transpose ins(%in : memref<48x80xi32>) outs(%out : memref<80x48xi32>) permutation = [1, 0]
  return
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %transpose = transform.structured.match ops{["linalg.transpose"]} in %root : (!transform.any_op) -> !transform.any_op
    %func = transform.get_parent_op %transpose {op_name = "func.func"} : (!transform.any_op) -> !transform.any_op
    %tile, %blocks = transform.structured.tile_using_forall %transpose tile_sizes [16, 16] (mapping = [#gpu.block<y>, #gpu.block<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %shared = transform.structured.promote %tile { operands_to_promote = [0], memory_space = #gpu.address_space<workgroup>, use_alloca, alignment = 16, use_full_tile_buffers_by_default } : (!transform.any_op) -> !transform.any_op
    %e, %threads = transform.structured.tile_using_forall %shared tile_sizes [1, 1] (mapping = [#gpu.thread<y>, #gpu.thread<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %copies = transform.structured.match ops{["linalg.copy"]} in %root : (!transform.any_op) -> !transform.any_op
    %c, %more = transform.structured.tile_using_forall %copies tile_sizes [1, 1] (mapping = [#gpu.thread<y>, #gpu.thread<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %launch = transform.gpu.map_forall_to_blocks %func generate_gpu_launch : (!transform.any_op) -> !transform.any_op
    %done = transform.gpu.map_nested_forall_to_threads %launch block_dims = [16, 16, 1] : (!transform.any_op) -> !transform.any_op
    %alloca = transform.structured.match ops{["memref.alloca"]} in %root : (!transform.any_op) -> !transform.op<"memref.alloca">
    %get, %global = transform.memref.alloca_to_global %alloca : (!transform.op<"memref.alloca">) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
