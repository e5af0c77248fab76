//===- HipDriver.cpp - What is peculiar to HIP ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The facts of HIP, and its way to name devices, launch cooperatively, tell
// kinds of memory and write down nodes of graphs. HIP has no contexts: each
// thread has a current device.
//===----------------------------------------------------------------------===//

#include "device/hip/HipDriver.h"

#include "device/hip/HipTypes.h"

#include <vector>

using namespace gpuasync;
using namespace gpuasync::hip;

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

enum Need { Optional, Required };

// HIP marks the entry points that changed by their names (R0600), so there is
// no version to ask for.
static const struct Names {
#define HIP_ENTRY(entry, parameters, need, name) char entry[sizeof(#name)];
#include "device/vendor/VendorSymbols.def"
} names = {
#define HIP_ENTRY(entry, parameters, need, name) #name,
#include "device/vendor/VendorSymbols.def"
};

static const VendorSymbol symbols[] = {
#define HIP_ENTRY(entry, parameters, need, name)                               \
  {VendorEntry::entry, offsetof(Names, entry), offsetof(Names, entry), 0,      \
   need == Required},
#include "device/vendor/VendorSymbols.def"
};

static const char *const paths[] = {"libamdhip64.so.7",
                                    "libamdhip64.so.6",
                                    "libamdhip64.so",
                                    "/opt/rocm/lib/libamdhip64.so.7",
                                    "/opt/rocm/lib/libamdhip64.so.6",
                                    "/opt/rocm/lib/libamdhip64.so",
                                    nullptr};

static const VendorError errors[] = {
    {ErrorInsufficientDriver, GPUASYNC_UNAVAILABLE},
    {ErrorInvalidConfiguration, GPUASYNC_INVALID_ARGUMENT},
    {ErrorInvalidImage, GPUASYNC_INVALID_ARGUMENT},
    {ErrorSharedObjectInitFailed, GPUASYNC_INVALID_ARGUMENT}};

// 6.2.41133 is 60241133. Any event may become a token that the host waits for,
// and what the work wrote must be visible then.
static const VendorFacts facts = {
    "HIP",
    "GPU_ASYNC_HIP_LIBRARY",
    paths,
    {symbols, sizeof(symbols) / sizeof(symbols[0]),
     reinterpret_cast<const char *>(&names)},
    /*findSymbol=*/nullptr,
    /*leastVersion=*/60000000,
    /*majorUnit=*/10000000,
    /*minorUnit=*/100000,
    "its library is of ROCm",
    errors,
    sizeof(errors) / sizeof(errors[0]),
    "hipError",
    {MaxBlockDimX, MaxGridDimX, MaxSharedMemoryPerBlock, MaxPitch,
     MultiprocessorCount, ConcurrentManagedAccess, CooperativeLaunch,
     MemoryPoolsSupported, /*clusters=*/0, /*readOnlyRegister=*/0,
     /*unifiedAddressing=*/0, CanUseStreamWaitValue},
    EventDisableTiming | EventReleaseToSystem,
    LaunchParamEnd,
    /*largestPackedParameter=*/SIZE_MAX,
    /*graphsOutliveLaunches=*/false}; // not documented

static const ImageFormat formats[] = {{GPUASYNC_IMAGE_HSACO, "hsaco", false}};

const Vendor gpuasync::hipVendor = {"hip", /*hasNumberedDevices=*/true, formats,
                                    sizeof(formats) / sizeof(formats[0]),
                                    onlyDriver<HipDriver>};

HipDriver::HipDriver() : VendorDriver(hipVendor, ::facts) {}

//===----------------------------------------------------------------------===//
// Devices, modules, launches, memory
//===----------------------------------------------------------------------===//

VendorCall HipDriver::identify(VendorDevice &device) const {
  device.handle = device.ordinal;
  auto properties = std::make_unique<hipDeviceProp_tR0600>();
  VendorCall call =
      VENDOR_CALL(deviceProperties, properties.get(), device.ordinal);
  auto take = [](auto &to, const auto &from) {
    snprintf(to, sizeof(to), "%.*s", int(sizeof(to) - 1), from);
  };
  take(device.info.name, properties->name);
  take(device.info.arch, properties->gcnArchName);
  take(device.limits.arch, properties->gcnArchName);
  return call;
}

