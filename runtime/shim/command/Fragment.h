//===- Fragment.h - Constant pieces of regions ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The commands of a gpuasync_fragment: checked, read, and made one by one.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_COMMAND_FRAGMENT_H
#define GPUASYNC_SHIM_COMMAND_FRAGMENT_H

#include "gpuasync/RuntimeABI.h"
#include "shim/base/StatusImpl.h"

#include <atomic>
#include <mutex>
#include <string.h>
#include <vector>

namespace gpuasync {

static_assert(sizeof(gpuasync_command) == 48 && sizeof(gpuasync_copy) == 32 &&
              sizeof(gpuasync_copy_strided) == 32 &&
              sizeof(gpuasync_fill) == 48 &&
              sizeof(gpuasync_replayable) == 16 &&
              sizeof(gpuasync_launch_config) % 16 == 0);

/// A library's function and the arguments that it is called with.
using LibraryFunction = int32_t (*)(const gpuasync_call *call,
                                    const void *arguments);
struct LibraryCall {
  LibraryFunction function;
  const void *arguments;
  uint32_t bytes;
};

/// Says what is wrong with a fragment, whatever its arguments are.
Status checkFragment(const gpuasync_fragment &fragment);

/// The arguments of a command, which begin with a `T`.
template <typename T>
const T &argumentsAs(const gpuasync_command &command, const void *block) {
  return *reinterpret_cast<const T *>(static_cast<const char *>(block) +
                                      command.argument);
}
/// The bytes behind this `T`.
template <typename T>
const void *behind(const T &head) {
  return &head + 1;
}
inline bool hasConfig(const gpuasync_command &launch) {
  return launch.config != GPUASYNC_NO_CONFIG;
}
/// Whether checkArguments may find a fault: the arguments say how many they
/// are, or name a function.
inline bool hasCheckedArguments(const gpuasync_command &command) {
  return command.kind == GPUASYNC_COMMAND_LAUNCH
             ? !hasConfig(command)
             : command.kind != GPUASYNC_COMMAND_COPY &&
                   command.kind != GPUASYNC_COMMAND_FILL;
}
/// checkArguments of commands that have such ones.
Status checkAnyArguments(const gpuasync_fragment &fragment,
                         const gpuasync_command &command, const void *block);
/// Says what is wrong with the arguments of a command of a sound fragment.
inline Status checkArguments(const gpuasync_fragment &fragment,
                             const gpuasync_command &command,
                             const void *block) {
  return hasCheckedArguments(command)
             ? checkAnyArguments(fragment, command, block)
             : Status();
}
inline uint32_t deviceOf(const gpuasync_fragment &fragment, uint32_t lane) {
  return fragment.laneDevices ? fragment.laneDevices[lane] : 0;
}
/// The launch's config, with its parameters.
inline gpuasync_launch_config configOf(const gpuasync_fragment &fragment,
                                       const gpuasync_command &launch,
                                       const void *block) {
  const char *at = static_cast<const char *>(block) + launch.argument;
  gpuasync_launch_config config;
  if (hasConfig(launch)) {
    memcpy(&config,
           static_cast<const char *>(fragment.constants) + launch.config,
           sizeof(config));
  } else {
    memcpy(&config, at, sizeof(config));
    at += sizeof(config);
  }
  config.params = at;
  return config;
}

/// Calls `visit(index)` for each command that the `command` waits for, and
/// `visitLane(lane)` for each lane of which it waits for all work.
template <typename Visit, typename VisitLane>
void forEachWait(const gpuasync_fragment &fragment,
                 const gpuasync_command &command, Visit visit,
                 VisitLane visitLane) {
  for (uint32_t i = 0; i < command.waitCount; ++i) {
    const uint32_t index = fragment.indices[command.wait + i];
    if (index & GPUASYNC_FRAGMENT_BEFORE)
      visitLane(index & ~GPUASYNC_FRAGMENT_BEFORE);
    else
      visit(index);
  }
}

/// Commands and lanes that commands of other lanes wait for.
struct AwaitedInFragment {
  uint64_t commands = 0, lanes = 0; ///< bits

