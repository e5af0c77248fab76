//===- RegionService.cpp - When graphs of regions go ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs hold kernels, so they go before the modules of their instances. The
// statistics tell how regions are played.
//===----------------------------------------------------------------------===//

#include "services/graphs/Regions.h"
#include "shim/base/Text.h"
#include "shim/context/ContextImpl.h"
#include "shim/process/Service.h"

using namespace gpuasync;

/// Destroys the retired graphs of a context.
static void destroyRetired(gpuasync_context &context, bool isIdle) {
  Regions::Gone graphs;
  {
    std::lock_guard<std::mutex> lock(context.poolMutex);
    for (Instance *instance : context.instances)
      if (Regions *regions = Regions::of(*instance)) {
        regions->takeRetired(graphs);
        if (isIdle)
          regions->noteIdle();
      }
  }
  destroyGraphs(context, graphs);
}

/// How regions are played, where the runtime chooses, and what each way took.
static void addTunings(Text &text, gpuasync_context &context) {
  const char *before = ", \"regions\": [";
  auto add = [&](const char *file, uint32_t line, uint32_t column,
                 const ModeTuner &choice) {
    text.add("%s{\"file\": ", before);
    before = ", ";
    addQuoted(text, file);
    text.add(", \"line\": %u, \"column\": %u, \"play\": \"%s\", "
             "\"why\": \"%s\", \"median_us\": {",
             line, column, nameOf(choice.current()), choice.reason());
    const char *between = "";
    for (ExecutionMode way :
         {ExecutionMode::Streams, ExecutionMode::Stream, ExecutionMode::Graph})
      if (uint64_t ns = choice.median(way)) {
        text.add("%s\"%s\": %.3f", between, nameOf(way), double(ns) / 1e3);
        between = ", ";
      }
    text.add("}}");
  };
  {
    std::lock_guard<std::mutex> lock(context.choicesMutex);
    if (const std::vector<PastTuning> *all = pastTunings(context))
      for (const PastTuning &past : *all)
        add(past.file.c_str(), past.line, past.column, past.tuner);
  }
  {
    std::lock_guard<std::mutex> lock(context.poolMutex);
    for (Instance *instance : context.instances)
      if (Regions *regions = Regions::of(*instance))
        regions->forEachTuner(
            [&](const gpuasync_site &site, ModeTuner &choice) {
              add(gpuasync_site_file(&site), site.line, site.column, choice);
            });
  }
  if (before[2] != '"')
    text.add("]");
}

namespace {
class RegionService final : public Service {
  void contextQuiescent(gpuasync_context &context,
                        const Entering *) const override {
    destroyRetired(context, /*isIdle=*/true);
  }
  void instanceEnding(Instance &instance) const override {
    Regions *regions = Regions::of(instance);
    if (!regions)
      return;
    Regions::Gone graphs;
    regions->retireAll();
    regions->takeRetired(graphs);
    destroyGraphs(*instance.context, graphs);
    // Without memory nothing is told of them.
    (void)guard([&] {
      regions->keepTunings();
      return Status();
    });
  }
  void moduleTaken(Instance &instance) const override {
    if (Regions *regions = Regions::of(instance))
      regions->retireAll();
  }
  void modulesUnloading(gpuasync_context &context) const override {
    destroyRetired(context, /*isIdle=*/false);
  }
  void writeStats(gpuasync_context &context,
                  Text &text) const noexcept override {
    addTunings(text, context);
  }
};
} // namespace

namespace gpuasync {
const Service &regionService() noexcept {
  static constexpr RegionService service;
  return service;
}
} // namespace gpuasync
