#!/usr/bin/python3
"""Runs ferry_bench and its peers in turn, several times, and makes a table, a chart and a JSON file of the samples.

Called by ci/bench, which builds the programs first. Everything that is compared runs in one go, one sample each per
round, so that whatever else the machine does meets all alike; a figure is the median of its rounds, a ratio the median
of the rounds' ratios. The two processes of a pair keep to a core of their own, ferry's, the sockets' and UCX's alike.
"""

import argparse
import atexit
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import bench_chart
import bench_rows

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = ROOT / "build/release/bin"
OUT = ROOT / "build/bench"
SIZES = {"8": 8, "4Ki": 4 << 10, "64Ki": 64 << 10, "1Mi": 1 << 20, "64Mi": 64 << 20}
SECTIONS = ["shm", "other", "tcp", "calls", "memory", "idle", "sim", "verbs"]
FEWEST_ROUNDS = 7  # but of verbs: --verbs-rounds
TIME_LIMIT = 120  # seconds, of one program
VERBS_ROUND_LIMIT = 120  # seconds, of a round of verbs
TRACING = "/sys/kernel/tracing"


class Samples:
    """Values by name, one list entry per round."""

    def __init__(self):
        self.values = {}

    def add(self, name, value):
        self.values.setdefault(name, []).append(value)


def say(text):
    print(text, file=sys.stderr, flush=True)


def raise_priority():
    """So that other work on the machine disturbs less. True if it was allowed."""
    try:
        os.setsid()
    except OSError:
        pass  # a session of its own already
    try:
        os.nice(-20)
        with open("/proc/self/autogroup", "w") as group:
            group.write("-20")
        return True
    except OSError:
        return False


def mount_tracing():
    """System calls are counted by a tracepoint of the kernel. What is mounted here is unmounted at the end."""
    if os.path.exists(TRACING + "/events") or os.geteuid() != 0:
        return
    done = subprocess.run(["mount", "-t", "tracefs", "nodev", TRACING], stderr=subprocess.DEVNULL, check=False)
    if done.returncode == 0:
        atexit.register(subprocess.run, ["umount", TRACING], stderr=subprocess.DEVNULL, check=False)


