"""Bad input over HTTP: a status, a sentence and a place, never more; and who may ask at all."""
import base64
import hashlib
import html.parser
import json
import re
import socket
import unittest

from service_test_case import ServiceTestCase


def head(method="GET", path="/api/models", host="localhost", version="HTTP/1.1", lines=()):
    return "\r\n".join([f"{method} {path} {version}", f"Host: {host}", *lines, "", ""]).encode()


def received(plug):
    """All that comes until the other side closes."""
    content = b""
    try:
        while piece := plug.recv(65536):
            content += piece
    except ConnectionResetError:
        pass
    plug.close()
    return content


class Page(html.parser.HTMLParser):
    """What a page holds inline, and what its policy would not let run."""

    def __init__(self):
        super().__init__()
        self.inline = {"script": [], "style": []}
        self.odd = []
        self.open = None

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "style" or name.startswith("on") or (name in ("src", "href") and tag in ("script", "link")):
                self.odd.append((tag, name, value))
        if tag in self.inline:
            self.open = tag
            self.inline[tag].append("")

    def handle_data(self, data):
        if self.open:
            self.inline[self.open][-1] += data

    def handle_endtag(self, tag):
        self.open = None


class Protocol(ServiceTestCase):
    def setUp(self):
        super().setUp()
        self.server = self.serve("m.json", "--body-limit", "0.1")

    def statuses(self, content):
        """Of everything that one connection sends."""
        plug = self.server.raw(content)
        plug.shutdown(socket.SHUT_WR)
        return [int(status) for status in re.findall(rb"HTTP/1\.[01] (\d+) ", received(plug))]

    def test_bodies_that_cannot_be_read(self):
        for body, words in ((b"", ["not JSON"]), (b"{", ["not JSON"]), (b"age,income\n1,2\n", ["not JSON"]),
                            (b'{"people": [], "people": []}', ["stands twice"]), (b'{"a": "\xff"}', ["not JSON"]),
                            (b'{"a": NaN}', ["not JSON"]), (b'{"a": 1e999}', ["double precision"]), (b"\x00", ["not JSON"]),
                            (b"[" * 50000, ["nested"]), (b'{"a":' * 20000, ["nested"]), (b'{"people": [{"age": ' + b"[" * 500, ["nested"])):
            for path in ("/api/explain", "/api/certify", "/api/frontier", "/api/verify", "/v1/models/m:explain", "/v2/models/m/infer"):
                with self.subTest(path=path, body=body[:20]):
                    self.expect_error(self.server.post(path, body), 400, "body", words)

    def test_requests_that_cannot_be_answered(self):
        person = self.people(1)[0]
        for asked, where, words in (
                ([], "body", ["expected an object"]), ({}, "people", ["missing"]), ({"people": {}}, "people", ["list"]),
                ({"people": []}, "people", ["nobody"]), ({"people": [3]}, "people[0]", ["expected an object"]),
                ({"people": [dict(person, age=[1])]}, "people[0].age", ["an array"]),
                ({"people": [dict(person, age=True)]}, "people[0].age", ["true"]),
                ({"people": [person, dict(person, housing="tent")]}, "people[1]", ["tent"]),
                ({"people": [dict(person, shoes=44)]}, "people", ["shoes"]),
                ({"people": [{key: value for key, value in person.items() if key != "debt"}]}, "people", ["debt"]),
                ({"people": [dict(person, income=None)]}, "people[0]", ["income"]),
                ({"people": [dict(person, income=1e300)]}, "people[0]", ["income"]),
                ({"people": [person], "epsilon": -1}, None, ["-1"]), ({"people": [person], "epsilon": "lots"}, None, ["lots"]),
                ({"people": [person], "epsilon": None}, "epsilon", []), ({"people": [person], "colour": "red"}, None, ["colour"]),
                ({"people": [person], "set": "full"}, None, ["hidden"]), ({"people": [person], "set": "odd"}, "set", ["last-layer"]),
                ({"people": [person], "method": "magic"}, None, ["magic"]), ({"people": [person], "seed": -1}, "seed", []),
                ({"people": [person], "display": "yes"}, "display", ["true or false"]),
                ({"people": [person], "on_error": "hide"}, "on_error", ["stop, skip"]),
                ({"people": [person], "options": {"lock": ["shoes"]}}, None, ["shoes"]),
                ({"people": [person], "options": {"exact": {"plans": 0}}}, "options.exact.plans", [">= 1"]),
                ({"people": [person], "options": {"plans": 1}}, None, ["plans"]),
                ({"people": [person], "options": {"queries": {"1": {"lock": ["income"]}}}}, "options.queries.1", ["1 people"]),
                ({"people": [person], "model_sha256": "0" * 64}, "model_sha256", []),
                ({"people": [person], "format": "ellice.model"}, None, ["ellice.recourse"]),
                ({"people": [person], "version": 99}, None, ["99"])):
            with self.subTest(asked=str(asked)[:100]):
                self.expect_error(self.server.post("/api/explain", asked), 422, where, words)
        self.expect_error(self.server.post("/api/frontier", {"people": [person], "epsilons": "1%"}), 422, "epsilons")
        for file in ([], {}, {"format": "ellice.model"}, {"format": "ellice.recourse", "version": 1},
                     {"format": "ellice.certificate", "version": 1, "model_sha256": 3}, {"format": "ellice.recourse", "options": 3},
                     {"format": "ellice.recourse", "options": {"ensemble": 3}, "members": [3]}):
            with self.subTest(file=file):
                self.expect_error(self.server.post("/api/verify", file), 422)

    def test_methods_paths_and_types(self):
        self.expect_error(self.server.get("/api/explain"), 405, "method", ["POST"])
        self.assertEqual(self.server.get("/api/explain")[1]["Allow"], "POST")
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"):
            with self.subTest(method=method):
                reply = self.server.ask(method, "/api/models", b"{}" if method != "TRACE" else None)
                self.expect_error(reply, 405, "method")
                self.assertEqual(reply[1]["Allow"], "GET, HEAD")
        for path in ("/nope", "/api", "/api/explain/", "//", "/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/api/model/../models",
                     "/..%2f..%2fetc/passwd", "/v1/models/", "/v1/models/a/b", "/v2/models//infer", "/index.html", "/page.html"):
            with self.subTest(path=path):
                self.expect_error(self.server.get(path), 404, "path")
        for path in ("/api/%zz", "/api/%", "/%00", "/%0d%0aX-Evil:%201", "/%ff", "/api/model?model=%0d%0aX-Evil:1", "/api/model?a=1&a=2"):
            with self.subTest(path=path):
                reply = self.server.get(path)
                self.expect_error(reply, 400)
                self.assertNotIn("X-Evil", reply[1])
        for kind in ("text/plain", "text/csv", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "",
                     "application/json; charset=utf-16"):
            with self.subTest(kind=kind):
                self.expect_error(self.server.post("/api/explain", b"{}", {"Content-Type": kind}), 415, "Content-Type")
        for kind in ("application/json", "Application/JSON; charset=UTF-8"):
            self.assertEqual(self.server.post("/api/explain", b"{}", {"Content-Type": kind})[0], 422)

    def test_heads_without_a_body_and_expectations(self):
        status, headers, body = self.server.ask("HEAD", "/api/models")
        self.assertEqual((status, body), (200, b""))
        self.assertEqual(int(headers["Content-Length"]), len(self.server.get("/api/models")[2]))
        body = json.dumps({"people": self.people(1)}).encode()
        lines = ["Content-Type: application/json", f"Content-Length: {len(body)}", "Expect: 100-continue", "Connection: close"]
        plug = self.server.raw(head("POST", "/api/certify", lines=lines))
        self.assertTrue(plug.recv(1000).startswith(b"HTTP/1.1 100 Continue\r\n\r\n"))
        plug.sendall(body)
        self.assertTrue(received(plug).startswith(b"HTTP/1.1 200 OK"))

    def test_what_is_too_large(self):
        self.expect_error(self.server.post("/api/explain", b" " * 100001), 413, "body")
        self.expect_error(self.server.post("/api/explain", b" " * 5000000), 413, "body")
        self.assertEqual(self.statuses(head(lines=["X: " + "a" * 20000])), [431])
        self.assertEqual(self.statuses(head(path="/" + "a" * 20000)), [431])
        lines = ["Content-Type: application/json", "Transfer-Encoding: chunked"]
        self.assertEqual(self.statuses(head("POST", "/api/explain", lines=lines) + b"fffff\r\n" + b" " * 0xfffff + b"\r\n0\r\n\r\n"), [413])

    def test_what_is_no_http(self):
        json_type = "Content-Type: application/json"
        for content in (b"hello\r\n\r\n", b"GET / HTTP/3.0\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
                        b"GET /\r\n\r\n", head(lines=["no colon"]), head(lines=["A: b\x00c"]), head(lines=["bad name: 1"]),
                        head("POST", "/api/explain", lines=[json_type, "Content-Length: -1"]),
                        head(lines=["Host: 127.0.0.1"]), head(lines=["Authorization: Bearer a", "Authorization: Bearer b"]),
                        head("POST", "/api/explain", lines=[json_type, "Content-Length: 3", "Content-Length: 4"]) + b"{}  ",
                        head("POST", "/api/explain", lines=[json_type, "Content-Length: 2", "Transfer-Encoding: chunked"]) + b"0\r\n\r\n",
                        head("POST", "/api/explain", lines=[json_type, "Transfer-Encoding: chunked"]) + b"zz\r\n"):
            with self.subTest(content=content[:60]):
                self.assertEqual(self.statuses(content), [400])
        self.assertEqual(self.statuses(head("POST", "/api/explain", lines=[json_type])), [400])  # no body
        self.assertEqual(self.server.get("/v2/health/live")[0], 200)

    def test_requests_one_after_the_other_on_one_connection(self):
        three = head() + head(path="/nope") + head(lines=["Connection: close"])
        self.assertEqual(self.statuses(three), [200, 404, 200])
        body = b'{"people": 3}'
        post = head("POST", "/api/certify", lines=["Content-Type: application/json", f"Content-Length: {len(body)}"]) + body
        self.assertEqual(self.statuses(post + post + head(lines=["Connection: close"])), [422, 422, 200])
        plug = self.server.raw(head(version="HTTP/1.0"))
        self.assertTrue(received(plug).startswith(b"HTTP/1.0 200 OK"))

    def test_every_answer_forbids_what_it_can(self):
        for path in ("/", "/api/models", "/nope"):
            headers = self.server.get(path)[1]
            with self.subTest(path=path):
                policy = headers["Content-Security-Policy"]
                self.assertIn("default-src 'none'", policy)
                self.assertNotIn("unsafe", policy)
                self.assertIn("frame-ancestors 'none'", policy)
                self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
                self.assertEqual(headers["Cache-Control"], "no-store")
                self.assertNotIn("Set-Cookie", headers)
                self.assertFalse([name for name in headers if name.lower().startswith("access-control")])

    def test_the_page_runs_under_its_policy(self):
        _, headers, content = self.server.get("/")
        policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
        page = Page()
        page.feed(content.decode())
        self.assertEqual(page.odd, [])
        self.assertEqual(len(page.inline["style"]), 1)
        for tag, texts in page.inline.items():
            allowed = policy[f"{tag}-src"].split()
            for text in texts:
                digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
                self.assertIn(f"'sha256-{digest}'", allowed)

    def test_other_hosts_and_sites_are_refused(self):
        for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "", "[::2]"):
            with self.subTest(host=host):
                self.expect_error(self.server.get("/api/models", Host=host), 403, "Host")
        for host in ("localhost", "LOCALHOST:80", f"127.0.0.1:{self.server.port}", "[::1]:99"):
            self.assertEqual(self.server.get("/api/models", Host=host)[0], 200)
        own = f"localhost:{self.server.port}"
        for origin in ("http://evil.example", "null", "https://" + own, "http://localhost"):
            self.expect_error(self.server.get("/api/models", Host=own, Origin=origin), 403, "Origin")
        self.expect_error(self.server.ask("GET", "/api/models", headers={"Sec-Fetch-Site": "cross-site"}), 403)
        self.assertEqual(self.server.get("/api/models", Host=own, Origin="http://" + own)[0], 200)


