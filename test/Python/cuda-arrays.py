# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Arrays that say they are on a GPU: their producer gets a stream of ours to order
# its work before, and what is on the wrong side is refused.
# The driver is a fake one, which runs no kernels.
# REQUIRES: numpy, mock-cuda
# RUN: env GPU_ASYNC_CUDA_LIBRARY=%mock_cuda GPUASYNC_MOCK_EMPTY_KERNELS=1 %python %s
import ctypes
import os
import unittest

import gpu_async as ga
import numpy as np

from Inputs.producer import Producer, exchanging

PROGRAM = """
func.func @same(%x: memref<2x3xf32>) -> memref<2x3xf32> { return %x : memref<2x3xf32> }
func.func @read(%x: tensor<2x3xf32>) { return }
func.func @part(%x: memref<2x3xf32>) -> memref<2x2xf32, strided<[3, 1], offset: 1>> {
  %r = memref.subview %x[0, 1] [2, 2] [1, 1] : memref<2x3xf32> to memref<2x2xf32, strided<[3, 1], offset: 1>>
  return %r : memref<2x2xf32, strided<[3, 1], offset: 1>>
}
func.func @one(%x: memref<2x3xf32>) -> memref<1x1xf32, strided<[3, 1]>> {
  %r = memref.subview %x[0, 0] [1, 1] [1, 1] : memref<2x3xf32> to memref<1x1xf32, strided<[3, 1]>>
  return %r : memref<1x1xf32, strided<[3, 1]>>
}
func.func @own() -> memref<2xf32> {
  %r = memref.alloc() : memref<2xf32>
  return %r : memref<2xf32>
}
"""
device = ga.compile(PROGRAM, device="cuda", place="off")
host = ga.compile(PROGRAM, device="cuda")


driver = ctypes.CDLL(os.environ["GPU_ASYNC_CUDA_LIBRARY"])


def new_stream():
    """A stream of somebody else's."""
    context, stream = ctypes.c_void_p(), ctypes.c_void_p()
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert driver.cuCtxSetCurrent(context) == 0
    assert driver.cuStreamCreate(ctypes.byref(stream), 1) == 0
    assert driver.cuCtxSetCurrent(None) == 0
    return stream.value


class Device(Producer):
    def __init__(self, **options):
        options.setdefault("device", (2, 0))
        super().__init__(**options)


