//===- Schedule.cpp - a schedule as a picture -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading the stream form, and the text and graphviz formats. ScheduleSvg.cpp
// has the third.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Schedule/Schedule.h"

#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/raw_ostream.h"

#include <limits>

using namespace mlir;
using namespace mlir::gpuasync;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string gpuasync::toPrintable(StringRef text, unsigned width) {
  std::string result;
  unsigned count = 0;
  while (!text.empty()) {
    const auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.data());
    size_t length = llvm::getNumBytesForUTF8(*begin);
    bool legal = length <= text.size() &&
                 llvm::isLegalUTF8Sequence(begin, begin + length);
    // The two characters below are noncharacters that XML refuses.
    if (!legal)
      length = 1;
    StringRef character = text.take_front(length);
    if (!legal || (length == 1 && (*begin < 0x20 || *begin == 0x7f)) ||
        character == "\xEF\xBF\xBE" || character == "\xEF\xBF\xBF")
      character = "?";
    text = text.drop_front(length);
    if (++count == width && !text.empty())
      return result + "…";
    result += character;
  }
  return result;
}

unsigned gpuasync::getTextWidth(StringRef text) {
  return llvm::count_if(text, [](char c) { return (c & 0xC0) != 0x80; });
}

static std::string plural(unsigned count, StringRef what) {
  return (Twine(count) + " " + what + (count == 1 ? "" : "s")).str();
}

std::string Schedule::getSummary() const {
  return plural(ops, "op") + " on " + plural(streams.size(), "stream") + ", " +
         plural(events, "event") + ", " + plural(waits, "wait") + ", " +
         plural(hostWaits, "host wait");
}

void Schedule::print(raw_ostream &os, ScheduleFormat format) const {
  switch (format) {
  case ScheduleFormat::Text:
    return printText(os);
  case ScheduleFormat::Dot:
    return printDot(os);
  case ScheduleFormat::Svg:
    return printSvg(os);
  }
}

//===----------------------------------------------------------------------===//
// Reading a function
//===----------------------------------------------------------------------===//

namespace mlir::gpuasync {
/// Walks a function once, in the order of its text.
class ScheduleReader {
public:
  ScheduleReader(Schedule &schedule) : schedule(schedule) {}
  void read(FunctionOpInterface function);

private:
  using Node = Schedule::Node;
  using NodeKind = Schedule::NodeKind;
  using EdgeKind = Schedule::EdgeKind;

  /// A point of a stream: a node, and the stream where that goes across.
  struct Point {
    int node = -1;
    int stream = -1;
  };
  struct Lane {
    int last = -1; ///< the newest node on the stream, or across it
    /// Whether later allocations or frees may join `last`: nothing has been
    /// recorded or waited for since.
    bool open = false;
    SmallVector<Point> waits; ///< events that the next op starts after
  };

  Schedule &schedule;
  std::vector<Lane> lanes;
  llvm::DenseMap<Value, unsigned> streamOf;
  llvm::DenseMap<Value, Point> pointOf;
  llvm::DenseMap<int64_t, unsigned> nodeOfId;
  std::vector<SmallVector<int64_t>> afterOf;
  unsigned depth = 0, callers = 0;

  unsigned add(Node node);
  void addStream(Value value, bool isCaller);
  void connect(Point from, unsigned to, int toStream, EdgeKind kind);
  void flushWaits(unsigned stream, unsigned node);
  void settle(unsigned stream);
  void addWork(WorkOpInterface work);
  void addRegions(Operation *op);
  void addBlocks(Region &region);
  void settleAll();
  unsigned addHostWait(Operation *op);
  void addBox(std::string label, std::string detail, bool isRepeated,
              ArrayRef<std::pair<std::string, Region *>> parts, Block *block);
  void visit(Block &block);
  void visit(Operation *op);
  void addProgramOrder();
  bool reaches(unsigned from, unsigned to) const;
};
} // namespace mlir::gpuasync

