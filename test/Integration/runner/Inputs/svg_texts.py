# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the visible texts of a timeline, then a line of what is on each stream.

usage: svg_texts.py <file.svg>
"""
import sys
import xml.etree.ElementTree as ElementTree

name = "{http://www.w3.org/2000/svg}"
root = ElementTree.parse(sys.argv[1]).getroot()
width, height = float(root.get("width")), float(root.get("height"))
rows = {}
for element in root.iter():
    if element.tag == name + "text":
        assert 0 <= float(element.get("x")) <= width and 0 <= float(element.get("y")) <= height, element.attrib
        print(element.text)
        if element.text.startswith("s") and element.text[1:].isdigit():
            rows[float(element.get("y"))] = element.text, []
for element in root.iter(name + "rect"):
    assert 0 <= float(element.get("y")) <= height, element.attrib
    y, tip = float(element.get("y")) + 17, element.find(name + "title")
    if y in rows:
        rows[y][1].append(tip.text.split(":")[0])
for label, works in rows.values():
    print("%s: %s" % (label, ", ".join(works)))
