//===- Report.cpp - What a run says of itself -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Report.h.
//===----------------------------------------------------------------------===//

#include "Report.h"
#include "Files.h"

#include "gpuasync/DiskCache.h"
#include "gpuasync/Trace.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace llvm;

namespace gpurunner {

/// A message as a compiler writes it: where it begins with a place that is
/// "a.mlir:3:5: error: ...", else "gpu-runner: error: ...".
static std::string withKind(StringRef message, StringRef kind) {
  SmallVector<StringRef> parts;
  if (!Regex("^([^:]+:[0-9]+:[0-9]+): (.*)$").match(message, &parts))
    return ("gpu-runner: " + kind + ": " + message).str();
  return (parts[1] + ": " + kind + ": " + parts[2]).str();
}

Error toError(const gpuasync::Status &status) {
  return createStringError(status.message());
}

int fail(Error error) {
  handleAllErrors(std::move(error), [](const ErrorInfoBase &info) {
    // Without a message MLIR has printed it.
    if (std::string message = info.message(); !message.empty())
      errs() << withKind(message, "error") + "\n"; // one write for each
  });
  return 1;
}

static unsigned long long ull(uint64_t value) { return value; }

void printBenchmark(std::vector<double> times, bool asTable) {
  llvm::sort(times);
  // The value that the given part of the calls did not exceed.
  auto at = [&](double part) {
    return times[std::min<size_t>(times.size() * part, times.size() - 1)];
  };
  double median =
      times.size() % 2
          ? at(0.5)
          : (times[times.size() / 2 - 1] + times[times.size() / 2]) / 2;
  if (asTable) {
    outs() << "   calls   median us      min us      p90 us      max us\n"
           << format("%8zu  %10.3f  %10.3f  %10.3f  %10.3f\n", times.size(),
                     median, times.front(), at(0.9), times.back());
    return;
  }
  outs() << "{\"calls\": " << times.size()
         << format(
                ", \"median_us\": %.3f, \"min_us\": %.3f, \"p90_us\": %.3f}\n",
                median, times.front(), at(0.9));
}

/// An error of a runtime without statistics.
static Error readStats(const gpuasync::Context &context,
                       gpuasync_stats &stats) {
  gpuasync::Status read(gpuasync_stats_read(context.get(), &stats));
  return read.ok() ? Error::success() : toError(read);
}

static std::string statsLine(const gpuasync::Context &context) {
  uint64_t length = gpuasync_stats_json(context.get(), nullptr, 0);
  std::string line(length + 1, '\0');
  gpuasync_stats_json(context.get(), line.data(), line.size());
  line.resize(length);
  return line;
}

static std::string cacheLine(const CacheUse &use) {
  gpuasync_disk_cache_stats stats = {};
  gpuasync_status_free(
      gpuasync_disk_cache_stats_read(gpuasync_disk_cache_default(), &stats));
  return formatv("\"disk_cache\": {{\"program\": \"{0}\", \"compile_jobs\": "
                 "{1}, \"hits\": {2}, \"misses\": {3}, \"damaged\": {4}, "
                 "\"stores\": {5}, \"evictions\": {6}, \"bytes_read\": {7}, "
                 "\"bytes_written\": {8}}",
                 use.program, use.compileJobs, stats.hits, stats.misses,
                 stats.damaged, stats.stores, stats.evictions, stats.bytesRead,
                 stats.bytesWritten)
      .str();
}

static std::string timesLine(const Times &times) {
  std::string text = "\"times_ms\": {";
  raw_string_ostream os(text);
  const std::pair<const char *, double> parts[] = {
      {"key", times.key},           {"read", times.read},
      {"verify", times.verify},     {"parse", times.parse},
      {"pipeline", times.pipeline}, {"codegen", times.codegen},
      {"store", times.store},       {"link", times.link},
      {"driver", times.driver},     {"driver_wait", times.driverWait},
      {"load", times.load},         {"launch", times.launch},
      {"total", times.total}};
  interleaveComma(parts, os, [&](auto &part) {
    os << '"' << part.first << "\": " << format("%.3f", part.second);
  });
  os << "}";
  return text;
}

Error writeStats(StringRef file, ArrayRef<gpuasync::Context> contexts,
                 std::optional<unsigned> firstRank, const CacheUse &use,
                 const Times &times) {
  std::string text;
  for (auto [i, context] : enumerate(contexts)) {
    gpuasync_stats stats = {};
    if (Error error = readStats(context, stats))
      return error;
    std::string line = statsLine(context);
    if (firstRank)
      line.insert(1, "\"rank\": " + utostr(*firstRank + i) + ", ");
    if (i == 0) {
      line.pop_back();
      line += ", " + cacheLine(use) + ", " + timesLine(times) + "}";
    }
    text += line + "\n";
  }
  if (!file.empty())
    return writeFile(file, [&](raw_ostream &os) { os << text; });
  errs() << text;
  return Error::success();
}

static void printTable(const gpuasync_stats &stats, raw_ostream &os) {
  auto objects = [&](const char *name, const gpuasync_object_stats &part) {
    os << format("%-8s %10llu  %10llu  %10llu  %10llu  %10llu\n", name,
                 ull(part.created), ull(part.destroyed), ull(part.live),
                 ull(part.peak), ull(part.physical));
  };
  auto count = [&](const char *name, uint64_t value) {
    os << format("%-24s %18llu\n", name, ull(value));
  };
  os << "            created   destroyed        live        peak"
        "    physical\n";
  objects("streams", stats.streams);
  objects("events", stats.events);
  objects("modules", stats.modules);
  objects("buffers", stats.buffers);
  objects("graphs", stats.graphs);
  count("launches", stats.launches);
  count("host waits", stats.hostWaits);
  count("driver calls", stats.driverCalls);
  count("graph launches", stats.graphLaunches);
  count("regions on streams", stats.regionsOnStreams);
  count("library calls", stats.libraryCalls);
  count("library calls captured", stats.capturedCalls);
  count("failed captures", stats.failedCaptures);
  count("module cache hits", stats.moduleCacheHits);
  count("module cache misses", stats.moduleCacheMisses);
  count("module load us", stats.moduleLoadNs / 1000);
  count("buffer bytes", stats.bufferBytes);
  count("device bytes", stats.deviceBytes);
}

Error printStatsTables(ArrayRef<gpuasync::Context> contexts,
                       std::optional<unsigned> firstRank) {
  std::string text;
  raw_string_ostream os(text);
  for (auto [i, context] : enumerate(contexts)) {
    gpuasync_stats stats = {};
    if (Error error = readStats(context, stats))
      return error;
    if (firstRank)
      os << "rank " << *firstRank + i << ":\n";
    printTable(stats, os);
  }
  errs() << text; // in one piece: other processes may write, too
  return Error::success();
}

namespace {
struct Row {
  std::string kind, name, place, what;
  uint64_t calls, total, least, most, bytes;
};
} // namespace

static uint64_t addTotals(ArrayRef<Row> rows) {
  uint64_t all = 0;
  for (const Row &row : rows)
    all += row.total;
  return all;
}

/// Prints one line: {"profile":[{"share":...},...]}.
static void printJsonProfile(raw_ostream &os, ArrayRef<Row> rows) {
  const uint64_t all = addTotals(rows);
  json::OStream out(os);
  auto number = [&](StringRef name, double value, int digits) {
    out.attributeBegin(name);
    out.rawValue([&](raw_ostream &os) { os << format("%.*f", digits, value); });
    out.attributeEnd();
  };
  out.object([&] {
    out.attributeArray("profile", [&] {
      for (const Row &row : rows)
        out.object([&] {
          const double total = double(row.total);
          number("share", all ? 100.0 * total / double(all) : 0, 1);
          out.attribute("calls", row.calls);
          number("total_ms", total / 1e6, 6);
          number("mean_us", total / 1e3 / double(row.calls), 3);
          number("min_us", double(row.least) / 1e3, 3);
          number("max_us", double(row.most) / 1e3, 3);
          if (row.bytes && row.total) {
            number("mb", double(row.bytes) / 1e6, 6);
            number("gb_per_s", double(row.bytes) / total, 2);
          } else {
            out.attribute("mb", nullptr);
            out.attribute("gb_per_s", nullptr);
          }
          out.attribute("what", json::fixUTF8(row.what));
          out.attribute("kind", row.kind);
          out.attribute("name", json::fixUTF8(row.name));
          out.attribute("place", json::fixUTF8(row.place));
        });
    });
  });
  os << "\n";
}

static void printProfile(raw_ostream &os, ArrayRef<Row> rows) {
  if (rows.empty()) {
    os << "no rows: nothing ran on a device (docs/reference/Offload.md says "
          "what becomes a kernel)\n";
    return;
  }
  const uint64_t all = addTotals(rows);
  os << "   share     calls    total ms     mean us      min us      max us"
        "          MB      GB/s  what\n";
  for (const Row &row : rows) {
    os << format("%6.1f %%  %8llu  %10.3f  %10.3f  %10.3f  %10.3f",
                 all ? 100.0 * double(row.total) / double(all) : 0,
                 ull(row.calls), double(row.total) / 1e6,
                 double(row.total) / 1e3 / double(row.calls),
                 double(row.least) / 1e3, double(row.most) / 1e3);
    if (row.bytes && row.total)
      os << format("  %10.3f  %8.2f", double(row.bytes) / 1e6,
                   double(row.bytes) / double(row.total));
    else
      os << "           -         -";
    os << "  " << row.what << "\n";
  }
}

Error writeProfile(StringRef where) {
  std::vector<Row> rows;
  gpuasync_profile_list(
      [](void *user, const gpuasync_profile_row *row) {
        std::string what = row->name;
        if (row->launches && StringRef(row->kind) == "graph")
          what += formatv(" of {0} launches",
                          double(row->launches) / double(row->calls));
        if (*row->place)
          what += std::string(" at ") + row->place;
        static_cast<std::vector<Row> *>(user)->push_back(
            {row->kind, row->name, row->place, std::move(what), row->calls,
             row->totalNs, row->leastNs, row->mostNs, row->bytes});
      },
      &rows);
  bool isFile = !where.empty() && where != "json";
  auto print = [&](raw_ostream &os) {
    if (where == "json" || where.ends_with_insensitive(".json"))
      printJsonProfile(os, rows);
    else
      printProfile(os, rows);
  };
  if (isFile)
    return writeFile(where, print);
  print(errs());
  return Error::success();
}

bool reportLeaks(const gpuasync::Context &context, bool isError) {
  std::vector<std::string> lines;
  gpuasync_leaks_list(
      context.get(),
      [](void *user, const char *line) {
        static_cast<std::vector<std::string> *>(user)->push_back(line);
      },
      &lines);
  for (const std::string &line : lines)
    errs() << withKind(line, isError ? "error" : "warning") << "\n";
  return isError && !lines.empty();
}

} // namespace gpurunner
