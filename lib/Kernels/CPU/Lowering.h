//===- Lowering.h - a gpu.module on its way to the cpu device *- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state that the steps of the lowering for the cpu device share. Each step
// has a file of its own; CPU.cpp runs them.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_KERNELS_CPU_LOWERING_H
#define GPUASYNC_LIB_KERNELS_CPU_LOWERING_H

#include "GPUAsync/Analysis/Memory/KernelBlocking.h"
#include "GPUAsync/Analysis/Memory/TypeLayout.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "Kernel.h"
#include "Kernels/Common/KernelLowering.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::gpuasync::cpu {

/// Whether a kernel, or a function that it calls, may hold up the thread that
/// runs it. Only then does it need one of its own. Kernels run inside of the
/// call that enqueues them, so what is asked is more than what regions ask: an
/// endless kernel must not keep the host from saying so.
inline bool mayBlock(FunctionOpInterface function) {
  SymbolTableCollection symbols;
  return findBlockingPoint(function, symbols, Asks::Delays).has_value();
}

class CPULowering {
public:
  CPULowering(gpu::GPUModuleOp kernels, int64_t subgroupSize,
              RunPipelineFn runPipeline)
      : source(kernels), subgroupSize(subgroupSize), runPipeline(runPipeline),
        context(kernels.getContext()), builder(context),
        prefix(kernels.getName().str() + "_") {
    pointer = LLVM::LLVMPointerType::get(context);
    i64 = builder.getI64Type();
  }
  ~CPULowering() {
    if (work)
      work->erase();
  }

  FailureOr<ImageAttr> run();

private:
  /// A function of the kernel's module while it is being lowered.
  struct Function {
    FunctionOpInterface op;
    bool isKernel = false;
    bool mayBlock = false;
    bool mayFail = false;       ///< holds an assert or calls such a function
    int64_t workgroupBytes = 0; ///< static, with the module's globals
    int64_t threadBytes = 0;    ///< kept by a thread across barriers
    bool isCut = false;         ///< a kernel that calls its own regions
    bool takesRuns = false;     ///< of blocks, in one call
    /// Of a region: of its loops over the threads.
    LLVM::AccessGroupAttr group;
    /// Of a region: where in the static workgroup memory a failure is noted.
    int64_t failedOffset = -1;
    SmallVector<int64_t> params; ///< of a kernel
    /// Of a kernel: the sizes that every launch gives its blocks, 0 if unknown.
    std::array<int64_t, 3> blockSize = {0, 0, 0};
    /// The sizes are promised by an attribute; launches may break the promise.
    bool isPromised = false;
    LLVM::LLVMFuncOp block; ///< of a kernel, in the end
    /// Of a kernel: the operations of a thread, and the function that computes
    /// them of a launch, in the end.
    std::optional<int64_t> operations;
    StringAttr counts;
    LLVM::LLVMFuncOp counter;
    int64_t stackBytes = 0; ///< -1: no bound is known
  };

  // The steps of the pipeline.
  LogicalResult importKernels();
  LogicalResult expandMemoryOps();
  LogicalResult countOperations();
  LogicalResult cutKernels();
  LogicalResult expandArithmetic();
  LogicalResult expandCalls();
  LogicalResult buildBlockFunctions();

  // Parts of them.
  LogicalResult copyFunctions();
  LogicalResult renameFunctions();
  LogicalResult copyFunction(FunctionOpInterface function);
  LogicalResult placeAttributions(gpu::GPUFuncOp function, Function &info);
  void stripMemorySpaces();
  LogicalResult placeWorkgroupGlobals();
  LogicalResult rewriteDeviceOps();
  LogicalResult rewriteOp(Operation *op, Function &function);
  LogicalResult rewritePrintf(gpu::PrintfOp op, Function &function);
  void rewriteCalls();
  bool mayFail(func::CallOp call);
  LogicalResult rewriteAsserts();
  void markParallelAccesses(LLVM::LLVMFuncOp thread, Attribute group);
  SmallVector<Value> loadParams(const Function &kernel, TypeRange types,
                                Value params);
  LLVM::LLVMFuncOp buildBlockFunction(LLVM::LLVMFuncOp thread,
                                      const Function &kernel, Attribute group);
  LLVM::LLVMFuncOp buildCounter(const Function &kernel);
  LogicalResult checkMemory();
  LogicalResult splice();
  void findBlockSizes();
  Block *buildPromiseCheck(Block *entry, const Function &kernel,
                           ArrayRef<Value> given);

  Value getEnv(Function &function, unsigned which);
  Value getLinearThreadId(Function &function);
  Value makeString(Location loc, StringRef text);
  LLVM::LLVMFuncOp getAssertFail();
  LLVM::LLVMFuncOp getRuntimeFunction(StringRef name,
                                      LLVM::LLVMFunctionType type);
  static int64_t getAlignment(MemRefType type) {
    return std::max<int64_t>(16, getElementAlignment(type.getElementType()));
  }

  gpu::GPUModuleOp source;
  int64_t subgroupSize;
  RunPipelineFn runPipeline;
  MLIRContext *context;
  OpBuilder builder;
  std::string prefix;
  Type pointer, i64;
  ModuleOp work;
  /// In the order of the module.
  llvm::MapVector<StringAttr, Function> functions;
  llvm::StringMap<int64_t> workgroupGlobals; ///< offsets
  /// Of the source, those that are cut or left early.
  llvm::DenseSet<Operation *> cutLlvmFunctions;
  /// What launches say, of each kernel.
  llvm::DenseMap<StringAttr, std::array<int64_t, 3>> blockSizes;
  int64_t workgroupGlobalBytes = 0;
  unsigned strings = 0;
};

} // namespace mlir::gpuasync::cpu

#endif // GPUASYNC_LIB_KERNELS_CPU_LOWERING_H
