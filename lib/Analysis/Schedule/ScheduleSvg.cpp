//===- ScheduleSvg.cpp - a schedule as an SVG document --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lanes are streams, time goes down: an op stands as high as what it waits for
// allows. Edges between lanes run in the gaps between rows and beside lanes.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Schedule/Schedule.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::gpuasync;

static std::string escape(StringRef text) {
  std::string result;
  for (char c : text) {
    switch (c) {
    case '&':
      result += "&amp;";
      break;
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '"':
      result += "&quot;";
      break;
    default:
      result += c;
    }
  }
  return result;
}

namespace {
constexpr int characterWidth = 8, padding = 20, laneGap = 26, rowGap = 14,
              trackWidth = 7, margin = 20, headerHeight = 26, entryStep = 10;
constexpr unsigned paletteSize = 8, maxLabel = 28;

// Okabe and Ito's colours, which people of all kinds of colour vision can tell
// apart, with a darker yellow on white and lighter tones on black.
constexpr StringLiteral lightPalette[paletteSize] = {
    "#0072b2", "#d98e00", "#009e73", "#c25f96",
    "#3a9fdb", "#d55e00", "#9a8b00", "#767676"};
constexpr StringLiteral darkPalette[paletteSize] = {
    "#4a9fe0", "#e69f00", "#22b98d", "#dd93bd",
    "#86cdf5", "#f07c3c", "#f0e442", "#a6a6a6"};

/// Intervals that share tracks where they do not touch.
class Tracks {
public:
  unsigned add(int begin, int end) {
    for (auto [number, track] : llvm::enumerate(tracks))
      if (llvm::none_of(track, [&](std::pair<int, int> other) {
            return begin <= other.second && other.first <= end;
          })) {
        track.push_back({begin, end});
        return number;
      }
    tracks.push_back({{begin, end}});
    return tracks.size() - 1;
  }
  unsigned size() const { return tracks.size(); }

private:
  std::vector<SmallVector<std::pair<int, int>>> tracks;
};

class Layout {
public:
  Layout(const Schedule &schedule, raw_ostream &os)
      : nodes(schedule.getNodes()), edges(schedule.getEdges()),
        streams(schedule.getStreams()), schedule(schedule), target(os),
        os(body) {}
  void print();

private:
  using Node = Schedule::Node;
  using NodeKind = Schedule::NodeKind;
  using EdgeKind = Schedule::EdgeKind;

  /// An edge between two lanes: down, along gap `from row + 1`, then, unless
  /// the target is in the next row, down a channel and along the target's gap.
  struct Route {
    const Schedule::Edge *edge;
    int channel = -1;
    unsigned channelTrack = 0;
    int exitX = 0, entryX = 0;
    unsigned firstTrack = 0, secondTrack = 0;
  };

  ArrayRef<Node> nodes;
  ArrayRef<Schedule::Edge> edges;
  ArrayRef<std::string> streams;
  const Schedule &schedule;
  raw_ostream &target;
  std::string body;
  llvm::raw_string_ostream os; ///< of the body

  std::vector<int> rowOf;
  std::vector<int> rowY, rowHeight, gapTracks;
  std::vector<int> laneX, laneWidth, channelX;
  std::vector<Route> routes;
  int left = 0, right = 0, width = 0, bottom = 0;
  unsigned maxDepth = 0;

