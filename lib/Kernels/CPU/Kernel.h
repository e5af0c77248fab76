//===- Kernel.h - kernels on their way to the cpu device --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the steps of the lowering for the cpu device share: where a kernel finds
// its place in the grid, and what its threads keep across barriers.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_KERNELS_CPU_KERNEL_H
#define GPUASYNC_LIB_KERNELS_CPU_KERNEL_H

#include "Kernels/Common/KernelLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"
#include <array>
#include <functional>
#include <map>
#include <optional>

namespace mlir::gpuasync::cpu {

/// Arguments that every function of a kernel gets after its own.
enum Env {
  ThreadId = 0,
  BlockId = 3,
  BlockDim = 6,
  GridDim = 9,
  RunBlocks = 12, ///< blocks that a call runs, from BlockId on in x
  Context = 13,   ///< gpuasync_cpu_block_ctx
  Workgroup = 14, ///< static workgroup memory
  Dynamic = 15,   ///< dynamic shared memory
  EnvSize = 16
};

inline Value getEnv(func::FuncOp function, unsigned which) {
  return function.getArgument(function.getNumArguments() - EnvSize + which);
}

/// The dimension whose thread id `value` is.
inline std::optional<unsigned> getThreadIdDimension(func::FuncOp function,
                                                    Value value) {
  for (unsigned dim : {0, 1, 2})
    if (value == getEnv(function, ThreadId + dim))
      return dim;
  return std::nullopt;
}

/// What the runtime's cpu device allows: half of what places in a grid could
/// be, so that neighbours' places do not wrap around either.
constexpr int64_t maxThreadsPerBlock = 1024;
constexpr int64_t maxBlocksPerGrid = int64_t(1) << 52;

/// Threads in a warp of nvvm ops.
constexpr int64_t warpSize = 32;

/// Whether one call can run several blocks of `kernel` that follow each other
/// in x, as if they were one that is so much wider. Blocks have `sizeX` threads
/// in x, 0 if that is not known.
bool canTakeRuns(func::FuncOp kernel, int64_t sizeX);
/// How many ids the threads that a call runs have in dimension `dim`, from 0
/// on.
Value buildNumIds(OpBuilder &builder, Location loc, func::FuncOp kernel,
                  unsigned dim);

/// The number of a thread in its block, x fastest: an index. `env` says what
/// an Env is.
Value buildLinearThreadId(OpBuilder &builder, Location loc,
                          function_ref<Value(unsigned)> env);
inline Value buildLinearThreadId(OpBuilder &builder, Location loc,
                                 func::FuncOp function) {
  return buildLinearThreadId(
      builder, loc, [&](unsigned which) { return getEnv(function, which); });
}

/// Memory that outlives barriers: arrays with an element for each thread of the
/// block, and variables of the whole block. Their addresses are computed at the
/// kernel's entry.
class ThreadMemory {
public:
  /// `workgroupBytes` of static workgroup memory are in use already.
  ThreadMemory(func::FuncOp kernel, int64_t workgroupBytes);

  /// Of what the block's memory of threads is aligned to.
  static constexpr int64_t maxAlignment = 64;
  /// What an array's element of `bytes` takes.
  static int64_t getStep(int64_t bytes, int64_t alignment = 1);
  /// The address of an array with an element of `bytes` for each thread, each
  /// aligned to `alignment`, and small ones to their size at least.
  Value createArray(int64_t bytes, int64_t alignment = 1);
  /// The address of a variable of the block, and where it is in the static
  /// workgroup memory.
  Value createShared(int64_t bytes, int64_t &offset);
  /// Threads in the block: an index.
  Value getNumThreads() const { return threads; }

  /// Gives the arrays their places. Nothing is created afterwards.
  void finish();
  /// After finish().
  int64_t getWorkgroupBytes() const { return workgroupBytes; }
  int64_t getThreadBytes() const { return threadBytes; }

private:
  func::FuncOp kernel;
  OpBuilder builder;
  int64_t workgroupBytes, threadBytes = 0;
  Value threads, threads64, base;
  Operation *last; ///< of what is computed at the entry
  LLVM::ConstantOp start;
  /// The places of the arrays, by alignment and size of an element.
  std::map<std::pair<int64_t, int64_t>, SmallVector<LLVM::ConstantOp>,
           std::greater<>>
      arrays;
};

/// A memref at `base`, as a descriptor that the conversion to LLVM connects to.
/// Its layout is known; `size` is the size of a one-dimensional dynamic memref.
Value buildMemRef(OpBuilder &builder, Location loc, Value base, MemRefType type,
                  Value size);

/// For a loop over threads whose accesses of `group` do not depend on each
/// other. `threads` is their number, 0 if it is not known.
LLVM::LoopAnnotationAttr buildParallelAnnotation(LLVM::AccessGroupAttr group,
                                                 int64_t threads);

/// The address of element `index` (an i64) of an array of ThreadMemory whose
/// elements have the size of `type`.
Value buildElementAddress(OpBuilder &builder, Location loc, Value array,
                          Value index, Type type);
/// Reads and writes a value of any type that has a lowering to LLVM.
Value loadValue(OpBuilder &builder, Location loc, Value address, Type type);
void storeValue(OpBuilder &builder, Location loc, Value address, Value value);

/// Which values differ between the threads of a block.
class ThreadVariance {
public:
  /// Looks into the structured control flow that `isLookedInto` names; what
  /// another op with regions yields varies with anything that it uses.
  ThreadVariance(func::FuncOp kernel,
                 function_ref<bool(Operation *)> isLookedInto);

