//===- Sites.h - Sites of hand-written programs -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One table that grows for all test programs, so that a test names its ops
// where they are.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_RUNTIME_SITES_H
#define GPUASYNC_TEST_RUNTIME_SITES_H

#include "gpuasync/SiteTable.h"

#include <string.h>

#include <mutex>
#include <vector>

namespace gpuasync_test {

/// Programs say that they have so many; what is not made yet nobody names.
constexpr uint32_t maxTestSites = 8192;
inline gpuasync::SiteTable<maxTestSites, 64 * maxTestSites> testSites;

inline uint32_t testSite(const char *file, const char *op, uint32_t line,
                         uint32_t column, uint32_t kernel = 0) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  // Launches tell of their end where they can, though it may not be waited for.
  return testSites.add(file, op, line, column, UINT32_MAX, 0, kernel,
                       GPUASYNC_SITE_AWAITED);
}

inline uint32_t lineOf(uint32_t site) { return testSites.data()[site].line; }

/// A table of `count` sites, number i the launch of kernel 0 of module i; the
/// texts lie in the elements behind them.
inline std::vector<gpuasync_site> launchSites(const char *file, const char *op,
                                              uint32_t count) {
  constexpr uint32_t size = sizeof(gpuasync_site);
  uint32_t fileBytes = uint32_t(strlen(file) + 1);
  uint32_t opBytes = uint32_t(strlen(op) + 1);
  std::vector<gpuasync_site> table(count + 1 + (fileBytes + opBytes) / size);
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t toText = (count - i) * size;
    table[i] = {toText, toText + fileBytes, 1, 1, UINT32_MAX, i, 0, 0};
  }
  auto *text = reinterpret_cast<char *>(table.data() + count);
  memcpy(text, file, fileBytes);
  memcpy(text + fileBytes, op, opBytes);
  return table;
}

/// The site of an op at this line.
#define SITE(op)                                                               \
  ([]() -> uint32_t {                                                          \
    static const uint32_t site =                                               \
        gpuasync_test::testSite("test.mlir", op, __LINE__, 3);                 \
    return site;                                                               \
  }())

} // namespace gpuasync_test

#endif // GPUASYNC_TEST_RUNTIME_SITES_H
