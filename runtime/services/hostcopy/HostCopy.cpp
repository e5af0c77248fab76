//===- HostCopy.cpp - Copies and fills of pageable memory -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes a plan of each copy, and carries it out. A function for both ByteCopy
// and StridedCopy is a template.
//===----------------------------------------------------------------------===//

#include "services/hostcopy/DeferredUpload.h"
#include "services/hostcopy/StagingPool.h"
#include "shim/abi/Transfer.h"

using namespace gpuasync;

namespace {

/// How a copy is carried out, in at most four steps: staging gets the source,
/// the device copies, the host's copy from staging to the destination is noted
/// for a later host wait, and the source's staging is kept until the device has
/// read it. A value without memory of its own but for `shared`.
struct CopyPlan {
  enum class Source : uint8_t {
    Reachable, ///< no staging
    Now,       ///< the host copies all of it now, and there are no other steps
    Gathered,  ///< the host copies it to staging now
    Shared,    ///< it is in the staging of a download, at `offset`
    Deferred   ///< staging gets some parts when the device has written them
  };
  enum class Target : uint8_t {
    Reachable, ///< no staging
    Driver,    ///< pageable; the driver copies there, which may block
    Direct,    ///< pageable; the device writes there, and reads wait for it
    Staged     ///< the device writes staging
  };
  Source source = Source::Reachable;
  Target target = Target::Reachable;
  PoolAllocation *shared = nullptr; ///< one use more of this staging
  uint64_t offset = 0;
};

/// A copy or a fill of which a side is pageable.
struct StagedTransfer : Transfer {
  StagingPool &pool;

  StagedTransfer(StagingPool &pool, const Transfer &transfer)
      : Transfer(transfer), pool(pool) {}

  template <typename Copy>
  Status run(Copy copy, const Sides &sides);
  Status fill(StridedCopy &box, StridedFill &fill, const Sides &sides);

private:
  /// Plans a copy of classified sides. `isDense`: neither side has gaps. May
  /// wait for pending downloads.
  Status plan(const void *source, const Sides &sides, bool isDense,
              CopyPlan &out);
  template <typename Copy>
  Status stageSource(const CopyPlan &plan, Copy &copy, const Extent &from,
                     HeldStaging &staging);
  template <typename Copy>
  Status toTarget(CopyPlan::Target target, Copy &copy, const Extent &to);
  /// Notes that the copy writes pageable memory after the call: from `staging`
  /// by `scatter`, unless they are null.
  Status remember(char *destination, uint64_t bytes, PoolAllocation *staging,
                  const StridedCopy *scatter) {
    return pool.expect(use.downloads, stream, destination, bytes, staging,
                       scatter);
  }
  /// Whether all work of the stream is done.
  bool isIdle();
  /// Tells a trace of what the host has copied since `from`; 0: there was none.
  void noteOwn(uint64_t bytes, int64_t from);
  Status takeLate(HeldStaging &staging, const char *source, uint64_t bytes);
};

} // namespace

bool StagedTransfer::isIdle() {
  bool done = false;
  return context.timepoints.query(stream.timeline.whenIdle(), done).ok() &&
         done;
}

//===----------------------------------------------------------------------===//
// Sources that are not written yet
//===----------------------------------------------------------------------===//

/// Staging for a source of which the device itself has parts still to write.
/// The rest is read now: the host may change it as soon as the copy is
/// enqueued. Each part follows when the host learns that its download is done,
/// and may change it too, or when the stream gets here.
Status StagedTransfer::takeLate(HeldStaging &staging, const char *source,
                                uint64_t bytes) {
  RETURN_IF_ERROR(staging.take(bytes));
  auto made = std::make_unique<DeferredUpload>(source, staging.data(), bytes);
  DeferredUpload &late = *made;
  staging.get()->late = std::move(made);
  bool any = false;
  // Newest first: of two downloads to one place the last one counts.
  auto claim = [&](Download &pending) {
    auto link = std::make_unique<LateLink>();
    if (!late.claim(pending))
      return true;
    any = true;
    link->staging = staging.get();
    context.memory.shareStaging(staging.get());
    link->next = pending.late;
    pending.late = link.release();
    return true;
  };
  RETURN_IF_ERROR(pool.forEachWriter(use.downloads, source, bytes, claim));
  late.fillUnclaimed();
  if (!any)
    return Status();
  staging.use();
  auto fillAll = [](void *late) {
    static_cast<DeferredUpload *>(late)->fillAll();
  };
  return context.driver->submit(stream.native, Command(fillAll, &late));
}

