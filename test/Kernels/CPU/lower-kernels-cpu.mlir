// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cpu target: block functions, places in the grid, memory of the block,
// printf and asserts.
// RUN: gpu-opt %s -split-input-file -gpu-async-lower-kernels=targets=cpu --verify-roundtrip | FileCheck %s

// The parameters are loaded where gpuasync_kernel says, the threads run with x
// innermost, and that loop's accesses through arguments are independent. Only
// optimizeCpuCode may make vectors of it: it keeps the order of a thread.
// CHECK-DAG: #[[$GROUP:.*]] = #llvm.access_group<id = distinct[0]<>>
// CHECK-DAG: #[[$VECTOR:.*]] = #llvm.loop_vectorize<disable = true>
// CHECK: #[[$LOOP:.*]] = #llvm.loop_annotation<vectorize = #[[$VECTOR]], parallelAccesses = #[[$GROUP]]>
// CHECK-LABEL: llvm.func internal @k_saxpy_thread(
// CHECK-SAME: always_inline
// CHECK: llvm.intr.fma
// CHECK: llvm.store {{.*}} {access_groups = [#[[$GROUP]]]} : f32, !llvm.ptr
// CHECK-LABEL: llvm.func internal @k_saxpy_block(
// CHECK-SAME: %[[CTX:.*]]: !llvm.ptr {llvm.noalias, llvm.readonly}, %[[PARAMS:.*]]: !llvm.ptr {llvm.noalias, llvm.readonly}, %[[WORKGROUP:.*]]: !llvm.ptr {llvm.noalias})
// CHECK: llvm.load %[[PARAMS]] {alignment = 8 : i64} : !llvm.ptr -> i64
// CHECK: llvm.getelementptr inbounds %[[PARAMS]][8]
// CHECK: llvm.load {{.*}} {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK: llvm.getelementptr inbounds %[[PARAMS]][16]
// CHECK-COUNT-3: llvm.icmp "slt"
// CHECK: llvm.call @k_saxpy_thread(
// CHECK: gpu_async.binary @k
// CHECK-SAME: kernels [#gpu_async.kernel<"saxpy", params = [8, 4, 8, 8, 8, 8, 8]>]
// CHECK-SAME: images [#gpu_async.image<cpu, "" functions = [#gpu_async.cpu_kernel<@k_saxpy_block runs = true{{[^>]*}}>]>]
// CHECK-NOT: gpu.module
gpu.module @k {
  gpu.func @saxpy(%n: index, %a: f32, %x: memref<?xf32>) kernel {
    %i = gpu.global_id x
    %in = arith.cmpi ne, %i, %n : index
    scf.if %in {
      %v = memref.load %x[%i] : memref<?xf32>
      %p = math.fma %a, %v, %v : f32
      memref.store %p, %x[%i] : memref<?xf32>
    }
    gpu.return
  }
}

// -----

// Static workgroup memory: module variables first, then attributions, each
// aligned to 16; dynamic shared memory after them.
// CHECK-LABEL: llvm.func internal @m_f_thread(
// CHECK: llvm.load %{{.*}} {access_groups
// CHECK-LABEL: llvm.func internal @m_f_block(
// CHECK: %[[DYNAMIC:.*]] = llvm.getelementptr inbounds %{{.*}}[112]
// CHECK: llvm.call @m_f_thread({{.*}}, %[[DYNAMIC]])
// CHECK: #gpu_async.cpu_kernel<@m_f_block workgroup = 99{{[^>]*}}>
gpu.module @m {
  memref.global "private" @shared : memref<8xf32, #gpu.address_space<workgroup>>
  gpu.func @f()
      workgroup(%a: memref<16xf32, #gpu.address_space<workgroup>>,
                %b: memref<3xi8, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %t = gpu.thread_id x
    %d = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %s = memref.get_global @shared : memref<8xf32, #gpu.address_space<workgroup>>
    %v = memref.load %s[%t] : memref<8xf32, #gpu.address_space<workgroup>>
    memref.store %v, %a[%t] : memref<16xf32, #gpu.address_space<workgroup>>
    %w = memref.load %b[%c0] : memref<3xi8, #gpu.address_space<workgroup>>
    memref.store %w, %d[%t] : memref<?xi8, #gpu.address_space<workgroup>>
    gpu.return
  }
}

