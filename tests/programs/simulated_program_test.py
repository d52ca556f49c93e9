#!/usr/bin/python3
"""The programs do in the simulator what they do elsewhere, with NICs of one profile. Every run checks itself.

  simulated_program_test.py PROGRAM PROFILE
"""

import json
import re
import sys
import unittest

import program


class Simulated(unittest.TestCase, program.Checks):
    profile = ""

    def simulate(self, name, *arguments):
        return self.succeed(name, *arguments, "--profile", self.profile)

    def accuracy(self, *arguments):
        output = self.simulate("parameter_server", "--transport", "sim", *arguments)
        return float(re.match(r"^OK accuracy=(\d\.\d{3}) ", output.splitlines()[-1])[1])

    def parameter_server(self):
        for seed in ("1", "2", "3"):
            with self.subTest(seed=seed):
                self.assertGreaterEqual(self.accuracy("--seed", seed), 0.92)
                self.assertGreaterEqual(self.accuracy("--seed", seed, "--workers", "64"), 0.93)
                faults = ("--faults", "crash,partition,loss")
                self.assertGreaterEqual(self.accuracy("--seed", seed, "--workers", "64", *faults), 0.93)

    def rdma_pingpong(self):
        for op in ("read", "write", "fetch_add", "compare_swap", "call"):
            for size, depth in (("8", "1"), ("4096", "7"), ("1MiB", "2")):
                for seed in ("1", "2"):
                    with self.subTest(op=op, size=size, depth=depth, seed=seed):
                        output = self.simulate("rdma_pingpong", "--transport", "sim", "--op", op, "--size", size,
                                               "--depth", depth, "--seed", seed, "--iterations", "60", "--warmup", "20",
                                               "--verify", "--json")
                        self.assertIs(json.loads(output)["verified"], True)

    def fan_out(self):
        for memory in ([], ["--store"]):
            for seed in ("1", "2", "3"):
                with self.subTest(memory=memory, seed=seed):
                    output = self.simulate("fan_out", "--nodes", "8", "--bytes", "12000000", "--fan", "3",
                                           "--seed", seed, *memory)
                    last = re.match(r"^OK star=(\S+) tree=(\S+) chain=(\S+) limit=", output.splitlines()[-1])
                    star, tree, chain = (float(seconds) for seconds in last.groups())
                    self.assertGreater(star, tree)
                    self.assertGreater(tree, chain)


if __name__ == "__main__":
    name, Simulated.profile = sys.argv[1:]
    outcome = unittest.TextTestRunner(verbosity=2).run(Simulated(name))
    sys.exit(0 if outcome.wasSuccessful() else 1)
