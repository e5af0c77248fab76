//===- GPUAsyncAttrs.td - kernel tables, images and the cpu target ---*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes and enums of the dialect.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_ATTRS_TD
#define GPUASYNC_ATTRS_TD

include "GPUAsync/IR/GPUAsyncDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"

class GPUAsync_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<GPUAsync_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

// The numbers are those of enum gpuasync_image_format.
def GPUAsync_ImageFormat : I32EnumAttr<"ImageFormat", "what an image's bytes are", [
    I32EnumAttrCase<"CPU", 1, "cpu">,
    I32EnumAttrCase<"PTX", 2, "ptx">,
    I32EnumAttrCase<"CUBIN", 3, "cubin">,
    I32EnumAttrCase<"HSACO", 4, "hsaco">,
    I32EnumAttrCase<"FATBIN", 5, "fatbin">]> {
  let cppNamespace = "::mlir::gpuasync";
  let genSpecializedAttr = 0;
}

def GPUAsync_KernelAttr : GPUAsync_Attr<"Kernel", "kernel"> {
  let summary = "a kernel as the host launches it";
  let description = [{
    The kernel's name and the sizes in bytes of its parameters after lowering (a
    memref is the scalars of its descriptor). Each parameter is aligned to its
    size rounded up to a power of two, at most 16, a tensor map (128 bytes) to
    64. Without `params` the layout
    is unknown, as for a ready-made `gpu.binary` without kernel metadata.

    ```mlir
    #gpu_async.kernel<"f", params = [8, 8, 8, 8, 8, 4]>
    ```
  }];
  let parameters = (ins StringRefParameter<>:$name,
                        OptionalParameter<"::mlir::DenseI64ArrayAttr">:$params);
  let assemblyFormat = "`<` $name (`,` `params` `=` $params^)? `>`";
  let extraClassDeclaration = [{
    /// Byte offset of each parameter in the packed buffer; needs `params`.
    ::llvm::SmallVector<int64_t> getParamOffsets() const;
    /// Size of the packed buffer in bytes; needs `params`.
    int64_t getParamBytes() const;
  }];
  let genVerifyDecl = 1;
}

