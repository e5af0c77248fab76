//===- TypeLayoutTest.cpp - how values lie in memory ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The layout of types beside LLVM's own, of what the conversion to LLVM makes
// of them, for the host and for the devices.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Memory/TypeLayout.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Target/LLVMIR/TypeToLLVM.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Type.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::gpuasync;

namespace {

/// Those of x86-64, nvptx64 and amdgcn in LLVM 22.
const char *const dataLayouts[] = {
    "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:"
    "64-S128",
    "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64",
    "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-"
    "p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:"
    "32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-"
    "n32:64-S32-A5-G1-ni:7:8:9"};

const char *const types[] = {
    "i1",
    "i7",
    "i8",
    "i12",
    "i24",
    "i32",
    "i48",
    "i64",
    "index",
    "f16",
    "bf16",
    "f32",
    "f64",
    "f8E4M3FN",
    "complex<f32>",
    "complex<f64>",
    "complex<i8>",
    "vector<4xi1>",
    "vector<17xi1>",
    "vector<3xi4>",
    "vector<3xf32>",
    "vector<4xf32>",
    "vector<7xi8>",
    "vector<2x3xf32>",
    "vector<2x2x4xi1>",
    "vector<4xindex>",
    "vector<f64>",
    "memref<4xf32>",
    "memref<?x?xi8>",
    "memref<f32>",
    "memref<*xf32>",
    "!llvm.ptr",
    "!llvm.array<3 x i24>",
    "!llvm.array<5 x vector<3xf32>>",
    "!llvm.struct<(i8, i32)>",
    "!llvm.struct<(i8, f64, i1)>",
    "!llvm.struct<packed (i8, i32)>",
    "!llvm.struct<(i8, struct<(i16, i8)>, array<3 x i8>)>",
    "!llvm.struct<()>",
    "!llvm.array<0 x i32>"};

/// The same on the host only, where they can be passed and stored.
const char *const hostTypes[] = {"i65",  "i100", "i128",
                                 "i200", "f128", "!llvm.struct<(i8, i128)>"};

class TypeLayoutTest : public testing::Test {
protected:
  TypeLayoutTest() { context.loadDialect<LLVM::LLVMDialect>(); }

  void compare(const char *text, const char *dataLayout) {
    Type type = parseType(text, &context);
    ASSERT_TRUE(type) << text;
    LLVMTypeConverter converter(&context);
    Type lowered = converter.convertType(type);
    ASSERT_TRUE(lowered) << text;
    llvm::LLVMContext llvmContext;
    llvm::Type *there =
        LLVM::TypeToLLVMIRTranslator(llvmContext).translateType(lowered);
    llvm::DataLayout layout(dataLayout);
    for (Type form : {type, lowered}) {
      std::optional<TypeLayout> ours = TypeLayout::get(form);
      ASSERT_TRUE(ours) << text;
      EXPECT_EQ(uint64_t(ours->size),
                layout.getTypeAllocSize(there).getFixedValue())
          << text << " with " << dataLayout;
      EXPECT_GE(uint64_t(ours->alignment),
                layout.getABITypeAlign(there).value())
          << text << " with " << dataLayout;
    }
  }

  MLIRContext context;
};

TEST_F(TypeLayoutTest, IsLLVMs) {
  for (const char *dataLayout : dataLayouts)
    for (const char *text : types)
      compare(text, dataLayout);
  for (const char *text : hostTypes)
    compare(text, dataLayouts[0]);
}

TEST_F(TypeLayoutTest, IsNotKnown) {
  for (const char *text :
       {"vector<[4]xf32>", "tuple<i32>", "none", "!llvm.struct<\"a\", opaque>",
        "!llvm.array<4611686018427387904 x i32>",
        "!llvm.struct<(array<9223372036854775807 x i8>, i8)>",
        "!llvm.struct<(array<9223372036854775806 x i8>, i64)>",
        "!llvm.struct<(i64, array<9223372036854775799 x i8>)>",
        "vector<4611686018427387904xi8>", "vector<4611686018427387904x4xi8>"}) {
    Type type = parseType(text, &context);
    ASSERT_TRUE(type) << text;
    EXPECT_FALSE(TypeLayout::get(type)) << text;
    EXPECT_EQ(getElementBytes(type), 0) << text;
    EXPECT_EQ(getElementAlignment(type), 1) << text;
  }
}

TEST_F(TypeLayoutTest, StridesDoNotWrap) {
  SmallVector<int64_t> strides;
  int64_t offset;
  auto find = [&](const char *text) {
    strides.clear();
    return succeeded(getStridesAndOffset(
        cast<MemRefType>(parseType(text, &context)), strides, offset));
  };
  EXPECT_TRUE(find("memref<f32>"));
  EXPECT_TRUE(find("memref<4x?x3x2xf32>"));
  EXPECT_EQ(strides, (SmallVector<int64_t>{ShapedType::kDynamic, 6, 2, 1}));
  EXPECT_TRUE(find("memref<2x2xf32, strided<[-4611686018427387904, 1], "
                   "offset: 3>>"));
  EXPECT_EQ(strides, (SmallVector<int64_t>{-4611686018427387904, 1}));
  EXPECT_EQ(offset, 3);
  EXPECT_TRUE(find("memref<9x9223372036854775807xi8>"));
  // 2^66 + 2^33 elements, not 2^33.
  EXPECT_FALSE(find("memref<2x8589934592x8589934593xi8>"));
  // Of no elements, but the strides are none either.
  EXPECT_FALSE(find("memref<0x8589934592x8589934592xi8>"));
}

} // namespace
