//===- PrintStatistics.cpp - counts of ops that order work ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What pass statistics would say, at any point of a pipeline.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Transforms/Passes.h"

#include "GPUAsync/IR/GPUAsyncOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCPRINTSTATISTICS
#include "GPUAsync/Transforms/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
struct Counts {
  unsigned ops = 0, sequential = 0, forks = 0, joins = 0, releases = 0,
           streams = 0, events = 0, waits = 0, regions = 0, hostWaits = 0;

  void add(Operation *op);
  void print(raw_ostream &os) const;
};

struct PrintStatistics
    : public gpuasync::impl::GPUAsyncPrintStatisticsBase<PrintStatistics> {
  using Base::Base;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    // One piece, so that nothing comes in between.
    std::string text;
    llvm::raw_string_ostream os(text);
    for (auto function : getOperation().getOps<FunctionOpInterface>()) {
      Counts counts;
      function->walk([&](Operation *op) { counts.add(op); });
      if (!counts.ops && !counts.streams && !counts.hostWaits)
        continue;
      if (!title.empty())
        os << title << ": ";
      os << "@" << function.getName() << ": ";
      counts.print(os);
    }
    llvm::errs() << text;
  }
};
} // namespace

void Counts::add(Operation *op) {
  if (auto work = dyn_cast<WorkOpInterface>(op)) {
    ++ops;
    if (!work.getAsyncToken() && !work.getStream())
      ++sequential;
  } else if (auto wait = dyn_cast<WaitOp>(op)) {
    if (wait.isHostWait())
      ++hostWaits;
    else if (wait.getAsyncDependencies().size() > 1)
      ++joins;
  } else if (isa<ForkOp>(op)) {
    ++forks;
  } else if (isa<ReleaseOp>(op)) {
    ++releases;
  } else if (isa<StreamCreateOp, StreamExternalOp>(op)) {
    ++streams;
  } else if (isa<EventRecordOp>(op)) {
    ++events;
  } else if (isa<StreamWaitOp>(op)) {
    ++waits;
  } else if (isa<RegionOp>(op)) {
    ++regions;
  } else if (isa<StreamSynchronizeOp, EventSynchronizeOp>(op)) {
    ++hostWaits;
  }
}

void Counts::print(raw_ostream &os) const {
  auto print = [&](unsigned count, StringRef what) {
    os << count << " " << what << (count == 1 ? "" : "s");
  };
  print(ops, "op");
  if (sequential)
    os << ", " << sequential << " sequential";
  for (auto [count, what] :
       {std::make_pair(forks, "fork"), std::make_pair(joins, "join"),
        std::make_pair(releases, "release"), std::make_pair(streams, "stream"),
        std::make_pair(events, "event"), std::make_pair(waits, "wait"),
        std::make_pair(regions, "region")}) {
    if (!count)
      continue;
    os << ", ";
    print(count, what);
  }
  os << ", ";
  print(hostWaits, "host wait");
  os << "\n";
}
