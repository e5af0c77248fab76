//===- GraphTest.cpp - Graphs of a driver ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls the driver's own interface (DeviceGraphs) on
// each device that has graphs; all values are checked.
//===----------------------------------------------------------------------===//

#include "../../Inputs/Seed.h"
#include "Fixture.h"
#include "device/Driver.h"

#include <deque>
#include <functional>
#include <random>
#include <string.h>

using namespace gpuasync;
using namespace gpuasync_test;

namespace {

#define OK(call)                                                               \
  do {                                                                         \
    Status status_ = (call);                                                   \
    ASSERT_TRUE(status_.ok()) << #call << ": " << status_.message();           \
  } while (0)

/// The nodes of a graph, with what they point to.
class Nodes {
public:
  explicit Nodes(const TestProgram &program, NativeFunction *functions)
      : program(program), functions(functions) {}
  Nodes(const Nodes &) = delete;

  template <typename Params>
  uint32_t launch(KernelIndex kernel, int64_t grid, int64_t block,
                  const Params &params, std::vector<uint32_t> after = {},
                  bool empty = false) {
    blocks.push_back({});
    setLaunch(blocks.back(), kernel, grid, block, params);
    Command command(functions[kernel], program.kernels[kernel], blocks.back(),
                    nullptr);
    command.empty = empty;
    return add(command, std::move(after));
  }
  uint32_t copy(const StridedCopy &copy, std::vector<uint32_t> after = {}) {
    copies.push_back(copy);
    return add(Command(copies.back(), nullptr), std::move(after));
  }
  uint32_t copy(void *to, const void *from, uint64_t bytes,
                std::vector<uint32_t> after = {}) {
    return add(Command(ByteCopy{to, from, bytes}, nullptr), std::move(after));
  }
  uint32_t fill(const StridedFill &fill, std::vector<uint32_t> after = {}) {
    fills.push_back(fill);
    return add(Command(fills.back(), nullptr), std::move(after));
  }

  /// Other arguments of a node.
  template <typename Params>
  void set(uint32_t index, KernelIndex kernel, int64_t grid, int64_t block,
           const Params &params) {
    blocks.push_back({});
    setLaunch(blocks.back(), kernel, grid, block, params);
    list[index].command.launch.block = &blocks.back();
  }
  void set(uint32_t index, const StridedCopy &copy) {
    copies.push_back(copy);
    change(index, Command(copies.back(), nullptr));
  }
  void set(uint32_t index, void *to, const void *from, uint64_t bytes) {
    change(index, Command(ByteCopy{to, from, bytes}, nullptr));
  }
  void set(uint32_t index, const StridedFill &fill) {
    fills.push_back(fill);
    change(index, Command(fills.back(), nullptr));
  }

  Status make(Device &context, NativeGraph &out, bool anyUpdate = false) {
    return context.extensions.graphs->makeGraph(
        list.data(), uint32_t(list.size()), anyUpdate, out);
  }
  Status update(Device &context, NativeGraph graph,
                const std::vector<uint32_t> &indices) {
    std::vector<GraphNode> changed;
    for (uint32_t index : indices)
      changed.push_back(list[index]);
    uint32_t failed = 0;
    return context.extensions.graphs->updateGraph(
        graph, indices.data(), changed.data(), uint32_t(changed.size()),
        failed);
  }

  std::vector<GraphNode> list;

private:
  uint32_t add(const Command &command, std::vector<uint32_t> after) {
    GraphNode node;
    node.command = command;
    edges.push_back(std::move(after));
    node.after = edges.back().data();
    node.afterCount = uint32_t(edges.back().size());
    list.push_back(node);
    return uint32_t(list.size() - 1);
  }
  void change(uint32_t index, const Command &to) {
    const bool empty = list[index].command.empty;
    list[index].command = to;
    list[index].command.empty = empty;
  }
  template <typename Params>
  void setLaunch(gpuasync_launch_config &out, KernelIndex kernel, int64_t grid,
                 int64_t block, const Params &params) {
    size_t bytes = program.kernels[kernel].paramBytes;
    parameters.emplace_back((bytes + 15) / 16);
    memcpy(parameters.back().data(), &params,
           sizeof(params) < bytes ? sizeof(params) : bytes);
    out = makeLaunch(grid, block, params);
    out.params = parameters.back().data();
    out.paramBytes = uint32_t(bytes);
  }

  struct alignas(16) Unit {
    char bytes[16];
  };
  const TestProgram &program;
  NativeFunction *functions;
  std::deque<gpuasync_launch_config> blocks;
  std::deque<std::vector<Unit>> parameters;
  std::deque<StridedCopy> copies;
  std::deque<StridedFill> fills;
  std::deque<std::vector<uint32_t>> edges;
};

/// What the host makes of a copy or a fill.
template <typename Body>
void forElements(uint32_t rank, const int64_t *sizes, Body body) {
  uint64_t count = 1;
  for (uint32_t d = 0; d < rank; ++d)
    count *= uint64_t(sizes[d]);
  std::vector<int64_t> position(rank);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t rest = i;
    for (int d = int(rank) - 1; d >= 0; --d) {
      position[size_t(d)] = int64_t(rest % uint64_t(sizes[d]));
      rest /= uint64_t(sizes[d]);
    }
    body(position);
  }
}
int64_t offsetOf(const std::vector<int64_t> &position, const int64_t *strides) {
  int64_t offset = 0;
  for (size_t d = 0; d < position.size(); ++d)
    offset += position[d] * strides[d];
  return offset;
}

/// A context, the test kernels, two streams.
class Graphs : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    for (const Expectation &gap :
         expectations(GetParam(), Expected::Unsupported))
      GTEST_SKIP() << gap.reason;
    std::string name = GetParam();
    name = name.substr(0, name.find("-on-"));
    driver = &vendorNamed(name.c_str())->driver();
    if (mock)
      mock->mock_reset();
    if (Status status = driver->available(); !status.ok())
      GTEST_SKIP() << status.message();
    OK(driver->deviceInfo(0, info));
    if (!(info.capabilities & CapGraphs))
      GTEST_SKIP() << name << " has no graphs";
    OK(open(context));
    OK(context->makeCurrent(saved));
    uint32_t best = 0;
    for (gpuasync_image &candidate : program.images)
      if (uint32_t rank = driver->imageRank(0, candidate); rank > best) {
        best = rank;
        image = &candidate;
      }
    ASSERT_NE(image, nullptr);
    const bool asCompiled = strcmp(image->arch, "sm_90") == 0;
    overlaps = asCompiled && info.driverVersion >= 12030;
    signals =
        asCompiled && (info.capabilities & ~context->missing & CapFlagWait);
    OK(context->loadModule(program.module, *image, module, functions));
    OK(context->createStream(stream));
    OK(context->createStream(other));
    flag = pinned(4);
    *flag = 0;
  }
  void TearDown() override {
    if (!flag)
      return;
    openGate(flag);
    wait(stream);
    wait(other);
    for (auto &[pointer, kind] : memory)
      context->freeMemory(kind, pointer);
    context->destroyStream(stream);
    context->destroyStream(other);
    context->unloadModule(module);
    EXPECT_EQ(context->close(false), 0u);
    context->restore(saved);
    if (!mock)
      return;
    EXPECT_EQ(mock->mock_violations(
                  [](void *, const char *call, const char *reason) {
                    ADD_FAILURE() << call << ": " << reason;
                  },
                  nullptr),
              0u);
    EXPECT_EQ(mock->mock_live(nullptr), 0u);
  }
  Status open(std::unique_ptr<Device> &out) {
    return driver->openContext(0, nullptr, out);
  }
  Status launchTold(NativeGraph graph, uint32_t *&slot, uint32_t &value) {
    Completion completion;
    Status status =
        context->extensions.graphs->launchGraph(graph, stream, &completion);
    slot = completion.word;
    value = completion.value;
    return status;
  }
  Status launchTold(NativeStream on, NativeFunction function,
                    const gpuasync_kernel &kernel,
                    const gpuasync_launch_config &block, uint32_t signal,
                    uint32_t *&slot, uint32_t &value) {
    Completion completion;
    completion.signal = signal;
    Status status = context->submit(
        on, Command(function, kernel, block, nullptr, &completion));
    slot = completion.word;
    value = completion.value;
    return status;
  }
  static void waitFor(const uint32_t *slot, uint32_t value) {
    while (int32_t(__atomic_load_n(slot, __ATOMIC_ACQUIRE) - value) < 0)
      std::this_thread::yield();
  }
  void wait(NativeStream which) {
    bool done = false;
    OK(context->waitStream(which, -1, done));
    ASSERT_TRUE(done);
  }
  void *allocate(MemoryKind kind, uint64_t bytes) {
    void *result = nullptr;
    Status status = context->allocMemory(kind, bytes, result);
    EXPECT_TRUE(status.ok()) << status.message();
    memory.emplace_back(result, kind);
    return result;
  }
  uint32_t *pinned(uint64_t words) {
    return static_cast<uint32_t *>(allocate(MemoryKind::Pinned, words * 4));
  }
  uint32_t *device(uint64_t words) {
    return static_cast<uint32_t *>(allocate(MemoryKind::Device, words * 4));
  }
  std::vector<uint32_t> read(const uint32_t *from, uint64_t words) {
    uint32_t *to = pinned(words);
    Status status = context->submit(
        stream, Command(ByteCopy{to, from, words * 4}, nullptr));
    EXPECT_TRUE(status.ok()) << status.message();
    wait(stream);
    return std::vector<uint32_t>(to, to + words);
  }
  void run(NativeGraph graph) {
    OK(context->extensions.graphs->launchGraph(graph, stream, nullptr));
    wait(stream);
  }
  void closeGate() {
    openGate(flag);
    wait(stream);
    wait(other);
    *flag = 0;
    detail::GateParams params = {flag};
    gpuasync_launch_config block = makeLaunch(1, 1, params);
    OK(context->submit(stream, Command(functions[Gate], program.kernels[Gate],
                                       block, nullptr)));
  }
  Nodes nodes() const {
    return Nodes(program, const_cast<NativeFunction *>(functions));
  }
  /// Calls of the vendor's that add a kernel.
  uint64_t kernelNodes() const {
    return mock->mock_calls("cuGraphAddKernelNode") +
           mock->mock_calls("hipGraphAddKernelNode");
  }

  Driver *driver = nullptr;
  DeviceInfo info;
  Mock *mock = mockOf(GetParam());
  TestProgram program;
  bool overlaps = false; ///< its kernels are made ready early
  bool signals = false;  ///< kernels tell the host of their end
  std::unique_ptr<Device> context;
  SavedContext saved;
  gpuasync_image *image = nullptr; ///< of the module
  NativeModule module = nullptr;
  NativeFunction functions[NumKernels] = {};
  NativeStream stream = nullptr, other = nullptr;
  uint32_t *flag = nullptr;
  std::vector<std::pair<void *, MemoryKind>> memory;
};

