//===- VendorGraph.cpp - Graphs of cuda and hip ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs are built node by node, which tells which node an error is about.
// Every graph has one root: each further one costs about 1 us a launch. Of
// several an empty kernel is made the root; in front of a vendor's copy it
// would cost 8 us, as does all that comes between such copies and kernels.
//===----------------------------------------------------------------------===//

#include "device/vendor/VendorGraph.h"

#include "device/vendor/VendorContext.h"

#include <string.h>

using namespace gpuasync;

//===----------------------------------------------------------------------===//
// Captured work
//===----------------------------------------------------------------------===//

/// Another try may come to more, as it may do what can be done once only when
/// it is not captured.
static Status notCaptured(Status status) {
  if (status.ok() || status.code() == GPUASYNC_DEVICE_LOST ||
      status.code() == GPUASYNC_SHUT_DOWN)
    return status;
  return makeStatus(GPUASYNC_UNAVAILABLE, "it could not be captured: %s",
                    status.message());
}

/// What a library enqueues, as a graph of its own: the vendors copy it into the
/// graph that it becomes a node of.
struct VendorContext::Child {
  explicit Child(VendorContext &self) : self(self) {}
  Child(const Child &) = delete;
  ~Child() {
    const VendorTable &table = self.table;
    if (graph)
      self.giveBack([&] { return VENDOR_CALL(graphDestroy, graph); });
  }
  Status capture(CapturedWork &work);

  VendorContext &self;
  GraphHandle graph = nullptr;

private:
  Status captureOn(NativeStream stream, CapturedWork &work, bool &ended);
  Status fillIn();
};

/// `ended`: the stream is captured no more.
Status VendorContext::Child::captureOn(NativeStream stream, CapturedWork &work,
                                       bool &ended) {
  const VendorTable &table = self.table;
  RETURN_IF_ERROR(self.check(VENDOR_CALL(streamBeginCapture, asStream(stream),
                                         StreamCaptureModeThreadLocal)));
  Status status = guard([&] { return work.enqueue(stream); });
  VendorCall call = VENDOR_CALL(streamEndCapture, asStream(stream), &graph);
  // One that is broken is over all the same; where only memory was missing, it
  // may not be.
  ended = call.ok();
  if (!ended && !VENDOR_CALL(streamEndCapture, asStream(stream), &graph).ok())
    graph = nullptr;
  if (graph)
    self.live.fetch_add(1, std::memory_order_relaxed);
  // A function that fails may leave the capture broken.
  return status.ok() ? self.check(call) : std::move(status);
}

/// A node has something in it: whether vendors take empty graphs they do not
/// say.
Status VendorContext::Child::fillIn() {
  const VendorTable &table = self.table;
  size_t count = 0;
  RETURN_IF_ERROR(self.check(VENDOR_CALL(graphNodes, graph, nullptr, &count)));
  if (count)
    return Status();
  VendorKernelNode nothing;
  nothing.function =
      static_cast<VendorFunction *>(self.builtins[BuiltinNothing])->handle;
  GraphNodeHandle node = nullptr;
  return self.check(
      self.driver.addKernelNode(node, graph, nullptr, 0, nothing));
}

Status VendorContext::Child::capture(CapturedWork &work) {
  const VendorTable &table = self.table;
  if (!table.streamBeginCapture || !table.streamEndCapture ||
      !table.graphNodes || !table.graphAddChild || !table.graphSetChild)
    return makeStatus(GPUASYNC_UNSUPPORTED,
                      "graphs of %s hold no library's work here",
                      self.driver.name());
  NativeStream stream = nullptr;
  RETURN_IF_ERROR(notCaptured(self.takeCaptured(stream)));
  self.suspend();
  bool ended = false;
  Status status = captureOn(stream, work, ended);
  Status resumed = self.resume();
  // For the calls that follow: the thread's mode is its own again.
  OutsideCapture outside(self.driver);
  self.giveCaptured(stream, ended);
  if (status.ok())
    status = std::move(resumed);
  if (status.ok())
    status = fillIn();
  return notCaptured(std::move(status));
}

