//===- StreamPool.h - Streams of a context ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Idle streams are handed out last in, first out, from the thread's own list if
// it has one. A stream given back with work on it is queried before it is used
// again: nobody else can have put anything on it.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_POOL_STREAMPOOL_H
#define GPUASYNC_SHIM_POOL_STREAMPOOL_H

#include "device/Driver.h"
#include "shim/base/Lists.h"
#include "shim/timepoint/Timepoint.h"

#include <atomic>
#include <mutex>
#include <string>

namespace gpuasync {

class CommandSink;
struct ContextPools;
struct DeviceUse;
struct OpenFrame;
struct PoolAllocation;
struct Registration;
struct StagingUse;
struct ThreadContext;

/// Recognises a stream whose unfinished operations are only allocations, frees
/// and waits for one event: work that waits for nothing else may begin there.
/// `at`: the operations that are before the one that is noted. Only regions
/// ask (Recorder::findGraphStream).
class OpenWaits {
public:
  void noteMemory(uint64_t at) {
    if (memoryTo != at)
      memoryFrom = at;
    memoryTo = at + 1;
    if (gatedTo == at && gate)
      gatedTo = at + 1;
  }
  /// `event` and `generation` are one record.
  void noteWait(uint64_t at, const void *event, uint32_t generation) {
    // Memory waits for nothing, and may be handed out before the first wait.
    if (gatedTo != at || gate != event || gateGeneration != generation)
      gatedFrom = memoryTo == at ? memoryFrom : at;
    gate = event;
    gateGeneration = generation;
    gatedTo = at + 1;
  }
  bool hasMemoryOnly(const Timeline &timeline) const {
    return memoryTo == timeline.position() &&
           memoryFrom <= timeline.finishedPosition();
  }
  bool isGated(const Timeline &timeline) const {
    return gate && gatedTo == timeline.position() &&
           gatedFrom <= timeline.finishedPosition();
  }
  bool hasGateOf(const OpenWaits &other) const {
    return gate == other.gate && gateGeneration == other.gateGeneration;
  }

private:
  uint64_t memoryFrom = 0, memoryTo = 0; ///< allocations and frees
  uint64_t gatedFrom = 0, gatedTo = 0;   ///< these, and waits for one event
  const void *gate = nullptr;            ///< that event
  uint32_t gateGeneration = 0;
};

/// Who holds a stream outside of frames. A constant object.
struct StreamHolder {
  /// It leaves work of frames on the stream between them, so the context is not
  /// quiescent while it holds the stream. The text says so to who trims the
  /// context, and what to do. Null: it leaves no work.
  const char *leavesWork = nullptr;
};
/// The callers of gpuasync_context_stream_create.
extern const StreamHolder embedder;

/// Work of one stream that comes before an operation of another one, which has
/// waited for it. It stays true of streams that have got new owners.
struct Cover {
  const Timeline *by = nullptr;
  uint64_t position = 0; ///< operations of `by` up to the one that has waited
  uint64_t upTo = 0;     ///< operations of the stream that are covered
};

} // namespace gpuasync

/// A physical stream, or a wrapper of the caller's one (CallerStreams.h).
/// Aligned, so that streams of different threads share no cache line.
struct alignas(64) gpuasync_stream {
  static constexpr uint32_t recentCount = 16;
  gpuasync_context *context = nullptr;
  gpuasync::NativeStream native = nullptr;
  gpuasync::OpenFrame *frame = nullptr; ///< the owner; null in the pool
  gpuasync::DeviceUse *use = nullptr;   ///< the owner's of `context`
  gpuasync_stream *previous = nullptr, *next = nullptr;
  const bool external;   ///< a wrapper: native is not ours
  bool isUrgent = false; ///< its work begins before that of others
  const gpuasync::StreamHolder *holder = nullptr; ///< null: nobody
  /// A call has ended without its work here, which uses the call's memory.
  bool isAbandoned = false;
  /// Of an embedder's: the last wait for it came to its time limit.
  std::atomic<bool> isOverdue{false};
  /// A thread waits for it without a lock: it stays on its list.
  bool awaited = false;
  uint64_t waitRound = 0; ///< of the last wait for all streams that has done so
  //===--- Of a wrapper
  /// An event behind all work that frames have left on the stream.
  gpuasync::Timepoint tail;
  bool taken = false; ///< by a frame
  bool busy = false;  ///< the tail is not known to be reached
  //===--- In a region (Recorder.h)
  gpuasync::CommandSink *region = nullptr; ///< that records what it is given
  uint32_t regionNumber = 0;
  /// What comes on this stream is behind that one, on which a graph has its
  /// work: nothing says so to the driver yet, and `frame` is null until then.
  gpuasync_stream *aliasOf = nullptr;
  /// What comes on this stream is behind what this one has been given.
  gpuasync_stream &work() { return aliasOf ? *aliasOf : *this; }
  //===--- What is on it
  gpuasync::Timeline timeline;
  gpuasync::OpenWaits waits;
  gpuasync::Cover cover;
  uint64_t capture = 0; ///< of the capture that it is part of
  gpuasync::Queue<gpuasync::StagingUse> staging;
  /// Staging that an error left without a timepoint: free once the stream is
  /// idle.
  gpuasync::Stack<gpuasync::PoolAllocation> stuck;
  /// The newest operations, for a timeout's list: number n at n % recentCount.
  const gpuasync_site *recent[recentCount] = {};

