//===- Vendor.cpp - Products by cuBLASLt and hipBLASLt --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two are one library under two names, with other numbers: a table each.
// They count in columns, so that c of rows is c^T = b^T a^T to them.
//===----------------------------------------------------------------------===//

#include "libs/blas/FirstMade.h"
#include "libs/blas/Product.h"

#include <algorithm>
#include <array>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <string.h>

using namespace gpuasync;
using namespace gpuasync::blas;

namespace {

using Handle = void *;
using Descriptor = void *;

/// What differs, as in cublasLt.h 12 and hipblaslt.h 0.6.
struct Names {
  const char *driver, *variable, *prefix;
  const char *const *libraries;
  int operationN, operationT;
  int types[4]; ///< by Element: cudaDataType, hipDataType
  int computeF32, computeF64;
  int transA, transB;                 ///< attributes of a product
  int batchCount, batchStride;        ///< of a matrix
  int workspaceBytes, firstAlignment; ///< of a preference; -1: has none
  size_t algorithmBytes;              ///< at the beginning of a result
};

const char *const cudaLibraries[] = {"libcublasLt.so.13", "libcublasLt.so.12",
                                     "libcublasLt.so", nullptr};
const char *const hipLibraries[] = {"libhipblaslt.so.1", "libhipblaslt.so.0",
                                    "libhipblaslt.so", nullptr};
const Names vendors[] = {{"cuda",
                          "GPU_ASYNC_CUBLASLT_LIBRARY",
                          "cublasLt",
                          cudaLibraries,
                          0,
                          1,
                          {2, 14, 0, 1},
                          68,
                          70,
                          3,
                          4,
                          5,
                          6,
                          1,
                          5,
                          64},
                         {"hip",
                          "GPU_ASYNC_HIPBLASLT_LIBRARY",
                          "hipblasLt",
                          hipLibraries,
                          111,
                          112,
                          {2, 14, 0, 1},
                          2,
                          7,
                          0,
                          1,
                          0,
                          1,
                          1,
                          -1,
                          24}};

/// cublasLtMatmulHeuristicResult_t and the other one: the algorithm, the bytes
/// of workspace that it needs, a status and more.
struct alignas(8) Choice {
  unsigned char bytes[128];
};

struct Library {
  const Names *names = nullptr;
  Error why;
  int (*create)(Handle *);
  int (*productCreate)(Descriptor *, int computeType, int scaleType);
  int (*productSet)(Descriptor, int attribute, const void *, size_t);
  int (*productDestroy)(Descriptor);
  int (*layoutCreate)(Descriptor *, int type, uint64_t rows, uint64_t columns,
                      int64_t leading);
  int (*layoutSet)(Descriptor, int attribute, const void *, size_t);
  int (*layoutDestroy)(Descriptor);
  int (*preferenceCreate)(Descriptor *);
  int (*preferenceSet)(Descriptor, int attribute, const void *, size_t);
  int (*preferenceDestroy)(Descriptor);
  int (*choose)(Handle, Descriptor product, Descriptor a, Descriptor b,
                Descriptor c, Descriptor d, Descriptor preference, int wanted,
                void *results, int *count);
  int (*multiply)(Handle, Descriptor product, const void *alpha, const void *a,
                  Descriptor aLayout, const void *b, Descriptor bLayout,
                  const void *beta, const void *c, Descriptor cLayout, void *d,
                  Descriptor dLayout, const void *algorithm, void *workspace,
                  size_t workspaceBytes, void *stream);

