# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Functions on several ranks, as gpu_async.jit(f, mesh=mesh) calls them.
# REQUIRES: numpy
# RUN: %python %s
import os
import subprocess
import sys
import threading
import unittest

import gpu_async as ga
import numpy as np

exe = ga.compile("""
gpu_async.group @rows grid [2, 2] axes [1]
func.func @sum(%x: tensor<3xf32>, %bad: index) -> (tensor<3xf32>, index) {
  %rank = gpu_async.rank
  %ok = arith.cmpi ne, %rank, %bad : index
  cf.assert %ok, "no data"
  %e = tensor.empty() : tensor<3xf32>
  %r = gpu_async.tensor_collective all_reduce<sum> ins(%x : tensor<3xf32>) outs(%e : tensor<3xf32>)
  return %r, %rank : tensor<3xf32>, index
}
func.func @row(%x: tensor<3xf32>) -> tensor<3xf32> {
  %e = tensor.empty() : tensor<3xf32>
  %r = gpu_async.tensor_collective all_reduce<sum> group(@rows) ins(%x : tensor<3xf32>) outs(%e : tensor<3xf32>)
  return %r : tensor<3xf32>
}
func.func @nothing() {
  return
}
""", device="cpu", name="ranks.mlir")


def parts(count):
    return [np.arange(3, dtype="f") + 10 * rank for rank in range(count)]


class Ranks(unittest.TestCase):
    def test_results(self):
        for count in (1, 2, 5, 2):
            given = parts(count)
            made = exe.sum._call_on_ranks(tuple((x, -1) for x in given))
            self.assertEqual([rank for _, rank in made], list(range(count)))
            for result, _ in made:
                np.testing.assert_array_equal(np.asarray(result), sum(given))

    def test_groups(self):
        given = parts(4)
        made = exe.row._call_on_ranks(tuple((x,) for x in given))
        for rank, result in enumerate(made):
            np.testing.assert_array_equal(np.asarray(result), given[rank & 2] + given[rank | 1])
        with self.assertRaisesRegex(ga.Error, r"rank 0: .*group @rows is of 4 ranks, and the program runs on 2.*; rank 1: "):
            exe.row._call_on_ranks(tuple((x,) for x in parts(2)))

    def test_no_results(self):
        self.assertEqual(exe.nothing._call_on_ranks(((), (), ())), (None, None, None))

    def test_a_rank_fails(self):
        for _ in range(3):
            with self.assertRaisesRegex(ga.Error, r"rank 0: .*rank 2 failed.*; rank 2: ranks.mlir:6:3: assertion failed: no data"):
                exe.sum._call_on_ranks(tuple((x, 2) for x in parts(4)))
        exe.sum._call_on_ranks(tuple((x, -1) for x in parts(4)))

    def test_wrong_arguments(self):
        with self.assertRaisesRegex(ga.ArgumentError, "@sum takes 2 arguments, given 1"):
            exe.sum._call_on_ranks(((np.zeros(3, "f"), 0), (np.zeros(3, "f"),)))
        with self.assertRaisesRegex(ga.Error, "rank 1: @sum: argument 0 of tensor<3xf32>"):
            exe.sum._call_on_ranks(((np.zeros(3, "f"), -1), (np.zeros(4, "f"), -1)))
        for wrong in ((), [()], (1,)):
            with self.assertRaisesRegex(TypeError, "ranks are a tuple of tuples"):
                exe.sum._call_on_ranks(wrong)
        with self.assertRaisesRegex(ga.Error, "on 1025 ranks; there are 1 to 1024"):
            exe.nothing._call_on_ranks(((),) * 1025)

    def test_several_calls_at_once(self):
        failures = []

        def call(number):
            try:
                for _ in range(20):
                    given = [x + number for x in parts(3)]
                    for result, _ in exe.sum._call_on_ranks(tuple((x, -1) for x in given)):
                        np.testing.assert_array_equal(np.asarray(result), sum(given))
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_ranks_are_kept_within_bounds(self):
        for count in list(range(1, 41)) + [3, 40]:
            made = exe.sum._call_on_ranks(tuple((x, -1) for x in parts(count)))
            self.assertEqual(len(made), count)
        # 64 ranks at most, and each has a thread or two.
        self.assertLess(len(os.listdir("/proc/self/task")), 200)

    def test_time_limit(self):
        # The kernel of rank 1 waits for a number that nobody writes, and the others for rank 1.
        program = """
import gpu_async as ga, numpy as np
exe = ga.compile('''
func.func @main(%x: tensor<1xi32>, %gate: memref<1xi32>) -> tensor<1xi32> {
  %rank = gpu_async.rank
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<1xi32>) outs(%x : tensor<1xi32>) {
  ^bb0(%a: i32, %b: i32):
    %last = scf.while (%v = %a) : (i32) -> i32 {
      %zero = arith.constant 0 : i32
      %now = memref.atomic_rmw addi %zero, %gate[%c0] : (i32, memref<1xi32>) -> i32
      %again = arith.cmpi eq, %now, %a : i32
      scf.condition(%again) %now : i32
    } do {
    ^bb0(%v: i32):
      scf.yield %v : i32
    }
    linalg.yield %last : i32
  } -> tensor<1xi32>
  %e = tensor.empty() : tensor<1xi32>
  %r = gpu_async.tensor_collective all_reduce<sum> ins(%y : tensor<1xi32>) outs(%e : tensor<1xi32>)
  return %r : tensor<1xi32>
}''', device="cpu")
gate = np.zeros(1, "i")
try:
    exe.main._call_on_ranks(tuple((np.array([1 - rank], "i"), gate) for rank in range(2)))
except ga.Error as error:
    print("said:", error)
gate[0] = 5
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "GPU_ASYNC_TIMEOUT": "1"})
        self.assertRegex(done.stdout, "said: rank 0: ", done.stderr)

    def test_a_rank_loops_on_the_host(self):
        program = r"""