  explicit gpuasync_stream(bool external = false)
      : external(external), timeline(native, external) {}
  void note(const gpuasync_site *site) {
    recent[timeline.position() % recentCount] = site;
    timeline.note();
  }
  const gpuasync_site *newest() const {
    return recent[(timeline.position() - 1) % recentCount];
  }
  /// Memory is handed out, or taken back, behind what is there.
  void noteMemory(const gpuasync_site *site) {
    waits.noteMemory(timeline.position());
    note(site);
  }
  /// It waits for an event, of which `event` and `generation` are one record.
  void noteWait(const void *event, uint32_t generation) {
    waits.noteWait(timeline.position(), event, generation);
    note(nullptr);
  }
  /// The next work on `later` comes behind the first `upTo` operations here.
  void noteCover(const gpuasync_stream &later, uint64_t upTo) {
    cover = {&later.timeline, later.timeline.position(), upTo};
  }
  /// Whether the host knows without a question that nothing runs here: another
  /// stream that it has waited for has waited for all of this one's work. An
  /// error of that work would have come to the other stream, too.
  bool isKnownIdle() const {
    return timeline.isIdle() ||
           (cover.by && cover.upTo == timeline.position() &&
            cover.by->hasSucceeded(cover.position));
  }
  /// Both wait for one event only: they begin at one time.
  bool beginsWith(const gpuasync_stream &other) const {
    return waits.isGated(timeline) && other.waits.isGated(other.timeline) &&
           waits.hasGateOf(other.waits);
  }
  /// Memory is freed behind what is there, which nobody waits for: the word of
  /// a graph or a kernel that its work is done is enough.
  void noteFree(const gpuasync_site *site) {
    const bool was = timeline.isSignalled();
    noteMemory(site);
    if (was)
      timeline.moveSignal();
  }
};

namespace gpuasync {
/// Whether an address that an embedder gave can be a stream's. CUDA's numbers
/// of default streams are small.
inline bool canBeStream(const void *address) {
  const auto number = reinterpret_cast<uintptr_t>(address);
  return number >= 4096 && number % alignof(gpuasync_stream) == 0;
}
} // namespace gpuasync

namespace gpuasync {

using Stream = gpuasync_stream;

/// Streams that serve callers' captures; the service's. Thread safe. Under its
/// lock no other is taken.
class CapturedStreams {
public:
  virtual ~CapturedStreams() = default;
  /// Returns those whose captures have ended. They are idle. Under StreamPool's
  /// lock.
  virtual Stack<Stream> takeEnded() = 0;
  virtual bool isEmpty() = 0;
};

/// Thread safe; a slot is passed by its own thread, a stream by one thread at a
/// time. Under its lock those of captures, staging, memory and timepoints are
/// taken, and the driver is asked, but for nothing that may block.
class StreamPool {
public:
  explicit StreamPool(ContextPools &context) : context(context) {}
  StreamPool(const StreamPool &) = delete;
  ~StreamPool();

  /// `isUrgent`: where the device has priorities. No thread keeps such ones.
  Status take(ThreadContext *slot, bool isUrgent, Stream *&out);
  /// `slot` null: to those of all threads. `idle`: all its work is known to be
  /// done. Also for wrappers.
  void give(ThreadContext *slot, Stream *stream, bool idle);
  /// What is idle in a thread that ends, or whose context does.
  void takeBack(ThreadContext &slot);

  /// "a; b; ...": what a stream of the context has not finished.
  std::string listUnfinished(const Stream &stream);

  //===--- Held outside of frames
  void hold(Stream *stream, const StreamHolder *holder);
  /// An embedder's comes back, with work on it, at any time; false: it is none.
  bool giveEmbedder(Stream *stream);
  /// The error of an embedder's stream has been reported and goes, unless
  /// another thread waits for the stream and may be reading it.
  void resetHeld(Stream &stream);
  uint64_t countEmbedders();
  /// A holder that leaves work on a stream; null: there is none.
  const StreamHolder *findBusyHolder();

  //===--- Rest
  /// Whether no stream that was given back has work.
  bool reap();
  enum class Waited {
    Pending,   ///< given back with work
    Abandoned, ///< of these one with abandoned work
    Held,      ///< outside of frames
    Any        ///< not in a capture; behind its work one may stand in a wait
  };
  /// The next such stream; a pending one, or one that round `round` has not
  /// waited for. It stays where it is until endWait, which says whether its
  /// holder leaves work on it. Null: none.
  Stream *beginWait(uint64_t round, Waited which);
  bool endWait(Stream *stream, uint64_t round);
  /// "a; b; ...": what has not ended on streams that were given back, or on
  /// those of them with abandoned work.
  std::string describePending(bool abandonedOnly = false);
  /// Sites of a program (null: of all) whose constant data goes.
  void forgetSites(const Registration *gone);
  /// Any of ours; null if there is none.
  NativeStream any();
  /// Those that are too many. Nothing runs.
  void destroyRetired();
  /// At the context's end. `alive`: the device is not lost.
  void destroy(bool alive);

private:
  Status takeFlag(std::unique_lock<std::mutex> &lock, Stream &stream);
  void keepBare(Stream &stream);
  bool reapOne(Stream *stream, bool &isLost);
  void reapFirst(unsigned looks);
  void reapPending();
  void keepEnded();
  void keepIdle(Stream *stream);

  ContextPools &context;
  std::mutex mutex;
  bool destroyed = false; ///< what comes back is the driver's no more
  Stack<Stream> idle[2];  ///< the second: urgent ones
  Queue<Stream> pending;
  Stack<Stream> retired; ///< to be destroyed
  /// Their native streams were: timepoints know them, so they serve again.
  Stack<Stream> bare;
  DriverList<Stream *> all;
  std::vector<uint32_t *> freeFlags;
  DriverList<void *> flagPages;
};

} // namespace gpuasync

#endif // GPUASYNC_SHIM_POOL_STREAMPOOL_H
