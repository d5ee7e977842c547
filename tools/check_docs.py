#!/usr/bin/env python3
"""Keeps the documents true: every path they name is there, every command they show works.

    check_docs.py paths [FILE...]   links, and `code` that looks like a path of the tree
    check_docs.py run [FILE...]     the lines of each ```sh block, as one script, with exit status 0

Without files: all *.md of the tree. The conventions: a block marked ```sh is run, from the root of
the tree, with build/ in front of the PATH so that `rooftune` is the one just built, and with an
environment of the document's own; `./dev test` and `./dev check` are left out of it, as .ci/run
runs them anyway. A block marked ```console shows a session and is not run, because its output
differs from machine to machine or it takes long. Every other block needs its language (cpp, toml,
json, text).
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

FENCE = re.compile(r"^\s*(```+|~~~+)\s*(\S*)")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
CODE = re.compile(r"`([^`]+)`")
# A path begins with a folder of the tree, or names a file by its ending. With a blank, * or <
# in it, it is something else: a command, a pattern, a place to fill in.
FILE_NAME = re.compile(r"^[\w.-]+\.(h|cc|md|py|cmake|cmake\.in|json|csv)$")
# Named in documents, made by the build or by programs while they run.
MADE = re.compile(r"^(build[\w-]*/|\.rooftune\b|default\.db)")
RUN_BY_CI = {"./dev test", "./dev check"}
SECONDS = 300


class Document:
    """The text of a document, and its blocks of code."""

    def __init__(self, name, text):
        self.name = name
        self.prose = []   # (line number, line) outside of blocks
        self.blocks = []  # (line number of the first line, language, lines)
        fence = None
        for number, line in enumerate(text.splitlines(), 1):
            match = FENCE.match(line)
            if fence is None and match:
                fence = match.group(1)
                self.blocks.append((number + 1, match.group(2), []))
            elif fence is not None and line.strip() == fence:
                fence = None
            elif fence is not None:
                self.blocks[-1][2].append(line)
            else:
                self.prose.append((number, line))
        self.open = fence is not None


def looks_like_path(code, folders):
    if re.search(r"[\s*<>{}|$()=,;:\"']|\.\.\.", code) or code.startswith(("-", "/", "~", "http")):
        return False
    if MADE.match(code):
        return False
    first = code.removeprefix("./").split("/")[0]
    return (first in folders and "/" in code) or bool(FILE_NAME.match(code)) or code.startswith("./")


def exists(root, beside, code):
    """Whether a path given from the root, from an include root, or from beside the document is
    there; a bare file name may stand for any one file of that name."""
    for base in (root, beside, root / "src", root / "include"):
        if (base / code).exists():
            return True
    if "/" not in code:
        return any(code in files for top in ("include", "src", "tests", "bench", "examples", "tools",
                                             "cmake") for _, _, files in os.walk(root / top))
    return False


def path_problems(document, root):
    found = []
    beside = (root / document.name).parent
    folders = {entry.name for top in (root, root / "src", root / "include") if top.is_dir()
               for entry in top.iterdir() if entry.is_dir()}
    if document.open:
        found.append(f"{document.name}:{document.blocks[-1][0]}: this block has no end")
    for number, language, _ in document.blocks:
        if not language:
            found.append(f"{document.name}:{number}: a block without a language: `sh` is run, "
                         "`console` is not, `text` is for the rest")
    for number, line in document.prose:
        for target in LINK.findall(line):
            path = target.split("#")[0]
            if path and "://" not in target and not target.startswith("mailto:") and \
                    not (beside / path).exists():
                found.append(f"{document.name}:{number}: the link goes nowhere: {target}")
        for code in CODE.findall(line):
            if looks_like_path(code, folders) and not exists(root, beside, code):
                found.append(f"{document.name}:{number}: there is no {code}")
    return found


def run_problems(document, root):
    """Runs the blocks of one document in their order; one environment for all, as a reader has."""
    found = []
    scripts = [(number, lines) for number, language, lines in document.blocks if language == "sh"]
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "PATH": f"{root}/build:{os.environ['PATH']}",
                       "XDG_CACHE_HOME": home, "ROOFTUNE_ENVIRONMENT": f"{home}/environment"}
        for number, lines in scripts:
            lines = [line.removeprefix("$ ") for line in lines]
            script = "\n".join(line for line in lines
                               if line.split("#")[0].strip() not in RUN_BY_CI)
            print(f"{document.name}:{number}", flush=True)
            try:
                done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=root,
                                      env=environment, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      timeout=SECONDS, check=False)
                if done.returncode == 0:
                    continue
                what = f"exit status {done.returncode}"
                output = done.stdout
            except subprocess.TimeoutExpired as late:
                what = f"not done after {SECONDS} s"
                output = late.stdout or b""
            found.append(f"{document.name}:{number}: {what}:\n{script}\n"
                         f"{output.decode(errors='replace')[-2000:]}")
    return found


def main():
    problems = {"paths": path_problems, "run": run_problems}.get((sys.argv[1:] or [""])[0])
    if problems is None:
        print(__doc__, file=sys.stderr)
        return 2
    names = sys.argv[2:] or sorted(
        str(path.relative_to(ROOT)) for path in ROOT.rglob("*.md")
        if not path.relative_to(ROOT).parts[0].startswith(("build", ".")))
    found = []
    for name in names:
        found += problems(Document(name, (ROOT / name).read_text(encoding="utf-8")), ROOT)
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
