#!/usr/bin/env python3
"""Counts what shows whether the house is in order: scripts/count_house.py [FOLDER], a checkout of any version."""
import pathlib
import re
import sys

PATTERNS = ("SetKind::true_set", ".contest", "layers.size() == 1", "outputs() == 1")
NO_FUNCTION = re.compile(r"\s*(inline )?(namespace|class|struct|enum|union|extern|template)\b|.*=\s*\{$|.*[^)]\s*=\s*\[")


def sources(root, folders):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".cpp", ".hpp"):
                yield path, path.read_text(encoding="utf-8").splitlines()


def functions(lines):
    """(length, first line) of each, by the indentation of its braces, which clang-format keeps."""
    for indent in ("", "  "):
        first = head = None
        for number, line in enumerate(lines):
            if head is not None and line == indent + "}":
                yield number - first + 1, lines[first].strip()
                head = first = None
            if head is not None:
                continue
            begins = line.startswith(indent) and line[len(indent):len(indent) + 1] not in ("", " ", "/", "}", "#")
            if begins:
                first = number
            if line.endswith(("{", "{  // NOLINT")) and first is not None and not NO_FUNCTION.match(lines[first]):
                if "(" in "".join(lines[first:number + 1]):
                    head = number
            elif line.endswith((";", ":", "}")):
                first = None


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    everything = list(sources(root, ("src", "apps", "include")))
    for pattern in PATTERNS:
        print(f"{pattern}: {sum(line.count(pattern) for _, lines in everything for line in lines)}")
    modules = {}
    for path, lines in everything:
        parts = path.relative_to(root).parts
        name = parts[2] if parts[0] == "include" else parts[0] if parts[0] == "apps" else parts[1]
        modules[name] = modules.get(name, 0) + len(lines)
    print("lines:", ", ".join(f"{name} {count}" for name, count in sorted(modules.items())), "; all", sum(modules.values()))
    print("public headers:", sum(1 for _ in (root / "include").rglob("*.hpp")))
    own = [(path.relative_to(root), lines) for path, lines in everything if path.relative_to(root).parts[0] != "include"]
    longest = sorted(((length, str(path), name) for path, lines in own for length, name in functions(lines)), reverse=True)
    print("longest functions:")
    for length, path, name in longest[:5]:
        print(f"  {length} lines: {path}: {name}")
    print("functions over 60 lines:", sum(length > 60 for length, _, _ in longest), "of", len(longest))
    print("files over 400 lines:", ", ".join(f"{path} {len(lines)}" for path, lines in own if len(lines) > 400) or "none")


if __name__ == "__main__":
    main()
