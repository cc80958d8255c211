"""Which files the checks look at, and how they report what they find."""

import pathlib
import re
import sys

CODE_FOLDERS = ("include", "src", "apps", "bench", "examples", "fuzz", "tests", "tools")
CODE_SUFFIXES = {".hpp", ".cpp", ".h", ".c", ".cc", ".cu", ".cuh"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def code_files(root: pathlib.Path):
    """C and C++ sources and headers, in a stable order."""
    for folder in CODE_FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in CODE_SUFFIXES and path.is_file():
                yield path


def includes(text: str):
    """(line number, quote character, name) of each #include."""
    for number, line in enumerate(text.splitlines(), start=1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1), match.group(2)


def report(problems: list, what: str) -> int:
    """Prints problems as FILE:LINE: MESSAGE; the exit status."""
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        print(f"{what}: {len(problems)} problem(s)", file=sys.stderr)
        return 1
    print(f"{what}: ok")
    return 0
