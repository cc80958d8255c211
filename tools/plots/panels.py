"""Which rows belong into one picture: those of growing sizes as lines, others one below another."""

import dataclasses
import re

from plots.figures import Row, Suite, surplus

SIZE = re.compile(r"^(.*), (\d+) (B|KB|KiB|MB|MiB|GB|GiB)$")
UNITS = {"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
RIVALS = re.compile(r"redis|zeromq|proxystore", re.IGNORECASE)


def split_size(name: str) -> tuple:
    """("godwit put", bytes) of "godwit put, 10 KB"; bytes are None if the name has no size."""
    found = SIZE.match(name)
    return (found[1], int(found[2]) * UNITS[found[3]]) if found else (name, None)


def role(row: Row) -> str:
    if RIVALS.search(row.name) and "godwit" not in row.name:
        return "rival"
    return "subject" if row.beside or row.goal or "godwit" in row.name else "floor"


def blocks(rows: list) -> list:
    """Rows that took turns: floors, and what is held against them."""
    made: list = []
    for row in rows:
        if not made or (not row.beside and made[-1][-1].beside):
            made.append([])
        made[-1].append(row)
    return made


@dataclasses.dataclass
class Series:
    name: str
    role: str
    points: list  # (bytes, value)


@dataclasses.dataclass
class Panel:
    title: str
    series: dict  # by name
    goals: list  # (bytes, value, row)


def by_size(suite: Suite) -> bool:
    sizes = [split_size(row.name)[1] for row in suite.rows]
    return None not in sizes and len(set(sizes)) >= 3


def is_bandwidth(suite: Suite) -> bool:
    """Times span so many decades that differences drown: where bytes are moved, their rate is
    drawn. An object that is merely mapped has none."""
    largest = max(split_size(row.name)[1] for row in suite.rows)
    return all(row.mb_per_s for row in suite.rows if split_size(row.name)[1] == largest)


def panels(suite: Suite) -> list:
    """One for each floor with what is held against it, over all sizes."""
    bandwidth = is_bandwidth(suite)
    made: dict = {}
    for block in blocks(suite.rows):
        names = [split_size(row.name)[0] for row in block]
        first = next((i for i, row in enumerate(block) if row.beside), 0)
        title = names[first].removeprefix("godwit ")
        panel = made.setdefault((*names[:first], names[first]), Panel(title, {}, []))
        for name, row in zip(names, block):
            size = split_size(row.name)[1]
            value = row.mb_per_s if bandwidth else row.p50_us
            if value == 0:
                continue
            panel.series.setdefault(name, Series(name, role(row), [])).points.append((size, value))
            if row.goal and surplus(row):
                times = surplus(row)
                panel.goals.append((size, value / times if bandwidth else value * times, row))
    return [over_sizes(panel) for panel in made.values() if panel.series]


def over_sizes(panel: Panel) -> Panel:
    """Without rows of one size beside lines over several: the lines leave no room for their names.
    They are in the tables, and their goals in the chart of all goals."""
    if max(len(series.points) for series in panel.series.values()) < 3:
        return panel
    lines = {name: series for name, series in panel.series.items() if len(series.points) > 1}
    goals = [goal for goal in panel.goals if split_size(goal[2].name)[0] in lines]
    return Panel(panel.title, lines, goals)
