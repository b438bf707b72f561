#!/usr/bin/env python3
"""The service under load, as the table of docs/service.md: certify and explain, lending and German Credit.

Trains both models with PROGRAM, serves each, asks one declined person again and again by wrk (Debian's package; without
it by threads of this program, which then are part of what is measured), and prints the finished Markdown. Beside the
times of the clock stands what does not depend on other people's work: processor time of the service, and of the thread
that computed, as /metrics counts it. Run it on a machine that does nothing else, with the preset release:

    cmake --preset release && cmake --build build/release --target ellice_cli
    benchmarks/serve/load.py build/release/apps/cli/ellice
"""
import argparse
import http.client
import json
import os
import pathlib
import re
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time

PROJECT = pathlib.Path(__file__).resolve().parents[2]
TITLES = {"lending": "lending", "german": "German Credit"}
ROUTES = ("/api/certify", "/api/explain")
PORT_SECONDS = 60


def person_of(dataset):
    """Somebody whom the model declines and for whom there is a plan: of the golden answers."""
    records = json.loads((PROJECT / "tests" / "golden" / "recourse" / f"{dataset}.json").read_text(encoding="utf-8"))["results"]
    return next(record["query"] for record in records if record["status"] in ("optimal", "certified"))


class Service:
    def __init__(self, program, model, folder):
        self.log = open(folder / "log.txt", "w", encoding="utf-8")
        self.process = subprocess.Popen([program, "serve", str(model), "--port", "0", "--quiet"], stdout=subprocess.PIPE, stderr=self.log)
        ready, _, _ = select.select([self.process.stdout], [], [], PORT_SECONDS)
        line = self.process.stdout.readline().decode() if ready else ""
        found = re.match(r"http://127\.0\.0\.1:(\d+)/ serves ", line)
        if not found:
            self.stop()
            sys.exit(f"load.py: {program} serve {model}: no address within {PORT_SECONDS} s, but {line!r}")
        self.port = int(found[1])

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
            response = connection.getresponse()
            content = response.read().decode()
        finally:
            connection.close()
        if response.status != 200:
            sys.exit(f"load.py: {method} {path}: status {response.status}, expected 200: {content[:300]}")
        return content

    def metrics(self, route):
        """Of a route: histograms of seconds by name (cumulative counts by bound, sum, count)."""
        found = {}
        for name, kind, labels, value in re.findall(r"^ellice_(\w+)_seconds_(bucket|sum|count)\{(.*?)\} (\S+)$", self.ask("GET", "/metrics"), re.M):
            if f'route="{route}"' not in labels:
                continue
            one = found.setdefault(name, {"buckets": {}, "sum": 0.0, "count": 0})
            if kind == "bucket":
                one["buckets"][float(re.search(r'le="([^"]+)"', labels)[1])] = int(value)
            else:
                one[kind] = float(value)
        return found

    def megabytes(self):
        return int(re.search(r"^process_resident_memory_bytes (\d+)$", self.ask("GET", "/metrics"), re.M)[1]) / 1e6

    def processor_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        """Its exit status: 0 where it ended as it should."""
        self.process.terminate()
        try:
            return self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
        finally:
            self.process.stdout.close()
            self.log.close()


def by_wrk(service, route, body, connections, seconds):
    """Requests, errors, seconds, p50 and p99 in seconds."""
    done = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "-s", str(PROJECT / "benchmarks" / "serve" / "post.lua"),
                           f"http://127.0.0.1:{service.port}{route}"], env={**os.environ, "BODY": str(body)}, text=True, capture_output=True, check=False)
    found = re.search(r"p50 (\d+) us, p99 (\d+) us, max \d+ us, requests (\d+), errors (\d+)", done.stdout)
    rate = re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)
    if done.returncode != 0 or not found or not rate:
        sys.exit(f"load.py: wrk ended with {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}")
    requests = int(found[3])
    return requests, int(found[4]), requests / float(rate[1]), int(found[1]) / 1e6, int(found[2]) / 1e6