  explicit AwaitedInFragment(const gpuasync_fragment &fragment) {
    for (uint32_t i = 0; i < fragment.commandCount; ++i)
      forEachWait(
          fragment, fragment.commands[i],
          [&](uint32_t index) { commands |= uint64_t(1) << index; },
          [&](uint32_t lane) { lanes |= uint64_t(1) << lane; });
  }
};

/// A fragment that was found to be sound, and what is known of it.
struct PreparedFragment {
  const gpuasync_fragment &fragment;
  const AwaitedInFragment awaited;
  uint32_t launches = 0, libraryCalls = 0;
  uint64_t checked = 0; ///< commands with arguments to check; bits
  /// Copies and fills of memory that has to be looked at each time.
  std::vector<uint32_t> looked;
  PreparedFragment *next = nullptr; ///< of the same hash

  explicit PreparedFragment(const gpuasync_fragment &fragment);
};

/// Says what is wrong with the arguments of the commands.
Status checkAllArguments(const PreparedFragment &prepared, const void *block);

/// Fragments that were checked, once each. Thread safe.
class FragmentTable {
public:
  FragmentTable() = default;
  FragmentTable(const FragmentTable &) = delete;
  ~FragmentTable();
  /// Finds what is known of a fragment if it is sound.
  Status find(const gpuasync_fragment &fragment, const PreparedFragment *&out) {
    out = headOf(fragment).load(std::memory_order_acquire);
    while (out && &out->fragment != &fragment)
      out = out->next;
    return __builtin_expect(out != nullptr, 1) ? Status() : add(fragment, out);
  }

private:
  std::atomic<PreparedFragment *> &headOf(const gpuasync_fragment &fragment) {
    return heads[reinterpret_cast<uintptr_t>(&fragment) / 48 % 64];
  }
  Status add(const gpuasync_fragment &fragment, const PreparedFragment *&out);

  std::atomic<PreparedFragment *> heads[64] = {};
  std::mutex mutex; ///< one thread at a time adds
};

/// Makes a command of a sound fragment by a single call of the runtime, which
/// `calls` makes or has made with what it adds to them.
template <typename Calls>
[[gnu::always_inline]] inline void
callEntryOf(Calls calls, gpuasync_frame *frame,
            const gpuasync_fragment &fragment, const gpuasync_command &command,
            gpuasync_stream *stream, const void *block) {
  if (__builtin_expect(command.kind == GPUASYNC_COMMAND_LAUNCH, 1)) {
    const gpuasync_launch_config config = configOf(fragment, command, block);
    return calls.launch(frame, stream, command.site, &config);
  }
  switch (command.kind) {
  case GPUASYNC_COMMAND_COPY: {
    const auto &copy = argumentsAs<gpuasync_copy>(command, block);
    calls.copy(frame, stream, copy.destination, copy.source, copy.bytes,
               command.site);
    break;
  }
  case GPUASYNC_COMMAND_COPY_STRIDED: {
    const auto &copy = argumentsAs<gpuasync_copy_strided>(command, block);
    const auto *sizes = static_cast<const int64_t *>(behind(copy));
    calls.copyStrided(frame, stream, copy.destination, sizes + copy.rank,
                      copy.source, sizes + 2 * copy.rank, sizes, copy.rank,
                      copy.elementBytes, command.site);
    break;
  }
  case GPUASYNC_COMMAND_FILL: {
    const auto &fill = argumentsAs<gpuasync_fill>(command, block);
    calls.fill(frame, stream, fill.destination, fill.pattern, fill.elementBytes,
               fill.count, command.site);
    break;
  }
  case GPUASYNC_COMMAND_FILL_STRIDED: {
    const auto &fill = argumentsAs<gpuasync_fill>(command, block);
    const auto *sizes = static_cast<const int64_t *>(behind(fill));
    calls.fillStrided(frame, stream, fill.destination, sizes + fill.rank, sizes,
                      fill.rank, fill.pattern, fill.elementBytes, command.site);
    break;
  }
  default: {
    const auto &call = argumentsAs<gpuasync_replayable>(command, block);
    calls.call(frame, &stream, 1, call.function, behind(call),
               command.argumentBytes - uint32_t(sizeof(call)), command.site);
  }
  }
}

/// Pointers of which few are set, by the number of a command or a lane.
template <typename T>
class FragmentPointers {
public:
  T *operator[](uint32_t index) const {
    return set >> index & 1 ? pointers[index] : nullptr;
  }
  void put(uint32_t index, T *pointer) {
    pointers[index] = pointer;
    set |= uint64_t(1) << index;
  }
  /// Calls `visit(pointer)` for each that is set and not null.
  template <typename Visit>
  void forEach(Visit visit) const {
    for (uint64_t left = set; left; left &= left - 1)
      if (T *pointer = pointers[__builtin_ctzll(left)])
        visit(pointer);
  }

private:
  uint64_t set = 0; ///< bits; the others are not initialised
  T *pointers[GPUASYNC_FRAGMENT_COMMANDS];
};

/// Streams and events that a fragment has for itself.
template <typename Calls>
struct FragmentObjects {
  gpuasync_frame *frame;
  uint32_t site;
  FragmentPointers<gpuasync_event> behind; ///< by command
  FragmentPointers<gpuasync_event> before; ///< by lane
  FragmentPointers<gpuasync_stream> streams;

