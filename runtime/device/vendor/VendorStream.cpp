//===- VendorStream.cpp - Streams and events of cuda and hip --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams, events, waits and completion flags.
//===----------------------------------------------------------------------===//

#include "device/vendor/VendorContext.h"
#include "shim/process/PolledWait.h"
#include "shim/process/Thread.h"

using namespace gpuasync;

Status VendorContext::createStream(NativeStream &out) {
  OutsideCapture outside(driver);
  StreamHandle stream = nullptr;
  RETURN_IF_ERROR(made(VENDOR_CALL(streamCreate, &stream, StreamNonBlocking)));
  out = stream;
  return Status();
}

Status VendorContext::createUrgentStream(NativeStream &out) {
  OutsideCapture outside(driver);
  int least = 0, greatest = 0;
  RETURN_IF_ERROR(check(VENDOR_CALL(streamPriorities, &least, &greatest)));
  StreamHandle stream = nullptr;
  RETURN_IF_ERROR(made(VENDOR_CALL(streamCreateWithPriority, &stream,
                                   StreamNonBlocking, greatest)));
  out = stream;
  return Status();
}

void VendorContext::destroyStream(NativeStream stream) noexcept {
  giveBack([&] { return VENDOR_CALL(streamDestroy, asStream(stream)); });
}

Status VendorContext::externalStream(void *native, NativeStream &out) {
  out = native;
  return Status();
}

// The vendors' numbers for what a stream is are CaptureState::Kind's.
Status VendorContext::captureState(NativeStream native, CaptureState &out) {
  StreamHandle stream = asStream(native);
  int kind = 0;
  VendorCall call = {Success, VendorEntry::streamCapture};
  if (table.streamCapture) {
    call = VENDOR_CALL(streamCapture, stream, &kind, &out.id, nullptr, nullptr,
                       nullptr, nullptr);
  } else if (table.streamCaptureId) {
    unsigned long long id = 0;
    call = VENDOR_CALL(streamCaptureId, stream, &kind, &id);
    out.id = id;
  } else if (table.streamCaptureWithoutEdges) { // before CUDA 12.3
    call = VENDOR_CALL(streamCaptureWithoutEdges, stream, &kind, &out.id,
                       nullptr, nullptr, nullptr);
  }
  if (call.ok())
    out.kind = static_cast<CaptureState::Kind>(kind);
  else if (call.code != ErrorNotSupported)
    return error(call);
  return Status();
}

Status VendorContext::queryStream(NativeStream stream, bool &done) {
  OutsideCapture outside(driver);
  return query(VENDOR_CALL(streamQuery, asStream(stream)), done);
}

Status VendorContext::waitStream(NativeStream stream, int64_t timeoutNs,
                                 bool &done) {
  OutsideCapture outside(driver);
  return polledWait(timeoutNs, done, [&](bool &reached) {
    return query(VENDOR_CALL(streamQuery, asStream(stream)), reached);
  });
}

Status VendorContext::createEvent(NativeEvent &out) {
  OutsideCapture outside(driver);
  EventHandle event = nullptr;
  RETURN_IF_ERROR(
      made(VENDOR_CALL(eventCreate, &event, driver.facts.eventFlags)));
  out = event;
  return Status();
}

void VendorContext::destroyEvent(NativeEvent event) noexcept {
  giveBack([&] { return VENDOR_CALL(eventDestroy, asEvent(event)); });
}

Status VendorContext::recordEvent(NativeEvent event, NativeStream stream) {
  return check(VENDOR_CALL(eventRecord, asEvent(event), asStream(stream)));
}

Status VendorContext::streamWaitEvent(NativeStream stream, NativeEvent event) {
  return check(
      VENDOR_CALL(streamWaitEvent, asStream(stream), asEvent(event), 0));
}

Status VendorContext::queryEvent(NativeEvent event, bool &done) {
  OutsideCapture outside(driver);
  return query(VENDOR_CALL(eventQuery, asEvent(event)), done);
}

Status VendorContext::waitEvent(NativeEvent event, int64_t timeoutNs,
                                bool &done) {
  OutsideCapture outside(driver);
  return polledWait(timeoutNs, done, [&](bool &reached) {
    return query(VENDOR_CALL(eventQuery, asEvent(event)), reached);
  });
}

Status VendorContext::writeFlag(NativeStream stream, uint32_t *slot,
                                uint32_t value) {
  return check(VENDOR_CALL(streamWriteValue, asStream(stream), slot, value, 0));
}
