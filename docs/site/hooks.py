# Part of gpu-async, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the site does to the pages of docs/, which are written for a checkout.

- The navigation is made from the folders. Pages come in the order in which docs/index.md links
  to them, and the others behind these, by title.
- Pages of other folders get a place: examples/*/README.md, CONTRIBUTING.md and so on, and the
  reference of ops and passes that the build makes.
- A link out of docs/ to a page leads to its copy. A link to a source leads to a page with its text.
- Lists are indented as Python-Markdown wants them, and comments for tests are left out.
"""
import pathlib
import posixpath
import re

import mlir_lexer  # MkDocs has this folder in the path while it loads hooks
from mkdocs.structure.files import File
from pygments.lexers import LEXERS, get_lexer_for_filename
from pygments.util import ClassNotFound

here = pathlib.Path(__file__).resolve().parent
root = here.parent.parent
LEXERS["MlirLexer"] = (mlir_lexer.__name__, "MLIR", ("mlir",), ("*.mlir",), ())

KINDS = {"tutorials": "Tutorials", "how-to": "How-to guides", "reference": "Reference", "explanation": "Explanation"}
GENERATED = {"Dialect.md": "Dialect and operations", "Passes.md": "Passes, one by one"}
PROJECT = ["CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "README.md"]

origins = {}  # page of the site -> file of the project
places = {}  # file of the project -> page of the site
links = re.compile(r"(\]\()([^)\s]+)(\))")


# -- Text -----------------------------------------------------------------------


def outside_fences(text):
    """(line, whether it is code) of a page."""
    fence = None
    for line in text.splitlines():
        mark = re.match(r" *(```+|~~~+)", line)
        inside = fence is not None
        if mark and fence is None:
            fence = mark.group(1)
        elif mark and line.strip() == fence:
            fence = None
        yield line, inside or bool(mark)


def change_prose(text, change):
    return "\n".join(line if code else change(line) for line, code in outside_fences(text)) + "\n"


def indent_lists(text):
    """Items that are indented by the width of their marker, as GitHub takes them, by four columns."""
    lines, columns, blank = [], [], True
    continues = False  # the lines since the last empty one began within an item
    for line, code in outside_fences(text):
        stripped = line.lstrip(" ")
        indent = len(line) - len(stripped)
        item = None if code else re.match(r"([-*+]|\d+\.) +", stripped)
        if not stripped:
            lines.append("")
            blank = True
            continue
        inside = bool(columns)
        if not code or re.match(r" *```", line):
            # A line without indent goes on with an item only where no empty line is between them.
            while columns and indent < columns[-1] and (blank or item or code or stripped[0] in "#|<"):
                columns.pop()
        if blank:
            continues = bool(columns) and not item
        if item:
            # An empty line before a list, and between a paragraph of an item and the next item.
            if not blank and (not inside or continues):
                lines.append("")
                continues = False
            lines.append("    " * len(columns) + re.sub(r" +$", " ", item.group(0)) + stripped[item.end():])
            columns.append(indent + item.end())
        elif columns:
            extra = max(0, indent - columns[-1]) if code else 0
            lines.append("    " * len(columns) + " " * extra + stripped)
        else:
            lines.append(line)
        blank = False
    return "\n".join(lines) + "\n"


# -- Pages that are not in docs/ ------------------------------------------------


def place(path):
    """The page of the site that shows a file of the project."""
    relative = path.relative_to(root)
    if path.suffix == ".md":
        return "project/%s" % relative if len(relative.parts) == 1 else str(relative)
    return "source/%s.md" % relative


def show_source(path):
    """A page with the text of a source."""
    text = path.read_text(errors="replace")
    try:
        language = get_lexer_for_filename(path.name).aliases[0]
    except ClassNotFound:
        language = "bash" if text.startswith("#!") else "text"
    fence = "`" * max(3, *(len(ticks) + 1 for ticks in re.findall(r"`+", text + "``")))
    return "# %s\n\n%s%s\n%s\n%s\n" % (path.relative_to(root), fence, language, text.rstrip("\n"), fence)


def targets(text, base):
    """Files of the project that a page's links name."""
    found = []
    change_prose(text, lambda line: found.extend(match.group(2) for match in links.finditer(line)) or line)
    for target in found:
        if not re.match(r"\w+:|#", target):
            path = (base / target.partition("#")[0]).resolve()
            if root in path.parents:
                yield path


def on_files(files, config):
    origins.clear()
    places.clear()

    def add(path, text, uri=None):
        uri = uri or place(path)
        files.append(File.generated(config, uri, content=text))
        origins[uri], places[path] = path, uri

    todo = []
    for file in files.documentation_pages():
        path = pathlib.Path(file.abs_src_path)
        origins[file.src_uri], places[path] = path, file.src_uri
        todo.append(path)
    for name in PROJECT + sorted(str(path.relative_to(root)) for path in root.glob("examples/*/README.md")):
        if (root / name).exists():
            add(root / name, (root / name).read_text())
            todo.append(root / name)
    while todo:
        path = todo.pop()
        for target in targets(path.read_text(), path.parent):
            if target.is_dir() and (target / "README.md").exists():
                target = target / "README.md"
            if target in places or not target.is_file() or root / "docs" in target.parents and target.suffix != ".py":
                continue
            add(target, target.read_text() if target.suffix == ".md" else show_source(target))
            if target.suffix == ".md":
                todo.append(target)

    # The reference that the build makes, without a title or with another one.
    for name, title in GENERATED.items():
        path = root / "build/release/docs" / name
        if path.exists():
            text = re.sub(r"\A# .*\n", "", path.read_text())
            text = re.sub(r"^(### `[\w.]+`) \(.*\)$", r"\1", text, flags=re.M)
            add(path, "# %s\n%s" % (title, text), "reference/generated/" + name)
    for name in ("site.css", "offline.js"):
        files.append(File.generated(config, "assets/" + name, content=(here / name).read_text()))
    config.nav = navigation(files)
    return files


