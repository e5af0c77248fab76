//===- Lapack.cpp - Decompositions by a LAPACK on the host ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of Lapack.h. LAPACK has columns where programs have rows, so
// each matrix is copied in and out.
//===----------------------------------------------------------------------===//

#include "gpuasync/Lapack.h"
#include "libs/blas/FirstMade.h"
#include "libs/blas/Product.h"

#include "shim/base/Settings.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <dlfcn.h>
#include <limits.h>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

using namespace gpuasync;
using namespace gpuasync::blas;

namespace {

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

const char *const variable = "GPU_ASYNC_LAPACK_LIBRARY";

/// Functions of gpuasync_lapack_provide. Never destroyed.
struct Provided {
  std::mutex mutex;
  std::map<std::string, void *> functions;
};

Provided &provided() {
  static Provided &functions = *new Provided;
  return functions;
}

struct Library {
  void *handle = nullptr;
  Error why;
};

const Library &library() {
  static FirstMade<const Library> opened;
  return opened.get([] {
    static const char *const names[] = {"libopenblas.so.0", "liblapack.so.3",
                                        "libopenblas.so", "liblapack.so",
                                        nullptr};
    auto result = std::make_unique<Library>();
    result->handle = openLibrary(variable, names, result->why);
    // An OpenBLAS can be built without LAPACK.
    if (result->handle && !dlsym(result->handle, "dgesdd_")) {
      result->why = "the library found has no dgesdd_ (";
      result->why += variable;
      result->why += " names another one)";
    }
    return result;
  });
}

void *findFunction(const std::string &name) {
  if (!setting(variable)) {
    std::lock_guard<std::mutex> lock(provided().mutex);
    auto known = provided().functions.find(name);
    if (known != provided().functions.end())
      return known->second;
  }
  return library().handle ? dlsym(library().handle, (name + "_").c_str())
                          : nullptr;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

template <typename T>
struct Traits;
template <>
struct Traits<float> {
  using Real = float;
  static constexpr char letter = 's';
};
template <>
struct Traits<double> {
  using Real = double;
  static constexpr char letter = 'd';
};
template <>
struct Traits<std::complex<float>> {
  using Real = float;
  static constexpr char letter = 'c';
};
template <>
struct Traits<std::complex<double>> {
  using Real = double;
  static constexpr char letter = 'z';
};
template <typename T>
using Real = typename Traits<T>::Real;
template <typename T>
constexpr bool isComplex = !std::is_same<T, Real<T>>::value;

/// The exception that ends a call. It does not leave this file.
struct Failure {
  gpuasync_lapack_result result;
};

/// The function of that name for elements of T, without its first letter.
template <typename Function, typename T>
Function *find(const char *name) {
  void *found = findFunction(std::string(1, Traits<T>::letter) + name);
  if (!found)
    throw Failure{GPUASYNC_LAPACK_MISSING};
  return reinterpret_cast<Function *>(found);
}

int toInt(int64_t size) {
  if (size < 0 || size > INT_MAX)
    throw Failure{GPUASYNC_LAPACK_TOO_LARGE};
  return static_cast<int>(size);
}

/// LAPACK wants leading dimensions and workspaces of 1 at least.
int leading(int size) { return std::max(size, 1); }

/// The length of the workspace that LAPACK has written to its first element. A
/// float may have been rounded down.
template <typename T>
int lengthOf(const T &first) {
  double length = static_cast<double>(std::real(first));
  if (std::is_same<Real<T>, float>::value)
    length = std::ceil(length * (1 + std::numeric_limits<float>::epsilon()));
  if (!(length <= INT_MAX))
    throw Failure{GPUASYNC_LAPACK_TOO_LARGE};
  return std::max(static_cast<int>(length), 1);
}

/// Copies a matrix of rows to one of columns.
template <typename T>
void copyIn(const T *rows, int m, int n, T *columns) {
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < m; ++i)
      columns[j * m + i] = rows[i * n + j];
}

/// Copies a matrix of columns to one of rows.
template <typename T>
void copyOut(const T *columns, int m, int n, T *rows) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      rows[i * n + j] = columns[j * m + i];
}

/// Whether none is infinite or NaN.
template <typename T>
bool areFinite(const T *elements, int64_t count) {
  return std::all_of(elements, elements + count, [](const T &element) {
    return std::isfinite(std::real(element)) &&
           std::isfinite(std::imag(element));
  });
}

