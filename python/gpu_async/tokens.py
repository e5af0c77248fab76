# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls that run while Python goes on: Function.start returns a Token."""

import asyncio
import concurrent.futures
import threading

_lock = threading.Lock()
_threads = None


class Token:
    """A call on its way. Its results come by wait(), or by `await`."""

    __slots__ = ("_future",)

    def __init__(self, future):
        self._future = future

    def done(self):
        """Whether the call has ended, with results or an exception."""
        return self._future.done()

    def wait(self, timeout=None):
        """Waits, and returns the call's results or raises its exception.

        After `timeout` seconds a TimeoutError; the call goes on.
        """
        return self._future.result(timeout)

    def __await__(self):
        # A task that is cancelled leaves the call as it is.
        return asyncio.shield(asyncio.wrap_future(self._future)).__await__()

    def __repr__(self):
        return "<gpu_async.Token, %s>" % ("done" if self.done() else "running")


def start(call):
    """Runs a bound call on a thread of the package."""
    global _threads
    with _lock:
        if _threads is None:
            _threads = concurrent.futures.ThreadPoolExecutor(max_workers=64, thread_name_prefix="gpu_async")
    return Token(_threads.submit(call.run))
