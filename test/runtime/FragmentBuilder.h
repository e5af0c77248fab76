//===- FragmentBuilder.h - Fragments of what a test calls -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A test calls the runtime one command after the other, and within a region it
// gets fragments made of that, as the compiler makes them of a region's ops.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_RUNTIME_FRAGMENTBUILDER_H
#define GPUASYNC_TEST_RUNTIME_FRAGMENTBUILDER_H

#include "gpuasync/RuntimeABI.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string.h>
#include <string>
#include <vector>

namespace gpuasync_test {

/// A fragment, what it points to, and arguments for it.
struct OwnedFragment {
  struct alignas(16) Unit {
    unsigned char bytes[16];
  };
  gpuasync_fragment fragment = {};
  std::vector<gpuasync_command> commands;
  std::vector<uint32_t> indices;
  std::vector<uint32_t> laneDevices; ///< empty: all are 0
  std::vector<uint64_t> constants;
  std::vector<Unit> block;

  OwnedFragment() = default;
  OwnedFragment(const OwnedFragment &) = delete;
  /// Puts a command behind the others that starts after `after`. Its arguments,
  /// of which it returns the place, are `head` and then `tail`.
  unsigned char *put(uint32_t kind, uint32_t lane, uint32_t site,
                     const void *head, uint32_t headBytes, const void *tail,
                     uint32_t tailBytes, std::vector<uint32_t> after) {
    gpuasync_command command = {};
    command.kind = kind;
    command.lane = lane;
    command.site = site;
    command.argument = static_cast<uint32_t>(16 * block.size());
    command.argumentBytes = headBytes + tailBytes;
    command.config = GPUASYNC_NO_CONFIG;
    command.after = static_cast<uint32_t>(indices.size());
    command.afterCount = static_cast<uint32_t>(after.size());
    indices.insert(indices.end(), after.begin(), after.end());
    command.wait = static_cast<uint32_t>(indices.size());
    for (uint32_t each : after)
      if (commands[each].lane != lane)
        indices.push_back(each);
    command.waitCount = static_cast<uint32_t>(indices.size()) - command.wait;
    commands.push_back(command);
    block.resize(block.size() + (headBytes + tailBytes + 15) / 16);
    unsigned char *arguments = block.data()->bytes + command.argument;
    memcpy(arguments, head, headBytes);
    if (tailBytes)
      memcpy(arguments + headBytes, tail, tailBytes);
    fragment.laneCount = std::max(fragment.laneCount, lane + 1);
    fragment.argumentBytes = static_cast<uint32_t>(16 * block.size());
    return arguments;
  }
  unsigned char *launch(uint32_t lane, uint32_t site,
                        const gpuasync_launch_config &block,
                        std::vector<uint32_t> after) {
    gpuasync_launch_config config = block;
    config.params = nullptr;
    return put(GPUASYNC_COMMAND_LAUNCH, lane, site, &config, sizeof(config),
               block.params, block.paramBytes, std::move(after));
  }
  unsigned char *copy(uint32_t lane, uint32_t site, void *to, const void *from,
                      uint64_t bytes, std::vector<uint32_t> after) {
    const gpuasync_copy copy = {to, from, bytes, 0};
    return put(GPUASYNC_COMMAND_COPY, lane, site, &copy, sizeof(copy), nullptr,
               0, std::move(after));
  }
  void link() {
    fragment.commandCount = static_cast<uint32_t>(commands.size());
    fragment.commands = commands.data();
    fragment.indices = indices.data();
    fragment.laneDevices = laneDevices.empty() ? nullptr : laneDevices.data();
    fragment.constants = constants.data();
  }
  /// The fragment of this content that lives as long as the process, as the
  /// constants of a program do.
  static const gpuasync_fragment &
  intern(std::unique_ptr<OwnedFragment> fragment) {
    static std::mutex mutex;
    static std::map<std::string, std::unique_ptr<OwnedFragment>> all;
    std::string key;
    auto put = [&](const void *data, size_t bytes) {
      key.append(static_cast<const char *>(data), bytes);
    };
    const uint32_t head[] = {
        fragment->fragment.laneCount, fragment->fragment.argumentBytes,
        fragment->fragment.site, uint32_t(fragment->commands.size()),
        uint32_t(fragment->indices.size())};
    put(head, sizeof(head));
    put(fragment->commands.data(),
        fragment->commands.size() * sizeof(gpuasync_command));
    put(fragment->indices.data(), fragment->indices.size() * 4);
    put(fragment->laneDevices.data(), fragment->laneDevices.size() * 4);
    put(fragment->constants.data(), fragment->constants.size() * 8);
    fragment->link();
    std::lock_guard<std::mutex> lock(mutex);
    std::unique_ptr<OwnedFragment> &found = all[key];
    if (!found)
      found = std::move(fragment);
    return found->fragment;
  }
};

/// Builds fragments of one frame. Commands between `begin` and `end` are held
/// back until `flush` and then added as fragments. An event that ends before
/// that is an edge of a fragment; another one is recorded between fragments. A
/// stream that was made in the region and ends in it is a null lane where that
/// can be.
class FragmentBuilder {
  struct Around {
    const FragmentBuilder &builder;
    explicit Around(const FragmentBuilder &builder) : builder(builder) {
      if (builder.around)
        builder.around(true);
    }
    Around(const Around &) = delete;
    ~Around() {
      if (builder.around)
        builder.around(false);
    }
  };
  /// A call of the runtime.
  template <typename Entry, typename... Arguments>
  auto make(Entry *entry, Arguments... arguments) {
    Around around(*this);
    return entry(&frame, arguments...);
  }

public:
  explicit FragmentBuilder(gpuasync_frame &frame) : frame(frame) {}
  FragmentBuilder(const FragmentBuilder &) = delete;

