#!/usr/bin/env python3
"""The house style, as far as a line-by-line look can tell.

clang-format owns layout and clang-tidy owns the language; this owns what neither sees. A line that
must break a rule says so: `// tidy: allow NAME, because ...`.
"""

import pathlib
import re
import subprocess
import sys

from source_tree import CODE_SUFFIXES, report

MAX_LINES = 400
MAX_COLUMNS = 100

# Longer files, each with the reason it stays whole.
LONG_FILES: dict = {}

TEXT_SUFFIXES = CODE_SUFFIXES | {".py", ".cmake", ".md", ".fbs", ".toml", ".in", ".txt", ".sh"}
ALLOW = re.compile(r"tidy: allow ([a-z-]+), because \S")
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX)\b")  # tidy: allow unfinished, because it is the pattern
MACHINE_PATH = re.compile(r"(?<![\w.$}/])/(home|root|work|Users)/[\w.]")
SLEEP = re.compile(r"\b(sleep_for|sleep_until|usleep|nanosleep)\b|(?<![\w.>:])sleep\s*\(")
PRINT = re.compile(r"\bstd::(cout|cerr)\b")


class File:
    """One file and the rules that apply to it."""

    def __init__(self, path: str, text: str):
        self.path = path
        self.text = text
        self.lines = text.split("\n")
        self.suffix = pathlib.PurePosixPath(path).suffix
        self.is_code = self.suffix in CODE_SUFFIXES
        self.problems: list = []

    def say(self, number: int, rule: str, message: str) -> None:
        line = self.lines[number - 1] if number <= len(self.lines) else ""
        allowed = ALLOW.search(line)
        if not (allowed and allowed.group(1) == rule):
            self.problems.append(f"{self.path}:{number}: [{rule}] {message}")

    def check(self) -> list:
        self.check_whole()
        for number, line in enumerate(self.lines, start=1):
            self.check_line(number, line)
        return self.problems

    def check_whole(self) -> None:
        count = self.text.count("\n")
        if self.text and not self.text.endswith("\n"):
            self.say(len(self.lines), "last-line", "the file does not end with a line end")
        if self.is_code and count > MAX_LINES and self.path not in LONG_FILES:
            self.say(1, "file-length", f"{count} lines, more than {MAX_LINES}: split it by idea, or "
                     "list it in LONG_FILES (tools/check_tidy.py) with the reason it stays whole")
        if self.suffix in (".hpp", ".cuh") and "#pragma once" not in self.lines:
            self.say(1, "pragma-once", "a header needs #pragma once")

    def check_line(self, number: int, line: str) -> None:
        if line != line.rstrip():
            self.say(number, "trailing-space", "space at the end of the line")
        if "\t" in line:
            self.say(number, "tab", "a tab; use spaces")
        if self.is_code and len(line) > MAX_COLUMNS:
            self.say(number, "line-length", f"{len(line)} columns, more than {MAX_COLUMNS}")
        if UNFINISHED.search(line):
            self.say(number, "unfinished", "finish it, or open an issue and leave no mark here")
        if MACHINE_PATH.search(line):
            self.say(number, "machine-path", "a path of somebody's machine; derive it or pass it in")
        if self.path.endswith("_test.cpp") and SLEEP.search(line):
            self.say(number, "sleep", "a test waits for a condition with a deadline, never for time")
        if self.path.startswith("src/") and self.is_code and PRINT.search(line):
            self.say(number, "print", "libraries do not print: use trace::Log or return the text")


def check_file(path: str, text: str) -> list:
    return File(path, text).check()


def tracked_files(root: pathlib.Path) -> list:
    """Files git knows or would add, so that build trees and strays are not looked at."""
    listing = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        check=True, capture_output=True).stdout.decode()
    return sorted({name for name in listing.split("\0") if name})


def main(root: pathlib.Path) -> int:
    problems = []
    for name in tracked_files(root):
        path = root / name
        if path.suffix in TEXT_SUFFIXES and path.is_file() and "/corpus/" not in name:
            problems += check_file(name, path.read_text())
    for name in LONG_FILES:
        if not (root / name).is_file():
            problems.append(f"{name}: listed in LONG_FILES but gone; remove the entry")
    return report(problems, "tidy")


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(__file__).resolve().parent.parent))
