#!/usr/bin/env python3
"""Writes a kernel that works, and its row in the table: the place from which a new one is made.

    new_candidate.py OP TECHNIQUE [ISA]

OP is a folder of src/ops with CPU kernels, TECHNIQUE a new name such as my_way, ISA one of portable,
neon, avx2, avx512 (the best of this machine when it is left out).
"""

import pathlib
import platform
import re
import subprocess
import sys

ISAS = ("portable", "neon", "avx2", "avx512")

# What a row of the operation's table holds after name and source: right for every problem, tried
# after all others until it says for which keys it is good.
ROWS = {
    "matmul": "{{.f32 = {technique}<F32>, .f64 = {technique}<F64>}}, always_legal, naive_priority",
    "reduce": "{technique}<F32>, {technique}<F64>, naive_illegal, naive_sum_priority",
}


class Refused(Exception):
    pass


def best_isa():
    if platform.machine() == "aarch64":
        return "neon"
    try:
        flags = set(re.findall(r"\w+", pathlib.Path("/proc/cpuinfo").read_text()))
    except OSError:
        return "portable"
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= flags:
        return "avx512"
    return "avx2" if {"avx2", "fma"} <= flags else "portable"


def with_include(text, header):
    """The text of a file with one more #include, in its place among the sorted ones."""
    line = f'#include "{header}"\n'
    includes = [m for m in re.finditer(r'^#include ".*"\n', text, re.M)]
    at = next((m.start() for m in includes if m.group(0) > line), includes[-1].end())
    return text[:at] + line + text[at:]


def with_row(text, row):
    """The text of a table with one more row at the end of kRows."""
    table = re.search(r"kRows\[\] = \{\n(.*?)^\};\n", text, re.M | re.S)
    if not table:
        raise Refused("there is no table kRows in the file of this instruction set")
    return text[:table.end(1)] + row + text[table.end(1):]


def add(root, op, technique, isa):
    """Writes both; gives the two paths."""
    skeletons = root / "tools" / "skeletons"
    known = sorted(path.name.removesuffix("-inl.h") for path in skeletons.glob("*-inl.h"))
    if op not in known:
        raise Refused(f"there is no operation '{op}'; there are: {', '.join(known)}")
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", technique):
        raise Refused(f"'{technique}' is no name in snake_case, such as my_way")
    if isa not in ISAS:
        raise Refused(f"there is no instruction set '{isa}'; there are: {', '.join(ISAS)}")
    folder = root / "src" / "ops" / op / "cpu"
    kernel = folder / f"{technique}-inl.h"
    if kernel.exists():
        raise Refused(f"{kernel.relative_to(root)} is there already")
    text = (skeletons / f"{op}-inl.h").read_text(encoding="utf-8")
    text = text.replace("GUARD", technique.upper()).replace("TECHNIQUE", technique)
    text = text.replace("CAMEL", "".join(part.capitalize() for part in technique.split("_")))

    table = folder / f"kernels_{isa}.cc"
    row = f'    {{"{technique}_{isa}", "{technique}", {ROWS[op].format(technique=technique)}}},\n'
    changed = with_include(with_row(table.read_text(encoding="utf-8"), row),
                           f"ops/{op}/cpu/{technique}-inl.h")
    kernel.write_text(text, encoding="utf-8")
    table.write_text(changed, encoding="utf-8")
    # Where lines break depends on the length of the name.
    subprocess.run(["clang-format-14", "-i", kernel, table], check=True)
    return kernel, table


def main():
    if not 3 <= len(sys.argv) <= 4:
        print(__doc__, file=sys.stderr)
        return 2
    root = pathlib.Path(__file__).resolve().parent.parent
    op, technique = sys.argv[1:3]
    isa = sys.argv[3] if len(sys.argv) == 4 else best_isa()
    try:
        kernel, table = add(root, op, technique, isa)
    except Refused as why:
        print(f"new-candidate: {why}", file=sys.stderr)
        return 2
    print(f"""\
{kernel.relative_to(root)}: the kernel; it works as it is
{table.relative_to(root)}: its include and its row, {technique}_{isa}

The row claims that it can do every problem, and that others should be tried first: both are
functions of legality.h and priority.h beside it, to be replaced by what is true of your kernel.
./dev test ops_test holds it to the same tests as every other candidate.""")
    return 0


if __name__ == "__main__":
    sys.exit(main())
