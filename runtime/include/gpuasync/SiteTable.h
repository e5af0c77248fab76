//===- SiteTable.h - Sites of programs written by hand ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of sites that a compiler emits as constant data, for those who
// write the calls of RuntimeABI.h themselves.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SITETABLE_H
#define GPUASYNC_SITETABLE_H

#include "gpuasync/RuntimeABI.h"

namespace gpuasync {

/// Up to `maxSites` sites with up to `maxText` bytes of text. Can be made by
/// the compiler:
///
///   static constexpr auto sites = [] {
///     gpuasync::SiteTable<2, 64> table;
///     table.add("my.cpp", "copy in", __LINE__); // 0
///     table.add("my.cpp", "launch", __LINE__);  // 1
///     return table;
///   }();
///   ... program.sites = sites.data(); program.siteCount = sites.size();
///
/// Not thread safe while sites are added; what `data` gives stays where it is.
template <uint32_t maxSites, uint32_t maxText>
class SiteTable {
public:
  constexpr SiteTable() = default;

  /// Adds a site and returns its index; GPUASYNC_NO_SITE if there is no room.
  constexpr uint32_t add(const char *file, const char *op, uint32_t line = 0,
                         uint32_t column = 0, uint32_t id = UINT32_MAX,
                         uint32_t module = 0, uint32_t kernel = 0,
                         uint32_t flags = 0) {
    if (count == maxSites || used + length(file) + length(op) > maxText)
      return GPUASYNC_NO_SITE;
    gpuasync_site &site = sites[count];
    uint32_t toText =
        uint32_t((maxSites - count) * sizeof(gpuasync_site)) + used;
    site.file = toText;
    site.op = toText + length(file);
    site.line = line;
    site.column = column;
    site.id = id;
    site.module = module;
    site.kernel = kernel;
    site.flags = flags;
    append(file);
    append(op);
    return count++;
  }
  constexpr const gpuasync_site *data() const { return sites; }
  constexpr uint32_t size() const { return count; }

private:
  /// With the NUL.
  static constexpr uint32_t length(const char *string) {
    uint32_t length = 0;
    while (string[length])
      ++length;
    return length + 1;
  }
  constexpr void append(const char *string) {
    for (uint32_t i = 0, e = length(string); i < e; ++i)
      text[used++] = string[i];
  }

  gpuasync_site sites[maxSites] = {};
  char text[maxText] = {};
  uint32_t count = 0, used = 0;
};

} // namespace gpuasync

#endif // GPUASYNC_SITETABLE_H
