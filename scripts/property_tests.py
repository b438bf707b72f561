#!/usr/bin/env python3
"""Prints a regular expression for `ctest -R` that names the tests which draw seeds.

They are those of tests/MODULE/*_test.cpp with a call of seeds(...) (tests/support/seeds.hpp) in their own
body; CTest knows them as MODULE.Suite.Name. Exit status: 0, or 1 if there is none.
"""
import argparse
import pathlib
import re
import sys

TEST = re.compile(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", re.MULTILINE)


def property_tests(root):
    for path in sorted((root / "tests").glob("*/*_test.cpp")):
        text = path.read_text(encoding="utf-8")
        starts = list(TEST.finditer(text))
        ends = [match.start() for match in starts[1:]] + [len(text)]
        for match, end in zip(starts, ends):
            if re.search(r"\bseeds\(", text[match.end():end]):
                yield f"{path.parent.name}.{match[1]}.{match[2]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1])
    names = list(property_tests(parser.parse_args().root))
    if names:
        print("^(" + "|".join(name.replace(".", r"\.") for name in names) + ")$")
    return 0 if names else 1


if __name__ == "__main__":
    sys.exit(main())