// -----

// C's promotions, and %u of a small integer is not sign-extended. A failed
// assert in a called function ends the thread through the additional result.
// CHECK-DAG: llvm.func @gpuasync_cpu_printf(!llvm.ptr, !llvm.ptr, ...)
// CHECK-DAG: llvm.func @gpuasync_cpu_assert_fail(!llvm.ptr, !llvm.ptr, !llvm.ptr, i32, i32, i64, i64, i64)
// CHECK-LABEL: llvm.func internal @p_helper(
// CHECK-SAME: -> !llvm.struct<(f32, i1)>
// CHECK: llvm.call @gpuasync_cpu_assert_fail(
// CHECK-LABEL: llvm.func internal @p_f_thread(
// CHECK: %[[RESULT:.*]] = llvm.call @p_helper(
// CHECK: %[[ENDED:.*]] = llvm.extractvalue %[[RESULT]][1]
// CHECK: llvm.cond_br %[[ENDED]], ^[[LEAVE:.*]], ^
// CHECK-DAG: llvm.fpext %{{.*}} : f32 to f64
// CHECK-DAG: llvm.zext %{{.*}} : i8 to i32
// CHECK-DAG: llvm.sext %{{.*}} : i16 to i32
// CHECK: llvm.call @gpuasync_cpu_printf({{.*}}) vararg(!llvm.func<void (ptr, ptr, ...)>) : (!llvm.ptr, !llvm.ptr, f64, i32, i32) -> ()
// CHECK: ^[[LEAVE]]:
// CHECK-NEXT: llvm.return
gpu.module @p {
  func.func @helper(%x: f32) -> f32 {
    %zero = arith.constant 0.0 : f32
    %ok = arith.cmpf ogt, %x, %zero : f32
    cf.assert %ok, "not positive"
    return %x : f32
  }
  gpu.func @f(%x: f32, %u: i8, %s: i16) kernel {
    %y = func.call @helper(%x) : (f32) -> f32
    gpu.printf "%f %u %d\n", %y, %u, %s : f32, i8, i16
    gpu.return
  }
}

// -----

// A kernel may be called like a function of the C library.
// CHECK: func.func private @erff(f32) -> f32
// CHECK-LABEL: llvm.func internal @n_erff_thread(
// CHECK: func.call @erff(
gpu.module @n {
  gpu.func @erff(%x: memref<f32>) kernel {
    %v = memref.load %x[] : memref<f32>
    %e = math.erf %v : f32
    memref.store %e, %x[] : memref<f32>
    gpu.return
  }
}

// -----

// Names in the program are not taken twice.
// CHECK: llvm.func internal @k_f_thread_0(
// CHECK: llvm.func internal @k_f_block_0(
// CHECK: llvm.call @k_f_thread_0(
// CHECK: #gpu_async.cpu_kernel<@k_f_block_0 runs = true{{[^>]*}}>
func.func @k_f_thread() { return }
func.func @k_f_block() { return }
gpu.module @k {
  gpu.func @f() kernel { gpu.return }
}

// -----

