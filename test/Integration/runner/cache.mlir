// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The disk cache: the second run of a program compiles nothing (L03, C15, C16).
// RUN: rm -rf %t.work && mkdir -p %t.work
// DEFINE: %{run} = gpu-runner --device=cpu --cache=%t.work/cache %s --input=3 --stats=%t.work/stats

// RUN: %{run} > %t.first.out 2> %t.first.err
// RUN: FileCheck %s --check-prefix=MISS < %t.work/stats
// RUN: FileCheck %s --check-prefix=RESULT < %t.first.out
// RUN: FileCheck %s --check-prefix=REMARK < %t.first.err
// MISS: "disk_cache": {"program": "miss", "compile_jobs": 1, "hits": 0, "misses": 1, "damaged": 0, "stores": 1, "evictions": 0, "bytes_read": 0, "bytes_written": [[BYTES:[0-9]+]]}
// RESULT: {{^}}result[0]: i32=10{{$}}

// What the compiler said is said again.
// RUN: %{run} > %t.second.out 2> %t.second.err
// RUN: FileCheck %s --check-prefix=HIT < %t.work/stats
// RUN: diff %t.first.out %t.second.out
// RUN: diff %t.first.err %t.second.err
// HIT: "disk_cache": {"program": "hit", "compile_jobs": 0, "hits": 1, "misses": 0, "damaged": 0, "stores": 0, "evictions": 0, "bytes_read": [[BYTES:[0-9]+]], "bytes_written": 0}
// HIT-SAME: "times_ms": {"key": {{[0-9.]+}}, "read": {{[0-9.]+}}, "verify": {{[0-9.]+}}, "parse": 0.000, "pipeline": 0.000, "codegen": 0.000, "store": 0.000, "link": {{[0-9.]+}}, "driver": {{[0-9.]+}}, "driver_wait": {{[0-9.]+}}, "load": {{[0-9.]+}}, "launch": {{[0-9.]+}}, "total": {{[0-9.]+}}}

// A damaged entry is a miss and is written anew.
// RUN: %python %S/Inputs/cache.py gpu-runner %s %t.work damage
// RUN: %{run} | FileCheck %s --check-prefix=RESULT
// RUN: FileCheck %s --check-prefix=DAMAGED < %t.work/stats
// DAMAGED: "program": "miss", "compile_jobs": 1, "hits": 0, "misses": 1, "damaged": 1, "stores": 1
// RUN: %{run} | FileCheck %s --check-prefix=RESULT
// RUN: FileCheck %s --check-prefix=HIT < %t.work/stats

// Wrong inputs are found with a program from the cache too.
// RUN: not gpu-runner --device=cpu --cache=%t.work/cache %s 2>&1 | FileCheck %s --check-prefix=INPUTS
// INPUTS: error: @main(i32) takes 1 argument, but 0 --input were given

// Off, by option or environment; without a folder to write one warning.
// RUN: gpu-runner --device=cpu --cache=off %s --input=3 --stats 2>&1 | FileCheck %s --check-prefix=OFF
// RUN: env GPU_ASYNC_CACHE_DIR=%t.work/other gpu-runner --device=cpu %s --input=3 --stats 2>&1 | FileCheck %s --check-prefix=OFF
// OFF: "disk_cache": {"program": "off", "compile_jobs": 1, "hits": 0, "misses": 0
// RUN: not ls %t.work/other
// RUN: env GPU_ASYNC_CACHE=on GPU_ASYNC_CACHE_DIR=%t.work/other gpu-runner --device=cpu %s --input=3 --stats 2>&1 | FileCheck %s --check-prefix=MISS
// RUN: env GPU_ASYNC_CACHE=on GPU_ASYNC_CACHE_DIR=%t.work/other gpu-runner --device=cpu %s --input=3 --stats 2>&1 | FileCheck %s --check-prefix=HIT
// RUN: gpu-runner --device=cpu --cache=/proc/nowhere/cache %s --input=3 --stats 2>&1 | FileCheck %s --check-prefix=UNWRITABLE
// UNWRITABLE: gpu-runner: warning: the disk cache in '/proc/nowhere/cache' takes nothing more: No such file or directory; name another folder with GPU_ASYNC_CACHE_DIR, or set GPU_ASYNC_CACHE=off
// UNWRITABLE-NOT: warning
// UNWRITABLE: result[0]: i32=10
// UNWRITABLE: "program": "miss", "compile_jobs": 1
// RUN: mkdir -p %t.work/open && chmod 755 %t.work/open
// RUN: gpu-runner --device=cpu --cache=%t.work/open %s --input=3 2>&1 | FileCheck %s --check-prefix=OPEN
// OPEN: gpu-runner: warning: the disk cache in '{{.*}}/open' is not used: others may use it (mode 755); chmod 700 it if it shall serve
// OPEN: result[0]: i32=10

// Without its library the cache is off. That is a warning if it was asked for by name.
// RUN: mkdir -p %t.work/lib && cp %gpuasync_lib/libgpuasync_runtime.so.0 %gpuasync_lib/libgpuasync_check.so.0 %t.work/lib
// DEFINE: %{alone} = env LD_LIBRARY_PATH=%t.work/lib GPU_ASYNC_CACHE= HOME=%t.work/home gpu-runner --device=cpu %s --input=3 --stats
// RUN: %{alone} --cache=%t.work/alone 2>&1 | FileCheck %s --check-prefix=ABSENT
// RUN: %{alone} 2>&1 | FileCheck %s --check-prefix=OFF --implicit-check-not=warning
// RUN: not ls %t.work/alone && not ls %t.work/home
// ABSENT: gpu-runner: warning: the disk cache needs libgpuasync_diskcache.so next to the runtime library: {{.*}}: cannot open shared object file
// ABSENT: "disk_cache": {"program": "off", "compile_jobs": 1, "hits": 0, "misses": 0

// What shows the compiler at work runs it.
// RUN: %{run} --print-ir-after=stream 2>&1 | FileCheck %s --check-prefix=BYPASSED
// RUN: FileCheck %s --check-prefix=BYPASS < %t.work/stats
// BYPASSED: // the stream form
// BYPASS: "program": "bypassed", "compile_jobs": 1, "hits": 0, "misses": 0, "damaged": 0, "stores": 0
// RUN: gpu-runner --emit=mlir --cache=%t.work/emit %s -o %t.work/emitted && not ls %t.work/emit

// RUN: %python %S/Inputs/cache.py gpu-runner %s %t.work foreign
// RUN: %python %S/Inputs/cache.py gpu-runner %s %t.work together
// RUN: %python %S/Inputs/cache.py gpu-runner %s %t.work addresses

func.func @main(%n: i32) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %seven = arith.constant 7 : i32
  %x = gpu.alloc host_shared () : memref<1xi32>
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    %v = arith.addi %n, %seven : i32
    memref.store %v, %x[%tx] : memref<1xi32>
    gpu.terminator
  }
  %result = memref.load %x[%c0] : memref<1xi32>
  gpu.dealloc %x : memref<1xi32>
  %y, %t0 = gpu.alloc async () : memref<4xi32>
  %t1 = gpu.memset async [%t0] %y, %n : memref<4xi32>, i32
  %t2 = gpu.dealloc async [%t1] %y : memref<4xi32>
  // REMARK: cache.mlir:[[@LINE+1]]:3: remark: the host waits here
  return %result : i32
}

func.func @other() {
  return
}
