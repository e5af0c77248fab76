#!/usr/bin/env python3
# Part of gpu-async, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the links, pictures and anchors of the built site, and that it loads nothing from elsewhere.

usage: links.py <folder of the site>
"""
import html.parser
import pathlib
import sys
import urllib.parse

site = pathlib.Path(sys.argv[1]).resolve()
problems = []


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loads = set(), [], []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids |= {attributes[name] for name in ("id", "name") if attributes.get(name)}
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        loaded = attributes.get("src") or (attributes.get("href") if tag == "link" else None)
        if loaded and attributes.get("rel") not in ("canonical", "prev", "next"):
            self.loads.append(loaded)


pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
count = 0
for path, page in pages.items():
    if path.name == "404.html":  # its links begin with the address of the site
        continue
    for link in page.links + page.loads:
        parts = urllib.parse.urlsplit(link)
        if parts.scheme or parts.netloc:
            if link in page.loads and parts.scheme != "data":
                problems.append("%s loads %s" % (path.relative_to(site), link))
            continue
        count += 1
        target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
        if target.is_dir():
            target /= "index.html"
        anchor = urllib.parse.unquote(parts.fragment)
        if site not in target.parents or not target.is_file():
            problems.append("%s: the link %s leads nowhere" % (path.relative_to(site), link))
        elif anchor and not anchor.startswith(":") and target in pages and anchor not in pages[target].ids:
            problems.append("%s: no anchor for the link %s" % (path.relative_to(site), link))
print("\n".join(problems + ["%d pages, %d links, %d problems" % (len(pages), count, len(problems))]))
sys.exit(1 if problems or not pages else 0)
