//===- Passes.td - passes of lib/Upstream ------------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Guards against wrong code that MLIR 22.1 makes: docs/reference/Upstream.md lists it.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_UPSTREAM_PASSES
#define GPUASYNC_UPSTREAM_PASSES

include "mlir/Pass/PassBase.td"

def GPUAsyncAvoidFaults : Pass<"gpu-async-avoid-faults"> {
  let summary = "Replace ops that MLIR folds or lowers to wrong code";
  let description = [{
    Runs first, before anything folds, on host code and kernels alike:

    - Ops of the index dialect become those of arith on `index`. MLIR folds
      `index.ceildivs` and rewrites `index.cmp` of a difference as if nothing
      wrapped around, and lowers divisions by code that divides the least number
      by -1.
    - `a ceildiv b` in ops of the affine dialect becomes `arith.ceildivsi`. MLIR
      lowers it by way of `-a`, which the least number does not have. Where there
      is one, all ops of the affine dialect are lowered to arith, memref, scf and
      vector.
    - `math.clampf` becomes `maximumf(minimumf(value, max), min)`. MLIR 22.1
      exchanges the bounds.
    - `complex.log1p` becomes ops of arith and math. MLIR's log1p(-1) is 0.
    - `scf.index_switch` becomes `scf.if`. MLIR switches on the lower 32 bits,
      and its analysis of buffers does not see what the branches yield.
    - Masks of transfers of whole tensors become `arith.select`. MLIR takes a
      write of what was read for no change, whatever the masks are.
    - `arith.trunci` loses `overflow`. MLIR makes one truncation of two, and keeps
      what the second one says.

    ```mlir
    // before                               // after
    %q = index.ceildivs %a, %b              %q = arith.ceildivsi %a, %b : index
    %c = math.clampf %x to [%l, %h] : f32   %m = arith.minimumf %x, %h : f32
                                            %c = arith.maximumf %m, %l : f32
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::complex::ComplexDialect",
    "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect",
  ];
  let statistics = [
    Statistic<"numReplaced", "replaced-ops",
              "Ops that were replaced">
  ];
}

def GPUAsyncCanonicalize : Pass<"gpu-async-canonicalize"> {
  let summary = "Canonicalise, but do not make wrong code";
  let description = [{
    MLIR's `canonicalize`, with guards on the patterns of MLIR 22.1 that change
    what some programs compute (`guardFaultyPatterns`; docs/reference/Upstream.md lists
    them). The pipeline runs this pass wherever it canonicalises.
  }];
}

#endif // GPUASYNC_UPSTREAM_PASSES
