"""What the lints in this folder share: which files they see, how they report, how they test themselves.

A lint is a function check(tree) that yields Findings, and a list of Cases: tiny trees with the findings they must
give. `ci/lint_NAME` checks the tree it stands in; `ci/lint_NAME --self-test` runs the cases.
"""

import argparse
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CPP_SUFFIXES = (".cpp", ".hpp", ".h", ".cc", ".ipp")


@dataclasses.dataclass
class Finding:
    path: str
    line: int
    message: str
    remedy: str
    warning: bool = False


@dataclasses.dataclass
class Case:
    """A tree (path to text) and what the lint must find in it: (path, line, part of message or remedy)."""

    title: str
    files: dict
    expect: list


def list_files(root):
    """Paths that git tracks or would track; where the tree is no repository, all but build/."""
    # The tree may belong to another user than the one who checks it: safe.directory.
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root, check=False, capture_output=True)
    if listed.returncode == 0:
        names = {os.fsdecode(name) for name in listed.stdout.split(b"\0") if name}
    else:
        names = {str(path.relative_to(root)) for path in root.rglob("*")}
        names = {name for name in names if not name.startswith(("build/", ".git/")) and "__pycache__" not in name}
    return sorted(name for name in names if (root / name).is_file() and not (root / name).is_symlink())


class Tree:
    """The files that git tracks or would track, by path from the root, and their text."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.files = list_files(self.root)
        self._text = {}

    def text(self, path):
        """The file's text, or None where it is not text."""
        if path not in self._text:
            data = (self.root / path).read_bytes()
            if b"\0" in data:
                self._text[path] = None
            else:
                self._text[path] = data.decode("utf-8", errors="replace")
        return self._text[path]

    def cpp(self, *folders):
        """C++ files, under these folders where some are given."""
        return [f for f in self.files if f.endswith(CPP_SUFFIXES)
                and (not folders or f.startswith(tuple(folder + "/" for folder in folders)))]


_TOKEN = re.compile(
    r"""//(?:\\\n|[^\n])*                              # line comment
      | /\*.*?\*/                                      # block comment
      | R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"     # raw string
      | "(?:\\.|[^"\\\n])*"                            # string
      | (?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'            # character; not the quote in 1'000
    """, re.VERBOSE | re.DOTALL)

_QUOTED_INCLUDE = re.compile(r'^([ \t]*#[ \t]*include[ \t]*)"([^"\n]*)"', re.MULTILINE)


def code_only(text):
    """C++ text with comments, strings and characters blanked, so that every line keeps its number."""
    def blank(match):
        piece = match.group(0)
        keep = piece[0] + piece[-1] if piece[0] in "\"'" else " "
        newlines = piece.count("\n")
        return keep + "\n" * newlines
    # The name in an include line is not a string to be blanked.
    shielded = _QUOTED_INCLUDE.sub("\\1\x01\\2\x01", text)
    return _TOKEN.sub(blank, shielded).replace("\x01", '"')


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def report(name, findings):
    failed = 0
    for f in findings:
        kind = "warning" if f.warning else "error"
        failed += not f.warning
        print(f"{f.path}:{f.line}: {kind}: {f.message}\n    remedy: {f.remedy}")
    print(f"{name}: {'FAILED, ' + str(failed) + ' to mend' if failed else 'ok'}")
    return 1 if failed else 0


def self_test(name, check, cases):
    """Each case in a repository of its own; what is found must be what is expected, no more and no less."""
    wrong = 0
    for case in cases:
        with tempfile.TemporaryDirectory(prefix="ferry-lint-") as folder:
            subprocess.run(["git", "init", "-q", folder], check=True)
            for path, text in case.files.items():
                file = pathlib.Path(folder, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
            found = list(check(Tree(folder)))
        left = list(found)
        missing = []
        for path, line, part in case.expect:
            hit = next((f for f in left if (f.path, f.line) == (path, line) and part in f.message + "\n" + f.remedy),
                       None)
            if hit:
                left.remove(hit)
            else:
                missing.append(f"{path}:{line}: … {part} …")
        if missing or left:
            wrong += 1
            print(f"{name}: self test FAILED: {case.title}")
            for text in missing:
                print(f"    not found: {text}")
            for f in left:
                print(f"    found but not expected: {f.path}:{f.line}: {f.message} ({f.remedy})")
    print(f"{name}: self test {'FAILED' if wrong else 'ok'}, {len(cases)} cases")
    return 1 if wrong else 0


def main(name, check, cases):
    parser = argparse.ArgumentParser(prog=f"ci/{name}", description=sys.modules["__main__"].__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-test", action="store_true", help="check the lint itself on tiny trees")
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parent.parent, help="tree to check")
    args = parser.parse_args()
    if args.self_test:
        return self_test(name, check, cases)
    return report(name, check(Tree(args.root)))
