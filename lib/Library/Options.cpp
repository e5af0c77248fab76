//===- Options.cpp - How gpuasync_compile compiles ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Options.h.
//===----------------------------------------------------------------------===//

#include "Library/Options.h"

using namespace llvm;

namespace gpuexec {

static Error refuse(StringRef key, StringRef value, const Twine &allowed) {
  return createStringError("option " + key + "=" + value + ": expected " +
                           allowed);
}

template <typename Enum>
static Error parseEnum(StringRef key, StringRef value, Enum &out) {
  std::optional<Enum> parsed = mlir::gpuasync::parseWord<Enum>(value);
  if (!parsed)
    return refuse(key, value, "one of " + mlir::gpuasync::listWords<Enum>());
  out = *parsed;
  return Error::success();
}

Expected<LibraryOptions> parseLibraryOptions(StringRef text) {
  LibraryOptions options;
  CompileOptions &compile = options.compile;
  SmallVector<StringRef> words;
  SplitString(text, words);
  for (StringRef word : words) {
    auto [key, value] = word.split('=');
    unsigned number = 0;
    bool isNumber = !value.getAsInteger(10, number);
    Error error = Error::success();
    if (key == "opt-level") {
      if (isNumber && number <= 3)
        compile.optLevel = number;
      else
        error =
            joinErrors(std::move(error), refuse(key, value, "0, 1, 2 or 3"));
    } else if (key == "max-streams") {
      if (isNumber)
        compile.maxStreams = number;
      else
        error =
            joinErrors(std::move(error), refuse(key, value, "a whole number"));
    } else if (key == "subgroup-size") {
      if (isNumber && isPowerOf2_32(number) && number <= 64)
        compile.subgroupSize = number;
      else
        error = joinErrors(std::move(error),
                           refuse(key, value, "a power of two up to 64"));
    } else if (key == "offload") {
      error =
          joinErrors(std::move(error), parseEnum(key, value, compile.offload));
    } else if (key == "place" && value == "device") {
      options.keepsArrays = true;
    } else if (key == "place") {
      options.keepsArrays = false;
      std::optional<mlir::gpuasync::PlaceMode> place =
          mlir::gpuasync::parseWord<mlir::gpuasync::PlaceMode>(value);
      if (place)
        compile.place = *place;
      else
        error = joinErrors(
            std::move(error),
            refuse(key, value,
                   "one of " +
                       mlir::gpuasync::listWords<mlir::gpuasync::PlaceMode>() +
                       ", device"));
    } else if (key == "blas") {
      error = joinErrors(std::move(error), parseEnum(key, value, compile.blas));
    } else if (key == "memory") {
      error = joinErrors(std::move(error),
                         parseEnum(key, value, compile.memory.emplace()));
    } else if (key == "timing") {
      error =
          joinErrors(std::move(error), parseEnum(key, value, options.timing));
    } else if (key == "stream") {
      if (value == "caller" || value == "none")
        compile.takeStream = value == "caller";
      else
        error =
            joinErrors(std::move(error), refuse(key, value, "none or caller"));
    } else if (key == "shared-libs") {
      SmallVector<StringRef> files;
      value.split(files, ',', -1, /*KeepEmpty=*/false);
      for (StringRef file : files)
        options.sharedLibs.push_back(file.str());
    } else if (key == "functions") {
      SmallVector<StringRef> pairs;
      value.split(pairs, ',', -1, /*KeepEmpty=*/false);
      for (StringRef each : pairs) {
        auto [function, address] = each.rsplit(':');
        uintptr_t number = 0;
        if (function.empty() || address.getAsInteger(0, number) || !number) {
          error = joinErrors(std::move(error),
                             refuse(key, value, "pairs NAME:ADDRESS"));
          break;
        }
        options.functions.emplace_back(function.str(),
                                       reinterpret_cast<void *>(number));
      }
    } else if (key == "donate") {
      SmallVector<StringRef> numbers;
      value.split(numbers, ',', -1, /*KeepEmpty=*/false);
      for (StringRef each : numbers)
        if (each.getAsInteger(10, options.donated.emplace_back())) {
          error = joinErrors(std::move(error),
                             refuse(key, value, "numbers of arguments"));
          break;
        }
    } else {
      error = joinErrors(
          std::move(error),
          createStringError("option '" + word +
                            "' is none of opt-level, offload, place, blas, "
                            "memory, max-streams, subgroup-size, stream, "
                            "donate, timing, functions, shared-libs"));
    }
    if (error)
      return std::move(error);
  }
  return options;
}

} // namespace gpuexec
