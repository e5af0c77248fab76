//===- CudaDriver.h - What is peculiar to CUDA ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of VendorDriver that CUDA has its own way for: in
// CudaDriver.cpp those of devices, launches, memory and graphs, in
// CudaImage.cpp and CudaModule.cpp those of images.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_DEVICE_CUDA_CUDADRIVER_H
#define GPUASYNC_DEVICE_CUDA_CUDADRIVER_H

#include "device/vendor/VendorDriver.h"

#include <string_view>

namespace gpuasync {

extern const Vendor cudaVendor;

namespace cuda {

/// The built-in kernels. A zero follows the text.
std::string_view builtinPtx();

struct CUlaunchAttribute;

class CudaDriver final : public VendorDriver {
public:
  CudaDriver();

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
  VendorCall addOverlappingEdges(GraphHandle graph, GraphNodeHandle node,
                                 const GraphNodeHandle *after, size_t count,
                                 Ready ready) const override;
  VendorCall
  extendKernelNode(GraphNodeHandle node, FunctionHandle function,
                   const gpuasync_launch_config &block) const override;
  VendorCall setKernelNode(GraphExecHandle executable, GraphNodeHandle node,
                           const VendorKernelNode &kernel) const override;
  VendorCall addCopyNode(GraphNodeHandle &out, GraphHandle graph,
                         const GraphNodeHandle *after, size_t count,
                         void *destination, const void *source, size_t bytes,
                         void *context) const override;
  VendorCall setCopyNode(GraphExecHandle executable, GraphNodeHandle node,
                         void *destination, const void *source, size_t bytes,
                         void *context) const override;

private:
  void libraryLoaded() const override;
  unsigned launchAttributes(FunctionHandle function,
                            const gpuasync_launch_config &block,
                            CUlaunchAttribute (&out)[2]) const;
};

} // namespace cuda
} // namespace gpuasync

#endif // GPUASYNC_DEVICE_CUDA_CUDADRIVER_H
