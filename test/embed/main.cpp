//===- main.cpp - A compiler that embeds gpu-async --------------*- C++ -*-===//
//
// Part of gpu-async, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes a program with a builder, lowers it, runs it with LLJIT, and gets an
// error of the running program as a value. Lowers a program of tensors, too.
//===----------------------------------------------------------------------===//

#include "GPUAsync/InitAll.h"
#include "GPUAsync/Kernels/Common/DataLayout.h"
#include "GPUAsync/Pipelines/Pipelines.h"
#include "gpuasync/Context.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/TargetSelect.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>

using namespace mlir;

/// Makes
///
///   func @increment(%host: memref<?xi32>)
///
/// which copies `host` to the device, adds one to each element, asserting that
/// it is not negative, and copies it back.
static OwningOpRef<ModuleOp> makeProgram(MLIRContext *context) {
  OpBuilder b(context);
  Location loc = FileLineColLoc::get(context, "made-by-a-builder", 1, 1);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  b.setInsertionPointToEnd(module->getBody());

  auto buffer = MemRefType::get({ShapedType::kDynamic}, b.getI32Type());
  auto token = gpu::AsyncTokenType::get(context);
  auto function = func::FuncOp::create(b, loc, "increment",
                                       b.getFunctionType({buffer}, {}));
  b.setInsertionPointToStart(function.addEntryBlock());
  Value host = function.getArgument(0);
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  Value size = memref::DimOp::create(b, loc, host, zero);

  Value ready =
      gpu::WaitOp::create(b, loc, token, ValueRange{}).getAsyncToken();
  auto alloc = gpu::AllocOp::create(b, loc, buffer, token, ValueRange{ready},
                                    ValueRange{size}, ValueRange{});
  Value device = alloc.getMemref();
  Value up = gpu::MemcpyOp::create(
                 b, loc, token, ValueRange{alloc.getAsyncToken()}, device, host)
                 .getAsyncToken();
  auto launch = gpu::LaunchOp::create(b, loc, size, one, one, one, one, one,
                                      /*dynamicSharedMemorySize=*/Value(),
                                      token, ValueRange{up});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(&launch.getBody().front());
    Value index = launch.getBlockIds().x;
    Value value = memref::LoadOp::create(b, loc, device, ValueRange{index});
    Value least = arith::ConstantIntOp::create(b, loc, 0, 32);
    Value good =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, value, least);
    cf::AssertOp::create(b, loc, good, "an element is negative");
    Value step = arith::ConstantIntOp::create(b, loc, 1, 32);
    Value sum = arith::AddIOp::create(b, loc, value, step);
    memref::StoreOp::create(b, loc, sum, device, ValueRange{index});
    gpu::TerminatorOp::create(b, loc);
  }
  Value down =
      gpu::MemcpyOp::create(b, loc, token, ValueRange{launch.getAsyncToken()},
                            host, device)
          .getAsyncToken();
  Value freed = gpu::DeallocOp::create(b, loc, token, ValueRange{down}, device)
                    .getAsyncToken();
  gpu::WaitOp::create(b, loc, Type(), ValueRange{freed});
  func::ReturnOp::create(b, loc);
  return module;
}

/// What `@increment` is after lowering with on-error=status: a memref is the
/// scalars of its descriptor.
using Increment = gpuasync_status *(int32_t *, int32_t *, int64_t, int64_t,
                                    int64_t);

template <typename T>
static T orDie(llvm::Expected<T> value) {
  if (!value) {
    llvm::errs() << llvm::toString(value.takeError()) << "\n";
    std::exit(1);
  }
  return std::move(*value);
}

static void check(bool good, const char *what) {
  if (good)
    return;
  std::fprintf(stderr, "failed: %s\n", what);
  std::exit(1);
}

/// Lowers a product of tensors, whose kernels are the pipeline's own.
static void lowerTensors(MLIRContext *context) {
  OpBuilder b(context);
  Location loc = UnknownLoc::get(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  b.setInsertionPointToEnd(module->getBody());
  auto type = RankedTensorType::get({40, 40}, b.getF32Type());
  auto function = func::FuncOp::create(b, loc, "product",
                                       b.getFunctionType({type, type}, {type}));
  b.setInsertionPointToStart(function.addEntryBlock());
  Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
  Value empty = tensor::EmptyOp::create(b, loc, type, ValueRange{});
  Value sums = linalg::FillOp::create(b, loc, zero, empty).getResult(0);
  auto product =
      linalg::MatmulOp::create(b, loc, function.getArguments(), sums);
  func::ReturnOp::create(b, loc, product.getResult(0));

  PassManager passes(context);
  mlir::gpuasync::GPUAsyncPipelineOptions options;
  options.targets.push_back("cpu");
  mlir::gpuasync::buildGPUAsyncPipeline(passes, options);
  check(succeeded(passes.run(*module)), "tensors are lowered");
  bool runs = false;
  module->walk([&](LLVM::CallOp call) {
    runs |= call.getCallee() && call.getCallee()->contains("region_run");
  });
  check(runs, "the product is a kernel's");
}

int main() {
  DialectRegistry registry;
  mlir::gpuasync::registerAllGPUAsyncDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();

  lowerTensors(&context);

  OwningOpRef<ModuleOp> module = makeProgram(&context);
  check(succeeded(verify(*module)), "the program is valid");

  PassManager passes(&context);
  mlir::gpuasync::GPUAsyncPipelineOptions options;
  options.targets.push_back("cpu");
  options.onError = mlir::gpuasync::OnError::Status;
  mlir::gpuasync::buildGPUAsyncPipeline(passes, options);
  check(succeeded(passes.run(*module)), "the program is lowered");

  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto jit = orDie(llvm::orc::LLJITBuilder().create());
  // Sizes and offsets that are constant are folded by the translation.
  mlir::gpuasync::setDataLayout(*module, jit->getDataLayout());
  auto llvmContext = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> llvmModule =
      translateModuleToLLVMIR(*module, *llvmContext);
  check(llvmModule != nullptr, "the program is translated");
  // The runtime's functions are found in this process, which links it.
  jit->getMainJITDylib().addGenerator(
      orDie(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
          jit->getDataLayout().getGlobalPrefix())));
  check(!jit->addIRModule(llvm::orc::ThreadSafeModule(
            std::move(llvmModule),
            llvm::orc::ThreadSafeContext(std::move(llvmContext)))),
        "the program is added to the JIT");
  auto *increment = orDie(jit->lookup("increment")).toPtr<Increment *>();

  ::gpuasync::Context cpu;
  check(::gpuasync::Context::open("cpu", cpu).ok(), "the cpu device is there");
  ::gpuasync::ContextScope scope(cpu);

  int32_t data[1000];
  std::iota(std::begin(data), std::end(data), 0);
  check(::gpuasync::Status(increment(data, data, 0, 1000, 1)).ok(), "it runs");
  for (int32_t i = 0; i < 1000; ++i)
    check(data[i] == i + 1, "the result is right");
  std::puts("1000 elements incremented");

  data[500] = -7;
  ::gpuasync::Status status(increment(data, data, 0, 1000, 1));
  check(status.code() == GPUASYNC_KERNEL_ASSERT, "the assert is an error");
  check(std::strstr(status.message(), "an element is negative"),
        "the error says which assert it was");
  std::printf("error as a value: %s\n", status.message());

  // The program's code and constant data go away with the JIT.
  ::gpuasync::Status closed(gpuasync_shutdown());
  std::printf("shutdown: %s\n", closed.ok() ? "ok" : closed.message());
  return 0;
}
