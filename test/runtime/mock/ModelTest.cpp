//===- ModelTest.cpp - The fake vendor library sees what is wrong ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// T02: each rule is broken once by calling the library itself, and the library
// says so; the same calls made rightly pass without a word.
//===----------------------------------------------------------------------===//

#include "Fixture.h"

#include "CudaTable.h"

#include <atomic>
#include <thread>

using namespace gpuasync_test;
using namespace gpuasync::cuda;

namespace {

const char ptx[] = ".version 6.0\n.target sm_70\n"
                   ".visible .entry gate(\n\t.param .u64 .ptr .align 1 p\n)\n"
                   "{\n\tret;\n}\n"
                   ".visible .entry store(\n\t.param .u64 p,\n\t.param .u32 q\n"
                   ")\n{\n\tret;\n}\n";

/// The library below the runtime, with one context current.
class Model : public testing::Test {
protected:
  void SetUp() override {
    void *library = dlopen(getenv("GPU_ASYNC_CUDA_LIBRARY"), RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
#define CUDA_ENTRY(entry, parameters, need, name, version, exported)           \
  cu.name = reinterpret_cast<int(*) parameters>(dlsym(library, exported));     \
  ASSERT_NE(cu.name, nullptr) << exported;
#include "device/vendor/VendorSymbols.def"
    cuStreamSynchronize = reinterpret_cast<int (*)(StreamHandle)>(
        dlsym(library, "cuStreamSynchronize"));
    ASSERT_NE(cuStreamSynchronize, nullptr);
    mock->mock_reset();
    ASSERT_EQ(cu.cuInit(0), Success);
    ASSERT_EQ(cu.cuDevicePrimaryCtxRetain(&context, 0), Success);
    ASSERT_EQ(cu.cuCtxSetCurrent(context), Success);
    ASSERT_EQ(cu.cuStreamCreate(&stream, StreamNonBlocking), Success);
    ASSERT_EQ(cu.cuEventCreate(&event, EventDisableTiming), Success);
    ASSERT_EQ(cu.cuModuleLoadDataEx(&module, ptx, 0, nullptr, nullptr),
              Success);
    ASSERT_EQ(cu.cuModuleGetFunction(&gate, module, "gate"), Success);
    ASSERT_EQ(cu.cuFuncLoad(gate), Success);
    void *page = nullptr;
    ASSERT_EQ(cu.cuMemHostAlloc(&page, 4096, 0), Success);
    flag = static_cast<uint32_t *>(page);
    *flag = 0;
  }
  /// Everything is still in order, then taken down without a complaint.
  void TearDown() override {
    mock->mock_mid_frame(0);
    openGate(flag);
    EXPECT_EQ(cuStreamSynchronize(stream), Success);
    mock->mock_reset();
    EXPECT_EQ(cu.cuMemFreeHost(flag), Success);
    if (module)
      EXPECT_EQ(cu.cuModuleUnload(module), Success);
    EXPECT_EQ(cu.cuEventDestroy(event), Success);
    EXPECT_EQ(cu.cuStreamDestroy(stream), Success);
    EXPECT_EQ(mock->mock_live(nullptr), 1u) << "the context";
    EXPECT_EQ(cu.cuCtxSetCurrent(nullptr), Success);
    EXPECT_EQ(cu.cuDevicePrimaryCtxRelease(0), Success);
    EXPECT_EQ(mock->mock_live(nullptr), 0u);
    EXPECT_EQ(mock->mock_violations(nullptr, nullptr), 0u);
  }
  /// One complaint (or so many), with this text in it; forgets it.
  void expectViolation(const char *text, uint64_t expected = 1) {
    std::string all;
    uint64_t count = mock->mock_violations(
        [](void *user, const char *call, const char *reason) {
          *static_cast<std::string *>(user) +=
              std::string(call) + ": " + reason + "\n";
        },
        &all);
    EXPECT_EQ(count, expected) << all;
    EXPECT_NE(all.find(text), std::string::npos)
        << text << " is not in " << all;
    mock->mock_reset();
  }
  int launchGate() {
    size_t bytes = sizeof(flag);
    void *extra[] = {reinterpret_cast<void *>(LaunchParamBufferPointer), &flag,
                     reinterpret_cast<void *>(LaunchParamBufferSize), &bytes,
                     nullptr};
    return cu.cuLaunchKernel(gate, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, extra);
  }
  static char *address(const void *pointer) {
    return static_cast<char *>(const_cast<void *>(pointer));
  }

  Mock *mock = mockOf("cuda-on-mock");
  CudaTable cu = {};
  int (*cuStreamSynchronize)(StreamHandle) = nullptr;
  void *context = nullptr;
  StreamHandle stream = nullptr;
  EventHandle event = nullptr;
  ModuleHandle module = nullptr;
  FunctionHandle gate = nullptr;
  uint32_t *flag = nullptr;
};

TEST_F(Model, WorkIsAsynchronousAndOrdered) {
  EventHandle second = nullptr;
  StreamHandle other = nullptr;
  ASSERT_EQ(cu.cuEventCreate(&second, EventDisableTiming), Success);
  ASSERT_EQ(cu.cuStreamCreate(&other, StreamNonBlocking), Success);
  ASSERT_EQ(launchGate(), Success);
  ASSERT_EQ(cu.cuEventRecord(event, stream), Success);
  ASSERT_EQ(cu.cuStreamWaitEvent(other, event, 0), Success);
  ASSERT_EQ(cu.cuEventRecord(second, other), Success);
  EXPECT_EQ(cu.cuStreamQuery(stream), ErrorNotReady);
  EXPECT_EQ(cu.cuEventQuery(second), ErrorNotReady);
  openGate(flag);
  EXPECT_EQ(cuStreamSynchronize(other), Success);
  EXPECT_EQ(cu.cuEventQuery(event), Success);
  EXPECT_EQ(cu.cuEventQuery(second), Success);
  EXPECT_EQ(cu.cuEventDestroy(second), Success);
  EXPECT_EQ(cu.cuStreamDestroy(other), Success);
  EXPECT_EQ(mock->mock_violations(nullptr, nullptr), 0u);
}

TEST_F(Model, NoContextCurrent) {
  std::thread([&] { EXPECT_NE(cu.cuStreamQuery(stream), Success); }).join();
  expectViolation("no context is current");
}

TEST_F(Model, HandleOfAnotherContext) {
  mock->mock_context_create(1);
  EXPECT_EQ(mock->mock_context_depth(), 2u);
  EXPECT_NE(cu.cuStreamQuery(stream), Success);
  expectViolation("belongs to another context");
  void *other = mock->mock_context_pop();
  mock->mock_context_destroy(other);
}

TEST_F(Model, UseAfterDestroy) {
  StreamHandle gone = nullptr;
  EventHandle goneEvent = nullptr;
  ModuleHandle goneModule = nullptr;
  FunctionHandle goneFunction = nullptr;
  void *goneMemory = nullptr;
  ASSERT_EQ(cu.cuStreamCreate(&gone, StreamNonBlocking), Success);
  ASSERT_EQ(cu.cuStreamDestroy(gone), Success);
  EXPECT_NE(cu.cuStreamQuery(gone), Success);
  expectViolation("the stream was destroyed");
  ASSERT_EQ(cu.cuEventCreate(&goneEvent, EventDisableTiming), Success);
  ASSERT_EQ(cu.cuEventDestroy(goneEvent), Success);
  EXPECT_NE(cu.cuEventRecord(goneEvent, stream), Success);
  expectViolation("the event was destroyed");
  ASSERT_EQ(cu.cuModuleLoadDataEx(&goneModule, ptx, 0, nullptr, nullptr),
            Success);
  ASSERT_EQ(cu.cuModuleGetFunction(&goneFunction, goneModule, "store"),
            Success);
  ASSERT_EQ(cu.cuModuleUnload(goneModule), Success);
  EXPECT_NE(cu.cuFuncLoad(goneFunction), Success);
  expectViolation("the function was destroyed");
  EXPECT_NE(cu.cuModuleUnload(goneModule), Success);
  expectViolation("the module was destroyed");
  ASSERT_EQ(cu.cuMemAlloc(&goneMemory, 4096), Success);
  ASSERT_EQ(cu.cuMemFree(goneMemory), Success);
  EXPECT_NE(cu.cuMemsetD8Async(goneMemory, 0, 16, stream), Success);
  expectViolation("the memory was freed");
  EXPECT_NE(cu.cuMemFree(goneMemory), Success);
  expectViolation("not the beginning of such memory");
}

TEST_F(Model, WaitForAnEventNeverRecorded_S03) {
  EXPECT_EQ(cu.cuStreamWaitEvent(stream, event, 0), Success);
  expectViolation("never recorded");
  cu.cuEventQuery(event);
  expectViolation("never recorded");
}

TEST_F(Model, LegacyDefaultStream_S01) {
  EXPECT_EQ(cu.cuEventRecord(event, nullptr), Success);
  expectViolation("legacy default stream");
  StreamHandle blocking = nullptr;
  EXPECT_EQ(cu.cuStreamCreate(&blocking, 0), Success);
  expectViolation("legacy default stream");
  EXPECT_EQ(cu.cuStreamDestroy(blocking), Success);
}

TEST_F(Model, CopiesBeyondBounds) {
  void *memory = nullptr;
  ASSERT_EQ(cu.cuMemAlloc(&memory, 100), Success);
  EXPECT_NE(cu.cuMemcpyAsync(address(memory) + 50, address(flag), 51, stream),
            Success);
  expectViolation("destination: beyond the bounds");
  EXPECT_NE(cu.cuMemcpyAsync(address(flag), memory, 101, stream), Success);
  expectViolation("source: beyond the bounds");
  EXPECT_NE(cu.cuMemsetD32Async(memory, 0, 26, stream), Success);
  expectViolation("beyond the bounds");
  EXPECT_NE(cu.cuStreamWriteValue32(stream, address(flag) + 4096, 1, 0),
            Success);
  expectViolation("the memory was freed");
  EXPECT_EQ(cu.cuMemcpyAsync(memory, address(flag), 100, stream), Success);
  EXPECT_EQ(cuStreamSynchronize(stream), Success);
  EXPECT_EQ(cu.cuMemFree(memory), Success);
}

// B02, and B01 for pageable copies: inside a frame they are complaints.
TEST_F(Model, BlockingCallsMidFrame_B02) {
  void *memory = nullptr;
  ModuleHandle second = nullptr;
  FunctionHandle cold = nullptr;
  std::vector<char> pageable(100000);
  void *pinned = nullptr;
  ASSERT_EQ(cu.cuMemAlloc(&memory, 100000), Success);
  ASSERT_EQ(cu.cuMemHostAlloc(&pinned, 64, 0), Success);
  ASSERT_EQ(cu.cuMemHostRegister(pageable.data(), 100000, 0), Success);
  ASSERT_EQ(cu.cuModuleGetFunction(&cold, module, "store"), Success);
  mock->mock_mid_frame(1);
  // Nothing is enqueued yet: loading is right here.
  EXPECT_EQ(cu.cuModuleLoadDataEx(&second, ptx, 0, nullptr, nullptr), Success);
  EXPECT_EQ(mock->mock_violations(nullptr, nullptr), 0u);
  ASSERT_EQ(launchGate(), Success);
  const char *waits = "waits for running kernels";
  EXPECT_EQ(cu.cuModuleUnload(second), Success);
  expectViolation(waits);
  EXPECT_EQ(cu.cuModuleLoadDataEx(&second, ptx, 0, nullptr, nullptr), Success);
  expectViolation(waits);
  EXPECT_EQ(cu.cuFuncLoad(cold), Success);
  expectViolation(waits);
  EXPECT_EQ(cu.cuMemHostUnregister(pageable.data()), Success);
  expectViolation(waits);
  EXPECT_EQ(cu.cuMemcpyAsync(memory, address(pageable.data()), 100000, stream),
            Success);
  expectViolation("a copy of pageable memory");
  EXPECT_EQ(cu.cuMemcpyAsync(address(pageable.data()), memory, 16, stream),
            Success);
  expectViolation("a copy of pageable memory");
  EXPECT_EQ(cu.cuMemFreeHost(pinned), Success);
  expectViolation(waits);
  openGate(flag);
  EXPECT_EQ(cuStreamSynchronize(stream), Success);
  EXPECT_EQ(cu.cuMemFree(memory), Success);
  expectViolation(waits);
  mock->mock_mid_frame(0);
  EXPECT_EQ(cu.cuModuleUnload(second), Success);
}

// Outside a frame they wait for the kernels that run, as on an H100.
TEST_F(Model, BlockingCallsWait) {
  void *memory = nullptr;
  ASSERT_EQ(cu.cuMemAlloc(&memory, 64), Success);
  ASSERT_EQ(launchGate(), Success);
  std::atomic<bool> opened{false};
  mock->mock_gate_close("cuMemFree");
  std::thread opener([&] {
    mock->mock_gate_wait("cuMemFree", 1);
    opened = true;
    mock->mock_gate_open("cuMemFree");
    openGate(flag);
  });
  EXPECT_EQ(cu.cuMemFree(memory), Success);
  EXPECT_TRUE(opened);
  EXPECT_EQ(cu.cuStreamQuery(stream), Success) << "the kernel has ended";
  opener.join();
  EXPECT_EQ(mock->mock_violations(nullptr, nullptr), 0u);
}

TEST_F(Model, ModuleUnloadedWhileItsKernelsAreQueued) {
  ModuleHandle second = nullptr;
  ASSERT_EQ(cu.cuModuleLoadDataEx(&second, ptx, 0, nullptr, nullptr), Success);
  mock->mock_mid_frame(1);
  ASSERT_EQ(launchGate(), Success);
  EXPECT_EQ(cu.cuModuleUnload(module), Success);
  openGate(flag);
  EXPECT_EQ(cuStreamSynchronize(stream), Success);
  expectViolation("queued or running", 2);
  module = second;
}

/// A graph of one kernel that stores, and its executable.
class GraphModel : public Model {
protected:
  void SetUp() override {
    Model::SetUp();
    ASSERT_EQ(cu.cuModuleGetFunction(&store, module, "store"), Success);
    ASSERT_EQ(cu.cuGraphCreate(&graph, 0), Success);
    ASSERT_EQ(addStore(&node, {}, 7), Success);
    ASSERT_EQ(cu.cuGraphInstantiateWithFlags(&executable, graph, 0), Success);
  }
  void TearDown() override {
    openGate(flag);
    EXPECT_EQ(cuStreamSynchronize(stream), Success);
    if (executable)
      EXPECT_EQ(cu.cuGraphExecDestroy(executable), Success);
    EXPECT_EQ(cu.cuGraphDestroy(graph), Success);
    Model::TearDown();
  }
  /// A kernel that writes `value` behind the flag.
  int addStore(GraphNodeHandle *out, std::vector<GraphNodeHandle> after,
               uint32_t value, unsigned threads = 1) {
    struct {
      uint32_t *to;
      uint32_t value;
    } params = {flag + 1, value};
    size_t bytes = sizeof(params);
    void *extra[] = {reinterpret_cast<void *>(LaunchParamBufferPointer),
                     &params, reinterpret_cast<void *>(LaunchParamBufferSize),
                     &bytes, nullptr};
    CUDA_KERNEL_NODE_PARAMS kernel = {
        store, 1, 1, 1, threads, 1, 1, 0, nullptr, extra, nullptr, nullptr};
    return cu.cuGraphAddKernelNode(out, graph, after.data(), after.size(),
                                   &kernel);
  }