static bool isOfInterest(Operation *op) {
  return isa<WorkOpInterface, StreamWaitOp, StreamSynchronizeOp, EventRecordOp,
             EventSynchronizeOp>(op) ||
         (isa<CallOpInterface>(op) && !isa<WorkOpInterface>(op));
}

static bool holdsWork(Region &region) {
  return region
      .walk([](Operation *op) {
        return isOfInterest(op) ? WalkResult::interrupt()
                                : WalkResult::advance();
      })
      .wasInterrupted();
}

/// `launch @k::@f`, without operands.
static std::string describe(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << op->getName().stripDialect();
  if (SymbolRefAttr code = getCode(op))
    os << " " << code;
  if (auto loc = op->getLoc()->findInstanceOf<FileLineColLoc>())
    os << " at " << loc.getFilename().getValue() << ":" << loc.getLine();
  return text;
}

unsigned ScheduleReader::add(Node node) {
  node.depth = depth;
  if (!node.onStream())
    for (Lane &lane : lanes)
      lane.open = false;
  node.label = toPrintable(node.label);
  node.detail = toPrintable(node.detail);
  schedule.nodes.push_back(std::move(node));
  afterOf.emplace_back();
  return schedule.nodes.size() - 1;
}

void ScheduleReader::addStream(Value value, bool isCaller) {
  unsigned number = schedule.streams.size();
  streamOf[value] = number;
  schedule.streams.push_back(isCaller ? "caller" + std::to_string(callers++)
                                      : "s" + std::to_string(number - callers));
  lanes.emplace_back();
}

void ScheduleReader::connect(Point from, unsigned to, int toStream,
                             EdgeKind kind) {
  if (from.node >= 0)
    schedule.edges.push_back(
        {unsigned(from.node), to, from.stream, toStream, kind});
}

void ScheduleReader::flushWaits(unsigned stream, unsigned node) {
  for (Point point : lanes[stream].waits)
    connect(point, node, stream, EdgeKind::Event);
  lanes[stream].waits.clear();
}

/// Makes waits that no op follows a node of their own, so that the point after
/// them can be named.
void ScheduleReader::settle(unsigned stream) {
  Lane &lane = lanes[stream];
  lane.open = false;
  if (lane.waits.empty())
    return;
  Node node{NodeKind::Join, "join", "waits for events", int(stream)};
  node.count = lane.waits.size();
  unsigned number = add(std::move(node));
  flushWaits(stream, number);
  lane.last = number;
}

void ScheduleReader::addWork(WorkOpInterface work) {
  auto known = streamOf.find(work.getStream());
  if (known == streamOf.end())
    return;
  unsigned stream = known->second;
  Lane &lane = lanes[stream];
  ++schedule.ops;

  Operation *op = work;
  bool isMemory = !work.takesDeviceTime();
  SymbolRefAttr code = work.getCode();
  std::string label =
      (code ? code.getLeafReference().getValue() : op->getName().stripDialect())
          .str();
  if (auto collective = dyn_cast<CollectiveOp>(op);
      collective && collective.getOverlapped())
    label.insert(0, "overlapped ");

  unsigned number;
  if (isMemory && lane.open && lane.waits.empty() && lane.last >= 0 &&
      schedule.nodes[lane.last].kind == NodeKind::Memory &&
      schedule.nodes[lane.last].label == label) {
    number = lane.last;
    ++schedule.nodes[number].count;
  } else {
    Node node{isMemory ? NodeKind::Memory : NodeKind::Work, label, describe(op),
              int(stream)};
    if (std::optional<uint64_t> id = work.getId())
      node.id = *id;
    number = add(std::move(node));
  }
  if (std::optional<uint64_t> id = work.getId())
    nodeOfId[*id] = number;
  if (std::optional<ArrayRef<int64_t>> after = work.getAfter())
    afterOf[number].append(after->begin(), after->end());
  flushWaits(stream, number);
  lane.last = number;
  lane.open = true;
}