  int getHeight(const Node &node) const;
  std::string getText(const Node &node) const;
  static std::string color(int stream) {
    return stream < 0 ? "host" : "c" + std::to_string(stream % paletteSize);
  }
  void placeRows();
  void placeLanes();
  void routeEdges();
  void placeGaps();
  int trackY(int row, unsigned track) const {
    return rowY[row] - rowGap / 2 - 3 -
           trackWidth * (gapTracks[row] - 1 - int(track));
  }
  /// Whether an edge goes from one lane to another; what goes across all lanes
  /// has one where the edge names it.
  bool isRouted(const Schedule::Edge &edge) const {
    return nodes[edge.to].onStream() && edge.fromStream >= 0 &&
           edge.fromStream != edge.toStream;
  }
  int topOf(unsigned node) const {
    int row = rowOf[node];
    return rowY[row] + (rowHeight[row] - getHeight(nodes[node])) / 2;
  }
  int bottomOf(unsigned node) const {
    return topOf(node) + getHeight(nodes[node]);
  }
  static void printStyle(raw_ostream &os);
  void printBoxes();
  void printEdges();
  void printNode(unsigned number);
  void printPath(StringRef css, ArrayRef<std::pair<int, int>> corners);
  void printArrow(int x, int y, StringRef css);
  void printLegend(int y);
};
} // namespace

int Layout::getHeight(const Node &node) const {
  switch (node.kind) {
  case NodeKind::Work:
    return 30;
  case NodeKind::Memory:
    return 20;
  case NodeKind::Join:
    return 16;
  case NodeKind::Begin:
  case NodeKind::Part:
    return 22;
  case NodeKind::End:
    return 6;
  default:
    return 20;
  }
}

std::string Layout::getText(const Node &node) const {
  std::string text = toPrintable(node.label, maxLabel);
  if (node.kind == NodeKind::Memory && node.count > 1)
    text += " ×" + std::to_string(node.count);
  return text;
}

void Layout::placeRows() {
  std::vector<SmallVector<unsigned>> into(nodes.size());
  for (const Schedule::Edge &edge : edges)
    into[edge.to].push_back(edge.from);
  int base = 0, newest = -1;
  for (auto [number, node] : llvm::enumerate(nodes)) {
    int row = base;
    if (node.onStream()) {
      for (unsigned from : into[number])
        row = std::max(row, rowOf[from] + 1);
    } else {
      row = newest + 1;
      base = row + 1;
    }
    newest = std::max(newest, row);
    rowOf.push_back(row);
    maxDepth = std::max(maxDepth, node.depth);
  }
  rowHeight.assign(newest + 1, 0);
  for (auto [number, node] : llvm::enumerate(nodes))
    rowHeight[rowOf[number]] =
        std::max(rowHeight[rowOf[number]], getHeight(node));
}

void Layout::placeLanes() {
  laneWidth.assign(streams.size(), 76);
  for (const Node &node : nodes)
    if (node.onStream() && node.kind != NodeKind::Join) {
      int characters = getTextWidth(getText(node));
      if (node.id >= 0)
        characters += std::to_string(node.id).size() + 2;
      laneWidth[node.stream] = std::max(laneWidth[node.stream],
                                        characters * characterWidth + padding);
    }

  // Room for what enters at one side of a node.
  std::map<std::pair<unsigned, bool>, int> entries;
  for (const Schedule::Edge &edge : edges)
    if ((edge.kind == EdgeKind::Event || edge.kind == EdgeKind::Implied) &&
        isRouted(edge)) {
      int count = ++entries[{edge.to, edge.fromStream < edge.toStream}];
      laneWidth[edge.toStream] =
          std::max(laneWidth[edge.toStream], 2 * (count * entryStep + 14));
    }

  // Channels first: their widths do not depend on where lanes are.
  std::vector<Tracks> channels(streams.size() + 1);
  for (const Schedule::Edge &edge : edges) {
    if (edge.kind != EdgeKind::Event && edge.kind != EdgeKind::Implied)
      continue;
    if (!isRouted(edge))
      continue;
    Route route;
    route.edge = &edge;
    if (rowOf[edge.to] > rowOf[edge.from] + 1)
      route.channel =
          edge.fromStream < edge.toStream ? edge.toStream : edge.toStream + 1;
    routes.push_back(route);
  }
  // What comes from afar runs farther from the target, so that edges which meet
  // there do not cross.
  SmallVector<Route *> byDistance;
  for (Route &route : routes)
    if (route.channel >= 0)
      byDistance.push_back(&route);
  llvm::sort(byDistance, [](Route *a, Route *b) {
    auto order = [](Route *route) {
      return route->edge->fromStream - route->edge->toStream;
    };
    return std::make_pair(order(a), a) < std::make_pair(order(b), b);
  });
  for (Route *route : byDistance)
    route->channelTrack = channels[route->channel].add(
        rowOf[route->edge->from] + 1, rowOf[route->edge->to]);
  left = margin;
  int x = margin + 10 * int(maxDepth + 1);
  for (unsigned lane = 0; lane <= streams.size(); ++lane) {
    x += laneGap / 2;
    channelX.push_back(x);
    x += trackWidth * channels[lane].size() + laneGap / 2;
    if (lane == streams.size())
      break;
    laneX.push_back(x + laneWidth[lane] / 2);
    x += laneWidth[lane];
  }
  right = x + 10 * int(maxDepth + 1);
}

