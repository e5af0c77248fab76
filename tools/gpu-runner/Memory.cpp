//===- Memory.cpp - Memory of arrays --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Memory.h.
//===----------------------------------------------------------------------===//

#include "Memory.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace gpurunner {

AlignedBytes::AlignedBytes(size_t size) : length(size) {
  size_t rounded = llvm::alignTo(std::max<size_t>(size, 1), 64);
  memory.reset(static_cast<char *>(std::aligned_alloc(64, rounded)));
  if (memory)
    std::memset(memory.get(), 0, rounded);
}

AlignedBytes AlignedBytes::map(int file, uint64_t offset, size_t size) {
  AlignedBytes bytes;
  ReleaseBytes release;
  release.before = offset % sysconf(_SC_PAGESIZE);
  release.mapped = release.before + size;
  if (release.before % 64)
    return bytes;
  void *begin =
      mmap(nullptr, release.mapped, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_NORESERVE, file, off_t(offset - release.before));
  if (begin == MAP_FAILED)
    return bytes;
  bytes.memory = {static_cast<char *>(begin) + release.before, release};
  bytes.length = size;
  return bytes;
}

void ReleaseBytes::operator()(char *pointer) const {
  if (mapped)
    munmap(pointer - before, mapped);
  else
    std::free(pointer);
}

} // namespace gpurunner
