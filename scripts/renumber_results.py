#!/usr/bin/env python3
"""Numbers the results of docs/theory.md in the order in which they stand, and every citation with them.

Headings are `### Theorem 2 (title)`; each kind (Theorem, Result, …) counts from 1. A citation is a kind and a
number, alone or in «Result 5 or 6», «Results 1, 3 and 8», «Result 3 to Result 5», also across the lines of a
comment; «the paper's Theorem 1» is none. A range stands for the results that it names now: where these are
not neighbours afterwards, it becomes a list. Whatever cannot be read with certainty is an error, and then
nothing is written.

Prints what would change; --write changes it. Lines grow and shrink: run scripts/format afterwards.
"""
import argparse
import pathlib
import re
import sys

THEORY = pathlib.PurePath("docs/theory.md")
SUFFIXES = {".md", ".hpp", ".cpp", ".in", ".py", ".sh", ".cmake", ".txt", ".yaml"}
# The checks of citations, and their tests, cite results of trees that do not exist.
LEFT_ALONE = {("build",), ("scripts",), ("tests", "scripts")}
HEADING = re.compile(r"^### ([A-Z][a-z]+) (\d+)\b", re.MULTILINE)
# A comment may break the line between any two words.
GAP = r"(?:[ \t]+|[ \t]*\n[ \t]*(?://[/!]?|\*|#)?[ \t]*)"


class Unclear(Exception):
    """Why a citation cannot be renumbered."""


def new_numbers(theory):
    """{kind: {old number: new number}} by the order of the headings."""
    numbers = {}
    for kind, number in HEADING.findall(theory):
        of_kind = numbers.setdefault(kind, {})
        if int(number) in of_kind:
            raise Unclear(f"{THEORY}: there are two headings {kind} {number}")
        of_kind[int(number)] = len(of_kind) + 1
    return numbers


class Citations:
    """Finds citations in a text and gives them the new numbers."""

    def __init__(self, numbers):
        self.numbers = numbers
        self.kind = re.compile("|".join(numbers))
        name = rf"(?:{self.kind.pattern})s?{GAP}"
        number = r"\d+(?!\.?\d)"
        joint = rf"(?:,{GAP}(?:and{GAP}|or{GAP})?|{GAP}(?:and|or|to){GAP})"
        self.item = re.compile(rf"({joint})?({name})?({number})")
        self.all = re.compile(rf"(paper's{GAP})?\b{name}{number}(?:{joint}(?:{name})?{number})*")

    def renumber(self, text, report):
        """The text with the new numbers; report(line, old, new) is called for what differs."""
        def replace(match):
            line = text.count("\n", 0, match.start()) + 1
            try:
                new = match[0] if match[1] else self.renumbered(match[0])
            except Unclear as unclear:
                raise Unclear(f"{line}: {unclear}") from None
            if new != match[0]:
                report(line, re.sub(GAP, " ", match[0]), re.sub(GAP, " ", new))
            return new

        return self.all.sub(replace, text)

    def renumbered(self, citation):
        """What is cited together, with the new numbers."""
        items = []
        for joint, name, number in self.item.findall(citation):
            if name:
                kind = self.kind.match(name)[0]
                is_plural = name.startswith(kind + "s")
            elif not is_plural and not re.search(r"\b(?:or|to)\b", joint):
                raise Unclear(f"{number} after one {kind} may be no citation; write {kind}s, or {kind} {number}")
            items.append((joint, name, kind, int(number)))
        text = ""
        while items:
            joint, name, kind, number = items.pop(0)
            text += joint + name
            if items and re.search(r"\bto\b", items[0][0]):
                text += self.new_range(kind, number, *items.pop(0))
            else:
                text += str(self.new(kind, number))
        return text

    def new(self, kind, number):
        if number not in self.numbers[kind]:
            raise Unclear(f"cites {kind} {number}, which is not in {THEORY}")
        return self.numbers[kind][number]

    def new_range(self, kind, first, to, name, last_kind, last):
        """`first` to `last`; where they are not neighbours any more, all that the range named, as a list."""
        if last_kind != kind or last <= first:
            raise Unclear(f"{kind} {first} to {last_kind} {last} is no range")
        self.new(kind, first)
        self.new(kind, last)
        moved = sorted(new for old, new in self.numbers[kind].items() if first <= old <= last)
        if moved[-1] - moved[0] + 1 == len(moved):
            return f"{moved[0]}{to}{name}{moved[-1]}"
        runs = []
        for number in moved:
            if runs and number == runs[-1][-1] + 1:
                runs[-1].append(number)
            else:
                runs.append([number])
        shown = []
        for run in runs:
            shown += [f"{run[0]} to {name}{run[-1]}"] if len(run) > 2 else map(str, run)
        return f", {name}".join(shown[:-1]) + f" and {name}" + shown[-1]


def sources(root):
    """The files that may cite, theory.md among them."""
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        hidden = any(part.startswith(".") for part in parts)
        skipped = any(parts[:length] in LEFT_ALONE for length in (1, 2))
        if path.suffix in SUFFIXES and path.is_file() and not hidden and not skipped:
            yield path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1])
    parser.add_argument("--write", action="store_true", help="change the files")
    arguments = parser.parse_args()
    root = arguments.root
    changed, problems = {}, []
    try:
        numbers = new_numbers((root / THEORY).read_text(encoding="utf-8"))
    except Unclear as unclear:
        print(unclear)
        return 1
    citations = Citations(numbers)
    for path in sources(root):
        text = path.read_text(encoding="utf-8")
        place = path.relative_to(root)
        try:
            new = citations.renumber(text, lambda line, old, new: print(f"{place}:{line}: {old} → {new}"))
        except Unclear as unclear:
            problems.append(f"{place}:{unclear}")
            continue
        if new != text:
            changed[path] = new
    for problem in problems:
        print(problem)
    if problems:
        return 1
    if arguments.write:
        for path, text in changed.items():
            path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
