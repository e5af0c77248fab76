//===- AddOption.cpp - Asks every tool for an option ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A main that add-option.py links with the parsers of a changed copy of the
// sources.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Pipelines/Pipelines.h"
#include "Library/Options.h"
#include "Options.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace llvm;
using namespace gpuexec;
using mlir::gpuasync::GPUAsyncPipelineOptions;

/// The passes with their options.
static std::string passesOf(const CompileOptions &options) {
  GPUAsyncPipelineOptions pipeline;
  copyOptions(options, pipeline);
  mlir::OpPassManager pm("builtin.module");
  mlir::gpuasync::buildGPUAsyncPipeline(pm, pipeline);
  std::string text;
  raw_string_ostream os(text);
  pm.printAsTextualPipeline(os);
  return text;
}

static bool isSameKey(const CompileOptions &a, const CompileOptions &b) {
  gpuasync::KeyBuilder keys[2];
  addOptions(keys[0], a);
  addOptions(keys[1], b);
  gpuasync_digest first = keys[0].key(), second = keys[1].key();
  return std::memcmp(&first, &second, sizeof(first)) == 0;
}

static void askRunner(const char *argument) {
  char name[] = "gpu-runner", file[] = "f.mlir";
  std::string word = argument;
  char *arguments[] = {name, word.data(), file};
  outs() << "gpu-runner " << argument << ": ";
  Expected<gpurunner::Options> options = gpurunner::parseOptions(3, arguments);
  if (options)
    outs() << mlir::gpuasync::getWord(*options->compile.probe) << "\n";
  else
    outs() << toString(options.takeError()) << "\n";
}

static void askLibrary(const char *word) {
  outs() << "libgpuasync " << word << ": ";
  Expected<LibraryOptions> options = parseLibraryOptions(word);
  if (options)
    outs() << mlir::gpuasync::getWord(*options->compile.probe) << "\n";
  else
    outs() << toString(options.takeError()) << "\n";
}

int main() {
  askRunner("--probe=on");
  askRunner("--probe=up");
  std::string help = gpurunner::helpText();
  outs() << StringRef(help).substr(help.find("  --probe")).split('\n').first
         << "\n";
  askLibrary("probe=on");
  askLibrary("probe=up");
  askLibrary("prob=on");
  GPUAsyncPipelineOptions pipeline;
  if (mlir::failed(pipeline.parseFromString("probe=on")))
    return 1;
  outs() << "pipeline probe=on: "
         << mlir::gpuasync::getWord(pipeline.probe.getValue()) << "\n";

  // The passes say which options have to be in the key, whatever their marks.
  std::string keyed, missing;
  const CompileOptions plain;
  for (const OptionRow &row : allOptions()) {
    if (row.kind != OptionKind::Common)
      continue;
    SmallVector<StringRef> values;
    StringRef(row.words).split(values, '|', -1, /*KeepEmpty=*/false);
    if (values.empty())
      values = {row.isFlag ? "true" : "1"};
    bool changesPasses = false, isKeyed = false;
    for (StringRef value : values) {
      CompileOptions other;
      if (setOption(other, row.name, value))
        return 1;
      isKeyed |= !isSameKey(plain, other);
      if (passesOf(plain) == passesOf(other))
        continue;
      changesPasses = true;
      if (isSameKey(plain, other))
        missing +=
            (row.name + " changes the passes, but is not in the key\n").str();
    }
    if (!changesPasses)
      missing += (row.name + " changes no pass\n").str();
    if (isKeyed)
      keyed += (" " + row.name).str();
  }
  // No test can try what each of the others does: their names are listed.
  std::string others;
  for (const OptionRow &row : allOptions())
    if (!row.changesCode && row.kind != OptionKind::Pipeline)
      others += (" " + row.name).str();
  outs() << "in the key:" << keyed << "\nnot in the key:" << others << "\n"
         << missing;
}