def run_json(samples, command):
    """Runs a program that prints a line of JSON per figure."""
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, timeout=TIME_LIMIT, check=False)
    if done.returncode != 0:
        raise SystemExit(f"ci/bench: {' '.join(map(str, command))} ended with {done.returncode}")
    for line in done.stdout.splitlines():
        figure = json.loads(line)
        samples.add(figure["name"], figure["value"])


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run_ucx(samples, transports, prefix, tests):
    """One ucx_perftest pair that runs all tests: name, test, bytes, iterations, warm-up. Samples in nanoseconds."""
    environment = dict(os.environ, UCX_TLS=transports, UCX_WARN_UNUSED_ENV_VARS="n")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as batch:
        for name, test, size, count, warm in tests:
            batch.write(f"{name} -t {test} -s {size} -n {count} -w {warm}\n")
        batch.flush()
        port = str(free_port())
        common = ["-p", port, "-b", batch.name, "-f", "-v"]
        server = subprocess.Popen(["ucx_perftest", "-c", "1"] + common, env=environment, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        try:
            time.sleep(0.3)
            client = subprocess.run(["ucx_perftest", "localhost", "-c", "0"] + common, env=environment, text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIME_LIMIT, check=False)
        finally:
            server.kill()
            server.wait()
    wanted = {test[0]: test[1] for test in tests}
    for line in client.stdout.splitlines():
        fields = line.split(",")
        if fields[0] in wanted and len(fields) >= 9:
            # A latency test counts half a round trip; the rate has more digits than the latency.
            trips = 2 if wanted[fields[0]].endswith("_lat") else 1
            samples.add(f"{prefix}/{fields[0]}/ucx", trips * 1e9 / float(fields[8]))


def ucx_shm(samples):
    tests = []
    for name, size in SIZES.items():
        count = max(5, min(200_000, int(20e6 / (20 + size / 12))))
        tests.append((f"read/{name}", "ucp_get", size, count, max(1, count // 10)))
        tests.append((f"write/{name}", "ucp_put_bw", size, count, max(1, count // 10)))
    tests.append(("ping_pong/8", "ucp_put_lat", 8, 20_000, 1000))
    run_ucx(samples, "posix,cma", "shm", tests)


def ucx_tcp(samples):
    tests = [("ping_pong/8", "ucp_put_lat", 8, 1000, 100)]
    for name, size in SIZES.items():
        # Its get over tcp takes a millisecond, whatever the size.
        tests.append((f"read/{name}", "ucp_get", size, 40 if size < 1 << 20 else 5, 2))
    run_ucx(samples, "tcp", "tcp", tests)


def run_verbs(samples, rounds):
    """All rounds, ferry and perftest in turn, where there is an RDMA device: in one guest, or here."""
    command = [ROOT / "ci/rxe-guest", "--timeout", str(VERBS_ROUND_LIMIT * rounds), "--", "ci/bench_verbs.py",
               BIN / "ferry_bench", str(rounds)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    for line in done.stdout.splitlines():
        if line.startswith('{"name"'):
            figure = json.loads(line)
            samples.add(figure["name"], figure["value"])
        else:
            say(line)
    if done.returncode != 0:
        raise SystemExit(f"ci/bench: verbs ended with {done.returncode}")


def run_sim(samples):
    """sim_bench: nanoseconds of a step or a world, beside the least that any event loop takes for a step."""
    command = [BIN / "sim_bench", "--benchmark_format=json", "--benchmark_min_time=0.2"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          timeout=TIME_LIMIT, check=False)
    if done.returncode != 0:
        raise SystemExit(f"ci/bench: sim_bench ended with {done.returncode}")
    for one in json.loads(done.stdout)["benchmarks"]:
        if "items_per_second" not in one:
            raise SystemExit(f"ci/bench: sim_bench: {one['name']}: {one.get('error_message', 'no figure')}")
        samples.add(f"sim/{one['name']}", 1e9 / one["items_per_second"])


def run_reading(samples, name, pattern, scale, command):
    """A program that tells one figure in words."""
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=TIME_LIMIT, check=False)
    found = re.search(pattern, done.stdout)
    if done.returncode != 0 or not found:
        raise SystemExit(f"ci/bench: {' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}")
    samples.add(name, scale(float(found.group(1))))


def steps_of(sections, has_ucx, has_caf):
    """(section, what, function of samples) that make one round, in turn."""
    ferry = BIN / "ferry_bench"
    caf = BIN / "caf_bench"
    steps = []

    def program(section, command):
        steps.append((section, " ".join(map(str, command[0:1] + command[1:])).replace(str(BIN) + "/", ""),
                      lambda samples: run_json(samples, command)))

    if "shm" in sections:
        program("shm", [ferry, "shm"])
        if has_ucx:
            steps.append(("shm", "ucx_perftest posix,cma", ucx_shm))
    if "other" in sections:
        program("other", [ferry, "other"])
    if "tcp" in sections:
        program("tcp", [ferry, "tcp"])
        if has_ucx:
            steps.append(("tcp", "ucx_perftest tcp", ucx_tcp))
    if "calls" in sections:
        for which in ["call-shm", "call-tcp", "call-local", "call-crossing"]:
            program("calls", [ferry, which])
        if has_caf:
            for kind in ["call", "detached"]:
                program("calls", [caf, kind, "1", "5000"])
                program("calls", [caf, kind, "64", "30000"])
            program("calls", [caf, "remote", "1", "400"])
            program("calls", [caf, "fan-in", "10000"])
    if "memory" in sections:
        program("memory", [ferry, "memory-tcp"])
    if "sim" in sections:
        steps.append(("sim", "sim_bench", run_sim))
        litmus = [BIN / "ferry-litmus", "--statistics", "tests/bench/many_states.litmus"]
        steps.append(("sim", "ferry-litmus", lambda samples: run_reading(
            samples, "sim/states", r"(\d+) states/s", lambda rate: 1e9 / rate, litmus)))
        queues = [BIN / "tests/sim_queue_size_test"]
        steps.append(("sim", "sim_queue_size_test", lambda samples: run_reading(
            samples, "sim/queue_bytes", r"(\d+) bytes each", float, queues)))
    return steps


def main():
    parser = argparse.ArgumentParser(prog="ci/bench", description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=9, help=f"samples of each figure, at least {FEWEST_ROUNDS}")
    parser.add_argument("--verbs-rounds", type=int, default=7, metavar="N",
                        help="same of verbs, which is emulated and slow; with fewer than 7 the medians say little")
    parser.add_argument("sections", nargs="*", metavar="SECTION", help="of " + " ".join(SECTIONS) + "; none: all")
    options = parser.parse_args()
    sections = options.sections or SECTIONS
    unknown = [section for section in sections if section not in SECTIONS]
    if unknown or options.rounds < FEWEST_ROUNDS:
        parser.error(f"unknown section {unknown[0]}" if unknown else f"--rounds: at least {FEWEST_ROUNDS}")

    has_priority = raise_priority()
    mount_tracing()
    has_ucx = shutil.which("ucx_perftest") is not None
    has_caf = (BIN / "caf_bench").exists()
    samples = Samples()
    begin = time.monotonic()
    load_before = os.getloadavg()[0]
    steps = steps_of(sections, has_ucx, has_caf)
    for number in range(options.rounds if steps else 0):
        for section, what, step in steps:
            say(f"[{time.monotonic() - begin:4.0f} s] round {number + 1} of {options.rounds}: {section}: {what}")
            step(samples)
    if "idle" in sections:
        say(f"[{time.monotonic() - begin:4.0f} s] idle: 30 s of a process with eight peers")
        run_json(samples, [BIN / "ferry_bench", "idle"])

    if "verbs" in sections:
        say(f"[{time.monotonic() - begin:4.0f} s] verbs: {options.verbs_rounds} rounds where there is an RDMA device")
        run_verbs(samples, options.verbs_rounds)

    rows = bench_rows.evaluate(samples.values, sections)
    OUT.mkdir(parents=True, exist_ok=True)
    notes = [f"{options.rounds} rounds in {time.monotonic() - begin:.0f} s on {os.cpu_count()} cores; load average "
             f"{load_before:.1f} before, {os.getloadavg()[0]:.1f} after; "
             + ("raised priority" if has_priority else "no right to raise the priority")]
    if not has_ucx:
        notes.append("no UCX: ucx_perftest is missing (package ucx-utils)")
    if not has_caf:
        notes.append("no CAF: libcaf-dev is missing")
    if not any(name.endswith("/syscalls") for name in samples.values):
        notes.append(f"system calls were not counted: no right to trace, or {TRACING} is not mounted")
    (OUT / "bench.json").write_text(json.dumps({"notes": notes, "rows": rows, "samples": samples.values}, indent=1))
    svg = bench_chart.draw(samples.values)
    if svg:
        (OUT / "bench.svg").write_text(svg)
    print(bench_rows.table(rows))
    for note in notes:
        print(note)
    written = [name for name in ["bench.json", "bench.svg"] if name.endswith("json") or svg]
    print("written: " + " ".join(str((OUT / name).relative_to(ROOT)) for name in written))
    missed = [row["label"] for row in rows if row["met"] is False]
    print(f"{len(missed)} goals missed: {'; '.join(missed)}" if missed else "every goal met")


if __name__ == "__main__":
    main()
