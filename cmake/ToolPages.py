# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes a man page and completions for bash and zsh of what a tool prints with --help.

usage: ToolPages.py <tool> <version> <man page> <bash completion> <zsh completion>

Reads two kinds of help: gpu-runner's own, and that of LLVM's command line library, which gpu-opt prints.
"""
import pathlib
import re
import subprocess
import sys


class Option:
    """One option, or one value or option of another one: a line of the help."""

    def __init__(self, names, value, text, level):
        self.names = names  # with their dashes; a value has none
        self.value = value  # "", "=VALUE", " VALUE" or "[=VALUE]"
        self.text = text
        self.level = level  # of indentation
        self.words = []  # values that it may have
        self.parts = []  # options in its value: of a pass

    def isFlag(self):
        return not self.value and not self.parts

    def isOptional(self):
        """Whether the value may be left out, and so is never a word of its own."""
        return self.value.startswith("[") or bool(self.parts)


class Help:
    def __init__(self, name):
        self.name = name
        self.summary = ""
        self.synopsis = []
        self.description = []  # paragraphs
        self.sections = []  # (title, [Option])
        self.epilogue = []

    def options(self):
        return [option for _, options in self.sections for option in options if option.level == 0]


def paragraphs(lines):
    return [" ".join(part.split()) for part in "\n".join(lines).split("\n\n") if part.strip()]


def readOwn(name, text):
    """gpu-runner's: options at column 2, their texts at a later one, over several lines."""
    page = Help(name)
    lines = text.splitlines()
    page.synopsis = [lines[0].partition(": ")[2]]
    title, rest, options = None, [], None
    for line in lines[1:]:
        start = re.match(r"  (-.{23}) (\S.*)$", line) or re.match(r"  (-\S.*?)(?:  +(\S.*))?$", line)
        if start:
            if options is None or rest:  # the line before is the title
                title = rest.pop() if rest else title
                page.description += rest
                rest, options = [], []
                page.sections.append((title, options))
            value, names = "", []
            for word in start[1].strip().split(", "):
                named = re.match(r"(-[-\w]+)((?:\[?=| ).*)?$", word)
                if named:
                    names.append(named[1])
                    value = named[2] or value
                elif not word.startswith("-"):
                    value += ", " + word
            options.append(Option(names, value, start[2] or "", 0))
        elif options and not rest and line.startswith(" " * 10):
            options[-1].text += " " + line.strip()
        elif line.strip() or rest:
            rest.append(line)
    page.description, page.epilogue = paragraphs(page.description), paragraphs(rest)
    page.summary = page.description[0].split(". ")[0]
    for option in page.options():
        # Words of the value stand in its place, or first in the text.
        placeholder = option.value.strip("[]= ")
        option.words = [re.sub(r"\[.*?\]", "", word) for word in placeholder.split("|") if word.islower()]
        first = re.match(r"[a-z][\w:\[\]|]*\|[\w:\[\]|]*", option.text)
        if first and placeholder.isupper():
            option.words = [re.sub(r"\[.*?\]", "", word) for word in first[0].rstrip(":").split("|")]
    return page


def readLLVM(name, text):
    """LLVM's: "  --name=<type>   - text"; values and options of passes are indented further."""
    page = Help(name)
    page.summary = re.search(r"^OVERVIEW: (.*)$", text, re.M)[1]
    page.synopsis = [re.search(r"^USAGE: (.*)$", text, re.M)[1]]
    page.description = paragraphs(re.findall(r"^Available Dialects: .*$", text, re.M))
    options = outer = inner = None
    for line in text.partition("\nOPTIONS:\n")[2].splitlines():
        entry = re.match(r"( *)(--?[\w.+-]+|=<?[^\s<>]+>?|<[^>]*>)(\[?=<[^>]*>\]?)?(?:\s+- ?(.*))?$", line)
        if not entry:
            if re.match(r"\S", line) and line.endswith(":"):
                options = []
                page.sections.append((line.rstrip(":"), options))
            continue
        if options is None:
            options = []
            page.sections.append(("Options", options))
        indent, head, value, what = len(entry[1]), entry[2], entry[3] or "", (entry[4] or "").strip()
        if head.startswith("="):
            of = inner or outer
            of.words.append(head[1:])
            options.append(Option([head[1:]], "", what, of.level + 1))
        elif indent < 8:  # an option, or a pass
            outer, inner = Option([head], value, what, 0), None
            options.append(outer)
        elif outer:
            inner = Option([head.lstrip("-")], value, what, 1)
            outer.parts.append(inner)
            options.append(inner)
    page.sections = [(title, options) for title, options in page.sections if options]
    return page


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def manPage(page, version):
    out = ['.TH %s 1 "" "gpu\\-async %s" "User Commands"' % (page.name.upper(), version), ".SH NAME",
           roff("%s - %s" % (page.name, page.summary)), ".SH SYNOPSIS"]
    out += [".B " + roff(line) for line in page.synopsis]
    out.append(".SH DESCRIPTION")
    for part in page.description:
        out += [roff(part), ".PP"]
    out.append(".SH OPTIONS")
    for title, options in page.sections:
        out.append(".SS " + roff(title))
        for option in options:
            head = ", ".join("\\fB%s\\fR" % roff(name) for name in option.names)
            head += "\\fI%s\\fR" % roff(option.value) if option.value else ""
            out += [".RS %d" % (4 * option.level)] * (option.level > 0)
            out += [".TP", head, roff(option.text) or "\\&"]
            out += [".RE"] * (option.level > 0)
    if page.epilogue:
        out += [".SH EXIT STATUS", *(roff(part) for part in page.epilogue)]
    return "\n".join(out) + "\n"


