// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --benchmark, --stats, --timing and --print-ir-after.
// RUN: gpu-runner --device=cpu %s --repeat=20 --benchmark --stats=%t.json > %t.out 2> %t.err
// RUN: FileCheck %s --check-prefix=BENCH < %t.out
// RUN: FileCheck %s --check-prefix=STATS < %t.json
// RUN: count 0 < %t.err
// BENCH: {"calls": 20, "median_us": {{[0-9.]+}}, "min_us": {{[0-9.]+}}, "p90_us": {{[0-9.]+}}}
// STATS: {"device": "cpu", "streams": {"created": [[N:[0-9]+]], "destroyed": [[N]], "live": 0, "peak": 1
// STATS-SAME: "buffers": {"created": 20, "destroyed": 20, "live": 0, "peak": 1
// STATS-SAME: "launches": 20
// RUN: %python -c "import json,sys; [json.loads(open(f).readline()) for f in sys.argv[1:]]" %t.out %t.json
// RUN: gpu-runner --device=cpu %s --stats 2>&1 >%t.out | FileCheck %s --check-prefix=STDERR
// STDERR: {"device": "cpu"
// RUN: not gpu-runner --device=cpu %s --stats=%t.nofolder/x.json 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: error: '{{.*}}nofolder/x.json' cannot be written

// RUN: gpu-runner --device=cpu %s --print-ir-after=token --print-ir-after=stream,runtime 2>&1 | FileCheck %s --check-prefix=FORMS
// FORMS: // the token form
// FORMS: gpu_async.launch async
// FORMS-NOT: // the linear form
// FORMS: // the stream form
// FORMS: gpu_async.launch on
// FORMS: // the runtime form
// FORMS: llvm.call @gpuasync_launch

// RUN: gpu-runner --device=cpu %s --timing 2>&1 | FileCheck %s --check-prefix=STAGES
// STAGES: stage CPU s wall s share
// STAGES-NEXT: parsing {{[0-9]+\.[0-9]{3} +[0-9]+\.[0-9]{3} +[0-9]+\.[0-9]}} %
// STAGES-NEXT: MLIR, to the token form
// STAGES-NEXT: MLIR, to the linear form
// STAGES-NEXT: MLIR, to the stream form
// STAGES-NEXT: MLIR, to the runtime form
// STAGES-NEXT: line tables
// STAGES-NEXT: translation to LLVM IR
// STAGES-NEXT: LLVM's passes
// STAGES-NEXT: machine code
// STAGES-NEXT: linking
// STAGES-NEXT: total {{.*}} 100.0 %
// RUN: gpu-runner --device=cpu %s --timing=passes 2>&1 | FileCheck %s --check-prefix=PASSES
// PASSES: {{^}}MLIR, to the runtime form
// PASSES: {{^}}  {{[a-z-]+ +[0-9]+\.}}
// PASSES: {{^}}LLVM's passes
// PASSES: {{^}}  {{[A-Za-z<> ]+ +[0-9]+\.}}
// RUN: gpu-runner --emit=object --timing %s -o %t.o 2>&1 | FileCheck %s --check-prefix=EMIT
// EMIT: machine code
// EMIT-NEXT: total
// RUN: not gpu-runner --timing=all %s 2>&1 | FileCheck %s --check-prefix=WORD
// WORD: error: --timing=all: expected one of off, stages, passes

func.func @main() {
  %c1 = arith.constant 1 : index
  %x = gpu.alloc () : memref<4xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    %v = arith.constant 1.0 : f32
    memref.store %v, %x[%tx] : memref<4xf32>
    gpu.terminator
  }
  gpu.dealloc %x : memref<4xf32>
  return
}
