//===- Expectations.h - What is known not to work on a device ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The suites run over several devices. Gaps are listed here, each with its
// reason, and not in the tests; an expected failure that passes is a failure.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_RUNTIME_EXPECTATIONS_H
#define GPUASYNC_TEST_RUNTIME_EXPECTATIONS_H

#include "mock/Mock.h"

#include <gtest/gtest-spi.h>

#include <memory>
#include <string>
#include <vector>

namespace gpuasync_test {

/// The devices of this program's tests; each main defines it. What follows
/// "-on-" says under which vendor library the driver runs.
std::vector<const char *> testedDevices();
/// The fake vendor library under `device`'s driver, or null.
Mock *mockOf(const std::string &device);

enum class Expected {
  Unsupported, ///< the test is skipped
  Failure,     ///< it must fail
  Violation    ///< the fake vendor library may complain of what is named
};

struct Expectation {
  const char *device; ///< a pattern as of a file name; "!": what it is not
  const char *test;   ///< Suite.Case, the same
  Expected expected;
  const char *reason;
  const char *complaint = ""; ///< Violation: "call: reason", a pattern
};

/// Those of the running test, on this device, of one kind.
std::vector<Expectation> expectations(const std::string &device,
                                      Expected expected);

/// Whether the text is of the form of a pattern as of a file name.
bool matches(const char *pattern, const std::string &text);

/// Takes the failures of its scope and is one itself if there were none.
class MustFail {
public:
  explicit MustFail(const char *reason);
  ~MustFail();

private:
  std::string reason;
  testing::TestPartResultArray failures;
  std::unique_ptr<testing::ScopedFakeTestPartResultReporter> reporter;
};

} // namespace gpuasync_test

#endif // GPUASYNC_TEST_RUNTIME_EXPECTATIONS_H
