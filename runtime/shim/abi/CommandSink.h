//===- CommandSink.h - Who takes the work of a region -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A service may take what a region enqueues, and enqueue it later. Without one
// the work goes straight to its streams.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_ABI_COMMANDSINK_H
#define GPUASYNC_SHIM_ABI_COMMANDSINK_H

#include "shim/command/Fragment.h"
#include "shim/pool/EventPool.h"
#include "shim/pool/StreamPool.h"

namespace gpuasync {

struct Frame;
struct Sides;

/// The region that a frame is in. Used by the frame's thread only.
class CommandSink {
public:
  /// Takes the commands of a fragment. The frame owns the lanes that are not
  /// null.
  virtual Status add(const PreparedFragment &fragment, Stream *const *lanes,
                     const void *block) = 0;
  /// Whether a copy or a fill belongs to the fragment that is being added. Then
  /// it goes to `put`, else to its stream.
  bool isAdding() const { return adding; }
  /// Takes a copy or a fill of the fragment, whose sides are each of one kind.
  /// An error if it does not: then `add` enqueues the command otherwise.
  virtual Status put(Stream &stream, const Command &work,
                     const Sides &sides) = 0;
  /// The event counts as recorded on the stream from here on.
  virtual Status record(Event &event, Stream &stream) = 0;
  virtual Status wait(Stream &stream, Event &event) = 0;
  /// Takes a stream that the program gives back with work here. Returns false
  /// if it has none.
  virtual bool give(Stream &stream) = 0;
  /// Returns a stream that was given back, when there are many; else null.
  virtual Stream *takeGiven() = 0;
  /// Frame::resolveAliases of the streams that were given back.
  virtual void resolveAliases(Stream &ahead, bool idle) = 0;
  /// Enqueues all that was taken.
  virtual Status flush() = 0;
  /// Enqueues all, or drops it in a failed frame, which is in no region any
  /// longer. Returns the name of the execution mode.
  virtual const char *end(const gpuasync_site *site) = 0;

protected:
  ~CommandSink() = default;
  bool adding = false;
};

/// Sets the frame's region, unless that goes straight to its streams.
using BeginRegion = Status(Frame &frame, const gpuasync_site *site);
/// The service's; null: there is none.
extern BeginRegion *const beginRegion;

} // namespace gpuasync

#endif // GPUASYNC_SHIM_ABI_COMMANDSINK_H
