//===- Fragment.cpp - Constant pieces of regions --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Fragment.h.
//===----------------------------------------------------------------------===//

#include "shim/command/Fragment.h"

#include <memory>

using namespace gpuasync;

/// The least bytes that arguments of this kind have; UINT32_MAX: there is no
/// such kind.
static uint32_t leastBytes(const gpuasync_command &command) {
  switch (command.kind) {
  case GPUASYNC_COMMAND_LAUNCH:
    return hasConfig(command) ? 0 : uint32_t(sizeof(gpuasync_launch_config));
  case GPUASYNC_COMMAND_COPY:
    return sizeof(gpuasync_copy);
  case GPUASYNC_COMMAND_COPY_STRIDED:
    return sizeof(gpuasync_copy_strided);
  case GPUASYNC_COMMAND_FILL:
  case GPUASYNC_COMMAND_FILL_STRIDED:
    return sizeof(gpuasync_fill);
  case GPUASYNC_COMMAND_CALL:
    return sizeof(gpuasync_replayable);
  }
  return UINT32_MAX;
}

/// Says what is wrong with a command alone; null: nothing.
static const char *findFault(const gpuasync_fragment &fragment,
                             uint32_t number) {
  const gpuasync_command &command = fragment.commands[number];
  const uint32_t least = leastBytes(command);
  if (least == UINT32_MAX)
    return "an unknown kind";
  if (command.lane >= fragment.laneCount)
    return "a lane that the fragment does not have";
  if (command.argument % 16 || command.argument > fragment.argumentBytes ||
      command.argumentBytes > fragment.argumentBytes - command.argument)
    return "arguments outside of the fragment's, or not aligned to 16";
  if (command.argumentBytes < least)
    return "too few bytes of arguments";
  if (command.kind == GPUASYNC_COMMAND_LAUNCH && hasConfig(command)) {
    if (!fragment.constants || command.config % 8)
      return "a launch config outside of the fragment's constants";
    if (configOf(fragment, command, fragment.constants).paramBytes >
        command.argumentBytes)
      return "a launch config with more parameters than the launch";
  }
  if ((command.afterCount || command.waitCount) && !fragment.indices)
    return "edges, and the fragment has no indices";
  for (uint32_t i = 0; i < command.afterCount; ++i) {
    const uint32_t *index = fragment.indices + command.after + i;
    if (*index >= number || (i && index[0] <= index[-1]))
      return "an edge from no earlier command";
  }
  const char *fault = nullptr;
  forEachWait(
      fragment, command,
      [&](uint32_t index) {
        if (index >= number)
          fault = "a wait for no earlier command";
      },
      [&](uint32_t lane) {
        if (lane >= fragment.laneCount || lane == command.lane)
          fault = "a wait for no other lane";
      });
  return fault;
}

Status gpuasync::checkFragment(const gpuasync_fragment &fragment) {
  if (fragment.commandCount > GPUASYNC_FRAGMENT_COMMANDS ||
      fragment.laneCount > GPUASYNC_FRAGMENT_COMMANDS ||
      fragment.argumentBytes > GPUASYNC_FRAGMENT_BYTES)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "a fragment of %u commands on %u lanes with %u bytes of "
                      "arguments; it may have %u, %u and %u",
                      fragment.commandCount, fragment.laneCount,
                      fragment.argumentBytes, GPUASYNC_FRAGMENT_COMMANDS,
                      GPUASYNC_FRAGMENT_COMMANDS, GPUASYNC_FRAGMENT_BYTES);
  if (fragment.commandCount && !fragment.commands)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT, "null commands");
  for (uint32_t i = 0; i < fragment.commandCount; ++i)
    if (const char *fault = findFault(fragment, i))
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "command %u of a fragment, of kind %u, has %s", i,
                        fragment.commands[i].kind, fault);
  return Status();
}

Status gpuasync::checkAnyArguments(const gpuasync_fragment &fragment,
                                   const gpuasync_command &command,
                                   const void *block) {
  uint64_t needed = 0;
  if (command.kind == GPUASYNC_COMMAND_LAUNCH) {
    needed =
        sizeof(gpuasync_launch_config) +
        uint64_t(
            argumentsAs<gpuasync_launch_config>(command, block).paramBytes);
  } else if (command.kind == GPUASYNC_COMMAND_COPY_STRIDED) {
    const auto &copy = argumentsAs<gpuasync_copy_strided>(command, block);
    needed = sizeof(copy) + uint64_t(copy.rank) * 3 * sizeof(int64_t);
  } else if (command.kind == GPUASYNC_COMMAND_FILL_STRIDED) {
    const auto &fill = argumentsAs<gpuasync_fill>(command, block);
    needed = sizeof(fill) + uint64_t(fill.rank) * 2 * sizeof(int64_t);
  } else if (command.kind == GPUASYNC_COMMAND_CALL &&
             !argumentsAs<gpuasync_replayable>(command, block).function) {
    return makeStatus(GPUASYNC_INVALID_ARGUMENT, "null function");
  }
  if (needed > command.argumentBytes)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                      "command %u of a fragment needs %ju bytes of arguments "
                      "and has %u",
                      static_cast<uint32_t>(&command - fragment.commands),
                      needed, command.argumentBytes);
  return Status();
}

Status gpuasync::checkAllArguments(const PreparedFragment &prepared,
                                   const void *block) {
  const gpuasync_fragment &fragment = prepared.fragment;
  for (uint64_t left = prepared.checked; left; left &= left - 1)
    RETURN_IF_ERROR(checkAnyArguments(
        fragment, fragment.commands[__builtin_ctzll(left)], block));
  return Status();
}

PreparedFragment::PreparedFragment(const gpuasync_fragment &fragment)
    : fragment(fragment), awaited(fragment) {
  for (uint32_t i = 0; i < fragment.commandCount; ++i) {
    const gpuasync_command &command = fragment.commands[i];
    launches += command.kind == GPUASYNC_COMMAND_LAUNCH;
    libraryCalls += command.kind == GPUASYNC_COMMAND_CALL;
    checked |= uint64_t(hasCheckedArguments(command)) << i;
    if (command.kind != GPUASYNC_COMMAND_LAUNCH &&
        command.kind != GPUASYNC_COMMAND_CALL &&
        !(command.flags & GPUASYNC_COMMAND_DEVICE_MEMORY))
      looked.push_back(i);
  }
}

FragmentTable::~FragmentTable() {
  for (auto &head : heads)
    while (PreparedFragment *each = head.load(std::memory_order_relaxed)) {
      head.store(each->next, std::memory_order_relaxed);
      delete each;
    }
}

Status FragmentTable::add(const gpuasync_fragment &fragment,
                          const PreparedFragment *&out) {
  RETURN_IF_ERROR(checkFragment(fragment));
  auto made = std::make_unique<PreparedFragment>(fragment);
  std::lock_guard<std::mutex> lock(mutex);
  std::atomic<PreparedFragment *> &head = headOf(fragment);
  made->next = head.load(std::memory_order_relaxed);
  for (out = made->next; out; out = out->next)
    if (&out->fragment == &fragment)
      return Status(); // another thread was first
  out = made.get();
  head.store(made.release(), std::memory_order_release);
  return Status();
}
