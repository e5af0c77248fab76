//===- main.cpp - A compiler with device work of its own --------*- C++ -*-===//
//
// Part of gpu-async, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Takes a program with ops of another dialect through the whole pipeline, looks
// at what the passes know of them, and runs it, with the checker and without.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Conversion/RuntimeLowerings.h"
#include "GPUAsync/InitAll.h"
#include "GPUAsync/Kernels/Common/DataLayout.h"
#include "GPUAsync/Kernels/Passes.h"
#include "GPUAsync/Pipelines/Pipelines.h"
#include "gpuasync/Check.h"
#include "gpuasync/Context.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/TargetSelect.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <vector>

#include "EmbedDialect.h.inc"
#define GET_OP_CLASSES
#include "EmbedOps.h.inc"

using namespace mlir;
namespace ga = mlir::gpuasync;
using mlir::gpuasync::parseOrder;
using mlir::gpuasync::printOrder;

#include "EmbedDialect.cpp.inc"
#define GET_OP_CLASSES
#include "EmbedOps.cpp.inc"

//===----------------------------------------------------------------------===//
// The dialect
//===----------------------------------------------------------------------===//

void embed::EmbedDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "EmbedOps.cpp.inc"
      >();
}

/// Only the rectangle is written.
void embed::FillOp::getWorkAccesses(SmallVectorImpl<ga::WorkAccess> &accesses) {
  ga::WorkAccess &access =
      accesses.emplace_back(ga::WorkAccess{&getMemoryMutable()});
  access.writes = true;
  Builder b(getContext());
  access.offsets = {getRow(), getColumn()};
  access.sizes = {getRows(), getColumns()};
  access.strides = {b.getIndexAttr(1), b.getIndexAttr(1)};
}

void embed::AxpyOp::getWorkAccesses(SmallVectorImpl<ga::WorkAccess> &accesses) {
  accesses.push_back({&getXMutable(), /*reads=*/true});
  accesses.push_back({&getYMutable(), /*reads=*/true, /*writes=*/true});
}

//===----------------------------------------------------------------------===//
// Its lowering
//===----------------------------------------------------------------------===//

namespace {

struct LowerFill : ga::OpLowering {
  using OpLowering::OpLowering;

  LogicalResult lower(embed::FillOp fill) {
    Value memory = fill.getMemory();
    FailureOr<int64_t> bytes = elementBytes(cast<MemRefType>(memory.getType()));
    if (failed(bytes))
      return failure();
    return emit(ga::Command("gpuasync_memset_strided")
                    .addStream()
                    .add(getAddress(memory, {fill.getRow(), fill.getColumn()}))
                    .add(storeStrides(memory))
                    .add(storeIndices({fill.getRows(), fill.getColumns()}))
                    .add(int32Attr(2))
                    .add(storePattern(fill.getValue(), *bytes))
                    .add(int32Attr(*bytes))
                    .addSite());
  }
  std::optional<ga::CommandShape> getShape(embed::FillOp fill) {
    return ga::CommandShape::fillStrided(/*rank=*/2).on(fill.getMemory());
  }
};

struct LowerAxpy : ga::OpLowering {
  using OpLowering::OpLowering;

  LogicalResult lower(embed::AxpyOp axpy) {
    return callLibrary(FlatSymbolRefAttr::get(axpy.getContext(), "embed_axpy"),
                       {axpy.getX(), axpy.getY(), axpy.getAlpha()});
  }
  std::optional<ga::CommandShape> getShape(embed::AxpyOp axpy) {
    return ga::CommandShape::call(
        axpy, FlatSymbolRefAttr::get(axpy.getContext(), "embed_axpy"),
        {axpy.getX(), axpy.getY(), axpy.getAlpha()});
  }
};

struct EmbedLowerings : ga::RuntimeLoweringInterface {
  using RuntimeLoweringInterface::RuntimeLoweringInterface;

