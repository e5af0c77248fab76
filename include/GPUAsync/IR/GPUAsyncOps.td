//===- GPUAsyncOps.td - ops of the gpu_async dialect ---*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops of the token, linear and stream forms, and the table of images.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_OPS_TD
#define GPUASYNC_OPS_TD

include "GPUAsync/IR/GPUAsyncAttrs.td"
include "GPUAsync/IR/GPUAsyncDialect.td"
include "GPUAsync/IR/GPUAsyncWork.td"
include "mlir/Dialect/LLVMIR/LLVMOpBase.td"
include "mlir/IR/CommonTypeConstraints.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class GPUAsync_Op<string mnemonic, list<Trait> traits = []>
    : Op<GPUAsync_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

def GPUAsync_WaitOp : GPUAsync_Op<"wait", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "joins tokens, on the device or on the host";
  let description = [{
    With `async`: makes a token that is reached when all `asyncDependencies`
    are; nothing waits. Without dependencies it is a token that has been reached
    already. Any number of tokens can be joined.

    Without `async`: the host waits until the tokens are reached. It returns once
    the tokens' own past is done, even if later work never finishes.

    Legal: waiting for a token twice (in the token form), for none, for a token
    that was made in another stream. Illegal: a host program that relies on the
    async form to make results visible to the host.

    ```mlir
    %ready = gpu_async.wait async
    %both  = gpu_async.wait async [%a, %b]
    gpu_async.wait [%both]
    ```
  }];
  let arguments = (ins Variadic<GPUAsync_Token>:$asyncDependencies);
  let results = (outs Optional<GPUAsync_Token>:$asyncToken);
  let assemblyFormat = [{
    custom<Async>(type($asyncToken), $asyncDependencies) attr-dict
  }];
  let hasCanonicalizer = 1;
  let hasFolder = 1;
  let extraClassDeclaration = [{
    /// Whether the host waits.
    bool isHostWait() { return !getAsyncToken(); }
  }];
}

def GPUAsync_ForkOp : GPUAsync_Op<"fork", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "splits one token into several";
  let description = [{
    Consumes a token and makes `n` tokens for the same point, so that each has
    one consumer. Belongs to the linear form.

    Legal: any number of results from 1 up. Illegal: using the operand again.

    ```mlir
    %u1, %u2 = gpu_async.fork %up : 2
    ```
  }];
  let arguments = (ins GPUAsync_Token:$token);
  let results = (outs Variadic<GPUAsync_Token>:$tokens);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasFolder = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$token, "unsigned":$count)>];
}

def GPUAsync_ReleaseOp : GPUAsync_Op<"release", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "consumes a token that nobody needs";
  let description = [{
    The work that the token stands for goes on; nothing waits for it here.
    Belongs to the linear form.

    Legal: releasing a token of work that still runs; a function that returns has
    waited for it all the same. Illegal: using the token again.

    ```mlir
    gpu_async.release %t
    ```
  }];
  let arguments = (ins GPUAsync_Token:$token);
  let assemblyFormat = "$token attr-dict";
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

class GPUAsync_WorkOp<string mnemonic, dag operands, string format,
                      list<Trait> traits = []>
    : GPUAsync_WorkOpOf<GPUAsync_Dialect, mnemonic, operands, format, traits>;