template <typename T>
void fillWithNaN(T *elements, int64_t count) {
  const Real<T> nan = std::numeric_limits<Real<T>>::quiet_NaN();
  if constexpr (isComplex<T>)
    std::fill_n(elements, count, T(nan, nan));
  else
    std::fill_n(elements, count, nan);
}

/// An array as a call passes it.
struct Array {
  void *data;
  int64_t offset, size, stride;

  /// Its elements, if they are `wanted` many.
  template <typename T>
  T *as(int64_t wanted) const {
    if (size != wanted || (stride != 1 && size > 1))
      throw Failure{GPUASYNC_LAPACK_WRONG_SIZES};
    return static_cast<T *>(data) + offset;
  }
};

/// Calls `compute` for each matrix of a batch; an exception becomes a result.
template <typename Compute>
int32_t run(Compute compute) {
  try {
    compute();
    return GPUASYNC_LAPACK_OK;
  } catch (const Failure &failure) {
    return failure.result;
  } catch (const std::bad_alloc &) {
  } catch (const std::length_error &) {
  }
  return GPUASYNC_LAPACK_NO_MEMORY;
}

/// The number of elements of `batch` arrays of a x b.
int64_t count(int64_t batch, int64_t a, int64_t b) {
  int64_t both, all;
  if (__builtin_mul_overflow(a, b, &both) ||
      __builtin_mul_overflow(batch, both, &all))
    throw Failure{GPUASYNC_LAPACK_TOO_LARGE};
  return all;
}

//===----------------------------------------------------------------------===//
// The functions
//===----------------------------------------------------------------------===//

template <typename T>
using Geqrf = void(int *m, int *n, T *a, int *lda, T *tau, T *work, int *lwork,
                   int *info);

template <typename T>
int32_t geqrf(Array a, Array r, Array tau, int64_t batch, int64_t rows,
              int64_t columns) {
  return run([&] {
    int m = toInt(rows), n = toInt(columns), k = std::min(m, n);
    const T *in = a.as<T>(count(batch, m, n));
    T *out = r.as<T>(count(batch, m, n)), *factors = tau.as<T>(batch * k);
    if (batch == 0 || k == 0)
      return;
    auto *call = find<Geqrf<T>, T>("geqrf");
    int lda = leading(m), info = 0, lwork = -1;
    T size = 0;
    std::vector<T> matrix(int64_t(m) * n);
    call(&m, &n, matrix.data(), &lda, factors, &size, &lwork, &info);
    lwork = std::max(lengthOf(size), leading(n));
    std::vector<T> work(lwork);
    for (int64_t i = 0; i < batch; ++i, factors += k) {
      copyIn(in + i * m * n, m, n, matrix.data());
      call(&m, &n, matrix.data(), &lda, factors, work.data(), &lwork, &info);
      copyOut(matrix.data(), m, n, out + i * m * n);
    }
  });
}

template <typename T>
using Geqp3 = void(int *m, int *n, T *a, int *lda, int *jpvt, T *tau, T *work,
                   int *lwork, int *info);
template <typename T>
using ComplexGeqp3 = void(int *m, int *n, T *a, int *lda, int *jpvt, T *tau,
                          T *work, int *lwork, Real<T> *rwork, int *info);

template <typename T>
int32_t geqp3(Array a, Array pivots, Array r, Array order, Array tau,
              int64_t batch, int64_t rows, int64_t columns) {
  return run([&] {
    int m = toInt(rows), n = toInt(columns), k = std::min(m, n);
    const T *in = a.as<T>(count(batch, m, n));
    const int32_t *wanted = pivots.as<int32_t>(count(batch, n, 1));
    T *out = r.as<T>(count(batch, m, n)), *factors = tau.as<T>(batch * k);
    int32_t *chosen = order.as<int32_t>(count(batch, n, 1));
    if (batch == 0 || k == 0) {
      std::copy_n(wanted, batch * n, chosen);
      return;
    }
    int lda = leading(m), info = 0;
    std::vector<T> matrix(int64_t(m) * n);
    std::vector<Real<T>> rwork(2 * int64_t(n));
    auto call = [&](int32_t *permutation, T *tau, T *work, int lwork) {
      if constexpr (isComplex<T>)
        find<ComplexGeqp3<T>, T>("geqp3")(&m, &n, matrix.data(), &lda,
                                          permutation, tau, work, &lwork,
                                          rwork.data(), &info);
      else
        find<Geqp3<T>, T>("geqp3")(&m, &n, matrix.data(), &lda, permutation,
                                   tau, work, &lwork, &info);
    };
    T size = 0;
    std::copy_n(wanted, batch * n, chosen);
    call(chosen, factors, &size, -1);
    const int lwork = std::max(lengthOf(size), toInt(3 * int64_t(n) + 1));
    std::vector<T> work(lwork);
    for (int64_t i = 0; i < batch; ++i) {
      copyIn(in + i * m * n, m, n, matrix.data());
      call(chosen + i * n, factors + i * k, work.data(), lwork);
      copyOut(matrix.data(), m, n, out + i * m * n);
    }
  });
}