using detail::AddUpParams;
using detail::GateParams;
using detail::MulAddParams;
using detail::ReadMapParams;
using detail::SharedParams;
using detail::StoreParams;

TEST_P(Graphs, Chain) {
  uint32_t *x = device(1024);
  Nodes list = nodes();
  uint32_t last = list.launch(Store, 4, 256, StoreParams{x, 1});
  uint32_t expected = 1;
  for (uint32_t i = 0; i < 10; ++i) {
    last = list.launch(MulAdd, 4, 256, MulAddParams{x, 1024, 3, i}, {last});
    expected = expected * 3 + i;
  }
  NativeGraph graph = nullptr;
  OK(list.make(*context, graph));
  for (int round = 0; round < 5; ++round)
    run(graph);
  EXPECT_EQ(read(x, 1024), std::vector<uint32_t>(1024, expected));
  context->extensions.graphs->destroyGraph(graph);
}

// One input, four branches of two, a join of what they made.
TEST_P(Graphs, Diamonds) {
  uint32_t *x = device(64), *branch = device(4 * 64), *sum = device(64);
  Nodes list = nodes();
  uint32_t first = list.launch(Store, 1, 64, StoreParams{x, 5});
  std::vector<uint32_t> ends;
  for (uint32_t b = 0; b < 4; ++b) {
    uint32_t *mine = branch + 64 * b;
    uint32_t one =
        list.launch(AddUp, 1, 64, AddUpParams{mine, x, 64, b}, {first});
    ends.push_back(
        list.launch(MulAdd, 1, 64, MulAddParams{mine, 64, 2, b}, {one}));
  }
  uint32_t last = list.launch(Store, 1, 64, StoreParams{sum, 0}, ends);
  for (uint32_t b = 0; b < 4; ++b)
    last =
        list.launch(AddUp, 1, 16,
                    AddUpParams{sum + 16 * b, branch + 64 * b, 16, 1}, {last});
  NativeGraph graph = nullptr;
  OK(list.make(*context, graph));
  for (int round = 0; round < 20; ++round) {
    run(graph);
    std::vector<uint32_t> values = read(sum, 64);
    for (uint32_t i = 0; i < 64; ++i)
      ASSERT_EQ(values[i], (5 + i / 16) * 2 + i / 16 + 1) << i;
  }
  context->extensions.graphs->destroyGraph(graph);
}

TEST_P(Graphs, FanOutAndFanInOf1000) {
  const uint32_t width = 1000;
  uint32_t *in = device(1), *words = device(width), *out = device(width);
  Nodes list = nodes();
  uint32_t first = list.launch(Store, 1, 1, StoreParams{in, 7});
  std::vector<uint32_t> all;
  for (uint32_t i = 0; i < width; ++i)
    all.push_back(
        list.launch(AddUp, 1, 1, AddUpParams{words + i, in, 1, i}, {first}));
  list.launch(AddUp, 4, 256, AddUpParams{out, words, width, 1}, all);
  NativeGraph graph = nullptr;
  OK(list.make(*context, graph));
  for (uint32_t round = 0; round < 4; ++round) {
    list.set(first, Store, 1, 1, StoreParams{in, round * 100});
    OK(list.update(*context, graph, {first}));
    run(graph);
    std::vector<uint32_t> values = read(out, width);
    for (uint32_t i = 0; i < width; ++i)
      ASSERT_EQ(values[i], round * 100 + i + 1);
  }
  context->extensions.graphs->destroyGraph(graph);
}

// 1000 nodes that nothing comes before.
TEST_P(Graphs, ManyRoots) {
  const uint32_t width = 1000;
  uint32_t *words = device(width);
  Nodes list = nodes();
  for (uint32_t i = 0; i < width; ++i)
    list.launch(Store, 1, 1, StoreParams{words + i, i * 3});
  NativeGraph graph = nullptr;
  OK(list.make(*context, graph));
  run(graph);
  std::vector<uint32_t> values = read(words, width);
  for (uint32_t i = 0; i < width; ++i)
    ASSERT_EQ(values[i], i * 3);
  context->extensions.graphs->destroyGraph(graph);
}

// A second root costs, and so does an empty kernel in front of a vendor's copy.
// On CUDA short copies are kernels, and a last one that writes to the host has
// a kernel behind it that tells of the end.
TEST_P(Graphs, OneRootAndShortCopiesByKernels) {
  if (!mock)
    GTEST_SKIP() << "calls are counted by the fake libraries only";
  const bool isCuda = std::string(driver->name()) == "cuda";
  const bool signals =
      isCuda && (info.capabilities & ~context->missing & CapFlagWait);
  const size_t large = 512 << 10;
  uint32_t *x = device(large / 4), *y = device(large / 4);
  uint32_t *host = pinned(large / 4);
  auto added = [&](Nodes &list) {
    uint64_t before = kernelNodes();
    NativeGraph graph = nullptr;
    Status status = list.make(*context, graph);
    EXPECT_TRUE(status.ok()) << status.message();
    context->extensions.graphs->destroyGraph(graph);
    return kernelNodes() - before;
  };
  for (size_t bytes : {size_t(256), large}) {
    const bool isKernel = isCuda && bytes < large;
    Nodes one = nodes();
    uint32_t first = one.launch(Store, 1, 64, StoreParams{x, 1});
    one.copy(y, x, bytes, {first});
    EXPECT_EQ(added(one), 1u + isKernel);
    Nodes copy = nodes();
    copy.copy(y, x, bytes);
    EXPECT_EQ(added(copy), uint64_t(isKernel));
    Nodes up = nodes();
    first = up.copy(x, host, bytes);
    up.launch(Store, 1, 64, StoreParams{x, 1}, {first});
    EXPECT_EQ(added(up), 1u + isKernel);
    Nodes down = nodes();
    first = down.launch(Store, 1, 64, StoreParams{x, 1});
    down.copy(host, x, bytes, {first});
    EXPECT_EQ(added(down), 1u + isKernel + (isKernel && signals));
  }
  Nodes two = nodes();
  two.launch(Store, 1, 64, StoreParams{x, 1});
  two.launch(Store, 1, 64, StoreParams{y, 1});
  EXPECT_EQ(added(two), 3u);
  Nodes empty = nodes();
  empty.launch(Store, 0, 64, StoreParams{x, 1}, {}, /*empty=*/true);
  EXPECT_EQ(added(empty), 2u);
}

