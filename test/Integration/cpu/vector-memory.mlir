// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory of vectors is aligned to them: attributions and what crosses a barrier.
// RUN: gpu-runner --device=cpu -O0 %s | FileCheck %s
// RUN: gpu-runner --device=cpu %s | FileCheck %s

// Thread t adds t and (t + 3) % 35.
// CHECK: sizes = [35]
// CHECK-NEXT: [3,  5,  7,  9,  11,  {{.*}},  63,  65,  32,  34,  36]
module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @f(%out: memref<?xi32>) workgroup(%w: memref<3xi32, #gpu.address_space<workgroup>>, %w2: memref<35xvector<16xi32>, #gpu.address_space<workgroup>>) private(%p: memref<2xvector<16xi32>, #gpu.address_space<private>>) kernel {
      %t = gpu.thread_id x
      %c1 = arith.constant 1 : index
      %i = arith.index_cast %t : index to i32
      %v = vector.broadcast %i : i32 to vector<16xi32>
      memref.store %v, %p[%c1] : memref<2xvector<16xi32>, #gpu.address_space<private>>
      memref.store %v, %w2[%t] : memref<35xvector<16xi32>, #gpu.address_space<workgroup>>
      gpu.barrier
      %c3 = arith.constant 3 : index
      %n = gpu.block_dim x
      %a = arith.addi %t, %c3 : index
      %b = arith.remui %a, %n : index
      %x = memref.load %p[%c1] : memref<2xvector<16xi32>, #gpu.address_space<private>>
      %y = memref.load %w2[%b] : memref<35xvector<16xi32>, #gpu.address_space<workgroup>>
      %z = arith.addi %x, %y : vector<16xi32>
      %s = vector.extract %z[3] : i32 from vector<16xi32>
      memref.store %s, %out[%t] : memref<?xi32>
      gpu.return
    }
  }
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 35 : index
    %o = memref.alloc(%c32) : memref<?xi32>
    %d = gpu.alloc (%c32) : memref<?xi32>
    gpu.launch_func @k::@f blocks in (%c1,%c1,%c1) threads in (%c32,%c1,%c1) args(%d : memref<?xi32>)
    gpu.memcpy %o, %d : memref<?xi32>, memref<?xi32>
    gpu.dealloc %d : memref<?xi32>
    %u = memref.cast %o : memref<?xi32> to memref<*xi32>
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    memref.dealloc %o : memref<?xi32>
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
