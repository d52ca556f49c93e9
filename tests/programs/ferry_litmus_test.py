#!/usr/bin/python3
"""ferry-litmus: verdicts, outcomes, sampling, explanations, diagrams, and what it refuses."""

import json
import os
import pathlib
import pty
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

import program

NAME = "ferry-litmus"
FOLDER = pathlib.Path("tests/sim/litmus/suite")
SUITE = [str(path) for path in sorted(FOLDER.glob("*.litmus"))]
SINGLE = str(FOLDER / "single-initiator.litmus")
DETAILS = str(FOLDER / "details.litmus")
SVG = "{http://www.w3.org/2000/svg}"


def stores(threads):
    """A test in which each thread stores three times: 10 states for each, multiplied."""
    return ("litmus Large\ninit " + " ".join(f"x{thread}@A=0" for thread in range(threads)) + "\n"
            + "".join(f"thread T{thread} on A\n" + f"  st x{thread}@A 1\n" * 3 for thread in range(threads))
            + "ask x0@A = 1\n")


class Folder(unittest.TestCase, program.Checks):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, text, name="t.litmus"):
        path = os.path.join(self.folder.name, name)
        pathlib.Path(path).write_text(text)
        return path

    def refuse(self, *words, command, stdout=""):
        """Exit status 2, one line on stderr with all the words."""
        done = program.run(NAME, *command)
        self.assertEqual(done.returncode, 2, f"{command}\n{done.stdout}{done.stderr}")
        self.assertEqual(done.stdout, stdout)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)


class Judging(Folder):
    def test_every_test_of_the_suite_gets_its_verdict(self):
        lines = self.succeed(NAME, *SUITE).splitlines()
        self.assertEqual(len(lines), 54 * 2 + 1)
        self.assertIn("L09 portable forbidden ok 58 states", lines)
        self.assertIn("L13 portable allowed ok 265 states", lines)
        for line in lines[:-1]:
            self.assertRegex(line, r"^[A-Z]\d\d (strict|portable) (allowed|forbidden) ok [1-9]\d* states$")
        self.assertEqual(lines[-1], "54 tests: 108 verdicts ok")

    def test_one_profile_alone(self):
        lines = self.succeed(NAME, "--profile", "strict", DETAILS).splitlines()
        self.assertEqual([line.split()[1] for line in lines[:-1]], ["strict"] * 4)
        self.assertEqual(lines[-1], "4 tests: 4 verdicts ok")

    def test_a_verdict_that_differs_ends_with_1(self):
        text = pathlib.Path(DETAILS).read_text().replace("portable forbidden", "portable allowed", 1)
        done = program.run(NAME, self.file(text))
        self.assertEqual(done.returncode, 1)
        self.assertIn("D01 portable forbidden DIFFERS 37 states, allowed expected\n", done.stdout)
        self.assertEqual(done.stdout.splitlines()[-1], "4 tests: 7 verdicts ok, 1 DIFFER")

    def test_what_is_not_asked_or_not_expected_is_unchecked(self):
        path = self.file("litmus T\ninit x@A=1\nlitmus U\ninit x@A=1\nask x@A = 1\nexpect strict allowed\n")
        self.assertEqual(self.succeed(NAME, path).splitlines(), [
            "T strict unasked unchecked 1 state", "T portable unasked unchecked 1 state",
            "U strict allowed ok 1 state", "U portable allowed unchecked 1 state",
            "2 tests: 1 verdict ok, 3 unchecked"])

    def test_stuck_states_are_counted(self):
        path = self.file("litmus T\ninit x@A=0\nthread A on A\nwait x@A 1\nask x@A = 0\nexpect strict forbidden\n")
        self.assertEqual(self.succeed(NAME, "--profile", "strict", path).splitlines()[0],
                         "T strict forbidden ok 1 state, 1 stuck")

    def test_verdicts_as_json(self):
        lines = [json.loads(line) for line in self.succeed(NAME, "--json", SINGLE).splitlines()]
        self.assertEqual(len(lines), 2 * 23)
        self.assertIn({"litmus": "L09", "profile": "portable", "verdict": "forbidden", "expected": "forbidden",
                       "result": "ok", "states": 58, "stuck": 0}, lines)

    def test_a_test_with_too_many_states_is_given_up(self):
        path = self.file(stores(3))
        self.assertIn("Large strict allowed unchecked 1000 states", self.succeed(NAME, path, "--max-states", "1000"))
        done = program.run(NAME, "--max-states", "999", "--profile", "strict", path)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, "ferry-litmus: Large has more than 999 states under strict: raise --max-states "
                                      "or --max-memory, or sample it with --strategy random\n")
        self.assertEqual(done.stdout, "1 test: 0 verdicts ok, 1 unknown\n")

    def test_a_test_of_which_no_run_ends_says_so(self):
        path = self.file("litmus L\ninit x@A=0 y@B=0\nqueue q A B\nthread A on A\n put q y@B <- x@A\n"
                         " poll q\n poll q\nask y@B = 1\nexpect strict forbidden\n")
        self.assertRegex(self.succeed(NAME, path, "--profile", "strict", "--explain", "L"),
                         "No outcome satisfies y@B = 1: no run ends, for a thread waits or polls for what never comes "
                         r"\([0-9]+ stuck\)\.")

    def test_a_test_whose_states_take_too_much_memory_is_given_up(self):
        done = program.run(NAME, "--max-memory", "1", "--profile", "strict", self.file(stores(5)))
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, "^ferry-litmus: the states of Large under strict, [0-9]+ so far, "
                                      "take more than 1 MiB: raise --max-states or --max-memory, or sample it with "
                                      "--strategy random\n$")

    def test_statistics_say_how_fast_it_was(self):
        done = program.run(NAME, "--statistics", *SUITE)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"^ferry-litmus: [1-9]\d+ states in \d+\.\d{3} s, [1-9]\d* states/s\n$")

    def test_progress_is_for_terminals(self):
        path = self.file(stores(5))
        self.assertEqual(program.run(NAME, path).stderr, "")
        terminal, end = pty.openpty()
        done = subprocess.run([program.BIN / NAME, path], stdout=subprocess.DEVNULL, stderr=end, check=False)
        os.close(end)
        self.assertEqual(done.returncode, 0)
        shown = os.read(terminal, 1 << 16)
        os.close(terminal)
        self.assertIn(b"\rLarge strict: 65536 states", shown)