template <typename T>
using Orgqr = void(int *m, int *n, int *k, T *a, int *lda, T *tau, T *work,
                   int *lwork, int *info);

template <typename T>
int32_t orgqr(Array a, Array tau, Array q, int64_t batch, int64_t rows,
              int64_t columns, int64_t reflectors) {
  return run([&] {
    int m = toInt(rows), n = toInt(columns), k = toInt(reflectors);
    const T *in = a.as<T>(count(batch, m, n));
    const T *given = tau.as<T>(count(batch, k, 1));
    T *out = q.as<T>(count(batch, m, n));
    if (m < n || n < k)
      throw Failure{GPUASYNC_LAPACK_WRONG_SIZES};
    if (batch == 0 || n == 0)
      return;
    auto *call = find<Orgqr<T>, T>(isComplex<T> ? "ungqr" : "orgqr");
    int lda = leading(m), info = 0, lwork = -1;
    T size = 0;
    std::vector<T> matrix(int64_t(m) * n), factors(leading(k));
    call(&m, &n, &k, matrix.data(), &lda, factors.data(), &size, &lwork, &info);
    lwork = std::max(lengthOf(size), leading(n));
    std::vector<T> work(lwork);
    for (int64_t i = 0; i < batch; ++i) {
      copyIn(in + i * m * n, m, n, matrix.data());
      std::copy_n(given + i * k, k, factors.data());
      call(&m, &n, &k, matrix.data(), &lda, factors.data(), work.data(), &lwork,
           &info);
      copyOut(matrix.data(), m, n, out + i * m * n);
    }
  });
}

// Compilers of Fortran pass the lengths of texts behind all other arguments.
template <typename T>
using Syevd = void(const char *jobz, const char *uplo, int *n, T *a, int *lda,
                   T *w, T *work, int *lwork, int *iwork, int *liwork,
                   int *info, size_t, size_t);
template <typename T>
using Heevd = void(const char *jobz, const char *uplo, int *n, T *a, int *lda,
                   Real<T> *w, T *work, int *lwork, Real<T> *rwork, int *lrwork,
                   int *iwork, int *liwork, int *info, size_t, size_t);

template <typename T>
int32_t syevd(Array a, Array v, Array w, int64_t batch, int64_t size,
              int64_t lower) {
  return run([&] {
    int n = toInt(size), lda = leading(n), info = 0;
    const T *in = a.as<T>(count(batch, n, n));
    T *out = v.as<T>(count(batch, n, n));
    Real<T> *values = w.as<Real<T>>(count(batch, n, 1));
    if (batch == 0 || n == 0)
      return;
    std::vector<T> matrix(int64_t(n) * n);
    auto call = [&](Real<T> *w, T *work, int lwork, Real<T> *rwork, int lrwork,
                    int *iwork, int liwork) {
      const char *uplo = lower ? "L" : "U";
      (void)rwork, (void)lrwork;
      if constexpr (isComplex<T>)
        find<Heevd<T>, T>("heevd")("V", uplo, &n, matrix.data(), &lda, w, work,
                                   &lwork, rwork, &lrwork, iwork, &liwork,
                                   &info, 1, 1);
      else
        find<Syevd<T>, T>("syevd")("V", uplo, &n, matrix.data(), &lda, w, work,
                                   &lwork, iwork, &liwork, &info, 1, 1);
    };
    T first = 0;
    Real<T> firstReal = 0;
    int liwork = 1;
    call(values, &first, -1, &firstReal, -1, &liwork, -1);
    const int lwork = lengthOf(first), lrwork = lengthOf(firstReal);
    std::vector<T> work(lwork);
    std::vector<Real<T>> rwork(lrwork);
    std::vector<int> iwork(leading(liwork));
    for (int64_t i = 0; i < batch; ++i) {
      copyIn(in + i * n * n, n, n, matrix.data());
      call(values + i * n, work.data(), lwork, rwork.data(), lrwork,
           iwork.data(), leading(liwork));
      copyOut(matrix.data(), n, n, out + i * n * n);
      if (info != 0) {
        fillWithNaN(out + i * n * n, int64_t(n) * n);
        fillWithNaN(values + i * n, n);
      }
    }
  });
}

