//===- VendorSignal.cpp - Kernels that tell the host of their end ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel of the program's that comes after all else tells it itself
// (GPUASYNC_KERNELS_SIGNAL_SYMBOL); behind others of a graph one of the
// runtime's does.
//===----------------------------------------------------------------------===//

#include "device/vendor/VendorContext.h"

#include <string.h>

using namespace gpuasync;

//===----------------------------------------------------------------------===//
// Words of the host
//===----------------------------------------------------------------------===//

bool VendorContext::acquireSignal(uint32_t &index) {
  // Words are polled where flags are.
  if (!builtinModule || (table.moduleGlobal && !signalCounters) ||
      !(device.info.capabilities & ~missing & CapFlagWait))
    return false;
  std::lock_guard<std::mutex> lock(graphMutex);
  if (!signals) {
    // Without memory the host waits as if there were none.
    void *memory = nullptr;
    if (!guard([&] {
           freeSignals.reserve(maxSignals);
           signalCounts = std::make_unique<uint32_t[]>(maxSignals);
           return allocMemory(MemoryKind::Pinned, maxSignals * signalBytes,
                              memory);
         }).ok())
      return false;
    memset(memory, 0, maxSignals * signalBytes);
    signals = static_cast<char *>(memory);
    for (uint32_t i = maxSignals; i-- > 0;)
      freeSignals.push_back(i);
  }
  if (freeSignals.empty())
    return false;
  index = freeSignals.back();
  freeSignals.pop_back();
  return true;
}

void VendorContext::releaseSignal(uint32_t index) noexcept {
  std::lock_guard<std::mutex> lock(graphMutex);
  freeSignals.push_back(index);
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

/// Whether the launch's own kernel can tell of the end of the graph.
bool VendorContext::signalsItself(const Command &command) {
  if (command.kind != Command::Kind::Launch || command.empty ||
      isExtended(*command.launch.block))
    return false;
  const auto &function =
      *static_cast<VendorFunction *>(command.launch.function);
  return function.signals && !function.takesPointers;
}

/// The one launch that nothing comes after does it itself. Behind others a node
/// is put, only where they are downloads by kernels: their end is told 2 us
/// sooner so, that of several kernels 1.5 us later, and behind a vendor's copy
/// it takes longest.
Status VendorContext::addSignal(VendorGraph &graph, const GraphNode *nodes) {
  if (!driver.facts.graphsOutliveLaunches)
    return Status();
  std::vector<bool> isLast(graph.nodes.size(), true);
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    for (uint32_t k = 0; k < nodes[i].afterCount; ++k)
      isLast[nodes[i].after[k]] = false;
  std::vector<GraphNodeHandle> last;
  bool downloads = false;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (isLast[i]) {
      if (graph.nodes[i].isCopy)
        return Status();
      downloads |= isCopy(nodes[i].command) && !nodes[i].command.empty &&
                   pointerKind(destinationOf(nodes[i].command)) ==
                       PointerKind::Registered;
      graph.lastIndex = static_cast<uint32_t>(i);
      last.push_back(graph.nodes[i].handle);
    }
  const bool itself =
      last.size() == 1 && signalsItself(nodes[graph.lastIndex].command);
  if ((!itself && !downloads) || !acquireSignal(graph.signalIndex))
    return Status();
  if (itself) {
    graph.last = std::make_unique<KernelNode>();
    return kernelNode(nodes[graph.lastIndex].command, *graph.last);
  }
  SignalArguments arguments;
  arguments.slot = slotOf(graph.signalIndex);
  arguments.index = graph.signalIndex;
  void *parameters[] = {&arguments.slot, &arguments.index};
  VendorKernelNode node;
  node.function =
      static_cast<VendorFunction *>(builtins[BuiltinSignal])->handle;
  node.parameters = parameters;
  RETURN_IF_ERROR(check(driver.addKernelNode(graph.signal, graph.graph,
                                             last.data(), last.size(), node)));
  graph.signals = true;
  return Status();
}

bool VendorContext::canSignal(const VendorGraph &graph) const {
  if (!graph.last)
    return graph.signal;
  const unsigned *grid = graph.last->arguments.grid;
  const int64_t blocks[] = {grid[0], grid[1], grid[2]};
  return graph.nodes[graph.lastIndex].enabled && KernelSignal::counts(blocks);
}

Status VendorContext::enableSignal(VendorGraph &graph, bool enabled) {
  if (graph.signals == enabled)
    return Status();
  if (graph.last) {
    KernelNode &kernel = *graph.last;
    auto ask = [&](bool wanted) {
      kernel.signal = wanted ? kernelSignal(graph.signalIndex) : KernelSignal();
      memcpy(kernel.signalled.data() + kernel.bytes - sizeof(kernel.signal),
             &kernel.signal, sizeof(kernel.signal));
    };
    ask(enabled);
    Status status = check(driver.setKernelNode(
        graph.executable, graph.nodes[graph.lastIndex].handle,
        kernel.arguments));
    if (!status.ok()) {
      ask(!enabled); // as the graph's node is still, also when it is updated
      return status;
    }
  } else {
    RETURN_IF_ERROR(check(VENDOR_CALL(graphSetEnabled, graph.executable,
                                      graph.signal, enabled ? 1u : 0u)));
  }
  graph.signals = enabled;
  return Status();
}