/// No work is ever on such a stream: it is captured again and again.
Status VendorContext::takeCaptured(NativeStream &out) {
  {
    std::lock_guard<std::mutex> lock(graphMutex);
    if (!captured.empty()) {
      out = captured.back();
      captured.pop_back();
      return Status();
    }
    captured.reserve(++capturedCount);
  }
  Status status = createStream(out);
  if (!status.ok()) {
    std::lock_guard<std::mutex> lock(graphMutex);
    --capturedCount;
  }
  return status;
}

void VendorContext::giveCaptured(NativeStream stream, bool ended) noexcept {
  {
    std::lock_guard<std::mutex> lock(graphMutex);
    if (ended)
      return captured.push_back(stream); // takeCaptured has made room
    --capturedCount;
  }
  // What it is in is not known.
  destroyStream(stream);
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// Bytes that a kernel copies in less time than it takes to get from a kernel
/// to the copy engine and back, on CUDA devices.
static constexpr uint64_t mostByKernel = 256 << 10;

static StridedCopy asStrided(const ByteCopy &bytes) {
  StridedCopy copy;
  copy.destination = bytes.destination;
  copy.source = bytes.source;
  copy.elementBytes = bytes.bytes;
  return copy;
}

static bool isFastByKernel(const ByteCopy &copy) {
  // By single bytes only few.
  return copy.bytes <= 4096 ||
         (copy.bytes <= mostByKernel &&
          builtinCopyArguments(asStrided(copy)).unit >= 4);
}

// A vendor's copy takes what lies in one piece, no longer than a row may be,
// between device memory and memory of the device or of the host. Its address
// and size can be changed, which cannot be said of a vendor's fill.
bool VendorContext::isCopyNode(const Command &command, VendorGraph::Node &out) {
  const ByteCopy &copy = command.bytes;
  if (command.kind != Command::Kind::CopyBytes || command.empty ||
      copy.destination == copy.source || copy.bytes > device.limits.maxPitch)
    return false;
  // With hostAddress, the kernel's arguments would take two calls each time.
  if (builtins[BuiltinCopy] && !table.hostAddress && isFastByKernel(copy))
    return false;
  PointerKind to = pointerKind(copy.destination);
  PointerKind from = pointerKind(copy.source);
  auto takes = [](PointerKind one, PointerKind other) {
    return one == PointerKind::Device &&
           (other == PointerKind::Device || other == PointerKind::Registered);
  };
  out.device = to == PointerKind::Device ? copy.destination : copy.source;
  return takes(to, from) || takes(from, to);
}

/// Whether a vendor's copy may become this one: between two places in host
/// memory it would be done by a thread of the vendor's.
bool VendorContext::staysCopyNode(VendorGraph::Node &node,
                                  const Command &copy) {
  if (copy.kind != Command::Kind::CopyBytes)
    return false;
  const void *destination = copy.bytes.destination;
  if (destination == node.device || copy.bytes.source == node.device)
    return true;
  for (const void *side : {destination, copy.bytes.source})
    if (pointerKind(side) != PointerKind::Registered) {
      node.device = side;
      return true;
    }
  return false;
}

Status VendorContext::launchNode(const VendorFunction &function,
                                 const gpuasync_kernel &kernel,
                                 const gpuasync_launch_config &block,
                                 KernelNode &out) {
  if (!fits(function, block))
    return launchRefused(function, kernel, block);
  const bool isKnown = function.paramBytes != UINT32_MAX;
  if (isKnown && block.paramBytes < function.paramBytes)
    return launchRefused(function, kernel, block); // `out` is as it was
  out.bytes = isKnown ? function.paramBytes : block.paramBytes;
  VendorKernelNode &node = out.arguments;
  node.function = function.handle;
  for (int i = 0; i < 3; ++i) {
    node.grid[i] = unsigned(block.grid[i]);
    node.block[i] = unsigned(block.block[i]);
  }
  node.sharedBytes = unsigned(block.dynamicSharedBytes);
  bool cooperative = block.flags & GPUASYNC_LAUNCH_COOPERATIVE;
  if (!function.takesPointers && !cooperative) {
    out.extra[0] = reinterpret_cast<void *>(LaunchParamBufferPointer);
    out.extra[1] = const_cast<void *>(block.params);
    if (function.signals) {
      const size_t place = KernelSignal::placeAfter(out.bytes);
      out.signalled.resize(place + sizeof(KernelSignal));
      if (out.bytes)
        memcpy(out.signalled.data(), block.params, out.bytes);
      memcpy(out.signalled.data() + place, &out.signal, sizeof(out.signal));
      out.bytes = out.signalled.size();
      out.extra[1] = out.signalled.data();
    }
    out.extra[2] = reinterpret_cast<void *>(LaunchParamBufferSize);
    out.extra[3] = &out.bytes;
    out.extra[4] = reinterpret_cast<void *>(driver.facts.launchParamEnd);
    node.extra = out.bytes ? out.extra : nullptr;
    return Status();
  }
  // Cooperative kernels of a graph take no buffer.
  if (kernel.paramCount == UINT32_MAX)
    return makeStatus(GPUASYNC_UNSUPPORTED,
                      "kernel @%s: a graph holds no cooperative launch of a "
                      "kernel whose parameters nobody describes",
                      kernel.name);
  for (uint32_t i = 0; i < kernel.paramCount; ++i)
    out.pointers.push_back(
        static_cast<char *>(const_cast<void *>(block.params)) +
        kernel.paramOffsets[i]);
  if (function.signals) {
    out.pointers.push_back(&out.signal.slot);
    out.pointers.push_back(&out.signal.count);
  }
  node.parameters = out.pointers.empty() ? nullptr : out.pointers.data();
  if (cooperative && block.grid[0] * block.grid[1] * block.grid[2] >
                         mostResident(function, block))
    return launchFailed(
        {ErrorCooperativeLaunchTooLarge, VendorEntry::graphInstantiate},
        function, kernel, block);
  return Status();
}

/// The kernel that does what `command` says. An empty one is never run.
Status VendorContext::kernelNode(const Command &command, KernelNode &out) {
  const BuiltinKernel builtin = isCopy(command) ? BuiltinCopy : BuiltinFill;
  if (command.kind == Command::Kind::Launch) {
    const Command::Launch &launch = command.launch;
    const auto &function = *static_cast<VendorFunction *>(launch.function);
    if (!command.empty)
      return launchNode(function, *launch.kernel, *launch.block, out);
    gpuasync_launch_config block = *launch.block;
    for (int i = 0; i < 3; ++i) {
      block.grid[i] = block.cluster[i] > 1 ? block.cluster[i] : 1;
      block.block[i] = 1;
    }
    block.dynamicSharedBytes = 0;
    return launchNode(function, *launch.kernel, block, out);
  }
  BuiltinArguments arguments;
  if (command.empty)
    arguments = BuiltinArguments();
  else if (command.kind == Command::Kind::CopyBytes)
    arguments = builtinCopyArguments(asStrided(command.bytes));
  else if (command.kind == Command::Kind::Copy)
    arguments = builtinCopyArguments(*command.copy);
  else
    arguments = builtinFillArguments(*command.fill);
  RETURN_IF_ERROR(prepareBuiltin(builtin, arguments, out.builtin));
  return launchNode(*static_cast<VendorFunction *>(builtins[builtin]),
                    builtinKernels()[builtin], out.builtin.block, out);
}

Status VendorContext::addNode(VendorGraph &graph, VendorGraph::Node &out,
                              const Command &command,
                              const GraphNodeHandle *after, size_t count) {
  out.enabled = !command.empty;
  if (command.kind == Command::Kind::Captured) {
    Child child(*this);
    RETURN_IF_ERROR(child.capture(*command.work));
    return notCaptured(check(VENDOR_CALL(
        graphAddChild, &out.handle, graph.graph, after, count, child.graph)));
  }
  if (out.isCopy)
    return check(driver.addCopyNode(
        out.handle, graph.graph, after, count, command.bytes.destination,
        command.bytes.source, command.bytes.bytes, context));
  const bool isLaunch = command.kind == Command::Kind::Launch;
  const Command::Launch &launch = command.launch;
  const bool extended = isLaunch && isExtended(*launch.block);
  if (extended && !table.graphKernelAttribute)
    return makeStatus(GPUASYNC_UNSUPPORTED,
                      "kernel @%s: graphs of %s hold no cooperative or "
                      "clustered launches",
                      launch.kernel->name, driver.name());
  KernelNode kernel;
  RETURN_IF_ERROR(kernelNode(command, kernel));
  VendorCall call = driver.addKernelNode(out.handle, graph.graph, after, count,
                                         kernel.arguments);
  if (isLaunch) {
    out.flags = launch.block->flags;
    memcpy(out.cluster, launch.block->cluster, sizeof(out.cluster));
    if (call.ok() && extended)
      call = driver.extendKernelNode(out.handle, kernel.arguments.function,
                                     *launch.block);
    if (!call.ok())
      return launchFailed(call, *static_cast<VendorFunction *>(launch.function),
                          *launch.kernel, *launch.block);
  }
  return check(call);
}

Status VendorContext::updateNode(VendorGraph &graph, VendorGraph::Node &node,
                                 const Command &to) {
  VendorCall call = {Success, VendorEntry::graphSetEnabled};
  if (to.kind == Command::Kind::Captured) {
    Child child(*this);
    RETURN_IF_ERROR(child.capture(*to.work));
    call =
        VENDOR_CALL(graphSetChild, graph.executable, node.handle, child.graph);
  } else if (!to.empty && node.isCopy) {
    if (!staysCopyNode(node, to))
      return makeStatus(GPUASYNC_UNSUPPORTED,
                        "a node that copies bytes of device memory cannot "
                        "become one that copies rows, or memory of the host");
    call =
        driver.setCopyNode(graph.executable, node.handle, to.bytes.destination,
                           to.bytes.source, to.bytes.bytes, context);
  } else if (!to.empty) {
    if (to.kind == Command::Kind::Launch &&
        (to.launch.block->flags != node.flags ||
         memcmp(to.launch.block->cluster, node.cluster, sizeof(node.cluster)) !=
             0))
      return makeStatus(GPUASYNC_UNSUPPORTED,
                        "kernel @%s: an update changes neither the flags nor "
                        "the clusters of a launch",
                        to.launch.kernel->name);
    KernelNode once;
    KernelNode &kernel = graph.last && &node == &graph.nodes[graph.lastIndex]
                             ? *graph.last
                             : once;
    RETURN_IF_ERROR(kernelNode(to, kernel));
    call =
        driver.setKernelNode(graph.executable, node.handle, kernel.arguments);
  }
  // So say the vendors where the memory is of another kind now, or what was
  // captured is of another shape.
  if (call.code == ErrorInvalidValue || call.code == ErrorNotSupported ||
      call.code == ErrorGraphUpdateFailure) {
    char report[400];
    driver.describe(call, report, sizeof(report));
    return makeStatus(GPUASYNC_UNSUPPORTED, "the node cannot be changed so: %s",
                      report);
  }
  if (to.kind == Command::Kind::Captured)
    return notCaptured(check(call));
  if (call.ok() && to.empty && node.overlaps)
    return makeStatus(GPUASYNC_UNSUPPORTED,
                      "a node cannot become empty that others overlap with");
  if (call.ok() && node.enabled == to.empty) {
    call = VENDOR_CALL(graphSetEnabled, graph.executable, node.handle,
                       to.empty ? 0u : 1u);
    if (call.ok())
      node.enabled = !to.empty;
  }
  return check(call);
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

/// Whether an empty kernel goes before all that nothing comes before.
static bool needsRoot(const VendorGraph &graph, const GraphNode *nodes) {
  size_t roots = 0;
  bool runs = false;
  for (size_t i = 0; i < graph.nodes.size() && roots < 2; ++i)
    if (!nodes[i].afterCount) {
      ++roots;
      runs = !nodes[i].command.empty;
    }
  return roots > 1 || !runs;
}

/// Whether two kernels have a multiprocessor for each of their blocks. Else the
/// later one, made ready while the other runs, might have several of its blocks
/// on the few that are free, and take as much longer.
bool VendorContext::fitBeside(const Command &one, const Command &other) {
  const int64_t most = device.info.multiprocessors;
  auto blocks = [&](const Command &command) {
    if (command.kind != Command::Kind::Launch)
      return most; // built-in kernels have many
    const int64_t *grid = command.launch.block->grid;
    return grid[0] <= most && grid[1] <= most && grid[2] <= most
               ? grid[0] * grid[1] * grid[2]
               : most;
  };
  return blocks(one) + blocks(other) <= most;
}

/// Adds the node behind those that it comes after. Kernels of which all is
/// known overlap: the later one is made ready while the earlier one runs or
/// ends.
Status VendorContext::connect(VendorGraph &graph, const GraphNode *nodes,
                              size_t index, GraphNodeHandle root) {
  auto overlaps = [&](uint32_t at) {
    const Command &command = nodes[at].command;
    return !graph.takesAnyUpdate && !command.empty && !graph.nodes[at].isCopy &&
           command.kind != Command::Kind::Captured &&
           !(command.kind == Command::Kind::Launch &&
             isExtended(*command.launch.block));
  };
  const GraphNode &node = nodes[index];
  const Command &command = node.command;
  VendorGraph::Node &out = graph.nodes[index];
  const bool waits =
      command.kind == Command::Kind::Launch &&
      overlaps(static_cast<uint32_t>(index)) &&
      static_cast<VendorFunction *>(command.launch.function)->waits;
  std::vector<GraphNodeHandle> ended, ending, running;
  for (uint32_t i = 0; i < node.afterCount; ++i) {
    VendorGraph::Node &before = graph.nodes[node.after[i]];
    if (waits && overlaps(node.after[i])) {
      before.overlaps = out.overlaps = true;
      (fitBeside(nodes[node.after[i]].command, command) ? running : ending)
          .push_back(before.handle);
    } else {
      ended.push_back(before.handle);
    }
  }
  if (!node.afterCount && root) {
    out.overlaps = waits;
    (waits ? running : ended).push_back(root);
  }
  RETURN_IF_ERROR(addNode(graph, out, command, ended.data(), ended.size()));
  for (auto [before, ready] :
       {std::make_pair(&running, VendorDriver::Ready::WhenTheyRun),
        std::make_pair(&ending, VendorDriver::Ready::WhenTheyEnd)})
    if (!before->empty())
      RETURN_IF_ERROR(check(driver.addOverlappingEdges(
          graph.graph, out.handle, before->data(), before->size(), ready)));
  return Status();
}

Status VendorContext::buildGraph(VendorGraph &graph, const GraphNode *nodes) {
  const size_t count = graph.nodes.size();
  for (size_t i = 0; i < count; ++i)
    graph.nodes[i].isCopy = !(graph.takesAnyUpdate && builtins[BuiltinCopy]) &&
                            isCopyNode(nodes[i].command, graph.nodes[i]);
  GraphNodeHandle root = nullptr;
  if (needsRoot(graph, nodes)) {
    VendorKernelNode nothing;
    nothing.function =
        static_cast<VendorFunction *>(builtins[BuiltinNothing])->handle;
    RETURN_IF_ERROR(
        check(driver.addKernelNode(root, graph.graph, nullptr, 0, nothing)));
  }
  for (size_t i = 0; i < count; ++i)
    RETURN_IF_ERROR(
        locate(connect(graph, nodes, i, root), nodes[i].command.site));
  RETURN_IF_ERROR(addSignal(graph, nodes));
  RETURN_IF_ERROR(
      check(VENDOR_CALL(graphInstantiate, &graph.executable, graph.graph, 0)));
  for (size_t i = 0; i < count; ++i)
    if (nodes[i].command.empty)
      RETURN_IF_ERROR(
          locate(check(VENDOR_CALL(graphSetEnabled, graph.executable,
                                   graph.nodes[i].handle, 0)),
                 nodes[i].command.site));
  RETURN_IF_ERROR(enableSignal(graph, false));
  return uploadGraph(graph);
}

// The first launch would do it otherwise, and take as long.
Status VendorContext::uploadGraph(VendorGraph &graph) {
  std::lock_guard<std::mutex> lock(graphMutex);
  if (!uploads)
    RETURN_IF_ERROR(createStream(uploads));
  VendorCall call =
      VENDOR_CALL(graphUpload, graph.executable, asStream(uploads));
  // HIP has had this call for longer than what it does.
  return call.code == ErrorNotSupported ? Status() : check(call);
}

Status VendorContext::makeGraph(const GraphNode *nodes, uint32_t count,
                                bool anyUpdate, NativeGraph &out) {
  if (!(device.info.capabilities & ~missing & CapGraphs))
    return makeStatus(GPUASYNC_UNSUPPORTED, "%s has no graphs here",
                      driver.name());
  OutsideCapture outside(driver);
  struct Guard {
    VendorContext &self;
    std::unique_ptr<VendorGraph> graph;
    ~Guard() {
      if (graph && graph->graph)
        self.destroyGraph(graph.release());
    }
  } guard{*this, std::make_unique<VendorGraph>()};
  VendorGraph &graph = *guard.graph;
  graph.nodes.resize(count);
  graph.takesAnyUpdate = anyUpdate;
  GraphHandle handle = nullptr;
  RETURN_IF_ERROR(made(VENDOR_CALL(graphCreate, &handle, 0)));
  graph.graph = handle;
  RETURN_IF_ERROR(buildGraph(graph, nodes));
  out = guard.graph.release();
  return Status();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

Status VendorContext::updateGraph(NativeGraph native, const uint32_t *indices,
                                  const GraphNode *nodes, uint32_t count,
                                  uint32_t &failed) {
  auto &graph = *static_cast<VendorGraph *>(native);
  for (failed = 0; failed < count; ++failed)
    RETURN_IF_ERROR(locate(
        updateNode(graph, graph.nodes[indices[failed]], nodes[failed].command),
        nodes[failed].command.site));
  return Status();
}

Status VendorContext::launchGraph(NativeGraph native, NativeStream stream,
                                  Completion *completion) {
  auto &graph = *static_cast<VendorGraph *>(native);
  const bool signals = completion && canSignal(graph);
  RETURN_IF_ERROR(enableSignal(graph, signals));
  RETURN_IF_ERROR(
      check(VENDOR_CALL(graphLaunch, graph.executable, asStream(stream))));
  if (signals) {
    completion->word = slotOf(graph.signalIndex);
    completion->value = ++signalCounts[graph.signalIndex];
  }
  return Status();
}

void VendorContext::destroyGraph(NativeGraph native) noexcept {
  std::unique_ptr<VendorGraph> graph(static_cast<VendorGraph *>(native));
  if (graph->signalIndex != VendorGraph::noSignal)
    releaseSignal(graph->signalIndex);
  giveBack([&] {
    if (graph->executable)
      note(VENDOR_CALL(graphExecDestroy, graph->executable));
    return VENDOR_CALL(graphDestroy, graph->graph);
  });
}