template <typename T>
using Gesdd = void(const char *jobz, int *m, int *n, T *a, int *lda, T *s, T *u,
                   int *ldu, T *vt, int *ldvt, T *work, int *lwork, int *iwork,
                   int *info, size_t);
template <typename T>
using ComplexGesdd = void(const char *jobz, int *m, int *n, T *a, int *lda,
                          Real<T> *s, T *u, int *ldu, T *vt, int *ldvt, T *work,
                          int *lwork, Real<T> *rwork, int *iwork, int *info,
                          size_t);
template <typename T>
using Gesvd = void(const char *jobu, const char *jobvt, int *m, int *n, T *a,
                   int *lda, T *s, T *u, int *ldu, T *vt, int *ldvt, T *work,
                   int *lwork, int *info, size_t, size_t);
template <typename T>
using ComplexGesvd = void(const char *jobu, const char *jobvt, int *m, int *n,
                          T *a, int *lda, Real<T> *s, T *u, int *ldu, T *vt,
                          int *ldvt, T *work, int *lwork, Real<T> *rwork,
                          int *info, size_t, size_t);

template <typename T>
int32_t decomposeSingular(bool byQR, Array a, Array s, Array u, Array vt,
                          int64_t batch, int64_t rows, int64_t columns,
                          int64_t vectors, int64_t full) {
  return run([&] {
    int m = toInt(rows), n = toInt(columns), k = std::min(m, n);
    int lda = leading(m), info = 0;
    int columnsOfU = full ? m : k, rowsOfVT = full ? n : k;
    int ldvt = leading(rowsOfVT);
    const T *in = a.as<T>(count(batch, m, n));
    Real<T> *values = s.as<Real<T>>(count(batch, k, 1));
    T *left = nullptr, *right = nullptr;
    if (vectors) {
      left = u.as<T>(count(batch, m, columnsOfU));
      right = vt.as<T>(count(batch, rowsOfVT, n));
    }
    if (batch == 0)
      return;
    // LAPACK leaves the vectors of an empty matrix as they are.
    if (k == 0)
      throw Failure{GPUASYNC_LAPACK_WRONG_SIZES};
    const char *job = !vectors ? "N" : full ? "A" : "S";
    std::vector<T> matrix(int64_t(m) * n);
    std::vector<T> uColumns(vectors ? int64_t(m) * columnsOfU : 1);
    std::vector<T> vtColumns(vectors ? int64_t(rowsOfVT) * n : 1);
    std::vector<Real<T>> rwork;
    if (isComplex<T>) {
      // The larger of what LAPACK 3.6 and what later ones want.
      int64_t least = k, most = std::max(m, n), length = 7 * least;
      if (vectors)
        length = std::max(5 * least * least + 7 * least,
                          2 * most * least + 2 * least * least + least);
      rwork.resize(length);
    }
    std::vector<int> iwork(8 * int64_t(k));
    auto call = [&](Real<T> *s, T *work, int lwork) {
      T *u = uColumns.data(), *vt = vtColumns.data();
      if constexpr (isComplex<T>) {
        if (byQR)
          find<ComplexGesvd<T>, T>("gesvd")(job, job, &m, &n, matrix.data(),
                                            &lda, s, u, &lda, vt, &ldvt, work,
                                            &lwork, rwork.data(), &info, 1, 1);
        else
          find<ComplexGesdd<T>, T>("gesdd")(
              job, &m, &n, matrix.data(), &lda, s, u, &lda, vt, &ldvt, work,
              &lwork, rwork.data(), iwork.data(), &info, 1);
      } else {
        if (byQR)
          find<Gesvd<T>, T>("gesvd")(job, job, &m, &n, matrix.data(), &lda, s,
                                     u, &lda, vt, &ldvt, work, &lwork, &info, 1,
                                     1);
        else
          find<Gesdd<T>, T>("gesdd")(job, &m, &n, matrix.data(), &lda, s, u,
                                     &lda, vt, &ldvt, work, &lwork,
                                     iwork.data(), &info, 1);
      }
    };
    T first = 0;
    call(values, &first, -1);
    const int lwork = lengthOf(first);
    std::vector<T> work(lwork);
    for (int64_t i = 0; i < batch; ++i) {
      copyIn(in + i * m * n, m, n, matrix.data());
      call(values + i * k, work.data(), lwork);
      if (info != 0)
        fillWithNaN(values + i * k, k);
      if (!vectors)
        continue;
      T *leftOfThis = left + i * m * columnsOfU;
      T *rightOfThis = right + i * rowsOfVT * n;
      copyOut(uColumns.data(), m, columnsOfU, leftOfThis);
      copyOut(vtColumns.data(), rowsOfVT, n, rightOfThis);
      if (info != 0) {
        fillWithNaN(leftOfThis, int64_t(m) * columnsOfU);
        fillWithNaN(rightOfThis, int64_t(rowsOfVT) * n);
      }
    }
  });
}

