//===- CudaDriver.cpp - What is peculiar to CUDA --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The facts of CUDA, and its way to name devices, launch with attributes, tell
// kinds of memory and write down nodes of graphs.
//===----------------------------------------------------------------------===//

#include "device/cuda/CudaDriver.h"

#include "device/cuda/CudaTypes.h"

#include <dlfcn.h>

using namespace gpuasync;
using namespace gpuasync::cuda;

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

enum Need { Optional, Required };

static const struct Names {
#define CUDA_ENTRY(entry, parameters, need, name, version, exported)           \
  char entry[sizeof(#name)], entry##Exported[sizeof(exported)];
#include "device/vendor/VendorSymbols.def"
} names = {
#define CUDA_ENTRY(entry, parameters, need, name, version, exported)           \
  #name, exported,
#include "device/vendor/VendorSymbols.def"
};

static const VendorSymbol symbols[] = {
#define CUDA_ENTRY(entry, parameters, need, name, version, exported)           \
  {VendorEntry::entry, offsetof(Names, entry),                                 \
   offsetof(Names, entry##Exported), version, need == Required},
#include "device/vendor/VendorSymbols.def"
};

/// cuGetProcAddress of CUDA 12 returns the entry point of just the version that
/// is asked for, whatever the library exports under the plain name.
static void *findSymbol(void *library, const char *name, int version) {
  using Lookup = int (*)(const char *, void **, int, uint64_t, int *);
  const uint64_t legacyStream = 1;
  auto lookup = reinterpret_cast<Lookup>(dlsym(library, "cuGetProcAddress_v2"));
  void *address = nullptr;
  int found = 0;
  if (!lookup ||
      lookup(name, &address, version, legacyStream, &found) != Success)
    return nullptr;
  return address;
}

static const char *const paths[] = {"libcuda.so.1", "libcuda.so",
                                    "/usr/lib/wsl/lib/libcuda.so.1", nullptr};

// After those that lose the device the context answers every call with the same
// error, and no new one can be made in the process.
static const VendorError errors[] = {
    {ErrorDeviceUnavailable, GPUASYNC_UNAVAILABLE},
    {ErrorNotPermitted, GPUASYNC_UNSUPPORTED},
    {ErrorUnsupportedPtxVersion, GPUASYNC_UNSUPPORTED},
    {ErrorJitCompilerNotFound, GPUASYNC_UNSUPPORTED},
    {ErrorNvlinkUncorrectable, GPUASYNC_DEVICE_LOST},
    {ErrorContained, GPUASYNC_DEVICE_LOST},
    {ErrorHardwareStackError, GPUASYNC_DEVICE_LOST},
    {ErrorIllegalInstruction, GPUASYNC_DEVICE_LOST},
    {ErrorMisalignedAddress, GPUASYNC_DEVICE_LOST},
    {ErrorInvalidAddressSpace, GPUASYNC_DEVICE_LOST},
    {ErrorInvalidPc, GPUASYNC_DEVICE_LOST},
    {ErrorTensorMemoryLeak, GPUASYNC_DEVICE_LOST},
    {ErrorMpsClientTerminated, GPUASYNC_DEVICE_LOST},
    {ErrorExternalDevice, GPUASYNC_DEVICE_LOST}};

// A parameter of more than 16 bytes is aligned in the bank that all lie in,
// which does not begin at a multiple of 64.
static const VendorFacts facts = {
    "CUDA",
    "GPU_ASYNC_CUDA_LIBRARY",
    paths,
    {symbols, sizeof(symbols) / sizeof(symbols[0]),
     reinterpret_cast<const char *>(&names)},
    findSymbol,
    /*leastVersion=*/12000,
    /*majorUnit=*/1000,
    /*minorUnit=*/10,
    "the driver is for CUDA",
    errors,
    sizeof(errors) / sizeof(errors[0]),
    "CUDA_ERROR",
    {MaxBlockDimX, MaxGridDimX, MaxSharedMemoryPerBlockOptin, MaxPitch,
     MultiprocessorCount, ConcurrentManagedAccess, CooperativeLaunch,
     MemoryPoolsSupported, ClusterLaunch, ReadOnlyHostRegisterSupported,
     UnifiedAddressing, /*flagWait=*/0},
    EventDisableTiming,
    LaunchParamEnd,
    /*largestPackedParameter=*/16,
    /*graphsOutliveLaunches=*/true};

static const ImageFormat formats[] = {{GPUASYNC_IMAGE_PTX, "PTX", false},
                                      {GPUASYNC_IMAGE_CUBIN, "cubin", false},
                                      {GPUASYNC_IMAGE_FATBIN, "fatbin", false}};

const Vendor gpuasync::cudaVendor = {
    "cuda", /*hasNumberedDevices=*/true, formats,
    sizeof(formats) / sizeof(formats[0]), onlyDriver<CudaDriver>};

CudaDriver::CudaDriver() : VendorDriver(cudaVendor, ::facts) {}

//===----------------------------------------------------------------------===//
// Devices, launches, memory
//===----------------------------------------------------------------------===//

VendorCall CudaDriver::identify(VendorDevice &device) const {
  VendorLimits &limits = device.limits;
  DeviceInfo &info = device.info;
  VendorCall call = VENDOR_CALL(deviceGet, &device.handle, device.ordinal);
  if (call.ok())
    call = VENDOR_CALL(deviceName, info.name, int(sizeof(info.name)),
                       device.handle);
  if (call.ok())
    call = VENDOR_CALL(deviceAttribute, &limits.major, ComputeCapabilityMajor,
                       device.handle);
  if (call.ok())
    call = VENDOR_CALL(deviceAttribute, &limits.minor, ComputeCapabilityMinor,
                       device.handle);
  snprintf(info.arch, sizeof(info.arch), "sm_%d%d", limits.major, limits.minor);
  return call;
}

/// The attributes for a block's flags and clusters, and their number.
unsigned CudaDriver::launchAttributes(FunctionHandle function,
                                      const gpuasync_launch_config &block,
                                      CUlaunchAttribute (&out)[2]) const {
  unsigned count = 0;
  int64_t clusterBlocks = 1;
  unsigned cluster[3];
  for (int i = 0; i < 3; ++i) {
    cluster[i] = block.cluster[i] > 0 ? unsigned(block.cluster[i]) : 1;
    clusterBlocks *= cluster[i];
  }
  if (clusterBlocks > 1) {
    CUlaunchAttribute &attribute = out[count++] = {};
    attribute.id = LaunchAttributeClusterDimension;
    attribute.value.clusterDim = {cluster[0], cluster[1], cluster[2]};
    // More than 8 blocks is what not every chip of the architecture can do.
    if (clusterBlocks > 8)
      (void)VENDOR_CALL(functionSetAttribute, function,
                        FuncNonPortableClusterSizeAllowed, 1);
  }
  if (block.flags & GPUASYNC_LAUNCH_COOPERATIVE) {
    CUlaunchAttribute &attribute = out[count++] = {};
    attribute.id = LaunchAttributeCooperative;
    attribute.value.cooperative = 1;
  }
  return count;
}

VendorCall CudaDriver::launchExtended(FunctionHandle function,
                                      StreamHandle stream,
                                      const gpuasync_kernel &,
                                      const gpuasync_launch_config &block,
                                      void **parameters, void **extra) const {
  if (!table.launchExtended)
    return {ErrorNotSupported, VendorEntry::launchExtended};
  CUlaunchAttribute attributes[2];
  CUlaunchConfig config = {};
  config.gridDimX = unsigned(block.grid[0]);
  config.gridDimY = unsigned(block.grid[1]);
  config.gridDimZ = unsigned(block.grid[2]);
  config.blockDimX = unsigned(block.block[0]);
  config.blockDimY = unsigned(block.block[1]);
  config.blockDimZ = unsigned(block.block[2]);
  config.sharedMemBytes = unsigned(block.dynamicSharedBytes);
  config.hStream = stream;
  config.attrs = attributes;
  config.numAttrs = launchAttributes(function, block, attributes);
  return VENDOR_CALL(launchExtended, &config, function, parameters, extra);
}

VendorCall CudaDriver::copyRows(void *destination, size_t destinationPitch,
                                const void *source, size_t sourcePitch,
                                size_t width, size_t height,
                                StreamHandle stream) const {
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = MemoryTypeUnified;
  copy.srcDevice = source;
  copy.dstDevice = destination;
  copy.srcPitch = sourcePitch;
  copy.dstPitch = destinationPitch;
  copy.WidthInBytes = width;
  copy.Height = height;
  return VENDOR_CALL(copyRows, &copy, stream);
}

VendorCall CudaDriver::pointerKind(const void *pointer,
                                   PointerKind &kind) const {
  // The plural form is success, with zeros, for memory that CUDA does not know.
  unsigned type = 0, managed = 0;
  int attributes[] = {PointerMemoryType, PointerIsManaged};
  void *values[] = {&type, &managed};
  VendorCall call =
      VENDOR_CALL(pointerAttributes, 2, attributes, values, pointer);
  if (call.ok())
    kind = managed                    ? PointerKind::Managed
           : type == MemoryTypeDevice ? PointerKind::Device
           : type == MemoryTypeHost   ? PointerKind::Registered
                                      : PointerKind::Pageable;
  return call;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

static CUDA_KERNEL_NODE_PARAMS nodeOf(const VendorKernelNode &kernel) {
  CUDA_KERNEL_NODE_PARAMS node = {};
  node.func = kernel.function;
  node.gridDimX = kernel.grid[0];
  node.gridDimY = kernel.grid[1];
  node.gridDimZ = kernel.grid[2];
  node.blockDimX = kernel.block[0];
  node.blockDimY = kernel.block[1];
  node.blockDimZ = kernel.block[2];
  node.sharedMemBytes = kernel.sharedBytes;
  node.kernelParams = kernel.parameters;
  node.extra = kernel.extra;
  return node;
}

static CUDA_MEMCPY3D nodeOf(void *destination, const void *source,
                            size_t bytes) {
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = MemoryTypeUnified;
  copy.srcDevice = source;
  copy.dstDevice = destination;
  copy.srcPitch = copy.dstPitch = copy.WidthInBytes = bytes;
  copy.srcHeight = copy.dstHeight = copy.Height = copy.Depth = 1;
  return copy;
}

VendorCall CudaDriver::addKernelNode(GraphNodeHandle &out, GraphHandle graph,
                                     const GraphNodeHandle *after, size_t count,
                                     const VendorKernelNode &kernel) const {
  CUDA_KERNEL_NODE_PARAMS node = nodeOf(kernel);
  return VENDOR_CALL(graphAddKernel, &out, graph, after, count, &node);
}

VendorCall CudaDriver::addOverlappingEdges(GraphHandle graph,
                                           GraphNodeHandle node,
                                           const GraphNodeHandle *after,
                                           size_t count, Ready ready) const {
  CUgraphEdgeData edge = {};
  edge.from_port = ready == Ready::WhenTheyRun
                       ? GraphKernelNodePortLaunchOrder
                       : GraphKernelNodePortProgrammatic;
  edge.type = GraphDependencyTypeProgrammatic;
  const std::vector<GraphNodeHandle> to(count, node);
  const std::vector<CUgraphEdgeData> edges(count, edge);
  return VENDOR_CALL(graphAddEdges, graph, after, to.data(), edges.data(),
                     count);
}

VendorCall
CudaDriver::extendKernelNode(GraphNodeHandle node, FunctionHandle function,
                             const gpuasync_launch_config &block) const {
  CUlaunchAttribute attributes[2];
  unsigned count = launchAttributes(function, block, attributes);
  VendorCall call = {Success, VendorEntry::graphKernelAttribute};
  for (unsigned i = 0; i < count && call.ok(); ++i)
    call = VENDOR_CALL(graphKernelAttribute, node, int(attributes[i].id),
                       &attributes[i].value);
  return call;
}

VendorCall CudaDriver::setKernelNode(GraphExecHandle executable,
                                     GraphNodeHandle node,
                                     const VendorKernelNode &kernel) const {
  CUDA_KERNEL_NODE_PARAMS changed = nodeOf(kernel);
  return VENDOR_CALL(graphSetKernel, executable, node, &changed);
}

VendorCall CudaDriver::addCopyNode(GraphNodeHandle &out, GraphHandle graph,
                                   const GraphNodeHandle *after, size_t count,
                                   void *destination, const void *source,
                                   size_t bytes, void *context) const {
  CUDA_MEMCPY3D copy = nodeOf(destination, source, bytes);
  return VENDOR_CALL(graphAddCopy, &out, graph, after, count, &copy, context);
}

VendorCall CudaDriver::setCopyNode(GraphExecHandle executable,
                                   GraphNodeHandle node, void *destination,
                                   const void *source, size_t bytes,
                                   void *context) const {
  CUDA_MEMCPY3D copy = nodeOf(destination, source, bytes);
  return VENDOR_CALL(graphSetCopy, executable, node, &copy, context);
}
