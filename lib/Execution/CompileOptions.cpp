//===- CompileOptions.cpp - How a program is compiled ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See CompileOptions.h.
//===----------------------------------------------------------------------===//

#include "Execution/CompileOptions.h"

#include "GPUAsync/Pipelines/Pipelines.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace gpuexec {

/// The values of CHANGES.
static constexpr bool Nothing = false, Code = true;

//===----------------------------------------------------------------------===//
// Values as texts
//===----------------------------------------------------------------------===//

static std::string print(bool value) { return value ? "true" : "false"; }
static std::string print(int value) { return std::to_string(value); }
static std::string print(unsigned value) { return std::to_string(value); }
static std::string print(const std::string &value) { return value; }
static std::string print(const std::pair<std::string, void *> &value) {
  return value.first;
}
template <typename Enum>
static std::enable_if_t<std::is_enum_v<Enum>, std::string> print(Enum value) {
  return mlir::gpuasync::getWord(value).str();
}

template <typename T>
static std::string listWords() {
  if constexpr (std::is_enum_v<T>)
    return join(
        map_range(mlir::gpuasync::Words<T>::all,
                  [](const auto &word) { return StringRef(word.text); }),
        "|");
  return "";
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

namespace {
/// The numbers that an option takes.
struct Range {
  bool (*holds)(int64_t number);
  StringLiteral which;
};

namespace ranges {
constexpr Range Any{nullptr, ""};
#define GPUASYNC_RANGE(RANGE, CONDITION, WHICH)                                \
  constexpr Range RANGE{[](int64_t number) { return CONDITION; }, WHICH};
#include "GPUAsync/Options.def"
} // namespace ranges
} // namespace

template <typename Enum>
static std::optional<std::string> parse(StringRef text, const Range &,
                                        Setting<Enum> &out) {
  static_assert(
      std::is_enum_v<Enum>,
      "the TYPE of such a row is bool, int or an enum of Options.def");
  std::optional<Enum> parsed = mlir::gpuasync::parseWord<Enum>(text);
  if (!parsed)
    return "one of " + mlir::gpuasync::listWords<Enum>();
  out = *parsed;
  return std::nullopt;
}

static std::optional<std::string> parse(StringRef text, const Range &range,
                                        Setting<int> &out) {
  int number = 0;
  if (text.getAsInteger(10, number) || !range.holds(number))
    return range.which.str();
  out = number;
  return std::nullopt;
}

/// Python writes True and False.
static std::optional<std::string> parse(StringRef text, const Range &,
                                        Setting<bool> &out) {
  if (!text.equals_insensitive("true") && !text.equals_insensitive("false"))
    return "one of true, false";
  out = text.equals_insensitive("true");
  return std::nullopt;
}

std::optional<std::string> setOption(CompileOptions &options, StringRef name,
                                     StringRef value) {
#define GPUASYNC_TOOL_OPTION(TYPE, MEMBER, NAME, DEFAULT, RANGE, ...)          \
  if (name == NAME)                                                            \
    return parse(value, ranges::RANGE, options.MEMBER);
#include "GPUAsync/Options.def"
  llvm_unreachable("no such option");
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

ArrayRef<OptionRow> allOptions() {
  static const std::vector<OptionRow> rows = {
#define GPUASYNC_ROW(KIND, TYPE, NAME, CHANGES, TOOLS, DEFAULT_TEXT, TEXT)     \
  {OptionKind::KIND,                                                           \
   NAME,                                                                       \
   CHANGES,                                                                    \
   TOOLS,                                                                      \
   TEXT,                                                                       \
   std::is_same_v<TYPE, bool>,                                                 \
   listWords<TYPE>(),                                                          \
   DEFAULT_TEXT},
#define GPUASYNC_OPTION(TYPE, MEMBER, NAME, DEFAULT, RANGE, CHANGES, TOOLS,    \
                        DEFAULT_TEXT, TEXT)                                    \
  GPUASYNC_ROW(Common, TYPE, NAME, CHANGES, TOOLS,                             \
               *DEFAULT_TEXT ? DEFAULT_TEXT : print(DEFAULT), TEXT)
#define GPUASYNC_TOOL_OPTION(TYPE, MEMBER, NAME, DEFAULT, RANGE, CHANGES,      \
                             TOOLS, DEFAULT_TEXT, TEXT)                        \
  GPUASYNC_ROW(Tool, TYPE, NAME, CHANGES, TOOLS,                               \
               *DEFAULT_TEXT ? DEFAULT_TEXT : print(DEFAULT), TEXT)
#define GPUASYNC_OWN_OPTION(TYPE, MEMBER, NAME, DEFAULT, CHANGES, TOOLS,       \
                            VALUES, TEXT)                                      \
  GPUASYNC_ROW(Own, TYPE, NAME, CHANGES, TOOLS, "", TEXT)
#define GPUASYNC_PIPELINE_OPTION(TYPE, MEMBER, NAME, DEFAULT, CHANGES,         \
                                 DEFAULT_TEXT, TEXT)                           \
  GPUASYNC_ROW(Pipeline, TYPE, NAME, CHANGES, Nobody, DEFAULT_TEXT, TEXT)
#include "GPUAsync/Options.def"
#undef GPUASYNC_ROW
  };
  return rows;
}

const OptionRow *findOption(Tools tool, StringRef name) {
  const OptionRow *found = find_if(allOptions(), [&](const OptionRow &row) {
    return row.kind != OptionKind::Own && (row.tools & tool) &&
           row.name == name;
  });
  return found == allOptions().end() ? nullptr : found;
}

//===----------------------------------------------------------------------===//
// What is made of the values
//===----------------------------------------------------------------------===//

template <typename T>
static void addPart(gpuasync::KeyBuilder &key, const char *name,
                    const T &value) {
  key.add(name, print(value));
}
template <typename T>
static void addPart(gpuasync::KeyBuilder &key, const char *name,
                    const std::vector<T> &values) {
  for (const T &value : values)
    addPart(key, name, value);
}

void addOptions(gpuasync::KeyBuilder &key, const CompileOptions &options) {
  // The name of the member is a part's name: two options are called donate.
#define GPUASYNC_TOOL_OPTION(TYPE, MEMBER, NAME, DEFAULT, RANGE, CHANGES, ...) \
  if (CHANGES)                                                                 \
    addPart(key, #MEMBER, *options.MEMBER);
#define GPUASYNC_OWN_OPTION(TYPE, MEMBER, NAME, DEFAULT, CHANGES, ...)         \
  if (CHANGES)                                                                 \
    addPart(key, #MEMBER, options.MEMBER);
#include "GPUAsync/Options.def"
}

void copyOptions(const CompileOptions &options,
                 mlir::gpuasync::GPUAsyncPipelineOptions &pipeline) {
#define GPUASYNC_OPTION(TYPE, MEMBER, ...) pipeline.MEMBER = *options.MEMBER;
#include "GPUAsync/Options.def"
}

} // namespace gpuexec