  /// Called before each call of the runtime with true, and after it with false.
  std::function<void(bool)> around;
  /// Whether copies are held back too: what they read must not change.
  bool holdsCopies = false;
  /// Whether the configs of launches are constants of the fragment.
  bool hasConstants = false;
  /// Most commands of a fragment.
  uint32_t most = GPUASYNC_FRAGMENT_COMMANDS;

  bool isActive() const { return depth != 0; }

  void begin(uint32_t itsSite) {
    if (frame.failed || depth++)
      return;
    site = itsSite;
    hasBegun = hasRun = false;
  }
  void end(uint32_t itsSite) {
    if (!depth)
      return make(::gpuasync_region_end, itsSite);
    if (--depth)
      return;
    isEnding = true;
    flush();
    isEnding = false;
    if (hasRun)
      return;
    if (!hasBegun)
      make(::gpuasync_region_begin, site); // with nothing in it
    make(::gpuasync_region_end, itsSite);
  }

  void launch(gpuasync_stream *stream, uint32_t itsSite,
              const gpuasync_launch_config &block) {
    Command command(GPUASYNC_COMMAND_LAUNCH, stream, itsSite);
    gpuasync_launch_config config = block;
    config.params = nullptr;
    if (hasConstants)
      command.config.assign(reinterpret_cast<const char *>(&config),
                            sizeof(config));
    else
      command.put(&config, sizeof(config));
    command.put(block.params, block.paramBytes);
    add(std::move(command));
  }
  void copy(gpuasync_stream *stream, void *to, const void *from, uint64_t bytes,
            uint32_t itsSite) {
    Command command(GPUASYNC_COMMAND_COPY, stream, itsSite);
    const gpuasync_copy arguments = {to, from, bytes, 0};
    command.put(&arguments, sizeof(arguments));
    add(std::move(command));
  }
  void copyStrided(gpuasync_stream *stream, void *to, const int64_t *toStrides,
                   const void *from, const int64_t *fromStrides,
                   const int64_t *sizes, uint32_t rank, uint32_t elementBytes,
                   uint32_t itsSite) {
    Command command(GPUASYNC_COMMAND_COPY_STRIDED, stream, itsSite);
    const gpuasync_copy_strided arguments = {to, from, rank, elementBytes, 0};
    command.put(&arguments, sizeof(arguments));
    for (const int64_t *each : {sizes, toStrides, fromStrides})
      command.put(each, 8 * rank);
    add(std::move(command));
  }
  void fill(gpuasync_stream *stream, void *to, const void *pattern,
            uint32_t elementBytes, uint64_t count, uint32_t itsSite) {
    Command command(GPUASYNC_COMMAND_FILL, stream, itsSite);
    gpuasync_fill arguments = {to, count, elementBytes, 0, 0, {}};
    memcpy(arguments.pattern, pattern, std::min<uint32_t>(elementBytes, 16));
    command.put(&arguments, sizeof(arguments));
    add(std::move(command));
  }
  void fillStrided(gpuasync_stream *stream, void *to, const int64_t *strides,
                   const int64_t *sizes, uint32_t rank, const void *pattern,
                   uint32_t elementBytes, uint32_t itsSite) {
    Command command(GPUASYNC_COMMAND_FILL_STRIDED, stream, itsSite);
    gpuasync_fill arguments = {to, 0, elementBytes, rank, 0, {}};
    memcpy(arguments.pattern, pattern, std::min<uint32_t>(elementBytes, 16));
    command.put(&arguments, sizeof(arguments));
    command.put(sizes, 8 * rank);
    command.put(strides, 8 * rank);
    add(std::move(command));
  }
  void call(gpuasync_stream *stream,
            int32_t (*function)(const gpuasync_call *, const void *),
            const void *arguments, uint32_t bytes, uint32_t itsSite) {
    Command command(GPUASYNC_COMMAND_CALL, stream, itsSite);
    const gpuasync_replayable head = {function, 0};
    command.put(&head, sizeof(head));
    command.put(arguments, bytes);
    add(std::move(command));
  }

