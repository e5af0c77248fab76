//===- Recorder.h - A region that a frame is in -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Between the begin of a region and its end, fragments come here: they are
// compared with what the region asked for last time, or recorded, and played at
// the end.
//===----------------------------------------------------------------------===//
//
// Streams and events are the pools' own, so that all that does not enqueue goes
// on as ever; what must see the recorded work on its stream plays it first
// (`flush`), and the region goes on with a new part. As long as each fragment
// is the predicted one (`matchedItems` of them so far) nothing is written but
// arguments that differ. The first other one copies the prediction's beginning,
// and all that follow are recorded behind it.
//
// A fragment with a copy that no recording can hold goes to its streams, behind
// what is recorded. The compiler gives such copies fragments of their own.
//
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SERVICES_GRAPHS_RECORDER_H
#define GPUASYNC_SERVICES_GRAPHS_RECORDER_H

#include "services/graphs/Regions.h"
#include "services/hostcopy/StagingPool.h"
#include "shim/abi/Transfer.h"

namespace gpuasync {

/// Of one thread, for one region at a time (Regions::enter).
class Recorder final : public CommandSink {
public:
  Recorder() = default;
  Recorder(const Recorder &) = delete;

  Status add(const PreparedFragment &prepared, Stream *const *lanes,
             const void *block) override;
  Status put(Stream &stream, const Command &work, const Sides &sides) override;
  Status record(Event &event, Stream &stream) override;
  Status wait(Stream &stream, Event &event) override;
  bool give(Stream &stream) override;
  Stream *takeGiven() override;
  void resolveAliases(Stream &ahead, bool idle) override;
  /// The next item is another part of the region.
  Status flush() override;
  const char *end(const gpuasync_site *site) override;

private:
  /// Work of a region beyond this is played before the end.
  static constexpr size_t maxItems = 8192;
  /// Parts that are told apart.
  static constexpr uint32_t maxParts = 16;
  /// Streams that are given back are not used again up to this number, since
  /// that would order what is not.
  static constexpr uint32_t maxGiven = 64;

  /// Staging that one recording holds, which its graph keeps.
  static constexpr uint64_t maxStagedBytes = 4 << 20;
  /// What the host has to write once a download is done.
  struct HostWrite {
    uint32_t call = 0;
    char *low = nullptr;
    uint64_t extent = 0;
    std::unique_ptr<StridedCopy> scatter;
  };

  uint32_t numberOf(Stream &stream) {
    return __builtin_expect(stream.region == this, 1) ? stream.regionNumber
                                                      : meet(stream);
  }
  uint32_t meet(Stream &stream);
  size_t itemCount() const {
    return predicted ? matchedItems : recording.items.size();
  }
  size_t callCount() const {
    return predicted ? matched : recording.calls.size();
  }
  Recording &current() { return predicted ? predicted->recording : recording; }
  /// The predicted item that comes next; null: there is none.
  Item *nextItem() {
    if (__builtin_expect(!predicted, 0))
      return nullptr;
    std::vector<Item> &items = predicted->recording.items;
    if (__builtin_expect(matchedItems < items.size(), 1))
      return &items[matchedItems];
    diverge();
    return nullptr;
  }
  void diverge();
  /// For the command that is added: the predicted call if it may be the next
  /// one, which counts as matched then; else null, and nothing is predicted any
  /// longer.
  Call *match(Command::Kind kind, uint32_t stream, size_t bytes, Staged staged);
  Call &append(Command::Kind kind, uint32_t stream, const gpuasync_site *site,
               size_t bytes, Staged staged);
  /// Plays what is recorded if it is much.
  Status bound(size_t more) {
    return __builtin_expect(itemCount() + callCount() + more > maxItems, 0)
               ? flush()
               : Status();
  }
  template <typename Arguments>
  void putArguments(Command::Kind kind, Stream &stream,
                    const Arguments &arguments, const gpuasync_site *site);
  template <typename Arguments>
  void setArguments(Call &call, const Arguments &arguments);
  /// Takes a copy with one pageable side.
  template <typename Copy>
  Status putStaged(Command::Kind kind, Stream &stream, const Copy &copy,
                   const Sides &sides, const gpuasync_site *site);
  /// Whether a recorded download writes a part of it.
  bool writes(const char *source, uint64_t bytes) const;
  /// The fragment that is being added cannot be recorded.
  Status refuse();
  Status finish();
  void drop();
  void beginItem();
  void endItem();
  void dropItem();
  void compare(Item &item);
  void abandonItem();
  Status addCommands();
  Status addCommand(uint32_t number);
  Status addLaunch(uint32_t number, Call *call);
  /// Carries out a copy or a fill, here while `adding`.
  Status transfer(const gpuasync_command &command, Stream &stream,
                  const gpuasync_site *site);
  /// Plays what is recorded, and puts the fragment on its streams.
  Status addToStreams();
  void putEvent(bool isWait, uint32_t stream, uint32_t event);
  Status takeOwn(uint32_t number, Stream *&out);
  void stopFollowing(Stream &stream);
  Stream *findGraphStream();
  Status putAhead(Stream &on);
  void takeBack();
  Status findExecutable(uint64_t shape, Stream &on);
  Status playPart();
  Status playGraph(Executable &executable, Stream &on);
  Status playStreams(Recording &calls);
  Status playOneStream(Recording &calls, Stream &on);
  /// All that is played is on `on`.
  Status serializeAfter(Stream &on);
  Status playItems(Recording &calls, std::vector<Event *> &native);
  Status playFragment(Recording &calls, const Item &item);
  Status playWork(Recording &calls, Call &call, Stream &stream);
  Status playStaged(const Command &copy, Call &call, Stream &stream);
  Status expect(HostWrite &write, Stream &stream, PoolAllocation *staging);

  friend class Regions;
  Frame *frame = nullptr;
  Regions *regions = nullptr;
  Regions::Key key;
  ExecutionMode way = ExecutionMode::Graph; ///< or ExecutionMode::Stream
  ExecutionMode played = ExecutionMode::Streams;
  bool playing = false;
  std::unique_ptr<Executable> predicted;
  size_t matchedItems = 0, matched = 0; ///< items and calls of it
  Recording recording; ///< without a prediction, or once it was wrong
  //===--- The fragment that is being added
  const PreparedFragment *adds = nullptr;
  const void *block = nullptr;
  bool isOpen = false; ///< its item: the next one that is matched, or the last
  bool refused = false;
  uint64_t changed = 0; ///< commands whose arguments are new
  uint32_t command = 0;
  Stream *const *lanes = nullptr;
  uint32_t numbers[GPUASYNC_FRAGMENT_COMMANDS];
  gpuasync_stream standIn; ///< for lanes without a stream
  //===--- The part
  uint32_t events = 0;           ///< recorded so far
  std::vector<Stream *> streams; ///< by number; null: a lane without one
  uint64_t stagedBytes = 0;
  std::vector<HostWrite> writesLater; ///< of downloads, in their order
  size_t written = 0;                 ///< of them, those that the frame expects
  Stack<Stream> given;
  //===--- Of findGraphStream
  std::vector<bool> onBusy;    ///< by number
  std::vector<Stream *> ahead; ///< they have nothing but memory to hand out
};

} // namespace gpuasync

#endif // GPUASYNC_SERVICES_GRAPHS_RECORDER_H
