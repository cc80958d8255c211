"""What benchmarks measured, read from the JSON they write or from the tables they print."""

import dataclasses
import json
import math
import pathlib
import re


class Malformed(Exception):
    """A file that cannot be read as figures; the message is for a person."""


@dataclasses.dataclass
class Row:
    name: str
    p50_us: float
    p99_us: float = 0
    mb_per_s: float = 0  # 0: no bytes were moved, or nobody counted them
    beside: str = ""  # the row this one is held against
    ratio: float = 0
    goal: str = ""  # "<= 1.25x", ">= 0.40x" or "< 10 us"
    met: bool = False


@dataclasses.dataclass
class Suite:
    program: str  # the file's name up to its first dot: programs have suites of the same name
    name: str
    title: str
    machine: str
    rows: list

    def chart_name(self) -> str:
        return f"{self.program}-{self.name}"


SUITE_NAME = re.compile(r"[a-z][a-z0-9_-]*")
HEADING = re.compile(r"^(?:#+ )?([a-z][a-z0-9_-]*): (\S.*)$")
MACHINE = re.compile(r"^(?:.* on )?([^,\n]+), (\d+) cores(?: \([^)]*\))?, (\w+ \d+\.\d+)[^;\n]*"
                     r"(?:; load ([\d.]+) as this began)?", re.MULTILINE)
GOAL = re.compile(r"(<=|>=|<) ([\d.]+)(x| us)")


def read(path: pathlib.Path) -> list:
    """The suites of a file: JSON, or text with tables if its name ends in .md or .txt."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise Malformed(f"{path}: there is no such file; `./dev bench NAME` writes one") from None
    except (OSError, UnicodeDecodeError) as error:
        raise Malformed(f"{path}: cannot be read: {error}") from None
    parse = from_tables if path.suffix in (".md", ".txt") else from_json
    try:
        return parse(path.name.split(".")[0], text)
    except Malformed as error:
        raise Malformed(f"{path}: {error}") from None


def from_json(program: str, text: str) -> list:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise Malformed(f"not JSON at line {error.lineno}: {error.msg}; "
                        "was the run that wrote it cut short?") from None
    if isinstance(document, dict) and "chases" in document:
        raise Malformed("figures of chases; `./dev bench chase` draws them itself, as chase.svg")
    suites = document.get("suites") if isinstance(document, dict) else None
    if not isinstance(suites, list):
        raise Malformed('no list "suites" in it: not what a benchmark writes')
    machine = document.get("machine")
    where = machine_text(machine if isinstance(machine, dict) else {})
    return [suite_of(program, where, suite) for suite in suites]


def machine_text(machine: dict) -> str:
    if not machine.get("cpu"):
        return "a machine that is not named"
    kernel = re.match(r"\w+ \d+\.\d+|", str(machine.get("kernel", ""))).group()
    text = f"{machine['cpu']}, {machine.get('cores', '?')} cores, {kernel}".rstrip(", ")
    load = machine.get("load")
    return f"{text}, load {load} as it began" if load else text


def suite_of(program: str, machine: str, suite) -> Suite:
    name = suite.get("suite") if isinstance(suite, dict) else None
    if not isinstance(name, str) or not SUITE_NAME.fullmatch(name):
        raise Malformed(f"a suite without a proper name: {name!r}")
    rows = suite.get("rows")
    if not isinstance(rows, list):
        raise Malformed(f"suite {name} has no list of rows")
    made = [row_of(row, f"suite {name}, row {i}") for i, row in enumerate(rows, start=1)]
    return Suite(program, name, str(suite.get("title", name)), machine, made)


def row_of(row, where: str) -> Row:
    if not isinstance(row, dict) or not isinstance(row.get("name"), str):
        raise Malformed(f"{where} has no name")

    def number(key: str) -> float:
        value = row.get(key, 0)
        if isinstance(value, bool) or not isinstance(value, (int, float)) \
                or not math.isfinite(value) or value < 0:
            raise Malformed(f"{where} ({row['name']}): {key} is {value!r}, not a number from 0 up")
        return value

    if "p50_us" not in row:
        raise Malformed(f"{where} ({row['name']}) has no p50_us")
    goal = row.get("goal", "")
    if goal and not (isinstance(goal, str) and GOAL.fullmatch(goal)):
        raise Malformed(f"{where} ({row['name']}): the goal {goal!r} is none of \"< 3 us\", "
                        "\"<= 1.25x\", \">= 0.40x\"")
    return Row(row["name"], number("p50_us"), number("p99_us"), number("MB/s"),
               str(row.get("beside", "")), number("ratio"), goal, row.get("met") is True)


def from_tables(program: str, text: str) -> list:
    """Tables as the programs print them, each below a line "suite: title"; others are skipped."""
    found = MACHINE.search(text)
    cpu, cores, kernel, load = found.groups() if found else ("", "", "", "")
    machine = machine_text({"cpu": cpu, "cores": cores, "kernel": kernel, "load": load})
    suites, heading, columns = [], None, None
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.startswith("|"):
            columns = None
            heading = HEADING.match(line) or heading
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if columns is None:
            columns = cells
            if heading and cells[0] == "row":
                suites.append(Suite(program, heading[1], heading[2], machine, []))
        elif columns[0] == "row" and heading and not cells[0].startswith("--"):
            suites[-1].rows.append(row_of_cells(dict(zip(columns, cells)), f"line {number}"))
    if not suites:
        raise Malformed("no table of a benchmark in it: none that begins with a column \"row\" "
                        "below a line \"suite: title\"")
    return suites


def row_of_cells(cells: dict, where: str) -> Row:
    row = {"name": cells["row"], "beside": cells.get("beside", ""), "goal": cells.get("goal", ""),
           "met": cells.get("met") == "yes"}
    for key, column in (("p50_us", "p50 us"), ("p99_us", "p99 us"), ("MB/s", "MB/s"),
                        ("ratio", "ratio")):
        cell = cells.get(column, "").removesuffix("x")
        try:
            row[key] = float(cell or 0)
        except ValueError:
            raise Malformed(f"{where} ({row['name']}): {column} is {cell!r}, "
                            "not a number") from None
    return row_of(row, where)


def goal_of(row: Row) -> tuple:
    """(sign, value, whether it is about the ratio) of a row that has a goal."""
    sign, value, unit = GOAL.fullmatch(row.goal).groups()
    return sign, float(value), unit == "x"


def surplus(row: Row) -> float:
    """How many times better than its goal asks: 1 is just enough. 0: nothing was measured."""
    sign, goal, of_ratio = goal_of(row)
    measured = row.ratio if of_ratio else row.p50_us
    if measured == 0 or goal == 0:
        return 0
    return measured / goal if sign == ">=" else goal / measured