// What may wait for other work: observed atomics in loops, loops of unknown
// length. Counting in a loop without looking at the result ends.
// CHECK: functions = [#gpu_async.cpu_kernel<@b_spin_block may_block = true{{[^>]*}}>,
// CHECK-SAME: #gpu_async.cpu_kernel<@b_poll_block may_block = true{{[^>]*}}>,
// CHECK-SAME: #gpu_async.cpu_kernel<@b_branches_block may_block = true{{[^>]*}}>,
// CHECK-SAME: #gpu_async.cpu_kernel<@b_count_block{{[^>]*}}>,
// CHECK-SAME: #gpu_async.cpu_kernel<@b_once_block runs = true{{[^>]*}}>]
gpu.module @b {
  gpu.func @spin(%x: memref<i32>) kernel {
    %zero = arith.constant 0 : i32
    scf.while : () -> () {
      %v = memref.atomic_rmw addi %zero, %x[] : (i32, memref<i32>) -> i32
      %again = arith.cmpi eq, %v, %zero : i32
      scf.condition(%again)
    } do {
      scf.yield
    }
    gpu.return
  }
  gpu.func @poll(%x: memref<i32>, %n: index) kernel {
    %zero = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %v = memref.atomic_rmw addi %zero, %x[] : (i32, memref<i32>) -> i32
      memref.store %v, %x[] : memref<i32>
    }
    gpu.return
  }
  gpu.func @branches(%c: i1) kernel {
    cf.br ^loop
  ^loop:
    cf.cond_br %c, ^loop, ^done
  ^done:
    gpu.return
  }
  gpu.func @count(%x: memref<?xi32>, %n: index) kernel {
    %one = arith.constant 1 : i32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %v = memref.atomic_rmw addi %one, %x[%i] : (i32, memref<?xi32>) -> i32
    }
    gpu.return
  }
  gpu.func @once(%x: memref<i32>) kernel {
    %one = arith.constant 1 : i32
    %v = memref.atomic_rmw addi %one, %x[] : (i32, memref<i32>) -> i32
    memref.store %v, %x[] : memref<i32>
    gpu.return
  }
}

// -----

// The target attribute, and an llvm.func as a kernel; address spaces go.
// CHECK-LABEL: llvm.func internal @l_f_thread(%{{.*}}: !llvm.ptr, %{{.*}}: i32,
// CHECK-NOT: ptr<1>
// CHECK: gpu_async.binary @l kernels [#gpu_async.kernel<"f", params = [8, 4]>]
gpu.module @l [#gpu_async.cpu] {
  llvm.func @f(%p: !llvm.ptr<1>, %v: i32) attributes {gpu.kernel} {
    llvm.store %v, %p : i32, !llvm.ptr<1>
    llvm.return
  }
}

// -----

