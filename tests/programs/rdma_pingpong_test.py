#!/usr/bin/python3
"""rdma_pingpong: every operation over every transport, its output, its errors, and two ends started by hand."""

import json
import os
import pathlib
import secrets
import tempfile
import unittest
import xml.etree.ElementTree

import program

NAME = "rdma_pingpong"
TRANSPORTS = ["shm", "tcp"]
OPERATIONS = ["read", "write", "fetch_add", "compare_swap", "call"]
FIELDS = ["transport", "op", "size_bytes", "depth", "iterations", "warmup", "group_size", "clock_ns", "latency_ns",
          "bandwidth_bytes_per_s", "ops_per_s", "verified"]
SVG = "{http://www.w3.org/2000/svg}"


class Measuring(unittest.TestCase, program.Checks):
    def measure(self, *arguments):
        return json.loads(self.succeed(NAME, "--json", *arguments))

    def check(self, measured):
        self.assertEqual(list(measured), FIELDS)
        latency = measured["latency_ns"]
        self.assertEqual(list(latency), ["min", "p50", "p99", "p999", "max", "mean"])
        # Between two readings of the simulated clock anything can happen, at once too.
        self.assertGreater(latency["max" if measured["transport"] == "sim" else "min"], 0)
        timings = -(-measured["iterations"] // measured["group_size"])  # at least
        if timings >= 100:
            self.assertIsNotNone(latency["p99"])
        if measured["iterations"] < 100:
            self.assertIsNone(latency["p99"])
        if measured["iterations"] < 1000:
            self.assertIsNone(latency["p999"])
        rising = [value for value in list(latency.values())[:5] if value is not None]
        self.assertEqual(sorted(rising), rising)
        self.assertTrue(latency["min"] <= latency["mean"] <= latency["max"])
        self.assertGreaterEqual(measured["group_size"], 1)
        moved = 8 if measured["op"] in ("fetch_add", "compare_swap") else measured["size_bytes"]
        # Both are rounded to integers.
        self.assertLessEqual(abs(measured["bandwidth_bytes_per_s"] - measured["ops_per_s"] * moved), moved)

    def test_every_operation_is_verified_over_every_transport(self):
        for transport in TRANSPORTS + ["sim"]:
            for op in OPERATIONS:
                for size, depth in (("8", "1"), ("4096", "7"), ("1MiB", "2")):
                    with self.subTest(transport=transport, op=op, size=size, depth=depth):
                        measured = self.measure("--transport", transport, "--op", op, "--size", size, "--depth", depth,
                                                "--iterations", "60", "--warmup", "20", "--verify")
                        self.check(measured)
                        self.assertEqual(measured["transport"], transport)
                        self.assertEqual(measured["op"], op)
                        self.assertEqual(measured["iterations"], 60)
                        self.assertIs(measured["verified"], True)

    def test_auto_takes_a_transport_that_works(self):
        measured = self.measure("--iterations", "100")
        self.assertIn(measured["transport"], TRANSPORTS)
        self.assertIs(measured["verified"], False)

    def test_a_seed_decides_what_the_simulator_measures(self):
        first, again, other = (self.succeed(NAME, "--transport", "sim", "--json", "--depth", "4", "--iterations", "200",
                                            "--seed", seed) for seed in ("3", "3", "4"))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)

    def test_a_run_proves_that_its_seed_decides_it(self):
        output = self.succeed(NAME, "--transport", "sim", "--check-determinism", "--iterations", "200", "--seed", "3")
        self.assertRegex(output, r"^OK the same alone and after another world: passed after .* seed=3 hash=")
        self.assertEqual(len(output.splitlines()), 1, output)
        self.refuse_usage("--check-determinism", "add --transport sim", command=[NAME, "--check-determinism"])

    def test_odd_sizes_are_moved_to_the_last_byte(self):
        for transport in TRANSPORTS:
            for op in ("read", "write", "call"):
                with self.subTest(transport=transport, op=op):
                    self.measure("--transport", transport, "--op", op, "--size", "1000003", "--iterations", "5",
                                 "--verify")

    def test_people_get_a_table(self):
        lines = self.succeed(NAME, "--op", "write", "--size", "64", "--iterations", "100", "--verify").splitlines()
        self.assertRegex(lines[0], r"^write over (shm|tcp), depth 1$")
        self.assertEqual(lines[1].split(), ["size", "operations", "min", "p50", "p99", "p99.9", "max", "mean", "rate",
                                            "bandwidth", "group"])
        self.assertRegex(lines[2], r"^ +64 B +100 ")
        self.assertEqual(lines[-1], "verified: contents and guard bytes")
        self.assertEqual(lines[-2], "n/a: p99 needs 100 timings, p99.9 needs 1000; give --iterations.")

    def test_percentiles_are_told_where_there_are_timings_for_them(self):
        few, many, most = (self.measure("--transport", "tcp", "--size", "64KiB", "--iterations", count)["latency_ns"]
                           for count in ("99", "100", "1000"))
        self.assertEqual([few["p99"], few["p999"], many["p999"]], [None, None, None])
        self.assertGreaterEqual(many["p99"], many["p50"])
        self.assertGreaterEqual(most["p999"], most["p99"])
        table = self.succeed(NAME, "--transport", "tcp", "--size", "64KiB", "--iterations", "8").splitlines()
        self.assertEqual(table[2].split().count("n/a"), 2)
        self.assertIn("n/a (null)", " ".join(self.succeed(NAME, "--help").split()))

    def test_a_sweep_goes_from_8_bytes_to_256_mebibytes_and_is_drawn(self):
        with tempfile.TemporaryDirectory() as folder:
            picture = os.path.join(folder, "sweep.svg")
            measured = self.measure("--sweep", "--iterations", "2", "--warmup", "0", "--svg", picture)["sweep"]
            self.assertEqual([each["size_bytes"] for each in measured], [2**bit for bit in range(3, 29)])
            for each in measured:
                self.check(each)
            root = xml.etree.ElementTree.parse(picture).getroot()
        self.assertEqual(root.tag, SVG + "svg")
        curves = [curve.get("points").split() for curve in root.iter(SVG + "polyline")]
        self.assertEqual([len(points) for points in curves], [26, 26])  # no p99 of two timings
        for points in curves:
            for point in points:
                x, y = map(float, point.split(","))
                self.assertTrue(0 <= x <= float(root.get("width")) and 0 <= y <= float(root.get("height")), point)
        texts = [text.text for text in root.iter(SVG + "text")]
        for text in ("latency", "bandwidth", "p50", "8 B", "4 KiB", "128 MiB", "size of an operation"):
            self.assertIn(text, texts)


