//===- Modules.cpp - Modules and launches of the fake libraries -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See State.h.
//===----------------------------------------------------------------------===//

#include "../CpuKernel.h"
#include "State.h"

#include "device/vendor/BuiltinKernels.h"

#include <ctype.h>
#include <string.h>

using namespace mock;

namespace {

void addParameter(Function &function, size_t size, size_t align) {
  size_t offset = (function.parameterBytes + align - 1) / align * align;
  function.parameters.push_back({offset, size});
  function.parameterBytes = offset + size;
}

/// Reads `.param .u64 .ptr .align 1 name` and `.param .align 8 .b8 name[264]`.
bool parseParameter(const std::string &text, Function &function) {
  size_t size = 0, align = 0, count = 1;
  size_t at = 0;
  while ((at = text.find('.', at)) != std::string::npos) {
    size_t end = text.find_first_of(" \t\n[,", at);
    std::string word = text.substr(at + 1, end - at - 1);
    at = end == std::string::npos ? text.size() : end;
    if (word.size() >= 2 && strchr("bsuf", word[0]) && isdigit(word[1]))
      size = strtoul(word.c_str() + 1, nullptr, 10) / 8;
    else if (word == "align" && !size)
      align = strtoul(text.c_str() + at, nullptr, 10);
  }
  if (size_t bracket = text.find('['); bracket != std::string::npos)
    count = strtoul(text.c_str() + bracket + 1, nullptr, 10);
  if (!size)
    return false;
  addParameter(function, size * count, align ? align : size);
  return true;
}

/// "sm_90a" as 90.
uint64_t archOf(const std::string &text) {
  size_t at = text.find("sm_");
  return at == std::string::npos ? 0
                                 : strtoul(text.c_str() + at + 3, nullptr, 10);
}

} // namespace

