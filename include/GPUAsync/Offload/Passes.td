//===- Passes.td - passes of lib/Offload -------------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From tensors, linalg and parallel loops to kernels.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_OFFLOAD_PASSES
#define GPUASYNC_OFFLOAD_PASSES

include "mlir/Pass/PassBase.td"

def GPUAsyncRefuseConstantWrites
    : Pass<"gpu-async-refuse-constant-writes", "::mlir::ModuleOp"> {
  let summary = "Refuse writes to constant globals";
  let description = [{
    An op that writes a `memref.global constant`, or a view of one, is an error: the
    write would be lost, or end the process. So is one in a kernel that is given the
    memref, also by `gpu_async.constant`. What a select, a region or a call makes of
    the memref is not looked at.
  }];
}

def GPUAsyncMarkOffloaded
    : Pass<"gpu-async-mark-offloaded", "::mlir::ModuleOp"> {
  let summary = "Mark the functions that kernels are made of";
  let description = [{
    A function gets the attribute `gpu_async.offloaded` if it has linalg ops,
    tensors, `scf.forall`, `scf.parallel` or `affine.parallel`, and gives no device
    work itself. Functions that kernels call are left out. Other functions lose the
    attribute. All passes up to `gpu-async-report-host-work`, which removes it, know
    the functions by it.

    ```mlir
    // before
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32>
    // after
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> attributes {gpu_async.offloaded}
    ```
  }];
  let statistics = [
    Statistic<"numFunctions", "functions",
              "Functions that kernels are made of">
  ];
}

def GPUAsyncForOffloaded
    : Pass<"gpu-async-for-offloaded", "::mlir::ModuleOp"> {
  let summary = "Run passes on the functions that kernels are made of";
  let description = [{
    Runs `pipelines` one after the other if a function has the attribute
    `gpu_async.offloaded`. A pipeline `func.func(...)` runs on each such function, in
    the order of the module, and stops at the first one that fails. A pipeline
    `builtin.module(...)` runs once.
  }];
  let options = [
    ListOption<"pipelines", "pipelines", "::mlir::OpPassManager",
               "What to run: func.func(...), builtin.module(...)">,
  ];
}

def GPUAsyncCheckTensors
    : Pass<"gpu-async-check-tensors", "::mlir::ModuleOp"> {
  let summary = "Refuse tensors that have no memory, warn of those without a value";
  let description = [{
    A warning names each sum, or other reduction, that begins with the elements of a
    `tensor.empty`, which may be anything. If a function is offloaded, it is an error
    if one that returns a tensor of constant size calls itself, directly or by
    others.
  }];
}