// Contiguous, in rows and of higher rank, between all kinds of memory.
TEST_P(Graphs, CopiesBetweenAllKindsOfMemory) {
  const size_t bytes = 8192;
  auto *registered = static_cast<uint8_t *>(aligned_alloc(4096, 2 * bytes));
  bool owned = false;
  OK(context->registerHost(registered, 2 * bytes, owned));
  auto get = [&](MemoryKind kind) {
    return static_cast<uint8_t *>(allocate(kind, bytes));
  };
  uint8_t *places[2][4] = {{get(MemoryKind::Device), get(MemoryKind::Pinned),
                            registered, get(MemoryKind::HostShared)},
                           {get(MemoryKind::Device), get(MemoryKind::Pinned),
                            registered + bytes, get(MemoryKind::HostShared)}};
  auto *from = reinterpret_cast<uint8_t *>(pinned(bytes / 4));
  auto *to = reinterpret_cast<uint8_t *>(pinned(bytes / 4));
  std::mt19937 random(5);
  StridedCopy shapes[4];
  shapes[0].elementBytes = 1000;
  shapes[1].elementBytes = 1001; // an odd end
  shapes[2].rank = 1;
  shapes[2].elementBytes = 96;
  shapes[2].sizes[0] = 7;
  shapes[2].destinationStrides[0] = 128;
  shapes[2].sourceStrides[0] = 100;
  shapes[3].rank = 3;
  shapes[3].elementBytes = 4;
  const int64_t sizes[] = {3, 4, 5}, strides[] = {400, 60, 8};
  for (int d = 0; d < 3; ++d) {
    shapes[3].sizes[d] = sizes[d];
    shapes[3].destinationStrides[d] = strides[d];
    shapes[3].sourceStrides[d] = strides[2 - d] * 3;
  }
  for (const StridedCopy &shape : shapes)
    for (uint8_t *source : places[0])
      for (uint8_t *destination : places[1]) {
        for (size_t i = 0; i < bytes; ++i)
          from[i] = uint8_t(random());
        // Before it the source is written, after it the destination read.
        std::vector<uint8_t> expected(bytes, 0xee);
        Nodes list = nodes();
        uint32_t before = list.copy(source, from, bytes);
        StridedFill clear;
        clear.destination = destination;
        clear.rank = 1;
        clear.sizes[0] = bytes;
        clear.strides[0] = clear.elementBytes = 1;
        clear.pattern[0] = 0xee;
        uint32_t cleared = list.fill(clear);
        StridedCopy copy = shape;
        copy.destination = destination;
        copy.source = source;
        uint32_t copied = list.copy(copy, {before, cleared});
        list.copy(to, destination, bytes, {copied});
        forElements(copy.rank, copy.sizes, [&](auto &position) {
          memcpy(&expected[size_t(offsetOf(position, copy.destinationStrides))],
                 from + offsetOf(position, copy.sourceStrides),
                 copy.elementBytes);
        });
        NativeGraph graph = nullptr;
        OK(list.make(*context, graph));
        run(graph);
        ASSERT_EQ(memcmp(to, expected.data(), bytes), 0);
        context->extensions.graphs->destroyGraph(graph);
      }
  context->unregisterHost(registered);
  free(registered);
}

// More than a row of the vendor's copies holds; only made, since the fake
// libraries would take their time.
TEST_P(Graphs, CopiesOfMoreThan2GiB) {
  const uint64_t bytes = (uint64_t(1) << 31) + 4096;
  void *from = nullptr, *to = nullptr;
  OK(context->allocMemory(MemoryKind::Device, bytes, from));
  memory.emplace_back(from, MemoryKind::Device);
  OK(context->allocMemory(MemoryKind::Device, bytes, to));
  memory.emplace_back(to, MemoryKind::Device);
  Nodes list = nodes();
  list.copy(to, from, bytes);
  NativeGraph graph = nullptr;
  OK(list.make(*context, graph));
  if (!mock)
    run(graph);
  context->extensions.graphs->destroyGraph(graph);
  // A node that copies less cannot grow to that.
  Nodes second = nodes();
  uint32_t copy = second.copy(to, from, 4096);
  OK(second.make(*context, graph));
  second.set(copy, to, from, bytes);
  Status status = second.update(*context, graph, {copy});
  if (!status.ok())
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_UNSUPPORTED))
        << status.message();
  context->extensions.graphs->destroyGraph(graph);
}

TEST_P(Graphs, FillsLikeTheHost) {
  const size_t bytes = 1 << 14;
  std::mt19937 random(11);
  auto *result = reinterpret_cast<uint8_t *>(pinned(bytes / 4));
  for (MemoryKind kind : {MemoryKind::Device, MemoryKind::Pinned}) {
    auto *target = static_cast<uint8_t *>(allocate(kind, bytes));
    for (int round = 0; round < 60; ++round) {
      StridedFill clear;
      clear.destination = target;
      clear.rank = 1;
      clear.sizes[0] = bytes / 4;
      clear.strides[0] = clear.elementBytes = 4;
      StridedFill fill;
      fill.elementBytes = 1u << random() % 5;
      fill.rank = random() % 4;
      for (uint8_t &byte : fill.pattern)
        byte = uint8_t(random());
      int64_t span = fill.elementBytes;
      for (int d = int(fill.rank) - 1; d >= 0; --d) {
        fill.sizes[d] = 1 + random() % 6;
        fill.strides[d] = span * (1 + random() % 2);
        span = fill.strides[d] * fill.sizes[d];
      }
      size_t base = fill.elementBytes * (random() % 16);
      fill.destination = target + base;
      std::vector<uint8_t> expected(bytes);
      forElements(fill.rank, fill.sizes, [&](auto &position) {
        memcpy(&expected[base + size_t(offsetOf(position, fill.strides))],
               fill.pattern, fill.elementBytes);
      });
      Nodes list = nodes();
      uint32_t cleared = list.fill(clear);
      uint32_t filled = list.fill(fill, {cleared});
      list.copy(result, target, bytes, {filled});
      NativeGraph graph = nullptr;
      OK(list.make(*context, graph));
      run(graph);
      ASSERT_EQ(memcmp(result, expected.data(), bytes), 0)
          << "round " << round << ", rank " << fill.rank << ", element "
          << fill.elementBytes;
      context->extensions.graphs->destroyGraph(graph);
    }
  }
}

// Parameters, grids, blocks, addresses, sizes; what is not given stays.
TEST_P(Graphs, Updates) {
  uint32_t *x = device(1024), *y = device(1024), *z = device(1024);
  uint32_t *host = pinned(1024);
  Nodes list = nodes();
  uint32_t store = list.launch(Store, 4, 256, StoreParams{x, 1});
  StridedFill fill;
  fill.destination = z;
  fill.rank = 1;
  fill.sizes[0] = 1024;
  fill.strides[0] = fill.elementBytes = 4;
  fill.pattern[0] = 9;
  uint32_t filled = list.fill(fill);
  uint32_t add =
      list.launch(AddUp, 4, 256, AddUpParams{y, x, 1024, 10}, {store});
  uint32_t down = list.copy(host, y, 4096, {add});
  list.launch(AddUp, 4, 256, AddUpParams{z, y, 512, 0}, {filled, add});
  NativeGraph graph = nullptr;
  OK(list.make(*context, graph));
  run(graph);
  EXPECT_EQ(std::vector<uint32_t>(host, host + 1024),
            std::vector<uint32_t>(1024, 11));

  list.set(store, Store, 2, 512, StoreParams{x, 2});
  OK(list.update(*context, graph, {store}));
  run(graph);
  EXPECT_EQ(host[1023], 12u);

  list.set(add, AddUp, 1, 256, AddUpParams{y, x, 256, 20});
  list.set(down, host + 512, y + 128, 2048);
  fill.sizes[0] = 1000;
  fill.pattern[0] = 7;
  list.set(filled, fill);
  memset(host, 0, 4096);
  OK(list.update(*context, graph, {down, add, filled}));
  run(graph);
  for (uint32_t i = 0; i < 1024; ++i)
    ASSERT_EQ(host[i], i < 512 ? 0u : i < 640 ? 22u : 12u) << i;
  std::vector<uint32_t> values = read(z, 1024);
  for (uint32_t i = 0; i < 1024; ++i)
    ASSERT_EQ(values[i], i < 256    ? 22u
                         : i < 512  ? 12u
                         : i < 1000 ? 7u
                                    : 9u)
        << i;
  uint32_t failed = 0;
  OK(context->extensions.graphs->updateGraph(graph, nullptr, nullptr, 0,
                                             failed));
  context->extensions.graphs->destroyGraph(graph);
}

