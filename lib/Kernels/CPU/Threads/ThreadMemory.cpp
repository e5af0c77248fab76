//===- ThreadMemory.cpp - what threads keep across barriers -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays with an element for each thread of a block. They follow the block's
// workgroup memory (gpuasync_cpu_block_fn), the largest elements first, so that
// every array is aligned whatever the number of threads.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Memory/TypeLayout.h"
#include "Kernels/CPU/Kernel.h"
#include "gpuasync/RuntimeABI.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"
#include <cstddef>

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::cpu;

Value cpu::buildLinearThreadId(OpBuilder &builder, Location loc,
                               function_ref<Value(unsigned)> env) {
  Value id = env(ThreadId + 2);
  for (int dim : {1, 0}) {
    id = arith::MulIOp::create(builder, loc, id, env(BlockDim + dim));
    id = arith::AddIOp::create(builder, loc, id, env(ThreadId + dim));
  }
  return id;
}

int64_t ThreadMemory::getStep(int64_t bytes, int64_t alignment) {
  return bytes <= 16
             ? std::max<int64_t>(
                   llvm::PowerOf2Ceil(std::max<int64_t>(bytes, 1)), alignment)
             : llvm::alignTo(bytes, std::max<int64_t>(alignment, 16));
}

ThreadMemory::ThreadMemory(func::FuncOp kernel, int64_t workgroupBytes)
    : kernel(kernel), builder(kernel.getContext()),
      workgroupBytes(workgroupBytes) {
  Location loc = kernel.getLoc();
  Type i64 = builder.getI64Type();
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  builder.setInsertionPointToStart(&kernel.getBody().front());
  auto constant = [&](int64_t value) {
    return LLVM::ConstantOp::create(builder, loc, i64,
                                    builder.getI64IntegerAttr(value));
  };

  threads = getEnv(kernel, BlockDim);
  for (int dim : {1, 2})
    threads = arith::MulIOp::create(builder, loc, threads,
                                    getEnv(kernel, BlockDim + dim));
  threads64 = arith::IndexCastOp::create(builder, loc, i64, threads);
  Value address = LLVM::GEPOp::create(
      builder, loc, pointer, builder.getI8Type(), getEnv(kernel, Context),
      ArrayRef<LLVM::GEPArg>{
          int32_t(offsetof(gpuasync_cpu_block_ctx, dynamicSharedBytes))});
  Value dynamic = LLVM::LoadOp::create(builder, loc, i64, address);
  start = constant(0);
  Value offset = LLVM::AddOp::create(builder, loc, start, dynamic);
  offset = LLVM::AndOp::create(builder, loc, offset, constant(-64));
  base =
      LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(),
                          getEnv(kernel, Workgroup), ArrayRef<Value>{offset});
  last = base.getDefiningOp();
}

Value ThreadMemory::createArray(int64_t bytes, int64_t alignment) {
  Location loc = kernel.getLoc();
  builder.setInsertionPointAfter(last);
  Type i64 = builder.getI64Type();
  auto place =
      LLVM::ConstantOp::create(builder, loc, i64, builder.getI64IntegerAttr(0));
  Value offset = LLVM::MulOp::create(builder, loc, place, threads64);
  int64_t step = getStep(bytes, alignment);
  // The largest alignments first, so that no array needs room before it.
  arrays[{std::max<int64_t>(alignment, 16), step}].push_back(place);
  auto address = LLVM::GEPOp::create(
      builder, loc, base.getType(), builder.getI8Type(), base,
      ArrayRef<Value>{offset}, LLVM::GEPNoWrapFlags::inbounds);
  last = address;
  return address;
}

Value ThreadMemory::createShared(int64_t bytes, int64_t &offset) {
  offset = workgroupBytes = llvm::alignTo(workgroupBytes, 16);
  builder.setInsertionPointAfter(last);
  auto address =
      LLVM::GEPOp::create(builder, kernel.getLoc(), base.getType(),
                          builder.getI8Type(), getEnv(kernel, Workgroup),
                          ArrayRef<LLVM::GEPArg>{int32_t(workgroupBytes)});
  workgroupBytes += bytes;
  last = address;
  return address;
}

void ThreadMemory::finish() {
  for (auto &[key, places] : arrays)
    for (LLVM::ConstantOp place : places) {
      place.setValueAttr(builder.getI64IntegerAttr(threadBytes));
      threadBytes += key.second;
    }
  start.setValueAttr(
      builder.getI64IntegerAttr(llvm::alignTo(workgroupBytes, 16) + 63));
}

