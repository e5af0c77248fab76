//===- Regions.h - Regions of a program in one context ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For each region what it asked for before, as executable graphs. One call at a
// time holds an executable.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SERVICES_GRAPHS_REGIONS_H
#define GPUASYNC_SERVICES_GRAPHS_REGIONS_H

#include "services/graphs/ModeTuner.h"
#include "services/graphs/Recording.h"
#include "shim/module/ModuleCache.h"
#include "shim/timepoint/HostWaitPredictor.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

namespace gpuasync {

class Recorder;
struct Frame;
struct ThreadContext;

/// A graph, and the recording that it was made of.
struct Executable {
  Recording recording;
  uint64_t shape = 0;                   ///< its hash
  HostWaitPredictor *awaited = nullptr; ///< of its part of the region
  NativeGraph graph = nullptr;
  Timepoint last; ///< behind its last launch
  /// Whether it does not run, or what is launched on that stream, in the hands
  /// of the caller, is behind it anyway: else it would wait for itself, and
  /// with it for what is ahead of it there.
  bool isFreeFor(const gpuasync_stream *on) const;
  /// Whether it is known not to run.
  bool isDone() const { return last.isCounted(); }
  /// What Recording::isBehind said of these streams last.
  std::vector<bool> askedFor;
  bool isBehind = false;
  bool takesAnyUpdate = false;
  bool exactCalls = false; ///< the bytes of library calls are part of its shape
  std::vector<uint32_t> dirty; ///< calls whose node has older arguments
  /// The call has other arguments than its node.
  void markDirty(size_t call) {
    if (recording.calls[call].dirty)
      return;
    dirty.push_back(static_cast<uint32_t>(call));
    recording.calls[call].dirty = true;
  }
  /// Those of a recording of the same shape.
  void takeArguments(const Recording &other);
};

/// Thread safe. Made with the first region of an instance, gone with its
/// modules, which the graphs hold kernels of.
class Regions final : public ServicePart {
public:
  explicit Regions(Instance &instance);
  /// Regions of an instance; null before its first region.
  static Regions *of(const Instance &instance) {
    return static_cast<Regions *>(
        instance.regions.load(std::memory_order_acquire));
  }
  Regions(const Regions &) = delete;

  /// Of a region: its site, and how often one pass was cut before.
  struct Key {
    const gpuasync_site *site = nullptr;
    uint32_t part = 0;
    bool operator<(const Key &other) const {
      return site != other.site ? site < other.site : part < other.part;
    }
  };
  /// The frame's outermost region begins: `frame.region` is set, unless its
  /// calls go straight to their streams.
  void enter(Frame &frame, const gpuasync_site *site);
  /// It has ended, played or dropped.
  void leave(Frame &frame);

  /// The executable that the region used last and nobody else holds, or null.
  std::unique_ptr<Executable> take(const Key &key);
  /// One of that shape that can be launched on a stream now, or null.
  std::unique_ptr<Executable> take(const Key &key, const Recording &recording,
                                   uint64_t shape, const gpuasync_stream *on);
  /// The hash of its shape as the region's graphs have it now.
  uint64_t shapeOf(const Key &key, const Recording &recording);
  void give(const Key &key, std::unique_ptr<Executable> executable);
  /// Whether a graph is to be made of a recording of that shape, which has been
  /// played on streams.
  bool wantsGraph(const Key &key, uint64_t shape);
  /// There was no graph to be had of such a recording. `forNow`: it is tried
  /// again after some more that come.
  void refuse(const Key &key, uint64_t shape, bool forNow);

  /// Makes the graph of a recording, which it takes over then; the next `take`
  /// may give it. Of a caller's stream `on` it is that stream's: nobody knows
  /// when it rests.
  Status make(const Key &key, Recording &recording, uint64_t shape,
              gpuasync_stream *on, Frame &frame);
  /// Gives the graph the arguments of its dirty calls. An error is one of the
  /// call `failed`.
  Status update(Executable &executable, Frame &frame, uint32_t &failed);
  /// The graph cannot be updated to what was asked for, for the call `failed`:
  /// it goes when nothing runs. The next one of its shape takes all updates,
  /// but for those of library calls: where these are to blame, they are part of
  /// the region's shapes from now on. `forNow`: another try may come to more.
  void retire(const Key &key, std::unique_ptr<Executable> executable,
              uint32_t failed, bool forNow);

  /// A host wait of the frame has ended, or never comes (`waited` is false): a
  /// pass that is timed is over.
  void endTimed(Frame &frame, bool waited);
  /// Visits the choice of each region that has one.
  template <typename Visitor>
  void forEachTuner(Visitor visitor) {
    std::lock_guard<std::mutex> lock(mutex);
    for (auto &[key, region] : regions)
      if (region.tuner.asked())
        visitor(*key.site, region.tuner);
  }

  /// The context has them from now on, as the program is released.
  void keepTunings();

  using Gone = std::vector<std::unique_ptr<Executable>>;
  /// Takes out what is retired.
  void takeRetired(Gone &gone);
  /// Retires all that there is. No call holds one.
  void retireAll();
  /// Nothing of the context runs, and no call holds an executable: all launches
  /// have ended, those on callers' streams too.
  void noteIdle();

private:
  /// Graphs that a region keeps, of all threads, and that wait for their end.
  static constexpr size_t maxExecutables = 32, maxRetired = 64;
  /// Tunings that a context keeps.
  static constexpr size_t maxPastTunings = 1024;
  /// Passes after which a graph that failed is tried again.
  static constexpr int32_t passesToRetry = 64;
  struct Region {
    std::vector<std::unique_ptr<Executable>> idle; ///< used last: at the end
    uint32_t made = 0; ///< those that calls hold included
    /// A shape that came lately.
    struct Seen {
      uint64_t shape = 0;
      int32_t times = 0;      ///< how often; below 0: a graph failed for now
      bool refused = false;   ///< the device cannot hold it in a graph
      bool anyUpdate = false; ///< an update was not to be had
    };
    std::vector<Seen> seen;
    Seen *find(uint64_t shape);
    ModeTuner tuner; ///< of its first part, for all
    HostWaitPredictor awaited;
    /// A graph could not be changed to other arguments of a library call.
    bool exactCalls = false;
  };

  Instance &instance;
  std::mutex mutex;
  //===--- With the mutex held
  std::unique_ptr<Executable> takeLast(const Key &key);
  void giveBack(const Key &key, std::unique_ptr<Executable> executable);

  std::map<Key, Region> regions;
  std::vector<std::unique_ptr<Recorder>> recorders; ///< idle
  Gone retired;
};

/// Tunings of programs that were released; choicesMutex is held. Null: there
/// are none.
std::vector<PastTuning> *pastTunings(gpuasync_context &context);

/// In nanoseconds, of passes that are timed; tests have their own.
extern std::atomic<int64_t (*)()> regionClock;

/// Nothing of the context runs, or it is lost; no lock is held.
void destroyGraphs(gpuasync_context &context, Regions::Gone &gone);

} // namespace gpuasync

#endif // GPUASYNC_SERVICES_GRAPHS_REGIONS_H