TEST_P(Graphs, UpdatesCostACallANode) {
  if (!mock)
    GTEST_SKIP() << "calls are counted by the fake libraries only";
  uint32_t *x = device(64), *y = device(64);
  Nodes list = nodes();
  uint32_t store = list.launch(Store, 1, 64, StoreParams{x, 1});
  uint32_t copy = list.copy(y, x, 256, {store});
  NativeGraph graph = nullptr;
  OK(list.make(*context, graph));
  auto calls = [&](std::vector<uint32_t> indices) {
    uint64_t before = mock->mock_calls(nullptr), own = driverCallCount;
    Status status = list.update(*context, graph, indices);
    EXPECT_TRUE(status.ok()) << status.message();
    uint64_t made = mock->mock_calls(nullptr) - before;
    EXPECT_EQ(driverCallCount - own, made);
    return made;
  };
  EXPECT_EQ(calls({store, copy}), 2u);
  list.list[store].command.empty = true;
  EXPECT_EQ(calls({store}), 1u) << "disabled";
  EXPECT_EQ(calls({store}), 0u) << "as it was";
  list.list[store].command.empty = false;
  EXPECT_EQ(calls({store}), 2u) << "arguments, enabled";
  uint64_t before = mock->mock_calls(nullptr);
  OK(context->extensions.graphs->launchGraph(graph, stream, nullptr));
  EXPECT_EQ(mock->mock_calls(nullptr) - before, 1u);
  wait(stream);
  context->extensions.graphs->destroyGraph(graph);
}

// Nodes without threads keep order, and can get some.
TEST_P(Graphs, EmptyLaunches) {
  uint32_t *x = device(64), *y = device(64);
  Nodes list = nodes();
  uint32_t first = list.launch(Store, 1, 64, StoreParams{x, 3});
  uint32_t middle = list.launch(MulAdd, 0, 64, MulAddParams{x, 64, 10, 0},
                                {first}, /*empty=*/true);
  uint32_t last = list.launch(AddUp, 1, 64, AddUpParams{y, x, 64, 1}, {middle});
  NativeGraph graph = nullptr;
  OK(list.make(*context, graph));
  for (int round = 0; round < 20; ++round) {
    run(graph);
    ASSERT_EQ(read(y, 64), std::vector<uint32_t>(64, 4));
  }
  list.set(middle, MulAdd, 1, 64, MulAddParams{x, 64, 10, 2});
  list.list[middle].command.empty = false;
  OK(list.update(*context, graph, {middle}));
  run(graph);
  EXPECT_EQ(read(y, 64), std::vector<uint32_t>(64, 33));
  list.list[middle].command.empty = list.list[last].command.empty = true;
  OK(list.update(*context, graph, {last, middle}));
  run(graph);
  EXPECT_EQ(read(y, 64), std::vector<uint32_t>(64, 33));
  EXPECT_EQ(read(x, 64), std::vector<uint32_t>(64, 3));
  list.list[last].command.empty = false;
  OK(list.update(*context, graph, {last}));
  run(graph);
  EXPECT_EQ(read(y, 64), std::vector<uint32_t>(64, 4));
  context->extensions.graphs->destroyGraph(graph);
}

// What is to be copied and filled is known later only.
TEST_P(Graphs, EmptyCopiesAndFills) {
  uint32_t *x = device(64), *y = device(64);
  Nodes list = nodes();
  uint32_t first = list.launch(Store, 1, 64, StoreParams{x, 3});
  uint32_t copy = list.copy(y, x, 0, {first});
  uint32_t fill = list.fill(StridedFill(), {copy});
  list.launch(MulAdd, 1, 64, MulAddParams{x, 64, 10, 0}, {fill});
  for (uint32_t node : {copy, fill}) {
    list.list[node].command.empty = true;
    list.list[node].command.copy = nullptr; // and `fill`
  }
  NativeGraph graph = nullptr;
  OK(list.make(*context, graph));
  for (int round = 0; round < 20; ++round) {
    run(graph);
    ASSERT_EQ(read(x, 64), std::vector<uint32_t>(64, 30));
  }
  list.set(copy, y, x, 256);
  StridedFill whole;
  whole.destination = x;
  whole.rank = 1;
  whole.sizes[0] = 64;
  whole.strides[0] = whole.elementBytes = 4;
  whole.pattern[0] = 8;
  list.set(fill, whole);
  list.list[copy].command.empty = list.list[fill].command.empty = false;
  OK(list.update(*context, graph, {copy, fill}));
  run(graph);
  EXPECT_EQ(read(y, 64), std::vector<uint32_t>(64, 3));
  EXPECT_EQ(read(x, 64), std::vector<uint32_t>(64, 80));
  // A node of the vendor's for copies is disabled as kernels are.
  Nodes second = nodes();
  first = second.launch(Store, 1, 64, StoreParams{x, 5});
  copy = second.copy(y, x, 256, {first});
  NativeGraph other = nullptr;
  OK(second.make(*context, other));
  second.list[copy].command.empty = true;
  OK(second.update(*context, other, {copy}));
  run(other);
  EXPECT_EQ(read(y, 64), std::vector<uint32_t>(64, 3));
  second.list[copy].command.empty = false;
  OK(second.update(*context, other, {copy}));
  run(other);
  EXPECT_EQ(read(y, 64), std::vector<uint32_t>(64, 5));
  context->extensions.graphs->destroyGraph(graph);
  context->extensions.graphs->destroyGraph(other);
}

TEST_P(Graphs, LargeParametersAndDynamicMemory) {
  uint32_t *out = pinned(64);
  ReadMapParams map = {};
  map.out = reinterpret_cast<int64_t *>(out + 16);
  for (int i = 0; i < 16; ++i)
    map.map[i] = 100 + i;
  const uint32_t words = 1000;
  Nodes list = nodes();
  uint32_t shared = list.launch(Shared, 1, 1, SharedParams{out, words});
  const_cast<gpuasync_launch_config *>(list.list[shared].command.launch.block)
      ->dynamicSharedBytes = words * 4;
  uint32_t read = list.launch(ReadMap, 1, 1, map);
  NativeGraph graph = nullptr;
  OK(list.make(*context, graph));
  run(graph);
  EXPECT_EQ(out[0], words - 1);
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(map.out[i], 100 + i);
  for (int i = 0; i < 16; ++i)
    map.map[i] = 200 - i;
  list.set(read, ReadMap, 1, 1, map);
  OK(list.update(*context, graph, {read}));
  run(graph);
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(map.out[i], 200 - i);
  context->extensions.graphs->destroyGraph(graph);
}

TEST_P(Graphs, CooperativeLaunches) {
  if (!(info.capabilities & CapCooperative))
    GTEST_SKIP() << "no cooperative launch";
  uint32_t *x = device(256);
  Nodes list = nodes();
  uint32_t first = list.launch(Store, 1, 256, StoreParams{x, 4});
  uint32_t second =
      list.launch(MulAdd, 4, 64, MulAddParams{x, 256, 2, 1}, {first});
  auto *block = const_cast<gpuasync_launch_config *>(
      list.list[second].command.launch.block);
  block->flags = GPUASYNC_LAUNCH_COOPERATIVE;
  NativeGraph graph = nullptr;
  Status status = list.make(*context, graph);
  if (std::string(driver->name()) == "hip") {
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_UNSUPPORTED))
        << status.message();
    return;
  }
  OK(std::move(status));
  run(graph);
  EXPECT_EQ(read(x, 256), std::vector<uint32_t>(256, 9));
  list.set(second, MulAdd, 4, 64, MulAddParams{x, 256, 3, 1});
  status = list.update(*context, graph, {second});
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_UNSUPPORTED)) << "other flags";
  const_cast<gpuasync_launch_config *>(list.list[second].command.launch.block)
      ->flags = GPUASYNC_LAUNCH_COOPERATIVE;
  OK(list.update(*context, graph, {second}));
  run(graph);
  EXPECT_EQ(read(x, 256), std::vector<uint32_t>(256, 13));
  list.set(second, MulAdd, 1 << 20, 64, MulAddParams{x, 256, 3, 1});
  const_cast<gpuasync_launch_config *>(list.list[second].command.launch.block)
      ->flags = GPUASYNC_LAUNCH_COOPERATIVE;
  status = list.update(*context, graph, {second});
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
  EXPECT_NE(std::string(status.message()).find("holds at most"),
            std::string::npos)
      << status.message();
  context->extensions.graphs->destroyGraph(graph);
}