  gpuasync_stream *create(uint32_t device, uint32_t itsSite) {
    gpuasync_stream *stream = make(::gpuasync_stream_create, device, itsSite);
    devices[stream] = device;
    if (isActive())
      made.push_back(stream);
    return stream;
  }
  void destroy(gpuasync_stream *stream, uint32_t flags, uint32_t itsSite) {
    if (!isActive())
      return make(::gpuasync_stream_destroy, stream, flags, itsSite);
    Op op(Op::Destroy, stream, itsSite);
    op.flags = flags;
    ops.push_back(std::move(op));
  }
  gpuasync_event *record(gpuasync_stream *stream, uint32_t itsSite) {
    if (!isActive() || frame.failed)
      return make(::gpuasync_event_record, stream, itsSite);
    Op op(Op::Record, stream, itsSite);
    op.marker = &markers.emplace_back();
    op.marker->stream = stream;
    op.marker->site = itsSite;
    ops.push_back(std::move(op));
    return reinterpret_cast<gpuasync_event *>(&markers.back());
  }
  void wait(gpuasync_stream *stream, gpuasync_event *event, uint32_t itsSite) {
    Marker *marker = find(event);
    if (!isActive() || !marker || marker->isMade) {
      gpuasync_event *its = real(event);
      flush();
      return make(::gpuasync_stream_wait, stream, its, itsSite);
    }
    Op op(Op::Wait, stream, itsSite);
    op.marker = marker;
    ops.push_back(std::move(op));
  }
  void destroy(gpuasync_event *event, uint32_t itsSite) {
    Marker *marker = find(event);
    if (marker && !marker->isMade) {
      marker->isAlive = false;
      return;
    }
    make(::gpuasync_event_destroy, real(event), itsSite);
  }
  /// The event that the runtime knows.
  gpuasync_event *real(gpuasync_event *event) {
    Marker *marker = find(event);
    if (!marker)
      return event;
    if (!marker->isMade)
      flush();
    return marker->real;
  }

  /// Before any other call of the frame.
  void flush() {
    if (!depth && !isEnding)
      return;
    for (at = 0; at < ops.size(); ++at)
      step(ops[at]);
    emit();
    for (Marker &marker : markers)
      if (marker.real && !marker.isAlive) {
        make(::gpuasync_event_destroy, marker.real, marker.site);
        marker.real = nullptr;
      }
    ops.clear();
    made.clear();
    begun();
  }

private:
  struct Marker {
    gpuasync_stream *stream = nullptr;
    uint32_t site = 0;
    uint32_t segment = UINT32_MAX;
    std::vector<uint32_t> front;
    bool isAlive = true;
    bool isMade = false; ///< its place is behind us
    gpuasync_event *real = nullptr;
  };
  struct Command {
    uint32_t kind;
    gpuasync_stream *stream;
    uint32_t site;
    std::string arguments, config;
    Command(uint32_t kind, gpuasync_stream *stream, uint32_t site)
        : kind(kind), stream(stream), site(site) {}
    void put(const void *data, size_t bytes) {
      if (bytes)
        arguments.append(static_cast<const char *>(data), bytes);
    }
  };
  struct Op {
    enum Kind { Work, Record, Wait, Destroy } kind;
    gpuasync_stream *stream;
    uint32_t site, flags = 0;
    Marker *marker = nullptr;
    std::unique_ptr<Command> command;
    Op(Kind kind, gpuasync_stream *stream, uint32_t site)
        : kind(kind), stream(stream), site(site) {}
  };
  struct Lane {
    gpuasync_stream *stream;
    std::vector<uint32_t> front;  ///< what comes next on it starts after
    std::vector<Marker *> waited; ///< since its last command
    bool hasRecords = false;      ///< that outlive the segment
  };

