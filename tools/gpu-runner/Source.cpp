//===- Source.cpp - Lines of the program in reports -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Source.h.
//===----------------------------------------------------------------------===//

#include "Source.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/SourceMgr.h"

using namespace llvm;

namespace gpurunner {

/// Longer files and lines are not shown.
static constexpr uint64_t maxFileBytes = 64 << 20;
static constexpr size_t maxLineBytes = 500;

void SourceFiles::add(StringRef name, StringRef text) {
  files[name] = MemoryBuffer::getMemBufferCopy(text, name);
}

/// Returns the file's text, or null.
static std::unique_ptr<MemoryBuffer> read(StringRef name) {
  sys::fs::file_status status;
  if (sys::fs::status(name, status) || !sys::fs::is_regular_file(status) ||
      status.getSize() > maxFileBytes)
    return nullptr;
  ErrorOr<std::unique_ptr<MemoryBuffer>> file = MemoryBuffer::getFile(name);
  return file ? std::move(*file) : nullptr;
}

/// Returns the line, counted from 1; empty if there is none.
StringRef SourceFiles::findLine(StringRef file, unsigned line) {
  auto [known, isNew] = files.try_emplace(file);
  if (isNew)
    known->second = read(file);
  if (!known->second)
    return "";
  for (line_iterator i(*known->second, /*SkipBlanks=*/false); !i.is_at_eof();
       ++i)
    if (i.line_number() == line)
      return i->size() <= maxLineBytes ? *i : "";
  return "";
}

/// Returns `text` with the op that the source has where the runtime names the
/// op that it became: gpu.launch_func for gpu_async.launch. `source` begins
/// with the op.
static std::string nameSourceOp(StringRef text, StringRef source) {
  source.consume_front("\"");
  StringRef op = source.take_while(
      [](char c) { return isAlnum(c) || c == '_' || c == '.'; });
  StringRef name = op;
  if (!name.consume_front("gpu."))
    return text.str();
  static constexpr StringLiteral ours = "gpu_async.";
  std::string renamed;
  while (true) {
    size_t at = text.find(ours);
    renamed += text.take_front(at);
    if (at == StringRef::npos)
      return renamed;
    text = text.drop_front(at);
    StringRef word = text.drop_front(ours.size()).take_while(isAlpha);
    if (!word.empty() && name.starts_with(word)) {
      renamed += op;
      text = text.drop_front(ours.size() + word.size());
    } else {
      renamed += ours;
      text = text.drop_front(ours.size());
    }
  }
}

void SourceFiles::printMessage(raw_ostream &os, StringRef message) {
  static const Regex form(
      "^(.+):([0-9]+):([0-9]+): (error|warning|note): (.*)$");
  SmallVector<StringRef> parts;
  unsigned line = 0, column = 0;
  StringRef source;
  if (form.match(message, &parts) && !parts[2].getAsInteger(10, line) &&
      !parts[3].getAsInteger(10, column))
    source = findLine(parts[1], line);
  if (source.empty() || column == 0 || column > source.size()) {
    os << message << "\n";
    return;
  }
  SourceMgr::DiagKind kind = parts[4] == "error"     ? SourceMgr::DK_Error
                             : parts[4] == "warning" ? SourceMgr::DK_Warning
                                                     : SourceMgr::DK_Note;
  SourceMgr none;
  SMDiagnostic(none, SMLoc(), parts[1], int(line), int(column) - 1, kind,
               nameSourceOp(parts[5], source.drop_front(column - 1)), source,
               {})
      .print(/*ProgName=*/nullptr, os, os.has_colors());
}

void SourceFiles::print(raw_ostream &os, StringRef messages) {
  for (StringRef message : split(messages.rtrim('\n'), '\n'))
    printMessage(os, message);
}

} // namespace gpurunner