/// The node of a host wait: that of the wait before it if the host does nothing
/// between the two.
unsigned ScheduleReader::addHostWait(Operation *op) {
  ++schedule.hostWaits;
  if (!schedule.nodes.empty() &&
      schedule.nodes.back().kind == NodeKind::HostWait) {
    Operation *previous = op->getPrevNode();
    while (previous &&
           (isa<EventDestroyOp, StreamDestroyOp, HostUnregisterOp>(previous) ||
            isMemoryEffectFree(previous)))
      previous = previous->getPrevNode();
    if (isa_and_nonnull<StreamSynchronizeOp, EventSynchronizeOp>(previous))
      return schedule.nodes.size() - 1;
  }
  return add({NodeKind::HostWait, "host waits", describe(op)});
}

/// Ends what is pending on all streams: a row that goes across all comes next.
void ScheduleReader::settleAll() {
  for (unsigned stream = 0; stream != lanes.size(); ++stream)
    settle(stream);
}

/// Draws `regions` as the parts of one box. What comes before them is known
/// inside, unless they may have run before or after each other.
void ScheduleReader::addBox(std::string label, std::string detail,
                            bool isRepeated,
                            ArrayRef<std::pair<std::string, Region *>> parts,
                            Block *block) {
  settleAll();
  std::string name = label;
  if (!parts.empty() && !parts.front().first.empty())
    label += " (" + parts.front().first + ")";
  unsigned begin = add({NodeKind::Begin, label, std::move(detail)});
  SmallVector<int> before;
  for (Lane &lane : lanes)
    before.push_back(lane.last);
  llvm::SmallBitVector used(lanes.size());
  auto enter = [&](unsigned node) {
    for (unsigned stream = 0; stream != before.size(); ++stream)
      lanes[stream].last = isRepeated ? int(node) : before[stream];
  };
  // Streams are made outside of loops and branches; those of a block may not
  // be.
  auto leave = [&](unsigned firstNode) {
    settleAll();
    used.resize(lanes.size());
    for (const Node &node : ArrayRef(schedule.nodes).drop_front(firstNode))
      if (node.onStream())
        used.set(node.stream);
  };
  ++depth;
  enter(begin);
  if (block) {
    visit(*block);
    leave(begin);
  }
  for (auto [number, part] : llvm::enumerate(parts)) {
    unsigned node = begin;
    if (number) {
      node = add({NodeKind::Part, part.first.empty() ? "or" : part.first, ""});
      enter(node);
    }
    addBlocks(*part.second);
    leave(node);
  }
  --depth;
  unsigned end = add({NodeKind::End, name, ""});
  before.resize(lanes.size(), -1);
  for (unsigned stream = 0; stream != lanes.size(); ++stream)
    lanes[stream].last = used[stream] ? int(end) : before[stream];
}

void ScheduleReader::addBlocks(Region &region) {
  if (llvm::hasSingleElement(region))
    return visit(region.front());
  for (auto [number, block] : llvm::enumerate(region)) {
    // A block without work is not drawn; the graph of blocks is not, either.
    if (llvm::any_of(block, [](Operation &op) {
          return isOfInterest(&op) || llvm::any_of(op.getRegions(), holdsWork);
        }))
      addBox("^bb" + std::to_string(number), "", /*isRepeated=*/number != 0, {},
             &block);
    else
      visit(block);
  }
}

void ScheduleReader::addRegions(Operation *op) {
  static constexpr StringLiteral ifParts[] = {"then", "else"},
                                 whileParts[] = {"before", "do"};
  StringRef name = op->getName().getStringRef();
  SmallVector<std::pair<std::string, Region *>> parts;
  for (auto [number, region] : llvm::enumerate(op->getRegions())) {
    if (!holdsWork(region))
      continue;
    std::string part;
    if (name == "scf.if" && number < 2)
      part = ifParts[number];
    else if (name == "scf.while" && number < 2)
      part = whileParts[number];
    else if (name == "scf.index_switch")
      part = number ? "case " + std::to_string(number - 1) : "default";
    parts.push_back({std::move(part), &region});
  }
  bool isRepeated = name != "scf.if" && name != "scf.index_switch" &&
                    name != "scf.execute_region" && !isa<RegionOp>(op);
  addBox(name.str(), describe(op), isRepeated, parts, nullptr);
}

