//===- Options.h - options that are one of a few words ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What passes, the pipeline and gpu-runner take as a word, as enums, and their
// parser for LLVM's options, which refuses another word with a list of these.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_OPTIONS_H
#define GPUASYNC_OPTIONS_H

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <string>

namespace mlir::gpuasync {

/// The forms of a program that have a verifier.
enum class Form { Token, Linear, Stream, Runtime };
/// What a public function does with an error.
enum class OnError { Abort, Status };
/// What becomes of ops of the input that may race.
enum class ImportMode { Trust, Check, Strict };
/// What becomes of a program's allocations.
enum class MemoryMode { Plan, Space, Keep };
/// How the runtime plays device work that the host does not observe.
enum class Play { Auto, Stream, Streams, Graph };
/// What becomes of linalg ops, tensors and parallel loops.
enum class OffloadMode { Auto, Off, Error };
/// For which kind of device work is cut into blocks.
enum class OffloadDevice { CPU, GPU, SM80, SM90 };
/// Where arguments and results of offloaded functions are.
enum class PlaceMode { Copy, Off };
/// Who computes matrix products of linalg ops that stand alone.
enum class BlasMode { Off, Auto };
/// How a schedule is drawn.
enum class ScheduleFormat { Text, Dot, Svg };

/// A value of an enum as users write it.
template <typename Enum>
struct Word {
  Enum value;
  llvm::StringLiteral text, help;
};

/// The words of an enum: specialised for each enum that is an option.
template <typename Enum>
struct Words;

template <>
struct Words<Form> {
  static constexpr Word<Form> all[] = {
      {Form::Token, "token", "no upstream op left, work has tokens"},
      {Form::Linear, "linear", "every token is consumed exactly once"},
      {Form::Stream, "stream", "streams and events instead of tokens"},
      {Form::Runtime, "runtime", "runtime calls instead of ops"}};
};
template <>
struct Words<OnError> {
  static constexpr Word<OnError> all[] = {
      {OnError::Abort, "abort", "end the process"},
      {OnError::Status, "status", "return a gpuasync_status"}};
};
template <>
struct Words<ImportMode> {
  static constexpr Word<ImportMode> all[] = {
      {ImportMode::Trust, "trust", "leave them to the program"},
      {ImportMode::Check, "check", "warn"},
      {ImportMode::Strict, "strict", "order them"}};
};
template <>
struct Words<MemoryMode> {
  static constexpr Word<MemoryMode> all[] = {
      {MemoryMode::Plan, "plan", "several become windows of one"},
      {MemoryMode::Space, "space",
       "so, and work waits for other work where that takes less memory"},
      {MemoryMode::Keep, "keep", "each stays as it is"}};
};
template <>
struct Words<Play> {
  static constexpr Word<Play> all[] = {
      {Play::Auto, "auto", "in regions, as the runtime finds best"},
      {Play::Stream, "stream", "in regions, each on one stream"},
      {Play::Streams, "streams", "call by call, on the streams assigned"},
      {Play::Graph, "graph", "in regions, as graphs where a device has them"}};
};
template <>
struct Words<OffloadMode> {
  static constexpr Word<OffloadMode> all[] = {
      {OffloadMode::Auto, "auto", "kernels where it can be, else a remark"},
      {OffloadMode::Off, "off", "they stay as they are"},
      {OffloadMode::Error, "error", "kernels, or an error"}};
};
template <>
struct Words<OffloadDevice> {
  static constexpr Word<OffloadDevice> all[] = {
      {OffloadDevice::CPU, "cpu", "blocks of one thread"},
      {OffloadDevice::GPU, "gpu", "blocks of many threads"},
      {OffloadDevice::SM80, "sm_80",
       "so, with the tensor cores of NVIDIA's devices from sm_80 on"},
      {OffloadDevice::SM90, "sm_90",
       "so, by instructions that sm_90 alone has"}};
};
template <>
struct Words<PlaceMode> {
  static constexpr Word<PlaceMode> all[] = {
      {PlaceMode::Copy, "copy",
       "in host memory: copied to the device and back"},
      {PlaceMode::Off, "off", "where the device reaches them"}};
};
template <>
struct Words<BlasMode> {
  static constexpr Word<BlasMode> all[] = {
      {BlasMode::Off, "off", "kernels"},
      {BlasMode::Auto, "auto",
       "libgpuasync_blas.so where it has a library for the device, else "
       "kernels"}};
};
template <>
struct Words<ScheduleFormat> {
  static constexpr Word<ScheduleFormat> all[] = {
      {ScheduleFormat::Text, "text", "columns are streams"},
      {ScheduleFormat::Dot, "dot", "a digraph for graphviz"},
      {ScheduleFormat::Svg, "svg", "one document of one function"}};
};

template <typename Enum>
llvm::StringRef getWord(Enum value) {
  return llvm::find_if(
             Words<Enum>::all,
             [&](const Word<Enum> &word) { return word.value == value; })
      ->text;
}

/// Nothing if `text` is none of the enum's words.
template <typename Enum>
std::optional<Enum> parseWord(llvm::StringRef text) {
  for (const Word<Enum> &word : Words<Enum>::all)
    if (word.text == text)
      return word.value;
  return std::nullopt;
}

/// "abort, status".
template <typename Enum>
std::string listWords() {
  return llvm::join(llvm::map_range(Words<Enum>::all,
                                    [](const Word<Enum> &word) {
                                      return llvm::StringRef(word.text);
                                    }),
                    ", ");
}

template <typename Enum, typename = decltype(Words<Enum>::all)>
llvm::raw_ostream &operator<<(llvm::raw_ostream &os, Enum value) {
  return os << getWord(value);
}

/// LLVM's parser of such an option: unlike its own it knows the words, and says
/// them where it refuses one.
template <typename Enum>
class WordParser : public llvm::cl::generic_parser_base {
public:
  using parser_data_type = Enum;

