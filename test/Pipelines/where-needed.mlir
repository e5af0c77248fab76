// A conversion runs where it has something to convert: ops of its dialect that
// are no constants, also inside of kernels.

// RUN: gpu-opt %s -split-input-file -mlir-print-ir-after-all -o /dev/null 2>&1 \
// RUN:   --pass-pipeline='builtin.module(gpu-async-where-needed{dialect=scf pipeline=convert-scf-to-cf},gpu-async-where-needed{dialect=arith pipeline=arith-expand})' \
// RUN:   | FileCheck %s
// RUN: not gpu-opt %s --pass-pipeline='builtin.module(gpu-async-where-needed{dialect=scf pipeline=no-such-pass})' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=UNKNOWN
// RUN: gpu-opt %s --dump-pass-pipeline --gpu-async-pipeline=targets=cpu -split-input-file -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=WHOLE

// UNKNOWN: no-such-pass
// UNKNOWN: 'pipeline' is no pipeline

// Its passes and their order, as text that can be given again.
// WHOLE: gpu-async-where-needed{dialect=vector pipeline=convert-vector-to-scf
// WHOLE: gpu-async-where-needed{dialect=math pipeline=convert-math-to-llvm

// CHECK-NOT: IR Dump After SCFToControlFlowPass
// CHECK-NOT: IR Dump After ArithExpandOpsPass
// CHECK: func.func @neither
func.func @neither(%n: index) -> index {
  %c0 = arith.constant 0 : index
  return %c0 : index
}

// -----

// CHECK-NOT: IR Dump After ArithExpandOpsPass
// CHECK: IR Dump After SCFToControlFlowPass
// CHECK: gpu.func @inside
// CHECK: cf.cond_br
// CHECK-NOT: IR Dump After ArithExpandOpsPass
module {
  gpu.module @k {
    gpu.func @inside(%b: i1) kernel {
      scf.if %b {
        gpu.barrier
      }
      gpu.return
    }
  }
}

// -----

// CHECK-NOT: IR Dump After SCFToControlFlowPass
// CHECK: IR Dump After ArithExpandOpsPass
// CHECK: func.func @expands
func.func @expands(%a: index, %b: index) -> index {
  %c = arith.ceildivsi %a, %b : index
  return %c : index
}