  void populate(ga::RuntimeLowerings &lowerings) const override {
    lowerings.add<LowerFill, LowerAxpy>();
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

namespace {
struct Axpy {
  const float *x;
  float *y;
  int64_t rows, columns, xStrides[2], yStrides[2];
  float alpha;
};
} // namespace

static int32_t axpyOnHost(void *arguments) {
  auto *axpy = static_cast<Axpy *>(arguments);
  for (int64_t i = 0; i < axpy->rows; ++i)
    for (int64_t j = 0; j < axpy->columns; ++j)
      axpy->y[i * axpy->yStrides[0] + j * axpy->yStrides[1]] +=
          axpy->alpha * axpy->x[i * axpy->xStrides[0] + j * axpy->xStrides[1]];
  return 0;
}

/// A memref is the scalars of its descriptor.
extern "C" int32_t embed_axpy(const gpuasync_call *call, float *, float *x,
                              int64_t xOffset, int64_t rows, int64_t columns,
                              int64_t xOuter, int64_t xInner, float *, float *y,
                              int64_t yOffset, int64_t, int64_t, int64_t yOuter,
                              int64_t yInner, float alpha) {
  Axpy axpy{x + xOffset,      y + yOffset,      rows, columns,
            {xOuter, xInner}, {yOuter, yInner}, alpha};
  gpuasync_status *status =
      gpuasync_stream_enqueue_host(static_cast<gpuasync_stream *>(call->stream),
                                   axpyOnHost, &axpy, sizeof(axpy));
  if (!status)
    return 0;
  call->report(call, gpuasync_status_get_message(status));
  gpuasync_status_free(status);
  return 1;
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

/// The two fills are of parts of one matrix that have no element in common.
constexpr const char *program = R"mlir(
func.func @run(%host: memref<8x8xf32>, %column: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %ten = arith.constant 10.0 : f32
  %x = gpu_async.alloc () : memref<8x8xf32>
  %y = gpu_async.alloc () : memref<8x8xf32>
  gpu_async.memcpy %x, %host : memref<8x8xf32>, memref<8x8xf32>
  gpu_async.memset %y, %one : memref<8x8xf32>, f32
  embed.fill %x[%c0, %column] [%c2, %c4], %one : memref<8x8xf32>
  embed.fill %x[%c4, %c1] [%c4, %c2], %two : memref<8x8xf32>
  embed.axpy %x, %y, %ten : memref<8x8xf32>, memref<8x8xf32>
  gpu_async.memcpy %host, %y : memref<8x8xf32>, memref<8x8xf32>
  gpu_async.dealloc %x : memref<8x8xf32>
  gpu_async.dealloc %y : memref<8x8xf32>
  return
}
)mlir";

using Run = gpuasync_status *(float *, float *, int64_t, int64_t, int64_t,
                              int64_t, int64_t, int64_t);

static void check(bool good, const char *what) {
  if (good)
    return;
  std::fprintf(stderr, "failed: %s\n", what);
  std::exit(1);
}

template <typename T>
static T orDie(llvm::Expected<T> value) {
  if (!value) {
    llvm::errs() << llvm::toString(value.takeError()) << "\n";
    std::exit(1);
  }
  return std::move(*value);
}

/// Checks what the passes made of the program.
static void inspect(ModuleOp module) {
  SmallVector<embed::FillOp> fills;
  SmallVector<embed::AxpyOp> calls;
  bool inRegion = true;
  module.walk([&](ga::WorkOpInterface work) {
    if (auto fill = dyn_cast<embed::FillOp>(*work))
      fills.push_back(fill);
    if (auto axpy = dyn_cast<embed::AxpyOp>(*work))
      calls.push_back(axpy);
    if (work->getDialect()->getNamespace() == "embed")
      inRegion &= work->getParentOfType<ga::RegionOp>() != nullptr;
  });
  check(fills.size() == 2 && calls.size() == 1, "all ops are there");
  check(inRegion, "the ops are in a region");
  auto waitsFor = [](ga::WorkOpInterface later, ga::WorkOpInterface earlier) {
    return later.getAfter() &&
           llvm::is_contained(*later.getAfter(), int64_t(*earlier.getId()));
  };
  check(!waitsFor(fills[1], fills[0]), "parts that differ are not ordered");
  check(waitsFor(calls[0], fills[0]) && waitsFor(calls[0], fills[1]),
        "the call waits for both fills");
  unsigned windows = 0, allocations = 0;
  module.walk([&](Operation *op) {
    windows += isa<ga::WindowOp>(op);
    allocations += isa<ga::AllocOp>(op);
  });
  check(windows == 2 && allocations == 1, "the two allocations are planned");
}

static void lower(ModuleOp module, bool checked) {
  ga::GPUAsyncPipelineOptions options;
  options.targets.push_back("cpu");
  options.onError = ga::OnError::Status;
  options.check = checked;
  PassManager front(module.getContext());
  ga::buildTokenFormPipeline(front, options);
  ga::buildLinearFormPipeline(front, options);
  ga::buildStreamFormPipeline(front, options);
  check(succeeded(front.run(module)), "the program gets streams");
  inspect(module);
  PassManager back(module.getContext());
  if (checked)
    back.addPass(ga::createGPUAsyncInstrumentAccesses());
  ga::buildRuntimeFormPipeline(back, options);
  check(succeeded(back.run(module)), "the program is lowered");
  unsigned told = 0;
  module.walk([&](LLVM::CallOp call) {
    told += call.getCallee() == "gpuasync_check_operand";
  });
  check(told == (checked ? 2 : 0), "the checker is told of both operands");
  unsigned runs = 0, single = 0;
  module.walk([&](LLVM::CallOp call) {
    StringRef callee = call.getCallee().value_or("");
    runs += callee == "gpuasync_region_run";
    single += callee == "gpuasync_memset_strided" ||
              callee == "gpuasync_call_replayable";
  });
  check(checked || (runs == 1 && single == 0), "the region is one fragment");
}

/// The checker, a library beside the runtime's.
static struct {
  decltype(&gpuasync_check_start) start;
  decltype(&gpuasync_check_find) find;
  decltype(&gpuasync_check_finish) finish;
} checker;

static void openChecker() {
  Dl_info runtime;
  check(dladdr(reinterpret_cast<void *>(&gpuasync_launch), &runtime),
        "the runtime is a library");
  std::string path = runtime.dli_fname;
  path.resize(path.rfind('/') + 1);
  path += "libgpuasync_check.so";
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  check(library, "the checker is there");
  auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(
        dlsym(library, name));
    check(function, name);
  };
  find(checker.start, "gpuasync_check_start");
  find(checker.find, "gpuasync_check_find");
  find(checker.finish, "gpuasync_check_finish");
}

static unsigned reports;
/// Programs stay until the runtime ends.
static std::vector<std::unique_ptr<llvm::orc::LLJIT>> jits;

/// Runs the program with the first fill at a column: 8 columns are there.
static gpuasync_status *run(MLIRContext &context, bool checked, int64_t column,
                            float *data) {
  auto module = parseSourceString<ModuleOp>(program, &context);
  check(static_cast<bool>(module), "the program is read");
  lower(*module, checked);

  std::unique_ptr<llvm::orc::LLJIT> &jit =
      jits.emplace_back(orDie(llvm::orc::LLJITBuilder().create()));
  ga::setDataLayout(*module, jit->getDataLayout());
  auto llvmContext = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> llvmModule =
      translateModuleToLLVMIR(*module, *llvmContext);
  check(llvmModule != nullptr, "the program is translated");
  // The checker's entries stand in for the runtime's.
  llvm::orc::SymbolMap symbols;
  auto define = [&](StringRef name, void *address) {
    symbols[jit->mangleAndIntern(name)] = {
        llvm::orc::ExecutorAddr::fromPtr(address),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  };
  define("embed_axpy", reinterpret_cast<void *>(&embed_axpy));
  if (checked)
    for (const llvm::Function &function : *llvmModule)
      if (function.isDeclaration())
        if (void *entry = checker.find(function.getName().str().c_str()))
          define(function.getName(), entry);
  cantFail(jit->getMainJITDylib().define(
      llvm::orc::absoluteSymbols(std::move(symbols))));
  jit->getMainJITDylib().addGenerator(
      orDie(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
          jit->getDataLayout().getGlobalPrefix())));
  cantFail(jit->addIRModule(llvm::orc::ThreadSafeModule(
      std::move(llvmModule),
      llvm::orc::ThreadSafeContext(std::move(llvmContext)))));
  auto *function = orDie(jit->lookup("run")).toPtr<Run *>();

  ::gpuasync::Context cpu;
  check(::gpuasync::Context::open("cpu", cpu).ok(), "the cpu device is there");
  ::gpuasync::ContextScope scope(cpu);
  reports = 0;
  if (checked)
    checker.start([](void *, const char *) { ++reports; }, nullptr);
  gpuasync_status *status = function(data, data, 0, 8, 8, 8, 1, column);
  if (checked)
    checker.finish(nullptr);
  return status;
}

int main() {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  DialectRegistry registry;
  ga::registerAllGPUAsyncDialects(registry);
  registry.insert<embed::EmbedDialect>();
  registry.addExtension(
      +[](MLIRContext *context, embed::EmbedDialect *dialect) {
        dialect->addInterfaces<EmbedLowerings>();
      });
  MLIRContext context(registry);
  context.loadAllAvailableDialects();

  openChecker();
  for (bool checked : {false, true}) {
    float data[8][8];
    for (int i = 0; i < 64; ++i)
      data[i / 8][i % 8] = float(i);
    check(::gpuasync::Status(run(context, checked, 3, data[0])).ok(),
          "the program runs");
    check(reports == 0, "the checker finds nothing");
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 8; ++j) {
        bool first = i < 2 && j >= 3 && j < 7;
        bool second = i >= 4 && j >= 1 && j < 3;
        float x = first ? 1 : second ? 2 : float(8 * i + j);
        check(data[i][j] == 1 + 10 * x, "the result is right");
      }
  }
  float data[8][8] = {};
  ::gpuasync::Status outside(run(context, /*checked=*/false, 6, data[0]));
  check(std::strstr(outside.message(), "leaves its memory"),
        "a fill that leaves the matrix is an error");
  check(::gpuasync::Status(gpuasync_shutdown()).ok(), "the runtime ends");
  std::puts("a dialect's own fill and axpy are right");
  return 0;
}
