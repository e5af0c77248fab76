# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long products of matrices take while a few processors of the GPU are busy, as with a collective's kernel.

    busy-processors.py

Needs PyTorch and CuPy, and one GPU. A kernel takes all registers of N processors for 30 ms. Meanwhile the products of a
training step (f32, 1,024 rows, 2048 x 2048 weights) run 20 times each. Prints the least time of three such runs, in us.
"""

import time

import cupy
import torch

SPIN = cupy.RawKernel(r"""
extern "C" __global__ void __launch_bounds__(640, 1) spin(float *never) {
  float values[64]; // registers, as many as a kernel of NCCL takes
  #pragma unroll
  for (int i = 0; i < 64; ++i)
    values[i] = threadIdx.x * i;
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  for (now = begin; now < begin + 30000000ull;) {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    #pragma unroll
    for (int i = 0; i < 64; ++i)
      values[i] = values[i] * 1.0001f + 1.0f;
    __nanosleep(200);
  }
  float sum = 0;
  #pragma unroll
  for (int i = 0; i < 64; ++i)
    sum += values[i];
  if (sum == 12345.0f)
    *never = sum;
}
""", "spin")
torch.backends.cuda.matmul.allow_tf32 = False
rows, columns = (torch.randn(1024, 2048, device="cuda") for _ in range(2))
weights = torch.randn(2048, 2048, device="cuda")
never = cupy.zeros(1, cupy.float32)
urgent, other = torch.cuda.Stream(priority=-1), torch.cuda.Stream()


def measure(busy, product):
    if busy:
        with cupy.cuda.Stream.from_external(urgent):
            SPIN((busy,), (640,), (never,))
        time.sleep(0.001)
    with torch.cuda.stream(other):
        for _ in range(3):
            product()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record(other)
        for _ in range(20):
            product()
        end.record(other)
        end.synchronize()
    urgent.synchronize()
    return begin.elapsed_time(end) / 20 * 1e3


for name, product in (("gradient of weights, 2048x2048x1024", lambda: rows.t() @ columns),
                      ("gradient of inputs, 1024x2048x2048", lambda: columns @ weights.t()),
                      ("forward, 1024x2048x2048", lambda: rows @ weights)):
    times = {busy: min(measure(busy, product) for _ in range(3)) for busy in (0, 1, 2, 4, 6, 8, 12, 16, 24, 32)}
    print("%-36s %s" % (name, "  ".join("%d busy: %.0f" % each for each in times.items())))
