func.func @main(%x: memref<4xf32>) {
  gpu_async.collective broadcast<-1> %x, %x : memref<4xf32>, memref<4xf32>
  return
}
