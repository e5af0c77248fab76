//===- Cblas.cpp - Products on the cpu device -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A CBLAS is called in the order of the stream, in a function of the host.
//===----------------------------------------------------------------------===//

#include "libs/blas/FirstMade.h"
#include "libs/blas/Product.h"
#include "shim/base/Settings.h"

#include <algorithm>
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>

using namespace gpuasync;
using namespace gpuasync::blas;

namespace {

/// Values of CBLAS_ORDER and CBLAS_TRANSPOSE.
constexpr int rowMajor = 101, noTrans = 111, trans = 112;

template <typename T>
using Gemm = void (*)(int order, int transA, int transB, int m, int n, int k,
                      T alpha, const T *a, int lda, const T *b, int ldb, T beta,
                      T *c, int ldc);

struct Library {
  Gemm<float> sgemm = nullptr;
  Gemm<double> dgemm = nullptr;
  bool isTuned = false;
  Error why;
};

const char *const variable = "GPU_ASYNC_CBLAS_LIBRARY";

/// Whether its products are made for a processor, or the user wants them. The
/// reference BLAS, which has the same name, takes tens of times as long as our
/// kernels.
bool isTuned(void *handle) {
  bool is = gpuasync::setting(variable) != nullptr;
  for (const char *own : {"openblas_get_config", "bli_info_get_version_str",
                          "MKL_Get_Version_String", "ATL_buildinfo",
                          "armplversion", "nvpl_blas_get_version"})
    is |= dlsym(handle, own) != nullptr;
  return is;
}

const Library &library() {
  static FirstMade<const Library> opened;
  return opened.get([] {
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so",
                                        "libcblas.so.3", "libblas.so.3",
                                        nullptr};
    auto result = std::make_unique<Library>();
    void *handle = openLibrary(variable, names, result->why);
    if (!handle)
      return result;
    result->sgemm = reinterpret_cast<Gemm<float>>(dlsym(handle, "cblas_sgemm"));
    result->dgemm =
        reinterpret_cast<Gemm<double>>(dlsym(handle, "cblas_dgemm"));
    if (!result->sgemm || !result->dgemm)
      result->why = "the library found has no cblas_sgemm and cblas_dgemm "
                    "(GPU_ASYNC_CBLAS_LIBRARY names another one)";
    result->isTuned = isTuned(handle);
    return result;
  });
}

template <typename T>
void multiplyAll(Gemm<T> gemm, const Product &product) {
  const Matrix &a = product.a, &b = product.b, &c = product.c;
  for (int64_t i = 0; i < c.batch; ++i) {
    auto at = [&](const Matrix &matrix) {
      return reinterpret_cast<T *>(matrix.data) + i * matrix.batchStride;
    };
    gemm(rowMajor, a.hasRows() ? noTrans : trans, b.hasRows() ? noTrans : trans,
         static_cast<int>(c.rows), static_cast<int>(c.columns),
         static_cast<int>(a.columns), 1, at(a),
         static_cast<int>(std::max<int64_t>(a.leading(), 1)), at(b),
         static_cast<int>(std::max<int64_t>(b.leading(), 1)),
         product.adds ? 1 : 0, at(c), static_cast<int>(c.leading()));
  }
}

int32_t run(void *arguments) {
  const auto &product = *static_cast<const Product *>(arguments);
  if (product.element == Element::F32)
    multiplyAll(library().sgemm, product);
  else
    multiplyAll(library().dgemm, product);
  return 0;
}

} // namespace

Error blas::whyNotOnHost() {
  const Error &why = library().why;
  return why.empty() ? why : "no CBLAS: " + why;
}

bool blas::isFastOnHost(Element element) {
  return hostMultiplies(element) && whyNotOnHost().empty() && library().isTuned;
}

Error blas::multiplyOnHost(const gpuasync_call &call, const Product &product) {
  Error why = whyNotOnHost();
  if (!why.empty())
    return why;
  if (!hostMultiplies(product.element))
    return "CBLAS has products of f32 and f64 only";
  for (const Matrix *matrix : {&product.a, &product.b, &product.c})
    if (std::max({matrix->rows, matrix->columns, matrix->leading()}) > INT_MAX)
      return "a matrix is too large for CBLAS, which counts in 32 bits";
  gpuasync_status *status =
      gpuasync_stream_enqueue_host(static_cast<gpuasync_stream *>(call.stream),
                                   run, &product, sizeof(product));
  if (status)
    why = gpuasync_status_get_message(status);
  gpuasync_status_free(status);
  return why;
}
