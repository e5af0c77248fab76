//===- KernelBlocking.h - which kernels may wait for others -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Read off their bodies, before they are lowered: whether a kernel can be
// waiting for what the host or another kernel has yet to do.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_ANALYSIS_MEMORY_KERNELBLOCKING_H
#define GPUASYNC_ANALYSIS_MEMORY_KERNELBLOCKING_H

#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>

namespace mlir::gpuasync {

/// What is asked of a kernel.
enum class Asks {
  /// Whether it may wait for what the host or another kernel does. A loop that
  /// ends, or goes on, whatever others do is taken to end: a program with an
  /// endless kernel is wrong wherever that runs.
  Waits,
  /// Whether it may wait, or run for longer than somebody can who runs it in
  /// place of what the host would do next. Then a loop counts unless it
  /// provably ends, and so does one that polls a given number of times.
  Delays
};

/// Where a kernel may wait, and why it is believed to.
struct BlockingPoint {
  Operation *at = nullptr;
  StringRef reason;
};

/// Whether `function`, a kernel or what kernels call, may wait. It does if
/// another turn of a loop hangs on memory that is read in the loop and that
/// others may write; memory of the block does not count, nor do loops that are
/// counted. Further if it synchronises a cluster, has inline assembly with side
/// effects, calls itself, or calls what has no body here. Nothing if it does
/// not: so says `gpu_async.nonblocking`, whatever the body is.
std::optional<BlockingPoint> findBlockingPoint(FunctionOpInterface function,
                                               SymbolTableCollection &symbols,
                                               Asks asks);

/// The same for device work, found once for each kernel.
class BlockingTable {
public:
  /// A kernel without a body here, as of a ready binary, may block: then the
  /// point has no op. So may a cooperative launch, whose blocks meet, and a
  /// library's function. Other work does not.
  std::optional<BlockingPoint> lookup(Operation *work);
  /// Where functions are looked up.
  SymbolTableCollection &getSymbols() { return symbols; }

private:
  SymbolTableCollection symbols;
  llvm::DenseMap<Operation *, std::optional<BlockingPoint>> points;
};

} // namespace mlir::gpuasync

#endif // GPUASYNC_ANALYSIS_MEMORY_KERNELBLOCKING_H
