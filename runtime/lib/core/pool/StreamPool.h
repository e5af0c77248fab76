//===- StreamPool.h - Streams of a context ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Idle streams are handed out last in, first out, from the thread's own list if
// it has one. A stream given back with work on it is queried before it is used
// again: nobody else can have put anything on it.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_CORE_POOL_STREAMPOOL_H
#define GPUASYNC_CORE_POOL_STREAMPOOL_H

#include "core/base/Lists.h"
#include "drivers/Driver.h"

#include <atomic>
#include <mutex>
#include <string>

namespace gpuasync {

class Recorder;
struct PoolAllocation;
struct Frame;
struct Registration;
struct StagingUse;
struct ThreadContext;

} // namespace gpuasync

namespace gpuasync {

/// A number of operations, written by who has the stream and read by anybody.
class Position {
public:
  operator uint64_t() const { return value.load(std::memory_order_acquire); }
  void operator=(uint64_t n) { value.store(n, std::memory_order_release); }

private:
  std::atomic<uint64_t> value{0};
};

} // namespace gpuasync

/// A physical stream, or a wrapper of the caller's one (CallerStreams.h).
/// Aligned, so that streams of different threads share no cache line.
struct alignas(64) gpuasync_stream {
  static constexpr uint32_t recentCount = 16;
  gpuasync_context *context = nullptr;
  gpuasync::NativeStream native = nullptr;
  gpuasync::Frame *frame = nullptr; ///< the owner; null in the pool
  gpuasync_stream *previous = nullptr, *next = nullptr;
  uint64_t id = 0;       ///< unique in the context; 0 of a wrapper
  bool external = false; ///< a wrapper: native is not ours
  /// Who holds it outside of frames: gpuasync_context_stream_create's caller,
  /// or a Session between its calls.
  enum class Holder : uint8_t { None, Embedder, Session };
  Holder holder = Holder::None;
  /// A call has ended without its work here, which uses the call's memory.
  bool isAbandoned = false;
  /// Of an embedder's: the last wait for it came to its time limit.
  std::atomic<bool> isOverdue{false};
  /// A thread waits for it without a lock: it stays on its list.
  bool awaited = false;
  uint64_t waitRound = 0; ///< of the last wait for all streams that has done so
  //===--- Of a wrapper
  /// Reached once all work that frames have left on the stream is done.
  gpuasync::NativeEvent tail = nullptr;
  bool taken = false; ///< by a frame
  bool busy = false;  ///< the tail is not known to be reached
  //===--- In a region (Recorder.h)
  gpuasync::Recorder *region = nullptr; ///< that records what it is given
  uint32_t regionNumber = 0;
  /// What comes on this stream is behind that one, on which a graph has its
  /// work: nothing says so to the driver yet, and `frame` is null until then.
  gpuasync_stream *aliasOf = nullptr;
  /// What comes on this stream is behind what this one has been given.
  gpuasync_stream &work() { return aliasOf ? *aliasOf : *this; }
  //===--- What is on it
  uint64_t enqueued = 0;       ///< operations so far
  gpuasync::Position finished; ///< of them known complete
  /// The operations from the one on up to the other are allocations and frees.
  uint64_t memoryFrom = 0, memoryTo = 0;
  /// The operations from the one on up to the other are waits for one event,
  /// this one, and allocations and frees.
  uint64_t gatedFrom = 0, gatedTo = 0;
  const void *gate = nullptr;
  uint32_t gateGeneration = 0;
  uint64_t capture = 0; ///< of the capture that it is part of
  uint32_t *flagSlot = nullptr;
  uint32_t flagValue = 0;
  uint64_t flagged = 0; ///< what was enqueued when the flag was last written
  uint64_t graphAt = 0; ///< what was enqueued with the newest graph
  /// Its newest operation is a graph, and the flag was written behind it. Of
  /// others it is not known: a copy may be several, with flags between them.
  bool isFlagged() const { return graphAt == enqueued && flagged == enqueued; }
  /// What the host sees when operation `signalled`, a graph or a kernel, has
  /// done its work; null: none.
  uint32_t *signalSlot = nullptr;
  uint32_t signalValue = 0;
  uint64_t signalled = 0;
  /// The index of the completion signal of this stream's kernels
  /// (CompletionSignals). `unset` until a kernel needs one.
  static constexpr uint32_t noSignal = UINT32_MAX, unset = UINT32_MAX - 1;
  uint32_t signal = unset;
  bool hasSignal() const { return signal < unset; }
  /// Its newest operation is such a one, or a free behind one.
  bool isSignalled() const { return signalSlot && signalled == enqueued; }
  gpuasync::Queue<gpuasync::StagingUse> staging;
  /// Staging that an error left without a fence: free once the stream is idle.
  gpuasync::Stack<gpuasync::PoolAllocation> stuck;
  uint64_t stagedSinceFlag = 0;
  /// The newest operations, for a timeout's list: number n at n % recentCount.
  const gpuasync_site *recent[recentCount] = {};

