//===- GPUAsyncRankOps.td - ops of programs on several ranks ---*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups of ranks, numbers of ranks, and collectives between them. Ranks run
// one program in the same order: docs/reference/Ranks.md.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_RANKOPS_TD
#define GPUASYNC_RANKOPS_TD

// GPUAsyncOps.td includes this file, behind the classes that it derives from.

def GPUAsync_GroupOp : GPUAsync_Op<"group", [
    Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "names the ranks that meet in collectives";
  let description = [{
    Cuts the ranks of the program into lists of one length. The ranks of a list
    meet in collectives of the group.

    With `grid`, rank numbers are coordinates in a grid of these sizes, the last
    axis fastest. Ranks that differ in `axes` only are one list, in ascending
    order. With `ranks`, the lists are written down. A rank's position in its
    list is its number in the group.

    Legal: lists of one rank; several groups of the same lists. Illegal: lists
    of different lengths, a rank that is in no list or in two; a program that
    runs on another number of ranks than all lists have together.

    ```mlir
    gpu_async.group @rows grid [2, 3] axes [1]   // [0, 1, 2] and [3, 4, 5]
    gpu_async.group @columns grid [2, 3] axes [0]
    gpu_async.group @pairs ranks [[0, 3], [1, 4], [2, 5]]
    ```
  }];
  let arguments = (ins
      SymbolNameAttr:$sym_name,
      OptionalAttr<DenseI64ArrayAttr>:$grid,
      OptionalAttr<DenseI64ArrayAttr>:$axes,
      OptionalAttr<TypedArrayAttrBase<I64ArrayAttr, "lists of ranks">>:$ranks);
  let assemblyFormat = [{
    $sym_name (`grid` $grid^ `axes` $axes)? (`ranks` $ranks^)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The most ranks of a program.
    static constexpr int64_t maxRanks = 1 << 20;
    /// All ranks: one list after the other.
    ::llvm::SmallVector<int64_t> getMembers();
    /// The number of ranks in each list.
    int64_t getListSize();
  }];
}

def GPUAsync_RankOp : GPUAsync_Op<"rank", [
    NoMemoryEffect, DeclareOpInterfaceMethods<ConditionallySpeculatable>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the number of this rank";
  let description = [{
    The position of this rank in its list of the group, from 0 on. Without a
    group: its number among all ranks. One number in a frame.

    Legal: control flow that depends on it, without collectives; an op that is
    not reached, of a group of another number of ranks. Illegal: collectives
    under such control flow (gpu-async-check-collectives).

    ```mlir
    %r = gpu_async.rank
    %column = gpu_async.rank @rows
    ```
  }];
  let arguments = (ins OptionalAttr<FlatSymbolRefAttr>:$group);
  let results = (outs Index:$rank);
  let assemblyFormat = "($group^)? attr-dict";
}

def GPUAsync_SizeOp : GPUAsync_Op<"size", [
    Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the number of ranks";
  let description = [{
    The number of ranks in a list of the group, which is a constant. Without a
    group: the number of all ranks, which the caller decides.

    Legal: a program that runs on any number of ranks. Illegal: a program whose
    groups are of another number of ranks than it runs on.

    ```mlir
    %n = gpu_async.size
    %columns = gpu_async.size @rows
    ```
  }];
  let arguments = (ins OptionalAttr<FlatSymbolRefAttr>:$group);
  let results = (outs Index:$size);
  let assemblyFormat = "($group^)? attr-dict";
  let hasFolder = 1;
}

def GPUAsync_UniformOp : GPUAsync_Op<"uniform", [
    Pure, SameOperandsAndResultType,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a value that ranks have in common";
  let description = [{
    The operand. The program promises that it is the same on all ranks, or with
    `group` on the ranks of each list, so that control flow around collectives,
    or around those of the group, may depend on it. gpu-runner --check compares
    the values of ranks that are threads. Else nothing checks the promise.

    Legal: a value that gpu-async-check-collectives cannot prove to be the same.
    Illegal: control flow around collectives that depends on a broken promise.
    Ranks that come to different collectives fail at run time.

    ```mlir
    %v = memref.load %residual[] : memref<f32>
    %same = gpu_async.uniform %v : f32
    %inRow = gpu_async.uniform %w group(@rows) : i1
    ```
  }];
  let arguments = (ins AnyTypeOf<[AnySignlessIntegerOrIndex, AnyFloat]>:$value,
                       OptionalAttr<FlatSymbolRefAttr>:$group);
  let results = (outs AnyTypeOf<[AnySignlessIntegerOrIndex, AnyFloat]>:$result);
  let assemblyFormat = [{
    $value (`group` `(` $group^ `)`)? attr-dict `:` type($value)
  }];
}

