"""SVG by hand: text, lines, marks and logarithmic axes. No font, script or file of its own."""

import math
from xml.sax.saxutils import escape

FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"
INK, FAINT, GRID = "#1f2328", "#59636e", "#dde1e6"
CHARACTER = 0.6  # of the font size, on average: fonts differ, so nothing may depend on it closely


class Picture:
    """Pieces of a picture with a background of its own: a page may be light or dark."""

    def __init__(self, width: float, height: float, title: str):
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
            f'width="{width:g}" height="{height:g}" font-family="{FONT}" font-size="12" '
            f'fill="{INK}" role="img">',
            f"<title>{escape(title)}</title>",
            f'<rect x="0.5" y="0.5" width="{width - 1:g}" height="{height - 1:g}" rx="6" '
            f'fill="#ffffff" stroke="{GRID}"/>',
        ]

    def text(self, x: float, y: float, words: str, anchor: str = "start", size: float = 12,
             colour: str = INK, bold: bool = False) -> None:
        weight = ' font-weight="600"' if bold else ""
        # The rim keeps words legible where a line passes behind them.
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size:g}" '
            f'fill="{colour}"{weight} stroke="#ffffff" stroke-width="3" stroke-linejoin="round" '
            f'paint-order="stroke">{escape(words)}</text>')

    def path(self, points: list, colour: str, width: float = 1, dash: str = "") -> None:
        steps = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<path d="M{steps}" fill="none" stroke="{colour}" '
                          f'stroke-width="{width:g}" stroke-linejoin="round"{dashes}/>')

    def mark(self, x: float, y: float, shape: str, colour: str) -> None:
        if shape == "circle":
            piece = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.8"'
        elif shape == "square":
            piece = f'<rect x="{x - 3.4:.1f}" y="{y - 3.4:.1f}" width="6.8" height="6.8"'
        else:
            piece = f'<path d="M{x:.1f} {y - 4.5:.1f}l4.5 4.5l-4.5 4.5l-4.5 -4.5z"'
        self.parts.append(f'{piece} fill="{colour}" stroke="#ffffff"/>')

    def bar(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" '
                          f'height="{height:.1f}" rx="2" fill="{colour}"/>')

    def finish(self) -> str:
        return "\n".join([*self.parts, "</svg>"]) + "\n"


class LogAxis:
    """From values, all above zero, to places between `begin` and `end`."""

    def __init__(self, values, begin: float, end: float, margin: float = 1.3):
        self.low, self.high = min(values) / margin, max(values) * margin
        self.begin, self.end = begin, end
        while len(self.ticks()) < 2:
            self.low, self.high = self.low / margin, self.high * margin

    def place(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.begin + (self.end - self.begin) * share

    def ticks(self) -> list:
        """Powers of ten; between them 2 and 5 where there are few."""
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        inside = [step * 10.0**power for power in range(first, last + 1) for step in (1, 2, 5)
                  if self.low <= step * 10.0**power <= self.high]
        decades = [value for value in inside if f"{value:e}".startswith("1.")]
        return decades if len(decades) > 2 else inside


def three_digits(value: float) -> str:
    text = f"{value:.{max(0, 2 - math.floor(math.log10(value)))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def scaled(value: float, units: tuple) -> str:
    """`units`: (name, how many of the value's it is), from small to large."""
    name, size = units[0]
    for bigger, bigger_size in units[1:]:
        if value >= bigger_size * 0.9995:  # 999.6 would be rounded to 1000 of the smaller
            name, size = bigger, bigger_size
    return f"{three_digits(value / size)} {name}"


def time_text(us: float) -> str:
    return scaled(us, (("us", 1.0), ("ms", 1e3), ("s", 1e6)))


def rate_text(mb_per_s: float) -> str:
    return scaled(mb_per_s, (("MB/s", 1.0), ("GB/s", 1e3)))


def ratio_text(ratio: float) -> str:
    return f"{ratio:.{2 if ratio < 10 else 1 if ratio < 100 else 0}f}x"


def size_text(size: float) -> str:
    if size >= 1024 and size % 1024 == 0 and size % 1000 != 0:
        return scaled(size, (("KiB", 2**10), ("MiB", 2**20), ("GiB", 2**30)))
    return scaled(size, (("B", 1), ("KB", 1e3), ("MB", 1e6), ("GB", 1e9)))


def wrapped(words: str, columns: int) -> list:
    lines = [""]
    for word in words.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > columns:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def width_of(words: str, size: float) -> float:
    return len(words) * size * CHARACTER


class Labels:
    """Finds room for words beside what is drawn already in a rectangle."""

    def __init__(self, left: float, top: float, right: float, bottom: float):
        self.bounds = (left, top, right, bottom)
        self.drawn: list = []  # places that words should not cover
        self.boxes: list = []  # of words

    def avoid(self, points: list) -> None:
        """A line through these points."""
        self.drawn.append(points[0])
        for (x, y), (to_x, to_y) in zip(points, points[1:]):
            steps = max(1, round(math.hypot(to_x - x, to_y - y) / 5))
            self.drawn += [(x + (to_x - x) * i / steps, y + (to_y - y) * i / steps)
                           for i in range(1, steps + 1)]

    def place(self, x: float, y: float, width: float, height: float) -> tuple:
        """A box near that place (left, top, right, bottom), where it covers least."""
        best = min(((self.cost(box, x, y), box) for box in self.choices(x, y, width, height)),
                   key=lambda choice: choice[0])[1]
        self.boxes.append(best)
        return best

    @staticmethod
    def choices(x: float, y: float, width: float, height: float):
        for away in (0, 10, 16, 24, 34, 46, 60):
            for up in (-1, 1):
                middle = y + up * (away + height / 2 if away else 0)
                for left in (x + 14, x - 14 - width, x - width / 2):
                    yield left, middle - height / 2, left + width, middle + height / 2

    def cost(self, box: tuple, x: float, y: float) -> float:
        left, top, right, bottom = box
        outside = left < self.bounds[0] or top < self.bounds[1] \
            or right > self.bounds[2] or bottom > self.bounds[3]
        covered = sum(left - 3 < px < right + 3 and top - 2 < py < bottom + 2
                      for px, py in self.drawn)
        crossed = sum(left < b[2] and b[0] < right and top < b[3] and b[1] < bottom
                      for b in self.boxes)
        distance = math.hypot((left + right) / 2 - x, (top + bottom) / 2 - y)
        return 1000 * outside + 100 * crossed + 10 * covered + distance / 3


def spread(places: list, heights: list, low: float, high: float) -> list:
    """Moves the middles of labels apart, as little as a single pass each way can."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    moved = list(places)
    edge = low
    for i in order:
        moved[i] = max(moved[i], edge + heights[i] / 2)
        edge = moved[i] + heights[i] / 2
    edge = high
    for i in reversed(order):
        moved[i] = min(moved[i], edge - heights[i] / 2)
        edge = moved[i] - heights[i] / 2
    return moved
