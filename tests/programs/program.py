"""Runs a program of the build folder for a test."""

import os
import pathlib
import subprocess

BIN = pathlib.Path(os.environ["FERRY_BIN_DIR"])


def run(name, *arguments):
    """Its completed process: returncode, stdout and stderr as text."""
    return subprocess.run([BIN / name, *arguments], capture_output=True, text=True, check=False)


def start(name, *arguments):
    """The process, with pipes for stdout and stderr."""
    return subprocess.Popen([BIN / name, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


class Checks:
    """Mixed into a TestCase."""

    def succeed(self, name, *arguments):
        """Runs it to exit code 0; its stdout."""
        done = run(name, *arguments)
        self.assertEqual(done.returncode, 0, f"{name} {' '.join(arguments)}\n{done.stdout}{done.stderr}")
        return done.stdout

    def fail_clearly(self, *words, command):
        """It ends with 1, and one line on stderr that has all the words."""
        done = run(*command)
        self.assertEqual(done.returncode, 1, f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def fail_where_output_cannot_be_written(self, *command):
        name, *arguments = command
        with open("/dev/full", "w") as full:
            done = subprocess.run([BIN / name, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 1, f"{' '.join(command)}\n{done.stderr}")
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        self.assertIn("No space left on device", done.stderr)

    def refuse_usage(self, *words, command):
        """It ends with 2 before it does anything, and says what is wrong."""
        done = run(*command)
        self.assertEqual(done.returncode, 2, f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        self.assertEqual(done.stdout, "")
        for word in words:
            self.assertIn(word, done.stderr)

    def refuse_verbs_where_there_is_none(self, *command):
        """--transport verbs without an RDMA device, or without libibverbs when it was built: a clear end."""
        devices = pathlib.Path("/sys/class/infiniband")
        if devices.is_dir() and any(devices.iterdir()):
            return
        done = run(*command)
        if done.returncode == 2:
            self.assertIn("verbs is not in this build", done.stderr)
            return
        self.fail_clearly("this host has no RDMA device", command=command)
