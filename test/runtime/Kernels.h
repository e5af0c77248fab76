//===- Kernels.h - Hand-written programs for the runtime tests --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a compiler would emit, written by hand: kernels as functions for the cpu
// device and as PTX for cuda, in one program descriptor.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_RUNTIME_KERNELS_H
#define GPUASYNC_TEST_RUNTIME_KERNELS_H

#include "CpuKernel.h"
#include "Sites.h"
#include "gpuasync/RuntimeABI.h"

#include <string.h>

#include <vector>

namespace gpuasync_test {

enum KernelIndex : uint32_t {
  Store,   ///< out[i] = value
  AddUp,   ///< out[i] = in[i] + value
  Gate,    ///< runs until *flag is not 0
  Meet,    ///< *mine = 1, runs until *other is not 0
  MulAdd,  ///< x[i] = x[i] * factor + term
  Shared,  ///< out[0] = words - 1 by way of dynamic shared memory
  Fail,    ///< an assert (cpu) or a trap (cuda) if value is not 0
  Raise,   ///< *flag = 1
  ReadMap, ///< out = the 16 words of a parameter aligned to 64
  NumKernels
};

namespace detail {

struct StoreParams {
  uint32_t *out;
  uint32_t value;
};
struct AddUpParams {
  uint32_t *out;
  const uint32_t *in;
  int64_t count;
  uint32_t value;
};
struct GateParams {
  uint32_t *flag;
};
struct MeetParams {
  uint32_t *mine, *other;
};
struct MulAddParams {
  uint32_t *x;
  int64_t count;
  uint32_t factor, term;
};
struct SharedParams {
  uint32_t *out;
  uint32_t words;
};
struct FailParams {
  uint32_t value;
};
struct ReadMapParams {
  int64_t *out;
  int64_t padding[7];
  int64_t map[16];
};

template <typename Params, void (*body)(const Params &, uint32_t)>
void perThread(const gpuasync_cpu_block_ctx *ctx, const void *params, void *) {
  int64_t threads = ctx->blockDim[0];
  for (int64_t i = 0; i < threads; ++i)
    body(*static_cast<const Params *>(params),
         static_cast<uint32_t>(ctx->blockIdx[0] * threads + i));
}

inline void store(const StoreParams &p, uint32_t i) { p.out[i] = p.value; }
inline void addUp(const AddUpParams &p, uint32_t i) {
  if (i < p.count)
    p.out[i] = p.in[i] + p.value;
}
inline void gate(const GateParams &p, uint32_t) {
  while (!__atomic_load_n(p.flag, __ATOMIC_ACQUIRE))
    ;
}
inline void meet(const MeetParams &p, uint32_t) {
  __atomic_store_n(p.mine, 1, __ATOMIC_RELEASE);
  while (!__atomic_load_n(p.other, __ATOMIC_ACQUIRE))
    ;
}
inline void mulAdd(const MulAddParams &p, uint32_t i) {
  if (i < p.count)
    p.x[i] = p.x[i] * p.factor + p.term;
}
inline void raise(const GateParams &p, uint32_t) {
  __atomic_store_n(p.flag, 1, __ATOMIC_RELEASE);
}
inline void readMap(const ReadMapParams &p, uint32_t) {
  memcpy(p.out, p.map, sizeof(p.map));
}
inline void shared(const gpuasync_cpu_block_ctx *, const void *params,
                   void *workgroup) {
  auto *p = static_cast<const SharedParams *>(params);
  auto *memory = static_cast<uint32_t *>(workgroup);
  for (uint32_t i = 0; i < p->words; ++i)
    memory[i] = i;
  // Each block does so.
  __atomic_store_n(p->out, memory[p->words - 1], __ATOMIC_RELAXED);
}
inline void fail(const gpuasync_cpu_block_ctx *ctx, const void *params,
                 void *) {
  if (static_cast<const FailParams *>(params)->value)
    gpuasync_cpu_assert_fail(ctx, "value must be 0", "kernel.mlir", 7, 9, 1, 2,
                             3);
}

inline const char *ptx() {
  static const char text[] =
#include "Kernels.inc"
      ;
  return text;
}

/// What a kernel of GPUASYNC_KERNELS_SIGNAL_SYMBOL does before it ends.
inline std::string signalPtx(const std::string &kernel) {
  return R"PTX(
{
	.reg .pred 	%done<4>;
	.reg .b32 	%word<9>;
	.reg .b64 	%long<7>;
	ld.param.b64 	%long1, [)PTX" +
         kernel + R"PTX(_slot];
	setp.eq.b64 	%done1, %long1, 0;
	@%done1 bra 	$L__silent;
	bar.sync 	0;
	mov.u32 	%word1, %tid.x;
	setp.ne.b32 	%done2, %word1, 0;
	@%done2 bra 	$L__silent;
	ld.param.b64 	%long2, [)PTX" +
         kernel + R"PTX(_count];
	membar.gl;
	atom.global.add.u64 	%long3, [%long2], 1;
	mov.u32 	%word2, %nctaid.x;
	mov.u32 	%word3, %nctaid.y;
	mul.lo.s32 	%word4, %word2, %word3;
	mov.u32 	%word5, %nctaid.z;
	mad.lo.s32 	%word6, %word4, %word5, -1;
	cvt.u32.u64 	%word7, %long3;
	setp.ne.b32 	%done3, %word6, %word7;
	@%done3 bra 	$L__silent;
	shr.u64 	%long4, %long3, 32;
	add.s64 	%long5, %long4, 1;
	cvt.u32.u64 	%word8, %long5;
	shl.b64 	%long6, %long5, 32;
	st.global.b64 	[%long2], %long6;
	membar.sys;
	st.volatile.global.b32 	[%long1], %word8;
$L__silent:
}
)PTX";
}

/// The same for devices on which kernels may be made ready before what they
/// come after has ended, and tell the host of their end, as the compiler makes
/// it.
inline std::string waitingPtx() {
  std::string text = ptx();
  auto replace = [&](size_t from, const char *what, const char *by) {
    size_t at = text.find(what, from);
    text.replace(at, strlen(what), by);
    return at;
  };
  replace(0, ".version 6.0", ".version 7.8");
  replace(0, ".target sm_70", ".target sm_90");
  for (size_t at = text.find(".entry"); at != std::string::npos;
       at = text.find(".entry", at))
    at = replace(at, "{", "{\n\tgriddepcontrol.wait;");
  for (size_t at = text.find(".entry "); at != std::string::npos;
       at = text.find(".entry ", at)) {
    const std::string kernel = text.substr(at + 7, text.find('(', at) - at - 7);
    at = replace(at, "\n)",
                 (",\n\t.param .u64 " + kernel + "_slot,\n\t.param .u64 " +
                  kernel + "_count\n)")
                     .c_str());
    at = text.find("\tret;", at);
    text.insert(at, signalPtx(kernel));
  }
  return text + ".visible .global .u8 " GPUASYNC_KERNELS_WAIT_SYMBOL ";\n"
                ".visible .global .u8 " GPUASYNC_KERNELS_SIGNAL_SYMBOL ";\n";
}

} // namespace detail

