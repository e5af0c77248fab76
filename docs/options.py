# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the tables of docs/reference/Options.md from include/GPUAsync/Options.def.

usage: options.py [<source folder>]    writes them into the page
"""
import pathlib
import re
import sys

BEGIN, END = "<!-- made by docs/options.py: begin -->\n", "<!-- made by docs/options.py: end -->\n"
COLUMNS = {
    "ENUM_BEGIN": (), "ENUM_END": (), "WORD": ("type", "value", "word", "meaning"), "RANGE": ("range", "condition", "which"),
    "OPTION": ("type", "member", "name", "default", "range", "changes", "tools", "default_text", "text"),
    "TOOL_OPTION": ("type", "member", "name", "default", "range", "changes", "tools", "default_text", "text"),
    "PIPELINE_OPTION": ("type", "member", "name", "default", "changes", "default_text", "text"),
    "OWN_OPTION": ("type", "member", "name", "default", "changes", "tools", "values", "text"),
}


def read(root):
    """The rows of the table: (macro, {column: text})."""
    source = (pathlib.Path(root) / "include/GPUAsync/Options.def").read_text()
    source = re.sub(r"^#(?:.*\\\n)*.*", "", re.sub(r"^\s*//.*", "", source, flags=re.M), flags=re.M)
    rows = []
    for begin in re.finditer(r"^GPUASYNC_(\w+)\(", source, re.M):
        values, depth, at = [""], 1, begin.end()
        while depth:
            literal = re.compile(r'"((?:[^"\\]|\\.)*)"').match(source, at)
            if literal:
                values[-1] += literal[1]
                at = literal.end()
                continue
            each, at = source[at], at + 1
            depth += {"(": 1, ")": -1}.get(each, 0)
            if each == "," and depth == 1:
                values.append("")
            elif depth and not each.isspace():
                values[-1] += each
        kind = begin[1].replace("OFFLOAD_", "")  # those of gpu-async-offload, too
        columns = COLUMNS[kind]
        if columns and len(values) != len(columns):
            raise SystemExit("Options.def: GPUASYNC_%s(%s, ...) has %d columns, not %d"
                             % (begin[1], values[0], len(values), len(columns)))
        rows.append((kind, dict(zip(columns, values))))
    return rows


def takers(kind, row):
    """The tools that take an option."""
    tools = row.get("tools", "")
    return [name for name, takes in (("gpu-runner", "Runner" in tools), ("pipeline", kind in ("OPTION", "PIPELINE_OPTION")),
                                     ("C", "Library" in tools), ("Python", "Library" in tools)) if takes]


def tables(root):
    rows = read(root)
    words, ranges = {}, {"Any": ""}
    for kind, row in rows:
        if kind == "WORD":
            words.setdefault(row["type"], {})["%s::%s" % (row["type"], row["value"])] = "`%s`" % row["word"]
        elif kind == "RANGE":
            ranges[row["range"]] = row["which"]

    def values(row):
        if row["type"] in words:
            return ", ".join(words[row["type"]].values())
        return "`false`, `true`" if row["type"] == "bool" else row.get("values") or ranges[row.get("range", "Any")]

    def default(row):
        known = words.get(row["type"], {}).get(row["default"], "`%s`" % row["default"])
        return row.get("default_text") or ("none" if row["default"] == "{}" else known)

    def key(row):
        return "yes" if row["changes"] == "Code" else ""

    lines = ["| option | values | default | taken by | key | meaning |", "|---|---|---|---|---|---|"]
    for kind, row in rows:
        if kind.endswith("OPTION") and kind != "PIPELINE_OPTION" and takers(kind, row):
            lines.append("| `%s` | %s | %s | %s | %s | %s |" % (
                row["name"], values(row), default(row), ", ".join(takers(kind, row)), key(row), row["text"]))
    lines += ["", "Only the pipeline has these options:", "", "| option | values | default | key | meaning |", "|---|---|---|---|---|"]
    for kind, row in rows:
        if kind == "PIPELINE_OPTION":
            lines.append("| `%s` | %s | %s | %s | %s |" % (row["name"], values(row), default(row), key(row), row["text"]))
    return BEGIN + "\n" + "\n".join(lines) + "\n\n" + END


def replace(page, made):
    before, rest = page.split(BEGIN)
    return before + made + rest.split(END)[1]


if __name__ == "__main__":
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent
    page = root / "docs/reference/Options.md"
    page.write_text(replace(page.read_text(), tables(root)))
