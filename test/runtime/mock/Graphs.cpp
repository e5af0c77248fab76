//===- Graphs.cpp - Graphs of the fake vendor libraries -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs made node by node or by capture, their executables, and how these run:
// as one operation of a stream, whose nodes go in any order that the edges
// allow. Which one, and on how many threads, is drawn anew for each launch.
//===----------------------------------------------------------------------===//

#include "State.h"

#include <algorithm>
#include <random>
#include <string.h>
#include <thread>

using namespace mock;

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

int State::createGraph(Graph *&out) {
  out = make<Graph>(current());
  return Success;
}

int State::addNode(void *graphHandle, void *const *after, size_t count,
                   Work work, GraphNode *&out) {
  Graph *graph = nullptr;
  if (int code = resolve(graphHandle, Kind::Graph, "graph", graph))
    return code;
  std::vector<uint32_t> before;
  for (size_t i = 0; i < count; ++i) {
    GraphNode *node = nullptr;
    if (int code = resolve(after[i], Kind::GraphNode, "graph node", node))
      return code;
    if (node->graph != graph) {
      violation("the node that it depends on is of another graph");
      return InvalidValue;
    }
    if (std::find(before.begin(), before.end(), node->index) != before.end()) {
      violation("it depends on one node twice");
      return InvalidValue;
    }
    before.push_back(node->index);
  }
  out = make<GraphNode>(current());
  out->graph = graph;
  out->index = uint32_t(graph->nodes.size());
  out->after = std::move(before);
  out->work = std::make_shared<const Work>(std::move(work));
  graph->nodes.push_back(out);
  return Success;
}

/// The later kernel begins when it likes, and waits before it touches memory:
/// so one that does not wait is wrong, and the others see the order of any
/// edge.
int State::addOverlapping(void *graphHandle, void *nodeHandle,
                          void *const *after, size_t count) {
  Graph *graph = nullptr;
  GraphNode *node = nullptr;
  if (int code = resolve(graphHandle, Kind::Graph, "graph", graph))
    return code;
  if (int code = resolve(nodeHandle, Kind::GraphNode, "graph node", node))
    return code;
  if (node->work->of != Work::Kernel)
    return InvalidValue;
  if (!node->work->module->waits)
    violation("kernel " + node->work->kernel + " does not wait");
  for (size_t i = 0; i < count; ++i) {
    GraphNode *before = nullptr;
    if (int code = resolve(after[i], Kind::GraphNode, "graph node", before))
      return code;
    if (before->graph != graph || node->graph != graph) {
      violation("the nodes are of different graphs");
      return InvalidValue;
    }
    if (before->work->of != Work::Kernel ||
        std::find(node->after.begin(), node->after.end(), before->index) !=
            node->after.end())
      return InvalidValue;
    node->after.push_back(before->index);
    node->overlaps = before->overlaps = true;
  }
  return Success;
}

/// The cooperative kernels of a graph take pointers, and no more blocks than
/// run at once.
int State::checkCooperative(const Work &work) {
  if (!work.launch.cooperative)
    return Success;
  if (work.packed)
    return InvalidValue;
  uint64_t blocks = 1, threads = 1;
  for (int i = 0; i < 3; ++i) {
    blocks *= work.launch.grid[i];
    threads *= work.launch.block[i];
  }
  return blocks > settings["multiprocessors"] * (2048 / threads)
             ? CooperativeLaunchTooLarge
             : Success;
}

int State::makeCooperative(void *handle) {
  GraphNode *node = nullptr;
  if (int code = resolve(handle, Kind::GraphNode, "graph node", node))
    return code;
  Work work = *node->work;
  if (work.of != Work::Kernel)
    return InvalidValue;
  work.launch.cooperative = true;
  if (int code = checkCooperative(work))
    return code;
  node->work = std::make_shared<const Work>(std::move(work));
  return Success;
}

int State::childWork(void *handle, Work &out) {
  Graph *child = nullptr;
  if (int code = resolve(handle, Kind::Graph, "graph", child))
    return code;
  if (child->memory && !child->memory->empty())
    return NotSupported; // as CUDA
  out.of = Work::Child;
  for (GraphNode *node : child->nodes)
    out.children.push_back(node->work);
  return Success;
}

int State::addChild(void *graph, void *const *after, size_t count, void *child,
                    GraphNode *&out) {
  Work work;
  if (int code = childWork(child, work))
    return code;
  return addNode(graph, after, count, std::move(work), out);
}

