// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program from the cache is linked as a compiled one is: its constructors and
// destructors run, its crashes have a line, and what it lacks has one too.
// RUN: rm -rf %t.work && mkdir -p %t.work
// DEFINE: %{run} = gpu-runner --device=cpu --cache=%t.work/cache %s --stats=%t.work/stats
// RUN: %{run} | FileCheck %s
// RUN: FileCheck %s --check-prefix=MISS < %t.work/stats
// RUN: %{run} | FileCheck %s
// RUN: FileCheck %s --check-prefix=HIT < %t.work/stats
// MISS: "program": "miss", "compile_jobs": 1
// HIT: "program": "hit", "compile_jobs": 0

// By priority, backwards for destructors; what was left to atexit before those.
// CHECK:      {{^}}first{{$}}
// CHECK-NEXT: {{^}}second{{$}}
// CHECK-NEXT: {{^}}main{{$}}
// CHECK-NEXT: {{^}}at exit{{$}}
// CHECK-NEXT: {{^}}second{{$}}
// CHECK-NEXT: {{^}}first{{$}}
// CHECK-NOT: {{.}}

llvm.mlir.global internal constant @textFirst("first\00") {addr_space = 0 : i32}
llvm.mlir.global internal constant @textSecond("second\00") {addr_space = 0 : i32}
llvm.mlir.global internal constant @textMain("main\00") {addr_space = 0 : i32}
llvm.mlir.global internal constant @textExit("at exit\00") {addr_space = 0 : i32}
llvm.func @puts(!llvm.ptr) -> i32
llvm.func @atexit(!llvm.ptr) -> i32

llvm.func internal @first() {
  %text = llvm.mlir.addressof @textFirst : !llvm.ptr
  %0 = llvm.call @puts(%text) : (!llvm.ptr) -> i32
  llvm.return
}
llvm.func internal @second() {
  %text = llvm.mlir.addressof @textSecond : !llvm.ptr
  %0 = llvm.call @puts(%text) : (!llvm.ptr) -> i32
  llvm.return
}
llvm.func internal @leaving() {
  %text = llvm.mlir.addressof @textExit : !llvm.ptr
  %0 = llvm.call @puts(%text) : (!llvm.ptr) -> i32
  llvm.return
}
llvm.mlir.global_ctors ctors = [@second, @first], priorities = [200 : i32, 100 : i32], data = [#llvm.zero, #llvm.zero]
llvm.mlir.global_dtors dtors = [@first, @second], priorities = [100 : i32, 200 : i32], data = [#llvm.zero, #llvm.zero]

func.func @main() {
  %leaving = llvm.mlir.addressof @leaving : !llvm.ptr
  %0 = llvm.call @atexit(%leaving) : (!llvm.ptr) -> i32
  %text = llvm.mlir.addressof @textMain : !llvm.ptr
  %1 = llvm.call @puts(%text) : (!llvm.ptr) -> i32
  return
}

// RUN: %if !sanitizer %{ not gpu-runner --device=cpu --cache=%t.work/cache %s -e crash --input=null 2>&1 | FileCheck %s --check-prefix=CRASH %}
// RUN: %if !sanitizer %{ not gpu-runner --device=cpu --cache=%t.work/cache %s -e crash --input=null 2>&1 | FileCheck %s --check-prefix=CRASH %}
func.func @crash(%p: !llvm.ptr) {
  %v = arith.constant 1 : i32
  // CRASH: segmentation fault at address {{.*}} while running the program, in @{{.*}}crash at {{.*}}cache-link.mlir:[[@LINE+1]]:3
  llvm.store volatile %v, %p : i32, !llvm.ptr
  return
}

// A library that is not there any more, or not named.
// RUN: gpu-runner --device=cpu --cache=%t.work/cache %s -e library --shared-libs=%llvm_lib/libmlir_async_runtime.so --stats 2>&1 | FileCheck %s --check-prefix=MISS
// RUN: gpu-runner --device=cpu --cache=%t.work/cache %s -e library --shared-libs=%llvm_lib/libmlir_async_runtime.so --stats 2>&1 | FileCheck %s --check-prefix=HIT
// RUN: not gpu-runner --device=cpu --cache=%t.work/cache %s -e library 2>&1 | FileCheck %s --check-prefix=LIBRARY
// LIBRARY: cache-link.mlir:[[@LINE+1]]:1: error: @mlirAsyncRuntimeAddRef is used but defined nowhere; name the library that has it with --shared-libs
func.func private @mlirAsyncRuntimeAddRef(!llvm.ptr, i64)
func.func @library() {
  %zero = arith.constant 0 : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %never = arith.cmpi ne, %zero, %zero : i64
  %x = memref.alloca() : memref<1xi1>
  %c0 = arith.constant 0 : index
  memref.store %never, %x[%c0] : memref<1xi1>
  %p = memref.extract_aligned_pointer_as_index %x : memref<1xi1> -> index
  %i = arith.index_cast %p : index to i64
  %q = llvm.inttoptr %i : i64 to !llvm.ptr
  %unknown = llvm.load volatile %q : !llvm.ptr -> i1
  cf.cond_br %unknown, ^call, ^end
^call:
  call @mlirAsyncRuntimeAddRef(%null, %zero) : (!llvm.ptr, i64) -> ()
  cf.br ^end
^end:
  return
}