void Layout::routeEdges() {
  // Where edges enter a node: those from the left at its left, sorted so that
  // they do not cross.
  std::map<unsigned, SmallVector<Route *>> entries;
  for (Route &route : routes) {
    entries[route.edge->to].push_back(&route);
    bool toRight = route.edge->fromStream < route.edge->toStream;
    route.exitX = laneX[route.edge->fromStream] + (toRight ? 12 : -12);
  }
  for (auto &[node, list] : entries) {
    for (bool fromLeft : {true, false}) {
      SmallVector<Route *> side;
      for (Route *route : list)
        if ((route->edge->fromStream < route->edge->toStream) == fromLeft)
          side.push_back(route);
      // The nearest next to the middle: the others pass below it.
      llvm::sort(side, [](Route *a, Route *b) {
        auto distance = [](Route *route) {
          return std::abs(route->edge->fromStream - route->edge->toStream);
        };
        return std::make_pair(distance(a), a) < std::make_pair(distance(b), b);
      });
      int stream = nodes[node].stream;
      for (auto [number, route] : llvm::enumerate(side)) {
        int offset = 10 + entryStep * int(number);
        route->entryX = laneX[stream] + (fromLeft ? -offset : offset);
      }
    }
  }

  // Tracks in the gaps. What leaves one node shares one, as a bus.
  struct Segment {
    int begin, end, distance;
    SmallVector<unsigned *> tracks;
  };
  std::map<int, llvm::MapVector<std::pair<unsigned, unsigned>, Segment>> gaps;
  for (Route &route : routes) {
    const Schedule::Edge &edge = *route.edge;
    auto add = [&](int gap, unsigned net, int from, int to, unsigned &track) {
      Segment &segment =
          gaps[gap]
              .insert({{edge.from, net},
                       {std::min(from, to), std::max(from, to), 0, {}}})
              .first->second;
      segment.begin = std::min({segment.begin, from, to});
      segment.end = std::max({segment.end, from, to});
      segment.distance =
          std::max(segment.distance, std::abs(edge.fromStream - edge.toStream));
      segment.tracks.push_back(&track);
    };
    if (route.channel < 0) {
      add(rowOf[edge.to], ~0u, route.exitX, route.entryX, route.firstTrack);
      continue;
    }
    int x = channelX[route.channel] + trackWidth * int(route.channelTrack);
    add(rowOf[edge.from] + 1, ~0u, route.exitX, x, route.firstTrack);
    add(rowOf[edge.to], edge.to, x, route.entryX, route.secondTrack);
  }
  gapTracks.assign(rowHeight.size() + 1, 0);
  for (auto &[gap, nets] : gaps) {
    SmallVector<Segment *> segments;
    for (auto &[key, segment] : nets)
      segments.push_back(&segment);
    // What goes far runs below what does not, which then leaves and enters
    // without crossing it.
    llvm::sort(segments, [](Segment *a, Segment *b) {
      return std::make_pair(a->distance, a) < std::make_pair(b->distance, b);
    });
    Tracks tracks;
    for (Segment *segment : segments) {
      unsigned track = tracks.add(segment->begin - 4, segment->end + 4);
      for (unsigned *place : segment->tracks)
        *place = track;
    }
    gapTracks[gap] = tracks.size();
  }
}

