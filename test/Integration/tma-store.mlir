// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel that writes boxes to a tensor through its descriptor alone: what
// reads the tensor afterwards must know, though no token says so. Two kernels
// write overlapping boxes, the later one wins; elements of two bytes, so that a
// row of a box begins at a multiple of eight.
// REQUIRES: tma
// RUN: gpu-runner --device=cuda %s | FileCheck %s
// RUN: gpu-runner --device=cuda --max-streams=1 %s | FileCheck %s

// CHECK: [9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9]
// CHECK: [9, 9, 9, 9, 9, 9, 9, 9, 100, 101, 102, 103, 104, 105, 106, 107, 9]
// CHECK: [9, 9, 9, 9, 9, 9, 9, 9, 200, 201, 202, 203, 204, 205, 206, 207, 9]
// CHECK: [9, 9, 9, 9, 9, 9, 9, 9, 210, 211, 212, 213, 214, 215, 216, 217, 9]
// CHECK: [9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9]
!map = !nvgpu.tensormap.descriptor<tensor = memref<2x8xi16, #gpu.address_space<workgroup>>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!tile = memref<2x8xi16, #gpu.address_space<workgroup>>

module attributes {gpu.container_module} {
gpu.module @k {
  func.func private @put(%tile: !tile, %map: !map, %i: index, %j: index) {
    nvgpu.tma.async.store %tile to %map[%j, %i] : !tile -> !map
    nvvm.cp.async.bulk.commit.group
    nvvm.cp.async.bulk.wait_group 0
    return
  }
  // 16 threads fill a box, the first one sends it to (%i, %j).
  gpu.func @box(%base: i16, %map: !map, %i: index, %j: index) workgroup(
      %tile : !tile) kernel {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c10 = arith.constant 10 : i16
    %tid = gpu.thread_id x
    %y = arith.divui %tid, %c8 : index
    %x = arith.remui %tid, %c8 : index
    %y16 = arith.index_cast %y : index to i16
    %x16 = arith.index_cast %x : index to i16
    %tens = arith.muli %y16, %c10 : i16
    %some = arith.addi %base, %tens : i16
    %v = arith.addi %some, %x16 : i16
    memref.store %v, %tile[%y, %x] : !tile
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    gpu.barrier
    %isFirst = arith.cmpi eq, %tid, %c0 : index
    scf.if %isFirst {
      func.call @put(%tile, %map, %i, %j) : (!tile, !map, index, index) -> ()
    }
    gpu.return
  }
}

func.func @main() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %c17 = arith.constant 17 : index
  %c16 = arith.constant 16 : index
  %nine = arith.constant 9 : i16
  %hundred = arith.constant 100 : i16
  %twoHundred = arith.constant 200 : i16
  // 17 columns in rows of 24: rows begin at multiples of 16 bytes.
  %x = gpu.alloc () : memref<5x24xi16>
  %h = memref.alloc() : memref<5x24xi16>
  %g = memref.alloc() : memref<5x17xi32>
  gpu.memset %x, %nine : memref<5x24xi16>, i16
  %part = memref.subview %x[0, 0][5, 17][1, 1] : memref<5x24xi16> to memref<5x17xi16, strided<[24, 1]>>
  %u = memref.cast %part : memref<5x17xi16, strided<[24, 1]>> to memref<*xi16>
  %map = nvgpu.tma.create.descriptor %u box[%c2, %c8] : memref<*xi16> -> !map
  gpu.launch_func @k::@box blocks in (%c1, %c1, %c1) threads in (%c16, %c1, %c1)
      args(%hundred : i16, %map : !map, %c1 : index, %c8 : index)
  gpu.launch_func @k::@box blocks in (%c1, %c1, %c1) threads in (%c16, %c1, %c1)
      args(%twoHundred : i16, %map : !map, %c2 : index, %c8 : index)
  gpu.memcpy %h, %x : memref<5x24xi16>, memref<5x24xi16>
  gpu.dealloc %x : memref<5x24xi16>
  scf.for %i = %c0 to %c5 step %c1 {
    scf.for %j = %c0 to %c17 step %c1 {
      %v = memref.load %h[%i, %j] : memref<5x24xi16>
      %w = arith.extsi %v : i16 to i32
      memref.store %w, %g[%i, %j] : memref<5x17xi32>
    }
  }
  %print = memref.cast %g : memref<5x17xi32> to memref<*xi32>
  call @printMemrefI32(%print) : (memref<*xi32>) -> ()
  memref.dealloc %h : memref<5x24xi16>
  memref.dealloc %g : memref<5x17xi32>
  return
}

func.func private @printMemrefI32(memref<*xi32>)
}