/// PTX as compilers write it: its version, its target, and of each `.entry` the
/// name and parameters; or text that begins with "gpuasync-mock-image", then
/// lines "arch sm_90" and "kernel NAME BYTES..." (of the parameters). Either
/// may say by GPUASYNC_KERNELS_WAIT_SYMBOL that its kernels wait, and by
/// GPUASYNC_KERNELS_SIGNAL_SYMBOL that they tell the host of their end.
int State::load(const void *image, Module *&out, std::string &log,
                std::unique_lock<std::mutex> &lock) {
  block(lock);
  const std::string text(static_cast<const char *>(image));
  auto module = std::make_unique<Module>(current());
  auto add = [&](const std::string &name) {
    auto function = std::make_unique<Function>(module->context);
    function->name = name;
    module->functions.push_back(std::move(function));
    return module->functions.back().get();
  };
  module->waits = text.find(GPUASYNC_KERNELS_WAIT_SYMBOL) != std::string::npos;
  module->signals =
      text.find(GPUASYNC_KERNELS_SIGNAL_SYMBOL) != std::string::npos;
  if (text.find(gpuasync::signalCountsName) != std::string::npos)
    module->counts.resize(gpuasync::maxSignals);
  uint64_t chip = settings["major"] * 10 + settings["minor"];
  if (text.compare(0, 19, "gpuasync-mock-image") == 0) {
    size_t at = text.find('\n');
    while (at != std::string::npos && at + 1 < text.size()) {
      size_t end = text.find('\n', at + 1);
      std::string line = text.substr(at + 1, end - at - 1);
      at = end;
      if (line.compare(0, 5, "arch ") == 0) {
        if (archOf(line) != chip && line.find("gfx") == std::string::npos)
          return NoBinaryForGpu;
      } else if (line.compare(0, 7, "kernel ") == 0) {
        size_t space = line.find(' ', 7);
        Function *function = add(line.substr(7, space - 7));
        while (space != std::string::npos) {
          char *rest = nullptr;
          size_t size = strtoul(line.c_str() + space, &rest, 10);
          if (size)
            addParameter(*function, size, size <= 8 ? size : 8);
          space = line.find(' ', space + 1);
        }
      }
    }
  } else {
    size_t version = text.find(".version");
    size_t target = text.find(".target");
    if (version == std::string::npos || target == std::string::npos) {
      log = "ptxas fatal   : Missing .version directive at start of file";
      return InvalidPtx;
    }
    double number = strtod(text.c_str() + version + 8, nullptr);
    if (uint64_t(number * 10 + 0.5) > settings["ptx"])
      return UnsupportedPtxVersion;
    size_t targetEnd = text.find('\n', target);
    if (archOf(text.substr(target, targetEnd - target)) > chip)
      return NoBinaryForGpu;
    for (size_t at = text.find(".entry"); at != std::string::npos;
         at = text.find(".entry", at + 1)) {
      size_t name = text.find_first_not_of(" \t\n", at + 6);
      size_t end = text.find_first_of(" \t\n({", name);
      Function *function = add(text.substr(name, end - name));
      size_t open = text.find_first_not_of(" \t\n", end);
      if (open == std::string::npos || text[open] != '(')
        continue;
      size_t close = text.find(')', open);
      std::string list = text.substr(open, close - open);
      for (size_t p = list.find(".param"); p != std::string::npos;) {
        size_t next = list.find(".param", p + 1);
        if (!parseParameter(list.substr(p + 6, next - p - 6), *function)) {
          log = "ptxas fatal   : bad parameter of " + function->name;
          return InvalidPtx;
        }
        p = next;
      }
    }
  }
  for (auto &function : module->functions) {
    auto kernel = kernels.find(function->name);
    if (kernel == kernels.end() && getenv("GPUASYNC_MOCK_EMPTY_KERNELS")) {
      static const gpuasync_cpu_kernel empty = gpuasync_test::cpuKernel(
          "empty", [](const gpuasync_cpu_block_ctx *, const void *, void *) {});
      function->kernel = &empty;
      function->module = module.get();
      byHandle[function.get()] = function.get();
      continue;
    }
    if (kernel == kernels.end()) {
      log =
          "ptxas fatal   : the test has no host function for " + function->name;
      return InvalidPtx;
    }
    function->kernel = kernel->second;
    function->module = module.get();
    byHandle[function.get()] = function.get();
  }
  out = module.get();
  byHandle[out] = out;
  keep(std::move(module));
  return Success;
}

int State::unload(void *handle, std::unique_lock<std::mutex> &lock) {
  Module *module = nullptr;
  if (int code = resolve(handle, Kind::Module, "module", module))
    return code;
  block(lock);
  if (module->pending)
    violation("kernels of the module are queued or running");
  for (Object *object : presentObjects()) {
    if (object->kind != Kind::Executable || !object->alive || object->lost)
      continue;
    for (auto &work : static_cast<Executable &>(*object).work)
      if (work->module == module) {
        violation("an executable graph has kernels of the module");
        break;
      }
  }
  module->alive = false;
  for (auto &function : module->functions)
    function->alive = false;
  return Success;
}

int State::global(void *handle, const char *name, void *&address) {
  Module *module = nullptr;
  if (int code = resolve(handle, Kind::Module, "module", module))
    return code;
  address = module;
  if ((module->waits && strcmp(name, GPUASYNC_KERNELS_WAIT_SYMBOL) == 0) ||
      (module->signals && strcmp(name, GPUASYNC_KERNELS_SIGNAL_SYMBOL) == 0))
    return Success;
  address = module->counts.data();
  if (address && strcmp(name, gpuasync::signalCountsName) == 0)
    return Success;
  violation(std::string("asks for ") + name +
            ", which is not in the module: tools that watch the driver would "
            "tell of an error");
  return NotFound;
}

int State::function(void *handle, const char *name, Function *&out) {
  Module *module = nullptr;
  if (int code = resolve(handle, Kind::Module, "module", module))
    return code;
  for (auto &function : module->functions)
    if (function->name == name) {
      out = function.get();
      return Success;
    }
  return NotFound;
}

