//===- Timing.cpp - What the stages of a compilation take -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Timing.h. MLIR's own timers know the clock only, which other processes
// slow down.
//===----------------------------------------------------------------------===//

#include "Execution/Timing.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <ctime>

using namespace llvm;

namespace gpuexec {

static double readClock(clockid_t id) {
  timespec now = {};
  clock_gettime(id, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

/// The CPU time of all threads: some stages wait for threads that they start.
static Seconds ofProcess() {
  return {readClock(CLOCK_PROCESS_CPUTIME_ID), readClock(CLOCK_MONOTONIC)};
}

static Seconds ofThread() {
  return {readClock(CLOCK_THREAD_CPUTIME_ID), readClock(CLOCK_MONOTONIC)};
}

bool Timing::goesOn() {
  if (stoppedAt.empty() && onStage && !onStage(current))
    stoppedAt = current;
  return stoppedAt.empty();
}

Error Timing::checkStopped() const {
  return stoppedAt.empty()
             ? Error::success()
             : createStringError("stopped by the caller, during " + stoppedAt);
}

Timing::Stage::Stage(Timing &timing, std::string name) : timing(timing) {
  timing.current = std::move(name);
  timing.goesOn();
  if (timing.mode == TimingMode::Off)
    return;
  timing.stages[timing.current]; // rows are in the order in which they begin
  begin = ofProcess();
}

Timing::Stage::~Stage() {
  if (timing.mode != TimingMode::Off)
    timing.stages[timing.current].total += ofProcess() - begin;
}

void Timing::beginPass() {
  std::lock_guard lock(mutex);
  running[std::this_thread::get_id()].push_back({ofThread(), {}});
}

void Timing::endPass(StringRef name) {
  const Seconds now = ofThread();
  std::lock_guard lock(mutex);
  SmallVector<Frame> &frames = running[std::this_thread::get_id()];
  if (frames.empty())
    return;
  const Frame frame = frames.pop_back_val();
  const Seconds all = now - frame.begin;
  if (!frames.empty())
    frames.back().inner += all;
  stages[current].passes[name.str()] += all - frame.inner;
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

namespace {
/// Measures passes of MLIR; analyses are part of the pass that asks for them.
struct PassTiming : public mlir::PassInstrumentation {
  explicit PassTiming(Timing &timing) : timing(timing) {}

  void runBeforePass(mlir::Pass *, mlir::Operation *) override {
    timing.beginPass();
  }
  void runAfterPass(mlir::Pass *pass, mlir::Operation *) override {
    StringRef argument = pass->getArgument();
    timing.endPass(argument.empty() ? "pass managers" : argument);
  }
  void runAfterPassFailed(mlir::Pass *pass, mlir::Operation *op) override {
    runAfterPass(pass, op);
  }

  Timing &timing;
};
} // namespace

void Timing::instrument(mlir::PassManager &pm) {
  if (mode == TimingMode::Passes)
    pm.addInstrumentation(std::make_unique<PassTiming>(*this));
}

void Timing::instrument(PassInstrumentationCallbacks &callbacks) {
  if (onStage)
    callbacks.registerShouldRunOptionalPassCallback(
        [this](StringRef, Any) { return goesOn(); });
  if (mode != TimingMode::Passes)
    return;
  auto end = [this](StringRef name) {
    // PassManager<Function> and adaptors have only what their passes leave.
    endPass(name.contains("PassManager") || name.contains("Adaptor")
                ? "pass managers"
                : name);
  };
  callbacks.registerBeforeNonSkippedPassCallback(
      [this](StringRef, Any) { beginPass(); });
  callbacks.registerAfterPassCallback(
      [end](StringRef name, Any, const PreservedAnalyses &) { end(name); });
  callbacks.registerAfterPassInvalidatedCallback(
      [end](StringRef name, const PreservedAnalyses &) { end(name); });
  callbacks.registerBeforeAnalysisCallback(
      [this](StringRef, Any) { beginPass(); });
  callbacks.registerAfterAnalysisCallback(
      [end](StringRef name, Any) { end(name); });
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

std::string Timing::table() const {
  if (stages.empty())
    return "";
  Seconds all;
  for (const auto &[name, row] : stages)
    all += row.total;
  std::string text;
  raw_string_ostream os(text);
  auto line = [&](StringRef indent, StringRef name, const Seconds &seconds) {
    os << left_justify((indent + name).str(), 50)
       << format("%8.3f %8.3f %5.1f %%\n", seconds.cpu, seconds.wall,
                 all.cpu > 0 ? 100 * seconds.cpu / all.cpu : 0.0);
  };
  os << left_justify("stage", 50) << "   CPU s   wall s   share\n";
  for (const auto &[name, row] : stages) {
    line("", name, row.total);
    SmallVector<std::pair<StringRef, Seconds>> passes;
    for (const auto &[pass, seconds] : row.passes)
      if (seconds.cpu >= 0.01 * all.cpu)
        passes.emplace_back(pass, seconds);
    sort(passes, [](const auto &a, const auto &b) {
      return std::make_pair(-a.second.cpu, a.first) <
             std::make_pair(-b.second.cpu, b.first);
    });
    for (const auto &[pass, seconds] : passes)
      line("  ", pass, seconds);
  }
  line("", "total", all);
  return text;
}

} // namespace gpuexec
