"""What the stages of ci/test stand on: running commands with progress and a log, and reading what tests report."""

import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "logs"
NINJA_STEP = re.compile(r"^\[(\d+)/(\d+)\]")
CTEST_LINE = re.compile(r"^\s*\d+/\d+ Test +#")
QUIET_SECONDS = 15  # between progress lines where the output is no terminal
TAIL_LINES = 100  # of the log, shown when a command fails


@dataclasses.dataclass
class Result:
    """What a stage found. A test is a ctest entry, or a step of the stage that can fail on its own."""

    tests: int = 0
    cases: int = 0
    failed: list = dataclasses.field(default_factory=list)
    failed_cases: list = dataclasses.field(default_factory=list)
    skipped: list = dataclasses.field(default_factory=list)  # (test, reason)
    seconds: float = 0.0


def jobs():
    """As many compilers at once as there are cores, and 2 GB of memory for each."""
    if os.environ.get("FERRY_JOBS"):
        return int(os.environ["FERRY_JOBS"])
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return max(1, min(len(os.sched_getaffinity(0)), int(gigabytes / 2)))


def duration(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


class Runner:
    """Runs the commands of one stage: everything into its log, progress to the terminal, the tail of it on failure."""

    def __init__(self, stage):
        LOGS.mkdir(parents=True, exist_ok=True)
        self.stage = stage
        self.path = LOGS / f"{stage}.log"
        self.log = open(self.path, "w", encoding="utf-8")
        self.result = Result()
        self.terminal = sys.stdout.isatty()
        self.start = time.monotonic()

    def close(self):
        self.log.close()
        self.result.seconds = time.monotonic() - self.start

    def say(self, text):
        if self.terminal:
            text = "\r\x1b[K" + text
        print(text, flush=True)

    def _progress(self, line, state):
        """One line of a command's output: passed on, shown as progress, or left to the log."""
        if CTEST_LINE.match(line) or state["echo"]:
            self.say("   " + line)
        elif NINJA_STEP.match(line):
            now = time.monotonic()
            if self.terminal:
                width = shutil.get_terminal_size().columns - 4
                print("\r\x1b[K   " + line[:width], end="", flush=True)
            elif now - state["shown"] > QUIET_SECONDS:
                state["shown"] = now
                print("   " + line, flush=True)

    def _start(self, command, env):
        try:
            return subprocess.Popen(command, cwd=ROOT, env={**os.environ, **(env or {})}, text=True, errors="replace",
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except OSError as error:
            self.log.write(f"$ {error}\n")
            self.say(f"   | {error}")
            return None

    def run(self, *command, env=None, echo=False):
        """True where the command succeeds. With echo, all it prints is passed on."""
        command = [str(word) for word in command]
        self.log.write("$ " + " ".join(command) + "\n")
        self.log.flush()
        state = {"echo": echo, "shown": time.monotonic()}
        tail = []
        process = self._start(command, env)
        if process is None:
            return False
        with process:
            for line in process.stdout:
                self.log.write(line)
                line = line.rstrip("\n")
                self._progress(line, state)
                if not NINJA_STEP.match(line):
                    tail.append(line)
                    del tail[:-TAIL_LINES]
        self.log.write(f"$ exit {process.returncode}\n")
        self.log.flush()
        if self.terminal:
            print("\r\x1b[K", end="", flush=True)
        if process.returncode and not echo:
            for line in tail:
                print("   | " + line)
        return process.returncode == 0

    def step(self, name, *command, env=None, echo=False):
        """Runs a command that counts as one test."""
        self.result.tests += 1
        begin = time.monotonic()
        passed = self.run(*command, env=env, echo=echo)
        took = time.monotonic() - begin
        self.say(f"   {name} {'.' * max(3, 60 - len(name))} {'Passed' if passed else '***Failed'} {took:8.2f} sec")
        if not passed:
            self.result.failed.append(name)
        return passed

    def build(self, preset, *options, targets=("all",)):
        """Configures and builds; a failure counts as one failed test."""
        steps = [("cmake", "--preset", preset, *options)]
        steps += [("cmake", "--build", "--preset", preset, "-j", jobs(), "--target", target) for target in targets]
        begin = time.monotonic()
        for command in steps:
            if not self.run(*command):
                self.result.tests += 1
                self.result.failed.append(f"build ({preset})")
                self.say(f"   build of {preset} FAILED: {' '.join(str(word) for word in command)}")
                return False
        self.say(f"   built {preset} in {duration(time.monotonic() - begin)}")
        return True

    def ctest(self, preset, label, prefix=()):
        """Runs the tests that carry the label, and takes their results from what ctest and GoogleTest wrote."""
        reports = LOGS / f"{self.stage}-reports"
        shutil.rmtree(reports, ignore_errors=True)
        reports.mkdir()
        summary = reports / "ctest.junit"
        passed = self.run(*prefix, "ctest", "--preset", preset, "-L", f"^{label}$", "-j", jobs(), "--no-tests=error",
                          "--output-junit", summary, env={"GTEST_OUTPUT": f"xml:{reports}/"})
        known = len(self.result.failed)
        if summary.exists():
            read_ctest(summary, self.result)
        for report in sorted(reports.glob("*.xml")):
            read_gtest(report, self.result)
        if not passed and len(self.result.failed) == known:
            self.result.tests += 1
            self.result.failed.append(f"ctest -L {label}: no test ran")
        return passed


def read_ctest(path, result):
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        result.tests += 1
        skipped = case.find("skipped")
        if case.get("status") == "fail":
            result.failed.append(case.get("name"))
        elif skipped is not None:
            output = (case.findtext("system-out") or "").strip().splitlines()
            result.skipped.append((case.get("name"), output[-1] if output else skipped.get("message", "no reason")))


def read_gtest(path, result):
    try:
        root = xml.etree.ElementTree.parse(path).getroot()
    except xml.etree.ElementTree.ParseError:
        return  # the binary died while it wrote; ctest has counted it
    for case in root.iter("testcase"):
        result.cases += 1
        if case.find("failure") is not None:
            result.failed_cases.append(f"{case.get('classname')}.{case.get('name')}")
        skipped = case.find("skipped")
        if skipped is not None:
            lines = [line.strip() for line in (skipped.get("message") or "").splitlines() if line.strip()]
            if lines and re.match(r"\S+:\d+$", lines[0]):
                lines = lines[1:]
            result.skipped.append((f"{case.get('classname')}.{case.get('name')}", " ".join(lines) or "no reason"))
