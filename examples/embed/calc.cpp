//===- calc.cpp - A compiler of formulas, in C++ --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: calc 'a * (b + 1.5)' 1,2,3 4,5,6
// Builds ops of a formula over the arrays a, b, ..., lowers them by the
// pipeline for the cpu device, and calls what LLVM's LLJIT makes of it.
//===----------------------------------------------------------------------===//

#include "GPUAsync/InitAll.h"
#include "GPUAsync/Kernels/CPU/Code.h"
#include "GPUAsync/Kernels/Common/DataLayout.h"
#include "GPUAsync/Pipelines/Pipelines.h"
#include "gpuasync/Context.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <cstdio>
#include <cstdlib>

using namespace mlir;

[[noreturn]] static void die(const llvm::Twine &message) {
  llvm::errs() << "calc: " << message << "\n";
  std::exit(1);
}

template <typename T>
static T orDie(llvm::Expected<T> value) {
  if (!value)
    die(llvm::toString(value.takeError()));
  return std::move(*value);
}

/// Reads a formula and builds its ops:
/// sum = product {("+" | "-") product}, product = atom {("*" | "/") atom},
/// atom = letter | number | "(" sum ")".
class Reader {
public:
  Reader(OpBuilder &b, Location loc, Block &body, StringRef formula)
      : b(b), loc(loc), arrays(body.getArguments()), rest(formula) {
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    size = tensor::DimOp::create(b, loc, arrays[0], zero);
  }
  Value readAll() {
    Value value = readSum();
    if (!rest.empty())
      die("expected an operator at " + rest);
    return value;
  }

private:
  bool take(char letter) {
    rest = rest.ltrim();
    return rest.consume_front(StringRef(&letter, 1));
  }
  Value readSum() {
    for (Value left = readProduct();;)
      if (take('+'))
        left = arith::AddFOp::create(b, loc, left, readProduct());
      else if (take('-'))
        left = arith::SubFOp::create(b, loc, left, readProduct());
      else
        return left;
  }
  Value readProduct() {
    for (Value left = readAtom();;)
      if (take('*'))
        left = arith::MulFOp::create(b, loc, left, readAtom());
      else if (take('/'))
        left = arith::DivFOp::create(b, loc, left, readAtom());
      else
        return left;
  }
  Value readAtom() {
    for (auto [i, array] : llvm::enumerate(arrays))
      if (take(char('a' + i)))
        return array;
    if (take('(')) {
      Value value = readSum();
      if (!take(')'))
        die("expected ) at the end or at " + rest);
      return value;
    }
    StringRef digits =
        rest.take_while([](char c) { return llvm::isDigit(c) || c == '.'; });
    double number = 0;
    if (digits.getAsDouble(number))
      die("expected an array, a number or ( at the end or at " + rest);
    rest = rest.drop_front(digits.size());
    Value constant =
        arith::ConstantOp::create(b, loc, b.getF32FloatAttr(float(number)));
    return tensor::SplatOp::create(b, loc, arrays[0].getType(), constant, size);
  }

  OpBuilder &b;
  Location loc;
  ValueRange arrays;
  Value size;
  StringRef rest;
};

/// MLIR's descriptor of a `memref<?xf32>`.
struct Vector {
  float *allocated, *aligned;
  int64_t offset, size, stride;
};

int main(int argc, char **argv) {
  if (argc < 3)
    die("usage: calc FORMULA ARRAY..");
  std::vector<std::vector<float>> elements;
  for (StringRef text : ArrayRef(argv + 2, argc - 2)) {
    elements.emplace_back();
    for (StringRef number : llvm::split(text, ','))
      elements.back().push_back(std::strtof(number.str().c_str(), nullptr));
    if (elements.back().size() != elements[0].size())
      die("the arrays are not of one length: " + text);
  }

  // The program.
  DialectRegistry registry;
  mlir::gpuasync::registerAllGPUAsyncDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  OpBuilder b(&context);
  Location loc = NameLoc::get(b.getStringAttr("formula"));
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  b.setInsertionPointToEnd(module->getBody());
  auto array = RankedTensorType::get({ShapedType::kDynamic}, b.getF32Type());
  SmallVector<Type> arrays(elements.size(), array);
  auto function = func::FuncOp::create(b, loc, "formula",
                                       b.getFunctionType(arrays, {array}));
  Block *body = function.addEntryBlock();
  b.setInsertionPointToStart(body);
  Value result = Reader(b, loc, *body, argv[1]).readAll();
  func::ReturnOp::create(b, loc, result);

  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto host = orDie(llvm::orc::JITTargetMachineBuilder::detectHost());
  auto machine = orDie(host.createTargetMachine());

  // To functions that call the runtime: docs/reference/ABI.md.
  PassManager passes(&context);
  mlir::gpuasync::GPUAsyncPipelineOptions options;
  options.targets.push_back("cpu");
  options.onError = mlir::gpuasync::OnError::Status;
  options.packedWrappers = true;
  auto registers = mlir::gpuasync::getVectorRegisters(*machine);
  options.vectorRegisters = registers.count;
  options.vectorBits = registers.bits;
  mlir::gpuasync::buildGPUAsyncPipeline(passes, options);
  if (failed(passes.run(*module)))
    return 1;

  // To machine code, which finds the runtime in this process.
  auto jit = orDie(
      llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(host).create());
  mlir::gpuasync::setDataLayout(*module, jit->getDataLayout());
  auto llvmContext = std::make_unique<llvm::LLVMContext>();
  auto llvmModule = translateModuleToLLVMIR(*module, *llvmContext, "formula");
  if (!llvmModule)
    return 1;
  llvmModule->setDataLayout(jit->getDataLayout());
  llvmModule->setTargetTriple(machine->getTargetTriple());
  mlir::gpuasync::optimizeCpuCode(*llvmModule, *machine, 3,
                                  [](StringRef) { return false; });
  jit->getMainJITDylib().addGenerator(
      orDie(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
          jit->getDataLayout().getGlobalPrefix())));
  if (llvm::Error error = jit->addIRModule(llvm::orc::ThreadSafeModule(
          std::move(llvmModule), std::move(llvmContext))))
    die(llvm::toString(std::move(error)));
  auto *call =
      orDie(jit->lookup("_gpuasync_packed_formula")).toPtr<void (*)(void **)>();

  std::vector<Vector> vectors;
  for (std::vector<float> &list : elements)
    vectors.push_back({list.data(), list.data(), 0, int64_t(list.size()), 1});
  Vector y = {};
  gpuasync_status *raw = nullptr;
  std::vector<void *> packed;
  for (Vector &vector : vectors)
    packed.push_back(&vector);
  packed.insert(packed.end(), {&y, &raw});
  call(packed.data());
  if (::gpuasync::Status status(raw); !status.ok())
    die(status.message());
  for (int64_t i = 0; i < y.size; ++i)
    std::printf("%g ", y.aligned[y.offset + i * y.stride]);
  std::printf("\n");
  std::free(y.allocated);
  // Its kernels are gone before the JIT's code is.
  ::gpuasync::Status closed(gpuasync_shutdown());
  return closed.ok() ? 0 : 1;
}
