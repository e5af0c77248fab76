//===- Recording.h - What a region asked for --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fragments of one pass through a region in the order in which they came,
// with the bytes of their arguments: what is compared, played on streams, and
// made into a graph.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SERVICES_GRAPHS_RECORDING_H
#define GPUASYNC_SERVICES_GRAPHS_RECORDING_H

#include "device/Command.h"
#include "shim/command/Fragment.h"
#include "shim/pool/MemoryPool.h"

#include <string.h>
#include <vector>

namespace gpuasync {

/// Whether the node of a launch can be given this config: no update changes
/// flags and clusters.
inline bool canBecome(const gpuasync_launch_config &old,
                      const gpuasync_launch_config &block) {
  return old.flags == block.flags &&
         memcmp(old.cluster, block.cluster, sizeof(old.cluster)) == 0;
}

/// Whether a copy has pageable memory of the host on one side, for which
/// staging stands.
enum class Staged : uint8_t { No, Upload, Download };

/// Puts staging in the place of the copy's pageable side.
template <typename Copy>
void setStaging(Copy &copy, Staged staged, void *staging) {
  if (staged == Staged::Upload)
    copy.source = staging;
  else
    copy.destination = staging;
}

/// One command of a recording; a copy of several boxes is several. Streams and
/// events have the numbers under which the region met them first.
struct Call {
  Command::Kind kind = Command::Kind::Launch; ///< a library's is Captured
  Staged staged = Staged::No;
  bool empty = false;   ///< a launch of no threads
  bool dirty = false;   ///< its arguments are not the graph's (Executable)
  uint32_t command = 0; ///< of the item's fragment
  uint32_t stream = 0;
  uint32_t bytes = 0;                  ///< of its arguments
  size_t arguments = 0;                ///< where they lie
  const gpuasync_site *site = nullptr; ///< of the instance's program
  const gpuasync_launch_config *config =
      nullptr; ///< of a launch, if it is a constant
  /// A staged copy's use of the staging that the arguments name as source or
  /// destination. Null: it was passed on, and they name what is not there.
  PoolAllocation *staging = nullptr;
};

/// A part of a recording: a fragment with its arguments, or the record of an
/// event or a wait for one.
struct Item {
  const PreparedFragment *prepared = nullptr; ///< null: of an event
  uint32_t firstCall = 0;
  uint32_t lanes = 0; ///< where the numbers of the lanes begin
  size_t block = 0;   ///< where the arguments lie
  bool stale = false; ///< an error came before all arguments were checked
  bool isWait = false;
  uint32_t stream = 0, event = 0;
};

/// The block of a fragment's arguments holds those of launches and library
/// calls; copies and fills have theirs behind it, as they are carried out.
class Recording {
public:
  std::vector<Item> items;
  std::vector<Call> calls;
  std::vector<uint32_t> lanes;      ///< stream numbers, of all items
  std::vector<uint32_t> staged;     ///< which calls are uploads and downloads
  uint32_t streams = 0, events = 0; ///< how many it met

  void clear() {
    items.clear();
    lanes.clear();
    calls.clear();
    staged.clear();
    used = 0;
    streams = events = 0;
  }
  /// Copies the first items and calls of `other`, and takes over the staging.
  /// This one is empty.
  void assign(Recording &other, size_t itemCount, size_t callCount);
  /// Gives up the last item, and the staging of its calls.
  void dropLast(MemoryPool &memory);
  /// Gives the staging of all calls back to `memory`.
  void dropStaging(MemoryPool &memory);

  /// Puts an item behind the others, with a copy of its arguments.
  Item &append(const PreparedFragment &prepared, const uint32_t *numbers,
               const void *block);
  void appendEvent(bool isWait, uint32_t stream, uint32_t event);
  /// Puts a call behind the others; the caller fills in `bytes` of arguments.
  Call &append(Command::Kind kind, uint32_t stream, const gpuasync_site *site,
               size_t bytes, Staged staged = Staged::No);
  /// Where the calls of an item end.
  size_t endOf(const Item &item) const {
    return &item == &items.back() ? calls.size() : (&item)[1].firstCall;
  }
  unsigned char *at(size_t offset) {
    return reinterpret_cast<unsigned char *>(units.data()) + offset;
  }
  const unsigned char *at(size_t offset) const {
    return reinterpret_cast<const unsigned char *>(units.data()) + offset;
  }
  unsigned char *argumentsOf(const Call &call) { return at(call.arguments); }
  const unsigned char *argumentsOf(const Call &call) const {
    return at(call.arguments);
  }
  /// The copy or the fill, of a call of its kind.
  template <typename Arguments>
  Arguments &argumentsAs(const Call &call) {
    return *reinterpret_cast<Arguments *>(argumentsOf(call));
  }
  template <typename Arguments>
  const Arguments &argumentsAs(const Call &call) const {
    return *reinterpret_cast<const Arguments *>(argumentsOf(call));
  }
  /// The copy or the fill as a command.
  Command commandOf(const Call &call) const {
    switch (call.kind) {
    case Command::Kind::CopyBytes:
      return Command(argumentsAs<ByteCopy>(call), call.site);
    case Command::Kind::Copy:
      return Command(argumentsAs<StridedCopy>(call), call.site);
    default:
      return Command(argumentsAs<StridedFill>(call), call.site);
    }
  }
  /// Takes staging for the call, a staged copy that has none.
  Status takeStaging(Call &call, MemoryPool &memory);
  /// The launch's config, with its parameters.
  gpuasync_launch_config blockOf(const Call &launch) const {
    const unsigned char *at = argumentsOf(launch);
    gpuasync_launch_config block;
    memcpy(&block,
           launch.config ? static_cast<const void *>(launch.config) : at,
           sizeof(block));
    block.params = launch.config ? at : at + sizeof(block);
    return block;
  }
  /// The library call; its arguments lie here.
  LibraryCall libraryOf(const Call &call) const {
    const auto &head = argumentsAs<gpuasync_replayable>(call);
    return {head.function, &head + 1,
            static_cast<uint32_t>(call.bytes - sizeof(head))};
  }

  /// Whether all work is behind what the streams `first` were given before.
  bool isBehind(const std::vector<bool> &first) const;
  /// It has a launch, or several of the rest: as a graph one launch takes half
  /// the time, and one copy as long as on a stream.
  bool gainsAsGraph() const;

  /// Of everything but the arguments that updates change. `exactCalls`: of
  /// library calls they change none.
  uint64_t hashShape(bool exactCalls) const;
  bool hasShapeOf(const Recording &other, bool exactCalls) const;

private:
  size_t reserve(size_t bytes);

  struct alignas(16) Unit {
    unsigned char bytes[16];
  };
  std::vector<Unit> units;
  size_t used = 0; ///< of them, in bytes
};

/// By call, the numbers of earlier calls after which it starts, ascending: the
/// edges of fragments, and what streams and events add between fragments.
std::vector<std::vector<uint32_t>> edgesOf(const Recording &recording);

} // namespace gpuasync

#endif // GPUASYNC_SERVICES_GRAPHS_RECORDING_H
