//===- FakeProfiler.h - What the fake profilers saw -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each library exports one of these as `fake_profiler`, which is a function.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_RUNTIME_RANGES_FAKEPROFILER_H
#define GPUASYNC_TEST_RUNTIME_RANGES_FAKEPROFILER_H

#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

struct FakeProfiler {
  std::mutex mutex;
  /// In the order of their ends, each with those around it: "f > g".
  std::vector<std::string> ranges;
  std::map<std::thread::id, std::vector<std::string>> open;
  int pops = 0; ///< of no range

  int push(const char *text) {
    std::lock_guard<std::mutex> lock(mutex);
    std::vector<std::string> &stack = open[std::this_thread::get_id()];
    stack.push_back(stack.empty() ? text : stack.back() + " > " + text);
    return int(stack.size()) - 1;
  }
  int pop() {
    std::lock_guard<std::mutex> lock(mutex);
    std::vector<std::string> &stack = open[std::this_thread::get_id()];
    if (stack.empty())
      return -1 - pops++;
    ranges.push_back(stack.back());
    stack.pop_back();
    return int(stack.size());
  }
  size_t openCount() {
    std::lock_guard<std::mutex> lock(mutex);
    size_t sum = 0;
    for (auto &[thread, stack] : open)
      sum += stack.size();
    return sum;
  }
};

#endif // GPUASYNC_TEST_RUNTIME_RANGES_FAKEPROFILER_H