def GPUAsync_CollectiveOp : GPUAsync_WorkOp<"collective",
        (ins GPUAsync_CollectiveAttr:$what,
             OptionalAttr<FlatSymbolRefAttr>:$group,
             Optional<AnyMemRef>:$destination,
             Optional<AnyMemRef>:$source,
             UnitAttr:$overlapped), [{
    custom<Collective>($what) (`group` `(` $group^ `)`)?
    `` custom<CollectiveMemory>($destination, $source, ref($what)) attr-dict
    (`:` type($destination)^ `,` type($source))?
  }], [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "moves data between the ranks of a group";
  let description = [{
    Each rank of the group gives its `source` and gets its `destination`, two
    memrefs of one element type without gaps. Without `group` all ranks meet.
    The kinds are:

    | kind | the destination of a rank |
    |---|---|
    | `all_reduce<sum>` | the sources of all ranks, reduced element by element |
    | `all_gather` | the sources of all ranks, one after the other |
    | `reduce_scatter<sum>` | the part at its position, of the reduced sources |
    | `all_to_all` | the parts at its position, of the sources of all ranks |
    | `broadcast<0>` | the source of the rank at position 0 |
    | `permute<[[0, 1], [1, 2]]>` | the source of the rank that the pair [from, to] names, else zeros |
    | `barrier` | none: no rank goes on before all have come |

    A memref has a part for each rank, in the order of the list. Parts are equal
    parts of the first dimension. Reductions are `sum`, `prod`,
    `min`, `max`, and for integers `and` and `or`. Integers are signed. Elements
    of type i1 have `and` and `or` only.

    At the op's token the destination is complete, and the source may be
    overwritten. Collectives of all groups are serial: they run in the order of
    the program.

    On a GPU a collective takes as much of the device as makes it fastest. One
    that is `overlapped` leaves most of the device to the work beside it, and
    takes longer by itself (gpu-async-mark-overlaps).

    Legal: one value as both memrefs, of an `all_reduce` and a `broadcast`; sizes
    that are known at run time only. Illegal: memrefs that overlap, otherwise;
    two collectives that no token orders; ranks of a group whose next
    collectives differ in kind, type, sizes or `overlapped`; a collective in a
    region.

    ```mlir
    %t = gpu_async.collective async [%a] all_reduce<sum> group(@dp) %x, %x : memref<4xf32>, memref<4xf32>
    %u = gpu_async.collective async [%t] all_gather group(@dp) %y, %x : memref<?xf32>, memref<4xf32>
    %v = gpu_async.collective async [%u] all_reduce<sum> %z, %z {overlapped} : memref<4xf32>, memref<4xf32>
    gpu_async.collective on %s id(2 after [1]) barrier
    ```
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The gpuasync_element of the memrefs, 0 of a barrier.
    uint32_t getElement();
    void getWorkAccesses(::llvm::SmallVectorImpl<::mlir::gpuasync::WorkAccess> &accesses);
    bool callsLibrary() { return true; }
    bool isReplayable() { return false; }
    ::llvm::StringRef getSerial() { return "collectives"; }
  }];
}

def GPUAsync_TensorCollectiveOp : GPUAsync_Op<"tensor_collective", [
    AllTypesMatch<["destination", "result"]>, DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a collective of tensors";
  let description = [{
    `gpu_async.collective` with tensors in place of memrefs: the same kinds, and
    the same sizes. The result is what the memref op writes to its destination.
    The elements of `destination` do not matter, and other uses of it see the old
    ones. There is no `barrier`, since it has no memory.

    It is no work op: a tensor has no place on a device yet, so it has no tokens
    and no stream. The pipeline gpu-async-offload makes a `gpu_async.collective`
    of it.

    Legal: one value as both operands, of any kind; a result that nobody uses.
    The op runs all the same, and keeps its place among other collectives.
    Illegal: a kernel that contains it.

    ```mlir
    %r = gpu_async.tensor_collective all_reduce<sum> group(@dp)
           ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>)
    %s = gpu_async.tensor_collective all_gather group(@dp)
           ins(%x : tensor<4xf32>) outs(%all : tensor<?xf32>)
    ```
  }];
  let arguments = (ins
      GPUAsync_CollectiveAttr:$what,
      OptionalAttr<FlatSymbolRefAttr>:$group,
      AnyRankedTensor:$source,
      AnyRankedTensor:$destination,
      UnitAttr:$overlapped);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    custom<Collective>($what) (`group` `(` $group^ `)`)?
    `ins` `(` $source `:` type($source) `)`
    `outs` `(` $destination `:` type($destination) `)` attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getDestinationMutable();
    }
  }];
}

#endif // GPUASYNC_RANKOPS_TD
