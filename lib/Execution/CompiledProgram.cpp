//===- CompiledProgram.cpp - Compiled programs as bytes -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes of a program are a list of strings, each after its length as eight
// bytes, least first.
//===----------------------------------------------------------------------===//

#include "Execution/CompiledProgram.h"
#include "Execution/Types.h"

#include "GPUAsync/Kernels/Passes.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Endian.h"
#include "llvm/TargetParser/Host.h"

using namespace llvm;

namespace gpuexec {

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

static void addString(std::string &bytes, StringRef text) {
  char length[8];
  support::endian::write64le(length, text.size());
  bytes.append(length, sizeof(length));
  bytes.append(text.data(), text.size());
}

static void addList(std::string &bytes, ArrayRef<std::string> list) {
  addString(bytes, std::to_string(list.size()));
  for (const std::string &text : list)
    addString(bytes, text);
}

static bool takeString(StringRef &bytes, StringRef &text) {
  if (bytes.size() < 8)
    return false;
  uint64_t length = support::endian::read64le(bytes.data());
  bytes = bytes.drop_front(8);
  if (length > bytes.size())
    return false;
  text = bytes.take_front(length);
  bytes = bytes.drop_front(length);
  return true;
}

static bool takeList(StringRef &bytes, std::vector<std::string> &list) {
  StringRef text;
  uint64_t count = 0;
  if (!takeString(bytes, text) || text.getAsInteger(10, count))
    return false;
  for (; count; --count) {
    if (!takeString(bytes, text))
      return false;
    list.push_back(text.str());
  }
  return true;
}

/// The lists of a function, in their order.
template <typename Function, typename Visit>
static bool forEachList(Function &function, Visit visit) {
  return visit(function.arguments) && visit(function.results) &&
         visit(function.destinations) && visit(function.takes) &&
         visit(function.donated) && visit(function.sizeRules) &&
         visit(function.schedule);
}

std::string toBytes(const CompiledProgram &program) {
  std::string bytes;
  addString(bytes, std::to_string(program.functions.size()));
  for (const CompiledFunction &function : program.functions) {
    addString(bytes, function.name);
    forEachList(function, [&](const std::vector<std::string> &list) {
      addList(bytes, list);
      return true;
    });
  }
  addString(bytes, program.said);
  addString(bytes, program.object->getBuffer());
  return bytes;
}

std::optional<CompiledProgram> fromBytes(StringRef bytes) {
  CompiledProgram program;
  StringRef text, said, object;
  uint64_t count = 0;
  if (!takeString(bytes, text) || text.getAsInteger(10, count))
    return std::nullopt;
  for (; count; --count) {
    if (!takeString(bytes, text))
      return std::nullopt;
    CompiledFunction &function = program.functions.emplace_back();
    function.name = text.str();
    if (!forEachList(function, [&](std::vector<std::string> &list) {
          return takeList(bytes, list);
        }))
      return std::nullopt;
  }
  if (!takeString(bytes, said) || !takeString(bytes, object) || !bytes.empty())
    return std::nullopt;
  program.said = said.str();
  // A copy, which is aligned.
  program.object = MemoryBuffer::getMemBufferCopy(object, "cached program");
  return program;
}

//===----------------------------------------------------------------------===//
// Signatures
//===----------------------------------------------------------------------===//

/// Reads a list of numbers.
template <typename Number>
static bool parseNumbers(ArrayRef<std::string> texts,
                         SmallVectorImpl<Number> &numbers) {
  return all_of(texts, [&](StringRef text) {
    return !text.getAsInteger(10, numbers.emplace_back());
  });
}

std::optional<Signature> parseSignature(mlir::MLIRContext &context,
                                        const CompiledFunction &function) {
  // Texts that are no types here are no error of the user's.
  mlir::ScopedDiagnosticHandler quiet(
      &context, [](mlir::Diagnostic &) { return mlir::success(); });
  context.loadDialect<mlir::LLVM::LLVMDialect>();
  Signature signature;
  signature.name = function.name;
  auto parse = [&](ArrayRef<std::string> texts,
                   SmallVector<mlir::Type> &types) {
    for (const std::string &text : texts) {
      mlir::Type type = mlir::parseType(text, &context);
      if (!type)
        return false;
      types.push_back(type);
    }
    return true;
  };
  if (!parse(function.arguments, signature.arguments) ||
      !parse(function.results, signature.results) ||
      function.destinations.size() != function.results.size() ||
      function.takes.size() != function.results.size() ||
      !parseNumbers(function.destinations, signature.destinations) ||
      !parseNumbers(function.takes, signature.takes) ||
      !parseNumbers(function.donated, signature.donated))
    return std::nullopt;
  const auto count = int64_t(signature.arguments.size());
  if (any_of(signature.takes, [&](int64_t each) { return each >= count; }) ||
      any_of(signature.donated, [&](unsigned each) { return each >= count; }))
    return std::nullopt;
  ArrayRef<std::string> texts = function.sizeRules;
  for (; texts.size() >= 5; texts = texts.drop_front(5)) {
    SizeRule &rule = signature.sizeRules.emplace_back();
    int64_t *fields[] = {&rule.argument, &rule.dimension, &rule.other,
                         &rule.size};
    for (auto [text, field] : zip(texts.take_front(4), fields))
      if (StringRef(text).getAsInteger(10, *field))
        return std::nullopt;
    rule.op = texts[4];
  }
  return signature;
}

std::optional<CompiledFunction> printSignature(const Signature &signature) {
  CompiledFunction function;
  function.name = signature.name;
  for (mlir::Type type : signature.arguments)
    function.arguments.push_back(typeText(type));
  for (mlir::Type type : signature.results)
    function.results.push_back(typeText(type));
  for (int64_t destination : signature.destinations)
    function.destinations.push_back(std::to_string(destination));
  for (int64_t argument : signature.takes)
    function.takes.push_back(std::to_string(argument));
  for (unsigned argument : signature.donated)
    function.donated.push_back(std::to_string(argument));
  for (const SizeRule &rule : signature.sizeRules) {
    for (int64_t field : {rule.argument, rule.dimension, rule.other, rule.size})
      function.sizeRules.push_back(std::to_string(field));
    function.sizeRules.push_back(rule.op);
  }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::optional<Signature> parsed = parseSignature(context, function);
  auto same = [](ArrayRef<mlir::Type> types, ArrayRef<std::string> texts) {
    return all_of(zip(types, texts), [](auto pair) {
      return typeText(std::get<0>(pair)) == std::get<1>(pair);
    });
  };
  if (!parsed || !same(parsed->arguments, function.arguments) ||
      !same(parsed->results, function.results))
    return std::nullopt;
  return function;
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

void addMachine(gpuasync::KeyBuilder &key) {
  key.add("processor", sys::getProcessTriple())
      .add("processor", sys::getHostCPUName());
  StringMap<bool> features = sys::getHostCPUFeatures();
  SmallVector<StringRef> names;
  for (auto &feature : features)
    if (feature.second)
      names.push_back(feature.first());
  sort(names);
  for (StringRef feature : names)
    key.add("feature", feature);
  for (const std::string &file : mlir::gpuasync::findKernelToolchains())
    key.addFile(file.c_str());
}

gpuasync_digest programKey(gpuasync::KeyBuilder job,
                           ArrayRef<std::string> targets) {
  for (const std::string &target : targets)
    job.add("target", target);
  return job.key();
}

} // namespace gpuexec
