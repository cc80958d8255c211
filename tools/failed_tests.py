#!/usr/bin/env python3
"""Names the failed tests of a JUnit file, with the end of what each printed.

Continuous integration often shows only the end of a log: what failed belongs there.
"""

import sys
import xml.etree.ElementTree as ElementTree

LINES_PER_TEST = 20
TESTS_WITH_OUTPUT = 5


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: failed_tests.py FILE.xml", file=sys.stderr)
        return 2
    cases = ElementTree.parse(sys.argv[1]).getroot().iter("testcase")
    failed = [case for case in cases if case.get("status") == "fail"]
    for number, case in enumerate(failed):
        print(case.get("name"))
        if number < TESTS_WITH_OUTPUT:
            for line in (case.findtext("system-out") or "").splitlines()[-LINES_PER_TEST:]:
                print(f"  | {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
