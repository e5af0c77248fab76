// RUN: gpu-opt %s -split-input-file -gpu-async-link-modules -verify-diagnostics | FileCheck %s

// All kernels of a program become one module (L05).
// Symbols that clash are renamed, with their uses in kernels and on the host;
// those that do not clash keep their names.
// CHECK: module attributes {gpu.container_module}
module attributes {gpu.container_module} {
  // CHECK:      gpu.module @a {
  // CHECK-NEXT:   memref.global "private" @table : memref<4xf32> = dense<1.000000e+00>
  // CHECK-NEXT:   func.func private @log(f32) -> f32
  // CHECK-NEXT:   gpu.func @step
  // CHECK-NEXT:     memref.get_global @table
  // CHECK:        gpu.func @only_a
  // CHECK:        memref.global "private" @b_table : memref<4xf32> = dense<2.000000e+00>
  // CHECK-NEXT:   func.func @helper
  // CHECK:        gpu.func @b_step
  // CHECK-NEXT:     memref.get_global @b_table
  // CHECK:          func.call @helper
  // CHECK:          func.call @log
  // CHECK:        gpu.func @b_step_taken
  // CHECK:        llvm.mlir.global internal @c_table(0 : i32)
  // CHECK:        llvm.func @c_helper(
  // CHECK:        llvm.func @c_step(
  // CHECK-NEXT:     llvm.mlir.addressof @c_table
  // CHECK-NEXT:     llvm.call @c_helper
  // CHECK:      }
  // CHECK-NOT:  gpu.module
  gpu.module @a {
    memref.global "private" @table : memref<4xf32> = dense<1.0>
    func.func private @log(f32) -> f32
    gpu.func @step(%x: memref<4xf32>) kernel {
      %t = memref.get_global @table : memref<4xf32>
      gpu.return
    }
    gpu.func @only_a() kernel { gpu.return }
  }
  gpu.module @b {
    memref.global "private" @table : memref<4xf32> = dense<2.0>
    func.func private @log(f32) -> f32
    func.func @helper(%v: f32) -> f32 { return %v : f32 }
    gpu.func @step(%x: memref<4xf32>) kernel {
      %t = memref.get_global @table : memref<4xf32>
      %v = arith.constant 1.0 : f32
      %w = func.call @helper(%v) : (f32) -> f32
      %l = func.call @log(%w) : (f32) -> f32
      gpu.return
    }
    gpu.func @b_step_taken() kernel { gpu.return }
  }
  gpu.module @c {
    llvm.mlir.global internal @table(0 : i32) : i32
    llvm.func @helper(%p: !llvm.ptr) { llvm.return }
    llvm.func @step() attributes {gpu.kernel} {
      %t = llvm.mlir.addressof @table : !llvm.ptr
      llvm.call @helper(%t) : (!llvm.ptr) -> ()
      llvm.return
    }
  }
  // CHECK: gpu.binary @ready
  gpu.binary @ready [#gpu.object<#nvvm.target, bin = "x">]

  // CHECK: func.func @host(%{{.*}} attributes {names = {{\[\[}}@a::@b_step], {of = @a}]}
  func.func @host(%x: memref<4xf32>) attributes {names = [[@b::@step], {of = @c}]} {
    %c1 = arith.constant 1 : index
    // CHECK: gpu_async.launch @a::@step blocks
    // CHECK: gpu_async.launch @a::@b_step blocks
    // CHECK: gpu_async.launch @a::@b_step_taken blocks
    // CHECK: scf.execute_region
    // CHECK:   gpu_async.launch @a::@c_step blocks
    // CHECK: gpu.launch_func @a::@only_a blocks
    // CHECK: gpu_async.launch @ready::@step blocks
    gpu_async.launch @a::@step blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<4xf32>)
    gpu_async.launch @b::@step blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<4xf32>)
    gpu_async.launch @b::@b_step_taken blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    scf.execute_region {
      gpu_async.launch @c::@step blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      scf.yield
    }
    gpu.launch_func @a::@only_a blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    gpu_async.launch @ready::@step blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    return
  }
}

// -----

// The new name is free itself.
// CHECK-LABEL: gpu.module @one
// CHECK: gpu.func @f()
// CHECK: gpu.func @two_f()
// CHECK: gpu.func @two_f_0() kernel
gpu.module @one {
  gpu.func @f() kernel { gpu.return }
  gpu.func @two_f() kernel { gpu.return }
}
gpu.module @two {
  gpu.func @f() kernel { gpu.return }
}

// -----

// Modules of other targets, handlers or attributes stay apart, and those that
// agree are linked.
// CHECK-DAG: gpu.module @plain {
// CHECK-DAG: gpu.module @sm90 [#nvvm.target<chip = "sm_90">] {
// CHECK-DAG: gpu.module @handled<#gpu.select_object<1 : i64>> [#nvvm.target<chip = "sm_90">] {
// CHECK-DAG: gpu.module @layout attributes {llvm.data_layout = "e"}
// expected-note @below {{the other module}}
gpu.module @plain {
  gpu.func @f() kernel { gpu.return }
}
// expected-remark @below {{stays apart from @plain: their targets differ}}
gpu.module @sm90 [#nvvm.target<chip = "sm_90">] {
  gpu.func @f() kernel { gpu.return }
}
// expected-remark @below {{stays apart from @plain: their targets differ}}
gpu.module @handled <#gpu.select_object<1>> [#nvvm.target<chip = "sm_90">] {
  gpu.func @f() kernel { gpu.return }
}
// expected-remark @below {{stays apart from @plain: their attributes differ}}
gpu.module @layout attributes {llvm.data_layout = "e"} {
  gpu.func @f() kernel { gpu.return }
}

// -----

// CHECK-LABEL: gpu.module @declares
// CHECK: llvm.func @f(i32)
// CHECK: gpu.module @declares_otherwise
// CHECK: gpu.module @defines
// expected-note @below {{the other module}}
gpu.module @declares {
  // expected-note @below {{the other module's}}
  llvm.func @f(i32)
}
// expected-remark @below {{stays apart from @declares: its declaration of @f does not agree with the other module's declaration}}
gpu.module @declares_otherwise {
  // expected-note @below {{the declaration}}
  llvm.func @f(i64)
}
// expected-remark @below {{stays apart from @declares: their offloading handlers differ}}
gpu.module @defines <#gpu.select_object<1>> {
  // expected-note @below {{the other module's}}
  llvm.func @f() { llvm.return }
}
// expected-remark @below {{stays apart from @defines: its declaration of @f does not agree with the other module's definition}}
gpu.module @declares_defined <#gpu.select_object<1>> {
  // expected-note @below {{the declaration}}
  llvm.func @f()
}

// -----

// Nested modules are programs of their own.
// CHECK: module @outer
// CHECK: gpu.module @k {
// CHECK: module @inner
// CHECK: gpu.module @k {
// CHECK: gpu.func @l_f
// CHECK-NOT: gpu.module
// CHECK: gpu_async.launch @k::@l_f
module @outer {
  gpu.module @k { gpu.func @f() kernel { gpu.return } }
  module @inner {
    gpu.module @k { gpu.func @f() kernel { gpu.return } }
    gpu.module @l { gpu.func @f() kernel { gpu.return } }
    func.func @host(%c1: index) {
      gpu_async.launch @l::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      return
    }
  }
}

// RUN: gpu-opt %s -split-input-file -gpu-async-link-modules --remarks-filter=gpu-async-link-modules --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] Linked | Category:gpu-async-link-modules | linked-modules=1{{$}}