int State::setChild(void *executableHandle, void *nodeHandle, void *child) {
  Executable *executable = nullptr;
  uint32_t index = 0;
  if (int code = nodeOf(executableHandle, nodeHandle, executable, index))
    return code;
  Work work;
  if (int code = childWork(child, work))
    return code;
  const Work &old = *executable->work[index];
  auto isAlike = [](const std::shared_ptr<const Work> &one,
                    const std::shared_ptr<const Work> &other) {
    return one->of == other->of && one->operation == other->operation &&
           one->kernel == other->kernel;
  };
  if (old.of != Work::Child)
    return InvalidValue;
  if (!std::equal(old.children.begin(), old.children.end(),
                  work.children.begin(), work.children.end(), isAlike))
    return GraphUpdateFailure;
  executable->work[index] = std::make_shared<const Work>(std::move(work));
  return Success;
}

int State::destroyGraph(void *handle) {
  Graph *graph = nullptr;
  if (int code = resolve(handle, Kind::Graph, "graph", graph))
    return code;
  graph->alive = false;
  for (GraphNode *node : graph->nodes) {
    node->alive = false;
    node->work = nullptr;
  }
  release(graph->memory);
  return Success;
}

void State::release(std::shared_ptr<GraphMemory> &memory) {
  if (memory && memory.use_count() == 1)
    for (uintptr_t base : *memory)
      returnToPool(base);
  memory = nullptr;
}

int State::graphNodes(void *handle, size_t &count) {
  Graph *graph = nullptr;
  if (int code = resolve(handle, Kind::Graph, "graph", graph))
    return code;
  count = graph->nodes.size();
  return Success;
}

//===----------------------------------------------------------------------===//
// Executables
//===----------------------------------------------------------------------===//

int State::instantiate(void *handle, Executable *&out) {
  Graph *graph = nullptr;
  if (int code = resolve(handle, Kind::Graph, "graph", graph))
    return code;
  auto edges = std::make_shared<GraphEdges>();
  edges->before.resize(graph->nodes.size());
  edges->after.resize(graph->nodes.size());
  out = make<Executable>(current());
  out->graph = graph;
  out->memory = graph->memory;
  for (GraphNode *node : graph->nodes) {
    if (node->work->module && !node->work->module->alive)
      violation("the module of kernel " + node->work->kernel + " is unloaded");
    edges->before[node->index] = uint32_t(node->after.size());
    for (uint32_t before : node->after)
      edges->after[before].push_back(node->index);
    out->work.push_back(node->work);
  }
  out->enabled.assign(graph->nodes.size(), true);
  out->edges = std::move(edges);
  return Success;
}

int State::nodeOf(void *executableHandle, void *nodeHandle, Executable *&out,
                  uint32_t &index) {
  GraphNode *node = nullptr;
  if (int code =
          resolve(executableHandle, Kind::Executable, "executable graph", out))
    return code;
  if (int code = resolve(nodeHandle, Kind::GraphNode, "graph node", node))
    return code;
  if (node->graph != out->graph) {
    violation("the node is of another graph than the executable");
    return InvalidValue;
  }
  index = node->index;
  return Success;
}

int State::setNode(void *executableHandle, void *nodeHandle, Work work) {
  Executable *executable = nullptr;
  uint32_t index = 0;
  if (int code = nodeOf(executableHandle, nodeHandle, executable, index))
    return code;
  const Work &old = *executable->work[index];
  if (work.of != old.of) {
    violation("the node is of another kind");
    return InvalidValue;
  }
  work.launch.cooperative = old.launch.cooperative;
  if (work.of == Work::Copy && (work.to != old.to || work.from != old.from))
    return InvalidValue; // as CUDA
  if (int code = checkCooperative(work))
    return code;
  executable->work[index] = std::make_shared<const Work>(std::move(work));
  return Success;
}

int State::setEnabled(void *executableHandle, void *nodeHandle, bool enabled) {
  Executable *executable = nullptr;
  uint32_t index = 0;
  if (int code = nodeOf(executableHandle, nodeHandle, executable, index))
    return code;
  if (!enabled && executable->graph->nodes[index]->overlaps)
    violation("a node is disabled that others overlap with");
  executable->enabled[index] = enabled;
  return Success;
}

int State::upload(void *executableHandle, void *streamHandle) {
  Executable *executable = nullptr;
  Stream *stream = nullptr;
  if (int code = resolve(executableHandle, Kind::Executable, "executable graph",
                         executable))
    return code;
  return resolveStream(streamHandle, stream);
}