def GPUAsync_CpuKernelAttr : GPUAsync_Attr<"CpuKernel", "cpu_kernel"> {
  let summary = "a kernel's block function on the cpu device";
  let description = [{
    The symbol of a function of the program with the signature of
    `gpuasync_cpu_block_fn`, the bytes of its static workgroup memory, the
    bytes that each thread keeps across barriers, whether the kernel may wait
    for other work, and whether one call can run several blocks. Besides, the
    bytes of its variables on the stack (-1: there is no bound), and the most
    operations that a thread runs: a number, or a function of the program with
    the signature of `gpuasync_cpu_operations_fn` that computes it of a launch.

    ```mlir
    #gpu_async.cpu_kernel<@k_f_block workgroup = 1024 thread = 8 may_block = true>
    #gpu_async.cpu_kernel<@k_g_block stack = 256 operations = @k_g_count>
    ```
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$function,
                        DefaultValuedParameter<"int64_t", "0">:$workgroupBytes,
                        DefaultValuedParameter<"uint32_t", "0">:$threadBytes,
                        DefaultValuedParameter<"bool", "false">:$mayBlock,
                        DefaultValuedParameter<"bool", "false">:$takesRuns,
                        DefaultValuedParameter<"int64_t", "0">:$stackBytes,
                        OptionalParameter<"::mlir::Attribute">:$operations);
  let assemblyFormat = [{
    `<` $function (`workgroup` `=` $workgroupBytes^)?
        (`thread` `=` $threadBytes^)?
        (`may_block` `=` $mayBlock^)? (`runs` `=` $takesRuns^)?
        (`stack` `=` $stackBytes^)? (`operations` `=` $operations^)? `>`
  }];
  let extraClassDeclaration = [{
    /// The number of operations; 0 if a function counts them, or none is known.
    int64_t getKnownOperations() const;
    /// The function that counts operations, null if there is none.
    ::mlir::FlatSymbolRefAttr getCounter() const;
  }];
  let genVerifyDecl = 1;
}

def GPUAsync_ImageAttr : GPUAsync_Attr<"Image", "image"> {
  let summary = "a module's kernels compiled for one target";
  let description = [{
    Either `data`, the bytes of a PTX, cubin, hsaco or fatbin image for `arch`,
    or for the cpu device `functions`, one `#gpu_async.cpu_kernel` for each
    kernel of the table, in its order.
  }];
  let parameters = (ins EnumParameter<GPUAsync_ImageFormat>:$format,
                        StringRefParameter<>:$arch,
                        OptionalParameter<"::mlir::StringAttr">:$data,
                        OptionalParameter<"::mlir::ArrayAttr">:$functions);
  let assemblyFormat = [{
    `<` $format `,` $arch (`data` `=` $data^)?
        (`functions` `=` $functions^)? `>`
  }];
  let genVerifyDecl = 1;
}

def GPUAsync_CpuTargetAttr : GPUAsync_Attr<"CpuTarget", "cpu"> {
  let summary = "the cpu device as a target of a gpu.module";
  let description = [{
    Names the cpu device in upstream's own syntax:
    `gpu.module @k [#gpu_async.cpu] {...}`. `chip` and `features` are LLVM's CPU
    name and feature string; empty means those of the host program.
    `subgroup_size` is the number of threads in a subgroup, a power of two from 1
    to 64; without it the compiler's option `subgroup-size` says it.

    ```mlir
    gpu.module @k [#gpu_async.cpu<chip = "x86-64-v3", subgroup_size = 16>] {...}
    ```
  }];
  let parameters = (ins DefaultValuedParameter<"::mlir::StringAttr", "::mlir::StringAttr()">:$chip,
                        DefaultValuedParameter<"::mlir::StringAttr", "::mlir::StringAttr()">:$features,
                        DefaultValuedParameter<"int64_t", "0">:$subgroup_size);
  let assemblyFormat = [{
    (`<` struct($chip, $features, $subgroup_size)^ `>`)?
  }];
  let extraClassDeclaration = [{
    /// Threads in a subgroup where nothing says otherwise, as on CUDA devices.
    static constexpr int64_t defaultSubgroupSize = 32;
    /// Whether subgroups may have `size` threads: lanes are bits of 64.
    static bool isSubgroupSize(int64_t size) {
      return size > 0 && size <= 64 && (size & (size - 1)) == 0;
    }
  }];
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

// The numbers are those of enum gpuasync_collective_kind.
def GPUAsync_CollectiveKind : I32EnumAttr<"CollectiveKind", "how data moves between ranks", [
    I32EnumAttrCase<"AllReduce", 1, "all_reduce">,
    I32EnumAttrCase<"AllGather", 2, "all_gather">,
    I32EnumAttrCase<"ReduceScatter", 3, "reduce_scatter">,
    I32EnumAttrCase<"AllToAll", 4, "all_to_all">,
    I32EnumAttrCase<"Broadcast", 5, "broadcast">,
    I32EnumAttrCase<"Permute", 6, "permute">,
    I32EnumAttrCase<"Barrier", 7, "barrier">]> {
  let cppNamespace = "::mlir::gpuasync";
  let genSpecializedAttr = 0;
}

// The numbers are those of enum gpuasync_reduction.
def GPUAsync_CollectiveReduction : I32EnumAttr<"CollectiveReduction", "how elements of ranks become one", [
    I32EnumAttrCase<"None", 0, "none">,
    I32EnumAttrCase<"Sum", 1, "sum">,
    I32EnumAttrCase<"Prod", 2, "prod">,
    I32EnumAttrCase<"Min", 3, "min">,
    I32EnumAttrCase<"Max", 4, "max">,
    I32EnumAttrCase<"And", 5, "and">,
    I32EnumAttrCase<"Or", 6, "or">]> {
  let cppNamespace = "::mlir::gpuasync";
  let genSpecializedAttr = 0;
}

def GPUAsync_CollectiveAttr : GPUAsync_Attr<"Collective", "collective"> {
  let summary = "a collective, but for its group and its memory";
  let description = [{
    The kind of a `gpu_async.collective`, the reduction of an `all_reduce` or a
    `reduce_scatter`, the root of a `broadcast`, and the pairs of a `permute`.
    Roots and pairs are positions in the group.

    ```mlir
    #gpu_async.collective<all_reduce<sum>>
    #gpu_async.collective<permute<[[0, 1], [1, 2]]>>
    ```
  }];
  let parameters = (ins EnumParameter<GPUAsync_CollectiveKind>:$kind,
                        EnumParameter<GPUAsync_CollectiveReduction>:$reduction,
                        "uint32_t":$root,
                        ArrayRefParameter<"uint32_t">:$pairs);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// \name The text between the outer brackets, as the op has it
    /// @{
    static CollectiveAttr parseText(::mlir::AsmParser &parser);
    void printText(::llvm::raw_ostream &os) const;
    /// @}
  }];
  let genVerifyDecl = 1;
}

#endif // GPUASYNC_ATTRS_TD
