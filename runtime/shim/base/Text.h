//===- Text.h - Text in a buffer of the caller's ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formatted text of any length, without an allocation.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_BASE_TEXT_H
#define GPUASYNC_SHIM_BASE_TEXT_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

namespace gpuasync {

/// Text in the caller's buffer, cut where that ends.
class Text {
public:
  Text(char *buffer, uint64_t size) : buffer(buffer), size(size) {
    if (size)
      *buffer = '\0';
  }
  __attribute__((format(printf, 2, 3))) void add(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    bool fits = used < size;
    int more = vsnprintf(fits ? buffer + used : nullptr, fits ? size - used : 0,
                         format, arguments);
    va_end(arguments);
    used += more > 0 ? static_cast<uint64_t>(more) : 0;
  }
  /// Bytes of the whole text.
  uint64_t length() const { return used; }

private:
  char *buffer;
  uint64_t size, used = 0;
};

/// Adds a string of JSON.
inline void addQuoted(Text &text, const char *name) {
  text.add("\"");
  for (; *name; ++name) {
    const auto letter = static_cast<unsigned char>(*name);
    if (letter == '"' || letter == '\\')
      text.add("\\%c", letter);
    else if (letter < 0x20)
      text.add("\\u%04x", letter);
    else
      text.add("%c", letter);
  }
  text.add("\"");
}

} // namespace gpuasync

#endif // GPUASYNC_SHIM_BASE_TEXT_H
