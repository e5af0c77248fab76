# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The fake CUDA driver of GPU_ASYNC_CUDA_LIBRARY, and the runtime's time limit."""
import contextlib
import ctypes
import os

import gpu_async  # loads the runtime

lib = ctypes.CDLL(os.environ["GPU_ASYNC_CUDA_LIBRARY"])
runtime = ctypes.CDLL("libgpuasync_runtime.so.0")
runtime.gpuasync_set_timeout.argtypes = [ctypes.c_double]
for name in "calls", "live", "violations":
    getattr(lib, "mock_" + name).restype = ctypes.c_uint64
lib.mock_failed.restype = ctypes.c_char_p


def encoded(name):
    return name.encode() if name else None


def calls(name=None):
    return lib.mock_calls(encoded(name))


def live(kind=None):
    return lib.mock_live(encoded(kind))


def fail(name, number, code=2):
    """Call number `number` from now on does nothing and returns `code`; 0: none."""
    lib.mock_fail(encoded(name), ctypes.c_uint64(number), code)


def failed():
    """The vendor's function that failed by `fail` since, or None."""
    name = lib.mock_failed()
    return name.decode() if name else None


def violations():
    return lib.mock_violations(None, None)


def streams_wait():
    lib.mock_streams_wait()


@contextlib.contextmanager
def closed(name):
    """Kernels and calls of this name do not begin meanwhile."""
    lib.mock_gate_close(encoded(name))
    try:
        yield
    finally:
        lib.mock_gate_open(encoded(name))


@contextlib.contextmanager
def time_limit(seconds):
    """Waits give up after so many seconds meanwhile."""
    runtime.gpuasync_set_timeout(seconds)
    try:
        yield
    finally:
        runtime.gpuasync_set_timeout(0)


def enter():
    """Makes the device's context current on this thread."""
    context = ctypes.c_void_p()
    lib.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    lib.cuCtxSetCurrent(context)


def make_stream():
    enter()
    stream = ctypes.c_void_p()
    assert lib.cuStreamCreate(ctypes.byref(stream), 1) == 0
    return stream.value


def synchronize(stream):
    assert lib.cuStreamSynchronize(ctypes.c_void_p(stream)) == 0


@contextlib.contextmanager
def captured(stream):
    """The stream is captured into a graph meanwhile, which nobody runs."""
    assert lib.cuStreamBeginCapture_v2(ctypes.c_void_p(stream), 2) == 0
    try:
        yield
    finally:
        graph = ctypes.c_void_p()
        lib.cuStreamEndCapture(ctypes.c_void_p(stream), ctypes.byref(graph))
        lib.cuGraphDestroy(graph)


def allocate(count, pinned=False):
    """The address of `count` bytes on the device, or of pinned ones of the host."""
    enter()
    address = ctypes.c_void_p()
    size = ctypes.c_size_t(count)
    assert (lib.cuMemHostAlloc(ctypes.byref(address), size, 0) if pinned else lib.cuMemAlloc_v2(ctypes.byref(address), size)) == 0
    return address.value


def write(address, array):
    stream = make_stream()
    size = ctypes.c_size_t(array.nbytes)
    assert lib.cuMemcpyAsync(ctypes.c_void_p(address), ctypes.c_void_p(array.ctypes.data), size, ctypes.c_void_p(stream)) == 0
    synchronize(stream)
