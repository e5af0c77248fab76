// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel that is one long chain of operations works on several vectors of
// threads at once, so that the processor need not wait for each operation; not
// where blocks are smaller than that, or of a size that is not known.
// RUN: gpu-runner --emit=llvm --mcpu=haswell %s -o %t.ll
// RUN: FileCheck %s --check-prefix=LONG < %t.ll
// RUN: gpu-runner --device=cpu %s | FileCheck %s

// LONG: define {{.*}}@k_long_block
// LONG: mul <8 x i32> %wide.load, splat (i32 1664525)
// LONG-NEXT: mul <8 x i32> %wide.load{{[0-9]+}}, splat (i32 1664525)
// LONG: define {{.*}}@k_short_block
// LONG: [[V:%[0-9]+]] = mul <8 x i32> {{.*}}, splat (i32 1664525)
// LONG-NEXT: add <8 x i32> [[V]]
// LONG: define {{.*}}@k_any_block
// LONG: [[W:%[0-9]+]] = mul <8 x i32> {{.*}}, splat (i32 1664525)
// LONG-NEXT: add <8 x i32> [[W]]

// Eight threads of three launches, 32 of three, 24 of two.
// CHECK-COUNT-8: -1225195257
// CHECK-COUNT-32: 1849712839
// CHECK-COUNT-24: 1023672455
// CHECK-NOT: ,
module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @long(%x: memref<64xi32>, %term: i32) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %work = arith.constant 64 : index
      %factor = arith.constant 1664525 : i32
      %t = gpu.thread_id x
      %v = memref.load %x[%t] : memref<64xi32>
      %r = scf.for %k = %c0 to %work step %c1 iter_args(%a = %v) -> (i32) {
        %m = arith.muli %a, %factor : i32
        %s = arith.addi %m, %term : i32
        scf.yield %s : i32
      }
      memref.store %r, %x[%t] : memref<64xi32>
      gpu.return
    }
    gpu.func @short(%x: memref<64xi32>, %term: i32) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %work = arith.constant 64 : index
      %factor = arith.constant 1664525 : i32
      %t = gpu.thread_id x
      %v = memref.load %x[%t] : memref<64xi32>
      %r = scf.for %k = %c0 to %work step %c1 iter_args(%a = %v) -> (i32) {
        %m = arith.muli %a, %factor : i32
        %s = arith.addi %m, %term : i32
        scf.yield %s : i32
      }
      memref.store %r, %x[%t] : memref<64xi32>
      gpu.return
    }
    gpu.func @any(%x: memref<64xi32>, %term: i32) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %work = arith.constant 64 : index
      %factor = arith.constant 1664525 : i32
      %t = gpu.thread_id x
      %v = memref.load %x[%t] : memref<64xi32>
      %r = scf.for %k = %c0 to %work step %c1 iter_args(%a = %v) -> (i32) {
        %m = arith.muli %a, %factor : i32
        %s = arith.addi %m, %term : i32
        scf.yield %s : i32
      }
      memref.store %r, %x[%t] : memref<64xi32>
      gpu.return
    }
  }
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c40 = arith.constant 40 : index
    %c64 = arith.constant 64 : index
    %term = arith.constant 1013904223 : i32
    %seven = arith.constant 7 : i32
    %h = memref.alloc() : memref<64xi32>
    %x = gpu.alloc () : memref<64xi32>
    gpu.memset %x, %seven : memref<64xi32>, i32
    gpu.launch_func @k::@long blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1) args(%x : memref<64xi32>, %term : i32)
    gpu.launch_func @k::@short blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%x : memref<64xi32>, %term : i32)
    gpu.launch_func @k::@any blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1) args(%x : memref<64xi32>, %term : i32)
    gpu.launch_func @k::@any blocks in (%c1, %c1, %c1) threads in (%c40, %c1, %c1) args(%x : memref<64xi32>, %term : i32)
    gpu.memcpy %h, %x : memref<64xi32>, memref<64xi32>
    gpu.dealloc %x : memref<64xi32>
    %u = memref.cast %h : memref<64xi32> to memref<*xi32>
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    memref.dealloc %h : memref<64xi32>
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
