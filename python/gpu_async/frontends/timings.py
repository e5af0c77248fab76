# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a front end takes before the compiler begins, in the compiler's table."""

import time

import gpu_async

from . import static


class Stages:
    """Stages that follow each other, in seconds of the CPU and of the clock."""

    def __init__(self):
        self._rows = []
        self._begin = self._now()

    @staticmethod
    def _now():
        return time.process_time(), time.perf_counter()

    def end(self, name):
        """Ends the stage that began with the last one's end."""
        now = self._now()
        self._rows.append((name, now[0] - self._begin[0], now[1] - self._begin[1]))
        self._begin = now

    def before(self, table):
        """Returns an Executable's table with these stages first, and shares of the whole."""
        heading, *lines, total = table.splitlines()
        width = heading.index("CPU s") - 3
        rows = [_read(line, width) for line in lines]
        name, cpu, wall = _read(total, width)
        cpu += sum(row[1] for row in self._rows)
        wall += sum(row[2] for row in self._rows)
        return "\n".join([heading] + [
            "%-*s%8.3f %8.3f %5.1f %%" % (width, row[0], row[1], row[2], 100 * row[1] / cpu if cpu else 0)
            for row in [*self._rows, *rows, (name, cpu, wall)]]) + "\n"


def _read(line, width):
    cpu, wall, *_ = line[width:].split()
    return line[:width].rstrip(), float(cpu), float(wall)


def find(tables, main, function):
    """The table of what was compiled, among those of the executables that were timed."""
    if main not in tables:
        raise gpu_async.ArgumentError("timing: %s was not timed; make it with gpu_async.jit(..., timing=\"stages\") or \"passes\""
                                      % static.name_of(function))
    return tables[main]
