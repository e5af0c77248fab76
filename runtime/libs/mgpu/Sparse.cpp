//===- Sparse.cpp - cuSPARSE calls are refused ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream's wrappers of cuSPARSE and cuSPARSELt exist, so that a program that
// names them links, and say so when they are called. They read no argument, so
// one signature serves all; what upstream's return is null or 0.
//===----------------------------------------------------------------------===//

#include "libs/mgpu/Report.h"

using namespace gpuasync::mgpu;

#define REFUSED(name)                                                          \
  extern "C" GPUASYNC_API void *name() noexcept {                              \
    GPUASYNC_MGPU_SITE(#name);                                                 \
    fail(&site, "cuSPARSE is not supported; lower sparse operations to "       \
                "loops (sparsification) or use upstream's runtime library");   \
    return nullptr;                                                            \
  }

REFUSED(mgpuCreateSparseEnv)
REFUSED(mgpuDestroySparseEnv)
REFUSED(mgpuCreateDnVec)
REFUSED(mgpuDestroyDnVec)
REFUSED(mgpuCreateDnMat)
REFUSED(mgpuDestroyDnMat)
REFUSED(mgpuCreateCoo)
REFUSED(mgpuCreateCooAoS)
REFUSED(mgpuCreateCsr)
REFUSED(mgpuCreateCsc)
REFUSED(mgpuCreateBsr)
REFUSED(mgpuDestroySpMat)
REFUSED(mgpuSpMVBufferSize)
REFUSED(mgpuSpMV)
REFUSED(mgpuSpMMBufferSize)
REFUSED(mgpuSpMM)
REFUSED(mgpuSDDMMBufferSize)
REFUSED(mgpuSDDMM)
REFUSED(mgpuSpGEMMCreateDescr)
REFUSED(mgpuSpGEMMDestroyDescr)
REFUSED(mgpuSpGEMMWorkEstimation)
REFUSED(mgpuSpGEMMCompute)
REFUSED(mgpuSpGEMMCopy)
REFUSED(mgpuSpMatGetSize)
REFUSED(mgpuSetCsrPointers)
REFUSED(mgpuCreateSparseLtEnv)
REFUSED(mgpuDestroySparseLtEnv)
REFUSED(mgpuCreateCuSparseLtDnMat)
REFUSED(mgpuDestroyCuSparseLtDnMat)
REFUSED(mgpuCusparseLtCreate2To4SpMat)
REFUSED(mgpuDestroyCuSparseLtSpMat)
REFUSED(mgpuCuSparseLtSpMMBufferSize)
REFUSED(mgpuCuSparseLtSpMM)
