# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Work that is pending on a GPU, and everything that may come between: other programs, other
# streams, arrays of others, calls that give up, vendor calls that fail.
# Gates of the fake driver hold kernels back; whatever should wait then comes to its time
# limit. Kernels do nothing there, so the programs copy.
# REQUIRES: numpy, mock-cuda
# RUN: env GPU_ASYNC_CUDA_LIBRARY=%mock_cuda GPUASYNC_MOCK_EMPTY_KERNELS=1 %python %s
import collections
import contextlib
import faulthandler
import gc
import itertools
import os
import subprocess
import sys
import threading
import unittest
import unittest.mock
import weakref

import gpu_async as ga
import numpy as np

from Inputs import mock_cuda as mock
from Inputs.producer import Producer

TENSORS = """
func.func @same(%x: tensor<2x3xf32>) -> tensor<2x3xf32> { return %x : tensor<2x3xf32> }
func.func @slow(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = arith.addf %x, %x : tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}
"""
PROGRAM = TENSORS + """
func.func @copy(%x: memref<2x3xf32>, %y: memref<2x3xf32>) {
  %t = gpu_async.wait async
  %u = gpu_async.memcpy async [%t] %y, %x : memref<2x3xf32>, memref<2x3xf32>
  gpu_async.wait [%u]
  return
}
func.func @id(%x: memref<2x3xf32>) -> memref<2x3xf32> { return %x : memref<2x3xf32> }
func.func @inside(%x: tensor<8xf32>) -> (tensor<8xf32>, f32) {
  %y = arith.addf %x, %x : tensor<8xf32>
  %c = arith.constant 3 : index
  %r = tensor.extract %y[%c] : tensor<8xf32>
  return %x, %r : tensor<8xf32>, f32
}
"""
exe = ga.compile(PROGRAM, device="cuda", place="device")
off = ga.compile(PROGRAM, device="cuda", place="off")
ordered = ga.compile(PROGRAM, device="cuda", place="off", stream="caller")
x = np.arange(6, dtype="float32").reshape(2, 3)
exe.slow(exe.same(x)).numpy()


def run_alone(code):
    """Runs it in a process of its own, where no other program is."""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300, cwd=os.path.dirname(os.path.abspath(__file__)))


class Foreign(Producer):
    """An array of somebody else's on the device."""

    def __init__(self, values=x):
        address = mock.allocate(values.nbytes)
        mock.write(address, values)
        super().__init__(device=(2, 0), data=address)

    def __dlpack__(self, **options):
        self.capsule = super().__dlpack__(**options)
        return self.capsule

    def is_held(self):
        gc.collect()
        return sys.getrefcount(self.capsule) > 2


