# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the time of calls goes: traces for Perfetto, and profiles. One at a time."""

import contextlib
import os
import tempfile
import typing

from . import _binding, timeline


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
        if not self.rows:
            return "no rows: nothing ran on a device"
        total = sum(row.total_ns for row in self.rows) or 1
        # The columns of gpu-runner --profile.
        lines = ["   share     calls    total ms     mean us      min us      max us          MB      GB/s  what"]
        for row in self.rows:
            moved = ("%10.3f  %8.2f" % (row.bytes / 1e6, row.bytes / row.total_ns) if row.bytes and row.total_ns
                     else "         -         -")
            what = row.name
            if row.kind == "graph" and row.launches:
                what += " of %.1f launches" % (row.launches / row.calls)
            if row.place:
                what += " at " + _shortened(row.place)
            lines.append("%6.1f %%  %8d  %10.3f  %10.3f  %10.3f  %10.3f  %s  %s" % (
                100 * row.total_ns / total, row.calls, row.total_ns / 1e6, row.total_ns / 1e3 / max(row.calls, 1),
                row.least_ns / 1e3, row.most_ns / 1e3, moved, what))
        return "\n".join(lines)


def _shortened(place):
    """A place without its folder, but for one below the current folder: JAX and PyTorch name whole paths."""
    try:
        below = os.path.relpath(place)
    except (OSError, ValueError):  # the current folder is gone, or on another drive
        below = os.pardir
    return os.path.basename(place) if below.startswith(os.pardir) else below


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
    """Writes a trace of what runs meanwhile to `file` (docs/how-to/Traces.md).

    Where the name ends in .svg the file is a picture of the last call.
    """
    ending = os.path.splitext(os.fsdecode(file))[1].lower()
    if ending in (".png", ".pdf", ".jpg", ".html"):
        raise ValueError("trace: %s: a picture is .svg, anything else a trace as JSON" % os.fsdecode(file))
    if ending != ".svg":
        with _traced(os.fsencode(file), _binding.trace_stop):
            yield
        return
    with open(file, "a"):
        pass  # a file that cannot be written is an error before anything runs
    with tempfile.TemporaryDirectory() as folder:
        events = os.path.join(folder, "trace.json")

        def end():
            _binding.trace_stop()
            picture = timeline.draw(timeline.read(events))
            with open(file, "w", encoding="utf-8") as target:
                target.write(picture)

        with _traced(os.fsencode(events), end):
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
