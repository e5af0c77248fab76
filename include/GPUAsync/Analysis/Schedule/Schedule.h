//===- Schedule.h - a schedule as a picture ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads a function in the stream form into rows and edges, and draws them: for
// terminals, for graphviz, or as an SVG document of its own.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_ANALYSIS_SCHEDULE_SCHEDULE_H
#define GPUASYNC_ANALYSIS_SCHEDULE_SCHEDULE_H

#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/Options.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace mlir::gpuasync {

/// What a function in the stream form does, in program order. A plain value:
/// it stays valid when the function changes. Counts are of ops, so a wait in a
/// loop counts once.
class Schedule {
public:
  enum class NodeKind {
    Work,   ///< takes device time
    Memory, ///< allocations or frees next to each other on a stream
    Join,   ///< waits of a stream that a record or a host wait follows at once
    HostWait,  ///< the host waits for streams or events
    Call,      ///< a call of a function
    Begin,     ///< an op with regions begins, or a block of a CFG
    Part,      ///< the next region of it begins
    End,       ///< it ends
    Arguments, ///< events that the function is given
    Return,    ///< events that the function returns
  };

  struct Node {
    NodeKind kind;
    std::string label;  ///< the kernel's name, `memcpy`, `scf.for`, ...
    std::string detail; ///< what the ops are in full, and where
    int stream = -1;    ///< of Work, Memory and Join
    unsigned depth = 0; ///< region ops around it
    unsigned count = 1; ///< ops that the node stands for
    int64_t id = -1;    ///< of the first op

    /// Whether it stands in the row of a stream; else it goes across all.
    bool onStream() const { return stream >= 0; }
  };

  enum class EdgeKind {
    Event,   ///< costs an event: a `stream.wait`
    Host,    ///< the host waits for it
    Stream,  ///< the program's order, for free on one stream
    Implied, ///< the program's order, for free through other edges
    Added,   ///< no order of the program: the stream is shared
  };

  /// From a node to a later one. Streams say where on nodes that go across.
  struct Edge {
    unsigned from, to;
    int fromStream, toStream;
    EdgeKind kind;
  };

  explicit Schedule(FunctionOpInterface function);

  /// Whether there is anything to draw.
  bool empty() const { return nodes.empty(); }
  StringRef getName() const { return name; }
  ArrayRef<Node> getNodes() const { return nodes; }
  ArrayRef<Edge> getEdges() const { return edges; }
  /// `s0`, `s1`, ...; `caller0`, ... for those of the caller.
  ArrayRef<std::string> getStreams() const { return streams; }

  /// `12 ops on 3 streams, 4 events, 4 waits, 1 host wait`.
  std::string getSummary() const;

  /// In one of the formats below.
  void print(raw_ostream &os, ScheduleFormat format) const;
  /// Columns are streams, rows are in program order. `b <- 3` starts after an
  /// event that follows op 3.
  void printText(raw_ostream &os) const;
  /// One digraph.
  void printDot(raw_ostream &os) const;
  /// One document, without scripts, fonts or links; light and dark.
  void printSvg(raw_ostream &os) const;

  /// The schedule as texts, for a file that another process reads.
  std::vector<std::string> toTexts() const;
  /// The schedule of such texts; nothing if they are others.
  static std::optional<Schedule> fromTexts(ArrayRef<std::string> texts);

private:
  friend class ScheduleReader;

  Schedule() = default;

  std::string name;
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<std::string> streams;
  unsigned ops = 0, events = 0, waits = 0, hostWaits = 0;
};

/// `text` with what neither XML nor a terminal takes (control characters, bytes
/// that are no UTF-8) replaced by question marks, cut to `width` characters.
std::string toPrintable(StringRef text, unsigned width = ~0u);
/// Characters of a printable text.
unsigned getTextWidth(StringRef text);

} // namespace mlir::gpuasync

#endif // GPUASYNC_ANALYSIS_SCHEDULE_SCHEDULE_H
