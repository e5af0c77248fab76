// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Workgroup memory whose bytes do not fit into 64 bits: 2^64 of them are not
// none.
// RUN: gpu-opt %s -split-input-file -gpu-async-lower-kernels=targets=cpu -verify-diagnostics

!half = memref<9223372036854775807xi8, #gpu.address_space<workgroup>>
!two = memref<2xi8, #gpu.address_space<workgroup>>
gpu.module @attributions {
  // expected-error @below {{static workgroup memory adds up to more than 16777216 bytes, which no block of the cpu device has: let kernels use memory that they are given}}
  gpu.func @f() workgroup(%a: !half, %b: !half, %c: !two) kernel {
    gpu.return
  }
}

// -----

!half = memref<9223372036854775807xi8, #gpu.address_space<workgroup>>
gpu.module @variables {
  // expected-error @below {{static workgroup memory adds up to more than 16777216 bytes}}
  memref.global "private" @a : !half
  memref.global "private" @b : !half
  memref.global "private" @c : memref<2xi8, #gpu.address_space<workgroup>>
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

// 2^66 elements, whose stride is no 4.
!long = memref<2x8589934592x8589934592xi8, #gpu.address_space<workgroup>>
gpu.module @product {
  // expected-error @below {{attribution of type 'memref<2x8589934592x8589934592xi8, #gpu.address_space<workgroup>>' has no static size}}
  gpu.func @f() workgroup(%a: !long) kernel {
    gpu.return
  }
}