class Order(unittest.TestCase):
    @contextlib.contextmanager
    def busy(self, program=exe):
        """The queue does not come further meanwhile, and waits give up soon."""
        with mock.closed("add_2x3"), mock.time_limit(0.1):
            program.slow(x)
            yield

    def gives_up(self, function, *args, **options):
        with self.assertRaises(ga.Error) as caught:
            function(*args, **options)
        self.assertEqual(caught.exception.code, 8, caught.exception)

    def tearDown(self):
        ga.wait_abandoned(60)
        self.assertEqual(mock.violations(), 0)

    def test_a_written_memref_is_read_behind_the_call(self):
        a, b = exe.same(x), exe.same(-x)
        b.block_until_ready()
        view = exe.id(b)
        with self.busy():
            exe.copy(a, b)
            self.gives_up(b.block_until_ready)
            self.gives_up(b.numpy)
            self.gives_up(b.__dlpack__)
            self.gives_up(view.__dlpack__)
        np.testing.assert_array_equal(b.numpy(), x)

    def test_programs_before_and_after_share_the_queue_of_an_array(self):
        code = """if True:
            import gc
            from Inputs import mock_cuda as mock
            import gpu_async as ga, numpy as np
            compile = lambda: ga.compile(%r, device="cuda", place="device")
            x = np.arange(6, dtype="float32").reshape(2, 3)
            exe = compile()
            r = exe.same(x)
            del exe
            gc.collect()
            exe = compile()
            assert mock.live("context") == 1, mock.live("context")
            a = exe.same(x)
            exe.slow(a).numpy()
            with mock.closed("add_2x3"):
                exe.slow(a)
                q = exe.same(r)
                del r
                others = [exe.same(-x) for _ in range(4)]
            assert (q.numpy() == x).all(), q.numpy()
            """ % TENSORS
        run_alone(code)

    def test_the_last_array_gives_up_the_gil(self):
        code = """if True:
            import gc, threading
            from Inputs import mock_cuda as mock
            import gpu_async as ga, numpy as np
            exe = ga.compile(%r, device="cuda", place="device")
            x = np.ones((2, 3), "float32")
            r = exe.same(x)
            r.numpy()
            del exe
            gc.collect()
            gate = mock.closed("cuMemFreeHost")  # at the context's end
            gate.__enter__()

            def end():
                mock.lib.mock_gate_wait(b"cuMemFreeHost", 1)
                gate.__exit__(None, None, None)

            thread = threading.Thread(target=end)
            thread.start()
            del r
            thread.join()
            assert not mock.live("context")
            """ % TENSORS
        run_alone(code)

    def test_a_waiting_call_that_gives_up_keeps_what_it_was_given(self):
        given = Foreign(-x)
        a = exe.same(x)
        with self.busy():
            self.gives_up(exe.same, a, out=given)
            with self.assertRaises(TimeoutError):
                ga.wait_abandoned(0)
            self.assertTrue(given.is_held())
        ga.wait_abandoned(60)
        self.assertFalse(given.is_held())

    def test_a_view_of_anothers_array_is_waited_for(self):
        given = Foreign()
        view = exe.id(given)
        with self.busy():
            self.gives_up(exe.same, view)
        ga.wait_abandoned(60)
        np.testing.assert_array_equal(exe.same(view).numpy(), x)

    def test_a_view_of_an_array_is_not(self):
        a = exe.same(x)
        view = exe.id(a)
        with self.busy():
            r = exe.same(view)
            del view, a
            others = [exe.same(-x) for _ in range(4)]
        np.testing.assert_array_equal(r.numpy(), x)
        del others

    def test_another_program_waits_for_a_pending_array(self):
        out = exe.same(-x)
        out.block_until_ready()
        with self.busy():
            b = exe.same(x)
            self.gives_up(off.same, b, out=out)
            np.testing.assert_array_equal(out.numpy(), -x)
        off.same(b, out=out)
        np.testing.assert_array_equal(out.numpy(), x)

    def test_another_program_writes_behind_what_reads(self):
        a, b = exe.same(x), exe.same(-x)
        b.block_until_ready()
        with self.busy():
            r = exe.same(b)
            self.gives_up(off.same, a, out=b)
        np.testing.assert_array_equal(r.numpy(), -x)

    def test_a_callers_stream_is_behind_a_pending_array(self):
        stream = mock.make_stream()
        out = exe.same(-x)
        out.block_until_ready()
        with self.busy():
            b = exe.same(x)
            exe.same(b, out=out, stream=stream)
            del b
            others = [exe.same(-x) for _ in range(4)]
            self.gives_up(out.numpy)
            # This one's host waits for its stream.
            self.gives_up(ordered.same, exe.same(x), out=exe.same(-x), stream=stream)
        ga.wait_abandoned(60)
        np.testing.assert_array_equal(out.numpy(), x)
        mock.synchronize(stream)
        del others

    def test_an_array_is_freed_behind_a_callers_stream(self):
        stream = mock.make_stream()
        for _ in range(2):  # the second time all memory is there
            out, b, other = exe.same(-x), exe.same(x), exe.same(x)
            b.block_until_ready()
            with mock.closed("add_2x3"):
                exe.slow(b, out=other, stream=stream)
                exe.same(b, out=out, stream=stream)
                del b
                others = [exe.same(x + 100) for _ in range(4)]
            mock.synchronize(stream)
            np.testing.assert_array_equal(out.numpy(), x)
            for each in others:
                np.testing.assert_array_equal(each.numpy(), x + 100)

    def test_a_stream_that_is_captured_leaves_the_waiting_to_the_host(self):
        stream = mock.make_stream()
        out, b = exe.same(-x), exe.same(x)
        exe.same(b, out=out, stream=stream)
        mock.synchronize(stream)
        b.block_until_ready()
        with self.busy():
            pending = exe.same(x)
            with mock.captured(stream):
                self.gives_up(exe.same, pending, out=out, stream=stream)
        pending.block_until_ready()
        out.block_until_ready()
        with mock.captured(stream):
            exe.same(b, out=out, stream=stream)
            after = exe.same(b)  # the queue is not part of the graph
        np.testing.assert_array_equal(after.numpy(), x)

    def test_an_argument_that_is_read_later_is_not_given_back_after_an_error(self):
        large = ga.compile("""
            func.func @two(%x: tensor<5242880xf32>, %y: tensor<5242880xf32>) -> tensor<4xf32> {
              %r = tensor.extract_slice %x[0][4][1] : tensor<5242880xf32> to tensor<4xf32>
              return %r : tensor<4xf32>
            }""", device="cuda", place="device")
        count = 5242880
        given = np.ctypeslib.as_array((mock.ctypes.c_float * count).from_address(mock.allocate(4 * count, pinned=True)))
        other = np.zeros(count, "float32")
        for failing in 0, 2:
            with self.busy():
                mock.fail("cuMemcpyAsync", failing, 1)
                with self.assertRaisesRegex(ga.Error, "still uses the memory of the call"):
                    large.two(given, other)
                mock.fail(None, 0)
                with self.assertRaises(TimeoutError):
                    ga.wait_abandoned(0)
            ga.wait_abandoned(60)

    def test_an_array_that_nobody_waited_long_enough_for(self):
        with self.busy():
            s = exe.slow(x)
            self.gives_up(s.numpy)
            self.gives_up(s.block_until_ready)
            del s
            ga.wait_abandoned(0)
            r = exe.same(x)
        np.testing.assert_array_equal(r.numpy(), x)

    def test_arrays_that_are_dropped_after_a_call_gave_up_are_freed(self):
        y = np.arange(8, dtype="float32")
        for _ in range(2):
            exe.inside(y)
        gc.collect()
        exe.same(x).numpy()
        mock.streams_wait()
        exe.same(x).numpy()
        before = mock.live("memory")
        for _ in range(3):
            kept = [exe.same(x) for _ in range(20)]
            given = exe.inside(y)[0]
            kept[-1].numpy()
            with mock.closed("add_8"), mock.time_limit(0.1):
                self.gives_up(exe.inside, given)
                with mock.time_limit(0):  # then a wait would be for ever
                    del kept, given
            ga.wait_abandoned(60)
            exe.same(x).numpy()
        mock.streams_wait()
        exe.same(x).numpy()
        self.assertLessEqual(mock.live("memory"), before)

    def test_no_failure_of_the_vendors_leaks(self):
        two = ga.compile("""
            func.func @two(%x: tensor<2x3xf32>, %y: tensor<4xf32>) -> (tensor<2x3xf32>, tensor<4xf32>) {
              return %x, %y : tensor<2x3xf32>, tensor<4xf32>
            }""", device="cuda", place="device")
        y = np.arange(4, dtype="float32")

        def calls():
            r, s = two.two(x, y)
            r, s = two.two(r, s)
            np.testing.assert_array_equal(r.numpy(), x)
            np.testing.assert_array_equal(s.numpy(), y)

        def settle():
            gc.collect()
            mock.streams_wait()
            calls()
            gc.collect()
            mock.streams_wait()
            calls()
            return mock.live("memory"), mock.live("stream")

        def fail_each():
            before = [settle() for _ in range(3)][-1]
            for number in itertools.count(1):
                mock.fail(None, number)
                try:
                    calls()
                    raised = False
                except ga.Error:
                    raised = True
                name = mock.failed()
                mock.fail(None, 0)
                if name is None:  # the calls make fewer
                    self.assertFalse(raised)
                    self.assertGreater(number, 100)
                    return after
                (reported if raised else unreported)[name] += 1
                after = settle()
                self.assertLessEqual(after[0], before[0], "memory, failure %d (%s)" % (number, name))

        reported, unreported = collections.Counter(), collections.Counter()
        # A stream that each such time keeps one more; the pool itself may be larger once or twice.
        streams = [fail_each()[1] for _ in range(2)]
        while streams[-1] > streams[-2]:
            self.assertLess(len(streams), 8, streams)
            streams.append(fail_each()[1])
        # A call that fails before work is begun may be made up for. What begins it may not.
        for name in "cuGraphLaunch", "cuStreamWriteValue32":
            self.assertTrue(reported[name] and not unreported[name], (name, reported, unreported))
        self.assertGreater(len(reported), 6, reported)

    def test_want_of_memory_is_waited_out(self):
        code = """if True:
            import threading
            from Inputs import mock_cuda as mock
            mock.lib.mock_configure(b"memory", mock.ctypes.c_uint64(64 << 20))
            import gpu_async as ga, numpy as np
            exe = ga.compile(%r + '''
                func.func @large(%%x: tensor<1048576xf32>) -> tensor<1048576xf32> { return %%x : tensor<1048576xf32> }
                ''', device="cuda", place="device")
            x = np.arange(1048576, dtype="float32")
            small = np.ones((2, 3), "float32")
            r = exe.large(x)
            exe.slow(small).numpy()
            r.numpy()
            gate = mock.closed("add_2x3")
            gate.__enter__()
            exe.slow(small)
            over = False

            def end():
                while not mock.calls("cuMemPoolTrimTo") and not over:
                    pass
                gate.__exit__(None, None, None)

            thread = threading.Thread(target=end)
            thread.start()
            for _ in range(60):
                r = exe.large(r)
            over = True
            thread.join()
            assert (r.numpy() == x).all()
            """ % TENSORS
        run_alone(code)

    def test_reads_that_give_up_keep_no_host_memory(self):
        made = []
        empty = np.empty

        def noted(*args):
            array = empty(*args)
            made.append(weakref.ref(array))
            return array

        with self.busy():
            r = exe.same(x)
            with unittest.mock.patch("numpy.empty", noted):
                for _ in range(3):
                    self.gives_up(r.numpy)
            gc.collect()
            self.assertEqual([each() for each in made], [None] * 3)
        np.testing.assert_array_equal(r.numpy(), x)

    def test_one_query_that_fails_fails_one_wait(self):
        for call in "cuEventQuery", "cuCtxGetCurrent":
            for code in 2, 999:
                r = exe.same(x)
                mock.streams_wait()
                mock.fail(call, 1, code)
                with self.assertRaises(ga.Error):
                    r.block_until_ready()
                mock.fail(None, 0)
                np.testing.assert_array_equal(r.block_until_ready().numpy(), x)

    def test_a_profile_has_what_was_pending(self):
        mock.lib.mock_configure(b"timing", mock.ctypes.c_uint64(1))
        over = threading.Event()
        gate = contextlib.ExitStack()

        def open_once_awaited():
            asked = mock.calls("cuEventQuery")
            while not over.is_set() and mock.calls("cuEventQuery") < asked + 50:
                pass
            gate.close()

        with ga.profile() as profile:
            gate.enter_context(mock.closed("add_2x3"))
            exe.slow(x)
            thread = threading.Thread(target=open_once_awaited)
            thread.start()
        over.set()
        thread.join()
        mock.lib.mock_configure(b"timing", mock.ctypes.c_uint64(0))
        self.assertIn("add_2x3", [row.name for row in profile.rows])

    def test_calls_do_not_ask_for_all_that_are_ahead(self):
        exe.slow(x).numpy()
        with mock.closed("add_2x3"):
            exe.slow(x)
            kept = [exe.same(x) for _ in range(100)]
            asked = mock.calls("cuStreamQuery")
            kept += [exe.same(x) for _ in range(100)]
            self.assertLess(mock.calls("cuStreamQuery") - asked, 100 * 10)
        for each in kept:
            np.testing.assert_array_equal(each.numpy(), x)