class Refusing(unittest.TestCase, program.Checks):
    def test_verbs_without_a_device_is_refused(self):
        self.refuse_verbs_where_there_is_none(NAME, "--transport", "verbs")

    def test_wrong_usage_ends_with_2_and_says_what_is_wrong(self):
        reference = ["--connect", "ferry1:00"]
        for words, arguments in [
                (["--op"], ["--op", "jump"]),
                (["--transport"], ["--transport", "pigeon"]),
                (["--size", "multiple of 8"], ["--op", "fetch_add", "--size", "12"]),
                (["--size", "at least 1"], ["--size", "0"]),
                (["--depth"], ["--depth", "0"]),
                (["--depth", "4 GiB"], ["--depth", "64", "--size", "1GiB"]),
                (["--iterations"], ["--iterations", "0"]),
                (["--iterations"], ["--iterations", "many"]),
                (["--iterations", "negative"], ["--iterations", "-5"]),
                (["--warmup", "negative"], ["--warmup", "-1", "--iterations", "10"]),
                (["--size", "negative"], ["--size", "-1"]),
                (["--size", "4 GiB"], ["--size", "100GiB"]),
                (["--seed", "negative"], ["--seed", "-1"]),
                (["--sweep"], ["--sweep", "--op", "fetch_add"]),
                (["--sweep"], ["--sweep", "--size", "8"]),
                (["--svg"], ["--svg", "x.svg"]),
                (["--secret-file"], reference),
                (["--connect"], ["--secret-file", "x", "--connect", "127.0.0.1:4567"]),
                (["--server"], ["--secret-file", "x", "--server", "127.0.0.1", *reference]),
                (["--server", "::1:8080"], ["--secret-file", "x", "--server", "::1:8080:x"]),
                (["--transport"], ["--secret-file", "x", "--transport", "sim", *reference]),
                (["--profile"], ["--profile", "srd"]),  # without --transport sim
                (["--profile"], ["--transport", "sim", "--profile", "loose"]), (["--nonsense"], ["--nonsense"])]:
            with self.subTest(arguments=arguments):
                self.refuse_usage(*words, command=[NAME, *arguments])

    def test_output_that_cannot_be_written_is_a_failure(self):
        for output in ([], ["--json"]):
            self.fail_where_output_cannot_be_written(NAME, "--iterations", "100", *output)
        self.fail_where_output_cannot_be_written(NAME, "--help")

    def test_what_cannot_be_done_ends_with_1_and_one_line(self):
        for words, arguments in [
                (["--svg", "cannot be written"], ["--sweep", "--svg", "no/such/folder/x.svg"]),
                (["too_large"], ["--op", "call", "--size", "17MiB", "--iterations", "1"]),
                (["too_large"], ["--transport", "sim", "--op", "call", "--size", "17MiB", "--iterations", "1"]),
                (["secret file"], ["--secret-file", "no/such/file", "--connect", "ferry1:00"])]:
            with self.subTest(arguments=arguments):
                self.fail_clearly(*words, command=[NAME, *arguments])

    def test_help_ends_with_0(self):
        self.assertIn("--verify", self.succeed(NAME, "--help"))