int State::function(void *handle, Function *&out, bool loads,
                    std::unique_lock<std::mutex> &lock) {
  if (int code = resolve(handle, Kind::Function, "function", out))
    return code;
  if (loads && !out->loaded) {
    block(lock);
    out->loaded = true;
  }
  return Success;
}

/// Runs all blocks one after the other; returns a fault's code.
static int runKernel(const gpuasync_cpu_kernel &kernel, const Launch &launch,
                     const void *parameters) {
  mock_launch own = {0};
  gpuasync_cpu_block_ctx context = {};
  for (int i = 0; i < 3; ++i) {
    context.gridDim[i] = launch.grid[i];
    context.blockDim[i] = launch.block[i];
  }
  context.dynamicSharedBytes = launch.sharedBytes;
  context.launch = &own;
  context.runBlocks = 1;
  std::vector<char> workgroup((kernel.workgroupBytes + 15) / 16 * 16 +
                              launch.sharedBytes + 16);
  for (context.blockIdx[2] = 0; context.blockIdx[2] < context.gridDim[2];
       ++context.blockIdx[2])
    for (context.blockIdx[1] = 0; context.blockIdx[1] < context.gridDim[1];
         ++context.blockIdx[1])
      for (context.blockIdx[0] = 0; context.blockIdx[0] < context.gridDim[0];
           ++context.blockIdx[0]) {
        kernel.function(&context, parameters, workgroup.data());
        if (own.trap)
          return own.trap;
      }
  return 0;
}

int State::kernelWork(Function &function, const Launch &launch,
                      const void *parameters, size_t parameterBytes, Work &out,
                      std::unique_lock<std::mutex> &lock) {
  if (!function.loaded) {
    block(lock);
    function.loaded = true;
  }
  uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    if (!launch.grid[i] || !launch.block[i])
      return InvalidValue;
    threads *= launch.block[i];
  }
  if (threads > 1024 ||
      launch.sharedBytes > unsigned(function.maxDynamicShared))
    return InvalidValue;
  if (parameterBytes < function.parameterBytes) {
    violation("kernel " + function.name + " takes " +
              std::to_string(function.parameterBytes) + " bytes, " +
              std::to_string(parameterBytes) + " are passed");
    return InvalidValue;
  }
  uint64_t blocks = uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  if (launch.cooperative &&
      blocks > settings["multiprocessors"] * (2048 / threads))
    return CooperativeLaunchTooLarge;
  auto *bytes = static_cast<const char *>(parameters);
  // The buffer of a kernel is aligned for any parameter.
  struct alignas(16) Unit {
    char bytes[16];
  };
  std::vector<Unit> copied((parameterBytes + 15) / 16 + 1);
  if (parameterBytes)
    memcpy(copied.data(), bytes, parameterBytes);
  out.of = Work::Kernel;
  out.kernel = function.name;
  out.module = function.module;
  out.launch = launch;
  uint32_t *slot = nullptr;
  if (function.module->signals) {
    const Parameter &first =
        function.parameters[function.parameters.size() - 2];
    memcpy(&slot, reinterpret_cast<char *>(copied.data()) + first.offset,
           sizeof(slot));
  }
  out.slot = slot;
  out.run = [kernel = function.kernel, launch, copied = std::move(copied)] {
    return runKernel(*kernel, launch, copied.data());
  };
  return Success;
}

int State::launch(Function &function, void *handle, const Launch &launch,
                  const void *parameters, size_t parameterBytes,
                  std::unique_lock<std::mutex> &lock) {
  Stream *stream = nullptr;
  if (int code = resolveStream(handle, stream))
    return code;
  Work work;
  if (int code =
          kernelWork(function, launch, parameters, parameterBytes, work, lock))
    return code;
  Operation operation;
  operation.kernel = std::move(work.kernel);
  operation.module = work.module;
  operation.run = [run = std::move(work.run), slot = work.slot] {
    int code = run();
    if (slot && !code)
      tellAndEnd(slot);
    return code;
  };
  enqueue(*stream, std::move(operation));
  return Success;
}
