//===- Passes.td - passes on the gpu_async dialect ----------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the token form to the linear form to the stream form, and the checks
// between them.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TRANSFORMS_PASSES_TD
#define GPUASYNC_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def GPUAsyncCheckSizes : Pass<"gpu-async-check-sizes", "::mlir::ModuleOp"> {
  let summary = "Assert what ops want of sizes that types leave open";
  let description = [{
    An op on tensors, a linalg op, or a copy reads and writes outside of its
    operands if their sizes are not what it wants. Types show constant sizes only. This pass
    adds a `cf.assert` in functions of the host for what neither types nor ops in
    front show: that operands have the same sizes, that a cast's sizes are so,
    that slices and elements lie in their tensor, that a shape that is expanded
    has as many elements, and that no size is negative.

    An assert comes as early as the sizes are known, in front of loops too if no
    round changes them, so that it costs a comparison and no wait.

    Not checked: single accesses of memrefs and views of them; kernels, and
    places in a parallel loop that each iteration computes; indices that lie in
    memory, as those of `tensor.gather`. `gpu-runner --check` finds these.

    ```mlir
    // before
    func.func @add(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
      %r = arith.addf %x, %y : tensor<?xf32>
      return %r : tensor<?xf32>
    }
    // after
    func.func @add(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
      %c0 = arith.constant 0 : index
      %m = tensor.dim %x, %c0 : tensor<?xf32>
      %n = tensor.dim %y, %c0 : tensor<?xf32>
      %same = arith.cmpi eq, %m, %n : index
      cf.assert %same, "arith.addf: operands differ in the size of dimension 0"
      %r = arith.addf %x, %y : tensor<?xf32>
      return %r : tensor<?xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numAsserts", "asserts",
              "Conditions on sizes that are asserted">
  ];
}

def GPUAsyncStructureControlFlow
    : Pass<"gpu-async-structure-control-flow", "::mlir::ModuleOp"> {
  let summary = "Structured control flow only, in host functions with device work";
  let description = [{
    All later passes see tokens go through regions, never through branches: in
    each `func.func` that does device work, or has tokens, control-flow graphs
    become `scf.if`, `scf.index_switch` and `scf.while`, by upstream's
    `transformCFGToSCF`. That covers early returns, `cf.switch`, irreducible and
    infinite loops, and graphs inside `scf.execute_region`. A path that ends in
    `llvm.unreachable` or `ub.unreachable` returns undefined values instead.

    Where a value is undefined on a path it is `ub.poison`; a token is a ready one
    (`gpu_async.wait async`, `gpu.wait async`), which can be ordered, forked and
    released like any other; the attribute `gpu_async.undefined` says that what
    may be that token or another one is the other one. `ub.poison` of token type
    in the input becomes that, too.

    `scf.parallel` and `scf.forall` of the host that hold device work become
    `scf.for`, reductions included: their iterations' device work still overlaps
    as its tokens allow.

    Left alone: kernels (`gpu.module`, the body of `gpu.launch`), functions
    without device work, functions in the stream form. Refused, at the op:
    terminators with successors other than `cf.br`, `cf.cond_br` and `cf.switch`
    (of up to 64 bits), and several blocks in another op than a function or
    `scf.execute_region`.

    ```mlir
    // before
      cf.cond_br %c, ^work, ^exit
    ^work:
      %t = gpu_async.memset async %x, %v : memref<8xf32>, f32
      gpu_async.wait [%t]
      cf.br ^exit
    ^exit:
      return
    // after
      scf.if %c {
        %t = gpu_async.memset async %x, %v : memref<8xf32>, f32
        gpu_async.wait [%t]
      } else {
      }
      return
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::gpuasync::GPUAsyncDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::ub::UBDialect"];
  let statistics = [
    Statistic<"numGraphs", "graphs",
              "Control-flow graphs that became ops of scf">,
    Statistic<"numLoops", "serial-loops",
              "Parallel loops of the host that became serial">
  ];
}

def GPUAsyncInferDependencies
    : Pass<"gpu-async-infer-dependencies", "::mlir::ModuleOp"> {
  let summary = "Give sequential ops tokens, as memory asks for";
  let description = [{
    A sequential op (neither `async` nor `on` a stream) starts after all that is
    before it in the program and is done before what is after it, as far as
    memory can tell. Here it gets a token and exactly the dependencies that make
    it so: read after write, write after read and write after write of memory
    that may overlap; an allocation before its users, a free after them. What a
    kernel does with a memref is read off its body, if that is in the module;
    globals of a kernel module, and what kernels print, are memory of their own;
    `!llvm.ptr` arguments and memrefs from unknown places touch anything. So does a
    kernel that may turn a number that it is given, or one that it loads, into a
    pointer. If a kernel's body is not in the module, 64-bit integers and `index`
    are taken for addresses unless they come from constants and sizes.

    Two memrefs are distinct if they come, through views and casts, from different
    allocations, or one from an allocation and the other from an argument or
    global, or one is an `llvm.noalias` argument, or both are results of one
    `memref.distinct_objects`, or arguments of a private function that are distinct
    at all of its calls. Views of one buffer are distinct if constants say so:
    offsets, sizes and strides of `memref.subview` and `memref.reinterpret_cast`.
    A view that a loop makes, and what `memref.distinct_objects` keeps apart there,
    is another one in each iteration: it is told apart within an iteration only.

    The host waits (`gpu_async.wait`) only before host code that touches memory
    which device work that is not yet waited for writes, or reads if the host
    writes; the pageable source of a copy may be changed at once. Calls of
    functions of the module that do no device work are host code; other calls
    wait for all outstanding work. Memory of a scope (`memref.alloca`) is not left
    before the device is done with it. Nothing waits at the end of a function:
    that work is complete then is up to stream assignment.

    In loops the token of the last writer, and those of the readers since, are
    carried by `iter_args` where an iteration changes them, one for all that stand
    for the same point; tokens that iterations only take are captured. Host code
    in a loop that meets nothing of the loop's own waits before it. What
    branches of `scf.if` and `scf.index_switch` leave is yielded.

    Work that has tokens keeps them: sequential ops come after conflicting work
    with tokens and the reverse, and none is added between two ops with tokens.

    Limits: blocks of a control-flow graph are looked at one by one, and the host
    waits at their ends (`gpu-async-structure-control-flow` leaves no such);
    atomics are ordinary accesses; of a base with more than 1024 different
    windows no windows are told apart, and none of more than 1024 arguments.

    ```mlir
    // before
    gpu_async.memcpy %x, %h : memref<8xf32>, memref<8xf32>
    gpu_async.memset %y, %v : memref<8xf32>, f32
    gpu_async.launch @k::@add ... args(%x : memref<8xf32>, %y : memref<8xf32>)
    gpu_async.memcpy %h, %y : memref<8xf32>, memref<8xf32>
    %0 = memref.load %h[%i] : memref<8xf32>
    // after
    %a = gpu_async.memcpy async %x, %h : memref<8xf32>, memref<8xf32>
    %b = gpu_async.memset async %y, %v : memref<8xf32>, f32
    %c = gpu_async.launch async [%a, %b] @k::@add ... args(%x : memref<8xf32>, %y : memref<8xf32>)
    %d = gpu_async.memcpy async [%c] %h, %y : memref<8xf32>, memref<8xf32>
    gpu_async.wait [%d]
    %0 = memref.load %h[%i] : memref<8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::gpuasync::GPUAsyncDialect"];
  let options = [
    Option<"remarks", "remarks", "bool", /*default=*/"false",
           "Say why ops are ordered and why the host waits">,
  ];
  let statistics = [
    Statistic<"numOrdered", "ordered-ops",
              "Sequential ops that got a token">,
    Statistic<"numDependencies", "dependencies",
              "Tokens that ops wait for because of memory">,
    Statistic<"numHostWaits", "host-waits",
              "Waits of the host that were added">
  ];
}

def GPUAsyncMergeKernels : Pass<"gpu-async-merge-kernels", "::mlir::ModuleOp"> {
  let summary = "Make one kernel of those that are equal";
  let description = [{
    Kernels that upstream's `gpu-kernel-outlining` makes of one function, and
    that are the same but for their names and locations, become the first of
    them. What follows compiles it once. Layers of a network are such kernels.

    Kernels that the program names itself stay. So do kernels that assert
    something at different places, since the message names the place. The line
    tables of a kernel are those of the first.

    ```mlir
    // before
    gpu.module @f_kernel { gpu.func @f_kernel(%x: memref<8xf32>) kernel { ... } }
    gpu.module @f_kernel_0 { gpu.func @f_kernel(%x: memref<8xf32>) kernel { ... } }
    gpu.launch_func @f_kernel::@f_kernel blocks in ... args(%a : memref<8xf32>)
    gpu.launch_func @f_kernel_0::@f_kernel blocks in ... args(%b : memref<8xf32>)
    // after
    gpu.module @f_kernel { gpu.func @f_kernel(%x: memref<8xf32>) kernel { ... } }
    gpu.launch_func @f_kernel::@f_kernel blocks in ... args(%a : memref<8xf32>)
    gpu.launch_func @f_kernel::@f_kernel blocks in ... args(%b : memref<8xf32>)
    ```
  }];
  let statistics = [
    Statistic<"numMerged", "merged-kernels",
              "Kernels that were equal to another one">
  ];
}

def GPUAsyncLinkModules : Pass<"gpu-async-link-modules", "::mlir::ModuleOp"> {
  let summary = "Make one gpu.module of those that have the same attributes";
  let description = [{
    Moves the kernels, functions and globals of all `gpu.module`s of a program
    into the first one, so that a program has one image for each target and a
    context loads one. Runs before kernels are lowered.

    A symbol keeps its name where that is unique; else the later one gets its
    module's name in front, or in its place where this begins with the symbol's
    (outlining names a module after its kernel, with a number behind), and all
    references to it follow. What modules only declare keeps its name and is declared once. `gpu.binary` and
    `gpu_async.binary` are left alone.

    Modules stay apart, and a remark says why, whose targets, offloading handlers
    or other attributes (the data layout) differ, or of which one declares
    differently what the other declares or defines. Each `builtin.module` is a
    program of its own.

    ```mlir
    // before
    gpu.module @a { gpu.func @f() kernel { ... } gpu.func @g() kernel { ... } }
    gpu.module @b { gpu.func @f() kernel { ... } gpu.func @h() kernel { ... } }
    gpu_async.launch @b::@f blocks in ...
    gpu_async.launch @b::@h blocks in ...
    // after
    gpu.module @a {
      gpu.func @f() kernel { ... }
      gpu.func @g() kernel { ... }
      gpu.func @b_f() kernel { ... }
      gpu.func @h() kernel { ... }
    }
    gpu_async.launch @a::@b_f blocks in ...
    gpu_async.launch @a::@h blocks in ...
    ```
  }];
  let statistics = [
    Statistic<"numLinked", "linked-modules",
              "Modules of kernels that became part of another one">
  ];
}

def GPUAsyncPrintHazards
    : Pass<"gpu-async-print-hazards", "::mlir::ModuleOp"> {
  let summary = "Print ops that may touch the same memory and are unordered";
  let description = [{
    For programs in the token form: one line on stderr for each pair of ops that
    may touch the same memory, one of them writing, and that neither a token nor a
    host wait orders; through loops and branches, and between iterations of a
    loop. Memory is told apart as in gpu-async-infer-dependencies. Sequential ops
    have no hazards by their meaning. Changes nothing. Another form is an error.

    Limits: calls that take or return tokens are not looked into; blocks of a
    control-flow graph are looked at one by one; takes memory for the square of
    the number of ops.

    ```mlir
    %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
    %b = gpu_async.memcpy async %h, %x : memref<8xf32>, memref<8xf32>
    // hazard in @f: read-after-write of argument 0: gpu_async.memcpy at
    // loc("f.mlir":3:3) is not ordered after gpu_async.memset at loc("f.mlir":2:3)
    ```
  }];
}

def GPUAsyncPlanMemory
    : Pass<"gpu-async-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Make allocations of a block windows of one allocation";
  let description = [{
    Each allocation costs a call of the device's allocator, and so does each
    free. Here those of a block become windows (`gpu_async.window`) of
    one allocation, which is made where the first of them was and freed behind
    the last use of all. Sizes are constants or values that are there by then;
    those of equal values share bytes with each other only.

    **Two windows share bytes only if the tokens and host waits order all users
    of one before all users of the other**, through views and within regions;
    a kernel that may touch anything is a user of all that is allocated then. No
    order is added between ops: the token of an allocation that is gone
    becomes the join of what it came after and the slab's token, that of a free
    the join of what it came after, and the slab's free comes after all that
    the frees came after. So the program's kernels may overlap as before.

    With `space` work may wait for work that it did not wait for before, where
    the allocations of a block take less then. What waits, and what it waits
    for, is in the block itself, in the program's order; where another such order
    takes no more bytes, the one is chosen that makes chains of work less long.
    The waits are tokens as others are. No order is added in a function with a
    kernel that may wait for other work (or whose body is not here), an argument or
    a call that brings tokens, or a stream of the caller's: there what waits
    could be what the other work waits for.

    **What is held is never more than the program may hold**: a slab is split,
    in the end into single allocations, which stay as they are, if while
    something else that allocates is there (an allocation that cannot be planned,
    an op with such in its regions, a call of unknown code) more would be held
    than the program did at most in that time, in program order; and if more
    bytes could be held at a time, by host waits, than the program may have
    allocated by its tokens. A slab comes after each free that cannot be
    planned and that one of its allocations came after.

    Offsets and sizes are multiples of 256 bytes; an allocation of no bytes gets
    256, for an address of its own. An error of the slab's allocation is
    reported at the largest of the allocations in it.

    Stay as they are: host-shared allocations; those of sizes that are not known
    in time; all of sizes that are no constants, where one of the block comes
    after a free, or something else in the block allocates; those that are not
    freed once in their own block; those whose memref goes anywhere but into views and device work (calls, returns, loops,
    stores, raw pointers, host code); single ones. Blocks are planned one by one.

    What the body of an `scf.for` allocates is allocated once for all rounds, in
    front of the loop, if each round's users come after all of those of the round
    before and all of the body's allocations are held at a time. It has no bytes if
    the loop may run no round, and runs none.

    ```mlir
    // before
    %x, %0 = gpu_async.alloc async () : memref<64xf32, 1>
    %a = gpu_async.launch async [%0] @k::@f ... args(%x : memref<64xf32, 1>)
    %y, %1 = gpu_async.alloc async () : memref<64xf32, 1>
    %b = gpu_async.launch async [%1, %a] @k::@g ... args(%x : ..., %y : ...)
    %f = gpu_async.dealloc async [%b] %x : memref<64xf32, 1>
    %c = gpu_async.launch async [%b] @k::@h ... args(%y : memref<64xf32, 1>)
    %g = gpu_async.dealloc async [%c] %y : memref<64xf32, 1>
    // after
    %slab, %0 = gpu_async.alloc async () : memref<512xi8, 1>
    %x = gpu_async.window %slab[%c0] () : memref<512xi8, 1> to memref<64xf32, 1>
    %a = gpu_async.launch async [%0] @k::@f ... args(%x : memref<64xf32, 1>)
    %y = gpu_async.window %slab[%c256] () : memref<512xi8, 1> to memref<64xf32, 1>
    %b = gpu_async.launch async [%0, %a] @k::@g ... args(%x : ..., %y : ...)
    %c = gpu_async.launch async [%b] @k::@h ... args(%y : memref<64xf32, 1>)
    %g = gpu_async.dealloc async [%b, %c] %slab : memref<512xi8, 1>
    ```
  }];
  let dependentDialects = ["::mlir::gpuasync::GPUAsyncDialect",
                           "::mlir::arith::ArithDialect"];
  let options = [
    Option<"remarks", "remarks", "bool", /*default=*/"false",
           "Say of each block what its allocations take before and after, and "
           "what their order needs">,
    Option<"space", "space", "bool", /*default=*/"false",
           "Make work wait for other work where less memory is needed then">,
  ];
  let statistics = [
    Statistic<"numAllocations", "allocations",
              "Allocations in blocks that were planned">,
    Statistic<"numBuffers", "buffers",
              "Allocations that are left of them">,
    Statistic<"numBytesBefore", "bytes-before",
              "Bytes of the allocations of constant sizes">,
    Statistic<"numBytes", "bytes",
              "Bytes of the buffers, for constant sizes">,
    Statistic<"numWaits", "waits-added",
              "Waits between ops that were added to save memory">,
    Statistic<"numHoisted", "hoisted-buffers",
              "Allocations that left a loop">
  ];
}

def GPUAsyncReduceDependencies
    : Pass<"gpu-async-reduce-dependencies", "::mlir::ModuleOp"> {
  let summary = "Drop tokens of loops that other dependencies imply";
  let description = [{
    Memory makes a loop carry a token for each access that a later iteration may
    depend on, and each of these tokens may cost a stream, an event and waits.
    The pass drops a dependency of an op if what it stands for comes before
    another dependency of the op anyway. It looks at tokens that a loop carries,
    returns, or takes from outside; stream assignment reduces the others itself.

    A carried token is implied by another one if this is so for the initial
    values, and for what each iteration yields, by induction. So all work keeps
    its order, in the first iteration, too.

    ```mlir
    scf.for ... iter_args(%written = %copied, %read = %allocated) {
      %a = gpu_async.launch async [%written, %read] @m::@f ... args(%x, %y)
      %b = gpu_async.launch async [%a] @m::@g ... args(%y, %x)
      scf.yield %b, %a // %a is before %b: the launch of @f needs no %read
    }
    ```

    Functions of several blocks stay as they are
    (gpu-async-structure-control-flow).
  }];
  let statistics = [
    Statistic<"numDropped", "dropped-dependencies",
              "Dependencies that others of the same op imply">
  ];
}

def GPUAsyncMakeForksExplicit
    : Pass<"gpu-async-make-forks-explicit", "::mlir::ModuleOp"> {
  let summary = "Token form to linear form: consume every token exactly once";
  let description = [{
    Makes what consumes a token explicit, which stream assignment and leak-free
    lowering rest on: **every token is consumed exactly once on every path.** A
    token with several consumers gets a `gpu_async.fork` right after its maker,
    with a result for each consumer in program order; one without gets a
    `gpu_async.release`, or goes away if it is a `gpu_async.wait async` without a
    past. A dependency that is listed twice is dropped first. Arguments of a
    function are owned by it and are consumed once, too; what it returns is
    consumed by the return. The pass changes nothing in the linear form.

    Through control flow:
    - `scf.if`, `scf.index_switch` and `scf.execute_region` use tokens from outside
      directly, and each of their regions consumes each of them once, if only by
      a release; `scf.if` gets an else for that.
    - `scf.for` and `scf.while` carry every token that they use from outside: as
      an initial operand, an argument, a yielded value and a result. One that all
      iterations use is forked at the head of the body, one for the iteration and
      one to keep.
    - Carried tokens, arguments and results that nobody needs are released.
    - `arith.select` of tokens becomes an `scf.if`, which consumes both.
    - A call consumes the tokens that it takes; what it returns is the caller's.

    Refused, with both places named: tokens that go from one block of a
    control-flow graph to another (run `gpu-async-structure-control-flow` first;
    within one block they are fine), and tokens that cross any other op with
    regions.

    ```mlir
    // before
    %up = gpu_async.memcpy async %x, %h : memref<8xf32>, memref<8xf32>
    %a = gpu_async.memset async [%up] %y, %v : memref<8xf32>, f32
    %b = gpu_async.memset async [%up] %z, %v : memref<8xf32>, f32
    gpu_async.wait [%a]
    // after
    %up = gpu_async.memcpy async %x, %h : memref<8xf32>, memref<8xf32>
    %u1, %u2 = gpu_async.fork %up : 2
    %a = gpu_async.memset async [%u1] %y, %v : memref<8xf32>, f32
    %b = gpu_async.memset async [%u2] %z, %v : memref<8xf32>, f32
    gpu_async.release %b
    gpu_async.wait [%a]

    // before
    scf.for %i = %l to %u step %s {
      %b = gpu_async.memset async [%a] %y, %v : memref<8xf32>, f32
    }
    // after
    %r = scf.for %i = %l to %u step %s iter_args(%t = %a) -> !gpu_async.token {
      %use, %keep = gpu_async.fork %t : 2
      %b = gpu_async.memset async [%use] %y, %v : memref<8xf32>, f32
      gpu_async.release %b
      scf.yield %keep : !gpu_async.token
    }
    gpu_async.release %r
    ```
  }];
  let dependentDialects = ["::mlir::gpuasync::GPUAsyncDialect",
                           "::mlir::scf::SCFDialect"];
  let statistics = [
    Statistic<"numForks", "forks",
              "Forks that were added">,
    Statistic<"numReleases", "releases",
              "Releases of tokens that nobody takes">
  ];
}

def GPUAsyncAssignStreams
    : Pass<"gpu-async-assign-streams", "::mlir::ModuleOp"> {
  let summary = "Linear form to stream form: streams and events instead of tokens";
  let description = [{
    Puts every work op on a stream and orders streams by events where nothing
    else does.

    Waits between streams are the fewest, then streams: each block's DAG, reduced
    and with the joins that pay kept as nodes, is covered by paths at the least
    cost (PathCover.h). Ops that take the same several points get a join. Edges
    that a host wait implies are free. Beyond `max-streams` order is added where
    work can start first, behind the critical path last. One event is made for a
    point however many streams wait for it.

    Allocations and frees take no device time and float: onto the stream of a
    user of the memory, or the last one, where they add no order between ops that
    the program leaves unordered; a free is never waited for.

    A token that control flow carries is bound to a stream: each update makes that
    stream wait, unless the update ran on it, and nothing else goes on. A region
    op is a bundle of strands in the DAG around it, one for each stream that it
    uses. Streams are made before and destroyed behind all that uses them in the
    function's body, so outside all loops; rounds of a loop use them again.

    A host wait becomes one `stream.synchronize` of the streams on which nothing
    later is, and an `event.synchronize` for points that later work follows. At
    return all work is complete, but for what token results cover; with a
    caller's stream in the function's body it is ordered into that stream
    instead. Tokens are events at function boundaries: arguments, results, and
    those of calls.

    `after` of an op v names each op u with: whenever v is enqueued, if u has been
    executed since the last entry of the outermost region op that holds u but not
    v, the latest execution of u is before v.

    Limits: a body of several blocks is refused (gpu-async-structure-control-flow),
    as are loops other than scf.for and scf.while. What a round of a loop leaves on
    a stream comes before the next round's work there. Tokens that change places
    from round to round get streams of their own besides those of the work.

    ```mlir
    // before                                       // after
    %a = gpu_async.launch async @k::@f ...          %s0 = gpu_async.stream.create
    %b = gpu_async.launch async @k::@g ...          gpu_async.launch on %s0 id(0) @k::@f ...
    %c = gpu_async.launch async [%a, %b] @k::@h ..  %s1 = gpu_async.stream.create
    gpu_async.wait [%c]                             gpu_async.launch on %s1 id(1) @k::@g ...
                                                    %e = gpu_async.event.record on %s0
                                                    gpu_async.stream.wait %s1, %e
                                                    gpu_async.event.destroy %e
                                                    gpu_async.launch on %s1 id(2 after [0, 1]) @k::@h ..
                                                    gpu_async.stream.synchronize %s1
                                                    gpu_async.stream.destroy %s1 idle
                                                    gpu_async.stream.destroy %s0 idle
    ```
  }];
  let dependentDialects = ["::mlir::gpuasync::GPUAsyncDialect"];
  let options = [
    Option<"maxStreams", "max-streams", "unsigned", /*default=*/"8",
           "Most streams that a function uses at a time; 0: no limit">,
  ];
  let statistics = [
    Statistic<"numStreams", "streams",
              "Streams that functions make">,
    Statistic<"numEvents", "events",
              "Events that functions record">,
    Statistic<"numWaits", "waits",
              "Waits of a stream for an event">,
    Statistic<"numHostWaits", "host-waits",
              "Waits of the host for a stream or an event">
  ];
}

def GPUAsyncTakeStream
    : Pass<"gpu-async-take-stream", "::mlir::ModuleOp"> {
  let summary = "Order public functions into a stream of the caller's";
  let description = [{
    Takes the stream form and leaves it the stream form. Every public function
    with a body gets one argument more, the last: a pointer to a stream, with the
    attribute `gpu_async.stream`. Its work starts after what the stream has been
    given, and what the stream is given afterwards starts after its work. The
    host waits for neither, so the function returns while its work goes on.

    The host waits all the same
    - at the beginning, if the function calls others, or reads, writes, allocates
      or frees memory on the host;
    - at the end, if it copies between memory that it did not allocate for the
      device itself, or registers host memory: such copies may end in a host wait.
      Copies of constants do not. With `gpu_async.arrays_on_device` on the function,
      a unit attribute, its arguments are the device's memory, too.

    What is freed behind the last wait is freed on the caller's stream. The first
    stream of the function that has work is the caller's itself, and memory that
    is allocated before any work is allocated there, unless memory is copied that
    may be the host's. So a function of one stream needs no other, and one region
    may hold all of the work.

    A public function that is used in the module is refused.

    ```mlir
    // before                                  // after, %p : !llvm.ptr
    %s = gpu_async.stream.create               %c = gpu_async.stream.external %p : !llvm.ptr
    %t = gpu_async.stream.create               %b = gpu_async.event.record on %c
    gpu_async.launch on %s id(0) ...           %t = gpu_async.stream.create
    gpu_async.launch on %t id(1) ...           gpu_async.stream.wait %t, %b
    gpu_async.stream.synchronize %s, %t        gpu_async.event.destroy %b
    gpu_async.stream.destroy %t idle           gpu_async.launch on %c id(0) ...
    gpu_async.stream.destroy %s idle           gpu_async.launch on %t id(1) ...
                                               %e = gpu_async.event.record on %t
                                               gpu_async.stream.wait %c, %e
                                               gpu_async.event.destroy %e
                                               gpu_async.stream.destroy %t
                                               gpu_async.stream.destroy %c
    ```
  }];
  let dependentDialects = ["::mlir::gpuasync::GPUAsyncDialect",
                           "::mlir::LLVM::LLVMDialect"];
  let statistics = [
    Statistic<"numFunctions", "functions",
              "Functions that take a stream of the caller's">,
    Statistic<"numHostWaits", "host-waits",
              "Waits of the host that are left in them">
  ];
}

def GPUAsyncFormRegions
    : Pass<"gpu-async-form-regions", "::mlir::ModuleOp"> {
  let summary = "Put regions around device work that the host does not observe";
  let description = [{
    Takes the stream form and leaves it the stream form. Each block is cut at
    borders; a stretch between two of them with at least two ops of device work
    becomes a `gpu_async.region`.

    Borders are what no region holds:
    - host waits, allocations and frees, registrations, a caller's stream;
    - calls, of libraries too, but for `gpu_async.call` of functions with
      `gpu_async.replayable` and `gpu_async.nonblocking`;
    - copies and fills that may touch memory other than what `gpu_async.alloc` made
      for the device alone in this function;
    - host code that reads or writes memory, or of which nothing is known;
    - launches of kernels that may wait for other work (KernelBlocking.h;
      `gpu_async.nonblocking` overrules), and all that runs on a stream behind one
      until the host has waited for the stream: all of a region may start only
      after all that its streams were given before;
    - a loop that does not enqueue device work in each round, outside of
      branches: then the host might be long in it, and the device only starts at
      the region's end;
    - where an event would go into or out of a region.

    Control flow of the host without borders is inside as a whole; else its blocks
    are looked at by themselves. So that stretches become longer, what the host
    computes, streams that are used outside and waits that are first on their
    stream go before a region, and events for outside that are last on their
    stream behind it. The order of what is on a stream stays. Streams that are used
    in a region only are made and destroyed in it.

    ```mlir
    // before                                  // after
    gpu_async.launch on %s0 id(0) @k::@f ...   gpu_async.region {
    gpu_async.launch on %s0 id(1) @k::@g ...     gpu_async.launch on %s0 id(0) @k::@f ...
    gpu_async.stream.synchronize %s0             gpu_async.launch on %s0 id(1) @k::@g ...
                                               }
                                               gpu_async.stream.synchronize %s0
    ```
  }];
  let dependentDialects = ["::mlir::gpuasync::GPUAsyncDialect"];
  let options = [
    Option<"play", "play", "::mlir::gpuasync::Play",
           /*default=*/"::mlir::gpuasync::Play::Auto",
           "How regions are to be played; with streams there are none">,
    Option<"remarks", "remarks", "bool", /*default=*/"false",
           "Say how large each region is and what ends it">,
  ];
  let statistics = [
    Statistic<"numRegions", "regions",
              "Regions that were formed">,
    Statistic<"numOps", "ops-in-regions",
              "Ops of device work in them">
  ];
}

def GPUAsyncCheckCollectives
    : Pass<"gpu-async-check-collectives", "::mlir::ModuleOp"> {
  let summary = "Refuse collectives that not all ranks of their group may reach";
  let description = [{
    A collective waits for all ranks of its group. It is an error if a branch or
    loop around it may go on differently on these ranks, or one around a call
    that leads to it.

    Taken for the same on all ranks are constants, sizes, arguments of public
    functions except memory, and the operand of `gpu_async.uniform`. Not the same
    are `gpu_async.rank`, results of kernels, of libraries and of external
    functions, and memory of callers. Memory is the same after an `all_reduce`,
    `all_gather` or `broadcast`, and so are copies of it. The last write in front
    of a load counts if it is in the same block and writes the whole memref, else
    all writes to the memory count. What is computed of values that are the same
    is the same. `cf.assert` is no branch here.

    Needs structured control flow, as gpu-async-structure-control-flow makes it:
    several blocks of a region are refused as soon as one branch in it differs.

    ```mlir
    %rank = gpu_async.rank
    %first = arith.cmpi eq, %rank, %c0 : index
    scf.if %first {
      gpu_async.collective barrier   // error: 'gpu_async.collective' op is under
    }                                   control flow that may differ between ranks
    ```
  }];
}

def GPUAsyncVerifyForm
    : Pass<"gpu-async-verify-form", "::mlir::ModuleOp"> {
  let summary = "Check the invariant of one form of IR";
  let description = [{
    - `token`: no upstream gpu or async op is left on the host, work is `async`,
      streams are callers' only.
    - `linear`: besides, every token is consumed exactly once on every path.
    - `stream`: no token is left; on every path each stream and event is made
      once, destroyed once and not used after.
    - `runtime`: no op of gpu or gpu_async is left.

    Ownership is a dataflow (Analysis/Streams/Ownership.h) over branches
    (BranchOpInterface) and region ops (RegionBranchOpInterface). What a branch
    forwards is consumed on that edge only; regions that run at most once may
    consume a token from outside, if all ways through their op do; a loop may
    not. Streams and events do not go through branches and region ops, are waited
    for in any region and destroyed in the one that makes them; a call owns the
    event that it takes, a caller the one that a function returns. Paths that
    never end leak nothing, unreachable blocks are on no path.

    An error names the op and, in notes, the other places: where it is made,
    where another path or op consumes it, the loop or region op that is crossed.

    Limit: one finding for each token, stream or event.

    ```mlir
    %t = gpu_async.launch async @k::@f ...
    scf.if %c {        // error: 'scf.if' op consumes a token in a region, but
      gpu_async.wait [%t]         can go on without entering one
    }
    ```
  }];
  let options = [
    Option<"form", "form", "::mlir::gpuasync::Form",
           /*default=*/"::mlir::gpuasync::Form::Token", "The form">,
  ];
}

def GPUAsyncPrintSchedule
    : Pass<"gpu-async-print-schedule", "::mlir::ModuleOp"> {
  let summary = "Draw the schedule of functions in the stream form";
  let description = [{
    Draws what each function does on which stream, and what waits for what.
    Edges that cost an event are drawn strong, those that a stream's own order
    or other edges give for free thin, host waits as bars across, ops with
    regions as boxes. Allocations next to each other are drawn as one, and so
    are host waits.

    - `text`: columns are streams, rows are in program order; `b <- 3` starts
      after an event that follows op 3. If the text is wider than 100
      characters, the columns have marks, and the names follow at the end of
      the rows.
    - `dot`: a digraph for graphviz.
    - `svg`: one document of one function, without scripts or fonts. Time goes
      down: an op stands as high as what it waits for allows.

    Changes nothing. A function that is in another form is an error. Limit: the
    edges between the blocks of a control-flow graph are not drawn.

    ```
    @f: 3 ops on 2 streams, 1 event, 1 wait, 1 host wait
    id  s0  s1
     0  f
     1  │   g
     2  h ← 1
        ╩═══════ host waits for s0
    ```
  }];
  let options = [
    Option<"format", "format", "::mlir::gpuasync::ScheduleFormat",
           /*default=*/"::mlir::gpuasync::ScheduleFormat::Text",
           "How to draw">,
    Option<"function", "function", "std::string", /*default=*/"\"\"",
           "Draw this function only">,
    Option<"file", "file", "std::string", /*default=*/"\"\"",
           "Write to this file (-: standard output) instead of standard error">,
  ];
}

def GPUAsyncVerifySchedule
    : Pass<"gpu-async-verify-schedule", "::mlir::ModuleOp"> {
  let summary = "Prove that streams and events keep the order of the tokens";
  let description = [{
    Takes the stream form and proves, from `id` and `after` alone, that it keeps
    the order that the linear form had (Analysis/Schedule/ScheduleOrder.h):

    - Each work op runs after the ops that its `after` names: whenever v with
      after=[u] is enqueued, and u has been executed since the last entry (not
      iteration) of the outermost region op that contains u but not v, or since
      the function was entered if there is none, then the latest execution of u
      is ordered before v. For u a free or a host-shared allocation nothing is
      asked: nobody waits for these.
    - `gpu_async.stream.destroy ... idle` stands where a host wait covers all
      that is on the stream.
    - At a return all work is done, also what calls have left under the events
      that they returned, but for frees and allocations, for what returned events
      cover and for what is ordered into a caller's stream.

    Any file of the stream form can be checked, whoever made it. On by default in
    the pipeline of debug builds (`verify-schedule`).

    Limits: paths on which different streams carry the order are not told apart,
    so that a schedule that is right may be refused (none of
    gpu-async-assign-streams is). Calls are opaque: they neither order work nor
    enqueue on streams of the function.

    ```mlir
    gpu_async.launch on %s0 id(0) @k::@f ...
    // error: can start before op 0 is done, which its 'after' names
    gpu_async.launch on %s1 id(1 after [0]) @k::@g ...
    ```
  }];
}

def GPUAsyncPrintStatistics
    : Pass<"gpu-async-print-statistics", "::mlir::ModuleOp"> {
  let summary = "Count the ops of each function that order device work";
  let description = [{
    Prints one line to standard error for each function that does device work,
    in any form: its work ops, how many of them are still sequential, forks,
    joins (`wait async` of several tokens), releases, streams, events, waits of
    streams for events, and host waits. What a pass made of a program is the
    difference between the lines before and after. An op in a loop counts once.

    Changes nothing. Pass statistics of MLIR itself are not in release builds of
    LLVM.

    ```
    after assign-streams: @photo: 29 ops, 3 streams, 4 events, 4 waits, 1 host wait
    ```
  }];
  let options = [
    Option<"title", "title", "std::string", /*default=*/"\"\"",
           "Printed in front of each line">,
  ];
}

#endif // GPUASYNC_TRANSFORMS_PASSES_TD
