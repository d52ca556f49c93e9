#!/usr/bin/python3
"""ferry-litmus --transport: litmus tests for real, between processes, and what becomes of them when one dies."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

import program

NAME = "ferry-litmus"
SUITE = [str(path) for path in sorted(pathlib.Path("tests/sim/litmus/suite").glob("*.litmus"))]
TRANSPORTS = {"shm": "500", "tcp": "60"}  # and how many runs


class Folder(unittest.TestCase, program.Checks):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, text):
        path = os.path.join(self.folder.name, "t.litmus")
        pathlib.Path(path).write_text(text)
        return path


class Running(Folder):
    def test_no_test_of_the_suite_shows_what_portable_does_not_have(self):
        for transport, runs in TRANSPORTS.items():
            with self.subTest(transport=transport):
                lines = self.succeed(NAME, *SUITE, "--transport", transport, "--runs", runs).splitlines()
                self.assertEqual(len(lines), 54 + 1)
                for line in lines[:-1]:
                    self.assertRegex(line, rf"^[A-Z]\d\d {transport} {runs} runs [1-9]\d* outcomes? "
                                           r"\(portable has [1-9]\d*\) ok(, as asked in [1-9]\d*)?$")
                self.assertEqual(lines[-1], f"54 tests on {transport}: 54 ok; seed 1; what is not seen may still be "
                                            "allowed; atomics in the cpu domain")

    def test_only_what_portable_forbids(self):
        lines = self.succeed(NAME, *SUITE, "--transport", "shm", "--forbidden", "--runs", "20").splitlines()
        names = {line.split()[0] for line in lines[:-1]}
        self.assertTrue({"L09", "L20", "D02"} <= names and not {"L08", "L13", "T01"} & names, names)

    def test_outcomes_and_hits_as_json(self):
        for option in ("--json", "--outcomes"):
            lines = self.succeed(NAME, *SUITE, "--transport", "shm", "--runs", "100", "--seed", "9", option)
            lines = lines.splitlines()
            self.assertEqual(len(lines), 54)
            for line in map(json.loads, lines):
                self.assertEqual([line["transport"], line["seed"], line["runs"], line["stuck"], line["result"],
                                  line["weaker"]], ["shm", 9, 100, 0, "ok", []])
                self.assertEqual(len(line["hits"]), len(line["outcomes"]))
                self.assertEqual(sum(line["hits"]), 100)
                self.assertLessEqual(len(line["hits"]), line["portable"])

    def test_values_that_leave_no_choice(self):
        path = self.file("litmus T\ninit a@A=18446744073709551615 x@B=3 y@A=0 r@A=0\nqueue q A B\nqueue p A A\n"
                         "thread A on A\nrfaa q r@A <- x@B + 4\npoll q\nput q x@B <- a@A\npoll q\nget p y@A <- a@A\n"
                         "poll p\nld s y@A\ncas t r@A 3 5\n")
        for transport in TRANSPORTS:
            line = json.loads(self.succeed(NAME, path, "--transport", transport, "--runs", "50", "--outcomes"))
            self.assertEqual(line["hits"], [50])
            self.assertEqual(line["outcomes"], [{"a@A": 2**64 - 1, "x@B": 2**64 - 1, "y@A": 2**64 - 1, "r@A": 5,
                                                 "A:s": 2**64 - 1, "A:t": 3}])

    def test_runs_that_get_stuck_are_counted(self):
        path = self.file("litmus S\ninit a@A=1 x@B=0\nqueue q A B\nthread A on A\nput.imm q x@B <- a@A\n"
                         "thread B on B\nrpoll q\nwait x@B 2\n")
        for transport in TRANSPORTS:
            self.assertEqual(self.succeed(NAME, path, "--transport", transport, "--runs", "30").splitlines()[0],
                             f"S {transport} 30 runs 0 outcomes (portable has 0) ok, 30 stuck")

    def test_a_program_without_threads_ends_as_it_begins(self):
        path = self.file("litmus T\ninit x@A=4\n")
        line = json.loads(self.succeed(NAME, path, "--transport", "shm", "--runs", "7", "--json"))
        self.assertEqual([line["outcomes"], line["hits"]], [[{"x@A": 4}], [7]])

    def test_statistics_say_how_fast_it_was(self):
        done = program.run(NAME, SUITE[0], "--transport", "shm", "--runs", "10", "--statistics")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"^ferry-litmus: [1-9]\d* runs in \d+\.\d{3} s, [1-9]\d* runs/s\n$")


class Failing(Folder):
    def refuse(self, *words, command):
        done = program.run(NAME, *command)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertEqual(done.stdout, "")
        for word in words:
            self.assertIn(word, done.stderr)

    def test_wrong_usage_ends_with_2_and_says_what_is_wrong(self):
        real = [SUITE[0], "--transport", "shm"]
        for words, command in [
                (["--strategy", "--transport"], [*real, "--strategy", "random"]),
                (["--profile", "held against portable"], [*real, "--profile", "strict"]),
                (["--explain", "--transport"], [*real, "--explain", "A01"]),
                (["--svg", "--transport"], [*real, "--svg", "x"]),
                (["--runs"], [*real, "--runs", "0"]),
                (["--transport"], [SUITE[0], "--transport"]),
                (["cannot open", "none.litmus"], ["none.litmus", "--transport", "tcp"])]:
            with self.subTest(command=command):
                self.refuse(*words, command=command)

    def test_a_transport_that_is_not_there_is_said(self):
        devices = pathlib.Path("/sys/class/infiniband")
        if not (devices.is_dir() and any(devices.iterdir())):
            done = program.run(NAME, SUITE[0], "--transport", "verbs")
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            self.assertRegex(done.stderr, "this host has no RDMA device|this build has no verbs transport")

    def test_a_process_that_dies_ends_the_run(self):
        path = self.file("litmus K\ninit a@A=1 x@B=0\nqueue q A B\nthread A on A\nput q x@B <- a@A\npoll q\n"
                         "thread B on B\nld r x@B\n")
        for victim in (0, 1):
            with subprocess.Popen([program.BIN / NAME, path, "--transport", "tcp", "--runs", "1000000000"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
                children = pathlib.Path(f"/proc/{running.pid}/task")
                found = []
                while len(found) < 2 and running.poll() is None:
                    found = sorted(int(child) for task in children.iterdir()
                                   for child in (task / "children").read_text().split())
                    time.sleep(0.01)
                os.kill(found[victim], signal.SIGKILL)
                out, complaint = running.communicate(timeout=60)
                self.assertEqual(running.returncode, 2, complaint)
                self.assertIn("K tcp: ", complaint)
                self.assertIn("1 test on tcp: 0 ok, 1 unknown", out)


if __name__ == "__main__":
    unittest.main()
