// RUN: gpu-opt %s -gpu-async-infer-dependencies=remarks=true -verify-diagnostics -o /dev/null

// expected-note @below {{the memory}}
func.func @f(%x: memref<8xf32>, %y: memref<8xf32> {llvm.noalias}, %v: f32, %i: index) -> f32 {
  // expected-note @below {{the memory}}
  %h = memref.alloc() : memref<8xf32>
  // expected-note @below {{the earlier work}}
  gpu_async.memset %x, %v : memref<8xf32>, f32
  // expected-remark @below {{starts after another op: read-after-write of argument 0}}
  // expected-note @below {{the earlier work}}
  gpu_async.memcpy %h, %x : memref<8xf32>, memref<8xf32>
  // expected-remark @below {{starts after another op: write-after-write of this buffer}}
  // expected-note @below {{the earlier work}}
  gpu_async.memcpy %h, %y : memref<8xf32>, memref<8xf32>
  // expected-remark @below {{starts after another op: write-after-write of argument 0}}
  // expected-remark @below {{starts after another op: write-after-read of argument 0}}
  gpu_async.memset %x, %v : memref<8xf32>, f32
  // expected-remark @below {{the host waits for device work: read-after-write of this buffer}}
  %r = memref.load %h[%i] : memref<8xf32>
  return %r : f32
}
