//===- DLPack.h - The layouts of DLPack -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays as libraries hand them to each other, as DLPack 1.3 lays them out:
// https://dmlc.github.io/dlpack/latest/c_api.html
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_PYTHON_BINDING_DLPACK_H
#define GPUASYNC_PYTHON_BINDING_DLPACK_H

#include <cstdint>

namespace dlpack {

enum DeviceType : int32_t {
  Cpu = 1,
  Cuda = 2,
  CudaHost = 3,
  Rocm = 10,
  RocmHost = 11,
  CudaManaged = 13
};

enum TypeCode : uint8_t {
  Int = 0,
  UInt = 1,
  Float = 2,
  BFloat = 4,
  Complex = 5,
  Bool = 6
};

struct Device {
  int32_t type, id;
};

struct DataType {
  uint8_t code, bits;
  uint16_t lanes;
};

struct Tensor {
  void *data;
  Device device;
  int32_t rank;
  DataType type;
  int64_t *shape;
  int64_t *strides; ///< in elements; null: row-major
  uint64_t byteOffset;
};

/// The capsule "dltensor".
struct ManagedTensor {
  Tensor tensor;
  void *context;
  void (*deleter)(ManagedTensor *self);
};

/// The capsule "dltensor_versioned", for those who ask for version 1.
struct VersionedTensor {
  uint32_t major, minor;
  void *context;
  void (*deleter)(VersionedTensor *self);
  uint64_t flags;
  Tensor tensor;
};

/// What a producer of DLPack 1.3 shows of its type, the capsule
/// `exchangeName`: its arrays by calls of C. With the GIL; not 0 is an error,
/// with an exception.
struct ExchangeApi {
  uint32_t major, minor;
  const ExchangeApi *older;
  void *allocate;
  int (*fromObject)(void *object, VersionedTensor **out); ///< nobody waits
  void *toObject;
  void *borrowFromObject;
  /// The stream that the producer's work goes to in this thread.
  int (*currentStream)(DeviceType type, int32_t id, void **out);
};

constexpr uint64_t readOnlyFlag = 1;
constexpr const char *exchangeName = "dlpack_exchange_api";
constexpr const char *name = "dltensor", *versionedName = "dltensor_versioned";

} // namespace dlpack

#endif // GPUASYNC_PYTHON_BINDING_DLPACK_H
