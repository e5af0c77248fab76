//===- Modules.cpp - Modules, functions and launches of mgpu calls --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A blob is told by its first bytes: PTX, a fat binary, an ELF for a GPU, or an
// ELF for this machine, which was made of #gpu_async.cpu and is linked in.
// Records of unloaded modules and their functions stay, so that using one is
// an error and not a crash.
//===----------------------------------------------------------------------===//

#include "libs/mgpu/Modules.h"
#include "libs/mgpu/Handles.h"
#include "libs/mgpu/Report.h"
#include "shim/base/ElfFile.h"
#include "shim/base/Uncancelled.h"

#include <atomic>
#include <dlfcn.h>
#include <memory>
#include <mutex>
#include <stddef.h>
#include <string.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using namespace gpuasync;
using namespace gpuasync::mgpu;

namespace {

struct Module;

constexpr uint64_t functionMagic = 0x6e6f6974636e7566;

struct Function {
  uint64_t magic = functionMagic;
  Module *module = nullptr;
  std::string name;
  gpuasync_kernel kernel = {};
  std::vector<gpuasync_site> site; ///< the first; its texts lie in the others
  NativeFunction native = nullptr;
};

struct Module {
  std::mutex mutex; ///< guards `functions`, and finding one with the driver
  MgpuDevice *device = nullptr;
  gpuasync_image image = {};
  std::vector<char> text; ///< of PTX, with a NUL behind it
  NativeModule native = nullptr;
  std::vector<std::unique_ptr<Function>> functions;
  void *library = nullptr; ///< of a cpu object
  std::atomic<bool> loaded{true};
  Module *next = nullptr;
};

/// All modules ever loaded, newest first.
std::mutex listMutex;
std::atomic<Module *> modules{nullptr};

Module *findModule(void *pointer) {
  for (Module *module = modules.load(std::memory_order_acquire); module;
       module = module->next)
    if (module == pointer)
      return module;
  return nullptr;
}

//===--- What a blob is

/// "sm_90" from the first `.target` of PTX.
std::string ptxTarget(const char *text) {
  const char *at = strstr(text, ".target");
  if (!at)
    return "sm_unknown";
  at += strlen(".target");
  at += strspn(at, " \t");
  return std::string(at, strcspn(at, ", \t\r\n"));
}

/// Fills `image`; false if it is nothing that can be loaded.
bool identify(const void *data, size_t bytes, gpuasync_image &image,
              const char *&what) {
  image.data = data;
  image.size = bytes;
  image.arch = "";
  auto *start = static_cast<const unsigned char *>(data);
  what = "neither PTX, a fat binary nor an ELF file";
  if (bytes >= sizeof(Elf64_Ehdr) && memcmp(start, ELFMAG, SELFMAG) == 0) {
    Elf64_Ehdr header;
    memcpy(&header, start, sizeof(header));
#if defined(__x86_64__)
    constexpr unsigned host = EM_X86_64;
#elif defined(__aarch64__)
    constexpr unsigned host = EM_AARCH64;
#else
    constexpr unsigned host = EM_NONE;
#endif
    image.format = header.e_machine == EM_CUDA ? GPUASYNC_IMAGE_CUBIN
                   : header.e_machine == 224   ? GPUASYNC_IMAGE_HSACO
                   : header.e_machine == host  ? GPUASYNC_IMAGE_CPU
                                               : 0u;
    what = "an ELF file for another kind of machine";
    return image.format != 0;
  }
  const unsigned char fatbin[] = {0x50, 0xed, 0x55, 0xba};
  const char *bundle = "__CLANG_OFFLOAD_BUNDLE__";
  if (bytes >= sizeof(fatbin) && memcmp(start, fatbin, sizeof(fatbin)) == 0) {
    image.format = GPUASYNC_IMAGE_FATBIN;
    return true;
  }
  if (bytes >= strlen(bundle) && memcmp(start, bundle, strlen(bundle)) == 0) {
    image.format = GPUASYNC_IMAGE_HSACO;
    return true;
  }
  if (memmem(data, bytes, ".version", 8) && memmem(data, bytes, ".target", 7)) {
    image.format = GPUASYNC_IMAGE_PTX;
    return true;
  }
  return false;
}

//===--- Which kernels it has. They are loaded with the module: the first use of
//===--- one that is not waits for everything that runs.

void ptxKernels(const char *text, std::vector<std::string> &names) {
  constexpr const char *entry = ".entry";
  for (const char *at = strstr(text, entry); at; at = strstr(at, entry)) {
    at += strlen(entry);
    const char *name = at + strspn(at, " \t\r\n");
    size_t length = strcspn(name, " \t\r\n({");
    if (name != at && length)
      names.emplace_back(name, length);
  }
}

/// Of a cubin, symbols marked as entries; of an AMD code object, descriptors.
void elfKernels(const gpuasync_image &image, std::vector<std::string> &names) {
  const ElfFile file({static_cast<const char *>(image.data), image.size});
  for (uint32_t i = 0; i < file.sectionCount(); ++i) {
    Elf64_Shdr section = file.section(i);
    if (section.sh_type != SHT_SYMTAB)
      continue;
    std::string_view strings = file.bytes(file.section(section.sh_link));
    std::string_view symbols = file.bytes(section);
    for (; symbols.size() >= sizeof(Elf64_Sym);
         symbols.remove_prefix(sizeof(Elf64_Sym))) {
      Elf64_Sym symbol;
      memcpy(&symbol, symbols.data(), sizeof(symbol));
      std::string name(ElfFile::string(strings, symbol.st_name));
      constexpr unsigned char cudaEntry = 0x10;
      if (image.format == GPUASYNC_IMAGE_CUBIN) {
        if (!name.empty() && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
            (symbol.st_other & cudaEntry))
          names.push_back(std::move(name));
      } else if (name.size() > 3 &&
                 name.compare(name.size() - 3, 3, ".kd") == 0) {
        name.resize(name.size() - 3);
        names.push_back(std::move(name));
      }
    }
  }
}

//===--- Objects for the cpu device

/// Kernels call back into the runtime and libm, by name. A host that opened
/// these libraries for itself alone would not let the object see them.
void shareCallbacks() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void *>(&gpuasync_cpu_printf), &info))
    (void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
  (void)dlopen("libm.so.6", RTLD_LAZY | RTLD_GLOBAL);
}

