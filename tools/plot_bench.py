#!/usr/bin/env python3
"""Draws what benchmarks measured as SVG charts: `./dev bench plot`."""

import argparse
import pathlib
import sys

from plots import charts, figures

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What programs write where nothing else is said.
USUAL_FILES = ("build/bench.json", "build/ref.json", "build/relay.json")
# The charts of docs/benchmarks.md, and the figures that its tables have.
PUBLISHED_FILES = ("docs/benchmarks.md", "docs/figures/ref.json", "docs/figures/relay.json")
PUBLISHED_CHARTS = ("ref-shm", "ref-tcp", "ref-batch", "ref-streams", "relay-relay",
                    "benchmarks-sizes", "goals")


def draw_all(files: list) -> dict:
    """Charts by name. Raises figures.Malformed."""
    made, suites = {}, []
    for file in files:
        for suite in figures.read(file):
            if suite.chart_name() in made:
                raise figures.Malformed(f"{file}: suite {suite.name} of {suite.program} is in a "
                                        "file before this one, too; give one of the two")
            made[suite.chart_name()] = charts.draw(suite)
            suites.append(suite)
    made["goals"] = charts.draw_goals(suites)
    return made


def parse(arguments: list) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./dev bench plot", description="Draws benchmarks' figures as SVG charts: lines where "
        "sizes grow, rows of latencies for other suites, and goals.svg with every goal.",
        epilog=f"Without FILE: those of {', '.join(USUAL_FILES)} that exist.")
    parser.add_argument("files", nargs="*", type=pathlib.Path, metavar="FILE",
                        help="JSON that a benchmark wrote, or a .md or .txt with what it printed")
    parser.add_argument("--out", type=pathlib.Path, metavar="FOLDER", default="build/plots",
                        help="where the charts go, as FILE-SUITE.svg (default: %(default)s)")
    parser.add_argument("--only", action="append", metavar="CHART",
                        help="only this one, such as ref-shm; may be repeated")
    parser.add_argument("--published", action="store_true",
                        help="draw the charts of docs/benchmarks.md again, into docs/images")
    options = parser.parse_args(arguments)
    if options.published:
        if options.files or options.only:
            parser.error("--published takes neither files nor --only")
        options.files = [ROOT / name for name in PUBLISHED_FILES]
        options.out, options.only = ROOT / "docs/images", PUBLISHED_CHARTS
    return options


def run(arguments: list) -> int:
    options = parse(arguments)
    files = options.files or [pathlib.Path(name) for name in USUAL_FILES
                              if pathlib.Path(name).exists()]
    if not files:
        raise figures.Malformed(f"nothing to draw: none of {', '.join(USUAL_FILES)} exists; run "
                                "`./dev bench` or `./dev bench ref` first, or name a file")
    made = draw_all(files)
    for name in options.only or ():
        if name not in made:
            raise figures.Malformed(f"there is no chart {name}; there are {', '.join(made)}")
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.only or made:
        if made[name]:
            (options.out / f"{name}.svg").write_text(made[name], encoding="utf-8")
            print(options.out / f"{name}.svg")
        else:
            print(f"{name}: nothing to draw, no row has a {'goal' if name == 'goals' else 'time'}",
                  file=sys.stderr)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(run(sys.argv[1:]))
    except (figures.Malformed, OSError) as error:
        sys.exit(f"plot: {error}")
