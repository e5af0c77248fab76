//===- VendorTable.h - The entry points of a vendor's library ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One table serves both vendors: what only the other one has is null, and so is
// what is optional and an older library lacks.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DEVICE_VENDOR_VENDORTABLE_H
#define GPUASYNC_DEVICE_VENDOR_VENDORTABLE_H

#include "device/Driver.h"
#include "device/vendor/VendorTypes.h"

#include <string.h>

namespace gpuasync {

namespace cuda {
struct CUDA_KERNEL_NODE_PARAMS;
struct CUDA_MEMCPY2D;
struct CUDA_MEMCPY3D;
struct CUgraphEdgeData;
union CUlaunchAttributeValue;
struct CUlaunchConfig;
} // namespace cuda
namespace hip {
struct hipDeviceProp_tR0600;
struct hipKernelNodeParams;
struct hipPointerAttribute_t;
} // namespace hip

using namespace vendor;

struct VendorTable {
#define CUDA_ENTRY(entry, parameters, need, name, version, exported)           \
  int(*entry) parameters = nullptr;
#define HIP_ENTRY(entry, parameters, need, name)                               \
  int(*entry) parameters = nullptr;
#define BOTH_ENTRY(entry, parameters, cudaNeed, cudaName, version, exported,   \
                   hipNeed, hipName)                                           \
  int(*entry) parameters = nullptr;
#include "device/vendor/VendorSymbols.def"
};

/// The entries of the table in its order.
enum class VendorEntry : uint32_t {
#define CUDA_ENTRY(entry, parameters, need, name, version, exported) entry,
#define HIP_ENTRY(entry, parameters, need, name) entry,
#define BOTH_ENTRY(entry, parameters, cudaNeed, cudaName, version, exported,   \
                   hipNeed, hipName)                                           \
  entry,
#include "device/vendor/VendorSymbols.def"
  count
};
static_assert(sizeof(VendorTable) ==
              size_t(VendorEntry::count) * sizeof(void *));

inline void setEntry(VendorTable &table, VendorEntry entry, void *address) {
  memcpy(reinterpret_cast<char *>(&table) + size_t(entry) * sizeof(address),
         &address, sizeof(address));
}

/// What a call of an entry returned.
struct [[nodiscard]] VendorCall {
  int code;
  VendorEntry entry;
  bool ok() const { return __builtin_expect(code == Success, 1); }
};

/// Calls an entry of the VendorTable that is in scope as `table`.
#define VENDOR_CALL(entry, ...)                                                \
  ::gpuasync::VendorCall {                                                     \
    (++::gpuasync::driverCallCount, table.entry(__VA_ARGS__)),                 \
        ::gpuasync::VendorEntry::entry                                         \
  }

//===----------------------------------------------------------------------===//
// Contexts, and each thread's current device where the vendor has none
//===----------------------------------------------------------------------===//

inline VendorCall currentContext(const VendorTable &table, void *&context) {
  if (table.contextCurrent)
    return VENDOR_CALL(contextCurrent, &context);
  int device = 0;
  VendorCall call = VENDOR_CALL(deviceCurrent, &device);
  context = reinterpret_cast<void *>(intptr_t(device));
  return call;
}

inline VendorCall setCurrentContext(const VendorTable &table, void *context) {
  if (table.contextSetCurrent)
    return VENDOR_CALL(contextSetCurrent, context);
  return VENDOR_CALL(deviceSetCurrent,
                     int(reinterpret_cast<intptr_t>(context)));
}

/// The number that no other context of the process has; 0 where nothing tells
/// that other code has reset the device.
inline VendorCall contextId(const VendorTable &table, void *context,
                            uint64_t &id) {
  unsigned long long value = 0;
  VendorCall call = {Success, VendorEntry::contextId};
  if (table.contextId)
    call = VENDOR_CALL(contextId, context, &value);
  id = value;
  return call;
}

} // namespace gpuasync

#endif // GPUASYNC_DEVICE_VENDOR_VENDORTABLE_H
