//===- Command.h - One piece of work for a device ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A launch, a copy, a fill, a call: described once, for the entries of the ABI,
// the queue of the CPU device, recordings, nodes of graphs, and traces.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DEVICE_COMMAND_H
#define GPUASYNC_DEVICE_COMMAND_H

#include "device/Native.h"

namespace gpuasync {

/// A copy of rank 1..maxRank after the core has dropped unit dimensions and
/// merged contiguous ones; the last dimension varies fastest. Strides in bytes.
struct StridedCopy {
  static constexpr uint32_t maxRank = 8;
  void *destination = nullptr;
  const void *source = nullptr;
  int64_t sizes[maxRank] = {}; ///< in elements
  int64_t destinationStrides[maxRank] = {};
  int64_t sourceStrides[maxRank] = {};
  uint32_t rank = 0;
  uint32_t padding = 0; ///< copies are compared as bytes
  /// Bytes of the innermost element: any value; the core has merged a
  /// contiguous last dimension into it, so a plain 2-D copy is rank 1 with
  /// elementBytes = width.
  uint64_t elementBytes = 0;
};

/// A fill of rank 1..maxRank; `elementBytes` is 1, 2, 4, 8 or 16 (a contiguous
/// last dimension stays a dimension with stride elementBytes).
struct StridedFill {
  static constexpr uint32_t maxRank = 8;
  void *destination = nullptr;
  int64_t sizes[maxRank] = {};
  int64_t strides[maxRank] = {}; ///< in bytes
  uint32_t rank = 0;
  uint32_t elementBytes = 0;
  unsigned char pattern[16] = {};
};

/// A copy of bytes that lie in one piece on both sides.
struct ByteCopy {
  void *destination = nullptr;
  const void *source = nullptr;
  uint64_t bytes = 0;
};

/// Work that nobody describes, as a library's: it is put on a stream that is
/// captured.
class CapturedWork {
public:
  /// The calling thread is as the caller had it (Device::suspend), and
  /// its own mode of stream capture forbids what a graph cannot hold.
  virtual Status enqueue(NativeStream stream) = 0;

protected:
  ~CapturedWork() = default;
};

/// How the host learns of the end of a launch or a graph without an event: the
/// device writes a word.
struct Completion {
  /// A launch sets it: CompletionSignals::acquireSignal.
  uint32_t signal = 0;
  /// Set by the device. The word comes to `value` or beyond as it would by
  /// writeFlag behind the work; null: this work writes none. It says that the
  /// work is done and can be seen, not that the kernel has ended. The word
  /// stays until the context closes.
  uint32_t *word = nullptr;
  uint32_t value = 0;
};

/// Describes one piece of work. Owns nothing: what it points to is read during
/// the call that takes it, but for `site`, which is constant data that outlives
/// the work.
struct Command {
  enum class Kind : uint8_t {
    Launch,
    CopyBytes,
    Copy,
    Fill,
    Call,     ///< of a function of the runtime's own
    HostCall, ///< of a library's function that runs on the host
    Arrival,  ///< the same in front of a gate; StreamGates only
    Captured, ///< a library's work; of graphs only
    Wait      ///< of the cpu device's queue only
  };
  Kind kind = Kind::Launch;
  /// No threads, nothing to copy or to fill: it only keeps order. Of graphs
  /// only; of a launch the sizes do not matter then, `copy` and `fill` may be
  /// null. Captured work is never empty.
  bool empty = false;
  const gpuasync_site *site = nullptr; ///< for diagnostics; may be null
  struct Launch {
    NativeFunction function;
    const gpuasync_kernel *kernel; ///< describes the packed block->params
    const gpuasync_launch_config *block;
  };
  struct Call {
    void (*function)(void *); ///< ends soon; not called if the stream failed
    void *argument;
  };
  struct HostCall {
    union {
      int32_t (*function)(
          void *); ///< may wait; not 0: the stream's work failed
      /// An arrival's: called whether the stream's work failed or not, with
      /// the message if so.
      void (*arrive)(void *, const char *error);
    };
    const void *arguments; ///< copied, to an address aligned to 16
    uint64_t bytes;
  };
  union {
    Launch launch = {};
    ByteCopy bytes;
    const StridedCopy *copy;
    const StridedFill *fill;
    Call call;
    HostCall host;
    CapturedWork *work;
  };
  /// Set by a launch; null: nobody wants a word.
  Completion *completion = nullptr;

  Command() = default;
  Command(Kind kind, const gpuasync_site *site) : kind(kind), site(site) {}
  Command(NativeFunction function, const gpuasync_kernel &kernel,
          const gpuasync_launch_config &block, const gpuasync_site *site,
          Completion *completion = nullptr)
      : site(site), launch{function, &kernel, &block}, completion(completion) {}
  Command(const ByteCopy &copy, const gpuasync_site *site)
      : kind(Kind::CopyBytes), site(site), bytes(copy) {}
  /// A copy without dimensions becomes one of bytes.
  Command(const StridedCopy &strided, const gpuasync_site *site) : site(site) {
    if (strided.rank) {
      kind = Kind::Copy;
      copy = &strided;
    } else {
      kind = Kind::CopyBytes;
      bytes = {strided.destination, strided.source, strided.elementBytes};
    }
  }
  Command(const StridedFill &strided, const gpuasync_site *site)
      : kind(Kind::Fill), site(site), fill(&strided) {}
  Command(void (*function)(void *), void *argument)
      : kind(Kind::Call), call{function, argument} {}
  Command(const HostCall &call, const gpuasync_site *site,
          Kind kind = Kind::HostCall)
      : kind(kind), site(site), host(call) {}
};
inline bool isCopy(const Command &command) {
  return command.kind == Command::Kind::CopyBytes ||
         command.kind == Command::Kind::Copy;
}
static_assert(sizeof(Command) <= 56 && std::is_trivially_copyable_v<Command>);

/// Both sides of a copy, whose description is there.
inline void *destinationOf(const Command &copy) {
  return copy.kind == Command::Kind::CopyBytes ? copy.bytes.destination
                                               : copy.copy->destination;
}
inline const void *sourceOf(const Command &copy) {
  return copy.kind == Command::Kind::CopyBytes ? copy.bytes.source
                                               : copy.copy->source;
}

/// One operation of a graph.
struct GraphNode {
  Command command;
  /// Indices of earlier nodes of the graph, each once, after which it starts.
  const uint32_t *after = nullptr;
  uint32_t afterCount = 0;
};

} // namespace gpuasync

#endif // GPUASYNC_DEVICE_COMMAND_H