def GPUAsync_LaunchOp : GPUAsync_WorkOp<"launch",
        (ins SymbolRefAttr:$kernel,
             Index:$gridSizeX, Index:$gridSizeY, Index:$gridSizeZ,
             Index:$blockSizeX, Index:$blockSizeY, Index:$blockSizeZ,
             Variadic<Index>:$clusterSizes,
             Optional<I32>:$dynamicSharedMemorySize,
             UnitAttr:$cooperative,
             Variadic<AnyType>:$kernelOperands), [{
    $kernel
    `blocks` `in` `(` $gridSizeX `,` $gridSizeY `,` $gridSizeZ `)`
    `threads` `in` `(` $blockSizeX `,` $blockSizeY `,` $blockSizeZ `)`
    (`clusters` `in` `(` $clusterSizes^ `)`)?
    (`dynamic_shared_memory_size` $dynamicSharedMemorySize^)?
    (`cooperative` $cooperative^)?
    custom<LaunchArguments>($kernelOperands, type($kernelOperands))
    attr-dict
  }], [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "launches a kernel";
  let description = [{
    Runs `gridX * gridY * gridZ` blocks of `blockX * blockY * blockZ` threads of
    `kernel`, a kernel of a `gpu.module`, `gpu.binary` or `gpu_async.binary`,
    optionally in clusters, with `dynamicSharedMemorySize` bytes of dynamic
    shared memory, or `cooperative` (all blocks run at the same time). A size of
    zero runs nothing and still orders tokens. Arguments are read when the op is
    enqueued.

    Legal: two unordered launches that wait for each other through memory.
    Illegal: a launch that touches memory which an unordered op writes, unless
    both use atomics; negative sizes.

    ```mlir
    %t = gpu_async.launch async [%d] @k::@f blocks in (%c4, %c1, %c1)
           threads in (%c128, %c1, %c1) args(%x : memref<?xf32>)
    gpu_async.launch on %s id(1 after [0]) @k::@f blocks in (%c4, %c1, %c1)
           threads in (%c128, %c1, %c1) dynamic_shared_memory_size %n cooperative
    ```
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The gpu.module, gpu.binary or gpu_async.binary of the kernel.
    ::mlir::StringAttr getKernelModuleName() { return getKernel().getRootReference(); }
    ::mlir::StringAttr getKernelName() { return getKernel().getLeafReference(); }
    ::mlir::SymbolRefAttr getCode() { return getKernel(); }
    ::mlir::OperandRange getCodeArguments() { return getKernelOperands(); }
    ::llvm::StringRef getBlockingReason() {
      return getCooperative() ? "its blocks may wait for each other" : "";
    }
  }];
}

def GPUAsync_AllocOp : GPUAsync_WorkOp<"alloc",
        (ins Variadic<Index>:$dynamicSizes,
             Variadic<Index>:$symbolOperands,
             UnitAttr:$hostShared), [{
    (`host_shared` $hostShared^)? `(` $dynamicSizes `)`
    (`` `[` $symbolOperands^ `]`)? attr-dict `:` type($memref)
  }]> {
  let summary = "allocates device or host-shared memory";
  let description = [{
    The memory may be used by ops that come after the token. With `host_shared`
    the host may use it as soon as the op has been enqueued; without, the host
    must not touch it. Zero elements are valid.

    Illegal: use of the memory by an op that is not ordered after the token.

    ```mlir
    %m, %t = gpu_async.alloc async [%d] (%n) : memref<?xf32, 1>
    %h, %u = gpu_async.alloc async host_shared () : memref<16xi32>
    %x = gpu_async.alloc on %s (%n) : memref<?xf32>
    ```
  }];
  let results = (outs AnyMemRef:$memref,
                      Optional<GPUAsync_Token>:$asyncToken);
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool takesDeviceTime() { return false; }
  }];
}

def GPUAsync_DeallocOp : GPUAsync_WorkOp<"dealloc",
        (ins AnyMemRef:$memref), [{
    $memref attr-dict `:` type($memref)
  }]> {
  let summary = "frees memory of gpu_async.alloc";
  let description = [{
    The memory goes back once the tokens that the op takes are reached.

    Illegal: freeing twice, freeing memory of another kind, use of the memory by
    an op that is not ordered before.

    ```mlir
    %t = gpu_async.dealloc async [%a, %b] %m : memref<?xf32>
    ```
  }];
  let extraClassDeclaration = [{
    bool takesDeviceTime() { return false; }
    void getWorkAccesses(::llvm::SmallVectorImpl<::mlir::gpuasync::WorkAccess> &accesses);
  }];
}

