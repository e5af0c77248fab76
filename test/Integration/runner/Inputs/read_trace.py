# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads a trace as JSON, checks what holds of every one, and compares it with
the line of --stats. Prints what is in it."""
import collections
import json
import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main(trace_path, stats_path=None):
    trace = read(trace_path)
    events = trace["traceEvents"]
    assert trace["otherData"]["dropped_events"] == 0, trace["otherData"]
    assert trace["otherData"]["unfinished"] == 0, trace["otherData"]
    kinds = collections.Counter()
    slices = collections.defaultdict(list)
    names = {}
    for event in events:
        kinds[event["ph"]] += 1
        track = event["pid"], event.get("tid")
        if event["ph"] == "X":
            assert event["dur"] >= 0, event
            slices[track].append(event)
        elif event["ph"] == "M":
            names[event["name"], *track] = event["args"]
        else:
            assert event["ph"] in "sf", event
    devices = {pid for pid, tid in slices if pid != 1}
    for pid, tid in slices:
        assert ("process_name", pid, None) in names, pid
        assert ("thread_name", pid, tid) in names, (pid, tid)

    # A stream does one thing after the other, a thread one within the other.
    for (pid, tid), track in slices.items():
        track.sort(key=lambda event: (event["ts"], -event["dur"]))
        open_ends = []
        for event in track:
            end = event["ts"] + event["dur"]
            while open_ends and open_ends[-1] <= event["ts"] + 1e-6:
                open_ends.pop()
            assert not open_ends or pid == 1, event
            assert not open_ends or end <= open_ends[-1] + 1e-6, event
            open_ends.append(end)

    # Arrows: from one slice forward in time to the beginning of another.
    def holds(event, end):
        return event["ts"] - 1e-6 <= end["ts"] <= event["ts"] + event["dur"] + 1e-6

    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    assert starts.keys() == ends.keys()
    for number, start in starts.items():
        end = ends[number]
        assert start["ts"] <= end["ts"], (start, end)
        assert (start["pid"], start["tid"]) != (end["pid"], end["tid"])
        for each in start, end:
            assert any(holds(s, each) for s in slices[each["pid"], each["tid"]])

    on_device = [e for track, all in slices.items() if track[0] in devices for e in all]
    waits = sum(e["cat"] == "wait" for track in slices.values() for e in track)
    launches = sum(e["args"].get("launches", 0) for e in on_device)
    if stats_path:
        stats = read(stats_path)
        assert launches == stats["launches"], (launches, stats["launches"])
        assert waits == stats["host_waits"], (waits, stats["host_waits"])
        graphs = sum(e["cat"] == "graph" for e in on_device)
        assert graphs == stats["graph_launches"], graphs
    print("arrows:", len(starts))
    print("streams:", len([t for t in slices if t[0] in devices]))
    per_kind = collections.Counter()
    for event in on_device:
        per_kind[event["cat"], event["name"]] += 1
    for (kind, name), count in sorted(per_kind.items()):
        print(f"{kind} {name}: {count}")
    regions = collections.Counter(
        e["args"]["played"] for t in slices.values() for e in t if e["cat"] == "region"
    )
    for played, count in sorted(regions.items()):
        print(f"regions as {played}: {count}")
    print("bytes:", sum(e["args"].get("bytes", 0) for e in on_device))


main(*sys.argv[1:])
