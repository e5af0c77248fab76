//===- HostCopy.cpp - Copies of pageable memory without staging -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each copy waits for its stream, and is done when the call returns.
//===----------------------------------------------------------------------===//

#include "shim/abi/Transfer.h"

using namespace gpuasync;

/// Waits for the work of the stream.
static Status waitFor(const Transfer &transfer) {
  Stream *const streams[] = {&transfer.stream};
  return hostWait(transfer.frame, streams, 1);
}

/// The device copies between its memory and a pinned block, and the host
/// between that and the other side.
template <typename Copy>
static Status copyByBlock(const Transfer &transfer, Copy copy, bool isUpload) {
  Copy onHost = copy;
  PoolAllocation *block = nullptr;
  makeDense(onHost, /*source=*/!isUpload);
  RETURN_IF_ERROR(transfer.context.memory.takeStaging(
      makeDense(copy, /*source=*/isUpload), block));
  if (isUpload) {
    copy.source = onHost.destination = block->pointer;
    copyOnHost(onHost);
  } else {
    onHost.source = copy.destination = block->pointer;
  }
  transfer.stream.note(transfer.site);
  Status status = transfer.context.driver->submit(transfer.stream.native,
                                                  Command(copy, transfer.site));
  if (status.ok())
    status = waitFor(transfer);
  if (!status.ok()) {
    transfer.stream.stuck.push(block); // the device may still work on it
    return status;
  }
  if (!isUpload)
    copyOnHost(onHost);
  transfer.context.memory.dropStaging(block);
  return status;
}

template <typename Copy>
static Status copyNow(const Transfer &transfer, const Copy &copy,
                      const Sides &sides) {
  RETURN_IF_ERROR(waitFor(transfer));
  if (!transfer.context.has(CapHostAccess) &&
      sides.fromPageable != sides.toPageable)
    return copyByBlock(transfer, copy, sides.fromPageable);
  copyOnHost(copy);
  return Status();
}

namespace {

class BlockingCopies final : public HostCopies {
  Status copy(const Transfer &transfer, ByteCopy copy,
              const Sides &sides) override {
    return copyNow(transfer, copy, sides);
  }
  Status copy(const Transfer &transfer, const StridedCopy &copy,
              const Sides &sides) override {
    return copyNow(transfer, copy, sides);
  }
  Status fill(const Transfer &transfer, StridedCopy &, StridedFill &fill,
              const Sides &) override {
    RETURN_IF_ERROR(waitFor(transfer));
    fillOnHost(fill);
    return Status();
  }
  void reapSome(Stream &stream, bool idle) override {
    while (PoolAllocation *block = idle ? stream.stuck.pop() : nullptr)
      stream.context->memory.dropStaging(block);
  }
};

class BlockingCopyService final : public Service {
  Status contextOpening(gpuasync_context &context) const override {
    context.hostCopies = std::make_unique<BlockingCopies>();
    return Status();
  }
};

} // namespace

namespace gpuasync {
const Service &blockingCopyService() noexcept {
  static constexpr BlockingCopyService service;
  return service;
}
} // namespace gpuasync