  WordParser(llvm::cl::Option &option) : generic_parser_base(option) {
    for (const Word<Enum> &word : Words<Enum>::all)
      Values.push_back({word.text, word.help, word.value});
  }

  unsigned getNumOptions() const override { return Values.size(); }
  llvm::StringRef getOption(unsigned index) const override {
    return Values[index].Name;
  }
  llvm::StringRef getDescription(unsigned index) const override {
    return Values[index].HelpStr;
  }
  const llvm::cl::GenericOptionValue &
  getOptionValue(unsigned index) const override {
    return Values[index].V;
  }
  /// True on error, as LLVM wants it.
  bool parse(llvm::cl::Option &option, llvm::StringRef, llvm::StringRef text,
             Enum &value) {
    std::optional<Enum> parsed = parseWord<Enum>(text);
    if (!parsed)
      return option.error("'" + text + "' is none of " + listWords<Enum>());
    value = *parsed;
    return false;
  }

protected:
  struct OptionInfo : GenericOptionInfo {
    OptionInfo(llvm::StringRef name, llvm::StringRef help, Enum value)
        : GenericOptionInfo(name, help), V(value) {}
    llvm::cl::OptionValue<Enum> V;
  };
  /// MLIR's options look for words here.
  llvm::SmallVector<OptionInfo, 4> Values;
};

} // namespace mlir::gpuasync

#define GPUASYNC_WORD_PARSER(Enum)                                             \
  template <>                                                                  \
  class llvm::cl::parser<mlir::gpuasync::Enum>                                 \
      : public mlir::gpuasync::WordParser<mlir::gpuasync::Enum> {              \
  public:                                                                      \
    using WordParser::WordParser;                                              \
  };
GPUASYNC_WORD_PARSER(Form)
GPUASYNC_WORD_PARSER(OnError)
GPUASYNC_WORD_PARSER(ImportMode)
GPUASYNC_WORD_PARSER(MemoryMode)
GPUASYNC_WORD_PARSER(Play)
GPUASYNC_WORD_PARSER(OffloadMode)
GPUASYNC_WORD_PARSER(OffloadDevice)
GPUASYNC_WORD_PARSER(PlaceMode)
GPUASYNC_WORD_PARSER(BlasMode)
GPUASYNC_WORD_PARSER(ScheduleFormat)
#undef GPUASYNC_WORD_PARSER

#endif // GPUASYNC_OPTIONS_H
