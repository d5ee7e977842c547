#!/usr/bin/env python3
"""Names every #include that goes against the arrows of ARCHITECTURE.md.

    base <- device <- store, throughput <- tune <- ops <- cli

A room includes itself and the rooms to its left. device/cpu and device/fake stand behind the device
contract: only ops (and what is right of it) knows that they are there.
Usage: check_layers.py [ROOT]; exits with 1 when there is something to name.
"""

import pathlib
import re
import sys

# Room -> the other rooms it may include.
SEES = {
    "base": set(),
    "device": {"base"},
    "device/fake": {"base", "device"},
    "device/cpu": {"base", "device"},
    "device/cuda": {"base", "device"},
    "store": {"base", "device"},
    "throughput": {"base", "device"},
    "tune": {"base", "device", "store", "throughput"},
    "ops options": {"base", "device"},
    "ops": {"base", "device", "device/fake", "device/cpu", "device/cuda", "store", "throughput", "tune",
            "ops options"},
    "cli": {"base", "device", "device/fake", "device/cpu", "device/cuda", "store", "throughput", "tune",
            "ops options", "ops"},
}

# Public header (a name or a folder of include/rooftune/) -> the room whose contract it is.
PUBLIC = {
    "error.h": "base",
    "dtype.h": "base",
    "float16.h": "base",
    "float8.h": "base",
    "precision.h": "base",
    "function_ref.h": "base",
    "tensor.h": "base",
    "settings.h": "base",
    "events.h": "base",
    "device.h": "device",
    "key.h": "tune",
    "decision.h": "tune",
    "local_tuner.h": "tune",
    "tunable_set.h": "tune",
    "tune_context.h": "tune",
    "tuner.h": "tune",
    "detail/": "tune",
    # Plain structs with the arguments of a call.
    "matmul.h": "ops options",
    "reduce.h": "ops options",
    "packed_matrix.h": "ops",
    "session.h": "ops",
    "rooftune.h": "ops",
}

# The tests of a device run on the device contract's own texts, and the contract's tests run on the
# fake device, the only one that does as it is told.
TEST_SEES = {
    "device": {"device/fake"},
    "store": {"device/fake"},
    "throughput": {"device/fake"},
    "tune": {"device/fake"},
}

# First parts of the paths that name headers of this project.
OURS = {"rooftune"} | {room.split("/")[0] for room in SEES}

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def room_of(path):
    """The room of a file given from the project's root; None for a file outside of all rooms."""
    parts = path.parts
    if parts[:2] == ("include", "rooftune"):
        name = "/".join(parts[2:])
        folder = name.split("/")[0] + "/"
        return PUBLIC.get(name, PUBLIC.get(folder))
    if parts[0] != "src" or len(parts) < 3:
        return None
    for depth in (2, 1):
        room = "/".join(parts[1:1 + depth])
        if len(parts) > 1 + depth and room in SEES:
            return room
    return None


def resolve(root, name):
    for top in ("src", "include"):
        if (root / top / name).is_file():
            return pathlib.Path(top) / name
    return None


def violations(root):
    root = pathlib.Path(root)
    found = []
    files = [f for top in ("src", "include") for f in sorted((root / top).rglob("*"))
             if f.suffix in (".h", ".cc")]
    for file in files:
        path = file.relative_to(root)
        room = room_of(path)
        if room is None:
            found.append(f"{path}:1: belongs to no room: give it one in tools/check_layers.py")
            continue
        allowed = SEES[room] | {room}
        if path.name.endswith("_test.cc"):
            allowed |= TEST_SEES.get(room, set())
        lines = file.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            mark, name = match.groups()
            if mark == "<":
                if name.startswith("rooftune/"):
                    found.append(f'{path}:{number}: write "{name}": it is a header of this project')
                continue
            target = resolve(root, name)
            if target is None:
                if name.split("/")[0] in OURS:
                    found.append(f'{path}:{number}: "{name}" is under neither src/ nor include/')
                elif "/" not in name:
                    found.append(f'{path}:{number}: "{name}" must be written from src/ or include/')
                continue
            target_room = room_of(target)
            if target_room is not None and target_room not in allowed:
                found.append(f"{path}:{number}: {room} must not include {target_room} ({name})")
    return found


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    found = violations(root)
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
