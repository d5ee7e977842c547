#!/usr/bin/env python3
"""Tests of unpack_libraries.py."""

import pathlib
import tempfile
import unittest
import zipfile

import unpack_libraries


class Unpack(unittest.TestCase):
    def test_libraries_only_each_once_and_flat(self):
        with tempfile.TemporaryDirectory() as temp:
            wheel = pathlib.Path(temp) / "some.whl"
            with zipfile.ZipFile(wheel, "w") as archive:
                for name, content in {
                        "a.data/data/lib/libdnnl.so": "dnnl", "a.data/data/lib/libdnnl.so.3": "dnnl",
                        "a.data/data/lib/libdnnl.so.3.2": "dnnl", "p/lib/libplain.so": "plain",
                        "a.data/data/lib/libmkl_blacs_lp64.so.2": "cluster",
                        "p/include/some.h": "header", "p/some.so.txt": "text"}.items():
                    archive.writestr(name, content)
            folder = pathlib.Path(temp) / "out"
            unpack_libraries.main(folder, wheel)
            self.assertEqual(sorted(file.name for file in folder.iterdir()),
                             ["libdnnl.so.3", "libplain.so"])
            self.assertEqual((folder / "libdnnl.so.3").read_text(), "dnnl")


if __name__ == "__main__":
    unittest.main()
