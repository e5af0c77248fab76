//===- Crash.cpp - One clear message when the program dies ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The handler names the line of the program by the line tables of the object
// that was linked. That allocates memory, which a crash inside malloc would
// not survive: an alarm then ends the process with the plain message.
//===----------------------------------------------------------------------===//

#include "Crash.h"

#include "Kernels/Common/Thread.h"
#include "libs/aot/NewFile.h"
#include "llvm/DebugInfo/DIContext.h"
#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/ErrorHandling.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <execinfo.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

using namespace llvm;

namespace gpurunner {

namespace {
struct Function {
  std::string name;
  uint64_t address, size, sectionOffset, sectionIndex;
};

/// Never destroyed: a crash during exit still finds it.
struct State {
  std::atomic<const char *> phase{"starting"};
  std::vector<Function> functions;
  std::unique_ptr<MemoryBuffer> object;
  std::atomic<bool> crashed{false};
  char plain[256] = "";
};
} // namespace

static State &state() {
  static State *theState = new State;
  return *theState;
}

static void writeAll(const char *text) {
  // Nothing can be done about a closed stderr.
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0)
    return;
}

[[noreturn]] static void endProcess() {
  gpuasync::removeUnfinishedFiles();
  _exit(1);
}

static const char *signalText(int signal) {
  switch (signal) {
  case SIGSEGV:
    return "segmentation fault";
  case SIGBUS:
    return "bus error";
  case SIGFPE:
    return "arithmetic fault (a division by zero?)";
  case SIGILL:
    return "illegal instruction (reached code that is undefined?)";
  case SIGTRAP:
    return "trap";
  case SIGABRT:
    return "abort";
  }
  return "signal";
}

static const Function *findFunction(uint64_t address) {
  for (const Function &function : state().functions)
    if (address - function.address < function.size)
      return &function;
  return nullptr;
}

/// "@f at a.mlir:3:5", "" if the address is not in the program.
static std::string describe(uint64_t address) {
  const Function *function = findFunction(address);
  if (!function)
    return "";
  std::string text = "@" + function->name;
  if (!state().object)
    return text;
  auto object = object::ObjectFile::createObjectFile(*state().object);
  if (!object) {
    consumeError(object.takeError());
    return text;
  }
  auto dwarf = DWARFContext::create(**object);
  uint64_t offset = address - function->address + function->sectionOffset;
  DILineInfoSpecifier specifier(
      DILineInfoSpecifier::FileLineInfoKind::AbsoluteFilePath);
  auto line =
      dwarf->getLineInfoForAddress({offset, function->sectionIndex}, specifier);
  if (line && line->Line)
    text += " at " + line->FileName + ":" + std::to_string(line->Line) + ":" +
            std::to_string(line->Column);
  return text;
}

static void onAlarm(int) {
  writeAll(state().plain);
  endProcess();
}

static uint64_t interruptedAddress(void *context) {
  const mcontext_t &machine = static_cast<ucontext_t *>(context)->uc_mcontext;
#if defined(__x86_64__)
  return machine.gregs[REG_RIP];
#elif defined(__aarch64__)
  return machine.pc;
#else
  (void)machine;
  return 0;
#endif
}

static void onSignal(int signal, siginfo_t *info, void *context) {
  State &s = state();
  if (s.crashed.exchange(true)) {
    // A second crash, in the handler or in another thread: the first one has
    // the word; should it not come to an end, its alarm will.
    if (s.plain[0] == 0)
      endProcess();
    for (;;)
      pause();
  }
  // Libraries that catch a fault send it again, without its address.
  bool atAddress = (signal == SIGSEGV || signal == SIGBUS) && info->si_code > 0;
  char where[64] = "";
  if (atAddress)
    std::snprintf(where, sizeof(where), " at address %p", info->si_addr);
  std::snprintf(s.plain, sizeof(s.plain), "gpu-runner: error: %s%s while %s\n",
                signalText(signal), where, s.phase.load());
  struct sigaction plain = {};
  plain.sa_handler = onAlarm;
  sigaction(SIGALRM, &plain, nullptr);
  // The handler itself may crash on a damaged heap.
  sigset_t own;
  sigemptyset(&own);
  for (int each : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    sigaddset(&own, each);
  sigaddset(&own, SIGALRM);
  pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
  alarm(5);

  // The first frame of the program's own code is what it did last.
  void *frames[64];
  int count = backtrace(frames, 64);
  std::string text = describe(interruptedAddress(context));
  for (int i = 0; i < count && text.empty(); ++i) {
    auto address = reinterpret_cast<uint64_t>(frames[i]);
    // A frame holds the address after its call.
    text = describe(address - 1);
  }
  std::string message = s.plain;
  if (!text.empty()) {
    message.pop_back();
    message += ", in " + text + "\n";
  }
  writeAll(message.c_str());
  endProcess();
}

static void onFatalError(void *, const char *reason, bool) {
  std::string message = std::string("gpu-runner: error: LLVM gave up while ") +
                        state().phase.load() + ": " + reason + "\n";
  writeAll(message.c_str());
  endProcess();
}

void installCrashHandlers() {
  state();
  // Loads the unwinder now: in a handler that would allocate.
  void *frame;
  backtrace(&frame, 1);
  install_fatal_error_handler(onFatalError, nullptr);

  static char alternate[256 * 1024];
  stack_t stack = {};
  stack.ss_sp = alternate;
  stack.ss_size = sizeof(alternate);
  sigaltstack(&stack, nullptr);

  struct sigaction action = {};
  action.sa_sigaction = onSignal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT})
    sigaction(signal, &action, nullptr);
}

void setPhase(const char *phase) { state().phase = phase; }

void addCode(StringRef name, uint64_t address, uint64_t size,
             uint64_t sectionOffset, uint64_t sectionIndex) {
  state().functions.push_back(
      {name.str(), address, size, sectionOffset, sectionIndex});
}

void setObject(std::unique_ptr<MemoryBuffer> object) {
  state().object = std::move(object);
}

Error startWatchdog(double seconds, double grace) {
  // A clock ends after 292 years: no program is watched for so long.
  constexpr double most = 1e9;
  if (!(seconds + grace < most))
    return Error::success();
  mlir::gpuasync::Thread thread;
  Error refused = thread.start([seconds, grace] {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds + grace));
    char message[256];
    std::snprintf(message, sizeof(message),
                  "gpu-runner: error: no end after %g seconds (--timeout) "
                  "while %s\n",
                  seconds, state().phase.load());
    writeAll(message);
    endProcess();
  });
  if (refused)
    return createStringError("--timeout: " + toString(std::move(refused)));
  thread.detach();
  return Error::success();
}

} // namespace gpurunner
