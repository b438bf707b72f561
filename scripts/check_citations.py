#!/usr/bin/env python3
"""Checks that every result that a source cites exists in docs/theory.md.

A citation is `theory.md, Theorem 1` (a capitalised word and a number) or `theory.md, (2.3)` (an equation).
What stands after the comma must occur, letter for letter, in docs/theory.md. A mention of theory.md
that is no such citation is an error too: it would send the reader to the whole text.
"""
import argparse
import pathlib
import re
import sys

# A comment may break the line after the comma or inside "Theorem 1".
GAP = r"(?:[ \t]+|[ \t]*\n[ \t]*(?://[/!]?|\*|#)?[ \t]*)"
CITATION = re.compile(rf"theory\.md(?:,{GAP}(?:(\(\d+(?:\.\d+)*\))|([A-Z][a-z]+){GAP}(\d+(?:\.\d+)*)))?")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1])
    root = parser.parse_args().root
    theory_file = root / "docs" / "theory.md"
    theory = theory_file.read_text(encoding="utf-8") if theory_file.exists() else ""
    wrong = 0
    for top in ("include", "src", "apps"):
        for path in sorted((root / top).rglob("*.[chi]pp*")):
            text = path.read_text(encoding="utf-8")
            for match in CITATION.finditer(text):
                result = match[1] or (match[2] and f"{match[2]} {match[3]}")
                if result and re.search(re.escape(result) + r"(?!\.?\d)", theory):
                    continue
                line = text.count("\n", 0, match.start()) + 1
                problem = f"{result} is not in docs/theory.md" if result else "names no result, e.g. theory.md, (2.3)"
                print(f"{path.relative_to(root)}:{line}: {problem}")
                wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
