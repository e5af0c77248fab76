//===- Settings.h - Environment variables -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How every variable is read: unset and empty mean the default, and a value
// that is none is an error that names the variable, the value and what is
// allowed. In a header, since the runtime's other libraries and the tools read
// some too.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_BASE_SETTINGS_H
#define GPUASYNC_SHIM_BASE_SETTINGS_H

#include "gpuasync/Program.h"
#include "gpuasync/Status.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace gpuasync {

/// The variable's text; null if it is unset or empty. The only place that asks
/// the environment: in a process with more rights than whoever set it (setuid,
/// capabilities) every variable counts as unset, since they name files that are
/// written and libraries that are loaded.
inline const char *setting(const char *variable) {
  const char *text = secure_getenv(variable);
  return text && *text ? text : nullptr;
}

/// `wrong`: "not a number from 1 to 65536", "none of on, off".
inline Status badSetting(const char *variable, const char *text,
                         const char *wrong) {
  char message[512];
  snprintf(message, sizeof(message), "%s: '%.100s' is %s", variable, text,
           wrong);
  return Status(gpuasync_status_make(GPUASYNC_INVALID_ARGUMENT, message));
}

/// Digits, and nothing else that strtoull would take; moves `text` behind them.
inline bool readWhole(const char *&text, uint64_t &out) {
  const char *begin = text;
  for (out = 0; *text >= '0' && *text <= '9'; ++text)
    if (__builtin_mul_overflow(out, 10, &out) ||
        __builtin_add_overflow(out, unsigned(*text - '0'), &out))
      return false;
  return text != begin;
}

/// A whole number from `least` to `most`.
inline Status wholeSetting(const char *variable, uint64_t least, uint64_t most,
                           uint64_t &out) {
  const char *text = setting(variable), *rest = text;
  if (!text)
    return Status();
  uint64_t value = 0;
  if (readWhole(rest, value) && !*rest && value >= least && value <= most) {
    out = value;
    return Status();
  }
  char wrong[80];
  snprintf(wrong, sizeof(wrong), "not a number from %ju to %ju",
           uintmax_t(least), uintmax_t(most));
  return badSetting(variable, text, wrong);
}

/// Bytes, of which there is at least `least`: "1073741824", "1G".
inline Status sizeSetting(const char *variable, uint64_t least, uint64_t &out) {
  const char *text = setting(variable), *rest = text;
  if (!text)
    return Status();
  uint64_t value = 0;
  bool known = readWhole(rest, value);
  static const char units[] = "KkMmGgTt";
  unsigned shift = 0;
  if (const char *unit = known && *rest ? strchr(units, *rest) : nullptr) {
    shift = 10 * unsigned((unit - units) / 2 + 1);
    ++rest;
  }
  if (known && !*rest && value <= UINT64_MAX >> shift &&
      value << shift >= least) {
    out = value << shift;
    return Status();
  }
  char wrong[80] = "not a size (bytes, or with K, M, G, T)";
  if (least)
    snprintf(wrong, sizeof(wrong),
             "not a size of %ju or more (bytes, or with K, M, G, T)",
             uintmax_t(least));
  return badSetting(variable, text, wrong);
}

/// A number that is not negative: "50", "0.5". The locale has no say.
inline Status timeSetting(const char *variable, const char *unit, double &out) {
  const char *text = setting(variable), *rest = text;
  if (!text)
    return Status();
  double value = 0, place = 1;
  int digits = 0;
  for (; *rest >= '0' && *rest <= '9'; ++rest, ++digits)
    value = 10 * value + (*rest - '0');
  if (*rest == '.')
    for (++rest; *rest >= '0' && *rest <= '9'; ++rest, ++digits)
      value += (*rest - '0') * (place /= 10);
  if (digits && !*rest) {
    out = value;
    return Status();
  }
  char wrong[80];
  snprintf(wrong, sizeof(wrong), "not a number of %s, 0 or more", unit);
  return badSetting(variable, text, wrong);
}

/// One of two words: `out` says whether it is the second.
inline Status wordSetting(const char *variable, const char *first,
                          const char *second, bool &out) {
  const char *text = setting(variable);
  if (!text)
    return Status();
  if (!strcmp(text, first) || !strcmp(text, second)) {
    out = !strcmp(text, second);
    return Status();
  }
  char wrong[80];
  snprintf(wrong, sizeof(wrong), "none of %s, %s", first, second);
  return badSetting(variable, text, wrong);
}

} // namespace gpuasync

#endif // GPUASYNC_SHIM_BASE_SETTINGS_H
