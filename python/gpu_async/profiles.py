# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the time of calls goes: traces for Perfetto, and profiles. One at a time."""

import contextlib
import os
import typing

from . import _binding


class Row(typing.NamedTuple):
    """What one kernel, copy, fill, graph or library call took; times in nanoseconds on the device."""

    kind: str
    name: str
    place: str
    calls: int
    total_ns: int
    least_ns: int
    most_ns: int
    bytes: int
    launches: int


class Profile:
    """The rows of a profile, those that took longest first; printed, a table."""

    def __init__(self):
        self.rows = []

    def __str__(self):
        total = sum(row.total_ns for row in self.rows) or 1
        lines = ["%-40s %8s %12s %12s %8s %6s" % ("what", "calls", "total us", "mean us", "GB/s", "share")]
        for row in self.rows:
            name = row.name if not row.place else "%s %s" % (row.name, row.place)
            rate = "%.1f" % (row.bytes / row.total_ns) if row.bytes and row.total_ns else ""
            lines.append("%-40s %8d %12.1f %12.3f %8s %5.1f%%" % (
                name, row.calls, row.total_ns / 1e3, row.total_ns / 1e3 / max(row.calls, 1), rate, 100 * row.total_ns / total))
        return "\n".join(lines)


@contextlib.contextmanager
def _traced(file, end):
    """Traces what runs meanwhile, then calls `end`.

    A child that the body forks leaves the trace to its parent. An exception of the body comes before one of `end`.
    """
    process = os.getpid()
    _binding.trace_start(file)
    try:
        yield
    except BaseException as error:
        try:
            if os.getpid() == process:
                end()
        except Exception as failed:
            error.add_note("The end of the trace failed, too: %s" % failed)
        raise
    if os.getpid() == process:
        end()


@contextlib.contextmanager
def trace(file):
    """Writes a trace of what runs meanwhile to `file` (docs/Traces.md)."""
    with _traced(os.fsencode(file), _binding.trace_stop):
        yield


@contextlib.contextmanager
def profile():
    """Gives a Profile, whose rows are there at the end of the `with`."""
    made = Profile()

    def end():
        _binding.trace_stop()
        made.rows = [Row(*row) for row in _binding.profile_rows()]

    with _traced(None, end):
        yield made