class TwoEnds(unittest.TestCase, program.Checks):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.secret = self.new_secret("secret")

    def new_secret(self, name):
        path = self.folder / name
        path.touch(mode=0o600)
        path.write_text(secrets.token_hex(32) + "\n", encoding="ascii")
        return str(path)

    def start_server(self, *arguments):
        """The process, its addresses and its reference."""
        server = program.start(NAME, "--server", "127.0.0.1", "--secret-file", self.secret, *arguments)
        self.addCleanup(self.end, server)
        addresses = []
        for line in server.stdout:
            kind, text = line.split()
            if kind == "reference":
                return server, addresses, text
            self.assertEqual(kind, "listening")
            addresses.append(text)
        self.fail("the server gave no reference: " + server.stderr.read())

    def end(self, server):
        if server.poll() is None:
            server.kill()
        server.communicate()

    def test_the_reference_is_all_that_the_other_end_needs(self):
        for transport in TRANSPORTS:
            with self.subTest(transport=transport):
                server, addresses, reference = self.start_server("--transport", transport)
                # shm finds a process of this host without any address.
                self.assertEqual([address.split(":")[0] for address in addresses], ["tcp"] * (transport == "tcp"))
                measured = json.loads(self.succeed(
                    NAME, "--connect", reference, "--secret-file", self.secret, "--transport", transport, "--json",
                    "--size", "4096", "--iterations", "50", "--verify"))
                self.assertEqual(measured["transport"], transport)
                self.assertIs(measured["verified"], True)
                self.assertEqual(server.wait(), 0, "one session, then it ends")

    def test_another_secret_is_refused(self):
        server, _, reference = self.start_server("--transport", "tcp")
        self.fail_clearly("does not know this job's secret", command=[
            NAME, "--connect", reference, "--secret-file", self.new_secret("other"), "--transport", "tcp"])
        self.assertIsNone(server.poll(), "the server goes on")

    def test_an_altered_reference_is_refused(self):
        _, _, reference = self.start_server()
        altered = reference[:-1] + ("0" if reference[-1] != "0" else "1")
        self.fail_clearly("checksum", command=[NAME, "--connect", altered, "--secret-file", self.secret])

    def test_a_secret_that_others_can_read_is_refused(self):
        os.chmod(self.secret, 0o644)
        self.fail_clearly("chmod 600", command=[NAME, "--server", "127.0.0.1", "--secret-file", self.secret])


if __name__ == "__main__":
    unittest.main(verbosity=2)
