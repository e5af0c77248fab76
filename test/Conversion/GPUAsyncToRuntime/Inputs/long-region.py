# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a function with one long region.

usage: long-region.py chain|forks|crossing|bytes
"""
import sys


def launch(stream, kernel="f", parameters=0):
    arguments = ", ".join(["%x : i64"] * parameters)
    return (
        "gpu_async.launch on %%%s @k::@%s blocks in (%%c1, %%c1, %%c1) threads in (%%c1, %%c1, %%c1)" % (stream, kernel)
        + (" args(%s)" % arguments if arguments else "")
    )


def record(event, stream):
    return "%%%s = gpu_async.event.record on %%%s" % (event, stream)


def wait(stream, event):
    return ["gpu_async.stream.wait %%%s, %%%s" % (stream, event), "gpu_async.event.destroy %%%s" % event]


def body(kind):
    if kind == "chain":
        return [launch("s")] * 100
    if kind == "forks":
        lines = []
        for n in range(30):
            lines += [launch("s"), record("e%d" % n, "s"), *wait("t", "e%d" % n), launch("t")]
            lines += [record("f%d" % n, "t"), *wait("s", "f%d" % n), launch("s")]
        return lines
    if kind == "crossing":
        return [launch("s"), record("e", "s"), *[launch("s")] * 98, *wait("t", "e"), launch("t")]
    return [launch("s", "large", 256)] * 5 + [launch("s", "huge", 1100), launch("s")]


print(
    """gpu_async.binary @k kernels [
  #gpu_async.kernel<"f", params = []>, #gpu_async.kernel<"large", params = [%s]>,
  #gpu_async.kernel<"huge", params = [%s]>] images []
func.func @main(%%x: i64) {
  %%c1 = arith.constant 1 : index
  %%s = gpu_async.stream.create
  %%t = gpu_async.stream.create
  gpu_async.region {
    %s
  }
  gpu_async.stream.synchronize %%s, %%t
  gpu_async.stream.destroy %%t idle
  gpu_async.stream.destroy %%s idle
  return
}"""
    % (", ".join(["8"] * 256), ", ".join(["8"] * 1100), "\n    ".join(body(sys.argv[1])))
)
