//===- Hip.cpp - The entry points of libmock_hip.so -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function per HIP entry of VendorSymbols.def, which also makes the
// library's exports. Contexts are there from the beginning, one per device;
// what a thread has is a current device.
//===----------------------------------------------------------------------===//

#include "State.h"

#include "device/hip/HipTypes.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <string_view>

using namespace gpuasync::hip;

namespace mock {

extern const bool implicitContexts = true;

namespace {

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

namespace names {
#define HIP_ENTRY(entry, parameters, need, name)                               \
  constexpr const char *name = #name;
#include "device/vendor/VendorSymbols.def"
} // namespace names

const ErrorText errorTexts[] = {
    {Success, "hipSuccess", "no error"},
    {InvalidValue, "hipErrorInvalidValue", "invalid argument"},
    {OutOfMemory, "hipErrorOutOfMemory", "out of memory"},
    {NotInitialized, "hipErrorNotInitialized", "initialization error"},
    {InvalidDevice, "hipErrorInvalidDevice", "invalid device ordinal"},
    {InvalidImage, "hipErrorInvalidImage", "device kernel image is invalid"},
    {InvalidContext, "hipErrorInvalidContext", "invalid device context"},
    {NoBinaryForGpu, "hipErrorNoBinaryForGpu",
     "no kernel image is available for execution on the device"},
    {InvalidHandle, "hipErrorInvalidHandle", "invalid resource handle"},
    {NotFound, "hipErrorNotFound", "named symbol not found"},
    {NotReady, "hipErrorNotReady", "device not ready"},
    {ContextIsDestroyed, "hipErrorContextIsDestroyed", "context is destroyed"},
    {HostMemoryAlreadyRegistered, "hipErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {HostMemoryNotRegistered, "hipErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {LaunchFailed, "hipErrorLaunchFailure", "unspecified launch failure"},
    {CooperativeLaunchTooLarge, "hipErrorCooperativeLaunchTooLarge",
     "too many blocks in cooperative launch"},
    {NotSupported, "hipErrorNotSupported", "operation not supported"},
};

//===----------------------------------------------------------------------===//
// The library and its devices
//===----------------------------------------------------------------------===//

int hipInit(Call &, unsigned flags) { return flags ? InvalidValue : Success; }

int hipRuntimeGetVersion(Call &, int *version) {
  *version = int(state().settings["rocm"]);
  return Success;
}

int hipDrvGetErrorName(Call &, int error, const char **text) {
  return errorText(errorTexts, error, &ErrorText::name, text);
}
int hipDrvGetErrorString(Call &, int error, const char **text) {
  return errorText(errorTexts, error, &ErrorText::text, text);
}
int hipGetLastError(Call &) { return Success; }

int hipGetDeviceCount(Call &, int *count) {
  *count = int(state().settings["devices"]);
  return Success;
}
int hipGetDevice(Call &, int *device) {
  *device = thread().device;
  return Success;
}
int hipSetDevice(Call &, int device) {
  Context *context = nullptr;
  if (int code = state().primary(device, context))
    return code;
  thread().device = device;
  return Success;
}

int hipGetDevicePropertiesR0600(Call &, hipDeviceProp_tR0600 *properties,
                                int device) {
  *properties = {};
  snprintf(properties->name, sizeof(properties->name), "Mock GPU %d", device);
  strcpy(properties->gcnArchName, "gfx942:sramecc+:xnack-");
  return Success;
}

int hipDeviceGetAttribute(Call &, int *value, int attribute, int) {
  auto &settings = state().settings;
  switch (attribute) {
  case MaxThreadsPerBlock:
  case MaxBlockDimX:
  case MaxBlockDimX + 1:
  case MaxBlockDimX + 2:
    *value = 1024;
    return Success;
  case MaxGridDimX:
  case MaxPitch:
    *value = INT32_MAX;
    return Success;
  case MaxGridDimX + 1:
  case MaxGridDimX + 2:
    *value = 65536;
    return Success;
  case MultiprocessorCount:
    *value = int(settings["multiprocessors"]);
    return Success;
  case MaxSharedMemoryPerBlock:
    *value = 64 << 10;
    return Success;
  case ConcurrentManagedAccess:
    *value = int(settings["managed"]);
    return Success;
  case MemoryPoolsSupported:
    *value = int(settings["pools"]);
    return Success;
  case CanUseStreamWaitValue:
  case CooperativeLaunch:
    *value = 1;
    return Success;
  default:
    state().violation("unknown attribute " + std::to_string(attribute));
    return InvalidValue;
  }
}

int hipDeviceTotalMem(Call &, size_t *bytes, int) {
  *bytes = state().settings["memory"];
  return Success;
}

//===----------------------------------------------------------------------===//
// Modules and launches
//===----------------------------------------------------------------------===//

int hipModuleLoadData(Call &call, ModuleHandle *module, const void *image) {
  // The runtime's own kernels come as real code objects.
  static const char builtins[] = "gpuasync-mock-image\narch gfx942\n"
                                 "kernel gpuasync_copy 264\n"
                                 "kernel gpuasync_fill 264\n"
                                 "kernel gpuasync_nothing\n"
                                 "kernel gpuasync_signal 8 4\n";
  const auto *bytes = static_cast<const char *>(image);
  if (memcmp(bytes, ELFMAG, SELFMAG) == 0) {
    Elf64_Ehdr header;
    memcpy(&header, bytes, sizeof(header));
    // The section headers are the last thing in such a file.
    std::string_view object(bytes, header.e_shoff);
    if (object.find("gfx942") == std::string_view::npos ||
        object.find("gpuasync_copy") == std::string_view::npos)
      return NoBinaryForGpu;
    image = builtins;
  }
  Module *loaded = nullptr;
  std::string log;
  int code = state().load(image, loaded, log, call.lock);
  if (code != Success)
    return code == InvalidPtx ? int(InvalidImage) : code;
  // A module is loaded wholly, and a block may use all the memory there is.
  for (auto &function : loaded->functions) {
    function->loaded = true;
    function->maxDynamicShared = 64 << 10;
  }
  *module = to<ModuleHandle>(static_cast<void *>(loaded));
  return Success;
}

int hipModuleUnload(Call &call, ModuleHandle module) {
  return state().unload(module, call.lock);
}

int hipModuleGetFunction(Call &, FunctionHandle *function, ModuleHandle module,
                         const char *name) {
  Function *found = nullptr;
  if (int code = state().function(module, name, found))
    return code;
  *function = to<FunctionHandle>(static_cast<void *>(found));
  return Success;
}

int hipFuncGetAttribute(Call &call, int *value, int attribute,
                        FunctionHandle function) {
  Function *found = nullptr;
  if (int code = state().function(function, found, false, call.lock))
    return code;
  switch (attribute) {
  case FuncMaxThreadsPerBlock:
    *value = 1024;
    return Success;
  case FuncSharedSizeBytes:
    *value = int(found->kernel->workgroupBytes);
    return Success;
  case FuncLocalSizeBytes:
    *value = 0;
    return Success;
  default:
    return InvalidValue;
  }
}

int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(Call &call, int *blocks,
                                                       FunctionHandle function,
                                                       int blockSize, size_t) {
  Function *found = nullptr;
  if (int code = state().function(function, found, false, call.lock))
    return code;
  *blocks = 2048 / (blockSize ? blockSize : 1);
  return Success;
}

/// A kernel's parameters, which come in a buffer.
int unpack(void **parameters, void **extra, const void *&buffer,
           size_t &bytes) {
  if (parameters)
    state().violation("the model takes packed parameters only here");
  auto is = [](void *mark, uintptr_t value) {
    return reinterpret_cast<uintptr_t>(mark) == value;
  };
  for (int i = 0; extra && !is(extra[i], LaunchParamEnd); i += 2) {
    if (is(extra[i], LaunchParamBufferPointer)) {
      buffer = extra[i + 1];
    } else if (is(extra[i], LaunchParamBufferSize)) {
      bytes = *static_cast<size_t *>(extra[i + 1]);
    } else {
      state().violation("unknown mark of a launch");
      return InvalidValue;
    }
  }
  return Success;
}

int hipModuleLaunchKernel(Call &call, FunctionHandle function, unsigned gridX,
                          unsigned gridY, unsigned gridZ, unsigned blockX,
                          unsigned blockY, unsigned blockZ,
                          unsigned sharedBytes, StreamHandle stream,
                          void **parameters, void **extra) {
  Function *found = nullptr;
  if (int code = state().function(function, found, false, call.lock))
    return code;
  const void *buffer = nullptr;
  size_t bytes = 0;
  if (int code = unpack(parameters, extra, buffer, bytes))
    return code;
  return state().launch(
      *found, stream,
      {{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes, false},
      buffer, bytes, call.lock);
}

int hipModuleLaunchCooperativeKernel(Call &call, FunctionHandle function,
                                     unsigned gridX, unsigned gridY,
                                     unsigned gridZ, unsigned blockX,
                                     unsigned blockY, unsigned blockZ,
                                     unsigned sharedBytes, StreamHandle stream,
                                     void **parameters) {
  Function *found = nullptr;
  if (int code = state().function(function, found, false, call.lock))
    return code;
  std::vector<char> buffer(found->parameterBytes);
  for (size_t i = 0; i < found->parameters.size(); ++i)
    memcpy(buffer.data() + found->parameters[i].offset, parameters[i],
           found->parameters[i].size);
  return state().launch(
      *found, stream,
      {{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes, true},
      buffer.data(), buffer.size(), call.lock);
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

int hipStreamCreateWithFlags(Call &, StreamHandle *stream, unsigned flags) {
  Stream *made = nullptr;
  if (int code = state().createStream(flags, flags == StreamNonBlocking, made))
    return code;
  *stream = to<StreamHandle>(static_cast<void *>(made));
  return Success;
}

int hipStreamCreateWithPriority(Call &call, StreamHandle *stream,
                                unsigned flags, int priority) {
  return priority < -5 || priority > 0
             ? int(InvalidValue)
             : hipStreamCreateWithFlags(call, stream, flags);
}
int hipDeviceGetStreamPriorityRange(Call &, int *least, int *greatest) {
  *least = 0;
  *greatest = -5;
  return Success;
}
int hipStreamDestroy(Call &, StreamHandle stream) {
  return state().destroyStream(stream);
}
int hipStreamQuery(Call &, StreamHandle stream) {
  return state().query(stream);
}
int hipStreamWaitEvent(Call &, StreamHandle stream, EventHandle event,
                       unsigned flags) {
  return flags ? int(InvalidValue) : state().wait(stream, event);
}
int hipStreamWriteValue32(Call &, StreamHandle stream, void *word,
                          uint32_t value, unsigned flags) {
  return flags ? int(InvalidValue) : state().writeValue(stream, word, value);
}
int hipStreamGetCaptureInfo(Call &, StreamHandle stream, int *status,
                            unsigned long long *id) {
  uint64_t number = 0;
  const int code = state().captureInfo(stream, *status, number);
  *id = number;
  return code;
}
int hipStreamBeginCapture(Call &, StreamHandle stream, int mode) {
  return state().beginCapture(stream, mode);
}
int hipStreamEndCapture(Call &, StreamHandle stream, GraphHandle *graph) {
  void *made = nullptr;
  const int code = state().endCapture(stream, made);
  *graph = to<GraphHandle>(made);
  return code;
}
int hipThreadExchangeStreamCaptureMode(Call &, int *mode) {
  std::swap(*mode, thread().captureMode);
  return Success;
}
int hipEventCreateWithFlags(Call &, EventHandle *event, unsigned flags) {
  const bool isTimed = !(flags & EventDisableTiming);
  if (!isTimed && !(flags & EventReleaseToSystem))
    state().violation("the host need not see what the work wrote");
  if (flags & ~(unsigned(EventDisableTiming) | unsigned(EventReleaseToSystem)))
    return InvalidValue;
  Event *made = nullptr;
  if (int code = state().createEvent(isTimed, made))
    return code;
  *event = to<EventHandle>(static_cast<void *>(made));
  return Success;
}
int hipEventDestroy(Call &, EventHandle event) {
  return state().destroyEvent(event);
}
int hipEventRecord(Call &, EventHandle event, StreamHandle stream) {
  return state().record(event, stream);
}
int hipEventQuery(Call &, EventHandle event) {
  return state().queryEvent(event);
}
int hipEventElapsedTime(Call &, float *milliseconds, EventHandle from,
                        EventHandle to) {
  return state().elapsed(*milliseconds, from, to);
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

int hipGraphCreate(Call &, GraphHandle *graph, unsigned flags) {
  Graph *made = nullptr;
  if (int code = flags ? int(InvalidValue) : state().createGraph(made))
    return code;
  *graph = to<GraphHandle>(static_cast<void *>(made));
  return Success;
}

int kernelWork(Call &call, const hipKernelNodeParams &kernel, Work &out) {
  Function *found = nullptr;
  if (int code = state().function(kernel.func, found, false, call.lock))
    return code;
  const void *buffer = nullptr;
  size_t bytes = 0;
  if (int code = unpack(kernel.kernelParams, kernel.extra, buffer, bytes))
    return code;
  return state().kernelWork(
      *found,
      {{kernel.gridDim[0], kernel.gridDim[1], kernel.gridDim[2]},
       {kernel.blockDim[0], kernel.blockDim[1], kernel.blockDim[2]},
       kernel.sharedMemBytes,
       false},
      buffer, bytes, out, call.lock);
}

int copyWork(void *destination, const void *source, size_t bytes, int kind,
             Work &out) {
  if (kind != MemcpyDefault || destination == source)
    return InvalidValue;
  return state().copyWork({static_cast<char *>(destination),
                           static_cast<const char *>(source), 0, 0, bytes, 1},
                          out);
}

int addNode(GraphNodeHandle *node, GraphHandle graph,
            const GraphNodeHandle *after, size_t count, Work work) {
  std::vector<void *> before(after, after + count);
  GraphNode *made = nullptr;
  if (int code =
          state().addNode(graph, before.data(), count, std::move(work), made))
    return code;
  *node = to<GraphNodeHandle>(static_cast<void *>(made));
  return Success;
}

int hipGraphAddKernelNode(Call &call, GraphNodeHandle *node, GraphHandle graph,
                          const GraphNodeHandle *after, size_t count,
                          const hipKernelNodeParams *kernel) {
  Work work;
  if (int code = kernelWork(call, *kernel, work))
    return code;
  return addNode(node, graph, after, count, std::move(work));
}
int hipGraphAddMemcpyNode1D(Call &, GraphNodeHandle *node, GraphHandle graph,
                            const GraphNodeHandle *after, size_t count,
                            void *destination, const void *source, size_t bytes,
                            int kind) {
  Work work;
  if (int code = copyWork(destination, source, bytes, kind, work))
    return code;
  return addNode(node, graph, after, count, std::move(work));
}
int hipGraphAddChildGraphNode(Call &, GraphNodeHandle *node, GraphHandle graph,
                              const GraphNodeHandle *after, size_t count,
                              GraphHandle child) {
  std::vector<void *> before(after, after + count);
  GraphNode *made = nullptr;
  if (int code = state().addChild(graph, before.data(), count, child, made))
    return code;
  *node = to<GraphNodeHandle>(static_cast<void *>(made));
  return Success;
}
int hipGraphGetNodes(Call &, GraphHandle graph, GraphNodeHandle *nodes,
                     size_t *count) {
  return nodes ? int(InvalidValue) : state().graphNodes(graph, *count);
}
int hipGraphExecChildGraphNodeSetParams(Call &, GraphExecHandle executable,
                                        GraphNodeHandle node,
                                        GraphHandle child) {
  return state().setChild(executable, node, child);
}
int hipGraphInstantiateWithFlags(Call &, GraphExecHandle *executable,
                                 GraphHandle graph, unsigned long long flags) {
  Executable *made = nullptr;
  if (int code = flags ? int(InvalidValue) : state().instantiate(graph, made))
    return code;
  *executable = to<GraphExecHandle>(static_cast<void *>(made));
  return Success;
}
/// As versions do that have the call for its name only.
int hipGraphUpload(Call &, GraphExecHandle executable, StreamHandle stream) {
  int code = state().upload(executable, stream);
  return code ? code : int(NotSupported);
}
int hipGraphExecKernelNodeSetParams(Call &call, GraphExecHandle executable,
                                    GraphNodeHandle node,
                                    const hipKernelNodeParams *kernel) {
  Work work;
  if (int code = kernelWork(call, *kernel, work))
    return code;
  return state().setNode(executable, node, std::move(work));
}
int hipGraphExecMemcpyNodeSetParams1D(Call &, GraphExecHandle executable,
                                      GraphNodeHandle node, void *destination,
                                      const void *source, size_t bytes,
                                      int kind) {
  Work work;
  if (int code = copyWork(destination, source, bytes, kind, work))
    return code;
  return state().setNode(executable, node, std::move(work));
}
int hipGraphNodeSetEnabled(Call &, GraphExecHandle executable,
                           GraphNodeHandle node, unsigned enabled) {
  return state().setEnabled(executable, node, enabled != 0);
}
int hipGraphLaunch(Call &, GraphExecHandle executable, StreamHandle stream) {
  return state().launchGraph(executable, stream);
}
int hipGraphExecDestroy(Call &, GraphExecHandle executable) {
  return state().destroyExecutable(executable);
}
int hipGraphDestroy(Call &, GraphHandle graph) {
  return state().destroyGraph(graph);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

int hipMemPoolCreate(Call &, PoolHandle *pool,
                     const PoolProperties *properties) {
  if (properties->allocType != 1 || properties->location.type != 1)
    return InvalidValue;
  Pool *made = nullptr;
  if (int code = state().createPool(properties->location.id, made))
    return code;
  *pool = to<PoolHandle>(static_cast<void *>(made));
  return Success;
}
int hipMemPoolDestroy(Call &, PoolHandle pool) {
  return state().destroyPool(pool);
}
int hipMemPoolSetAttribute(Call &, PoolHandle pool, int attribute,
                           void *value) {
  Pool *found = nullptr;
  if (int code = state().pool(pool, found))
    return code;
  if (attribute == PoolReleaseThreshold)
    found->threshold = *static_cast<uint64_t *>(value);
  else if (attribute == PoolReuseAllowInternalDependencies)
    found->internalDependencies = *static_cast<int *>(value) != 0;
  else
    return InvalidValue;
  return Success;
}
int hipMemPoolTrimTo(Call &call, PoolHandle pool, size_t keepBytes) {
  return state().trim(pool, keepBytes, call.lock);
}
int hipMallocFromPoolAsync(Call &, void **result, size_t bytes, PoolHandle pool,
                           StreamHandle stream) {
  return state().allocateFrom(pool, bytes, stream, *result);
}
int hipFreeAsync(Call &, void *memory, StreamHandle stream) {
  return state().freeAsync(memory, stream);
}
int hipMalloc(Call &, void **result, size_t bytes) {
  return state().allocate(MemoryOf::Device, bytes, *result);
}
int hipMallocManaged(Call &, void **result, size_t bytes, unsigned flags) {
  return flags == MemAttachGlobal
             ? state().allocate(MemoryOf::Managed, bytes, *result)
             : int(InvalidValue);
}
int hipFree(Call &call, void *memory) {
  return state().free(memory, MemoryOf::Device, MemoryOf::Managed, call.lock);
}
int hipHostMalloc(Call &, void **result, size_t bytes, unsigned) {
  return state().allocate(MemoryOf::Pinned, bytes, *result);
}
int hipHostFree(Call &call, void *memory) {
  return state().free(memory, MemoryOf::Pinned, MemoryOf::Pinned, call.lock);
}
int hipHostRegister(Call &, void *memory, size_t bytes, unsigned) {
  return state().registerHost(memory, bytes);
}
int hipHostUnregister(Call &call, void *memory) {
  return state().unregisterHost(memory, call.lock);
}

/// With "shifted" a device sees registered memory elsewhere, as many do.
int hipHostGetDevicePointer(Call &, void **result, void *host, unsigned flags) {
  const Memory *block = state().find(host);
  if (flags || !block ||
      (block->of != MemoryOf::Pinned && block->of != MemoryOf::Registered))
    return InvalidValue;
  bool shifted =
      block->of == MemoryOf::Registered && state().settings["shifted"];
  *result = static_cast<char *>(host) + (shifted ? 1 << 20 : 0);
  return Success;
}

int hipMemGetInfo(Call &, size_t *freeBytes, size_t *totalBytes) {
  *freeBytes = state().freeBytes();
  *totalBytes = state().settings["memory"];
  return Success;
}

int hipPointerGetAttributes(Call &, hipPointerAttribute_t *out,
                            const void *pointer) {
  *out = {};
  const Memory *block = state().find(pointer);
  if (!block) // as older versions do
    return InvalidValue;
  out->isManaged = block->of == MemoryOf::Managed;
  bool host =
      block->of == MemoryOf::Pinned || block->of == MemoryOf::Registered;
  out->type = out->isManaged ? MemoryTypeManaged
              : host         ? MemoryTypeHost
                             : MemoryTypeDevice;
  return Success;
}

//===----------------------------------------------------------------------===//
// Copies and fills
//===----------------------------------------------------------------------===//

int hipMemcpyAsync(Call &call, void *destination, const void *source,
                   size_t bytes, int kind, StreamHandle stream) {
  if (kind != MemcpyDefault)
    return InvalidValue;
  Rows rows = {static_cast<char *>(destination),
               static_cast<const char *>(source),
               0,
               0,
               bytes,
               1};
  return state().copy(rows, stream, call.lock);
}
int hipMemcpy2DAsync(Call &call, void *destination, size_t destinationPitch,
                     const void *source, size_t sourcePitch, size_t width,
                     size_t height, int kind, StreamHandle stream) {
  if (kind != MemcpyDefault)
    return InvalidValue;
  Rows rows = {static_cast<char *>(destination),
               static_cast<const char *>(source),
               destinationPitch,
               sourcePitch,
               width,
               height};
  return state().copy(rows, stream, call.lock);
}

int hipMemsetD8Async(Call &, void *to, unsigned char value, size_t count,
                     StreamHandle stream) {
  return state().fill(to, 0, value, 1, count, 1, stream);
}
int hipMemsetD16Async(Call &, void *to, unsigned short value, size_t count,
                      StreamHandle stream) {
  return state().fill(to, 0, value, 2, count, 1, stream);
}
int hipMemsetD32Async(Call &, void *to, unsigned value, size_t count,
                      StreamHandle stream) {
  return state().fill(to, 0, value, 4, count, 1, stream);
}
int hipMemset2DAsync(Call &, void *to, size_t pitch, int value, size_t width,
                     size_t height, StreamHandle stream) {
  return state().fill(to, pitch, unsigned(value) & 255, 1, width, height,
                      stream);
}

/// Calls that do nothing on a device.
constexpr bool needsContext(const char *name) {
  const char *without[] = {"hipInit",
                           "hipRuntimeGetVersion",
                           "hipDrvGetErrorName",
                           "hipDrvGetErrorString",
                           "hipGetLastError",
                           "hipGetDeviceCount",
                           "hipGetDevice",
                           "hipSetDevice",
                           "hipGetDevicePropertiesR0600",
                           "hipDeviceGetAttribute",
                           "hipDeviceTotalMem",
                           "hipThreadExchangeStreamCaptureMode"};
  return !isOneOf(without, name);
}

} // namespace

//===----------------------------------------------------------------------===//
// Exports
//===----------------------------------------------------------------------===//

#define HIP_ENTRY(entry, parameters, need, name)                               \
  extern "C"                                                                   \
      __attribute__((visibility("hidden"))) int(*const mock_entry_##name)      \
          parameters =                                                         \
              Entry<name, names::name, needsContext(names::name)>::call;       \
  MOCK_EXPORT(#name, "mock_entry_" #name)
#include "device/vendor/VendorSymbols.def"
} // namespace mock
