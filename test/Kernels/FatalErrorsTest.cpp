//===- FatalErrorsTest.cpp - LLVM's fatal errors in a library -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that embeds the compiler outlives LLVM's fatal errors and crashes,
// however many, in whatever threads, goes on compiling, and ends as it would.
//===----------------------------------------------------------------------===//

#include "GPUAsync/InitAll.h"
#include "GPUAsync/Kernels/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/ManagedStatic.h"

#include "gtest/gtest.h"

#include <string>
#include <thread>
#include <vector>

using namespace mlir;

namespace {

/// Runs gpu-async-lower-kernels and returns what it reported, or "fine".
std::string compile(const char *text, const std::string &target) {
  DialectRegistry registry;
  gpuasync::registerAllGPUAsyncDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  std::string said;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    said += diagnostic.str() + "\n";
    return success();
  });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return "does not parse: " + said;
  gpuasync::GPUAsyncLowerKernelsOptions options;
  options.targets.push_back(target);
  options.ptxas = "none";
  options.libdevice = "none";
  options.rocm = "none";
  PassManager manager(&context);
  manager.addPass(gpuasync::createGPUAsyncLowerKernels(options));
  return succeeded(manager.run(*module)) ? "fine" : said;
}

const char *const right = R"(
gpu.module @k {
  gpu.func @f(%x: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %v = memref.load %x[%c0] : memref<?xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %x[%c0] : memref<?xf32>
    gpu.return
  }
})";

/// No vendor's device has these, and LLVM ends the process: fatally, or by
/// running into code that it holds unreachable.
const char *const fatal = R"(
gpu.module @k {
  llvm.func @f(%p: !llvm.ptr) attributes {gpu.kernel} {
    %v = llvm.call_intrinsic "llvm.vscale.i32"() : () -> i32
    llvm.store %v, %p : i32, !llvm.ptr
    llvm.return
  }
})";
const char *const crashing = R"(
gpu.module @k {
  llvm.func @f(%p: !llvm.ptr) attributes {gpu.kernel} {
    %z = llvm.mlir.constant(0 : i32) : i32
    %v = llvm.call_intrinsic "llvm.frameaddress.p0"(%z) : (i32) -> !llvm.ptr
    llvm.store %v, %p : !llvm.ptr, !llvm.ptr
    llvm.return
  }
})";

struct Case {
  const char *program;
  std::string target, expected;
};
const std::vector<Case> cases = {
    {right, "nvptx:sm_90", "fine"},
    {fatal, "nvptx:sm_90", "LLVM cannot generate code for @f: Cannot select"},
    {right, "amdgcn:gfx90a", "fine"},
    {fatal, "amdgcn:gfx90a", "LLVM cannot generate code for @f: Cannot select"},
    {crashing, "amdgcn:gfx90a",
     "LLVM cannot generate code: LLVM's code generator crashed"},
};

void check(const Case &one) {
  std::string said = compile(one.program, one.target);
  EXPECT_NE(said.find(one.expected), std::string::npos)
      << one.target << one.program << "\nsaid: " << said;
}

TEST(FatalErrors, OneAfterTheOther) {
  for (int round = 0; round < 3; ++round)
    for (const Case &one : cases)
      check(one);
}

TEST(FatalErrors, InManyThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([i] {
      for (size_t j = 0; j < cases.size(); ++j)
        check(cases[(i + j) % cases.size()]);
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// The handler is LLVM's one, and goes when nobody compiles.
TEST(FatalErrors, LeaveNoHandler) {
  check(cases[1]);
  llvm::install_fatal_error_handler(
      [](void *, const char *reason, bool) {
        fprintf(stderr, "handled: %s\n", reason);
        _exit(7);
      },
      nullptr);
  EXPECT_EXIT(llvm::report_fatal_error("of the program's own"),
              testing::ExitedWithCode(7), "handled: of the program's own");
  llvm::remove_fatal_error_handler();
}

} // namespace

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
/// LeakSanitizer asks: what LLVM held when it gave up is kept with its thread.
extern "C" int __lsan_is_turned_off();
extern "C" int __lsan_is_turned_off() { return 1; }
#endif
#endif

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  int result = RUN_ALL_TESTS();
  // Where a fatal error left its mark in LLVM's lists this ended badly.
  llvm::llvm_shutdown();
  return result;
}