def GPUAsync_WindowOp : GPUAsync_Op<"window", [Pure]> {
  let summary = "a piece of a planned allocation, as memory of its own";
  let description = [{
    The bytes of `slab`, a `gpu_async.alloc` of bytes, from `offset` on, as a
    memref of any element type. What gpu-async-plan-memory makes of the
    program's allocations: for analyses a window is an allocation of its own, as
    a `memref.view` of the slab would not be. Two windows of a slab are the same
    memory only where their bytes may overlap: constant offsets and sizes are
    compared, others may be anywhere in the slab. Address arithmetic, no call.

    Legal: windows that overlap, if all users of one come before all users of
    the other; use by ops that come after the slab's allocation. Illegal: bytes
    outside of the slab, an offset that is not a multiple of 256, freeing a
    window (`gpu_async.dealloc` takes the slab).

    ```mlir
    %slab, %t = gpu_async.alloc async () : memref<768xi8, 1>
    %x = gpu_async.window %slab[%c0] () : memref<768xi8, 1> to memref<64xf32, 1>
    %y = gpu_async.window %slab[%c256] (%n) : memref<768xi8, 1> to memref<?xf32, 1>
    ```
  }];
  let arguments = (ins AnyMemRef:$slab, Index:$offset,
                       Variadic<Index>:$dynamicSizes);
  let results = (outs AnyMemRef:$memref);
  let assemblyFormat = [{
    $slab `[` $offset `]` `(` $dynamicSizes `)` attr-dict `:` type($slab) `to`
    type($memref)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// What offsets of windows are multiples of, in bytes.
    static constexpr int64_t alignment = 256;
  }];
}

