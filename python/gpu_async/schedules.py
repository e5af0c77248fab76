# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures of what a function does on which stream, and what waits for what."""

import os
import stat


def _open(path, flags):
    """In a folder for all, such as /tmp, the links of other users lead nowhere."""
    folder = os.stat(os.path.dirname(path) or ".")
    is_for_all = folder.st_mode & stat.S_ISVTX and folder.st_mode & stat.S_IWOTH
    is_own_link = os.path.islink(path) and os.lstat(path).st_uid in (os.geteuid(), folder.st_uid)
    return os.open(path, flags | (os.O_NOFOLLOW if is_for_all and not is_own_link else 0), 0o666)


class Schedule:
    """The schedule of one function: a picture in a notebook, and a text where it is printed.

    `name` is the function's, `text`, `dot` (for graphviz) and `svg` (a document) are the picture;
    docs/how-to/ReadASchedule.md says how to read it. It is a plain value: it keeps nothing of the program, and any thread may use it.
    """

    __slots__ = ("name", "text", "dot", "svg")

    def __init__(self, name, text, dot, svg):
        self.name, self.text, self.dot, self.svg = name, text, dot, svg

    def save(self, file):
        """Writes the picture to a file: as `svg` or `dot` where its name ends so, else as `text`."""
        ending = os.path.splitext(os.fsdecode(file))[1].lower()
        if ending in (".png", ".pdf", ".jpg", ".jpeg", ".gif", ".ps", ".eps", ".html"):
            raise ValueError("%r: a schedule is saved as .svg, as .dot, or else as text; graphviz makes other pictures "
                             "of the .dot, as in `dot -Tpdf`" % os.fspath(file))
        with open(file, "w", encoding="utf-8", errors="surrogateescape", opener=_open) as stream:
            stream.write({".svg": self.svg, ".dot": self.dot}.get(ending, self.text))

    def __str__(self):
        return self.text.rstrip("\n")

    def __repr__(self):
        return "<gpu_async.Schedule of %s>" % self.text.partition("\n")[0]

    def _repr_svg_(self):
        return self.svg
