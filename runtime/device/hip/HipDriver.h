//===- HipDriver.h - What is peculiar to HIP --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of VendorDriver that HIP has its own way for: in HipDriver.cpp
// those of devices, launches, memory and graphs, in HipImage.cpp those of
// images.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DEVICE_HIP_HIPDRIVER_H
#define GPUASYNC_DEVICE_HIP_HIPDRIVER_H

#include "device/vendor/VendorDriver.h"

namespace gpuasync {

extern const Vendor hipVendor;

namespace hip {

/// The built-in kernels compiled for one chip.
struct BuiltinObject {
  const char *arch;
  const char *data, *end;
  size_t bytes() const { return static_cast<size_t>(end - data); }
};
extern const BuiltinObject builtinObjects[];
extern const size_t builtinObjectCount;

class HipDriver final : public VendorDriver {
public:
  HipDriver();

  VendorCall identify(VendorDevice &device) const override;
  uint32_t rank(const VendorLimits &limits, const gpuasync_image &image,
                std::string *why = nullptr) const override;
  int64_t imageParamCount(const gpuasync_image &image,
                          const char *kernel) const override;
  bool builtinImage(const VendorLimits &limits,
                    gpuasync_image &image) const override;
  VendorCall loadImage(const gpuasync_image &image, ModuleHandle &module,
                       char *log, size_t logBytes) const override;
  VendorCall launchExtended(FunctionHandle function, StreamHandle stream,
                            const gpuasync_kernel &kernel,
                            const gpuasync_launch_config &block,
                            void **parameters, void **extra) const override;
  VendorCall copyRows(void *destination, size_t destinationPitch,
                      const void *source, size_t sourcePitch, size_t width,
                      size_t height, StreamHandle stream) const override;
  VendorCall pointerKind(const void *pointer, PointerKind &kind) const override;
  VendorCall addKernelNode(GraphNodeHandle &out, GraphHandle graph,
                           const GraphNodeHandle *after, size_t count,
                           const VendorKernelNode &kernel) const override;
  VendorCall setKernelNode(GraphExecHandle executable, GraphNodeHandle node,
                           const VendorKernelNode &kernel) const override;
  VendorCall addCopyNode(GraphNodeHandle &out, GraphHandle graph,
                         const GraphNodeHandle *after, size_t count,
                         void *destination, const void *source, size_t bytes,
                         void *context) const override;
  VendorCall setCopyNode(GraphExecHandle executable, GraphNodeHandle node,
                         void *destination, const void *source, size_t bytes,
                         void *context) const override;
};

} // namespace hip
} // namespace gpuasync

#endif // GPUASYNC_DEVICE_HIP_HIPDRIVER_H