template <typename T>
using Geev = void(const char *jobvl, const char *jobvr, int *n, T *a, int *lda,
                  T *wr, T *wi, T *vl, int *ldvl, T *vr, int *ldvr, T *work,
                  int *lwork, int *info, size_t, size_t);
template <typename T>
using ComplexGeev = void(const char *jobvl, const char *jobvr, int *n, T *a,
                         int *lda, T *w, T *vl, int *ldvl, T *vr, int *ldvr,
                         T *work, int *lwork, Real<T> *rwork, int *info, size_t,
                         size_t);

/// Writes complex eigenvectors as rows. Real matrices have conjugate pairs of
/// them, of which LAPACK gives the real and the imaginary part in two columns.
template <typename T>
void unpackVectors(const T *columns, const std::complex<Real<T>> *values, int n,
                   std::complex<Real<T>> *rows) {
  using Complex = std::complex<Real<T>>;
  for (int64_t j = 0; j < n; ++j) {
    if constexpr (isComplex<T>) {
      for (int64_t i = 0; i < n; ++i)
        rows[i * n + j] = columns[j * n + i];
    } else {
      const bool isPair = values[j].imag() != 0 && j + 1 < n;
      for (int64_t i = 0; i < n; ++i) {
        T real = columns[j * n + i];
        T imaginary = isPair ? columns[(j + 1) * n + i] : T(0);
        rows[i * n + j] = Complex(real, imaginary);
        if (isPair)
          rows[i * n + j + 1] = Complex(real, -imaginary);
      }
      j += isPair;
    }
  }
}

template <typename T>
int32_t geev(Array a, Array w, Array vl, Array vr, int64_t batch, int64_t size,
             int64_t left, int64_t right) {
  using Complex = std::complex<Real<T>>;
  return run([&] {
    int n = toInt(size), lda = leading(n), info = 0;
    const T *in = a.as<T>(count(batch, n, n));
    auto *values = w.as<Complex>(count(batch, n, 1));
    Complex *ofLeft = left ? vl.as<Complex>(count(batch, n, n)) : nullptr;
    Complex *ofRight = right ? vr.as<Complex>(count(batch, n, n)) : nullptr;
    if (batch == 0 || n == 0)
      return;
    const int64_t all = int64_t(n) * n;
    std::vector<T> matrix(all), l(left ? all : 1), r(right ? all : 1);
    std::vector<Real<T>> parts(2 * int64_t(n)); // or rwork
    auto call = [&](Complex *w, T *work, int lwork) {
      const char *jobvl = left ? "V" : "N", *jobvr = right ? "V" : "N";
      if constexpr (isComplex<T>)
        find<ComplexGeev<T>, T>("geev")(jobvl, jobvr, &n, matrix.data(), &lda,
                                        w, l.data(), &lda, r.data(), &lda, work,
                                        &lwork, parts.data(), &info, 1, 1);
      else
        find<Geev<T>, T>("geev")(jobvl, jobvr, &n, matrix.data(), &lda,
                                 parts.data(), parts.data() + n, l.data(), &lda,
                                 r.data(), &lda, work, &lwork, &info, 1, 1);
    };
    T first = 0;
    call(values, &first, -1);
    const int lwork = lengthOf(first);
    std::vector<T> work(lwork);
    for (int64_t i = 0; i < batch; ++i) {
      copyIn(in + i * all, n, n, matrix.data());
      // LAPACK prints errors of NaN to the console, and may not return.
      if (areFinite(matrix.data(), all))
        call(values + i * n, work.data(), lwork);
      else
        info = 1;
      if (!isComplex<T>)
        for (int64_t j = 0; j < n; ++j)
          values[i * n + j] = Complex(parts[j], parts[n + j]);
      if (left)
        unpackVectors<T>(l.data(), values + i * n, n, ofLeft + i * all);
      if (right)
        unpackVectors<T>(r.data(), values + i * n, n, ofRight + i * all);
      if (info == 0)
        continue;
      fillWithNaN(values + i * n, n);
      if (left)
        fillWithNaN(ofLeft + i * all, all);
      if (right)
        fillWithNaN(ofRight + i * all, all);
    }
  });
}

