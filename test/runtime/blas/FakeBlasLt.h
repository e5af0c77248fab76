//===- FakeBlasLt.h - What the fake libraries tell ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each library exports one of these as `fake_blaslt`.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_RUNTIME_BLAS_FAKEBLASLT_H
#define GPUASYNC_TEST_RUNTIME_BLAS_FAKEBLASLT_H

#include <stdint.h>

struct FakeBlasLt {
  int created, chosen, multiplied; ///< calls so far
  int live;                        ///< descriptors
  int64_t calls;                   ///< of any function
  int64_t failing;                 ///< that call fails; 0: none
  bool isOut;                      ///< of algorithms
  void *stream;                    ///< of the last product
  uint32_t alignments[4];          ///< that were asked for last
};

#endif // GPUASYNC_TEST_RUNTIME_BLAS_FAKEBLASLT_H
