//===- Crash.h - One clear message when the program dies --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Signals of a program that runs in this process, and its time limit.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TOOLS_GPURUNNER_CRASH_H
#define GPUASYNC_TOOLS_GPURUNNER_CRASH_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace gpurunner {

/// From now on a crash is reported in one line and ends the process with 1.
void installCrashHandlers();

/// What the process is doing, for the message: "compiling". A literal.
void setPhase(const char *phase);

/// Tells the handlers about one function of the linked object, so that an
/// address in it becomes a line of the program.
void addCode(llvm::StringRef name, uint64_t address, uint64_t size,
             uint64_t sectionOffset, uint64_t sectionIndex);
/// The object that the functions come from, with its line tables.
void setObject(std::unique_ptr<llvm::MemoryBuffer> object);

/// Ends the process after `seconds` with a message, unless it ended before. An
/// error if the system gives no thread for that.
llvm::Error startWatchdog(double seconds, double grace);

} // namespace gpurunner

#endif // GPUASYNC_TOOLS_GPURUNNER_CRASH_H
