//===- Timepoint.h - Points of streams --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A timepoint is a point of a stream that the host or another stream can wait
// for. A timeline counts the work of one stream and names its points.
//===----------------------------------------------------------------------===//
//
// Naming a point makes no driver call. Timepoints.h makes one that lasts, and
// asks, waits and orders.
//
// The host learns of a point by a word in its memory, by an event, by the count
// of the stream's finished operations, or by asking for the whole stream. The
// device brings a word to a value behind a flag, a kernel or a graph. It writes
// no word after an error. Therefore a timepoint knows its timeline: a host wait
// asks that stream for errors, and the count covers work that has failed.
//
// No driver call makes a stream wait for a word. A stream waits for events.
//
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_TIMEPOINT_TIMEPOINT_H
#define GPUASYNC_SHIM_TIMEPOINT_TIMEPOINT_H

#include "device/Extensions.h"

#include <atomic>
#include <utility>

namespace gpuasync {

class Timeline;

/// A point of a stream: a value that can be copied. It does not own its event,
/// which belongs to Timepoints (make, drop) or to whoever named the point by
/// it.
struct Timepoint {
  enum class Kind : uint8_t {
    Reached, ///< nothing to wait for
    Named,   ///< a position only
    Idle,    ///< the stream has no work left
    Word,    ///< `*word` has come to `value`, or beyond
    Event    ///< `event`, as it was recorded last, is reached
  };
  Kind kind = Kind::Reached;
  uint32_t value = 0;
  union {
    NativeEvent event = nullptr;
    const uint32_t *word;
  };
  /// Its stream's timeline; null: only the word or the event tells of the
  /// point.
  const Timeline *timeline = nullptr;
  uint64_t position = 0; ///< operations of the timeline that are before it

  static Timepoint ofWord(const uint32_t *word, uint32_t value) {
    Timepoint point;
    point.kind = Kind::Word;
    point.word = word;
    point.value = value;
    return point;
  }
  static Timepoint ofEvent(NativeEvent event) {
    Timepoint point;
    point.kind = Kind::Event;
    point.event = event;
    return point;
  }

  bool isSet() const { return kind != Kind::Reached; }
  /// Whether a word says that the work has succeeded. No driver call.
  bool isTold() const {
    return kind == Kind::Reached ||
           (kind == Kind::Word &&
            static_cast<int32_t>(__atomic_load_n(word, __ATOMIC_ACQUIRE) -
                                 value) >= 0);
  }
  /// Whether the host knows by its count that the work has ended, though it may
  /// have failed. A word may come before the driver is done with a graph; this
  /// does not. No driver call; any thread.
  inline bool isCounted() const;
};

/// The work of one native stream, as far as it was counted, and the words by
/// which the device tells of it. The thread that has the stream uses it; any
/// thread may call the functions that say so.
///
/// A timeline lives until the context closes. If its native stream goes, it
/// waits for another one, and its positions and words go on from where they
/// were. So old points stay reached.
class Timeline {
public:
  /// `isShared`: others put work on the stream as well, which nobody counts.
  Timeline(const NativeStream &native, bool isShared)
      : native(native), isShared(isShared) {}
  Timeline(const Timeline &) = delete;

  const NativeStream &native;
  const bool isShared;

  //===--- The count
  void note() { ++enqueued; }
  uint64_t position() const { return enqueued; }
  uint64_t finishedPosition() const {
    return finished.load(std::memory_order_acquire);
  }
  /// All that was counted has ended. Of a shared stream: all that its frame has
  /// put there.
  bool isIdle() const { return enqueued == finishedPosition(); }
  /// Notes that. `withError`: some of it has failed.
  void finish(bool withError = false) {
    if (withError)
      failed.store(enqueued, std::memory_order_relaxed);
    finished.store(enqueued, std::memory_order_release);
  }
  /// Any thread.
  bool hasFinished(uint64_t position) const {
    return !isShared && finishedPosition() >= position;
  }
  /// It has finished, and no error of it is known. Any thread.
  bool hasSucceeded(uint64_t position) const {
    return hasFinished(position) &&
           failed.load(std::memory_order_relaxed) < position;
  }

