"""The stages of ci/test, one after the other, with a summary last.

  ./ci/test            all stages
  ./ci/test STAGE…     these, in this order
  ./ci/test --list     what they are
"""

import argparse
import pathlib
import shutil
import sys
import time

from stage_lib import LOGS, ROOT, Runner, duration

LINTS = ["lint_layers", "lint_banned", "lint_sizes", "lint_text", "lint_format"]
CONSUMER_COMPILERS = ["g++-12", "clang++-16"]


def lint(run):
    """layers, banned names, sizes, text, format; each lint first tests itself"""
    for name in LINTS:
        run.step(f"{name} --self-test", f"ci/{name}", "--self-test")
        run.step(name, f"ci/{name}")
    run.step("the README shows the first program", "tests/install/check_readme")
    run.step("mutants --self-test", "ci/mutants", "--self-test")
    run.step("mutants apply", "ci/mutants", "--check")
    for script in shell_scripts():
        run.step(f"bash -n {script}", "bash", "-n", script)


def shell_scripts():
    for folder in ("ci", ".ci", "tests/install"):
        for path in sorted((ROOT / folder).iterdir()):
            if path.is_file() and path.read_bytes().startswith((b"#!/usr/bin/env bash", b"#!/bin/bash", b"#!/bin/sh")):
                yield path.relative_to(ROOT)


def unit(run):
    """g++ 12; every public header alone; tests labelled unit"""
    if run.build("dev", targets=("all", "all_verify_interface_header_sets")):
        run.ctest("dev", "unit")


def conformance(run):
    """one suite over every transport and the simulator"""
    if run.build("dev"):
        run.ctest("dev", "conformance")


def sim(run):
    """programs explored under the simulator"""
    if run.build("dev"):
        run.ctest("dev", "sim")


def verbs(run):
    """dev on soft-RoCE in a guest, or on the host's own RDMA devices: the suite and the transport's own tests"""
    if run.build("dev"):
        run.step("ci/rxe-guest", "ci/rxe_guest/check", echo=True)
        run.step("two hosts", "tests/verbs/two_hosts", echo=True)
        # A device pins what it reaches, and the suite has a region of 5 GiB.
        run.ctest("dev", "verbs",
                  prefix=("ci/rxe-guest", "--memory", "9G", "--timeout", 1800, "--writable", LOGS, "--"))


def install(run):
    """the release build installed, and a program of its own built on it with g++ 12 and clang 16"""
    if not run.build("release", "-DFERRY_BUILD_TESTS=OFF", "-DFERRY_BUILD_BENCH=OFF"):
        return
    scratch = ROOT / "build" / "install-test"
    shutil.rmtree(scratch, ignore_errors=True)
    if not run.step("cmake --install", "cmake", "--install", "build/release", "--prefix", scratch / "prefix"):
        return
    for compiler in CONSUMER_COMPILERS:
        run.step(f"consumer with {compiler}", "tests/install/run", scratch / "prefix", compiler, scratch / compiler)
    for program in sorted((scratch / "prefix" / "bin").glob("*")):
        run.step(f"{program.name} --help", program, "--help")


def asan(run):
    """clang 16: everything under AddressSanitizer and UndefinedBehaviorSanitizer"""
    if run.build("asan-ubsan"):
        run.ctest("asan-ubsan", "asan")


def forms(run):
    """g++ 12: the promised forms of awaiting under AddressSanitizer, as it destroys some temporaries twice"""
    if run.build("asan-gcc", targets=("ferry_forms",)):
        run.ctest("asan-gcc", "forms")


def tsan(run):
    """g++ 12: everything that has threads under ThreadSanitizer"""
    if run.build("tsan", targets=("ferry_tsan",)):
        # It cannot map its shadow where the kernel randomises addresses by more than 28 bits.
        bits = pathlib.Path("/proc/sys/vm/mmap_rnd_bits")
        wide = bits.exists() and int(bits.read_text()) > 28
        run.ctest("tsan", "tsan", prefix=("setarch", "-R") if wide else ())


def mutants(run):
    """three known faults put in, which the tests must find"""
    run.step("mutants --ci", "ci/mutants", "--ci", echo=True)


STAGES = {stage.__name__: stage for stage in (lint, unit, conformance, sim, verbs, install, asan, forms, tsan,
                                            mutants)}


def print_summary(results, seconds):
    print(f"\n== summary after {duration(seconds)}; logs in {LOGS.relative_to(ROOT)}/")
    print(f"   {'stage':12} {'result':8} {'tests':>6} {'cases':>6} {'failed':>7} {'skipped':>8} {'time':>7}")
    for name, result in results.items():
        print(f"   {name:12} {'FAILED' if result.failed else 'ok':8} {result.tests:6} {result.cases or '-':>6} "
              f"{len(result.failed):7} {len(result.skipped):8} {duration(result.seconds):>7}")
    skipped = {}
    for name, result in results.items():
        for test_and_reason in result.skipped:
            skipped.setdefault(test_and_reason, {})[name] = True
    for (test, reason), names in skipped.items():
        print(f"   skipped in {' '.join(names)}: {test}: {reason}")
    for name, result in results.items():
        for test in result.failed:
            print(f"   FAILED: {name}: {test}")
        for case in result.failed_cases:
            print(f"   FAILED: {name}: case {case}")
    tests = sum(result.tests for result in results.values())
    failed = sum(len(result.failed) for result in results.values())
    percent = 100 * (tests - failed) // tests if tests else 0
    print(f"\n{percent}% tests passed, {failed} tests failed out of {tests}")
    return 0 if tests and not failed else 1


def main():
    parser = argparse.ArgumentParser(prog="ci/test", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stages", nargs="*", metavar="STAGE", help="one of: " + ", ".join(STAGES))
    parser.add_argument("--list", action="store_true", help="print the stages and what they do")
    args = parser.parse_args()
    if args.list:
        for name, stage in STAGES.items():
            print(f"{name:12} {stage.__doc__}")
        return 0
    for name in args.stages:
        if name not in STAGES:
            parser.error(f"unknown stage '{name}'; one of: {', '.join(STAGES)}")

    begin = time.monotonic()
    names = list(dict.fromkeys(args.stages)) or list(STAGES)
    results = {}
    for number, name in enumerate(names, 1):
        print(f"\n== [{number}/{len(names)}] {name}: {STAGES[name].__doc__}", flush=True)
        run = Runner(name)
        try:
            STAGES[name](run)
        finally:
            run.close()
        results[name] = run.result
        state = f"FAILED ({len(run.result.failed)})" if run.result.failed else "ok"
        print(f"== {name}: {state} in {duration(run.result.seconds)}, log {run.path.relative_to(ROOT)}", flush=True)
    return print_summary(results, time.monotonic() - begin)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("\nci/test: interrupted")
