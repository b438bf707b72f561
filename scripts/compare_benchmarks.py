#!/usr/bin/env python3
"""Measures the benchmarks again and again and compares them with the accepted numbers (scripts/bench calls it).

Every repetition runs every program once. A number is a ratio: the processor time of a benchmark divided by
that of BM_reference in the same run, so that a faster processor does not look like faster code. A benchmark
counts as slower (or faster) if the rank test of Mann and Whitney says so of its ratios against the accepted
ones times 1.05 (or divided by it): by more than 5 %, and not by chance.

Exit status: 0 nothing is slower, 1 something is, 2 wrong usage or nothing to compare with.
"""
import argparse
import dataclasses
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

REFERENCE = "BM_reference"
TOLERANCE = 0.05
LEVEL = 0.001  # of 250 benchmarks that are slower by just 5 %, one in four runs names one
NANOSECONDS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def mann_whitney(first, second):
    """U, the pairs in which the first is the greater (ties count half), and the chance of at least that many.

    The chance is exact, ties included: all ways to deal the pooled values to the two samples are equally likely.
    """
    pooled = sorted(first + second)
    # Twice the mean rank of a value, which is a whole number: below + equal + (below + 1).
    doubled_rank = {value: 2 * sum(x < value for x in pooled) + pooled.count(value) + 1 for value in set(pooled)}
    attained = sum(doubled_rank[value] for value in first)
    ways = [{0: 1}] + [{} for _ in first]  # ways[k][s]: choices of k values whose doubled ranks add up to s
    for value in pooled:
        for k in range(len(first), 0, -1):
            for total, count in ways[k - 1].items():
                key = total + doubled_rank[value]
                ways[k][key] = ways[k].get(key, 0) + count
    most = sum(count for total, count in ways[-1].items() if total >= attained)
    u = attained / 2 - len(first) * (len(first) + 1) / 2
    return u, most / sum(ways[-1].values())


@dataclasses.dataclass
class Finding:
    name: str
    verdict: str  # slower, faster, same, new (nothing accepted) or gone (nothing measured)
    change: float = 1.0  # median now / median accepted
    chance: float = 1.0  # that of the verdict, if there were no difference beyond the tolerance


def judge(name, accepted, now):
    change = statistics.median(now) / statistics.median(accepted)
    slower = mann_whitney(now, [x * (1 + TOLERANCE) for x in accepted])[1]
    faster = mann_whitney([x / (1 + TOLERANCE) for x in accepted], now)[1]
    verdict = "slower" if slower < LEVEL else "faster" if faster < LEVEL else "same"
    return Finding(name, verdict, change, min(slower, faster))


def compare(accepted, now):
    """One finding for each name in either; what was not measured is gone."""
    findings = []
    for name in sorted(accepted.keys() | now.keys()):
        if name not in accepted:
            findings.append(Finding(name, "new"))
        elif name not in now:
            findings.append(Finding(name, "gone"))
        else:
            findings.append(judge(name, accepted[name], now[name]))
    return findings


def ratios(report):
    """The ratios of one run of one program, by name, from Google Benchmark's JSON."""
    times = {entry["name"]: entry["cpu_time"] * NANOSECONDS[entry["time_unit"]]
             for entry in report["benchmarks"] if not entry.get("error_occurred")}
    reference = times.pop(REFERENCE)
    return {name: time / reference for name, time in times.items()}


def run_once(program, pattern):
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        command = [program, f"--benchmark_filter=^{REFERENCE}$|{pattern}", "--benchmark_min_time=0.1",
                   f"--benchmark_out={out.name}", "--benchmark_out_format=json"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return ratios(json.load(out))


def measure(programs, pattern, repetitions):
    """The ratios of all repetitions, by module and name. Programs take turns: what disturbs for a while
    disturbs one repetition of many benchmarks, not all of one."""
    result = {}
    for repetition in range(repetitions):
        for program in programs:
            print(f"repetition {repetition + 1} of {repetitions}: {program.name}", file=sys.stderr)
            module = program.name.removesuffix("_benchmarks")
            for name, ratio in run_once(program, pattern).items():
                result.setdefault(f"{module}/{name}", []).append(float(f"{ratio:.5g}"))
    return result


def print_findings(findings):
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        if finding.verdict in ("new", "gone"):
            print(f"{finding.name:{width}}  {finding.verdict}")
        else:
            print(f"{finding.name:{width}}  {100 * (finding.change - 1):+7.1f} %  p = {finding.chance:.1e}  {finding.verdict}")
    for verdict in ("slower", "faster", "same", "new", "gone"):
        print(f"{verdict}: {sum(finding.verdict == verdict for finding in findings)}", end="\n" if verdict == "gone" else ", ")
    for finding in findings:
        if finding.verdict == "slower":
            print(f"slower by more than {100 * TOLERANCE:.0f} %: {finding.name} ({100 * (finding.change - 1):+.1f} %)")


def write_accepted(path, accepted):
    lines = [f"    {json.dumps(name)}: {json.dumps(values)}" for name, values in sorted(accepted.items())]
    path.write_text('{\n  "format": "ellice-benchmarks",\n  "version": 1,\n  "ratios": {\n' + ",\n".join(lines) +
                    "\n  }\n}\n", encoding="utf-8")


def read_accepted(path):
    if not path.exists():
        return {}
    file = json.loads(path.read_text(encoding="utf-8"))
    if file.get("format") != "ellice-benchmarks" or file.get("version") != 1:
        sys.exit(f"{path}: expected the format ellice-benchmarks, version 1")
    return file["ratios"]


def main():
    root = pathlib.Path(__file__).resolve().parents[1]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--compare", action="store_true", help="with the accepted numbers")
    action.add_argument("--accept", action="store_true", help="what is measured now; numbers of others stay")
    parser.add_argument("pattern", nargs="?", default=".", help="benchmarks whose name contains it (a regular expression)")
    parser.add_argument("--repetitions", type=int, default=9, metavar="N", help="runs of each (9)")
    parser.add_argument("--programs", type=pathlib.Path, default=root / "build/release/benchmarks", help="their folder")
    parser.add_argument("--accepted", type=pathlib.Path, default=root / "benchmarks/accepted.json", help="the file")
    arguments = parser.parse_args()
    if arguments.repetitions < 7:
        parser.error(f"--repetitions: fewer than 7 cannot show anything at the level {LEVEL}")
    programs = sorted(arguments.programs.glob("*_benchmarks"))
    if not programs:
        parser.error(f"--programs: no *_benchmarks in {arguments.programs}")
    accepted = read_accepted(arguments.accepted)
    if arguments.compare and not accepted:
        parser.error(f"--accepted: nothing in {arguments.accepted}; --accept writes it")

    now = measure(programs, arguments.pattern, arguments.repetitions)
    if not now:
        parser.error(f"no benchmark is called {arguments.pattern}")
    if arguments.accept:
        # All that was run is accepted anew; without a pattern nothing else stays.
        write_accepted(arguments.accepted, now if arguments.pattern == "." else accepted | now)
        print(f"{arguments.accepted}: {len(now)} benchmarks, {arguments.repetitions} ratios each")
        return 0
    if arguments.pattern != ".":
        accepted = {name: values for name, values in accepted.items() if name in now}
    findings = compare(accepted, now)
    print_findings(findings)
    return 1 if any(finding.verdict == "slower" for finding in findings) else 0


if __name__ == "__main__":
    sys.exit(main())
