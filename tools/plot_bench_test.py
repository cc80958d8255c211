#!/usr/bin/env python3
"""Tests of the plots: what is read, what is refused, what is drawn, and that docs/ is up to date."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import plot_bench
from plots import charts, figures, panels, svg

TEXT = "{http://www.w3.org/2000/svg}text"
PRINTED = """AMD EPYC, 2 cores, Linux 6.18.44 x86_64; load 0.50 as this began

shm: One object

| row            | p50 us | p99 us | MB/s |       beside | ratio |   goal | met |
|----------------|-------:|-------:|-----:|-------------:|------:|-------:|----:|
| memcpy, 1 KB   |   0.50 |   0.60 | 2000 |              |       |        |     |
| godwit, 1 KB   |   2.00 |   3.00 |  500 | memcpy, 1 KB | 4.00x | < 3 us | yes |

A note with | in it, and another table:

| delay | steps |
|------:|------:|
|     1 |     2 |
"""
WRITTEN = {
    "machine": {"cpu": "AMD EPYC", "cores": 2, "kernel": "Linux 6.18.44 x86_64", "load": "0.50"},
    "suites": [{"suite": "shm", "title": "One object", "rows": [
        {"name": "memcpy, 1 KB", "p50_us": 0.5, "p99_us": 0.6, "MB/s": 2000},
        {"name": "godwit, 1 KB", "p50_us": 2, "p99_us": 3, "MB/s": 500, "beside": "memcpy, 1 KB",
         "ratio": 4, "goal": "< 3 us", "met": True}]}]}


def suite_of(*rows):
    return figures.Suite("ref", "shm", "One object", "here", list(rows))


def sized(size, floor_us, us, **more):
    """A floor and what is held against it."""
    return (figures.Row(f"memcpy, {size}", floor_us),
            figures.Row(f"godwit put, {size}", us, beside=f"memcpy, {size}", ratio=us / floor_us,
                        **more))


def words_of(picture):
    return [element.text for element in xml.etree.ElementTree.fromstring(picture).iter(TEXT)]


class Reading(unittest.TestCase):
    def test_json_and_printed_tables_say_the_same(self):
        self.assertEqual(figures.from_json("ref", json.dumps(WRITTEN)),
                         figures.from_tables("ref", PRINTED))

    def test_a_page_may_name_the_machine_in_a_sentence(self):
        page = PRINTED.replace(PRINTED.splitlines()[0],
                               "A run of `x` on AMD EPYC, 2 cores (virtual), Linux 6.18, alone.")
        self.assertEqual("AMD EPYC, 2 cores, Linux 6.18",
                         figures.from_tables("ref", page)[0].machine)

    def test_what_is_malformed_is_refused_with_the_reason(self):
        row = {"name": "a", "p50_us": 1}
        cases = {
            "not JSON at line 1": '{"suites": [',
            'no list "suites"': "[1]",
            "draws them itself": '{"chases": []}',
            "without a proper name": '{"suites": [{"suite": "../x", "rows": []}]}',
            "no list of rows": '{"suites": [{"suite": "x"}]}',
            "row 1 has no name": '{"suites": [{"suite": "x", "rows": [3]}]}',
            "has no p50_us": '{"suites": [{"suite": "x", "rows": [{"name": "a"}]}]}',
            "p50_us is nan": json.dumps({"suites": [
                {"suite": "x", "rows": [row | {"p50_us": float("nan")}]}]}),
            "ratio is 'y'": json.dumps({"suites": [{"suite": "x", "rows": [row | {"ratio": "y"}]}]}),
            "the goal 'fast'": json.dumps({"suites": [
                {"suite": "x", "rows": [row | {"goal": "fast"}]}]}),
        }
        for reason, text in cases.items():
            with self.assertRaisesRegex(figures.Malformed, re.escape(reason)):
                figures.from_json("ref", text)

    def test_tables_that_are_malformed_are_refused_with_the_reason(self):
        with self.assertRaisesRegex(figures.Malformed, "no table"):
            figures.from_tables("x", "# A page\n")
        with self.assertRaisesRegex(figures.Malformed, "line 7 .* 'fast', not a number"):
            figures.from_tables("x", PRINTED.replace("  0.50 |   0.60", "fast |   0.60"))


class Arranging(unittest.TestCase):
    def test_a_floor_and_what_is_held_against_it_share_a_panel_over_all_sizes(self):
        rows = []
        for size in ("1 KB", "10 KB", "1 MB"):
            rows += sized(size, 1, 2)
            rows += [figures.Row(f"redis SET, {size}", 9, beside=f"godwit put, {size}", ratio=4.5),
                     figures.Row(f"mapping, {size}", 1),
                     figures.Row(f"godwit resolve, {size}", 3, beside=f"mapping, {size}", ratio=3)]
        put, resolve = panels.panels(suite_of(*rows))
        self.assertEqual(("put", "resolve"), (put.title, resolve.title))
        self.assertEqual({"memcpy": "floor", "godwit put": "subject", "redis SET": "rival"},
                         {name: series.role for name, series in put.series.items()})
        self.assertEqual([(1e3, 2), (1e4, 2), (1e6, 2)], put.series["godwit put"].points)

    def test_a_floor_measured_twice_is_in_both_panels(self):
        rows = [row for way in ("shm", "tcp") for size in ("64 B", "1 KB", "1 MB") for row in
                (figures.Row(f"raw, {size}", 1), figures.Row(f"stream, {way}, {size}", 2,
                                                             beside=f"raw, {size}", ratio=2))]
        self.assertEqual(["stream, shm", "stream, tcp"],
                         [panel.title for panel in panels.panels(suite_of(*rows))])

    def test_goals_stand_where_a_row_would_just_meet_them(self):
        rows = [*sized("1 KB", 1, 2), *sized("1 MB", 10, 20, goal="<= 1.50x"),
                *sized("10 MB", 100, 400, goal="< 1000 us", met=True)]
        [panel] = panels.panels(suite_of(*rows))
        self.assertEqual([(1e6, 15), (1e7, 1000)], [goal[:2] for goal in panel.goals])
        for row in rows:
            row.mb_per_s = 1000 / row.p50_us
        [panel] = panels.panels(suite_of(*rows))
        self.assertAlmostEqual(1000 / 15, panel.goals[0][1])

    def test_labels_keep_apart(self):
        self.assertEqual([10, 30, 50], svg.spread([20, 21, 50], [20, 20, 20], 0, 60))
        placed = svg.Labels(0, 0, 200, 100)
        placed.avoid([(0, 50), (200, 50)])
        boxes = [placed.place(100, 50, 60, 13) for _ in range(3)]
        for box in boxes:
            self.assertTrue(box[3] < 50 or box[1] > 50, box)
        self.assertEqual(3, len(set(boxes)))


class Drawing(unittest.TestCase):
    def test_figures_have_units(self):
        self.assertEqual(["0.34 us", "1 ms", "10.6 ms", "1.5 s"],
                         [svg.time_text(us) for us in (0.34, 999.9, 10620, 1.5e6)])
        self.assertEqual(["64 B", "10 KB", "4 KiB", "1 GB"],
                         [svg.size_text(size) for size in (64, 10_000, 4096, 1e9)])

    def test_lines_are_drawn_over_sizes_and_rows_without(self):
        lines = charts.draw(suite_of(*sized("1 KB", 1, 2), *sized("1 MB", 9, 18),
                                     *sized("1 GB", 80, 90)))
        self.assertIn("1 GB", words_of(lines))
        self.assertIn("90 us", words_of(lines))
        rows = charts.draw(suite_of(figures.Row("memcpy", 1), figures.Row(
            "godwit", 2, beside="memcpy", ratio=2, goal="<= 1.50x")))
        self.assertIn("2.00x of memcpy, goal <= 1.50x: not met", words_of(rows))

    def test_names_cannot_break_the_picture(self):
        picture = charts.draw(suite_of(figures.Row("<script>&\"'", 1)))
        self.assertIn("<script>&\"'", words_of(picture))
        self.assertNotIn("<script>", picture)

    def test_one_figure_and_equal_figures_are_drawn(self):
        self.assertIn("3.14 us", words_of(charts.draw(suite_of(figures.Row("a", 3.14)))))
        charts.draw(suite_of(*sized("1 KB", 7, 7), *sized("1 MB", 7, 7), *sized("1 GB", 7, 7)))

    def test_without_times_nothing_is_drawn(self):
        self.assertEqual("", charts.draw(suite_of(figures.Row("bytes", 0))))
        self.assertEqual("", charts.draw_goals([suite_of(figures.Row("a", 1))]))

    def test_goals_count_what_is_met(self):
        suite = suite_of(figures.Row("a", 2, goal="< 3 us", met=True),
                         figures.Row("b", 6, goal="< 3 us"))
        self.assertIn("Godwit: goals and what was reached: 1 of 2 met",
                      words_of(charts.draw_goals([suite])))
        self.assertEqual([1.5, 0.5], [figures.surplus(row) for row in suite.rows])


class Published(unittest.TestCase):
    """The charts in docs/images."""

    @classmethod
    def setUpClass(cls):
        cls.charts = plot_bench.draw_all([plot_bench.ROOT / name
                                          for name in plot_bench.PUBLISHED_FILES])

    def test_they_are_those_of_the_figures_and_the_page_shows_them(self):
        page = (plot_bench.ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")
        for name in plot_bench.PUBLISHED_CHARTS:
            file = plot_bench.ROOT / "docs/images" / f"{name}.svg"
            self.assertTrue(file.read_text(encoding="utf-8") == self.charts[name],
                            f"{file} differs: run `./dev bench plot --published`")
            self.assertTrue(f"(images/{name}.svg)" in page, f"docs/benchmarks.md without {name}")

    def test_they_need_nothing_from_elsewhere(self):
        for picture in self.charts.values():
            text = picture.replace("http://www.w3.org/2000/svg", "")
            self.assertIsNone(re.search(r"https?:|href|url\(|<script|<style|@import", text))

    def test_all_words_are_inside_the_picture(self):
        for name, picture in self.charts.items():
            if not picture:
                continue  # of a suite without times
            root = xml.etree.ElementTree.fromstring(picture)
            _, _, width, height = map(float, root.get("viewBox").split())
            for element in root.iter(TEXT):
                long = svg.width_of(element.text, float(element.get("font-size")))
                before = {"start": 0, "middle": long / 2, "end": long}[element.get("text-anchor")]
                left = float(element.get("x")) - before
                self.assertTrue(0 <= left and left + long <= width, f"{name}: {element.text}")
                self.assertTrue(10 <= float(element.get("y")) <= height - 4, element.text)


class Command(unittest.TestCase):
    def plot(self, *arguments):
        return subprocess.run([sys.executable, plot_bench.__file__, *arguments],
                              capture_output=True, text=True, check=False)

    def test_charts_are_written_and_named(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "ref.json")
            file.write_text(json.dumps(WRITTEN), encoding="utf-8")
            done = self.plot(str(file), "--out", f"{folder}/plots")
            self.assertEqual((0, ""), (done.returncode, done.stderr))
            self.assertEqual(["goals.svg", "ref-shm.svg"],
                             sorted(path.name for path in pathlib.Path(folder, "plots").iterdir()))
            again = self.plot(str(file), str(file), "--out", f"{folder}/plots")
            self.assertIn("in a file before this one", again.stderr)
            other = self.plot(str(file), "--only", "ref-tcp", "--out", f"{folder}/plots")
            self.assertIn("no chart ref-tcp; there are ref-shm, goals", other.stderr)

    def test_a_missing_file_is_an_error_that_says_what_to_do(self):
        done = self.plot("there/is/none.json")
        self.assertEqual(1, done.returncode)
        self.assertEqual("plot: there/is/none.json: there is no such file; `./dev bench NAME` "
                         "writes one\n", done.stderr)


if __name__ == "__main__":
    unittest.main()
