#!/usr/bin/env python3
"""Checks that what sources keep to themselves has one name in a module.

A name in the unnamed namespace of two sources of a module is either the same idea twice, which belongs into a header, or two ideas
under one name; and where sources are compiled in batches (ELLICE_UNITY) it is an error of the compiler. Functions may overload each
other. Programs that are linked from sources of one folder count as one module, but for those that stand apart (APART).

And that a type of a named namespace is defined in one file: of two definitions a program takes one, whichever the linker meets first,
and destroys values of the other with it.

Prints file:line for each name that another source of the module has as well, and exits with 1 if there is one.
"""
import argparse
import pathlib
import re
import sys

# Sources that are never part of a batch.
APART = {"study", "compare", "evaluate", "study_main", "product_avx2", "product_avx512", "product_plain", "cbc"}
APART_MODULES = {"src/study", "tests/combination", "tests/fuzz"}

TYPE = re.compile(r"(?:struct|class|enum class|enum) (\w+)")
ALIAS = re.compile(r"using (\w+) =")
VARIABLE = re.compile(r"[\w:<>,&* ]+?\b(\w+)(?: = |\{|\[\]|;)")
FUNCTION = re.compile(r"[\w:<>,&* \[\]]*?\b(\w+)\(([^)]*)")


DEFINED = re.compile(r"(?:template <.*> )?(?:struct|class|enum class|enum) (\w+)(?: final)?(?: :[^:].*)? \{")


def defined(text):
    """Line number and full name of every type that is defined in a named namespace, outside of others."""
    inside = []
    for number, line in enumerate(text.splitlines(), 1):
        if found := re.match(r"namespace ([\w:]*) ?\{", line):
            inside.append(found[1])
        elif line.startswith("}  // namespace"):
            inside.pop()
        elif inside and all(inside) and (found := DEFINED.match(line)):
            yield number, "::".join([*inside, found[1]])


def parameters(text):
    """The types of a list of parameters, without their names."""
    types = []
    for part in re.sub(r"<[^<>]*>", "", text).split(","):
        types.append(re.sub(r"\s*\b\w+$", "", part.split(" = ")[0].strip()))
    return tuple(types)


def names(text):
    """Line number and key of everything that stands in an unnamed namespace, outside of others."""
    inside = False
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if line == "namespace {":
            inside = True
        elif line.startswith("}  // namespace"):
            inside = False
        if not inside or not re.match(r"\w", line) or line.startswith(("namespace", "template", "using namespace", "TEST", "INSTANTIATE_")):
            continue
        for pattern in (TYPE, ALIAS):
            if found := pattern.match(line):
                yield number, found[1]
                break
        else:
            if line.startswith("using "):
                continue  # a name of elsewhere, which may be said twice
            variable, function = VARIABLE.match(line), FUNCTION.match(line)
            if variable and not (function and function.end(1) < variable.end(1)):
                yield number, variable[1]
            elif function:
                head = " ".join(lines[number - 1:number + 5])
                yield number, (function[1], parameters(FUNCTION.match(head)[2]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parent.parent, type=pathlib.Path)
    root = parser.parse_args().root
    clashes = []
    for module in [*sorted((root / "src").glob("*")), root / "apps" / "cli", *sorted((root / "tests").glob("*"))]:
        if module.relative_to(root).as_posix() in APART_MODULES:
            continue
        first = {}
        for path in sorted(module.glob("*.cpp")):
            if path.stem in APART or (module.parent.name == "tests" and not path.stem.endswith("_test")):
                continue
            for number, key in names(path.read_text(encoding="utf-8")):
                other = first.setdefault(key, path)
                if other != path:
                    name = key if isinstance(key, str) else key[0]
                    clashes.append(f"{path.relative_to(root)}:{number}: {other.name} has {name} as well")
    first = {}
    for folder in ("include", "src", "apps", "python"):
        for path in sorted((root / folder).rglob("*.[ch]pp")):
            for number, name in defined(path.read_text(encoding="utf-8")):
                other = first.setdefault(name, path)
                if other != path:
                    clashes.append(f"{path.relative_to(root)}:{number}: {other.relative_to(root)} defines {name} as well")
    print("\n".join(clashes), end="\n" if clashes else "")
    return 1 if clashes else 0


if __name__ == "__main__":
    sys.exit(main())
