#!/usr/bin/python3
"""Runs one of the examples and compares what it prints with the text beside it. Nothing on stderr. Then again where
nothing can be written: it must fail and say so.

  expected_output.py PROGRAM EXPECTED-FILE
"""

import difflib
import os
import pathlib
import subprocess
import sys


def judge_full_disk(name, program):
    with open("/dev/full", "w", encoding="ascii") as full:
        run = subprocess.run([program], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode == 1 and run.stderr == f"{name}: the output could not be written: No space left on device\n":
        return 0
    print(f"{name} on a full disk: exit code {run.returncode}; its stderr:\n{run.stderr}")
    return 1


def main():
    name, expected_file = sys.argv[1:]
    program = pathlib.Path(os.environ["FERRY_BIN_DIR"]) / name
    expected = pathlib.Path(expected_file).read_text(encoding="utf-8")
    run = subprocess.run([program], capture_output=True, text=True, check=False)
    if run.returncode == 0 and run.stdout == expected and not run.stderr:
        return judge_full_disk(name, program)
    sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), run.stdout.splitlines(True),
                                               expected_file, f"what {name} printed"))
    print(f"{name}: exit code {run.returncode}; its stderr:\n{run.stderr}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
