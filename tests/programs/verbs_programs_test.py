#!/usr/bin/python3
"""Programs over an RDMA device: rdma_pingpong, parameter_server, ferry-doctor."""

import json
import pathlib
import sys
import unittest

import program

DEVICES = pathlib.Path("/sys/class/infiniband")


class OverVerbs(unittest.TestCase, program.Checks):
    def test_every_operation_of_rdma_pingpong(self):
        for operation in ("read", "write", "fetch_add", "compare_swap", "call"):
            with self.subTest(operation):
                size = ["--size", "4096"] if operation in ("read", "write") else []
                told = json.loads(self.succeed("rdma_pingpong", "--json", "--transport", "verbs", "--op", operation,
                                               "--iterations", "100", "--warmup", "10", *size,
                                               *(["--verify"] if size else [])))
                self.assertEqual(told["transport"], "verbs")
                self.assertGreater(told["latency_ns"]["min"], 0)

    def test_bulk_is_moved_whole(self):
        for operation in ("read", "write"):
            told = json.loads(self.succeed("rdma_pingpong", "--json", "--transport", "verbs", "--op", operation,
                                           "--size", str(20 << 20), "--iterations", "3", "--warmup", "1", "--verify"))
            self.assertTrue(told["verified"])

    def test_parameter_server_learns(self):
        data = "examples/parameter_server/digits.csv"
        told = self.succeed("parameter_server", "--transport", "verbs", "--data", data, "--workers", "2", "--epochs",
                            "2")
        self.assertIn("OK accuracy=0.9", told)
        self.assertIn("transport=verbs", told)

    def test_doctor_names_the_device(self):
        verbs = json.loads(self.succeed("ferry-doctor", "--json"))["transports"][1]
        self.assertTrue(verbs["usable"], verbs)
        self.assertIn("port 1", verbs["notes"])


if __name__ == "__main__":
    if not (DEVICES.is_dir() and any(DEVICES.iterdir())):
        print("this host has no RDMA device; `ci/rxe-guest ctest --preset dev -L verbs` has one")
        sys.exit(77)
    unittest.main()
