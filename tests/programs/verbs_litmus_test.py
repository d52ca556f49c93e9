#!/usr/bin/python3
"""ferry-litmus --transport verbs: the suite over queue pairs of an RDMA device, between processes."""

import json
import pathlib
import sys
import unittest

import program

DEVICES = pathlib.Path("/sys/class/infiniband")
NAME = "ferry-litmus"
SUITE = [str(path) for path in sorted(pathlib.Path("tests/sim/litmus/suite").glob("*.litmus"))]
TESTS = 54
RUNS = 50
FORBIDDEN_RUNS = 300


# Atomics that exclude the processor's; words of one message that lie apart.
NOT_RUN = {"D03", "T10"}


class OverVerbs(unittest.TestCase, program.Checks):
    def run_suite(self, runs, *options):
        """The names of the tests that were run, and of those that were not. None was weaker than portable."""
        was_run, was_not = set(), set()
        lines = self.succeed(NAME, *SUITE, "--transport", "verbs", "--json", "--runs", str(runs), *options).splitlines()
        for line in map(json.loads, lines):
            self.assertEqual(line["transport"], "verbs")
            if "not_run" in line:
                was_not.add(line["litmus"])
                continue
            was_run.add(line["litmus"])
            ended = sum(line["hits"]) + line["stuck"]
            self.assertEqual([line["result"], line["weaker"], ended], ["ok", [], runs], line)
        return was_run, was_not

    def test_no_test_of_the_suite_shows_what_portable_does_not_have(self):
        was_run, was_not = self.run_suite(RUNS)
        self.assertEqual(len(was_run | was_not), TESTS)
        self.assertLessEqual(was_not, NOT_RUN)

    def test_what_portable_forbids_is_not_seen(self):
        was_run, _ = self.run_suite(FORBIDDEN_RUNS, "--forbidden", "--seed", "7")
        self.assertLessEqual({"L09", "L20", "D02"}, was_run)


if __name__ == "__main__":
    if not (DEVICES.is_dir() and any(DEVICES.iterdir())):
        print("this host has no RDMA device; `ci/rxe-guest ctest --preset dev -L verbs` has one")
        sys.exit(77)
    unittest.main()
