"""Opens a library of ours, uses it on a thread that goes on, and unloads it (X11).

usage: unload.py <library> [the runtime, if that is another one]
"""
import ctypes
import sys
import threading

import _ctypes

library = ctypes.CDLL(sys.argv[1])
runtime = ctypes.CDLL(sys.argv[2]) if len(sys.argv) > 2 else library
runtime.gpuasync_context_open.restype = ctypes.c_void_p
context = ctypes.c_void_p()
used, unloaded = threading.Event(), threading.Event()


def work():
    if runtime.gpuasync_context_open(b"cpu", ctypes.byref(context)):
        sys.exit("no context")
    # The runtime keeps something for this thread, whose end comes later.
    if runtime.gpuasync_scope_push(context):
        sys.exit("no scope")
    used.set()
    unloaded.wait()


thread = threading.Thread(target=work)
thread.start()
used.wait()
handles = {library._handle, runtime._handle}
for handle in handles:
    _ctypes.dlclose(handle)
kept = [line for line in open("/proc/self/maps") if "libgpuasync_" in line]
unloaded.set()
thread.join()
print("the process goes on;", "the code stays" if kept else "the code is gone")