  std::mutex mutex; ///< of what follows
  std::map<int32_t, Handle> handles;
  /// By all that it depends on; of one product, so as not to choose again.
  using Key = std::array<int64_t, 24>;
  std::map<Key, Choice> choices;
};

Error open(Library &library) {
  Error why;
  void *handle =
      openLibrary(library.names->variable, library.names->libraries, why);
  if (!handle)
    return why;
  const std::pair<void *, const char *> functions[] = {
      {&library.create, "Create"},
      {&library.productCreate, "MatmulDescCreate"},
      {&library.productSet, "MatmulDescSetAttribute"},
      {&library.productDestroy, "MatmulDescDestroy"},
      {&library.layoutCreate, "MatrixLayoutCreate"},
      {&library.layoutSet, "MatrixLayoutSetAttribute"},
      {&library.layoutDestroy, "MatrixLayoutDestroy"},
      {&library.preferenceCreate, "MatmulPreferenceCreate"},
      {&library.preferenceSet, "MatmulPreferenceSetAttribute"},
      {&library.preferenceDestroy, "MatmulPreferenceDestroy"},
      {&library.choose, "MatmulAlgoGetHeuristic"},
      {&library.multiply, "Matmul"}};
  for (auto &[slot, name] : functions) {
    const std::string full = std::string(library.names->prefix) + name;
    void *address = dlsym(handle, full.c_str());
    if (!address)
      return "the library found has no " + full;
    memcpy(slot, &address, sizeof(address));
  }
  return Error();
}

/// Null: no such driver.
Library *libraryOf(const char *driver) {
  static FirstMade<Library> libraries[2];
  for (int i = 0; i < 2; ++i)
    if (!strcmp(driver, vendors[i].driver))
      return &libraries[i].get([i] {
        auto made = std::make_unique<Library>();
        made->names = &vendors[i];
        made->why = open(*made);
        return made;
      });
  return nullptr;
}

/// Destroys what was made for one call.
class Made {
public:
  explicit Made(int (*destroy)(Descriptor)) : destroy(destroy) {}
  Made(const Made &) = delete;
  ~Made() {
    if (value)
      (void)destroy(value);
  }
  Descriptor value = nullptr;

private:
  int (*destroy)(Descriptor);
};

/// A matrix as the library stores it: columns one after the other.
struct Stored {
  explicit Stored(const Matrix &matrix)
      : rows(matrix.hasRows() ? matrix.columns : matrix.rows),
        columns(matrix.hasRows() ? matrix.rows : matrix.columns),
        leading(matrix.leading()) {}
  int64_t rows, columns, leading;
};

class Call {
public:
  Call(Library &library, const gpuasync_call &call, const Product &product)
      : library(library), names(*library.names), call(call), product(product),
        operation(library.productDestroy), a(library.layoutDestroy),
        b(library.layoutDestroy), c(library.layoutDestroy),
        preference(library.preferenceDestroy) {}
  Error run();

private:
  Error failed(const char *function, int status) {
    return std::string(names.prefix) + function + ": status " +
           std::to_string(status);
  }
  Error describe(const Matrix &matrix, Made &layout);
  Error chooseAlgorithm(Handle handle, Choice &choice);
  Library::Key key();