// Nothing is compiled here, so there is no log.
VendorCall HipDriver::loadImage(const gpuasync_image &image,
                                ModuleHandle &module, char *, size_t) const {
  return VENDOR_CALL(moduleLoadObject, &module, image.data);
}

// This entry point takes no buffer, only a pointer to each parameter, so it
// serves kernels whose parameters the program describes.
VendorCall HipDriver::launchExtended(FunctionHandle function,
                                     StreamHandle stream,
                                     const gpuasync_kernel &kernel,
                                     const gpuasync_launch_config &block,
                                     void **parameters, void **) const {
  std::vector<void *> pointers;
  if (!table.launchCooperative ||
      (!parameters && kernel.paramCount == UINT32_MAX))
    return {ErrorNotSupported, VendorEntry::launchCooperative};
  if (!parameters) {
    pointers.resize(kernel.paramCount);
    auto *bytes = static_cast<char *>(const_cast<void *>(block.params));
    for (uint32_t i = 0; i < kernel.paramCount; ++i)
      pointers[i] = bytes + kernel.paramOffsets[i];
    parameters = pointers.data();
  }
  return VENDOR_CALL(launchCooperative, function, unsigned(block.grid[0]),
                     unsigned(block.grid[1]), unsigned(block.grid[2]),
                     unsigned(block.block[0]), unsigned(block.block[1]),
                     unsigned(block.block[2]),
                     unsigned(block.dynamicSharedBytes), stream, parameters);
}

VendorCall HipDriver::copyRows(void *destination, size_t destinationPitch,
                               const void *source, size_t sourcePitch,
                               size_t width, size_t height,
                               StreamHandle stream) const {
  return VENDOR_CALL(copyRowsOfKind, destination, destinationPitch, source,
                     sourcePitch, width, height, MemcpyDefault, stream);
}

// Older versions call memory that HIP does not know an error, which would stay
// behind as the thread's last one and be taken for a failure of the caller's.
VendorCall HipDriver::pointerKind(const void *pointer,
                                  PointerKind &kind) const {
  hipPointerAttribute_t attributes = {};
  VendorCall call = VENDOR_CALL(pointerAttributesOf, &attributes, pointer);
  auto type = unsigned(attributes.type);
  if (call.ok())
    kind = attributes.isManaged || type == MemoryTypeManaged
               ? PointerKind::Managed
           : type == MemoryTypeDevice ? PointerKind::Device
           : type == MemoryTypeHost   ? PointerKind::Registered
                                      : PointerKind::Pageable;
  else if (call.code == ErrorInvalidValue && table.lastError)
    (void)table.lastError();
  return call;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

static hipKernelNodeParams nodeOf(const VendorKernelNode &kernel) {
  hipKernelNodeParams node = {};
  node.func = kernel.function;
  for (int i = 0; i < 3; ++i) {
    node.gridDim[i] = kernel.grid[i];
    node.blockDim[i] = kernel.block[i];
  }
  node.sharedMemBytes = kernel.sharedBytes;
  node.kernelParams = kernel.parameters;
  node.extra = kernel.extra;
  return node;
}

VendorCall HipDriver::addKernelNode(GraphNodeHandle &out, GraphHandle graph,
                                    const GraphNodeHandle *after, size_t count,
                                    const VendorKernelNode &kernel) const {
  hipKernelNodeParams node = nodeOf(kernel);
  return VENDOR_CALL(graphAddKernelOf, &out, graph, after, count, &node);
}

VendorCall HipDriver::setKernelNode(GraphExecHandle executable,
                                    GraphNodeHandle node,
                                    const VendorKernelNode &kernel) const {
  hipKernelNodeParams changed = nodeOf(kernel);
  return VENDOR_CALL(graphSetKernelOf, executable, node, &changed);
}

VendorCall HipDriver::addCopyNode(GraphNodeHandle &out, GraphHandle graph,
                                  const GraphNodeHandle *after, size_t count,
                                  void *destination, const void *source,
                                  size_t bytes, void *) const {
  return VENDOR_CALL(graphAddCopyOfKind, &out, graph, after, count, destination,
                     source, bytes, MemcpyDefault);
}

VendorCall HipDriver::setCopyNode(GraphExecHandle executable,
                                  GraphNodeHandle node, void *destination,
                                  const void *source, size_t bytes,
                                  void *) const {
  return VENDOR_CALL(graphSetCopyOfKind, executable, node, destination, source,
                     bytes, MemcpyDefault);
}