class ListingOutcomes(Folder):
    def test_one_line_per_test_and_profile(self):
        path = self.file("litmus T\ninit a@A=1 x@B=18446744073709551615\nqueue q A B\nthread A on A\n"
                         "put q x@B <- a@A\nthread B on B\nld r x@B\nask B:r = 1\nexpect strict forbidden\n")
        self.assertEqual(self.succeed(NAME, "--outcomes", path).splitlines(), [
            f'{{"litmus":"T","profile":"{profile}","states":23,"stuck":0,"outcomes":['
            '{"a@A":1,"x@B":1,"B:r":1},{"a@A":1,"x@B":1,"B:r":18446744073709551615}]}'
            for profile in ("strict", "portable")])

    def test_json_beside_outcomes_changes_nothing(self):
        self.assertEqual(self.succeed(NAME, "--outcomes", "--json", SINGLE), self.succeed(NAME, "--outcomes", SINGLE))


class Sampling(Folder):
    def test_what_is_not_seen_is_no_verdict(self):
        for strategy in ("random", "pct"):
            lines = self.succeed(NAME, "--strategy", strategy, "--runs", "500", *SUITE).splitlines()
            self.assertEqual(len(lines), 54 * 2 + 1)
            self.assertRegex(lines[-1], rf"; seed 1; what {strategy} runs do not see may still be allowed$")
            self.assertIn("L09 portable not-seen ok 500 runs, 0 of them", lines)
            for line in lines[:-1]:
                self.assertRegex(line, r"^[A-Z]\d\d (strict|portable) (allowed ok 500 runs, [1-9]\d* of them|"
                                       r"not-seen (ok|missed) 500 runs, 0 of them)$")

    def test_the_seed_decides(self):
        def sample(seed):
            return self.succeed(NAME, "--strategy", "random", "--runs", "200", "--seed", seed, "--outcomes", SINGLE)
        self.assertEqual(sample("7"), sample("7"))
        self.assertNotEqual(sample("7"), sample("8"))

    def test_hits_are_counted_per_outcome(self):
        line = self.succeed(NAME, "--strategy", "pct", "--runs", "300", "--seed", "5", "--profile", "portable",
                            "--outcomes", SINGLE).splitlines()[10]
        sampled = json.loads(line)
        self.assertEqual(list(sampled), ["litmus", "profile", "strategy", "seed", "runs", "stuck", "outcomes", "hits"])
        self.assertEqual([sampled["strategy"], sampled["seed"], sampled["runs"]], ["pct", 5, 300])
        self.assertEqual(len(sampled["hits"]), len(sampled["outcomes"]))
        self.assertEqual(sum(sampled["hits"]) + sampled["stuck"], 300)

    def test_a_forbidden_outcome_that_is_seen_differs(self):
        path = self.file("litmus T\ninit x@A=1\nask x@A = 1\nexpect strict forbidden, portable allowed\n")
        done = program.run(NAME, "--strategy", "random", "--runs", "3", path)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.splitlines()[:2], [
            "T strict allowed DIFFERS 3 runs, 3 of them, forbidden expected",
            "T portable allowed ok 3 runs, 3 of them"])