void ScheduleReader::visit(Block &block) {
  for (Operation &op : block)
    visit(&op);
}

void ScheduleReader::visit(Operation *op) {
  if (auto work = dyn_cast<WorkOpInterface>(op))
    return addWork(work);
  if (auto create = dyn_cast<StreamCreateOp>(op))
    return addStream(create.getStream(), /*isCaller=*/false);
  if (auto external = dyn_cast<StreamExternalOp>(op))
    return addStream(external.getStream(), /*isCaller=*/true);
  if (auto wait = dyn_cast<StreamWaitOp>(op)) {
    ++schedule.waits;
    auto stream = streamOf.find(wait.getStream());
    if (stream != streamOf.end())
      lanes[stream->second].waits.push_back(pointOf.lookup(wait.getEvent()));
    return;
  }
  if (auto record = dyn_cast<EventRecordOp>(op)) {
    ++schedule.events;
    auto stream = streamOf.find(record.getStream());
    if (stream == streamOf.end())
      return;
    settle(stream->second);
    pointOf[record.getEvent()] =
        Point{lanes[stream->second].last, int(stream->second)};
    return;
  }
  if (auto wait = dyn_cast<StreamSynchronizeOp>(op)) {
    SmallVector<Point> points;
    for (Value value : wait.getStreams()) {
      auto stream = streamOf.find(value);
      if (stream == streamOf.end())
        continue;
      settle(stream->second);
      points.push_back({lanes[stream->second].last, int(stream->second)});
    }
    unsigned node = addHostWait(op);
    for (Point point : points)
      connect(point, node, point.stream, EdgeKind::Host);
    return;
  }
  if (auto wait = dyn_cast<EventSynchronizeOp>(op)) {
    unsigned node = addHostWait(op);
    for (Value event : wait.getEvents()) {
      Point point = pointOf.lookup(event);
      connect(point, node, point.stream, EdgeKind::Host);
    }
    return;
  }
  auto isEvent = [](Value value) { return isa<EventType>(value.getType()); };
  if (auto call = dyn_cast<CallOpInterface>(op)) {
    std::string callee = "a function";
    if (auto symbol = dyn_cast<SymbolRefAttr>(call.getCallableForCallee()))
      callee = "@" + symbol.getLeafReference().str();
    unsigned node = add({NodeKind::Call, "call " + callee, describe(op)});
    for (Value value : llvm::make_filter_range(op->getOperands(), isEvent)) {
      Point point = pointOf.lookup(value);
      connect(point, node, point.stream, EdgeKind::Event);
    }
    for (Value value : llvm::make_filter_range(op->getResults(), isEvent))
      pointOf[value] = {int(node), -1};
    return;
  }
  if (op->hasTrait<OpTrait::ReturnLike>() &&
      isa<FunctionOpInterface>(op->getParentOp()) &&
      llvm::any_of(op->getOperands(), isEvent)) {
    unsigned node = add({NodeKind::Return, "returns events", describe(op)});
    for (Value value : llvm::make_filter_range(op->getOperands(), isEvent)) {
      Point point = pointOf.lookup(value);
      connect(point, node, point.stream, EdgeKind::Event);
    }
    return;
  }
  if (llvm::any_of(op->getRegions(), holdsWork))
    addRegions(op);
}

/// Whether the program orders node `to` after node `from`, by steps that stay
/// between the two.
bool ScheduleReader::reaches(unsigned from, unsigned to) const {
  SmallVector<unsigned> worklist{to};
  llvm::DenseSet<unsigned> seen;
  while (!worklist.empty()) {
    unsigned node = worklist.pop_back_val();
    if (node == from)
      return true;
    for (int64_t id : afterOf[node]) {
      auto known = nodeOfId.find(id);
      if (known != nodeOfId.end() && known->second >= from &&
          known->second < node && seen.insert(known->second).second)
        worklist.push_back(known->second);
    }
  }
  return false;
}

