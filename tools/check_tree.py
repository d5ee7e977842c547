#!/usr/bin/env python3
"""Names every file that does not belong into the tree, and why.

Usage: check_tree.py [ROOT]; exits with 1 when there is something to name.
"""

import pathlib
import re
import subprocess
import sys

MOST_LINES = 600
# A longer file says at its top why it is.
REASON = re.compile(r"Longer than 600 lines because \S")
CODE = {".h", ".cc", ".py", ".cmake", ".sh"}

# Names of what a program makes; such files belong into build folders and caches.
GENERATED = re.compile(
    r"\.(o|a|so|d|pyc|log|orig|rej|bak|swp|db|db-wal|db-shm|gcda|gcno)$|~$|^core(\.\d+)?$"
    r"|^(CMakeCache\.txt|compile_commands\.json|Testing|old|\.DS_Store)$")

# Places of one machine, and hosts that packages come from: what is written here must hold on every
# machine. Folders of the system that every Linux has are no such places.
FORBIDDEN = [
    (re.compile(r"(?<![\w.~$}/-])/(home|work|root|Users|mnt|workspace)/[\w.-]"),
     "names a folder of one machine"),
    (re.compile(r"\b(deb|archive|security)\.(debian|ubuntu)\.(org|com)\b"
                r"|\bpypi\.org\b|\bfiles\.pythonhosted\.org\b|\bregistry\.npmjs\.org\b"
                r"|\bconda\.anaconda\.org\b|\bindex\.crates\.io\b"),
     "names a host that packages come from"),
]
# Debts: work that is not done is in the list of issues, not in the code.
DEBT = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def files_of(root):
    """The files that are, or would be, part of the project, given from `root`."""
    git = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others",
                          "--exclude-standard"], capture_output=True, check=False)
    if git.returncode == 0:
        names = git.stdout.decode().split("\0")
    else:  # an archive of the tree, with no repository around it
        names = [str(path.relative_to(root)) for path in root.rglob("*")]
        names = [n for n in names if not re.match(r"build[^/]*/|\.git/", n)]
    return sorted(n for n in set(names) if (root / n).is_file())


def problems(name, data):
    """What is wrong with one file, as a list of "name:line: text"."""
    path = pathlib.PurePosixPath(name)
    if any(GENERATED.search(part) for part in path.parts):
        return [f"{name}:1: is made by a program and must not be kept"]
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        return [f"{name}:1: is not text"]
    found = []
    lines = text.removesuffix("\n").split("\n")
    if text and not text.endswith("\n"):
        found.append(f"{name}:{len(lines)}: the last line has no end")
    if path.suffix in CODE and len(lines) > MOST_LINES and not REASON.search("\n".join(lines[:10])):
        found.append(f"{name}:{len(lines)}: more than {MOST_LINES} lines; divide it, or begin it "
                     f'with "Longer than {MOST_LINES} lines because ..."')
    # These two files have to spell what they look for.
    if name in ("tools/check_tree.py", "tools/check_tree_test.py"):
        return found
    for number, line in enumerate(lines, 1):
        if "\r" in line:
            found.append(f"{name}:{number}: a carriage return")
        for pattern, why in FORBIDDEN:
            if pattern.search(line):
                found.append(f"{name}:{number}: {why}: {line.strip()[:80]}")
        if (path.suffix in CODE or path.suffix == "") and DEBT.search(line):
            found.append(f"{name}:{number}: work left for later: {line.strip()[:80]}")
    return found


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else
                        pathlib.Path(__file__).resolve().parent.parent)
    found = []
    for name in files_of(root):
        found += problems(name, (root / name).read_bytes())
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
