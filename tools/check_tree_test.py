#!/usr/bin/env python3
"""What check_tree.py names, and what it lets pass."""

import unittest

from check_tree import problems


class CheckTreeTest(unittest.TestCase):
    def assert_named(self, name, data, what):
        found = problems(name, data)
        self.assertEqual(len(found), 1, found)
        self.assertIn(what, found[0])

    def test_good_files(self):
        for name, data in [
                ("src/base/a.cc", b"// /proc/self/maps, /usr/lib, /tmp/x, src/work/a, ./home/x\n"),
                ("docs/a.md", "# Länge\nhttps://www.sqlite.org/wal.html\n".encode()),
                ("README.md", b"line\n" * 601),
                ("src/base/b.cc", b"// Longer than 600 lines because it is a table.\n" * 700),
                ("src/base/empty.h", b""),
                ("src/store/database.cc", b"// default.db is the file\n"),
        ]:
            self.assertEqual(problems(name, data), [])

    def test_generated_files(self):
        for name in ("src/a.o", "a.pyc", "default.db", "x/CMakeCache.txt", "src/a.cc~", "core.12",
                     "src/old/a.cc"):
            self.assert_named(name, b"x\n", "must not be kept")

    def test_binaries(self):
        self.assert_named("tools/a", b"\x7fELF\0\0", "not text")
        self.assert_named("tools/b", b"\xff\xfe\n", "not text")

    def test_length(self):
        self.assert_named("src/a.cc", b"int a;\n" * 601, "more than 600 lines")
        self.assert_named("src/a.cc", b"int a;\n" * 601 + b"// Longer than 600 lines because x\n",
                          "more than 600 lines")

    def test_places_and_hosts(self):
        self.assert_named("a.md", b"in /home/me/x\n", "folder of one machine")
        self.assert_named("a.cc", b'"/work/main/src"\n', "folder of one machine")
        self.assert_named("a.md", b"deb.debian.org\n", "host")

    def test_debts_and_line_ends(self):
        self.assert_named("a.cc", b"// TODO later\n", "left for later")
        self.assert_named("a.cc", b"int a;\r\nint b;\n", "carriage return")
        self.assert_named("a.cc", b"int a;", "no end")


if __name__ == "__main__":
    unittest.main()
