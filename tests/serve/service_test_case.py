"""A test case with a server of its own, spoken to by Python's standard library."""
import http.client
import json
import pathlib
import re
import select
import signal
import socket
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from cli_test_case import PROGRAM, PROJECT, LendingTestCase  # noqa: E402,F401


class Server:
    """A running `ellice serve`, on a port that the system chose."""

    def __init__(self, folder, *arguments):
        self.errors = open(folder / "log.txt", "w+", encoding="utf-8")
        self.process = subprocess.Popen([PROGRAM, "serve", *map(str, arguments), "--port", "0"], cwd=folder,
                                        stdout=subprocess.PIPE, stderr=self.errors)
        ready, _, _ = select.select([self.process.stdout], [], [], 60)
        line = self.process.stdout.readline().decode() if ready else ""
        found = re.match(r"http://([0-9.]+|\[[0-9a-f:]+\]):(\d+)/ serves ", line)
        if not found:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"no server: {line!r} {self.log_text()}")
        self.host, self.port = found[1], int(found[2])

    def log_text(self):
        self.errors.flush()
        return pathlib.Path(self.errors.name).read_text(encoding="utf-8")

    def log(self):
        return [json.loads(line) for line in self.log_text().splitlines()]

    def connect(self, timeout=60):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def raw(self, content=b"", timeout=60):
        """A socket that has sent these bytes."""
        plug = socket.create_connection(("127.0.0.1", self.port), timeout=timeout)
        plug.sendall(content)
        return plug

    def ask(self, method, path, body=None, headers=None):
        """Status, headers and body of one request."""
        connection = self.connect()
        try:
            if isinstance(body, (dict, list)):
                body = json.dumps(body)
            if isinstance(body, str):
                body = body.encode()
            sent = dict(headers or {})
            if body is not None:
                sent.setdefault("Content-Type", "application/json")
            connection.request(method, path, body, sent)
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read()
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.ask("GET", path, headers=headers)

    def post(self, path, body, headers=None):
        return self.ask("POST", path, body, headers)

    def stop(self, number=signal.SIGTERM):
        """Ends it, if it still runs, and gives its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self.process.stdout.close()
            self.errors.close()


class ServiceTestCase(LendingTestCase):
    PEOPLE = 30

    def serve(self, *arguments):
        server = Server(self.folder, *(arguments or ("m.json", "--people", "people.csv")))
        self.addCleanup(lambda: server.process.poll() is not None or server.stop())
        return server

    def people(self, count=None):
        """The people of people.csv as the service takes them; levels are texts."""
        header, *rows = (self.folder / "people.csv").read_text(encoding="utf-8").splitlines()
        names = header.split(",")
        texts = {"education", "housing", "purpose", "guarantor"}
        return [{name: cell if name in texts else float(cell) for name, cell in zip(names, row.split(",")) if name != "approved"}
                for row in rows[:count]]

    def write_people(self, count):
        lines = (self.folder / "people.csv").read_text(encoding="utf-8").splitlines()
        self.write("some.csv", "\n".join(lines[:count + 1]) + "\n")
        return "some.csv"

    def post_ok(self, server, path, body, headers=None):
        status, _, content = server.post(path, body, headers)
        self.assertEqual(status, 200, content)
        return content

    def expect_error(self, reply, status, where=None, words=()):
        self.assertEqual(reply[0], status, reply[2])
        self.assertEqual(reply[1]["Content-Type"], "application/json")
        error = json.loads(reply[2])
        self.assertEqual(list(error), ["error"])
        self.assertEqual(set(error["error"]), {"message", "where"})
        if where is not None:
            self.assertEqual(error["error"]["where"], where, error)
        for word in words:
            self.assertIn(word, error["error"]["message"])
        self.assertNotIn(str(self.folder), reply[2].decode())