# -- Navigation -----------------------------------------------------------------


def heading(uri):
    match = re.search(r"^# (.*)$", origins[uri].read_text(), re.M)
    return match.group(1).replace("`", "") if match else uri


def navigation(files):
    index = root / "docs/index.md"
    first = list(targets(index.read_text(), index.parent)) if index.exists() else []

    def order(uri):
        path = origins[uri]
        return (first.index(path) if path in first else len(first), heading(uri).lower())

    pages = sorted((uri for uri in origins if not uri.startswith("source/")), key=order)
    nav = [{"Home": "index.md"}] if "index.md" in pages else []
    for folder, title in KINDS.items():
        entries = [uri for uri in pages if uri.startswith(folder + "/") and "/generated/" not in uri]
        if folder == "reference":
            entries += [{title: "reference/generated/" + name} for name, title in GENERATED.items()
                        if "reference/generated/" + name in origins]
        if entries:
            nav.append({title: entries})
    known = tuple(folder + "/" for folder in KINDS)
    folders = [uri for uri in pages if uri.startswith(("lib/", "runtime/", "test/"))]
    examples = [uri for uri in pages if uri.startswith("examples/")]
    if examples:
        nav.append({"Examples": examples})
    project = ["project/" + name for name in PROJECT if "project/" + name in origins]
    others = [uri for uri in pages if not uri.startswith(known) and uri not in examples + project + ["index.md"] and "/" not in uri]
    if project + others:
        nav.append({"Project": others + project + ([{"Folders": folders}] if folders else [])})
    return nav


# -- One page -------------------------------------------------------------------


def on_page_markdown(markdown, page, config, files):
    uri = page.file.src_uri
    if uri.startswith("source/"):
        page.meta["search"] = {"exclude": True}
        page.meta["hide"] = ["navigation", "toc"]
        return markdown
    if uri == "index.md":
        page.meta["hide"] = ["navigation"]
    origin = origins[uri]

    def link(match):
        target, _, anchor = match.group(2).partition("#")
        if re.match(r"\w+:", match.group(2)) or not target:
            return match.group(0)
        path = (origin.parent / target).resolve()
        if path.is_dir() and path / "README.md" in places:
            path = path / "README.md"
        if path in places:
            to = places[path]
        elif root / "docs" in path.parents:
            to = str(path.relative_to(root / "docs"))
        else:
            return match.group(0)  # mkdocs says that it leads nowhere
        to = posixpath.relpath(to, posixpath.dirname(uri) or ".")
        # Pages of sources have no headings.
        return match.group(1) + to + ("#" + anchor if anchor and path.suffix == ".md" else "") + match.group(3)

    def folder(match):
        """A link to a folder without a page of its own is the folder's name."""
        path = (origin.parent / match.group(2)).resolve()
        return "`%s`" % match.group(1).strip("`") if path.is_dir() and path / "README.md" not in places else match.group(0)

    text = re.sub(r"^ *<!-- test: .*-->\n", "", markdown, flags=re.M)
    text = change_prose(text, lambda line: links.sub(link, re.sub(r"\[([^\]]*)\]\(([^)\s#]+)\)", folder, line)))
    return indent_lists(text)


def on_post_page(output, page, config):
    """Nothing is loaded from other servers: offline.js does what this script would."""
    own = posixpath.relpath("assets/offline.js", posixpath.dirname(page.url) or ".")
    return output.replace("https://unpkg.com/iframe-worker/shim", own)
