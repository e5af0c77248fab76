#!/usr/bin/env python3
# Part of gpu-async, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports how the pages read: length of sentences, width of lines, words that docs/Glossary.md replaces.

usage: prose.py [--verbose] [page..]

Without pages it reads README.md and docs/. It warns and never fails: exit code 0. With --verbose it prints the
place of each long sentence, of each wide line and of each replaced word.
"""
import pathlib
import re
import sys

LONGEST = 25  # words of a sentence
WIDEST = 100  # columns of a line
root = pathlib.Path(__file__).resolve().parent.parent


def replaced_words():
    """(words to avoid, term to use) of the glossary's tables."""
    found = []
    for line in (root / "docs/Glossary.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and len(cells) == 4 and cells[0] != "term":
            found += [(word.strip(), cells[0]) for word in cells[3].split(";") if word.strip()]
    return found


def prose(text):
    """(line number, paragraph) of a page: without code, tables and headings. Items of a list are paragraphs."""
    paragraphs, current, start, fenced = [], [], 0, False

    def end():
        if current:
            paragraphs.append((start, " ".join(current)))
            current.clear()

    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("```"):
            fenced = not fenced
            end()
        elif fenced or not stripped or stripped[0] in "|#" or stripped.startswith(("<!--", "![", "---")):
            end()
        else:
            item = re.match(r"([-*+]|\d+\.)\s+", stripped)
            if item:
                end()
                stripped = stripped[item.end():]
            if not current:
                start = number
            current.append(stripped)
    end()
    return paragraphs


def sentences(paragraph):
    """The sentences of a paragraph, each as its words."""
    text = re.sub(r"`[^`]*`", "code", paragraph)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\b(e\.g|i\.e|etc|cf|vs)\.", r"\1", text)
    for part in re.split(r"(?<=[.!?:])[\"')*]*\s+(?=[A-Z\"'(*`\[]|code\b)", text):
        words = re.findall(r"[A-Za-z0-9][\w'/.,-]*", part)
        if words:
            yield words


def main():
    arguments = sys.argv[1:]
    if "--help" in arguments or "-h" in arguments:
        print(__doc__.strip())
        return
    verbose = "--verbose" in arguments
    names = [name for name in arguments if not name.startswith("-")]
    pages = [pathlib.Path(name).resolve() for name in names] or [root / "README.md"] + sorted((root / "docs").rglob("*.md"))
    avoided = replaced_words()
    total = [0] * 6
    print("%-40s %6s %9s %6s %6s %6s" % ("page", "words", "sentences", "mean", "long", "wide"), "replaced words", sep="  ")
    for page in pages:
        text = page.read_text()
        name = str(page.relative_to(root)) if root in page.parents else str(page)
        lengths, notes, used = [], [], 0
        for line, paragraph in prose(text):
            for words in sentences(paragraph):
                lengths.append(len(words))
                if len(words) > LONGEST:
                    notes.append("%s:%d: %d words: %s ..." % (name, line, len(words), " ".join(words[:8])))
            if page.name != "Glossary.md":
                for word, term in avoided:
                    for _ in re.finditer(r"\b%s\b" % re.escape(word), paragraph):
                        used += 1
                        notes.append("%s:%d: '%s': the glossary says '%s'" % (name, line, word, term))
        wide, fenced = 0, False
        for number, line in enumerate(text.splitlines(), 1):
            fenced ^= line.startswith("```")
            if len(line) > WIDEST and not line.startswith("|") and not fenced and " " in line[:WIDEST]:
                wide += 1
                notes.append("%s:%d: %d columns" % (name, number, len(line)))
        words, count, long = sum(lengths), len(lengths), sum(length > LONGEST for length in lengths)
        print("%-40s %6d %9d %6.1f %5.1f%% %6d  %d" % (name, words, count, words / max(count, 1), 100 * long / max(count, 1), wide, used))
        if verbose:
            print("".join("  %s\n" % note for note in notes), end="")
        total = [a + b for a, b in zip(total, (words, count, long, wide, used, 1))]
    words, count, long, wide, used, number = total
    print("%-40s %6d %9d %6.1f %5.1f%% %6d  %d" % ("%d pages" % number, words, count, words / max(count, 1), 100 * long / max(count, 1), wide, used))


if __name__ == "__main__":
    main()