//===----------------------------------------------------------------------===//
// The plan
//===----------------------------------------------------------------------===//

Status StagedTransfer::plan(const void *source, const Sides &sides,
                            bool isDense, CopyPlan &out) {
  using Source = CopyPlan::Source;
  using Target = CopyPlan::Target;
  if (sides.toPageable) {
    out.target = context.has(CapPageableDestination) ? Target::Direct
                 : stream.external                   ? Target::Driver
                                                     : Target::Staged;
    if (!isDense && out.target == Target::Driver)
      return makeStatus(GPUASYNC_UNSUPPORTED,
                        "strided copy into pageable host memory on a caller's "
                        "stream; register the memory");
  }
  if (!sides.fromPageable)
    return Status();
  const char *low = static_cast<const char *>(source) + sides.from.low;
  const uint64_t bytes = sides.from.bytes();
  bool isUnsettled = false;
  // The newest one counts.
  auto look = [&](Download &pending) {
    const char *begin = pending.destination, *end = begin + pending.bytes;
    if (!pending.staging) {
      out.source = Source::Deferred;
    } else if (isDense && !pending.isStrided && begin <= low &&
               low + bytes <= end) {
      out.source = Source::Shared;
      out.offset = static_cast<uint64_t>(low - begin);
      context.memory.shareStaging(out.shared = pending.staging);
    } else {
      isUnsettled = true; // the host gathers the elements
    }
    return false;
  };
  RETURN_IF_ERROR(pool.forEachWriter(use.downloads, low, bytes, look));
  if (isUnsettled)
    RETURN_IF_ERROR(pool.settle(use.downloads, low, bytes, /*staged=*/false,
                                &stream.timeline));
  if (out.source == Source::Reachable)
    out.source =
        context.has(CapHostAccess) && isIdle() ? Source::Now : Source::Gathered;
  return Status();
}

//===----------------------------------------------------------------------===//
// Carrying it out
//===----------------------------------------------------------------------===//

/// Makes `staging` the source of the copy, unless the device reaches that.
template <typename Copy>
Status StagedTransfer::stageSource(const CopyPlan &plan, Copy &copy,
                                   const Extent &from, HeldStaging &staging) {
  if (plan.source == CopyPlan::Source::Shared) {
    staging.takeOver(plan.shared);
    copy.source = staging.data() + plan.offset;
  } else if (plan.source == CopyPlan::Source::Deferred) {
    // The staging is laid out as the source.
    const char *low = static_cast<const char *>(copy.source) + from.low;
    RETURN_IF_ERROR(takeLate(staging, low, from.bytes()));
    copy.source = staging.data() - from.low;
  } else if (plan.source == CopyPlan::Source::Gathered) {
    pool.reap(stream, /*idle=*/false);
    Copy gather = copy;
    RETURN_IF_ERROR(staging.take(makeDense(gather, /*source=*/false)));
    gather.destination = staging.data();
    copyOnHost(gather);
    makeDense(copy, /*source=*/true);
    copy.source = staging.data();
  }
  staging.use();
  return Status();
}

void StagedTransfer::noteOwn(uint64_t bytes, int64_t from) {
  if (__builtin_expect(!from || !tracing(), 1))
    return;
  if (DeviceObserver *observer = context.driver->extensions.observer)
    observer->noteHostCopy(stream.native, bytes, site, from);
}

static const StridedCopy *asStrided(const ByteCopy &) { return nullptr; }
static const StridedCopy *asStrided(const StridedCopy &copy) { return &copy; }

