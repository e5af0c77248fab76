//===- VendorLibrary.h - Opening a vendor's driver library ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens a vendor library by the first path that works and fills a table of
// entry points. What is missing becomes a status that names it.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DEVICE_VENDOR_VENDORLIBRARY_H
#define GPUASYNC_DEVICE_VENDOR_VENDORLIBRARY_H

#include "device/vendor/VendorTable.h"
#include "shim/base/StatusImpl.h"

namespace gpuasync {

/// A vendor's side of an entry point. Names are offsets in one text of all: the
/// loader need not write a pointer for each.
struct VendorSymbol {
  VendorEntry entry;
  uint16_t name;
  uint16_t exported; ///< what dlsym finds
  uint16_t version;  ///< what the vendor's own lookup is asked for
  bool required;
};

/// All entry points of a vendor.
struct VendorSymbols {
  const VendorSymbol *begin;
  uint32_t count;
  const char *names;

  const char *nameOf(const VendorSymbol &symbol) const {
    return names + symbol.name;
  }
};

/// Opens the first of `paths` (null-terminated) that can be opened; a path in
/// the environment variable `variable` is the only one tried when it is set and
/// the process is not privileged (setuid and the like).
/// The library is never closed: its code may run until the process ends. On
/// failure the status lists each path with the loader's reason.
Status openVendorLibrary(const char *what, const char *variable,
                         const char *const *paths, void *&library);

/// Fills `table`. `find` is the vendor's own lookup, which is asked first and
/// may be null or find nothing; then the exported name is looked up. The status
/// names every required symbol that is missing.
Status resolveVendorSymbols(const char *what, void *library,
                            const VendorSymbols &symbols, VendorTable &table,
                            void *(*find)(void *library, const char *name,
                                          int version));

/// True from the moment that exit() runs the handler of armExitFlag: no vendor
/// call may be made any more.
bool processIsExiting() noexcept;
/// Called once the vendor's library is initialised, so that our handler runs
/// before its own.
void armExitFlag() noexcept;

} // namespace gpuasync

#endif // GPUASYNC_DEVICE_VENDOR_VENDORLIBRARY_H
