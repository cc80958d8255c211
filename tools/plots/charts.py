"""The pictures: lines over sizes, rows of latencies, and goals with what was reached."""

from plots import svg
from plots.figures import Suite, goal_of, surplus
from plots.panels import Panel, blocks, by_size, is_bandwidth, panels, role

WIDTH = 960
HEAD = 82  # above the panels: title, what is drawn, where it was measured
LINE = 13  # of a label
# Of the colours that most colour-blind people tell apart (Okabe and Ito), made dark enough for
# text; marks and dashes tell series apart, too.
STYLES = {"subject": (("#0068a8", "circle", ""), ("#007a55", "diamond", "")),
          "rival": (("#b84300", "square", ""), ("#8a6100", "diamond", "")),
          "floor": (("#5f6670", "", "5 4"), ("#8f4588", "", "2 3"))}
GOAL_COLOUR = "#8a6100"


def begin(title: str, drawn: str, where: str, width: float, height: float) -> svg.Picture:
    title = f"Godwit: {title[:1].lower()}{title[1:]}"
    picture = svg.Picture(width, height, title)
    room = (width - 40) / svg.width_of(title, 1)
    picture.text(20, 28, title, size=min(16, room), bold=True)
    picture.text(20, 47, drawn, colour=svg.FAINT)
    picture.text(20, 63, where, colour=svg.FAINT)
    return picture


def measured(suite: Suite) -> str:
    return f"Suite {suite.name} of a run on {suite.machine}."


def draw(suite: Suite) -> str:
    """Empty: nothing that could be drawn, no time above zero."""
    timed = Suite(suite.program, suite.name, suite.title, suite.machine,
                  [row for row in suite.rows if row.p50_us > 0])
    if not timed.rows:
        return ""
    return draw_sizes(timed) if by_size(timed) else draw_rows(timed)


