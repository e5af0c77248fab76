//===- Cuda.cpp - The entry points of libmock_cuda.so ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function per CUDA entry of VendorSymbols.def, which also makes the
// library's exports and what cuGetProcAddress finds.
//===----------------------------------------------------------------------===//

#include "State.h"

#include "device/cuda/CudaTypes.h"

#include <stdio.h>
#include <string.h>
#include <vector>

using namespace gpuasync::cuda;

namespace mock {

extern const bool implicitContexts = false;

namespace {

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

namespace names {
#define CUDA_ENTRY(entry, parameters, need, name, version, exported)           \
  constexpr const char *name = #name;
#include "device/vendor/VendorSymbols.def"
} // namespace names

const ErrorText errorTexts[] = {
    {Success, "CUDA_SUCCESS", "no error"},
    {InvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {InvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {InvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {NoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {InvalidPtx, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {UnsupportedPtxVersion, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {InvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {NotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {NotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {ContextIsDestroyed, "CUDA_ERROR_CONTEXT_IS_DESTROYED",
     "context is destroyed"},
    {HostMemoryAlreadyRegistered, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "part or all of the requested memory range is already mapped"},
    {HostMemoryNotRegistered, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "pointer does not correspond to a registered memory region"},
    {LaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CooperativeLaunchTooLarge, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
     "too many blocks in cooperative launch"},
    {NotSupported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
};

//===----------------------------------------------------------------------===//
// The library and its devices
//===----------------------------------------------------------------------===//

int cuInit(Call &, unsigned flags) { return flags ? InvalidValue : Success; }

int cuDriverGetVersion(Call &, int *version) {
  *version = int(state().settings["version"]);
  return Success;
}

int cuGetErrorName(Call &, int error, const char **text) {
  return errorText(errorTexts, error, &ErrorText::name, text);
}
int cuGetErrorString(Call &, int error, const char **text) {
  return errorText(errorTexts, error, &ErrorText::text, text);
}

int cuDeviceGetCount(Call &, int *count) {
  *count = int(state().settings["devices"]);
  return Success;
}

int cuDeviceGet(Call &, int *device, int ordinal) {
  Context *context = nullptr;
  if (int code = state().primary(ordinal, context))
    return code;
  *device = ordinal;
  return Success;
}

int cuDeviceGetName(Call &, char *name, int length, int device) {
  snprintf(name, size_t(length), "Mock GPU %d", device);
  return Success;
}

int cuDeviceGetAttribute(Call &, int *value, int attribute, int) {
  auto &settings = state().settings;
  switch (attribute) {
  case MaxThreadsPerBlock:
  case MaxBlockDimX:
  case MaxBlockDimX + 1:
    *value = 1024;
    return Success;
  case MaxBlockDimX + 2:
    *value = 64;
    return Success;
  case MaxGridDimX:
  case MaxPitch:
    *value = INT32_MAX;
    return Success;
  case MaxGridDimX + 1:
  case MaxGridDimX + 2:
    *value = 65535;
    return Success;
  case MultiprocessorCount:
    *value = int(settings["multiprocessors"]);
    return Success;
  case ComputeCapabilityMajor:
    *value = int(settings["major"]);
    return Success;
  case ComputeCapabilityMinor:
    *value = int(settings["minor"]);
    return Success;
  case MaxSharedMemoryPerBlockOptin:
    *value = 227 << 10;
    return Success;
  case ConcurrentManagedAccess:
    *value = int(settings["managed"]);
    return Success;
  case MemoryPoolsSupported:
    *value = int(settings["pools"]);
    return Success;
  case UnifiedAddressing:
  case CooperativeLaunch:
  case ReadOnlyHostRegisterSupported:
  case ClusterLaunch:
    *value = 1;
    return Success;
  default:
    state().violation("unknown attribute " + std::to_string(attribute));
    return InvalidValue;
  }
}

int cuDeviceTotalMem(Call &, size_t *bytes, int) {
  *bytes = state().settings["memory"];
  return Success;
}

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

int cuDevicePrimaryCtxRetain(Call &, void **context, int device) {
  Context *found = nullptr;
  if (int code = state().retain(device, found))
    return code;
  *context = to<void *>(static_cast<void *>(found));
  return Success;
}

int cuDevicePrimaryCtxRelease(Call &call, int device) {
  return state().release(device, call.lock);
}

int cuCtxGetCurrent(Call &, void **context) {
  *context = to<void *>(static_cast<void *>(state().current()));
  return Success;
}

int cuCtxSetCurrent(Call &, void *context) {
  return state().setCurrent(context);
}

int cuCtxGetDevice(Call &, int *device) {
  *device = state().current()->device;
  return Success;
}

int cuCtxGetId(Call &, void *context, unsigned long long *id) {
  uint64_t found = 0;
  if (int code = state().contextId(context, found))
    return code;
  *id = found;
  return Success;
}

int cuCtxGetLimit(Call &, size_t *value, int limit) {
  if (limit != LimitStackSize)
    return InvalidValue;
  *value = state().current()->stackLimit;
  return Success;
}

int cuCtxSetLimit(Call &call, int limit, size_t value) {
  if (limit != LimitStackSize)
    return InvalidValue;
  state().block(call.lock);
  state().current()->stackLimit = value;
  return Success;
}

//===----------------------------------------------------------------------===//
// Modules and launches
//===----------------------------------------------------------------------===//

int cuModuleLoadDataEx(Call &call, ModuleHandle *module, const void *image,
                       unsigned optionCount, int *options, void **values) {
  Module *loaded = nullptr;
  std::string log;
  int code = state().load(image, loaded, log, call.lock);
  char *buffer = nullptr;
  size_t room = 0;
  for (unsigned i = 0; i < optionCount; ++i) {
    if (options[i] == JitErrorLogBuffer)
      buffer = static_cast<char *>(values[i]);
    if (options[i] == JitErrorLogBufferSizeBytes)
      room = reinterpret_cast<uintptr_t>(values[i]);
  }
  if (buffer && room)
    snprintf(buffer, room, "%s", log.c_str());
  if (code == Success)
    *module = to<ModuleHandle>(static_cast<void *>(loaded));
  return code;
}

/// Its machine code is the PTX with a line before it.
struct Link {
  std::string code;
};

int cuLinkCreate(Call &, unsigned, int *, void **, LinkHandle *link) {
  *link = to<LinkHandle>(static_cast<void *>(new Link));
  return Success;
}

int cuLinkAddData(Call &, LinkHandle link, int type, void *data, size_t bytes,
                  const char *, unsigned, int *, void **) {
  auto *text = static_cast<const char *>(data);
  if (type != JitInputPtx || !bytes || text[bytes - 1])
    return InvalidValue;
  auto &code = reinterpret_cast<Link *>(link)->code;
  code = "// machine code of the mock\n" + std::string(text);
  return Success;
}

int cuLinkComplete(Call &, LinkHandle link, void **code, size_t *bytes) {
  std::string &text = reinterpret_cast<Link *>(link)->code;
  *code = text.data();
  *bytes = text.size() + 1;
  return Success;
}

int cuLinkDestroy(Call &, LinkHandle link) {
  delete reinterpret_cast<Link *>(link);
  return Success;
}

int cuModuleUnload(Call &call, ModuleHandle module) {
  return state().unload(module, call.lock);
}

int cuModuleGetGlobal(Call &, void **address, size_t *bytes,
                      ModuleHandle module, const char *name) {
  *bytes = 1;
  return state().global(module, name, *address);
}

int cuModuleGetFunction(Call &, FunctionHandle *function, ModuleHandle module,
                        const char *name) {
  Function *found = nullptr;
  if (int code = state().function(module, name, found))
    return code;
  *function = to<FunctionHandle>(static_cast<void *>(found));
  return Success;
}

int cuFuncGetAttribute(Call &call, int *value, int attribute,
                       FunctionHandle function) {
  Function *found = nullptr;
  if (int code = state().function(function, found, true, call.lock))
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
  case FuncMaxDynamicSharedSizeBytes:
    *value = found->maxDynamicShared;
    return Success;
  default:
    return InvalidValue;
  }
}

int cuFuncSetAttribute(Call &call, FunctionHandle function, int attribute,
                       int value) {
  Function *found = nullptr;
  if (int code = state().function(function, found, true, call.lock))
    return code;
  if (attribute == FuncMaxDynamicSharedSizeBytes)
    found->maxDynamicShared = value;
  else if (attribute != FuncNonPortableClusterSizeAllowed)
    return InvalidValue;
  return Success;
}

int cuFuncLoad(Call &call, FunctionHandle function) {
  Function *found = nullptr;
  return state().function(function, found, true, call.lock);
}

bool isLarge(size_t bytes) { return bytes > 16; }

int cuFuncGetParamInfo(Call &call, FunctionHandle function, size_t index,
                       size_t *offset, size_t *size) {
  Function *found = nullptr;
  if (int code = state().function(function, found, false, call.lock))
    return code;
  if (index >= found->parameters.size())
    return InvalidValue;
  // Large parameters are aligned in the bank that all lie in, whose begin is no
  // multiple of 64 (528 on sm_90).
  size_t end = 0;
  for (size_t i = 0; i <= index; ++i) {
    size_t bytes = found->parameters[i].size;
    *offset = isLarge(bytes) ? ((end + 16 + 63) & ~size_t(63)) - 16
                             : (end + bytes - 1) & ~(bytes - 1);
    end = *offset + bytes;
  }
  if (size)
    *size = found->parameters[index].size;
  return Success;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(Call &call, int *blocks,
                                                FunctionHandle function,
                                                int blockSize, size_t) {
  Function *found = nullptr;
  if (int code = state().function(function, found, false, call.lock))
    return code;
  *blocks = 2048 / (blockSize ? blockSize : 1);
  return Success;
}

/// A kernel's parameters, which come in one of two ways.
struct Parameters {
  const void *buffer = nullptr;
  size_t bytes = 0;
  std::vector<char> packed;

  Parameters(const Function &function, void **parameters, void **extra) {
    if (extra)
      for (const auto &parameter : function.parameters)
        if (isLarge(parameter.size))
          state().violation("a buffer with a parameter that the driver puts "
                            "elsewhere");
    if (parameters) {
      if (extra)
        state().violation("parameters are passed in both ways");
      packed.resize(function.parameterBytes);
      for (size_t i = 0; i < function.parameters.size(); ++i)
        memcpy(packed.data() + function.parameters[i].offset, parameters[i],
               function.parameters[i].size);
      buffer = packed.data();
      bytes = packed.size();
    }
    for (; extra && *extra; extra += 2) {
      if (extra[0] == reinterpret_cast<void *>(LaunchParamBufferPointer))
        buffer = extra[1];
      if (extra[0] == reinterpret_cast<void *>(LaunchParamBufferSize))
        bytes = *static_cast<size_t *>(extra[1]);
    }
  }
  Parameters(const Parameters &) = delete;
};

int launch(Call &call, FunctionHandle function, const Launch &launch,
           StreamHandle stream, void **parameters, void **extra) {
  Function *found = nullptr;
  if (int code = state().function(function, found, false, call.lock))
    return code;
  Parameters passed(*found, parameters, extra);
  return state().launch(*found, stream, launch, passed.buffer, passed.bytes,
                        call.lock);
}

int cuLaunchKernel(Call &call, FunctionHandle function, unsigned gridX,
                   unsigned gridY, unsigned gridZ, unsigned blockX,
                   unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                   StreamHandle stream, void **parameters, void **extra) {
  return launch(
      call, function,
      {{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes, false},
      stream, parameters, extra);
}

int cuLaunchKernelEx(Call &call, const CUlaunchConfig *config,
                     FunctionHandle function, void **parameters, void **extra) {
  Launch plain = {{config->gridDimX, config->gridDimY, config->gridDimZ},
                  {config->blockDimX, config->blockDimY, config->blockDimZ},
                  config->sharedMemBytes,
                  false};
  for (unsigned i = 0; i < config->numAttrs; ++i)
    if (config->attrs[i].id == LaunchAttributeCooperative)
      plain.cooperative = config->attrs[i].value.cooperative != 0;
    else if (config->attrs[i].id != LaunchAttributeClusterDimension)
      return InvalidValue;
  return launch(call, function, plain, config->hStream, parameters, extra);
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

int cuStreamCreate(Call &, StreamHandle *stream, unsigned flags) {
  Stream *made = nullptr;
  if (int code = state().createStream(flags, flags == StreamNonBlocking, made))
    return code;
  *stream = to<StreamHandle>(static_cast<void *>(made));
  return Success;
}

int cuStreamCreateWithPriority(Call &call, StreamHandle *stream, unsigned flags,
                               int priority) {
  return priority < -5 || priority > 0 ? int(InvalidValue)
                                       : cuStreamCreate(call, stream, flags);
}
int cuCtxGetStreamPriorityRange(Call &, int *least, int *greatest) {
  *least = 0;
  *greatest = -5;
  return Success;
}
int cuStreamDestroy(Call &, StreamHandle stream) {
  return state().destroyStream(stream);
}
int cuStreamQuery(Call &, StreamHandle stream) { return state().query(stream); }
int cuStreamWaitEvent(Call &, StreamHandle stream, EventHandle event,
                      unsigned) {
  return state().wait(stream, event);
}
int cuStreamWriteValue32(Call &, StreamHandle stream, void *word,
                         uint32_t value, unsigned) {
  return state().writeValue(stream, word, value);
}
int cuStreamGetCaptureInfo_v2(Call &, StreamHandle stream, int *status,
                              uint64_t *id, void **, const void ***, size_t *) {
  return state().captureInfo(stream, *status, *id);
}
int cuStreamGetCaptureInfo(Call &, StreamHandle stream, int *status,
                           uint64_t *id, void **, const void ***, const void **,
                           size_t *) {
  return state().captureInfo(stream, *status, *id);
}
int cuThreadExchangeStreamCaptureMode(Call &, int *mode) {
  std::swap(*mode, thread().captureMode);
  return Success;
}
int cuStreamBeginCapture(Call &, StreamHandle stream, int mode) {
  return state().beginCapture(stream, mode);
}
int cuStreamEndCapture(Call &, StreamHandle stream, GraphHandle *graph) {
  void *made = nullptr;
  const int code = state().endCapture(stream, made);
  *graph = to<GraphHandle>(made);
  return code;
}
int cuEventCreate(Call &, EventHandle *event, unsigned flags) {
  if (flags & ~unsigned(EventDisableTiming))
    return InvalidValue;
  Event *made = nullptr;
  if (int code = state().createEvent(!(flags & EventDisableTiming), made))
    return code;
  *event = to<EventHandle>(static_cast<void *>(made));
  return Success;
}
int cuEventDestroy(Call &, EventHandle event) {
  return state().destroyEvent(event);
}
int cuEventRecord(Call &, EventHandle event, StreamHandle stream) {
  return state().record(event, stream);
}
int cuEventQuery(Call &, EventHandle event) {
  return state().queryEvent(event);
}
int cuEventElapsedTime(Call &, float *milliseconds, EventHandle from,
                       EventHandle to) {
  return state().elapsed(*milliseconds, from, to);
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

int cuGraphCreate(Call &, GraphHandle *graph, unsigned flags) {
  Graph *made = nullptr;
  if (int code = flags ? int(InvalidValue) : state().createGraph(made))
    return code;
  *graph = to<GraphHandle>(static_cast<void *>(made));
  return Success;
}

int kernelWork(Call &call, const CUDA_KERNEL_NODE_PARAMS &kernel, Work &out) {
  Function *found = nullptr;
  if (int code = state().function(kernel.func, found, false, call.lock))
    return code;
  Parameters passed(*found, kernel.kernelParams, kernel.extra);
  out.packed = kernel.extra;
  return state().kernelWork(
      *found,
      {{kernel.gridDimX, kernel.gridDimY, kernel.gridDimZ},
       {kernel.blockDimX, kernel.blockDimY, kernel.blockDimZ},
       kernel.sharedMemBytes,
       false},
      passed.buffer, passed.bytes, out, call.lock);
}

int copyWork(const CUDA_MEMCPY3D &copy, void *context, Work &out) {
  if (context != state().current()) {
    state().violation("the copy is of another context");
    return InvalidContext;
  }
  if (copy.srcMemoryType != MemoryTypeUnified ||
      copy.dstMemoryType != MemoryTypeUnified || copy.Depth != 1 ||
      copy.srcPitch > INT32_MAX || copy.dstPitch > INT32_MAX)
    return InvalidValue;
  return state().copyWork({static_cast<char *>(copy.dstDevice),
                           static_cast<const char *>(copy.srcDevice), 0, 0,
                           copy.WidthInBytes, copy.Height},
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

int cuGraphAddKernelNode(Call &call, GraphNodeHandle *node, GraphHandle graph,
                         const GraphNodeHandle *after, size_t count,
                         const CUDA_KERNEL_NODE_PARAMS *kernel) {
  Work work;
  if (int code = kernelWork(call, *kernel, work))
    return code;
  return addNode(node, graph, after, count, std::move(work));
}
int cuGraphAddMemcpyNode(Call &, GraphNodeHandle *node, GraphHandle graph,
                         const GraphNodeHandle *after, size_t count,
                         const CUDA_MEMCPY3D *copy, void *context) {
  Work work;
  if (int code = copyWork(*copy, context, work))
    return code;
  return addNode(node, graph, after, count, std::move(work));
}
int cuGraphAddDependencies(Call &, GraphHandle graph,
                           const GraphNodeHandle *from,
                           const GraphNodeHandle *to,
                           const CUgraphEdgeData *edges, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if ((edges[i].from_port != GraphKernelNodePortProgrammatic &&
         edges[i].from_port != GraphKernelNodePortLaunchOrder) ||
        edges[i].type != GraphDependencyTypeProgrammatic || edges[i].to_port)
      return InvalidValue;
    void *before = from[i];
    if (int code = state().addOverlapping(graph, to[i], &before, 1))
      return code;
  }
  return Success;
}
int cuGraphKernelNodeSetAttribute(Call &, GraphNodeHandle node, int attribute,
                                  const CUlaunchAttributeValue *value) {
  if (attribute == LaunchAttributeCooperative && value->cooperative)
    return state().makeCooperative(node);
  return attribute == LaunchAttributeClusterDimension ? Success : InvalidValue;
}
int cuGraphAddChildGraphNode(Call &, GraphNodeHandle *node, GraphHandle graph,
                             const GraphNodeHandle *after, size_t count,
                             GraphHandle child) {
  std::vector<void *> before(after, after + count);
  GraphNode *made = nullptr;
  if (int code = state().addChild(graph, before.data(), count, child, made))
    return code;
  *node = to<GraphNodeHandle>(static_cast<void *>(made));
  return Success;
}
int cuGraphGetNodes(Call &, GraphHandle graph, GraphNodeHandle *nodes,
                    size_t *count) {
  return nodes ? int(InvalidValue) : state().graphNodes(graph, *count);
}
int cuGraphExecChildGraphNodeSetParams(Call &, GraphExecHandle executable,
                                       GraphNodeHandle node,
                                       GraphHandle child) {
  return state().setChild(executable, node, child);
}
int cuGraphInstantiateWithFlags(Call &, GraphExecHandle *executable,
                                GraphHandle graph, unsigned long long flags) {
  Executable *made = nullptr;
  if (int code = flags ? int(InvalidValue) : state().instantiate(graph, made))
    return code;
  *executable = to<GraphExecHandle>(static_cast<void *>(made));
  return Success;
}
int cuGraphUpload(Call &, GraphExecHandle executable, StreamHandle stream) {
  return state().upload(executable, stream);
}
int cuGraphExecKernelNodeSetParams(Call &call, GraphExecHandle executable,
                                   GraphNodeHandle node,
                                   const CUDA_KERNEL_NODE_PARAMS *kernel) {
  Work work;
  if (int code = kernelWork(call, *kernel, work))
    return code;
  return state().setNode(executable, node, std::move(work));
}
int cuGraphExecMemcpyNodeSetParams(Call &, GraphExecHandle executable,
                                   GraphNodeHandle node,
                                   const CUDA_MEMCPY3D *copy, void *context) {
  Work work;
  if (int code = copyWork(*copy, context, work))
    return code;
  return state().setNode(executable, node, std::move(work));
}
int cuGraphNodeSetEnabled(Call &, GraphExecHandle executable,
                          GraphNodeHandle node, unsigned enabled) {
  return state().setEnabled(executable, node, enabled != 0);
}
int cuGraphLaunch(Call &, GraphExecHandle executable, StreamHandle stream) {
  return state().launchGraph(executable, stream);
}
int cuGraphExecDestroy(Call &, GraphExecHandle executable) {
  return state().destroyExecutable(executable);
}
int cuGraphDestroy(Call &, GraphHandle graph) {
  return state().destroyGraph(graph);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

int cuMemPoolCreate(Call &, PoolHandle *pool,
                    const PoolProperties *properties) {
  if (properties->allocType != 1 || properties->location.type != 1)
    return InvalidValue;
  Pool *made = nullptr;
  if (int code = state().createPool(properties->location.id, made))
    return code;
  *pool = to<PoolHandle>(static_cast<void *>(made));
  return Success;
}
int cuMemPoolDestroy(Call &, PoolHandle pool) {
  return state().destroyPool(pool);
}
int cuMemPoolSetAttribute(Call &, PoolHandle pool, int attribute, void *value) {
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
int cuMemPoolTrimTo(Call &call, PoolHandle pool, size_t keepBytes) {
  return state().trim(pool, keepBytes, call.lock);
}
int cuMemAllocFromPoolAsync(Call &, void **result, size_t bytes,
                            PoolHandle pool, StreamHandle stream) {
  void *pointer = nullptr;
  if (int code = state().allocateFrom(pool, bytes, stream, pointer))
    return code;
  *result = pointer;
  return Success;
}
int cuMemFreeAsync(Call &, void *memory, StreamHandle stream) {
  return state().freeAsync(memory, stream);
}

int allocate(MemoryOf of, void **result, size_t bytes) {
  void *pointer = nullptr;
  if (int code = state().allocate(of, bytes, pointer))
    return code;
  *result = pointer;
  return Success;
}
int cuMemAlloc(Call &, void **result, size_t bytes) {
  return allocate(MemoryOf::Device, result, bytes);
}
int cuMemAllocManaged(Call &, void **result, size_t bytes, unsigned flags) {
  return flags == MemAttachGlobal ? allocate(MemoryOf::Managed, result, bytes)
                                  : int(InvalidValue);
}
int cuMemFree(Call &call, void *memory) {
  return state().free(memory, MemoryOf::Device, MemoryOf::Managed, call.lock);
}
int cuMemHostAlloc(Call &, void **result, size_t bytes, unsigned) {
  return state().allocate(MemoryOf::Pinned, bytes, *result);
}
int cuMemFreeHost(Call &call, void *memory) {
  return state().free(memory, MemoryOf::Pinned, MemoryOf::Pinned, call.lock);
}
int cuMemHostRegister(Call &, void *memory, size_t bytes, unsigned) {
  return state().registerHost(memory, bytes);
}
int cuMemHostUnregister(Call &call, void *memory) {
  return state().unregisterHost(memory, call.lock);
}
int cuMemGetInfo(Call &, size_t *freeBytes, size_t *totalBytes) {
  *freeBytes = state().freeBytes();
  *totalBytes = state().settings["memory"];
  return Success;
}

int cuPointerGetAttributes(Call &, unsigned count, int *attributes,
                           void **values, const void *pointer) {
  const Memory *block = state().find(pointer);
  for (unsigned i = 0; i < count; ++i) {
    auto *result = static_cast<unsigned *>(values[i]);
    if (attributes[i] == PointerIsManaged) {
      *result = block && block->of == MemoryOf::Managed;
    } else if (attributes[i] == PointerMemoryType) {
      bool host = block && (block->of == MemoryOf::Pinned ||
                            block->of == MemoryOf::Registered);
      *result = !block ? 0u : host ? MemoryTypeHost : MemoryTypeDevice;
    } else {
      return InvalidValue;
    }
  }
  return Success;
}

//===----------------------------------------------------------------------===//
// Copies and fills
//===----------------------------------------------------------------------===//

int cuMemcpyAsync(Call &call, void *destination, const void *source,
                  size_t bytes, StreamHandle stream) {
  Rows rows = {static_cast<char *>(destination),
               static_cast<const char *>(source),
               0,
               0,
               bytes,
               1};
  return state().copy(rows, stream, call.lock);
}
int cuMemcpy2DAsync(Call &call, const CUDA_MEMCPY2D *copy,
                    StreamHandle stream) {
  if (copy->srcMemoryType != MemoryTypeUnified ||
      copy->dstMemoryType != MemoryTypeUnified)
    return InvalidValue;
  Rows rows = {static_cast<char *>(copy->dstDevice),
               static_cast<const char *>(copy->srcDevice),
               copy->dstPitch,
               copy->srcPitch,
               copy->WidthInBytes,
               copy->Height};
  return state().copy(rows, stream, call.lock);
}

int cuMemsetD8Async(Call &, void *to, unsigned char value, size_t count,
                    StreamHandle stream) {
  return state().fill(to, 0, value, 1, count, 1, stream);
}
int cuMemsetD16Async(Call &, void *to, unsigned short value, size_t count,
                     StreamHandle stream) {
  return state().fill(to, 0, value, 2, count, 1, stream);
}
int cuMemsetD32Async(Call &, void *to, unsigned value, size_t count,
                     StreamHandle stream) {
  return state().fill(to, 0, value, 4, count, 1, stream);
}
int cuMemsetD2D8Async(Call &, void *to, size_t pitch, unsigned char value,
                      size_t width, size_t height, StreamHandle stream) {
  return state().fill(to, pitch, value, 1, width, height, stream);
}
int cuMemsetD2D16Async(Call &, void *to, size_t pitch, unsigned short value,
                       size_t width, size_t height, StreamHandle stream) {
  return state().fill(to, pitch, value, 2, width, height, stream);
}
int cuMemsetD2D32Async(Call &, void *to, size_t pitch, unsigned value,
                       size_t width, size_t height, StreamHandle stream) {
  return state().fill(to, pitch, value, 4, width, height, stream);
}

int cuTensorMapEncodeTiled(Call &, void *map, int type, unsigned rank,
                           void *base, const uint64_t *sizes,
                           const uint64_t *strides, const unsigned *box,
                           const unsigned *elementStrides, int interleave,
                           int swizzle, int l2Promotion, int fill) {
  const unsigned bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  if (type < 0 || type > 12 || rank < 1 || rank > 5 ||
      reinterpret_cast<uintptr_t>(map) % 64 ||
      reinterpret_cast<uintptr_t>(base) % 16)
    return InvalidValue;
  for (unsigned i = 0; i < rank; ++i)
    if (!sizes[i] || sizes[i] > uint64_t(1) << 32 || !box[i] || box[i] > 256 ||
        elementStrides[i] < 1 || elementStrides[i] > 8 ||
        (i + 1 < rank && (strides[i] % 16 || strides[i] >> 40)))
      return InvalidValue;
  unsigned inner = box[0] * bytes[type];
  if (interleave || swizzle < 0 || swizzle > 3 || inner % 16 ||
      (swizzle && inner > 16u << swizzle) || l2Promotion < 0 ||
      l2Promotion > 3 || fill < 0 || fill > 1 || (fill && type < 6))
    return InvalidValue;
  // Opaque; this one says what it is of, one number after the other.
  uint64_t words[16] = {reinterpret_cast<uintptr_t>(base), uint64_t(type),
                        rank};
  for (unsigned i = 0; i < rank; ++i) {
    words[3 + i] = sizes[i];
    words[8 + i] = uint64_t(box[i]) << 40 | (i + 1 < rank ? strides[i] : 0);
  }
  words[13] = uint64_t(swizzle);
  words[14] = uint64_t(l2Promotion);
  words[15] = uint64_t(fill);
  memcpy(map, words, sizeof(words));
  return Success;
}

/// Calls that work without a current context.
constexpr bool needsContext(const char *name) {
  const char *without[] = {"cuInit",
                           "cuDriverGetVersion",
                           "cuGetErrorName",
                           "cuGetErrorString",
                           "cuDeviceGetCount",
                           "cuDeviceGet",
                           "cuDeviceGetName",
                           "cuDeviceGetAttribute",
                           "cuDeviceTotalMem",
                           "cuDevicePrimaryCtxRetain",
                           "cuDevicePrimaryCtxRelease",
                           "cuCtxGetCurrent",
                           "cuCtxSetCurrent",
                           "cuCtxGetId",
                           "cuMemPoolDestroy",
                           "cuThreadExchangeStreamCaptureMode"};
  return !isOneOf(without, name);
}

//===----------------------------------------------------------------------===//
// What an embedder calls beside us, with handles as plain pointers
//===----------------------------------------------------------------------===//

int cuStreamSynchronize(Call &call, void *stream) {
  return state().synchronize(stream, call.lock);
}

#define EMBEDDERS_CALLS                                                        \
  EMBEDDERS_CALL(cuStreamSynchronize, "cuStreamSynchronize")

namespace names {
#define EMBEDDERS_CALL(name, exported) constexpr const char *name = #name;
EMBEDDERS_CALLS
#undef EMBEDDERS_CALL
} // namespace names

} // namespace

//===----------------------------------------------------------------------===//
// Exports
//===----------------------------------------------------------------------===//

#define EMBEDDERS_CALL(name, exported)                                         \
  extern "C"                                                                   \
      __attribute__((visibility("hidden"))) auto *const mock_entry_##name =    \
          Entry<name, names::name, true>::call;                                \
  MOCK_EXPORT(exported, "mock_entry_" #name)
EMBEDDERS_CALLS
#undef EMBEDDERS_CALL

#define CUDA_ENTRY(entry, parameters, need, name, version, exported)           \
  extern "C"                                                                   \
      __attribute__((visibility("hidden"))) int(*const mock_entry_##name)      \
          parameters =                                                         \
              Entry<name, names::name, needsContext(names::name)>::call;       \
  MOCK_EXPORT(exported, "mock_entry_" #name)
#include "device/vendor/VendorSymbols.def"
} // namespace mock

extern "C" __attribute__((visibility("default"))) int
cuGetProcAddress_v2(const char *name, void **result, int version, uint64_t,
                    int *found) {
  static const struct {
    const char *name;
    int version;
    void *address;
  } table[] = {
#define CUDA_ENTRY(entry, parameters, need, name, version, exported)           \
  {#name, version, reinterpret_cast<void *>(mock::mock_entry_##name)},
#include "device/vendor/VendorSymbols.def"
  };
  *result = nullptr;
  for (auto &entry : table)
    if (!strcmp(entry.name, name) && entry.version <= version &&
        version <= int(mock::state().settings["version"]))
      *result = entry.address;
  if (found)
    *found = *result ? 0 : 1;
  return *result ? mock::Success : mock::NotFound;
}