void Layout::placeGaps() {
  int y = margin + 54 + headerHeight;
  for (unsigned row = 0; row != rowHeight.size(); ++row) {
    y += rowGap + std::max(0, gapTracks[row]) * trackWidth;
    rowY.push_back(y);
    y += rowHeight[row];
  }
  bottom = y + rowGap;
}

/// Every rule is for this picture only: in a page, a notebook for one, a style
/// is everybody's.
void Layout::printStyle(raw_ostream &os) {
  auto rule = [&](const Twine &selector, const Twine &what) {
    os << ".gpuasync-schedule " << selector << "{" << what << "}\n";
  };
  auto printTheme = [&](StringRef paper, StringRef ink, StringRef muted,
                        StringRef fill, StringRef bar,
                        ArrayRef<StringLiteral> palette) {
    rule(".paper", "fill:" + paper);
    rule("text", "fill:" + ink);
    rule(".muted", "fill:" + muted);
    rule(".node", "fill:" + fill);
    rule(".bar", "fill:" + bar);
    rule(".onbar", "fill:" + paper);
    for (StringRef line : {".box", ".call", ".free", ".s-host"})
      rule(line, "stroke:" + muted);
    for (StringRef area : {".tip", ".f-host"})
      rule(area, "fill:" + muted);
    for (auto [number, color] : llvm::enumerate(palette)) {
      rule(".s-c" + Twine(number), "stroke:" + color);
      rule(".f-c" + Twine(number), "fill:" + color);
    }
  };
  os << "<style>\n";
  rule("text", "font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,"
               "'DejaVu Sans Mono',monospace");
  rule(".title", "font-size:17px;font-weight:bold");
  rule(".small", "font-size:10px");
  rule(".mid", "text-anchor:middle");
  rule(".end", "text-anchor:end");
  rule(".strong", "font-weight:bold");
  rule(".node", "stroke-width:1.6");
  rule(".again", "stroke-dasharray:5 2");
  rule(".lane", "opacity:.07");
  rule(".box", "fill:none;stroke-width:1.2;opacity:.8");
  rule(".call", "stroke-width:1.2");
  rule(".event", "fill:none;stroke-width:2.6;stroke-linejoin:round");
  rule(".free", "fill:none;stroke-width:1");
  rule(".implied", "opacity:.7");
  rule(".added", "stroke-dasharray:1.5 3.5");
  rule(".hostline", "fill:none;stroke-width:2.6;stroke-dasharray:4 3");
  printTheme("#ffffff", "#1f2328", "#6a737d", "#ffffff", "#1f2328",
             lightPalette);
  os << "@media (prefers-color-scheme:dark){\n";
  printTheme("#0d1117", "#e6edf3", "#8d96a0", "#161b22", "#e6edf3",
             darkPalette);
  os << "}\n</style>\n";
}

void Layout::printArrow(int x, int y, StringRef css) {
  os << "<path class=\"" << css << "\" d=\"M" << x - 4 << " " << y - 7 << "L"
     << x + 4 << " " << y - 7 << "L" << x << " " << y << "Z\"/>\n";
}

/// A line along both axes in turn, with round corners.
void Layout::printPath(StringRef css, ArrayRef<std::pair<int, int>> corners) {
  os << "<path class=\"" << css << "\" d=\"M" << corners[0].first << " "
     << corners[0].second;
  for (unsigned i = 1; i + 1 < corners.size(); ++i) {
    int x = corners[i].first, y = corners[i].second;
    // Half of each side belongs to the corner at its other end.
    auto towards = [&](std::pair<int, int> other) {
      int dx = other.first - x, dy = other.second - y;
      int radius = std::min(6, (std::abs(dx) + std::abs(dy)) / 2);
      auto sign = [](int value) { return (value > 0) - (value < 0); };
      return std::make_pair(x + radius * sign(dx), y + radius * sign(dy));
    };
    auto [beforeX, beforeY] = towards(corners[i - 1]);
    auto [afterX, afterY] = towards(corners[i + 1]);
    os << "L" << beforeX << " " << beforeY << "Q" << x << " " << y << " "
       << afterX << " " << afterY;
  }
  os << "L" << corners.back().first << " " << corners.back().second << "\"/>\n";
}

