//===- Timing.h - What the stages of a compilation take ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stages from parsing to linking, and the passes of MLIR and LLVM in them, as a
// table of CPU seconds.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_EXECUTION_TIMING_H
#define GPUASYNC_LIB_EXECUTION_TIMING_H

#include "GPUAsync/Options.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace llvm {
class PassInstrumentationCallbacks;
} // namespace llvm
namespace mlir {
class PassManager;
} // namespace mlir

namespace gpuexec {

using mlir::gpuasync::TimingMode;

/// Seconds of the CPU and of the clock.
struct Seconds {
  double cpu = 0, wall = 0;
  Seconds &operator+=(const Seconds &other) {
    cpu += other.cpu;
    wall += other.wall;
    return *this;
  }
};
inline Seconds operator-(const Seconds &a, const Seconds &b) {
  return {a.cpu - b.cpu, a.wall - b.wall};
}

/// The times of one compilation. Stages follow each other on one thread; passes
/// may run on several.
class Timing {
public:
  TimingMode mode = TimingMode::Off;
  /// Hears of each stage as it begins, and again between the passes of LLVM,
  /// and says whether to go on. Null: nobody asks.
  std::function<bool(const std::string &stage)> onStage;

  /// An error if `onStage` has said that the compilation ends.
  llvm::Error checkStopped() const;

  /// Measures a stage while it lives. A stage of a name that was measured
  /// before adds to it.
  class Stage {
  public:
    Stage(Timing &timing, std::string name);
    Stage(const Stage &) = delete;
    Stage &operator=(const Stage &) = delete;
    ~Stage();

  private:
    Timing &timing;
    Seconds begin;
  };

  /// Measures the passes of a pipeline, if passes are measured.
  void instrument(mlir::PassManager &pm);
  void instrument(llvm::PassInstrumentationCallbacks &callbacks);

  /// A line for each stage, with CPU seconds, seconds of the clock and the
  /// share of the CPU seconds, and below it one for each of its passes that
  /// took a hundredth of all or more. Empty if nothing was measured.
  std::string table() const;

  /// A pass begins, or ends, on this thread. The time of a pass that runs
  /// within another one is that pass' alone.
  void beginPass();
  void endPass(llvm::StringRef name);

private:
  bool goesOn();

  struct Frame {
    Seconds begin, inner;
  };
  struct Row {
    Seconds total;
    llvm::MapVector<std::string, Seconds, std::map<std::string, unsigned>>
        passes;
  };

  llvm::MapVector<std::string, Row, std::map<std::string, unsigned>> stages;
  std::string current;   ///< the stage that passes belong to
  std::string stoppedAt; ///< the stage; empty: nobody has stopped it
  std::mutex mutex;      ///< of all below, and of passes
  std::map<std::thread::id, llvm::SmallVector<Frame>> running;
};

} // namespace gpuexec

#endif // GPUASYNC_LIB_EXECUTION_TIMING_H
