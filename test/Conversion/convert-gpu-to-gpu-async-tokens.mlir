module attributes {gpu.container_module} {
gpu.module @k {
  gpu.func @f(%x: memref<8xf32>) kernel {
    gpu.return
  }
}

// A use of a token inside means its tail at the region op; the tail that the
// branch makes is a result, which the uses behind it mean.
func.func @if_retied(%x: memref<8xf32>, %v: f32, %c: i1) {
  %t = gpu.wait async
  %0 = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
  scf.if %c {
    %1 = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
    %2 = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
  }
  %3 = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
  gpu.wait [%t]
  return
}

// Work without a token to hang on comes out as a token, too.
func.func @if_open(%x: memref<8xf32>, %y: memref<8xf32>, %v: f32, %c: i1) {
  scf.if %c {
    %1 = gpu.memset async %x, %v : memref<8xf32>, f32
    %2 = gpu.memset async %y, %v : memref<8xf32>, f32
  } else {
  }
  gpu.wait
  return
}

func.func @if_results(%x: memref<8xf32>, %v: f32, %c: i1) -> !gpu.async.token {
  %t = gpu.memset async %x, %v : memref<8xf32>, f32
  %r:2 = scf.if %c -> (f32, !gpu.async.token) {
    %1 = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
    %2 = gpu.memset async [%1] %x, %v : memref<8xf32>, f32
    scf.yield %v, %1 : f32, !gpu.async.token
  } else {
    scf.yield %v, %t : f32, !gpu.async.token
  }
  return %r#1 : !gpu.async.token
}

func.func @switch(%x: memref<8xf32>, %v: f32, %i: index) {
  %t = gpu.wait async
  scf.index_switch %i
  case 2 {
    %1 = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
    scf.yield
  }
  default {
  }
  gpu.wait [%t]
  return
}

func.func @execute_region(%x: memref<8xf32>, %v: f32) {
  %t = gpu.wait async
  %r = scf.execute_region -> !gpu.async.token {
    %1 = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
    %2 = gpu.memset async [%1] %x, %v : memref<8xf32>, f32
    scf.yield %2 : !gpu.async.token
  }
  gpu.wait [%r]
  return
}

// Iterations follow each other on the token, without a host wait.
func.func @for_retied(%x: memref<8xf32>, %v: f32, %l: index, %u: index, %s: index) {
  %t = gpu.wait async
  scf.for %i = %l to %u step %s {
    %1 = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
    %2 = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
  }
  gpu.wait [%t]
  return
}

// Iterations are independent; a join of what they leave comes out.
func.func @for_open(%x: memref<8xf32>, %y: memref<8xf32>, %v: f32, %l: index, %u: index, %s: index) {
  scf.for %i = %l to %u step %s {
    %1 = gpu.memset async %x, %v : memref<8xf32>, f32
    %2 = gpu.memset async %y, %v : memref<8xf32>, f32
  }
  gpu.wait
  return
}

func.func @for_carries(%x: memref<8xf32>, %v: f32, %l: index, %u: index, %s: index) {
  %m, %a = gpu.alloc async () : memref<8xf32>
  %r = scf.for %i = %l to %u step %s iter_args(%t = %a) -> !gpu.async.token {
    %1 = gpu.memset async [%t] %m, %v : memref<8xf32>, f32
    scf.yield %1 : !gpu.async.token
  }
  %d = gpu.dealloc async [%r] %m : memref<8xf32>
  gpu.wait [%d]
  return
}

// The allocation's token goes in where no other says that it is over.
func.func @for_allocation(%x: memref<8xf32>, %v: f32, %l: index, %u: index, %s: index) {
  %m, %a = gpu.alloc async () : memref<8xf32>
  scf.for %i = %l to %u step %s {
    %1 = gpu.memset async %m, %v : memref<8xf32>, f32
    %2 = gpu.memset async [%1] %m, %v : memref<8xf32>, f32
    gpu.wait [%2]
  }
  gpu.dealloc %m : memref<8xf32>
  return
}

// A captured token that is waited for in each iteration.
func.func @for_waits(%x: memref<8xf32>, %v: f32, %l: index, %u: index, %s: index) {
  %t = gpu.memset async %x, %v : memref<8xf32>, f32
  scf.for %i = %l to %u step %s {
    %1 = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
    gpu.wait [%1]
  }
  return
}

// The host reads what earlier iterations write: it waits for them.
func.func @for_host_reads(%x: memref<8xf32>, %v: f32, %l: index, %u: index, %s: index) -> f32 {
  %r = scf.for %i = %l to %u step %s iter_args(%sum = %v) -> f32 {
    %e = memref.load %x[%i] : memref<8xf32>
    %n = arith.addf %sum, %e : f32
    %1 = gpu.memset async %x, %n : memref<8xf32>, f32
    scf.yield %n : f32
  }
  return %r : f32
}

func.func @while(%x: memref<8xf32>, %y: memref<8xf32>, %v: f32, %l: index, %u: index, %s: index) {
  %t = gpu.wait async
  %a = gpu.memset async %y, %v : memref<8xf32>, f32
  %r:2 = scf.while (%i = %l, %p = %a) : (index, !gpu.async.token) -> (index, !gpu.async.token) {
    %m = arith.cmpi slt, %i, %u : index
    scf.condition(%m) %i, %p : index, !gpu.async.token
  } do {
  ^bb0(%j: index, %q: !gpu.async.token):
    %1 = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
    %2 = gpu.memset async %x, %v : memref<8xf32>, f32
    %n = gpu.memset async [%q] %y, %v : memref<8xf32>, f32
    %k = arith.addi %j, %s : index
    scf.yield %k, %n : index, !gpu.async.token
  }
  gpu.wait [%r#1, %t]
  gpu.wait
  return
}

func.func @nested(%x: memref<8xf32>, %v: f32, %l: index, %u: index, %s: index, %c: i1) {
  %t = gpu.wait async
  scf.for %i = %l to %u step %s {
    scf.if %c {
      %1 = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
    }
    %2 = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
  }
  gpu.wait [%t]
  return
}

func.func @select(%x: memref<8xf32>, %y: memref<8xf32>, %v: f32, %c: i1) -> !gpu.async.token {
  %a = gpu.memset async %x, %v : memref<8xf32>, f32
  %b = gpu.memset async %y, %v : memref<8xf32>, f32
  %1 = gpu.memset async [%a] %x, %v : memref<8xf32>, f32
  %s = arith.select %c, %a, %b : !gpu.async.token
  %2 = gpu.memset async [%s] %x, %v : memref<8xf32>, f32
  return %s : !gpu.async.token
}

func.func private @callee(%x: memref<8xf32>, %v: f32, %t: !gpu.async.token, %n: index) -> !gpu.async.token {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %last = arith.cmpi eq, %n, %zero : index
  %r = scf.if %last -> !gpu.async.token {
    scf.yield %t : !gpu.async.token
  } else {
    %less = arith.subi %n, %one : index
    %a = gpu.launch_func async [%t] @k::@f blocks in (%one, %one, %one) threads in (%one, %one, %one) args(%x : memref<8xf32>)
    %d = func.call @callee(%x, %v, %t, %less) : (memref<8xf32>, f32, !gpu.async.token, index) -> !gpu.async.token
    scf.yield %d : !gpu.async.token
  }
  return %r : !gpu.async.token
}

func.func @calls_in_loop(%x: memref<8xf32>, %v: f32, %l: index, %u: index, %s: index) {
  %t = gpu.wait async
  %m, %a = gpu.alloc async [%t] () : memref<8xf32>
  %r = scf.for %i = %l to %u step %s iter_args(%p = %a) -> !gpu.async.token {
    %n = func.call @callee(%m, %v, %p, %i) : (memref<8xf32>, f32, !gpu.async.token, index) -> !gpu.async.token
    scf.yield %n : !gpu.async.token
  }
  gpu.wait [%r]
  return
}

// No iteration leaves anything: nothing is carried.
func.func @for_closed(%x: memref<8xf32>, %v: f32, %l: index, %u: index, %s: index) {
  scf.for %i = %l to %u step %s {
    %1 = gpu.memset async %x, %v : memref<8xf32>, f32
    gpu.wait [%1]
    gpu.memset %x, %v : memref<8xf32>, f32
  }
  return
}

func.func @execute_in_loop(%x: memref<8xf32>, %y: memref<8xf32>, %v: f32, %l: index, %u: index, %s: index) {
  scf.for %i = %l to %u step %s {
    %a = async.execute {
      gpu.memset %x, %v : memref<8xf32>, f32
      async.yield
    }
    %b = async.execute {
      gpu.memset %y, %v : memref<8xf32>, f32
      async.yield
    }
    async.await %b : !async.token
  }
  return
}
}