Value cpu::buildMemRef(OpBuilder &builder, Location loc, Value base,
                       MemRefType type, Value size) {
  auto descriptor =
      MemRefDescriptor::poison(builder, loc, getTypeInMemory(type));
  auto [strides, offset] = type.getStridesAndOffset();
  descriptor.setAllocatedPtr(builder, loc, base);
  descriptor.setAlignedPtr(builder, loc, base);
  descriptor.setConstantOffset(builder, loc, offset);
  for (int64_t i = 0; i < type.getRank(); ++i) {
    if (type.isDynamicDim(i))
      descriptor.setSize(builder, loc, i, size);
    else
      descriptor.setConstantSize(builder, loc, i, type.getDimSize(i));
    descriptor.setConstantStride(builder, loc, i, strides[i]);
  }
  return UnrealizedConversionCastOp::create(builder, loc, type,
                                            Value(descriptor))
      .getResult(0);
}

LLVM::LoopAnnotationAttr
cpu::buildParallelAnnotation(LLVM::AccessGroupAttr group, int64_t threads) {
  MLIRContext *context = group.getContext();
  auto buildVectorize = [&](LLVM::LoopAnnotationAttr followup) {
    // KeepThreadOrder allows it. A width would make LLVM print a remark about
    // each loop that it cannot vectorise.
    return LLVM::LoopVectorizeAttr::get(
        context, /*disable=*/BoolAttr::get(context, true),
        /*predicateEnable=*/{}, /*scalableEnable=*/{}, /*width=*/{},
        /*followupVectorized=*/followup, /*followupEpilogue=*/{},
        /*followupAll=*/{});
  };
  auto build = [&](LLVM::LoopVectorizeAttr vectorize,
                   LLVM::LoopUnrollAttr unroll,
                   ArrayRef<LLVM::AccessGroupAttr> groups) {
    return LLVM::LoopAnnotationAttr::get(
        context, /*disableNonforced=*/{}, vectorize, /*interleave=*/{}, unroll,
        /*unrollAndJam=*/{}, /*licm=*/{}, /*distribute=*/{}, /*pipeline=*/{},
        /*peeled=*/{}, /*unswitch=*/{}, /*mustProgress=*/{},
        /*isVectorized=*/{}, /*startLoc=*/{}, /*endLoc=*/{}, groups);
  };
  // LLVM would take one masked vector more than fits. With AVX-512 the x86
  // backend of LLVM 22.1 stores too many bytes for a single element that is
  // narrowed there (llvm/llvm-project#179489).
  if (threads > 0 && threads < 16 && !llvm::isPowerOf2_64(threads))
    return build(buildVectorize({}), {}, {});

  // LLVM would unroll short loops before it vectorises. What is left after that
  // is unrolled, so that values stay in registers from one loop to the next.
  constexpr int64_t longest = 64;
  if (threads > 0 && threads <= longest) {
    auto buildUnroll = [&](BoolAttr disable, BoolAttr full) {
      return LLVM::LoopUnrollAttr::get(
          context, disable, /*count=*/{}, /*runtimeDisable=*/{}, full,
          /*followupUnrolled=*/{}, /*followupRemainder=*/{},
          /*followupAll=*/{});
    };
    BoolAttr yes = BoolAttr::get(context, true);
    LLVM::LoopAnnotationAttr whole = build({}, buildUnroll({}, yes), group);
    return build(buildVectorize(whole), buildUnroll(yes, {}), group);
  }
  return build(buildVectorize({}), {}, group);
}

Value cpu::buildElementAddress(OpBuilder &builder, Location loc, Value array,
                               Value index, Type type) {
  Type element = getTypeInMemory(type);
  int64_t natural = getElementBytes(type);
  int64_t bytes = ThreadMemory::getStep(natural);
  if (bytes != natural)
    element = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes);
  return LLVM::GEPOp::create(builder, loc, array.getType(), element, array,
                             ArrayRef<Value>{index},
                             LLVM::GEPNoWrapFlags::inbounds);
}

static unsigned getAlignment(Type type) {
  int64_t bytes = ThreadMemory::getStep(getElementBytes(type));
  return bytes >= 16 ? 16 : bytes;
}

Value cpu::loadValue(OpBuilder &builder, Location loc, Value address,
                     Type type) {
  Type inMemory = getTypeInMemory(type);
  Value value =
      LLVM::LoadOp::create(builder, loc, inMemory, address, getAlignment(type));
  if (type == inMemory)
    return value;
  if (type.isInteger(1))
    return arith::TruncIOp::create(builder, loc, type, value);
  if (type.isIndex())
    return arith::IndexCastOp::create(builder, loc, type, value);
  return UnrealizedConversionCastOp::create(builder, loc, type, value)
      .getResult(0);
}

void cpu::storeValue(OpBuilder &builder, Location loc, Value address,
                     Value value) {
  Type type = value.getType(), inMemory = getTypeInMemory(type);
  if (type.isInteger(1))
    value = arith::ExtUIOp::create(builder, loc, inMemory, value);
  else if (type.isIndex())
    value = arith::IndexCastOp::create(builder, loc, inMemory, value);
  else if (type != inMemory)
    value = UnrealizedConversionCastOp::create(builder, loc, inMemory, value)
                .getResult(0);
  LLVM::StoreOp::create(builder, loc, value, address, getAlignment(type));
}