/// Edges for `after`: those that no event stands for, and where consecutive ops
/// of a stream are not ordered by the program.
void ScheduleReader::addProgramOrder() {
  ArrayRef<Node> nodes = schedule.nodes;
  llvm::DenseMap<std::pair<int, int>,
                 SmallVector<std::pair<unsigned, unsigned>>>
      eventsBetween;
  std::vector<SmallVector<unsigned>> hostWaitsFor(schedule.streams.size());
  for (const Schedule::Edge &edge : schedule.edges) {
    if (edge.kind == EdgeKind::Event)
      eventsBetween[{edge.fromStream, edge.toStream}].push_back(
          {edge.from, edge.to});
    else if (edge.fromStream >= 0)
      hostWaitsFor[edge.fromStream].push_back(edge.to);
  }
  auto isShown = [&](unsigned from, unsigned to) {
    auto between = eventsBetween.find({nodes[from].stream, nodes[to].stream});
    if (between != eventsBetween.end() &&
        llvm::any_of(between->second, [&](auto edge) {
          return edge.first >= from && edge.second <= to;
        }))
      return true;
    return llvm::any_of(hostWaitsFor[nodes[from].stream], [&](unsigned wait) {
      return wait > from && wait < to;
    });
  };

  std::vector<int> last(schedule.streams.size(), -1);
  for (unsigned to = 0, end = nodes.size(); to != end; ++to) {
    if (!nodes[to].onStream()) {
      if (nodes[to].kind != NodeKind::HostWait &&
          nodes[to].kind != NodeKind::Call)
        llvm::fill(last, -1);
      continue;
    }
    int stream = nodes[to].stream;
    int before = last[stream];
    last[stream] = to;
    if (before >= 0) {
      bool isFree = nodes[before].kind != NodeKind::Work ||
                    nodes[to].kind != NodeKind::Work || reaches(before, to);
      schedule.edges.push_back({unsigned(before), to, stream, stream,
                                isFree ? EdgeKind::Stream : EdgeKind::Added});
    }
    SmallVector<unsigned> sources;
    for (int64_t id : afterOf[to]) {
      auto known = nodeOfId.find(id);
      if (known != nodeOfId.end() && known->second < to)
        sources.push_back(known->second);
    }
    llvm::sort(sources);
    sources.erase(llvm::unique(sources), sources.end());
    for (unsigned from : sources)
      if (nodes[from].stream != stream && !isShown(from, to))
        schedule.edges.push_back(
            {from, to, nodes[from].stream, stream, EdgeKind::Implied});
  }
}

void ScheduleReader::read(FunctionOpInterface function) {
  Region &body = function.getFunctionBody();
  schedule.name = toPrintable(function.getName());
  SmallVector<Value> arguments;
  for (BlockArgument argument : body.getArguments())
    if (isa<EventType>(argument.getType()))
      arguments.push_back(argument);
  if (!arguments.empty()) {
    unsigned node = add({NodeKind::Arguments, "arguments", ""});
    for (Value argument : arguments)
      pointOf[argument] = {int(node), -1};
  }
  addBlocks(body);
  addProgramOrder();
}

Schedule::Schedule(FunctionOpInterface function) {
  ScheduleReader(*this).read(function);
}

//===----------------------------------------------------------------------===//
// For files
//===----------------------------------------------------------------------===//

std::vector<std::string> Schedule::toTexts() const {
  std::vector<std::string> texts = {name};
  auto add = [&](auto... numbers) {
    (texts.push_back(std::to_string(int64_t(numbers))), ...);
  };
  add(ops, events, waits, hostWaits, streams.size(), nodes.size(),
      edges.size());
  llvm::append_range(texts, streams);
  for (const Node &node : nodes) {
    texts.push_back(node.label);
    texts.push_back(node.detail);
    add(node.kind, node.stream, node.depth, node.count, node.id);
  }
  for (const Edge &edge : edges)
    add(edge.from, edge.to, edge.fromStream, edge.toStream, edge.kind);
  return texts;
}