TEST_P(Graphs, OtherKindsOfNodesAreRefused) {
  // No kernel copies as much.
  const size_t words = 1 << 17;
  uint32_t *x = device(words), *y = device(words);
  uint32_t *host = pinned(words);
  Nodes list = nodes();
  uint32_t store = list.launch(Store, words / 256, 256, StoreParams{x, 6});
  uint32_t copy = list.copy(y, x, words * 4, {store});
  NativeGraph graph = nullptr;
  OK(list.make(*context, graph));
  StridedCopy rows;
  rows.destination = y;
  rows.source = x;
  rows.rank = 1;
  rows.elementBytes = 64;
  rows.sizes[0] = 4;
  rows.destinationStrides[0] = rows.sourceStrides[0] = 128;
  list.set(copy, rows);
  Status status = list.update(*context, graph, {copy});
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_UNSUPPORTED)) << status.message();
  run(graph);
  EXPECT_EQ(read(y, words), std::vector<uint32_t>(words, 6)) << "as before";
  // Memory of another kind: up to the vendor.
  list.set(copy, y, host, words * 4);
  status = list.update(*context, graph, {copy});
  if (mock || !status.ok())
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_UNSUPPORTED))
        << status.message();
  context->extensions.graphs->destroyGraph(graph);

  // A kernel that copies takes any.
  Nodes second = nodes();
  copy = second.copy(rows);
  OK(second.make(*context, graph));
  for (uint32_t i = 0; i < 1024; ++i)
    host[i] = i;
  second.set(copy, y, host, 4096);
  OK(second.update(*context, graph, {copy}));
  run(graph);
  EXPECT_EQ(read(y, 1024), std::vector<uint32_t>(host, host + 1024));
  context->extensions.graphs->destroyGraph(graph);
}

TEST_P(Graphs, LimitsAreNamedAtTheirNode) {
  uint32_t *x = device(64);
  uint32_t index = testSite("limits.mlir", "launch", 12, 7, 0);
  for (int what = 0; what < 3; ++what) {
    Nodes list = nodes();
    list.launch(Store, 1, 64, StoreParams{x, 1});
    uint32_t bad =
        what == 0
            ? list.launch(Store, int64_t(1) << 32, 1, StoreParams{x, 1})
            : list.launch(Store, 1, what == 1 ? 4096 : 1, StoreParams{x, 1});
    if (what == 2)
      const_cast<gpuasync_launch_config *>(list.list[bad].command.launch.block)
          ->dynamicSharedBytes = 1 << 30;
    list.list[bad].command.site = &testSites.data()[index];
    NativeGraph graph = nullptr;
    Status status = list.make(*context, graph);
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
    EXPECT_EQ(std::string(status.message()).find("limits.mlir:12:7: launch: "),
              0u)
        << status.message();
    EXPECT_NE(std::string(status.message()).find("limit"), std::string::npos);
    EXPECT_EQ(graph, nullptr);
  }
}

// As one operation: what is before it in the stream ends first, what comes
// after it begins later.
TEST_P(Graphs, KeepTheOrderOfTheStream) {
  uint32_t *x = device(64), *y = device(64), *host = pinned(64);
  uint32_t *z = device(64); // here, since allocating may wait for kernels
  Nodes list = nodes();
  for (uint32_t i = 0; i < 8; ++i)
    list.launch(AddUp, 1, 8, AddUpParams{y + 8 * i, x + 8 * i, 8, 1});
  NativeGraph graph = nullptr;
  OK(list.make(*context, graph));
  auto onStream = [&](KernelIndex kernel, auto params) {
    gpuasync_launch_config block = makeLaunch(1, 64, params);
    block.paramBytes = program.kernels[kernel].paramBytes;
    OK(context->submit(
        stream,
        Command(functions[kernel], program.kernels[kernel], block, nullptr)));
  };
  closeGate();
  onStream(Store, StoreParams{x, 40});
  OK(context->extensions.graphs->launchGraph(graph, stream, nullptr));
  onStream(MulAdd, MulAddParams{y, 64, 2, 0});
  OK(context->submit(stream, Command(ByteCopy{host, y, 256}, nullptr)));
  onStream(Store, StoreParams{x, 0});
  bool done = true;
  OK(context->queryStream(stream, done));
  EXPECT_FALSE(done);
  // Other streams go on meanwhile, and so does making graphs.
  Nodes second = nodes();
  second.launch(Store, 1, 64, StoreParams{z, 5});
  NativeGraph beside = nullptr;
  OK(second.make(*context, beside));
  OK(context->extensions.graphs->launchGraph(beside, other, nullptr));
  wait(other);
  OK(context->queryStream(stream, done));
  EXPECT_FALSE(done);
  context->extensions.graphs->destroyGraph(beside);
  openGate(flag);
  wait(stream);
  EXPECT_EQ(std::vector<uint32_t>(host, host + 64),
            std::vector<uint32_t>(64, 82));
  EXPECT_EQ(read(z, 64), std::vector<uint32_t>(64, 5));
  context->extensions.graphs->destroyGraph(graph);
}

// What is enqueued keeps the arguments that it was enqueued with.
TEST_P(Graphs, QueuedLaunchesKeepTheirArguments) {
  uint32_t *x = device(64), *y = device(64), *host = pinned(3 * 64);
  Nodes list = nodes();
  uint32_t store = list.launch(Store, 1, 64, StoreParams{x, 1});
  uint32_t mul =
      list.launch(MulAdd, 1, 64, MulAddParams{x, 64, 10, 0}, {store});
  uint32_t copy = list.copy(y, x, 256, {mul});
  NativeGraph graph = nullptr;
  OK(list.make(*context, graph));
  closeGate();
  for (uint32_t round = 0; round < 3; ++round) {
    if (round == 1)
      list.set(store, Store, 1, 64, StoreParams{x, 2});
    if (round == 2) {
      list.list[mul].command.empty = true;
      if (overlaps) { // it must be run to keep its order
        EXPECT_EQ(list.update(*context, graph, {mul}).code(),
                  uint32_t(GPUASYNC_UNSUPPORTED));
        list.list[mul].command.empty = false;
        list.set(mul, MulAdd, 1, 64, MulAddParams{x, 64, 1, 0});
      }
      list.set(copy, y, x, 128);
    }
    OK(list.update(*context, graph, {store, mul, copy}));
    OK(context->extensions.graphs->launchGraph(graph, stream, nullptr));
    OK(context->submit(stream,
                       Command(ByteCopy{host + 64 * round, y, 256}, nullptr)));
  }
  openGate(flag);
  wait(stream);
  for (uint32_t i = 0; i < 64; ++i) {
    EXPECT_EQ(host[i], 10u);
    EXPECT_EQ(host[64 + i], 20u);
    EXPECT_EQ(host[128 + i], i < 32 ? 2u : 20u);
  }
  context->extensions.graphs->destroyGraph(graph);
}

// A graph tells the host that its work is done, launch by launch, also one of
// several branches, while it is told from graphs that came and went before.
TEST_P(Graphs, TellsTheHostOfItsEnd_G08) {
  uint32_t *x = device(2 * 64), *host = pinned(2 * 64);
  uint32_t *slot = nullptr, value = 0;
  for (uint32_t life = 0; life < 3; ++life) {
    Nodes list = nodes();
    uint32_t first = list.launch(Store, 1, 64, StoreParams{x, life});
    uint32_t left =
        list.launch(MulAdd, 1, 64, MulAddParams{x, 64, 3, 1}, {first});
    uint32_t right =
        list.launch(AddUp, 1, 64, AddUpParams{x + 64, x, 64, 7}, {first, left});
    list.copy(host, x, 256, {left});
    list.copy(host + 64, x + 64, 256, {right});
    NativeGraph graph = nullptr;
    OK(list.make(*context, graph));
    for (uint32_t round = 0; round < 20; ++round) {
      memset(host, 0xff, 512);
      if (round % 5 == 4) { // not asked for
        run(graph);
      } else {
        OK(launchTold(graph, slot, value));
        if (!slot || !(info.capabilities & ~context->missing & CapFlagWait)) {
          EXPECT_EQ(slot, nullptr);
          wait(stream);
        }
        if (slot)
          waitFor(slot, value);
      }
      for (uint32_t i = 0; i < 64; ++i) {
        ASSERT_EQ(host[i], life * 3 + 1) << round;
        ASSERT_EQ(host[64 + i], life * 3 + 8) << round;
      }
    }
    context->extensions.graphs->destroyGraph(
        graph); // the last launch may not have ended
  }
  if (!slot)
    return;
  // Not of several kernels.
  NativeGraph graph = nullptr;
  {
    Nodes list = nodes();
    list.launch(Store, 1, 64, StoreParams{x, 1});
    list.launch(Store, 1, 64, StoreParams{x + 64, 1});
    OK(list.make(*context, graph));
    OK(launchTold(graph, slot, value));
    EXPECT_EQ(slot, nullptr);
    wait(stream);
    context->extensions.graphs->destroyGraph(graph);
  }
  // It comes after the last of all branches.
  Nodes list = nodes();
  uint32_t store = list.launch(Store, 1, 64, StoreParams{x, 1});
  list.copy(host, x, 256, {store});
  list.launch(Gate, 1, 1, GateParams{flag});
  OK(list.make(*context, graph));
  openGate(flag);
  wait(stream);
  *flag = 0;
  OK(launchTold(graph, slot, value));
  bool done = true;
  OK(context->queryStream(stream, done));
  EXPECT_FALSE(done);
  EXPECT_LT(int32_t(__atomic_load_n(slot, __ATOMIC_ACQUIRE) - value), 0);
  openGate(flag);
  wait(stream);
  EXPECT_EQ(__atomic_load_n(slot, __ATOMIC_ACQUIRE), value);
  context->extensions.graphs->destroyGraph(graph);
}