class Explaining(Folder):
    def test_a_shortest_run_is_told_step_by_step(self):
        lines = self.succeed(NAME, SINGLE, "--explain", "L13").splitlines()
        self.assertEqual(lines[0], "L13 strict: forbidden. No outcome satisfies B:r1 = 1 & B:r2 = 0.")
        self.assertEqual(lines[1], "L13 portable: allowed. A shortest run, of 16 steps, to B:r1 = 1 & B:r2 = 0:")
        self.assertEqual([line.split()[0] for line in lines[2:-1]], [str(n) for n in range(1, 17)])
        self.assertEqual(lines[-1], "final state: d@A=1 f@A=1 x@B=1 y@B=1 B:r1=1 B:r2=0")

    def check_diagram(self, path):
        root = xml.etree.ElementTree.parse(path).getroot()
        self.assertEqual(root.tag, SVG + "svg")
        width, height = float(root.get("width")), float(root.get("height"))
        spans = []
        for text in root.iter(SVG + "text"):
            size = {"label": 6.3, "sentence": 6.1}.get(text.get("class"))
            length = len(text.text or "") * (size or 5.5)
            x, y = float(text.get("x")), float(text.get("y"))
            left = x - length if text.get("text-anchor") == "end" else x
            self.assertTrue(0 <= y <= height, text.text)
            if size:
                self.assertTrue(0 <= left and left + length <= width, f"{path}: {text.text}")
                spans.append((y, left, left + length, text.text))
        spans.sort()
        for one in range(len(spans)):
            for other in spans[one + 1:one + 4]:
                near = abs(other[0] - spans[one][0]) < 10
                self.assertFalse(near and other[1] < spans[one][2] and spans[one][1] < other[2],
                                 f"{path}: {spans[one]} over {other}")
        arrows = [line for line in root.iter(SVG + "line") if line.get("class") == "arrow"]
        self.assertGreater(len(arrows), 8)
        return [text.text for text in root.iter(SVG + "text")]

    def test_diagrams_are_drawn_without_overlap(self):
        folder = os.path.join(self.folder.name, "new", "svg")
        self.succeed(NAME, *SUITE, "--svg", folder)
        drawn = sorted(os.listdir(folder))
        allowed = self.succeed(NAME, *SUITE).count(" allowed ok ")
        self.assertEqual(len(drawn), allowed)
        self.assertIn("C08.strict.svg", drawn)
        for name in drawn:
            self.check_diagram(os.path.join(folder, name))

    def test_one_diagram_with_the_text(self):
        self.succeed(NAME, SINGLE, "--explain", "L13", "--svg", self.folder.name)
        self.assertEqual(os.listdir(self.folder.name), ["L13.portable.svg"])
        texts = self.check_diagram(os.path.join(self.folder.name, "L13.portable.svg"))
        for text in ("L13 under the profile portable", "node A", "node B", "memory A", "NIC, A to B", "thread on B",
                     "sends x@B = 1", "reads memory", "final state: d@A=1 f@A=1 x@B=1 y@B=1 B:r1=1 B:r2=0"):
            self.assertIn(text, texts)


