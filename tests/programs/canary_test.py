#!/usr/bin/python3
"""What judges programs must be able to fail: each check here meets a program that it must not accept."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER = tempfile.TemporaryDirectory()
os.environ["FERRY_BIN_DIR"] = FOLDER.name  # before program.py looks

import program  # pylint: disable=wrong-import-position

HERE = pathlib.Path(__file__).parent


def make(name, script):
    path = pathlib.Path(FOLDER.name) / name
    path.write_text("#!/bin/sh\n" + script + "\n", encoding="utf-8")
    path.chmod(0o755)
    return name


class Canary(unittest.TestCase, program.Checks):
    def test_success_is_told_from_failure(self):
        self.assertEqual(self.succeed(make("good", "echo fine")), "fine\n")
        for script in ("exit 1", "exit 2", "kill -9 $$"):
            with self.assertRaises(AssertionError):
                self.succeed(make("bad", script))

    def test_a_clear_failure_is_one_line_with_the_words_and_exit_code_1(self):
        self.fail_clearly("port 7", command=[make("clear", "echo port 7 is in use >&2; exit 1")])
        for script in ("exit 0", "echo port 7 >&2; exit 0", "echo port 7 >&2; exit 2", "echo something >&2; exit 1",
                       "exit 1", "echo port 7 >&2; echo and more >&2; exit 1", "echo port 7; exit 1"):
            with self.assertRaises(AssertionError, msg=script):
                self.fail_clearly("port 7", command=[make("unclear", script)])

    def test_wrong_usage_is_exit_code_2_and_nothing_done(self):
        self.refuse_usage("--size", command=[make("usage", "echo --size is wrong >&2; exit 2")])
        for script in ("exit 2", "echo --size >&2; exit 1", "echo --size >&2; echo done; exit 2", "exit 0"):
            with self.assertRaises(AssertionError, msg=script):
                self.refuse_usage("--size", command=[make("misuse", script)])

    def test_output_of_an_example_is_compared_to_the_last_byte(self):
        expected = pathlib.Path(FOLDER.name) / "expected.txt"
        expected.write_text("one\ntwo\n", encoding="utf-8")
        told = "{ echo 'example: the output could not be written: No space left on device' >&2; exit 1; }"
        for script, status in ((f"printf 'one\\ntwo\\n' 2>/dev/null || {told}", 0),
                               (f"printf 'one\\ntwo' 2>/dev/null || {told}", 1),
                               (f"printf 'one\\n' 2>/dev/null || {told}", 1),
                               (f"printf 'one\\ntwo\\n' 2>/dev/null || {told}; exit 3", 1),
                               (f"printf 'one\\ntwo\\n' 2>/dev/null || {told}; echo oh >&2", 1),
                               ("printf 'one\\ntwo\\n' 2>/dev/null; exit 0", 1),  # silent on a full disk
                               ("printf 'one\\ntwo\\n' 2>/dev/null || exit 1", 1)):
            judged = subprocess.run([sys.executable, HERE / "expected_output.py", make("example", script), expected],
                                    capture_output=True, check=False)
            self.assertEqual(judged.returncode, status, script)

    def test_a_simulated_example_prints_the_same_under_every_seed(self):
        (pathlib.Path(FOLDER.name) / "tests").mkdir()
        for script, status in (("echo 'Hello, world!'", 0),
                               ("echo 'Hello, world!'; echo oh >&2", 1),
                               ("echo 'Hello, world!'; exit 1", 1),
                               ("test $FERRY_SIM_SEED -lt 10 && echo 'Hello, world!'", 1),
                               ("test $FERRY_SIM_SEED -lt 10 || echo stuck; echo 'Hello, world!'", 1),
                               ("test $FERRY_SIM_PROFILE = iwarp && echo 'Hello, world!'", 1)):
            make("tests/simulated_01_hello_actor", script)
            judged = subprocess.run([sys.executable, HERE / "simulated_example.py", "01_hello_actor", "srd"],
                                    capture_output=True, check=False)
            self.assertEqual(judged.returncode, status, script)


if __name__ == "__main__":
    unittest.main(verbosity=2)
