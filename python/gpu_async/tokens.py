# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls that run while Python goes on: Function.start returns a Token."""

import asyncio
import concurrent.futures
import os
import threading

from .errors import Error

_UNAVAILABLE = 3  # GPUASYNC_UNAVAILABLE
_SHUT_DOWN = 9  # GPUASYNC_SHUT_DOWN
_lock = threading.Lock()
_threads = None


def _forget_threads():
    """In a forked child: the threads are the parent's, and one of them may have had the lock."""
    global _lock, _threads
    _lock = threading.Lock()
    _threads = None


os.register_at_fork(after_in_child=_forget_threads)


class Token:
    """A call on its way. Its results come by wait(), or by `await`.

    In a child that is forked afterwards they do not come: wait() and `await` raise an Error there.
    """

    __slots__ = ("_future", "_process")

    def __init__(self, future):
        self._future = future
        self._process = os.getpid()

    def _here(self):
        """The future, in the process whose thread makes the call."""
        if os.getpid() == self._process:
            return self._future
        raise Error("the call was started before the process was forked, and runs in the parent only; "
                    "start the worker by spawn (multiprocessing.get_context(\"spawn\"))", _SHUT_DOWN)

    def done(self):
        """Whether the call has ended, with results or an exception."""
        return os.getpid() != self._process or self._future.done()

    def wait(self, timeout=None):
        """Waits, and returns the call's results or raises its exception.

        After `timeout` seconds a TimeoutError; the call goes on.
        """
        try:
            return self._here().result(timeout)
        except concurrent.futures.TimeoutError:
            if self._future.done():
                raise  # the call's own
            raise TimeoutError("the call has not ended after %g s, and goes on" % timeout) from None

    def __await__(self):
        # A task that is cancelled leaves the call as it is.
        return asyncio.shield(asyncio.wrap_future(self._here())).__await__()

    def __repr__(self):
        return "<gpu_async.Token, %s>" % ("done" if self.done() else "running")


def _run(call, future):
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call.run()
    except BaseException as error:
        future.set_exception(error)
        call = future = None  # the exception has this frame, which would keep the exception
    else:
        future.set_result(result)


def start(call):
    """Runs a bound call on a thread of the package."""
    global _threads
    with _lock:
        if _threads is None:
            _threads = concurrent.futures.ThreadPoolExecutor(max_workers=64, thread_name_prefix="gpu_async")
        threads = _threads
    future = concurrent.futures.Future()
    try:
        threads.submit(_run, call, future)
    except RuntimeError as error:
        # The executor keeps what it could make no thread for, and another thread would run it later.
        if future.cancel():
            raise Error("no thread could be made for the call (%s); wait for calls that are under way" % error, _UNAVAILABLE) from None
    return Token(future)
