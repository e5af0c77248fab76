// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The programs of programs/*.mlir in OpenCL C: the same blocks, the same
// workgroup memory, the same barriers. PoCL 3.1 has no subgroups, so
// reduce_shuffle exchanges through local memory.

kernel void saxpy(float a, global const float *x, global float *y, long n) {
  long i = get_global_id(0);
  if (i < n)
    y[i] = a * x[i] + y[i];
}

kernel void stencil(global const float *in, global float *out, long rows,
                    long columns) {
  long x = get_global_id(0), y = get_global_id(1);
  if (x >= 1 && x < columns - 1 && y >= 1 && y < rows - 1) {
    long i = y * columns + x;
    out[i] = 0.5f * in[i] + 0.125f * ((in[i - 1] + in[i + 1]) +
                                      (in[i - columns] + in[i + columns]));
  }
}

kernel void histogram(global const int *values, global int *bins, long n) {
  long i = get_global_id(0);
  if (i < n)
    atomic_add(&bins[values[i]], 1);
}

kernel void histogram_shared(global const int *values, global int *bins,
                             long n) {
  local int own[256];
  long t = get_local_id(0);
  own[t] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (long i = get_global_id(0); i < n; i += get_global_size(0))
    atomic_add(&own[values[i]], 1);
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&bins[t], own[t]);
}

kernel void matmul(global const float *a, global const float *b,
                   global float *c, long n, long k) {
  local float as[16][16], bs[16][16];
  long tx = get_local_id(0), ty = get_local_id(1);
  long x = get_global_id(0), y = get_global_id(1);
  float sum = 0;
  for (long tile = 0; tile < k; tile += 16) {
    as[ty][tx] = a[y * k + tile + tx];
    bs[ty][tx] = b[(tile + ty) * n + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (long i = 0; i < 16; ++i)
      sum += as[ty][i] * bs[i][tx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[y * n + x] = sum;
}

kernel void reduce(global const float *x, global float *sums, long n) {
  local float s[256];
  long t = get_local_id(0), i = get_global_id(0);
  s[t] = i < n ? x[i] : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (long width = 128; width != 0; width /= 2) {
    if (t < width)
      s[t] += s[t + width];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (t == 0)
    sums[get_group_id(0)] = s[0];
}

static float exchanged(local float *s, long t, float value, long distance) {
  s[t] = value;
  barrier(CLK_LOCAL_MEM_FENCE);
  float other = s[t ^ distance];
  barrier(CLK_LOCAL_MEM_FENCE);
  return other;
}

kernel void reduce_shuffle(global const float *x, global float *sums, long n) {
  local float s[256], partial[8];
  long t = get_local_id(0), i = get_global_id(0);
  float v = i < n ? x[i] : 0;
  v += exchanged(s, t, v, 16);
  v += exchanged(s, t, v, 8);
  v += exchanged(s, t, v, 4);
  v += exchanged(s, t, v, 2);
  v += exchanged(s, t, v, 1);
  if (t % 32 == 0)
    partial[t / 32] = v;
  barrier(CLK_LOCAL_MEM_FENCE);
  float w = t < 8 ? partial[t] : 0;
  w += exchanged(s, t, w, 4);
  w += exchanged(s, t, w, 2);
  w += exchanged(s, t, w, 1);
  if (t == 0)
    sums[get_group_id(0)] = w;
}

kernel void transpose(global const float *in, global float *out, long rows,
                      long columns) {
  local float tile[32][33];
  long tx = get_local_id(0), ty = get_local_id(1);
  long x0 = get_group_id(0) * 32, y0 = get_group_id(1) * 32;
  for (long r = 0; r < 32; r += 8)
    tile[ty + r][tx] = in[(y0 + ty + r) * columns + x0 + tx];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (long r = 0; r < 32; r += 8)
    out[(x0 + ty + r) * rows + y0 + tx] = tile[tx][ty + r];
}

kernel void softmax(global const float *in, global float *out, long columns) {
  local float s[256];
  long t = get_local_id(0);
  in += get_group_id(0) * columns;
  out += get_group_id(0) * columns;
  float largest = -INFINITY;
  for (long i = t; i < columns; i += 256)
    largest = fmax(largest, in[i]);
  s[t] = largest;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (long width = 128; width != 0; width /= 2) {
    if (t < width)
      s[t] = fmax(s[t], s[t + width]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  float max = s[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0;
  for (long i = t; i < columns; i += 256) {
    float e = exp(in[i] - max);
    out[i] = e;
    sum += e;
  }
  s[t] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (long width = 128; width != 0; width /= 2) {
    if (t < width)
      s[t] += s[t + width];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  float scale = 1 / s[0];
  for (long i = t; i < columns; i += 256)
    out[i] *= scale;
}

kernel void empty(void) {}
