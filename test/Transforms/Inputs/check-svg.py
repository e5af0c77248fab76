# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks a schedule's SVG document: well-formed, self-contained, and nothing of
# it outside of the picture. Prints its texts, one a line.

import re
import sys
import xml.etree.ElementTree as ElementTree

sys.stdout.reconfigure(encoding="utf-8")
text = open(sys.argv[1], encoding="utf-8").read()
root = ElementTree.fromstring(text)
name = "{http://www.w3.org/2000/svg}"
assert root.tag == name + "svg", root.tag
known = {name + tag for tag in ("svg", "title", "desc", "style", "rect", "path", "text", "g")}
width, height = float(root.get("width")), float(root.get("height"))
for element in root.iter():
    assert element.tag in known | {name + "circle"}, element.tag
    for attribute, value in element.attrib.items():
        assert not attribute.startswith("on") and "href" not in attribute, attribute
    if element.tag == name + "rect":
        x, y = float(element.get("x", 0)), float(element.get("y", 0))
        right, bottom = x + float(element.get("width")), y + float(element.get("height"))
        assert 0 <= x and right <= width and 0 <= y and bottom <= height, element.attrib
    if element.tag == name + "text":
        assert 0 <= float(element.get("x")) <= width, element.attrib
        print("".join(element.itertext()))
assert not re.search(r"url\(|@import|http(?!://www\.w3\.org/2000/svg)", text)
# A page that holds the picture keeps its own style.
for selector in re.findall(r"^(.*){", root.find(name + "style").text, re.M):
    assert selector.startswith((".gpuasync-schedule ", "@media ")), selector
# Boxes of ops do not lie on each other.
boxes = [tuple(float(e.get(k)) for k in ("x", "y", "width", "height"))
         for e in root.iter(name + "rect") if "node" in e.get("class").split()]
for i, (x, y, w, h) in enumerate(boxes):
    for a, b, c, d in boxes[:i]:
        assert x >= a + c or a >= x + w or y >= b + d or b >= y + h, (boxes[i], (a, b, c, d))
