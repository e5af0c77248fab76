//===- Options.h - options that are one of a few words ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The enums of Options.def, whose values users write as words. Their parser for
// LLVM's options refuses any other word, and lists the words.
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

#define GPUASYNC_ENUM_BEGIN(TYPE) enum class TYPE {
#define GPUASYNC_WORD(TYPE, VALUE, WORD, MEANING) VALUE,
#define GPUASYNC_ENUM_END(TYPE)                                                \
  }                                                                            \
  ;
#include "GPUAsync/Options.def"

/// A value of an enum as users write it.
template <typename Enum>
struct Word {
  Enum value;
  llvm::StringLiteral text, help;
};

/// The words of an enum: specialised for each enum that is an option.
template <typename Enum>
struct Words;

#define GPUASYNC_ENUM_BEGIN(TYPE)                                              \
  template <>                                                                  \
  struct Words<TYPE> {                                                         \
    static constexpr Word<TYPE> all[] = {
#define GPUASYNC_WORD(TYPE, VALUE, WORD, MEANING) {TYPE::VALUE, WORD, MEANING},
#define GPUASYNC_ENUM_END(TYPE)                                                \
  }                                                                            \
  ;                                                                            \
  }                                                                            \
  ;
#include "GPUAsync/Options.def"

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

#define GPUASYNC_ENUM_BEGIN(TYPE)                                              \
  template <>                                                                  \
  class llvm::cl::parser<mlir::gpuasync::TYPE>                                 \
      : public mlir::gpuasync::WordParser<mlir::gpuasync::TYPE> {              \
  public:                                                                      \
    using WordParser::WordParser;                                              \
  };
#include "GPUAsync/Options.def"

#endif // GPUASYNC_OPTIONS_H