template <typename T>
using Gees = void(const char *jobvs, const char *sort, void *select, int *n,
                  T *a, int *lda, int *sdim, T *wr, T *wi, T *vs, int *ldvs,
                  T *work, int *lwork, int *bwork, int *info, size_t, size_t);
template <typename T>
using ComplexGees = void(const char *jobvs, const char *sort, void *select,
                         int *n, T *a, int *lda, int *sdim, T *w, T *vs,
                         int *ldvs, T *work, int *lwork, Real<T> *rwork,
                         int *bwork, int *info, size_t, size_t);

template <typename T>
int32_t gees(Array a, Array t, Array z, int64_t batch, int64_t size,
             int64_t vectors) {
  return run([&] {
    int n = toInt(size), lda = leading(n), info = 0, sdim = 0;
    const int64_t all = int64_t(n) * n;
    const T *in = a.as<T>(count(batch, n, n));
    T *form = t.as<T>(count(batch, n, n));
    T *ofVectors = vectors ? z.as<T>(count(batch, n, n)) : nullptr;
    if (batch == 0 || n == 0)
      return;
    std::vector<T> matrix(all), vs(vectors ? all : 1), values(2 * int64_t(n));
    std::vector<Real<T>> rwork(n);
    std::vector<int> bwork(n);
    auto call = [&](T *work, int lwork) {
      const char *jobvs = vectors ? "V" : "N";
      if constexpr (isComplex<T>)
        find<ComplexGees<T>, T>("gees")(jobvs, "N", nullptr, &n, matrix.data(),
                                        &lda, &sdim, values.data(), vs.data(),
                                        &lda, work, &lwork, rwork.data(),
                                        bwork.data(), &info, 1, 1);
      else
        find<Gees<T>, T>("gees")(jobvs, "N", nullptr, &n, matrix.data(), &lda,
                                 &sdim, values.data(), values.data() + n,
                                 vs.data(), &lda, work, &lwork, bwork.data(),
                                 &info, 1, 1);
    };
    T first = 0;
    call(&first, -1);
    const int lwork = lengthOf(first);
    std::vector<T> work(lwork);
    for (int64_t i = 0; i < batch; ++i) {
      copyIn(in + i * all, n, n, matrix.data());
      call(work.data(), lwork);
      copyOut(matrix.data(), n, n, form + i * all);
      if (vectors)
        copyOut(vs.data(), n, n, ofVectors + i * all);
      if (info == 0)
        continue;
      fillWithNaN(form + i * all, all);
      if (vectors)
        fillWithNaN(ofVectors + i * all, all);
    }
  });
}

} // namespace

