#!/usr/bin/env python3
"""Checks that modules include only themselves and what stands to their left.

    core < data < solver < model < sets < certificate < request < audit < search < methods < radius <
    explain < report < study

Examples and public headers see public headers ("ellice/...") only, as a stranger's project does; the programs in apps, tests and
benchmarks are built with the library and see everything.

The checker of answers (all of audit, and the verifier in certificate) reaches, through whatever it includes, nothing of solver, sets,
certificate and request but what CHECKER_SEES names: what was asked, what was answered, and the verifier's own arithmetic. So nothing
that finds answers or issues certificates takes part in checking them.

The library writes to no standard stream: what it has to say it returns, and programs print.
Prints file:line for each breach and exits with 1 if there is one.
"""
import argparse
import pathlib
import re
import sys

MODULES = ["core", "data", "solver", "model", "sets", "certificate", "request", "audit", "search", "methods", "radius",
           "explain", "report", "study"]
# Of the rooms that also find or issue, by the name of a header; of others the checker may see all.
CHECKER_SEES = {
    "solver": set(),
    "sets": {"attack", "contest", "retraining", "set_choice"},
    "certificate": {"certificate", "eliminated_hessian", "plain_corners", "plain_network", "plain_objective",
                    "plain_true_set", "verification", "verification_check"},
    "request": {"answer", "constraints", "cost", "reason_codes", "reasons"},
}
# Sources of the verifier, beside the room audit.
VERIFIER = {"eliminated_hessian", "plain_corners", "plain_network", "plain_objective", "plain_true_set", "verification",
            "verification_heads"}
INCLUDE = re.compile(r'\s*#\s*include\s*["<]([^">]+)[">]')
PRINTS = re.compile(r"\b(?:stderr\b|stdout\b|f?printf\(|f?puts\(|std::(?:cout|cerr|clog)\b)")


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


def includes(path):
    """Line number and target of every include of a file."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        include = INCLUDE.match(line)
        if include:
            yield number, include[1]


def prints(path):
    """Numbers of the lines of a file that write to a standard stream."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if PRINTS.search(line.split("//")[0]):
            yield number


def room_of(place):
    """The room of a file at `place` (parts of its path)."""
    return place[2] if place[0] == "include" else place[1]


def checker_breaches(root):
    """Includes by which a file that the checker reaches leaves what it may see."""
    waiting = [path for top in ("include/ellice/audit", "src/audit") for path in sorted((root / top).glob("*.[ch]pp"))]
    waiting += [path for path in sorted((root / "src/certificate").glob("*.cpp")) if path.stem in VERIFIER]
    reached = set(waiting)
    while waiting:
        path = waiting.pop(0)
        for number, target in includes(path):
            found = next((place for place in (root / "include" / target, root / "src" / target, path.parent / target)
                          if place.is_file()), None)
            if found is None or found in reached:
                continue
            allowed = CHECKER_SEES.get(room_of(found.relative_to(root).parts))
            if allowed is not None and found.stem not in allowed:
                yield f'{path.relative_to(root)}:{number}: "{target}": the checker of answers would reach what finds them'
                continue
            reached.add(found)
            waiting.append(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[1])
    root = parser.parse_args().root
    breaches = 0
    for top in ("include", "src", "apps", "examples"):
        for path in sorted((root / top).rglob("*.[chi]pp*")):
            place = path.relative_to(root)
            for number, target in includes(path):
                reason = breach(place.parts, target)
                if reason:
                    print(f'{place}:{number}: "{target}": {reason}')
                    breaches += 1
            for number in prints(path) if top in ("include", "src") else ():
                print(f"{place}:{number}: the library does not print")
                breaches += 1
    for text in checker_breaches(root):
        print(text)
        breaches += 1
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
