// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A host that waits for the token of a barrier goes on when all ranks have come. Ranks are threads
// of one process: they share the host's globals.
// RUN: gpu-runner %s --ranks=4 --device=cpu --repeat=2 | FileCheck %s
// RUN: env GPU_ASYNC_CPU_SCHEDULE=fair gpu-runner %s --ranks=4 --device=cpu --play=streams --repeat=2 | FileCheck %s
// In the second call, the first 4 are there.
// CHECK:      rank 0:
// CHECK-NEXT: result{{.}}0{{.}}: i32=8
// CHECK-NEXT: rank 1:
// CHECK-NEXT: result{{.}}0{{.}}: i32=8
// CHECK-NEXT: rank 2:
// CHECK-NEXT: result{{.}}0{{.}}: i32=8
// CHECK-NEXT: rank 3:
// CHECK-NEXT: result{{.}}0{{.}}: i32=8
memref.global "private" @g : memref<1xi32> = dense<0>
func.func @main() -> i32 {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %g = memref.get_global @g : memref<1xi32>
  %before = memref.atomic_rmw addi %one, %g[%c0] : (i32, memref<1xi32>) -> i32
  %t = gpu_async.collective async barrier
  gpu_async.wait [%t]
  %r = memref.load %g[%c0] : memref<1xi32>
  // Nobody adds to the sum of the next call before all have read this one.
  %u = gpu_async.collective async barrier
  gpu_async.wait [%u]
  return %r : i32
}
