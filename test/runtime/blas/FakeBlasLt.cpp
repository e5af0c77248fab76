//===- FakeBlasLt.cpp - cuBLASLt and hipBLASLt on the host ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions that libgpuasync_blas.so uses of either, with the numbers of
// their headers. A product is computed at once. What the libraries would refuse
// is refused here.
//===----------------------------------------------------------------------===//

#include "blas/FakeBlasLt.h"

#include <initializer_list>
#include <stddef.h>
#include <string.h>

#ifdef FAKE_HIP
#define NAME(name) hipblasLt##name
constexpr int opN = 111, opT = 112, computeF32 = 2, computeF64 = 7, transA = 0,
              transB = 1, batchCount = 0, batchStride = 1, firstAlignment = -1;
constexpr size_t algorithmBytes = 24;
#else
#define NAME(name) cublasLt##name
constexpr int opN = 0, opT = 1, computeF32 = 68, computeF64 = 70, transA = 3,
              transB = 4, batchCount = 5, batchStride = 6, firstAlignment = 5;
constexpr size_t algorithmBytes = 64;
#endif
constexpr int typeF32 = 0, typeF64 = 1, typeF16 = 2, workspaceBytes = 1;
constexpr int invalid = 7, unsupported = 15;

namespace {

struct Product {
  int compute, scale, a = opN, b = opN;
};
struct Layout {
  int type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batch = 1;
  int64_t stride = 0;
};
struct Preference {
  uint64_t workspace = 0;
};
/// What an algorithm is good for.
struct Algorithm {
  uint64_t m, n, k;
  int type;
};
static_assert(sizeof(Algorithm) <= 32);

} // namespace

extern "C" {
__attribute__((visibility("default"))) FakeBlasLt fake_blaslt = {};
}

namespace {

bool fails() { return ++fake_blaslt.calls == fake_blaslt.failing; }

template <typename T, typename... Arguments>
int make(void **out, Arguments... arguments) {
  if (fails())
    return invalid;
  ++fake_blaslt.live;
  *out = new T{arguments...};
  return 0;
}
template <typename T>
int destroy(void *object) {
  --fake_blaslt.live;
  delete static_cast<T *>(object);
  return 0;
}
template <typename T>
int take(T &out, const void *value, size_t bytes) {
  if (bytes != sizeof(T))
    return invalid;
  memcpy(&out, value, bytes);
  return 0;
}

/// The sizes of op(a) op(b) = d, or false.
bool findSizes(const Product &product, const Layout &a, const Layout &b,
               const Layout &d, Algorithm &out) {
  auto rows = [](const Layout &x, int op) {
    return op == opN ? x.rows : x.columns;
  };
  auto columns = [](const Layout &x, int op) {
    return op == opN ? x.columns : x.rows;
  };
  out = {rows(a, product.a), columns(b, product.b), columns(a, product.a),
         d.type};
  for (const Layout *x : {&a, &b, &d})
    if (x->leading < static_cast<int64_t>(x->rows) || x->type != d.type ||
        x->batch != d.batch || !x->rows || !x->columns)
      return false;
  const bool isDouble = d.type == typeF64;
  return rows(b, product.b) == out.k && d.rows == out.m && d.columns == out.n &&
         product.compute == (isDouble ? computeF64 : computeF32) &&
         product.scale == (isDouble ? typeF64 : typeF32);
}

template <typename T, typename Scale>
void multiply(const Product &product, const Algorithm &sizes, const void *alpha,
              const void *aData, const Layout &a, const void *bData,
              const Layout &b, const void *beta, void *dData, const Layout &d) {
  auto at = [](const void *data, const Layout &x, int op, int32_t batch,
               uint64_t row, uint64_t column) -> Scale {
    if (op == opT) {
      const uint64_t other = row;
      row = column;
      column = other;
    }
    return static_cast<Scale>(static_cast<const T *>(
        data)[batch * x.stride + static_cast<int64_t>(row) +
              static_cast<int64_t>(column) * x.leading]);
  };
  for (int32_t batch = 0; batch < d.batch; ++batch)
    for (uint64_t i = 0; i < sizes.m; ++i)
      for (uint64_t j = 0; j < sizes.n; ++j) {
        Scale sum = 0;
        for (uint64_t k = 0; k < sizes.k; ++k)
          sum += at(aData, a, product.a, batch, i, k) *
                 at(bData, b, product.b, batch, k, j);
        T &to =
            static_cast<T *>(dData)[batch * d.stride + static_cast<int64_t>(i) +
                                    static_cast<int64_t>(j) * d.leading];
        Scale before = *static_cast<const Scale *>(beta);
        if (before != 0)
          before *= static_cast<Scale>(to);
        to = static_cast<T>(*static_cast<const Scale *>(alpha) * sum + before);
      }
}

} // namespace