std::optional<Schedule> Schedule::fromTexts(ArrayRef<std::string> texts) {
  bool isValid = true;
  auto take = [&]() -> StringRef {
    if (texts.empty()) {
      isValid = false;
      return "";
    }
    StringRef text = texts.front();
    texts = texts.drop_front();
    return text;
  };
  // A number from `least` to before `end`.
  auto number = [&](int64_t least, int64_t end) {
    int64_t value = least;
    if (take().getAsInteger(10, value) || value < least || value >= end) {
      isValid = false;
      return least;
    }
    return value;
  };
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  Schedule schedule;
  schedule.name = take().str();
  for (unsigned *count :
       {&schedule.ops, &schedule.events, &schedule.waits, &schedule.hostWaits})
    *count = unsigned(number(0, most));
  const int64_t streams = number(0, most), nodes = number(0, most),
                edges = number(0, most);
  for (int64_t i = 0; i < streams && isValid; ++i)
    schedule.streams.push_back(take().str());
  for (int64_t i = 0; i < nodes && isValid; ++i) {
    Node &node = schedule.nodes.emplace_back();
    node.label = take().str();
    node.detail = take().str();
    node.kind = NodeKind(number(0, int64_t(NodeKind::Return) + 1));
    node.stream = int(number(-1, streams));
    node.depth = unsigned(number(0, most));
    node.count = unsigned(number(0, most));
    node.id = number(-1, std::numeric_limits<int64_t>::max());
  }
  for (int64_t i = 0; i < edges && isValid; ++i) {
    Edge &edge = schedule.edges.emplace_back();
    edge.from = unsigned(number(0, nodes));
    edge.to = unsigned(number(0, nodes));
    edge.fromStream = int(number(-1, streams));
    edge.toStream = int(number(-1, streams));
    edge.kind = EdgeKind(number(0, int64_t(EdgeKind::Added) + 1));
  }
  if (!isValid || !texts.empty())
    return std::nullopt;
  return schedule;
}

//===----------------------------------------------------------------------===//
// For terminals
//===----------------------------------------------------------------------===//

static constexpr unsigned maxLabel = 32;
/// A text wider than this has marks in its columns, and its labels at the end
/// of the rows.
static constexpr size_t maxTextWidth = 100;

/// The node's label, and how many ops it stands for.
static std::string getLabel(const Schedule::Node &node) {
  std::string label = toPrintable(node.label, maxLabel);
  if (node.kind == Schedule::NodeKind::Memory && node.count > 1)
    label += " ×" + std::to_string(node.count);
  return label;
}