def named(option):
    """The words that an option is written by: with a = where a value follows."""
    for name in option.names:
        if not option.isFlag() and name.startswith("--"):
            if option.isOptional():
                yield name
            yield name + "="
        else:
            yield name


def tables(page):
    """What may follow each prefix "--name" or "--pass=option", before an =."""
    found = {}
    for option in page.options():
        for name in option.names:
            if option.words:
                found[name] = option.words
            if option.parts:
                found[name] = [part.names[0] + "=" * bool(part.value or part.words) for part in option.parts]
                for part in option.parts:
                    if part.words:
                        found["%s=%s" % (name, part.names[0])] = part.words
    return found


BASH = r"""# bash completion of @name@, made of its --help
_@id@() {
  local line=${COMP_LINE:0:COMP_POINT} word key= words= before= quoted="(--[a-z0-9-]+)=[\"']([^\"']*)\$"
  word=${line##*[[:space:]]}
  # Options of a pass in quotes: the pass counts as part of the word, and readline
  # replaces all that is behind the quote.
  if [[ $line =~ $quoted ]]; then
    before=${BASH_REMATCH[2]%"${BASH_REMATCH[2]##*[ =]}"}
    word=${BASH_REMATCH[1]}=${BASH_REMATCH[2]##* }
  fi
  case $word in
    -*=*) key=${word%=*} ;;
    -*) words='@options@' ;;
    *) [[ " @separate@ " == *" ${COMP_WORDS[COMP_CWORD - 1]} "* ]] && key=${COMP_WORDS[COMP_CWORD - 1]} ;;
  esac
  case $key in
@cases@
  esac
  # Without words, readline completes names of files.
  COMPREPLY=($(compgen -W "$words" -- "${word##*=}"))
  [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
  # readline replaces the text behind the =, where that ends words.
  if [[ -n $before ]]; then
    COMPREPLY=("${COMPREPLY[@]/#/$before}")
  elif [[ $word == -*=* && $COMP_WORDBREAKS != *=* ]]; then
    COMPREPLY=("${COMPREPLY[@]/#/$key=}")
  fi
}
complete -o default -F _@id@ @name@
"""


def bash(page):
    cases = ["    %s) words='%s' ;;" % (key, " ".join(words)) for key, words in sorted(tables(page).items())]
    words = sorted({name for option in page.options() for name in named(option)})
    separate = sorted(name for option in page.options() if option.words and not option.isOptional() for name in option.names)
    return (BASH.replace("@name@", page.name).replace("@id@", page.name.replace("-", "_"))
            .replace("@options@", " ".join(words)).replace("@separate@", " ".join(separate))
            .replace("@cases@", "\n".join(cases)))


def quoted(text):
    return "'%s'" % text.replace("'", "'\\''")


def zsh(page):
    out = ["#compdef " + page.name, "# zsh completion, made of its --help", "_arguments -S \\"]
    for option in page.options():
        text = re.sub(r"([\[\]:\\])", r"\\\1", option.text)
        for name in option.names:
            if option.isFlag():
                out.append("  %s \\" % quoted("*%s[%s]" % (name, text)))
                continue
            words = option.words or [part.names[0] + "=" * bool(part.value or part.words) for part in option.parts]
            action = "(%s)" % " ".join(re.sub(r"([:()\\])", r"\\\1", word) for word in words) if words else "_files"
            colons = "::" if option.isOptional() else ":"
            equals = ("=-" if colons == "::" else "=") if name.startswith("--") else ""
            out.append("  %s \\" % quoted("*%s%s[%s]%svalue:%s" % (name, equals, text, colons, action)))
    out.append("  '*:file:_files'")
    return "\n".join(out) + "\n"


def main():
    tool, version, *files = sys.argv[1:]
    text = subprocess.run([tool, "--help"], check=True, capture_output=True, text=True).stdout
    read = readLLVM if text.startswith("OVERVIEW:") else readOwn
    page = read(pathlib.Path(tool).name, text)
    if not page.options():
        sys.exit("ToolPages.py: no option found in what %s --help prints" % tool)
    for file, content in zip(files, (manPage(page, version), bash(page), zsh(page))):
        pathlib.Path(file).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(file).write_text(content)


main()
