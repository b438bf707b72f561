#!/usr/bin/env python3
"""Checks that what the documents (every *.md) name exists.

- The target of a relative link.
- Files and folders in code, `like/this`: from the root, as a module's file (`solver/newton` stands for every
  newton.* of that module) or from the document's own folder; `name.hpp` alone may be anywhere.
- Results of docs/theory.md, cited as Result 12; «the paper's Theorem 1» is none of ours.
- Names of the sources in the tables of docs/notation.md.

And that every page and figure under docs is the target of some link. Prints file:line for each breach and
exits with 1 if there is one.
"""
import argparse
import pathlib
import re
import sys

TOPS = ("apps", "benchmarks", "cmake", "docs", "examples", "include", "scripts", "src", "studies", "tests")
LINK = re.compile(r"\]\(([^()\s]+)\)")
SPAN = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"[a-z][\w-]*(?:/[\w.-]+)+/?")
NAME = re.compile(r"[\w-]+\.(?:md|hpp|cpp|py|cmake)")
RESULT = re.compile(r"(paper's\s+)?\b(Definition|Proposition|Theorem|Result)s?\s+(\d+)(?![\d.]*\d)")


class Documents:
    """The pages of a tree, what they link to, and what is wrong with them."""

    def __init__(self, root):
        self.root = root
        self.pages = sorted(path for path in root.rglob("*.md") if self.is_ours(path))
        self.files = {path.name for top in TOPS for path in (root / top).rglob("*.*")}
        self.files.update(path.name for path in root.glob("*.*"))
        theory = root / "docs" / "theory.md"
        text = theory.read_text(encoding="utf-8") if theory.exists() else ""
        self.results = set(re.findall(r"^### (\w+ \d+)", text, re.MULTILINE))
        self.linked = set()
        self.breaches = []

    def is_ours(self, path):
        parts = path.relative_to(self.root).parts
        return parts[0] != "build" and not any(part.startswith(".") or part == "node_modules" for part in parts)

    def add(self, page, line, problem):
        self.breaches.append(f"{page.relative_to(self.root)}:{line}: {problem}")

    def exists(self, page, name):
        for folder in (self.root, self.root / "src", self.root / "include" / "ellice", page.parent):
            path = folder / name
            if path.exists() or any(path.parent.glob(path.name + ".*")):
                return True
        return False

    def check_links(self, page, number, line):
        for target in LINK.findall(SPAN.sub("`", line)):
            if re.match(r"\w+:|#", target):
                continue
            path = page.parent / target.split("#")[0]
            if path.exists():
                self.linked.add(path.resolve())
            else:
                self.add(page, number, f"the link {target} leads nowhere")

    def check_code(self, page, number, words):
        for word in words:
            word = word.removeprefix("./").rstrip(".,;:")
            is_path = PATH.fullmatch(word) and not word.startswith("build/")
            if is_path and not self.exists(page, word):
                self.add(page, number, f"there is no {word}")
            elif NAME.fullmatch(word) and word not in self.files:
                self.add(page, number, f"there is no file {word}")

    def check_page(self, page):
        text = page.read_text(encoding="utf-8")
        is_fenced = False
        for number, line in enumerate(text.splitlines(), 1):
            if line.startswith("```"):
                is_fenced = not is_fenced
            elif is_fenced or line.startswith("    "):
                # Commands name files of their own: only what begins like one of ours is looked at.
                words = (word.removeprefix("./") for word in line.split())
                self.check_code(page, number, (word for word in words if word.split("/")[0] in TOPS))
            else:
                self.check_links(page, number, line)
                self.check_code(page, number, (word for span in SPAN.findall(line) for word in span.split()))
        for match in RESULT.finditer(text):
            result = f"{match[2]} {match[3]}"
            if not match[1] and result not in self.results:
                self.add(page, text.count("\n", 0, match.start()) + 1, f"{result} is not in docs/theory.md")

    def check_notation(self):
        page = self.root / "docs" / "notation.md"
        if not page.exists():
            return
        sources = [path for top in ("include", "src") for path in (self.root / top).rglob("*.[ch]pp")]
        words = set().union(*(re.findall(r"\w+", path.read_text(encoding="utf-8")) for path in sources))
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            for name in SPAN.findall(line.split("|")[-2] if line.startswith("|") else ""):
                if name not in words:
                    self.add(page, number, f"{name} is not in the sources")

    def check_reached(self):
        for path in sorted((self.root / "docs").rglob("*")):
            if path.suffix in (".md", ".svg") and path.resolve() not in self.linked:
                self.add(path, 1, "no document links to it")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1])
    documents = Documents(parser.parse_args().root)
    for page in documents.pages:
        documents.check_page(page)
    documents.check_notation()
    documents.check_reached()
    for breach in documents.breaches:
        print(breach)
    return 1 if documents.breaches else 0


if __name__ == "__main__":
    sys.exit(main())
