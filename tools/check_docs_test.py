#!/usr/bin/env python3
"""What check_docs.py finds in small documents."""

import pathlib
import tempfile
import unittest

from check_docs import Document, path_problems, run_problems


class CheckDocsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("src/tune/plan.cc", "include/rooftune/error.h", "tools/a.py", "dev",
                     "docs/b.md"):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).touch()

    def paths(self, text, name="README.md"):
        return path_problems(Document(name, text), self.root)

    def run_blocks(self, text):
        return run_problems(Document("README.md", text), self.root)

    def test_paths_that_are_there(self):
        self.assertEqual(self.paths(
            "`src/tune/plan.cc` `tune/plan.cc` `plan.cc` `src/tune/` `./dev` `rooftune/error.h`\n"
            "[b](docs/b.md#part) [web](https://example.org/x) [here](#there)\n"
            "`build/rooftune` `src/*/cpu` `./dev test` `a/b` `1024/768` `OP` `std::mutex` `m/n/k`\n"
            "```text\n`src/gone.cc`\n```\n"), [])

    def test_paths_that_are_not(self):
        for text in ("`src/tune/gone.cc`", "`tune/gone.cc`", "`gone.cc`", "`./gone`",
                     "`rooftune/gone.h`", "see [b](docs/gone.md)", "`src/gone/`"):
            found = self.paths("\n" + text)
            self.assertEqual(len(found), 1, text)
            self.assertTrue(found[0].startswith("README.md:2: "), found)

    def test_links_are_relative_to_the_document(self):
        self.assertEqual(self.paths("[a](../tools/a.py)", "docs/b.md"), [])
        self.assertEqual(len(self.paths("[a](tools/a.py)", "docs/b.md")), 1)

    def test_blocks_need_a_language_and_an_end(self):
        self.assertEqual(len(self.paths("```\nx\n```\n")), 1)
        self.assertEqual(len(self.paths("```sh\nx\n")), 1)

    def test_commands(self):
        self.assertEqual(self.run_blocks("```sh\ntrue\n$ test -f dev\n./dev test  # minutes\n```\n"), [])
        self.assertEqual(self.run_blocks("```console\nfalse\n```\n"), [])
        found = self.run_blocks("text\n```sh\necho shown\nfalse\necho never\n```\n")
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].startswith("README.md:3: exit status 1"), found)
        self.assertIn("\nshown\n", found[0])
        self.assertNotIn("\nnever\n", found[0].split("echo never\n")[1])

    def test_commands_run_what_was_just_built(self):
        (self.root / "build").mkdir()
        program = self.root / "build" / "rooftune"
        program.write_text("#!/bin/sh\nexit 3\n")
        program.chmod(0o755)
        self.assertIn("exit status 3", self.run_blocks("```sh\nrooftune keys 1\n```\n")[0])


if __name__ == "__main__":
    unittest.main()