/// Links the object into this process; null after an error.
const gpuasync_cpu_object *linkObject(const gpuasync_image &image,
                                      const gpuasync_site *site,
                                      void *&library) {
  // Again by threads that come meanwhile: none waits for another one that may
  // itself wait for the loader.
  static std::atomic<bool> shared{false};
  if (!shared.load(std::memory_order_acquire)) {
    shareCallbacks();
    shared.store(true, std::memory_order_release);
  }
  const WriteScope scope;
  int file = memfd_create("gpu_async.cpu", MFD_CLOEXEC);
  if (file < 0) {
    fail(site, "memfd_create: %s", strerror(errno));
    return nullptr;
  }
  auto *at = static_cast<const char *>(image.data);
  for (uint64_t left = image.size; left;) {
    ssize_t written = write(file, at, left);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0) {
      fail(site, "writing the object to memory: %s", strerror(errno));
      close(file);
      return nullptr;
    }
    at += written;
    left -= static_cast<uint64_t>(written);
  }
  std::string path = "/proc/self/fd/" + std::to_string(file);
  library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char *why = library ? nullptr : dlerror();
  close(file);
  if (!library) {
    fail(site, "the object for the cpu device cannot be linked: %s",
         why ? why : "unknown error");
    return nullptr;
  }
  auto *object = static_cast<const gpuasync_cpu_object *>(
      dlsym(library, "_gpuasync_object"));
  if (object && (object->abiVersion >> 16) == (GPUASYNC_ABI_VERSION >> 16) &&
      object->abiVersion <= GPUASYNC_ABI_VERSION)
    return object;
  if (object)
    fail(site,
         "the object was compiled for runtime ABI %u.%u, this "
         "runtime has %u.%u",
         object->abiVersion >> 16, object->abiVersion & 0xffff,
         GPUASYNC_ABI_VERSION >> 16, GPUASYNC_ABI_VERSION & 0xffff);
  else
    fail(site, "the ELF file is not one made of #gpu_async.cpu: it has no "
               "_gpuasync_object");
  dlclose(library);
  return nullptr;
}

