// RUN: gpu-opt %s -convert-gpu-to-gpu-async -mlir-print-debuginfo | FileCheck %s --check-prefix=LOC
// RUN: gpu-opt %s -convert-gpu-to-gpu-async -gpu-async-make-forks-explicit -mlir-print-debuginfo | FileCheck %s --check-prefix=LOC
//
// Every op keeps the location of the op it comes from; a wait has that of the op
// that makes the host wait (D17).

// LOC: gpu_async.alloc {{.*}} loc([[ALLOC:.*]])
// LOC: gpu_async.memset {{.*}} loc([[SET:.*]])
// LOC: gpu_async.wait {{.*}} loc([[SET]])
// LOC: gpu_async.memcpy {{.*}} loc([[COPY:.*]])
// LOC: gpu_async.wait {{.*}} loc([[AWAIT:.*]])
// LOC: gpu_async.dealloc {{.*}} loc([[FREE:.*]])
// LOC-DAG: [[ALLOC]] = loc("alloc")
// LOC-DAG: [[SET]] = loc("set")
// LOC-DAG: [[COPY]] = loc("copy")
// LOC-DAG: [[AWAIT]] = loc("await")
// LOC-DAG: [[FREE]] = loc("free")
func.func @f(%h: memref<8xf32>, %v: f32) {
  %m = gpu.alloc () : memref<8xf32> loc("alloc")
  gpu.memset %m, %v : memref<8xf32>, f32 loc("set")
  %e = async.execute {
    gpu.memcpy %h, %m : memref<8xf32>, memref<8xf32> loc("copy")
    async.yield loc("yield")
  } loc("execute")
  async.await %e : !async.token loc("await")
  gpu.dealloc %m : memref<8xf32> loc("free")
  return loc("return")
}