  Library &library;
  const Names &names;
  const gpuasync_call &call;
  const Product &product;
  Made operation, a, b, c, preference;
};

Error Call::describe(const Matrix &matrix, Made &layout) {
  if (matrix.batch > INT32_MAX)
    return std::to_string(matrix.batch) + " matrices are too many for " +
           names.prefix + ", which counts them in 32 bits";
  const Stored stored(matrix);
  int status = library.layoutCreate(
      &layout.value, names.types[static_cast<int>(product.element)],
      static_cast<uint64_t>(stored.rows), static_cast<uint64_t>(stored.columns),
      stored.leading);
  const auto count = static_cast<int32_t>(matrix.batch);
  if (!status)
    status = library.layoutSet(layout.value, names.batchCount, &count,
                               sizeof(count));
  if (!status)
    status = library.layoutSet(layout.value, names.batchStride,
                               &matrix.batchStride, sizeof(int64_t));
  return status ? failed("MatrixLayoutCreate", status) : Error();
}

/// What the address is a multiple of, up to 256.
uint32_t alignmentOf(const void *pointer) {
  const auto address = reinterpret_cast<uintptr_t>(pointer) | 256;
  return static_cast<uint32_t>(address & -address);
}

Library::Key Call::key() {
  Library::Key key = {};
  size_t next = 0;
  key[next++] = call.ordinal;
  key[next++] = static_cast<int64_t>(product.element);
  key[next++] = product.adds;
  key[next++] = static_cast<int64_t>(product.workspaceBytes);
  for (const Matrix *matrix : {&product.a, &product.b, &product.c}) {
    const Stored stored(*matrix);
    for (int64_t part :
         {stored.rows, stored.columns, stored.leading, matrix->batchStride,
          static_cast<int64_t>(alignmentOf(matrix->data))})
      key[next++] = part;
  }
  key[next++] = product.a.hasRows();
  key[next++] = product.b.hasRows();
  key[next++] = product.c.batch;
  return key;
}

Error Call::chooseAlgorithm(Handle handle, Choice &choice) {
  if (int status = library.preferenceCreate(&preference.value))
    return failed("MatmulPreferenceCreate", status);
  int status = library.preferenceSet(preference.value, names.workspaceBytes,
                                     &product.workspaceBytes, sizeof(uint64_t));
  // Of what it calls A, B, C and D.
  const void *const addresses[] = {product.b.data, product.a.data,
                                   product.c.data, product.c.data};
  for (int i = 0; i < 4 && names.firstAlignment >= 0 && !status; ++i) {
    const uint32_t alignment = alignmentOf(addresses[i]);
    status = library.preferenceSet(preference.value, names.firstAlignment + i,
                                   &alignment, sizeof(alignment));
  }
  if (status)
    return failed("MatmulPreferenceSetAttribute", status);
  int count = 0;
  status = library.choose(handle, operation.value, b.value, a.value, c.value,
                          c.value, preference.value, 1, &choice, &count);
  if (!status && !count)
    return std::string(names.prefix) + " has no algorithm for this product";
  return status ? failed("MatmulAlgoGetHeuristic", status) : Error();
}

Error Call::run() {
  const bool isDouble = product.element == Element::F64;
  int status = library.productCreate(
      &operation.value, isDouble ? names.computeF64 : names.computeF32,
      names.types[static_cast<int>(isDouble ? Element::F64 : Element::F32)]);
  if (status)
    return failed("MatmulDescCreate", status);
  auto setOperation = [&](int attribute, const Matrix &matrix) {
    const int32_t value =
        matrix.hasRows() ? names.operationN : names.operationT;
    return library.productSet(operation.value, attribute, &value,
                              sizeof(value));
  };
  status = setOperation(names.transA, product.b);
  if (!status)
    status = setOperation(names.transB, product.a);
  if (status)
    return failed("MatmulDescSetAttribute", status);
  for (auto [matrix, layout] :
       {std::pair(&product.a, &a), std::pair(&product.b, &b),
        std::pair(&product.c, &c)})
    if (Error error = describe(*matrix, *layout); !error.empty())
      return error;

  Handle handle = nullptr;
  Choice choice;
  {
    std::lock_guard<std::mutex> lock(library.mutex);
    auto known = library.choices.find(key());
    if (known == library.choices.end()) {
      if (call.flags & GPUASYNC_CALL_CAPTURED)
        return std::string(names.prefix) +
               " has not chosen an algorithm for this product, which cannot be "
               "done in a capture: call the function once before";
      Handle &made = library.handles[call.ordinal];
      if (!made)
        if (int error = library.create(&made))
          return failed("Create", error);
      memset(&choice, 0, sizeof(choice));
      Error error = chooseAlgorithm(made, choice);
      if (!error.empty())
        return error;
      known = library.choices.emplace(key(), choice).first;
    }
    choice = known->second;
    handle = library.handles[call.ordinal];
  }
  const float oneFloat = 1, zeroFloat = 0;
  const double oneDouble = 1, zeroDouble = 0;
  auto pick = [&](const float &single, const double &twice) {
    return isDouble ? static_cast<const void *>(&twice) : &single;
  };
  status = library.multiply(
      handle, operation.value, pick(oneFloat, oneDouble), product.b.data,
      b.value, product.a.data, a.value,
      product.adds ? pick(oneFloat, oneDouble) : pick(zeroFloat, zeroDouble),
      product.c.data, c.value, product.c.data, c.value, choice.bytes,
      product.workspace, product.workspaceBytes, call.stream);
  return status ? failed("Matmul", status) : Error();
}

} // namespace

Error blas::whyNotOnGPU(const char *driver) {
  Library *library = libraryOf(driver);
  if (!library)
    return std::string("no library for the driver '") + driver + "'";
  return library->why.empty() ? Error()
                              : std::string("no ") + library->names->prefix +
                                    ": " + library->why;
}

Error blas::multiplyOnGPU(const gpuasync_call &call, const Product &product) {
  Error why = whyNotOnGPU(call.driver);
  if (!why.empty())
    return why;
  if (!product.a.columns)
    return "sums of no elements";
  return Call(*libraryOf(call.driver), call, product).run();
}
