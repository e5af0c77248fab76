//===- CompileOptions.h - How a program is compiled -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options of GPUAsync/Options.def as the tools have them, and the parser
// and the part of the disk cache's key that are made of the table.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_EXECUTION_COMPILEOPTIONS_H
#define GPUASYNC_LIB_EXECUTION_COMPILEOPTIONS_H

#include "GPUAsync/Options.h"
#include "gpuasync/DiskCache.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mlir::gpuasync {
struct GPUAsyncPipelineOptions;
} // namespace mlir::gpuasync

namespace gpuexec {
#define GPUASYNC_ENUM_BEGIN(TYPE) using mlir::gpuasync::TYPE;
#include "GPUAsync/Options.def"

using Numbers = std::vector<unsigned>;
using Names = std::vector<std::string>;
/// Functions of this process by the names that the program has for them.
using Addresses = std::vector<std::pair<std::string, void *>>;

/// The value of an option, and whether somebody has set it.
template <typename T>
class Setting {
public:
  Setting(T value) : value(std::move(value)) {}
  Setting &operator=(T other) {
    value = std::move(other);
    given = true;
    return *this;
  }
  operator const T &() const { return value; }
  const T &operator*() const { return value; }
  bool isGiven() const { return given; }

private:
  T value;
  bool given = false;
};

/// Options of one compilation. An option that changes code belongs into
/// Options.def, which puts it into the key.
struct CompileOptions {
#define GPUASYNC_TOOL_OPTION(TYPE, MEMBER, NAME, DEFAULT, ...)                 \
  Setting<TYPE> MEMBER{DEFAULT};
#define GPUASYNC_OWN_OPTION(TYPE, MEMBER, NAME, DEFAULT, ...)                  \
  TYPE MEMBER = DEFAULT;
#include "GPUAsync/Options.def"

  // Reports, which change no machine code.
  std::vector<Form> printIRAfter;
  /// Draw the schedule: to a file, whose ending says how (.svg, .dot), or as
  /// text to stderr (empty).
  std::optional<std::string> printSchedule;
  /// Makes that file of a text.
  std::function<llvm::Error(llvm::StringRef path, llvm::StringRef text)>
      writeFile;
};

/// A tool whose users set options, a bit of a set.
enum Tools : unsigned { Nobody = 0, Runner = 1, Library = 2 };
/// Kinds of rows of Options.def.
enum class OptionKind { Common, Tool, Own, Pipeline };

/// A row of Options.def.
struct OptionRow {
  OptionKind kind;
  llvm::StringLiteral name;
  bool changesCode;
  unsigned tools;
  llvm::StringLiteral text;
  bool isFlag;             ///< a bool, which needs no value
  std::string words;       ///< "off|auto", empty if the type is no enum
  std::string defaultText; ///< in words
};

/// All rows, in their order.
llvm::ArrayRef<OptionRow> allOptions();
/// The row that `tool` takes by this name and that setOption parses, or null.
const OptionRow *findOption(Tools tool, llvm::StringRef name);
/// Sets an option that findOption finds. Returns the allowed values if `value`
/// is none of them, as in "one of off, auto".
std::optional<std::string>
setOption(CompileOptions &options, llvm::StringRef name, llvm::StringRef value);

/// Adds the options that change code.
void addOptions(gpuasync::KeyBuilder &key, const CompileOptions &options);
/// Sets those that the pipeline has, too.
void copyOptions(const CompileOptions &options,
                 mlir::gpuasync::GPUAsyncPipelineOptions &pipeline);

} // namespace gpuexec

#endif // GPUASYNC_LIB_EXECUTION_COMPILEOPTIONS_H