class Cuda(unittest.TestCase):
    def test_the_producer_gets_a_stream(self):
        arrays = [Device(), Device(), Device(versioned=False)]
        for array in arrays:
            device.read(array)
        streams = {asked[0] for array in arrays for asked in array.asked}
        self.assertEqual(len(streams), 1)
        stream, = streams
        self.assertIsInstance(stream, int)
        self.assertNotIn(stream, (0, 1, 2, -1))  # none of DLPack's own numbers
        for pinned in Device(device=(3, 0)), Device(device=(1, 0), given=(3, 0)):  # host memory, one way or the other
            host.read(pinned)
            self.assertEqual(pinned.asked, [("none given", (1, 1))])
        device.read(Device(given=(13, 0)))  # managed memory

    def test_views_of_arrays_on_the_device(self):
        array = Device()
        for view, offset, shape in ((device.same(array), 0, (2, 3)), (device.part(array), 4, (2, 2))):
            self.assertEqual((view.__dlpack_device__(), view.shape), ((2, 0), shape))
            view.__dlpack__(stream=1)  # nothing is on its way
            for use in (memoryview, np.asarray, lambda view: view.numpy()):
                with self.assertRaisesRegex(BufferError, "take it by DLPack"):
                    use(view)
            with self.assertRaisesRegex(ValueError, "is for an array of one element"):
                view.item()
            text = "<gpu_async.Array f32 %r, a view of memory on the device>" % (shape,)
            self.assertEqual((str(view), repr(view), f"{view}"), (text, text, text))
        one = device.one(array)
        with self.assertRaisesRegex(ValueError, r"^float\(\): the array is a view of memory on the device, which is not copied to the host"):
            float(one)
        again = device.same(device.same(array))
        self.assertEqual(again.__dlpack_device__(), (2, 0))
        with self.assertRaisesRegex(ga.ArgumentError, "another device, cuda:0, than the program, which runs on cpu"):
            ga.compile(PROGRAM, device="cpu").same(again)
        # On the host it stays on the host.
        x = np.ones((2, 3), "f")
        self.assertEqual(host.same(x).numpy().ctypes.data, x.ctypes.data)
        with self.assertRaisesRegex(ga.Error, "in memory that no argument has"):
            host.own()

    def test_arguments_that_stay(self):
        exe = ga.compile("""
            func.func @read(%w: memref<64xf32>, %to: memref<64xf32>) {
              %c = gpu_async.resident %w : memref<64xf32> to memref<64xf32>
              gpu_async.memcpy %to, %c : memref<64xf32>, memref<64xf32>
              return
            }""", device="cuda")
        w, to = np.zeros(64, "f"), np.zeros(64, "f")
        seen = 0
        exe.read(w, to)
        for i, (changed, is_new) in enumerate(
                ((w, True), (w[::-1], True), (w[63:], True), (memoryview(w), True), (to, False), (w[:0], False), (w, True)), 1):
            w[:] = i
            exe.read(w, to)
            self.assertEqual(to.tolist(), [seen] * 64)
            ga.memory_changed(changed)
            exe.read(w, to)
            seen = i if is_new else seen
            self.assertEqual(to.tolist(), [seen] * 64)
        # By DLPack, as a tensor of PyTorch's.
        data = w.ctypes.data
        for fields, is_new in (({}, True), ({"versioned": False}, True), ({"device": (3, 0)}, True), ({"data": data + 4, "byteOffset": 100}, True),
                               ({"strides": (-1, -1), "data": data + 12}, True), ({"shape": (0, 3)}, False), ({"data": to.ctypes.data}, False)):
            fields = {"data": data, **fields}
            for name in {"shape", "strides"} & fields.keys():
                fields[name] = (ctypes.c_int64 * 2)(*fields[name])
            w[:] += 1
            ga.memory_changed(Producer(**fields))
            exe.read(w, to)
            seen = w[0] if is_new else seen
            self.assertEqual(to.tolist(), [seen] * 64, fields)
        device = ga.compile(PROGRAM, device="cuda", place="off").same(Device())
        for wrong, message in ((3, "given a int, expected an array; pass the host array"), (None, "given a NoneType"), (device, "is on a device"),
                               (Device(), "is on a device"), (Producer(name=b"other"), "no capsule"), (Producer(major=2), "version 2"),
                               (Producer(device=3), "no tuple"), (Producer(shape=None), "no shape")):
            with self.subTest(message), self.assertRaisesRegex(ga.ArgumentError, "memory_changed: .*" + message):
                ga.memory_changed(wrong)

    def test_numbers_do_not_stay(self):
        exe = ga.compile("""
            func.func @scale(%w: tensor<f32> {gpu_async.resident}, %x: tensor<64xf32>) -> tensor<64xf32> {
              %e = tensor.empty() : tensor<64xf32>
              %r = linalg.generic {
                  indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
                  iterator_types = ["parallel"]} ins(%w, %x : tensor<f32>, tensor<64xf32>) outs(%e : tensor<64xf32>) {
              ^bb0(%a: f32, %b: f32, %c: f32):
                %p = arith.mulf %a, %b : f32
                linalg.yield %p : f32
              } -> tensor<64xf32>
              return %r : tensor<64xf32>
            }""", device="cuda")
        x, w = np.ones(64, "f"), np.array(2, "f")

        def uploads(number):
            with ga.profile() as profile:
                exe.scale(number, x)
            return sum(row.calls for row in profile.rows if row.bytes == 4)

        self.assertEqual([uploads(w) for _ in range(3)], [1, 0, 0])
        # Another number may be at the same address.
        self.assertEqual([uploads(float(n)) for n in range(20)], [1] * 20)
        # One of NumPy's is a number, too, and so is the mean of an array.
        self.assertEqual([uploads(np.float32(n)) for n in range(20)], [1] * 20)

    def test_freed_results_do_not_stay(self):
        # A later result may be at the same address.
        exe = ga.compile("""
            func.func @make(%x: tensor<64xf32>) -> tensor<64xf32> {
              %r = arith.addf %x, %x : tensor<64xf32>
              return %r : tensor<64xf32>
            }
            func.func @use(%w: tensor<64xf32> {gpu_async.resident}) -> tensor<64xf32> {
              %r = arith.mulf %w, %w : tensor<64xf32>
              return %r : tensor<64xf32>
            }""", device="cuda")
        x, uploads, places = np.ones(64, "f"), 0, set()
        rounds = 0
        while rounds < 20 or (len(places) == rounds and rounds < 1000):
            rounds += 1
            made = exe.make(x)
            places.add(np.asarray(made).ctypes.data)
            with ga.profile() as profile:
                exe.use(made)
            uploads += sum(row.calls for row in profile.rows if row.name == "upload")
            del made
        self.assertLess(len(places), rounds)
        self.assertEqual(uploads, rounds)

    def test_calls_on_a_stream(self):
        onStream = ga.compile(PROGRAM, device="cuda", place="off", stream="caller")
        stream = new_stream()

        class Stream:
            def __init__(self, **attributes):
                self.__dict__.update(attributes)

        class CudaStream:
            def __cuda_stream__(self):
                return (0, stream)

        for given, number in ((stream, stream), (0, 1), (Stream(cuda_stream=stream), stream), (CudaStream(), stream)):
            array = Device()
            self.assertIsNone(onStream.read(array, stream=given))
            self.assertEqual(array.asked, [(number, (1, 1))])
        # Whose work goes to that stream anyway is asked by calls of C.
        for given, current, quick in ((stream, stream, True), (0, None, True), (stream, None, False), (0, stream, False)):
            made = exchanging(current, base=Device)
            array = made()
            onStream.read(array, stream=given)
            self.assertEqual(made.log[:2], ["made", "asked"])
            self.assertEqual(array.asked, [] if quick else [(given or 1, (1, 1))])
            onStream.read(made())
            self.assertEqual(made.log.count("made"), made.log.count("given back"))
        array = Device()
        onStream.read(array)  # waits, so on a stream of ours
        self.assertNotIn(array.asked[0][0], (stream, 0, 1))

        # What a view has may be on its way: nobody gets it on another stream.
        view = onStream.same(Device(), stream=stream)
        view.__dlpack__(stream=stream)
        view.__dlpack__(stream=-1)
        for other in (None, 1, new_stream()):
            with self.assertRaisesRegex(BufferError, "still being written"):
                view.__dlpack__(stream=other)
        self.assertEqual(onStream.same(view, stream=stream).__dlpack_device__(), (2, 0))
        with self.assertRaisesRegex(ga.ArgumentError, "still being written on another stream"):
            onStream.same(view)

        for use, error, message in (
                (lambda: device.read(Device(), stream=stream), ga.Error, "takes no stream; compile it with stream=caller"),
                (lambda: onStream.read(Device(), stream="x"), ga.ArgumentError, "stream is a stream of"),
                (lambda: onStream.read(Device(), stream=1.5), ga.ArgumentError, "stream is a stream of"),
                (lambda: onStream.read(Device(), stream=Stream(cuda_stream="x")), ga.ArgumentError, "stream is a stream of"),
                (lambda: onStream.read.start(Device(), stream=stream), ga.ArgumentError, "start takes no stream"),
                (lambda: ga.compile(PROGRAM, device="cpu", stream="caller").read(np.ones((2, 3), "f"), stream=0), ga.ArgumentError,
                 "the cpu device has no streams")):
            with self.assertRaisesRegex(error, message):
                use()

    def test_wrong_places(self):
        for use, message in ((lambda: host.read(Device()), "compile with place=off"),
                             (lambda: device.read(np.ones((2, 3), "f")), "given in host memory, but place=off"),
                             (lambda: device.read(Device(device=(2, 7))), "given on device 7"),
                             (lambda: device.read(Device(given=(1, 0))), r"device \(1, 0\), but its .* says \(2, 0\)"),
                             (lambda: device.read(Device(given=(2, 7))), r"device \(2, 7\), but its .* says \(2, 0\)"),
                             (lambda: device.read(Device(given=(10, 0))), r"device \(10, 0\), but its .* says \(2, 0\)"),
                             (lambda: host.read(Device(device=(1, 0), given=(2, 0))), r"device \(2, 0\), but its .* says \(1, 0\)"),
                             (lambda: device.read(Device(device=(10, 0))), "runs? on, which is cuda:0; move it"),
                             (lambda: ga.compile(PROGRAM, device="cpu").read(Device()), "which is cpu; move it")):
            with self.assertRaisesRegex(ga.ArgumentError, message):
                use()


unittest.main()