  FunctionHandle store = nullptr;
  GraphHandle graph = nullptr;
  GraphNodeHandle node = nullptr;
  GraphExecHandle executable = nullptr;
};

TEST_F(GraphModel, UseAfterDestroy) {
  EXPECT_EQ(mock->mock_live("graph"), 1u);
  EXPECT_EQ(mock->mock_live("executable"), 1u);
  GraphExecHandle gone = executable;
  executable = nullptr;
  ASSERT_EQ(cu.cuGraphExecDestroy(gone), Success);
  EXPECT_EQ(mock->mock_live("executable"), 0u);
  EXPECT_NE(cu.cuGraphExecDestroy(gone), Success);
  expectViolation("the executable graph was destroyed");
  EXPECT_NE(cu.cuGraphLaunch(gone, stream), Success);
  expectViolation("the executable graph was destroyed");
  GraphHandle second = nullptr;
  ASSERT_EQ(cu.cuGraphCreate(&second, 0), Success);
  ASSERT_EQ(cu.cuGraphDestroy(second), Success);
  EXPECT_NE(cu.cuGraphDestroy(second), Success);
  expectViolation("the graph was destroyed");
}

TEST_F(GraphModel, NodesOfAnotherGraph) {
  GraphHandle first = graph;
  GraphNodeHandle foreign = nullptr, added = nullptr;
  ASSERT_EQ(cu.cuGraphCreate(&graph, 0), Success);
  ASSERT_EQ(addStore(&foreign, {}, 1), Success);
  EXPECT_NE(cu.cuGraphNodeSetEnabled(executable, foreign, 0), Success);
  expectViolation("of another graph than the executable");
  EXPECT_NE(addStore(&added, {node}, 1), Success);
  expectViolation("is of another graph");
  EXPECT_NE(addStore(&added, {foreign, foreign}, 1), Success);
  expectViolation("twice");
  EXPECT_EQ(cu.cuGraphDestroy(graph), Success);
  graph = first;
}

TEST_F(GraphModel, ModuleUnloadedUnderALiveExecutable) {
  ModuleHandle unloaded = module;
  module = nullptr;
  EXPECT_EQ(cu.cuModuleUnload(unloaded), Success);
  expectViolation("an executable graph has kernels of the module");
}

TEST_F(GraphModel, ExecutableDestroyedWhileItRuns) {
  ASSERT_EQ(launchGate(), Success);
  ASSERT_EQ(cu.cuGraphLaunch(executable, stream), Success);
  GraphExecHandle gone = executable;
  executable = nullptr;
  EXPECT_EQ(cu.cuGraphExecDestroy(gone), Success);
  expectViolation("still runs");
}

TEST_F(GraphModel, TwoThreadsOnOneExecutable) {
  mock->mock_gate_close("cuGraphLaunch");
  std::thread other([&] {
    ASSERT_EQ(cu.cuCtxSetCurrent(context), Success);
    EXPECT_EQ(cu.cuGraphLaunch(executable, stream), Success);
    EXPECT_EQ(cu.cuCtxSetCurrent(nullptr), Success);
  });
  mock->mock_gate_wait("cuGraphLaunch", 1);
  EXPECT_EQ(cu.cuGraphNodeSetEnabled(executable, node, 1), Success);
  mock->mock_gate_open("cuGraphLaunch");
  other.join();
  expectViolation("two threads call on one executable graph at once");
  EXPECT_EQ(cu.cuGraphLaunch(executable, stream), Success);
  EXPECT_EQ(mock->mock_violations(nullptr, nullptr), 0u) << "one by one";
}

TEST_F(GraphModel, CooperativeKernelsTakeNoBuffer) {
  CUlaunchAttributeValue value = {};
  value.cooperative = 1;
  EXPECT_EQ(cu.cuGraphKernelNodeSetAttribute(node, LaunchAttributeCooperative,
                                             &value),
            ErrorInvalidValue);
}

TEST_F(GraphModel, CopiesOfFreedMemory) {
  void *memory = nullptr;
  ASSERT_EQ(cu.cuMemAlloc(&memory, 64), Success);
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = MemoryTypeUnified;
  copy.srcDevice = flag;
  copy.dstDevice = memory;
  copy.WidthInBytes = 64;
  copy.Height = copy.Depth = 1;
  GraphNodeHandle added = nullptr;
  GraphExecHandle second = nullptr;
  ASSERT_EQ(cu.cuGraphAddMemcpyNode(&added, graph, nullptr, 0, &copy, context),
            Success);
  ASSERT_EQ(cu.cuGraphInstantiateWithFlags(&second, graph, 0), Success);
  EXPECT_EQ(cu.cuGraphLaunch(second, stream), Success);
  EXPECT_EQ(cuStreamSynchronize(stream), Success);
  // Memory of another kind, as CUDA refuses it.
  copy.srcDevice = memory;
  EXPECT_EQ(cu.cuGraphExecMemcpyNodeSetParams(second, added, &copy, context),
            ErrorInvalidValue);
  ASSERT_EQ(cu.cuMemFree(memory), Success);
  EXPECT_NE(cu.cuGraphLaunch(second, stream), Success);
  expectViolation("the memory was freed");
  EXPECT_EQ(cu.cuGraphExecDestroy(second), Success);
}

// Nothing but an edge orders two nodes: each comes last in some launch.
TEST_F(GraphModel, NodesWithoutAnEdgeRunInAnyOrder) {
  GraphNodeHandle added = nullptr;
  GraphExecHandle second = nullptr;
  ASSERT_EQ(addStore(&added, {}, 8), Success);
  ASSERT_EQ(cu.cuGraphInstantiateWithFlags(&second, graph, 0), Success);
  int last[2] = {};
  mock->mock_configure("concurrent", 0); // else they race
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(cu.cuGraphLaunch(second, stream), Success);
    ASSERT_EQ(cuStreamSynchronize(stream), Success);
    ASSERT_TRUE(flag[1] == 7 || flag[1] == 8) << flag[1];
    ++last[flag[1] - 7];
  }
  EXPECT_GT(last[0], 0);
  EXPECT_GT(last[1], 0);
  mock->mock_configure("concurrent", 1);
  EXPECT_EQ(cu.cuGraphExecDestroy(second), Success);
}

TEST_F(Model, FailsTheNthCall) {
  mock->mock_reset();
  mock->mock_fail(nullptr, 2, ErrorOutOfMemory);
  EXPECT_EQ(cu.cuStreamQuery(stream), Success);
  EXPECT_EQ(mock->mock_failed(), nullptr);
  EXPECT_EQ(cu.cuEventRecord(event, stream), ErrorOutOfMemory);
  EXPECT_STREQ(mock->mock_failed(), "cuEventRecord");
  EXPECT_EQ(cu.cuStreamQuery(stream), Success);
  mock->mock_fail("cuStreamQuery", 1, ErrorInvalidValue);
  EXPECT_EQ(cu.cuEventRecord(event, stream), Success);
  EXPECT_EQ(cu.cuStreamQuery(stream), ErrorInvalidValue);
  EXPECT_EQ(mock->mock_calls("cuStreamQuery"), 3u);
  EXPECT_EQ(mock->mock_calls(nullptr), 5u);
}

// What cannot be destroyed is not counted as a leak.
TEST_F(Model, FailedDestruction) {
  StreamHandle second = nullptr;
  ASSERT_EQ(cu.cuStreamCreate(&second, StreamNonBlocking), Success);
  EXPECT_EQ(mock->mock_live("stream"), 2u);
  mock->mock_fail("cuStreamDestroy", 1, ErrorInvalidValue);
  EXPECT_EQ(cu.cuStreamDestroy(second), ErrorInvalidValue);
  EXPECT_EQ(mock->mock_live("stream"), 1u);
}

TEST_F(Model, ContextGenerations) {
  unsigned long long first = 0, second = 0;
  ASSERT_EQ(cu.cuCtxGetId(context, &first), Success);
  void *other = nullptr;
  ASSERT_EQ(cu.cuDevicePrimaryCtxRetain(&other, 1), Success);
  ASSERT_EQ(cu.cuCtxGetId(other, &second), Success);
  EXPECT_NE(first, second);
  ASSERT_EQ(cu.cuDevicePrimaryCtxRelease(1), Success);
  EXPECT_EQ(cu.cuCtxGetId(other, &second), ErrorContextIsDestroyed);
  void *again = nullptr;
  ASSERT_EQ(cu.cuDevicePrimaryCtxRetain(&again, 1), Success);
  EXPECT_EQ(again, other) << "the same address";
  unsigned long long third = 0;
  ASSERT_EQ(cu.cuCtxGetId(again, &third), Success);
  EXPECT_NE(third, second);
  ASSERT_EQ(cu.cuDevicePrimaryCtxRelease(1), Success);
  EXPECT_EQ(cu.cuDevicePrimaryCtxRelease(1), ErrorInvalidContext);
  expectViolation("released more often than retained");
}

TEST_F(Model, ImagesThatDoNotFit) {
  char log[200] = "";
  int options[] = {JitErrorLogBuffer, JitErrorLogBufferSizeBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
  auto load = [&](const char *image) {
    ModuleHandle loaded = nullptr;
    log[0] = '\0';
    int code = cu.cuModuleLoadDataEx(&loaded, image, 2, options, values);
    if (code == Success)
      EXPECT_EQ(cu.cuModuleUnload(loaded), Success);
    return code;
  };
  EXPECT_EQ(load("no PTX"), ErrorInvalidPtx);
  EXPECT_STRNE(log, "");
  EXPECT_EQ(load(".version 99.0\n.target sm_70\n"), ErrorUnsupportedPtxVersion);
  EXPECT_EQ(load(".version 8.0\n.target sm_120\n"), ErrorNoBinaryForGpu);
  EXPECT_EQ(load(".version 8.0\n.target sm_90\n"), Success);
  EXPECT_EQ(load("gpuasync-mock-image\narch sm_90\nkernel store 8 4\n"),
            Success);
  EXPECT_EQ(load("gpuasync-mock-image\narch sm_80\n"), ErrorNoBinaryForGpu);
}

// T01: an expected failure that does not fail is one.
TEST(Expectations, UnexpectedPassFails_T01) {
  auto passes = [] { MustFail must("a gap"); };
  testing::TestPartResultArray results;
  {
    testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS,
        &results);
    passes();
  }
  ASSERT_EQ(results.size(), 1);
  EXPECT_NE(std::string(results.GetTestPartResult(0).message()).find("a gap"),
            std::string::npos);
  MustFail must("another gap");
  ADD_FAILURE() << "as expected";
}

} // namespace