// The kernel that comes after all else tells the host itself, whatever it is
// updated to; and memory of the device is as it left it by then.
TEST_P(Graphs, LastKernelTellsTheHost_G08) {
  const uint32_t words = 1 << 14;
  uint32_t *x = device(words), *y = device(words), *host = pinned(words);
  uint32_t *slot = nullptr, value = 0;
  Nodes list = nodes();
  uint32_t first = list.launch(Store, 4, 64, StoreParams{x, 1});
  uint32_t side =
      list.launch(MulAdd, 1, 64, MulAddParams{x, 64, 3, 1}, {first});
  uint32_t last = list.launch(AddUp, words / 64, 64,
                              AddUpParams{y, x, words, 0}, {first, side});
  NativeGraph graph = nullptr;
  OK(list.make(*context, graph, /*anyUpdate=*/true));
  for (uint32_t round = 0; round < 60; ++round) {
    const bool empty = round % 7 == 3;
    const uint32_t blocks = round % 2 ? words / 64 : 1;
    list.set(first, Store, words / 64, 64, StoreParams{x, round});
    list.set(last, AddUp, blocks, 64, AddUpParams{y, x, words, round});
    list.list[last].command.empty = empty;
    OK(list.update(*context, graph, {first, last}));
    if (round % 5 == 4) { // not asked for
      run(graph);
    } else {
      OK(launchTold(graph, slot, value));
      EXPECT_EQ(slot != nullptr, signals && !empty) << round;
      if (!slot)
        wait(stream);
      else
        waitFor(slot, value);
    }
    if (empty)
      continue;
    // What another stream does is behind nothing of the graph's.
    OK(context->submit(other, Command(ByteCopy{host, y, words * 4}, nullptr)));
    wait(other);
    for (uint32_t i = 0; i < blocks * 64; ++i)
      ASSERT_EQ(host[i], (i < 64 ? round * 3 + 1 : round) + round)
          << round << " " << i;
  }
  wait(stream);
  context->extensions.graphs->destroyGraph(graph);
}

// Where the vendor refuses to have the last kernel tell the host, it does not
// do so at a later launch that nobody counts.
TEST_P(Graphs, LastKernelThatCannotBeAskedTellsNobody_G08) {
  if (!mock || !signals)
    GTEST_SKIP() << "for kernels that tell the host of their end, on a mock";
  uint32_t *x = device(64), *slot = nullptr, *told = nullptr, value = 0;
  for (bool asked : {true, false}) {
    Nodes list = nodes();
    list.launch(Store, 1, 64, StoreParams{x, 1});
    NativeGraph graph = nullptr;
    OK(list.make(*context, graph));
    OK(launchTold(graph, told, value));
    waitFor(told, value);
    if (asked)
      OK(context->extensions.graphs->launchGraph(graph, stream, nullptr));
    mock->mock_fail("cuGraphExecKernelNodeSetParams", 1, 2);
    if (asked)
      EXPECT_FALSE(launchTold(graph, slot, value).ok());
    else
      EXPECT_FALSE(
          context->extensions.graphs->launchGraph(graph, stream, nullptr).ok());
    mock->mock_fail(nullptr, 0, 0);
    for (uint32_t round = 0; round < 4; ++round) {
      list.set(0, Store, 1, 64, StoreParams{x, round});
      OK(list.update(*context, graph, {0}));
      const uint32_t before = *told;
      OK(context->extensions.graphs->launchGraph(graph, stream, nullptr));
      wait(stream);
      EXPECT_EQ(*told, before) << round;
      OK(launchTold(graph, told, value));
      wait(stream);
      EXPECT_EQ(*told, value) << round;
    }
    // Nor what an update that was refused has left.
    gpuasync_launch_config without = *list.list[0].command.launch.block;
    without.paramBytes = 4;
    list.list[0].command.launch.block = &without;
    EXPECT_FALSE(list.update(*context, graph, {0}).ok());
    const uint32_t before = *told;
    OK(context->extensions.graphs->launchGraph(graph, stream, nullptr));
    wait(stream);
    EXPECT_EQ(*told, before);
    context->extensions.graphs->destroyGraph(graph);
  }
}

// A kernel on a stream tells the host of its end, whatever its grid is, among
// others that do not, and each stream for itself.
TEST_P(Graphs, KernelsTellTheHost_L10) {
  const uint32_t words = 1 << 14;
  uint32_t *x[2] = {device(words), device(words)}, *host = pinned(words);
  NativeStream streams[2] = {stream, other}, third = nullptr;
  OK(context->createStream(third));
  uint32_t taken[2] = {};
  for (uint32_t &each : taken)
    if (!context->extensions.signals->acquireSignal(each)) {
      ASSERT_FALSE(signals);
      context->destroyStream(third);
      GTEST_SKIP() << "no kernel tells the host of its end here";
    }
  EXPECT_NE(taken[0], taken[1]);
  auto launch = [&](int s, KernelIndex kernel, int64_t grid, const auto &params,
                    uint32_t *&slot, uint32_t &value) {
    gpuasync_launch_config block = makeLaunch(grid, 64, params);
    block.paramBytes = program.kernels[kernel].paramBytes;
    OK(launchTold(streams[s], functions[kernel], program.kernels[kernel], block,
                  taken[s], slot, value));
  };
  for (uint32_t round = 0; round < 100; ++round) {
    const int s = round % 3 == 1;
    const int64_t grid = round % 4 == 3 ? 1 : words / 64 >> round % 4;
    uint32_t *slot = nullptr, value = 0;
    launch(s, Store, words / 64, StoreParams{x[s], round}, slot, value);
    ASSERT_EQ(slot != nullptr, signals);
    if (round % 5 == 0) { // one that does not
      const StoreParams params = {x[s], round + 1};
      gpuasync_launch_config block = makeLaunch(words / 64, 64, params);
      block.paramBytes = program.kernels[Store].paramBytes;
      OK(context->submit(
          streams[s],
          Command(functions[Store], program.kernels[Store], block, nullptr)));
    }
    launch(s, MulAdd, grid, MulAddParams{x[s], words, 2, 1}, slot, value);
    if (slot)
      waitFor(slot, value);
    else
      wait(streams[s]);
    OK(context->submit(third,
                       Command(ByteCopy{host, x[s], words * 4}, nullptr)));
    wait(third);
    const uint32_t stored = round % 5 ? round : round + 1;
    for (uint32_t i = 0; i < words; ++i)
      ASSERT_EQ(host[i], i < grid * 64 ? stored * 2 + 1 : stored)
          << round << " " << i;
  }
  if (signals) {
    uint32_t *slot = nullptr, value = 0;
    const GateParams params = {flag};
    gpuasync_launch_config block = makeLaunch(1, 1, params);
    block.paramBytes = program.kernels[Gate].paramBytes;
    OK(launchTold(stream, functions[Gate], program.kernels[Gate], block,
                  taken[0], slot, value));
    bool done = true;
    OK(context->queryStream(stream, done));
    EXPECT_FALSE(done);
    EXPECT_LT(int32_t(__atomic_load_n(slot, __ATOMIC_ACQUIRE) - value), 0);
    openGate(flag);
    waitFor(slot, value);
  }
  wait(stream);
  wait(other);
  for (uint32_t each : taken)
    context->extensions.signals->releaseSignal(each);
  context->destroyStream(third);
}

// What all blocks wrote to memory of the host is there when the last one tells.
TEST_P(Graphs, WhatKernelsWroteToTheHostIsThere_L10) {
  const uint32_t words = 1 << 16;
  uint32_t *x = pinned(words), taken = 0;
  if (!context->extensions.signals->acquireSignal(taken)) {
    ASSERT_FALSE(signals);
    GTEST_SKIP() << "no kernel tells the host of its end here";
  }
  for (uint32_t round = 1; round < 200; ++round) {
    const StoreParams params = {x, round};
    gpuasync_launch_config block = makeLaunch(words / 64, 64, params);
    block.paramBytes = program.kernels[Store].paramBytes;
    uint32_t *slot = nullptr, value = 0;
    OK(launchTold(stream, functions[Store], program.kernels[Store], block,
                  taken, slot, value));
    if (slot)
      waitFor(slot, value);
    else
      wait(stream);
    for (uint32_t i = 0; i < words; ++i)
      ASSERT_EQ(x[i], round) << i;
  }
  wait(stream);
  context->extensions.signals->releaseSignal(taken);
}