/// From memory that the device reaches.
template <typename Copy>
Status StagedTransfer::toTarget(CopyPlan::Target target, Copy &copy,
                                const Extent &to) {
  using Target = CopyPlan::Target;
  char *low = static_cast<char *>(copy.destination) + to.low;
  if (target != Target::Staged) {
    // The host would write older copies over what the driver writes now.
    if (target == Target::Driver)
      RETURN_IF_ERROR(pool.settle(use.downloads, low, to.bytes(),
                                  /*staged=*/true, &stream.timeline));
    Status status = context.driver->submit(stream.native, Command(copy, site));
    if (!status.ok() || target != Target::Direct || isIdle())
      return status;
    return remember(low, to.bytes(), nullptr, asStrided(copy));
  }
  HeldStaging staging(context, stream);
  Copy scatter = copy;
  RETURN_IF_ERROR(staging.take(makeDense(copy, /*source=*/false)));
  makeDense(scatter, /*source=*/true);
  scatter.source = copy.destination = staging.data();
  RETURN_IF_ERROR(context.driver->submit(stream.native, Command(copy, site)));
  staging.use();
  RETURN_IF_ERROR(remember(low, to.bytes(), staging.get(), asStrided(scatter)));
  staging.passOn();
  return Status();
}

template <typename Copy>
Status StagedTransfer::run(Copy copy, const Sides &sides) {
  CopyPlan plan;
  RETURN_IF_ERROR(this->plan(copy.source, sides,
                             /*isDense=*/std::is_same_v<Copy, ByteCopy>, plan));
  if (plan.source == CopyPlan::Source::Now) {
    const int64_t from = tracing() ? nowNs() : 0;
    copyOnHost(copy);
    noteOwn(bytesOf(copy), from);
    return Status();
  }
  HeldStaging staging(context, stream);
  RETURN_IF_ERROR(stageSource(plan, copy, sides.from, staging));
  RETURN_IF_ERROR(toTarget(plan.target, copy, sides.to));
  if (!staging.get())
    return Status();
  Status status = pool.use(stream, staging.get(), staging.get()->bytes);
  staging.passOn();
  return status;
}

//===----------------------------------------------------------------------===//
// Fills
//===----------------------------------------------------------------------===//

Status StagedTransfer::fill(StridedCopy &box, StridedFill &fill,
                            const Sides &sides) {
  char *low = static_cast<char *>(fill.destination) + sides.to.low;
  if (context.has(CapPageableDestination)) {
    RETURN_IF_ERROR(context.driver->submit(stream.native, Command(fill, site)));
    return isIdle() ? Status() : remember(low, sides.to.bytes(), nullptr, &box);
  }
  if (stream.external)
    return makeStatus(GPUASYNC_UNSUPPORTED,
                      "fill of pageable host memory on a caller's stream; "
                      "register the memory");
  // The value is known: it lies in staging until a host wait writes it.
  const uint64_t total = denseStrides(box, box.sourceStrides);
  HeldStaging staging(context, stream);
  RETURN_IF_ERROR(staging.take(total));
  box.source = fill.destination = staging.data();
  fill.rank = 1;
  fill.sizes[0] = static_cast<int64_t>(total / fill.elementBytes);
  fill.strides[0] = fill.elementBytes;
  fillOnHost(fill);
  RETURN_IF_ERROR(remember(low, sides.to.bytes(), staging.get(), &box));
  staging.passOn();
  return Status();
}

//===----------------------------------------------------------------------===//
// The service
//===----------------------------------------------------------------------===//

Status StagingPool::copy(const Transfer &transfer, ByteCopy copy,
                         const Sides &sides) {
  return StagedTransfer(*this, transfer).run(copy, sides);
}

Status StagingPool::copy(const Transfer &transfer, const StridedCopy &copy,
                         const Sides &sides) {
  return StagedTransfer(*this, transfer).run(copy, sides);
}

Status StagingPool::fill(const Transfer &transfer, StridedCopy &box,
                         StridedFill &fill, const Sides &sides) {
  return StagedTransfer(*this, transfer).fill(box, fill, sides);
}

namespace {
class HostCopyService final : public Service {
  Status contextOpening(gpuasync_context &context) const override {
    context.hostCopies = std::make_unique<StagingPool>(context);
    return Status();
  }
  void contextEnding(gpuasync_context &context) const override {
    stagingOf(context).dropOrphans();
  }
};
} // namespace

namespace gpuasync {
const Service &hostCopyService() noexcept {
  static constexpr HostCopyService service;
  return service;
}
} // namespace gpuasync
