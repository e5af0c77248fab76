//===- SizedStruct.h - Structs of callers -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Structs that a caller fills or reads begin with their size, set by the
// caller, whose header may be older or newer than the runtime: no more than
// that is read or written. For all libraries: it uses public functions only.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_BASE_SIZEDSTRUCT_H
#define GPUASYNC_SHIM_BASE_SIZEDSTRUCT_H

#include "gpuasync/Program.h"
#include "gpuasync/Status.h"

#include <stdio.h>
#include <string.h>

namespace gpuasync {

/// Refuses null, and a size that no version of the header ever gave the struct,
/// 0 before all. `least`: what it was in the first version.
template <typename T>
Status checkStructSize(const T *theirs, uint64_t least,
                       const char *name) noexcept {
  if (theirs && theirs->structSize >= least)
    return Status();
  char text[256];
  if (theirs)
    snprintf(text, sizeof(text),
             "%s: structSize is %llu: set it to sizeof(%s), which is at least "
             "%llu",
             name, static_cast<unsigned long long>(theirs->structSize), name,
             static_cast<unsigned long long>(least));
  else
    snprintf(text, sizeof(text), "%s: null argument", name);
  return Status(gpuasync_status_make(GPUASYNC_INVALID_ARGUMENT, text));
}

/// Copies `ours` to a caller's struct; what only the caller's header knows
/// becomes zeros.
template <typename T>
Status writeStruct(const T &ours, T *theirs, const char *name,
                   uint64_t least = sizeof(T)) noexcept {
  Status status = checkStructSize(theirs, least, name);
  if (!status.ok())
    return status;
  constexpr uint64_t head = sizeof(theirs->structSize);
  uint64_t size = theirs->structSize;
  uint64_t known = size < sizeof(T) ? size : sizeof(T);
  auto *to = reinterpret_cast<unsigned char *>(theirs);
  memcpy(to + head, reinterpret_cast<const unsigned char *>(&ours) + head,
         known - head);
  memset(to + known, 0, size - known);
  return Status();
}

/// Copies a caller's struct to `ours`; what the caller's header does not know
/// is zeros. What only the caller's header knows must be zeros: it is asked for
/// by a newer program than the runtime.
template <typename T>
Status readStruct(const T *theirs, T &ours, const char *name,
                  uint64_t least = sizeof(T)) noexcept {
  Status status = checkStructSize(theirs, least, name);
  if (!status.ok())
    return status;
  uint64_t size = theirs->structSize;
  auto *from = reinterpret_cast<const unsigned char *>(theirs);
  for (uint64_t i = sizeof(T); i < size; ++i)
    if (from[i]) {
      char text[256];
      snprintf(text, sizeof(text),
               "%s: the caller sets what this runtime does not know (byte %llu "
               "of %llu): it needs a newer one",
               name, static_cast<unsigned long long>(i),
               static_cast<unsigned long long>(size));
      return Status(gpuasync_status_make(GPUASYNC_UNSUPPORTED, text));
    }
  memset(static_cast<void *>(&ours), 0, sizeof(T));
  memcpy(static_cast<void *>(&ours), from, size < sizeof(T) ? size : sizeof(T));
  ours.structSize = sizeof(T);
  return Status();
}

} // namespace gpuasync

#endif // GPUASYNC_SHIM_BASE_SIZEDSTRUCT_H
