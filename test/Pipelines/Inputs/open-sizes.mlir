// Two branches and a join over arrays of open sizes.
func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>) -> (tensor<?xf32>, f32) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : tensor<?xf32>
  %x = math.exp %a : tensor<?xf32>
  %y = arith.mulf %b, %b : tensor<?xf32>
  %s = arith.addf %x, %y : tensor<?xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %r = linalg.reduce ins(%s : tensor<?xf32>) outs(%zero : tensor<f32>) dimensions = [0]
    (%in: f32, %out: f32) {
      %t = arith.addf %in, %out : f32
      linalg.yield %t : f32
    }
  %v = tensor.extract %r[] : tensor<f32>
  return %s, %v : tensor<?xf32>, f32
}