import sys, time
import gpu_async as ga, numpy as np
LOOP = '''
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %rank = gpu_async.rank
  %r32 = arith.index_cast %rank : index to i32
  %isBad = arith.cmpi eq, %r32, %bad : i32
  scf.while : () -> () {
    %v = memref.load %gate[%c0] : memref<2xi32>
    %isClosed = arith.cmpi eq, %v, %zero : i32
    %more = arith.andi %isClosed, %isBad : i1
    scf.condition(%more)
  } do {
    memref.store %r32, %gate[%c1] : memref<2xi32>
    scf.yield
  }
'''
exe = ga.compile('func.func @main(%gate: memref<2xi32>, %bad: i32, %x: tensor<3xf32>) -> tensor<3xf32> {' + LOOP + '''
  %e = tensor.empty() : tensor<3xf32>
  %r = gpu_async.tensor_collective all_reduce<sum> ins(%x : tensor<3xf32>) outs(%e : tensor<3xf32>)
  return %r : tensor<3xf32>
}
func.func @alone(%gate: memref<2xi32>, %bad: i32) {''' + LOOP + '''
  return
}''', device="cpu", name="hang.mlir")
gate, x = np.zeros(2, "i"), np.ones(3, "f")
for call in (lambda: exe.main._call_on_ranks(((gate, 1, x),) * 3), lambda: exe.alone._call_on_ranks(((gate, 2),) * 3)):
    try:
        call()
    except ga.Error as error:
        print("said", error.code, error, flush=True)
    # Ranks that are still there have memory of their own.
    print([np.asarray(each).tolist() for each in exe.main._call_on_ranks(((gate, -1, x),) * 3)], flush=True)
if sys.argv[1] == "open":
    gate[0] = 1  # they go on, and end
    time.sleep(0.5)
    print([np.asarray(each).tolist() for each in exe.main._call_on_ranks(((gate, 1, x),) * 3)], flush=True)
"""
        for word, calls in (("open", 3), ("closed", 2)):
            done = subprocess.run([sys.executable, "-c", program, word], capture_output=True, text=True, timeout=120,
                                  env={**os.environ, "GPU_ASYNC_TIMEOUT": "0.5"})
            self.assertEqual(done.returncode, 0, done.stderr)
            # Whichever rank gives up first says for whom it waits.
            self.assertRegex(done.stdout, r"said 8 rank 0: .*timed out after 0.5 s; .* waits at all_reduce<sum> of 3 f32 at .* for rank 1, "
                             "which has come to no collective")
            self.assertIn("; rank 1: it is still in the program, on the host, and has come to no collective; rank 2: ", done.stdout)
            self.assertIn("said 8 rank 2: it is still in the program, on the host, and has come to no collective\n", done.stdout)
            self.assertEqual(done.stdout.count("[[3.0, 3.0, 3.0], [3.0, 3.0, 3.0], [3.0, 3.0, 3.0]]"), calls, done.stdout)


if __name__ == "__main__":
    unittest.main()