// What an image says of its kernels holds for those that are found later, too:
// they take what the runtime adds to their parameters.
TEST_P(Graphs, FoundKernelsTellTheHost_L10) {
  const uint32_t words = 64;
  uint32_t *x = device(words), *host = pinned(words), taken = 0;
  gpuasync_kernel kernel = program.kernels[Store];
  gpuasync_module table = program.module;
  table.kernels = &kernel;
  table.kernelCount = 1;
  NativeFunction found = nullptr;
  OK(context->extensions.foreign->findFunction(module, table, *image, found));
  StoreParams params = {x, 5};
  gpuasync_launch_config block = makeLaunch(1, words, params);
  block.paramBytes = kernel.paramBytes;
  if (context->extensions.signals->acquireSignal(taken)) {
    uint32_t *slot = nullptr, value = 0;
    OK(launchTold(stream, found, kernel, block, taken, slot, value));
    ASSERT_EQ(slot != nullptr, signals);
    if (slot)
      waitFor(slot, value);
    wait(stream);
    context->extensions.signals->releaseSignal(taken);
  }
  params.value = 6;
  OK(context->submit(stream, Command(found, kernel, block, nullptr)));
  if (signals || !mock) { // the model of HIP takes no pointers
    params.value = 7;
    void *parameters[] = {&params.out, &params.value};
    OK(context->extensions.foreign->launchPointers(
        stream, {found, &kernel, &block}, parameters, nullptr));
  }
  OK(context->submit(stream, Command(ByteCopy{host, x, words * 4}, nullptr)));
  wait(stream);
  EXPECT_EQ(host[words - 1], params.value);
}

// Kernels whose image says that they wait are made ready early, behind kernels
// of all images; what others give is refused or ordered wholly.
TEST_P(Graphs, KernelsOverlapOnlyWhereTheyWait_G07) {
  if (!overlaps)
    GTEST_SKIP() << "kernels are not made ready early here";
  TestProgram plain(TestProgram::Cuda);
  NativeModule second = nullptr;
  NativeFunction functionsOf[NumKernels] = {};
  OK(context->loadModule(plain.module, plain.images[0], second, functionsOf));
  const uint32_t words = 1 << 16;
  uint32_t *x = device(words), *y = device(words);
  NativeGraph graph = nullptr;
  Nodes list = nodes();
  uint32_t last = list.launch(Store, words / 256, 256, StoreParams{x, 1});
  for (uint32_t i = 0; i < 30; ++i) {
    uint32_t *to = i % 2 ? x : y, *from = i % 2 ? y : x;
    last = list.launch(AddUp, words / 256, 256, AddUpParams{to, from, words, i},
                       {last});
    if (i % 3 == 1) { // this one's image does not say it
      list.list[last].command.launch.function = functionsOf[AddUp];
      list.list[last].command.launch.kernel = &plain.kernels[AddUp];
    }
    if (i % 7 == 6)
      last = list.copy(from, to, words * 4, {last});
  }
  OK(list.make(*context, graph));
  for (int round = 0; round < 20; ++round) {
    run(graph);
    ASSERT_EQ(read(x, words), std::vector<uint32_t>(words, 1 + 29 * 30 / 2))
        << round;
  }
  context->extensions.graphs->destroyGraph(graph);
  context->unloadModule(second);
}

TEST_P(Graphs, TwoOfOneModuleAtOnce) {
  uint32_t *x[2] = {device(64), device(64)};
  NativeGraph graphs[2] = {};
  NativeStream streams[2] = {stream, other};
  std::deque<Nodes> lists;
  for (uint32_t g = 0; g < 2; ++g) {
    Nodes &list =
        lists.emplace_back(program, static_cast<NativeFunction *>(functions));
    uint32_t last = list.launch(Store, 1, 64, StoreParams{x[g], g});
    for (int i = 0; i < 5; ++i)
      last =
          list.launch(MulAdd, 1, 64, MulAddParams{x[g], 64, 2, g + 1}, {last});
    OK(list.make(*context, graphs[g]));
  }
  for (int round = 0; round < 50; ++round)
    for (int g = 0; g < 2; ++g)
      OK(context->extensions.graphs->launchGraph(graphs[g], streams[g],
                                                 nullptr));
  wait(stream);
  wait(other);
  EXPECT_EQ(read(x[0], 64), std::vector<uint32_t>(64, 31));
  EXPECT_EQ(read(x[1], 64), std::vector<uint32_t>(64, 32 + 62));
  for (NativeGraph graph : graphs)
    context->extensions.graphs->destroyGraph(graph);
}

// One executable on two streams: its launches come one after the other.
TEST_P(Graphs, LaunchesOfOneGraphDoNotOverlap_G04) {
  uint32_t *x = device(64);
  Nodes list = nodes();
  uint32_t last = list.launch(MulAdd, 1, 64, MulAddParams{x, 64, 1, 1});
  for (int i = 0; i < 4; ++i)
    last = list.launch(MulAdd, 1, 64, MulAddParams{x, 64, 1, 1}, {last});
  NativeGraph graph = nullptr;
  OK(list.make(*context, graph));
  StridedFill clear;
  clear.destination = x;
  clear.rank = 1;
  clear.sizes[0] = 64;
  clear.strides[0] = clear.elementBytes = 4;
  OK(context->submit(stream, Command(clear, nullptr)));
  wait(stream);
  for (int round = 0; round < 20; ++round)
    OK(context->extensions.graphs->launchGraph(
        graph, round % 2 ? stream : other, nullptr));
  wait(stream);
  wait(other);
  EXPECT_EQ(read(x, 64), std::vector<uint32_t>(64, 100));
  context->extensions.graphs->destroyGraph(graph);
}

// Each call of the vendor's fails in turn: nothing is left, and the next try
// goes well.
TEST_P(Graphs, FailedCallsLeaveNothing_G05) {
  if (!mock)
    GTEST_SKIP() << "calls fail in the fake libraries only";
  const int outOfMemory = 2;
  uint32_t *x = device(64), *y = device(64), *z = device(64);
  auto fillIn = [&](Nodes &list) {
    list.launch(Store, 1, 64, StoreParams{x, 1});
    list.copy(z, y, 128);
    uint32_t empty =
        list.launch(Store, 0, 64, StoreParams{x, 1}, {0, 1}, /*empty=*/true);
    StridedFill fill;
    fill.destination = y;
    fill.rank = 2;
    fill.sizes[0] = fill.sizes[1] = 4;
    fill.strides[0] = 32;
    fill.strides[1] = fill.elementBytes = 4;
    list.fill(fill, {empty});
  };
  int failures = 0;
  for (uint64_t n = 1;; ++n) {
    Nodes list = nodes();
    fillIn(list);
    NativeGraph graph = nullptr;
    mock->mock_fail(nullptr, n, outOfMemory);
    Status status = list.make(*context, graph);
    const char *failed = mock->mock_failed();
    std::string call = failed ? failed : "";
    mock->mock_fail(nullptr, 0, 0);
    // A question or a change of mode that fails may be answered otherwise.
    EXPECT_EQ(status.ok(), graph != nullptr);
    if (status.ok())
      context->extensions.graphs->destroyGraph(graph);
    else
      EXPECT_NE(std::string(status.message()).find(call), std::string::npos)
          << status.message();
    EXPECT_EQ(mock->mock_live("graph"), 0u) << call;
    EXPECT_EQ(mock->mock_live("executable"), 0u) << call;
    if (call.empty())
      break;
    failures += !status.ok();
  }
  EXPECT_GE(failures, 7);

  Nodes list = nodes();
  fillIn(list);
  NativeGraph graph = nullptr;
  OK(list.make(*context, graph));
  list.list[2].command.empty = false;
  const_cast<gpuasync_launch_config *>(list.list[2].command.launch.block)
      ->grid[0] = 1;
  for (uint64_t n = 1;; ++n) {
    mock->mock_fail(nullptr, n, outOfMemory);
    Status status = list.update(*context, graph, {0, 1, 2, 3});
    bool failed = mock->mock_failed();
    mock->mock_fail(nullptr, 0, 0);
    if (!failed) {
      OK(std::move(status));
      break;
    }
    if (!status.ok())
      EXPECT_EQ(status.code(), uint32_t(GPUASYNC_OUT_OF_MEMORY))
          << status.message();
  }
  mock->mock_fail(nullptr, 1, outOfMemory);
  EXPECT_EQ(
      context->extensions.graphs->launchGraph(graph, stream, nullptr).code(),
      uint32_t(GPUASYNC_OUT_OF_MEMORY));
  mock->mock_fail(nullptr, 0, 0);
  run(graph);
  EXPECT_EQ(read(x, 64), std::vector<uint32_t>(64, 1));
  // What cannot be destroyed is gone all the same.
  for (const char *name : {"GraphExecDestroy", "GraphDestroy"}) {
    std::string call = (std::string(driver->name()) == "hip" ? "hip" : "cu") +
                       std::string(name);
    NativeGraph second = nullptr;
    OK(list.make(*context, second));
    mock->mock_fail(call.c_str(), 1, outOfMemory);
    context->extensions.graphs->destroyGraph(second);
    EXPECT_STREQ(mock->mock_failed(), call.c_str());
    mock->mock_fail(nullptr, 0, 0);
    EXPECT_EQ(mock->mock_live("graph"), 1u);
    EXPECT_EQ(mock->mock_live("executable"), 1u);
  }
  context->extensions.graphs->destroyGraph(graph);
}

