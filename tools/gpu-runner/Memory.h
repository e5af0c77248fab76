//===- Memory.h - Memory of arrays ------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the arrays lie in that a program is called with.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TOOLS_GPURUNNER_MEMORY_H
#define GPUASYNC_TOOLS_GPURUNNER_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <memory>

namespace gpurunner {

/// Gives back the memory of AlignedBytes.
struct ReleaseBytes {
  size_t mapped = 0; ///< bytes to unmap, 0: it is of the heap
  size_t before = 0; ///< bytes of the mapping in front of the first
  void operator()(char *pointer) const;
};

/// Memory at an address that is a multiple of 64: of the heap, or a file's.
class AlignedBytes {
public:
  AlignedBytes() = default;
  /// Zeros, from the heap; none if there is not so much.
  explicit AlignedBytes(size_t size);
  /// `size` bytes of an open file from `offset` on. They can be written, which
  /// the file does not see. None if they cannot be mapped to such an address.
  static AlignedBytes map(int file, uint64_t offset, size_t size);

  char *data() const { return memory.get(); }
  size_t size() const { return length; }
  explicit operator bool() const { return memory != nullptr; }

private:
  std::unique_ptr<char, ReleaseBytes> memory;
  size_t length = 0;
};

} // namespace gpurunner

#endif // GPUASYNC_TOOLS_GPURUNNER_MEMORY_H