void Schedule::printText(raw_ostream &os) const {
  // What a node starts after at the cost of an event, as ids.
  std::vector<SmallVector<std::string>> sources(nodes.size());
  std::vector<llvm::SmallBitVector> covered(nodes.size());
  auto nameOf = [&](unsigned node) {
    if (nodes[node].id >= 0)
      return std::to_string(nodes[node].id);
    return nodes[node].onStream() ? streams[nodes[node].stream] + " join"
                                  : nodes[node].label;
  };
  for (const Edge &edge : edges) {
    if (edge.kind == EdgeKind::Event && nodes[edge.to].onStream())
      sources[edge.to].push_back(nameOf(edge.from));
    if (!nodes[edge.to].onStream() && edge.fromStream >= 0 &&
        (edge.kind == EdgeKind::Event || edge.kind == EdgeKind::Host)) {
      covered[edge.to].resize(streams.size());
      covered[edge.to].set(edge.fromStream);
    }
  }
  std::vector<std::string> cells;
  std::vector<size_t> widths;
  for (const std::string &stream : streams)
    widths.push_back(stream.size());
  size_t idWidth = 2;
  unsigned gutter = 0;
  for (auto [number, node] : llvm::enumerate(nodes)) {
    std::string cell = getLabel(node);
    if (!sources[number].empty())
      cell += " ← " + llvm::join(sources[number], ", ");
    if (node.onStream())
      widths[node.stream] =
          std::max<size_t>(widths[node.stream], getTextWidth(cell));
    if (node.id >= 0)
      idWidth = std::max(idWidth, std::to_string(node.id).size());
    gutter = std::max(gutter, node.depth);
    cells.push_back(std::move(cell));
  }
  size_t total = idWidth + 2 + 2 * gutter;
  for (size_t width : widths)
    total += width + 2;
  const bool isNarrow = total > maxTextWidth;
  if (isNarrow)
    for (auto [stream, name] : llvm::enumerate(streams))
      widths[stream] = name.size();

  auto pad = [&](size_t have, size_t want, StringRef with = " ") {
    for (; have < want; ++have)
      os << with;
  };
  // Trailing blanks would only be in the way of whoever compares texts.
  auto printRow = [&](ArrayRef<std::string> row, StringRef label = "") {
    std::string line;
    for (auto [stream, cell] : llvm::enumerate(row)) {
      line += cell;
      line.append(widths[stream] + 2 - getTextWidth(cell), ' ');
    }
    line += label;
    os << StringRef(line).rtrim() << "\n";
  };
  auto printGutter = [&](unsigned depth) {
    for (unsigned i = 0; i < depth; ++i)
      os << "│ ";
    pad(2 * depth, 2 * gutter);
  };
  auto printId = [&](StringRef id) {
    pad(id.size(), idWidth);
    os << id << "  ";
  };

  os << "@" << name << ": " << getSummary() << "\n";
  printId("id");
  printGutter(0);
  printRow(streams);
  // Which streams have begun, and which have no more to come.
  std::vector<int> first(streams.size(), -1), lastRow(streams.size(), -1);
  for (auto [number, node] : llvm::enumerate(nodes)) {
    if (!node.onStream())
      continue;
    if (first[node.stream] < 0)
      first[node.stream] = number;
    lastRow[node.stream] = number;
  }
  for (const Edge &edge : edges)
    if (edge.fromStream >= 0)
      lastRow[edge.fromStream] =
          std::max(lastRow[edge.fromStream], int(edge.to));

  for (auto [number, node] : llvm::enumerate(nodes)) {
    if (node.onStream()) {
      printId(node.id >= 0 ? std::to_string(node.id) : "");
      printGutter(node.depth);
      std::vector<std::string> row(streams.size());
      for (unsigned stream = 0; stream != streams.size(); ++stream)
        if (first[stream] >= 0 && first[stream] < int(number) &&
            int(number) < lastRow[stream])
          row[stream] = "│";
      row[node.stream] = isNarrow ? "●" : cells[number];
      printRow(row, isNarrow ? StringRef(cells[number]) : "");
      continue;
    }
    printId("");
    switch (node.kind) {
    case NodeKind::Begin:
    case NodeKind::Part:
    case NodeKind::End: {
      unsigned depth =
          node.kind == NodeKind::Part ? node.depth - 1 : node.depth;
      for (unsigned i = 0; i < depth; ++i)
        os << "│ ";
      os << (node.kind == NodeKind::Begin  ? "┌─"
             : node.kind == NodeKind::Part ? "├─"
                                           : "└─");
      if (node.kind != NodeKind::End)
        os << " " << node.label;
      os << "\n";
      break;
    }
    default: {
      printGutter(node.depth);
      // A bar across: strong where the host waits, with a mark at each stream.
      bool isStrong = node.kind == NodeKind::HostWait;
      for (unsigned stream = 0; stream != streams.size(); ++stream) {
        bool isCovered = !covered[number].empty() && covered[number][stream];
        os << (isCovered ? (isStrong ? "╩" : "┴") : (isStrong ? "═" : "─"));
        pad(1, widths[stream] + 2, isStrong ? "═" : "─");
      }
      os << " " << node.label;
      if (!covered[number].empty()) {
        os << (isStrong ? " for" : " of");
        StringRef comma = " ";
        for (unsigned stream : covered[number].set_bits()) {
          os << comma << streams[stream];
          comma = ", ";
        }
      }
      os << "\n";
    }
    }
  }
}

