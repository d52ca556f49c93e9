#!/usr/bin/python3
"""fan_out: every worker gets everything, the ways compare as they must, and a seed decides the run."""

import os
import re
import tempfile
import unittest
import xml.etree.ElementTree

import program

NAME = "fan_out"
LAST = re.compile(r"^OK star=(\d+\.\d{6}) tree=(\d+\.\d{6}) chain=(\d+\.\d{6}) limit=(\d+\.\d{6})$")
NODES = 20
SMALL = ("--nodes", str(NODES), "--bytes", "50000000")


class Comparing(unittest.TestCase, program.Checks):
    def times(self, *arguments):
        """Seconds of star, tree and chain, and the limit."""
        output = self.succeed(NAME, *arguments)
        last = LAST.match(output.splitlines()[-1])
        self.assertIsNotNone(last, output)
        return [float(seconds) for seconds in last.groups()]

    def test_the_star_takes_a_limit_for_each_worker_and_a_chain_is_faster_than_a_tree_than_a_star(self):
        star, tree, chain, limit = self.times(*SMALL)
        self.assertAlmostEqual(star / limit, NODES - 1, delta=0.1)  # the server's NIC never idles
        self.assertGreater(star, tree)
        self.assertGreater(tree, chain)
        self.assertGreater(chain, limit)

    def test_a_tree_of_one_is_a_chain_and_a_wide_one_a_star(self):
        star, tree, _, _ = self.times(*SMALL, "--fan", str(NODES))
        self.assertEqual(tree, star)
        _, tree, chain, _ = self.times(*SMALL, "--fan", "1")
        self.assertEqual(tree, chain)

    def test_stored_weights_arrive_with_the_right_contents(self):
        # A worker that finds others fails the program.
        for piece in ("1", "4099", "65536"):
            with self.subTest(piece=piece):
                bytes_ = "50" if piece == "1" else "500001"
                self.succeed(NAME, "--nodes", "5", "--bytes", bytes_, "--piece", piece, "--store")

    def test_ghosts_take_the_time_of_stored_weights(self):
        for seed in ("1", "2"):
            with self.subTest(seed=seed):
                arguments = ("--nodes", "6", "--bytes", "5000000", "--seed", seed)
                self.assertEqual(self.times(*arguments), self.times(*arguments, "--store"))

    def test_a_run_proves_that_its_seed_decides_it(self):
        output = self.succeed(NAME, "--nodes", "6", "--bytes", "5000000", "--seed", "2", "--check-determinism")
        for way, line in zip(("star", "tree", "chain"), output.splitlines(), strict=True):
            self.assertRegex(line, rf"^{way}: OK the same alone and after another world: passed after .* seed=2 hash=")

    def test_a_seed_decides_everything(self):
        runs = [self.succeed(NAME, *SMALL, "--seed", seed) for seed in ("1", "1", "2")]
        self.assertEqual(runs[0], runs[1])
        self.assertNotEqual(runs[0], runs[2])

    def test_the_plot_is_an_image_with_a_curve_for_each_way_and_a_point_for_each_worker(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plot.svg")
            self.succeed(NAME, *SMALL, "--ways", "chain,star", "--svg", path)
            image = xml.etree.ElementTree.parse(path).getroot()
        curves = image.findall("{http://www.w3.org/2000/svg}polyline")
        self.assertEqual([len(curve.get("points").split()) for curve in curves], [NODES - 1, NODES - 1])


class Refusing(unittest.TestCase, program.Checks):
    def test_a_plot_that_cannot_be_written_ends_with_1_and_one_line(self):
        self.fail_clearly("no/such/plot.svg",
                          command=[NAME, "--nodes", "2", "--bytes", "1", "--svg", "no/such/plot.svg"])

    def test_output_that_cannot_be_written_is_a_failure(self):
        self.fail_where_output_cannot_be_written(NAME, "--nodes", "2", "--bytes", "1")

    def test_wrong_usage_ends_with_2(self):
        for arguments in (["--nodes", "1"], ["--bytes", "0"], ["--bytes", "-1"], ["--ways", "pigeon"],
                          ["--profile", "loose"], ["--piece", "0"], ["--fan", "0"], ["--nonsense"]):
            with self.subTest(arguments=arguments):
                self.refuse_usage(arguments[0], command=[NAME, *arguments])
        self.refuse_usage("--store", command=[NAME, "--store"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
