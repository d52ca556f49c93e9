#!/usr/bin/python3
"""ferry-doctor: its table, its JSON, its usage; what it says where there is an RDMA device, and where there is none."""

import json
import pathlib
import unittest

import program

NAME = "ferry-doctor"
DEVICES = pathlib.Path("/sys/class/infiniband")


class Doctor(unittest.TestCase, program.Checks):
    def test_every_transport_is_usable_or_says_why(self):
        told = json.loads(self.succeed(NAME, "--json"))
        self.assertEqual([entry["transport"] for entry in told["transports"]], ["shm", "verbs", "tcp"])
        for entry in told["transports"]:
            if entry["usable"]:
                self.assertTrue(entry["delivered_by"])
            else:
                self.assertGreater(len(entry["why"]), 20)
        tcp = told["transports"][2]
        self.assertTrue(tcp["usable"])

    def test_auto_takes_what_there_is(self):
        told = json.loads(self.succeed(NAME, "--json"))
        verbs = told["transports"][1]
        has_device = DEVICES.is_dir() and any(DEVICES.iterdir())
        if "this build has no verbs" in verbs.get("why", ""):
            self.assertNotIn("verbs", told["auto"])
        elif has_device:
            self.assertEqual(told["auto"], ["local", "shm", "verbs", "tcp"])
        else:
            self.assertEqual(told["auto"], ["local", "shm", "tcp"])
            self.assertIn("this host has no RDMA device", verbs["why"])
            self.assertIn("modprobe rdma_rxe", verbs["why"])

    def test_table_has_a_line_for_each(self):
        lines = self.succeed(NAME).splitlines()
        self.assertTrue(lines[0].startswith("transport"))
        for name in ("shm", "verbs", "tcp"):
            self.assertEqual(len([line for line in lines if line.startswith(name + " ")]), 1)
            self.assertEqual(len([line for line in lines if line.startswith(name + ":")]), 1)

    def test_wrong_usage_is_refused(self):
        self.refuse_usage("--nonsense", command=[NAME, "--nonsense"])

    def test_output_that_is_lost_is_told(self):
        self.fail_where_output_cannot_be_written(NAME)


if __name__ == "__main__":
    unittest.main()
