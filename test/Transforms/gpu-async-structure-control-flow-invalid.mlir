// RUN: gpu-opt %s -split-input-file -gpu-async-structure-control-flow -verify-diagnostics

// expected-note @below {{in this 'func.func'}}
func.func @llvm_branch(%x: memref<8xf32>, %v: f32) {
  %t = gpu_async.memset async %x, %v : memref<8xf32>, f32
  // expected-error @below {{cannot be made structured control flow, which a function with device work needs: only cf.br, cf.cond_br and cf.switch can}}
  llvm.br ^exit
^exit:
  gpu_async.wait [%t]
  return
}

// -----

// expected-note @below {{in this 'func.func'}}
func.func @wide_switch(%x: memref<8xf32>, %v: f32, %i: i128) {
  %t = gpu_async.memset async %x, %v : memref<8xf32>, f32
  // expected-error @below {{its flag has more than 64 bits}}
  cf.switch %i : i128, [
    default: ^exit,
    1: ^exit
  ]
^exit:
  gpu_async.wait [%t]
  return
}

// -----

func.func @tensors(%x: memref<8xf32>, %v: f32, %out: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{has results and device work: bufferize it first}}
  %r = scf.forall (%i) in (8) shared_outs(%o = %out) -> (tensor<8xf32>) {
    %t = gpu_async.memset async %x, %v : memref<8xf32>, f32
    gpu_async.wait [%t]
    scf.forall.in_parallel {
    }
  }
  return %r : tensor<8xf32>
}