  void begun() {
    if (depth && !hasBegun && !isEnding) {
      hasBegun = true;
      make(::gpuasync_region_begin, site);
    }
  }
  Marker *find(gpuasync_event *event) {
    for (Marker &marker : markers)
      if (reinterpret_cast<gpuasync_event *>(&marker) == event)
        return &marker;
    return nullptr;
  }
  void add(Command command) {
    const bool isCopy = command.kind == GPUASYNC_COMMAND_COPY ||
                        command.kind == GPUASYNC_COMMAND_COPY_STRIDED;
    Op op(Op::Work, command.stream, command.site);
    op.command = std::make_unique<Command>(std::move(command));
    ops.push_back(std::move(op));
    if (isCopy && !holdsCopies)
      flush();
  }
  uint32_t laneOf(gpuasync_stream *stream) {
    for (uint32_t i = 0; i < lanes.size(); ++i)
      if (lanes[i].stream == stream)
        return i;
    const auto lane = static_cast<uint32_t>(lanes.size());
    lanes.push_back({stream, {GPUASYNC_FRAGMENT_BEFORE | lane}, {}, false});
    return lane;
  }
  bool isUsedLater(const Marker &marker) const {
    for (size_t i = at; i < ops.size(); ++i)
      if (ops[i].kind == Op::Wait && ops[i].marker == &marker)
        return true;
    return false;
  }
  static std::vector<uint32_t> join(const std::vector<uint32_t> &a,
                                    const std::vector<uint32_t> &b) {
    std::vector<uint32_t> joined;
    std::set_union(a.begin(), a.end(), b.begin(), b.end(),
                   std::back_inserter(joined));
    return joined;
  }

  void step(Op &op) {
    if (lanes.size() + 2 > GPUASYNC_FRAGMENT_COMMANDS)
      emit();
    switch (op.kind) {
    case Op::Work: {
      const size_t bytes = (op.command->arguments.size() + 15) & ~size_t(15);
      if (lanes.size() && lanes[laneOf(op.stream)].hasRecords)
        emit();
      if (commands.size() >= most ||
          block.size() + bytes > GPUASYNC_FRAGMENT_BYTES)
        emit();
      return addCommand(*op.command);
    }
    case Op::Record: {
      Lane &lane = lanes[laneOf(op.stream)];
      op.marker->segment = segment;
      op.marker->front = lane.front;
      lane.hasRecords |= op.marker->isAlive;
      recorded.push_back(op.marker);
      return;
    }
    case Op::Wait: {
      if (op.marker->segment != segment) {
        emit();
        begun();
        return make(::gpuasync_stream_wait, op.stream, op.marker->real,
                    op.site);
      }
      Lane &lane = lanes[laneOf(op.stream)];
      lane.front = join(lane.front, op.marker->front);
      lane.waited.push_back(op.marker);
      return;
    }
    case Op::Destroy:
      ended.push_back(&op);
    }
  }

  void addCommand(const Command &command) {
    const auto number = static_cast<uint32_t>(commands.size());
    const uint32_t itsLane = laneOf(command.stream);
    Lane &lane = lanes[itsLane];
    gpuasync_command out = {};
    out.kind = command.kind;
    out.lane = itsLane;
    out.site = command.site;
    out.argument = static_cast<uint32_t>(block.size());
    out.argumentBytes = static_cast<uint32_t>(command.arguments.size());
    block += command.arguments;
    block.resize((block.size() + 15) & ~size_t(15));
    out.config = GPUASYNC_NO_CONFIG;
    if (!command.config.empty()) {
      out.config = static_cast<uint32_t>(8 * constants.size());
      constants.resize(constants.size() + command.config.size() / 8);
      memcpy(reinterpret_cast<char *>(constants.data()) + out.config,
             command.config.data(), command.config.size());
    }
    // The later one of two commands on one lane is enough.
    std::vector<uint32_t> after;
    for (uint32_t i : lane.front)
      if (!(i & GPUASYNC_FRAGMENT_BEFORE) &&
          std::none_of(lane.front.begin(), lane.front.end(), [&](uint32_t k) {
            return !(k & GPUASYNC_FRAGMENT_BEFORE) && k > i &&
                   commands[k].lane == commands[i].lane;
          }))
        after.push_back(i);
    out.after = static_cast<uint32_t>(indices.size());
    out.afterCount = static_cast<uint32_t>(after.size());
    indices.insert(indices.end(), after.begin(), after.end());
    out.wait = static_cast<uint32_t>(indices.size());
    for (uint32_t i : after)
      if (commands[i].lane != itsLane)
        indices.push_back(i);
    for (uint32_t i : lane.front)
      if (i & GPUASYNC_FRAGMENT_BEFORE &&
          (i & ~GPUASYNC_FRAGMENT_BEFORE) != itsLane)
        indices.push_back(i);
    out.waitCount = static_cast<uint32_t>(indices.size()) - out.wait;
    commands.push_back(out);
    lane.front = {number};
    lane.waited.clear();
  }

