//===- Zip.h - Members of .npz archives -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// numpy.savez and savez_compressed write zip archives of .npy files.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TOOLS_GPURUNNER_ZIP_H
#define GPUASYNC_TOOLS_GPURUNNER_ZIP_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <vector>

namespace gpurunner {

/// The bytes of one member, with what they lie in.
struct ZipMember {
  std::unique_ptr<llvm::MemoryBuffer> archive;
  std::vector<char> inflated;
  llvm::StringRef bytes;
};

/// Reads the member `name` or `name`.npy of the archive, stored or deflated;
/// its checksum is right. If there is none, the error lists those that exist.
llvm::Expected<ZipMember> readZipMember(llvm::StringRef path,
                                        llvm::StringRef name);

} // namespace gpurunner

#endif // GPUASYNC_TOOLS_GPURUNNER_ZIP_H
