#!/usr/bin/env python3
"""Includes point downward only.

A file of src/<layer> includes its own layer and those below it. Public headers include public and
standard headers alone. LLVM and UCX each have one place that knows them.
"""

import pathlib
import sys

from source_tree import code_files, includes, report

LAYERS = ["base", "trace", "trust", "wire", "fabric", "code", "fleet", "call", "region", "ref", "ops",
          "forward", "node"]
ABOVE_ALL = ("apps", "bench", "examples", "fuzz", "tests", "tools", "netlab")

# The first part of an include's path, and the folders that may name it.
CONFINED = {
    "llvm": ("src/code/jit/",),
    "llvm-c": ("src/code/jit/",),
    "clang": ("src/code/jit/",),
    "ucp": ("src/fabric/ucx/", "bench/"),
    "uct": ("src/fabric/ucx/", "bench/"),
    "ucs": ("src/fabric/ucx/", "bench/"),
}
# What a public header may include besides godwit/ and the standard library.
PUBLIC_DEPENDENCIES = {"tl/expected.hpp"}


def is_standard(name: str) -> bool:
    """C++ headers have no suffix; the C ones we use are flat."""
    return "/" not in name and ("." not in name or name.endswith(".h"))


def check_public(place: str, quote: str, name: str) -> str:
    if name.startswith("godwit/") or name in PUBLIC_DEPENDENCIES:
        return ""
    if quote == "<" and is_standard(name):
        return ""
    return (f"{place}: a public header includes '{name}'; it may name only godwit/..., the standard "
            f"library and {', '.join(sorted(PUBLIC_DEPENDENCIES))}: move what it needs into "
            "include/godwit, or hide it behind a pointer")


def check_layer(place: str, layer: str, name: str) -> str:
    target = name.split("/")[0]
    if target in ABOVE_ALL and "/" in name:
        return f"{place}: src/{layer} includes '{name}', which stands above src/"
    if target not in LAYERS or "/" not in name:
        return ""
    if layer not in LAYERS:
        return f"{place}: src/{layer} is no known layer; add it to LAYERS in tools/check_layers.py"
    if LAYERS.index(target) > LAYERS.index(layer):
        return (f"{place}: {layer} includes '{name}' of the layer above it; the order is "
                f"{' < '.join(LAYERS)}. Pass an interface in, or move the shared part down")
    return ""


def check_file(path: str, text: str) -> list:
    """Problems of one file; `path` is relative to the repository, with slashes."""
    problems = []
    parts = path.split("/")
    for number, quote, name in includes(text):
        place = f"{path}:{number}"
        head = name.split("/")[0]
        if "/" in name and head in CONFINED and not path.startswith(CONFINED[head]):
            problems.append(f"{place}: '{name}' may be included only under "
                            f"{' and '.join(CONFINED[head])}")
        elif parts[0] == "include":
            problems.append(check_public(place, quote, name))
        elif parts[0] == "src" and len(parts) > 2:
            problems.append(check_layer(place, parts[1], name))
        if ".." in name.split("/"):
            problems.append(f"{place}: '{name}' climbs with '..'; name the file from its root")
    return [problem for problem in problems if problem]


def main(root: pathlib.Path) -> int:
    problems = []
    for path in code_files(root):
        problems += check_file(path.relative_to(root).as_posix(), path.read_text())
    return report(problems, "layers")


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(__file__).resolve().parent.parent))
