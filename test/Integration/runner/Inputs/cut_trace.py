# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cut_trace.py TRACE: a process that is killed during a write leaves a beginning of what it
# writes, and behind it what was there. Makes such files of a trace, and makes them whole.
import json
import sys

data = open(sys.argv[1], "rb").read()
end = data.rindex(b"\n],")
events = json.loads(data)["traceEvents"]
lines = [place for place in range(end) if data.startswith(b",\n", place)]
old = lines[len(lines) // 2]  # where the file ended before its last write
before = data[:old] + data[end:]
json.loads(before)
for cut in range(old + 1, len(data) - 1):
    killed = data[:cut] + before[cut:]
    try:
        json.loads(killed)
        continue
    except ValueError:
        pass
    whole = killed.rstrip(b"\n").rpartition(b"\n")[0].rstrip(b",") + b"]}"
    found = json.loads(whole)["traceEvents"]
    assert len(found) >= len(lines) // 2 and found == events[: len(found)], cut