class Tokens(ServiceTestCase):
    def test_are_asked_for_and_read_again(self):
        self.write("token.txt", "correct-horse-battery\n")
        server = self.serve("m.json", "--token-file", "token.txt")
        for sent in (None, "Bearer", "Bearer ", "Bearer wrong-horse-battery", "correct-horse-battery", "Basic correct-horse-battery",
                     "Bearer correct-horse-batter", "Bearer correct-horse-battery2"):
            headers = {} if sent is None else {"Authorization": sent}
            with self.subTest(sent=sent):
                reply = server.ask("GET", "/api/models", headers=headers)
                self.expect_error(reply, 401, "Authorization")
                self.assertTrue(reply[1]["WWW-Authenticate"].startswith("Bearer"))
                self.assertEqual(server.post("/api/explain", {"people": self.people(1)}, headers)[0], 401)
        right = {"Authorization": "Bearer correct-horse-battery"}
        self.assertEqual(server.ask("GET", "/api/models", headers={**right, "Host": "bank.example"})[0], 200)
        self.assertEqual(server.ask("GET", "/api/models", headers={"Authorization": "bearer correct-horse-battery"})[0], 200)
        for path in ("/", "/v2/health/live", "/v2/health/ready", "/v2"):
            self.assertEqual(server.get(path)[0], 200)

    def test_are_needed_beyond_this_machine(self):
        self.expect_failure(2, ["--host 0.0.0.0", "--token-file"], "serve", "m.json", "--host", "0.0.0.0", "--port", "0")
        self.expect_failure(2, ["--host", "nowhere"], "serve", "m.json", "--host", "nowhere", "--port", "0")
        self.write("short.txt", "secret\n")
        self.expect_failure(3, ["short.txt", "16"], "serve", "m.json", "--token-file", "short.txt", "--port", "0")
        self.write("token.txt", "correct horse battery\n")
        self.expect_failure(3, ["token.txt"], "serve", "m.json", "--token-file", "token.txt", "--port", "0")

    def test_usage(self):
        self.expect_failure(2, ["--demo"], "serve")
        self.expect_failure(2, ["not both"], "serve", "m.json", "--demo")
        self.expect_failure(3, ["no.json"], "serve", "no.json")
        self.expect_failure(2, ["two models are called m"], "serve", "m.json", "m.json")
        self.expect_failure(2, ["--port"], "serve", "m.json", "--port", "65536")


if __name__ == "__main__":
    unittest.main()
