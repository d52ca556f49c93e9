#!/usr/bin/python3
"""ferry-history as users run it: verdicts, exit codes, files that are no histories."""

import pathlib
import subprocess
import tempfile
import unittest

import program

GOOD = """{"model":"register"}
{"caller":0,"key":"x","call":"write","value":5,"called":10,"returned":20}
{"caller":1,"key":"x","call":"read","called":15,"returned":22,"result":5}
"""
STALE = GOOD + '{"caller":1,"key":"x","call":"read","called":30,"returned":40,"result":0}\n'


class FerryHistory(unittest.TestCase, program.Checks):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def test_each_file_gets_its_verdict_and_one_that_cannot_be_gives_exit_code_1(self):
        good, stale = self.file("good", GOOD), self.file("stale", STALE)
        self.assertEqual(self.succeed("ferry-history", good),
                         f"{good}: linearizable (2 calls, 1 objects, 2 configurations)\n")
        done = program.run("ferry-history", good, stale)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{stale}: NOT LINEARIZABLE", done.stdout)
        self.assertIn("caller 1: read = 0  [30, 40]", done.stdout)
        self.assertIn("leaves the value 5", done.stdout)

    def test_the_standard_input_is_a_file_too(self):
        done = subprocess.run([program.BIN / "ferry-history", "-"], input=STALE, capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("-: NOT LINEARIZABLE", done.stdout)

    def test_what_needs_too_much_is_undecided_and_not_passed(self):
        lines = ['{"model":"register"}'] + [
            f'{{"caller":{n},"call":"fetch_add","value":1,"called":0,"returned":9,"result":{9 - n}}}'
            for n in range(10)]
        path = self.file("wide", "\n".join(lines))
        self.succeed("ferry-history", path)
        done = program.run("ferry-history", "--max-configurations", "5", path)
        self.assertEqual(done.returncode, 1)
        self.assertIn("UNDECIDED", done.stdout)

    def test_wrong_usage_and_files_that_are_no_histories_are_exit_code_2(self):
        self.refuse_usage("FILE is required", command=["ferry-history"])
        self.refuse_usage("tree", command=["ferry-history", "--model", "tree", "x"])
        self.refuse_usage("/nonexistent cannot be read: No such file", command=["ferry-history", "/nonexistent"])
        self.refuse_usage("cannot be read", command=["ferry-history", str(self.folder)])
        self.refuse_usage("bad:2: this is no JSON", command=["ferry-history", self.file("bad", GOOD[:21] + "what\n")])

    def test_output_that_cannot_be_written_is_exit_code_2(self):
        for arguments in ([self.file("good", GOOD)], ["--help"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([program.BIN / "ferry-history", *arguments], stdout=full, stderr=subprocess.PIPE,
                                      text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stderr, "ferry-history: the output cannot be written: No space left on device\n")

    def test_a_line_of_any_depth_is_refused_in_a_sentence(self):
        deep = self.file("deep", '{"caller":0,"call":"read","value":' + "[" * 200000 + "]" * 200000 + "}")
        self.refuse_usage("deep:1: lists within lists", command=["ferry-history", "--model", "register", deep])


unittest.main()