  void note(const gpuasync_site *site) {
    recent[enqueued % recentCount] = site;
    ++enqueued;
  }
  /// Memory is handed out, or taken back, behind what is there.
  void noteMemory(const gpuasync_site *site) {
    if (memoryTo != enqueued)
      memoryFrom = enqueued;
    const bool isGated = gatedTo == enqueued && gate;
    note(site);
    memoryTo = enqueued;
    if (isGated)
      gatedTo = enqueued;
  }
  /// It waits for an event, of which `event` and `generation` are one record.
  void noteWait(const void *event, uint32_t generation) {
    // Memory waits for nothing, and may be handed out before the first wait.
    if (gatedTo != enqueued || gate != event || gateGeneration != generation)
      gatedFrom = memoryTo == enqueued ? memoryFrom : enqueued;
    gate = event;
    gateGeneration = generation;
    note(nullptr);
    gatedTo = enqueued;
  }
  /// Nothing else of what it was given may be unfinished than waits for one
  /// event, and memory.
  bool isGated() const {
    return gate && gatedTo == enqueued && gatedFrom <= finished;
  }
  /// Both wait for one event only: they begin at one time.
  bool beginsWith(const gpuasync_stream &other) const {
    return isGated() && other.isGated() && gate == other.gate &&
           gateGeneration == other.gateGeneration;
  }
  /// Nothing else of what it was given may be unfinished.
  bool hasMemoryOnly() const {
    return memoryTo == enqueued && memoryFrom <= finished;
  }
  /// Memory is freed behind what is there, which nobody waits for: the word of
  /// a graph or a kernel that its work is done is enough.
  void noteFree(const gpuasync_site *site) {
    const bool was = isSignalled();
    noteMemory(site);
    if (was)
      signalled = enqueued;
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

/// Thread safe; a slot is passed by its own thread, a stream by one thread at a
/// time. Under its lock those of staging, memory and fences are taken, and the
/// driver is asked, but for nothing that may block.
class StreamPool {
public:
  explicit StreamPool(gpuasync_context &context) : context(context) {}
  StreamPool(const StreamPool &) = delete;
  ~StreamPool();

  Status take(ThreadContext *slot, Stream *&out);
  /// `slot` null: to those of all threads. `idle`: all its work is known to be
  /// done. Also for wrappers.
  void give(ThreadContext *slot, Stream *stream, bool idle);
  /// What is idle in a thread that ends, or whose context does.
  void takeBack(ThreadContext &slot);

  //===--- Held outside of frames
  void hold(Stream *stream, Stream::Holder holder);
  /// An embedder's comes back, with work on it, at any time; false: it is none.
  bool giveEmbedder(Stream *stream);
  /// The error of an embedder's stream has been reported and goes, unless
  /// another thread waits for the stream and may be reading it.
  void resetHeld(Stream &stream);
  uint64_t countEmbedders();
  bool isHeldBySession();

  //===--- Under a caller's capture
  /// One that an earlier frame left to the capture, or null.
  Stream *takeCaptured(uint64_t capture);
  /// The stream serves nothing else until its capture ends.
  void leaveToCapture(Stream *stream);
  bool anyCaptured();

  //===--- Rest
  /// Whether no stream that was given back has work.
  bool reap();
  enum class Waited {
    Pending, ///< given back with work
    Held,    ///< outside of frames
    Any      ///< not in a capture; behind its work one may stand in a wait
  };
  /// The next such stream; a pending one, or one that round `round` has not
  /// waited for. It stays where it is until endWait, which says whether a
  /// session holds it. Null: none.
  Stream *beginWait(uint64_t round, Waited which);
  bool endWait(Stream *stream, uint64_t round);
  /// The same of one with abandoned work.
  Stream *beginWaitForAbandoned();
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
  bool reapOne(Stream *stream, bool &isLost);
  void reapFirst(unsigned looks);
  void reapPending();
  void reapCaptured();
  void keepIdle(Stream *stream);

  gpuasync_context &context;
  std::mutex mutex;
  uint64_t made = 0;      ///< so far
  bool destroyed = false; ///< what comes back is the driver's no more
  Stack<Stream> idle;
  Queue<Stream> pending;
  Stack<Stream> captured; ///< until their captures end
  Stack<Stream> retired;  ///< to be destroyed
  DriverList<Stream *> all;
  std::vector<uint32_t *> freeFlags;
  DriverList<void *> flagPages;
};

} // namespace gpuasync

#endif // GPUASYNC_CORE_POOL_STREAMPOOL_H
