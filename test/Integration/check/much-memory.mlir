// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --check keeps freed memory, but a program that frees more than the device has
// goes on as ever, and memory that comes again to another size is no bug of the
// kernels that had it before.
// RUN: env GPU_ASYNC_CPU_MEMORY=4194304 gpu-runner --device=cpu --check %s
// RUN: env GPU_ASYNC_CPU_MEMORY=4194304 GPU_ASYNC_CPU_SCHEDULE=fair gpu-runner --device=cpu --check --repeat=3 %s

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c40 = arith.constant 40 : index
  %c1000 = arith.constant 1000 : index
  %big = arith.constant 200000 : index
  %start = gpu.wait async
  %end = scf.for %i = %c0 to %c40 step %c1 iter_args(%t = %start) -> (!gpu.async.token) {
    // Sizes of one class of the allocator, by turns.
    %odd = arith.remui %i, %c2 : index
    %less = arith.muli %odd, %c1000 : index
    %n = arith.subi %big, %less : index
    %last = arith.subi %n, %c1 : index
    %x, %t0 = gpu.alloc async [%t] (%n) : memref<?xi32>
    %t1 = gpu.launch async [%t0] blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
               threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
      %v = arith.index_cast %last : index to i32
      memref.store %v, %x[%last] : memref<?xi32>
      gpu.terminator
    }
    %t2 = gpu.dealloc async [%t1] %x : memref<?xi32>
    scf.yield %t2 : !gpu.async.token
  }
  gpu.wait [%end]
  return
}
