#!/usr/bin/env python3
"""Tests of the checks: each rule fires where it should, and only there."""

import unittest

import check_layers
import check_tidy


def layer_problems(path, *lines):
    return check_layers.check_file(path, "\n".join(lines) + "\n")


def tidy_rules(path, text):
    return [problem.split("[")[1].split("]")[0] for problem in check_tidy.check_file(path, text)]


class Layers(unittest.TestCase):
    def test_a_layer_may_include_itself_and_what_is_below(self):
        self.assertEqual([], layer_problems(
            "src/fabric/shm/ring.cpp", '#include "fabric/transport.hpp"', '#include "base/ids.hpp"',
            '#include "godwit/error.hpp"', "#include <vector>", "#include <sys/mman.h>"))

    def test_a_layer_may_not_include_what_is_above(self):
        [problem] = layer_problems("src/base/x.cpp", "", '#include "fabric/transport.hpp"')
        self.assertIn("src/base/x.cpp:2:", problem)
        self.assertIn("base < trace", problem)

    def test_src_may_not_include_apps(self):
        self.assertEqual(1, len(layer_problems("src/node/x.cpp", '#include "apps/cli.hpp"')))

    def test_public_headers_are_self_contained(self):
        self.assertEqual([], layer_problems(
            "include/godwit/x.hpp", "#include <span>", "#include <stdint.h>",
            "#include <tl/expected.hpp>", '#include "godwit/error.hpp"'))
        for line in ('#include "base/bytes.hpp"', "#include <fmt/format.h>",
                     "#include <spdlog/spdlog.h>", '#include "bytes.hpp"'):
            self.assertEqual(1, len(layer_problems("include/godwit/x.hpp", line)), line)

    def test_llvm_and_ucx_stay_in_their_place(self):
        llvm = "#include <llvm/IR/Module.h>"
        ucx = "#include <ucp/api/ucp.h>"
        self.assertEqual([], layer_problems("src/code/jit/compile.cpp", llvm))
        self.assertEqual(1, len(layer_problems("src/code/native/loader.cpp", llvm)))
        self.assertEqual([], layer_problems("src/fabric/ucx/link.cpp", ucx))
        self.assertEqual([], layer_problems("bench/floors/ucp.cpp", ucx))
        self.assertEqual(1, len(layer_problems("src/fabric/shm/ring.cpp", ucx)))

    def test_paths_do_not_climb(self):
        self.assertEqual(1, len(layer_problems("src/fabric/shm/a.cpp", '#include "../address.hpp"')))


class Tidy(unittest.TestCase):
    def test_clean_code_passes(self):
        self.assertEqual([], tidy_rules("src/base/x.hpp", "#pragma once\n\nint f();\n"))

    def test_each_rule_fires(self):
        cases = {
            "file-length": ("src/x.cpp", "int a;\n" * (check_tidy.MAX_LINES + 1)),
            "pragma-once": ("src/x.hpp", "int a;\n"),
            "last-line": ("src/x.cpp", "int a;"),
            "trailing-space": ("docs/x.md", "text \n"),
            "tab": ("src/x.cpp", "\tint a;\n"),
            "line-length": ("src/x.cpp", "//" + "x" * check_tidy.MAX_COLUMNS + "\n"),
            "unfinished": ("src/x.cpp", "// TO" + "DO: later\n"),
            "machine-path": ("docs/x.md", "see /" + "home/me/file\n"),
            "sleep": ("src/x_test.cpp", "std::this_thread::sleep_for(1s);\n"),
            "print": ("src/x.cpp", "std::cout << 1;\n"),
        }
        for rule, (path, text) in cases.items():
            self.assertEqual([rule], tidy_rules(path, text))

    def test_rules_stay_in_their_place(self):
        self.assertEqual([], tidy_rules("src/x.cpp", "std::this_thread::sleep_for(1s);\n"))
        self.assertEqual([], tidy_rules("apps/x.cpp", "std::cout << 1;\n"))
        self.assertEqual([], tidy_rules("docs/x.md", "x" * 300 + "\n"))
        self.assertEqual([], tidy_rules("src/x.cpp", "// shm:/run/user/1000 and src/home/x\n"))
        self.assertEqual([], tidy_rules("src/x_test.cpp", "prepare_to_sleep(); t.sleep(1);\n"))

    def test_a_line_may_break_a_rule_it_names_with_a_reason(self):
        line = "std::cout << 1;  // tidy: allow {}, because {}\n"
        self.assertEqual([], tidy_rules("src/x.cpp", line.format("print", "it is a tool")))
        self.assertEqual(["print"], tidy_rules("src/x.cpp", line.format("tab", "it is a tool")))
        self.assertEqual(["print"], tidy_rules("src/x.cpp", line.format("print", "").rstrip() + "\n"))


if __name__ == "__main__":
    unittest.main()