//===--- Loading

std::unique_ptr<Function> makeFunction(Module &module, const char *name) {
  auto function = std::make_unique<Function>();
  function->module = &module;
  function->name = name;
  function->kernel.name = function->name.c_str();
  function->kernel.paramCount = UINT32_MAX;
  // The file's name is the NUL before the op.
  std::string texts = std::string(1, '\0') + "mgpuLaunchKernel @" + name;
  constexpr uint32_t siteBytes = sizeof(gpuasync_site);
  function->site.resize(2 + texts.size() / siteBytes);
  function->site[0].file = siteBytes;
  function->site[0].op = siteBytes + 1;
  function->site[0].id = UINT32_MAX;
  memcpy(static_cast<void *>(&function->site[1]), texts.c_str(),
         texts.size() + 1);
  return function;
}

bool loadObject(Module &module, const gpuasync_site *site) {
  const gpuasync_cpu_object *object =
      linkObject(module.image, site, module.library);
  if (!object)
    return false;
  gpuasync_image image = module.image;
  image.data = object->functions;
  image.size = object->kernelCount * sizeof(gpuasync_cpu_kernel);
  gpuasync_module table = {object->name, object->kernels, &image,
                           object->kernelCount, 1};
  std::vector<NativeFunction> natives(object->kernelCount + 1);
  if (!check(site, module.device->session->loadModule(
                       table, image, site, module.native, natives.data())))
    return false;
  for (uint32_t i = 0; i < object->kernelCount; ++i) {
    std::unique_ptr<Function> function =
        makeFunction(module, object->kernels[i].name);
    const char *name = function->kernel.name;
    function->kernel = object->kernels[i];
    function->kernel.name = name;
    function->native = natives[i];
    module.functions.push_back(std::move(function));
  }
  return true;
}

bool loadForGPU(Module &module, const gpuasync_site *site) {
  std::vector<std::string> names;
  auto *start = static_cast<const char *>(module.image.data);
  if (module.image.format == GPUASYNC_IMAGE_PTX)
    ptxKernels(start, names);
  else if (memcmp(start, ELFMAG, SELFMAG) == 0)
    elfKernels(module.image, names);
  std::vector<gpuasync_kernel> kernels;
  for (const std::string &name : names) {
    module.functions.push_back(makeFunction(module, name.c_str()));
    kernels.push_back(module.functions.back()->kernel);
  }
  gpuasync_module table = {"gpu module", kernels.data(), &module.image,
                           static_cast<uint32_t>(kernels.size()), 1};
  std::vector<NativeFunction> natives(kernels.size() + 1);
  if (!check(site,
             module.device->session->loadModule(table, module.image, site,
                                                module.native, natives.data())))
    return false;
  for (size_t i = 0; i < kernels.size(); ++i)
    module.functions[i]->native = natives[i];
  return true;
}