  //===--- Points
  /// The point after all work so far. Without a flag or an event of its own it
  /// is seen reached when the next flag is written, or when the stream is idle.
  Timepoint now() const { return pointAt(flagValue + !isFlagged()); }
  /// As `now`, if no flag is wanted (wantsFlag), or one was just written.
  Timepoint newest() const { return pointAt(flagValue); }
  /// The stream has nothing left to do, whoever has put it there. Any thread.
  Timepoint whenIdle() const {
    Timepoint point;
    point.kind = Timepoint::Kind::Idle;
    point.timeline = this;
    point.position = UINT64_MAX;
    return point;
  }

  //===--- Words
  /// A word of pinned memory that the device can write on this stream.
  void takeFlag(uint32_t *word) {
    flag = word;
    flagValue = *word;
  }
  /// Null if it has none. It has none from then on.
  uint32_t *releaseFlag() { return std::exchange(flag, nullptr); }
  bool hasFlag() const { return flag; }
  /// The newest operation is enqueued with all its parts. A copy may have
  /// several, with flags between them.
  void seal() { sealed = enqueued; }
  /// The newest operation writes this word; its `word` may be null.
  void noteSignal(const Completion &completion) {
    signalWord = completion.word;
    signalValue = completion.value;
    signalled = enqueued;
  }
  /// The newest operation needs no wait: the word before it is enough.
  void moveSignal() { signalled = enqueued; }
  /// A kernel or a graph tells the host of the newest operation.
  bool isSignalled() const { return signalWord && signalled == enqueued; }
  /// Nothing tells the host of the newest operation unless a flag is written.
  bool wantsFlag() const { return flag && !isSignalled() && !isFlagged(); }
  /// Counts staging whose use ends with the next flag: bytes since the last.
  uint64_t noteStaged(uint64_t bytes) { return stagedSinceFlag += bytes; }

  //===--- The signal of the stream's kernels
  /// Whether its kernels have one. Asks for it once.
  bool needSignal(CompletionSignals *signals) {
    if (signal == unset && (!signals || !signals->acquireSignal(signal)))
      signal = none;
    return signal < unset;
  }
  uint32_t signalIndex() const { return signal; }
  /// Nothing runs on the stream.
  void releaseSignal(CompletionSignals *signals) {
    if (signal < unset)
      signals->releaseSignal(signal);
    signal = unset;
  }

private:
  friend class Timepoints;
  static constexpr uint32_t none = UINT32_MAX, unset = UINT32_MAX - 1;

  /// The newest flag is behind all of the newest operation.
  bool isFlagged() const { return sealed == enqueued && flagged == enqueued; }
  Timepoint pointAt(uint32_t flagAt) const {
    Timepoint point;
    point.timeline = this;
    point.position = enqueued;
    point.kind = Timepoint::Kind::Named;
    if (!isSignalled() && !flag)
      return point;
    point.kind = Timepoint::Kind::Word;
    point.word = isSignalled() ? signalWord : flag;
    point.value = isSignalled() ? signalValue : flagAt;
    return point;
  }

  uint64_t enqueued = 0;             ///< operations so far
  std::atomic<uint64_t> finished{0}; ///< of them known to have ended
  std::atomic<uint64_t> failed{0};   ///< as that was when an error was found
  uint64_t sealed = 0, flagged = 0, signalled = 0; ///< as `enqueued` was then
  uint32_t *flag = nullptr;
  const uint32_t *signalWord = nullptr;
  uint32_t flagValue = 0, signalValue = 0; ///< newest that were asked for
  uint32_t signal = unset;
  uint64_t stagedSinceFlag = 0; ///< bytes
};

bool Timepoint::isCounted() const {
  return kind == Kind::Reached || (timeline && timeline->hasFinished(position));
}

} // namespace gpuasync

#endif // GPUASYNC_SHIM_TIMEPOINT_TIMEPOINT_H
