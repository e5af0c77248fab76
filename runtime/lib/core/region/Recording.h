//===- Recording.h - What a region asked for --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The calls of one pass through a region in the order in which they came, with
// the bytes of their arguments: what is compared, played on streams, and made
// into a graph.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_CORE_REGION_RECORDING_H
#define GPUASYNC_CORE_REGION_RECORDING_H

#include "core/pool/MemoryPool.h"
#include "drivers/Command.h"

#include <string.h>
#include <vector>

namespace gpuasync {

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

/// A library's function and the arguments that it is called with.
using LibraryFunction = int32_t (*)(const gpuasync_call *call,
                                    const void *arguments);
struct LibraryCall {
  LibraryFunction function;
  const void *arguments;
  uint32_t bytes;
  bool operator==(const LibraryCall &other) const {
    return function == other.function && bytes == other.bytes &&
           (!bytes || memcmp(arguments, other.arguments, bytes) == 0);
  }
};

/// One call: a command whose arguments lie in the recording. Streams and events
/// have the numbers under which the region met them first.
struct Call {
  Command::Kind kind = Command::Kind::Launch; ///< a library's is Captured
  Staged staged = Staged::No;
  bool empty = false; ///< a launch of no threads
  bool dirty = false; ///< its arguments are not the graph's (Executable)
  uint32_t stream = 0;
  uint32_t event = 0;   ///< of Record and Wait
  uint32_t bytes = 0;   ///< of its arguments
  size_t arguments = 0; ///< where they lie; Record and Wait have none
  const gpuasync_site *site = nullptr; ///< of the instance's program
  /// A staged copy's use of the staging that the arguments name as source or
  /// destination. Null: it was passed on, and they name what is not there.
  PoolAllocation *staging = nullptr;
  /// Whether it is work, and not a part of an order.
  bool isWork() const {
    return kind != Command::Kind::Record && kind != Command::Kind::Wait;
  }
};

/// A launch's arguments: gpuasync_launch_config, whose `params` is not to be
/// read, followed by the packed parameters. A library call's: LibraryHead,
/// followed by those of the function.
class Recording {
public:
  static constexpr size_t blockBytes = offsetof(gpuasync_launch_config, params);
  static constexpr size_t paramsOffset = sizeof(gpuasync_launch_config);
  static_assert(paramsOffset % 16 == 0);

  std::vector<Call> calls;
  std::vector<uint32_t> staged;     ///< which calls are uploads and downloads
  uint32_t streams = 0, events = 0; ///< how many it met

  void clear() {
    calls.clear();
    staged.clear();
    used = 0;
    streams = events = 0;
  }
  /// Copies the first `count` calls of `other`, and takes over their staging.
  /// This one is empty.
  void assign(Recording &other, size_t count);
  /// Gives the staging of all calls back to `memory`.
  void dropStaging(MemoryPool &memory);

  /// Puts a call behind the others; the caller fills in its arguments.
  Call &append(Command::Kind kind, uint32_t stream, const gpuasync_site *site,
               size_t bytes, Staged staged = Staged::No);
  unsigned char *argumentsOf(const Call &call) {
    return reinterpret_cast<unsigned char *>(units.data()) + call.arguments;
  }
  const unsigned char *argumentsOf(const Call &call) const {
    return reinterpret_cast<const unsigned char *>(units.data()) +
           call.arguments;
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
  /// The launch's block, with `params` set.
  gpuasync_launch_config blockOf(const Call &call) const {
    gpuasync_launch_config block;
    memcpy(&block, argumentsOf(call), sizeof(block));
    block.params = argumentsOf(call) + paramsOffset;
    return block;
  }

  /// The library call; its arguments lie here.
  LibraryCall libraryOf(const Call &call) const {
    LibraryHead head;
    memcpy(&head, argumentsOf(call), sizeof(head));
    return {head.function, argumentsOf(call) + sizeof(head),
            static_cast<uint32_t>(call.bytes - sizeof(head))};
  }
  static size_t bytesOf(const LibraryCall &library) {
    return sizeof(LibraryHead) + library.bytes;
  }
  void setLibrary(const Call &call, const LibraryCall &library) {
    const LibraryHead head = {library.function, 0};
    memcpy(argumentsOf(call), &head, sizeof(head));
    if (library.bytes)
      memcpy(argumentsOf(call) + sizeof(head), library.arguments,
             library.bytes);
  }

  /// Whether all work is behind what the streams `first` were given before.
  bool isBehind(const std::vector<bool> &first) const;
  /// It has a launch, or several of the rest: as a graph one launch takes half
  /// the time, and one copy as long as on a stream.
  bool gainsAsGraph() const;

  /// Whether the launch's node can be given this block: no update changes flags
  /// and clusters.
  bool takes(const Call &launch, const gpuasync_launch_config &block) const {
    const gpuasync_launch_config old = blockOf(launch);
    return old.flags == block.flags &&
           memcmp(old.cluster, block.cluster, sizeof(old.cluster)) == 0;
  }
  /// Of everything but the arguments that updates change. `exactCalls`: of
  /// library calls they change none.
  uint64_t hashShape(bool exactCalls) const;
  bool hasShapeOf(const Recording &other, bool exactCalls) const;

private:
  /// The arguments behind it are aligned to 16.
  struct LibraryHead {
    LibraryFunction function;
    uint64_t padding;
  };
  static_assert(sizeof(LibraryHead) == 16);
  struct alignas(16) Unit {
    unsigned char bytes[16];
  };
  std::vector<Unit> units;
  size_t used = 0; ///< of them, in bytes
};

/// Which calls a call of a recording starts after.
class Edges {
public:
  explicit Edges(const Recording &recording);
  /// The numbers of earlier launches, copies, fills and library calls,
  /// ascending, none of which another one of them implies by way of a stream.
  const std::vector<uint32_t> &after(size_t call) const { return edges[call]; }

private:
  std::vector<std::vector<uint32_t>> edges;
};

} // namespace gpuasync

#endif // GPUASYNC_CORE_REGION_RECORDING_H
