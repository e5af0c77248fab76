//===- OpenCL.h - As much of OpenCL as the benchmark calls ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libOpenCL.so.1 is opened at run time, with own declarations: nothing of
// OpenCL is needed to build, and without it the rows stay empty.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_BENCH_CPU_OPENCL_H
#define GPUASYNC_BENCH_CPU_OPENCL_H

#include <stddef.h>
#include <stdint.h>
#include <string>
#include <vector>

namespace bench {

/// A CPU device of PoCL and the kernels of one source. Not thread safe.
class OpenCL {
public:
  using Buffer = void *;

  /// A kernel with its arguments. Each setter is for the next argument.
  class Kernel {
  public:
    Kernel &buffer(Buffer value) { return set(sizeof(value), &value); }
    Kernel &number(float value) { return set(sizeof(value), &value); }
    Kernel &number(int64_t value) { return set(sizeof(value), &value); }

  private:
    friend class OpenCL;
    Kernel &set(size_t bytes, const void *value);
    OpenCL *cl = nullptr;
    void *handle = nullptr;
    uint32_t next = 0;
  };

  /// Opens the library, finds the device and compiles `source`. False, with
  /// `why`, if there is no library, no PoCL, or the source does not compile.
  bool open(const std::string &source, std::string &why);
  /// Name and version of the platform.
  const std::string &version() const { return platformVersion; }

  /// A buffer that uses the host's memory. Exits on errors, like all below.
  Buffer wrap(void *memory, size_t bytes);
  Kernel kernel(const char *name);
  /// `threads` in all, `block` in a workgroup; for each dimension.
  void launch(const Kernel &kernel, const std::vector<size_t> &threads,
              const std::vector<size_t> &block);
  /// Clears a buffer, in order with the launches.
  void clear(Buffer buffer, size_t bytes);
  void finish();

private:
  void check(int32_t error, const char *call);
  void *library = nullptr, *device = nullptr, *context = nullptr,
       *queue = nullptr, *program = nullptr;
  std::string platformVersion;

  // Names and signatures are OpenCL's; handles are pointers.
  int32_t (*clGetPlatformIDs)(uint32_t, void **, uint32_t *);
  int32_t (*clGetPlatformInfo)(void *, uint32_t, size_t, void *, size_t *);
  int32_t (*clGetDeviceIDs)(void *, uint64_t, uint32_t, void **, uint32_t *);
  void *(*clCreateContext)(const intptr_t *, uint32_t, void *const *,
                           void (*)(const char *, const void *, size_t, void *),
                           void *, int32_t *);
  void *(*clCreateCommandQueue)(void *, void *, uint64_t, int32_t *);
  void *(*clCreateProgramWithSource)(void *, uint32_t, const char **,
                                     const size_t *, int32_t *);
  int32_t (*clBuildProgram)(void *, uint32_t, void *const *, const char *,
                            void (*)(void *, void *), void *);
  int32_t (*clGetProgramBuildInfo)(void *, void *, uint32_t, size_t, void *,
                                   size_t *);
  void *(*clCreateKernel)(void *, const char *, int32_t *);
  int32_t (*clSetKernelArg)(void *, uint32_t, size_t, const void *);
  void *(*clCreateBuffer)(void *, uint64_t, size_t, void *, int32_t *);
  int32_t (*clEnqueueNDRangeKernel)(void *, void *, uint32_t, const size_t *,
                                    const size_t *, const size_t *, uint32_t,
                                    void *const *, void **);
  int32_t (*clEnqueueFillBuffer)(void *, void *, const void *, size_t, size_t,
                                 size_t, uint32_t, void *const *, void **);
  int32_t (*clFinish)(void *);
};

} // namespace bench

#endif // GPUASYNC_BENCH_CPU_OPENCL_H