class Texts(unittest.TestCase):
    def test_of_arrays_that_the_host_does_not_see(self):
        r = exe.same(x)
        with self.assertRaises(TypeError) as caught:
            r[0] = 1
        self.assertNotIn("shares", str(caught.exception))
        view = exe.id(r)
        self.assertEqual(str(view), repr(view))
        with self.assertRaisesRegex(ga.ArgumentError, "a call without a stream makes it"):
            exe.same(r, stream=mock.make_stream())


class HostAccesses(unittest.TestCase):
    def refused(self, text, op):
        # Memrefs of other programs are where the program says.
        ga.compile(text, device="cuda", place="off")
        with self.assertRaisesRegex(ga.CompileError, "'memref.%s' op reads or writes on the host an array" % op):
            ga.compile(text, device="cuda", place="device")

    def test_memrefs_are_the_devices(self):
        self.refused("func.func @f(%x: memref<2xf32>, %i: index) -> f32 {\n"
                     "  %r = memref.load %x[%i] : memref<2xf32>\n  return %r : f32\n}", "load")
        self.refused("func.func @f(%x: memref<2xf32>, %i: index, %v: f32) {\n"
                     "  memref.store %v, %x[%i] : memref<2xf32>\n  return\n}", "store")
        self.refused("func.func @f(%x: memref<2xf32>, %y: memref<2xf32>) {\n"
                     "  memref.copy %x, %y : memref<2xf32> to memref<2xf32>\n  return\n}", "copy")

    def test_so_are_views_of_them(self):
        self.refused("""
            func.func private @g(%x: memref<?xf32>, %i: index) -> f32 {
              %r = memref.load %x[%i] : memref<?xf32>
              return %r : f32
            }
            func.func @f(%x: memref<2xf32>, %i: index) -> f32 {
              %c = memref.cast %x : memref<2xf32> to memref<?xf32>
              %r = func.call @g(%c, %i) : (memref<?xf32>, index) -> f32
              return %r : f32
            }""", "load")
        self.refused("""
            func.func @f(%x: memref<4xf32>, %y: memref<4xf32>, %b: i1, %i: index) -> f32 {
              %z = scf.if %b -> (memref<4xf32>) {
                scf.yield %x : memref<4xf32>
              } else {
                scf.yield %y : memref<4xf32>
              }
              %s = memref.subview %z[1] [2] [1] : memref<4xf32> to memref<2xf32, strided<[1], offset: 1>>
              %r = memref.load %s[%i] : memref<2xf32, strided<[1], offset: 1>>
              return %r : f32
            }""", "load")

    def test_sizes_and_the_hosts_own_memory_are_not(self):
        ga.compile("""
            func.func @f(%x: memref<?xf32>, %i: index) -> f32 {
              %zero = arith.constant 0 : index
              %n = memref.dim %x, %zero : memref<?xf32>
              %h = memref.alloc(%n) : memref<?xf32>
              %t = gpu_async.wait async
              %u = gpu_async.memcpy async [%t] %h, %x : memref<?xf32>, memref<?xf32>
              gpu_async.wait [%u]
              %r = memref.load %h[%i] : memref<?xf32>
              memref.dealloc %h : memref<?xf32>
              return %r : f32
            }""", device="cuda", place="device")


if __name__ == "__main__":
    faulthandler.dump_traceback_later(500, exit=True)
    unittest.main()