//===----------------------------------------------------------------------===//
// For graphviz
//===----------------------------------------------------------------------===//

static std::string quote(StringRef text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    result += c;
  }
  return result + "\"";
}

// Okabe and Ito's colours, which people of all kinds of colour vision can tell
// apart; without black and yellow.
static constexpr StringLiteral dotPalette[] = {"#0072B2", "#E69F00", "#009E73",
                                               "#CC79A7", "#56B4E9", "#D55E00",
                                               "#777777"};

void Schedule::printDot(raw_ostream &os) const {
  auto colorOf = [&](int stream) {
    return stream < 0 ? StringRef("#777777")
                      : StringRef(dotPalette[stream % std::size(dotPalette)]);
  };
  os << "digraph " << quote(name) << " {\n"
     << "  label=" << quote("@" + name + ": " + getSummary()) << ";\n"
     << "  labelloc=t;\n"
     << "  node [fontname=\"Helvetica\", fontsize=11, shape=box, "
        "style=\"rounded,filled\", fillcolor=white, penwidth=2];\n"
     << "  edge [color=\"#777777\", arrowsize=0.7];\n";
  std::string indent = "  ";
  unsigned clusters = 0;
  for (auto [number, node] : llvm::enumerate(nodes)) {
    switch (node.kind) {
    case NodeKind::Begin:
      os << indent << "subgraph cluster_" << clusters++ << " {\n";
      indent += "  ";
      os << indent << "label=" << quote(node.label) << "; color=\"#777777\";\n";
      break;
    case NodeKind::Part:
      indent.resize(indent.size() - 2);
      os << indent << "}\n"
         << indent << "subgraph cluster_" << clusters++ << " {\n";
      indent += "  ";
      os << indent << "label=" << quote(node.label) << "; color=\"#777777\";\n";
      break;
    case NodeKind::End:
      indent.resize(indent.size() - 2);
      os << indent << "}\n";
      break;
    case NodeKind::HostWait:
    case NodeKind::Call:
    case NodeKind::Arguments:
    case NodeKind::Return:
      os << indent << "n" << number << " [label=" << quote(node.label)
         << ", style=filled, fillcolor=\"#DDDDDD\", penwidth=0, width=4, "
            "height=0.25, group=host];\n";
      break;
    default: {
      std::string label = getLabel(node);
      if (node.id >= 0)
        label += " (" + std::to_string(node.id) + ")";
      os << indent << "n" << number << " [label=" << quote(label)
         << ", color=\"" << colorOf(node.stream)
         << "\", group=" << quote(streams[node.stream])
         << ", tooltip=" << quote(streams[node.stream] + ": " + node.detail);
      if (node.kind != NodeKind::Work)
        os << ", fontsize=9, height=0.2, penwidth=1";
      os << "];\n";
    }
    }
  }
  for (const Edge &edge : edges) {
    // Regions are boxes, not nodes: what comes out of one comes from the last
    // op on the stream.
    unsigned from = edge.from;
    auto isRegion = [](const Node &node) {
      return node.kind == NodeKind::Begin || node.kind == NodeKind::Part ||
             node.kind == NodeKind::End;
    };
    if (isRegion(nodes[from]))
      while (from && nodes[from].stream != edge.fromStream)
        --from;
    if (isRegion(nodes[from]))
      continue;
    os << "  n" << from << " -> n" << edge.to;
    switch (edge.kind) {
    case EdgeKind::Event:
      os << " [color=\"" << colorOf(edge.fromStream) << "\", penwidth=3]";
      break;
    case EdgeKind::Host:
      os << " [color=\"" << colorOf(edge.fromStream)
         << "\", penwidth=2, style=dashed]";
      break;
    case EdgeKind::Stream:
      os << " [penwidth=0.7, weight=8]";
      break;
    case EdgeKind::Implied:
      os << " [penwidth=0.7]";
      break;
    case EdgeKind::Added:
      os << " [penwidth=0.7, style=dotted, weight=8]";
      break;
    }
    os << ";\n";
  }
  os << "}\n";
}
