//===- PrintSchedule.cpp - pictures of schedules --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses functions and where to print them; Analysis/Schedule/Schedule.h
// draws.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Transforms/Passes.h"

#include "GPUAsync/Analysis/Schedule/Schedule.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/ToolOutputFile.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCPRINTSCHEDULE
#include "GPUAsync/Transforms/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
struct PrintSchedule
    : public gpuasync::impl::GPUAsyncPrintScheduleBase<PrintSchedule> {
  using Base::Base;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(print()))
      signalPassFailure();
  }

  LogicalResult print();
};
} // namespace

/// An op that the stream form does not have, if there is one.
static Operation *findOtherForm(FunctionOpInterface function) {
  Operation *found = nullptr;
  function->walk([&](Operation *op) {
    auto work = dyn_cast<WorkOpInterface>(op);
    if (isa<WaitOp, ForkOp, ReleaseOp>(op) ||
        (work && (work.getAsyncToken() || !work.getStream())) ||
        isa<gpu::AsyncOpInterface>(op)) {
      found = op;
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return found;
}

FailureOr<std::string> gpuasync::drawSchedules(ModuleOp module,
                                               StringRef function,
                                               ScheduleFormat format) {
  std::vector<Schedule> schedules;
  bool isKnown = false;
  for (auto op : module.getOps<FunctionOpInterface>()) {
    if (op.isExternal() || (!function.empty() && op.getName() != function))
      continue;
    isKnown = true;
    if (Operation *other = findOtherForm(op)) {
      auto place = op->getLoc()->findInstanceOf<FileLineColLoc>();
      InFlightDiagnostic diag =
          op->emitOpError("is not in the stream form, so it has no schedule to "
                          "print; `gpu-runner ")
          << (place ? place.getFilename().getValue() : "FILE")
          << " --print-schedule --emit=mlir -o /dev/null` lowers and prints a "
             "file of any form, and in gpu-opt these passes come before: "
             "--gpu-kernel-outlining --convert-gpu-to-gpu-async "
             "--gpu-async-infer-dependencies --gpu-async-make-forks-explicit "
             "--gpu-async-assign-streams";
      diag.attachNote(other->getLoc()) << "this is of another form";
      return diag;
    }
    Schedule schedule(op);
    if (!schedule.getStreams().empty() || !function.empty())
      schedules.push_back(std::move(schedule));
  }
  if (!isKnown && !function.empty())
    return emitError(module.getLoc(), "has no function '")
           << function << "' with a body to print the schedule of";
  if (format == ScheduleFormat::Svg && schedules.size() > 1) {
    InFlightDiagnostic diag = emitError(
        module.getLoc(),
        "several functions have a schedule, and an SVG document shows one; "
        "choose it with function=");
    for (const Schedule &schedule : schedules)
      diag.attachNote() << schedule.getName() << ": " << schedule.getSummary();
    return diag;
  }

  std::string text;
  llvm::raw_string_ostream os(text);
  for (const Schedule &schedule : schedules)
    schedule.print(os, format);
  return text;
}

LogicalResult PrintSchedule::print() {
  ModuleOp module = getOperation();
  FailureOr<std::string> text = drawSchedules(module, function, format);
  if (failed(text))
    return failure();
  if (file.empty()) {
    llvm::errs() << *text;
    return success();
  }
  std::string message;
  std::unique_ptr<llvm::ToolOutputFile> output = openOutputFile(file, &message);
  if (!output)
    return emitError(module.getLoc(), "cannot print a schedule: ") << message;
  output->os() << *text;
  output->os().flush();
  if (std::error_code code = output->os().error()) {
    // LLVM ends the process over an error that it believes unseen.
    output->os().clear_error();
    return emitError(module.getLoc(), "cannot print a schedule: '")
           << file << "': " << code.message();
  }
  output->keep();
  return success();
}