/// Lanes, their names, and boxes around what ops hold.
void Layout::printBoxes() {
  for (auto [stream, name] : llvm::enumerate(streams)) {
    int x = laneX[stream] - laneWidth[stream] / 2, y = margin + 54;
    os << "<rect class=\"lane f-" << color(stream) << "\" x=\"" << x - 6
       << "\" y=\"" << y << "\" width=\"" << laneWidth[stream] + 12
       << "\" height=\"" << bottom - y << "\" rx=\"6\"/>\n"
       << "<text class=\"mid strong f-" << color(stream) << "\" x=\""
       << laneX[stream] << "\" y=\"" << y + 18 << "\">" << name << "</text>\n";
  }
  SmallVector<std::pair<unsigned, int>> open;
  for (auto [number, node] : llvm::enumerate(nodes)) {
    if (node.kind == NodeKind::Begin)
      open.push_back({number, rowY[rowOf[number]]});
    if (node.kind == NodeKind::Part || node.kind == NodeKind::End) {
      auto [begin, y] = open.back();
      int inset = 10 * int(nodes[begin].depth);
      if (node.kind == NodeKind::Part) {
        int y = rowY[rowOf[number]];
        os << "<path class=\"box\" d=\"M" << left + inset << " " << y << "H"
           << right - inset << "\"/>\n";
        continue;
      }
      open.pop_back();
      os << "<rect class=\"box\" x=\"" << left + inset << "\" y=\"" << y
         << "\" width=\"" << right - left - 2 * inset << "\" height=\""
         << bottomOf(number) - y << "\" rx=\"7\"/>\n";
    }
  }
}

void Layout::printEdges() {
  // Thin ones below.
  for (const Schedule::Edge &edge : edges) {
    if (edge.kind != EdgeKind::Stream && edge.kind != EdgeKind::Added)
      continue;
    int x = laneX[edge.toStream], y = topOf(edge.to);
    os << "<path class=\"free" << (edge.kind == EdgeKind::Added ? " added" : "")
       << "\" d=\"M" << x << " " << bottomOf(edge.from) << "V" << y - 2
       << "\"/>\n";
    printArrow(x, y, "tip");
  }
  for (EdgeKind kind : {EdgeKind::Implied, EdgeKind::Event}) {
    bool isEvent = kind == EdgeKind::Event;
    for (const Route &route : routes) {
      const Schedule::Edge &edge = *route.edge;
      if (edge.kind != kind)
        continue;
      int end = topOf(edge.to), row = rowOf[edge.to];
      std::string css =
          isEvent ? "event s-" + color(edge.fromStream) : "free implied";
      SmallVector<std::pair<int, int>> corners{
          {route.exitX, bottomOf(edge.from)}};
      if (route.channel < 0) {
        int y = trackY(row, route.firstTrack);
        corners.append({{route.exitX, y}, {route.entryX, y}});
      } else {
        int x = channelX[route.channel] + trackWidth * int(route.channelTrack);
        int first = trackY(rowOf[edge.from] + 1, route.firstTrack),
            second = trackY(row, route.secondTrack);
        corners.append({{route.exitX, first},
                        {x, first},
                        {x, second},
                        {route.entryX, second}});
      }
      corners.push_back({route.entryX, end - 4});
      printPath(css, corners);
      printArrow(route.entryX, end,
                 isEvent ? "f-" + color(edge.fromStream) : "tip");
    }
  }
  // To and from what goes across all lanes.
  for (const Schedule::Edge &edge : edges) {
    bool fromAcross = !nodes[edge.from].onStream(),
         toAcross = !nodes[edge.to].onStream();
    if (edge.kind == EdgeKind::Stream || edge.kind == EdgeKind::Added ||
        (!fromAcross && !toAcross) || isRouted(edge))
      continue;
    int stream = edge.toStream >= 0 ? edge.toStream : edge.fromStream;
    if (stream < 0)
      continue;
    int x = laneX[stream] + (toAcross ? 0 : 12), y = topOf(edge.to);
    os << "<path class=\""
       << (edge.kind == EdgeKind::Host ? "hostline" : "event") << " s-"
       << color(edge.fromStream) << "\" d=\"M" << x << " "
       << bottomOf(edge.from) << "V" << y - (toAcross ? 0 : 4) << "\"/>\n";
    if (!toAcross)
      printArrow(x, y, "f-" + color(edge.fromStream));
  }
}