def GPUAsyncStructureOffloaded
    : Pass<"gpu-async-structure-offloaded", "::mlir::ModuleOp"> {
  let summary = "Structured control flow only, where kernels are made";
  let description = [{
    Bufferization takes no loops of branches. Control-flow graphs become ops of scf,
    as by `gpu-async-structure-control-flow`, in functions that have work for kernels,
    and in functions that they call. A graph that cannot is an error in the former.
    In the latter it stays, and so does the call.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::gpuasync::GPUAsyncDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect",
                           "::mlir::ub::UBDialect"];
}

def GPUAsyncInlineCalls
    : Pass<"gpu-async-inline-calls", "::mlir::ModuleOp"> {
  let summary = "Put functions in place of calls where kernels are made";
  let description = [{
    Memory and kernels are chosen for one function at a time. So in functions that
    have work for kernels, a function without device work of its own takes the place
    of each call of it. These stay calls: those of functions that call themselves, of
    functions of several blocks, and of functions of more than 4096 operations without
    work for kernels. A function that would grow to more than 131072 operations, or
    twice the module's, is an error.
  }];
  let statistics = [
    Statistic<"numCalls", "calls",
              "Calls whose function has taken their place">
  ];
}

def GPUAsyncCheckSignatures
    : Pass<"gpu-async-check-signatures", "::mlir::ModuleOp"> {
  let summary = "Refuse arguments and results that cannot be offloaded";
  let description = [{
    On functions with the attribute `gpu_async.offloaded`. It is an error if a public
    function that returns a tensor of constant size is still called, because callers
    pass an argument for the result. So is `gpu_async.donated` on an argument that is
    no tensor.
  }];
}

def GPUAsyncMarkOwnMemory
    : Pass<"gpu-async-mark-own-memory", "::mlir::ModuleOp"> {
  let summary = "Mark memory that the program frees itself";
  let description = [{
    Deallocation frees what bufferization allocates. In functions with the attribute
    `gpu_async.offloaded`, all frees, and allocations of the program's that
    deallocation must not free, get the attribute
    `bufferization.manual_deallocation`: all allocations of a function that frees
    memory, else those that it returns, stores, or hands on to a call. A
    `memref.realloc` becomes an allocation, a copy and a free before.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::bufferization::BufferizationDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
  let statistics = [
    Statistic<"numAllocations", "own-allocations",
              "Allocations that the program frees itself">
  ];
}

def GPUAsyncBufferize : Pass<"gpu-async-bufferize", "::mlir::ModuleOp"> {
  let summary = "Bufferize, with the same names each time";
  let description = [{
    Runs upstream's `one-shot-bufferize` on the module if a function has the attribute
    `gpu_async.offloaded`:

    - The globals of constant tensors are made before, in the order of the program.
      Upstream makes them in an order that changes from run to run.
    - A function with the attribute `copy_before_write` is bufferized without the
      analysis: each op writes to a copy. If upstream's analysis fails, functions in
      which it finds no order get the attribute, and bufferization runs again.
    - Functions get attributes for `gpu-async-deallocate`: `memref_results`,
      the numbers of results that were memrefs before, and `frees_memory`, if the
      function frees memory itself.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
                           "::mlir::memref::MemRefDialect"];
  let statistics = [
    Statistic<"numCopying", "copying-functions",
              "Functions that are bufferized without the analysis">
  ];
}

def GPUAsyncComputeInResults
    : Pass<"gpu-async-compute-in-results", "::mlir::func::FuncOp"> {
  let summary = "Compute results in the memory where they end up";
  let description = [{
    After bufferization. Memory of the function that is copied to a result
    (`gpu_async.result`) in the end becomes the result's memory from the beginning,
    where nothing tells the difference.

    ```mlir
    // before
    %m = memref.alloc() : memref<4xf32>
    linalg.fill ins(%x : f32) outs(%m : memref<4xf32>)
    memref.copy %m, %result : memref<4xf32> to memref<4xf32>
    // after
    linalg.fill ins(%x : f32) outs(%result : memref<4xf32>)
    ```
  }];
  let statistics = [
    Statistic<"numResults", "results",
              "Results that are computed in their memory">
  ];
}

def GPUAsyncDeallocate : Pass<"gpu-async-deallocate", "::mlir::ModuleOp"> {
  let summary = "Free what bufferization allocates, and nothing of the program's";
  let description = [{
    Runs upstream's `ownership-based-buffer-deallocation` on the functions with the
    attribute `gpu_async.offloaded`. What it must not free, or does not take, it does
    not see:

    - Results of functions and calls that were memrefs in the program
      (`memref_results`) are left out before, and put back after it, unless
      bufferization allocates what they return.
    - A `memref.generic_atomic_rmw` is an `scf.execute_region` for it.
    - Frees in loops that become launches are dropped: their iterations own no memory
      that anything else has.

    The attributes of `gpu-async-mark-own-memory` and `gpu-async-bufferize` are removed.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::bufferization::BufferizationDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

def GPUAsyncTakeDonated
    : Pass<"gpu-async-take-donated", "::mlir::func::FuncOp"> {
  let summary = "Compute results in the memory of donated arguments";
  let description = [{
    After bufferization. A result of the type of an argument with `gpu_async.donated`
    is computed in the argument's memory, where nothing needs what was there: its
    argument gets `gpu_async.takes`, the number of the other one. The caller passes
    the same memory for both, with the argument's elements in it, and that memory for
    no other argument. A warning names the donated arguments that no result takes.

    ```mlir
    // before
    func.func @f(%x: memref<4xf32> {gpu_async.donated},
                 %r: memref<4xf32> {gpu_async.result = 0})
    // after
    func.func @f(%x: memref<4xf32> {gpu_async.donated},
                 %r: memref<4xf32> {gpu_async.result = 0, gpu_async.takes = 0})
    ```
  }];
  let statistics = [
    Statistic<"numTaken", "taken-arguments",
              "Donated arguments whose memory a result takes">
  ];
}

def GPUAsyncFindAccessesByAddress
    : Pass<"gpu-async-find-accesses-by-address", "::mlir::ModuleOp"> {
  let summary = "Find out whether host code reads or writes by addresses";
  let description = [{
    Functions with the attribute `gpu_async.offloaded` get the attribute
    `gpu_async.no_accesses_by_address`, for `gpu-async-place-memory`, if no host code of
    the module reads or writes through a pointer, and none makes a memref of an address.
  }];
}

def GPUAsyncHoistLibraryQueries
    : Pass<"gpu-async-hoist-library-queries", "::mlir::func::FuncOp"> {
  let summary = "Ask for libraries where a function begins";
  let description = [{
    The calls by which `gpu-async-call-products` asks whether there is a library, such
    as `gpuasync_blas_has_f32`, are moved to the start of the function. A call of the
    host would end a region of device work.
  }];
}

def GPUAsyncReportHostWork
    : Pass<"gpu-async-report-host-work", "::mlir::ModuleOp"> {
  let summary = "Report the work that no kernel is made of";
  let description = [{
    The end of `gpu-async-offload`, which removes `gpu_async.offloaded`. A linalg op or
    a parallel loop that is left on the host is an error with `mode=error`, else a
    remark. With `place=copy`, a warning names arguments with `gpu_async.resident` that
    no kernel reads. A function that kernels call must not use a global that may
    change, if a function is offloaded.
  }];
  let options = [
    Option<"mode", "mode", "::mlir::gpuasync::OffloadMode",
           "::mlir::gpuasync::OffloadMode::Auto",
           "What becomes of work that is left">,
    Option<"place", "place", "::mlir::gpuasync::PlaceMode",
           "::mlir::gpuasync::PlaceMode::Copy",
           "Where arguments and results of functions are">,
  ];
}

def GPUAsyncReduceParallelLoops
    : Pass<"gpu-async-reduce-parallel-loops", "::mlir::func::FuncOp"> {
  let summary = "Make kernels of what parallel loops reduce";
  let description = [{
    An `scf.parallel` that reduces numbers becomes one that writes the number of
    each iteration to memory, and a linalg op for each of its results that
    reduces these. Within another parallel loop, whose iterations are threads, it
    becomes an `scf.for`. The order is theirs: `scf.reduce` leaves it open.
    Combiners with effects are left as they are.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::bufferization::BufferizationDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numInThread", "in-threads",
              "Reductions that one thread computes">,
    Statistic<"numByBuffers", "by-buffers",
              "Reductions by buffers of partial results">
  ];
}

def GPUAsyncLowerTensorOps
    : Pass<"gpu-async-lower-tensor-ops", "::mlir::func::FuncOp"> {
  let summary = "Replace ops of which upstream's passes assume too much";
  let description = [{
    Runs first. Canonicalization, tiling and bufferization are right for most
    ops. These become simpler ones before:

    - A linalg op that leaves elements of an output as they are, such as one that
      writes a diagonal or every other element, or a reduction without elements
      that does not read its output: loops over its iterations. So does an op
      whose parallel iterations write one element: one thread computes these in
      the order of the loops, the last loop innermost.
    - A reduction on memrefs whose body touches memory: such loops, too.
    - `tensor.generate` and `tensor.pad` whose regions touch memory or assert:
      linalg ops at their place.
    - `tensor.pad` with negative amounts, which take elements away, or amounts
      that are not known: a pad of a slice.
    - Slices that leave out dimensions where it is not clear which: slices of all
      dimensions, and reshapes.
    - `linalg.pack`, `linalg.unpack`, `tensor.gather`, `tensor.bitcast`.
    - `bufferization.to_tensor` of memory that may be written before the tensor
      is used: a copy.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::bufferization::BufferizationDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numLowered", "lowered-ops",
              "Ops that became simpler ones">
  ];
}

def GPUAsyncHoistInvariants
    : Pass<"gpu-async-hoist-invariants", "::mlir::func::FuncOp"> {
  let summary = "Compute in front of loops what is the same in each round";
  let description = [{
    A linalg op on tensors in an `scf.for` or `scf.while` whose operands come from
    outside is computed in front of the loop, if it reduces or is no larger than
    what it reads: weights that a cell of a recurrent network concatenates in each
    step. Broadcasts, fills and destinations stay, since fusion needs no memory for
    them. Where the loop may have no rounds, so does what relies on them: sizes
    that types leave open, slices at offsets that are computed, elements at an
    index. A division by a number stays in any case.

    The numbers of this rank and of all ranks are computed at the function's
    beginning: only the host can ask for them, and loops become kernels.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numHoisted", "hoisted-ops",
              "Ops that were moved out of a loop">
  ];
}

def GPUAsyncFuseElementwise
    : Pass<"gpu-async-fuse-elementwise", "::mlir::func::FuncOp"> {
  let summary = "Fuse linalg ops on tensors where no work is done twice";
  let description = [{
    Elementwise ops and linalg ops become one `linalg.generic` with what uses
    them, where each element is computed as often as before, or is cheap: no
    math function and no division goes into a contraction's operand, or to more
    than one user. Contractions take nothing but changes of index, and with
    `device=sm_80` and `sm_90` f16 and bf16 that were written as f32.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::bufferization::BufferizationDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"device", "device", "::mlir::gpuasync::OffloadDevice",
           "::mlir::gpuasync::OffloadDevice::CPU",
           "For which device ops are fused">,
  ];
  let statistics = [
    Statistic<"numBefore", "ops-before",
              "Linalg ops before fusion">,
    Statistic<"numAfter", "ops-after",
              "Linalg ops after fusion">
  ];
}

def GPUAsyncHostScalars
    : Pass<"gpu-async-host-scalars", "::mlir::func::FuncOp"> {
  let summary = "Compute on the host what depends on numbers of the host only";
  let description = [{
    Front ends make tensors of counters and offsets. A linalg op on tensors of
    rank 0 whose operands are constants or `tensor.from_elements` becomes the
    arithmetic that it does, and an `scf.while` that counts an `scf.for`.
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::arith::ArithDialect"];
  let statistics = [
    Statistic<"numMoved", "moved-ops",
              "Ops on single numbers that the host computes">
  ];
}

def GPUAsyncDeviceIndices
    : Pass<"gpu-async-device-indices", "::mlir::func::FuncOp"> {
  let summary = "Have kernels read the places of slices that the device knows";
  let description = [{
    A `tensor.extract_slice` whose offsets are computed of elements of tensors
    that are on the device becomes a `linalg.generic` that reads these elements
    and copies the slice, and a `tensor.insert_slice` an `scf.forall` that does.
    So the host does not wait to know where a slice begins. Sizes and strides
    that the device knows stay the host's to read. With `device=cpu` nothing
    changes.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"device", "device", "::mlir::gpuasync::OffloadDevice",
           "::mlir::gpuasync::OffloadDevice::CPU",
           "For which device slices are">,
    Option<"place", "place", "::mlir::gpuasync::PlaceMode",
           "::mlir::gpuasync::PlaceMode::Copy",
           "Where arguments and results of functions are">,
  ];
  let statistics = [
    Statistic<"numSlices", "slices",
              "Slices whose place the device computes">
  ];
}

def GPUAsyncSplitReductions
    : Pass<"gpu-async-split-reductions", "::mlir::func::FuncOp"> {
  let summary = "Take reductions of many elements to few results in two steps";
  let description = [{
    A reduction to so few results that most of the device would have no work
    becomes an `scf.forall` whose blocks reduce a part each, and a reduction of
    what the parts come to. Reductions whose combining op has a neutral element
    are split, and those that only compare and choose, as an arg max does, of
    sizes that are known, unless `gpu_async.tile` says how they are cut;
    `lib/Offload/Schedule.cpp` chooses how many parts there are.

    So are products of few tiles and many steps, a vector's, those for tensor
    cores, and of f32 for `sm_80` and later, but with `blas=auto`, where they are a library's: their parts are a
    loop more of the product, and what is narrower than f32 is f32 until the
    parts are added up.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::bufferization::BufferizationDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"device", "device", "::mlir::gpuasync::OffloadDevice",
           "::mlir::gpuasync::OffloadDevice::CPU",
           "For which device work is cut into blocks">,
    Option<"blas", "blas", "::mlir::gpuasync::BlasMode",
           "::mlir::gpuasync::BlasMode::Off",
           "Who computes matrix products that are fused with nothing">,
  ];
  let statistics = [
    Statistic<"numReductions", "split-reductions",
              "Reductions that were split">,
    Statistic<"numProducts", "split-products",
              "Matrix products that were split">
  ];
}

def GPUAsyncMarkOverlaps
    : Pass<"gpu-async-mark-overlaps", "::mlir::func::FuncOp"> {
  let summary = "Let collectives beside products leave the device to them";
  let description = [{
    A collective on a GPU takes some of its processors. A product whose workgroups
    fill the device once takes twice as long beside it. So a collective becomes
    `overlapped` if products behind it in its block need nothing of it, and last
    for most of the time that it takes with few processors. Sizes are constant,
    and times are estimated from them. Collectives run one after the other, so they
    have the products behind them together, and what needs a later one is beside
    none.
  }];
  let statistics = [
    Statistic<"numOverlapped", "overlapped-collectives",
              "Collectives that leave the device to products">
  ];
}

def GPUAsyncFormGroups
    : Pass<"gpu-async-form-groups", "::mlir::func::FuncOp"> {
  let summary = "Put linalg ops that share tiles into one scf.forall";
  let description = [{
    A group is a linalg op and what only it uses, directly or through others of
    the group, as far as tiles of the last op need no more than the same tiles of
    all others: a softmax is a group of rows, a matmul and what is elementwise
    behind it are a group of tiles of the result. Each becomes an `scf.forall`
    whose iterations are blocks. The sizes of tiles are chosen in
    `lib/Offload/Schedule.cpp`; an attribute `gpu_async.tile = array<i64: ...>`
    of the last op, a number for each of its loops, overrides them (0: not cut).

    With `blas=auto` a matrix product that is a group by itself, or with the fill
    of zeros that it begins with, stays as it is if a library may compute it, with
    the attribute `gpu_async.product` and the sizes of its tiles, for
    `gpu-async-call-products`. It writes its result as a transposition behind it
    would. Large products of f32 and f64 for a GPU are groups by themselves.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"device", "device", "::mlir::gpuasync::OffloadDevice",
           "::mlir::gpuasync::OffloadDevice::CPU",
           "For which device work is cut into blocks">,
    Option<"blas", "blas", "::mlir::gpuasync::BlasMode",
           "::mlir::gpuasync::BlasMode::Off",
           "Who computes matrix products that are fused with nothing">,
  ];
  let statistics = [
    Statistic<"numGroups", "groups",
              "Groups of linalg ops that share tiles">,
    Statistic<"numOps", "ops-in-groups",
              "Linalg ops in the groups">
  ];
}

def GPUAsyncReturnByDestination
    : Pass<"gpu-async-return-by-destination", "::mlir::func::FuncOp"> {
  let summary = "Make tensor results of public functions arguments";
  let description = [{
    Before bufferization: a tensor result of constant sizes is materialized in
    a new memref argument at the end, `gpu_async.result = N`. Tensor arguments
    are marked as never written. What several ops begin with, empty or filled,
    each has for itself. A tensor that a loop carries stays where it
    is: what a round yields is materialized there, copied first if the round
    exchanges tensors. What ends in one place is computed there, unless
    something else reads what was there before.

    Upstream's analysis takes no loop that yields a tensor of open size and what
    an op makes of it. Such a function gets the attribute `copy_before_write`,
    with which `gpu-async-bufferize` bufferizes it without the analysis: each op
    writes to a copy.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect"];
  let statistics = [
    Statistic<"numResults", "results",
              "Results that became arguments">
  ];
}

def GPUAsyncCallProducts
    : Pass<"gpu-async-call-products", "::mlir::ModuleOp"> {
  let summary = "Call a library for matrix products, where there is one";
  let description = [{
    A linalg op on memrefs with the attribute `gpu_async.product` becomes a call of
    libgpuasync_blas.so, with a workspace of its own, in one branch of an
    `scf.if`, and the `scf.forall` of its tiles in the other. Which of them runs
    `gpuasync_blas_has_f32` and the like say, once a call of the function:
    whether there is a library for the device. Of sizes that are known at run time
    only, 0 goes to the tiles, too. Where the matrices' strides are none that the
    library takes, or are not known, a remark says so, and the tiles stay.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::gpuasync::GPUAsyncDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
  let options = [
    Option<"device", "device", "::mlir::gpuasync::OffloadDevice",
           "::mlir::gpuasync::OffloadDevice::CPU",
           "For which device the workspace is">,
  ];
  let statistics = [
    Statistic<"numCalled", "library-calls",
              "Matrix products that call a library">,
    Statistic<"numTiled", "tiled-products",
              "Matrix products that stay kernels">
  ];
}

def GPUAsyncLaunchTiles
    : Pass<"gpu-async-launch-tiles", "::mlir::func::FuncOp"> {
  let summary = "Make launches of scf.forall and scf.parallel on memrefs";
  let description = [{
    An outermost `scf.forall` becomes a `gpu.launch` with a block for each
    iteration, whose threads share the elements of each linalg op in it, with
    barriers between these. What it allocates is the block's: workgroup memory,
    or private memory where a block has one thread. An `scf.parallel`, and an
    `scf.forall` without linalg ops, has a thread for each iteration.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::nvgpu::NVGPUDialect",
                           "::mlir::NVVM::NVVMDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
  let options = [
    Option<"device", "device", "::mlir::gpuasync::OffloadDevice",
           "::mlir::gpuasync::OffloadDevice::CPU",
           "For which device work is cut into blocks">,
    Option<"vectorRegisters", "vector-registers", "int64_t", "16",
           "Vector registers of the cpu device's processor">,
    Option<"vectorBits", "vector-bits", "int64_t", "128",
           "Bits of each">,
  ];
  let statistics = [
    Statistic<"numLaunches", "launches",
              "Parallel loops that became launches">
  ];
}

def GPUAsyncLaunchLoops
    : Pass<"gpu-async-launch-loops", "::mlir::func::FuncOp"> {
  let summary = "Make one kernel of a loop of small ones, for the cpu device";
  let description = [{
    An `scf.for` of the host whose rounds launch kernels of so little work that
    their launches take longer becomes a kernel of one thread, which also does
    what the host does between them: copies of up to 16384 elements, loads,
    stores, branches. What a round allocates is allocated once, in front of it.
    It stays as it is if it holds anything else, if a value of it is used behind
    it, or if how much a kernel does is not known.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
  let statistics = [
    Statistic<"numLoops", "loops",
              "Loops that became one kernel">
  ];
}

def GPUAsyncPlaceMemory
    : Pass<"gpu-async-place-memory", "::mlir::func::FuncOp"> {
  let summary = "Make what kernels touch memory that the device reaches";
  let description = [{
    On functions whose kernels get memory of the host's: arguments, what
    `memref.alloc` gives, constants. Memory that only kernels, copies and frees
    touch becomes device memory. An argument of the function and a constant get
    device memory of their own, with a copy in front of the work and, where a
    kernel may write it, one behind: none in front of what is a result only
    (`gpu_async.result`). What the host reads or writes of it in between is copied
    by the element. With `device=cpu` such memory is registered with the device
    in place of copies, since that reaches it. A constant of up to 64 KiB that
    only kernels read is part of them; of others, and of arguments with the
    attribute `gpu_async.resident`, which no kernel writes, the runtime keeps a copy
    (`gpu_async.constant`, `gpu_async.resident`).

    Two copies of one memory would not see what is written to the other. So an
    assert where the function begins compares the addresses of arguments and
    globals, if one of them is written and neither has `llvm.noalias`.

    With `place=off` arguments are memory that the device reaches, and are neither
    copied nor registered.

    A function that is called in between may use a global by its name. So each
    call has the copies around it, of globals that are no constants and of
    arguments that may be one. So has each access of the host by an address that
    it has as a number or a pointer, or by a memref that it read from memory: no
    name says which array that is. The attribute `gpu_async.no_accesses_by_address` of
    the function, which is removed, says that no host code of the program has such
    accesses (`gpu-async-find-accesses-by-address`).

    Memory that a kernel touches and that is returned, or goes to a call, is
    an error: where it has to be is not known here.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::gpuasync::GPUAsyncDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
  let options = [
    Option<"device", "device", "::mlir::gpuasync::OffloadDevice",
           "::mlir::gpuasync::OffloadDevice::GPU",
           "Whether the device reaches the host's memory">,
    Option<"place", "place", "::mlir::gpuasync::PlaceMode",
           "::mlir::gpuasync::PlaceMode::Copy",
           "Where arguments and results of functions are">,
  ];
  let statistics = [
    Statistic<"numAllocations", "device-buffers",
              "Allocations on the device">,
    Statistic<"numCopies", "copies",
              "Copies to, from and on the device">,
    Statistic<"numRegistered", "registered",
              "Pieces of host memory that are registered">
  ];
}

#endif // GPUASYNC_OFFLOAD_PASSES