// A counter that is halved until it is 0, or doubled up to what no block is
// larger than, ends; others may not.
// CHECK: functions = [#gpu_async.cpu_kernel<@g_halves_block runs = true{{[^>]*}}>,
// CHECK-SAME: #gpu_async.cpu_kernel<@g_shifts_block runs = true{{[^>]*}}>,
// CHECK-SAME: #gpu_async.cpu_kernel<@g_doubles_block runs = true{{[^>]*}}>,
// CHECK-SAME: #gpu_async.cpu_kernel<@g_adds_block runs = true{{[^>]*}}>,
// CHECK-SAME: #gpu_async.cpu_kernel<@g_minusone_block may_block = true{{[^>]*}}>,
// CHECK-SAME: #gpu_async.cpu_kernel<@g_anywhere_block may_block = true{{[^>]*}}>,
// CHECK-SAME: #gpu_async.cpu_kernel<@g_fromzero_block may_block = true{{[^>]*}}>,
// CHECK-SAME: #gpu_async.cpu_kernel<@g_overflows_block may_block = true{{[^>]*}}>,
// CHECK-SAME: #gpu_async.cpu_kernel<@g_atzero_block may_block = true{{[^>]*}}>,
// CHECK-SAME: #gpu_async.cpu_kernel<@g_loads_block may_block = true{{[^>]*}}>]
gpu.module @g {
  gpu.func @halves() kernel {
    %zero = arith.constant 0 : index
    %start = arith.constant 128 : index
    %by = arith.constant 2 : index
    %last = scf.while (%i = %start) : (index) -> index {
      %more = arith.cmpi ne, %i, %zero : index
      scf.condition(%more) %i : index
    } do {
    ^bb0(%i: index):
      %next = arith.divui %i, %by : index
      scf.yield %next : index
    }
    gpu.return
  }
  gpu.func @shifts() kernel {
    %zero = arith.constant 0 : i32
    %start = arith.constant -5 : i32
    %by = arith.constant 2 : i32
    %last = scf.while (%i = %start) : (i32) -> i32 {
      %more = arith.cmpi sgt, %i, %zero : i32
      scf.condition(%more) %i : i32
    } do {
    ^bb0(%i: i32):
      %next = arith.shrsi %i, %by : i32
      scf.yield %next : i32
    }
    gpu.return
  }
  gpu.func @doubles() kernel {
    %size = gpu.block_dim x
    %start = arith.constant 1 : index
    %by = arith.constant 2 : index
    %last = scf.while (%i = %start) : (index) -> index {
      %more = arith.cmpi ult, %i, %size : index
      scf.condition(%more) %i : index
    } do {
    ^bb0(%i: index):
      %next = arith.muli %i, %by : index
      scf.yield %next : index
    }
    gpu.return
  }
  gpu.func @adds() kernel {
    %end = arith.constant 1000 : i32
    %start = arith.constant 3 : i32
    %by = arith.constant 2 : i32
    %last = scf.while (%i = %start) : (i32) -> i32 {
      %more = arith.cmpi slt, %i, %end : i32
      scf.condition(%more) %i : i32
    } do {
    ^bb0(%i: i32):
      %next = arith.addi %i, %i : i32
      scf.yield %next : i32
    }
    gpu.return
  }
  gpu.func @minusone() kernel {
    %zero = arith.constant 0 : index
    %start = arith.constant 128 : index
    %by = arith.constant 2 : index
    %last = scf.while (%i = %start) : (index) -> index {
      %more = arith.cmpi ne, %i, %zero : index
      scf.condition(%more) %i : index
    } do {
    ^bb0(%i: index):
      %next = arith.shrsi %i, %by : index
      scf.yield %next : index
    }
    gpu.return
  }
  gpu.func @anywhere(%n: index) kernel {
    %start = arith.constant 1 : index
    %by = arith.constant 2 : index
    %last = scf.while (%i = %start) : (index) -> index {
      %more = arith.cmpi ult, %i, %n : index
      scf.condition(%more) %i : index
    } do {
    ^bb0(%i: index):
      %next = arith.muli %i, %by : index
      scf.yield %next : index
    }
    gpu.return
  }
  gpu.func @fromzero() kernel {
    %size = gpu.block_dim x
    %start = arith.constant 0 : index
    %by = arith.constant 2 : index
    %last = scf.while (%i = %start) : (index) -> index {
      %more = arith.cmpi ult, %i, %size : index
      scf.condition(%more) %i : index
    } do {
    ^bb0(%i: index):
      %next = arith.muli %i, %by : index
      scf.yield %next : index
    }
    gpu.return
  }
  gpu.func @overflows() kernel {
    %end = arith.constant 1000 : i32
    %start = arith.constant 1 : i32
    %by = arith.constant 2 : i32
    %last = scf.while (%i = %start) : (i32) -> i32 {
      %more = arith.cmpi ne, %i, %end : i32
      scf.condition(%more) %i : i32
    } do {
    ^bb0(%i: i32):
      %next = arith.muli %i, %by : i32
      scf.yield %next : i32
    }
    gpu.return
  }
  gpu.func @atzero() kernel {
    %zero = arith.constant 0 : index
    %start = arith.constant 128 : index
    %by = arith.constant 2 : index
    %last = scf.while (%i = %start) : (index) -> index {
      %more = arith.cmpi uge, %i, %zero : index
      scf.condition(%more) %i : index
    } do {
    ^bb0(%i: index):
      %next = arith.divui %i, %by : index
      scf.yield %next : index
    }
    gpu.return
  }
  gpu.func @loads(%x: memref<index>) kernel {
    %zero = arith.constant 0 : index
    %start = arith.constant 128 : index
    %by = arith.constant 2 : index
    %last = scf.while (%i = %start) : (index) -> index {
      %more = arith.cmpi ne, %i, %zero : index
      scf.condition(%more) %i : index
    } do {
    ^bb0(%i: index):
      %next = memref.load %x[] : memref<index>
      scf.yield %next : index
    }
    gpu.return
  }
}