void Layout::printNode(unsigned number) {
  const Node &node = nodes[number];
  int y = topOf(number), height = getHeight(node);
  int inset = 10 * int(node.depth) + (node.depth ? 6 : 0);
  std::string text = escape(getText(node));
  switch (node.kind) {
  case NodeKind::Work:
  case NodeKind::Memory: {
    bool isWork = node.kind == NodeKind::Work;
    int laneLeft = laneX[node.stream] - laneWidth[node.stream] / 2,
        laneRight = laneLeft + laneWidth[node.stream];
    os << "<g><title>" << escape(streams[node.stream] + ": " + node.detail)
       << "</title><rect class=\"node s-" << color(node.stream)
       << (unsigned(node.stream) >= paletteSize ? " again" : "") << "\" x=\""
       << laneLeft << "\" y=\"" << y << "\" width=\"" << laneWidth[node.stream]
       << "\" height=\"" << height << "\" rx=\"" << (isWork ? 5 : height / 2)
       << "\"/>";
    if (isWork)
      os << "<rect class=\"f-" << color(node.stream) << "\" x=\"" << laneLeft
         << "\" y=\"" << y + 4 << "\" width=\"5\" height=\"" << height - 8
         << "\"/>";
    os << "<text class=\"" << (isWork ? "" : "small muted") << "\" x=\""
       << laneLeft + 12 << "\" y=\"" << y + height / 2 + 4 << "\">" << text
       << "</text>";
    if (node.id >= 0)
      os << "<text class=\"small muted end\" x=\"" << laneRight - 8 << "\" y=\""
         << y + height / 2 + 4 << "\">" << node.id << "</text>";
    os << "</g>\n";
    break;
  }
  case NodeKind::Join:
    os << "<g><title>" << escape(node.detail) << "</title><rect class=\"f-"
       << color(node.stream) << "\" x=\""
       << laneX[node.stream] - laneWidth[node.stream] / 2 << "\" y=\"" << y
       << "\" width=\"" << laneWidth[node.stream] << "\" height=\"" << height
       << "\" rx=\"" << height / 2
       << "\"/><text class=\"small strong onbar mid\" x=\""
       << laneX[node.stream] << "\" y=\"" << y + height / 2 + 4 << "\">" << text
       << "</text></g>\n";
    break;
  case NodeKind::Begin:
  case NodeKind::Part:
    os << "<text class=\"small strong muted\" x=\""
       << left + 8 + 10 * int(node.depth - (node.kind == NodeKind::Part))
       << "\" y=\"" << y + 14 << "\">" << text << "</text>\n";
    break;
  case NodeKind::End:
    break;
  case NodeKind::HostWait:
  case NodeKind::Call:
  case NodeKind::Arguments:
  case NodeKind::Return: {
    bool isWait = node.kind == NodeKind::HostWait;
    llvm::SmallBitVector covered(streams.size());
    for (const Schedule::Edge &edge : edges)
      if (edge.to == number && edge.fromStream >= 0)
        covered.set(edge.fromStream);
    if (covered.any()) {
      text += isWait ? " for" : " of";
      StringRef comma = " ";
      if (covered.count() == streams.size() && covered.count() > 3)
        text += " all streams";
      else
        for (unsigned stream : covered.set_bits()) {
          text += (comma + streams[stream]).str();
          comma = ", ";
        }
    }
    os << "<g><title>" << escape(node.detail) << "</title><rect class=\""
       << (isWait ? "bar" : "node call") << "\" x=\"" << left + inset
       << "\" y=\"" << y << "\" width=\"" << right - left - 2 * inset
       << "\" height=\"" << height << "\" rx=\"4\"/>";
    os << "<text class=\"small" << (isWait ? " onbar" : "") << "\" x=\""
       << left + inset + 8 << "\" y=\"" << y + height / 2 + 4 << "\">" << text
       << "</text>";
    for (unsigned stream : covered.set_bits())
      os << "<circle class=\"f-" << color(stream) << "\" cx=\"" << laneX[stream]
         << "\" cy=\"" << y << "\" r=\"4\"/>";
    os << "</g>\n";
    break;
  }
  }
}

