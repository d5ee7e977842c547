#!/usr/bin/env python3
"""Plants violations in a small tree and looks whether check_layers.py names them."""

import pathlib
import tempfile
import unittest

import check_layers


class CheckLayersTest(unittest.TestCase):
    def violations(self, **files):
        """What is found in a tree with one header in each room, and these files."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            headers = ["include/rooftune/" + name for name in check_layers.PUBLIC
                       if not name.endswith("/")]
            headers += [f"src/{room}/room.h" for room in check_layers.SEES
                        if room != "ops options"]
            headers.append("include/rooftune/detail/table.h")
            for path in headers:
                self.write(root / path, "")
            for path, text in files.items():
                self.write(root / path, text)
            return check_layers.violations(root)

    @staticmethod
    def write(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def test_a_tree_that_keeps_the_arrows(self):
        self.assertEqual(self.violations(**{
            "src/tune/tuner.cc": '#include "rooftune/tuner.h"\n#include <vector>\n'
                                 '#include "fmt/format.h"\n#include "store/room.h"\n'
                                 '#include "device/room.h"\n',
            "src/ops/matmul/cpu/candidates.cc": '#include "device/cpu/room.h"\n',
            "src/device/cpu/pool.cc": '#include "device/room.h"\n',
        }), [])

    def test_every_forbidden_pair_is_named_with_its_line(self):
        for room, forbidden in [
                ("base", "device"), ("device", "store"), ("device", "device/fake"),
                ("device/cpu", "device/fake"), ("device/cpu", "tune"), ("store", "throughput"),
                ("throughput", "store"), ("store", "tune"), ("tune", "device/cpu"),
                ("tune", "device/fake"), ("tune", "ops"), ("ops", "cli")]:
            path = f"src/{room}/file.cc"
            found = self.violations(**{path: f'\n// why\n#include "{forbidden}/room.h"\n'})
            self.assertEqual(
                found, [f"{path}:3: {room} must not include {forbidden} ({forbidden}/room.h)"])

    def test_public_headers_have_rooms(self):
        found = self.violations(**{
            "src/store/a.cc": '#include "rooftune/tuner.h"\n',
            "src/tune/b.cc": '#  include "rooftune/matmul.h"\n',
            "include/rooftune/error.h": '#include "rooftune/device.h"\n',
            "src/base/c.cc": '#include "rooftune/detail/table.h"\n',
        })
        self.assertEqual(len(found), 4, found)
        self.assertIn("src/tune/b.cc:1: tune must not include ops options (rooftune/matmul.h)",
                      found)

    def test_only_tests_see_the_fake_device(self):
        include = '#include "device/fake/room.h"\n'
        self.assertEqual(self.violations(**{"src/tune/tuner_test.cc": include}), [])
        self.assertEqual(len(self.violations(**{"src/tune/tuner.cc": include})), 1)
        self.assertEqual(len(self.violations(**{"src/tune/a_test.cc":
                                                '#include "device/cpu/room.h"\n'})), 1)

    def test_strange_includes(self):
        found = self.violations(**{
            "src/base/a.cc": '#include "base/gone.h"\n#include <rooftune/error.h>\n'
                             '#include "room.h"\n',
            "src/new_room/b.cc": "",
            "include/rooftune/new.h": "",
        })
        self.assertEqual(len(found), 5, found)


if __name__ == "__main__":
    unittest.main()
