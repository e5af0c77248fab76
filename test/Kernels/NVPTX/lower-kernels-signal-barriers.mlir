// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread that has ended keeps nobody from a barrier: where some threads may end
// before others have passed theirs, or a thread ends otherwise than by returning, a
// kernel cannot have a barrier of its own at the end, and its image does not say that
// it tells of its end. Each module is one case; its name says which it is.
// RUN: gpu-opt %s -gpu-async-lower-kernels="targets=nvptx:sm_90 ptxas=none" | FileCheck %s

// CHECK: @quiet_early
// CHECK-NOT: gpuasync_kernels_signal
gpu.module @quiet_early {
  gpu.func @k(%x: memref<?xi32>) kernel {
    %c32 = arith.constant 32 : index
    %i = gpu.thread_id x
    %ends = arith.cmpi slt, %i, %c32 : index
    cf.cond_br %ends, ^end, ^work
  ^work:
    gpu.barrier
    %v = arith.index_cast %i : index to i32
    memref.store %v, %x[%i] : memref<?xi32>
    cf.br ^end
  ^end:
    gpu.return
  }
}
// What threads agree about: loops and branches by sizes, blocks and arguments; and
// barriers behind the branches that they do not agree about.
// CHECK: @tells_branches
// CHECK: gpuasync_kernels_signal
gpu.module @tells_branches {
  gpu.func @k(%x: memref<?xi32>, %n: index) workgroup(%w: memref<64xi32, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c7 = arith.constant 7 : index
    %i = gpu.thread_id x
    %b = gpu.block_id x
    %d = gpu.block_dim x
    %half = arith.divui %d, %c2 : index
    %known = arith.cmpi slt, %b, %n : index
    scf.if %known {
      scf.for %k = %c0 to %half step %c1 {
        %mine = arith.cmpi slt, %i, %k : index
        scf.if %mine {
          %v = memref.load %x[%k] : memref<?xi32>
          memref.store %v, %w[%i] : memref<64xi32, #gpu.address_space<workgroup>>
        }
        gpu.barrier
      }
    }
    %low = arith.cmpi slt, %i, %c7 : index
    scf.if %low {
      %v = memref.load %w[%i] : memref<64xi32, #gpu.address_space<workgroup>>
      memref.store %v, %x[%i] : memref<?xi32>
    }
    gpu.return
  }
}
// As many turns as each thread takes.
// CHECK: @quiet_turns
// CHECK-NOT: gpuasync_kernels_signal
gpu.module @quiet_turns {
  gpu.func @k(%x: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i = gpu.thread_id x
    scf.for %k = %c0 to %i step %c1 {
      gpu.barrier
    }
    gpu.return
  }
}
// What comes of a loop that the threads leave at different times.
// CHECK: @quiet_left
// CHECK-NOT: gpuasync_kernels_signal
gpu.module @quiet_left {
  gpu.func @k(%x: memref<?xi32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i = gpu.thread_id x
    cf.br ^turn(%c0 : index)
  ^turn(%k: index):
    %next = arith.addi %k, %c1 : index
    %more = arith.cmpi slt, %next, %i : index
    cf.cond_br %more, ^turn(%next : index), ^left
  ^left:
    %few = arith.cmpi slt, %next, %n : index
    cf.cond_br %few, ^meet, ^end
  ^meet:
    gpu.barrier
    cf.br ^end
  ^end:
    gpu.return
  }
}
// What is chosen by a branch that they do not agree about.
// CHECK: @quiet_chosen
// CHECK-NOT: gpuasync_kernels_signal
gpu.module @quiet_chosen {
  gpu.func @k(%x: memref<?xi32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i = gpu.thread_id x
    %is = arith.cmpi slt, %i, %n : index
    %chosen = scf.if %is -> index {
      %v = memref.load %x[%c0] : memref<?xi32>
      memref.store %v, %x[%i] : memref<?xi32>
      scf.yield %c0 : index
    } else {
      scf.yield %c1 : index
    }
    scf.for %k = %c0 to %chosen step %c1 {
      gpu.barrier
    }
    gpu.return
  }
}
// In a function, where it is not known what it is called with.
// CHECK: @quiet_function
// CHECK-NOT: gpuasync_kernels_signal
gpu.module @quiet_function {
  llvm.func @meet(%is: i1) attributes {no_inline} {
    llvm.cond_br %is, ^meet, ^end
  ^meet:
    nvvm.barrier0
    llvm.br ^end
  ^end:
    llvm.return
  }
  llvm.func @k(%is: i1) attributes {gpu.kernel, nvvm.kernel} {
    llvm.call @meet(%is) : (i1) -> ()
    llvm.return
  }
}
// CHECK: @quiet_call
// CHECK-NOT: gpuasync_kernels_signal
gpu.module @quiet_call {
  llvm.func @meet() attributes {no_inline} {
    nvvm.barrier
    llvm.return
  }
  llvm.func @k(%n: i32) attributes {gpu.kernel, nvvm.kernel} {
    %i = nvvm.read.ptx.sreg.tid.x : i32
    %is = llvm.icmp "slt" %i, %n : i32
    llvm.cond_br %is, ^meet, ^end
  ^meet:
    llvm.call @meet() : () -> ()
    llvm.br ^end
  ^end:
    llvm.return
  }
}
// Barriers of some of the threads: another one than ours does not matter.
// CHECK: @quiet_some
// CHECK-NOT: gpuasync_kernels_signal
gpu.module @quiet_some {
  llvm.func @k() attributes {gpu.kernel, nvvm.kernel} {
    %n = llvm.mlir.constant(64 : i32) : i32
    %id = llvm.mlir.constant(0 : i32) : i32
    nvvm.barrier id = %id number_of_threads = %n
    llvm.return
  }
}
// CHECK: @tells_some
// CHECK: gpuasync_kernels_signal
gpu.module @tells_some {
  llvm.func @k(%m: i32) attributes {gpu.kernel, nvvm.kernel} {
    %n = llvm.mlir.constant(64 : i32) : i32
    %id = llvm.mlir.constant(1 : i32) : i32
    %i = nvvm.read.ptx.sreg.tid.x : i32
    %is = llvm.icmp "slt" %i, %n : i32
    llvm.cond_br %is, ^meet, ^end
  ^meet:
    nvvm.barrier id = %id number_of_threads = %n
    llvm.br ^end
  ^end:
    llvm.return
  }
}
// Threads that end in other ways: nobody would count their block.
// CHECK: @quiet_exit
// CHECK-NOT: gpuasync_kernels_signal
gpu.module @quiet_exit {
  llvm.func @k() attributes {gpu.kernel, nvvm.kernel} {
    nvvm.exit
    llvm.return
  }
}
// CHECK: @quiet_intrinsic
// CHECK-NOT: gpuasync_kernels_signal
gpu.module @quiet_intrinsic {
  llvm.func @k(%is: i1) attributes {gpu.kernel, nvvm.kernel} {
    llvm.cond_br %is, ^exit, ^end
  ^exit:
    llvm.call_intrinsic "llvm.nvvm.exit"() : () -> ()
    llvm.br ^end
  ^end:
    llvm.return
  }
}
// CHECK: @quiet_assembly
// CHECK-NOT: gpuasync_kernels_signal
gpu.module @quiet_assembly {
  llvm.func @leave(%i: i32) attributes {no_inline} {
    llvm.inline_asm has_side_effects "{ .reg .pred p; setp.eq.u32 p, $0, 0; @p exit; }", "r" %i : (i32) -> ()
    llvm.return
  }
  llvm.func @k(%i: i32) attributes {gpu.kernel, nvvm.kernel} {
    llvm.call @leave(%i) : (i32) -> ()
    llvm.return
  }
}
// CHECK: @tells_assembly
// CHECK: gpuasync_kernels_signal
gpu.module @tells_assembly {
  llvm.func @k(%i: i32) attributes {gpu.kernel, nvvm.kernel} {
    llvm.inline_asm has_side_effects "mbarrier.inval.shared.b64 [$0]; bar.warp.sync 0xffffffff;", "r" %i : (i32) -> ()
    llvm.return
  }
}
// Threads that would wait in place of ending keep the others of their warp from a
// shuffle, and those of the cluster from its barrier, unless they wait anyway.
// CHECK: @quiet_shuffle
// CHECK-NOT: gpuasync_kernels_signal
gpu.module @quiet_shuffle {
  gpu.func @k(%x: memref<?xi32>, %n: index) kernel {
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %i = gpu.thread_id x
    %is = arith.cmpi slt, %i, %n : index
    scf.if %is {
      %v = memref.load %x[%i] : memref<?xi32>
      %w, %valid = gpu.shuffle xor %v, %c1, %c32 : i32
      memref.store %w, %x[%i] : memref<?xi32>
    }
    gpu.return
  }
}
// CHECK: @quiet_vote
// CHECK-NOT: gpuasync_kernels_signal
gpu.module @quiet_vote {
  llvm.func @vote(%i: i32) attributes {no_inline} {
    llvm.inline_asm has_side_effects "{ .reg .pred p; vote.sync.any.pred p, 0, 0xffffffff; }", "r" %i : (i32) -> ()
    llvm.return
  }
  llvm.func @k(%n: i32) attributes {gpu.kernel, nvvm.kernel} {
    %i = nvvm.read.ptx.sreg.tid.x : i32
    %is = llvm.icmp "slt" %i, %n : i32
    llvm.cond_br %is, ^meet, ^end
  ^meet:
    llvm.call @vote(%i) : (i32) -> ()
    llvm.br ^end
  ^end:
    llvm.return
  }
}
// CHECK: @tells_shuffle
// CHECK: gpuasync_kernels_signal
gpu.module @tells_shuffle {
  gpu.func @k(%x: memref<?xi32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %i = gpu.thread_id x
    %is = arith.cmpi slt, %i, %n : index
    scf.if %is {
      %v = memref.load %x[%i] : memref<?xi32>
      %w, %valid = gpu.shuffle xor %v, %c1, %c32 : i32
      memref.store %w, %x[%c0] : memref<?xi32>
    }
    gpu.barrier
    %all = memref.load %x[%c0] : memref<?xi32>
    %r, %valid = gpu.shuffle xor %all, %c1, %c32 : i32
    memref.store %r, %x[%i] : memref<?xi32>
    gpu.return
  }
}
// CHECK: @quiet_cluster
// CHECK-NOT: gpuasync_kernels_signal
gpu.module @quiet_cluster {
  llvm.func @k(%n: i32) attributes {gpu.kernel, nvvm.kernel} {
    %i = nvvm.read.ptx.sreg.tid.x : i32
    %is = llvm.icmp "slt" %i, %n : i32
    llvm.cond_br %is, ^meet, ^end
  ^meet:
    llvm.call_intrinsic "llvm.nvvm.barrier.cluster.arrive"() : () -> ()
    llvm.call_intrinsic "llvm.nvvm.barrier.cluster.wait"() : () -> ()
    llvm.br ^end
  ^end:
    llvm.return
  }
}
