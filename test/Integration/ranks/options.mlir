// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --ranks: its numbers, what it does not go with, and what becomes of a program with
// collectives when it is checked, traced or compiled ahead of time.
// DEFINE: %{run} = gpu-runner %s --device=cpu
// RUN: not %{run} --ranks=0 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not %{run} --ranks=1025 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not %{run} --ranks=-1 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not %{run} --ranks=two 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: gpu-runner: error: --ranks={{0|1025|-1|two}}: expected a number from 1 to 1024
// RUN: not %{run} --ranks=2 --emit=llvm 2>&1 | FileCheck %s --check-prefix=EMIT
// EMIT: gpu-runner: error: --ranks: not with --emit, which compiles and runs nothing
// RUN: %if cuda %{ gpu-runner %s --device=cuda | FileCheck %s --check-prefix=ONE %}

// Counters of each rank. What is of the process comes once.
// RUN: %{run} --ranks=2 --stats 2>&1 >/dev/null | FileCheck %s --check-prefix=STATS
// STATS:      {"rank": 0, "device": "cpu"{{.*}}, "disk_cache": {{.*}}, "times_ms": {{.*}}}
// STATS-NEXT: {"rank": 1, "device": "cpu"
// STATS-NOT:  times_ms
// RUN: %{run} --ranks=2 --stats=%t.stats && %python -c "import json, sys; print([json.loads(line)['buffers']['created'] for line in open(sys.argv[1])])" %t.stats | FileCheck %s --check-prefix=FILE
// FILE: [1, 1]
// RUN: %{run} --ranks=2 --stats=table 2>&1 >/dev/null | FileCheck %s --check-prefix=TABLE
// TABLE:      rank 0:
// TABLE-NEXT: created
// TABLE-NEXT: streams
// TABLE:      rank 1:
// TABLE-NEXT: created
// TABLE-NEXT: streams

// RUN: %{run} --ranks=1 --stats 2>&1 | FileCheck %s --check-prefix=ONE
// ONE: result{{.}}0{{.}}: 2xi32=5 1
// RUN: %{run} --check 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: %{run} --check --ranks=2 2>&1 | FileCheck %s --check-prefix=TWO

// Several calls, the most ranks that a processor of any size takes at once, and a second run.
// RUN: %{run} --ranks=64 --repeat=5 | FileCheck %s --check-prefix=MANY
// MANY: rank 63:
// MANY-NEXT: result{{.}}0{{.}}: 2xi32=320 64
// RUN: %{run} --ranks=2 --benchmark --repeat=4 2>&1 | FileCheck %s --check-prefix=BENCHMARK
// BENCHMARK: "calls": 4
// RUN: rm -rf %t && mkdir %t
// RUN: %{run} --ranks=2 --cache=%t/cache | FileCheck %s --check-prefix=TWO
// RUN: %{run} --ranks=2 --cache=%t/cache | FileCheck %s --check-prefix=TWO
// RUN: %{run} --ranks=3 --cache=%t/cache | FileCheck %s --check-prefix=THREE
// TWO-COUNT-2: result{{.}}0{{.}}: 2xi32=10 2
// THREE-COUNT-3: result{{.}}0{{.}}: 2xi32=15 3

func.func @main() -> memref<2xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %five = arith.constant 5 : i32
  %x = gpu.alloc () : memref<1xi32>
  gpu.memset %x, %five : memref<1xi32>, i32
  gpu_async.collective all_reduce<sum> %x, %x : memref<1xi32>, memref<1xi32>
  %h = memref.alloc() : memref<1xi32>
  gpu.memcpy %h, %x : memref<1xi32>, memref<1xi32>
  gpu.dealloc %x : memref<1xi32>
  %v = memref.load %h[%c0] : memref<1xi32>
  memref.dealloc %h : memref<1xi32>
  %n = gpu_async.size
  %size = arith.index_cast %n : index to i32
  %r = memref.alloc() : memref<2xi32>
  memref.store %v, %r[%c0] : memref<2xi32>
  memref.store %size, %r[%c1] : memref<2xi32>
  return %r : memref<2xi32>
}
