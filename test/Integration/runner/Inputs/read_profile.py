# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks a profile as JSON, one line, and prints a line for each of its rows.

usage: read_profile.py <file>
"""
import json
import sys

with open(sys.argv[1]) as file:
    lines = file.read().splitlines()
assert len(lines) == 1, lines
rows = json.loads(lines[0])["profile"]
assert abs(sum(row["share"] for row in rows) - 100) < 1, rows
for row in rows:
    assert list(row) == ["share", "calls", "total_ms", "mean_us", "min_us", "max_us", "mb", "gb_per_s", "what", "kind", "name",
                         "place"], row
    assert row["min_us"] <= row["mean_us"] <= row["max_us"] <= 1000 * row["total_ms"] + 1e-6, row
    assert abs(row["mean_us"] * row["calls"] - 1000 * row["total_ms"]) < 1, row
    assert (row["mb"] is None) == (row["gb_per_s"] is None), row
    assert row["what"].startswith(row["name"]) and row["what"].endswith(row["place"]), row
    print(row["kind"], row["name"], "calls", row["calls"], "no bytes" if row["mb"] is None else "mb %s" % row["mb"], "at",
          row["place"])
