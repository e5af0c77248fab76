//===- CallFrameTest.cpp - Arguments and results of a call ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls in the place of a compiled function: what is packed where, and who
// frees what is returned, as AddressSanitizer sees.
//===----------------------------------------------------------------------===//

#include "Arguments.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

#include <cstdlib>

using namespace gpurunner;

namespace {

/// The descriptor of a memref of rank 1.
struct Descriptor {
  float *allocated, *aligned;
  int64_t offset, size, stride;
};

Descriptor makeArray(int64_t size, float first) {
  auto *data = static_cast<float *>(std::malloc(size * sizeof(float)));
  for (int64_t i = 0; i < size; ++i)
    data[i] = first + i;
  return {data, data, 0, size, 1};
}

class CallFrameTest : public testing::Test {
protected:
  void make(std::vector<const char *> arguments,
            std::vector<const char *> results, std::vector<int64_t> memory,
            std::vector<std::string> inputs) {
    Signature signature;
    signature.name = "f";
    for (const char *type : arguments)
      signature.arguments.push_back(mlir::parseType(type, &context));
    for (const char *type : results)
      signature.results.push_back(mlir::parseType(type, &context));
    llvm::Expected<CallFrame> made = CallFrame::create(signature, inputs);
    ASSERT_TRUE(bool(made)) << llvm::toString(made.takeError());
    frame = std::move(*made);
    llvm::Error error = frame.setDestinations(memory);
    ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
  }

  void **begin() {
    frame.reset();
    return frame.pack(nullptr);
  }

  std::string end() {
    if (llvm::Error error = frame.readResults())
      return llvm::toString(std::move(error));
    std::string text;
    llvm::raw_string_ostream os(text);
    std::vector<NewFile> files;
    if (llvm::Error error = frame.writeOutputs({}, os, files))
      return llvm::toString(std::move(error));
    frame.freeResults();
    return text;
  }

  mlir::MLIRContext context;
  CallFrame frame;
};

TEST_F(CallFrameTest, MemoryOfResultsLiesBetweenArguments) {
  make({"tensor<?xf32>", "i32"}, {"tensor<2xf32>", "i32", "tensor<f64>"},
       {1, -1, 3}, {"2xf32=1,2", "7"});
  for (float factor : {2.0f, 3.0f}) {
    void **packed = begin();
    auto *x = static_cast<Descriptor *>(packed[0]);
    auto *y = static_cast<Descriptor *>(packed[1]);
    auto *z = static_cast<double **>(packed[3]);
    EXPECT_EQ(x->size, 2);
    EXPECT_EQ(y->size, 2);
    EXPECT_NE(y->aligned[0], y->aligned[0]) << "it is NaN before";
    EXPECT_EQ(*static_cast<int *>(packed[2]), 7);
    for (int i = 0; i < 2; ++i)
      y->aligned[i] = factor * x->aligned[i];
    *z[1] = factor;
    *static_cast<int *>(packed[4]) = 9;
    EXPECT_EQ(packed[5], nullptr);
    EXPECT_EQ(end(), factor == 2 ? "result[0]: 2xf32=2 4\nresult[1]: i32=9\n"
                                   "result[2]: f64=2\n"
                                 : "result[0]: 2xf32=3 6\nresult[1]: i32=9\n"
                                   "result[2]: f64=3\n");
  }
}

TEST_F(CallFrameTest, ReturnedTensorsAreFreedOnce) {
  make({"tensor<?xf32>"}, {"tensor<?xf32>", "tensor<?xf32>", "tensor<?xf32>"},
       {-1, -1, -1}, {"2xf32=5"});
  for (int call = 0; call < 2; ++call) {
    void **packed = begin();
    auto *results = static_cast<Descriptor *>(packed[1]);
    results[0] = makeArray(3, 1);
    // The same array, from its second element on.
    results[1] = results[0];
    results[1].offset = 1;
    results[1].size = 2;
    results[2] = *static_cast<Descriptor *>(packed[0]);
    EXPECT_EQ(end(), "result[0]: 3xf32=1 2 3\nresult[1]: 2xf32=2 3\n"
                     "result[2]: 2xf32=5 5\n");
  }
}

TEST_F(CallFrameTest, ResultsThatNobodyReadsAreFreed) {
  make({}, {"tensor<?xf32>"}, {-1}, {});
  void **packed = begin();
  *static_cast<Descriptor *>(packed[0]) = makeArray(3, 1);
  frame.freeResults();
}

TEST_F(CallFrameTest, ReturnedMemRefsBelongToTheProgram) {
  make({}, {"memref<?xf32>"}, {-1}, {});
  void **packed = begin();
  Descriptor array = makeArray(2, 1);
  *static_cast<Descriptor *>(packed[0]) = array;
  EXPECT_EQ(end(), "result[0]: 2xf32=1 2\n");
  EXPECT_EQ(array.aligned[1], 2);
  std::free(array.allocated);
}

} // namespace