  FragmentObjects(gpuasync_frame *frame, const gpuasync_fragment &fragment)
      : frame(frame), site(fragment.site) {}
  FragmentObjects(const FragmentObjects &) = delete;
  ~FragmentObjects() {
    auto destroy = [&](auto *object) { Calls::destroy(frame, object, site); };
    behind.forEach(destroy);
    before.forEach(destroy);
    streams.forEach(destroy);
  }
  gpuasync_stream *streamAt(uint32_t index, uint32_t device) {
    if (!streams[index])
      streams.put(index, Calls::create(frame, device, site));
    return streams[index];
  }
};

/// Makes all commands of a sound fragment, of which `awaited` is known.
template <typename Calls>
void makeCommands(Calls calls, gpuasync_frame *frame,
                  const gpuasync_fragment &fragment,
                  const AwaitedInFragment &awaited,
                  gpuasync_stream *const *lanes, const void *block) {
  FragmentObjects<Calls> own(frame, fragment);
  for (uint32_t i = 0; awaited.lanes && i < fragment.laneCount; ++i)
    if ((awaited.lanes >> i & 1) && lanes[i])
      own.before.put(i, calls.record(frame, lanes[i], fragment.site));
  for (uint32_t i = 0; i < fragment.commandCount && !frame->failed; ++i) {
    const gpuasync_command &command = fragment.commands[i];
    gpuasync_stream *stream = lanes[command.lane];
    if (!stream)
      stream = own.streamAt(command.lane, deviceOf(fragment, command.lane));
    forEachWait(
        fragment, command,
        [&](uint32_t index) {
          calls.wait(frame, stream, own.behind[index], command.site);
        },
        [&](uint32_t lane) {
          calls.wait(frame, stream, own.before[lane], command.site);
        });
    callEntryOf(calls, frame, fragment, command, stream, block);
    if (awaited.commands >> i & 1)
      own.behind.put(i, calls.record(frame, stream, command.site));
  }
}

/// Also, for tests of the edges: only these order the commands, each of
/// which has a stream of its own.
template <typename Calls>
void makeCommandsByEdges(Calls calls, gpuasync_frame *frame,
                         const gpuasync_fragment &fragment,
                         gpuasync_stream *const *lanes, const void *block) {
  FragmentObjects<Calls> own(frame, fragment);
  for (uint32_t i = 0; i < fragment.laneCount; ++i)
    if (lanes[i])
      own.before.put(i, calls.record(frame, lanes[i], fragment.site));
  uint64_t begun = 0; ///< lanes
  for (uint32_t i = 0; i < fragment.commandCount && !frame->failed; ++i) {
    const gpuasync_command &command = fragment.commands[i];
    gpuasync_stream *stream = own.streamAt(i, deviceOf(fragment, command.lane));
    if (!(begun >> command.lane & 1))
      calls.wait(frame, stream, own.before[command.lane], command.site);
    begun |= uint64_t(1) << command.lane;
    for (uint32_t k = 0; k < command.afterCount; ++k)
      calls.wait(frame, stream, own.behind[fragment.indices[command.after + k]],
                 command.site);
    forEachWait(
        fragment, command, [](uint32_t) {},
        [&](uint32_t lane) {
          calls.wait(frame, stream, own.before[lane], command.site);
        });
    callEntryOf(calls, frame, fragment, command, stream, block);
    own.behind.put(i, calls.record(frame, stream, command.site));
  }
  for (uint32_t i = 0; i < fragment.commandCount && !frame->failed; ++i)
    if (gpuasync_stream *lane = lanes[fragment.commands[i].lane])
      calls.wait(frame, lane, own.behind[i], fragment.commands[i].site);
}

} // namespace gpuasync

#endif // GPUASYNC_SHIM_COMMAND_FRAGMENT_H
