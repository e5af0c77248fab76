#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says in words what gpu-runner's --stats and --benchmark counted.

    python3 report.py stats.json benchmark.json picture.png
"""

import json
import os
import sys


def last_line_as_json(path):
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file.read().splitlines() if line.startswith("{")]
    return json.loads(lines[-1])


def main():
    stats, benchmark = last_line_as_json(sys.argv[1]), last_line_as_json(sys.argv[2])
    device = stats["device"]
    if isinstance(device, dict):
        device = "%s (%s)" % (device.get("name", "?"), device.get("driver", "?"))
    calls = benchmark["calls"]
    print("program:  photo.mlir: blur, edges and equalised light of a photograph, in one picture")
    print("device:   %s" % device)
    print("streams:  %d at once" % stats["streams"]["peak"])
    print(
        "work:     %d calls, %d kernel launches in all; %d streams, %d events, %d buffers alive at the end"
        % (
            calls,
            stats["launches"],
            stats["streams"]["live"],
            stats["events"]["live"],
            stats["buffers"]["live"],
        )
    )
    print(
        "time:     %.3f ms a call in the middle (fastest %.3f ms), upload and download included"
        % (benchmark["median_us"] / 1000, benchmark["min_us"] / 1000)
    )
    print("picture:  %s" % os.path.abspath(sys.argv[3]))


if __name__ == "__main__":
    main()