  bool varies(Value value) const { return varying.contains(value); }
  /// Whether all threads get the same from `op`, so that the block can run it
  /// in front of what the threads do.
  bool isOfBlock(Operation *op) const;
  /// A new value that varies.
  void add(Value value) { varying.insert(value); }
  /// What is about to be erased: a new value may get its address.
  void forget(Value value) { varying.erase(value); }
  void forget(Operation *op);
  /// Whether threads may disagree about running `op`.
  bool isDivergent(Operation *op) const;
  /// Whether threads may disagree about which way an scf.if, scf.for or
  /// scf.while goes.
  bool hasVaryingControl(Operation *op) const;

private:
  void findFirstLoads(Block &block);
  bool isUniform(Operation *op) const;
  void visit(Block &block);
  void visit(Operation *op);
  void visitHandedOver(RegionBranchOpInterface op);
  void mark(Value value) { changed |= varying.insert(value).second; }
  void markIf(bool condition, Value value) {
    if (condition)
      mark(value);
  }

  function_ref<bool(Operation *)> isLookedInto;
  func::FuncOp kernel;
  llvm::DenseSet<Value> varying;
  /// That come before all that writes, in the block or since the last place
  /// where the threads were together. Nobody can tell whether the threads read
  /// one after the other or all at first.
  llvm::DenseSet<Operation *> firstLoads;
  bool changed = false;
};

/// Threads of a block: in each dimension those from `lower` up to `upper`.
struct ThreadBox {
  std::array<Value, 3> lower, upper;
};

/// All threads that a call runs.
ThreadBox buildWholeBox(OpBuilder &builder, Location loc, func::FuncOp kernel);

/// An if without else that is true for the threads of a box.
struct Guard {
  /// `id`, a thread's id in dimension `dim` plus something that the threads
  /// agree about, compared with `bound`.
  struct Limit {
    unsigned dim;
    arith::CmpIPredicate predicate;
    Value id, bound;
  };
  scf::IfOp branch;
  SmallVector<Limit> limits;
  SmallVector<Value> uniform; ///< conditions that the threads agree about