/// Makes the image of the test kernels for a vendor of the test program's own,
/// of NumKernels functions. Set by main before the first program is made.
inline gpuasync_image (*makeMoreImage)(const gpuasync_cpu_kernel *kernels) =
    nullptr;

/// One program with its own registration. `images` says which it carries.
class TestProgram {
public:
  /// CudaWaiting: for devices that make kernels ready early. More: that of
  /// makeMoreImage, if it is set.
  enum Images {
    Cpu = 1,
    Cuda = 2,
    Hip = 4,
    CudaWaiting = 8,
    More = 16,
    All = 31
  };

  explicit TestProgram(int which = All, const char *name = "test")
      : programName(name) {
    auto kernel = [&](KernelIndex index, const char *kernelName,
                      gpuasync_cpu_block_fn function, uint32_t flags,
                      std::vector<uint32_t> sizes) {
      cpu[index] = cpuKernel(kernelName, function, flags);
      paramSizes[index] = sizes;
      uint32_t offset = 0, align = 1;
      for (uint32_t size : sizes) {
        uint32_t own = size < 64 ? size : 64;
        offset = (offset + own - 1) / own * own;
        paramOffsets[index].push_back(offset);
        offset += size;
        align = own > align ? own : align;
      }
      kernels[index] = {kernelName, paramOffsets[index].data(),
                        paramSizes[index].data(),
                        static_cast<uint32_t>(sizes.size()),
                        (offset + align - 1) / align * align};
    };
    using namespace detail;
    kernel(Store, "store", perThread<StoreParams, store>, 0, {8, 4});
    kernel(AddUp, "addUp", perThread<AddUpParams, addUp>, 0, {8, 8, 8, 4});
    kernel(Gate, "gate", perThread<GateParams, gate>, GPUASYNC_KERNEL_MAY_BLOCK,
           {8});
    kernel(Meet, "meet", perThread<MeetParams, meet>, GPUASYNC_KERNEL_MAY_BLOCK,
           {8, 8});
    kernel(MulAdd, "mulAdd", perThread<MulAddParams, mulAdd>, 0, {8, 8, 4, 4});
    kernel(Shared, "shared", shared, 0, {8, 4});
    kernel(Fail, "fail", fail, 0, {4});
    kernel(Raise, "raise", perThread<GateParams, raise>, 0, {8});
    kernel(ReadMap, "readMap", perThread<ReadMapParams, readMap>, 0, {8, 128});
    if (which & Cpu)
      images.push_back({GPUASYNC_IMAGE_CPU, 0, "", cpu, sizeof(cpu), {0, 0}});
    if (which & Cuda)
      images.push_back({GPUASYNC_IMAGE_PTX,
                        0,
                        "sm_70",
                        detail::ptx(),
                        strlen(detail::ptx()),
                        {0x1234, 0x5678}});
    if (which & CudaWaiting) {
      static const std::string waiting = detail::waitingPtx();
      images.push_back({GPUASYNC_IMAGE_PTX,
                        0,
                        "sm_90",
                        waiting.c_str(),
                        waiting.size(),
                        {0x1234, 0x9078}});
    }
    // The fake library and libhip_on_cuda take this for a code object.
    if (which & Hip)
      images.push_back({GPUASYNC_IMAGE_HSACO,
                        0,
                        "gfx942",
                        detail::ptx(),
                        strlen(detail::ptx()),
                        {0x1234, 0x5678}});
    if ((which & More) && makeMoreImage)
      images.push_back(makeMoreImage(cpu));
    module = {"kernels", kernels, images.data(), NumKernels,
              static_cast<uint32_t>(images.size())};
    program = {
        GPUASYNC_ABI_VERSION, 1, programName, &module, &slot, testSites.data(),
        maxTestSites,         0};
    function = {"testFunction", "test.mlir", 1, 1, &program,
                &moduleIndex,   1,           0, 1, 0};
    static const std::vector<uint32_t> sites = [&] {
      std::vector<uint32_t> made;
      for (uint32_t i = 0; i < NumKernels; ++i)
        made.push_back(testSite("test.mlir", kernels[i].name, 10 + i, 5, i));
      return made;
    }();
    launchSites = sites.data();
  }
  TestProgram(const TestProgram &) = delete;
  ~TestProgram() { gpuasync_status_free(gpuasync_program_release(&program)); }

  const char *programName;
  gpuasync_cpu_kernel cpu[NumKernels];
  std::vector<uint32_t> paramOffsets[NumKernels], paramSizes[NumKernels];
  gpuasync_kernel kernels[NumKernels];
  std::vector<gpuasync_image> images;
  gpuasync_module module;
  void *slot = nullptr;
  gpuasync_program program;
  uint32_t moduleIndex = 0;
  gpuasync_function function;
  const uint32_t *launchSites; ///< for each kernel
};

/// A launch block of `grid` x `block` threads with `params`.
template <typename Params>
gpuasync_launch_config makeLaunch(int64_t grid, int64_t block,
                                  const Params &params,
                                  uint32_t dynamicSharedBytes = 0) {
  return {{grid, 1, 1},   {block, 1, 1}, {1, 1, 1}, dynamicSharedBytes, 0,
          sizeof(Params), &params};
}

} // namespace gpuasync_test

#endif // GPUASYNC_TEST_RUNTIME_KERNELS_H
