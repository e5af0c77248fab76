#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws one call of a function in a trace as an SVG picture.

A row shows the host's thread, and one each stream; time goes to the right. An arrow leads from work to work on another
stream that waits for it. Streams are counted as gpu-runner --print-schedule counts them. The trace is a file by
gpu-runner --trace=FILE, GPU_ASYNC_TRACE=FILE or gpu_async.trace(FILE). A call on several ranks is drawn with all of
them, or with one by --rank.
"""

# It is installed as gpu-async-timeline too, so it imports nothing of the package.
import argparse
import html
import json
import math
import re
import sys

WIDTH, LEFT, TOP, ROW, BAR, BOTTOM = 1080, 90, 64, 44, 26, 34
# Per category: the class of its colour, and what the legend says.
KINDS = {
    "function": ("function", "function of the program"),
    "driver": ("driver", "host puts work on a stream"),
    "region": ("driver", "region"),
    "trace": ("driver", "the trace's own work"),
    "library": ("driver", "library function"),
    "wait": ("wait", "host waits"),
    "kernel": ("kernel", "kernel"),
    "graph": ("kernel", "graph"),
    "call": ("kernel", "work of a library"),
    "collective": ("collective", "collective"),
    "copy": ("copy", "copy"),
    "fill": ("copy", "fill"),
}
STYLE = """
text { font: 11px sans-serif; fill: #24292f }
.title { font: bold 14px sans-serif }
.small { fill: #57606a; font-size: 10px }
.track { stroke: #d0d7de }
.function { fill: #eaeef2; stroke: #8c959f }
.wait { fill: #fff8c5; stroke: #bf8700 }
.driver { fill: #d0d7de; stroke: #8c959f }
.kernel { fill: #ddf4ff; stroke: #0969da }
.copy { fill: #dafbe1; stroke: #1a7f37 }
.collective { fill: #fbefff; stroke: #8250df }
.arrow { fill: none; stroke: #cf222e; stroke-width: 1.2 }
.head { fill: #cf222e }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .small { fill: #8d96a0 } .track { stroke: #30363d }
  .function { fill: #21262d } .wait { fill: #3d2e00 }
  .driver { fill: #30363d } .kernel { fill: #0c2d6b }
  .copy { fill: #0f3d1f } .collective { fill: #3c1e70 } .arrow { stroke: #ff7b72 } .head { fill: #ff7b72 }
}
"""


class TraceError(ValueError):
    """A file that is no trace, or has not what is to be drawn."""


def _is_time(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e18


# The members that are read of an event of each phase, and what each must be.
_WORD, _NUMBER, _ANY = (lambda value: isinstance(value, str)), (lambda value: type(value) is int), (lambda value: value is not None)
_MEMBERS = {
    "X": {"name": _WORD, "cat": _WORD, "ts": _is_time, "dur": _is_time, "pid": _NUMBER, "tid": _NUMBER},
    "M": {"name": _WORD, "pid": _NUMBER},
    "s": {"id": _ANY, "ts": _is_time, "pid": _NUMBER, "tid": _NUMBER},
    "f": {"id": _ANY, "ts": _is_time, "pid": _NUMBER, "tid": _NUMBER},
}


def _is_event(event):
    """Whether it is an event as traces of gpu-async have them. Other phases are not read."""
    if not isinstance(event, dict) or not isinstance(event.get("ph"), str):
        return False
    if not all(fits(event.get(member)) for member, fits in _MEMBERS.get(event["ph"], {}).items()):
        return False
    arguments = event.setdefault("args", {})
    if event["ph"] == "M" and event["name"].endswith("_name"):
        return isinstance(arguments, dict) and isinstance(arguments.get("name"), str)
    return isinstance(arguments, dict) and isinstance(arguments.get("id", 0), int)


def read(path):
    """Returns the events of a trace file; "-" is standard input."""
    name = "standard input" if path == "-" else path
    try:
        if path == "-":
            events = json.load(sys.stdin)["traceEvents"]
        else:
            with open(path, encoding="utf-8") as file:
                events = json.load(file)["traceEvents"]
    except OSError as error:
        raise TraceError("%s: %s" % (name, error.strerror)) from None
    except (ValueError, TypeError, KeyError, RecursionError):
        raise TraceError("%s is no complete trace; gpu-runner --trace=FILE writes one" % name) from None
    if not isinstance(events, list):
        raise TraceError("%s is no trace: its traceEvents are no list; gpu-runner --trace=FILE writes one" % name)
    for number, event in enumerate(events):
        if not _is_event(event):
            raise TraceError("%s is no trace of gpu-async: traceEvents[%d] lacks a member, or has one of another type; "
                             "gpu-runner --trace=FILE writes one" % (name, number))
    return events


def _text(text):
    """Returns text as XML has it, which knows no control characters."""
    return html.escape("".join(c if c.isprintable() else "?" for c in text))


def _choose(slices, function, number):
    """Returns the slice of the call to draw: the last of its function, or number `number` from 0."""
    calls = sorted((e for e in slices if e["cat"] == "function"), key=lambda e: e["ts"])
    if function is not None:
        names = sorted({e["name"] for e in calls})
        calls = [e for e in calls if e["name"] == function]
        if not calls:
            raise TraceError("the trace has no call of @%s; it has calls of %s" %
                             (function, ", ".join("@" + name for name in names) or "nothing"))
    if not calls:
        raise TraceError("the trace has no call of a function")
    if number is None:
        return calls[-1]
    if not 0 <= number < len(calls):
        raise TraceError("there is no call %d; the trace has %d, counted from 0" % (number, len(calls)))
    return calls[number]


def _calls_of_ranks(slices, call):
    """Returns the slices of one call on all ranks: each has a thread of its own, and they run at the same time."""
    end = call["ts"] + call["dur"]
    found = {}
    for each in slices:
        if (each["cat"], each["name"]) == ("function", call["name"]) and each["ts"] <= end and call["ts"] <= each["ts"] + each["dur"]:
            found.setdefault(each["tid"], each)
    return list({**found, call["tid"]: call}.values())


def _kind(event):
    """Returns which of KINDS an event is."""
    return "collective" if (event["cat"], event["name"]) == ("call", "collective") else event["cat"]


def _label(tracks, shown, names):
    """Returns the label and the tooltip of each track. Streams are in the order of their first operations."""
    devices = sorted({pid for pid, _ in tracks if pid != 1})
    labels, counted = {}, {}
    for track in tracks:
        pid, tid = track
        if pid == 1:
            labels[track] = ("host", "thread %s" % names.get(("thread_name", pid, tid), tid))
            continue
        device = names.get(("process_name", pid, None), "device %d" % pid)
        stream = "s%d" % counted.get(pid, 0)
        counted[pid] = counted.get(pid, 0) + 1
        labels[track] = (stream if len(devices) == 1 else "%s %s" % (device, stream),
                         "%s, %s of the runtime's" % (device, names.get(("thread_name", pid, tid), tid)))
    return labels


def _step(duration):
    """Returns the distance of the marks of the axis, in microseconds: 1, 2 or 5 times a power of ten."""
    least = duration / 12
    power = 10.0 ** math.floor(math.log10(least)) if least > 0 else 1
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least)


def draw(events, function=None, number=None, title=None, rank=None):
    """Returns the SVG document of one call: the last one of `function`, or its number from 0."""
    slices = [e for e in events if e["ph"] == "X"]
    call = _choose(slices, function, number)
    names = {}
    for event in events:
        if event["ph"] == "M" and event["name"].endswith("_name"):
            names[event["name"], event["pid"], event.get("tid")] = event["args"]["name"]
    ranks = {int(found[1]): pid for (what, pid, _), name in names.items()
             if what == "process_name" and (found := re.search(r", rank (\d+)$", name))}
    if rank is not None and rank not in ranks:
        raise TraceError("the trace has no rank %d; it has %s" % (rank, ", ".join(map(str, sorted(ranks))) or "none"))
    calls = _calls_of_ranks(slices, call) if ranks else [call]
    begin, end = min(e["ts"] for e in calls), max(e["ts"] + e["dur"] for e in calls)
    duration, threads = end - begin, {e["tid"] for e in calls}
    shown = [e for e in slices if begin <= e["ts"] + e["dur"] and e["ts"] <= end]
    shown = [e for e in shown if (e["tid"] in threads if e["pid"] == 1 else rank is None or e["pid"] == ranks[rank])]

    first = {}
    for event in shown:
        track = event["pid"], event["tid"]
        first[track] = min(first.get(track, math.inf), event["args"].get("id", math.inf))
    tracks = sorted(first, key=lambda track: (track[0], first[track], track[1]))
    row = {track: TOP + i * ROW for i, track in enumerate(tracks)}
    scale = (WIDTH - LEFT - 10) / max(duration, 1e-3)

    def x(time):
        return LEFT + (time - begin) * scale

    labels = _label(tracks, shown, names)
    streams = sum(pid != 1 for pid, _ in tracks)
    devices = sorted({names.get(("process_name", pid, None), "device") for pid, _ in tracks if pid != 1})
    drawn = len(devices) if ranks else 1
    if drawn > 1:
        devices = sorted({re.sub(r", rank \d+$", "", each) for each in devices}) + ["%d ranks" % drawn]
    unit, per = ("ms", 1e3) if duration >= 1e3 else ("us", 1)
    if title is None:
        title = "@%s%s, %d stream%s: %.4g %s" % (call["name"], " on " + ", ".join(devices) if devices else "",
                                               streams, "" if streams == 1 else "s", duration / per, unit)
    bottom = TOP + len(tracks) * ROW
    height = bottom + BOTTOM
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}">',
        f"<title>{_text(title)}</title>",
        f"<style>{STYLE}</style>",
        '<defs><marker id="head" orient="auto" markerWidth="7" markerHeight="7" '
        'refX="6" refY="3.5"><path class="head" d="M0,0 7,3.5 0,7z"/></marker></defs>',
        f'<text class="title" x="4" y="18">{_text(title)}</text>',
    ]
    step = _step(duration)
    for i in range(int(duration / step) + 1):
        at = x(begin + i * step)
        out.append(f'<path class="track" d="M{at:.1f},{TOP - 12}V{bottom - 6}"/>')
        if at < WIDTH - 45:
            out.append(f'<text class="small" x="{at + 2:.1f}" y="{TOP - 20}">{i * step / per:g} {unit}</text>')
    for track in tracks:
        text, tip = labels[track]
        out.append(f'<text x="4" y="{row[track] + 17}">{_text(text)}<title>{_text(tip)}</title></text>')
    for event in sorted(shown, key=lambda e: (e["pid"], e["ts"], -e["dur"])):
        y = row[event["pid"], event["tid"]]
        inset = 0 if event["cat"] == "function" or event["pid"] != 1 else 4
        left = x(max(event["ts"], begin))  # it may have begun before the call
        width = max(x(min(event["ts"] + event["dur"], end)) - left, 0.8)
        place = event["args"].get("at", "")
        tip = _text("%s: %.1f us %s" % (event["name"], event["dur"], place))
        kind = KINDS.get(_kind(event), ("driver", ""))[0]
        out.append(
            f'<rect class="{kind}" x="{left:.1f}" y="{y + inset}" '
            f'width="{width:.1f}" height="{BAR - 2 * inset}" rx="2"><title>{tip}</title></rect>'
        )
        if width > 6.4 * len(event["name"]) + 6 and event["cat"] != "function":
            out.append(
                f'<text x="{left + 4:.1f}" y="{y + 17}" pointer-events="none">'
                f'{_text(event["name"])}</text>'
            )
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    arrows = 0
    for start in (e for e in events if e["ph"] == "s" and begin <= e["ts"] <= end):
        stop = ends.get(start["id"])
        if not stop or stop["ts"] > end or (start["pid"], start["tid"]) not in row or (stop["pid"], stop["tid"]) not in row:
            continue
        x0, y0 = x(start["ts"]), row[start["pid"], start["tid"]]
        x1, y1 = x(stop["ts"]), row[stop["pid"], stop["tid"]]
        down = y1 > y0
        y0, y1 = y0 + BAR * down, y1 + BAR * (not down)
        mid = (y0 + y1) / 2
        arrows += 1
        out.append(
            f'<path class="arrow" marker-end="url(#head)" '
            f'd="M{x0:.1f},{y0} C{x0:.1f},{mid} {x1:.1f},{mid} {x1:.1f},{y1}"/>'
        )
    # The legend: what there is in this picture.
    at, y = 4, bottom + 10
    there = {_kind(event) for event in shown}
    texts = {}
    for category, (kind, text) in KINDS.items():
        if category in there:
            texts.setdefault(kind, []).append(text)
    for kind, parts in texts.items():
        text = ", ".join(parts)
        out.append(f'<rect class="{kind}" x="{at:.0f}" y="{y}" width="14" height="12" rx="2"/>')
        out.append(f'<text class="small" x="{at + 18:.0f}" y="{y + 10}">{_text(text)}</text>')
        at += 34 + 5.2 * len(text)
    if arrows:
        out.append(f'<path class="arrow" marker-end="url(#head)" d="M{at:.0f},{y + 6}h16"/>')
        out.append(f'<text class="small" x="{at + 22:.0f}" y="{y + 10}">must end before</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(prog="gpu-async-timeline", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", metavar="TRACE", help="the trace, a JSON file; -: standard input")
    parser.add_argument("-o", "--output", metavar="FILE", help="the picture, an SVG file (default: standard output)")
    parser.add_argument("-e", "--function", metavar="NAME", help="draw a call of this function (default: of any)")
    parser.add_argument("--call", type=int, metavar="N", help="draw call number N, counted from 0 (default: the last one)")
    parser.add_argument("--rank", type=int, metavar="N", help="of a call on several ranks, draw the streams of this one (default: of all)")
    parser.add_argument("--title", metavar="TEXT", help="the title (default: function, device, streams and time)")
    options = parser.parse_args()
    try:
        picture = draw(read(options.trace), options.function, options.call, options.title, options.rank)
        if options.output and options.output != "-":
            with open(options.output, "w", encoding="utf-8") as file:
                file.write(picture)
        else:
            sys.stdout.write(picture)
            sys.stdout.flush()
    except TraceError as error:
        sys.exit("gpu-async-timeline: error: %s" % error)
    except OSError as error:
        sys.exit("gpu-async-timeline: error: %s: %s" % (options.output or "standard output", error.strerror))


if __name__ == "__main__":
    main()
