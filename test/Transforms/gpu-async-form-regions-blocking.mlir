// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which kernels may wait for other work: each is launched twice behind two
// launches of one that does not, so that it is in their region or ends it.
// RUN: gpu-opt %s --gpu-async-form-regions=remarks -o /dev/null 2>&1 | grep -v "see current operation" | FileCheck %s --implicit-check-not=remark:

gpu.module @k {
  gpu.func @ok() kernel {
    gpu.return
  }
  memref.global "private" constant @table : memref<4xi32> = dense<0>
  func.func private @outside()
  func.func private @promised_away() attributes {gpu_async.nonblocking}
  func.func private @__nv_expf() -> f32
  func.func @get(%x: memref<?xi32>) -> i32 {
    %c0 = arith.constant 0 : index
    %v = memref.load %x[%c0] : memref<?xi32>
    return %v : i32
  }
  func.func @again(%x: memref<?xi32>) {
    call @again(%x) : (memref<?xi32>) -> ()
    return
  }
  gpu.func @spin_load(%x: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    scf.while : () -> () {
      %v = memref.load %x[%c0] : memref<?xi32>
      %again = arith.cmpi eq, %v, %zero : i32
      scf.condition(%again)
    } do {
      scf.yield
    }
    gpu.return
  }
  gpu.func @spin_atomic(%x: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    scf.while : () -> () {
      %v = memref.atomic_rmw addi %zero, %x[%c0] : (i32, memref<?xi32>) -> i32
      %again = arith.cmpi eq, %v, %zero : i32
      scf.condition(%again)
    } do {
      scf.yield
    }
    gpu.return
  }
  gpu.func @spin_generic(%x: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    scf.while : () -> () {
      %v = memref.generic_atomic_rmw %x[%c0] : memref<?xi32> {
      ^bb0(%old: i32):
        memref.atomic_yield %old : i32
      }
      %again = arith.cmpi eq, %v, %zero : i32
      scf.condition(%again)
    } do {
      scf.yield
    }
    gpu.return
  }
  gpu.func @spin_volatile(%p: !llvm.ptr<1>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    scf.while : () -> () {
      %v = llvm.load volatile %p : !llvm.ptr<1> -> i32
      %again = arith.cmpi eq, %v, %zero : i32
      scf.condition(%again)
    } do {
      scf.yield
    }
    gpu.return
  }
  gpu.func @spin_intrinsic(%p: !llvm.ptr<1>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    scf.while : () -> () {
      %v = llvm.call_intrinsic "llvm.nvvm.ldu.global.i.i32.p1"(%p, %one) : (!llvm.ptr<1>, i32) -> i32
      %again = arith.cmpi eq, %v, %zero : i32
      scf.condition(%again)
    } do {
      scf.yield
    }
    gpu.return
  }
  gpu.func @spin_cfg(%x: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    cf.br ^loop
  ^loop:
    %v = memref.load %x[%c0] : memref<?xi32>
    %again = arith.cmpi eq, %v, %zero : i32
    cf.cond_br %again, ^loop, ^end
  ^end:
    gpu.return
  }
  gpu.func @spin_inner(%x: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    scf.for %i = %c0 to %n step %c1 {
      scf.while : () -> () {
        %v = memref.load %x[%i] : memref<?xi32>
        %again = arith.cmpi eq, %v, %zero : i32
        scf.condition(%again)
      } do {
        scf.yield
      }
    }
    gpu.return
  }
  gpu.func @spin_callee(%x: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    scf.while : () -> () {
      %v = func.call @get(%x) : (memref<?xi32>) -> i32
      %again = arith.cmpi eq, %v, %zero : i32
      scf.condition(%again)
    } do {
      scf.yield
    }
    gpu.return
  }
  gpu.func @spin_carried(%x: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    %last = scf.while (%v = %zero) : (i32) -> i32 {
      %again = arith.cmpi eq, %v, %zero : i32
      scf.condition(%again) %v : i32
    } do {
    ^bb0(%old: i32):
      %new = memref.load %x[%c0] : memref<?xi32>
      scf.yield %new : i32
    }
    gpu.return
  }
  gpu.func @spin_branch(%x: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    cf.br ^loop(%zero : i32)
  ^loop(%s: i32):
    %v = memref.load %x[%c0] : memref<?xi32>
    %is = arith.cmpi eq, %v, %zero : i32
    cf.cond_br %is, ^more(%zero : i32), ^more(%one : i32)
  ^more(%t: i32):
    %again = arith.cmpi eq, %t, %zero : i32
    cf.cond_br %again, ^loop(%t : i32), ^end
  ^end:
    gpu.return
  }
  gpu.func @spin_if(%x: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    scf.while : () -> () {
      %v = scf.if %true -> i32 {
        %w = memref.load %x[%c0] : memref<?xi32>
        scf.yield %w : i32
      } else {
        scf.yield %zero : i32
      }
      %again = arith.cmpi eq, %v, %zero : i32
      scf.condition(%again)
    } do {
      scf.yield
    }
    gpu.return
  }
  gpu.func @spin_private(%x: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    %a = memref.alloca() : memref<1xi32>
    scf.while : () -> () {
      %v = memref.load %x[%c0] : memref<?xi32>
      memref.store %v, %a[%c0] : memref<1xi32>
      %w = memref.load %a[%c0] : memref<1xi32>
      %again = arith.cmpi eq, %w, %zero : i32
      scf.condition(%again)
    } do {
      scf.yield
    }
    gpu.return
  }
  gpu.func @irreducible(%x: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    cf.cond_br %true, ^a, ^b
  ^a:
    %v = memref.load %x[%c0] : memref<?xi32>
    %again = arith.cmpi eq, %v, %zero : i32
    cf.cond_br %again, ^b, ^end
  ^b:
    cf.br ^a
  ^end:
    gpu.return
  }
  gpu.func @irreducible_two(%x: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    cf.cond_br %true, ^a, ^b
  ^a:
    %v = memref.load %x[%c0] : memref<?xi32>
    %again = arith.cmpi eq, %v, %zero : i32
    cf.cond_br %again, ^b, ^end
  ^b:
    %w = memref.load %x[%c1] : memref<?xi32>
    %more = arith.cmpi eq, %w, %zero : i32
    cf.cond_br %more, ^a, ^end
  ^end:
    gpu.return
  }
  gpu.func @endless(%x: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    cf.br ^loop
  ^loop:
    cf.br ^loop
  }
  gpu.func @recursive(%x: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    func.call @again(%x) : (memref<?xi32>) -> ()
    gpu.return
  }
  gpu.func @unknown(%x: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    func.call @outside() : () -> ()
    gpu.return
  }
  gpu.func @assembly(%x: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    llvm.inline_asm has_side_effects "loop: bra loop;", "" : () -> ()
    gpu.return
  }
  gpu.func @cluster(%x: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    nvvm.cluster.arrive
    nvvm.cluster.wait
    gpu.return
  }
  gpu.func @counted(%x: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    scf.for %i = %c0 to %n step %c1 {
      %v = memref.load %x[%c0] : memref<?xi32>
      %is = arith.cmpi eq, %v, %zero : i32
      scf.if %is {
        memref.store %one, %x[%i] : memref<?xi32>
      }
      %w = memref.atomic_rmw addi %v, %x[%i] : (i32, memref<?xi32>) -> i32
    }
    affine.for %i = 0 to 8 {
      %v = affine.load %x[%i] : memref<?xi32>
      affine.store %v, %x[%i] : memref<?xi32>
    }
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      %v = memref.load %x[%i] : memref<?xi32>
      memref.store %v, %x[%c0] : memref<?xi32>
    }
    gpu.return
  }
  gpu.func @counted_while(%x: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    %end = memref.load %x[%c0] : memref<?xi32>
    %last = scf.while (%i = %zero) : (i32) -> i32 {
      %again = arith.cmpi slt, %i, %end : i32
      scf.condition(%again) %i : i32
    } do {
    ^bb0(%i: i32):
      %v = memref.load %x[%c0] : memref<?xi32>
      memref.store %v, %x[%c1] : memref<?xi32>
      %next = arith.addi %i, %one : i32
      scf.yield %next : i32
    }
    gpu.return
  }
  gpu.func @counted_cfg(%x: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    cf.br ^loop(%zero, %zero : i32, i32)
  ^loop(%i: i32, %s: i32):
    %v = memref.load %x[%c0] : memref<?xi32>
    %is = arith.cmpi eq, %v, %zero : i32
    cf.cond_br %is, ^more(%s : i32), ^more(%v : i32)
  ^more(%t: i32):
    %next = arith.addi %i, %one : i32
    %again = arith.cmpi slt, %next, %one : i32
    cf.cond_br %again, ^loop(%next, %t : i32, i32), ^end
  ^end:
    gpu.return
  }
  gpu.func @workgroup(%x: memref<?xi32>) workgroup(%w : memref<4xi32, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    scf.while : () -> () {
      %v = memref.load %w[%c0] : memref<4xi32, #gpu.address_space<workgroup>>
      %again = arith.cmpi eq, %v, %zero : i32
      scf.condition(%again)
    } do {
      scf.yield
    }
    gpu.barrier
    gpu.return
  }
  gpu.func @private(%x: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    %a = memref.alloca() : memref<1xi32>
    memref.store %zero, %a[%c0] : memref<1xi32>
    scf.while : () -> () {
      %v = memref.load %a[%c0] : memref<1xi32>
      %w = arith.addi %v, %one : i32
      memref.store %w, %a[%c0] : memref<1xi32>
      %again = arith.cmpi slt, %w, %one : i32
      scf.condition(%again)
    } do {
      scf.yield
    }
    gpu.return
  }
  gpu.func @mbarrier(%x: memref<?xi32>, %state: i64) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    %m = llvm.mlir.zero : !llvm.ptr<3>
    scf.while : () -> () {
      %again = nvvm.mbarrier.test.wait %m, %state : !llvm.ptr<3>, i64 -> i1
      scf.condition(%again)
    } do {
      scf.yield
    }
    gpu.return
  }
  gpu.func @constant(%x: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    %t = memref.get_global @table : memref<4xi32>
    scf.while : () -> () {
      %v = memref.load %t[%c0] : memref<4xi32>
      %again = arith.cmpi eq, %v, %zero : i32
      scf.condition(%again)
    } do {
      scf.yield
    }
    gpu.return
  }
  gpu.func @promised(%x: memref<?xi32>) kernel attributes {gpu_async.nonblocking} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    scf.while : () -> () {
      %v = memref.load %x[%c0] : memref<?xi32>
      %again = arith.cmpi eq, %v, %zero : i32
      scf.condition(%again)
    } do {
      scf.yield
    }
    gpu.return
  }
  gpu.func @math(%x: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    %f = func.call @__nv_expf() : () -> f32
    gpu.return
  }
  gpu.func @declared(%x: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    func.call @promised_away() : () -> ()
    gpu.return
  }
  gpu.func @assembly_pure(%x: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 100 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %true = arith.constant true
    %v = llvm.inline_asm "mov.u32 $0, 7;", "=r" : () -> i32
    gpu.return
  }
}