def draw_sizes(suite: Suite) -> str:
    all_panels = panels(suite)
    bandwidth = is_bandwidth(suite)
    across = {1: 1, 2: 2, 4: 2}.get(len(all_panels), 3)
    width = 720 if across == 1 else WIDTH
    each, height = (width - 70) / across, 330
    down = -(-len(all_panels) // across)
    drawn = "Bytes per second at the median time, by size; more is better." if bandwidth \
        else "Median time, by size; less is better."
    picture = begin(suite.title, drawn, measured(suite), width, HEAD + down * height)
    points = [point for panel in all_panels for series in panel.series.values()
              for point in series.points]
    values = [value for _, value in points]
    values += [value for panel in all_panels for _, value, _ in panel.goals]
    for number, panel in enumerate(all_panels):
        left, top = 66 + (number % across) * each, HEAD + (number // across) * height
        x = svg.LogAxis([size for size, _ in points], left, left + each - 122)
        y = svg.LogAxis(values, top + height - 48, top + 28)
        unit = svg.rate_text if bandwidth else svg.time_text
        draw_axes(picture, panel, x, y, unit if number % across == 0 else None)
        draw_panel(picture, panel, x, y, unit)
    return picture.finish()


def draw_axes(picture: svg.Picture, panel: Panel, x: svg.LogAxis, y: svg.LogAxis, unit) -> None:
    """Without a unit: the values are those of the panel to the left."""
    picture.text(x.begin, y.end - 10, panel.title, size=13, bold=True)
    for value in y.ticks():
        picture.path([(x.begin, y.place(value)), (x.end, y.place(value))], svg.GRID)
        if unit:
            picture.text(x.begin - 6, y.place(value) + 4, unit(value), "end", 11, svg.FAINT)
    picture.path([(x.begin, y.begin), (x.end, y.begin)], svg.FAINT)
    sizes = sorted({size for series in panel.series.values() for size, _ in series.points})
    texts = [svg.size_text(size) for size in sizes]
    room = x.end + 100
    for number, size in reversed(list(enumerate(sizes))):
        at = x.place(size)
        picture.path([(at, y.begin), (at, y.begin + 4)], svg.FAINT)
        amount, of = texts[number].split()
        # The unit is that of the size before, except at the ends.
        said = 0 < number < len(sizes) - 1 and texts[number - 1].endswith(f" {of}")
        words = amount if said else texts[number]
        half = svg.width_of(words, 11) / 2
        if at + half < room:
            picture.text(at, y.begin + 17, words, "middle", 11, svg.FAINT)
            room = at - half - 3
    picture.text((x.begin + x.end) / 2, y.begin + 35, "size", "middle", 11, svg.FAINT)


def draw_panel(picture: svg.Picture, panel: Panel, x: svg.LogAxis, y: svg.LogAxis, unit) -> None:
    inside = svg.Labels(x.begin + 2, y.end, x.end, y.begin - 2)
    labels, used = [], {}
    for series in panel.series.values():
        styles = STYLES[series.role]
        used[series.role] = used.get(series.role, -1) + 1
        colour, shape, dash = styles[used[series.role] % len(styles)]
        places = [(x.place(size), y.place(value)) for size, value in sorted(series.points)]
        if len(places) > 1:
            picture.path(places, colour, 2.4 if series.role == "subject" else 1.7, dash)
        inside.avoid(places)
        if shape or len(places) == 1:
            for place in places:
                picture.mark(*place, shape or "diamond", colour)
        words = svg.wrapped(series.name, 17) + [unit(sorted(series.points)[-1][1])]
        labels.append((places[-1], words, colour))
    for size, value, _ in panel.goals:
        line = [(x.place(size) - 10, y.place(value)), (x.place(size) + 10, y.place(value))]
        picture.path(line, GOAL_COLOUR, 3)
        inside.avoid(line)
    for size, value, row in panel.goals:
        words = goal_text(row).split(" ", 1)[1]
        write_near(picture, inside, (x.place(size), y.place(value)), f"goal {words}", GOAL_COLOUR)

    far = max(place[0] for place, _, _ in labels)
    at_end = [label for label in labels if label[0][0] == far]
    heights = [len(words) * LINE + 4 for _, words, _ in at_end]
    middles = svg.spread([place[1] for place, _, _ in at_end], heights, y.end - 20, y.begin + 10)
    for middle, (place, words, colour) in zip(middles, at_end):
        picture.path([(place[0] + 6, place[1]), (x.end + 9, middle)], colour)
        write(picture, x.end + 13, middle, words, colour)
    for place, words, colour in labels:
        if place[0] < far:
            write_near(picture, inside, place, " ".join(words).removeprefix("godwit "), colour)


def write_near(picture: svg.Picture, inside: svg.Labels, place: tuple, words: str,
               colour: str) -> None:
    """With a line to it where that is far."""
    left, top, right, bottom = inside.place(*place, svg.width_of(words, 11), LINE)
    x, y = min(max(place[0], left), right), min(max(place[1], top), bottom)
    if abs(y - place[1]) > 12:
        picture.path([(place[0], place[1] + (5 if y > place[1] else -5)), (x, y)], colour)
    picture.text(left, top + 10, words, size=11, colour=colour)


def write(picture: svg.Picture, left: float, middle: float, words: list, colour: str) -> None:
    """The last line is a figure, and stands out."""
    top = middle - len(words) * LINE / 2 + 10
    for number, line in enumerate(words):
        picture.text(left, top + number * LINE, line, size=11, colour=colour,
                     bold=number == len(words) - 1)


def draw_rows(suite: Suite) -> str:
    grouped = blocks(suite.rows)
    height = HEAD + 22 * len(suite.rows) + 12 * len(grouped) + 44
    picture = begin(suite.title, "Marks: median time; thin lines: to the 99th percentile; "
                    "upright bars: goals; less is better.", measured(suite), WIDTH, height)
    names = max(svg.width_of(row.name, 12) for row in suite.rows)
    left = min(30 + names, 380)
    values = [value for row in suite.rows for value in (row.p50_us, row.p99_us) if value > 0]
    values += [row.p50_us * surplus(row) for row in suite.rows if has_place(row)]
    x = svg.LogAxis(values, left, 590)
    bottom = height - 42
    for value in x.ticks():
        picture.path([(x.place(value), HEAD + 2), (x.place(value), bottom)], svg.GRID)
        picture.text(x.place(value), bottom + 16, svg.time_text(value), "middle", 11, svg.FAINT)
    picture.text((x.begin + x.end) / 2, bottom + 33, "time", "middle", 11, svg.FAINT)
    y = float(HEAD)
    for block in grouped:
        y += 12
        for row in block:
            draw_row(picture, row, x, y + 4)
            y += 22
    return picture.finish()


def draw_row(picture: svg.Picture, row, x: svg.LogAxis, y: float) -> None:
    colour, shape, _ = STYLES[role(row)][0]
    at = x.place(row.p50_us)
    picture.text(x.begin - 8, y + 4, row.name, "end", colour=colour, bold=role(row) == "subject")
    if row.p99_us > row.p50_us:
        picture.path([(at, y), (x.place(row.p99_us), y)], colour, 1.5)
    picture.mark(at, y, shape or "diamond", colour)
    if has_place(row):
        goal = x.place(row.p50_us * surplus(row))
        picture.path([(goal, y - 9), (goal, y + 9)], GOAL_COLOUR, 2.5)
    picture.text(x.end + 64, y + 4, svg.time_text(row.p50_us), "end", colour=colour, bold=True)
    judged = f"goal {goal_text(row)}: {'met' if row.met else 'not met'}" if row.goal else ""
    beside = f"{svg.ratio_text(row.ratio)} of {row.beside}" if row.ratio else ""
    said = ", ".join(filter(None, (beside, judged)))
    if svg.width_of(said, 11) > WIDTH - x.end - 90:
        said = said.replace(f" of {row.beside}", "")
    if said:
        picture.text(x.end + 76, y + 4, said, size=11, colour=svg.FAINT)


def has_place(row) -> bool:
    """Whether the goal is a time. One that asks for more may be about rates."""
    return bool(row.goal) and surplus(row) > 0 and goal_of(row)[0] != ">="


def goal_text(row) -> str:
    sign, value, of_ratio = goal_of(row)
    return f"{sign} {svg.ratio_text(value) if of_ratio else svg.time_text(value)}"


def draw_goals(suites: list) -> str:
    """Every row that has a goal, of all suites; empty: none has."""
    judged = [(suite, row) for suite in suites for row in suite.rows if row.goal and surplus(row)]
    if not judged:
        return ""
    machines = sorted({suite.machine.split(", load")[0] for suite, _ in judged})
    height = HEAD + 23 * len(judged) + 58
    met = sum(row.met for _, row in judged)
    picture = begin(f"Goals and what was reached: {met} of {len(judged)} met",
                    "How many times better than its goal asks each row is; 1 is just enough.",
                    f"Measured on {'; '.join(machines)}.", WIDTH, height)
    names = max(svg.width_of(goal_name(suite, row), 12) for suite, row in judged)
    x = svg.LogAxis([surplus(row) for _, row in judged] + [1], max(30 + names, 370), 715)
    bottom = height - 48
    for value in x.ticks():
        picture.path([(x.place(value), HEAD + 2), (x.place(value), bottom)], svg.GRID)
        picture.text(x.place(value), bottom + 16, f"{value:g}x", "middle", 11, svg.FAINT)
    picture.path([(x.place(1), HEAD + 2), (x.place(1), bottom)], svg.INK, 1.5)
    picture.text(x.place(1) - 8, bottom + 34, "falls short", "end", 11, STYLES["rival"][0][0])
    picture.text(x.place(1) + 8, bottom + 34, "better than its goal", "start", 11,
                 STYLES["subject"][0][0])
    for number, (suite, row) in enumerate(judged):
        draw_goal(picture, suite, row, x, HEAD + 14 + number * 23)
    return picture.finish()


def goal_name(suite: Suite, row) -> str:
    """Of whom is clear, of which suite is not."""
    name = row.name.removeprefix("godwit ")
    return name if name.startswith(suite.name) else f"{suite.name}: {name}"


def draw_goal(picture: svg.Picture, suite: Suite, row, x: svg.LogAxis, y: float) -> None:
    colour = STYLES["subject" if row.met else "rival"][0][0]
    visible = max(abs(x.place(surplus(row)) - x.place(1)), 3)
    picture.bar(x.place(1) - (0 if row.met else visible), y - 6, visible, 12, colour)
    picture.text(x.begin - 10, y + 4, goal_name(suite, row), "end")
    reached = svg.ratio_text(row.ratio) if goal_of(row)[2] else svg.time_text(row.p50_us)
    picture.text(x.end + 70, y + 4, reached, "end", colour=colour, bold=True)
    picture.text(x.end + 82, y + 4, f"goal {goal_text(row)}: {'met' if row.met else 'not met'}",
                 size=11, colour=svg.FAINT)