def GPUAsync_ConstantOp : GPUAsync_Op<"constant", [
    Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a constant of the program where the device reaches it";
  let description = [{
    The memory of a constant `memref.global` on the device: a copy that the
    runtime makes once for a program and a context, when the first frame of a
    function is entered that can reach the op, and frees with them. On a device
    that reaches the host's memory it is the global itself. No call of the
    driver's.

    Legal: reading it, in any number of kernels and calls. Illegal: writing it,
    freeing it.

    ```mlir
    memref.global "private" constant @w : memref<512x512xf32> = dense_resource<w>
    %w = gpu_async.constant @w : memref<512x512xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$name);
  let results = (outs AnyStaticShapeMemRef:$memref);
  let assemblyFormat = "$name attr-dict `:` type($memref)";
}

def GPUAsync_ResidentOp : GPUAsync_Op<"resident", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "host memory that stays on the device between calls";
  let description = [{
    The elements of `memref`, host memory without gaps, where the device reaches
    them: a copy that the context keeps, of this address and this size. The
    first op for it uploads, and waits for that; every later one, of any call,
    program or thread, finds it, until the caller tells the runtime that the
    memory has changed (`gpuasync_host_memory_changed`). What the device reaches
    by itself is its own copy.

    Legal: reading it. Illegal: writing or freeing the copy; writing the memory
    without telling the runtime; an op behind device work of the function, which
    the upload would hold up.

    ```mlir
    %w = gpu_async.resident %arg0 : memref<?x512xf32> to memref<?x512xf32>
    ```
  }];
  let arguments = (ins AnyMemRef:$memref);
  let results = (outs AnyMemRef:$copy);
  let assemblyFormat = "$memref attr-dict `:` type($memref) `to` type($copy)";
  let hasVerifier = 1;
}

def GPUAsync_MemcpyOp : GPUAsync_WorkOp<"memcpy",
        (ins AnyMemRef:$destination, AnyMemRef:$source), [{
    $destination `,` $source attr-dict `:` type($destination) `,` type($source)
  }]> {
  let summary = "copies between device, host-shared and host memory";
  let description = [{
    Copies `source` to `destination`: same element type and shape, any strides.
    The host may change a pageable source as soon as the op has been enqueued; a
    pageable destination holds the data after a host wait that covers the op.

    Illegal: overlapping memory; shapes that differ at run time.

    ```mlir
    %t = gpu_async.memcpy async [%d] %dst, %src : memref<?xf32, 1>, memref<?xf32>
    ```
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    void getWorkAccesses(::llvm::SmallVectorImpl<::mlir::gpuasync::WorkAccess> &accesses);
  }];
}

def GPUAsync_MemsetOp : GPUAsync_WorkOp<"memset",
        (ins AnyMemRef:$destination, AnyType:$value), [{
    $destination `,` $value attr-dict `:` type($destination) `,` type($value)
  }]> {
  let summary = "sets all elements of a memref to one value";
  let description = [{
    Any element type of 1, 2, 4, 8 or 16 bytes, any strides. A pattern that the
    driver has no call for is written by a fill kernel. The value is read when
    the op is enqueued.

    Legal: a view of a larger buffer. Illegal: memory that an unordered op
    touches.

    ```mlir
    %t = gpu_async.memset async [%d] %m, %zero : memref<?xf64, 1>, f64
    ```
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    void getWorkAccesses(::llvm::SmallVectorImpl<::mlir::gpuasync::WorkAccess> &accesses);
  }];
}

def GPUAsync_CallOp : GPUAsync_WorkOp<"call",
        (ins FlatSymbolRefAttr:$callee,
             Variadic<AnyType>:$arguments), [{
    $callee `` custom<CallArguments>($arguments, type($arguments)) attr-dict
  }], [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "calls a library's function that enqueues device work";
  let description = [{
    Calls `callee`, which is declared here and in a library is
    `int32_t callee(const gpuasync_call *, ...)` with the operands of the op
    (docs/reference/ABI.md): when the op is enqueued, on the thread of the host. What the
    function enqueues on the stream that it is given is the op's work. A result
    other than 0 is an error.

    What the work touches the arguments of the declaration say. Where a memref
    among them has `llvm.readonly` or `llvm.writeonly`, it is what the memrefs
    are, of which those without such an attribute are read and written; else it
    may be anything. Calls of functions with the same `gpu_async.serial` touch
    one thing that is no memory (a communicator, a generator's state).
    A function without `gpu_async.nonblocking` may wait for other work. Of one with
    `gpu_async.replayable` the work may run again where it is called with equal
    arguments: the function is not called then.

    Legal: memory of the device in windows of any strides; a workspace as an
    operand. Illegal: a function that waits for the device, allocates on it, or
    enqueues what does not end before what comes later on the stream; use of
    what no operand leads to, if the declaration says what is touched.

    ```mlir
    func.func private @axpy(memref<?xf32> {llvm.readonly}, memref<?xf32>, f32)
    %t = gpu_async.call async [%d] @axpy(%x : memref<?xf32>, %y : memref<?xf32>, %a : f32)
    gpu_async.call on %s id(1 after [0]) @axpy(%x : memref<?xf32>, %y : memref<?xf32>, %a : f32)
    ```
  }];
  let extraClassDeclaration = [{
    ::mlir::SymbolRefAttr getCode() { return getCalleeAttr(); }
    ::mlir::OperandRange getCodeArguments() { return getArguments(); }
  }];
}

def GPUAsync_HostRegisterOp : GPUAsync_Op<"host_register", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "makes host memory accessible to the device";
  let description = [{
    Device work that is enqueued later may touch the memory.

    Legal: registering the same memory again, which counts. Illegal: freeing the
    memory before it has been unregistered as often.

    ```mlir
    gpu_async.host_register %m : memref<*xf32>
    ```
  }];
  let arguments = (ins AnyRankedOrUnrankedMemRef:$memref);
  let assemblyFormat = "$memref attr-dict `:` type($memref)";
}

def GPUAsync_HostUnregisterOp : GPUAsync_Op<"host_unregister", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "ends a registration of host memory";
  let description = [{
    Nothing waits: the driver's part happens once the device is idle.

    Legal: while earlier work on the memory still runs. Illegal: device work
    enqueued later that touches the memory; unregistering what is not registered.

    ```mlir
    gpu_async.host_unregister %m : memref<*xf32>
    ```
  }];
  let arguments = (ins AnyRankedOrUnrankedMemRef:$memref);
  let assemblyFormat = "$memref attr-dict `:` type($memref)";
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

def GPUAsync_StreamCreateOp : GPUAsync_Op<"stream.create", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "takes a stream from the context's pool";
  let description = [{
    `urgent` says that the device begins what is on the stream before what is on
    others, where it has priorities. It changes no order that ops keep.

    Legal: any number. Illegal: a path on which the stream is not destroyed, is
    destroyed twice, or is used afterwards.

    ```mlir
    %s = gpu_async.stream.create
    %c = gpu_async.stream.create urgent
    ```
  }];
  let arguments = (ins UnitAttr:$urgent);
  let results = (outs GPUAsync_Stream:$stream);
  let assemblyFormat = "(`urgent` $urgent^)? attr-dict";
}

def GPUAsync_StreamExternalOp : GPUAsync_Op<"stream.external", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "names a caller's stream";
  let description = [{
    A fixed chain: ops on it keep their order. The stream itself is never made,
    destroyed or waited for by us; `stream.destroy` ends the name only. A null
    pointer is legal and is the device's default stream.

    Illegal: a pointer to what is no stream of the frame's context; waiting for
    the stream with `stream.synchronize` (record an event instead).

    ```mlir
    %s = gpu_async.stream.external %p : !llvm.ptr
    ```
  }];
  let arguments = (ins LLVM_AnyPointer:$pointer);
  let results = (outs GPUAsync_Stream:$stream);
  let assemblyFormat = "$pointer attr-dict `:` type($pointer)";
}

def GPUAsync_StreamDestroyOp : GPUAsync_Op<"stream.destroy", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "gives a stream back";
  let description = [{
    Work on the stream goes on. `idle` says that a host wait has covered all of
    it, so that the pool may hand the stream out at once.

    Legal: with work pending. Illegal: `idle` with work pending; any later use of
    the stream.

    ```mlir
    gpu_async.stream.destroy %s idle
    ```
  }];
  let arguments = (ins GPUAsync_Stream:$stream, UnitAttr:$idle);
  let assemblyFormat = "$stream (`idle` $idle^)? attr-dict";
}

def GPUAsync_StreamWaitOp : GPUAsync_Op<"stream.wait", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "later work on a stream starts after an event";
  let description = [{
    Nothing waits on the host.

    Legal: an event of the same stream, which changes nothing. Illegal: an event
    that has been destroyed.

    ```mlir
    gpu_async.stream.wait %s, %e
    ```
  }];
  let arguments = (ins GPUAsync_Stream:$stream, GPUAsync_Event:$event);
  let assemblyFormat = "$stream `,` $event attr-dict";
}

def GPUAsync_StreamSynchronizeOp : GPUAsync_Op<"stream.synchronize", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "the host waits for all work enqueued on streams so far";
  let description = [{
    One host wait for any number of streams.

    Legal: a stream without work. Illegal: where later work than what is waited
    for was enqueued and may never finish; there an event is recorded before it.

    ```mlir
    gpu_async.stream.synchronize %s0, %s1
    ```
  }];
  let arguments = (ins Variadic<GPUAsync_Stream>:$streams);
  let assemblyFormat = "$streams attr-dict";
  let hasVerifier = 1;
}

def GPUAsync_EventRecordOp : GPUAsync_Op<"event.record", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "takes an event from the pool and records it";
  let description = [{
    Making and recording are one op: no one can wait for an unrecorded event.

    Legal: any number of waits for one event. Illegal: a path on which the event
    is not destroyed, is destroyed twice, or is used afterwards; a returned event
    is the caller's.

    ```mlir
    %e = gpu_async.event.record on %s
    ```
  }];
  let arguments = (ins GPUAsync_Stream:$stream);
  let results = (outs GPUAsync_Event:$event);
  let assemblyFormat = "`on` $stream attr-dict";
}

def GPUAsync_EventReadyOp : GPUAsync_Op<"event.ready", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "an event for a point that has been reached";
  let description = [{
    What a ready token is at a function's boundary. Nothing is made in the driver
    (the handle is null), and waiting for it does nothing.

    Legal and illegal: as for `event.record`.

    ```mlir
    %e = gpu_async.event.ready
    ```
  }];
  let results = (outs GPUAsync_Event:$event);
  let assemblyFormat = "attr-dict";
}

def GPUAsync_EventDestroyOp : GPUAsync_Op<"event.destroy", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "gives an event back";
  let description = [{
    Legal: while streams that wait for it have not reached it; those waits stay
    valid. Illegal: any later use.

    ```mlir
    gpu_async.event.destroy %e
    ```
  }];
  let arguments = (ins GPUAsync_Event:$event);
  let assemblyFormat = "$event attr-dict";
}

def GPUAsync_EventSynchronizeOp : GPUAsync_Op<"event.synchronize", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "the host waits for events";
  let description = [{
    Returns once all events are reached, whatever was enqueued after them.

    Legal: events of different streams. Illegal: events that have been destroyed.

    ```mlir
    gpu_async.event.synchronize %e0, %e1
    ```
  }];
  let arguments = (ins Variadic<GPUAsync_Event>:$events);
  let assemblyFormat = "$events attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

def GPUAsync_RegionOp : GPUAsync_Op<"region", [
    RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<RegionBranchOpInterface,
                              ["getRegionInvocationBounds"]>]> {
  let summary = "device work that the host neither waits for nor observes";
  let description = [{
    What is inside runs once, in its order, as if the op were not there; but the
    device may start any of it as late as at the end of the op, and all of it
    after what its streams were given before. So the runtime may record it and
    play it as one graph. Belongs to the stream form, where
    gpu-async-form-regions makes it.

    Legal: launches, copies, fills, calls of `gpu_async.replayable`, streams and
    events, the host's control flow around them. Illegal: what the host waits for,
    allocations, a caller's stream, another region; in the stream form, host code that reads or writes
    memory, and a stream or event that comes from inside or is destroyed inside
    and made outside. A kernel that waits for the host or for work outside of the
    region, or unordered inside, may never end.

    ```mlir
    %n = gpu_async.region -> index {
      gpu_async.launch on %s0 id(1 after [0]) @k::@f ...
      gpu_async.launch on %s0 id(2 after [1]) @k::@g ...
      gpu_async.yield %i : index
    }
    ```
  }];
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region MinSizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$results)>];
  let skipDefaultBuilders = 1;
}

def GPUAsync_YieldOp : GPUAsync_Op<"yield", [
    Pure, ReturnLike, Terminator, HasParent<"::mlir::gpuasync::RegionOp">]> {
  let summary = "ends a region";
  let description = [{
    Its operands are the results of the region around it.
  }];
  let arguments = (ins Variadic<AnyType>:$operands);
  let assemblyFormat = "($operands^ `:` type($operands))? attr-dict";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
}

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

def GPUAsync_BinaryOp : GPUAsync_Op<"binary", [
    Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the compiled kernels of one gpu.module";
  let description = [{
    Takes the place of a `gpu.module` under the same name once its kernels have
    been compiled: the table of kernels and one image for each target.

    ```mlir
    gpu_async.binary @k kernels [#gpu_async.kernel<"f", params = [8, 4]>] images [
      #gpu_async.image<ptx, "sm_90" data = "...">,
      #gpu_async.image<cpu, "" functions = [#gpu_async.cpu_kernel<@k_f_block>]>]
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, ArrayAttr:$kernels,
                       ArrayAttr:$images);
  let assemblyFormat = [{
    $sym_name `kernels` $kernels `images` $images attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Index of the kernel in the table, or nothing.
    std::optional<unsigned> lookupKernel(::llvm::StringRef name);
  }];
}

// Its ops derive from the classes above.
include "GPUAsync/IR/GPUAsyncRankOps.td"

#endif // GPUASYNC_OPS_TD