// CHECK: remark: a region of 2 ops of device work
// CHECK: note: it ends here: the kernel may wait for other work
// CHECK: note: it reads memory here to decide about another turn of a loop
func.func @spin_load(%x: memref<?xi32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@spin_load blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.launch on %s @k::@spin_load blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 2 ops of device work
// CHECK: note: it ends here: the kernel may wait for other work
// CHECK: note: it reads memory here to decide about another turn of a loop
func.func @spin_atomic(%x: memref<?xi32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@spin_atomic blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.launch on %s @k::@spin_atomic blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 2 ops of device work
// CHECK: note: it ends here: the kernel may wait for other work
// CHECK: note: it reads memory here to decide about another turn of a loop
func.func @spin_generic(%x: memref<?xi32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@spin_generic blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.launch on %s @k::@spin_generic blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 2 ops of device work
// CHECK: note: it ends here: the kernel may wait for other work
// CHECK: note: it reads memory here to decide about another turn of a loop
func.func @spin_volatile(%p: !llvm.ptr<1>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@spin_volatile blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%p : !llvm.ptr<1>)
  gpu_async.launch on %s @k::@spin_volatile blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%p : !llvm.ptr<1>)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 2 ops of device work
// CHECK: note: it ends here: the kernel may wait for other work
// CHECK: note: it reads memory here to decide about another turn of a loop
func.func @spin_intrinsic(%p: !llvm.ptr<1>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@spin_intrinsic blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%p : !llvm.ptr<1>)
  gpu_async.launch on %s @k::@spin_intrinsic blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%p : !llvm.ptr<1>)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 2 ops of device work
// CHECK: note: it ends here: the kernel may wait for other work
// CHECK: note: it reads memory here to decide about another turn of a loop
func.func @spin_cfg(%x: memref<?xi32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@spin_cfg blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.launch on %s @k::@spin_cfg blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 2 ops of device work
// CHECK: note: it ends here: the kernel may wait for other work
// CHECK: note: it reads memory here to decide about another turn of a loop
func.func @spin_inner(%x: memref<?xi32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@spin_inner blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.launch on %s @k::@spin_inner blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 2 ops of device work
// CHECK: note: it ends here: the kernel may wait for other work
// CHECK: note: it reads memory here to decide about another turn of a loop
func.func @spin_callee(%x: memref<?xi32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@spin_callee blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.launch on %s @k::@spin_callee blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 2 ops of device work
// CHECK: note: it ends here: the kernel may wait for other work
// CHECK: note: it reads memory here to decide about another turn of a loop
func.func @spin_carried(%x: memref<?xi32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@spin_carried blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.launch on %s @k::@spin_carried blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 2 ops of device work
// CHECK: note: it ends here: the kernel may wait for other work
// CHECK: note: it reads memory here to decide about another turn of a loop
func.func @spin_branch(%x: memref<?xi32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@spin_branch blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.launch on %s @k::@spin_branch blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 2 ops of device work
// CHECK: note: it ends here: the kernel may wait for other work
// CHECK: note: it reads memory here to decide about another turn of a loop
func.func @spin_if(%x: memref<?xi32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@spin_if blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.launch on %s @k::@spin_if blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 2 ops of device work
// CHECK: note: it ends here: the kernel may wait for other work
// CHECK: note: it reads memory here to decide about another turn of a loop
func.func @spin_private(%x: memref<?xi32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@spin_private blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.launch on %s @k::@spin_private blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 2 ops of device work
// CHECK: note: it ends here: the kernel may wait for other work
// CHECK: note: it reads memory here to decide about another turn of a loop
func.func @irreducible(%x: memref<?xi32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@irreducible blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.launch on %s @k::@irreducible blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 2 ops of device work
// CHECK: note: it ends here: the kernel may wait for other work
// CHECK: note: it reads memory here to decide about another turn of a loop
func.func @irreducible_two(%x: memref<?xi32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@irreducible_two blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.launch on %s @k::@irreducible_two blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 2 ops of device work
// CHECK: note: it ends here: the kernel may wait for other work
// CHECK: note: nothing ends this loop
func.func @endless(%x: memref<?xi32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@endless blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.launch on %s @k::@endless blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 2 ops of device work
// CHECK: note: it ends here: the kernel may wait for other work
// CHECK: note: it calls itself
func.func @recursive(%x: memref<?xi32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@recursive blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.launch on %s @k::@recursive blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 2 ops of device work
// CHECK: note: it ends here: the kernel may wait for other work
// CHECK: note: it calls what has no body here
func.func @unknown(%x: memref<?xi32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@unknown blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.launch on %s @k::@unknown blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 2 ops of device work
// CHECK: note: it ends here: the kernel may wait for other work
// CHECK: note: inline assembly may do anything
func.func @assembly(%x: memref<?xi32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@assembly blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.launch on %s @k::@assembly blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 2 ops of device work
// CHECK: note: it ends here: the kernel may wait for other work
// CHECK: note: it waits for the other blocks of its cluster
func.func @cluster(%x: memref<?xi32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@cluster blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.launch on %s @k::@cluster blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 4 ops of device work
// CHECK: note: it ends here: the host waits
func.func @counted(%x: memref<?xi32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@counted blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.launch on %s @k::@counted blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 4 ops of device work
// CHECK: note: it ends here: the host waits
func.func @counted_while(%x: memref<?xi32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@counted_while blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.launch on %s @k::@counted_while blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 4 ops of device work
// CHECK: note: it ends here: the host waits
func.func @counted_cfg(%x: memref<?xi32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@counted_cfg blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.launch on %s @k::@counted_cfg blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 4 ops of device work
// CHECK: note: it ends here: the host waits
func.func @workgroup(%x: memref<?xi32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@workgroup blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.launch on %s @k::@workgroup blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 4 ops of device work
// CHECK: note: it ends here: the host waits
func.func @private(%x: memref<?xi32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@private blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.launch on %s @k::@private blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 4 ops of device work
// CHECK: note: it ends here: the host waits
func.func @mbarrier(%x: memref<?xi32>, %state: i64) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@mbarrier blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>, %state : i64)
  gpu_async.launch on %s @k::@mbarrier blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>, %state : i64)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 4 ops of device work
// CHECK: note: it ends here: the host waits
func.func @constant(%x: memref<?xi32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@constant blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.launch on %s @k::@constant blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 4 ops of device work
// CHECK: note: it ends here: the host waits
func.func @promised(%x: memref<?xi32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@promised blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.launch on %s @k::@promised blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 4 ops of device work
// CHECK: note: it ends here: the host waits
func.func @math(%x: memref<?xi32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@math blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.launch on %s @k::@math blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 4 ops of device work
// CHECK: note: it ends here: the host waits
func.func @declared(%x: memref<?xi32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@declared blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.launch on %s @k::@declared blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 4 ops of device work
// CHECK: note: it ends here: the host waits
func.func @assembly_pure(%x: memref<?xi32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@assembly_pure blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.launch on %s @k::@assembly_pure blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

gpu.binary @ready [#gpu.object<#nvvm.target, bin = "">]

// CHECK: remark: a region of 2 ops of device work
// CHECK: note: it ends here: the kernel may wait for other work
// CHECK: note: its kernel has no body here
func.func @binary() {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @ready::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 3 ops of device work
// CHECK: note: it ends here: the host waits
func.func @binary_promised() {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @ready::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) {gpu_async.nonblocking}
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK: remark: a region of 2 ops of device work
// CHECK: note: it ends here: the kernel may wait for other work
// CHECK: note: its blocks may wait for each other
func.func @cooperative() {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s @k::@ok blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) cooperative
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}