  /// Adds the fragment, and makes what has to come behind it.
  void emit() {
    std::vector<Marker *> kept;
    for (Marker *marker : recorded)
      if (marker->isAlive || isUsedLater(*marker) || isWaited(*marker))
        kept.push_back(marker);
    if (!commands.empty())
      addFragment(kept);
    if (!kept.empty())
      begun();
    for (Marker *marker : recorded) {
      marker->isMade = true;
      if (std::find(kept.begin(), kept.end(), marker) != kept.end())
        marker->real =
            make(::gpuasync_event_record, marker->stream, marker->site);
    }
    for (Lane &lane : lanes)
      for (Marker *marker : lane.waited)
        make(::gpuasync_stream_wait, lane.stream, marker->real, marker->site);
    for (Op *op : ended)
      make(::gpuasync_stream_destroy, op->stream, op->flags, op->site);
    ended.clear();
    recorded.clear();
    lanes.clear();
    commands.clear();
    indices.clear();
    constants.clear();
    block.clear();
    ++segment;
  }
  /// By a lane that gets no command in this fragment any more.
  bool isWaited(const Marker &marker) const {
    for (const Lane &lane : lanes)
      if (std::find(lane.waited.begin(), lane.waited.end(), &marker) !=
          lane.waited.end())
        return true;
    return false;
  }
  /// It begins and ends with the fragment.
  bool isLocal(const Lane &lane, const std::vector<Marker *> &kept) const {
    if (!lane.waited.empty() ||
        std::find(made.begin(), made.end(), lane.stream) == made.end() ||
        std::any_of(kept.begin(), kept.end(), [&](Marker *marker) {
          return marker->stream == lane.stream;
        }))
      return false;
    size_t work = 0;
    bool ends = false;
    for (const Op &op : ops) {
      work += op.kind == Op::Work && op.stream == lane.stream;
      ends |= op.kind == Op::Destroy && op.stream == lane.stream;
      // Then it has a past.
      if (op.kind == Op::Wait && op.stream == lane.stream &&
          op.marker->segment != segment)
        return false;
    }
    for (const gpuasync_command &command : commands)
      work -= lanes[command.lane].stream == lane.stream;
    return ends && !work;
  }
  void addFragment(const std::vector<Marker *> &kept) {
    auto owned = std::make_unique<OwnedFragment>();
    owned->fragment.laneCount = static_cast<uint32_t>(lanes.size());
    owned->fragment.argumentBytes = static_cast<uint32_t>(block.size());
    owned->fragment.site = site;
    owned->commands = commands;
    owned->indices = indices;
    owned->constants = constants;
    if (std::any_of(devices.begin(), devices.end(),
                    [](const auto &each) { return each.second; }))
      for (const Lane &lane : lanes)
        owned->laneDevices.push_back(devices[lane.stream]);
    const gpuasync_fragment &fragment = OwnedFragment::intern(std::move(owned));
    std::vector<gpuasync_stream *> streams;
    for (const Lane &lane : lanes)
      streams.push_back(isLocal(lane, kept) ? nullptr : lane.stream);
    struct alignas(16) Unit {
      char bytes[16];
    };
    std::vector<Unit> arguments(block.size() / 16);
    memcpy(static_cast<void *>(arguments.data()), block.data(), block.size());
    if (isEnding && !hasBegun && !hasRun && at >= ops.size()) {
      hasRun = true;
      make(::gpuasync_region_run, &fragment, streams.data(), arguments.data());
      return;
    }
    if (!hasBegun) {
      hasBegun = true;
      make(::gpuasync_region_begin, site);
    }
    make(::gpuasync_region_add, &fragment, streams.data(), arguments.data());
  }

  gpuasync_frame &frame;
  uint32_t depth = 0, site = 0, segment = 0;
  bool hasBegun = false, hasRun = false, isEnding = false;
  std::vector<Op> ops;
  size_t at = 0;
  std::deque<Marker> markers;
  std::vector<gpuasync_stream *> made;
  std::map<gpuasync_stream *, uint32_t> devices; ///< of streams that it made
  //===--- The fragment that is being made
  std::vector<Lane> lanes;
  std::vector<Marker *> recorded;
  std::vector<Op *> ended;
  std::vector<gpuasync_command> commands;
  std::vector<uint32_t> indices;
  std::vector<uint64_t> constants;
  std::string block;
};

} // namespace gpuasync_test

#endif // GPUASYNC_TEST_RUNTIME_FRAGMENTBUILDER_H
