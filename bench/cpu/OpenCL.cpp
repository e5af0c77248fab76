//===- OpenCL.cpp - As much of OpenCL as the benchmark calls --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See OpenCL.h.
//===----------------------------------------------------------------------===//

#include "OpenCL.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

using namespace bench;

// Values of OpenCL's headers.
static constexpr uint64_t deviceTypeCpu = 1 << 1;       // CL_DEVICE_TYPE_CPU
static constexpr uint64_t useHostPointer = 1 << 3;      // CL_MEM_USE_HOST_PTR
static constexpr uint64_t readWrite = 1 << 0;           // CL_MEM_READ_WRITE
static constexpr uint32_t platformVersionInfo = 0x0901; // CL_PLATFORM_VERSION
static constexpr uint32_t buildLog = 0x1183;            // CL_PROGRAM_BUILD_LOG

bool OpenCL::open(const std::string &source, std::string &why) {
  library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    why = "no libOpenCL.so.1";
    return false;
  }
  auto find = [&](const char *name, auto &entry) {
    entry =
        reinterpret_cast<std::decay_t<decltype(entry)>>(dlsym(library, name));
    if (!entry)
      why = std::string("libOpenCL.so.1 has no ") + name;
  };
#define FIND(name) find(#name, name)
  FIND(clGetPlatformIDs);
  FIND(clGetPlatformInfo);
  FIND(clGetDeviceIDs);
  FIND(clCreateContext);
  FIND(clCreateCommandQueue);
  FIND(clCreateProgramWithSource);
  FIND(clBuildProgram);
  FIND(clGetProgramBuildInfo);
  FIND(clCreateKernel);
  FIND(clSetKernelArg);
  FIND(clCreateBuffer);
  FIND(clEnqueueNDRangeKernel);
  FIND(clEnqueueFillBuffer);
  FIND(clFinish);
#undef FIND
  if (!why.empty())
    return false;

  void *platforms[16];
  uint32_t count = 0;
  if (clGetPlatformIDs(16, platforms, &count) != 0)
    count = 0;
  for (uint32_t i = 0; i < count && i < 16 && !device; ++i) {
    char text[512] = "";
    clGetPlatformInfo(platforms[i], platformVersionInfo, sizeof(text) - 1, text,
                      nullptr);
    platformVersion = text;
    if (platformVersion.find("PoCL") == std::string::npos &&
        platformVersion.find("pocl") == std::string::npos)
      continue;
    if (clGetDeviceIDs(platforms[i], deviceTypeCpu, 1, &device, nullptr) != 0)
      device = nullptr;
  }
  if (!device) {
    why = "no PoCL (pocl-opencl-icd)";
    return false;
  }
  int32_t error = 0;
  context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
  check(error, "clCreateContext");
  queue = clCreateCommandQueue(context, device, 0, &error);
  check(error, "clCreateCommandQueue");
  const char *text = source.c_str();
  program = clCreateProgramWithSource(context, 1, &text, nullptr, &error);
  check(error, "clCreateProgramWithSource");
  if (clBuildProgram(program, 1, &device, "", nullptr, nullptr) != 0) {
    std::vector<char> log(65536);
    clGetProgramBuildInfo(program, device, buildLog, log.size() - 1, log.data(),
                          nullptr);
    why = std::string("PoCL does not compile the kernels: ") + log.data();
    return false;
  }
  return true;
}

void OpenCL::check(int32_t error, const char *call) {
  if (error == 0)
    return;
  fprintf(stderr, "cpu-bench: %s failed with error %d\n", call, error);
  exit(1);
}

OpenCL::Buffer OpenCL::wrap(void *memory, size_t bytes) {
  int32_t error = 0;
  Buffer buffer = clCreateBuffer(context, readWrite | useHostPointer, bytes,
                                 memory, &error);
  check(error, "clCreateBuffer");
  return buffer;
}

OpenCL::Kernel OpenCL::kernel(const char *name) {
  int32_t error = 0;
  Kernel kernel;
  kernel.cl = this;
  kernel.handle = clCreateKernel(program, name, &error);
  check(error, "clCreateKernel");
  return kernel;
}

OpenCL::Kernel &OpenCL::Kernel::set(size_t bytes, const void *value) {
  cl->check(cl->clSetKernelArg(handle, next++, bytes, value), "clSetKernelArg");
  return *this;
}

void OpenCL::launch(const Kernel &kernel, const std::vector<size_t> &threads,
                    const std::vector<size_t> &block) {
  check(clEnqueueNDRangeKernel(
            queue, kernel.handle, static_cast<uint32_t>(threads.size()),
            nullptr, threads.data(), block.data(), 0, nullptr, nullptr),
        "clEnqueueNDRangeKernel");
}

void OpenCL::clear(Buffer buffer, size_t bytes) {
  const int32_t zero = 0;
  check(clEnqueueFillBuffer(queue, buffer, &zero, sizeof(zero), 0, bytes, 0,
                            nullptr, nullptr),
        "clEnqueueFillBuffer");
}

void OpenCL::finish() { check(clFinish(queue), "clFinish"); }
