// RUN: gpu-opt %s -split-input-file -verify-diagnostics -gpu-async-infer-dependencies

func.func @parallel(%n: index, %x: memref<8xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{has device work without tokens in it, whose order cannot be found here: run gpu-async-structure-control-flow first}}
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    gpu_async.memset %x, %v : memref<8xf32>, f32
  }
  return
}

// -----

func.func @blocks(%c: i1, %x: memref<8xf32>, %v: f32) {
  // expected-error @below {{has device work without tokens in it}}
  scf.execute_region {
    cf.cond_br %c, ^a, ^b
  ^a:
    gpu_async.memset %x, %v : memref<8xf32>, f32
    cf.br ^b
  ^b:
    scf.yield
  }
  return
}
