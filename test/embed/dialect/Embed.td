//===- Embed.td - a dialect with device work of its own ---*- tablegen -*-===//
//
// Part of gpu-async, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One op that the runtime has an entry for, and one that a library does.
//===----------------------------------------------------------------------===//

#ifndef EMBED_TD
#define EMBED_TD

include "GPUAsync/IR/GPUAsyncWork.td"

def Embed_Dialect : Dialect {
  let name = "embed";
  let cppNamespace = "::embed";
  let dependentDialects = ["::mlir::gpuasync::GPUAsyncDialect"];
}

def Embed_FillOp : GPUAsync_WorkOpOf<Embed_Dialect, "fill",
        (ins StridedMemRefRankOf<[F32], [2]>:$memory, Index:$row, Index:$column, Index:$rows,
             Index:$columns, F32:$value), [{
    $memory `[` $row `,` $column `]` `[` $rows `,` $columns `]` `,` $value
    attr-dict `:` type($memory)
  }]> {
  let summary = "sets a rectangle of a matrix to one value";
  let extraClassDeclaration = [{
    void getWorkAccesses(::llvm::SmallVectorImpl<::mlir::gpuasync::WorkAccess> &accesses);
  }];
}

def Embed_AxpyOp : GPUAsync_WorkOpOf<Embed_Dialect, "axpy",
        (ins MemRefRankOf<[F32], [2]>:$x, MemRefRankOf<[F32], [2]>:$y,
             F32:$alpha), [{
    $x `,` $y `,` $alpha attr-dict `:` type($x) `,` type($y)
  }]> {
  let summary = "adds alpha * x to y, by a library";
  let extraClassDeclaration = [{
    void getWorkAccesses(::llvm::SmallVectorImpl<::mlir::gpuasync::WorkAccess> &accesses);
    bool callsLibrary() { return true; }
  }];
}

#endif // EMBED_TD