void *loadModule(const void *data, size_t bytes, const gpuasync_site *site) {
  auto module = std::make_unique<Module>();
  const char *what = nullptr;
  if (!data || !identify(data, bytes, module->image, what)) {
    fail(site, "the module is %s", data ? what : "null");
    return nullptr;
  }
  bool cpu = module->image.format == GPUASYNC_IMAGE_CPU;
  module->device = currentDevice(
      site, cpu                                            ? "cpu"
            : module->image.format == GPUASYNC_IMAGE_HSACO ? "hip"
                                                           : "cuda");
  if (!module->device)
    return nullptr;
  if (cpu != module->device->session->isCPU()) {
    fail(site,
         cpu ? "the module is for the cpu device, but the device is %s "
               "(GPU_ASYNC_DEVICE=cpu chooses the cpu)"
             : "the module is for a GPU, but the device is %s; serialise it "
               "with target #gpu_async.cpu for that, or choose another with "
               "GPU_ASYNC_DEVICE",
         module->device->session->device());
    return nullptr;
  }
  bool ok;
  if (cpu) {
    ok = loadObject(*module, site);
  } else {
    std::string arch;
    if (module->image.format == GPUASYNC_IMAGE_PTX) {
      auto *text = static_cast<const char *>(data);
      module->text.assign(text, text + bytes);
      module->text.push_back('\0');
      module->image.data = module->text.data();
      module->image.size = strlen(module->text.data());
      arch = ptxTarget(module->text.data());
      module->image.arch = arch.c_str();
    }
    ok = loadForGPU(*module, site);
    // The driver has its own copy.
    module->image.arch = "";
    module->image.data = nullptr;
    module->text = std::vector<char>();
  }
  if (!ok) {
    if (module->library)
      dlclose(module->library);
    return nullptr;
  }
  std::lock_guard<std::mutex> lock(listMutex);
  module->next = modules.load(std::memory_order_relaxed);
  modules.store(module.get(), std::memory_order_release);
  return module.release();
}

void unload(Module &module, const gpuasync_site *site) {
  if (!module.loaded.exchange(false))
    return fail(site, "the module was unloaded before");
  Session &session = *module.device->session;
  bool ended = false;
  check(site, session.finishAll(site, ended), /*release=*/true);
  if (!ended ||
      !check(site, session.unloadModule(module.native, site), /*release=*/true))
    return; // its code may be needed still
  if (module.library)
    dlclose(module.library);
  module.library = nullptr;
}

Function *findFunction(Module &module, const char *name,
                       const gpuasync_site *site) {
  std::lock_guard<std::mutex> lock(module.mutex);
  for (const std::unique_ptr<Function> &function : module.functions)
    if (function->name == name)
      return function.get();
  if (module.device->session->isCPU()) {
    fail(site, "the module has no kernel @%s", name);
    return nullptr;
  }
  std::unique_ptr<Function> function = makeFunction(module, name);
  gpuasync_module table = {"gpu module", &function->kernel, &module.image, 1,
                           1};
  if (!check(site, module.device->session->findFunction(module.native, table,
                                                        module.image, site,
                                                        function->native)))
    return nullptr;
  module.functions.push_back(std::move(function));
  return module.functions.back().get();
}

void launch(void *pointer, const gpuasync_launch_config &block, void *stream,
            void **parameters, void **extra, size_t paramCount,
            const gpuasync_site *site) {
  auto *function = static_cast<Function *>(pointer);
  if (!function || function->magic != functionMagic)
    return fail(site, "%p is not a function of mgpuModuleGetFunction", pointer);
  Module &module = *function->module;
  if (!module.loaded.load(std::memory_order_relaxed))
    return fail(site, "the module of kernel @%s was unloaded",
                function->name.c_str());
  if (extra)
    return fail(site,
                "kernel @%s: parameters in one buffer (`extra`) are not "
                "supported; pass pointers to them",
                function->name.c_str());
  uint32_t known = function->kernel.paramCount;
  if (known != UINT32_MAX && paramCount != SIZE_MAX && paramCount != known)
    return fail(site, "kernel @%s takes %u parameters, %zu are passed",
                function->name.c_str(), known, paramCount);
  uint32_t count = known != UINT32_MAX      ? known
                   : paramCount != SIZE_MAX ? static_cast<uint32_t>(paramCount)
                                            : 0;
  for (uint32_t i = 0; i < count; ++i)
    if (!parameters || !parameters[i])
      return fail(site, "kernel @%s: parameter %u is null",
                  function->name.c_str(), i);
  Work work(stream, site);
  if (!work.stream)
    return;
  if (work.device != module.device)
    return fail(site, "kernel @%s is loaded on %s, the stream is of %s",
                function->name.c_str(), module.device->session->device(),
                work.device->session->device());
  check(site, work.device->session->launch(work.stream, function->native,
                                           function->kernel, block, parameters,
                                           function->site.data()));
}

} // namespace

