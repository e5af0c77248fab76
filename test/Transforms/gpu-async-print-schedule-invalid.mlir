// RUN: split-file %s %t
// RUN: not gpu-opt %t/form.mlir -gpu-async-print-schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not gpu-opt %t/two.mlir -gpu-async-print-schedule=format=png -o /dev/null 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not gpu-opt %t/two.mlir -gpu-async-print-schedule=function=none -o /dev/null 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not gpu-opt %t/two.mlir -gpu-async-print-schedule=format=svg -o /dev/null 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: not gpu-opt %t/two.mlir -gpu-async-print-schedule=file=%t/no/such/folder -o /dev/null 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not gpu-opt %t/two.mlir -gpu-async-print-schedule=file=/dev/full -o /dev/null 2>&1 | FileCheck %s --check-prefix=FULL

//--- form.mlir
// FORM: form.mlir:3:{{.*}} error: 'func.func' op is not in the stream form, so it has no schedule to print; `gpu-runner {{.*}}form.mlir --print-schedule --emit=mlir -o /dev/null` lowers and prints a file of any form, and in gpu-opt these passes come before: --gpu-kernel-outlining --convert-gpu-to-gpu-async --gpu-async-infer-dependencies --gpu-async-make-forks-explicit --gpu-async-assign-streams
// FORM: form.mlir:4:{{.*}} note: this is of another form
func.func @tokens() {
  gpu_async.wait []
  return
}

//--- two.mlir
// FORMAT: for the --format option: 'png' is none of text, dot, svg
// NONE: error: has no function 'none' with a body to print the schedule of
// NONE-NOT: see current operation
// TWO: error: several functions have a schedule, and an SVG document shows one; choose it with function=
// TWO: note: a: 0 ops on 1 stream
// TWO: note: b: 0 ops on 1 stream
// FULL: error: cannot print a schedule: '/dev/full': No space left on device
// FILE: error: cannot print a schedule: cannot open output file
func.func @a() {
  %s = gpu_async.stream.create
  gpu_async.stream.destroy %s
  return
}
func.func @b() {
  %s = gpu_async.stream.create
  gpu_async.stream.destroy %s
  return
}
