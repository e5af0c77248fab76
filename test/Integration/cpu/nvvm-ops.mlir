// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The nvvm ops that say where a thread is, make a block meet, and shuffle in whole
// subgroups, in a kernel of the gpu dialect.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

// 64 threads. 1000 b + the value of the thread 63 - t, plus those of t ^ 1, of t - 1
// and t + 1 if they are in the subgroup, and 500 where the last one is.
// CHECK: sizes = [128]
// CHECK-NEXT: [565,  564,  568,  568,  {{.*}},  620,  624,  123,  629,  628,  {{.*}},  688,  187,  1565,  1564,  1568,  {{.*}}]
module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @f(%out: memref<128xi32>) workgroup(%w: memref<64xi32, #gpu.address_space<workgroup>>) kernel {
      %all = arith.constant -1 : i32
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c31 = arith.constant 31 : i32
      %c500 = arith.constant 500 : i32
      %c1000 = arith.constant 1000 : i32
      %x = nvvm.read.ptx.sreg.tid.x : i32
      %b = nvvm.read.ptx.sreg.ctaid.x : i32
      %n = nvvm.read.ptx.sreg.ntid.x : i32
      %i = arith.index_cast %x : i32 to index
      memref.store %x, %w[%i] : memref<64xi32, #gpu.address_space<workgroup>>
      nvvm.barrier0
      %last = arith.subi %n, %c1 : i32
      %o = arith.subi %last, %x : i32
      %oi = arith.index_cast %o : i32 to index
      %v = memref.load %w[%oi] : memref<64xi32, #gpu.address_space<workgroup>>
      %xor = nvvm.shfl.sync bfly %all, %x, %c1, %c31 : i32 -> i32
      %up = nvvm.shfl.sync up %all, %x, %c1, %c0 : i32 -> i32
      %down = nvvm.shfl.sync down %all, %x, %c1, %c31 {return_value_and_is_valid} : i32 -> !llvm.struct<(i32, i1)>
      %dv = llvm.extractvalue %down[0] : !llvm.struct<(i32, i1)>
      %valid = llvm.extractvalue %down[1] : !llvm.struct<(i32, i1)>
      %bonus = arith.select %valid, %c500, %c0 : i32
      %base = arith.muli %b, %c1000 : i32
      %s0 = arith.addi %base, %v : i32
      %s1 = arith.addi %s0, %xor : i32
      %s2 = arith.addi %s1, %up : i32
      %s3 = arith.addi %s2, %dv : i32
      %s4 = arith.addi %s3, %bonus : i32
      %g0 = arith.muli %b, %n : i32
      %g = arith.addi %g0, %x : i32
      %gi = arith.index_cast %g : i32 to index
      memref.store %s4, %out[%gi] : memref<128xi32>
      gpu.return
    }
  }
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c64 = arith.constant 64 : index
    %o = memref.alloc() : memref<128xi32>
    %d = gpu.alloc () : memref<128xi32>
    gpu.launch_func @k::@f blocks in (%c2, %c1, %c1) threads in (%c64, %c1, %c1) args(%d : memref<128xi32>)
    gpu.memcpy %o, %d : memref<128xi32>, memref<128xi32>
    gpu.dealloc %d : memref<128xi32>
    %u = memref.cast %o : memref<128xi32> to memref<*xi32>
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    memref.dealloc %o : memref<128xi32>
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