#define API __attribute__((visibility("default")))
extern "C" {

API int NAME(Create)(void **out) {
  if (fails())
    return invalid;
  ++fake_blaslt.created;
  *out = &fake_blaslt;
  return 0;
}
API int NAME(MatmulDescCreate)(void **out, int compute, int scale) {
  return make<Product>(out, compute, scale);
}
API int NAME(MatmulDescSetAttribute)(void *product, int attribute,
                                     const void *value, size_t bytes) {
  if (fails() || (attribute != transA && attribute != transB))
    return invalid;
  auto *to = static_cast<Product *>(product);
  return take(attribute == transA ? to->a : to->b, value, bytes);
}
API int NAME(MatmulDescDestroy)(void *product) {
  return destroy<Product>(product);
}
API int NAME(MatrixLayoutCreate)(void **out, int type, uint64_t rows,
                                 uint64_t columns, int64_t leading) {
  return make<Layout>(out, type, rows, columns, leading);
}
API int NAME(MatrixLayoutSetAttribute)(void *layout, int attribute,
                                       const void *value, size_t bytes) {
  auto *to = static_cast<Layout *>(layout);
  if (fails() || (attribute != batchCount && attribute != batchStride))
    return invalid;
  return attribute == batchCount ? take(to->batch, value, bytes)
                                 : take(to->stride, value, bytes);
}
API int NAME(MatrixLayoutDestroy)(void *layout) {
  return destroy<Layout>(layout);
}
API int NAME(MatmulPreferenceCreate)(void **out) {
  return make<Preference>(out);
}
API int NAME(MatmulPreferenceSetAttribute)(void *preference, int attribute,
                                           const void *value, size_t bytes) {
  if (fails())
    return invalid;
  if (attribute == workspaceBytes)
    return take(static_cast<Preference *>(preference)->workspace, value, bytes);
  const int which = attribute - firstAlignment;
  if (firstAlignment < 0 || which < 0 || which > 3)
    return invalid;
  return take(fake_blaslt.alignments[which], value, bytes);
}
API int NAME(MatmulPreferenceDestroy)(void *preference) {
  return destroy<Preference>(preference);
}
API int NAME(MatmulAlgoGetHeuristic)(void *handle, void *product, void *a,
                                     void *b, void *c, void *d, void *,
                                     int wanted, void *results, int *count) {
  Algorithm sizes;
  if (fails() || handle != &fake_blaslt || wanted != 1 || c != d ||
      !findSizes(*static_cast<Product *>(product), *static_cast<Layout *>(a),
                 *static_cast<Layout *>(b), *static_cast<Layout *>(d), sizes))
    return invalid;
  ++fake_blaslt.chosen;
  *count = !fake_blaslt.isOut;
  memset(results, 0, algorithmBytes);
  memcpy(results, &sizes, sizeof(sizes) < algorithmBytes ? sizeof(sizes) : 24);
  return 0;
}
API int NAME(Matmul)(void *handle, void *product, const void *alpha,
                     const void *aData, void *a, const void *bData, void *b,
                     const void *beta, const void *cData, void *c, void *dData,
                     void *d, const void *algorithm, void *, size_t,
                     void *stream) {
  const auto &made = *static_cast<Product *>(product);
  const auto &aLayout = *static_cast<Layout *>(a);
  const auto &bLayout = *static_cast<Layout *>(b);
  const auto &dLayout = *static_cast<Layout *>(d);
  Algorithm sizes;
  if (fails() || handle != &fake_blaslt || cData != dData || c != d ||
      !findSizes(made, aLayout, bLayout, dLayout, sizes) ||
      memcmp(algorithm, &sizes, 24) != 0)
    return invalid;
  ++fake_blaslt.multiplied;
  fake_blaslt.stream = stream;
  if (dLayout.type == typeF64)
    multiply<double, double>(made, sizes, alpha, aData, aLayout, bData, bLayout,
                             beta, dData, dLayout);
  else if (dLayout.type == typeF32)
    multiply<float, float>(made, sizes, alpha, aData, aLayout, bData, bLayout,
                           beta, dData, dLayout);
  else if (dLayout.type == typeF16)
    multiply<_Float16, float>(made, sizes, alpha, aData, aLayout, bData,
                              bLayout, beta, dData, dLayout);
  else
    return unsupported;
  return 0;
}
}
