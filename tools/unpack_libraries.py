#!/usr/bin/env python3
"""Takes the shared libraries out of wheels and puts them beside each other into one folder.

Usage: unpack_libraries.py FOLDER WHEEL...
"""

import pathlib
import re
import sys
import zipfile

LIBRARY = re.compile(r"\.so(\.\d+)*$")
# Parts of MKL for clusters, other integers and other pools of threads, and of OpenMP for debugging
# and for accelerators: most of what the wheels weigh, and no product needs them.
UNUSED = re.compile(r"blacs|scalapack|cdft|ilp64|tbb|omptarget|archer|_db\.|stubs")


def libraries(wheel):
    """Name and content of each library in a wheel; of several names for one file the shortest that
    has a number, which is the one that programs are linked to."""
    seen = {}
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            name = pathlib.PurePosixPath(entry.filename).name
            if LIBRARY.search(name) and not UNUSED.search(name):
                seen.setdefault((entry.CRC, entry.file_size), []).append((name, entry))
        for names in seen.values():
            numbered = [pair for pair in names if not pair[0].endswith(".so")]
            name, entry = min(numbered or names, key=lambda pair: len(pair[0]))
            yield name, archive.read(entry)


def main(folder, *wheels):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for wheel in wheels:
        for name, content in libraries(wheel):
            (folder / name).write_bytes(content)
        print(pathlib.Path(wheel).name)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
