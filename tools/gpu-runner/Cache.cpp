//===- Cache.cpp - Compiled programs in the disk cache --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes of a program are a list of strings, each after its length as eight
// bytes, least first.
//===----------------------------------------------------------------------===//

#include "Cache.h"
#include "Values.h"

#include "GPUAsync/Kernels/Passes.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Endian.h"
#include "llvm/TargetParser/Host.h"

using namespace llvm;

namespace gpurunner {

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

std::string toBytes(const CompiledProgram &program) {
  std::string bytes;
  addList(bytes, program.arguments);
  addList(bytes, program.results);
  addList(bytes, program.destinations);
  addList(bytes, program.sizeRules);
  addString(bytes, program.said);
  addString(bytes, program.object->getBuffer());
  return bytes;
}

std::optional<CompiledProgram> fromBytes(StringRef bytes) {
  CompiledProgram program;
  StringRef said, object;
  if (!takeList(bytes, program.arguments) ||
      !takeList(bytes, program.results) ||
      !takeList(bytes, program.destinations) ||
      !takeList(bytes, program.sizeRules) || !takeString(bytes, said) ||
      !takeString(bytes, object) || !bytes.empty())
    return std::nullopt;
  program.said = said.str();
  // A copy, which is aligned.
  program.object = MemoryBuffer::getMemBufferCopy(object, "cached program");
  return program;
}

//===----------------------------------------------------------------------===//
// Signatures
//===----------------------------------------------------------------------===//

std::optional<Signature> parseSignature(mlir::MLIRContext &context,
                                        StringRef name,
                                        const CompiledProgram &program) {
  // Texts that are no types here are no error of the user's.
  mlir::ScopedDiagnosticHandler quiet(
      &context, [](mlir::Diagnostic &) { return mlir::success(); });
  context.loadDialect<mlir::LLVM::LLVMDialect>();
  Signature signature;
  signature.name = name.str();
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
  if (!parse(program.arguments, signature.arguments) ||
      !parse(program.results, signature.results) ||
      program.destinations.size() != program.results.size())
    return std::nullopt;
  for (StringRef text : program.destinations)
    if (text.getAsInteger(10, signature.destinations.emplace_back()))
      return std::nullopt;
  ArrayRef<std::string> texts = program.sizeRules;
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

bool printSignature(const Signature &signature, CompiledProgram &program) {
  for (mlir::Type type : signature.arguments)
    program.arguments.push_back(typeText(type));
  for (mlir::Type type : signature.results)
    program.results.push_back(typeText(type));
  for (int64_t destination : signature.destinations)
    program.destinations.push_back(std::to_string(destination));
  for (const SizeRule &rule : signature.sizeRules) {
    for (int64_t field : {rule.argument, rule.dimension, rule.other, rule.size})
      program.sizeRules.push_back(std::to_string(field));
    program.sizeRules.push_back(rule.op);
  }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::optional<Signature> parsed =
      parseSignature(context, signature.name, program);
  auto same = [](ArrayRef<mlir::Type> types, ArrayRef<std::string> texts) {
    return all_of(zip(types, texts), [](auto pair) {
      return typeText(std::get<0>(pair)) == std::get<1>(pair);
    });
  };
  return parsed && same(parsed->arguments, program.arguments) &&
         same(parsed->results, program.results);
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

gpuasync::KeyBuilder jobKey(const Options &options, StringRef name,
                            StringRef input) {
  gpuasync::KeyBuilder key;
  key.add("tool", "gpu-runner " GPUASYNC_VERSION ", LLVM " LLVM_VERSION_STRING)
      .addCode();
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

  // The name is in the line tables and in the messages of errors.
  key.add("file name", name)
      .add("input", input)
      .add("entry point", options.entryPoint)
      .add("result", options.entryPointResult)
      .add("level", options.optLevel)
      .add("check", unsigned(options.check))
      .add("offload", mlir::gpuasync::getWord(options.offload))
      .add("place", mlir::gpuasync::getWord(options.place))
      .add("blas", mlir::gpuasync::getWord(options.blas))
      .add("play", mlir::gpuasync::getWord(options.play));
  for (unsigned number : options.residents)
    key.add("resident", number);
  if (options.maxStreams)
    key.add("max streams", *options.maxStreams);
  if (options.memory)
    key.add("memory", mlir::gpuasync::getWord(*options.memory));
  if (options.subgroupSize)
    key.add("subgroup size", *options.subgroupSize);
  return key;
}

gpuasync_digest programKey(gpuasync::KeyBuilder job,
                           ArrayRef<std::string> targets) {
  for (const std::string &target : targets)
    job.add("target", target);
  return job.key();
}

} // namespace gpurunner