void Layout::printLegend(int y) {
  bool has[5] = {};
  for (const Schedule::Edge &edge : edges)
    has[unsigned(edge.kind)] = true;
  struct Entry {
    EdgeKind kind;
    StringLiteral css, text;
  };
  static constexpr Entry entries[] = {
      {EdgeKind::Event, "event s-c0", "waits for an event"},
      {EdgeKind::Stream, "free", "free: in stream order"},
      {EdgeKind::Implied, "free implied", "free: implied by others"},
      {EdgeKind::Added, "free added", "only because a stream is shared"},
      {EdgeKind::Host, "hostline s-c0", "the host waits"},
  };
  int x = left;
  for (const Entry &entry : entries) {
    if (!has[unsigned(entry.kind)])
      continue;
    int length = 46 + entry.text.size() * 6.3;
    if (x > left && x + length > right) {
      x = left;
      y += 18;
    }
    os << "<path class=\"" << entry.css << "\" d=\"M" << x << " " << y
       << "h26\"/>"
       << "<text class=\"small muted\" x=\"" << x + 32 << "\" y=\"" << y + 4
       << "\">" << entry.text << "</text>\n";
    x += length + 10;
  }
  bottom = y;
}

void Layout::print() {
  placeRows();
  placeLanes();
  // Room for the title and the summary.
  int textWidth = std::max<int>(getTextWidth(schedule.getSummary()) * 8,
                                (getTextWidth(schedule.getName()) + 1) * 11);
  right = std::max({right, left + textWidth, left + 420});
  routeEdges();
  placeGaps();
  width = right + margin;

  printBoxes();
  printEdges();
  for (unsigned number = 0; number != nodes.size(); ++number)
    printNode(number);
  printLegend(bottom + 22);

  // The legend tells how high the picture is.
  int height = bottom + margin;
  target << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width
         << "\" height=\"" << height << "\" viewBox=\"0 0 " << width << " "
         << height << "\" class=\"gpuasync-schedule\" role=\"img\">\n<title>"
         << escape("Schedule of @" + schedule.getName().str())
         << "</title>\n<desc>" << schedule.getSummary() << "</desc>\n";
  printStyle(target);
  target << "<rect class=\"paper\" width=\"" << width << "\" height=\""
         << height << "\"/>\n<text class=\"title\" x=\"" << left << "\" y=\""
         << margin + 14 << "\">@" << escape(schedule.getName())
         << "</text>\n<text class=\"muted\" x=\"" << left << "\" y=\""
         << margin + 36 << "\">" << schedule.getSummary() << "</text>\n"
         << body << "</svg>\n";
}

void Schedule::printSvg(raw_ostream &os) const { Layout(*this, os).print(); }