int State::destroyExecutable(void *handle) {
  Executable *executable = nullptr;
  if (int code =
          resolve(handle, Kind::Executable, "executable graph", executable))
    return code;
  if (executable->running > executable->signalled->load())
    violation("the executable graph still runs");
  executable->alive = false;
  executable->work.clear();
  release(executable->memory);
  return Success;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

namespace {

/// One launch of an executable. Nodes whose work is null are disabled.
class Run {
public:
  Run(std::shared_ptr<const GraphEdges> edges,
      std::vector<std::shared_ptr<const Work>> work, uint64_t seed,
      bool concurrent, std::shared_ptr<std::atomic<uint64_t>> signalled)
      : edges(std::move(edges)), work(std::move(work)), random(seed),
        ways(concurrent ? 5 : 3), signalled(std::move(signalled)) {}

  /// The code of the first fault.
  int operator()() {
    missing = edges->before;
    left = missing.size();
    fault = 0;
    ready.clear();
    for (uint32_t i = 0; i < missing.size(); ++i)
      if (!missing[i])
        ready.push_back(i);
    how = static_cast<How>(random() % ways);
    int helpers = how == Two ? 1 : how == Three ? 2 : 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < helpers; ++i)
      threads.emplace_back([this] {
        thread().worker = true;
        ++thread().depth;
        runNodes();
      });
    ++thread().depth;
    runNodes();
    --thread().depth;
    for (std::thread &thread : threads)
      thread.join();
    return fault;
  }

  /// The launch counts as running no longer.
  void ended() {
    if (signals)
      --*signalled;
  }

private:
  enum How { Newest, Oldest, Any, Two, Three };

  void runNodes() {
    std::unique_lock<std::mutex> lock(mutex);
    while (true) {
      wake.wait(lock, [&] { return !ready.empty() || !left || fault; });
      if (!left || fault)
        return;
      size_t at = how == Newest   ? ready.size() - 1
                  : how == Oldest ? 0
                                  : random() % ready.size();
      uint32_t node = ready[at];
      ready.erase(ready.begin() + ptrdiff_t(at));
      lock.unlock();
      int code = work[node] ? runNode(*work[node]) : 0;
      lock.lock();
      if (code && !fault)
        fault = code;
      for (uint32_t next : edges->after[node])
        if (!--missing[next])
          ready.push_back(next);
      --left;
      wake.notify_all();
    }
  }

  int runNode(const Work &work) {
    if (work.of == Work::Child) {
      for (const std::shared_ptr<const Work> &each : work.children)
        if (int code = runNode(*each))
          return code;
      return Success;
    }
    if (work.kernel == "gpuasync_signal") {
      signals = true;
      ++*signalled;
    } else if (!work.kernel.empty()) {
      std::unique_lock<std::mutex> lock(state().mutex);
      state().passGate(work.kernel, lock);
    }
    --thread().depth; // the kernel is the program's code
    int code = work.run();
    ++thread().depth;
    if (work.slot && !code) {
      signals = true;
      ++*signalled;
      tellAndEnd(work.slot);
    }
    return code;
  }

  std::shared_ptr<const GraphEdges> edges;
  std::vector<std::shared_ptr<const Work>> work;
  std::mt19937_64 random;
  const unsigned ways; ///< of How that there are
  const std::shared_ptr<std::atomic<uint64_t>> signalled;
  std::atomic<bool> signals{false};
  std::mutex mutex;
  std::condition_variable wake;
  std::vector<uint32_t> missing, ready; ///< guarded by `mutex`
  size_t left = 0;
  int fault = 0;
  How how = Any;
};

} // namespace

int State::launchGraph(void *executableHandle, void *streamHandle) {
  Executable *executable = nullptr;
  Stream *stream = nullptr;
  if (int code = resolve(executableHandle, Kind::Executable, "executable graph",
                         executable))
    return code;
  if (int code = resolveStream(streamHandle, stream))
    return code;
  std::vector<std::shared_ptr<const Work>> work = executable->work;
  for (size_t i = 0; i < work.size(); ++i) {
    if (!executable->enabled[i])
      work[i] = nullptr;
    else if (work[i]->of == Work::Copy)
      if (int code = checkRows(work[i]->rows))
        return code;
  }
  auto run =
      std::make_shared<Run>(executable->edges, std::move(work),
                            settings["seed"] * 1000003 + ++graphRuns,
                            settings["concurrent"] != 0, executable->signalled);
  Operation operation;
  operation.run = [run] { return (*run)(); };
  operation.ended = [run] { run->ended(); };
  if (!stream->capture) {
    // One launch of an executable runs at a time.
    if (executable->last && !executable->last->reached)
      operation.after = executable->last;
    operation.reaches = executable->last = std::make_shared<Point>();
    operation.executable = executable;
    ++executable->running;
  }
  enqueue(*stream, std::move(operation));
  return Success;
}
