//===- Options.cpp - How gpuasync_compile compiles ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Options.h.
//===----------------------------------------------------------------------===//

#include "Library/Options.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace gpuexec {

static Error refuse(StringRef key, StringRef value, const Twine &allowed) {
  return createStringError("option " + key + "=" + value + ": expected " +
                           allowed);
}

/// Reads one option.
static Error setWord(LibraryOptions &options, StringRef word) {
  CompileOptions &compile = options.compile;
  auto [key, value] = word.split('=');
  if (key == "place") {
    options.keepsArrays = value == "device";
    if (options.keepsArrays)
      return Error::success();
  }
  if (findOption(Library, key)) {
    std::optional<std::string> allowed = setOption(compile, key, value);
    if (!allowed)
      return Error::success();
    return refuse(key, value, *allowed + (key == "place" ? ", device" : ""));
  }
  SmallVector<StringRef> parts;
  value.split(parts, ',', -1, /*KeepEmpty=*/false);
  if (key == "shared-libs") {
    for (StringRef file : parts)
      compile.sharedLibs.push_back(file.str());
    return Error::success();
  }
  if (key == "functions") {
    for (StringRef each : parts) {
      auto [function, address] = each.rsplit(':');
      uintptr_t number = 0;
      if (function.empty() || address.getAsInteger(0, number) || !number)
        return refuse(key, value, "pairs NAME:ADDRESS");
      compile.functions.emplace_back(function.str(),
                                     reinterpret_cast<void *>(number));
    }
    return Error::success();
  }
  if (key == "donate") {
    for (StringRef each : parts)
      if (each.getAsInteger(10, compile.donated.emplace_back()))
        return refuse(key, value, "numbers of arguments");
    return Error::success();
  }
  SmallVector<StringRef> names;
  for (const OptionRow &row : allOptions())
    if (row.tools & Library)
      names.push_back(row.name);
  return createStringError("option '" + word + "' is none of " +
                           join(names, ", "));
}

Expected<LibraryOptions> parseLibraryOptions(StringRef text) {
  LibraryOptions options;
  SmallVector<StringRef> words;
  SplitString(text, words);
  for (StringRef word : words)
    if (Error error = setWord(options, word))
      return std::move(error);
  return options;
}

} // namespace gpuexec
