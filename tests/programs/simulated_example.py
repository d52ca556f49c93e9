#!/usr/bin/python3
"""Runs one of the numbered examples in the simulator, with NICs of one profile, under some seeds: it prints what stands
in the text beside it, and nothing on stderr.

  simulated_example.py EXAMPLE PROFILE
"""

import difflib
import os
import pathlib
import subprocess
import sys

SEEDS = range(1, 11)

# What is different in a world: all of its processes are one of the system's, and there is one transport.
DIFFERENT = {
    "03_spawn": ("6 workers in 6 processes", "6 workers in 1 processes"),
    "07_choose_a_transport": ("bytes over tcp", "bytes over sim"),
}


def expected_of(example):
    text = pathlib.Path("examples", example, "expected.txt").read_text(encoding="utf-8")
    if example not in DIFFERENT:
        return text
    real, simulated = DIFFERENT[example]
    assert text.count(real) == 1, f"{example} does not say: {real}"
    return text.replace(real, simulated)


def main():
    example, profile = sys.argv[1:]
    program = pathlib.Path(os.environ["FERRY_BIN_DIR"]) / "tests" / f"simulated_{example}"
    expected = expected_of(example)
    for seed in SEEDS:
        choice = {"FERRY_SIM_PROFILE": profile, "FERRY_SIM_SEED": str(seed)}
        run = subprocess.run([program], capture_output=True, text=True, check=False, env=os.environ | choice)
        if run.returncode != 0 or run.stdout != expected or run.stderr:
            sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), run.stdout.splitlines(True),
                                                       "expected", "printed"))
            print(f"exit code {run.returncode}; its stderr:\n{run.stderr}\nto run it again: "
                  + " ".join(f"{name}={value}" for name, value in choice.items()) + f" {program}")
            return 1
        if example in ("08_simulate_it", "10_explore"):  # their seeds are their own
            break
    return 0


if __name__ == "__main__":
    sys.exit(main())