TEST_P(Graphs, LeftOnesAreCounted) {
  if (std::string(driver->name()) == "hip")
    GTEST_SKIP() << "what is left when a device is closed stays there";
  std::unique_ptr<Device> second;
  OK(open(second));
  SavedContext inner;
  OK(second->makeCurrent(inner));
  StridedFill fill;
  void *memoryOfIt = nullptr;
  OK(second->allocMemory(MemoryKind::Device, 64, memoryOfIt));
  fill.destination = memoryOfIt;
  fill.elementBytes = 4;
  GraphNode node;
  node.command = Command(fill, nullptr);
  NativeGraph left = nullptr, given = nullptr;
  {
    LeftBehind nobodys;
    OK(second->extensions.graphs->makeGraph(&node, 1, false, left));
  }
  OK(second->extensions.graphs->makeGraph(&node, 1, false, given));
  second->extensions.graphs->destroyGraph(given);
  second->freeMemory(MemoryKind::Device, memoryOfIt);
  EXPECT_EQ(second->close(false), 1u);
  second->restore(inner);
  if (mock) // which sees our own kernels unloaded under it
    mock->mock_reset();
}

// Random graphs over a few buffers against the same work one after the other,
// then with other arguments, over and over.
TEST_P(Graphs, RandomOnesAgreeWithTheHost_G01) {
  const uint32_t seed = testSeed();
  SCOPED_TRACE("GPU_ASYNC_TEST_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  if (mock)
    mock->mock_configure("seed", seed);
  const uint32_t words = 256, buffers = 6;
  auto below = [&](uint32_t end) { return uint32_t(random() % end); };
  uint32_t *place[buffers];
  for (uint32_t b = 0; b < buffers; ++b)
    place[b] = b < 4 ? device(words) : pinned(words);
  uint32_t *image = pinned(words);

  for (int program = 0; program < 12; ++program) {
    // What each node does, as a function on the host's copy of the buffers.
    using Memory = std::vector<std::vector<uint32_t>>;
    using Step = std::function<void(Memory &)>;
    const bool anyUpdate = program % 2;
    uint32_t count = 1 + below(40);
    std::vector<Step> steps(count);
    std::vector<int> kinds(count);
    std::vector<uint32_t> to(count), from(count);
    Nodes list = nodes();
    auto choose = [&](uint32_t i, bool fresh, std::vector<uint32_t> after) {
      uint32_t begin = below(words - 1), size = 1 + below(words - begin - 1);
      uint32_t other = below(words - size + 1), value = random();
      uint32_t a = to[i], b = from[i];
      uint32_t grid = (size + 31) / 32;
      const bool rows = anyUpdate && !fresh && kinds[i] == 2 && below(2);
      switch (rows ? 3 : kinds[i]) {
      case 0: {
        MulAddParams params = {place[a] + begin, size, value | 1, value >> 7};
        fresh ? (void)list.launch(MulAdd, grid, 32, params, after)
              : list.set(i, MulAdd, grid, 32, params);
        steps[i] = [=](Memory &memory) {
          for (uint32_t k = 0; k < size; ++k)
            memory[a][begin + k] =
                memory[a][begin + k] * (value | 1) + (value >> 7);
        };
        break;
      }
      case 1: {
        AddUpParams params = {place[a] + begin, place[b] + other, size, value};
        fresh ? (void)list.launch(AddUp, grid, 32, params, after)
              : list.set(i, AddUp, grid, 32, params);
        steps[i] = [=](Memory &memory) {
          for (uint32_t k = 0; k < size; ++k)
            memory[a][begin + k] = memory[b][other + k] + value;
        };
        break;
      }
      case 2: {
        void *target = place[a] + begin;
        const void *source = place[b] + other;
        fresh ? (void)list.copy(target, source, size * 4, after)
              : list.set(i, target, source, size * 4);
        steps[i] = [=](Memory &memory) {
          memcpy(&memory[a][begin], &memory[b][other], size * 4);
        };
        break;
      }
      case 3: {
        uint32_t step = 1 + below(3), many = (size + step - 1) / step;
        StridedCopy copy;
        copy.destination = place[a] + begin;
        copy.source = place[b] + other;
        copy.rank = 1;
        copy.elementBytes = 4;
        copy.sizes[0] = many;
        copy.destinationStrides[0] = copy.sourceStrides[0] = step * 4;
        fresh ? (void)list.copy(copy, after) : list.set(i, copy);
        steps[i] = [=](Memory &memory) {
          for (uint32_t k = 0; k < many; ++k)
            memory[a][begin + k * step] = memory[b][other + k * step];
        };
        break;
      }
      default: {
        StridedFill fill;
        fill.destination = place[a] + begin;
        fill.rank = 1;
        fill.sizes[0] = size;
        fill.strides[0] = fill.elementBytes = 4;
        memcpy(fill.pattern, &value, 4);
        fresh ? (void)list.fill(fill, after) : list.set(i, fill);
        steps[i] = [=](Memory &memory) {
          std::fill_n(memory[a].begin() + begin, size, value);
        };
        break;
      }
      }
    };
    // Who touched each buffer last; an order between two that touch one.
    std::vector<std::vector<uint32_t>> readers(buffers);
    std::vector<int> writer(buffers, -1);
    for (uint32_t i = 0; i < count; ++i) {
      kinds[i] = int(below(5));
      to[i] = below(buffers);
      from[i] = (to[i] + 1 + below(buffers - 1)) % buffers;
      std::vector<uint32_t> after = readers[to[i]];
      bool reads = kinds[i] >= 1 && kinds[i] <= 3;
      for (uint32_t b : {to[i], from[i]})
        if (writer[b] >= 0 && (b == to[i] || reads))
          after.push_back(uint32_t(writer[b]));
      if (i && !below(5))
        after.push_back(below(i)); // one that nobody needs
      std::sort(after.begin(), after.end());
      after.erase(std::unique(after.begin(), after.end()), after.end());
      writer[to[i]] = int(i);
      readers[to[i]].clear();
      if (reads)
        readers[from[i]].push_back(i);
      choose(i, true, after);
    }
    Memory expected(buffers, std::vector<uint32_t>(words));
    for (uint32_t b = 0; b < buffers; ++b) {
      for (uint32_t &word : expected[b])
        word = random();
      memcpy(image, expected[b].data(), words * 4);
      OK(context->submit(
          stream, Command(ByteCopy{place[b], image, words * 4}, nullptr)));
      wait(stream);
    }
    NativeGraph graph = nullptr;
    OK(list.make(*context, graph, anyUpdate));
    for (int round = 0; round < 6; ++round) {
      if (round) {
        std::vector<uint32_t> changed;
        for (uint32_t i = 0; i < count; ++i) {
          if (below(2))
            continue;
          bool launch = list.list[i].command.kind == Command::Kind::Launch;
          choose(i, false, {});
          list.list[i].command.empty = launch && below(3) == 0;
          changed.push_back(i);
        }
        std::shuffle(changed.begin(), changed.end(), random);
        Status status = list.update(*context, graph, changed);
        if (!anyUpdate && overlaps && status.code() == GPUASYNC_UNSUPPORTED) {
          // One that overlaps has become empty.
          context->extensions.graphs->destroyGraph(graph);
          OK(list.make(*context, graph));
        } else {
          OK(std::move(status));
        }
      }
      for (uint32_t i = 0; i < count; ++i)
        if (!list.list[i].command.empty)
          steps[i](expected);
      run(graph);
      for (uint32_t b = 0; b < buffers; ++b) {
        OK(context->submit(
            stream, Command(ByteCopy{image, place[b], words * 4}, nullptr)));
        wait(stream);
        ASSERT_EQ(memcmp(image, expected[b].data(), words * 4), 0)
            << "program " << program << ", round " << round << ", buffer " << b;
      }
    }
    context->extensions.graphs->destroyGraph(graph);
  }
}

INSTANTIATE_OVER_DEVICES(Graphs);

} // namespace
