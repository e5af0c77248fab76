module {
  func.func @main(%arg0: tensor<7x50xf32>) -> tensor<7x50xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty() : tensor<7x50xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<7x50xf32>) -> tensor<7x50xf32>
    %2 = tensor.empty() : tensor<7xf32>
    %3 = linalg.fill ins(%cst : f32) outs(%2 : tensor<7xf32>) -> tensor<7xf32>
    %4:2 = call @scan.0(%arg0, %3) : (tensor<7x50xf32>, tensor<7xf32>) -> (tensor<7x50xf32>, tensor<7xf32>)
    return %4#0 : tensor<7x50xf32>
  }
  func.func private @scan.0(%arg0: tensor<7x50xf32>, %arg1: tensor<7xf32>) -> (tensor<7x50xf32>, tensor<7xf32>) {
    %0 = tensor.empty() : tensor<7x1xf32>
    %1 = scf.forall (%arg2, %arg3) in (7, 1) shared_outs(%arg4 = %0) -> (tensor<7x1xf32>) {
      %c50 = arith.constant 50 : index
      %7 = arith.muli %arg3, %c50 : index
      %c50_0 = arith.constant 50 : index
      %8 = arith.addi %7, %c50_0 : index
      %c50_1 = arith.constant 50 : index
      %9 = arith.minsi %8, %c50_1 : index
      %extracted = tensor.extract %arg0[%arg2, %7] : tensor<7x50xf32>
      %c1 = arith.constant 1 : index
      %10 = arith.addi %7, %c1 : index
      %false = arith.constant false
      %c1_2 = arith.constant 1 : index
      %11:2 = scf.for %arg5 = %10 to %9 step %c1_2 iter_args(%arg6 = %extracted, %arg7 = %false) -> (f32, i1) {
        %extracted_3 = tensor.extract %arg0[%arg2, %arg5] : tensor<7x50xf32>
        %12 = arith.addf %arg6, %extracted_3 : f32
        %c0 = arith.constant 0 : index
        %13 = arith.cmpi eq, %arg5, %c0 : index
        %14 = arith.select %13, %extracted_3, %12 : f32
        scf.yield %14, %arg7 : f32, i1
      }
      %from_elements = tensor.from_elements %11#0 : tensor<1x1xf32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %from_elements into %arg4[%arg2, %arg3] [1, 1] [1, 1] : tensor<1x1xf32> into tensor<7x1xf32>
      }
    }
    %2 = tensor.empty() : tensor<7x1xf32>
    %3 = tensor.empty() : tensor<7xf32>
    %4:2 = scf.forall (%arg2) in (7) shared_outs(%arg3 = %2, %arg4 = %3) -> (tensor<7x1xf32>, tensor<7xf32>) {
      %extracted = tensor.extract %arg1[%arg2] : tensor<7xf32>
      %extracted_slice_0 = tensor.extract_slice %arg3[%arg2, 0] [1, 1] [1, 1] : tensor<7x1xf32> to tensor<1x1xf32>
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c1_1 = arith.constant 1 : index
      %7:2 = scf.for %arg5 = %c0 to %c1 step %c1_1 iter_args(%arg6 = %extracted, %arg7 = %extracted_slice_0) -> (f32, tensor<1x1xf32>) {
        %inserted = tensor.insert %arg6 into %arg7[%c0, %arg5] : tensor<1x1xf32>
        %extracted_2 = tensor.extract %1[%arg2, %arg5] : tensor<7x1xf32>
        %8 = arith.addf %arg6, %extracted_2 : f32
        %c0_3 = arith.constant 0 : index
        %9 = arith.cmpi eq, %arg5, %c0_3 : index
        %10 = arith.select %9, %extracted_2, %8 : f32
        scf.yield %10, %inserted : f32, tensor<1x1xf32>
      }
      %from_elements = tensor.from_elements %7#0 : tensor<1xf32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %7#1 into %arg3[%arg2, 0] [1, 1] [1, 1] : tensor<1x1xf32> into tensor<7x1xf32>
        tensor.parallel_insert_slice %from_elements into %arg4[%arg2] [1] [1] : tensor<1xf32> into tensor<7xf32>
      }
    }
    %5 = tensor.empty() : tensor<7x50xf32>
    %6 = scf.forall (%arg2, %arg3) in (7, 1) shared_outs(%arg4 = %5) -> (tensor<7x50xf32>) {
      %c50 = arith.constant 50 : index
      %7 = arith.muli %arg3, %c50 : index
      %c50_0 = arith.constant 50 : index
      %8 = arith.addi %7, %c50_0 : index
      %c50_1 = arith.constant 50 : index
      %9 = arith.minsi %8, %c50_1 : index
      %extracted_slice_2 = tensor.extract_slice %arg4[%arg2, %7] [1, 50] [1, 1] : tensor<7x50xf32> to tensor<1x50xf32>
      %extracted = tensor.extract %4#0[%arg2, %arg3] : tensor<7x1xf32>
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %10:2 = scf.for %arg5 = %7 to %9 step %c1 iter_args(%arg6 = %extracted, %arg7 = %extracted_slice_2) -> (f32, tensor<1x50xf32>) {
        %extracted_3 = tensor.extract %arg0[%arg2, %arg5] : tensor<7x50xf32>
        %11 = arith.addf %arg6, %extracted_3 : f32
        %c0_4 = arith.constant 0 : index
        %12 = arith.cmpi eq, %arg5, %c0_4 : index
        %13 = arith.select %12, %extracted_3, %11 : f32
        %14 = arith.subi %arg5, %7 : index
        %inserted = tensor.insert %13 into %arg7[%c0, %14] : tensor<1x50xf32>
        scf.yield %13, %inserted : f32, tensor<1x50xf32>
      }
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %10#1 into %arg4[%arg2, %7] [1, 50] [1, 1] : tensor<1x50xf32> into tensor<7x50xf32>
      }
    }
    %extracted_slice = tensor.extract_slice %6[0, 0] [7, 50] [1, 1] : tensor<7x50xf32> to tensor<7x50xf32>
    return %extracted_slice, %4#1 : tensor<7x50xf32>, tensor<7xf32>
  }
}
