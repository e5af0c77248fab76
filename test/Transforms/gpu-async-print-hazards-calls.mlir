// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls of libraries that touch the same without order: by what their
// declarations say, and without that anything.
// RUN: gpu-opt %s --gpu-async-print-hazards -o /dev/null 2>&1 | FileCheck %s
// RUN: gpu-opt %s --gpu-async-print-hazards -o /dev/null 2>&1 | count 4

func.func private @read(memref<8xf32> {llvm.readonly})
func.func private @draw(memref<8xf32> {llvm.writeonly}) attributes {gpu_async.serial = "generator"}
func.func private @unknown(i32)

func.func @calls(%x: memref<8xf32> {llvm.noalias}, %y: memref<8xf32> {llvm.noalias}, %n: i32) {
  %a = gpu_async.call async @read(%x : memref<8xf32>)
  %b = gpu_async.call async @read(%x : memref<8xf32>)
  // CHECK: hazard in @calls: write-after-read of argument 0: gpu_async.call at {{.*}}:[[@LINE+1]]:8) is not ordered after gpu_async.call at {{.*}}:[[@LINE-1]]:8)
  %c = gpu_async.call async [%a] @draw(%x : memref<8xf32>)
  // CHECK-NEXT: hazard in @calls: write-after-write of what work with the serial name "generator" shares: gpu_async.call at {{.*}}:[[@LINE+1]]:8) is not ordered after gpu_async.call at {{.*}}:[[@LINE-1]]:8)
  %d = gpu_async.call async @draw(%y : memref<8xf32>)
  gpu_async.wait [%b, %c]
  // CHECK-NEXT: hazard in @calls: write-after-write of {{.*}}: gpu_async.call at {{.*}}:[[@LINE+1]]:8) is not ordered after gpu_async.call at {{.*}}:[[@LINE-2]]:8)
  %e = gpu_async.call async @unknown(%n : i32)
  gpu_async.wait [%d, %e]
  return
}

func.func @collectives(%x: memref<8xf32> {llvm.noalias}, %y: memref<8xf32> {llvm.noalias}) {
  %a = gpu_async.collective async all_reduce<sum> %x, %x : memref<8xf32>, memref<8xf32>
  // CHECK-NEXT: hazard in @collectives: write-after-write of what work with the serial name "collectives" shares: gpu_async.collective at {{.*}}:[[@LINE+1]]:8) is not ordered after gpu_async.collective at {{.*}}:[[@LINE-1]]:8)
  %b = gpu_async.collective async all_reduce<sum> %y, %y : memref<8xf32>, memref<8xf32>
  %c = gpu_async.collective async [%a, %b] barrier
  gpu_async.wait [%c]
  return
}