  bool isLimitedIn(unsigned dim) const {
    return llvm::any_of(limits,
                        [&](const Limit &limit) { return limit.dim == dim; });
  }
  /// Whether the thread whose ids are zero is in the box if any is.
  bool takesFirst() const {
    using Predicate = arith::CmpIPredicate;
    return llvm::all_of(limits, [](const Limit &limit) {
      return llvm::is_contained(
          {Predicate::slt, Predicate::sle, Predicate::ult, Predicate::ule},
          limit.predicate);
    });
  }
  /// Whether it looks like the end of an array: true in most blocks, whatever
  /// the thread. One that asks for the bare id chooses among the threads.
  bool isMostlyTrue(func::FuncOp kernel) const {
    return llvm::all_of(limits, [&](const Limit &limit) {
      return limit.predicate != arith::CmpIPredicate::eq &&
             limit.id != getEnv(kernel, ThreadId + limit.dim);
    });
  }
};

std::optional<Guard> findGuard(func::FuncOp kernel,
                               const ThreadVariance &variance,
                               scf::IfOp branch);
/// The guard of everything in `piece` that another thread or the host could
/// notice.
std::optional<Guard> findGuard(func::FuncOp kernel,
                               const ThreadVariance &variance,
                               ArrayRef<Operation *> piece);
/// The threads of `box` for which `guard` is true, by the block.
ThreadBox buildBox(OpBuilder &builder, Location loc, func::FuncOp kernel,
                   const ThreadVariance &variance, const Guard &guard,
                   ThreadBox box);

/// The control flow around places where threads meet is of these.
inline bool isControlFlow(Operation *op) {
  return isa<scf::IfOp, scf::ForOp, scf::WhileOp>(op);
}

/// Whether all threads get the same from `op` if its operands are the same, at
/// whatever time they run it.
bool dependsOnOperandsOnly(Operation *op);

/// Whether `isWanted` is true of `root` or of an op in it.
inline bool holds(Operation *root, function_ref<bool(Operation *)> isWanted) {
  return root
      ->walk([&](Operation *op) {
        return isWanted(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Adds the functions in `module` that call, directly or not, one of
/// `functions`.
void addCallers(Operation *module, llvm::SetVector<Operation *> &functions);

/// Whether `op` makes the threads of a block or of a subgroup meet.
bool isCollective(Operation *op);

/// Whether `op` is of nvvm and ops of gpu say the same.
bool hasGpuOp(Operation *op);
/// Whether isCollective is true of `op`, or of what replaceByGpuOps makes of
/// it.
bool makesThreadsMeet(Operation *op);
/// Whether `op` is about the threads of a warp.
bool isWarpOp(Operation *op);
/// Replaces those in `root`.
void replaceByGpuOps(Operation *root);

/// Whether `op` works on matrices that a subgroup holds and can be expanded.
bool isMatrixOp(Operation *op);
/// Rewrites those in `root` to what each thread does, and their matrices to
/// vectors. Fails with an error at an op that the cpu device cannot do.
LogicalResult expandMatrices(Operation *root);

/// Puts an assert before each memref.alloca whose size is known at run time
/// only: all of them together have a part of the stack.
void boundDynamicAllocas(Operation *root);

/// The llvm.func of `module` that hold barriers, subgroup ops or asserts, or
/// call functions that do.
llvm::DenseSet<Operation *> findCutLlvmFunctions(Operation *module);
/// Creates a func.func of the same name with the same body.
FailureOr<func::FuncOp> copyAsFunc(OpBuilder &builder,
                                   LLVM::LLVMFuncOp function);
/// Replaces calls of such functions by those of func.
LogicalResult callAsFuncs(Operation *module);

/// The attribute of an scf.execute_region that the block runs once, not each of
/// its threads.
constexpr StringRef onceName = "gpu_async.once";
/// The attribute of a gpu.barrier that the lowering put there.
constexpr StringRef internalName = "gpu_async.internal";
/// The attribute of a cf.assert that ends the block without a report.
constexpr StringRef silentName = "gpu_async.silent";
/// The attribute of an llvm.load or llvm.store that is not independent of those
/// of other threads.
constexpr StringRef inOrderName = "gpu_async.in_order";
/// The attribute of a kernel that one call can run for several blocks.
constexpr StringRef runsName = "gpu_async.runs";
/// The annotation of a loop until it is a branch of LLVM's.
constexpr StringRef annotationName = "llvm.loop_annotation";

/// Replaces memref's atomics on memory of the block by plain accesses.
void makeWorkgroupAtomicsPlain(Operation *root);

/// Rewrites shuffles, reductions and broadcasts to accesses to arrays of
/// `memory` and barriers. Blocks have `sizeX` threads in x, 0 if that is not
/// known, and subgroups of `subgroupSize`.
LogicalResult expandCollectives(func::FuncOp kernel, ThreadMemory &memory,
                                int64_t sizeX, int64_t subgroupSize);

/// A piece of a kernel between barriers, which is called for all threads.
struct ParallelRegion {
  func::FuncOp function;
  LLVM::AccessGroupAttr group; ///< of the loops over the threads
  bool mayFail;
};

/// What has become of a kernel that was cut.
struct CutKernel {
  SmallVector<ParallelRegion> regions;
  int64_t workgroupBytes, threadBytes;
  /// Where in the static workgroup memory a failed thread leaves a 1, or -1.
  int64_t failedOffset;
};

/// Makes the structured kernel `kernel` a function of the whole block that
/// calls the pieces between its barriers for all threads. Blocks have `sizeX`
/// threads in x, 0 if that is not known, and subgroups of `subgroupSize`;
/// `mayFail` says whether a function that is called ends threads. nullopt:
/// there is nothing to gain, and the kernel is as it was.
FailureOr<std::optional<CutKernel>>
cutAtBarriers(func::FuncOp kernel, int64_t workgroupBytes, int64_t sizeX,
              int64_t subgroupSize, function_ref<bool(func::CallOp)> mayFail);

/// Makes the control flow around barriers structured and the kernel one block,
/// and copies functions that hold barriers to their calls.
LogicalResult structureAroundBarriers(func::FuncOp kernel);

} // namespace mlir::gpuasync::cpu

#endif // GPUASYNC_LIB_KERNELS_CPU_KERNEL_H
