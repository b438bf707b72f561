#!/usr/bin/env python3
"""Checks that modules include only themselves and what stands to their left.

    core < data < solver < model < sets < certificate < request < audit < search < methods < radius <
    explain < report < study

Examples and public headers see public headers ("ellice/...") only, as a stranger's project does; the programs in apps, tests and
benchmarks are built with the library and see everything.
Prints file:line for each breach and exits with 1 if there is one.
"""
import argparse
import pathlib
import re
import sys

MODULES = ["core", "data", "solver", "model", "sets", "certificate", "request", "audit", "search", "methods", "radius",
           "explain", "report", "study"]
INCLUDE = re.compile(r'\s*#\s*include\s*["<]([^">]+)[">]')


def breach(place, target):
    """Why the file at `place` (parts of its path) may not include `target`, or None."""
    parts = target.split("/")
    if ".." in parts:
        return "climbs out of its folder"
    public = parts[0] == "ellice"
    module = parts[1] if public and len(parts) > 2 else parts[0]
    if place[0] in ("examples", "include") and not public and module in MODULES:
        return "is a private header"
    if place[0] in ("apps", "examples") or not (public or module in MODULES):
        return None
    own = place[2] if place[0] == "include" else place[1]
    if place[0] == "include" and len(place) == 3:
        return None  # the front door includes what it likes of the public headers
    for name in (own, module):
        if name not in MODULES:
            return f"{name} is not a module"
    if MODULES.index(module) > MODULES.index(own):
        return f"module {own} stands to the left of {module}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1])
    root = parser.parse_args().root
    breaches = 0
    for top in ("include", "src", "apps", "examples"):
        for path in sorted((root / top).rglob("*.[chi]pp*")):
            place = path.relative_to(root)
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                include = INCLUDE.match(line)
                reason = include and breach(place.parts, include[1])
                if reason:
                    print(f'{place}:{number}: "{include[1]}": {reason}')
                    breaches += 1
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
