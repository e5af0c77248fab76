// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel of the LLVM dialect with barriers that says of each thread that it does not read
// what it writes; it reads what another one wrote. With debug information.
// RUN: gpu-runner --device=cpu -O0 %s | FileCheck %s
// RUN: gpu-runner --device=cpu -O3 %s | FileCheck %s
// RUN: gpu-runner --device=cpu --check %s | FileCheck %s
// RUN: gpu-opt %s -convert-gpu-to-gpu-async -gpu-async-lower-kernels=targets=cpu | FileCheck %s --check-prefix=SCOPES
// SCOPES: llvm.func internal @k_f_region_
// SCOPES-NOT: noalias_scopes
// CHECK: [163,  162,  161,  160, {{.*}} 101,  100]

#file = #llvm.di_file<"k.cu" in "/x">
#cu = #llvm.di_compile_unit<id = distinct[0]<>, sourceLanguage = DW_LANG_C, file = #file, isOptimized = true, emissionKind = Full>
#sp = #llvm.di_subprogram<id = distinct[1]<>, compileUnit = #cu, scope = #file, name = "f", file = #file, line = 3, subprogramFlags = Definition>
#block = #llvm.di_lexical_block<scope = #sp, file = #file, line = 4, column = 2>
#alias = #llvm.alias_scope_domain<id = distinct[2]<>>
#scope = #llvm.alias_scope<id = distinct[3]<>, domain = #alias>
module attributes {gpu.container_module} {
  gpu.module @k {
    llvm.mlir.global internal @shared() {addr_space = 3 : i32} : !llvm.array<64 x i32>
    llvm.func @f(%out: !llvm.ptr) attributes {gpu.kernel} {
      %w = llvm.mlir.addressof @shared : !llvm.ptr<3>
      llvm.intr.experimental.noalias.scope.decl #scope
      %c63 = llvm.mlir.constant(63 : i32) : i32
      %x = nvvm.read.ptx.sreg.tid.x : i32 loc(#l)
      %p = llvm.getelementptr %w[%x] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32 loc(#l)
      llvm.store %x, %p : i32, !llvm.ptr<3>
      nvvm.barrier0 loc(#l)
      %a = llvm.load %p {noalias_scopes = [#scope]} : !llvm.ptr<3> -> i32 loc(#l)
      nvvm.barrier0 loc(#l)
      %c100 = llvm.mlir.constant(100 : i32) : i32
      %o = llvm.sub %c63, %x : i32
      %q = llvm.getelementptr %w[%o] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
      %b = llvm.add %a, %c100 : i32
      llvm.store %b, %q {alias_scopes = [#scope]} : i32, !llvm.ptr<3> loc(#l)
      nvvm.barrier0 loc(#l)
      %v = llvm.load %p {noalias_scopes = [#scope]} : !llvm.ptr<3> -> i32 loc(#l)
      %r = llvm.getelementptr %out[%x] : (!llvm.ptr, i32) -> !llvm.ptr, i32
      llvm.store %v, %r : i32, !llvm.ptr loc(#l)
      llvm.return loc(#l)
    } loc(#fl)
  }
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %o = memref.alloc() : memref<64xi32>
    %d = gpu.alloc () : memref<64xi32>
    %i = memref.extract_aligned_pointer_as_index %d : memref<64xi32> -> index
    %j = arith.index_cast %i : index to i64
    %p = llvm.inttoptr %j : i64 to !llvm.ptr
    gpu.launch_func @k::@f blocks in (%c1, %c1, %c1) threads in (%c64, %c1, %c1) args(%p : !llvm.ptr)
    gpu.memcpy %o, %d : memref<64xi32>, memref<64xi32>
    gpu.dealloc %d : memref<64xi32>
    %u = memref.cast %o : memref<64xi32> to memref<*xi32>
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    memref.dealloc %o : memref<64xi32>
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
#base = loc("k.cu":5:7)
#l = loc(fused<#block>[#base])
#fl = loc(fused<#sp>["k.cu":3:1])
