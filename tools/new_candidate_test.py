#!/usr/bin/env python3
"""Makes a candidate of each operation in a copy of the tree, and compiles and runs it."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

import new_candidate

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The rows of all instruction sets are looked at; only those of this one can run everywhere.
ISA = "portable"
FLAGS = ["-std=c++23", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]


class NewCandidateTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for top in ("src", "include", "tools"):
            shutil.copytree(ROOT / top, self.root / top)
        shutil.copy(ROOT / ".clang-format", self.root)

    def run_in_copy(self, *command):
        done = subprocess.run(command, cwd=self.root, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)

    def compile(self, *arguments):
        self.run_in_copy("g++", *FLAGS, "-Isrc", "-Iinclude", "-I.", *arguments)

    def try_candidate(self, op, *others):
        """`others` are sources that the kernels of the operation call."""
        kernel, table = new_candidate.add(self.root, op, "my_way", ISA)
        before = (ROOT / table.relative_to(self.root)).read_text().splitlines()
        added = [line for line in table.read_text().splitlines() if line not in before]
        text = "\n".join(added)
        self.assertEqual(text.count("#include"), 1, text)
        self.assertEqual(text.count('"my_way_portable"'), 1, text)
        self.assertLessEqual(len(added), 7, "an include and a row: " + text)
        self.run_in_copy("clang-format-14", "--dry-run", "-Werror", str(kernel), str(table))
        self.compile("-c", str(table), "-o", "table.o")
        program = (self.root / "tools" / "skeletons" / f"run_{op}.cc").read_text()
        (self.root / "run.cc").write_text(program.replace("TECHNIQUE", "my_way"))
        self.compile("-I.", "run.cc", *others, "-o", "run")
        self.run_in_copy("./run")

    def test_matmul(self):
        self.try_candidate("matmul", "src/ops/matmul/cpu/batch.cc")

    def test_reduce(self):
        self.try_candidate("reduce")

    def test_every_instruction_set(self):
        for op in new_candidate.ROWS:
            for isa in new_candidate.ISAS:
                new_candidate.add(self.root, op, f"way_{isa}", isa)

    def test_refusals_change_nothing(self):
        def tree():
            return {path: path.read_bytes() for path in (self.root / "src").rglob("*")
                    if path.is_file()}
        before = tree()
        for arguments in [("conv", "my_way", ISA), ("matmul", "naive", ISA),
                          ("matmul", "My-Way", ISA), ("matmul", "../x", ISA), ("matmul", "", ISA),
                          ("matmul", "my_way", "avx1024"), ("../matmul", "my_way", ISA)]:
            with self.assertRaises(new_candidate.Refused):
                new_candidate.add(self.root, *arguments)
        self.assertEqual(tree(), before)


if __name__ == "__main__":
    unittest.main()
