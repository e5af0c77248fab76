//===- Nesting.cpp - how deep a program's text nests ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Nesting.h.
//===----------------------------------------------------------------------===//

#include "GPUAsync/IR/Nesting.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "llvm/Support/MemoryBufferRef.h"

using namespace mlir;
using namespace mlir::gpuasync;

/// A level takes up to four kilobytes of stack: these are a quarter of the
/// least that a process usually has.
static constexpr int mostLevels = 500;

const char *const DeepNesting::message =
    "more than 500 levels of brackets: put inner regions into functions";

std::optional<DeepNesting> gpuasync::findDeepNesting(llvm::StringRef text) {
  if (isBytecode(llvm::MemoryBufferRef(text, "")))
    return std::nullopt;
  // Of types, which lie on one line, only as long as that: elsewhere a `<` may
  // stand alone.
  int levels = 0, typeLevels = 0;
  unsigned line = 1;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
    case '\n':
      ++line;
      begin = i + 1;
      typeLevels = 0;
      break;
    case '"':
      for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i)
        i += text[i] == '\\';
      if (i < text.size() && text[i] == '\n')
        --i;
      break;
    case '/':
      if (text.substr(i).starts_with("//"))
        i = std::min(text.find('\n', i), text.size()) - 1;
      break;
    case '{':
    case '(':
    case '[':
      ++levels;
      break;
    case '}':
    case ')':
    case ']':
      levels -= levels > 0;
      break;
    case '<':
      ++typeLevels;
      break;
    case '>':
      typeLevels -= typeLevels > 0 && (!i || text[i - 1] != '-');
      break;
    default:
      break;
    }
    if (levels > mostLevels || typeLevels > mostLevels)
      return DeepNesting{line, unsigned(i - begin + 1)};
  }
  return std::nullopt;
}