def by_threads(service, route, body, connections, seconds):
    """The same without wrk: a thread for each connection."""
    content, times, errors, lock = body.read_bytes(), [], [0], threading.Lock()
    until = time.monotonic() + seconds

    def ask_on():
        own, wrong = [], 0
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=30)
        while (began := time.monotonic()) < until:
            try:
                connection.request("POST", route, content, {"Content-Type": "application/json"})
                response = connection.getresponse()
                response.read()
                wrong += response.status != 200
            except OSError:
                wrong += 1
                connection.close()
            own.append(time.monotonic() - began)
        connection.close()
        with lock:
            times.extend(own)
            errors[0] += wrong

    began = time.monotonic()
    workers = [threading.Thread(target=ask_on) for _ in range(connections)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    times.sort()
    at = lambda share: times[min(len(times) - 1, int(share * len(times)))]
    return len(times), errors[0], time.monotonic() - began, at(0.5), at(0.99)


def between(before, after, name):
    """Mean, and the bound below which 99 of 100 are, of what was counted between two looks at /metrics."""
    old = before.get(name, {"buckets": {}, "sum": 0.0, "count": 0})
    new = after[name]
    count = new["count"] - old["count"]
    bounds = sorted(bound for bound, many in new["buckets"].items() if many - old["buckets"].get(bound, 0) >= 0.99 * count)
    return (new["sum"] - old["sum"]) / count, bounds[0]


def shown(seconds):
    """Microseconds or milliseconds, to three digits."""
    return f"{seconds * 1e6:.0f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.3g} ms"


def measured(program, dataset, connections, seconds, client, folder):
    """Lines of the table for one model, and a sentence about memory."""
    model = folder / f"{dataset}.json"
    subprocess.run([program, "train", "--dataset", dataset, "-o", str(model), "--quiet"], cwd=PROJECT, check=True, stdout=subprocess.DEVNULL)
    features = len(json.loads(model.read_text(encoding="utf-8"))["schema"]["features"])
    body = folder / "person.json"
    body.write_text(json.dumps({"people": [person_of(dataset)], "epsilon": "1%"}), encoding="utf-8")
    service = Service(program, model, folder)
    lines, total, failed, first = [], 0, 0, service.megabytes()
    for route in ROUTES:
        service.ask("POST", route, body.read_text(encoding="utf-8"))  # so that its explainer is warm
        for many in connections:
            before, spent = service.metrics(route), service.processor_seconds()
            requests, errors, took, p50, p99 = client(service, route, body, many, seconds)
            spent, after = service.processor_seconds() - spent, service.metrics(route)
            mean, bound = between(before, after, "compute")
            _, answered = between(before, after, "request")
            total, failed = total + requests, failed + errors
            name = f"{TITLES[dataset]}, {features} features" if not lines else ""
            lines.append(f"| {name} | {f'`{route}`' if many == connections[0] else ''} | {many} | {requests / took:.0f} | {shown(p50)} | {shown(p99)} | {shown(answered)} | "
                         f"{shown(spent / requests)} | {shown(mean)} | {shown(bound)} |")
            print(f"{dataset} {route}, {many} connections: {requests} requests, {errors} failed", file=sys.stderr)
    last = service.megabytes()
    status = service.stop()
    return lines, f"{TITLES[dataset]}: memory {first:.1f} MB after the start, {last:.1f} MB after {total} requests, {failed} of which failed; it ended with status {status}."


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="PROGRAM", help="the command ellice")
    parser.add_argument("--seconds", type=int, default=60, help="of each line of the table (default: 60)")
    parser.add_argument("--connections", default="1,8,64", help="at once (default: 1,8,64)")
    parser.add_argument("--datasets", default="lending,german", help="(default: lending,german)")
    given = parser.parse_args()
    if given.seconds < 1:
        parser.error(f"--seconds: found {given.seconds}, expected 1 or more")
    program = str(pathlib.Path(given.program).resolve())
    has_wrk = shutil.which("wrk") is not None
    version = subprocess.run([program, "--version"], text=True, capture_output=True, check=True).stdout.splitlines()
    load = os.getloadavg()[0]
    lines, notes = [], []
    with tempfile.TemporaryDirectory() as name:
        for dataset in given.datasets.split(","):
            more, note = measured(program, dataset, [int(one) for one in given.connections.split(",")], given.seconds,
                                  by_wrk if has_wrk else by_threads, pathlib.Path(name))
            lines += more
            notes.append(note)
    print(f"One declined person per request at ε = 1 %, {'`wrk` with one thread' if has_wrk else 'threads of load.py, which are no wrk'} on the same machine, "
          f"{given.seconds} seconds each; {os.cpu_count()} cores, load average {load:.1f} before it began; {'; '.join(' '.join(one.split()) for one in version[:3])}.\n")
    print("| model | route | connections | requests/s | p50 | p99 | service time: 99 of 100 below | processor time | of which computing: mean | 99 of 100 below |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    print("\n".join(lines) + "\n")
    print("\n".join(f"- {note}" for note in notes))


if __name__ == "__main__":
    main()
