#!/usr/bin/env python3
"""clang-tidy over the compile database, skipping files whose preprocessed text passed before."""

import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("src", "include", "apps", "bench", "examples", "tools")
CLANG_TIDY = "clang-tidy-19"


def changed_files() -> set:
    """Sources that differ from HEAD, and those named after a header that does."""
    listing = subprocess.run(
        ["git", "-C", str(ROOT), "status", "--porcelain", "-z", "--untracked-files=all"],
        check=True, capture_output=True, text=True).stdout
    names = {ROOT / entry[3:] for entry in listing.split("\0") if len(entry) > 3}
    stems = {path.with_suffix("") for path in names if path.suffix in (".hpp", ".h")}
    sources = {stem.with_suffix(".cpp") for stem in stems}
    tests = {stem.with_name(stem.name + "_test.cpp") for stem in stems}
    return names | sources | tests


def select(database: list, arguments) -> list:
    wanted = {pathlib.Path(name).resolve() for name in arguments.files}
    if arguments.changed:
        wanted |= changed_files()
    entries = {}
    for entry in database:
        path = pathlib.Path(entry["file"])
        inside = path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in FOLDERS
        if inside and (path in wanted or not (arguments.files or arguments.changed)):
            entries[path] = entry
    return [entries[path] for path in sorted(entries)]


def content_key(entry: dict) -> str:
    """Changes with the source, its headers, the flags and the rules. Comments count: NOLINT."""
    words = shlex.split(entry["command"])
    if "ccache" in pathlib.Path(words[0]).name:
        words = words[1:]
    output = words.index("-o")
    words = words[:output] + words[output + 2:]
    text = subprocess.run([*words, "-E", "-C"], cwd=entry["directory"], capture_output=True)
    rules = (ROOT / ".clang-tidy").read_bytes()
    return hashlib.sha256(text.stdout + text.stderr + rules + " ".join(words).encode()).hexdigest()


def lint(entry: dict, build: pathlib.Path) -> tuple:
    """(file, report), an empty report being a pass."""
    passed = build / "lint" / content_key(entry)
    if passed.exists():
        return entry["file"], ""
    run = subprocess.run([CLANG_TIDY, "--quiet", "-p", str(build), entry["file"]],
                         capture_output=True, text=True)
    if run.returncode == 0:
        passed.touch()
        return entry["file"], ""
    return entry["file"], run.stdout + run.stderr


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--changed", action="store_true")
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()

    database = json.loads((arguments.build / "compile_commands.json").read_text())
    entries = select(database, arguments)
    (arguments.build / "lint").mkdir(exist_ok=True)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for file, text in pool.map(lambda entry: lint(entry, arguments.build), entries):
            if text:
                failed += 1
                print(f"== {file}\n{text}", file=sys.stderr)
    print(f"lint: {len(entries) - failed} files pass, {failed} fail")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