#define GIVEN(name) {name, name##Offset, name##Size, name##Stride}
#define DEFINE(type, T)                                                        \
  int32_t gpuasync_lapack_geqrf_##type(                                        \
      GPUASYNC_LAPACK_ARRAY(a), GPUASYNC_LAPACK_ARRAY(r),                      \
      GPUASYNC_LAPACK_ARRAY(tau), int64_t batch, int64_t m,                    \
      int64_t n) noexcept {                                                    \
    return geqrf<T>(GIVEN(a), GIVEN(r), GIVEN(tau), batch, m, n);              \
  }                                                                            \
  int32_t gpuasync_lapack_geqp3_##type(                                        \
      GPUASYNC_LAPACK_ARRAY(a), GPUASYNC_LAPACK_ARRAY(pivots),                 \
      GPUASYNC_LAPACK_ARRAY(r), GPUASYNC_LAPACK_ARRAY(order),                  \
      GPUASYNC_LAPACK_ARRAY(tau), int64_t batch, int64_t m,                    \
      int64_t n) noexcept {                                                    \
    return geqp3<T>(GIVEN(a), GIVEN(pivots), GIVEN(r), GIVEN(order),           \
                    GIVEN(tau), batch, m, n);                                  \
  }                                                                            \
  int32_t gpuasync_lapack_orgqr_##type(                                        \
      GPUASYNC_LAPACK_ARRAY(a), GPUASYNC_LAPACK_ARRAY(tau),                    \
      GPUASYNC_LAPACK_ARRAY(q), int64_t batch, int64_t m, int64_t n,           \
      int64_t k) noexcept {                                                    \
    return orgqr<T>(GIVEN(a), GIVEN(tau), GIVEN(q), batch, m, n, k);           \
  }                                                                            \
  int32_t gpuasync_lapack_syevd_##type(                                        \
      GPUASYNC_LAPACK_ARRAY(a), GPUASYNC_LAPACK_ARRAY(v),                      \
      GPUASYNC_LAPACK_ARRAY(w), int64_t batch, int64_t n,                      \
      int64_t lower) noexcept {                                                \
    return syevd<T>(GIVEN(a), GIVEN(v), GIVEN(w), batch, n, lower);            \
  }                                                                            \
  int32_t gpuasync_lapack_gesdd_##type(                                        \
      GPUASYNC_LAPACK_ARRAY(a), GPUASYNC_LAPACK_ARRAY(s),                      \
      GPUASYNC_LAPACK_ARRAY(u), GPUASYNC_LAPACK_ARRAY(vt), int64_t batch,      \
      int64_t m, int64_t n, int64_t vectors, int64_t full) noexcept {          \
    return decomposeSingular<T>(false, GIVEN(a), GIVEN(s), GIVEN(u),           \
                                GIVEN(vt), batch, m, n, vectors, full);        \
  }                                                                            \
  int32_t gpuasync_lapack_gesvd_##type(                                        \
      GPUASYNC_LAPACK_ARRAY(a), GPUASYNC_LAPACK_ARRAY(s),                      \
      GPUASYNC_LAPACK_ARRAY(u), GPUASYNC_LAPACK_ARRAY(vt), int64_t batch,      \
      int64_t m, int64_t n, int64_t vectors, int64_t full) noexcept {          \
    return decomposeSingular<T>(true, GIVEN(a), GIVEN(s), GIVEN(u), GIVEN(vt), \
                                batch, m, n, vectors, full);                   \
  }                                                                            \
  int32_t gpuasync_lapack_geev_##type(                                         \
      GPUASYNC_LAPACK_ARRAY(a), GPUASYNC_LAPACK_ARRAY(w),                      \
      GPUASYNC_LAPACK_ARRAY(vl), GPUASYNC_LAPACK_ARRAY(vr), int64_t batch,     \
      int64_t n, int64_t left, int64_t right) noexcept {                       \
    return geev<T>(GIVEN(a), GIVEN(w), GIVEN(vl), GIVEN(vr), batch, n, left,   \
                   right);                                                     \
  }                                                                            \
  int32_t gpuasync_lapack_gees_##type(GPUASYNC_LAPACK_ARRAY(a),                \
                                      GPUASYNC_LAPACK_ARRAY(t),                \
                                      GPUASYNC_LAPACK_ARRAY(z), int64_t batch, \
                                      int64_t n, int64_t vectors) noexcept {   \
    return gees<T>(GIVEN(a), GIVEN(t), GIVEN(z), batch, n, vectors);           \
  }

extern "C" {

DEFINE(f32, float)
DEFINE(f64, double)
DEFINE(c64, std::complex<float>)
DEFINE(c128, std::complex<double>)

int32_t gpuasync_lapack_provide(const char *name, void *function) noexcept {
  if (!name || !function)
    return GPUASYNC_LAPACK_WRONG_SIZES;
  try {
    std::lock_guard<std::mutex> lock(provided().mutex);
    provided().functions[name] = function;
    return GPUASYNC_LAPACK_OK;
  } catch (const std::bad_alloc &) {
    return GPUASYNC_LAPACK_NO_MEMORY;
  }
}

const char *gpuasync_lapack_why_not() noexcept {
  try {
    return findFunction("dgesdd") ? nullptr : library().why.c_str();
  } catch (const std::bad_alloc &) {
    return "out of host memory";
  }
}
}