void mgpu::closeModules(const gpuasync_site *site) {
  for (Module *module = modules.load(); module; module = module->next)
    if (module->loaded.load())
      unload(*module, site);
}

extern "C" {

GPUASYNC_API void *mgpuModuleLoad(void *data, size_t bytes) noexcept {
  GPUASYNC_MGPU_SITE("mgpuModuleLoad");
  return entry(&site, [&] { return loadModule(data, bytes, &site); });
}

/// `optLevel` is of the vendor's compiler, whose default is the highest.
GPUASYNC_API void *mgpuModuleLoadJIT(void *data, int optLevel) noexcept {
  GPUASYNC_MGPU_SITE("mgpuModuleLoadJIT");
  (void)optLevel;
  return entry(&site, [&] {
    return loadModule(data, data ? strlen(static_cast<char *>(data)) : 0,
                      &site);
  });
}

GPUASYNC_API void mgpuModuleUnload(void *pointer) noexcept {
  GPUASYNC_MGPU_SITE("mgpuModuleUnload");
  release(&site, [&] {
    Module *module = findModule(pointer);
    if (module)
      unload(*module, &site);
    else if (pointer)
      fail(&site, "%p is not a module", pointer);
  });
}

GPUASYNC_API void *mgpuModuleGetFunction(void *pointer,
                                         const char *name) noexcept {
  GPUASYNC_MGPU_SITE("mgpuModuleGetFunction");
  return entry(&site, [&]() -> void * {
    if (!name) {
      fail(&site, "null kernel name");
      return nullptr;
    }
    Module *module = findModule(pointer);
    if (!module || !module->loaded.load(std::memory_order_relaxed)) {
      fail(&site, "%p is not a loaded module (kernel @%s)", pointer, name);
      return nullptr;
    }
    return findFunction(*module, name, &site);
  });
}

GPUASYNC_API void mgpuLaunchKernel(void *function, intptr_t gridX,
                                   intptr_t gridY, intptr_t gridZ,
                                   intptr_t blockX, intptr_t blockY,
                                   intptr_t blockZ, int32_t sharedBytes,
                                   void *stream, void **parameters,
                                   void **extra, size_t paramCount) noexcept {
  GPUASYNC_MGPU_SITE("mgpuLaunchKernel");
  gpuasync_launch_config block = {{gridX, gridY, gridZ},
                                  {blockX, blockY, blockZ},
                                  {1, 1, 1},
                                  sharedBytes,
                                  0,
                                  0,
                                  nullptr};
  entry(&site, [&] {
    launch(function, block, stream, parameters, extra, paramCount, &site);
  });
}

/// Upstream's own callers leave `paramCount` out, so it is not read.
GPUASYNC_API void mgpuLaunchClusterKernel(
    void *function, intptr_t clusterX, intptr_t clusterY, intptr_t clusterZ,
    intptr_t gridX, intptr_t gridY, intptr_t gridZ, intptr_t blockX,
    intptr_t blockY, intptr_t blockZ, int32_t sharedBytes, void *stream,
    void **parameters, void **extra, size_t paramCount) noexcept {
  GPUASYNC_MGPU_SITE("mgpuLaunchClusterKernel");
  (void)paramCount;
  gpuasync_launch_config block = {{gridX, gridY, gridZ},
                                  {blockX, blockY, blockZ},
                                  {clusterX, clusterY, clusterZ},
                                  sharedBytes,
                                  0,
                                  0,
                                  nullptr};
  entry(&site, [&] {
    launch(function, block, stream, parameters, extra, SIZE_MAX, &site);
  });
}
}
