// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// linalg.matmul: upstream's transform ops make a kernel of it with tiles of 16 x 16
// of both factors in workgroup memory, a step of 16 at a time.
func.func @run(%left: memref<48x32xf32>, %right: memref<32x80xf32>, %sum: memref<48x80xf32>) {
  %a = gpu.alloc () : memref<48x32xf32>
  %b = gpu.alloc () : memref<32x80xf32>
  %c = gpu.alloc () : memref<48x80xf32>
  gpu.memcpy %a, %left : memref<48x32xf32>, memref<48x32xf32>
  gpu.memcpy %b, %right : memref<32x80xf32>, memref<32x80xf32>
  gpu.memcpy %c, %sum : memref<48x80xf32>, memref<48x80xf32>
  func.call @matmul(%a, %b, %c) : (memref<48x32xf32>, memref<32x80xf32>, memref<48x80xf32>) -> ()
  gpu.memcpy %sum, %c : memref<48x80xf32>, memref<48x80xf32>
  gpu.dealloc %a : memref<48x32xf32>
  gpu.dealloc %b : memref<32x80xf32>
  gpu.dealloc %c : memref<48x80xf32>
  return
}
func.func @matmul(%a: memref<48x32xf32>, %b: memref<32x80xf32>, %c: memref<48x80xf32>) {
  linalg.matmul ins(%a, %b : memref<48x32xf32>, memref<32x80xf32>) outs(%c : memref<48x80xf32>)
  return
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %matmul = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %func = transform.get_parent_op %matmul {op_name = "func.func"} : (!transform.any_op) -> !transform.any_op
    %tile, %blocks = transform.structured.tile_using_forall %matmul tile_sizes [16, 16] (mapping = [#gpu.block<y>, #gpu.block<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %step, %loop = transform.structured.tile_using_for %tile tile_sizes [0, 0, 16] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %shared = transform.structured.promote %step { operands_to_promote = [0, 1], memory_space = #gpu.address_space<workgroup>, use_alloca, alignment = 16, use_full_tile_buffers_by_default } : (!transform.any_op) -> !transform.any_op
    %e, %threads = transform.structured.tile_using_forall %shared tile_sizes [1, 1] (mapping = [#gpu.thread<y>, #gpu.thread<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %copies = transform.structured.match ops{["linalg.copy"]} in %root : (!transform.any_op) -> !transform.any_op
    %copy, %moves = transform.structured.tile_using_forall %copies tile_sizes [1, 1] (mapping = [#gpu.thread<y>, #gpu.thread<x>]) : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %launch = transform.gpu.map_forall_to_blocks %func generate_gpu_launch : (!transform.any_op) -> !transform.any_op
    %done = transform.gpu.map_nested_forall_to_threads %launch block_dims = [16, 16, 1] : (!transform.any_op) -> !transform.any_op
    %allocas = transform.structured.match ops{["memref.alloca"]} in %root : (!transform.any_op) -> !transform.op<"memref.alloca">
    %get, %global = transform.memref.alloca_to_global %allocas : (!transform.op<"memref.alloca">) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
