//===- Tools.cpp - programs that make files of kernels ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Tools.h.
//===----------------------------------------------------------------------===//

#include "Tools.h"
#include "Environment.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <csignal>
#include <thread>

using namespace mlir;
using namespace mlir::gpuasync;

bool gpuasync::isBitcode(StringRef path) {
  llvm::file_magic magic;
  return !llvm::identify_magic(path, magic) &&
         magic == llvm::file_magic::bitcode;
}

/// What a file holds, at most `most` bytes of it.
static std::string readFile(StringRef path, size_t most = std::string::npos) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return "";
  StringRef bytes = (*buffer)->getBuffer();
  std::string text = bytes.take_front(most).str();
  if (bytes.size() > most)
    text += "... (" + std::to_string(bytes.size()) + " bytes in all)";
  return text;
}

/// Waits until the process ends, or kills it. Returns whether it ended well;
/// `message` says why not.
static bool wait(const llvm::sys::ProcessInfo &process, int64_t timeout,
                 std::string &message) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin = Clock::now();
  // LLVM's own limit is an alarm, which may reach another thread.
  for (std::chrono::microseconds pause(500);;
       pause = std::min(2 * pause, std::chrono::microseconds(20000))) {
    llvm::sys::ProcessInfo ended =
        timeout ? llvm::sys::Wait(process, /*SecondsToWait=*/0, &message)
                : llvm::sys::Wait(process, std::nullopt, &message);
    if (ended.Pid != 0) {
      if (ended.ReturnCode > 0)
        message = "exit code " + std::to_string(ended.ReturnCode);
      return ended.ReturnCode == 0;
    }
    std::chrono::duration<double> passed = Clock::now() - begin;
    if (passed.count() >= double(timeout)) {
      kill(process.Pid, SIGKILL);
      llvm::sys::Wait(process, std::nullopt);
      message = "killed after " + std::to_string(timeout) +
                " s (tool-timeout= of gpu-async-lower-kernels)";
      return false;
    }
    std::this_thread::sleep_for(pause);
  }
}

/// The machine that an ELF file is for, 0 if `bytes` are none.
static unsigned getMachine(StringRef bytes) {
  llvm::ELF::Elf64_Ehdr header;
  if (bytes.size() < sizeof(header) ||
      !bytes.starts_with(StringRef(llvm::ELF::ElfMagic, 4)))
    return 0;
  memcpy(&header, bytes.data(), sizeof(header));
  return header.getFileClass() == llvm::ELF::ELFCLASS64 ? header.e_machine : 0;
}

FailureOr<std::string>
gpuasync::runTool(const Tool &tool, ArrayRef<StringRef> options,
                  StringRef input, function_ref<InFlightDiagnostic()> emitError,
                  ArrayRef<StringRef> more) {
  TemporaryFile in, out, log;
  for (auto [file, suffix] :
       {std::pair(&in, tool.inputSuffix), std::pair(&out, tool.outputSuffix),
        std::pair(&log, StringRef("log"))})
    if (std::error_code error = file->create(suffix))
      return emitError() << "cannot make temporary files for " << tool.path
                         << ": " << error.message();
  if (std::error_code error = in.write(input))
    return emitError() << "cannot write " << in.getPath() << ": "
                       << error.message();
  SmallVector<StringRef> arguments{tool.name};
  arguments.append(options.begin(), options.end());
  arguments.append({in.getPath(), "-o", out.getPath()});
  arguments.append(more.begin(), more.end());
  std::optional<StringRef> redirects[] = {StringRef(), log.getPath(),
                                          log.getPath()};
  std::string message;
  bool refused = false;
  llvm::sys::ProcessInfo process =
      llvm::sys::ExecuteNoWait(tool.path, arguments, std::nullopt, redirects,
                               /*MemoryLimit=*/0, &message, &refused);
  if (refused || process.Pid == llvm::sys::ProcessInfo::InvalidPid)
    return emitError() << tool.path << " cannot be run: " << message;
  if (!wait(process, tool.timeout, message)) {
    std::string said = readFile(log.getPath(), /*most=*/2000);
    return emitError() << tool.path << " failed" << tool.hint << ": " << message
                       << (said.empty() ? "" : ": ") << StringRef(said).trim();
  }
  std::string output = readFile(out.getPath());
  if (getMachine(output) != (tool.machine ? tool.machine : getMachine(input)))
    return emitError() << tool.path << " wrote "
                       << (output.empty() ? "nothing"
                                          : "no object for this device");
  return output;
}
