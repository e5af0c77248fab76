# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long products of matrices take beside NCCL's kernels of a few workgroups (CTAs), on one GPU.

    NCCL_MULTI_RANK_GPU_ENABLE=1 NCCL_NVLS_ENABLE=0 GPU_ASYNC_NCCL_LIBRARY=... beside-nccl.py

Needs PyTorch, one GPU, and NCCL 2.30 or later: two ranks share the GPU. Prints the least time of three runs of 20 products, in
us, without NCCL and beside all-reduces of 256 MB; then how fast these all-reduces are by themselves. Both ranks' CTAs are on the
GPU, so it has twice as many as a rank that has a GPU for itself.
"""

import ctypes
import os
import time

import torch

UNDEFINED = -(2**31)
FLOAT, SUM = 7, 0
Pointer = ctypes.c_void_p


class Id(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 128)]


class Config(ctypes.Structure):
    """ncclConfig_t of 2.18."""
    _fields_ = [("size", ctypes.c_size_t), ("magic", ctypes.c_uint), ("version", ctypes.c_uint)] + [
        (name, ctypes.c_int) for name in ("blocking", "cgaClusterSize", "minCTAs", "maxCTAs")] + [
        ("netName", ctypes.c_char_p), ("splitShare", ctypes.c_int)]


nccl = ctypes.CDLL(os.environ.get("GPU_ASYNC_NCCL_LIBRARY", "libnccl.so.2"))
nccl.ncclCommInitRankConfig.argtypes = [ctypes.POINTER(Pointer), ctypes.c_int, Id, ctypes.c_int, ctypes.POINTER(Config)]
nccl.ncclAllReduce.argtypes = [Pointer, Pointer, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, Pointer, Pointer]
nccl.ncclCommDestroy.argtypes = [Pointer]


def call(name, *arguments):
    if code := getattr(nccl, name)(*arguments):
        raise SystemExit("%s: error %d" % (name, code))


torch.backends.cuda.matmul.allow_tf32 = False
rows, columns = (torch.randn(1024, 2048, device="cuda") for _ in range(2))
weights = torch.randn(2048, 2048, device="cuda")
PRODUCTS = {"gradient of weights": lambda: rows.t() @ columns, "gradient of inputs": lambda: columns @ weights.t(),
            "forward": lambda: rows @ weights}
data = [torch.zeros(1 << 26, device="cuda") for _ in range(2)]
urgent, other = [torch.cuda.Stream(priority=-1) for _ in data], torch.cuda.Stream()


def make(ctas):
    id, comms = Id(), [Pointer() for _ in data]
    call("ncclGetUniqueId", ctypes.byref(id))
    call("ncclGroupStart")
    for rank, comm in enumerate(comms):
        config = Config(ctypes.sizeof(Config), 0xcafebeef, 21800, 1, UNDEFINED, UNDEFINED, ctas or UNDEFINED, None, UNDEFINED)
        call("ncclCommInitRankConfig", ctypes.byref(comm), len(data), id, rank, ctypes.byref(config))
    call("ncclGroupEnd")
    return comms


def reduce(comms, times):
    for _ in range(times):
        call("ncclGroupStart")
        for each, comm, stream in zip(data, comms, urgent):
            call("ncclAllReduce", each.data_ptr(), each.data_ptr(), each.numel(), FLOAT, SUM, comm, stream.cuda_stream)
        call("ncclGroupEnd")


def measure(stream, body, times):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record(stream)
    body(times)
    end.record(stream)
    end.synchronize()
    return begin.elapsed_time(end) / times * 1e3


def multiply(product, comms):
    def body(times):
        with torch.cuda.stream(other):
            for _ in range(times):
                product()

    best = float("inf")
    for _ in range(3):
        torch.cuda.synchronize()
        if comms:
            reduce(comms, 40)
            time.sleep(0.0005)
        best = min(best, measure(other, body, 20))
        if comms and urgent[0].query():
            return "over before"  # the collectives
    return "%.0f" % best


for ctas in (None, 1, 2, 3, 4, 8, 16, 0):
    comms = None if ctas is None else make(ctas)
    if comms:
        reduce(comms, 1)  # connects
    torch.cuda.synchronize()
    print("%-22s" % ("alone:" if comms is None else "%s CTAs a rank:" % (ctas or "default")),
          ", ".join("%s %s" % (name, multiply(product, comms)) for name, product in PRODUCTS.items()), end="")
    if comms:
        torch.cuda.synchronize()
        each = measure(urgent[0], lambda times: reduce(comms, times), 5)
        print("; all-reduce %.0f GB/s" % (data[0].nbytes / each / 1e3), end="")
        torch.cuda.synchronize()
        for comm in comms:
            call("ncclCommDestroy", comm)
    print(flush=True)
