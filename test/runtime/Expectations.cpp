//===- Expectations.cpp - What is known not to work on a device -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lists (T01).
//===----------------------------------------------------------------------===//

#include "Expectations.h"

#include <fnmatch.h>

using namespace gpuasync_test;

// "*cpu" is also a device that is the CPU device underneath.
static const Expectation table[] = {
    {"!cuda-on-mock", "Sweep.PtxCache_E05", Expected::Unsupported,
     "only the cuda driver keeps machine code on disk"},
    {"!cuda-on-mock", "Sweep.Captured_E05", Expected::Unsupported,
     "no captures"},
    {"!cpu-*", "Sweep.KernelAssert_E05", Expected::Unsupported,
     "a trap loses the device"},
    {"!cpu-fair", "Sweep.DiskCache_E05", Expected::Unsupported,
     "uses no device; once is enough"},
    {"!*cpu", "Errors.KernelAssert*", Expected::Unsupported,
     "a trap loses the device; DeviceLoss has it"},
    {"!*-on-mock", "Capture.*Question*", Expected::Unsupported,
     "no call of a real driver can be made to fail"},
    {"!*-on-mock", "Capture.FailedFunction*", Expected::Unsupported,
     "no call of a real driver can be made to fail"},
    {"!*cpu", "Order.ProgressOnFewProcessors_B04", Expected::Unsupported,
     "the streams of a GPU need no processors of the host's"},
    {"*cpu", "Wait.SpinIsASetting_L08", Expected::Unsupported,
     "its own threads wake who waits, so it never polls"},
    {"hip-on-cuda", "TensorMaps.LargeParameters*", Expected::Unsupported,
     "CUDA puts a large parameter where HIP cannot ask for it"},
    {"hip-on-cuda", "Graphs.LargeParameters*", Expected::Unsupported,
     "CUDA puts a large parameter where HIP cannot ask for it"},
    {"!*cpu", "Threads.KernelsWhileAThreadEnds", Expected::Unsupported,
     "kernels run on no thread of the host's"},
    {"*cpu", "DeviceLoss.*", Expected::Unsupported,
     "an assert fails its frame only; Errors.KernelAssert has it"},
    {"!*cpu", "Traces.ManyThatAreNotOver", Expected::Unsupported,
     "a GPU's queue is shorter, and enqueueing waits for it"},
    {"!*-on-mock", "Traces.WhatIsAskedForIsNotCounted", Expected::Unsupported,
     "nobody counts a real driver's calls"},
    {"!*cpu", "Order.UploadOf*Download*", Expected::Unsupported,
     "such an upload waits for the download (docs/reference/Runtime.md)"},
    {"!*cpu", "Library.ErrorsOfItsWork*", Expected::Unsupported,
     "a trap loses the device"},
    {"!*cpu", "Library.HostLibrary*", Expected::Unsupported,
     "the handle is the vendor's"},
    {"!*cpu", "Sites.OfAContextThatIsLeftBehind", Expected::Unsupported,
     "the device would keep what stays behind"},
    {"*-on-mock*", "Order.NullExternalStream", Expected::Violation,
     "the stream is the caller's", "*: the legacy default stream is used"},
    {"*-on-mock*", "Library.OfTheDefaultStream", Expected::Violation,
     "the stream is the caller's", "*: the legacy default stream is used"},
    {"*-on-mock*", "Capture.CaptureThatFailedIsNamed", Expected::Violation,
     "the test ends the capture so", "*: a captured stream can be neither*"},
};

bool gpuasync_test::matches(const char *pattern, const std::string &text) {
  return fnmatch(pattern, text.c_str(), 0) == 0;
}

static bool fits(const char *pattern, const std::string &device) {
  bool negated = *pattern == '!';
  return matches(pattern + negated, device) != negated;
}

std::vector<Expectation> gpuasync_test::expectations(const std::string &device,
                                                     Expected expected) {
  const testing::TestInfo *info =
      testing::UnitTest::GetInstance()->current_test_info();
  // "Devices/Order" and "NullExternalStream/cuda".
  std::string suite = info->test_suite_name(), name = info->name();
  suite = suite.substr(suite.find('/') + 1);
  name = name.substr(0, name.find('/'));
  std::vector<Expectation> result;
  for (const Expectation &entry : table)
    if (entry.expected == expected && fits(entry.device, device) &&
        matches(entry.test, suite + "." + name))
      result.push_back(entry);
  return result;
}

MustFail::MustFail(const char *reason)
    : reason(reason),
      reporter(new testing::ScopedFakeTestPartResultReporter(
          testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS,
          &failures)) {}

MustFail::~MustFail() {
  reporter.reset();
  for (int i = 0; i < failures.size(); ++i)
    if (failures.GetTestPartResult(i).failed())
      return;
  ADD_FAILURE() << "unexpected pass; it was to fail: " << reason;
}
