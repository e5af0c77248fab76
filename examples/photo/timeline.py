#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the last call of a function in a trace of the runtime as SVG.

    timeline.py trace.json > timeline.svg

A row for the host's thread and one for each stream; time goes to the right.
Arrows are what one stream waited for on another.
"""

import html
import json
import sys

WIDTH, LEFT, TOP, ROW, BAR = 1080, 90, 34, 44, 26
STYLE = """
text { font: 11px sans-serif; fill: #24292f }
.small { fill: #57606a; font-size: 10px }
.track { stroke: #d0d7de }
.function { fill: #eaeef2; stroke: #8c959f }
.wait { fill: #fff8c5; stroke: #bf8700 }
.driver, .region, .trace { fill: #d0d7de; stroke: #8c959f }
.kernel, .graph { fill: #ddf4ff; stroke: #0969da }
.copy, .fill { fill: #dafbe1; stroke: #1a7f37 }
.arrow { fill: none; stroke: #cf222e; stroke-width: 1.2 }
.head { fill: #cf222e }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .small { fill: #8d96a0 } .track { stroke: #30363d }
  .function { fill: #21262d } .wait { fill: #3d2e00 }
  .driver, .region, .trace { fill: #30363d } .kernel, .graph { fill: #0c2d6b }
  .copy, .fill { fill: #0f3d1f } .arrow { stroke: #ff7b72 } .head { fill: #ff7b72 }
}
"""


def main(path):
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    slices = [e for e in events if e["ph"] == "X"]
    call = max((e for e in slices if e["cat"] == "function"), key=lambda e: e["ts"])
    begin, end = call["ts"], call["ts"] + call["dur"]
    shown = [e for e in slices if begin <= e["ts"] + e["dur"] and e["ts"] <= end]
    shown = [e for e in shown if e["pid"] != 1 or e["tid"] == call["tid"]]
    names = {}
    for event in events:
        if event["ph"] == "M" and event["name"].endswith("_name"):
            names[event["name"], event["pid"], event.get("tid")] = event["args"]["name"]

    tracks = sorted({(e["pid"], e["tid"]) for e in shown})
    row = {track: TOP + i * ROW for i, track in enumerate(tracks)}
    scale = (WIDTH - LEFT - 10) / call["dur"]

    def x(time):
        return LEFT + (time - begin) * scale

    height = TOP + len(tracks) * ROW + 6
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}">',
        f"<style>{STYLE}</style>",
        '<defs><marker id="head" orient="auto" markerWidth="7" markerHeight="7" '
        'refX="6" refY="3.5"><path class="head" d="M0,0 7,3.5 0,7z"/></marker></defs>',
    ]
    step = 10 ** (len(str(int(call["dur"] / 4))) - 1)
    while call["dur"] / step > 12:
        step *= 2
    for i in range(int(call["dur"] / step) + 1):
        at = x(begin + i * step)
        out.append(f'<path class="track" d="M{at:.1f},22V{height - 6}"/>')
        if at < WIDTH - 45:
            out.append(f'<text class="small" x="{at + 2:.1f}" y="14">{i * step / 1000:g} ms</text>')
    for track in tracks:
        pid, tid = track
        text = "host" if pid == 1 else names["thread_name", pid, tid]
        out.append(f'<text x="4" y="{row[track] + 17}">{html.escape(text)}</text>')
    for event in sorted(shown, key=lambda e: (e["pid"], e["ts"], -e["dur"])):
        y = row[event["pid"], event["tid"]]
        inset = 0 if event["cat"] == "function" or event["pid"] != 1 else 4
        width = max(event["dur"] * scale, 0.8)
        place = event["args"].get("at", "")
        title = html.escape(f'{event["name"]}: {event["dur"]:.1f} us {place}')
        out.append(
            f'<rect class="{event["cat"]}" x="{x(event["ts"]):.1f}" y="{y + inset}" '
            f'width="{width:.1f}" height="{BAR - 2 * inset}" rx="2"><title>{title}</title></rect>'
        )
        if width > 6.2 * len(event["name"]) and event["cat"] != "function":
            out.append(
                f'<text x="{x(event["ts"]) + 4:.1f}" y="{y + 17}" pointer-events="none">'
                f'{html.escape(event["name"])}</text>'
            )
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    for start in (e for e in events if e["ph"] == "s" and begin <= e["ts"] <= end):
        stop = ends[start["id"]]
        if (start["pid"], start["tid"]) not in row or (stop["pid"], stop["tid"]) not in row:
            continue
        x0, y0 = x(start["ts"]), row[start["pid"], start["tid"]]
        x1, y1 = x(stop["ts"]), row[stop["pid"], stop["tid"]]
        down = y1 > y0
        y0, y1 = y0 + BAR * down, y1 + BAR * (not down)
        mid = (y0 + y1) / 2
        out.append(
            f'<path class="arrow" marker-end="url(#head)" '
            f'd="M{x0:.1f},{y0} C{x0:.1f},{mid} {x1:.1f},{mid} {x1:.1f},{y1}"/>'
        )
    out.append("</svg>")
    print("\n".join(out))


main(sys.argv[1])
