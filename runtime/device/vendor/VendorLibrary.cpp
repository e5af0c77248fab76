//===- VendorLibrary.cpp - Opening a vendor's driver library --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dlopen and symbol lookup, with everything that was tried in the message.
//===----------------------------------------------------------------------===//

#include "device/vendor/VendorLibrary.h"
#include "shim/base/Settings.h"

#include <atomic>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <string>

using namespace gpuasync;

static std::atomic<bool> exiting{false};

bool gpuasync::processIsExiting() noexcept {
  return exiting.load(std::memory_order_relaxed);
}

void gpuasync::armExitFlag() noexcept {
  atexit([] { exiting.store(true, std::memory_order_relaxed); });
}

Status gpuasync::openVendorLibrary(const char *what, const char *variable,
                                   const char *const *paths, void *&library) {
  const char *chosen = setting(variable);
  const char *only[] = {chosen, nullptr};
  if (chosen)
    paths = only;
  std::string tried;
  for (; *paths; ++paths) {
    // Local: the vendor's symbols must not resolve anybody else's references.
    library = dlopen(*paths, RTLD_NOW | RTLD_LOCAL);
    if (library)
      return Status();
    const char *reason = dlerror();
    // The loader repeats the path in front of its reason.
    size_t length = strlen(*paths);
    if (reason && !strncmp(reason, *paths, length) && reason[length] == ':')
      reason += length + 2;
    appendItem(tried, std::string(*paths) + " (" +
                          (reason ? reason : "unknown error") + ")");
  }
  return makeStatus(GPUASYNC_UNAVAILABLE, "%s is unavailable: tried %s", what,
                    tried.c_str());
}

Status
gpuasync::resolveVendorSymbols(const char *what, void *library,
                               const VendorSymbols &symbols, VendorTable &table,
                               void *(*find)(void *, const char *, int)) {
  std::string missing;
  for (uint32_t i = 0; i < symbols.count; ++i) {
    const VendorSymbol &symbol = symbols.begin[i];
    const char *name = symbols.nameOf(symbol);
    void *address = find ? find(library, name, symbol.version) : nullptr;
    if (!address)
      address = dlsym(library, symbols.names + symbol.exported);
    setEntry(table, symbol.entry, address);
    if (!address && symbol.required)
      appendItem(missing, name, ", ");
  }
  if (missing.empty())
    return Status();
  return makeStatus(GPUASYNC_UNAVAILABLE,
                    "%s is unavailable: its library lacks %s", what,
                    missing.c_str());
}
