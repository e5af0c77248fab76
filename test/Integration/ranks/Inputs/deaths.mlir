// Rounds of all_reduce. In the third, rank %bad calls a function that ends the process in
// the way `how`; -1: an assertion fails.
func.func private @meetDeath(index) attributes {llvm.emit_c_interface}

func.func @main(%bad: index, %how: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %rounds = arith.constant 6 : index
  %assertion = arith.constant -1 : index
  %one = arith.constant 1.0 : f32
  %rank = gpu_async.rank
  %isBad = arith.cmpi eq, %rank, %bad : index
  %d = gpu.alloc () : memref<4xf32>
  gpu.memset %d, %one : memref<4xf32>, f32
  scf.for %i = %c0 to %rounds step %c1 {
    %t = gpu_async.collective async all_reduce<max> %d, %d : memref<4xf32>, memref<4xf32>
    gpu_async.wait [%t]
    %isThird = arith.cmpi eq, %i, %c2 : index
    %dies = arith.andi %isBad, %isThird : i1
    scf.if %dies {
      func.call @meetDeath(%how) : (index) -> ()
      %fine = arith.cmpi ne, %how, %assertion : index
      cf.assert %fine, "no data"
    }
  }
  gpu.dealloc %d : memref<4xf32>
  return
}
