// RUN: gpu-opt %s -gpu-async-print-statistics -o /dev/null 2>&1 | FileCheck %s --match-full-lines
// RUN: gpu-opt %s -gpu-async-print-statistics=title=here -o /dev/null 2>&1 | FileCheck %s --check-prefix=TITLE
// TITLE: {{^}}here: @tokens: 4 ops
// RUN: gpu-opt %S/../Integration/forkjoin_1_4x2_1.mlir -gpu-async-pipeline="print-statistics=true targets=cpu" -o /dev/null 2>&1 | FileCheck %s --check-prefix=PHASES
// PHASES: {{^}}imported: @forkjoin: 10 ops, {{.*}}host wait
// PHASES: {{^}}token form: @forkjoin: 10 ops, {{.*}}host wait
// PHASES: {{^}}linear form: @forkjoin: 10 ops, 1 fork, {{.*}}host wait
// PHASES: {{^}}stream form: @forkjoin: 10 ops, 4 streams, {{[0-9]+}} events, {{[0-9]+}} waits, 1 host wait

// CHECK-NOT: {{.+}}
//     CHECK: @sequential: 1 op, 1 sequential, 0 host waits
func.func @sequential(%x: memref<8xf32>, %v: f32) {
  gpu_async.memset %x, %v : memref<8xf32>, f32
  return
}

// CHECK-NEXT: @tokens: 4 ops, 1 fork, 1 join, 1 release, 1 host wait
func.func @tokens(%x: memref<8xf32>, %v: f32) {
  %r = gpu_async.wait async
  %a = gpu_async.memset async [%r] %x, %v : memref<8xf32>, f32
  %b, %c = gpu_async.fork %a : 2
  %d = gpu_async.memset async [%b] %x, %v : memref<8xf32>, f32
  %e = gpu_async.memset async [%c] %x, %v : memref<8xf32>, f32
  %f = gpu_async.memset async %x, %v : memref<8xf32>, f32
  gpu_async.release %f
  %j = gpu_async.wait async [%d, %e]
  gpu_async.wait [%j]
  return
}

// CHECK-NEXT: @streams: 2 ops, 2 streams, 1 event, 1 wait, 2 host waits
func.func @streams(%x: memref<8xf32>, %v: f32, %p: !llvm.ptr) {
  %s = gpu_async.stream.create
  %t = gpu_async.stream.external %p : !llvm.ptr
  gpu_async.memset on %s %x, %v : memref<8xf32>, f32
  %e = gpu_async.event.record on %s
  gpu_async.stream.wait %t, %e
  gpu_async.event.synchronize %e
  gpu_async.event.destroy %e
  gpu_async.memset on %t %x, %v : memref<8xf32>, f32
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  gpu_async.stream.destroy %t
  return
}

// CHECK-NOT: {{.+}}
func.func @none() {
  return
}