class Refusing(Folder):
    def test_wrong_usage_ends_with_2_and_says_what_is_wrong(self):
        for words, command in [
                (["FILE is required"], []),
                (["--profile", "lax"], [DETAILS, "--profile", "lax"]),
                (["--strategy", "luck"], [DETAILS, "--strategy", "luck"]),
                (["--runs", "sampled and real runs", "--strategy random"], [DETAILS, "--runs", "5"]),
                (["--seed", "sampled and real runs"], [DETAILS, "--seed", "5", "--strategy", "exhaustive"]),
                (["--runs"], [DETAILS, "--strategy", "random", "--runs", "0"]),
                (["--runs", "negative"], [DETAILS, "--strategy", "random", "--runs", "-1"]),
                (["--seed", "negative"], [DETAILS, "--strategy", "random", "--seed", "-1"]),
                (["--max-states"], [DETAILS, "--max-states", "0"]),
                (["--max-states", "--strategy"], [DETAILS, "--strategy", "pct", "--max-states", "5"]),
                (["--explain", "--strategy"], [DETAILS, "--strategy", "pct", "--explain", "D01"]),
                (["--svg", "--strategy"], [DETAILS, "--strategy", "pct", "--svg", "x"]),
                (["--outcomes", "--explain"], [DETAILS, "--outcomes", "--explain", "D01"]),
                (["--outcomes", "--svg"], [DETAILS, "--outcomes", "--svg", "x"]),
                (["--explain", "--json"], [DETAILS, "--json", "--explain", "D01"]),
                (["D99", "after `litmus`"], [DETAILS, "--explain", "D99"]),
                (["--transport", "rdma"], [DETAILS, "--transport", "rdma"]),
                (["--forbidden", "--transport"], [DETAILS, "--forbidden"])]:
            with self.subTest(command=command):
                self.refuse(*words, command=command)
        self.refuse("two tests are called D01", command=[DETAILS, DETAILS, "--svg", self.folder.name])

    def test_a_test_that_asks_nothing_cannot_be_explained(self):
        self.refuse("T asks nothing", "ask", command=[self.file("litmus T\n"), "--explain", "T"])

    def test_files_that_cannot_be_read(self):
        self.refuse("cannot open", "none.litmus", "No such file", command=[DETAILS, "none.litmus"])
        self.refuse("cannot read", "Is a directory", command=[self.folder.name])

    def test_a_malformed_file_is_refused_as_a_whole(self):
        path = self.file("litmus T\ninit x@A=0\nthread A on A\n  ld x@A r\n")
        self.refuse(f"{path}:4: found 'x@A'; expected REG", command=[DETAILS, path])

    def test_diagrams_that_cannot_be_written(self):
        plain = self.file("", "plain")
        for directory in (plain, os.path.join(plain, "below"), "/proc/none"):
            self.refuse("--svg", directory, command=[SINGLE, "--explain", "L01", "--svg", directory])
        os.mkdir(os.path.join(self.folder.name, "L01.strict.svg"))
        done = program.run(NAME, SINGLE, "--explain", "L01", "--profile", "strict", "--svg", self.folder.name)
        self.assertEqual(done.returncode, 2)
        self.assertIn("Is a directory", done.stderr)

    def test_output_that_cannot_be_written(self):
        for arguments in ([SINGLE], ["--outcomes", *SUITE], [SINGLE, "--explain", "L01"], ["--help"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([program.BIN / NAME, *arguments], stdout=full, stderr=subprocess.PIPE, text=True,
                                      check=False)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertEqual(done.stderr,
                             "ferry-litmus: the output could not be written: No space left on device\n")


if __name__ == "__main__":
    unittest.main()
