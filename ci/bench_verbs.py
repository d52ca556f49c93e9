#!/usr/bin/python3 -B
"""Measures ferry over verbs beside perftest, in turn, where there is an RDMA device.

Called by ci/bench_run.py through ci/rxe-guest, so that both run in the same guest: bench_verbs.py FERRY_BENCH ROUNDS.
Prints a line of JSON for each figure of each round: nanoseconds of an operation. perftest polls, as it does by default,
and has as many requests under way as ferry. Nobody keeps to a core: soft-RoCE's own work needs one, too.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

DEPTH = 128
TIME_LIMIT = 120  # seconds, of one program
# As in tests/bench/verbs_section.cpp: bytes, name, operations.
LATENCIES = [(8, "8", 300), (4 << 10, "4Ki", 200)]
BANDWIDTHS = [(64 << 10, "64Ki", 128), (1 << 20, "1Mi", 16), (8 << 20, "8Mi", 5)]
RATE = (64, "64", 3000)


def gid_index(device):
    """The first that is an IPv4 address: the one that ferry takes, too."""
    folder = pathlib.Path(f"/sys/class/infiniband/{device}/ports/1/gids")
    for index in range(256):
        path = folder / str(index)
        if path.exists() and path.read_text().startswith("0000:0000:0000:0000:0000:ffff:"):
            return ["-x", str(index)]
    return []


def is_listening(port):
    for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1].endswith(f":{port:04X}") and fields[3] == "0A":
            return True
    return False


class Perftest:
    """One figure of one of its programs at a time."""

    def __init__(self):
        self.device = os.environ["FERRY_RDMA_DEVICE"]
        self.address = os.environ.get("FERRY_GUEST_ADDRESS", "127.0.0.1")
        self.common = ["-d", self.device, *gid_index(self.device), "-F"]
        self.port = 18600

    def measure(self, program, size, count, unit, *options):
        self.port += 1
        command = [program, *self.common, "-p", str(self.port), "-s", str(size), "-n", str(count), f"--output={unit}",
                   *options]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        try:
            while not is_listening(self.port):
                if server.poll() is not None:
                    raise SystemExit(f"bench_verbs: {' '.join(command)} ended with {server.returncode}")
            client = subprocess.run([*command, self.address], stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True, timeout=TIME_LIMIT, check=False)
            server.wait(timeout=TIME_LIMIT)
        finally:
            server.kill()
            server.wait()
        found = re.findall(r"^\s*([0-9]+\.[0-9]+)\s*$", client.stdout, re.MULTILINE)
        if client.returncode != 0 or not found:
            raise SystemExit(f"bench_verbs: {' '.join(command)} ended with {client.returncode}:\n{client.stdout}")
        return float(found[-1])


def report(name, value):
    print(json.dumps({"name": name, "value": value}), flush=True)


def run_perftest(perftest):
    for operation in ["read", "write"]:
        for size, name, count in LATENCIES:
            microseconds = perftest.measure(f"ib_{operation}_lat", size, count, "latency")
            # A write's is half a round trip.
            what = "latency/read" if operation == "read" else "ping_pong"
            report(f"verbs/{what}/{name}/limit", 1e3 * microseconds)
        for size, name, count in BANDWIDTHS:
            gigabits = perftest.measure(f"ib_{operation}_bw", size, count, "bandwidth", "--report_gbits", "-t",
                                        str(DEPTH))
            report(f"verbs/bandwidth/{operation}/{name}/limit", 8 * size / gigabits)
        size, name, count = RATE
        millions = perftest.measure(f"ib_{operation}_bw", size, count, "message_rate", "-t", str(DEPTH))
        report(f"verbs/rate/{operation}/{name}/limit", 1e3 / millions)


def main():
    ferry, rounds = sys.argv[1], int(sys.argv[2])
    perftest = Perftest()
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}: ferry", file=sys.stderr, flush=True)
        done = subprocess.run([ferry, "verbs"], timeout=TIME_LIMIT, check=False)
        if done.returncode != 0:
            raise SystemExit(f"bench_verbs: ferry_bench verbs ended with {done.returncode}")
        print(f"round {number + 1} of {rounds}: perftest", file=sys.stderr, flush=True)
        run_perftest(perftest)


if __name__ == "__main__":
    main()
